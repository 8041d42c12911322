//! Finds out that a check failed because it looked for a file in the cache of another check, and says what helps. Pure.

use std::collections::BTreeMap;

use proctor_model::{Action, ActionEnd, EndedAction, PlanNote, TreePath, quoted_text};

/// What programs print, in lower case, if a file is missing.
const MISSING: &[&str] = &[
    "not found",
    "no such file",
    "enoent",
    "cannot find",
    "could not find",
    "can't open",
    "cannot open",
    "does not exist",
    "nonexistent",
];

/// Returns a note for each cache of another check in which a failed check looked for a file. `caches` has the caches that other
/// checks of the run wrote, each with the name of the check.
pub(super) fn hidden_caches(failed: &Action, ended: &EndedAction, caches: &BTreeMap<TreePath, String>) -> Vec<PlanNote> {
    if caches.is_empty() {
        return Vec::new();
    }
    let (stdout, stderr) = (ended.captured.stdout.text(), ended.captured.stderr.text());
    let program = match ended.end {
        ActionEnd::NotStarted(_) => failed.command.argv.first().map(String::as_str),
        ActionEnd::Exited { .. }
        | ActionEnd::Signalled { .. }
        | ActionEnd::TimedOut { .. }
        | ActionEnd::Stopped { .. }
        | ActionEnd::Lost { .. } => None,
    };
    let lines: Vec<&str> = stdout.lines().chain(stderr.lines()).filter(|line| says_missing(line)).chain(program).collect();
    let looked_for = caches.iter().filter(|(cache, _)| lines.iter().any(|line| names(line, &cache.to_string())));
    let note = |(cache, check): (&TreePath, &String)| PlanNote {
        subject: failed.name.clone(),
        message: format!(
            "`{cache}` is a cache of the check `{check}`, which no other check sees: with `writes = [{}]`, or a part of it, `{check}` makes \
             it a product, which later checks see",
            quoted_text(&format!("{cache}/**"))
        ),
    };
    looked_for.map(note).collect()
}

/// Returns whether a line of output says that a file or directory is missing.
pub(super) fn says_missing(line: &str) -> bool {
    let line = line.to_lowercase();
    MISSING.iter().any(|marker| line.contains(marker))
}

/// Returns whether a line names something in the directory at `cache`.
fn names(line: &str, cache: &str) -> bool {
    let is_part_of_a_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    line.match_indices(&format!("{cache}/")).any(|(start, _)| {
        let before = line[..start].strip_suffix("./").unwrap_or(&line[..start]);
        !before.ends_with(is_part_of_a_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_cache_by_its_whole_name() {
        for line in ["sh: 1: ./target/app: not found", "open 'target/x'", "/p/target/debug/app: No such file or directory"] {
            assert!(names(line, "target"), "{line}");
        }
        for line in ["my-target/app: not found", "target: not found", "targets/app", "a.target/x"] {
            assert!(!names(line, "target"), "{line}");
        }
    }
}
