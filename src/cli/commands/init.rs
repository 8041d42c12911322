//! `proctor init`: writes a configuration with the discovered checks, prints every setting, or writes a section for agents.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::cli::arguments::InitOptions;
use crate::cli::commands::approve;
use crate::cli::commands::init_agents::{self, Asking};
use crate::cli::commands::tasks;
use crate::cli::environment;
use crate::cli::render;
use crate::cli::terminal;
use proctor_app::project::setup::CONFIGURATION_FILE;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_plan::config::default_text;
use proctor_plan::spec::{self, DiskFiles};

pub(crate) fn execute(options: &InitOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if options.print {
        render::text(default_text());
        return Ok(CommandExit::Proceed);
    }
    if options.tasks {
        return tasks::keep(&setup::project_root(environment, options.place.path())?, &options.file, environment);
    }
    let root = setup::named_root(environment, options.place.path())?;
    if options.agents {
        return init_agents::write_sections(&root, if options.yes { Asking::Agreed } else { Asking::Asks });
    }
    let written = InitFile::make(&root)?;
    written.write(&root)?;
    if written.installs.is_empty() || opening::open_registered(environment, &root).is_err() {
        render::line("next: `proctor run`, or `proctor watch` to run the checks at each save");
    } else {
        render::line(&format!("next: `proctor approve`, because {} is new here; then `proctor run`", quoted(&written.installs)));
    }
    Ok(CommandExit::Proceed)
}

/// The `proctor.toml` that `proctor init` writes for a project.
struct InitFile {
    text: String,
    /// The names of its checks.
    checks: Vec<String>,
    /// The commands that install the project's packages before the checks, because nothing is installed yet.
    installs: Vec<String>,
}

impl InitFile {
    fn make(root: &Path) -> Result<Self, CommandError> {
        let files = DiskFiles::new(root);
        let name = setup::directory_name(root);
        let mut plan = spec::plan_with_installs(&files, &name).map_err(|problems| setup::from_problems(&problems))?;
        spec::propose_writes(&mut plan, &files);
        spec::propose_triggers(&mut plan, &files);
        let proposals = spec::propose_uncovered(&plan.steps, &files);
        let text = spec::init_text(&plan, &plan.notes, spec::propose_order(&plan)) + &spec::proposed_text(&proposals);
        let checks = plan.steps.into_iter().map(|step| step.name).collect();
        Ok(Self { text, checks, installs: plan.prerequisites.into_iter().map(|one| one.command.display).collect() })
    }

    fn write(&self, root: &Path) -> Result<(), CommandError> {
        write_new(&root.join(CONFIGURATION_FILE), &self.text)?;
        render::line(&format!("wrote {CONFIGURATION_FILE}: {}", self.checks.join(", ")));
        if !self.installs.is_empty() {
            render::line(&format!("before them, when a lock file has changed: {}", quoted(&self.installs)));
        }
        Ok(())
    }
}

/// Asks the person whether the project's packages shall be installed before its checks, in a project without `proctor.toml` whose lock
/// file names some that are not there. Writes `proctor.toml` at a yes. Where the project has approved rules, the one question is whether
/// those of the new file are approved; without that the file goes again.
pub(super) fn offer_installs(root: &Path, environment: &Environment) -> Result<(), CommandError> {
    if root.join(CONFIGURATION_FILE).exists() || !environment::is_person_present(environment) || !terminal::is_output_terminal() {
        return Ok(());
    }
    let Some(made) = InitFile::make(root).ok().filter(|made| !made.installs.is_empty()) else { return Ok(()) };
    render::note(&format!("the project's packages are not installed yet: {}", quoted(&made.installs)));
    if opening::open_registered(environment, root).is_ok() {
        made.write(root)?;
        if !approve::ask_beforehand(root, environment)? {
            let removed = std::fs::remove_file(root.join(CONFIGURATION_FILE));
            render::note(&format!("{CONFIGURATION_FILE} is {}", if removed.is_ok() { "removed again" } else { "left there" }));
        }
        return Ok(());
    }
    terminal::forget_input();
    render::prompt(&format!(
        "Write {CONFIGURATION_FILE}, so that this runs before the checks when a lock file has changed? [y/N] "
    ));
    match terminal::read_line().as_deref().map(str::trim) {
        Some("y" | "Y" | "yes") => made.write(root),
        Some(_) => Ok(()),
        None => {
            render::end_prompt();
            Ok(())
        }
    }
}

fn quoted(commands: &[String]) -> String {
    commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
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
