//! Reads the versions of known tools from the records of installed packages. No tool is started to ask for its version:
//! outside an action's isolation the tool could run the project's own code.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use proctor_evidence::open_regular_file;
use proctor_model::{InstalledPackage, Tool};

/// The most bytes of a tool's `package.json` that are read. If the file is longer, the tool's version is not found.
const MANIFEST_CAP: u64 = 1024 * 1024;

/// The directories of a project's own Python environments.
const VIRTUAL_ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// Where a tool's program is, and where else its package may be installed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolPlace<'a> {
    /// The program's path with links not resolved: programs in a virtual environment are links, and their path names
    /// the environment.
    pub(crate) program: &'a Path,
    /// The directory in which the program is started.
    pub(crate) directory: &'a Path,
    /// The project's root. Directories above it do not belong to the project.
    pub(crate) root: &'a Path,
    /// The user's home directory, which may contain packages that the user installed for all projects.
    pub(crate) home: Option<&'a Path>,
}

/// Reads the version of a tool; `None` if the tool has no known package, or no record of the package is found.
pub(crate) fn read_tool_version(tool: Tool, place: &ToolPlace<'_>) -> Option<String> {
    match tool.package()? {
        InstalledPackage::Python(name) => python_package(name, place),
        InstalledPackage::Node(name) => node_package(name, place),
    }
}

/// Returns the version of the package that contains the program. If the program is in no such package (it is `npx`, for
/// example), returns the version of the nearest installed package, as `npx` searches it.
fn node_package(name: &str, place: &ToolPlace<'_>) -> Option<String> {
    let real = place.program.canonicalize().ok()?;
    let own = real.ancestors().skip(1).take(4).find_map(|directory| node_version(&directory.join("package.json"), name));
    own.or_else(|| {
        up_to_root(place)
            .find_map(|directory| node_version(&directory.join("node_modules").join(name).join("package.json"), name))
    })
}

fn node_version(manifest: &Path, name: &str) -> Option<String> {
    let mut text = String::new();
    open_regular_file(manifest).ok()?.take(MANIFEST_CAP).read_to_string(&mut text).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    (manifest["name"] == name).then(|| manifest["version"].as_str().map(str::to_owned))?
}

/// Returns the version from the packages of the interpreter that `place.program` belongs to. If the program is no part
/// of an interpreter (it is a manager such as `uv`), returns the version from the project's virtual environment.
fn python_package(name: &str, place: &ToolPlace<'_>) -> Option<String> {
    let file_name = place.program.file_name()?.to_str()?;
    let beside = Tool::ALL.into_iter().flat_map(|tool| tool.beside_python().iter().copied());
    let is_interpreter = beside.chain(["python"]).any(|start| file_name.starts_with(start));
    if !is_interpreter {
        let environments =
            up_to_root(place).flat_map(|directory| VIRTUAL_ENVIRONMENTS.iter().map(move |name| directory.join(name)));
        return environments
            .flat_map(|environment| libraries(&environment, "site-packages"))
            .find_map(|library| python_version(&library, name));
    }
    let prefix = place.program.parent()?.parent()?;
    let mut places = libraries(prefix, "site-packages");
    if !prefix.join("pyvenv.cfg").exists() {
        // Outside a virtual environment, packages of the user have precedence over those of the system (Python's module
        // `site`). Debian stores its packages in `dist-packages`.
        let own = place.home.map(|home| libraries(&home.join(".local"), "site-packages")).unwrap_or_default();
        places = [own, libraries(Path::new("/usr/local"), "dist-packages"), libraries(prefix, "dist-packages"), places].concat();
    }
    let real = place.program.canonicalize().ok()?;
    // For the program `python3.11` only `lib/python3.11` and Debian's `lib/python3` count. If the program's name does
    // not tell Python's version (`pytest`), all package directories count.
    let wanted = real.file_name()?.to_str().filter(|name| name.starts_with("python3.")).map(str::to_owned);
    let is_of_it = |library: &&PathBuf| {
        let version = library.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        wanted.is_none() || version == Some("python3") || version == wanted.as_deref()
    };
    places.iter().filter(is_of_it).find_map(|library| python_version(library, name))
}

/// Returns the package directories below a prefix, sorted.
fn libraries(prefix: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let versions = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join(kind)).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn python_version(library: &Path, name: &str) -> Option<String> {
    let entries = fs::read_dir(library).ok()?.flatten();
    entries.into_iter().find_map(|entry| parse_record_name(entry.file_name().to_str()?, name))
}

