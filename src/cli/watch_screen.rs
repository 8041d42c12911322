//! The screen of `proctor watch`. Runs are shown as `proctor run` shows them, with notices between them. The bell rings when the
//! verdict changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::check_history::CheckHistory;
use crate::cli::commands::{history, show};
use crate::cli::environment;
use crate::cli::keyboard::Keyboard;
use crate::cli::page_opener::PageOpener;
use crate::cli::render;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::style::{Line, Style, Tone};
use proctor_app::history::ComparedRuns;
use proctor_app::project::setup;
use proctor_app::{CommandError, Environment, refusals};
use proctor_git::read_git_index;
use proctor_model::{CommandExit, OverallResult, PersonAsked, ProjectId, RuleChange, RunId, TaskId, UnapprovedPlan};
use proctor_project::{Progress, RunOutcome, SealedReport};
use proctor_service::{
    FinishedRun, LastRunState, Notice, QuestionEnd, QuestionNumber, RunFailure, Screen, WayIntoProject, busy_lines,
    differing_lines, ignore_advice, notify_desktop, notify_person_on_desktop,
};

pub(crate) struct WatchScreenSettings {
    pub(crate) style: Style,
    pub(crate) failures: FailuresShown,
    pub(crate) is_terminal: bool,
    pub(crate) clear: bool,
    pub(crate) bell: bool,
    pub(crate) notify: bool,
    pub(crate) link: Option<String>,
    pub(crate) root: PathBuf,
    /// The last runs of the checks, shown below each verdict.
    pub(crate) history: CheckHistory,
    pub(crate) page: PageOpener,
    pub(crate) environment: Environment,
}

pub(crate) struct WatchScreen {
    look: WatchScreenSettings,
    progress: ProgressScreen,
    last: BTreeMap<TaskId, OverallResult>,
    /// The lines of each task's last run.
    last_lines: BTreeMap<TaskId, Vec<Line>>,
    /// The line that says that proctor waits for saves; `None` during a run.
    waiting: Option<String>,
    /// The keyboard; `None` if there is no terminal that a person could type at.
    keyboard: Option<Keyboard>,
    /// The open question to the person, as it stands on the last line.
    prompt: Option<String>,
    /// The run on the screen, and the check whose log a person wants to see first: one that failed, if there is one.
    shown: Option<(ProjectId, RunId, String)>,
    /// What each task was last said to ask an approval for on the desktop.
    told: BTreeMap<TaskId, Vec<RuleChange>>,
    /// Shows on the desktop what a person is asked about the project with this name.
    desktop: fn(&str, &PersonAsked),
}

impl WatchScreen {
    pub(crate) fn new(look: WatchScreenSettings, keyboard: Option<Keyboard>) -> Self {
        let audience = if look.is_terminal { Audience::Terminal } else { Audience::Plain };
        let progress = ProgressScreen::new(look.style, look.failures, audience);
        let (last, last_lines, told) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let desktop = notify_person_on_desktop;
        Self { look, progress, last, last_lines, waiting: None, keyboard, prompt: None, shown: None, told, desktop }
    }

    fn judged(&mut self, sealed: &SealedReport) {
        self.show_end(sealed, true);
        let now = sealed.report.validation_criteria_evaluation.overall_result;
        let task = &sealed.report.test_specification.task_id;
        let changed = changes_places(self.last.get(task).copied(), now);
        if changed && self.look.bell {
            render::bell();
        }
        if changed && self.look.notify {
            let name = sealed.report.project.name.as_deref().unwrap_or("the project");
            notify_desktop(name, now == Some(OverallResult::Passed));
        }
        // Nothing holds the task any more, so the same question is a new one when it comes back.
        self.told.remove(task);
        if let Some(asked) = sealed.person.as_ref().filter(|asked| asked.run_id.as_ref() == Some(&sealed.run_id)) {
            self.notify_person(asked);
        }
        if let Some(now) = now {
            self.last.insert(task.clone(), now);
        }
    }

    fn notify_person(&self, asked: &PersonAsked) {
        if self.look.notify {
            // The name is read anew, because the file may have changed since the watch began.
            let configuration = setup::configuration(&self.look.environment, &self.look.root).ok();
            let named = configuration.and_then(|(configuration, _)| configuration.project_name);
            (self.desktop)(&named.unwrap_or_else(|| setup::directory_name(&self.look.root)), asked);
        }
    }

