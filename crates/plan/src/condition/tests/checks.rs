//! The static check: names, types, and conditions that decide nothing.

use insta::assert_snapshot;

use super::{faults, read, type_of};
use crate::condition::{ConditionFault, Constancy, check};
use proctor_model::{ActionId, ActionType};

const RIGHT: &[&str] = &[
    "STEP.1.exitCode === 0",
    "STEP.1.exitCode === 0 || STEP.1.exitCode === 1",
    "STEP.9.statusCode !== 200",
    "STEP.9.status >= 200 && STEP.9.statusCode < 300",
    "PREREQ.1.failed === true",
    "PREREQ.1.exitCode === 0",
    "STEP.7.exists && STEP.7.size > 64 && STEP.7.isValidJSON && STEP.7.patternMatches",
    "STEP['5'].body.id === 1",
    "STEP['5'].body.ok",
    "STEP['5'].body.items.length > 0",
    "STEP['5'].body.items[0].name === null",
    "STEP.5.headers['content-type'].includes('json')",
    "STEP.1.stdout.includes('v') && STEP.1.stderr.length === 0",
    "STEP.1.errorCount === 0 && STEP.1.warningCount <= 10",
    "STEP.1.testsPassed === STEP.1.testsTotal",
    "STEP.1.testsPassed <= STEP.2.testsPassed || STEP.3.success",
    "STEP.1.success === STEP.2.success",
    "(STEP.1.exitCode === 0) === STEP.5.body.ok",
    "STEP.5.body.ok || !STEP.5.body.ok",
    "STEP.8.count > 0",
    "STEP.1.stdout === 'x'",
    "STEP.5.headers['a'] === 'x'",
    // A part of an answer can have another type than the value it is compared with. Then neither comparison holds.
    "STEP.5.body.ok === true || STEP.5.body.ok === false",
    "STEP.5.body.id <= STEP.1.errorCount || STEP.5.body.id > STEP.1.errorCount",
    // The decisive value lies below the smallest constant, above the largest, between two constants, or on one side of
    // an equal pair.
    "STEP.5.body.id < 1",
    "STEP.5.body.id > 1",
    "STEP.1.exitCode >= 5 || STEP.1.exitCode === 0",
    "STEP.1.testsPassed < STEP.2.testsPassed",
    "STEP.1.testsPassed > STEP.2.testsPassed",
];

const WRONG: &[&str] = &[
    "1 === 1",
    "true",
    "'x'",
    "STEP.6.exitCode === 0",
    "STEP.1.exitcode === 0",
    "STEP.1.statusCode === 200",
    "STEP.5.stdout.includes('x')",
    "PREREQ.1.exists.length > 0",
    "STEP.1.exitCode.value === 0",
    "STEP.1.stdout.first === 'x'",
    "STEP.5.headers === 'x'",
    "STEP.5.headers.a.b === 'x'",
    "STEP.1.exitCode === '0'",
    "STEP.1.success === 1",
    "STEP.1.stdout === null",
    "STEP.1.stdout < 'x'",
    "STEP.1.success > false",
    "STEP.1.exitCode",
    "STEP.1.stdout && STEP.2.success",
    "!STEP.1.errorCount",
    "STEP.1.success || true",
    "STEP.1.success && 1 === 1",
    "STEP.1.stdout.includes('')",
    "STEP.6.success && STEP.1.body === 'x' && STEP.1.stdout",
];

#[test]
fn what_actions_have_can_be_asked() {
    for text in RIGHT {
        assert_eq!(faults(text), [], "{text}");
    }
}

