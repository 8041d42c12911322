//! Corrections of a specification that follow from a rule. Pure: a text becomes a list of edits.
//!
//! Only the values that are wrong are replaced, and everything else keeps its bytes. A file with such a fault runs nothing, so no
//! correction turns a verdict that failed into one that passed. A correction that rests on a guess is marked, and a person is asked.

mod conditions;
mod dev_server;
mod edit;
mod ready;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use crate::config::SpecificationSettings;
use crate::spec::specification::fill::{fill, quote_bare, restore_bare};
use crate::spec::specification::fix::dev_server::DevServerMatch;
use crate::spec::specification::fix::edit::{insert_element, insert_member, insert_written, removal_of_member};
use crate::spec::specification::fix::ready::{Ready, find_ready};
use crate::spec::specification::lint::{LackingOperand, lacking_operand};
use crate::spec::specification::read::{SpecificationContext, read_filled_specification, without_mark};
use crate::spec::specification::scan::{Places, member, scan};
use proctor_model::{Problem, TextPosition};
use proctor_tools::{ServerKind, server_kind};

/// The lists of actions of a task.
const LISTS: [&str; 3] = ["prerequisites", "steps", "cleanup"];

const DEV_SERVER: &str = "/globalConfiguration/devServer";
const ACTION_TYPES: &str = "/executionEngine/availableActionTypes";
const REQUEST: &str = "HTTP_REQUEST";

/// The fields of a look at a file that EXISTS does not show.
const CONTENT_FIELDS: [&str; 2] = ["isValidJSON", "patternMatches"];

/// Whether a correction follows from the file, or rests on a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrectionBasis {
    /// The file says everything that the correction needs.
    Rule,
    /// The correction is right only if a command is what it looks like, so a person has to say so.
    Guess,
}

/// A part of the text, and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The byte range that is replaced; empty for an insertion.
    pub range: Range<usize>,
    pub text: String,
}

/// One correction: what is corrected, and the edits that do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The JSON pointer to the action.
    pub pointer: String,
    pub place: TextPosition,
    /// What is changed and why, for people.
    pub what: String,
    pub basis: CorrectionBasis,
    pub edits: Vec<TextEdit>,
}

/// All corrections of a text, and the faults of these kinds that only a person can correct.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorrectionPlan {
    pub corrections: Vec<Correction>,
    /// What has to be corrected by hand: the position, and what to do.
    pub left: Vec<(TextPosition, String)>,
}

/// Finds the corrections of a specification's text. The placeholders are filled from `settings` only to understand the file: what
/// is written keeps them.
pub fn plan_corrections(text: &str, project_root: &Path, settings: &SpecificationSettings) -> CorrectionPlan {
    let unmarked = without_mark(text);
    let mark = text.len() - unmarked.len();
    let mut plan = plan_unmarked(unmarked, project_root, settings);
    for edit in plan.corrections.iter_mut().flat_map(|correction| &mut correction.edits) {
        edit.range = edit.range.start + mark..edit.range.end + mark;
    }
    plan
}

fn plan_unmarked(text: &str, project_root: &Path, settings: &SpecificationSettings) -> CorrectionPlan {
    let (quoted, bare) = quote_bare(text);
    let Ok(mut document) = serde_json::from_str::<Value>(&quoted) else { return CorrectionPlan::default() };
    let places = scan(&quoted);
    if !places.duplicates.is_empty() {
        // Which of two members of one name is meant is for a person to say.
        return CorrectionPlan::default();
    }
    let bare = restore_bare(&mut document, &places, &bare);
    let mut filled = document.clone();
    let filling = fill(&mut filled, settings, &bare);
    if !filling.renamed.is_empty() {
        // The members are found by the keys that are written.
        filled = document.clone();
    }
    let mut planner = Planner { text, places, document, filled, added_dev_server: None, plan: CorrectionPlan::default() };
    planner.plan();
    verified(text, planner.plan, project_root, settings)
}

/// Returns the text with some corrections made.
pub fn apply_corrections<'c>(text: &str, corrections: impl Iterator<Item = &'c Correction>) -> String {
    let mut edits: Vec<&TextEdit> = corrections.flat_map(|correction| &correction.edits).collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    edits.dedup();
    let mut corrected = String::with_capacity(text.len());
    let mut end_of_last = 0;
    for edit in edits {
        corrected.push_str(&text[end_of_last..edit.range.start]);
        corrected.push_str(&edit.text);
        end_of_last = edit.range.end;
    }
    corrected.push_str(&text[end_of_last..]);
    corrected
}

