//! Tests of which changes of a plan are weaker and which are not, with one row for each kind of change. S7 and the agent
//! protocol list these kinds.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::config::Configuration;
use crate::spec::{DiskFiles, plan_command, plan_digest, plan_terms, renamings, strengthenings, weakenings};
use proctor_model::{
    ActionId, AllowedSigner, ApprovalTerms, ByteSize, CoverageTarget, EvidenceKind, ExpectedFailure, ExpectedOutput,
    OnProtectedChange, OnSurvivors, Plan, PolicySource, Reuse, Severity, SpecificationSource, TaskCondition, TaskCriteria,
    TaskId, ToolPolicy,
};

use super::BlockOn;

/// A plan in which every setting that a weakening rule examines has a value.
fn plan() -> Plan {
    let root = tempfile::tempdir().expect("a directory");
    let command = ["eslint".to_owned(), "src".to_owned()];
    let mut plan =
        plan_command(&command, &Configuration::default(), &DiskFiles::new(root.path()), "shop").expect("a command is a plan");
    let step = &mut plan.steps[0];
    step.expected_exit_codes = vec![0];
    step.timeout = Duration::from_secs(60);
    step.idle_timeout = Some(Duration::from_secs(10));
    step.max_output = Some(ByteSize(1000));
    step.retry_attempts = 1;
    step.on_survivors = OnSurvivors::Fail;
    step.control = true;
    step.coverage = Some(CoverageTarget { minimum_basis_points: 8000, report: "coverage.json".to_owned() });
    step.policy = Some(ToolPolicy {
        treat_warnings_as_errors: true,
        max_warnings: Some(3),
        error_on_rules: vec!["eqeqeq".to_owned()],
        ..ToolPolicy::plain(BlockOn::ErrorsOnly, PolicySource::Default)
    });
    let mut second = plan.steps[0].clone();
    second.id = id("STEP.2");
    plan.steps.push(second);
    let condition = |text: &str| TaskCondition { condition: text.to_owned(), description: String::new() };
    plan.criteria = Some(TaskCriteria {
        success: vec![condition("STEP.1.exitCode === 0")],
        failure: vec![condition("STEP.1.failed === true")],
        expected_output: Some(ExpectedOutput {
            stdout_contains: vec!["done".to_owned()],
            stderr_empty: true,
            exit_code: Some(0),
        }),
        all_steps_must_pass: false,
        minimum_pass_rate_basis_points: Some(8000),
        required_evidence: vec![EvidenceKind::TerminalOutput],
        task_status_lock: true,
        expected_failure: Some(ExpectedFailure { tests: vec!["test_red".to_owned()] }),
    });
    plan.debt = Some(Default::default());
    plan.timeout = Some(Duration::from_secs(600));
    plan.specification = Some(SpecificationSource {
        file: "a-test-specification.json".to_owned(),
        schema_version: "2.0.0".to_owned(),
        task_title: "title".to_owned(),
        sprint_id: "S1".to_owned(),
        dependencies: vec![TaskId::try_from("T1").expect("an id")],
        strictness: vec!["typescript.strictMode: true".to_owned()],
        filled: Default::default(),
    });
    plan
}

fn id(text: &str) -> ActionId {
    ActionId::try_from(text).expect("an id")
}

fn found(change: impl Fn(&mut Plan)) -> Vec<String> {
    let mut now = plan();
    change(&mut now);
    weakenings(&plan_terms(&plan()), &plan_terms(&now))
}

fn policy(plan: &mut Plan) -> &mut ToolPolicy {
    plan.steps[0].policy.as_mut().expect("it has one")
}

fn criteria(plan: &mut Plan) -> &mut TaskCriteria {
    plan.criteria.as_mut().expect("it has some")
}

fn expected(plan: &mut Plan) -> &mut ExpectedOutput {
    criteria(plan).expected_output.as_mut().expect("it has some")
}

