//! `proctor service`: installs proctor in the user's service manager, removes it, and shows its state. Which projects the service watches is
//! changed by `add` and `remove` and shown by `list`, in files of their own.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::cli::commands::{add, daemon, list, remove};
use crate::cli::installation::advice::{AnsweringService, InstallationFacts, ManagerFacts, findings, missing_directories};
use crate::cli::installation::disk;
use crate::cli::installation::manager::{self, ManagerError, UnitState, UnitStates};
use crate::cli::installation::unit_file::{Ownership, SERVICE, SOCKET, UNIT_FILES, UnitFile, carried, classify};
use crate::cli::service_arguments::{ServiceOptions, ServiceVerb};
use crate::cli::style::{Line, Style, Tone};
use crate::cli::{environment, render, screen};
use proctor_api::{DoingV1, MethodV1, ServiceV1, StatusV1};
use proctor_app::doctor::Finding;
use proctor_app::serving::AT_ONCE;
use proctor_app::{CommandError, Environment, serving};
use proctor_model::{CommandExit, ServiceTrouble, Serving};
use proctor_project::StoreReader;
use proctor_sandbox::process::clock;

/// The longest wait for the end of the runs under way before the service is restarted with another program.
const LONGEST_RUN: Duration = Duration::from_secs(300);
/// How often the service is asked whether a run is under way.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A unit file of proctor: its path, the text that belongs there, and who wrote the file that is there now.
struct Placed {
    unit: UnitFile,
    path: PathBuf,
    text: String,
    ownership: Ownership,
}

/// Whether proctor is installed as a service: its two unit files on disk, and the facts by which problems are found.
struct Installation {
    placed: [Placed; 2],
    facts: InstallationFacts,
}

/// The document that `--json` prints (`proctor-service-v1`).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'f> {
    schema: &'static str,
    /// The files that this command has written or removed.
    changed: Vec<String>,
    program: String,
    units: Vec<UnitV1>,
    systemd: Option<u32>,
    manager_reachable: bool,
    lingers: bool,
    projects: usize,
    /// The version of this program, and of the program that the service runs; `null` if no service answers.
    version: &'static str,
    service_version: Option<&'f str>,
    /// The projects that the service cannot judge, and why.
    troubled: Vec<TroubledV1<'f>>,
    missing_on_path: &'f [String],
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TroubledV1<'f> {
    root: &'f str,
    health: &'f ServiceTrouble,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UnitV1 {
    name: &'static str,
    path: String,
    file: Ownership,
    active: String,
    enabled: String,
    process: Option<u32>,
}

pub(crate) fn execute(options: &ServiceOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    match &options.verb {
        ServiceVerb::Add(options) => add::execute(options, environment),
        ServiceVerb::Remove(options) => remove::execute(options, environment),
        ServiceVerb::List(options) => list::execute(options, environment),
        ServiceVerb::Daemon(options) => daemon::execute(options, environment),
        verb @ (ServiceVerb::Install { .. } | ServiceVerb::Uninstall { .. } | ServiceVerb::Status { .. }) => {
            manage(verb, environment)
        }
    }
}

/// Installs or removes the service as the command says, and shows its state.
fn manage(verb: &ServiceVerb, environment: &Environment) -> Result<CommandExit, CommandError> {
    let before = look(environment)?;
    let changed = match verb {
        ServiceVerb::Install { force, .. } => install(&before, *force, environment)?,
        ServiceVerb::Uninstall { force, .. } => uninstall(&before, *force)?,
        ServiceVerb::Status { .. }
        | ServiceVerb::Add(_)
        | ServiceVerb::Remove(_)
        | ServiceVerb::List(_)
        | ServiceVerb::Daemon(_) => Vec::new(),
    };
    let now = if changed.is_empty() { before } else { look(environment)? };
    let is_removed = matches!(verb, ServiceVerb::Uninstall { .. });
    let found = if is_removed { Vec::new() } else { findings(&now.facts) };
    let runs = now.facts.manager.units.as_ref().is_ok_and(|units| units.service.is_active() && units.service.is_enabled());
    let judges = now.facts.running.as_ref().is_none_or(|running| running.troubled.is_empty());
    if verb.is_json() {
        render::document(&document(&now, changed, found));
    } else {
        let style = environment::style(environment);
        lines(&now, &changed, &found, is_removed, style).iter().for_each(render::line);
    }
    Ok(if (runs && judges) || is_removed { CommandExit::Proceed } else { CommandExit::CodeNeedsWork })
}

