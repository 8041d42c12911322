//! The part of `proctor doctor` about limits, file systems, clocks, space and the projects' tools. Each rule of a table finds a
//! problem and gives advice. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::doctor::Finding;
use crate::doctor::space::{self, EvidenceSize};
use crate::status;
use proctor_model::{ProjectId, SpawnFailure};
use proctor_project::{FileSystemType, Machine, ProjectFound, SnapshotUsage, ToolFound};
use proctor_tree::watch::find_eventless;

/// The usual file systems for projects and stores (`linux/magic.h`).
const LOCAL: &[(i64, &str)] = &[
    (0xEF53, "ext4"),
    (0x9123_683E, "btrfs"),
    (0x5846_5342, "xfs"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0x794C_7630, "overlay"),
    (0xCA45_1A4E, "bcachefs"),
];

/// File systems in memory: they lose everything when the machine stops.
const IN_MEMORY: &[(i64, &str)] = &[(0x0102_1994, "tmpfs"), (0x8584_58F6, "ramfs")];

/// A file system's properties that matter to proctor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSystem {
    /// The name of the file system's type, or its number if no table has the name.
    name: String,
    /// Whether the kernel reports every change.
    tells_of_changes: bool,
    /// Whether files survive a restart of the machine.
    is_lasting: bool,
}

/// The lowest limit on open files that is enough. The service needs several open files for each project and each
/// connection. Every distribution allows this many by default.
const ENOUGH_OPEN_FILES: u64 = 1024;
/// The kernel's default limit on queued inotify events (`fs.inotify.max_queued_events`).
const USUAL_QUEUE: u64 = 16_384;
/// The limit on inotify watches that desktop programs usually set (`fs.inotify.max_user_watches`).
const USUAL_WATCHES: u64 = 524_288;
/// The limit on inotify instances that desktop programs usually set (`fs.inotify.max_user_instances`).
const USUAL_INSTANCES: u64 = 512;
/// The free space in bytes that is enough. With less, one run with much output could fill the disk.
const ENOUGH_BYTES: u64 = 1 << 30;
/// The free files (inodes) that are enough: a run creates about ten.
const ENOUGH_FILES: u64 = 10_000;
/// The tolerated difference between the clock and file times, in milliseconds. File times are coarser than the clock,
/// because the kernel advances them only at its ticks.
const TOLERATED_MS: u64 = 2_000;

/// Everything that this part of `proctor doctor` has read. The findings are computed from these facts alone.
#[derive(Debug, Clone)]
pub struct MachineFacts {
    pub machine: Machine,
    pub store: PathBuf,
    /// The disk space of the snapshots of each project that has some.
    pub snapshots: BTreeMap<ProjectId, SnapshotUsage>,
    pub evidence: EvidenceSize,
    pub projects: Vec<ProjectFound>,
    /// The root of the project that the person asks about. What is wrong with the others is said, too.
    pub asked: PathBuf,
}

/// The `machine` object in the output of `proctor doctor --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MachineV1<'a> {
    open_files: Option<u64>,
    open_files_at_most: Option<u64>,
    inotify: InotifyV1,
    store: StoreV1,
    evidence: EvidenceSize,
    snapshots: space::SnapshotsV1,
    projects: Vec<ProjectV1<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InotifyV1 {
    watches: Option<u64>,
    watches_used: u64,
    watches_needed: u64,
    instances: Option<u64>,
    instances_used: u64,
    queue: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreV1 {
    file_system: Option<String>,
    free_bytes: Option<u64>,
    free_files: Option<u64>,
}

#[derive(Debug)]
struct ProjectV1<'a>(&'a ProjectFound, SnapshotUsage);

impl Serialize for ProjectV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(project, usage) = self;
        let mut fields = serializer.serialize_struct("ProjectV1", 7)?;
        // `None` means that the project is not registered.
        fields.serialize_field("id", &project.id)?;
        fields.serialize_field("root", &project.root.display().to_string())?;
        fields.serialize_field("fileSystem", &project.file_system.map(|kind| classify_file_system(kind).name))?;
        fields.serialize_field("directories", &project.directories)?;
        fields.serialize_field("snapshot", &space::of_project(project, *usage))?;
        fields.serialize_field("watchedBy", &project.watched_by)?;
        fields.serialize_field("tools", &project.tools.iter().map(ToolV1).collect::<Vec<_>>())?;
        fields.end()
    }
}

