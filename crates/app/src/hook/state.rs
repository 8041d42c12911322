//! What is recorded between the events of an agent's session, in a private file of the store.

use std::collections::{BTreeMap, BTreeSet};

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::hook::{Claim, FailingItem, HookStanding};
use proctor_model::{Digest, OverallResult, RunId, Timestamp, TreeDigest};

/// What is known about one session of an agent: a state for each project that it worked in, by the project's root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionState {
    pub projects: BTreeMap<String, TurnState>,
    /// The last text that kept the agent from stopping, about all projects together.
    pub last_text: Option<SaidText>,
}

/// A text that the agent was given, by its hash. Some agents send the text back as the next prompt.
#[wire(Copy, open)]
pub struct SaidText {
    digest: Digest,
    /// How many bytes the text has.
    bytes: usize,
}

/// How many bytes an agent may put before the text that it sends back.
const LONGEST_PREFIX: usize = 200;

impl SaidText {
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        Self { digest: Digest::of(text.as_bytes()), bytes: text.len() }
    }

    /// Returns whether a prompt is this text as a whole, with at most a short prefix of the agent before it. A person who quotes a part of
    /// the text gives a new prompt.
    pub fn is_echoed_by(&self, prompt: &str) -> bool {
        let prompt = prompt.trim();
        let Some(start) = prompt.len().checked_sub(self.bytes).filter(|start| *start <= LONGEST_PREFIX) else { return false };
        prompt.get(start..).is_some_and(|end| Digest::of(end.as_bytes()) == self.digest)
    }
}

/// What is known about an agent's present turn in one project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnState {
    /// How the project stood when the turn began; `None` if no event told of the beginning. What it is measured by is [`Self::begun`].
    pub start: Option<TurnStart>,
    /// When the first turn of the session in this project began.
    pub session_begun: Option<Timestamp>,
    /// Whether the agent has not stopped since the turn began. What follows an interrupt, or a session that is resumed, belongs to it.
    pub goes_on: bool,
    /// The tree with which the agent stopped last.
    pub stopped_on: Option<TreeDigest>,
    /// Whether the beginning of a turn is being answered. Where the agent ended that hook before its answer, `start` is that of an
    /// earlier turn.
    pub is_beginning: bool,
    /// How often the agent was kept from stopping since the last green verdict or prompt.
    pub blocks: u32,
    /// The same for the ends of sub-agents and tasks, which must not use up those of the turn.
    pub side_blocks: u32,
    /// The last verdict that the agent was told of.
    pub last_result: Option<OverallResult>,
    /// A claim in the agent's last message, for agents whose end of a turn has no message.
    pub reply: Option<Claim>,
    pub told: ToldState,
}

/// What was said already, so that it is said once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToldState {
    /// The tree of which it was said that it is not tested yet.
    pub pending: Option<String>,
    /// The same for a message with a claim, whose reader has to know that it is not checked.
    pub pending_claim: Option<String>,
    /// The same for a claim of a sub-agent.
    pub pending_side_claim: Option<String>,
    /// The failures of which it was said that they are older than the turn.
    pub failed_before: Vec<FailureIdentity>,
    /// Whether the person was told that the agent stops with what it was blocked for.
    pub limit: bool,
    /// Whether a claim of this turn was answered with the verdict.
    pub claim: bool,
    /// What kept the agent from stopping at the end of this turn. Each failure does so once.
    pub blocked_for: BlockedFor,
    /// The reason for which only a person can go on.
    pub person: Option<String>,
    /// The missing tests that kept the agent from stopping.
    pub missing: Vec<String>,
    /// The rules of which it was said that nobody approved them.
    pub rules: Option<String>,
    /// What was said that a green verdict lacks of the project's tests.
    pub tests: Option<String>,
}

/// What kept an agent from stopping since the last green verdict or prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockedFor {
    pub failures: Vec<FailureIdentity>,
    /// The most failures that there were at a block, listed or not.
    pub total: u64,
    /// Why the tree could not be judged.
    pub reason: Option<String>,
}

impl BlockedFor {
    /// Notes all that fails now: the text of a block tells of it.
    pub fn note(&mut self, standing: &HookStanding) {
        let new = standing.failing.iter().filter(|item| !self.has(item)).map(|item| item.identity.clone());
        let new: Vec<FailureIdentity> = new.collect();
        self.failures.extend(new);
        self.total = self.total.max(standing.failing_total);
    }

    pub fn has(&self, item: &FailingItem) -> bool {
        self.failures.contains(&item.identity)
    }
}

/// How a project stood when a turn began.
#[wire(open)]
pub struct TurnStart {
    pub at: Timestamp,
    /// What failed before this time is older than the turn; `None` if that is the time at which the turn began.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// The digest of the tree; `None` if it could not be read.
    pub tree: Option<TreeDigest>,
    /// Whether a run could have judged the tree.
    pub judgeable: bool,
    /// What failed before the turn; `None` if that is not known.
    pub before: Option<FailuresBefore>,
    /// The last run before the turn that has a result.
    #[serde(default)]
    pub run: Option<RunId>,
}

