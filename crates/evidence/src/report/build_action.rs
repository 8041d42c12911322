//! Builds the report's entry of one action.

use std::net::IpAddr;

use crate::report::exchange_records::{fault, text_of};
use crate::report::file_names::first_files;
use crate::report::records::execution;
use crate::report::redact::redact_cut_start;
use crate::report::wire::names;
use crate::report::{
    ActionDisposition, ActionFiles, ActionOutcomeV2, ActionResult, ActionResultV2, AttemptV2, ConnectionDiagnosticsV2,
    DiagnosticsV2, DispositionV2, EarlyStartV2, ExecutedAction, HealthCheckV2, ImpactV2, PortCheckV2, PortProcessV2,
    PrerequisiteImpactV2, ReusedAction, ReusedV2, ShownV2, SkipReason, excerpt, plain_text, redact_document,
};
use proctor_model::{
    Action, ActionId, ActionKind, ActionPhase, Blocking, Coverage, Diagnosis, DurationMs, EarlyUse, EndedAction, EvidenceFile,
    Exchange, ExchangeOutcome, FileObservation, FindingLevel, HealthObservation, HealthResult, Observation, PortObservation,
    ResultType, ServiceObservation, SystemFault, TestResults, WrittenActionType,
};

/// The most failures, and the most diagnostics, that the report lists for an action. Listed entries are never shortened
/// (E11), and the action's own file has all entries.
const LISTED_FINDINGS: usize = 500;

/// Returns the report's entry of one action for display during the run, with secrets redacted. It names no evidence
/// files, because they are not known yet.
pub fn action_result(facts: &ActionResult) -> ActionResultV2 {
    redact_document(build_action(facts, &[], &[]))
}

/// Returns the report's entry of one action. `all` holds the run's actions, to find what a failure kept from running.
/// `files` holds at least the files of this action.
pub(super) fn build_action(facts: &ActionResult, all: &[ActionResult], files: &[&EvidenceFile]) -> ActionResultV2 {
    let action = &facts.action;
    match &facts.disposition {
        ActionDisposition::Skipped(reason) => ActionResultV2 { skip_reason: Some(*reason), ..untouched(action, files) },
        ActionDisposition::Reused(reused) => build_reused(action, reused),
        ActionDisposition::Executed(executed) => ActionResultV2 {
            disposition: if executed.status().was_executed() { DispositionV2::Executed } else { DispositionV2::Invalid },
            status: Some(executed.status()),
            blocking: Some(executed.judgement.blocking == Blocking::Blocks),
            duration: Some(executed.ended.duration),
            attempts: (executed.attempt() > 1).then(|| executed.attempt()),
            flaky: (executed.attempt() > 1 && executed.status() == ResultType::Success && !is_review(action)).then_some(true),
            earlier_attempts: executed.earlier.clone(),
            result: Some(build_outcome(action, executed)),
            classification: Some(executed.judgement.classification.clone()),
            root_cause: root_cause(action, executed, all),
            impact: build_impact(action, executed, all),
            debt_generation: Some(executed.judgement.debt.clone()),
            agent_action: Some(executed.judgement.agent_action.clone()),
            early_start: build_early_start(executed),
            ..with_files(action, executed, files)
        },
    }
}

fn build_early_start(executed: &ExecutedAction) -> Option<EarlyStartV2> {
    match &executed.ended.kept.as_ref()?.reached.early {
        EarlyUse::NotTried => None,
        EarlyUse::Used => Some(EarlyStartV2 { used: true, why_not: None }),
        EarlyUse::Refused(why) => Some(EarlyStartV2 { used: false, why_not: Some(why.clone()) }),
    }
}

/// Returns the entry of an action that was carried out. It names only the files of the last attempt.
fn with_files(action: &Action, executed: &ExecutedAction, files: &[&EvidenceFile]) -> ActionResultV2 {
    let entry = untouched(action, files);
    let earlier: Vec<_> = executed.earlier.iter().flat_map(|attempt| &attempt.evidence_files).collect();
    let evidence_files: Vec<_> = entry.evidence_files.into_iter().filter(|name| !earlier.contains(&name)).collect();
    let evidence = first_files(action, executed.attempt()).into_iter().find(|name| evidence_files.contains(name));
    ActionResultV2 { evidence, evidence_files, ..entry }
}

