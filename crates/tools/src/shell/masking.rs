//! Decides whether the exit status of a script is the verdict of all its commands (E9).
//!
//! One short rule decides. A script hands every failure on if it is a list of commands of which each but the last one only
//! assigns variables, changes the directory or sets the shell up; after `set -e`, any command may stand on a line of its own.
//! The last command may be joined by `&&`, and by pipes under `pipefail`. Whatever is more than that is not followed: it is
//! refused, and the answer names the two ways out, which are a list of words and a file.

use crate::shell::commands::without_launchers;
use crate::shell::parser::{Unreadable, parse};
use crate::shell::script::{ShellScript, script_position};
use crate::shell::tree::{Lead, PartKind, ScriptPart, ShellOptions, Simple};
use crate::shell::word::ScriptWord;

/// The part of a script after which its exit status may be that of another command than the one that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenFailure {
    /// The text of the part, including the operator before it: `|| true`.
    pub part: String,
    /// How the part hides the failure: the end of a sentence that begins with the part.
    pub why: &'static str,
    /// Advice: what to write in place of the part.
    pub instead: &'static str,
}

/// How a part may hide a failure: the explanation, and what to write instead.
struct HidingWay(&'static str, &'static str);

const FOLLOWS: HidingWay = HidingWay(
    "ends with the status of the last command, whatever the ones before it did",
    "join the commands by `&&`, or begin with `set -e` and give each command its own line",
);
const OR: HidingWay = HidingWay(
    "replaces the status of the command that failed",
    "let the command's own exit status decide: write it alone as a list of words, or move the text into a file that is run",
);
const NEGATES: HidingWay = HidingWay(
    "turns success into failure and failure into success",
    "leave out the `!` and write `expected_exit_codes = [1]` (`\"expectedExitCodes\": [1]`), which are the codes that count as success",
);
const LEAVES_RUNNING: HidingWay = HidingWay(
    "leaves the command running and reports success at once",
    "leave out the `&`; a server is a service of its own, or move the text into a file that is run",
);
const PIPES: HidingWay = HidingWay("ends with the status of the last command of the pipe", "begin with `set -o pipefail`");
const CUTS: HidingWay =
    HidingWay("cuts the output short and may stop the command before its end", "let the command's own exit status decide");
const SUBSTITUTES: HidingWay = HidingWay(
    "uses the output of a command and drops its status",
    "run the command on its own, as a list of words, or move the text into a file that is run",
);
const SOURCES: HidingWay =
    HidingWay("runs a file in this shell, which may switch `set -e` off for what follows", "repeat `set -e` on a line behind it");
const OTHER: HidingWay = HidingWay(
    "is more than plain commands, so proctor cannot tell whether it hides a failure",
    "write one command as a list of words, or move the text into a file that is run: the file's own exit status decides",
);

/// Programs that pass on only a part of a command's output. `head` may also end before the command, which is then
/// stopped by SIGPIPE.
const CUTTERS: &[&str] = &["head", "tail"];

/// Commands of the shell that succeed whatever the project's state is.
const CALM: &[&str] = &[":", "echo", "export", "printf", "set", "true"];

/// Commands of the shell that run a text, or let another text run later: what follows them cannot be read here.
const STEERING: &[&str] = &["alias", "eval", "trap"];

/// Commands that run a file in the same shell. It may change every option of the shell. No path is trusted: what is in a file named
/// `bin/activate` cannot be seen here.
const SOURCING: &[&str] = &[".", "source"];

/// Commands after which nothing else of the script runs.
const ENDING: &[&str] = &["exec", "exit", "return"];

/// A message shows at most this many characters of a part of a script.
const SHOWN: usize = 48;

/// Returns the part of a script that may hide a failure; `None` if every failure makes the script fail.
pub fn hidden_failure(script: &ShellScript<'_>) -> Option<HiddenFailure> {
    match parse(script.text) {
        Ok(commands) => in_list(&commands, script.options),
        Err(Unreadable(text)) => Some(failure_hidden_by(&text, &OTHER)),
    }
}

