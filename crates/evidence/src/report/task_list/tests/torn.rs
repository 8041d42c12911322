//! Tests blocks that lost a marking line: proctor's own lines are recognised, and a person's lines are kept.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::{PATH, kinds, lists};
use crate::report::task_list::{TaskListUpdate, TaskLists, build_task_lists, plan_task_list_update};
use proctor_model::{Digest, ViolationKind as Kind, ViolationRecord};

const BEGIN: &str = "<!-- proctor:begin tasks -->\n";
const END: &str = "<!-- proctor:end tasks -->\n";
const OPEN: &str = "- [ ] **T2**";
const TICKED: &str = "- [x] **T2**";

/// Lines that a person wrote: unknown tasks, remarks about known tasks, and lines that look like proctor's.
const OWN: [&[&str]; 7] = [
    &[],
    &["my words"],
    &["- [ ] **T005**: write the importer", "  ask Anna first", "  - Evidence: her mail"],
    &["- [x] **T006**: done long ago", "  - Status: in progress"],
    &["- [ ] **T2**: what I think of it", "  see the mail"],
    &["* [X] **T1**: a line of mine"],
    &["### Medium", "- [ ] **DEBT-mine**: pay Bob", "### Low"],
];

/// Returns the sentence that is the first line of each block.
fn sentence() -> String {
    build_task_lists(&[], None).tasks.swap_remove(0)
}

/// Returns the blocks as proctor writes them; the first line of each block is `sentence()`.
fn real_lists() -> TaskLists {
    let with_sentence = |lines: Vec<String>| std::iter::once(sentence()).chain(lines).collect();
    let TaskLists { tasks, debt } = lists();
    TaskLists { tasks: with_sentence(tasks), debt: with_sentence(debt) }
}

fn written(text: &str) -> (String, Digest) {
    let task_list_update = plan_task_list_update(PATH, Some(text), &real_lists(), None);
    (task_list_update.text.expect("the blocks are not in it"), task_list_update.digest)
}

/// Returns the text after the update, and the violations. Checks that a second update changes nothing.
#[track_caller]
fn mended(found: &str, last: Digest) -> (String, Vec<ViolationRecord>) {
    let TaskListUpdate { text, violations, .. } = plan_task_list_update(PATH, Some(found), &real_lists(), Some(last));
    let text = text.expect("something is to be put back");
    let after = plan_task_list_update(PATH, Some(&text), &real_lists(), Some(last));
    assert_eq!((after.text, after.violations), (None, Vec::new()), "{text}");
    (text, violations)
}

#[test]
fn a_tick_in_a_block_that_lost_a_marking_line_is_recorded_and_put_back() {
    let (whole, digest) = written("mine\n");
    let without_sentence = |text: &str| text.replacen(&format!("{}\n", sentence()), "", 1);
    for marker in [BEGIN, END] {
        let torn = whole.replace(marker, "").replace(OPEN, TICKED);
        for found in [without_sentence(&torn), torn.replace('\n', "\r\n"), torn] {
            let (text, violations) = mended(&found, digest);
            assert_eq!(text.replace("\r\n", "\n"), whole, "{found}");
            assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::UnauthorizedCompletion, "T2")], "{found}");
            assert!(violations[0].found.contains("- [x] **T2**: two\n  - Status: INCOMPLETE: 1"), "{violations:?}");
            assert_eq!(violations[1].found, "- [x] **T2**: two\n  - Status: INCOMPLETE: 1 result blocks");
            assert_eq!(violations[1].restored, "- [ ] **T2**: two\n  - Status: INCOMPLETE: 1 result blocks");
        }
    }
    let debt = whole.replace("<!-- proctor:begin debt -->\n", "").replace("- [ ] **DEBT", "- [x] **DEBT");
    let (text, violations) = mended(&debt, digest);
    assert_eq!(text, whole);
    assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "debt"), (Kind::UnauthorizedCompletion, "DEBT-T2-001")]);
}

#[test]
fn a_tick_is_found_behind_words_that_were_put_before_it() {
    let (whole, digest) = written("mine\n");
    let disguised = whole.replace(OPEN, &format!("look here\n{TICKED}"));
    let noted = whole.replace("- [ ] **T2**: two\n", "- [x] **T2**: two\n  as agreed\n");
    for (words, edited) in [("look here", disguised), ("  as agreed", noted)] {
        for marker in [BEGIN, END] {
            let found = edited.replace(marker, "");
            let (text, violations) = mended(&found, digest);
            assert_eq!(text, whole.replace(END, &format!("{END}{words}\n")), "{found}");
            assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::UnauthorizedCompletion, "T2")], "{found}");
        }
    }
}

#[test]
fn a_tick_is_found_whatever_else_is_said_of_its_task() {
    let (whole, digest) = written("mine\n");
    let edited = whole.replace(OPEN, TICKED).replace("INCOMPLETE: 1 result blocks", "PASSED");
    for marker in [BEGIN, END] {
        let (text, violations) = mended(&edited.replace(marker, ""), digest);
        assert_eq!(text, whole);
        assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::UnauthorizedCompletion, "T2")]);
        assert_eq!(violations[1].found, "- [x] **T2**: two\n  - Status: PASSED");
    }
}

#[test]
fn a_block_is_known_by_its_first_sentence_when_both_marking_lines_are_gone() {
    let (whole, digest) = written("mine\n");
    let found = whole.replace(BEGIN, "").replace(END, "").replace(OPEN, TICKED);
    let (text, violations) = mended(&found, digest);
    assert_eq!(text, whole);
    assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::UnauthorizedCompletion, "T2")]);
    let between = whole.replace(END, "").replace("<!-- proctor:begin debt -->\n", "");
    let (text, violations) = mended(&between, digest);
    assert_eq!(text, whole);
    assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::MarkersRemoved, "debt")]);
}

