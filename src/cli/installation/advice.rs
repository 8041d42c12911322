//! Finds problems of an installed service, with advice for each, by a table of rules. Pure.

use std::path::{Path, PathBuf};

use crate::cli::installation::manager::UnitStates;
use crate::cli::installation::unit_file::Ownership;
use proctor_app::doctor::Finding;
use proctor_model::ServiceTrouble;

/// The oldest version of systemd with which the unit files were tested.
const OLDEST_TRIED: u32 = 252;

/// Parts of a path that show that the program is temporary: the next build or restart of the machine removes it.
const PASSING_PLACES: &[&str] = &["/target/debug/", "/target/release/", "/tmp/"];

/// The state of the installation of proctor as a service of the user.
#[derive(Debug, Clone)]
pub(crate) struct InstallationFacts {
    /// The program that the unit file starts, or will start.
    pub(crate) program: PathBuf,
    /// The path of the service's unit file.
    pub(crate) service_file: PathBuf,
    /// Who wrote the files at the paths of the unit files: first the service's, then the socket's.
    pub(crate) ownership: [Ownership; 2],
    pub(crate) manager: ManagerFacts,
    /// The directories of the shell's search path that are missing from the search path of the user's services.
    pub(crate) missing_on_path: Vec<String>,
    /// Variables of the shell that a unit file cannot contain.
    pub(crate) left_out: Vec<String>,
    /// How many projects the service watches, or would watch after an installation.
    pub(crate) projects: usize,
    /// The service that answers; `None` if none does.
    pub(crate) running: Option<AnsweringService>,
}

/// What the running service says about itself.
#[derive(Debug, Clone)]
pub(crate) struct AnsweringService {
    /// The version of the program that the service runs.
    pub(crate) version: String,
    /// Whether the file of the program at [`InstallationFacts::program`] is another one than the service was started from.
    pub(crate) is_another_program: bool,
    /// The projects that cannot be judged, each with its root and the reason.
    pub(crate) troubled: Vec<(String, ServiceTrouble)>,
    /// The other projects about which there is something to say, each with its root and the lines.
    pub(crate) noted: Vec<(String, Vec<String>)>,
}

/// The facts about the user's service manager.
#[derive(Debug, Clone)]
pub(crate) struct ManagerFacts {
    /// The states of the units, or the reason why the service manager cannot be asked.
    pub(crate) units: Result<UnitStates, String>,
    /// Whether `XDG_RUNTIME_DIR` is set; the user's service manager listens there.
    pub(crate) has_runtime_directory: bool,
    pub(crate) systemd: Option<u32>,
    /// Whether the user's services keep running after the last session ends.
    pub(crate) lingers: bool,
}

/// A rule returns a problem with advice if the facts show it.
type Rule = fn(&InstallationFacts) -> Option<(String, String)>;

