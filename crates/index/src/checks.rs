//! The last result of each check of a task: rows that are written from the lines of runs.

use rusqlite::{Connection, Row, params};

use crate::IndexError;
use crate::query::RunsJudgedBy;
use crate::tables::Tables;
use crate::words::{from_integer, to_integer, to_word};
use proctor_model::{
    CheckOutcome, CheckRecord, Digest, KnownCheck, LastCheckResult, OverallStatus, ProjectId, RunRecord, Sequence, TaskId,
};

/// Stores the results of a run's checks. A check without a result in this run keeps the result of an earlier run with the
/// same plan. Results by changed rules lie beside those by approved ones, until the next run by approved rules.
pub(super) fn write_checks(
    connection: &Connection,
    project: &ProjectId,
    record: &RunRecord,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    let task = (project.as_str(), record.task.as_str());
    if !record.is_by_changed_rules() {
        let by_changed_rules = "DELETE FROM checks WHERE project = ?1 AND task = ?2 AND changed_rules = 1";
        connection.execute(by_changed_rules, task)?;
    }
    let Some((results, plan)) = record.results.as_ref().zip(record.plan_digest) else {
        // An older version wrote this line without the results of its checks. A run without a plan was refused and carried nothing out.
        if record.leads_latest() && record.plan_digest.is_some() {
            connection.execute("DELETE FROM checks WHERE project = ?1 AND task = ?2", task)?;
        }
        return Ok(());
    };
    let other_plans = "DELETE FROM checks WHERE project = ?1 AND task = ?2 AND plan_digest != ?3 AND changed_rules = ?4";
    connection.execute(other_plans, params![task.0, task.1, plan.hex(), record.is_by_changed_rules()])?;
    for (place, check) in (0_i64..).zip(results) {
        write_check(connection, project, record, &PlannedCheck { place, plan, check }, sequence)?;
    }
    Ok(())
}

/// A check of a run, and its place in the run's plan.
struct PlannedCheck<'a> {
    place: i64,
    plan: Digest,
    check: &'a CheckRecord,
}

