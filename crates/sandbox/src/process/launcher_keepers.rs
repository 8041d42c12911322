//! The keepers of the launcher: how the launcher forks the process that watches one action, and how it ends this process.
//!
//! Which limits of an action are not enforced, and whether the action may run without them. Pure.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;

use nix::unistd::Pid;

use crate::process::active_action::{ActiveAction, KeeperHandle};
use crate::process::cgroup::Cgroup;
use crate::process::early::EarlyStart;
use crate::process::group::{await_end, kill_child, kill_descendants};
use crate::process::keeper::{KeeperIsolation, KeeperSetup, run_keeper};
use crate::process::launcher::{Launcher, WAKING};
use crate::process::process_count::counts_processes_by_namespace;
use crate::process::process_table::{read_children_of, read_own_children};
use crate::process::protocol::{DescriptorRole, EarlyCommand, Isolation, NO_OWN_NETWORK, Obstacle, StartAction};
use crate::process::system_calls::{
    Forked, Reaping, catch_silently, end_forked, fork_if_single_threaded, fork_into_namespaces, fork_into_namespaces_of,
    wait_child,
};
use proctor_model::{IsolationLevel, LimitEnforcement, LimitSetting, ResourceLimits, UnenforcedLimit};

/// The time limit in milliseconds for the end of a keeper (the process that watches one action): first after the
/// launcher told the keeper to end, and again after the launcher killed it. A keeper usually takes less than one
/// millisecond.
const KEEPER_END_MS: u16 = 500;

/// A keeper that was forked in advance and waits for an action to be requested.
#[derive(Debug)]
pub(super) struct ParkedKeeper {
    pub(super) keeper: KeeperHandle,
    pub(super) isolation: Isolation,
    /// The network of its own that the keeper has joined; `None` for the machine's. The keeper keeps it, so its number stays its own.
    network: Option<u64>,
    /// The key of the command that is started early in it.
    key: Option<String>,
}

/// A network of a run that an action is to have.
#[derive(Debug)]
pub(super) struct JoinedNetwork {
    /// The user namespace to which the network belongs.
    owner: OwnedFd,
    network: OwnedFd,
}

impl JoinedNetwork {
    /// Takes the network of a run out of a request, so that the child gets no descriptor of it.
    pub(super) fn take(start: &mut StartAction, descriptors: Vec<OwnedFd>) -> (Option<Self>, Vec<OwnedFd>) {
        let (mut owner, mut network, mut rest) = (None, None, Vec::new());
        let roles = std::mem::take(&mut start.descriptors);
        for (role, descriptor) in roles.into_iter().zip(descriptors) {
            match role {
                DescriptorRole::NetworkOwner => owner = Some(descriptor),
                DescriptorRole::Network => network = Some(descriptor),
                DescriptorRole::Stdin | DescriptorRole::Stdout | DescriptorRole::Stderr => {
                    start.descriptors.push(role);
                    rest.push(descriptor);
                }
            }
        }
        (owner.zip(network).map(|(owner, network)| Self { owner, network }), rest)
    }

    /// Returns the number by which the kernel tells the network from others.
    fn number(&self) -> Option<u64> {
        Some(File::from(self.network.try_clone().ok()?).metadata().ok()?.ino())
    }
}

/// What a keeper does when its isolation is set up.
enum FirstTask<'a> {
    /// It starts an action.
    Start(&'a StartAction, &'a [OwnedFd]),
    /// It starts a command early, and waits for the action.
    StartEarly(Box<EarlyStart>),
    Wait,
}

/// Moves a parked keeper into a cgroup, and the command that it has started early.
fn add_with_children(group: &Cgroup, keeper: Pid) -> io::Result<()> {
    group.add_process(keeper)?;
    read_children_of(keeper).into_iter().try_for_each(|child| group.add_process(child))
}

