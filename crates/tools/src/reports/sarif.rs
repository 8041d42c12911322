//! Reads findings in the Static Analysis Results Interchange Format 2.1 (SARIF).

use std::collections::BTreeSet;
use std::io::BufRead;

use serde_json::Value;

use crate::places::Place;
use crate::reports::{Contents, read_json};
use proctor_model::{Diagnostic, FindingLevel};

/// Reads a report.
pub(super) fn read(reader: &mut dyn BufRead, place: Place<'_>, contents: &mut Contents) -> Result<(), String> {
    let document: Value = read_json(reader)?;
    let runs = document["runs"].as_array().filter(|runs| !runs.is_empty()).ok_or("it is not SARIF: it has no `runs`")?;
    let mut examined = BTreeSet::new();
    for run in runs {
        let results = run["results"].as_array().ok_or("a run has no `results`, so its tool did not look for any")?;
        let invocations = list(&run["invocations"]);
        let has_error =
            |invocation: &Value| list(&invocation["toolExecutionNotifications"]).iter().any(|note| note["level"] == "error");
        if invocations.iter().any(|invocation| invocation["executionSuccessful"] == false || has_error(invocation)) {
            contents.ends_early("the report says that its tool did not run to its end".to_owned());
        }
        let artifacts = list(&run["artifacts"]).iter().filter_map(|artifact| artifact["location"]["uri"].as_str());
        examined.extend(artifacts.map(|uri| path(uri, place)));
        let source = run["tool"]["driver"]["name"].as_str();
        for finding in results.iter().filter_map(|result| finding(result, run, source, place)) {
            examined.extend(finding.file.clone());
            contents.findings.push(finding);
        }
    }
    contents.examined += examined.len() as u64;
    Ok(())
}

// Returns the level of a result that is a finding: it is not suppressed, and neither its kind nor its level says that it is only for
// information.
fn level(result: &Value, run: &Value, rule: Option<&str>) -> Option<FindingLevel> {
    let is_suppressed = |suppression: &Value| matches!(suppression["status"].as_str(), None | Some("accepted"));
    let kind = result["kind"].as_str().unwrap_or("fail");
    let suppressions = list(&result["suppressions"]);
    let is_gone = result["baselineState"] == "absent" || (!suppressions.is_empty() && suppressions.iter().all(is_suppressed));
    if is_gone || matches!(kind, "pass" | "notApplicable" | "informational") {
        return None;
    }
    let of_rule = || {
        let mut rules = components(run).flat_map(|component| list(&component["rules"]));
        let of_rule = rules.find(|known| rule.is_some() && known["id"].as_str() == rule)?;
        of_rule["defaultConfiguration"]["level"].as_str()
    };
    match result["level"].as_str().or_else(of_rule) {
        Some("note" | "none") => None,
        Some("error") => Some(FindingLevel::Error),
        Some(_) | None => Some(FindingLevel::Warning),
    }
}

fn finding(result: &Value, run: &Value, source: Option<&str>, place: Place<'_>) -> Option<Diagnostic> {
    let rule_of_index = || {
        let index = usize::try_from(result["ruleIndex"].as_u64().or_else(|| result["rule"]["index"].as_u64())?).ok()?;
        let extension = result["rule"]["toolComponent"]["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let component = extension.map_or(&run["tool"]["driver"], |index| &run["tool"]["extensions"][index]);
        component["rules"].get(index)?["id"].as_str()
    };
    let rule = result["ruleId"].as_str().or_else(|| result["rule"]["id"].as_str()).or_else(rule_of_index);
    let physical = &result["locations"][0]["physicalLocation"];
    let message = &result["message"];
    Some(Diagnostic {
        file: physical["artifactLocation"]["uri"].as_str().map(|uri| path(uri, place)),
        line: physical["region"]["startLine"].as_u64(),
        column: physical["region"]["startColumn"].as_u64(),
        severity: level(result, run, rule)?,
        message: message["text"].as_str().or_else(|| message["markdown"].as_str()).unwrap_or_default().to_owned(),
        rule_id: rule.map(str::to_owned),
        source: source.map(str::to_owned),
        ..Diagnostic::default()
    })
}

// Returns the parts of a tool that can have rules: its driver and its extensions.
fn components(run: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(&run["tool"]["driver"]).chain(list(&run["tool"]["extensions"]))
}

fn path(uri: &str, place: Place<'_>) -> String {
    place.within_project(uri.strip_prefix("file://").unwrap_or(uri))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
