//! Tests that applying ledger lines all at once and one by one gives the same index.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::{prop_assert_eq, proptest};

use crate::testing::{TestIndex, approval, by_changed_rules, line, project, registration, run_id, run_record, task, terms};
use crate::{IndexError, IndexedProject, IndexedRun, RunsJudgedBy, SealedHashes, StoreIndex};
use proctor_model::{
    CommandExit, Digest, ExitCodeSource, IsolationLevel, LedgerBody, LedgerLine, NextNode, OverallResult, OverallStatus,
    OverrideRecord, Phase, PhaseRecord, ProjectId, PruneReason, PruneRecord, PrunedRun, RouteDestination, RouteEntry, RouteKind,
    RunRecord, Sequence, Serving, ServingRecord, SupersededRecord, TaskListRecord, TddState, TestedPlace, Timestamp, TreeDigest,
    TreeFormat, ViolationKind, ViolationRecord,
};

const SHOP: &str = "shop-00000001";

fn route() -> RouteEntry {
    RouteEntry {
        phase: Phase::Green,
        exit_code: Some(1),
        exit_code_source: ExitCodeSource::Process,
        kind: RouteKind::Routed,
        destination: RouteDestination {
            next_node: NextNode::N3,
            reason: "tests failed".to_owned(),
            requires_human: false,
            retry_allowed: false,
        },
    }
}

fn started(phase: Phase) -> TddState {
    TddState { started: true, phase, ..TddState::default() }
}

fn phase_line(task_id: &str, phase: Phase) -> LedgerBody {
    LedgerBody::Phase(PhaseRecord { task: task(task_id), verb: "phase".to_owned(), from: Phase::Green, tdd: started(phase) })
}

#[test]
fn a_run_is_read_back_as_its_line_has_it() {
    let mut test = TestIndex::new();
    let record = RunRecord {
        overall_result: Some(OverallResult::Failed),
        blocking: 2,
        tree_digest: Some(TreeDigest(Digest::of(b"tree"))),
        environment_digest: Some(Digest::of(b"environment")),
        plan_digest: Some(Digest::of(b"plan")),
        tested: Some(TestedPlace::InPlace),
        exit: Some(CommandExit::CodeNeedsWork),
        isolation: Some(IsolationLevel::Landlock),
        route: Some(route()),
        tdd: Some(started(Phase::Red)),
        ..run_record(1, "T030", OverallStatus::PartialSuccess)
    };
    test.append_run(SHOP, record.clone());
    let expected = IndexedRun {
        sequence: Sequence(1),
        run_id: run_id(1),
        task: task("T030"),
        started: record.started,
        ended: Some(record.ended),
        status: OverallStatus::PartialSuccess,
        result: Some(OverallResult::Failed),
        blocking: 2,
        tree_digest: record.tree_digest,
        tree_format: TreeFormat::CURRENT,
        tested: record.tested,
        environment_digest: record.environment_digest,
        plan_digest: record.plan_digest,
        sealed: Some(SealedHashes { report: record.report_hash, manifest: record.manifest_hash }),
        route: record.route,
        exit: record.exit,
        weaker_isolation: record.isolation,
        coverage: None,
        checks: None,
        by_changed_rules: false,
    };
    assert_eq!(test.index.runs(&project(SHOP), None, RunsJudgedBy::AnyRules, 9).unwrap(), std::slice::from_ref(&expected));
    assert_eq!(test.index.last_run(&project(SHOP), &task("T030"), RunsJudgedBy::AnyRules).unwrap(), Some(expected));
    let state = TddState { sequence: Some(Sequence(1)), ..started(Phase::Red) };
    assert_eq!(test.index.tdd(&project(SHOP), &task("T030")).unwrap(), state);
}

fn pruned(numbers: impl IntoIterator<Item = u64>, task_id: &str) -> LedgerBody {
    let run = |number| PrunedRun {
        run_id: run_id(number),
        task: task(task_id),
        manifest_hash: Digest::of(b"manifest"),
        why: PruneReason::Runs,
    };
    LedgerBody::Pruned(PruneRecord { runs: numbers.into_iter().map(run).collect() })
}

