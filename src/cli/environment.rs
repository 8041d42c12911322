//! The only module that reads environment variables, the working directory and the first argument (G6).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::render;
use crate::cli::style::Style;
use crate::cli::terminal;
use proctor_app::{Caller, CommandError, Environment};
use proctor_govern::workflow::PointObserver;
use proctor_project::IdentityAnswer;
use proctor_run::SQLITE_ARGUMENT;

/// Returns whether this process is the launcher, the process that starts actions. proctor starts itself with a hidden
/// first argument for this.
pub(crate) fn is_launcher() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == "__launcher")
}

/// Returns the word of the network that this process holds for a run; `None` if it holds none. proctor starts itself with a hidden first
/// argument for this.
pub(crate) fn held_network() -> Option<String> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == proctor_sandbox::process::NETWORK_ARGUMENT).then(|| arguments.next()?.into_string().ok()).flatten()
}

/// Returns whether this process was started under a name of the program, which is linked under several.
pub(crate) fn is_called(name: &str) -> bool {
    std::env::args_os().next().is_some_and(|program| Path::new(&program).file_name().is_some_and(|called| called == name))
}

/// Returns whether an agent has started this process as a hook. Its arguments may be those of another version.
pub(crate) fn is_hook_run() -> bool {
    std::env::args_os().skip(1).take(2).eq(["hook", "run"])
}

/// Returns the process that started this one as a command of its own, and that this one must not outlive.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub(crate) fn starter() -> Option<i32> {
    std::env::var(proctor_sandbox::process::STARTED_BY).ok()?.parse().ok()
}

/// Returns the arguments of a process that queries a database of SQLite; `None` if this process does not. proctor starts itself
/// with a hidden first argument for this, inside the isolation of the action that asks.
pub(crate) fn sqlite_arguments() -> Option<Vec<String>> {
    let mut arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    (arguments.next()? == SQLITE_ARGUMENT).then(|| arguments.collect())
}

/// Reads the environment. What belongs to no answer goes to standard error, and a person at the terminal is asked.
pub(crate) fn read() -> Result<Environment, CommandError> {
    let (variables, working_directory) = ambient();
    let environment = Environment::new(
        variables,
        working_directory,
        Caller::of_command(say, announce, ask_identity).told_of_stop(say_stopping),
    )?;
    if environment.has_dumb_terminal() || says_ascii(environment.variables()) {
        render::print_ascii();
    }
    Ok(environment)
}

/// Returns whether the locale has ASCII characters only: the first variable that is set decides (locale(7)).
fn says_ascii(variables: &BTreeMap<OsString, OsString>) -> bool {
    let value = |name: &str| variables.get(&OsString::from(name)).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value).is_some_and(|locale| locale == "C" || locale == "POSIX")
}

fn say(line: &str) {
    render::note(line);
}

/// What a person is told who has asked for the end.
pub(crate) const STOPPING: &str = "stopping; Ctrl-C again kills";

fn say_stopping() {
    render::note(STOPPING);
}

fn announce(line: &str) {
    render::note(&format!("note: {line}"));
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment and the working directory")]
fn ambient() -> (BTreeMap<OsString, OsString>, std::io::Result<PathBuf>) {
    // Who started this process is of no interest to what this one starts.
    let variables = std::env::vars_os().filter(|(name, _)| name != proctor_sandbox::process::STARTED_BY);
    (variables.collect(), std::env::current_dir())
}

/// Returns whether a person can be asked: standard input is a terminal, and no coding agent that uses proctor's hooks or its MCP server
/// has started this process.
pub(crate) fn is_person_present(environment: &Environment) -> bool {
    terminal::is_input_terminal() && environment.agent_above().is_none()
}

/// Returns whether a person looks at what this process says beside another one: standard error is a terminal, and no coding agent has
/// started this process.
pub(crate) fn is_person_beside(environment: &Environment) -> bool {
    terminal::is_error_terminal() && environment.agent_above().is_none()
}

/// Adds why a terminal does not count as a person's, if that is why a question cannot be asked.
pub(crate) fn why_nobody(environment: &Environment, error: CommandError) -> CommandError {
    match environment.agent_above().filter(|_| terminal::is_input_terminal()) {
        Some(agent) => {
            error.hint(format!("a coding agent (process {agent}) started this command: type it in a terminal of your own"))
        }
        None => error,
    }
}

/// Asks the person whether a directory is the registered project or a new one. Returns `None` if nobody can be asked.
fn ask_identity(environment: &Environment, question: &[String]) -> Option<IdentityAnswer> {
    if !is_person_present(environment) {
        return None;
    }
    question.iter().for_each(render::note);
    loop {
        render::prompt("[s]ame project, or a [n]ew one? ");
        match terminal::read_line().as_deref().map(str::trim) {
            Some("s" | "same") => return Some(IdentityAnswer::Same),
            Some("n" | "new") => return Some(IdentityAnswer::New),
            Some(_) => {}
            None => return None,
        }
    }
}

/// Returns whether standard output is coloured.
pub(crate) fn style(environment: &Environment) -> Style {
    Style::decide(environment.refuses_colours(), environment.has("CLICOLOR_FORCE"), terminal::is_output_terminal())
}

/// Returns the function that an issue workflow calls wherever a crash must do no harm. Outside of tests it does
/// nothing.
#[cfg(not(feature = "test-fakes"))]
pub(crate) fn workflow_points(_environment: &Environment) -> PointObserver {
    Box::new(|| {})
}

/// Returns the function that an issue workflow calls wherever a crash must do no harm. A test can kill the process
/// at the call with a given number.
#[cfg(feature = "test-fakes")]
pub(crate) fn workflow_points(environment: &Environment) -> PointObserver {
    let fatal = environment.variable("PROCTOR_TEST_DIE_AT_POINT").and_then(|text| text.to_str()?.parse::<u32>().ok());
    let passed = std::cell::Cell::new(0);
    Box::new(move || {
        passed.set(passed.get() + 1);
        if fatal == Some(passed.get()) {
            proctor_sandbox::process::kill_self();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides_about_the_characters() {
        let says = |variables: &[(&str, &str)]| {
            says_ascii(&variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
        };
        assert!(says(&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")]) && says(&[("LC_ALL", ""), ("LANG", "C")]));
        assert!(!says(&[]) && !says(&[("LC_ALL", "C.utf8"), ("LANG", "C")]) && !says(&[("LANG", "de_DE.UTF-8")]));
    }
}
