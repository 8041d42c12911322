//! Tests of saves: when a save starts a run, when it stops one, and which run follows.

use super::*;

#[test]
fn a_lone_save_runs_at_once_and_names_its_path() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    let effects = save(&mut engine, 1000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, order.trigger.paths.as_slice()), (TriggerKind::Save, &["a.py".to_owned()][..]));
    assert_eq!(order.hints, only(&["a.py"]));
    assert_eq!(order.unless_tree, Some(tree("t0")), "a save that changes nothing starts nothing");
}

#[test]
fn a_save_runs_what_it_triggers_and_what_failed_and_a_change_that_triggers_nothing_is_said() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &["tsc"]);
    let effects = save(&mut engine, 1000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Triggered { failed: vec!["tsc".to_owned()] });
    let effects = engine.handle_as_changed(Moment(1030), Event::Finished(RunFinish::Untriggered));
    assert_eq!(effects, vec![Effect::Show(Notice::Untriggered), Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
    let effects = save(&mut engine, 2000, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.unless_tree, Some(tree("t0")), "the last verdict is still the last verdict");
}

#[test]
fn a_timer_that_comes_too_early_is_set_again() {
    let mut engine = engine();
    verdict(&mut engine, 100, "t0", &[]);
    save_many(&mut engine, 1000, &["a.py", "b.py", "c.py"]);
    assert_eq!(save(&mut engine, 1015, "d.py"), vec![Effect::WakeAt(Moment(1035))]);
    assert_eq!(engine.handle_as_changed(Moment(1020), Event::Timer), vec![Effect::WakeAt(Moment(1035))]);
    assert!(starts(&engine.handle_as_changed(Moment(1035), Event::Timer)));
}

#[test]
fn a_save_during_a_run_stops_it_and_starts_it_again_on_the_new_tree() {
    let mut engine = engine();
    assert_eq!(save(&mut engine, 50, "a.py"), vec![Effect::WakeAt(Moment(70))]);
    assert!(stops(&engine.handle_as_changed(Moment(70), Event::Timer)));
    let effects = engine.handle_as_changed(Moment(90), Event::Finished(RunFinish::Stopped));
    assert!(is_start(&effects, TriggerKind::Save), "{effects:?}");
}

#[test]
fn after_three_restarts_in_a_row_one_run_is_let_finish_and_then_run_again() {
    let mut engine = engine();
    let mut at = 100;
    for name in ["a", "b", "c"] {
        save(&mut engine, at, name);
        assert!(stops(&engine.handle_as_changed(Moment(at + 20), Event::Timer)), "{name}");
        assert!(starts(&engine.handle_as_changed(Moment(at + 30), Event::Finished(RunFinish::Stopped))), "{name}");
        begun(&mut engine, at + 35);
        at += 100;
    }
    save(&mut engine, at, "d");
    let effects = engine.handle_as_changed(Moment(at + 20), Event::Timer);
    assert_eq!(effects, vec![Effect::Show(Notice::LettingFinish)]);
    save(&mut engine, at + 30, "e");
    assert!(engine.handle_as_changed(Moment(at + 50), Event::Timer).is_empty(), "said once");
    let effects = moved(&mut engine, at + 60, &["d"]);
    assert!(is_start(&effects, TriggerKind::Save), "the save during the run is not lost: {effects:?}");
}

#[test]
fn with_queue_a_run_always_finishes_and_the_save_is_run_afterwards() {
    let mut engine = engine_with(OnChange::Queue);
    save(&mut engine, 50, "a.py");
    assert!(engine.handle_as_changed(Moment(70), Event::Timer).is_empty());
    save(&mut engine, 80, "b.py");
    let effects = moved(&mut engine, 200, &["a.py"]);
    assert!(is_start(&effects, TriggerKind::Save), "{effects:?}");
}

#[test]
fn a_save_in_the_last_moment_of_a_run_is_run_unless_the_verdict_covers_it() {
    let mut engine = engine();
    save(&mut engine, 95, "a.py");
    let effects = verdict(&mut engine, 100, "t1", &[]);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.unless_tree, Some(tree("t1")));
    let effects = engine.handle_as_changed(Moment(120), Event::Finished(RunFinish::Unchanged));
    assert_eq!(effects, vec![Effect::Show(Notice::Unchanged), Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
}

#[test]
fn saves_of_the_same_file_restart_a_run_each_time_until_the_limit() {
    let mut engine = engine();
    for at in [100, 200, 300] {
        save(&mut engine, at, "a.py");
        assert!(stops(&engine.handle_as_changed(Moment(at + 20), Event::Timer)), "{at}");
        assert!(starts(&engine.handle_as_changed(Moment(at + 30), Event::Finished(RunFinish::Stopped))), "{at}");
        begun(&mut engine, at + 31);
    }
    save(&mut engine, 400, "a.py");
    assert_eq!(engine.handle_as_changed(Moment(420), Event::Timer), vec![Effect::Show(Notice::LettingFinish)]);
}

#[test]
fn a_vanished_root_is_said_and_taken_up_again_when_it_returns() {
    let mut engine = engine();
    verdict(&mut engine, 1, "t", &[]);
    save_many(&mut engine, 2, &["a.py", "b.py", "c.py"]);
    let effects = engine.handle_as_changed(Moment(3), Event::Hints(vec![WatchHint::RootVanished]));
    assert_eq!(effects, vec![Effect::Show(Notice::RootVanished)]);
    assert!(!starts(&engine.handle_as_changed(Moment(30), Event::Timer)), "there is nothing to run on");
    engine.handle_as_changed(Moment(900), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::RootReturned)]));
    assert!(starts(&engine.handle_as_changed(Moment(920), Event::Timer)));
}

