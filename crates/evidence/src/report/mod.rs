//! The execution report for people and agents: its wire format, the records beside it, and the code that builds them.
//!
//! This folder owns the keys (those of seed 004, with the additions of E15), the excerpts of output, the names of evidence files,
//! and the report's hash. Everything is a pure function of its inputs: it reads no clock and no file, judges nothing, and reports
//! only what was seen. A key that cannot be filled truthfully is absent; `tests/unfilled.rs` lists those of the seed with the
//! reason. Equal inputs give equal bytes.
//!
//! The judgements come from `verdict/` and `routing/`, collected by `run/` in [`RunFacts`]; `evidence/` stores the bytes.

mod action_result;
mod attested;
mod build;
mod build_action;
mod build_debt;
mod bytes;
mod environment;
mod excerpt;
mod exchange_records;
mod facts;
mod failed;
mod file_names;
mod formats;
mod outgoing;
mod plain_text;
mod records;
mod redact;
mod redact_shapes;
mod refused;
mod sums;
mod task_list;
mod unrun;
mod wire;

pub use action_result::{ActionDisposition, ActionResult, ExecutedAction, ReusedAction};
pub use attested::{AttestedRun, AttestedTests, attested};
pub use build::{GENERATED_BY, build, test_specification, with_evidence_files};
pub use build_action::{action_result, earlier_attempt};
pub use build_debt::{DEBT_SCHEMA, build_debt, with_debt};
pub use bytes::{
    ReportError, parse, parse_debt, parse_run_start, parse_with_hash, report_hash, seal_debt_hash, seal_hash, to_bytes,
};
pub use environment::{environment_record, looks_like_a_secret};
pub use excerpt::{EXCERPT_HEAD, EXCERPT_TAIL, Excerpt, excerpt};
pub use exchange_records::{EXCHANGE_SCHEMA, FILE_SCHEMA, ObservationFacts, exchange_record, file_record};
pub use facts::{
    ActionRecordFacts, CompletionFacts, InvalidFacts, RecoveryFacts, RefusalFacts, RefusedAction, RouteFacts, RunFacts,
    RunStartFacts, TreeFacts,
};
pub use failed::*;
pub use file_names::{
    ActionFiles, DEBT_FILE, EXECUTION_REPORT_FILE, NamedFile, ObservationFiles, RUN_START_FILE, describe_found_file,
};
pub use formats::{ExportedRun, export_texts, workflow_error};
pub use outgoing::{OutgoingRedactor, relative_paths};
pub use plain_text::plain_text;
pub use records::{
    ACTION_SCHEMA, DIAGNOSTICS_SCHEMA, RUN_SCHEMA, TEST_RESULTS_SCHEMA, action_record, diagnostics_record, run_start_details,
    test_results_record,
};
pub use redact::{redact_document, redact_text, redact_to_bytes};
pub use refused::{refused_report, refused_start};
pub use sums::count_checks;
pub use task_list::{TaskListUpdate, TaskLists, TaskState, TaskVerdict, build_task_lists, plan_task_list_update};
pub use unrun::interrupted_report;
pub use wire::*;

#[cfg(any(test, feature = "testing"))]
pub mod samples;
#[cfg(test)]
mod tests;
