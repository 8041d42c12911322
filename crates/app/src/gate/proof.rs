//! Whether the tests of a commit's change are known to fail without it, where `[gate] prove = "tests"` asks for it.

use std::collections::BTreeMap;

use proctor_git::{GitStorage, ObjectId};
use proctor_model::{GatePolicy, OPEN_WORLD, ProofOfTest, ProofRecord, TaskId, Timestamp, World};
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject, RequiredPlan};
use proctor_sandbox::process::clock;

/// An answer of `proctor prove` about a commit's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateProof {
    pub record: ProofRecord,
    /// Whether this store gave the answer, and not somebody whose key the policy names.
    pub is_own: bool,
}

/// How many answers in a row must say that the tests prove the change where an earlier one about the same contents says otherwise: a test that
/// fails at random does that once.
const IN_A_ROW: usize = 3;

/// By what answers are judged.
pub(super) struct AnswersBy<'a> {
    pub(super) policy: &'a GatePolicy,
    pub(super) plans: &'a BTreeMap<TaskId, RequiredPlan>,
    /// Returns the toolchains that have another content now than an answer of this store names, or were written since.
    pub(super) changed: &'a dyn Fn(&ProofRecord) -> Vec<String>,
}

/// Judges the change of a commit since the one that it is compared with; without one, since its first parent. Of the answers, newest first,
/// the first one about this change counts. `None` if the commit changes nothing since then, as a first commit.
pub(super) fn judge_change(
    mut answers: Vec<GateProof>,
    storage: &GitStorage,
    (commit, beside): (ObjectId, Option<ObjectId>),
    by: &AnswersBy<'_>,
) -> Option<(GateJudgement, Option<GateProof>)> {
    // Without a common commit, no answer can be about the change.
    let since = beside.map(|beside| storage.merge_base(beside, commit).unwrap_or(beside));
    let since = since.or_else(|| storage.first_parent(commit)).filter(|since| *since != commit)?.hex();
    answers.retain(|proof| since == proof.record.base);
    let found = answers.first();
    let says_proved = found.is_some_and(|proof| proof.record.is_proved());
    let objection =
        found.filter(|_| says_proved).and_then(|proof| by.objection(proof, clock::now()).or_else(|| unlike(&answers)));
    let is_proved = says_proved && objection.is_none();
    let answer = found.map(|proof| format!("{} · {}", proof.record.state, proof.record.summary));
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
    Some((judgement, answers.into_iter().next().filter(|_| is_proved)))
}

/// Returns why the newest answer, by which the tests prove the change, is not enough: an earlier one about the same contents says otherwise.
fn unlike(answers: &[GateProof]) -> Option<String> {
    let (newest, earlier) = answers.split_first()?;
    let alike = || earlier.iter().map(|proof| &proof.record).filter(|record| record.is_about_contents_of(&newest.record));
    let test = alike().find_map(|record| record.says_otherwise(&newest.record))?;
    let row = 1 + alike().take_while(|record| record.is_proved()).count();
    (row < IN_A_ROW).then(|| {
        let ProofOfTest { test, word, .. } = test;
        format!("an earlier one about the same files says `{word}` of {test}: {IN_A_ROW} in a row must prove it, there are {row}")
    })
}