    /// Tells the person on the desktop that nothing runs until a plan is approved. The same question is told once, although it is asked again
    /// after each save. A plan with rules that open nothing runs without an approval, so nothing is told about it.
    fn notify_approval(&mut self, unapproved: &UnapprovedPlan) {
        let opens = &unapproved.difference.opens;
        if opens.is_empty() || self.told.get(&unapproved.task) == Some(opens) {
            return;
        }
        self.told.insert(unapproved.task.clone(), opens.clone());
        self.notify_person(&PersonAsked::approval(&unapproved.task, &unapproved.texts()));
    }

    fn show_end(&mut self, sealed: &SealedReport, is_latest: bool) {
        let last = || sealed.report.step_execution.results.iter().rfind(|result| result.skip_reason.is_none());
        let check = sealed.failed.first().cloned().or_else(|| Some(last()?.name.clone())).unwrap_or_default();
        self.shown = Some((sealed.report.project.id.clone(), sealed.report.authenticity.execution_id.clone(), check));
        let unmet = screen::unmet(&sealed.report).into_iter().map(Line::from);
        let notes = screen::notes(&sealed.report, &sealed.told_notes).into_iter().map(Line::from);
        let mut lines: Vec<Line> = unmet.chain(notes).collect();
        let task = &sealed.report.test_specification.task_id;
        let path = screen::report_path(&self.look.root, self.look.link.as_deref(), task, &sealed.report_path, is_latest);
        lines.extend(screen::logs(&sealed.report, None).into_iter().map(Line::from));
        lines.push(screen::verdict(&sealed.report, &path, self.look.style));
        if let Some(hint) = screen::pause_hint(&sealed.report) {
            lines.push(self.quiet(&format!("hint: {hint}")));
        }
        lines.iter().for_each(render::line);
        // The verdict stands there before the store is asked for the runs before.
        let blocks = self.look.history.lines(&sealed.report.project.id, task);
        blocks.iter().for_each(render::line);
        lines.extend(blocks);
        let lines = self.progress.take_shown().into_iter().chain(lines).collect();
        self.last_lines.insert(task.clone(), lines);
    }

    /// Shows what a person asked for by a key, or why it cannot be shown.
    fn show(
        &self,
        shown: impl FnOnce(&WatchScreenSettings, Option<&(ProjectId, RunId, String)>) -> Result<CommandExit, CommandError>,
    ) {
        self.progress.print_above(|| {
            if let Err(error) = shown(&self.look, self.shown.as_ref()) {
                error.lines().iter().for_each(|line| self.say(line));
            }
        });
    }

    fn quiet(&self, text: &str) -> Line {
        self.look.style.paint(Tone::Quiet, text)
    }

    fn say(&self, text: &str) {
        render::line(&self.quiet(text));
    }
}

impl Screen for WatchScreen {
    fn progress(&mut self, progress: &Progress) {
        if matches!(progress, Progress::Begun { .. }) {
            self.waiting = None;
            if self.look.clear && self.look.is_terminal {
                render::clear();
            }
        }
        self.progress.show(progress);
    }

