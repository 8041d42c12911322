//! Decides whether a script hides a failure (E9): whether it can end with 0 after the failure of a deciding command,
//! which is a command whose failure must make the script fail.

use std::collections::BTreeSet;

use crate::shell::commands::without_launchers;
use crate::shell::deciders::{CommandPurpose, deciders, purpose_of};
use crate::shell::machine::{FailureTrace, HidingWay, ScriptMachine, ShellState};
use crate::shell::parser::{Unreadable, parse};
use crate::shell::script::{ShellScript, script_position};
use crate::shell::tree::{Lead, PartKind, ScriptPart, each_part};
use crate::shell::value::Status;
use crate::shell::word::ScriptWord;

/// The part of a script that hides a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenFailure {
    /// The text of the part, including the operator before it: `|| true`.
    pub part: String,
    /// How the part hides the failure: the end of a sentence that begins with the part.
    pub why: &'static str,
    /// Advice: what to write in place of the part.
    pub instead: &'static str,
}

const TURNS: &str = "turns every failure into success";
const LAST: &str = "ends with the status of the last command, whatever the ones before it did";
const CUTS: &str = "cuts the output short and may stop the command before its end";
const UNREADABLE: &str = "cannot be read, and so nobody knows whether a failure before it, or in it, is handed on";

const KEPT: &str = "ends with a status that was kept in a variable, and proctor does not follow it back to a command";

const OWN_STATUS: &str = "let the command's own exit status decide";
const SIMPLER: &str = "write it in a simpler way, or move it into a script file that is run as a command";

/// For each way to hide a failure: the explanation, and advice.
const WAYS: &[(HidingWay, &str, &str)] = &[
    (HidingWay::Follows, LAST, "join the commands by `&&`, or begin with `set -e`"),
    (HidingWay::Negates, "turns success into failure and failure into success", OWN_STATUS),
    (
        HidingWay::LeavesRunning,
        "leaves the command running and reports success at once",
        "leave out the `&`, or end with `wait $!`",
    ),
    (HidingWay::Pipes, "ends with the status of the last command of the pipe", "begin with `set -o pipefail`"),
    (
        HidingWay::Substitutes,
        "uses the output of a command and drops its status",
        "run the command on its own, before its output is used",
    ),
    (
        HidingWay::Steers,
        "is a success where a condition does not hold, or where only the last of several turns succeeds",
        "write `|| exit 1` behind the command that decides",
    ),
    (HidingWay::RunsAtTheEnd, "runs at the end of the script and sets another status", "leave out the `exit` in the trap"),
];

/// Programs that pass on only a part of a command's output. `head` may also end before the command, which is then
/// stopped by SIGPIPE.
const CUTTERS: &[&str] = &["head", "tail"];

/// A message shows at most this many characters of a part of a script.
const SHOWN: usize = 48;

/// Returns the part of a script that hides a failure, or the part that cannot be parsed; `None` if every failure of a
/// deciding command makes the script fail.
pub fn hidden_failure(script: &ShellScript<'_>) -> Option<HiddenFailure> {
    match parse(script.text) {
        Ok(tree) => hidden_in(&tree, script),
        Err(Unreadable(text)) => Some(unreadable(&text)),
    }
}

/// Returns the part that hides a failure in a shell script among the words of a command, such as `env A=1 sh -c '…'`.
pub fn hidden_failure_of_words(argv: &[String]) -> Option<HiddenFailure> {
    let words: Vec<ScriptWord> = argv.iter().map(|word| ScriptWord::literal(word)).collect();
    let own: Vec<&str> = without_launchers(&words).iter().map(|word| word.text.as_str()).collect();
    let (at, options) = script_position(&own)?;
    hidden_failure(&ShellScript { text: own[at], options })
}

/// Returns whether a script can only end with success. Returns false for a script that is empty or cannot be parsed,
/// and for a script that hides a failure, because [`hidden_failure`] reports it.
pub fn can_only_succeed(script: &ShellScript<'_>) -> bool {
    let Ok(tree) = parse(script.text) else { return false };
    let is_empty = matches!(&tree.kind, PartKind::List(commands) if commands.is_empty());
    if is_empty || hidden_in(&tree, script).is_some() {
        return false;
    }
    let mut machine = machine(script, BTreeSet::new(), BTreeSet::new());
    let ends = machine.shell(&tree, ShellState::begin(script.options), FailureTrace::default(), false);
    machine.unfollowed.is_none() && ends.keys().all(|(status, _)| *status == Status::Zero)
}

