//! Counts what hooks did, for `proctor hook report`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use proctor_model::Timestamp;

/// How an event of an agent was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// A line of the private log of hooks.
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
    /// A person said that the block at `of` was wrong.
    Wrong { at: Timestamp, project: String, of: Timestamp },
}

/// What hooks did, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookFigures {
    /// How many turns ended, or were kept from ending.
    pub turns: u64,
    /// How often an agent was kept from stopping.
    pub blocks: u64,
    /// How many of the blocks were followed by a green verdict in the same session.
    pub blocks_then_green: u64,
    pub refuted_claims: u64,
    /// How many blocks a person called wrong.
    pub wrong_blocks: u64,
}

impl HookFigures {
    /// Counts the lines of one project, or of all.
    pub fn count(lines: &[HookLine], of_project: Option<&str>) -> Self {
        let mut figures = Self::default();
        // For each session, how many blocks wait for a green verdict.
        let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        // A turn may end several times: each block is followed by another end, unless the agent stops all the same.
        let mut turns: BTreeSet<(&str, &str, Timestamp)> = BTreeSet::new();
        for line in lines {
            match line {
                HookLine::End { project, session, outcome, refuted, turn, begun, .. } => {
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
                        HookOutcome::Green => {
                            figures.blocks_then_green += std::mem::take(waiting);
                        }
                        HookOutcome::Silent | HookOutcome::Context | HookOutcome::Red | HookOutcome::Pending => {}
                    }
                    figures.refuted_claims += u64::from(*refuted);
                }
                HookLine::Wrong { project, .. } => {
                    figures.wrong_blocks += u64::from(of_project.is_none_or(|wanted| wanted == project));
                }
            }
        }
        figures.turns += turns.len() as u64;
        figures
    }

    /// Returns the time of the last block in a project; `None` if there is none, or it was called wrong already. An older block is never
    /// meant.
    pub fn last_block(lines: &[HookLine], of_project: &str) -> Option<Timestamp> {
        let last = lines.iter().rev().find_map(|line| match line {
            HookLine::End { at, project, outcome: HookOutcome::Blocked, .. } if project == of_project => Some(*at),
            HookLine::End { .. } | HookLine::Wrong { .. } => None,
        })?;
        let is_wrong =
            |line: &HookLine| matches!(line, HookLine::Wrong { project, of, .. } if project == of_project && *of == last);
        (!lines.iter().any(is_wrong)).then_some(last)
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
        let of_turn = |millis: i64, begun: i64, outcome: HookOutcome| match end(millis, "a", outcome, false) {
            HookLine::End { at, project, agent, session, outcome, refuted, turn, .. } => {
                let begun = Some(Timestamp::from_millis(begun));
                HookLine::End { at, project, agent, session, outcome, refuted, turn, begun }
            }
            wrong @ HookLine::Wrong { .. } => wrong,
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
        let mut lines = vec![
            end(1, "a", HookOutcome::Blocked, true),
            end(2, "b", HookOutcome::Green, false),
            end(3, "a", HookOutcome::Blocked, false),
            end(4, "a", HookOutcome::Green, false),
            end(5, "a", HookOutcome::Green, false),
            end(6, "b", HookOutcome::Blocked, false),
            end(7, "b", HookOutcome::Red, false),
        ];
        let of = Timestamp::from_millis;
        assert_eq!(HookFigures::last_block(&lines, "/shop"), Some(of(6)));
        lines.push(HookLine::Wrong { at: of(8), project: "/shop".to_owned(), of: of(6) });
        assert_eq!(HookFigures::last_block(&lines, "/shop"), None, "an older block is not meant");
        let counted = HookFigures { turns: 4, blocks: 3, blocks_then_green: 2, refuted_claims: 1, wrong_blocks: 1 };
        assert_eq!(HookFigures::count(&lines, None), counted);
        assert_eq!(HookFigures::count(&lines, Some("/shop")), counted);
        assert_eq!(HookFigures::count(&lines, Some("/other")), HookFigures::default());
    }
}
