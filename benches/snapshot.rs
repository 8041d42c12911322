//! Measures what a snapshot costs: `cargo bench --bench snapshot`. Prints medians and lowest values. It has no limits, because machines
//! differ.
//!
//! * The mount: an isolated `true` with a snapshot and without one, in turn.
//! * The copy of a tree of 1,000, 10,000 and 100,000 files: the first copy in turn with `cp -a`, and the update after one saved file.
//! * A save under `proctor watch` in trees of these sizes, on a snapshot and in place, in turn: until the check's first instructions, and
//!   until the verdict is on the screen.
//! * The environments: every deciding file of 100 Python packages and 500 packages of Node read, and read again when nothing changed.
//!
//! `PROCTOR_BENCH_ROUNDS` is the number of rounds, `PROCTOR_BENCH_FILES=10000` leaves out larger trees, and `PROCTOR_BENCH_PROGRAM` names
//! another `proctor` whose saves are measured in turn with those of this one.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor_model::{
    Access, ActionEnd, ActionLimits, IsolationLevel, Place, Sandbox, SnapshotMount, StopStage, Timestamp, TreePath,
};
use proctor_project::LookedEnvironments;
use proctor_sandbox::process::{ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, supervise};
use proctor_sandbox::snapshot::{CopyOutcome, ProjectCopy, RunLayers};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use tempfile::TempDir;

const ROUNDS: usize = 40;
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const FILES_OF_A_DIRECTORY: usize = 50;
/// At most this many first copies of one tree are measured, because a copy of a large tree takes seconds.
const FIRST_COPIES: usize = 5;
/// How many saves are measured before the other watches have their turn.
const SAVES_IN_A_ROW: usize = 10;
/// The pause between two saves, in which `proctor watch` ends its work on the last one.
const PAUSE: Duration = Duration::from_millis(300);
const BOOT: &str = "the boot of the bench";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this program as well, but is not meant to measure anything.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let rounds = number("PROCTOR_BENCH_ROUNDS").unwrap_or(ROUNDS);
    let most = number("PROCTOR_BENCH_FILES").unwrap_or(usize::MAX);
    println!("milliseconds: {:<44} {:>8} {:>8} {:>8}", "", "median", "p95", "lowest");
    measure_mounts(rounds);
    measure_environments(rounds);
    let sizes = SIZES.into_iter().filter(|files| *files <= most);
    sizes.clone().for_each(|files| measure_copies(files, rounds));
    measure_saves(&sizes.collect::<Vec<_>>(), rounds);
}

/// Returns a directory for files. It is on a disk: the usual temporary directory may be in memory, where files are faster.
fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made")
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let ms = |place: usize| times[place.min(times.len() - 1)].as_secs_f64() * 1000.0;
    println!("{what:<58} {:>8.2} {:>8.2} {:>8.2}", ms(times.len() / 2), ms(times.len() * 95 / 100), ms(0));
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

// --- the mount ---

fn measure_mounts(rounds: usize) {
    let root = directory();
    let path = |name: &str| root.path().join(name);
    for name in ["project", "store/out", "store/snapshot/base", "scratch"] {
        fs::create_dir_all(path(name)).expect("the directory is ours");
    }
    let mut launcher = LauncherHandle::start(Path::new(env!("CARGO_BIN_EXE_fake-tool"))).expect("a launcher");
    let (mut layers, mut bare, mut mounted) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds + 5 {
        let mut kept = RunLayers::begin(&path("store/snapshot")).expect("layers");
        let (written, made) = timed(|| kept.add().expect("a layer"));
        let mount = SnapshotMount {
            root: path("project"),
            directory: path("store/snapshot"),
            memory: None,
            lower: vec![path("store/snapshot/base")],
            written,
            environments: Vec::new(),
        };
        let plain = run_true(&mut launcher, root.path(), None);
        let on_snapshot = run_true(&mut launcher, root.path(), Some(mount));
        // The first rounds only fill caches.
        if round >= 5 {
            layers.push(made);
            bare.push(plain);
            mounted.push(on_snapshot);
        }
    }
    print("an empty layer for one check", &mut layers);
    print("an isolated `true`, in place", &mut bare);
    print("the same on a snapshot", &mut mounted);
}

