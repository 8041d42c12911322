//! Keeps what an attempt left as evidence: its output, its report, and the records about it.

use std::path::Path;

use proctor_evidence::report::{ActionFiles, NamedFile};
use proctor_model::{Action, CapturedOutput, EndedAction, EvidenceFile, IsolationLevel, PlanNote, ToolReport};
use proctor_project::ProjectError;

use super::{JudgedAttempt, Performer};
use crate::records;

impl Performer<'_, '_> {
    pub(super) fn keep_streams(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        names: &ActionFiles,
    ) -> Result<Vec<EvidenceFile>, ProjectError> {
        let captured = &ended.captured;
        let log = (&names.log, captured.log_bytes, captured.log_digest);
        let frames = (&names.frames, captured.frames_bytes, captured.frames_digest);
        let mut files = Vec::with_capacity(2);
        for (file, bytes, digest) in [log, frames] {
            let kept = self.directory.adopt(&file.name, bytes, digest, file.kind, Some(&action.id));
            files.push(kept?);
        }
        Ok(files)
    }

    pub(super) fn keep_report(
        &mut self,
        name: Option<&NamedFile>,
        report: &ToolReport,
        action: &Action,
    ) -> Result<Option<EvidenceFile>, ProjectError> {
        let Some(name) = name else { return Ok(None) };
        let kept = match report {
            ToolReport::Fresh(bytes) => self.directory.write(&name.name, bytes, name.kind, Some(&action.id)),
            ToolReport::Large(large) => self.directory.write_from(&name.name, &mut large.reader(), name.kind, Some(&action.id)),
            ToolReport::NotRequested | ToolReport::Missing | ToolReport::Refused(_) => return Ok(None),
        };
        kept.map(Some).map_err(ProjectError::Evidence)
    }

    pub(super) fn keep_records(&mut self, attempt: JudgedAttempt<'_>) -> Result<Vec<EvidenceFile>, ProjectError> {
        let JudgedAttempt { action, ended, interpretation, judgement, environment, program, names, number } = attempt;
        let mut files = Vec::with_capacity(2);
        let directory = self.working_directory(action);
        let program = program.and_then(|program| {
            let (index, ambient) = (&mut self.evidence.index, &self.runner.ambient);
            self.installed.program_facts(index, ambient, action, &self.context.request.scope.root, &directory, program)
        });
        let run_id = &self.context.run_id;
        let record = records::action(run_id, number, action, ended, &directory, program, environment);
        let mut write = |name: &NamedFile, bytes: &[u8]| {
            let kept = self.directory.write(&name.name, bytes, name.kind, Some(&action.id))?;
            files.push(kept);
            Ok::<(), ProjectError>(())
        };
        write(&names.record, &record)?;
        if let (Some(name), Some(bytes)) =
            (&names.findings, records::findings(&self.context.run_id, action, ended, interpretation, judgement))
        {
            write(name, &bytes)?;
        }
        Ok(files)
    }

    /// Notes what a server sent back of what `writes` of a check names, so that it is copied to the project. `answer` is the directory that
    /// stands for the project.
    pub(super) fn note_answered(&mut self, action: &Action, ended: &EndedAction, answer: &Path) -> Option<PlanNote> {
        if action.writes.is_empty() {
            return None;
        }
        let why = match self.place.snapshot_to_change(action) {
            Some(snapshot) => snapshot.note_answered(action, ended, answer, self.context.request.settings).err()?.to_string(),
            None => "there is no snapshot here that they could be compared with".to_owned(),
        };
        Some(PlanNote { subject: action.name.clone(), message: format!("the files of `writes` stay on the server: {why}") })
    }
}

/// Returns whether the kernel guarantees that no process of an action is left. Without this guarantee, an undetected
/// process may still have the action's output directory open.
pub(super) fn is_process_tree_empty(ended: &EndedAction) -> bool {
    ended.end.is_of_its_own() && ended.kept.as_ref().is_some_and(|kept| kept.reached.level == IsolationLevel::Namespace)
}

/// Shortens the captured output to save memory: it is kept until the end of the run, but it has been interpreted and is
/// only shown from now on.
pub(super) fn shorten(captured: &mut CapturedOutput) {
    captured.stdout = captured.stdout.shortened();
    captured.stderr = captured.stderr.shortened();
}
