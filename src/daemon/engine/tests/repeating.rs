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
