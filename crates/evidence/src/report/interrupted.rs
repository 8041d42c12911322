//! Builds the report of a run whose process died, from its start record and the files it left.

use crate::report::build::{sorted_by_name, unsealed};
use crate::report::unrun::{tree_before, unrun_report};
use crate::report::{ExecutionReportV2, ExecutionSummaryV2, ProjectV2, RecoveryFacts, TestSpecificationV2};
use proctor_model::{OverallStatus, PlanNote, RunId, Timestamp};

const REASON: &str = "the run was cut short: the process that carried it out ended before the run did";

/// Returns the report of a run that died before it wrote a report (S2, E17): INTERRUPTED, without a verdict and without
/// counts.
///
/// The time of the run's end is not known, so end and duration are left out. `evidenceFiles` lists the files as they
/// were found. If the start record cannot be read, tree, trigger, plan and process are missing too, and the start time is taken
/// from the run's id, or else is the time when the run was found.
pub fn interrupted_report(recovery: &RecoveryFacts) -> ExecutionReportV2 {
    let details = recovery.start.as_ref().map(|start| &start.details);
    let mut notes = Vec::new();
    let start_time = details.map(|details| details.started).or_else(|| start_named_by(&recovery.run_id)).unwrap_or_else(|| {
        notes.push(note("the start record cannot be read and the run's id names no time; startTime is when the run was found"));
        recovery.recovered_at
    });
    let project = details.map(|details| details.project.clone());
    let project = project.unwrap_or_else(|| ProjectV2 { id: recovery.project_id.clone(), name: None });
    let specification = details.map(|details| details.test_specification.clone());
    let specification = specification.unwrap_or_else(|| TestSpecificationV2 {
        file: None,
        schema_version: None,
        task_id: recovery.task.clone(),
        task_title: None,
        sprint_id: None,
        origin: None,
        plan_digest: None,
    });
    let authenticity = unsealed(recovery.run_id.clone(), details.map(|details| details.process_id));
    let summary = summary_of_unknown(start_time);
    ExecutionReportV2 {
        trigger: details.map(|details| details.trigger.clone()),
        tree: details.map(|details| tree_before(details.tree_digest, details.tree_format, Vec::new())),
        notes,
        evidence_files: sorted_by_name(&recovery.evidence_files),
        ..unrun_report(recovery.recovered_at, project, specification, summary, REASON, authenticity)
    }
}

fn summary_of_unknown(start_time: Timestamp) -> ExecutionSummaryV2 {
    ExecutionSummaryV2 {
        overall_status: OverallStatus::Interrupted,
        start_time,
        end_time: None,
        total_duration: None,
        action_counts: None,
        action_results: None,
        test_results: None,
    }
}

fn note(message: &str) -> PlanNote {
    PlanNote { subject: "run".to_owned(), message: message.to_owned() }
}

/// Returns the time in a run's id: `exec-20260304T093000.120Z-000042` began at 2026-03-04T09:30:00.120Z.
fn start_named_by(run_id: &RunId) -> Option<Timestamp> {
    let stamp = run_id.as_str().strip_prefix("exec-")?.split('-').next()?;
    let (date, time) = stamp.split_once('T')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let date = format!("{}-{}-{}", part(date, 0, 4)?, part(date, 4, 6)?, part(date, 6, 8)?);
    let time = format!("{}:{}:{}", part(time, 0, 2)?, part(time, 2, 4)?, time.get(4..)?);
    Timestamp::try_from(format!("{date}T{time}")).ok()
}

#[cfg(test)]
mod tests {
    use super::start_named_by;
    use proctor_model::{RunId, Timestamp};

    #[test]
    fn a_runs_id_names_its_beginning() {
        let start = Timestamp::from_millis(1_772_616_600_120);
        assert_eq!(start_named_by(&RunId::new(start, 42)), Some(start));
        let no_time = RunId::try_from("exec-20269904T093000.120Z-000042").expect("digits are all that is checked");
        assert_eq!(start_named_by(&no_time), None);
    }
}
