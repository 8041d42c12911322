//! Answers to agents: whether a task is complete, and whether its checks may be run again (a retest). The facts are
//! computed and never taken from the request.
//!
//! [`TaskCompletion`] is read from the sealed report of the last run, and only if its verdict is for the current tree.
//! [`decide_retest`] grants a retest within the task's budget; the grant is a line in the ledger, so a restart does not
//! refill the budget. No run is started here: the caller starts it after a grant.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use crate::lowered_verdict::changed_rules_text;
use proctor_evidence::report::{ActionResultV2, CachesV2, ExecutionReportV2};
use proctor_evidence::{self as evidence, LedgerLookup, Store};
use proctor_index::RunsJudgedBy;
use proctor_model::{
    CachesSeen, CheckCoverage, CheckOutcome, CheckRecord, CommandExit, CompletionStatus, CurrentToolchains, Digest, Freshness,
    LastVerdict, LedgerBody, LedgerLine, OverallResult, PauseRecord, PersonAsked, ProjectId, ProjectStatus, ResultType,
    RetestRecord, RunId, RunLine, StaleReason, TaskCompletion, TaskId, TestedPlace, TreeDigest, VerdictStatus, checks_sentence,
    newest_fresh_failure,
};
use proctor_project::{
    DescribedProject, Evidence, KnownAsked, ProjectError, ProjectScope, RetestRefusal, ToolchainNames, Workspace,
    changed_toolchains, current_toolchains, read_debt, sealed_report,
};
use proctor_tree::TreeHints;

/// A retest that was granted. A line of the ledger records the grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantedRetest {
    /// How many retests were granted since the task last passed or a person last decided on its cycle, including this
    /// one.
    pub number: u32,
    /// How many retests are allowed until the task passes or a person decides on its cycle.
    pub budget: u32,
}

/// The facts that decide whether a retest is granted.
#[derive(Debug, Clone)]
struct RetestFacts {
    paused: Option<PauseRecord>,
    last: Option<Judged>,
    /// The tree of a granted retest whose run has not been sealed yet; `None` if no granted retest waits for its run.
    waiting: Option<TreeDigest>,
    tree: TreeDigest,
    plan: Digest,
    used: u32,
    budget: u32,
}

/// The task's last run. A retest is refused if neither the tree nor the plan has changed since that run.
#[derive(Debug, Clone)]
struct Judged {
    run_id: RunId,
    tree: Option<TreeDigest>,
    plan: Option<Digest>,
    passed: bool,
}

/// Returns whether a task is complete, after reading the whole tree.
///
/// # Errors
///
/// When the tree cannot be read, or the task's report differs from the sealed one.
pub fn completion_now(
    workspace: &mut Workspace,
    scope: &ProjectScope,
    described: DescribedProject<'_>,
    task: &TaskId,
) -> Result<TaskCompletion, ProjectError> {
    let standing = workspace.project_status(scope, Ok(described), &[], (&TreeHints::Everything, KnownAsked::Never))?;
    completion(&workspace.evidence.store, &workspace.runner.ambient, &standing, task)
}

