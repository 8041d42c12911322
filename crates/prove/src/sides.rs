//! How touched tests ended in one run of a tool. Pure.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::{ActionEnd, TestCase, TestFailure, TestOutcome};

use crate::failure::{FailureText, classify, names_one_of};
use crate::touched::TouchedTest;
use crate::trial::EndOnContent;
use crate::words::{CaseEnd, SeenRun};

/// The exit code by which pytest says that it ran no test.
const NOTHING_SELECTED: i32 = 5;

/// What is known of a change when a failure is read.
pub(crate) struct KnownOfChange<'a> {
    /// Whether a path of the project is a file of source.
    pub(crate) is_source: &'a dyn Fn(&str) -> bool,
    /// Whether the change writes recorded files.
    pub(crate) writes_recorded: bool,
    /// The names that the change introduces.
    pub(crate) introduced: &'a BTreeSet<String>,
}

/// Returns how a test ended in a run.
pub(crate) fn seen_of(test: &TouchedTest, run: &EndOnContent, known: &KnownOfChange<'_>) -> SeenRun {
    let mut cases = BTreeMap::new();
    let own: Vec<&TestCase> = run.cases.iter().filter(|case| is_case_of(test, case)).collect();
    // `tests/test_a.py` may also be another directory's: the exact path comes first.
    let has_path = own.iter().any(|case| case.full_name.starts_with(&test.file));
    for case in own.into_iter().filter(|case| !has_path || case.full_name.starts_with(&test.file)) {
        cases.insert(case.full_name.clone(), end_of(case, run, known));
    }
    if !cases.is_empty() {
        return SeenRun::Cases(cases);
    }
    let of_file = run.cases.iter().find(|case| has_failed(case) && is_collection_of(test, case));
    if let Some(case) = of_file {
        return cannot_begin(&case.failure_messages.join("\n"), known);
    }
    match &run.end {
        ActionEnd::Exited { code } if run.cases.is_empty() => {
            let is_empty = matches!(*code, 0 | NOTHING_SELECTED);
            if is_empty { SeenRun::Cases(cases) } else { cannot_begin(&run.output, known) }
        }
        ActionEnd::Exited { .. } => SeenRun::Cases(cases),
        ActionEnd::Signalled { .. }
        | ActionEnd::TimedOut { .. }
        | ActionEnd::Stopped { .. }
        | ActionEnd::NotStarted(_)
        | ActionEnd::Lost { .. } => SeenRun::NotRun(run.reason.clone()),
    }
}

fn has_failed(case: &TestCase) -> bool {
    matches!(case.status, TestOutcome::Failed | TestOutcome::Error)
}

fn cannot_begin(text: &str, known: &KnownOfChange<'_>) -> SeenRun {
    let lines = || text.lines().map(str::trim);
    let of_pytest = lines().filter_map(|line| line.strip_prefix("E ")).map(str::trim).find(|line| line.contains("Error"));
    let told = of_pytest.or_else(|| lines().find(|line| line.contains("rror"))).or_else(|| lines().find(|line| !line.is_empty()));
    let message = told.unwrap_or("it printed nothing").chars().take(200).collect();
    // The lines of a traceback show code; what is missing stands in the error itself.
    let has_marks = lines().any(|line| line.starts_with("E "));
    let is_error =
        |line: &&str| if has_marks { line.starts_with("E ") } else { line.contains("rror") || line.contains("undefined") };
    let errors = lines().filter(is_error).collect::<Vec<_>>().join("\n");
    let quoted = quoted_parts(&errors);
    let errors = if quoted.is_empty() { errors } else { quoted.join(" ") };
    SeenRun::CannotBegin { names_change: names_one_of(&errors, known.introduced), message }
}

/// Returns what stands in quotes on each line of a text.
fn quoted_parts(text: &str) -> Vec<&str> {
    let of_line = |line| ['\'', '"', '`'].into_iter().flat_map(move |quote| str::split(line, quote).skip(1).step_by(2));
    text.lines().flat_map(of_line).collect()
}

fn end_of(case: &TestCase, run: &EndOnContent, known: &KnownOfChange<'_>) -> CaseEnd {
    match case.status {
        TestOutcome::Passed => CaseEnd::Passed,
        TestOutcome::Skipped => {
            let why = case.failure_messages.first().and_then(|text| text.lines().next()).unwrap_or_default();
            CaseEnd::LeftOut(if why.is_empty() { "no reason is given".to_owned() } else { why.to_owned() })
        }
        TestOutcome::Failed | TestOutcome::Error => {
            let failure: Option<&TestFailure> = run.failures.iter().find(|failure| failure.test_name == case.full_name);
            let stack = failure.and_then(|failure| failure.stack.clone()).unwrap_or_else(|| case.failure_messages.join("\n"));
            let error = failure.map(|failure| failure.error.as_str());
            let error = error.or_else(|| stack.lines().find(|line| !line.trim().is_empty())).unwrap_or_default();
            let is_of_fixture = case.status == TestOutcome::Error;
            let text = FailureText { error, stack: &stack, is_of_fixture };
            CaseEnd::Failed(classify(text, known.is_source, known.writes_recorded), error.to_owned())
        }
    }
}