/// Returns the part that may hide a failure in a shell script among the words of a command, such as `env A=1 sh -c '…'`.
pub fn hidden_failure_of_words(argv: &[String]) -> Option<HiddenFailure> {
    let words: Vec<ScriptWord> = argv.iter().map(|word| ScriptWord::literal(word)).collect();
    in_inner_script(without_launchers(&words))
}

/// Returns whether a script can only end with success. Returns false for a script that is empty, and for a script that
/// [`hidden_failure`] refuses.
pub fn can_only_succeed(script: &ShellScript<'_>) -> bool {
    let commands = parse(script.text).unwrap_or_default();
    !commands.is_empty() && hidden_failure(script).is_none() && commands.iter().all(is_calm)
}

fn in_list(commands: &[ScriptPart], mut options: ShellOptions) -> Option<HiddenFailure> {
    let mut sourced = None;
    for (index, part) in commands.iter().enumerate() {
        let next = commands.get(index + 1);
        if let Some(found) = in_part(part, options, next.is_none()) {
            return Some(found);
        }
        options.set_by(part);
        // Under `-e` the shell ignores a failure before `&&`, so such a list may only be the last one.
        let hands_on = prepares(part) || (options.errexit && !matches!(part.kind, PartKind::AndOr(_)));
        if let Some(next) = next.filter(|_| !hands_on) {
            return Some(sourced.map_or_else(|| hidden_behind(next, &FOLLOWS), |text: &str| failure_hidden_by(text, &SOURCES)));
        }
        if sources(part) {
            sourced = options.errexit.then_some(part.text.as_str()).or(sourced);
            options = ShellOptions::default();
        } else if options.errexit {
            sourced = None;
        }
    }
    None
}

/// Returns whether a part runs a file in the same shell that may change its options.
fn sources(part: &ScriptPart) -> bool {
    match &part.kind {
        PartKind::Simple(simple) => {
            let mut words = without_launchers(&simple.words).iter().map(|word| word.text.as_str());
            words.next().is_some_and(|name| SOURCING.contains(&name))
        }
        PartKind::AndOr(parts) => parts.iter().any(sources),
        // Each command of a pipe is in a shell of its own.
        PartKind::Pipeline { .. } | PartKind::Background(_) => false,
    }
}

fn in_part(part: &ScriptPart, options: ShellOptions, is_last: bool) -> Option<HiddenFailure> {
    match &part.kind {
        PartKind::Simple(simple) => in_simple(part, simple, is_last),
        PartKind::Background(_) => Some(failure_hidden_by(&part.text, &LEAVES_RUNNING)),
        PartKind::Pipeline { is_negated: true, .. } => Some(failure_hidden_by(&part.text, &NEGATES)),
        PartKind::Pipeline { parts, .. } => {
            let cutter = parts.iter().skip(1).find(|part| program_of(part).is_some_and(|name| CUTTERS.contains(&name)));
            let cut = cutter.map(|part| HiddenFailure {
                part: format!("| {}", program_of(part).unwrap_or_default()),
                ..failure_hidden_by(&part.text, &CUTS)
            });
            let unjoined = parts.get(1).filter(|_| !options.pipefail).map(|second| hidden_behind(second, &PIPES));
            cut.or(unjoined).or_else(|| parts.iter().find_map(|one| in_part(one, options, true)))
        }
        PartKind::AndOr(parts) => {
            let options = if parts.iter().any(sources) { ShellOptions::default() } else { options };
            let or = parts.iter().find(|one| one.lead == Lead::Or).map(|one| hidden_behind(one, &OR));
            let inside = |(index, one)| in_part(one, options, is_last && index + 1 == parts.len());
            or.or_else(|| parts.iter().enumerate().find_map(inside))
        }
    }
}