#[test]
fn a_rebase_is_waited_out_and_a_conflict_that_stays_is_not() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    let git = |engine: &mut Engine, at, operation| engine.handle_as_changed(Moment(at), Event::Git(operation));
    git(&mut engine, 1000, Some(GitOperation::Rebase));
    assert_eq!(save(&mut engine, 1000, "a"), vec![Effect::WakeAt(Moment(1025))]);
    assert_eq!(engine.handle_as_changed(Moment(1025), Event::Timer), vec![Effect::WakeAt(Moment(1050))]);
    git(&mut engine, 1050, None);
    assert!(starts(&engine.handle_as_changed(Moment(1050), Event::Timer)));
    verdict(&mut engine, 1100, "t1", &[]);
    git(&mut engine, 2000, Some(GitOperation::Merge));
    save(&mut engine, 2000, "a");
    let effects = engine.handle_as_changed(Moment(7000), Event::Timer);
    assert!(
        matches!(effects.as_slice(), [Effect::Show(Notice::GitGoesOn(GitOperation::Merge)), Effect::Start(_)]),
        "{effects:?}"
    );
    verdict(&mut engine, 7100, "t2", &[]);
    assert!(starts(&save(&mut engine, 7200, "a")), "who works on the conflict does not wait each time");
}

#[test]
fn a_save_that_changes_no_content_stops_no_run_and_the_next_scan_still_looks_at_it() {
    let mut engine = engine();
    assert_eq!(save(&mut engine, 50, "a"), vec![Effect::WakeAt(Moment(70))]);
    assert_eq!(engine.handle(Moment(70), Event::Timer), vec![Effect::Compare([path("a")].into())]);
    assert!(engine.handle(Moment(70), Event::Compared(SavedContent::Same)).is_empty());
    let effects = verdict(&mut engine, 100, "tree", &[]);
    assert_eq!(effects, vec![Effect::Show(Notice::Waiting(LastRunState::Verdict))], "nothing waits");
    save(&mut engine, 1000, "b");
    let effects = engine.handle_as_changed(Moment(1002), Event::Timer);
    let hints = effects.iter().find_map(|effect| if let Effect::Start(order) = effect { Some(&order.hints) } else { None });
    assert!(hints.is_none_or(|hints| *hints == only(&["a", "b"])), "{hints:?}");
}

#[test]
fn a_verdict_of_a_run_that_was_let_finish_is_said_to_be_for_an_older_tree() {
    let mut engine = engine_with(OnChange::Queue);
    save(&mut engine, 50, "a");
    assert!(engine.handle_as_changed(Moment(70), Event::Timer).is_empty());
    let effects = verdict(&mut engine, 100, "tree", &[]);
    assert_eq!(effects.first(), Some(&Effect::Show(Notice::OlderTree)), "{effects:?}");
    assert!(starts(&effects));
}

/// The checks are over in every run before its verdict. That alone does not mean that the result is for an older
/// tree.
#[test]
fn a_verdict_for_the_tree_that_is_there_is_not_said_to_be_for_an_older_one() {
    let mut engine = engine();
    assert!(engine.handle(Moment(60), Event::ChecksOver).is_empty());
    let effects = verdict(&mut engine, 100, "tree", &[]);
    assert_eq!(effects, vec![Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
    // A save while the result is sealed stops nothing and is tested next.
    let mut engine = self::engine();
    engine.handle(Moment(60), Event::ChecksOver);
    assert!(save(&mut engine, 70, "a").is_empty());
    let effects = verdict(&mut engine, 100, "tree", &[]);
    assert!(!effects.contains(&Effect::Show(Notice::OlderTree)), "{effects:?}");
}
