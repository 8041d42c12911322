//! Keys are made once, kept private, and endorsed by the key before.

use super::*;
use crate::line_signature::sign_line;
use crate::testing::{TestStore, mode, now};
use crate::{FaultKind, Ledger, UnfinishedKind, VerificationScope, read_lines, read_signed_lines, verify_keys, verify_project};
use proctor_model::{LedgerBody, OverallStatus, Sequence};

#[test]
fn the_first_key_is_made_on_first_use_and_found_again() {
    let test = TestStore::new();
    assert!(find_signer(&test.store).unwrap().is_none());
    let first = find_or_make_signer(&test.store, now()).unwrap();
    let again = find_or_make_signer(&test.store, now()).unwrap();
    assert_eq!(first.public(), again.public());
    let directory = keys_directory(&test.store);
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&private_path(&test.store, first.public().id())), 0o600);
    assert_eq!(mode(&record_path(&test.store, 1)), 0o400);
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 2);
}

#[test]
fn of_two_first_keys_that_are_made_at_once_one_is_discarded() {
    let test = TestStore::new();
    make_key(&test.store, NewKey { number: 1, previous: None, made: now() }).unwrap();
    let first = find_signer(&test.store).unwrap().expect("it was made");
    make_key(&test.store, NewKey { number: 1, previous: None, made: now() }).unwrap();
    assert_eq!(find_signer(&test.store).unwrap().expect("it is there").public(), first.public());
    assert_eq!(std::fs::read_dir(keys_directory(&test.store)).unwrap().count(), 2, "nothing is left of the other");
}

#[test]
fn a_new_key_takes_over_after_the_line_it_names_and_is_endorsed() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    test.run(2, &[], OverallStatus::Success);
    assert!(rotate_key(&test.store, &[], Endorsement::ByThePreviousKey, now()).is_err(), "somebody may be signing");
    let lock = test.lock();
    let key = rotate_key(&test.store, std::slice::from_ref(&lock), Endorsement::ByThePreviousKey, now()).unwrap();
    assert_eq!((key.number(), key.took_over_after(&test.project).unwrap().sequence), (2, Sequence(2)));
    let told = read_lines(&test.store, &test.project, 0).unwrap().last().unwrap().unwrap().1;
    assert!(matches!(&told.body, LedgerBody::KeyReplaced(record) if record.key.number == 2), "the ledger tells of it");
    assert_eq!(told.sequence, Sequence(3));
    let ring = read_key_ring(&test.store).unwrap();
    assert_eq!(ring.missing_signatures(), vec![]);
    let key_number = |sequence| ring.key_for_line(&test.project, Sequence(sequence)).map(KnownKey::number);
    assert_eq!((key_number(1), key_number(2), key_number(3)), (Some(1), Some(1), Some(2)));
    let lost = rotate_key(&test.store, &[lock], Endorsement::PreviousKeyIsLost, now()).unwrap();
    let ring = read_key_ring(&test.store).unwrap();
    assert_eq!(
        ring.missing_signatures().into_iter().map(|(key, why)| (key.number(), why)).collect::<Vec<_>>(),
        [(lost.number(), ring::MissingKeySignature::Endorsement)]
    );
}

#[test]
fn a_key_is_in_use_until_the_next_one_is_made() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    let at = |seconds: i64| Timestamp::from_millis(now().as_millis() + 1_000 * seconds);
    let lock = test.lock();
    rotate_key(&test.store, &[lock], Endorsement::ByThePreviousKey, at(60)).unwrap();
    let ring = read_key_ring(&test.store).unwrap();
    let [first, second] = [ring.keys()[0].id(), ring.keys()[1].id()];
    let in_use = |id, seconds| ring.was_in_use(id, at(seconds));
    assert_eq!((in_use(first, -9), in_use(first, 59), in_use(first, 60), in_use(first, 99)), (true, true, false, false));
    // A run of before can be told to others by the new key.
    assert_eq!((in_use(second, 0), in_use(second, 99), in_use(Digest::of(b"another"), 0)), (true, true, false));
}