#[test]
fn rows_of_pruned_runs_go_except_for_the_newest_fifty_of_each_task_however_many_runs_there_were() {
    let mut test = TestIndex::new();
    let inputs = BTreeMap::from([("lint".to_owned(), Digest::of(b"same"))]);
    test.append_run(SHOP, RunRecord { inputs: inputs.clone(), ..run_record(1000, "b", OverallStatus::Success) });
    for round in 0..20_u64 {
        for number in round * 16..round * 16 + 16 {
            let inputs = BTreeMap::from([("lint".to_owned(), Digest::of(&number.to_le_bytes()))]);
            test.append_run(SHOP, RunRecord { inputs, ..run_record(number, "a", OverallStatus::Success) });
        }
        // The newest three of the task stay, as with `keep_runs = 3`, and so does what the last pruning kept until this one.
        let first = if round == 0 { 0 } else { round * 16 - 3 };
        test.append(SHOP, pruned(first..round * 16 + 13, "a"));
    }
    let numbers = |task_id: &str| -> Vec<u64> {
        let runs = test.index.runs(&project(SHOP), Some(&task(task_id)), RunsJudgedBy::AnyRules, 1000).unwrap();
        runs.into_iter().map(|run| run.run_id.number()).collect()
    };
    assert_eq!(numbers("a"), (270..320).rev().collect::<Vec<_>>());
    assert_eq!(numbers("b"), [1000], "the runs of another task are not counted");
    let line_of = |number| test.index.pruning_line(&project(SHOP), &run_id(number)).unwrap();
    assert_eq!((line_of(1), line_of(319)), (None, None), "folded, and not pruned");
    assert!(line_of(300).is_some());
    let on =
        |number: u64| test.index.run_on_inputs(&project(SHOP), &task("a"), "lint", Digest::of(&number.to_le_bytes())).unwrap();
    assert_eq!((on(300), on(319).map(|run| run.run_id)), (None, Some(run_id(319))), "no result of a pruned run is reused");
    assert_eq!(
        test.index.last_run(&project(SHOP), &task("a"), RunsJudgedBy::AnyRules).unwrap().map(|run| run.run_id),
        Some(run_id(319))
    );
}

#[test]
fn the_newest_run_on_the_same_inputs_is_found_by_task_check_and_digest() {
    let mut test = TestIndex::new();
    let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
    let on = |number, task_id: &str, inputs: &[(&str, Digest)]| RunRecord {
        inputs: inputs.iter().map(|(name, digest)| (name.to_string(), *digest)).collect(),
        ..run_record(number, task_id, OverallStatus::Failed)
    };
    test.append_run(SHOP, on(1, "a", &[("lint", one), ("types", other)]));
    test.append_run(SHOP, on(2, "a", &[("lint", other)]));
    test.append_run(SHOP, on(3, "a", &[("lint", one)]));
    test.append_run(SHOP, on(4, "a", &[]));
    test.append_run("till-00000002", on(1, "a", &[("lint", Digest::of(b"third"))]));
    let found = |index: &StoreIndex, task_id: &str, check: &str, digest| {
        let run = index.run_on_inputs(&project(SHOP), &task(task_id), check, digest).unwrap();
        run.map(|run| run.run_id.number())
    };
    let rows = [
        ("a", "lint", one, Some(3)),
        ("a", "lint", other, Some(2)),
        ("a", "types", other, Some(1)),
        ("a", "types", one, None),
        ("b", "lint", one, None),
        ("a", "lint", Digest::of(b"third"), None),
    ];
    for (task_id, check, digest, expected) in rows {
        assert_eq!(found(&test.index, task_id, check, digest), expected, "{task_id} {check}");
    }
    test.index.forget(&project(SHOP)).unwrap();
    assert_eq!(found(&test.index, "a", "lint", one), None);
}

