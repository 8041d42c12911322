//! `proctor attest`, and `proctor gate --from-notes` in a clone of somebody else with another store: what they say of notes that are right,
//! changed, foreign, weaker, too old, about another tree, or made to harm.

mod accepted_changes;
mod repository;

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proctor_evidence::CommitClaim;
use serde_json::{Value, json};

use crate::common::{Output, Project, fake_tool, poll, python_attestations, python_plain};

pub(crate) const CHECKS: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n\
    [[check]]\nname = \"there\"\ncommand = [\"cat\", \"proctor.toml\"]\n";
pub(crate) const SIGNERS: &str = "[gate]\nsigners = \"allowed_signers\"\n";
pub(crate) const NOTES: &str = "refs/notes/proctor-attest";
pub(crate) const FETCH: &str = "+refs/notes/proctor-attest:refs/notes/proctor-attest-fetched";

/// Reads statements as strictly as their definitions allow: a key that is not in them is an error.
const STRICT: &str = r#"
import base64, json, sys
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.predicates.vsa.v1 import vsa_pb2

PREDICATES = {
    "https://in-toto.io/attestation/test-result/v0.1": test_result_pb2.TestResult,
    "https://slsa.dev/verification_summary/v1": vsa_pb2.VerificationSummary,
    "https://slsa.dev/provenance/v1": provenance_pb2.Provenance,
}
for line in filter(str.strip, open(sys.argv[1], encoding="utf-8")):
    envelope = json.loads(line)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"], validate=True)
    statement = json_format.Parse(payload, statement_pb2.Statement())
    Statement.copy_from_pb(statement).validate()
    predicate = json.loads(payload)["predicate"]
    if "verifiedLevels" in predicate:
        # SLSA defines a list. This version of the package has one text in its place.
        [predicate["verifiedLevels"]] = predicate["verifiedLevels"]
    json_format.Parse(json.dumps(predicate), PREDICATES[statement.predicate_type]())
    print(statement.predicate_type)
"#;

#[track_caller]
pub(crate) fn git(project: &Project, arguments: &[&str]) -> Output {
    run_git(project, arguments).success()
}

pub(crate) fn run_git<'p>(project: &'p Project, arguments: &[&str]) -> crate::common::Invocation<'p> {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    project.command(Path::new("git"), identity.iter().chain(arguments))
}

pub(crate) fn commit(project: &Project, file: &str, text: &str) {
    project.save(file, text);
    git(project, &["add", "."]);
    git(project, &["commit", "--quiet", "-m", "a change"]);
}

pub(crate) fn path_text(path: &Path) -> String {
    path.to_str().expect("a temporary path is text").to_owned()
}

