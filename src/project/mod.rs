//! One project in the store: its registration, what is approved of it, how fresh its verdict is, what is kept of it.
//!
//! Owns [`Workspace`], what a process holds of a project between runs, and [`Archive`], the reader of what is sealed. Runs nothing:
//! `run/` carries plans out on a `Workspace`, and asks here what outlives a run.
//!
//! Where to look: `request` is what a run is asked to do and what came of it; `registration`, `approval` and `cycle` write the ledger;
//! `freshness` says whether the last verdict still holds; `environment_digest` is what the tools of a run were; `archive` reads sealed
//! runs, `archiving` and `retention` put old ones away; `task_list` keeps `tasks.md`; `examination` and `machine` are what
//! `proctor doctor` asks; `known_trees` is the tree index that several looks share.

mod approval;
mod approval_request;
mod archive;
mod archiving;
mod cycle;
mod dependency;
mod environment_digest;
mod error;
mod examination;
mod freshness;
mod known_approvals;
mod known_trees;
mod machine;
mod mended_index;
mod parking;
mod progress;
mod protected;
mod registration;
mod request;
mod retention;
mod retest_refusal;
mod selection;
mod specifications;
mod task_list;
#[cfg(test)]
pub(crate) mod testing;
mod tool_version;
mod workspace;

pub use approval::{ApprovalQuestion, ApprovedBy};
pub use approval_request::{approval_counts, approval_faults};
pub(crate) use archive::sealed_report;
pub use archive::{Archive, ArchivedRun, RegisteredProject};
pub use archiving::{Archived, ArchivedFrom, archive, plan_archiving};
pub use cycle::Attendance;
pub use dependency::{UnmetDependency, WhyUnmet};
pub(crate) use environment_digest::{Certainty, Survey, Surveyed, changed_between, is_pinned, pinned};
pub use error::RunError;
pub use examination::{Examination, ExaminationRequest, LevelFound, examine};
pub use freshness::{Described, Undescribed};
pub use machine::{FileSystemType, InotifyLimits, KernelLimit, Machine, ProjectFound, Space, ToolFound};
pub use mended_index::Announce;
pub use progress::Progress;
pub(crate) use protected::ProtectedSeen;
pub use registration::{Doubt, Identity, Registration, record_serving};
pub use request::{Carried, QueueLimits, RunRequest, Scope, Sealed, Settings, new_matcher};
pub use retention::{Pruned, plan_pruning, prune};
pub use retest_refusal::RetestRefusal;
pub use selection::Selection;
pub(crate) use selection::{Selected, is_hit, select};
pub use specifications::{Specifications, TaskError, read_text};
pub use task_list::keep_task_list;
pub(crate) use task_list::read_debt;
pub use workspace::{StepObserver, Workspace};
