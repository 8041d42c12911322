//! Compilers and builds (E18): the exit code decides the result, and the compiler's messages are shown as findings.
//!
//! A build runs many programs, and a program may print an error without making the build fail. So after exit code 0
//! only warnings are read from the output. If a failed build prints no message with a file and line, its last line
//! becomes its only finding.

use crate::gathered::{Gathered, lines};
use crate::interpret::Exited;
use crate::located::{arrow, located};
use crate::option_spelling::subcommand;
use crate::places::Place;
use crate::{launch_failure, tsc};
use proctor_model::{CategoryCode, Diagnostic, FindingLevel, Interpretation};

/// The words with which gcc, clang, javac and rustc begin a message, each with the level that it means. `note: ` is
/// left out, because a note only explains the message before it.
const LEVELS: &[(&str, FindingLevel)] =
    &[("error: ", FindingLevel::Error), ("fatal error: ", FindingLevel::Error), ("warning: ", FindingLevel::Warning)];

/// Messages that a build prints when it has nothing to build or does not know the requested target.
const REFUSALS: &[&str] = &[
    "No rule to make target",
    "No targets specified and no makefile found",
    "could not find `Cargo.toml`",
    "go.mod file not found",
    "no input files",
    "error: no such command",
];

/// The programs whose commands may count as a compilation; `builds` decides by the arguments.
pub(super) const PROGRAMS: &[&str] =
    &["make", "gmake", "cargo", "go", "javac", "rustc", "gcc", "g++", "cc", "c++", "clang", "clang++"];

/// Returns whether a command only builds. `cargo run`, for example, also runs the program. Such a command must not be
/// judged as a compilation, because a program that prints no errors would then count as a success.
pub(super) fn builds(program: &str, arguments: &[String]) -> bool {
    match program {
        "cargo" => matches!(subcommand(arguments), Some("build" | "b" | "check" | "c")),
        "go" => matches!(subcommand(arguments), Some("build" | "vet")),
        "make" | "gmake" => is_build(arguments),
        _ => true,
    }
}

// A makefile's targets can do anything, so only targets with these names count as a build. `make` without a target
// builds the first target of its file.
fn is_build(arguments: &[String]) -> bool {
    const VALUED: &[&str] = &["-C", "--directory", "-f", "--file", "--makefile", "-I", "-j", "--jobs", "-l", "-o", "-W"];
    let mut words = arguments.iter().map(String::as_str);
    let mut is_build = true;
    while let Some(word) = words.next() {
        if VALUED.contains(&word) {
            words.next();
        } else if !word.starts_with('-') && !word.contains('=') {
            is_build &= matches!(word, "all" | "build" | "compile");
        }
    }
    is_build
}

/// Judges a compilation that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let mut diagnostics = read(exited);
    if let Some(interpretation) = launch_failure::find_or_signal(exited, diagnostics.is_empty()) {
        return interpretation;
    }
    let errors = diagnostics.count(FindingLevel::Error);
    if exited.code != 0 && errors == 0 {
        if let Some(line) = refusal(exited) {
            let reason = format!("The build was refused: {line}; correct the command or its directory");
            return Interpretation::plain(CategoryCode::UsageError, reason);
        }
        diagnostics.push(Diagnostic { message: last_words(exited), ..Diagnostic::default() });
    }
    let (errors, warnings) = (diagnostics.count(FindingLevel::Error), diagnostics.count(FindingLevel::Warning));
    let (category, reason) = match (exited.code, warnings) {
        (0, 0) => (CategoryCode::Clean, "It compiled, and nothing was said against it".to_owned()),
        (0, _) => (CategoryCode::Findings, format!("It compiled with {warnings} warning(s){}", diagnostics.first())),
        (code, _) => {
            let named = diagnostics.first();
            (CategoryCode::Findings, format!("Exit code {code}: {errors} error(s) and {warnings} warning(s){named}"))
        }
    };
    let (diagnostics, unlisted) = diagnostics.finish();
    Interpretation { diagnostics, unlisted, ..Interpretation::plain(category, reason) }
}

/// Returns the messages of the compiler that a failed command printed.
pub(super) fn diagnostics(exited: &Exited<'_>) -> Vec<Diagnostic> {
    read(exited).finish().0
}

fn read(exited: &Exited<'_>) -> Gathered {
    let mut diagnostics = Gathered::default();
    let failed = exited.code != 0;
    for text in [&exited.stdout, &exited.stderr] {
        let mut head = None;
        for line in lines(text) {
            let found = match arrow(line) {
                Some(at) => head.take().map(|(severity, code, message): (_, Option<&str>, &str)| Diagnostic {
                    code: code.map(str::to_owned),
                    message: message.to_owned(),
                    severity,
                    file: Some(at.file_in(exited.place)),
                    line: at.line(),
                    column: at.column,
                    ..Diagnostic::default()
                }),
                None => on_one_line(line, exited.place, failed),
            };
            head = rust_head(line).or(head.filter(|_| !line.trim().is_empty()));
            found
                .into_iter()
                .filter(|found| failed || found.severity == FindingLevel::Warning)
                .for_each(|found| diagnostics.push(found));
        }
        if failed && text.contains("error TS") {
            tsc::diagnostics(text, exited.place).into_iter().for_each(|found| diagnostics.push(found));
        }
    }
    diagnostics
}

