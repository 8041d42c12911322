//! Tests: feed events to the state of one action, and check which steps it demands and how it says that the action
//! ended.

use proptest::prelude::{Strategy, any, prop, proptest};
use proptest::{prop_assert, prop_assert_eq};

use crate::process::clock;
use crate::process::protocol::ActionNumber;
use proctor_model::DurationMs;

use super::*;
use proctor_model::IsolationLevel;

const NUMBER: ActionNumber = ActionNumber(1);
const PYTEST: [StopStage; 2] = [StopStage::Sigint, StopStage::Sigterm];

fn limits(timeout_ms: u64, grace_ms: u64, ladder: &[StopStage]) -> ActionLimits {
    ActionLimits {
        timeout: Duration::from_millis(timeout_ms),
        idle: None,
        output: None,
        grace: Duration::from_millis(grace_ms),
        ladder: ladder.to_vec(),
    }
}

fn base() -> Monotonic {
    clock::monotonic()
}

fn at(base: Monotonic, millis: u64) -> Monotonic {
    base.plus(Duration::from_millis(millis)).expect("near")
}

fn survivor() -> Survivor {
    Survivor { pid: 4711, argv: vec!["sleep".to_owned()], age: None }
}

fn ended(status: LeaderStatus, survivors: Vec<Survivor>) -> LauncherEvent {
    LauncherEvent::Ended {
        number: NUMBER,
        leader: EndedChild { status, usage: Usage::default(), used_git: false },
        survivors,
        group: None,
    }
}

fn exited(code: i32) -> LauncherEvent {
    ended(LeaderStatus::Exited { code }, Vec::new())
}

#[test]
fn an_exit_with_closed_pipes_is_finished_at_once() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    assert_eq!(progress.next_step(base, true), ProgressStep::Wait(Some(at(base, 1000))));
    progress.note_event(
        at(base, 5),
        LauncherEvent::Started {
            number: NUMBER,
            level: IsolationLevel::Namespace,
            obstacles: Vec::new(),
            unenforced: Vec::new(),
            early: proctor_model::EarlyUse::Used,
        },
    );
    progress.note_event(at(base, 9), exited(3));
    assert_eq!(progress.next_step(at(base, 9), false), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::Exited { code: 3 });
}

#[test]
fn an_exit_at_the_deadline_that_was_seen_first_is_an_exit() {
    let (base, limits) = (base(), limits(10, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(at(base, 11), exited(0));
    assert_eq!(progress.next_step(at(base, 11), false), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::Exited { code: 0 });
}

#[test]
fn a_time_out_climbs_the_ladder_and_no_status_changes_it() {
    let (base, limits) = (base(), limits(10, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Signal(StopStage::Sigint));
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Wait(Some(at(base, 60))));
    assert_eq!(progress.next_step(at(base, 60), true), ProgressStep::Signal(StopStage::Sigterm));
    progress.note_event(at(base, 61), exited(0));
    assert_eq!(progress.next_step(at(base, 61), false), ProgressStep::Finish);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: Some(0), signal: None };
    assert_eq!(progress.end(), end);
}

#[test]
fn the_ladder_goes_on_while_members_outlive_the_leader() {
    let (base, limits) = (base(), limits(10, 100, &[StopStage::Sigterm]));
    let mut progress = ActionProgress::begin(base, &limits);
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Signal(StopStage::Sigterm));
    progress.note_event(at(base, 12), ended(LeaderStatus::Signalled { signal: 15 }, vec![survivor()]));
    assert_eq!(progress.next_step(at(base, 12), true), ProgressStep::Wait(Some(at(base, 110))));
    assert_eq!(progress.next_step(at(base, 110), true), ProgressStep::Signal(StopStage::Sigkill));
    assert_eq!(progress.next_step(at(base, 110), true), ProgressStep::Wait(Some(at(base, 2110))));
    progress.note_event(at(base, 111), LauncherEvent::Emptied { number: NUMBER, group: None });
    assert_eq!(progress.next_step(at(base, 111), false), ProgressStep::Finish);
    assert_eq!(progress.survivors(), [survivor()]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigkill, code: None, signal: Some(15) };
    assert_eq!(progress.end(), end);
}

