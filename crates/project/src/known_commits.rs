//! What this store knows of commits: the digests of their contents, and which commits of a project were accepted or trusted last.
//!
//! A digest is kept by the name of git's tree: the name says what the content is, so it is read once. A commit with submodules, and inputs
//! beside the project, are read each time: what is there now decides about them. Both files are no evidence: without them, a commit is
//! read again, and one that nothing trusted stands beside is compared with nothing.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::gate::ProjectRepository;
use proctor_evidence::{Store, lock_directory};
use proctor_git::{GitStorage, ObjectId, SubmoduleNames};
use proctor_index as store;
use proctor_model::{Digest, TreeDigest, TreePath};
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::{CommitRefusal, CommittedTree, committed_tree, with_other_inputs};

/// The form of the key of a digest. It changes with the way in which the digest is computed.
const FORM: &str = "proctor-commit-digest-v1 proctor-tree-v2";
/// How many digests of commits are kept.
const MOST_DIGESTS: usize = 256;
/// How many places have accepted commits. With few, new places would soon make an old one be forgotten.
const MOST_PLACES: usize = 4096;
/// How many commits before a given one are searched for accepted ones.
const MOST_BEFORE: usize = 10_000;
/// The most commits of a trusted branch that are searched for the one that was trusted before.
const MOST_BEHIND: usize = 100_000;
/// Stands before the name of a project's place in its repository. A commit and its branch do not begin with it.
const BELOW: char = '@';
/// How many accepted commits of a project are known.
const MOST_ACCEPTED: usize = 32;
/// How long a process waits for others that change what is known. Each of them takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(5);
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
    let (path, key) = (store.commit_digests_path(), key_of_digest((storage, root, below), settings));
    let kept = key.and_then(|key| find(&path, key)).and_then(|digest| Digest::try_from(digest).ok());
    if let Some(own) = kept {
        return Ok(CommittedDigests { digest: with_other_inputs(storage, root, below, (own, matcher))?, own });
    }
    let CommittedTree { digest, own, .. } = committed_tree(storage, root, below, matcher)?;
    if let Some(key) = key {
        update(&path, (key, MOST_DIGESTS), |_| own.hex());
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

/// Returns the accepted commits of the project at `root` with which a later one is compared, newest first.
///
/// They are those of other places (a clone, a copy, where the repository was before) where one of these lies before `judged` and nothing
/// that was accepted here contains it: another place for the same commits has nothing accepted that was not compared there.
pub fn accepted_commits(store: &Store, repository: &ProjectRepository, judged: ObjectId) -> Vec<AcceptedCommit> {
    let own = KnownOfPlace::of(store, &repository.root).accepted;
    let elsewhere = accepted_elsewhere(store, repository, judged, &own);
    let others: BTreeSet<ObjectId> = elsewhere.iter().map(|one| one.commit).collect();
    let contains_one = |commit| !repository.storage.find_ancestors(&others, commit, MOST_BEFORE).is_empty();
    // The oldest was kept at the registration, and compared with nothing.
    let was_compared = own.split_last().is_some_and(|(_, compared)| {
        compared.iter().any(|one| repository.storage.is_ancestor(one.commit, judged) && contains_one(one.commit))
    });
    if elsewhere.is_empty() || was_compared { own } else { elsewhere }
}

/// Returns the commits that were accepted in other places and not in this one, and are `judged` or come before it, but nothing that builds
/// on what was accepted here: a person here has the last word about that.
///
/// What a place kept at its registration was compared with nothing. If an earlier commit is known elsewhere, as in a shallow clone that
/// lacks it, nothing of that place counts.
fn accepted_elsewhere(
    store: &Store,
    repository: &ProjectRepository,
    judged: ObjectId,
    own: &[AcceptedCommit],
) -> Vec<AcceptedCommit> {
    let (Some(key), Ok(text)) = (key_of_place(&repository.root), std::fs::read_to_string(store.accepted_commits_path())) else {
        return Vec::new();
    };
    let (own_line, here) = (key.hex(), below_word(repository.below.as_path()));
    // A line of an earlier version does not say which directory of the repository it is about.
    let is_here =
        |line: &&str| !line.starts_with(&own_line) && line.split(' ').all(|word| !word.starts_with(BELOW) || word == here);
    let places: Vec<Vec<AcceptedCommit>> = text.lines().filter(is_here).map(|line| KnownOfPlace::parse(line).accepted).collect();
    let own: BTreeSet<ObjectId> = own.iter().map(|one| one.commit).collect();
    let wanted = places.iter().flatten().map(|one| one.commit).chain(own.iter().copied()).collect();
    let find_ancestors = |wanted: &BTreeSet<ObjectId>, tip| repository.storage.find_ancestors(wanted, tip, MOST_BEFORE);
    let before = find_ancestors(&wanted, judged);
    let lasts: BTreeSet<ObjectId> = places.iter().filter_map(|place| Some(place.last()?.commit)).collect();
    let has_earlier = |last: &&ObjectId| find_ancestors(&before, **last).iter().any(|found| found != *last);
    let not_compared: BTreeSet<&ObjectId> = lasts.intersection(&before).filter(has_earlier).collect();
    let new: BTreeSet<&ObjectId> = before.iter().filter(|commit| find_ancestors(&own, **commit).is_empty()).collect();
    let is_compared = |place: &Vec<AcceptedCommit>| place.last().is_some_and(|last| !not_compared.contains(&last.commit));
    let found = places.into_iter().filter(is_compared).flatten().filter(|one| new.contains(&one.commit));
    // Branches of another place have nothing to do with those of this one.
    found.map(|one| AcceptedCommit { branch: String::new(), ..one }).collect()
}

/// What is kept of a project's place, newest first.
#[derive(Debug, Default)]
struct KnownOfPlace {
    accepted: Vec<AcceptedCommit>,
    tips: Vec<TrustedTip>,
}

impl KnownOfPlace {
    fn of(store: &Store, root: &Path) -> Self {
        let kept = key_of_place(root).and_then(|key| find(&store.accepted_commits_path(), key));
        Self::parse(&kept.unwrap_or_default())
    }

    fn parse(line: &str) -> Self {
        let accepted = |one: &str| {
            let (commit, branch) = one.split_once(':')?;
            Some(AcceptedCommit { commit: ObjectId::parse(commit)?, branch: branch.to_owned() })
        };
        let tip = |one: &str| {
            let (commit, name) = one.split_once('=')?;
            Some(TrustedTip { name: name.to_owned(), commit: ObjectId::parse(commit)? })
        };
        Self { accepted: line.split(' ').filter_map(accepted).collect(), tips: line.split(' ').filter_map(tip).collect() }
    }

    /// Changes what is kept of the project at `root`.
    fn change(store: &Store, root: &Path, change: impl FnOnce(&mut Self)) {
        let (Some(key), Some(below)) = (key_of_place(root), place_in_repository(root)) else { return };
        update(&store.accepted_commits_path(), (key, MOST_PLACES), |kept| {
            let mut known = Self::parse(kept);
            change(&mut known);
            known.accepted.truncate(MOST_ACCEPTED);
            known.tips.truncate(MOST_ACCEPTED);
            let accepted = known.accepted.iter().map(|one| format!("{}:{}", one.commit.hex(), one.branch));
            let tips = known.tips.iter().map(|tip| format!("{}={}", tip.commit.hex(), tip.name));
            accepted.chain(tips).chain([below_word(&below)]).collect::<Vec<_>>().join(" ")
        });
    }
}

/// Keeps a commit of the project at `root` as the one that was accepted last.
pub fn keep_accepted_commit(store: &Store, root: &Path, accepted: AcceptedCommit) {
    KnownOfPlace::change(store, root, |known| {
        known.accepted.retain(|other| other.commit != accepted.commit);
        known.accepted.insert(0, accepted);
    });
}

/// The commit of a branch of a remote repository with which others are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedTip {
    /// The full name of the branch, such as `refs/remotes/origin/main`.
    pub name: String,
    pub commit: ObjectId,
}

