//! Walks the tree to place watches. In each directory, the watch is placed first. After that the rules files (such as
//! `.gitignore`) are read, and last the directory is listed.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::watch::places::{EventSource, WatchError, WatchPlacement};
use crate::watch::rules::{RulesNews, read_rules};
use crate::watch::worker::Worker;
use proctor_model::{PollReason, TreePath, WatchHint, WatchProblem};

/// Whether a hint is sent for each file that is found while watches are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// No hints are sent, because the caller asks for a scan of the whole tree anyway.
    Nothing,
    /// Each file is reported as saved, because it may have been written before the watch was placed.
    Saves,
}

impl Worker {
    /// Stops watching and polling the directories, at or below this one, that the ignore rules now exclude.
    pub(super) fn withdraw_what_is_out(&mut self, directory: &TreePath) {
        for watched in self.places.at_or_below(directory) {
            if self.matcher.scope(&watched).is_none() {
                self.places.withdraw(&watched);
            }
        }
    }

    /// Places watches, and sends a hint if one could not be placed.
    pub(super) fn place_or_tell(&mut self, directory: &TreePath, report: Report) {
        if let Err(error) = self.place_below(directory, report) {
            self.send_hint(WatchHint::LookAgain(WatchProblem::Backend(error.to_string())));
        }
    }

    /// Watches a directory and all directories of the tree below it. Each watch is placed before the rules and entries
    /// of its directory are read, so that no change in between is missed. A directory that cannot be watched does not
    /// end the walk. The last error is returned.
    pub(super) fn place_below(&mut self, top: &TreePath, report: Report) -> Result<(), WatchError> {
        let mut failure = Ok(());
        let mut waiting = vec![top.clone()];
        while let Some(directory) = waiting.pop() {
            let Some(scope) = self.matcher.scope(&directory) else { continue };
            let placed = match self.place_or_poll(&directory) {
                Ok(WatchPlacement::NotThere) => continue,
                Ok(placed) => placed,
                Err(error) => {
                    failure = Err(error);
                    continue;
                }
            };
            if scope.reads_rules()
                && let RulesNews::Changed(file) = read_rules(&self.root, &directory, &mut self.matcher)
                && placed == WatchPlacement::Already
            {
                // The event of the rules file arrives later. By then the matcher has the new rules and finds no
                // difference, so the change is reported here.
                self.withdraw_what_is_out(&directory);
                let path = directory.join(file.name().as_bytes());
                self.send_hint(WatchHint::LookAgain(WatchProblem::RulesChanged(path)));
            }
            self.look_into(&directory, report, &mut waiting);
        }
        self.poll_from_here();
        self.places.hub().note_files(self.files.values().sum());
        failure
    }

    /// Watches one directory. Polls it if no watch could be placed or if events do not report every change.
    fn place_or_poll(&mut self, directory: &TreePath) -> Result<WatchPlacement, WatchError> {
        let placed = self.places.place(directory)?;
        let reason = match (placed, self.places.event_source(directory)) {
            (WatchPlacement::NotThere, _) => return Ok(placed),
            (WatchPlacement::LimitReached, _) if !self.places.has_backend() => {
                self.limit("max_user_instances", |raise_to| PollReason::TooManyInstances { raise_to })
            }
            (WatchPlacement::LimitReached, _) => {
                self.limit("max_user_watches", |raise_to| PollReason::TooManyWatches { path: directory.clone(), raise_to })
            }
            (WatchPlacement::New | WatchPlacement::Already, EventSource::Some(name)) => {
                PollReason::FileSystem { path: directory.clone(), name }
            }
            (WatchPlacement::New | WatchPlacement::Already, EventSource::Events) if self.has_no_events() => PollReason::Deaf,
            (WatchPlacement::New | WatchPlacement::Already, EventSource::Events) => return Ok(placed),
        };
        self.tell_polling(reason);
        let is_new = !self.places.polled.contains_key(directory.as_bytes());
        if is_new {
            self.start_polling(directory);
        }
        Ok(if is_new { WatchPlacement::New } else { WatchPlacement::Already })
    }

    fn limit(&self, name: &str, reason: impl FnOnce(u64) -> PollReason) -> PollReason {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).unwrap_or_default();
        reason(raised(text.trim().parse().unwrap_or_default(), name))
    }

    fn look_into(&mut self, directory: &TreePath, report: Report, waiting: &mut Vec<TreePath>) {
        let Some(scope) = self.matcher.scope(directory) else { return };
        let Ok(entries) = fs::read_dir(self.root.join(directory.as_path())) else {
            // A directory that cannot be listed is reported when the tree digest is computed.
            if report == Report::Saves {
                self.tell_if_in(directory, WatchHint::Saved);
            }
            return;
        };
        let mut files = 0;
        for entry in entries.flatten() {
            let path = directory.join(entry.file_name().as_bytes());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let membership = self.matcher.membership(&scope, &path, is_directory);
            files += usize::from(!is_directory && membership.belongs());
            if is_directory && membership.is_walked() {
                waiting.push(path);
            } else if report == Report::Saves && !is_directory && membership.belongs() {
                self.tell_if_in(&path, WatchHint::Saved);
            } else if report == Report::Saves {
                self.tell_if_ignored(&path, is_directory);
            }
        }
        self.files.insert(directory.clone(), files);
    }
}

/// Returns the value to which the user should raise a kernel limit: the usual value of desktop systems, or twice the
/// present value if that is more.
fn raised(limit: u64, name: &str) -> u64 {
    let usual = if name == "max_user_watches" { 524_288 } else { 512 };
    usual.max(limit.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_to_what_is_usual_or_to_twice_what_it_is() {
        assert_eq!(raised(8192, "max_user_watches"), 524_288);
        assert_eq!(raised(524_288, "max_user_watches"), 1_048_576);
        assert_eq!(raised(128, "max_user_instances"), 512);
    }
}
