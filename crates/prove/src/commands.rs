//! The commands that run touched tests by name: the check's own command without what chooses tests, and with their names. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proctor_evidence::report::command_without_tests;
use proctor_model::{Action, CommandLine, OneTest};
use proctor_tools::{command_text, tells_expectations};

use crate::rust::names_by_path;
use crate::touched::{TestLanguage, TouchedTest};

/// With more tests than these, whole files are run: a command line has its limits.
const MOST_NAMES: usize = 200;

/// Returns the language of the tests that a check runs; `None` if its tool does not say which error a test failed with. cargo-nextest is
/// another program than its tool's, and is not known well enough.
pub(crate) fn language_of(action: &Action) -> Option<TestLanguage> {
    let is_other = action.command.argv.iter().any(|word| word == "nextest");
    let form = action.tool.one_test().filter(|_| tells_expectations(action.tool) && !is_other);
    form.map(TestLanguage::of_form)
}

/// Returns whether the tests of a check are told apart by the file and the name that its tool gives them: those of pytest.
pub(crate) fn runs_by_node_id(action: &Action) -> bool {
    action.tool.one_test() == Some(OneTest::NodeId)
}

/// Returns for each test the positions of the checks that can run it: of the checks for its language, those whose directory is the nearest
/// above its file.
pub(crate) fn checks_of_test(steps: &[Action], test: &TouchedTest) -> Vec<usize> {
    let language = TestLanguage::of(&test.file);
    let runs = |action: &Action| language_of(action) == language && Path::new(&test.file).starts_with(&action.directory);
    let depth = |action: &Action| action.directory.components().count();
    let nearest = steps.iter().filter(|action| runs(action)).map(depth).max();
    let positions = (0..steps.len()).filter(|at| runs(&steps[*at]) && nearest == Some(depth(&steps[*at])));
    if language.is_none() || test.doubt.is_some() { Vec::new() } else { positions.collect() }
}

/// Divides the tests of a check into those that run together. A runner that does not name the file or the package of each test is asked for
/// one of them at a time.
pub(crate) fn together(action: &Action, tests: &[usize], of: &[TouchedTest]) -> Vec<Vec<usize>> {
    let place = |test: &TouchedTest| match action.tool.one_test() {
        Some(OneTest::NamePattern) => PathBuf::from(&test.file),
        Some(OneTest::RunPattern) => Path::new(&test.file).parent().map(Path::to_owned).unwrap_or_default(),
        _ => PathBuf::new(),
    };
    let mut groups: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for at in tests {
        groups.entry(place(&of[*at])).or_default().push(*at);
    }
    groups.into_values().collect()
}

/// Returns a check that runs these tests alone; `None` if its command cannot be asked for tests by name, so that all of it is to be run.
pub(crate) fn narrowed(action: &Action, tests: &[&TouchedTest]) -> Option<Action> {
    if action.command.shell {
        return None;
    }
    let (form, mut argv) =
        command_without_tests(&command_text(&action.command.argv)).filter(|(form, _)| Some(*form) == action.tool.one_test())?;
    let files: BTreeSet<String> = tests.iter().map(|test| below(&test.file, &action.directory)).collect();
    let names: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let is_few = names.len() <= MOST_NAMES;
    match form {
        OneTest::NodeId => {
            argv.extend(["--continue-on-collection-errors", "--maxfail=0"].map(str::to_owned));
            let last: BTreeSet<&str> = names.iter().filter_map(|name| name.rsplit("::").next()).collect();
            let last = last.into_iter().collect::<Vec<_>>().join(" or ");
            argv.extend(["-k".to_owned(), last].into_iter().filter(|_| is_few));
            argv.extend(files);
        }
        // A title may be made of a pattern, and Node looks at the outermost test first: whole files are run.
        OneTest::FileAndPattern { subcommand: None } => {
            argv.extend(["--ci".to_owned()].into_iter().filter(|option| !argv.contains(option)).collect::<Vec<_>>());
            argv.push("--runTestsByPath".to_owned());
            argv.extend(files);
        }
        OneTest::FileAndPattern { subcommand: Some(_) } => {
            argv.push("--retry=0".to_owned());
            argv.extend(files);
        }
        OneTest::NamePattern => argv.extend(files),
        OneTest::FileAndName { .. } => {
            argv.push("--retries=0".to_owned());
            argv.extend(files.into_iter().map(|file| format!("{}$", escaped_pattern(&file))));
        }
        OneTest::ExactName => {
            argv.extend(["--no-fail-fast".to_owned()].into_iter().filter(|option| !argv.contains(option)).collect::<Vec<_>>());
            let paths: BTreeSet<String> =
                tests.iter().flat_map(|test| names_by_path(&below(&test.file, &action.directory), &test.name)).collect();
            argv.extend(["--".to_owned(), "--exact".to_owned()].into_iter().chain(paths).filter(|_| is_few));
        }
        OneTest::RunPattern => {
            argv.push("-count=1".to_owned());
            let pattern = format!("^({})$", names.into_iter().collect::<Vec<_>>().join("|"));
            argv.extend(["-run".to_owned(), pattern].into_iter().filter(|_| is_few));
            let packages: BTreeSet<String> = files.iter().map(|file| package(file)).collect();
            argv.extend(packages);
        }
    }
    let display = command_text(&argv);
    Some(Action { command: CommandLine { argv, display, shell: false }, ..action.clone() })
}