type Row = (&'static str, fn(&mut Plan));

#[test]
fn each_kind_of_weakening_is_named() {
    let rows: &[Row] = &[
        ("these actions may print, or end with, what is expected of the others: STEP.3", |plan| {
            let mut third = plan.steps[1].clone();
            third.id = id("STEP.3");
            plan.steps.push(third);
        }),
        ("the project is not held to this any more: typescript.strictMode: true", |plan| {
            plan.specification.as_mut().expect("it has one").strictness = vec!["typescript.strictMode: false".to_owned()];
        }),
        ("STEP.2 is removed: eslint src", |plan| drop(plan.steps.pop())),
        ("STEP.1: does something else: true instead of eslint src (removed `eslint` `src`, added `true`)", |plan| {
            plan.steps[0].command.argv = vec!["true".to_owned()];
            plan.steps[0].command.display = "true".to_owned();
        }),
        ("STEP.1: does something else than before: eslint src (the variable CI is set now)", |plan| {
            plan.steps[0].environment.insert("CI".to_owned(), "1".to_owned());
        }),
        ("STEP.1: exit codes that did not succeed before succeed: 1, 2", |plan| {
            plan.steps[0].expected_exit_codes = vec![0, 1, 2]
        }),
        ("STEP.1: timeout 301s instead of 1m", |plan| plan.steps[0].timeout = Duration::from_secs(301)),
        ("STEP.1: longest time without output unlimited instead of 10s", |plan| plan.steps[0].idle_timeout = None),
        ("STEP.1: longest time without output 21s instead of 10s", |plan| {
            plan.steps[0].idle_timeout = Some(Duration::from_secs(21));
        }),
        ("STEP.1: more output: no limit instead of 1kB", |plan| plan.steps[0].max_output = None),
        ("STEP.1: more output: 1001B instead of 1kB", |plan| plan.steps[0].max_output = Some(ByteSize(1001))),
        ("STEP.1: findings are not judged by a policy any more", |plan| plan.steps[0].policy = None),
        ("STEP.1: policy WARN_ONLY instead of BLOCK_ON_ERRORS_ONLY", |plan| policy(plan).block_on = BlockOn::WarnOnly),
        ("STEP.1: warnings do not count as errors any more", |plan| policy(plan).treat_warnings_as_errors = false),
        ("STEP.1: 4 warnings instead of 3 are let through", |plan| policy(plan).max_warnings = Some(4)),
        ("STEP.1: any number of warnings instead of 3 are let through", |plan| policy(plan).max_warnings = None),
        ("STEP.1: findings of these rules are ignored: no-var", |plan| policy(plan).ignored_rules.push("no-var".to_owned())),
        ("STEP.1: findings of these rules are no errors any more: eqeqeq", |plan| policy(plan).error_on_rules.clear()),
        ("STEP.1: no coverage is required any more", |plan| plan.steps[0].coverage = None),
        ("STEP.1: coverage 79.50 % instead of 80.00 %", |plan| {
            plan.steps[0].coverage.as_mut().expect("it has one").minimum_basis_points = 7950;
        }),
        ("STEP.1: coverage is read from mine.json instead of coverage.json", |plan| {
            plan.steps[0].coverage.as_mut().expect("it has one").report = "mine.json".to_owned();
        }),
        ("STEP.1: tried again 2 times instead of 1", |plan| plan.steps[0].retry_attempts = 2),
        ("STEP.1: processes that it leaves behind do not fail it any more", |plan| {
            plan.steps[0].on_survivors = OnSurvivors::Report;
        }),
        ("STEP.1: its runner need not fail a test that must fail any more", |plan| plan.steps[0].control = false),
        ("timeout of the suite unlimited instead of 10m", |plan| plan.timeout = None),
        ("a success condition is removed: STEP.1.exitCode === 0", |plan| criteria(plan).success.clear()),
        ("a success condition is removed: STEP.1.exitCode === 0", |plan| {
            criteria(plan).success[0].condition = "STEP.1.exitCode >= 0".to_owned();
        }),
        ("a failure condition is removed: STEP.1.failed === true", |plan| criteria(plan).failure.clear()),
        ("these texts need not be printed any more: done", |plan| expected(plan).stdout_contains.clear()),
        ("standard error need not be empty any more", |plan| expected(plan).stderr_empty = false),
        ("exit code 0 is not expected any more", |plan| expected(plan).exit_code = None),
        ("pass rate 79.99 % instead of 80.00 %", |plan| criteria(plan).minimum_pass_rate_basis_points = Some(7999)),
        ("these tests may fail: test_other", |plan| {
            criteria(plan).expected_failure =
                Some(ExpectedFailure { tests: vec!["test_red".to_owned(), "test_other".to_owned()] });
        }),
        ("this evidence is not required any more: terminal-output", |plan| criteria(plan).required_evidence.clear()),
        ("the task's status is not locked any more", |plan| criteria(plan).task_status_lock = false),
        ("it does not depend on these tasks any more: T1", |plan| {
            plan.specification.as_mut().expect("it has one").dependencies.clear();
        }),
        ("failures of these severities become no debt any more: LOW", |plan| {
            plan.debt.as_mut().expect("it has some").severities.retain(|severity| *severity != Severity::Low);
        }),
    ];
    for (expected, change) in rows {
        assert_eq!(found(change), [expected.to_owned()]);
    }
    assert_eq!(found(|plan| plan.debt.as_mut().expect("it has some").enabled = false).len(), 1);
    assert_eq!(found(|plan| plan.criteria = None).len(), 8, "everything that it asked for is named");
}

#[test]
fn what_asks_for_more_or_is_for_people_weakens_nothing() {
    let rows: &[fn(&mut Plan)] = &[
        |_| (),
        |plan| plan.steps.reverse(),
        |plan| plan.steps[0].expected_exit_codes.clear(),
        |plan| plan.steps[0].timeout = Duration::from_secs(59),
        |plan| plan.steps[0].idle_timeout = Some(Duration::from_secs(9)),
        |plan| plan.steps[0].idle_timeout = Some(Duration::from_secs(20)),
        |plan| plan.steps[0].paths = vec!["**".to_owned()],
        |plan| plan.steps[0].max_output = Some(ByteSize(999)),
        |plan| plan.steps[0].retry_attempts = 0,
        |plan| policy(plan).block_on = BlockOn::ErrorsAndWarnings,
        |plan| policy(plan).max_warnings = Some(0),
        |plan| policy(plan).source = PolicySource::Configured("proctor.toml:12".to_owned()),
        |plan| policy(plan).error_on_rules.push("no-var".to_owned()),
        |plan| plan.steps[0].coverage.as_mut().expect("it has one").minimum_basis_points = 9000,
        |plan| plan.timeout = Some(Duration::from_secs(1)),
        |plan| criteria(plan).all_steps_must_pass = true,
        |plan| criteria(plan).expected_failure = None,
        |plan| criteria(plan).minimum_pass_rate_basis_points = Some(10_000),
        |plan| criteria(plan).success[0].description = "words".to_owned(),
        |plan| expected(plan).stdout_contains.push("more".to_owned()),
        |plan| {
            let step = &mut plan.steps[0];
            (step.name, step.description) = ("a name".to_owned(), "words".to_owned());
            step.command.display = "eslint   src".to_owned();
            step.capture.stdout = false;
            step.continue_on_failure = !step.continue_on_failure;
        },
        |plan| plan.specification.as_mut().expect("it has one").task_title = "another".to_owned(),
    ];
    for (row, change) in rows.iter().enumerate() {
        assert_eq!(found(change), Vec::<String>::new(), "row {row}");
    }
}

/// The position of a policy in its file is not recorded, so adding a line above it changes nothing.
#[test]
fn terms_do_not_say_where_a_policy_comes_from() {
    let before = plan();
    let mut moved = plan();
    policy(&mut moved).source = PolicySource::Configured("proctor.toml:12".to_owned());
    assert_eq!(plan_terms(&before), plan_terms(&moved));
}

/// C24: strictness settings are part of the approved terms and of the plan's digest.
#[test]
fn c24_strictness_is_part_of_the_digest_of_a_plan() {
    let digest = |said: &[&str]| {
        let mut plan = plan();
        plan.specification.as_mut().expect("it has one").strictness = owned(said);
        plan_digest(&plan)
    };
    let digests = BTreeSet::from([digest(&[]), digest(&["mypy.strictMode: true"]), digest(&["mypy.strictMode: false"])]);
    assert_eq!(digests.len(), 3);
}

/// If the plan expects no output or exit code of all steps together, a new step does not make it weaker.
#[test]
fn a_step_more_weakens_nothing_where_each_is_judged_by_itself() {
    let mut before = plan();
    criteria(&mut before).expected_output = None;
    let mut now = before.clone();
    let mut third = now.steps[0].clone();
    third.id = id("STEP.3");
    now.steps.push(third);
    assert_eq!(weakenings(&plan_terms(&before), &plan_terms(&now)), Vec::<String>::new());
    // If an output or exit code is expected of all steps together, the new step could produce it in place of an old
    // one.
    for (texts, code) in [(vec!["done".to_owned()], None), (Vec::new(), Some(0))] {
        for plan in [&mut before, &mut now] {
            criteria(plan).expected_output =
                Some(ExpectedOutput { stdout_contains: texts.clone(), stderr_empty: false, exit_code: code });
        }
        let found = weakenings(&plan_terms(&before), &plan_terms(&now));
        assert!(found.len() == 1 && found[0].contains("may print, or end with"), "{found:?}");
    }
}

#[test]
fn terms_are_read_back_as_they_were_written() {
    let terms = plan_terms(&plan());
    let text = serde_json::to_string(&terms).expect("terms have a JSON form");
    assert_eq!(serde_json::from_str::<proctor_model::PlanTerms>(&text).expect("it is theirs"), terms);
}

/// A plan of a project's own checks, whose actions are identified by name.
fn own(change: impl Fn(&mut Plan)) -> Plan {
    let mut own = plan();
    (own.specification, own.criteria) = (None, None);
    own.steps[0].name = "unit".to_owned();
    own.steps[1].name = "lint".to_owned();
    own.steps[1].command.argv.push("lint".to_owned());
    own.steps[1].command.display.push_str(" lint");
    change(&mut own);
    for (number, step) in own.steps.iter_mut().enumerate() {
        step.id = ActionId::numbered("STEP", number + 1);
    }
    own
}

fn found_of_own(before: impl Fn(&mut Plan), now: impl Fn(&mut Plan)) -> [Vec<String>; 3] {
    let (before, now) = (plan_terms(&own(before)), plan_terms(&own(now)));
    [weakenings(&before, &now), strengthenings(&before, &now), renamings(&before, &now)]
}

type OwnRow = (fn(&mut Plan), fn(&mut Plan), [&'static [&'static str]; 3]);

