//! `proctor gate`: says whether a commit is proved by the runs that there are. Nothing is run or recorded.

use std::path::Path;

use serde::Serialize;

use crate::cli::commands::{gate_policy, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::gate_arguments::GateOptions;
use crate::cli::render;
use crate::cli::setup;
use crate::cli::style::{Line, Style, Tone};
use crate::config::duration_text;
use crate::git::{GitReadError, ObjectId, RevisionError};
use crate::model::{CommandExit, Digest, GatePolicy, RunId, TreeDigest};
use crate::process::clock;
use crate::project::{ProjectError, ProjectRepository};
use crate::tree::{CommitRefusal, committed_tree};
use crate::verdict::{GateJudgement, GateReason, GateState, GateSubject, judge_gate, overall_state};

/// The answer of `proctor gate`.
struct GateAnswer {
    state: GateState,
    revision: String,
    commit: ObjectId,
    git_tree: ObjectId,
    /// The digest of the commit's content, or why it cannot be told.
    tree: Result<TreeDigest, CommitRefusal>,
    policy: GatePolicy,
    /// Where the policy comes from, in words.
    policy_from: String,
    /// The settings, checks and prerequisites with which the commit asks for less than the trusted one.
    lowered: Vec<String>,
    judgements: Vec<GateJudgement>,
    has_other_format: bool,
    /// Whether the commit is the one that is checked out.
    is_head: bool,
    converts_line_endings: bool,
}

pub(crate) fn execute(options: &GateOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let repository = open_repository(&root)?;
    let answer = judge(options, environment, &root, &repository)?;
    if options.json {
        render::document(&CommitGateV1::of(&answer));
    } else {
        let style = opening::style(environment);
        answer.lines(style).iter().for_each(render::line);
    }
    Ok(answer.state.exit())
}

pub(super) fn open_repository(root: &Path) -> Result<ProjectRepository, CommandError> {
    ProjectRepository::open(root).map_err(|error| from_git_read_error(&error))?.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{}` is in no git repository", root.display()))
            .hint("`proctor status` says whether the files as they are now are tested")
    })
}

fn judge(
    options: &GateOptions,
    environment: &Environment,
    root: &Path,
    repository: &ProjectRepository,
) -> Result<GateAnswer, CommandError> {
    let storage = &repository.storage;
    let commit = storage.resolve(&options.revision).map_err(|error| from_revision_error(&error))?;
    let git_tree = storage.tree_of(commit).map_err(|error| from_git_read_error(&error))?;
    let trusted = gate_policy::trusted(repository, &options.revision, options.policy_from.as_deref(), environment)?;
    let compared = gate_policy::compare(repository, commit, &trusted)?;
    let matcher = opening::matcher(environment, &compared.rules)?;
    let tree = committed_tree(storage, git_tree, &repository.below, &matcher).map(|tree| tree.digest);
    let (judgements, has_other_format) = match &tree {
        Ok(tree) => judge_runs(environment, root, &compared.policy, *tree)?,
        Err(_) => (Vec::new(), false),
    };
    let state = match (overall_state(&judgements), &tree) {
        (_, Err(_)) => GateState::NotAccepted,
        (GateState::Red, Ok(_)) => GateState::Red,
        (_, Ok(_)) if !compared.lowered.is_empty() => GateState::NotAccepted,
        (state, Ok(_)) => state,
    };
    Ok(GateAnswer {
        state,
        revision: options.revision.clone(),
        commit,
        git_tree,
        tree,
        policy: compared.policy,
        policy_from: trusted.words(),
        lowered: compared.lowered,
        judgements,
        has_other_format,
        is_head: storage.head().ok().flatten() == Some(commit),
        converts_line_endings: storage.converts_line_endings(),
    })
}

/// Judges the runs on a tree: those of this project, and if they leave something untested, also those of the repository's other
/// worktrees. Also returns whether the project's last run has a tree digest in an earlier format.
fn judge_runs(
    environment: &Environment,
    root: &Path,
    policy: &GatePolicy,
    tree: TreeDigest,
) -> Result<(Vec<GateJudgement>, bool), CommandError> {
    let failed = |error: ProjectError| super::from_run_error(&error);
    let mut archive = opening::open_archive(environment)?;
    let own = archive.find_project(root).map_err(failed)?;
    let runs = archive.runs_on_tree(own.as_slice(), tree).map_err(failed)?;
    let judgements = judge_gate(policy, &runs.runs, clock::now());
    if overall_state(&judgements) != GateState::NotTested {
        return Ok((judgements, runs.has_other_format));
    }
    let mut projects = archive.projects_of_repository(root).map_err(failed)?;
    projects.extend(own.filter(|own| !projects.contains(own)));
    let all = archive.runs_on_tree(&projects, tree).map_err(failed)?;
    Ok((judge_gate(policy, &all.runs, clock::now()), runs.has_other_format))
}

/// Converts an error of reading a repository into a command error.
pub(super) fn from_git_read_error(error: &GitReadError) -> CommandError {
    let exit = match error {
        GitReadError::Object { .. } => CommandExit::EvidenceWrong,
        GitReadError::Unreadable { .. } => CommandExit::OwnFault,
        GitReadError::NoObjects { .. }
        | GitReadError::Format { .. }
        | GitReadError::Name(_)
        | GitReadError::Linked { .. }
        | GitReadError::NotAFile { .. }
        | GitReadError::TooLong { .. } => CommandExit::Usage,
    };
    CommandError::of(exit, error).hint("`git fsck` says what is wrong with the repository")
}

/// Converts an error about a revision into a command error.
pub(super) fn from_revision_error(error: &RevisionError) -> CommandError {
    let hint = match error {
        RevisionError::Git(error) => return from_git_read_error(error),
        RevisionError::Unknown { .. } => "`git log --oneline --all` lists commits, `git branch --all` the branches",
        RevisionError::NothingCommitted => "commit something first",
        RevisionError::Syntax { .. } => "`git rev-parse REV` prints the full name of a commit, which can be used in its place",
        RevisionError::Ambiguous { .. } => "write more digits of the name",
        RevisionError::NoParent { .. } => "`git log` shows the commits before it",
        RevisionError::NoUpstream { .. } => "`git branch --set-upstream-to=origin/BRANCH` sets one",
    };
    CommandError::of(CommandExit::Usage, error).hint(hint)
}

impl GateAnswer {
    /// Returns the lines for people.
    fn lines(&self, style: Style) -> Vec<Line> {
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
        if !self.lowered.is_empty() {
            lines.push(Line::from(format!("  the commit asks for less than the trusted one: {}", self.lowered.join(", "))));
        }
        if self.state == GateState::NotTested {
            if self.has_other_format {
                lines.push(Line::from("  the last run has another version of the tree digest, which cannot be compared"));
            }
            if self.converts_line_endings {
                lines.push(Line::from(
                    "  git converts line endings here (`core.autocrlf` or `core.eol`): a checkout has another content than the commit",
                ));
            }
        }
        lines.push(style.paint(Tone::Quiet, &format!("  policy: {}", self.policy_from)));
        lines.extend(self.commands().into_iter().map(|command| Line::from(format!("  next: {command}"))));
        lines
    }

    /// Returns what to do next, for a commit that is not proved.
    fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if let Err(refusal) = &self.tree {
            commands.push(refusal_hint(refusal).to_owned());
            return commands;
        }
        let has = |is_wanted: fn(&GateReason) -> bool| self.judgements.iter().flat_map(|judged| &judged.reasons).any(is_wanted);
        for run in self.judgements.iter().filter(|judged| judged.state == GateState::Red).flat_map(|judged| &judged.runs) {
            commands.push(format!("`proctor show {run}` shows what failed"));
        }
        if has(|reason| matches!(reason, GateReason::PersonNeeded { .. })) {
            commands.push("`proctor status` says what the task waits for".to_owned());
        }
        if has(|reason| matches!(reason, GateReason::Weaker { .. })) {
            commands.push("`proctor doctor` says how commands can be isolated better here; then run the checks again".to_owned());
        }
        let is_run_missing = has(|reason| match reason {
            GateReason::NotRun | GateReason::ChecksNotRun(_) | GateReason::TooOld { .. } | GateReason::UnnamedChecks { .. } => {
                true
            }
            GateReason::Failed { .. } | GateReason::Weaker { .. } | GateReason::PersonNeeded { .. } => false,
        });
        if is_run_missing {
            commands.push(if self.is_head {
                "`git status` must be clean: put other files aside (`git stash -u`), then `proctor run`".to_owned()
            } else {
                format!(
                    "check the commit out without other files (`git switch --detach {}`), then `proctor run`",
                    self.commit.hex()
                )
            });
        }
        if !self.lowered.is_empty() {
            commands.push(
                "let whoever keeps the trusted branch take the change first, or name what you trust: --policy-from".to_owned(),
            );
        }
        commands.dedup();
        commands
    }
}

fn judgement_line(judged: &GateJudgement) -> Line {
    let what = &judged.subject;
    if judged.state == GateState::Proved {
        let runs: Vec<&str> = judged.runs.iter().map(RunId::as_str).collect();
        return Line::from(format!("  {what}: passed in {}", runs.join(", ")));
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
            "test the project in a checkout with its submodules; `proctor status` says how that stands"
        }
        CommitRefusal::LargeFilePointer { .. } => "`proctor status` judges a checkout, in which git LFS has put the content",
        CommitRefusal::Converted { .. } => "`proctor status` judges a checkout, in which git has converted the content",
        CommitRefusal::TooDeep { .. } | CommitRefusal::TooManyEntries | CommitRefusal::LongAttributes { .. } => {
            "`proctor status` judges a checkout"
        }
        CommitRefusal::LeftOut { .. } => {
            "`git rm -r --cached` takes it out of what is committed; `proctor why PATH` names the rule"
        }
        CommitRefusal::LackingClone { .. } => {
            "`git fetch --unshallow` fetches a whole history; or clone without `--depth` and `--filter`"
        }
        CommitRefusal::OddEntry { .. } | CommitRefusal::Git(_) => "`git fsck` says what is wrong with the repository",
    }
}

/// The document that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommitGateV1<'a> {
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
    /// The settings, checks and prerequisites with which the commit asks for less than the trusted one.
    lowered: &'a [String],
    required: Vec<GateRequiredV1<'a>>,
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
    reasons: Vec<String>,
}

impl<'a> CommitGateV1<'a> {
    fn of(answer: &'a GateAnswer) -> Self {
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
                reasons: judged.reasons.iter().map(ToString::to_string).collect(),
            }
        };
        let policy = &answer.policy;
        Self {
            schema: "proctor-gate-v1",
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
            },
            lowered: &answer.lowered,
            required: match answer.tree {
                Ok(_) => answer.judgements.iter().map(required).collect(),
                Err(_) => Vec::new(),
            },
            next: answer.commands(),
        }
    }
}
