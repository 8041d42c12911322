//! Carries out the operations of a schedule.

use super::clients::Client;
use super::disk::{Disk, TOML, path, plan_of};
use super::schedule::{FILES, Operation, Requested, SaveWay};
use super::world::{Happening, World, WriteStep, closed};
use crate::event::OsSignal;
use crate::service::call::{Question, Wait};
use crate::service::opening::RunCall;
use crate::service::pending_changes::LookCare;
use proctor_api::{ErrorKindV1, ErrorV1};
use proctor_model::{GitOperation, TaskId, WatchHint};
use proctor_project::Selection;

impl World<'_> {
    pub(super) fn operate(&mut self, project: usize, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Save { file, way } => self.save(project, file, way),
            Operation::Touch { file } => self.change(project, |disk| {
                let content = disk.tree[file].map(|entry| entry.content);
                disk.set(now, file, content);
                disk.report(now, closed(path(file)));
            }),
            Operation::Restore { file } => self.change(project, |disk| {
                let content = disk.earlier(file);
                disk.set(now, file, content);
                let hint = if content.is_some() { WatchHint::Saved(path(file)) } else { WatchHint::Removed(path(file)) };
                disk.report(now, [hint]);
            }),
            Operation::Remove { file } => self.change(project, |disk| {
                disk.set(now, file, None);
                disk.report(now, [WatchHint::Removed(path(file))]);
            }),
            Operation::SaveSilently { file } => self.change(project, |disk| {
                let content = disk.new_content();
                disk.set(now, file, Some(content));
                (disk.unreported_since, disk.owes_sweep) = (Some(now), true);
            }),
            Operation::KeepWriting { file, every, times } => self.write_on(project, WriteStep::Again { file, every, times }),
            Operation::Checkout { files, lasts } => self.check_out(project, files, lasts),
            Operation::Overflow => self.change(project, |disk| disk.overflow(now)),
            Operation::LoseRoot { lasts } => {
                self.change(project, |disk| disk.lose_root(now));
                self.at(now + lasts, Happening::Write(project, WriteStep::FindRoot));
            }
            Operation::AskForMore => self.change_plan(project, 1),
            Operation::BreakConfiguration => self.change_plan(project, 2),
            Operation::MendConfiguration => self.change_plan(project, 0),
            Operation::Approve => {
                let plan = plan_of(&self.projects[project].directory.lock().tree).1;
                self.projects[project].store.approved = plan;
                self.change(project, |disk| disk.report(now, [WatchHint::Approved]));
            }
            Operation::KillHelper => {
                let thread = &mut self.projects[project].thread;
                thread.is_to_die = thread.is_running();
            }
            Operation::FillDisk { lasts } => {
                self.projects[project].store.is_full = true;
                self.at(now + lasts, Happening::Write(project, WriteStep::EmptyDisk));
            }
            Operation::Ask { is_wait, is_quick, timeout, patience } => self.ask(project, (is_wait, is_quick), timeout, patience),
            Operation::Request { selection, patience } => self.request(project, selection, patience),
            Operation::Reload => self.with(project, |session, now, _| session.signalled(now, OsSignal::Reload)),
            Operation::Restart => {
                let why = ErrorV1::new(ErrorKindV1::NotNow, "the service is stopping".to_owned(), "");
                self.projects[project].is_ending = true;
                self.with(project, |session, now, _| session.end(now, &why));
            }
            Operation::Kill => {
                self.clients.retain(|client| client.project() != project);
                self.projects[project].thread.end();
                self.projects[project].thread.is_told = true;
                if self.projects[project].session.take().is_some() {
                    self.at(now + 50, Happening::Open(project));
                }
            }
        }
    }

    fn change(&mut self, project: usize, change: impl FnOnce(&mut Disk)) {
        let mut disk = self.projects[project].directory.lock();
        if disk.is_root_there {
            change(&mut disk);
        }
    }

    fn change_plan(&mut self, project: usize, kind: u64) {
        let now = self.now;
        self.change(project, |disk| {
            let content = disk.new_content() + kind;
            disk.set(now, TOML, Some(content));
            disk.report(now, closed(path(TOML)));
        });
    }

    fn save(&mut self, project: usize, file: usize, way: SaveWay) {
        let now = self.now;
        let mut later = None;
        self.change(project, |disk| {
            let content = disk.new_content();
            match way {
                SaveWay::InPlace(0) => {
                    disk.set(now, file, Some(content));
                    disk.report(now, closed(path(file)));
                }
                SaveWay::InPlace(after) => {
                    // What is there while it is open is no content that anybody meant.
                    let partial = disk.new_content();
                    disk.set(now, file, Some(partial));
                    disk.report(now, [WatchHint::Writing(path(file))]);
                    later = Some((after, WriteStep::Close(file, content)));
                }
                SaveWay::ByRename => {
                    disk.set(now, file, Some(content));
                    disk.report(now, [WatchHint::Saved(path(file))]);
                }
                SaveWay::OldPutAside(after) => {
                    disk.set(now, file, None);
                    disk.report(now, [WatchHint::Removed(path(file))]);
                    later = Some((after, WriteStep::Come(file, content)));
                }
            }
        });
        later.into_iter().for_each(|(after, step)| self.at(now + after, Happening::Write(project, step)));
    }

    fn check_out(&mut self, project: usize, files: usize, lasts: u64) {
        let now = self.now;
        self.change(project, |disk| {
            disk.git = Some(GitOperation::Index);
            for file in 0..files.min(FILES) {
                let content = disk.new_content();
                disk.set(now, file, Some(content));
                disk.report(now, closed(path(file)));
            }
        });
        self.at(now + lasts, Happening::Write(project, WriteStep::EndGit));
    }

    pub(super) fn write_on(&mut self, project: usize, step: WriteStep) {
        let now = self.now;
        match step {
            WriteStep::Close(file, content) | WriteStep::Come(file, content) => self.change(project, |disk| {
                disk.set(now, file, Some(content));
                let is_new = matches!(step, WriteStep::Come(..));
                let first = is_new.then(|| WatchHint::Created(path(file)));
                disk.report(now, first.into_iter().chain([WatchHint::Saved(path(file))]));
            }),
            WriteStep::Again { file, every, times } => {
                self.change(project, |disk| {
                    let content = disk.new_content();
                    disk.set(now, file, Some(content));
                    disk.report(now, closed(path(file)));
                });
                if times > 0 {
                    let again = WriteStep::Again { file, every, times: times - 1 };
                    self.at(now + every, Happening::Write(project, again));
                }
            }
            WriteStep::EndGit => {
                let mut disk = self.projects[project].directory.lock();
                disk.git = None;
            }
            WriteStep::FindRoot => self.projects[project].directory.lock().find_root(now),
            WriteStep::EmptyDisk => self.projects[project].store.is_full = false,
        }
    }

    fn ask(&mut self, project: usize, (is_wait, is_quick): (bool, bool), timeout: u64, patience: u64) {
        if self.projects[project].session.is_none() || self.projects[project].is_ending {
            return;
        }
        let (client, reply) = Client::asking(project, self.now, timeout, patience);
        self.at(client.next().min(self.now + timeout + 2_000), Happening::Clients);
        self.clients.push(client);
        let question = Question {
            wait: if is_wait { Wait::Fresh } else { Wait::Now },
            care: if is_quick { LookCare::Events } else { LookCare::Whole },
        };
        let deadline = crate::engine::Moment(self.now + timeout);
        let asked = (TaskId::default_task(), question);
        self.with(project, |session, now, archive| session.ask(now, asked, deadline, reply, archive));
    }

    fn request(&mut self, project: usize, selection: Requested, patience: u64) {
        if self.projects[project].session.is_none() || self.projects[project].is_ending {
            return;
        }
        let (client, reply) = Client::requesting(project, self.now, patience);
        if client.next() < u64::MAX {
            self.at(client.next(), Happening::Clients);
        }
        self.clients.push(client);
        let selection = match selection {
            Requested::Every => Selection::Every,
            Requested::Missing => Selection::Missing,
            Requested::First => Selection::Named(vec!["first".to_owned()]),
            Requested::Unknown => Selection::Named(vec!["second".to_owned()]),
        };
        let call = RunCall { task: TaskId::default_task(), selection, replies: vec![reply], tries: 0 };
        self.with(project, |session, now, archive| session.request(now, call, archive));
    }
}
