//! Reads what pre-commit and prek print: one line for each hook, such as `trailing whitespace......Passed`.

use crate::counting::Said;
use crate::gathered::lines;
use crate::interpret::Exited;
use crate::launchers::locate;
use crate::option_spelling::has_option;
use crate::table::row_of;
use proctor_model::{Diagnostic, FindingLevel};

/// The code of a hook that failed only because it changed files.
pub(super) const MODIFIED: &str = "files-modified";

const NO_FILES: &str = "(no files to check)";

/// Reads the results of the hooks; `None` if the options keep the program from printing them.
pub(super) fn read(exited: &Exited<'_>) -> Option<Said> {
    let mut said = Said::default();
    let (mut done, mut skipped, mut failed) = (0, Vec::new(), None);
    for line in lines(&exited.stdout).map(str::trim_end) {
        let result = ["Passed", "Failed", "Skipped"].into_iter().find_map(|word| Some((name_before(line, word)?, word)));
        // Where the program ended with 0, no hook failed: such a line is one that a hook printed itself.
        let result = result.filter(|(_, word)| exited.code != 0 || *word != "Failed");
        if result.is_some() {
            failed.take().into_iter().for_each(|found| said.findings.push(without_empty_code(found)));
        }
        match (result, &mut failed) {
            (Some((name, "Skipped")), _) => skipped.push(name),
            (Some((name, word)), _) => {
                done += 1;
                failed = (word == "Failed").then(|| failure(name));
            }
            (None, Some(found)) => add_detail(found, line.trim()),
            (None, None) => {}
        }
    }
    failed.into_iter().for_each(|found| said.findings.push(without_empty_code(found)));
    let arguments = locate(&exited.action.command.argv).arguments;
    let is_quiet = has_option(&arguments, row_of(exited.action.tool).own_format);
    let is_silent = done == 0 && skipped.is_empty();
    // Without any line, a failure is a refused command line or configuration.
    if is_silent && (is_quiet || exited.code != 0) {
        return None;
    }
    said.examined = Some(done);
    said.remark = (!skipped.is_empty()).then(|| format!("{} hook(s) checked nothing: {}", skipped.len(), skipped.join(", ")));
    Some(said)
}

// Returns the name of the hook in a line that ends with a result, and says whether the hook had files.
fn name_before(line: &str, word: &str) -> Option<String> {
    let rest = line.strip_suffix(word)?;
    let (rest, note) = rest.strip_suffix(NO_FILES).map_or((rest, ""), |rest| (rest, " (no files)"));
    let name = rest.trim_end_matches('.');
    (name.len() < rest.len() && !name.is_empty()).then(|| format!("{name}{note}"))
}

fn failure(name: String) -> Diagnostic {
    Diagnostic { message: name, severity: FindingLevel::Error, ..Diagnostic::default() }
}

fn without_empty_code(found: Diagnostic) -> Diagnostic {
    Diagnostic { code: found.code.filter(|code| !code.is_empty()), ..found }
}

// Adds a line below a failed hook: its id, that it changed files, or the first line that it printed.
fn add_detail(found: &mut Diagnostic, line: &str) {
    if let Some(id) = line.strip_prefix("- hook id: ") {
        found.rule_id = Some(id.to_owned());
    } else if line == "- files were modified by this hook" {
        found.code = found.code.is_none().then(|| MODIFIED.to_owned());
    } else if line.starts_with("- exit code: ") {
        // The line with the exit code stands before the one about modified files. The empty code prevents that one from setting its code.
        found.code = Some(String::new());
    } else if !line.is_empty() && !line.starts_with("- duration: ") && !found.message.contains(": ") {
        found.message = format!("{}: {line}", found.message);
    }
}
