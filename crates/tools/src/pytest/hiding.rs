//! Finds a file of the project that Python imports in place of the real pytest, or of a module that pytest imports before it runs
//! tests.
//!
//! `python -m pytest` searches the working directory first, and the directories of `PYTHONPATH` come before the standard library and
//! the installed packages for every form of the command. A `pytest.py` or `argparse.py` there prints and writes whatever it likes, so
//! nothing of the run is pytest's.

use std::path::{Component, Path, PathBuf};

use crate::launchers::locate;
use crate::recognise::CommandForm;
use proctor_model::{Action, CategoryCode, Interpretation, Tool};

/// The modules without which pytest does not start: its own, and those that it imports before it runs tests. Measured with
/// `python -X importtime -m pytest` (Python 3.11, pytest 9.2): with an empty file in place of one of them, no test runs, so no honest
/// project has such a file. Modules that Python itself imports earlier, or that are frozen in it, are not hidden by a file.
const NEEDED: &str = "\
    pytest _pytest pluggy iniconfig exceptiongroup tomli tomllib py argparse ast base64 bisect collections contextlib copy \
    copyreg dataclasses datetime decimal dis email enum fnmatch functools gettext glob heapq importlib inspect keyword \
    locale logging math numbers opcode operator pathlib platform pprint quopri random re reprlib select selectors shutil \
    string struct subprocess tempfile textwrap threading token traceback types typing unicodedata unittest urllib warnings \
    weakref xml zlib";

/// The modules that pytest imports before it runs tests and does without if the file in their place is a harmless one, and those that
/// only some versions import. An honest project may have a file of such a name.
const IMPORTED: &str = "\
    array bdb bz2 calendar cmd code codeop csv difflib fcntl hashlib html ipaddress json linecache lzma packaging pdb \
    pygments readline shlex signal socket tokenize uuid zipfile";

/// A module of the project that Python imports in place of one that pytest needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HidingModule {
    path: PathBuf,
    kind: HiddenModule,
}

/// What the module of the project hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenModule {
    /// A module of [`NEEDED`].
    Needed,
    /// A module of [`IMPORTED`].
    Imported,
}

/// Returns a module of the project that hides the real pytest, or a module that pytest imports, from an action's command.
/// `directory` is the absolute directory in which the command runs, and `names` returns the names in a directory.
pub fn hiding_module(
    action: &Action,
    root: &Path,
    directory: &Path,
    names: &dyn Fn(&Path) -> Vec<String>,
) -> Option<HidingModule> {
    if action.tool != Tool::Pytest {
        return None;
    }
    let find = |modules: &str| find_module(modules, action, (root, directory), names);
    let needed = find(NEEDED).map(|path| HidingModule { path, kind: HiddenModule::Needed });
    needed.or_else(|| find(IMPORTED).map(|path| HidingModule { path, kind: HiddenModule::Imported }))
}

fn find_module(
    modules: &str,
    action: &Action,
    (root, directory): (&Path, &Path),
    names: &dyn Fn(&Path) -> Vec<String>,
) -> Option<PathBuf> {
    let from_path = action.environment.get("PYTHONPATH").map(|path| path.split(':').map(|entry| directory.join(entry)));
    let first = searches_directory_first(action).then(|| directory.to_owned());
    let inside = |path: &PathBuf| path.starts_with(root);
    first.into_iter().chain(from_path.into_iter().flatten()).map(|path| without_dots(&path)).filter(inside).find_map(|place| {
        let found = names(&place);
        // A directory into which pip installed pytest has the record of that package. Its pytest is the real one.
        let is_installed = |name: &String| {
            let name = name.to_ascii_lowercase();
            name.starts_with("pytest-") && (name.ends_with(".dist-info") || name.ends_with(".egg-info"))
        };
        if found.iter().any(is_installed) {
            return None;
        }
        modules.split(' ').find_map(|module| {
            let file = format!("{module}.py");
            let package = place.join(module).join("__init__.py");
            let has_package =
                || found.iter().any(|name| name == module) && names(&place.join(module)).iter().any(|name| name == "__init__.py");
            if found.contains(&file) { Some(place.join(file)) } else { has_package().then_some(package) }
        })
    })
}

/// Returns a contradiction instead of a pass if a module of the project hid the real pytest, or a module without which pytest does
/// not start.
pub fn judge_hidden(interpretation: Interpretation, root: &Path, hiding: Option<&HidingModule>) -> Interpretation {
    let is_pass = interpretation.category == CategoryCode::TestsPassed;
    let Some(hiding) = hiding.filter(|hiding| is_pass && hiding.kind == HiddenModule::Needed) else { return interpretation };
    let reason = format!(
        "The report says that tests passed ({}), but `{}` of the project hides the real pytest or a module that pytest needs, so the \
         report is not pytest's; rename it",
        interpretation.reason,
        hiding.shown(root)
    );
    Interpretation {
        category: CategoryCode::Inconsistent,
        reason,
        error_type: Some("PYTEST_HIDDEN".to_owned()),
        ..interpretation
    }
}

impl HidingModule {
    fn shown<'a>(&'a self, root: &Path) -> std::path::Display<'a> {
        self.path.strip_prefix(root).unwrap_or(&self.path).display()
    }

    /// Returns the note about a module that pytest imports and does without; `None` if the module takes the pass back.
    pub fn note(&self, root: &Path) -> Option<String> {
        (self.kind == HiddenModule::Imported).then(|| {
            let shown = self.shown(root);
            format!(
                "pytest imports `{shown}` of the project in place of Python's own module, before it runs tests: look what it does"
            )
        })
    }
}

