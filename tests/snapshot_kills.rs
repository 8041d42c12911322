//! Kills proctor's processes in the moments in which the snapshot changes on disk: while the copy of the tree is made or
//! updated, while layers are made, while kept caches are merged, while Python modules are compiled, and while `writes`
//! are copied to the project. A person's `proctor run`, `proctor watch` and the service are killed. Each time nothing may
//! be mounted or alive, no file of the project may be half written, and the next runs must be right, whether a person
//! makes them or a service that is started again.
//!
//! The moments are seen in the store: the test polls for the file or directory that shows that a phase has begun.
//!
//! `PROCTOR_KILLS` is the number of kills (by default 300, and 6 outside of the long tier). `PROCTOR_KILLS_SEED` repeats the same
//! choices; the moments themselves depend on the machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{KeptEvidence, Output, Project, Watch, poll, processes_of};
use crate::kills::{Dice, await_program, number};

const KILLS: u64 = 300;
const KILLS_OF_THE_SAMPLE: u64 = 6;
/// How many projects are used at the same time in the long tier.
const PROJECTS: u64 = 3;
/// How long a phase of a run, or the end of killed processes, may take even on a busy machine.
const BOUND: Duration = Duration::from_secs(30);

const DATA: usize = 150;
const MODULES: usize = 30;
const CACHED: usize = 60;
const COVERED: usize = 40;
const MADE: usize = 30;
/// How many lines a file has that is copied to the project.
const LINES: usize = 1_000;

/// The phase of a run in which something is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The copy of the tree is made from nothing.
    FirstCopy,
    /// The copy of the tree is updated.
    Update,
    /// The directories for what the checks write are made.
    Layers,
    /// The caches that a check wrote are merged with the kept ones.
    CacheMerge,
    /// The Python modules that the checks used are compiled.
    Bytecode,
    /// What `writes` names is copied to the project.
    CopyOut,
    /// Any moment.
    Any,
}

const PHASES: [Phase; 7] =
    [Phase::FirstCopy, Phase::Update, Phase::Layers, Phase::CacheMerge, Phase::Bytecode, Phase::CopyOut, Phase::Any];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    /// The process that a person started.
    Proctor,
    /// The process that a person started, with every process that is still in its process group.
    Group,
    /// The process that starts the actions.
    Launcher,
    /// The processes that start and watch one action each.
    Keepers,
}

/// What makes the run in which something is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Maker {
    Run,
    Watch,
    /// The service, which knows the project from before and finds at its start that the tree has no verdict.
    Service,
}

/// The project, and the number that all its files have now.
struct Target {
    project: Project,
    generation: u64,
    /// Whether the checks must fail.
    is_bad: bool,
    length: Duration,
    tally: BTreeMap<String, u32>,
}

#[test]
#[ignore = "long tier"]
fn kills_in_every_phase_of_a_snapshot_leave_the_next_runs_right() {
    let kills = number("PROCTOR_KILLS").unwrap_or(KILLS);
    let dice = seeded();
    thread::scope(|scope| {
        let seeds = (1..=PROJECTS).map(|number| dice.wrapping_mul(number));
        let threads: Vec<_> = seeds.map(|seed| scope.spawn(move || kill_at_phases(kills / PROJECTS, seed))).collect();
        let mut tally: BTreeMap<String, u32> = BTreeMap::new();
        for thread in threads {
            let counted = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            counted.into_iter().for_each(|(name, count)| *tally.entry(name).or_default() += count);
        }
        show(&tally);
        for phase in PHASES {
            let of_the_service = format!("killed in {phase:?} of {:?}", Maker::Service);
            // A bad tree uses few modules, so there is often nothing to compile.
            let is_rare = phase == Phase::Bytecode;
            for name in [format!("killed in {phase:?}")].into_iter().chain((!is_rare).then_some(of_the_service)) {
                assert!(tally.get(&name).is_some_and(|count| *count > 0), "{name}: never met: {tally:#?}");
            }
        }
    });
}

