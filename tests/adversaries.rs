//! Actions that leave processes behind or attack their supervisor (adversaries). Each adversary runs at every isolation
//! level, in two ways: its leader, the action's first process, exits, or runs until the time-out.
//!
//! Each cell of this matrix runs one adversary of `fake-tool` under its own supervisor, looks which processes are alive
//! after the supervision, and kills them. [`expected`] says what must be seen at which level. [`levels`] says which
//! levels this machine supports.
//!
//! Two more processes of proctor take part. The supervisor sends each action to its launcher. For each action the
//! launcher starts a keeper, which starts the leader and ends the action's processes.
#![expect(clippy::print_stdout, reason = "the log of the tests shows the whole matrix")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use proctor_model::IsolationLevel;

use crate::common::{
    Extent, Job, Living, Machine, Owner, Returned, Supervised, User, end_all_with, levels, living_with, new_cookie, poll,
};

/// The time-outs in milliseconds that are tried one after another for an adversary that runs until the time-out. A try
/// counts only if the adversary got ready before the time-out was over. Otherwise the next time-out is tried.
const TIMEOUTS_MS: [u64; 3] = [300, 1500, 8000];
/// The time-out of an adversary that ends by itself. It must not be reached.
const NO_TIMEOUT_MS: u64 = 20_000;
/// The time-out of an adversary that ends by itself, but may keep its supervisor from noticing that the leader has
/// ended.
const DEAF_TIMEOUT_MS: u64 = 1500;
const GRACE_MS: u64 = 500;
/// How much longer than time-out and grace period together an action may take, in milliseconds.
const SLACK_MS: u64 = 1000;
/// How much longer than time-out and grace period together an action may take if the keeper (the process that has
/// started the leader) does not report the leader's end, or if processes cannot be killed, in milliseconds. The
/// supervisor waits no longer than this for the end of killed processes.
const DEAF_SLACK_MS: u64 = 3000;
/// How long the launcher may take to release an action, which includes killing its processes and removing its cgroup.
const RELEASE_PATIENCE: Duration = Duration::from_secs(20);
/// How often the test of a leader that kills its keeper at once is repeated. Many repetitions are needed because the
/// leader is not always fast enough to kill the keeper before the keeper has reported the start.
const KILLS_AT_ONCE: usize = 40;
/// How many adversaries are tried at the same time.
const WORKERS: usize = 3;

/// What the processes of an adversary do. The leader is the process that the supervisor has started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The processes stay in the leader's process group.
    InGroup,
    /// The processes stay in the leader's process group, but change their process ids all the time, so the supervisor
    /// may fail to name them.
    InGroupHopping,
    /// The processes leave the leader's process group.
    Escapes,
    /// The processes leave the leader's process group and become root, so that only root may signal them.
    EscapesAsRoot,
    /// The leader leaves no other process behind, but attacks the keeper, the process that has started the leader.
    Strikes(Strike),
}

/// The attack of a leader on the process that has started it: the keeper, which ends the action's processes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strike {
    /// The leader attacks something else, and the keeper is not harmed.
    Nothing,
    /// The leader kills the keeper, the process that has started it.
    Kills,
    /// The leader stops the keeper, the process that has started it, by a signal.
    Stops,
    /// The leader stops the keeper, the process that has started it, by tracing the keeper. The keeper goes on when the
    /// leader ends.
    Traces,
    /// The leader lowers the resource limits of the keeper, the process that has started it, until the keeper cannot
    /// work any more.
    Starves,
}

struct Adversary {
    name: &'static str,
    /// How many processes are left when the leader has ended by itself.
    left: usize,
    kind: Kind,
}

const fn leaves(name: &'static str, left: usize, kind: Kind) -> Adversary {
    Adversary { name, left, kind }
}

const fn strikes(name: &'static str, strike: Strike) -> Adversary {
    Adversary { name, left: 0, kind: Kind::Strikes(strike) }
}