/// Grants a retest of the plan's task and records the grant in the ledger. The caller starts the run.
///
/// # Errors
///
/// [`ProjectError::Retest`] when the retest is refused; other errors when the tree, the ledger or the index cannot
/// be read or written.
pub fn grant_retest(
    workspace: &mut Workspace,
    scope: &ProjectScope,
    described: DescribedProject<'_>,
) -> Result<GrantedRetest, ProjectError> {
    let (project, task, settings) = (&scope.project, &described.plan.task, described.settings);
    let lock = workspace.evidence.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
    let mut ledger = workspace.evidence.recovered_ledger(&lock, scope, &mut |_| {})?;
    workspace.evidence.catch_up(project)?;
    let retests = read_retests(&workspace.evidence.store, project, task)?;
    let tree = workspace.trees.known.scan(&workspace.evidence.store, settings, scope, &TreeHints::Everything)?.digest();
    let plan = proctor_plan::spec::plan_digest(described.plan);
    let names = ToolchainNames::new(&scope.root, &workspace.runner.ambient);
    let facts = RetestFacts {
        paused: workspace.evidence.tdd(project, task)?.paused,
        last: judged(&workspace.evidence, &names, project, task, (plan, tree))?,
        waiting: retests.waiting,
        tree,
        plan,
        used: retests.used,
        budget: settings.routing.max_retests,
    };
    let granted = decide_retest(&facts).map_err(ProjectError::Retest)?;
    // What is not approved would not run: it is told without a retest less.
    let difference = workspace.rule_difference(project, described.plan)?;
    if let Some(person) = PersonAsked::of_difference(task, &difference) {
        return Err(ProjectError::Retest(RetestRefusal::NotApproved(person)));
    }
    let record = RetestRecord { task: task.clone(), tree_digest: facts.tree, number: granted.number };
    workspace.evidence.append(&mut ledger, scope, LedgerBody::Retest(record))?;
    Ok(granted)
}

/// Returns the run after which a retest of this plan and tree would show nothing new: the last one if it covers every
/// check, otherwise the newest one in which a check failed on this tree. With other toolchains than the last run had, every run can.
fn judged(
    evidence: &Evidence,
    names: &ToolchainNames,
    project: &ProjectId,
    task: &TaskId,
    (plan, tree): (Digest, TreeDigest),
) -> Result<Option<Judged>, ProjectError> {
    let index = &evidence.index;
    let last = index.last_run(project, task, RunsJudgedBy::ApprovedRules)?;
    if let Some(last) = last.filter(|run| run.coverage == Some(CheckCoverage::Whole)) {
        if current_toolchains(&evidence.store, names, project, last.sequence)? == CurrentToolchains::Changed {
            return Ok(None);
        }
        let passed = last.result == Some(OverallResult::Passed);
        return Ok(Some(Judged { run_id: last.run_id, tree: last.tree_digest, plan: last.plan_digest, passed }));
    }
    let checks = index.checks(project, task, RunsJudgedBy::ApprovedRules)?;
    let failed = newest_fresh_failure(&checks, plan, tree).map(|last| last.run_id.clone());
    Ok(failed.map(|run_id| Judged { run_id, tree: Some(tree), plan: Some(plan), passed: false }))
}

/// Decides whether a retest is granted. A task that waits for a person's decision gets no retest, whatever else holds.
fn decide_retest(facts: &RetestFacts) -> Result<GrantedRetest, RetestRefusal> {
    if let Some(pause) = &facts.paused {
        return Err(RetestRefusal::NeedsHuman(pause.clone()));
    }
    if let Some(last) = facts.last.as_ref().filter(|last| (last.tree, last.plan) == (Some(facts.tree), Some(facts.plan))) {
        return Err(RetestRefusal::Unchanged { run_id: last.run_id.clone(), passed: last.passed });
    }
    // A granted retest for this tree still waits for its run. One state of the tree gets one retest, however many
    // agents ask at once.
    if facts.waiting == Some(facts.tree) {
        return Err(RetestRefusal::Waiting);
    }
    if facts.used >= facts.budget {
        return Err(RetestRefusal::BudgetSpent { budget: facts.budget });
    }
    Ok(GrantedRetest { number: facts.used + 1, budget: facts.budget })
}

/// The retests of a task, counted from the ledger's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Retests {
    used: u32,
    /// The tree of a granted retest whose run has not been sealed yet, as in [`RetestFacts::waiting`].
    waiting: Option<TreeDigest>,
}

fn read_retests(store: &Store, project: &ProjectId, task: &TaskId) -> Result<Retests, ProjectError> {
    let mut retests = Retests::default();
    for line in evidence::read_lines(store, project, 0)? {
        let line = line?.1;
        retests =
            Retests { used: count_retests(retests.used, &line, task), waiting: still_waiting(retests.waiting, &line, task) };
    }
    Ok(retests)
}

