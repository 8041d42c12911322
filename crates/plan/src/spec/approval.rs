//! Resolves `[approval]`: its settings, and the keys from the file that the setting `allowed_signers` names.

use crate::config::{Configuration, judged_settings};
use crate::spec::signers::parse_signers;
use proctor_model::{ApprovalTerms, PlanSettings, Problem};
use proctor_tools::ProjectFiles;

/// Returns the settings that are approved together with every plan of the project.
pub(super) fn plan_settings(configuration: &Configuration) -> PlanSettings {
    PlanSettings { now: judged_settings(configuration), allowed: configuration.allowed.clone() }
}

/// Returns the terms under which people approve weaker plans of the project.
///
/// # Errors
/// When the file of keys cannot be read or parsed, or has no key that may approve.
pub fn approval_terms(configuration: &Configuration, files: &dyn ProjectFiles) -> Result<ApprovalTerms, Box<Problem>> {
    let settings = &configuration.approval;
    let terms = settings.terms.clone();
    let Some(file) = &settings.allowed_signers else { return Ok(terms) };
    let wrong = |message: String| {
        let hint = "a line of it is `NAME ssh-ed25519 AAAA…`: what stands in `~/.ssh/id_ed25519.pub` behind a name";
        let problem = Problem::new("approval.allowed_signers", message).within(&configuration.file, file.place);
        Box::new(problem.hint(hint))
    };
    let name = &file.value;
    let text = files.read(name).and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| wrong(format!("there is no text file `{name}` of at most 1 MiB")))?;
    let signers = parse_signers(&text).map_err(|(number, why)| wrong(format!("`{name}`:{number}: {why}")))?;
    if signers.is_empty() {
        return Err(wrong(format!("`{name}` has no key that could approve")));
    }
    Ok(ApprovalTerms { signers, ..terms })
}
