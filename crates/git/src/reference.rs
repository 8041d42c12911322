//! References: names for commits, each in a file of its own or as a line of `packed-refs` (gitrepository-layout(5),
//! `refs`).

use crate::directory::GitDirectory;
use crate::error::GitReadError;
use crate::object::ObjectId;

/// The largest file of a reference, in bytes. A larger file is refused.
const LONGEST_REFERENCE: u64 = 4096;
/// The most references that are followed in a row if each names another one. Git has the same limit.
const MOST_STEPS: u32 = 5;
/// The largest list of packed references that is read, in bytes. The list of a million references is about this large.
const LONGEST_LIST: u64 = 64 << 20;

/// A name below `refs/` that contains no `..` and is safe as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceName(String);

impl ReferenceName {
    /// Checks a reference's name by the rules of git-check-ref-format(1) that keep it safe as a path.
    ///
    /// # Errors
    /// When the name breaks these rules.
    pub fn parse(name: &str) -> Result<Self, GitReadError> {
        let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock") && !part.ends_with('.');
        let is_odd = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
        let is_name = name.starts_with("refs/") && name.split('/').all(is_part) && !name.contains("..") && !name.contains(is_odd);
        if is_name { Ok(Self(name.to_owned())) } else { Err(GitReadError::Name(name.to_owned())) }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the checked-out commit, or `None` if nothing is committed yet. `git_directory` is the directory of the working tree's
/// own files, `common` the directory that all worktrees share.
///
/// # Errors
/// When a reference cannot be read, has a wrong name, or leads in a circle.
pub(super) fn read_head(git_directory: &GitDirectory, common: &GitDirectory) -> Result<Option<ObjectId>, GitReadError> {
    match git_directory.text("HEAD", LONGEST_REFERENCE)? {
        Some(text) => follow(common, &text, MOST_STEPS),
        None => Ok(None),
    }
}

/// Returns the name of the checked-out branch's reference; `None` if a commit is checked out and no branch.
pub(super) fn read_head_name(git_directory: &GitDirectory) -> Result<Option<ReferenceName>, GitReadError> {
    let text = git_directory.text("HEAD", LONGEST_REFERENCE)?.unwrap_or_default();
    text.trim_end().strip_prefix("ref: ").map(ReferenceName::parse).transpose()
}

/// Returns the reference that a symbolic reference names; `None` if it does not exist or names an object.
///
/// # Errors
/// When the reference cannot be read, or names what is no reference.
pub(super) fn read_symbolic(common: &GitDirectory, name: &ReferenceName) -> Result<Option<ReferenceName>, GitReadError> {
    let text = common.text(name.as_str(), LONGEST_REFERENCE)?.unwrap_or_default();
    text.trim_end().strip_prefix("ref: ").map(ReferenceName::parse).transpose()
}

/// Returns the object that a reference names, or `None` if the reference does not exist.
///
/// # Errors
/// When the reference cannot be read, has a wrong name, or leads in a circle.
pub fn read_reference(common: &GitDirectory, name: &ReferenceName) -> Result<Option<ObjectId>, GitReadError> {
    read_steps(common, name, MOST_STEPS)
}

fn read_steps(common: &GitDirectory, name: &ReferenceName, steps: u32) -> Result<Option<ObjectId>, GitReadError> {
    // A directory with other references may have the same name as this reference. Then this reference has no file of
    // its own, and `packed-refs` may list it.
    match common.text(name.as_str(), LONGEST_REFERENCE) {
        Ok(Some(text)) => follow(common, &text, steps),
        Ok(None) => read_packed(common, name),
        Err(GitReadError::NotAFile { path }) if path.is_dir() => read_packed(common, name),
        Err(error) => Err(error),
    }
}

fn follow(common: &GitDirectory, text: &str, steps: u32) -> Result<Option<ObjectId>, GitReadError> {
    match (text.trim_end().strip_prefix("ref: "), steps.checked_sub(1)) {
        (None, _) => Ok(ObjectId::parse(text.trim_end())),
        (Some(next), Some(steps)) => read_steps(common, &ReferenceName::parse(next)?, steps),
        (Some(next), None) => Err(GitReadError::Name(next.to_owned())),
    }
}

/// Looks a reference up in `packed-refs`, which lists the references that have no file of their own.
fn read_packed(common: &GitDirectory, name: &ReferenceName) -> Result<Option<ObjectId>, GitReadError> {
    let Some(text) = common.text("packed-refs", LONGEST_LIST)? else { return Ok(None) };
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let mut named = lines.filter_map(|line| line.split_once(' ')).filter(|(_, listed)| *listed == name.as_str());
    Ok(named.next().and_then(|(id, _)| ObjectId::parse(id)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that are read")]
mod tests {
    use std::path::Path;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn put(path: &Path, content: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn name(text: &str) -> ReferenceName {
        ReferenceName::parse(text).unwrap()
    }

    #[test]
    fn a_name_stays_below_the_references() {
        for bad in [
            "",
            "HEAD",
            "refs",
            "refs/",
            "refs//x",
            "refs/../HEAD",
            "refs/a..b",
            "refs/.x",
            "refs/x.lock",
            "refs/a b",
            "refs/a\nb",
        ] {
            assert!(ReferenceName::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("refs/notes/proctor/shop-00000001").as_str(), "refs/notes/proctor/shop-00000001");
    }

    #[test]
    fn a_file_takes_precedence_over_packed_refs_and_heads_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let git = &GitDirectory::open(root).unwrap();
        let hex = |id: Option<ObjectId>| id.map(ObjectId::hex);
        assert_eq!(read_head(git, git).unwrap(), None);
        put(&root.join("HEAD"), b"ref: refs/heads/main\n");
        assert_eq!(read_head(git, git).unwrap(), None, "nothing is committed yet");
        put(
            &root.join("packed-refs"),
            format!("# pack-refs with: peeled\n{ONE} refs/heads/main\n^{TWO}\n{TWO} refs/x\n").as_bytes(),
        );
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), format!("{TWO}\n").as_bytes());
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(TWO));
        put(&root.join("refs/heads/main"), b"ref: refs/heads/main\n");
        assert!(read_head(git, git).is_err(), "in a circle");
        put(&root.join("HEAD"), format!("{ONE}\n").as_bytes());
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), b"ref: ../../elsewhere\n");
        assert!(read_reference(git, &name("refs/heads/main")).is_err());
    }
}
