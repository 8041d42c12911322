//! Checks whether a project's type checkers are as strict as its specification says (C24). `strictMode` and
//! `allowImplicitAny` are compared with the configuration that each step's command would use, as far as that can be
//! read without running anything.
//!
//! For each such setting, the lint has written a note: the setting is not compared. This module removes the note if the
//! setting and the project agree, makes an error of it if they differ, and adds a reason to it if the project's
//! configuration cannot be read.

use crate::spec::made::recognised;
use crate::spec::specification::{RawAction, RawParameters, STRICTNESS_UNCHECKED, Specification, SpecificationReading, below};
use crate::spec::task::plain_command;
use proctor_model::{BrokenRule, Gravity, Problem, Tool};
use proctor_tools::{ProjectFiles, Strictness, StrictnessRead, StrictnessReader, find_arguments, strictness_reader};

/// The code of the fault that a setting differs from the project's configuration.
const STRICTNESS_DIFFERS: &str = "STRICTNESS_DIFFERS";

/// A type checker for which a specification sets the strictness, and the function that reads its real strictness.
#[derive(Debug, Clone, Copy)]
struct Checker {
    tool: Tool,
    reader: &'static StrictnessReader,
}

/// Compares the strictness settings of a specification with the project's files.
pub fn compare_with_project(reading: SpecificationReading, files: &dyn ProjectFiles) -> SpecificationReading {
    let SpecificationReading { specification, tasks, faults, actions, filled } = reading;
    let Some(specification) = specification else {
        return SpecificationReading { specification, tasks, faults, actions, filled };
    };
    let compare = |fault: Problem| match fault.code() {
        STRICTNESS_UNCHECKED => compared(fault, &specification, files),
        _ => Some(fault),
    };
    let faults: Vec<_> = faults.into_iter().filter_map(compare).collect();
    let runs = !faults.iter().any(Problem::is_hard);
    SpecificationReading { specification: Some(specification).filter(|_| runs), tasks, faults, actions, filled }
}

/// Returns the fault that replaces the lint's note about a setting: an error if a step's configuration differs,
/// otherwise the note with the reason why nothing was compared. Returns `None` if the setting and the project agree, or if the
/// note is about no such setting.
fn compared(fault: Problem, specification: &Specification, files: &dyn ProjectFiles) -> Option<Problem> {
    let pointer = fault.pointer.clone();
    let (checker, key) = setting(&pointer)?;
    let said = specified(specification, checker, key)?;
    let looks: Vec<StrictnessRead> = steps_of(specification, files, checker);
    let differs = |strictness: &&Strictness| value(strictness, key) != said;
    if let Some(other) = looks.iter().filter_map(|look| look.as_ref().ok()).find(differs) {
        return Some(contradiction(fault, (key, said), other, checker));
    }
    let why = match looks.iter().find_map(|look| look.as_ref().err()) {
        Some(why) => why.clone(),
        None if looks.is_empty() => format!("no step runs {}", checker.tool.word()),
        None => return None,
    };
    Some(Problem { message: format!("{}: {why}", fault.message), ..fault })
}

/// Splits the pointer to a strictness setting into its type checker and its key; `None` for any other pointer.
fn setting(pointer: &str) -> Option<(Checker, &str)> {
    let (rest, key) = pointer.rsplit_once('/')?;
    let name = rest.rsplit_once('/')?.1;
    let tool = Tool::ALL.into_iter().find(|tool| tool.report_name() == name)?;
    let checker = Checker { tool, reader: strictness_reader(tool)? };
    Some((checker, key))
}

fn specified(specification: &Specification, checker: Checker, key: &str) -> Option<bool> {
    let tools = &specification.raw.global_configuration.validation_policy.as_ref()?.type_checking.as_ref()?.tools;
    let policy = tools.of(checker.tool.report_name())?;
    if key == "strictMode" { policy.strict_mode } else { policy.allow_implicit_any }
}

fn value(strictness: &Strictness, key: &str) -> bool {
    if key == "strictMode" { strictness.strict } else { strictness.implicit_any }
}

fn contradiction(fault: Problem, (key, said): (&str, bool), other: &Strictness, checker: Checker) -> Problem {
    let is = value(other, key);
    let option = if key == "strictMode" { "strict" } else { checker.reader.typed_option };
    Problem {
        gravity: Gravity::Hard,
        rule: fault.rule.map(|rule| BrokenRule {
            code: STRICTNESS_DIFFERS.to_owned(),
            schema_path: format!("#/lint/{STRICTNESS_DIFFERS}"),
            ..rule
        }),
        message: format!("`{key}` is {said} here, and {is} in the project: {} decides", other.place),
        hint: Some(format!("set `{option}` in the project, or say `\"{key}\": {is}`")),
        ..fault
    }
}

/// Returns how strict a type checker is in every step that runs it, in the order of the tasks.
fn steps_of(specification: &Specification, files: &dyn ProjectFiles, checker: Checker) -> Vec<StrictnessRead> {
    let steps = specification.raw.tasks.values().flat_map(|task| &task.test_execution.steps);
    steps.filter_map(|step| read(specification, files, checker, step)).collect()
}

/// Returns how strict the type checker is that a step runs; `None` if the step does not run it, or runs outside of the project.
fn read(specification: &Specification, files: &dyn ProjectFiles, checker: Checker, step: &RawAction) -> Option<StrictnessRead> {
    let RawParameters::TerminalCommand(command) = &step.parameters else { return None };
    let (tool, added) = (checker.tool, step.proctor.as_ref());
    let line = plain_command(command, added.and_then(|added| added.argv.clone()));
    let root = &specification.raw.global_configuration.workspace_root;
    let directory = below(root, &command.working_directory)?.join("/");
    let is_it = match added.and_then(|added| added.tool) {
        Some(said) => said == tool,
        None => recognised(&line, files, &directory, "").tool == tool,
    };
    if !is_it {
        return None;
    }
    let Some(call) = find_arguments(&line, files, &directory, tool.word()) else {
        return Some(Err(format!("how {} calls {} is not to be seen", step.action_id, tool.word())));
    };
    Some((checker.reader.read)(files, &directory, &call))
}

#[cfg(test)]
mod tests;
