//! Kills proctor's processes at random moments of runs. Each time no process of the run may survive, no unfinished run
//! may be listed, and the next run must succeed.
//!
//! The same test is repeated in a `Machine`, a container with a service manager: as an unprivileged user, and with the
//! level `cgroup` as well.
//!
//! `PROCTOR_KILLS` is the number of rounds (by default 50, and 30 inside the machine). `PROCTOR_KILLS_SEED` repeats the same kills. Both are
//! printed. For 1,000 kills of the release build run
//! `PROCTOR_KILLS=1000 cargo test --release --test integration kills::whatever -- --include-ignored --nocapture`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::IsolationLevel;

use crate::common::{
    Committed, Invocation, KeptEvidence, LEVELS, Machine, Owner, Project, WRITES_TO_SHARED, Watch, children_of,
    expect_all_to_be_gone, fake_tool, family_of, inside, levels, name_of, poll, processes_of,
};

/// The number of kills, unless `PROCTOR_KILLS` says otherwise.
const KILLS: u32 = 50;
/// The number of kills outside of the long tier.
const KILLS_OF_THE_SAMPLE: u32 = 8;
/// The number of kills inside a `Machine`, the container with a service manager.
const KILLS_INSIDE: u32 = 30;
/// The number of kills after which a new project is used, so that the history does not grow too long.
const KILLS_OF_A_PROJECT: u32 = 25;
/// How long it may take until no process of a killed run is left, even on a busy machine.
const BOUND: Duration = Duration::from_secs(20);
/// The processes that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    /// The process that a person has started.
    Proctor,
    /// The launcher (the process that starts the actions), and a moment later the process that has started the
    /// launcher.
    LauncherFirst,
    /// The process that a person has started, and a moment later its launcher. At that moment the launcher is already
    /// killing the actions, because its parent has died.
    LauncherLast,
    /// The process group that a person has started.
    Group,
    /// Only the launcher. Afterwards a run must end by itself, and a watch must continue.
    LauncherOnly,
}

/// The command that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Command {
    Run,
    /// A watch. In half of the rounds a file is saved before the kill.
    Watch,
}

/// A pseudo-random generator (splitmix64). The same seed gives the same numbers.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).expect("it is below a length")]
    }

    pub(crate) fn moment(&mut self, longest: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(longest.as_micros()).expect("a run is short")))
    }
}

/// The project, the number of its runs that were checked already, and the duration of a run at each level.
struct Target {
    project: Project,
    lengths: BTreeMap<String, Duration>,
    checked: usize,
}

#[test]
#[ignore = "long tier"]
fn whatever_is_killed_at_whatever_moment_nothing_lives_on_and_the_next_run_is_green() {
    let usual = if inside().is_some() { KILLS_INSIDE } else { KILLS };
    kill_at_random(number("PROCTOR_KILLS").map_or(usual, |kills| u32::try_from(kills).expect("a number of rounds")));
}

#[test]
fn after_some_kills_nothing_lives_on_and_the_next_run_is_green() {
    kill_at_random(KILLS_OF_THE_SAMPLE);
}

/// Returns the number that a variable of the environment holds, if it is set.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Kills a run or a watch `kills` times.
#[track_caller]
#[expect(clippy::print_stdout, reason = "a sweep says what it did, for whoever reads its output")]
fn kill_at_random(kills: u32) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed = number("PROCTOR_KILLS_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    println!("PROCTOR_KILLS={kills} PROCTOR_KILLS_SEED={seed}");
    let mut dice = Dice(seed);
    let mut tally: BTreeMap<String, u32> = BTreeMap::new();
    let levels: Vec<String> = levels().into_iter().map(name_of).collect();
    let mut target = Target::new(&levels);
    for round in 0..kills {
        if round > 0 && round % KILLS_OF_A_PROJECT == 0 {
            target = Target::new(&levels);
        }
        let victim = dice.pick(&[
            Victim::Proctor,
            Victim::Proctor,
            Victim::LauncherFirst,
            Victim::LauncherLast,
            Victim::Group,
            Victim::LauncherOnly,
        ]);
        let command = dice.pick(&[Command::Run, Command::Run, Command::Watch]);
        let level = levels[usize::try_from(dice.below(levels.len() as u64)).expect("it is below a length")].as_str();
        let fate = target.round(round, (command, victim, level), &mut dice);
        *tally.entry(format!("{command:?}")).or_default() += 1;
        *tally.entry(format!("{victim:?}")).or_default() += 1;
        *tally.entry(level.to_owned()).or_default() += 1;
        *tally.entry(format!("the run: {fate}")).or_default() += 1;
    }
    println!("{kills} kills: {tally:#?}");
}

