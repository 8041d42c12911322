//! ESLint: judges its findings together with its exit code. Its text output and its JSON output are judged by the same
//! rules (E6).
//!
//! Exit code 1 does not always mean errors: ESLint also uses it for too many warnings (C28). Exit code 2 usually means
//! that ESLint could not do its work. With `--exit-on-fatal-error` it can also mean a parse error, and make turns every
//! failure into 2.

mod call;
mod discover;
mod json;
mod stylish;

use crate::gathered::Gathered;
use crate::interpret::Exited;
use crate::launch_failure;
use crate::launchers::locate;
use crate::no_work::{self, NoWork};
use crate::option_spelling::OptionSpelling;
use crate::prepare::option_value;
pub(super) use call::{ask, max_warnings, script_max_warnings};
use call::{asks_for_json, paths};
pub(super) use discover::find;
use proctor_model::{CategoryCode, Diagnostic, DiagnosticSummary, Examined, ExaminedUnit, FindingLevel, Interpretation};

/// The calls of ESLint that check nothing and end with exit code 0.
pub(super) const NO_WORK: NoWork = NoWork {
    options: &[
        "-v",
        "--version",
        "-h",
        "--help",
        "--print-config",
        "--env-info",
        "--inspect-config",
        "--init",
        "--mcp",
        "--stdin",
        "--stdin-filename",
        "--suppress-all",
        "--suppress-rule",
        // Findings that can be fixed are left out, and the files keep them.
        "--fix-dry-run",
    ],
    spelling: OptionSpelling::Joined { valued: "cfo" },
    allow_no_files: &["--pass-on-no-patterns", "--no-error-on-unmatched-pattern", "--no-warn-ignored"],
    ..no_work::NONE
};

const FORMAT_OPTIONS: &[&str] = &["-f", "--format"];
const FILE_OPTIONS: &[&str] = &["-o", "--output-file"];
const READABLE_FORMATS: &[&str] = &["stylish", "json"];

/// The beginning of the warning in place of findings in a file that the command names and the configuration ignores.
const IGNORED: &str = "File ignored";

const TOO_MANY_WARNINGS: &str = "ESLint found too many warnings";

/// What ESLint prints when a rule crashes. Any other output with exit code 2 means a wrong command line or
/// configuration. A stack trace is no sign of a crash, because ESLint prints one for a broken configuration file too.
const CRASH_WORDS: &[&str] = &["Occurred while linting", "JavaScript heap out of memory"];

/// The findings and counts that were read from ESLint's output.
#[derive(Debug, Default)]
struct Output {
    diagnostics: Gathered,
    /// The counts in the last line of ESLint's text output.
    stated: Option<DiagnosticSummary>,
    /// How many findings comments in the code suppress. Only ESLint's JSON tells.
    suppressed: u64,
    /// How many files ESLint checked, without those that it ignored. Only its JSON tells.
    files: Option<u64>,
    /// How ESLint's own counts differ from the findings that it lists. Only its JSON can show that.
    contradiction: Option<String>,
}

impl Output {
    fn count_findings(&self) -> DiagnosticSummary {
        let count = |level| self.diagnostics.count(level);
        let (errors, warnings) = (count(FindingLevel::Error), count(FindingLevel::Warning));
        DiagnosticSummary { errors, warnings, fixable: None, total_files: self.diagnostics.files() }
    }
}

/// Judges an ESLint run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let arguments = locate(&exited.action.command.argv).arguments;
    let output = match read(exited, &arguments) {
        Ok(output) => output,
        Err(interpretation) => return *interpretation,
    };
    if let Some(interpretation) = launch_failure::find_or_signal(exited, output.diagnostics.is_empty()) {
        return interpretation;
    }
    let counted = output.count_findings();
    // ESLint's own counts replace the counted ones where they differ. So a message in an unknown format is never
    // missing from the counts.
    let stated = output.stated.filter(|stated| (stated.errors, stated.warnings) != (counted.errors, counted.warnings));
    let counts = stated.unwrap_or(counted);
    let (category, reason) = match decide(exited, &output, counts) {
        (CategoryCode::Findings, _) if exited.code == 0 && output.files.is_none() && names_only_ignored(&output, &arguments) => (
            CategoryCode::NothingChecked,
            "ESLint ignored every file that it was given; correct the paths or what the configuration ignores".to_owned(),
        ),
        decided => decided,
    };
    let mut warnings = Vec::new();
    if output.suppressed > 0 {
        warnings.push(format!("{} finding(s) are suppressed by comments in the code", output.suppressed));
    }
    if category == CategoryCode::Findings && exited.stderr.contains(TOO_MANY_WARNINGS) {
        warnings.push("ESLint ended with exit code 1 because of --max-warnings".to_owned());
    }
    let files = output.files;
    let (diagnostics, unlisted) = output.diagnostics.finish();
    let examined = Some(Examined { what: ExaminedUnit::Files, count: files });
    Interpretation {
        diagnostics,
        unlisted,
        counts_override: stated,
        warnings,
        examined,
        ..Interpretation::plain(category, reason)
    }
}

