//! Adds observations that are not process output to an action's entry in the report.

use crate::report::exchange_records::{fault, text_of};
use crate::report::{ActionOutcomeV2, ConnectionDiagnosticsV2, DiagnosticsV2, HealthCheckV2, PortCheckV2, PortProcessV2};
use proctor_model::{
    Action, Diagnosis, Exchange, ExchangeOutcome, FileObservation, FileState, HealthObservation, HealthResult, Observation,
    PortObservation, ServiceObservation,
};

/// Adds the observations to an outcome. If there was no process, the fields about a process are removed. `is_wrong` says whether
/// the action did not succeed: then the answer of a server is shown, because it is needed to mend the server.
pub(super) fn with_observed(
    action: &Action,
    observed: &Observation,
    is_wrong: bool,
    outcome: ActionOutcomeV2,
) -> ActionOutcomeV2 {
    match observed {
        Observation::Nothing => outcome,
        Observation::File(seen) => outcome_with_file(action, seen, without_process(outcome)),
        Observation::Exchange(exchange) => outcome_with_exchange(action, is_wrong, exchange, without_process(outcome)),
        Observation::Service(seen) => outcome_with_service(seen, outcome),
        Observation::Review(seen) => ActionOutcomeV2 { review: Some(seen.as_ref().clone()), ..outcome },
    }
}

/// Returns the outcome without exit code, signal and output, because no process was started.
fn without_process(outcome: ActionOutcomeV2) -> ActionOutcomeV2 {
    ActionOutcomeV2 {
        timeout: outcome.timeout,
        actual_duration: outcome.actual_duration,
        warnings: outcome.warnings,
        ..ActionOutcomeV2::default()
    }
}

fn outcome_with_file(action: &Action, seen: &FileObservation, outcome: ActionOutcomeV2) -> ActionOutcomeV2 {
    let outcome = ActionOutcomeV2 { file_path: Some(seen.path.clone()), ..outcome };
    match &seen.look {
        FileState::Found(found) => ActionOutcomeV2 {
            file_exists: Some(true),
            file_size: Some(found.bytes),
            last_modified: Some(found.modified),
            file_contents: found.content.as_deref().filter(|_| action.capture.file_contents).map(text_of),
            ..outcome
        },
        FileState::Missing => ActionOutcomeV2 { file_exists: Some(false), ..outcome },
        // Something is there that is no file, or not in the judged tree; nobody looked at it; or the check ended early.
        FileState::Refused(_)
        | FileState::NotInTree { .. }
        | FileState::Outside(_)
        | FileState::OutOfTime
        | FileState::Stopped(_) => outcome,
    }
}

fn outcome_with_exchange(action: &Action, is_wrong: bool, exchange: &Exchange, outcome: ActionOutcomeV2) -> ActionOutcomeV2 {
    let diagnostics = exchange.diagnosis.as_ref().map(connection).unwrap_or_default();
    let outcome = ActionOutcomeV2 { error: fault(&exchange.outcome, exchange.duration), diagnostics, ..outcome };
    match &exchange.outcome {
        ExchangeOutcome::Answered(answer) => ActionOutcomeV2 {
            status_code: Some(answer.status),
            response_body: (action.capture.request_response || is_wrong).then(|| text_of(&answer.body)),
            ..outcome
        },
        ExchangeOutcome::Unanswered(_)
        | ExchangeOutcome::Unsendable(_)
        | ExchangeOutcome::OutOfTime
        | ExchangeOutcome::Stopped(_) => outcome,
    }
}

fn outcome_with_service(seen: &ServiceObservation, outcome: ActionOutcomeV2) -> ActionOutcomeV2 {
    let said = outcome.stderr.clone().filter(|text| !text.trim().is_empty()).or_else(|| outcome.stdout.clone());
    let port_check = seen.port.as_ref().map(port_check);
    let diagnostics = ConnectionDiagnosticsV2 { port_check, ..ConnectionDiagnosticsV2::default() };
    ActionOutcomeV2 {
        timeout: outcome.timeout.or(Some(seen.timeout.into())),
        actual_duration: outcome.actual_duration.or(Some(seen.duration)),
        server_output: said.filter(|text| !text.trim().is_empty()),
        health_check: Some(health_check(&seen.health)),
        diagnostics: if diagnostics == ConnectionDiagnosticsV2::default() {
            outcome.diagnostics
        } else {
            DiagnosticsV2::Connection(Box::new(diagnostics))
        },
        ..outcome
    }
}

fn connection(diagnosis: &Diagnosis) -> DiagnosticsV2 {
    DiagnosticsV2::Connection(Box::new(ConnectionDiagnosticsV2 {
        server_health_check: diagnosis.health.as_ref().map(health_check),
        port_check: diagnosis.port.as_ref().map(port_check),
        dns_resolution: diagnosis.resolution.as_ref().map(resolution),
    }))
}

pub(super) fn health_check(seen: &HealthObservation) -> HealthCheckV2 {
    let result = match seen.result {
        HealthResult::Healthy => "HEALTHY",
        HealthResult::ConnectionRefused => "CONNECTION_REFUSED",
        HealthResult::Timeout => "TIMEOUT",
        HealthResult::Unhealthy => "UNHEALTHY",
        HealthResult::NotAttempted => "NOT_ATTEMPTED",
    };
    HealthCheckV2 {
        attempted: seen.result != HealthResult::NotAttempted,
        url: seen.target.clone(),
        result: result.to_owned(),
        detail: seen.detail.clone(),
        duration: seen.duration,
    }
}

fn port_check(seen: &PortObservation) -> PortCheckV2 {
    let process = seen.holders.first().map(PortProcessV2::from);
    PortCheckV2 { port: seen.port, in_use: process.is_some(), process }
}

/// Returns the addresses that a host name resolves to, or the lookup error, as text for people.
pub(super) fn resolution(seen: &Result<Vec<String>, String>) -> String {
    match seen {
        Ok(addresses) => addresses.join(", "),
        Err(why) => format!("failed: {why}"),
    }
}
