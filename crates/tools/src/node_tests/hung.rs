//! Says what Jest and Vitest had not ended when they were stopped, and mends what their reports say about a test that
//! ran into the tool's own time-out.
//!
//! Finds the files of tests that had not ended when Jest or Vitest was stopped.
//!
//! Both print a file when it is over, and nothing when it begins: a test that loops without end keeps them from printing anything
//! else. So the files are looked for in the project by the names that both tools take for tests by default, and those that were
//! printed are left out. The result helps people and proves nothing.

use std::path::Path;

use crate::ansi::strip;
use crate::interpret::{Exited, Stopped};
use crate::node_tests::printed;
use crate::node_tests::tally::{Tally, Test};

/// The message in Vitest's report of a test that ran into its time-out. Vitest's own name for an error that only
/// carries the place of a test; the words about the time-out are only printed.
const PLACEHOLDER: &str = "STACK_TRACE_ERROR";
/// At most this many files are named.
const NAMED_FILES: usize = 3;

/// Says what Jest had not ended when it was stopped.
pub(crate) fn hung_in_jest(stopped: &Stopped<'_>) -> Option<String> {
    let ended: Vec<&str> = stopped.stderr.lines().filter_map(file_of_jest).collect();
    all_ended(stopped, "Jest", "; `--detectOpenHandles` shows it").or_else(|| not_ended(stopped, &ended))
}

/// Says what Vitest had not ended when it was stopped.
pub(crate) fn hung_in_vitest(stopped: &Stopped<'_>) -> Option<String> {
    let ended: Vec<&str> = stopped.stdout.lines().filter_map(file_of_vitest).collect();
    let hint = "; `--reporter=hanging-process` shows it";
    all_ended(stopped, "Vitest", hint).or_else(|| not_ended(stopped, &ended))
}

/// Replaces the text that Vitest's report has for a time-out with the text that Vitest printed.
pub(super) fn mend_time_outs(tally: &mut Tally, exited: &Exited<'_>) {
    let is_meant = |test: &&mut Test| test.messages.iter().any(|message| message.contains(PLACEHOLDER));
    for test in tally.tests.iter_mut().filter(is_meant) {
        let heading = printed::heading(exited.place.within_directory(&test.file), &test.ancestors, &test.title);
        if let Some(error) = printed_error(&exited.stderr, &heading) {
            for message in &mut test.messages {
                *message = message.replacen(&format!("Error: {PLACEHOLDER}"), &error, 1);
            }
        }
    }
}

/// Returns the line below `FAIL  a.test.js > group > title`, which names the error of a test.
fn printed_error(stderr: &str, heading: &str) -> Option<String> {
    let block = printed::block(stderr, heading)?;
    block.first().map(|line| strip(line.trim())).filter(|line| !line.is_empty())
}

fn all_ended(stopped: &Stopped<'_>, tool: &str, hint: &str) -> Option<String> {
    let tally = stopped.report.reader().and_then(|reader| Tally::read(reader, stopped.place).ok())?;
    let ended = tally.total() > 0 && !tally.interrupted;
    let counts = tally.counts;
    ended.then(|| {
        format!(
            "All tests had ended ({} passed, {} failed, {} skipped): something that they opened keeps {tool} from ending{hint}",
            counts.passed, counts.failed, counts.skipped
        )
    })
}

/// Names the files of tests that had not ended. Where none is found in the project, names those that had: what hangs is in another
/// file, because a tool prints a file when it is over.
fn not_ended(stopped: &Stopped<'_>, ended: &[&str]) -> Option<String> {
    let left = unended_files(stopped, ended);
    if !left.is_empty() {
        return Some(format!("No end was printed for the file(s) of tests {}", file_list(&left)));
    }
    let latest: Vec<String> = ended.iter().rev().map(|file| (*file).to_owned()).collect();
    (!latest.is_empty()).then(|| format!("What hangs is not in the files of tests that had ended: {}", file_list(&latest)))
}