fn read(exited: &Exited<'_>, arguments: &[String]) -> Result<Output, Box<Interpretation>> {
    let wants_json = asks_for_json(exited.action) || option_value(arguments, FORMAT_OPTIONS) == Some("json");
    let failed = exited.code != 0 && exited.code != 1;
    let file = option_value(arguments, FILE_OPTIONS);
    if let (Some(file), false, true) = (file, failed, exited.stdout_is_complete && exited.stdout.trim().is_empty()) {
        let reason = format!("ESLint wrote its findings to `{file}`, which is not read; remove `-o`");
        return Err(unreadable(CategoryCode::ReportUnreadable, &reason));
    }
    if let Some(text) = json::find(&exited.stdout, wants_json) {
        return match json::parse(text, exited.place) {
            Ok(output) => Ok(output),
            Err(_) if failed => Ok(Output::default()),
            Err(_) if !exited.stdout_is_complete => Err(unreadable(
                CategoryCode::OutputTooLarge,
                "ESLint's JSON is larger than what is interpreted; check fewer files at a time",
            )),
            Err(_) if launch_failure::find(exited).is_some() => Ok(Output::default()),
            Err(error) => Err(unreadable(
                CategoryCode::ReportUnreadable,
                &format!(
                    "Exit code {}, but ESLint's JSON cannot be read: {error}; find what else prints to its output",
                    exited.code
                ),
            )),
        };
    }
    let foreign = option_value(arguments, FORMAT_OPTIONS).filter(|format| !READABLE_FORMATS.contains(format));
    if let (Some(format), false) = (foreign, failed) {
        let reason = format!("ESLint's format `{format}` is not read; use `stylish` or `json`");
        return Err(unreadable(CategoryCode::ReportUnreadable, &reason));
    }
    if let (Some(file), false) = (file, failed) {
        let reason = format!("ESLint wrote its findings to `{file}`, which is not read; remove `-o`");
        return Err(unreadable(CategoryCode::ReportUnreadable, &reason));
    }
    Ok(stylish::parse(&exited.stdout, exited.place))
}

// Returns whether ESLint's only findings are that it ignored as many files as the command names. For a directory, or for a pattern that
// ESLint resolves itself, it does not say which files it ignored.
fn names_only_ignored(output: &Output, arguments: &[String]) -> bool {
    let found = &output.diagnostics.listed;
    let is_ignored = |found: &Diagnostic| found.line.is_none() && found.rule_id.is_none() && found.message.starts_with(IGNORED);
    let paths = paths(arguments);
    let is_plain = |path: &String| !path.contains(['*', '?', '[', '{', '$', '`']);
    found.iter().all(is_ignored) && paths.len() <= found.len() && paths.iter().all(is_plain)
}

fn unreadable(category: CategoryCode, reason: &str) -> Box<Interpretation> {
    Box::new(Interpretation::plain(category, reason))
}

