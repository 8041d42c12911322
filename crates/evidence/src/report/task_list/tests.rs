//! Tests what is written into a task list, which changes are found in it, and that writing once always leads to a stable file.

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use crate::report::samples::mixed_run;
use crate::report::task_list::{TaskListUpdate, TaskLists, TaskState, TaskVerdict, build_task_lists, plan_task_list_update};
use crate::report::{build, build_debt};
use proctor_model::{CompletionStatus, DebtSettings, Digest, TaskId, ViolationKind, ViolationRecord};

mod torn;

const PATH: &str = "tasks.md";

fn lists() -> TaskLists {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    TaskLists {
        tasks: lines("- [x] **T1**: one\n  - Status: COMPLETE\n- [ ] **T2**: two\n  - Status: INCOMPLETE: 1 result blocks"),
        debt: lines("### High: while there is room\n- [ ] **DEBT-T2-001** (HIGH, REFACTOR) two\n  - Debt source: T2, STEP.1"),
    }
}

/// Returns the text after the blocks were written into it, and the digest of the blocks.
fn written(text: &str) -> (String, Digest) {
    let task_list_update = plan_task_list_update(PATH, Some(text), &lists(), None);
    assert_eq!(task_list_update.violations, []);
    (task_list_update.text.expect("the blocks are not in it"), task_list_update.digest)
}

fn again(found: &str, last: Digest) -> TaskListUpdate {
    plan_task_list_update(PATH, Some(found), &lists(), Some(last))
}

fn kinds(violations: &[ViolationRecord]) -> Vec<(ViolationKind, &str)> {
    violations.iter().map(|violation| (violation.violation, violation.subject.as_str())).collect()
}

#[test]
fn what_is_written_is_not_written_again() {
    for text in ["", "# Plan\n\nMine.\n", "# Plan\r\n\r\nMine.\r\n", "no end of line", "a\n<!-- proctor:begin tasks -->\nb\n"] {
        let (whole, digest) = written(text);
        let task_list_update = again(&whole, digest);
        assert_eq!((task_list_update.text, task_list_update.violations), (None, Vec::new()), "{text:?}");
        assert_eq!(whole.contains("\r\n"), text.contains("\r\n"));
        assert!(!whole.replace("\r\n", "").contains("\r\n"));
        for line in text.lines().filter(|line| !line.contains("proctor:")) {
            assert!(whole.lines().any(|there| there == line), "{line:?} of {text:?}");
        }
    }
}

#[test]
fn a_state_that_changes_is_written_and_is_no_violation() {
    let (whole, digest) = written("before\n");
    let other = TaskLists { tasks: vec!["- [ ] **T1**: one".to_owned()], debt: vec!["nothing".to_owned()] };
    let task_list_update = plan_task_list_update(PATH, Some(&whole), &other, Some(digest));
    assert_eq!(task_list_update.violations, []);
    let expected = "before\n\n<!-- proctor:begin tasks -->\n- [ ] **T1**: one\n<!-- proctor:end tasks -->\n\n\
                    <!-- proctor:begin debt -->\nnothing\n<!-- proctor:end debt -->\n";
    assert_eq!(task_list_update.text.as_deref(), Some(expected));
    // A process died after it had written the file and before it recorded the new digest.
    let died = plan_task_list_update(PATH, Some(expected), &other, Some(digest));
    assert_eq!((died.text, died.violations), (None, Vec::new()));
}

/// The change, the file after it, and the expected violations.
type Row = (&'static str, String, Vec<(ViolationKind, &'static str)>);

