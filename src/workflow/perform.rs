//! Does what one effect asks for, and says what came of it.

use crate::evidence::TrailDirectory;
use crate::governance::{Answer, Effect, Event, Question, Slug, State, WorkingCopy};
use crate::workflow::drive::Workflow;
use crate::workflow::error::WorkflowError;
use crate::workflow::hands::{Refusal, Role};

impl<'a> Workflow<'a> {
    pub(super) fn perform(&mut self, state: &State, effect: &Effect) -> Result<Event, WorkflowError> {
        match effect {
            Effect::ReadBrief => Ok(self.read_brief()),
            Effect::LookForSlug(slug) => self.look_for(slug),
            Effect::CheckTools => Ok(self.missing_tools()?.map_or(Event::ToolsReady, Event::ToolsMissing)),
            Effect::MakeSandbox => Ok(match self.refresh_copy(&state.slug)? {
                Ok(()) => Event::SandboxReady,
                Err(why) => Event::StepFailed(why),
            }),
            Effect::AskDrafter { prompt } => {
                self.person.show(&format!("{} drafts the issue …", state.asked.drafter));
                self.consult(Role::Drafter, &state.slug, prompt)
            }
            Effect::AskReviewer { prompt } => {
                self.person.show(&format!("{} reviews the draft …", state.asked.reviewer));
                self.consult(Role::Reviewer, &state.slug, prompt)
            }
            Effect::Edit { draft, verdict } => self.edit(&state.slug, draft, verdict.as_ref()),
            Effect::Ask(question) => Ok(Event::Answered(self.ask(question))),
            Effect::EnsureLabels(labels) => self.ensure_labels(self.repo(state), labels),
            Effect::FileIssue { title, body_file, labels, marker } => {
                let body = self.place.active(self.settings, &state.slug).path().join(body_file);
                self.file_issue(self.repo(state), (title, &body.to_string_lossy()), labels, marker)
            }
            Effect::MoveToDone { issue } => self.move_to_done(state, *issue),
            Effect::Commit { issue } => self.commit_trail(state, *issue),
            Effect::RemoveSandbox => {
                self.clear_copy(&state.slug)?;
                Ok(Event::SandboxRemoved)
            }
            // These are carried out when the transition is settled, and are nothing to wait for.
            Effect::Keep(_) | Effect::Say(_) | Effect::End(_) => Ok(Event::StepFailed("there is nothing to be done".to_owned())),
        }
    }

    /// Where the issue is filed: what a checkpoint of an older proctor does not say, the settings say.
    fn repo<'s>(&self, state: &'s State) -> Option<&'s str>
    where
        'a: 's,
    {
        state.repo.as_deref().or(self.settings.repo.as_deref())
    }

    fn read_brief(&self) -> Event {
        let Some(path) = &self.brief else { return Event::BriefUnreadable("no brief was named".to_owned()) };
        match TrailDirectory::read_text(path) {
            Ok(text) => Event::BriefRead(text),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                Event::BriefUnreadable(format!("the brief cannot be read: {error}{cause}"))
            }
        }
    }

    /// A name is taken where a trail, a checkpoint or another process has it; one that is free is ours from here on.
    fn look_for(&mut self, slug: &Slug) -> Result<Event, WorkflowError> {
        let kept = self.checkpoints.load(&self.place.project, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        self.lock = None;
        if kept.is_some() || self.place.active(self.settings, slug).exists() {
            return Ok(Event::SlugTaken);
        }
        self.lock = self.place.store.lock_workflow(&self.place.project, slug.as_str()).map_err(WorkflowError::Lock)?;
        Ok(if self.lock.is_some() { Event::SlugFree } else { Event::SlugTaken })
    }

    /// N1 steps 1 and 2, before anything is made (B1).
    pub(super) fn missing_tools(&mut self) -> Result<Option<String>, WorkflowError> {
        if let Err(Refusal(why)) = self.person.find_editor() {
            return Ok(Some(why));
        }
        if let Some(why) = self.check_repository()? {
            return Ok(Some(why));
        }
        self.check_tracker()
    }

    fn ask(&mut self, question: &Question) -> Answer {
        question.display.iter().for_each(|line| self.person.show(line));
        self.person.ask(&question.prompt).map_or(Answer::Nobody, Answer::Line)
    }

    fn edit(&mut self, slug: &Slug, draft: &WorkingCopy, verdict: Option<&WorkingCopy>) -> Result<Event, WorkflowError> {
        let trail = self.place.active(self.settings, slug);
        let copies: Vec<&WorkingCopy> = [Some(draft), verdict].into_iter().flatten().collect();
        for copy in &copies {
            trail.make(&copy.name, &copy.text).map_err(WorkflowError::Trail)?;
        }
        let files: Vec<_> = copies.iter().map(|copy| trail.path().join(&copy.name)).collect();
        if let Err(Refusal(why)) = self.person.edit(slug, &files) {
            return Ok(Event::StepFailed(why));
        }
        let read = |copy: &WorkingCopy| trail.read(&copy.name);
        match (read(draft), verdict.map(read).transpose()) {
            (Ok(draft), Ok(verdict)) => Ok(Event::Edited { draft, verdict }),
            (Err(error), _) | (_, Err(error)) => Ok(Event::StepFailed(error.to_string())),
        }
    }

    /// N6 step 8. One that has been moved by a process that died is not moved again.
    fn move_to_done(&mut self, state: &State, issue: u64) -> Result<Event, WorkflowError> {
        let active = self.place.active(self.settings, &state.slug);
        let done = self.place.done(self.settings, issue, &state.slug);
        if !active.exists() && done.exists() {
            return Ok(Event::Moved);
        }
        Ok(match active.move_to(done.path()) {
            Ok(_) => Event::Moved,
            Err(error) => Event::StepFailed(error.to_string()),
        })
    }
}
