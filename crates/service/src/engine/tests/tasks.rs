//! Tests with several tasks: each task has its own turn, verdict and limits.

use super::*;

fn task(name: &str) -> TaskId {
    TaskId::try_from(name).expect("a task")
}

/// Returns an engine for the project's own checks and two more tasks. Its watch has not begun.
fn new_engine() -> Engine {
    let tasks = ["default", "T1", "T2"].map(task).to_vec();
    Engine::new(EngineSettings { tasks, ..settings(OnChange::Restart) })
}

/// Returns an engine in which every task has a verdict on the tree `t0`.
fn settled() -> Engine {
    let mut engine = new_engine();
    assert_eq!(started(&engine.begin()), ["default"]);
    for (at, next) in [(10, vec!["T1"]), (20, vec!["T2"]), (30, vec![])] {
        begun(&mut engine, at);
        assert_eq!(started(&verdict(&mut engine, at + 5, "t0", &[])), next);
    }
    engine
}

/// Returns the tasks that these effects start.
fn started(effects: &[Effect]) -> Vec<String> {
    effects.iter().filter_map(order).map(|order| order.task.to_string()).collect()
}

fn order(effect: &Effect) -> Option<&Order> {
    match effect {
        Effect::Start(order) => Some(order),
        Effect::Stop(_) | Effect::WakeAt(_) | Effect::Show(_) | Effect::ClearScreen | Effect::Quit(_) | Effect::Compare(_) => {
            None
        }
    }
}