/// Returns the record of an attempt that was followed by another attempt of the same action.
pub fn earlier_attempt(attempt: u32, executed: &ExecutedAction, files: &[EvidenceFile]) -> AttemptV2 {
    AttemptV2 {
        attempt,
        status: executed.status(),
        reason: executed.judgement.classification.reason.clone(),
        duration: executed.ended.duration,
        evidence_files: names(files),
    }
}

/// Returns the entry of an action that was not run, without the reason.
fn untouched(action: &Action, files: &[&EvidenceFile]) -> ActionResultV2 {
    ActionResultV2 {
        name: action.name.clone(),
        tool: action.tool_name().to_owned(),
        description: action.description.clone(),
        command: action.command.display.clone(),
        directory: named_directory(action),
        evidence_files: names_of(action, files),
        ..untouched_entry(&action.id, action.kind.action_type().into())
    }
}

/// Returns the entry of an action that was not run, without the reason and without texts.
pub(super) fn untouched_entry(action_id: &ActionId, action_type: WrittenActionType) -> ActionResultV2 {
    ActionResultV2 {
        action_id: action_id.clone(),
        name: action_id.to_string(),
        action_type,
        // Nothing was run, so no tool's output was read.
        tool: String::new(),
        disposition: DispositionV2::Skipped,
        skip_reason: None,
        status: None,
        blocking: None,
        description: String::new(),
        command: String::new(),
        directory: None,
        duration: None,
        evidence: None,
        evidence_files: Vec::new(),
        reused: None,
        attempts: None,
        flaky: None,
        earlier_attempts: Vec::new(),
        result: None,
        classification: None,
        root_cause: None,
        impact: None,
        debt_generation: None,
        agent_action: None,
        early_start: None,
    }
}

/// Returns the directory in which an action's command runs; `None` if it is the project's root.
fn named_directory(action: &Action) -> Option<String> {
    let directory = action.directory.to_string_lossy();
    (!directory.is_empty()).then(|| directory.into_owned())
}

/// Returns the entry of an earlier run, with the name and id that the action has now. The names of the earlier run's
/// files stand under `reused`, because this run's directory does not have these files.
fn build_reused(action: &Action, reused: &ReusedAction) -> ActionResultV2 {
    let earlier = reused.entry.clone();
    ActionResultV2 {
        action_id: action.id.clone(),
        name: action.name.clone(),
        description: action.description.clone(),
        command: action.command.display.clone(),
        directory: named_directory(action),
        disposition: DispositionV2::Reused,
        evidence: None,
        evidence_files: Vec::new(),
        reused: Some(ReusedV2 {
            run_id: reused.run_id.clone(),
            other_tree: reused.other_tree,
            evidence: earlier.evidence,
            evidence_files: earlier.evidence_files,
        }),
        ..earlier
    }
}

fn names_of(action: &Action, files: &[&EvidenceFile]) -> Vec<String> {
    let own = files.iter().filter(|file| file.action_id.as_deref() == Some(action.id.as_str()));
    let mut names: Vec<_> = own.map(|file| file.name.clone()).collect();
    names.sort();
    names
}

