//! Measures `proctor gate`: the tree digest of a commit of 1,000 files, loose and packed, and the whole command where the commit is
//! proved: `cargo bench --bench gate`. Prints medians. It has no limits, because machines differ; the aim is 30 ms for the first answer,
//! and 15 ms where the store's index is known.
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark writes the repository it reads, starts the program and reads the clock"
)]
#![expect(clippy::print_stdout, reason = "a benchmark's output is what it prints")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proctor_project::ProjectRepository;
use proctor_tree::committed_tree;
use proctor_tree::ignore::{Matcher, MatcherSettings};

const FILES: usize = 1_000;
const DIRECTORIES: usize = 40;
const BYTES: usize = 3_500;
const ROUNDS: usize = 51;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this program as well, but is not meant to measure anything.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let home = tempfile::TempDir::new().expect("a temporary directory");
    let root = home.path().canonicalize().expect("it was just made").join("shop");
    make_repository(&root);
    measure_digest(&root, "loose objects");
    measure_command(home.path(), &root);
    git(&root, &["gc", "--quiet"]);
    measure_digest(&root, "one pack");
    measure_command(home.path(), &root);
}

fn measure_digest(root: &Path, what: &str) {
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let digest = || {
        let repository = ProjectRepository::open(root).expect("a readable repository").expect("a repository");
        let storage = &repository.storage;
        let head = storage.head().expect("a readable repository").expect("a commit");
        let tree = storage.tree_of(head).expect("it has a tree");
        committed_tree(storage, tree, &repository.below, &matcher).expect("a plain commit")
    };
    println!("{} files, {what}", digest().files);
    print_median("tree digest of the commit", || {
        let _digest = black_box(digest());
    });
}

/// Measures the whole command. The first answer makes the store's index; the others find it.
fn measure_command(home: &Path, root: &Path) {
    let proctor = |arguments: &[&str]| {
        let status = Command::new(env!("CARGO_BIN_EXE_proctor"))
            .args(arguments)
            .current_dir(root)
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_RUNTIME_DIR", home.join("runtime"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("it is started").success(), "{arguments:?}");
    };
    proctor(&["run"]);
    let index = home.join("state/proctor/state.db");
    let mut times = Vec::new();
    for _ in 0..5 {
        fs::remove_file(&index).expect("the index is there");
        let start = Instant::now();
        proctor(&["gate"]);
        times.push(start.elapsed());
    }
    print_times("`proctor gate`, the index made anew", times);
    print_median("`proctor gate`, the index is known", || proctor(&["gate"]));
}

fn make_repository(root: &Path) {
    fs::create_dir_all(root).expect("a writable directory");
    fs::write(root.join("proctor.toml"), "[[check]]\nname = \"there\"\ncommand = [\"true\"]\n").expect("a writable directory");
    for number in 0..FILES - 1 {
        let directory = root.join(format!("d{}", number % DIRECTORIES));
        fs::create_dir_all(&directory).expect("a writable directory");
        let line = format!("line {number}\n");
        fs::write(directory.join(format!("f{number}.py")), line.repeat(BYTES / line.len())).expect("a writable directory");
    }
    git(root, &["init", "--quiet"]);
    git(root, &["add", "."]);
    git(root, &["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "all"]);
}

fn git(root: &Path, arguments: &[&str]) {
    let status = Command::new("git").args(arguments).current_dir(root).status().expect("git is there");
    assert!(status.success(), "{arguments:?}");
}

fn print_median(what: &str, mut work: impl FnMut()) {
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    print_times(what, times.collect());
}

fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("  {what}: {:?} (longest {:?})", times[times.len() / 2], times[times.len() - 1]);
}
