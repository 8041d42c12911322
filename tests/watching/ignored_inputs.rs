//! Tests ignored inputs: the files that git ignores and checks read. Before a run, only the known inputs and the inputs
//! that hints name are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::{SyncId, Timestamp, WatchHint};
use proctor_sandbox::snapshot::{CopyOutcome, ProjectCopy};
use proctor_tree::ignore::{Matcher, MatcherSettings, Selects};
use proctor_tree::{TreeHints, TreeIndex};
use tempfile::TempDir;

use super::{Watched, path};

/// How often a run is imitated in the test of random changes.
const RUNS: u64 = 250;

const RULES: [&str; 3] = ["*.env\nlocal/\n*.egg-info\n", "*.env\nlocal/\n*.egg-info\nsrc/gen\n!keep.env\n", "*.env\n/local\n"];

/// The files that the test of random changes writes. Some are ignored by every one of [`RULES`], some by none, some by a few.
const FILES: [&str; 18] = [
    "a.py",
    "b.env",
    "keep.env",
    "src/c.py",
    "src/d.env",
    "src/deep/e.env",
    "src/deep/f.py",
    "src/gen/g",
    "src/gen/deep/h",
    "local/conf",
    "local/deep/conf",
    "src/local/conf",
    "p.egg-info/PKG-INFO",
    "p.egg-info/deep/x",
    "new/i.env",
    "new/deep/j.env",
    "new/deep/k.py",
    "src/new/local/l",
];

const DIRECTORIES: [&str; 8] = ["src", "src/deep", "src/gen", "local", "src/local", "p.egg-info", "new", "new/deep"];

/// A pseudo-random generator (xorshift), which gives the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("a small number")
    }

    fn one_of<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

/// A watched project with the copy of its ignored inputs, kept as a run keeps it.
struct Inputs {
    watched: Watched,
    matcher: Matcher,
    index: Option<TreeIndex>,
    kept: TempDir,
    copy: ProjectCopy,
    syncs: u64,
}

impl Inputs {
    fn new(files: &[(&str, &str)]) -> Self {
        let (watched, kept) = (Watched::new(files), TempDir::new().expect("a temporary directory"));
        let settings = MatcherSettings { selects: Selects::IgnoredInputs, ..MatcherSettings::default() };
        let matcher = Matcher::new(&settings).expect("no patterns");
        let copy = ProjectCopy::open(kept.path(), &watched.root, "this boot").expect("a copy");
        Self { watched, matcher, index: None, kept, copy, syncs: 0 }
    }

    /// Returns what the watcher has reported since the last call.
    fn hints(&mut self) -> TreeHints {
        self.syncs += 1;
        self.watched.watcher.handle().sync(SyncId(self.syncs));
        let mut hints = TreeHints::nothing();
        for hint in self.watched.wait_for(&WatchHint::Synced(SyncId(self.syncs))) {
            hints.add(match hint {
                WatchHint::Saved(path)
                | WatchHint::Created(path)
                | WatchHint::Writing(path)
                | WatchHint::Removed(path)
                | WatchHint::IgnoredCame(path) => TreeHints::Only(BTreeSet::from([path])),
                WatchHint::LookAgain(_) | WatchHint::Polling(_) | WatchHint::RootVanished => TreeHints::Everything,
                WatchHint::Synced(_) | WatchHint::Approved => TreeHints::nothing(),
            });
        }
        hints
    }

    /// Reads the ignored inputs as a run does, and updates their copy.
    fn read(&mut self, hints: TreeHints) -> TreeIndex {
        let read = match (&self.index, hints) {
            (Some(known), TreeHints::Only(paths)) => known.apply_and_check_selected(&paths, &self.matcher, now()),
            (Some(known), TreeHints::Everything) => known.rescan(&self.matcher, now()),
            (None, _) => TreeIndex::scan(&self.watched.root, &self.matcher, now()),
        };
        let index = read.expect("a readable project");
        self.index = Some(index.clone());
        assert_eq!(self.copy.bring_up_to(&index, now()).expect("a copy"), CopyOutcome::Current);
        index
    }

    fn in_copy(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.kept.path().join("base").join(name)).ok()
    }
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn contents(index: &TreeIndex) -> Vec<String> {
    index.entries().map(|entry| format!("{:?} {} {:?}", entry.kind, entry.path, entry.digest)).collect()
}

