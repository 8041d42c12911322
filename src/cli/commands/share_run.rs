//! Takes over the result of a run that another process was making of the same checks on the same files, and shows it as if the run had
//! been made here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::hand_over;
use crate::cli::commands::opening::RunResources;
use crate::cli::commands::run::{RunEnd, RunOutput};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::setup::LoadedProject;
use crate::cli::show_progress::ProgressScreen;
use proctor_api::{RunAnswerV1, RunOutcomeV1};
use proctor_run::project::DescribedProject;
use proctor_sandbox::process::Control;

/// If another process is running the task, waits for it and shows its result, as far as that is the result this run would have.
/// Returns `None` if the checks are to be run here.
pub(super) fn share_run(
    (options, output): (&RunOptions, RunOutput),
    (environment, control): (&Environment, &Control),
    loaded: &LoadedProject,
    opening: &mut RunResources,
    screen: &mut ProgressScreen,
) -> Result<Option<RunEnd>, CommandError> {
    // A run of some checks, in a TDD phase, or with empty caches is another run. `PROCTOR_OUT` means that a check started this command:
    // the run under way may be the one that waits for it.
    let is_another = !options.checks.is_empty() || options.phase.is_some() || options.fresh_caches;
    if is_another || !environment.values().is_empty() || environment.has("PROCTOR_OUT") {
        return Ok(None);
    }
    let RunResources { workspace, scope, settings, .. } = opening;
    let task = &loaded.plan.task;
    let described = DescribedProject { plan: &loaded.plan, settings, configuration: &loaded.configuration };
    let own = hand_over::variables(environment.variables(), &settings.environment);
    let has_same_variables =
        |process| variables_of(process).is_some_and(|theirs| hand_over::variables(&theirs, &settings.environment) == own);
    let mut show = |progress| screen.show(&progress);
    let shared = workspace.wait_for_shared_run((scope, described, task), control, &has_same_variables, &mut show);
    let Some(shared) = shared.map_err(|error| super::from_run_error(&error))? else { return Ok(None) };
    if output == RunOutput::Screen {
        render::note(&format!("note: the run of another proctor has just tested these files: its result, run {}", shared.run_id));
    }
    let answer = RunAnswerV1 {
        project: scope.project.clone(),
        task: task.clone(),
        outcome: RunOutcomeV1::Judged,
        run_id: Some(shared.run_id),
        exit_code: shared.exit.code(),
        problems: Vec::new(),
    };
    hand_over::show((options, output), environment, loaded, settings, &answer).map(Some)
}

/// Returns the variables with which a process was started; `None` if they cannot be read.
fn variables_of(process: u32) -> Option<BTreeMap<OsString, OsString>> {
    let bytes = fs::read(format!("/proc/{process}/environ")).ok()?;
    let variable = |entry: &[u8]| {
        let at = entry.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
    };
    Some(bytes.split(|byte| *byte == 0).filter_map(variable).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares with this process's own environment")]
    fn the_variables_of_a_process_are_those_it_was_started_with() {
        let own = variables_of(std::process::id()).expect("this process");
        assert_eq!(own.get(OsStr::new("PATH")), std::env::var_os("PATH").as_ref());
        assert!(variables_of(u32::MAX).is_none(), "no such process");
    }
}
