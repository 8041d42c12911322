//! Reads the repository's own files, for the tests that check the source text against rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

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
    /// Returns whether the whole file is compiled only for tests, of its own crate or of others. Such files are recognised by their names.
    pub(crate) fn is_test(&self) -> bool {
        let shared = ["/testing.rs", "/samples.rs", "/captured.rs", "/simulated.rs"];
        let is_in = |folder: &str| self.path.contains(folder);
        self.path.ends_with("tests.rs")
            || is_in("tests/")
            || is_in("/simulator/")
            || shared.iter().any(|name| self.path.ends_with(name))
    }
}

/// Marks what the tests of other crates use too; see the feature `testing` of a crate.
const FOR_OTHER_TESTS: &str = "#[cfg(any(test, feature = \"testing\"))]";

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

/// Returns the text files of the program and of its crates, sorted by path within each.
pub(crate) fn program_files() -> Vec<SourceFile> {
    ["src/", "crates/"].into_iter().flat_map(source_files).filter(|file| file.path.contains("src/")).collect()
}

/// Returns the lines of a Rust file that are not tests, with their numbers, which begin at 1.
///
/// An item after a `#[cfg(test)]` in the first column is left out. It ends at the next closing brace or semicolon in the first column, where
/// rustfmt puts it.
pub(crate) fn production_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut test_item = false;
    for (index, line) in text.lines().enumerate() {
        if line == "#[cfg(test)]" || line == FOR_OTHER_TESTS {
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

/// Returns the Rust files that are not compiled for tests alone, parsed.
pub(crate) fn production_code(files: &[SourceFile]) -> Vec<(&SourceFile, syn::File)> {
    let mut parsed: Vec<(&SourceFile, syn::File)> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && !file.is_test())
        .map(|file| (file, syn::parse_file(&file.text).expect("what was compiled can be parsed")))
        .collect();
    let test_files: BTreeSet<String> = parsed.iter().flat_map(|(file, code)| test_modules(&file.path, &code.items)).collect();
    parsed.retain(|(file, _)| !test_files.contains(&file.path));
    parsed
}

/// Returns whether an item is compiled for tests alone.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions
        .filter_map(|cfg| cfg.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok())
        .any(|metas| metas.iter().any(|meta| meta.path().is_ident("test") || is_any_with_test(meta)))
}

/// Returns whether a condition is `any(test, …)`, which marks what the tests of other crates use too.
fn is_any_with_test(condition: &Meta) -> bool {
    let words = condition.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
    condition.path().is_ident("any") && words.starts_with("test")
}

/// Returns the paths of modules that are compiled for tests alone and have files of their own.
#[expect(clippy::wildcard_enum_match_arm, reason = "`Item` is not exhaustive, and all other items are no types")]
fn test_modules(path: &str, items: &[Item]) -> Vec<String> {
    let directory = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix("/lib.rs"));
    let directory = directory.or_else(|| path.strip_suffix(".rs")).unwrap_or(path);
    let modules = items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(&module.ident),
        _ => None,
    });
    modules.flat_map(|name| [format!("{directory}/{name}.rs"), format!("{directory}/{name}/mod.rs")]).collect()
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
