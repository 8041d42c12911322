//! How the interpreter of a check is started before the check is requested: `early.py` is put before all other modules, as the module
//! that Python executes when it starts. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::pytest::PYTEST;
use crate::pytest::rewriting::MORE_ARGUMENTS;
use proctor_model::split_words;

/// The directory, relative to the project, in which the interpreter finds what it needs. Only an empty directory in place of the project
/// has it.
const PLACE: &str = ".proctor-started";
const STARTER: &str = include_str!("early.py");
const WATCH: &str = include_str!("early_watch.py");
/// What the path begins with that stands for the output directory of a check that is not known yet.
const NO_OUTPUT: &str = "/proctor-output";
const SEARCHED: &str = "PYTHONPATH";
/// The character between two directories of `PYTHONPATH`.
const SEPARATOR: char = ':';
/// The most paths that a command may name.
const MOST_NAMED: usize = 64;
/// Options that an interpreter which is started early has in common with the check's: those that take a value, and those that take none.
const WITH_VALUE: [&str; 2] = ["-X", "-W"];
const WITHOUT_VALUE: [&str; 5] = ["-O", "-OO", "-B", "-b", "-u"];

/// A command that is started before its check is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyStartPlan {
    pub argv: Vec<String>,
    pub environment: Vec<(OsString, OsString)>,
    /// Paths relative to the project's root, and contents.
    pub files: Vec<(String, String)>,
    /// The variable with the number of the descriptor by which the command is given its check.
    pub channel: &'static str,
    /// The file with what the rehearsal of the command has printed.
    pub list: String,
}

/// A check whose command is to be started early.
pub struct EarlyStartRequest<'a> {
    pub argv: &'a [String],
    pub variables: &'a BTreeMap<OsString, OsString>,
    /// The directory that the check itself writes to.
    pub output: &'a Path,
    /// The project's root.
    pub root: &'a Path,
    /// The directories of installed packages that the check sees.
    pub environments: &'a [PathBuf],
    /// The paths that [`paths_named_early`] returns for the check.
    pub named: &'a [String],
}

/// Returns the words of a command that may name a file or directory: pytest begins its search for settings there. `None` if the command
/// is no pytest that an interpreter runs itself, or if it takes further arguments from a file.
pub fn paths_named_early(argv: &[String], variables: &BTreeMap<OsString, OsString>) -> Option<Vec<String>> {
    if !is_run_by_interpreter(argv) {
        return None;
    }
    let more = match variables.get(OsStr::new(MORE_ARGUMENTS)) {
        Some(value) => split_words(value.to_str()?)?,
        None => Vec::new(),
    };
    let mut named = BTreeSet::new();
    for word in argv.iter().skip(1).chain(&more) {
        if word.starts_with('@') || word.contains('\n') {
            return None;
        }
        let short = word.strip_prefix('-').filter(|short| !short.starts_with('-'));
        let values = short.into_iter().flat_map(|short| short.char_indices().skip(1).map(|(at, _)| &short[at..]));
        for path in [word.as_str()].into_iter().chain(word.split_once('=').map(|(_, value)| value)).chain(values) {
            let path = path.split("::").next().unwrap_or_default();
            if !path.is_empty() && !path.starts_with('-') {
                named.insert(path.to_owned());
            }
        }
    }
    (named.len() <= MOST_NAMED).then(|| named.into_iter().collect())
}

