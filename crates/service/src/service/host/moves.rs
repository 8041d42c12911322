//! Follows projects whose directory was moved or replaced.
//!
//! `proctor run --identity same` registers a moved project at its new place, in the ledger. The service then opens the project there.
//! A directory that was gone and is back may be another project's, so the project is opened anew, which compares its identity.

use std::path::PathBuf;
use std::time::Duration;

use crate::arrivals::ProjectSeat;
use crate::engine::Moment;
use crate::event::OsSignal;
use crate::service::host::ServiceHost;
use crate::service::host::calls::not_served;
use crate::service::opening::OpeningReason;
use crate::service::session::ProjectSession;
use proctor_api::{ErrorKindV1, ErrorV1};
use proctor_model::{ProjectId, WatchHint, WatchProblem};

/// How long after a directory vanished the ledger is first asked for another one.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// The pause between two such questions.
const PAUSE: Duration = Duration::from_secs(30);

/// What hints of a watcher say about the directory of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootNews {
    Nothing,
    Vanished,
    Returned,
}

/// A project that is opened when an earlier opening of it has ended.
#[derive(Debug)]
pub(super) struct SeatSuccessor {
    id: ProjectId,
    root: PathBuf,
    asked_at: Moment,
}

impl RootNews {
    pub(super) fn of(hints: &[WatchHint]) -> Self {
        let returned = WatchHint::LookAgain(WatchProblem::RootReturned);
        let of = |hint: &WatchHint| {
            let vanished = (*hint == WatchHint::RootVanished).then_some(Self::Vanished);
            vanished.or_else(|| (*hint == returned).then_some(Self::Returned))
        };
        hints.iter().rev().find_map(of).unwrap_or(Self::Nothing)
    }
}

impl ServiceHost {
    pub(super) fn take_root_news(&mut self, now: Moment, session_id: ProjectSeat, news: RootNews) {
        match news {
            RootNews::Nothing => {}
            RootNews::Vanished => drop(self.vanished.insert(session_id, now.plus(FIRST_LOOK))),
            RootNews::Returned => {
                self.vanished.remove(&session_id);
                if let Some(root) = self.seats.get(&session_id).map(|served| served.root.clone()) {
                    self.open_anew(now, session_id, root);
                }
            }
        }
    }

    /// Asks the ledger where the projects are whose directory vanished, if it is time.
    pub(super) fn look_for_vanished(&mut self, now: Moment) {
        let due: Vec<ProjectSeat> =
            self.vanished.iter().filter(|(_, moment)| **moment <= now).map(|(session_id, _)| *session_id).collect();
        for session_id in due {
            self.vanished.insert(session_id, now.plus(PAUSE));
            self.follow_move(now, session_id);
        }
    }

    /// Opens a project at the directory that the ledger names, if it is another one than the service watches. Returns whether it is.
    pub(super) fn follow_move(&mut self, now: Moment, session_id: ProjectSeat) -> bool {
        let Some(id) = self.seats.get(&session_id).and_then(|served| served.id.clone()) else { return false };
        let Ok(projects) = self.archive.projects() else { return false };
        let registered = projects.into_iter().find(|project| project.id == id);
        registered.is_some_and(|project| self.move_to(now, session_id, PathBuf::from(project.path)))
    }

    /// Opens a project at another directory, if this is another one and is there. Returns whether it is.
    pub(super) fn move_to(&mut self, now: Moment, session_id: ProjectSeat, root: PathBuf) -> bool {
        let is_there = self.seats.get(&session_id).is_some_and(|served| served.root == root);
        if is_there || !root.is_dir() {
            return false;
        }
        self.open_anew(now, session_id, root);
        true
    }

    /// Ends the work on a project, and then opens it at this directory. The clients that wait go on waiting.
    fn open_anew(&mut self, now: Moment, session_id: ProjectSeat, root: PathBuf) {
        let is_leaving = self.removals.contains_key(&session_id) || self.successors.contains_key(&session_id);
        let id = self.seats.get(&session_id).and_then(|served| served.id.clone());
        let Some(id) = id.filter(|_| !is_leaving && !self.is_ending()) else { return };
        self.said.add(&format!("{id}: opened anew at `{}`", root.display()));
        self.successors.insert(session_id, SeatSuccessor { id, root, asked_at: now });
        self.with(session_id, |served, _| served.signalled(now, OsSignal::Terminate));
    }

    /// Opens a project whose `earlier` opening has ended.
    pub(super) fn open_successor(&mut self, successor: SeatSuccessor, earlier: ProjectSession) {
        let SeatSuccessor { id, root, asked_at } = successor;
        let session_id = ProjectSeat(self.next_seat);
        self.session_id(asked_at, Some(id.clone()), root, OpeningReason::Served(id), None);
        self.with(session_id, |served, archive| {
            served.take_clients(earlier);
            served.woken(asked_at, archive)
        });
    }

    /// Ends every other opening of a project: a project that was moved may have been added at its new place.
    pub(super) fn end_others(&mut self, now: Moment, session_id: ProjectSeat, project: &ProjectId) {
        let is_other = |(seat, id): (&ProjectSeat, Option<&ProjectId>)| *seat != session_id && id == Some(project);
        let seats = self.seats.iter().map(|(seat, served)| (seat, served.id.as_ref()));
        let others: Vec<ProjectSeat> = seats.filter(|one| is_other(*one)).map(|(seat, _)| *seat).collect();
        let message = format!("the directory of {project} was moved, and the project is watched at its new place");
        let why = ErrorV1::new(ErrorKindV1::TooMany, message, "ask again");
        for other in others {
            self.successors.remove(&other);
            self.with(other, |served, _| served.end(now, &why));
        }
    }

    /// Returns where a project is served for a call. If the project's directory is gone, the ledger is asked for another one first.
    pub(super) fn seat_for_call(&mut self, now: Moment, project: &ProjectId) -> Result<ProjectSeat, ErrorV1> {
        let session_id = self.session_id_of(project).ok_or_else(|| not_served(project))?;
        if self.seats.get(&session_id).is_some_and(|served| !served.root.is_dir()) {
            self.follow_move(now, session_id);
        }
        self.session_id_of(project).ok_or_else(|| not_served(project))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hint_about_the_directory_counts() {
        let returned = WatchHint::LookAgain(WatchProblem::RootReturned);
        assert_eq!(RootNews::of(&[WatchHint::Approved]), RootNews::Nothing);
        assert_eq!(RootNews::of(&[WatchHint::RootVanished, WatchHint::Approved]), RootNews::Vanished);
        assert_eq!(RootNews::of(&[WatchHint::RootVanished, returned.clone()]), RootNews::Returned);
        assert_eq!(RootNews::of(&[returned, WatchHint::RootVanished]), RootNews::Vanished);
    }
}