#[test]
fn survivors_of_a_natural_end_are_killed_at_once_and_change_no_status() {
    let (base, limits) = (base(), limits(10_000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(at(base, 5), ended(LeaderStatus::Exited { code: 0 }, vec![survivor()]));
    assert_eq!(progress.next_step(at(base, 5), true), ProgressStep::Signal(StopStage::Sigkill));
    assert_eq!(progress.next_step(at(base, 5), true), ProgressStep::Wait(Some(at(base, 2005))));
    progress.note_event(at(base, 6), LauncherEvent::Emptied { number: NUMBER, group: None });
    assert_eq!(progress.next_step(at(base, 6), true), ProgressStep::Wait(Some(at(base, 206))));
    assert_eq!(progress.next_step(at(base, 206), true), ProgressStep::Finish);
    assert_eq!((progress.end(), progress.survivors()), (ActionEnd::Exited { code: 0 }, &[survivor()][..]));
}

#[test]
fn a_pipe_that_never_falls_silent_is_left_after_the_drain() {
    let (base, limits) = (base(), limits(10_000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(base, exited(0));
    for millis in (0..1000).step_by(50) {
        progress.note_output(at(base, millis), 1);
        assert!(matches!(progress.next_step(at(base, millis), true), ProgressStep::Wait(_)), "after {millis} ms");
    }
    assert_eq!(progress.next_step(at(base, 1000), true), ProgressStep::Finish);
}

#[test]
fn a_second_request_kills_at_once_and_the_stronger_reason_stands() {
    let (base, limits) = (base(), limits(10_000, 5000, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_request(at(base, 1), StopReason::Superseded);
    assert_eq!(progress.next_step(at(base, 1), true), ProgressStep::Signal(StopStage::Sigint));
    progress.note_request(at(base, 2), StopReason::Superseded);
    assert!(matches!(progress.next_step(at(base, 2), true), ProgressStep::Wait(_)), "another save is no insisting");
    progress.note_request(at(base, 3), StopReason::Terminated);
    assert_eq!(progress.next_step(at(base, 3), true), ProgressStep::Signal(StopStage::Sigkill));
    progress.note_event(at(base, 4), ended(LeaderStatus::Signalled { signal: 9 }, Vec::new()));
    assert_eq!(progress.next_step(at(base, 4), false), ProgressStep::Finish);
    let end = ActionEnd::Stopped { reason: StopReason::Terminated, stage: StopStage::Sigkill };
    assert_eq!(progress.end(), end);
}

#[test]
fn one_request_during_a_time_out_leaves_the_ladder_and_the_result_alone() {
    let (base, limits) = (base(), limits(10, 100, &[StopStage::Sigterm]));
    let mut progress = ActionProgress::begin(base, &limits);
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Signal(StopStage::Sigterm));
    progress.note_request(at(base, 11), StopReason::Interrupted);
    assert_eq!(progress.next_step(at(base, 11), true), ProgressStep::Wait(Some(at(base, 110))));
    progress.note_request(at(base, 12), StopReason::Interrupted);
    assert_eq!(progress.next_step(at(base, 12), true), ProgressStep::Signal(StopStage::Sigkill));
    assert!(matches!(progress.end(), ActionEnd::TimedOut { .. }));
}

#[test]
fn a_request_after_a_natural_end_changes_nothing() {
    let (base, limits) = (base(), limits(10, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(base, exited(0));
    progress.note_request(at(base, 1), StopReason::Interrupted);
    assert_eq!(progress.end(), ActionEnd::Exited { code: 0 });
}

#[test]
fn what_sigkill_does_not_end_is_given_up_after_the_patience() {
    let (base, limits) = (base(), limits(10, 0, &[]));
    let mut progress = ActionProgress::begin(base, &limits);
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Signal(StopStage::Sigkill));
    assert_eq!(progress.next_step(at(base, 10), true), ProgressStep::Wait(Some(at(base, 2010))));
    assert!(matches!(progress.next_step(at(base, 2010), true), ProgressStep::Wait(_)), "the pipes are drained first");
    assert_eq!(progress.next_step(at(base, 2210), true), ProgressStep::Finish);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigkill, code: None, signal: None };
    assert_eq!(progress.end(), end);
}

#[test]
fn a_lost_launcher_is_never_a_success() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_lost(at(base, 5), "gone".to_owned(), vec![survivor()]);
    assert_eq!(progress.next_step(at(base, 5), false), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::Lost { why: "gone".to_owned() });
}

#[test]
fn a_keeper_that_died_with_its_action_at_a_limit_of_the_action_is_no_lost_status() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    for (memory_exceeded, expected) in [
        (true, ActionEnd::TimedOut { limit: LimitKind::Memory, stage: StopStage::Sigkill, code: None, signal: None }),
        (false, ActionEnd::Lost { why: "killed".to_owned() }),
    ] {
        let mut progress = ActionProgress::begin(base, &limits);
        let group = Some(GroupUsage { memory_exceeded, ..GroupUsage::default() });
        progress.note_event(base, LauncherEvent::Vanished { number: NUMBER, why: "killed".to_owned(), group });
        assert_eq!(progress.end(), expected);
    }
}

#[test]
fn an_end_that_was_seen_before_the_launcher_was_lost_stands() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(base, ended(LeaderStatus::Exited { code: 1 }, vec![survivor()]));
    progress.note_lost(at(base, 5), "gone".to_owned(), Vec::new());
    assert_eq!(progress.next_step(at(base, 5), false), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::Exited { code: 1 });
}

#[test]
fn a_child_that_was_not_started_has_no_output_to_wait_for() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    let mut progress = ActionProgress::begin(base, &limits);
    let failure = SpawnFailure::NotExecutable { program: "/etc/passwd".to_owned() };
    progress.note_event(base, LauncherEvent::NotStarted { number: NUMBER, failure: failure.clone() });
    assert_eq!(progress.next_step(base, true), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::NotStarted(failure));
}

#[test]
fn silence_is_counted_from_the_start_and_from_the_last_byte() {
    let (base, limits) = (base(), ActionLimits { idle: Some(Duration::from_millis(30)), ..limits(1000, 100, &PYTEST) });
    let silent = &mut ActionProgress::begin(base, &limits);
    assert_eq!(silent.next_step(base, true), ProgressStep::Wait(Some(at(base, 30))));
    assert_eq!(silent.next_step(at(base, 30), true), ProgressStep::Signal(StopStage::Sigint));

    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_output(at(base, 29), 1);
    assert_eq!(progress.next_step(at(base, 30), true), ProgressStep::Wait(Some(at(base, 59))));
    progress.note_output(at(base, 58), 2);
    assert_eq!(progress.next_step(at(base, 59), true), ProgressStep::Wait(Some(at(base, 88))));
    assert_eq!(progress.next_step(at(base, 88), true), ProgressStep::Signal(StopStage::Sigint));
    progress.note_output(at(base, 89), 3);
    progress.note_event(at(base, 90), exited(0));
    assert_eq!(progress.next_step(at(base, 90), false), ProgressStep::Finish);
    let end = ActionEnd::TimedOut { limit: LimitKind::Idle, stage: StopStage::Sigint, code: Some(0), signal: None };
    assert_eq!(progress.end(), end);
}

#[test]
fn of_two_limits_of_time_the_one_that_is_hit_first_is_named() {
    for (idle_ms, limit) in [(9, LimitKind::Idle), (10, LimitKind::Wall), (11, LimitKind::Wall)] {
        let (base, limits) = (base(), ActionLimits { idle: Some(Duration::from_millis(idle_ms)), ..limits(10, 100, &PYTEST) });
        let mut progress = ActionProgress::begin(base, &limits);
        // The step is asked for only at 50 ms, when both limits have passed. Nevertheless the limit that was exceeded
        // first is named.
        assert_eq!(progress.next_step(at(base, 50), true), ProgressStep::Signal(StopStage::Sigint));
        let end = ActionEnd::TimedOut { limit, stage: StopStage::Sigint, code: None, signal: None };
        assert_eq!(progress.end(), end);
    }
}

#[test]
fn an_action_that_has_ended_may_be_silent() {
    let (base, limits) = (base(), ActionLimits { idle: Some(Duration::from_millis(30)), ..limits(1000, 100, &PYTEST) });
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(at(base, 29), exited(0));
    assert_eq!(progress.next_step(at(base, 31), true), ProgressStep::Wait(Some(at(base, 229))));
    assert_eq!(progress.next_step(at(base, 229), true), ProgressStep::Finish);
    assert_eq!(progress.end(), ActionEnd::Exited { code: 0 });
}

#[test]
fn the_first_byte_beyond_the_limit_of_output_begins_the_ladder_and_exit_0_changes_nothing() {
    let (base, limits) = (base(), ActionLimits { output: Some(100), ..limits(1000, 100, &PYTEST) });
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_output(at(base, 1), 100);
    assert_eq!(progress.next_step(at(base, 1), true), ProgressStep::Wait(Some(at(base, 1000))));
    assert!(!progress.is_stopping());
    progress.note_output(at(base, 2), 101);
    assert!(progress.is_stopping());
    assert_eq!(progress.next_step(at(base, 2), true), ProgressStep::Signal(StopStage::Sigint));
    progress.note_output(at(base, 3), 5000);
    assert_eq!(progress.next_step(at(base, 52), true), ProgressStep::Signal(StopStage::Sigterm));
    progress.note_event(at(base, 53), exited(0));
    assert_eq!(progress.next_step(at(base, 53), false), ProgressStep::Finish);
    let end = ActionEnd::TimedOut { limit: LimitKind::Output, stage: StopStage::Sigterm, code: Some(0), signal: None };
    assert_eq!(progress.end(), end);
}

#[test]
fn what_is_printed_after_the_end_is_no_limit_of_the_action() {
    let (base, limits) = (base(), ActionLimits { output: Some(100), ..limits(1000, 100, &PYTEST) });
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(base, ended(LeaderStatus::Exited { code: 0 }, vec![survivor()]));
    progress.note_output(at(base, 1), 101);
    assert_eq!(progress.next_step(at(base, 1), true), ProgressStep::Signal(StopStage::Sigkill));
    assert_eq!(progress.end(), ActionEnd::Exited { code: 0 });
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Ended { leaves_survivors: bool },
    Emptied,
    Lost,
    Request(StopReason),
    OwnFault,
    Output,
}

fn happening() -> impl Strategy<Value = Happening> {
    let reason = prop::sample::select(vec![StopReason::Superseded, StopReason::Interrupted, StopReason::Terminated]);
    proptest::prop_oneof![
        any::<bool>().prop_map(|leaves_survivors| Happening::Ended { leaves_survivors }),
        proptest::prelude::Just(Happening::Emptied),
        proptest::prelude::Just(Happening::Lost),
        reason.prop_map(Happening::Request),
        proptest::prelude::Just(Happening::OwnFault),
        proptest::prelude::Just(Happening::Output),
    ]
}

proptest! {
    /// Whatever events arrive in whatever order: the action is over within the sum of its time limits, and an action
    /// that was stopped never counts as a success.
    #[test]
    fn every_action_is_over_within_timeout_grace_patience_and_drain(
        happenings in prop::collection::vec((0_u64..120, happening()), 0..40),
        idle in prop::option::of(1_u64..1200),
        output in prop::option::of(0_u64..300),
    ) {
        let idle = idle.map(Duration::from_millis);
        let (base, limits) = (base(), ActionLimits { idle, output, ..limits(1000, 100, &PYTEST) });
        let mut printed = 0;
        let mut progress = ActionProgress::begin(base, &limits);
        let bound = at(base, 1100).plus(KILL_PATIENCE + DRAIN).expect("near");
        let (mut now, mut happenings, mut elapsed) = (base, happenings.into_iter().peekable(), 0);
        let (mut is_ended, mut signals, mut is_stopped) = (false, Vec::new(), false);
        loop {
            match progress.next_step(now, true) {
                ProgressStep::Finish => break,
                ProgressStep::Signal(stage) => {
                    is_stopped |= !is_ended;
                    signals.push(stage);
                    prop_assert!(signals.len() <= 3, "{signals:?}");
                }
                ProgressStep::Wait(until) => {
                    let until = until.expect("there is always a deadline");
                    prop_assert!(until > now, "a wait that is over already would spin");
                    let next = happenings.peek().and_then(|(after, _)| base.plus(Duration::from_millis(elapsed + after)));
                    let Some((after, happening)) = next.filter(|next| *next < until).and_then(|_| happenings.next()) else {
                        now = until;
                        continue;
                    };
                    elapsed += after;
                    now = now.max(at(base, elapsed));
                    match happening {
                        Happening::Ended { leaves_survivors } if !is_ended => {
                            is_ended = true;
                            let left = if leaves_survivors { vec![survivor()] } else { Vec::new() };
                            progress.note_event(now, ended(LeaderStatus::Exited { code: 0 }, left));
                        }
                        Happening::Emptied if is_ended => progress.note_event(now, LauncherEvent::Emptied { number: NUMBER, group: None }),
                        Happening::Ended { .. } | Happening::Emptied => {}
                        Happening::Lost => progress.note_lost(now, "gone".to_owned(), Vec::new()),
                        Happening::Request(reason) => progress.note_request(now, reason),
                        Happening::OwnFault => progress.note_own_fault(now),
                        Happening::Output => {
                            printed += 30;
                            progress.note_output(now, printed);
                        }
                    }
                }
            }
        }
        prop_assert!(now <= bound);
        let end = progress.end();
        if is_stopped {
            prop_assert_eq!(end.exit_code(), None);
        }
    }
}

#[test]
fn a_limit_the_kernel_enforced_is_a_time_out_and_a_cgroup_tells_what_everything_used() {
    let (base, limits) = (base(), limits(1000, 100, &PYTEST));
    let exceeded = |memory_exceeded, processes_exceeded| GroupUsage {
        user: Some(DurationMs(7)),
        system: None,
        peak_memory: Some(3 * 1024 * 1024),
        memory_exceeded,
        processes_exceeded,
        written_exceeded: !memory_exceeded && !processes_exceeded,
    };
    for (group, limit) in [
        (exceeded(true, false), LimitKind::Memory),
        (exceeded(false, true), LimitKind::Pids),
        (exceeded(false, false), LimitKind::Written),
    ] {
        let mut progress = ActionProgress::begin(base, &limits);
        let leader = EndedChild { status: LeaderStatus::Signalled { signal: 9 }, usage: Usage::default(), used_git: false };
        let event = LauncherEvent::Ended { number: NUMBER, leader, survivors: Vec::new(), group: Some(group) };
        progress.note_event(base, event);
        let end = ActionEnd::TimedOut { limit, stage: StopStage::Sigkill, code: None, signal: Some(9) };
        assert_eq!(progress.end(), end);
        assert_eq!(progress.usage().map(|usage| (usage.user, usage.peak_memory_kib)), Some((DurationMs(7), 3072)));
    }
    let mut progress = ActionProgress::begin(base, &limits);
    progress.note_event(base, ended(LeaderStatus::Exited { code: 0 }, vec![survivor()]));
    progress.note_event(at(base, 1), LauncherEvent::Emptied { number: NUMBER, group: Some(GroupUsage::default()) });
    assert_eq!(progress.end(), ActionEnd::Exited { code: 0 });
}
