//! The loop: a transition is made durable, then what it asks for is done, and what came of that is the next event.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::evidence::{WorkflowLock, mint_nonce};
use crate::governance::{Asked, Effect, Ending, Moment, Slug, Start, State, TrailFile, Transition, WorkflowId, handle, slug_of};
use crate::model::{Digest, GovernanceRecord, Timestamp};
use crate::process::clock;
use crate::store::Checkpoints;
use crate::workflow::checkpoint::Checkpoint;
use crate::workflow::error::WorkflowError;
use crate::workflow::hands::{Hands, Person};
use crate::workflow::settings::{Place, WorkflowSettings, checkpoints_file};

/// Is told of every point after which a death must change nothing.
pub type PointObserver = Box<dyn Fn()>;

/// How a workflow begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// With a brief.
    Brief(PathBuf),
    /// Where it stood.
    Resume(Slug),
}

/// Carries workflows out, one at a time.
pub struct Workflow<'a> {
    pub(super) settings: &'a WorkflowSettings,
    pub(super) place: &'a Place,
    pub(super) hands: &'a mut dyn Hands,
    pub(super) person: &'a mut dyn Person,
    /// The user, by number, for the records of decisions.
    user: u32,
    pub(super) checkpoints: Checkpoints,
    pub(super) lock: Option<WorkflowLock>,
    pub(super) brief: Option<PathBuf>,
    passed: PointObserver,
}

impl<'a> Workflow<'a> {
    /// Opens the checkpoints.
    ///
    /// # Errors
    /// When they cannot be had.
    pub fn open(
        settings: &'a WorkflowSettings,
        place: &'a Place,
        (hands, person): (&'a mut dyn Hands, &'a mut dyn Person),
        user: u32,
    ) -> Result<Self, WorkflowError> {
        let checkpoints = Checkpoints::open(&checkpoints_file(&place.store)).map_err(WorkflowError::Checkpoint)?;
        Ok(Self { settings, place, hands, person, user, checkpoints, lock: None, brief: None, passed: Box::new(|| {}) })
    }

    /// Has somebody told of every point.
    #[must_use]
    pub fn observed_by(self, passed: PointObserver) -> Self {
        Self { passed, ..self }
    }

    /// Carries a workflow out until it is over or waits, and returns where that was with its name.
    ///
    /// # Errors
    /// When something of our own fails; where it stood is written down.
    pub fn carry_out(&mut self, beginning: Beginning) -> Result<(Ending, Slug), WorkflowError> {
        let state = match beginning {
            Beginning::Brief(path) => self.start(path)?,
            Beginning::Resume(slug) => match self.resume(&slug)? {
                Ok(state) => state,
                Err(ending) => return Ok((ending, slug)),
            },
        };
        let (ending, slug) = self.go_on(state)?;
        if ending != Ending::Resume {
            return Ok((ending, slug));
        }
        match self.resume(&slug)? {
            Ok(state) => self.go_on(state),
            Err(ending) => Ok((ending, slug)),
        }
    }

    /// Returns whether there is something to go on with under this name.
    ///
    /// # Errors
    /// When the checkpoints cannot be read.
    pub fn is_kept(&self, slug: &Slug) -> Result<bool, WorkflowError> {
        let kept = self.checkpoints.load(&self.place.project, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        Ok(kept.is_some())
    }

    fn start(&mut self, path: PathBuf) -> Result<State, WorkflowError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let slug = slug_of(&name).map_err(WorkflowError::Name)?;
        let id = mint_nonce().map_err(WorkflowError::Lock)?;
        self.brief = Some(path);
        Ok(State::begin(Start {
            id: WorkflowId::try_from(id).map_err(WorkflowError::Name)?,
            slug,
            brief_name: name,
            asked: Asked { drafter: self.settings.drafter.name.clone(), reviewer: self.settings.reviewer.name.clone() },
            repo: self.settings.named_repo.clone().or_else(|| self.settings.repo.clone()),
            limits: self.settings.limits,
        }))
    }