/// A commit that was trusted before and is not found before the present one of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedTip {
    pub before: TrustedTip,
    /// Whether the branch lacks it: of a shallow or partial clone nobody can tell.
    pub is_certain: bool,
}

impl ReplacedTip {
    /// Returns in words what is not as it was. `now` is what the first line says of this tip.
    pub fn words(&self, now: &TrustedTip) -> String {
        let [new, old] = [now, &self.before].map(|tip| tip.commit.hex()[..12].to_owned());
        if self.before.name == now.name {
            return format!(
                "the trusted branch was replaced: {} ({new}) does not contain {old}, which was trusted before",
                now.name
            );
        }
        let before = &self.before.name;
        format!(
            "the trusted branch is another one: {} ({new}) and {before} ({old}), which was trusted before, have diverged",
            now.name
        )
    }
}

/// Returns the commit of the branch (else of any) that was trusted last, if it is not found before the present one.
pub fn replaced_tip(store: &Store, (root, storage): (&Path, &GitStorage), now: &TrustedTip) -> Option<ReplacedTip> {
    let tips = KnownOfPlace::of(store, root).tips;
    let last = tips.iter().find(|tip| tip.name == now.name).or_else(|| tips.first())?;
    let is_there = !storage.find_ancestors(&BTreeSet::from([last.commit]), now.commit, MOST_BEHIND).is_empty();
    (!is_there).then(|| ReplacedTip { before: last.clone(), is_certain: !storage.lacks_objects_by_design() })
}

