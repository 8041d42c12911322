//! How the interpreter of a check is started before the check is requested: `early.py` is put before all other modules, as the module
//! that Python executes when it starts. Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::pytest::PYTEST;

/// The directory, relative to the project, in which the interpreter finds what it needs. Only an empty directory in place of the project
/// has it.
const PLACE: &str = ".proctor-started";
const STARTER: &str = include_str!("early.py");
/// The path that stands for the output directory of a check that is not known yet.
const NO_OUTPUT: &str = "/proctor-output";
const SEARCHED: &str = "PYTHONPATH";
/// Options of the interpreter that take a value, and those without one, with which it starts as the check's.
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
    /// The file in which it finds what its rehearsal has said.
    pub list: String,
}

/// Returns how the command of a check is started early; `None` if it is no pytest that an interpreter runs itself.
pub fn plan_early_start(
    argv: &[String],
    variables: &BTreeMap<OsString, OsString>,
    output: &Path,
    root: &Path,
    settings: Vec<(String, String)>,
    environments: &[String],
) -> Option<EarlyStartPlan> {
    if !is_run_by_interpreter(argv) {
        return None;
    }
    let output = output.to_str()?;
    let place = root.join(PLACE).into_os_string();
    let mut environment = BTreeMap::new();
    for (name, value) in variables {
        environment.insert(name.clone(), OsString::from(value.to_str()?.replace(output, NO_OUTPUT)));
    }
    let searched = environment.remove(OsStr::new(SEARCHED));
    let mut first = place.clone();
    if let Some(searched) = searched {
        first.push(":");
        first.push(&searched);
        environment.insert("PROCTOR_STARTED_PATH".into(), searched);
    }
    environment.insert(SEARCHED.into(), first);
    environment.insert("PROCTOR_STARTED_ROOT".into(), root.as_os_str().to_owned());
    let mut files = settings;
    files.push((format!("{PLACE}/sitecustomize.py"), STARTER.to_owned()));
    files.push((format!("{PLACE}/environments"), environments.join("\n")));
    Some(EarlyStartPlan {
        argv: argv.iter().map(|word| word.replace(output, NO_OUTPUT)).collect(),
        environment: environment.into_iter().collect(),
        files,
        channel: "PROCTOR_STARTED",
        list: format!("{PLACE}/list"),
    })
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
