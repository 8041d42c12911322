//! Judges from claims about runs on a commit's tree whether the commit is proved (P6). Pure.
//!
//! A claim is a run of this store's ledger or somebody's signed statement ([`GateClaim`]). The newest result of a check on this tree
//! counts. A result that the policy does not accept is passed over, and an older one counts in its place; but a failure that is newer
//! than every accepted result counts as a failure.

use std::collections::BTreeMap;
use std::fmt;

use crate::verdict::gate_reason::GateReason;
use proctor_model::{
    Blocking, CachesSeen, ClaimOrigin, ClaimSigner, ClaimedCheck, CommandExit, Digest, GateClaim, GatePolicy, IgnoredFiles,
    OPEN_WORLD, OverallResult, RunId, TaskId, Timestamp, UNNAMED_FILES, World, words,
};

/// Whether a commit is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateState {
    /// Everything that the policy requires passed on exactly this tree.
    Proved,
    /// Something that the policy requires failed on this tree.
    Red,
    /// Something that the policy requires was not run on this tree.
    NotTested,
    /// There are results, and the policy does not accept them; or the commit cannot be judged.
    NotAccepted,
}

/// What a policy requires: a whole task, or a check by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateSubject {
    Task(TaskId),
    Check(String),
    /// The tests of the change, which fail without it.
    Change,
}

/// The judgement on one thing that the policy requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateJudgement {
    pub subject: GateSubject,
    pub state: GateState,
    /// The runs that decided, newest first.
    pub runs: Vec<RunId>,
    /// Why it is not proved; empty if it is.
    pub reasons: Vec<GateReason>,
    /// Files that the deciding runs could read, that a clone of the commit lacks, and that the policy accepts: ignored files, and
    /// directories of installed packages. Sorted.
    pub also_read: Vec<String>,
    /// Files of the tree that checks of the deciding runs wrote and that had the tree's content again. Sorted.
    pub restored: Vec<String>,
    /// What the deciding runs could read that no digest names, because the settings show it. Sorted.
    pub unnamed: Vec<String>,
    /// The checks that did not succeed although they passed: the plan lets their findings or failures pass.
    pub warnings: Vec<String>,
}

/// What the commit's own plan of a task asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredPlan {
    /// The names of its checks. A run that does not have them all proves nothing.
    pub checks: Vec<String>,
    /// The digests that the plan may have. Empty where they depend on what is installed, and are not compared.
    pub digests: Vec<Digest>,
}

/// By what claims are judged.
pub struct GateRules<'a> {
    pub policy: &'a GatePolicy,
    /// What the commit's own plans ask for. A task whose plan cannot be determined is missing.
    pub plans: &'a BTreeMap<TaskId, RequiredPlan>,
    pub now: Timestamp,
    /// Returns whether the policy accepts that checks read this ignored file. A directory ends with a slash.
    pub is_accepted_input: &'a dyn Fn(&str) -> bool,
    /// Returns the toolchains that have another content now than a run of this store names, or were written since.
    pub changed_toolchains: &'a dyn Fn(&ClaimOrigin) -> Vec<String>,
    /// Returns whether the trusted commit has something at this path. A directory ends with a slash.
    pub is_tracked_by_trusted: &'a dyn Fn(&str) -> bool,
}

impl GateState {
    /// Returns the exit code of `proctor gate`.
    pub fn exit(self) -> CommandExit {
        match self {
            Self::Proved => CommandExit::Proceed,
            Self::Red => CommandExit::CodeNeedsWork,
            Self::NotTested => CommandExit::NoFreshVerdict,
            Self::NotAccepted => CommandExit::PersonNeeded,
        }
    }
}

words! {
    /// Returns the word for documents that programs read.
    pub fn GateState::word: Proved "proved", Red "red", NotTested "not-tested", NotAccepted "not-accepted"
}

impl fmt::Display for GateSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(formatter, "task {}", task.as_str()),
            Self::Check(name) => write!(formatter, "check {name}"),
            Self::Change => formatter.write_str("tests of the change"),
        }
    }
}

