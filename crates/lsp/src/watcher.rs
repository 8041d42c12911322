//! Asks for the verdict of a project whenever there may be another one, on a thread of its own.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use proctor_api::{EventV1, StateV1};
use proctor_app::editor::{EditorRun, VerdictLook, editor_run, look_at_verdict, newest_run};
use proctor_app::{CommandError, Environment, serving};
use proctor_model::RunId;

/// How often it is looked for a new run, or for a service that has begun, while no service tells of runs.
const PAUSE: Duration = Duration::from_secs(2);

/// That there may be another verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerdictHint {
    /// A file was saved, or a service told of a run.
    Changed,
    /// The service tells of nothing any more.
    ServiceGone,
}

/// How a verdict stands, and what its run says.
#[derive(Debug)]
pub(crate) struct EditorVerdict {
    pub(crate) look: VerdictLook,
    /// `None` if there never was a run, or its evidence is gone.
    pub(crate) run: Option<EditorRun>,
}

/// What the watcher asks about.
pub(crate) struct VerdictWatcher {
    pub(crate) environment: Environment,
    pub(crate) root: PathBuf,
}

impl VerdictWatcher {
    /// Tells of the present verdict, and again of each other one, until nobody listens any more. `own` is a sender of `hints`.
    pub(crate) fn follow(
        self,
        own: &Sender<VerdictHint>,
        hints: &Receiver<VerdictHint>,
        mut tell: impl FnMut(Result<EditorVerdict, CommandError>) -> bool,
    ) {
        let mut last: Option<(StateV1, Option<RunId>)> = None;
        let mut last_error = String::new();
        let mut hears_service = false;
        loop {
            hears_service = hears_service || self.hear_service(own);
            let newest = self.newest_run();
            let told = match look_at_verdict(&self.environment, &self.root) {
                Ok(look) if last.as_ref().is_some_and(|last| *last == (look.state, look.run_id.clone())) => None,
                Ok(look) => {
                    last = Some((look.state, look.run_id.clone()));
                    Some(self.verdict(look))
                }
                Err(error) => Some(Err(error)),
            };
            // What goes wrong again and again is said once.
            let error = told.as_ref().and_then(|told| told.as_ref().err()).map(|error| error.lines().join("\n"));
            let is_known = error.as_ref().is_some_and(|error| *error == last_error);
            last_error = error.unwrap_or(last_error);
            if told.is_some_and(|told| !is_known && !tell(told)) {
                return;
            }
            match self.wait(hints, hears_service, newest.as_ref()) {
                Some(VerdictHint::Changed) => {}
                Some(VerdictHint::ServiceGone) => hears_service = false,
                None => return,
            }
        }
    }

    /// Returns the newest sealed run; `None` if there is none, or it cannot be read. The project's files are not looked at.
    fn newest_run(&self) -> Option<RunId> {
        newest_run(&self.environment, &self.root).ok().flatten()
    }

    fn verdict(&self, look: VerdictLook) -> Result<EditorVerdict, CommandError> {
        let run = look.run_id.as_ref().map(|run_id| editor_run(&self.environment, &self.root, run_id)).transpose()?.flatten();
        Ok(EditorVerdict { look, run })
    }

    /// Waits until there may be another verdict; `None` if nobody can tell of one any more.
    fn wait(&self, hints: &Receiver<VerdictHint>, hears_service: bool, newest: Option<&RunId>) -> Option<VerdictHint> {
        loop {
            match hints.recv_timeout(PAUSE) {
                Ok(hint) => {
                    // Of several hints, one look is enough.
                    let gone = hints.try_iter().chain([hint]).any(|hint| hint == VerdictHint::ServiceGone);
                    return Some(if gone { VerdictHint::ServiceGone } else { VerdictHint::Changed });
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if hears_service => {}
                Err(RecvTimeoutError::Timeout) => {
                    let has_service = || serving::serving(&self.environment, &self.root).is_some();
                    if self.newest_run().as_ref() != newest || has_service() {
                        return Some(VerdictHint::Changed);
                    }
                }
            }
        }
    }

    /// Has a thread turn the service's events into hints. Returns whether one does: the service watches the project.
    fn hear_service(&self, hints: &Sender<VerdictHint>) -> bool {
        let Some(served) = serving::serving(&self.environment, &self.root) else { return false };
        let Ok((events, _end)) = served.client.events() else { return false };
        let (hints, project) = (hints.clone(), served.project.id);
        let hear = move || {
            for event in events {
                let is_told = match &event {
                    EventV1::RunStarted { project: other, .. }
                    | EventV1::RunFinished { project: other, .. }
                    | EventV1::Changed { project: other }
                    | EventV1::Health { project: other, .. } => *other == project,
                    EventV1::Missed => true,
                    EventV1::ActionStarted { .. }
                    | EventV1::ActionProgress { .. }
                    | EventV1::ActionEnded { .. }
                    | EventV1::Added { .. }
                    | EventV1::End { .. } => false,
                    EventV1::Removed { project: other } if *other == project => break,
                    EventV1::Removed { .. } => false,
                };
                if is_told && hints.send(VerdictHint::Changed).is_err() {
                    return;
                }
            }
            let _nobody_listens = hints.send(VerdictHint::ServiceGone);
        };
        thread::Builder::new().name("lsp-events".to_owned()).spawn(hear).is_ok()
    }
}