fn decide(exited: &Exited<'_>, output: &Output, counts: DiagnosticSummary) -> (CategoryCode, String) {
    let DiagnosticSummary { errors, warnings, .. } = counts;
    let findings = || {
        let named = output.diagnostics.first();
        (CategoryCode::Findings, format!("{errors} error(s) and {warnings} warning(s){named}"))
    };
    if let Some(contradiction) = output.contradiction.as_ref().filter(|_| matches!(exited.code, 0 | 1)) {
        let reason = format!("ESLint's counts and findings contradict each other: {contradiction}; find what changes its output");
        return (CategoryCode::Inconsistent, reason);
    }
    match exited.code {
        0 if errors > 0 => (
            CategoryCode::Inconsistent,
            format!("Exit code 0, but ESLint's output holds {errors} error(s){}; look for `|| true`", output.diagnostics.first()),
        ),
        0 if output.files == Some(0) => (
            CategoryCode::NothingChecked,
            "ESLint checked no file, as its JSON says; correct the paths or what the configuration ignores".to_owned(),
        ),
        0 if warnings > 0 => findings(),
        0 if !exited.stdout_is_complete => (
            CategoryCode::OutputTooLarge,
            "ESLint printed more than is interpreted and its last line was not found; check fewer files at a time".to_owned(),
        ),
        0 => (CategoryCode::Clean, "ESLint found nothing".to_owned()),
        1 | 2 if errors > 0 && !is_crash(exited) => findings(),
        1 if warnings > 0 && exited.stderr.contains(TOO_MANY_WARNINGS) => findings(),
        1 => (
            CategoryCode::Inconsistent,
            format!("Exit code 1, but ESLint's output holds no error ({warnings} warning(s)); see its log"),
        ),
        2 if is_crash(exited) => (
            CategoryCode::InternalError,
            format!("ESLint or one of its plugins failed inside itself{}; see its log", words(exited)),
        ),
        2 => (CategoryCode::UsageError, format!("ESLint refused its command line or configuration{}; correct it", words(exited))),
        code => (CategoryCode::UnknownExit, format!("ESLint has no exit code {code}; see the end of its log")),
    }
}

fn is_crash(exited: &Exited<'_>) -> bool {
    CRASH_WORDS.iter().any(|words| exited.stderr.contains(words))
}

