//! Finds the program that a command names, and explains why a program cannot be started.
//!
//! The kernel returns the same error number for a missing directory, a missing program and a missing interpreter.
//! People need to know which of these three is missing. Nothing is started here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, eaccess};

use proctor_model::SpawnFailure;

/// How many bytes of a file the kernel reads to find `#!` (`BINPRM_BUF_SIZE`).
const FIRST_LINE_CAP: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidate {
    Executable,
    NotExecutable,
    Missing,
}

/// Finds the absolute path of the program that a command names, as `execvp(3)` would in the child: in the child's `PATH`, or
/// relative to the working directory if the name has a slash.
///
/// A missing working directory is reported first. A script only counts as found if its interpreter exists.
pub fn resolve_program(program: &str, directory: &Path, path_variable: &OsStr) -> Result<PathBuf, SpawnFailure> {
    check_directory(directory)?;
    let found = if program.contains('/') {
        // `.` in the middle of a path is dropped, because people write such paths. `..` stays, because there may be
        // links on the way.
        let path: PathBuf = directory.join(program).components().collect();
        let searched = || path.parent().into_iter().map(to_text).collect();
        match look_at(&path) {
            Candidate::Executable => path,
            Candidate::NotExecutable => return Err(SpawnFailure::NotExecutable { program: program.to_owned() }),
            Candidate::Missing => {
                return Err(SpawnFailure::ProgramNotFound { program: program.to_owned(), searched: searched() });
            }
        }
    } else {
        search(program, directory, path_variable)?
    };
    check_interpreter(&found, directory)?;
    Ok(found)
}

/// Explains why the kernel refused to execute a program, by checking what is missing: the working directory, the
/// program or its interpreter.
pub(super) fn explain_refusal(program: &Path, directory: &Path, error: &io::Error) -> SpawnFailure {
    let looked = check_directory(directory).and_then(|()| match look_at(program) {
        Candidate::Executable => check_interpreter(program, directory),
        Candidate::NotExecutable => Err(SpawnFailure::NotExecutable { program: to_text(program) }),
        Candidate::Missing => Err(SpawnFailure::ProgramNotFound {
            program: to_text(program),
            searched: program.parent().into_iter().map(to_text).collect(),
        }),
    });
    match looked {
        Err(failure) => failure,
        Ok(()) => SpawnFailure::Refused {
            program: to_text(program),
            errno: error.raw_os_error().unwrap_or(0),
            message: error.to_string(),
        },
    }
}

fn search(program: &str, directory: &Path, path_variable: &OsStr) -> Result<PathBuf, SpawnFailure> {
    let mut searched = Vec::new();
    let mut refused = None;
    if !program.is_empty() {
        for entry in std::env::split_paths(path_variable) {
            // An empty entry means the working directory (`execvp(3)`).
            let path = directory.join(entry).join(program);
            match look_at(&path) {
                Candidate::Executable => return Ok(path),
                Candidate::NotExecutable => refused = refused.or_else(|| Some(path.clone())),
                Candidate::Missing => {}
            }
            searched.extend(path.parent().map(to_text));
        }
    }
    match refused {
        Some(path) => Err(SpawnFailure::NotExecutable { program: to_text(&path) }),
        None => Err(SpawnFailure::ProgramNotFound { program: program.to_owned(), searched }),
    }
}

fn check_directory(directory: &Path) -> Result<(), SpawnFailure> {
    if directory.is_dir() { Ok(()) } else { Err(SpawnFailure::DirectoryNotFound { directory: to_text(directory) }) }
}

fn check_interpreter(program: &Path, directory: &Path) -> Result<(), SpawnFailure> {
    let mut first_line = Vec::new();
    // A program that may be executed but not read counts as complete, because its first line cannot be read. The kernel
    // decides when the program is started.
    let Ok(_count) = File::open(program).and_then(|file| file.take(FIRST_LINE_CAP).read_to_end(&mut first_line)) else {
        return Ok(());
    };
    let Some(interpreter) = parse_interpreter(&first_line) else {
        return Ok(());
    };
    match look_at(&directory.join(interpreter)) {
        Candidate::Executable | Candidate::NotExecutable => Ok(()),
        Candidate::Missing => {
            Err(SpawnFailure::InterpreterNotFound { program: to_text(program), interpreter: to_text(interpreter) })
        }
    }
}

/// Returns the interpreter that a file's `#!` line names.
fn parse_interpreter(bytes: &[u8]) -> Option<&Path> {
    let rest = bytes.strip_prefix(b"#!")?;
    let line = rest.split(|byte| matches!(byte, b'\n' | 0)).next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(Path::new(OsStr::from_bytes(word)))
}

fn look_at(path: &Path) -> Candidate {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() && eaccess(path, AccessFlags::X_OK).is_ok() => Candidate::Executable,
        Ok(_) => Candidate::NotExecutable,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Candidate::NotExecutable,
        Err(_) => Candidate::Missing,
    }
}

