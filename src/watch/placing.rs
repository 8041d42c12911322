//! The walk that places watches: first the watch, then the rules, then a look at what is there.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::model::{TreePath, WatchHint, WatchProblem};
use crate::watch::error::WatchError;
use crate::watch::places::Placed;
use crate::watch::rules::{RulesNews, read_rules};
use crate::watch::worker::Worker;

/// What to say of the files found while watches are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// Nothing: whoever asked looks at everything anyway.
    Nothing,
    /// Each is a save: it may have been written before the watch was placed.
    Saves,
}

impl Worker {
    /// Gives the watches back that the rules do not want any more.
    pub(super) fn withdraw_what_is_out(&mut self, directory: &TreePath) {
        for watched in self.places.at_or_below(directory) {
            if self.matcher.scope(&watched).is_none() {
                self.places.withdraw(&watched);
            }
        }
    }

    /// Places watches and hints at what kept one from being placed.
    pub(super) fn place_or_tell(&mut self, directory: &TreePath, report: Report) {
        let problem = match self.place_below(directory, report) {
            Ok(()) => return,
            Err(WatchError::TooManyWatches { path }) => {
                WatchProblem::TooManyWatches(TreePath::below(&self.root, &path).unwrap_or_default())
            }
            Err(error) => WatchProblem::Backend(error.to_string()),
        };
        self.tell(WatchHint::LookAgain(problem));
    }

    /// Watches a directory and what a walk comes to below it: first the watch, then the rules, then the look at what is there,
    /// so that nothing can come in between unseen. Goes on after a directory that cannot be watched, unless the limit is reached.
    pub(super) fn place_below(&mut self, top: &TreePath, report: Report) -> Result<(), WatchError> {
        let mut failure = Ok(());
        let mut waiting = vec![top.clone()];
        while let Some(directory) = waiting.pop() {
            let Some(scope) = self.matcher.scope(&directory) else { continue };
            let placed = match self.places.place(&directory) {
                Ok(Placed::NotThere) => continue,
                Ok(placed @ (Placed::New | Placed::Already)) => placed,
                Err(error @ WatchError::TooManyWatches { .. }) => return Err(error),
                Err(error) => {
                    failure = Err(error);
                    continue;
                }
            };
            if scope.reads_rules()
                && let RulesNews::Changed(file) = read_rules(&self.root, &directory, &mut self.matcher)
                && placed == Placed::Already
            {
                // The event of the rules file is still to come, and will find nothing new.
                self.withdraw_what_is_out(&directory);
                let path = directory.join(file.name().as_bytes());
                self.tell(WatchHint::LookAgain(WatchProblem::RulesChanged(path)));
            }
            self.look_into(&directory, report, &mut waiting);
        }
        failure
    }

    fn look_into(&self, directory: &TreePath, report: Report, waiting: &mut Vec<TreePath>) {
        let Some(scope) = self.matcher.scope(directory) else { return };
        // A directory that cannot be listed is named by the digest.
        let Ok(entries) = fs::read_dir(self.root.join(directory.as_path())) else { return };
        for entry in entries.flatten() {
            let path = directory.join(entry.file_name().as_bytes());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let standing = self.matcher.standing(&scope, &path, is_directory);
            if is_directory && standing.is_walked() {
                waiting.push(path);
            } else if !is_directory && standing.belongs() && report == Report::Saves {
                self.tell(WatchHint::Saved(path));
            }
        }
    }
}
