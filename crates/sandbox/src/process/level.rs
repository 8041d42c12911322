//! Which isolation levels this system offers, as far as the launcher (the process that starts actions) has found out by
//! trying.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proctor_model::IsolationLevel;

/// What is known about each isolation level: that it works, or what prevents it. A level that has worked once stays
/// available. A later failure is caused by the action itself, and an action must not be able to weaken its isolation.
#[derive(Debug, Default)]
pub(super) struct Levels {
    known: BTreeMap<IsolationLevel, LevelState>,
}

#[derive(Debug)]
enum LevelState {
    Works,
    Refused(String),
}

impl Levels {
    /// Returns the strongest level that is not stronger than `strongest` and is not known to be refused by the system.
    pub(super) fn best(&self, strongest: IsolationLevel) -> IsolationLevel {
        let offered = |level: &IsolationLevel| !matches!(self.known.get(level), Some(LevelState::Refused(_)));
        IsolationLevel::ALL
            .into_iter()
            .filter(|level| *level >= strongest && *level != IsolationLevel::Remote)
            .find(offered)
            .unwrap_or(IsolationLevel::ProcessGroup)
    }

    /// Notes that an action was started at this level, so a later failure does not rule the level out.
    pub(super) fn note_working(&mut self, level: IsolationLevel) {
        self.known.insert(level, LevelState::Works);
    }

    /// Notes why the system refuses a level, and returns whether the level is given up. A level that has worked before
    /// is not given up.
    pub(super) fn note_refused(&mut self, level: IsolationLevel, why: String) -> LevelRefusal {
        match self.known.get(&level) {
            Some(LevelState::Works) => LevelRefusal::Ignored,
            Some(LevelState::Refused(_)) | None => {
                self.known.insert(level, LevelState::Refused(why));
                LevelRefusal::GivenUp
            }
        }
    }

    /// Returns the reasons why no level stronger than this one is used.
    pub(super) fn obstacles(&self, level: IsolationLevel) -> Vec<String> {
        let stronger = self.known.iter().filter(|(other, _)| **other < level);
        stronger
            .filter_map(|(_, standing)| match standing {
                LevelState::Refused(why) => Some(why.clone()),
                LevelState::Works => None,
            })
            .collect()
    }
}

/// The consequence when an action could not be isolated at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelRefusal {
    /// The level is not tried again.
    GivenUp,
    /// The level will be tried again, because it has worked before.
    Ignored,
}

// Reads the kernel settings that determine the possible isolation levels. This module does not evaluate the settings.

/// Settings of the running kernel, from `/proc/sys` and `/sys`. A setting is `None` if this kernel does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSwitches {
    /// `user.max_user_namespaces`.
    pub max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, which Debian's kernels have.
    pub unprivileged_userns_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 23.10 and later).
    pub apparmor_restrict_unprivileged_userns: Option<u64>,
    /// The enabled security modules in the kernel's order, separated by commas, such as `capability,landlock,apparmor`.
    pub security_modules: Option<String>,
}

impl KernelSwitches {
    /// Reads the settings of the running kernel.
    pub fn read() -> Self {
        Self::read_below(Path::new("/"))
    }

    fn read_below(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned());
        let number = |path: &str| text(path)?.parse().ok();
        Self {
            max_user_namespaces: number("proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: number("proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restrict_unprivileged_userns: number("proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            security_modules: text("sys/kernel/security/lsm").filter(|text| !text.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IsolationLevel::{Cgroup, Landlock, Namespace, ProcessGroup};

    #[test]
    fn the_best_level_is_the_strongest_that_is_not_refused_nor_above_what_is_asked_for() {
        let mut levels = Levels::default();
        assert_eq!((levels.best(Namespace), levels.best(Landlock)), (Namespace, Landlock));
        assert_eq!(levels.note_refused(Namespace, "no".to_owned()), LevelRefusal::GivenUp);
        assert_eq!(levels.note_refused(Cgroup, "nor".to_owned()), LevelRefusal::GivenUp);
        assert_eq!((levels.best(Namespace), levels.best(ProcessGroup)), (Landlock, ProcessGroup));
        assert_eq!(levels.obstacles(Landlock), ["no", "nor"]);
        assert!(levels.obstacles(Namespace).is_empty());
    }

    #[test]
    fn a_level_that_has_worked_is_not_given_up_for_a_weaker_one() {
        let mut levels = Levels::default();
        levels.note_working(Namespace);
        assert_eq!(levels.note_refused(Namespace, "suddenly".to_owned()), LevelRefusal::Ignored);
        assert_eq!(levels.best(Namespace), Namespace);
    }
}

#[cfg(test)]
mod kernel_tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_switch_that_is_not_there_is_none() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(KernelSwitches::read_below(root.path()), KernelSwitches::default());
        fs::create_dir_all(root.path().join("proc/sys/user")).expect("a directory");
        let bound = || File::create(root.path().join("proc/sys/user/max_user_namespaces"));
        bound().and_then(|mut file| file.write_all(b"0\n")).expect("a file");
        assert_eq!(KernelSwitches::read_below(root.path()).max_user_namespaces, Some(0));
        bound().and_then(|mut file| file.write_all(b"many\n")).expect("a file");
        assert_eq!(KernelSwitches::read_below(root.path()).max_user_namespaces, None);
    }

    #[test]
    fn the_running_kernel_has_a_bound_on_user_namespaces() {
        assert!(KernelSwitches::read().max_user_namespaces.is_some());
    }
}
