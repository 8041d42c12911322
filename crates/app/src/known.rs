//! What is known of a project's present files without a run: the verdict of a run that judged just them.

mod attested;

use std::path::PathBuf;

use crate::environment::Environment;
use crate::error::CommandError;
pub(crate) use crate::known::attested::{add_attested, may_be_attested};
use crate::project::opening;
use crate::project::setup::LoadedProject;
use crate::status::stand_with_attested;
use crate::wait;
use crate::work_trees::register_linked_work_tree;
use proctor_api::{AnswerV1, InTimeV1};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, Freshness, KnownFrom, TaskId, TreeDigest};
use proctor_project::{OTHER_VARIABLES, variables_digest};
use proctor_sandbox::process::clock;

/// A verdict that holds for the present files.
#[derive(Debug)]
pub struct KnownReport {
    pub exit: CommandExit,
    /// Where it comes from, for people: `known from ../main, run 31`.
    pub source: String,
    /// The report of the run, which says where it comes from.
    pub report: ExecutionReportV2,
}

/// What is known of the present files.
#[derive(Debug)]
pub enum KnownOutcome {
    Known(Box<KnownReport>),
    /// Another store's run, which a trusted key attested. There is no report of it here.
    Attested {
        /// Where it comes from, for people: `attested by ci-key, 3 min ago`.
        source: String,
        tree: Option<TreeDigest>,
        /// How the project stands by that, as `proctor wait` answers.
        answer: Box<AnswerV1>,
    },
    /// Nothing, and why not, one line for each reason.
    Unknown(Vec<String>),
}

/// Returns what is known of a task on the present files of a project. Nothing is run. A verdict with other variables than checks would get
/// now is not known.
///
/// # Errors
/// When the project or the store cannot be read.
pub fn known_files(environment: &Environment, loaded: &LoadedProject, task: &TaskId) -> Result<KnownOutcome, CommandError> {
    let root = loaded.root.as_path();
    register_linked_work_tree(environment, root)?;
    let mut archive = opening::open_archive(environment)?;
    let standing = stand_with_attested(environment, &mut archive, root, std::slice::from_ref(task))?;
    let Some(status) = standing.of(task) else { return Ok(KnownOutcome::Unknown(vec![format!("there is no task {task}")])) };
    let Freshness::Fresh { exit, .. } = status.freshness else {
        let why = match status.not_known.as_slice() {
            [] => vec!["the task waits for something else than a run: `proctor status` says for what".to_owned()],
            why => why.to_vec(),
        };
        return Ok(KnownOutcome::Unknown(why));
    };
    let here = root.display().to_string();
    if let Some(known) = status.known.as_ref().filter(|known| known.attested.is_some()) {
        let answer = wait::answer(&archive, &standing, task, InTimeV1::Answered)?;
        let source = known.words_at(&here, clock::now());
        return Ok(KnownOutcome::Attested { source, tree: status.tree, answer: Box::new(answer) });
    }
    let gone = || KnownOutcome::Unknown(vec!["the run that judged these files is not stored any more".to_owned()]);
    let Some(verdict) = &status.verdict else { return Ok(gone()) };
    let own = || KnownFrom { run: verdict.run_id.clone(), root: None, condition: None, attested: None };
    let from = status.known.clone().unwrap_or_else(own);
    let elsewhere = from.root.as_ref().map(PathBuf::from);
    let project = archive.find_project(elsewhere.as_deref().unwrap_or(root))?;
    let Some(project) = project else { return Ok(gone()) };
    let run = archive.find(&project, Some(verdict.run_id.as_str()))?;
    let Some(run) = run else { return Ok(gone()) };
    let (_, report) = archive.report(&project, &run)?;
    let additions = opening::settings(environment, loaded)?.environment;
    let variables = variables_digest(&archive.store, root, environment.variables(), &additions);
    if report.environment.as_ref().is_some_and(|made| made.variables.is_some() && made.variables != variables) {
        return Ok(KnownOutcome::Unknown(vec![format!("the checks of {} {OTHER_VARIABLES}", verdict.run_id)]));
    }
    let source = from.words(&here);
    let report = ExecutionReportV2 { known_from: Some(from), ..report };
    Ok(KnownOutcome::Known(Box::new(KnownReport { exit, source, report })))
}
