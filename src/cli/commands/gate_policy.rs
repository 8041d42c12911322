//! The policy of `proctor gate`, and the trusted side that it comes from: a commit, a file, or proctor's defaults. It never comes from
//! the commit that is judged (P8).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::cli::commands::gate_errors::{from_git_read_error, from_revision_error};
use crate::cli::commands::gate_plans;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup::{self, CONFIGURATION_FILE};
use crate::config::{self, Configuration, lowered};
use crate::evidence::read_regular_file;
use crate::git::{ObjectId, RevisionError};
use crate::model::{AllowedSigner, CommandExit, GatePolicy};
use crate::project::ProjectRepository;
use crate::spec;

/// The largest policy file, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The side that a policy comes from.
pub(super) enum Trusted {
    /// A commit: the upstream of the branch, the default branch of the remote repository, or the one that was named.
    Commit { name: String, commit: ObjectId, configuration: Box<Configuration>, why: TrustedBecause },
    /// A file that was named.
    File { path: PathBuf, configuration: Box<Configuration> },
    /// Nothing was named, and neither an upstream nor a default branch of a remote repository is known.
    Defaults,
}

/// Why a commit is the trusted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustedBecause {
    /// A person named it.
    Named,
    /// The branch follows it.
    Upstream,
    /// No branch is checked out, or it follows none, and this is the default branch of the remote repository.
    DefaultBranch,
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
    /// Returns where the policy comes from.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Commit { name, commit, why, .. } => {
                let because = match why {
                    TrustedBecause::Named | TrustedBecause::Upstream => "",
                    TrustedBecause::DefaultBranch => ", the remote's default branch, because there is no upstream",
                };
                format!("[gate] of {name} ({}){because}", &commit.hex()[..12])
            }
            Self::File { path, .. } => format!("[gate] of the file `{}`", path.display()),
            Self::Defaults => {
                "proctor's defaults, because no upstream and no default branch of a remote is known; --policy-from names what you trust"
                    .to_owned()
            }
        }
    }

    /// Returns the trusted commit, if the policy comes from one.
    pub(super) fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Commit { commit, .. } => Some(*commit),
            Self::File { .. } | Self::Defaults => None,
        }
    }
}

/// Finds the trusted side: what `named` names, or else the upstream of the branch, or else the remote's default branch.
pub(super) fn trusted(
    repository: &ProjectRepository,
    revision: &str,
    named: Option<&str>,
    environment: &Environment,
) -> Result<Trusted, CommandError> {
    let storage = &repository.storage;
    let failed = |error| from_git_read_error(storage, &error);
    let Some(named) = named else {
        let is_branch = storage.is_branch(revision).map_err(failed)?;
        let upstream = if is_branch { storage.upstream_name(revision) } else { storage.upstream_of_head().map_err(failed)? };
        let (name, why) = match upstream {
            Some(upstream) => (upstream, TrustedBecause::Upstream),
            None if storage.is_said_to_follow(is_branch.then_some(revision)).map_err(failed)? => {
                let message = "the branch follows one of a remote repository that is not fetched here";
                return Err(CommandError::new(CommandExit::Usage, message)
                    .hint("`git remote set-branches --add origin NAME` and `git fetch` bring it, or name what you trust: --policy-from REV|FILE"));
            }
            None => match storage.default_branch_of_remote().map_err(failed)? {
                Some(branch) => (branch, TrustedBecause::DefaultBranch),
                None => return Ok(Trusted::Defaults),
            },
        };
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
        Ok(commit) => of_commit(repository, named.to_owned(), commit, TrustedBecause::Named),
        Err(RevisionError::Unknown { .. } | RevisionError::Syntax { .. }) if is_file => of_file(path),
        Err(error) => Err(from_revision_error(storage, &error).hint("a file can be named too")),
    }
}

