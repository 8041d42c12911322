//! `proctor attest --accept-changes`: a commit that asks for less than the trusted one is not accepted until somebody whose key the trusted
//! commit names has accepted that, and then for this content beside this trusted commit alone.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CHECKS, FETCH, NOTES, clone_of, commit, gate, git, path_text, tested};
use crate::common::{Output, Project};

/// Another `[gate]` than the trusted one has.
const CHANGED: &str = "[gate]\nsigners = \"allowed_signers\"\nmax_age = \"9000h\"\n";

fn own_gate(project: &Project, status: i32) -> Value {
    project.proctor(["gate", "--json"]).status(status).json()
}

/// Accepts at a terminal, by typing the beginning of the commit's name or something else.
#[track_caller]
fn accepts(project: &Project, arguments: &[&str], typed: Option<&str>) -> Output {
    let all = ["attest", "--accept-changes"].iter().chain(arguments);
    let mut terminal = project.proctor(all).at_terminal();
    terminal.wait_for("to accept that for this content: ", Duration::from_secs(30));
    let name = git(project, &["rev-parse", "HEAD"]).stdout[..8].to_owned();
    terminal.press(&format!("{}\n", typed.unwrap_or(&name)));
    terminal.ended()
}

#[test]
#[ignore = "long tier"]
fn a_commit_that_changes_how_it_is_judged_is_not_accepted_until_a_signer_of_before_accepts_it() {
    let (one, origin) = tested(CHECKS);
    git(&one, &["switch", "--quiet", "--create", "feature", "--track", "origin/main"]);
    commit(&one, "proctor.toml", &format!("{CHECKS}{CHANGED}"));
    one.proctor(["run"]).success();
    let answer = own_gate(&one, 3);
    assert_eq!((&answer["lowered"], &answer["accepted"]), (&json!(["gate.max_age"]), &json!([])));
    assert!(answer["next"].to_string().contains("proctor attest HEAD --accept-changes"), "{answer}");
    assert!(one.proctor(["attest"]).status(3).stderr.contains("nothing was attested"));
    // A person accepts, and nobody else.
    let nobody = one.proctor(["attest", "--accept-changes"]).status(3);
    assert!(nobody.stderr.contains("asks for less than the trusted") && nobody.stderr.contains("gate"), "{}", nobody.stderr);
    assert_eq!(accepts(&one, &[], Some("yes")).status, 3);
    own_gate(&one, 3);
    let bundle = path_text(&one.shared("bundle.json"));
    let accepted = accepts(&one, &["--bundle", &bundle], None);
    assert_eq!(accepted.status, 0, "{}", accepted.stdout);
    let answer = own_gate(&one, 0);
    assert_eq!((&answer["lowered"], &answer["accepted"][0]["changes"]), (&json!([]), &json!(["gate.max_age"])));
    assert!(one.proctor(["gate"]).success().stdout.contains("accepted what it changes of the trusted one: gate.max_age"));
    one.proctor(["attest"]).success();
    // Others believe it, from the notes and from the bundle.
    git(&one, &["push", "--quiet", "origin", "feature", NOTES]);
    let other = clone_of(&origin);
    git(&other, &["switch", "--quiet", "feature"]);
    other.proctor(["gate", "--policy-from", "origin/main", "--from-bundle", &bundle]).success();
    gate(&other, 3);
    git(&other, &["fetch", "--quiet", "origin", FETCH]);
    let answer = gate(&other, 0);
    assert_eq!(answer["accepted"][0]["changes"], json!(["gate.max_age"]), "{answer}");
    // Another content, or another trusted commit, was not accepted.
    commit(&other, "more.txt", "more\n");
    assert_eq!(gate(&other, 3)["lowered"], json!(["gate.max_age"]));
    git(&one, &["switch", "--quiet", "main"]);
    commit(&one, "more.txt", "other\n");
    git(&one, &["push", "--quiet", "origin", "main"]);
    git(&one, &["switch", "--quiet", "feature"]);
    own_gate(&one, 3);
}

#[test]
fn whoever_the_trusted_commit_does_not_name_cannot_accept() {
    let (_one, origin) = tested(CHECKS);
    let other = clone_of(&origin);
    git(&other, &["switch", "--quiet", "--create", "feature", "--track", "origin/main"]);
    other.proctor(["run"]).success();
    // Naming one's own key is such a change itself.
    let key = other.proctor(["key", "export", "--ssh"]).success().stdout;
    commit(&other, "allowed_signers", &key);
    other.proctor(["run"]).success();
    assert_eq!(own_gate(&other, 3)["lowered"], json!(["gate.signers: `allowed_signers`"]));
    let refused = other.proctor(["attest", "--accept-changes"]).status(3).stderr;
    assert!(refused.contains("does not name key"), "{refused}");
    // Where nothing is changed, there is nothing to accept.
    git(&other, &["switch", "--quiet", "--detach", "origin/main"]);
    let nothing = other.proctor(["attest", "--accept-changes"]).any_status().stderr;
    assert!(nothing.contains("there is nothing to accept"), "{nothing}");
}

#[test]
fn an_answer_about_a_changed_file_holds_for_its_contents_and_does_not_come_back_after_a_rebase() {
    let (one, origin) = tested(CHECKS);
    commit(&one, "ruff.toml", "[lint]\nselect = [\"E\", \"F\"]\n");
    git(&one, &["push", "--quiet", "origin", "main"]);
    git(&one, &["switch", "--quiet", "--create", "feature", "--track", "origin/main"]);
    commit(&one, "ruff.toml", "[lint]\nselect = [\"E\"]\n");
    one.proctor(["run"]).success();
    own_gate(&one, 3);
    let bundle = path_text(&one.shared("bundle.json"));
    assert_eq!(accepts(&one, &["--bundle", &bundle], None).status, 0);
    assert!(own_gate(&one, 0)["accepted"][0]["changes"].to_string().contains("lint.select"));
    // The trusted branch moves on, and the commit with it.
    git(&one, &["switch", "--quiet", "main"]);
    commit(&one, "more.txt", "more\n");
    git(&one, &["push", "--quiet", "origin", "main"]);
    git(&one, &["switch", "--quiet", "feature"]);
    git(&one, &["rebase", "--quiet", "origin/main"]);
    one.proctor(["run"]).success();
    assert_eq!(own_gate(&one, 0)["lowered"], json!([]));
    // Others believe it too, from the notes and from the bundle.
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", "feature", NOTES]);
    let other = clone_of(&origin);
    git(&other, &["switch", "--quiet", "feature"]);
    other.proctor(["run"]).success();
    own_gate(&other, 3);
    other.proctor(["gate", "--from-bundle", &bundle]).success();
    git(&other, &["fetch", "--quiet", "origin", FETCH]);
    own_gate(&other, 0);
    // Another content was not accepted.
    commit(&one, "ruff.toml", "[lint]\nselect = []\n");
    one.proctor(["run"]).success();
    assert!(own_gate(&one, 3)["lowered"].to_string().contains("lint.select"));
}

#[test]
fn whoever_attests_with_a_key_that_no_trusted_list_names_is_told_so() {
    let (one, origin) = tested(CHECKS);
    assert!(!one.proctor(["attest"]).success().stderr.contains("no trusted list of signers"));
    let other = clone_of(&origin);
    other.proctor(["run"]).success();
    let told = other.proctor(["attest"]).success().stderr;
    assert!(told.contains("no trusted list of signers has this key") && told.contains("allowed_signers"), "{told}");
}
