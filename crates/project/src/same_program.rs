//! Whether the search path leads to the program that was approved, and what an approval records of programs (S7). Reads the file
//! system, and starts nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::approval::file_of;
use crate::error::ProjectError;
use crate::request::RunRequest;
use crate::toolchain_places::{is_of_system, prefixes};
use proctor_index::StoreIndex;
use proctor_model::{Action, ActionTerms, ApprovalReason, ApprovedProgram, Digest, Plan, PlanTerms, ProgramWay, SpawnFailure};
use proctor_sandbox::process::resolve_program;
use proctor_sandbox::snapshot::digest_of;
use proctor_sandbox::{ChildEnvironment, EnvironmentAdditions, home, search_path};

/// The size in bytes of the largest program whose content is recorded.
const LARGEST_PROGRAM: u64 = 64 << 20;

/// The most entries of a directory of the search path that are looked at.
const MOST_ENTRIES: usize = 4096;

/// Up to so many programs are searched one by one in the directories behind theirs. Beyond that it is faster to list these directories.
const FEW_ENTRIES: usize = 250;

/// Where the programs of a plan are searched.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSearch<'a> {
    pub(crate) root: &'a Path,
    /// The environment of proctor itself.
    pub(crate) ambient: &'a BTreeMap<OsString, OsString>,
    /// What the settings add to the environment of every action; `None` if the settings cannot be read. No program is found
    /// then.
    pub(crate) additions: Option<&'a EnvironmentAdditions>,
}