#[derive(Debug)]
struct ToolV1<'a>(&'a ToolFound);

impl Serialize for ToolV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(ToolFound { action, tool, program, version }) = self;
        let mut fields = serializer.serialize_struct("ToolV1", 4 + usize::from(program.is_err()))?;
        fields.serialize_field("action", action)?;
        fields.serialize_field("tool", tool)?;
        fields.serialize_field("program", &program.as_ref().ok().map(|path| path.display().to_string()))?;
        fields.serialize_field("version", version)?;
        if let Err(failure) = program {
            fields.serialize_field("obstacle", &explain_missing(failure).0)?;
        }
        fields.end()
    }
}

/// A rule returns pairs of a problem and advice how to solve it.
type Rule = fn(&MachineFacts) -> Vec<(String, String)>;

const RULES: &[Rule] = &[
    |facts| {
        let low = facts.machine.open_files.filter(|(soft, _)| *soft < ENOUGH_OPEN_FILES);
        once(low, |(soft, _)| {
            let advice = format!(
                "ulimit -n {ENOUGH_OPEN_FILES}; for the service `systemctl --user edit proctor.service`, LimitNOFILE={ENOUGH_OPEN_FILES}"
            );
            (format!("a process may open {soft} files only"), advice)
        })
    },
    |facts| {
        let (needed, inotify) = (watches_needed(facts), facts.machine.inotify);
        // Watches of other programs count towards the same limit. A quarter is added, because a build creates further
        // directories that must be watched.
        let wanted = needed.saturating_add(inotify.watches.used).saturating_mul(5) / 4;
        once(inotify.watches.limit.filter(|limit| *limit < wanted), |limit| {
            let problem =
                format!("{limit} watches are allowed, {} are in use, and the projects need {needed}", inotify.watches.used);
            (problem, sysctl("fs.inotify.max_user_watches", USUAL_WATCHES.max(wanted)))
        })
    },
    |facts| {
        let inotify = facts.machine.inotify;
        let wanted = inotify.instances.used.saturating_add(count(facts.projects.len()));
        once(inotify.instances.limit.filter(|limit| *limit < wanted), |limit| {
            let problem = format!("{limit} inotify instances are allowed, and {} are in use", inotify.instances.used);
            (problem, sysctl("fs.inotify.max_user_instances", USUAL_INSTANCES.max(wanted)))
        })
    },
    |facts| {
        once(facts.machine.inotify.queue.filter(|limit| *limit < USUAL_QUEUE), |limit| {
            let problem =
                format!("the queue of file events holds {limit}: bursts of saves are found by a look at the whole tree");
            (problem, sysctl("fs.inotify.max_queued_events", USUAL_QUEUE))
        })
    },
    |facts| {
        let missing = facts.projects.iter().filter(|project| project.file_system.is_none());
        let said = missing.map(|project| {
            (
                format!("`{}`, the root of {}, is not there", project.root.display(), name(project)),
                format!("proctor service remove {}", name(project)),
            )
        });
        said.collect()
    },
    |facts| {
        let foreign = facts.projects.iter().filter_map(|project| Some((project, project.foreign_owner?)));
        let said = foreign.map(|(project, owner)| {
            let problem = format!("checks that run in `{}` itself cannot write there: {owner}", project.root.display());
            (problem, owner.advice(&project.root))
        });
        said.collect()
    },
    |facts| {
        let on = facts.projects.iter().filter_map(|project| Some((project, classify_file_system(project.file_system?))));
        let deaf = on.filter(|(_, file_system)| !file_system.tells_of_changes);
        let said = deaf.map(|(project, file_system)| {
            let problem =
                format!("`{}` lies on {}: nobody tells of changes made elsewhere", project.root.display(), file_system.name);
            (problem, "work on a copy on a local disk; elsewhere made changes are only found by looking".to_owned())
        });
        said.collect()
    },
    |facts| {
        let store = facts.machine.store_file_system.map(classify_file_system);
        once(store.filter(|store| !store.is_lasting), |store| {
            let problem = format!(
                "evidence in `{}` is gone at the next start of the machine: it lies in memory ({})",
                facts.store.display(),
                store.name
            );
            (problem, "set XDG_STATE_HOME to a directory on a disk".to_owned())
        })
    },
    |facts| {
        let store = facts.machine.store_file_system.map(classify_file_system);
        once(store.filter(|store| !store.tells_of_changes), |store| {
            let problem = format!(
                "evidence in `{}` lies on {}: its locks and its durability are another machine's or program's",
                facts.store.display(),
                store.name
            );
            (problem, "set XDG_STATE_HOME to a directory on a local disk".to_owned())
        })
    },
    |facts| {
        once(facts.machine.store_space.filter(|space| space.bytes < ENOUGH_BYTES), |space| {
            let problem = format!("{} MiB are left where evidence is kept (`{}`)", space.bytes >> 20, facts.store.display());
            (problem, "make room there, or set XDG_STATE_HOME to a directory on another disk".to_owned())
        })
    },
    |facts| {
        let files = facts.machine.store_space.and_then(|space| space.files);
        once(files.filter(|files| *files < ENOUGH_FILES), |files| {
            let problem = format!("{files} files can still be made where evidence is kept (`{}`)", facts.store.display());
            (problem, "make room there, or set XDG_STATE_HOME to a directory on another disk".to_owned())
        })
    },
    |facts| space::unused(facts).into_iter().collect(),
    |facts| {
        let ahead = facts.projects.iter().filter(|project| project.ahead_ms > TOLERATED_MS);
        let said = ahead.map(|project| {
            let problem = format!("a file of `{}` is from the future, by {} s", project.root.display(), project.ahead_ms / 1000);
            let advice = "sudo timedatectl set-ntp true; on a file system of another machine, there as well. Tools that compare times (make, tsc --build) go wrong until then";
            (problem, advice.to_owned())
        });
        said.collect()
    },
    |facts| {
        let ahead = facts.projects.iter().filter(|project| project.run_ahead_ms > TOLERATED_MS);
        let said = ahead.map(|project| {
            let problem = format!(
                "the newest run of {} began {} s from now: the clock was set back",
                name(project),
                project.run_ahead_ms / 1000
            );
            (problem, "sudo timedatectl set-ntp true; the order of runs is that of their numbers all the same".to_owned())
        });
        said.collect()
    },
    |facts| {
        let tools = facts.projects.iter().flat_map(|project| project.tools.iter().map(move |tool| (project, tool)));
        let missing = tools.filter_map(|(project, tool)| Some((project, tool, tool.program.as_ref().err()?)));
        let said = missing.map(|(project, tool, failure)| {
            let (what, advice) = explain_missing(failure);
            (format!("{}: {what}, which `{}` starts", name(project), tool.action), advice)
        });
        said.collect()
    },
];

