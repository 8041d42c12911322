//! The answer of `proctor gate`, as people and programs read it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::commands::gate_errors::{WHOLE_CLONE, reading_hint};
use crate::cli::commands::gate_notes::{NotesAsked, RefusedAttestation};
use crate::cli::commands::gate_policy::WEAKER_THAN_DEFAULTS;
use crate::cli::commands::gate_run::is_mended_by_a_run;
use crate::cli::style::{Line, Style, Tone};
use proctor_git::ObjectId;
use proctor_model::{Digest, GatePolicy, RunId, TreeDigest};
use proctor_plan::config::duration_text;
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject};
use proctor_tree::CommitRefusal;

/// The most files beside the tree that an answer names.
const NAMED: usize = 8;

/// The answer of `proctor gate`.
pub(super) struct GateAnswer {
    pub(super) state: GateState,
    pub(super) revision: String,
    pub(super) commit: ObjectId,
    pub(super) git_tree: ObjectId,
    /// The digest of the commit's content, or why it cannot be told.
    pub(super) tree: Result<TreeDigest, CommitRefusal>,
    pub(super) policy: GatePolicy,
    /// Where the policy comes from, in words.
    pub(super) policy_from: String,
    /// The settings, checks, prerequisites and specifications with which the commit asks for less than the trusted one.
    pub(super) lowered: Vec<String>,
    /// What the commit asks for less, and somebody whom the trusted commit names has accepted.
    pub(super) accepted: Vec<AcceptedBy>,
    /// The trusted commit; `None` if the policy does not come from a commit.
    pub(super) trusted: Option<ObjectId>,
    pub(super) judgements: Vec<GateJudgement>,
    /// The directories with the evidence of the runs that are of another worktree, or of a checkout.
    pub(super) elsewhere: BTreeMap<RunId, PathBuf>,
    pub(super) has_other_format: bool,
    /// Whether the commit is the one that is checked out.
    pub(super) is_head: bool,
    pub(super) converts_line_endings: bool,
    /// Why `--run` ran nothing although something is missing.
    pub(super) not_run: Option<NotRun>,
    /// Whether `--run` ran what was missing before this answer.
    pub(super) was_run: bool,
    /// The runs of other stores that were attested, by a key which the policy names.
    pub(super) attested: Vec<RunId>,
    /// What was asked of git notes; `None` if nothing was.
    pub(super) notes: Option<NotesAsked>,
    /// Why attestations in git notes do not count.
    pub(super) refused_attestations: Vec<RefusedAttestation>,
}

/// Changes of how a commit is judged, and who accepted them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AcceptedBy {
    /// The name of the key's owner in the file of signers.
    pub(super) name: String,
    /// The id of the key.
    pub(super) key: Digest,
    pub(super) changes: Vec<String>,
}

/// Why `--run` ran nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct NotRun {
    /// A word for programs.
    pub(super) word: &'static str,
    pub(super) message: String,
}

