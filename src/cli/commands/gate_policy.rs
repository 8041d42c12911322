//! The policy of `proctor gate`, and the trusted side that it comes from: a commit, a file, or proctor's defaults. It never comes from
//! the commit that is judged (P8).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::cli::commands::gate::{from_git_read_error, from_revision_error};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup::{self, CONFIGURATION_FILE};
use crate::config::{self, Configuration, lowered};
use crate::evidence::read_regular_file;
use crate::git::{GitReadError, ObjectId, RevisionError};
use crate::model::{CommandExit, GatePolicy};
use crate::project::ProjectRepository;

/// The largest policy file, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The side that a policy comes from.
pub(super) enum Trusted {
    /// A commit: the upstream of the branch, or the one that was named.
    Commit { name: String, commit: ObjectId, configuration: Box<Configuration> },
    /// A file that was named.
    File { path: PathBuf, configuration: Box<Configuration> },
    /// The branch has no upstream, and nothing was named.
    Defaults,
}

/// A commit's configuration, compared with the trusted side.
pub(super) struct Compared {
    pub(super) policy: GatePolicy,
    /// The configuration whose settings decide which files belong to the tree.
    pub(super) rules: Configuration,
    /// The settings, checks and prerequisites with which the commit asks for less than the trusted side.
    pub(super) lowered: Vec<String>,
}

impl Trusted {
    /// Returns where the policy comes from.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Commit { name, commit, .. } => format!("[gate] of {name} ({})", &commit.hex()[..12]),
            Self::File { path, .. } => format!("[gate] of the file `{}`", path.display()),
            Self::Defaults => {
                "proctor's defaults, because the branch has no upstream; --policy-from names what you trust".to_owned()
            }
        }
    }
}

/// Finds the trusted side: what `named` names, or else the upstream of the branch.
pub(super) fn trusted(
    repository: &ProjectRepository,
    revision: &str,
    named: Option<&str>,
    environment: &Environment,
) -> Result<Trusted, CommandError> {
    let storage = &repository.storage;
    let Some(named) = named else {
        let is_branch = storage.is_branch(revision).map_err(|error| from_git_read_error(&error))?;
        let upstream = if is_branch {
            storage.upstream_name(revision)
        } else {
            storage.upstream_of_head().map_err(|error| from_git_read_error(&error))?
        };
        let Some(upstream) = upstream else {
            let branch = is_branch.then_some(revision);
            if storage.is_said_to_follow(branch).map_err(|error| from_git_read_error(&error))? {
                let message = "the branch follows one of a remote repository that is not fetched here";
                return Err(CommandError::new(CommandExit::Usage, message)
                    .hint("`git remote set-branches --add origin NAME` and `git fetch` bring it, or name what you trust: --policy-from REV|FILE"));
            }
            return Ok(Trusted::Defaults);
        };
        let commit = storage.resolve(upstream.as_str()).map_err(|error| {
            from_revision_error(&error).hint("fetch the upstream of the branch, or name what you trust: --policy-from REV|FILE")
        })?;
        return of_commit(repository, upstream.as_str().to_owned(), commit);
    };
    let path = environment.absolute(Path::new(named));
    let is_file = path.symlink_metadata().is_ok();
    match storage.resolve(named) {
        // Whoever can put a file into the checkout, or a tag into the repository, must not choose which of the two is meant.
        Ok(_) if is_file => Err(CommandError::new(CommandExit::Usage, format!("`{named}` is a file and names a commit too"))
            .hint(format!("write `./{named}` for the file, or the full name of the reference, such as `refs/heads/{named}`"))),
        Ok(commit) => of_commit(repository, named.to_owned(), commit),
        Err(RevisionError::Unknown { .. } | RevisionError::Syntax { .. }) if is_file => of_file(path),
        Err(error) => Err(from_revision_error(&error).hint("a file can be named too")),
    }
}

/// Compares a commit's configuration with the trusted side.
pub(super) fn compare(repository: &ProjectRepository, commit: ObjectId, trusted: &Trusted) -> Result<Compared, CommandError> {
    let own = configuration_of(repository, commit)?;
    let (configuration, base) = match trusted {
        Trusted::Commit { commit, configuration, .. } => (configuration, Some(*commit)),
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
    let mut names = if base == Some(commit) { Vec::new() } else { lowered(configuration, &own) };
    if let (Some(base), Some(file)) = (base, &configuration.approval.allowed_signers) {
        let blob = |commit| repository.blob_of(commit, &file.value).map_err(|error| from_git_read_error(&error));
        if blob(base)? != blob(commit)? {
            names.push(format!("approval.allowed_signers: `{}`", file.value));
        }
    }
    Ok(Compared { policy: configuration.gate.clone(), rules: configuration.as_ref().clone(), lowered: names })
}

fn of_commit(repository: &ProjectRepository, name: String, commit: ObjectId) -> Result<Trusted, CommandError> {
    let configuration = Box::new(configuration_of(repository, commit)?);
    Ok(Trusted::Commit { name, commit, configuration })
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
fn configuration_of(repository: &ProjectRepository, commit: ObjectId) -> Result<Configuration, CommandError> {
    let bytes = repository.configuration_of(commit).map_err(|error: GitReadError| from_git_read_error(&error))?;
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