#[test]
fn a_fault_names_the_place_and_the_next_step() {
    let messages: Vec<String> = WRONG
        .iter()
        .map(|text| {
            let faults = faults(text);
            assert!(!faults.is_empty(), "{text}");
            let lines: Vec<String> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
            format!("{text}{}", lines.concat())
        })
        .collect();
    assert_snapshot!(messages.join("\n"), @r#"
    1 === 1
      column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`
    true
      column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`
    'x'
      column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`
    STEP.6.exitCode === 0
      column 1: there is no action `STEP.6`; name one of the task's prerequisites, steps or cleanups by its `actionId`
    STEP.1.exitcode === 0
      column 1: no action has a field `exitcode`, `exitCode` is one; STEP.1, of type TERMINAL_COMMAND, has exitCode, success, failed, duration, stdout, stderr, errorCount, warningCount, testsPassed, testsFailed, testsSkipped, testsTotal, status
    STEP.1.statusCode === 200
      column 1: `statusCode` is a field of HTTP_REQUEST; STEP.1, of type TERMINAL_COMMAND, has exitCode, success, failed, duration, stdout, stderr, errorCount, warningCount, testsPassed, testsFailed, testsSkipped, testsTotal, status
    STEP.5.stdout.includes('x')
      column 1: `stdout` is a field of TERMINAL_COMMAND or CUSTOM_SCRIPT or DOCKER_COMMAND or DATABASE_QUERY or MCP_BROWSER_COMMAND; STEP.5, of type HTTP_REQUEST, has exitCode, success, failed, duration, statusCode, status, body, headers
    PREREQ.1.exists.length > 0
      column 1: `PREREQ.1.exists.length` asks for a part of `true` or `false`; compare the field itself
    STEP.1.exitCode.value === 0
      column 1: `STEP.1.exitCode.value` asks for a part of a number; compare the field itself
    STEP.1.stdout.first === 'x'
      column 1: `STEP.1.stdout.first` asks for a part of a text; a text has `.includes("…")`, `.startsWith("…")` and `.length`
    STEP.5.headers === 'x'
      column 1: `STEP.5.headers` asks for a part of the headers; name one header: `headers['content-type']`
    STEP.5.headers.a.b === 'x'
      column 1: `STEP.5.headers.a.b` asks for a part of the headers; name one header: `headers['content-type']`
    STEP.1.exitCode === '0'
      column 17: `STEP.1.exitCode` is a number and `"0"` is a text; nothing is coerced, so compare values of one kind
    STEP.1.success === 1
      column 16: `STEP.1.success` is true or false and `1` is a number; nothing is coerced, so compare values of one kind
    STEP.1.stdout === null
      column 15: `STEP.1.stdout` is a text and `null` is null; nothing is coerced, so compare values of one kind
    STEP.1.stdout < 'x'
      column 15: `STEP.1.stdout` is a text, and only numbers have an order; compare it with `===` or `!==`
    STEP.1.success > false
      column 16: `STEP.1.success` is true or false, and only numbers have an order; compare it with `===` or `!==`
    STEP.1.exitCode
      column 1: `STEP.1.exitCode` is a number, neither true nor false; compare it, for example `STEP.1.exitCode === 0`
    STEP.1.stdout && STEP.2.success
      column 1: `STEP.1.stdout` is a text, neither true nor false; compare it, for example `STEP.1.stdout === "…"`
    !STEP.1.errorCount
      column 2: `STEP.1.errorCount` is a number, neither true nor false; compare it, for example `STEP.1.errorCount === 0`
    STEP.1.success || true
      column 19: no run can change `true`; leave it out or compare a value of an action
    STEP.1.success && 1 === 1
      column 19: no run can change `1 === 1`; leave it out or compare a value of an action
    STEP.1.stdout.includes('')
      column 1: no run can change `STEP.1.stdout.includes("")`; leave it out or compare a value of an action
    STEP.6.success && STEP.1.body === 'x' && STEP.1.stdout
      column 1: there is no action `STEP.6`; name one of the task's prerequisites, steps or cleanups by its `actionId`
      column 19: `body` is a field of HTTP_REQUEST; STEP.1, of type TERMINAL_COMMAND, has exitCode, success, failed, duration, stdout, stderr, errorCount, warningCount, testsPassed, testsFailed, testsSkipped, testsTotal, status
      column 42: `STEP.1.stdout` is a text, neither true nor false; compare it, for example `STEP.1.stdout === "…"`
    "#);
}

#[test]
fn a_condition_that_no_run_can_fail_is_refused() {
    for text in [
        "STEP.1.exitCode === 0 || STEP.1.exitCode !== 0",
        "STEP.1.exitCode >= 0",
        "STEP.1.exitCode < 1000",
        "STEP.1.exitCode < 3 || STEP.1.exitCode > 1",
        "STEP.1.exitCode <= 1 || STEP.1.exitCode >= 1.5",
        "PREREQ.1.exitCode === 0 || PREREQ.1.exitCode === 1",
        "STEP.1.success || STEP.1.failed",
        "STEP.1.success !== STEP.1.failed",
        "STEP.1.exitCode === STEP.1.exitCode",
        "STEP.9.status === STEP.9.statusCode",
        "STEP.1.stdout.length >= 0",
        "STEP.1.stdout.includes('a') || !STEP.1.stdout.includes('a')",
        "STEP.1.stdout !== 'a' || STEP.1.stdout !== 'b'",
        "STEP.1.exitCode < STEP.2.exitCode || STEP.2.exitCode <= STEP.1.exitCode",
        "STEP.5.body.id === 1 || STEP.5.body.id !== 1",
        "STEP.5.body.id !== 1 || STEP.5.body.id !== 'x'",
        "STEP.5.headers['A'] === 'x' || STEP.5.headers['a'] !== 'x'",
        "(STEP.1.exitCode === 0) === (0 === STEP.1.exitCode)",
        "!(STEP.1.success && STEP.1.failed)",
        "STEP.8.count >= 0",
        "STEP.1.stdout.startsWith('a') || !STEP.1.stdout.startsWith('a')",
    ] {
        assert_eq!(faults(text), [ConditionFault::Constant(Constancy::AlwaysTrue)], "{text}");
    }
    assert_snapshot!(faults("STEP.1.exitCode >= 0")[0], @"column 1: the condition is true whatever the actions do, so it decides nothing; narrow it to what the task needs");
}

#[test]
fn a_condition_that_no_run_can_meet_is_refused() {
    for text in [
        "STEP.1.exitCode === 256",
        "STEP.1.exitCode === 0.5",
        "STEP.1.exitCode > 0 && STEP.1.exitCode < 1",
        "STEP.1.success && STEP.1.failed",
        "STEP.9.statusCode < 100",
        "STEP.1.exitCode !== STEP.1.exitCode",
        "STEP.1.success === true && STEP.1.success === false",
        "STEP.1.success === true && STEP.1.failed",
        "STEP.1.status === 'PASSED'",
    ] {
        assert_eq!(faults(text), [ConditionFault::Constant(Constancy::NeverTrue)], "{text}");
    }
    assert_snapshot!(faults("STEP.1.exitCode === 256")[0], @"column 1: the condition is never true whatever the actions do, so it decides nothing; narrow it to what the task needs");
}

/// The condition is a pigeonhole problem: it can never be true, but the search reaches its limit before it finds that
/// out.
#[test]
fn a_condition_too_large_to_decide_is_refused() {
    let seat = |pigeon: usize, hole: usize| format!("S.1.body.p{pigeon}{hole}");
    let pairs = (0..4).flat_map(|one| (one + 1..4).map(move |other| (one, other)));
    let clashes = pairs.flat_map(|(one, other)| (0..3).map(move |hole| format!("!({}&&{})", seat(one, hole), seat(other, hole))));
    let seated = (0..4).map(|pigeon| format!("({}||{}||{})", seat(pigeon, 0), seat(pigeon, 1), seat(pigeon, 2)));
    let text = seated.chain(clashes).collect::<Vec<_>>().join("&&");
    let requests = |_: &ActionId| Some(ActionType::HttpRequest);
    assert_eq!(check(&read(&text), &requests), [ConditionFault::TooManyParts]);
    assert_snapshot!(ConditionFault::TooManyParts, @"column 1: the condition has too many parts to tell whether it can fail; write several conditions, each with few references");
}

#[test]
fn a_condition_as_long_as_can_be_is_decided_at_once() {
    let long = (0..24).map(|number| format!("STEP.1.exitCode !== {number} && STEP.2.success")).collect::<Vec<_>>().join("&&");
    assert!(long.len() <= 1024 && long.len() > 900, "{}", long.len());
    assert_eq!(check(&read(&long), &type_of), []);
}
