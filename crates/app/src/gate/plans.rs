//! Compares the plans of a commit with those of the trusted commit: checks that proctor finds in the project's files, and test
//! specifications. Both plans are made from the commits' own files, without a checkout.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::CommandError;
use crate::gate::errors::from_git_read_error;
use proctor_git::{GitReadError, GitStorage, ObjectId};
use proctor_model::{Digest, GatePolicy, Plan, TaskId, has_word};
use proctor_plan::changes::{Started, is_file_of_targets};
use proctor_plan::config::Configuration;
use proctor_plan::spec::specification::SPECIFICATION_SUFFIX;
use proctor_plan::spec::{self, DiskFiles, ProjectFiles, changed_actions, plan_digest, plan_terms};
use proctor_plan::verdict::RequiredPlan;
use proctor_project::{CommittedFiles, ProjectRepository, WithPackages, plans_of_commit};

/// Returns what the second commit asks less for than the first, which is trusted, with the configuration of each. Packages may be
/// installed in the project's directory.
pub(super) fn lowered_in_plans(
    repository: &ProjectRepository,
    [(trusted, before), (commit, now)]: [(ObjectId, &Configuration); 2],
    policy: &GatePolicy,
) -> Result<Vec<String>, CommandError> {
    let files = |commit| {
        let tree = repository.project_tree_of(commit).map_err(|error| from_git_read_error(&repository.storage, &error))?;
        Ok::<_, CommandError>(CommittedFiles::new(&repository.storage, tree))
    };
    let (trusted, commit) = (files(trusted)?, files(commit)?);
    let mut names = Vec::new();
    if policy.tasks.iter().any(|task| *task == TaskId::default_task()) {
        let installed = &DiskFiles::new(&repository.root);
        let with = |committed| WithPackages { committed, installed };
        names.extend(lowered_checks((&with(&trusted), before), (&with(&commit), now)));
    }
    let specified: Vec<&TaskId> = policy.tasks.iter().filter(|task| **task != TaskId::default_task()).collect();
    if !specified.is_empty() {
        names.extend(changed_specifications(&trusted, &commit, &specified));
    }
    for files in [trusted, commit] {
        files.finish().map_err(|error| from_git_read_error(&repository.storage, &error))?;
    }
    Ok(names)
}

/// Returns what the commit's plans ask for, by the task. A task is missing whose plan cannot be made from the commit. Packages may be
/// installed in the project's directory.
pub(super) fn required_plans(
    repository: &ProjectRepository,
    commit: ObjectId,
    configuration: &Configuration,
    tasks: &[TaskId],
) -> Result<BTreeMap<TaskId, RequiredPlan>, CommandError> {
    let found = plans_of_commit(repository, commit, configuration, tasks);
    let found = found.map_err(|error| from_git_read_error(&repository.storage, &error))?;
    let required = found.into_iter().map(|(task, plans)| {
        let checks = plans[0].steps.iter().map(|check| check.name.clone()).collect();
        // How a check that proctor finds is called depends on what is installed where the run is made.
        let is_found = task == TaskId::default_task() && configuration.checks.is_empty();
        let digests = if is_found { Vec::new() } else { plans.iter().map(plan_digest).collect() };
        (task, RequiredPlan { checks, digests })
    });
    Ok(required.collect())
}

/// Words before which a command may stand: interpreters, programs that start another one, and those of a shell.
const STARTERS: &str = "sh bash dash zsh ksh python python3 node deno bun perl ruby env exec time nice timeout uv run poetry npx xvfb-run source . \
     if then else elif while until do !";
/// The most files that are read for what they start.
const MOST_STARTED: usize = 200;

/// Returns the words of a command that name what it starts: its program, and what an interpreter is given to run.
fn started_words(script: &str) -> Vec<&str> {
    let is_end = |one: char| one == ';' || one == '&' || one == '|' || one == '\n' || one == '(' || one == ')';
    let is_before = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        word.starts_with('-') || word.contains('=') || STARTERS.split(' ').any(|one| one == name)
    };
    let mut started = Vec::new();
    for command in script.split(is_end) {
        // A recipe of `make` may begin with marks.
        let words = command.trim_start().trim_start_matches(['@', '-', '+']).split_whitespace();
        let mut words = words.map(|word| word.trim_matches(['"', '\''])).filter(|word| !word.is_empty());
        started.extend(words.find(|word| !is_before(word)));
    }
    started
}

