//! Finds every way in which a script can end, without running it. An unknown program may succeed or fail.
//!
//! The question is whether the script can end with 0 after the failure of a deciding command, which is a command whose
//! failure must make the script fail. Following a way that cannot happen in reality is a harmless error. Missing a way
//! would let a hidden failure through.

use std::collections::{BTreeMap, BTreeSet};

use crate::shell::tree::{Lead, PartKind, ScriptPart, ShellOptions};
use crate::shell::value::{KnownValues, ShellValue, Status};

/// The state of the shell between two commands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShellState {
    pub(super) status: Status,
    /// Whether a deciding command has failed: one whose failure must make the script fail.
    pub(super) has_failed: bool,
    pub(super) errexit: bool,
    pub(super) pipefail: bool,
    pub(super) variables: BTreeMap<String, ShellValue>,
    pub(super) pipe: Vec<Status>,
    pub(super) job: Option<Status>,
    /// For each trap, the number of the command that set it: the trap for the end of the shell, for a failure (`ERR`),
    /// and for a signal.
    pub(super) exit_trap: Option<usize>,
    pub(super) failure_trap: Option<usize>,
    pub(super) signal_trap: Option<usize>,
    /// The status with which the script ended, while the trap for the end of the shell runs.
    pub(super) ended_with: Option<Status>,
}

/// How the script continues after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NextStep {
    Next,
    Exit,
    Return,
    Break(u32),
    Continue(u32),
}

/// How a part of a script hides a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HidingWay {
    /// The part runs after the failure, and its own status replaces the failure.
    Follows,
    Negates,
    LeavesRunning,
    /// The part reads the output of the failed command through a pipe.
    Pipes,
    /// The part runs the failed command in a `$(…)` that only provides words for it.
    Substitutes,
    /// The part is a condition, a choice or a loop that ignores the failure.
    Steers,
    RunsAtTheEnd,
}

/// How a state was reached: the deciding command that failed, and the part that hid the failure.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FailureTrace<'t> {
    pub(super) failed: Option<&'t ScriptPart>,
    pub(super) hidden: Option<(&'t ScriptPart, HidingWay)>,
}

pub(super) type ScriptEnds<'t> = BTreeMap<(ShellState, NextStep), FailureTrace<'t>>;

/// The most steps that the analysis of a script may take; each step follows one part of the script. A script that needs more counts as too complex.
const MOST_STEPS: u32 = 60_000;
/// If a part can end in more states than this, the values of variables are forgotten, to limit the work.
const MOST_STATES: usize = 200;

pub(super) struct ScriptMachine<'t> {
    pub(super) deciders: BTreeSet<usize>,
    /// The deciding commands (those whose failure must make the script fail) that are not known to be checks. A loop
    /// may wait until one of them succeeds.
    pub(super) awaited: BTreeSet<usize>,
    pub(super) is_bash: bool,
    pub(super) functions: BTreeMap<&'t str, Vec<&'t ScriptPart>>,
    /// The bodies of traps, by the number of the command that sets the trap. The flag tells whether variables in the
    /// body were expanded when the trap was set.
    pub(super) traps: BTreeMap<usize, (&'t ScriptPart, bool)>,
    pub(super) calls: u32,
    /// The number of enclosing loops. Without a loop `break` has no effect.
    pub(super) loops: u32,
    /// Whether the current words were expanded earlier, so that the present values of variables do not apply.
    pub(super) is_expanded: bool,
    pub(super) steps: u32,
    /// The first part that cannot be followed, if there is one.
    pub(super) unfollowed: Option<&'t ScriptPart>,
}

impl ShellState {
    pub(super) fn begin(options: ShellOptions) -> Self {
        Self {
            status: Status::Zero,
            has_failed: false,
            errexit: options.errexit,
            pipefail: options.pipefail,
            variables: BTreeMap::new(),
            pipe: Vec::new(),
            job: None,
            exit_trap: None,
            failure_trap: None,
            signal_trap: None,
            ended_with: None,
        }
    }

    pub(super) fn known(&self) -> KnownValues<'_> {
        KnownValues { variables: &self.variables, status: self.status, pipe: &self.pipe, job: self.job }
    }
}

impl<'t> FailureTrace<'t> {
    /// Records the part that turned a failure into success.
    pub(super) fn note(&mut self, state: &ShellState, new: Status, node: &'t ScriptPart, way: HidingWay) {
        let is_hidden = state.has_failed && new == Status::Zero;
        if is_hidden && (state.status == Status::NonZero || self.hidden.is_none_or(|(_, before)| before == HidingWay::Follows)) {
            self.hidden = Some((node, way));
        }
    }
}

