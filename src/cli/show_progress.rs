//! A run while it goes on: on a terminal with a live line, elsewhere plain lines.

use std::io::Write as _;

use crate::cli::render;
use crate::cli::screen;
use crate::cli::style::{Style, Tone};
use crate::run::Progress;

/// Shows a run's progress.
pub(crate) struct ProgressScreen {
    style: Style,
    audience: Audience,
}

/// For whom progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A person at a terminal: the action under way has a line that its result replaces.
    Terminal,
    /// A file or pipe: one line for each action that is over.
    Plain,
    /// A program that wants the report alone.
    Nobody,
}

impl ProgressScreen {
    /// Returns a screen for an audience.
    pub(crate) fn new(style: Style, audience: Audience) -> Self {
        Self { style, audience }
    }

    /// Shows one thing.
    pub(crate) fn show(&mut self, progress: &Progress) {
        match (self.audience, progress) {
            (
                Audience::Nobody,
                Progress::WaitingForLock { .. }
                | Progress::WaitingForSlot { .. }
                | Progress::Recovered { .. }
                | Progress::Note(_),
            ) => self.note(progress),
            (
                Audience::Nobody,
                Progress::Begun { .. } | Progress::ActionStarted(_) | Progress::ServiceReady { .. } | Progress::ActionEnded(_),
            ) => {}
            (Audience::Terminal | Audience::Plain, _) => self.show_to_person(progress),
        }
    }

    fn show_to_person(&mut self, progress: &Progress) {
        match progress {
            Progress::WaitingForLock { .. }
            | Progress::WaitingForSlot { .. }
            | Progress::Recovered { .. }
            | Progress::Note(_) => self.note(progress),
            Progress::Begun { project_name, tree, issues, .. } => {
                render::line(&screen::header(project_name, tree, self.style));
                screen::issues(issues).iter().for_each(|line| render::note(line));
            }
            Progress::ActionStarted(action) => {
                if self.audience == Audience::Terminal {
                    let line = format!("  … {:<9} {}", action.id.as_str(), action.name);
                    render::live(&self.style.paint(Tone::Quiet, &line));
                }
            }
            Progress::ServiceReady { action, after } => {
                if self.audience == Audience::Terminal {
                    render::end_live();
                }
                render::line(&screen::service_ready(action, *after, self.style));
            }
            Progress::ActionEnded(result) => {
                if self.audience == Audience::Terminal {
                    render::end_live();
                }
                screen::action(result, self.style).iter().for_each(|line| render::line(line));
            }
        }
        let _flushed = std::io::stdout().flush();
    }

    fn note(&self, progress: &Progress) {
        match progress {
            Progress::WaitingForLock { wait } => {
                render::note(&format!("waiting for another run of this project to end (at most {} s)", wait.as_secs()));
            }
            Progress::WaitingForSlot { under_way, ahead, wait } => {
                render::note(&format!("waiting: {} (at most {} s)", before_us(*under_way, *ahead), wait.as_secs()));
            }
            Progress::Recovered { runs } => {
                runs.iter().for_each(|run| render::note(&format!("run {run} had been cut short; it is kept as INTERRUPTED")));
            }
            Progress::Note(text) => render::note(&format!("note: {text}")),
            Progress::Begun { .. } | Progress::ActionStarted(_) | Progress::ServiceReady { .. } | Progress::ActionEnded(_) => {}
        }
    }
}

fn before_us(under_way: usize, ahead: usize) -> String {
    let actions = match under_way {
        1 => "1 action of another run is under way".to_owned(),
        _ => format!("{under_way} actions of other runs are under way"),
    };
    match ahead {
        0 => actions,
        1 => format!("{actions}, 1 is before this one in line"),
        _ => format!("{actions}, {ahead} are before this one in line"),
    }
}
