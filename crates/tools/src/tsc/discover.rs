//! Discovers tsc. The project must have a `tsconfig.json`, and the compiler must be installed.

use crate::discover::{FoundCheck, FoundChecks, Looked, name_in_package, node_program, words};
use crate::project_files::{ProjectFiles, within};
use crate::tsc::BUILD;
use crate::tsc::references::{ProjectReferences, references};
use proctor_model::Tool;

const CONFIGURATION: &str = "tsconfig.json";
const PROGRAM: &str = "node_modules/.bin/tsc";

/// Looks for signs of tsc in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let configuration = within(package, CONFIGURATION);
    if !files.exists(&configuration) {
        return Looked::Silent;
    }
    let Some(program) = node_program(files, package, "tsc", "") else {
        let advice = format!(
            "`{configuration}` is there, but no `{PROGRAM}` beside or above it: install the project's packages, or TypeScript \
             with `npm install --save-dev typescript`"
        );
        findings.note(Tool::Tsc, advice);
        return Looked::Spoke;
    };
    let target = if package.is_empty() { "." } else { package };
    let mut add = |options: &[&str], target: &str, name: String, reason: &str| {
        // The check runs in the project's root, so that messages have paths relative to the root.
        let argv = [program.clone(), words(options), words(&[target])].concat();
        let (package, directory) = (package.to_owned(), String::new());
        findings.add(FoundCheck { tool: Tool::Tsc, name, package, directory, argv, policy: None }, reason);
    };
    let whole = name_in_package("tsc", package);
    match references(files, &configuration) {
        ProjectReferences::None => add(&["--noEmit", "-p"], target, whole, &format!("`{configuration}` is there")),
        ProjectReferences::Independent(projects) => {
            // A solution file has no files of its own: `tsc --noEmit -p` on it succeeds even if its projects have errors.
            // So each project gets its own check.
            let reason = format!("`{configuration}` has no files of its own and refers to it");
            projects.iter().for_each(|project| add(&["--noEmit", "-p"], project, format!("tsc {project}"), &reason));
        }
        ProjectReferences::Built => {
            let reason = format!("`{configuration}` has references, and a project reads what was built of those it refers to");
            add(BUILD, target, whole, &reason);
        }
    }
    Looked::Spoke
}