pub(super) fn findings(facts: &MachineFacts) -> Vec<Finding> {
    let found = RULES.iter().flat_map(|rule| rule(facts));
    found.map(|(problem, advice)| Finding { problem, advice }).collect()
}

/// Returns the `machine` object of the document that `--json` prints.
pub(super) fn document(facts: &MachineFacts) -> MachineV1<'_> {
    let machine = &facts.machine;
    let kind_name = |kind: Option<FileSystemType>| kind.map(|kind| classify_file_system(kind).name);
    let inotify = machine.inotify;
    MachineV1 {
        open_files: machine.open_files.map(|limit| limit.0),
        open_files_at_most: machine.open_files.map(|limit| limit.1),
        inotify: InotifyV1 {
            watches: inotify.watches.limit,
            watches_used: inotify.watches.used,
            watches_needed: watches_needed(facts),
            instances: inotify.instances.limit,
            instances_used: inotify.instances.used,
            queue: inotify.queue,
        },
        store: StoreV1 {
            file_system: kind_name(machine.store_file_system),
            free_bytes: machine.store_space.map(|space| space.bytes),
            free_files: machine.store_space.and_then(|space| space.files),
        },
        evidence: facts.evidence,
        snapshots: space::document(facts),
        projects: facts.projects.iter().map(|project| ProjectV1(project, space::usage_of(facts, project))).collect(),
    }
}

