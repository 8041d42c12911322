//! Repeats a run during which a helper process of proctor died: the launcher (it starts actions) or the keeper (it watches one
//! action). Such a death, for example by the kernel when memory runs out, says nothing about the code that is checked.

use crate::run_plan::run_plan_once;
use proctor_project::{Progress, ProjectError, RunOutcome, RunRequest, Workspace};
use proctor_tree::TreeHints;

/// Carries out a plan, judges the results and seals the run. `show` is called with every step of the progress.
///
/// A run during which a helper process of proctor died is sealed without a verdict, and the plan is carried out once more. If
/// a helper process dies again, the outcome is [`RunOutcome::HelperDied`].
///
/// # Errors
///
/// Only failures of proctor itself: the store, the launcher, a tree that cannot be read. Failures of tools are
/// values.
pub fn run_plan(
    workspace: &mut Workspace,
    request: &RunRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, ProjectError> {
    let first = run_plan_once(workspace, request, show)?;
    let RunOutcome::HelperDied(sealed) = &first else { return Ok(first) };
    show(Progress::HelperDied {
        run_id: sealed.run_id.clone(),
        exit: sealed.exit,
        why: sealed.report.validation_criteria_evaluation.reason.clone(),
    });
    let again = RunRequest {
        checks: request.checks.clone(),
        trigger: request.trigger.clone(),
        // Files may have changed since the hints of the first request were given.
        hints: TreeHints::Everything,
        ..*request
    };
    let second = run_plan_once(workspace, &again, show)?;
    // A newer save came before the repetition began. The first run did begin, so the plan was not merely withdrawn.
    Ok(if matches!(second, RunOutcome::Withdrawn) { RunOutcome::Superseded } else { second })
}
