//! Tests of runs during which the tree changes: the run is repeated, and then the tree is called unstable.

use super::*;

#[test]
fn a_run_that_moves_its_tree_is_repeated_once_and_then_called_unstable() {
    let mut engine = engine();
    let effects = moved(&mut engine, 100, &["snapshot.json"]);
    assert!(effects.contains(&Effect::WakeAt(Moment(600))) && !starts(&effects), "{effects:?}");
    assert!(save(&mut engine, 110, "snapshot.json").is_empty(), "a late hint of the run itself");
    assert!(is_start(&engine.handle_as_changed(Moment(600), Event::Timer), TriggerKind::Moved));
    begun(&mut engine, 610);
    save(&mut engine, 650, "snapshot.json");
    assert!(
        !stops(&engine.handle_as_changed(Moment(670), Event::Timer)),
        "a run that writes this itself would be restarted for ever"
    );
    let effects = moved(&mut engine, 700, &["snapshot.json"]);
    assert!(matches!(effects.as_slice(), [Effect::Show(Notice::Unstable { .. }), _]), "{effects:?}");
    assert!(!starts(&engine.handle_as_changed(Moment(5000), Event::Timer)), "nothing runs by itself any more");
    assert!(starts(&save(&mut engine, 6000, "a.py")), "a change from outside does");
}

#[test]
fn content_that_no_run_has_seen_is_tested_after_a_longer_pause_and_given_up_only_after_many() {
    let mut engine = engine();
    let mut at = 100;
    for pause in [500, 1000, 2000, 4000, 8000] {
        let effects = moved_leaving(&mut engine, at, &["a.py"], OnDisk::Newer);
        assert!(effects.contains(&Effect::WakeAt(Moment(at + pause))), "{pause}: {effects:?}");
        assert!(is_start(&engine.handle_as_changed(Moment(at + pause), Event::Timer), TriggerKind::Moved), "{pause}");
        at += pause + 100;
    }
    let effects = moved_leaving(&mut engine, at, &["a.py"], OnDisk::Newer);
    assert!(matches!(effects.as_slice(), [Effect::Show(Notice::Unstable { .. }), _]), "{effects:?}");
}

#[test]
fn a_save_while_a_repetition_waits_comes_from_outside_and_counts_as_a_save() {
    let mut engine = engine();
    moved(&mut engine, 100, &["a.py"]);
    assert!(is_start(&save(&mut engine, 200, "a.py"), TriggerKind::Save));
    moved(&mut engine, 300, &["a.py"]);
    let effects = engine.handle_as_changed(Moment(800), Event::Timer);
    assert!(is_start(&effects, TriggerKind::Moved), "counted anew, not unstable: {effects:?}");
}

/// Plays a check that swaps two files through a third one in every run. Returns how many runs it had until nothing runs by
/// itself any more, the pauses before the repetitions, and the paths that are named as unstable.
fn swap_until_it_rests(engine: &mut Engine, hints_come_late: bool) -> (u32, Vec<u64>, BTreeSet<TreePath>) {
    let (mut at, mut runs, mut pauses) = (100, 1, Vec::new());
    loop {
        assert!(runs < 40, "it never rests; pauses {pauses:?}");
        let swap = vec![WatchHint::Saved(path("b")), WatchHint::Removed(path("third")), WatchHint::Saved(path("a"))];
        let mut effects = Vec::new();
        if !hints_come_late {
            effects.extend(engine.handle_as_changed(Moment(at), Event::Hints(swap.clone())));
            effects.extend(engine.handle_as_changed(Moment(at + 30), Event::Timer));
        }
        if stops(&effects) {
            effects = engine.handle_as_changed(Moment(at + 40), Event::Finished(RunFinish::Stopped));
        } else {
            effects = moved_leaving(engine, at + 40, &["a", "b"], OnDisk::Newer);
        }
        if hints_come_late {
            effects.extend(engine.handle_as_changed(Moment(at + 200), Event::Hints(swap)));
        }
        let unstable = effects
            .iter()
            .find_map(|effect| if let Effect::Show(Notice::Unstable { paths }) = effect { Some(paths.clone()) } else { None });
        if let Some(paths) = unstable {
            return (runs, pauses, paths);
        }
        let wake = effects.iter().rev().find_map(|effect| if let Effect::WakeAt(moment) = effect { Some(*moment) } else { None });
        if !starts(&effects) {
            let wake = wake.unwrap_or_else(|| panic!("run {runs}: nothing follows: {effects:?}"));
            if wake.0 > at + 300 {
                pauses.push(wake.0 - (at + 40));
            }
            effects = engine.handle_as_changed(wake, Event::Timer);
            assert!(starts(&effects), "run {runs}: {effects:?}");
            at = wake.0;
        }
        runs += 1;
        at += 1000;
        begun(engine, at - 500);
    }
}

#[test]
fn a_check_that_swaps_files_runs_a_bounded_number_of_times_with_growing_pauses() {
    for on_change in [OnChange::Restart, OnChange::Queue] {
        let mut engine = engine_with(on_change);
        let (runs, pauses, paths) = swap_until_it_rests(&mut engine, false);
        let restarts = if on_change == OnChange::Restart { 3 } else { 0 };
        assert_eq!(runs, 1 + restarts + 5, "{on_change:?}: {pauses:?}");
        assert_eq!(pauses, [500, 1000, 2000, 4000], "{on_change:?}");
        assert_eq!(paths, BTreeSet::from([path("a"), path("b"), path("third")]));
        assert!(!starts(&engine.handle_as_changed(Moment(100_000), Event::Timer)), "nothing runs by itself any more");
        assert!(starts(&save(&mut engine, 200_000, "c")), "a save while nothing runs does");
    }
}

#[test]
fn hints_that_come_long_after_their_run_do_not_begin_the_count_anew() {
    let mut engine = engine_with(OnChange::Queue);
    let (runs, ..) = swap_until_it_rests(&mut engine, true);
    assert!(runs <= 12, "{runs}");
}

#[test]
fn a_late_hint_of_an_unstable_run_starts_nothing_and_a_save_of_another_file_does() {
    for (name, is_start) in [("snapshot.json", false), ("a.py", true)] {
        let mut engine = engine();
        moved(&mut engine, 100, &["snapshot.json"]);
        engine.handle_as_changed(Moment(600), Event::Timer);
        begun(&mut engine, 610);
        moved(&mut engine, 700, &["snapshot.json"]);
        assert_eq!(starts(&save(&mut engine, 710, name)), is_start, "{name}");
        assert!(starts(&save(&mut engine, 800, "b.py")) || is_start);
    }
}
