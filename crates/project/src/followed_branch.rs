//! The plans that a commit has, and the followed branch (`[gate] follow`): what its newest commit that a fetch brought asks for is
//! approved here, once a person agreed to follow it.
//!
//! Git's log of a reference says what brought a commit. Whoever can write the repository can write that log too, so it is believed only
//! for a branch that a person named. A push from here is not believed at all: it says what somebody here wanted.

use std::collections::BTreeMap;

use crate::committed_files::CommittedFiles;
use crate::gate::ProjectRepository;
use crate::settings_approval::rules_digest;
use crate::specifications::Specifications;
use proctor_git::{GitReadError, GitStorage, ObjectId};
use proctor_model::{Digest, JudgedSettings, Plan, RuleDifference, SettingValue, TaskId};
use proctor_plan::config::{self, Configuration, ENV_FILE, ENV_FILE_CONTENT, FOLLOW};
use proctor_plan::spec::specification::SPECIFICATION_SUFFIX;
use proctor_plan::spec::{self, DiskFiles, ProjectFiles, plan_digest};
use proctor_tree::ignore::{IgnoredClass, class_of};

/// The largest log of a reference that is read, in bytes.
const LONGEST_LOG: u64 = 16 << 20;
/// What git writes to the log of a reference for a push.
const BY_PUSH: &str = "update by push";

/// The newest commit of the followed branch that a fetch brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedCommit {
    /// The full name of the branch, such as `refs/remotes/origin/main`.
    pub name: String,
    pub commit: ObjectId,
}

impl FollowedCommit {
    /// Finds it by the approved settings and by those that the user's own configuration allows; `None` if no person said that a branch
    /// is followed, or if no fetch brought a commit of it.
    pub(crate) fn find(
        repository: &ProjectRepository,
        approved: Option<&JudgedSettings>,
        allowed: &JudgedSettings,
    ) -> Option<Self> {
        let said = |settings: &JudgedSettings| match settings.values.get(FOLLOW) {
            Some(SettingValue::Text(name)) if !name.is_empty() => Some(format!("refs/remotes/{name}")),
            Some(_) | None => None,
        };
        let name = said(allowed).or_else(|| said(approved?))?;
        let tip = repository.storage.resolve(&name).ok()?;
        let commit = fetched(&repository.storage, &name, tip)?;
        repository.storage.is_ancestor(commit, tip).then_some(Self { name, commit })
    }

    /// Returns whether this commit of the project at `root` approves a plan, whose rules differ so from the approved ones.
    pub(crate) fn approves(&self, repository: &ProjectRepository, plan: &Plan, difference: &RuleDifference) -> bool {
        !needs_a_person(plan, difference) && self.has_rules_of(repository, &without_file_variables(plan))
    }

    /// Returns whether this commit of the project at `root` has the rules of a plan. What cannot be read has none. A commit does not say
    /// what the file of `env_file` sets, so no commit has the rules of a plan that knows it.
    pub fn has_rules_of(&self, repository: &ProjectRepository, plan: &Plan) -> bool {
        // The gate asks here without a run, and knows as little as a clone that a signature was required where it comes from.
        if needs_a_person(plan, &RuleDifference::default()) {
            return false;
        }
        let rules = |plan: &Plan| -> Digest { rules_digest(plan_digest(plan), &plan.settings.now) };
        let configuration = match repository.configuration_of(self.commit) {
            Ok(bytes) => String::from_utf8(bytes.unwrap_or_default()).ok().and_then(|text| config::read(&text, &self.name).ok()),
            Err(_unreadable) => None,
        };
        let Some(mut configuration) = configuration else { return false };
        configuration.inputs.levels_in_repository = repository.below.as_path().components().count();
        let plans = plans_of_commit(repository, self.commit, &configuration, std::slice::from_ref(&plan.task));
        plans.is_ok_and(|plans| plans.values().flatten().any(|of_commit| rules(of_commit) == rules(plan)))
    }