/// Returns the state of the service for `proctor doctor`; `None` if no unit file of the user's own is found for it, or its state
/// cannot be read.
pub(crate) fn installed(environment: &Environment) -> Option<InstallationFacts> {
    let directory = disk::unit_directory(environment.variables())?;
    // The service manager is asked only if the user's own unit file exists. A unit file from a package is not examined,
    // because `proctor service install` did not write it.
    let is_there = disk::read(&directory.join(SERVICE.name)).is_ok_and(|found| found.is_some());
    if is_there { look(environment).ok().map(|found| found.facts) } else { None }
}

fn look(environment: &Environment) -> Result<Installation, CommandError> {
    let directory = disk::unit_directory(environment.variables()).ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "there is no place for unit files")
            .hint("set HOME, or XDG_CONFIG_HOME to an absolute path")
    })?;
    let program = program(environment)?;
    let (variables, left_out) = carried(environment.variables());
    let place = |unit: UnitFile| {
        let path = directory.join(unit.name);
        let text = unit.text(&program, &variables).map_err(|error| {
            CommandError::of(CommandExit::Usage, &error).hint("move the program to a plain path and run it from there")
        })?;
        let found = disk::read(&path).map_err(|error| from_disk_error("read", &path, &error))?;
        let ownership = classify(found.as_deref(), &text);
        Ok::<_, CommandError>(Placed { unit, path, text, ownership })
    };
    let [socket, service] = UNIT_FILES;
    let placed = [place(socket)?, place(service)?];
    let shell = variables.get("PATH").map_or("", String::as_str);
    let own = manager::search_path().ok().flatten();
    let facts = InstallationFacts {
        service_file: placed[1].path.clone(),
        ownership: [placed[1].ownership, placed[0].ownership],
        manager: ManagerFacts {
            units: manager::states().map_err(|error| said(&error)),
            has_runtime_directory: environment.has("XDG_RUNTIME_DIR"),
            systemd: manager::version().ok().flatten(),
            lingers: disk::user_name().is_some_and(|user| disk::lingers(&user)),
        },
        missing_on_path: own.map(|own| missing_directories(shell, &own)).unwrap_or_default(),
        left_out,
        projects: served_projects(environment),
        running: running_service(environment, &program),
        program,
    };
    Ok(Installation { placed, facts })
}

/// Returns the path that unit files use for this program. An entry `proctor` of the search path that leads to this
/// program is preferred, because that path stays the same when a package manager replaces the program.
fn program(environment: &Environment) -> Result<PathBuf, CommandError> {
    let real = std::fs::read_link(environment.executable()).ok().filter(|path| path.is_absolute() && path.exists());
    let real = real.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "the file of this program is not there any more")
            .hint("start the program that took its place")
    })?;
    let path_variable = environment.variable("PATH").unwrap_or_default();
    let mut candidates =
        std::env::split_paths(path_variable).filter(|entry| entry.is_absolute()).map(|entry| entry.join("proctor"));
    Ok(candidates.find(|path| path.canonicalize().is_ok_and(|found| found == real)).unwrap_or(real))
}

fn served_projects(environment: &Environment) -> usize {
    let projects =
        StoreReader::open(environment.state_root(), environment.variables().clone()).and_then(|mut archive| archive.projects());
    projects.map_or(0, |all| all.iter().filter(|project| project.serving == Serving::Served).count())
}

/// Asks the running service for its version and for the projects that it cannot judge; `None` if none answers.
fn running_service(environment: &Environment, program: &Path) -> Option<AnsweringService> {
    let client = serving::listening(environment)?;
    let status = client.ask::<StatusV1>(MethodV1::Get, "/v1/status", AT_ONCE).ok()?;
    let ServiceV1 { pid, version, .. } = status.service?;
    let (mut troubled, mut noted) = (Vec::new(), Vec::new());
    for project in status.projects {
        match project.health {
            Some(health) => troubled.push((project.root, health)),
            None if project.problems.is_empty() => {}
            None => noted.push((project.root, project.problems)),
        }
    }
    // The link in `/proc` leads to the file that the process was started from, also if another file has its name by now.
    let started_from = disk::file_identity(Path::new(&format!("/proc/{pid}/exe")));
    let is_another_program = started_from.zip(disk::file_identity(program)).is_some_and(|(one, other)| one != other);
    Some(AnsweringService { version, is_another_program, troubled, noted })
}