fn file_list(files: &[String]) -> String {
    let named = files.iter().take(NAMED_FILES).map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(NAMED_FILES);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Reads `PASS ./a.test.js (5.1 s)`.
fn file_of_jest(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL "))?;
    let file = rest.trim().split(" (").next().unwrap_or_default();
    Some(file.strip_prefix("./").unwrap_or(file)).filter(|file| !file.is_empty())
}

/// Reads ` ✓ a.test.js (1 test) 53ms` and ` ❯ a.test.js (1 test | 1 failed) 107ms`.
fn file_of_vitest(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix(['✓', '❯', '×', '↓'])?;
    let (file, counts) = rest.split_once('(')?;
    let file = file.trim();
    (counts.contains(" test") && !file.is_empty()).then_some(file)
}

/// At most this many directories are looked into.
const MOST_DIRECTORIES: usize = 2_000;

/// Directories without tests of the project.
const SKIPPED: &[&str] = &["node_modules", "dist", "build", "coverage", "target", "evidence"];

/// The endings of source files that both tools run.
const ENDINGS: &[&str] = &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"];

/// The directory whose files are all tests for Jest.
const JEST_DIRECTORY: &str = "__tests__";

/// Returns the files with tests that are not among `ended`, sorted, relative to the action's directory. If words of the command name
/// some of the files, only those are returned.
pub(super) fn unended_files(stopped: &Stopped<'_>, ended: &[&str]) -> Vec<String> {
    let base = stopped.place.root.join(stopped.place.directory);
    let mut files = Vec::new();
    let mut waiting = vec![String::new()];
    let mut looked = 0;
    while let Some(directory) = waiting.pop() {
        looked += 1;
        if looked > MOST_DIRECTORIES {
            return Vec::new();
        }
        for name in (stopped.names_in)(&base.join(&directory)) {
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            if is_test_file(&path) {
                files.push(path);
            } else if !name.contains('.') && !SKIPPED.contains(&name.as_str()) {
                waiting.push(path);
            }
        }
    }
    files.sort_unstable();
    let is_named = |file: &&String| {
        let words = stopped.argv.iter().skip(1).filter(|word| !word.starts_with('-') && word.contains(['.', '/']));
        words.map(|word| word.trim_start_matches("./")).any(|word| !word.is_empty() && file.contains(word))
    };
    if files.iter().any(|file| is_named(&file)) {
        files.retain(|file| is_named(&file));
    }
    files.retain(|file| !ended.iter().any(|ended| file == ended || ended.ends_with(&format!("/{file}"))));
    files
}

fn is_test_file(path: &str) -> bool {
    let Some((stem, ending)) = path.rsplit_once('.') else { return false };
    let is_named = stem.ends_with(".test") || stem.ends_with(".spec");
    ENDINGS.contains(&ending) && (is_named || Path::new(path).iter().any(|part| part == JEST_DIRECTORY))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::places::Place;
    use proctor_model::ToolReport;

    fn stopped<'a>(stdout: &str, stderr: &str, report: &'a ToolReport) -> Stopped<'a> {
        let place = Place { root: Path::new("/project"), directory: Path::new("") };
        Stopped {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            report,
            place,
            source: &|_| None,
            names_in: |_| Vec::new(),
            argv: &[],
        }
    }

    #[test]
    fn the_files_that_had_ended_are_named_and_the_hanging_one_is_another() {
        let jest = "PASS ./a.test.js\nFAIL web/b.test.js (5.1 s)\n  \u{25cf} x\n";
        let said = hung_in_jest(&stopped("", jest, &ToolReport::Missing));
        assert_eq!(said.as_deref(), Some("What hangs is not in the files of tests that had ended: `web/b.test.js`, `a.test.js`"));
        let vitest = " RUN  v3\n\n ✓ a.test.js (2 tests) 5ms\n ✓ some test (of mine)\n";
        let said = hung_in_vitest(&stopped(vitest, "", &ToolReport::Missing));
        assert_eq!(said.as_deref(), Some("What hangs is not in the files of tests that had ended: `a.test.js`"));
        assert_eq!(hung_in_vitest(&stopped("", "", &ToolReport::Missing)), None);
    }

    #[test]
    fn a_report_of_all_tests_says_that_something_else_hangs() {
        let json = r#"{"numTotalTests":1,"numFailedTests":0,"success":true,"testResults":[{"name":"/project/a.test.js","status":"passed","assertionResults":[{"ancestorTitles":[],"title":"ok","status":"passed"}]}]}"#;
        let report = ToolReport::Fresh(json.as_bytes().to_vec());
        let said = hung_in_jest(&stopped("", "PASS ./a.test.js\n", &report)).expect("a report was written");
        assert!(said.starts_with("All tests had ended (1 passed, 0 failed, 0 skipped)"), "{said}");
    }

    const FILES: &[&str] = &[
        "/project/web/a.test.js",
        "/project/web/src/loop.spec.tsx",
        "/project/web/src/__tests__/more.ts",
        "/project/web/src/plain.ts",
        "/project/web/node_modules/x/b.test.js",
        "/project/c.test.js",
    ];

    fn names_in(directory: &Path) -> Vec<String> {
        let below = FILES.iter().filter_map(|file| Path::new(file).strip_prefix(directory).ok());
        let mut names: Vec<String> =
            below.filter_map(|path| path.iter().next()).map(|name| name.to_string_lossy().into_owned()).collect();
        names.dedup();
        names
    }

    #[test]
    fn the_files_that_had_not_ended_are_found_by_their_names() {
        let found = |ended: &[&str], argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let place = Place { root: Path::new("/project"), directory: Path::new("web") };
            let report = ToolReport::Missing;
            let (stdout, stderr) = (String::new(), String::new());
            unended_files(&Stopped { stdout, stderr, report: &report, place, source: &|_| None, names_in, argv: &argv }, ended)
        };
        assert_eq!(found(&[], &["jest"]), ["a.test.js", "src/__tests__/more.ts", "src/loop.spec.tsx"]);
        assert_eq!(found(&["a.test.js", "web/src/loop.spec.tsx"], &["jest", "--ci"]), ["src/__tests__/more.ts"]);
        assert_eq!(found(&[], &["npx", "jest", "./src/loop"]), ["src/loop.spec.tsx"]);
        assert_eq!(found(&["a.test.js"], &["jest", "a.test.js"]), Vec::<String>::new());
    }
}
