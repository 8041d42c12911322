//! Shows on the terminal what a run in the service is doing, in one line that is replaced again and again. The line is
//! only a convenience: the result comes from the run's report. If the service sends no events, there is no line.

use std::thread::{self, JoinHandle};

use crate::api::EventV1;
use crate::cli::render;
use crate::cli::service::ServedProject;
use crate::cli::style::{Style, Tone};
use crate::client::{Events, EventsStopper};
use crate::model::ProjectId;

/// A live line that is being shown by a thread of its own.
pub(crate) struct LiveLine {
    end: EventsStopper,
    thread: JoinHandle<()>,
}

impl LiveLine {
    /// Begins to show the events of a project; `None` if the service's events cannot be read.
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
    let mut over = 0_usize;
    for event in events {
        let line = match event {
            EventV1::ActionStarted { project, action_id, name } if project == *wanted => {
                format!("  … {:<9} {name} ({over} done)", action_id.as_str())
            }
            EventV1::ActionEnded { project, .. } if project == *wanted => {
                over += 1;
                continue;
            }
            EventV1::RunStarted { project, .. } if project == *wanted => {
                over = 0;
                continue;
            }
            EventV1::ActionStarted { .. }
            | EventV1::ActionEnded { .. }
            | EventV1::RunStarted { .. }
            | EventV1::RunFinished { .. }
            | EventV1::Changed { .. }
            | EventV1::Added { .. }
            | EventV1::Removed { .. }
            | EventV1::End { .. } => continue,
        };
        if is_drawn {
            render::end_live();
        }
        render::live(&style.paint(Tone::Quiet, &line));
        is_drawn = true;
    }
    if is_drawn {
        render::end_live();
    }
}
