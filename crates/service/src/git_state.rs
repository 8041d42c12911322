//! The operation that git is in the middle of, as last reported to the engine. Git's files are read only when the engine is about
//! to decide something.

use std::path::Path;

use crate::event::Event;
use proctor_model::GitOperation;
use proctor_tree::watch::GitFiles;

/// Git's state for one project.
#[derive(Debug)]
pub(super) struct GitState {
    files: GitFiles,
    told: Option<GitOperation>,
}

impl GitState {
    /// Returns the state before anything has been reported to the engine.
    pub(super) fn of(root: &Path) -> Self {
        Self { files: GitFiles::find(root), told: None }
    }

    /// Returns the event that the engine must handle before `event`, if git's operation has changed. Only hints and timers can
    /// start runs, so only they need git's state.
    pub(super) fn before(&mut self, event: &Event) -> Option<Event> {
        if !matches!(event, Event::Hints(_) | Event::Timer) {
            return None;
        }
        let operation = self.files.read();
        let is_news = std::mem::replace(&mut self.told, operation) != operation;
        is_news.then_some(Event::Git(operation))
    }
}