    /// Returns the state to go on from; what was decided last is made durable first. An ending: it cannot go on here.
    fn resume(&mut self, slug: &Slug) -> Result<Result<State, Ending>, WorkflowError> {
        if self.lock.is_none() {
            self.lock = self.place.store.lock_workflow(&self.place.project, slug.as_str()).map_err(WorkflowError::Lock)?;
        }
        if self.lock.is_none() {
            return Err(WorkflowError::Busy { slug: slug.to_string() });
        }
        let text = self.checkpoints.load(&self.place.project, slug.as_str()).map_err(WorkflowError::Checkpoint)?;
        let Some(text) = text else {
            let kept = self.checkpoints.list(&self.place.project).map_err(WorkflowError::Checkpoint)?;
            let known = kept.into_iter().map(|checkpoint| checkpoint.slug).collect();
            let done = self.place.done_under(self.settings, slug);
            return Err(WorkflowError::NoCheckpoint { slug: slug.to_string(), known, done });
        };
        let checkpoint =
            Checkpoint::parse(&text).map_err(|source| WorkflowError::CheckpointText { slug: slug.to_string(), source })?;
        self.write_down(&checkpoint.state, checkpoint.unwritten, None)?;
        if checkpoint.state.needs_tools()
            && let Some(why) = self.missing_tools()?
        {
            return Ok(Err(Ending::Refused(why)));
        }
        let mut state = checkpoint.state.resumed();
        if let Some(repo) = &self.settings.named_repo {
            state.repo = Some(repo.clone());
        }
        self.person.show(&format!("Going on with '{slug}' at {}", state.node_name()));
        Ok(Ok(state))
    }

    fn go_on(&mut self, state: State) -> Result<(Ending, Slug), WorkflowError> {
        let effects = vec![state.pending()];
        let mut transition = Transition { state, effects };
        let mut since = None;
        loop {
            let Transition { state, effects } = transition;
            let pending = self.settle(&state, effects, since)?;
            if let Effect::End(ending) = pending {
                if matches!(ending, Ending::Filed(_)) {
                    self.checkpoints.remove(&self.place.project, state.slug.as_str()).map_err(WorkflowError::Checkpoint)?;
                }
                return Ok((ending, state.slug));
            }
            let event = self.perform(&state, &pending)?;
            (self.passed)();
            let moment = Moment { now: clock::now(), user: self.user };
            since = Some(moment.now);
            transition = handle(state, event, &moment);
        }
    }

    /// Makes a transition durable, shows what is to be shown, and returns what is to be done.
    fn settle(&mut self, state: &State, effects: Vec<Effect>, since: Option<Timestamp>) -> Result<Effect, WorkflowError> {
        let mut unwritten = Vec::new();
        let mut shown = Vec::new();
        let mut pending = state.pending();
        for effect in effects {
            if let Effect::Keep(file) = effect {
                unwritten.push(file);
            } else if let Effect::Say(line) = effect {
                shown.push(line);
            } else {
                pending = effect;
            }
        }
        if state.is_resumable() {
            self.write_down(state, unwritten, since)?;
        }
        shown.iter().for_each(|line| self.person.show(line));
        Ok(pending)
    }

    /// The order is the promise: what is to be kept is known before the first file is made, and nothing is done before all are there.
    fn write_down(&mut self, state: &State, unwritten: Vec<TrailFile>, since: Option<Timestamp>) -> Result<(), WorkflowError> {
        let slug = state.slug.as_str();
        let mut save = |unwritten: Vec<TrailFile>| {
            let text = Checkpoint::new(state, unwritten).to_text();
            self.checkpoints.save(&self.place.project, slug, (&text, since)).map_err(WorkflowError::Checkpoint)
        };
        if unwritten.is_empty() {
            return save(Vec::new());
        }
        save(unwritten.clone())?;
        (self.passed)();
        let trail = self.place.active(self.settings, &state.slug);
        for file in &unwritten {
            trail.keep(&file.name, &file.text).map_err(WorkflowError::Trail)?;
            (self.passed)();
        }
        let files: BTreeMap<String, Digest> =
            unwritten.iter().map(|file| (file.name.clone(), Digest::of(file.text.as_bytes()))).collect();
        self.hands.record(GovernanceRecord {
            workflow: state.id.to_string(),
            slug: slug.to_owned(),
            node: state.node_name().to_owned(),
            files,
            issue: state.issue(),
        })?;
        (self.passed)();
        save(Vec::new())?;
        (self.passed)();
        Ok(())
    }
}