/// Silence may double once, and not again and again.
#[test]
fn a_longer_silence_by_rule_is_not_recorded() {
    let before = plan_terms(&plan());
    let mut longer = plan();
    longer.steps[0].idle_timeout = Some(Duration::from_secs(20));
    let recorded = super::terms_by_rule(&before, plan_terms(&longer));
    assert_eq!(recorded.actions[&id("STEP.1")].idle_timeout_ms, Some(10_000));
}

#[test]
fn a_new_check_that_sets_variables_is_asked_for() {
    let [weaker, ..] = found_of_own(
        |plan| drop(plan.steps.remove(0)),
        |plan| {
            plan.steps[0].environment.insert("PYTHONPATH".to_owned(), "planted".to_owned());
        },
    );
    assert_eq!(weaker, ["unit: a new check sets these variables: PYTHONPATH"]);
}

#[test]
fn all_paths_are_no_fewer_than_some_and_some_are_fewer_than_all() {
    let some = |plan: &mut Plan| plan.steps[0].paths = vec!["src/**".to_owned()];
    let all = |plan: &mut Plan| plan.steps[0].paths = vec!["**".to_owned()];
    let [weaker, ..] = found_of_own(some, all);
    assert_eq!(weaker, Vec::<String>::new());
    let [weaker, stricter, _] = found_of_own(all, some);
    assert_eq!((weaker, stricter), (vec!["unit: only these paths trigger it now: src/**".to_owned()], Vec::new()));
}

