//! Random changes of a tree: an index that is updated by the changed paths alone equals an index of a full scan.
//!
//! `PROCTOR_TREE_OPERATIONS=10000` runs more operations, as is meant for a run by hand. `PROCTOR_TREE_SEED` repeats a run that failed.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::TreePath;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::{TreeIndex, compare};
use tempfile::TempDir;

use super::{digest_in_python, now};

/// How many operations there are unless `PROCTOR_TREE_OPERATIONS` says otherwise.
const OPERATIONS: u64 = 300;
/// The number of bursts after which the script of docs/reference/tree-digest.md and a saved index are compared as well.
const SELDOM: u64 = 12;
/// A directory is removed when the tree has more files than this: more would make every comparison slow and would not find more errors.
const MANY_FILES: u64 = 120;

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e.py", "f.py", "a-b", "a.b", "x y", "\u{e9}\n", "g.log", "out"];
const RULES: [&str; 6] = ["", "*.log\n", "/out\n!g.log\n", "*\n!*.py\n!*/\n", "a/\n", "**/b\n"];

/// A pseudo-random generator. The same seed gives the same numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn of<'rows>(&mut self, rows: &[&'rows str]) -> &'rows str {
        rows[usize::try_from(self.below(rows.len() as u64)).expect("a short table")]
    }
}

/// A tree that is changed at random, and the paths that a watcher would report.
struct Playground {
    root: TempDir,
    random: Random,
    touched: BTreeSet<TreePath>,
}

impl Playground {
    /// Performs one random operation. An operation that the tree does not allow has no effect, or only a part of it.
    fn change(&mut self) {
        let path = self.place();
        self.touch(&path);
        match self.random.below(16) {
            0..=4 => self.write(&path),
            5 => {
                let _nothing_there =
                    File::options().append(true).open(self.at(&path)).and_then(|file| file.set_modified(UNIX_EPOCH));
            }
            6 | 7 => {
                let from = self.place();
                self.touch(&from);
                let _impossible = self.parent_of(&path).and_then(|()| fs::rename(self.at(&from), self.at(&path)));
                self.touch(&from);
            }
            8 | 9 => {
                let _nothing_there = fs::remove_file(self.at(&path));
            }
            10 => {
                let _nothing_there = fs::remove_dir_all(self.at(&path));
            }
            11 => {
                let _in_the_way = fs::create_dir_all(self.at(&path));
            }
            12 => {
                let target = self.place();
                let _in_the_way = self.parent_of(&path).and_then(|()| symlink(target, self.at(&path)));
            }
            13 => {
                let mode = if self.random.below(2) == 0 { 0o755 } else { 0o644 };
                if fs::symlink_metadata(self.at(&path)).is_ok_and(|metadata| metadata.is_file()) {
                    fs::set_permissions(self.at(&path), Permissions::from_mode(mode)).expect("our own file");
                }
            }
            14 => {
                let directory = Path::new(&path).parent().expect("a path below the root").join(".gitignore");
                let path = directory.to_str().expect("names of the table").to_owned();
                let _impossible = fs::write(self.at(&path), self.random.of(&RULES));
                self.touch(&path);
            }
            _ => {
                // Saves a file as most editors do: a new file is renamed to the old one's name.
                self.write("fresh");
                let _in_the_way = self.parent_of(&path).and_then(|()| fs::rename(self.at("fresh"), self.at(&path)));
            }
        }
        self.touch(&path);
    }

    fn place(&mut self) -> String {
        let depth = 1 + self.random.below(4);
        (0..depth).map(|_| self.random.of(&NAMES)).collect::<Vec<_>>().join("/")
    }

    fn write(&mut self, path: &str) {
        let content = format!("{:03}", self.random.below(1_000));
        let _in_the_way = self.parent_of(path).and_then(|()| fs::write(self.at(path), content));
        self.touch(path);
    }

    fn parent_of(&self, path: &str) -> std::io::Result<()> {
        fs::create_dir_all(self.at(path).parent().expect("a path below the root"))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Adds a path to the paths that a watcher would report. If links lead from the path to another one, adds the other
    /// path too, because a watcher reports the change there.
    fn touch(&mut self, path: &str) {
        self.touched.insert(TreePath::try_from(path).expect("names of the table"));
        let path = self.at(path);
        let beside = path.parent().and_then(|parent| Some(parent.canonicalize().ok()?.join(path.file_name()?)));
        let meant = [beside, path.canonicalize().ok()].into_iter().flatten();
        let root = self.root.path().canonicalize().expect("our own directory");
        self.touched.extend(meant.filter_map(|path| TreePath::below(&root, &path).ok()));
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("`{name}` is a number")))
}

#[test]
fn a_look_at_what_changed_finds_what_a_look_at_everything_finds() {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").subsec_nanos();
    let seed = number("PROCTOR_TREE_SEED").unwrap_or(u64::from(nanos) | 1);
    let operations = number("PROCTOR_TREE_OPERATIONS").unwrap_or(OPERATIONS);
    println!("PROCTOR_TREE_SEED={seed} PROCTOR_TREE_OPERATIONS={operations}");
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let root = TempDir::new().expect("a temporary directory");
    let mut playground = Playground { root, random: Random(seed), touched: BTreeSet::new() };
    let root = playground.root.path().to_owned();
    let mut index = TreeIndex::scan(&root, &matcher, now()).expect("a readable root");
    let (mut done, mut bursts) = (0, 0);
    while done < operations {
        let burst = 1 + playground.random.below(12);
        (0..burst).for_each(|_| playground.change());
        (done, bursts) = (done + burst, bursts + 1);
        let touched = std::mem::take(&mut playground.touched);
        let applied = index.apply(&touched, &matcher, now()).expect("a readable root");
        let fresh = TreeIndex::scan(&root, &matcher, now()).expect("a readable root");
        let differing = compare(&applied, &fresh).moved;
        assert_eq!(applied.digest(), fresh.digest(), "after {done} operations, the last on {touched:?}; wrong: {differing:?}");
        assert_eq!((applied.files(), applied.issues(), differing), (fresh.files(), fresh.issues(), Vec::new()));
        if bursts % SELDOM == 0 {
            assert_eq!(applied.digest().to_string(), digest_in_python(&root, &[]), "after {done} operations, by the script");
            let saved = TreeIndex::from_bytes(&root, &applied.to_bytes()).expect("sound bytes");
            playground.change();
            let warm = saved.rescan(&matcher, now()).expect("a readable root");
            index = applied.apply(&std::mem::take(&mut playground.touched), &matcher, now()).expect("a readable root");
            assert_eq!(warm.digest(), index.digest(), "after {done} operations, loaded");
            continue;
        }
        index = applied;
        if index.files() > MANY_FILES {
            let name = playground.random.of(&NAMES);
            let _nothing_there = fs::remove_dir_all(root.join(name));
            playground.touch(name);
        }
    }
    println!("{done} operations in {bursts} bursts, {} files in the end", index.files());
}
