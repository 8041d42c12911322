//! The rows of blocks below the verdict in `proctor watch`: how each check ended in its last runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::local_time::LocalTime;
use crate::cli::screen;
use crate::cli::style::{Line, Style};
use proctor_app::Environment;
use proctor_model::{ProjectId, TaskId};
use proctor_project::StoreReader;

/// Where the last runs of checks are read from, and how they are shown.
pub(crate) struct CheckHistory {
    state_root: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    style: Style,
}

impl CheckHistory {
    pub(crate) fn new(environment: &Environment, style: Style) -> Self {
        Self { state_root: environment.state_root().to_owned(), variables: environment.variables().clone(), style }
    }

    /// Returns a line for each check of a task that ran before. The store is opened for this alone, so that nothing is held open
    /// between two runs. If it cannot be read, there are no lines: the verdict does not depend on them.
    pub(crate) fn lines(&self, project: &ProjectId, task: &TaskId) -> Vec<Line> {
        let streaks = StoreReader::open(&self.state_root, self.variables.clone())
            .and_then(|mut archive| archive.check_streaks(project, task));
        let here = LocalTime::of_now();
        match streaks {
            Ok(streaks) => streaks.iter().filter_map(|streak| screen::streak_line(streak, &here, self.style)).collect(),
            Err(error) => {
                tracing::warn!("the last runs of the checks are not shown: {error}");
                Vec::new()
            }
        }
    }
}
