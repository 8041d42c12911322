//! The approved plans that this process remembers. For the next run of a remembered plan, the index need not be read.

use proctor_model::{Digest, LedgerLine, ProjectId, Sequence, TaskId};

/// A plan that is known to be approved.
///
/// This knowledge is valid only while all new lines of the ledger come from this process: another process may have
/// approved another plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownApproval {
    pub(crate) project: ProjectId,
    pub(crate) task: TaskId,
    pub(crate) plan: Digest,
    /// The sequence number of the ledger's next line when the approval was last known to be valid. A greater number in
    /// the ledger means that another process wrote a line.
    pub(crate) next: Sequence,
}

/// The known approvals: for each task, the plan that ran last.
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

    /// Updates the known approvals after this process wrote a ledger line. A line that approves something removes the
    /// project's known approvals; any other line keeps them valid.
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
    use proctor_model::testing::ledger_line;
    use proctor_model::{LedgerBody, Serving, ServingRecord};

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
