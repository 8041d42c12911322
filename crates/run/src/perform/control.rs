//! The control of a check: before the check, the same command runs with tests that must fail. `tools/` judges the
//! result.
//!
//! The control uses the run's own launcher and thread, even when checks run side by side. Running checks continue, but
//! no other check starts, and no end of a check is reported, until the control is over.

use std::collections::BTreeMap;
use std::path::Path;

use crate::perform::process::with_command_environment;
use crate::perform::reports::{read_source, take_report, without_secrets};
use crate::perform::{Attempts, OutputPlaces, Performer, TimeBudget, limits_of};
use proctor_evidence::report::ActionFiles;
use proctor_evidence::{OutputDirectory, mint_nonce};
use proctor_model::{Action, ActionPhase, CategoryCode, ControlObservation, EvidenceFile, Interpretation, Plan, TreePath};
use proctor_project::ProjectError;
use proctor_tools::{self as tools, ReportRequest};
use proctor_tree::TreeIndex;

/// The names of the files with code that pytest or Python loads before the tests.
const LOADED_ALWAYS: &[&[u8]] = &[b"conftest.py", b"sitecustomize.py", b"usercustomize.py"];

/// At most so many modules are read for words, and about so many bytes of them.
const MOST_FILES: usize = 2000;
const MOST_BYTES: usize = 4 << 20;

/// The result of a control, and its files.
pub(super) struct ControlOutcome {
    pub(super) seen: ControlObservation,
    pub(super) files: Vec<EvidenceFile>,
}

/// Returns whether code of the tree that pytest loads before the tests has words by which it can put another session in the place of
/// the one that a check starts. The checks whose command is pytest itself then have a control, whether they ask for one or not.
///
/// That code is each `conftest.py`, what Python loads by itself, the plugins that a command, its environment or a settings file names, and
/// every module of the tree whose name stands in code or settings that were read, except modules of tests.
pub(crate) fn may_replace_session(plan: &Plan, root: &Path, index: &TreeIndex) -> bool {
    let mut found = Found::default();
    for action in plan.steps.iter().filter(|action| tools::may_be_replaced(action.tool) && !action.control) {
        found.texts.push(action.command.argv.join(" "));
        found.texts.extend(action.environment.get("PYTEST_ADDOPTS").cloned());
        found.texts.extend(action.environment.get("PYTEST_PLUGINS").map(|names| format!("pytest_plugins {names}")));
    }
    if found.texts.is_empty() {
        return false;
    }
    let read = |path: &TreePath| read_source(root, path.as_path()).unwrap_or_default();
    let mut modules: BTreeMap<String, Vec<TreePath>> = BTreeMap::new();
    for entry in index.entries() {
        let name = entry.path.name();
        if LOADED_ALWAYS.contains(&name) {
            found.code.push((read(&entry.path), Code::Loaded));
        } else if tools::PYTEST_SETTINGS_FILES.contains(&name) {
            found.texts.push(read(&entry.path));
        } else if let Some(module) = module_of(entry.path.as_path()) {
            modules.entry(module.to_owned()).or_default().push(entry.path.clone());
        }
    }
    let named = found.texts.iter().chain(found.code.iter().map(|(text, _)| text)).flat_map(|text| tools::named_plugins(text));
    let named: Vec<String> = named.collect();
    found.code.extend(std::mem::take(&mut found.texts).into_iter().map(|text| (text, Code::None)));
    let (mut files, mut bytes) = (0, 0);
    while let Some((text, code)) = found.code.pop() {
        let counts = match code {
            Code::None => false,
            // Such a module of the project has to say that it is about pytest.
            Code::MayBeLoaded => tools::names_session(&text),
            Code::Loaded => true,
        };
        if counts && tools::may_replace_session(&text) {
            return true;
        }
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        for path in words.filter_map(|word| modules.remove(word)).flatten() {
            if files < MOST_FILES && bytes < MOST_BYTES {
                let text = read(&path);
                (files, bytes) = (files + 1, bytes + text.len());
                let is_named = named.iter().any(|plugin| path.as_path().ends_with(plugin));
                found.code.push((text, if is_named { Code::Loaded } else { Code::MayBeLoaded }));
            }
        }
    }
    false
}

/// Whether a text is code that runs before the tests.
enum Code {
    /// It is a command or a settings file, which only names code.
    None,
    MayBeLoaded,
    Loaded,
}

/// The texts that may name code, and what was read and not looked at yet.
#[derive(Default)]
struct Found {
    texts: Vec<String>,
    code: Vec<(String, Code)>,
}

/// Returns the name by which code imports a file of Python that is no module of tests; of a package, that of its directory.
fn module_of(path: &Path) -> Option<&str> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".py")?;
    if stem.starts_with("test_") || stem.ends_with("_test") {
        return None;
    }
    if stem == "__init__" { path.parent()?.file_name()?.to_str() } else { Some(stem) }
}