#[test]
fn lines_before_the_first_key_have_none() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    let ring = read_key_ring(&test.store).unwrap();
    assert_eq!(
        ring.key_for_line(&test.project, Sequence(1)).map(KnownKey::number),
        Some(1),
        "a new store is signed from its first line"
    );
    assert!(KeyRing::default().key_for_line(&test.project, Sequence(1)).is_none());
}

#[test]
fn a_damaged_key_is_named_and_not_replaced() {
    let test = TestStore::new();
    assert!(!can_endorse(&test.store).unwrap(), "there is no key yet");
    let first = find_or_make_signer(&test.store, now()).unwrap();
    assert!(can_endorse(&test.store).unwrap());
    let path = private_path(&test.store, first.public().id());
    std::fs::remove_file(&path).unwrap();
    let (_, mut ledger, _) = test.open();
    let gone = ledger.read_signing_key(now()).unwrap_err();
    assert!(matches!(gone, EvidenceError::Key { problem: KeyProblem::Gone, .. }), "{gone}");
    assert!(gone.hint().contains("key rotate --lost"), "{}", gone.hint());
    crate::testing::put(&path, Signer::from_seed(&[1; 32]).to_pem().as_bytes());
    assert!(!can_endorse(&test.store).unwrap(), "it is another key");
    let refused = find_or_make_signer(&test.store, now()).unwrap_err();
    assert!(matches!(refused, EvidenceError::Key { problem: KeyProblem::AnotherKey, .. }), "{refused}");
    assert!(!refused.hint().is_empty());
}

#[test]
fn the_key_is_not_replaced_while_a_ledger_is_damaged() {
    let test = TestStore::new();
    (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
    let path = test.store.ledger_path(&test.project);
    let sound = std::fs::read_to_string(&path).unwrap();
    let lock = test.lock();
    let replace = |endorsement| rotate_key(&test.store, std::slice::from_ref(&lock), endorsement, now());
    let last_cut = sound.trim_end().rsplit_once(',').unwrap().0.to_owned() + "\n";
    let middle_edited = sound.replacen("\"sequence\":2", "\"sequence\":9", 1);
    for damaged in [last_cut, middle_edited] {
        crate::testing::put(&path, damaged.as_bytes());
        for endorsement in [Endorsement::ByThePreviousKey, Endorsement::PreviousKeyIsLost] {
            let refused = replace(endorsement).unwrap_err();
            assert!(matches!(refused, EvidenceError::LedgerLine { .. }), "{refused}");
        }
        assert_eq!(std::fs::read_dir(keys_directory(&test.store)).unwrap().count(), 2, "nothing is written");
    }
    crate::testing::put(&path, sound.as_bytes());
    assert_eq!(replace(Endorsement::ByThePreviousKey).unwrap().number(), 2);
    assert!(read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap().all(|line| line.is_ok()));
}

/// Returns the text of the private half of the key in use.
fn private_text(test: &TestStore) -> String {
    let ring = read_key_ring(&test.store).unwrap();
    std::fs::read_to_string(private_path(&test.store, ring.current().unwrap().id())).unwrap()
}

fn rotate(test: &TestStore) {
    let lock = test.lock();
    rotate_key(&test.store, std::slice::from_ref(&lock), Endorsement::ByThePreviousKey, now()).unwrap();
}

/// Returns the kinds of the faults and of the unfinished work of a store.
fn verify(test: &TestStore) -> (Vec<(FaultKind, String)>, Vec<UnfinishedKind>) {
    let keys = verify_keys(&test.store).unwrap();
    let result = verify_project(&test.store, &test.project, &keys.ring, &VerificationScope::Everything, 1).unwrap();
    let faults = keys.faults.into_iter().chain(result.faults).map(|fault| (fault.kind, fault.detail)).collect();
    // The runs of these tests are sealed and never published.
    let unfinished = keys.unfinished.into_iter().chain(result.unfinished).map(|work| work.kind);
    (faults, unfinished.filter(|kind| *kind != UnfinishedKind::Run).collect())
}

#[test]
fn a_replaced_key_is_destroyed_and_its_lines_go_on_verifying() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    for number in 2..=4 {
        let private = private_path(&test.store, find_signer(&test.store).unwrap().unwrap().public().id());
        rotate(&test);
        assert!(!private.exists(), "key {number}");
        test.run(number, &[], OverallStatus::Success);
    }
    let ledger: Vec<_> = read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap().map(Result::unwrap).collect();
    assert_eq!(ledger.len(), 7, "a run, and for each new key a line and a run");
    assert_eq!(verify_keys(&test.store).unwrap().faults, vec![]);
}

