//! The code lenses of one file: how each test in it ended. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use proctor_app::editor::{EditorRun, EditorTest};
use proctor_model::{TestOutcome, Timestamp};

/// Commands that a client has the server carry out.
pub(crate) const RUN: &str = "proctor.run";
pub(crate) const SHOW_LOG: &str = "proctor.showLog";
pub(crate) const RUN_ALONE: &str = "proctor.runAlone";
pub(crate) const WHY: &str = "proctor.why";

/// Whether a verdict is about the files as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerdictAge {
    Fresh,
    Outdated,
}

/// Returns the code lenses of a file, whose path is relative to the project.
pub(crate) fn lenses(run: &EditorRun, file: &str, text: &str, age: VerdictAge, now: Timestamp) -> Vec<Value> {
    let mut by_line: BTreeMap<usize, Vec<&EditorTest>> = BTreeMap::new();
    for test in run.tests.iter().filter(|test| test.file == file) {
        if let Some(line) = line_of(test, text) {
            by_line.entry(line).or_default().push(test);
        }
    }
    by_line.iter().flat_map(|(line, tests)| of_line(run, *line, tests, age, now)).collect()
}

fn of_line(run: &EditorRun, line: usize, tests: &[&EditorTest], age: VerdictAge, now: Timestamp) -> Vec<Value> {
    let range = json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 0 } });
    let lens = |title: String, command: &str, argument: &str| json!({ "range": range, "command": { "title": title, "command": command, "arguments": [argument] } });
    let failed = |test: &&&EditorTest| matches!(test.outcome, TestOutcome::Failed | TestOutcome::Error);
    let failures: Vec<&&EditorTest> = tests.iter().filter(failed).collect();
    let word = match (failures.len(), tests.len()) {
        (0, _) if tests.iter().all(|test| test.outcome == TestOutcome::Skipped) => "skipped".to_owned(),
        (0, 1) => "passed".to_owned(),
        (0, all) => format!("{all} passed"),
        (1, 1) => "failed".to_owned(),
        (failed, all) => format!("{failed} of {all} failed"),
    };
    let before = match age {
        VerdictAge::Fresh => "",
        VerdictAge::Outdated => ", before the last change",
    };
    let Some(shown) = failures.first().copied().or_else(|| tests.first()) else { return Vec::new() };
    let mut lenses = vec![lens(format!("{word} {}{before}", run.ended.age_at(now)), SHOW_LOG, shown.action_id.as_str())];
    if let Some(command) = &shown.rerun {
        lenses.push(lens("run alone".to_owned(), RUN_ALONE, command));
    }
    if let Some((failed, all)) = tests.iter().find_map(|test| test.flaky) {
        lenses.push(lens(format!("flaky {failed} of {all}"), SHOW_LOG, shown.action_id.as_str()));
    }
    lenses
}

/// Returns the line in which a test begins: the first that defines a function of its name, or has its name between quotes, behind those that
/// define what encloses it.
fn line_of(test: &EditorTest, text: &str) -> Option<usize> {
    // The parameters of a test follow its name: `test_a[1-2]`.
    let name = test.title.split('[').next().unwrap_or(&test.title);
    let from = enclosing(test).into_iter().fold(0, |from, class| {
        let is_class = |line: &str| line.trim_start().strip_prefix("class ").is_some_and(|rest| is_named(rest, class));
        text.lines().enumerate().skip(from).find(|(_, line)| is_class(line)).map_or(from, |(line, _)| line)
    });
    text.lines().enumerate().skip(from).find(|(_, line)| defines(line, name) || quotes(line, &test.title)).map(|(line, _)| line)
}

/// Returns the classes around a test whose id is as pytest writes it: `tests/test_a.py::TestX::test_y`.
fn enclosing(test: &EditorTest) -> Vec<&str> {
    let mut parts: Vec<&str> = test.id.split("::").skip(1).collect();
    parts.pop();
    parts
}

fn defines(line: &str, name: &str) -> bool {
    ["def ", "fn ", "func ", "function "].into_iter().any(|word| {
        let after = line.split_once(word).map(|(_, after)| after);
        after.is_some_and(|after| is_named(after, name))
    })
}

fn is_named(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

fn quotes(line: &str, title: &str) -> bool {
    ['"', '\'', '`'].into_iter().any(|quote| line.contains(&format!("{quote}{title}{quote}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{ActionId, DurationMs, RunId};

    fn test(id: &str, title: &str, outcome: TestOutcome) -> EditorTest {
        EditorTest {
            action_id: ActionId::numbered("STEP", 1),
            id: id.to_owned(),
            title: title.to_owned(),
            file: "t.py".to_owned(),
            outcome,
            rerun: None,
            flaky: None,
        }
    }

    fn titles(tests: Vec<EditorTest>, text: &str, age: VerdictAge) -> Vec<(u64, String)> {
        let ended = Timestamp::from_millis(1_000_000);
        let run = EditorRun { run_id: RunId::new(ended, 1), started: ended, ended, places: Vec::new(), tests };
        let lenses = lenses(&run, "t.py", text, age, ended.plus(DurationMs(3000)));
        let title = |lens: &Value| {
            (lens["range"]["start"]["line"].as_u64().unwrap(), lens["command"]["title"].as_str().unwrap().to_owned())
        };
        lenses.iter().map(title).collect()
    }

    #[test]
    fn a_test_says_at_its_definition_how_it_ended() {
        let text = "class TestA:\n    def test_a(self): pass\nclass TestB:\n    def test_ab(self): pass\n    async def test_a(self): pass\n";
        let failed = EditorTest {
            rerun: Some("pytest t.py::TestB::test_a".to_owned()),
            flaky: Some((2, 40)),
            ..test("t.py::TestB::test_a", "test_a", TestOutcome::Failed)
        };
        let passed = test("t.py::TestA::test_a", "test_a", TestOutcome::Passed);
        let other_file = EditorTest { file: "u.py".to_owned(), ..passed.clone() };
        let told = titles(vec![failed, passed, other_file], text, VerdictAge::Fresh);
        let expected = [(1, "passed 3 s ago"), (4, "failed 3 s ago"), (4, "run alone"), (4, "flaky 2 of 40")];
        assert_eq!(told, expected.map(|(line, title)| (line, title.to_owned())));
    }

    #[test]
    fn tests_of_one_line_are_told_together() {
        let of = |title: &str, outcome| test(&format!("t.py::{title}"), title, outcome);
        let tests =
            vec![of("test_a[1]", TestOutcome::Passed), of("test_a[2]", TestOutcome::Error), of("gone", TestOutcome::Failed)];
        let told = titles(tests, "def test_a(x):\n", VerdictAge::Outdated);
        assert_eq!(told, [(0, "1 of 2 failed 3 s ago, before the last change".to_owned())]);
        let quoted = titles(vec![of("adds [1]", TestOutcome::Skipped)], "// adds\nit('adds [1]', () => {\n", VerdictAge::Fresh);
        assert_eq!(quoted, [(1, "skipped 3 s ago".to_owned())]);
    }

    #[test]
    fn an_age_has_the_unit_that_fits() {
        let age = |seconds: i64| Timestamp::from_millis(0).age_at(Timestamp::from_millis(seconds * 1000));
        assert_eq!(
            [age(-5), age(59), age(61), age(7200), age(180_000)].join(", "),
            "0 s ago, 59 s ago, 1 min ago, 2 h ago, 2 days ago"
        );
    }
}