pub(super) fn ended<'t>(state: ShellState, flow: NextStep, trace: FailureTrace<'t>) -> ScriptEnds<'t> {
    BTreeMap::from([((state, flow), trace)])
}

impl<'t> ScriptMachine<'t> {
    /// Follows a script from its first command to the end of the shell that runs it.
    pub(super) fn shell(
        &mut self,
        script: &'t ScriptPart,
        state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> BTreeMap<(Status, bool), FailureTrace<'t>> {
        let mut ends = BTreeMap::new();
        for ((state, _), trace) in self.run(script, state, trace, is_calm) {
            for (state, trace) in self.finish(state, trace) {
                ends.entry((state.status, state.has_failed)).or_insert(trace);
            }
        }
        ends
    }

    /// Runs the trap for the end of a shell, if one is set.
    fn finish(&mut self, state: ShellState, trace: FailureTrace<'t>) -> Vec<(ShellState, FailureTrace<'t>)> {
        let Some(number) = state.exit_trap else { return vec![(state, trace)] };
        let before = state.status;
        let inside = ShellState { exit_trap: None, ended_with: Some(before), ..state };
        let ends = self.trap(number, inside, trace);
        let finished = ends.into_iter().map(|((state, flow), trace)| match flow {
            NextStep::Exit => (state, trace),
            NextStep::Next | NextStep::Return | NextStep::Break(_) | NextStep::Continue(_) => {
                (ShellState { status: before, ..state }, trace)
            }
        });
        finished.collect()
    }

    /// Runs the body of a trap. If the body ends the shell with status 0 after a failure, the failure is marked as hidden by the
    /// trap.
    pub(super) fn trap(&mut self, number: usize, state: ShellState, trace: FailureTrace<'t>) -> ScriptEnds<'t> {
        let Some((body, expands)) = self.traps.get(&number).copied() else { return ended(state, NextStep::Next, trace) };
        let was_expanded = std::mem::replace(&mut self.is_expanded, expands);
        let ends = self.run(body, state, trace, false);
        self.is_expanded = was_expanded;
        let named = ends.into_iter().map(|((state, flow), mut trace)| {
            if flow == NextStep::Exit && state.status == Status::Zero && state.has_failed {
                trace.hidden = Some((body, HidingWay::RunsAtTheEnd));
            }
            ((state, flow), trace)
        });
        named.collect()
    }

    /// Follows a part of a script. If `is_calm`, `set -e` has no effect on the part: it is a condition, or stands
    /// before `&&` or `||`.
    pub(super) fn run(
        &mut self,
        node: &'t ScriptPart,
        state: ShellState,
        trace: FailureTrace<'t>,
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.unfollowed.get_or_insert(node);
            return ScriptEnds::new();
        }
        match &node.kind {
            PartKind::Simple(simple) => self.simple(node, simple, state, trace, is_calm),
            PartKind::List(parts) => self.list(parts, state, trace, is_calm),
            PartKind::AndOr(parts) => self.and_or(parts, state, trace, is_calm),
            PartKind::Pipeline { is_negated, parts } => self.pipeline(node, *is_negated, parts, (state, trace), is_calm),
            PartKind::Background(inner) => self.background(node, inner, state, trace),
            PartKind::Group(inner, outside) => {
                let ends = self.outside(node, outside, state, trace);
                self.then(ends, |machine, state, trace| machine.run(inner, state, trace, is_calm))
            }
            PartKind::Subshell(inner, outside) => {
                let ends = self.outside(node, outside, state, trace);
                self.then(ends, |machine, state, trace| machine.subshell(inner, state, trace, is_calm))
            }
            PartKind::If { branches, otherwise, outside } => {
                let ends = self.outside(node, outside, state, trace);
                self.then(ends, |machine, state, trace| {
                    machine.condition(node, branches, otherwise.as_deref(), (state, trace), is_calm)
                })
            }
            PartKind::Loop { is_until, condition, body, outside } => {
                let ends = self.outside(node, outside, state, trace);
                self.loops += 1;
                let ends = self.then(ends, |machine, state, trace| {
                    machine.repeated(node, (*is_until, condition, body), (state, trace), is_calm)
                });
                self.loops -= 1;
                ends
            }
            PartKind::For { name, words, body, outside } => {
                let ends = self.outside(node, outside, state, trace);
                self.loops += 1;
                let ends = self.then(ends, |machine, state, trace| {
                    machine.for_each(node, (name, words.as_deref(), body), (state, trace), is_calm)
                });
                self.loops -= 1;
                ends
            }
            PartKind::Case { word, clauses, outside } => {
                let ends = self.outside(node, outside, state, trace);
                self.then(ends, |machine, state, trace| machine.case(node, (word, clauses), (state, trace), is_calm))
            }
            PartKind::Function { name, body } => {
                let bodies = self.functions.entry(name).or_default();
                if !bodies.iter().any(|known| std::ptr::eq(*known, &raw const **body)) {
                    bodies.push(body);
                }
                ended(ShellState { status: Status::Zero, ..state }, NextStep::Next, trace)
            }
        }
    }

