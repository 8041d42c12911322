//! Python bytecode of actions that work in the project itself: none of an earlier save is run.
//!
//! Python takes a compiled module for current if the source has the same time in whole seconds and the same size. So after
//! two saves within one second it could run the module of the first save. Where a source was changed after its compiled module was made
//! and Python would not notice, `PYTHONPYCACHEPREFIX` leads to a directory below the attempt's output directory, which is empty when the
//! attempt starts and is removed with the run. Elsewhere the compiled modules are used, because compiling all of them again, those of
//! installed packages too, takes longer than many checks. On a snapshot, `bytecode` decides which compiled modules a check sees.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proctor_model::{Action, ActionPhase, PlanNote};
use proctor_sandbox::ChildEnvironment;

const VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// The directory of compiled modules, below the attempt's output directory. Python makes it when it needs it.
const DIRECTORY: &str = "python-bytecode";

/// The directory in which Python keeps compiled modules, beside their sources.
const COMPILED: &str = "__pycache__";
/// Directories without sources of the project.
const PASSED_OVER: &[&str] = &[".git", ".hg", ".jj", ".svn", "node_modules"];
/// More entries than this are not looked at: then what is compiled counts as doubtful.
const MOST_ENTRIES: usize = 200_000;

/// The file in the top directory of every virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Keeps the compiled modules of a run's actions apart where that is needed. Whether it is, is asked once, before the first action that could
/// run an old one.
#[derive(Debug, Default)]
pub(super) struct BytecodeInPlace {
    is_needed: OnceCell<bool>,
}

impl BytecodeInPlace {
    /// Gives an action that works in the project at `root` a directory of its own if Python would run a module of an earlier save there.
    pub(super) fn keep_apart(&self, environment: &mut ChildEnvironment, action: &Action, root: &Path, output: &Path) {
        // Without an output directory the variables are only compared.
        let is_started = !output.as_os_str().is_empty() && may_run_old_bytecode(action);
        if is_started && *self.is_needed.get_or_init(|| has_doubtful_bytecode(root)) {
            keep_bytecode_apart(environment, output);
        }
    }
}

/// Returns whether the project has a compiled module that Python would run although its source was changed after the module was made.
/// What cannot be read counts as one.
fn has_doubtful_bytecode(root: &Path) -> bool {
    let mut left = MOST_ENTRIES;
    looks_doubtful(root, &mut left)
}

fn looks_doubtful(directory: &Path, left: &mut usize) -> bool {
    // A directory that cannot be read cannot be imported from either.
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return true;
        }
        let name = entry.file_name();
        if name == VIRTUAL_ENVIRONMENT {
            return false;
        }
        if !PASSED_OVER.iter().any(|passed| name == *passed) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push(entry);
        }
    }
    below.iter().any(|entry| match entry.file_name() == COMPILED {
        true => fs::read_dir(entry.path()).is_ok_and(|compiled| compiled.flatten().any(|one| is_doubtful(directory, &one))),
        false => looks_doubtful(&entry.path(), left),
    })
}

/// Returns whether Python would run this compiled module, and its source in `directory` was changed after it was made.
fn is_doubtful(directory: &Path, compiled: &DirEntry) -> bool {
    let name = compiled.file_name();
    let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".pyc")?.split('.').next()) else { return false };
    // Without a source, Python runs no module of this directory.
    let Ok(source) = fs::metadata(directory.join(format!("{stem}.py"))) else { return false };
    let Ok(made) = compiled.metadata() else { return false };
    let changed = (source.ctime(), source.ctime_nsec());
    let made = (made.mtime(), made.mtime_nsec()).min((made.ctime(), made.ctime_nsec()));
    if changed < made {
        return false;
    }
    let mut header = [0; 16];
    if File::open(compiled.path()).and_then(|mut file| file.read_exact(&mut header)).is_err() {
        return true;
    }
    // A module goes by the time and the size of its source, of which 32 bits are kept, or by a hash that is compared (3) or not (1).
    match header[4..8] {
        [0, 0, 0, 0] => header[8..12] == source.mtime().to_le_bytes()[..4] && header[12..] == source.size().to_le_bytes()[..4],
        [3, 0, 0, 0] => false,
        _ => true,
    }
}

/// Returns whether an action that works in the project may run bytecode of earlier runs if nobody prevents it. A prerequisite
/// that is no service does not count: it may install packages, and their compiled modules belong beside them.
fn may_run_old_bytecode(action: &Action) -> bool {
    match action.phase {
        ActionPhase::Step | ActionPhase::Cleanup => true,
        ActionPhase::Prerequisite => action.service.is_some(),
    }
}

