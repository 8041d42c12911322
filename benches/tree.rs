//! What a look at a tree costs: `cargo bench --bench tree`. Prints medians; asserts nothing, for machines differ.
#![expect(clippy::disallowed_methods, reason = "a benchmark writes the tree it looks at and reads the clock")]
#![expect(clippy::print_stdout, reason = "a benchmark's output is what it prints")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor::ignore::{Matcher, MatcherSettings, RulesFile};
use proctor::model::{Timestamp, TreePath};
use proctor::tree::{Index, compare};

const ROUNDS: usize = 101;

/// What a project's rules file looks like.
const RULES: &str = "*.py[cod]\n*$py.class\n*.so\nbuild/\ndist/\n*.egg-info/\n.env\n/coverage/\n*.log\n!keep.log\ndocs/_build/\n";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this too; measuring is not its business.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let home = tempfile::TempDir::new().expect("a temporary directory");
    let files = make_tree(home.path());
    std::thread::sleep(Duration::from_millis(50));
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let scan = |matcher: &Matcher| Index::scan(home.path(), matcher, now()).expect("a readable tree");
    let index = scan(&matcher);
    println!("{} files, digest {}", index.files(), index.digest());
    print_median("scan", || drop(black_box(scan(&matcher))));
    print_median("rescan, nothing changed", || drop(black_box(index.rescan(&matcher, now()))));
    let mut round = 0_u32;
    print_median("rescan, one file saved", || {
        round += 1;
        fs::write(home.path().join("d03/s1/f7.py"), round.to_string()).expect("a writable file");
        drop(black_box(index.rescan(&matcher, now())));
    });
    let other = index.rescan(&matcher, now()).expect("a readable tree");
    print_median("compare", || drop(black_box(compare(&index, &other))));
    matcher.add_rules(&TreePath::root(), RulesFile::GitIgnore, RULES.as_bytes());
    print_median("decide about every file", || {
        files.iter().for_each(|path| drop(black_box(matcher.decide(path, false))));
    });
}

/// Writes 1,000 files of about 4 KiB into 60 directories, and a rules file.
fn make_tree(root: &Path) -> Vec<TreePath> {
    let mut files = Vec::new();
    fs::write(root.join(".gitignore"), RULES).expect("a writable directory");
    for number in 0..1_000_u32 {
        let directory = format!("d{:02}/s{}", number % 20, number / 20 % 2);
        fs::create_dir_all(root.join(&directory)).expect("a writable directory");
        let name = format!("{directory}/f{}.py", number / 20);
        fs::write(root.join(&name), format!("line {number}\n").repeat(350)).expect("a writable directory");
        files.push(TreePath::try_from(name.as_str()).expect("a clean path"));
    }
    files
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn print_median(what: &str, mut work: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("{what}: {:?} (p95 {:?})", times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
}
