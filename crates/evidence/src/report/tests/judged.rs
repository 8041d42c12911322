//! A sample run of a task that has conditions and required evidence.

use crate::report::RunFacts;
use crate::report::samples::mixed_run;
use proctor_model::{
    ActualValue, ConditionValue, CriteriaEvaluation, EvidenceKind, JudgedCondition, JudgedExpectation, SpecificationSource,
    TaskCondition, TaskCriteria,
};

/// Returns a run with the conditions of the design document seed 004, one for each possible outcome.
pub(super) fn judged_run() -> RunFacts {
    let condition = |text: &str, decided, actual: &[(&str, Option<f64>)], reason: Option<&str>| JudgedCondition {
        condition: TaskCondition { condition: text.to_owned(), description: format!("What {text} stands for") },
        decided,
        actual: actual
            .iter()
            .map(|(reference, value)| ActualValue {
                reference: (*reference).to_owned(),
                value: value.map(ConditionValue::Number),
            })
            .collect(),
        unknown: actual.iter().filter(|(_, value)| value.is_none()).map(|(reference, _)| (*reference).to_owned()).collect(),
        reason: reason.map(str::to_owned),
    };
    let criteria = TaskCriteria {
        success: Vec::new(),
        failure: Vec::new(),
        expected_output: None,
        all_steps_must_pass: true,
        minimum_pass_rate_basis_points: Some(10_000),
        required_evidence: vec![EvidenceKind::TerminalOutput, EvidenceKind::TestExecutionLog, EvidenceKind::ApiResponses],
        task_status_lock: true,
        expected_failure: None,
    };
    let evaluation = CriteriaEvaluation {
        criteria,
        success: vec![
            condition("STEP.1.exitCode === 0", true, &[("STEP.1.exitCode", Some(0.0))], None),
            condition("STEP.3.exitCode === 0", false, &[("STEP.3.exitCode", Some(2.0))], Some("TypeScript found 1 error")),
        ],
        failure: vec![
            condition("STEP.9.statusCode !== 200", true, &[("STEP.9.statusCode", None)], Some("Not known: `STEP.9.statusCode`")),
            condition(
                "STEP.1.exitCode > STEP.3.exitCode",
                false,
                &[("STEP.1.exitCode", Some(0.0)), ("STEP.3.exitCode", Some(2.0))],
                None,
            ),
        ],
        expected_output: vec![JudgedExpectation {
            expectation: "standard error is empty".to_owned(),
            met: false,
            reason: Some("STEP.3 printed 12 bytes on it".to_owned()),
        }],
        missing_evidence: vec![EvidenceKind::ApiResponses],
        expected_failure: None,
    };
    let mut facts = RunFacts { criteria: Some(evaluation), ..mixed_run() };
    facts.plan.specification = Some(SpecificationSource {
        file: "specs/T117-test-specification.json".to_owned(),
        schema_version: "2.0.0".to_owned(),
        task_title: "Half-even rounding of invoice totals".to_owned(),
        sprint_id: "SPRINT_012".to_owned(),
        dependencies: Vec::new(),
        strictness: Vec::new(),
        filled: Default::default(),
    });
    facts
}
