//! What an action leaves behind, and what it does to whoever runs it: adversaries × levels of isolation × ways to end.
//!
//! Each cell runs one adversary of `fake-tool` under a supervisor of its own, looks who is alive when supervising has returned, and
//! ends whoever is. The table says what must be seen at which level; a level is switched on in [`levels`] of the harness.
#![expect(clippy::print_stdout, reason = "whoever reads the log of the tests sees the whole matrix")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use proctor::model::IsolationLevel;

use crate::common::{
    Job, Living, Machine, Owner, Returned, Supervised, User, end_all_with, levels, living_with, new_cookie, poll,
};

/// The time-outs of an adversary that stays: the first under which it got ready before it was stopped is the one that counts.
const TIMEOUTS_MS: [u64; 3] = [300, 1500, 8000];
/// The time-out of an adversary that ends by itself; it is not to be reached.
const NO_TIMEOUT_MS: u64 = 20_000;
/// The same where its supervisor may not hear that it has ended.
const DEAF_TIMEOUT_MS: u64 = 1500;
const GRACE_MS: u64 = 500;
/// How much longer than time-out and grace a run may take.
const SLACK_MS: u64 = 1000;
/// How much longer it may take where the launcher cannot be heard: nobody waits longer for the end of what was killed.
const DEAF_SLACK_MS: u64 = 3000;
/// How long the launcher may take to carry out the release of an action, with what that kills and the cgroup it removes.
const RELEASE_PATIENCE: Duration = Duration::from_secs(20);
/// How often a leader kills its keeper as soon as it can: it does not always come first.
const KILLS_AT_ONCE: usize = 40;
/// How many cells are run at once.
const WORKERS: usize = 3;

/// How an adversary's processes stand to their supervisor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They stay in the leader's process group.
    InGroup,
    /// The same, and who is looked at is another one a moment later: it may be missed when names are taken.
    InGroupHopping,
    /// They leave it.
    Escapes,
    /// The same, and only root may signal them.
    EscapesAsRoot,
    /// Nobody is left; the leader goes against its supervisor.
    Strikes(Strike),
}

/// What a leader does to its supervisor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strike {
    /// Nothing: it only makes things difficult.
    Nothing,
    /// It kills it.
    Kills,
    /// It stops it by a signal.
    Stops,
    /// It stops it by tracing it, until it ends itself.
    Traces,
    /// It takes what it needs away.
    Starves,
}

struct Adversary {
    name: &'static str,
    /// How many processes are left when the leader ends by itself.
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

/// How an adversary's leader ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It exits with 0.
    Exits,
    /// It stays until the time-out.
    TimesOut,
}

/// Who must be alive when supervising has returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Dead,
    /// Dead as soon as the launcher has carried the action's release out, which nobody waits for.
    DeadSoon,
    Alive,
    /// Either, since it depends on what hit first.
    Either,
}

/// What must be said of how the leader ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// `Exited` with 0 or `TimedOut` by the wall clock, as its [`Ending`] says.
    AsItEnded,
    Lost,
    TimedOut,
    Any,
}

/// What must be seen in a cell.
struct Expected {
    fate: Fate,
    verdict: Verdict,
    slack_ms: u64,
}

/// One cell of the matrix.
struct Cell {
    adversary: &'static Adversary,
    level: IsolationLevel,
    ending: Ending,
    user: User,
}

/// What was seen in a cell.
enum Seen {
    Exercised { text: String, faults: Vec<String> },
    Skipped(String),
}

/// Where the cells of one user run.
struct Field {
    supervised: Supervised,
    user: User,
    set_user_id: Option<PathBuf>,
    outer_namespace: u64,
}

#[test]
fn adversaries_of_this_user_leave_nobody() {
    run_matrix(User::Own);
}

#[test]
fn adversaries_of_an_unprivileged_user_leave_nobody() {
    if User::all().contains(&User::Unprivileged) {
        run_matrix(User::Unprivileged);
    } else {
        println!("these tests are not run by root: this user is the unprivileged one");
    }
}

#[test]
fn adversaries_in_a_delegated_cgroup_leave_nobody() {
    if let Some(machine) = Machine::find() {
        machine.repeat(Owner::Root, "adversaries::adversaries_of_", 2, &[IsolationLevel::Cgroup], &[]);
    }
}

/// Nothing in a mere process group keeps a leader from its keeper, not even before that has said that it started it.
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

