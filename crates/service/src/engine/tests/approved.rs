//! Tests what follows a person's approval that was given in another process.

use super::*;

fn approved(engine: &mut Engine, at: u64) -> Vec<Effect> {
    engine.handle_as_changed(Moment(at), Event::Hints(vec![WatchHint::Approved]))
}

fn refused(engine: &mut Engine, at: u64) -> Vec<Effect> {
    engine.handle_as_changed(Moment(at), Event::Finished(RunFinish::Refused))
}

#[test]
fn a_refused_task_runs_at_once_and_once_for_each_approval() {
    let mut engine = engine();
    assert_eq!(refused(&mut engine, 10), [Effect::Show(Notice::Waiting(LastRunState::Paused))]);
    let effects = approved(&mut engine, 1000);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((order.trigger.kind, &order.selection, order.unless_tree), (TriggerKind::Request, &Selection::All, None));
    // It still is not approved: the approval was that of another task.
    assert!(!starts(&refused(&mut engine, 1010)));
    assert!(starts(&approved(&mut engine, 2000)));
    begun(&mut engine, 2001);
    assert!(!starts(&verdict(&mut engine, 2010, "t0", &[])));
    assert_eq!(approved(&mut engine, 3000), [], "nothing is refused any more");
}

#[test]
fn an_approval_during_a_run_is_remembered_until_the_run_is_over() {
    let mut engine = engine();
    assert_eq!(approved(&mut engine, 5), []);
    assert!(is_start(&refused(&mut engine, 10), TriggerKind::Request), "the approval came after the ledger was read");
    begun(&mut engine, 11);
    assert_eq!(approved(&mut engine, 12), []);
    assert!(!starts(&verdict(&mut engine, 20, "t0", &[])), "it was approved when it ran");
}

#[test]
fn an_approval_while_a_save_settles_starts_no_run_of_its_own() {
    let mut engine = engine();
    refused(&mut engine, 10);
    save_many(&mut engine, 100, &["a.py", "b.py", "c.py"]);
    assert_eq!(approved(&mut engine, 105), []);
    assert!(is_start(&engine.handle_as_changed(Moment(120), Event::Timer), TriggerKind::Save));
    begun(&mut engine, 121);
    assert!(!starts(&verdict(&mut engine, 130, "t1", &[])));
}

#[test]
fn a_task_that_has_not_run_in_this_process_runs_what_has_no_result() {
    let mut engine = Engine::new(settings(OnChange::Restart));
    assert_eq!(engine.begin_without(&[(TaskId::default_task(), None)]), []);
    let effects = approved(&mut engine, 10);
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.selection, Selection::Missing);
}
