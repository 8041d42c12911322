//! Handles the calls from the control socket. Each call is passed to its project, or is answered or refused here.

use std::time::Duration;

use crate::engine::Moment;
use crate::service::call::{Call, from_run_error};
use crate::service::host::{ServiceHost, ServiceStep};
use crate::service::opening::RunCall;
use proctor_api::{CycleV1, ErrorKindV1, ErrorV1};
use proctor_model::{ProjectId, TaskId};
use proctor_project::{RefusedBefore, Selection};
use proctor_sandbox::process::{PeerOrigin, PeerProcess};

impl ServiceHost {
    pub(super) fn called(&mut self, now: Moment, call: Call) {
        let is_ending = matches!(self.step, ServiceStep::Ending(_));
        match call {
            Call::OwnProgramChanged => self.look_at_own_program(now),
            Call::ProgramTried(outcome) => self.own_program_tried(now, outcome),
            Call::LedgersChanged => self.look_at_ledgers(),
            Call::RemovalRecorded { project, root, recorded, reply } => {
                self.tell_removal(now, (*project, root), recorded, reply);
            }
            late if is_ending => refuse_call(late, stopping()),
            Call::Projects { root, reply } => {
                let _gone = reply.send(match root {
                    Some(root) => self.watched_at(&root),
                    None => self.projects(),
                });
            }
            Call::Watched { root, reply } => {
                let _gone = reply.send(self.watched(root.as_deref()));
            }
            Call::Add { root, asker, reply } => self.add(now, &root, asker, reply),
            Call::Remove { project, asker, reply } => self.remove(now, &project, asker, reply),
            Call::Run { project, request, reply } => match self.seat_for_call(now, &project) {
                Ok(session_id) => {
                    let selection = if request.checks.is_empty() { Selection::All } else { Selection::Named(request.checks) };
                    let task = request.task.unwrap_or_else(TaskId::default_task);
                    let call = RunCall { task, selection, replies: vec![reply], tries: 0 };
                    self.with(session_id, |served, archive| served.request(now, call, archive));
                }
                Err(why) => drop(reply.send(Err(why))),
            },
            Call::Verdict { project, task, question, timeout, reply } => match self.seat_for_call(now, &project) {
                Ok(session_id) => {
                    let deadline = now.plus(timeout);
                    self.with(session_id, |served, archive| served.ask(now, (task, question), deadline, reply, archive));
                }
                Err(why) => drop(reply.send(Err(why))),
            },
            Call::Errand { project, call } => match self.seat_for_call(now, &project) {
                Ok(session_id) => self.with(session_id, |served, archive| served.send_on_errand(now, call, archive)),
                Err(why) => drop(call.reply.send(Err(why))),
            },
            Call::Cycle { project, task, reply } => {
                let state = match self.session_id_of(&project) {
                    Some(_) => self.archive.cycle(&project, &task).map_err(|error| from_run_error(&error)),
                    None => Err(not_served(&project)),
                };
                let _gone = reply.send(state.map(|state| CycleV1 { task, state }));
            }
            Call::Heard { project, path, reply } => self.heard(&project, path, reply),
            Call::Refused { peer, reply } => {
                self.refused(now, peer);
                let _gone = reply.send(Ok(()));
            }
            Call::Subscribe { after, reply } => {
                let refused = ErrorV1::new(ErrorKindV1::TooMany, "as many read events as may", "close one of them");
                let _gone = reply.send(self.subscribers.add(after.as_deref()).ok_or(refused));
                if !self.news.is_following() {
                    self.look_at_ledgers();
                }
            }
        }
    }
}

fn refuse_call(call: Call, why: ErrorV1) {
    match call {
        Call::OwnProgramChanged | Call::ProgramTried(_) | Call::LedgersChanged => {}
        Call::Projects { reply, .. } => drop(reply.send(Err(why))),
        Call::Watched { reply, .. } => drop(reply.send(Err(why))),
        Call::Add { reply, .. } => drop(reply.send(Err(why))),
        Call::Remove { reply, .. } | Call::RemovalRecorded { reply, .. } => drop(reply.send(Err(why))),
        Call::Run { reply, .. } => drop(reply.send(Err(why))),
        Call::Verdict { reply, .. } => drop(reply.send(Err(why))),
        Call::Errand { call, .. } => drop(call.reply.send(Err(why))),
        Call::Cycle { reply, .. } => drop(reply.send(Err(why))),
        Call::Heard { reply, .. } => drop(reply.send(Err(why))),
        Call::Refused { reply, .. } => drop(reply.send(Err(why))),
        Call::Subscribe { reply, .. } => drop(reply.send(Err(why))),
    }
}

/// Returns the error for calls while the service is ending.
pub(super) fn stopping() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::Stopping, "the service is stopping", "ask again when it is up, or run the checks without it")
}

/// Returns the error for a project that the service does not watch.
pub(super) fn not_served(project: &ProjectId) -> ErrorV1 {
    let hint = "`proctor service list` shows the projects with their ids, `proctor service add` adds one";
    ErrorV1::new(ErrorKindV1::NotFound, format!("the service does not watch a project `{project}`"), hint)
}

// Requests of processes that may ask nothing: they are named in the log, and in the report of the run to which the
// process belongs.

/// After a refused process whose project is unknown was named in the log, no other such process is named for this
/// time. Such processes could otherwise fill the log.
const SILENCE: Duration = Duration::from_secs(60);

impl ServiceHost {
    /// Records a refused request. The first refused request of every run is written to the log. A request that
    /// belongs to no known project is written to the log at most once per `SILENCE`.
    fn refused(&mut self, now: Moment, peer: PeerProcess) {
        let process = peer.pid.unwrap_or_default();
        let launcher = match peer.origin {
            PeerOrigin::Action { launcher, .. } => launcher,
            PeerOrigin::Outside | PeerOrigin::Unknown => None,
        };
        let of_launcher = launcher
            .and_then(|launcher| self.refused_requests.iter().find(|(_, requests)| requests.has_launcher(launcher.as_raw())));
        match of_launcher {
            Some((seat, requests)) => {
                if requests.record(process) == RefusedBefore::Again {
                    return;
                }
                let root = self.seats.get(seat).map(|served| served.root.display().to_string()).unwrap_or_default();
                self.said.add(&format!("`{root}`: an action sent a request to the control socket, process {process}: refused"));
            }
            None => {
                if self.told_of_stranger.is_some_and(|told| now < told.plus(SILENCE)) {
                    return;
                }
                self.told_of_stranger = Some(now);
                let what = match peer.origin {
                    PeerOrigin::Action { sign, .. } => format!("a process that belongs to an action ({sign})"),
                    PeerOrigin::Outside | PeerOrigin::Unknown => "a process that has ended".to_owned(),
                };
                self.said.add(&format!("{what} sent a request to the control socket, process {process}: refused"));
            }
        }
    }
}