#[test]
fn every_edit_by_hand_is_named_and_put_back() {
    use ViolationKind as Kind;
    let (whole, digest) = written("mine\n");
    let debt_block = &whole[whole.find("<!-- proctor:begin debt").expect("it is there")..];
    let rows: [Row; 14] = [
        ("tick", whole.replace("- [ ] **T2**", "- [x] **T2**"), vec![(Kind::UnauthorizedCompletion, "T2")]),
        ("another tick", whole.replace("- [ ] **T2**", "* [X] **T2**"), vec![(Kind::UnauthorizedCompletion, "T2")]),
        ("untick", whole.replace("- [x] **T1**", "- [ ] **T1**"), vec![(Kind::CompletionRemoved, "T1")]),
        ("status", whole.replace("INCOMPLETE: 1 result blocks", "COMPLETE"), vec![(Kind::TaskContentMismatch, "T2")]),
        (
            "task gone",
            whole.replace("- [ ] **T2**: two\n", ""),
            vec![(Kind::TaskContentMismatch, "T1"), (Kind::MissingSprintTask, "T2")],
        ),
        (
            "task made up",
            whole.replace("- [ ] **T2**: two\n", "- [x] **T9**: x\n- [ ] **T2**: two\n"),
            vec![(Kind::UnauthorizedCompletion, "T9")],
        ),
        ("renamed", whole.replace("**T2**", "**T3**"), vec![(Kind::MissingSprintTask, "T2"), (Kind::TaskContentMismatch, "T3")]),
        ("debt ticked", whole.replace("- [ ] **DEBT", "- [x] **DEBT"), vec![(Kind::UnauthorizedCompletion, "DEBT-T2-001")]),
        ("severity", whole.replace("(HIGH,", "(LOW,"), vec![(Kind::ClassificationModified, "DEBT-T2-001")]),
        (
            "debt gone",
            whole.replace(debt_block, "<!-- proctor:begin debt -->\n<!-- proctor:end debt -->\n"),
            vec![(Kind::MissingDebtDocumentation, "DEBT-T2-001")],
        ),
        ("block gone", whole.replace(debt_block, ""), vec![(Kind::MarkersRemoved, "debt")]),
        ("end gone", whole.replace("<!-- proctor:end tasks -->\n", ""), vec![(Kind::MarkersRemoved, "tasks")]),
        ("begin gone", whole.replace("<!-- proctor:begin tasks -->\n", ""), vec![(Kind::MarkersRemoved, "tasks")]),
        ("everything gone", "mine\n".to_owned(), vec![(Kind::MarkersRemoved, "tasks"), (Kind::MarkersRemoved, "debt")]),
    ];
    for (name, found, expected) in rows {
        assert_ne!(found, whole, "{name}");
        let task_list_update = again(&found, digest);
        assert_eq!(kinds(&task_list_update.violations), expected, "{name}");
        assert_eq!(task_list_update.text.as_deref().map(|text| text.trim_end()), Some(whole.trim_end()), "{name}");
    }
    let ticked = again(&whole.replace("- [ ] **T2**", "- [x] **T2**"), digest).violations;
    let [only] = &ticked[..] else { panic!("{ticked:?}") };
    assert_eq!(only.found, "- [x] **T2**: two\n  - Status: INCOMPLETE: 1 result blocks");
    assert_eq!(only.restored, "- [ ] **T2**: two\n  - Status: INCOMPLETE: 1 result blocks");
    let gone = plan_task_list_update(PATH, None, &lists(), Some(digest));
    assert_eq!(kinds(&gone.violations), [(ViolationKind::TaskListRemoved, PATH)]);
    assert_eq!(plan_task_list_update(PATH, None, &lists(), None).violations, []);
}

#[test]
fn blank_lines_and_spaces_at_line_ends_are_nobodys_fault() {
    let (whole, digest) = written("");
    let formatted = whole.replace("-->\n", "-->\n\n").replace("one\n", "one  \n");
    let task_list_update = again(&formatted, digest);
    assert_eq!((task_list_update.text, task_list_update.violations), (None, Vec::new()));
}

