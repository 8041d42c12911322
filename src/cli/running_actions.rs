//! Tells a person about actions while they run: for how long, how many tests have ended, and the last line of output.
//!
//! On a terminal one line is replaced every second. In a file or a pipe an action that is not over after a second has a
//! line, and another one every ten seconds.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::cli::render;
use crate::cli::show_progress::Audience;
use crate::cli::style::{Style, Tone};
use proctor_evidence::read_regular_file;
use proctor_evidence::report;
use proctor_model::{ActionId, DurationMs};
use proctor_run::LogFollower;
use proctor_sandbox::process::clock::{self, Monotonic};

/// How often running actions are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often a running action has a line in a file or a pipe, after the first line.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// An action that is over sooner than this needs no words about how long it takes.
const SHORT: Duration = Duration::from_secs(1);
/// The width of the line on a terminal. A line that is wrapped could not be replaced.
const LIVE_WIDTH: usize = 79;
/// The width of a line in a file or a pipe.
const LINE_WIDTH: usize = 200;

/// The actions that are running, as a thread of its own tells of them.
pub(super) struct RunningActions {
    style: Style,
    audience: Audience,
    /// The report of the task's last run; `None` if there is none.
    last_report: Option<Arc<Path>>,
    /// The thread, and what it is told by; `None` before the first action starts, or if no thread could be made.
    teller: Option<(Sender<Word>, JoinHandle<()>)>,
}

/// What the thread is told.
enum Word {
    BeginRun(Option<Arc<Path>>),
    Start {
        id: ActionId,
        name: String,
    },
    Log {
        id: ActionId,
        log: Arc<File>,
    },
    /// The action is over. The thread is silent from now on, as after `Pause`.
    End {
        id: ActionId,
        is_silent: Sender<()>,
    },
    /// The thread removes the live line, answers, and is silent until it hears `Resume`.
    Pause {
        is_silent: Sender<()>,
    },
    Resume,
}

/// What the thread knows.
struct Teller {
    style: Style,
    audience: Audience,
    /// The running actions, in the order in which they were started.
    actions: Vec<RunningAction>,
    /// The report of the task's last run; `None` if there is none, or once it was read.
    last_report: Option<Arc<Path>>,
    /// How long each check took in the last run, by name.
    usual: BTreeMap<String, DurationMs>,
    is_silent: bool,
}

struct RunningAction {
    id: ActionId,
    name: String,
    begun: Monotonic,
    /// The log that the action's output is written to; `None` before its process is started.
    log: Option<LogFollower>,
    /// When the action's next line in a file or a pipe is due, as time since its start.
    next_line: Duration,
}

impl RunningActions {
    pub(super) fn new(style: Style, audience: Audience) -> Self {
        Self { style, audience, last_report: None, teller: None }
    }

    /// Begins a run, for which actions of earlier runs are forgotten. `last_report` is the report of the task's last run.
    pub(super) fn begin_run(&mut self, last_report: Option<Arc<Path>>) {
        self.last_report.clone_from(&last_report);
        self.tell(Word::BeginRun(last_report));
    }

    pub(super) fn start(&mut self, id: &ActionId, name: &str) {
        if self.teller.is_none() {
            let (sender, words) = mpsc::channel();
            let teller = Teller {
                style: self.style,
                audience: self.audience,
                actions: Vec::new(),
                last_report: self.last_report.clone(),
                usual: BTreeMap::new(),
                is_silent: false,
            };
            // Without the thread nobody is told how long an action takes.
            let thread = thread::Builder::new().name("running actions".to_owned()).spawn(move || teller.follow(&words)).ok();
            self.teller = thread.map(|thread| (sender, thread));
        }
        self.tell(Word::Start { id: id.clone(), name: name.to_owned() });
    }

    /// Notes the file that an action's output is written to.
    pub(super) fn note_log(&mut self, id: &ActionId, log: Arc<File>) {
        self.tell(Word::Log { id: id.clone(), log });
    }

