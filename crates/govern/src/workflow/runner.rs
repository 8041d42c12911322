//! The loop of a workflow: it stores a transition on disk, performs the transition's effect, and handles the result as
//! the next event.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proctor_wire::wire;

use crate::governance::{
    EventContext, ModelNames, Slug, TrailFile, WorkflowEffect, WorkflowEnding, WorkflowId, WorkflowStart, WorkflowState,
    WorkflowTransition, handle, slug_from_file_name,
};
use crate::workflow::error::WorkflowError;
use crate::workflow::interfaces::{Person, WorkflowHost};
use crate::workflow::settings::{WorkflowProject, WorkflowSettings, checkpoints_file};
use proctor_evidence::{Store, WorkflowLock, mint_nonce};
use proctor_index::Checkpoints;
use proctor_model::{Digest, GovernanceRecord, ProjectId, Timestamp};
use proctor_sandbox::process::clock;

/// A function that is called at every point at which a crash must not change how the workflow ends. Tests end the
/// process there.
pub type PointObserver = Box<dyn Fn()>;

/// Where a workflow begins: at its first node, or at the node after its last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowBeginning {
    /// A new workflow, from the brief at this path.
    Brief(PathBuf),
    /// A stored workflow, from its checkpoint.
    Resume(Slug),
}

/// Runs workflows, one at a time.
pub struct WorkflowRunner<'a> {
    pub(super) settings: &'a WorkflowSettings,
    pub(super) project: &'a WorkflowProject,
    pub(super) host: &'a mut dyn WorkflowHost,
    pub(super) person: &'a mut dyn Person,
    /// The user id (uid), for the records of the person's decisions.
    user: u32,
    pub(super) checkpoints: Checkpoints,
    pub(super) lock: Option<WorkflowLock>,
    pub(super) brief: Option<PathBuf>,
    observe_point: PointObserver,
}

impl<'a> WorkflowRunner<'a> {
    /// Makes a runner, and opens the project's checkpoints.
    ///
    /// # Errors
    /// When the database of checkpoints cannot be opened.
    pub fn open(
        settings: &'a WorkflowSettings,
        project: &'a WorkflowProject,
        (host, person): (&'a mut dyn WorkflowHost, &'a mut dyn Person),
        user: u32,
    ) -> Result<Self, WorkflowError> {
        let checkpoints = Checkpoints::open(&checkpoints_file(&project.store)).map_err(WorkflowError::Checkpoint)?;
        Ok(Self { settings, project, host, person, user, checkpoints, lock: None, brief: None, observe_point: Box::new(|| {}) })
    }

    /// Calls `observe_point` at every point at which a crash must not change how the workflow ends.
    #[must_use]
    pub fn observed_by(self, observe_point: PointObserver) -> Self {
        Self { observe_point, ..self }
    }

    /// Runs a workflow until it is over, has to wait, or is refused. Returns which of these happened, and the
    /// workflow's slug (name).
    ///
    /// # Errors
    /// When proctor itself fails. The last checkpoint stays, and the workflow can be resumed from it.
    pub fn run(&mut self, beginning: WorkflowBeginning) -> Result<(WorkflowEnding, Slug), WorkflowError> {
        let state = match beginning {
            WorkflowBeginning::Brief(path) => self.start(path)?,
            WorkflowBeginning::Resume(slug) => match self.resume(&slug)? {
                Ok(state) => state,
                Err(ending) => return Ok((ending, slug)),
            },
        };
        let (ending, slug) = self.run_from(state)?;
        if ending != WorkflowEnding::Resume {
            return Ok((ending, slug));
        }
        match self.resume(&slug)? {
            Ok(state) => self.run_from(state),
            Err(ending) => Ok((ending, slug)),
        }
    }

