//! The rows of blocks below the verdict in `proctor watch`: how each check ended in its last runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::local_time::LocalTime;
use crate::cli::screen::{self, BlockCharacters};
use crate::cli::style::{Line, Style};
use proctor_app::Environment;
use proctor_model::{ProjectId, TaskId};
use proctor_project::StoreReader;

/// Where the last runs of checks are read from, and how they are shown.
pub(crate) struct CheckHistory {
    state_root: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    characters: BlockCharacters,
    style: Style,
}

impl CheckHistory {
    pub(crate) fn new(environment: &Environment, style: Style) -> Self {
        let characters = if environment.has_dumb_terminal() || !shows_unicode(environment.variables()) {
            BlockCharacters::Ascii
        } else {
            BlockCharacters::Unicode
        };
        Self { state_root: environment.state_root().to_owned(), variables: environment.variables().clone(), characters, style }
    }

    /// Returns a line for each check of a task that ran before. The store is opened for this alone, so that nothing is held open
    /// between two runs. If it cannot be read, there are no lines: the verdict does not depend on them.
    pub(crate) fn lines(&self, project: &ProjectId, task: &TaskId) -> Vec<Line> {
        let streaks = StoreReader::open(&self.state_root, self.variables.clone())
            .and_then(|mut archive| archive.check_streaks(project, task));
        let here = LocalTime::of_now();
        match streaks {
            Ok(streaks) => {
                streaks.iter().filter_map(|streak| screen::streak_line(streak, self.characters, &here, self.style)).collect()
            }
            Err(error) => {
                tracing::warn!("the last runs of the checks are not shown: {error}");
                Vec::new()
            }
        }
    }
}

/// Returns whether the locale's encoding has the block characters: the first variable that is set decides (locale(7)).
fn shows_unicode(variables: &BTreeMap<OsString, OsString>) -> bool {
    let value = |name: &str| variables.get(&OsString::from(name)).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value);
    let locale = locale.map(|locale| locale.to_string_lossy().to_ascii_lowercase().replace('-', "")).unwrap_or_default();
    locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides_about_the_characters() {
        let shows = |variables: &[(&str, &str)]| {
            shows_unicode(&variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
        };
        assert!(shows(&[("LANG", "en_US.UTF-8")]) && shows(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!shows(&[]) && !shows(&[("LANG", "C")]) && !shows(&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")]));
    }
}
