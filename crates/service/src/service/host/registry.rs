//! Lists, adds and removes the projects that the service watches. Also answers which event was last received about a path.

use std::path::{Path, PathBuf};

use crate::engine::Moment;
use crate::service::call::{Call, Reply, from_run_error};
use crate::service::host::ServiceHost;
use crate::service::host::calls::not_served;
use crate::service::ledger_news::list_by_ledger;
use crate::service::opening::OpeningReason;
use crate::service::session::ProjectSession;
use proctor_api::{AddedV1, ErrorKindV1, ErrorV1, EventV1, PathEventV1, PathHistoryV1, ProjectV1, ProjectsV1};
use proctor_app::health::chain;
use proctor_app::project::setup::page_editor;
use proctor_model::{Asker, ProjectId, Serving, TreePath};
use proctor_plan::config::Configuration;
use proctor_project::{ProjectError, ProjectScope, record_serving};
use proctor_tree::ignore::{Explanation, IgnoreVerdict};
use proctor_tree::watch::PathEvent;

impl ServiceHost {
    pub(super) fn projects(&mut self) -> Result<ProjectsV1, ErrorV1> {
        let mut projects = Vec::new();
        let registered = self.archive.projects().map_err(|error| from_run_error(&error))?;
        for project in registered.into_iter().filter(|project| !project.was_removed_by_git()) {
            let served = self.seats.values().find(|served| served.id.as_ref() == Some(&project.id));
            // A project that could not be opened still counts as served, because the service tries again. A project
            // that was registered without the service does not count as served.
            let serving = if served.is_some() { project.serving } else { Serving::NotServed };
            let standing = match served {
                Some(served) => Some(served.listed(&mut self.archive)),
                // One project that cannot be read must not hide the others.
                None => list_by_ledger(&mut self.archive, &project).ok().and_then(|listed| listed.standing),
            };
            projects.push(ProjectV1 { id: project.id, root: project.path, serving, standing });
        }
        Ok(ProjectsV1 { projects, editor: page_editor(&self.environment) })
    }

    /// Tells subscribers of the runs of projects that the service does not watch. Runs of the others are told as they happen.
    pub(super) fn look_at_ledgers(&mut self) {
        if !self.subscribers.are_there() {
            return self.news.stop();
        }
        let Self { news, archive, hub, send_call, seats, .. } = self;
        let is_unserved = |id: &ProjectId| !seats.values().any(|served| served.id.as_ref() == Some(id));
        for event in news.look(archive, (hub, send_call), is_unserved) {
            self.subscribers.tell(&event);
        }
    }

    /// Lists the watched project at a root, if there is one. Nothing of any other project is read.
    pub(super) fn watched_at(&mut self, root: &Path) -> Result<ProjectsV1, ErrorV1> {
        let Self { seats, archive, .. } = self;
        let mut projects = Vec::new();
        for served in seats.values().filter(|served| served.root == root) {
            let Some(id) = served.id.clone() else { continue };
            let serving = archive.serving(&id).map_err(|error| from_run_error(&error))?;
            let standing = Some(served.listed(archive));
            projects.push(ProjectV1 { standing, ..ProjectV1::new(id, root, serving) });
        }
        Ok(ProjectsV1 { projects, editor: None })
    }

    /// Returns the projects that [`Self::projects`] lists as served, or the one at a root. Nothing is read about their verdicts.
    pub(super) fn watched(&self, root: Option<&Path>) -> Result<Vec<ProjectId>, ErrorV1> {
        let mut watched = Vec::new();
        let wanted = self.seats.values().filter(|served| root.is_none_or(|root| served.root == root));
        for id in wanted.filter_map(|served| served.id.as_ref()) {
            if self.archive.serving(id).map_err(|error| from_run_error(&error))? == Serving::Served {
                watched.push(id.clone());
            }
        }
        watched.sort();
        Ok(watched)
    }

    pub(super) fn add(&mut self, now: Moment, root: &str, asker: Asker, reply: Reply<AddedV1>) {
        let wrong = |message: String, hint: &str| Err(ErrorV1::new(ErrorKindV1::BadRequest, message, hint));
        let path = PathBuf::from(root);
        let answer = match path.canonicalize() {
            Ok(real) if path.is_absolute() && real.is_dir() => Ok(real),
            Ok(_) => wrong(format!("`{root}` is not the absolute path of a directory"), "name the project's directory in full"),
            Err(error) => wrong(format!("`{root}` cannot be opened: {error}"), "name a directory that is there"),
        };
        match answer {
            Err(error) => drop(reply.send(Err(error))),
            Ok(root) => match self.seats.values().find(|served| served.root == root).map(|served| served.id.clone()) {
                Some(Some(id)) => {
                    let project = ProjectV1::new(id, &root, Serving::Served);
                    let _gone = reply.send(Ok(AddedV1 { project, notes: Vec::new() }));
                }
                Some(None) => {
                    let message = format!("`{}` is being added already", root.display());
                    let _gone = reply.send(Err(ErrorV1::new(ErrorKindV1::TooMany, message, "ask again in a moment")));
                }
                None => self.session_id(now, None, root, OpeningReason::Added(asker), Some(reply)),
            },
        }
    }

