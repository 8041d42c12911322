//! Carries one plan out: the order of its actions, the attempts of each, the judgement and the seal.
//!
//! The only place where process, tools, verdict, routing, report and evidence meet. It judges nothing itself: it asks the pure
//! folders and carries their answers on. A tool that fails is a value here; `project::RunError` is for proctor's own troubles only.
//! What outlives a run (registration, approvals, the index, retention) belongs to `project/`.
//!
//! Where to look: `carry_out` reads like the picture in the crate's documentation. `order` says which check comes first, `flow` which
//! steps are skipped after what has happened, `schedule` which checks may run at the same time; `steps` runs them one after the other,
//! `side_by_side` at the same time. `perform` is one action: prepare, supervise, interpret. `reuse` says when an earlier verdict
//! stands for a check, `queue` waits for other runs' actions, `http_client` sends a request and `diagnosis` says why no answer came.
//! `conclude` judges and seals, `debt` writes the debt file, `refuse` is the run of a specification that has errors.

mod carry_out;
mod conclude;
mod criteria_facts;
mod debt;
mod diagnosis;
mod earlier_runs;
mod flow;
mod health;
mod http_client;
mod old_report;
mod order;
mod perform;
mod prerequisite;
mod queue;
mod records;
mod refuse;
mod reuse;
mod review;
mod schedule;
mod side_by_side;
mod steps;
mod test_facts;
mod test_history;

pub(crate) use perform::not_started;
pub use refuse::RefusedRequest;
