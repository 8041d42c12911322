//! Checkers that can be asked how much they examined: ty, Pyrefly, Pyright, oxlint, Biome, Clippy and pre-commit.
//!
//! Each is one row in `rows`: how it is asked, and the function that reads what it then says. This file has the one rule for all of
//! them. A clean result needs the tool's own word that it examined something. A tool that examined nothing is no success, and a tool
//! whose output does not say how much it examined is `done`, never passed.

mod clippy;
mod discover;
mod hooks;
mod json;
mod no_work;
mod printed;

use crate::gathered::Gathered;
use crate::interpret::Exited;
use crate::launch_failure;
use crate::launchers::{Located, hand_on, locate};
use crate::linter::words;
use crate::option_spelling::has_option;
use crate::prepare::{Preparation, ReportTask, insert_options};
use crate::recognise::CommandForm;
use crate::table::row_of;
use discover::{Counter, counter_of};
pub(super) use discover::{find, find_clippy};
pub(super) use no_work::{
    FORMATS_OF_BIOME, FORMATS_OF_CLIPPY, FORMATS_OF_OXLINT, FORMATS_OF_PRE_COMMIT, FORMATS_OF_PYREFLY, FORMATS_OF_PYRIGHT,
    FORMATS_OF_TY, NO_WORK_OF_BIOME, NO_WORK_OF_CLIPPY, NO_WORK_OF_OXLINT, NO_WORK_OF_PRE_COMMIT, NO_WORK_OF_PYREFLY,
    NO_WORK_OF_PYRIGHT, NO_WORK_OF_TY, biome_checks, clippy_checks, hooks_run, is_check_of_types,
};
use proctor_model::{Action, CategoryCode, DiagnosticSummary, Examined, ExaminedUnit, FindingLevel, Interpretation};

/// What a checker said when it ended.
#[derive(Debug, Default)]
struct Said {
    findings: Gathered,
    /// The numbers of errors and warnings that the tool states; it may print fewer of them.
    stated: (u64, u64),
    /// How many files, targets or hooks the tool examined; `None` if it does not say it.
    examined: Option<u64>,
    /// A message that does not change the result, but that people should see.
    remark: Option<String>,
}

impl Said {
    // Returns the numbers of errors and warnings. A finding in an unknown form is in the number that the tool states.
    fn counts(&self) -> (u64, u64) {
        let count = |level| self.findings.count(level);
        (count(FindingLevel::Error).max(self.stated.0), count(FindingLevel::Warning).max(self.stated.1))
    }

    // Returns whether there are findings and all of them have this code.
    fn is_only(&self, code: &str) -> bool {
        let listed = &self.findings.listed;
        !listed.is_empty()
            && listed.iter().all(|found| found.rule_id.as_deref() == Some(code) || found.code.as_deref() == Some(code))
    }
}

/// How a command is asked for the tool's report.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// By variables, or not at all because the tool says everything by itself.
    ByVariables,
    /// By options behind the tool's own arguments.
    ByOptions,
    /// By options behind these words, which a script hands on.
    HandedOn(&'static [&'static str]),
    /// The command chooses its own format, or no option can reach the tool.
    Not,
}

fn asked(counter: &Counter, action: &Action, located: &Located) -> Asked {
    let is_direct = located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct;
    let is_own = located.recognition.tool == action.tool && has_option(&located.arguments, row_of(action.tool).own_format);
    match (is_own, counter.options.is_empty(), is_direct) {
        (true, _, _) => Asked::Not,
        (false, true, _) => Asked::ByVariables,
        (false, false, true) => Asked::ByOptions,
        (false, false, false) => hand_on(&action.command.argv).map_or(Asked::Not, Asked::HandedOn),
    }
}

/// Asks a checker to say how much it examined, unless the command itself chooses how the tool reports.
pub(super) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    let counter = counter_of(action.tool);
    let variables = counter.variables.iter().filter(|(name, _)| !action.environment.contains_key(*name));
    preparation.environment.extend(variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let options = counter.options.iter().map(|option| (*option).to_owned());
    match asked(counter, action, located) {
        Asked::ByVariables | Asked::Not => {}
        Asked::ByOptions => insert_options(&mut preparation.argv, located.arguments_from, options),
        Asked::HandedOn(separator) => {
            preparation.argv.extend(separator.iter().map(|word| (*word).to_owned()).chain(options));
        }
    }
}

