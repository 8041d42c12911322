//! What the checks of a plan run, and what they do not run of another command.

use std::collections::BTreeSet;

use crate::discover::command_text;
use crate::discover::followed::{Call, Entry, Followed, MOST, RunCommand, Unclear, known_program, tool_of};
use crate::project_files::ProjectFiles;
use proctor_model::ToolClass;

/// The longest text of a command that stands for a test runner, in characters.
const LONGEST: usize = 60;

/// What the checks of a plan run.
pub(in crate::discover) struct RunByChecks<'f> {
    followed: Followed<'f>,
    named: BTreeSet<(String, String)>,
}

impl<'f> RunByChecks<'f> {
    pub(in crate::discover) fn of(files: &'f dyn ProjectFiles, checks: &[RunCommand<'_>]) -> Self {
        let mut followed = Followed { unclear: Unclear::Nothing, ..Followed::new(files) };
        let mut said = BTreeSet::new();
        for check in checks {
            followed.most = followed.calls.len().max(followed.entered.len()) + MOST;
            let before = followed.calls.len();
            followed.follow(check.argv, check.directory);
            // A check may name the tool of a command that proctor cannot follow.
            if !followed.calls[before..].iter().any(|(_, call)| tool_of(call) == Some(check.tool)) {
                said.insert((check.tool.word().to_owned(), check.directory.to_owned()));
            }
        }
        let mut unread = std::mem::take(&mut followed.unread);
        followed.calls.append(&mut unread);
        let mut named = followed.called_tools(|_| true);
        named.append(&mut said);
        Self { followed, named }
    }

    /// Returns whether a check calls a named command.
    pub(in crate::discover) fn has_entered(&self, entry: &Entry) -> bool {
        self.followed.entered.contains(entry)
    }

    /// Returns what the checks do not run of a command: its test runners; without any, its last command that is no known tool; without
    /// such a one, its tools. `None` if they run it. A call runs what the same call in its directory, above or below it runs, and not what
    /// another member of a workspace runs.
    pub(in crate::discover) fn lacks(&self, command: &Followed<'_>) -> Option<String> {
        let is_run = |(word, directory): &(String, String)| {
            self.named.iter().any(|(other, place)| word == other && is_within_reach(place, directory))
        };
        let missing = |named: BTreeSet<(String, String)>| {
            let words: BTreeSet<String> = named.into_iter().filter(|one| !is_run(one)).map(|(word, _)| word).collect();
            words.into_iter().collect::<Vec<_>>().join(", ")
        };
        let runners = command.called_tools(|class| class == ToolClass::Test);
        let last = command.calls.iter().rfind(|(_, call)| known_program(call).is_none());
        let is_same = |(directory, last): &Call| {
            self.followed.calls.iter().any(|(place, call)| call.starts_with(last) && is_within_reach(place, directory))
        };
        let lacking = match last.filter(|_| runners.is_empty()) {
            Some(last) if is_same(last) => String::new(),
            Some((_, last)) => shortened(&command_text(last)),
            None if runners.is_empty() => missing(command.called_tools(|_| true)),
            None => missing(runners),
        };
        Some(lacking).filter(|lacking| !lacking.is_empty())
    }
}

/// Returns whether one of two directories is the other or lies below it.
fn is_within_reach(one: &str, other: &str) -> bool {
    let is_above = |above: &str, below: &str| {
        above.is_empty() || below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_above(one, other) || is_above(other, one)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
