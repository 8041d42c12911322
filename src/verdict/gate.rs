//! Judges from the runs on a commit's tree whether the commit is proved (P6). Pure.
//!
//! The newest result of a check on this tree counts. A result that the policy does not accept is passed over, and an older one counts
//! in its place; but a failure that is newer than every accepted result counts as a failure.

use std::fmt;

use crate::model::{
    Blocking, CheckOutcome, CheckRecord, CommandExit, GatePolicy, IsolationLevel, OverallResult, OverallStatus, RunId, RunRecord,
    TaskId, Timestamp,
};

/// Whether a commit is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateState {
    /// Everything that the policy requires passed on exactly this tree.
    Proved,
    /// Something that the policy requires failed on this tree.
    Red,
    /// Something that the policy requires was not run on this tree.
    NotTested,
    /// There are results, and the policy does not accept them; or nothing can be said of the commit.
    NotAccepted,
}

/// What a policy requires: a whole task, or a check by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateSubject {
    Task(TaskId),
    Check(String),
}

/// The judgement on one thing that the policy requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateJudgement {
    pub subject: GateSubject,
    pub state: GateState,
    /// The runs that decided, newest first.
    pub runs: Vec<RunId>,
    /// Why it is not proved; empty if it is.
    pub reasons: Vec<GateReason>,
}

/// Why something that a policy requires is not proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateReason {
    /// No run on this tree has a result.
    NotRun,
    /// Runs on this tree have no result for these checks.
    ChecksNotRun(Vec<String>),
    /// These checks failed in the run; empty if the run failed for another reason.
    Failed { run: RunId, checks: Vec<String> },
    /// The run was isolated less than the policy requires.
    Weaker { run: RunId, level: IsolationLevel, least: IsolationLevel },
    /// The run ended too long ago.
    TooOld { run: RunId, ended: Timestamp },
    /// The run passed, and its task waits for a person.
    PersonNeeded { run: RunId },
    /// The ledger's line, of an earlier version of proctor, does not say which checks the run covers.
    UnnamedChecks { run: RunId },
}

impl GateState {
    /// Returns the exit code of `proctor gate`.
    pub fn exit(self) -> CommandExit {
        match self {
            Self::Proved => CommandExit::Proceed,
            Self::Red => CommandExit::CodeNeedsWork,
            Self::NotTested => CommandExit::NoFreshVerdict,
            Self::NotAccepted => CommandExit::PersonNeeded,
        }
    }

    /// Returns the word for documents that programs read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Red => "red",
            Self::NotTested => "not-tested",
            Self::NotAccepted => "not-accepted",
        }
    }
}

impl fmt::Display for GateSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(formatter, "task {}", task.as_str()),
            Self::Check(name) => write!(formatter, "check {name}"),
        }
    }
}

impl fmt::Display for GateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRun => formatter.write_str("no run on this tree has a result"),
            Self::ChecksNotRun(names) => write!(formatter, "no result on this tree: {}", names.join(", ")),
            Self::Failed { run, checks } if checks.is_empty() => write!(formatter, "failed in {run}"),
            Self::Failed { run, checks } => write!(formatter, "failed in {run}: {}", checks.join(", ")),
            Self::Weaker { run, level, least } => {
                write!(formatter, "{run} was isolated by {} only, and {} is required", level.word(), least.word())
            }
            Self::TooOld { run, ended } => write!(formatter, "{run} ended {ended}, which is longer ago than `max_age` allows"),
            Self::PersonNeeded { run } => write!(formatter, "{run} passed, and its task waits for a person"),
            Self::UnnamedChecks { run } => {
                write!(formatter, "{run} is of an earlier version, which did not record the checks that it covers")
            }
        }
    }
}

/// Judges what a policy requires, from the sealed runs on a commit's tree, newest first.
pub fn judge_gate(policy: &GatePolicy, runs: &[RunRecord], now: Timestamp) -> Vec<GateJudgement> {
    let of_tasks = |tasks: &[TaskId]| -> Vec<&RunRecord> { runs.iter().filter(|run| tasks.contains(&run.task)).collect() };
    if policy.checks.is_empty() {
        let judge = |task: &TaskId| {
            let (state, runs, reasons) = judge_task(policy, &of_tasks(std::slice::from_ref(task)), now);
            GateJudgement { subject: GateSubject::Task(task.clone()), state, runs, reasons }
        };
        return policy.tasks.iter().map(judge).collect();
    }
    let runs = of_tasks(&policy.tasks);
    let judge = |name: &String| {
        let (state, runs, reasons) = judge_check(policy, name, &runs, now);
        GateJudgement { subject: GateSubject::Check(name.clone()), state, runs, reasons }
    };
    policy.checks.iter().map(judge).collect()
}

/// Returns the state of the whole commit: the worst state of what the policy requires.
pub fn overall_state(judgements: &[GateJudgement]) -> GateState {
    let states = [GateState::Red, GateState::NotAccepted, GateState::NotTested];
    let has = |state: &GateState| judgements.iter().any(|judgement| judgement.state == *state);
    let proved = if judgements.is_empty() { GateState::NotTested } else { GateState::Proved };
    states.into_iter().find(has).unwrap_or(proved)
}

type Judged = (GateState, Vec<RunId>, Vec<GateReason>);

