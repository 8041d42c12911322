//! The answer of `proctor gate`, as people and programs read it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::gate::checkout::is_mended_by_a_run;
use crate::gate::errors::{WHOLE_CLONE, reading_hint};
use crate::gate::flips::FlippedCheck;
use crate::gate::notes::{NotesAsked, RefusedAttestation};
use crate::gate::policy::WEAKER_THAN_DEFAULTS;
use crate::gate::proof::GateProof;
use proctor_evidence::AcceptedOf;
use proctor_git::ObjectId;
use proctor_model::{Digest, GatePolicy, RunId, TreeDigest, WeakenedChanges};
use proctor_plan::changes::GateChange;
use proctor_plan::config::duration_text;
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject};
use proctor_project::{AcceptedCommit, FollowedCommit, OtherStoresRun, TrustedTip};
use proctor_tree::CommitRefusal;

/// The answer of `proctor gate`.
pub struct GateAnswer {
    pub state: GateState,
    pub revision: String,
    pub commit: ObjectId,
    pub git_tree: ObjectId,
    /// The digest of the commit's content, or why it cannot be told.
    pub tree: Result<TreeDigest, CommitRefusal>,
    pub policy: GatePolicy,
    /// Where the policy comes from, in words.
    pub policy_from: String,
    /// The settings, checks, prerequisites and specifications with which the commit asks for less than the trusted one.
    pub lowered: Vec<String>,
    /// The newest commit of the followed branch that a fetch brought: its rules need no approval here.
    pub followed: Option<FollowedCommit>,
    /// What the commit changes beside the trusted one by which it can be green in another way.
    pub changes: Vec<GateChange>,
    /// Of the changes that are made in their files: by which acceptance each stands in any commit, by its text.
    pub accepted_files: BTreeMap<String, AcceptedOf>,
    /// The answer of `proctor prove` by which the tests of the commit's change fail without it, where the policy asks for one.
    pub proof: Option<GateProof>,
    /// The checks that failed and passed on the commit's content.
    pub flipped: Vec<FlippedCheck>,
    /// What the commit asks for less, and somebody whom the trusted commit names has accepted.
    pub accepted: Vec<AcceptedBy>,
    /// The trusted commit; `None` if the policy does not come from a commit.
    pub trusted: Option<ObjectId>,
    /// The commit that the changes are beside: the trusted one, or the one that stands in its place.
    pub beside: Option<ObjectId>,
    /// Whether nobody but a person at this store accepts what changed, because nothing trusted stands beside the commit.
    pub is_accepted_here: bool,
    /// The branch of a remote repository that is trusted, as it was fetched or pushed.
    pub tip: Option<TrustedTip>,
    /// Whether that branch lacks the commit of it that was trusted before.
    pub is_replaced: bool,
    /// The branch that the commit is judged for; empty if none is checked out.
    pub branch: String,
    pub judgements: Vec<GateJudgement>,
    /// The directories with the evidence of the runs that are of another worktree, or of a checkout.
    pub elsewhere: BTreeMap<RunId, PathBuf>,
    pub has_other_format: bool,
    /// Whether the commit is the one that is checked out.
    pub is_head: bool,
    pub converts_line_endings: bool,
    /// Why `--run` ran nothing although something is missing.
    pub not_run: Option<NotRun>,
    /// Whether `--run` ran what was missing before this answer.
    pub was_run: bool,
    /// The runs of other stores that were attested, by a key which the policy names.
    pub attested: Vec<OtherStoresRun>,
    /// The commit that counts as accepted in this store from now on; `None` if none does newly.
    pub newly_accepted: Option<AcceptedCommit>,
    /// What was asked of git notes; `None` if nothing was.
    pub notes: Option<NotesAsked>,
    /// Why attestations in git notes do not count.
    pub refused_attestations: Vec<RefusedAttestation>,
}

/// Changes of how a commit is judged, and who accepted them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedBy {
    /// The name of the key's owner in the file of signers.
    pub name: String,
    /// The id of the key.
    pub key: Digest,
    pub changes: Vec<String>,
}

/// Why `--run` ran nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// A word for programs.
    pub word: &'static str,
    pub message: String,
}