/// All rules, the most important first.
const RULES: &[Rule] = &[
    |facts| {
        let why = facts.manager.units.as_ref().err()?;
        let advice = if facts.manager.has_runtime_directory {
            "log in as this user by a login that starts a session (a display manager, ssh, `machinectl shell USER@`)"
        } else {
            "XDG_RUNTIME_DIR is not set, as after `su` and `sudo`: log in as this user, or `export XDG_RUNTIME_DIR=/run/user/$(id -u)`"
        };
        Some((format!("this user's service manager cannot be reached: {why}"), advice.to_owned()))
    },
    |facts| {
        let edited = facts.ownership.contains(&Ownership::Edited);
        edited.then(|| {
            let problem = "a unit file was edited since `proctor service install` wrote it".to_owned();
            let advice = "put changes into `systemctl --user edit proctor.service`, then `proctor service install --force`";
            (problem, advice.to_owned())
        })
    },
    |facts| {
        let foreign = facts.ownership.contains(&Ownership::Foreign);
        foreign.then(|| {
            let problem = "a unit file of this name was written by somebody else, or is a link".to_owned();
            (problem, "`proctor service install --force` replaces it".to_owned())
        })
    },
    |facts| {
        let outdated = facts.ownership.contains(&Ownership::Outdated);
        outdated.then(|| {
            let problem = "the unit files are for another program, another version or other variables of the shell".to_owned();
            (problem, "`proctor service install` writes them anew and restarts the service".to_owned())
        })
    },
    |facts| {
        let loaded = facts.manager.units.as_ref().ok()?.service.property("FragmentPath");
        let elsewhere = facts.ownership[0] != Ownership::Absent && !loaded.is_empty() && Path::new(loaded) != facts.service_file;
        elsewhere.then(|| {
            let problem = format!("the service manager reads `{loaded}`, not `{}`", facts.service_file.display());
            (problem, "set XDG_CONFIG_HOME to what `systemctl --user show-environment` says, and install it once more".to_owned())
        })
    },
    |facts| {
        let service = &facts.manager.units.as_ref().ok()?.service;
        (service.property("ActiveState") == "failed").then(|| {
            let problem = format!("the service has failed ({})", service.property("Result"));
            (problem, "`journalctl --user -u proctor` says why; then `systemctl --user restart proctor.service`".to_owned())
        })
    },
    |facts| {
        let troubled = &facts.running.as_ref()?.troubled;
        let (root, health) = troubled.first()?;
        let others = if troubled.len() > 1 { format!(" and {} more", troubled.len() - 1) } else { String::new() };
        let problem = format!("cannot be judged: `{root}`{others}: {}", health.message);
        Some((problem, format!("{}; the service tries again by itself", health.mend)))
    },
    |facts| {
        let (root, lines) = facts.running.as_ref()?.noted.first()?;
        let (problem, advice) = lines.split_first()?;
        let advice = advice.iter().map(|line| line.strip_prefix("hint: ").unwrap_or(line)).collect::<Vec<_>>().join("; ");
        let advice = if advice.is_empty() { format!("`proctor status` in `{root}`") } else { advice };
        Some((format!("`{root}`: {problem}"), advice))
    },
    |facts| {
        let running = facts.running.as_ref()?;
        running.is_another_program.then(|| {
            let (old, new) = (&running.version, env!("CARGO_PKG_VERSION"));
            let problem = format!("the service still runs the program that was there before (version {old}; now there is {new})");
            (problem, "`proctor service install` restarts it".to_owned())
        })
    },
    |facts| {
        let restarts = facts.manager.units.as_ref().ok()?.service.number("NRestarts");
        (restarts > 0).then(|| {
            let problem = format!("the service was restarted {restarts} times since it was started");
            (problem, "`journalctl --user -u proctor` says why".to_owned())
        })
    },
    |facts| {
        let units = facts.manager.units.as_ref().ok()?;
        let stale = [&units.service, &units.socket].iter().any(|unit| unit.property("NeedDaemonReload") == "yes");
        stale.then(|| {
            (
                "the service manager has not read the unit files as they are now".to_owned(),
                "systemctl --user daemon-reload".to_owned(),
            )
        })
    },
    |facts| {
        let units = facts.manager.units.as_ref().ok()?;
        let absent = facts.ownership.contains(&Ownership::Absent) && units.service.property("LoadState") != "loaded";
        absent.then(|| ("the service is not installed".to_owned(), "proctor service install".to_owned()))
    },
    |facts| {
        let service = &facts.manager.units.as_ref().ok()?.service;
        let is_off = service.property("LoadState") == "loaded" && !(service.is_enabled() && service.is_active());
        (is_off && service.property("ActiveState") != "failed").then(|| {
            let problem = "the service does not run, or is not started when you log in".to_owned();
            (problem, "systemctl --user enable --now proctor.socket proctor.service".to_owned())
        })
    },
    |facts| {
        (!facts.manager.lingers).then(|| {
            ("the service ends when you log out, and starts when you log in".to_owned(), "loginctl enable-linger".to_owned())
        })
    },
    |facts| {
        let version = facts.manager.systemd.filter(|version| *version < OLDEST_TRIED)?;
        let problem = format!("systemd {version} is older than {OLDEST_TRIED}, the oldest that was tried");
        Some((problem, "look at `systemctl --user status proctor` after the first save".to_owned()))
    },
    |facts| {
        let path = format!("{}/", facts.program.display());
        let passing = PASSING_PLACES.iter().any(|place| path.contains(place));
        passing.then(|| {
            let problem = format!("`{}` does not stay where it is", facts.program.display());
            (problem, "install proctor (`cargo install --path .`), then `proctor service install` with that one".to_owned())
        })
    },
    |facts| {
        (!facts.left_out.is_empty()).then(|| {
            let problem = format!("the service does not get {}: a unit file cannot hold the value", facts.left_out.join(", "));
            (problem, "give it a value in UTF-8".to_owned())
        })
    },
    |facts| (facts.projects == 0).then(|| ("the service watches no project".to_owned(), "proctor service add DIR".to_owned())),
];

pub(crate) fn findings(facts: &InstallationFacts) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(facts)).map(|(problem, advice)| Finding { problem, advice }).collect()
}