#[test]
fn checks_of_a_project_are_told_apart_by_their_names_and_renamed_ones_by_what_they_do() {
    let rows: &[OwnRow] = &[
        (|_| (), |plan| plan.steps.reverse(), [&[], &[], &[]]),
        (|_| (), |plan| drop(plan.steps.remove(0)), [&["unit is removed: eslint src"], &[], &[]]),
        (|plan| drop(plan.steps.remove(0)), |_| (), [&[], &["unit is added: eslint src"], &[]]),
        (|_| (), |plan| plan.steps[0].name = "tests".to_owned(), [&[], &[], &["unit is called tests now"]]),
        (
            |_| (),
            |plan| plan.steps[1].timeout = Duration::from_secs(59),
            [&[], &["lint: stricter now (the way back would be: timeout 1m instead of 59s)"], &[]],
        ),
        (
            |_| (),
            |plan| plan.steps[0].paths = vec!["src/**".to_owned()],
            [&["unit: only these paths trigger it now: src/**"], &[], &[]],
        ),
        (
            |plan| plan.steps[0].paths = vec!["a".to_owned(), "b".to_owned()],
            |plan| plan.steps[0].paths = vec!["b".to_owned(), "c".to_owned()],
            [
                &["unit: these paths do not trigger it any more: a"],
                &["unit: stricter now (the way back would be: these paths do not trigger it any more: c)"],
                &[],
            ],
        ),
        (
            |_| (),
            |plan| plan.steps[0].reuse = Reuse::Always,
            [&["unit: earlier verdicts stand for it in more runs than before"], &[], &[]],
        ),
        (
            |plan| plan.steps[0].writes = vec!["a".to_owned(), "b".to_owned()],
            |plan| plan.steps[0].writes = vec!["b".to_owned(), "c/**".to_owned()],
            [
                &["unit: what it writes to these paths is copied to the project: c/**"],
                &["unit: stricter now (the way back would be: what it writes to these paths is copied to the project: a)"],
                &[],
            ],
        ),
        (
            |plan| drop(plan.steps.remove(0)),
            |plan| plan.steps[0].writes = vec!["a".to_owned()],
            [&["unit: what it writes to these paths is copied to the project: a"], &["unit is added: eslint src"], &[]],
        ),
        // A removed check is found even if another check takes over its name. That check has one path more, which is
        // neutral.
        (
            |_| (),
            |plan| {
                plan.steps.remove(0);
                plan.steps[0].name = "unit".to_owned();
            },
            [&["lint is removed: eslint src lint"], &[], &[]],
        ),
    ];
    for (before, now, expected) in rows {
        assert_eq!(found_of_own(before, now), expected.map(|texts| texts.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
}

#[test]
fn a_command_that_was_found_may_be_run_by_another_program_and_be_written_down() {
    let by = |program: &'static str, is_ours: bool| {
        plan_terms(&own(|plan| {
            plan.steps[0].command_is_ours = is_ours;
            plan.steps[0].command.argv[0] = program.to_owned();
        }))
    };
    let rows = [
        (by("eslint", true), by("node_modules/.bin/eslint", true), true),
        (by("eslint", true), by("eslint", false), true),
        (by("eslint", false), by("eslint", true), true),
        (by("eslint", true), by("node_modules/.bin/eslint", false), false),
        (by("eslint", false), by("node_modules/.bin/eslint", false), false),
    ];
    for (before, now, is_same) in rows {
        assert_eq!(weakenings(&before, &now).is_empty(), is_same, "{before:?} {now:?}");
    }
}

type ApprovalRow = (fn(&mut ApprovalTerms), fn(&mut ApprovalTerms), &'static [&'static str], &'static [&'static str]);

