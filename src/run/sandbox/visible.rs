//! What a command is made of: its program, the environment the program lies in, what `PATH` and its like name. It stays visible
//! where it lies in a place that is private or hidden. Reads files; decides nothing about access.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::run::sandbox::SandboxRequest;
use crate::run::sandbox::look::paths_in;
use crate::run::sandbox::rules::VISIBLE_VARIABLES;
use crate::run::surroundings::interpreter_of;

/// A `pyvenv.cfg` is a few lines.
const ENVIRONMENT_FILE_CAP: u64 = 8 * 1024;

/// Returns what an action needs to see, as far as it lies in one of the places `empty` that show nothing of what is there.
pub(super) fn visible_paths(request: &SandboxRequest<'_>, project: &Path, empty: &[PathBuf]) -> Vec<PathBuf> {
    let looking = Looking { empty };
    let mut paths = vec![request.directory.to_owned()];
    looking.program(request.program, &mut paths);
    let interpreter = interpreter_of(request.program).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(interpreter) = interpreter {
        looking.program(&interpreter, &mut paths);
    }
    for name in VISIBLE_VARIABLES {
        paths.extend(paths_in(request.environment, name, Some(request.directory)));
    }
    for directory in paths_in(request.environment, "PATH", Some(request.directory)) {
        paths.push(looking.prefix_of(&directory));
    }
    // Node looks for packages in every directory above.
    if looking.is_in_empty_place(project) {
        paths.extend(project.ancestors().skip(1).map(|directory| directory.join("node_modules")));
    }
    paths.retain(|path| path.canonicalize().is_ok_and(|real| looking.is_in_empty_place(&real)));
    paths
}

struct Looking<'e> {
    empty: &'e [PathBuf],
}

impl Looking<'_> {
    /// Returns whether a path lies in a place that shows nothing of what is there.
    fn is_in_empty_place(&self, path: &Path) -> bool {
        self.empty.iter().any(|empty| path != empty && path.starts_with(empty))
    }

    /// Adds a program: its file, and what it lies in by its name and in truth.
    fn program(&self, program: &Path, paths: &mut Vec<PathBuf>) {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        for path in [program, &real] {
            let Some(directory) = path.parent() else { continue };
            paths.push(self.prefix_of(directory));
            paths.extend(base_of_environment(directory).map(|base| self.prefix_of(&base)));
            paths.extend(path.ancestors().filter(|ancestor| ancestor.ends_with("node_modules")).last().map(Path::to_owned));
        }
        paths.push(real);
    }

    /// Returns the installation a directory of programs belongs to, or the directory itself: `…/bin` of a virtual environment, or
    /// beside a `lib`, is of no use alone.
    fn prefix_of(&self, directory: &Path) -> PathBuf {
        let prefix = || {
            let real = directory.canonicalize().ok()?;
            let prefix = real.parent().filter(|prefix| self.is_in_empty_place(prefix))?;
            let is_one = prefix.join("pyvenv.cfg").exists() || prefix.join("lib").is_dir();
            is_one.then(|| prefix.to_owned())
        };
        prefix().unwrap_or_else(|| directory.to_owned())
    }
}

/// Returns the directory of the interpreter that a virtual environment was made with (`home =` of its `pyvenv.cfg`).
fn base_of_environment(directory: &Path) -> Option<PathBuf> {
    let file = File::open(directory.parent()?.join("pyvenv.cfg")).ok()?;
    let mut text = String::new();
    file.take(ENVIRONMENT_FILE_CAP).read_to_string(&mut text).ok()?;
    let values = text.lines().filter_map(|line| line.split_once('='));
    let home = values.filter(|(key, _)| key.trim() == "home").map(|(_, value)| PathBuf::from(value.trim())).next()?;
    Some(home).filter(|home| home.is_absolute())
}
