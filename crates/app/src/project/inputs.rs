//! The inputs of a project: the files and directories beside it that its checks may read.

use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::setup::CONFIGURATION_FILE;
use proctor_git::find_git_location;
use proctor_model::CommandExit;
use proctor_plan::config::Configuration;
use proctor_project::{FoundInputs, InputSearch};

/// Returns how many directories lie above a project in its git repository; 0 if it is in none, or if the repository's root is HOME or
/// above it.
pub(super) fn levels_in_repository(environment: &Environment, root: &Path) -> usize {
    let home = environment.variable("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    let Some(location) = find_git_location(root) else { return 0 };
    let is_around_home = home.is_some_and(|home| home.starts_with(&location.work_tree));
    let below = root.strip_prefix(&location.work_tree).unwrap_or(Path::new(""));
    if is_around_home { 0 } else { below.components().count() }
}

/// Returns where inputs of a project are looked for.
pub(crate) fn search<'a>(environment: &'a Environment, root: &'a Path) -> InputSearch<'a> {
    InputSearch { root, home: environment.variable("HOME").map(Path::new), store: environment.state_root() }
}

/// Returns the inputs that the settings name and those that the project's files lead to, and what these lead to besides.
///
/// # Errors
/// When no check may see one of them.
pub(super) fn inputs(environment: &Environment, root: &Path, configuration: &Configuration) -> Result<FoundInputs, CommandError> {
    let search = search(environment, root);
    let named = configuration.inputs.named.iter().map(|name| {
        search.place(name).map_err(|refusal| {
            let message = format!("{CONFIGURATION_FILE}: project.inputs: `{name}` cannot be an input: {refusal}");
            CommandError::new(CommandExit::SpecificationWrong, message)
                .hint("name the files and directories that the checks read")
        })
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    Ok(search.with_found(named))
}