/// Returns the obstacle that says why an action at the namespace level has not the network that it asks for; `None` if it has it.
fn missing_network(level: IsolationLevel, wanted: &Isolation, joined: Option<&JoinedNetwork>) -> Option<String> {
    let is_missing = level == IsolationLevel::Namespace && !wanted.network.is_open() && joined.is_none();
    let why = wanted.network_obstacle.as_deref().unwrap_or("none came with the request");
    is_missing.then(|| format!("{NO_OWN_NETWORK}{why}"))
}

impl Launcher {
    /// Forks a keeper (the process that watches one action), which starts the action as soon as its isolation is set
    /// up. A network that cannot be had is never an obstacle of the level: other actions have the same isolation before and afterwards.
    pub(super) fn start_fresh(
        &mut self,
        level: IsolationLevel,
        start: &StartAction,
        descriptors: &[OwnedFd],
        network: Option<&JoinedNetwork>,
    ) -> Result<ActiveAction, Obstacle> {
        let missing = missing_network(level, &start.child.isolation, network);
        if let Some(missing) = missing.as_ref().filter(|_| start.child.isolation.needs_network) {
            let word = start.child.isolation.network.word();
            return Err(Obstacle::Network(format!("`sandbox.mode = \"require\"` wants `network = \"{word}\"`, and {missing}")));
        }
        match self.start_at(level, start, descriptors, network) {
            Ok(action) => Ok(action.without_network(missing)),
            Err(Obstacle::Level(why)) if network.is_some() && self.is_offered_without_network(level, &start.child.isolation) => {
                Err(Obstacle::Network(format!("a command cannot be started in the network of the run: {why}")))
            }
            Err(obstacle) => Err(obstacle),
        }
    }

    /// Returns whether a level at which actions have networks is there after all: a keeper without the network of the run comes up.
    fn is_offered_without_network(&mut self, level: IsolationLevel, isolation: &Isolation) -> bool {
        if level != IsolationLevel::Namespace {
            return false;
        }
        let Ok(mut keeper) = self.fork_keeper(KeeperIsolation { level, isolation, group: None }, FirstTask::Wait, None) else {
            return false;
        };
        let is_ready = keeper.await_ready().is_ok();
        self.end_keeper(&keeper);
        is_ready
    }

    fn start_at(
        &mut self,
        level: IsolationLevel,
        start: &StartAction,
        descriptors: &[OwnedFd],
        network: Option<&JoinedNetwork>,
    ) -> Result<ActiveAction, Obstacle> {
        let group = self.make_group(start);
        if let (IsolationLevel::Cgroup, Err(why)) = (level, &group) {
            return Err(Obstacle::Level(why.clone()));
        }
        let unenforced = match unenforced_limits(&group, level, &start.child.isolation.resources) {
            Ok(unenforced) => unenforced,
            Err(obstacle) => {
                let _nothing_entered_it = group.map(|group| group.remove());
                return Err(obstacle);
            }
        };
        let isolation = KeeperIsolation { level, isolation: &start.child.isolation, group: group.as_ref().ok() };
        let mut keeper = self
            .fork_keeper(isolation, FirstTask::Start(start, descriptors), network)
            .map_err(|error| Obstacle::Level(format!("cannot make a process in namespaces of its own: {error}")))?;
        match keeper.await_start() {
            Ok(()) => Ok(ActiveAction::new(keeper, group.ok(), unenforced)),
            Err(obstacle) => {
                self.give_up(&keeper, group.ok());
                Err(obstacle)
            }
        }
    }

