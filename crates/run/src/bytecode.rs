//! Python bytecode on a snapshot: which compiled modules a check sees, and which modules are compiled after the run.
//!
//! A test can write a compiled module whose stamp, or even whose hash, fits the source. So later runs use no compiled
//! module that a check wrote. Only the names of the written files are used: they tell which modules are worth compiling.
//! `compile_modules` compiles these modules from the sources in the tree's copy. Tests that pytest rewrites (their `assert`
//! statements then say what differs) are rewritten there in the same way, by the pytest of the check.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::check_caches::stamp_environments;
use proctor_evidence::Store;
use proctor_model::{ActionId, Digest, EntryKind, IdentityWriter, ProjectId, TreePath};
use proctor_project::{KeptBytecode, ModulesToCompile, PythonInterpreter, SnapshotBase};
use proctor_sandbox::process::{LaunchedChild, WrittenChange, WrittenEntry};
use proctor_sandbox::snapshot::{ModuleCompiler, PythonModule};
use proctor_tools::{
    PYTEST_CODE, PYTEST_REWRITER, PYTEST_SETTINGS_FILES, command_may_rewrite_otherwise, settings_may_rewrite_otherwise,
};

/// The interpreter of an action, and the pytest that it runs, if one is installed there.
#[derive(Debug, Clone)]
struct CompilersOfAction {
    python: PythonInterpreter,
    pytest: Option<PythonInterpreter>,
}

/// An action that may run Python, as it is about to be started.
pub(crate) struct PythonAction<'a> {
    pub(crate) project: &'a ProjectId,
    pub(crate) root: &'a Path,
    pub(crate) action: &'a ActionId,
    pub(crate) child: &'a LaunchedChild,
}

/// The compiled modules that the checks of one run see, and those that they wrote themselves.
#[derive(Debug, Default)]
pub(crate) struct RunBytecode {
    compilers: BTreeMap<ActionId, CompilersOfAction>,
    /// For each interpreter, and for each pytest, the directory to mount; `None` if it has no compiled modules.
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
        let Some(compilers) = self.compilers.get(action) else { return };
        let files = entries.iter().filter(|entry| matches!(entry.change, WrittenChange::WroteFile { .. }));
        for (module, compiler) in files.filter_map(|entry| PythonModule::compiled_to(&entry.path)) {
            let entry = base.tree.lookup(&module.source);
            let is_in_tree = entry.is_some_and(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable));
            let by = match compiler {
                ModuleCompiler::Python => Some(&compilers.python),
                ModuleCompiler::Pytest => compilers.pytest.as_ref(),
            };
            if let Some(by) = by.filter(|_| is_in_tree) {
                self.written.entry(by.clone()).or_default().insert(module);
            }
        }
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

/// Returns the directories of compiled modules that lie over the tree's copy for an action: those of its interpreter,
/// and those of the pytest that this interpreter runs. There are none if the action is not known to run Python, if
/// nothing was compiled, or if the compiled modules cannot be updated. The run holds the project's lock.
pub(crate) fn bytecode_for(
    store: &Store,
    bytecode: &mut KeptBytecode,
    run: &mut RunBytecode,
    base: &SnapshotBase,
    started: &PythonAction<'_>,
) -> Vec<PathBuf> {
    let PythonAction { project, root, action, child } = *started;
    let environment: BTreeMap<OsString, OsString> = child.environment.iter().cloned().collect();
    let Some(python) = PythonInterpreter::of(&child.program, root, &child.directory, &environment) else {
        return Vec::new();
    };
    let pytest = settings_of_pytest(root, base, child)
        .and_then(|state| python.with_pytest(PYTEST_REWRITER, PYTEST_CODE, &state, stamp_environments));
    let compilers = CompilersOfAction { python, pytest };
    run.compilers.insert(action.clone(), compilers.clone());
    let all = [Some(compilers.python), compilers.pytest].into_iter().flatten();
    all.filter_map(|compiler| compiled_by(store, bytecode, project, run, base, compiler)).collect()
}

/// Returns the directory of the modules that an interpreter or a pytest compiled, updated to the run's tree; `None` if
/// there are none, or if they cannot be updated.
fn compiled_by(
    store: &Store,
    bytecode: &mut KeptBytecode,
    project: &ProjectId,
    run: &mut RunBytecode,
    base: &SnapshotBase,
    compiler: PythonInterpreter,
) -> Option<PathBuf> {
    let mounted = run.layers.entry(compiler).or_insert_with_key(|interpreter| {
        // The layer is updated to the tree once in a run, because it must not change while another check has it
        // mounted.
        match bytecode.layer(store, project, interpreter).bring_up_to(&base.tree) {
            Ok(directory) => directory,
            Err(error) => {
                tracing::warn!("compiled Python modules are not used: {error}");
                None
            }
        }
    });
    mounted.clone()
}

/// Returns the state of what decides how pytest rewrites the tests of an action, besides pytest itself; `None` if its
/// rewritten tests must not be kept.
fn settings_of_pytest(root: &Path, base: &SnapshotBase, child: &LaunchedChild) -> Option<Digest> {
    let variables = child.environment.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    if command_may_rewrite_otherwise(child.argv.iter().map(|word| word.as_bytes()), variables) {
        return None;
    }
    // pytest begins its search at the paths that it is given, `tests/test_a.py::test_b` for example.
    let paths = child.argv.iter().filter_map(|word| word.as_bytes().split(|byte| *byte == b':').next());
    let paths = paths.map(|path| child.directory.join(OsStr::from_bytes(path))).chain([child.directory.clone()]);
    let directories: BTreeSet<TreePath> = paths
        .flat_map(|path| path.ancestors().filter_map(|around| TreePath::below(root, around).ok()).collect::<Vec<_>>())
        .chain([TreePath::default()])
        .collect();
    let mut state = IdentityWriter::new("proctor-rewriting-settings-v1");
    for path in directories.iter().flat_map(|around| PYTEST_SETTINGS_FILES.iter().map(|name| around.join(name))) {
        let Some(digest) = base.tree.lookup(&path).and_then(|entry| entry.digest) else { continue };
        if settings_may_rewrite_otherwise(&std::fs::read(base.copies.last()?.join(path.as_path())).ok()?) {
            return None;
        }
        state = state.part("path", path.as_bytes()).part("digest", digest.hex().as_bytes());
    }
    Some(state.digest())
}
