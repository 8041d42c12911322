//! Finds out which rows of the table of toolchains an action can use, and which of the versions in a directory: an action sees no
//! others. A project that does not use a toolchain has no verdict that depends on it, and nobody waits for its hash.
//!
//! An action can use a toolchain if its program lies in it, if its command names a program of it, if a file of the project selects
//! it, or if the project's own configuration sets its variable.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::SandboxRequest;
use crate::find_places::paths_in;
use crate::path_cache::PathCache;
use crate::toolchains::{Shown, TOOLCHAINS, Toolchain, Use};
use proctor_git::find_git_location;

/// The files of a project that say which version of a tool it uses.
const VERSION_FILES: &[&str] = &[
    ".go-version",
    ".java-version",
    ".mise.toml",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".sdkmanrc",
    ".tool-versions",
    "go.mod",
    "mise.toml",
    "package.json",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// The most bytes that are read of a file that says which version is used. A larger one chooses none.
const LARGEST_VERSION_FILE: u64 = 64 * 1024;

/// The most versions of one toolchain that are told apart. Where there are more, all are shown.
const MOST_VERSIONS: usize = 500;

/// A directory of the table of toolchains that exists.
pub(super) struct FoundToolchain {
    pub(super) row: &'static Toolchain,
    /// The directory as the variable or the table names it.
    pub(super) directory: PathBuf,
    /// The directory without links.
    pub(super) real: PathBuf,
    pub(super) is_used: bool,
    /// Whether a lock file of the project has the hashes of what lies in the directory.
    pub(super) is_pinned: bool,
}

/// Looks up what an action says about the toolchains that it can use.
pub(super) struct UsedToolchains {
    /// The names of the project's files that select toolchains, also in the directories around the project in its repository.
    files: BTreeSet<String>,
    /// The names in the action's command that may be programs, and its interpreter.
    words: BTreeSet<String>,
    /// The directories from the action's to the repository's root.
    around: Vec<PathBuf>,
}

/// Returns whether a file of this name selects a toolchain, so that a sandbox asks whether the project has one.
pub fn selects_toolchain(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    // Sources are asked for by themselves: a project has many.
    !is_python_source(name.as_bytes()) && patterns().any(|pattern| matches_name(pattern, &name))
}

/// Returns whether a file of this name is a module of Python.
pub fn is_python_source(name: &[u8]) -> bool {
    name.ends_with(b".py")
}

fn patterns() -> impl Iterator<Item = &'static str> {
    let uses = TOOLCHAINS.iter().flat_map(|row| row.used_by);
    uses.flat_map(|used| used.files.iter().chain(used.pinned_by)).copied()
}

/// Returns whether a file has a name that a pattern stands for: at most one `*` in it matches any characters.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

impl UsedToolchains {
    pub(super) fn of(request: &SandboxRequest<'_>, interpreter: Option<&Path>, path_cache: &mut PathCache) -> Self {
        let repository = find_git_location(request.project_root).map(|location| location.work_tree);
        let border = repository.as_deref().unwrap_or(request.project_root);
        let around: Vec<PathBuf> =
            request.directory.ancestors().take_while(|path| path.starts_with(border)).map(Path::to_owned).collect();
        let mut files = request.manifests.clone();
        let literal: BTreeSet<&str> = patterns().filter(|pattern| !pattern.contains('*')).collect();
        for directory in &around {
            let found = path_cache.found_below(directory, literal.iter().copied());
            files.extend(found.iter().filter_map(|(path, _)| Some(path.file_name()?.to_string_lossy().into_owned())));
        }
        let argv = request.action.command.argv.iter().map(String::as_str);
        let interpreter = interpreter.and_then(|path| path.to_str());
        let words = argv.chain(interpreter).flat_map(words_in).collect();
        Self { files, words, around }
    }

    /// Returns the directories of the table that exist, each with whether the action can use it. The packages that are installed for
    /// the project are not known yet.
    pub(super) fn find(
        &self,
        request: &SandboxRequest<'_>,
        home: Option<&Path>,
        programs: &[PathBuf],
        path_cache: &mut PathCache,
    ) -> Vec<FoundToolchain> {
        let mut found = Vec::new();
        for row in TOOLCHAINS.iter().filter(|row| row.is_seen_in(request.action.phase)) {
            let mut places: Vec<(PathBuf, PathBuf)> = Vec::new();
            for named in paths_in(request.ambient, row.variable, None) {
                places.extend(path_cache.real(&named).map(|real| (named, real)));
            }
            if let Some(home) = home.filter(|_| !row.usual.is_empty()) {
                let usual = path_cache.found_below(home, [row.usual]);
                places.extend(usual.into_iter().map(|(real, _)| (home.join(row.usual), real)));
            }
            let is_named = row.used_by.is_empty()
                || row.used_by.iter().any(|used| self.names(used))
                || request.action.environment.contains_key(row.variable);
            let is_pinned = row.used_by.iter().any(|used| used.pinned_by.iter().any(|name| self.files.contains(*name)));
            for (directory, real) in places {
                // A program in one part of a directory, such as `.cargo/bin`, uses no other one.
                let parts = if let Shown::Parts(parts) = row.shown { parts } else { &[""] };
                let in_parts = parts.iter().flat_map(|part| [real.join(part), directory.join(part)]);
                let is_used =
                    is_named || in_parts.into_iter().any(|part| programs.iter().any(|program| program.starts_with(&part)));
                found.push(FoundToolchain { row, directory, real, is_used, is_pinned });
            }
        }
        found
    }

