//! Tests the decisions B1 to B19 on points that seed document 002 leaves open. A test's name begins with the number of
//! its decision. B18 is about documents and has no test.

use crate::governance::tests::samples::{APPROVAL, BLOCK, BRIEF, DRAFT, Driven, consulted};
use crate::governance::{
    ISSUE_TEMPLATE, PauseReason, PersonAnswer, PinnedText, REVIEW_PROMPT, WorkflowEffect, WorkflowEnding, WorkflowEvent,
    WorkflowGate, WorkflowNode, WorkflowTurn, parse_fields,
};

fn paused(driven: &Driven) -> bool {
    matches!(driven.pending(), WorkflowEffect::End(WorkflowEnding::Paused(_)))
}

#[test]
fn b1_tools_are_looked_for_before_anything_is_made() {
    let driven = Driven::new().on(WorkflowEvent::BriefRead(BRIEF.to_owned())).on(WorkflowEvent::SlugFree);
    assert_eq!((driven.pending(), driven.state.counters.files), (&WorkflowEffect::CheckTools, 0));
}

#[test]
fn b2_the_draft_is_read_again_at_the_second_gate_and_a_change_since_the_review_is_said() {
    let driven = Driven::at_draft_gate().line("S").answered(APPROVAL).left("# New\n", Some(APPROVAL));
    assert!(driven.question().0.contains(&"The draft has changed since it was reviewed.".to_owned()));
    let driven = driven.line("A");
    assert_eq!(driven.json_of("005-gate.json")["draftChangedSinceReview"], true);
    assert!(driven.text_of("006-issue.md").starts_with("# New\n"));
}

#[test]
fn b3_the_review_as_a_person_left_it_goes_to_the_drafter_with_the_feedback() {
    let driven = Driven::at_draft_gate().line("S").answered(BLOCK).left(DRAFT, Some("Clean.\n")).line("R").line("do it");
    let WorkflowEffect::AskDrafter { prompt } = driven.pending().clone() else { panic!() };
    assert!(prompt.contains("Clean.") && prompt.contains("do it") && !prompt.contains("BLOCK"));
    assert_eq!(driven.text_of("004-verdict.md"), BLOCK, "what came is kept");
    let removed = Driven::at_draft_gate().line("S").answered(BLOCK).left(DRAFT, Some("\n")).line("R").line("do it");
    assert!(matches!(removed.pending(), WorkflowEffect::AskDrafter { prompt } if !prompt.contains("REVIEW OF THE DRAFT")));
}

#[test]
fn b4_the_models_file_and_the_persons_file_have_one_number_and_two_names() {
    let driven = Driven::at_draft_gate();
    let names: Vec<&str> = driven.state.trail.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["001-brief.md", "002-consultation.json", "002-draft.md", "002-draft-human.md"]);
}

#[test]
fn b6_the_key_is_the_slug_and_another_name_changes_it() {
    let driven =
        Driven::new().on(WorkflowEvent::BriefRead(BRIEF.to_owned())).on(WorkflowEvent::SlugTaken).line("N").line("other");
    assert_eq!(driven.state.slug.as_str(), "other");
}

#[test]
fn b7_manual_is_a_pause_at_the_same_gate_with_the_same_counts() {
    let driven = Driven::at_verdict_gate(APPROVAL).line("M");
    let before = driven.state.counters;
    let again = Driven { state: driven.state.resumed(), ..Driven::new() };
    let again = Driven { effects: vec![again.state.pending_effect()], ..again }.edited();
    assert_eq!(again.state.counters, before);
    assert_eq!(again.question().1, "[A]pprove / [R]evise / [M]anual?");
}

#[test]
fn b8_what_fails_after_the_filing_is_done_again_and_files_nothing() {
    let filed = Driven::at_filing().on(WorkflowEvent::LabelsReady).filed();
    for steps in [vec![], vec![WorkflowEvent::Moved], vec![WorkflowEvent::Moved, WorkflowEvent::Committed]] {
        let events = || Driven::at_filing().on(WorkflowEvent::LabelsReady).filed();
        let driven = steps.into_iter().fold(events(), Driven::on).on(WorkflowEvent::StepFailed("disk full".to_owned()));
        assert!(paused(&driven) && !driven.state.needs_tools());
        let resumed = driven.state.clone().resumed();
        assert!(
            !matches!(resumed.pending_effect(), WorkflowEffect::FileIssue { .. } | WorkflowEffect::EnsureLabels(_)),
            "{:?}",
            resumed.pending_effect()
        );
    }
    assert_eq!(filed.names().iter().filter(|name| name.ends_with("filed.json")).count(), 1);
}

#[test]
fn b8_an_issue_that_an_earlier_attempt_made_is_taken_for_the_one_and_said_to_be() {
    let issue = crate::governance::FiledIssue { number: 7, url: "u".to_owned() };
    let driven = Driven::at_filing().on(WorkflowEvent::LabelsReady).on(WorkflowEvent::IssueFiled { issue, already_there: true });
    assert_eq!(driven.json_of("007-filed.json")["alreadyThere"], true);
}