#[test]
#[ignore = "long tier"]
fn the_same_holds_of_an_unprivileged_user_and_of_delegated_cgroups() {
    if let Some(machine) = Machine::find() {
        let passed_on = ["PROCTOR_KILLS", "PROCTOR_KILLS_SEED"].map(|name| (name, std::env::var(name).ok()));
        let set: Vec<(&str, &str)> = passed_on.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        machine.repeat(Owner::Person, "kills::whatever_is_killed", 1, &LEVELS, &set);
        machine.repeat(Owner::Person, "kills::a_launcher_that_is_killed", 1, &LEVELS, &[]);
    }
}

#[test]
fn a_launcher_that_is_killed_alone_takes_what_left_its_session_along() {
    for level in levels().into_iter().map(name_of) {
        expect_all_to_go_along(Killed::Launcher, &level, "");
    }
}

/// With only a process group, a command can stop its own keeper: the process that started the command and ends its
/// processes. The stopped keeper kills nothing, but no process of the command may survive all the same.
#[test]
fn a_launcher_or_supervisor_that_is_killed_alone_takes_along_what_a_stopped_keeper_keeps() {
    for level in levels().into_iter().map(name_of) {
        expect_all_to_go_along(Killed::Launcher, &level, "kill -STOP $PPID\n");
        expect_all_to_go_along(Killed::Supervisor, &level, "kill -STOP $PPID\n");
    }
}

#[derive(Clone, Copy)]
enum Killed {
    Launcher,
    Supervisor,
}

/// Runs a check that starts daemons, runs `then` and does not end. Kills one process and expects that all others die.
#[track_caller]
fn expect_all_to_go_along(killed: Killed, level: &str, then: &str) {
    let project = Project::new();
    let daemons = "n=0\nwhile [ $n -lt 24 ]; do (setsid sleep 600 </dev/null >/dev/null 2>&1 &); n=$((n + 1)); done\n";
    // A run whose launcher was killed is carried out once more. That time the check ends at once.
    let ends = "if [ -e ../shared/again ]; then exit 0; fi\n";
    let script = format!("#!/bin/sh\n{ends}{daemons}{then}touch ../shared/ready\nsleep 600\n");
    let settings = format!("{WRITES_TO_SHARED}[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n");
    let project = project.toml(&settings).file("check.sh", &script);
    let started = at_level(project.proctor(["run"]), level).watch();
    poll(BOUND, "the check to begin", || project.shared("ready").exists().then_some(()));
    let family = family_of(started.id());
    fs::write(project.shared("again"), "").expect("the directory is ours");
    let (killed, is_awaited) = match killed {
        Killed::Launcher => (children_of(started.id()), true),
        // The killed process is the command that was started. Its end does not mean that the other processes have
        // ended, so they are waited for.
        Killed::Supervisor => (vec![started.id()], false),
    };
    for process in killed {
        kill(Pid::from_raw(process), Signal::SIGKILL).expect("it is not reaped");
    }
    let ended = started.ended();
    if is_awaited {
        assert_eq!(processes_of(project.root()), [], "{level}: {}", ended.snapshot());
    }
    expect_all_to_be_gone(&family);
}

impl Target {
    #[track_caller]
    fn new(levels: &[String]) -> Self {
        let project = Project::new();
        let cookie = project.root().to_str().expect("a temporary path is text").to_owned();
        let settings = "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\", \"COOKIE\"]\n\
                        [[cleanup]]\nname = \"tidy up\"\ncommand = [\"/bin/true\"]\n";
        let project = project
            .toml(&settings.replace("COOKIE", &cookie))
            .file("check.sh", &CHECK.replace("FAKE_TOOL", fake_tool().to_str().expect("the build directory is text")))
            .file("saved.txt", "0\n");
        let mut target = Self { project, lengths: BTreeMap::new(), checked: 0 };
        target.project.proctor(["run"]).success();
        for level in levels {
            let begun = Instant::now();
            let output = at_level(target.project.proctor(["run"]), level).success();
            target.lengths.insert(level.clone(), begun.elapsed());
            assert_eq!(output.report()["isolation"]["level"], level.as_str(), "{}", output.snapshot());
        }
        target.checked = target.kept().check().len();
        target
    }