fn violation(subject: &str) -> ViolationRecord {
    ViolationRecord {
        path: "tasks.md".to_owned(),
        violation: ViolationKind::UnauthorizedCompletion,
        subject: subject.to_owned(),
        found: String::new(),
        restored: String::new(),
    }
}

#[test]
fn violations_are_told_from_a_sealed_run_on_and_lists_by_their_last_writing() {
    let mut test = TestIndex::new();
    let list =
        |text: &str| LedgerBody::TaskList(TaskListRecord { path: "tasks.md".to_owned(), digest: Digest::of(text.as_bytes()) });
    test.append(SHOP, LedgerBody::Violation(violation("a")));
    test.append_run(SHOP, run_record(2, "T1", OverallStatus::Failed));
    test.append(SHOP, LedgerBody::Violation(violation("b")));
    test.append(SHOP, list("one"));
    test.append_run(SHOP, run_record(5, "T2", OverallStatus::Interrupted));
    test.append(SHOP, LedgerBody::Violation(violation("c")));
    test.append(SHOP, list("two"));
    let told = |index: &StoreIndex, runs_ago| index.violations_since(&project(SHOP), runs_ago).unwrap();
    assert_eq!(told(&test.index, 0), [violation("c")]);
    assert_eq!(told(&test.index, 1), [violation("b"), violation("c")]);
    assert_eq!(told(&test.index, 2), [violation("a"), violation("b"), violation("c")]);
    let digest = |index: &StoreIndex, path| index.task_list(&project(SHOP), path).unwrap();
    assert_eq!(digest(&test.index, "tasks.md"), Some(Digest::of(b"two")));
    assert_eq!(digest(&test.index, "other.md"), None);
    test.index.forget(&project(SHOP)).unwrap();
    assert_eq!((told(&test.index, 2), digest(&test.index, "tasks.md")), (Vec::new(), None));
}

#[test]
fn runs_are_listed_newest_first_by_task_and_limit() {
    let mut test = TestIndex::new();
    for number in 1..=6 {
        let name = if number % 2 == 0 { "even" } else { "odd" };
        test.append_run(SHOP, run_record(number, name, OverallStatus::Success));
    }
    test.append_run("till-00000002", run_record(1, "odd", OverallStatus::Success));
    let numbers = |task_id: Option<&str>, limit| -> Vec<_> {
        let runs = test.index.runs(&project(SHOP), task_id.map(task).as_ref(), RunsJudgedBy::AnyRules, limit).unwrap();
        runs.iter().map(|run| run.run_id.number()).collect()
    };
    assert_eq!(numbers(None, 3), [6, 5, 4]);
    assert_eq!(numbers(Some("odd"), 10), [5, 3, 1]);
    assert_eq!(test.index.tasks(&project(SHOP)).unwrap(), [task("even"), task("odd")]);
}

#[test]
fn runs_that_do_not_count_are_listed_and_never_the_last() {
    let mut test = TestIndex::new();
    test.append_run(SHOP, run_record(1, "default", OverallStatus::Failed));
    test.append_run(SHOP, run_record(2, "default", OverallStatus::Interrupted));
    test.append_run(SHOP, run_record(3, "default", OverallStatus::Moved));
    let superseded = SupersededRecord {
        run_id: run_id(4),
        task: task("default"),
        tree_digest: TreeDigest(Digest::of(b"tree")),
        prerequisites: std::collections::BTreeMap::new(),
        programs: None,
        left_in_environment: Default::default(),
        started: Timestamp::from_millis(9),
    };
    test.append(SHOP, LedgerBody::Superseded(superseded));
    // The specification has errors, so this run was refused and had no plan (C78).
    test.append_run(SHOP, run_record(5, "default", OverallStatus::SpecificationError));
    let last = test.index.last_run(&project(SHOP), &task("default"), RunsJudgedBy::AnyRules).unwrap().unwrap();
    assert_eq!(last.run_id, run_id(1));
    let listed = test.index.runs(&project(SHOP), None, RunsJudgedBy::AnyRules, 2).unwrap();
    let [refused, newest] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((refused.status, &refused.run_id), (OverallStatus::SpecificationError, &run_id(5)));
    assert_eq!((newest.status, newest.ended, newest.sealed), (OverallStatus::Superseded, None, None));
}

