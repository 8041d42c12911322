//! Random changes of a watched tree: with a real watcher, the real engine, and a worker that only scans the tree and
//! waits. The last change is always followed by a verdict on the tree as it is then, and every path that changed was
//! hinted at.
//!
//! A storm is one such sequence of changes. `PROCTOR_STORM_SEED` repeats a storm; the seed of a storm that fails is
//! printed. `PROCTOR_STORMS=84` makes 10,000 changes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor_model::{OnChange, OnDisk, SyncId, Timestamp, TreePath, WatchHint, WatchProblem};
use proctor_service::{Effect, Engine, EngineSettings, Event, Moment, Order, RunFinish, SavedContent};
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::watch::{Pace, Watcher};
use proctor_tree::{TreeHints, TreeIndex, compare};
use tempfile::TempDir;

use crate::tree::digest_in_python;

/// How long the verdict on the last change may take.
const LATE: Duration = Duration::from_secs(30);

/// The number of storms in the wide tier.
const STORMS: u64 = 12;
/// The number of storms outside of the wide tier.
const STORMS_OF_THE_SAMPLE: u64 = 2;
/// The least number of changes in a storm.
const CHANGES: usize = 120;

/// A pseudo-random generator (xorshift). The same seed gives the same numbers on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("a small number")
    }

    fn place(&mut self) -> PathBuf {
        const DIRECTORIES: [&str; 7] = ["", "a", "a/b", "a/b/c", "d", "built", "node_modules"];
        const NAMES: [&str; 7] = ["f0", "f1", "f2.log", "a", "b", "d", ".f3.swp"];
        Path::new(DIRECTORIES[self.roll(DIRECTORIES.len())]).join(NAMES[self.roll(NAMES.len())])
    }
}

/// Makes one random change. A change that is not possible is skipped.
pub(crate) fn change(root: &Path, outside: &Path, dice: &mut Dice, number: usize) {
    let (one, other) = (root.join(dice.place()), root.join(dice.place()));
    let text = format!("{number}");
    let write = |path: &Path| {
        let _no_place = path.parent().map(fs::create_dir_all);
        let _is_directory = fs::write(path, &text);
    };
    match dice.roll(12) {
        0..=2 => write(&one),
        3 => {
            write(&one.with_extension("tmp"));
            let _undone = fs::rename(one.with_extension("tmp"), &one);
        }
        4 => drop(fs::remove_file(&one)),
        5 => drop(fs::remove_dir_all(&one)),
        6 => drop(fs::rename(&one, &other)),
        7 => drop(symlink(&one, &other)),
        8 => drop(fs::hard_link(&one, &other)),
        9 => {
            let _undone = fs::rename(&one, outside.join("moved"));
            let _undone = fs::rename(outside.join("moved"), &other);
        }
        10 => drop(fs::set_permissions(&one, fs::Permissions::from_mode(if dice.roll(2) == 0 { 0o755 } else { 0o700 }))),
        _ => write(&root.join(if dice.roll(2) == 0 { ".gitignore" } else { "a/.gitignore" })),
    }
    if dice.roll(12) == 0 {
        let _undone = fs::write(root.join(".gitignore"), ["*.log\n", "built/\n*.log\n", "d/\n"][dice.roll(3)]);
    }
}

fn scan(root: &Path) -> TreeIndex {
    // A scan fails if a directory disappears meanwhile. The next scan starts again with the tree as it is then.
    loop {
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        if let Ok(index) = TreeIndex::scan(root, &matcher, Timestamp::from_millis(0)) {
            return index;
        }
    }
}

/// The engine, and a worker in place of real runs, which scans the tree and waits.
struct Stage<'a> {
    root: &'a Path,
    hints: &'a Receiver<WatchHint>,
    engine: Engine,
    origin: Instant,
    wake: Option<Moment>,
    run: Option<Run>,
    verdict: Option<TreeIndex>,
    hinted: Hinted,
    synced: Option<SyncId>,
    asked: u64,
}

struct Run {
    order: Order,
    stopped: bool,
    begun: Option<TreeIndex>,
    over_at: Moment,
}

/// The hints that the engine has passed on with its orders to start a run. `everything` is true if one of the orders
/// asked for a scan of the whole tree.
#[derive(Default)]
struct Hinted {
    everything: bool,
    paths: BTreeSet<TreePath>,
}

impl Hinted {
    fn covers(&self, path: &TreePath) -> bool {
        let above = std::iter::successors(Some(path.clone()), TreePath::parent);
        self.everything || above.into_iter().any(|one| !one.is_root() && self.paths.contains(&one))
    }
}

