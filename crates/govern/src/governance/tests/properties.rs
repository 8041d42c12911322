//! Tests that some properties of a workflow hold for any events in any order, for example that a model's text reaches
//! another model or the tracker only by a person's answer.

use proptest::prelude::{Just, Strategy, prop, proptest};
use proptest::{prop_assert, prop_assert_eq, prop_oneof};

use crate::governance::tests::samples::{APPROVAL, BLOCK, BRIEF, DRAFT, Driven, consulted};
use crate::governance::{FiledIssue, PersonAnswer, WorkflowEffect, WorkflowEvent, WorkflowNode, WorkflowState};

fn event() -> impl Strategy<Value = WorkflowEvent> {
    let line = prop::sample::select(vec!["S", "R", "M", "A", "E", "N", "C", "Y", "foo", ""]);
    let text = prop::sample::select(vec![DRAFT, APPROVAL, BLOCK, "", "no title\n"]);
    prop_oneof![
        8 => line.prop_map(|line| WorkflowEvent::Answered(PersonAnswer::Line(line.to_owned()))),
        1 => Just(WorkflowEvent::Answered(PersonAnswer::Nobody)),
        4 => text.clone().prop_map(|text| WorkflowEvent::ModelAnswered { text: text.to_owned(), record: consulted() }),
        1 => Just(WorkflowEvent::ConsultationFailed { why: "no".to_owned(), record: consulted() }),
        4 => (text.clone(), prop::option::of(text)).prop_map(|(draft, verdict)| WorkflowEvent::Edited {
            draft: draft.to_owned(),
            verdict: verdict.map(str::to_owned),
        }),
        1 => Just(WorkflowEvent::BriefRead(BRIEF.to_owned())),
        1 => Just(WorkflowEvent::SlugFree),
        1 => Just(WorkflowEvent::SlugTaken),
        1 => Just(WorkflowEvent::ToolsReady),
        1 => Just(WorkflowEvent::SandboxReady),
        2 => Just(WorkflowEvent::LabelsReady),
        1 => Just(WorkflowEvent::TrackerFailed("no".to_owned())),
        1 => Just(WorkflowEvent::IssueFiled { issue: FiledIssue { number: 5, url: "u".to_owned() }, already_there: false }),
        1 => Just(WorkflowEvent::Moved),
        1 => Just(WorkflowEvent::StepFailed("no".to_owned())),
        1 => Just(WorkflowEvent::Committed),
        1 => Just(WorkflowEvent::SandboxRemoved),
    ]
}

proptest! {
    #[test]
    fn a_models_text_reaches_a_model_or_the_tracker_only_by_a_persons_answer(events in prop::collection::vec(event(), 0..60)) {
        let mut driven = Driven::at_draft();
        for event in events {
            let by_a_person = matches!(event, WorkflowEvent::Answered(PersonAnswer::Line(_)));
            let is_edit = matches!(event, WorkflowEvent::Edited { .. });
            let before = driven.state.clone();
            driven = driven.on(event);
            let goes_out = matches!(driven.pending(), WorkflowEffect::AskReviewer { .. } | WorkflowEffect::EnsureLabels(_))
                || matches!(driven.pending(), WorkflowEffect::AskDrafter { .. });
            let is_new = before.node != driven.state.node;
            prop_assert!(!goes_out || !is_new || by_a_person, "{:?} to {:?}", before.node, driven.state.node);
            prop_assert!(!is_edit || !goes_out || !is_new);
        }
    }

    #[test]
    fn every_transition_ends_in_one_thing_to_do_and_numbers_only_grow(events in prop::collection::vec(event(), 0..60)) {
        let mut driven = Driven::new();
        let mut last = 0;
        for event in events {
            driven = driven.on(event);
            let is_asking = |effect: &WorkflowEffect| !matches!(effect, WorkflowEffect::Keep(_) | WorkflowEffect::Say(_));
            prop_assert_eq!(driven.effects.iter().filter(|effect| is_asking(effect)).count(), 1);
            prop_assert!(is_asking(driven.pending()));
            prop_assert!(driven.state.counters.files >= last);
            last = driven.state.counters.files;
        }
        let mut names: Vec<&str> = driven.names();
        let kept = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), kept, "no file is kept twice");
        prop_assert!(driven.names().iter().filter(|name| name.ends_with("filed.json")).count() <= 1, "no issue is filed twice");
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written(events in prop::collection::vec(event(), 0..40)) {
        let driven = events.into_iter().fold(Driven::at_draft(), Driven::on);
        let text = serde_json::to_string(&driven.state).expect("a state has a JSON form");
        let read: WorkflowState = serde_json::from_str(&text).expect("its own text");
        prop_assert_eq!(&read, &driven.state);
        let is_done = matches!(read.node, WorkflowNode::Done { .. });
        prop_assert!(read.is_resumable() != is_done);
    }
}