fn in_simple(part: &ScriptPart, simple: &Simple, is_last: bool) -> Option<HiddenFailure> {
    if simple.has_scripts {
        return Some(failure_hidden_by(&part.text, &SUBSTITUTES));
    }
    let first = simple.words.first()?;
    let own = without_launchers(&simple.words);
    let own_name = own.first().map_or("", |word| word.text.as_str());
    // A name that is known only when the script runs may be that of any command of the shell.
    let is_unknown = !is_last && own.first().is_some_and(|word| word.expands);
    let ends_early = !is_last && (ENDING.contains(&first.text.as_str()) || ENDING.contains(&own_name));
    let sets_unknown = own_name == "set" && own.iter().any(|word| word.expands);
    if STEERING.contains(&own_name) || is_unknown || ends_early || sets_unknown {
        return Some(failure_hidden_by(&part.text, &OTHER));
    }
    in_inner_script(own)
}

/// Looks into the script among the words of a shell's command, as in `sh -c '…'`.
fn in_inner_script(words: &[ScriptWord]) -> Option<HiddenFailure> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let (at, options) = script_position(&texts)?;
    if words[..=at].iter().any(|word| word.expands) {
        return Some(failure_hidden_by(texts[at], &OTHER));
    }
    hidden_failure(&ShellScript { text: texts[at], options })
}

/// Returns whether a command before the last one is no check: it assigns variables, changes the directory, or sets the shell up.
fn prepares(part: &ScriptPart) -> bool {
    let PartKind::Simple(simple) = &part.kind else { return false };
    simple.words.first().is_none_or(|word| word.text == "cd" || CALM.contains(&word.text.as_str()))
}

/// Returns whether a part can only succeed, like `echo done`.
fn is_calm(part: &ScriptPart) -> bool {
    match &part.kind {
        PartKind::Simple(simple) => {
            let texts: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
            texts.first().is_none_or(|name| name.rsplit('/').next().is_some_and(|name| CALM.contains(&name)))
                || matches!(texts[..], ["exit"] | ["exit", "0"])
        }
        PartKind::Pipeline { parts, .. } | PartKind::AndOr(parts) => parts.iter().all(is_calm),
        PartKind::Background(_) => false,
    }
}

/// Returns the name of the program that a simple command runs.
fn program_of(part: &ScriptPart) -> Option<&str> {
    let PartKind::Simple(simple) = &part.kind else { return None };
    without_launchers(&simple.words).first()?.text.rsplit('/').next()
}

impl ShellOptions {
    /// Sets the options that a command `set …` sets.
    fn set_by(&mut self, part: &ScriptPart) {
        let PartKind::Simple(simple) = &part.kind else { return };
        let mut words = without_launchers(&simple.words).iter().map(|word| word.text.as_str());
        if words.next() != Some("set") {
            return;
        }
        while let Some(word) = words.next() {
            let is_on = word.starts_with('-');
            let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.starts_with('-')) else { break };
            if letters.contains('e') {
                self.errexit = is_on;
            }
            if letters.contains('o') {
                self.set(words.next().unwrap_or_default(), is_on);
            }
        }
    }
}

fn hidden_behind(part: &ScriptPart, way: &HidingWay) -> HiddenFailure {
    let operator = match part.lead {
        Lead::Or => "|| ",
        Lead::Pipe => "| ",
        Lead::Semicolon => "; ",
        Lead::Nothing | Lead::And | Lead::Line => "",
    };
    HiddenFailure { part: format!("{operator}{}", beginning_of(&part.text)), ..failure_hidden_by("", way) }
}

fn failure_hidden_by(text: &str, way: &HidingWay) -> HiddenFailure {
    HiddenFailure { part: beginning_of(text), why: way.0, instead: way.1 }
}

/// Returns the beginning of a text, with line breaks as spaces.
fn beginning_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
