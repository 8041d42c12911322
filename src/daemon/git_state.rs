//! What git is in the middle of, as the engine was last told. Read when something is about to be decided, never by itself.

use std::path::Path;

use crate::daemon::event::Event;
use crate::model::GitOperation;
use crate::watch::GitFiles;

/// Git's state for one project.
#[derive(Debug)]
pub(super) struct GitState {
    files: GitFiles,
    told: Option<GitOperation>,
}

impl GitState {
    /// Begins with nothing told.
    pub(super) fn of(root: &Path) -> Self {
        Self { files: GitFiles::find(root), told: None }
    }

    /// Returns what the engine has to know before it is given an event: hints and timers are what runs begin with.
    pub(super) fn before(&mut self, event: &Event) -> Option<Event> {
        if !matches!(event, Event::Hints(_) | Event::Timer) {
            return None;
        }
        let operation = self.files.read();
        let is_news = std::mem::replace(&mut self.told, operation) != operation;
        is_news.then_some(Event::Git(operation))
    }
}
