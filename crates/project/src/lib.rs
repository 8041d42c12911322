//! One project in the store: its registration, its approvals, the freshness of its verdict, and the stored runs.
//!
//! A [`Workspace`] holds the owners of everything that a process keeps between runs (`evidence`, `trees`, `installed`, `runner`), and a
//! [`StoreReader`] reads sealed runs. Nothing is run here: `proctor-run` runs plans with a `Workspace`, and asks this crate for data that
//! outlives a run.
//!
//! Where to look: `request` has the input and the result of a run; `registration`, `approval` and `cycle` write the
//! ledger; `freshness` finds out whether the last verdict still applies; `environment_digest` identifies a run's tools;
//! `checked_index` updates the index; `store_reader` reads sealed runs, and `ledger_runs` finds them in the ledger; `retention`
//! removes old runs; `task_list` updates `tasks.md`; `examination`, `snapshot_storage` and `machine` serve
//! `proctor doctor`; `gate` reads what `proctor gate` judges from, and `recorded_tests` the tests of its runs; `known_trees` holds the last
//! known tree index of each project;
//! `test_history` tells the past of tests.

mod approval;
mod approval_request;
mod approved_tree;
mod checked_index;
mod claims_and_proofs;
mod committed_files;
mod cycle;
mod deciding_files;
mod dependency;
mod environment_digest;
mod error;
mod evidence;
mod examination;
mod followed_branch;
mod former_identity;
mod found_inputs;
mod freshness;
mod gate;
mod gate_signers;
mod ignored_files;
mod inputs;
mod installed;
mod kept_paths;
mod known;
mod known_commits;
mod known_trees;
mod ledger_runs;
mod machine;
mod made_for_plan;
mod other_checkouts;
mod own_caches;
mod progress;
mod project_copies;
mod protected;
mod python;
mod recorded_tests;
mod refused_requests;
mod registration;
mod repaired_index;
mod request;
mod retention;
mod run_preparation;
mod runner;
mod same_program;
mod selection;
mod settings_approval;
mod shared_run;
#[cfg(test)]
mod simulator;
mod snapshot_storage;
mod specifications;
mod store_reader;
mod task_error;
mod task_history;
mod task_list;
mod test_history;
mod tool_version;
mod toolchain_places;
mod toolchains;
mod trees;
mod waiting_approvals;
mod workspace;

pub use approval::{ApprovalQuestion, ApprovedBy, CONFIGURATION_FILE, PlanApproval, approve_by_rule};
pub use approval_request::{approval_counts, approval_faults};
pub use checked_index::check_ledgers;
pub use claims_and_proofs::record_claim;
pub use committed_files::{ChangedPath, CommittedFiles, changed_paths_between};
pub use cycle::PersonPresence;
pub use deciding_files::{DecidingFilesBefore, decides_the_verdict};
pub use dependency::{UnmetDependency, UnmetReason, unmet_dependencies};
pub use environment_digest::{
    DigestCertainty, EVERY_FILE, EarlierLook, EnvironmentSurvey, LookedEnvironments, SurveyExtent, SurveyScope,
    SurveyedEnvironment, changed_between, configures_tools, environments_in_project, is_pinned, pinned, variables_digest,
};
pub use error::{ProjectError, system_error_behind};
pub use evidence::{Evidence, HeldLedger, LastReport, StepObserver};
pub use examination::{Examination, ExaminationRequest, LevelFound, examine};
pub use followed_branch::{FollowedCommit, WithPackages, plans_of_commit, was_moved_here, was_pushed_here};
pub use former_identity::checkouts_directory;
pub use found_inputs::{FoundInputs, LeftOut, LeftOutReason, is_input_note};
pub use freshness::{DescribedProject, KnownAsked, MissingOwnPlan, PlanlessProject, PlanlessReason};
pub use gate::{ClaimsOnTree, CommittedFile, ProjectRepository, commits_before};
pub use gate_signers::{GateSigners, ProvingRun};
pub use ignored_files::ignored_in_project;
pub use inputs::{InputRefusal, InputSearch};
pub use installed::Installed;
pub use kept_paths::{KeepDecision, KeptPaths, decide_keep};
pub use known::{OTHER_VARIABLES, OtherStoresRun};
pub use known_commits::{
    AcceptedCommit, ReplacedTip, TrustedTip, accepted_commits, committed_digests, keep_accepted_commit, keep_trusted_tip,
    replaced_tip,
};
pub use ledger_runs::{LedgerRuns, is_told_by, run_of_ledger, run_on_inputs, sealed_report};
pub use machine::disk_words;
pub use machine::{FileSystemType, InotifyLimits, KernelLimit, Machine, ProjectFound, Space, ToolFound, outgoing_redactor};
pub use made_for_plan::{MadeForPlan, outputs_of_plan, place_of_report};
pub use other_checkouts::{checked_out_commit, directory_in_repository};
pub use own_caches::{ActionPlace, OwnCachesRequest, SeenHome, prepare_own_caches};
pub use progress::Progress;
pub use project_copies::{CopiesOutcome, SnapshotBase, hidden_caches, is_by_product};
pub use protected::{ProtectedFilesScan, ProtectedFilesStatus, begin_protected_scan, protected_files_status};
pub use python::{KeptBytecode, ModulesToCompile, PythonInterpreter, site_packages};
pub use refused_requests::{RefusedBefore, RefusedRequests, RetestRefusal};
pub use registration::{
    IdentityAnswer, Registration, ResemblingProject, has_link, mend_link, record_serving, registrar, restore_link,
};
pub use repaired_index::Announce;
pub use request::{
    ExportSettings, ProjectScope, ProjectSettings, QueueLimits, RunOutcome, RunRequest, SealedReport, new_matcher,
};
pub use retention::{PruningOutcome, make_room, plan_pruning, prune, purge, survey_purge};
pub use run_preparation::park_for_the_next_run;
pub use runner::{Mountable, Runner};
pub use same_program::programs_not_approved;
pub use selection::{SelectedChecks, Selection, path_filter, select_checks};
pub use settings_approval::rules_digest;
pub use shared_run::SharedRun;
pub use snapshot_storage::{
    RemovedSnapshots, SnapshotUsage, SnapshotsToRemove, discard_snapshots, evidence_bytes, obstacle_of_settings,
    remove_snapshots, snapshot_usage, try_mount, try_snapshot,
};
pub use specifications::{SPECIFICATION_SEARCH, Specifications, SpecifiedTask, read_specification_file, read_text};
pub use store_reader::{RecordedRun, RegisteredProject, StoreReader};
pub use task_error::{SpecificationFaults, TaskError, TaskPlace};
pub use task_list::{keep_task_list, read_debt, update_task_list};
pub use test_history::{FoundTest, NotComparable, RunFilter, TestSearch, last_test_record};
pub use toolchains::{
    NOT_HASHED, SeenByChecks, ToolchainDepth, ToolchainNames, ToolchainSurvey, changed_toolchains, current_toolchains,
    note_not_hashed,
};
pub use trees::Trees;
pub use waiting_approvals::WaitingApprovals;
pub use workspace::{LastRuns, Workspace};
