//! Tests of files that something writes all the time. A model of the engine's surroundings plays a writer, a person and a check that
//! takes a while, in steps of one millisecond.

use super::*;

/// The engine, a check that takes `check` milliseconds, and what was seen so far.
struct World {
    engine: Engine,
    now: u64,
    /// How long the check takes, in milliseconds.
    check: u64,
    /// Whether the checks run on a snapshot. In place, a run during which a file changed has no verdict.
    has_snapshot: bool,
    wake: Option<u64>,
    /// When the run under way was ordered, and the content that it tests.
    running: Option<(u64, u64)>,
    content: u64,
    judged: Option<u64>,
    changed: BTreeSet<TreePath>,
    is_stopped: bool,
    starts: Vec<u64>,
    told: Vec<BTreeSet<TreePath>>,
    /// Whether the person is told now that files are busy.
    is_named: bool,
}

impl World {
    fn new(check: u64, has_snapshot: bool) -> Self {
        let mut engine = Engine::new(settings(OnChange::Restart));
        let effects = engine.begin();
        let mut world = Self {
            engine,
            now: 0,
            check,
            has_snapshot,
            wake: None,
            running: None,
            content: 0,
            judged: None,
            changed: BTreeSet::new(),
            is_stopped: false,
            starts: Vec::new(),
            told: Vec::new(),
            is_named: false,
        };
        world.take(effects);
        world.pass(check + 2000, None);
        world.starts.clear();
        world
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(_) => {
                    assert_eq!(self.running.replace((self.now, self.content)), None, "two runs at once");
                    (self.wake, self.is_stopped) = (None, false);
                    self.changed.clear();
                    self.starts.push(self.now);
                    self.handle(Event::Begun);
                }
                Effect::WakeAt(moment) => self.wake = Some(moment.0),
                Effect::Stop(_) => self.is_stopped = true,
                Effect::Show(Notice::Busy { paths }) => {
                    self.told.push(paths);
                    self.is_named = true;
                }
                Effect::Show(Notice::NoLongerBusy) => self.is_named = false,
                Effect::Show(_) | Effect::ClearScreen | Effect::Quit(_) | Effect::Compare(_) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let effects = self.engine.handle_as_changed(Moment(self.now), event);
        self.take(effects);
    }

    fn write(&mut self, name: &str) {
        self.content += 1;
        self.changed.insert(path(name));
        self.handle(Event::Hints(vec![WatchHint::Saved(path(name))]));
    }

    /// Lets time pass, in which `writer` writes its files every so many milliseconds.
    fn pass(&mut self, millis: u64, writer: Option<(u64, &[&str])>) {
        for _ in 0..millis {
            self.now += 1;
            if let Some((period, names)) = writer
                && self.now.is_multiple_of(period)
            {
                names.iter().for_each(|name| self.write(name));
            }
            if self.wake.take_if(|wake| *wake <= self.now).is_some() {
                self.handle(Event::Timer);
            }
            if let Some((since, tested)) = self.running
                && (self.is_stopped || self.now >= since + self.check)
            {
                self.running = None;
                let finished = self.finish(tested);
                self.handle(Event::Finished(finished));
            }
        }
    }

    fn finish(&mut self, tested: u64) -> RunFinish {
        if self.is_stopped {
            return RunFinish::Stopped;
        }
        if !self.has_snapshot && !self.changed.is_empty() {
            return RunFinish::Moved { paths: self.changed.clone(), on_disk: OnDisk::Newer };
        }
        self.judged = Some(tested);
        RunFinish::Verdict { tree: tree(&tested.to_string()), failed: Vec::new(), warned: Vec::new(), paused: false }
    }
}

const LOG: &[&str] = &["dev.log"];

#[test]
fn a_log_that_is_always_written_has_runs_at_growing_distances_and_is_named() {
    for (period, check) in [(20, 200), (50, 200), (50, 20), (500, 300), (500, 2000)] {
        let mut world = World::new(check, true);
        world.pass(60_000, Some((period, LOG)));
        // As many as it takes to tell, and then one after 1, 2, 4, 8, 16 and 32 seconds.
        assert!(world.starts.len() <= if check > period { 5 } else { 30 } + 6 + 2, "{period} {check}: {:?}", world.starts);
        assert_eq!(world.told, [BTreeSet::from([path("dev.log")])], "{period} {check}");
        let from = world.starts.len();
        world.pass(600_000, Some((period, LOG)));
        let late = &world.starts[from..];
        assert!(late.len() >= 8, "it is judged all the same: {late:?}");
        assert!(late.windows(2).skip(1).all(|pair| pair[1] - pair[0] >= 60_000), "{period} {check}: {late:?}");
    }
}