#[test]
fn b9_a_person_is_asked_after_three_refusals_and_after_twenty_iterations() {
    let refuse = |driven: Driven| driven.on(WorkflowEvent::TrackerFailed("no".to_owned()));
    let driven = refuse(refuse(refuse(Driven::at_filing().on(WorkflowEvent::LabelsReady)).line("R")).line("R")).line("R");
    assert_eq!(driven.question(), (vec!["Filing has failed 3 times.".to_owned()], "[C]ontinue / [A]bort?".to_owned()));
    assert!(matches!(driven.line("C").pending(), WorkflowEffect::FileIssue { .. }));

    let mut driven = Driven::at_draft_gate();
    for _ in 1..20 {
        driven = driven.line("R").line("again").answered(DRAFT).edited();
    }
    let driven = driven.line("R");
    assert_eq!(driven.question(), (vec!["There have been 20 iterations.".to_owned()], "[C]ontinue / [M]anual?".to_owned()));
    assert!(paused(&Driven { state: driven.state.clone(), ..Driven::new() }.line("M")));
    assert_eq!(driven.line("C").question().1, "Enter feedback for Claude:");
}

#[test]
fn b11_a_prompt_that_is_not_the_pinned_one_is_refused() {
    for pinned in [ISSUE_TEMPLATE, REVIEW_PROMPT] {
        assert_eq!(pinned.checked(), Ok(pinned.text));
    }
    let weaker = PinnedText { text: "Approve everything.\n", ..REVIEW_PROMPT };
    let refused = weaker.checked().expect_err("another text").to_string();
    assert!(refused.contains("0701c") && refused.contains(REVIEW_PROMPT.sha256), "{refused}");
}

#[test]
fn b12_numbers_come_from_the_count_and_have_three_digits_or_more() {
    let mut driven = Driven::at_draft();
    driven.state.counters.files = 998;
    let driven = driven.answered(DRAFT).edited().line("S");
    assert_eq!(driven.names()[1..], ["999-consultation.json", "999-draft.md", "1000-gate.json"]);
}

#[test]
fn b13_title_is_the_first_heading_labels_are_a_list_and_what_cannot_be_filed_is_not() {
    let fields = parse_fields("```\n# Not this\n```\n\n#  A title \n\n**Labels:** a, `b c`, A,, \n").expect("fields");
    assert_eq!((fields.title.as_str(), fields.labels), ("A title", vec!["a".to_owned(), "b c".to_owned()]));
    assert_eq!(parse_fields("# T\n").expect("no labels").labels, Vec::<String>::new());
    assert!(parse_fields("## No title\n").expect_err("none").contains("no title"));
    assert!(parse_fields(&format!("# T\n**Labels:** {}\n", "x".repeat(51))).is_err());
    let driven = Driven::at_draft_gate().line("S").answered(APPROVAL).left("no title\n", Some(APPROVAL)).line("A");
    let (display, prompt) = driven.question();
    assert!(display[0].contains("no title") && prompt.starts_with("[R]etry"), "{display:?}");
}

#[test]
fn b14_a_model_without_an_answer_leaves_the_workflow_where_it_is_and_nothing_goes_on() {
    for (driven, node) in [(Driven::at_draft(), "N2"), (Driven::at_draft_gate().line("S"), "N4")] {
        let why = "it took longer than 10m".to_owned();
        let failed = driven.on(WorkflowEvent::ConsultationFailed { why: why.clone(), record: consulted() });
        assert_eq!(failed.pending(), &WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Failed(why))));
        assert_eq!(failed.state.node_name(), node);
        let empty = failed.answered(" \n\n");
        assert!(paused(&empty) && empty.state.node_name() == node);
        assert!(empty.names().last().expect("kept").ends_with("consultation.json"), "how it was asked is kept");
    }
}

#[test]
fn b15_what_is_committed_is_what_is_in_the_trail() {
    let driven = Driven::at_filing().on(WorkflowEvent::LabelsReady).filed();
    let names: Vec<&str> = driven.state.trail.iter().map(|entry| entry.name.as_str()).collect();
    let expected = [
        "001-brief.md",
        "002-consultation.json",
        "002-draft.md",
        "002-draft-human.md",
        "003-gate.json",
        "004-consultation.json",
        "004-verdict.md",
        "004-draft-human.md",
        "004-verdict-human.md",
        "005-gate.json",
        "006-issue.md",
        "007-filed.json",
    ];
    assert_eq!(names, expected);
}

#[test]
fn b16_and_b17_iterations_are_drafts_that_came_to_a_person() {
    let mut driven = Driven::at_verdict_gate(BLOCK);
    for _ in 0..9 {
        driven = driven.line("R").line("again").answered(DRAFT).edited().line("S").answered(BLOCK).edited();
    }
    let counters = driven.state.counters;
    assert_eq!((counters.iterations, counters.drafts, counters.verdicts), (10, 10, 10));
    assert_eq!((driven.drafter, driven.reviewer), (10, 10), "one call of each in a loop");
    assert!(counters.files >= 30, "{}", counters.files);
}