fn build_outcome(action: &Action, executed: &ExecutedAction) -> ActionOutcomeV2 {
    let ended = &executed.ended;
    let interpretation = &executed.interpretation;
    let ending = execution(ended);
    let stdout = excerpt(&ended.captured.stdout);
    let stderr = excerpt(&ended.captured.stderr);
    let was_started = ending.error.is_none() || stdout.shown.total_bytes + stderr.shown.total_bytes > 0;
    let hit_limit = ending.limit.is_some();
    let time_limit = ending.limit.and_then(|limit| action.limit_value(limit)?.time());
    let mut warnings = interpretation.warnings.clone();
    let test_results = interpretation.test_results.as_ref().map(|results| limit_failures(action, results, &mut warnings));
    let diagnostics: Vec<_> = executed.judgement.diagnostics.iter().take(LISTED_FINDINGS).cloned().collect();
    note_what_is_left_out(action, "diagnostics", executed.judgement.diagnostics.len(), &mut warnings);
    warnings.extend(unlisted_note(executed));
    let outcome = ActionOutcomeV2 {
        exit_code: ending.exit_code,
        signal: ending.signal,
        // If the process never started, or its end is unknown, it is not known whether it was killed.
        killed: ending.error.is_none().then_some(ending.killed),
        error: ending.error,
        ready_after: executed.ready_after,
        timeout: time_limit.map(DurationMs::from),
        actual_duration: hit_limit.then_some(ended.duration),
        partial_output: hit_limit.then(|| partial_output(ended)),
        last_update: if hit_limit { ended.captured.last_output } else { None },
        test_results,
        diagnostics: DiagnosticsV2::Findings(diagnostics),
        summary: executed.judgement.summary,
        coverage: finite(interpretation.coverage),
        shards: interpretation.shards,
        report_channel: interpretation.report_channel.map(str::to_owned),
        examined: interpretation.examined,
        control: interpretation.control.clone(),
        warnings,
        survivors: ended.survivors.clone(),
        pipes_left_open: ended.captured.pipes_left_open.then_some(true),
        stdout: (was_started && action.capture.stdout).then_some(stdout.text),
        stdout_shown: non_empty_excerpt(stdout.shown).filter(|_| action.capture.stdout),
        stderr: (was_started && action.capture.stderr).then_some(stderr.text),
        stderr_shown: non_empty_excerpt(stderr.shown).filter(|_| action.capture.stderr),
        ..ActionOutcomeV2::default()
    };
    let is_wrong = executed.judgement.classification.category != ResultType::Success;
    let outcome = with_observed(action, &executed.observed, is_wrong, outcome);
    let advice = &interpretation.advice;
    ActionOutcomeV2 { expected: advice.expected.clone(), received: advice.received.clone(), ..outcome }
}

/// Returns the end of the output. If the cut may have split a secret token, the rest of the token is removed.
fn partial_output(ended: &EndedAction) -> String {
    let tail = plain_text(&String::from_utf8_lossy(&ended.captured.log_tail));
    let is_whole = ended.captured.log_bytes <= ended.captured.log_tail.len() as u64;
    if is_whole { tail } else { redact_cut_start(tail) }
}

fn non_empty_excerpt(shown: ShownV2) -> Option<ShownV2> {
    (shown.total_bytes > 0).then_some(shown)
}

fn limit_failures(action: &Action, results: &TestResults, warnings: &mut Vec<String>) -> TestResults {
    note_what_is_left_out(action, "failed tests", results.failures.len(), warnings);
    let failures = results.failures.iter().take(LISTED_FINDINGS).cloned().collect();
    TestResults { failures, ..*results }
}

fn note_what_is_left_out(action: &Action, what: &str, found: usize, warnings: &mut Vec<String>) {
    if found > LISTED_FINDINGS {
        let files = ActionFiles::of(action);
        let place = files.findings.unwrap_or(files.log).name;
        warnings.push(format!("{LISTED_FINDINGS} of {found} {what} are listed here, all of them in `{place}`"));
    }
}

/// Returns a note about how many findings are only in the log; `None` if no finding is only there.
fn unlisted_note(executed: &ExecutedAction) -> Option<String> {
    let count = |level| executed.interpretation.unlisted.count(level);
    let unlisted = count(FindingLevel::Error) + count(FindingLevel::Warning);
    (unlisted > 0).then(|| format!("{unlisted} further diagnostics are counted and stand in the log alone"))
}

/// Returns the coverage if both of its numbers are finite, because JSON cannot express infinity or NaN.
pub(super) fn finite(coverage: Option<Coverage>) -> Option<Coverage> {
    coverage.filter(|coverage| coverage.percent.is_finite() && coverage.required.is_finite())
}