const ADVERSARIES: &[Adversary] = &[
    leaves("plain", 1, Kind::InGroup),
    leaves("exit", 1, Kind::InGroup),
    leaves("daemon", 1, Kind::Escapes),
    leaves("ignterm", 1, Kind::InGroup),
    leaves("pipe", 1, Kind::Escapes),
    leaves("ownpg", 1, Kind::Escapes),
    leaves("bomb", 199, Kind::Escapes),
    leaves("hop", 1, Kind::InGroupHopping),
    leaves("hopsid", 1, Kind::Escapes),
    leaves("stopped", 1, Kind::Escapes),
    leaves("ptraced", 2, Kind::Escapes),
    leaves("subreap", 2, Kind::Escapes),
    leaves("nestns", 3, Kind::Escapes),
    leaves("notdump", 1, Kind::Escapes),
    leaves("suid", 1, Kind::EscapesAsRoot),
    leaves("masked", 1, Kind::Escapes),
    leaves("respawn", 21, Kind::Escapes),
    strikes("closeout", Strike::Nothing),
    strikes("killall", Strike::Nothing),
    strikes("killparent", Strike::Kills),
    strikes("stopparent", Strike::Stops),
    strikes("traceparent", Strike::Traces),
    strikes("limitparent", Strike::Starves),
];

/// The end of an adversary's leader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The leader exits with code 0.
    Exits,
    /// The leader runs until the time-out.
    TimesOut,
}

/// Whether processes of the adversary may be alive after the supervision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Dead,
    /// The processes die only when the launcher cleans up after the action. The supervisor returns before that, so the
    /// test waits for their end.
    DeadSoon,
    Alive,
    /// Processes may be dead or alive: which of the two depends on which part of the attack took effect first.
    Either,
}

/// The leader's end that the supervisor must report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The supervisor must report how the leader really ended: `Exited` with code 0 for [`Ending::Exits`], and
    /// `TimedOut` by the wall clock for [`Ending::TimesOut`].
    AsItEnded,
    Lost,
    TimedOut,
    Any,
}

/// What must be seen after the run of a [`Cell`], that is, after one adversary was tried in one way.
struct Expected {
    fate: Fate,
    verdict: Verdict,
    slack_ms: u64,
}

/// One cell of the matrix: an adversary, at one isolation level, with one way to end, as one user.
struct Cell {
    adversary: &'static Adversary,
    level: IsolationLevel,
    ending: Ending,
    user: User,
}

/// What was seen in the run of a [`Cell`], with the differences from the expected result (`faults`), or why the cell
/// could not be run.
enum Seen {
    Exercised { text: String, faults: Vec<String> },
    Skipped(String),
}

/// The directory, the programs and the namespace that all cells with the same user share.
struct Field {
    supervised: Supervised,
    user: User,
    set_user_id: Option<PathBuf>,
    outer_namespace: u64,
}

/// Runs every 21st cell. The cells alternate between the two ways to end, so an odd step tries both.
#[test]
fn some_adversaries_of_each_user_leave_nobody() {
    User::all().into_iter().for_each(|user| run_matrix(user, Extent::OneIn(21)));
}

#[test]
#[ignore = "long tier"]
fn adversaries_of_this_user_leave_nobody() {
    run_matrix(User::Own, Extent::All);
}

#[test]
#[ignore = "long tier"]
fn adversaries_of_an_unprivileged_user_leave_nobody() {
    if User::all().contains(&User::Unprivileged) {
        run_matrix(User::Unprivileged, Extent::All);
    } else {
        println!("these tests are not run by root: this user is the unprivileged one");
    }
}

#[test]
#[ignore = "long tier"]
fn adversaries_in_a_delegated_cgroup_leave_nobody() {
    if let Some(machine) = Machine::find() {
        machine.repeat(Owner::Root, "adversaries::adversaries_of_", 2, &[IsolationLevel::Cgroup], &[]);
    }
}

/// With only a process group, a leader can kill its keeper (the process that has started the leader) before the keeper
/// has reported the start. The supervisor must then report the leader as lost, and the leader must die.
#[test]
fn a_leader_that_kills_its_keeper_at_once_was_started_is_lost_and_dies() {
    let supervised = Supervised::new(User::Own);
    for _ in 0..KILLS_AT_ONCE {
        let cookie = new_cookie();
        let job = Job {
            program: PathBuf::from("/bin/sh"),
            arguments: ["-c", "kill -KILL $PPID; exec sleep 60"].map(str::to_owned).into(),
            environment: [("COOKIE".to_owned(), cookie.clone())].into(),
            directory: PathBuf::from("/"),
            timeout_ms: NO_TIMEOUT_MS,
            grace_ms: GRACE_MS,
            isolation: IsolationLevel::ProcessGroup,
            sandbox: None,
            output: None,
        };
        let returned = supervised.run(&job).expect("the supervisor returns");
        let living = living_with(&cookie);
        end_all_with(&cookie);
        assert_eq!((returned.ended.end["kind"].as_str(), living), (Some("lost"), Vec::new()), "{}", returned.ended.end);
    }
}