/// Returns the version from the name of a package's record: `pytest-7.2.1.dist-info`.
fn parse_record_name(record: &str, package: &str) -> Option<String> {
    let rest = record.strip_prefix(package)?.strip_prefix('-')?;
    let version = rest.strip_suffix(".dist-info").or_else(|| rest.strip_suffix(".egg-info"))?;
    // In the names of old records the version of Python follows (`pytest-4.6.11-py3.11.egg-info`).
    Some(version.split('-').next().unwrap_or(version).to_owned())
}

fn up_to_root<'a>(place: &ToolPlace<'a>) -> impl Iterator<Item = &'a Path> {
    let root = place.root;
    place.directory.ancestors().take_while(move |directory| directory.starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn version(tool: Tool, root: &Path, program: &str, home: Option<&Path>) -> Option<String> {
        let project = root.join("project");
        let place = ToolPlace { program: &root.join(program), directory: &project.join("web"), root: &project, home };
        read_tool_version(tool, &place)
    }

    #[test]
    fn node_tools_are_found_by_the_package_they_lie_in_or_the_nearest_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        file(root, "project/web/node_modules/typescript/package.json", r#"{"name": "typescript", "version": "5.4.5"}"#);
        file(root, "project/web/node_modules/typescript/bin/tsc", "");
        file(root, "global/eslint/package.json", r#"{"name": "eslint", "version": "9.1.0"}"#);
        file(root, "global/eslint/bin/eslint.js", "");
        file(root, "project/node_modules/eslint/package.json", r#"{"name": "eslint", "version": "8.57.0"}"#);
        file(root, "node_modules/typescript/package.json", r#"{"name": "typescript", "version": "1.0.0"}"#);
        file(root, "bin/npx", "");
        fs::create_dir_all(root.join("project/web/node_modules/.bin")).unwrap();
        std::os::unix::fs::symlink("../typescript/bin/tsc", root.join("project/web/node_modules/.bin/tsc")).unwrap();
        let seen = |tool, program| version(tool, root, program, None);
        assert_eq!(seen(Tool::Tsc, "project/web/node_modules/.bin/tsc").as_deref(), Some("5.4.5"));
        assert_eq!(seen(Tool::Tsc, "bin/npx").as_deref(), Some("5.4.5"));
        assert_eq!(seen(Tool::Eslint, "bin/npx").as_deref(), Some("8.57.0"), "an ancestor's, as npx looks for it");
        assert_eq!(seen(Tool::Eslint, "global/eslint/bin/eslint.js").as_deref(), Some("9.1.0"));
        assert_eq!(seen(Tool::Generic, "bin/npx"), None);
        fs::remove_dir_all(root.join("project/web/node_modules")).unwrap();
        assert_eq!(seen(Tool::Tsc, "bin/npx"), None, "what lies above the root is not the project's");
    }

    #[test]
    fn pytest_is_found_in_the_environment_of_its_interpreter() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        file(root, "usr/bin/python3.11", "");
        file(root, "usr/lib/python3/dist-packages/pytest-7.2.1.egg-info", "");
        file(root, "home/.local/lib/python3.12/site-packages/pytest-6.0.0.dist-info/RECORD", "");
        file(root, "project/.venv/pyvenv.cfg", "");
        file(root, "project/.venv/lib/python3.11/site-packages/pytest-9.0.2.dist-info/RECORD", "");
        file(root, "project/.venv/lib/python3.11/site-packages/pytest_cov-1.0.0.dist-info/RECORD", "");
        fs::create_dir_all(root.join("project/.venv/bin")).unwrap();
        std::os::unix::fs::symlink(root.join("usr/bin/python3.11"), root.join("project/.venv/bin/python")).unwrap();
        file(root, "bin/uv", "");
        let home = root.join("home");
        let seen = |program| version(Tool::Pytest, root, program, Some(&home));
        assert_eq!(seen("project/.venv/bin/python").as_deref(), Some("9.0.2"));
        assert_eq!(seen("bin/uv").as_deref(), Some("9.0.2"), "a manager takes the project's environment");
        assert_eq!(seen("usr/bin/python3.11").as_deref(), Some("7.2.1"), "another Python's packages do not count");
        file(root, "home/.local/lib/python3.11/site-packages/pytest-8.0.0.dist-info/RECORD", "");
        assert_eq!(seen("usr/bin/python3.11").as_deref(), Some("8.0.0"), "the user's come first");
    }

    #[test]
    fn names_of_records_are_read_and_other_packages_are_not_taken_for_it() {
        assert_eq!(parse_record_name("pytest-7.2.1.dist-info", "pytest").as_deref(), Some("7.2.1"));
        assert_eq!(parse_record_name("pytest-4.6.11-py3.11.egg-info", "pytest").as_deref(), Some("4.6.11"));
        for other in ["pytest_cov-4.0.0.dist-info", "pytest", "pytest-7.2.1"] {
            assert_eq!(parse_record_name(other, "pytest"), None, "{other}");
        }
    }
}
