//! The stop ladder (E10): decides which signal must be sent at which time. Pure; it sends nothing.

use std::time::Duration;

use crate::process::clock::Monotonic;
use proctor_model::{ActionLimits, StopStage};

/// A signal and when it is due, counted from the moment the stop was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rung {
    after: Duration,
    stage: StopStage,
}

/// The signals that stop one action, from the recorded stop up to SIGKILL, and how many of them were sent.
#[derive(Debug, Clone)]
pub(super) struct StopLadder {
    begun: Monotonic,
    rungs: Vec<Rung>,
    taken: usize,
}

/// Spreads the signals before SIGKILL evenly over the time `grace`, and puts SIGKILL at its end. Without such signals,
/// SIGKILL is due at once. So `grace` bounds the whole ladder (G7).
fn plan_rungs(limits: &ActionLimits) -> Vec<Rung> {
    let stages: Vec<StopStage> = limits.ladder.iter().copied().take_while(|stage| *stage != StopStage::Sigkill).collect();
    let count = u32::try_from(stages.len()).unwrap_or(u32::MAX).max(1);
    let step = limits.grace / count;
    let kill_after = if stages.is_empty() { Duration::ZERO } else { limits.grace };
    let spread = (0..).zip(stages).map(|(index, stage)| Rung { after: step * index, stage });
    spread.chain([Rung { after: kill_after, stage: StopStage::Sigkill }]).collect()
}

impl StopLadder {
    /// Returns the signals of a stop that begins now, none of them sent yet.
    pub(super) fn begin(now: Monotonic, limits: &ActionLimits) -> Self {
        Self { begun: now, rungs: plan_rungs(limits), taken: 0 }
    }

    /// Returns the next signal of the ladder if it is due, and counts it as sent.
    pub(super) fn take_due(&mut self, now: Monotonic) -> Option<StopStage> {
        let rung = self.rungs.get(self.taken).filter(|rung| now.since(self.begun) >= rung.after)?;
        self.taken += 1;
        Some(rung.stage)
    }

    /// Returns when the next signal is due; `None` after SIGKILL, or when the clock cannot represent the time.
    pub(super) fn next_due(&self) -> Option<Monotonic> {
        self.rungs.get(self.taken).and_then(|rung| self.begun.plus(rung.after))
    }

    /// Skips all signals that are left except SIGKILL, which becomes due at once.
    pub(super) fn hurry(&mut self) {
        if self.taken < self.rungs.len() {
            self.rungs.truncate(self.taken);
            self.rungs.push(Rung { after: Duration::ZERO, stage: StopStage::Sigkill });
        }
    }

    /// Returns the last signal that was sent, or the ladder's first signal if none was sent.
    pub(super) fn last_taken(&self) -> StopStage {
        self.rungs.get(self.taken.saturating_sub(1)).map_or(StopStage::Sigkill, |rung| rung.stage)
    }
}

#[cfg(test)]
mod tests {
    use crate::process::clock;

    use super::*;

    fn limits(grace_ms: u64, ladder: &[StopStage]) -> ActionLimits {
        let (timeout, grace) = (Duration::from_secs(1), Duration::from_millis(grace_ms));
        ActionLimits { timeout, idle: None, output: None, grace, ladder: ladder.to_vec() }
    }

    fn schedule(limits: &ActionLimits) -> Vec<(u64, StopStage)> {
        plan_rungs(limits).iter().map(|rung| (u64::try_from(rung.after.as_millis()).expect("short"), rung.stage)).collect()
    }

    #[test]
    fn stages_are_spread_over_the_grace_and_sigkill_ends_it() {
        use StopStage::{Sigint, Sigkill, Sigterm};
        assert_eq!(schedule(&limits(10, &[Sigint, Sigterm])), [(0, Sigint), (5, Sigterm), (10, Sigkill)]);
        assert_eq!(schedule(&limits(10, &[Sigterm])), [(0, Sigterm), (10, Sigkill)]);
        assert_eq!(schedule(&limits(10, &[])), [(0, Sigkill)]);
        assert_eq!(schedule(&limits(10, &[Sigkill, Sigterm])), [(0, Sigkill)]);
        assert_eq!(schedule(&limits(10, &[Sigterm, Sigkill])), [(0, Sigterm), (10, Sigkill)]);
        assert_eq!(schedule(&limits(0, &[Sigterm])), [(0, Sigterm), (0, Sigkill)]);
    }

    #[test]
    fn rungs_are_taken_when_due_and_once() {
        let begun = clock::monotonic();
        let at = |millis| begun.plus(Duration::from_millis(millis)).expect("near");
        let mut ladder = StopLadder::begin(begun, &limits(10, &[StopStage::Sigint, StopStage::Sigterm]));
        assert_eq!(ladder.take_due(at(0)), Some(StopStage::Sigint));
        assert_eq!(ladder.take_due(at(4)), None);
        assert_eq!(ladder.next_due(), Some(at(5)));
        assert_eq!(ladder.take_due(at(20)), Some(StopStage::Sigterm));
        assert_eq!(ladder.last_taken(), StopStage::Sigterm);
        assert_eq!(ladder.take_due(at(20)), Some(StopStage::Sigkill));
        assert_eq!(ladder.take_due(at(99)), None);
        assert_eq!(ladder.next_due(), None);
        assert_eq!(ladder.last_taken(), StopStage::Sigkill);
    }

    #[test]
    fn hurrying_leaves_only_sigkill_and_only_once() {
        let begun = clock::monotonic();
        let mut ladder = StopLadder::begin(begun, &limits(10_000, &[StopStage::Sigint, StopStage::Sigterm]));
        assert_eq!(ladder.take_due(begun), Some(StopStage::Sigint));
        ladder.hurry();
        ladder.hurry();
        assert_eq!(ladder.take_due(begun), Some(StopStage::Sigkill));
        ladder.hurry();
        assert_eq!(ladder.take_due(begun), None);
    }
}
