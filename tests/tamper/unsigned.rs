//! Runs from before proctor had signatures are accepted as unsigned. Removing the signatures from signed runs is a fault.

use std::fs;

use crate::tamper::victim::{Made, Victim, entries};

/// Turns a store into one from before proctor had signatures: without keys and without signatures.
fn made_before_signatures(victim: &Victim) {
    fs::remove_dir_all(victim.root().join("keys")).expect("ours");
    // No key was replaced before there were keys. The numbers of the lines behind the one about it are one less then.
    let mut lines = victim.lines();
    let replaced = lines.iter().position(|line| line.contains("\"kind\":\"keyReplaced\"")).expect("the key was replaced");
    lines.remove(replaced);
    for (at, line) in lines.iter_mut().enumerate().skip(replaced) {
        *line = line.replacen(&format!("\"sequence\":{}", at + 2), &format!("\"sequence\":{}", at + 1), 1);
    }
    victim.write_lines(&lines);
    victim.chain_again();
    take_signatures_away(victim);
}

fn take_signatures_away(victim: &Victim) {
    let unsigned =
        victim.lines().into_iter().map(|line| format!("{}}}", line.rsplit_once(",\"signature\"").expect("it is signed").0));
    let unsigned: Vec<String> = unsigned.collect();
    victim.write_lines(&unsigned);
    for (position, run) in entries(&victim.task().join("runs")).iter().enumerate() {
        for file in entries(run) {
            let name = file.file_name().expect("it has a name").to_string_lossy().into_owned();
            // What an interrupted run left is evidence of that run, whatever it was meant to be.
            let is_left = name.starts_with("recovered-");
            if !is_left && (name.ends_with(".sig") || name.ends_with(".intoto.jsonl")) {
                fs::remove_file(&file).expect("ours");
                let beside = victim.task().join(file.file_name().expect("it has a name"));
                let _other_run = fs::remove_file(beside);
            }
        }
        victim.seal_again(position);
    }
    // The index still has the hashes of the old manifests and the offsets of the old lines. It is removed, so that it is rebuilt.
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _none = fs::remove_file(victim.root().join(name));
    }
}

#[test]
fn runs_of_before_signatures_are_told_as_unsigned_and_are_no_fault() {
    let made = Made::get();
    let victim = made.copy();
    made_before_signatures(&victim);
    assert_eq!(victim.verify(), vec![]);
    assert_eq!(victim.unsigned(), 5);
    made.run_in(&victim);
    assert_eq!(victim.verify(), vec![], "what was there before the first key is left as it is");
    assert_eq!(victim.unsigned(), 5);
    assert!(victim.run(5).join("execution-report.json.sig").exists());
}

#[test]
fn signatures_that_are_taken_away_are_missed() {
    let victim = Made::get().copy();
    take_signatures_away(&victim);
    let found = victim.verify();
    for kind in ["lineUnsigned", "signatureMissing", "keyPosition"] {
        assert!(found.iter().any(|found| found.kind == kind), "{kind}: {found:#?}");
    }
}
