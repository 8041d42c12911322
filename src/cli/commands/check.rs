//! `proctor check`: shows all errors of a project's specifications and configuration.

use crate::cli::render;
use crate::cli::screen::counted;
use crate::cli::specification_arguments::CheckOptions;
use proctor_app::check::{CheckV1, check};
use proctor_app::project::setup::CONFIGURATION_FILE;
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, quoted_text};
use proctor_plan::spec::specification::SPECIFICATION_SUFFIX;

pub(crate) fn execute(options: &CheckOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let document = check(environment, &options.project, &options.files, &options.values.set)?;
    if options.json {
        render::document(&document);
    } else {
        lines(&document).iter().for_each(render::line);
    }
    Ok(if document.errors == 0 { CommandExit::Proceed } else { CommandExit::SpecificationWrong })
}

/// Returns the lines for people: first every problem, then one line for each file, or one line that says that there is no file.
fn lines(document: &CheckV1) -> Vec<String> {
    let texts = document.files.iter().flat_map(|file| file.texts()).flat_map(|text| text.split('\n'));
    let mut lines: Vec<String> = texts.map(str::to_owned).collect();
    for file in &document.files {
        let verdict = match (file.valid, file.tasks.as_slice()) {
            (true, []) => "no checks".to_owned(),
            (true, tasks) => tasks.join(", "),
            (false, _) => counted(file.errors() as u64, "error"),
        };
        let notes = match file.notes() as u64 {
            0 => String::new(),
            notes => format!(", {}", counted(notes, "note")),
        };
        lines.push(format!("{} {}: {verdict}{notes}", if file.valid { "✓" } else { "✗" }, file.file));
        lines.extend(file.filled.iter().map(|(name, filled)| match &filled.value {
            Some(value) => format!("    {name} is {} ({})", quoted_text(value), filled.source),
            None => format!("    {name} is a secret ({})", filled.source),
        }));
    }
    if document.files.is_empty() {
        lines.push(format!("no {CONFIGURATION_FILE} and no file whose name ends in {SPECIFICATION_SUFFIX}: nothing to check"));
    }
    lines
}
