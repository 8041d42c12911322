//! Tests of which commands may be corrected without a question, with rows that try to cheat.

use super::*;
use crate::config::Configuration;
use crate::spec::{DiskFiles, plan_command, plan_terms, weakenings};
use proctor_model::ProgramEnding::{NotFound, Ran, UsageError};
use proctor_model::{ApprovedProgram, Plan, ProgramRecord, Tool};

/// Returns a plan with these checks, each a name and a command.
fn plan(checks: &[(&str, &str)]) -> Plan {
    let root = tempfile::tempdir().expect("a directory");
    let of = |command: &str| {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        plan_command(&words, &Configuration::default(), &DiskFiles::new(root.path()), "shop").expect("a command is a plan")
    };
    let mut plan = of("true");
    let steps = (1..).zip(checks).map(|(number, (name, command))| {
        let mut step = of(command).steps.remove(0);
        step.id = proctor_model::ActionId::numbered("STEP", number);
        step.name = (*name).to_owned();
        step
    });
    plan.steps = steps.collect();
    plan
}

fn record(name: &str, program: &str, tool: Tool, ending: ProgramEnding) -> ProgramRecord {
    ProgramRecord { name: name.to_owned(), program: program.to_owned(), tool, ending }
}

fn history(records: &[ProgramRecord]) -> ProgramHistory {
    ProgramHistory { records: records.iter().cloned().collect(), has_unknown: false }
}

/// Returns whether the correction is free where no program was there when the plan was approved.
fn is_free_between(before: &Plan, now: &Plan, history: &ProgramHistory) -> bool {
    is_free_after(Some(&ApprovedProgram::Absent), before, now, history)
}

fn is_free_after(approved: Option<&ApprovedProgram>, before: &Plan, now: &Plan, history: &ProgramHistory) -> bool {
    let (mut before, now) = (plan_terms(before), plan_terms(now));
    before.actions.values_mut().for_each(|action| action.program = approved.cloned());
    weakenings(&with_free_corrections(&before, &now, history), &now).is_empty()
}

fn is_free(before: &[(&str, &str)], now: &[(&str, &str)], records: &[ProgramRecord]) -> bool {
    is_free_between(&plan(before), &plan(now), &history(records))
}

#[test]
fn a_program_that_was_never_found_may_be_corrected_to_any_command() {
    let missing = [record("tests", "pytets", Tool::Generic, NotFound)];
    let before = [("tests", "pytets -q")];
    for now in ["pytest -q", "python -m pytest", "ruff check .", "true"] {
        assert!(is_free(&before, &[("tests", now)], &missing), "{now}");
        assert!(!is_free(&before, &[("tests", now)], &[]), "{now}: nothing ran so far");
    }
    assert!(!is_free(&before, &[], &missing), "it is removed");
    assert!(!is_free(&before, &[("other", "pytest -q")], &missing), "it is removed, and another one is added");
    let both = [("tests", "pytets -q"), ("lint", "ruff check .")];
    assert!(!is_free(&both, &[("tests", "ruff check .")], &missing), "another check is removed");
    assert!(!is_free(&both, &[("tests", "pytest"), ("lint", "ruff check src")], &missing), "another check is weakened");
}

#[test]
fn a_program_that_a_run_did_not_find_is_asked_for_unless_it_was_absent_at_the_approval() {
    let missing = history(&[record("tests", "scripts/test", Tool::Generic, NotFound)]);
    let (before, now) = (plan(&[("tests", "scripts/test")]), plan(&[("tests", "true")]));
    let found = ApprovedProgram::Found { path: "/shop/scripts/test".to_owned(), content: None, way: None };
    for (approved, expected) in [(Some(&ApprovedProgram::Absent), true), (Some(&found), false), (None, false)] {
        assert_eq!(is_free_after(approved, &before, &now, &missing), expected, "{approved:?}");
    }
}

#[test]
fn a_program_that_ever_ran_is_asked_for() {
    let missing = record("tests", "pytest", Tool::Pytest, NotFound);
    let before = [("tests", "pytest")];
    let now = [("tests", "pytest -k fast")];
    assert!(is_free(&before, &now, std::slice::from_ref(&missing)));
    for ran in [
        record("tests", "pytest", Tool::Pytest, Ran),
        record("before", "pytest", Tool::Pytest, Ran),
        record("before", ".venv/bin/pytest", Tool::Generic, Ran),
        record("before", "python", Tool::Pytest, Ran),
        record("tests", "other", Tool::Generic, Ran),
    ] {
        assert!(!is_free(&before, &now, &[missing.clone(), ran.clone()]), "{ran:?}");
    }
    let older = ProgramHistory { has_unknown: true, ..history(&[missing]) };
    assert!(!is_free_between(&plan(&before), &plan(&now), &older), "a run of an older version");
}