    fn over(&mut self, over: &FinishedRun) {
        match &over.carried {
            Ok(RunOutcome::Judged(sealed)) => self.judged(sealed),
            Ok(RunOutcome::Moved(sealed)) => {
                self.show_end(sealed, false);
                self.say(OLDER_TREE);
            }
            Ok(RunOutcome::Interrupted(sealed)) => self.show_end(sealed, false),
            Ok(RunOutcome::HelperDied(sealed)) => {
                self.show_end(sealed, false);
                screen::own_fault(&sealed.report, sealed.exit).iter().for_each(|line| self.say(line));
            }
            Ok(RunOutcome::Paused(pause)) => {
                let task = &over.task;
                render::line(&refusals::paused(task, pause));
                self.say(&format!("hint: {}", refusals::resolve_hint(task)));
            }
            Ok(RunOutcome::Waits(unmet)) => {
                render::line(&refusals::waits(&over.task));
                unmet.iter().for_each(|unmet| self.say(&format!("  {unmet}")));
            }
            Ok(RunOutcome::NotApproved(unapproved)) => self.not_asked(unapproved),
            Ok(RunOutcome::Superseded | RunOutcome::Withdrawn | RunOutcome::Unchanged | RunOutcome::Untriggered) => {}
            Err(failure) => self.failed(failure),
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let lines = match notice {
            Notice::PageAsked => {
                self.look.page.open(self.shown.as_ref().map(|(project, run_id, _)| (project, run_id))).into_iter().collect()
            }
            Notice::DifferenceAsked => {
                self.show(|look, _| history::show_difference(&look.environment, &look.root, ComparedRuns::SinceGreen));
                Vec::new()
            }
            Notice::LogAsked => {
                self.show(|look, shown| match shown {
                    Some((_, run_id, check)) => show::show_log_of(&look.environment, &look.root, run_id, check),
                    None => Err(CommandError::new(CommandExit::Usage, "no check has run yet")),
                });
                Vec::new()
            }
            Notice::Restarting { .. }
            | Notice::Stopping
            | Notice::LettingFinish
            | Notice::OlderTree
            | Notice::Repeating { .. }
            | Notice::Unstable { .. }
            | Notice::EventsLost(_)
            | Notice::GitGoesOn(_)
            | Notice::Polling(_)
            | Notice::RootVanished
            | Notice::ReloadingAfterRun
            | Notice::RunningAgainAfterRun
            | Notice::PageOpened(_)
            | Notice::Keys
            | Notice::NothingFailed
            | Notice::Unchanged
            | Notice::CopiedFilesDiffer { .. }
            | Notice::Busy { .. }
            | Notice::NoLongerBusy
            | Notice::Untriggered
            | Notice::Waiting(_) => notice_lines(notice, self.look.is_terminal, &self.look.root),
        };
        if self.prompt.is_some() {
            render::end_prompt();
        }
        self.progress.print_above(|| lines.iter().for_each(|line| self.say(line)));
        if let Some(prompt) = &self.prompt {
            render::prompt(prompt);
        }
        if matches!(notice, Notice::Waiting(_)) {
            self.waiting = lines.into_iter().next();
        }
    }

    fn clear(&mut self) {
        if !self.look.is_terminal {
            return;
        }
        render::clear();
        self.last_lines.values().flatten().for_each(render::line);
        match &self.waiting {
            Some(waiting) => self.say(waiting),
            None => self.progress.show_again(),
        }
    }

    fn can_ask(&self) -> bool {
        self.keyboard.is_some()
    }

    fn refused(&mut self, unapproved: &UnapprovedPlan) {
        refusals::not_approved(unapproved).iter().take(1).for_each(render::line);
    }

    fn not_asked(&mut self, unapproved: &UnapprovedPlan) {
        refusals::not_approved(unapproved).iter().for_each(render::line);
        self.say(&format!("hint: {}", refusals::approve_hint(&self.look.environment, unapproved)));
        self.notify_approval(unapproved);
    }

    fn ask(&mut self, unapproved: &UnapprovedPlan) -> QuestionNumber {
        proctor_app::approve::difference(unapproved).iter().for_each(render::line);
        let prompt = screen::approval_prompt(unapproved);
        let number = self.keyboard.as_mut().map(Keyboard::open_question).unwrap_or_default();
        render::prompt(&prompt);
        self.prompt = Some(prompt);
        self.notify_approval(unapproved);
        number
    }

    fn end_question(&mut self, end: QuestionEnd) {
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.close_question();
        }
        self.prompt = None;
        match end {
            QuestionEnd::Approved => self.say("approved as it is now"),
            QuestionEnd::Declined => self.say("nothing was approved; Enter runs again and asks again"),
            QuestionEnd::Withdrawn => {
                render::end_prompt();
                self.say("the question is withdrawn");
            }
        }
    }

    fn failed(&mut self, failure: &RunFailure) {
        match failure {
            RunFailure::Configuration(lines) => lines.iter().flat_map(|text| text.split('\n')).for_each(render::note),
            RunFailure::UnknownCheck(unknown) => {
                self.say(&unknown.message());
                self.say(&format!("hint: {}", unknown.hint()));
            }
            RunFailure::Specification { lines, sealed } => {
                lines.iter().flat_map(|text| text.split('\n')).for_each(render::note);
                self.show_end(sealed, true);
            }
            RunFailure::Run(error) => render::error(&CommandError::from(error)),
        }
    }
}