// Returns whether Python imports from the working directory first. It does so for `python -m pytest`, unless the interpreter is told
// not to. Behind a shell or a script the form is not visible; then the directory is not looked at.
fn searches_directory_first(action: &Action) -> bool {
    let argv = &action.command.argv;
    let located = locate(argv);
    if located.recognition.tool != Tool::Pytest || located.recognition.form != CommandForm::Direct {
        return false;
    }
    let before = argv.get(..located.arguments_from).unwrap_or_default();
    let is_safe_flag = |word: &String| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        letters.chars().take_while(|letter| !matches!(letter, 'm' | 'c' | 'W' | 'X')).any(|letter| matches!(letter, 'I' | 'P'))
    };
    let is_option = |word: &str| word == "--module" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'));
    let is_module = match before {
        [.., option, last] => (is_option(option) && last == "pytest") || is_joined(last),
        [last] => is_joined(last),
        [] => false,
    };
    let is_safe = before.iter().any(is_safe_flag) || action.environment.contains_key("PYTHONSAFEPATH");
    is_module && !is_safe
}

// Returns whether a word is `-mpytest`, with any flags before the `m`.
fn is_joined(word: &str) -> bool {
    word.starts_with('-') && word.ends_with("mpytest")
}

fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn hidden(command: &str, python_path: Option<&str>, files: &[&str]) -> Option<String> {
        let mut action = samples::action(Tool::Pytest, command);
        action.environment.extend(python_path.map(|path| ("PYTHONPATH".to_owned(), path.to_owned())));
        let names = |directory: &Path| {
            let below = |file: &&str| Path::new("/project").join(file).strip_prefix(directory).ok().map(Path::to_owned);
            let first = |path: PathBuf| path.components().next().map(|name| name.as_os_str().to_string_lossy().into_owned());
            files.iter().filter_map(below).filter_map(first).collect()
        };
        let found = hiding_module(&action, Path::new("/project"), Path::new("/project"), &names);
        found.map(|module| {
            format!("{}{}", if module.kind == HiddenModule::Imported { "noted " } else { "" }, module.path.display())
        })
    }

    #[test]
    fn v5_v21_a_module_of_the_project_that_hides_pytest_is_found() {
        for (command, path, file) in [
            ("python -m pytest", None, "pytest.py"),
            ("python -mpytest -q", None, "pytest.py"),
            ("uv run python -X dev -m pytest", None, "_pytest/__init__.py"),
            ("coverage run -m pytest", None, "pytest/__init__.py"),
            ("pytest", Some("vendor"), "vendor/pytest/__init__.py"),
            ("pytest", Some("/elsewhere:/project/./vendor"), "vendor/_pytest.py"),
            ("bash -c 'pytest -q'", Some(""), "pytest.py"),
            ("python -m pytest tests", None, "iniconfig.py"),
            ("python -m pytest tests", None, "pluggy/__init__.py"),
            ("python -m pytest tests", None, "argparse.py"),
            ("pytest", Some("src"), "src/typing.py"),
        ] {
            assert_eq!(hidden(command, path, &[file]), Some(format!("/project/{file}")), "{command} {path:?}");
        }
        for (command, path, files) in [
            ("pytest", None, &["pytest.py"][..]),
            ("python -I -m pytest", None, &["pytest.py"]),
            ("python -Pm pytest", None, &["pytest.py"]),
            ("python -m pytest", None, &["pytest/data.txt", "tests/pytest.py"]),
            ("pytest", Some("deps"), &["deps/pytest/__init__.py", "deps/pytest-9.2.0.dist-info/METADATA"]),
            ("pytest", Some("/elsewhere"), &["pytest.py"]),
            ("pytest", None, &["argparse.py"]),
            ("python -m pytest", None, &["src/types.py", "packaging/deb.sh", "statistics.py", "site.py", "queue.py"]),
        ] {
            assert_eq!(hidden(command, path, files), None, "{command} {path:?}");
        }
        for file in ["code.py", "calendar.py", "pygments/__init__.py"] {
            assert_eq!(hidden("python -m pytest", None, &[file]), Some(format!("noted /project/{file}")));
        }
    }

    #[test]
    fn only_a_pass_is_taken_back() {
        let said = |category| Interpretation::plain(category, "1 passed");
        let module = |kind| HidingModule { path: PathBuf::from("/p/pytest.py"), kind };
        let judged = |category| judge_hidden(said(category), Path::new("/p"), Some(&module(HiddenModule::Needed)));
        let taken = judged(CategoryCode::TestsPassed);
        assert_eq!(taken.category, CategoryCode::Inconsistent);
        assert!(taken.reason.contains("1 passed") && taken.reason.contains("`pytest.py`"), "{}", taken.reason);
        assert_eq!(judged(CategoryCode::TestsFailed), said(CategoryCode::TestsFailed));
        for other in [None, Some(module(HiddenModule::Imported))] {
            let kept = judge_hidden(said(CategoryCode::TestsPassed), Path::new("/p"), other.as_ref());
            assert_eq!(kept.category, CategoryCode::TestsPassed);
        }
        assert!(module(HiddenModule::Imported).note(Path::new("/p")).is_some_and(|note| note.contains("`pytest.py`")));
        assert_eq!(module(HiddenModule::Needed).note(Path::new("/p")), None);
    }
}