// Reads `main.c:3:5: error: …`, `Main.java:3: warning: …`, and Go's `./main.go:5:2: …`, which has no level.
fn on_one_line(line: &str, place: Place<'_>, failed: bool) -> Option<Diagnostic> {
    let at = located(line)?;
    let level = LEVELS.iter().find_map(|(word, level)| Some((*level, at.rest.strip_prefix(word)?)));
    let is_go = failed && at.file.ends_with(".go") && at.column.is_some();
    let (severity, message) = level.or(is_go.then_some((FindingLevel::Error, at.rest)))?;
    let (message, rule_id) = flag(message);
    Some(Diagnostic {
        file: Some(at.file_in(place)),
        line: at.line(),
        column: at.column,
        rule_id,
        severity,
        message: message.to_owned(),
        ..Diagnostic::default()
    })
}

// gcc and clang end a warning with the option that enables it: `unused variable 'x' [-Wunused-variable]`.
fn flag(message: &str) -> (&str, Option<String>) {
    let found = message.strip_suffix(']').and_then(|text| text.rsplit_once(" [-W"));
    found.map_or((message, None), |(message, flag)| (message, Some(format!("-W{flag}"))))
}

// Reads `error[E0308]: mismatched types` and `warning: unused variable: x`. rustc prints the place on the next line.
fn rust_head(line: &str) -> Option<(FindingLevel, Option<&str>, &str)> {
    let (head, message) = line.split_once(": ")?;
    let (word, code) = match head.strip_suffix(']').and_then(|head| head.split_once('[')) {
        Some((word, code)) => (word, Some(code)),
        None => (head, None),
    };
    match word {
        "error" => Some((FindingLevel::Error, code, message)),
        "warning" => Some((FindingLevel::Warning, code, message)),
        _ => None,
    }
}

fn refusal<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let mut lines = exited.stderr.lines().chain(exited.stdout.lines()).map(str::trim);
    let line = lines.find(|line| REFUSALS.iter().any(|words| line.contains(words)))?;
    Some(line.trim_end_matches("  Stop."))
}

// Skips the last lines of make and of gcc's linker, because they only say that something failed.
fn last_words(exited: &Exited<'_>) -> String {
    let last = |text: &str| {
        let mut lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.contains(": *** [") && !line.starts_with("collect2: "));
        lines.next_back().map(str::to_owned)
    };
    let said = last(&exited.stderr).or_else(|| last(&exited.stdout));
    said.unwrap_or_else(|| format!("exit code {} without a word", exited.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::Tool;

    fn ended(command: &str, code: i32, stderr: &str) -> Interpretation {
        Returned::exited(Tool::Compile, command, code).saying("", stderr).interpret()
    }

    #[test]
    fn the_exit_code_decides_and_what_was_printed_is_shown() {
        let error = "main.c:3:5: error: expected ';' before 'return'\n";
        let warning = "main.c:3:5: warning: unused variable 'x' [-Wunused-variable]\n";
        for (code, stderr, expected, errors, warnings) in [
            (0, "", CategoryCode::Clean, 0, 0),
            (0, error, CategoryCode::Clean, 0, 0),
            (0, warning, CategoryCode::Findings, 0, 1),
            (1, error, CategoryCode::Findings, 1, 0),
            (1, warning, CategoryCode::Findings, 1, 1),
            (1, "", CategoryCode::Findings, 1, 0),
            (2, "ld: undefined reference to `f'\nmake: *** [Makefile:2: all] Error 1\n", CategoryCode::Findings, 1, 0),
            (2, "make: *** No rule to make target 'x'.  Stop.\n", CategoryCode::UsageError, 0, 0),
            (127, "sh: 1: gcc: not found\n", CategoryCode::ToolNotFound, 0, 0),
            (137, "", CategoryCode::Signalled, 0, 0),
        ] {
            let seen = ended("make", code, stderr);
            let count = |level| seen.diagnostics.iter().filter(|found| found.severity == level).count();
            let counts = (count(FindingLevel::Error), count(FindingLevel::Warning));
            assert_eq!((seen.category, counts), (expected, (errors, warnings)), "{code} {stderr}: {}", seen.reason);
        }
        let linked = ended("make", 2, "ld: undefined reference to `f'\nmake: *** [Makefile:2: all] Error 1\n");
        assert_eq!(linked.diagnostics[0].message, "ld: undefined reference to `f'");
        assert_eq!(ended("gcc a.c", 0, warning).diagnostics[0].rule_id.as_deref(), Some("-Wunused-variable"));
    }

    #[test]
    fn typescript_with_output_is_a_compilation_where_the_check_says_so() {
        let stdout = "src/a.ts(2,3): error TS2322: Type 'a' is not assignable to type 'b'.\n";
        let seen = Returned::exited(Tool::Compile, "tsc", 2).saying(stdout, "").interpret();
        assert_eq!((seen.category, seen.diagnostics[0].code.as_deref()), (CategoryCode::Findings, Some("TS2322")));
    }

    #[test]
    fn goals_of_make_that_say_they_build_are_builds() {
        for (arguments, expected) in [
            ("", true),
            ("-j 8 -C lib all", true),
            ("-j8 CFLAGS=-O2 build", true),
            ("compile", true),
            ("test", false),
            ("build test", false),
            ("lint", false),
        ] {
            let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            assert_eq!(builds("make", &arguments), expected, "{arguments:?}");
        }
    }
}
