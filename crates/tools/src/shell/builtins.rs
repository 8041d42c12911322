//! The effects of single commands on the shell's state: status, variables, options and traps.

use crate::shell::commands::without_launchers;
use crate::shell::machine::{FailureTrace, HidingWay, NextStep, ScriptEnds, ScriptMachine, ShellState, ended};
use crate::shell::tree::{InnerScript, PartKind, ScriptPart, ShellOptions, Simple};
use crate::shell::value::{BOTH, ShellValue, Status};
use crate::shell::word::ScriptWord;
use proctor_model::is_variable_name;

/// The deepest nesting of function calls that is followed. A deeper call counts as one that may succeed or fail.
const MOST_CALLS: u32 = 12;

/// Commands that always succeed and set the variables that their arguments name.
const DECLARING: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// Commands after which the variables named in their arguments have unknown values.
const READING: &[&str] = &["read", "mapfile", "readarray", "getopts", "unset", "let", "printf"];

/// Commands that succeed whatever their arguments are.
const SUCCEEDING: &[&str] = &["true", ":", "echo", "printf", "unset", "shopt", "umask", "alias"];

const FAILING: &[&str] = &["false"];

/// The directories of system programs, some of which have the same names as shell commands.
const SYSTEM: &[&str] = &["/usr/bin/", "/bin/"];

impl<'t> ScriptMachine<'t> {
    pub(super) fn simple(
        &mut self,
        node: &'t ScriptPart,
        simple: &'t Simple,
        state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let before = state.status;
        let ends = self.scripts(node, &simple.scripts, state, trace);
        self.then(ends, |machine, mut state, trace| {
            if simple.words.is_empty() {
                let status = if simple.scripts.is_empty() { Status::Zero } else { state.status };
                state.status = before;
                machine.assign(&mut state, simple);
                return machine.end(node, state, status, trace, is_calm);
            }
            state.status = before;
            if let Some(bodies) = machine.functions.get(simple.words[0].text.as_str()).cloned() {
                return machine.call(node, &bodies, (state, trace), is_calm);
            }
            machine.command(node, simple, state, trace, is_calm)
        })
    }

    fn assign(&self, state: &mut ShellState, simple: &Simple) {
        for assignment in &simple.assignments {
            let value = assignment.value.as_ref().and_then(|word| self.value(state, word));
            set(state, &assignment.name, value);
        }
    }

    fn value(&self, state: &ShellState, word: &ScriptWord) -> Option<ShellValue> {
        if self.is_expanded && word.expands { None } else { state.known().value(word) }
    }

    /// Ends a command with a status. If the status is not zero, and the command is a deciding one (its failure must
    /// make the script fail), a failure is recorded.
    fn end(
        &mut self,
        node: &'t ScriptPart,
        state: ShellState,
        status: Status,
        mut trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let PartKind::Simple(simple) = &node.kind else { return ScriptEnds::new() };
        trace.note(&state, status, node, HidingWay::Follows);
        let mut state = ShellState { status, pipe: vec![status], ..state };
        if status == Status::NonZero && self.deciders.contains(&simple.id) {
            state.has_failed = true;
            trace = FailureTrace { failed: Some(node), hidden: None };
        }
        self.settle(state, trace, is_calm)
    }

    /// Ends a command in several ways: once with each of these statuses.
    fn end_as(
        &mut self,
        node: &'t ScriptPart,
        state: &ShellState,
        statuses: &[Status],
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let mut ends = ScriptEnds::new();
        for status in statuses {
            ends.extend(self.end(node, state.clone(), *status, trace, is_calm));
        }
        ends
    }

