//! A table of all states: in each row the facts about a project and its last verdict, and the freshness that follows
//! from them.

use super::*;

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn tree(text: &str) -> TreeDigest {
    TreeDigest(digest(text))
}

fn verdict(tree_text: &str, plan: &str, result: OverallResult) -> LastVerdict {
    LastVerdict {
        isolation: None,
        run_id: RunId::new(Timestamp::from_millis(0), 1),
        sequence: Sequence(1),
        coverage: Some(CheckCoverage::Whole),
        tree: Some(tree(tree_text)),
        tree_format: TreeFormat::CURRENT,
        tested: None,
        plan: Some(digest(plan)),
        status: OverallStatus::Success,
        result: Some(result),
        blocking: 0,
        ended: None,
        exit: if result == OverallResult::Passed { CommandExit::Proceed } else { CommandExit::CodeNeedsWork },
        report: PathBuf::new(),
    }
}

fn moved(before: &str, after: &str, path: &str) -> MovedRun {
    MovedRun { before: Some(tree(before)), after: Some(tree(after)), paths: vec![path.to_owned()] }
}

/// Returns the facts of a passing verdict for the current tree and plan, with no run under way.
fn facts() -> FreshnessFacts {
    FreshnessFacts {
        on_request: Vec::new(),
        root: CurrentRoot::Present,
        approval: Approval::Approved,
        plan: CurrentPlan::Known(digest("plan")),
        tree: Some(tree("now")),
        activity: Activity::Idle,
        verdict: Some(verdict("now", "plan", OverallResult::Passed)),
        checks: Vec::new(),
        moved: Vec::new(),
        attention: Attention::NotNeeded,
        toolchains: CurrentToolchains::AsNamed,
    }
}

const PASSED: Freshness = Freshness::Fresh { result: OverallResult::Passed, exit: CommandExit::Proceed };
const FAILED: Freshness = Freshness::Fresh { result: OverallResult::Failed, exit: CommandExit::CodeNeedsWork };

type Change = fn(&mut FreshnessFacts);