/// Gives an action that works in the project a directory of its own for bytecode. A value of the project or the user is kept;
/// an empty value counts as none, as it does for Python.
fn keep_bytecode_apart(environment: &mut ChildEnvironment, output: &Path) {
    let is_set = environment.variables.get(OsStr::new(VARIABLE)).is_some_and(|value| !value.is_empty());
    if !is_set {
        environment.set_own(VARIABLE, output.join(DIRECTORY));
    }
}

/// Returns a note if somebody else set where an action that worked in the project has its bytecode.
pub(super) fn note_of_foreign_bytecode(action: &Action, environment: &ChildEnvironment, output: &Path) -> Option<PlanNote> {
    let value = environment.variables.get(OsStr::new(VARIABLE)).filter(|value| !value.is_empty())?;
    if !may_run_old_bytecode(action) || Path::new(value) == output.join(DIRECTORY) {
        return None;
    }
    let message = format!(
        "`{VARIABLE}` is set, so this check, which works in the project itself, may run Python modules that an earlier run compiled: \
         Python does not tell two saves of the same size within one second apart. Without the variable, proctor gives each check an \
         empty directory"
    );
    Some(PlanNote { subject: action.name.clone(), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing::generic_action as action;
    use proctor_sandbox::EnvironmentAdditions;

    fn environment(value: Option<&str>) -> ChildEnvironment {
        let ambient = value.map(|value| (VARIABLE.into(), value.into())).into_iter().collect();
        let settings = EnvironmentAdditions { pass: vec![VARIABLE.to_owned()], ..EnvironmentAdditions::default() };
        ChildEnvironment::build(&ambient, &settings, &action(ActionPhase::Step), Path::new("/out"))
    }

    #[test]
    fn each_attempt_has_an_empty_directory_of_its_own_unless_somebody_set_one() {
        let check = action(ActionPhase::Step);
        let out = Path::new("/out");
        for value in [None, Some("")] {
            let mut environment = environment(value);
            keep_bytecode_apart(&mut environment, out);
            assert_eq!(environment.as_text()[VARIABLE], "/out/python-bytecode");
            assert_eq!(note_of_foreign_bytecode(&check, &environment, out), None);
        }
        let mut environment = environment(Some("/mine"));
        keep_bytecode_apart(&mut environment, out);
        assert_eq!(environment.as_text()[VARIABLE], "/mine");
        let note = note_of_foreign_bytecode(&check, &environment, out).expect("a note");
        assert!(note.message.starts_with("`PYTHONPYCACHEPREFIX` is set"), "{}", note.message);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes a project with compiled modules")]
    fn a_compiled_module_is_doubtful_if_its_source_changed_and_python_would_not_notice() {
        let project = tempfile::tempdir().expect("a directory");
        let root = project.path();
        let place = root.join("pkg/__pycache__/m.cpython-311.pyc");
        fs::create_dir_all(root.join("pkg/__pycache__")).expect("it is ours");
        let save = |text: &str| fs::write(root.join("pkg/m.py"), text).expect("it is ours");
        let compile = |flags: u8, seconds_off: i64| {
            let source = fs::metadata(root.join("pkg/m.py")).expect("it is there");
            let words = [[0, 1, 2, 3], [flags, 0, 0, 0]].concat();
            let time = (source.mtime() + seconds_off).to_le_bytes();
            let header = [&words[..], &time[..4], &source.size().to_le_bytes()[..4], b"code"].concat();
            fs::write(&place, header).expect("it is ours");
        };
        save("x = 1");
        assert!(!has_doubtful_bytecode(root), "nothing is compiled");
        let compiled_long_ago = |flags: u8, seconds_off: i64| {
            compile(flags, seconds_off);
            let file = File::options().write(true).open(&place).expect("it is there");
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("it is ours");
        };
        // Python notices another time, and a hash that is compared.
        for (flags, seconds_off, expected) in [(0, 0, true), (0, -1, false), (3, 0, false), (1, 0, true)] {
            compiled_long_ago(flags, seconds_off);
            assert_eq!(has_doubtful_bytecode(root), expected, "{flags} {seconds_off}");
        }
        compiled_long_ago(0, 0);
        let file = File::options().write(true).open(&place).expect("it is there");
        file.set_len(5).and_then(|()| file.set_modified(std::time::SystemTime::UNIX_EPOCH)).expect("it is ours");
        assert!(has_doubtful_bytecode(root), "what cannot be read is doubtful");
        fs::remove_file(root.join("pkg/m.py")).expect("it is there");
        assert!(!has_doubtful_bytecode(root), "without a source nothing of it is run");
    }

    #[test]
    fn what_a_prerequisite_installs_keeps_its_bytecode_beside_it() {
        let of = |phase| may_run_old_bytecode(&action(phase));
        assert!(of(ActionPhase::Step) && of(ActionPhase::Cleanup) && !of(ActionPhase::Prerequisite));
    }
}