/// Keeps the commit as the one that was trusted last.
pub fn keep_trusted_tip(store: &Store, root: &Path, tip: TrustedTip) {
    KnownOfPlace::change(store, root, |known| {
        known.tips.retain(|other| other.name != tip.name);
        known.tips.insert(0, tip);
    });
}

/// Returns the commits of the branches of remote repositories that are trusted where nobody names another one.
fn usual_tips(storage: &GitStorage) -> Vec<TrustedTip> {
    let remote = storage.remote_named(None).unwrap_or_default();
    let default = storage.default_branch_of_remote(&remote).ok().flatten();
    let names =
        [default.or_else(|| storage.usual_default_branch(&remote).ok().flatten()), storage.upstream_of_head().ok().flatten()];
    let names = names.iter().flatten().map(|name| name.as_str()).filter(|name| name.starts_with("refs/remotes/"));
    let mut tips: Vec<TrustedTip> =
        names.filter_map(|name| Some(TrustedTip { name: name.to_owned(), commit: storage.resolve(name).ok()? })).collect();
    tips.dedup();
    tips
}

/// Keeps what a project that is registered is compared with later, if nothing of this place was accepted before: what was accepted at
/// `former`, the path of the project from which it inherits, else what was accepted of its history in other places, else the commit that is
/// checked out. The branches that are trusted now, or were at `former`, are kept too.
pub(crate) fn keep_first_commit(store: &Store, root: &Path, former: Option<&str>) {
    let Ok(Some(repository)) = ProjectRepository::open(root) else { return };
    let (Ok(Some(commit)), true) = (repository.storage.head(), KnownOfPlace::of(store, root).accepted.is_empty()) else { return };
    let former = former.map(|path| line_of_path(store, Path::new(path))).unwrap_or_default();
    let KnownOfPlace { mut accepted, mut tips } = KnownOfPlace::parse(&former);
    if accepted.is_empty() {
        accepted = accepted_elsewhere(store, &repository, commit, &[]);
    }
    if tips.is_empty() {
        tips = usual_tips(&repository.storage);
    }
    if accepted.is_empty() {
        let branch = repository.storage.checked_out_branch().ok().flatten().unwrap_or_default();
        accepted.push(AcceptedCommit { commit, branch });
    }
    KnownOfPlace::change(store, root, |known| *known = KnownOfPlace { accepted, tips });
}

/// Returns what is kept of a project that lay in the main working tree of a repository at this path. Nothing has to be there.
fn line_of_path(store: &Store, path: &Path) -> String {
    let mut keys = path.ancestors().filter_map(|tree| Some(key_of(&tree.join(".git"), path.strip_prefix(tree).ok()?)));
    keys.find_map(|key| find(&store.accepted_commits_path(), key)).unwrap_or_default()
}

