//! The objects, references and configuration of one repository, opened for reading.

use std::path::{Path, PathBuf};

use crate::config_file::GitConfig;
use crate::database::ObjectDatabase;
use crate::directory::GitDirectory;
use crate::error::{GitReadError, ObjectProblem};
use crate::object::{GitObject, GitTreeEntry, ObjectId, ObjectKind};
use crate::reference;

/// Unsupported storage formats: a key of `[extensions]`, its value, and a description.
const FORMATS: [(&str, &str, &str); 2] =
    [("objectformat", "sha256", "objects under SHA-256 names"), ("refstorage", "reftable", "references in reftable files")];

/// The longest configuration of a repository that is read, in bytes.
const LONGEST_CONFIG: u64 = 1 << 20;

/// The longest chain of tags that name other tags.
const MOST_TAGS: u32 = 16;

/// What a repository stores: objects, references, and its configuration.
#[derive(Debug)]
pub struct GitStorage {
    /// The directory of the working tree's own files, such as its `HEAD`.
    pub git_directory: GitDirectory,
    /// The directory that all worktrees of the repository share.
    pub common: GitDirectory,
    pub objects: ObjectDatabase,
    pub(super) config: GitConfig,
    /// The root of the working tree, in which submodules may be checked out; `None` where it does not matter.
    pub(super) work_tree: Option<PathBuf>,
}

impl GitStorage {
    /// Opens a repository. `git_directory` is the directory of the working tree's own files, `common` the directory that all
    /// worktrees share.
    ///
    /// # Errors
    /// When a directory is missing or is a link, or the repository has a format that is not supported.
    pub fn open(git_directory: &Path, common: &Path) -> Result<Self, GitReadError> {
        let (git_directory, common) = (GitDirectory::open(git_directory)?, GitDirectory::open(common)?);
        let config = common.text("config", LONGEST_CONFIG)?.unwrap_or_default();
        if let Some(what) = foreign_format(&config) {
            return Err(GitReadError::Format { what });
        }
        let objects = ObjectDatabase::open(&common)?;
        let mut config = GitConfig::parse(&config);
        if config.is_true("extensions", "worktreeconfig") {
            // git reads this file last, so it counts more.
            let own = git_directory.text("config.worktree", LONGEST_CONFIG)?.unwrap_or_default();
            config = config.followed_by(GitConfig::parse(&own));
        }
        Ok(Self { git_directory, common, objects, config, work_tree: None })
    }

    /// Names the root of the working tree, so that submodules are found that are checked out in it.
    #[must_use]
    pub fn with_work_tree(self, work_tree: PathBuf) -> Self {
        Self { work_tree: Some(work_tree), ..self }
    }

    /// Returns the checked-out commit; `None` if nothing is committed yet.
    ///
    /// # Errors
    /// When a reference cannot be read, has a wrong name, or leads in a circle.
    pub fn head(&self) -> Result<Option<ObjectId>, GitReadError> {
        reference::read_head(&self.git_directory, &self.common)
    }

    /// Returns the commit that an object is, or that it names as a tag.
    ///
    /// # Errors
    /// When an object cannot be read, or is neither a commit nor a tag of a commit.
    pub fn peel(&self, id: ObjectId) -> Result<(ObjectId, GitObject), GitReadError> {
        let mut at = id;
        for _ in 0..MOST_TAGS {
            let object = self.objects.read(at)?;
            match object.kind {
                ObjectKind::Commit => return Ok((at, object)),
                ObjectKind::Tag => at = object.tagged().ok_or_else(|| object_error(at, ObjectProblem::Damaged))?,
                ObjectKind::Blob | ObjectKind::Tree => break,
            }
        }
        Err(object_error(id, ObjectProblem::Kind))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// When the object cannot be read, or is no commit.
    pub fn tree_of(&self, commit: ObjectId) -> Result<ObjectId, GitReadError> {
        self.objects.read(commit)?.commit_tree().ok_or_else(|| object_error(commit, ObjectProblem::Kind))
    }

    /// Returns the entries of a tree.
    ///
    /// # Errors
    /// When the object cannot be read, or is no tree.
    pub fn entries(&self, tree: ObjectId) -> Result<Vec<GitTreeEntry>, GitReadError> {
        let object = self.objects.read(tree)?;
        let problem = if object.kind == ObjectKind::Tree { ObjectProblem::Damaged } else { ObjectProblem::Kind };
        object.entries().ok_or_else(|| object_error(tree, problem))
    }

    /// Returns the content of a file or a link.
    ///
    /// # Errors
    /// When the object cannot be read, or is no blob.
    pub fn blob(&self, id: ObjectId) -> Result<Vec<u8>, GitReadError> {
        let object = self.objects.read(id)?;
        if object.kind == ObjectKind::Blob { Ok(object.content) } else { Err(object_error(id, ObjectProblem::Kind)) }
    }

    /// Returns the address from which git fetches of a remote repository; `None` if the repository's own configuration has none.
    pub fn address_of_remote(&self, remote: &str) -> Option<&str> {
        self.config.all("remote", Some(remote), "url").next()
    }

    /// Returns whether the repository was cloned without a part of its history or of its objects.
    pub fn lacks_objects_by_design(&self) -> bool {
        let is_shallow = matches!(self.common.file("shallow"), Ok(Some(_)));
        is_shallow || self.config.has_value("extensions", None, "partialclone") || self.config.has_promisor()
    }

    /// Returns the directory of hooks that the configuration names (`core.hooksPath`); `None` if it names none. `others` are the texts
    /// of the user's and the machine's configuration, the one that counts less first.
    pub fn hooks_path(&self, others: &[String]) -> Option<String> {
        let named = |config: &GitConfig| config.value("core", None, "hookspath").map(str::to_owned);
        named(&self.config).or_else(|| others.iter().rev().find_map(|text| named(&GitConfig::parse(text))))
    }

    /// Returns whether the repository's own configuration asks git to change line endings when it checks files out.
    pub fn converts_line_endings(&self) -> bool {
        let eol = self.config.value("core", None, "eol").unwrap_or_default();
        self.config.is_true("core", "autocrlf") || eol.eq_ignore_ascii_case("crlf")
    }
}

fn object_error(id: ObjectId, problem: ObjectProblem) -> GitReadError {
    GitReadError::Object { id: id.hex(), problem }
}

/// Returns the unsupported format of a repository, if it has one. The key is refused in any section of the file, so that no
/// mistake in reading sections lets it pass.
fn foreign_format(config: &str) -> Option<&'static str> {
    let keys = config.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value.trim()));
    let known_format = |(key, value): (&str, &str)| {
        FORMATS
            .iter()
            .find(|(name, kept, _)| key.eq_ignore_ascii_case(name) && value.trim_matches('"').eq_ignore_ascii_case(kept))
    };
    keys.filter_map(known_format).next().map(|(_, _, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_format_is_recognised_by_its_key() {
        assert_eq!(foreign_format("[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha1\n"), None);
        assert_eq!(foreign_format("[extensions]\n\tobjectFormat = sha256\n"), Some("objects under SHA-256 names"));
        assert_eq!(foreign_format("[extensions]\n\trefStorage = \"reftable\"\n"), Some("references in reftable files"));
    }
}