#[test]
fn the_copy_of_ignored_inputs_is_never_stale_whatever_changes_and_whichever_events_are_lost() {
    let seed = std::env::var("PROCTOR_STORM_SEED")
        .map_or_else(|_| now().as_millis().unsigned_abs() | 1, |text| text.parse().expect("a seed"));
    let mut dice = Dice(seed);
    let mut inputs = Inputs::new(&[(".gitignore", RULES[0]), ("a.py", ""), ("src/d.env", "")]);
    for run in 0..RUNS {
        for _ in 0..1 + dice.below(6) {
            change(&inputs.watched.root, &mut dice);
        }
        let mut hints = inputs.hints();
        if dice.below(8) == 0 {
            // Events are lost: some of the hints never come, and the watcher says so.
            for _ in 0..1 + dice.below(6) {
                change(&inputs.watched.root, &mut dice);
            }
            if let (TreeHints::Only(paths), TreeHints::Only(late)) = (&mut hints, inputs.hints()) {
                paths.extend(late);
                paths.retain(|_| dice.below(2) == 0);
            }
            inputs.watched.watcher.rearm();
            hints.add(inputs.hints());
            assert_eq!(hints, TreeHints::Everything, "seed {seed}, run {run}");
        }
        let index = inputs.read(hints.clone());
        let fresh = TreeIndex::scan(&inputs.watched.root, &inputs.matcher, now()).expect("a readable project");
        assert_eq!(contents(&index), contents(&fresh), "seed {seed}, run {run}: {hints:?}");
        let live: BTreeMap<PathBuf, String> = fresh
            .entries()
            .map(|entry| (entry.path.as_path().to_owned(), text_at(&inputs.watched.root.join(entry.path.as_path()))))
            .collect();
        let (base, mut copied) = (inputs.kept.path().join("base"), BTreeMap::new());
        read_all(&base, &base, &mut copied);
        assert_eq!(copied, live, "seed {seed}, run {run}: the copy");
    }
}

/// Returns the target of a link, the content of a file, or a word for a directory.
fn text_at(path: &Path) -> String {
    if path.is_dir() && !path.is_symlink() {
        return "a directory".to_owned();
    }
    let target = fs::read_link(path).map(|target| format!("-> {}", target.display()));
    target.or_else(|_| fs::read_to_string(path)).unwrap_or_else(|error| error.to_string())
}

fn read_all(directory: &Path, base: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(directory).expect("a readable copy") {
        let path = entry.expect("a readable copy").path();
        found.insert(path.strip_prefix(base).expect("a path in the copy").to_owned(), text_at(&path));
        if path.is_dir() && !path.is_symlink() {
            read_all(&path, base, found);
        }
    }
}

/// Makes one random change below `root`. A change that cannot be made, such as the removal of a missing file, is left out.
fn change(root: &Path, dice: &mut Dice) {
    let at = |name: &str| root.join(name);
    let file = dice.one_of(&FILES);
    let _not_possible = match dice.below(12) {
        0..=3 => fs::create_dir_all(at(file).parent().expect("a path below the root"))
            .and_then(|()| fs::write(at(file), format!("{}", dice.below(10)))),
        // The existing file is opened and extended, so no event reports a creation.
        4 => fs::File::options().append(true).open(at(file)).and_then(|mut file| file.write_all(b"more")),
        5 => fs::remove_file(at(file)),
        6 => fs::remove_dir_all(at(dice.one_of(&DIRECTORIES))),
        7 => fs::rename(at(dice.one_of(&DIRECTORIES)), at(dice.one_of(&DIRECTORIES))),
        8 => fs::rename(at(file), at(dice.one_of(&FILES))),
        9 => fs::create_dir_all(at(dice.one_of(&DIRECTORIES))),
        10 => symlink(dice.one_of(&FILES), at(file)),
        _ => {
            let directory = dice.one_of(&["", "", "src", "new/deep"]);
            fs::write(at(directory).join(".gitignore"), dice.one_of(&RULES))
        }
    };
}

#[test]
fn what_is_ignored_is_named_when_it_comes_and_read_again_without_a_hint() {
    let mut inputs = Inputs::new(&[(".gitignore", "*.env\n*.log\nlocal/\n"), ("src/a.py", ""), ("src/b.env", "1")]);
    inputs.hints();
    inputs.read(TreeHints::Everything);
    let came = |names: &[&str]| TreeHints::Only(names.iter().map(|name| path(name)).collect());
    fs::write(inputs.watched.at("src/b.env"), "2").expect("a writable file");
    assert_eq!(inputs.hints(), TreeHints::nothing(), "known inputs are read again without a hint");
    inputs.read(TreeHints::nothing());
    assert_eq!(inputs.in_copy("src/b.env").as_deref(), Some("2"));
    fs::write(inputs.watched.at("src/c.env"), "3").expect("a writable file");
    fs::write(inputs.watched.at("noise.log"), "").expect("a writable file");
    fs::create_dir(inputs.watched.at("local")).expect("a writable directory");
    let hints = inputs.hints();
    assert_eq!(hints, came(&["local", "src/c.env"]));
    inputs.read(hints);
    assert_eq!(inputs.in_copy("src/c.env").as_deref(), Some("3"));
    // Nothing in an ignored directory is watched, and everything in it is read before each run.
    fs::write(inputs.watched.at("local/conf"), "4").expect("a writable file");
    assert_eq!(inputs.hints(), TreeHints::nothing());
    inputs.read(TreeHints::nothing());
    assert_eq!(inputs.in_copy("local/conf").as_deref(), Some("4"));
}
