//! The engine, fed with events: no runtime, no disk, no waiting (house style T1).

use super::*;
use crate::model::Digest;

fn engine() -> Engine {
    engine_with(OnChange::Restart)
}

fn engine_with(on_change: OnChange) -> Engine {
    let mut engine = Engine::new(EngineSettings {
        quiet: Duration::from_millis(20),
        longest_burst: Duration::from_millis(500),
        on_change,
        max_restarts: 3,
    });
    assert!(is_start(&engine.begin(), TriggerKind::Start));
    engine
}

fn path(text: &str) -> TreePath {
    TreePath::try_from(text).expect("a clean path")
}

fn save(engine: &mut Engine, at: u64, name: &str) -> Vec<Effect> {
    engine.handle(Moment(at), Event::Hint(WatchHint::Saved(path(name))))
}

fn tree(text: &str) -> TreeDigest {
    TreeDigest(Digest::of(text.as_bytes()))
}

fn verdict(engine: &mut Engine, at: u64, text: &str, failed: &[&str]) -> Vec<Effect> {
    let failed = failed.iter().map(ToString::to_string).collect();
    engine.handle(Moment(at), Event::Finished(Finished::Verdict { tree: tree(text), failed, paused: false }))
}

fn moved(engine: &mut Engine, at: u64, names: &[&str]) -> Vec<Effect> {
    moved_leaving(engine, at, names, OnDisk::AsTested)
}

fn moved_leaving(engine: &mut Engine, at: u64, names: &[&str], on_disk: OnDisk) -> Vec<Effect> {
    let paths = names.iter().map(|name| path(name)).collect();
    engine.handle(Moment(at), Event::Finished(Finished::Moved { paths, on_disk }))
}

fn is_start(effects: &[Effect], kind: TriggerKind) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Start(order) if order.trigger.kind == kind))
}

fn starts(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Start(_)))
}

fn stops(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Stop(StopReason::Superseded))
}

#[test]
fn a_lone_save_runs_after_the_quiet_and_names_its_path() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    assert_eq!(save(&mut engine, 1000, "a.py"), vec![Effect::WakeAt(Moment(1020))]);
    let effects = engine.handle(Moment(1020), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, order.trigger.paths.as_slice()), (TriggerKind::Save, &["a.py".to_owned()][..]));
    assert_eq!(order.unless_tree, Some(tree("t0")), "a save that changes nothing starts nothing");
}

#[test]
fn a_save_runs_what_it_triggers_and_what_failed_and_a_change_that_triggers_nothing_is_said() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &["tsc"]);
    save(&mut engine, 1000, "a.py");
    let effects = engine.handle(Moment(1020), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Triggered { failed: vec!["tsc".to_owned()] });
    let effects = engine.handle(Moment(1030), Event::Finished(Finished::Untriggered));
    assert_eq!(effects, vec![Effect::Show(Notice::Untriggered), Effect::Show(Notice::Waiting(Standing::Verdict))]);
    save(&mut engine, 2000, "a.py");
    let effects = engine.handle(Moment(2020), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.unless_tree, Some(tree("t0")), "the last verdict is still the last verdict");
}

#[test]
fn a_timer_that_comes_too_early_is_set_again() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    save(&mut engine, 1000, "a.py");
    assert_eq!(save(&mut engine, 1015, "b.py"), vec![Effect::WakeAt(Moment(1035))]);
    assert_eq!(engine.handle(Moment(1020), Event::Timer), vec![Effect::WakeAt(Moment(1035))]);
    assert!(starts(&engine.handle(Moment(1035), Event::Timer)));
}

#[test]
fn a_save_during_a_run_stops_it_and_starts_it_again_on_the_new_tree() {
    let mut engine = engine();
    save(&mut engine, 50, "a.py");
    assert!(stops(&engine.handle(Moment(70), Event::Timer)));
    let effects = engine.handle(Moment(90), Event::Finished(Finished::Stopped));
    assert!(is_start(&effects, TriggerKind::Save), "{effects:?}");
}

#[test]
fn after_three_restarts_in_a_row_one_run_is_let_finish_and_then_run_again() {
    let mut engine = engine();
    let mut at = 100;
    for name in ["a", "b", "c"] {
        save(&mut engine, at, name);
        assert!(stops(&engine.handle(Moment(at + 20), Event::Timer)), "{name}");
        assert!(starts(&engine.handle(Moment(at + 30), Event::Finished(Finished::Stopped))), "{name}");
        at += 100;
    }
    save(&mut engine, at, "d");
    let effects = engine.handle(Moment(at + 20), Event::Timer);
    assert_eq!(effects, vec![Effect::Show(Notice::LettingFinish)]);
    save(&mut engine, at + 30, "e");
    assert!(engine.handle(Moment(at + 50), Event::Timer).is_empty(), "said once");
    let effects = moved(&mut engine, at + 60, &["d"]);
    assert!(is_start(&effects, TriggerKind::Save), "the save during the run is not lost: {effects:?}");
}

