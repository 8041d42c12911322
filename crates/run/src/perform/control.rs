//! The control of a check: before the check, the same command runs with tests that must fail. `tools/` judges the
//! result.
//!
//! The control uses the run's own launcher and thread, even when checks run side by side. Running checks continue, but
//! no other check starts, and no end of a check is reported, until the control is over.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use crate::perform::process::with_command_environment;
use crate::perform::reports::{read_source, take_report, without_secrets};
use crate::perform::{Attempts, OutputPlaces, Performer, TimeBudget, limits_of};
use proctor_evidence::report::ActionFiles;
use proctor_evidence::{OutputDirectory, mint_nonce};
use proctor_model::{Action, ActionPhase, CategoryCode, ControlObservation, Digest, EvidenceFile, Interpretation, Plan};
use proctor_project::ProjectError;
use proctor_tools::{self as tools, ReportRequest, SessionCode};
use proctor_tree::{TreeEntry, TreeIndex};

/// The names of the files with code that pytest or Python loads before the tests.
const LOADED_ALWAYS: &[&[u8]] = &[b"conftest.py", b"sitecustomize.py", b"usercustomize.py"];

/// At most so many modules that others import are looked at.
const MOST_MODULES: usize = 200;

/// The result of a control, and its files.
pub(super) struct ControlOutcome {
    pub(super) seen: ControlObservation,
    pub(super) files: Vec<EvidenceFile>,
}

/// Returns whether code of the tree that pytest loads before the tests has words by which it can put another session in the place of
/// the one that a check starts. The checks whose command is pytest itself then have a control, whether they ask for one or not.
///
/// That code is each `conftest.py`, what Python loads by itself, the plugins that a command, its environment or a settings file names, and
/// the modules of the tree that these import, and so on, except modules of tests. `known` has what files said before, by their content, so
/// that a save reads what changed.
pub(crate) fn may_replace_session(
    plan: &Plan,
    root: &Path,
    index: &TreeIndex,
    known: &mut BTreeMap<Digest, Arc<SessionCode>>,
) -> bool {
    let of_pytest = || plan.steps.iter().filter(|action| tools::may_be_replaced(action.tool) && !action.control);
    if of_pytest().next().is_none() {
        return false;
    }
    let mut texts: Vec<String> = of_pytest().map(|action| action.command.argv.join(" ")).collect();
    texts.extend(of_pytest().filter_map(|action| action.environment.get("PYTEST_ADDOPTS").cloned()));
    let plugins = of_pytest().filter_map(|action| action.environment.get("PYTEST_PLUGINS"));
    texts.extend(plugins.map(|names| format!("pytest_plugins {names}")));
    let read = |entry: &TreeEntry| read_source(root, entry.path.as_path()).unwrap_or_default();
    let mut used = BTreeMap::new();
    let mut code_of = |entry: &TreeEntry| {
        let code = entry.digest.and_then(|digest| known.get(&digest).cloned());
        let code = code.unwrap_or_else(|| Arc::new(SessionCode::read(&read(entry))));
        used.extend(entry.digest.map(|digest| (digest, code.clone())));
        code
    };
    let mut modules: BTreeMap<String, Vec<TreeEntry>> = BTreeMap::new();
    let mut waiting = VecDeque::new();
    for entry in index.entries() {
        let name = entry.path.name();
        if LOADED_ALWAYS.contains(&name) {
            waiting.push_back((code_of(&entry), true));
        } else if tools::PYTEST_SETTINGS_FILES.contains(&name) {
            texts.push(read(&entry));
        } else if let Some(module) = module_of(entry.path.as_path()) {
            modules.entry(module.to_owned()).or_default().push(entry.clone());
        }
    }
    let mut plugins: Vec<String> = texts.iter().flat_map(|text| tools::named_plugins(text)).collect();
    let mut words: VecDeque<String> = texts.iter().flat_map(|text| tools::modules_named(text)).collect();
    let mut looked_at = 0;
    let found = loop {
        if let Some((code, is_loaded)) = waiting.pop_front() {
            // A module of the project has to say that it is about pytest.
            if code.may_replace && (is_loaded || code.names_session) {
                break true;
            }
            words.extend(code.imported.iter().cloned());
            words.extend(code.plugins.iter().filter_map(|path| Some(Path::new(path).file_stem()?.to_str()?.to_owned())));
            plugins.extend(code.plugins.iter().cloned());
        } else if let Some(word) = words.pop_front() {
            for entry in modules.remove(&word).into_iter().flatten().take(MOST_MODULES - looked_at) {
                looked_at += 1;
                let is_plugin = plugins.iter().any(|plugin| entry.path.as_path().ends_with(plugin));
                waiting.push_back((code_of(&entry), is_plugin));
            }
        } else {
            break false;
        }
    };
    *known = used;
    found
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
        let nonce = mint_nonce()?;
        let output = OutputDirectory::create_for_control(self.lock, &self.context.run_id, &action.id, attempt)?;
        let mut environment = self.environment(action, output.path());
        let (seen, link) = (with_command_environment(action, &environment), self.evidence_link());
        let Some(prepared) = tools::prepare_control(&seen, output.path(), link.as_deref(), &nonce) else { return Ok(None) };
        let (plugin, text) = &prepared.plugin;
        output.put(plugin, text.as_bytes())?;
        environment.add_for_the_tool(&prepared.environment);
        let limits = limits_of(action, time_budget.timeout);
        let places = OutputPlaces { names: &names, output: &output, is_attempt: false };
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