fn write_check(
    connection: &Connection,
    project: &ProjectId,
    record: &RunRecord,
    planned: &PlannedCheck<'_>,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    let PlannedCheck { place, plan, check } = *planned;
    // A check rewrote the tree, so later checks ran on another tree than the record names.
    let is_of_tree = record.overall_status != OverallStatus::RewroteTree;
    let result = match &check.outcome {
        CheckOutcome::CarriedOut { .. } if !is_of_tree => None,
        CheckOutcome::CarriedOut { blocking } => Some((*blocking, record.tree_digest, &record.run_id)),
        CheckOutcome::Reused { blocking, run_id, other_tree } => Some((*blocking, other_tree.or(record.tree_digest), run_id)),
        CheckOutcome::LeftOut | CheckOutcome::Skipped => None,
    };
    // Without a result, a row is written only if the check has no row yet: the row then says that the plan has the check.
    let verb = if result.is_some() { "INSERT OR REPLACE" } else { "INSERT OR IGNORE" };
    let statement = format!(
        "{verb} INTO checks (project, task, place, id, name, plan_digest, tree_digest, blocking, run_id, sequence, changed_rules) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    );
    let values = params![
        project.as_str(),
        record.task.as_str(),
        place,
        check.id.as_str(),
        check.name,
        plan.hex(),
        result.and_then(|(_, tree, _)| tree).as_ref().map(to_word),
        result.as_ref().map(|(blocking, _, _)| to_word(blocking)),
        result.map(|(_, _, run_id)| run_id.as_str()),
        result.map(|_| to_integer(sequence.0)),
        record.is_by_changed_rules(),
    ];
    connection.execute(&statement, values).map(drop)
}

impl Tables {
    /// Returns the checks of a task's last plan in the plan's order, each with its last result. Empty if the ledger's lines
    /// do not name the checks.
    pub(super) fn checks(
        &self,
        project: &ProjectId,
        task: &TaskId,
        judged_by: RunsJudgedBy,
    ) -> Result<Vec<KnownCheck>, IndexError> {
        let statement = "SELECT id, name, plan_digest, tree_digest, blocking, run_id, sequence FROM checks WHERE project = ?1 \
                         AND task = ?2 AND changed_rules = (SELECT max(changed_rules) FROM checks WHERE project = ?1 \
                         AND task = ?2 AND changed_rules <= ?3) ORDER BY place";
        let values = params![project.as_str(), task.as_str(), judged_by.to_flag()];
        let rows = self.read_rows(statement, values, |row| Ok(self.to_check(row)))?;
        rows.into_iter().collect()
    }

    fn to_check(&self, row: &Row<'_>) -> Result<KnownCheck, IndexError> {
        let reader = &self.reader;
        let refused = |source| reader.refused("read", source);
        let text = |column: usize| row.get::<_, String>(column).map_err(refused);
        let optional = |column: usize| row.get::<_, Option<String>>(column).map_err(refused);
        let tree = reader.optional_word("digest", optional(3)?)?;
        let blocking = reader.optional_word("blocking", optional(4)?)?;
        let run_id = reader.optional_word("run id", optional(5)?)?;
        let sequence = row.get::<_, Option<i64>>(6).map_err(refused)?.map(|number| Sequence(from_integer(number)));
        let last = match (tree, blocking, run_id, sequence) {
            (Some(tree), Some(blocking), Some(run_id), Some(sequence)) => {
                Some(LastCheckResult { sequence, run_id, tree, blocking })
            }
            (_, _, _, _) => None,
        };
        Ok(KnownCheck { id: reader.word("action id", text(0)?)?, name: text(1)?, plan: reader.word("digest", text(2)?)?, last })
    }
}

#[cfg(test)]
mod tests {
    use crate::RunsJudgedBy::{self, AnyRules, ApprovedRules};
    use crate::testing::{TestIndex, by_changed_rules, project, run_id, run_record, task};
    use proctor_model::{
        ActionId, Blocking, CheckCoverage, CheckOutcome, CheckRecord, Digest, OverallStatus, RunRecord, TreeDigest,
    };

    const SHOP: &str = "shop-00000001";

    fn tree(text: &str) -> TreeDigest {
        TreeDigest(Digest::of(text.as_bytes()))
    }

    fn run(number: u64, tree_text: &str, plan: &str, outcomes: [CheckOutcome; 2]) -> RunRecord {
        let check = |(name, outcome)| CheckRecord { id: ActionId::numbered("STEP", 1), name, outcome, succeeded: None };
        let names = ["pytest".to_owned(), "tsc".to_owned()];
        RunRecord {
            tree_digest: Some(tree(tree_text)),
            plan_digest: Some(Digest::of(plan.as_bytes())),
            results: Some(names.into_iter().zip(outcomes).map(check).collect()),
            ..run_record(number, "default", OverallStatus::Success)
        }
    }

    /// Returns, for each check, its name and the run and tree of its last result.
    fn found(test: &TestIndex) -> Vec<(String, Option<(u64, bool)>)> {
        found_of(test, ApprovedRules)
    }

    fn found_of(test: &TestIndex, judged_by: RunsJudgedBy) -> Vec<(String, Option<(u64, bool)>)> {
        let checks = test.index.checks(&project(SHOP), &task("default"), judged_by).unwrap();
        let last = |last: proctor_model::LastCheckResult| (last.run_id.number(), last.tree == tree("one"));
        checks.into_iter().map(|check| (check.name, check.last.map(last))).collect()
    }

    fn named(pytest: Option<(u64, bool)>, tsc: Option<(u64, bool)>) -> Vec<(String, Option<(u64, bool)>)> {
        vec![("pytest".to_owned(), pytest), ("tsc".to_owned(), tsc)]
    }

    #[test]
    fn each_check_keeps_its_last_result_until_the_plan_changes() {
        let carried_out = || CheckOutcome::CarriedOut { blocking: Blocking::Allowed };
        let mut test = TestIndex::new();
        test.append_run(SHOP, run(1, "one", "plan", [carried_out(), carried_out()]));
        assert_eq!(found(&test), named(Some((1, true)), Some((1, true))));
        test.append_run(SHOP, run(2, "two", "plan", [carried_out(), CheckOutcome::LeftOut]));
        assert_eq!(found(&test), named(Some((2, false)), Some((1, true))));
        let runs = test.index.runs(&project(SHOP), None, AnyRules, 9).unwrap();
        let coverage = |number| runs.iter().find(|run| run.run_id == run_id(number)).unwrap().coverage;
        assert_eq!((coverage(1), coverage(2)), (Some(CheckCoverage::Whole), Some(CheckCoverage::Partial)));
        let earlier = CheckOutcome::Reused { blocking: Blocking::Blocks, run_id: run_id(1), other_tree: Some(tree("one")) };
        test.append_run(SHOP, run(3, "two", "plan", [CheckOutcome::Skipped, earlier]));
        assert_eq!(found(&test), named(Some((2, false)), Some((1, true))), "it names the run that carried the check out");
        test.append_run(SHOP, run(4, "two", "other", [carried_out(), CheckOutcome::LeftOut]));
        assert_eq!(found(&test), named(Some((4, false)), None));
    }

    #[test]
    fn a_line_of_an_older_version_makes_the_results_unknown_and_one_of_named_checks_does_not() {
        let carried_out = || CheckOutcome::CarriedOut { blocking: Blocking::Allowed };
        let older = |number| RunRecord { results: None, ..run(number, "two", "plan", [carried_out(), carried_out()]) };
        let mut test = TestIndex::new();
        test.append_run(SHOP, run(1, "one", "plan", [carried_out(), carried_out()]));
        test.append_run(SHOP, RunRecord { checks: vec!["tsc".to_owned()], ..older(2) });
        assert_eq!(found(&test), named(Some((1, true)), Some((1, true))));
        test.append_run(SHOP, older(3));
        assert_eq!(found(&test), []);
    }

    #[test]
    fn results_by_changed_rules_lie_beside_the_approved_ones_until_these_rules_judge_again() {
        let carried_out = || CheckOutcome::CarriedOut { blocking: Blocking::Allowed };
        let mut test = TestIndex::new();
        test.append_run(SHOP, run(1, "one", "plan", [carried_out(), carried_out()]));
        // Settings can change without the plan.
        for (number, plan) in [(2, "other"), (3, "plan")] {
            test.append_run(SHOP, by_changed_rules(run(number, "two", plan, [carried_out(), CheckOutcome::LeftOut])));
            assert_eq!(found_of(&test, AnyRules), named(Some((number, false)), None));
            assert_eq!(found(&test), named(Some((1, true)), Some((1, true))));
        }
        test.append_run(SHOP, run(4, "two", "plan", [carried_out(), CheckOutcome::LeftOut]));
        assert_eq!(found(&test), named(Some((4, false)), Some((1, true))));
        assert_eq!(found_of(&test, AnyRules), found(&test));
    }
}
