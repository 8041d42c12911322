//! Whether the tests of a commit's change are known to fail without it, where `[gate] prove = "tests"` asks for it.

use proctor_git::{GitStorage, ObjectId};
use proctor_model::ProofRecord;
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject};

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
) -> Option<(GateJudgement, Option<GateProof>)> {
    // Without a common commit, no answer can be about the change.
    let since = beside.map(|beside| storage.merge_base(beside, commit).unwrap_or(beside));
    let since = since.or_else(|| storage.first_parent(commit)).filter(|since| *since != commit)?.hex();
    let found = answers.into_iter().find(|proof| since == proof.record.base);
    let is_proved = found.as_ref().is_some_and(|proof| proof.record.is_proved());
    let answer = found.as_ref().map(|proof| format!("{} · {}", proof.record.state, proof.record.summary));
    let reason = GateReason::ChangeNotProved { since, answer };
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
