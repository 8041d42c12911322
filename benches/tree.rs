//! Measures reading a tree, and updating its digest after a save: `cargo bench --bench tree`. Prints medians and memory. It has no limits,
//! because machines differ.
//!
//! `PROCTOR_BENCH_FILES=1000` measures only the small tree.
#![expect(clippy::disallowed_methods, reason = "a benchmark writes the tree it reads, and reads the clock and its environment")]
#![expect(clippy::print_stdout, reason = "a benchmark's output is what it prints")]

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor_model::{Timestamp, TreePath};
use proctor_tree::ignore::{Matcher, MatcherSettings, RulesFile};
use proctor_tree::{TreeIndex, compare};

/// The content of a usual `.gitignore`.
const RULES: &str = "*.py[cod]\n*$py.class\n*.so\nbuild/\ndist/\n*.egg-info/\n.env\n/coverage/\n*.log\n!keep.log\ndocs/_build/\n";

/// A tree to measure: the numbers of its files and directories, and of the measurements.
struct Shape {
    files: u32,
    directories: u32,
    bytes: usize,
    rounds: usize,
}

const SHAPES: [Shape; 2] = [
    Shape { files: 1_000, directories: 40, bytes: 3_500, rounds: 101 },
    Shape { files: 100_000, directories: 10_000, bytes: 1_000, rounds: 11 },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this program as well, but is not meant to measure anything.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let limit = std::env::var("PROCTOR_BENCH_FILES").ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
    SHAPES.iter().filter(|shape| shape.files <= limit).for_each(measure);
}

fn measure(shape: &Shape) {
    let home = tempfile::TempDir::new().expect("a temporary directory");
    let files = make_tree(home.path(), shape);
    // Files that were written a moment ago are read again, since their times cannot be trusted yet. This waits until they can be.
    std::thread::sleep(Duration::from_millis(100));
    let mut matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let rounds = shape.rounds;
    let before = resident_kib();
    let scan = || TreeIndex::scan(home.path(), &matcher, now()).expect("a readable tree");
    let index = scan();
    println!("{} files in {} directories, digest {}", index.files(), shape.directories, index.digest());
    println!("  resident: {} KiB before, {} KiB with the index", before, resident_kib());
    print_median("scan, every file read", rounds, || drop(black_box(scan())));
    print_median("rescan, nothing changed", rounds, || drop(black_box(index.rescan(&matcher, now()))));
    println!("  resident: {} KiB after scans and rescans", resident_kib());
    let mut round = 0_u32;
    let mut save = |number: usize| {
        round += 1;
        let path = &files[number % files.len()];
        fs::write(home.path().join(path.as_path()), round.to_string()).expect("a writable file");
        BTreeSet::from([path.clone()])
    };
    let mut last = index.clone();
    let mut times = Vec::new();
    for number in 0..rounds * 10 {
        let saved = save(number * 7_919);
        let start = Instant::now();
        last = last.apply(&saved, &matcher, now()).expect("a readable tree");
        black_box(last.digest());
        times.push(start.elapsed());
    }
    print_times("digest after one save", times);
    println!("  resident: {} KiB with the index before and after", resident_kib());
    // Waits again, until the times of the file that was just saved can be trusted.
    std::thread::sleep(Duration::from_millis(100));
    let last = last.rescan(&matcher, now()).expect("a readable tree");
    let saved = save(1);
    print_median("rescan, one file saved", rounds, || drop(black_box(last.rescan(&matcher, now()))));
    let other = last.apply(&saved, &matcher, now()).expect("a readable tree");
    print_median("compare with the first", rounds, || drop(black_box(compare(&index, &other))));
    let bytes = other.to_bytes();
    print_median("index to bytes", rounds, || drop(black_box(other.to_bytes())));
    print_median(&format!("load {} KiB and rescan", bytes.len() / 1024), rounds, || {
        let loaded = TreeIndex::from_bytes(home.path(), &bytes).expect("sound bytes");
        drop(black_box(loaded.rescan(&matcher, now())));
    });
    drop(bytes);
    println!("  resident: {} KiB in the end", resident_kib());
    matcher.add_rules(&TreePath::root(), RulesFile::GitIgnore, RULES.as_bytes());
    print_median("decide about every file", rounds, || {
        files.iter().for_each(|path| drop(black_box(matcher.decide(path, false))));
    });
}

/// Writes the files, equally many into each directory, two levels deep, and a `.gitignore`.
fn make_tree(root: &Path, shape: &Shape) -> Vec<TreePath> {
    let mut files = Vec::new();
    fs::write(root.join(".gitignore"), RULES).expect("a writable directory");
    let wide = shape.directories.isqrt().max(1);
    for number in 0..shape.files {
        let directory = number % shape.directories;
        let directory = format!("d{:03}/s{:03}", directory / wide, directory % wide);
        if number < shape.directories {
            fs::create_dir_all(root.join(&directory)).expect("a writable directory");
        }
        let name = format!("{directory}/f{}.py", number / shape.directories);
        let line = format!("line {number}\n");
        fs::write(root.join(&name), line.repeat(shape.bytes / line.len())).expect("a writable directory");
        files.push(TreePath::try_from(name.as_str()).expect("a clean path"));
    }
    files
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

/// Returns the memory that this process uses, with shared libraries.
fn resident_kib() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("`/proc` is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").to_owned()
}

fn print_median(what: &str, rounds: usize, mut work: impl FnMut()) {
    let times = (0..rounds).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    print_times(what, times.collect());
}

fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!(
        "  {what}: {:?} (p95 {:?}, longest {:?})",
        times[times.len() / 2],
        times[times.len() * 95 / 100],
        times[times.len() - 1]
    );
}
