//! Orders of events after which a task had no verdict on the tree that was there. The simulator found each of them.

use super::*;
use proctor_model::CopiedFiles;

fn task(name: &str) -> TaskId {
    TaskId::try_from(name).expect("a task")
}

/// Returns an engine with two tasks. The second one is being looked at, after a verdict of the first on the tree `t0`.
fn with_second_task_under_way() -> Engine {
    let tasks = ["default", "T1"].map(task).to_vec();
    let mut engine = Engine::new(EngineSettings { tasks, ..settings(OnChange::Queue) });
    assert_eq!(started(&engine.begin()), Some(task("default")));
    begun(&mut engine, 10);
    assert_eq!(started(&verdict(&mut engine, 20, "t0", &[])), Some(task("T1")));
    engine
}

fn started(effects: &[Effect]) -> Option<TaskId> {
    effects.iter().find_map(|effect| if let Effect::Start(order) = effect { Some(order.task.clone()) } else { None })
}

#[test]
fn a_save_that_only_the_repetition_of_the_second_task_has_tested_runs_the_first_task_too() {
    let mut engine = with_second_task_under_way();
    begun(&mut engine, 30);
    save(&mut engine, 40, "a.py");
    moved_leaving(&mut engine, 50, &["a.py"], OnDisk::Newer);
    assert_eq!(started(&engine.handle_as_changed(Moment(2_000), Event::Timer)), Some(task("T1")));
    begun(&mut engine, 2_010);
    assert_eq!(started(&verdict(&mut engine, 2_020, "t1", &[])), Some(task("default")));
    begun(&mut engine, 2_030);
    assert_eq!(started(&verdict(&mut engine, 2_040, "t1", &[])), None, "both are on one tree");
}

#[test]
fn a_file_that_the_first_task_copied_to_the_project_is_tested_by_the_first_task_too() {
    let tasks = ["default", "T1"].map(task).to_vec();
    let mut engine = Engine::new(EngineSettings { tasks, ..settings(OnChange::Restart) });
    assert_eq!(started(&engine.begin()), Some(task("default")));
    begun(&mut engine, 10);
    let copied = CopiedFiles { tested: tree("t0"), tree: tree("t1"), paths: [path("out")].into() };
    assert!(engine.handle(Moment(20), Event::CopiedOut(copied)).is_empty());
    assert_eq!(started(&verdict(&mut engine, 20, "t0", &[])), Some(task("T1")));
    begun(&mut engine, 30);
    // The second task tests the copied file already.
    save(&mut engine, 40, "out");
    engine.handle(Moment(60), Event::Timer);
    assert!(engine.handle(Moment(60), Event::Compared(SavedContent::Same)).is_empty());
    assert_eq!(started(&verdict(&mut engine, 70, "t1", &[])), Some(task("default")));
}

#[test]
fn tasks_that_change_each_others_files_take_turns_only_so_often() {
    let mut engine = with_second_task_under_way();
    let mut runs = 0;
    loop {
        begun(&mut engine, 100 + runs);
        if started(&verdict(&mut engine, 100 + runs, &format!("t{}", runs + 1), &[])).is_none() {
            break;
        }
        runs += 1;
        assert!(runs < 20, "it goes on for ever");
    }
}

#[test]
fn a_save_that_a_run_of_named_checks_tests_is_tested_by_the_others_after_it() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    let named = Selection::Named(vec!["lint".to_owned()]);
    assert!(starts(&engine.handle(Moment(100), Event::Requested(TaskId::default_task(), named))));
    begun(&mut engine, 101);
    save(&mut engine, 102, "a.py");
    assert_eq!(engine.handle(Moment(122), Event::Timer), [Effect::Compare([path("a.py")].into())]);
    assert!(engine.handle(Moment(122), Event::Compared(SavedContent::Same)).is_empty());
    let partial = RunFinish::Partial { failed: Vec::new(), warned: Vec::new(), paused: false };
    assert!(is_start(&engine.handle_as_changed(Moment(200), Event::Finished(partial)), TriggerKind::Save));
}

#[test]
fn a_request_for_a_check_that_is_not_there_does_not_end_the_sweeps() {
    let mut engine = engine();
    verdict(&mut engine, 10, "t0", &[]);
    let named = Selection::Named(vec!["lnit".to_owned()]);
    assert!(starts(&engine.handle(Moment(100), Event::Requested(TaskId::default_task(), named))));
    engine.handle_as_changed(Moment(110), Event::Finished(RunFinish::Failed));
    assert!(starts(&engine.handle(Moment(60_000), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]))));
}

#[test]
fn a_service_that_begins_with_a_fresh_verdict_sweeps_and_runs_nothing_on_its_tree() {
    let mut engine = Engine::new(settings(OnChange::Restart));
    assert_eq!(engine.begin_without(&[(TaskId::default_task(), Some(tree("t0")))]), []);
    let effects = save(&mut engine, 100, "a.py");
    let [Effect::Start(order)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(order.unless_tree, Some(tree("t0")));
    engine.handle_as_changed(Moment(110), Event::Finished(RunFinish::Unchanged));
    assert!(starts(&engine.handle(Moment(60_000), Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]))));
}