    /// Returns the branch and the commit in words.
    pub(crate) fn words(&self) -> String {
        format!("{} ({})", self.name, &self.commit.hex()[..12])
    }
}

/// Returns whether no commit can approve a plan, whose rules differ so from the approved ones: it opens the machine, asks for a signature, or
/// has variables of a file that were not approved, which no commit says.
fn needs_a_person(plan: &Plan, difference: &RuleDifference) -> bool {
    let is_of_file = |key: &str| key == ENV_FILE || key == ENV_FILE_CONTENT;
    let mut changed = difference.changed.iter().map(|change| format!("{}.{}", change.name, change.field));
    let has_new_variables = plan.settings.now.values.contains_key(ENV_FILE_CONTENT) && changed.any(|key| is_of_file(&key));
    has_new_variables || plan.approval.require_signature || !difference.opens.is_empty()
}

fn without_file_variables(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.settings.now.values.remove(ENV_FILE_CONTENT);
    plan
}

/// Returns the commit that a fetch brought to a reference last, as git's log of the reference says. Without one, it is as a clone brought it,
/// if the log of the checked-out commit begins with a clone of just that commit.
fn fetched(storage: &GitStorage, name: &str, tip: ObjectId) -> Option<ObjectId> {
    let log_of = |name: &str| storage.common.text(&format!("logs/{name}"), LONGEST_LOG).ok().flatten();
    let Some(log) = log_of(name) else {
        let of_checkout = log_of("HEAD")?;
        let (objects, message) = of_checkout.lines().next()?.split_once('\t')?;
        let is_cloned = message.starts_with("clone: from ") && objects.split(' ').nth(1) == Some(&tip.hex());
        return is_cloned.then_some(tip);
    };
    log.lines().rev().find_map(|line| {
        let (objects, message) = line.split_once('\t')?;
        ObjectId::parse(objects.split(' ').nth(1)?).filter(|_| is_of_fetch(name, message))
    })
}

/// Returns whether git's log says that a reference was moved here, by neither a fetch nor a push of its commit. Without a
/// log, it is as a clone brought it, or was moved here: logs can be removed.
pub fn was_moved_here(storage: &GitStorage, name: &str, commit: ObjectId) -> bool {
    let Some(log) = storage.common.text(&format!("logs/{name}"), LONGEST_LOG).ok().flatten() else {
        return fetched(storage, name, commit).is_none();
    };
    let (objects, message) = log.lines().next_back().and_then(|line| line.split_once('\t')).unwrap_or_default();
    let is_there = objects.split(' ').nth(1) == Some(&commit.hex());
    !is_there || !(is_of_fetch(name, message) || message.starts_with(BY_PUSH))
}

/// Returns whether a push from here moved a reference of a remote repository last, as git's log says.
pub fn was_pushed_here(storage: &GitStorage, name: &str) -> bool {
    let log = storage.common.text(&format!("logs/{name}"), LONGEST_LOG).ok().flatten().unwrap_or_default();
    log.lines().next_back().and_then(|line| line.split_once('\t')).is_some_and(|(_, message)| message.starts_with(BY_PUSH))
}

/// Returns whether a line of the log of a reference is about a fetch from another repository: `git fetch . HEAD:refs/remotes/origin/main`
/// asks none, and neither does a path. A name that is not the remote's may be a path too, so only the remote itself may be asked for
/// chosen branches, and only for a branch of the same name: anybody can push another one there.
fn is_of_fetch(reference: &str, message: &str) -> bool {
    let command = message.rsplit_once(": ").map_or(message, |(command, _)| command);
    let words = || command.split(' ').skip(1);
    let remote = words().find(|word| !word.starts_with('-')).unwrap_or_default();
    let is_chosen = |word: &str| word.contains(':') && !is_same_branch(reference, remote, word);
    let is_local = |word: &str| word.starts_with(['.', '/', '~']) || is_chosen(word);
    let asks_another = message.starts_with("clone") || !words().any(is_local);
    asks_another && ["fetch", "pull", "clone", "remote"].iter().any(|word| message.starts_with(word))
}