/// Judges what a policy requires, from the claims about runs on a commit's tree, newest first.
pub fn judge_gate(rules: &GateRules<'_>, claims: &[GateClaim]) -> Vec<GateJudgement> {
    let policy = rules.policy;
    let of_task = |task: &TaskId| {
        judge_platforms(rules, claims, GateSubject::Task(task.clone()), std::slice::from_ref(task), |claims| {
            judge_task(rules, task, claims)
        })
    };
    if policy.checks.is_empty() {
        return policy.tasks.iter().map(of_task).collect();
    }
    let of_check = |name: &String| {
        judge_platforms(rules, claims, GateSubject::Check(name.clone()), &policy.tasks, |claims| {
            judge_check(rules, (name, Needed::Success), claims)
        })
    };
    policy.checks.iter().map(of_check).collect()
}

/// Returns the state of the whole commit: the worst state of what the policy requires.
pub fn overall_state(judgements: &[GateJudgement]) -> GateState {
    worst_state(judgements.iter().map(|judgement| judgement.state))
}

/// Returns the worst of some states; without any, that nothing was tested.
pub fn worst_state(states: impl Iterator<Item = GateState>) -> GateState {
    let rank = |state: &GateState| match state {
        GateState::Proved => 0,
        GateState::NotTested => 1,
        GateState::NotAccepted => 2,
        GateState::Red => 3,
    };
    states.max_by_key(rank).unwrap_or(GateState::NotTested)
}

/// Judges one thing that the policy requires: on each platform that the policy names, or by all claims.
fn judge_platforms(
    rules: &GateRules<'_>,
    claims: &[GateClaim],
    subject: GateSubject,
    tasks: &[TaskId],
    judge: impl Fn(&[&GateClaim]) -> GateJudgement,
) -> GateJudgement {
    let of_tasks: Vec<&GateClaim> = claims.iter().filter(|claim| tasks.contains(&claim.task)).collect();
    let judge = |claims: &[&GateClaim]| with_strangers(judge(&trusted(claims)), claims);
    let judged = if rules.policy.platforms.is_empty() {
        vec![judge(&of_tasks)]
    } else {
        let on = |platform: &String| {
            let is_there =
                |claim: &&&GateClaim| claim.origin.conditions.as_ref().is_some_and(|conditions| conditions.platform == *platform);
            let mut judged = judge(&of_tasks.iter().filter(is_there).copied().collect::<Vec<_>>());
            let named = |reason| GateReason::OnPlatform { platform: platform.clone(), reason: Box::new(reason) };
            judged.reasons = judged.reasons.into_iter().map(named).collect();
            judged
        };
        rules.policy.platforms.iter().map(on).collect()
    };
    let state = worst_state(judged.iter().map(|judged| judged.state));
    let mut together = GateJudgement {
        subject,
        state,
        runs: Vec::new(),
        reasons: Vec::new(),
        also_read: Vec::new(),
        restored: Vec::new(),
        unnamed: Vec::new(),
        warnings: Vec::new(),
    };
    for judged in judged {
        let new: Vec<RunId> = judged.runs.into_iter().filter(|run| !together.runs.contains(run)).collect();
        together.runs.extend(new);
        together.reasons.extend(judged.reasons);
        together.also_read.extend(judged.also_read);
        together.restored.extend(judged.restored);
        together.unnamed.extend(judged.unnamed);
        together.warnings.extend(judged.warnings);
    }
    together.warnings.sort();
    together.warnings.dedup();
    for paths in [&mut together.also_read, &mut together.restored, &mut together.unnamed] {
        paths.sort();
        paths.dedup();
    }
    together
}

/// Returns the claims by keys that the policy names. A claim by another key can neither prove a check nor hide a result.
fn trusted<'c>(claims: &[&'c GateClaim]) -> Vec<&'c GateClaim> {
    claims.iter().filter(|claim| !matches!(claim.origin.signer, ClaimSigner::NotAllowed { .. })).copied().collect()
}

