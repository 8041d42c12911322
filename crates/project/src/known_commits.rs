//! What this store knows of commits: the digests of their contents, and which commits of a project were accepted last.
//!
//! A digest is kept by the name of git's tree: the name says what the content is, so it is read once. A commit with submodules, and inputs
//! beside the project, are read each time: what is there now decides about them. Both files are no evidence: without them, a commit is
//! read again, and one that nothing trusted stands beside is compared with nothing.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::gate::ProjectRepository;
use proctor_evidence::Store;
use proctor_git::{GitStorage, ObjectId, SubmoduleNames};
use proctor_index as store;
use proctor_model::{Digest, TreeDigest, TreePath};
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::{CommitRefusal, CommittedTree, committed_tree, with_other_inputs};

/// The form of the key of a digest. It changes with the way in which the digest is computed.
const FORM: &str = "proctor-commit-digest-v1 proctor-tree-v2";
/// How many lines each file has.
const MOST: usize = 256;
/// How many accepted commits of a project are known.
const MOST_ACCEPTED: usize = 32;
/// The largest `info/attributes` that a key has, in bytes. With a larger one, nothing is kept.
const LONGEST_ATTRIBUTES: u64 = 1 << 20;

/// The digests of a commit's content below a project's root.
pub struct CommittedDigests {
    /// The digest, with those of the inputs.
    pub digest: TreeDigest,
    /// The digest of the tree alone.
    pub own: Digest,
}

/// Returns the digests of a commit's content below the project's root. `settings` are those of the matcher.
///
/// # Errors
/// When the digest cannot be told.
pub fn committed_digests(
    store: &Store,
    (storage, root, below): (&GitStorage, ObjectId, &TreePath),
    (matcher, settings): (&Matcher, &MatcherSettings),
) -> Result<CommittedDigests, CommitRefusal> {
    let (path, key) = (store.commit_digests_path(), key_of((storage, root, below), settings));
    let kept = key.and_then(|key| find(&path, key)).and_then(|digest| Digest::try_from(digest).ok());
    if let Some(own) = kept {
        return Ok(CommittedDigests { digest: with_other_inputs(storage, root, below, (own, matcher))?, own });
    }
    let CommittedTree { digest, own, .. } = committed_tree(storage, root, below, matcher)?;
    if let Some(key) = key {
        keep(&path, key, &own.hex());
    }
    Ok(CommittedDigests { digest, own })
}

/// A commit that was proved or trusted in this store, or that was checked out when its project was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedCommit {
    pub commit: ObjectId,
    /// The branch that it was accepted for; empty if none was checked out.
    pub branch: String,
}

/// Returns the accepted commits of the project at `root`, newest first.
pub fn accepted_commits(store: &Store, root: &Path) -> Vec<AcceptedCommit> {
    let kept = key_of_place(root).and_then(|key| find(&store.accepted_commits_path(), key)).unwrap_or_default();
    let accepted = kept.split(' ').filter_map(|one| {
        let (commit, branch) = one.split_once(':').unwrap_or((one, ""));
        Some(AcceptedCommit { commit: ObjectId::parse(commit)?, branch: branch.to_owned() })
    });
    accepted.collect()
}

/// Keeps a commit of the project at `root` as the one that was accepted last.
pub fn keep_accepted_commit(store: &Store, root: &Path, accepted: AcceptedCommit) {
    let (mut all, Some(key)) = (accepted_commits(store, root), key_of_place(root)) else { return };
    if all.first() == Some(&accepted) {
        return;
    }
    all.retain(|other| other.commit != accepted.commit);
    all.insert(0, accepted);
    all.truncate(MOST_ACCEPTED);
    let texts: Vec<String> = all.iter().map(|one| format!("{}:{}", one.commit.hex(), one.branch)).collect();
    keep(&store.accepted_commits_path(), key, &texts.join(" "));
}

/// Keeps the commit that is checked out while a project is registered, if none of this place was accepted before: what comes later is
/// compared with it.
pub(crate) fn keep_first_commit(store: &Store, root: &Path) {
    let Ok(Some(repository)) = ProjectRepository::open(root) else { return };
    if let (Ok(Some(commit)), true) = (repository.storage.head(), accepted_commits(store, root).is_empty()) {
        let branch = repository.storage.checked_out_branch().ok().flatten().unwrap_or_default();
        keep_accepted_commit(store, root, AcceptedCommit { commit, branch });
    }
}

/// Returns the name of a project by its repository and its place there, which all worktrees share.
fn key_of_place(root: &Path) -> Option<Digest> {
    let repository = proctor_git::git_common_directory(root)?;
    let below = root.strip_prefix(proctor_git::find_git_location(root)?.work_tree).ok()?.to_owned();
    Some(Digest::of(format!("{}\n{}", repository.display(), below.display()).as_bytes()))
}

/// Returns what names everything that decides about the digest; `None` if something else decides too.
fn key_of((storage, root, below): (&GitStorage, ObjectId, &TreePath), settings: &MatcherSettings) -> Option<Digest> {
    if !matches!(SubmoduleNames::of_commit(storage, root), Ok(None)) {
        return None;
    }
    let attributes = storage.common.text("info/attributes", LONGEST_ATTRIBUTES).ok()?.unwrap_or_default();
    // What checks see of ignored files, and inputs, are no part of the tree alone.
    let MatcherSettings { ignore, include, own_link, store, task_list, selects: _, outputs: _, inputs: _ } = settings;
    let own_link = own_link.as_ref().map(|link| link.leads_into.as_os_str().as_bytes());
    let place = [below.as_bytes(), own_link.unwrap_or_default(), store.as_ref().map_or(&[], TreePath::as_bytes)];
    let all =
        serde_json::json!([FORM, root.hex(), place, ignore, include, own_link.is_some(), store.is_some(), task_list, attributes]);
    Some(Digest::of(all.to_string().as_bytes()))
}

fn find(path: &Path, key: Digest) -> Option<String> {
    let (text, key) = (std::fs::read_to_string(path).ok()?, key.hex());
    text.lines().find_map(|line| line.strip_prefix(&key)?.strip_prefix(' ')).map(str::to_owned)
}

/// Keeps a value by its key, and forgets the oldest where there are too many.
fn keep(path: &Path, key: Digest, value: &str) {
    let (text, key) = (std::fs::read_to_string(path).unwrap_or_default(), key.hex());
    let others: Vec<&str> = text.lines().filter(|line| !line.starts_with(&key)).collect();
    let newest = others.len().saturating_sub(MOST - 1);
    let lines = others[newest..].iter().map(|line| format!("{line}\n")).collect::<String>();
    if let Err(error) = store::write_tree_index(path, format!("{lines}{key} {value}\n").as_bytes()) {
        tracing::warn!("what is known of a commit was not kept: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test damages its own file")]
    fn a_value_is_found_again_by_its_key_and_the_oldest_gives_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of-commits");
        let key = |number: usize| Digest::of(number.to_string().as_bytes());
        assert_eq!(find(&path, key(0)), None);
        for number in 0..=MOST {
            keep(&path, key(number), &format!("d{number}"));
        }
        assert_eq!(find(&path, key(0)), None);
        assert_eq!((find(&path, key(1)), find(&path, key(MOST))), (Some("d1".to_owned()), Some(format!("d{MOST}"))));
        keep(&path, key(1), "another");
        assert_eq!(find(&path, key(1)).as_deref(), Some("another"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), MOST);
        std::fs::write(&path, "no line\n").unwrap();
        assert_eq!(find(&path, key(1)), None);
    }
}
