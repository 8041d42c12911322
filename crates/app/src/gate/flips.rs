//! What the gate says of checks that failed and passed on the commit's content: the newest result alone is no proof then.

use std::path::Path;

use crate::error::{CommandError, from_run_error};
use crate::gate::answer::AcceptedBy;
use proctor_evidence::AcceptedChanges;
use proctor_model::{FlakyTests, GatePolicy, RunId, TaskId, TreeDigest};
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
        let times = if *reds == 1 { String::new() } else { format!(" in {reds} runs, the last one") };
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

/// Returns the checks that are taken for proved, and that failed and passed on a tree, by the same plan and in an equal environment.
pub(super) fn flipped_checks(
    archive: &mut StoreReader,
    (root, tree): (&Path, TreeDigest),
    (policy, judgements): (&GatePolicy, &[GateJudgement]),
) -> Result<Vec<FlippedCheck>, CommandError> {
    let proved = judgements.iter().filter(|judged| judged.state == GateState::Proved);
    let deciding: Vec<&RunId> = proved.flat_map(|judged| &judged.runs).collect();
    let ends = archive.check_ends(root, tree, (policy, &deciding)).map_err(|error| from_run_error(&error))?;
    let ends = ends.into_iter();
    Ok(ends.filter_map(|((task, check), ends)| find_flip(&ends).map(|flip| FlippedCheck { task, check, flip })).collect())
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
