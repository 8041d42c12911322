//! The project's git repository: makes the copy of the project in which models work, and commits the audit trail.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use crate::governance::{Slug, WorkflowEvent, WorkflowState};
use crate::workflow::error::WorkflowError;
use crate::workflow::interfaces::{ToolEnd, ToolRequest};
use crate::workflow::runner::WorkflowRunner;

/// Settings that keep git from running the repository's hooks and from starting its maintenance in the background.
const QUIET: &[&str] = &["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];

/// The most times that git is started while another process holds the lock of git's index. [`BUSY_PAUSE`] is the wait
/// between two starts.
const BUSY_ATTEMPTS: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

impl WorkflowRunner<'_> {
    /// Returns why the repository cannot be used, as a sentence for people; `None` if it can be used.
    pub(super) fn check_repository(&mut self) -> Result<Option<String>, WorkflowError> {
        let end = self.git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        Ok(match end {
            ToolEnd::Exited { code: 0, .. } => None,
            ToolEnd::Exited { .. } => Some("the repository has no commit yet: models get a copy of the last one".to_owned()),
            ToolEnd::Failed(why) => Some(why),
        })
    }

    /// Replaces the models' copy of the project by a fresh copy of the last commit, without the audit trails.
    /// Everything that a model wrote to the old copy is deleted, so that the next model cannot see it.
    pub(super) fn refresh_copy(&mut self, slug: &Slug) -> Result<Result<(), String>, WorkflowError> {
        self.clear_copy(slug)?;
        let copy = self.project.model_copy(slug);
        let path = copy.to_string_lossy().into_owned();
        let made = self.git(&["worktree", "add", "--quiet", "--force", "--detach", &path, "HEAD"])?;
        if let Some(why) = failure_reason("git worktree add", made) {
            return Ok(Err(why));
        }
        let trails = copy.join(self.project.path_in_repository()).join(&self.settings.trail);
        remove_all(&trails).map_err(|source| WorkflowError::Copy { path: trails.clone(), source })?;
        Ok(Ok(()))
    }

    /// Removes the models' copy. `git worktree remove` is not used, because git would read files in the copy, and a
    /// model may have written anything there.
    pub(super) fn clear_copy(&mut self, slug: &Slug) -> Result<(), WorkflowError> {
        let copy = self.project.model_copy(slug);
        remove_all(&copy).map_err(|source| WorkflowError::Copy { path: copy.clone(), source })?;
        let _what_is_left_is_pruned_the_next_time = self.git(&["worktree", "prune"])?;
        Ok(())
    }

    /// Commits exactly the files of the audit trail, unless the last commit already contains them.
    pub(super) fn commit_trail(&mut self, state: &WorkflowState, issue: u64) -> Result<WorkflowEvent, WorkflowError> {
        let done = self.project.done_trail(self.settings, issue, &state.slug);
        let kept: Vec<_> = state.trail.iter().map(|entry| (entry.name.clone(), entry.sha256)).collect();
        let changed = done.changed_files(&kept).map_err(WorkflowError::Trail)?;
        if !changed.is_empty() {
            let why = format!("these files of the trail were changed or removed: {}", changed.join(", "));
            return Ok(WorkflowEvent::StepFailed(why));
        }
        for name in done.unknown_entries(&kept).map_err(WorkflowError::Trail)? {
            self.person.show(&format!("`{name}` is in the trail's directory, but not part of the trail; it is not committed"));
        }
        let files: Vec<String> = kept.iter().map(|(name, _)| done.path().join(name).to_string_lossy().into_owned()).collect();
        let with = |words: &[&str]| [words.iter().map(|word| (*word).to_owned()).collect(), files.clone()].concat();
        let added = self.git_with(&with(&["add", "--force", "--"]))?;
        if let Some(why) = failure_reason("git add", added) {
            return Ok(WorkflowEvent::StepFailed(why));
        }
        if let ToolEnd::Exited { code: 0, .. } = self.git_with(&with(&["diff", "--cached", "--quiet", "HEAD", "--"]))? {
            return Ok(WorkflowEvent::Committed);
        }
        let message = format!("docs: audit trail of issue #{issue} ({})", state.slug);
        let end = self.run_git(
            &[&["-c", "gc.auto=0", "-c", "maintenance.auto=false"]],
            &with(&["commit", "--quiet", "--only", "-m", &message, "--"]),
        )?;
        Ok(failure_reason("git commit", end).map_or(WorkflowEvent::Committed, WorkflowEvent::StepFailed))
    }

    fn git(&mut self, arguments: &[&str]) -> Result<ToolEnd, WorkflowError> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        self.git_with(&arguments)
    }

    fn git_with(&mut self, arguments: &[String]) -> Result<ToolEnd, WorkflowError> {
        self.run_git(&[QUIET], arguments)
    }

    fn run_git(&mut self, settings: &[&[&str]], arguments: &[String]) -> Result<ToolEnd, WorkflowError> {
        let settings = settings.iter().flat_map(|words| words.iter()).map(|word| (*word).to_owned());
        let argv = ["git".to_owned(), "--literal-pathspecs".to_owned()].into_iter().chain(settings);
        let argv = argv.chain(arguments.iter().cloned()).collect();
        let request = ToolRequest { argv, directory: self.project.root.clone() };
        let mut attempts = 1;
        loop {
            let end = self.host.run_tool(&request)?;
            // Another workflow, or a git command of the person, holds the lock of the index for a moment.
            let is_busy = matches!(&end, ToolEnd::Exited { complaint, .. } if complaint.contains("index.lock"));
            if !is_busy || attempts == BUSY_ATTEMPTS {
                return Ok(end);
            }
            attempts += 1;
            thread::sleep(BUSY_PAUSE);
        }
    }
}

/// Returns why a tool failed, as a sentence for people; `None` if the tool ended with exit code 0.
pub(super) fn failure_reason(what: &str, end: ToolEnd) -> Option<String> {
    match end {
        ToolEnd::Exited { code: 0, .. } => None,
        ToolEnd::Exited { code, output, complaint } => {
            let said = if complaint.trim().is_empty() { output } else { complaint };
            Some(format!("`{what}` ended with exit code {code}: {}", said.trim()))
        }
        ToolEnd::Failed(why) => Some(format!("`{what}`: {why}")),
    }
}

fn remove_all(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