/// Judges a checker that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let counter = counter_of(exited.action.tool);
    let said = (counter.read)(exited);
    let has_nothing = said.as_ref().is_none_or(|said| said.counts() == (0, 0));
    if let Some(interpretation) = launch_failure::find_or_signal(exited, has_nothing) {
        return interpretation;
    }
    let Some(said) = said else { return without_word(counter, exited) };
    let (category, reason) = decide(counter, exited, &said);
    let (errors, warnings) = said.counts();
    let total_files = said.findings.files();
    let is_listed = (said.findings.count(FindingLevel::Error), said.findings.count(FindingLevel::Warning)) == (errors, warnings);
    let counts_override = (!is_listed).then_some(DiagnosticSummary { errors, warnings, fixable: None, total_files });
    let count = said.examined.filter(|_| counter.counts == "file");
    let examined = Some(Examined { what: ExaminedUnit::Files, count });
    let warnings = said.remark.into_iter().collect();
    let (diagnostics, unlisted) = said.findings.finish();
    Interpretation { diagnostics, unlisted, counts_override, warnings, examined, ..Interpretation::plain(category, reason) }
}

fn decide(counter: &Counter, exited: &Exited<'_>, said: &Said) -> (CategoryCode, String) {
    let Counter { name, counts, .. } = *counter;
    let (code, (errors, warnings)) = (exited.code, said.counts());
    let named = said.findings.first();
    if counter.path_rule.is_some_and(|rule| said.is_only(rule)) {
        return (CategoryCode::UsageError, format!("{name} was given a path that is not there{named}; correct it"));
    }
    if said.is_only(hooks::MODIFIED) {
        return (
            CategoryCode::FilesChanged,
            format!("Hooks changed files of the check's own copy of the project{named}; run them and keep what they change"),
        );
    }
    match (errors + warnings, code, said.examined) {
        (1.., _, _) if errors > 0 || matches!(code, 0 | 1) => {
            (CategoryCode::Findings, format!("{errors} error(s) and {warnings} warning(s){named}"))
        }
        (1.., _, _) => {
            let reason =
                format!("Exit code {code}, but {name} has {warnings} warning(s) and no error{named}; see the end of the log");
            (CategoryCode::Inconsistent, reason)
        }
        (0, _, Some(0)) => (
            CategoryCode::NothingChecked,
            format!(
                "{name} says that it had no {counts} to check; correct what it is told to check, or what its configuration leaves out"
            ),
        ),
        (0, 0, _) if !exited.stdout_is_complete || !exited.stderr_is_complete => too_large(name),
        (0, 0, Some(count)) => (CategoryCode::Clean, format!("{name} found nothing in {count} {counts}(s)")),
        (0, 0, None) => {
            (CategoryCode::ExpectedExit, format!("{name} found nothing, but nothing tells how many {counts}s it checked"))
        }
        (0, _, _) => {
            let reason =
                format!("Exit code {code}, but no finding could be read in {name}'s output{}; see its log", words(exited));
            (CategoryCode::Inconsistent, reason)
        }
    }
}

fn too_large(name: &str) -> (CategoryCode, String) {
    (CategoryCode::OutputTooLarge, format!("{name} printed more than is interpreted; check fewer files at a time"))
}

// Judges a run whose output is not the one that is read.
fn without_word(counter: &Counter, exited: &Exited<'_>) -> Interpretation {
    let Counter { name, counts, .. } = *counter;
    let code = exited.code;
    let located = locate(&exited.action.command.argv);
    let is_asked = asked(counter, exited.action, &located) != Asked::Not;
    let arguments = &located.arguments;
    let is_crash = ["Traceback (most recent call last)", "panicked at"].iter().any(|words| exited.stderr.contains(words));
    let (category, reason) = match code {
        _ if is_crash => (CategoryCode::InternalError, format!("{name} failed inside itself{}; see its log", words(exited))),
        0 if !exited.stdout_is_complete => too_large(name),
        0 if is_asked || arguments.iter().any(|word| word == "--exit-zero") => (
            CategoryCode::ReportUnreadable,
            format!(
                "Exit code 0, but {name} said nothing that can be read, which proves nothing; remove options for its output, or find what ends it early"
            ),
        ),
        0 => (
            CategoryCode::ExpectedExit,
            format!(
                "{name} ended with exit code 0, but in the format of this command nothing tells how many {counts}s it checked"
            ),
        ),
        _ if !is_asked => (
            CategoryCode::ReportUnreadable,
            format!(
                "Exit code {code}, and {name}'s output is in a format that is not read; remove the option that chooses it, and see the log"
            ),
        ),
        _ => (CategoryCode::UsageError, format!("{name} refused its command line or configuration{}; correct it", words(exited))),
    };
    Interpretation::plain(category, reason)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::CLAIMS;
