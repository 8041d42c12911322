//! Tests of requests of people and programs: keys, reloads, named checks, changed settings.

use super::*;

#[test]
fn checks_that_are_picked_by_name_answer_for_no_save() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &["tsc"]);
    save_many(&mut engine, 100, &["a.py", "b.py", "c.py"]);
    assert!(is_start(&engine.handle_as_changed(Moment(105), Event::Key(Key::FailedOnly)), TriggerKind::Request));
    let finished = RunFinish::Partial { failed: Vec::new(), warned: Vec::new(), paused: false };
    assert_eq!(engine.handle_as_changed(Moment(110), Event::Finished(finished)), vec![Effect::WakeAt(Moment(120))]);
    let effects = engine.handle_as_changed(Moment(120), Event::Timer);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, order.unless_tree), (TriggerKind::Save, Some(tree("t0"))), "as if nothing had been picked");
}

#[test]
fn keys_run_everything_or_what_failed_at_once_or_after_the_run_under_way() {
    let mut engine = engine();
    for moment in [5, 6] {
        let effects = engine.handle_as_changed(Moment(moment), Event::Key(Key::Again));
        assert_eq!(effects, vec![Effect::Show(Notice::RunningAgainAfterRun)]);
    }
    let effects = verdict(&mut engine, 8, "t0", &["tsc"]);
    assert!(is_start(&effects, TriggerKind::Request), "the person asked for another run: {effects:?}");
    let effects = verdict(&mut engine, 10, "t0", &["tsc"]);
    assert!(!starts(&effects), "and asked for one only: {effects:?}");
    let effects = engine.handle_as_changed(Moment(20), Event::Key(Key::FailedOnly));
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Named(vec!["tsc".to_owned()]));
    verdict(&mut engine, 30, "t0", &[]);
    assert_eq!(engine.handle_as_changed(Moment(40), Event::Key(Key::FailedOnly)), vec![Effect::Show(Notice::NothingFailed)]);
    assert!(is_start(&engine.handle_as_changed(Moment(50), Event::Key(Key::Again)), TriggerKind::Request));
    assert_eq!(engine.handle_as_changed(Moment(60), Event::Key(Key::Clear)), vec![Effect::ClearScreen]);
    assert_eq!(engine.handle_as_changed(Moment(70), Event::Key(Key::Help)), vec![Effect::Show(Notice::Keys)]);
}

#[test]
fn what_only_warned_is_not_run_by_the_key_for_what_failed_and_goes_on_being_run_by_saves() {
    let mut engine = engine();
    let warned = vec!["eslint".to_owned()];
    let finished = RunFinish::Verdict { tree: tree("t0"), failed: Vec::new(), warned: warned.clone(), paused: false };
    engine.handle_as_changed(Moment(10), Event::Finished(finished));
    assert_eq!(engine.handle_as_changed(Moment(20), Event::Key(Key::FailedOnly)), vec![Effect::Show(Notice::NothingFailed)]);
    let effects = save(&mut engine, 1000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Triggered { failed: warned });
}

#[test]
fn quitting_during_a_run_waits_for_its_end_and_then_quits_with_the_right_code() {
    for (event, reason, exit) in [
        (Event::Key(Key::Quit), StopReason::Interrupted, CommandExit::Proceed),
        (Event::Signal(OsSignal::Interrupt), StopReason::Interrupted, CommandExit::Interrupted),
        (Event::Signal(OsSignal::Terminate), StopReason::Terminated, CommandExit::Terminated),
    ] {
        let mut engine = engine();
        assert_eq!(
            engine.handle_as_changed(Moment(1), event.clone()),
            vec![Effect::Show(Notice::Stopping), Effect::Stop(reason)]
        );
        assert_eq!(engine.handle_as_changed(Moment(2), event.clone()), vec![Effect::Stop(reason)], "asking again kills at once");
        assert_eq!(engine.handle_as_changed(Moment(3), Event::Finished(RunFinish::Stopped)), vec![Effect::Quit(exit)]);
        let mut idle = engine_with(OnChange::Restart);
        verdict(&mut idle, 1, "t", &[]);
        assert_eq!(idle.handle_as_changed(Moment(2), event), vec![Effect::Quit(exit)]);
    }
}

#[test]
fn a_reload_runs_everything_at_once_or_once_more_when_the_run_is_over() {
    let mut engine = engine();
    let reload = Event::Signal(OsSignal::Reload);
    assert_eq!(engine.handle_as_changed(Moment(1), reload.clone()), vec![Effect::Show(Notice::ReloadingAfterRun)]);
    save(&mut engine, 2, "a.py");
    let effects = verdict(&mut engine, 10, "t", &[]);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, &order.selection, order.unless_tree), (TriggerKind::Request, &Selection::All, None));
    assert!(!starts(&verdict(&mut engine, 20, "t", &[])), "it is owed once, and covers the save");
    let effects = engine.handle_as_changed(Moment(30), reload.clone());
    assert!(is_start(&effects, TriggerKind::Request));
    let effects = engine.handle_as_changed(Moment(40), Event::Finished(RunFinish::Failed));
    assert_eq!(effects, vec![Effect::Show(Notice::Waiting(LastRunState::NoVerdict))], "a wrong configuration ends no watch");
    assert!(is_start(&engine.handle_as_changed(Moment(50), reload), TriggerKind::Request));
}

#[test]
fn a_reload_does_not_hold_up_who_leaves() {
    let mut engine = engine();
    let (reload, leave) = (Event::Signal(OsSignal::Reload), Event::Signal(OsSignal::Terminate));
    assert!(!starts(&engine.handle_as_changed(Moment(1), reload.clone())));
    let told_and_stopped = vec![Effect::Show(Notice::Stopping), Effect::Stop(StopReason::Terminated)];
    assert_eq!(engine.handle_as_changed(Moment(2), leave), told_and_stopped);
    assert!(engine.handle_as_changed(Moment(3), reload).is_empty());
    assert_eq!(
        engine.handle_as_changed(Moment(4), Event::Finished(RunFinish::Stopped)),
        vec![Effect::Quit(CommandExit::Terminated)]
    );
}

#[test]
fn other_settings_count_from_the_next_decision_on() {
    let mut engine = engine();
    let settings = EngineSettings { on_change: OnChange::Queue, quiet: Duration::from_millis(40), ..engine.settings.clone() };
    assert!(engine.handle_as_changed(Moment(1), Event::Settings(settings)).is_empty());
    assert_eq!(save(&mut engine, 10, "a.py"), vec![Effect::WakeAt(Moment(50))], "a run is under way");
    assert!(!stops(&engine.handle_as_changed(Moment(50), Event::Timer)), "it is queued now");
}