impl Stage<'_> {
    fn now(&self) -> Moment {
        Moment(u64::try_from(self.origin.elapsed().as_millis()).expect("a short test"))
    }

    fn handle(&mut self, event: Event) {
        let effects = self.engine.handle(self.now(), event);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(order) => {
                    assert!(self.run.is_none(), "two runs at once");
                    match &order.hints {
                        TreeHints::Everything => self.hinted.everything = true,
                        TreeHints::Only(paths) => self.hinted.paths.extend(paths.iter().cloned()),
                    }
                    self.wake = None;
                    self.run = Some(Run { order, stopped: false, begun: None, over_at: Moment(0) });
                }
                Effect::Compare(_) => self.handle(Event::Compared(SavedContent::Different)),
                Effect::Stop(_) => self.run.as_mut().expect("there is a run to stop").stopped = true,
                Effect::WakeAt(moment) => self.wake = Some(moment),
                Effect::Show(_) | Effect::ClearScreen | Effect::Quit(_) => {}
            }
        }
    }

    /// Requests a sync: the watcher answers it after all hints for changes that were made before.
    fn ask(&mut self, watcher: &Watcher) -> SyncId {
        self.asked += 1;
        watcher.handle().sync(SyncId(self.asked));
        SyncId(self.asked)
    }

    /// Passes the hints that have arrived to the engine, and lets the run go on.
    fn turn(&mut self) {
        match self.hints.recv_timeout(Duration::from_millis(1)) {
            Ok(hint) => {
                let hints: Vec<_> = std::iter::once(hint).chain(self.hints.try_iter()).collect();
                let mut answers = hints.iter().filter_map(|hint| if let WatchHint::Synced(id) = hint { Some(*id) } else { None });
                self.synced = answers.next_back().or(self.synced);
                self.handle(Event::Hints(hints));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => panic!("the watcher is gone"),
        }
        if self.wake.is_some_and(|wake| wake <= self.now()) {
            self.wake = None;
            self.handle(Event::Timer);
        }
        self.go_on();
    }

    fn go_on(&mut self) {
        let now = self.now();
        let Some(run) = &mut self.run else { return };
        if run.begun.is_none() {
            let index = scan(self.root);
            if run.stopped {
                return self.end(RunFinish::Stopped);
            }
            if run.order.unless_tree == Some(index.digest()) {
                return self.end(RunFinish::Unchanged);
            }
            run.begun = Some(index);
            run.over_at = now.plus(Duration::from_millis(15));
            return self.handle(Event::Begun);
        }
        let stopped = run.stopped;
        if !stopped && now < run.over_at {
            return;
        }
        let before = run.begun.take().expect("it has begun");
        if stopped {
            return self.end(RunFinish::Stopped);
        }
        let after = scan(self.root);
        let comparison = compare(&before, &after);
        if comparison.moved.is_empty() {
            let tree = after.digest();
            self.verdict = Some(after);
            return self.end(RunFinish::Verdict { tree, failed: Vec::new(), warned: Vec::new(), paused: false });
        }
        let on_disk = OnDisk::compare(before.digest(), after.digest());
        self.end(RunFinish::Moved { paths: comparison.moved.into_iter().collect(), on_disk });
    }

    fn end(&mut self, finished: RunFinish) {
        self.run = None;
        self.handle(Event::Finished(finished));
    }
}

