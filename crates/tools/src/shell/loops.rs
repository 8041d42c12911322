//! Follows loops and choices: parts of a script that may run several times, or not at all.

use std::collections::BTreeSet;

use crate::shell::machine::{FailureTrace, HidingWay, NextStep, ScriptEnds, ScriptMachine, ShellState, ended};
use crate::shell::tree::{CaseClause, PartKind, ScriptPart, each_part};
use crate::shell::value::{ShellValue, Status};
use crate::shell::word::ScriptWord;

/// A loop over at most this many known words is followed turn by turn. A loop over more words is followed as if it
/// could run any number of times.
const MOST_TURNS: usize = 8;

impl<'t> ScriptMachine<'t> {
    pub(super) fn repeated(
        &mut self,
        node: &'t ScriptPart,
        (is_until, condition, body): (bool, &'t ScriptPart, &'t ScriptPart),
        from: (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let (mut after, mut seen) = (ScriptEnds::new(), BTreeSet::new());
        let mut heads = vec![(from.0, Status::Zero, from.1)];
        while let Some((mut state, status, trace)) = heads.pop() {
            if !seen.insert((state.clone(), status)) {
                continue;
            }
            // A loop that waits for its condition may see the condition fail many times before it holds, so an earlier
            // failure of the condition is forgotten. This is not done if the condition is a check.
            if trace.failed.is_some_and(|failed| self.waits_for(condition, failed)) {
                state.has_failed = false;
            }
            for ((state, flow), mut trace) in self.run(condition, state, trace, true) {
                if flow != NextStep::Next {
                    leave(&mut after, state, flow, trace, node);
                    continue;
                }
                if (state.status == Status::Zero) == is_until {
                    trace.note(&state, status, node, HidingWay::Steers);
                    after.entry((ShellState { status, ..state }, NextStep::Next)).or_insert(trace);
                    continue;
                }
                for ((state, flow), trace) in self.run(body, state, trace, is_calm) {
                    if matches!(flow, NextStep::Next | NextStep::Continue(1)) {
                        let status = if flow == NextStep::Next { state.status } else { Status::Zero };
                        heads.push((state, status, trace));
                    } else {
                        leave(&mut after, state, flow, trace, node);
                    }
                }
            }
            if self.unfollowed.is_some() {
                break;
            }
        }
        after
    }

    fn waits_for(&self, condition: &ScriptPart, failed: &ScriptPart) -> bool {
        let PartKind::Simple(simple) = &failed.kind else { return false };
        self.awaited.contains(&simple.id) && contains(condition, simple.id)
    }

    pub(super) fn for_each(
        &mut self,
        node: &'t ScriptPart,
        (name, words, body): (&'t str, Option<&'t [ScriptWord]>, &'t ScriptPart),
        from: (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let (begin, mut trace) = from;
        let known = words.filter(|words| words.len() <= MOST_TURNS && words.iter().all(|word| !word.expands));
        let Some(words) = known else { return self.any_turns(node, name, body, (begin, trace), is_calm) };
        if words.is_empty() {
            trace.note(&begin, Status::Zero, node, HidingWay::Steers);
            return ended(ShellState { status: Status::Zero, ..begin }, NextStep::Next, trace);
        }
        let (mut after, mut heads) = (ScriptEnds::new(), ended(begin, NextStep::Next, trace));
        for word in words {
            let mut next = ScriptEnds::new();
            for ((mut state, _), trace) in heads {
                state.variables.insert(name.to_owned(), ShellValue::Text(word.text.clone()));
                for ((state, flow), trace) in self.run(body, state, trace, is_calm) {
                    match flow {
                        NextStep::Next => {
                            next.insert((state, flow), trace);
                        }
                        NextStep::Continue(1) => {
                            next.insert((ShellState { status: Status::Zero, ..state }, NextStep::Next), trace);
                        }
                        NextStep::Exit | NextStep::Return | NextStep::Break(_) | NextStep::Continue(_) => {
                            leave(&mut after, state, flow, trace, node)
                        }
                    }
                }
            }
            heads = next;
        }
        after.extend(heads);
        after
    }

    /// Follows a loop whose words are unknown or too many. The loop may run any number of times, or not at all.
    fn any_turns(
        &mut self,
        node: &'t ScriptPart,
        name: &str,
        body: &'t ScriptPart,
        from: (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let (mut after, mut seen) = (ScriptEnds::new(), BTreeSet::new());
        let (begin, mut idle) = (from.0.clone(), from.1);
        idle.note(&begin, Status::Zero, node, HidingWay::Steers);
        after.insert((ShellState { status: Status::Zero, ..begin }, NextStep::Next), idle);
        let mut heads = vec![from];
        while let Some((mut state, trace)) = heads.pop() {
            state.variables.remove(name);
            if !seen.insert(state.clone()) || self.unfollowed.is_some() {
                continue;
            }
            for ((state, flow), trace) in self.run(body, state, trace, is_calm) {
                match flow {
                    NextStep::Next | NextStep::Continue(1) => {
                        let status = if flow == NextStep::Next { state.status } else { Status::Zero };
                        let state = ShellState { status, ..state };
                        after.entry((state.clone(), NextStep::Next)).or_insert(trace);
                        heads.push((state, trace));
                    }
                    NextStep::Exit | NextStep::Return | NextStep::Break(_) | NextStep::Continue(_) => {
                        leave(&mut after, state, flow, trace, node)
                    }
                }
            }
        }
        after
    }

    pub(super) fn case(
        &mut self,
        node: &'t ScriptPart,
        (word, clauses): (&'t ScriptWord, &'t [CaseClause]),
        (state, mut trace): (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let value = if self.is_expanded { None } else { state.known().value(word) };
        let mut after = ScriptEnds::new();
        let mut falls: Vec<(ShellState, FailureTrace<'t>)> = Vec::new();
        let mut may_go_on = true;
        for clause in clauses {
            let matched = if may_go_on { matching(value.as_ref(), &clause.patterns) } else { Some(false) };
            let mut begins = std::mem::take(&mut falls);
            if matched != Some(false) {
                begins.push((state.clone(), trace));
            }
            for (state, mut trace) in begins {
                let is_empty = matches!(&clause.body.kind, PartKind::List(commands) if commands.is_empty());
                if is_empty {
                    trace.note(&state, Status::Zero, node, HidingWay::Steers);
                }
                let state = if is_empty { ShellState { status: Status::Zero, ..state } } else { state };
                for ((state, flow), trace) in self.run(&clause.body, state, trace, is_calm) {
                    if clause.goes_on && flow == NextStep::Next {
                        falls.push((state.clone(), trace));
                    }
                    after.entry((state, flow)).or_insert(trace);
                }
            }
            may_go_on &= matched != Some(true);
        }
        if may_go_on {
            trace.note(&state, Status::Zero, node, HidingWay::Steers);
            after.entry((ShellState { status: Status::Zero, ..state }, NextStep::Next)).or_insert(trace);
        }
        after
    }
}

/// Leaves a loop after a `break`, `continue`, `return` or `exit` in it. A `break` or `continue` may leave the loops
/// around this one too.
fn leave<'t>(after: &mut ScriptEnds<'t>, state: ShellState, flow: NextStep, mut trace: FailureTrace<'t>, node: &'t ScriptPart) {
    let flow = match flow {
        NextStep::Break(1) => {
            trace.note(&state, Status::Zero, node, HidingWay::Steers);
            after.entry((ShellState { status: Status::Zero, ..state }, NextStep::Next)).or_insert(trace);
            return;
        }
        NextStep::Break(depth) => NextStep::Break(depth.saturating_sub(1)),
        NextStep::Continue(depth) => NextStep::Continue(depth.saturating_sub(1)),
        NextStep::Next | NextStep::Exit | NextStep::Return => flow,
    };
    after.entry((state, flow)).or_insert(trace);
}

/// Returns whether a value matches one of the patterns; `None` if that is unknown.
fn matching(value: Option<&ShellValue>, patterns: &[ScriptWord]) -> Option<bool> {
    let mut found = Some(false);
    for pattern in patterns {
        let one = match (value, pattern.expands) {
            (_, true) if pattern.text == "*" => Some(true),
            (Some(ShellValue::Text(text)), false) => Some(*text == pattern.text),
            (Some(ShellValue::Positive), false) if pattern.text == "0" => Some(false),
            _ => None,
        };
        match one {
            Some(true) => return Some(true),
            Some(false) => {}
            None => found = None,
        }
    }
    found
}

/// Returns whether a part of a script contains the command with this number.
fn contains(part: &ScriptPart, id: usize) -> bool {
    let mut is_there = false;
    each_part(part, &mut |part| is_there |= matches!(&part.kind, PartKind::Simple(simple) if simple.id == id));
    is_there
}
