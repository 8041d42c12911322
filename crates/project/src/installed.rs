//! What a process knows of tools and installed packages: digests of their files, read once and kept for later runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::environment_digest::{
    EnvironmentSurvey, FileStamp, KnownDigests, KnownEnvironments, ProgramFile, SurveyScope, SurveySubject, SurveyedEnvironment,
    file_digest, program_file,
};
use crate::error::ProjectError;
use crate::tool_version::{ToolPlace, read_tool_version};
use crate::toolchains::{SeenByChecks, ToolchainDepth, ToolchainSurvey};
use proctor_evidence::report::ProgramV1;
use proctor_evidence::{BackgroundThread, Store};
use proctor_index::StoreIndex;
use proctor_model::{Action, ProjectId};
use proctor_sandbox::home;

/// What a process knows of tools and installed packages.
pub struct Installed {
    digests: KnownDigests,
    pub(crate) environments: KnownEnvironments,
    /// Hashes toolchains. It has a thread of its own, because a run waits for the other jobs in the background.
    hashing: BackgroundThread,
}

impl Installed {
    /// Reads the digests of programs that earlier processes computed.
    pub(crate) fn read(index: &StoreIndex) -> Result<Self, ProjectError> {
        let rows = index.file_digests()?;
        let known = rows
            .into_iter()
            .map(|(path, stamp, digest)| (ProgramFile { real_path: PathBuf::from(path), stamp: FileStamp(stamp) }, digest));
        Ok(Self { digests: known.collect(), environments: KnownEnvironments::default(), hashing: BackgroundThread::default() })
    }

    /// Begins to read a plan's tools and the installed packages in the background.
    pub fn begin_environment_survey(
        &self,
        store: &Store,
        project: &ProjectId,
        seen: SeenByChecks,
        scope: SurveyScope,
    ) -> EnvironmentSurvey {
        let files = self.environments.source(store, project);
        EnvironmentSurvey::begin(store.background(), SurveySubject { seen, programs: self.digests.clone(), files, scope })
    }

    /// Begins to look at the toolchains and the installed packages that the checks of a run see, in the background.
    pub fn begin_toolchain_survey(&self, store: &Store, seen: SeenByChecks, depth: ToolchainDepth) -> ToolchainSurvey {
        ToolchainSurvey::begin(store, &self.hashing, depth, seen)
    }

    /// Remembers the digests that a survey computed, so that unchanged files are not read again.
    pub fn remember_digests(
        &mut self,
        index: &mut StoreIndex,
        project: &ProjectId,
        surveyed: &SurveyedEnvironment,
    ) -> Result<(), ProjectError> {
        if let Some(looked) = &surveyed.looked {
            self.environments.remember(project, Arc::clone(&looked.known));
        }
        let learnt = &surveyed.learnt;
        let new: Vec<_> = learnt.iter().filter(|(file, _)| !self.digests.contains_key(file)).collect();
        let rows: Vec<_> = new
            .iter()
            .map(|(file, digest)| (file.real_path.to_string_lossy().into_owned(), file.stamp.0.clone(), **digest))
            .collect();
        self.digests.extend(learnt.iter().map(|(file, digest)| (file.clone(), *digest)));
        if rows.is_empty() { Ok(()) } else { index.remember_file_digests(&rows).map_err(ProjectError::Index) }
    }

    /// Returns the real path, digest and version of an action's program; `None` if the program file cannot be found.
    pub fn program_facts(
        &mut self,
        index: &mut StoreIndex,
        ambient: &BTreeMap<OsString, OsString>,
        action: &Action,
        root: &Path,
        directory: &Path,
        program: &Path,
    ) -> Option<ProgramV1> {
        let file = program_file(program)?;
        let known = self.digests.get(&file).copied();
        let sha256 = known.or_else(|| {
            let digest = file_digest(&file.real_path).ok()?;
            self.digests.insert(file.clone(), digest);
            let row = (file.real_path.to_string_lossy().into_owned(), file.stamp.0.clone(), digest);
            // If the digest cannot be stored in the index, the next process computes it again.
            let _forgotten = index.remember_file_digests(&[row]);
            Some(digest)
        });
        let place = ToolPlace { program, directory, root, home: home(ambient) };
        let version = read_tool_version(action.tool, &place);
        Some(ProgramV1 { path: file.real_path.display().to_string(), sha256, version })
    }
}
