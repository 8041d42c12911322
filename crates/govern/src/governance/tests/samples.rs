//! A workflow that tests drive by events, in place of a person and of `workflow/`.

use crate::governance::{
    ConsultationRecord, EventContext, FiledIssue, ModelNames, PersonAnswer, WorkflowEffect, WorkflowEvent, WorkflowId,
    WorkflowLimits, WorkflowStart, WorkflowState, WorkflowTransition, handle, slug_from_file_name,
};
use proctor_model::{Digest, DurationMs, IsolationLevel, Timestamp};

pub(super) const BRIEF: &str = "We want saved searches.\n";
pub(super) const DRAFT: &str = "# Saved searches\n\n**Labels:** `enhancement`, search\n\n## Objective\n\nKeep a search.\n";
pub(super) const APPROVAL: &str = "## Verdict\n\nAPPROVE\n";
pub(super) const BLOCK: &str = "The acceptance criteria are missing.\n\nBLOCK\n";

/// A workflow under test. Records the files that the workflow wrote, and how often it asked for each model.
pub(super) struct Driven {
    pub(super) state: WorkflowState,
    /// The effects that the workflow returned for the last event.
    pub(super) effects: Vec<WorkflowEffect>,
    /// The name and text of every file that was written to the trail, in the order of writing.
    pub(super) kept: Vec<(String, String)>,
    /// How often the workflow asked for the drafter; `reviewer` counts the same for the reviewer.
    pub(super) drafter: u32,
    pub(super) reviewer: u32,
}

pub(super) fn context() -> EventContext {
    EventContext { now: Timestamp::from_millis(1_772_616_600_120), user: 1000 }
}

pub(super) fn consulted() -> ConsultationRecord {
    ConsultationRecord {
        role: "drafter".to_owned(),
        command: vec!["drafter".to_owned()],
        end: "exit code 0".to_owned(),
        exit_code: Some(0),
        isolation: Some(IsolationLevel::Namespace),
        obstacles: Vec::new(),
        survivors: 0,
        prompt_sha256: Digest::of(b"prompt"),
        pinned_sha256: Digest::of(b"pinned"),
        output_sha256: Digest::of(b"output"),
        output_bytes: 6,
        complaint_sha256: Digest::of(b""),
        complaint_bytes: 0,
        started: Timestamp::from_millis(0),
        duration: DurationMs(7),
    }
}

pub(super) fn start() -> WorkflowState {
    WorkflowState::begin(WorkflowStart {
        id: WorkflowId::try_from("00112233445566ff".to_owned()).expect("an id"),
        slug: slug_from_file_name("Governance Notes.md").expect("a slug"),
        brief_name: "Governance Notes.md".to_owned(),
        model_names: ModelNames { drafter: "Claude".to_owned(), reviewer: "Gemini".to_owned() },
        repo: None,
        limits: WorkflowLimits { iterations: 20, attempts: 3 },
    })
}

impl Driven {
    /// Returns a workflow that has not read its brief.
    pub(super) fn new() -> Self {
        let state = start();
        let effects = vec![state.pending_effect()];
        Self { state, effects, kept: Vec::new(), drafter: 0, reviewer: 0 }
    }

    /// Returns a workflow that waits for its first draft, at N2.
    pub(super) fn at_draft() -> Self {
        let events = [
            WorkflowEvent::BriefRead(BRIEF.to_owned()),
            WorkflowEvent::SlugFree,
            WorkflowEvent::ToolsReady,
            WorkflowEvent::SandboxReady,
        ];
        events.into_iter().fold(Self::new(), Self::on)
    }

    /// Returns a workflow at N3's gate, the choice about a new draft; the person has closed the editor without a
    /// change.
    pub(super) fn at_draft_gate() -> Self {
        Self::at_draft().answered(DRAFT).edited()
    }

    /// Returns a workflow at N5's gate, the choice about a reviewed draft; the person has closed the editor without a
    /// change.
    pub(super) fn at_verdict_gate(review: &str) -> Self {
        Self::at_draft_gate().line("S").answered(review).edited()
    }

    /// Returns a workflow whose draft was approved and is to be filed.
    pub(super) fn at_filing() -> Self {
        Self::at_verdict_gate(APPROVAL).line("A")
    }

    pub(super) fn on(mut self, event: WorkflowEvent) -> Self {
        let WorkflowTransition { state, effects } = handle(self.state, event, &context());
        for effect in &effects {
            if let WorkflowEffect::Keep(file) = effect {
                self.kept.push((file.name.clone(), file.text.clone()));
            }
            self.drafter += u32::from(matches!(effect, WorkflowEffect::AskDrafter { .. }));
            self.reviewer += u32::from(matches!(effect, WorkflowEffect::AskReviewer { .. }));
        }
        Self { state, effects, ..self }
    }

    /// Tells the workflow that the model which it asked last answered with this text.
    pub(super) fn answered(self, text: &str) -> Self {
        self.on(WorkflowEvent::ModelAnswered { text: text.to_owned(), record: consulted() })
    }

    /// Lets the person type a line.
    pub(super) fn line(self, line: &str) -> Self {
        self.on(WorkflowEvent::Answered(PersonAnswer::Line(format!("{line}\n"))))
    }

    /// Lets the person close the editor without a change.
    pub(super) fn edited(self) -> Self {
        let Some(WorkflowEffect::Edit { draft, verdict }) = self.effects.last().cloned() else { panic!("{:?}", self.effects) };
        self.on(WorkflowEvent::Edited { draft: draft.text, verdict: verdict.map(|copy| copy.text) })
    }

    /// Lets the person close the editor with these texts in it.
    pub(super) fn left(self, draft: &str, verdict: Option<&str>) -> Self {
        self.on(WorkflowEvent::Edited { draft: draft.to_owned(), verdict: verdict.map(str::to_owned) })
    }

    pub(super) fn filed(self) -> Self {
        let issue = FiledIssue { number: 62, url: "https://tracker.example/issues/62".to_owned() };
        self.on(WorkflowEvent::IssueFiled { issue, already_there: false })
    }

    pub(super) fn pending(&self) -> &WorkflowEffect {
        self.effects.last().expect("there is always something to do")
    }

    /// Returns the question that the workflow asks now: the lines that are shown above it, and its prompt. Panics if
    /// the workflow asks nothing.
    #[track_caller]
    pub(super) fn question(&self) -> (Vec<String>, String) {
        let WorkflowEffect::Ask(question) = self.pending() else { panic!("{:?}", self.effects) };
        (question.display.clone(), question.prompt.clone())
    }

    /// Returns the names of the files that were written to the trail, in the order of writing.
    pub(super) fn names(&self) -> Vec<&str> {
        self.kept.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[track_caller]
    pub(super) fn text_of(&self, name: &str) -> &str {
        let found = self.kept.iter().find(|(kept, _)| kept == name);
        &found.unwrap_or_else(|| panic!("no `{name}` in {:?}", self.names())).1
    }

    #[track_caller]
    pub(super) fn json_of(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(self.text_of(name)).expect("JSON")
    }
}
