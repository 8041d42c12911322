//! Tests how well commands can be isolated on this machine, and examines limits and projects. What is found comes with a way to mend it.

mod findings;
mod machine;
mod space;

use std::path::{Path, PathBuf};

use self::findings::RemoteFound;
pub use self::findings::{DoctorFacts, DoctorFindings, Finding, InstalledService};
use self::machine::MachineFacts;
use self::space::EvidenceSize;
use crate::caller::RunControl;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{opening, setup, specification_files};
use proctor_model::{NetworkAccess, PlanSettings, RemoteServer};
use proctor_plan::spec::{self, DiskFiles};
use proctor_project::{ExaminationRequest, Machine, evidence_bytes, examine, snapshot_usage, try_snapshot};
use proctor_sandbox::EnvironmentAdditions;
use proctor_sandbox::process::{
    KernelSwitches, LauncherHandle, RunNetwork, clock, filter_obstacle, limits_offered, restricts_sockets_and_signals,
};

/// Examines the machine, and every registered project with the one at `place`. `service` is the state of the installed service.
///
/// # Errors
/// When the project's settings are wrong, or the store cannot be read.
pub fn examine_machine(
    environment: &Environment,
    place: &Path,
    service: Option<InstalledService>,
) -> Result<DoctorFacts, CommandError> {
    let mut launcher = opening::start_launcher(environment)?;
    let root = setup::project_root(environment, place)?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    // proctor itself is used as the command for the trial, because it exists on every machine.
    let command = [environment.executable().display().to_string(), "--version".to_owned()];
    let name = setup::directory_name(&root);
    let plan = spec::plan_command(&command, &configuration, &DiskFiles::new(&root), &name)
        .map_err(|problems| setup::from_problems(&problems))?;
    let action = plan.steps.first().expect("the plan of a command has a step");
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let request = ExaminationRequest {
        state_root: environment.state_root(),
        project_root: &root,
        action,
        program: environment.executable(),
        settings: &configuration.sandbox,
        additions: &EnvironmentAdditions::default(),
        ambient: environment.variables(),
        control,
    };
    let examination = examine(&mut launcher, &request)?;
    Ok(DoctorFacts {
        examination,
        controllers: limits_offered(),
        has_scopes: restricts_sockets_and_signals(),
        filter_obstacle: filter_obstacle(),
        switches: KernelSwitches::read(),
        mode: configuration.sandbox.mode,
        network: configuration.sandbox.network,
        network_obstacle: RunNetwork::make(environment.executable(), NetworkAccess::Loopback).err(),
        around: look_around(environment, &mut launcher, &request)?,
        service,
        remote: Some(&configuration.remote.server.value)
            .filter(|server| !server.endpoint.is_empty())
            .map(|server| ask_approved(environment, server, &root, &plan.settings))
            .transpose()?,
    })
}

/// Asks the server of `[remote]` what it can do, if a person approved it: the question has the token.
fn ask_approved(
    environment: &Environment,
    server: &RemoteServer,
    root: &Path,
    settings: &PlanSettings,
) -> Result<RemoteFound, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let found = archive.find_project(root).and_then(|project| match project {
        Some(project) => Ok(archive.unapproved_settings(&project, settings, "remote")?.is_none()),
        None => Ok(false),
    });
    let is_approved = found?;
    let answer = is_approved.then(|| proctor_run::ask_server(server, environment.variables(), root));
    Ok(RemoteFound { endpoint: server.endpoint.clone(), answer })
}

/// Reads the machine's limits and free space. Examines every registered project, and the project of the trial even if it
/// is not registered.
fn look_around(
    environment: &Environment,
    launcher: &mut LauncherHandle,
    trial: &ExaminationRequest<'_>,
) -> Result<MachineFacts, CommandError> {
    let asked = trial.project_root;
    let mut archive = opening::open_archive(environment)?;
    let registered = archive.projects()?;
    let mut places: Vec<_> = registered.into_iter().map(|project| (PathBuf::from(project.path), Some(project.id))).collect();
    if !places.iter().any(|(root, _)| root == asked) {
        places.push((asked.to_owned(), None));
    }
    let (mut projects, mut projects_without_limit) = (Vec::new(), 0);
    for (root, id) in places {
        // Errors in a configuration are ignored here; `proctor status` shows them.
        let loaded = specification_files::load_project(environment, &root).ok();
        let settings = loaded.as_ref().and_then(|loaded| opening::settings(environment, loaded).ok());
        let loaded = loaded.as_ref().zip(settings.as_ref()).map(|(loaded, settings)| (&loaded.plan, settings));
        let is_limited = settings.as_ref().is_some_and(|settings| settings.limits.bytes.is_some());
        projects_without_limit += u64::from(id.is_some() && root.is_dir() && !is_limited);
        let mut found = archive.examine_project((root, id.as_ref()), loaded, environment.variables(), clock::now());
        if let Some(settings) = settings.as_ref().filter(|_| found.file_system.is_some() && found.snapshot_obstacle.is_none()) {
            let (sandbox, additions) = (&settings.sandbox, &settings.environment);
            let trial = ExaminationRequest { project_root: &found.root, settings: sandbox, additions, ..*trial };
            // An error of the trial is reported as an obstacle of this project, so that the results of the other
            // projects are still shown.
            found.snapshot_obstacle = try_snapshot(launcher, &trial).unwrap_or_else(|error| Some(error.to_string()));
        }
        projects.push(found);
    }
    let (store, asked) = (environment.state_root().to_owned(), asked.to_owned());
    let evidence = EvidenceSize { bytes: evidence_bytes(&store), projects_without_limit };
    Ok(MachineFacts { machine: Machine::read(&store), snapshots: snapshot_usage(&store), evidence, store, projects, asked })
}