impl GateAnswer {
    /// Returns the lines for people.
    pub(super) fn lines(&self, style: Style) -> Vec<Line> {
        let (words, tone) = match (self.state, &self.tree) {
            (GateState::Proved, _) => ("proved", Tone::Good),
            (GateState::Red, _) => ("red", Tone::Bad),
            (GateState::NotTested, _) => ("not tested", Tone::Doubtful),
            (GateState::NotAccepted, Ok(_)) => ("not accepted", Tone::Doubtful),
            (GateState::NotAccepted, Err(_)) => ("refused", Tone::Doubtful),
        };
        let commit = &self.commit.hex()[..12];
        let named = if self.commit.hex().starts_with(&self.revision) { String::new() } else { format!("{} ", self.revision) };
        let tree = self.tree.as_ref().map(|TreeDigest(digest)| format!(" · tree {}", Digest::short(digest))).unwrap_or_default();
        let mut lines = vec![style.paint(tone, words).and(format!(" · {named}{commit}{tree}"))];
        match &self.tree {
            Err(refusal) => lines.push(Line::from(format!("  {} ({})", with_causes(refusal), refusal.word()))),
            Ok(_) => lines.extend(self.judgements.iter().map(judgement_line)),
        }
        for RefusedAttestation { word, message } in &self.refused_attestations {
            lines.push(Line::from(format!("  an attestation does not count: {message} ({word})")));
        }
        if !self.lowered.is_empty() {
            lines.push(Line::from(format!("  the commit asks for less than the trusted one: {}", self.lowered.join(", "))));
        }
        for AcceptedBy { name, changes, .. } in &self.accepted {
            lines.push(Line::from(format!("  {name} accepted what it changes of the trusted one: {}", changes.join(", "))));
        }
        let also_read = self.also_read();
        if !also_read.is_empty() {
            let more = match also_read.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named: Vec<&str> = also_read.iter().take(NAMED).copied().collect();
            lines.push(Line::from(format!("  on condition: checks could also read {}{more}", named.join(", "))));
        }
        if self.state == GateState::NotTested {
            if self.has_other_format {
                lines.push(Line::from("  the last run has another version of the tree digest, which cannot be compared"));
            }
            if self.converts_line_endings {
                lines.push(Line::from(
                    "  git converts line endings here (`core.autocrlf` or `core.eol`): a run tests the converted files and not the commit's",
                ));
            }
        }
        if let Some(NotRun { word, message }) = &self.not_run {
            lines.push(Line::from(format!("  nothing was run: {message} ({word})")));
        }
        lines.push(style.paint(Tone::Quiet, &format!("  policy: {}", self.policy_from)));
        lines.extend(self.commands().into_iter().map(|command| Line::from(format!("  next: {command}"))));
        lines
    }