#[test]
fn a_run_by_changed_rules_is_listed_and_no_run_by_approved_ones_finds_it() {
    let mut test = TestIndex::new();
    let (shop, default) = (project(SHOP), task("default"));
    let configured = |number, text: &str| RunRecord {
        configuration: [("pyproject.toml".to_owned(), Digest::of(text.as_bytes()))].into(),
        ..run_record(number, "default", OverallStatus::Success)
    };
    test.append_run(SHOP, configured(1, "before"));
    test.append(SHOP, LedgerBody::Violation(violation("a")));
    test.append_run(SHOP, by_changed_rules(configured(2, "meanwhile")));
    let last = |judged_by| test.index.last_run(&shop, &default, judged_by).unwrap().map(|run| run.run_id);
    assert_eq!(last(RunsJudgedBy::AnyRules), Some(run_id(2)));
    assert_eq!(last(RunsJudgedBy::ApprovedRules), Some(run_id(1)));
    let listed = |judged_by| test.index.runs(&shop, None, judged_by, 9).unwrap().len();
    assert_eq!((listed(RunsJudgedBy::AnyRules), listed(RunsJudgedBy::ApprovedRules)), (2, 1));
    let known = test.index.configuration(&shop, &default).unwrap();
    assert_eq!(known.values().collect::<Vec<_>>(), [&Digest::of(b"before")]);
    assert_eq!(test.index.violations_since(&shop, 0).unwrap().len(), 1, "the next run by approved rules names it too");
}

#[test]
fn tdd_state_is_that_of_the_last_line_that_sets_it() {
    let mut test = TestIndex::new();
    assert_eq!(test.index.tdd(&project(SHOP), &task("a")).unwrap(), TddState::default());
    test.append(SHOP, phase_line("a", Phase::Red));
    test.append_run(SHOP, run_record(2, "a", OverallStatus::Interrupted));
    test.append(SHOP, phase_line("b", Phase::Refactor));
    let state = |test: &TestIndex, name| test.index.tdd(&project(SHOP), &task(name)).unwrap();
    assert_eq!((state(&test, "a").phase, state(&test, "a").sequence), (Phase::Red, Some(Sequence(1))));
    let body = OverrideRecord { task: task("a"), reason: "seen".to_owned(), tdd: started(Phase::Green) };
    test.append(SHOP, LedgerBody::Override(body));
    assert_eq!((state(&test, "a").phase, state(&test, "a").sequence), (Phase::Green, Some(Sequence(4))));
    assert_eq!(state(&test, "b").phase, Phase::Refactor);
    assert_eq!(test.index.tasks(&project(SHOP)).unwrap(), [task("a"), task("b")]);
}

#[test]
fn prerequisites_are_what_the_last_run_says_and_configuration_what_the_last_complete_one_says() {
    let mut test = TestIndex::new();
    let digests = |names: &[(&str, &str)]| -> BTreeMap<String, Digest> {
        names.iter().map(|(name, text)| ((*name).to_owned(), Digest::of(text.as_bytes()))).collect()
    };
    let record = |number, status, prerequisites: &[(&str, &str)], configuration: &[(&str, &str)]| RunRecord {
        prerequisites: digests(prerequisites),
        configuration: digests(configuration),
        ..run_record(number, "default", status)
    };
    test.append_run(SHOP, record(1, OverallStatus::Success, &[("install", "1"), ("build", "1")], &[("a.toml", "1"), ("b", "1")]));
    test.append_run(SHOP, record(2, OverallStatus::Interrupted, &[], &[]));
    let configuration = |test: &TestIndex| test.index.configuration(&project(SHOP), &task("default")).unwrap();
    assert_eq!(configuration(&test), digests(&[("a.toml", "1"), ("b", "1")]));
    test.append_run(SHOP, record(3, OverallStatus::Failed, &[("install", "2")], &[("a.toml", "2")]));
    assert_eq!(configuration(&test), digests(&[("a.toml", "2")]));
    test.append_run(SHOP, record(4, OverallStatus::SpecificationError, &[], &[]));
    assert_eq!(configuration(&test), digests(&[("a.toml", "2")]));
    let prerequisites = |test: &TestIndex| test.index.prerequisites(&project(SHOP)).unwrap();
    assert_eq!(prerequisites(&test), digests(&[]), "nothing that is not named needs not run again");
    test.append_run(SHOP, record(5, OverallStatus::Failed, &[("install", "2")], &[]));
    assert_eq!(prerequisites(&test), digests(&[("install", "2")]));
}