#[test]
fn some_kills_in_phases_of_a_snapshot_leave_the_next_runs_right() {
    show(&kill_at_phases(KILLS_OF_THE_SAMPLE, seeded()));
}

#[expect(clippy::print_stdout, reason = "a sweep says what it did, for whoever reads its output")]
fn seeded() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed = number("PROCTOR_KILLS_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    println!("PROCTOR_KILLS_SEED={seed}");
    seed
}

#[expect(clippy::print_stdout, reason = "a sweep says what it did, for whoever reads its output")]
fn show(tally: &BTreeMap<String, u32>) {
    println!("{tally:#?}");
}

/// Kills the processes of runs in one project, in `kills` rounds. Returns how many rounds met each phase, victim and command.
fn kill_at_phases(kills: u64, seed: u64) -> BTreeMap<String, u32> {
    let mut dice = Dice(seed);
    let mut target = Target::new();
    for round in 0..kills {
        target.round(round, &mut dice);
        // The result is checked only after about every third round, so a run often finds what several killed runs have
        // left.
        if dice.below(3) == 0 || round + 1 == kills {
            let is_by_service = dice.below(2) == 0;
            let what = format!("after round {round}, by the service: {is_by_service}");
            if is_by_service { target.expect_right_by_service(&what) } else { target.expect_right(&what) }
        }
    }
    target.project.proctor(["verify"]).success();
    target.tally
}

impl Target {
    fn new() -> Self {
        let check = |name: &str, command: &str, more: &str| format!("[[check]]\nname = \"{name}\"\ncommand = {command}\n{more}");
        let toml = [
            check("data", "[\"sh\", \"data.sh\"]", "writes = [\"coverage/**\"]\n"),
            check("layer", "[\"sh\", \"layer.sh\"]", ""),
            check("python", "[\"python3\", \"main.py\"]", ""),
        ];
        let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let data = DATA_CHECK
            .replace("COVERED", &numbers(COVERED))
            .replace("CACHED", &numbers(CACHED))
            .replace("MADE", &numbers(MADE))
            .replace("LINES", &LINES.to_string());
        let project = Project::new()
            .toml(&toml.concat())
            .file(".gitignore", "coverage/\n")
            .file("data.sh", &data)
            .file("layer.sh", &LAYER_CHECK.replace("MADE", &numbers(MADE)))
            .file("main.py", &PYTHON_CHECK.replace("MODULES", &MODULES.to_string()))
            .file("pkg/__init__.py", "");
        let mut target = Self { project, generation: 100_000, is_bad: false, length: Duration::ZERO, tally: BTreeMap::new() };
        target.save(&mut Dice(0), false);
        target.expect_right("the first run");
        // The service knows the project from then on.
        let service = target.service();
        target.project.proctor(["service", "add"]).success();
        service.interrupt();
        let begun = Instant::now();
        target.expect_right("the second run");
        target.length = begun.elapsed();
        target
    }

    /// Saves a new number in all files. If `is_bad`, one of them gets another number.
    fn save(&mut self, dice: &mut Dice, is_bad: bool) {
        self.generation += 1;
        self.is_bad = is_bad;
        let count = DATA + MODULES;
        let odd = usize::try_from(dice.below(count as u64)).expect("it is small");
        for file in 0..count {
            let value = if is_bad && file == odd { self.generation + 500_000 } else { self.generation };
            match file.checked_sub(DATA) {
                None => self.project.save(&format!("data/{file}"), &format!("{value}\n")),
                Some(module) => self.project.save(&format!("pkg/m{module}.py"), &format!("VALUE = {value}\n")),
            }
        }
        self.project.save("want", &format!("{}\n", self.generation));
    }

    fn state(&self) -> PathBuf {
        self.project.root().join("state/proctor")
    }

    /// Returns the directory of the store with the copies and layers of the project.
    fn snapshot(&self) -> PathBuf {
        let listed = fs::read_dir(self.state().join("snapshots")).into_iter().flatten().flatten();
        listed.map(|entry| entry.path()).next().unwrap_or_else(|| self.state().join("snapshots/none"))
    }