/// Leaves out each correction after which the specification would have an error that it does not have now.
fn verified(text: &str, plan: CorrectionPlan, project_root: &Path, settings: &SpecificationSettings) -> CorrectionPlan {
    let errors = |text: &str| -> Vec<Problem> {
        let reading = read_filled_specification(text, "", SpecificationContext { project_root }, settings);
        reading.faults.into_iter().filter(Problem::is_hard).collect()
    };
    let same = |one: &Problem, other: &Problem| one.code() == other.code() && one.pointer == other.pointer;
    let mut before = errors(text);
    let mut kept = CorrectionPlan { corrections: Vec::new(), left: plan.left };
    for correction in plan.corrections {
        let after = errors(&apply_corrections(text, kept.corrections.iter().chain([&correction])));
        // There is one error for all open placeholders. Its place is that of the first one, so a correction may move it.
        let new = after.iter().find(|error| error.code() != "PLACEHOLDER" && !before.iter().any(|known| same(known, error)));
        match new {
            Some(error) => kept.left.push((correction.place, format!("{}: then {}", correction.what, error.message))),
            None => {
                before = after;
                kept.corrections.push(correction);
            }
        }
    }
    kept
}

struct Planner<'t> {
    text: &'t str,
    places: Places,
    /// The specification as it is written, and with its placeholders filled.
    document: Value,
    filled: Value,
    /// The `devServer` that a correction adds, with its placeholders filled.
    added_dev_server: Option<Value>,
    plan: CorrectionPlan,
}

/// An action of the specification, as JSON, with the task, the list and the position in the list at which it stands.
struct Found {
    task: String,
    list: &'static str,
    index: usize,
    pointer: String,
    action: Value,
}

