//! Finds the files of tests that had not ended when Jest or Vitest was stopped.
//!
//! Both print a file when it is over, and nothing when it begins: a test that loops without end keeps them from printing anything
//! else. So the files are looked for in the project by the names that both tools take for tests by default, and those that were
//! printed are left out. The result helps people and proves nothing.

use std::path::Path;

use crate::interpret::Stopped;

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
    use super::*;
    use crate::places::Place;
    use proctor_model::ToolReport;

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
