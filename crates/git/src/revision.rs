//! Finds the commit that a revision names, such as `HEAD~2`, `v1.0` or `main@{upstream}` (gitrevisions(7)).

use std::collections::{BTreeSet, VecDeque};

use crate::error::{GitReadError, ObjectProblem};
use crate::object::{GitObject, ObjectId};
use crate::reference::{ReferenceName, read_head_name, read_reference, read_symbolic};
use crate::storage::GitStorage;

/// The longest revision that is read, in bytes.
const LONGEST: usize = 4096;
/// The most generations that `~N` goes back.
const MOST_GENERATIONS: u32 = 100_000;
/// The fewest digits of an abbreviated object name. Git has the same limit.
const SHORTEST_NAME: usize = 4;
/// The most objects with the same abbreviated name that are looked at.
const MOST_CANDIDATES: usize = 64;
/// The most commits that are searched for another one.
const MOST_COMMITS: usize = 10_000;
/// The usual names of default branches.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];
/// The places in which a short name of a reference is looked for, in git's order. `*` stands for the name.
const PLACES: [&str; 5] = ["refs/*", "refs/tags/*", "refs/heads/*", "refs/remotes/*", "refs/remotes/*/HEAD"];
/// The only place of a name that begins with `refs/`.
const WHOLE_NAME: [&str; 1] = ["*"];
/// The references that every worktree has for itself.
const OF_ONE_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Why a revision names no commit.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    #[error("`{revision}` names no commit, branch or tag of this repository")]
    Unknown { revision: String },
    #[error("nothing is committed yet on the checked-out branch")]
    NothingCommitted,
    #[error(
        "`{}` is not understood: after a name only `~N`, `^N`, `^{{}}`, `^{{commit}}` and `@{{upstream}}` are read",
        revision
    )]
    Syntax { revision: String },
    #[error("`{revision}` is the beginning of more than one commit's name")]
    Ambiguous { revision: String },
    /// A short name of references that name different commits, or that begins another commit's name too. Whoever can push one of them must
    /// not choose which is meant.
    #[error("`{revision}` means more than one commit: {}", names.join(", "))]
    SeveralMeanings {
        revision: String,
        /// The full names of the references, and the hash of the commit whose name begins like this.
        names: Vec<String>,
    },
    #[error("commit {commit} has no parent number {number}")]
    NoParent {
        /// The commit's hash in hexadecimal digits.
        commit: String,
        /// Counted from 1.
        number: usize,
    },
    #[error("the branch `{branch}` has no upstream")]
    NoUpstream { branch: String },
    /// The repository was cloned without a part of its history.
    #[error("the clone is shallow or partial and lacks object {id}, which `{revision}` leads to")]
    LackingClone {
        revision: String,
        /// The object's hash in hexadecimal digits.
        id: String,
    },
    #[error(transparent)]
    Git(#[from] GitReadError),
}

/// What follows a name in a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RevisionStep {
    /// `~N`: N times the first parent.
    Ancestor(u32),
    /// `^N`: the parent with this number, counted from 1; 0 means the commit itself.
    Parent(usize),
}