/// Returns whether a refspec brings branches of a remote to the references that are called like them. `reference` must be one of the remote.
fn is_same_branch(reference: &str, remote: &str, refspec: &str) -> bool {
    let place = format!("refs/remotes/{remote}/");
    let ends = refspec.strip_prefix('+').unwrap_or(refspec).split_once(':');
    let names = ends.and_then(|(from, to)| from.strip_prefix("refs/heads/").zip(to.strip_prefix(&place)));
    reference.starts_with(&place) && names.is_some_and(|(from, to)| from == to)
}

/// The files of a commit, and beside them the installed packages of the project, which decide which checks are found.
pub struct WithPackages<'a> {
    pub committed: &'a CommittedFiles<'a>,
    pub installed: &'a DiskFiles,
}

impl WithPackages<'_> {
    fn files_for(&self, path: &str) -> &dyn ProjectFiles {
        if path.split('/').any(is_installed) { self.installed } else { self.committed }
    }
}

impl ProjectFiles for WithPackages<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.files_for(path).read(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.files_for(path).exists(path)
    }

    fn is_directory(&self, path: &str) -> bool {
        self.files_for(path).is_directory(path)
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let mut names = self.files_for(directory).names(directory);
        if self.committed.is_directory(directory) {
            names.extend(self.installed.names(directory).into_iter().filter(|name| is_installed(name)));
            names.sort();
            names.dedup();
        }
        names
    }

    fn levels_above(&self) -> usize {
        self.installed.levels_above()
    }
}

fn is_installed(name: &str) -> bool {
    class_of(name.as_bytes()) == IgnoredClass::Environment
}

