//! Run directories, manifest, ledger, locks: what a verdict rests on, kept so that a later change is evident.
//!
//! # What it owns
//!
//! Every file below `$XDG_STATE_HOME/proctor` but `state.db` (which is `store/`'s), and the one link in a project. Of one
//! project only the holder of its [`ProjectLock`] writes; readers need no lock. The order in which a run becomes durable is
//! [`DurableStep::ALL`]; the synced ledger line is the commit, and nothing in a run directory changes after it.
//!
//! # What it may not do
//!
//! Judge anything, read a clock or the environment, run git (its state is read from files), or know the SQLite index. The
//! report's bytes and the ledger's record come from the caller.
//!
//! # Where to look
//!
//! [`Store`] knows every path · `lock` one writer per project · `slot` so many actions at once · `ledger` and `ledger_lines` the truth · `run_directory`,
//! `seal` and `publish` the way of one run · `recovery` what a dead process left · `artifact` and `output` what tools leave, `file_look` what lies in the project · [`Background`] syncs beside the run, `file_syncs` those of its files ·
//! `keys` who signs, `signing` and `line_signature` what · `project_link` and `git` the link for people · `trail` and `workflow_lock` what a governance workflow keeps in the project · `history` reading back · `archive` runs that are kept in one file each · `find` and `export` · `retention` what is removed · `verification` whether it is what
//! it was · `transparency` the ledger's head, and `anchor` keeping it elsewhere · `changes` every operation that changes something on disk, `mishap` what a test lets go wrong there.

mod anchor;
mod archive;
mod artifact;
mod background;
mod changes;
mod durable;
mod error;
mod export;
mod file_look;
mod file_syncs;
mod files;
mod find;
mod git;
mod history;
mod holder;
mod keys;
mod ledger;
mod ledger_lines;
mod ledger_tail;
mod line_signature;
mod lock;
mod lock_file;
mod lock_record;
mod manifest;
mod mishap;
mod names;
mod output;
mod project_file;
mod project_link;
mod publish;
mod random;
mod ready;
mod recovery;
mod retention;
mod run_directory;
mod scratch;
mod seal;
mod signing;
mod slot;
mod store;
mod trail;
mod transparency;
mod verification;
mod workflow_lock;

#[cfg(test)]
mod testing;

pub use anchor::{
    Anchor, AnchorFileError, GitAnchorError, GitAnchored, Refusal, notes_reference, read_anchor, read_git_anchors, write_anchor,
    write_git_anchor,
};
pub use archive::{
    ArchivePlan, ArchiveProblem, ArchiveWish, Archiving, LeftAlone, Stays, archive_runs, finish_archiving, is_archived,
    plan_archive,
};
pub use artifact::{Artifact, Refused, take_artifact};
pub use background::{Background, Pending};
pub use durable::{DurableStep, Observer};
pub use error::{EvidenceError, FileOperation, LineProblem};
pub use export::{EXPORTED_KEY, EXPORTED_SIGNERS, allowed_signers, export_run, is_archive_name};
pub use file_look::{Reading, look_at_file};
pub use find::{find_evidence, find_registered, known_runs};
pub use git::{ExcludeOutcome, GitPlace, exclude_link, find_git_place, git_common_directory};
pub use history::{
    StoredRun, is_intact, list_projects, list_runs, list_tasks, read_file, read_report, read_start_record, show_file,
};
pub use holder::Holder;
pub use keys::{Endorsement, KeyProblem, KeyRecord, KeyRing, KnownKey, LedgerPosition, read_key_ring, rotate_key};
pub use ledger::Ledger;
pub use ledger_lines::{LedgerLines, read_lines};
pub use lock::{LockError, ProjectLock};
pub use lock_file::Waiting;
pub use lock_record::{LOCK_SCHEMA, OpenRun};
#[cfg(feature = "test-fakes")]
pub use mishap::{Mishap, Mishaps};
pub use names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME, statements_name};
pub use output::{OutputDirectory, remove_outputs_of_run};
pub use project_file::{ProjectFileError, Replaced, read_project_file, replace_project_file};
pub use project_link::{FoundThere, LinkOutcome, is_our_link, link_project};
pub use publish::publish_latest;
pub use random::{mint_nonce, mint_project_id};
pub use recovery::{FoundFile, InterruptedRun, recover};
pub use retention::{
    KeptRun, Pruning, RetentionSurvey, RunForm, Sizes, Standing, Weight, finish_pruning, plan_prune, prune_runs, survey_runs,
};
pub use run_directory::{RUN_SCHEMA, RunDirectory};
pub use scratch::Scratch;
pub use seal::{SealedRun, Sealing, drop_superseded, seal};
pub use signing::{APPROVAL_NAMESPACE, KeyFormatError, PublicKey, SSH_IDENTITY, SSH_NAMESPACE, approving_signer};
pub use slot::{MOST_SLOTS, Queue, Slot};
pub use store::Store;
pub use trail::{TrailDirectory, TrailError};
pub use transparency::{
    Checkpoint, CheckpointError, LedgerLog, LogDirectoryError, LogProof, Progress, ProofError, SignedCheckpoint, read_log,
    verifier_key, write_log_directory,
};
pub use verification::{
    Checked, Fault, FaultKind, Notary, Subject, Unfinished, UnfinishedKind, check_anchor, check_progress, signing_key_of,
    verify_copy, verify_keys, verify_project,
};
pub use workflow_lock::WorkflowLock;