#[test]
fn with_queue_a_run_always_finishes_and_the_save_is_run_afterwards() {
    let mut engine = engine_with(OnChange::Queue);
    save(&mut engine, 50, "a.py");
    assert!(engine.handle(Moment(70), Event::Timer).is_empty());
    save(&mut engine, 80, "b.py");
    let effects = moved(&mut engine, 200, &["a.py"]);
    assert!(is_start(&effects, TriggerKind::Save), "{effects:?}");
}

#[test]
fn a_run_that_moves_its_tree_is_repeated_once_and_then_called_unstable() {
    let mut engine = engine();
    let effects = moved(&mut engine, 100, &["snapshot.json"]);
    assert!(effects.contains(&Effect::WakeAt(Moment(600))) && !starts(&effects), "{effects:?}");
    assert!(save(&mut engine, 110, "snapshot.json").is_empty(), "a late hint of the run itself");
    assert!(is_start(&engine.handle(Moment(600), Event::Timer), TriggerKind::Moved));
    save(&mut engine, 650, "snapshot.json");
    assert!(!stops(&engine.handle(Moment(670), Event::Timer)), "a run that writes this itself would be restarted for ever");
    let effects = moved(&mut engine, 700, &["snapshot.json"]);
    assert!(matches!(effects.as_slice(), [Effect::Show(Notice::Unstable { .. }), _]), "{effects:?}");
    assert!(!starts(&engine.handle(Moment(5000), Event::Timer)), "nothing runs by itself any more");
    save(&mut engine, 6000, "a.py");
    assert!(starts(&engine.handle(Moment(6020), Event::Timer)), "a change from outside does");
}

#[test]
fn content_that_no_run_has_seen_is_tested_after_a_longer_pause_and_given_up_only_after_many() {
    let mut engine = engine();
    let mut at = 100;
    for pause in [500, 1000, 2000, 4000, 8000] {
        let effects = moved_leaving(&mut engine, at, &["a.py"], OnDisk::Newer);
        assert!(effects.contains(&Effect::WakeAt(Moment(at + pause))), "{pause}: {effects:?}");
        assert!(is_start(&engine.handle(Moment(at + pause), Event::Timer), TriggerKind::Moved), "{pause}");
        at += pause + 100;
    }
    let effects = moved_leaving(&mut engine, at, &["a.py"], OnDisk::Newer);
    assert!(matches!(effects.as_slice(), [Effect::Show(Notice::Unstable { .. }), _]), "{effects:?}");
}

#[test]
fn checks_that_are_picked_by_name_answer_for_no_save() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &["tsc"]);
    save(&mut engine, 100, "a.py");
    assert!(is_start(&engine.handle(Moment(105), Event::Key(Key::FailedOnly)), TriggerKind::Request));
    let finished = Finished::Partial { failed: Vec::new(), paused: false };
    assert_eq!(engine.handle(Moment(110), Event::Finished(finished)), vec![Effect::WakeAt(Moment(120))]);
    let effects = engine.handle(Moment(120), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, order.unless_tree), (TriggerKind::Save, Some(tree("t0"))), "as if nothing had been picked");
}

#[test]
fn a_save_while_a_repetition_waits_comes_from_outside_and_counts_as_a_save() {
    let mut engine = engine();
    moved(&mut engine, 100, &["a.py"]);
    save(&mut engine, 200, "a.py");
    assert!(is_start(&engine.handle(Moment(220), Event::Timer), TriggerKind::Save));
    moved(&mut engine, 300, &["a.py"]);
    let effects = engine.handle(Moment(800), Event::Timer);
    assert!(is_start(&effects, TriggerKind::Moved), "counted anew, not unstable: {effects:?}");
}

#[test]
fn an_overflow_leads_to_a_full_compare_that_the_report_names() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    let effects = engine.handle(Moment(100), Event::Hint(WatchHint::LookAgain(WatchProblem::Overflow)));
    assert!(effects.contains(&Effect::WakeAt(Moment(120))));
    let effects = engine.handle(Moment(120), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(order.lost_events);
}