    /// Gives an action to the parked keeper (the one that was forked in advance). Returns `None` if there is no such
    /// keeper. If the keeper was prepared for another isolation or cannot start the action, ends the keeper and returns
    /// `None`. If the keeper died after it had got the action, returns the reason: the action may have begun and must not be
    /// started again.
    pub(super) fn start_parked(
        &mut self,
        start: &StartAction,
        descriptors: &[OwnedFd],
        network: Option<&JoinedNetwork>,
    ) -> Option<Result<ActiveAction, String>> {
        let ParkedKeeper { mut keeper, isolation, network: joined, key } = self.parked.take()?;
        let has_network = joined == network.and_then(JoinedNetwork::number) && isolation.network == start.child.isolation.network;
        let is_meant = has_network
            && isolation.strongest == start.child.isolation.strongest
            && isolation.resources.processes == start.child.isolation.resources.processes
            && isolation.sandbox == start.child.isolation.sandbox;
        let group = if is_meant { self.make_group(start) } else { Err(String::new()) };
        let unenforced = unenforced_limits(&group, keeper.level, &start.child.isolation.resources);
        let group = group.ok();
        let is_given = is_meant
            && unenforced.is_ok()
            && keeper.await_ready().is_ok()
            && group.as_ref().is_none_or(|group| add_with_children(group, keeper.process).is_ok())
            && keeper.give_action(start, descriptors, group.as_ref()).is_ok();
        let begun = is_given.then(|| keeper.await_start());
        if let (Some(key), Some(list)) = (key, keeper.listed.take()) {
            self.listed = Some((key, list));
        }
        match begun {
            Some(Ok(())) => {
                self.levels.note_working(keeper.level);
                Some(Ok(ActiveAction::new(keeper, group, unenforced.unwrap_or_default())))
            }
            Some(Err(Obstacle::Keeper(why))) => {
                self.give_up(&keeper, group);
                Some(Err(why))
            }
            Some(Err(Obstacle::Level(_) | Obstacle::Place(_) | Obstacle::Network(_) | Obstacle::Stale)) | None => {
                self.give_up(&keeper, group);
                None
            }
        }
    }

    /// Ends a keeper (the process that watches one action) that did not report that it is ready or that its action has started.
    /// The action may have killed the keeper before, so the processes of the action are killed too.
    fn give_up(&mut self, keeper: &KeeperHandle, group: Option<Cgroup>) {
        // The keeper is ended before the cgroup is cleared, because a keeper enters the cgroup by itself and could
        // otherwise do so afterwards.
        self.end_keeper(keeper);
        if let Some(group) = group {
            group.clear();
            let _emptied_by_then = group.remove();
        }
    }

    /// Ends a keeper (the process that watches one action) and the processes of its action.
    ///
    /// At level `Namespace` the launcher kills the keeper, and the kernel kills these processes with it. At the other
    /// levels the keeper kills them and then ends. The launcher must not kill such a keeper first: if the launcher
    /// itself were killed right afterwards, nothing would kill the processes of the action. The launcher kills such a
    /// keeper only if the keeper does not end in time. Afterwards the launcher kills the processes of the action that
    /// are left.
    pub(super) fn end_keeper(&mut self, keeper: &KeeperHandle) {
        self.released.push(keeper.process);
        if keeper.level == IsolationLevel::Namespace {
            kill_child(keeper.process);
        } else {
            keeper.abandon();
            if !await_end(keeper.process, KEEPER_END_MS) {
                kill_child(keeper.process);
                // The processes that the keeper has left become children of the launcher only when the keeper has
                // ended.
                await_end(keeper.process, KEEPER_END_MS);
            }
            self.kill_strays();
        }
        self.reap_released();
    }

    fn make_group(&self, start: &StartAction) -> Result<Cgroup, String> {
        let delegation = self.delegation.as_ref().map_err(Clone::clone)?;
        delegation.make(start.number, &start.child.isolation.resources).map_err(|error| format!("cannot make a cgroup: {error}"))
    }

    /// Forks a keeper (the process that watches one action) in advance, for the next action with the same isolation,
    /// usually while the present action runs. If the two actions mount an overlay, the keeper is forked only after
    /// the present action is over, because only one such mount may exist at a time.
    pub(super) fn prepare_next(&mut self, start: StartAction, network: Option<&JoinedNetwork>) {
        if !self.open.contains_key(&start.number) {
            return;
        }
        if start.child.isolation.mounts_overlay() {
            self.followed.insert(start.number, start.child.isolation);
        } else {
            self.park(start.child.isolation, network, None);
        }
    }

