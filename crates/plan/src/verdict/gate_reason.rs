//! Why something that the policy of `proctor gate` requires is not proved, for people and for programs. Pure.

use std::fmt;

use crate::verdict::flips::Flip;
use proctor_model::{CommandExit, GateClaim, GatePolicy, IsolationLevel, RunId, Timestamp};

/// The most paths that a reason names.
const NAMED: usize = 5;

/// Why something that a policy requires is not proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateReason {
    /// No run on this tree has a result.
    NotRun,
    /// Runs on this tree have no result for these checks.
    ChecksNotRun(Vec<String>),
    /// The run was made with another plan than the commit's: with another value of a placeholder, or another command.
    OtherPlan { run: RunId },
    /// An earlier version of proctor did not record whether the check succeeded, or only whether it blocks.
    UnknownSuccess { run: RunId, check: String },
    /// `checks` failed in the run; the list is empty if the run failed for another reason.
    Failed { run: RunId, checks: Vec<String> },
    /// The run was isolated less than the policy requires.
    Weaker { run: RunId, level: IsolationLevel, least: IsolationLevel },
    /// The run ended too long ago.
    TooOld { run: RunId, ended: Timestamp },
    /// The run passed, and its task waits for a person.
    PersonNeeded { run: RunId },
    /// The ledger's line, of an earlier version of proctor, does not say which checks the run covers.
    UnnamedChecks { run: RunId },
    /// The checks could read ignored files that a clone of the commit lacks, and that the policy does not accept.
    UntrackedInputs {
        run: RunId,
        paths: Vec<String>,
        /// How many such files are not among `paths`.
        more: u64,
    },
    /// Which ignored files the checks could read is not recorded.
    UnknownInputs { run: RunId },
    /// The checks could read files that the trusted commit has, and that the judged commit does not have but ignores.
    NewlyIgnored { run: RunId, paths: Vec<String> },
    /// A step changed or removed files of the tree in its copy, or made files there that decide how checks work.
    TreeRewritten { run: RunId, paths: Vec<String> },
    /// The checks ran in an open world, in which files decide that no digest names.
    OpenWorld { run: RunId },
    /// Toolchains or installed packages that the checks saw were not hashed yet.
    ToolchainNotHashed { run: RunId, paths: Vec<String> },
    /// Toolchains or installed packages have another content than the run names.
    ToolchainChanged { run: RunId, paths: Vec<String> },
    /// The search path led to other programs than the approved ones.
    OtherProgram { run: RunId, programs: Vec<String> },
    /// The run was judged by rules that nobody has approved.
    ChangedRules { run: RunId, changed: Vec<String> },
    /// The tests of the change are not known to fail without it.
    ChangeNotProved {
        /// The commit where the change begins.
        since: String,
        /// The answer of `proctor prove`, in words; `None` if there is none.
        answer: Option<String>,
        /// Why the answer does not count by the conditions under which it was made.
        objection: Option<String>,
    },
    /// No check of the run runs the project's own test command.
    TestsNotRun { run: RunId, tests: String },
    /// The policy asks for results without caches of earlier runs.
    KeptCaches { run: RunId },
    /// The check failed and passed on this tree, and has not passed often enough since.
    Flaky {
        check: String,
        flip: Flip,
        /// What happened, for people.
        words: String,
    },
    /// A result was reused, and the run that carried the check out is not known.
    UnknownOrigin { run: RunId, check: String },
    /// All results are signed by keys that the policy does not name.
    UntrustedSigner { run: RunId, key: String },
    /// The policy asks for a proof on this platform, and `reason` says why there is none.
    OnPlatform { platform: String, reason: Box<GateReason> },
}