/// Compares a commit's configuration, plan and specifications with the trusted side.
pub(super) fn compare(
    (repository, root): (&ProjectRepository, &Path),
    commit: ObjectId,
    trusted: &Trusted,
) -> Result<Compared, CommandError> {
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
            let lowered = if own.gate == defaults { Vec::new() } else { vec!["gate".to_owned()] };
            return Ok(Compared { policy: defaults, rules: own, lowered });
        }
    };
    let policy = configuration.gate.clone();
    let mut names = Vec::new();
    if base != commit {
        names = lowered(configuration, &own);
        let sides = [(base, configuration.as_ref()), (commit, &own)];
        names.extend(gate_plans::lowered_in_plans((repository, root), sides, &policy)?);
        for (key, file) in files_of_keys(configuration) {
            let blob =
                |commit| repository.blob_of(commit, file).map_err(|error| from_git_read_error(&repository.storage, &error));
            if blob(base)? != blob(commit)? {
                names.push(format!("{key}: `{file}`"));
            }
        }
        names.sort();
        names.dedup();
    }
    Ok(Compared { policy, rules: configuration.as_ref().clone(), lowered: names })
}

/// Returns the settings that name files of keys, with the files.
fn files_of_keys(configuration: &Configuration) -> impl Iterator<Item = (&'static str, &str)> {
    let approval = configuration.approval.allowed_signers.as_ref().map(|file| ("approval.allowed_signers", file.value.as_str()));
    approval.into_iter().chain(configuration.gate.signers.as_deref().map(|file| ("gate.signers", file)))
}

/// Returns the keys of the policy's file of signers, as the trusted commit has it. A policy of a file names a file in the directory of
/// that file.
pub(super) fn signers(
    repository: &ProjectRepository,
    trusted: &Trusted,
    policy: &GatePolicy,
) -> Result<Vec<AllowedSigner>, CommandError> {
    let Some(file) = &policy.signers else { return Ok(Vec::new()) };
    let wrong = |message: String| {
        let hint = "a line of it is `NAME ssh-ed25519 AAAA…`: what stands in `~/.ssh/id_ed25519.pub` behind a name";
        CommandError::new(CommandExit::SpecificationWrong, format!("`signers` of `[gate]`: {message}")).hint(hint)
    };
    let bytes = match trusted {
        Trusted::Commit { commit, .. } => {
            let failed = |error| from_git_read_error(&repository.storage, &error);
            let blob = repository.blob_of(*commit, file).map_err(failed)?;
            blob.map(|blob| repository.storage.blob(blob)).transpose().map_err(failed)?
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

fn of_file(path: PathBuf) -> Result<Trusted, CommandError> {
    let bytes = read_regular_file(&path, LONGEST_FILE).map_err(|error| {
        let exit = if error.kind() == ErrorKind::NotFound { CommandExit::Usage } else { CommandExit::SpecificationWrong };
        CommandError::caused(exit, format!("`{}` cannot be read", path.display()), &error)
            .hint("name a text file that you may read")
    })?;
    let configuration = Box::new(parse(&bytes, &path.display().to_string())?);
    Ok(Trusted::File { path, configuration })
}

/// Reads the project's `proctor.toml` in a commit. Without one, the defaults hold.
pub(super) fn configuration_of(repository: &ProjectRepository, commit: ObjectId) -> Result<Configuration, CommandError> {
    let bytes = repository.configuration_of(commit).map_err(|error| from_git_read_error(&repository.storage, &error))?;
    let name = format!("{CONFIGURATION_FILE} of {}", &commit.hex()[..12]);
    bytes.map_or_else(|| Ok(Configuration::default()), |bytes| parse(&bytes, &name))
}

fn parse(bytes: &[u8], name: &str) -> Result<Configuration, CommandError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        CommandError::caused(CommandExit::SpecificationWrong, format!("`{name}` is not UTF-8"), &error)
            .hint("save the file in UTF-8")
    })?;
    config::read(text, name).map_err(|problems| setup::from_problems(&problems))
}
