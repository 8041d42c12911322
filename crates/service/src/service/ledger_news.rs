//! The runs of projects that nobody watches: other processes make them, and the ledgers tell of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::Sender;

use crate::service::call::Call;
use proctor_api::{DoingV1, EventV1, ListedV1, ProjectV1, RunOutcomeV1, WatchingV1};
use proctor_evidence::watching_process;
use proctor_model::{Activity, Approval, CheckCounts, CommandExit, OverallResult, OverallStatus, ProjectId, Sequence, TaskId};
use proctor_project::{ProjectError, RecordedRun, RegisteredProject, StoreReader};
use proctor_sandbox::process::clock;
use proctor_tree::watch::{FollowedFile, WatchHub};

/// How many of a project's newest runs are looked at when its ledger grew.
const LOOKED_AT: u32 = 20;
/// The directory of a store that has its ledgers.
const LEDGERS: &str = "ledger";

/// Returns a project as its ledger describes it. Its files are not read, but it is said if its
/// directory is not there.
///
/// # Errors
/// When the ledger or the index cannot be read.
pub fn list_by_ledger(archive: &mut StoreReader, project: &RegisteredProject) -> Result<ProjectV1, ProjectError> {
    let root = PathBuf::from(&project.path);
    let mut standing = archive.last_known_status(Some(&project.id), &root, Approval::Approved, &[], Activity::Idle)?;
    // Own checks that never had a verdict are left out beside other tasks: the project may have only test specifications. A task whose
    // runs had none, because its specification is wrong, is listed.
    let own = TaskId::default_task();
    if standing.tasks.iter().any(|task| task.verdict.is_some() || task.task != own) {
        standing.tasks.retain(|task| task.verdict.is_some() || task.task != own);
    }
    let watched_by = watching_process(archive.state_root(), &project.id);
    let listed = ListedV1::new(&standing, WatchingV1::NotWatched, DoingV1::Unknown, clock::now());
    let listed = ListedV1 { watched_by, ..listed };
    let listed = if root.is_dir() { listed } else { listed.with_missing_root() };
    Ok(ProjectV1 { standing: Some(listed), ..ProjectV1::new(project.id.clone(), &root, project.serving) })
}

/// Follows the ledgers, and finds the runs that are new in them.
#[derive(Debug, Default)]
pub(crate) struct LedgerNews {
    /// How far the runs of each project are told. `None` before the first look: what is there then is not new.
    told: Option<BTreeMap<ProjectId, ToldRuns>>,
    /// The ledgers, and their directory, in which new ones appear.
    followed: Vec<FollowedFile>,
    /// Whether a [`Call::LedgersChanged`] is on its way, so that a ledger that grows fast does not fill the queue.
    is_announced: Arc<AtomicBool>,
}

/// How far the runs of a project are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToldRuns {
    /// The project's own events tell of its runs, so nobody looked at its ledger.
    ByEvents,
    /// The ledger line of the newest run at the last look.
    UpTo(Option<Sequence>),
}

impl LedgerNews {
    pub(crate) fn is_following(&self) -> bool {
        self.told.is_some()
    }

    /// Follows no ledger any more.
    pub(crate) fn stop(&mut self) {
        *self = Self::default();
    }

    /// Watches the ledgers of the projects that `is_wanted` names, and the directory in which new ones appear, and sends
    /// [`Call::LedgersChanged`] when one grows. Repeated after each such call, since a ledger may have been replaced. Returns the runs
    /// that are new since the last time.
    pub(crate) fn look(
        &mut self,
        archive: &mut StoreReader,
        (hub, send_call): (&WatchHub, &Sender<Call>),
        is_wanted: impl Fn(&ProjectId) -> bool,
    ) -> Vec<EventV1> {
        self.is_announced.store(false, Ordering::SeqCst);
        // If the projects cannot be read at this moment, what was followed still is.
        let Ok(projects) = archive.projects() else { return Vec::new() };
        // The watches are placed before the ledgers are read, so that no run falls between.
        self.follow(archive, (hub, send_call), projects.iter().map(|project| &project.id).filter(|id| is_wanted(id)));
        let mut told = self.told.take();
        let (is_first, mut now_told, mut news) = (told.is_none(), BTreeMap::new(), Vec::new());
        for RegisteredProject { id, .. } in projects {
            if !is_wanted(&id) {
                now_told.insert(id, ToldRuns::ByEvents);
                continue;
            }
            let runs = archive.runs(&id, LOOKED_AT).unwrap_or_default();
            let newest = runs.first().map(|run| run.sequence);
            match told.as_mut().and_then(|told| told.remove(&id)) {
                Some(ToldRuns::UpTo(last)) => news.extend(new_runs(&id, runs, last)),
                // The project is new since the first look.
                None if !is_first => news.extend(new_runs(&id, runs, None)),
                None | Some(ToldRuns::ByEvents) => {}
            }
            now_told.insert(id, ToldRuns::UpTo(newest));
        }
        self.told = Some(now_told);
        news
    }

    fn follow<'a>(
        &mut self,
        archive: &StoreReader,
        (hub, send_call): (&WatchHub, &Sender<Call>),
        projects: impl Iterator<Item = &'a ProjectId>,
    ) {
        let mut paths: Vec<PathBuf> = projects.map(|project| archive.store.ledger_path(project)).collect();
        // The directory gets the ledgers of new projects. Before the first one it may be missing: then the store's own is followed.
        let store = archive.store.root();
        let ledgers = store.join(LEDGERS);
        paths.push(if ledgers.is_dir() { ledgers } else { store.to_owned() });
        let follow = |path: PathBuf| {
            let (tell, is_announced) = (send_call.clone(), Arc::clone(&self.is_announced));
            let changed = move || {
                if !is_announced.swap(true, Ordering::SeqCst) && tell.try_send(Call::LedgersChanged).is_err() {
                    is_announced.store(false, Ordering::SeqCst);
                }
            };
            hub.follow_file(&path, changed).ok()
        };
        self.followed = paths.into_iter().filter_map(follow).collect();
    }
}

/// Returns the events of the runs after a ledger line, the oldest first.
fn new_runs(project: &ProjectId, runs: Vec<RecordedRun>, after: Option<Sequence>) -> impl Iterator<Item = EventV1> {
    runs.into_iter().rev().filter(move |run| Some(run.sequence) > after).map(|run| finished(project, run))
}

fn finished(project: &ProjectId, run: RecordedRun) -> EventV1 {
    let outcome = match run.status {
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::RewroteTree | OverallStatus::Failed => {
            RunOutcomeV1::Judged
        }
        OverallStatus::SpecificationError => RunOutcomeV1::ConfigurationWrong,
        OverallStatus::Interrupted => RunOutcomeV1::Interrupted,
        OverallStatus::Superseded => RunOutcomeV1::Superseded,
        OverallStatus::Moved => RunOutcomeV1::Moved,
    };
    let exit = match (run.status, run.result) {
        (OverallStatus::SpecificationError, _) => CommandExit::SpecificationWrong,
        (_, Some(OverallResult::Passed)) if run.checks.is_some_and(CheckCounts::is_nothing_proven) => CommandExit::NoFreshVerdict,
        (_, Some(OverallResult::Passed)) => CommandExit::Proceed,
        (_, Some(OverallResult::Failed)) => CommandExit::CodeNeedsWork,
        (_, None) => CommandExit::NoFreshVerdict,
    };
    let run_id = (run.status != OverallStatus::Superseded).then_some(run.run.run_id);
    EventV1::RunFinished { project: project.clone(), task: run.run.task, run_id, outcome, exit_code: exit.code() }
}