#[test]
fn keys_run_everything_or_what_failed_and_nothing_while_a_run_is_under_way() {
    let mut engine = engine();
    assert!(engine.handle(Moment(5), Event::Key(Key::Again)).is_empty());
    verdict(&mut engine, 10, "t0", &["tsc"]);
    let effects = engine.handle(Moment(20), Event::Key(Key::FailedOnly));
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Named(vec!["tsc".to_owned()]));
    verdict(&mut engine, 30, "t0", &[]);
    assert_eq!(engine.handle(Moment(40), Event::Key(Key::FailedOnly)), vec![Effect::Show(Notice::NothingFailed)]);
    assert!(is_start(&engine.handle(Moment(50), Event::Key(Key::All)), TriggerKind::Request));
    assert_eq!(engine.handle(Moment(60), Event::Key(Key::Clear)), vec![Effect::ClearScreen]);
}

#[test]
fn quitting_during_a_run_waits_for_its_end_and_then_quits_with_the_right_code() {
    for (event, reason, exit) in [
        (Event::Key(Key::Quit), StopReason::Interrupted, CommandExit::Proceed),
        (Event::Signal(OsSignal::Interrupt), StopReason::Interrupted, CommandExit::Interrupted),
        (Event::Signal(OsSignal::Terminate), StopReason::Terminated, CommandExit::Terminated),
    ] {
        let mut engine = engine();
        assert_eq!(engine.handle(Moment(1), event.clone()), vec![Effect::Stop(reason)]);
        assert_eq!(engine.handle(Moment(2), event.clone()), vec![Effect::Stop(reason)], "asking again kills at once");
        assert_eq!(engine.handle(Moment(3), Event::Finished(Finished::Stopped)), vec![Effect::Quit(exit)]);
        let mut idle = engine_with(OnChange::Restart);
        verdict(&mut idle, 1, "t", &[]);
        assert_eq!(idle.handle(Moment(2), event), vec![Effect::Quit(exit)]);
    }
}

#[test]
fn a_save_in_the_last_moment_of_a_run_is_run_unless_the_verdict_covers_it() {
    let mut engine = engine();
    save(&mut engine, 95, "a.py");
    let effects = verdict(&mut engine, 100, "t1", &[]);
    assert_eq!(effects, vec![Effect::WakeAt(Moment(115))]);
    let effects = engine.handle(Moment(115), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.unless_tree, Some(tree("t1")));
    let effects = engine.handle(Moment(120), Event::Finished(Finished::Unchanged));
    assert_eq!(effects, vec![Effect::Show(Notice::Unchanged), Effect::Show(Notice::Waiting(Standing::Verdict))]);
}

#[test]
fn saves_of_the_same_file_restart_a_run_each_time_until_the_limit() {
    let mut engine = engine();
    for at in [100, 200, 300] {
        save(&mut engine, at, "a.py");
        assert!(stops(&engine.handle(Moment(at + 20), Event::Timer)), "{at}");
        assert!(starts(&engine.handle(Moment(at + 30), Event::Finished(Finished::Stopped))), "{at}");
    }
    save(&mut engine, 400, "a.py");
    assert_eq!(engine.handle(Moment(420), Event::Timer), vec![Effect::Show(Notice::LettingFinish)]);
}

#[test]
fn a_vanished_root_is_said_and_taken_up_again_when_it_returns() {
    let mut engine = engine();
    verdict(&mut engine, 1, "t", &[]);
    save(&mut engine, 2, "a.py");
    let effects = engine.handle(Moment(3), Event::Hint(WatchHint::RootVanished));
    assert_eq!(effects, vec![Effect::Show(Notice::RootVanished)]);
    assert!(!starts(&engine.handle(Moment(30), Event::Timer)), "there is nothing to run on");
    engine.handle(Moment(900), Event::Hint(WatchHint::LookAgain(WatchProblem::RootReturned)));
    assert!(starts(&engine.handle(Moment(920), Event::Timer)));
}

#[derive(Debug, Clone)]
enum Step {
    Save(u8),
    Writing(u8),
    Wait(u16),
    End(u8),
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    use proptest::prelude::*;
    let step = prop_oneof![
        (0..3_u8).prop_map(Step::Save),
        (0..3_u8).prop_map(Step::Writing),
        (0..700_u16).prop_map(Step::Wait),
        (0..3_u8).prop_map(Step::End),
    ];
    proptest::collection::vec(step, 0..60)
}

/// A model of the world around the engine: what is on disk, what the run under way began with, when the timer is due.
struct World {
    engine: Engine,
    now: u64,
    content: u64,
    running: Option<u64>,
    wake: Option<u64>,
    asked_to_stop: bool,
    judged: Option<u64>,
    unstable: bool,
}