impl Performer<'_, '_> {
    /// Carries out the control of an action; `None` if neither the plan nor the code of the tree needs one, or if
    /// proctor has no control for the tool.
    pub(super) fn perform_control(
        &mut self,
        action: &Action,
        time_budget: TimeBudget,
        attempts: &Attempts,
    ) -> Result<Option<ControlOutcome>, ProjectError> {
        let is_needed =
            self.context.may_replace_session && action.phase == ActionPhase::Step && tools::may_be_replaced(action.tool);
        if !action.control && !is_needed {
            return Ok(None);
        }
        if !tools::may_have_control(action.tool, &action.command.argv) {
            return Ok(is_needed.then(|| ControlOutcome { seen: not_possible(), files: Vec::new() }));
        }
        let attempt = attempts.number();
        let names = ActionFiles::for_control(action, attempt);
        let nonce = mint_nonce().map_err(ProjectError::Evidence)?;
        let output = OutputDirectory::create_for_control(self.lock, &self.context.run_id, &action.id, attempt);
        let output = output.map_err(ProjectError::Evidence)?;
        let mut environment = self.environment(action, output.path());
        let (seen, link) = (with_command_environment(action, &environment), self.evidence_link());
        let Some(prepared) = tools::prepare_control(&seen, output.path(), link.as_deref(), &nonce) else { return Ok(None) };
        let (plugin, text) = &prepared.plugin;
        output.put(plugin, text.as_bytes()).map_err(ProjectError::Evidence)?;
        environment.add_for_the_tool(&prepared.environment);
        let limits = limits_of(action, time_budget.timeout);
        let places = OutputPlaces { names: &names, output: &output };
        let mut launch = self.prepare_launch(action, limits, prepared.argv, attempts, &environment, places)?;
        let ended = self.supervise(action, &mut launch)?;
        self.note_end(action, &ended.end);
        let request = ReportRequest::Ours { path: prepared.report_file, channel: "control" };
        let report = take_report(&request, &output, &self.working_directory(action), &self.context.request.scope.root, None);
        let report = without_secrets(report, &self.secrets(), output.path());
        let seen = tools::interpret_control(&ended.end, &report, &nonce, action.control);
        let mut files = self.keep_streams(action, &ended, &names)?;
        files.extend(self.keep_report(names.tool_report.as_ref(), &report, action)?);
        Ok(Some(ControlOutcome { seen, files }))
    }
}

/// What is known of a check that starts pytest by another program, where code of the tree can put another session in its place.
fn not_possible() -> ControlObservation {
    let reason = "code of the tree can start another pytest session in the place of this one, and the command is not pytest itself; name \
                  pytest's own command in the check";
    ControlObservation { held: false, applicable: Some(false), reason: reason.to_owned() }
}

/// Returns the action's result in the light of its control: if the runner did not report the failures of the control, a
/// pass of the action does not count.
pub(super) fn apply_control(interpretation: Interpretation, control: Option<&ControlObservation>) -> Interpretation {
    let Some(control) = control else { return interpretation };
    let interpretation = Interpretation { control: Some(control.clone()), ..interpretation };
    if control.applicable == Some(false) {
        let mut interpretation = interpretation;
        interpretation.warnings.push(format!("The control could not be applied, so it says nothing: {}", control.reason));
        return interpretation;
    }
    if control.held || interpretation.category != CategoryCode::TestsPassed {
        return interpretation;
    }
    Interpretation {
        category: CategoryCode::Inconsistent,
        reason: format!(
            "The control does not hold, so that the tests passed proves nothing ({}): {}; look for a conftest.py or plugin that \
             rewrites results or starts another session, and for `python -O`",
            interpretation.reason, control.reason
        ),
        error_type: Some("CONTROL_NOT_HELD".to_owned()),
        ..interpretation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pass_is_taken_back_and_only_by_a_control_that_does_not_hold() {
        let said = |category| Interpretation::plain(category, "1 passed");
        let seen = |held| ControlObservation { held, applicable: None, reason: "it passed".to_owned() };
        let taken = apply_control(said(CategoryCode::TestsPassed), Some(&seen(false)));
        assert_eq!(taken.category, CategoryCode::Inconsistent);
        assert!(taken.reason.contains("it passed") && taken.reason.contains("1 passed"), "{}", taken.reason);
        let kept = apply_control(said(CategoryCode::TestsPassed), Some(&seen(true)));
        assert_eq!((kept.category, kept.control.map(|control| control.held)), (CategoryCode::TestsPassed, Some(true)));
        let not_applicable = ControlObservation { applicable: Some(false), ..seen(false) };
        let kept = apply_control(said(CategoryCode::TestsPassed), Some(&not_applicable));
        assert!(kept.category == CategoryCode::TestsPassed && kept.warnings[0].contains("could not be applied"));
        let failed = apply_control(said(CategoryCode::TestsFailed), Some(&seen(false)));
        assert_eq!(failed.category, CategoryCode::TestsFailed, "a failure keeps its own reason");
        assert_eq!(apply_control(said(CategoryCode::TestsPassed), None), said(CategoryCode::TestsPassed));
    }
}
