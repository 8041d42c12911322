//! Discovers tsc. The project must have a `tsconfig.json`, and the compiler must be installed.

use crate::model::Tool;
use crate::tools::discover::{FoundCheck, FoundChecks, Looked, named, nearest_with, program, words};
use crate::tools::jsonc::parse_jsonc;
use crate::tools::project_files::{ProjectFiles, within};

const CONFIGURATION: &str = "tsconfig.json";
const PROGRAM: &str = "node_modules/.bin/tsc";

/// The most projects that are taken from one solution file: a `tsconfig.json` without files that only refers to other
/// projects.
const MOST_REFERENCES: usize = 32;

/// Looks for signs of tsc in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(in crate::tools) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let configuration = within(package, CONFIGURATION);
    if !files.exists(&configuration) {
        return Looked::Silent;
    }
    let Some(holder) = nearest_with(files, package, PROGRAM) else {
        let advice = format!(
            "`{configuration}` is there, but no `{PROGRAM}` beside or above it: install the project's packages, or TypeScript \
             with `npm install --save-dev typescript`"
        );
        findings.note(Tool::Tsc, advice);
        return Looked::Spoke;
    };
    let projects = references(files, package, &configuration);
    if projects.is_empty() {
        let target = if package.is_empty() { "." } else { package };
        add(findings, package, &holder, target, named("tsc", package), &format!("`{configuration}` is there"));
    }
    for project in &projects {
        // A solution file has no files of its own: `tsc --noEmit -p` on it succeeds even if its projects have errors.
        // So each project gets its own check.
        let reason = format!("`{configuration}` has no files of its own and refers to it");
        add(findings, package, &holder, project, format!("tsc {project}"), &reason);
    }
    Looked::Spoke
}

/// Adds a check that runs in the project's root, so that messages have paths relative to the root.
fn add(findings: &mut FoundChecks, package: &str, holder: &str, target: &str, name: String, reason: &str) {
    let argv = words(&[&program(holder, PROGRAM, ""), "--noEmit", "-p", target]);
    let (package, directory) = (package.to_owned(), String::new());
    findings.add(FoundCheck { tool: Tool::Tsc, name, package, directory, argv, policy: None }, reason);
}

/// Returns the projects to which a solution file refers. Empty if the configuration has files of its own.
fn references(files: &dyn ProjectFiles, package: &str, configuration: &str) -> Vec<String> {
    let text = files.read(configuration).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let Some(settings) = parse_jsonc(&text) else { return Vec::new() };
    let has_no_files = settings.get("files").and_then(|files| files.as_array()).is_some_and(Vec::is_empty);
    if !has_no_files || settings.get("include").is_some() {
        return Vec::new();
    }
    let references = settings.get("references").and_then(|references| references.as_array()).cloned().unwrap_or_default();
    let paths = references.iter().take(MOST_REFERENCES).filter_map(|reference| reference.get("path")?.as_str());
    let inside = paths.filter(|path| !path.starts_with('/') && !path.split('/').any(|part| part == ".."));
    inside.map(|path| within(package, path.trim_start_matches("./").trim_end_matches('/'))).collect()
}