/// Returns whether the verdict changed between PASSED and FAILED. The first verdict, and a run without a verdict, are
/// no change.
fn changes_places(last: Option<OverallResult>, now: Option<OverallResult>) -> bool {
    matches!((last, now), (Some(last), Some(now)) if last != now)
}

/// The notice after a run whose result is for an older tree, because the tree changed since the run began.
const OLDER_TREE: &str = "this result is for an older tree";

/// The lines that explain the keys, shown when the person presses `?` or `h`.
pub(crate) const KEYS: [&str; 8] = [
    "  r      run everything again, as Enter and `a` do; during a run: once more when it is over",
    "  f      run what failed last",
    "  c      clear the screen and show the last verdict again",
    "  o      open the page in a browser, at the run on the screen",
    "  d      show what differs between the last green run and the newest",
    "  l      show the log of the check that failed",
    "  ?, h   show these keys",
    "  q      quit",
];

/// The keys in one line, shown after a verdict.
pub(crate) const KEYS_IN_SHORT: &str = "r again, f failed, o page, d since green, l log, ? keys, q quit";

/// Returns the lines that tell the person about a notice, such as a restart or a repetition of the run.
fn notice_lines(notice: &Notice, is_terminal: bool, root: &Path) -> Vec<String> {
    match notice {
        Notice::Restarting { path: Some(path) } => vec![format!("{path} was saved: stopping the checks and starting again")],
        Notice::Restarting { path: None } => vec!["the tree changed: stopping the checks and starting again".to_owned()],
        Notice::OlderTree => vec![OLDER_TREE.to_owned()],
        Notice::Stopping => vec![environment::STOPPING.to_owned()],
        Notice::LettingFinish => {
            vec!["the tree changed again: this run is let finish, then the newest tree is tested".to_owned()]
        }
        Notice::Repeating { paths } => vec![format!("{} changed during the run: it is repeated", listed(paths))],
        Notice::Unstable { paths } => {
            let fact =
                format!("unstable: {} changed again during the run; nothing runs until something else changes", listed(paths));
            let advice = ignore_advice(paths, read_git_index(root, None).paths(), WayIntoProject::InPlace);
            std::iter::once(fact).chain(advice).collect()
        }
        Notice::Busy { paths } => busy_lines(paths, read_git_index(root, None).paths()),
        Notice::NoLongerBusy => Vec::new(),
        Notice::EventsLost(problem) => vec![problem.to_string()],
        Notice::GitGoesOn(operation) => {
            vec![format!("{} has been going on for as long as `git_wait` allows: the tree is tested as it is", operation.name())]
        }
        Notice::Polling(reason) => vec![reason.to_string()],
        Notice::RootVanished => vec!["the project's directory is gone; watching goes on when it is back".to_owned()],
        Notice::ReloadingAfterRun => {
            vec!["reloading: when this run is over, the configuration is read anew and everything runs again".to_owned()]
        }
        Notice::RunningAgainAfterRun => vec!["asked: when this run is over, everything runs again".to_owned()],
        // The screen shows these by itself. How the opening of the page went is another notice.
        Notice::PageAsked | Notice::DifferenceAsked | Notice::LogAsked => Vec::new(),
        Notice::PageOpened(lines) => lines.clone(),
        Notice::Keys => KEYS.map(str::to_owned).to_vec(),
        Notice::NothingFailed => vec!["nothing failed last time: press Enter to run everything".to_owned()],
        Notice::Unchanged => vec!["saved, but no content changed: the last verdict still holds".to_owned()],
        Notice::CopiedFilesDiffer { paths } => differing_lines(paths, read_git_index(root, None).paths()),
        Notice::Untriggered => {
            vec!["saved, but no check is triggered by the change: the last verdict is for the tree before it".to_owned()]
        }
        Notice::Waiting(standing) => vec![waiting(*standing, is_terminal)],
    }
}

