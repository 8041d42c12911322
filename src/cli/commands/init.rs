//! `proctor init`: writes a configuration with the discovered checks, prints every setting, or writes a section for agents.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use crate::cli::arguments::InitOptions;
use crate::cli::commands::init_agents::{self, Asking};
use crate::cli::render;
use proctor_app::project::setup;
use proctor_app::project::setup::CONFIGURATION_FILE;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_plan::config::{Configuration, default_text};
use proctor_plan::spec::{self, DiskFiles};

pub(crate) fn execute(options: &InitOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if options.print {
        render::text(default_text());
        return Ok(CommandExit::Proceed);
    }
    let root = setup::named_root(environment, options.place.path())?;
    if options.agents {
        return init_agents::write_sections(&root, if options.yes { Asking::Agreed } else { Asking::Asks });
    }
    let files = DiskFiles::new(&root);
    let name = setup::directory_name(&root);
    let mut plan =
        spec::discover(&Configuration::default(), &files, &name).map_err(|problems| setup::from_problems(&problems))?;
    spec::propose_writes(&mut plan, &files);
    spec::propose_triggers(&mut plan);
    let proposals = spec::propose_uncovered(&plan.steps, &files);
    let text = spec::init_text(&plan, &plan.notes, spec::propose_order(&plan)) + &spec::proposed_text(&proposals);
    write_new(&root.join(CONFIGURATION_FILE), &text)?;
    let names: Vec<_> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    render::line(&format!("wrote {CONFIGURATION_FILE}: {}", names.join(", ")));
    for note in &plan.notes {
        render::note(&format!("note: {}: {}", note.subject, note.message));
    }
    Ok(CommandExit::Proceed)
}

fn write_new(path: &std::path::Path, text: &str) -> Result<(), CommandError> {
    let written = OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            return CommandError::new(CommandExit::Usage, format!("`{CONFIGURATION_FILE}` exists already"))
                .hint("edit it, or move it away and run `proctor init` again");
        }
        CommandError::caused(CommandExit::Usage, format!("failed to write `{}`", path.display()), &error)
            .hint("check that you may write in the directory")
    })
}
