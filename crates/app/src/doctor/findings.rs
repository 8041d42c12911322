//! The result of `proctor doctor` as a JSON document, with a remedy for each obstacle. Pure: nothing is read or started here.

use serde::Serialize;

use crate::doctor::machine::{self, MachineFacts, MachineV1};
use proctor_model::{Access, CommandExit, IsolationLevel, NetworkAccess, Place, ProtectionMode, VisibleDirectory, VisibleKind};
use proctor_project::Examination;
use proctor_sandbox::process::KernelSwitches;

/// Everything that `proctor doctor` has read from the machine. The findings are computed from these facts alone.
pub struct DoctorFacts {
    /// The levels of isolation that were tried.
    pub examination: Examination,
    /// The cgroup controllers available to actions, or why there are no cgroups.
    pub controllers: Result<Vec<String>, String>,
    /// Whether Landlock can keep actions from sending signals to other processes and from connecting to their abstract sockets.
    pub has_scopes: bool,
    /// Why system calls of actions cannot be filtered; `None` if they can.
    pub filter_obstacle: Option<&'static str>,
    /// The kernel's settings for namespaces.
    pub switches: KernelSwitches,
    pub mode: ProtectionMode,
    /// The network of the project's checks, by `[sandbox]`.
    pub network: NetworkAccess,
    /// Why no run can have a network of its own; `None` if it can.
    pub network_obstacle: Option<String>,
    /// The facts about limits, file systems, clocks, space and tools.
    pub around: MachineFacts,
    /// The state of the service; `None` if it is not installed.
    pub service: Option<InstalledService>,
    /// The server of `[remote]`; `None` if there is none.
    pub remote: Option<RemoteFound>,
}

/// What the server of `[remote]` answered.
pub struct RemoteFound {
    pub endpoint: String,
    /// What it can do, or why it carries no checks out; `None` if it was not asked.
    pub answer: Option<Result<String, String>>,
}

/// The document that `--json` prints (`proctor-doctor-v1`).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFindings<'a> {
    schema: &'static str,
    /// The level of isolation that actions get; null if actions cannot be started.
    pub level: Option<IsolationLevel>,
    pub mode: &'static str,
    pub levels: Vec<Level>,
    pub limits: Limits,
    pub landlock_scopes: bool,
    /// Why system calls of actions cannot be filtered; null if they can.
    pub system_call_filter_obstacle: Option<&'static str>,
    /// The network of the project's checks, by `[sandbox]`.
    pub network: &'static str,
    /// Why no run can have a network of its own; null if it can.
    pub network_obstacle: Option<String>,
    pub store: String,
    pub hidden: Vec<String>,
    /// What checks see outside of the project that users can write, each with the reason.
    pub visible: Vec<String>,
    pub private: Vec<String>,
    pub writable: Vec<String>,
    pub remedies: Vec<Remedy>,
    machine: MachineV1<'a>,
    /// Null if the service is not installed.
    pub service: Option<&'a InstalledService>,
    pub findings: Vec<Finding>,
    /// The lines about the machine for people.
    #[serde(skip)]
    pub shown: Vec<String>,
}

/// The installed service, as the service manager knows it.
#[derive(Debug, Serialize)]
pub struct InstalledService {
    pub active: bool,
    /// Whether it goes on after the last session of the user.
    pub lingers: bool,
    /// The version of systemd.
    pub systemd: Option<u32>,
    /// What is wrong with it.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// A problem, and advice what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub problem: String,
    pub advice: String,
}

