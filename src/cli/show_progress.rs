//! Shows the progress of a run: with a live line on a terminal, otherwise as plain lines.

use std::sync::Arc;

use crate::cli::render;
use crate::cli::running_actions::RunningActions;
use crate::cli::screen::{self, ActionLook, FailuresShown};
use crate::cli::style::{Line, Style};
use proctor_model::{ActionId, TaskId};
use proctor_project::Progress;

pub(crate) struct ProgressScreen {
    look: ActionLook,
    audience: Audience,
    running: RunningActions,
    /// The lines of the run under way that were shown, so that they can be shown again on a cleared screen.
    shown: Vec<Line>,
}

/// Who reads the progress of a run. The reader decides the form in which the progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A person at a terminal. Running actions have a live line, which results replace.
    Terminal,
    /// A file or pipe. Lines are only added; none is replaced.
    Plain,
    /// A program that wants only the report.
    Nobody,
}

impl ProgressScreen {
    pub(crate) fn new(style: Style, failures: FailuresShown, audience: Audience) -> Self {
        let look = ActionLook::of(&TaskId::default_task(), failures, style);
        Self { look, audience, running: RunningActions::new(style, audience), shown: Vec::new() }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        match self.audience {
            Audience::Nobody => self.note(progress),
            Audience::Terminal | Audience::Plain => self.show_to_person(progress),
        }
    }

    fn show_to_person(&mut self, progress: &Progress) {
        match progress {
            Progress::WaitingForLock { .. }
            | Progress::WaitingForSlot { .. }
            | Progress::Recovered { .. }
            | Progress::HelperDied { .. }
            | Progress::Note(_) => self.note(progress),
            Progress::Begun { project_name, task, tree, issues, last_report, .. } => {
                self.look = ActionLook::of(task, self.look.failures, self.look.style);
                self.running.begin_run(last_report.clone());
                self.shown.clear();
                self.print(screen::header(project_name, tree, self.look.style));
                screen::issues(issues).iter().for_each(render::note);
            }
            Progress::ActionStarted(action) => self.running.start(&action.id, &action.name),
            Progress::ProcessPrepared { action_id, log } => self.running.note_log(action_id, Arc::clone(log)),
            Progress::ServiceReady { action, after } => {
                self.running.end(&action.id);
                self.print(screen::service_ready(action, *after, self.look));
                self.running.resume();
            }
            Progress::ChecksOver => {}
            Progress::ActionEnded(result) => {
                self.running.end(&result.action_id);
                screen::action(result, self.look).into_iter().for_each(|line| self.print(line));
                self.running.resume();
            }
        }
    }

    fn print(&mut self, line: Line) {
        render::line(&line);
        self.shown.push(line);
    }

    /// Returns the lines of the run that is over, and forgets them.
    pub(crate) fn take_shown(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.shown)
    }

    /// Prints lines above the live line, if there is one.
    pub(crate) fn print_above(&self, print: impl FnOnce()) {
        self.running.print_above(print);
    }

    /// Shows the run under way again, on a cleared screen.
    pub(crate) fn show_again(&self) {
        self.running.print_above(|| self.shown.iter().for_each(render::line));
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
            Progress::HelperDied { why, .. } => render::note(&format!("note: {why}; the checks are run once more")),
            Progress::Note(text) => render::note(&format!("note: {text}")),
            Progress::Begun { .. }
            | Progress::ActionStarted(_)
            | Progress::ProcessPrepared { .. }
            | Progress::ServiceReady { .. }
            | Progress::ActionEnded(_)
            | Progress::ChecksOver => {}
        }
    }
}

/// Returns the text of the live line: the name of the first running action and the number of the others.
pub(crate) fn under_way_line(under_way: &[(ActionId, String)]) -> String {
    let Some(((_, name), others)) = under_way.split_first() else { return String::new() };
    let first = format!("  … {name}");
    if others.is_empty() { first } else { format!("{first} and {} more", others.len()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_names_the_first_and_counts_the_others() {
        let one = |number: usize| (ActionId::numbered("STEP", number), format!("check {number}"));
        assert_eq!(under_way_line(&[one(1)]), "  … check 1");
        assert_eq!(under_way_line(&[one(2), one(1), one(7)]), "  … check 2 and 2 more");
    }
}
