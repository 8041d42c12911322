//! Tests the steps of seed document 002, section 2.5. Each test's name begins with the number of its step.

use crate::governance::tests::samples::{APPROVAL, BLOCK, BRIEF, DRAFT, Driven};
use crate::governance::{
    ISSUE_TEMPLATE, PauseReason, REVIEW_PROMPT, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowNode,
};
use proctor_model::Digest;

fn refused(driven: &Driven) -> &str {
    let WorkflowEffect::End(WorkflowEnding::Refused(why)) = driven.pending() else { panic!("{:?}", driven.effects) };
    why
}

#[test]
fn n0_1_the_brief_is_read_first_and_one_that_cannot_be_read_or_is_empty_ends_it() {
    assert_eq!(Driven::new().effects, [WorkflowEffect::ReadBrief]);
    assert_eq!(refused(&Driven::new().on(WorkflowEvent::BriefUnreadable("no such file".to_owned()))), "no such file");
    assert!(refused(&Driven::new().on(WorkflowEvent::BriefRead(" \n".to_owned()))).contains("is empty"));
}

#[test]
fn n0_2_the_slug_comes_from_the_name_of_the_file() {
    assert_eq!(Driven::new().state.slug.as_str(), "governance-notes");
}

#[test]
fn n0_3_a_name_that_is_taken_is_asked_about_and_every_answer_does_what_it_says() {
    let taken = || Driven::new().on(WorkflowEvent::BriefRead(BRIEF.to_owned())).on(WorkflowEvent::SlugTaken);
    let (display, prompt) = taken().question();
    assert_eq!(display, ["Slug 'governance-notes' already exists in active/"]);
    assert_eq!(prompt, "[R]esume existing / [N]ew name / [A]bort?");
    assert_eq!(taken().line("R").pending(), &WorkflowEffect::End(WorkflowEnding::Resume));
    assert_eq!(taken().line("a").pending(), &WorkflowEffect::End(WorkflowEnding::NotBegun));
    let naming = taken().line("N");
    assert_eq!(naming.question().1, "Enter new slug:");
    let again = naming.line("foo");
    assert!(matches!(again.pending(), WorkflowEffect::ClaimSlug(slug) if slug.as_str() == "foo"));
    let collided = again.on(WorkflowEvent::SlugTaken);
    assert_eq!(collided.effects[0], WorkflowEffect::Say("Slug 'foo' already exists in active/".to_owned()));
    assert_eq!(collided.question().1, "Enter new slug:");
    let bad = collided.line("../etc");
    assert_eq!(bad.question().1, "Enter new slug:");
    let begun = bad.line("bar").on(WorkflowEvent::SlugFree);
    assert_eq!((begun.pending(), begun.state.slug.as_str()), (&WorkflowEffect::CheckTools, "bar"));
    assert_eq!(begun.names(), Vec::<&str>::new(), "nothing is made before the preflight");
}

#[test]
fn n0_4_to_6_the_trail_begins_with_the_brief_and_the_counts_at_their_beginning() {
    let driven = Driven::at_draft();
    assert_eq!(driven.kept, [("001-brief.md".to_owned(), BRIEF.to_owned())]);
    let counters = driven.state.counters;
    assert_eq!((counters.files, counters.iterations, counters.drafts, counters.verdicts), (1, 0, 0, 0));
}

#[test]
fn n1_1_and_2_a_tool_that_is_missing_ends_it_before_anything_is_made() {
    let driven = Driven::new().on(WorkflowEvent::BriefRead(BRIEF.to_owned())).on(WorkflowEvent::SlugFree);
    assert_eq!(driven.pending(), &WorkflowEffect::CheckTools);
    let driven = driven.on(WorkflowEvent::ToolsMissing("`code` is not there".to_owned()));
    assert_eq!((refused(&driven), driven.names().len(), driven.drafter), ("`code` is not there", 0, 0));
    assert!(!driven.state.is_resumable());
}

