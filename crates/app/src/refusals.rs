//! Why nothing was run, and what a person does about it, in words.

use crate::environment::Environment;
use crate::error::CommandError;
use proctor_api::{RunAnswerV1, RunOutcomeV1};
use proctor_model::{ApprovalWay, AsksFor, CommandExit, PauseRecord, TaskId, UnapprovedPlan, approve_command, plan_subject};
use proctor_project::UnmetDependency;

/// Returns the message that a task waits for a person (R9).
pub fn paused(task: &TaskId, pause: &PauseRecord) -> String {
    format!("task `{task}` needs a person since {} (run {}): {}", pause.since, pause.run_id, pause.reason)
}

/// Returns the message that a task waits for other tasks.
pub fn waits(task: &TaskId) -> String {
    format!("`{task}` depends on what is not complete: nothing was run")
}

fn waits_hint(unmet: &[UnmetDependency]) -> String {
    let first = unmet.iter().map(|unmet| format!("`proctor run --task {}`", unmet.task)).collect::<Vec<_>>();
    format!("run {} first", first.join(", then "))
}

/// Returns the lines about a plan that a person must approve first (S7). The first line says that it asks for more; the following lines
/// say where.
pub fn not_approved(unapproved: &UnapprovedPlan) -> Vec<String> {
    let subject = plan_subject(&unapproved.task, &unapproved.file);
    let first = format!("{subject} {}: nothing was run", unapproved.asks_for.words());
    std::iter::once(first).chain(unapproved.texts()).collect()
}

/// Returns the hint how a person can approve a plan or settings.
pub fn approve_hint(environment: &Environment, unapproved: &UnapprovedPlan) -> String {
    let command = approve_command(&unapproved.task);
    match unapproved.way {
        ApprovalWay::Answer => {
            let hint = format!("take it back, or have a person approve it at a terminal: `{command}`");
            match unapproved.asks_for {
                AsksFor::OtherRules => hint,
                AsksFor::More | AsksFor::MoreAtFirst => {
                    format!(
                        "{hint}. What your own projects may always ask for stands in `{}`",
                        environment.shown_user_configuration()
                    )
                }
            }
        }
        ApprovalWay::Signature => {
            format!("take it back, or have it signed: `{command} --print > approval.json`, then `{command} --signature FILE.sig`")
        }
    }
}

/// Returns the hint for a plan that the service refused because nobody approved what it opens. The service does
/// not say whether the approval needs a signature, so the hint names both ways to approve.
pub fn approve_hint_of_service(task: &TaskId) -> String {
    let command = approve_command(task);
    format!(
        "take it back, or have a person approve it: `{command}` at a terminal or, where a signature is required, `{command} --print` and \
         `{command} --signature FILE.sig`"
    )
}

/// Returns the hint how a person sends on a task that waits for a person's decision.
pub fn resolve_hint(task: &TaskId) -> String {
    format!(
        "decide with `proctor tdd resolve {task} --to NODE --reason TEXT` on a terminal; `proctor tdd show` says how it came to this"
    )
}

/// Returns the error that a task waits for a person.
pub fn waits_for_a_person(task: &TaskId, pause: &PauseRecord) -> CommandError {
    CommandError::new(CommandExit::PersonNeeded, paused(task, pause)).hint(resolve_hint(task))
}

/// Returns the error that a person must approve the plan, because the plan is weaker than the approved plan (S7).
pub fn not_approved_error(environment: &Environment, unapproved: &UnapprovedPlan) -> CommandError {
    let mut lines = not_approved(unapproved).into_iter();
    let error = CommandError::new(CommandExit::PersonNeeded, lines.next().unwrap_or_default());
    error.with_details(lines).hint(approve_hint(environment, unapproved))
}

/// Returns the error that other tasks, on which this task depends, are incomplete. Like a failed prerequisite, this means that the code
/// needs work (G5).
pub fn waits_for_tasks(task: &TaskId, unmet: &[UnmetDependency]) -> CommandError {
    let error = CommandError::new(CommandExit::CodeNeedsWork, waits(task));
    let error = error.with_details(unmet);
    error.hint(waits_hint(unmet))
}

/// Returns the error that a run of the service, or of another command, left no report that can be read.
pub fn without_report(answer: &RunAnswerV1, exit: CommandExit) -> CommandError {
    const LOOK: &str = "`proctor status` says how the project stands; the service's log says more";
    let error = |message: &str| CommandError::new(exit, message);
    let with_problems = |message: &str| error(message).with_details(&answer.problems);
    match answer.outcome {
        RunOutcomeV1::NeedsHuman => {
            error(&format!("task `{}` {}", answer.task, answer.problems.join("; "))).hint(resolve_hint(&answer.task))
        }
        RunOutcomeV1::Waits => with_problems(&waits(&answer.task)),
        RunOutcomeV1::NotApproved => {
            let message = format!("task `{}` asks for more than was approved: nothing was run", answer.task);
            with_problems(&message).hint(approve_hint_of_service(&answer.task))
        }
        RunOutcomeV1::ConfigurationWrong => {
            with_problems("the configuration is wrong").hint("mend proctor.toml and run the command again")
        }
        RunOutcomeV1::Superseded => error("saves stopped the run again and again; nothing was judged").hint(LOOK),
        RunOutcomeV1::Failed => error(&answer.problems.join("; ")).hint(LOOK),
        RunOutcomeV1::Judged
        | RunOutcomeV1::Moved
        | RunOutcomeV1::Interrupted
        | RunOutcomeV1::Unchanged
        | RunOutcomeV1::Untriggered => {
            error(&format!("the service says `{}` and names no run that can be read", answer.outcome.word())).hint(LOOK)
        }
    }
}
