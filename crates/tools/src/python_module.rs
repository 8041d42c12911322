//! Finds out whether a command runs a Python module, such as `unittest`, by `python -m`.

use crate::launchers::{PYTHON_VALUED, SHELLS, is_python, program_name, visit_programs};
use crate::shell::simple_commands;

/// Whether a command runs a Python module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleRun {
    No,
    /// Nothing else is run, or a shell runs nothing else.
    Alone,
    /// A shell script runs other commands too, and may have a condition for this one.
    InScript,
}

/// Returns whether a command runs a Python module by `python -m`, also through launchers and a shell.
pub(super) fn runs_python_module(argv: &[String], module: &str) -> ModuleRun {
    let mut is_run = false;
    visit_programs(argv, &mut |call| {
        is_run |= call.first().is_some_and(|name| is_python(name)) && python_module(call) == Some(module);
    });
    let script = argv.windows(3).find(|words| SHELLS.contains(&program_name(&words[0])) && is_script_option(&words[1]));
    match script {
        _ if !is_run => ModuleRun::No,
        Some(words) if simple_commands(&words[2]).len() > 1 => ModuleRun::InScript,
        Some(_) | None => ModuleRun::Alone,
    }
}

fn is_script_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Returns the module that a call of Python runs; `None` for a file and for a text of `-c`.
fn python_module(call: &[String]) -> Option<&str> {
    let mut at = 1;
    while let Some(word) = call.get(at).map(String::as_str) {
        if PYTHON_VALUED.contains(&word) {
            at += 2;
            continue;
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        let valued = if letters.starts_with('-') { None } else { letters.find(['c', 'm', 'W', 'X']) };
        let Some(place) = valued else {
            at += 1;
            continue;
        };
        let value = Some(&letters[place + 1..]).filter(|value| !value.is_empty());
        match &letters[place..=place] {
            "m" => return value.or_else(|| call.get(at + 1).map(String::as_str)),
            "c" => return None,
            _ => at += if value.is_some() { 1 } else { 2 },
        }
    }
    None
}
