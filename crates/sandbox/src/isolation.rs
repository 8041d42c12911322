//! The isolation of a run's actions: what is requested from `process/`, and what the report says about the isolation.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use crate::process::{
    Isolation, NO_OWN_NETWORK, filter_obstacle, restricts_path_sockets, restricts_sockets_and_signals, restricts_tcp,
};
use crate::{SandboxError, SandboxRequest, prepare_sandbox};
use proctor_model::{
    EarlyUse, HomeAccess, IsolationFacts, IsolationLevel, NetworkAccess, OPEN_WORLD, ProtectionMode, ReachedIsolation,
    ReachedLevel, ResourceLimits, SandboxSettings, SystemCallFilter, TestedPlace, UNNAMED_FILES, UnenforcedLimit, World,
};

/// An open channel: a way by which an action can affect or read something outside of its run.
struct OpenChannel {
    name: &'static str,
    /// The strongest isolation level at which the channel is open. It is open at all weaker levels too.
    from: IsolationLevel,
}

/// The name of an open channel that exists only if actions work in the project itself and not on a snapshot.
const WRITING_THE_PROJECT: &str = "writing the project while it is tested";

/// The name of the open channel that a kernel closes at the levels with Landlock, if its Landlock restricts connections to
/// sockets in the file system. proctor's own control socket is closed by itself: the service refuses actions.
const PATH_SOCKETS: &str = "sockets in the file system: message buses, agents, container engines (not proctor's own)";

/// The name of the open channel of an action that has another process started outside of itself, such as a unit of
/// the user's service manager. The service does not recognise that process. To reach the service manager, the action
/// needs a socket in the file system.
const SERVICE: &str = "proctor's service, by a process that a service manager starts for the action (`systemd-run --user`)";

/// The channels that stay open at each isolation level; the report lists them. The attacks in `tests/attacks.rs` prove
/// each row.
const OPEN_CHANNELS: &[OpenChannel] = &[
    OpenChannel { name: WRITING_THE_PROJECT, from: IsolationLevel::Namespace },
    OpenChannel { name: PATH_SOCKETS, from: IsolationLevel::Cgroup },
    OpenChannel { name: SERVICE, from: IsolationLevel::Cgroup },
    OpenChannel { name: "writing package caches and installed packages", from: IsolationLevel::Cgroup },
    OpenChannel { name: "limits and priority of the user's other processes", from: IsolationLevel::Cgroup },
    OpenChannel { name: "modes and times of files that cannot be written", from: IsolationLevel::Cgroup },
    OpenChannel { name: "the shared /tmp, and `.git`", from: IsolationLevel::Cgroup },
    OpenChannel { name: "set-user-id programs outlive the search for what is left", from: IsolationLevel::ProcessGroup },
    OpenChannel { name: "the files of the user, the evidence store included", from: IsolationLevel::ProcessGroup },
    OpenChannel { name: "the user's other processes", from: IsolationLevel::ProcessGroup },
];

/// The name of an open channel that exists only on kernels before Linux 6.12, which cannot close it.
const ABSTRACT_SOCKETS: &str = "abstract sockets (this kernel cannot restrict them; Linux 6.12 can)";

/// How the obstacle of an action begins that a server carried out; the server's endpoint follows.
pub const REMOTE: &str = "remote: ";

/// The name of the open channel of actions whose system calls are not filtered.
const UNFILTERED_CALLS: &str = "every system call that the user may make: io_uring, keyrings, sockets to the host";

/// Returns the isolation to request for an action. `strongest` is the strongest level to try; tests use it to force a
/// weaker one.
pub fn isolation(request: &SandboxRequest<'_>, output: &Path, strongest: IsolationLevel) -> Result<Isolation, SandboxError> {
    let settings = request.settings;
    let resources = resources(settings);
    let (strongest, weakest) = match settings.mode {
        ProtectionMode::Off => return Ok(Isolation { resources, ..Isolation::weakest() }),
        ProtectionMode::Auto => (strongest, IsolationLevel::ProcessGroup),
        ProtectionMode::Require => (strongest, IsolationLevel::Namespace),
    };
    let sandbox = prepare_sandbox(request)?;
    let output = output.strip_prefix(request.store).map_or_else(|_| output.to_owned(), |below| sandbox.store.join(below));
    Ok(Isolation {
        strongest,
        weakest,
        sandbox: Some(sandbox),
        snapshot: None,
        dropped: None,
        output: Some(output),
        network: NetworkAccess::Open,
        needs_network: settings.mode == ProtectionMode::Require,
        network_obstacle: None,
        resources,
        filter: settings.system_call_filter,
    })
}