/// Returns the directories of the search path `shell` that the search path `other` lacks, in the order of `shell`.
pub(crate) fn missing_directories(shell: &str, other: &str) -> Vec<String> {
    shell.split(':').filter(|entry| !other.split(':').any(|known| known == *entry)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::installation::manager::UnitState;
    use proctor_model::{HealthProblem, Timestamp};

    fn well() -> InstallationFacts {
        let service = [
            ("LoadState", "loaded"),
            ("ActiveState", "active"),
            ("UnitFileState", "enabled"),
            ("FragmentPath", "/u/proctor.service"),
        ];
        InstallationFacts {
            program: "/usr/bin/proctor".into(),
            service_file: "/u/proctor.service".into(),
            ownership: [Ownership::Current; 2],
            manager: ManagerFacts {
                units: Ok(UnitStates { service: state(&service), socket: state(&service) }),
                has_runtime_directory: true,
                systemd: Some(252),
                lingers: true,
            },
            missing_on_path: Vec::new(),
            left_out: Vec::new(),
            projects: 1,
            running: Some(running()),
        }
    }

    fn running() -> AnsweringService {
        AnsweringService { version: "0.1.0".to_owned(), is_another_program: false, troubled: Vec::new(), noted: Vec::new() }
    }

    fn trouble() -> ServiceTrouble {
        let (message, mend) = ("the disk is full: x".to_owned(), "free some space".to_owned());
        ServiceTrouble { problem: HealthProblem::DiskFull, message, mend, since: Timestamp::from_millis(0) }
    }

    fn managed(change: impl FnOnce(&mut ManagerFacts)) -> InstallationFacts {
        let mut facts = well();
        change(&mut facts.manager);
        facts
    }

    fn state(pairs: &[(&str, &str)]) -> UnitState {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn service(pairs: &[(&str, &str)]) -> Result<UnitStates, String> {
        Ok(UnitStates { service: state(pairs), socket: UnitState::default() })
    }

    #[test]
    fn where_all_is_well_nothing_is_found() {
        assert_eq!(findings(&well()), []);
    }

    #[test]
    fn every_row_is_found_by_itself_and_says_what_to_do() {
        let loaded = ("LoadState", "loaded");
        let on = [loaded, ("ActiveState", "active"), ("UnitFileState", "enabled")];
        let and = |pair| [on.as_slice(), &[pair]].concat();
        let rows: Vec<(InstallationFacts, &str)> = vec![
            (managed(|manager| manager.units = Err("no bus".to_owned())), "display manager"),
            (
                managed(|manager| {
                    manager.units = Err("no bus".to_owned());
                    manager.has_runtime_directory = false;
                }),
                "export XDG_RUNTIME_DIR=",
            ),
            (InstallationFacts { ownership: [Ownership::Edited, Ownership::Current], ..well() }, "systemctl --user edit"),
            (InstallationFacts { ownership: [Ownership::Current, Ownership::Foreign], ..well() }, "replaces it"),
            (InstallationFacts { ownership: [Ownership::Outdated, Ownership::Current], ..well() }, "writes them anew"),
            (managed(|manager| manager.units = service(&and(("FragmentPath", "/usr/lib/x")))), "XDG_CONFIG_HOME"),
            (
                managed(|manager| manager.units = service(&[loaded, ("ActiveState", "failed"), ("Result", "watchdog")])),
                "journalctl",
            ),
            (managed(|manager| manager.units = service(&and(("NRestarts", "3")))), "journalctl"),
            (managed(|manager| manager.units = service(&and(("NeedDaemonReload", "yes")))), "daemon-reload"),
            (
                InstallationFacts { ownership: [Ownership::Absent; 2], ..managed(|manager| manager.units = service(&[])) },
                "proctor service install",
            ),
            (managed(|manager| manager.units = service(&[loaded, ("ActiveState", "inactive")])), "enable --now"),
            (managed(|manager| manager.lingers = false), "loginctl enable-linger"),
            (managed(|manager| manager.systemd = Some(249)), "after the first save"),
            (InstallationFacts { program: "/home/a/proctor/target/debug/proctor".into(), ..well() }, "cargo install"),
            (InstallationFacts { left_out: vec!["LC_ALL".to_owned()], ..well() }, "UTF-8"),
            (InstallationFacts { projects: 0, ..well() }, "proctor service add"),
            (
                InstallationFacts {
                    running: Some(AnsweringService { troubled: vec![("/a".to_owned(), trouble())], ..running() }),
                    ..well()
                },
                "free some space",
            ),
            (
                InstallationFacts {
                    running: Some(AnsweringService {
                        noted: vec![("/a".to_owned(), ["a.log changes", "hint: ignore it"].map(str::to_owned).to_vec())],
                        ..running()
                    }),
                    ..well()
                },
                "ignore it",
            ),
            (
                InstallationFacts { running: Some(AnsweringService { is_another_program: true, ..running() }), ..well() },
                "restarts it",
            ),
        ];
        let mut said = std::collections::BTreeSet::new();
        for (facts, advice) in &rows {
            let found = findings(facts);
            assert!(matches!(found.as_slice(), [one] if one.advice.contains(advice)), "{advice}: {found:?}");
            said.insert(RULES.iter().position(|rule| rule(facts).is_some()));
        }
        assert_eq!(said.len(), RULES.len(), "every row of the table is provoked");
    }

    #[test]
    fn what_a_search_path_lacks_is_named_in_order() {
        assert_eq!(missing_directories("/a:/bin:/c", "/bin:/usr/bin"), ["/a", "/c"]);
        assert_eq!(missing_directories("/bin", "/bin"), [""; 0]);
    }
}
