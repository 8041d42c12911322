//! What of a commit can make it green in another way than the trusted commit is: tests that are gone or skipped, files that are commands of
//! checks, settings of tools, suppressions. Pure: the texts of both commits go in, and a list comes out. Nothing here says that a change is
//! wrong; it is named for whoever has to accept it.
//!
//! `settings` compares configuration files key by key, `lines` finds tests, marks that skip them, and suppressions in source lines, and
//! `recorded` compares the tests that runs recorded.

mod lines;
mod recorded;
mod settings;

use std::collections::BTreeSet;
use std::fmt;

use crate::changes::lines::{KnownTests, find_gone_tests, find_skips, find_suppressions};
use crate::changes::settings::{MovedSettings, find_changed_settings, is_configuration};
use proctor_model::{WeakenedChanges, has_word, words};

pub use crate::changes::recorded::{RecordedTest, RecordedTests, lost_tests, with_recorded_tests};

/// The most characters of a value or line that is named.
const LONGEST: usize = 120;

/// A file that is not the same in both commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedFile<'a> {
    /// The path from the project's root.
    pub path: &'a str,
    /// The content in the trusted commit; `None` if the file is not there, or is no text.
    pub before: Option<&'a str>,
    /// The content in the judged commit; `None` if the file is not there, or is no text.
    pub after: Option<&'a str>,
    /// Whether the trusted commit has the file, and whether the judged one has it.
    pub is_there: (bool, bool),
}

/// In which way a change can make a commit green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// A test of the trusted commit is not there any more.
    TestGone,
    /// A test is skipped, expected to fail, or left out, and was not.
    TestSkipped,
    /// A file that a check starts, or that says what a target of a check does.
    Command,
    /// A setting of a tool that switches rules or tests off.
    SwitchedOff,
    /// Another setting of a tool.
    Setting,
    /// A configuration of a tool that is a program, such as `conftest.py`.
    Program,
    /// A comment that silences a finding, or a stub beside a module.
    Suppression,
    /// A file of the trusted commit is not there any more, and a new rule ignores it: a checkout may have it, and no digest names it.
    LeftTree,
    /// A file of the trusted commit is not there any more.
    FileGone,
}

/// One change, in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateChange {
    pub kind: ChangeKind,
    /// The file's path from the project's root. For a test whose record names no file, it is the name of the check.
    pub file: String,
    /// What changed, such as `ruff.lint.select: ["E", "F"] → ["E"]`.
    pub what: String,
}

impl fmt::Display for GateChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} `{}`: {}", self.kind.title(), self.file, self.what)
    }
}

impl ChangeKind {
    /// Returns whether a person is asked about such a change.
    pub fn asks(self, policy: WeakenedChanges) -> bool {
        match policy {
            WeakenedChanges::Say => false,
            WeakenedChanges::AskAll => true,
            WeakenedChanges::Ask => {
                matches!(self, Self::TestGone | Self::TestSkipped | Self::Command | Self::LeftTree | Self::SwitchedOff)
            }
        }
    }
}

words! {
    /// Returns the word by which documents name it.
    pub fn ChangeKind::word: TestGone "test-gone", TestSkipped "test-skipped", Command "command",
        SwitchedOff "switched-off", Setting "setting", Program "program", Suppression "suppression",
        LeftTree "left-tree", FileGone "file-gone"
}

words! {
    /// Returns what it is, for people. The file's name follows.
    fn ChangeKind::title: TestGone "a test is gone from", TestSkipped "a test is left out in",
        Command "a command of checks changed in", SwitchedOff "rules or tests are switched off in",
        Setting "a setting changed in", Program "a program that configures a tool,",
        Suppression "a finding is silenced in", LeftTree "a file left the tree,", FileGone "a file is gone,"
}

/// What the checks of two commits start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Started {
    /// The paths of files, also of those that such a file or a target starts.
    pub files: BTreeSet<String>,
    /// The words of all commands, among which are the names of the scripts that a package manager runs. Empty if no check is known.
    pub words: BTreeSet<String>,
}