impl World {
    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(_) => {
                    assert_eq!(self.running.replace(self.content), None, "two runs at once");
                    self.unstable = false;
                    self.asked_to_stop = false;
                }
                Effect::WakeAt(moment) => self.wake = Some(moment.0),
                Effect::Show(Notice::Unstable { .. }) => self.unstable = true,
                Effect::Stop(_) => {
                    assert!(self.running.is_some(), "nothing to stop");
                    self.asked_to_stop = true;
                }
                Effect::Show(_) | Effect::ClearScreen | Effect::Quit(_) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let effects = self.engine.handle(Moment(self.now), event);
        self.take(effects);
    }

    fn pass(&mut self, millis: u64) {
        let until = self.now + millis;
        while let Some(wake) = self.wake.filter(|wake| *wake <= until) {
            self.now = self.now.max(wake);
            self.wake = None;
            self.handle(Event::Timer);
        }
        self.now = until;
    }

    fn end(&mut self, stopped: bool) {
        let Some(began_with) = self.running.take() else { return };
        let finished = match (stopped && self.asked_to_stop, began_with == self.content) {
            (true, _) => Finished::Stopped,
            (false, true) => {
                self.judged = Some(self.content);
                Finished::Verdict { tree: tree(&self.content.to_string()), failed: Vec::new(), paused: false }
            }
            (false, false) => {
                let paths = [path("f0"), path("f1"), path("f2")].into();
                Finished::Moved { paths, on_disk: OnDisk::Newer }
            }
        };
        self.handle(Event::Finished(finished));
    }
}

proptest::proptest! {
    #[test]
    fn the_last_save_is_always_followed_by_a_run_on_its_tree(steps in steps(), queue: bool) {
        let engine = engine_with(if queue { OnChange::Queue } else { OnChange::Restart });
        let mut world = World { engine, now: 0, content: 0, running: Some(0), wake: None, asked_to_stop: false, judged: None, unstable: false };
        for step in steps {
            match step {
                Step::Save(file) => {
                    world.content += 1;
                    world.handle(Event::Hint(WatchHint::Saved(path(&format!("f{file}")))));
                }
                Step::Writing(file) => {
                    world.content += 1;
                    world.handle(Event::Hint(WatchHint::Writing(path(&format!("f{file}")))));
                }
                Step::Wait(millis) => world.pass(u64::from(millis)),
                Step::End(how) => world.end(how == 0 && !queue),
            }
        }
        for _ in 0..6 {
            world.pass(20_000);
            world.end(false);
        }
        proptest::prop_assert!(world.running.is_none());
        // Only somebody who saves in six runs on end, and never between them, is told that the tree is unstable.
        let gave_up = world.unstable && world.content > 5;
        proptest::prop_assert!(world.judged == Some(world.content) || gave_up, "{:?} {:?}", world.judged, world.content);
    }
}

#[test]
fn a_reload_runs_everything_at_once_or_once_more_when_the_run_is_over() {
    let mut engine = engine();
    let reload = Event::Signal(OsSignal::Reload);
    assert_eq!(engine.handle(Moment(1), reload.clone()), vec![Effect::Show(Notice::ReloadingAfterRun)]);
    save(&mut engine, 2, "a.py");
    let effects = verdict(&mut engine, 10, "t", &[]);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, &order.selection, order.unless_tree), (TriggerKind::Request, &Selection::All, None));
    assert!(!starts(&verdict(&mut engine, 20, "t", &[])), "it is owed once, and covers the save");
    let effects = engine.handle(Moment(30), reload.clone());
    assert!(is_start(&effects, TriggerKind::Request));
    let effects = engine.handle(Moment(40), Event::Finished(Finished::Failed));
    assert_eq!(effects, vec![Effect::Show(Notice::Waiting(Standing::NoVerdict))], "a wrong configuration ends no watch");
    assert!(is_start(&engine.handle(Moment(50), reload), TriggerKind::Request));
}

#[test]
fn a_reload_does_not_hold_up_who_leaves() {
    let mut engine = engine();
    let (reload, leave) = (Event::Signal(OsSignal::Reload), Event::Signal(OsSignal::Terminate));
    assert!(!starts(&engine.handle(Moment(1), reload.clone())));
    assert_eq!(engine.handle(Moment(2), leave), vec![Effect::Stop(StopReason::Terminated)]);
    assert!(engine.handle(Moment(3), reload).is_empty());
    assert_eq!(engine.handle(Moment(4), Event::Finished(Finished::Stopped)), vec![Effect::Quit(CommandExit::Terminated)]);
}

#[test]
fn other_settings_count_from_the_next_decision_on() {
    let mut engine = engine();
    let settings = EngineSettings { on_change: OnChange::Queue, quiet: Duration::from_millis(40), ..engine.settings.clone() };
    assert!(engine.handle(Moment(1), Event::Settings(settings)).is_empty());
    assert_eq!(save(&mut engine, 10, "a.py"), vec![Effect::WakeAt(Moment(50))]);
    assert!(!stops(&engine.handle(Moment(50), Event::Timer)), "it is queued now");
}
