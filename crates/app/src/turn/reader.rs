//! The verdict of a project in an agent's turn.

use std::path::Path;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::history::{self, ComparedRuns};
use crate::hook::HookVerdictReader;
use crate::project::{opening, setup};
use crate::serving::{self, ServedProject};
use crate::status;
use crate::turn::note_error;
use crate::wait::{Patience, wait};
use crate::work_trees::register_linked_work_tree;
use proctor_api::{AnswerV1, ComparisonV1, MethodV1, ProjectStatusV1};
use proctor_model::{RunId, Serving, TaskId, TestOutcome, TreeDigest};
use proctor_plan::changes::lost_tests;
use proctor_plan::config::Configuration;
use proctor_sandbox::process::clock;

/// How much longer the service may take to answer than it waits, and a run in this process to end when its time is over.
const MARGIN: Duration = Duration::from_secs(3);
/// How many of the newest lines of a ledger are searched for an answer of `proctor prove`: a turn's end waits for it.
const LINES_AT_TURN: usize = 500;

/// Reads a project's verdict: from the service if it watches the project, else in this process.
pub(super) struct ProjectReader<'a> {
    environment: &'a Environment,
    root: &'a Path,
    /// Returns how long the service may take to say how the project stands.
    looking: &'a dyn Fn() -> Duration,
    /// The service and the project there, once it was asked and watches the project.
    served: Option<ServedProject>,
    /// Whether the project has checks of its own, by the last answer of the service. One with test specifications alone has none.
    has_own_checks: bool,
}

impl<'a> ProjectReader<'a> {
    pub(super) fn new(environment: &'a Environment, root: &'a Path, looking: &'a dyn Fn() -> Duration) -> Self {
        Self { environment, root, looking, served: None, has_own_checks: false }
    }

    fn ask(&self, query: &str, within: Duration) -> Option<ProjectStatusV1> {
        let served = self.served.as_ref().filter(|_| !within.is_zero())?;
        let path = format!("/v1/projects/{}/verdict?task={}{query}", served.project.id, TaskId::default_task());
        match served.client.ask::<AnswerV1>(MethodV1::Get, &path, within) {
            Ok(answer) => Some(answer.project),
            Err(error) => {
                serving::say_unusable(self.environment, &error);
                None
            }
        }
    }

    /// Registers a linked working tree of a registered project. Returns whether it was registered now.
    fn is_registered_now(&self) -> bool {
        register_linked_work_tree(self.environment, self.root).unwrap_or_else(|error| {
            note_error(self.environment, &error);
            false
        })
    }

    /// Waits for every task: the service is asked, or the checks are run here where no service does it. A run that is not over in time is
    /// stopped, and its verdict is then not known.
    fn test_here(&self, within: Duration) {
        // An agent may take what is on standard error for the answer, and nobody is asked anything in the middle of its turn.
        let environment = self.environment.with_caller(self.environment.caller().with_answers_only());
        if let Err(error) = wait(&environment, self.root, None, Patience { timeout: within, grace: Some(MARGIN) }) {
            self.environment.note(&format!("note: the checks cannot be run: {}", error.sentence()));
        }
    }

    /// Returns the project's configuration, or the one of a project without any where it is wrong.
    pub(super) fn configuration(&self) -> Configuration {
        setup::configuration(self.environment, self.root).map_or_else(|_| Configuration::default(), |(read, _)| read)
    }

    fn digest_here(&self) -> Result<Option<TreeDigest>, CommandError> {
        // A configuration that became wrong is a change of the tree too, whatever it says of what belongs to the tree.
        let configuration = self.configuration();
        let settings = opening::settings_of(self.environment, self.root, &configuration)?;
        let mut archive = opening::open_archive(self.environment)?;
        archive.tree_now(self.root, &settings).map_err(CommandError::from)
    }