    pub(super) fn remove(&mut self, now: Moment, project: &ProjectId, asker: Asker, reply: Reply<ProjectV1>) {
        match self.session_id_of(project) {
            Some(session_id) => {
                self.removals.insert(session_id, (asker, reply));
                let why = ErrorV1::new(ErrorKindV1::NotFound, format!("{project} was removed"), "add it again");
                self.with(session_id, |served, _| served.end(now, &why));
            }
            None => drop(reply.send(Err(not_served(project)))),
        }
    }

    /// Records in the ledger that a closed project is no longer served. A separate thread does this, because another process may
    /// hold the project's lock.
    pub(super) fn record_removal(&self, served: &ProjectSession, asker: Asker, reply: Reply<ProjectV1>) {
        let Some(id) = served.id.clone() else { return };
        let scope = ProjectScope { project: id.clone(), root: served.root.clone(), asker };
        let project = ProjectV1::new(id, &served.root, Serving::NotServed);
        let (state_root, wait, send_call) =
            (self.environment.state_root().to_owned(), Configuration::default().evidence.lock_wait, self.send_call.clone());
        let root = served.root.clone();
        let over = move |recorded| Call::RemovalRecorded { project: Box::new(project), root, recorded, reply };
        // The thread is given its work after it was started, so that the work is still here if it cannot be started.
        let (give, take) = std::sync::mpsc::channel::<Box<dyn FnOnce(Result<(), ProjectError>) -> Call + Send>>();
        let sender = send_call.clone();
        let record = move || {
            let Ok(over) = take.recv() else { return };
            let recorded = record_serving(&state_root, &scope, Serving::NotServed, wait);
            let _gone = sender.blocking_send(over(recorded));
        };
        match std::thread::Builder::new().name("removal".to_owned()).spawn(record) {
            Ok(_detached) => drop(give.send(Box::new(over))),
            Err(source) => drop(send_call.try_send(over(Err(ProjectError::WorkerThread { source })))),
        }
    }

    /// Answers the client that removed a project. If the removal was recorded, subscribers are told too. Otherwise the project is
    /// watched again, because the ledger still lists it as served.
    pub(super) fn tell_removal(
        &mut self,
        now: Moment,
        (project, root): (ProjectV1, PathBuf),
        recorded: Result<(), ProjectError>,
        reply: Reply<ProjectV1>,
    ) {
        let answer = match recorded {
            Ok(()) => {
                self.said.add(&format!("{}: left alone from here on", project.id));
                self.subscribers.tell(&EventV1::Removed { project: project.id.clone() });
                Ok(project)
            }
            Err(error) => {
                self.watch_again(now, project.id, root, &error);
                Err(ErrorV1::new(ErrorKindV1::OwnFault, chain(&error), error.hint().unwrap_or_default()))
            }
        };
        let _gone = reply.send(answer);
    }

    /// Opens a project again whose removal failed, unless its ledger lists it as not served all the same.
    fn watch_again(&mut self, now: Moment, id: ProjectId, root: PathBuf, error: &ProjectError) {
        let is_left = matches!(self.archive.serving(&id), Ok(Serving::NotServed));
        if is_left || self.is_ending() || self.session_id_of(&id).is_some() {
            return;
        }
        self.said.add(&format!("{id}: could not be removed and is watched again: {}", chain(error)));
        self.session_id(now, Some(id.clone()), root, OpeningReason::Served(id), None);
    }

    /// Answers which event was last received about a path. One of a few threads waits for the watcher, which may be
    /// busy with other work. If all of these threads are busy, a client waits until one is free.
    pub(super) fn heard(&self, project: &ProjectId, path: TreePath, reply: Reply<PathHistoryV1>) {
        let Some(served) = self.seats.values().find(|served| served.id.as_ref() == Some(project)) else {
            return drop(reply.send(Err(not_served(project))));
        };
        let watcher = served.watcher();
        let answer = move || {
            let last = watcher.and_then(|watcher| watcher.explain(&path)).map(|account| from_path_event(&account));
            let _gone = reply.send(Ok(PathHistoryV1 { path: path.to_string(), last }));
        };
        drop(tokio::task::spawn_blocking(answer));
    }
}

fn from_path_event(account: &PathEvent) -> PathEventV1 {
    let rule = account.decision.rule.as_ref();
    PathEventV1 {
        event: account.event.to_owned(),
        belonged: account.decision.verdict == IgnoreVerdict::In,
        rule: rule.map(|rule| format!("`{}` ({})", rule.pattern, Explanation::source(rule))),
    }
}