impl GateAnswer {
    /// Returns the files that a clone lacks, that the deciding runs could read, and that the policy accepts.
    pub fn also_read(&self) -> Vec<&str> {
        self.paths_of_proved(|judged| &judged.also_read)
    }

    /// Returns the files of the tree that checks of the deciding runs wrote and that had the tree's content again.
    pub fn restored(&self) -> Vec<&str> {
        self.paths_of_proved(|judged| &judged.restored)
    }

    /// Returns what checks of the deciding runs could read that no digest names.
    pub fn unnamed(&self) -> Vec<&str> {
        self.paths_of_proved(|judged| &judged.unnamed)
    }

    fn paths_of_proved(&self, paths_of: impl Fn(&GateJudgement) -> &Vec<String>) -> Vec<&str> {
        let proved = self.judgements.iter().filter(|judged| judged.state == GateState::Proved && self.tree.is_ok());
        let mut paths: Vec<&str> = proved.flat_map(|judged| paths_of(judged).iter().map(String::as_str)).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Returns what somebody whom the trusted commit names can accept: what the commit asks for less, and checks that failed and passed.
    pub fn acceptable(&self) -> Vec<String> {
        let flaky = self.judgements.iter().flat_map(|judged| &judged.reasons).filter_map(|reason| {
            let GateReason::Flaky { words, .. } = reason.on_any_platform() else { return None };
            Some(words.clone())
        });
        let mut all: Vec<String> = self.lowered.iter().cloned().chain(flaky).collect();
        all.dedup();
        all
    }

    /// Returns in words what the commit is compared with.
    pub fn beside_words(&self) -> &'static str {
        if self.is_accepted_here { "the one accepted last" } else { "the trusted one" }
    }

