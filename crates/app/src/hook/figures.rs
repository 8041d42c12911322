//! Counts what hooks did, for `proctor hook report`.

use std::collections::{BTreeMap, BTreeSet};

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use proctor_model::Timestamp;

/// How an event of an agent was answered.
#[wire(Copy, Hash)]
pub enum HookOutcome {
    Silent,
    /// The agent was given a line of context.
    Context,
    /// The turn ended with a green verdict.
    Green,
    /// The turn ended although the verdict is red: nothing of it is new, or the agent was blocked often enough.
    Red,
    /// The turn ended before the tree was tested.
    Pending,
    /// The agent was kept from stopping.
    Blocked,
}

/// A line of the private log of hooks. A line of another kind, which earlier versions wrote, is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum HookLine {
    /// The end of a turn, of a sub-agent's work or of a task was answered.
    End {
        at: Timestamp,
        /// The root of the project.
        project: String,
        agent: String,
        session: String,
        outcome: HookOutcome,
        /// Whether a claim was refuted.
        refuted: bool,
        /// Whether the agent's turn ended, and not the work of a sub-agent or a task.
        turn: bool,
        /// When the turn began; `None` if no event told of it, and in lines of earlier versions.
        #[serde(default)]
        begun: Option<Timestamp>,
    },
}

/// What hooks did, counted.
#[wire(Copy, Default, open, written)]
pub struct HookFigures {
    /// How many turns ended, or were kept from ending.
    pub turns: u64,
    /// How often an agent was kept from stopping.
    pub blocks: u64,
    /// How many of the blocks were followed by a green verdict in the same session.
    pub blocks_then_green: u64,
    pub refuted_claims: u64,
}

impl HookFigures {
    /// Counts the lines of one project, or of all.
    pub fn count(lines: &[HookLine], of_project: Option<&str>) -> Self {
        let mut figures = Self::default();
        // For each session, how many blocks wait for a green verdict.
        let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        // A turn may end several times: each block is followed by another end, unless the agent stops all the same.
        let mut turns: BTreeSet<(&str, &str, Timestamp)> = BTreeSet::new();
        for HookLine::End { project, session, outcome, refuted, turn, begun, .. } in lines {
            if of_project.is_some_and(|wanted| wanted != project) {
                continue;
            }
            let waiting = open.entry((project, session)).or_default();
            match begun {
                Some(begun) if *turn => {
                    turns.insert((project, session, *begun));
                }
                Some(_) => {}
                None => figures.turns += u64::from(*turn && *outcome != HookOutcome::Blocked),
            }
            match outcome {
                HookOutcome::Blocked => {
                    figures.blocks += 1;
                    *waiting += 1;
                }
                HookOutcome::Green => figures.blocks_then_green += std::mem::take(waiting),
                HookOutcome::Silent | HookOutcome::Context | HookOutcome::Red | HookOutcome::Pending => {}
            }
            figures.refuted_claims += u64::from(*refuted);
        }
        figures.turns += turns.len() as u64;
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(millis: i64, session: &str, outcome: HookOutcome, refuted: bool) -> HookLine {
        HookLine::End {
            at: Timestamp::from_millis(millis),
            project: "/shop".to_owned(),
            agent: "codex".to_owned(),
            session: session.to_owned(),
            outcome,
            refuted,
            turn: true,
            begun: None,
        }
    }

    #[test]
    fn a_turn_counts_once_however_often_it_ends() {
        let of_turn = |millis: i64, begun_at: i64, outcome: HookOutcome| {
            let mut line = end(millis, "a", outcome, false);
            let HookLine::End { begun, .. } = &mut line;
            *begun = Some(Timestamp::from_millis(begun_at));
            line
        };
        let lines = [
            of_turn(2, 1, HookOutcome::Blocked),
            of_turn(3, 1, HookOutcome::Blocked),
            of_turn(4, 1, HookOutcome::Green),
            of_turn(6, 5, HookOutcome::Silent),
            // The agent stopped although it was blocked.
            of_turn(8, 7, HookOutcome::Blocked),
        ];
        let counted = HookFigures::count(&lines, None);
        assert_eq!((counted.turns, counted.blocks, counted.blocks_then_green), (3, 3, 2));
    }

    #[test]
    fn blocks_are_counted_with_the_green_verdicts_after_them_in_the_same_session() {
        let lines = [
            end(1, "a", HookOutcome::Blocked, true),
            end(2, "b", HookOutcome::Green, false),
            end(3, "a", HookOutcome::Blocked, false),
            end(4, "a", HookOutcome::Green, false),
            end(5, "a", HookOutcome::Green, false),
            end(6, "b", HookOutcome::Blocked, false),
            end(7, "b", HookOutcome::Red, false),
        ];
        let counted = HookFigures { turns: 4, blocks: 3, blocks_then_green: 2, refuted_claims: 1 };
        assert_eq!(HookFigures::count(&lines, None), counted);
        assert_eq!(HookFigures::count(&lines, Some("/shop")), counted);
        assert_eq!(HookFigures::count(&lines, Some("/other")), HookFigures::default());
    }
}