/// Returns the expected result of a cell. All differences between levels are here and in [`expected_in_group`].
fn expected(cell: &Cell) -> Expected {
    let is_quick = |fate, verdict| Expected { fate, verdict, slack_ms: SLACK_MS };
    match (cell.level, cell.adversary.kind) {
        // Processes in a namespace cannot kill or stop the namespace's first process. If they lower its limits until it
        // ends, all of them die with it.
        (IsolationLevel::Namespace, Kind::Strikes(Strike::Starves)) => is_quick(Fate::Dead, Verdict::Any),
        (IsolationLevel::Namespace, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        // Landlock restricts signals and tracing, but not prlimit(2), so a leader can lower the keeper's limits. Which
        // limit takes effect first decides whether the action's processes are still killed, and what is reported.
        (IsolationLevel::Landlock, Kind::Strikes(Strike::Starves)) => {
            Expected { fate: Fate::Either, verdict: Verdict::Any, slack_ms: DEAF_SLACK_MS }
        }
        // Landlock does not restrict prlimit(2) at this level either. But the whole cgroup is killed at once, also if
        // the keeper cannot work any more.
        (IsolationLevel::Cgroup, Kind::Strikes(Strike::Starves)) => is_quick(Fate::Dead, Verdict::Any),
        (IsolationLevel::Cgroup, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (IsolationLevel::Remote, _) => unreachable!("no action of this machine has this level"),
        // At the other levels `no_new_privs` keeps a set-user-id program from getting its owner's rights.
        (IsolationLevel::ProcessGroup, Kind::EscapesAsRoot) => {
            Expected { fate: Fate::Alive, verdict: Verdict::AsItEnded, slack_ms: DEAF_SLACK_MS }
        }
        (IsolationLevel::Landlock, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (IsolationLevel::ProcessGroup, Kind::Strikes(strike)) => expected_in_group(cell, strike),
        (IsolationLevel::ProcessGroup, Kind::Escapes | Kind::InGroup | Kind::InGroupHopping) => {
            is_quick(Fate::Dead, Verdict::AsItEnded)
        }
    }
}

/// Returns the expected result of an attack on the keeper at the level `ProcessGroup`.
fn expected_in_group(cell: &Cell, strike: Strike) -> Expected {
    let deaf = |fate, verdict| Expected { fate, verdict, slack_ms: DEAF_SLACK_MS };
    let is_quick = |fate, verdict| Expected { fate, verdict, slack_ms: SLACK_MS };
    match (strike, cell.ending) {
        (Strike::Nothing, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (Strike::Kills, _) => is_quick(Fate::Dead, Verdict::Lost),
        // The stopped keeper (the process that has started the leader) neither reports the leader's end nor kills
        // anything. The supervisor waits for the keeper until the time-out, and then has the action's processes killed.
        (Strike::Stops, Ending::Exits) => deaf(Fate::Dead, Verdict::TimedOut),
        // The stopped keeper (the process that has started the leader) kills nothing. When the action is over, the
        // launcher kills the keeper. The keeper's children then become children of the launcher, which kills them too.
        (Strike::Stops, Ending::TimesOut) => deaf(Fate::DeadSoon, Verdict::TimedOut),
        // The keeper (the process that has started the leader) is not dumpable, so only root may trace it. The tracing
        // ends when the tracer, the leader, ends.
        (Strike::Traces, Ending::TimesOut) if cell.user.is_root() => deaf(Fate::DeadSoon, Verdict::TimedOut),
        (Strike::Traces, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (Strike::Starves, _) => deaf(Fate::Either, Verdict::Any),
    }
}

/// Returns whether the supervisor must have named the processes that were left.
fn must_name(cell: &Cell) -> bool {
    let is_seen = match cell.adversary.kind {
        Kind::InGroupHopping | Kind::Strikes(_) => false,
        Kind::InGroup | Kind::Escapes | Kind::EscapesAsRoot => true,
    };
    is_seen && cell.ending == Ending::Exits
}

#[track_caller]
fn run_matrix(user: User, extent: Extent) {
    let supervised = Supervised::new(user);
    let field = Field {
        set_user_id: supervised.set_user_id_tool(),
        outer_namespace: fs::metadata("/proc/self/ns/pid").expect("a namespace").ino(),
        supervised,
        user,
    };
    let levels = levels();
    let cells = levels.iter().flat_map(|&level| {
        let endings = [Ending::Exits, Ending::TimesOut];
        let of = move |adversary| endings.map(|ending| Cell { adversary, level, ending, user });
        ADVERSARIES.iter().flat_map(of)
    });
    let cells = extent.of(cells);
    let count = cells.len();
    let waiting = Mutex::new(cells.into_iter());
    let seen = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("no worker panics").next();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(cell) = next() {
                    let outcome = field.run(&cell);
                    seen.lock().expect("no worker panics").push((cell, outcome));
                }
            });
        }
    });
    judge(&field, (count, &levels), seen.into_inner().expect("no worker panics"));
}