/// Returns the tree whose granted retest still waits for its run after this ledger line. Any later run of the task ends
/// the waiting: the run is the retest itself, or makes the retest needless.
fn still_waiting(waiting: Option<TreeDigest>, line: &LedgerLine, task: &TaskId) -> Option<TreeDigest> {
    if let LedgerBody::Retest(record) = &line.body
        && record.task == *task
    {
        return Some(record.tree_digest);
    }
    let is_run = matches!(&line.body, LedgerBody::Run(run) if run.task == *task);
    waiting.filter(|_| !is_run)
}

/// Returns the number of used retests after this ledger line. A run by approved rules that passed and a person's decision on the task's
/// cycle set the number back to 0. A change of the cycle counts as a person's only if it was made at a terminal.
fn count_retests(used: u32, line: &LedgerLine, task: &TaskId) -> u32 {
    let by_a_person = line.asker.terminal.is_some();
    match &line.body {
        LedgerBody::Retest(record) if record.task == *task => used.saturating_add(1),
        LedgerBody::Run(run)
            if (run.task == *task && run.leads_latest() && !run.is_by_changed_rules())
                && run.overall_result == Some(OverallResult::Passed) =>
        {
            0
        }
        LedgerBody::Override(record) if record.task == *task && by_a_person => 0,
        LedgerBody::Phase(record) if record.task == *task && by_a_person => 0,
        LedgerBody::Retest(_)
        | LedgerBody::Run(_)
        | LedgerBody::Override(_)
        | LedgerBody::Phase(_)
        | LedgerBody::Registered(_)
        | LedgerBody::Superseded(_)
        | LedgerBody::Serving(_)
        | LedgerBody::Approval(_)
        | LedgerBody::TaskList(_)
        | LedgerBody::Violation(_)
        | LedgerBody::Pruned(_)
        | LedgerBody::Purged(_)
        | LedgerBody::Archived(_)
        | LedgerBody::Governance(_)
        | LedgerBody::KeyReplaced(_)
        | LedgerBody::Claim(_)
        | LedgerBody::Proof(_) => used,
    }
}

/// Returns whether a task is complete, judged from the project's status as the caller has computed it.
///
/// # Errors
///
/// When the task's report is missing, or differs from the sealed one.
pub fn completion(
    store: &Store,
    ambient: &BTreeMap<OsString, OsString>,
    standing: &ProjectStatus,
    name: &TaskId,
) -> Result<TaskCompletion, ProjectError> {
    let task = standing.tasks.iter().find(|task| task.task == *name);
    let exit = task.map_or(CommandExit::NoFreshVerdict, |task| task.freshness.exit());
    let judged = match (&standing.project, task.and_then(verdict_for_now)) {
        (Some(project), Some(verdict)) => Some((project, sealed_report(store, project, name, &verdict.run_id)?)),
        _ => None,
    };
    let name = name.clone();
    let Some((project, report)) = judged else {
        let unknown = || "no run of it was sealed: REQUEST_RETEST".to_owned();
        let own = task.map_or_else(unknown, |task| reason(&task.freshness));
        let checks = task.and_then(|task| checks_sentence(&task.checks));
        let reasons = std::iter::once(own).chain(checks).chain(standing.problems.iter().cloned()).collect();
        let status = CompletionStatus::Incomplete;
        let (open, run_id) = (Vec::new(), None);
        return Ok(TaskCompletion { task: name, status, reasons, open, run_id, rests_on_kept_caches: false, exit });
    };
    let open = open(store, project, &name, &report);
    let names = ToolchainNames::new(&standing.root, ambient);
    let Doubts { rests_on_kept_caches, other_programs } = find_doubts(store, project, &names, &report)?;
    let run_id = Some(report.authenticity.execution_id);
    let evaluated = report.completion_criteria_evaluation;
    let own = Some(evaluated.reason).filter(|reason| !reason.is_empty());
    let (status, exit) = match evaluated.completion_status {
        CompletionStatus::Complete if !other_programs.is_empty() => (CompletionStatus::Incomplete, CommandExit::PersonNeeded),
        status @ (CompletionStatus::Complete | CompletionStatus::Incomplete) => (status, exit),
    };
    let changed = task.map(|task| task.rules_changed.as_slice()).unwrap_or_default();
    // The report of a run by rules that nobody had approved says this in place of COMPLETE.
    let is_lowered = own.is_some() && own == changed_rules_text(&report.rules_changed);
    let (status, exit, own) = match (is_lowered, changed.is_empty()) {
        (true, true) => (CompletionStatus::Complete, exit, None),
        (_, false) if exit == CommandExit::Proceed => (CompletionStatus::Incomplete, CommandExit::PersonNeeded, own),
        (_, _) => (status, exit, own),
    };
    let own = own.filter(|_| !is_lowered);
    let reasons = other_programs.into_iter().chain(changed_rules_text(changed)).chain(own).collect();
    Ok(TaskCompletion { task: name, status, reasons, open, run_id, rests_on_kept_caches, exit })
}