/// Returns what changed between two commits that can make the judged one green, sorted by kind, each once.
pub fn find_gate_changes(files: &[ChangedFile<'_>], started: &Started) -> Vec<GateChange> {
    let mut found = find_gone_tests(files);
    let ignored: Vec<&str> = files.iter().flat_map(added_rules).collect();
    let known = KnownTests::of(files.iter().map(|file| (file.path, file.before.unwrap_or_default())));
    let moved = MovedSettings::between(files);
    for file in files {
        found.extend(changes_of_file(file, started, (&ignored, &known, &moved)));
    }
    found.sort();
    found.dedup();
    found
}

fn changes_of_file(
    file: &ChangedFile<'_>,
    started: &Started,
    (ignored, known, moved): (&[&str], &KnownTests, &MovedSettings),
) -> Vec<GateChange> {
    let change = |kind, what: String| GateChange { kind, file: file.path.to_owned(), what };
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let mut found = Vec::new();
    let how = match file.is_there {
        (true, true) => "changed",
        (true, false) => "removed",
        (false, _) => "added",
    };
    // A file that is new cannot be named by a check of the trusted commit, and it can be read in the place of one that is.
    let takes_place = || {
        let own = kind_of_targets(file.path);
        own.is_some() && started.files.iter().any(|other| kind_of_targets(other) == own)
    };
    if (file.is_there.0 && (started.files.contains(file.path) || is_file_of_targets(name)))
        || (file.is_there == (false, true) && takes_place())
    {
        found.push(change(ChangeKind::Command, format!("{how}: it is a command of checks")));
    } else if file.is_there == (true, false) {
        match ignored.iter().find(|rule| is_ignored_by(file.path, rule)) {
            Some(rule) => found.push(change(ChangeKind::LeftTree, format!("removed, and `{rule}` ignores it"))),
            None => found.push(change(ChangeKind::FileGone, "removed".to_owned())),
        }
    }
    if is_program_of_settings(name) {
        found.push(change(ChangeKind::Program, format!("{how}: it configures a tool by what it does")));
    }
    if let Some(module) = file.path.strip_suffix(".pyi").filter(|_| file.is_there == (false, true)) {
        found.push(change(ChangeKind::Suppression, format!("added: type checkers read it in the place of `{module}.py`")));
    }
    found.extend(find_changed_settings(file, &started.words, moved).into_iter().map(|(kind, what)| change(kind, what)));
    found.extend(find_skips(file, known).into_iter().map(|what| change(ChangeKind::TestSkipped, what)));
    found.extend(find_suppressions(file).into_iter().map(|what| change(ChangeKind::Suppression, what)));
    found
}

/// Returns the rules that a changed file of ignore rules has and had not.
fn added_rules<'a>(file: &ChangedFile<'a>) -> Vec<&'a str> {
    if !file.path.ends_with(".gitignore") {
        return Vec::new();
    }
    let known: BTreeSet<&str> = file.before.unwrap_or_default().lines().map(str::trim).collect();
    let is_rule = |line: &&str| !line.is_empty() && !line.starts_with(['#', '!']) && !known.contains(line);
    file.after.unwrap_or_default().lines().map(str::trim).filter(is_rule).collect()
}

/// Returns whether a rule may mean a path: one of the path's names is that of the rule, or begins and ends like it.
fn is_ignored_by(path: &str, rule: &str) -> bool {
    let rule = rule.trim_matches('/');
    let (start, end) = rule.split_once('*').map_or((rule, None), |(start, rest)| (start, rest.rsplit('*').next()));
    let is_named = |name: &str| end.map_or(name == start, |end| name.starts_with(start) && name.ends_with(end));
    path.split('/').any(is_named) || path.starts_with(&format!("{rule}/")) || path == rule
}

/// Returns whether a file of this name defines targets that checks may call, such as a makefile.
pub fn is_file_of_targets(name: &str) -> bool {
    const NAMES: &str = "\
        makefile makefile.am gnumakefile justfile .justfile noxfile.py taskfile.yml taskfile.yaml taskfile.dist.yml rakefile dodo.py \
        tasks.py gruntfile.js gulpfile.js jakefile.js build.xml earthfile sconstruct wscript magefile.go";
    let lower = name.to_ascii_lowercase();
    has_word(NAMES, &lower) || lower.ends_with(".mk") || lower.ends_with(".just")
}

/// Returns what a file of targets is read in the place of, as its directory and a name: `make` prefers a `GNUmakefile` to a `Makefile`.
fn kind_of_targets(path: &str) -> Option<(&str, String)> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = name.to_ascii_lowercase();
    let stem = lower.trim_start_matches("gnu").trim_start_matches('.').split('.').next()?;
    is_file_of_targets(name).then(|| (directory, stem.to_owned()))
}

/// Returns whether a file of this name is a program that configures a tool.
fn is_program_of_settings(name: &str) -> bool {
    const PROGRAMS: [&str; 7] = ["js", "cjs", "mjs", "ts", "cts", "mts", "py"];
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let is_usual = stem.ends_with(".config") || stem.ends_with(".conf") || (stem.starts_with('.') && stem.ends_with("rc"));
    (PROGRAMS.contains(&ending) && (is_usual || is_configuration(name)))
        || has_word("setup.py build.rs sitecustomize.py usercustomize.py CMakeLists.txt meson.build BUILD BUILD.bazel", name)
}

/// Returns a text as one line of bounded length.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