/// Returns the lines for people, without the findings.
pub(super) fn lines(facts: &MachineFacts) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let inotify = facts.machine.inotify;
    let store = facts.machine.store_file_system.map(|kind| classify_file_system(kind).name);
    let space = facts.machine.store_space.map(|space| format!(", {} MiB free", space.bytes >> 20)).unwrap_or_default();
    let mut lines = vec![
        format!("open files: {}", number(facts.machine.open_files.map(|limit| limit.0))),
        format!(
            "watches: {} needed, {} in use by others, {} allowed; queue of {}",
            watches_needed(facts),
            inotify.watches.used,
            number(inotify.watches.limit),
            number(inotify.queue)
        ),
        format!("evidence lies on: {}{space}", store.unwrap_or_else(|| "unknown".to_owned())),
        facts.evidence.line(),
        space::line(facts),
    ];
    let (asked, others): (Vec<_>, Vec<_>) = facts.projects.iter().partition(|project| project.root == facts.asked);
    for project in asked {
        let place = project.file_system.map_or_else(|| "root missing".to_owned(), |kind| classify_file_system(kind).name);
        lines.push(format!("project {}: {} ({place})", name(project), project.root.display()));
        lines.push(space::line_of_project(facts, project));
        lines.extend(project.watched_by.map(status::watched_by));
        lines.extend(project.cold_start.as_ref().map(|why| format!("  {:<19} not used lately, because {why}", "early start")));
        for tool in project.tools.iter().filter(|tool| tool.program.is_ok()) {
            let version = tool.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            let path = tool.program.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            lines.push(format!("  {:<19} {}{version} · {path}", tool.action, tool.tool.action_name()));
        }
    }
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|project| name(project)).collect();
        lines.push(format!("other projects: {}; `--json` has them whole", names.join(", ")));
    }
    lines
}

fn explain_missing(failure: &SpawnFailure) -> (String, String) {
    match failure {
        SpawnFailure::ProgramNotFound { program, searched } => {
            let advice = match program.rsplit_once('/') {
                Some((place, _)) => format!("make `{place}`, the environment it belongs to, or correct the check's command"),
                None => format!("install it, or name its path in the command; searched: {}", searched.join(", ")),
            };
            (format!("`{program}` is not there"), advice)
        }
        SpawnFailure::NotExecutable { program } => {
            (format!("`{program}` may not be executed"), "make it executable, or name another program".to_owned())
        }
        SpawnFailure::InterpreterNotFound { program, interpreter } => {
            let advice = "make the environment it belongs to anew, or name another program".to_owned();
            (format!("`{interpreter}`, by which `{program}` is run, is not there"), advice)
        }
        SpawnFailure::DirectoryNotFound { directory } => {
            (format!("the directory `{directory}` is not there"), "mend `directory` of the check".to_owned())
        }
        // Only a run has these failures: `doctor` looks for the programs of checks, but starts no check.
        SpawnFailure::PortHeld { .. }
        | SpawnFailure::ClientNotReady { .. }
        | SpawnFailure::NoServer { .. }
        | SpawnFailure::PromptUnreadable { .. }
        | SpawnFailure::NotIsolated { .. }
        | SpawnFailure::Refused { .. } => {
            (format!("a program cannot be started: {failure}"), "look at the command of the check".to_owned())
        }
    }
}

fn name(project: &ProjectFound) -> String {
    project.id.as_ref().map_or_else(|| "not registered".to_owned(), ToString::to_string)
}