/// What speaks against a verdict beside its report.
#[derive(Debug, Default)]
struct Doubts {
    rests_on_kept_caches: bool,
    /// The programs that were not the approved ones, in words for people.
    other_programs: Vec<String>,
}

/// Returns whether checks of a run found tools' caches of earlier runs, or those of the runs whose results it reused, and which of their
/// programs nobody approved. Caches are only asked of runs whose checks would not find them with fresh caches. What is not known of a
/// toolchain counts like a cache.
fn find_doubts(
    store: &Store,
    project: &ProjectId,
    names: &ToolchainNames,
    report: &ExecutionReportV2,
) -> Result<Doubts, ProjectError> {
    let mut doubts = Doubts::default();
    let run = &report.authenticity.execution_id;
    let with_kept_caches = report.tree.as_ref().and_then(|tree| tree.snapshot.as_ref()?.caches) == Some(CachesV2::Kept);
    let ledger = LedgerLookup::open(store, project)?;
    // The runs whose lines are still to be found. A reused result is one of an earlier run.
    let mut wanted = BTreeSet::from([run.clone()]);
    for line in ledger.newest() {
        let line = line?;
        let Some(RunLine::Sealed(record)) = line.body.about_runs() else { continue };
        if !wanted.remove(&record.run_id) {
            continue;
        }
        let has_own = |check: &CheckRecord| matches!(check.outcome, CheckOutcome::CarriedOut { .. });
        // An earlier version of proctor did not name the checks of a run.
        let counts = record.results.as_ref().is_none_or(|results| results.iter().any(has_own));
        let caches = record.conditions.as_ref().and_then(|conditions| conditions.caches);
        let could_be_fresh = if record.run_id == *run { with_kept_caches } else { record.tested == Some(TestedPlace::Snapshot) };
        let is_unknown = || {
            record.conditions.as_ref().is_some_and(|conditions| {
                conditions.toolchains.iter().any(|one| one.content.is_none())
                    || !changed_toolchains(store, names, (&conditions.toolchains, conditions.toolchains_looked)).is_empty()
            })
        };
        if counts {
            doubts.rests_on_kept_caches |= caches == Some(CachesSeen::Kept) && could_be_fresh || is_unknown();
            doubts.other_programs.extend(record.conditions.iter().flat_map(|conditions| conditions.other_programs.clone()));
        }
        if record.run_id == *run {
            wanted.extend(record.results.iter().flatten().filter_map(|check| match &check.outcome {
                CheckOutcome::Reused { run_id, other_tree: None, .. } => Some(run_id.clone()),
                CheckOutcome::Reused { .. } | CheckOutcome::CarriedOut { .. } | CheckOutcome::LeftOut | CheckOutcome::Skipped => {
                    None
                }
            }));
        }
        if wanted.is_empty() {
            break;
        }
    }
    Ok(doubts)
}