/// Names a stranger's passed run where there is no other result.
fn with_strangers(judged: GateJudgement, claims: &[&GateClaim]) -> GateJudgement {
    let strange = claims.iter().filter(|claim| claim.verdict == Some(OverallResult::Passed)).find_map(|claim| {
        let ClaimSigner::NotAllowed { key } = &claim.origin.signer else { return None };
        Some(GateReason::UntrustedSigner { run: claim.run.clone(), key: key.clone() })
    });
    match strange {
        Some(reason) if judged.state == GateState::NotTested => unproved(judged.subject, vec![reason]),
        Some(_) | None => judged,
    }
}

fn judge_task(rules: &GateRules<'_>, task: &TaskId, claims: &[&GateClaim]) -> GateJudgement {
    let subject = || GateSubject::Task(task.clone());
    let mut reasons = Vec::new();
    for (position, claim) in claims.iter().enumerate() {
        match claim.verdict {
            None => {}
            Some(OverallResult::Failed) if reasons.is_empty() => return failed(subject(), claim, blocking_checks(claim)),
            Some(OverallResult::Failed) => break,
            Some(OverallResult::Passed) => {
                let Some(checks) = &claim.checks else {
                    let unnamed = GateReason::UnnamedChecks { run: claim.run.clone() };
                    reasons
                        .push(origin_objection(rules, &claim.origin).or_else(|| GateReason::of_person(claim)).unwrap_or(unnamed));
                    continue;
                };
                let other = plan_objection(rules, claim).or_else(|| lacking_checks(rules, claim, checks));
                if let Some(reason) = other.or_else(|| objection(rules, claim, checks)) {
                    reasons.push(reason);
                    continue;
                }
                let same_plan: Vec<&GateClaim> =
                    claims[position + 1..].iter().copied().filter(|other| is_same_plan(other, claim)).collect();
                let missing = checks.iter().filter(|check| check.result.is_none());
                let found: Vec<(&str, GateJudgement)> = missing
                    .map(|check| (check.name.as_str(), judge_check(rules, (&check.name, Needed::NoBlocking), &same_plan)))
                    .collect();
                if let Some((_, red)) = found.iter().find(|(_, judged)| judged.state == GateState::Red) {
                    return GateJudgement { subject: subject(), ..red.clone() };
                }
                let mut open = found.iter().filter(|(_, judged)| judged.state != GateState::Proved).peekable();
                if open.peek().is_none() {
                    return proved((rules, subject()), claim, checks, found.into_iter().map(|(_, judged)| judged));
                }
                let (refused, left_out): (Vec<_>, Vec<_>) = open.partition(|(_, judged)| judged.state == GateState::NotAccepted);
                reasons.extend(refused.into_iter().flat_map(|(_, judged)| judged.reasons.clone()));
                if !left_out.is_empty() {
                    reasons.push(GateReason::ChecksNotRun(left_out.into_iter().map(|(name, _)| (*name).to_owned()).collect()));
                }
            }
        }
    }
    unproved(subject(), reasons)
}

/// When a check counts as passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needed {
    /// If it succeeded, also where the plan lets its findings pass: the policy names the check.
    Success,
    /// If its result does not block by the plan of its task.
    NoBlocking,
}