fn waiting(standing: LastRunState, is_terminal: bool) -> String {
    let keys = if is_terminal { format!(" ({KEYS_IN_SHORT})") } else { String::new() };
    match standing {
        LastRunState::Verdict => format!("watching{keys}"),
        LastRunState::Paused => format!("watching; the task waits for a person{keys}"),
        LastRunState::NoVerdict => format!("watching; there is no verdict for this tree{keys}"),
    }
}

fn listed(paths: &std::collections::BTreeSet<proctor_model::TreePath>) -> String {
    let mut names: Vec<_> = paths.iter().take(3).map(ToString::to_string).collect();
    if paths.len() > names.len() {
        names.push(format!("{} more", paths.len() - names.len()));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;
    use proctor_app::Caller;
    use proctor_model::{ApprovalWay, AsksFor, RuleDifference};

    thread_local! {
        /// What was shown on the desktop: the project's name and the reason.
        static SHOWN: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns a screen that notes what it shows on the desktop.
    fn screen(root: &Path) -> WatchScreen {
        let variables = BTreeMap::from([("HOME".into(), root.into())]);
        let caller = Caller::of_command(|_| (), |_| (), |_, _| None);
        let environment = Environment::new(variables, Ok(root.to_owned()), caller).expect("there is a home directory");
        let look = WatchScreenSettings {
            style: Style::Plain,
            failures: FailuresShown::First,
            is_terminal: false,
            clear: false,
            bell: false,
            notify: true,
            link: None,
            root: root.to_owned(),
            history: CheckHistory::new(&environment, Style::Plain),
            page: PageOpener::new(&environment, root.to_owned(), drop),
            environment,
        };
        let mut screen = WatchScreen::new(look, None);
        screen.desktop = |name, asked| SHOWN.with_borrow_mut(|shown| shown.push((name.to_owned(), asked.reason.clone())));
        screen
    }

    fn unapproved(opens: &[&str], changed: &[&str]) -> UnapprovedPlan {
        let changes = |names: &[&str]| {
            let change = |name: &&str| RuleChange { name: (*name).to_owned(), field: "f".to_owned(), difference: "d".to_owned() };
            names.iter().map(change).collect()
        };
        UnapprovedPlan {
            task: TaskId::default_task(),
            file: "proctor.toml".to_owned(),
            asks_for: if opens.is_empty() { AsksFor::OtherRules } else { AsksFor::More },
            difference: RuleDifference { opens: changes(opens), changed: changes(changed) },
            protected: Vec::new(),
            way: ApprovalWay::Answer,
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the configuration of a project, which is no evidence")]
    fn each_question_about_an_approval_is_told_once_on_the_desktop_by_the_project_s_name() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("proctor.toml"), "[project]\nname = \"shop\"\n").expect("it is ours");
        let mut screen = screen(directory.path());
        let told = || SHOWN.take();
        screen.ask(&unapproved(&["install"], &[]));
        let first = ("shop".to_owned(), "it asks for more than was approved: install: f: d".to_owned());
        assert_eq!(told(), [first]);
        // A save withdraws the question, and it is asked again. After a no, the refusal is only shown.
        screen.end_question(QuestionEnd::Withdrawn);
        screen.ask(&unapproved(&["install"], &["search path"]));
        screen.end_question(QuestionEnd::Declined);
        screen.not_asked(&unapproved(&["install"], &[]));
        assert_eq!(told(), []);
        screen.not_asked(&unapproved(&["install", "lint"], &[]));
        assert_eq!(told().len(), 1, "it is another question");
        screen.ask(&unapproved(&[], &["lint"]));
        assert_eq!(told(), [], "the plan runs without an approval");
        // Without a name in the file, the directory's name is the project's.
        fs::remove_file(directory.path().join("proctor.toml")).expect("it is ours");
        screen.ask(&unapproved(&["tests"], &[]));
        assert_eq!(told()[0].0, setup::directory_name(directory.path()));
    }

    #[test]
    fn the_bell_rings_when_red_and_green_change_places_and_never_else() {
        let (red, green) = (Some(OverallResult::Failed), Some(OverallResult::Passed));
        for (last, now) in [(red, green), (green, red)] {
            assert!(changes_places(last, now), "{last:?} {now:?}");
        }
        for (last, now) in [(None, red), (None, green), (red, red), (green, green), (red, None), (green, None), (None, None)] {
            assert!(!changes_places(last, now), "{last:?} {now:?}");
        }
    }
}
