//! Compares the environment of a run with the one that a run here would have: toolchains, installed packages, programs. Reads files and
//! starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment_digest::{
    EVERY_FILE, InstalledAt, LookDepth, SavedDirectory, content_without_root, file_digest, first_difference, has_lock_file,
    paths_of_programs, program_file,
};
use crate::toolchains::{SeenByChecks, ToolchainNames, toolchains};
use proctor_evidence::report::EnvironmentComponentV2;
use proctor_evidence::{ClaimedEnvironment, Store};
use proctor_model::{Digest, KnownCondition, Plan, RunConditions};
use proctor_sandbox::{home, search_path};
use proctor_tree::TreeIndex;

/// How many bytes of new files in one directory are hashed. With more, its content is not known.
const HASHED: u64 = 64 << 20;

/// The environment that a run here would have now.
pub(super) struct EnvironmentHere<'a> {
    store: &'a Store,
    root: &'a Path,
    names: ToolchainNames,
    ambient: &'a BTreeMap<OsString, OsString>,
    /// The names of the toolchains and directories of installed packages.
    toolchains: BTreeSet<String>,
    /// The real paths of the plan's programs and their interpreters.
    programs: BTreeSet<PathBuf>,
    has_lock_file: bool,
}

/// A run, and the checkout in which it was made.
pub(super) struct RunThere<'a> {
    pub(super) root: &'a Path,
    pub(super) conditions: &'a RunConditions,
    /// The programs that it used, among other parts of its environment.
    pub(super) components: &'a [EnvironmentComponentV2],
}