    fn kept(&self) -> KeptEvidence {
        KeptEvidence::only(&self.project.root().join("state/proctor"))
    }

    /// Kills the victim at a random moment, checks what is left, and runs again. Returns what happened to the killed run.
    #[track_caller]
    fn round(&mut self, round: u32, (command, victim, level): (Command, Victim, &str), dice: &mut Dice) -> &'static str {
        let arguments: &[&str] = match command {
            Command::Run => &["run"],
            Command::Watch => &["watch", "."],
        };
        let mut started = at_level(self.project.proctor(arguments), level).own_group().watch();
        await_program(started.id());
        if command == Command::Watch && dice.below(2) == 0 {
            started.wait_for_line("idleness", BOUND, |line| line.starts_with("watching"));
            self.project.save("saved.txt", &format!("{round}\n"));
        }
        let moment = dice.moment(self.lengths[level] * 6 / 5);
        thread::sleep(moment);
        let what = format!("round {round}: {command:?} at level {level}, {victim:?} killed after {moment:?}");
        let family = family_of(started.id());
        strike(victim, &mut started, dice);
        if victim == Victim::LauncherOnly {
            // Without its launcher the run fails, or is started again with a new launcher. After a while the process itself is killed too.
            thread::sleep(dice.moment(self.lengths[level]));
            let _ended_by_itself = kill(Pid::from_raw(started.id()), Signal::SIGKILL);
        }
        started.ended();
        self.expect_nothing_alive(&what, &family);
        let at_death = self.kept().check_after(self.checked);
        self.expect_no_unsealed_run_is_listed(&what, &at_death);
        let unsealed = self.kept().unsealed(&at_death);
        assert!(unsealed.len() <= 1, "{what}: {unsealed:?}");

        let next = at_level(self.project.proctor(["run"]), level).any_status();
        assert_eq!(next.status, 0, "{what}:\n{}", next.snapshot());
        self.expect_nothing_alive(&what, &[]);
        let after = self.kept().check_after(self.checked);
        self.checked = after.len();
        self.expect_all_to_be_settled(&what, &after);
        let cut_short = after[at_death.len()..].iter().filter(|run| run.status == "INTERRUPTED").count();
        assert!(cut_short <= unsealed.len(), "{what}: {after:?}");
        match (unsealed.len(), cut_short) {
            (_, 1) => "cut short, sealed as INTERRUPTED by the next",
            (1, _) => "had no record yet, removed by the next",
            (_, _) => "had not begun, or was committed",
        }
    }

    /// Expects that no process belongs to the project any more, and that nothing is mounted for it.
    #[track_caller]
    fn expect_nothing_alive(&self, what: &str, family: &[i32]) {
        let root = self.project.root();
        poll(BOUND, &format!("everything to be dead; {what}"), || {
            let alive = processes_of(root);
            if alive.is_empty() { Ok(()) } else { Err(format!("{alive:#?}")) }
        });
        expect_all_to_be_gone(family);
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
        let own: Vec<&str> = mounts.lines().filter(|line| line.contains(root.to_str().expect("text"))).collect();
        assert!(own.is_empty(), "{what}: {own:#?}");
        if inside().is_some() {
            poll(BOUND, &format!("the cgroups to be gone; {what}"), || {
                let left = cgroups_of_actions(Path::new("/sys/fs/cgroup"));
                if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
            });
        }
    }

    /// Expects that only committed runs are listed, even before another command has cleaned up after the kill.
    #[track_caller]
    fn expect_no_unsealed_run_is_listed(&self, what: &str, committed: &[Committed]) {
        let log = self.project.proctor(["log", "--ids", "--limit", "1000"]).success();
        assert_eq!(log.stdout.lines().count(), committed.len(), "{what}: {}", log.stdout);
        for (line, run) in log.stdout.lines().zip(committed.iter().rev()) {
            assert!(line.contains(&run.run_id), "{what}: {line} is not {run:?}");
        }
        let latest = self.kept().latest().expect("there was a run");
        assert!(committed.iter().any(|run| run.run_id == latest && run.status != "INTERRUPTED"), "{what}: {latest}");
    }

    /// Expects that after the next run every run is sealed, `latest` leads to that run, and no temporary file is left.
    #[track_caller]
    fn expect_all_to_be_settled(&self, what: &str, committed: &[Committed]) {
        let last = committed.last().expect("it was just run");
        assert_eq!(last.status, "SUCCESS", "{what}");
        assert_eq!(self.kept().latest().as_ref(), Some(&last.run_id), "{what}");
        assert_eq!(self.kept().unsealed(committed), Vec::<String>::new(), "{what}");
        assert_eq!(self.kept().half_made_links(), Vec::<String>::new(), "{what}");
        let state = self.project.root().join("state/proctor");
        let outputs =
            ["out", "scratch"].into_iter().flat_map(|name| fs::read_dir(state.join(name)).expect("it was run").flatten());
        let scratch: Vec<_> = outputs.flat_map(|entry| fs::read_dir(entry.path()).expect("ours").flatten()).collect();
        assert!(scratch.is_empty(), "{what}: {scratch:?}");
        let mut names: Vec<_> = fs::read_dir(self.project.path())
            .expect("the project is there")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["check.sh", "evidence", "proctor.toml", "saved.txt"], "{what}");
    }
}