#[test]
fn a_line_by_a_retired_key_is_refused_wherever_it_is_read() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    let retired = Signer::parse(&private_text(&test)).unwrap();
    rotate(&test);
    test.run(2, &[], OverallStatus::Success);
    let path = test.store.ledger_path(&test.project);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    let unsigned = format!("{}}}", last.rsplit_once(",\"signature\":\"").unwrap().0);
    let signature = sign_line(unsigned.as_bytes(), &retired);
    let forged = format!("{before}\n{},\"signature\":\"{signature}\"}}\n", unsigned.strip_suffix('}').unwrap());
    crate::testing::put(&path, forged.as_bytes());
    let (faults, _) = verify(&test);
    let named = faults.iter().find(|(kind, _)| *kind == FaultKind::LineSignature).expect("it is named");
    assert!(named.1.contains("was not in force at that line"), "{}", named.1);
    let mut read = read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap();
    assert!(read.any(|line| line.is_err()));
}

#[test]
fn a_rotation_that_died_after_its_commit_is_finished_by_the_next_writer() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    let (ledger_path, private) = (test.store.ledger_path(&test.project), private_text(&test));
    let before = std::fs::read(&ledger_path).unwrap();
    let retired = private_path(&test.store, find_signer(&test.store).unwrap().unwrap().public().id());
    rotate(&test);
    // The state at the moment of the commit: the new record is there, and nothing else was done.
    crate::testing::put(&ledger_path, &before);
    crate::testing::put(&retired, private.as_bytes());
    std::fs::set_permissions(&retired, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (_, unfinished) = verify(&test);
    assert_eq!(unfinished, [UnfinishedKind::RetiredKey, UnfinishedKind::KeyLine]);
    drop(Ledger::open(&test.lock()).unwrap());
    assert!(!retired.exists());
    let told = read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap().last().unwrap().unwrap().1;
    assert!(matches!(told.body, LedgerBody::KeyReplaced(_)));
    let (_, unfinished) = verify(&test);
    assert_eq!(unfinished, []);
    let length = std::fs::metadata(&ledger_path).unwrap().len();
    drop(Ledger::open(&test.lock()).unwrap());
    assert_eq!(std::fs::metadata(&ledger_path).unwrap().len(), length, "it is told once");
}

#[test]
fn a_project_that_only_the_key_records_know_is_named() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    rotate(&test);
    std::fs::remove_file(test.store.ledger_path(&test.project)).unwrap();
    std::fs::remove_dir_all(test.store.project_directory(&test.project)).unwrap();
    let ring = read_key_ring(&test.store).unwrap();
    assert_eq!(ring.known_projects().into_iter().collect::<Vec<_>>(), std::slice::from_ref(&test.project));
    let (faults, _) = verify(&test);
    assert!(matches!(&faults[..], [(FaultKind::LedgerMissing, _)]), "{faults:?}");
}

#[test]
fn no_line_is_dated_before_the_one_before_it() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    let lock = test.lock();
    let mut ledger = Ledger::open(&lock).unwrap();
    let body = LedgerBody::Serving(proctor_model::ServingRecord { serving: proctor_model::Serving::Served });
    let early = Timestamp::from_millis(0);
    let line = ledger.append(body, &crate::testing::asker(), early).unwrap();
    assert_eq!(line.time, now(), "the clock was set back");
}
