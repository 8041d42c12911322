//! By which way a program was found: in an environment, in a toolchain of the user, in the system, or elsewhere. Reads the file system,
//! and starts nothing.

use std::path::{Path, PathBuf};

use crate::toolchain_places::is_of_system;
use proctor_model::ProgramWay;

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

/// Homebrew on Linux, which has a directory of its own.
const HOMEBREW: &str = "/home/linuxbrew/.linuxbrew";

/// The file that marks a virtual environment of Python.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Returns by which way the program at a path was found.
pub(crate) fn way_of(path: &Path, root: &Path, home: Option<&Path>) -> ProgramWay {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(directory) = path.parent().map(real) else { return ProgramWay::Elsewhere };
    let name = |directory: &Path| directory.strip_prefix(real(root)).unwrap_or(directory).display().to_string();
    let environment = directory.parent().filter(|parent| parent.join(VIRTUAL_ENVIRONMENT).is_file());
    if directory.starts_with(real(root)) || environment.is_some() {
        return ProgramWay::Environment { name: name(environment.unwrap_or(&directory)) };
    }
    let managed = MANAGED.iter().filter_map(|(below, kind)| Some((real(&home?.join(below)), *kind)));
    let mut managed = managed.chain([(PathBuf::from(HOMEBREW), "Homebrew")]);
    let paths = [directory.clone(), real(path)];
    if let Some((_, kind)) = managed.find(|(place, _)| paths.iter().any(|path| path.starts_with(place))) {
        return ProgramWay::Toolchain { kind: kind.to_owned() };
    }
    if is_of_system(&directory) { ProgramWay::System } else { ProgramWay::Elsewhere }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes the programs that are found")]
mod tests {
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