impl<'a> EnvironmentHere<'a> {
    pub(super) fn look(
        store: &'a Store,
        ambient: &'a BTreeMap<OsString, OsString>,
        (root, plan, tree): (&'a Path, &Plan, &TreeIndex),
    ) -> Self {
        let path_variable = search_path(ambient);
        let programs = paths_of_programs(plan, root, &path_variable);
        let programs = programs.iter().filter_map(|path| Some(program_file(path)?.real_path)).collect();
        let home = home(ambient).map(Path::to_owned);
        let seen = SeenByChecks { plan: plan.clone(), index: tree.clone(), shown: None, path_variable, home };
        let names = ToolchainNames::new(root, ambient);
        let toolchains = toolchains(seen).iter().map(|path| names.name(path)).collect();
        Self { store, root, names, ambient, toolchains, programs, has_lock_file: has_lock_file(tree) }
    }

    /// Compares with a run of another store on what it told of itself. Returns on what the likeness rests.
    ///
    /// # Errors
    /// What differs, for people.
    pub(super) fn compare_with_told(
        &self,
        conditions: &RunConditions,
        told: Option<&ClaimedEnvironment>,
    ) -> Result<KnownCondition, String> {
        if conditions.platform != RunConditions::platform_here() {
            return Err(format!("it ran on {}", conditions.platform));
        }
        let told = told.ok_or("it does not say with which programs it ran")?;
        let here = self.toolchains.iter().filter(|name| is_in_checkout(name));
        if let Some(further) = here.into_iter().find(|name| !told.installed.contains_key(*name)) {
            return Err(format!("`{further}` is here, and the run did not see it"));
        }
        let mut condition = KnownCondition::EqualTools;
        for (name, content) in &told.installed {
            let directory = self.names.path(name);
            if !directory.exists() {
                condition = KnownCondition::EqualLockFiles;
                continue;
            }
            let saved = SavedDirectory::of(self.store, &directory);
            // This hashes what is not known yet, and saves it.
            let _content = saved.look(LookDepth::EveryStamp, HASHED);
            if content_without_root(InstalledAt { saved: &saved, directory: &directory, root: self.root }) != Some(*content) {
                return Err(format!("`{name}` is not what it ran with"));
            }
        }
        if condition == KnownCondition::EqualLockFiles && !self.has_lock_file {
            return Err("no packages are installed here, and no lock file names those of the run".to_owned());
        }
        self.compare_outside(conditions, told)?;
        Ok(condition)
    }

    /// Compares programs, and the toolchains that they belong to, by content alone: paths are not told to others. What else a run could
    /// see outside of its checkout differs on every machine, which the condition says.
    fn compare_outside(&self, conditions: &RunConditions, told: &ClaimedEnvironment) -> Result<(), String> {
        let outside = conditions.toolchains.iter().filter(|one| !told.installed.contains_key(&one.path));
        let there: BTreeSet<Option<Digest>> = outside.map(|one| one.content).collect();
        let directory = |name: &String| SavedDirectory::of(self.store, &self.names.path(name));
        let look = |name: &String| directory(name).look(LookDepth::Listings, HASHED).digest();
        let here: BTreeMap<Option<Digest>, &String> =
            self.toolchains.iter().filter(|name| !is_in_checkout(name)).map(|name| (look(name), name)).collect();
        if let Some((_, name)) = here.iter().find(|(content, _)| content.is_none() || !there.contains(*content)) {
            return Err(format!("it did not run with `{name}` as it is here"));
        }
        let outside = self.programs.iter().filter(|path| !path.starts_with(self.root));
        let here: BTreeMap<Option<Digest>, &PathBuf> = outside.map(|path| (file_digest(path).ok(), path)).collect();
        if let Some((_, path)) = here.iter().find(|(content, _)| content.is_none_or(|content| !told.programs.contains(&content)))
        {
            return Err(format!("it did not run with `{}` as it is here", path.display()));
        }
        match told.programs.iter().all(|content| here.contains_key(&Some(*content))) {
            true => Ok(()),
            false => Err("it ran with a program that is not here".to_owned()),
        }
    }

    /// Returns on what the likeness of the two environments rests; `None` if they are equal.
    ///
    /// # Errors
    /// What differs, for people.
    pub(super) fn compare(&self, run: &RunThere<'_>) -> Result<Option<KnownCondition>, String> {
        let named: BTreeSet<&str> = run.conditions.toolchains.iter().map(|one| one.path.as_str()).collect();
        if let Some(further) = self.toolchains.iter().find(|name| !named.contains(name.as_str())) {
            return Err(format!("`{further}` is here, and the run did not see it"));
        }
        let there = ToolchainNames::new(run.root, self.ambient);
        let mut lacks_packages = false;
        for one in &run.conditions.toolchains {
            let Some(content) = one.content else { return Err(format!("`{}` was not hashed in the run", one.path)) };
            match is_in_checkout(&one.path) && !self.names.path(&one.path).exists() {
                true => lacks_packages = true,
                false => self.compare_directory(&one.path, content, (&there, run.root))?,
            }
        }
        if lacks_packages && !self.has_lock_file {
            return Err("no packages are installed here, and no lock file names those of the run".to_owned());
        }
        self.compare_programs(run)?;
        Ok(lacks_packages.then_some(KnownCondition::EqualLockFiles))
    }

    /// Compares one directory with what the run names. One of another checkout has to be as the run saw it, too.
    fn compare_directory(&self, name: &str, content: Digest, (there, root): (&ToolchainNames, &Path)) -> Result<(), String> {
        let (here, other) = (self.names.path(name), there.path(name));
        // A toolchain outside of the checkout is one for all of them; a patched file in a checkout must not be missed.
        let depth = if is_in_checkout(name) { LookDepth::EveryStamp } else { LookDepth::Listings };
        let [of_run, saved] = [&other, &here].map(|directory| SavedDirectory::of(self.store, directory));
        if of_run.look(depth, HASHED).digest() != Some(content) {
            return Err(format!("`{name}` is not as the run saw it"));
        }
        if here == other {
            return Ok(());
        }
        // This hashes what is not known yet, and saves it.
        let _content = saved.look(depth, HASHED);
        let sides = [(&saved, &here, self.root), (&of_run, &other, root)];
        let [one, other] = sides.map(|(saved, directory, root)| InstalledAt { saved, directory, root });
        match first_difference(one, other) {
            Some(path) => Err(format!("`{name}` differs: {}", path.display())),
            None => Ok(()),
        }
    }

    /// Compares the programs outside of the checkouts. Those inside belong to the tree or to installed packages.
    fn compare_programs(&self, run: &RunThere<'_>) -> Result<(), String> {
        let used: BTreeMap<&Path, Digest> = programs_outside(run.components, run.root).collect();
        let outside = self.programs.iter().filter(|path| !path.starts_with(self.root));
        if let Some(other) = outside.into_iter().find(|path| !used.contains_key(path.as_path())) {
            return Err(format!("the run did not use `{}`", other.display()));
        }
        match used.iter().find(|(path, content)| file_digest(path).ok() != Some(**content)) {
            Some((path, _)) => Err(format!("`{}` is not as the run used it", path.display())),
            None => Ok(()),
        }
    }
}

/// Returns what is told to others of the environment of a run; `None` if that cannot be told, for example because packages were installed
/// since.
pub(crate) fn told_environment(
    store: &Store,
    (root, ambient): (&Path, &BTreeMap<OsString, OsString>),
    (conditions, components): (&RunConditions, &[EnvironmentComponentV2]),
) -> Option<ClaimedEnvironment> {
    let names = ToolchainNames::new(root, ambient);
    let programs = programs_outside(components, root).map(|(_, content)| content).collect();
    let mut told = ClaimedEnvironment { programs, installed: BTreeMap::new() };
    for one in conditions.toolchains.iter().filter(|one| is_in_checkout(&one.path)) {
        let directory = names.path(&one.path);
        let saved = SavedDirectory::of(store, &directory);
        if saved.look(LookDepth::EveryStamp, HASHED).digest().is_none_or(|content| one.content != Some(content)) {
            return None;
        }
        told.installed
            .insert(one.path.clone(), content_without_root(InstalledAt { saved: &saved, directory: &directory, root })?);
    }
    Some(told)
}

/// Returns whether a toolchain of this name lies in the checkout.
fn is_in_checkout(name: &str) -> bool {
    !name.starts_with(['/', '~'])
}

/// Returns the programs among the parts of a run's environment that lie outside of its checkout, with their contents.
fn programs_outside<'a>(components: &'a [EnvironmentComponentV2], root: &'a Path) -> impl Iterator<Item = (&'a Path, Digest)> {
    // Whole directories are compared apart.
    let files = components.iter().filter(|one| !one.name.ends_with(EVERY_FILE));
    let all = files.map(|one| (Path::new(&one.name), one.sha256));
    all.filter(move |(path, _)| path.is_absolute() && !path.is_dir() && !path.starts_with(root))
}