/// Prints the matrix. Fails if a result is not the expected one, or if too few cells were exercised.
#[track_caller]
fn judge(field: &Field, (count, levels): (usize, &[IsolationLevel]), seen: Vec<(Cell, Seen)>) {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut exercised, mut faults) = (0, Vec::new());
    for (cell, outcome) in seen {
        let ending = if cell.ending == Ending::Exits { "exits" } else { "times out" };
        let name = format!("{:?} {ending}", cell.level);
        let text = match outcome {
            Seen::Exercised { text, faults: found } => {
                exercised += 1;
                faults
                    .extend(found.into_iter().map(|fault| format!("{} ({name}, {}): {fault}", cell.adversary.name, field.user)));
                text
            }
            Seen::Skipped(why) => why,
        };
        lines.entry(cell.adversary.name).or_default().push(format!("{name}: {text}"));
    }
    println!("{}:", field.user);
    for adversary in ADVERSARIES {
        let mut cells = lines.remove(adversary.name).unwrap_or_default();
        cells.sort();
        println!("{:12} {}", adversary.name, cells.join(" | "));
    }
    // A machine may be unable to set up two of the adversaries: one needs root for its set-user-id program, the other
    // needs user namespaces.
    let impossible = usize::from(field.set_user_id.is_none()) + usize::from(!field.user.has_user_namespaces());
    let wanted = count - levels.len() * 2 * impossible;
    println!("{exercised} cells were exercised, {wanted} of {count} must be, at {} levels", levels.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(exercised >= wanted, "{exercised} of {wanted} cells were exercised");
}

impl Field {
    fn run(&self, cell: &Cell) -> Seen {
        match cell.ending {
            Ending::Exits => {
                let is_deaf = matches!(cell.adversary.kind, Kind::Strikes(strike) if strike != Strike::Nothing);
                self.attempt(cell, if is_deaf { DEAF_TIMEOUT_MS } else { NO_TIMEOUT_MS })
            }
            Ending::TimesOut => {
                let mut outcome = Seen::Skipped("it never got ready".to_owned());
                for timeout_ms in TIMEOUTS_MS {
                    outcome = self.attempt(cell, timeout_ms);
                    if matches!(outcome, Seen::Exercised { .. }) {
                        break;
                    }
                }
                outcome
            }
        }
    }

