//! Finds what a linter printed with exit code 0 although no finding could be read: its configuration may set a format that is not
//! known, and then the exit code proves nothing if it does not tell of findings.
//!
//! Ruff: recognises the commands that check something, and makes Ruff's linter print JSON.

use crate::interpret::Exited;
use crate::launchers::{Located, locate};
use crate::option_spelling::{has_any, subcommand};
use crate::prepare::{Preparation, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
use proctor_model::{Action, Tool};

/// The beginning of Pylint's line with its score.
const SCORE: &str = "Your code has been rated at ";

/// The ends of the lines that Flake8 prints with `--benchmark`.
const BENCHMARK_WORDS: &[&str] = &[" seconds elapsed", " processed", " processed per second"];

/// What a linter without findings may print in its text output.
const CLEAN_WORDS: &[&str] = &["All checks passed!", "Success: no issues found"];

/// Returns the line of Ruff or Flake8 that is not understood if the exit code tells of no finding (`--exit-zero`).
pub(super) fn with_exit_zero(exited: &Exited<'_>, arguments: &[String]) -> Option<String> {
    let is_told_to = arguments.iter().any(|word| word == "--exit-zero" || word == "-e");
    let is_formatter = subcommand(arguments) == Some("format");
    // With `--fix`, Ruff says what it mended: `Found 2 errors (2 fixed, 0 remaining).`
    if exited.stdout.contains("fixed, 0 remaining)") {
        return None;
    }
    if is_told_to && !is_formatter { foreign_line(exited) } else { None }
}

/// Returns the line by which Pylint says that there are findings, or its first line that is not understood. Pylint ends with exit
/// code 0 whatever it finds if its own threshold (`fail-under`) is met.
pub(super) fn pylint(exited: &Exited<'_>, _: &[String]) -> Option<String> {
    let lines = || exited.stdout.lines().map(str::trim);
    let is_below = |line: &&str| {
        let score = line.strip_prefix(SCORE).and_then(|rest| rest.split('/').next()?.parse::<f64>().ok());
        score.is_some_and(|score| score < 10.0)
    };
    let is_heading = |line: &&str| line.starts_with("************* Module ");
    let found = lines().find(is_heading).or_else(|| lines().find(is_below));
    let has_report = || lines().any(|line| line == "Report");
    found.map(str::to_owned).or_else(|| if has_report() { None } else { foreign_line(exited) })
}

// Only the output of a command that calls the tool directly has no lines of other programs.
fn foreign_line(exited: &Exited<'_>) -> Option<String> {
    if locate(&exited.action.command.argv).recognition.form != CommandForm::Direct {
        return None;
    }
    let is_known = |line: &&str| {
        let is_rule = line.bytes().all(|byte| b"-=*".contains(&byte));
        let is_number = line.bytes().all(|byte| byte.is_ascii_digit());
        // A list of no findings, in JSON, and the line with Pylint's score, which has been read.
        is_rule
            || is_number
            || *line == "[]"
            || line.starts_with(SCORE)
            || BENCHMARK_WORDS.iter().any(|words| line.ends_with(words))
            || CLEAN_WORDS.iter().any(|words| line.starts_with(words))
    };
    exited.stdout.lines().map(str::trim).filter(|line| !is_known(line)).map(str::to_owned).next()
}

const FORMAT_OPTIONS: &[&str] = &["--output-format", "--format"];

/// Returns whether a Ruff command lints, or checks the format without changing files.
pub(crate) fn ruff_checks(_: &str, arguments: &[String]) -> bool {
    match subcommand(arguments) {
        Some("check") => true,
        Some("format") => has_any(arguments, &["--check", "--diff"]),
        Some(_) | None => false,
    }
}

/// Returns whether [`ask_ruff`] adds the option for JSON. It does so only for commands that proctor made itself and that choose
/// no format (E6).
pub(super) fn asks_for_json(action: &Action) -> bool {
    is_asked(action, &locate(&action.command.argv))
}

fn is_asked(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Ruff && located.recognition.form == CommandForm::Direct;
    // Only the linter can print JSON; the formatter's check has no such option in older versions.
    let is_linter = located.arguments.iter().find(|argument| !argument.starts_with('-')).is_some_and(|word| word == "check");
    is_ours && is_linter && option_value(&located.arguments, FORMAT_OPTIONS).is_none()
}

/// Adds the option that makes Ruff's linter print JSON on standard output.
pub(crate) fn ask_ruff(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if is_asked(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["--output-format=json".to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use crate::samples::Returned;
    use proctor_model::{CategoryCode, Tool};

    const RATED: &str =
        "\n--------------------------------------------------------------------\nYour code has been rated at 10.00/10\n\n";

    #[test]
    fn output_in_a_format_of_the_tools_configuration_is_no_success_without_a_finding() {
        let json2 = "{\n    \"messages\": [\n        {\n            \"type\": \"warning\"\n        }\n    ]\n}\n";
        let template = "************* Module p\np.py|2|Unused import os\n\n-----\nYour code has been rated at 0.00/10\n\n";
        let github = "::warning file=p.py,line=2,endline=2,col=0,title=W0611::Unused import os\n";
        let report = "\n\nReport\n======\n1 statements analysed.\n\nYour code has been rated at 10.00/10\n";
        let contradicts = CategoryCode::Inconsistent;
        for (tool, command, stdout, expected) in [
            (Tool::Pylint, "pylint p.py", template, contradicts),
            (Tool::Pylint, "pylint p.py", "\n-----\nYour code has been rated at 9.51/10 (previous run: 10.00/10)\n", contradicts),
            (Tool::Pylint, "pylint p.py", json2, contradicts),
            (Tool::Pylint, "python -m pylint p.py", github, contradicts),
            (Tool::Pylint, "pylint p.py", RATED, CategoryCode::Clean),
            (Tool::Pylint, "pylint p.py", "", CategoryCode::Clean),
            (Tool::Pylint, "pylint -f json p.py", "[]\n", CategoryCode::Clean),
            (Tool::Pylint, "pylint -ry p.py", report, CategoryCode::Clean),
            (Tool::Pylint, "sh -c 'echo begin; pylint p.py'", "begin\n", CategoryCode::Clean),
            (Tool::Ruff, "ruff check --exit-zero .", github, contradicts),
            (Tool::Ruff, "ruff check --exit-zero .", "All checks passed!\n", CategoryCode::Clean),
            (Tool::Ruff, "ruff check .", "All checks passed!\n", CategoryCode::Clean),
            (Tool::Ruff, "ruff check --fix --exit-zero .", "Found 2 errors (2 fixed, 0 remaining).\n", CategoryCode::Clean),
            (Tool::Flake8, "flake8 --exit-zero .", "a.py on line 1\n", contradicts),
            (Tool::Flake8, "flake8 --exit-zero --count .", "0\n", CategoryCode::Clean),
            (
                Tool::Flake8,
                "flake8 --exit-zero .",
                "0.1        seconds elapsed\n3          total files processed\n",
                CategoryCode::Clean,
            ),
        ] {
            let interpretation = Returned::exited(tool, command, 0).saying(stdout, "").interpret();
            assert_eq!(interpretation.category, expected, "{command} {stdout}: {}", interpretation.reason);
        }
    }

    #[test]
    fn findings_that_a_variable_sends_to_a_file_are_not_taken_for_none() {
        for command in [
            "env RUFF_OUTPUT_FILE=o.txt ruff check --exit-zero .",
            "sh -c 'RUFF_OUTPUT_FILE=o.txt ruff check --exit-zero .'",
            "env RUFF_OUTPUT_FORMAT=github ruff check --exit-zero .",
        ] {
            let interpretation = Returned::exited(Tool::Ruff, command, 0).interpret();
            assert_eq!(interpretation.category, CategoryCode::ReportUnreadable, "{command}: {}", interpretation.reason);
        }
        let mut returned = Returned::exited(Tool::Ruff, "ruff check --exit-zero .", 0);
        returned.action.environment.insert("RUFF_OUTPUT_FILE".to_owned(), "o.txt".to_owned());
        assert_eq!(returned.interpret().category, CategoryCode::ReportUnreadable);
    }

    #[test]
    fn json_that_stands_in_a_file_is_named_and_json_of_no_finding_may_be_empty() {
        let clean = Returned::exited(Tool::Mypy, "mypy -O json .", 0).interpret();
        assert_eq!(clean.category, CategoryCode::Clean, "{}", clean.reason);
        let failed = Returned::exited(Tool::Mypy, "mypy -O json .", 1).interpret();
        assert_eq!(failed.category, CategoryCode::ReportUnreadable);
        let empty = Returned::exited(Tool::Ruff, "ruff check --output-format json .", 0).interpret();
        assert_eq!(empty.category, CategoryCode::ReportUnreadable, "Ruff prints `[]`");
        for command in ["ruff check --output-format json -o o.json .", "ruff check --output-format=json --output-file=o.json ."] {
            let written = Returned::exited(Tool::Ruff, command, 0).interpret();
            assert!(written.reason.contains("wrote its findings to `o.json`"), "{}", written.reason);
        }
    }

    #[test]
    fn the_difference_that_the_formatter_of_ruff_would_make_names_the_files() {
        let stdout = "--- a.py\n+++ a.py\n@@ -1,2 +1,3 @@\n import os\n+\n x: int = \"a\"\n\n--- c.py\n+++ c.py\n@@ -1 +1 @@\n-x=1\n+x = 1\n\n";
        let returned = Returned::exited(Tool::Ruff, "ruff format --diff .", 1)
            .saying(stdout, "2 files would be reformatted, 1 file already formatted\n");
        let read = returned.interpret();
        let files: Vec<_> = read.diagnostics.iter().map(|found| found.file.as_deref()).collect();
        assert_eq!((read.category, files), (CategoryCode::Findings, vec![Some("a.py"), Some("c.py")]), "{}", read.reason);
        assert_eq!(read.examined.and_then(|examined| examined.count), Some(3));
        let clean = Returned::exited(Tool::Ruff, "ruff format --diff .", 0).saying("", "1 file already formatted\n").interpret();
        assert_eq!((clean.category, clean.examined.and_then(|examined| examined.count)), (CategoryCode::Clean, Some(1)));
        let hidden =
            Returned::exited(Tool::Ruff, "ruff format --diff .", 0).saying(stdout, "2 files would be reformatted\n").interpret();
        assert_eq!(hidden.category, CategoryCode::Inconsistent);
    }
}
