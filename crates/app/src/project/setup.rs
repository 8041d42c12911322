//! Loads what most commands need: the project's root, its configuration and its plan.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{env_file, inputs, root_search, specification_files};
use proctor_evidence::read_regular_file;
use proctor_model::{CommandExit, JudgedSettings, Plan, Problem};
use proctor_plan::config::{self, Configuration, UserAllowance};
use proctor_plan::spec::{self, DiskFiles, PlannedBefore};
use proctor_project::{MissingOwnPlan, PlanlessReason};

/// The name of the file with a project's settings.
pub const CONFIGURATION_FILE: &str = "proctor.toml";

/// What a command needs of a project: its root, its settings, and the plan of the task that the command is about.
pub struct LoadedProject {
    /// The root's path with all links resolved.
    pub root: PathBuf,
    pub configuration: Configuration,
    pub plan: Plan,
}

/// Returns the project's root, with links resolved. A directory that is named is the root itself. For the current
/// directory, `.`, the root is searched there and above. Where none is found, the root of the git repository is meant if it has checks and the
/// current directory has none.
pub fn project_root(environment: &Environment, directory: &Path) -> Result<PathBuf, CommandError> {
    let named = named_root(environment, directory)?;
    if directory != Path::new(".") {
        return Ok(named);
    }
    let home = environment.variable("HOME").map(Path::new);
    let found = root_search::root_above(&named, home, environment.state_root()).or_else(|| {
        root_search::repository_above(&named, home).filter(|top| !has_checks(environment, &named) && has_checks(environment, top))
    });
    // Paths on the screen are relative to the root, so the person has to know it.
    if let Some(found) = found.as_ref().filter(|found| **found != named) {
        environment.note(&format!("project: {}", found.display()));
    }
    Ok(found.unwrap_or(named))
}

/// Returns whether a directory has checks, test specifications, or a configuration that says something wrong of them.
fn has_checks(environment: &Environment, directory: &Path) -> bool {
    match describe(environment, directory) {
        Ok((_, Ok(_))) => true,
        Ok((configuration, Err(planless))) => {
            !matches!(specification_files::specified(directory, &configuration, &planless), Ok(None))
                || planless.reason == PlanlessReason::Wrong
        }
        Err(_) => true,
    }
}

/// Returns whether the current directory is a project or lies in one: it or a directory above it has a `proctor.toml`, is registered or is
/// the root of a git repository, or it has checks itself.
pub fn is_in_project(environment: &Environment) -> Result<bool, CommandError> {
    let here = named_root(environment, Path::new("."))?;
    let home = environment.variable("HOME").map(Path::new);
    let is_repository = here.join(".git").symlink_metadata().is_ok() || root_search::repository_above(&here, home).is_some();
    Ok(is_repository
        || root_search::root_above(&here, home, environment.state_root()).is_some()
        || has_checks(environment, &here))
}

/// Returns the directory that is named, with links resolved.
pub fn named_root(environment: &Environment, directory: &Path) -> Result<PathBuf, CommandError> {
    let path = environment.absolute(directory);
    let shown = directory.display();
    let root = std::fs::canonicalize(&path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            return CommandError::new(CommandExit::Usage, format!("there is no directory `{shown}`"))
                .hint("name the directory of a project, or leave it out to use the current one");
        }
        CommandError::caused(CommandExit::Usage, format!("the directory `{shown}` cannot be opened"), &error)
            .hint("check the permissions of the path")
    })?;
    if root.parent().is_none() {
        return Err(CommandError::new(CommandExit::Usage, "`/` is the whole file system, and no project")
            .hint("go to the directory of a project, or name it"));
    }
    if root.is_dir() {
        return Ok(root);
    }
    Err(CommandError::new(CommandExit::Usage, format!("`{shown}` is not a directory"))
        .hint("name the directory of a project, not a file in it"))
}

/// The longest `proctor.toml` that is read, in bytes.
const LONGEST_CONFIGURATION: u64 = 16 << 20;

/// Reads `proctor.toml`, or returns the defaults if there is no such file. The second value says whether the file
/// exists.
pub fn configuration(environment: &Environment, root: &Path) -> Result<(Configuration, bool), CommandError> {
    configuration_again(environment, root, &mut LastSettings::default())
}

/// The texts of a project's settings and of the user's own configuration that were read last, each with what it says, and the plan
/// that was made last, with the text that it is made of. Before each run the files are read again; a text that did not change is not parsed
/// again, and no plan is made again unless an answer changed that the project's files gave for it.
#[derive(Debug, Default)]
pub struct LastSettings {
    project: Option<(String, Configuration)>,
    user: Option<(String, UserAllowance)>,
    plan: Option<(Option<String>, PlannedBefore)>,
}