/// Returns the verdict of a task if it is for the current tree and plan.
fn verdict_for_now(task: &VerdictStatus) -> Option<&LastVerdict> {
    task.verdict.as_ref().filter(|_| matches!(task.freshness, Freshness::Fresh { .. }))
}

/// Returns one line for each action of the report that did not succeed and for each of the task's debt items.
fn open(store: &Store, project: &ProjectId, task: &TaskId, report: &ExecutionReportV2) -> Vec<String> {
    let actions = report.prerequisite_execution.results.iter().chain(&report.step_execution.results);
    let unsuccessful = actions.filter(|action| action.status.is_some_and(|status| status != ResultType::Success));
    let line = |action: &ActionResultV2| {
        let why = action.classification.as_ref().map(|classification| format!(": {}", classification.reason));
        format!("{} {}{}", action.action_id, action.name, why.unwrap_or_default())
    };
    let debt = match read_debt(store, project, task, report) {
        Ok(debt) => debt.map(|debt| debt.debt_items).unwrap_or_default(),
        Err(why) => return unsuccessful.map(line).chain([why]).collect(),
    };
    unsuccessful.map(line).chain(debt.iter().map(|item| format!("{}: {}", item.debt_id, item.title))).collect()
}

/// Returns the reason, for people, why a task has no verdict for the current tree.
fn reason(freshness: &Freshness) -> String {
    let text = match freshness {
        Freshness::Fresh { .. } => "there is a verdict, and no report of it",
        Freshness::Running => "a run is under way",
        Freshness::Queued => "a run waits for its turn",
        Freshness::Stale(StaleReason::Checks) => "not every check has a result on this tree: REQUEST_RETEST",
        Freshness::Stale(StaleReason::RewroteTree) => {
            "a check left other content in its copy than the tree has, so the run is no verdict on it: FIX_SPECIFICATION"
        }
        Freshness::Stale(StaleReason::Toolchain) => {
            "installed packages or a toolchain changed since the last verdict: REQUEST_RETEST"
        }
        Freshness::Stale(_) => "the last verdict is for other files or another plan than there are now: REQUEST_RETEST",
        Freshness::Moved { .. } => "the tree changed while it was tested: REQUEST_RETEST",
        Freshness::Unstable { .. } => "the tree changes whenever it is tested",
        Freshness::NeedsHuman => "a person decides how the task goes on",
        Freshness::NotApproved => "nobody approved what would be run",
        Freshness::RootMissing => "the project's directory is not there",
        Freshness::ConfigurationWrong => "the configuration is wrong: FIX_SPECIFICATION",
        Freshness::SpecificationWrong => "the task's specification is wrong: FIX_SPECIFICATION",
        Freshness::NoVerdict => "there never was a verdict: REQUEST_RETEST",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{Asker, LEDGER_SCHEMA, OverallStatus, OverrideRecord, RunRecord, Sequence, TddState, Timestamp};

    fn tree(text: &str) -> TreeDigest {
        TreeDigest(Digest::of(text.as_bytes()))
    }

    fn run_id() -> RunId {
        RunId::new(Timestamp::from_millis(0), 7)
    }

    fn facts(used: u32) -> RetestFacts {
        let plan = Digest::of(b"plan");
        RetestFacts {
            paused: None,
            last: Some(Judged { run_id: run_id(), tree: Some(tree("one")), plan: Some(plan), passed: false }),
            waiting: None,
            tree: tree("two"),
            plan,
            used,
            budget: 5,
        }
    }

    #[test]
    fn c53_a_retest_needs_a_change_and_what_is_left_of_the_budget() {
        assert_eq!(decide_retest(&facts(0)), Ok(GrantedRetest { number: 1, budget: 5 }));
        assert_eq!(decide_retest(&facts(4)), Ok(GrantedRetest { number: 5, budget: 5 }));
        assert_eq!(decide_retest(&facts(5)), Err(RetestRefusal::BudgetSpent { budget: 5 }));
        let unchanged = RetestFacts { tree: tree("one"), ..facts(5) };
        assert_eq!(decide_retest(&unchanged), Err(RetestRefusal::Unchanged { run_id: run_id(), passed: false }));
        assert_eq!(decide_retest(&unchanged).expect_err("nothing changed").exit(), CommandExit::CodeNeedsWork);
        let last = unchanged.last.clone().map(|last| Judged { passed: true, ..last });
        let passed = decide_retest(&RetestFacts { last, ..unchanged }).expect_err("nothing changed");
        assert_eq!((passed.exit(), passed.hint().contains("request status")), (CommandExit::Proceed, true));
        let twice = RetestFacts { waiting: Some(tree("two")), ..facts(1) };
        assert_eq!(decide_retest(&twice), Err(RetestRefusal::Waiting));
        assert!(decide_retest(&RetestFacts { waiting: Some(tree("three")), ..facts(1) }).is_ok(), "it was changed again");
        let other_plan = RetestFacts { plan: Digest::of(b"other"), tree: tree("one"), ..facts(0) };
        assert!(decide_retest(&other_plan).is_ok());
        assert!(decide_retest(&RetestFacts { last: None, tree: tree("one"), ..facts(0) }).is_ok());
        let pause = PauseRecord { reason: "r".to_owned(), since: Timestamp::from_millis(0), run_id: run_id() };
        let paused = RetestFacts { paused: Some(pause.clone()), tree: tree("one"), ..facts(5) };
        assert_eq!(decide_retest(&paused), Err(RetestRefusal::NeedsHuman(pause)));
    }

    fn line(body: LedgerBody, terminal: Option<&str>) -> LedgerLine {
        LedgerLine {
            schema: LEDGER_SCHEMA.to_owned(),
            sequence: Sequence(1),
            previous: Digest::of(b""),
            time: Timestamp::from_millis(0),
            asker: Asker { pid: 1, uid: 1, executable: None, terminal: terminal.map(str::to_owned) },
            body,
            signature: None,
        }
    }

    #[test]
    fn the_budget_is_full_again_after_a_pass_and_a_persons_word_and_nothing_else() {
        let task = TaskId::default_task();
        let retest = || LedgerBody::Retest(RetestRecord { task: task.clone(), tree_digest: tree("one"), number: 1 });
        let run = |result, checks: &[&str]| {
            let time = (Timestamp::from_millis(0), Timestamp::from_millis(1));
            let hash = Digest::of(b"");
            let record = RunRecord::without_verdict(run_id(), task.clone(), hash, OverallStatus::Success, time);
            let checks = checks.iter().map(ToString::to_string).collect();
            LedgerBody::Run(Box::new(RunRecord { overall_result: Some(result), checks, ..record }))
        };
        let word =
            || LedgerBody::Override(OverrideRecord { task: task.clone(), reason: String::new(), tdd: TddState::default() });
        let rows = [
            (retest(), None, 4),
            (run(OverallResult::Passed, &[]), None, 0),
            (run(OverallResult::Failed, &[]), None, 3),
            (run(OverallResult::Passed, &["one of many"]), None, 3),
            (word(), Some("/dev/pts/1"), 0),
            (word(), None, 3),
        ];
        for (body, terminal, expected) in rows {
            let line = line(body, terminal);
            assert_eq!(count_retests(3, &line, &task), expected, "{line:?}");
            let waits = !matches!(line.body, LedgerBody::Run(_));
            assert_eq!(still_waiting(Some(tree("one")), &line, &task).is_some(), waits, "{line:?}");
        }
        let other = TaskId::try_from("T2").unwrap();
        assert_eq!(count_retests(3, &line(run(OverallResult::Passed, &[]), None), &other), 3);
    }
}
