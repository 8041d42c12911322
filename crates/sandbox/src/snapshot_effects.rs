//! Finds in the output of a failed command what is different on a snapshot, and says how to avoid it. Pure.
//!
//! A snapshot is several file systems laid over each other, so three things differ from a plain directory: some renames fail, the
//! repository's `.git` belongs to the project and is read-only, and git stops its search for a repository at the snapshot's edge.

/// A text that commands print, in lower case.
type Marker = &'static str;

/// The messages for a rename that failed because it crosses two file systems: from the C library, Node.js, Python and
/// Rust.
const CROSS_DEVICE: &[Marker] =
    &["invalid cross-device link", "cross-device link not permitted", "[errno 18]", "os error 18", "'exdev'"];

/// What git prints if it stops its search for a repository at the edge of a file system.
const AT_THE_EDGE: Marker = "stopping at filesystem boundary";

const READ_ONLY: Marker = "read-only file system";
const OF_GIT: &[Marker] = &[".git/", ".git'", ".git:"];

const RENAME: &str = "a rename failed with EXDEV, which is an effect of the snapshot: there, a directory of the project cannot be renamed, \
                      and nothing can be moved between the project and a temporary directory without being copied. If the command \
                      has to, `snapshot = \"off\"` in its `[[check]]` lets it run in the project itself";

const GIT: &str = "`.git` could not be written to: on a snapshot it is the project's own and read-only. Let the command work in a clone \
                   (`git clone . \"$TMPDIR/clone\"`), or in the project itself with `snapshot = \"off\"` in its `[[check]]` and \
                   `writable = [\".git\"]` in `[sandbox]`";

const EDGE: &str = "git did not look for its repository above the project, which is an effect of the snapshot: let the command keep \
                    `GIT_DISCOVERY_ACROSS_FILESYSTEM=1`, which proctor sets, or let it run in the project itself with `snapshot = \
                    \"off\"` in its `[[check]]`";

/// Returns a hint for each effect of the snapshot that a failed command's output shows.
pub(super) fn snapshot_effects(output: &str) -> Vec<String> {
    let lines: Vec<String> = output.lines().map(str::to_lowercase).collect();
    let is_named = |marker: Marker| lines.iter().any(|line| line.contains(marker));
    let rename = CROSS_DEVICE.iter().any(|marker| is_named(marker)).then_some(RENAME);
    let git = lines.iter().any(|line| is_write_to_git(line)).then_some(GIT);
    let edge = is_named(AT_THE_EDGE).then_some(EDGE);
    [rename, git, edge].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns whether a line of output says that something in `.git` could not be written.
pub(super) fn is_write_to_git(line: &str) -> bool {
    let line = line.to_lowercase();
    // `git stash` prints this whole line and no cause, so the line alone counts.
    line == "error: could not write index" || (line.contains(READ_ONLY) && OF_GIT.iter().any(|marker| line.contains(marker)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_effect_is_found_in_what_programs_print() {
        for (output, expected) in [
            ("mv: cannot move 'a' to 'b': Invalid cross-device link", vec![RENAME]),
            ("OSError: [Errno 18] Invalid cross-device link: 'a' -> 'b'", vec![RENAME]),
            ("Error: EXDEV: cross-device link not permitted, rename 'a' -> 'b'", vec![RENAME]),
            ("Error: Os { code: 18, message: \"Invalid cross-device link (os error 18)\" }", vec![RENAME]),
            ("fatal: Unable to create '/p/.git/index.lock': Read-only file system", vec![GIT]),
            ("error: could not write index", vec![GIT]),
            ("error: could not lock config file .git/config: Read-only file system", vec![GIT]),
            ("Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set).", vec![EDGE]),
            ("touch: cannot touch '/usr/x': Read-only file system\nassert 18 == 19", vec![]),
        ] {
            assert_eq!(snapshot_effects(output), expected, "{output}");
        }
    }
}