#[test]
fn a_persons_words_that_came_into_a_block_come_out_of_it_again() {
    let (whole, digest) = written("# Plan\n");
    let marker = "<!-- proctor:end tasks -->\n";
    let swallowed = whole
        .replace(marker, "")
        .replace("<!-- proctor:begin debt", "My words.\n- [ ] buy milk\n<!-- proctor:end tasks -->\n<!-- proctor:begin debt");
    let task_list_update = again(&swallowed, digest);
    assert_eq!(kinds(&task_list_update.violations), [(ViolationKind::TaskContentMismatch, "tasks")]);
    let text = task_list_update.text.expect("it is put back");
    assert!(text.contains("<!-- proctor:end tasks -->\nMy words.\n- [ ] buy milk\n"), "{text}");
    let after = again(&text, digest);
    assert_eq!((after.text, after.violations), (None, Vec::new()));
}

#[test]
fn the_blocks_follow_from_the_verdicts_and_name_no_run() {
    let task = TaskId::default_task();
    let mut report = build(&mixed_run());
    report.test_specification.task_title = Some("a title\n<!-- proctor:end tasks -->".to_owned());
    let debt = build_debt(&report, &DebtSettings::default(), None).map(Box::new);
    let state = |status| {
        let mut report = Box::new(report.clone());
        report.completion_criteria_evaluation.completion_status = status;
        [TaskState { task: task.clone(), verdict: TaskVerdict::Sealed { report, debt: debt.clone() } }]
    };
    let red = build_task_lists(&state(CompletionStatus::Incomplete), Some("evidence"));
    assert_eq!(red.tasks[1], "- [ ] **default**: a title <! -- proctor:end tasks -- >");
    assert_eq!(red.tasks[2], "  - Status: INCOMPLETE: 2 results block");
    assert_eq!(red.tasks.last().map(String::as_str), Some("  - Evidence: evidence/default/execution-report.json"));
    let items = debt.as_ref().map(|debt| debt.debt_items.len()).expect("there is debt");
    assert_eq!(red.debt.iter().filter(|line| line.starts_with("- [ ] **DEBT-")).count(), items);
    let green = build_task_lists(&state(CompletionStatus::Complete), None);
    assert_eq!(green.tasks[1..3], ["- [x] **default**: a title <! -- proctor:end tasks -- >", "  - Status: COMPLETE"]);
    let run = report.authenticity.execution_id.as_str();
    assert!(red.tasks.iter().chain(&red.debt).all(|line| !line.contains(run)));
    let gone = build_task_lists(&[TaskState { task, verdict: TaskVerdict::NotIntact }], None);
    assert_eq!(gone.tasks[1], "- [ ] **default**");
    assert_eq!(build_task_lists(&[], None).tasks[1..], ["No task has had a verdict yet."]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever is done to the file, writing it once makes it stable, and every line outside of proctor's blocks is kept.
    #[test]
    fn one_writing_settles_any_file(
        lines in proptest::collection::vec(
            proptest::sample::select(vec![
                "<!-- proctor:begin tasks -->", "<!-- proctor:end tasks -->", "<!-- proctor:begin debt -->",
                "<!-- proctor:end debt -->", "- [x] **T1**: one", "- [x] **T2**: two", "  - Status: COMPLETE", "mine", "- [ ] milk",
                "", "  ", "```", "- [x] **DEBT-T2-001**", "mine too\r", "- [x] **T9**: gone", "- [ ] **T005**: own", "  a note",
                "### Medium", "<!-- Written by proctor from its sealed verdicts. What is changed here by hand is put back and recorded. -->",
            ]),
            0..14,
        ),
    ) {
        let text = lines.join("\n");
        let (_, digest) = written("");
        let task_list_update = again(&text, digest);
        let whole = task_list_update.text.unwrap_or_else(|| text.clone());
        let after = again(&whole, digest);
        prop_assert_eq!(after.text, None, "{}", whole);
        prop_assert_eq!(after.violations, Vec::new());
        for own in ["mine", "- [ ] milk", "```"] {
            let count = |text: &str| text.lines().filter(|line| line.trim_end() == own).count();
            prop_assert!(count(&whole) >= count(&text), "{} of {:?} in {:?}", own, text, whole);
        }
    }
}
