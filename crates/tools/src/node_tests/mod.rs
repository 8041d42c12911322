//! Jest and Vitest: reads the JSON report, which has the same structure for both, and judges it together with the exit
//! code (E3).
//!
//! `report` reads the file, `tally` counts its tests, `rules` decides by an ordered list of rules, and `failures` makes
//! the result readable. Both tools use exit code 1 for every failure: failing tests, no tests, a file that does not
//! parse, a wrong option. So only the report distinguishes them. If there is no report, the printed text may name the
//! cause, but it never proves a success.

use std::path::Path;

use tally::Tally;

use crate::expectations::{self, Expectations, first_frame};
use crate::interpret::{Exited, Input, signal_through_wrapper};
use crate::launchers::locate;
use crate::places::Place;
use crate::retried::Retried;
use crate::{launch_failure, signals};
use proctor_model::{CategoryCode, FurtherTestCounts, Interpretation, TestResults, Tool, ToolReport};

mod failures;
mod hung;
mod prepare;
mod printed;
mod report;
mod rules;
mod shards;
mod tally;
mod words;
mod written;

#[cfg(test)]
mod rule_tests;

pub(super) use hung::{hung_in_jest, hung_in_vitest};
pub(super) use prepare::{ask, find_jest, find_vitest, vitest_tests};
pub(super) use shards::SHARDING;
pub(super) use written::{written_by_jest, written_by_vitest};

pub(super) const EXPECTATIONS_OF_JEST: Expectations = Expectations {
    begins: &["expect(", "expect.", "Error: expect(", "Error: expect.", "AssertionError", "assert.", "assert("],
    except: &["Matcher error"],
    place: first_frame,
    ..expectations::NONE
};

pub(super) const EXPECTATIONS_OF_VITEST: Expectations = Expectations {
    begins: &["AssertionError", "Snapshot `", "Error: Snapshot `", "expect(", "Error: expect("],
    place: first_frame,
    ..expectations::NONE
};

/// The state of the report after the run.
#[derive(Debug, Clone, PartialEq)]
enum ReportState {
    /// There is no report file, or no report was requested.
    Missing,
    /// The file exists, but was not accepted as this run's report.
    Refused(String),
    /// The file is larger than the limit for reading.
    TooLarge,
    /// The file was accepted, but its content cannot be parsed.
    Unreadable(String),
    Read(Tally),
}

/// The ended process and the state of its report: all that the rules may look at.
#[derive(Debug)]
struct Seen<'a> {
    exited: &'a Exited<'a>,
    report: ReportState,
}

impl Seen<'_> {
    /// Returns the counted report, if it was read.
    fn tally(&self) -> Option<&Tally> {
        match &self.report {
            ReportState::Read(tally) => Some(tally),
            ReportState::Missing | ReportState::Refused(_) | ReportState::TooLarge | ReportState::Unreadable(_) => None,
        }
    }
}

/// Judges a Jest or Vitest run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let mut seen = Seen { exited, report: state_of(input.report, exited.place) };
    if let ReportState::Read(tally) = &mut seen.report {
        hung::mend_time_outs(tally, exited);
        printed::complete_messages(tally, exited);
        for file in tally.broken.iter_mut().filter(|file| file.message.is_empty()) {
            let ended = words::ended_worker(exited, exited.place.within_directory(&file.file));
            file.message = ended.map_or_else(String::new, |said| format!("The worker exited {said}"));
        }
    }
    // A report proves that the tool ran. Without this condition, a test that prints "command not found" would look like
    // a failed start.
    if seen.tally().is_none() {
        if let Some(failure) = launch_failure::find(exited) {
            return failure;
        }
        if let Some(signal) = signals::of_exit_code(exited.code) {
            return signal_through_wrapper(exited.code, signal);
        }
    }
    let (category, reason) = rules::decide(&seen);
    let mut interpretation = Interpretation::plain(category, reason);
    if category == CategoryCode::CoverageBelowTarget {
        interpretation.coverage = words::coverage_below(exited).and_then(words::coverage_of);
    }
    if let Some(tally) = seen.tally() {
        let unhandled_errors = words::unhandled_number(exited).unwrap_or_default();
        let further = FurtherTestCounts {
            errors: tally.broken_files(),
            todo: tally.todo,
            reruns: tally.reruns,
            unhandled_errors,
            ..FurtherTestCounts::default()
        };
        describe(tally, further, exited, &mut interpretation);
        interpretation.warnings.extend(new_snapshots(tally, exited));
        interpretation.warnings.extend(idle(exited, input));
        // Where tests failed too, the reason names those.
        if category == CategoryCode::TestsFailed
            && let Some(error) = words::unhandled(exited).filter(|_| unhandled_errors > 0)
        {
            interpretation.warnings.push(format!("{unhandled_errors} error(s) that no test handles; the first: {error}"));
        }
        let failures = tally.tests.iter().filter(|test| test.is_retried).map(|test| failures::of_test(test, exited)).collect();
        interpretation = Retried { number: tally.retried, failures }.judge(exited.action.retry_attempts > 0, interpretation);
    }
    interpretation
}