    /// Returns what to do next, for a commit that is not proved.
    pub fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if let Err(refusal) = &self.tree {
            commands.push(refusal_hint(refusal).to_owned());
            return commands;
        }
        for run in self.judgements.iter().filter(|judged| judged.state == GateState::Red).flat_map(|judged| &judged.runs) {
            commands.push(match self.elsewhere.get(run) {
                None if self.attested.iter().any(|one| one.claim.run == *run) => {
                    format!("whoever attested {run} has its logs: `proctor show {run}` there")
                }
                None => format!("`proctor show {run}` shows what failed"),
                Some(directory) => format!("`{}` has the logs of {run} that say what failed", directory.display()),
            });
        }
        if let Some(notes) = self.notes.filter(|_| matches!(self.state, GateState::NotTested | GateState::NotAccepted)) {
            commands.extend(notes.commands(&self.refused_attestations));
        }
        let unproved = self.judgements.iter().filter(|judged| !matches!(judged.state, GateState::Red | GateState::Proved));
        for reason in unproved.flat_map(|judged| &judged.reasons) {
            let reason = reason.on_any_platform();
            // A commit that asks for less is not accepted, whatever a run says, and `--run` runs nothing.
            if !self.lowered.is_empty() && is_mended_by_a_run(reason) {
                continue;
            }
            let command = self.command_for(reason);
            commands.extend(command.filter(|command| !commands.contains(command)));
        }
        if !self.lowered.is_empty() && self.is_accepted_here {
            commands.push(format!(
                "`proctor attest {} --accept-changes` at a terminal accepts it in this store; or name what you trust: --policy-from",
                self.revision
            ));
        } else if !self.lowered.is_empty() {
            if self.trusted.is_some() && self.policy.signers.is_some() {
                commands.push(format!(
                    "let somebody whose key the trusted commit names accept it: `proctor attest {} --accept-changes`, and push and fetch the notes",
                    self.revision
                ));
            }
            commands.push(if self.lowered.iter().any(|one| one == WEAKER_THAN_DEFAULTS) {
                "name what you trust: --policy-from REV|FILE; the first push to an empty repository is `git push --no-verify`"
                    .to_owned()
            } else {
                "let whoever keeps the trusted branch take the change first, or name what you trust: --policy-from".to_owned()
            });
        }
        commands
    }

    /// Returns what a person types or changes so that this reason goes away; `None` where only the code can be mended.
    fn command_for(&self, reason: &GateReason) -> Option<String> {
        let text = match reason {
            GateReason::Failed { .. } | GateReason::OnPlatform { .. } => return None,
            GateReason::ChangeNotProved { since, answer, objection } => {
                let first = if answer.is_some() && objection.is_none() {
                    "let each added test assert what the change does; then "
                } else {
                    ""
                };
                return Some(format!("{first}`proctor prove {}..{}` where it is checked out", &since[..12], self.revision));
            }
            GateReason::PersonNeeded { .. } => "`proctor status` says what the task waits for",
            GateReason::Weaker { .. } => {
                "`proctor doctor` says how commands can be isolated better here; then run the checks again"
            }
            GateReason::KeptCaches { .. } if self.not_run.is_some() => return Some(self.run_command()),
            GateReason::KeptCaches { .. } => {
                "`proctor gate --run` runs the checks once more without caches; so does `proctor run --fresh-caches`, where checks that work in the \
                 project itself need its caches and outputs removed first"
            }
            GateReason::ToolchainNotHashed { .. } | GateReason::ToolchainChanged { .. } => {
                "`proctor run --fresh-caches` waits until they are hashed, and compares every file"
            }
            GateReason::OtherProgram { .. } => {
                "run the checks with the search path that leads to the approved programs; or let a person approve the others: `proctor approve`"
            }
            GateReason::ChangedRules { .. } => {
                "take the rules back and run the checks again; or let a person approve them: `proctor approve`"
            }
            GateReason::TestsNotRun { .. } => {
                "write a `[[check]]` that runs them (`proctor init` proposes it), or in `[project]` why there are none: `tests = { none = \"…\" }`"
            }
            GateReason::UntrackedInputs { .. } => {
                "`proctor gate --run` runs the checks without these files, and `ignored_inputs` of the trusted `[gate]` accepts some; \
                 or commit them"
            }
            GateReason::NewlyIgnored { .. } => "`proctor gate --run` runs the checks without these files; or commit them",
            GateReason::TreeRewritten { .. } => {
                "`proctor show` names the step; let it work on a copy of the files (`$TMPDIR`), name what it makes in `writes`, or commit that"
            }
            GateReason::OpenWorld { .. } => {
                "run the checks where files can be hidden (`proctor doctor` says how) and without `world = \"open\"` in `[sandbox]`, or let the trusted \
                 commit accept it: `world = \"open\"` in `[gate]`"
            }
            GateReason::Flaky { .. } => {
                "`proctor gate --run` runs the check as often as it has to pass; or let somebody accept it whom the trusted commit names: \
                 `proctor attest --accept-changes`"
            }
            GateReason::UntrustedSigner { .. } => {
                "let whoever keeps the trusted branch name the key in the file of `signers`, or run the checks here"
            }
            GateReason::NotRun | GateReason::ChecksNotRun(_) if self.converts_line_endings => {
                "`git config core.autocrlf input` and a new checkout give the files the commit's line endings; then `proctor run`"
            }
            GateReason::NotRun if self.was_run => {
                "the run on a checkout says nothing of the commit's content: where a prerequisite changes tracked files, commit what it makes, or \
                 let it write to ignored files; what else happened stands above"
            }
            GateReason::NotRun
            | GateReason::ChecksNotRun(_)
            | GateReason::TooOld { .. }
            | GateReason::UnnamedChecks { .. }
            | GateReason::UnknownInputs { .. }
            | GateReason::OtherPlan { .. }
            | GateReason::UnknownSuccess { .. }
            | GateReason::UnknownOrigin { .. } => return Some(self.run_command()),
        };
        Some(text.to_owned())
    }

    fn run_command(&self) -> String {
        let run = if self.policy.fresh_caches { "`proctor run --fresh-caches`" } else { "`proctor run`" };
        if self.not_run.is_none() && !self.was_run {
            format!(
                "`proctor gate --run` runs what is missing on a checkout of the commit; or put other files aside until `git status` is clean, \
                 check the commit out, and {run}"
            )
        } else if self.is_head {
            format!("run it in the project, where `git status` is clean (`git stash -u` puts other files aside): {run}")
        } else {
            format!("check the commit out without other files (`git switch --detach {}`), then {run}", self.commit.hex())
        }
    }
}