/// Returns what a text says: from `last`, if this is the same text, else from `read`, which is then the last one.
fn unless_same<T: Clone, E>(
    last: &mut Option<(String, T)>,
    text: String,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, E> {
    if let Some((before, value)) = last
        && *before == text
    {
        return Ok(value.clone());
    }
    let value = read(&text)?;
    *last = Some((text, value.clone()));
    Ok(value)
}

/// Reads `proctor.toml` as [`configuration`] does. `last` must only be used for one project.
fn configuration_again(
    environment: &Environment,
    root: &Path,
    last: &mut LastSettings,
) -> Result<(Configuration, bool), CommandError> {
    let path = root.join(CONFIGURATION_FILE);
    let bytes = match read_regular_file(&path, LONGEST_CONFIGURATION) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok((with_allowance(environment, root, Configuration::default(), last)?, false));
        }
        Err(error) => {
            return Err(CommandError::caused(
                CommandExit::SpecificationWrong,
                format!("`{CONFIGURATION_FILE}` cannot be read"),
                &error,
            )
            .hint(format!("make `{}` a file you may read, or remove it to have the checks discovered", path.display())));
        }
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        let message = format!("`{CONFIGURATION_FILE}` is not UTF-8, first in line {line}");
        CommandError::new(CommandExit::SpecificationWrong, message).hint("save the file in UTF-8")
    })?;
    let read = |text: &str| {
        let read = config::read(text, CONFIGURATION_FILE).map_err(|problems| from_problems(&problems))?;
        let lacking = config::lacking_feature(&read.remote, CONFIGURATION_FILE).filter(|_| !proctor_run::HAS_REMOTE);
        lacking.map_or(Ok(read), |problem| Err(from_problems(&[problem])))
    };
    let mut configuration = unless_same(&mut last.project, text, read)?;
    let specification = &mut configuration.specification;
    specification.unusable = environment.unusable_secrets(&specification.from_environment);
    if let Some(name) = &mut configuration.environment.env_file {
        env_file::name_what_a_link_leads_to(root, name);
        // Commands that run nothing need no such file. Whoever needs its variables reports why it cannot be read.
        configuration.environment.file_variables = env_file::read(root, name).ok();
    }
    Ok((with_allowance(environment, root, configuration, last)?, true))
}

/// Adds what the user's own configuration allows for a project.
fn with_allowance(
    environment: &Environment,
    root: &Path,
    mut configuration: Configuration,
    last: &mut LastSettings,
) -> Result<Configuration, CommandError> {
    configuration.inputs.levels_in_repository = inputs::levels_in_repository(environment, root);
    allow(environment, root, &mut configuration, last)?;
    Ok(configuration)
}

/// Puts what the user's own configuration allows for the project at `root` in the place of what it allows elsewhere.
///
/// # Errors
/// When the user's own configuration cannot be read or is wrong.
pub fn allow(
    environment: &Environment,
    root: &Path,
    configuration: &mut Configuration,
    last: &mut LastSettings,
) -> Result<(), CommandError> {
    let UserAllowance { settings, engine_socket, editor: _ } = allowed(environment, root, last)?;
    (configuration.allowed, configuration.engine_socket) = (settings, engine_socket);
    Ok(())
}

/// Returns the editor in which the page opens files, by the user's own configuration; `None` if it names none or is wrong, which every run says.
pub fn page_editor(environment: &Environment) -> Option<String> {
    allowed(environment, Path::new("/"), &mut LastSettings::default()).ok()?.editor
}

/// Returns what the user's own configuration allows for a project: nothing if it is wrong, which every run says.
pub(crate) fn allowed_by_user(environment: &Environment, root: &Path) -> JudgedSettings {
    allowed(environment, root, &mut LastSettings::default()).map(|allowance| allowance.settings).unwrap_or_default()
}

/// Reads what the user's own configuration allows for a project.
fn allowed(environment: &Environment, root: &Path, last: &mut LastSettings) -> Result<UserAllowance, CommandError> {
    let (path, home) = environment.user_configuration();
    let Some(path) = path else { return Ok(UserAllowance::default()) };
    let unreadable = |error: &std::io::Error| {
        CommandError::caused(CommandExit::SpecificationWrong, format!("`{}` cannot be read", path.display()), error)
            .hint("make your own configuration a text file that you may read, or remove it")
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(UserAllowance::default());
        }
        Err(error) => return Err(unreadable(&error)),
    };
    let name = path.display().to_string();
    let read = |text: &str| config::read_allowed(text, &name, root, home.as_deref());
    unless_same(&mut last.user, text, read).map_err(|problems| {
        let error = CommandError::new(CommandExit::SpecificationWrong, "your own configuration is wrong");
        let with_details = error.with_details(problems);
        with_details.hint("correct it, or remove it: projects then ask for what it allowed")
    })
}

