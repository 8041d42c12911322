//! The evidence of real runs is manipulated in every way we know. `proctor verify` must name each manipulation by file and kind of fault.
//!
//! `rows` lists deliberate manipulations, `exported` those of exports.
//! `independent` compares all of these with a verifier that knows the page of the format alone. `fields` changes every single value of every document and of the
//! index, one at a time. `leftovers` and `unsigned` are about stores that look manipulated, but are not.

mod exported;
mod fields;
mod independent;
mod leftovers;
mod rows;
mod unsigned;
mod victim;

use std::collections::BTreeSet;

use proctor_evidence::FaultKind;

use crate::common::Extent;
use crate::tamper::rows::ROWS;
use crate::tamper::victim::{Found, Made, Victim};

/// Outside of the long tier, every 24th manipulation is tried.
const SAMPLE: Extent = Extent::OneIn(24);

#[test]
fn evidence_that_nobody_touched_verifies() {
    let made = Made::get();
    assert_eq!(made.copy().verify(), Vec::<Found>::new());
    assert!(made.copy().run(0).join("execution-report.json.sig").exists());
}

#[test]
fn some_manipulations_are_named_by_file_and_kind() {
    manipulations_are_named(SAMPLE);
}

#[test]
#[ignore = "long tier"]
fn every_manipulation_is_named_by_file_and_kind() {
    manipulations_are_named(Extent::All);
}

#[track_caller]
fn manipulations_are_named(extent: Extent) {
    let made = Made::get();
    let mut unseen = Vec::new();
    for row in extent.of(ROWS) {
        let victim = made.copy();
        let skipped = (row.act)(&victim);
        if skipped == victim::Act::NotPossibleHere {
            continue;
        }
        let found = victim.verify();
        if !found.iter().any(|found| found.kind == row.kind.word() && found.file.contains(row.file)) {
            unseen.push(format!("{}: {} of `{}` is expected, found {found:#?}", row.what, row.kind.word(), row.file));
        }
    }
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}

#[test]
fn there_are_two_hundred_manipulations_and_no_two_of_a_name() {
    let of_exports = exported::ROWS.iter().map(|row| row.what);
    let names: BTreeSet<_> = ROWS.iter().map(|row| row.what).chain(of_exports).collect();
    assert_eq!(names.len(), ROWS.len() + exported::ROWS.len());
    assert!(names.len() >= 200, "{} rows", names.len());
}

#[test]
fn the_first_fault_that_is_told_is_the_cause() {
    let made = Made::get();
    let causes = [
        ("a log is edited", FaultKind::FileChanged),
        ("a verdict is edited in the last line", FaultKind::LineSignature),
        ("a line gets a space", FaultKind::LineSignature),
        ("a line becomes unreadable", FaultKind::LineUnreadable),
        ("the ledger is put back by some lines", FaultKind::IndexAhead),
        ("the ledger is removed", FaultKind::LedgerMissing),
        ("a record of a key is removed", FaultKind::KeyMissing),
        ("a manifest is removed", FaultKind::ManifestMissing),
        ("a log, the manifest and the ledger are edited together", FaultKind::LineSignature),
    ];
    for (what, cause) in causes {
        let row = ROWS.iter().find(|row| row.what == what).expect("it is in the table");
        let victim = made.copy();
        (row.act)(&victim);
        let found = victim.verify();
        assert_eq!(found.first().map(|first| first.kind.as_str()), Some(cause.word()), "{what}: {found:#?}");
    }
}

#[test]
fn every_kind_of_fault_is_some_manipulation_s() {
    let of_exports = exported::ROWS.iter().map(|row| row.kind);
    let shown: BTreeSet<_> = ROWS.iter().map(|row| row.kind).chain(of_exports).collect();
    // These faults occur in exports of one file and in stores without signatures. The tests of `signatures`, `verify` and `keys` cover them.
    let of_others = [FaultKind::LinkReplaced, FaultKind::KeyHistoryMissing, FaultKind::ArchiveUnreadable];
    let elsewhere = [&[FaultKind::SignatureMissing, FaultKind::RunSuperseded][..], &of_others].concat();
    let of_pruning = [FaultKind::RunPruned, FaultKind::PruneWrong];
    // The tests of `anchor` cover the faults that are found by comparing with checkpoints outside of the store.
    let elsewhere = [elsewhere.as_slice(), crate::anchor::KINDS, &of_pruning].concat();
    let missing: Vec<_> = FaultKind::ALL.iter().filter(|kind| !shown.contains(kind) && !elsewhere.contains(kind)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Expects that `proctor verify` finds a fault in every copy. Each copy comes with a description of its change.
#[track_caller]
fn all_are_named(changes: Vec<(String, Victim)>) {
    assert!(!changes.is_empty());
    let unseen: Vec<_> = changes.into_iter().filter(|(_, victim)| victim.verify().is_empty()).map(|(what, _)| what).collect();
    assert!(unseen.is_empty(), "not seen:\n{}", unseen.join("\n"));
}