/// Returns whether a test of pytest is this one, or a parameter of it.
pub(crate) fn is_case_of(test: &TouchedTest, case: &TestCase) -> bool {
    let name = case.full_name.split('[').next().unwrap_or_default();
    is_dotted_end(&dotted(&format!("{}::{}", test.file, test.name)), &dotted(name))
}

/// Returns whether a case stands for the file of a test that could not be collected.
fn is_collection_of(test: &TouchedTest, case: &TestCase) -> bool {
    let file = dotted(&test.file);
    [Some(&case.full_name), Some(&case.title), case.test_file.as_ref()]
        .into_iter()
        .flatten()
        .any(|name| !name.is_empty() && is_dotted_end(&file, &dotted(name)))
}

/// Returns a path or a name of a test with a dot between all of its parts, and without the ending of Python.
fn dotted(name: &str) -> String {
    name.replace("::", ".").replace('/', ".").replace(".py.", ".").trim_end_matches(".py").trim_start_matches('.').to_owned()
}

/// Returns whether `end` is the whole or the last parts of `whole`: a tool names tests from its own root.
fn is_dotted_end(whole: &str, end: &str) -> bool {
    whole == end
        || whole.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
        || end.strip_suffix(whole).is_some_and(|rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(full_name: &str, status: TestOutcome, message: &str) -> TestCase {
        TestCase {
            title: full_name.rsplit("::").next().unwrap_or_default().to_owned(),
            ancestor_titles: Vec::new(),
            full_name: full_name.to_owned(),
            report_name: None,
            test_file: None,
            status,
            expected_to_fail: false,
            duration_us: None,
            failure_messages: if message.is_empty() { Vec::new() } else { vec![message.to_owned()] },
            body: None,
        }
    }

    fn test(file: &str, name: &str) -> TouchedTest {
        TouchedTest { file: file.to_owned(), name: name.to_owned(), is_added: true, is_sure: true }
    }

    fn seen(test: &TouchedTest, code: i32, cases: Vec<TestCase>) -> SeenRun {
        let introduced = BTreeSet::from(["reduced".to_owned()]);
        let known = KnownOfChange { is_source: &|_| false, writes_recorded: false, introduced: &introduced };
        let (reason, failures, output) = (String::new(), Vec::new(), "E   ImportError: reduced".to_owned());
        seen_of(test, &EndOnContent { end: ActionEnd::Exited { code }, reason, cases, failures, output }, &known)
    }

    #[test]
    fn a_test_is_known_by_the_names_that_tools_give_it() {
        let python = test("back/tests/test_a.py", "TestX::test_y");
        for (name, expected) in [
            ("tests/test_a.py::TestX::test_y", true),
            ("back/tests/test_a.py::TestX::test_y[a::b/c]", true),
            ("tests.test_a.TestX::test_y", true),
            ("tests/test_a.py::TestX::test_yy", false),
            ("tests/test_b.py::TestX::test_y", false),
        ] {
            assert_eq!(is_case_of(&python, &case(name, TestOutcome::Passed, "")), expected, "{name}");
        }
    }

    #[test]
    fn tests_of_one_name_in_like_directories_are_told_apart() {
        let cases = ["tests/test_a.py::test_y", "back/tests/test_a.py::test_y"];
        for file in ["tests/test_a.py", "back/tests/test_a.py"] {
            let run = cases.map(|name| case(name, TestOutcome::Passed, "")).to_vec();
            let own = BTreeMap::from([(format!("{file}::test_y"), CaseEnd::Passed)]);
            assert_eq!(seen(&test(file, "test_y"), 0, run), SeenRun::Cases(own));
        }
    }

    #[test]
    fn a_file_that_cannot_be_collected_says_what_it_misses() {
        let python = test("tests/test_a.py", "test_y");
        let error = case("tests/test_a.py", TestOutcome::Error, "x\nE   ImportError: cannot import name 'reduced'");
        let message = "ImportError: cannot import name 'reduced'".to_owned();
        assert_eq!(seen(&python, 2, vec![error]), SeenRun::CannotBegin { names_change: true, message });
        let other = case("tests/test_a.py", TestOutcome::Error, "E   ImportError: cannot import name 'other'");
        assert!(matches!(seen(&python, 2, vec![other]), SeenRun::CannotBegin { names_change: false, .. }));
        let quoted = case("tests/test_a.py", TestOutcome::Error, "reduced\nE   ModuleNotFoundError: reduced has no 'six'");
        assert!(matches!(seen(&python, 2, vec![quoted]), SeenRun::CannotBegin { names_change: false, .. }));
        assert!(matches!(seen(&python, 4, Vec::new()), SeenRun::CannotBegin { names_change: true, .. }));
        assert_eq!(seen(&python, 5, Vec::new()), SeenRun::Cases(BTreeMap::new()), "pytest selected nothing");
    }
}