fn judge_check(rules: &GateRules<'_>, (name, needed): (&str, Needed), claims: &[&GateClaim]) -> GateJudgement {
    let subject = || GateSubject::Check(name.to_owned());
    let mut reasons = Vec::new();
    for claim in claims.iter().filter(|claim| claim.verdict.is_some()) {
        let named = claim.checks.iter().flatten().filter(|check| check.name == name);
        let Some(check) = named.into_iter().find(|check| check.result.is_some()) else { continue };
        let Some(result) = &check.result else { continue };
        let checks = std::slice::from_ref(check);
        let needs_success = needed == Needed::Success;
        let has_failed = result.blocking == Blocking::Blocks || (needs_success && result.succeeded == Some(false));
        if has_failed && reasons.is_empty() {
            return failed(subject(), claim, vec![name.to_owned()]);
        }
        if has_failed {
            break;
        }
        let unknown = || GateReason::UnknownSuccess { run: claim.run.clone(), check: name.to_owned() };
        let reason = plan_objection(rules, claim).or_else(|| objection(rules, claim, checks));
        match reason.or_else(|| (needs_success && result.succeeded.is_none()).then(unknown)) {
            Some(reason) => reasons.push(reason),
            None => return proved((rules, subject()), claim, checks, std::iter::empty()),
        }
    }
    if reasons.is_empty() {
        reasons.push(GateReason::ChecksNotRun(vec![name.to_owned()]));
    }
    unproved(subject(), reasons)
}

