//! What `proctor gate` asks of a commit, and what is claimed of the runs on the commit's tree.

use std::time::Duration;

use crate::{Blocking, CommandExit, Digest, IsolationLevel, OverallResult, RunConditions, RunId, TaskId, Timestamp, World};

/// `[gate]`: which results a commit needs to count as proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatePolicy {
    /// The tasks of which every check must have passed.
    pub tasks: Vec<TaskId>,
    /// The names of the checks that must have passed in a run of one of the tasks; empty means every check of each task.
    pub checks: Vec<String>,
    /// The weakest level of isolation at which a result counts.
    pub isolation: IsolationLevel,
    /// Whether results of checks count that ran in an open world.
    pub world: World,
    /// How long ago a run may have ended at most; `None` means no limit.
    pub max_age: Option<Duration>,
    /// The platforms on each of which the results are needed, such as `linux-x86_64`; empty means any one platform.
    pub platforms: Vec<String>,
    /// Whether a result counts only if no check of its run found a tool's cache of an earlier run.
    pub fresh_caches: bool,
    /// Patterns of ignored files, as in `.gitignore`, that checks may have read although a clone of the commit lacks them.
    pub ignored_inputs: Vec<String>,
    /// The file with the keys of those whose signed statements count beside this store's own runs, in the format of OpenSSH's
    /// `allowed_signers`, relative to the project; `None` means that only own runs count.
    pub signers: Option<String>,
    /// The branch of a remote repository whose rules are approved here, such as `origin/main`; `None` if none is followed. It decides once
    /// a person agreed to it.
    pub follow: Option<String>,
    /// Which of the changes that can make a commit green a person has to accept.
    pub weakened: WeakenedChanges,
    /// What a check that failed and passed on one content proves.
    pub flaky: FlakyTests,
    /// Which proof is asked for that the tests of the change fail without it.
    pub prove: ProofAsked,
}

/// Which proof is asked for that the tests of a change fail without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ProofAsked {
    /// Nothing.
    #[default]
    Off,
    /// An answer of `proctor prove` by which tests fail without the change.
    Tests,
}

words! {
    /// Returns its word in the setting `prove` of `[gate]`. The stricter stands first.
    pub fn ProofAsked::word, WORDS: Tests "tests", Off "off"
}

/// What a check that failed and passed on one content proves. What failed for time, memory, the network or a missing program counts for
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FlakyTests {
    /// The newest result decides, and the answer names that it failed too.
    Say,
    /// Nothing, until it has passed several times in a row or a person accepts it.
    #[default]
    Refuse,
}

words! {
    /// Returns its word in the setting `flaky` of `[gate]`. The stricter stands first.
    pub fn FlakyTests::word, WORDS: Refuse "refuse", Say "say"
}

/// Which differences from the trusted commit a person has to accept: tests that are gone or skipped, commands, settings, suppressions. The
/// others are only named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WeakenedChanges {
    /// None.
    Say,
    /// Tests that are gone or skipped, commands of checks, and settings that switch rules or tests off.
    #[default]
    Ask,
    AskAll,
}

words! {
    /// Returns its word in the setting `weakened` of `[gate]`. The strictest stands first.
    pub fn WeakenedChanges::word, WORDS: AskAll "ask-all", Ask "ask", Say "say"
}

impl GatePolicy {
    /// Returns whether `other` accepts everything that this policy accepts.
    pub fn asks_no_less_than(&self, other: &Self) -> bool {
        let has_all = |more: &[String], fewer: &[String]| fewer.iter().all(|one| more.contains(one));
        // No named check means every check, and no named platform any one.
        let checks = other.checks == self.checks
            || (self.checks.is_empty() || has_all(&self.checks, &other.checks)) && !other.checks.is_empty();
        let age = match (self.max_age, other.max_age) {
            (_, None) => true,
            (Some(own), Some(other)) => own <= other,
            (None, Some(_)) => false,
        };
        other.tasks.iter().all(|task| self.tasks.contains(task))
            && checks
            && self.isolation <= other.isolation
            && (self.world == World::Closed || other.world == World::Open)
            && age
            && has_all(&self.platforms, &other.platforms)
            && (self.fresh_caches || !other.fresh_caches)
            && has_all(&other.ignored_inputs, &self.ignored_inputs)
            && (self.signers.is_none() || self.signers == other.signers)
            && (self.follow.is_none() || self.follow == other.follow)
            && self.weakened >= other.weakened
            && self.flaky >= other.flaky
            && self.prove >= other.prove
    }
}

/// A claim about a run on a commit's tree, from this store's ledger or from a signed statement of another store. A claim is judged by a
/// policy alone, wherever it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateClaim {
    pub run: RunId,
    pub task: TaskId,
    /// The digest of the plan. A check that the run left out is looked for in claims with the same digest.
    pub plan: Option<Digest>,
    /// The verdict; `None` for a run that says nothing about its tree, because it was interrupted or the tree changed.
    pub verdict: Option<OverallResult>,
    /// The exit code of the run's command; `None` if it is not recorded.
    pub exit: Option<CommandExit>,
    /// The checks of the plan; `None` if the claim does not name them.
    pub checks: Option<Vec<ClaimedCheck>>,
    /// The run of the claim, who signs for it, and its isolation, end and conditions.
    pub origin: ClaimOrigin,
}

/// A check that a claim names, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedCheck {
    pub name: String,
    /// `None` if the run has no result of this check on its own tree.
    pub result: Option<ClaimedResult>,
}

/// The result of a check on the commit's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedResult {
    pub blocking: Blocking,
    /// Whether the check succeeded. A check that failed blocks nothing if its plan lets it pass. `None` if it was not recorded.
    pub succeeded: Option<bool>,
    /// How the run was made that carried the check out, which is another run for a reused result. `None` if that run is not known.
    pub origin: Option<ClaimOrigin>,
}

/// How a run was made that carried checks out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOrigin {
    pub run: RunId,
    pub signer: ClaimSigner,
    /// The weakest level of isolation of the run's actions.
    pub level: IsolationLevel,
    pub ended: Timestamp,
    /// What the results may depend on beside the tree; `None` if it was not recorded.
    pub conditions: Option<RunConditions>,
}

/// Whose word a claim is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimSigner {
    /// A key of this store.
    OwnStore,
    /// A key that the policy's file of signers names.
    Allowed {
        /// The owner's name in the file.
        name: String,
    },
    /// A key that the policy does not name.
    NotAllowed {
        /// The key's id.
        key: String,
    },
}
