//! Reads the messages of `cargo clippy --message-format=json`: one object on each line.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::counting::Said;
use crate::interpret::Exited;
use proctor_model::{Diagnostic, FindingLevel};

/// Reads the findings, and counts the targets of the project's own packages that were checked; `None` if Cargo did not say that the
/// build is finished. Cargo repeats the findings of a target that did not change since the last call.
pub(super) fn read(exited: &Exited<'_>) -> Option<Said> {
    let mut said = Said::default();
    let (mut finished, mut targets, mut seen) = (None, BTreeSet::new(), BTreeSet::new());
    let messages = exited.stdout.lines().filter(|line| line.starts_with('{'));
    for message in messages.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match message["reason"].as_str() {
            Some("build-finished") => finished = message["success"].as_bool(),
            Some("compiler-artifact") => targets.extend(own_target(&message)),
            // A library is checked once by itself and once with its tests, and both times its findings are told.
            Some("compiler-message") => {
                let found = finding(&message["message"], exited);
                if let Some(found) = found.filter(|found| seen.insert(identity(found))) {
                    said.findings.push(found);
                }
            }
            Some(_) | None => {}
        }
    }
    // A build that failed may have ended before its targets were checked.
    said.examined = finished?.then_some(targets.len() as u64);
    Some(said)
}

// Returns a name of the target that a message is about, if it belongs to a package of the project and is no build script.
fn own_target(message: &Value) -> Option<String> {
    let is_own = message["package_id"].as_str()?.contains("path+file://");
    let target = &message["target"];
    let is_script = target["kind"].as_array()?.iter().any(|kind| kind == "custom-build");
    let name = format!("{} {} {} {}", message["package_id"], target["kind"], target["name"], message["profile"]["test"]);
    (is_own && !is_script).then_some(name)
}

fn finding(message: &Value, exited: &Exited<'_>) -> Option<Diagnostic> {
    let severity = match message["level"].as_str()? {
        "error" | "error: internal compiler error" => FindingLevel::Error,
        "warning" => FindingLevel::Warning,
        _ => return None,
    };
    let spans = message["spans"].as_array()?;
    let code = message["code"]["code"].as_str();
    // The compiler's last words, such as `2 warnings emitted`, have neither a place nor a code.
    if spans.is_empty() && code.is_none() {
        return None;
    }
    let span = spans.iter().find(|span| span["is_primary"] == true).unwrap_or(&Value::Null);
    Some(Diagnostic {
        file: span["file_name"].as_str().map(|file| exited.place.within_project(file)),
        line: span["line_start"].as_u64(),
        column: span["column_start"].as_u64(),
        end_line: span["line_end"].as_u64(),
        end_column: span["column_end"].as_u64(),
        severity,
        rule_id: code.map(str::to_owned),
        message: message["message"].as_str().unwrap_or_default().to_owned(),
        ..Diagnostic::default()
    })
}

fn identity(found: &Diagnostic) -> (Option<String>, Option<u64>, Option<u64>, Option<String>, String) {
    (found.file.clone(), found.line, found.column, found.rule_id.clone(), found.message.clone())
}