impl GitStorage {
    /// Returns the commit that a revision names. A tag stands for the commit that it names.
    ///
    /// # Errors
    /// When the revision is not understood or names no commit, or an object or reference cannot be read.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId, RevisionError> {
        self.resolve_in_whole_clone(revision).map_err(|error| {
            if let RevisionError::Git(GitReadError::Object { id, problem: ObjectProblem::Missing }) = &error
                && self.lacks_objects_by_design()
            {
                return RevisionError::LackingClone { revision: revision.to_owned(), id: id.clone() };
            }
            error
        })
    }

    /// Returns the revision with the full name of its reference, such as `refs/remotes/origin/main~2` for `origin/main~2`. What names no
    /// reference, or asks for an upstream, is returned as it is.
    ///
    /// # Errors
    /// When the revision is not understood, has several meanings, or a reference cannot be read.
    pub fn with_full_name(&self, revision: &str) -> Result<String, RevisionError> {
        let (name, upstream, _) = split(revision)?;
        let is_other =
            upstream == Upstream::Asked || matches!(name, "HEAD" | "@") || ObjectId::parse(&name.to_ascii_lowercase()).is_some();
        let found = if is_other { None } else { self.find_reference(name)? };
        Ok(found.map_or_else(|| revision.to_owned(), |(full, _)| format!("{}{}", full.as_str(), &revision[name.len()..])))
    }

    /// Returns whether a name begins with the name of a remote repository, as `origin/main` does.
    pub fn begins_with_remote(&self, name: &str) -> bool {
        self.config.remotes().iter().any(|remote| name.strip_prefix(remote).is_some_and(|rest| rest.starts_with('/')))
    }

    fn resolve_in_whole_clone(&self, revision: &str) -> Result<ObjectId, RevisionError> {
        let (name, upstream, steps) = split(revision)?;
        let mut commit = match upstream {
            Upstream::Asked => self.upstream_of(name)?,
            Upstream::NotAsked => self.resolve_name(name)?,
        };
        for step in steps {
            commit = self.take(commit, step)?;
        }
        Ok(self.peel(commit)?.0)
    }

    /// Returns the name of the remote repository that is meant by a name or an address; without one, the only remote or `origin`. `None`
    /// if no remote has this name or address.
    pub fn remote_named(&self, named: Option<&str>) -> Option<String> {
        let remotes = self.config.remotes();
        let Some(named) = named else {
            return Some(if let [only] = remotes[..] { only } else { "origin" }.to_owned());
        };
        let has_address = |remote: &&&str| {
            ["url", "pushurl"].iter().any(|key| self.config.all("remote", Some(remote), key).any(|url| url == named))
        };
        let found = remotes.iter().find(|remote| **remote == named).or_else(|| remotes.iter().find(has_address));
        found.map(|remote| (*remote).to_owned())
    }

    /// Returns the full name of the branch that a remote repository calls its default one, as it was when the remote was cloned.
    /// `None` if this is not known.
    ///
    /// # Errors
    /// When a reference cannot be read.
    pub fn default_branch_of_remote(&self, remote: &str) -> Result<Option<ReferenceName>, GitReadError> {
        let Ok(head) = ReferenceName::parse(&format!("refs/remotes/{remote}/HEAD")) else { return Ok(None) };
        let Some(branch) = read_symbolic(&self.common, &head)? else { return Ok(None) };
        Ok(self.read(&branch)?.map(|_| branch))
    }

    /// Returns the full name of the branch of a remote repository that is taken for its default one where it does not say which that is:
    /// `main` or `master`. `None` if it has neither.
    ///
    /// # Errors
    /// When a reference cannot be read.
    pub fn usual_default_branch(&self, remote: &str) -> Result<Option<ReferenceName>, GitReadError> {
        for branch in USUAL_DEFAULTS {
            let Ok(name) = ReferenceName::parse(&format!("refs/remotes/{remote}/{branch}")) else { continue };
            if self.read(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns whether the repository knows any remote one.
    pub fn has_remotes(&self) -> bool {
        !self.config.remotes().is_empty()
    }

    /// Returns whether a commit is `tip` or comes before it. At most 10,000 commits are searched, the nearest ones first; what was not
    /// found among them, or cannot be read, does not come before it.
    pub fn is_ancestor(&self, wanted: ObjectId, tip: ObjectId) -> bool {
        !self.find_ancestors(&BTreeSet::from([wanted]), tip, MOST_COMMITS).is_empty()
    }

    /// Returns which of the commits are `tip` or come before it. At most this many commits are searched, the nearest ones first, and no
    /// more once all are found.
    pub fn find_ancestors(&self, wanted: &BTreeSet<ObjectId>, tip: ObjectId, most: usize) -> BTreeSet<ObjectId> {
        let (mut waiting, mut seen, mut found) = (VecDeque::from([tip]), BTreeSet::new(), BTreeSet::new());
        while let Some(commit) = waiting.pop_front().filter(|_| found.len() < wanted.len()) {
            if wanted.contains(&commit) {
                found.insert(commit);
            }
            if found.len() < wanted.len() && seen.len() < most && seen.insert(commit) {
                let parents = self.objects.read(commit).ok().and_then(|object| object.commit_parents());
                waiting.extend(parents.unwrap_or_default());
            }
        }
        found
    }

    /// Returns the full name of the reference that has what was last seen of a reference of a remote repository, such as
    /// `refs/remotes/origin/main` for `refs/heads/main` of `origin`. `None` if it was never fetched.
    ///
    /// # Errors
    /// When a reference cannot be read.
    pub fn tracking_reference(&self, remote: &str, reference: &str) -> Result<Option<ReferenceName>, GitReadError> {
        let Some(name) = self.tracked_as(remote, reference) else { return Ok(None) };
        Ok(self.read(&name)?.map(|_| name))
    }

    /// Returns the name of the checked-out branch; `None` if no branch is checked out.
    ///
    /// # Errors
    /// When `HEAD` cannot be read.
    pub fn checked_out_branch(&self) -> Result<Option<String>, GitReadError> {
        let head = read_head_name(&self.git_directory)?;
        Ok(head.as_ref().and_then(|name| name.as_str().strip_prefix("refs/heads/")).map(str::to_owned))
    }

    /// Returns the full name of the reference that the checked-out branch follows; `None` if no branch is checked out, or it
    /// follows none.
    ///
    /// # Errors
    /// When `HEAD` cannot be read.
    pub fn upstream_of_head(&self) -> Result<Option<ReferenceName>, GitReadError> {
        Ok(self.checked_out_branch()?.and_then(|branch| self.upstream_name(&branch)))
    }

    /// Returns the remote repository of which a branch follows a branch. `None` if it follows none, or one of this repository.
    pub fn remote_of(&self, branch: &str) -> Option<String> {
        let remote = self.config.value("branch", Some(branch), "remote").filter(|remote| *remote != ".")?;
        Some(remote.to_owned())
    }

    /// Returns whether a branch follows the branch of a remote repository with its own name, which has what was pushed from here.
    pub fn follows_its_name(&self, branch: &str) -> bool {
        let merged = self.config.value("branch", Some(branch), "merge");
        self.remote_of(branch).is_some() && merged.and_then(|merged| merged.strip_prefix("refs/heads/")) == Some(branch)
    }

    /// Returns whether the configuration says that a branch, or without a name the checked-out one, follows another.
    ///
    /// # Errors
    /// When `HEAD` cannot be read.
    pub fn is_said_to_follow(&self, branch: Option<&str>) -> Result<bool, GitReadError> {
        let of_head = self.checked_out_branch()?;
        Ok(branch.or(of_head.as_deref()).is_some_and(|branch| self.config.value("branch", Some(branch), "merge").is_some()))
    }

    /// Returns whether a local branch has this name.
    ///
    /// # Errors
    /// When the reference cannot be read.
    pub fn is_branch(&self, name: &str) -> Result<bool, GitReadError> {
        match ReferenceName::parse(&format!("refs/heads/{name}")) {
            Ok(reference) => Ok(self.read(&reference)?.is_some()),
            Err(_) => Ok(false),
        }
    }

    /// Returns the reference that a branch follows, by the repository's configuration; `None` if it follows none.
    pub fn upstream_name(&self, branch: &str) -> Option<ReferenceName> {
        let remote = self.config.value("branch", Some(branch), "remote")?;
        let merged = self.config.value("branch", Some(branch), "merge")?;
        if remote == "." {
            return ReferenceName::parse(merged).ok();
        }
        self.tracked_as(remote, merged)
    }

    /// Returns the name under which `git fetch` keeps a reference of a remote repository.
    fn tracked_as(&self, remote: &str, merged: &str) -> Option<ReferenceName> {
        let tracked = |rule: &str| {
            let (from, to) = rule.trim_start_matches('+').split_once(':')?;
            match (from.split_once('*'), to.split_once('*')) {
                (Some((before, after)), Some((begin, end))) => {
                    let middle = merged.strip_prefix(before)?.strip_suffix(after)?;
                    Some(format!("{begin}{middle}{end}"))
                }
                (None, None) if from == merged => Some(to.to_owned()),
                _ => None,
            }
        };
        let name = self.config.all("remote", Some(remote), "fetch").find_map(tracked)?;
        ReferenceName::parse(&name).ok()
    }

    fn upstream_of(&self, name: &str) -> Result<ObjectId, RevisionError> {
        let no_upstream = || RevisionError::NoUpstream { branch: if name.is_empty() { "HEAD" } else { name }.to_owned() };
        let reference = match name {
            "" | "@" | "HEAD" => self.upstream_of_head()?,
            branch => self.upstream_name(branch.strip_prefix("refs/heads/").unwrap_or(branch)),
        };
        let reference = reference.ok_or_else(no_upstream)?;
        self.read(&reference)?.ok_or_else(no_upstream)
    }

    fn resolve_name(&self, name: &str) -> Result<ObjectId, RevisionError> {
        if matches!(name, "HEAD" | "@") {
            return self.head()?.ok_or(RevisionError::NothingCommitted);
        }
        if let Some(id) = ObjectId::parse(&name.to_ascii_lowercase()) {
            return match self.objects.read(id) {
                // A whole clone has every commit that anybody can mean, so the name was mistyped.
                Err(GitReadError::Object { problem: ObjectProblem::Missing, .. }) if !self.lacks_objects_by_design() => {
                    Err(RevisionError::Unknown { revision: name.to_owned() })
                }
                Err(error) => Err(error.into()),
                Ok(GitObject { .. }) => Ok(id),
            };
        }
        match self.find_reference(name)? {
            Some((_, id)) => Ok(id),
            None => self.find_abbreviated(name),
        }
    }

    /// Finds the reference that a name means. A name below `refs/` means this one alone.
    fn find_reference(&self, name: &str) -> Result<Option<(ReferenceName, ObjectId)>, RevisionError> {
        let places = if name.starts_with("refs/") { &WHOLE_NAME[..] } else { &PLACES[..] };
        let mut found = Vec::new();
        for place in places {
            let Ok(reference) = ReferenceName::parse(&place.replacen('*', name, 1)) else { continue };
            if let Some(id) = self.read(&reference)? {
                found.push((reference, id));
            }
        }
        let commit = |id: ObjectId| self.peel(id).map_or(id, |(commit, _)| commit);
        let Some((_, first)) = found.first() else { return Ok(None) };
        let is_one = found.iter().all(|(_, id)| commit(*id) == commit(*first));
        let abbreviated = match self.find_abbreviated(name) {
            Ok(id) if commit(id) != commit(*first) => Some(id.hex()),
            Ok(_) | Err(_) => None,
        };
        if is_one && abbreviated.is_none() {
            return Ok(found.into_iter().next());
        }
        let names = found.iter().map(|(reference, _)| reference.as_str().to_owned()).chain(abbreviated).collect();
        Err(RevisionError::SeveralMeanings { revision: name.to_owned(), names })
    }

    /// Reads a reference of this working tree or of the whole repository.
    fn read(&self, reference: &ReferenceName) -> Result<Option<ObjectId>, GitReadError> {
        let is_own = OF_ONE_WORKTREE.iter().any(|place| reference.as_str().starts_with(place));
        read_reference(if is_own { &self.git_directory } else { &self.common }, reference)
    }

    /// Returns the commit whose name begins with these digits. As in git, only commits and their tags count.
    fn find_abbreviated(&self, digits: &str) -> Result<ObjectId, RevisionError> {
        let digits = digits.to_ascii_lowercase();
        let unknown = || RevisionError::Unknown { revision: digits.clone() };
        if digits.len() < SHORTEST_NAME || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        let candidates = self.objects.find_abbreviated(&digits, MOST_CANDIDATES)?;
        let mut commits = candidates.into_iter().filter(|id| self.peel(*id).is_ok());
        match (commits.next(), commits.next()) {
            (None, _) => Err(unknown()),
            (Some(commit), None) => Ok(commit),
            (Some(_), Some(_)) => Err(RevisionError::Ambiguous { revision: digits }),
        }
    }

    fn take(&self, from: ObjectId, step: RevisionStep) -> Result<ObjectId, RevisionError> {
        let (times, number) = match step {
            RevisionStep::Ancestor(times) => (times, 1),
            RevisionStep::Parent(number) => (u32::from(number > 0), number),
        };
        let mut commit = self.peel(from)?.0;
        for _ in 0..times {
            let parents = self.objects.read(commit)?.commit_parents().unwrap_or_default();
            let parent = number.checked_sub(1).and_then(|position| parents.get(position));
            commit = *parent.ok_or_else(|| RevisionError::NoParent { commit: commit.hex(), number })?;
        }
        Ok(commit)
    }
}

/// Whether a revision asks for the upstream of the branch that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    Asked,
    NotAsked,
}

/// Splits a revision into a name, `@{upstream}`, and the steps from there.
fn split(revision: &str) -> Result<(&str, Upstream, Vec<RevisionStep>), RevisionError> {
    let wrong = || RevisionError::Syntax { revision: revision.chars().take(100).collect() };
    if revision.is_empty() || revision.len() > LONGEST {
        return Err(wrong());
    }
    let end = revision.find(['~', '^']).unwrap_or(revision.len());
    let (named, mut rest) = revision.split_at(end);
    let (name, upstream) = match named.find("@{") {
        None => (named, Upstream::NotAsked),
        Some(start) => match named[start..].to_ascii_lowercase().as_str() {
            "@{upstream}" | "@{u}" => (&named[..start], Upstream::Asked),
            _ => return Err(wrong()),
        },
    };
    if name.is_empty() && upstream == Upstream::NotAsked {
        return Err(wrong());
    }
    let mut steps = Vec::new();
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        if let Some(after) = rest.strip_prefix("{}").or_else(|| rest.strip_prefix("{commit}")).filter(|_| sign == '^') {
            rest = after;
            steps.push(RevisionStep::Parent(0));
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = if digits == 0 { 1 } else { rest[..digits].parse().map_err(|_| wrong())? };
        rest = &rest[digits..];
        steps.push(match sign {
            '~' if number <= MOST_GENERATIONS => RevisionStep::Ancestor(number),
            '^' => RevisionStep::Parent(number as usize),
            _ => return Err(wrong()),
        });
    }
    Ok((name, upstream, steps))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_revision_is_a_name_and_steps() {
        use RevisionStep::{Ancestor, Parent};
        let found = |text| split(text).ok().map(|(name, upstream, steps)| (name.to_owned(), upstream, steps));
        let expected = |name: &str, upstream, steps: &[RevisionStep]| Some((name.to_owned(), upstream, steps.to_vec()));
        assert_eq!(found("HEAD"), expected("HEAD", Upstream::NotAsked, &[]));
        assert_eq!(found("v1^{}~3^2^"), expected("v1", Upstream::NotAsked, &[Parent(0), Ancestor(3), Parent(2), Parent(1)]));
        assert_eq!(found("a/b@{U}~"), expected("a/b", Upstream::Asked, &[Ancestor(1)]));
        assert_eq!(found("@{upstream}"), expected("", Upstream::Asked, &[]));
        for bad in ["", "~1", "a@{1}", "a@{u}x", "a~99999999999", "a^{tree}", "a^{", "a~100001"] {
            assert_eq!(found(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_revision_makes_it_panic(text in "[a@{}~^0-9/.é]{0,20}") {
            let _ = split(&text);
        }
    }
}