/// Returns what the checks of a commit start: files, and what these, targets and scripts of packages start in turn.
pub(super) fn started(
    storage: &GitStorage,
    tree: Option<ObjectId>,
    configuration: &Configuration,
) -> Result<Started, GitReadError> {
    let files = CommittedFiles::new(storage, tree);
    let (mut started, mut known) = (Started::default(), BTreeSet::new());
    // Each with its directory, and whether it is for a shell.
    let mut waiting: Vec<(String, String, bool)> = Vec::new();
    for action in plan(configuration, &files).iter().flat_map(Plan::actions) {
        let argv = &action.command.argv;
        // A script for a shell is one word of the command.
        let scripts = argv.iter().filter(|word| word.contains(char::is_whitespace)).cloned();
        let all = std::iter::once(argv.join(" ")).chain(scripts);
        waiting.extend(all.map(|script| (action.directory.to_string_lossy().into_owned(), script, true)));
    }
    while let Some((directory, script, is_of_shell)) = waiting.pop() {
        let at = |word: &str| if directory.is_empty() { word.to_owned() } else { format!("{directory}/{word}") };
        let text = |path: &str| files.read(path).and_then(|bytes| String::from_utf8(bytes).ok());
        let words = script.split(|one: char| !one.is_alphanumeric() && !"-_:./".contains(one));
        started
            .words
            .extend(words.flat_map(|word| word.split(':').chain([word])).filter(|word| !word.is_empty()).map(str::to_owned));
        let programs = if is_of_shell { started_words(&script) } else { Vec::new() };
        let mut paths: Vec<String> = programs.iter().map(|word| at(word.trim_start_matches("./"))).collect();
        // `make` and the like start what their file of targets says.
        if programs.iter().any(|word| has_word("make gmake just task nox invoke rake", word)) {
            paths.extend(files.names(&directory).into_iter().filter(|name| is_file_of_targets(name)).map(|name| at(&name)));
        }
        started.files.extend(paths.iter().cloned());
        for path in paths {
            if known.len() < MOST_STARTED && files.exists(&path) && known.insert(path.clone()) {
                let name = path.rsplit('/').next().unwrap_or(&path);
                let is_of_shell = !name.contains('.') || [".sh", ".bash", ".mk"].iter().any(|end| name.ends_with(end));
                waiting.extend(text(&path).map(|text| (directory.clone(), text, is_of_shell)));
            }
        }
        let package = text(&at("package.json")).and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        for (name, script) in package.iter().filter_map(|package| package["scripts"].as_object()).flatten() {
            let of_name = [Some(name.as_str()), name.strip_prefix("pre"), name.strip_prefix("post")];
            let is_called = of_name.into_iter().flatten().any(|name| started.words.contains(name));
            if is_called && known.insert(format!("{directory} {name}")) {
                waiting.extend(script.as_str().map(|script| (directory.clone(), script.to_owned(), true)));
            }
        }
    }
    files.finish()?;
    Ok(started)
}

/// Returns what the commit's plans are made from, as one digest: another one may be a weaker plan, which needs an approval of its own.
pub(super) fn plans_digest(
    repository: &ProjectRepository,
    commit: ObjectId,
    configuration: &Configuration,
) -> Result<Digest, CommandError> {
    let failed = |error| from_git_read_error(&repository.storage, &error);
    let files = CommittedFiles::new(&repository.storage, repository.project_tree_of(commit).map_err(failed)?);
    let settings = repository.configuration_of(commit).map_err(failed)?.unwrap_or_default();
    let plan = plan(configuration, &files).map(|plan| plan_digest(&plan).hex()).unwrap_or_default();
    let mut parts = vec![Digest::of(&settings).hex(), plan];
    parts.extend(files.files_ending(SPECIFICATION_SUFFIX).into_iter().map(|(path, blob)| format!("{} {path}", blob.hex())));
    files.finish().map_err(failed)?;
    Ok(Digest::of(parts.join("\n").as_bytes()))
}

/// Returns the checks that the commit does not have, or has with other rules.
fn lowered_checks(
    (trusted, before): (&dyn ProjectFiles, &Configuration),
    (commit, now): (&dyn ProjectFiles, &Configuration),
) -> Vec<String> {
    // Where the trusted commit has no plan, nothing can be less. A plan that cannot be made of the commit has no check.
    let Some(before) = plan(before, trusted) else { return Vec::new() };
    let Some(now) = plan(now, commit) else { return vec!["the checks: no plan can be made of the commit".to_owned()] };
    // Prerequisites and the clean-up are always written in the configuration, which is compared by itself.
    let is_check = |name: &String| before.steps.iter().any(|step| step.name == *name || step.id.as_str() == name);
    let changed = changed_actions(&plan_terms(&before), &plan_terms(&now));
    changed.into_iter().filter(is_check).map(|name| format!("check `{name}`")).collect()
}

fn plan(configuration: &Configuration, files: &dyn ProjectFiles) -> Option<Plan> {
    // The name of the project is in no check.
    spec::plan_of_rules(configuration, files, "project").ok()
}

/// Returns the specifications of the required tasks that are other ones in the commit.
fn changed_specifications(trusted: &CommittedFiles<'_>, commit: &CommittedFiles<'_>, tasks: &[&TaskId]) -> Vec<String> {
    let (before, now) = (trusted.files_ending(SPECIFICATION_SUFFIX), commit.files_ending(SPECIFICATION_SUFFIX));
    let mut names = Vec::new();
    for task in tasks {
        // A specification of the task has the task's id in it. That another file has it too does no harm.
        let named: Vec<_> = before
            .iter()
            .filter(|(_, blob)| trusted.blob(**blob).is_some_and(|text| contains(&text, task.as_str().as_bytes())))
            .collect();
        if named.is_empty() {
            names.push(format!("task {}: the trusted commit has no specification of it", task.as_str()));
        }
        let changed = named.into_iter().filter(|(path, blob)| now.get(*path) != Some(*blob));
        names.extend(changed.map(|(path, _)| format!("specification `{path}`")));
    }
    names
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_starts_its_program_and_what_an_interpreter_is_given() {
        for (command, started) in [
            ("grep -q good shop.txt", &["grep"][..]),
            ("sh scripts/check.sh --fast", &["scripts/check.sh"]),
            ("./check.sh a b", &["./check.sh"]),
            ("python3 -B tools/check.py", &["tools/check.py"]),
            ("A=1 env B=2 bash -e x.sh; make all && node y.js", &["x.sh", "make", "y.js"]),
            ("uv run pytest tests", &["pytest"]),
            ("", &[]),
        ] {
            assert_eq!(started_words(command), started, "{command}");
        }
    }
}
