//! Python bytecode on a snapshot: which compiled modules a check sees, and which modules are compiled after the run.
//!
//! A test can write a compiled module whose stamp, or even whose hash, fits the source. So later runs use no compiled
//! module that a check wrote. Only the names of the written files are used: they tell which modules are worth compiling.
//! `compile_modules` compiles these modules from the sources in the tree's copy.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::SandboxSettings;
use crate::model::{ActionId, EntryKind, ProjectId};
use crate::process::{LaunchedChild, WrittenChange, WrittenEntry};
use crate::project::{ModulesToCompile, PythonInterpreter, SnapshotBase, Workspace};
use crate::snapshot::PythonModule;

/// The compiled modules that the checks of one run see, and those that they wrote themselves.
#[derive(Debug, Default)]
pub(crate) struct RunBytecode {
    interpreters: BTreeMap<ActionId, PythonInterpreter>,
    /// For each interpreter the directory to mount; `None` if it has no compiled modules.
    layers: BTreeMap<PythonInterpreter, Option<PathBuf>>,
    written: BTreeMap<PythonInterpreter, BTreeSet<PythonModule>>,
}

impl RunBytecode {
    /// Forgets the layers of compiled modules that were updated to the run's tree, because the run goes on with another
    /// tree.
    pub(crate) fn begin_again(&mut self) {
        self.layers.clear();
        self.written.clear();
    }

    /// Notes the names of the modules that an action compiled; the compiled files are not used. A name counts only if the
    /// tree has the module's source.
    pub(crate) fn note_written(&mut self, action: &ActionId, base: &SnapshotBase, entries: &[WrittenEntry]) {
        let Some(interpreter) = self.interpreters.get(action) else { return };
        let files = entries.iter().filter(|entry| matches!(entry.change, WrittenChange::WroteFile { .. }));
        let modules = files.filter_map(|entry| PythonModule::compiled_to(&entry.path));
        let is_in_tree = |module: &PythonModule| {
            let entry = base.tree.lookup(&module.source);
            entry.is_some_and(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable))
        };
        self.written.entry(interpreter.clone()).or_default().extend(modules.filter(is_in_tree));
    }

    /// Returns the modules that are worth compiling after the run; `None` if the checks compiled nothing.
    pub(crate) fn to_compile(&self, project: &ProjectId, base: &SnapshotBase, root: &Path) -> Option<ModulesToCompile> {
        let modules: BTreeMap<_, _> = self
            .written
            .iter()
            .filter(|(_, modules)| !modules.is_empty())
            .map(|(by, modules)| (by.clone(), modules.clone()))
            .collect();
        let copy = base.copies.last().filter(|_| !modules.is_empty())?.clone();
        Some(ModulesToCompile { project: project.clone(), root: root.to_owned(), tree: (base.tree.clone(), copy), modules })
    }
}

impl Workspace {
    /// Returns the directory of compiled modules that lies over the tree's copy for an action; `None` if the action is
    /// not known to run Python, if nothing was compiled for its interpreter, or if the compiled modules cannot be
    /// updated. The run holds the project's lock.
    pub(crate) fn bytecode_for(
        &mut self,
        (project, root, settings): (&ProjectId, &Path, &SandboxSettings),
        (run, base): (&mut RunBytecode, &SnapshotBase),
        (action, child): (&ActionId, &LaunchedChild),
    ) -> Option<PathBuf> {
        if !uses_kept_bytecode(settings) {
            return None;
        }
        let environment: BTreeMap<OsString, OsString> = child.environment.iter().cloned().collect();
        let interpreter = PythonInterpreter::of(&child.program, root, &child.directory, &environment)?;
        run.interpreters.insert(action.clone(), interpreter.clone());
        let known = run.layers.entry(interpreter);
        let mounted = known.or_insert_with_key(|interpreter| {
            // The layer is updated to the tree once in a run, because it must not change while another check has it
            // mounted.
            match self.bytecode.layer(&self.store, project, interpreter).bring_up_to(&base.tree) {
                Ok(directory) => directory,
                Err(error) => {
                    tracing::warn!("compiled Python modules are not used: {error}");
                    None
                }
            }
        });
        mounted.clone()
    }
}

/// Returns whether the checks of a run may see modules that proctor compiled after earlier runs. No setting forbids
/// that, so the result is always true.
fn uses_kept_bytecode(_settings: &SandboxSettings) -> bool {
    true
}