#[test]
fn n1_3_and_4_the_drafter_is_asked_once_the_sandbox_is_there() {
    let events = [WorkflowEvent::BriefRead(BRIEF.to_owned()), WorkflowEvent::SlugFree, WorkflowEvent::ToolsReady];
    let driven = events.into_iter().fold(Driven::new(), Driven::on);
    assert_eq!(driven.pending(), &WorkflowEffect::MakeSandbox);
    let failed = driven.on(WorkflowEvent::StepFailed("no space".to_owned()));
    assert_eq!(failed.pending(), &WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Failed("no space".to_owned()))));
    assert!(failed.state.is_resumable());
    assert!(matches!(failed.on(WorkflowEvent::SandboxReady).pending(), WorkflowEffect::AskDrafter { .. }));
}

#[test]
fn n2_1_and_5_to_7_a_draft_is_counted_and_kept_as_it_came() {
    let driven = Driven::at_draft().answered(DRAFT);
    assert_eq!(driven.names(), ["001-brief.md", "002-consultation.json", "002-draft.md"]);
    assert_eq!(driven.text_of("002-draft.md"), DRAFT);
    assert_eq!((driven.state.counters.drafts, driven.state.counters.files), (1, 2));
    let revised = driven.edited().line("R").line("shorter").answered("# Another\n").edited().line("R");
    assert_eq!(revised.question().1, "Enter feedback for Claude:", "the feedback before is gone");
}

#[test]
fn n2_2_to_4_the_drafter_is_given_brief_and_template_or_feedback_draft_and_template() {
    let WorkflowEffect::AskDrafter { prompt } = Driven::at_draft().pending().clone() else { panic!() };
    assert!(prompt.contains(BRIEF.trim()) && prompt.contains(ISSUE_TEMPLATE.text.trim()));
    let driven = Driven::at_draft_gate().line("R").line("name the limits");
    let WorkflowEffect::AskDrafter { prompt } = driven.pending().clone() else { panic!() };
    assert!(prompt.contains("name the limits") && prompt.contains(DRAFT.trim()) && prompt.contains(ISSUE_TEMPLATE.text.trim()));
    assert!(!prompt.contains(BRIEF.trim()) && !prompt.contains("REVIEW OF THE DRAFT"));
    assert_eq!((driven.drafter, driven.reviewer), (2, 0));
}

#[test]
fn n3_1_to_4_the_editor_has_the_draft_and_what_is_left_in_it_counts() {
    let driven = Driven::at_draft().answered(DRAFT);
    let WorkflowEffect::Edit { draft, verdict: None } = driven.pending().clone() else { panic!("{:?}", driven.effects) };
    assert_eq!((draft.name.as_str(), draft.text.as_str()), ("002-draft-human.md", DRAFT));
    let driven = driven.left("# Mine\n", None).line("S");
    let WorkflowEffect::AskReviewer { prompt } = driven.pending().clone() else { panic!() };
    assert!(prompt.contains("# Mine") && !prompt.contains("Saved searches"));
    let copy = driven.state.trail.iter().find(|entry| entry.name == "002-draft-human.md").expect("noted");
    assert_eq!(copy.sha256, Digest::of(b"# Mine\n"));
}

#[test]
fn n3_5_and_6_the_first_gate_counts_and_asks_in_these_words() {
    let (display, prompt) = Driven::at_draft_gate().question();
    assert_eq!(display, ["Iteration 1 | Draft #1"]);
    assert_eq!(prompt, "[S]end to Gemini / [R]evise / [M]anual?");
}

#[test]
fn n3_7_s_leads_to_the_review() {
    let driven = Driven::at_draft_gate().line("s");
    assert!(matches!(driven.pending(), WorkflowEffect::AskReviewer { .. }));
    assert_eq!(driven.json_of("003-gate.json")["choice"], "SEND");
}

