//! Tests of the scan of the tree before a run, and of the periodic sweep.

use super::*;

#[test]
fn an_overflow_leads_to_a_full_compare_that_the_report_names() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    let effects = engine.handle_as_changed(Moment(100), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Overflow)]));
    assert!(effects.contains(&Effect::WakeAt(Moment(120))));
    let effects = engine.handle_as_changed(Moment(120), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(order.lost_events);
}

#[test]
fn what_comes_while_the_tree_is_looked_at_calls_the_look_off_and_belongs_to_the_same_burst() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    assert!(starts(&save(&mut engine, 1000, "f0")));
    for number in 1..50 {
        let effects = save(&mut engine, 1000 + number, &format!("f{number}"));
        assert_eq!(stops(&effects), number == 1, "called off once: {effects:?}");
    }
    let effects = engine.handle_as_changed(Moment(1050), Event::Finished(RunFinish::Stopped));
    assert_eq!(effects, vec![Effect::WakeAt(Moment(1069))], "many wait for quiet");
    let effects = engine.handle_as_changed(Moment(1069), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    let TreeHints::Only(paths) = &order.hints else { panic!("{order:?}") };
    assert_eq!(
        (paths.len(), order.unless_tree),
        (50, Some(tree("t0"))),
        "what the look that was called off was told is not lost"
    );
    begun(&mut engine, 1070);
    save(&mut engine, 1080, "f1");
    assert!(stops(&engine.handle_as_changed(Moment(1100), Event::Timer)), "it was no restart");
}

#[test]
fn a_second_step_of_the_same_save_looks_again_without_waiting() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    assert!(starts(&save(&mut engine, 1000, "a.py")));
    assert!(stops(&save(&mut engine, 1001, "a.py")));
    assert!(starts(&engine.handle_as_changed(Moment(1002), Event::Finished(RunFinish::Stopped))));
}

#[test]
fn a_call_that_comes_too_late_restarts_the_run() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    assert!(starts(&save(&mut engine, 1000, "a.py")));
    assert!(stops(&save(&mut engine, 1001, "b.py")));
    assert!(begun(&mut engine, 1001).is_empty());
    assert!(starts(&engine.handle_as_changed(Moment(1005), Event::Finished(RunFinish::Stopped))));
    assert_eq!(engine.of_current().restarts, 1);
}

#[test]
fn who_writes_without_end_is_looked_at_when_the_bound_is_reached_and_not_called_off_again() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    for at in 1000..1500 {
        let effects = engine.handle_as_changed(Moment(at), Event::Hints(vec![WatchHint::Writing(path("log"))]));
        assert_eq!(effects, vec![Effect::WakeAt(Moment(1500))], "{at}");
    }
    assert!(starts(&engine.handle_as_changed(Moment(1500), Event::Timer)));
    let effects = engine.handle_as_changed(Moment(1501), Event::Hints(vec![WatchHint::Writing(path("log"))]));
    assert!(!stops(&effects), "{effects:?}");
}

#[test]
fn the_steps_of_a_save_that_come_together_are_one() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    let of = |kind: fn(TreePath) -> WatchHint, name| kind(path(name));
    let steps = vec![
        of(WatchHint::Created, "a.tmp"),
        of(WatchHint::Writing, "a.tmp"),
        of(WatchHint::Saved, "a.tmp"),
        of(WatchHint::Removed, "a.tmp"),
        of(WatchHint::Saved, "a.py"),
    ];
    let effects = engine.handle_as_changed(Moment(1000), Event::Hints(steps));
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.paths.as_slice(), &order.hints), (&["a.py".to_owned()][..], &only(&["a.py", "a.tmp"])));
}

#[test]
fn the_sweep_compares_everything_and_says_nothing_when_nothing_changed() {
    let mut engine = engine();
    let sweep = || Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]);
    assert!(engine.handle_as_changed(Moment(50), sweep()).is_empty(), "a run is under way, which compares everything itself");
    verdict(&mut engine, 100, "t0", &[]);
    let effects = engine.handle_as_changed(Moment(1000), sweep());
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((&order.hints, order.lost_events, order.unless_tree), (&TreeHints::Everything, false, Some(tree("t0"))));
    assert!(engine.handle_as_changed(Moment(1010), Event::Finished(RunFinish::Unchanged)).is_empty());
    let effects = save(&mut engine, 2000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.hints, only(&["a.py"]));
}

