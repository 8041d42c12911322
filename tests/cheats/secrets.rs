//! Tests what happens to secrets that a command prints: no report or screen shows such a secret. Only the exact logs
//! contain it, and only the user can read these logs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::cheats::{notes, pytest};

/// Returns a made-up token. It is put together from pieces, so that tools that search for tokens do not report this file.
fn token() -> String {
    ["ghp", "_", "abcdefghijklmnopqrstuvwxyz0123456789"].concat()
}

#[test]
fn a_token_that_is_printed_is_in_no_file_but_the_exact_ones() {
    let token = token();
    let tests = format!("def test_it():\n    print('key: {token}')\n    assert '{token}' == ''\n");
    let project = pytest("", "").file("test_a.py", &tests);
    let output = project.proctor(["run"]).failure();
    assert!(!output.stdout.contains(&token) && !output.stderr.contains(&token), "{}", output.snapshot());
    let report = output.report();
    let said = notes(&report);
    assert!(said.contains("held what looks like a secret") && said.contains("STEP.1-pytest.log"), "{said}");
    assert!(report.to_string().contains("[redacted: github token]"));
    let exact = ["STEP.1-pytest.log", "STEP.1-junit.xml"];
    for entry in fs::read_dir(output.run_directory()).expect("a run").flatten() {
        let (name, text) = (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("it is ours"));
        let holds = String::from_utf8_lossy(&text).contains(&token);
        assert_eq!(holds, exact.contains(&name.as_str()), "{name}");
        let mode = entry.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its user alone");
    }
    let log = project.root().join("state/proctor/log");
    for entry in fs::read_dir(log).into_iter().flatten().flatten() {
        assert!(!fs::read_to_string(entry.path()).expect("text").contains(&token), "proctor's own log");
    }
    let ledger: String = output.ledger().iter().map(ToString::to_string).collect();
    assert!(!ledger.contains(&token));
}

#[test]
fn values_of_variables_are_in_evidence_only_by_a_list() {
    let project = pytest("", "[environment]\npass_environment = [\"DATABASE_URL\"]\nenv_file = \".env.test\"\n");
    let project =
        project.file("test_a.py", "def test_it():\n    pass\n").file(".env.test", "API_SECRET=hush-hush-1\nMODE=hush-hush-2\n");
    let project = project.env("DATABASE_URL", "hush-hush-3");
    let output = project.proctor(["run"]).success();
    for entry in fs::read_dir(output.run_directory()).expect("a run").flatten() {
        let text = fs::read(entry.path()).expect("it is ours");
        assert!(!String::from_utf8_lossy(&text).contains("hush-hush"), "{:?}", entry.file_name());
    }
    assert!(output.report()["environment"]["names"].to_string().contains("API_SECRET"));
}

#[test]
fn a_broken_file_of_variables_is_named_without_what_stands_in_it() {
    let project = pytest("", "[environment]\nenv_file = \".env.test\"\n").file("test_a.py", "def test_it():\n    pass\n");
    for text in ["MODE=1\nhush-hush and no sign\n", "hush hush=abc\n"] {
        project.save(".env.test", text);
        let refused = project.proctor(["run"]).status(4);
        assert!(refused.stderr.contains(".env.test:") && !refused.stderr.contains("hush"), "{}", refused.snapshot());
    }
}