// Returns the line that names the problem: the first line after ESLint's greeting and version.
fn words(exited: &Exited<'_>) -> String {
    let is_news = |line: &&str| !line.is_empty() && !line.starts_with("Oops!") && !line.starts_with("ESLint: ");
    exited
        .stderr
        .lines()
        .map(str::trim)
        .find(is_news)
        .map_or_else(String::new, |line| format!(": {}", line.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Returned, stream};
    use proctor_model::Tool;

    const WARNING: &str =
        "\n/project/a.js\n  1:1  warning  Unexpected console statement  no-console\n\n✖ 1 problem (0 errors, 1 warning)\n\n";
    const ERROR: &str =
        "\n/project/a.js\n  1:7  error  Parsing error: Unexpected token =\n\n✖ 1 problem (1 error, 0 warnings)\n\n";

    fn ended(code: i32, stdout: &str, stderr: &str) -> Interpretation {
        Returned::exited(Tool::Eslint, "npx eslint .", code).saying(stdout, stderr).interpret()
    }

    #[test]
    fn only_ignored_files_are_nothing_checked() {
        let ignored = |name: &str| {
            format!(
                "\n/project/{name}\n  0:0  warning  File ignored because of a matching ignore pattern. Use \"--no-ignore\" to disable file ignore settings\n"
            )
        };
        let one = format!("{}\n✖ 1 problem (0 errors, 1 warning)\n\n", ignored("a.js"));
        let both = format!("{}{}\n✖ 2 problems (0 errors, 2 warnings)\n\n", ignored("a.js"), ignored("b.js"));
        for (command, stdout, expected) in [
            ("eslint a.js", &one, CategoryCode::NothingChecked),
            ("eslint -c x.js a.js", &one, CategoryCode::NothingChecked),
            ("eslint a.js b.js", &both, CategoryCode::NothingChecked),
            ("eslint a.js b.js", &one, CategoryCode::Findings),
            ("eslint a.js src", &one, CategoryCode::Findings),
            ("sh -c 'eslint *.js'", &both, CategoryCode::Findings),
        ] {
            assert_eq!(Returned::exited(Tool::Eslint, command, 0).saying(stdout, "").interpret().category, expected, "{command}");
        }
        let too_many = "ESLint found too many warnings (maximum: 0).\n";
        let failed = Returned::exited(Tool::Eslint, "eslint --max-warnings 0 a.js", 1).saying(&one, too_many).interpret();
        assert_eq!(failed.category, CategoryCode::Findings);
        let written = Returned::exited(Tool::Eslint, "eslint -f json -o o.json .", 0).interpret();
        assert!(written.reason.contains("wrote its findings to `o.json`, which is not read; remove `-o`"), "{}", written.reason);
    }

    #[test]
    fn findings_and_exit_code_decide_together() {
        let too_many = "ESLint found too many warnings (maximum: 0).\n";
        for (code, stdout, stderr, expected) in [
            (0, "", "", CategoryCode::Clean),
            (0, "[]", "", CategoryCode::NothingChecked),
            (0, WARNING, "", CategoryCode::Findings),
            (0, ERROR, "", CategoryCode::Inconsistent),
            (1, ERROR, "", CategoryCode::Findings),
            (1, WARNING, too_many, CategoryCode::Findings),
            (1, WARNING, "", CategoryCode::Inconsistent),
            (1, "", "", CategoryCode::Inconsistent),
            (2, ERROR, "", CategoryCode::Findings),
            (2, "", "Oops!\n\nESLint: 9\n\nNo files matching the pattern \"x\" were found.", CategoryCode::UsageError),
            (2, "", "TypeError: boom\nOccurred while linting /project/a.js:1", CategoryCode::InternalError),
            (7, "", "", CategoryCode::UnknownExit),
            (137, ERROR, "", CategoryCode::Signalled),
        ] {
            let interpretation = ended(code, stdout, stderr);
            assert_eq!(interpretation.category, expected, "{code} {stdout} {stderr}: {}", interpretation.reason);
        }
        assert!(ended(1, WARNING, too_many).warnings[0].contains("--max-warnings"));
    }

    #[test]
    fn counts_that_contradict_the_findings_of_the_json_are_no_success() {
        let json = |counts: &str| format!(r#"[{{"filePath":"/project/a.js","messages":[],{counts}}}]"#);
        for (counts, expected) in [
            (r#""errorCount":0,"warningCount":0"#, CategoryCode::Clean),
            (r#""errorCount":2,"warningCount":0"#, CategoryCode::Inconsistent),
            (r#""errorCount":0,"warningCount":1"#, CategoryCode::Inconsistent),
            (r#""suppressedMessages":[]"#, CategoryCode::Clean),
        ] {
            assert_eq!(ended(0, &json(counts), "").category, expected, "{counts}");
        }
    }

    #[test]
    fn json_that_was_asked_for_must_be_whole() {
        let mut returned = Returned::exited(Tool::Eslint, "npx eslint -f json .", 1);
        returned.stdout = stream(r#"[{"filePath":"/project/a.js","mess"#);
        assert_eq!(returned.interpret().category, CategoryCode::ReportUnreadable);
        returned.stdout.total += 10;
        assert_eq!(returned.interpret().category, CategoryCode::OutputTooLarge);
        let mut ours = Returned::exited(Tool::Eslint, "npx eslint .", 0);
        assert_eq!(ours.interpret().category, CategoryCode::Clean);
        ours.action.command_is_ours = true;
        assert_eq!(ours.interpret().category, CategoryCode::ReportUnreadable, "nothing is not the JSON that was asked for");
    }

    #[test]
    fn what_cannot_be_read_is_no_success() {
        for command in ["eslint -f unix .", "eslint --format=html .", "eslint -o out.txt ."] {
            let interpretation = Returned::exited(Tool::Eslint, command, 0).saying("x", "").interpret();
            assert_eq!(interpretation.category, CategoryCode::ReportUnreadable, "{command}");
        }
        let mut cut = Returned::exited(Tool::Eslint, "eslint .", 0);
        cut.stdout.total = 1;
        assert_eq!(cut.interpret().category, CategoryCode::OutputTooLarge);
    }

    #[test]
    fn counts_that_eslint_states_are_believed_over_what_was_read() {
        let text = WARNING.replace("(0 errors, 1 warning)", "(2 errors, 1 warning)");
        let interpretation = ended(1, &text, "");
        assert_eq!(interpretation.category, CategoryCode::Findings);
        assert_eq!(interpretation.counts_override.map(|counts| counts.errors), Some(2));
        assert_eq!(ended(0, WARNING, "").counts_override, None);
    }
}