/// Returns a check as it is, but for what a runner is told by variables: it writes no recorded file, and takes no built program of the other
/// side for its own.
pub(crate) fn with_variables(action: &Action, root: &Path) -> Action {
    let mut environment = action.environment.clone();
    environment.entry("CI".to_owned()).or_insert_with(|| "1".to_owned());
    if action.tool.one_test() == Some(OneTest::ExactName) {
        // Cargo goes by the times of files, and this directory is empty on each side.
        environment.insert("CARGO_TARGET_DIR".to_owned(), root.join("target").to_string_lossy().into_owned());
    }
    Action { environment, ..action.clone() }
}

fn below(file: &str, directory: &Path) -> String {
    let path = Path::new(file);
    path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the directory of a file as Go names a package: `./pkg`.
fn package(file: &str) -> String {
    file.rsplit_once('/').map_or_else(|| ".".to_owned(), |(directory, _)| format!("./{directory}"))
}

/// Returns a text as a regular expression that matches only the text.
fn escaped_pattern(text: &str) -> String {
    let escaped = |character: char| if r"\^$.|?*+()[]{}".contains(character) { vec!['\\', character] } else { vec![character] };
    text.chars().flat_map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use proctor_model::Tool;

    use super::*;

    fn action(tool: Tool, command: &str) -> Action {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let command = CommandLine { argv, display: command.to_owned(), shell: false };
        Action { command, ..proctor_model::testing::action(tool, proctor_model::ActionPhase::Step) }
    }

    fn test(file: &str, name: &str) -> TouchedTest {
        TouchedTest { file: file.to_owned(), name: name.to_owned(), is_added: true, is_sure: true, doubt: None }
    }

    #[test]
    fn only_tests_are_run_whose_tool_says_which_error_they_failed_with() {
        let known: Vec<Tool> = Tool::ALL.iter().copied().filter(|tool| language_of(&action(*tool, "run")).is_some()).collect();
        let expected = [Tool::Pytest, Tool::Jest, Tool::Vitest, Tool::NodeTest, Tool::CargoTest, Tool::GoTest, Tool::Playwright];
        assert_eq!(known, expected);
        assert_eq!(language_of(&action(Tool::CargoTest, "cargo nextest run")), None);
    }

    #[test]
    fn each_runner_is_asked_for_the_touched_tests_alone() {
        for (tool, command, file, name, expected) in [
            (
                Tool::Pytest,
                "pytest -q",
                "tests/test_a.py",
                "TestX::test_y",
                "pytest --continue-on-collection-errors --maxfail=0 -k test_y tests/test_a.py",
            ),
            (Tool::Jest, "npx jest", "src/a.test.js", "adds", "npx jest --ci --runTestsByPath src/a.test.js"),
            (Tool::Vitest, "vitest run", "src/a.test.ts", "adds", "vitest run --retry=0 src/a.test.ts"),
            (Tool::NodeTest, "node --test", "a.test.mjs", "adds", "node --test a.test.mjs"),
            (
                Tool::Playwright,
                "npx playwright test",
                "e2e/a.spec.ts",
                "adds",
                "npx playwright test --retries=0 e2e/a\\.spec\\.ts$",
            ),
            (
                Tool::CargoTest,
                "cargo test -q",
                "src/rates.rs",
                "tests::adds",
                "cargo test -q --no-fail-fast -- --exact rates::tests::adds",
            ),
            (Tool::GoTest, "go test ./...", "pkg/a_test.go", "TestA", "go test -count=1 -run ^(TestA)$ ./pkg"),
        ] {
            let narrow = narrowed(&action(tool, command), &[&test(file, name)]).expect("a plain call");
            assert_eq!(narrow.command.argv.join(" "), expected);
        }
        let told = with_variables(&action(Tool::CargoTest, "cargo test"), Path::new("/p")).environment;
        assert_eq!(
            told.into_iter().collect::<Vec<_>>(),
            [("CARGO_TARGET_DIR".to_owned(), "/p/target".to_owned()), ("CI".to_owned(), "1".to_owned())]
        );
        assert!(narrowed(&action(Tool::Jest, "npm test"), &[&test("a.test.js", "a")]).is_none());
    }

    #[test]
    fn a_runner_that_does_not_name_files_is_asked_for_one_at_a_time() {
        let tests = [test("a.test.js", "x"), test("b.test.js", "x"), test("a.test.js", "y")];
        let groups = |tool| together(&action(tool, "run"), &[0, 1, 2], &tests);
        assert_eq!(groups(Tool::NodeTest), [vec![0, 2], vec![1]]);
        assert_eq!(groups(Tool::Jest), [vec![0, 1, 2]]);
    }
}
