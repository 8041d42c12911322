//! The table of expected results. It has a row for each attack and a column for each isolation level.
//!
//! If a result depends on the machine, the row names the [`Condition`]. If it depends on more than that, the cell gives a reason
//! ([`Cell::Either`]).

use std::fs::{self, File};
use std::path::Path;

use proctor_model::IsolationLevel;

use crate::common::{User, inside};

/// The expected result of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    Allowed,
    Denied,
    /// Allowed and denied are both right, for this reason.
    Either(&'static str),
}

/// Something that a machine or a user may lack, so that the attack fails at every level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    None,
    /// Nothing exists at this path. `UID` in it stands for the user's number.
    Path(&'static str),
    /// There is no socket at this path that the user may write to.
    Socket(&'static str),
    /// The user may not create user namespaces.
    UserNamespaces,
    /// Root in a container lacks `CAP_SYS_ADMIN`, and cannot do what usually only root can do. This does not concern other users.
    Capabilities,
    /// The tests themselves were started with `no_new_privs` or with an empty bounding set.
    Privileges,
    /// Root may not open this file for writing.
    Writable(&'static str),
    /// There is no block device that root can open.
    BlockDevice,
}

/// The expected results of one attack.
pub(super) struct Row {
    pub(super) group: char,
    pub(super) attack: &'static str,
    condition: Condition,
    none: Cell,
    /// The result for root without isolation. None: the same as for other users.
    none_as_root: Option<Cell>,
    landlock: Cell,
    namespace: Cell,
    /// The result for root under Landlock and namespaces. None: the same as for other users.
    kept_as_root: Option<Cell>,
}

const Y: Cell = Cell::Allowed;
const N: Cell = Cell::Denied;
const HIDDEN: Cell = Cell::Either("reading evidence is no attack, and a store that is hidden as a whole denies it");
const LOCKING: Cell = Cell::Either("whoever may read may lock; the daemon never locks evidence");
const OWN_INIT: Cell = Cell::Either("what is taken from its own init an action takes from itself alone");
const BOUNDING: Cell = Cell::Either("only root can empty it, and no_new_privs makes it worth nothing");
const DELEGATED: Cell = Cell::Either("whose a cgroup's files are is the machine's matter");
const KERNEL: Cell = Cell::Either("kernels are built without it, close it to users, or a container's filter denies it");
const FILTER: Cell = Cell::Denied;
const NUMBERS: Cell = Cell::Either("the directory is root's; the numbers in it lead nowhere");
const ROOTS_PROC: Cell = Cell::Either("without namespaces all of `/proc` is kept from root's actions");
const AS_ROOT: Cell = Cell::Either("Landlock keeps nobody from the bus, and the service manager heeds root alone");
const ROOT_FLAGS: Cell = Cell::Either("which flags of the root are locked is the machine's matter");

const fn row(group: char, attack: &'static str, [none, landlock, namespace]: [Cell; 3]) -> Row {
    Row { group, attack, condition: Condition::None, none, none_as_root: None, landlock, namespace, kept_as_root: None }
}

impl Row {
    const fn for_root(mut self, cell: Cell) -> Self {
        self.none_as_root = Some(cell);
        self
    }

    const fn for_kept_root(mut self, cell: Cell) -> Self {
        self.kept_as_root = Some(cell);
        self
    }

    const fn unless(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// Returns what this machine lacks, so that the attack must fail. None: it lacks nothing.
    pub(super) fn lack(&self, user: User) -> Option<String> {
        self.condition.lack(user)
    }

    /// Returns the expected result, and the reason if it depends on the machine.
    pub(super) fn expected(&self, level: IsolationLevel, user: User) -> (Cell, Option<String>) {
        if let Some(lack) = self.lack(user) {
            return (Cell::Denied, Some(lack));
        }
        let none = if user.is_root() { self.none_as_root.unwrap_or(self.none) } else { self.none };
        let kept = if user.is_root() { self.kept_as_root } else { None };
        let cell = match level {
            IsolationLevel::Namespace => kept.unwrap_or(self.namespace),
            IsolationLevel::Cgroup | IsolationLevel::Landlock => kept.unwrap_or(self.landlock),
            IsolationLevel::ProcessGroup | IsolationLevel::Remote => none,
        };
        // Inside a `Machine` (a container with a service manager) the supervisor owns its cgroup, because the service
        // manager has delegated the cgroup. So these attacks are allowed.
        let cell = if cell == DELEGATED && inside().is_some() { Cell::Allowed } else { cell };
        (cell, if let Cell::Either(why) = cell { Some(why.to_owned()) } else { None })
    }
}

impl Condition {
    /// Returns a message that says what is missing. None: nothing is missing.
    fn lack(self, user: User) -> Option<String> {
        match self {
            Self::None => None,
            Self::Path(path) => {
                let path = path.replace("UID", &user.number().to_string());
                (!Path::new(&path).exists()).then(|| format!("there is no `{path}`"))
            }
            Self::Socket(path) => {
                let may_write = user.command(Path::new("test")).args(["-w", path]).status().is_ok_and(|status| status.success());
                (!may_write).then(|| format!("`{path}` cannot be connected to by this user"))
            }
            Self::UserNamespaces => {
                (!user.has_user_namespaces()).then(|| "this user may not make user namespaces here".to_owned())
            }
            Self::Capabilities => {
                let lacks = user.is_root() && capabilities("CapEff") & (1 << 21) == 0;
                lacks.then(|| "this root has no CAP_SYS_ADMIN".to_owned())
            }
            Self::Privileges => {
                let lacks = capabilities("CapBnd") == 0 || capabilities("NoNewPrivs") == 1;
                lacks.then(|| "the tests were started without privileges to give up".to_owned())
            }
            Self::Writable(path) => {
                let lacks = user.is_root() && File::options().write(true).open(path).is_err();
                lacks.then(|| format!("`{path}` cannot be written by this root"))
            }
            Self::BlockDevice => {
                let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
                let mut nodes = devices.map(|device| Path::new("/dev").join(device.file_name()));
                let lacks = user.is_root() && !nodes.any(|node| File::open(node).is_ok());
                lacks.then(|| "there is no block device to open".to_owned())
            }
        }
    }
}

/// Returns the number after a name in this process's `/proc/self/status`. The number is read as hexadecimal: capability
/// sets are, and a flag of one digit is the same in both notations.
fn capabilities(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("our own status");
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    u64::from_str_radix(value.expect("the kernel tells it").trim(), 16).expect("a hexadecimal number")
}

/// The table. The columns of a row are: only a process group, Landlock, namespaces.
pub(super) const ROWS: &[Row] = &[
    row('A', "read evidence file", [Y, HIDDEN, HIDDEN]),
    row('A', "create file in evidence", [Y, N, N]),
    row('A', "overwrite evidence file", [Y, N, N]),
    row('A', "append to evidence file", [Y, N, N]),
    row('A', "truncate() evidence file", [Y, N, N]),
    row('A', "unlink evidence file", [Y, N, N]),
    row('A', "rename evidence file out", [Y, N, N]),
    row('A', "hard link evidence and write", [Y, N, N]),
    row('A', "rename evidence directory", [Y, N, N]),
    row('A', "rename parent of evidence", [Y, N, N]),
    row('A', "rename grandparent of evidence", [Y, N, N]),
    row('A', "chmod evidence file", [Y, Y, N]),
    row('A', "chmod evidence directory", [Y, Y, N]),
    row('A', "utime evidence file", [Y, Y, N]),
    row('A', "setxattr evidence file", [Y, Y, N]),
    row('A', "flock evidence file", [Y, LOCKING, LOCKING]),
    row('A', "mmap evidence file and write", [Y, N, N]),
    row('A', "write through a hard link that was there", [Y, Y, Y]),
    row('A', "write another action's output", [Y, N, N]),
    row('A', "write by a path from the working directory", [Y, N, N]),
    row('A', "write by a path through the project", [Y, N, N]),
    row('B', "stat key", [Y, Y, N]),
    row('B', "read key", [Y, N, N]),
    row('B', "read key by /proc/self/root", [Y, N, N]),
    row('B', "read key by /proc/DAEMON/root", [Y, N, N]),
    row('B', "read key by /proc/DAEMON/fd", [Y, N, N]),
    row('B', "list evidence by /proc/DAEMON/cwd", [Y, N, N]),
    row('B', "read daemon's environ", [Y, N, N]),
    row('B', "open daemon's mem", [Y, N, N]),
    row('B', "rename key's directory", [Y, N, N]),
    row('B', "read ~/.ssh/id_ed25519", [Y, N, N]),
    row('B', "read ~/.aws/credentials", [Y, N, N]),
    row('B', "read ~/.npmrc", [Y, N, N]),
    row('B', "read another's file in /tmp", [Y, Y, N]),
    row('C', "connect control socket", [Y, Y, N]),
    row('C', "connect control socket by /proc/self/root", [Y, Y, N]),
    row('C', "connect control socket by /proc/DAEMON/root", [Y, N, N]),
    row('C', "connect abstract control socket", [Y, N, N]),
    row('C', "replace control socket", [Y, N, N]),
    row('D', "kill(daemon, SIGCONT)", [Y, N, N]),
    row('D', "pidfd_send_signal(daemon)", [Y, N, N]),
    row('D', "fcntl(F_SETOWN, daemon)", [Y, Y, N]),
    row('D', "ptrace(daemon)", [Y, N, N]),
    row('D', "process_vm_readv(daemon)", [Y, N, N]),
    row('D', "pidfd_getfd(daemon)", [Y, N, N]),
    row('D', "prlimit(daemon)", [Y, Y, N]),
    row('D', "setpriority(daemon)", [Y, Y, N]).for_kept_root(N),
    row('D', "sched_setaffinity(daemon)", [Y, Y, N]).for_kept_root(N),
    row('D', "write daemon's oom_score_adj", [Y, Y, N]).for_kept_root(N),
    row('E', "unshare(NEWUSER|NEWNS)", [Y, Y, Y]).unless(Condition::UserNamespaces),
    row('E', "umount evidence in nested userns", [N, N, N]),
    row('E', "remount evidence rw", [N, N, N]),
    row('E', "bind parent elsewhere, write", [Y, N, N]).unless(Condition::UserNamespaces),
    row('E', "write evidence after unshare", [Y, N, N]).unless(Condition::UserNamespaces),
    row('E', "remount the root rw", [ROOT_FLAGS, N, N]).unless(Condition::UserNamespaces),
    row('E', "mount a new /proc", [N, N, N]),
    row('F', "create in project root", [Y, Y, Y]),
    row('F', "create in project subdirectory", [Y, Y, Y]),
    row('F', "mkdir in project root", [Y, Y, Y]),
    row('F', "atomic replace in project root", [Y, Y, Y]),
    row('F', "write existing file in project", [Y, Y, Y]),
    row('F', "rename across project directories", [Y, Y, Y]),
    row('F', "create in own output", [Y, Y, Y]),
    row('F', "create in ~", [Y, N, N]),
    row('F', "create in ~/.cache", [Y, N, N]),
    row('F', "create in ~/.config", [Y, N, N]),
    row('F', "create in /tmp", [Y, Y, Y]),
    row('F', "read file made after the start", [Y, Y, Y]),
    row('F', "write file made after the start", [Y, Y, Y]),
    row('F', "read late sibling in ~", [Y, N, Y]),
    row('F', "create in /dev/shm", [Y, Y, Y]),
    row('F', "share memory with a child", [Y, Y, Y]),
    row('F', "write /dev/null", [Y, Y, Y]),
    row('F', "openpty", [Y, Y, Y]),
    row('F', "signal own child", [Y, Y, Y]),
    row('F', "trace own child and read its memory", [Y, Y, Y]),
    row('F', "own abstract socket", [Y, Y, Y]),
    row('F', "TCP on 127.0.0.1", [Y, Y, Y]),
    row('F', "write own oom_score_adj", [Y, Y, Y]).for_kept_root(ROOTS_PROC),
    row('F', "nested userns", [Y, Y, Y]).unless(Condition::UserNamespaces),
    row('F', "mount in nested userns", [Y, N, Y]).unless(Condition::UserNamespaces),
    row('F', "ps sees itself", [Y, Y, Y]),
    row('F', "run a program", [Y, Y, Y]),
    row('G', "ptrace(init)", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('G', "prlimit(init)", [Y, Y, OWN_INIT]),
    row('G', "kill(init)", [Y, N, N]),
    row('G', "process_vm_readv(init)", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('G', "open init's mem", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('G', "read init's environ", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('G', "list init's fd", [N, N, N]).for_root(Y).for_kept_root(NUMBERS).unless(Condition::Capabilities),
    row('G', "pidfd_getfd(init)", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('G', "hold an inherited descriptor", [N, N, N]),
    row('G', "hold capabilities", [N, N, N]).for_root(Y),
    row('G', "hold capabilities in the bounding set", [Y, BOUNDING, N]).unless(Condition::Privileges),
    row('G', "be without no_new_privs", [Y, N, N]).unless(Condition::Privileges),
    row('H', "open /proc/sys/kernel/core_pattern for writing", [N, N, N])
        .for_root(Y)
        .unless(Condition::Writable("/proc/sys/kernel/core_pattern")),
    row('H', "open /proc/sys/kernel/modprobe for writing", [N, N, N])
        .for_root(Y)
        .unless(Condition::Writable("/proc/sys/kernel/modprobe")),
    row('H', "open /proc/sysrq-trigger for writing", [N, N, N]).for_root(Y).unless(Condition::Writable("/proc/sysrq-trigger")),
    row('H', "open a block device", [N, N, N]).for_root(Y).unless(Condition::BlockDevice),
    row('H', "mknod a character device", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "mknod a block device", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "chroot", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "mount a tmpfs", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "setns to the daemon's mount namespace", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "setns to init's pid namespace", [N, N, N]).for_root(Y).unless(Condition::Capabilities),
    row('H', "reach io_uring", [KERNEL, FILTER, FILTER]),
    row('H', "reach userfaultfd", [KERNEL, FILTER, FILTER]),
    row('H', "reach bpf", [KERNEL, FILTER, FILTER]),
    row('H', "reach keyrings", [KERNEL, FILTER, FILTER]),
    row('H', "open a socket to the host", [KERNEL, FILTER, FILTER]),
    row('H', "add a key to the user's keyring", [KERNEL, FILTER, FILTER]),
    row('H', "type into the terminal (TIOCSTI)", [N, N, N]),
    row('J', "connect the session bus", [Y, Y, N]).unless(Condition::Path("/run/user/UID/bus")),
    row('J', "connect the service manager", [Y, Y, N]).unless(Condition::Path("/run/user/UID/systemd/private")),
    row('J', "connect the system bus", [Y, Y, N]).unless(Condition::Path("/run/dbus/system_bus_socket")),
    row('J', "systemd-run --user", [Y, Y, N]).unless(Condition::Path("/run/user/UID/bus")),
    row('J', "systemd-run --system", [N, AS_ROOT, N]).for_root(Y).unless(Condition::Path("/run/systemd/private")),
    row('J', "connect docker.sock", [Y, Y, N]).unless(Condition::Socket("/run/docker.sock")),
    row('J', "move within cgroups", [DELEGATED, N, N]),
    row('J', "kill the own cgroup", [DELEGATED, N, N]),
    row('J', "freeze the own cgroup", [DELEGATED, N, N]),
];