// Says what becomes of snapshots that this run stored: what a check on a snapshot of the project writes does not reach the project, so
// the next run would store them again and compare nothing.
fn new_snapshots(tally: &Tally, exited: &Exited<'_>) -> Option<String> {
    let added = tally.snapshots.added;
    let is_kept = exited.action.writes.iter().any(|pattern| pattern.contains("__snapshots__") || pattern.contains(".snap"));
    let fate = if is_kept {
        "`writes` keeps them, and the next run compares with them"
    } else {
        "unless the check runs in the project itself, they are dropped, and no run ever compares anything: commit them, or keep them with \
         `writes = [\"**/__snapshots__/**\"]`"
    };
    (added > 0).then(|| format!("{added} snapshot(s) were written, and nothing was compared with them; {fate}"))
}

fn state_of(report: &ToolReport, place: Place<'_>) -> ReportState {
    match report {
        ToolReport::NotRequested | ToolReport::Missing => ReportState::Missing,
        ToolReport::Refused(why) => ReportState::Refused(why.clone()),
        ToolReport::Fresh(bytes) if bytes.len() > report::MAX_BYTES => ReportState::TooLarge,
        ToolReport::Large(large) if large.bytes() > report::MAX_BYTES as u64 => ReportState::TooLarge,
        ToolReport::Fresh(_) | ToolReport::Large(_) => match report.reader().map(|reader| Tally::read(reader, place)) {
            Some(Ok(tally)) => ReportState::Read(tally),
            Some(Err(error)) => ReportState::Unreadable(error.to_string()),
            None => ReportState::Missing,
        },
    }
}

fn describe(tally: &Tally, further: FurtherTestCounts, exited: &Exited<'_>, interpretation: &mut Interpretation) {
    let tests = tally.failed().map(|test| failures::of_test(test, exited));
    interpretation.test_results = Some(TestResults {
        counts: tally.counts,
        total: tally.total(),
        failures: tests.chain(tally.broken.iter().map(|file| failures::of_file(file, exited.place))).collect(),
        further,
    });
    interpretation.cases = tally.tests.iter().map(|test| failures::case(test, exited)).collect();
    if interpretation.category == CategoryCode::CollectionError {
        let modules: Vec<_> = tally.broken.iter().map(|file| failures::missing_module(&file.message)).collect();
        interpretation.only_missing_modules = !modules.is_empty() && modules.iter().all(Option::is_some);
        interpretation.missing_modules = modules.into_iter().flatten().collect();
        interpretation.missing_modules.sort_unstable();
        interpretation.missing_modules.dedup();
    }
    if tally.is_narrowed() {
        let skipped = tally.counts.skipped;
        interpretation
            .warnings
            .push(format!("{skipped} test(s) did not run: they have `.skip`, others have `.only`, or a name was asked for"));
    }
}

// Finds projects of a Vitest configuration that ran no test beside others that did. Vitest says nothing about them.