/// Returns the plans of a commit by the task: with the packages that are installed in the project, and without.
///
/// # Errors
/// When an object of the repository cannot be read.
pub fn plans_of_commit(
    repository: &ProjectRepository,
    commit: ObjectId,
    configuration: &Configuration,
    tasks: &[TaskId],
) -> Result<BTreeMap<TaskId, Vec<Plan>>, GitReadError> {
    let committed = CommittedFiles::new(&repository.storage, repository.project_tree_of(commit)?);
    let with_packages = WithPackages { committed: &committed, installed: &DiskFiles::new(&repository.root) };
    // Only a task of a specification needs the specifications, and whoever looks for them reads every directory of the commit.
    let is_specified = tasks.iter().any(|task| *task != TaskId::default_task());
    let named = if is_specified { committed.files_ending(SPECIFICATION_SUFFIX) } else { BTreeMap::new() };
    let contents = named.into_iter().filter_map(|(path, blob)| Some((path, committed.blob(blob)?))).collect();
    let specifications = Specifications::of_contents(&repository.root, &contents, &configuration.specification);
    let mut found = BTreeMap::new();
    for task in tasks {
        let is_own = *task == TaskId::default_task();
        let plan_of = |files: &dyn ProjectFiles| match is_own {
            // The name of the project is in no check.
            true => spec::plan_of_rules(configuration, files, "project").ok(),
            false => specifications.plan_beside(configuration, task, files).ok(),
        };
        // A run on a checkout makes its plan before anything is installed.
        let plans: Vec<Plan> = [plan_of(&with_packages), plan_of(&committed)].into_iter().flatten().collect();
        if !plans.is_empty() {
            found.insert(task.clone(), plans);
        }
    }
    committed.finish()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{RuleChange, testing};

    const MAIN: &str = "refs/remotes/origin/main";

    #[test]
    fn a_fetch_from_the_remote_is_believed_and_what_may_be_local_or_another_branch_is_not() {
        let believed = [
            "fetch: fast-forward",
            "fetch -q origin: fast-forward",
            "pull --quiet --ff-only: fast-forward",
            "pull origin main: fast-forward",
            "clone: from file:///srv/shop",
            "fetch origin +refs/heads/main:refs/remotes/origin/main: forced-update",
            "fetch --depth=1 origin refs/heads/main:refs/remotes/origin/main: fast-forward",
            "fetch --prune origin +refs/heads/*:refs/remotes/origin/*: fast-forward",
        ];
        for message in believed {
            assert!(is_of_fetch(MAIN, message), "{message}");
        }
        let not_believed = [
            "",
            "update by push",
            "branch: Reset to HEAD",
            "fetch . HEAD:refs/remotes/origin/main: fast-forward",
            "fetch . +refs/heads/main:refs/remotes/origin/main: fast-forward",
            "fetch ../side +refs/heads/main:refs/remotes/origin/main: fast-forward",
            "fetch -j 2 file:///w/side +refs/heads/main:refs/remotes/origin/main: fast-forward",
            "fetch file:///w/side: fast-forward",
            "fetch here:side: fast-forward",
            // A path that reads like a name.
            "fetch side +refs/heads/main:refs/remotes/origin/main: fast-forward",
            "fetch --refmap=+refs/heads/main:refs/remotes/origin/main side main: fast-forward",
            // Anybody can push another branch, or a tag of this name.
            "fetch origin +refs/heads/other:refs/remotes/origin/main: forced-update",
            "fetch origin +refs/heads/other/*:refs/remotes/origin/*: forced-update",
            "fetch origin +main:refs/remotes/origin/main: forced-update",
            "fetch origin :refs/remotes/origin/main: forced-update",
        ];
        for message in not_believed {
            assert!(!is_of_fetch(MAIN, message), "{message}");
        }
        let other = "fetch fork +refs/heads/main:refs/remotes/fork/main: fast-forward";
        assert!(is_of_fetch("refs/remotes/fork/main", other) && !is_of_fetch(MAIN, other));
    }

    fn changed(key: &str) -> RuleDifference {
        let (name, field) = key.split_once('.').expect("a table and a key");
        let change = RuleChange { name: name.to_owned(), field: field.to_owned(), difference: "another".to_owned() };
        RuleDifference { changed: vec![change], ..RuleDifference::default() }
    }

    /// A plan with this digest of what the file of variables sets.
    fn with_variables(digest: &str) -> Plan {
        let mut plan = testing::empty_plan();
        let mut set =
            |key: &str, value: &str| plan.settings.now.values.insert(key.to_owned(), SettingValue::Text(value.to_owned()));
        set(ENV_FILE, ".env.test");
        set(ENV_FILE_CONTENT, digest);
        plan
    }

    #[test]
    fn a_commit_approves_neither_an_opening_nor_a_plan_that_asks_for_a_signature() {
        let plan = testing::empty_plan();
        assert!(!needs_a_person(&plan, &changed("unit.timeout")));
        let opening = RuleDifference { opens: changed("unit.timeout").changed, ..RuleDifference::default() };
        assert!(needs_a_person(&plan, &opening));
        let mut signed = plan;
        signed.approval.require_signature = true;
        assert!(needs_a_person(&signed, &changed("unit.timeout")) && needs_a_person(&signed, &RuleDifference::default()));
    }

    #[test]
    fn the_content_of_a_file_of_variables_is_compared_with_the_approved_one_and_not_with_the_commit() {
        let rules = |plan: &Plan| without_file_variables(plan).settings.now;
        assert_eq!(rules(&with_variables("one")), rules(&with_variables("two")));
        assert!(rules(&with_variables("one")).values.contains_key(ENV_FILE), "the file itself is named by the commit");
        let plan = with_variables("one");
        assert!(!needs_a_person(&plan, &changed("unit.timeout")));
        assert!(needs_a_person(&plan, &changed(ENV_FILE_CONTENT)) && needs_a_person(&plan, &changed(ENV_FILE)));
        let without = without_file_variables(&plan);
        assert!(!needs_a_person(&without, &changed(ENV_FILE)), "no file sets anything any more");
    }
}