impl ProgramSearch<'_> {
    /// Adds to the terms what is found of the programs of checks. Only a person approves one that lies in a directory of its own.
    pub(crate) fn record(&self, plan: &Plan, mut terms: PlanTerms, by: ApprovalReason) -> PlanTerms {
        for action in &plan.steps {
            if let Some(recorded) = terms.actions.get_mut(&action.id) {
                recorded.program = match self.approved_program(action) {
                    Some(ApprovedProgram::Found { path, way: Some(way), .. })
                        if by != ApprovalReason::Person && self.is_alone(&way, Path::new(&path)) =>
                    {
                        Some(ApprovedProgram::Absent)
                    }
                    program => program,
                };
            }
        }
        let is_approved = |path: &String| by == ApprovalReason::Person || !self.is_alone(&ProgramWay::Elsewhere, Path::new(path));
        terms.in_front = Some(self.in_front().into_iter().filter(|(path, _)| is_approved(path)).collect());
        terms
    }

    /// Returns the programs that scripts and `make` find in directories of the user, although an environment, a toolchain or the system has
    /// one of the same name further back in the search path. What else such a directory has is put in nobody's place.
    fn in_front(&self) -> BTreeMap<String, Digest> {
        let path = search_path(self.ambient);
        let directories = std::env::split_paths(&path).map(|directory| self.root.join(directory));
        let (own, mut others): (Vec<_>, Vec<_>) =
            directories.enumerate().partition(|(_, directory)| self.way_of(&directory.join("program")) == ProgramWay::Elsewhere);
        let mut real = BTreeSet::new();
        // `/bin` often is `/usr/bin`.
        others.retain(|(_, directory)| directory.canonicalize().is_ok_and(|directory| real.insert(directory)));
        let mut found = BTreeMap::new();
        for (place, directory) in own {
            let behind: Vec<&PathBuf> = others.iter().filter(|(other, _)| *other > place).map(|(_, other)| other).collect();
            let mut names: Vec<OsString> = names_in(&directory).take(MOST_ENTRIES).collect();
            if names.len() > FEW_ENTRIES {
                let there: HashSet<OsString> = behind.iter().flat_map(|other| names_in(other)).collect();
                names.retain(|name| there.contains(name));
            }
            for name in names {
                let path = directory.join(&name);
                let is_behind = || behind.iter().any(|other| other.join(&name).is_file());
                if path.is_file() && is_behind() && self.way_of(&path) == ProgramWay::Elsewhere {
                    found.insert(path.display().to_string(), content_of(&path).unwrap_or_else(|| Digest::of(b"")));
                }
            }
        }
        found
    }

    /// Returns, in words for people, the programs of checks that the search path of whoever runs proctor finds by another way than the
    /// approved one. Approvals of earlier versions of proctor do not say the way, and are not compared.
    pub(crate) fn found_by_another_way(&self, plan: &Plan, approved: &PlanTerms) -> Vec<String> {
        let other = |action: &Action| {
            let word = action.command.argv.first().filter(|word| !word.contains('/'))?;
            let calls = |held: &&ActionTerms| held.words.as_ref().is_none_or(|words| words.command.first() == Some(word));
            let at_its_place = approved.actions.get(&action.id)?;
            // Checks may change places, and a check may get another command: another word's program says nothing about this one's.
            let held = Some(at_its_place).filter(calls).or_else(|| approved.actions.values().find(calls));
            let now = self.resolve(action, word)?.ok()?;
            let now_way = self.way_of(&now);
            let (is_same, said) = match (held.unwrap_or(at_its_place).program.as_ref()?, held) {
                (ApprovedProgram::Found { way: None, .. }, _) => return None,
                (ApprovedProgram::Found { path, content, way: Some(way) }, Some(_)) => {
                    let is_same = match way {
                        way if *way != now_way => false,
                        ProgramWay::Environment { .. } | ProgramWay::Toolchain { .. } => true,
                        ProgramWay::System => same_directory(Path::new(path), &now),
                        ProgramWay::Elsewhere => Path::new(path) == now && (content.is_none() || content_of(&now) == *content),
                    };
                    (is_same, "is another program than the approved one")
                }
                (ApprovedProgram::Found { .. }, None) | (ApprovedProgram::Absent, _) => (
                    !self.is_alone(&now_way, &now),
                    "lies neither in an environment or a toolchain nor in a directory of the system",
                ),
            };
            (!is_same).then(|| format!("{word} {said}: {}", now.display()))
        };
        let steps = || plan.steps.iter().filter(|step| step.starts_program_of_this_machine());
        let mut others: BTreeSet<String> = steps().filter_map(other).collect();
        if let Some(approved) = approved.in_front.as_ref().filter(|_| steps().next().is_some()) {
            let found = self.in_front();
            let new = found.iter().filter(|(path, content)| approved.get(*path) != Some(content));
            let new: Vec<_> = new.filter_map(|(path, _)| path.rsplit_once('/')).collect();
            others.extend(new.chunk_by(|one, next| one.0 == next.0).map(|of_directory| {
                let ((directory, name), more) = (of_directory[0], of_directory.len() - 1);
                let more = if more == 0 { String::new() } else { format!(", and {more} more in its directory") };
                format!("{name} is another program than the approved one: {directory}/{name}{more}")
            }));
        }
        others.into_iter().collect()
    }

    fn way_of(&self, path: &Path) -> ProgramWay {
        way_of(path, self.root, home(self.ambient))
    }

    /// Returns whether the program at a path, which was found by this way, is part of no installation: it lies neither below HOME nor in
    /// `/opt`, has no library beside it, and no directory around it is called like those of a manager of toolchains (HOME may be another
    /// one, as in a job in a container). What a search path below HOME has is hashed and named as toolchains are.
    fn is_alone(&self, way: &ProgramWay, path: &Path) -> bool {
        let is_managed = |path: &Path| {
            let mut names = MANAGED.iter().map(|(below, _)| *below).chain([USERS_PROGRAMS]);
            names.any(|below| path.ancestors().any(|around| around.ends_with(below)))
        };
        let is_installed = home(self.ambient).is_some_and(|home| path.starts_with(home)) || path.starts_with("/opt");
        *way == ProgramWay::Elsewhere && !is_installed && prefixes(path).is_empty() && !is_managed(path)
    }

    /// Returns what is found of the program of an action; `None` if the action has no command, or if it is not sure whether
    /// there is a program.
    fn approved_program(&self, action: &Action) -> Option<ApprovedProgram> {
        let word = action.command.argv.first()?;
        match self.resolve(action, word)? {
            Ok(path) => {
                let way = (!word.contains('/')).then(|| self.way_of(&path));
                Some(ApprovedProgram::Found { content: content_of(&path), path: path.to_str()?.to_owned(), way })
            }
            Err(SpawnFailure::ProgramNotFound { .. }) => Some(ApprovedProgram::Absent),
            Err(_) => None,
        }
    }

    fn resolve(&self, action: &Action, program: &str) -> Option<Result<PathBuf, SpawnFailure>> {
        let environment = ChildEnvironment::build(self.ambient, self.additions?, action, Path::new("/"));
        Some(resolve_program(program, &self.root.join(&action.directory), &environment.search_path()))
    }
}

