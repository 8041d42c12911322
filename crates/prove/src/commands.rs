//! The commands that run touched tests by name: the check's own command without what chooses tests, and with their names. Pure.

use std::collections::BTreeSet;
use std::path::Path;

use proctor_evidence::report::command_without_tests;
use proctor_model::{Action, CommandLine, OneTest};
use proctor_tools::command_text;

use crate::touched::{TestLanguage, TouchedTest};

/// With more tests than these, whole files are run: a command line has its limits.
const MOST_NAMES: usize = 200;

/// Returns the checks that run tests, each with those of `tests` that it runs: of the checks that run tests of the language, those whose
/// directory is the nearest above the test's file.
pub(crate) fn tests_of_checks<'a, 't>(steps: &'a [Action], tests: &'t [TouchedTest]) -> Vec<(&'a Action, Vec<&'t TouchedTest>)> {
    let runs = |action: &Action, test: &TouchedTest| {
        TestLanguage::of_tool(action.tool) == Some(test.language) && Path::new(&test.file).starts_with(&action.directory)
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
    let (one_test, mut argv) = command_without_tests(&command_text(&action.command.argv))?;
    let files: BTreeSet<&Path> = tests.iter().map(|test| below(&test.file, &action.directory)).collect();
    let files = files.into_iter().map(|file| file.to_string_lossy().into_owned());
    let names: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let is_few = names.len() <= MOST_NAMES;
    match one_test {
        OneTest::NodeId => {
            argv.extend(["--continue-on-collection-errors", "--maxfail=0"].map(str::to_owned));
            let last: BTreeSet<&str> = names.iter().filter_map(|name| name.rsplit("::").next()).collect();
            if is_few {
                argv.extend(["-k".to_owned(), last.into_iter().collect::<Vec<_>>().join(" or ")]);
            }
            argv.extend(files);
        }
        OneTest::FileAndPattern { subcommand } => {
            argv.extend(files);
            // Jest writes no recorded file with this option; Vitest is told by a variable.
            if subcommand.is_none() && !argv.iter().any(|word| word == "--ci") {
                argv.push("--ci".to_owned());
            }
        }
        OneTest::NamePattern | OneTest::FileAndName { .. } => argv.extend(files),
        // Names without their modules choose more tests and never fewer.
        OneTest::ExactName => argv.extend(std::iter::once("--").chain(names).filter(|_| is_few).map(str::to_owned)),
        OneTest::RunPattern => {
            argv.push("-count=1".to_owned());
            if is_few {
                argv.extend(["-run".to_owned(), format!("^({})$", names.into_iter().collect::<Vec<_>>().join("|"))]);
            }
            let packages: BTreeSet<String> = tests.iter().map(|test| package(below(&test.file, &action.directory))).collect();
            argv.extend(packages);
        }
    }
    let mut environment = action.environment.clone();
    environment.entry("CI".to_owned()).or_insert_with(|| "1".to_owned());
    let display = command_text(&argv);
    Some(Action { command: CommandLine { argv, display, shell: false }, environment, ..action.clone() })
}

fn below<'p>(file: &'p str, directory: &Path) -> &'p Path {
    let path = Path::new(file);
    path.strip_prefix(directory).unwrap_or(path)
}

/// Returns the directory of a file as Go names a package: `./pkg`.
fn package(file: &Path) -> String {
    match file.parent().map(|parent| parent.to_string_lossy()) {
        Some(parent) if !parent.is_empty() => format!("./{parent}"),
        Some(_) | None => ".".to_owned(),
    }
}
