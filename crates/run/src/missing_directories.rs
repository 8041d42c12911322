//! Finds out that a check on a snapshot failed because a directory is not there that the project itself has, and says what helps.
//! Pure, but for the two questions that the caller answers.
//!
//! A directory in which nothing belongs to the tree, such as `logs` with ignored files only, is not on a snapshot. A fresh clone does
//! not have it either, and no digest covers it, so a verdict must not depend on it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::hidden_inputs::says_missing;
use proctor_model::{Action, EndedAction, PlanNote, TreePath};

/// The most lines of output that are looked at, and the most directories that are named.
const MOST_LINES: usize = 200;
const MOST_NAMED: usize = 3;

/// Returns a note for each directory that a failed check missed. `is_missed` says whether a directory, relative to `root`, is in the
/// project and not on the check's snapshot.
pub(super) fn missing_directories(
    failed: &Action,
    ended: &EndedAction,
    root: &Path,
    directory: &Path,
    is_missed: impl Fn(&TreePath) -> bool,
) -> Vec<PlanNote> {
    let (stdout, stderr) = (ended.captured.stdout.text(), ended.captured.stderr.text());
    let missed = find_missed(stdout.lines().chain(stderr.lines()), root, directory, is_missed);
    missed.into_iter().take(MOST_NAMED).map(|path| note(failed, &path)).collect()
}

fn find_missed<'l>(
    lines: impl Iterator<Item = &'l str>,
    root: &Path,
    directory: &Path,
    is_missed: impl Fn(&TreePath) -> bool,
) -> BTreeSet<TreePath> {
    let lines = lines.filter(|line| says_missing(line)).take(MOST_LINES);
    let outermost = |named: &str| {
        // The check looked for the directory itself, or for something in it.
        let full = without_dots(&directory.join(named));
        let around = full.ancestors().filter_map(|path| TreePath::below(root, path).ok()).filter(|path| !path.is_root());
        around.filter(&is_missed).last()
    };
    lines.flat_map(named_paths).filter_map(outermost).collect()
}

fn note(failed: &Action, path: &TreePath) -> PlanNote {
    PlanNote {
        subject: failed.name.clone(),
        message: format!(
            "the project has a directory `{path}`, which is not on the snapshot: it holds no file that checks see, so a fresh clone lacks it \
             too. Let the command make it, or keep a file in it (`{path}/.gitkeep`)"
        ),
    }
}

/// Returns the words of a line that may be paths.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|character: char| character.is_whitespace() || "'\"`‘’“”,;()[]".contains(character));
    let words = words.map(|word| word.trim_end_matches([':', '.', '/']).trim_start_matches("./"));
    // A shell names a file with a redirection as `sh: 1: cannot create logs/a: Directory nonexistent`.
    words.filter(|word| !word.is_empty() && word.len() < 1024)
}

/// Resolves `.` and `..` in a path by its text.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => clean.push(component),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    fn named(line: &str, missed: &[&str]) -> Vec<String> {
        let is_missed = |path: &TreePath| missed.contains(&path.to_string().as_str());
        let found = find_missed(line.lines(), Path::new("/p"), Path::new("/p/sub"), is_missed);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_missing_directory_is_found_in_what_programs_print() {
        for (line, expected) in [
            ("sh: 1: cannot create ../logs/a: Directory nonexistent", &["logs"][..]),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/p/logs/x/a.log'", &["logs"]),
            ("Error: ENOENT: no such file or directory, open '/p/logs/a'", &["logs"]),
            ("sh: 1: cd: can't cd to ../logs: No such file or directory", &["logs"]),
            ("bash: own/a.txt: No such file or directory", &["sub/own"]),
            ("bash: /p/src/a.txt: No such file or directory", &[]),
            ("wrote /p/logs/a", &[]),
        ] {
            assert_eq!(named(line, &["logs", "logs/x", "sub/own"]), expected, "{line}");
        }
    }
}