#[test]
fn n3_8_r_asks_for_feedback_keeps_it_and_leads_to_the_drafter() {
    let driven = Driven::at_draft_gate().line("R");
    assert_eq!(driven.question(), (Vec::new(), "Enter feedback for Claude:".to_owned()));
    let driven = driven.line("name the limits");
    assert_eq!(driven.text_of("004-feedback.txt"), "name the limits\n");
    assert!(matches!(driven.pending(), WorkflowEffect::AskDrafter { .. }));
    assert_eq!((driven.reviewer, driven.state.counters.verdicts), (0, 0));
}

#[test]
fn n3_9_m_pauses_at_this_gate() {
    let driven = Driven::at_draft_gate().line("M");
    assert_eq!(driven.pending(), &WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Manual)));
    let resumed = driven.state.clone().resumed();
    assert!(matches!(resumed.pending_effect(), WorkflowEffect::Edit { .. }) && resumed.node_name() == "N3");
}

#[test]
fn n4_1_to_6_the_reviewer_is_given_the_pinned_prompt_and_the_draft_and_its_answer_is_kept_raw() {
    let driven = Driven::at_draft_gate().line("S");
    let WorkflowEffect::AskReviewer { prompt } = driven.pending().clone() else { panic!() };
    assert!(prompt.starts_with(REVIEW_PROMPT.text) && prompt.contains(DRAFT.trim()));
    let driven = driven.answered(BLOCK);
    assert_eq!(driven.names()[3..], ["003-gate.json", "004-consultation.json", "004-verdict.md"]);
    assert_eq!((driven.text_of("004-verdict.md"), driven.state.counters.verdicts), (BLOCK, 1));
}

#[test]
fn n5_1_to_3_the_editor_has_both_and_what_is_left_of_both_counts() {
    let driven = Driven::at_draft_gate().line("S").answered(BLOCK);
    let WorkflowEffect::Edit { draft, verdict: Some(verdict) } = driven.pending().clone() else { panic!("{:?}", driven.effects) };
    assert_eq!((draft.name.as_str(), verdict.name.as_str()), ("004-draft-human.md", "004-verdict-human.md"));
    let driven = driven.left("# Other\n", Some("Only this.\n")).line("R").line("as it says");
    let WorkflowEffect::AskDrafter { prompt } = driven.pending().clone() else { panic!() };
    assert!(prompt.contains("# Other") && prompt.contains("Only this.") && !prompt.contains("acceptance criteria are missing"));
}

#[test]
fn n5_4_and_5_the_second_gate_counts_shows_the_verdict_and_asks_in_these_words() {
    let (display, prompt) = Driven::at_verdict_gate(BLOCK).question();
    assert_eq!(display, ["Iteration 1 | Draft #1 | Verdict #1", "The verdict is BLOCK."]);
    assert_eq!(prompt, "[A]pprove / [R]evise / [M]anual?");
}

#[test]
fn n5_6_a_leads_to_the_filing() {
    let driven = Driven::at_verdict_gate(APPROVAL).line("A");
    assert_eq!(driven.pending(), &WorkflowEffect::EnsureLabels(vec!["enhancement".to_owned(), "search".to_owned()]));
    let gate = driven.json_of("005-gate.json");
    assert_eq!((&gate["node"], &gate["choice"], &gate["override"]), (&"N5".into(), &"APPROVE".into(), &false.into()));
}

#[test]
fn n5_7_r_asks_for_feedback_and_leads_to_the_drafter() {
    let driven = Driven::at_verdict_gate(BLOCK).line("R").line("add criteria").answered(DRAFT);
    assert_eq!((driven.drafter, driven.reviewer, driven.state.counters.drafts), (2, 1, 2));
    assert!(driven.names().contains(&"004-verdict.md"), "the verdict stays in the trail");
}

#[test]
fn n5_8_m_pauses_at_this_gate() {
    let driven = Driven::at_verdict_gate(APPROVAL).line("manual");
    assert_eq!(driven.pending(), &WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Manual)));
    assert_eq!(driven.state.resumed().node_name(), "N5");
}

