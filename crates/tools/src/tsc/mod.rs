//! The TypeScript compiler: judges its diagnostics together with its exit code (C12, C70).
//!
//! Exit codes do not distinguish errors in the code from errors in the configuration. An unknown option in
//! `tsconfig.json` gives 2, an error in the code gives 1 with `--noEmitOnError`, and since version 7 the code is always
//! 1. So the diagnostics decide.

mod discover;
mod output;
mod references;
mod strictness;

use std::path::Path;

use crate::gathered::Gathered;
use crate::interpret::{Exited, Input};
use crate::launch_failure;
use crate::no_work::{self, NoWork};
use crate::option_spelling::{OptionSpelling, is_same_option};
use crate::places::Place;
use crate::prepare::{Preparation, ReportTask};
use crate::project_files::ProjectFiles;
use crate::test_run::listed;
pub(super) use discover::find;
use proctor_model::{CategoryCode, Diagnostic, Examined, ExaminedUnit, FindingLevel, Interpretation};
pub(crate) use references::remark;
pub(crate) use strictness::joined;
pub(super) use strictness::strictness;

/// The calls of tsc that check nothing and end with exit code 0. `-d` means `--declaration` unless tsc builds (`-b`), and `-v` means
/// `--verbose` if it does. With `--noCheck` tsc only translates: no type is checked.
pub(super) const NO_WORK: NoWork = NoWork {
    options: &["--version", "-h", "--help", "-?", "--all", "--showConfig", "--listFilesOnly", "--init", "--noCheck"],
    options_with: &[(&["--dry", "-d", "--clean"], BUILD_OPTIONS)],
    options_without: &[(&["-v"], BUILD_OPTIONS)],
    has_response_files: true,
    spelling: OptionSpelling::AnyCaseAndDashes,
    ..no_work::NONE
};

/// The options that make tsc build projects with the projects they refer to.
const BUILD_OPTIONS: &[&str] = &["-b", "--build"];

/// tsc's documented codes for failures: errors without output (1), errors with output (2), an invalid project, a
/// reference cycle.
const FAILURE_CODES: std::ops::RangeInclusive<i32> = 1..=4;

/// Diagnostics with a code in these ranges are about the command line or the configuration, unless they name a source
/// file.
const CONFIGURATION_CODES: &[std::ops::RangeInclusive<u32>] = &[5000..=5999, 6000..=6999, 18000..=18999];

/// The beginning of the help page that tsc prints, with exit code 1, if it finds no project.
const HELP_WORDS: &[&str] = &["tsc: The TypeScript Compiler", "COMMON COMMANDS"];

/// The code of the diagnostic for a project reference whose built declarations are missing.
const NOT_BUILT: &str = "TS6305";

/// The advice for a check that needs what a build would make.
const NEEDS_BUILD: &str = "a project that this one refers to has not been built here: check with `tsc -b`, which builds it first";

/// The options with which a discovered check builds projects that refer to each other. Without `--force`, tsc reuses the
/// output of an earlier build that is newer than the sources. If a source was saved during that build, the output is
/// newer than the source and nevertheless outdated.
const BUILD: &[&str] = &["-b", "--force"];

/// Returns tsc's diagnostics in a text, up to the limits of [`Gathered`].
pub(super) fn diagnostics(text: &str, place: Place<'_>) -> Vec<Diagnostic> {
    output::parse(text, place).diagnostics.finish().0
}

/// Returns whether these arguments make tsc build projects with the projects they refer to.
fn is_build(arguments: &[String]) -> bool {
    arguments.iter().any(|word| BUILD_OPTIONS.iter().any(|option| is_same_option(word, option)))
}

/// Requires a snapshot for a discovered build: `tsc -b` writes files, and it must not write them into the project.
pub(super) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    if task.action.command_is_ours && is_build(&task.located.arguments) {
        preparation.needs_snapshot = Some(
            "`tsc -b` writes what it builds, and without a snapshot that would be written into the project; let the check run on a \
             snapshot, or write a check with a command of your own",
        );
    }
}