#[test]
fn a_log_and_its_journal_are_named_together() {
    let mut world = World::new(200, true);
    world.pass(5000, Some((50, &["app.db", "app.db-journal"])));
    assert_eq!(world.told, [BTreeSet::from([path("app.db"), path("app.db-journal")])]);
}

#[test]
fn a_save_of_another_file_runs_at_once_and_so_does_one_quiet_second() {
    let mut world = World::new(200, true);
    world.pass(20_000, Some((50, LOG)));
    let before = world.starts.len();
    assert!(world.running.is_none() && world.wake.is_some_and(|wake| wake > world.now));
    world.write("a.py");
    world.pass(30, Some((50, LOG)));
    assert_eq!(world.starts.len(), before + 1, "{:?}", world.starts);
    let during = world.now;
    world.pass(20, Some((50, LOG)));
    world.write("b.py");
    world.pass(100, Some((50, LOG)));
    assert_eq!(world.starts.len(), before + 2, "it stops the run under way as ever, at {during}");
    world.pass(20_000, Some((50, LOG)));
    let last = world.now;
    world.pass(1500, None);
    assert!(world.starts.last().is_some_and(|start| *start > last && *start <= last + 1000), "{last} {:?}", world.starts);
    assert_eq!(world.judged, Some(world.content));
    world.pass(10_000, None);
    let rested = world.starts.len();
    world.write("dev.log");
    world.pass(10, None);
    assert_eq!(world.starts.len(), rested + 1, "it is a file like any other again");
}

#[test]
fn a_run_that_somebody_asks_for_begins_at_once_and_the_file_is_named_no_longer_than_it_is_busy() {
    let mut world = World::new(200, true);
    world.pass(20_000, Some((50, LOG)));
    assert!(world.is_named);
    let before = world.starts.len();
    world.handle(Event::Awaited(TaskId::default_task()));
    assert_eq!(world.starts.len(), before + 1);
    world.pass(2000, None);
    assert_eq!((world.is_named, world.judged, world.starts.len()), (false, Some(world.content), before + 1));
}

#[test]
fn in_place_a_file_that_others_write_is_busy_and_one_that_the_run_writes_is_unstable() {
    let mut world = World::new(200, false);
    world.pass(120_000, Some((50, LOG)));
    assert!(world.starts.len() <= 32, "{:?}", world.starts);
    assert_eq!(world.told, [BTreeSet::from([path("dev.log")])]);
    let last = world.now;
    world.pass(3000, None);
    assert_eq!(world.judged, Some(world.content), "{last} {:?}", world.starts);
}

#[test]
fn a_person_who_saves_often_makes_no_file_busy() {
    for (period, saves) in [(150, 20), (700, 25), (1200, 60)] {
        let mut world = World::new(100, true);
        let mut late = 0;
        for _ in 0..saves {
            world.pass(period, None);
            let before = world.starts.len();
            world.write("a.py");
            world.pass(30, None);
            late += u32::from(world.starts.len() == before);
        }
        assert_eq!((late, world.told.len()), (0, 0), "{period}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(48))]
    #[test]
    fn whatever_is_written_when_runs_are_few_and_the_last_content_is_judged(
        period in 5_u64..600,
        check in 5_u64..1500,
        has_snapshot: bool,
        saves in proptest::collection::vec((0_u64..6000, 0_u8..3), 0..12),
    ) {
        let mut world = World::new(check, has_snapshot);
        world.pass(30_000, Some((period, LOG)));
        if has_snapshot {
            proptest::prop_assert!(world.starts.len() <= 40, "{:?}", world.starts);
        }
        for (pause, file) in &saves {
            world.pass(*pause, Some((period, LOG)));
            world.write(&format!("f{file}"));
            let saved = world.now;
            if has_snapshot {
                world.pass(600, Some((period, LOG)));
                let is_told = world.running.is_some() || world.starts.last().is_some_and(|start| *start >= saved);
                proptest::prop_assert!(is_told, "{saved}: {:?}", world.starts);
            }
        }
        for _ in 0..8 {
            world.pass(20_000, None);
        }
        proptest::prop_assert_eq!(world.judged, Some(world.content));
        proptest::prop_assert!(world.running.is_none());
    }
}
