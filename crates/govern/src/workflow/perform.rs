//! Performs one effect of a workflow and returns the event that results from it.

use crate::governance::{EditorFile, PersonAnswer, PersonQuestion, Slug, WorkflowEffect, WorkflowEvent, WorkflowState};
use crate::workflow::error::WorkflowError;
use crate::workflow::interfaces::{EditorFailure, ModelRole};
use crate::workflow::runner::WorkflowRunner;
use proctor_evidence::TrailDirectory;

impl<'a> WorkflowRunner<'a> {
    pub(super) fn perform(&mut self, state: &WorkflowState, effect: &WorkflowEffect) -> Result<WorkflowEvent, WorkflowError> {
        match effect {
            WorkflowEffect::ReadBrief => Ok(self.read_brief()),
            WorkflowEffect::ClaimSlug(slug) => self.claim_slug(slug),
            WorkflowEffect::CheckTools => {
                Ok(self.missing_tools()?.map_or(WorkflowEvent::ToolsReady, WorkflowEvent::ToolsMissing))
            }
            WorkflowEffect::MakeSandbox => Ok(match self.refresh_copy(&state.slug)? {
                Ok(()) => WorkflowEvent::SandboxReady,
                Err(why) => WorkflowEvent::StepFailed(why),
            }),
            WorkflowEffect::AskDrafter { prompt } => {
                self.person.show(&format!("{} drafts the issue …", state.model_names.drafter));
                self.consult(ModelRole::Drafter, &state.slug, prompt)
            }
            WorkflowEffect::AskReviewer { prompt } => {
                self.person.show(&format!("{} reviews the draft …", state.model_names.reviewer));
                self.consult(ModelRole::Reviewer, &state.slug, prompt)
            }
            WorkflowEffect::Edit { draft, verdict } => self.edit(&state.slug, draft, verdict.as_ref()),
            WorkflowEffect::Ask(question) => Ok(WorkflowEvent::Answered(self.ask(question))),
            WorkflowEffect::EnsureLabels(labels) => self.ensure_labels(self.repo(state), labels),
            WorkflowEffect::FileIssue { title, body_file, labels, marker } => {
                let body = self.project.active_trail(self.settings, &state.slug).path().join(body_file);
                self.file_issue(self.repo(state), (title, &body.to_string_lossy()), labels, marker)
            }
            WorkflowEffect::MoveToDone { issue } => self.move_to_done(state, *issue),
            WorkflowEffect::Commit { issue } => self.commit_trail(state, *issue),
            WorkflowEffect::RemoveSandbox => {
                self.clear_copy(&state.slug)?;
                Ok(WorkflowEvent::SandboxRemoved)
            }
            // Never reached: `apply_transition` and `run_from` handle these effects, which result in no event.
            WorkflowEffect::Keep(_) | WorkflowEffect::Say(_) | WorkflowEffect::End(_) => {
                Ok(WorkflowEvent::StepFailed("there is nothing to be done".to_owned()))
            }
        }
    }

    /// Returns the repository in which the issue is filed. If the checkpoint does not name one (it may come from an
    /// older version of proctor), the repository in the settings is used.
    fn repo<'s>(&self, state: &'s WorkflowState) -> Option<&'s str>
    where
        'a: 's,
    {
        state.repo.as_deref().or(self.settings.repo.as_deref())
    }

    fn read_brief(&self) -> WorkflowEvent {
        let Some(path) = &self.brief else { return WorkflowEvent::BriefUnreadable("no brief was named".to_owned()) };
        match TrailDirectory::read_text(path) {
            Ok(text) => WorkflowEvent::BriefRead(text),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                WorkflowEvent::BriefUnreadable(format!("the brief cannot be read: {error}{cause}"))
            }
        }
    }

    /// Locks a slug (a workflow's name) for this workflow. The slug is taken if a checkpoint, an audit trail or another
    /// process already uses it.
    fn claim_slug(&mut self, slug: &Slug) -> Result<WorkflowEvent, WorkflowError> {
        let kept = self.checkpoints.load(&self.project.id, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        self.lock = None;
        if kept.is_some() || self.project.active_trail(self.settings, slug).exists() {
            return Ok(WorkflowEvent::SlugTaken);
        }
        self.lock = self.project.store.lock_workflow(&self.project.id, slug.as_str()).map_err(WorkflowError::Lock)?;
        Ok(if self.lock.is_some() { WorkflowEvent::SlugFree } else { WorkflowEvent::SlugTaken })
    }

    /// Returns why the editor, the repository or the tracker cannot be used, as a sentence for people (N1 steps 1 and
    /// 2). They are checked in this order, and the first failure counts. `None` if all can be used.
    pub(super) fn missing_tools(&mut self) -> Result<Option<String>, WorkflowError> {
        if let Err(EditorFailure(why)) = self.person.find_editor() {
            return Ok(Some(why));
        }
        if let Some(why) = self.check_repository()? {
            return Ok(Some(why));
        }
        self.check_tracker()
    }

    fn ask(&mut self, question: &PersonQuestion) -> PersonAnswer {
        question.display.iter().for_each(|line| self.person.show(line));
        self.person.ask(&question.prompt).map_or(PersonAnswer::Nobody, PersonAnswer::Line)
    }

    fn edit(&mut self, slug: &Slug, draft: &EditorFile, verdict: Option<&EditorFile>) -> Result<WorkflowEvent, WorkflowError> {
        let trail = self.project.active_trail(self.settings, slug);
        let copies: Vec<&EditorFile> = [Some(draft), verdict].into_iter().flatten().collect();
        for copy in &copies {
            trail.create_if_missing(&copy.name, &copy.text).map_err(WorkflowError::Trail)?;
        }
        let files: Vec<_> = copies.iter().map(|copy| trail.path().join(&copy.name)).collect();
        if let Err(EditorFailure(why)) = self.person.edit(slug, &files) {
            return Ok(WorkflowEvent::StepFailed(why));
        }
        let read = |copy: &EditorFile| trail.read(&copy.name);
        match (read(draft), verdict.map(read).transpose()) {
            (Ok(draft), Ok(verdict)) => Ok(WorkflowEvent::Edited { draft, verdict }),
            (Err(error), _) | (_, Err(error)) => Ok(WorkflowEvent::StepFailed(error.to_string())),
        }
    }

    /// Moves the audit trail to `done/` (N6 step 8), unless an earlier process already moved it before it crashed.
    fn move_to_done(&mut self, state: &WorkflowState, issue: u64) -> Result<WorkflowEvent, WorkflowError> {
        let active = self.project.active_trail(self.settings, &state.slug);
        let done = self.project.done_trail(self.settings, issue, &state.slug);
        if !active.exists() && done.exists() {
            return Ok(WorkflowEvent::Moved);
        }
        Ok(match active.move_to(done.path()) {
            Ok(_) => WorkflowEvent::Moved,
            Err(error) => WorkflowEvent::StepFailed(error.to_string()),
        })
    }
}
