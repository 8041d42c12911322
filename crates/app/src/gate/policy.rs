//! The policy of `proctor gate`, and the trusted side that it comes from: a commit, a file, or proctor's defaults. It never comes from
//! the commit that is judged (P8).

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::errors::{from_git_read_error, from_revision_error};
use crate::gate::plans;
use crate::project::setup::{self, CONFIGURATION_FILE};
use proctor_evidence::read_regular_file;
use proctor_git::{GitStorage, ObjectId, ReferenceName, RevisionError, find_git_location};
use proctor_model::{CommandExit, GatePolicy};
use proctor_plan::config::{self, Configuration, ENV_FILE, lowered};
use proctor_plan::spec::{self, StatementSigners};
use proctor_project::{
    AcceptedCommit, CommittedFile, FollowedCommit, ProjectRepository, TrustedTip, was_moved_here, was_pushed_here,
};
use proctor_tree::CommitRefusal;

/// The largest policy file, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// How many commits before the judged one are searched for accepted ones.
const MOST_BEFORE: usize = 10_000;

/// Said where there is no trusted commit to compare with, so that only proctor's defaults are, and the commit's `[gate]` is weaker than
/// they are.
pub(super) const WEAKER_THAN_DEFAULTS: &str = "its [gate] accepts more than proctor's defaults, and nothing trusted is known";

/// The side that a policy comes from.
pub enum Trusted {
    /// A commit: the upstream of the branch, the default branch of the remote repository, or the one that was named.
    Commit { name: String, commit: ObjectId, configuration: Box<Configuration>, why: TrustedBecause },
    /// A file that was named.
    File { path: PathBuf, configuration: Box<Configuration> },
    /// Nothing was named, and neither an upstream nor a default branch of a remote repository is known.
    Defaults,
}

/// For what a commit is judged, which decides what is trusted where nothing is named.
#[derive(Debug, Clone, Copy)]
pub enum AskedFor<'a> {
    /// A branch with its upstream; a name of no branch means the one that is checked out.
    Branch(&'a str),
    /// A push.
    Push {
        /// The name or the address of the remote repository, as git says it.
        remote: Option<&'a str>,
        /// The full name of the reference there.
        target: &'a str,
        /// The branch here, as in [`Self::Branch`].
        branch: &'a str,
    },
}

/// Why a commit is the trusted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedBecause {
    /// A person named it.
    Named,
    /// The branch follows it.
    Upstream,
    /// No branch is checked out, or it follows none, and this is the default branch of the remote repository.
    DefaultBranch,
    /// The branch follows its own copy, and this is the default branch of the remote repository.
    NotTheCopy,
    /// The push goes there.
    Target,
    /// The push creates a branch or a tag that the remote repository is not known to have: its default branch is trusted instead.
    NewTarget,
}

/// A commit's configuration, compared with the trusted side.
pub(super) struct Compared {
    pub(super) policy: GatePolicy,
    /// The configuration whose settings decide which files belong to the tree.
    pub(super) rules: Configuration,
    /// The settings, checks, prerequisites and specifications with which the commit asks for less than the trusted side.
    pub(super) lowered: Vec<String>,
}

impl Trusted {
    /// Returns where the policy comes from, in words. `judged` is the commit that is judged.
    pub(super) fn words(&self, judged: ObjectId) -> String {
        match self {
            Self::Commit { name, commit, why, .. } => {
                let because = match why {
                    TrustedBecause::Named | TrustedBecause::Upstream => "",
                    TrustedBecause::DefaultBranch => ", the remote's default branch, because there is no upstream",
                    TrustedBecause::NotTheCopy => ", the remote's default branch, because the upstream is the branch's own copy",
                    TrustedBecause::Target => ", to which the push goes",
                    TrustedBecause::NewTarget => ", the remote's default branch, because the push goes to something new",
                };
                let same = if *commit == judged { "; it is the judged commit itself" } else { "" };
                format!("[gate] of {name} ({}){because}{same}", &commit.hex()[..12])
            }
            Self::File { path, .. } => format!("[gate] of the file `{}`", path.display()),
            Self::Defaults => {
                "proctor's defaults and what the commit's own [gate] adds: git knows no upstream here; `--policy-from REV` names a commit \
                 that you trust"
                    .to_owned()
            }
        }
    }