fn run_true(launcher: &mut LauncherHandle, root: &Path, snapshot: Option<SnapshotMount>) -> Duration {
    use std::os::unix::fs::MetadataExt as _;
    let place = |path: PathBuf, access| {
        let metadata = fs::metadata(&path).expect("it is there");
        Place { path, access, identity: (metadata.dev(), metadata.ino()) }
    };
    let places = vec![
        place("/tmp".into(), Access::Private { source: root.join("scratch/tmp") }),
        place(root.join("project"), Access::Writable),
    ];
    let sandbox = Some(Sandbox { places, store: root.join("store"), ..Sandbox::default() });
    let level = IsolationLevel::Namespace;
    let output = Some(root.join("store/out"));
    let isolation = Isolation { strongest: level, weakest: level, sandbox, output, snapshot, ..Isolation::weakest() };
    let request = LaunchRequest {
        child: LaunchedChild {
            program: "/bin/true".into(),
            argv: vec!["/bin/true".into()],
            another_follows: false,
            early: None,
            environment: Vec::new(),
            directory: root.join("project"),
            isolation,
        },
        network: None,
        input: None,
    };
    let sink = || File::options().write(true).open("/dev/null").expect("it is there");
    let limits = ActionLimits {
        timeout: Duration::from_secs(30),
        idle: None,
        output: None,
        grace: Duration::from_secs(5),
        ladder: vec![StopStage::Sigterm],
    };
    let (control, _handle) = Control::new().expect("pipes");
    let sinks = Sinks { log: sink(), frames: sink(), masked: Vec::new() };
    let (ended, took) = timed(|| supervise(launcher, &request, &limits, sinks, &control, ALL_REASONS).expect("supervised"));
    assert_eq!(ended.end, ActionEnd::Exited { code: 0 });
    took
}

// --- copies ---

/// Writes a tree of Python files, a `.gitignore` and some ignored inputs. Returns the paths of the Python files.
fn make_tree(root: &Path, files: usize) -> Vec<TreePath> {
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    };
    write(".gitignore", "*.py[cod]\n*.so\nbuild/\ndist/\n*.egg-info/\n.env\n*.log\n");
    write(".env", "A=1\n");
    write("project.egg-info/PKG-INFO", "Name: project\n");
    let name = |number: usize| {
        let directory = number / FILES_OF_A_DIRECTORY;
        format!("d{:03}/s{:03}/f{}.py", directory / 50, directory % 50, number % FILES_OF_A_DIRECTORY)
    };
    let names = (0..files).map(name);
    names
        .map(|name| {
            write(&name, &format!("# {name}\n").repeat(20));
            TreePath::try_from(name.as_str()).expect("a clean path")
        })
        .collect()
}

fn measure_copies(files: usize, rounds: usize) {
    let home = directory();
    let (root, kept) = (home.path().join("project"), home.path().join("kept"));
    let paths = make_tree(&root, files);
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let mut index = TreeIndex::scan(&root, &matcher, now()).expect("a readable tree");
    let (mut copies, mut by_cp, mut copy) = (Vec::new(), Vec::new(), None);
    for round in 0..rounds.min(FIRST_COPIES) {
        drop(copy.take());
        let _none = fs::remove_dir_all(&kept);
        let target = home.path().join(format!("cp{round}"));
        let status = timed(|| Command::new("cp").arg("-a").arg(&root).arg(&target).status().expect("it is installed"));
        assert!(status.0.success(), "cp");
        by_cp.push(status.1);
        fs::remove_dir_all(&target).expect("our directory");
        let (first, took) = timed(|| {
            let mut copy = ProjectCopy::open(&kept, &root, BOOT).expect("a copy");
            assert_eq!(copy.bring_up_to(&index, now()).expect("a copy"), CopyOutcome::Current);
            copy
        });
        copies.push(took);
        copy = Some(first);
    }
    let mut copy = copy.expect("at least one round");
    let (mut reads, mut layers) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let path = &paths[round * 7_919 % paths.len()];
        fs::write(root.join(path.as_path()), format!("# {round}\n").repeat(20)).expect("a writable file");
        let saved = BTreeSet::from([path.clone()]);
        let (next, took) = timed(|| index.apply(&saved, &matcher, now()).expect("a readable tree"));
        reads.push(took);
        index = next;
        layers.push(timed(|| assert_eq!(copy.bring_up_to(&index, now()).expect("a copy"), CopyOutcome::Current)).1);
    }
    print(&format!("{files} files: `cp -a`"), &mut by_cp);
    print(&format!("{files} files: first copy, hashed again"), &mut copies);
    print(&format!("{files} files: digest after one save"), &mut reads);
    print(&format!("{files} files: that file brought into the copy"), &mut layers);
}

// --- environments ---

fn measure_environments(rounds: usize) {
    let home = directory();
    let root = home.path().join("project");
    make_environments(&root);
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let index = TreeIndex::scan(&root, &matcher, now()).expect("a readable tree");
    // Files that were written a moment ago are read again, since their times cannot be trusted yet. This waits until they can be.
    thread::sleep(Duration::from_millis(100));
    let (mut first, mut again) = (Vec::new(), Vec::new());
    let mut files = 0;
    for _ in 0..rounds {
        let (looked, took) = timed(|| LookedEnvironments::of_project(index.clone()));
        first.push(took);
        again.push(timed(|| drop(black_box(looked.look_again()))).1);
        files = looked.count();
    }
    print(&format!("environments: {files} deciding files, all read"), &mut first);
    print("environments: nothing changed", &mut again);
}

