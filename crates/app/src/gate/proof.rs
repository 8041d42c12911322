//! Whether the tests of a commit's change are known to fail without it, where `[gate] prove = "tests"` asks for it.

use proctor_git::{GitStorage, ObjectId};
use std::collections::BTreeMap;
use std::time::Duration;

use proctor_model::{GatePolicy, OPEN_WORLD, ProofRecord, TaskId, Timestamp, World};
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject, RequiredPlan};
use proctor_sandbox::process::clock;

/// An answer of `proctor prove` about a commit's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateProof {
    pub record: ProofRecord,
    /// Whether this store gave the answer, and not somebody whose key the policy names.
    pub is_own: bool,
}

/// Judges the change of a commit since the one that it is compared with; without one, since its first parent. The first answer about this
/// change counts. `None` if the commit changes nothing since then, as a first commit.
pub(super) fn judge_change(
    answers: impl IntoIterator<Item = GateProof>,
    storage: &GitStorage,
    (commit, beside): (ObjectId, Option<ObjectId>),
    (policy, plans): (&GatePolicy, &BTreeMap<TaskId, RequiredPlan>),
) -> Option<(GateJudgement, Option<GateProof>)> {
    // Without a common commit, no answer can be about the change.
    let since = beside.map(|beside| storage.merge_base(beside, commit).unwrap_or(beside));
    let since = since.or_else(|| storage.first_parent(commit)).filter(|since| *since != commit)?.hex();
    let found = answers.into_iter().find(|proof| since == proof.record.base);
    let says_proved = found.as_ref().is_some_and(|proof| proof.record.is_proved());
    let objection = found
        .as_ref()
        .filter(|_| says_proved)
        .and_then(|proof| objection(&proof.record, (policy.world, policy.max_age), plans, clock::now()));
    let is_proved = says_proved && objection.is_none();
    let answer = found.as_ref().map(|proof| format!("{} · {}", proof.record.state, proof.record.summary));
    let reason = GateReason::ChangeNotProved { since, answer, objection };
    let judgement = GateJudgement {
        subject: GateSubject::Change,
        state: if is_proved { GateState::Proved } else { GateState::NotAccepted },
        runs: Vec::new(),
        reasons: if is_proved { Vec::new() } else { vec![reason] },
        also_read: Vec::new(),
        restored: Vec::new(),
        unnamed: Vec::new(),
        warnings: Vec::new(),
    };
    Some((judgement, found.filter(|_| is_proved)))
}

/// Returns why the policy does not accept an answer by the conditions under which it was made, as it does not accept a run. An answer by rules
/// that nobody approved is never stored.
fn objection(
    record: &ProofRecord,
    (world, max_age): (World, Option<Duration>),
    plans: &BTreeMap<TaskId, RequiredPlan>,
    now: Timestamp,
) -> Option<String> {
    let Some(made) = record.made else {
        return Some("an earlier version of proctor gave the answer, which did not record its conditions".to_owned());
    };
    let mut digests = plans.values().flat_map(|plan| &plan.digests).peekable();
    let age = u128::try_from(now.as_millis().saturating_sub(made.as_millis())).unwrap_or_default();
    if world == World::Closed && record.unnamed.iter().any(|channel| channel.starts_with(OPEN_WORLD)) {
        Some("the tests saw an open world".to_owned())
    } else if digests.peek().is_some() && !digests.any(|digest| *digest == record.plan_digest) {
        Some("the answer was given by other rules than the commit's plan".to_owned())
    } else if max_age.is_some_and(|most| age > most.as_millis()) {
        Some(format!("the answer was given {made}, which is longer ago than `max_age` allows"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::{CommandExit, Digest, TreeDigest};

    use super::*;

    #[test]
    fn an_answer_counts_only_under_the_conditions_that_the_policy_asks_for() {
        let made = Timestamp::from_millis(1_700_000_000_000);
        let record = ProofRecord {
            base: "2".repeat(40),
            after: None,
            tree_digest: TreeDigest(Digest::of(b"tree")),
            without_source: Digest::of(b"before"),
            plan_digest: Digest::of(b"plan"),
            state: "PROVED".to_owned(),
            exit: CommandExit::Proceed,
            summary: String::new(),
            tests: Vec::new(),
            more_tests: 0,
            made: Some(made),
            environment_digest: None,
            unnamed: Vec::new(),
        };
        let closed = (World::Closed, Some(Duration::from_secs(60)));
        let plan = |digests: &[Digest]| RequiredPlan { checks: Vec::new(), digests: digests.to_vec() };
        let of = |record: &ProofRecord, policy: (World, Option<Duration>), plan: RequiredPlan, seconds: i64| {
            let plans = BTreeMap::from([(TaskId::default_task(), plan)]);
            objection(record, policy, &plans, Timestamp::from_millis(made.as_millis() + seconds * 1_000))
        };
        let own = || plan(&[record.plan_digest]);
        assert_eq!(of(&record, closed, own(), 60), None);
        assert_eq!(of(&record, closed, plan(&[]), 60), None, "its plan depends on what is installed");
        let open = ProofRecord { unnamed: vec![format!("{OPEN_WORLD}: all")], ..record.clone() };
        let said = |found: Option<String>, words: &str| found.is_some_and(|found| found.contains(words));
        assert!(said(of(&open, closed, own(), 60), "open world"));
        assert_eq!(of(&open, (World::Open, closed.1), own(), 60), None);
        assert!(said(of(&record, closed, plan(&[Digest::of(b"other")]), 60), "other rules"));
        assert!(said(of(&record, closed, own(), 61), "max_age"));
        assert!(said(of(&ProofRecord { made: None, ..record.clone() }, closed, own(), 1), "earlier version"));
    }
}