#[test]
fn b19_filing_over_a_verdict_that_blocks_takes_a_second_word_and_is_recorded() {
    for review in [BLOCK, "Looks fine to me.\n"] {
        let driven = Driven::at_verdict_gate(review).line("A");
        assert_eq!(driven.question().1, "File over the verdict? [Y]es / [N]o");
        assert_eq!(driven.names().last().expect("kept"), &"004-verdict.md", "nothing is decided yet");
        let declined = Driven::at_verdict_gate(review).line("A").line("n");
        assert_eq!(declined.question().1, "[A]pprove / [R]evise / [M]anual?");
        let driven = driven.line("A").line("Y");
        assert!(matches!(driven.pending(), WorkflowEffect::EnsureLabels(_)), "`A` is no answer to the second question");
        assert_eq!(driven.json_of("005-gate.json")["override"], true);
        assert_eq!(driven.on(WorkflowEvent::LabelsReady).filed().json_of("007-filed.json")["override"], true);
    }
    let sanitised = Driven::at_draft_gate().line("S").answered(BLOCK).left(DRAFT, Some("APPROVE\n")).line("A");
    assert_eq!(sanitised.question().1, "File over the verdict? [Y]es / [N]o", "rewriting the review approves nothing");
}

#[test]
fn no_gate_has_a_default_and_nobody_answers_for_a_person() {
    for driven in [Driven::at_draft_gate(), Driven::at_verdict_gate(APPROVAL), Driven::at_draft_gate().line("R")] {
        let (node, files) = (driven.state.node.clone(), driven.state.counters.files);
        for line in ["", " ", "x", "SR", "ye"] {
            if matches!(node, WorkflowNode::Decide { phase: crate::governance::state::DecisionPhase::Feedback, .. })
                && !line.trim().is_empty()
            {
                continue;
            }
            let asked = Driven { state: driven.state.clone(), ..Driven::new() }.line(line);
            assert_eq!((&asked.state.node, asked.state.counters.files), (&node, files), "{line:?}");
            assert!(matches!(asked.pending(), WorkflowEffect::Ask(_)));
        }
        let alone = driven.on(WorkflowEvent::Answered(PersonAnswer::Nobody));
        assert_eq!(alone.pending(), &WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Nobody)));
        assert_eq!(alone.state.node, node);
    }
}

#[test]
fn an_empty_draft_goes_neither_to_the_reviewer_nor_to_the_tracker() {
    for (driven, letter) in [(Driven::at_draft().answered(DRAFT).left(" \n", None), "S"), {
        let reviewed = Driven::at_draft_gate().line("S").answered(APPROVAL);
        (reviewed.left("\n", Some(APPROVAL)), "A")
    }] {
        let before = (driven.question().1, driven.names().len());
        let driven = driven.line(letter);
        assert!(driven.effects.contains(&WorkflowEffect::Say("the draft is empty: there is nothing to send".to_owned())));
        assert_eq!((driven.question().1, driven.names().len()), before, "nothing is decided");
    }
}

#[test]
fn who_goes_on_at_a_gate_has_the_texts_again_before_it_is_asked() {
    let asked = [Driven::at_draft_gate(), Driven::at_verdict_gate(APPROVAL), Driven::at_verdict_gate(BLOCK).line("A")];
    for driven in asked {
        assert!(matches!(driven.pending(), WorkflowEffect::Ask(_)));
        assert!(matches!(driven.state.resumed().pending_effect(), WorkflowEffect::Edit { .. }));
    }
}

#[test]
fn whose_turn_it_is_follows_from_where_the_workflow_stands() {
    let failed = || Driven::at_filing().on(WorkflowEvent::TrackerFailed("HTTP 502".to_owned()));
    for (driven, turn, words) in [
        (Driven::at_draft(), WorkflowTurn::Drafter, "a draft from Claude"),
        (Driven::at_draft().answered(DRAFT), WorkflowTurn::Person(WorkflowGate::Draft), "your answer: send, revise, manual"),
        (Driven::at_draft_gate().line("R"), WorkflowTurn::Person(WorkflowGate::Draft), "your answer: send, revise, manual"),
        (Driven::at_draft_gate().line("S"), WorkflowTurn::Reviewer, "a review from Gemini"),
        (
            Driven::at_verdict_gate(BLOCK),
            WorkflowTurn::Person(WorkflowGate::Verdict),
            "your answer: approve, revise, manual (the verdict is BLOCK)",
        ),
        (
            Driven::at_verdict_gate(BLOCK).line("A"),
            WorkflowTurn::Person(WorkflowGate::Override),
            "your answer: yes, no (the verdict is BLOCK)",
        ),
        (Driven::at_filing(), WorkflowTurn::Workflow, "the issue to be filed: you have approved it"),
        (failed(), WorkflowTurn::Person(WorkflowGate::Failure), "your answer: retry, edit, abort (the verdict is APPROVE)"),
        (
            Driven::at_filing().on(WorkflowEvent::LabelsReady).filed(),
            WorkflowTurn::Workflow,
            "the trail to be moved and committed: the issue is filed",
        ),
    ] {
        assert_eq!((driven.state.turn(), driven.state.waits_for().as_str()), (turn, words));
    }
}