fn resources(settings: &SandboxSettings) -> ResourceLimits {
    let memory = settings.memory.map(|size| size.0);
    let written = settings.max_written.map(|size| size.0);
    ResourceLimits { memory, processes: settings.processes, written, enforcement: settings.limits, nice: 0 }
}

/// An action that was started, with what decides which network it had.
#[derive(Debug, Clone, Copy)]
pub struct StartedAction<'a> {
    pub name: &'a str,
    /// The network that it was to have.
    pub network: NetworkAccess,
    pub kept: &'a ReachedIsolation,
}

/// Returns what the report says about the isolation of a run's actions; `None` if no action was started.
pub fn facts<'a>(
    started: impl Iterator<Item = StartedAction<'a>>,
    settings: &SandboxSettings,
    tested: TestedPlace,
) -> Option<IsolationFacts> {
    let started: Vec<StartedAction<'_>> = started.collect();
    let (there, here): (Vec<_>, Vec<_>) =
        started.iter().copied().partition(|one| one.kept.reached.level == IsolationLevel::Remote);
    let kept: Vec<&ReachedIsolation> = started.iter().map(|one| one.kept).collect();
    // The report names the weakest level of all actions, because one weakly isolated action affects the whole run.
    let level = kept.iter().map(|kept| kept.reached.level).max()?;
    let mut obstacles: Vec<String> = kept.iter().flat_map(|kept| kept.reached.obstacles.iter().cloned()).collect();
    // What a server's workers have is an open channel of the run, and no reason for its level.
    obstacles.retain(|obstacle| !obstacle.starts_with(OPEN_WORLD));
    obstacles.sort_by_key(|obstacle| (!obstacle.starts_with(REMOTE), obstacle.clone()));
    obstacles.dedup();
    if settings.mode == ProtectionMode::Off {
        obstacles.push("`sandbox.mode` is \"off\"".to_owned());
    }
    let mut unenforced: Vec<UnenforcedLimit> = kept.iter().flat_map(|kept| kept.reached.unenforced.iter().cloned()).collect();
    unenforced.sort();
    unenforced.dedup();
    let killed_by = kept.iter().filter(|kept| kept.killed_by.is_some()).max_by_key(|kept| kept.reached.level);
    Some(IsolationFacts {
        kept: ReachedIsolation {
            reached: ReachedLevel { level, obstacles, unenforced, early: EarlyUse::NotTried },
            killed_by: killed_by.and_then(|kept| kept.killed_by),
        },
        open_channels: channels_here(&here, settings, tested).into_iter().chain(channels_there(&there)).collect(),
    })
}

