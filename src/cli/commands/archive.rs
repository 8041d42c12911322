//! `proctor archive`: packs each run into one file.

use std::collections::BTreeSet;

use crate::cli::evidence_arguments::ArchiveOptions;
use crate::cli::render;
use crate::cli::screen;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::ArchiveRequest;
use proctor_model::{CommandExit, ProjectId, RetentionLimits, TaskId};
use proctor_project::{ArchivedRunSize, ArchivingOutcome, ProjectScope, StoreReader, archive, plan_archiving};

pub(crate) fn execute(options: &ArchiveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let (runs, project) = opening::open_registered(environment, &root)?;
    let settings = opening::settings_of(environment, &root, &configuration)?;
    let wish = wish(options, &runs, &project, &settings.limits)?;
    let archived = if options.dry_run {
        plan_archiving(environment.state_root(), &project, &wish)
    } else {
        let scope = ProjectScope { project, root, asker: environment.asker() };
        archive(environment.state_root(), &scope, &settings, &wish)
    };
    let archived = archived.map_err(|error| super::from_run_error(&error))?;
    lines(&archived).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn wish(
    options: &ArchiveOptions,
    archive: &StoreReader,
    project: &ProjectId,
    limits: &RetentionLimits,
) -> Result<ArchiveRequest, CommandError> {
    if !options.runs.is_empty() {
        let named = options.runs.iter().map(|wanted| find(archive, project, wanted)).collect::<Result<BTreeSet<_>, _>>()?;
        return Ok(ArchiveRequest::Runs(named));
    }
    let days = options.days.or(limits.archive_days).ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "it is not said which runs are to be archived")
            .hint("name runs, say `--days N` (0: all that may be), or set `archive_days` in `[evidence]` of proctor.toml")
    })?;
    let task = options.task.as_deref().map(TaskId::try_from).transpose();
    let task = task.map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("`proctor log` lists the runs"))?;
    Ok(ArchiveRequest::Old { days, task })
}

fn find(archive: &StoreReader, project: &ProjectId, wanted: &str) -> Result<proctor_model::RunId, CommandError> {
    let found = archive.find(project, Some(wanted)).map_err(|error| super::from_run_error(&error))?;
    let run = found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no sealed run `{wanted}`")).hint("`proctor log` lists the runs")
    })?;
    match run.pruned {
        Some(why) => Err(super::from_prune_reason(&run.run_id, why)),
        None => Ok(run.run_id),
    }
}

fn lines(archived: &ArchivingOutcome) -> Vec<String> {
    let line = |run: &ArchivedRunSize| match run.after {
        Some(after) => format!("{}  {} bytes, archived {after}", run.run_id, run.before),
        None => format!("{}  {} bytes, would be archived", run.run_id, run.before),
    };
    let mut lines: Vec<String> = archived.runs.iter().map(line).collect();
    lines.extend(archived.stays.iter().map(|(run_id, why)| format!("{run_id}  stays as it is: {why}")));
    if archived.finished > 0 {
        lines.push(format!(
            "tidied {} of which a process that died had left something",
            screen::counted(archived.finished as u64, "run")
        ));
    }
    let runs = screen::counted(archived.runs.len() as u64, "run");
    let before: u64 = archived.runs.iter().map(|run| run.before).sum();
    let after = archived.runs.iter().map(|run| run.after).sum::<Option<u64>>();
    lines.push(match after {
        Some(after) if !archived.runs.is_empty() => {
            format!("{runs} archived: {after} bytes of {before}")
        }
        Some(_) => "0 runs archived".to_owned(),
        None => format!("{runs}, {before} bytes would be archived"),
    });
    lines
}
