//! `proctor prove --base`: of what fails with the change, says what failed before it too.

use std::collections::BTreeMap;
use std::path::Path;

use proctor_app::{CommandError, Environment};
use proctor_model::{Action, ActionEnd, ActionKind, CommandExit, CommandLine, TestOutcome, words};
use proctor_sandbox::process::LauncherHandle;
use serde::Serialize;

use crate::commands::{narrowed, runs_by_node_id, with_variables};
use crate::prove::{Prover, with_prover};
use crate::touched::TouchedTest;
use crate::trial::EndOnContent;

/// Whose failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum BaseWord {
    #[serde(rename = "was red before")]
    WasRedBefore,
    #[serde(rename = "yours")]
    Yours,
    /// A check without a failed test fails on both sides: that it found the same cannot be said.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

words! {
    /// Returns the word for people.
    pub fn BaseWord::word: WasRedBefore "was red before", Yours "yours", CannotTell "cannot tell"
}

/// A test, or a whole check, that fails with the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureBeside {
    /// The name of the check.
    pub check: String,
    /// The name that the tool gives to the test; `None` if the check failed as a whole.
    pub test: Option<String>,
    pub word: BaseWord,
}

/// What fails with the change, and what of it failed before: the document that `proctor prove --base --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailuresBeside {
    schema: &'static str,
    exit_code: u8,
    /// The name of the project.
    #[serde(skip)]
    pub project: String,
    /// The base as people named it.
    pub base: String,
    /// The name of its commit.
    pub base_commit: String,
    pub failures: Vec<FailureBeside>,
}

impl FailuresBeside {
    fn new(project: String, (base, base_commit): (String, String), failures: Vec<FailureBeside>) -> Self {
        let (schema, exit_code) = ("proctor-failures-beside-base-v1", 0);
        let found = Self { schema, exit_code, project, base, base_commit, failures };
        Self { exit_code: found.exit().code(), ..found }
    }

    /// Returns how many failures have a word.
    pub fn count(&self, word: BaseWord) -> usize {
        self.failures.iter().filter(|failure| failure.word == word).count()
    }

    /// Returns the exit code: 1 if a failure is the change's own, 3 if that cannot be told of one.
    pub fn exit(&self) -> CommandExit {
        match (self.count(BaseWord::Yours), self.count(BaseWord::CannotTell)) {
            (0, 0) => CommandExit::Proceed,
            (0, _) => CommandExit::PersonNeeded,
            (_, _) => CommandExit::CodeNeedsWork,
        }
    }
}

/// Runs the checks with the change, and what fails without it. `range` is that of [`prove`](crate::prove).
///
/// # Errors
/// Those of [`prove`](crate::prove).
pub fn compare_failures(
    environment: &Environment,
    launcher: LauncherHandle,
    root: &Path,
    range: Option<&str>,
) -> Result<FailuresBeside, CommandError> {
    with_prover(environment, launcher, root, range, compare)
}

fn compare(mut prover: Prover<'_>) -> Result<FailuresBeside, CommandError> {
    let after = prover.change.after_layer()?;
    let base = prover.change.layer(&prover.change.before, BTreeMap::new())?;
    let (after, base) = (prover.write(&after)?, prover.write(&base)?);
    let mut failures = Vec::new();
    let plan = &prover.loaded.plan;
    for action in plan.steps.iter().filter(|action| matches!(action.kind, ActionKind::Command | ActionKind::CustomScript(_))) {
        let now = ends_of(&run_check(&mut prover, &after, action)?);
        let failed: Vec<String> = now.into_iter().filter(|(_, ended)| !ended).map(|(name, _)| name).collect();
        if failed.is_empty() {
            continue;
        }
        let before = match narrowed_to(action, &failed, &|file| prover.change.before.contains_key(file)) {
            Some(narrow) if narrow.command.argv.is_empty() => BTreeMap::new(),
            narrow => ends_of(&run_check(&mut prover, &base, narrow.as_ref().unwrap_or(action))?),
        };
        for name in failed {
            let word = word_of(&name, &before);
            failures.push(FailureBeside { check: action.name.clone(), test: Some(name).filter(|name| !name.is_empty()), word });
        }
    }
    let base = (prover.compared.base_name.clone(), prover.compared.base.hex());
    Ok(FailuresBeside::new(plan.project_name.clone(), base, failures))
}