/// Prepares a command at an isolation level, in a delegated cgroup if the level needs one.
pub(crate) fn at_level<'project>(invocation: Invocation<'project>, level: &str) -> Invocation<'project> {
    let invocation = invocation.env("PROCTOR_TEST_ISOLATION", level);
    if level == name_of(IsolationLevel::Cgroup) { invocation.delegated() } else { invocation }
}

/// Returns the cgroups of actions below a directory, at any depth.
fn cgroups_of_actions(below: &Path) -> Vec<PathBuf> {
    let directories = fs::read_dir(below).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    directories
        .flat_map(|path| {
            let is_of_action = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("action-"));
            if is_of_action { vec![path] } else { cgroups_of_actions(&path) }
        })
        .collect()
}

/// Waits until the process executes proctor. Before that it is still the program that was started to execute it.
#[track_caller]
pub(crate) fn await_program(id: i32) {
    let is_program = || fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim_end() == "proctor");
    poll(BOUND, "the program to begin", || is_program().then_some(()));
}

/// Kills the victim. A process may have ended by itself already, or may not have been started yet.
fn strike(victim: Victim, started: &mut Watch<'_>, dice: &mut Dice) {
    let id = started.id();
    let send = |id: i32| {
        let _gone = kill(Pid::from_raw(id), Signal::SIGKILL);
    };
    // These ids belong to no other processes: a child keeps its id until it is reaped, and a new process gets the id of one that was just
    // reaped only when all other ids were given out in between.
    let launchers = children_of(id);
    match victim {
        Victim::Proctor => send(id),
        Victim::Group => send(-id),
        Victim::LauncherOnly => launchers.into_iter().for_each(send),
        Victim::LauncherFirst => {
            launchers.into_iter().for_each(send);
            thread::sleep(dice.moment(Duration::from_millis(3)));
            send(id);
        }
        Victim::LauncherLast => {
            send(id);
            // Sleeping takes longer than the launcher needs, so this waits busily.
            let (begun, moment) = (Instant::now(), dice.moment(Duration::from_millis(2)));
            while begun.elapsed() < moment {}
            launchers.into_iter().for_each(send);
        }
    }
}

/// A check that leaves four processes: one in its process group, one in a new session, a daemon that ignores signals and whose parent has
/// ended, and one with an empty environment in another directory. All but the last keep the check's output open. The cookie is in each one's
/// arguments.
const CHECK: &str = r#"#!/bin/sh
cookie=$1
sh -c 'sleep 600; :' "$cookie" &
setsid sh -c 'sleep 600; :' "$cookie" &
(setsid sh -c 'trap "" HUP INT TERM; sleep 600; :' "$cookie" &)
(cd / && exec env -i setsid FAKE_TOOL --env "$cookie" --ignore-term --sleep 600000 </dev/null >/dev/null 2>&1 &)
number=0
while [ $number -lt 20 ]; do
  echo "line $number"
  echo "$number" >"$TMPDIR/written.$number"
  echo "$number" >"$PROCTOR_OUT/written.$number"
  number=$((number + 1))
done
sleep 0.05
"#;