    /// Returns whether a workflow with this slug can be resumed.
    ///
    /// # Errors
    /// When the checkpoints cannot be read.
    pub fn has_checkpoint(&self, slug: &Slug) -> Result<bool, WorkflowError> {
        let kept = self.checkpoints.load(&self.project.id, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        Ok(kept.is_some())
    }

    fn start(&mut self, path: PathBuf) -> Result<WorkflowState, WorkflowError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let slug = slug_from_file_name(&name).map_err(WorkflowError::Name)?;
        let id = mint_nonce().map_err(WorkflowError::Lock)?;
        self.brief = Some(path);
        Ok(WorkflowState::begin(WorkflowStart {
            id: WorkflowId::try_from(id).map_err(WorkflowError::Name)?,
            slug,
            brief_name: name,
            model_names: ModelNames {
                drafter: self.settings.models.drafter.name.clone(),
                reviewer: self.settings.models.reviewer.name.clone(),
            },
            repo: self.settings.repo_override.clone().or_else(|| self.settings.repo.clone()),
            limits: self.settings.limits,
        }))
    }

    /// Loads a workflow's checkpoint, writes the files of the audit trail that it lists as unwritten, and returns the
    /// state to continue from. If a tool is missing, returns an ending instead.
    fn resume(&mut self, slug: &Slug) -> Result<Result<WorkflowState, WorkflowEnding>, WorkflowError> {
        if self.lock.is_none() {
            self.lock = self.project.store.lock_workflow(&self.project.id, slug.as_str()).map_err(WorkflowError::Lock)?;
        }
        if self.lock.is_none() {
            return Err(WorkflowError::Busy { slug: slug.to_string() });
        }
        let text = self.checkpoints.load(&self.project.id, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        let Some(text) = text else {
            let kept = self.checkpoints.list(&self.project.id).map_err(WorkflowError::Checkpoint)?;
            let known = kept.into_iter().map(|checkpoint| checkpoint.slug).collect();
            let done = self.project.latest_done_trail(self.settings, slug);
            return Err(WorkflowError::NoCheckpoint { slug: slug.to_string(), known, done });
        };
        let checkpoint = WorkflowCheckpoint::parse(&text)
            .map_err(|source| WorkflowError::CheckpointText { slug: slug.to_string(), source })?;
        self.save_durably(&checkpoint.state, checkpoint.unwritten, None)?;
        if checkpoint.state.needs_tools()
            && let Some(why) = self.missing_tools()?
        {
            return Ok(Err(WorkflowEnding::Refused(why)));
        }
        let mut state = checkpoint.state.resumed();
        if let Some(repo) = &self.settings.repo_override {
            state.repo = Some(repo.clone());
        }
        self.person.show(&format!("Going on with '{slug}' at {}", state.node_name()));
        Ok(Ok(state))
    }

    fn run_from(&mut self, state: WorkflowState) -> Result<(WorkflowEnding, Slug), WorkflowError> {
        let effects = vec![state.pending_effect()];
        let mut transition = WorkflowTransition { state, effects };
        let mut since = None;
        loop {
            let WorkflowTransition { state, effects } = transition;
            let pending = self.apply_transition(&state, effects, since)?;
            if let WorkflowEffect::End(ending) = pending {
                if matches!(ending, WorkflowEnding::Filed(_)) {
                    self.checkpoints.remove(&self.project.id, state.slug.as_str()).map_err(WorkflowError::Checkpoint)?;
                }
                return Ok((ending, state.slug));
            }
            let event = self.perform(&state, &pending)?;
            (self.observe_point)();
            let moment = EventContext { now: clock::now(), user: self.user };
            since = Some(moment.now);
            transition = handle(state, event, &moment);
        }
    }

    /// Stores a transition on disk if the workflow can be resumed from it, shows its lines to the person, and returns
    /// the effect that is to be performed next.
    fn apply_transition(
        &mut self,
        state: &WorkflowState,
        effects: Vec<WorkflowEffect>,
        since: Option<Timestamp>,
    ) -> Result<WorkflowEffect, WorkflowError> {
        let mut unwritten = Vec::new();
        let mut shown = Vec::new();
        let mut pending = state.pending_effect();
        for effect in effects {
            if let WorkflowEffect::Keep(file) = effect {
                unwritten.push(file);
            } else if let WorkflowEffect::Say(line) = effect {
                shown.push(line);
            } else {
                pending = effect;
            }
        }
        if state.is_resumable() {
            self.save_durably(state, unwritten, since)?;
        }
        shown.iter().for_each(|line| self.person.show(line));
        Ok(pending)
    }

    /// Stores a state in the checkpoint, and writes new files of the audit trail.
    ///
    /// The order matters after a crash: the checkpoint lists the new files before the first one is written, and the
    /// list is cleared only when all files are written and recorded in the ledger. So a resumed workflow first writes
    /// the files that are missing.
    fn save_durably(
        &mut self,
        state: &WorkflowState,
        unwritten: Vec<TrailFile>,
        since: Option<Timestamp>,
    ) -> Result<(), WorkflowError> {
        let slug = state.slug.as_str();
        let mut save = |unwritten: Vec<TrailFile>| {
            let text = WorkflowCheckpoint::new(state, unwritten).to_text();
            self.checkpoints.save(&self.project.id, slug, &text, since).map_err(WorkflowError::Checkpoint)
        };
        if unwritten.is_empty() {
            return save(Vec::new());
        }
        save(unwritten.clone())?;
        (self.observe_point)();
        let trail = self.project.active_trail(self.settings, &state.slug);
        for file in &unwritten {
            trail.write_once(&file.name, &file.text).map_err(WorkflowError::Trail)?;
            (self.observe_point)();
        }
        let files: BTreeMap<String, Digest> =
            unwritten.iter().map(|file| (file.name.clone(), Digest::of(file.text.as_bytes()))).collect();
        self.host.record(GovernanceRecord {
            workflow: state.id.to_string(),
            slug: slug.to_owned(),
            node: state.node_name().to_owned(),
            files,
            issue: state.issue(),
        })?;
        (self.observe_point)();
        save(Vec::new())?;
        (self.observe_point)();
        Ok(())
    }
}

// Lists the workflows of a project that are not over. Only their checkpoints are read: nothing is locked, started or
// written.

/// A workflow that is not over. A process may or may not be working on it at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWorkflow {
    pub slug: String,
    /// When the workflow came to its present node (step); `None` if the checkpoint does not say.
    pub since: Option<Timestamp>,
    /// The content of the checkpoint; `None` if another version of proctor has written it and this version cannot read
    /// it.
    pub state: Option<WorkflowState>,
}

