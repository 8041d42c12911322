//! Hints for people about a failed action: variables that were not passed on to it, writes that the isolation denied,
//! and effects of the snapshot that it ran on.

use std::path::Path;

use crate::config::SandboxSettings;
use crate::model::{Action, EndedAction, PlanNote, Sandbox};
use crate::sandbox::denied_write::{WriteLimits, denied_writes};
use crate::sandbox::environment::ChildEnvironment;
use crate::sandbox::snapshot_effects::{is_write_to_git, snapshot_effects};

/// A failed action, with what is needed to find out why it may have failed.
pub(crate) struct FailedAction<'a> {
    pub(crate) action: &'a Action,
    pub(crate) ended: &'a EndedAction,
    pub(crate) environment: &'a ChildEnvironment,
    /// The action's view of the file system; `None` if the action was not isolated, or not started.
    pub(crate) sandbox: Option<&'a Sandbox>,
    /// Whether the action ran on a snapshot.
    pub(crate) on_snapshot: bool,
    pub(crate) project_root: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) settings: &'a SandboxSettings,
}

impl FailedAction<'_> {
    /// Returns the hints as notes for the report; empty if nothing was found.
    pub(crate) fn hints(&self) -> Vec<PlanNote> {
        let captured = &self.ended.captured;
        let output = format!("{}\n{}", captured.stdout.text(), captured.stderr.text());
        let (effects, output_of_plain) = if self.on_snapshot {
            // A snapshot with a writable `.git` would let git mix the snapshot's files with the project's repository.
            let plain: Vec<&str> = output.lines().filter(|line| !is_write_to_git(line)).collect();
            (snapshot_effects(&output), plain.join("\n"))
        } else {
            (Vec::new(), output.clone())
        };
        let messages = self.missed_variables(&output).into_iter().chain(self.denied_writes(&output_of_plain)).chain(effects);
        messages.map(|message| PlanNote { subject: self.action.name.clone(), message }).collect()
    }

    /// Returns a hint for each variable that was not passed on and is named in the output, because the command probably
    /// needed it (E12).
    fn missed_variables(&self, output: &str) -> Vec<String> {
        let missed = self.environment.missed_in(output).into_iter();
        missed
            .map(|name| {
                format!(
                    "`{name}` is set where proctor runs and was not passed on: if the command needs it, add it to `pass_environment` in `[environment]`"
                )
            })
            .collect()
    }

    fn denied_writes(&self, output: &str) -> Vec<String> {
        let (Some(sandbox), Some(kept)) = (self.sandbox, &self.ended.kept) else {
            return Vec::new();
        };
        let limits = WriteLimits {
            level: kept.reached.level,
            sandbox,
            project_root: self.project_root,
            directory: &self.project_root.join(&self.action.directory),
            home: self.home,
            settings: self.settings,
            is_directory: &Path::is_dir,
        };
        denied_writes(output, &limits)
    }
}
