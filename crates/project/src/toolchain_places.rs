//! Finds the installations that programs belong to: an interpreter with its library, the environment that is based on it, and the
//! packages that are installed for it. Reads the file system, and starts nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// The directories of the system. Packages of a distribution change them, and where only root can write them, no file in them is
/// hashed. Where everything runs as root, owner and mode say nothing, and this list decides.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/srv",
    "/var/lib",
    "/var/cache",
    "/run",
];

/// The bits of a mode by which others than the owner can write.
const OTHERS_WRITE: u32 = 0o022;

/// Where users install packages, also below a directory of the system.
const LOCAL: &str = "/usr/local";

/// Returns the directories that programs and their packages are installed in, with links resolved. Directories of the project are left
/// out, and directories that only root can write, but for those of installed packages where everything runs as root.
pub(crate) fn toolchains_of_programs(programs: &[PathBuf], root: &Path, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let of_program = |program: &PathBuf| {
        let loads_packages = loads_packages(program);
        prefixes(program).into_iter().map(move |prefix| (prefix, loads_packages))
    };
    for (prefix, loads_packages) in programs.iter().flat_map(of_program) {
        let holds_more = root.starts_with(&prefix) || home.is_some_and(|home| home.starts_with(&prefix));
        if prefix.starts_with(root) || prefix.parent().is_none() {
            continue;
        }
        // `~/.local` holds much beside programs.
        let is_shared = holds_more || home.is_some_and(|home| prefix == home.join(".local"));
        let is_mixed = is_shared || is_of_system(&prefix);
        if is_mixed && !loads_packages {
            continue;
        }
        if is_mixed {
            found.extend(
                packages_below(&prefix).into_iter().filter(|path| !is_written_by_root_alone(path) || geteuid().is_root()),
            );
        } else {
            found.insert(prefix);
        }
    }
    found
}

/// Returns whether a program is an interpreter that loads installed packages.
fn loads_packages(program: &Path) -> bool {
    let name = program.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    name.is_some_and(|name| name.starts_with("python") || name.starts_with("node"))
}

/// Returns the installations that a program belongs to, before and after its links are resolved, and those that they are based on.
pub(crate) fn prefixes(program: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let paths = [Some(program.to_owned()), program.canonicalize().ok()];
    for directory in paths.iter().flatten().filter_map(|path| path.parent()?.canonicalize().ok()) {
        let base = base_of_environment(&directory).and_then(|base| base.canonicalize().ok());
        for directory in [Some(directory), base].into_iter().flatten() {
            let prefix = directory.parent().filter(|prefix| prefix.join("lib").is_dir() || prefix.join("pyvenv.cfg").is_file());
            found.extend(prefix.map(Path::to_owned));
        }
    }
    found
}

/// Returns the directory of the interpreter on which the virtual environment of a directory of programs is based.
fn base_of_environment(directory: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(directory.parent()?.join("pyvenv.cfg")).ok()?;
    let home = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "home")?;
    Some(PathBuf::from(home.1.trim())).filter(|home| home.is_absolute())
}

/// Returns the directories of installed packages of Python and Node below an installation. Packages below `/usr` itself are the
/// distribution's, like the interpreter there; users install theirs in `/usr/local`.
fn packages_below(prefix: &Path) -> Vec<PathBuf> {
    let library = if prefix == Path::new("/usr") { Path::new(LOCAL) } else { prefix }.join("lib");
    let versions = fs::read_dir(&library).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_python = versions.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python")));
    let mut found = vec![library.join("node_modules")];
    found.extend(of_python.flat_map(|path| [path.join("site-packages"), path.join("dist-packages")]));
    found.retain(|path| path.is_dir());
    found.iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns whether packages of a distribution alone put files into a directory: one below `/usr` that only root can write, and where users
/// install nothing.
pub(crate) fn is_of_distribution(path: &Path) -> bool {
    path.starts_with("/usr") && !path.starts_with(LOCAL) && is_written_by_root_alone(path)
}

/// Returns whether a directory is one of the system, which only root can write.
pub(crate) fn is_of_system(path: &Path) -> bool {
    is_written_by_root_alone(path) && (!geteuid().is_root() || SYSTEM.iter().any(|system| path.starts_with(system)))
}

/// Returns whether only root can change what is at a path: it and every directory above it belong to root.
fn is_written_by_root_alone(path: &Path) -> bool {
    let is_guarded = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.uid() == 0 && it.mode() & OTHERS_WRITE == 0);
    path.ancestors().all(is_guarded)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make the installations they look for")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn installed(prefix: &Path, program: &str) -> PathBuf {
        fs::create_dir_all(prefix.join("bin")).expect("it is ours");
        fs::create_dir_all(prefix.join("lib")).expect("it is ours");
        let program = prefix.join("bin").join(program);
        fs::write(&program, "").expect("it is ours");
        program
    }

    #[test]
    fn the_environment_of_a_program_its_base_and_what_a_link_leads_to_are_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("it is there");
        let python = installed(&top.join("pyenv/3.12"), "python3");
        let environment = top.join("venv");
        fs::create_dir_all(environment.join("bin")).expect("it is ours");
        fs::write(environment.join("pyvenv.cfg"), format!("home = {}\n", top.join("pyenv/3.12/bin").display())).expect("ours");
        symlink(&python, environment.join("bin/python")).expect("it is ours");
        let found = toolchains_of_programs(&[environment.join("bin/python")], &top.join("project"), Some(&top.join("home")));
        assert_eq!(found, [top.join("pyenv/3.12"), environment].into());
    }

    #[test]
    fn the_project_its_parents_the_home_and_the_system_are_no_toolchains() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("it is there");
        let (root, home) = (top.join("project"), top.join("home"));
        let programs = [
            installed(&top, "a"),
            installed(&root.join(".venv"), "b"),
            installed(&home, "c"),
            installed(&home.join(".local"), "python3"),
        ];
        assert_eq!(toolchains_of_programs(&programs, &root, Some(&home)), BTreeSet::new());
        let packages = home.join(".local/lib/python3.12/site-packages");
        fs::create_dir_all(&packages).expect("it is ours");
        assert_eq!(toolchains_of_programs(&programs, &root, Some(&home)), [packages].into());
        assert!(is_of_system(Path::new("/usr")) && !is_of_system(&top));
    }
}
