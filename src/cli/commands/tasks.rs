//! `proctor init --tasks`: makes proctor keep a task list in the project.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::cli::render;
use proctor_app::project::setup::CONFIGURATION_FILE;
use proctor_app::project::{opening, setup, specification_files};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_plan::config;
use proctor_project::{ProjectScope, keep_task_list, read_text};

pub(super) fn keep(root: &Path, file: &str, environment: &Environment) -> Result<CommandExit, CommandError> {
    let (configuration, _) = setup::configuration(environment, root)?;
    let file = match &configuration.tasks.file {
        Some(file) => file.clone(),
        None => {
            append_setting(root, file)?;
            render::line(&format!("{CONFIGURATION_FILE}: `[tasks]` says that `{file}` is the task list"));
            file.to_owned()
        }
    };
    let loaded = specification_files::load_project(environment, root)?;
    let settings = opening::settings(environment, &loaded)?;
    let mut archive = opening::open_archive(environment)?;
    let Some(project) = archive.find_project(root)? else {
        render::line(&format!("{file}: the first run registers the project and writes the blocks (`proctor run`)"));
        return Ok(CommandExit::Proceed);
    };
    let scope = ProjectScope { project, root: root.to_owned(), asker: environment.asker() };
    let said = keep_task_list(environment.state_root(), &scope, &settings)?;
    said.iter().for_each(render::note);
    render::line(&format!("{file}: the blocks are as the last verdicts have them"));
    Ok(CommandExit::Proceed)
}

/// Appends the table `[tasks]` to `proctor.toml`: a TOML file may always get a new table at its end. If there is no
/// `proctor.toml`, the new file has this table only, so checks are discovered as before.
fn append_setting(root: &Path, file: &str) -> Result<(), CommandError> {
    // A JSON string is also a valid TOML string.
    let lines = format!("[tasks]\nfile = {}\n", serde_json::Value::from(file));
    // Errors in the name are reported before the file is written.
    config::read(&lines, CONFIGURATION_FILE).map_err(|problems| {
        let error = CommandError::new(CommandExit::Usage, format!("`{file}` cannot be the task list"));
        let error = error.with_details(problems.iter().map(|problem| &problem.message));
        error.hint("name a Markdown file below the project's root, such as `tasks.md`")
    })?;
    let path = root.join(CONFIGURATION_FILE);
    let before = match read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(&path, &error)),
    };
    let whole = format!("{before}{}{lines}", separation(&before));
    config::read(&whole, CONFIGURATION_FILE).map_err(|problems| setup::from_problems(&problems))?;
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(format!("{}{lines}", separation(&before)).as_bytes()));
    written.map_err(|error| unwritable(&path, &error))
}

fn separation(before: &str) -> &'static str {
    match before {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::caused(CommandExit::Usage, format!("failed to write `{}`", path.display()), error)
        .hint("check that you may write in the directory, or add `[tasks]` with `file = \"tasks.md\"` yourself")
}
