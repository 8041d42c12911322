//! Rows that another program changed have no valid seal, whatever was changed.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::testing::{TestIndex, line, project, registration, run_record};
use crate::{IndexError, IndexSealing, SealCheck, StoreIndex};
use proctor_model::{
    ActionId, Blocking, CheckOutcome, CheckRecord, Digest, LedgerBody, OverallStatus, ProjectId, RunRecord, Serving, TreeDigest,
};

const SHOP: &str = "shop-00000001";

/// A stand-in for signing: the digest of the bytes. Only this test knows how it is made.
fn sealing() -> IndexSealing {
    let sign = |bytes: &[u8]| Digest::of(&[b"secret", bytes].concat()).hex();
    IndexSealing {
        sign: Box::new(move |bytes| Some(sign(bytes))),
        verify: Box::new(move |bytes, signature| sign(bytes) == signature),
        changed: Box::new(|_: &ProjectId| ()),
        unreadable: Box::new(|_: &ProjectId, _: &str| ()),
    }
}

impl StoreIndex {
    /// Checks the seal of one project, which has no ledger here.
    fn check_seal(&self, project: &ProjectId) -> Result<SealCheck, IndexError> {
        let mut checks = self.check_seals(&[(project.clone(), PathBuf::new())])?;
        Ok(checks.pop().expect("one was asked about").0)
    }
}

fn filled() -> TestIndex {
    let mut test = TestIndex::new();
    test.index.seal_with(sealing());
    test.append(SHOP, registration(SHOP, "/srv/shop", 1, None));
    for number in 2..=20 {
        let task = ["default", "other", "third"][number as usize % 3];
        let record = run_record(number, task, OverallStatus::Success);
        let inputs = [("check".to_owned(), Digest::of(b"inputs"))].into();
        let plan_digest = Some(Digest::of(b"plan"));
        let outcome = CheckOutcome::CarriedOut { blocking: Blocking::Allowed };
        let results =
            Some(vec![CheckRecord { id: ActionId::numbered("STEP", 1), name: "check".to_owned(), outcome, succeeded: None }]);
        let tree_digest = Some(TreeDigest(Digest::of(b"tree")));
        test.append_run(SHOP, RunRecord { inputs, plan_digest, results, tree_digest, ..record });
    }
    test
}

fn change(test: &TestIndex, statement: &str) {
    let other = Connection::open(&test.path).unwrap();
    assert!(other.execute(statement, []).unwrap() > 0, "{statement}");
}

#[test]
fn whatever_another_program_changes_of_what_decides_is_noticed() {
    let untouched = filled();
    assert!(matches!(untouched.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Sealed(line) if line.sequence.0 == 20));
    let statements = [
        "UPDATE runs SET result = 'PASSED' WHERE sequence = 20",
        "UPDATE runs SET status = 'FAILED' WHERE sequence = 18",
        "UPDATE runs SET counts = 0 WHERE sequence = 19",
        "UPDATE runs SET task = 'default' WHERE sequence = 20",
        "UPDATE runs SET sequence = 21 WHERE sequence = 20",
        "UPDATE runs SET tree_digest = 'x' WHERE sequence = 20",
        "DELETE FROM runs WHERE sequence = 20",
        "DELETE FROM runs WHERE task = 'third'",
        "DELETE FROM runs",
        "INSERT INTO runs (project, sequence, run_id, task, started, status, counts, blocking) \
         VALUES ('shop-00000001', 30, 'x', 'default', 1, 'SUCCESS', 1, 0)",
        "INSERT INTO tdd (project, task, state, sequence) VALUES ('shop-00000001', 'default', '{}', 1)",
        "INSERT INTO served (project, sequence) VALUES ('shop-00000001', 1)",
        "INSERT INTO prerequisites (project, name, digest, sequence) VALUES ('shop-00000001', 'a', 'b', 1)",
        "UPDATE projects SET path = '/srv/other'",
        "UPDATE positions SET applied_sequence = 19",
        "UPDATE positions SET applied_offset = 1900",
        "UPDATE seals SET line = '0000000000000000000000000000000000000000000000000000000000000000'",
        "UPDATE seals SET line = 'x'",
        "UPDATE seals SET signature = 'x'",
        "DELETE FROM seals",
        "DELETE FROM checks",
        // A text that is not UTF-8.
        "UPDATE runs SET task = CAST(x'ff' AS TEXT) WHERE sequence = 20",
        "UPDATE runs SET result = CAST(x'ff' AS TEXT) WHERE sequence = 20",
        "UPDATE seals SET line = CAST(x'ff' AS TEXT)",
        "UPDATE seals SET signature = CAST(x'ff' AS TEXT)",
    ];
    for statement in statements {
        let mut test = filled();
        change(&test, statement);
        assert_eq!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Changed, "{statement}");
        let next = line(20, LedgerBody::Run(Box::new(run_record(21, "default", OverallStatus::Success))));
        let applied = test.index.apply(&project(SHOP), &[next]);
        assert!(matches!(applied, Err(IndexError::Changed { .. })), "the rows must not be sealed anew: {statement}");
    }
}