#[test]
fn an_empty_block_beside_a_torn_one_hides_no_tick() {
    let (whole, digest) = written("mine\n");
    let found = format!("{}{BEGIN}{END}", whole.replace(BEGIN, "").replace(OPEN, TICKED));
    let (text, violations) = mended(&found, digest);
    assert!(!text.contains(TICKED) && text.matches(OPEN).count() == 1, "{text}");
    assert!(kinds(&violations).contains(&(Kind::UnauthorizedCompletion, "T2")), "{violations:?}");
}

#[test]
fn a_persons_own_list_beside_a_block_that_lost_a_marking_line_stays() {
    let own = "- [ ] **T005**: write the importer\n  ask Anna first\n- [x] **T2**: what I think of it\n  see the mail\n";
    for apart in ["", "\n"] {
        let (whole, digest) = written("# Plan\n");
        let below = whole.replace(END, &format!("{END}{apart}{own}"));
        let above = whole.replace(BEGIN, &format!("{own}{apart}{BEGIN}"));
        for (marker, right) in [(END, below), (BEGIN, above)] {
            let (text, violations) = mended(&right.replace(marker, ""), digest);
            assert_eq!(text, right);
            assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks")]);
            assert!(!violations[0].found.contains("T005"), "{violations:?}");
        }
    }
}

#[test]
fn an_entry_of_a_task_that_is_gone_is_taken_out_of_a_torn_block_and_recorded() {
    let (whole, digest) = written("mine\n");
    let old = "- [ ] **T9**: nine\n  - Status: INCOMPLETE: 2 results block\n  - Tests: 1/2 passed\n  - Technical debt: DEBT-T9-001\n  - \
               Evidence: evidence/T9/execution-report.json\n";
    for marker in [BEGIN, END] {
        let found = whole.replace("- [x] **T1**", &format!("{old}- [x] **T1**")).replace(marker, "");
        let (text, violations) = mended(&found, digest);
        assert_eq!(text, whole);
        assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::TaskContentMismatch, "T9")]);
        assert_eq!(violations[1].found, old.trim_end());
        // A line that proctor does not write turns the entry into a person's.
        let noted = found.replace("  - Tests: 1/2 passed", "  mine");
        assert!(mended(&noted, digest).0.contains("- [ ] **T9**: nine\n  - Status: INCOMPLETE: 2 results block\n  mine\n"));
    }
}

#[test]
fn what_is_dropped_is_recorded_up_to_the_bound_of_a_record() {
    let (whole, digest) = written("mine\n");
    let found = whole.replace(BEGIN, "").replace("**: two", &format!("**: {}", "long ".repeat(200)));
    let (text, violations) = mended(&found, digest);
    assert_eq!(text, whole);
    assert_eq!(kinds(&violations), [(Kind::MarkersRemoved, "tasks"), (Kind::TaskContentMismatch, "T2")]);
    assert!(violations.iter().all(|it| it.found.chars().count() == ViolationRecord::MOST_CHARACTERS), "{violations:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// With any marking line missing, a person's lines above, between and below the blocks are kept in order. A tick is found if
    /// a marking line or the first sentence of its block is left.
    #[test]
    fn a_persons_own_entries_survive_any_torn_marker(
        above in select(&OWN[..]),
        between in select(&OWN[..]),
        below in select(&OWN[..]),
        apart in select(vec!["", "\n"]),
        lost in any::<[bool; 4]>(),
        is_sentence_lost in any::<bool>(),
        is_ticked in any::<bool>(),
    ) {
        let lists = real_lists();
        let block = |name: &str, lines: &[String]| {
            format!("<!-- proctor:begin {name} -->\n{}\n<!-- proctor:end {name} -->\n", lines.join("\n"))
        };
        let own = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (tasks, debt) = (block("tasks", &lists.tasks), block("debt", &lists.debt));
        let mut text = [own(above), tasks, own(between), debt, own(below)].join(apart);
        let markers = [BEGIN, END, "<!-- proctor:begin debt -->\n", "<!-- proctor:end debt -->\n"];
        for (marker, _) in markers.iter().zip(lost).filter(|(_, is_lost)| *is_lost) {
            text = text.replace(marker, "");
        }
        if is_sentence_lost {
            text = text.replace(&format!("{}\n", sentence()), "");
        }
        if is_ticked {
            text = text.replace(OPEN, TICKED).replace("- [x] **T2**: what", "- [ ] **T2**: what");
        }
        let (_, digest) = written("");
        let task_list_update = plan_task_list_update(PATH, Some(&text), &lists, Some(digest));
        let whole = task_list_update.text.unwrap_or_else(|| text.clone());
        let after = plan_task_list_update(PATH, Some(&whole), &lists, Some(digest));
        prop_assert_eq!((after.text, after.violations), (None, Vec::new()), "{}", whole);
        let is_own = |line: &&str| OWN.iter().any(|lines| lines.contains(line));
        let owned = |text: &str| text.lines().filter(is_own).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(owned(&whole), owned(&text), "{}\nbecame\n{}", text, whole);
        if is_ticked && !(lost[0] && lost[1] && is_sentence_lost) {
            prop_assert!(!whole.contains("- [x] **T2**: two"), "{}\nbecame\n{}", text, whole);
            prop_assert!(kinds(&task_list_update.violations).contains(&(Kind::UnauthorizedCompletion, "T2")), "{:?}", task_list_update.violations);
        }
    }
}