/// Returns the text of a refusal with its cause.
pub fn with_causes(refusal: &CommitRefusal) -> String {
    let causes = std::iter::successors(std::error::Error::source(refusal), |error| error.source());
    causes.fold(refusal.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn refusal_hint(refusal: &CommitRefusal) -> &'static str {
    match refusal {
        CommitRefusal::NoProject { .. } => "name the project's directory as it was in that commit: --project DIR",
        CommitRefusal::Submodule { .. } => {
            "`git submodule update --init --recursive` fetches them, if the submodule's repository has this commit"
        }
        CommitRefusal::LargeFilePointer { .. } => "`proctor status` judges a checkout, in which git LFS has put the content",
        CommitRefusal::Converted { .. } => "`proctor status` judges a checkout, in which git has converted the content",
        CommitRefusal::TooDeep { .. }
        | CommitRefusal::TooManyEntries
        | CommitRefusal::TooManySubmodules { .. }
        | CommitRefusal::TooManyBytes { .. }
        | CommitRefusal::LongAttributes { .. } => "`proctor status` judges a checkout",
        CommitRefusal::LeftOut { .. } => {
            "`git rm -r --cached` takes it out of what is committed; `proctor why PATH` names the rule"
        }
        CommitRefusal::LeftOutOfSubmodule { .. } => {
            "`proctor why PATH` names the rule; a pattern in `watch.include` puts the file into the tree"
        }
        CommitRefusal::OddConfiguration { .. } => "commit `proctor.toml` as a regular file",
        CommitRefusal::LackingClone { .. } => WHOLE_CLONE,
        CommitRefusal::OddEntry { .. } => "`git fsck` says what is wrong with the repository",
        CommitRefusal::Git(error) => reading_hint(error),
    }
}

/// The document that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitGateV1<'a> {
    schema: &'static str,
    state: &'static str,
    exit_code: u8,
    revision: &'a str,
    commit: String,
    git_tree: String,
    tree_digest: Option<TreeDigest>,
    /// Why the digest of the commit's content cannot be told; `None` if it can.
    refusal: Option<GateRefusalV1>,
    policy: GatePolicyV1<'a>,
    /// Whether git converts line endings here, so that a checkout has another content than the commit.
    converts_line_endings: bool,
    /// The files that a clone of the commit lacks, that checks could read, and that the policy accepts.
    also_read: Vec<&'a str>,
    /// The files of the tree that checks wrote and that had the tree's content again when the checks ended.
    restored: Vec<&'a str>,
    /// What checks could read that no digest names, because the settings show it.
    unnamed: Vec<&'a str>,
    /// The settings, checks, prerequisites and specifications with which the commit asks for less than the trusted one.
    lowered: &'a [String],
    /// What the commit changes beside the trusted one by which it can be green in another way: tests, commands, settings, suppressions.
    changes: Vec<GateChangeV1<'a>>,
    /// The checks that failed and passed on the commit's content, and how often.
    flipped: Vec<FlippedCheckV1<'a>>,
    /// The same with which somebody whom the trusted commit names has accepted that it asks for less.
    accepted: &'a [AcceptedBy],
    required: Vec<GateRequiredV1<'a>>,
    /// Why `--run` ran nothing although something is missing; `None` if it ran, and without `--run`.
    not_run: Option<&'a NotRun>,
    /// Why attestations in git notes do not count, each reason once and at most 20; empty without `--from-notes`.
    refused_attestations: &'a [RefusedAttestation],
    next: Vec<String>,
}

/// Why the digest of a commit's content cannot be told.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateRefusalV1 {
    word: &'static str,
    message: String,
}

/// The policy, and where it comes from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GatePolicyV1<'a> {
    from: &'a str,
    tasks: Vec<&'a str>,
    checks: &'a [String],
    isolation: &'static str,
    world: &'static str,
    max_age: String,
    platforms: &'a [String],
    fresh_caches: bool,
    ignored_inputs: &'a [String],
    signers: &'a str,
    weakened: &'static str,
    flaky: &'static str,
    prove: &'static str,
}

/// A change beside the trusted commit.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateChangeV1<'a> {
    kind: &'static str,
    file: &'a str,
    what: &'a str,
    /// Whether somebody has to accept it.
    is_asked: bool,
}

