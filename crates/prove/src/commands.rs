//! The commands that run touched tests by name: the check's own command without what chooses tests, and with their names. Pure.

use std::collections::BTreeSet;
use std::path::Path;

use proctor_evidence::report::command_without_tests;
use proctor_model::{Action, CommandLine, OneTest, Tool};
use proctor_tools::command_text;

use crate::touched::TouchedTest;

/// With more tests than these, whole files are run: a command line has its limits.
const MOST_NAMES: usize = 200;

/// Returns whether the tests of a tool are told apart by the file and the name that it gives them: those of pytest.
pub(crate) fn runs_by_name(tool: Tool) -> bool {
    tool.one_test() == Some(OneTest::NodeId)
}

/// Returns the checks that run tests, each with those of `tests` that it runs: of the checks by pytest, those whose directory is the nearest
/// above the test's file.
pub(crate) fn tests_of_checks<'a, 't>(steps: &'a [Action], tests: &'t [TouchedTest]) -> Vec<(&'a Action, Vec<&'t TouchedTest>)> {
    let runs = |action: &Action, test: &TouchedTest| {
        runs_by_name(action.tool) && !test.name.is_empty() && Path::new(&test.file).starts_with(&action.directory)
    };
    let depth = |action: &Action| action.directory.components().count();
    let nearest = |test: &TouchedTest| steps.iter().filter(|action| runs(action, test)).map(depth).max();
    let of_check = |action: &'a Action| {
        let own: Vec<&TouchedTest> =
            tests.iter().filter(|test| runs(action, test) && nearest(test) == Some(depth(action))).collect();
        (!own.is_empty()).then_some((action, own))
    };
    steps.iter().filter_map(of_check).collect()
}

/// Returns a check that runs these tests alone; `None` if its command cannot be asked for tests by name, so that all of it is to be run.
pub(crate) fn narrowed(action: &Action, tests: &[&TouchedTest]) -> Option<Action> {
    if action.command.shell {
        return None;
    }
    let (_, mut argv) =
        command_without_tests(&command_text(&action.command.argv)).filter(|(form, _)| *form == OneTest::NodeId)?;
    let files: BTreeSet<&Path> = tests.iter().map(|test| below(&test.file, &action.directory)).collect();
    let files = files.into_iter().map(|file| file.to_string_lossy().into_owned());
    let names: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    argv.extend(["--continue-on-collection-errors", "--maxfail=0"].map(str::to_owned));
    if names.len() <= MOST_NAMES {
        let last: BTreeSet<&str> = names.iter().filter_map(|name| name.rsplit("::").next()).collect();
        argv.extend(["-k".to_owned(), last.into_iter().collect::<Vec<_>>().join(" or ")]);
    }
    argv.extend(files);
    let mut environment = action.environment.clone();
    environment.entry("CI".to_owned()).or_insert_with(|| "1".to_owned());
    let display = command_text(&argv);
    Some(Action { command: CommandLine { argv, display, shell: false }, environment, ..action.clone() })
}

fn below<'p>(file: &'p str, directory: &Path) -> &'p Path {
    let path = Path::new(file);
    path.strip_prefix(directory).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_of_pytest_are_run_by_name() {
        let named: Vec<Tool> = Tool::ALL.iter().copied().filter(|tool| runs_by_name(*tool)).collect();
        assert_eq!(named, [Tool::Pytest]);
    }
}
