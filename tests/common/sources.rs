//! The repository's own files, for the tests that check them against the rules of the house.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories without our own sources: version control, build products, and files that tools write.
const SKIPPED_DIRECTORIES: &[&str] =
    &[".git", "target", "node_modules", ".venv", "__pycache__", ".pytest_cache", "corpus", "artifacts"];

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// The path relative to the repository's root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl SourceFile {
    /// Returns whether the whole file is compiled only for tests. Such files are recognised by their names.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("tests/")
    }
}

/// Returns the repository's root.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the repository's text files whose path starts with `below`, sorted by path.
pub(crate) fn source_files(below: &str) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    collect(repository(), &mut paths);
    paths.sort();
    let to_file = |path: PathBuf| {
        let relative = path.strip_prefix(repository()).expect("it was found below the root");
        let relative = relative.to_str().expect("our file names are UTF-8").to_owned();
        let text = String::from_utf8(fs::read(&path).expect("the source tree can be read")).ok()?;
        relative.starts_with(below).then_some(SourceFile { path: relative, text })
    };
    paths.into_iter().filter_map(to_file).collect()
}

/// Returns the lines of a Rust file that are not tests, with their numbers, which begin at 1.
///
/// An item after a `#[cfg(test)]` in the first column is left out. It ends at the next closing brace or semicolon in the first column, where
/// rustfmt puts it.
pub(crate) fn production_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut test_item = false;
    for (index, line) in text.lines().enumerate() {
        if line == "#[cfg(test)]" {
            test_item = true;
        }
        if !test_item {
            lines.push((index + 1, line));
        }
        let first_column = !line.starts_with([' ', '\t', '#']);
        if test_item && first_column && (line.ends_with(';') || line.ends_with('}')) {
            test_item = false;
        }
    }
    lines
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the source tree can be read").flatten() {
        let kind = entry.file_type().expect("the source tree can be read");
        let name = entry.file_name();
        if kind.is_dir() {
            if !SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped) {
                collect(&entry.path(), paths);
            }
        } else if kind.is_file() && name != ".git" {
            paths.push(entry.path());
        }
    }
}