/// Makes a repository with the checks, whose trusted branch names the store's own key as a signer. Its commit was run, and is in the bare
/// repository `origin` too.
pub(crate) fn tested(checks: &str) -> (Project, String) {
    // Without isolation the world is open, which the trusted commit has to accept.
    let world = if checks.contains("mode = \"off\"") { "world = \"open\"\n" } else { "" };
    let project = Project::new().with_program(fake_tool()).toml(&format!("{checks}{SIGNERS}{world}"));
    git(&project, &["init", "--quiet"]);
    // The first run makes the key.
    project.proctor(["run"]).any_status();
    let key = project.proctor(["key", "export", "--ssh"]).success().stdout;
    commit(&project, "allowed_signers", &key);
    project.proctor(["run"]).any_status();
    let origin = path_text(&project.shared("origin"));
    git(&project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(&project, &["remote", "add", "origin", &origin]);
    git(&project, &["fetch", "--quiet", "origin"]);
    git(&project, &["branch", "--quiet", "--set-upstream-to=origin/main"]);
    (project, origin)
}

pub(crate) fn clone_of(origin: &str) -> Project {
    let project = Project::new().with_program(fake_tool());
    git(&project, &["clone", "--quiet", origin, "."]);
    project
}

fn tree_of(project: &Project) -> String {
    git(project, &["rev-parse", "HEAD^{tree}"]).stdout.trim().to_owned()
}

pub(crate) fn note_of(project: &Project) -> String {
    git(project, &["notes", "--ref", NOTES, "show", &tree_of(project)]).stdout
}

/// Replaces the note of the tree that is checked out.
pub(crate) fn put_note(project: &Project, text: &[u8]) {
    let path = project.shared("note");
    fs::write(&path, text).expect("it is ours");
    let blob = git(project, &["hash-object", "-w", &path_text(&path)]).stdout;
    git(project, &["notes", "--ref", NOTES, "add", "--force", "--reuse-message", blob.trim(), &tree_of(project)]);
}

#[track_caller]
pub(crate) fn gate_with(project: &Project, arguments: &[&str], status: i32) -> Value {
    let all = ["gate", "--from-notes", "--json"].iter().chain(arguments);
    project.proctor(all).status(status).json()
}

#[track_caller]
fn gate(project: &Project, status: i32) -> Value {
    gate_with(project, &[], status)
}

/// Returns the words of the attestations that were refused.
pub(crate) fn words(document: &Value) -> Vec<&str> {
    let refused = document["refusedAttestations"].as_array().expect("a list");
    refused.iter().map(|one| one["word"].as_str().expect("a word")).collect()
}

#[test]
fn a_clone_that_ran_nothing_is_proved_by_what_a_trusted_key_attests() {
    let (one, origin) = tested(CHECKS);
    let statements = one.proctor(["attest", "--dry-run"]).success().json();
    let claim = &statements[0];
    assert_eq!(claim["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
    assert_eq!(claim["predicate"]["passedTests"], json!(["STEP.1 says", "STEP.2 there"]));
    assert_eq!(claim["subject"][0]["digest"]["gitTree"], tree_of(&one));
    let digest = one.proctor(["generate", "tree"]).success().stdout;
    assert_eq!(claim["subject"][1]["digest"]["sha256"], digest.trim());
    assert_eq!(claim["subject"].as_array().map(Vec::len), Some(2), "no commit is named");
    let named = one.proctor(["attest", "HEAD", "--dry-run"]).success().json();
    let head = git(&one, &["rev-parse", "HEAD"]).stdout;
    assert_eq!(named[0]["subject"][2]["digest"]["gitCommit"], head.trim());
    assert_eq!(statements[1]["predicateType"], "https://slsa.dev/verification_summary/v1");
    assert_eq!(statements[1]["subject"], claim["subject"]);
    assert_eq!(statements[1]["predicate"]["verificationResult"], "PASSED");
    assert!(
        run_git(&one, &["notes", "--ref", NOTES, "show", &tree_of(&one)]).any_status().status != 0,
        "a dry run writes nothing"
    );

    let bundle = path_text(&one.shared("bundle.json"));
    let said = one.proctor(["attest", "--bundle", &bundle]).success().stdout;
    assert!(said.contains(&format!("git push origin {NOTES}")) && said.contains(&format!("git fetch origin {FETCH}")), "{said}");
    let note = note_of(&one);
    let written: Value = serde_json::from_str(&fs::read_to_string(&bundle).expect("it was written")).expect("one document");
    let lines: Vec<Value> = note.lines().map(|line| serde_json::from_str(line).expect("an envelope")).collect();
    assert_eq!(written["envelopes"], Value::from(lines));
    assert!(one.proctor(["attest", "--bundle", &bundle]).status(2).stderr.contains("is there already"));
    git(&one, &["fsck", "--strict", "--full"]);
    let file = path_text(&one.shared("note.jsonl"));
    fs::write(&file, &note).expect("it is ours");
    let read = one.command(&python_attestations(), ["-c", STRICT, &file]).success().stdout;
    assert_eq!(read.lines().count(), 2, "{read}");

    let two = clone_of(&origin);
    assert_eq!(gate(&two, 5)["state"], "not-tested", "the notes are not there yet");
    git(&one, &["push", "--quiet", "origin", NOTES]);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    let proved = gate(&two, 0);
    assert_eq!((proved["state"].as_str(), words(&proved)), (Some("proved"), Vec::new()));
    two.proctor(["gate"]).status(5);
    // The content decides, however the commit came to be.
    git(&two, &["commit", "--quiet", "--amend", "-m", "another message"]);
    gate(&two, 0);
    git(&two, &["checkout", "--quiet", "--orphan", "squashed"]);
    git(&two, &["commit", "--quiet", "-m", "everything at once"]);
    gate_with(&two, &["--policy-from", "origin/main"], 0);
    git(&two, &["checkout", "--quiet", "main"]);
    commit(&two, "new", "untested");
    assert_eq!(gate(&two, 5)["state"], "not-tested");
    git(&two, &["revert", "--no-edit", "HEAD"]);
    git(&two, &["rebase", "--quiet", "--force-rebase", "HEAD~2"]);
    gate(&two, 0);
    // Attesting again adds nothing, and another run adds its claim and a summary.
    assert!(one.proctor(["attest"]).success().stdout.starts_with("attested before · "));
    assert_eq!(note_of(&one), note);
    one.proctor(["run"]).success();
    one.proctor(["attest"]).success();
    assert_eq!(note_of(&one).lines().count(), 4);
}

#[test]
fn a_statement_that_this_version_of_the_format_has_is_read_by_every_later_proctor() {
    let statement = include_bytes!("../fuzz/seeds/attestation/statement");
    let claim = CommitClaim::parse(statement).expect("the format did not change without another name");
    assert_eq!(claim.claim.task.as_str(), "default");
    assert_eq!(claim.passed, ["STEP.1 unit", "STEP.2 types"]);
}

#[test]
fn a_tree_for_which_nothing_is_proved_is_not_attested() {
    let project = Project::new().toml("[[check]]\nname = \"good\"\ncommand = [\"grep\", \"-q\", \"good\", \"shop.txt\"]\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "bad");
    let refused = project.proctor(["attest"]).status(5);
    assert!(refused.stdout.starts_with("not tested · ") && refused.stderr.contains("nothing was attested"), "{}", refused.stdout);
    assert!(git(&project, &["for-each-ref", "refs/notes"]).stdout.is_empty());
}

#[test]
fn a_failure_is_attested_and_outweighs_what_passed_before() {
    let checks = |state: &str| {
        format!("[[check]]\nname = \"outside\"\ncommand = [\"grep\", \"-q\", \"good\", \"{state}\"]\n[sandbox]\nmode = \"off\"\n")
    };
    let outside = Project::new();
    let state = outside.shared("state");
    fs::write(&state, "good").expect("it is ours");
    let (one, origin) = tested(&checks(&path_text(&state)));
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    let two = clone_of(&origin);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    gate(&two, 0);
    fs::write(&state, "bad").expect("it is ours");
    one.proctor(["run"]).failure();
    let told = one.proctor(["attest", "--dry-run"]).status(1).json();
    assert_eq!(told.as_array().map(Vec::len), Some(1), "no summary says that it passed: {told}");
    assert_eq!(
        (&told[0]["predicate"]["result"], &told[0]["predicate"]["failedTests"]),
        (&json!("FAILED"), &json!(["STEP.1 outside"]))
    );
    let said = one.proctor(["attest"]).status(1);
    assert!(said.stdout.starts_with("red · ") && said.stdout.contains("attested · refs/"), "{}", said.stdout);
    assert!(said.stderr.contains("the failure was attested"), "{}", said.stderr);
    git(&one, &["push", "--quiet", "origin", NOTES]);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    assert_eq!(gate(&two, 1)["state"], "red");
    fs::write(&state, "good").expect("it is ours");
    one.proctor(["run"]).success();
    // What failed and passed on one content has to pass three times in a row.
    one.proctor(["attest"]).status(3);
    (0..2).for_each(|_| drop(one.proctor(["run"]).success()));
    let told = one.proctor(["attest", "--dry-run"]).success().json();
    let flipped = &told[0]["predicate"]["configuration"][0]["annotations"]["flipped"];
    assert_eq!(flipped, &json!([{ "check": "outside", "failedRuns": 1, "passedRuns": 3 }]), "{told}");
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    gate(&two, 0);
}

#[test]
fn checks_that_others_could_not_tell_apart_are_not_attested() {
    let check = |name: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"fake-tool --stdout said\"\n");
    let project = Project::new().with_program(fake_tool()).toml(&[check("reads /srv/one"), check("reads /srv/two")].concat());
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good");
    project.proctor(["run"]).success();
    let refused = project.proctor(["attest"]).status(5).stderr;
    assert!(refused.contains("`reads /srv/one` and `reads /srv/two`") && refused.contains("rename one of them"), "{refused}");
    assert!(git(&project, &["for-each-ref", "refs/notes"]).stdout.is_empty());
}

#[test]
#[ignore = "long tier"]
fn notes_that_are_made_to_take_time_are_read_to_a_limit() {
    let (one, origin) = tested(CHECKS);
    one.proctor(["attest"]).success();
    let note = note_of(&one);
    let two = clone_of(&origin);
    put_note(&two, &[&b"x\n".repeat(7 << 20)[..], note.as_bytes()].concat());
    assert_eq!(words(&gate(&two, 5)), ["unknown-format", "too-large"]);
    let different: String = (0..100_000).map(|number| format!("{number}\n")).collect();
    put_note(&two, &[different.as_bytes(), note.as_bytes()].concat());
    assert_eq!(words(&gate(&two, 5)), ["unknown-format", "too-large"]);
    // A note at each level of the tree, of which the last one has the claim.
    let tree = tree_of(&two);
    for (place, letter) in ["a", "b", "c"].into_iter().enumerate() {
        let line = format!("{}\n", letter.repeat(3 << 20));
        let lines: String = (0..4).map(|number| format!("{number}{line}")).collect();
        let text = if place == 2 { format!("{note}{lines}") } else { lines };
        fs::write(two.shared(letter), text).expect("it is ours");
    }
    let (first, second, rest) = (&tree[..2], &tree[2..4], &tree[4..]);
    let shared = path_text(&two.shared(""));
    let script = format!(
        "cd '{}'; A=$(git hash-object -w '{shared}/a'); B=$(git hash-object -w '{shared}/b'); C=$(git hash-object -w '{shared}/c')\n\
         L=$(printf '100644 blob %s\\t{rest}\\n' $C | git mktree)\n\
         M=$(printf '040000 tree %s\\t{second}\\n100644 blob %s\\t{second}{rest}\\n' $L $B | git mktree)\n\
         N=$(printf '040000 tree %s\\t{first}\\n100644 blob %s\\t{tree}\\n' $M $A | git mktree)\n\
         git update-ref {NOTES} $(git -c user.name=a -c user.email=a@example.org commit-tree -m odd $N)",
        path_text(&two.path())
    );
    two.command(Path::new("/bin/sh"), ["-euc", &script]).success();
    assert_eq!(words(&gate(&two, 5)), ["unknown-format", "too-large"]);
    // Fetched entries are counted whatever they are called.
    let script = format!(
        "B=$(git rev-parse HEAD:proctor.toml)\n\
         N=$(seq 200001 | sed \"s/.*/100644 blob $B\\tz&/\" | git mktree)\n\
         git update-ref -d {NOTES}\n\
         git update-ref {NOTES}-fetched $(git -c user.name=a -c user.email=a@example.org commit-tree -m odd $N)"
    );
    two.command(Path::new("/bin/sh"), ["-euc", &script]).success();
    two.proctor(["run"]).success();
    let refused = two.proctor(["attest"]).status(2).stderr;
    assert!(refused.contains("more entries or bytes than are united"), "{refused}");
}

#[test]
#[ignore = "long tier"]
fn lines_that_are_in_a_note_are_not_lost() {
    let (one, _) = tested(CHECKS);
    // What is no envelope makes way.
    put_note(&one, &[b'x'; (16 << 20) - 9]);
    one.proctor(["attest"]).success();
    let note = note_of(&one);
    assert_eq!(note.lines().count(), 2);
    let envelope: Value = serde_json::from_str(note.lines().next().expect("the claim")).expect("an envelope");
    let mut long = envelope.clone();
    long["payload"] = "A".repeat((16 << 20) - 1000).into();
    let damaged = vec![b'x'; 17 << 20];
    for (there, why) in [(long.to_string().into_bytes(), "more than 16 MiB"), (damaged, "more than 16 MiB")] {
        put_note(&one, &there);
        let refused = one.proctor(["attest"]).status(2).stderr;
        assert!(refused.contains(&tree_of(&one)) && refused.contains(why), "{refused}");
        assert!(refused.contains("git notes --ref=proctor-attest remove"), "{refused}");
        assert_eq!(note_of(&one).trim_end().len(), there.len(), "the note is as it was");
    }
    git(&one, &["notes", "--ref=proctor-attest", "remove", &tree_of(&one)]);
    one.proctor(["attest"]).success();
    assert_eq!(note_of(&one).lines().next(), note.lines().next());
}

#[test]
#[ignore = "long tier"]
fn notes_of_others_stay_as_they_are_when_they_are_united() {
    let (one, origin) = tested(CHECKS);
    let two = clone_of(&origin);
    let text = "hello  \n\nworld\nworld\n";
    fs::write(two.shared("text"), text).expect("it is ours");
    fs::write(two.shared("long"), vec![b'x'; 18 << 20]).expect("it is ours");
    let (tree, shared) = (tree_of(&two), path_text(&two.shared("")));
    let script = format!(
        "T=$(git hash-object -w '{shared}/text'); L=$(git hash-object -w '{shared}/long')\n\
         N=$(printf '100644 blob %s\\tREADME\\n100755 blob %s\\t{0}\\n100644 blob %s\\t{1}\\n100644 blob %s\\t{tree}\\n' \
         $T $T $L $T | git mktree)\n\
         git update-ref {NOTES} $(git -c user.name=a -c user.email=a@example.org commit-tree -m odd $N)",
        "1".repeat(40),
        "2".repeat(40)
    );
    two.command(Path::new("/bin/sh"), ["-euc", &script]).success();
    git(&two, &["push", "--quiet", "origin", NOTES]);
    git(&one, &["fetch", "--quiet", "origin", FETCH]);
    let listed = |reference: &str| git(&one, &["ls-tree", reference]).stdout;
    let is_other = |line: &&str| !line.ends_with(&tree);
    let before: Vec<String> = listed(&format!("{NOTES}-fetched")).lines().filter(is_other).map(str::to_owned).collect();
    assert_eq!(before.len(), 3);
    one.proctor(["attest"]).success();
    let after: Vec<String> = listed(NOTES).lines().filter(is_other).map(str::to_owned).collect();
    assert_eq!(after, before);
    let shown = git(&one, &["cat-file", "blob", &format!("{NOTES}:{tree}")]).stdout;
    assert!(shown.ends_with(text) && shown.lines().count() == 6, "{shown}");
    // Uniting the same text again does not repeat it.
    two.command(Path::new("/bin/sh"), ["-euc", &script.replace("-m odd", "-m again")]).success();
    git(&two, &["push", "--quiet", "--force", "origin", NOTES]);
    git(&one, &["fetch", "--quiet", "origin", FETCH]);
    one.proctor(["attest"]).success();
    assert_eq!(git(&one, &["cat-file", "blob", &format!("{NOTES}:{tree}")]).stdout, shown);
    // A fetched note about the same content that cannot be read is not thrown away.
    two.command(Path::new("/bin/sh"), ["-euc", &script.replace("$T $T $L $T", "$T $T $L $L")]).success();
    git(&two, &["push", "--quiet", "--force", "origin", NOTES]);
    git(&one, &["fetch", "--quiet", "origin", FETCH]);
    assert!(one.proctor(["attest"]).status(2).stderr.contains("more than 16 MiB"));
}

#[test]
fn what_is_missing_to_believe_others_is_named() {
    let (one, origin) = tested(CHECKS);
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    let two = clone_of(&origin);
    let asked = |arguments: &[&str]| two.proctor(["gate", "--from-notes"].iter().chain(arguments)).any_status().stdout;
    let said = asked(&[]);
    assert!(said.contains(&format!("git fetch origin {FETCH}")) && !said.contains("key export"), "{said}");
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    let trusting = two.shared("policy.toml");
    fs::write(&trusting, "[gate]\n").expect("it is ours");
    let said = asked(&["--policy-from", &path_text(&trusting)]);
    assert!(said.contains("(foreign)") && said.contains("proctor key export --ssh") && !said.contains("git fetch"), "{said}");
    // With a file that a person names, only its keys count, and not those of the own store.
    let (three, _) = tested(CHECKS);
    let other = one.shared("other");
    fs::write(&other, three.proctor(["key", "export", "--ssh"]).success().stdout).expect("it is ours");
    assert_eq!(words(&gate(&one, 0)), Vec::<&str>::new());
    assert_eq!(words(&gate_with(&one, &["--signers", &path_text(&other)], 0)), ["foreign"], "the own run proves it all the same");
}

#[test]
#[ignore = "long tier"]
fn tampered_foreign_and_displaced_notes_prove_nothing() {
    let (one, origin) = tested(CHECKS);
    one.proctor(["attest"]).success();
    let note = note_of(&one);
    let two = clone_of(&origin);
    #[track_caller]
    fn refused(two: &Project, note: &[u8], word: &str) {
        put_note(two, note);
        // What is no statement of anybody does not change the answer.
        let is_statement = !["unknown-format", "too-large"].contains(&word);
        let (status, state) = if is_statement { (3, "not-accepted") } else { (5, "not-tested") };
        let document = gate(two, status);
        assert_eq!((document["state"].as_str(), words(&document)), (Some(state), vec![word]), "{document}");
    }
    put_note(&two, note.as_bytes());
    gate(&two, 0);
    let claim = note.lines().next().expect("the claim");
    let mut envelope: Value = serde_json::from_str(claim).expect("an envelope");
    let payload = STANDARD.decode(envelope["payload"].as_str().expect("text")).expect("base64");
    let text = String::from_utf8(payload).expect("a statement");
    for (from, to) in [("says", "sung"), ("\"passed\"", "\"failed\""), (tree_of(&two).as_str(), "0".repeat(40).as_str())] {
        assert!(text.contains(from), "{text}");
        envelope["payload"] = STANDARD.encode(text.replace(from, to)).into();
        refused(&two, envelope.to_string().as_bytes(), "tampered");
    }
    refused(&two, b"{}\nnonsense\n", "unknown-format");
    refused(&two, &vec![b'x'; 17 << 20], "too-large");
    refused(&two, &[&b"["[..]].concat().repeat(1 << 20), "unknown-format");
    // Somebody else's key, which nobody trusts. Beside the right one it takes nothing away.
    let (three, _) = tested(CHECKS);
    three.proctor(["attest"]).success();
    let foreign = note_of(&three);
    refused(&two, foreign.as_bytes(), "foreign");
    put_note(&two, format!("{foreign}\n{}{note}", "{}\n".repeat(1000)).as_bytes());
    assert_eq!(words(&gate(&two, 0)), ["foreign", "unknown-format"]);
    // A person may trust it all the same, by a file that no commit can change.
    let key = three.proctor(["key", "export", "--ssh"]).success().stdout;
    let outside = path_text(&two.shared("signers"));
    fs::write(&outside, &key).expect("it is ours");
    put_note(&two, foreign.as_bytes());
    let document = gate_with(&two, &["--signers", &outside], 3);
    assert_eq!(words(&document), ["another-tree"], "the key is trusted now, and the content is another one");
    two.save("mine", &key);
    let within = two.proctor(["gate", "--from-notes", "--signers", "mine"]).status(2).stderr;
    assert!(within.contains("lies in the working tree"), "{within}");
    // The note of one tree is moved to another one.
    git(&two, &["checkout", "--quiet", "--", "."]);
    fs::remove_file(two.path().join("mine")).expect("it was just saved");
    commit(&two, "new", "untested");
    refused(&two, note.as_bytes(), "another-tree");
    // An object that is no file in the place of a note.
    let tree = tree_of(&two);
    let listed = format!("040000 tree {tree}\t{tree}\n");
    fs::write(two.shared("listed"), listed).expect("it is ours");
    let script = format!(
        "N=$(git mktree < '{}') && C=$(git -c user.name=a -c user.email=a@example.org commit-tree -m odd $N) && git update-ref {NOTES} $C",
        path_text(&two.shared("listed"))
    );
    two.command(Path::new("/bin/sh"), ["-euc", &script]).success();
    gate(&two, 5);
}

#[test]
fn a_replaced_key_proves_nothing_that_ended_after_it_was_replaced() {
    let (one, origin) = tested(CHECKS);
    // A thief has a copy of the store with its first key, and the owner replaces the key and tells everybody.
    let thief = clone_of(&origin);
    let state = |project: &Project| path_text(&project.root().join("state"));
    let script = format!("rm -rf '{0}' && cp -a '{1}' '{0}'", state(&thief), state(&one));
    thief.command(Path::new("/bin/sh"), ["-euc", &script]).success();
    one.proctor(["attest"]).success();
    let before = note_of(&one);
    one.proctor(["key", "rotate"]).success();
    commit(&one, "allowed_signers", &one.proctor(["key", "export", "--ssh"]).success().stdout);
    git(&one, &["push", "--quiet", "origin", "main"]);
    git(&thief, &["pull", "--quiet"]);
    thief.proctor(["run"]).success();
    thief.proctor(["attest"]).success();
    let stolen = note_of(&thief);
    let two = clone_of(&origin);
    put_note(&two, stolen.as_bytes());
    assert_eq!(words(&gate(&two, 3)), ["retired"], "by the records of keys in the trusted file");
    put_note(&one, stolen.as_bytes());
    assert_eq!(words(&gate(&one, 3)), ["retired"], "by the keys of the store, whatever the file says");
    let listed = path_text(&two.shared("signers"));
    fs::write(&listed, one.proctor(["key", "export", "--ssh"]).success().stdout).expect("it is ours");
    assert_eq!(words(&gate_with(&two, &["--signers", &listed], 3)), ["retired"]);
    // What the first key said while it was in use stays true.
    git(&two, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    put_note(&two, before.as_bytes());
    let policy = path_text(&two.shared("policy.toml"));
    fs::write(&policy, "[gate]\nsigners = \"signers\"\n").expect("it is ours");
    gate_with(&two, &["--policy-from", &policy], 0);
}

#[test]
#[ignore = "long tier"]
fn a_bundle_proves_what_a_note_proves() {
    let (one, origin) = tested(CHECKS);
    let bundle = one.shared("bundle.json");
    one.proctor(["attest", "--bundle", &path_text(&bundle)]).success();
    let two = clone_of(&origin);
    let from = |arguments: &[&str], status: i32| {
        let document = two.proctor(["gate", "--json"].iter().chain(arguments)).status(status).json();
        words(&document).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let file = path_text(&bundle);
    assert!(from(&["--from-bundle", &file], 0).is_empty());
    assert!(from(&["--from-bundle", &file, "--from-bundle", &file, "--from-notes"], 0).is_empty());
    let signers = path_text(&two.shared("signers"));
    let (three, _) = tested(CHECKS);
    fs::write(&signers, three.proctor(["key", "export", "--ssh"]).success().stdout).expect("it is ours");
    assert_eq!(from(&["--from-bundle", &file, "--signers", &signers], 3), ["foreign"]);
    assert!(two.proctor(["gate", "--signers", &signers]).status(2).stderr.contains("--signers"));
    let text = fs::read_to_string(&bundle).expect("it was written");
    let changed = |name: &str, text: &[u8]| {
        let path = two.shared(name);
        fs::write(&path, text).expect("it is ours");
        path_text(&path)
    };
    let mut document: Value = serde_json::from_str(&text).expect("one document");
    let payload = document.pointer("/envelopes/0/payload").and_then(Value::as_str).expect("text");
    let statement = String::from_utf8(STANDARD.decode(payload).expect("base64")).expect("text");
    let swapped = STANDARD.encode(statement.replace("says", "sung"));
    *document.pointer_mut("/envelopes/0/payload").expect("it is there") = swapped.into();
    let tampered = changed("tampered.json", document.to_string().as_bytes());
    assert_eq!(from(&["--from-bundle", &tampered], 3), ["tampered"]);
    for (name, text, status, why) in [
        ("cut.json", text.as_bytes()[..text.len() / 2].to_vec(), 4, "EOF"),
        ("twice.json", text.replacen("{\"schema\"", "{\"schema\":\"x\",\"schema\"", 1).into_bytes(), 4, "duplicate field"),
        ("more.json", text.replacen("{\"schema\"", "{\"more\":1,\"schema\"", 1).into_bytes(), 4, "unknown field"),
        ("later.json", text.replacen("bundle-v1", "bundle-v2", 1).into_bytes(), 4, "proctor-attestation-bundle-v2"),
        ("long.json", vec![b' '; (16 << 20) + 1], 2, "larger than"),
    ] {
        let path = changed(name, &text);
        let said = two.proctor(["gate", "--from-bundle", &path]).status(status).stderr;
        assert!(said.contains(name) && said.contains(why), "{said}");
    }
    two.proctor(["gate", "--from-bundle", "nowhere.json"]).status(2);
    commit(&two, "new", "untested");
    assert_eq!(from(&["--from-bundle", &file], 3), ["another-tree"]);
}

#[test]
#[ignore = "long tier"]
fn a_bundle_that_cannot_be_written_leaves_no_note() {
    let (one, _) = tested(CHECKS);
    let nowhere = path_text(&one.shared("no/such/directory/bundle.json"));
    let refused = one.proctor(["attest", "--bundle", &nowhere]).status(2).stderr;
    assert!(refused.contains("cannot create") && refused.contains(&nowhere), "{refused}");
    assert!(git(&one, &["for-each-ref", "refs/notes"]).stdout.is_empty());
    // And the other way round.
    put_note(&one, &vec![b'x'; 17 << 20]);
    let bundle = one.shared("bundle.json");
    one.proctor(["attest", "--bundle", &path_text(&bundle)]).status(2);
    assert!(!bundle.exists());
}

#[test]
fn claims_are_judged_by_the_same_policy_as_own_runs() {
    let (one, origin) = tested(&format!("{CHECKS}[sandbox]\nmode = \"off\"\n"));
    let policy = |name: &str, text: &str| {
        let path = one.shared(name);
        fs::write(&path, text.replace("[gate]\n", "[gate]\nworld = \"open\"\n")).expect("it is ours");
        path_text(&path)
    };
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    let two = clone_of(&origin);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    gate(&two, 0);
    let key = one.proctor(["key", "export", "--ssh"]).success().stdout;
    policy("signers", &key);
    let strict = policy("strict.toml", "[gate]\nisolation = \"namespace\"\nsigners = \"signers\"\n");
    assert_eq!(words(&gate_with(&two, &["--policy-from", &strict], 3)), ["weaker"]);
    let old = policy("old.toml", "[gate]\nmax_age = \"1s\"\nsigners = \"signers\"\n");
    poll(Duration::from_secs(30), "the claim is older than a second", || {
        let document = two.proctor(["gate", "--from-notes", "--json", "--policy-from", &old]).any_status().json();
        (words(&document) == ["expired"] && document["exitCode"] == 3).then_some(())
    });
    // One check is enough for whoever attests, and not for whoever judges.
    commit(&one, "more", "x");
    one.proctor(["run", "--check", "there"]).any_status();
    one.proctor(["attest"]).status(5);
    let single = policy("single.toml", "[gate]\nchecks = [\"there\"]\nsigners = \"signers\"\n");
    one.proctor(["attest", "--policy-from", &single]).success();
    git(&one, &["push", "--quiet", "origin", "main", NOTES]);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    git(&two, &["pull", "--quiet", "--rebase"]);
    assert_eq!(words(&gate(&two, 3)), ["partial"]);
    gate_with(&two, &["--policy-from", &single], 0);
    // The rest comes from another run, and both together are enough.
    one.proctor(["run", "--check", "says"]).any_status();
    one.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    gate(&two, 0);
}

#[test]
#[ignore = "long tier"]
fn two_who_attest_at_once_lose_nothing() {
    let (one, origin) = tested(CHECKS);
    let two = clone_of(&origin);
    two.proctor(["run"]).success();
    one.proctor(["attest"]).success();
    two.proctor(["attest"]).success();
    git(&one, &["push", "--quiet", "origin", NOTES]);
    assert_ne!(run_git(&two, &["push", "--quiet", "origin", NOTES]).any_status().status, 0, "somebody else was first");
    git(&two, &["fetch", "--quiet", "origin", FETCH]);
    let said = two.proctor(["attest"]).success().stdout;
    assert!(said.contains("united with the notes that were fetched"), "{said}");
    git(&two, &["push", "--quiet", "origin", NOTES]);
    let both = note_of(&two);
    assert_eq!(both.lines().count(), 4, "{both}");
    assert!(note_of(&one).lines().all(|line| both.contains(line)));
    assert!(two.proctor(["attest"]).success().stdout.starts_with("attested before · refs/"), "there is nothing more to unite");
    for number in 0..5 {
        commit(&one, "shop.txt", &number.to_string());
        one.proctor(["run"]).success();
    }
    // In one repository, several processes at the same time.
    std::thread::scope(|scope| {
        let one = &one;
        let attest = |number: u32| scope.spawn(move || one.proctor(["attest".to_owned(), format!("HEAD~{number}")]).success());
        let attesting: Vec<_> = (0..5).map(attest).collect();
        attesting.into_iter().for_each(|thread| drop(thread.join().expect("it attests")));
    });
    let listed = git(&one, &["notes", "--ref", NOTES, "list"]).stdout;
    assert_eq!(listed.lines().count(), 6, "{listed}");
    assert!(fs::read_dir(one.path().join(".git/refs/notes")).expect("it is there").flatten().count() == 1, "no lock is left");
    git(&one, &["fsck", "--strict", "--full"]);
}

#[test]
fn what_is_attested_names_neither_machine_nor_person() {
    const TOKEN: &str = concat!("ghp", "_abcdefghijklmnopqrstuvwxyz0123456789");
    let home = Project::new();
    let (root, user) = (path_text(home.root()), "ada7");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux").trim().to_owned();
    let names = [
        format!("reads {root}/x"),
        format!("as {user}@{host} tests/a.py"),
        "/etc/passwd file:///srv/x".to_owned(),
        TOKEN.to_owned(),
    ];
    let check = |name: &String| format!("[[check]]\nname = \"{name}\"\ncommand = \"fake-tool --stdout said\"\n");
    let toml: String = names.iter().map(check).collect();
    let project = home.with_program(fake_tool()).toml(&toml);
    git(&project, &["init", "--quiet"]);
    commit(&project, ".gitignore", "secret-of-ada7\n");
    project.save("secret-of-ada7", "x");
    project.proctor(["run"]).success();
    let policy = project.shared("policy.toml");
    fs::write(&policy, "[gate]\nignored_inputs = [\"secret-of-ada7\"]\n").expect("it is ours");
    let policy = path_text(&policy);
    let statements =
        project.proctor(["attest", "--dry-run", "--policy-from", &policy]).env("USER", user).success().json().to_string();
    let home = path_text(&project.shared("home"));
    for hidden in [root.as_str(), home.as_str(), user, "/etc", "/srv", "said", TOKEN, "fake-tool", "\"pid\""] {
        assert!(!statements.contains(hidden), "`{hidden}` is in {statements}");
    }
    if host.len() > 3 && host != "localhost" {
        assert!(!statements.contains(&host), "`{host}` is in {statements}");
    }
    assert!(statements.contains("\"ignored\":{\"count\":1}"), "what cannot be named is counted: {statements}");
    assert!(statements.contains("tests/a.py") && statements.contains("[redacted: path]"), "{statements}");
}

#[test]
fn the_statements_of_an_export_are_read_strictly_and_name_the_tests() {
    let python = path_text(&python_plain());
    let toml = format!("[[check]]\nname = \"unit\"\ncommand = [\"{python}\", \"-m\", \"pytest\", \"-q\"]\n");
    let tests = "import pytest\n\ndef test_one():\n    pass\n\n@pytest.mark.skip\ndef test_two():\n    pass\n\n\
        @pytest.mark.xfail\ndef test_three():\n    assert False\n";
    let project = Project::new().file("tests/test_unit.py", tests).toml(&toml);
    project.proctor(["run"]).success();
    let to = project.shared("export");
    project.proctor(["export", "--to", &path_text(&to)]).success();
    let files = fs::read_dir(to.join("run")).expect("it was exported").flatten().map(|entry| entry.path());
    let statements = files.into_iter().find(|path| path.to_string_lossy().ends_with(".intoto.jsonl")).expect("it is signed");
    let read = project.command(&python_attestations(), ["-c", STRICT, &path_text(&statements)]).success().stdout;
    assert_eq!(read, "https://in-toto.io/attestation/test-result/v0.1\nhttps://slsa.dev/provenance/v1\n");
    let text = fs::read_to_string(&statements).expect("text");
    let parsed: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an envelope"))
        .map(|line| STANDARD.decode(line["payload"].as_str().expect("text")).expect("base64"))
        .map(|payload| serde_json::from_slice(&payload).expect("a statement"))
        .collect();
    let digest = project.proctor(["generate", "tree"]).success().stdout;
    for statement in &parsed {
        assert_eq!(statement["subject"], json!([{ "name": "proctor-tree-v2", "digest": { "sha256": digest.trim() } }]));
    }
    let by_products = parsed[1].pointer("/predicate/runDetails/byproducts").expect("files").to_string();
    assert!(by_products.contains("execution-report.json") && by_products.contains("STEP.1-pytest.log"), "{by_products}");
    assert_eq!(parsed[1].pointer("/predicate/buildDefinition/internalParameters/verdict/overallResult"), Some(&json!("PASSED")));
    let list = |key: &str| parsed[0]["predicate"][key].clone();
    assert_eq!(list("passedTests"), json!(["STEP.1 unit", "STEP.1 unit: tests/test_unit.py::test_one"]));
    assert_eq!((list("warnedTests"), list("failedTests"), list("result")), (json!([]), json!([]), json!("PASSED")));
    project.proctor(["verify"]).success();
    project.proctor(["verify", &path_text(&to)]).success();
}