/// Judges a tsc run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let parsed = output::parse(&exited.stdout, exited.place);
    if let Some(interpretation) = launch_failure::find_or_signal(exited, parsed.diagnostics.is_empty()) {
        return interpretation;
    }
    let files = files_read(&exited.stdout);
    let (category, reason) = match decide(exited, &parsed.diagnostics) {
        (CategoryCode::Clean, _) if files == Some(0) => {
            (CategoryCode::NothingChecked, "tsc says that it read no file; check the projects with `tsc -b`".to_owned())
        }
        (CategoryCode::Clean, reason) => without_work(&FilesNow(input), exited, files).unwrap_or((CategoryCode::Clean, reason)),
        decided => decided,
    };
    let counts_override = if exited.stdout_is_complete { None } else { parsed.counts() };
    let (diagnostics, unlisted) = parsed.diagnostics.finish();
    let is_not_built = diagnostics.iter().any(|diagnostic| diagnostic.code.as_deref() == Some(NOT_BUILT));
    let warnings = is_not_built.then(|| NEEDS_BUILD.to_owned()).into_iter().collect();
    let examined = Some(Examined { what: ExaminedUnit::Files, count: files });
    Interpretation { diagnostics, unlisted, counts_override, warnings, examined, ..Interpretation::plain(category, reason) }
}

/// Returns what a call that found nothing is instead of clean if its configuration leaves tsc nothing to check. `files` is how many
/// files tsc says that it read.
fn without_work(now: &FilesNow<'_>, exited: &Exited<'_>, files: Option<u64>) -> Option<(CategoryCode, String)> {
    let (directory, command) = (exited.action.directory.to_string_lossy(), &exited.action.command);
    let solution = if files.is_none() { references::solution_without_build(now, &directory, command) } else { None };
    if let Some(configuration) = solution {
        let reason = format!("`{configuration}` has no files of its own and names other projects only; check them with `tsc -b`");
        return Some((CategoryCode::NothingChecked, reason));
    }
    let configuration = references::unchecked_configuration(now, &directory, command)?;
    let reason = format!(
        "tsc checks no types with `noCheck` in `{configuration}`, or in a file that it extends; remove it, or add `--noCheck false` to \
         the check's command"
    );
    Some((CategoryCode::UsageError, reason))
}

/// The project's files as they are when a run is judged.
struct FilesNow<'i>(&'i Input<'i>);

impl ProjectFiles for FilesNow<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        (self.0.source)(self.0.project_root, Path::new(path)).map(String::into_bytes)
    }

    fn exists(&self, path: &str) -> bool {
        self.read(path).is_some() || self.is_directory(path)
    }

    fn is_directory(&self, path: &str) -> bool {
        !self.names(path).is_empty()
    }

    fn names(&self, directory: &str) -> Vec<String> {
        (self.0.names_in)(&self.0.project_root.join(directory))
    }
}

// Reads the line `Files:   12`, which tsc prints with `--diagnostics` or `--extendedDiagnostics`.
fn files_read(stdout: &str) -> Option<u64> {
    stdout.lines().find_map(|line| line.strip_prefix("Files:")?.trim().parse().ok())
}

fn decide(exited: &Exited<'_>, gathered: &Gathered) -> (CategoryCode, String) {
    let code = exited.code;
    let errors = gathered.count(FindingLevel::Error);
    let diagnostics = gathered.listed.as_slice();
    if code == 0 {
        return match (errors, exited.stdout_is_complete) {
            (0, true) if gathered.is_empty() => (CategoryCode::Clean, "tsc found nothing".to_owned()),
            (0, true) => {
                let (warnings, files) = (gathered.count(FindingLevel::Warning), gathered.files());
                (CategoryCode::Findings, format!("{warnings} warning(s) in {files} file(s)"))
            }
            (0, false) => too_large(),
            _ => (
                CategoryCode::Inconsistent,
                format!(
                    "Exit code 0, but the output holds {errors} error(s): {}; look for `|| true`",
                    first_of(diagnostics, errors)
                ),
            ),
        };
    }
    if !FAILURE_CODES.contains(&code) {
        return (CategoryCode::UnknownExit, format!("tsc has no exit code {code}; see the end of its log"));
    }
    if diagnostics.iter().any(|diagnostic| !is_about_configuration(diagnostic)) {
        let files = gathered.files();
        return (CategoryCode::Findings, format!("{errors} error(s) in {files} file(s): {}", first_of(diagnostics, errors)));
    }
    if !diagnostics.is_empty() {
        return (
            CategoryCode::UsageError,
            format!("tsc refused its command line or configuration: {}; correct it", first_of(diagnostics, errors)),
        );
    }
    if HELP_WORDS.iter().any(|words| exited.stdout.contains(words)) {
        return (
            CategoryCode::UsageError,
            "tsc printed its help because it found no tsconfig.json and was given no files; set `directory` or add `-p`"
                .to_owned(),
        );
    }
    if !exited.stdout_is_complete {
        return too_large();
    }
    let words =
        exited.stderr.lines().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()));
    (CategoryCode::InternalError, format!("tsc ended with exit code {code} without naming an error{words}; see its log"))
}