    /// Applies `next` to every way on which the script continues normally. Other ends, such as `exit` or `break`, are
    /// kept.
    pub(super) fn then(
        &mut self,
        ends: ScriptEnds<'t>,
        mut next: impl FnMut(&mut Self, ShellState, FailureTrace<'t>) -> ScriptEnds<'t>,
    ) -> ScriptEnds<'t> {
        let mut after = ScriptEnds::new();
        let forgets = ends.len() > MOST_STATES;
        for ((mut state, flow), trace) in ends {
            if forgets {
                state.variables.clear();
            }
            let ends = if flow == NextStep::Next { next(self, state, trace) } else { ended(state, flow, trace) };
            for (end, trace) in ends {
                after.entry(end).or_insert(trace);
            }
        }
        after
    }

    /// After a failure, runs the trap for `ERR` if there is one, and ends the script if `set -e` is on. If `is_calm`,
    /// does neither.
    pub(super) fn settle(&mut self, state: ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        if state.status == Status::Zero || is_calm {
            return ended(state, NextStep::Next, trace);
        }
        let flow = if state.errexit { NextStep::Exit } else { NextStep::Next };
        let Some(number) = state.failure_trap else { return ended(state, flow, trace) };
        let inside = ShellState { failure_trap: None, ..state };
        let ends = self.trap(number, inside, trace).into_iter().map(|((state, left), trace)| {
            let state = ShellState { failure_trap: Some(number), ..state };
            match left {
                NextStep::Next => ((ShellState { status: Status::NonZero, ..state }, flow), trace),
                NextStep::Exit | NextStep::Return | NextStep::Break(_) | NextStep::Continue(_) => ((state, left), trace),
            }
        });
        ends.collect()
    }

    fn list(&mut self, parts: &'t [ScriptPart], state: ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        let mut ends = ended(state, NextStep::Next, trace);
        for part in parts {
            ends = self.then(ends, |machine, state, trace| machine.run(part, state, trace, is_calm));
        }
        ends
    }

    fn and_or(&mut self, parts: &'t [ScriptPart], state: ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        let mut ends = ended(state, NextStep::Next, trace);
        for (index, part) in parts.iter().enumerate() {
            let is_calm = is_calm || index + 1 < parts.len();
            ends = self.then(ends, |machine, state, trace| {
                let wanted = if part.lead == Lead::Or { Status::NonZero } else { Status::Zero };
                if index > 0 && state.status != wanted {
                    ended(state, NextStep::Next, trace)
                } else {
                    machine.run(part, state, trace, is_calm)
                }
            });
        }
        ends
    }