fn judge_task(policy: &GatePolicy, runs: &[&RunRecord], now: Timestamp) -> Judged {
    let mut reasons = Vec::new();
    for (position, run) in runs.iter().enumerate() {
        match result(run) {
            None => {}
            Some(OverallResult::Failed) if reasons.is_empty() => return failed(run, blocking_checks(run)),
            Some(OverallResult::Failed) => break,
            Some(OverallResult::Passed) => match objection(policy, run, now) {
                Some(reason) => reasons.push(reason),
                None => match missing_checks(run) {
                    None => reasons.push(GateReason::UnnamedChecks { run: run.run_id.clone() }),
                    Some(missing) => {
                        let same_plan: Vec<&RunRecord> =
                            runs[position + 1..].iter().copied().filter(|other| is_same_plan(other, run)).collect();
                        let found: Vec<(String, Judged)> = missing
                            .into_iter()
                            .map(|name| {
                                let judged = judge_check(policy, &name, &same_plan, now);
                                (name, judged)
                            })
                            .collect();
                        if let Some((_, red)) = found.iter().find(|(_, (state, _, _))| *state == GateState::Red) {
                            return red.clone();
                        }
                        let open: Vec<&(String, Judged)> =
                            found.iter().filter(|(_, (state, _, _))| *state != GateState::Proved).collect();
                        if open.is_empty() {
                            let mut deciding = vec![run.run_id.clone()];
                            for run in found.iter().flat_map(|(_, (_, runs, _))| runs) {
                                if !deciding.contains(run) {
                                    deciding.push(run.clone());
                                }
                            }
                            return (GateState::Proved, deciding, Vec::new());
                        }
                        reasons.push(GateReason::ChecksNotRun(open.into_iter().map(|(name, _)| name.clone()).collect()));
                    }
                },
            },
        }
    }
    unproved(reasons)
}

fn judge_check(policy: &GatePolicy, name: &str, runs: &[&RunRecord], now: Timestamp) -> Judged {
    let mut reasons = Vec::new();
    for run in runs {
        let Some(blocking) = check_result(run, name) else { continue };
        match blocking {
            Blocking::Blocks if reasons.is_empty() => return failed(run, vec![name.to_owned()]),
            Blocking::Blocks => break,
            Blocking::Allowed => match objection(policy, run, now) {
                Some(reason) => reasons.push(reason),
                None => return (GateState::Proved, vec![run.run_id.clone()], Vec::new()),
            },
        }
    }
    if reasons.is_empty() {
        reasons.push(GateReason::ChecksNotRun(vec![name.to_owned()]));
    }
    unproved(reasons)
}

fn failed(run: &RunRecord, checks: Vec<String>) -> Judged {
    let run = run.run_id.clone();
    (GateState::Red, vec![run.clone()], vec![GateReason::Failed { run, checks }])
}

/// Returns the judgement where no run proves anything. Only the first reason is kept: it is about the newest run.
fn unproved(reasons: Vec<GateReason>) -> Judged {
    let reason = reasons.into_iter().next().unwrap_or(GateReason::NotRun);
    let state = match reason {
        GateReason::NotRun | GateReason::ChecksNotRun(_) => GateState::NotTested,
        GateReason::Failed { .. }
        | GateReason::Weaker { .. }
        | GateReason::TooOld { .. }
        | GateReason::PersonNeeded { .. }
        | GateReason::UnnamedChecks { .. } => GateState::NotAccepted,
    };
    (state, Vec::new(), vec![reason])
}

/// Returns why the policy does not accept a run that passed.
fn objection(policy: &GatePolicy, run: &RunRecord, now: Timestamp) -> Option<GateReason> {
    let level = run.isolation.unwrap_or(IsolationLevel::Namespace);
    let run_id = || run.run_id.clone();
    if level > policy.isolation {
        return Some(GateReason::Weaker { run: run_id(), level, least: policy.isolation });
    }
    let age = now.as_millis().saturating_sub(run.ended.as_millis());
    if policy.max_age.is_some_and(|most| u128::try_from(age).is_ok_and(|age| age > most.as_millis())) {
        return Some(GateReason::TooOld { run: run_id(), ended: run.ended });
    }
    // Where a check is asked for by its name, another check of its run may have failed.
    let is_accepted = run.exit.is_none_or(|exit| matches!(exit, CommandExit::Proceed | CommandExit::CodeNeedsWork));
    (!is_accepted).then(|| GateReason::PersonNeeded { run: run_id() })
}

/// Returns the verdict of a run; `None` for a run that says nothing about its tree.
fn result(run: &RunRecord) -> Option<OverallResult> {
    match run.overall_status {
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed => run.overall_result,
        OverallStatus::SpecificationError | OverallStatus::Interrupted | OverallStatus::Superseded | OverallStatus::Moved => None,
    }
}

/// Returns what a run on this tree says about a check; `None` if it says nothing.
fn check_result(run: &RunRecord, name: &str) -> Option<Blocking> {
    result(run)?;
    run.results.iter().flatten().filter(|record| record.name == name).find_map(own_result)
}

/// Returns a check's result if it was carried out on the run's own tree.
fn own_result(record: &CheckRecord) -> Option<Blocking> {
    match &record.outcome {
        CheckOutcome::CarriedOut { blocking } | CheckOutcome::Reused { blocking, other_tree: None, .. } => Some(*blocking),
        CheckOutcome::Reused { other_tree: Some(_), .. } | CheckOutcome::LeftOut | CheckOutcome::Skipped => None,
    }
}

/// Returns the checks of a run's plan that have no result on the run's tree; `None` if the run does not name its checks.
fn missing_checks(run: &RunRecord) -> Option<Vec<String>> {
    let records = run.results.as_deref()?;
    Some(records.iter().filter(|record| own_result(record).is_none()).map(|record| record.name.clone()).collect())
}

fn blocking_checks(run: &RunRecord) -> Vec<String> {
    let records = run.results.iter().flatten().filter(|record| own_result(record) == Some(Blocking::Blocks));
    records.map(|record| record.name.clone()).collect()
}

fn is_same_plan(one: &RunRecord, other: &RunRecord) -> bool {
    one.plan_digest.is_some() && one.plan_digest == other.plan_digest
}

#[cfg(test)]
mod tests;