    fn attempt(&self, cell: &Cell, timeout_ms: u64) -> Seen {
        let cookie = new_cookie();
        let hold = self.supervised.path(&format!("{cookie}.lock"));
        self.supervised.create(&hold);
        let outcome = self.supervised.run(&self.job(cell, timeout_ms, &cookie));
        let expected = expected(cell);
        let patience = if expected.fate == Fate::DeadSoon { RELEASE_PATIENCE } else { Duration::ZERO };
        let (living, alive) = left_after(patience, &cookie, &hold);
        let cgroups = outcome.as_ref().map(cgroups_left).unwrap_or_default();
        let outcome = outcome.map(|returned| returned.ended.clone());
        fs::write(self.supervised.path(&cookie), "").expect("our own directory");
        end_all_with(&cookie);
        poll(Duration::from_secs(10), "the last of the processes that were left", || is_free(&hold).then_some(()));
        let ended = match outcome {
            Ok(ended) => ended,
            Err(why) => return Seen::Exercised { text: why.clone(), faults: vec![why] },
        };
        if let Some(why) = ended.stdout.strip_prefix("skipped: ") {
            return Seen::Skipped(format!("skipped: {}", why.trim_end()));
        }
        if !ended.stdout.starts_with("ready\n") {
            return Seen::Skipped(format!("not ready within {timeout_ms} ms: {}", ended.stderr));
        }
        let mut faults = Vec::new();
        match (expected.fate, alive) {
            (Fate::Dead | Fate::DeadSoon, 0) | (Fate::Alive, 1..) | (Fate::Either, _) => {}
            (Fate::Dead | Fate::DeadSoon, _) => faults.push(format!("{alive} alive: {:?}", &living[..living.len().min(3)])),
            (Fate::Alive, 0) => faults.push("dead, and the table says that nobody can do that".to_owned()),
        }
        if !cgroups.is_empty() {
            faults.push(format!("cgroups are left: {cgroups:?}"));
        }
        let limit = timeout_ms + GRACE_MS + expected.slack_ms;
        if ended.duration_ms > limit {
            faults.push(format!("{} ms, {limit} are the end", ended.duration_ms));
        }
        let kind = ended.end["kind"].as_str().unwrap_or_default();
        let timed_out = kind == "timed-out" && ended.end["limit"] == "wall";
        let is_right = match (expected.verdict, cell.ending) {
            (Verdict::Any, _) => true,
            (Verdict::Lost, _) => kind == "lost",
            (Verdict::TimedOut, _) | (Verdict::AsItEnded, Ending::TimesOut) => timed_out,
            (Verdict::AsItEnded, Ending::Exits) => kind == "exited" && ended.end["code"] == 0,
        };
        if !is_right {
            faults.push(format!("it ended as {}", ended.end));
        }
        if must_name(cell) && ended.survivors.is_empty() {
            faults.push(format!("{} were left and none is named", cell.adversary.left));
        }
        let fate = if alive == 0 { "dead".to_owned() } else { format!("ALIVE {alive}") };
        let named = ended.survivors.len();
        Seen::Exercised { text: format!("{fate}, {kind}, {} ms, {named} named", ended.duration_ms), faults }
    }

    fn job(&self, cell: &Cell, timeout_ms: u64, cookie: &str) -> Job {
        let then = if cell.ending == Ending::Exits { "exit" } else { "stay" };
        let text = |path: &Path| path.to_str().expect("our own paths are text").to_owned();
        let (until, namespace) = (text(&self.supervised.path(cookie)), self.outer_namespace.to_string());
        let fixed = ["__adversary", cell.adversary.name, "--cookie", cookie, "--then", then, "--until", &until];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
        arguments.extend(["--hold".to_owned(), format!("{until}.lock")]);
        arguments.extend(["--outer-namespace", &namespace, "--witness", "{supervisor}"].map(str::to_owned));
        if let Some(tool) = &self.set_user_id {
            arguments.extend(["--set-user-id".to_owned(), text(tool)]);
        }
        Job {
            program: self.supervised.tool().to_owned(),
            arguments,
            environment: [("COOKIE".to_owned(), cookie.to_owned())].into(),
            directory: PathBuf::from("/"),
            timeout_ms,
            grace_ms: GRACE_MS,
            isolation: cell.level,
            sandbox: None,
            output: None,
        }
    }
}

/// Returns the cgroups of the action that still exist after at most [`RELEASE_PATIENCE`]. The launcher removes them,
/// and may need a moment.
fn cgroups_left(returned: &Returned) -> Vec<PathBuf> {
    last_seen(RELEASE_PATIENCE, || returned.cgroups_left(), Vec::is_empty)
}

/// Returns the processes of the adversary that are left after at most `patience`, and their number. The processes are
/// found by a cookie, a random text in their environment. A process without the cookie still holds the adversary's lock
/// on the file `hold`, so a held lock counts as at least one process.
fn left_after(patience: Duration, cookie: &str, hold: &Path) -> (Vec<Living>, usize) {
    let look = || {
        let living = living_with(cookie);
        let alive = if is_free(hold) { living.len() } else { living.len().max(1) };
        (living, alive)
    };
    last_seen(patience, look, |(_, alive)| *alive == 0)
}

/// Calls `look` until its result is accepted or the time is up. Returns the last result.
fn last_seen<T>(patience: Duration, mut look: impl FnMut() -> T, will_do: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let seen = look();
        if will_do(&seen) || begun.elapsed() >= patience {
            return seen;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Returns whether nobody holds the lock on this file. Every process of the adversary inherits the lock from the
/// leader, so a free lock means that all of them are dead.
fn is_free(hold: &Path) -> bool {
    File::open(hold).expect("our own file").try_lock().is_ok()
}
