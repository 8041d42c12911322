//! A workflow that is driven by events, as a person and the doers would.

use crate::governance::{
    Answer, Asked, Consulted, Effect, Event, FiledIssue, Limits, Moment, Start, State, Transition, WorkflowId, handle, slug_of,
};
use crate::model::{Digest, DurationMs, IsolationLevel, Timestamp};

pub(super) const BRIEF: &str = "We want saved searches.\n";
pub(super) const DRAFT: &str = "# Saved searches\n\n**Labels:** `enhancement`, search\n\n## Objective\n\nKeep a search.\n";
pub(super) const APPROVAL: &str = "## Verdict\n\nAPPROVE\n";
pub(super) const BLOCK: &str = "The acceptance criteria are missing.\n\nBLOCK\n";

/// A workflow and what it has asked for so far.
pub(super) struct Driven {
    pub(super) state: State,
    /// The effects of the last event.
    pub(super) effects: Vec<Effect>,
    /// Every file that was kept, in order.
    pub(super) kept: Vec<(String, String)>,
    /// How often each model was asked.
    pub(super) drafter: u32,
    pub(super) reviewer: u32,
}

pub(super) fn moment() -> Moment {
    Moment { now: Timestamp::from_millis(1_772_616_600_120), user: 1000 }
}

pub(super) fn consulted() -> Consulted {
    Consulted {
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

pub(super) fn start() -> State {
    State::begin(Start {
        id: WorkflowId::try_from("00112233445566ff".to_owned()).expect("an id"),
        slug: slug_of("Governance Notes.md").expect("a slug"),
        brief_name: "Governance Notes.md".to_owned(),
        asked: Asked { drafter: "Claude".to_owned(), reviewer: "Gemini".to_owned() },
        repo: None,
        limits: Limits { iterations: 20, attempts: 3 },
    })
}

impl Driven {
    /// At the beginning.
    pub(super) fn new() -> Self {
        let state = start();
        let effects = vec![state.pending()];
        Self { state, effects, kept: Vec::new(), drafter: 0, reviewer: 0 }
    }

    /// At N2, for the first time.
    pub(super) fn at_draft() -> Self {
        let events = [Event::BriefRead(BRIEF.to_owned()), Event::SlugFree, Event::ToolsReady, Event::SandboxReady];
        events.into_iter().fold(Self::new(), Self::on)
    }

    /// At the first gate, with nothing edited.
    pub(super) fn at_draft_gate() -> Self {
        Self::at_draft().answered(DRAFT).edited()
    }

    /// At the second gate, with nothing edited.
    pub(super) fn at_verdict_gate(review: &str) -> Self {
        Self::at_draft_gate().line("S").answered(review).edited()
    }

    /// At the tracker.
    pub(super) fn at_filing() -> Self {
        Self::at_verdict_gate(APPROVAL).line("A")
    }

    pub(super) fn on(mut self, event: Event) -> Self {
        let Transition { state, effects } = handle(self.state, event, &moment());
        for effect in &effects {
            if let Effect::Keep(file) = effect {
                self.kept.push((file.name.clone(), file.text.clone()));
            }
            self.drafter += u32::from(matches!(effect, Effect::AskDrafter { .. }));
            self.reviewer += u32::from(matches!(effect, Effect::AskReviewer { .. }));
        }
        Self { state, effects, ..self }
    }

    /// A model answers.
    pub(super) fn answered(self, text: &str) -> Self {
        self.on(Event::Consulted { text: text.to_owned(), consulted: consulted() })
    }

    /// A person types a line.
    pub(super) fn line(self, line: &str) -> Self {
        self.on(Event::Answered(Answer::Line(format!("{line}\n"))))
    }

    /// The editor is closed with nothing changed.
    pub(super) fn edited(self) -> Self {
        let Some(Effect::Edit { draft, verdict }) = self.effects.last().cloned() else { panic!("{:?}", self.effects) };
        self.on(Event::Edited { draft: draft.text, verdict: verdict.map(|copy| copy.text) })
    }

    /// The editor is closed with this left in it.
    pub(super) fn left(self, draft: &str, verdict: Option<&str>) -> Self {
        self.on(Event::Edited { draft: draft.to_owned(), verdict: verdict.map(str::to_owned) })
    }

    pub(super) fn filed(self) -> Self {
        let issue = FiledIssue { number: 62, url: "https://tracker.example/issues/62".to_owned() };
        self.on(Event::IssueFiled { issue, already_there: false })
    }

    pub(super) fn pending(&self) -> &Effect {
        self.effects.last().expect("there is always something to do")
    }

    /// What is shown and asked.
    #[track_caller]
    pub(super) fn question(&self) -> (Vec<String>, String) {
        let Effect::Ask(question) = self.pending() else { panic!("{:?}", self.effects) };
        (question.display.clone(), question.prompt.clone())
    }

    /// The names of what was kept.
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