    fn call(
        &mut self,
        node: &'t ScriptPart,
        bodies: &[&'t ScriptPart],
        (state, trace): (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        if self.calls >= MOST_CALLS {
            return self.end_as(node, &state, BOTH, trace, is_calm);
        }
        self.calls += 1;
        let failure_trap = state.failure_trap;
        let mut after = ScriptEnds::new();
        for body in bodies {
            let inside = ShellState { failure_trap: None, ..state.clone() };
            for ((state, flow), trace) in self.run(body, inside, trace, is_calm) {
                let state = ShellState { failure_trap, ..state };
                match flow {
                    NextStep::Next | NextStep::Return => after.extend(self.settle(state, trace, is_calm)),
                    NextStep::Exit | NextStep::Break(_) | NextStep::Continue(_) => {
                        after.insert((state, flow), trace);
                    }
                }
            }
        }
        self.calls -= 1;
        after
    }

    fn command(
        &mut self,
        node: &'t ScriptPart,
        simple: &'t Simple,
        state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        match &simple.inner {
            Some(InnerScript::Shell(script, options)) => {
                return self.inner_shell(node, simple, (script, *options), (state, trace), is_calm);
            }
            Some(InnerScript::Eval(script)) => return self.run(script, state, trace, is_calm),
            Some(InnerScript::Trap { body, expands, events }) => {
                return self.set_trap(node, (simple.id, body, *expands, events), state, trace);
            }
            None => {}
        }
        let is_exec = simple.words[0].text == "exec";
        let own = without_launchers(&simple.words);
        let (name, operands) = own.split_first().map_or(("", &[][..]), |(first, rest)| (first.text.as_str(), rest));
        match name {
            "exit" => self.leave_shell(node, operands, state, trace),
            "return" => self.leave_function(node, operands, state, trace, is_calm),
            "break" | "continue" if self.loops == 0 => self.end(node, state, Status::Zero, trace, is_calm),
            "break" => ended(state, NextStep::Break(depth(operands)), trace),
            "continue" => ended(state, NextStep::Continue(depth(operands)), trace),
            "exec" => self.end(node, state, Status::Zero, trace, is_calm),
            "set" => {
                let mut state = state;
                set_options(&mut state, operands);
                self.end(node, state, Status::Zero, trace, is_calm)
            }
            "wait" => {
                let statuses = waited(&state, operands, self.is_expanded);
                self.end_as(node, &state, statuses, trace, is_calm)
            }
            "kill" => self.kill(node, &state, trace, is_calm),
            "eval" | "source" | "." => {
                let state = ShellState { variables: std::collections::BTreeMap::new(), ..state };
                self.end_as(node, &state, BOTH, trace, is_calm)
            }
            _ => {
                let mut ends = self.other(node, (name, operands), state, trace, is_calm);
                if is_exec {
                    ends = ends
                        .into_iter()
                        .map(|((state, _), trace)| ((ShellState { exit_trap: None, ..state }, NextStep::Exit), trace))
                        .collect();
                }
                ends
            }
        }
    }

    /// Ends a command whose only effect is its status.
    fn other(
        &mut self,
        node: &'t ScriptPart,
        (name, operands): (&str, &'t [ScriptWord]),
        mut state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let found = match (name, operands) {
            _ if self.is_expanded => None,
            ("test", words) => state.known().test(words),
            ("[" | "[[", [words @ .., _]) if words.iter().all(|word| !matches!(word.text.as_str(), "&&" | "||")) => {
                state.known().test(words)
            }
            ("((", [text]) => {
                let (found, set_there) = state.known().arithmetic(&text.text);
                set_there.into_iter().for_each(|(name, value)| set(&mut state, &name, value));
                found
            }
            _ => None,
        };
        if let Some(found) = found {
            return self.end(node, state, Status::of(found), trace, is_calm);
        }
        if DECLARING.contains(&name) {
            for word in operands {
                let Some((variable, value)) = word.text.split_once('=').filter(|(name, _)| is_variable_name(name)) else {
                    continue;
                };
                let value = self.value(&state, &ScriptWord { text: value.to_owned(), ..word.clone() });
                set(&mut state, variable, value);
            }
            return self.end(node, state, Status::Zero, trace, is_calm);
        }
        if READING.contains(&name) {
            operands.iter().for_each(|word| drop(state.variables.remove(&word.text)));
        }
        let name = SYSTEM.iter().find_map(|directory| name.strip_prefix(directory)).unwrap_or(name);
        let statuses = match name {
            name if SUCCEEDING.contains(&name) => &[Status::Zero][..],
            name if FAILING.contains(&name) => &[Status::NonZero],
            _ => BOTH,
        };
        self.end_as(node, &state, statuses, trace, is_calm)
    }

    fn leave_shell(
        &mut self,
        node: &'t ScriptPart,
        operands: &'t [ScriptWord],
        state: ShellState,
        trace: FailureTrace<'t>,
    ) -> ScriptEnds<'t> {
        let before = state.ended_with.unwrap_or(state.status);
        let mut ends = ScriptEnds::new();
        for status in self.named(&state, operands, before) {
            let mut trace = trace;
            trace.note(&state, status, node, HidingWay::Follows);
            ends.insert((ShellState { status, ..state.clone() }, NextStep::Exit), trace);
        }
        ends
    }

    fn leave_function(
        &mut self,
        node: &'t ScriptPart,
        operands: &'t [ScriptWord],
        state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        if self.calls == 0 && self.is_bash {
            // Outside of a function, bash's `return` only reports an error, and the script goes on.
            return self.end(node, state, Status::NonZero, trace, is_calm);
        }
        let before = state.status;
        let mut ends = ScriptEnds::new();
        for status in self.named(&state, operands, before) {
            let mut trace = trace;
            trace.note(&state, status, node, HidingWay::Follows);
            ends.insert(
                (ShellState { status, ..state.clone() }, if self.calls == 0 { NextStep::Exit } else { NextStep::Return }),
                trace,
            );
        }
        ends
    }

    /// Returns the statuses that the operand of `exit` or `return` may have.
    fn named(&self, state: &ShellState, operands: &[ScriptWord], before: Status) -> Vec<Status> {
        match operands.first() {
            None => vec![before],
            Some(word) => match self.value(state, word).and_then(|value| value.status()) {
                Some(status) => vec![status],
                None => BOTH.to_vec(),
            },
        }
    }

    fn kill(&mut self, node: &'t ScriptPart, state: &ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        let mut ends = self.end_as(node, state, BOTH, trace, is_calm);
        if let Some(number) = state.signal_trap {
            ends.extend(self.trap(number, ShellState { signal_trap: None, ..state.clone() }, trace));
        }
        ends
    }

    fn set_trap(
        &mut self,
        node: &'t ScriptPart,
        (id, body, expands, events): (usize, &'t ScriptPart, bool, &'t [String]),
        mut state: ShellState,
        trace: FailureTrace<'t>,
    ) -> ScriptEnds<'t> {
        let is_empty = matches!(&body.kind, PartKind::List(commands) if commands.is_empty());
        let number = (!is_empty).then_some(id);
        self.traps.insert(id, (body, expands));
        for event in events {
            match event.as_str() {
                "EXIT" | "0" => state.exit_trap = number,
                "ERR" => state.failure_trap = number,
                "DEBUG" | "RETURN" if !is_empty => drop(self.unfollowed.get_or_insert(node)),
                _ => state.signal_trap = number,
            }
        }
        self.end(node, state, Status::Zero, trace, false)
    }

    fn inner_shell(
        &mut self,
        node: &'t ScriptPart,
        simple: &'t Simple,
        (script, options): (&'t ScriptPart, ShellOptions),
        (state, trace): (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let begin = ShellState { has_failed: state.has_failed, ..ShellState::begin(options) };
        let was_bash = std::mem::replace(&mut self.is_bash, options.is_bash);
        let functions = std::mem::take(&mut self.functions);
        let calls = std::mem::replace(&mut self.calls, 0);
        let found = self.shell(script, begin, trace, false);
        (self.is_bash, self.functions, self.calls) = (was_bash, functions, calls);
        let is_exec = simple.words[0].text == "exec";
        let mut ends = ScriptEnds::new();
        for ((status, has_failed), mut trace) in found {
            if !has_failed || state.has_failed {
                trace.note(&state, status, node, HidingWay::Follows);
            }
            let after = ShellState { status, has_failed, pipe: vec![status], ..state.clone() };
            if is_exec {
                ends.insert((ShellState { exit_trap: None, ..after }, NextStep::Exit), trace);
            } else {
                ends.extend(self.settle(after, trace, is_calm));
            }
        }
        ends
    }
}

fn set(state: &mut ShellState, name: &str, value: Option<ShellValue>) {
    match value {
        Some(value) => drop(state.variables.insert(name.to_owned(), value)),
        None => drop(state.variables.remove(name)),
    }
}

/// Returns which enclosing loop a `break` or `continue` means, counted from the innermost loop, which is 1. Without a
/// positive number it is 1.
fn depth(operands: &[ScriptWord]) -> u32 {
    operands.first().and_then(|word| word.text.parse().ok()).filter(|depth| *depth > 0).unwrap_or(1)
}

fn set_options(state: &mut ShellState, operands: &[ScriptWord]) {
    let mut words = operands.iter().map(|word| word.text.as_str());
    let mut options = ShellOptions { errexit: state.errexit, pipefail: state.pipefail, is_bash: true };
    while let Some(word) = words.next() {
        let is_on = word.starts_with('-');
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.starts_with('-')) else { break };
        if letters.contains('e') {
            options.errexit = is_on;
        }
        if letters.contains('o') {
            options.set(words.next().unwrap_or_default(), is_on);
        }
    }
    (state.errexit, state.pipefail) = (options.errexit, options.pipefail);
}

/// Returns the possible statuses of `wait` with these operands.
fn waited(state: &ShellState, operands: &[ScriptWord], is_expanded: bool) -> &'static [Status] {
    const ZERO: &[Status] = &[Status::Zero];
    const NON_ZERO: &[Status] = &[Status::NonZero];
    let Some(last) = operands.last() else { return ZERO };
    match state.known().value(last).filter(|_| !is_expanded) {
        Some(ShellValue::Job(Status::Zero)) => ZERO,
        Some(ShellValue::Job(Status::NonZero)) => NON_ZERO,
        Some(ShellValue::Text(_) | ShellValue::Positive) | None => BOTH,
    }
}