/// Why the project's own checks have no plan.
pub struct Planless {
    pub reason: PlanlessReason,
    pub error: CommandError,
}

impl Planless {
    pub fn into_missing_plan(self) -> MissingOwnPlan {
        MissingOwnPlan { reason: self.reason, lines: self.error.lines() }
    }
}

/// Reads a project's configuration and plan again from its root, so that changes take effect before the next run.
pub fn reload(environment: &Environment, root: &Path) -> Result<LoadedProject, CommandError> {
    let (configuration, plan) = describe(environment, root)?;
    Ok(LoadedProject { root: root.to_owned(), configuration, plan: plan.map_err(|planless| planless.error)? })
}

/// Reads a project's configuration and makes the plan of the project's own checks. If only the plan is wrong, the
/// configuration is still returned, because tasks of test specifications need no such plan. In a project without checks a
/// save runs these tasks, unless the settings name others. Checks of a project without `proctor.toml` have the `paths`, `reuse` and order
/// that `proctor init` would write.
pub fn describe(environment: &Environment, root: &Path) -> Result<(Configuration, Result<Plan, Planless>), CommandError> {
    describe_again(environment, root, &mut LastSettings::default())
}

/// Reads a project as [`describe`] does. `last` must only be used for one project.
pub fn describe_again(
    environment: &Environment,
    root: &Path,
    last: &mut LastSettings,
) -> Result<(Configuration, Result<Plan, Planless>), CommandError> {
    let (mut configuration, has_file) = configuration_again(environment, root, last)?;
    let files = DiskFiles::new(root);
    let text = last.project.as_ref().filter(|_| has_file).map(|(text, _)| text);
    let before = last.plan.take().filter(|(of, before)| of.as_ref() == text && before.holds(&configuration, &files));
    let make = || (text.cloned(), PlannedBefore::make(&configuration, &files, &directory_name(root)));
    let (_, made) = last.plan.insert(before.unwrap_or_else(make));
    let mut plan = made.planned.clone().map_err(|problems| {
        let reason = if spec::lacks_only_checks(&problems) { PlanlessReason::WithoutChecks } else { PlanlessReason::Wrong };
        Planless { reason, error: from_problems(&problems) }
    });
    // Without a file, saves start what `proctor init` would write.
    if let (Ok(plan), false) = (&mut plan, has_file) {
        spec::propose_triggers(plan, &files);
        configuration.run.order = spec::propose_order(plan);
    }
    if plan.as_ref().is_err_and(|planless| planless.reason == PlanlessReason::WithoutChecks) {
        configuration.watch.tasks = configuration.watch.tasks.without_checks();
    }
    Ok((configuration, plan))
}

/// Makes the plan for a command that is given on the command line instead of the project's checks. All other settings
/// are the project's own.
///
/// # Errors
/// When the configuration is wrong, or the command cannot be a check.
pub fn load_command(environment: &Environment, root: &Path, command: &[String]) -> Result<LoadedProject, CommandError> {
    let (configuration, _) = configuration(environment, root)?;
    let files = DiskFiles::new(root);
    let plan = spec::plan_command(command, &configuration, &files, &directory_name(root))
        .map_err(|problems| from_problems(&problems))?;
    Ok(LoadedProject { root: root.to_owned(), configuration, plan })
}

/// Returns the name of a project's directory, which is the project's name.
pub fn directory_name(root: &Path) -> String {
    root.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Combines all problems of a configuration into one command error.
pub fn from_problems(problems: &[Problem]) -> CommandError {
    const MORE: &str = "`proctor init --print` shows every setting with its default";
    // A problem about something that is missing altogether has no position, and often there is no file. For a single
    // such problem, only the message is shown.
    if let [Problem { position: None, message, pointer, hint: Some(hint), .. }] = problems
        && !pointer.is_empty()
    {
        return CommandError::new(CommandExit::SpecificationWrong, message).hint(hint).hint(MORE);
    }
    let count = problems.len();
    let message =
        if count == 1 { "the configuration is wrong".to_owned() } else { format!("the configuration has {count} errors") };
    let error = CommandError::new(CommandExit::SpecificationWrong, message);
    let error = error.with_details(problems);
    error.hint(MORE)
}