/// Returns how the command of a check is started early; `None` if it cannot be.
pub fn plan_early_start(request: &EarlyStartRequest<'_>) -> Option<EarlyStartPlan> {
    let output = request.output.to_str()?;
    let no_output = path_as_long_as(output);
    // A directory of modules cannot be named if its path has the sign that separates them.
    if request.root.to_str()?.contains([SEPARATOR, '\n']) {
        return None;
    }
    let place = request.root.join(PLACE).into_os_string();
    let mut environment = BTreeMap::new();
    for (name, value) in request.variables {
        environment.insert(name.clone(), OsString::from(value.to_str()?.replace(output, &no_output)));
    }
    let searched = environment.remove(OsStr::new(SEARCHED));
    let mut first = place.clone();
    if let Some(searched) = searched {
        first.push(SEPARATOR.to_string());
        first.push(&searched);
        environment.insert("PROCTOR_STARTED_PATH".into(), searched);
    }
    environment.insert(SEARCHED.into(), first);
    environment.insert("PROCTOR_STARTED_ROOT".into(), request.root.as_os_str().to_owned());
    let environments = request.environments.iter().map(|path| path.to_str()).collect::<Option<Vec<_>>>()?;
    let named: Vec<String> = request.named.iter().map(|word| word.replace(output, &no_output)).collect();
    Some(EarlyStartPlan {
        argv: request.argv.iter().map(|word| word.replace(output, &no_output)).collect(),
        environment: environment.into_iter().collect(),
        files: vec![
            (format!("{PLACE}/sitecustomize.py"), STARTER.to_owned()),
            (format!("{PLACE}/early_watch.py"), WATCH.to_owned()),
            (format!("{PLACE}/environments"), environments.join("\n")),
            (format!("{PLACE}/named"), named.join("\n")),
        ],
        channel: "PROCTOR_STARTED",
        list: format!("{PLACE}/list"),
    })
}

/// Returns a path that stands for this one. Its length is the same: the command line that the kernel shows is overwritten in its place.
fn path_as_long_as(output: &str) -> String {
    format!("{NO_OUTPUT:-<0$}", output.len())
}

fn is_run_by_interpreter(argv: &[String]) -> bool {
    let Some((program, rest)) = argv.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or_default();
    if name == PYTEST || name == "py.test" {
        return true;
    }
    let version = name.strip_prefix("python");
    if !version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')) {
        return false;
    }
    let mut words = rest.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "-m" {
            return words.next() == Some(PYTEST);
        }
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !WITHOUT_VALUE.contains(&word) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str, more: Option<&str>) -> Option<Vec<String>> {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let variables = more.iter().map(|more| (MORE_ARGUMENTS.into(), (*more).into())).collect();
        paths_named_early(&argv, &variables)
    }

    #[test]
    fn only_a_pytest_that_an_interpreter_runs_is_started_early() {
        for line in [
            "pytest",
            ".venv/bin/pytest -q",
            "python -m pytest",
            "python3.12 -X utf8 -W error -m pytest tests",
            "/v/bin/python -B -m pytest",
        ] {
            assert!(named(line, None).is_some(), "{line}");
        }
        for line in [
            "python test_a.py",
            "python -c pass",
            "python -I -m pytest",
            "python -m unittest",
            "uv run pytest",
            "coverage run -m pytest",
            "pythonw -m pytest",
        ] {
            assert_eq!(named(line, None), None, "{line}");
        }
    }

    #[test]
    fn whatever_may_be_a_path_is_looked_at_and_a_file_of_arguments_is_left_to_a_later_start() {
        let words =
            named("pytest -q tests/a.py::test_b -cetc/my.ini --rootdir=sub", Some("-c 'a b.ini'")).expect("it is started early");
        for path in ["tests/a.py", "etc/my.ini", "sub", "a b.ini"] {
            assert!(words.iter().any(|word| word == path), "{path}: {words:?}");
        }
        assert_eq!(named("pytest @more", None), None);
        assert_eq!(named("pytest", Some("@more")), None);
        assert_eq!(named("pytest", Some("'open")), None);
    }

    #[test]
    fn a_root_that_cannot_be_named_among_directories_is_started_when_it_is_requested() {
        let plan = |root: &str| {
            let (argv, variables) = (["pytest".to_owned()], BTreeMap::from([("PYTHONPATH".into(), "src".into())]));
            let (output, root) = (Path::new("/out"), Path::new(root));
            plan_early_start(&EarlyStartRequest {
                argv: &argv,
                variables: &variables,
                output,
                root,
                environments: &[],
                named: &[],
            })
        };
        assert_eq!(plan("/a:b"), None);
        assert_eq!(path_as_long_as("/a/path/of/20/bytes."), "/proctor-output-----");
        let plan = plan("/a b").expect("it is started early");
        assert!(plan.environment.contains(&("PYTHONPATH".into(), "/a b/.proctor-started:src".into())));
    }
}