/// What failed by the verdict that was the last one when a turn began.
#[wire(open)]
pub struct FailuresBefore {
    pub verdict: VerdictBefore,
    /// The names of the checks that there were; empty if they are not known.
    pub checks: BTreeSet<String>,
    pub failing: Vec<FailureIdentity>,
    /// How many failed, in `failing` or not.
    pub total: u64,
    /// The checks that have no result for the tree of that verdict, because something before them failed: what fails in them later may be
    /// older than the turn.
    #[serde(default)]
    pub not_run: BTreeSet<String>,
}

/// Of which tree the last verdict before a turn was.
#[wire(Copy, Hash)]
pub enum VerdictBefore {
    /// Of the tree with which the turn began.
    OfThisTree,
    /// Of an earlier tree. The tree with which the turn began was being tested, or was about to be.
    OfEarlierTree,
}

/// By what a failure is recognised in another run. Line numbers are not in it, because an edit above moves them.
#[wire(open)]
pub struct FailureIdentity {
    pub check: String,
    /// The check's command; `None` if it is not known as a whole.
    pub command: Option<String>,
    pub place: FailurePlace,
}

/// What of a check failed.
#[wire]
pub enum FailurePlace {
    /// The test with this id.
    Test(String),
    /// The test file with this path, whose tests could not be collected.
    File(String),
    /// The finding with this file, rule and message.
    Finding(String),
    /// The check as a whole.
    Whole,
}

impl TurnState {
    /// Returns how the project stood when the present turn began; `None` if that is not known.
    pub fn begun(&self) -> Option<&TurnStart> {
        self.start.as_ref().filter(|_| self.goes_on || !self.is_beginning)
    }

    /// Takes back what is recorded as said, because it was not. `before` is what was recorded before.
    pub fn unsay(&mut self, before: &Self) {
        let TurnState { blocks, side_blocks, last_result, told, .. } = before.clone();
        (self.blocks, self.side_blocks, self.last_result, self.told) = (blocks, side_blocks, last_result, told);
    }
}

impl FailureIdentity {
    /// Returns whether both are of one check, which may have been given another name.
    fn is_of_check(&self, other: &Self) -> bool {
        self.check == other.check || self.command.is_some() && self.command == other.command
    }
}

impl FailuresBefore {
    /// Leaves these failures out.
    pub fn without(self, failures: &[&FailureIdentity]) -> Self {
        let (left_out, failing): (Vec<_>, Vec<_>) = self.failing.into_iter().partition(|failure| failures.contains(&failure));
        Self { total: self.total - left_out.len() as u64, failing, ..self }
    }

    /// Returns whether a failure was there before the turn. A check that was given another name is recognised by its command, and, where it
    /// is one that there was not before, by its failing tests.
    pub fn has(&self, now: &FailureIdentity) -> bool {
        let is_renamed = matches!(now.place, FailurePlace::Test(_) | FailurePlace::File(_)) && !self.checks.contains(&now.check);
        self.failing.iter().any(|before| before.place == now.place && (before.is_of_check(now) || is_renamed))
    }

    /// Returns whether the failure's check gave no complete result before the turn: it did not run, it failed as a whole, or tests of it
    /// could not be collected. Whether something failed in it already is then not known.
    pub fn is_incomplete(&self, now: &FailureIdentity) -> bool {
        let is_partial = |before: &FailureIdentity| match before.place {
            FailurePlace::Whole | FailurePlace::File(_) => before.is_of_check(now),
            FailurePlace::Test(_) | FailurePlace::Finding(_) => false,
        };
        self.not_run.contains(&now.check) || self.failing.iter().any(is_partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_text_is_an_echo() {
        let text = SaidText::of("proctor: the checks fail.\n- a\nMend this.");
        assert!(text.is_echoed_by("proctor: the checks fail.\n- a\nMend this.\n"));
        assert!(text.is_echoed_by("Stop hook feedback: proctor: the checks fail.\n- a\nMend this."));
        assert!(!text.is_echoed_by("What does `proctor: the checks fail.` mean?"), "a person quotes a line");
        assert!(!text.is_echoed_by("proctor: the checks fail.\n- a\nMend this. And why?"));
        assert!(!text.is_echoed_by(&format!("{}proctor: the checks fail.\n- a\nMend this.", "x".repeat(300))));
    }

    #[test]
    fn a_state_of_an_earlier_version_is_read() {
        let earlier = r#"{"projects": {"/shop": {"blocks": 2, "lastBlock": "proctor: the checks fail."}}}"#;
        let state: SessionState = serde_json::from_str(earlier).expect("a state");
        assert_eq!((state.projects["/shop"].blocks, state.last_text), (2, None));
    }
}