fn too_large() -> (CategoryCode, String) {
    let reason = "tsc printed more than is interpreted and no error was found in what was; remove --listFiles and the like";
    (CategoryCode::OutputTooLarge, reason.to_owned())
}

// Diagnostics such as TS6133 (`declared but never read`) are in the ranges, but they are about a source file. So the
// file decides too.
fn is_about_configuration(diagnostic: &Diagnostic) -> bool {
    let number = diagnostic.code.as_deref().and_then(|code| code.strip_prefix("TS")?.parse().ok()).unwrap_or(0);
    let is_in_range = CONFIGURATION_CODES.iter().any(|range| range.contains(&number));
    match diagnostic.file.as_deref() {
        None => is_in_range,
        Some(file) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            let is_json = name.ends_with(".json");
            is_json && (is_in_range || name.starts_with("tsconfig") || name.starts_with("jsconfig"))
        }
    }
}

fn first_of(diagnostics: &[Diagnostic], count: u64) -> String {
    let one = |diagnostic: &Diagnostic| {
        let place = match (&diagnostic.file, diagnostic.line) {
            (Some(file), Some(line)) => format!("{file}:{line} "),
            (Some(file), None) => format!("{file} "),
            (None, _) => String::new(),
        };
        let code = diagnostic.code.as_deref().unwrap_or_default();
        format!("{place}{code} {}", diagnostic.message.lines().next().unwrap_or_default().trim_end_matches('.'))
    };
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == FindingLevel::Error);
    listed(errors.map(one), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Returned, stream};
    use proctor_model::Tool;

    fn ended(code: i32, stdout: &str) -> Interpretation {
        Returned::exited(Tool::Tsc, "npx tsc --noEmit", code).saying(stdout, "").interpret()
    }

    #[test]
    fn v4_a_call_with_a_solution_file_that_builds_nothing_checked_nothing() {
        const SOLUTION: &str = r#"{"files": [], "references": [{"path": "./core"}]}"#;
        const OWN_FILES: &str = r#"{"include": ["src"], "references": [{"path": "./core"}]}"#;
        let by = |command: &str, source: fn(&Path, &Path) -> Option<String>| {
            let names_in = |_: &Path| vec!["tsconfig.json".to_owned()];
            Returned { source, names_in, ..Returned::exited(Tool::Tsc, command, 0) }.interpret().category
        };
        let solution = |_: &Path, path: &Path| (path == Path::new("tsconfig.json")).then(|| SOLUTION.to_owned());
        let own_files = |_: &Path, path: &Path| (path == Path::new("tsconfig.json")).then(|| OWN_FILES.to_owned());
        assert_eq!(by("npx tsc --noEmit", solution), CategoryCode::NothingChecked);
        assert_eq!(by("tsc -p .", solution), CategoryCode::NothingChecked);
        assert_eq!(by("tsc -b", solution), CategoryCode::Clean);
        assert_eq!(by("tsc src/a.ts", solution), CategoryCode::Clean);
        assert_eq!(by("npx tsc --noEmit", own_files), CategoryCode::Clean);
    }

    /// `noCheck` in the configuration is the same as `--noCheck`, which is a usage error. `skipLibCheck` and `checkJs` are not.
    #[test]
    fn v4_a_configuration_that_switches_the_type_check_off_is_a_usage_error() {
        let by = |command: &str, code: i32, stdout: &str, source: fn(&Path, &Path) -> Option<String>| {
            let names_in = |path: &Path| match path == Path::new("/project") {
                true => vec!["tsconfig.json".to_owned()],
                false => Vec::new(),
            };
            Returned { source, names_in, ..Returned::exited(Tool::Tsc, command, code) }.saying(stdout, "").interpret()
        };
        let extending = |_: &Path, path: &Path| match path.to_str()? {
            "tsconfig.json" => Some(r#"{"extends": "./base", "compilerOptions": {"skipLibCheck": true}}"#.to_owned()),
            "base.json" => Some(r#"{"compilerOptions": {"noCheck": true /* quick */}}"#.to_owned()),
            "package.json" => Some(r#"{"scripts": {"types": "tsc --noEmit"}}"#.to_owned()),
            _ => None,
        };
        let overriding = |_: &Path, path: &Path| match path.to_str()? {
            "tsconfig.json" => Some(r#"{"extends": "./base.json", "compilerOptions": {"noCheck": false}}"#.to_owned()),
            "base.json" => Some(r#"{"compilerOptions": {"noCheck": true}}"#.to_owned()),
            _ => None,
        };
        let others = |_: &Path, path: &Path| {
            let text = r#"{"compilerOptions": {"skipLibCheck": true, "checkJs": false, "strict": false}}"#;
            (path == Path::new("tsconfig.json")).then(|| text.to_owned())
        };
        for command in ["npx tsc --noEmit", "tsc -p .", "tsc", "tsc --noEmit --diagnostics", "tsc -b"] {
            let seen = by(command, 0, if command.contains("diagnostics") { "Files: 12\n" } else { "" }, extending);
            assert_eq!(seen.category, CategoryCode::UsageError, "{command}: {}", seen.reason);
            assert!(seen.reason.contains("`noCheck` in `tsconfig.json`"), "{}", seen.reason);
            assert_eq!(by(command, 0, "", overriding).category, CategoryCode::Clean, "{command}");
            assert_eq!(by(command, 0, "", others).category, CategoryCode::Clean, "{command}");
        }
        assert_eq!(by("tsc --noEmit --noCheck false", 0, "", extending).category, CategoryCode::Clean);
        assert_eq!(by("tsc --noEmit src/a.ts", 0, "", extending).category, CategoryCode::Clean, "the file is not read");
        assert_eq!(by("tsc --noEmit", 2, ERROR, extending).category, CategoryCode::Findings, "an error is an error");
    }

    const ERROR: &str = "a.ts(1,2): error TS2322: Type 'a' is not assignable to type 'b'.\n";
    const UNUSED: &str = "a.ts(1,2): error TS6133: 'q' is declared but its value is never read.\n";
    const OPTION: &str = "tsconfig.json(1,24): error TS5023: Unknown compiler option 'nope'.\n";

    #[test]
    fn diagnostics_and_exit_code_decide_together() {
        for (code, stdout, expected) in [
            (0, "", CategoryCode::Clean),
            (0, ERROR, CategoryCode::Inconsistent),
            (0, "a.ts(1,2): warning TS6385: 'q' is deprecated.\n", CategoryCode::Findings),
            (1, ERROR, CategoryCode::Findings),
            (2, ERROR, CategoryCode::Findings),
            (2, UNUSED, CategoryCode::Findings),
            (2, OPTION, CategoryCode::UsageError),
            (2, "web/tsconfig.app.json(1,43): error TS1005: ',' expected.", CategoryCode::UsageError),
            (1, "error TS5058: The specified path does not exist: 'x.json'.", CategoryCode::UsageError),
            (2, "error TS18003: No inputs were found in config file '/project/tsconfig.json'.", CategoryCode::UsageError),
            (2, "error TS2688: Cannot find type definition file for 'node'.", CategoryCode::Findings),
            (2, "data.json(1,4): error TS1005: ',' expected.", CategoryCode::Findings),
            (1, "Version 5.9.3\ntsc: The TypeScript Compiler - Version 5.9.3\n", CategoryCode::UsageError),
            (1, "", CategoryCode::InternalError),
            (9, ERROR, CategoryCode::UnknownExit),
            (134, ERROR, CategoryCode::Signalled),
        ] {
            assert_eq!(ended(code, stdout).category, expected, "{code} {stdout}");
        }
        assert_eq!(ended(2, &format!("{ERROR}{OPTION}")).category, CategoryCode::Findings, "code that was checked stays visible");
        assert_eq!(ended(2, ERROR).reason, "1 error(s) in 1 file(s): a.ts:1 TS2322 Type 'a' is not assignable to type 'b'");
        let not_built =
            ended(2, "app/a.ts(1,2): error TS6305: Output file 'a.d.ts' has not been built from source file 'a.ts'.\n");
        assert!(not_built.category == CategoryCode::Findings && not_built.warnings[0].contains("check with `tsc -b`"));
    }

    #[test]
    fn an_error_with_an_endless_message_is_an_error() {
        let long = format!("{}{}\n", ERROR.trim_end(), "x".repeat(100_000));
        assert_eq!(ended(0, &long).category, CategoryCode::Inconsistent);
        assert_eq!(ended(2, &long).category, CategoryCode::Findings);
    }

    #[test]
    fn output_that_was_cut_is_no_success_and_its_summary_gives_the_counts() {
        let mut returned = Returned::exited(Tool::Tsc, "tsc", 0);
        returned.stdout.total = 100;
        assert_eq!(returned.interpret().category, CategoryCode::OutputTooLarge);
        let mut returned = Returned::exited(Tool::Tsc, "tsc", 2);
        returned.stdout = stream(format!("{ERROR}\nFound 7000 errors in 12 files.\n"));
        assert_eq!(returned.interpret().counts_override, None);
        returned.stdout.total += 1;
        let counts = returned.interpret().counts_override.expect("the summary was read");
        assert_eq!((counts.errors, counts.total_files), (7000, 12));
    }
}
