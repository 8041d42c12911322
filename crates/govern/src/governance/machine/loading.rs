//! The nodes N0 and N1 of the workflow: the brief is read, the slug from its file name is claimed, and the tools are
//! checked before any file is written (B1).

use crate::governance::event::{PauseReason, PersonAnswer, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition};
use crate::governance::gate::{GateChoice, WorkflowGate, parse_choice};
use crate::governance::machine::TransitionBuilder;
use crate::governance::name::Slug;
use crate::governance::state::{DraftBasis, LoadingStep, WorkflowNode, WorkflowState};
use crate::governance::trail::TrailKind;
use crate::governance::wording;

pub(super) fn pending_effect(state: &WorkflowState, loading: LoadingStep) -> WorkflowEffect {
    match loading {
        LoadingStep::Reading => WorkflowEffect::ReadBrief,
        LoadingStep::CheckingSlug | LoadingStep::CheckingNewSlug => WorkflowEffect::ClaimSlug(state.slug.clone()),
        LoadingStep::Collision => WorkflowEffect::Ask(wording::collision(&state.slug)),
        LoadingStep::Naming => WorkflowEffect::Ask(wording::new_slug()),
    }
}

impl TransitionBuilder {
    pub(super) fn load_brief(mut self, loading: LoadingStep, event: WorkflowEvent) -> WorkflowTransition {
        match (loading, event) {
            (LoadingStep::Reading, WorkflowEvent::BriefRead(text)) if text.trim().is_empty() => {
                let why = format!("the brief `{}` is empty", self.state.brief_name);
                self.finish_with(WorkflowEnding::Refused(why))
            }
            (LoadingStep::Reading, WorkflowEvent::BriefRead(text)) => {
                self.state.brief = text;
                self.enter(WorkflowNode::LoadBrief(LoadingStep::CheckingSlug))
            }
            (LoadingStep::Reading, WorkflowEvent::BriefUnreadable(why)) => self.finish_with(WorkflowEnding::Refused(why)),
            (LoadingStep::CheckingSlug | LoadingStep::CheckingNewSlug, WorkflowEvent::SlugFree) => {
                self.enter(WorkflowNode::Preflight)
            }
            (LoadingStep::CheckingSlug, WorkflowEvent::SlugTaken) => self.enter(WorkflowNode::LoadBrief(LoadingStep::Collision)),
            (LoadingStep::CheckingNewSlug, WorkflowEvent::SlugTaken) => {
                let taken = wording::slug_taken(&self.state.slug);
                self.say(taken);
                self.enter(WorkflowNode::LoadBrief(LoadingStep::Naming))
            }
            // No checkpoint is stored before N1 has succeeded, so the workflow cannot be resumed after this pause. No
            // file was written either.
            (_, WorkflowEvent::Answered(PersonAnswer::Nobody)) => self.finish_with(WorkflowEnding::Paused(PauseReason::Nobody)),
            (LoadingStep::Collision, WorkflowEvent::Answered(PersonAnswer::Line(line))) => self.answer_collision(&line),
            (LoadingStep::Naming, WorkflowEvent::Answered(PersonAnswer::Line(line))) => self.choose_new_slug(&line),
            (_, _) => self.finish(),
        }
    }

    fn answer_collision(mut self, line: &str) -> WorkflowTransition {
        match parse_choice(WorkflowGate::Collision, line) {
            Some(GateChoice::Resume) => self.finish_with(WorkflowEnding::Resume),
            Some(GateChoice::NewName) => self.enter(WorkflowNode::LoadBrief(LoadingStep::Naming)),
            Some(GateChoice::Abort) => self.finish_with(WorkflowEnding::NotBegun),
            Some(_) | None => {
                self.say(wording::invalid_answer(line, WorkflowGate::Collision));
                self.finish()
            }
        }
    }

    fn choose_new_slug(mut self, line: &str) -> WorkflowTransition {
        match Slug::try_from(line.trim().to_owned()) {
            Ok(slug) => {
                self.state.slug = slug;
                self.enter(WorkflowNode::LoadBrief(LoadingStep::CheckingNewSlug))
            }
            Err(error) => {
                self.say(error.to_string());
                self.finish()
            }
        }
    }

    /// Handles the result of N1 steps 1 and 2, which check the tools. Only if every tool is there, N0 steps 4 to 6
    /// follow: the brief is written as the first file of the trail.
    pub(super) fn finish_preflight(mut self, event: WorkflowEvent) -> WorkflowTransition {
        if let WorkflowEvent::ToolsMissing(why) = event {
            return self.finish_with(WorkflowEnding::Refused(why));
        }
        if event != WorkflowEvent::ToolsReady {
            return self.finish();
        }
        let number = self.next_number();
        let brief = self.state.brief.clone();
        self.keep(number, TrailKind::Brief, brief);
        self.enter(WorkflowNode::Sandbox)
    }

    /// Handles the result of N1 steps 3 and 4, which make the models' copy of the project. Then the drafter is asked
    /// for the first draft.
    pub(super) fn enter_sandbox(self, event: WorkflowEvent) -> WorkflowTransition {
        if let WorkflowEvent::StepFailed(why) = event {
            return self.pause(why);
        }
        if event == WorkflowEvent::SandboxReady {
            self.enter(WorkflowNode::Draft { basis: DraftBasis::Brief })
        } else {
            self.finish()
        }
    }
}
