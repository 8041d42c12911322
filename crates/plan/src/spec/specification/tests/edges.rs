//! Tests at the limits of lint rules: values that a rule still accepts, beside the nearest ones that it refuses.

use serde_json::json;

use super::mutations::{Edit, GONE, added, condition, faults_of, prerequisite, step, task};

fn edges() -> Vec<(&'static str, Vec<Edit>)> {
    vec![
        (
            "a review that is asked once",
            vec![
                (step(1, "/proctor"), added(json!({ "review": {} }))),
                (step(1, "/retryAttempts"), json!(0)),
                (condition(1), json!("STEP.1.exitCode === 0")),
            ],
        ),
        (
            "a service that is not asked to be tried again",
            vec![(
                prerequisite(""),
                json!({ "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals", "parameters": { "command": "npm run serve", "workingDirectory": "web" }, "retryAttempts": 0, "proctor": { "version": "1.0.0", "service": { "ready": { "port": 4173 } } } }),
            )],
        ),
        (
            "exactly one size",
            vec![(prerequisite("/parameters/minSize"), json!(4096)), (prerequisite("/parameters/maxSize"), json!(4096))],
        ),
        (
            "a digest",
            vec![
                (prerequisite("/parameters/validationType"), json!("HASH_MATCH")),
                (prerequisite("/parameters/expectedHash"), json!("0123456789abcdefABCDEF".repeat(3).get(..64))),
                (prerequisite("/parameters/minSize"), json!(GONE)),
                (prerequisite("/parameters/maxSize"), json!(GONE)),
            ],
        ),
        (
            "each step, by the rate",
            vec![
                (task("/completionCriteria/allStepsMustPass"), json!(false)),
                (task("/completionCriteria/minimumPassRate"), json!(100)),
            ],
        ),
        ("a server that is asked at its port", vec![("/globalConfiguration/devServer/healthCheckUrl", json!(GONE))]),
        ("a browser that is switched off", vec![(task("/mcpValidation"), json!({ "enabled": false }))]),
        ("no dependency", vec![(task("/dependencies"), json!([]))]),
    ]
}

#[test]
fn what_stands_at_the_edge_is_no_fault() {
    let usual = faults_of(&[]);
    for (name, edits) in edges() {
        let found = faults_of(&edits);
        let more: Vec<_> = found.difference(&usual).collect();
        assert!(more.is_empty(), "{name}: {more:?}");
    }
}

#[test]
fn one_beyond_the_edge_is_a_fault() {
    let server = "/globalConfiguration/devServer";
    let ready = |ready: serde_json::Value| json!({ "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals", "parameters": { "command": "npm run serve", "workingDirectory": "web" }, "proctor": { "version": "1.0.0", "service": { "ready": ready } } });
    let at = |rest: &str| -> &'static str { Box::leak(format!("{server}{rest}").into_boxed_str()) };
    let rows: [(&str, Vec<Edit>, &str); 9] = [
        (
            "a service that is asked by another protocol",
            vec![(prerequisite(""), ready(json!({ "url": "ftp://127.0.0.1/" })))],
            "SERVICE_READY",
        ),
        (
            "a server that nothing asks",
            vec![(at("/healthCheckUrl"), json!(GONE)), (at("/port"), json!(GONE))],
            "DEV_SERVER_INCOMPLETE",
        ),
        (
            "a server that is asked by another protocol",
            vec![(at("/healthCheckUrl"), json!("ftp://127.0.0.1/"))],
            "DEV_SERVER_INCOMPLETE",
        ),
        ("a request as a review", vec![(step(2, "/proctor"), added(json!({ "review": {} })))], "REVIEW_ELSEWHERE"),
        ("a command of spaces", vec![(step(1, "/parameters/command"), json!("  "))], "COMMAND_UNCLOSED_QUOTE"),
        (
            "answers of a task that asks nothing",
            vec![
                (step(2, ""), json!(GONE)),
                (condition(2), json!("STEP.1.exitCode === 0")),
                (task("/completionCriteria/requiredEvidence"), json!(["api-responses"])),
            ],
            "EVIDENCE_NEVER",
        ),
        (
            "sizes that just cross",
            vec![(prerequisite("/parameters/minSize"), json!(4097)), (prerequisite("/parameters/maxSize"), json!(4096))],
            "FILE_OPERAND_IMPOSSIBLE",
        ),
        ("63 digits", vec![(prerequisite("/parameters/expectedHash"), json!("a".repeat(63)))], "FILE_OPERAND_IMPOSSIBLE"),
        (
            "64 characters that are no digits",
            vec![(prerequisite("/parameters/expectedHash"), json!("g".repeat(64)))],
            "FILE_OPERAND_IMPOSSIBLE",
        ),
    ];
    for (name, edits, code) in rows {
        assert!(faults_of(&edits).iter().any(|(found, pointer)| found == code && !pointer.is_empty()), "{name}");
    }
}