    /// Starts the service and waits until it listens.
    #[track_caller]
    fn service(&self) -> Watch<'_> {
        let mut service = self.project.proctor(["service", "daemon"]).watch();
        service.wait_for_line("the socket", BOUND, |line| line.starts_with("listening on"));
        service
    }

    /// Saves, starts a run, a watch or the service, and kills some of its processes in a phase.
    #[track_caller]
    fn round(&mut self, round: u64, dice: &mut Dice) {
        let phase = dice.pick(&PHASES);
        let victim = dice.pick(&[Victim::Proctor, Victim::Proctor, Victim::Group, Victim::Launcher, Victim::Keepers]);
        let maker = dice.pick(&[Maker::Run, Maker::Watch, Maker::Service]);
        // A check that fails at once writes nothing, so these phases would not come.
        let needs_good = matches!(phase, Phase::CacheMerge | Phase::CopyOut);
        self.save(dice, !needs_good && dice_says_bad(round));
        let snapshot = self.snapshot();
        match phase {
            Phase::FirstCopy => remove(&snapshot),
            Phase::Bytecode => remove(&snapshot.join("bytecode")),
            Phase::Update | Phase::Layers | Phase::CacheMerge | Phase::CopyOut | Phase::Any => {}
        }
        let trace = self.trace(phase, &snapshot, dice);
        let known = self.project.store().committed_runs().len();
        let arguments: &[&str] = match maker {
            Maker::Run => &["run"],
            Maker::Watch => &["watch", "."],
            Maker::Service => &["service", "daemon"],
        };
        let mut started = self.project.proctor(arguments).own_group().watch();
        await_program(started.id());
        let is_met = await_trace(&trace, &started);
        let longest = if phase == Phase::Any { self.length } else { Duration::from_millis(4) };
        wait_busily(dice.moment(longest));
        let what = format!("round {round}: {phase:?}, {victim:?}, {maker:?}, met: {is_met}, bad: {}", self.is_bad);
        strike(victim, &mut started);
        if matches!(victim, Victim::Launcher | Victim::Keepers) && maker != Maker::Run {
            // The watch or the service goes on with a new launcher, until it is killed itself.
            wait_busily(dice.moment(self.length));
            let _ended = kill(Pid::from_raw(started.id()), Signal::SIGKILL);
        }
        let ended = started.ended();
        self.expect_no_wrong_verdict(&what, &ended, known);
        self.expect_nothing_alive(&what);
        self.expect_whole_files(&what);
        let how = if is_met { "killed in" } else { "missed" };
        let names =
            [format!("{how} {phase:?}"), format!("{how} {phase:?} of {maker:?}"), format!("{victim:?}"), format!("{maker:?}")];
        names.into_iter().for_each(|name| *self.tally.entry(name).or_default() += 1);
    }

    /// Returns a function that says whether a phase has begun, by the files in the store.
    fn trace(&self, phase: Phase, snapshot: &Path, dice: &mut Dice) -> Box<dyn Fn() -> bool> {
        let snapshot = snapshot.to_owned();
        match phase {
            Phase::FirstCopy => {
                let wanted = usize::try_from(dice.below(DATA as u64)).expect("it is small");
                Box::new(move || entries(&snapshot.join("tree/base/data")) > wanted)
            }
            Phase::Update => {
                let length = move || fs::metadata(snapshot.join("tree/journal")).map_or(0, |journal| journal.len());
                let before = length();
                Box::new(move || length() != before)
            }
            Phase::Layers => {
                let layer = snapshot.join("layers").join((1 + dice.below(4)).to_string());
                Box::new(move || layer.exists())
            }
            Phase::CacheMerge => Box::new(move || {
                let caches = fs::read_dir(snapshot.join("caches")).into_iter().flatten().flatten();
                caches.map(|entry| entry.path()).any(|cache| cache.is_dir() && !cache.join("record").exists())
            }),
            Phase::Bytecode => Box::new(move || entries(&snapshot.join("bytecode")) > 0),
            Phase::CopyOut => {
                let copying = self.state().join("copying");
                Box::new(move || entries(&copying) > 0)
            }
            Phase::Any => Box::new(|| true),
        }
    }

    /// Expects that neither the command nor a run that it committed behind the `known` ones says that a bad tree is good.
    #[track_caller]
    fn expect_no_wrong_verdict(&self, what: &str, ended: &Output, known: usize) {
        let said = ended.snapshot();
        for run in self.project.store().committed_runs().iter().skip(known) {
            assert!(!(self.is_bad && run["overallStatus"] == "SUCCESS"), "{what}: {run}");
            assert!(self.is_bad || run["overallResult"] != "FAILED", "{what}: {run}");
        }
        let says = |word: &str| ended.stdout.lines().any(|line| line.starts_with(word));
        assert!(!(self.is_bad && says("PASSED")), "{what}: {said}");
        // A run whose keeper or launcher was killed has no verdict and is carried out once more, so every verdict must fit the tree.
        assert!(self.is_bad || ended.status != 1, "{what}: {said}");
    }

    #[track_caller]
    fn expect_nothing_alive(&self, what: &str) {
        let root = self.project.root();
        poll(BOUND, &format!("everything to be dead; {what}"), || {
            let alive = processes_of(root);
            if alive.is_empty() { Ok(()) } else { Err(format!("{alive:#?}")) }
        });
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
        let own: Vec<&str> = mounts.lines().filter(|line| line.contains(root.to_str().expect("text"))).collect();
        assert!(own.is_empty(), "{what}: {own:#?}");
    }

    /// Expects that each file that was copied to the project is whole, whatever was killed.
    #[track_caller]
    fn expect_whole_files(&self, what: &str) {
        for name in names(&self.project.path().join("coverage")).iter().filter(|name| !name.starts_with(".proctor-")) {
            let text = fs::read_to_string(self.project.path().join("coverage").join(name)).expect("a file");
            let first = text.lines().next().unwrap_or_default().to_owned();
            assert!(text == format!("{first}\n").repeat(LINES), "{what}: {name} has {} lines of {first}", text.lines().count());
        }
    }

    /// Runs, and expects the verdict that belongs to the tree, and nothing of the killed runs.
    #[track_caller]
    fn expect_right(&mut self, what: &str) {
        let run = self.project.proctor(["run"]).any_status();
        self.expect_right_and_settled(what, &run);
    }

    /// Starts the service again and waits for the verdict. Expects that it belongs to the tree, and that nothing of the killed runs is left.
    #[track_caller]
    fn expect_right_by_service(&mut self, what: &str) {
        let mut service = self.service();
        let waited = self.project.proctor(["wait", "--fresh"]).any_status();
        let what = format!("{what}; the service: {}", service.text());
        service.interrupt();
        self.expect_right_and_settled(&what, &waited);
    }

    /// Expects that a command says what belongs to the tree, and that nothing of the killed runs is left.
    #[track_caller]
    fn expect_right_and_settled(&mut self, what: &str, said: &Output) {
        let what = format!("{what}, bad: {}: {}", self.is_bad, said.snapshot());
        assert_eq!(said.status, i32::from(self.is_bad), "{what}");
        assert_eq!(said.report()["tree"]["snapshot"]["tested"], "snapshot", "{what}");
        self.expect_nothing_alive(&what);
        self.expect_whole_files(&what);
        let coverage = self.project.path().join("coverage");
        let hidden =
            |directory: &Path| names(directory).into_iter().filter(|name| name.starts_with(".proctor-")).collect::<Vec<_>>();
        let left = [hidden(&self.project.path()), hidden(&coverage), names(&self.state().join("copying"))];
        assert_eq!(left, [const { Vec::<String>::new() }; 3], "{what}");
        if !self.is_bad {
            assert_eq!(entries(&coverage), COVERED, "{what}");
            let text = fs::read_to_string(coverage.join("0")).expect("a file");
            assert!(text.starts_with(&self.generation.to_string()), "{what}");
        }
        let snapshot = self.snapshot();
        assert_eq!(names(&self.state().join("snapshots")).len(), 1, "{what}");
        assert_eq!(names(&snapshot.join("layers")), [""; 0], "{what}");
        assert_eq!(names(&snapshot.join("tree/incoming")), [""; 0], "{what}");
        assert!(entries(&snapshot.join("bytecode")) <= 2 && entries(&snapshot.join("caches")) <= 4, "{what}");
        let known = ["bytecode", "caches", "inputs", "layers", "mounted", "ready-layers", "tree"];
        assert!(names(&snapshot).iter().all(|name| known.contains(&name.as_str())), "{:?} {what}", names(&snapshot));
        let kept = KeptEvidence::only(&self.state());
        assert_eq!(kept.unsealed(&kept.check()), Vec::<String>::new(), "{what}");
    }
}