/// Ends every ordered run with a verdict until no run is ordered. Returns the tasks in the order of their runs.
fn run_out(engine: &mut Engine, mut effects: Vec<Effect>, at: u64, tree: &str) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(order) = effects.iter().find_map(order) {
        all.push(order.task.to_string());
        assert!(all.len() < 10, "it goes on for ever: {all:?}");
        begun(engine, at);
        effects = verdict(engine, at, tree, &[]);
    }
    assert_eq!(effects, [Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
    all
}

#[test]
fn a_save_runs_each_of_them_one_after_the_other() {
    let mut engine = settled();
    let effects = save(&mut engine, 1000, "a.py");
    let first = effects.iter().find_map(order).expect("it starts");
    assert_eq!((first.task.as_str(), first.unless_tree), ("default", Some(tree("t0"))));
    assert_eq!(run_out(&mut engine, effects, 1010, "t1"), ["default", "T1", "T2"]);
    let effects = save(&mut engine, 2000, "a.py");
    assert_eq!(run_out(&mut engine, effects, 2010, "t2"), ["default", "T1", "T2"]);
}

#[test]
fn only_those_without_a_verdict_are_run_at_the_start() {
    let mut engine = new_engine();
    assert_eq!(started(&engine.begin_without(&[(task("default"), Some(tree("t0"))), (task("T2"), None)])), ["T1"]);
    begun(&mut engine, 10);
    assert_eq!(started(&verdict(&mut engine, 20, "t0", &[])), Vec::<String>::new());
    assert_eq!(new_engine().begin_without(&["default", "T1", "T2"].map(|name| (task(name), None))), []);
}

#[test]
fn a_save_during_one_of_them_stops_it_and_begins_with_the_first_again() {
    let mut engine = settled();
    save(&mut engine, 1000, "a.py");
    begun(&mut engine, 1001);
    assert_eq!(started(&verdict(&mut engine, 1010, "t1", &[])), ["T1"]);
    begun(&mut engine, 1011);
    save(&mut engine, 1020, "b.py");
    assert!(stops(&engine.handle_as_changed(Moment(1040), Event::Timer)));
    let effects = engine.handle_as_changed(Moment(1050), Event::Finished(RunFinish::Stopped));
    let first = effects.iter().find_map(order).expect("it starts");
    assert_eq!((first.task.as_str(), first.unless_tree), ("default", Some(tree("t1"))));
    assert_eq!(run_out(&mut engine, effects, 1060, "t2"), ["default", "T1", "T2"]);
}

#[test]
fn each_is_let_finish_after_its_own_restarts() {
    let mut engine = settled();
    let mut at = 1000;
    let mut effects = save(&mut engine, at, "a.py");
    for round in 0..4 {
        begun(&mut engine, at + 1);
        assert_eq!(started(&effects), ["default"]);
        let tree = format!("t{round}");
        assert_eq!(started(&verdict(&mut engine, at + 2, &tree, &[])), ["T1"]);
        begun(&mut engine, at + 3);
        save(&mut engine, at + 10, "a.py");
        let said = engine.handle_as_changed(Moment(at + 30), Event::Timer);
        if round == 3 {
            assert_eq!(
                said,
                [Effect::Show(Notice::LettingFinish)],
                "the first has ended each time, which is no merit of this one"
            );
            return;
        }
        assert!(stops(&said), "{round}: {said:?}");
        effects = engine.handle_as_changed(Moment(at + 40), Event::Finished(RunFinish::Stopped));
        at += 100;
    }
}

#[test]
fn what_is_wrong_with_one_keeps_none_of_the_others() {
    for finished in [RunFinish::Failed, RunFinish::Paused, RunFinish::Waits, RunFinish::Untriggered, RunFinish::Unchanged] {
        let mut engine = settled();
        save(&mut engine, 1000, "a.py");
        let effects = engine.handle_as_changed(Moment(1001), Event::Finished(finished.clone()));
        assert_eq!(started(&effects), ["T1"], "{finished:?}");
        assert_eq!(effects.len(), 1, "what was looked at and not run is worth no word yet: {effects:?}");
        // The first was looked at before the tree became `t1`.
        let last = (finished == RunFinish::Unchanged).then_some("default");
        let expected: Vec<_> = ["T1", "T2"].into_iter().chain(last).collect();
        assert_eq!(run_out(&mut engine, effects, 1010, "t1"), expected, "{finished:?}");
    }
}

#[test]
fn that_nothing_changed_is_said_once_for_all() {
    let mut engine = settled();
    let mut effects = save(&mut engine, 1000, "a.py");
    for expected in ["default", "T1", "T2"] {
        assert_eq!(started(&effects), [expected]);
        effects = engine.handle_as_changed(Moment(1001), Event::Finished(RunFinish::Unchanged));
    }
    assert_eq!(effects, [Effect::Show(Notice::Unchanged), Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
}

#[test]
fn one_whose_tree_moved_is_repeated_before_the_next_has_its_turn() {
    let mut engine = settled();
    save(&mut engine, 1000, "a.py");
    begun(&mut engine, 1001);
    verdict(&mut engine, 1010, "t1", &[]);
    begun(&mut engine, 1011);
    let effects = moved(&mut engine, 1020, &["log"]);
    assert!(!starts(&effects) && effects.contains(&Effect::WakeAt(Moment(1520))), "{effects:?}");
    assert_eq!(started(&engine.handle_as_changed(Moment(1520), Event::Timer)), ["T1"]);
    begun(&mut engine, 1521);
    let effects = moved(&mut engine, 1530, &["log"]);
    assert!(matches!(effects.as_slice(), [Effect::Show(Notice::Unstable { .. }), Effect::Start(_)]), "{effects:?}");
    assert_eq!(run_out(&mut engine, effects, 1540, "t1"), ["T2"]);
}

#[test]
fn a_request_for_one_of_them_covers_no_other() {
    let mut engine = settled();
    let request = Event::Requested(task("T9"), Selection::All);
    assert_eq!(started(&engine.handle_as_changed(Moment(100), request)), ["T9"], "also one that is not watched");
    begun(&mut engine, 101);
    assert_eq!(verdict(&mut engine, 110, "t0", &[]), [Effect::Show(Notice::Waiting(LastRunState::Verdict))]);
    // A waiting burst of saves is handled when the requested run has ended.
    save_many(&mut engine, 1000, &["a.py", "b.py", "c.py"]);
    assert_eq!(started(&engine.handle_as_changed(Moment(1001), Event::Awaited(task("T1")))), ["T1"]);
    begun(&mut engine, 1002);
    assert!(!starts(&verdict(&mut engine, 1010, "t1", &[])));
    let effects = engine.handle_as_changed(Moment(1020), Event::Timer);
    assert_eq!(run_out(&mut engine, effects, 1030, "t1"), ["default", "T1", "T2"]);
}

#[test]
fn a_request_while_another_ones_repetition_waits_loses_nothing() {
    let mut engine = settled();
    save(&mut engine, 1000, "a.py");
    begun(&mut engine, 1001);
    moved(&mut engine, 1010, &["log"]);
    let effects = engine.handle_as_changed(Moment(1100), Event::Requested(task("T9"), Selection::All));
    assert_eq!(run_out(&mut engine, effects, 1110, "t1"), ["T9", "default", "T1", "T2"]);
}

#[test]
fn the_key_for_failures_runs_those_that_failed() {
    let mut engine = settled();
    save(&mut engine, 1000, "a.py");
    begun(&mut engine, 1001);
    verdict(&mut engine, 1010, "t1", &[]);
    verdict(&mut engine, 1020, "t1", &["STEP.2"]);
    verdict(&mut engine, 1030, "t1", &[]);
    let effects = engine.handle_as_changed(Moment(1100), Event::Key(Key::FailedOnly));
    let only = effects.iter().find_map(order).expect("it starts");
    assert_eq!((only.task.as_str(), &only.selection), ("T1", &Selection::Named(vec!["STEP.2".to_owned()])));
    let finished = RunFinish::Partial { failed: Vec::new(), warned: Vec::new(), paused: false };
    assert_eq!(
        engine.handle_as_changed(Moment(1110), Event::Finished(finished)),
        [Effect::Show(Notice::Waiting(LastRunState::Verdict))]
    );
    let effects = engine.handle_as_changed(Moment(1200), Event::Key(Key::Again));
    assert_eq!(run_out(&mut engine, effects, 1210, "t1"), ["default", "T1", "T2"]);
}

#[test]
fn a_task_that_appears_has_its_turn_and_one_that_is_gone_has_none() {
    let mut engine = settled();
    let effects = save(&mut engine, 1000, "b-test-specification.json");
    assert_eq!(started(&effects), ["default"]);
    let tasks = ["default", "T2", "T3"].map(task).to_vec();
    engine.handle_as_changed(Moment(1001), Event::Settings(EngineSettings { tasks, ..settings(OnChange::Restart) }));
    assert_eq!(run_out(&mut engine, effects, 1010, "t1"), ["default", "T2", "T3"]);
}

#[test]
fn the_sweep_asks_one_of_them_and_runs_all_if_the_tree_is_another() {
    let mut engine = settled();
    let sweep = || Event::Hints(vec![WatchHint::LookAgain(WatchProblem::Sweep)]);
    assert_eq!(started(&engine.handle_as_changed(Moment(1000), sweep())), ["default"]);
    assert_eq!(engine.handle_as_changed(Moment(1001), Event::Finished(RunFinish::Unchanged)), []);
    let effects = engine.handle_as_changed(Moment(2000), sweep());
    assert_eq!(run_out(&mut engine, effects, 2010, "t1"), ["default", "T1", "T2"]);
}