    /// Forks a keeper (the process that watches one action) in advance, for an action that will probably be requested
    /// next. Only at the level `namespace` is a keeper forked in advance. A failure is ignored here, because the
    /// request for the action will meet the same failure and report it.
    pub(super) fn park(&mut self, isolation: Isolation, network: Option<&JoinedNetwork>, early: Option<EarlyCommand>) {
        if let Some(parked) = self.parked.take() {
            self.end_keeper(&parked.keeper);
        }
        let level = self.levels.best(isolation.strongest);
        if level != IsolationLevel::Namespace || isolation.network.is_open() != network.is_none() {
            return;
        }
        let key = early.as_ref().map(|early| early.key.clone());
        let list = self.listed.as_ref().filter(|(of, _)| Some(of) == key.as_ref()).map(|(_, list)| list.clone());
        let first = early.map_or(FirstTask::Wait, |early| FirstTask::StartEarly(Box::new(EarlyStart::new(early, list))));
        if let Ok(keeper) = self.fork_keeper(KeeperIsolation { level, isolation: &isolation, group: None }, first, network) {
            self.parked = Some(ParkedKeeper { keeper, isolation, network: network.and_then(JoinedNetwork::number), key });
        }
    }

    /// Forks a keeper (the process that watches one action). `start` is the action with its descriptors; if it is
    /// `None`, the keeper waits until it is sent an action.
    fn fork_keeper(
        &mut self,
        isolation: KeeperIsolation<'_>,
        first: FirstTask<'_>,
        network: Option<&JoinedNetwork>,
    ) -> io::Result<KeeperHandle> {
        let level = isolation.level;
        let (ours, theirs) = UnixStream::pair()?;
        let forked = match level {
            IsolationLevel::Namespace => match network {
                Some(JoinedNetwork { owner, network }) => fork_into_namespaces_of(owner.as_fd(), network.as_fd())?,
                None => fork_into_namespaces()?,
            },
            IsolationLevel::Cgroup | IsolationLevel::Landlock | IsolationLevel::ProcessGroup | IsolationLevel::Remote => {
                fork_if_single_threaded()?.ok_or_else(|| io::Error::other("the launcher has several threads"))?
            }
        };
        match forked {
            Forked::Parent(process) => Ok(KeeperHandle::new(process, level, ours)),
            Forked::Child => {
                // The forked child must not wake the launcher: its signal handlers would write to a descriptor whose
                // number may be reused.
                WAKING.into_iter().for_each(catch_silently);
                let owned = |descriptors: &[OwnedFd]| descriptors.iter().map(OwnedFd::try_clone).collect::<io::Result<Vec<_>>>();
                let (start, early) = match first {
                    FirstTask::Start(start, descriptors) => (owned(descriptors).ok().map(|owned| (start, owned)), None),
                    FirstTask::StartEarly(early) => (None, Some(*early)),
                    FirstTask::Wait => (None, None),
                };
                let has_network = network.is_some();
                end_forked(run_keeper(KeeperSetup {
                    isolation,
                    identity: self.identity,
                    has_network,
                    socket: theirs,
                    start,
                    early,
                }))
            }
        }
    }

    pub(super) fn reap_released(&mut self) {
        self.released.retain(|keeper| matches!(wait_child(*keeper, Reaping::Reap), Ok(None)));
    }

    /// Kills processes that became the launcher's children because an action killed its keeper. At the namespace
    /// level an action cannot kill its keeper.
    pub(super) fn kill_strays(&self) {
        let keepers: Vec<Pid> = self
            .open
            .values()
            .map(|action| action.keeper.process)
            .chain(self.parked.iter().map(|parked| parked.keeper.process))
            .chain(self.released.iter().copied())
            .collect();
        let strays = || read_own_children().unwrap_or_default().into_iter().filter(|child| !keepers.contains(child));
        if strays().next().is_some() {
            let _bounded =
                kill_descendants(|| keepers.clone(), || strays().for_each(|stray| drop(wait_child(stray, Reaping::Reap))));
        }
    }
}