/// Returns the failed prerequisite that should have listened at the port of a step's unanswered request (C09).
fn root_cause(action: &Action, executed: &ExecutedAction, all: &[ActionResult]) -> Option<ActionId> {
    let fault = unanswered(executed).filter(|_| action.phase == ActionPhase::Step)?;
    let is_here = fault.address.as_deref().and_then(|text| text.parse::<IpAddr>().ok()).is_some_and(|ip| ip.is_loopback());
    let is_cause = |facts: &&ActionResult| {
        let ActionDisposition::Executed(before) = &facts.disposition else { return false };
        let service = facts.action.service.as_ref().and_then(|service| service.ready.port());
        let port = service.or_else(|| unanswered(before).and_then(|fault| fault.port));
        let failed = facts.action.phase == ActionPhase::Prerequisite && before.status() != ResultType::Success;
        failed && port.is_some() && port == fault.port
    };
    all.iter().find(is_cause).filter(|_| is_here).map(|facts| facts.action.id.clone())
}

/// Returns the connection error of a request that got no answer; `None` for anything else.
fn unanswered(executed: &ExecutedAction) -> Option<&SystemFault> {
    match &executed.observed {
        Observation::Exchange(exchange) => match &exchange.outcome {
            ExchangeOutcome::Unanswered(fault) => Some(fault),
            ExchangeOutcome::Answered(_)
            | ExchangeOutcome::Unsendable(_)
            | ExchangeOutcome::OutOfTime
            | ExchangeOutcome::Stopped(_) => None,
        },
        Observation::Nothing | Observation::File(_) | Observation::Service(_) | Observation::Review(_) => None,
    }
}

/// Returns whether the action is a review. A review is repeated because its output had no verdict, and not because it
/// failed.
fn is_review(action: &Action) -> bool {
    matches!(action.kind, ActionKind::Review(_))
}

fn build_impact(action: &Action, executed: &ExecutedAction, all: &[ActionResult]) -> Option<ImpactV2> {
    // A failure that the policy allows, or that the run continues after, keeps nothing from running.
    let keeps = executed.judgement.blocking == Blocking::Blocks && !action.continue_on_failure;
    if action.phase != ActionPhase::Prerequisite || executed.status() == ResultType::Success || !keeps {
        return None;
    }
    let steps = || all.iter().filter(|facts| facts.action.phase == ActionPhase::Step);
    let skipped = steps().filter(|facts| facts.disposition == ActionDisposition::Skipped(SkipReason::PrerequisiteFailed)).count();
    let impact = || PrerequisiteImpactV2 {
        subsequent_steps_skipped: skipped as u64,
        test_execution_aborted: skipped == steps().count(),
        reason: format!("the checks need `{}`, which did not succeed", action.name),
    };
    (skipped > 0).then(|| ImpactV2::Prerequisite(impact()))
}

// Adds observations that are not process output to an action's entry in the report.

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
    let found = seen.found();
    let content = found.and_then(|found| found.content.as_deref());
    ActionOutcomeV2 {
        file_path: Some(seen.path.clone()),
        file_exists: seen.exists(),
        file_size: found.map(|found| found.bytes),
        last_modified: found.map(|found| found.modified),
        file_contents: content.filter(|_| action.capture.file_contents).map(text_of),
        ..outcome
    }
}

fn outcome_with_exchange(action: &Action, is_wrong: bool, exchange: &Exchange, outcome: ActionOutcomeV2) -> ActionOutcomeV2 {
    let diagnostics = exchange.diagnosis.as_ref().map(connection).unwrap_or_default();
    let answer = exchange.answer();
    let shows_body = action.capture.request_response || is_wrong;
    ActionOutcomeV2 {
        error: fault(&exchange.outcome, exchange.duration),
        diagnostics,
        status_code: answer.map(|answer| answer.status),
        response_body: answer.filter(|_| shows_body).map(|answer| text_of(&answer.body)),
        ..outcome
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