#[test]
fn a_trigger_of_another_program_is_not_run() {
    let mut test = filled();
    let trigger = "CREATE TRIGGER t AFTER INSERT ON positions BEGIN INSERT OR REPLACE INTO served (project, sequence) \
                   VALUES ('shop-00000001', 1); END";
    Connection::open(&test.path).unwrap().execute_batch(trigger).unwrap();
    let lines = test.lines[&project(SHOP)].clone();
    test.index.apply_anew(&project(SHOP), &lines).unwrap();
    assert_eq!(test.index.serving(&project(SHOP)).unwrap(), Serving::NotServed);
    assert!(matches!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Sealed(_)));
}

#[test]
fn rows_whose_seal_was_emptied_are_not_sealed_again_where_there_is_a_key() {
    let mut test = filled();
    change(&test, "UPDATE seals SET signature = ''");
    assert_eq!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Unsigned);
    let next = line(20, LedgerBody::Run(Box::new(run_record(21, "default", OverallStatus::Success))));
    assert!(matches!(test.index.apply(&project(SHOP), &[next]), Err(IndexError::Changed { .. })));
}

#[test]
fn rows_without_a_position_are_dropped_before_lines_are_applied() {
    let mut test = filled();
    change(&test, "DELETE FROM positions");
    assert_eq!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Empty);
    change(&test, "INSERT INTO served (project, sequence) VALUES ('shop-00000001', 1)");
    let lines = test.lines[&project(SHOP)].clone();
    test.index.apply(&project(SHOP), &lines).unwrap();
    assert_eq!(test.index.serving(&project(SHOP)).unwrap(), Serving::NotServed);
    assert!(matches!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Sealed(_)));
}

#[test]
fn an_index_of_a_store_without_a_key_says_that_it_has_no_seal() {
    let mut test = TestIndex::new();
    test.index.seal_with(IndexSealing { sign: Box::new(|_| None), ..sealing() });
    test.append(SHOP, registration(SHOP, "/srv/shop", 1, None));
    assert_eq!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Unsigned);
    test.append_run(SHOP, run_record(2, "default", OverallStatus::Success));
    assert_eq!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Unsigned);
}

#[test]
fn an_older_state_of_the_file_is_valid_and_goes_on_from_its_own_position() {
    let mut test = filled();
    let lines = test.lines[&project(SHOP)].clone();
    test.index.forget(&project(SHOP)).unwrap();
    test.index.apply(&project(SHOP), &lines[..10]).unwrap();
    assert!(matches!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Sealed(line) if line.sequence.0 == 10));
    test.index.apply(&project(SHOP), &lines[10..]).unwrap();
    assert!(matches!(test.index.check_seal(&project(SHOP)).unwrap(), SealCheck::Sealed(line) if line.sequence.0 == 20));
}

#[test]
fn a_write_by_another_connection_is_noticed_and_an_own_one_is_not() {
    let mut test = filled();
    let before = test.index.changes_by_others().unwrap();
    test.append_run(SHOP, run_record(21, "default", OverallStatus::Success));
    assert_eq!(test.index.changes_by_others().unwrap(), before);
    change(&test, "UPDATE runs SET counts = 0 WHERE sequence = 20");
    assert_ne!(test.index.changes_by_others().unwrap(), before);
}

#[test]
fn seals_that_are_checked_together_are_checked_one_by_one() {
    let mut test = filled();
    let till = "till-00000002";
    test.append(till, registration(till, "/srv/till", 2, None));
    change(&test, "UPDATE projects SET path = '/srv/other' WHERE id = 'till-00000002'");
    let asked = [SHOP, till, "none-00000003", SHOP].map(|id| (project(id), PathBuf::new()));
    let seals: Vec<SealCheck> = test.index.check_seals(&asked).unwrap().into_iter().map(|(seal, _)| seal).collect();
    assert!(matches!(seals[..], [SealCheck::Sealed(_), SealCheck::Changed, SealCheck::Empty, SealCheck::Sealed(_)]), "{seals:?}");
}

#[test]
fn what_another_program_changes_after_a_seal_was_checked_is_not_taken_for_checked() {
    for is_changed in [false, true] {
        let test = filled();
        let ledger = test.path.with_file_name("ledger");
        let (_, end) = test.index.position(&project(SHOP)).unwrap().expect("lines are applied");
        std::fs::File::create_new(&ledger).unwrap().set_len(end).unwrap();
        let (seal, before) =
            test.index.check_seals(&[(project(SHOP), ledger.clone())]).unwrap().pop().expect("it was asked about");
        assert!(matches!(seal, SealCheck::Sealed(_)));
        if is_changed {
            change(&test, "UPDATE runs SET counts = 0");
        }
        test.index.note_checked(&project(SHOP), before, end);
        assert_eq!(test.index.is_current(&project(SHOP), &ledger).unwrap(), !is_changed);
        std::fs::remove_file(&ledger).unwrap();
    }
}