    /// Removes an action and the live line, so that the action's result can be printed. [`Self::resume`] shows the line
    /// again.
    pub(super) fn end(&mut self, id: &ActionId) {
        self.silence(|is_silent| Word::End { id: id.clone(), is_silent });
    }

    /// Prints lines above the live line, if there is one.
    pub(super) fn print_above(&self, print: impl FnOnce()) {
        self.silence(|is_silent| Word::Pause { is_silent });
        print();
        self.resume();
    }

    /// Shows the live line again, if an action is running and the output is a terminal.
    pub(super) fn resume(&self) {
        self.tell(Word::Resume);
    }

    fn tell(&self, word: Word) {
        if let Some((sender, _)) = &self.teller {
            let _gone = sender.send(word);
        }
    }

    /// Tells the thread a word after which it is silent, and waits until it is.
    fn silence(&self, word: impl FnOnce(Sender<()>) -> Word) {
        if self.teller.is_some() {
            let (is_silent, silent) = mpsc::channel();
            self.tell(word(is_silent));
            let _gone = silent.recv();
        }
    }
}

impl Drop for RunningActions {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.teller.take() {
            drop(sender);
            let _panicked = thread.join();
        }
    }
}

impl Teller {
    fn follow(mut self, words: &Receiver<Word>) {
        loop {
            // Without a running action there is nothing to tell, so nothing wakes the thread up.
            let word = if self.actions.is_empty() {
                words.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                words.recv_timeout(TICK)
            };
            match word {
                Ok(word) => self.hear(word),
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::BeginRun(last_report) => {
                self.actions.clear();
                self.last_report = last_report;
                self.is_silent = false;
            }
            Word::Start { id, name } => {
                self.actions.retain(|action| action.id != id);
                self.actions.push(RunningAction::new(id, name));
                self.is_silent = false;
                self.draw();
            }
            Word::Log { id, log } => {
                if let Some(action) = self.actions.iter_mut().find(|action| action.id == id) {
                    action.log = Some(LogFollower::new(log));
                }
            }
            Word::End { id, is_silent } => {
                self.remove_line();
                self.actions.retain(|action| action.id != id);
                self.is_silent = true;
                let _gone = is_silent.send(());
            }
            Word::Pause { is_silent } => {
                self.remove_line();
                self.is_silent = true;
                let _gone = is_silent.send(());
            }
            Word::Resume => {
                self.is_silent = false;
                self.draw();
            }
        }
    }

    fn tick(&mut self) {
        if let Some(path) = self.last_report.take() {
            self.usual = durations(&path);
        }
        for action in &mut self.actions {
            action.log.iter_mut().for_each(LogFollower::look);
        }
        match self.audience {
            Audience::Terminal => self.draw(),
            Audience::Plain if !self.is_silent => {
                let now = clock::monotonic();
                for action in &mut self.actions {
                    let elapsed = now.since(action.begun);
                    if elapsed >= action.next_line {
                        action.next_line =
                            if action.next_line == SHORT { BETWEEN_LINES } else { action.next_line + BETWEEN_LINES };
                        let words = action.words(elapsed, self.usual.get(&action.name));
                        render::line(&self.style.paint(Tone::Quiet, &cut(&words, LINE_WIDTH)));
                    }
                }
            }
            Audience::Plain | Audience::Nobody => {}
        }
    }

    fn remove_line(&self) {
        if self.audience == Audience::Terminal && !self.actions.is_empty() && !self.is_silent {
            render::end_live();
        }
    }

    fn draw(&self) {
        if self.audience != Audience::Terminal || self.is_silent {
            return;
        }
        let Some((first, others)) = self.actions.split_first() else { return };
        let mut words = first.words(clock::monotonic().since(first.begun), self.usual.get(&first.name));
        if !others.is_empty() {
            words = format!("{} and {} more", cut(&words, LIVE_WIDTH - 14), others.len());
        }
        render::end_live();
        render::live(&self.style.paint(Tone::Quiet, &cut(&words, LIVE_WIDTH)));
    }
}

impl RunningAction {
    fn new(id: ActionId, name: String) -> Self {
        Self { id, name, begun: clock::monotonic(), log: None, next_line: SHORT }
    }