#[test]
fn who_approves_and_what_is_protected_can_be_weakened_like_anything_else() {
    fn signer(name: &str) -> AllowedSigner {
        AllowedSigner { principals: name.to_owned(), key: format!("ssh-ed25519 {name}") }
    }
    let rows: &[ApprovalRow] = &[
        (
            |_| (),
            |now| now.protect = vec!["tests/**".to_owned()],
            &[],
            &["stricter now (the way back would be: these paths are not protected any more: tests/**)"],
        ),
        (
            |before| before.protect = vec!["tests/**".to_owned()],
            |_| (),
            &["these paths are not protected any more: tests/**"],
            &[],
        ),
        (
            |before| before.on_protected_change = OnProtectedChange::HumanReview,
            |_| (),
            &["a change of protected paths asks for no person any more"],
            &[],
        ),
        (|before| before.require_signature = true, |_| (), &["approvals need no signature any more"], &[]),
        // When approvals begin to need a signature, the first key weakens nothing: no earlier key could have approved
        // it.
        (
            |_| (),
            |now| (now.require_signature, now.signers) = (true, vec![signer("a")]),
            &[],
            &["stricter now (the way back would be: approvals need no signature any more)"],
        ),
        (|_| (), |now| now.signers = vec![signer("a")], &["these keys may approve now: a (ssh-ed25519 a)"], &[]),
        // Removing keys is weaker, because a person who removes all other keys could then approve alone.
        (
            |before| before.signers = vec![signer("a"), signer("b")],
            |now| now.signers = vec![signer("b"), signer("c")],
            &["these keys may approve now: c (ssh-ed25519 c)", "these keys may not approve any more: a (ssh-ed25519 a)"],
            &[],
        ),
        (
            |before| before.signers = vec![signer("a"), signer("b")],
            |now| now.signers = vec![signer("b"), AllowedSigner { principals: "other name".to_owned(), ..signer("a") }],
            &[],
            &[],
        ),
    ];
    for (before, now, weaker, stronger) in rows {
        let of = |change: &fn(&mut ApprovalTerms)| {
            let mut plan = plan();
            change(&mut plan.approval);
            plan_terms(&plan)
        };
        let (before, now) = (of(before), of(now));
        assert_eq!((weakenings(&before, &now), strengthenings(&before, &now)), (owned(weaker), owned(stronger)));
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