/// Returns the name of a project by its repository and its place there, which all worktrees share.
fn key_of_place(root: &Path) -> Option<Digest> {
    Some(key_of(&proctor_git::git_common_directory(root)?, &place_in_repository(root)?))
}

fn place_in_repository(root: &Path) -> Option<PathBuf> {
    root.strip_prefix(proctor_git::find_git_location(root)?.work_tree).ok().map(Path::to_owned)
}

fn key_of(repository: &Path, below: &Path) -> Digest {
    Digest::of(format!("{}\n{}", repository.display(), below.display()).as_bytes())
}

fn below_word(below: &Path) -> String {
    format!("{BELOW}{}", Digest::of(below.as_os_str().as_bytes()).hex())
}

/// Returns what names everything that decides about the digest; `None` if something else decides too.
fn key_of_digest((storage, root, below): (&GitStorage, ObjectId, &TreePath), settings: &MatcherSettings) -> Option<Digest> {
    if !matches!(SubmoduleNames::of_commit(storage, root), Ok(None)) {
        return None;
    }
    let attributes = storage.common.text("info/attributes", LONGEST_ATTRIBUTES).ok()?.unwrap_or_default();
    // The other three settings decide what is digested beside the tree, and not which files belong to it.
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

/// Changes the value of a key, which is empty if there is none, while nobody else changes the file, and forgets the oldest where there are
/// more than `most`.
fn update(path: &Path, (key, most): (Digest, usize), change: impl FnOnce(&str) -> String) {
    // Where there is no store, nothing is kept.
    let Some(directory) = path.parent().filter(|directory| directory.parent().is_some_and(Path::is_dir)) else { return };
    let lock = lock_directory(directory, LOCK_WAIT);
    let (text, key) = (std::fs::read_to_string(path).unwrap_or_default(), key.hex());
    let (own, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with(&key));
    let line = format!("{key} {}", change(own.first().and_then(|line| line.split_once(' ')).map_or("", |(_, value)| value)));
    if own == [line.as_str()] {
        return;
    }
    let newest = others.len().saturating_sub(most - 1);
    let lines = others[newest..].iter().map(|line| format!("{line}\n")).collect::<String>();
    let written = match lock {
        Ok(Some(_held)) => {
            store::write_tree_index(path, format!("{lines}{line}\n").as_bytes()).map_err(|error| error.to_string())
        }
        Ok(None) => Err("another process holds the lock for too long".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = written {
        tracing::warn!("what is known of a commit was not kept: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test damages its own file")]
    fn a_value_is_found_again_by_its_key_and_the_oldest_gives_way() {
        const MOST: usize = 3;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of-commits");
        let key = |number: usize| Digest::of(number.to_string().as_bytes());
        assert_eq!(find(&path, key(0)), None);
        for number in 0..=MOST {
            update(&path, (key(number), MOST), |_| format!("d{number}"));
        }
        assert_eq!(find(&path, key(0)), None);
        assert_eq!((find(&path, key(1)), find(&path, key(MOST))), (Some("d1".to_owned()), Some(format!("d{MOST}"))));
        update(&path, (key(1), MOST), |_| "another".to_owned());
        assert_eq!(find(&path, key(1)).as_deref(), Some("another"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), MOST);
        std::fs::write(&path, "no line\n").unwrap();
        assert_eq!(find(&path, key(1)), None);
    }

    #[test]
    fn processes_that_keep_something_at_once_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trees/accepted-commits");
        let key = |number: usize| Digest::of(number.to_string().as_bytes());
        let keep = |place: usize| (0..10).for_each(|one| update(&path, (key(place), 100), |kept| format!("{kept}{one}")));
        std::thread::scope(|scope| (0..8).for_each(|place| drop(scope.spawn(move || keep(place)))));
        (0..8).for_each(|place| assert_eq!(find(&path, key(place)).as_deref(), Some("0123456789"), "{place}"));
    }
}