/// Returns the limits of an action that no part of the kernel enforces. Without a cgroup these are all that were asked for, but the one on
/// processes where the kernel counts those of a user namespace.
///
/// # Errors
/// When the settings require that limits are enforced, and one is not.
pub(super) fn unenforced_limits(
    group: &Result<Cgroup, String>,
    level: IsolationLevel,
    limits: &ResourceLimits,
) -> Result<Vec<UnenforcedLimit>, Obstacle> {
    let mut unenforced = match group {
        Ok(group) => group.unenforced().to_vec(),
        Err(why) => {
            let memory = limits.memory.map(|_| LimitSetting::Memory);
            let processes = limits.processes.map(|_| LimitSetting::Processes);
            memory.into_iter().chain(processes).map(|setting| UnenforcedLimit { setting, why: why.clone() }).collect()
        }
    };
    if level == IsolationLevel::Namespace && counts_processes_by_namespace() {
        unenforced.retain(|limit| limit.setting != LimitSetting::Processes);
    }
    match (limits.enforcement, unenforced.first()) {
        (LimitEnforcement::Required, Some(UnenforcedLimit { setting, why })) => Err(Obstacle::Place(format!(
            "`sandbox.limits = \"require\"` wants `sandbox.{}` enforced, and it is not: {why}",
            setting.word()
        ))),
        (LimitEnforcement::Required, None) | (LimitEnforcement::WherePossible, _) => Ok(unenforced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::NetworkAccess;

    #[test]
    fn only_a_narrower_network_in_namespaces_can_be_missing() {
        let isolation = |network| Isolation { network, network_obstacle: Some("no".to_owned()), ..Isolation::strongest() };
        for (level, network, expected) in [
            (IsolationLevel::Namespace, NetworkAccess::Loopback, Some(format!("{NO_OWN_NETWORK}no"))),
            (IsolationLevel::Namespace, NetworkAccess::Off, Some(format!("{NO_OWN_NETWORK}no"))),
            (IsolationLevel::Namespace, NetworkAccess::Open, None),
            (IsolationLevel::Landlock, NetworkAccess::Loopback, None),
        ] {
            assert_eq!(missing_network(level, &isolation(network), None), expected, "{level:?} {network:?}");
        }
    }

    fn refused() -> Result<Cgroup, String> {
        Err("no cgroup was delegated".to_owned())
    }

    #[test]
    fn without_a_cgroup_each_limit_that_was_asked_for_is_named_with_the_reason() {
        let memory = ResourceLimits { memory: Some(1), ..ResourceLimits::default() };
        let expected = UnenforcedLimit { setting: LimitSetting::Memory, why: "no cgroup was delegated".to_owned() };
        assert_eq!(unenforced_limits(&refused(), IsolationLevel::Namespace, &memory), Ok(vec![expected]));
        assert_eq!(unenforced_limits(&refused(), IsolationLevel::Landlock, &ResourceLimits::default()), Ok(Vec::new()));
    }

    #[test]
    fn a_required_limit_that_is_not_enforced_refuses_the_action_and_a_limit_that_was_not_asked_for_does_not() {
        let required = ResourceLimits { enforcement: LimitEnforcement::Required, ..ResourceLimits::default() };
        assert_eq!(unenforced_limits(&refused(), IsolationLevel::Landlock, &required), Ok(Vec::new()));
        let refusal = unenforced_limits(&refused(), IsolationLevel::Landlock, &ResourceLimits { processes: Some(8), ..required });
        assert!(matches!(&refusal, Err(Obstacle::Place(why)) if why.contains("`sandbox.processes`")), "{refusal:?}");
    }
}
