//! The plans that this process knows to be approved, so that the next run on one of them asks the index nothing.

use crate::model::{Digest, LedgerLine, ProjectId, Sequence, TaskId};

/// A plan that is known to be approved.
///
/// It holds while the ledger has no line that this process did not write: another one may have approved something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownApproval {
    pub(crate) project: ProjectId,
    pub(crate) task: TaskId,
    pub(crate) plan: Digest,
    /// The line that follows the last one this was seen to hold for.
    pub(crate) next: Sequence,
}

/// What is known of the plans that are approved: the one of each task that ran last.
#[derive(Debug, Default)]
pub(crate) struct KnownApprovals(Vec<KnownApproval>);

impl KnownApprovals {
    pub(crate) fn holds(&self, project: &ProjectId, task: &TaskId, plan: Digest, next: Sequence) -> bool {
        let is_it = |known: &&KnownApproval| known.project == *project && known.task == *task;
        self.0.iter().find(is_it).is_some_and(|known| known.plan == plan && known.next == next)
    }

    pub(crate) fn learn(&mut self, known: KnownApproval) {
        self.0.retain(|other| (&other.project, &other.task) != (&known.project, &known.task));
        self.0.push(known);
    }

    /// Takes notice of a line that this process wrote.
    pub(crate) fn wrote(&mut self, project: &ProjectId, line: &LedgerLine) {
        if line.body.approving().is_some() {
            self.0.retain(|known| known.project != *project);
            return;
        }
        for known in self.0.iter_mut().filter(|known| known.project == *project && known.next == line.sequence) {
            known.next = Sequence(line.sequence.0 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::ledger_line;
    use crate::model::{LedgerBody, Serving, ServingRecord};

    fn serving(sequence: u64) -> LedgerLine {
        ledger_line(sequence, LedgerBody::Serving(ServingRecord { serving: Serving::Served }))
    }

    #[test]
    fn what_is_known_to_be_approved_holds_while_every_line_since_is_our_own() {
        let (project, task, plan) = (ProjectId::mint("shop", 1), TaskId::default_task(), Digest::of(b"plan"));
        let mut known = KnownApprovals::default();
        known.learn(KnownApproval { project: project.clone(), task: task.clone(), plan, next: Sequence(3) });
        let holds = |known: &KnownApprovals, plan: &[u8], next| known.holds(&project, &task, Digest::of(plan), Sequence(next));
        assert!(holds(&known, b"plan", 3));
        assert!(!holds(&known, b"another plan", 3));
        assert!(!holds(&known, b"plan", 4), "somebody else wrote a line");
        known.wrote(&ProjectId::mint("other", 2), &serving(3));
        assert!(holds(&known, b"plan", 3), "that was another project's");
        known.wrote(&project, &serving(3));
        assert!(holds(&known, b"plan", 4) && !holds(&known, b"plan", 3));
        known.wrote(&project, &serving(6));
        assert!(!holds(&known, b"plan", 7), "lines in between are not ours");
    }
}
