//! Shows on the terminal what a run in the service is doing, in one line that is replaced again and again. The line is
//! only a convenience: the result comes from the run's report. If the service sends no events, there is no line.

use std::thread::{self, JoinHandle};

use crate::cli::render;
use crate::cli::show_progress::under_way_line;
use crate::cli::style::{Style, Tone};
use proctor_api::EventV1;
use proctor_app::client::{Events, EventsStopper};
use proctor_app::serving::ServedProject;
use proctor_model::{ActionId, ProjectId};

/// A live line that is being shown by a thread of its own.
pub(crate) struct LiveLine {
    end: EventsStopper,
    thread: JoinHandle<()>,
}

impl LiveLine {
    /// Begins to show the events of a project; `None` if the service's events cannot be read or no thread can be started.
    pub(crate) fn begin(served: &ServedProject, style: Style) -> Option<Self> {
        let (events, end) = served.client.events().ok()?;
        let project = served.project.id.clone();
        let draw = move || draw(events, &project, style);
        let thread = thread::Builder::new().name("live line".to_owned()).spawn(draw).ok()?;
        Some(Self { end, thread })
    }

    /// Stops reading events, and waits until the line has been removed from the terminal.
    pub(crate) fn end(self) {
        self.end.end();
        let _panicked = self.thread.join();
    }
}

fn draw(events: Events, wanted: &ProjectId, style: Style) {
    let mut is_drawn = false;
    let mut actions = ActionsOfRun::default();
    for event in events {
        if !actions.note(event, wanted) {
            continue;
        }
        if is_drawn {
            render::end_live();
        }
        is_drawn = !actions.under_way.is_empty();
        if is_drawn {
            let line = format!("{} ({} done)", under_way_line(&actions.under_way), actions.done);
            render::live(&style.paint(Tone::Quiet, &line));
        }
    }
    if is_drawn {
        render::end_live();
    }
}

/// The running actions of a run and the number of ended ones, counted from the service's events.
#[derive(Default)]
struct ActionsOfRun {
    /// The running actions, in the order in which they were started.
    under_way: Vec<(ActionId, String)>,
    done: usize,
}

impl ActionsOfRun {
    /// Takes in an event. Returns whether the line has to be drawn again.
    fn note(&mut self, event: EventV1, wanted: &ProjectId) -> bool {
        match event {
            EventV1::ActionStarted { project, action_id, name, .. } if project == *wanted => {
                self.under_way.retain(|(id, _)| *id != action_id);
                self.under_way.push((action_id, name));
                true
            }
            EventV1::ActionProgress { project, action_id, name, progress, .. } if project == *wanted => {
                let words = progress.words().map(|words| format!("{name}  {words}"));
                let known = self.under_way.iter_mut().find(|(id, _)| *id == action_id);
                words.zip(known).map(|(words, known)| known.1 = words).is_some()
            }
            EventV1::ActionEnded { project, action_id, .. } if project == *wanted => {
                self.under_way.retain(|(id, _)| *id != action_id);
                self.done += 1;
                // Between two actions the line stays as it is, so it does not flicker.
                !self.under_way.is_empty()
            }
            EventV1::RunStarted { project, .. } if project == *wanted => {
                *self = Self::default();
                false
            }
            EventV1::ActionStarted { .. }
            | EventV1::ActionProgress { .. }
            | EventV1::ActionEnded { .. }
            | EventV1::RunStarted { .. }
            | EventV1::RunFinished { .. }
            | EventV1::Changed { .. }
            | EventV1::Health { .. }
            | EventV1::Added { .. }
            | EventV1::Removed { .. }
            | EventV1::Missed
            | EventV1::End { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{RunId, TestProgress, Timestamp};

    #[test]
    fn an_action_that_has_ended_is_not_shown_while_others_go_on() {
        let project = || ProjectId::try_from("shop-00000001").expect("an id");
        let (id, run_id) = (|number| ActionId::numbered("STEP", number), || RunId::new(Timestamp::from_millis(0), 1));
        let name = |number| format!("check {number}");
        let started =
            |number| EventV1::ActionStarted { project: project(), run_id: run_id(), action_id: id(number), name: name(number) };
        let progress = |number, ended| EventV1::ActionProgress {
            project: project(),
            run_id: run_id(),
            action_id: id(number),
            name: name(number),
            progress: TestProgress { ended, ..TestProgress::default() },
            ended: Vec::new(),
        };
        let ended = |number| EventV1::ActionEnded {
            project: project(),
            run_id: run_id(),
            action_id: id(number),
            name: name(number),
            status: None,
        };
        let mut actions = ActionsOfRun::default();
        for (event, is_drawn, expected) in [
            (started(1), true, "  … check 1"),
            (started(2), true, "  … check 1 and 1 more"),
            (ended(1), true, "  … check 2"),
            (progress(2, 0), false, "  … check 2"),
            (progress(2, 3), true, "  … check 2  3 tests"),
            (progress(1, 3), false, "  … check 2  3 tests"),
            (ended(2), false, ""),
        ] {
            assert_eq!(actions.note(event, &project()), is_drawn);
            assert_eq!(under_way_line(&actions.under_way), expected);
        }
        assert_eq!(actions.done, 2);
    }
}