impl fmt::Display for GateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRun => formatter.write_str("no run on this tree has a result"),
            Self::ChecksNotRun(names) => write!(formatter, "no result on this tree: {}", names.join(", ")),
            Self::OtherPlan { run } => write!(formatter, "{run} was made with another plan than the commit has"),
            Self::UnknownSuccess { run, check } => {
                write!(
                    formatter,
                    "{run} is of an earlier version, which recorded only whether `{check}` blocks, not whether it succeeded"
                )
            }
            Self::Failed { run, checks } if checks.is_empty() => write!(formatter, "failed in {run}"),
            Self::Failed { run, checks } => write!(formatter, "failed in {run}: {}", checks.join(", ")),
            Self::Weaker { run, level, least } => {
                write!(formatter, "{run} was isolated by {} only, and {} is required", level.word(), least.word())
            }
            Self::TooOld { run, ended } => write!(formatter, "{run} ended {ended}, which is longer ago than `max_age` allows"),
            Self::PersonNeeded { run } => write!(formatter, "{run} passed, and its task waits for a person"),
            Self::UnnamedChecks { run } => {
                write!(formatter, "{run} is of an earlier version, which did not record the checks that it covers")
            }
            Self::UntrackedInputs { run, paths, more } => {
                write!(formatter, "{run} could read ignored files that the commit lacks: {}", joined(paths, *more))
            }
            Self::UnknownInputs { run } => write!(formatter, "which ignored files {run} could read is not recorded"),
            Self::NewlyIgnored { run, paths } => {
                let paths = joined(paths, 0);
                write!(formatter, "{run} could read files that the trusted commit has and this one ignores: {paths}")
            }
            Self::TreeRewritten { run, paths } => {
                let paths = joined(paths, 0);
                write!(formatter, "in {run} a step left other content in its copy than the tree has: {paths}")
            }
            Self::OpenWorld { run } => {
                write!(formatter, "{run} ran in an open world, where files of the user decide that no digest names")
            }
            Self::ToolchainNotHashed { run, paths } => {
                write!(formatter, "in {run} the checks saw toolchains that were not hashed yet: {}", joined(paths, 0))
            }
            Self::ToolchainChanged { run, paths } => {
                write!(formatter, "toolchains have another content than {run} names, or were written since: {}", joined(paths, 0))
            }
            Self::OtherProgram { run, programs } => write!(formatter, "in {run} {}", programs.join("; ")),
            Self::ChangedRules { run, changed } => {
                write!(formatter, "{run} was judged by changed rules: {}", changed.join("; "))
            }
            Self::TestsNotRun { run, tests } => write!(formatter, "no check of {run} runs the project's tests: {tests}"),
            Self::KeptCaches { run } => {
                write!(
                    formatter,
                    "{run} may have used caches that tools had left in an earlier run or attempt, and `fresh_caches` asks for a run \
                     without them"
                )
            }
            Self::Flaky { flip, words, .. } => {
                write!(formatter, "{words}; {} in a row are asked for", flip.needed())?;
                if flip.needed_beside_others() > 0 {
                    write!(formatter, ", {} of them with all tests", flip.needed_beside_others())?;
                }
                Ok(())
            }
            Self::UnknownOrigin { run, check } => {
                write!(formatter, "{run} reused a result of `{check}`, and the run that it came from is not known")
            }
            Self::UntrustedSigner { run, key } => {
                write!(formatter, "{run} was signed by the key {key}, which `signers` does not name")
            }
            Self::ChangeNotProved { answer: Some(answer), objection: None, .. } => formatter.write_str(answer),
            Self::ChangeNotProved { answer: Some(answer), objection: Some(why), .. } => write!(formatter, "{answer}, but {why}"),
            Self::ChangeNotProved { since, answer: None, .. } => {
                write!(formatter, "no answer of `proctor prove` since {} is stored for this content", &since[..12])
            }
            Self::OnPlatform { platform, reason } => write!(formatter, "on {platform}: {reason}"),
        }
    }
}

impl GateReason {
    /// Returns the word for documents that programs read.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotRun => "not-run",
            Self::ChecksNotRun(_) => "checks-not-run",
            Self::OtherPlan { .. } => "other-plan",
            Self::UnknownSuccess { .. } => "unknown-success",
            Self::Failed { .. } => "failed",
            Self::Weaker { .. } => "weaker",
            Self::TooOld { .. } => "expired",
            Self::PersonNeeded { .. } => "person-needed",
            Self::UnnamedChecks { .. } => "unnamed-checks",
            Self::UntrackedInputs { .. } => "untracked-inputs",
            Self::UnknownInputs { .. } => "unknown-inputs",
            Self::NewlyIgnored { .. } => "newly-ignored",
            Self::TreeRewritten { .. } => "tree-rewritten",
            Self::OpenWorld { .. } => "open-world",
            Self::ToolchainNotHashed { .. } => "toolchain-not-hashed",
            Self::ToolchainChanged { .. } => "toolchain-changed",
            Self::OtherProgram { .. } => "other-program",
            Self::ChangedRules { .. } => "changed-rules",
            Self::TestsNotRun { .. } => "tests-not-run",
            Self::KeptCaches { .. } => "kept-caches",
            Self::Flaky { .. } => "flaky",
            Self::UnknownOrigin { .. } => "unknown-origin",
            Self::UntrustedSigner { .. } => "foreign",
            Self::ChangeNotProved { .. } => "change-not-proved",
            Self::OnPlatform { reason, .. } => reason.word(),
        }
    }

    /// Returns that no check of the claim's own run runs the project's tests, whichever runs carried its checks out. A policy that names its
    /// checks says by that which tests it asks for.
    pub(super) fn of_tests(policy: &GatePolicy, claim: &GateClaim) -> Option<Self> {
        let tests = claim.origin.conditions.as_ref()?.tests_not_run.clone()?;
        policy.checks.is_empty().then(|| Self::TestsNotRun { run: claim.run.clone(), tests })
    }

    /// Returns that the task of a claim waits for a person. Where a check is asked for by its name, another check of its run may have
    /// failed.
    pub(super) fn of_person(claim: &GateClaim) -> Option<Self> {
        let is_accepted = claim.exit.is_none_or(|exit| matches!(exit, CommandExit::Proceed | CommandExit::CodeNeedsWork));
        (!is_accepted).then(|| Self::PersonNeeded { run: claim.run.clone() })
    }

    /// Returns the reason without the platform that it holds for.
    pub fn on_any_platform(&self) -> &Self {
        if let Self::OnPlatform { reason, .. } = self { reason.on_any_platform() } else { self }
    }
}

fn joined(paths: &[String], more: u64) -> String {
    let named = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match more + paths.len().saturating_sub(NAMED) as u64 {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