#[test]
fn every_state_follows_from_what_is_known() {
    let path = || vec!["a.log".to_owned()];
    let rows: &[(&str, Change, Freshness)] = &[
        ("all agrees", |_| {}, PASSED),
        ("something blocks", |f| f.verdict = Some(verdict("now", "plan", OverallResult::Failed)), FAILED),
        ("a file was saved", |f| f.tree = Some(tree("later")), Freshness::Stale(StaleReason::Tree)),
        (
            "the digest of the tested tree has another format",
            |f| f.verdict = f.verdict.take().map(|verdict| LastVerdict { tree_format: TreeFormat::V1, ..verdict }),
            Freshness::Stale(StaleReason::DigestVersion),
        ),
        (
            "a check rewrote the tree",
            |f| f.verdict = f.verdict.take().map(|verdict| LastVerdict { status: OverallStatus::RewroteTree, ..verdict }),
            Freshness::Stale(StaleReason::RewroteTree),
        ),
        (
            "a check rewrote the tree, and a file was saved",
            |f| {
                f.verdict = f.verdict.take().map(|verdict| LastVerdict { status: OverallStatus::RewroteTree, ..verdict });
                f.tree = Some(tree("later"));
            },
            Freshness::Stale(StaleReason::Tree),
        ),
        ("packages were installed", |f| f.toolchains = CurrentToolchains::Changed, Freshness::Stale(StaleReason::Toolchain)),
        (
            "packages were installed, and a file was saved",
            |f| (f.toolchains, f.tree) = (CurrentToolchains::Changed, Some(tree("later"))),
            Freshness::Stale(StaleReason::Tree),
        ),
        ("a time-out was raised", |f| f.plan = CurrentPlan::Known(digest("other")), Freshness::Stale(StaleReason::Plan)),
        (
            "both",
            |f| (f.tree, f.plan) = (Some(tree("later")), CurrentPlan::Known(digest("other"))),
            Freshness::Stale(StaleReason::TreeAndPlan),
        ),
        ("the task is gone", |f| f.plan = CurrentPlan::WithoutTask, Freshness::Stale(StaleReason::TaskGone)),
        ("the file was saved back", |f| f.tree = Some(tree("now")), PASSED),
        ("nothing was ever run", |f| f.verdict = None, Freshness::NoVerdict),
        ("the first run goes on", |f| (f.verdict, f.activity) = (None, Activity::Running), Freshness::Running),
        ("a run for a newer tree goes on", |f| (f.tree, f.activity) = (None, Activity::Running), Freshness::Running),
        ("it waits for its turn", |f| (f.tree, f.activity) = (None, Activity::Queued), Freshness::Queued),
        ("a run repeats a fresh verdict", |f| f.activity = Activity::Running, PASSED),
        ("nobody looked, nothing goes on", |f| f.tree = None, Freshness::Stale(StaleReason::Tree)),
        (
            "it moved",
            |f| (f.tree, f.moved) = (Some(tree("b")), vec![moved("a", "b", "a.log")]),
            Freshness::Moved { paths: path() },
        ),
        (
            "it moved and went back",
            |f| (f.tree, f.moved) = (Some(tree("a")), vec![moved("a", "b", "a.log")]),
            Freshness::Moved { paths: path() },
        ),
        (
            "it moved, then was saved",
            |f| (f.tree, f.moved) = (Some(tree("c")), vec![moved("a", "b", "a.log")]),
            Freshness::Stale(StaleReason::Tree),
        ),
        (
            "it moved again",
            |f| (f.tree, f.moved) = (Some(tree("b")), vec![moved("b", "b", "a.log"), moved("a", "b", "a.log")]),
            Freshness::Unstable { paths: path() },
        ),
        (
            "some of it moved again",
            |f| {
                let former = MovedRun { paths: vec!["a.log".to_owned(), "z".to_owned()], ..moved("a", "b", "") };
                (f.tree, f.moved) = (Some(tree("b")), vec![moved("b", "b", "a.log"), former]);
            },
            Freshness::Unstable { paths: path() },
        ),
        (
            "other paths moved",
            |f| (f.tree, f.moved) = (Some(tree("b")), vec![moved("b", "b", "a.log"), moved("a", "b", "z")]),
            Freshness::Moved { paths: path() },
        ),
        (
            "it moved without a verdict before",
            |f| (f.verdict, f.tree, f.moved) = (None, Some(tree("b")), vec![moved("a", "b", "a.log")]),
            Freshness::Moved { paths: path() },
        ),
        ("a person is asked", |f| f.attention = Attention::Needed, Freshness::NeedsHuman),
        (
            "a person is asked while a run goes on",
            |f| (f.attention, f.activity) = (Attention::Needed, Activity::Running),
            Freshness::NeedsHuman,
        ),
        ("nobody approved it", |f| f.approval = Approval::NotApproved, Freshness::NotApproved),
        ("the configuration is wrong", |f| f.plan = CurrentPlan::Wrong, Freshness::ConfigurationWrong),
        ("its specification is wrong", |f| f.plan = CurrentPlan::SpecificationWrong, Freshness::SpecificationWrong),
        ("the directory is gone", |f| (f.root, f.plan) = (CurrentRoot::Missing, CurrentPlan::Wrong), Freshness::RootMissing),
    ];
    for (name, change, expected) in rows {
        let mut facts = facts();
        change(&mut facts);
        assert_eq!(compute_freshness(&facts), *expected, "{name}");
    }
}

/// Returns two checks with their last results: tree, number of the ledger line, and whether the result blocks.
fn checks(results: [(&str, u64, Blocking); 2]) -> Vec<KnownCheck> {
    let check = |(tree_text, number, blocking): (&str, u64, Blocking)| KnownCheck {
        id: crate::ActionId::numbered("STEP", 1),
        name: "check".to_owned(),
        plan: digest("plan"),
        last: Some(crate::LastCheckResult {
            sequence: Sequence(number),
            run_id: RunId::new(Timestamp::from_millis(0), number),
            tree: tree(tree_text),
            blocking,
        }),
    };
    results.map(check).to_vec()
}

#[test]
fn a_verdict_is_fresh_only_if_its_run_covers_every_check_on_this_tree() {
    use Blocking::{Allowed, Blocks};
    use OverallResult::{Failed, Passed};
    let stale = Freshness::Stale(StaleReason::Checks);
    let (whole, partial) = (Some(CheckCoverage::Whole), Some(CheckCoverage::Partial));
    let rows = [
        ("all checks passed in one run", Passed, whole, [("now", 1, Allowed), ("now", 1, Allowed)], PASSED),
        ("one was left out", Passed, partial, [("now", 1, Allowed), ("before", 0, Allowed)], stale.clone()),
        ("one was left out and failed before", Passed, partial, [("now", 1, Allowed), ("before", 0, Blocks)], stale.clone()),
        ("all passed, in two runs", Passed, partial, [("now", 1, Allowed), ("now", 0, Allowed)], stale.clone()),
        ("an older version did not say", Passed, None, [("now", 1, Allowed), ("now", 1, Allowed)], stale.clone()),
        ("one failed later by name", Passed, whole, [("now", 1, Allowed), ("now", 2, Blocks)], stale.clone()),
        ("one of the run's checks failed", Failed, partial, [("now", 1, Blocks), ("before", 0, Allowed)], FAILED),
        ("only a result of another tree failed", Failed, partial, [("now", 1, Allowed), ("before", 1, Blocks)], stale.clone()),
        ("something else than a check failed", Failed, whole, [("now", 1, Allowed), ("now", 1, Allowed)], FAILED),
        ("nothing was reached", Failed, whole, [("before", 0, Allowed), ("before", 0, Allowed)], FAILED),
        ("the failed one passed later by name", Failed, whole, [("now", 1, Allowed), ("now", 2, Allowed)], stale.clone()),
        ("another one passed later by name", Failed, whole, [("now", 1, Blocks), ("now", 2, Allowed)], FAILED),
    ];
    for (name, result, coverage, results, expected) in rows {
        let verdict = LastVerdict { coverage, ..verdict("now", "plan", result) };
        let facts = FreshnessFacts { verdict: Some(verdict), checks: checks(results), ..facts() };
        assert_eq!(compute_freshness(&facts), expected, "{name}");
    }
    assert_eq!((stale.exit(), stale.wait_step()), (CommandExit::NoFreshVerdict, WaitStep::Run));
}

