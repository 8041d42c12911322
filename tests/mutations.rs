//! The laboratory of mutations, `tests/mutations/`: its own tests. The laboratory itself runs by `python3 tests/mutations/run.py`.

use std::process::Command;

use crate::common::repository;

/// Among others: the choice of mutations is repeatable, and a program that is always green, or always red, in place of proctor is found out.
#[test]
fn the_laboratory_of_mutations_passes_its_own_tests() {
    let directory = repository().join("tests/mutations");
    let output = Command::new("python3").args(["-B", "-m", "unittest"]).current_dir(directory).output();
    let output = output.expect("python3 is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Ran ") && !said.contains("Ran 0 tests"), "{said}");
}