/// Writes a virtual environment with 100 packages, and a `node_modules` with 500.
fn make_environments(root: &Path) {
    use std::os::unix::fs::symlink;
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    };
    write("pyproject.toml", "");
    write("web/package.json", "{}");
    write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    let packages = ".venv/lib/python3.11/site-packages";
    let record = "package/module.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,1234\n".repeat(200);
    for number in 0..100 {
        write(&format!("{packages}/package{number}/__init__.py"), "");
        write(&format!("{packages}/package{number}-1.0.dist-info/RECORD"), &record);
        write(&format!("{packages}/package{number}-1.0.dist-info/entry_points.txt"), "[console_scripts]\na = b:c\n");
        if number % 2 == 0 {
            write(&format!(".venv/bin/tool{number}"), "#!/usr/bin/python3\n");
        }
    }
    write("web/node_modules/.package-lock.json", &"{\"packages\": {}}\n".repeat(20_000));
    write("web/node_modules/.bin/first", "");
    for number in 0..500 {
        let scope = if number % 5 == 0 { format!("@scope{}/", number / 20) } else { String::new() };
        write(&format!("web/node_modules/{scope}package{number}/index.js"), "1");
        if number % 4 == 1 {
            let link = root.join(format!("web/node_modules/.bin/tool{number}"));
            symlink(format!("../package{number}/index.js"), link).expect("a writable directory");
        }
    }
}

// --- saves ---

/// A project whose saves are measured, and what was measured.
struct Watched {
    name: String,
    program: PathBuf,
    home: TempDir,
    paths: Vec<TreePath>,
    to_child: Vec<Duration>,
    to_verdict: Vec<Duration>,
}

fn measure_saves(sizes: &[usize], rounds: usize) {
    let programs = [Some(env!("CARGO_BIN_EXE_proctor").to_owned()), std::env::var("PROCTOR_BENCH_PROGRAM").ok()];
    let mut watched = Vec::new();
    for (program, which) in programs.iter().zip(["", " (other program)"]) {
        let Some(program) = program else { continue };
        for (files, (mode, words)) in
            sizes.iter().flat_map(|files| [("auto", "on a snapshot"), ("off", "in place")].map(|of| (*files, of)))
        {
            watched.push(Watched::new(format!("{files} files, {words}{which}"), program.into(), files, mode));
        }
    }
    for turn in 0..rounds.div_ceil(SAVES_IN_A_ROW) {
        // The order changes in each turn, so that slow changes of the machine's speed affect all watches alike.
        for place in 0..watched.len() {
            let place = (place + turn) % watched.len();
            watched[place].measure(SAVES_IN_A_ROW);
        }
    }
    for Watched { name, to_child, to_verdict, .. } in &mut watched {
        print(&format!("{name}: save to child"), to_child);
        print(&format!("{name}: save to verdict"), to_verdict);
    }
}

impl Watched {
    fn new(name: String, program: PathBuf, files: usize, mode: &str) -> Self {
        let home = directory();
        let paths = make_tree(&home.path().join("project"), files);
        // The check prints the time at once, so that the start of the child can be compared with the save.
        let settings =
            format!("[[check]]\nname = \"clock\"\ncommand = [\"date\", \"+%s%N\"]\n[sandbox]\nsnapshot = \"{mode}\"\n");
        fs::write(home.path().join("project/proctor.toml"), settings).expect("a writable directory");
        Self { name, program, home, paths, to_child: Vec::new(), to_verdict: Vec::new() }
    }

    fn measure(&mut self, saves: usize) {
        let project = self.home.path().join("project");
        let mut command = Command::new(&self.program);
        command.arg("watch").current_dir(&project).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home.path());
        let mut watch =
            command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut screen = BufReader::new(watch.stdout.take().expect("a pipe"));
        wait_for_verdict(&mut screen);
        // One more save is made than is counted: the first one is slower, because it fills the caches that the later ones use.
        for save in 0..=saves {
            thread::sleep(PAUSE);
            let path = &self.paths[(self.to_child.len() + 1) * 7_919 % self.paths.len()];
            let begun = SystemTime::now();
            let text = format!("# {:?}\n", begun.duration_since(UNIX_EPOCH)).repeat(20);
            fs::write(project.join(path.as_path()), text).expect("a writable file");
            wait_for_verdict(&mut screen);
            let verdict = begun.elapsed().expect("a clock that is not set back");
            let clock = fs::read_to_string(project.join("evidence/default/STEP.1-terminal-output.log")).expect("evidence");
            let child = Duration::from_nanos(clock.trim().parse().expect("a time"));
            if save > 0 {
                self.to_child.push(child.saturating_sub(begun.duration_since(UNIX_EPOCH).expect("a clock after 1970")));
                self.to_verdict.push(verdict);
            }
        }
        end(watch);
    }
}

fn wait_for_verdict(screen: &mut BufReader<ChildStdout>) {
    let mut line = String::new();
    while !line.contains("PASSED") {
        line.clear();
        assert!(screen.read_line(&mut line).expect("a readable pipe") > 0, "the watch has ended");
    }
}

fn end(mut watch: Child) {
    let id = nix::unistd::Pid::from_raw(i32::try_from(watch.id()).expect("a process id"));
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("our own child");
    watch.wait().expect("our own child");
}