#[test]
fn a_verdict_that_never_saw_a_tree_is_fresh_for_none() {
    let mut facts = facts();
    facts.verdict = facts.verdict.map(|verdict| LastVerdict { tree: None, ..verdict });
    facts.tree = None;
    assert_eq!(compute_freshness(&facts), Freshness::Stale(StaleReason::Tree));
}

#[test]
fn only_a_fresh_verdict_and_a_person_make_another_exit_code_than_5() {
    let rows = [
        (PASSED, CommandExit::Proceed, WaitStep::Answer),
        (FAILED, CommandExit::CodeNeedsWork, WaitStep::Answer),
        (Freshness::Running, CommandExit::NoFreshVerdict, WaitStep::GoOn),
        (Freshness::Queued, CommandExit::NoFreshVerdict, WaitStep::GoOn),
        (Freshness::Stale(StaleReason::Tree), CommandExit::NoFreshVerdict, WaitStep::Run),
        (Freshness::Stale(StaleReason::Toolchain), CommandExit::NoFreshVerdict, WaitStep::Run),
        (Freshness::NoVerdict, CommandExit::NoFreshVerdict, WaitStep::Run),
        (Freshness::Moved { paths: Vec::new() }, CommandExit::NoFreshVerdict, WaitStep::Run),
        (Freshness::Unstable { paths: Vec::new() }, CommandExit::NoFreshVerdict, WaitStep::Answer),
        (Freshness::RootMissing, CommandExit::NoFreshVerdict, WaitStep::Answer),
        (Freshness::NeedsHuman, CommandExit::PersonNeeded, WaitStep::Answer),
        (Freshness::NotApproved, CommandExit::PersonNeeded, WaitStep::Answer),
        (Freshness::ConfigurationWrong, CommandExit::SpecificationWrong, WaitStep::Answer),
        (Freshness::SpecificationWrong, CommandExit::SpecificationWrong, WaitStep::Answer),
        // No run can bring a verdict, because the configuration no longer has the task.
        (Freshness::Stale(StaleReason::TaskGone), CommandExit::NoFreshVerdict, WaitStep::Answer),
        // Another run would rewrite the same files.
        (Freshness::Stale(StaleReason::RewroteTree), CommandExit::NoFreshVerdict, WaitStep::Answer),
    ];
    for (freshness, exit, step) in rows {
        assert_eq!((freshness.exit(), freshness.wait_step()), (exit, step), "{freshness:?}");
    }
}

#[test]
fn the_task_that_was_asked_for_comes_first_and_the_others_keep_their_order() {
    let name = |text: &str| TaskId::try_from(text).unwrap();
    let task = |text: &str| VerdictStatus {
        task: name(text),
        freshness: Freshness::NoVerdict,
        tree: None,
        plan: None,
        verdict: None,
        checks: Vec::new(),
        problems: Vec::new(),
        rules_changed: Vec::new(),
        person: None,
        tdd: TddState::default(),
        tests_not_run: None,
        fewer_tests: None,
        known: None,
        not_known: Vec::new(),
    };
    let tasks = ["default", "T1", "T2", "T3"].map(task).to_vec();
    let standing = ProjectStatus { project: None, root: PathBuf::from("/p"), tasks, problems: Vec::new(), started_early: None };
    let names = |standing: ProjectStatus| standing.tasks.into_iter().map(|task| task.task.to_string()).collect::<Vec<_>>();
    assert_eq!(names(standing.clone().with_first(&name("T2"))), ["T2", "default", "T1", "T3"]);
    assert_eq!(names(standing.clone().with_first(&name("T9"))), ["default", "T1", "T2", "T3"]);
    assert!(standing.of(&name("T1")).is_some() && standing.of(&name("T9")).is_none());
}