/// A level of isolation, and why it is not reached.
#[derive(Debug, Serialize)]
pub struct Level {
    pub level: IsolationLevel,
    pub reached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// Which limits of actions the kernel enforces, and why not all.
#[derive(Debug, Serialize)]
pub struct Limits {
    pub memory: bool,
    pub processes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// An obstacle to isolation, and the command that removes the obstacle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    pub problem: &'static str,
    pub command: String,
}

/// A known obstacle to isolation. [`RULES`] lists all known obstacles.
struct Rule {
    problem: &'static str,
    /// Returns the command that removes this obstacle; `None` if the facts do not show the obstacle.
    mend: fn(&DoctorFacts) -> Option<String>,
}

/// The known obstacles, the most important first.
const RULES: &[Rule] = &[
    Rule {
        problem: "the kernel allows no user namespaces",
        mend: |facts| {
            (lacks_namespaces(facts) && facts.switches.max_user_namespaces == Some(0))
                .then(|| sysctl("user.max_user_namespaces=15000"))
        },
    },
    Rule {
        problem: "the kernel allows user namespaces to root alone",
        mend: |facts| {
            (lacks_namespaces(facts) && facts.switches.unprivileged_userns_clone == Some(0))
                .then(|| sysctl("kernel.unprivileged_userns_clone=1"))
        },
    },
    Rule {
        problem: "AppArmor keeps programs without a profile from user namespaces",
        mend: |facts| {
            let restricts = facts.switches.apparmor_restrict_unprivileged_userns == Some(1);
            (lacks_namespaces(facts) && restricts).then(|| {
                "proctor doctor --apparmor-profile | sudo tee /etc/apparmor.d/proctor && sudo apparmor_parser -r /etc/apparmor.d/proctor".to_owned()
            })
        },
    },
    Rule {
        problem: "parts of `/proc` are masked, as container engines do it",
        mend: |facts| {
            let is_masked = obstacle(facts, IsolationLevel::Namespace).is_some_and(|text| text.contains("`/proc`"));
            is_masked.then(|| "docker run --security-opt systempaths=unconfined IMAGE".to_owned())
        },
    },
    Rule {
        problem: "the kernel does not enable Landlock; this goes on its command line",
        mend: |facts| {
            let modules = facts
                .switches
                .security_modules
                .as_deref()
                .filter(|modules| !modules.split(',').any(|module| module == "landlock"));
            obstacle(facts, IsolationLevel::Landlock).and(modules).map(|modules| format!("lsm=landlock,{modules}"))
        },
    },
    Rule {
        problem: "no cgroup is delegated to proctor, which limits of memory and processes need",
        mend: |facts| {
            facts.controllers.is_err().then(|| "systemd-run --user --scope --property=Delegate=yes proctor run".to_owned())
        },
    },
    Rule {
        problem: "the user's service manager has no controllers to delegate",
        mend: |facts| {
            let lacks = facts
                .controllers
                .as_ref()
                .is_ok_and(|names| !["memory", "pids"].iter().all(|name| names.iter().any(|one| one == name)));
            lacks.then(|| {
"sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\nDelegate=cpu memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/proctor.conf && sudo systemctl daemon-reload".to_owned()
            })
        },
    },
];

fn sysctl(setting: &str) -> String {
    format!("echo {setting} | sudo tee /etc/sysctl.d/60-proctor.conf && sudo sysctl --system")
}

fn obstacle(facts: &DoctorFacts, level: IsolationLevel) -> Option<&str> {
    facts.examination.levels.iter().find(|found| found.level == level)?.obstacle.as_deref()
}

fn lacks_namespaces(facts: &DoctorFacts) -> bool {
    obstacle(facts, IsolationLevel::Namespace).is_some()
}

impl<'a> DoctorFindings<'a> {
    pub fn of(facts: &'a DoctorFacts) -> Self {
        let has = |name: &str| facts.controllers.as_ref().is_ok_and(|names| names.iter().any(|one| one == name));
        let places = |wanted: fn(&Place) -> bool| {
            facts.examination.places.iter().filter(|place| wanted(place)).map(|place| place.path.display().to_string()).collect()
        };
        let levels = facts.examination.levels.iter().map(|found| Level {
            level: found.level,
            reached: found.obstacle.is_none(),
            obstacle: found.obstacle.clone(),
        });
        let process_group = Level { level: IsolationLevel::ProcessGroup, reached: true, obstacle: None };
        let (memory, processes) = (has("memory"), has("pids"));
        let limits_obstacle = match &facts.controllers {
            Err(why) => Some(why.clone()),
            Ok(_) if memory && processes => None,
            Ok(_) => Some("the delegated cgroup lacks controllers".to_owned()),
        };
        Self {
            schema: "proctor-doctor-v1",
            level: facts.examination.level,
            mode: facts.mode.word(),
            levels: levels.chain([process_group]).collect(),
            limits: Limits { memory, processes, obstacle: limits_obstacle },
            landlock_scopes: facts.has_scopes,
            system_call_filter_obstacle: facts.filter_obstacle,
            network: facts.network.word(),
            network_obstacle: facts.network_obstacle.clone(),
            store: facts.examination.store.display().to_string(),
            hidden: places(|place| matches!(place.access, Access::Hidden)),
            visible: facts.examination.visible.iter().map(visible_directory).collect(),
            private: places(|place| {
                matches!(place.access, Access::Private { .. } | Access::Memory | Access::Overlay { .. } | Access::Layer { .. })
            }),
            writable: places(|place| matches!(place.access, Access::Writable)),
            remedies: RULES
                .iter()
                .filter_map(|rule| Some(Remedy { problem: rule.problem, command: (rule.mend)(facts)? }))
                .collect(),
            machine: machine::document(&facts.around),
            service: facts.service.as_ref(),
            findings: [
                machine::findings(&facts.around),
                facts.service.as_ref().map(|service| service.findings.clone()).unwrap_or_default(),
                facts.remote.iter().filter_map(remote_finding).collect(),
            ]
            .concat(),
            shown: machine::lines(&facts.around).into_iter().chain(facts.remote.iter().filter_map(remote_line)).collect(),
        }
    }

