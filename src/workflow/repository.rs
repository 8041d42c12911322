//! The project's repository: the copies that models get, and the one commit.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use crate::governance::{Event, Slug, State};
use crate::workflow::drive::Workflow;
use crate::workflow::error::WorkflowError;
use crate::workflow::hands::{ToolEnd, ToolRequest};

/// What a repository's own settings must not do while a copy is made: run anything, or begin to tidy up.
const QUIET: &[&str] = &["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];

/// How often git is asked again while somebody else has its index, and how long is waited in between.
const BUSY_ATTEMPTS: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

impl Workflow<'_> {
    /// Returns what keeps the repository from being used; none: nothing does.
    pub(super) fn check_repository(&mut self) -> Result<Option<String>, WorkflowError> {
        let end = self.git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        Ok(match end {
            ToolEnd::Exited { code: 0, .. } => None,
            ToolEnd::Exited { .. } => Some("the repository has no commit yet: models get a copy of the last one".to_owned()),
            ToolEnd::Failed(why) => Some(why),
        })
    }

    /// Makes the models' copy of the project anew, as the last commit has it. What a model has written goes with it: the next one sees
    /// nothing of it. Trails are left out.
    pub(super) fn refresh_copy(&mut self, slug: &Slug) -> Result<Result<(), String>, WorkflowError> {
        self.clear_copy(slug)?;
        let copy = self.place.copy(slug);
        let path = copy.to_string_lossy().into_owned();
        let made = self.git(&["worktree", "add", "--quiet", "--force", "--detach", &path, "HEAD"])?;
        if let Some(why) = refusal("git worktree add", made) {
            return Ok(Err(why));
        }
        let trails = copy.join(self.place.below()).join(&self.settings.trail);
        remove_all(&trails).map_err(|source| WorkflowError::Copy { path: trails.clone(), source })?;
        Ok(Ok(()))
    }

    /// Removes the models' copy. Git is not asked to look into it: a model may have written anything there.
    pub(super) fn clear_copy(&mut self, slug: &Slug) -> Result<(), WorkflowError> {
        let copy = self.place.copy(slug);
        remove_all(&copy).map_err(|source| WorkflowError::Copy { path: copy.clone(), source })?;
        let _what_is_left_is_pruned_the_next_time = self.git(&["worktree", "prune"])?;
        Ok(())
    }

    /// Commits exactly the trail's files, once: where they are in the last commit already, nothing is done.
    pub(super) fn commit_trail(&mut self, state: &State, issue: u64) -> Result<Event, WorkflowError> {
        let done = self.place.done(self.settings, issue, &state.slug);
        let kept: Vec<_> = state.trail.iter().map(|entry| (entry.name.clone(), entry.sha256)).collect();
        let changed = done.changed(&kept).map_err(WorkflowError::Trail)?;
        if !changed.is_empty() {
            let why = format!("these files of the trail are not what was kept: {}", changed.join(", "));
            return Ok(Event::StepFailed(why));
        }
        for name in done.strangers(&kept).map_err(WorkflowError::Trail)? {
            self.person.show(&format!("`{name}` lies in the trail and is not part of it; it is not committed"));
        }
        let files: Vec<String> = kept.iter().map(|(name, _)| done.path().join(name).to_string_lossy().into_owned()).collect();
        let with = |words: &[&str]| [words.iter().map(|word| (*word).to_owned()).collect(), files.clone()].concat();
        let added = self.git_with(&with(&["add", "--force", "--"]))?;
        if let Some(why) = refusal("git add", added) {
            return Ok(Event::StepFailed(why));
        }
        if let ToolEnd::Exited { code: 0, .. } = self.git_with(&with(&["diff", "--cached", "--quiet", "HEAD", "--"]))? {
            return Ok(Event::Committed);
        }
        let message = format!("docs: audit trail of issue #{issue} ({})", state.slug);
        let end = self.run_git(
            &[&["-c", "gc.auto=0", "-c", "maintenance.auto=false"]],
            &with(&["commit", "--quiet", "--only", "-m", &message, "--"]),
        )?;
        Ok(refusal("git commit", end).map_or(Event::Committed, Event::StepFailed))
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
        let request = ToolRequest { argv, directory: self.place.root.clone() };
        let mut attempts = 1;
        loop {
            let end = self.hands.run_tool(&request)?;
            // Another workflow, or the person, has the index for a moment.
            let is_busy = matches!(&end, ToolEnd::Exited { complaint, .. } if complaint.contains("index.lock"));
            if !is_busy || attempts == BUSY_ATTEMPTS {
                return Ok(end);
            }
            attempts += 1;
            thread::sleep(BUSY_PAUSE);
        }
    }
}

/// Returns why a tool did not do its work; none: it did.
pub(super) fn refusal(what: &str, end: ToolEnd) -> Option<String> {
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