#[test]
fn a_usage_error_may_be_corrected_to_another_command_of_the_same_tool() {
    let refused = record("tests", "pytest", Tool::Pytest, UsageError);
    let free = |now: &str, records: &[ProgramRecord]| is_free(&[("tests", "pytest --qq")], &[("tests", now)], records);
    let once = std::slice::from_ref(&refused);
    assert!(free("pytest -q", once));
    for now in ["true", "ruff check .", "./pytest -q", "python -m pytest -q", "sh -c pytest"] {
        assert!(!free(now, once), "{now}");
    }
    assert!(!free("pytest -q", &[refused.clone(), record("other", "pytest", Tool::Pytest, Ran)]));
    assert!(free("pytest -q", &[refused.clone(), record("tests", "pytets", Tool::Generic, NotFound)]));
    let shell = [record("tests", "sh", Tool::Generic, UsageError)];
    assert!(!is_free(&[("tests", "sh x")], &[("tests", "sh y")], &shell), "a shell is no known tool");
}

#[test]
fn a_misspelt_name_that_was_never_found_may_become_the_one_that_was_meant() {
    let rows = [
        ("python -m pytets -q", "python -m pytest -q", "python"),
        ("ruff chekc .", "ruff check .", "ruff"),
        ("npm run tset", "npm run test", "npm"),
    ];
    for (before, now, program) in rows {
        let free = |now: &str, records: &[ProgramRecord]| is_free(&[("tests", before)], &[("tests", now)], records);
        let refused = record("tests", program, Tool::Generic, UsageError);
        let once = std::slice::from_ref(&refused);
        assert!(free(now, once), "{before}");
        // Other checks start other things with the same program.
        assert!(free(now, &[refused.clone(), record("other", program, Tool::Generic, Ran)]), "{before}");
        // Whoever cheats: nothing ran yet, it ran under some plan, or the new command is not the one that was meant.
        assert!(!free(now, &[]), "{before}");
        assert!(!free(now, &[record("tests", program, Tool::Generic, Ran)]), "{before}");
        assert!(!free(now, &[refused.clone(), record("tests", program, Tool::Generic, Ran)]), "{before}: it ran once");
        assert!(!free(now, &[refused.clone(), record("tests", "pytest", Tool::Pytest, Ran)]), "{before}: another one ran once");
        for cheat in
            ["true", &format!("{now} --co"), &format!("{now} || true"), "python -m json.tool", "npm run build", "ruff clean ."]
        {
            assert!(!free(cheat, once), "{before} -> {cheat}");
        }
        let unknown = ProgramHistory { has_unknown: true, ..history(once) };
        assert!(!is_free_between(&plan(&[("tests", before)]), &plan(&[("tests", now)]), &unknown), "{before}: an older run");
    }
    // Who uninstalls a tool changes the command of a known tool, whatever its runs say.
    let refused = [record("tests", "python", Tool::Pytest, UsageError)];
    for now in ["python -m pylint", "python -m pytets", "python -m json.tool"] {
        assert!(!is_free(&[("tests", "python -m pytest")], &[("tests", now)], &refused), "{now}");
    }
}

#[test]
fn nothing_but_the_command_may_differ() {
    let history = history(&[record("tests", "pytets", Tool::Generic, NotFound)]);
    let before = plan(&[("tests", "pytets -q")]);
    let is_free = |change: fn(&mut Plan)| {
        let mut now = plan(&[("tests", "pytest -q")]);
        change(&mut now);
        is_free_between(&before, &now, &history)
    };
    assert!(is_free(|_| {}));
    assert!(!is_free(|now| drop(now.steps[0].environment.insert("PYTEST_ADDOPTS".to_owned(), "--co".to_owned()))));
    assert!(!is_free(|now| now.steps[0].directory = "other".into()));
    assert!(!is_free(|now| now.steps[0].expected_exit_codes = vec![0, 1]));
    assert!(!is_free(|now| now.steps[0].in_place = true));
    assert!(!is_free(|now| now.steps[0].writes = vec!["**".to_owned()]));
    assert!(!is_free(|now| now.steps[0].tool = Tool::Eslint), "the command calls another tool");
}

#[test]
fn where_an_approval_needs_a_signature_nothing_is_free() {
    let history = history(&[record("tests", "pytets", Tool::Generic, NotFound)]);
    let (mut before, mut now) = (plan(&[("tests", "pytets -q")]), plan(&[("tests", "pytest -q")]));
    for plan in [&mut before, &mut now] {
        plan.approval.require_signature = true;
    }
    assert!(!is_free_between(&before, &now, &history));
}