#[test]
fn n6_1_and_2_labels_are_those_of_the_draft_that_a_person_approved() {
    let driven = Driven::at_draft_gate().line("S").answered(APPROVAL);
    let driven = driven.left("# T\n\n**Labels:** only-this\n", Some(APPROVAL)).line("A");
    assert_eq!(driven.pending(), &WorkflowEffect::EnsureLabels(vec!["only-this".to_owned()]));
}

#[test]
fn n6_3_the_issue_is_filed_with_title_text_and_labels() {
    let driven = Driven::at_filing().on(WorkflowEvent::LabelsReady);
    let marker = "<!-- proctor-workflow: 00112233445566ff -->".to_owned();
    let expected = WorkflowEffect::FileIssue {
        title: "Saved searches".to_owned(),
        body_file: "006-issue.md".to_owned(),
        labels: vec!["enhancement".to_owned(), "search".to_owned()],
        marker: marker.clone(),
    };
    assert_eq!(driven.pending(), &expected);
    assert_eq!(driven.text_of("006-issue.md"), format!("{}\n\n{marker}\n", DRAFT.trim_end()));
}

#[test]
fn n6_4_a_refusal_is_shown_and_retry_edit_and_abort_do_what_they_say() {
    let failed = || Driven::at_filing().on(WorkflowEvent::LabelsReady).on(WorkflowEvent::TrackerFailed("HTTP 502".to_owned()));
    assert_eq!(failed().question(), (vec!["HTTP 502".to_owned()], "[R]etry / [E]dit draft / [A]bort?".to_owned()));
    assert!(matches!(failed().line("R").pending(), WorkflowEffect::FileIssue { .. }));
    let edited = failed().line("E");
    assert_eq!(edited.state.node_name(), "N5");
    let WorkflowEffect::Edit { draft, verdict: Some(_) } = edited.pending().clone() else { panic!("{:?}", edited.effects) };
    assert_eq!(draft.name, "007-draft-human.md", "what led to the failure stays as it was");
    let aborted = failed().line("A");
    assert_eq!(aborted.pending(), &WorkflowEffect::End(WorkflowEnding::Aborted));
    assert!(aborted.state.is_resumable(), "the files stay in active/");
}

#[test]
fn n6_5_to_7_number_and_address_are_kept_with_how_it_came_to_that() {
    let driven = Driven::at_filing().on(WorkflowEvent::LabelsReady).filed();
    let filed = driven.json_of("007-filed.json");
    assert_eq!((&filed["issueNumber"], &filed["title"]), (&62.into(), &"Saved searches".into()));
    assert_eq!(
        (&filed["issueUrl"], &filed["briefFile"]),
        (&"https://tracker.example/issues/62".into(), &"Governance Notes.md".into())
    );
    for (key, count) in [("totalIterations", 1), ("draftCount", 1), ("verdictCount", 1)] {
        assert_eq!(filed[key], count, "{key}");
    }
}

#[test]
fn n6_8_and_9_the_trail_is_moved_then_committed_then_it_is_over() {
    let driven = Driven::at_filing().on(WorkflowEvent::LabelsReady).filed();
    assert_eq!(driven.pending(), &WorkflowEffect::MoveToDone { issue: 62 });
    let driven = driven.on(WorkflowEvent::Moved);
    assert_eq!(driven.pending(), &WorkflowEffect::Commit { issue: 62 });
    let driven = driven.on(WorkflowEvent::Committed);
    assert_eq!(driven.pending(), &WorkflowEffect::RemoveSandbox);
    let driven = driven.on(WorkflowEvent::SandboxRemoved);
    assert!(matches!(driven.pending(), WorkflowEffect::End(WorkflowEnding::Filed(issue)) if issue.number == 62));
    assert!(matches!(driven.state.node, WorkflowNode::Done { .. }) && !driven.state.is_resumable());
}