/// Returns, in words for people, the programs of a plan that are found by another way than the approved one; none for a typed command.
pub fn programs_not_approved(
    index: &StoreIndex,
    programs: ProgramSearch<'_>,
    request: &RunRequest<'_>,
) -> Result<Vec<String>, ProjectError> {
    let RunRequest { plan, scope, .. } = request;
    let approved = match file_of(plan) {
        Some(_) => index.approval(&scope.project, &plan.task)?,
        None => None,
    };
    Ok(approved.map(|held| programs.found_by_another_way(plan, &held.terms)).unwrap_or_default())
}

/// Returns whether two programs lie in one directory. `/bin` and `/usr/bin` often are one.
fn same_directory(one: &Path, other: &Path) -> bool {
    let directory = |path: &Path| path.parent().and_then(|directory| directory.canonicalize().ok());
    directory(one).is_some() && directory(one) == directory(other)
}

fn names_in(directory: &Path) -> impl Iterator<Item = OsString> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

fn content_of(path: &Path) -> Option<Digest> {
    let is_recorded = |metadata: Metadata| metadata.is_file() && metadata.len() <= LARGEST_PROGRAM;
    let mut file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(is_recorded))?;
    digest_of(&mut file).ok()
}

// By which way a program was found: in an environment, in a toolchain of the user, in the system, or elsewhere. Reads the file system,
// and starts nothing.

/// Where managers of toolchains keep their programs, below the user's home directory. Variables that name other places are not asked:
/// whoever starts proctor chooses them, as he chooses `PATH`.
const MANAGED: &[(&str, &str)] = &[
    (".asdf", "asdf"),
    (".bun", "Bun"),
    (".cargo", "rustup"),
    (".deno", "Deno"),
    (".fnm", "fnm"),
    (".local/pipx", "pipx"),
    (".local/share/fnm", "fnm"),
    (".local/share/mise", "mise"),
    (".local/share/pipx", "pipx"),
    (".local/share/pnpm", "pnpm"),
    (".local/share/uv", "uv"),
    (".nvm", "nvm"),
    (".pyenv", "pyenv"),
    (".rbenv", "rbenv"),
    (".rustup", "rustup"),
    (".sdkman", "SDKMAN"),
    (".volta", "Volta"),
    ("anaconda3", "conda"),
    ("go", "Go"),
    ("miniconda3", "conda"),
    ("miniforge3", "conda"),
];

/// Where users install programs for themselves, below the home directory (file-hierarchy(7)).
const USERS_PROGRAMS: &str = ".local/bin";

/// Homebrew on Linux, which has a directory of its own.
const HOMEBREW: &str = "/home/linuxbrew/.linuxbrew";

