//! Carries one plan out: the only place where process, tools, verdict, routing, report and evidence meet.
//!
//! Owns the order of a run (`carry_out`), what one action goes through (`perform`), what is written about it, and the
//! project's registration. It judges nothing itself: it asks the pure folders and carries their answers on. A tool that
//! fails is a value here; [`RunError`] is for proctor's own troubles only.
//!
//! Where to look: `carry_out` reads like the picture in the crate's documentation; `workspace` holds what outlives a run;
//! `known_trees` is what looks at the tree have in common;
//! `steps` carries the checks out one after the other, `side_by_side` those that may go on at the same time, as `schedule` says;
//! `flow` is which steps are skipped after what has happened; `http_client` sends a request, `diagnosis` looks why it was not answered;
//! `debt` writes the debt file;
//! `refuse` is the run of a specification that has errors; `reuse` is when an earlier verdict stands for a check, `order` which check comes first;
//! `queue` is the wait for other runs' actions; `examination` tries what `proctor doctor` says, `machine` reads the rest of it; `archive` reads back; `archiving` and `retention` put old runs away; `registration`, `cycle` and
//! `agent` are the other writers of the ledger; `consultation` asks models and a person's own tools for `workflow/`; `task_list` keeps `tasks.md`, and
//! `proposal` compares a proposed specification with the one there is.

mod agent;
mod approval;
mod approval_request;
mod archive;
mod archiving;
mod carry_out;
mod conclude;
mod consultation;
mod criteria_facts;
mod cycle;
mod debt;
mod denied_write;
mod dependency;
mod diagnosis;
mod earlier_runs;
mod environment;
mod error;
mod examination;
mod flow;
mod health;
mod hints;
mod http_client;
mod interrupted;
mod isolation;
mod known_approvals;
mod known_trees;
mod machine;
mod mended_index;
mod old_report;
mod order;
mod parking;
mod perform;
mod prerequisite;
mod progress;
mod proposal;
mod protected;
mod queue;
mod records;
mod refuse;
mod registration;
mod request;
mod retention;
mod reuse;
mod review;
mod sandbox;
mod schedule;
mod selection;
mod serving;
mod side_by_side;
mod specifications;
mod standing;
mod steps;
mod surroundings;
mod task_list;
mod test_facts;
mod test_history;
#[cfg(test)]
mod testing;
mod tool_version;
mod workspace;

pub use agent::{Completion, GrantedRetest, RetestRefusal};
pub use approval::{ApprovalQuestion, ApprovedBy};
pub use approval_request::{approval_counts, approval_faults};
pub use archive::{Archive, ArchivedRun, RegisteredProject};
pub use archiving::{Archived, ArchivedFrom, archive, plan_archiving};
pub use consultation::{ModelRequest, OwnToolRequest};
pub use cycle::{Attendance, CycleChange};
pub use dependency::{UnmetDependency, WhyUnmet};
pub use environment::{ChildEnvironment, EnvironmentSettings, passed_on};
pub use error::RunError;
pub use examination::{Examination, ExaminationRequest, LevelFound, examine};
pub use machine::{FileSystemType, InotifyLimits, Machine, ProjectFound, Space, ToolFound};
pub use mended_index::Announce;
pub use progress::Progress;
pub use proposal::{Proposal, ReviewedSpecification, review_specification};
pub use queue::QueueSettings;
pub use refuse::Refusal;
pub use registration::{Doubt, Identity, Registration};
pub use request::{Carried, RunRequest, Scope, Sealed, Settings, new_matcher};
pub use retention::{Pruned, plan_pruning, prune};
pub use sandbox::SandboxError;
pub use selection::Checks;
pub use serving::record_serving;
pub use specifications::{Specifications, TaskError, read_text};
pub use standing::{Described, Undescribed};
pub use task_list::keep_task_list;
pub use workspace::{StepObserver, Workspace};
