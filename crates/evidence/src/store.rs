//! The layout of the store: where each file and directory is.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::changes::{create_directories, make_private};
use crate::{BackgroundThread, EvidenceError};
use proctor_model::{Digest, ProjectId, RunId, TaskId};

const DIRECTORIES: [&str; 4] = ["evidence", "ledger", "locks", "log"];
/// The directories that contain evidence or guard it; nobody else may even list them.
pub(super) const GUARDED: [&str; 4] = ["evidence", "ledger", "locks", "keys"];

/// The store of one user: `$XDG_STATE_HOME/proctor`. Its directories have mode 0700, its files 0600 or, once sealed,
/// 0400.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    background: BackgroundThread,
    syncs: BackgroundThread,
}

/// Returns the directory of a store that contains the evidence of all projects. The store need not be open.
pub fn evidence_directory(store_root: &Path) -> PathBuf {
    store_root.join("evidence")
}

/// Returns the directory of a store in which the running coding agents are registered that use proctor's hooks or its MCP server. The store
/// need not be open.
pub fn agents_directory(store_root: &Path) -> PathBuf {
    store_root.join("agents")
}

impl Store {
    /// Opens the store at `root` and creates missing directories. `root` itself may be a link, which is the user's own.
    ///
    /// # Errors
    /// When a link is in the place of a directory with evidence: whoever made it would choose what is read and where runs are sealed.
    pub fn open(root: &Path) -> Result<Self, EvidenceError> {
        for path in GUARDED.map(|name| root.join(name)) {
            if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                return Err(EvidenceError::NotADirectory { path });
            }
        }
        for path in DIRECTORIES.map(|name| root.join(name)) {
            if path.symlink_metadata().is_err() {
                create_directories(&path)?;
            }
        }
        make_private(root)?;
        Ok(Self::open_to_read(root))
    }

    /// Opens the store only for reading: nothing is created and no mode is changed, so the store may be somebody else's. The caller
    /// must report links that are in the place of directories.
    pub fn open_to_read(root: &Path) -> Self {
        Self { root: root.to_owned(), background: BackgroundThread::default(), syncs: BackgroundThread::default() }
    }

    /// Returns the directory that contains the whole store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether a path of the store leads to a directory without a link on the way from the store's directory to it.
    pub(super) fn has_directory(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let mut place = self.root.clone();
        below.components().all(|component| {
            place.push(component);
            place.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
        })
    }

    /// Returns the thread that looks at files while a run goes on.
    pub fn background(&self) -> &BackgroundThread {
        &self.background
    }

    /// Returns the thread that syncs files while a run goes on. No look at other files is waited for before a sync.
    pub(super) fn syncs(&self) -> &BackgroundThread {
        &self.syncs
    }

    /// Returns the directory that contains the evidence of all projects.
    pub fn evidence_directory(&self) -> PathBuf {
        evidence_directory(&self.root)
    }

    /// Returns the directory of a project's evidence, to which the link in the project points.
    pub fn project_directory(&self, project: &ProjectId) -> PathBuf {
        self.evidence_directory().join(project.as_str())
    }

    /// Returns the directory of a task's evidence, which contains the link `latest` and the directory `runs`.
    pub fn task_directory(&self, project: &ProjectId, task: &TaskId) -> PathBuf {
        self.project_directory(project).join(task.as_str())
    }

    /// Returns the directory that contains a task's runs.
    pub fn runs_directory(&self, project: &ProjectId, task: &TaskId) -> PathBuf {
        self.task_directory(project, task).join("runs")
    }

    /// Returns the directory of one run, which need not exist: the run may be removed.
    pub fn run_directory(&self, project: &ProjectId, task: &TaskId, run_id: &RunId) -> PathBuf {
        self.runs_directory(project, task).join(run_id.as_str())
    }

    /// Returns the directory that contains the ledgers of all projects.
    pub fn ledger_directory(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// Returns the path of a project's ledger, `ledger/<project-id>.jsonl`.
    pub fn ledger_path(&self, project: &ProjectId) -> PathBuf {
        self.ledger_directory().join(format!("{project}.jsonl"))
    }

    /// Returns the path of a project's lock file, which only the holder of the lock writes.
    pub fn lock_path(&self, project: &ProjectId) -> PathBuf {
        self.root.join("locks").join(project.as_str())
    }

    /// Returns the file whose locks are the queue of all actions. No project can have this name, because project ids end in 8
    /// hexadecimal digits.
    pub(super) fn slots_path(&self) -> PathBuf {
        self.root.join("locks").join("slots")
    }

    /// Returns the directory of proctor's own log files.
    pub fn log_directory(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Returns the path of the SQLite index, which the module `store/` owns.
    pub fn index_path(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// Returns the path of the saved index of a project's tree, which the module `store/` owns.
    pub fn tree_index_path(&self, project: &ProjectId) -> PathBuf {
        self.root.join("trees").join(project.as_str())
    }

    /// Returns the path of the digests of commits' contents, which the module `store/` owns. No project can have this name.
    pub fn commit_digests_path(&self) -> PathBuf {
        self.root.join("trees").join("of-commits")
    }

    /// Returns the path of the commits that were accepted last, which the module `store/` owns. No project can have this name.
    pub fn accepted_commits_path(&self) -> PathBuf {
        self.root.join("trees").join("accepted-commits")
    }

    /// Returns the path of the saved index of the tree that was approved last, which the module `store/` owns.
    pub fn approved_tree_path(&self, project: &ProjectId) -> PathBuf {
        self.root.join("approved-trees").join(project.as_str())
    }

    /// Returns the path of the saved digests of the files in a project's environments, which the module `store/` owns.
    pub fn environment_index_path(&self, project: &ProjectId) -> PathBuf {
        self.root.join("environments").join(project.as_str())
    }

    /// Returns the directory with the digests of toolchains' files, which the module `store/` owns.
    pub fn toolchains_directory(&self) -> PathBuf {
        self.root.join("toolchains")
    }

    /// Returns the path of the saved digests of the directories in a toolchain. The name is the digest of the toolchain's path.
    pub fn toolchain_index_path(&self, toolchain: &Path) -> PathBuf {
        self.toolchains_directory().join(Digest::of(toolchain.as_os_str().as_bytes()).hex())
    }

    /// Returns the file that records which file is being copied to a project. The module `snapshot/` owns the file.
    pub fn copy_out_record_path(&self, project: &ProjectId) -> PathBuf {
        self.root.join("copying").join(project.as_str())
    }

    /// Returns the directory with the copies of a project from which its checks get their snapshots. The module
    /// `snapshot/` owns the directory.
    pub fn snapshot_directory(&self, project: &ProjectId) -> PathBuf {
        self.snapshots_directory().join(project.as_str())
    }

    /// Returns the directory that contains the snapshot directories of all projects.
    pub fn snapshots_directory(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Returns the directory with the tools' caches of a project (pip, npm, …), to which its actions write.
    pub fn own_caches_directory(&self, project: &ProjectId) -> PathBuf {
        self.every_own_caches_directory().join(project.as_str())
    }

    /// Returns the directory that contains the tools' caches of all projects. It lies beside the store, because the store
    /// is hidden from actions.
    pub fn every_own_caches_directory(&self) -> PathBuf {
        let mut name = self.root.file_name().unwrap_or_default().to_owned();
        name.push("-caches");
        self.root.with_file_name(name)
    }

    /// Returns the directory to which entries are moved that replaced a project's link to its evidence.
    pub(super) fn replaced_links_directory(&self) -> PathBuf {
        self.root.join("replaced-links")
    }

    /// Returns the directory that contains the output directories of a project's actions.
    pub fn outputs_directory(&self, project: &ProjectId) -> PathBuf {
        self.every_output_directory().join(project.as_str())
    }

    /// Returns the directory that contains the scratch directories of a project's runs.
    pub(super) fn scratch_directory(&self, project: &ProjectId) -> PathBuf {
        self.root.join("scratch").join(project.as_str())
    }

    /// Returns whether a path leads, with all links resolved, to a directory in which a running action may write.
    pub fn is_output_directory(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        real(path).zip(real(&self.every_output_directory())).is_some_and(|(path, all)| path != all && path.starts_with(all))
    }

    fn every_output_directory(&self) -> PathBuf {
        self.root.join("out")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::{TestStore, mode};

    #[test]
    fn opening_creates_private_directories_and_no_keys() {
        let test = TestStore::new();
        for name in ["evidence", "ledger", "locks", "log"] {
            assert_eq!(mode(&test.store.root().join(name)), 0o700, "{name}");
        }
        assert!(!test.store.root().join("keys").exists());
    }

    #[test]
    fn an_output_directory_is_known_as_long_as_it_is_there_whatever_way_leads_to_it() {
        let test = TestStore::new();
        let outputs = test.store.outputs_directory(&test.project);
        assert!(!test.store.is_output_directory(&outputs.join("STEP.1")));
        create_directories(&outputs.join("STEP.1")).unwrap();
        assert!(test.store.is_output_directory(&outputs.join("STEP.1")));
        assert!(test.store.is_output_directory(&test.store.root().join("log/../out/shop-00000001/STEP.1")));
        for other in [test.store.root().join("out"), test.store.log_directory(), PathBuf::from("/"), PathBuf::new()] {
            assert!(!test.store.is_output_directory(&other), "{}", other.display());
        }
        let link = test.store.log_directory().join("link");
        std::os::unix::fs::symlink(&outputs, &link).unwrap();
        assert!(test.store.is_output_directory(&link.join("STEP.1")));
    }

    #[test]
    fn an_open_root_is_made_private() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        Store::open(directory.path()).unwrap();
        assert_eq!(mode(directory.path()), 0o700);
    }
}