fn hidden_in(tree: &ScriptPart, script: &ShellScript<'_>) -> Option<HiddenFailure> {
    let deciders = deciders(tree);
    if let Some(part) = cutter(tree, &deciders) {
        return Some(HiddenFailure { part, why: CUTS, instead: OWN_STATUS });
    }
    let mut awaited = BTreeSet::new();
    each_part(tree, &mut |node| {
        if let PartKind::Simple(simple) = &node.kind
            && deciders.contains(&simple.id)
            && purpose_of(simple) != CommandPurpose::Check
        {
            awaited.insert(simple.id);
        }
    });
    let mut machine = machine(script, deciders, awaited);
    let ends = machine.shell(tree, ShellState::begin(script.options), FailureTrace::default(), false);
    if let Some(node) = machine.unfollowed {
        return Some(unreadable(&node.text));
    }
    let trace = ends.get(&(Status::Zero, true))?;
    Some(
        trace
            .hidden
            .or(trace.failed.map(|failed| (failed, HidingWay::Steers)))
            .map_or_else(|| unreadable(script.text), |(node, way)| described(node, way)),
    )
}

fn machine<'t>(script: &ShellScript<'_>, deciders: BTreeSet<usize>, awaited: BTreeSet<usize>) -> ScriptMachine<'t> {
    ScriptMachine {
        deciders,
        awaited,
        is_bash: script.options.is_bash,
        functions: std::collections::BTreeMap::new(),
        traps: std::collections::BTreeMap::new(),
        calls: 0,
        loops: 0,
        is_expanded: false,
        steps: 0,
        unfollowed: None,
    }
}

fn described(node: &ScriptPart, way: HidingWay) -> HiddenFailure {
    let part = match (node.lead, way) {
        (_, HidingWay::RunsAtTheEnd) => format!("trap '{}'", shown(&node.text)),
        (Lead::Or, HidingWay::Follows | HidingWay::Substitutes) => format!("|| {}", shown(&node.text)),
        (Lead::Semicolon, HidingWay::Follows | HidingWay::Substitutes) => format!("; {}", shown(&node.text)),
        (Lead::Pipe, _) => format!("| {}", shown(&node.text)),
        _ => shown(&node.text),
    };
    if node.lead == Lead::Or && way == HidingWay::Follows {
        return HiddenFailure { part, why: TURNS, instead: OWN_STATUS };
    }
    if way == HidingWay::Follows && exits_with_variable(&node.text) {
        return HiddenFailure {
            part,
            why: KEPT,
            instead: "join the commands by `&&`, or move them into a script file that is run as a command",
        };
    }
    // A command that only succeeds is the problem by itself. Another operator before the command would not help, so the
    // advice is to let the status of the other command decide.
    let is_needless = way == HidingWay::Follows && matches!(node.text.trim(), "true" | ":" | "exit 0");
    let (why, instead) =
        WAYS.iter().find(|(one, _, _)| *one == way).map_or((LAST, OWN_STATUS), |(_, why, instead)| (*why, *instead));
    HiddenFailure { part, why, instead: if is_needless { OWN_STATUS } else { instead } }
}

/// Returns whether a command is `exit` with the value of a variable, such as `exit $r`.
fn exits_with_variable(text: &str) -> bool {
    let Some(status) = text.trim().strip_prefix("exit ") else { return false };
    status.trim().trim_start_matches('"').strip_prefix('$').is_some_and(|name| !name.starts_with(['?', '(']))
}

fn unreadable(text: &str) -> HiddenFailure {
    HiddenFailure { part: shown(text), why: UNREADABLE, instead: SIMPLER }
}

/// Returns the beginning of a text, with line breaks as spaces.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the program, such as `head`, that cuts off the output of a deciding command, with the pipe before it.
fn cutter(tree: &ScriptPart, deciders: &BTreeSet<usize>) -> Option<String> {
    let mut found = None;
    each_part(tree, &mut |node| {
        let PartKind::Pipeline { parts, .. } = &node.kind else { return };
        let mut decides = false;
        for part in parts {
            if let PartKind::Simple(simple) = &part.kind {
                let program = simple.words.first().map(|word| word.text.rsplit('/').next().unwrap_or_default());
                if decides && let Some(program) = program.filter(|program| CUTTERS.contains(program)) {
                    found.get_or_insert_with(|| format!("| {program}"));
                }
            }
            each_part(part, &mut |node| {
                decides |= matches!(&node.kind, PartKind::Simple(simple) if deciders.contains(&simple.id));
            });
        }
    });
    found
}
