//! The evidence store: run directories, manifests, ledgers, locks and keys, kept so that a later change can be detected.
//!
//! # What it owns
//!
//! * The evidence, ledgers, keys and locks below `$XDG_STATE_HOME/proctor`. `store/` and `snapshot/` own other files there,
//!   for example `state.db`, `trees/` and `snapshots/`; [`Store`] knows their paths too.
//! * The few files that proctor writes into a project: the link to the evidence, the task list, the trail of a governance
//!   workflow, and, in the git directory, the link's entry in `info/exclude` and the notes of attestations.
//!
//! Only the holder of a project's [`ProjectLock`] writes the project's evidence; readers need no lock. The steps by which
//! a run becomes durable are [`DurableStep::ALL`]. The synced ledger line is the commit, and nothing in a run directory
//! changes after it.
//!
//! # What it may not do
//!
//! Judge anything, read a clock or the environment, run git (its state is read from files), or use the SQLite index. Callers
//! build the report's bytes and the ledger's record.
//!
//! # Where to look
//!
//! * [`Store`] knows the paths. `changes` contains every operation that changes the disk, and `files` the operations
//!   that read. `failure_injection` lets tests make any change fail.
//! * `lock` allows one writer per project, `service_lock` one service, one process per governance workflow, and one
//!   writer of the sessions of agents, and says which projects are watched. `slot` is the machine-wide queue of actions.
//! * `run_directory`, `seal` and `publish` carry a run from its start to the link `latest`. `recovery` cleans up after a
//!   process that died.
//! * `ledger` writes the ledger; `ledger_lines` and `ledger_tail` read it, and `ledger_lookup` finds single lines of it. `ledger_file` makes
//!   the compressed segments of old lines, and reads through them.
//! * `background_thread`, `file_syncs` and `prepared_files` make runs faster.
//! * `artifact` reads files that tools wrote, and `report_watch` observes a report while it is written. `output` and
//!   `run_directory` own the directories that actions write to.
//!   `file_observation` reads files of the project that a check asks about.
//! * `keys` owns the signing keys, `signing` the formats of signatures, and `line_signature` signs ledger lines, and recognises
//!   what proctor wrote into other files.
//! * `project_link`, `git`, `project_file` and `trail` write into a project.
//! * `history` reads runs back, `sealed_files` compares them with the ledger, `archive` reads and writes a run in one file, and `export`
//!   copies a run for other people.
//! * `retention` removes runs. `verification` finds out whether evidence was changed; `verification_targets` lists what
//!   can be verified.
//!   `activity` says whether somebody writes meanwhile.
//! * `attestation` tells other people what runs say of a commit's content, and reads what others tell.
//! * `transparency` presents the ledger as a transparency log. `anchor` keeps the log's head in another place.

mod activity;
mod anchor;
mod archive;
mod artifact;
mod attestation;
mod background_thread;
mod changes;
mod disk_room;
mod durable_steps;
mod error;
mod export;
mod failure_injection;
mod file_observation;
mod file_syncs;
mod files;
mod git;
mod history;
mod keys;
mod ledger;
mod ledger_file;
mod ledger_lines;
mod ledger_lookup;
mod ledger_tail;
mod line_signature;
mod lock;
mod lock_file;
mod lock_record;
mod manifest;
mod names;
mod output;
mod prepared_files;
mod project_file;
mod project_link;
mod publish;
mod random;
mod recovery;
mod regular_file;
pub mod report;
mod retention;
mod run_directory;
mod seal;
mod sealed_files;
mod service_lock;
mod signing;
mod slot;
mod store;
mod trail;
mod transparency;
mod verification;
mod verification_targets;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use activity::{StoreActivity, read_store_activity};
pub use anchor::*;
pub use archive::ArchiveProblem;
pub use artifact::{Artifact, ArtifactRefusal, TakenReport, create_unnamed_file, read_artifact, take_report_file};
pub use attestation::*;
pub use background_thread::{BackgroundJob, BackgroundThread};
pub use disk_room::{UsedReserve, is_disk_full, remove_half_of_run};
pub use durable_steps::{DurableStep, DurableStepObserver};
pub use error::{EvidenceError, FileOperation, LineProblem};
pub use export::{EXPORTED_KEY, EXPORTED_SIGNERS, allowed_signers, export_run, exported_keys, is_archive_name};
#[cfg(any(test, feature = "testing"))]
pub use failure_injection::simulated::{DurableFiles, SimulatedFailure, SimulatedFault, SyncedFiles};
#[cfg(feature = "test-fakes")]
pub use failure_injection::{FailureInjection, InjectedFailure};
pub use file_observation::{ContentRequest, ReportWatch, observe_file};
pub use git::{ExcludeOutcome, exclude_link};
pub use history::{StoredRun, is_intact, list_projects, list_runs, list_tasks, read_file, read_report, stream_file};
pub use keys::*;
pub use ledger::Ledger;
pub use ledger_file::{CompressedLines, compress_old_lines, has_old_lines};
pub use ledger_lines::{LedgerLines, read_lines, read_signed_lines, wait_for_lines};
pub use ledger_lookup::{LedgerLookup, NewestLines};
pub use line_signature::{OwnSignatures, secret_of_digests};
pub use lock::{LockError, ProjectLock, read_boot_id};
pub use lock_file::WaitDecision;
pub use lock_record::{LOCK_SCHEMA, LockHolder, OpenRun};
pub use names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME, statements_name};
pub use output::{OutputDirectory, remove_outputs_of_run};
pub use project_file::{ProjectFileError, ReplaceOutcome, read_project_file, replace_project_file};
pub use project_link::{
    LinkObstacle, LinkOutcome, LinkRepair, find_replaced_link, is_our_link, link_project, mend_project_link,
    remove_project_links, restore_project_link,
};
pub use publish::publish_latest;
pub use random::{mint_nonce, mint_project_id};
pub use recovery::{InterruptedFile, InterruptedRun, recover};
pub use regular_file::{open_regular_file, read_regular_file, read_regular_text};
pub use retention::*;
pub use run_directory::{RUN_SCHEMA, RunDirectory, ScratchDirectory};
pub use seal::{SealInput, SealedRun, drop_superseded, seal};
pub use sealed_files::{SealedFileProblem, SealedFiles};
pub use service_lock::{
    DirectoryLock, ServiceLock, ServiceLockError, ServingProcess, WatchLock, WorkflowLock, lock_directory, serving_process,
    watching_process,
};
pub use signing::{APPROVAL_NAMESPACE, FILE_NAMESPACE, KeyFormatError, PublicKey, SSH_IDENTITY, SSH_NAMESPACE, approving_signer};
pub use slot::{MOST_SLOTS, Slot, SlotQueueState};
pub use store::{Store, agents_directory, evidence_directory};
pub use trail::{TrailDirectory, TrailError};
pub use transparency::*;
pub use verification::*;
pub use verification_targets::{find_registered_project, known_runs, projects_with_evidence};