    /// Returns whether nothing trusted stands beside the judged commit: nothing is known, or the branch of a remote repository is the commit
    /// itself or was moved here, without a fetch or a push.
    pub(super) fn says_nothing_of(&self, judged: ObjectId, storage: &GitStorage) -> bool {
        match self {
            Self::Commit { name, commit, why, .. } => {
                let is_moved = || name.starts_with("refs/remotes/") && was_moved_here(storage, name, *commit);
                match why {
                    TrustedBecause::Named => false,
                    // A branch that has the commit already gets nothing by the push.
                    TrustedBecause::Target => is_moved(),
                    TrustedBecause::Upstream
                    | TrustedBecause::DefaultBranch
                    | TrustedBecause::NotTheCopy
                    | TrustedBecause::NewTarget => *commit == judged || is_moved(),
                }
            }
            Self::File { .. } => false,
            Self::Defaults => true,
        }
    }

    /// Returns whether this is what a fetch brought of the branch that a person said is followed.
    pub(super) fn is_followed(&self, followed: Option<&FollowedCommit>) -> bool {
        let Self::Commit { name, commit, .. } = self else { return false };
        followed.is_some_and(|followed| followed.name == *name && followed.commit == *commit)
    }

    /// Returns the branch of a remote repository that is trusted; `None` if a person named it or moved it here, or it is one's own copy.
    pub(super) fn fetched_tip(&self, storage: &GitStorage) -> Option<TrustedTip> {
        let Self::Commit { name, commit, why, .. } = self else { return None };
        let is_own = *why == TrustedBecause::Target && was_pushed_here(storage, name);
        let is_named = is_own || *why == TrustedBecause::Named || !name.starts_with("refs/remotes/");
        let is_fetched = !is_named && !was_moved_here(storage, name, *commit);
        is_fetched.then(|| TrustedTip { name: name.clone(), commit: *commit })
    }

    /// Returns the words for a commit that stands in the place of a trusted one because it was accepted last.
    pub(super) fn beside_words(&self) -> String {
        let commit = self.commit().map(|commit| commit.hex()[..12].to_owned()).unwrap_or_default();
        format!("; compared with {commit}, which was accepted last in this store")
    }

    pub(super) fn is_because(&self, of: TrustedBecause) -> bool {
        matches!(self, Self::Commit { why, .. } if *why == of)
    }

    /// Returns whether whoever asks named the trusted commit.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Self::Commit { why: TrustedBecause::Named, .. })
    }

    /// Returns the commit that the gate's policy comes from; `None` if it comes from a file or from proctor's defaults.
    pub(super) fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Commit { commit, .. } => Some(*commit),
            Self::File { .. } | Self::Defaults => None,
        }
    }
}