impl AnswersBy<'_> {
    /// Returns why the policy does not accept an answer by the conditions under which it was made, as it does not accept a run. An answer by
    /// rules that nobody approved is never stored.
    fn objection(&self, proof: &GateProof, now: Timestamp) -> Option<String> {
        let record = &proof.record;
        let (Some(made), Some(_)) = (record.made, record.toolchains_looked) else {
            return Some("an earlier version of proctor gave the answer, which did not record its conditions".to_owned());
        };
        let mut digests = self.plans.values().flat_map(|plan| &plan.digests).peekable();
        let age = u128::try_from(now.as_millis().saturating_sub(made.as_millis())).unwrap_or_default();
        let not_hashed = record.toolchains.iter().filter(|one| one.content.is_none()).map(|one| one.path.clone());
        let not_hashed: Vec<String> = not_hashed.collect();
        // Nobody here can look at the toolchains of another machine.
        let changed = || if proof.is_own { (self.changed)(record) } else { Vec::new() };
        if self.policy.world == World::Closed && record.unnamed.iter().any(|channel| channel.starts_with(OPEN_WORLD)) {
            Some("the tests saw an open world".to_owned())
        } else if digests.peek().is_some() && !digests.any(|digest| *digest == record.plan_digest) {
            Some("the answer was given by other rules than the commit's plan".to_owned())
        } else if self.policy.max_age.is_some_and(|most| age > most.as_millis()) {
            Some(format!("the answer was given {made}, which is longer ago than `max_age` allows"))
        } else if !not_hashed.is_empty() {
            let names = not_hashed.join(", ");
            Some(format!("the tests saw what was not hashed yet: {names}; `proctor run --fresh-caches` waits until it is"))
        } else {
            Some(changed())
                .filter(|changed| !changed.is_empty())
                .map(|changed| format!("{} changed since the tests saw it", changed.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proctor_model::{CommandExit, Digest, ToolchainRecord, TreeDigest};
    use proctor_plan::config::Configuration;

    use super::*;

    const MADE: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn record() -> ProofRecord {
        ProofRecord {
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
            made: Some(MADE),
            environment_digest: None,
            unnamed: Vec::new(),
            toolchains: Vec::new(),
            toolchains_looked: Some(MADE),
        }
    }

    #[test]
    fn an_answer_counts_only_under_the_conditions_that_the_policy_asks_for() {
        let record = record();
        let closed = (World::Closed, Some(Duration::from_secs(60)));
        let of = |record: &ProofRecord, (world, max_age), digests: &[Digest], seconds: i64| {
            let plan = RequiredPlan { checks: Vec::new(), digests: digests.to_vec() };
            let plans = BTreeMap::from([(TaskId::default_task(), plan)]);
            let policy = GatePolicy { world, max_age, ..Configuration::default().gate };
            let changed = |record: &ProofRecord| record.toolchains.iter().map(|one| one.path.clone()).collect();
            let by = AnswersBy { policy: &policy, plans: &plans, changed: &changed };
            let proof = GateProof { record: record.clone(), is_own: true };
            by.objection(&proof, Timestamp::from_millis(MADE.as_millis() + seconds * 1_000))
        };
        let own = [record.plan_digest];
        assert_eq!(of(&record, closed, &own, 60), None);
        assert_eq!(of(&record, closed, &[], 60), None, "its plan depends on what is installed");
        let open = ProofRecord { unnamed: vec![format!("{OPEN_WORLD}: all")], ..record.clone() };
        let said = |found: Option<String>, words: &str| found.is_some_and(|found| found.contains(words));
        assert!(said(of(&open, closed, &own, 60), "open world"));
        assert_eq!(of(&open, (World::Open, closed.1), &own, 60), None);
        assert!(said(of(&record, closed, &[Digest::of(b"other")], 60), "other rules"));
        assert!(said(of(&record, closed, &own, 61), "max_age"));
        assert!(said(of(&ProofRecord { made: None, ..record.clone() }, closed, &own, 1), "earlier version"));
        assert!(said(of(&ProofRecord { toolchains_looked: None, ..record.clone() }, closed, &own, 1), "earlier version"));
        for (content, words) in [(None, "was not hashed yet: .venv"), (Some(Digest::of(b"packages")), ".venv changed since")] {
            let toolchains = vec![ToolchainRecord { path: ".venv".to_owned(), content, every_file: false }];
            assert!(said(of(&ProofRecord { toolchains, ..record.clone() }, closed, &own, 1), words), "{words}");
        }
    }

    #[test]
    fn a_test_that_proved_nothing_once_proves_the_change_only_three_times_in_a_row() {
        let of = |words: &[&str]| {
            let proof = |word: &&str| {
                let test = ProofOfTest { test: "a".to_owned(), word: (*word).to_owned(), added: true };
                let exit = if *word == "proves it" { CommandExit::Proceed } else { CommandExit::CodeNeedsWork };
                GateProof { record: ProofRecord { tests: vec![test], exit, ..record() }, is_own: true }
            };
            unlike(&words.iter().map(proof).collect::<Vec<_>>())
        };
        for word in ["flaky", "passes either way", "newly fails", "fails before and after"] {
            let said = of(&["proves it", "proves it", word]).expect("two are not enough");
            assert!(said.contains(&format!("says `{word}` of a")) && said.ends_with("there are 2"), "{said}");
            assert_eq!(of(&["proves it", "proves it", "proves it", word]), None);
            assert!(of(&["proves it", word, "proves it", "proves it"]).is_some(), "not in a row");
        }
        for word in ["not tried", "not found", "proves it", "notices it"] {
            assert_eq!(of(&["proves it", word]), None, "it saw nothing else: {word}");
        }
        let other = ProofRecord { without_source: Digest::of(b"other"), ..record() };
        let earlier = ProofRecord { exit: CommandExit::CodeNeedsWork, ..other };
        let proofs = [record(), earlier].map(|record| GateProof { record, is_own: true });
        assert_eq!(unlike(&proofs), None);
    }
}