#[test]
fn lines_may_be_given_twice_but_none_may_be_missing() {
    let mut test = TestIndex::new();
    let lines: Vec<_> = (0..5).map(|before| line(before, phase_line("a", Phase::Red))).collect();
    let shop = project(SHOP);
    assert_eq!(test.index.position(&shop).unwrap(), None);
    test.index.apply(&shop, &lines[..2]).unwrap();
    test.index.apply(&shop, &lines[..3]).unwrap();
    assert_eq!(test.index.position(&shop).unwrap(), Some((Sequence(3), 300)));
    match test.index.apply(&shop, &lines[4..]) {
        Err(IndexError::Gap { applied, found, .. }) => assert_eq!((applied, found), (Sequence(3), Sequence(5))),
        other => panic!("{other:?}"),
    }
    let with_gap = [lines[3].clone(), line(6, phase_line("a", Phase::Green))];
    assert!(test.index.apply(&shop, &with_gap).is_err());
    assert_eq!(test.index.position(&shop).unwrap(), Some((Sequence(3), 300)), "nothing of a refused batch is applied");
    test.index.apply(&shop, &[]).unwrap();
    assert!(test.index.apply(&project("till-00000002"), &lines[1..]).is_err());
}

/// Everything that the index answers about some projects, to compare two indexes.
#[derive(Debug, PartialEq)]
struct Everything {
    projects: Vec<IndexedProject>,
    per_project: Vec<ProjectContent>,
}

#[derive(Debug, PartialEq)]
struct ProjectContent {
    position: Option<(Sequence, u64)>,
    runs: Vec<IndexedRun>,
    prerequisites: BTreeMap<String, Digest>,
    tasks: Vec<(Option<IndexedRun>, TddState, BTreeMap<String, Digest>)>,
}

fn everything(index: &StoreIndex, ids: &[ProjectId]) -> Everything {
    let content = |id: &ProjectId| ProjectContent {
        position: index.position(id).unwrap(),
        runs: index.runs(id, None, RunsJudgedBy::AnyRules, u32::MAX).unwrap(),
        prerequisites: index.prerequisites(id).unwrap(),
        tasks: ["a", "b"]
            .map(task)
            .iter()
            .map(|task| {
                (
                    index.last_run(id, task, RunsJudgedBy::AnyRules).unwrap(),
                    index.tdd(id, task).unwrap(),
                    index.configuration(id, task).unwrap(),
                )
            })
            .collect(),
    };
    Everything { projects: index.projects().unwrap(), per_project: ids.iter().map(content).collect() }
}

fn any_digests() -> impl Strategy<Value = BTreeMap<String, Digest>> {
    btree_map("[a-c]", any::<u8>().prop_map(|byte| Digest::of(&[byte])), 0..3)
}

fn any_tdd() -> impl Strategy<Value = TddState> {
    prop_oneof![Just(Phase::Red), Just(Phase::Green), Just(Phase::Refactor)].prop_map(started)
}

fn any_status() -> impl Strategy<Value = OverallStatus> {
    prop_oneof![
        Just(OverallStatus::Success),
        Just(OverallStatus::Failed),
        Just(OverallStatus::SpecificationError),
        Just(OverallStatus::Interrupted),
        Just(OverallStatus::Moved),
    ]
}