/// The endings of Vitest's configuration files.
const ENDINGS: &[&str] = &["ts", "mts", "js", "mjs", "cts", "cjs"];

/// The keys of a configuration behind which its projects stand, and the key of a project's name.
const PROJECTS: &str = "projects";
const NAME: &str = "name:";

/// Returns a warning about the projects that the configuration names and that ran no test. Nothing is known if the output names no
/// project, as with some reporters, or if the command chooses projects.
fn idle(exited: &Exited<'_>, input: &Input<'_>) -> Option<String> {
    let arguments = locate(&exited.action.command.argv).arguments;
    if exited.action.tool != Tool::Vitest || arguments.iter().any(|word| word.starts_with("--project")) {
        return None;
    }
    let read = |name: String| (input.source)(input.project_root, &Path::new(&input.action.directory).join(name));
    let files = ["vitest.config", "vite.config"].iter().flat_map(|stem| ENDINGS.iter().map(move |end| format!("{stem}.{end}")));
    let configuration = files.clone().find_map(|name| Some((name.clone(), read(name)?)))?;
    let names = names_of_projects(&configuration.1);
    let (ran, idle): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_printed(&exited.stdout, name));
    let shown: Vec<String> = idle.iter().map(|name| format!("`{name}`")).collect();
    (!ran.is_empty() && !idle.is_empty()).then(|| {
        format!("no test ran of {} in the projects of `{}`: look at the patterns in `include`", shown.join(", "), configuration.0)
    })
}

/// Returns the names that are written as plain strings behind the key `projects`.
fn names_of_projects(text: &str) -> Vec<&str> {
    let Some((_, projects)) = text.split_once(PROJECTS) else { return Vec::new() };
    let named = projects.split(NAME).skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"' | '`'))?;
        rest[1..].split_once(quote).map(|(name, _)| name)
    });
    named.filter(|name| !name.is_empty() && !name.contains(['$', '\n'])).collect()
}

/// Returns whether a line about a file of tests has the name of a project: `✓ |unit| a.test.js`, or `✓  unit  a.test.js`.
fn is_printed(stdout: &str, name: &str) -> bool {
    let is_of_file = |line: &&str| line.starts_with(['✓', '❯', '×', '↓']);
    let mut lines = stdout.lines().map(str::trim_start).filter(is_of_file);
    lines.any(|line| line.contains(&format!("|{name}|")) || line.contains(&format!("  {name}  ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;

    const CONFIGURATION: &str = "export default { test: { name: 'all', projects: [\n  { test: { name: 'unit' } }, { test: { name: \"e2e\" } },\n  'packages/*' ] } }";

    fn warned(command: &str, stdout: &str) -> bool {
        let mut returned = Returned::exited(Tool::Vitest, command, 0).saying(stdout, "");
        returned.source = |_, path| (path == Path::new("vitest.config.ts")).then(|| CONFIGURATION.to_owned());
        returned.report = proctor_model::ToolReport::Fresh(
            br#"{"numTotalTests":1,"numPassedTests":1,"numFailedTests":0,"success":true,"testResults":[{"name":"/project/a.test.js","status":"passed","message":"","assertionResults":[{"ancestorTitles":[],"fullName":"a","title":"a","status":"passed","failureMessages":[]}]}]}"#.to_vec(),
        );
        let interpretation = returned.interpret();
        interpretation
            .warnings
            .iter()
            .any(|warning| warning.contains("no test ran of `e2e` in the projects of `vitest.config.ts`"))
    }

    #[test]
    fn a_project_without_a_test_beside_others_is_named() {
        assert!(warned("vitest run", " ✓ |unit| a.test.js (1 test) 4ms\n"));
        assert!(warned("vitest run", " ✓  unit  a.test.js (1 test) 4ms\n"));
        assert!(!warned("vitest run", " ✓ |unit| a.test.js\n ✓ |e2e| b.test.js\n"));
        assert!(!warned("vitest run --project unit", " ✓ |unit| a.test.js\n"), "it was asked for");
        assert!(!warned("vitest run --reporter=dot", "··\n"), "nothing is known");
    }
}