fn storm(seed: u64) {
    let home = TempDir::new().expect("a temporary directory");
    let (root, outside) = (home.path().join("project"), home.path().join("outside"));
    [&root, &outside].iter().for_each(|path| fs::create_dir(path).expect("a writable directory"));
    let mut dice = Dice(seed);
    (0..20).for_each(|number| change(&root, &outside, &mut dice, number));
    let (send, hints) = channel();
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let pace = Pace { poll: Duration::from_secs(3600), sweep: None };
    let watcher = Watcher::start(&root, matcher, &pace, move |hint| drop(send.send(hint))).expect("a directory to watch");
    let settings = EngineSettings {
        quiet: Duration::from_millis(10),
        longest_burst: Duration::from_millis(100),
        on_change: OnChange::Restart,
        max_restarts: 3,
        git_wait: Duration::ZERO,
        tasks: vec![proctor_model::TaskId::default_task()],
    };
    let mut engine = Engine::new(settings);
    let first = engine.begin();
    let hinted = Hinted::default();
    let mut stage = Stage {
        root: &root,
        hints: &hints,
        engine,
        origin: Instant::now(),
        wake: None,
        run: None,
        verdict: None,
        hinted,
        synced: None,
        asked: 0,
    };
    stage.perform(first);
    settle(&mut stage, &watcher, seed);
    let (mut number, mut linked) = (0, BTreeSet::new());
    while number < CHANGES {
        stage.hinted = Hinted::default();
        let before = scan(&root);
        for _ in 0..=dice.roll(20) {
            change(&root, &outside, &mut dice, number);
            let names = scan(&root);
            let files = names.entries().filter_map(|entry| fs::symlink_metadata(root.join(entry.path.as_path())).ok());
            linked.extend(files.filter(|found| found.is_file() && found.nlink() > 1).map(|found| found.ino()));
            number += 1;
            if dice.roll(4) == 0 {
                stage.turn();
            }
        }
        settle(&mut stage, &watcher, seed);
        // The engine passes hints on only when it orders the next scan or run. The answer to the sync shows that all
        // hints have arrived, and a last file makes the engine give one more order.
        let answer = stage.ask(&watcher);
        let begun = Instant::now();
        while stage.synced != Some(answer) {
            stage.turn();
            assert!(begun.elapsed() < LATE, "seed {seed}: the sync is not answered");
        }
        fs::write(root.join("last"), format!("{number}")).expect("a writable file");
        settle(&mut stage, &watcher, seed);
        for path in compare(&before, &scan(&root)).moved {
            // A file that was moved away and back, or written with the same bytes, need not be scanned again.
            let differs = before.entries().find(|entry| entry.path == path).map(|entry| entry.digest)
                != scan(&root).entries().find(|entry| entry.path == path).map(|entry| entry.digest);
            // If a file has several names, and one name is written to and removed at once, no event tells of the other
            // names. Only the next scan of the whole tree (the sweep) finds the change.
            let was_linked = fs::symlink_metadata(root.join(path.as_path())).is_ok_and(|found| linked.contains(&found.ino()));
            assert!(stage.hinted.covers(&path) || !differs || was_linked, "seed {seed}: nobody was told of {path}");
        }
    }
    let verdict = stage.verdict.as_ref().map(|index| index.digest().to_string());
    assert_eq!(verdict, Some(digest_in_python(&root, &[])), "seed {seed}: the script of the pages sees another tree");
}

/// Lets the engine work until there is a verdict for the tree as it is.
///
/// The kernel reports a write by the name with which the file was opened. If that name does not belong to the tree,
/// only the next scan of the whole tree (the sweep) finds the change. So this function sweeps once all hints are
/// handled. Before the sweep, only files with several names may differ from the tree of the last verdict.
fn settle(stage: &mut Stage<'_>, watcher: &Watcher, seed: u64) {
    let begun = Instant::now();
    let mut asked = None;
    loop {
        stage.turn();
        let is_quiet = stage.run.is_none() && stage.wake.is_none();
        let now = scan(stage.root);
        if is_quiet && stage.verdict.as_ref().map(TreeIndex::digest) == Some(now.digest()) {
            return;
        }
        let moved = stage.verdict.as_ref().map(|index| compare(index, &now).moved).unwrap_or_default();
        assert!(begun.elapsed() < LATE, "seed {seed}: no verdict for the tree as it is, these differ: {moved:?}");
        if !is_quiet {
            asked = None;
        } else if asked.is_none() {
            asked = Some(stage.ask(watcher));
        } else if asked == stage.synced {
            let is_linked =
                |path: &TreePath| fs::symlink_metadata(stage.root.join(path.as_path())).is_ok_and(|found| found.nlink() > 1);
            assert!(
                moved.iter().all(is_linked),
                "seed {seed}: everything is heard of, and these were not looked at again: {moved:?}"
            );
            stage.handle(Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]));
            asked = None;
        }
    }
}

#[test]
fn the_last_of_some_random_changes_is_followed_by_a_verdict_for_it() {
    storms(STORMS_OF_THE_SAMPLE);
}

#[test]
#[ignore = "wide tier"]
fn the_last_of_many_random_changes_is_always_followed_by_a_verdict_for_it() {
    storms(std::env::var("PROCTOR_STORMS").ok().and_then(|text| text.parse().ok()).unwrap_or(STORMS));
}

/// Makes `storms` storms, or only the one that `PROCTOR_STORM_SEED` names.
#[expect(clippy::print_stdout, reason = "a sweep says what it did, for whoever reads its output")]
fn storms(storms: u64) {
    let given = std::env::var("PROCTOR_STORM_SEED").ok().and_then(|text| text.parse().ok());
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.subsec_nanos());
    let first: u64 = given.unwrap_or(u64::from(clock) | 1);
    println!("the first seed is {first}");
    (0..if given.is_some() { 1 } else { storms }).for_each(|number| storm(first.wrapping_add(number * 7919).max(1)));
}
