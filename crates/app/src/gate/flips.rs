//! What the gate says of checks that failed and passed on the commit's content: the newest result alone is no proof then.

use std::path::Path;

use crate::error::CommandError;
use crate::gate::answer::AcceptedBy;
use proctor_evidence::AcceptedChanges;
use proctor_evidence::report::command_of_tests;
use proctor_model::{Digest, FlakyTests, GatePolicy, Plan, RunId, TaskId, TreeDigest, split_words};
use proctor_plan::verdict::{Flip, GateJudgement, GateReason, GateState, GateSubject, find_flip};
use proctor_project::StoreReader;

/// A check that failed and passed on the commit's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlippedCheck {
    pub task: TaskId,
    pub check: String,
    pub flip: Flip,
}

impl FlippedCheck {
    /// Returns the words that a person accepts. They name the last failure: another one is not accepted by them.
    pub fn words(&self) -> String {
        let Flip { run, reds, greens, .. } = &self.flip;
        let times = if *reds == 1 { " in".to_owned() } else { format!(" in {reds} runs, the last one") };
        let named = match &self.flip.tests[..] {
            [] => String::new(),
            [only] => format!(" (`{only}`)"),
            [first, more @ ..] => format!(" (`{first}` and {} more)", more.len()),
        };
        let since = if *greens == 1 { "once".to_owned() } else { format!("{greens} times") };
        format!("check `{}`{named} failed on this content{times} {run}, and passed {since} since", self.check)
    }

    /// Returns the part of the words that stays when it passes again.
    fn key(&self) -> String {
        let words = self.words();
        words.rsplit_once(", and passed").map_or(words.clone(), |(key, _)| key.to_owned())
    }

    /// Returns whether words that a person accepted are about this failure.
    pub(super) fn is_accepted_by(&self, accepted: &str) -> bool {
        accepted.starts_with(&self.key())
    }
}

/// Returns the checks that are taken for proved, and that failed and passed on a tree, by the same plan and in an equal environment. `plans`
/// returns the commit's plans of a task.
pub(super) fn flipped_checks(
    archive: &mut StoreReader,
    (root, tree): (&Path, TreeDigest),
    (policy, judgements): (&GatePolicy, &[GateJudgement]),
    plans: &dyn Fn(&TaskId) -> Result<Vec<Plan>, CommandError>,
) -> Result<Vec<FlippedCheck>, CommandError> {
    let proved = judgements.iter().filter(|judged| judged.state == GateState::Proved);
    let deciding: Vec<&RunId> = proved.flat_map(|judged| &judged.runs).collect();
    let ends = archive.check_ends(root, tree, (policy, &deciding))?;
    let mut flipped = Vec::new();
    for ((task, check), mut ends) in ends {
        let Some(mut flip) = find_flip(&ends) else { continue };
        if !flip.tests.is_empty() {
            for alone in plans(&task)?.iter().filter_map(|plan| plan_alone(plan, &check, &flip.tests)) {
                let more = archive.ends_alone(root, tree, (&alone, &deciding), &check)?;
                ends.extend(more);
            }
            ends.sort_by(|one, other| one.run.as_str().cmp(other.run.as_str()));
            ends.dedup_by(|one, other| one.run == other.run);
            flip = find_flip(&ends).unwrap_or(flip);
        }
        flipped.push(FlippedCheck { task, check, flip });
    }
    Ok(flipped)
}

/// Returns the plan that runs these tests of a check and no others. It is the plan of a task of its own, whose name follows from the tests, so
/// no run of it is a result of the check. `None` where the command cannot be asked for them.
pub(super) fn plan_alone(plan: &Plan, check: &str, tests: &[String]) -> Option<Plan> {
    let mut alone = plan.clone();
    let action = alone.steps.iter_mut().find(|action| action.name == check)?;
    let is_plain = split_words(&action.command.display).as_ref() == Some(&action.command.argv);
    if plan.specification.is_some() || action.command.shell || !is_plain {
        return None;
    }
    action.command = command_of_tests(&action.command.display, &action.directory.to_string_lossy(), tests)?;
    let key: String = Digest::of([&[check.to_owned()], tests].concat().join("\n").as_bytes()).hex().chars().take(16).collect();
    alone.task = TaskId::try_from(format!("flaky-{key}")).ok()?;
    Some(alone)
}

/// Returns the flips that nobody accepted, and adds to `taken` who accepted the others.
pub(super) fn take_accepted_flips(
    flipped: &[FlippedCheck],
    accepted: &[&(String, AcceptedChanges)],
    taken: &mut Vec<AcceptedBy>,
) -> Vec<FlippedCheck> {
    let mut left = Vec::new();
    for one in flipped {
        let is_it = |(_, of): &&&(String, AcceptedChanges)| of.changes.iter().any(|change| one.is_accepted_by(change));
        match accepted.iter().find(is_it) {
            Some((name, of)) => taken.push(AcceptedBy { name: name.clone(), key: of.key, changes: vec![one.words()] }),
            None => left.push(one.clone()),
        }
    }
    left
}

/// Takes back that something is proved where a check has not passed often enough since it failed, and nobody accepted that.
pub(super) fn refuse_flips(judgements: &mut [GateJudgement], flipped: &[FlippedCheck], policy: &GatePolicy) {
    if policy.flaky == FlakyTests::Say {
        return;
    }
    for judged in judgements.iter_mut().filter(|judged| judged.state == GateState::Proved) {
        let is_of = |flipped: &&FlippedCheck| match &judged.subject {
            GateSubject::Task(task) => flipped.task == *task,
            GateSubject::Check(check) => flipped.check == *check,
            GateSubject::Change => false,
        };
        let unsettled = flipped.iter().filter(is_of).filter(|flipped| flipped.flip.missing() > 0);
        judged.reasons = unsettled
            .map(|flipped| GateReason::Flaky { check: flipped.check.clone(), flip: flipped.flip.clone(), words: flipped.words() })
            .collect();
        if !judged.reasons.is_empty() {
            judged.state = GateState::NotAccepted;
        }
    }
}