/// Waits until no run is under way, for [`LONGEST_RUN`] at most, so that a restart of the service stops no run. A run that takes
/// longer is stopped by the restart, sealed as INTERRUPTED, and made anew afterwards.
fn wait_for_runs(environment: &Environment) {
    let begun = clock::monotonic();
    let mut is_told = false;
    while let Some(projects) = serving::list_projects(environment)
        && projects.iter().any(|project| project.standing.as_ref().is_some_and(|standing| standing.doing == DoingV1::Running))
        && clock::monotonic().since(begun) < LONGEST_RUN
    {
        if !is_told {
            render::note("waiting for the end of the run under way, then the service is restarted");
            is_told = true;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn install(before: &Installation, force: bool, environment: &Environment) -> Result<Vec<String>, CommandError> {
    let units = reachable(before)?;
    refuse_others(before, force, &[Ownership::Edited, Ownership::Foreign])?;
    if !units.socket.is_active()
        && let Some(projects) = serving::list_projects(environment)
    {
        let message =
            format!("a service that was started by hand is running, with {}", screen::counted(projects.len() as u64, "project"));
        return Err(
            CommandError::new(CommandExit::Usage, message).hint("end that `proctor service daemon`, then install the service")
        );
    }
    let mut changed = Vec::new();
    for placed in before.placed.iter().filter(|placed| placed.ownership != Ownership::Current) {
        disk::write(&placed.path, &placed.text).map_err(|error| from_disk_error("write", &placed.path, &error))?;
        changed.push(placed.path.display().to_string());
    }
    let is_up = |unit: &UnitState| unit.is_active() && unit.is_enabled();
    let was_another_program = before.facts.running.as_ref().is_some_and(|running| running.is_another_program);
    if changed.is_empty() && is_up(&units.service) && is_up(&units.socket) && !was_another_program {
        return Ok(changed);
    }
    let mut is_another_program = was_another_program;
    if was_another_program {
        wait_for_runs(environment);
        // The service notices another program too, and may have started it by itself meanwhile.
        let now = running_service(environment, &before.facts.program);
        is_another_program = now.is_none_or(|running| running.is_another_program);
    }
    let told = manager::tell(&["daemon-reload"], &[])
        // systemd does not start a unit again that has failed too often, unless the failures are reset.
        .and_then(|()| manager::tell(&["reset-failed"], &[SERVICE.name]).or(Ok(())))
        .and_then(|()| manager::tell(&["enable", "--now"], &[SOCKET.name, SERVICE.name]))
        .and_then(|()| {
            // A service that runs already was started with the old unit files or from the old program, so it is restarted.
            let is_old = (!changed.is_empty() || is_another_program) && units.service.is_active();
            if is_old { manager::tell(&["restart"], &[SERVICE.name]) } else { Ok(()) }
        });
    told.map_err(|error| from_manager_error(&error).hint("`journalctl --user -u proctor` may say why"))?;
    if changed.is_empty() {
        let what = if was_another_program { "restarted with the program as it is now" } else { "enabled and started" };
        changed.push(what.to_owned());
    }
    Ok(changed)
}

fn uninstall(before: &Installation, force: bool) -> Result<Vec<String>, CommandError> {
    reachable(before)?;
    refuse_others(before, force, &[Ownership::Edited])?;
    let is_ours = |placed: &&Placed| !matches!(placed.ownership, Ownership::Absent | Ownership::Foreign);
    let ours: Vec<&Placed> = before.placed.iter().filter(is_ours).collect();
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = ours.iter().map(|placed| placed.unit.name).collect();
    manager::tell(&["disable", "--now"], &names).map_err(|error| from_manager_error(&error))?;
    let mut changed = Vec::new();
    for placed in ours {
        disk::remove(&placed.path).map_err(|error| from_disk_error("remove", &placed.path, &error))?;
        changed.push(placed.path.display().to_string());
    }
    manager::tell(&["daemon-reload"], &[]).map_err(|error| from_manager_error(&error))?;
    // Without this, systemd would show the removed unit as failed if its last run had failed.
    let _none_failed = manager::tell(&["reset-failed"], &names);
    Ok(changed)
}

fn reachable(before: &Installation) -> Result<&UnitStates, CommandError> {
    before.facts.manager.units.as_ref().map_err(|_| {
        let finding = findings(&before.facts).into_iter().next();
        let finding = finding.expect("a manager that cannot be reached is the first row of the table");
        CommandError::new(CommandExit::Usage, finding.problem)
            .hint(finding.advice)
            .hint("without systemd, start `proctor service daemon` by whatever starts your programs")
    })
}

fn refuse_others(before: &Installation, force: bool, others: &[Ownership]) -> Result<(), CommandError> {
    let mut in_the_way = before.placed.iter().filter(|placed| others.contains(&placed.ownership)).peekable();
    if force || in_the_way.peek().is_none() {
        return Ok(());
    }
    let error =
        CommandError::new(CommandExit::Usage, "nothing was done: a unit file is not as `proctor service install` wrote it");
    let error = error.with_details(in_the_way.map(|placed| placed.path.display()));
    Err(error.hint("keep changes in `systemctl --user edit proctor.service`; `--force` takes the file all the same"))
}

fn document(now: &Installation, changed: Vec<String>, findings: Vec<Finding>) -> Document<'_> {
    let facts = &now.facts;
    let units = now.placed.iter().map(|placed| {
        let state = state_of(facts, placed.unit);
        let process = Some(state.number("MainPID")).filter(|process| *process != 0);
        UnitV1 {
            name: placed.unit.name,
            path: placed.path.display().to_string(),
            file: placed.ownership,
            active: state.property("ActiveState").to_owned(),
            enabled: state.property("UnitFileState").to_owned(),
            process,
        }
    });
    Document {
        schema: "proctor-service-v1",
        changed,
        program: facts.program.display().to_string(),
        units: units.collect(),
        systemd: facts.manager.systemd,
        manager_reachable: facts.manager.units.is_ok(),
        lingers: facts.manager.lingers,
        projects: facts.projects,
        version: env!("CARGO_PKG_VERSION"),
        service_version: facts.running.as_ref().map(|running| running.version.as_str()),
        troubled: troubled(facts).map(|(root, health)| TroubledV1 { root, health }).collect(),
        missing_on_path: &facts.missing_on_path,
        findings,
    }
}

fn lines(now: &Installation, changed: &[String], findings: &[Finding], is_removed: bool, style: Style) -> Vec<Line> {
    let facts = &now.facts;
    let verb = if is_removed { "removed" } else { "wrote" };
    let mut lines: Vec<Line> = changed
        .iter()
        .map(|path| if path.starts_with('/') { format!("{verb} {path}").into() } else { path.as_str().into() })
        .collect();
    if is_removed && changed.is_empty() {
        lines.push("nothing that `proctor service install` wrote is there".into());
    }
    if is_removed {
        return lines;
    }
    for placed in &now.placed {
        let state = state_of(facts, placed.unit);
        let (mark, tone) = match (state.is_active(), placed.unit == SERVICE && troubled(facts).next().is_some()) {
            (true, false) => ("✓", Tone::Good),
            (true, true) => ("✗", Tone::Bad),
            (false, _) => ("-", Tone::Doubtful),
        };
        let word = |name: &str, otherwise: &'static str| {
            Some(state.property(name)).filter(|text| !text.is_empty()).unwrap_or(otherwise).to_owned()
        };
        let process = Some(state.number("MainPID")).filter(|process| *process != 0).map(|process| format!(", process {process}"));
        let (active, enabled) = (word("ActiveState", "unknown"), word("UnitFileState", "not installed"));
        let rest = format!(" {:<16} {active}, {enabled}{}", placed.unit.name, process.unwrap_or_default());
        lines.push(style.paint(tone, mark).and(rest));
    }
    let version = env!("CARGO_PKG_VERSION");
    let served_by = facts.running.as_ref().map(|running| format!("; the service runs {}", running.version)).unwrap_or_default();
    lines.push(format!("program: {} (version {version}{served_by})", facts.program.display()).into());
    if !facts.missing_on_path.is_empty() {
        lines.push(
            format!("search path: your shell's; without it, services would not find {}", facts.missing_on_path.join(", ")).into(),
        );
    }
    let version = facts.manager.systemd.map_or_else(|| "unknown".to_owned(), |version| version.to_string());
    let stays = if facts.manager.lingers { "goes on when you log out" } else { "ends when you log out" };
    lines.push(
        format!("systemd {version} · the service {stays} · watches {}", screen::counted(facts.projects as u64, "project")).into(),
    );
    for finding in findings {
        lines.push(format!("{}:", finding.problem).into());
        lines.push(Line::from("  ").and(style.paint(Tone::Strong, &finding.advice)));
    }
    lines
}

fn troubled(facts: &InstallationFacts) -> impl Iterator<Item = (&String, &ServiceTrouble)> {
    facts.running.iter().flat_map(|running| running.troubled.iter().map(|(root, health)| (root, health)))
}

fn state_of(facts: &InstallationFacts, unit: UnitFile) -> UnitState {
    let units = facts.manager.units.as_ref().ok();
    units.map(|units| if unit == SERVICE { units.service.clone() } else { units.socket.clone() }).unwrap_or_default()
}

fn said(error: &ManagerError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

fn from_manager_error(error: &ManagerError) -> CommandError {
    CommandError::of(CommandExit::OwnFault, error)
}

fn from_disk_error(verb: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::caused(CommandExit::Usage, format!("failed to {verb} `{}`", path.display()), error)
        .hint("check the permissions of the directory")
}