impl<'a> GateChangeV1<'a> {
    fn of(change: &'a GateChange, policy: WeakenedChanges) -> Self {
        Self { kind: change.kind.word(), file: &change.file, what: &change.what, is_asked: change.kind.asks(policy) }
    }
}

/// A check that failed and passed on the commit's content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FlippedCheckV1<'a> {
    task: &'a str,
    check: &'a str,
    /// The tests that failed; empty for a check without tests.
    tests: &'a [String],
    /// The last run in which it failed.
    failed_in: &'a str,
    /// In how many runs it failed, in how many in a row it passed since, and in how many it has to.
    failed: u32,
    passed: u32,
    needed: u32,
}

impl<'a> FlippedCheckV1<'a> {
    fn of(FlippedCheck { task, check, flip }: &'a FlippedCheck) -> Self {
        let (failed, passed, needed) = (flip.reds, flip.greens, flip.needed());
        Self { task: task.as_str(), check, tests: &flip.tests, failed_in: flip.run.as_str(), failed, passed, needed }
    }
}

/// One thing that the policy requires, and how it stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateRequiredV1<'a> {
    kind: &'static str,
    name: &'a str,
    state: &'static str,
    #[serde(rename = "runs")]
    run_ids: Vec<&'a str>,
    /// The owners of the keys that signed those of them which other stores made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attested_by: Vec<&'a str>,
    /// A word for each of `reasons`.
    words: Vec<&'static str>,
    reasons: Vec<String>,
    /// The checks that passed without success, because their plan lets them.
    warnings: &'a [String],
}

impl<'a> CommitGateV1<'a> {
    pub fn of(answer: &'a GateAnswer) -> Self {
        let required = |judged: &'a GateJudgement| {
            let (kind, name) = match &judged.subject {
                GateSubject::Task(task) => ("task", task.as_str()),
                GateSubject::Check(name) => ("check", name.as_str()),
                GateSubject::Change => ("change", ""),
            };
            GateRequiredV1 {
                kind,
                name,
                state: judged.state.word(),
                run_ids: judged.runs.iter().map(RunId::as_str).collect(),
                attested_by: judged.runs.iter().filter_map(|run| answer.signer_of(run)).collect(),
                words: judged.reasons.iter().map(GateReason::word).collect(),
                reasons: judged.reasons.iter().map(ToString::to_string).collect(),
                warnings: &judged.warnings,
            }
        };
        let policy = &answer.policy;
        Self {
            schema: "proctor-commit-gate-v1",
            state: answer.state.word(),
            exit_code: answer.state.exit().code(),
            revision: &answer.revision,
            commit: answer.commit.hex(),
            git_tree: answer.git_tree.hex(),
            tree_digest: answer.tree.as_ref().ok().copied(),
            refusal: answer
                .tree
                .as_ref()
                .err()
                .map(|refusal| GateRefusalV1 { word: refusal.word(), message: with_causes(refusal) }),
            policy: GatePolicyV1 {
                from: &answer.policy_from,
                tasks: policy.tasks.iter().map(|task| task.as_str()).collect(),
                checks: &policy.checks,
                isolation: policy.isolation.word(),
                world: policy.world.word(),
                max_age: policy.max_age.map_or_else(|| "off".to_owned(), duration_text),
                platforms: &policy.platforms,
                fresh_caches: policy.fresh_caches,
                ignored_inputs: &policy.ignored_inputs,
                signers: policy.signers.as_deref().unwrap_or_default(),
                weakened: policy.weakened.word(),
                flaky: policy.flaky.word(),
                prove: policy.prove.word(),
            },
            converts_line_endings: answer.converts_line_endings,
            also_read: answer.also_read(),
            restored: answer.restored(),
            unnamed: answer.unnamed(),
            lowered: &answer.lowered,
            changes: answer.changes.iter().map(|change| GateChangeV1::of(change, policy.weakened)).collect(),
            flipped: answer.flipped.iter().map(FlippedCheckV1::of).collect(),
            accepted: &answer.accepted,
            required: match answer.tree {
                Ok(_) => answer.judgements.iter().map(required).collect(),
                Err(_) => Vec::new(),
            },
            not_run: answer.not_run.as_ref(),
            refused_attestations: &answer.refused_attestations,
            next: answer.commands(),
        }
    }
}
