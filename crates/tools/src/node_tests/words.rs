//! Searches the printed text of Jest and Vitest for the cause of a failure that the report does not explain. Printed
//! text never proves a success.

use crate::interpret::Exited;
use crate::launchers::locate;
use crate::recognise::CommandForm;
use proctor_model::Coverage;

/// Messages that say that there is no test file.
const NO_TESTS: &[&str] = &["No tests found, exiting with code", "No test files found, exiting with code"];

/// Headings of messages about a wrong command line or configuration. A heading with `CACError:` or ` config` names the
/// problem itself; after the other headings, the next line names it.
const REFUSED: &[&str] = &[
    "Unrecognized CLI Parameter",
    "Validation Error:",
    "CACError:",
    "Startup Error",
    "Error: Failed to parse the TypeScript config",
    "Could not find a config file",
    "Can't find a root directory",
    "CLIENT ERROR",
];

/// Parts of the names of configuration files. If Node.js cannot load such a file, one of the first three lines names
/// it.
const CONFIGURATION_FILES: &[&str] = &["jest.config.", "vitest.config.", "vite.config."];

/// Headings of errors that belong to no test in the report.
const UNHANDLED: &[&str] = &["Unhandled Rejection", "Unhandled Error", "Uncaught Exception"];

/// The beginning of Vitest's line about what caused an error.
const CAUSE: &str = "Caused by: ";

/// The sign before a frame of the stack in what Vitest prints, and the sign of its rules.
const FRAME: &str = "❯ ";
const RULE: char = '⎯';

/// The beginnings of lines on standard error that name no problem: frames of a stack, rules, and warnings of Node.js.
const UNTELLING: &[&str] = &["at ", FRAME, "⎯", "Serialized Error:", "Node.js v", "(node:", "(Use `node ", WRITTEN_TO];

/// The beginning of Jest's line about its report, which is the last one of a run with any result.
const WRITTEN_TO: &str = "Test results written to:";

/// The message that Jest or Vitest prints when a test calls `process.exit`.
const EXIT_CALLED: &str = "process.exit called with";

/// Returns whether the tool printed that it found no test file.
pub(super) fn says_no_tests(exited: &Exited<'_>) -> bool {
    lines(exited).any(|line| NO_TESTS.iter().any(|words| line.contains(words)))
}

/// Returns the message about a wrong command line or configuration.
pub(super) fn refusal<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let mut rest = lines(exited).skip_while(|line| !REFUSED.iter().any(|words| line.contains(words)));
    if let Some(heading) = rest.next() {
        let is_said_there = heading.contains("CACError:") || heading.contains(" config");
        return if is_said_there { Some(heading) } else { rest.next().or(Some(heading)) };
    }
    let names_configuration = lines(exited).take(3).any(|line| CONFIGURATION_FILES.iter().any(|name| line.contains(name)));
    let error = || lines(exited).find(|line| line.contains("Error: "));
    names_configuration.then(error).flatten()
}

/// Returns the message of a start that failed because a file could not be written. Vitest writes its configuration, translated, to
/// `node_modules/.vite-temp`.
pub(super) fn denied_write<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let says_so = |line: &str| ["Error: EROFS: ", "Error: EACCES: "].iter().any(|words| line.contains(words));
    lines(exited).any(|line| line.contains("Startup Error")).then(|| lines(exited).find(|line| says_so(line))).flatten()
}

/// Returns the printed message of an error that belongs to no test in the report, with its cause and the place in the project.
pub(super) fn unhandled(exited: &Exited<'_>) -> Option<String> {
    let mut rest = lines(exited).skip_while(|line| !UNHANDLED.iter().any(|words| line.contains(words)));
    rest.next()?;
    let mut said = rest.find(|line| line.contains("Error: "))?.to_owned();
    let of_error = || rest.clone().take_while(|line| !line.starts_with(RULE));
    if let Some(place) = of_error().find_map(place_in_project) {
        said.push_str(&format!(" ({place})"));
    }
    if let Some(cause) = of_error().find(|line| line.starts_with(CAUSE)) {
        said.push_str(&format!(" {cause}"));
    }
    Some(said)
}

/// Returns the place of a frame such as `❯ work a.test.js:2:47`, if it is a file of the project.
fn place_in_project(line: &str) -> Option<&str> {
    let place = line.strip_prefix(FRAME)?.rsplit(' ').next()?;
    let (path, column) = place.rsplit_once(':')?;
    let is_own = !["node_modules/", "node:", "file:"].iter().any(|part| line.contains(part));
    (is_own && column.parse::<u32>().is_ok() && path.contains(':')).then_some(place)
}

/// Returns the line by which Vitest says that the process that ran a file of tests was killed or ended: it ends with the file's path.
pub(super) fn ended_worker<'a>(exited: &'a Exited<'_>, file: &str) -> Option<&'a str> {
    let causes = || lines(exited).filter_map(|line| line.strip_prefix(CAUSE)?.split_once("Worker exited"));
    causes().find(|(_, said)| said.ends_with(&format!("/{file}"))).map(|(_, said)| said.trim())
}