/// Returns the workflows of a project that are not over, sorted by slug.
///
/// # Errors
/// When the checkpoints cannot be read.
pub fn list_waiting_workflows(store: &Store, project: &ProjectId) -> Result<Vec<WaitingWorkflow>, WorkflowError> {
    let file = checkpoints_file(store);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let checkpoints = Checkpoints::open(&file).map_err(WorkflowError::Checkpoint)?;
    let kept = checkpoints.list(project).map_err(WorkflowError::Checkpoint)?;
    let waiting = kept.into_iter().map(|one| {
        let state = WorkflowCheckpoint::parse(&one.text).ok().map(|checkpoint| checkpoint.state);
        WaitingWorkflow { slug: one.slug, since: one.since, state }
    });
    Ok(waiting.collect())
}

// A workflow's checkpoint, which is stored after every transition: the state, and the files of the audit trail that
// may not be on disk yet.

const SCHEMA: &str = "proctor-checkpoint-v1";

/// The JSON form of a checkpoint.
#[wire]
struct WorkflowCheckpoint {
    schema: String,
    state: WorkflowState,
    /// Files of the audit trail that may not be on disk yet. A resumed workflow writes them before it does anything
    /// else.
    unwritten: Vec<TrailFile>,
}

impl WorkflowCheckpoint {
    fn new(state: &WorkflowState, unwritten: Vec<TrailFile>) -> Self {
        Self { schema: SCHEMA.to_owned(), state: state.clone(), unwritten }
    }

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a checkpoint has string keys only")
    }

    fn parse(text: &str) -> serde_json::Result<Self> {
        let checkpoint: Self = serde_json::from_str(text)?;
        if checkpoint.schema == SCHEMA {
            return Ok(checkpoint);
        }
        let why = format!("its schema is `{}`, not `{SCHEMA}`", checkpoint.schema);
        Err(<serde_json::Error as serde::de::Error>::custom(why))
    }
}
