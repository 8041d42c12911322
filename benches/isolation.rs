//! Measures the cost of running `true` isolated, supervised and captured, compared with other ways to run it:
//! `cargo bench --bench isolation`.
//!
//! All ways take turns, so that other load on the machine affects all of them. The launcher is running already, and
//! the sandbox has the rules and the hidden places that an action has by default. Afterwards the bench measures how long killing 200 processes of an action takes. For
//! comparison it measures how long the kernel takes to end 200 plain children: most of that time, the kernel releases
//! the children's memory. `PROCTOR_BENCH_ROUNDS` is the number of rounds. `PROCTOR_BENCH_WAYS=namespace/landlock`
//! measures only the ways with these names, and then no processes are killed.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use proctor_model::{
    Access, ActionEnd, ActionLimits, EndedAction, IsolationLevel, Place, Sandbox, StopReason, StopStage, SystemCallFilter,
};
use proctor_sandbox::process::{ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, supervise};
use tempfile::TempDir;

const FAKE_TOOL: &str = env!("CARGO_BIN_EXE_fake-tool");
const ROUNDS: usize = 300;
const BOMBS: usize = 20;
const BOMB: usize = 200;

/// A way to run `true`: its name in the output, and a function that runs `true` once and returns how long that took.
type Way = (&'static str, fn(&mut Bench) -> Duration);

const WAYS: [Way; 9] = [
    ("bare", |_| run_bare(&["true"])),
    ("timeout 10", |_| run_bare(&["timeout", "10", "true"])),
    ("unshare -Urpmf", |_| run_bare(&["unshare", "-Urpmf", "true"])),
    ("process-group", |bench| bench.run(IsolationLevel::ProcessGroup, Parking::No)),
    ("landlock", |bench| bench.run(IsolationLevel::Landlock, Parking::No)),
    ("landlock, unfiltered", |bench| bench.run_unfiltered(IsolationLevel::Landlock)),
    ("namespace", |bench| bench.run(IsolationLevel::Namespace, Parking::No)),
    ("namespace, unfiltered", |bench| bench.run_unfiltered(IsolationLevel::Namespace)),
    ("namespace, parked", |bench| bench.run(IsolationLevel::Namespace, Parking::Yes)),
];

fn main() {
    let rounds = std::env::var("PROCTOR_BENCH_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let only = std::env::var("PROCTOR_BENCH_WAYS").ok();
    let is_wanted = |name: &str| only.as_ref().is_none_or(|names| name == "bare" || names.split('/').any(|one| one == name));
    let mut bench = Bench::new();
    let mut ways: Vec<(Way, Vec<Duration>)> =
        WAYS.into_iter().filter(|(name, _)| is_wanted(name)).map(|way| (way, Vec::with_capacity(rounds))).collect();
    for round in 0..rounds + 5 {
        for ((_, run), times) in &mut ways {
            let took = run(&mut bench);
            // The first rounds only fill caches.
            if round >= 5 {
                times.push(took);
            }
        }
    }
    println!("{rounds} rounds of `true`, milliseconds");
    println!("{:<24} {:>8} {:>8} {:>10}", "", "median", "p95", "over bare");
    let bare = percentile(&mut ways[0].1, 50);
    for ((name, _), times) in &mut ways {
        let (median, late) = (percentile(times, 50), percentile(times, 95));
        println!("{name:<24} {:>8.2} {:>8.2} {:>10.2}", ms(median), ms(late), ms(median) - ms(bare));
    }
    if only.is_some() {
        return;
    }
    let (mut kept, mut bare): (Vec<Duration>, Vec<Duration>) = (0..BOMBS).map(|_| (bench.kill_bomb(), kill_bare())).unzip();
    for (name, times) in [("isolated", &mut kept), ("bare children, by one signal each", &mut bare)] {
        let (median, longest) = (percentile(times, 50), percentile(times, 100));
        println!("killing {BOMB} processes, {BOMBS} times, {name}: median {:.1} ms, longest {:.1} ms", ms(median), ms(longest));
    }
}

/// Whether the keeper, the process that holds an action's processes together, is started before the time is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parking {
    Yes,
    No,
}

struct Bench {
    root: TempDir,
    launcher: LauncherHandle,
    runs: usize,
}

impl Bench {
    fn new() -> Self {
        let launcher = LauncherHandle::start(Path::new(FAKE_TOOL)).expect("a launcher");
        // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be in
        // memory, where files are faster.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        for directory in ["project/.git", "home/.ssh", "home/.cache", "store/out", "scratch"] {
            fs::create_dir_all(root.path().join(directory)).expect("the directory is ours");
        }
        Self { root, launcher, runs: 0 }
    }

    fn run(&mut self, level: IsolationLevel, parking: Parking) -> Duration {
        let request = self.request(level, "/bin/true", &[]);
        self.run_request(&request, parking)
    }

    /// Runs `true` without the filter on system calls.
    fn run_unfiltered(&mut self, level: IsolationLevel) -> Duration {
        let mut request = self.request(level, "/bin/true", &[]);
        request.child.isolation.filter = SystemCallFilter::Off;
        self.run_request(&request, Parking::No)
    }

    fn run_request(&mut self, request: &LaunchRequest, parking: Parking) -> Duration {
        if parking == Parking::Yes {
            self.launcher.park(&request.child.isolation, None);
            // `proctor watch` starts the keeper (the process that holds an action's processes together) long before the
            // next save. The pause gives the keeper here the time to get ready as well.
            thread::sleep(Duration::from_millis(5));
        }
        let (control, _handle) = Control::new().expect("pipes");
        let (ended, took) = self.supervise(request, &control);
        assert_eq!(ended.end, ActionEnd::Exited { code: 0 });
        assert_eq!(ended.kept.expect("it was started").reached.level, request.child.isolation.strongest);
        took
    }

    fn kill_bomb(&mut self) -> Duration {
        let ready = self.root.path().join("project/ready");
        let _old = fs::remove_file(&ready);
        let script = format!("i=0; while [ $i -lt {} ]; do setsid sleep 600 & i=$((i+1)); done; touch ready; wait", BOMB - 2);
        let request = self.request(IsolationLevel::Namespace, "/bin/sh", &["-c", &script]);
        let (control, handle) = Control::new().expect("pipes");
        let killer = thread::spawn(move || {
            while !ready.exists() {
                thread::sleep(Duration::from_millis(1));
            }
            // Killing is measured only after the pause, when each `setsid` process has executed `sleep`.
            thread::sleep(Duration::from_millis(200));
            let begun = Instant::now();
            handle.stop(StopReason::Interrupted);
            handle.stop(StopReason::Interrupted);
            begun
        });
        let (ended, _) = self.supervise(&request, &control);
        let took = killer.join().expect("no panic").elapsed();
        assert!(matches!(ended.end, ActionEnd::Stopped { stage: StopStage::Sigkill, .. }), "{:?}", ended.end);
        took
    }

    fn supervise(&mut self, request: &LaunchRequest, control: &Control) -> (EndedAction, Duration) {
        self.runs += 1;
        let sink = |kind: &str| File::create_new(self.root.path().join(format!("{}.{kind}", self.runs))).expect("a file");
        let sinks = Sinks { log: sink("log"), frames: sink("frames"), masked: Vec::new() };
        let limits = ActionLimits {
            timeout: Duration::from_secs(30),
            idle: None,
            output: None,
            grace: Duration::from_secs(5),
            ladder: vec![StopStage::Sigterm],
        };
        // The files are made before the time is measured: a run makes them before it starts an action.
        let begun = Instant::now();
        let ended = supervise(&mut self.launcher, request, &limits, sinks, control, ALL_REASONS).expect("supervised");
        (ended, begun.elapsed())
    }

    fn request(&self, level: IsolationLevel, program: &str, arguments: &[&str]) -> LaunchRequest {
        let output = self.root.path().join("store/out");
        let sandbox = (level != IsolationLevel::ProcessGroup).then(|| self.sandbox());
        let isolation = Isolation { strongest: level, weakest: level, sandbox, output: Some(output), ..Isolation::weakest() };
        LaunchRequest {
            child: LaunchedChild {
                program: program.into(),
                argv: [program].iter().chain(arguments).map(Into::into).collect(),
                another_follows: false,
                early: None,
                environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
                directory: self.root.path().join("project"),
                isolation,
            },
            network: None,
            input: None,
        }
    }

    /// Returns the sandbox of a check in an ordinary project.
    fn sandbox(&self) -> Sandbox {
        let path = |name: &str| self.root.path().join(name);
        let private = |name: &str| Access::Private { source: path("scratch").join(name) };
        let places = [
            (PathBuf::from("/dev/shm"), Access::Memory),
            (PathBuf::from("/run"), Access::Hidden),
            (PathBuf::from("/tmp"), private("tmp")),
            (PathBuf::from("/var/tmp"), private("var-tmp")),
            (path("home/.cache"), Access::Writable),
            (path("home/.ssh"), Access::Hidden),
            (path("project"), Access::Writable),
            (path("project/.git"), Access::ReadOnly),
        ];
        let places = places.into_iter().map(|(path, access)| {
            let metadata = fs::metadata(&path).expect("it is there");
            Place { path, access, identity: (metadata.dev(), metadata.ino()) }
        });
        Sandbox { places: places.collect(), store: path("store"), ..Sandbox::default() }
    }
}

fn run_bare(argv: &[&str]) -> Duration {
    let begun = Instant::now();
    let status =
        Command::new(argv[0]).args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).status().expect("it is installed");
    let took = begun.elapsed();
    assert!(status.success(), "{argv:?}");
    took
}

/// Kills as many plain children as the isolated action has processes, one signal each, and reaps them.
fn kill_bare() -> Duration {
    let start = |_| Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it is installed");
    let mut children: Vec<Child> = (0..BOMB).map(start).collect();
    // Killing is measured only after the pause, when all children have loaded their libraries.
    thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    children.iter_mut().for_each(|child| child.kill().expect("our own child"));
    for child in &mut children {
        child.wait().expect("our own child");
    }
    begun.elapsed()
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