/// Returns Vitest's line about errors that belong to no test, for example `Vitest caught 1 unhandled error during the test run.`
pub(super) fn unhandled_count<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    lines(exited).find(|line| line.starts_with("Vitest caught ") && line.contains(" unhandled error"))
}

/// Returns how many errors that belong to no test Vitest says that it caught.
pub(super) fn unhandled_number(exited: &Exited<'_>) -> Option<u64> {
    unhandled_count(exited)?.strip_prefix("Vitest caught ")?.split(' ').next()?.parse().ok()
}

/// Returns whether the tool printed that a test called `process.exit`.
pub(super) fn says_exit_called(exited: &Exited<'_>) -> bool {
    lines(exited).any(|line| line.contains(EXIT_CALLED))
}

/// Returns the file and the heading of the first failure if Jest ended at it because of its option `bail`. Jest then mostly writes no
/// report. Its line about the files then says how many of all files ran: `Test Suites: 1 failed, 1 of 2 total`. If the failure was in
/// the last file, Jest's last line is the one of a whole run, and what it says after writing a report is missing. That is also so
/// where a script did not hand the request for a report on to Jest, so then it proves nothing.
pub(super) fn bailed(exited: &Exited<'_>) -> Option<String> {
    let was_asked = locate(&exited.action.command.argv).recognition.form == CommandForm::Direct;
    let ended_at_once = was_asked && last_line(exited).is_some_and(|line| line.starts_with("Ran all test suites"));
    let is_bail = |line: &str| {
        let counts = line.strip_prefix("Test Suites:").filter(|counts| counts.contains(" failed"));
        counts.is_some_and(|counts| counts.contains(" of ") || ended_at_once)
    };
    lines(exited).find(|line| is_bail(line))?;
    let file = lines(exited).find_map(|line| line.strip_prefix("FAIL ")).map(|file| file.strip_prefix("./").unwrap_or(file));
    let heading = lines(exited).find_map(|line| line.strip_prefix("● "));
    let parts: Vec<&str> = file.into_iter().chain(heading).collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// Returns the line that says that the coverage is below a threshold.
pub(super) fn coverage_below<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    lines(exited).find(|line| {
        let newer = line.contains("Coverage for ") && line.contains(" does not meet ");
        newer || (line.contains(" coverage threshold for ") && line.contains(" not met: "))
    })
}

/// Returns the two percentages of a line that `coverage_below` found. Newer versions print the measured percentage
/// first, older versions of Jest the required one.
pub(super) fn coverage_of(line: &str) -> Option<Coverage> {
    let mut numbers = line.split(['(', ')', ' ']).filter_map(|word| word.strip_suffix('%')?.parse::<f64>().ok());
    let (first, second) = (numbers.next()?, numbers.next()?);
    let is_sensible = first.is_finite() && second.is_finite();
    let (percent, required) = if line.contains(" not met: ") { (second, first) } else { (first, second) };
    is_sensible.then_some(Coverage { percent, required })
}

fn last_line<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    exited.stderr.lines().map(str::trim).rfind(|line| !line.is_empty())
}

/// Returns the last line of standard error that can name the problem: neither blank, nor a frame of a stack, nor a warning of Node.js.
pub(super) fn complaint<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let is_said = |line: &&str| !line.is_empty() && !UNTELLING.iter().any(|words| line.starts_with(words));
    exited.stderr.lines().map(str::trim).rfind(is_said)
}

/// Returns whether Jest fails because of stored snapshots that no test uses. It does so with `--ci`.
pub(super) fn fails_for_obsolete(exited: &Exited<'_>) -> bool {
    lines(exited).any(|line| line.starts_with("Snapshots:") && line.contains(" obsolete"))
        && !exited.stderr.lines().any(|line| line.trim_start().starts_with("at "))
}

/// Returns where Vitest says that it wrote the JSON report.
pub(super) fn report_elsewhere<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    lines(exited).filter_map(|line| line.strip_prefix("JSON report written to ")).last()
}

fn lines<'a>(exited: &'a Exited<'_>) -> impl Iterator<Item = &'a str> + Clone {
    exited.stderr.lines().chain(exited.stdout.lines()).map(str::trim).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_coverage_line_are_read() {
        for (line, percent, required) in [
            ("Jest: Coverage for branches (50%) does not meet \"global\" threshold (90%)", 50.0, 90.0),
            ("Jest: \"global\" coverage threshold for lines (80%) not met: 66.66%", 66.66, 80.0),
            ("ERROR: Coverage for lines (12.5%) does not meet global threshold (80%)", 12.5, 80.0),
        ] {
            assert_eq!(coverage_of(line), Some(Coverage { percent, required }), "{line}");
        }
        assert_eq!(coverage_of("Coverage for lines (x%) does not meet"), None);
    }
}
