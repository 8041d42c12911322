//! `proctor export`: copies a run so that another person can verify it, or writes it in a form that another tool reads.

use crate::cli::evidence_arguments::ExportOptions;
use crate::cli::render;
use proctor_app::export::{ExportForm, ExportQuestion, Exported, export};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &ExportOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let question = ExportQuestion {
        project: &options.project,
        run: options.run.as_deref(),
        fresh: options.fresh,
        form: options.format.map_or(ExportForm::Copy(options.anchor.as_deref()), ExportForm::Text),
        place: options.to.as_deref(),
    };
    match export(environment, &question)? {
        Exported::Text(text) => render::text(&text),
        Exported::File(file) => render::line(&file.display().to_string()),
        Exported::Copy { to, key } => render::line(&format!("{} · signed by key {key}", to.display())),
    }
    Ok(CommandExit::Proceed)
}