/// Returns whether the tree of a round is bad: one in three.
fn dice_says_bad(round: u64) -> bool {
    Dice(round).below(3) == 0
}

/// Polls until a phase has begun. Returns whether it has, before the command ended.
fn await_trace(trace: &dyn Fn() -> bool, started: &Watch<'_>) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < BOUND {
        if trace() {
            return true;
        }
        // A command that has ended is a zombie until the test waits for it. A watch that has nothing more to do does not end.
        let is_over = crate::common::stat_fields(started.id()).is_none_or(|fields| fields[0] == "Z");
        if is_over || begun.elapsed() > Duration::from_secs(3) {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    false
}

/// Sleeping may take longer than a phase does, so this waits busily.
fn wait_busily(moment: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < moment {
        thread::yield_now();
    }
}

/// Kills the victim. It may have ended by itself already, or may not have been started yet.
fn strike(victim: Victim, started: &mut Watch<'_>) {
    let id = started.id();
    let send = |id: i32| {
        let _gone = kill(Pid::from_raw(id), Signal::SIGKILL);
    };
    match victim {
        Victim::Proctor => send(id),
        Victim::Group => send(-id),
        Victim::Launcher => children(id).into_iter().for_each(send),
        Victim::Keepers => children(id).into_iter().flat_map(children).for_each(send),
    }
}

/// Returns the children that any thread of a process has started. This is faster than a search through all processes.
fn children(id: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let listed = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    listed.flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

fn remove(directory: &Path) {
    if directory.exists() {
        fs::remove_dir_all(directory).expect("no run is under way");
    }
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

fn names(directory: &Path) -> Vec<String> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = listed.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Expects the wanted number in all data files, and one and the same number in all files of the check's cache, because a
/// cache must be complete or missing. Then writes the cache, files for the next check, and files that are copied to the
/// project.
const DATA_CHECK: &str = r#"
read -r want <want
for file in data/*; do read -r found <"$file"; [ "$found" = "$want" ] || exit 1; done
if [ -d .mypy_cache ]; then
  read -r first <.mypy_cache/0 || exit 3
  for n in CACHED; do read -r found <.mypy_cache/$n || exit 3; [ "$found" = "$first" ] || exit 3; done
fi
mkdir -p .mypy_cache coverage made
for n in CACHED; do echo "$want" >.mypy_cache/$n; done
for n in MADE; do echo "$want" >made/$n; done
text=$(yes "$want" | head -n LINES)
for n in COVERED; do echo "$text" >coverage/$n; done
"#;

/// Fails unless it finds the files that the first check wrote in this run.
const LAYER_CHECK: &str = r#"
read -r want <want
for n in MADE; do read -r found <made/$n || exit 3; [ "$found" = "$want" ] || exit 3; done
"#;

/// Compares the constants of all modules with the wanted number. All saves have the same size, so a stale compiled module would be
/// taken for a fresh one.
const PYTHON_CHECK: &str = r#"
import importlib
want = int(open("want").read())
for number in range(MODULES):
    module = importlib.import_module(f"pkg.m{number}")
    assert module.VALUE == want, (module, module.VALUE, want)
"#;
