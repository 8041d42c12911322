//! Compares the environment of a run with the one that a run here would have: toolchains, installed packages, programs. Reads files and
//! starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment_digest::{
    EVERY_FILE, InstalledAt, LookDepth, SavedDirectory, file_digest, first_difference, has_lock_file, paths_of_programs,
    program_file,
};
use crate::toolchains::{SeenByChecks, ToolchainNames, toolchains};
use proctor_evidence::Store;
use proctor_evidence::report::EnvironmentComponentV2;
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
            let is_in_checkout = !one.path.starts_with(['/', '~']);
            match is_in_checkout && !self.names.path(&one.path).exists() {
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
        let depth = if name.starts_with(['/', '~']) { LookDepth::Listings } else { LookDepth::EveryStamp };
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
        let is_program = |path: &Path| path.is_absolute() && !path.is_dir() && !path.starts_with(run.root);
        // Whole directories are compared before.
        let files = run.components.iter().filter(|one| !one.name.ends_with(EVERY_FILE));
        let used: BTreeMap<&Path, Digest> =
            files.map(|one| (Path::new(&one.name), one.sha256)).filter(|(path, _)| is_program(path)).collect();
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