fn any_run() -> impl Strategy<Value = LedgerBody> {
    (0_u64..30, "[ab]", any_status(), option::of(any_tdd()), any_digests(), any_digests()).prop_map(
        |(number, name, status, tdd, prerequisites, configuration)| {
            let base = run_record(number, &name, status);
            LedgerBody::Run(Box::new(RunRecord { tdd, prerequisites, configuration, ..base }))
        },
    )
}

fn any_body() -> impl Strategy<Value = LedgerBody> {
    let superseded = (0_u64..30, "[ab]").prop_map(|(number, name)| {
        LedgerBody::Superseded(SupersededRecord {
            run_id: run_id(number),
            task: task(&name),
            tree_digest: TreeDigest(Digest::of(b"tree")),
            prerequisites: std::collections::BTreeMap::new(),
            programs: None,
            left_in_environment: Default::default(),
            started: Timestamp::from_millis(3),
        })
    });
    prop_oneof![
        4 => any_run(),
        1 => superseded,
        1 => ("[ab]", any_tdd()).prop_map(|(name, state)| phase_line(&name, state.phase)),
        1 => (0_u64..5).prop_map(|inode| registration(SHOP, "/p/shop", inode, None)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_rebuilt_index_equals_one_kept_up_to_date(
        bodies in vec((0_usize..2, any_body()), 0..25),
        batch in 1_usize..6,
    ) {
        let ids = [project(SHOP), project("till-00000002")];
        let mut ledgers: [Vec<(u64, LedgerLine)>; 2] = Default::default();
        let mut kept = TestIndex::new();
        for (which, body) in bodies {
            let next = line(ledgers[which].len(), body);
            ledgers[which].push(next);
            // A reader may pass lines again that the index has already applied; they must change nothing.
            let from = ledgers[which].len().saturating_sub(batch);
            kept.index.apply(&ids[which], &ledgers[which][from..]).unwrap();
        }
        let mut rebuilt = TestIndex::new();
        for (id, lines) in ids.iter().zip(&ledgers) {
            rebuilt.index.apply(id, lines).unwrap();
        }
        prop_assert_eq!(everything(&rebuilt.index, &ids), everything(&kept.index, &ids));
        kept.index.forget(&ids[0]).unwrap();
        prop_assert_eq!(kept.index.position(&ids[0]).unwrap(), None);
        kept.index.apply(&ids[0], &ledgers[0]).unwrap();
        prop_assert_eq!(everything(&rebuilt.index, &ids), everything(&kept.index, &ids));
    }
}

#[test]
fn a_project_is_served_from_the_line_that_says_so_until_the_line_that_says_otherwise() {
    let mut test = TestIndex::new();
    let serving = |serving| LedgerBody::Serving(ServingRecord { serving });
    assert_eq!(test.index.serving(&project(SHOP)).unwrap(), Serving::NotServed);
    test.append(SHOP, serving(Serving::Served));
    test.append(SHOP, serving(Serving::Served));
    assert_eq!(test.index.serving(&project(SHOP)).unwrap(), Serving::Served);
    test.append(SHOP, serving(Serving::NotServed));
    assert_eq!(test.index.serving(&project(SHOP)).unwrap(), Serving::NotServed);
}

#[test]
fn the_newest_approval_of_a_task_is_the_one_that_counts() {
    let mut test = TestIndex::new();
    assert_eq!(test.index.approval(&project(SHOP), &task("T1")).unwrap(), None);
    test.append(SHOP, approval("T1", "a", &[]));
    test.append(SHOP, approval("T2", "b", &[]));
    test.append(SHOP, approval("T1", "c", &[]));
    let known = |index: &StoreIndex, name| {
        index.approval(&project(SHOP), &task(name)).unwrap().map(|held| (held.plan_digest, held.terms))
    };
    assert_eq!(known(&test.index, "T1"), Some((Digest::of(b"c"), terms("c"))));
    assert_eq!(known(&test.index, "T2"), Some((Digest::of(b"b"), terms("b"))));
    test.index.forget(&project(SHOP)).unwrap();
    assert_eq!(known(&test.index, "T1"), None);
}