/// Returns what must be seen: the one place where levels differ.
fn expected(cell: &Cell) -> Expected {
    let is_quick = |fate, verdict| Expected { fate, verdict, slack_ms: SLACK_MS };
    match (cell.level, cell.adversary.kind) {
        // An init cannot be killed, stopped or starved out from within without everybody in its namespace dying with it.
        (IsolationLevel::Namespace, Kind::Strikes(Strike::Starves)) => is_quick(Fate::Dead, Verdict::Any),
        (IsolationLevel::Namespace, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        // Landlock scopes signals and tracing, not prlimit(2); whoever loses its launcher kills the cgroup or the session.
        (IsolationLevel::Landlock, Kind::Strikes(Strike::Starves)) => {
            Expected { fate: Fate::Either, verdict: Verdict::Any, slack_ms: DEAF_SLACK_MS }
        }
        // The same, and the kernel kills the cgroup as a whole.
        (IsolationLevel::Cgroup, Kind::Strikes(Strike::Starves)) => is_quick(Fate::Dead, Verdict::Any),
        (IsolationLevel::Cgroup, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        // At the other levels `no_new_privs` leaves such a program without its owner's rights.
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

/// Returns what a leader in a mere process group can do to its launcher.
fn expected_in_group(cell: &Cell, strike: Strike) -> Expected {
    let deaf = |fate, verdict| Expected { fate, verdict, slack_ms: DEAF_SLACK_MS };
    let is_quick = |fate, verdict| Expected { fate, verdict, slack_ms: SLACK_MS };
    match (strike, cell.ending) {
        (Strike::Nothing, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (Strike::Kills, _) => is_quick(Fate::Dead, Verdict::Lost),
        // Nobody hears of the end, and nobody carries out the kill, until the launcher is given up with its supervisor.
        (Strike::Stops, Ending::Exits) => deaf(Fate::Dead, Verdict::TimedOut),
        // The keeper carries nothing out any more; with its release it is killed, and then who comes from it to the launcher.
        (Strike::Stops, Ending::TimesOut) => deaf(Fate::DeadSoon, Verdict::TimedOut),
        // Only root may trace what is not dumpable, and a tracer that has ended traces nobody.
        (Strike::Traces, Ending::TimesOut) if cell.user.is_root() => deaf(Fate::DeadSoon, Verdict::TimedOut),
        (Strike::Traces, _) => is_quick(Fate::Dead, Verdict::AsItEnded),
        (Strike::Starves, _) => deaf(Fate::Either, Verdict::Any),
    }
}

/// Says whether the supervisor must have named who was left.
fn must_name(cell: &Cell) -> bool {
    let is_seen = match cell.adversary.kind {
        Kind::InGroupHopping | Kind::Strikes(_) => false,
        Kind::InGroup | Kind::Escapes | Kind::EscapesAsRoot => true,
    };
    is_seen && cell.ending == Ending::Exits
}

#[track_caller]
fn run_matrix(user: User) {
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
    let waiting = Mutex::new(cells.collect::<Vec<Cell>>().into_iter());
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
    judge(&field, &levels, seen.into_inner().expect("no worker panics"));
}

/// Prints the matrix and fails when a cell is not what it must be, or too few were exercised.
#[track_caller]
fn judge(field: &Field, levels: &[IsolationLevel], seen: Vec<(Cell, Seen)>) {
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
    // Whoever cannot be set up here is named: without root there is no set-user-id program, without namespaces no nesting.
    let impossible = usize::from(field.set_user_id.is_none()) + usize::from(!field.user.has_user_namespaces());
    let wanted = levels.len() * 2 * (ADVERSARIES.len() - impossible);
    let of = format!("{} adversaries × {} levels × 2 endings", ADVERSARIES.len() - impossible, levels.len());
    println!("{exercised} cells were exercised, {wanted} must be: {of}");
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

/// Returns the cgroups that are left; the launcher, which removes them, may be a moment behind.
fn cgroups_left(returned: &Returned) -> Vec<PathBuf> {
    last_seen(RELEASE_PATIENCE, || returned.cgroups_left(), Vec::is_empty)
}

/// Returns who is left at the latest after a while, and how many, also where their names cannot be seen.
fn left_after(patience: Duration, cookie: &str, hold: &Path) -> (Vec<Living>, usize) {
    let look = || {
        let living = living_with(cookie);
        let alive = if is_free(hold) { living.len() } else { living.len().max(1) };
        (living, alive)
    };
    last_seen(patience, look, |(_, alive)| *alive == 0)
}

/// Looks until what is seen will do or the time is up, and returns what was seen last.
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

/// Says whether nobody who was forked by the adversary is alive to hold its lock.
fn is_free(hold: &Path) -> bool {
    File::open(hold).expect("our own file").try_lock().is_ok()
}