#[test]
fn a_save_during_a_sweeps_look_counts_as_a_save() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    engine.handle_as_changed(Moment(1000), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]));
    assert!(stops(&save(&mut engine, 1001, "a.py")));
    let effects = engine.handle_as_changed(Moment(1002), Event::Finished(RunFinish::Stopped));
    assert!(is_start(&effects, TriggerKind::Save), "{effects:?}");
    let effects = engine.handle_as_changed(Moment(1003), Event::Finished(RunFinish::Unchanged));
    assert!(effects.contains(&Effect::Show(Notice::Unchanged)), "{effects:?}");
}

#[test]
fn nothing_is_swept_where_there_is_no_verdict_that_could_be_wrong() {
    let mut engine = engine();
    moved(&mut engine, 100, &["a"]);
    engine.handle_as_changed(Moment(600), Event::Timer);
    assert!(matches!(moved(&mut engine, 700, &["a"]).as_slice(), [Effect::Show(Notice::Unstable { .. }), _]));
    assert!(engine.handle_as_changed(Moment(60_000), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)])).is_empty());
}

#[test]
fn what_was_lost_is_said_by_the_report_that_comes_about() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    engine.handle_as_changed(Moment(100), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Overflow)]));
    assert!(starts(&engine.handle_as_changed(Moment(120), Event::Timer)));
    begun(&mut engine, 121);
    save(&mut engine, 130, "a");
    assert!(stops(&engine.handle_as_changed(Moment(150), Event::Timer)));
    let effects = engine.handle_as_changed(Moment(160), Event::Finished(RunFinish::Stopped));
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(order.lost_events, "the first report never came about");
    verdict(&mut engine, 170, "t1", &[]);
    let effects = save(&mut engine, 200, "a");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(!order.lost_events);
}

#[test]
fn an_ignored_entry_that_came_starts_nothing_and_is_read_by_the_next_run() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    let came = |name| Event::Hints(vec![WatchHint::IgnoredCame(path(name))]);
    assert_eq!(engine.handle_as_changed(Moment(1000), came(".env")), []);
    let effects = save(&mut engine, 2000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.paths.as_slice(), &order.hints), (&["a.py".to_owned()][..], &only(&[".env", "a.py"])));
    begun(&mut engine, 2001);
    assert_eq!(engine.handle_as_changed(Moment(2002), came("late.env")), [], "it stops no run");
    verdict(&mut engine, 2100, "t1", &[]);
    let effects = save(&mut engine, 3000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.hints, only(&["a.py", "late.env"]));
}

#[test]
fn a_program_that_makes_ignored_files_without_end_costs_a_full_look_and_no_memory() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    let hints = (0..10_000).map(|number| WatchHint::IgnoredCame(path(&format!("{number}.env")))).collect();
    assert_eq!(engine.handle_as_changed(Moment(1000), Event::Hints(hints)), []);
    let effects = save(&mut engine, 2000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((&order.hints, order.lost_events), (&TreeHints::Everything, false));
}

#[test]
fn where_events_do_not_report_every_change_each_run_reads_everything() {
    for hint in [
        WatchHint::Polling(PollReason::Deaf),
        WatchHint::LookAgain(WatchProblem::Backend("a directory could not be watched".to_owned())),
    ] {
        let mut engine = engine();
        verdict(&mut engine, 100, "t0", &[]);
        engine.handle_as_changed(Moment(200), Event::Hints(vec![hint.clone()]));
        engine.handle_as_changed(Moment(900), Event::Timer);
        verdict(&mut engine, 950, "t0", &[]);
        for at in [1000, 2000] {
            let effects = save(&mut engine, at, "a.py");
            let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
            assert_eq!(order.hints, TreeHints::Everything, "{hint:?}");
            begun(&mut engine, at + 1);
            verdict(&mut engine, at + 100, "t1", &[]);
        }
    }
}

#[test]
fn a_new_watcher_may_have_missed_changes_before_it_began() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    assert_eq!(engine.handle_as_changed(Moment(1000), Event::Rewatched), []);
    let effects = save(&mut engine, 2000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.hints, TreeHints::Everything);
}
