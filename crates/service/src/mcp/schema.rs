//! The schemas of the tools' arguments and answers (JSON Schema 2020-12). They say what a client may rely on; answers may have more keys.

use serde_json::{Map, Value, json};

/// Returns the schema of a tool's arguments, and the schema of its answer.
pub(super) fn schemas(tool: &str) -> (Map<String, Value>, Map<String, Value>) {
    let (arguments, answer) = match tool {
        "verdict" => (
            arguments(
                json!({
                    "project": text("The project's directory. Without it, the project that the server was started for."),
                    "task": text("A task of a test specification. Without it, the project's own checks, or every task if it has none."),
                    "wait_s": {"type": "integer", "minimum": 0, "description": "How long to wait for the verdict, in seconds."},
                }),
                &[],
            ),
            verdict(),
        ),
        "failures" => (
            arguments(
                json!({
                    "run": run("The run. Without it, the newest sealed run."),
                    "test": text("Only this test: its id, its key, its name in the report, or a part that no other test has. Or all of a check or a file, by its whole name."),
                    "max_bytes": {"type": "integer", "minimum": 0, "description": "The most bytes of what a tool printed about one failure."},
                }),
                &[],
            ),
            chosen_failures(),
        ),
        "output" => (
            arguments(json!({"run": run("The run."), "action": text("The action's id, such as STEP.1.")}), &["run", "action"]),
            object(
                json!({
                    "runId": {"type": "string"}, "action": {"type": "string"}, "check": {"type": "string"},
                    "status": {"type": ["string", "null"]}, "reason": {"type": ["string", "null"]},
                    "stdout": {"type": ["string", "null"]}, "stderr": {"type": ["string", "null"]},
                }),
                &["runId", "action", "check", "stdout", "stderr"],
            ),
        ),
        "history" => (
            arguments(json!({"test": text("The test's id, its key, or a part of its id that no other test has.")}), &["test"]),
            object(json!({"past": {"type": "object"}}), &["past"]),
        ),
        "compare" => (
            arguments(json!({"from": run("The earlier run."), "to": run("The later run.")}), &["from", "to"]),
            object(json!({"comparison": {"type": "object"}}), &["comparison"]),
        ),
        "retest" => (
            arguments(
                json!({"reason": text("Why another result is expected although nothing changed."), "task": text("The task.")}),
                &["reason"],
            ),
            object(
                json!({
                    "exitCode": {"type": "integer"}, "runId": {"type": ["string", "null"]}, "status": {"type": ["string", "null"]},
                    "failures": failures(),
                }),
                &["exitCode"],
            ),
        ),
        "request_fix" => (
            arguments(json!({"task": text("The task. Without it, the project's configuration.")}), &[]),
            object(
                json!({
                    "accepted": {"type": "boolean"}, "errors": {"type": "array", "items": {"type": "string"}}, "exitCode": {"type": "integer"},
                    "changes": {"type": "array", "items": {"type": "string"}}, "person": person(),
                }),
                &["accepted", "errors"],
            ),
        ),
        "why" => (arguments(json!({"path": text("The path, relative to the project.")}), &["path"]), object(json!({}), &[])),
        "gate" => (arguments(json!({"commit": text("The commit, as git names it. Without it, HEAD.")}), &[]), gate()),
        "prove" => (
            arguments(
                json!({"range": text("BASE..REV, or BASE for the working tree. Without it, the working tree since the branch left its upstream.")}),
                &[],
            ),
            proof(),
        ),
        _ => (arguments(json!({"task": text("The task.")}), &[]), object(json!({}), &[])),
    };
    (into_map(arguments), into_map(answer))
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn arguments(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn run(description: &str) -> Value {
    json!({"type": ["integer", "string"], "description": format!("{description} A run's id or its number.")})
}

fn person() -> Value {
    object(
        json!({
            "askedFor": {"type": "string", "enum": ["decision", "approval", "look"]},
            "reason": {"type": "string"},
            "since": {"type": ["string", "null"]},
            "runId": {"type": ["string", "null"]},
            "command": {"type": "string"},
        }),
        &["askedFor", "reason", "command"],
    )
}

fn verdict() -> Value {
    let task = object(
        json!({
            "task": {"type": "string"},
            "state": {"type": "string", "enum": [
                "fresh", "running", "queued", "stale", "moved", "unstable", "needsHuman", "notApproved", "rootMissing",
                "configurationWrong", "specificationWrong", "noVerdict",
            ]},
            "result": {"type": ["string", "null"], "enum": ["PASSED", "FAILED", null]},
            "exitCode": {"type": "integer"},
            "tree": {"type": ["string", "null"]},
            "verdict": {"type": ["object", "null"]},
            "known": {"type": "object"},
            "checks": {"type": "array", "items": {"type": "object"}},
            "failures": failures(),
            "person": person(),
            "tdd": {"type": "object"},
            "problems": {"type": "array", "items": {"type": "string"}},
        }),
        &["task", "state", "result", "exitCode"],
    );
    object(
        json!({
            "inTime": {"type": "string", "enum": ["answered", "timedOut"]},
            "exitCode": {"type": "integer"},
            "project": object(json!({"root": {"type": "string"}, "tasks": {"type": "array", "items": task}}), &["root", "tasks"]),
        }),
        &["inTime", "exitCode", "project"],
    )
}

fn proof() -> Value {
    let test = object(
        json!({
            "file": {"type": "string"}, "test": {"type": "string"}, "added": {"type": "boolean"}, "word": {"type": "string"},
            "seen": {"type": "string"}, "meaning": {"type": "string"}, "counts": {"type": "boolean"},
        }),
        &["file", "test", "added", "word"],
    );
    object(
        json!({
            "state": {"type": "string", "enum": ["PROVED", "NOT PROVED", "WEAK", "NO SOURCE"]},
            "exitCode": {"type": "integer"}, "summary": {"type": "string"},
            "tests": {"type": "array", "items": test}, "notes": {"type": "array", "items": {"type": "string"}},
        }),
        &["state", "exitCode", "summary", "tests"],
    )
}

fn gate() -> Value {
    let required = object(
        json!({
            "kind": {"type": "string", "enum": ["task", "check"]},
            "name": {"type": "string"},
            "state": {"type": "string"},
            "runs": {"type": "array", "items": {"type": "string"}},
            "words": {"type": "array", "items": {"type": "string"}},
            "reasons": {"type": "array", "items": {"type": "string"}},
        }),
        &["kind", "name", "state", "runs", "words", "reasons"],
    );
    object(
        json!({
            "state": {"type": "string"},
            "exitCode": {"type": "integer"},
            "revision": {"type": "string"},
            "commit": {"type": "string"},
            "treeDigest": {"type": ["string", "null"]},
            "refusal": {"type": ["object", "null"]},
            "policy": {"type": "object"},
            "lowered": {"type": "array", "items": {"type": "string"}},
            "required": {"type": "array", "items": required},
            "next": {"type": "array", "items": {"type": "string"}},
        }),
        &["state", "exitCode", "revision", "commit", "treeDigest", "refusal", "policy", "lowered", "required", "next"],
    )
}

/// The answer of `failures`, which may be about one test, file or check.
fn chosen_failures() -> Value {
    let mut answer = failures();
    answer["properties"]["chosen"] = object(
        json!({
            "name": {"type": "string"},
            "ofRun": {"type": "integer"},
            "outcome": {"type": "string", "enum": ["passed", "failed", "error", "skipped"]},
        }),
        &["name", "ofRun"],
    );
    answer
}

fn failures() -> Value {
    let nullable = || json!({"type": ["string", "null"]});
    let failure = object(
        json!({
            "kind": {"type": "string", "enum": ["test", "finding", "action"]},
            "check": {"type": "string"},
            "actionId": {"type": "string"},
            "command": nullable(),
            "test": nullable(),
            "file": nullable(),
            "line": {"type": ["integer", "null"]},
            "rule": {"type": "string"},
            "message": {"type": "string"},
            "since": {"type": ["object", "null"]},
            "flaky": {"type": "boolean"},
            "rerun": nullable(),
            "excerpt": {"type": "array", "items": {"type": "string"}},
        }),
        &["kind", "check", "actionId", "command", "test", "file", "line", "message", "since", "flaky", "rerun", "excerpt"],
    );
    object(
        json!({
            "runId": {"type": "string"},
            "total": {"type": "integer"},
            "failures": {"type": "array", "items": failure},
            "next": {"type": "array", "items": {"type": "object"}},
            "problem": {"type": "string"},
        }),
        &["runId", "total", "failures", "next"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool::TOOLS;

    #[test]
    fn every_tool_has_schemas_that_are_schemas() {
        for row in TOOLS {
            let (arguments, answer) = schemas(row.name);
            for schema in [arguments, answer] {
                assert_eq!(schema["type"], "object", "{}", row.name);
                jsonschema::draft202012::new(&Value::Object(schema)).unwrap_or_else(|error| panic!("{}: {error}", row.name));
            }
        }
    }
}
