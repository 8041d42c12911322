//! Reading the files of a sealed run so that a changed file is noticed: the ledger has the hash of the run's manifest, and the
//! manifest the hash of every other file.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::files::{hash_file, read_no_follow};
use crate::manifest::parse_manifest;
use crate::names::{MANIFEST_NAME, check_component};
use crate::{EvidenceError, FileOperation, Store};
use proctor_model::{Digest, ProjectId, RunId, TaskId};

/// The files of a run, with the hashes that they had when the run was sealed.
#[derive(Debug)]
pub struct SealedFiles {
    run_id: RunId,
    directory: PathBuf,
    sealed: BTreeMap<Vec<u8>, Digest>,
}

/// How a file of a run differs from what was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedFileProblem {
    Changed,
    Missing,
    /// The run was sealed without a file of this name.
    Added,
}

impl SealedFiles {
    /// Reads the manifest of a run and compares it with its hash in the ledger.
    ///
    /// # Errors
    /// When the manifest cannot be read, or is not the one that was sealed.
    pub fn open(
        store: &Store,
        project: &ProjectId,
        task: &TaskId,
        run_id: &RunId,
        manifest: Digest,
    ) -> Result<Self, EvidenceError> {
        let directory = store.run_directory(project, task, run_id);
        let mut files = Self { run_id: run_id.clone(), directory, sealed: BTreeMap::new() };
        let bytes = files.found(MANIFEST_NAME, read_no_follow(&files.directory.join(MANIFEST_NAME)))?;
        let sealed = (Digest::of(&bytes) == manifest).then(|| parse_manifest(&bytes)).flatten();
        files.sealed = sealed.ok_or_else(|| files.refuse(MANIFEST_NAME, SealedFileProblem::Changed))?;
        Ok(files)
    }

    /// Returns whether the run was sealed with a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.sealed.contains_key(name.as_bytes())
    }

    /// Returns the names of the files, sorted. The manifest itself is not among them.
    pub fn names(&self) -> Vec<String> {
        self.sealed.keys().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When the file cannot be read, or is not the one that was sealed.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, EvidenceError> {
        let expected = self.sealed_digest(name)?;
        let bytes = self.found(name, read_no_follow(&self.directory.join(name)))?;
        if Digest::of(&bytes) == expected { Ok(bytes) } else { Err(self.refuse(name, SealedFileProblem::Changed)) }
    }

    /// Compares a file with its sealed hash without keeping its content.
    ///
    /// # Errors
    /// When the file cannot be read, or is not the one that was sealed.
    pub fn check(&self, name: &str) -> Result<(), EvidenceError> {
        let expected = self.sealed_digest(name)?;
        let found = self.found(name, hash_file(&self.directory.join(name)))?;
        if found.sha256 == expected { Ok(()) } else { Err(self.refuse(name, SealedFileProblem::Changed)) }
    }

    fn sealed_digest(&self, name: &str) -> Result<Digest, EvidenceError> {
        check_component(name)?;
        self.sealed.get(name.as_bytes()).copied().ok_or_else(|| self.refuse(name, SealedFileProblem::Added))
    }

    fn found<T>(&self, name: &str, result: Result<T, EvidenceError>) -> Result<T, EvidenceError> {
        result.map_err(|error| {
            if let EvidenceError::File { operation: FileOperation::Open, source, .. } = &error
                && source.kind() == io::ErrorKind::NotFound
            {
                return self.refuse(name, SealedFileProblem::Missing);
            }
            error
        })
    }

    fn refuse(&self, name: &str, problem: SealedFileProblem) -> EvidenceError {
        EvidenceError::NotAsSealed {
            path: self.directory.join(name),
            name: name.to_owned(),
            run_id: self.run_id.clone(),
            problem,
        }
    }
}

impl fmt::Display for SealedFileProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Changed => "was changed after the run was sealed",
            Self::Missing => "is missing, and the run was sealed with it",
            Self::Added => "is not one of the files that the run was sealed with",
        })
    }
}