    fn words(&self, elapsed: Duration, usual: Option<&DurationMs>) -> String {
        let beginning = format!("  … {}", self.name);
        if elapsed < SHORT {
            return beginning;
        }
        let usual = usual.filter(|usual| Duration::from_millis(usual.0) >= SHORT);
        let of = usual.map(|usual| format!(" of about {}", duration(Duration::from_millis(usual.0)))).unwrap_or_default();
        let mut parts = vec![format!("{beginning}  {}{of}", duration(elapsed))];
        if let Some(output) = self.log.as_ref().map(|log| &log.output) {
            parts.extend(output.progress().words());
            parts.extend(Some(output.last_line().to_owned()).filter(|line| line.contains(char::is_alphanumeric)));
        }
        parts.join(" · ")
    }
}

/// Returns how long each check took in a run, by name; empty if the report cannot be read.
fn durations(path: &Path) -> BTreeMap<String, DurationMs> {
    let bytes = read_regular_file(path, LONGEST_REPORT).ok();
    let report = bytes.and_then(|bytes| report::parse(&bytes).ok());
    let results = report.into_iter().flat_map(|report| report.step_execution.results);
    results.filter_map(|result| Some((result.name, result.duration?))).collect()
}

/// Returns a duration in whole seconds, in the form that results have: `12 s`, `2 m 05 s`.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} m {:02} s", seconds / 60, seconds % 60) }
}

/// A longer report is not read for the durations in it.
const LONGEST_REPORT: u64 = 64 * 1024 * 1024;

/// Returns the beginning of a text that is at most `width` columns wide. Characters beyond ASCII may take two columns.
fn cut(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += if character.is_ascii() || matches!(character, '…' | '·') { 1 } else { 2 };
        used <= width
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn running(name: &str, output: &str) -> RunningAction {
        let mut action = RunningAction::new(ActionId::numbered("STEP", 1), name.to_owned());
        let mut log = tempfile::tempfile().expect("a file can be made");
        log.write_all(output.as_bytes()).expect("it can be written");
        action.log = Some(LogFollower::new(Arc::new(log)));
        action.log.iter_mut().for_each(LogFollower::look);
        action
    }

    #[test]
    fn a_running_action_says_how_far_it_is() {
        let pytest = running("pytest", "collected 81 items\ntests/test_a.py ....  [ 12%]\n");
        for (elapsed, usual, expected) in [
            (200, None, "  … pytest"),
            (12_300, None, "  … pytest  12 s · 12 % of 81 tests · tests/test_a.py ....  [ 12%]"),
            (
                12_300,
                Some(DurationMs(125_000)),
                "  … pytest  12 s of about 2 m 05 s · 12 % of 81 tests · tests/test_a.py ....  [ 12%]",
            ),
            (12_300, Some(DurationMs(400)), "  … pytest  12 s · 12 % of 81 tests · tests/test_a.py ....  [ 12%]"),
        ] {
            assert_eq!(pytest.words(Duration::from_millis(elapsed), usual.as_ref()), expected);
        }
        // A rule between two parts of the output says nothing.
        for (output, expected) in [("", "  … make  2 s"), ("all\n==========\n", "  … make  2 s · all")] {
            assert_eq!(running("make", output).words(Duration::from_secs(2), None), expected);
        }
    }

    #[test]
    fn lines_are_cut_to_a_width() {
        assert_eq!([cut("abc", 2), cut("abc", 3), cut("日本", 3), cut("… ·", 3)], ["ab", "abc", "日", "… ·"]);
    }
}