    fn names(&self, used: &Use) -> bool {
        let is_there = |names: &BTreeSet<String>, pattern: &str| match pattern.contains('*') {
            true => names.iter().any(|name| matches_name(pattern, name)),
            false => names.contains(pattern),
        };
        used.files.iter().any(|pattern| is_there(&self.files, pattern))
            || used.programs.iter().any(|pattern| is_there(&self.words, pattern))
    }

    /// Returns whether the action's command names a program.
    pub(super) fn has_word(&self, name: &OsStr) -> bool {
        name.to_str().is_some_and(|name| self.words.contains(name))
    }

    /// Returns the directories of the versions that the action can use: those that the project's files or the command choose, otherwise
    /// none if one of them is `seen` already, otherwise those of the toolchain's own choice, otherwise all of them.
    pub(super) fn versions(&self, toolchain: &FoundToolchain, seen: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let Shown::Versions { below, default, .. } = toolchain.row.shown else { return Vec::new() };
        let mut groups = vec![toolchain.real.join(below.trim_end_matches("/*"))];
        if below.ends_with("/*") {
            groups = groups.iter().flat_map(|directory| entries(directory)).collect();
        }
        let own_texts: Vec<String> = default.iter().filter_map(|name| text_of(&toolchain.real.join(name))).collect();
        let chosen = |group: &PathBuf| match entries(group) {
            versions if versions.len() > MOST_VERSIONS => vec![group.clone()],
            versions => self.chosen(versions, &own_texts, &seen),
        };
        groups.iter().flat_map(chosen).collect()
    }

    fn chosen(&self, versions: Vec<PathBuf>, own_texts: &[String], seen: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let texts =
            self.around.iter().flat_map(|directory| VERSION_FILES.iter().filter_map(|name| self.version_text(directory, name)));
        let texts: Vec<String> = texts.collect();
        let names = self.around.iter().filter_map(|directory| directory.file_name()?.to_str());
        let of_project: BTreeSet<&str> = texts.iter().flat_map(|text| tokens(text)).chain(names).collect();
        let of_project = of_project.into_iter().chain(self.words.iter().map(|word| word.trim_start_matches('+'))).collect();
        let chosen = matching(&versions, &of_project);
        if !chosen.is_empty() {
            return chosen;
        }
        if versions.iter().any(|version| seen(version)) {
            return Vec::new();
        }
        let chosen = matching(&versions, &own_texts.iter().flat_map(|text| tokens(text)).collect());
        if chosen.is_empty() { versions } else { chosen }
    }

    fn version_text(&self, directory: &Path, name: &str) -> Option<String> {
        self.files.contains(name).then(|| text_of(&directory.join(name)))?
    }
}

/// Returns the words of a command that may be names of programs; of a path the last name.
fn words_in(text: &str) -> impl Iterator<Item = String> {
    let is_between = |letter: char| letter.is_whitespace() || ";&|()`$\"'<>={}".contains(letter);
    let words = text.split(is_between).filter_map(|word| word.rsplit('/').next());
    words.filter(|word| !word.is_empty()).map(str::to_owned)
}

/// Returns the words of a text that may be versions.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
    text.split(move |letter| !is_inside(letter)).map(|word| word.trim_start_matches('v')).filter(|word| !word.is_empty())
}

fn matching(versions: &[PathBuf], tokens: &BTreeSet<&str>) -> Vec<PathBuf> {
    let is_chosen = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        tokens.iter().any(|token| is_version(&name, token))
    };
    versions.iter().filter(is_chosen).cloned().collect()
}

/// Returns whether the name of a version's directory is a version, or one that a shorter word stands for: `cpython-3.12.4-linux` is
/// chosen by `3.12`, `v20.1.0` by `20`, `go1.22.3` by `1.22`, `stable-x86_64-unknown-linux-gnu` by `stable`.
fn is_version(name: &str, word: &str) -> bool {
    let first_digit = name.find(|letter: char| letter.is_ascii_digit());
    let beginnings = name.match_indices('-').map(|(at, _)| at + 1).chain([0]).chain(first_digit);
    let mut rests = beginnings.map(|at| name[at..].trim_start_matches('v'));
    rests.any(|rest| rest.strip_prefix(word).is_some_and(|after| after.is_empty() || after.starts_with(['.', '-'])))
}

fn text_of(path: &Path) -> Option<String> {
    path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST_VERSION_FILE)?;
    fs::read_to_string(path).ok()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let is_shown = |name: &OsString| !name.as_bytes().starts_with(b".");
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut found: Vec<PathBuf> = names.filter(is_shown).take(MOST_VERSIONS + 1).map(|name| directory.join(name)).collect();
    found.sort();
    found
}