/// Finds the trusted side: what `named` names; or else what a push goes to, the upstream of the branch, or the remote's default branch.
pub fn trusted(
    repository: &ProjectRepository,
    (asked_for, judged): (AskedFor<'_>, ObjectId),
    named: Option<&str>,
    (environment, root): (&Environment, &Path),
) -> Result<Trusted, CommandError> {
    let storage = &repository.storage;
    let Some(named) = named else {
        let Some((name, why)) = trusted_reference(storage, asked_for, judged)? else { return Ok(Trusted::Defaults) };
        let commit = storage.resolve(name.as_str()).map_err(|error| {
            from_revision_error(storage, &error)
                .hint("fetch the upstream of the branch, or name what you trust: --policy-from REV|FILE")
        })?;
        return of_commit(repository, name.as_str().to_owned(), commit, why);
    };
    let path = environment.absolute(Path::new(named));
    let is_file = path.symlink_metadata().is_ok();
    match storage.resolve(named) {
        // Whoever can put a file into the checkout, or a tag into the repository, must not choose which of the two is meant.
        Ok(_) if is_file => Err(CommandError::new(CommandExit::Usage, format!("`{named}` is a file and names a commit too"))
            .hint(format!("write `./{named}` for the file, or the full name of the reference, such as `refs/heads/{named}`"))),
        Ok(commit) => {
            let name = storage.with_full_name(named).map_err(|error| from_revision_error(storage, &error))?;
            refuse_instead_of_remote(storage, named, &name)?;
            of_commit(repository, name, commit, TrustedBecause::Named)
        }
        Err(RevisionError::Unknown { .. } | RevisionError::Syntax { .. }) if is_file => {
            refuse_own_file(&path, root)?;
            of_file(path)
        }
        Err(error) => Err(from_revision_error(storage, &error).hint("a file can be named too")),
    }
}

/// Refuses a tag or a branch that is called like a branch of a remote repository which is not fetched: whoever pushed it must not choose
/// the policy.
fn refuse_instead_of_remote(storage: &GitStorage, named: &str, full: &str) -> Result<(), CommandError> {
    let is_of_remote = full == named || full.starts_with("refs/remotes/") || !storage.begins_with_remote(named);
    if is_of_remote {
        return Ok(());
    }
    let message = format!("`{named}` is no branch of the remote repository here, but {full}");
    Err(CommandError::new(CommandExit::Usage, message)
        .hint(format!("fetch the branch and name `refs/remotes/{named}`; or name `{full}` if you mean it")))
}

/// Returns the reference of a remote repository that is trusted; `None` if none is known.
fn trusted_reference(
    storage: &GitStorage,
    asked_for: AskedFor<'_>,
    judged: ObjectId,
) -> Result<Option<(ReferenceName, TrustedBecause)>, CommandError> {
    let failed = |error| from_git_read_error(storage, &error);
    let revision = match asked_for {
        AskedFor::Branch(revision) => revision,
        AskedFor::Push { remote, target, branch } => {
            let known = storage.remote_named(remote);
            if let Some(remote) = &known
                && let Some(name) = storage.tracking_reference(remote, target).map_err(failed)?
            {
                return Ok(Some((name, TrustedBecause::Target)));
            }
            if let Some(name) = default_branch(storage, known)? {
                return Ok(Some((name, TrustedBecause::NewTarget)));
            }
            branch
        }
    };
    let revision = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let branch = match storage.is_branch(revision).map_err(failed)? {
        true => Some(revision.to_owned()),
        false => storage.checked_out_branch().map_err(failed)?,
    };
    if let Some(branch) = &branch
        && let Some(upstream) = storage.upstream_name(branch)
    {
        return upstream_or_default(storage, (branch, upstream), judged).map(Some);
    }
    if branch.is_some() && storage.is_said_to_follow(branch.as_deref()).map_err(failed)? {
        let message = "the branch follows one of a remote repository that is not fetched here";
        return Err(CommandError::new(CommandExit::Usage, message).hint(
            "`git remote set-branches --add origin NAME` and `git fetch` bring it, or name what you trust: --policy-from REV|FILE",
        ));
    }
    Ok(default_branch(storage, None)?.map(|branch| (branch, TrustedBecause::DefaultBranch)))
}

/// Returns what is trusted for a branch that follows `upstream`: the upstream, or where that is the branch's own copy, the default branch
/// of a remote repository.
fn upstream_or_default(
    storage: &GitStorage,
    (branch, upstream): (&str, ReferenceName),
    judged: ObjectId,
) -> Result<(ReferenceName, TrustedBecause), CommandError> {
    let default = default_branch(storage, storage.remote_of(branch))?;
    if default.as_ref() == Some(&upstream) {
        return Ok((upstream, TrustedBecause::Upstream));
    }
    // Whoever pushes the branch decides what its copy says. A copy can have any name, and can be in this repository too, so it is known by
    // the judged commit in it, or by a push from here.
    let tip = storage.resolve(upstream.as_str());
    let has_judged = tip.as_ref().is_ok_and(|tip| storage.is_ancestor(judged, *tip));
    let is_copy = || storage.follows_its_name(branch) || was_pushed_here(storage, upstream.as_str());
    match default {
        Some(default) if has_judged || is_copy() => Ok((default, TrustedBecause::NotTheCopy)),
        // Where nobody else has the repository, nobody else can have changed the upstream.
        None if tip.is_ok() && (has_judged || is_copy()) && storage.has_remotes() => {
            let message = format!(
                "{} is the branch's own copy, which would choose its own policy, and the default branch of the remote is not known",
                upstream.as_str()
            );
            Err(CommandError::new(CommandExit::PersonNeeded, message)
                .hint("`git remote set-head origin -a` asks the remote for it; or name what you trust: --policy-from REV|FILE"))
        }
        Some(_) | None => Ok((upstream, TrustedBecause::Upstream)),
    }
}

/// Returns the default branch of a remote repository, or else of `origin` or the only one. Where neither says which branch that is, `main`
/// or `master` is taken for it. `None` if they have none of these.
fn default_branch(storage: &GitStorage, remote: Option<String>) -> Result<Option<ReferenceName>, CommandError> {
    let failed = |error| from_git_read_error(storage, &error);
    let remotes = [remote, storage.remote_named(None)];
    for remote in remotes.iter().flatten() {
        if let Some(branch) = storage.default_branch_of_remote(remote).map_err(failed)? {
            return Ok(Some(branch));
        }
    }
    for remote in remotes.iter().flatten() {
        if let Some(branch) = storage.usual_default_branch(remote).map_err(failed)? {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

/// Refuses a file of a working tree of the project's own repository: what is checked out there may be of the commit that is judged.
fn refuse_own_file(path: &Path, root: &Path) -> Result<(), CommandError> {
    if !is_in_own_repository(path, root) {
        return Ok(());
    }
    let message =
        format!("`{}` is in a working tree of this repository, where a commit can choose its own policy", path.display());
    Err(CommandError::new(CommandExit::Usage, message)
        .hint("keep the file outside of the repository, or name a commit that has it as `proctor.toml`: --policy-from REV"))
}

/// Returns whether a file, or what a link leads to, is in any working tree of the project's own repository.
pub(super) fn is_in_own_repository(path: &Path, root: &Path) -> bool {
    let own = find_git_location(root).map(|location| location.common_directory);
    let target = path.canonicalize().ok();
    let above =
        [path.parent().and_then(|above| above.canonicalize().ok()), target.and_then(|target| Some(target.parent()?.to_owned()))];
    let is_own = |above: &PathBuf| own.is_some() && find_git_location(above).map(|location| location.common_directory) == own;
    above.iter().flatten().any(is_own)
}

/// Compares a commit's configuration, plan and specifications with the trusted side.
pub(super) fn compare(repository: &ProjectRepository, commit: ObjectId, trusted: &Trusted) -> Result<Compared, CommandError> {
    let own = configuration_of(repository, commit)?;
    let (configuration, base) = match trusted {
        Trusted::Commit { commit, configuration, .. } => (configuration, *commit),
        Trusted::File { configuration, .. } => {
            // A file without checks says only what the gate asks for.
            let lowered = if configuration.checks.is_empty() { Vec::new() } else { lowered(configuration, &own) };
            return Ok(Compared { policy: configuration.gate.clone(), rules: own, lowered });
        }
        Trusted::Defaults => {
            let defaults = Configuration::default().gate;
            if own.gate.asks_no_less_than(&defaults) {
                return Ok(Compared { policy: own.gate.clone(), rules: own, lowered: Vec::new() });
            }
            let lowered = vec![WEAKER_THAN_DEFAULTS.to_owned()];
            return Ok(Compared { policy: defaults, rules: own, lowered });
        }
    };
    let policy = configuration.gate.clone();
    let mut names = Vec::new();
    if base != commit {
        names = lowered(configuration, &own);
        let sides = [(base, configuration.as_ref()), (commit, &own)];
        names.extend(plans::lowered_in_plans(repository, sides, &policy)?);
        for (key, file) in compared_files(configuration) {
            let there =
                |commit| repository.file_of(commit, file).map_err(|error| from_git_read_error(&repository.storage, &error));
            let (before, now) = (there(base)?, there(commit)?);
            // What a link or a submodule leads to is not known.
            if before != now || before == CommittedFile::Other {
                names.push(format!("{key}: `{file}`"));
            }
        }
        names.sort();
        names.dedup();
    }
    // An input names more content, so the commit's own inputs are no weaker rules. One outside of the repository is in `lowered`.
    let rules = Configuration { inputs: own.inputs, ..configuration.as_ref().clone() };
    Ok(Compared { policy, rules, lowered: names })
}

/// Returns the settings that name files of keys or of variables, with the files. Their content decides like a setting.
fn compared_files(configuration: &Configuration) -> impl Iterator<Item = (&'static str, &str)> {
    let approval = configuration.approval.allowed_signers.as_ref().map(|file| file.value.as_str());
    let files = [
        ("approval.allowed_signers", approval),
        ("gate.signers", configuration.gate.signers.as_deref()),
        // An absolute path is no file of a commit.
        (ENV_FILE, configuration.environment.env_file.as_deref().filter(|path| !path.starts_with('/'))),
    ];
    files.into_iter().filter_map(|(key, file)| Some((key, file?)))
}

/// Returns why the commit or the trusted one cannot be judged by its `proctor.toml`: it is no regular file. A run reads what a link
/// leads to.
pub(super) fn odd_configuration(
    repository: &ProjectRepository,
    commit: ObjectId,
    trusted: &Trusted,
) -> Result<Option<CommitRefusal>, CommandError> {
    for commit in [Some(commit), trusted.commit()].into_iter().flatten() {
        let found = repository.file_of(commit, CONFIGURATION_FILE);
        if found.map_err(|error| from_git_read_error(&repository.storage, &error))? == CommittedFile::Other {
            let commit = commit.hex()[..12].to_owned();
            return Ok(Some(CommitRefusal::OddConfiguration { name: CONFIGURATION_FILE, commit }));
        }
    }
    Ok(None)
}

/// Returns the keys whose statements count, as [`signers`] does: those of the commit that was accepted last, if that stands beside the
/// judged one. A branch that somebody moved here does not say who may accept that.
pub(super) fn signers_beside(
    repository: &ProjectRepository,
    (trusted, last): (&Trusted, Option<&Trusted>),
    policy: &GatePolicy,
) -> Result<StatementSigners, CommandError> {
    match last {
        Some(last @ Trusted::Commit { configuration, .. }) if trusted.commit().is_some() => {
            signers(repository, last, &configuration.gate)
        }
        Some(_) | None => signers(repository, trusted, policy),
    }
}

/// Returns the keys of the policy's file of signers, as the trusted commit has it. A policy of a file names a file in the directory of
/// that file.
pub fn signers(repository: &ProjectRepository, trusted: &Trusted, policy: &GatePolicy) -> Result<StatementSigners, CommandError> {
    let Some(file) = &policy.signers else { return Ok(StatementSigners::default()) };
    let wrong = |message: String| {
        let hint = "a line of it is what `proctor key export --ssh` prints for the store that attests";
        CommandError::new(CommandExit::SpecificationWrong, format!("`signers` of `[gate]`: {message}")).hint(hint)
    };
    let bytes = match trusted {
        Trusted::Commit { commit, .. } => {
            let failed = |error| from_git_read_error(&repository.storage, &error);
            match repository.file_of(*commit, file).map_err(failed)? {
                CommittedFile::Regular(blob) => Some(repository.storage.blob(blob).map_err(failed)?),
                CommittedFile::Absent | CommittedFile::Other => None,
            }
        }
        Trusted::File { path, .. } => read_regular_file(&path.with_file_name(file), LONGEST_FILE).ok(),
        Trusted::Defaults => None,
    };
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| wrong(format!("the trusted side has no text file `{file}`")))?;
    spec::statement_signers(&text).map_err(|(number, why)| wrong(format!("`{file}`:{number}: {why}")))
}

fn of_commit(
    repository: &ProjectRepository,
    name: String,
    commit: ObjectId,
    why: TrustedBecause,
) -> Result<Trusted, CommandError> {
    let configuration = Box::new(configuration_of(repository, commit)?);
    Ok(Trusted::Commit { name, commit, configuration, why })
}

/// Returns the commit that stands beside a judged one where nothing trusted does: the newest that was accepted in this store of its branch,
/// else of its history, else of all. `None` if there is none, or the judged one was accepted itself for its branch. What another branch had
/// accepted is compared: it may lack what this one has.
///
/// # Errors
/// The beginning of its name, when the repository does not have it any more, or its configuration cannot be read.
pub(super) fn accepted_beside(
    repository: &ProjectRepository,
    accepted: &[AcceptedCommit],
    (judged, branch): (ObjectId, &str),
) -> Result<Option<Trusted>, String> {
    let mut of_branch = accepted.iter().filter(|one| one.branch == branch);
    if of_branch.clone().any(|one| one.commit == judged) {
        return Ok(None);
    }
    let of_history = || {
        let commits: BTreeSet<ObjectId> = accepted.iter().map(|one| one.commit).collect();
        let before = repository.storage.find_ancestors(&commits, judged, MOST_BEFORE);
        accepted.iter().find(|one| before.contains(&one.commit))
    };
    let last = of_branch.next().or_else(of_history).or_else(|| accepted.first());
    let Some(last) = last.filter(|last| last.commit != judged) else { return Ok(None) };
    let of_last = of_commit(repository, String::new(), last.commit, TrustedBecause::Upstream);
    of_last.map(Some).map_err(|_unreadable| last.commit.hex()[..12].to_owned())
}

fn of_file(path: PathBuf) -> Result<Trusted, CommandError> {
    let bytes = read_regular_file(&path, LONGEST_FILE).map_err(|error| {
        let exit = if error.kind() == ErrorKind::NotFound { CommandExit::Usage } else { CommandExit::SpecificationWrong };
        CommandError::caused(exit, format!("`{}` cannot be read", path.display()), &error)
            .hint("name a text file that you may read")
    })?;
    let configuration = Box::new(parse(&bytes, &path.display().to_string())?);
    Ok(Trusted::File { path, configuration })
}

/// Reads the project's `proctor.toml` in a commit. Without one, the defaults hold. [`odd_configuration`] says whether it is no regular
/// file, of which nothing is read here.
pub(super) fn configuration_of(repository: &ProjectRepository, commit: ObjectId) -> Result<Configuration, CommandError> {
    let bytes = repository.configuration_of(commit).map_err(|error| from_git_read_error(&repository.storage, &error))?;
    let name = format!("{CONFIGURATION_FILE} of {}", &commit.hex()[..12]);
    let mut configuration = bytes.map_or_else(|| Ok(Configuration::default()), |bytes| parse(&bytes, &name))?;
    let below = repository.below.as_path();
    configuration.inputs.levels_in_repository = below.components().count();
    Ok(configuration)
}

fn parse(bytes: &[u8], name: &str) -> Result<Configuration, CommandError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        CommandError::caused(CommandExit::SpecificationWrong, format!("`{name}` is not UTF-8"), &error)
            .hint("save the file in UTF-8")
    })?;
    config::read(text, name).map_err(|problems| setup::from_problems(&problems))
}