/// Returns that a claim proves something, together with what proves the checks that it lacks.
fn proved(
    (rules, subject): (&GateRules<'_>, GateSubject),
    claim: &GateClaim,
    checks: &[ClaimedCheck],
    others: impl Iterator<Item = GateJudgement>,
) -> GateJudgement {
    let (mut runs, mut also_read, mut restored) = (vec![claim.run.clone()], Vec::new(), Vec::new());
    let mut unnamed = Vec::new();
    let has_failed = |check: &&ClaimedCheck| check.result.as_ref().is_some_and(|result| result.succeeded == Some(false));
    let mut warnings: Vec<String> = checks.iter().filter(has_failed).map(|check| check.name.clone()).collect();
    for origin in origins(claim, checks) {
        let ignored = origin.conditions.as_ref().and_then(|conditions| conditions.ignored.as_ref());
        also_read.extend(ignored.into_iter().flat_map(|ignored| ignored.paths.iter().chain(&ignored.others).cloned()));
        let toolchains = origin.conditions.iter().flat_map(|conditions| &conditions.toolchains);
        also_read.extend(toolchains.filter(|one| one.is_settings()).map(|one| one.path.clone()));
        restored.extend(origin.conditions.iter().flat_map(|conditions| conditions.restored.iter().cloned()));
        let channels = origin.conditions.iter().flat_map(|conditions| &conditions.unnamed);
        unnamed.extend(channels.map(|channel| channel.strip_prefix(UNNAMED_FILES).unwrap_or(channel).to_owned()));
    }
    for judged in others {
        let new: Vec<RunId> = judged.runs.into_iter().filter(|run| !runs.contains(run)).collect();
        runs.extend(new);
        also_read.extend(judged.also_read);
        restored.extend(judged.restored);
        unnamed.extend(judged.unnamed);
        warnings.extend(judged.warnings);
    }
    debug_assert!(objection(rules, claim, checks).is_none(), "what the policy does not accept proves nothing");
    GateJudgement { subject, state: GateState::Proved, runs, reasons: Vec::new(), also_read, restored, unnamed, warnings }
}

fn failed(subject: GateSubject, claim: &GateClaim, checks: Vec<String>) -> GateJudgement {
    let run = claim.run.clone();
    let reasons = vec![GateReason::Failed { run: run.clone(), checks }];
    GateJudgement {
        subject,
        state: GateState::Red,
        runs: vec![run],
        reasons,
        also_read: Vec::new(),
        restored: Vec::new(),
        unnamed: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Returns the judgement where no run proves anything. Only the first reason is kept: it is about the newest run.
fn unproved(subject: GateSubject, reasons: Vec<GateReason>) -> GateJudgement {
    let reason = reasons.into_iter().next().unwrap_or(GateReason::NotRun);
    let state = match reason {
        GateReason::NotRun | GateReason::ChecksNotRun(_) | GateReason::OtherPlan { .. } => GateState::NotTested,
        GateReason::Failed { .. }
        | GateReason::UnknownSuccess { .. }
        | GateReason::Weaker { .. }
        | GateReason::TooOld { .. }
        | GateReason::PersonNeeded { .. }
        | GateReason::UnnamedChecks { .. }
        | GateReason::UntrackedInputs { .. }
        | GateReason::UnknownInputs { .. }
        | GateReason::NewlyIgnored { .. }
        | GateReason::TreeRewritten { .. }
        | GateReason::OpenWorld { .. }
        | GateReason::ToolchainNotHashed { .. }
        | GateReason::ToolchainChanged { .. }
        | GateReason::OtherProgram { .. }
        | GateReason::ChangedRules { .. }
        | GateReason::TestsNotRun { .. }
        | GateReason::KeptCaches { .. }
        | GateReason::Flaky { .. }
        | GateReason::UnknownOrigin { .. }
        | GateReason::UntrustedSigner { .. }
        | GateReason::ChangeNotProved { .. }
        | GateReason::OnPlatform { .. } => GateState::NotAccepted,
    };
    GateJudgement {
        subject,
        state,
        runs: Vec::new(),
        reasons: vec![reason],
        also_read: Vec::new(),
        restored: Vec::new(),
        unnamed: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Returns that a run was made with another plan than the commit has.
fn plan_objection(rules: &GateRules<'_>, claim: &GateClaim) -> Option<GateReason> {
    let digests = &rules.plans.get(&claim.task)?.digests;
    let is_of_commit = claim.plan.is_some_and(|plan| digests.contains(&plan));
    (!digests.is_empty() && !is_of_commit).then(|| GateReason::OtherPlan { run: claim.run.clone() })
}

/// Returns that a run does not have all checks of the commit's plan, or none at all.
fn lacking_checks(rules: &GateRules<'_>, claim: &GateClaim, checks: &[ClaimedCheck]) -> Option<GateReason> {
    let required = rules.plans.get(&claim.task).map_or(&[][..], |plan| &plan.checks);
    let has = |name: &String| checks.iter().any(|check| check.name == *name);
    let lacking: Vec<String> = required.iter().filter(|name| !has(name)).cloned().collect();
    match (checks.is_empty(), lacking.is_empty()) {
        (_, false) => Some(GateReason::ChecksNotRun(lacking)),
        (true, true) => Some(GateReason::NotRun),
        (false, true) => None,
    }
}

/// Returns why the policy does not accept these results of a run that passed. A reused result counts as what it was in the run that
/// carried the check out.
fn objection(rules: &GateRules<'_>, claim: &GateClaim, checks: &[ClaimedCheck]) -> Option<GateReason> {
    let unknown = checks.iter().find(|check| check.result.as_ref().is_some_and(|result| result.origin.is_none()));
    if let Some(check) = unknown {
        return Some(GateReason::UnknownOrigin { run: claim.run.clone(), check: check.name.clone() });
    }
    let of_origins = origins(claim, checks).find_map(|origin| origin_objection(rules, origin));
    of_origins.or_else(|| GateReason::of_tests(rules.policy, claim)).or_else(|| GateReason::of_person(claim))
}

/// Returns how the runs were made that carried these checks out. A run without any result counts itself.
fn origins<'c>(claim: &'c GateClaim, checks: &'c [ClaimedCheck]) -> impl Iterator<Item = &'c ClaimOrigin> {
    let mut found: Vec<&ClaimOrigin> = Vec::new();
    for origin in checks.iter().filter_map(|check| check.result.as_ref()?.origin.as_ref()) {
        if found.iter().all(|known| known.run != origin.run) {
            found.push(origin);
        }
    }
    if found.is_empty() {
        found.push(&claim.origin);
    }
    found.into_iter()
}

fn origin_objection(rules: &GateRules<'_>, origin: &ClaimOrigin) -> Option<GateReason> {
    let policy = rules.policy;
    let run = || origin.run.clone();
    if let ClaimSigner::NotAllowed { key } = &origin.signer {
        return Some(GateReason::UntrustedSigner { run: run(), key: key.clone() });
    }
    if origin.level > policy.isolation {
        return Some(GateReason::Weaker { run: run(), level: origin.level, least: policy.isolation });
    }
    let age = rules.now.as_millis().saturating_sub(origin.ended.as_millis());
    if policy.max_age.is_some_and(|most| u128::try_from(age).is_ok_and(|age| age > most.as_millis())) {
        return Some(GateReason::TooOld { run: run(), ended: origin.ended });
    }
    if let Some(conditions) = origin.conditions.as_ref().filter(|conditions| !conditions.rewritten.is_empty()) {
        return Some(GateReason::TreeRewritten { run: run(), paths: conditions.rewritten.clone() });
    }
    let unnamed = origin.conditions.iter().flat_map(|conditions| &conditions.unnamed);
    if policy.world == World::Closed && unnamed.into_iter().any(|channel| channel.starts_with(OPEN_WORLD)) {
        return Some(GateReason::OpenWorld { run: run() });
    }
    if let Some(conditions) = origin.conditions.as_ref().filter(|conditions| !conditions.other_programs.is_empty()) {
        return Some(GateReason::OtherProgram { run: run(), programs: conditions.other_programs.clone() });
    }
    let changed = origin.conditions.as_ref().and_then(|conditions| conditions.rules_changed.as_ref());
    if let Some(changed) = changed {
        return Some(GateReason::ChangedRules { run: run(), changed: changed.changed.clone() });
    }
    if let Some(reason) = toolchain_objection(rules, origin) {
        return Some(reason);
    }
    let caches = origin.conditions.as_ref().and_then(|conditions| conditions.caches);
    if policy.fresh_caches && caches != Some(CachesSeen::Fresh) {
        return Some(GateReason::KeptCaches { run: run() });
    }
    match origin.conditions.as_ref().and_then(|conditions| conditions.ignored.as_ref()) {
        None => Some(GateReason::UnknownInputs { run: run() }),
        Some(ignored) => ignored_objection(rules, origin, ignored),
    }
}

fn toolchain_objection(rules: &GateRules<'_>, origin: &ClaimOrigin) -> Option<GateReason> {
    let toolchains = origin.conditions.as_ref().map_or(&[][..], |conditions| &conditions.toolchains);
    let paths: Vec<String> = toolchains.iter().filter(|one| one.content.is_none()).map(|one| one.path.clone()).collect();
    if !paths.is_empty() {
        return Some(GateReason::ToolchainNotHashed { run: origin.run.clone(), paths });
    }
    // Nobody here can look at the toolchains of another machine.
    let paths = if origin.signer == ClaimSigner::OwnStore { (rules.changed_toolchains)(origin) } else { Vec::new() };
    (!paths.is_empty()).then(|| GateReason::ToolchainChanged { run: origin.run.clone(), paths })
}

fn ignored_objection(rules: &GateRules<'_>, origin: &ClaimOrigin, ignored: &IgnoredFiles) -> Option<GateReason> {
    let all = ignored.paths.iter().chain(&ignored.others);
    let lost: Vec<String> = all.filter(|path| (rules.is_tracked_by_trusted)(path)).cloned().collect();
    if !lost.is_empty() {
        return Some(GateReason::NewlyIgnored { run: origin.run.clone(), paths: lost });
    }
    let paths: Vec<String> = ignored.paths.iter().filter(|path| !(rules.is_accepted_input)(path)).cloned().collect();
    let more = ignored.unnamed();
    (!paths.is_empty() || more > 0).then(|| GateReason::UntrackedInputs { run: origin.run.clone(), paths, more })
}

fn blocking_checks(claim: &GateClaim) -> Vec<String> {
    let is_blocking = |check: &&ClaimedCheck| check.result.as_ref().is_some_and(|result| result.blocking == Blocking::Blocks);
    claim.checks.iter().flatten().filter(is_blocking).map(|check| check.name.clone()).collect()
}

fn is_same_plan(one: &GateClaim, other: &GateClaim) -> bool {
    one.plan.is_some() && one.plan == other.plan
}

#[cfg(test)]
mod tests;