impl Planner<'_> {
    fn plan(&mut self) {
        let tasks: Vec<String> =
            self.filled.get("tasks").and_then(Value::as_object).into_iter().flat_map(|tasks| tasks.keys().cloned()).collect();
        for task in tasks {
            for list in LISTS {
                let pointer = format!("{}/testExecution/{list}", member("/tasks", &task));
                let actions = self.filled.pointer(&pointer).and_then(Value::as_array).cloned().unwrap_or_default();
                for (index, action) in actions.into_iter().enumerate() {
                    let pointer = format!("{pointer}/{index}");
                    self.look_at(&Found { task: task.clone(), list, index, pointer, action });
                }
            }
            self.look_at_browser_validation(&member("/tasks", &task));
        }
    }

    /// Makes the steps of an enabled `mcpValidation` steps of the task, behind its other steps. They are actions like those.
    fn look_at_browser_validation(&mut self, task: &str) {
        let pointer = format!("{task}/mcpValidation");
        if self.filled.pointer(&format!("{pointer}/enabled")) != Some(&Value::Bool(true)) {
            return;
        }
        let steps = self.filled.pointer(&format!("{pointer}/steps")).and_then(Value::as_array).cloned().unwrap_or_default();
        let into = format!("{task}/testExecution/steps");
        let written = (0..steps.len()).filter_map(|at| self.text.get(self.places.range(&format!("{pointer}/steps/{at}"))?));
        let moved: Vec<Option<TextEdit>> =
            written.map(|written| insert_written(self.text, &self.places, &into, written)).collect();
        let available = self.document.pointer(ACTION_TYPES).and_then(Value::as_array);
        let mut lacking: Vec<&Value> = steps.iter().filter_map(|step| step.get("type")).collect();
        lacking.retain(|kind| available.is_some_and(|known| !known.contains(kind)));
        lacking.dedup();
        let types = lacking.into_iter().map(|kind| insert_element(self.text, &self.places, ACTION_TYPES, kind));
        let removal = removal_of_member(self.text, &self.places, &pointer);
        let edits: Option<Vec<TextEdit>> = moved.into_iter().chain(types).chain([removal]).collect();
        let place = TextPosition::of(self.text, self.places.of_key(&pointer));
        let what =
            format!("`mcpValidation` is enabled: its steps ({}) become steps of `testExecution`, behind the others", steps.len());
        match edits {
            Some(edits) => {
                self.plan.corrections.push(Correction { pointer, place, what, basis: CorrectionBasis::Rule, edits });
            }
            None => self.plan.left.push((place, what)),
        }
    }

    fn look_at(&mut self, found: &Found) {
        match found.action.get("type").and_then(Value::as_str) {
            Some("FILE_VALIDATION") => self.look_at_file(found),
            Some("TERMINAL_COMMAND") if found.action.pointer("/proctor/service").is_none() => self.look_for_server(found),
            Some(_) | None => {}
        }
    }

    /// Lets a file be looked for only if nothing says what it is compared with. What is said in another way may be what was meant, and
    /// without it a wrong file would pass.
    fn look_at_file(&mut self, found: &Found) {
        let Some(lacking) = found.action.get("parameters").and_then(lacking_operand) else { return };
        let Some(range) = self.places.range(&format!("{}/parameters/validationType", found.pointer)) else { return };
        let kind = text_at(&found.action, "/parameters/validationType");
        match lacking {
            LackingOperand::Nothing => {
                if let Some(field) = self.asked_field(found, &CONTENT_FIELDS) {
                    let id = id(found);
                    let what = format!("{id}: {kind} has nothing to compare the file with, and a condition asks `{id}.{field}`");
                    return self.leave(found, what);
                }
                let what =
                    format!("{}: {kind} has nothing to compare the file with, so it is looked for only: EXISTS", id(found));
                self.add(found, what, CorrectionBasis::Rule, vec![TextEdit { range, text: "\"EXISTS\"".to_owned() }]);
            }
            LackingOperand::Elsewhere(words) => {
                let what = format!("{}: {kind} has nothing to compare the file with, but {words}", id(found));
                self.leave(found, what);
            }
        }
    }

    fn look_for_server(&mut self, found: &Found) {
        let command = text_at(&found.action, "/parameters/command").to_owned();
        let comparison = self.compare_with_dev_server(&found.action);
        let is_the_dev_server = comparison == DevServerMatch::Same;
        let kind = if comparison == DevServerMatch::Other { server_kind(&command) } else { Some(ServerKind::Known) };
        let Some(kind) = kind else { return };
        if found.list != "prerequisites" {
            if kind == ServerKind::Known {
                let what = format!("{}: move `{command}` to `prerequisites`: a server goes on while the steps run", id(found));
                self.leave(found, what);
            }
            return;
        }
        let task = self.filled.pointer(&member("/tasks", &found.task)).cloned().unwrap_or_default();
        let written = self.document.pointer(&member("/tasks", &found.task)).cloned().unwrap_or_default();
        let ready = find_ready((&task, &written), found.index, &self.document, is_the_dev_server, kind);
        match (kind, ready) {
            // What starts a program of the project ends, unless a server is asked behind it.
            (ServerKind::Possible, Ok(ready)) if ready.follows => {
                self.make_service(found, &command, &ready, CorrectionBasis::Guess);
            }
            (ServerKind::Possible, Ok(_) | Err(_)) => {}
            (ServerKind::Known, Ok(ready)) => {
                if let DevServerMatch::Differs(differing) = &comparison {
                    return self.make_other_server(found, &command, &ready, differing);
                }
                let is_asked_before = has_workflow_checks(&task);
                if is_the_dev_server || is_asked_before {
                    self.use_dev_server(found, &command, &ready, is_the_dev_server);
                } else {
                    self.make_service(found, &command, &ready, CorrectionBasis::Rule);
                }
            }
            (ServerKind::Known, Err(why)) => self.leave(found, format!("{}: `{command}` does not end: {why}", id(found))),
        }
    }

    /// Makes the action a service: it goes on while the steps run, and is stopped after them.
    fn make_service(&mut self, found: &Found, command: &str, ready: &Ready, basis: CorrectionBasis) {
        let service = json!({ "ready": ready.document() });
        let edit = match self.document.pointer(&format!("{}/proctor", found.pointer)) {
            Some(Value::Object(_)) => {
                insert_member(self.text, &self.places, &format!("{}/proctor", found.pointer), "service", &service)
            }
            Some(_) => None,
            None => {
                let added = json!({ "version": "1.0.0", "service": service });
                insert_member(self.text, &self.places, &found.pointer, "proctor", &added)
            }
        };
        let mut what = format!(
            "{}: `{command}` does not end, so it becomes a service, which is ready when {} ({})",
            id(found),
            ready.words(),
            ready.why
        );
        let Some(edit) = edit else { return self.leave(found, what) };
        let asking = self.ask_for_success(found);
        if !asking.is_empty() {
            what.push_str("; conditions on its exit code, which is never known, ask whether it is ready");
        }
        self.add(found, what, basis, [edit].into_iter().chain(asking).collect());
    }

    fn add(&mut self, found: &Found, what: String, basis: CorrectionBasis, edits: Vec<TextEdit>) {
        let place = self.place(found);
        if edits.is_empty() {
            self.plan.left.push((place, what));
        } else {
            self.plan.corrections.push(Correction { pointer: found.pointer.clone(), place, what, basis, edits });
        }
    }

    fn leave(&mut self, found: &Found, what: String) {
        let place = self.place(found);
        self.plan.left.push((place, what));
    }

    fn place(&self, found: &Found) -> TextPosition {
        TextPosition::of(self.text, self.places.of_value(&found.pointer))
    }
}

/// Returns whether the task's workflow runs commands, which run before the task's prerequisites.
fn has_workflow_checks(task: &Value) -> bool {
    let checks = task.pointer("/executionWorkflow/prerequisites").and_then(Value::as_array);
    checks.into_iter().flatten().any(|check| check.get("checkCommand").is_some())
}

fn id(found: &Found) -> &str {
    let id = text_at(&found.action, "/actionId");
    if id.is_empty() { found.pointer.as_str() } else { id }
}

pub(super) fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