fn watches_needed(facts: &MachineFacts) -> u64 {
    facts.projects.iter().filter_map(|project| project.directories).fold(0, u64::saturating_add)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn once<T>(found: Option<T>, say: impl FnOnce(T) -> (String, String)) -> Vec<(String, String)> {
    found.map(say).into_iter().collect()
}

fn sysctl(name: &str, value: u64) -> String {
    format!("echo {name}={value} | sudo tee -a /etc/sysctl.d/60-proctor.conf && sudo sysctl --system")
}

fn classify_file_system(FileSystemType(magic): FileSystemType) -> FileSystem {
    let named = |table: &[(i64, &str)]| table.iter().find(|row| row.0 == magic).map(|row| row.1.to_owned());
    let (in_memory, eventless) = (named(IN_MEMORY), find_eventless(magic));
    let is_lasting = in_memory.is_none();
    let name =
        in_memory.or_else(|| eventless.map(str::to_owned)).or_else(|| named(LOCAL)).unwrap_or_else(|| format!("{magic:#x}"));
    FileSystem { name, tells_of_changes: eventless.is_none(), is_lasting }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{ProjectId, Tool};
    use proctor_project::{InotifyLimits, KernelLimit, Space};
    use proctor_sandbox::ForeignOwner;

    fn project() -> ProjectFound {
        let found = ToolFound {
            action: "pytest".to_owned(),
            tool: Tool::Pytest,
            program: Ok("/usr/bin/python3.11".into()),
            version: Some("9.0.2".to_owned()),
        };
        ProjectFound {
            id: Some(ProjectId::try_from("shop-0123abcd").unwrap()),
            root: "/home/ada/shop".into(),
            file_system: Some(FileSystemType(0xEF53)),
            directories: Some(100),
            ahead_ms: 0,
            run_ahead_ms: 0,
            snapshot_obstacle: None,
            cold_start: None,
            watched_by: None,
            foreign_owner: None,
            tools: vec![found],
        }
    }

    fn well() -> MachineFacts {
        let limit = |limit, used| KernelLimit { limit: Some(limit), used };
        let inotify = InotifyLimits { watches: limit(8192, 10), instances: limit(128, 2), queue: Some(16_384) };
        let machine = Machine {
            open_files: Some((1024, 4096)),
            inotify,
            store_file_system: Some(FileSystemType(0xEF53)),
            store_space: Some(Space { bytes: 1 << 34, files: Some(1 << 20) }),
        };
        let (snapshots, evidence) = (BTreeMap::new(), EvidenceSize::default());
        MachineFacts {
            machine,
            store: "/state/proctor".into(),
            snapshots,
            evidence,
            projects: vec![project()],
            asked: "/home/ada/shop".into(),
        }
    }

    fn with_machine(change: impl FnOnce(&mut Machine)) -> MachineFacts {
        let mut facts = well();
        change(&mut facts.machine);
        facts
    }

    fn with_project(change: impl FnOnce(&mut ProjectFound)) -> MachineFacts {
        let mut facts = well();
        change(&mut facts.projects[0]);
        facts
    }

    fn with_snapshots_of(project: &str) -> MachineFacts {
        let project = ProjectId::try_from(project).expect("an id");
        let usage = SnapshotUsage { copies: 1, layers: 0, caches: 0, own_caches: 0 };
        MachineFacts { snapshots: BTreeMap::from([(project, usage)]), ..well() }
    }

    fn without(failure: SpawnFailure) -> MachineFacts {
        with_project(|project| project.tools[0].program = Err(failure))
    }

    #[test]
    fn where_all_is_well_nothing_is_found_and_tools_are_named() {
        assert_eq!(findings(&well()), []);
        let lines = lines(&well());
        assert!(lines.contains(&"  pytest              pytest 9.0.2 · /usr/bin/python3.11".to_owned()), "{lines:#?}");
        let many = super::lines(&MachineFacts { asked: "/home/ada/till".into(), ..well() });
        assert_eq!(many.last().map(String::as_str), Some("other projects: shop-0123abcd; `--json` has them whole"));
        let document = serde_json::to_value(document(&well())).unwrap();
        assert_eq!(document["projects"][0]["tools"][0]["version"], "9.0.2", "{document:#}");
        assert_eq!((&document["inotify"]["watchesNeeded"], &document["store"]["fileSystem"]), (&100.into(), &"ext4".into()));
    }

    #[test]
    fn every_row_is_found_by_itself_and_says_what_to_do() {
        let rows: Vec<(MachineFacts, &str)> = vec![
            (with_machine(|machine| machine.open_files = Some((256, 4096))), "ulimit -n 1024"),
            (with_machine(|machine| machine.inotify.watches.limit = Some(100)), "fs.inotify.max_user_watches=524288"),
            (with_machine(|machine| machine.inotify.instances.limit = Some(2)), "fs.inotify.max_user_instances=512"),
            (with_machine(|machine| machine.inotify.queue = Some(1024)), "fs.inotify.max_queued_events=16384"),
            (with_project(|project| project.file_system = None), "proctor service remove shop-0123abcd"),
            (with_project(|project| project.file_system = Some(FileSystemType(0x6969))), "a local disk"),
            (with_machine(|machine| machine.store_file_system = Some(FileSystemType(0x0102_1994))), "XDG_STATE_HOME"),
            (with_machine(|machine| machine.store_file_system = Some(FileSystemType(0x6969))), "a local disk"),
            (with_machine(|machine| machine.store_space = Some(Space { bytes: 1 << 20, files: None })), "make room"),
            (with_machine(|machine| machine.store_space = Some(Space { bytes: 1 << 40, files: Some(9) })), "make room"),
            (with_snapshots_of("gone-0000002a"), "proctor prune"),
            (with_project(|project| project.ahead_ms = 3000), "set-ntp"),
            (with_project(|project| project.run_ahead_ms = 3000), "set-ntp"),
            (
                with_project(|project| project.foreign_owner = Some(ForeignOwner { owner: 1001, user: 0 })),
                "run proctor as user 1001",
            ),
            (
                without(SpawnFailure::ProgramNotFound { program: "uv".to_owned(), searched: vec!["/bin".to_owned()] }),
                "searched: /bin",
            ),
            (
                without(SpawnFailure::ProgramNotFound { program: ".venv/bin/python".to_owned(), searched: Vec::new() }),
                "make `.venv/bin`",
            ),
            (without(SpawnFailure::NotExecutable { program: "uv".to_owned() }), "make it executable"),
            (without(SpawnFailure::DirectoryNotFound { directory: "web".to_owned() }), "`directory`"),
            (without(SpawnFailure::InterpreterNotFound { program: "uv".to_owned(), interpreter: "x".to_owned() }), "anew"),
        ];
        let mut provoked = std::collections::BTreeSet::new();
        for (facts, advice) in &rows {
            let found = findings(facts);
            assert!(matches!(found.as_slice(), [one] if one.advice.contains(advice)), "{advice}: {found:?}");
            provoked.insert(RULES.iter().position(|rule| !rule(facts).is_empty()));
        }
        assert_eq!(provoked.len(), RULES.len(), "every row of the table is provoked");
    }

    #[test]
    fn a_limit_is_raised_to_what_is_needed_where_that_is_more_than_usual() {
        let facts = with_project(|project| project.directories = Some(1_000_000));
        assert_eq!(findings(&facts)[0].advice, sysctl("fs.inotify.max_user_watches", 1_250_012));
    }

    #[test]
    fn file_systems_are_told_apart_by_what_matters() {
        let of = |magic| {
            let found = classify_file_system(FileSystemType(magic));
            (found.name, found.tells_of_changes, found.is_lasting)
        };
        assert_eq!(of(0xEF53), ("ext4".to_owned(), true, true));
        assert_eq!(of(0x0102_1994), ("tmpfs".to_owned(), true, false));
        assert_eq!(of(0x6969), ("NFS".to_owned(), false, true));
        assert_eq!(of(0x1234), ("0x1234".to_owned(), true, true));
    }
}