    /// Returns the files that a clone lacks, that the deciding runs could read, and that the policy accepts.
    fn also_read(&self) -> Vec<&str> {
        let proved = self.judgements.iter().filter(|judged| judged.state == GateState::Proved && self.tree.is_ok());
        let mut paths: Vec<&str> = proved.flat_map(|judged| judged.also_read.iter().map(String::as_str)).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Returns what to do next, for a commit that is not proved.
    fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if let Err(refusal) = &self.tree {
            commands.push(refusal_hint(refusal).to_owned());
            return commands;
        }
        for run in self.judgements.iter().filter(|judged| judged.state == GateState::Red).flat_map(|judged| &judged.runs) {
            commands.push(match self.elsewhere.get(run) {
                None if self.attested.contains(run) => format!("whoever attested {run} has its logs: `proctor show {run}` there"),
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
        if !self.lowered.is_empty() {
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

    /// Returns what mends one reason.
    fn command_for(&self, reason: &GateReason) -> Option<String> {
        Some(match reason {
            GateReason::Failed { .. } | GateReason::OnPlatform { .. } => return None,
            GateReason::PersonNeeded { .. } => "`proctor status` says what the task waits for".to_owned(),
            GateReason::Weaker { .. } => {
                "`proctor doctor` says how commands can be isolated better here; then run the checks again".to_owned()
            }
            GateReason::KeptCaches { .. } => {
                "`proctor gate --run` runs the checks once more without caches; so does `proctor run --fresh-caches`, where checks that work in the \
                 project itself need its caches and outputs removed first"
                    .to_owned()
            }
            GateReason::UntrackedInputs { .. } => {
                "`proctor gate --run` runs the checks without these files, and `ignored_inputs` of the trusted `[gate]` accepts some; \
                 or commit them"
                    .to_owned()
            }
            GateReason::NewlyIgnored { .. } => "`proctor gate --run` runs the checks without these files; or commit them".to_owned(),
            GateReason::TreeRewritten { .. } => {
                "`proctor show` names the step; let it work on a copy of the files (`$TMPDIR`), or commit what it makes".to_owned()
            }
            GateReason::UntrustedSigner { .. } => {
                "let whoever keeps the trusted branch name the key in the file of `signers`, or run the checks here".to_owned()
            }
            GateReason::NotRun | GateReason::ChecksNotRun(_) if self.converts_line_endings => {
                "`git config core.autocrlf input` and a new checkout give the files the commit's line endings; then `proctor run`"
                    .to_owned()
            }
            GateReason::NotRun if self.was_run => {
                "the run on a checkout says nothing of the commit's content: where a prerequisite changes tracked files, commit what it makes, or \
                 let it write to ignored files; what else happened stands above"
                    .to_owned()
            }
            GateReason::NotRun
            | GateReason::ChecksNotRun(_)
            | GateReason::TooOld { .. }
            | GateReason::UnnamedChecks { .. }
            | GateReason::UnknownInputs { .. }
            | GateReason::OtherPlan { .. }
            | GateReason::UnknownSuccess { .. }
            | GateReason::UnknownOrigin { .. } => self.run_command(),
        })
    }

    fn run_command(&self) -> String {
        let run = if self.policy.fresh_caches { "`proctor run --fresh-caches`" } else { "`proctor run`" };
        if self.not_run.is_none() && !self.was_run {
            format!(
                "`proctor gate --run` runs what is missing on a checkout of the commit; or put other files aside until `git status` is clean, \
                 check the commit out, and {run}"
            )
        } else if self.is_head {
            format!("`git status` must be clean: put other files aside (`git stash -u`), then {run}")
        } else {
            format!("check the commit out without other files (`git switch --detach {}`), then {run}", self.commit.hex())
        }
    }
}

fn judgement_line(judged: &GateJudgement) -> Line {
    let what = &judged.subject;
    if judged.state == GateState::Proved {
        let runs: Vec<&str> = judged.runs.iter().map(RunId::as_str).collect();
        let warnings = match &judged.warnings[..] {
            [] => String::new(),
            names => format!(" with warnings ({})", names.join(", ")),
        };
        return Line::from(format!("  {what}: passed{warnings} in {}", runs.join(", ")));
    }
    let reasons: Vec<String> = judged.reasons.iter().map(ToString::to_string).collect();
    Line::from(format!("  {what}: {}", reasons.join("; ")))
}

/// Returns the text of a refusal with its cause.
fn with_causes(refusal: &CommitRefusal) -> String {
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
pub(super) struct CommitGateV1<'a> {
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
    /// The settings, checks, prerequisites and specifications with which the commit asks for less than the trusted one.
    lowered: &'a [String],
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
    max_age: String,
    platforms: &'a [String],
    fresh_caches: bool,
    ignored_inputs: &'a [String],
    signers: &'a str,
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
    /// A word for each of `reasons`.
    words: Vec<&'static str>,
    reasons: Vec<String>,
    /// The checks that passed without success, because their plan lets them.
    warnings: &'a [String],
}

impl<'a> CommitGateV1<'a> {
    pub(super) fn of(answer: &'a GateAnswer) -> Self {
        let required = |judged: &'a GateJudgement| {
            let (kind, name) = match &judged.subject {
                GateSubject::Task(task) => ("task", task.as_str()),
                GateSubject::Check(name) => ("check", name.as_str()),
            };
            GateRequiredV1 {
                kind,
                name,
                state: judged.state.word(),
                run_ids: judged.runs.iter().map(RunId::as_str).collect(),
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
                max_age: policy.max_age.map_or_else(|| "off".to_owned(), duration_text),
                platforms: &policy.platforms,
                fresh_caches: policy.fresh_caches,
                ignored_inputs: &policy.ignored_inputs,
                signers: policy.signers.as_deref().unwrap_or_default(),
            },
            converts_line_endings: answer.converts_line_endings,
            also_read: answer.also_read(),
            lowered: &answer.lowered,
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