/// The file that marks a virtual environment of Python.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Returns by which way the program at a path was found.
fn way_of(path: &Path, root: &Path, home: Option<&Path>) -> ProgramWay {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(directory) = path.parent().map(real) else { return ProgramWay::Elsewhere };
    let name = |directory: &Path| directory.strip_prefix(real(root)).unwrap_or(directory).display().to_string();
    let environment = directory.parent().filter(|parent| parent.join(VIRTUAL_ENVIRONMENT).is_file());
    if directory.starts_with(real(root)) || environment.is_some() {
        return ProgramWay::Environment { name: name(environment.unwrap_or(&directory)) };
    }
    let managed = MANAGED.iter().filter_map(|(below, kind)| Some((home?.join(below), *kind)));
    // Most are not there, and to ask for one is cheaper than to resolve it.
    let managed = managed.filter(|(place, _)| place.exists()).map(|(place, kind)| (real(&place), kind));
    let mut managed = managed.chain([(PathBuf::from(HOMEBREW), "Homebrew")]);
    let paths = [directory.clone(), real(path)];
    if let Some((_, kind)) = managed.find(|(place, _)| paths.iter().any(|path| path.starts_with(place))) {
        return ProgramWay::Toolchain { kind: kind.to_owned() };
    }
    if is_of_system(&directory) { ProgramWay::System } else { ProgramWay::Elsewhere }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make the programs that are found")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use proctor_model::{ActionId, ActionPhase, testing};
    use proctor_plan::spec::plan_terms;

    /// Makes a program in a directory, and returns a search path that leads to it first.
    fn search_path(directory: &Path, text: &str) -> BTreeMap<OsString, OsString> {
        std::fs::create_dir_all(directory).expect("it is ours");
        let program = directory.join("tool");
        std::fs::write(&program, text).expect("it is ours");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        [(OsString::from("PATH"), OsString::from(format!("{}:/usr/bin:/bin", directory.display())))].into()
    }

    #[test]
    fn a_program_that_scripts_find_in_front_of_the_one_of_the_system_is_named_and_other_directories_are_not() {
        let top = tempfile::tempdir().expect("a directory");
        let (root, additions) = (top.path().join("project"), EnvironmentAdditions::default());
        let mut step = testing::generic_action(ActionPhase::Step);
        step.command.argv = vec!["sh".to_owned()];
        let plan = Plan { steps: vec![step], ..testing::empty_plan() };
        let own = top.path().join("own");
        let mut ambient = search_path(&own, "an editor");
        ambient.insert("HOME".into(), top.path().into());
        let mut plain = ambient.clone();
        plain.insert("PATH".into(), "/usr/bin:/bin".into());
        let search = |ambient| ProgramSearch { root: &root, ambient, additions: Some(&additions) };
        let approved = |by, ambient| search(ambient).record(&plan, plan_terms(&plan), by);
        let others = |terms: &PlanTerms| search(&ambient).found_by_another_way(&plan, terms);
        let first = approved(ApprovalReason::NewTask, &plain);
        assert_eq!(others(&first), [""; 0], "nothing else is called like it");
        std::fs::copy(own.join("tool"), own.join("grep")).expect("it is ours");
        assert_eq!(others(&first), [format!("grep is another program than the approved one: {}", own.join("grep").display())]);
        std::fs::copy(own.join("tool"), own.join("ls")).expect("it is ours");
        assert_eq!(
            others(&first),
            [format!(
                "grep is another program than the approved one: {}, and 1 more in its directory",
                own.join("grep").display()
            )]
        );
        std::fs::remove_file(own.join("ls")).expect("it is ours");
        // Who wrote it before the first run, or approves it, means it, until it is another one.
        let meant = approved(ApprovalReason::NewTask, &ambient);
        assert_eq!(others(&meant), [""; 0]);
        std::fs::write(own.join("grep"), "changed").expect("it is ours");
        assert_eq!((others(&meant).len(), others(&approved(ApprovalReason::Person, &ambient)).len()), (1, 0));
        // Approvals of earlier versions do not say it.
        assert_eq!(others(&PlanTerms { in_front: None, ..first }), [""; 0]);
    }

    #[test]
    fn a_program_is_compared_with_the_approved_one_of_its_own_name() {
        let top = tempfile::tempdir().expect("a directory");
        let (root, additions) = (top.path().join("project"), EnvironmentAdditions::default());
        std::fs::create_dir(&root).expect("it is ours");
        let managed = search_path(&top.path().join(".pyenv/shims"), "one");
        let search = |ambient| ProgramSearch { root: &root, ambient, additions: Some(&additions) };
        let plan = |words: [&str; 2]| {
            let step = |(number, word): (usize, &str)| {
                let mut step = testing::generic_action(ActionPhase::Step);
                step.id = ActionId::numbered("STEP", number);
                step.command.argv = vec![word.to_owned()];
                step
            };
            Plan { steps: (1..).zip(words).map(step).collect(), ..testing::empty_plan() }
        };
        let terms = |words| search(&managed).record(&plan(words), plan_terms(&plan(words)), ApprovalReason::NewTask);
        let others = |words, terms: &PlanTerms| search(&managed).found_by_another_way(&plan(words), terms);
        // Another command, and checks that change places.
        assert_eq!(others(["tool", "sh"], &terms(["true", "sh"])), [""; 0]);
        assert_eq!(others(["sh", "tool"], &terms(["tool", "sh"])), [""; 0]);
        // A check that changed its place is compared with what was approved at the other one.
        let approved = terms(["tool", "sh"]);
        let elsewhere = search_path(&top.path().join("fk"), "green");
        let named = format!("tool is another program than the approved one: {}", top.path().join("fk/tool").display());
        assert_eq!(search(&elsewhere).found_by_another_way(&plan(["sh", "tool"]), &approved), [named]);
    }

    #[test]
    fn a_program_that_is_found_by_another_way_is_named() {
        let top = tempfile::tempdir().expect("a directory");
        let (root, additions) = (top.path().join("project"), EnvironmentAdditions::default());
        let approved_path = search_path(&root.join(".venv/bin"), "one");
        let search = |ambient| ProgramSearch { root: &root, ambient, additions: Some(&additions) };
        let mut step = testing::generic_action(ActionPhase::Step);
        step.command.argv = vec!["tool".to_owned()];
        let plan = Plan { steps: vec![step], ..testing::empty_plan() };
        let by = |reason, ambient| search(ambient).record(&plan, plan_terms(&plan), reason);
        let approved = |ambient| by(ApprovalReason::Person, ambient);
        let others = |ambient, terms: &PlanTerms| search(ambient).found_by_another_way(&plan, terms);
        let nothing = Vec::<String>::new();
        let mut terms = approved(&approved_path);
        assert_eq!(others(&approved_path, &terms), nothing);
        // What is in an environment is named by the digest of the environment.
        search_path(&root.join(".venv/bin"), "another version");
        assert_eq!(others(&approved_path, &terms), nothing);
        let elsewhere = search_path(&top.path().join("fk"), "green");
        let named = format!("tool is another program than the approved one: {}", top.path().join("fk/tool").display());
        assert_eq!(others(&elsewhere, &terms), [named]);
        // In a directory that is none of these, path and content count.
        terms = approved(&elsewhere);
        assert_eq!((others(&elsewhere, &terms).len(), others(&approved_path, &terms).len()), (0, 1));
        search_path(&top.path().join("fk"), "changed");
        assert_eq!(others(&elsewhere, &terms).len(), 1);
        // No first run approves such a program, and none that has the same rules: the search path is whose that starts it.
        for reason in [ApprovalReason::NewTask, ApprovalReason::WeakensNothing] {
            let first = by(reason, &elsewhere);
            let named = others(&elsewhere, &first);
            assert!(named[0].starts_with("tool lies neither in an environment or a toolchain"), "{named:?}");
            assert_eq!(others(&approved_path, &first), nothing, "installed later");
        }
        // What has its library beside it is an installation, wherever it lies.
        let installed = search_path(&top.path().join("tools/python/bin"), "one");
        std::fs::create_dir(top.path().join("tools/python/lib")).expect("it is ours");
        assert_eq!(others(&installed, &by(ApprovalReason::NewTask, &installed)), nothing);
        let of_another_home = search_path(&top.path().join("root/.cargo/bin"), "one");
        assert_eq!(others(&of_another_home, &by(ApprovalReason::NewTask, &of_another_home)), nothing);
        // Approvals of earlier versions say no way.
        for action in terms.actions.values_mut() {
            if let Some(ApprovedProgram::Found { way, .. }) = &mut action.program {
                *way = None;
            }
        }
        assert_eq!(others(&approved_path, &terms), nothing);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes the programs that are found")]
mod program_way_tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_program_is_found_in_an_environment_a_toolchain_the_system_or_elsewhere() {
        let top = tempfile::tempdir().expect("a directory");
        let top = top.path().canonicalize().expect("it is there");
        let (root, home) = (top.join("project"), top.join("home"));
        let place = |path: PathBuf| {
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
            fs::write(&path, "").expect("it is ours");
            path
        };
        let way = |path: &Path| way_of(path, &root, Some(&home));
        let environment = |name: &str| ProgramWay::Environment { name: name.to_owned() };
        let toolchain = |kind: &str| ProgramWay::Toolchain { kind: kind.to_owned() };
        place(root.join(".venv/pyvenv.cfg"));
        assert_eq!(way(&place(root.join(".venv/bin/pytest"))), environment(".venv"));
        assert_eq!(way(&place(root.join("node_modules/.bin/jest"))), environment("node_modules/.bin"));
        assert_eq!(way(&place(root.join("fk/pytest"))), environment("fk"));
        let outside = top.join("poetry/shop-1");
        place(outside.join("pyvenv.cfg"));
        assert_eq!(way(&place(outside.join("bin/pytest"))), environment(outside.to_str().expect("text")));
        assert_eq!(way(&place(home.join(".pyenv/versions/3.12/bin/pytest"))), toolchain("pyenv"));
        let of_pipx = place(home.join(".local/share/pipx/venvs/ruff/bin/ruff"));
        let linked = home.join(".local/bin/ruff");
        fs::create_dir_all(linked.parent().expect("it has one")).expect("it is ours");
        symlink(of_pipx, &linked).expect("it is ours");
        assert_eq!(way(&linked), toolchain("pipx"));
        assert_eq!(way(Path::new("/bin/sh")), ProgramWay::System);
        assert_eq!(way(&place(home.join("fk/bin/pytest"))), ProgramWay::Elsewhere);
    }
}