    /// Does what [`HookVerdictReader::read_missing_tests`] says for runs of any checkout of the repository.
    fn missing_across(&self, runs: &[(RunId, TreeDigest); 2]) -> Result<Vec<String>, CommandError> {
        let mut archive = opening::open_archive(self.environment)?;
        let [before, now] = runs.each_ref().map(|(run, tree)| archive.tests_of_runs(self.root, *tree, &[run]));
        let both = before.and_then(|before| Ok(before.zip(now?)))?;
        let Some((before, now)) = both else { return Ok(Vec::new()) };
        Ok(lost_tests(&before, &now).into_iter().flatten().map(|test| test.id.clone()).collect())
    }

    /// Computes how the project stands without the service.
    fn look_here(&self) -> Result<Option<ProjectStatusV1>, CommandError> {
        let mut archive = opening::open_archive(self.environment)?;
        let standing = status::stand(self.environment, &mut archive, self.root, &[])?;
        if standing.project.is_none() {
            return Ok(None);
        }
        let project = ProjectStatusV1::new(&standing, Serving::NotServed, clock::now());
        Ok(Some(status::with_failures(self.environment, project)))
    }
}

impl HookVerdictReader for ProjectReader<'_> {
    fn read_now(&mut self) -> Option<ProjectStatusV1> {
        // Without any time left, the service is not asked any more: it did not answer about another project.
        let is_asked = !(self.looking)().is_zero();
        self.served = if is_asked { serving::serving_within(self.environment, self.root, (self.looking)()) } else { None };
        if self.served.is_none() && self.is_registered_now() {
            self.served = serving::serving_within(self.environment, self.root, (self.looking)());
        }
        if let Some(project) = self.ask("", (self.looking)()) {
            self.has_own_checks = project.tasks.iter().any(|task| task.task == TaskId::default_task());
            return Some(project);
        }
        self.look_here().unwrap_or_else(|error| {
            note_error(self.environment, &error);
            None
        })
    }

    fn wait_for_verdict(&mut self, within: Duration) -> Option<ProjectStatusV1> {
        // A wait for the project's own checks, where there are none, is answered as a wrong configuration.
        if self.served.is_some() && self.has_own_checks {
            return self.ask(&format!("&wait=fresh&timeout={}ms", within.as_millis()), within + MARGIN);
        }
        self.test_here(within);
        if let Some(project) = self.ask("", (self.looking)()) {
            return Some(project);
        }
        self.look_here().unwrap_or_else(|error| {
            note_error(self.environment, &error);
            None
        })
    }

    fn read_passing_without(&mut self, tree: TreeDigest) -> Option<(usize, usize)> {
        let mut archive = opening::open_archive(self.environment).ok()?;
        let project = archive.find_project(self.root).ok()??;
        let (_, newest) = archive.proofs_on_tree(&project, tree, LINES_AT_TURN).ok()?.into_iter().next()?;
        newest.passing_without().filter(|(passing, _)| *passing > 0)
    }

    fn read_missing_tests(&mut self, runs: [(RunId, TreeDigest); 2]) -> Vec<String> {
        let [(before, _), (now, _)] = &runs;
        let compared =
            history::compare(self.environment, self.root, ComparedRuns::Named { from: before.as_str(), to: Some(now.as_str()) });
        let Ok(ComparisonV1 { comparison, .. }) = compared else {
            // One of them is a run of another checkout.
            return self.missing_across(&runs).unwrap_or_else(|error| {
                note_error(self.environment, &error);
                Vec::new()
            });
        };
        let ran = |outcome: &Option<TestOutcome>| outcome.is_some_and(|outcome| outcome != TestOutcome::Skipped);
        let all = comparison.gone.iter().chain(&comparison.changed).chain(&comparison.mended);
        all.filter(|test| ran(&test.from) && !ran(&test.to)).map(|test| test.test.id.clone()).collect()
    }

    fn read_tree(&mut self) -> Option<TreeDigest> {
        self.digest_here().unwrap_or_else(|error| {
            note_error(self.environment, &error);
            None
        })
    }
}