/// Runs a check on a content.
pub(crate) fn run_check(prover: &mut Prover<'_>, layer: &Path, action: &Action) -> Result<EndOnContent, CommandError> {
    prover.trials.run(layer, &with_variables(action, &prover.loaded.root))
}

/// Returns whose failure it is. `before` says whether each test worked on the base.
fn word_of(name: &str, before: &BTreeMap<String, bool>) -> BaseWord {
    match before.get(name) {
        Some(false) if name.is_empty() => BaseWord::CannotTell,
        Some(false) => BaseWord::WasRedBefore,
        Some(true) | None => BaseWord::Yours,
    }
}

/// Returns whether each test worked, by its name. A check that failed without a failed test has no name.
pub(crate) fn ends_of(run: &EndOnContent) -> BTreeMap<String, bool> {
    let works = |outcome: TestOutcome| matches!(outcome, TestOutcome::Passed | TestOutcome::Skipped);
    let mut ends: BTreeMap<String, bool> = run.cases.iter().map(|case| (case.full_name.clone(), works(case.status))).collect();
    let has_worked = matches!(run.end, ActionEnd::Exited { code: 0 });
    if !has_worked && ends.values().all(|works| *works) {
        ends.insert(String::new(), false);
    }
    ends
}

/// Returns a test that nobody touched, by the name that pytest gives it or a parameter of it.
pub(crate) fn test_of_name(action: &Action, name: &str) -> Option<TouchedTest> {
    let (file, test) = name.split('[').next()?.split_once(".py::")?;
    let file = action.directory.join(format!("{file}.py")).to_string_lossy().into_owned();
    Some(TouchedTest { file, name: test.to_owned(), is_added: false, is_sure: true, doubt: None })
}

/// Returns the check for the failed tests alone, where their names say their files; `None` where it cannot be asked for them. A tool refuses to
/// run what is not there, so files that the base does not have are left out; without any, the command is empty.
fn narrowed_to(action: &Action, failed: &[String], is_there: &dyn Fn(&str) -> bool) -> Option<Action> {
    let tests =
        failed.iter().map(|name| test_of_name(action, name)).collect::<Option<Vec<_>>>().filter(|_| runs_by_node_id(action))?;
    let there: Vec<&TouchedTest> = tests.iter().filter(|test| is_there(&test.file)).collect();
    if there.is_empty() {
        let command = CommandLine { argv: Vec::new(), ..action.command.clone() };
        return Some(Action { command, ..action.clone() });
    }
    narrowed(action, &there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_without_a_failed_test_has_failed_as_a_whole() {
        let run = |code| EndOnContent {
            end: ActionEnd::Exited { code },
            reason: String::new(),
            cases: Vec::new(),
            failures: Vec::new(),
            output: String::new(),
        };
        assert_eq!(ends_of(&run(0)), BTreeMap::new());
        let whole = ends_of(&run(1));
        assert_eq!(whole, BTreeMap::from([(String::new(), false)]));
        let words =
            [word_of("", &whole), word_of("", &BTreeMap::new()), word_of("a", &BTreeMap::from([("a".to_owned(), false)]))];
        assert_eq!(words, [BaseWord::CannotTell, BaseWord::Yours, BaseWord::WasRedBefore]);
        let exit = |words: &[BaseWord]| {
            let failure = |word: &BaseWord| FailureBeside { check: "lint".to_owned(), test: None, word: *word };
            let failures = words.iter().map(failure).collect();
            FailuresBeside::new(String::new(), Default::default(), failures).exit_code
        };
        assert_eq!([exit(&words[2..]), exit(&[words[0], words[2]]), exit(&words)], [0, 3, 1]);
    }
}