    fn pipeline(
        &mut self,
        node: &'t ScriptPart,
        is_negated: bool,
        parts: &'t [ScriptPart],
        from: (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let (state, trace) = from;
        let ends = match parts {
            [only] => self.run(only, state, trace, true),
            _ => self.piped(parts, &state, trace, is_calm || is_negated),
        };
        self.then(ends, |machine, state, mut trace| {
            if !is_negated {
                return machine.settle(state, trace, is_calm);
            }
            let status = Status::of(state.status == Status::NonZero);
            trace.note(&state, status, node, HidingWay::Negates);
            ended(ShellState { status, ..state }, NextStep::Next, trace)
        })
    }

    fn piped(&mut self, parts: &'t [ScriptPart], state: &ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        let mut ways = BTreeMap::from([((state.has_failed, Vec::new()), trace)]);
        for part in parts {
            let mut longer = BTreeMap::new();
            for ((has_failed, statuses), trace) in ways {
                let begin = ShellState { has_failed, ..state.clone() };
                for ((status, has_failed), trace) in self.shell(part, begin.outside_traps(), trace, is_calm) {
                    let statuses: Vec<Status> = statuses.iter().copied().chain([status]).collect();
                    longer.entry((has_failed, statuses)).or_insert(trace);
                }
            }
            ways = longer;
        }
        let last = parts.last();
        let ends = ways.into_iter().map(|((has_failed, statuses), mut trace)| {
            let any = if statuses.contains(&Status::NonZero) { Status::NonZero } else { Status::Zero };
            let status = if state.pipefail { any } else { statuses.last().copied().unwrap_or(Status::Zero) };
            if let Some(last) = last.filter(|_| any == Status::NonZero) {
                trace.note(&ShellState { status: any, has_failed, ..state.clone() }, status, last, HidingWay::Pipes);
            }
            ((ShellState { status, has_failed, pipe: statuses, ..state.clone() }, NextStep::Next), trace)
        });
        ends.collect()
    }

    fn background(
        &mut self,
        node: &'t ScriptPart,
        inner: &'t ScriptPart,
        state: ShellState,
        trace: FailureTrace<'t>,
    ) -> ScriptEnds<'t> {
        let ends = self.shell(inner, state.clone().outside_traps(), trace, false).into_iter();
        let ends = ends.map(|((status, has_failed), mut trace)| {
            let after = ShellState { status, has_failed, job: Some(status), ..state.clone() };
            trace.note(&after, Status::Zero, node, HidingWay::LeavesRunning);
            ((ShellState { status: Status::Zero, ..after }, NextStep::Next), trace)
        });
        ends.collect()
    }

    fn subshell(&mut self, inner: &'t ScriptPart, state: ShellState, trace: FailureTrace<'t>, is_calm: bool) -> ScriptEnds<'t> {
        let mut after = ScriptEnds::new();
        for ((status, has_failed), trace) in self.shell(inner, state.clone().outside_traps(), trace, is_calm) {
            let state = ShellState { status, has_failed, ..state.clone() };
            after.extend(self.settle(state, trace, is_calm));
        }
        after
    }

    /// Follows the scripts in the words and redirections of a compound command. Their statuses do not count.
    fn outside(
        &mut self,
        node: &'t ScriptPart,
        scripts: &'t [ScriptPart],
        state: ShellState,
        trace: FailureTrace<'t>,
    ) -> ScriptEnds<'t> {
        let before = state.status;
        let ends = self.scripts(node, scripts, state, trace);
        self.then(ends, |_, state, trace| ended(ShellState { status: before, ..state }, NextStep::Next, trace))
    }

    /// Follows the scripts in words, one after another. The status of the last script remains.
    pub(super) fn scripts(
        &mut self,
        node: &'t ScriptPart,
        scripts: &'t [ScriptPart],
        state: ShellState,
        trace: FailureTrace<'t>,
    ) -> ScriptEnds<'t> {
        let mut ends = ended(state, NextStep::Next, trace);
        for script in scripts {
            ends = self.then(ends, |machine, state, trace| {
                let mut inside = state.clone().outside_traps();
                inside.errexit &= !machine.is_bash;
                let found = machine.shell(script, inside, trace, false).into_iter();
                let found = found.map(|((status, has_failed), mut trace)| {
                    if has_failed && !state.has_failed {
                        trace.hidden = Some((node, HidingWay::Substitutes));
                    }
                    ((ShellState { status, has_failed, ..state.clone() }, NextStep::Next), trace)
                });
                found.collect()
            });
        }
        ends
    }

    fn condition(
        &mut self,
        node: &'t ScriptPart,
        branches: &'t [(ScriptPart, ScriptPart)],
        otherwise: Option<&'t ScriptPart>,
        from: (ShellState, FailureTrace<'t>),
        is_calm: bool,
    ) -> ScriptEnds<'t> {
        let Some(((condition, body), more)) = branches.split_first() else {
            let (state, mut trace) = from;
            return match otherwise {
                Some(otherwise) => self.run(otherwise, state, trace, is_calm),
                None => {
                    trace.note(&state, Status::Zero, node, HidingWay::Steers);
                    ended(ShellState { status: Status::Zero, ..state }, NextStep::Next, trace)
                }
            };
        };
        let ends = self.run(condition, from.0, from.1, true);
        self.then(ends, |machine, state, trace| match state.status {
            Status::Zero => machine.run(body, state, trace, is_calm),
            Status::NonZero => machine.condition(node, more, otherwise, (state, trace), is_calm),
        })
    }
}

impl ShellState {
    /// Removes the traps, because a subshell begins without traps.
    pub(super) fn outside_traps(self) -> Self {
        Self { exit_trap: None, failure_trap: None, signal_trap: None, ..self }
    }
}