    /// Returns the exit code. It is 0 if actions are isolated as well as proctor can, or if the settings switch isolation off.
    pub fn exit(&self) -> CommandExit {
        let is_as_wanted = self.level == Some(IsolationLevel::Namespace) || self.mode == ProtectionMode::Off.word();
        if is_as_wanted { CommandExit::Proceed } else { CommandExit::CodeNeedsWork }
    }
}

fn remote_line(found: &RemoteFound) -> Option<String> {
    let answer = found.answer.as_ref().map_or(Ok("not asked: nobody has approved this server"), |answer| answer.as_deref());
    Some(format!("remote: {} {}", found.endpoint, answer.ok()?))
}

fn remote_finding(found: &RemoteFound) -> Option<Finding> {
    let why = found.answer.as_ref()?.as_ref().err()?;
    let problem = format!("{} carries no checks out: {why}", found.endpoint);
    Some(Finding { problem, advice: "see whether the server runs, and what `[remote]` says of it".to_owned() })
}

/// Returns a directory that checks see outside of the project, and why they do.
fn visible_directory(directory: &VisibleDirectory) -> String {
    let why = match directory.kind {
        VisibleKind::Toolchain => "toolchain",
        VisibleKind::Environment => "installed packages",
        VisibleKind::PackageCache => "downloads",
        VisibleKind::PinnedPackages => "downloads that a lock file pins",
    };
    format!("{} ({why})", directory.path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_project::{InotifyLimits, LevelFound, Machine};

    fn facts(obstacles: [Option<&str>; 3], switches: KernelSwitches) -> DoctorFacts {
        let levels = IsolationLevel::ALL.into_iter().zip(obstacles);
        let levels: Vec<_> =
            levels.map(|(level, obstacle)| LevelFound { level, obstacle: obstacle.map(str::to_owned) }).collect();
        let level =
            levels.iter().find(|found| found.obstacle.is_none()).map_or(IsolationLevel::ProcessGroup, |found| found.level);
        DoctorFacts {
            examination: Examination {
                level: Some(level),
                levels,
                places: Vec::new(),
                visible: Vec::new(),
                store: "/state/proctor".into(),
            },
            controllers: Ok(vec!["memory".to_owned(), "pids".to_owned()]),
            has_scopes: true,
            filter_obstacle: None,
            switches,
            mode: ProtectionMode::Auto,
            network: NetworkAccess::Open,
            network_obstacle: None,
            around: MachineFacts {
                machine: quiet(),
                store: "/state/proctor".into(),
                snapshots: Default::default(),
                evidence: Default::default(),
                projects: Vec::new(),
                asked: "/home/ada/shop".into(),
            },
            service: None,
            remote: None,
        }
    }

    fn quiet() -> Machine {
        Machine { open_files: None, inotify: InotifyLimits::default(), store_file_system: None, store_space: None }
    }

    fn commands(facts: &DoctorFacts) -> Vec<String> {
        DoctorFindings::of(facts).remedies.into_iter().map(|remedy| remedy.command).collect()
    }

    fn is_well(facts: &DoctorFacts) -> bool {
        let found = DoctorFindings::of(facts);
        found.remedies.is_empty() && found.findings.is_empty()
    }

    #[test]
    fn where_nothing_is_missing_nothing_is_to_be_mended() {
        let restricted = KernelSwitches { apparmor_restrict_unprivileged_userns: Some(1), ..KernelSwitches::default() };
        let all = facts([None, None, None], restricted);
        assert_eq!(commands(&all), [""; 0], "a profile is there already");
        assert_eq!(DoctorFindings::of(&all).exit(), CommandExit::Proceed);
        assert!(is_well(&all));
    }

    #[test]
    fn a_server_that_nobody_approved_is_nothing_to_mend() {
        let mut all = facts([None, None, None], KernelSwitches::default());
        let endpoint = "grpc://127.0.0.1:1".to_owned();
        all.remote = Some(RemoteFound { endpoint: endpoint.clone(), answer: None });
        let lines = DoctorFindings::of(&all).shown;
        let said = "remote: grpc://127.0.0.1:1 not asked: nobody has approved this server";
        assert!(lines.iter().any(|line| line == said), "{lines:?}");
        assert_eq!(DoctorFindings::of(&all).exit(), CommandExit::Proceed);
        all.remote = Some(RemoteFound { endpoint, answer: Some(Err("away".to_owned())) });
        assert!(!is_well(&all));
    }

    #[test]
    fn every_obstacle_has_its_one_command() {
        let no = Some("no");
        let of = |obstacles, switches| commands(&facts(obstacles, switches));
        let none = KernelSwitches::default();
        let mended = of([no, None, None], KernelSwitches { max_user_namespaces: Some(0), ..none.clone() });
        assert!(matches!(mended.as_slice(), [one] if one.contains("user.max_user_namespaces=15000")), "{mended:?}");
        let mended = of([no, None, None], KernelSwitches { unprivileged_userns_clone: Some(0), ..none.clone() });
        assert!(matches!(mended.as_slice(), [one] if one.contains("kernel.unprivileged_userns_clone=1")), "{mended:?}");
        let mended = of([no, None, None], KernelSwitches { apparmor_restrict_unprivileged_userns: Some(1), ..none.clone() });
        assert!(matches!(mended.as_slice(), [one] if one.contains("apparmor_parser -r")), "{mended:?}");
        let mended = of([Some("cannot mount a fresh `/proc`: EPERM"), None, None], none.clone());
        assert!(matches!(mended.as_slice(), [one] if one.contains("systempaths=unconfined")), "{mended:?}");
        let mended =
            of([None, None, no], KernelSwitches { security_modules: Some("capability,yama".to_owned()), ..none.clone() });
        assert_eq!(mended, ["lsm=landlock,capability,yama"]);
        let undelegated = DoctorFacts { controllers: Err("no cgroup".to_owned()), ..facts([None, no, None], none.clone()) };
        assert!(commands(&undelegated)[0].starts_with("systemd-run --user --scope"));
        let bare = DoctorFacts { controllers: Ok(vec!["cpu".to_owned()]), ..facts([None, None, None], none) };
        assert!(commands(&bare)[0].contains("Delegate=cpu memory pids"));
    }

    #[test]
    fn the_exit_code_says_whether_namespaces_are_reached_or_not_wanted() {
        let weaker = facts([Some("no"), Some("no"), None], KernelSwitches::default());
        assert_eq!(DoctorFindings::of(&weaker).exit(), CommandExit::CodeNeedsWork);
        let off = DoctorFacts { mode: ProtectionMode::Off, ..weaker };
        assert_eq!(DoctorFindings::of(&off).exit(), CommandExit::Proceed);
    }
}
