//! Go's tests: `go test`, asked for its events by `-json`.
//!
//! `events` reads the events, and the common rules in `test_run` judge. The format is documented by `go doc test2json`.

mod events;
mod shards;

use crate::expectations::{self, Expectations};
use crate::interpret::{Exited, signal_through_wrapper};
use crate::no_work::{self, NoWork};
use crate::option_spelling::subcommand;
use crate::prepare::{Preparation, ReportTask};
use crate::recognise::CommandForm;
use crate::test_run::judge;
use crate::{launch_failure, signals};
pub(super) use events::find;
use proctor_model::{CategoryCode, Interpretation};
pub(super) use shards::SHARDING;

/// The options with which `go test` runs no test.
pub(super) const NO_WORK: NoWork =
    NoWork { options: &["-c", "-n", "-list", "--list", "-h", "-help", "--help"], names_the_tool: false, ..no_work::NONE };

/// A failed test of Go prints a message of its own words, with the place of the call.
pub(super) const EXPECTATIONS: Expectations = Expectations {
    begins: &[""],
    except: &["panic: ", events::PROCESS_ENDED, "race detected during execution of test"],
    place: events::raised_at,
    needs_place: true,
    ..expectations::NONE
};

/// Go's exit code for a wrong command line.
const USAGE: i32 = 2;

/// The beginnings of messages by which Go refuses its command line or the module.
const REFUSALS: &[&str] =
    &["flag provided but not defined", "go: go.mod file not found", "go: cannot find main module", "go: errors parsing go.mod"];

/// What Go says if its patterns match nothing.
const NO_PACKAGES: &[&str] = &["no packages to test", "matched no packages"];

/// Returns whether Go runs tests with these arguments.
pub(super) fn runs_tests(_: &str, arguments: &[String]) -> bool {
    subcommand(arguments) == Some("test")
}

/// Requests events in place of the printed output.
pub(super) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if located.recognition.tool != action.tool || located.recognition.form != CommandForm::Direct {
        return;
    }
    let is_asked = |word: &String| word.trim_start_matches('-') == "json" && word.starts_with('-');
    let at = located.arguments.iter().position(|word| word == "test");
    if let Some(at) = at.filter(|_| !located.arguments.iter().any(is_asked)) {
        preparation.argv.insert(located.arguments_from + at + 1, "-json".to_owned());
    }
}

/// Judges a run of `go test` that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let read = events::read(exited);
    let complaint = |words: &[&str]| {
        let mut lines = exited.stderr.lines().chain(exited.stdout.lines()).map(str::trim);
        lines.find(|line| words.iter().any(|words| line.contains(words))).map(str::to_owned)
    };
    let Some(mut facts) = read else {
        if let Some(failure) = launch_failure::find(exited) {
            return failure;
        }
        if let Some(signal) = signals::of_exit_code(exited.code) {
            return signal_through_wrapper(exited.code, signal);
        }
        let first = exited.stderr.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let words = first.map_or_else(String::new, |line| format!(": {line}"));
        if let Some(line) = complaint(NO_PACKAGES) {
            let reason = format!("go test found no test: {line}; check the packages of the command");
            return Interpretation::plain(CategoryCode::NoTestsCollected, reason);
        }
        if exited.code != 0 && (exited.code == USAGE || complaint(REFUSALS).is_some()) {
            let line = complaint(REFUSALS).or_else(|| first.map(str::to_owned)).unwrap_or_default();
            return Interpretation::plain(CategoryCode::UsageError, format!("go refused its command line: {line}; correct it"));
        }
        let reason = format!(
            "Exit code {} without the events of `go test -json`, which proves nothing{words}; see the log, and let the check run \
             `go test` directly",
            exited.code
        );
        return Interpretation::plain(CategoryCode::ReportMissing, reason);
    };
    if !(exited.stdout_is_complete && exited.stderr_is_complete) {
        let reason = format!("Exit code {}, but the events are too long to be kept whole; test in parts", exited.code);
        facts.unread = Some((CategoryCode::OutputTooLarge, reason));
    }
    facts.code = exited.code;
    facts.refusal = complaint(REFUSALS);
    facts.outside = exited.stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
    judge(facts)
}