fn to_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;

    use super::*;

    fn file(directory: &Path, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::File::create_new(&path).and_then(|mut file| io::Write::write_all(&mut file, content.as_bytes())).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        path
    }

    fn root() -> TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[test]
    fn the_first_executable_on_the_path_is_taken_and_relative_entries_start_at_the_directory() {
        let root = root();
        file(root.path(), "one/tool", "", 0o644);
        let second = file(root.path(), "two/tool", "", 0o755);
        file(root.path(), "three/tool", "", 0o755);
        let path = resolve_program("tool", root.path(), OsStr::new("/nowhere:one:two:three"));
        assert_eq!(path, Ok(second));
    }

    #[test]
    fn a_name_with_a_slash_starts_at_the_directory_and_ignores_the_path() {
        let root = root();
        let tool = file(root.path(), "bin/tool", "", 0o755);
        assert_eq!(resolve_program("bin/tool", root.path(), OsStr::new("")), Ok(tool));
    }

    #[test]
    fn a_missing_program_names_what_was_searched() {
        let root = root();
        let failure = resolve_program("tool", root.path(), OsStr::new("/nowhere:bin")).expect_err("nothing is there");
        let bin = to_text(&root.path().join("bin"));
        let searched = vec!["/nowhere".to_owned(), bin];
        assert_eq!(failure, SpawnFailure::ProgramNotFound { program: "tool".to_owned(), searched });
        assert!(matches!(resolve_program("", root.path(), OsStr::new("/bin")), Err(SpawnFailure::ProgramNotFound { .. })));
    }

    #[test]
    fn what_may_not_be_executed_is_said_to_be_there() {
        let root = root();
        let tool = file(root.path(), "bin/tool", "", 0o644);
        let by_path = resolve_program("tool", root.path(), OsStr::new("bin"));
        assert_eq!(by_path, Err(SpawnFailure::NotExecutable { program: to_text(&tool) }));
        let directory = resolve_program("./bin", root.path(), OsStr::new(""));
        assert_eq!(directory, Err(SpawnFailure::NotExecutable { program: "./bin".to_owned() }));
    }

    #[test]
    fn a_missing_directory_is_told_from_a_missing_program() {
        let root = root();
        let gone = root.path().join("gone");
        let failure = resolve_program("tool", &gone, OsStr::new("/bin"));
        assert_eq!(failure, Err(SpawnFailure::DirectoryNotFound { directory: to_text(&gone) }));
        let refusal = explain_refusal(Path::new("/bin/sh"), &gone, &io::Error::from_raw_os_error(2));
        assert_eq!(refusal, SpawnFailure::DirectoryNotFound { directory: to_text(&gone) });
    }

    #[test]
    fn a_script_without_its_interpreter_names_the_interpreter() {
        let root = root();
        let script = file(root.path(), "bin/pytest", "#! /gone/venv/bin/python3 -s\nimport sys\n", 0o755);
        let expected =
            SpawnFailure::InterpreterNotFound { program: to_text(&script), interpreter: "/gone/venv/bin/python3".to_owned() };
        assert_eq!(resolve_program("pytest", root.path(), OsStr::new("bin")), Err(expected.clone()));
        assert_eq!(explain_refusal(&script, root.path(), &io::Error::from_raw_os_error(2)), expected);
        let of_windows = file(root.path(), "bin/lint", "#!/bin/sh\r\nexit 0\r\n", 0o755);
        let named = SpawnFailure::InterpreterNotFound { program: to_text(&of_windows), interpreter: "/bin/sh\r".to_owned() };
        assert_eq!(resolve_program("lint", root.path(), OsStr::new("bin")), Err(named));
        file(root.path(), "bin/whole", "#!/bin/sh\n", 0o755);
        assert!(resolve_program("whole", root.path(), OsStr::new("bin")).is_ok());
    }

    #[test]
    fn anything_else_keeps_the_kernels_words() {
        let root = root();
        let tool = file(root.path(), "tool", "no format the kernel knows", 0o755);
        let refusal = explain_refusal(&tool, root.path(), &io::Error::from_raw_os_error(8));
        assert!(matches!(refusal, SpawnFailure::Refused { errno: 8, .. }), "{refusal:?}");
    }

    #[test]
    fn interpreters_are_found_as_the_kernel_finds_them() {
        let rows: [(&[u8], Option<&str>); 6] = [
            (b"#!/bin/sh\n", Some("/bin/sh")),
            (b"#!  \t/usr/bin/env python3\n", Some("/usr/bin/env")),
            (b"#!/bin/sh", Some("/bin/sh")),
            (b"#!\n/bin/sh", None),
            (b"\x7fELF", None),
            (b"", None),
        ];
        for (bytes, expected) in rows {
            assert_eq!(parse_interpreter(bytes), expected.map(Path::new), "{bytes:?}");
        }
    }
}