/// Returns the open channels of the actions that ran on this machine.
fn channels_here(here: &[StartedAction<'_>], settings: &SandboxSettings, tested: TestedPlace) -> Vec<String> {
    let level = here.iter().map(|one| one.kept.reached.level).max();
    level.map_or_else(Vec::new, |level| open_channels(level, here, settings, tested))
}

/// Returns what is open of the actions that a server carried out: who carried them out says it of each.
fn channels_there(there: &[StartedAction<'_>]) -> BTreeSet<String> {
    let said = there.iter().flat_map(|one| one.kept.reached.obstacles.iter());
    said.filter(|said| said.starts_with(REMOTE) || said.starts_with(OPEN_WORLD)).cloned().collect()
}

/// Returns the open channels by which actions use the machine's network, with the actions where others do not.
fn open_networks(started: &[StartedAction<'_>]) -> Vec<String> {
    let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for one in started {
        if let Some(why) = why_network_is_open(&one.kept.reached, one.network) {
            names.entry(why).or_default().insert(one.name);
        }
    }
    let all: BTreeSet<&str> = started.iter().map(|one| one.name).collect();
    let channel = |(why, names): (String, BTreeSet<&str>)| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let of = if names == all { String::new() } else { format!(" of {}", quoted.join(", ")) };
        format!("network{of}{why}")
    };
    names.into_iter().map(channel).collect()
}

/// Returns why an action has the machine's network, as words behind "network"; `None` if it has not.
fn why_network_is_open(reached: &ReachedLevel, network: NetworkAccess) -> Option<String> {
    let why = match (reached.level, network) {
        (_, NetworkAccess::Open) => return Some(String::new()),
        (IsolationLevel::Namespace, NetworkAccess::Loopback | NetworkAccess::Off) => {
            let mut obstacles = reached.obstacles.iter();
            format!(": {}", obstacles.find(|obstacle| obstacle.starts_with(NO_OWN_NETWORK))?)
        }
        (
            IsolationLevel::Cgroup | IsolationLevel::Landlock | IsolationLevel::ProcessGroup | IsolationLevel::Remote,
            NetworkAccess::Loopback | NetworkAccess::Off,
        ) => " needs namespaces".to_owned(),
    };
    let is_tcp_closed = network == NetworkAccess::Off && reached.level != IsolationLevel::ProcessGroup && restricts_tcp();
    let but = if is_tcp_closed { " but TCP" } else { "" };
    Some(format!("{but} (`network = \"{}\"`{why})", network.word()))
}

fn open_channels(
    level: IsolationLevel,
    started: &[StartedAction<'_>],
    settings: &SandboxSettings,
    tested: TestedPlace,
) -> Vec<String> {
    let is_closed_by_landlock =
        |name| [PATH_SOCKETS, SERVICE].contains(&name) && level != IsolationLevel::ProcessGroup && restricts_path_sockets();
    // On a snapshot, actions see and write a copy, so they cannot write the project.
    let is_open = |row: &&OpenChannel| {
        let is_writing = row.name == WRITING_THE_PROJECT;
        level >= row.from && (tested == TestedPlace::InPlace || !is_writing) && !is_closed_by_landlock(row.name)
    };
    let networks = open_networks(started);
    // Abstract sockets belong to a network, so where no action has that of the machine, none is reached.
    let needs_scopes = level != IsolationLevel::ProcessGroup && !networks.is_empty();
    let rows = OPEN_CHANNELS.iter().filter(is_open).map(|row| row.name.to_owned()).chain(unnamed_files(level, settings));
    let sockets = settings.sockets.iter().map(|path| format!("the socket {path} (`sandbox.sockets`)"));
    let abstract_sockets = (needs_scopes && !restricts_sockets_and_signals()).then(|| ABSTRACT_SOCKETS.to_owned());
    networks
        .into_iter()
        .chain(rows)
        .chain(sockets)
        .chain(abstract_sockets)
        .chain(unfiltered_calls(level, settings.system_call_filter))
        .collect()
}

/// Returns the open channels by which actions read files that no verdict names.
pub fn unnamed_files(level: IsolationLevel, settings: &SandboxSettings) -> Vec<String> {
    if level == IsolationLevel::ProcessGroup {
        return vec![format!("{OPEN_WORLD}: all files of the user (this level hides none)")];
    }
    if settings.world == World::Open {
        return vec![format!("{OPEN_WORLD}: the user's files that are not hidden (`sandbox.world` is \"open\")")];
    }
    let named = [("visible", &settings.visible), ("writable", &settings.writable)];
    let paths = named.into_iter().flat_map(|(key, paths)| paths.iter().map(move |path| (key, path)));
    // What a relative path names in the project belongs to the tree.
    let outside = paths.filter(|(_, path)| path.starts_with(['/', '~', '.']));
    let outside = outside.map(|(key, path)| format!("{UNNAMED_FILES}{path} (`sandbox.{key}`)"));
    let overlay = (settings.home == HomeAccess::Overlay)
        .then(|| format!("{UNNAMED_FILES}what other checks of the run wrote to HOME (`sandbox.home` is \"overlay\")"));
    outside.chain(overlay).collect()
}

/// Returns the open channel of an action whose system calls are not filtered; `None` if they are.
fn unfiltered_calls(level: IsolationLevel, filter: SystemCallFilter) -> Option<String> {
    let why = match (level, filter, filter_obstacle()) {
        (IsolationLevel::ProcessGroup, ..) => "this level has no filter",
        (_, SystemCallFilter::Off, _) => "`sandbox.system_call_filter` is \"off\"",
        (_, SystemCallFilter::WherePossible | SystemCallFilter::Required, obstacle) => obstacle?,
    };
    Some(format!("{UNFILTERED_CALLS} ({why})"))
}

/// Returns the home directory of the user who runs proctor; `None` if HOME is not set.
pub fn home(ambient: &std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString>) -> Option<&Path> {
    ambient.get(OsStr::new("HOME")).map(Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::KilledBy;

    fn kept(level: IsolationLevel, killed: bool, obstacle: &str) -> ReachedIsolation {
        let obstacles = Some(obstacle).filter(|text| !text.is_empty()).map(str::to_owned).into_iter().collect();
        ReachedIsolation {
            reached: ReachedLevel { level, obstacles, unenforced: Vec::new(), early: EarlyUse::NotTried },
            killed_by: killed.then(|| level.killed_by()),
        }
    }

    /// Returns the channels that are open if one action with the machine's network was started.
    fn open_at(level: IsolationLevel, settings: &SandboxSettings, tested: TestedPlace) -> Vec<String> {
        let kept = kept(level, false, "");
        open_channels(level, &[StartedAction { name: "a", network: NetworkAccess::Open, kept: &kept }], settings, tested)
    }

    fn settings() -> SandboxSettings {
        proctor_plan::config::read("", "proctor.toml").expect("defaults").sandbox
    }

    #[test]
    fn a_run_is_as_well_kept_as_its_weakest_action() {
        let actions = [
            kept(IsolationLevel::Namespace, true, ""),
            kept(IsolationLevel::Landlock, false, "no namespaces"),
            kept(IsolationLevel::Landlock, false, "no namespaces"),
        ];
        let started = actions.iter().map(|kept| StartedAction { name: "a", network: NetworkAccess::Open, kept });
        let facts = facts(started, &settings(), TestedPlace::InPlace).expect("something ran");
        assert_eq!((facts.kept.reached.level, facts.kept.killed_by), (IsolationLevel::Landlock, Some(KilledBy::PidNamespace)));
        assert_eq!(facts.kept.reached.obstacles, ["no namespaces"]);
        assert!(super::facts(std::iter::empty(), &settings(), TestedPlace::InPlace).is_none());
    }

    #[test]
    fn what_a_server_ran_opens_nothing_here_and_says_where_it_was() {
        let here = kept(IsolationLevel::Namespace, false, "");
        let mut there = kept(IsolationLevel::Remote, false, "remote: unix:///s (it could lie)");
        there.reached.obstacles.extend([format!("{OPEN_WORLD}: its workers"), "by its word: worker `w`".to_owned()]);
        let action = |name, kept| StartedAction { name, network: NetworkAccess::Loopback, kept };
        let of = |started: &[StartedAction<'_>]| {
            facts(started.iter().copied(), &settings(), TestedPlace::Snapshot).expect("something was started")
        };
        let (only_here, both) = (of(&[action("a", &here)]), of(&[action("a", &here), action("b", &there)]));
        assert_eq!(both.kept.reached.level, IsolationLevel::Remote);
        assert_eq!(both.kept.reached.obstacles, ["remote: unix:///s (it could lie)", "by its word: worker `w`"]);
        let more: Vec<&String> = both.open_channels.iter().filter(|one| !only_here.open_channels.contains(one)).collect();
        assert_eq!(more, ["open world: its workers", "remote: unix:///s (it could lie)"]);
    }

    #[test]
    fn a_weaker_level_never_has_fewer_open_channels() {
        let open = |level| open_at(level, &settings(), TestedPlace::InPlace);
        // What a server ran opens nothing here: the server's own channels are named instead.
        let here: Vec<IsolationLevel> =
            IsolationLevel::ALL.into_iter().filter(|level| *level != IsolationLevel::Remote).collect();
        for pair in here.windows(2) {
            let (stronger, weaker) = (open(pair[0]), open(pair[1]));
            let of_table = |name: &&String| {
                name.as_str() != ABSTRACT_SOCKETS
                    && ![UNFILTERED_CALLS, UNNAMED_FILES].iter().any(|start| name.starts_with(start))
            };
            assert!(stronger.iter().filter(of_table).all(|channel| weaker.contains(channel)), "{pair:?}");
        }
    }

    #[test]
    fn unfiltered_system_calls_are_named_where_the_filter_is_off_or_the_level_has_none() {
        let named = |level, system_call_filter| {
            let settings = SandboxSettings { system_call_filter, ..settings() };
            let open = open_at(level, &settings, TestedPlace::InPlace);
            open.into_iter().find(|name| name.starts_with(UNFILTERED_CALLS))
        };
        let off = named(IsolationLevel::Namespace, SystemCallFilter::Off).unwrap_or_default();
        assert!(off.contains("`sandbox.system_call_filter` is \"off\""), "{off}");
        assert!(named(IsolationLevel::ProcessGroup, SystemCallFilter::WherePossible).is_some());
        assert_eq!(named(IsolationLevel::Landlock, SystemCallFilter::WherePossible).is_some(), filter_obstacle().is_some());
    }

    #[test]
    fn on_a_snapshot_the_project_cannot_be_written() {
        let open = |tested| open_at(IsolationLevel::Namespace, &settings(), tested);
        let (in_place, snapshot) = (open(TestedPlace::InPlace), open(TestedPlace::Snapshot));
        assert!(in_place.iter().any(|name| name == WRITING_THE_PROJECT));
        assert_eq!(snapshot.len() + 1, in_place.len());
    }

    #[test]
    fn files_that_no_verdict_names_are_named_as_open() {
        let open = |level, settings: &SandboxSettings| open_at(level, settings, TestedPlace::Snapshot);
        let is_open = |channels: Vec<String>| channels.iter().any(|channel| channel.starts_with(OPEN_WORLD));
        let opened = SandboxSettings { world: World::Open, ..settings() };
        for level in IsolationLevel::ALL {
            assert_eq!(is_open(open(level, &settings())), level == IsolationLevel::ProcessGroup, "{level:?}");
            assert!(is_open(open(level, &opened)), "{level:?}");
        }
        let named = SandboxSettings {
            visible: vec!["~/.aws".to_owned()],
            writable: vec!["out".to_owned(), "../shared".to_owned()],
            home: HomeAccess::Overlay,
            ..settings()
        };
        let channels = open(IsolationLevel::Namespace, &named);
        let unnamed: Vec<&String> = channels.iter().filter(|channel| channel.starts_with(UNNAMED_FILES)).collect();
        assert_eq!(unnamed.len(), 3, "{channels:?}");
        assert!(unnamed[0].contains("~/.aws") && unnamed[1].contains("../shared") && unnamed[2].contains("overlay"));
    }

    #[test]
    fn a_network_is_named_as_open_with_the_actions_that_have_it_and_with_what_a_level_cannot_close() {
        use IsolationLevel::{Landlock, Namespace, ProcessGroup};
        use NetworkAccess::{Loopback, Off, Open};
        let tcp = if restricts_tcp() { " but TCP" } else { "" };
        for (actions, expected) in [
            (vec![("a", Namespace, Open), ("b", Namespace, Open)], vec!["network".to_owned()]),
            (vec![("a", Namespace, Loopback), ("b", Namespace, Off)], vec![]),
            (vec![("deps", Namespace, Open), ("b", Namespace, Loopback)], vec!["network of `deps`".to_owned()]),
            (vec![("a", Landlock, Loopback)], vec!["network (`network = \"loopback\"` needs namespaces)".to_owned()]),
            (vec![("a", Landlock, Off)], vec![format!("network{tcp} (`network = \"off\"` needs namespaces)")]),
            (vec![("a", ProcessGroup, Off)], vec!["network (`network = \"off\"` needs namespaces)".to_owned()]),
        ] {
            let kept: Vec<_> = actions.iter().map(|(_, level, _)| kept(*level, false, "")).collect();
            let started =
                actions.iter().zip(&kept).map(|((name, _, network), kept)| StartedAction { name, network: *network, kept });
            assert_eq!(open_networks(&started.collect::<Vec<_>>()), expected, "{actions:?}");
        }
    }

    #[test]
    fn a_network_that_could_not_be_made_is_named_as_open_with_the_reason() {
        use NetworkAccess::{Loopback, Off, Open};
        let why = format!("{NO_OWN_NETWORK}no space");
        let (with, without) = (kept(IsolationLevel::Namespace, true, ""), kept(IsolationLevel::Namespace, true, &why));
        let tcp = if restricts_tcp() { " but TCP" } else { "" };
        for (network, kept, expected) in [
            (Loopback, &with, vec![]),
            (Loopback, &without, vec![format!("network (`network = \"loopback\"`: {why})")]),
            (Off, &without, vec![format!("network{tcp} (`network = \"off\"`: {why})")]),
            (Open, &without, vec!["network".to_owned()]),
        ] {
            assert_eq!(open_networks(&[StartedAction { name: "a", network, kept }]), expected);
        }
        let started = [StartedAction { name: "a", network: Loopback, kept: &without }];
        let facts = facts(started.into_iter(), &settings(), TestedPlace::Snapshot).expect("something ran");
        assert_eq!((facts.kept.reached.level, facts.kept.reached.obstacles), (IsolationLevel::Namespace, vec![why]));
    }

    #[test]
    fn a_named_socket_is_named_as_open() {
        let settings = SandboxSettings { sockets: vec!["/run/docker.sock".to_owned()], ..settings() };
        assert!(
            open_at(IsolationLevel::Namespace, &settings, TestedPlace::InPlace)
                .iter()
                .any(|one| one.contains("/run/docker.sock"))
        );
    }
}
