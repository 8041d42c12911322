//! Anchors: heads of ledgers that are kept outside of the store. Tests which manipulations only an anchor shows, and
//! whether programs that know nothing of proctor can read anchors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_evidence::FaultKind;

use crate::common::{Project, fake_tool, python_signatures};

/// The kinds of faults that `proctor verify` finds only with an anchor, and that these tests cause. The tests of
/// `tamper` leave these kinds out.
pub(crate) const KINDS: &[FaultKind] = &[
    FaultKind::AnchorMissing,
    FaultKind::AnchorUnreadable,
    FaultKind::AnchorSignature,
    FaultKind::AnchorAhead,
    FaultKind::AnchorDiffers,
    FaultKind::ProofMissing,
    FaultKind::ProofUnreadable,
    FaultKind::ProofWrong,
    FaultKind::ProofElsewhere,
];

/// A Python script that reads an anchor in a directory: a checkpoint, and the proof for a run's ledger line. The
/// script follows the published specifications of these formats and uses none of proctor's code.
const READER: &str = r#"
import base64, hashlib, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def h(*parts): return hashlib.sha256(b"".join(parts)).digest()

def read_note(text, vkey):
    body, signatures = text.rsplit("\n\n", 1)
    name, key_hash, encoded = vkey.split("+", 2)
    key = base64.b64decode(encoded)
    assert key[0] == 1 and h(name.encode() + b"\n" + key)[:4].hex() == key_hash
    for line in signatures.splitlines():
        dash, signer, blob = line.split(" ")
        blob = base64.b64decode(blob)
        assert dash == "\u2014"
        if signer == name and blob[:4].hex() == key_hash:
            Ed25519PublicKey.from_public_bytes(key[1:]).verify(blob[4:], (body + "\n").encode())
            origin, size, root = body.split("\n")
            assert origin == name
            return int(size), base64.b64decode(root)
    raise SystemExit("not signed")

def root_of(leaves):
    if len(leaves) == 1: return leaves[0]
    k = 1
    while k * 2 < len(leaves): k *= 2
    return h(b"\1", root_of(leaves[:k]), root_of(leaves[k:]))

ledger, checkpoint, proof, vkey, run = sys.argv[1:]
vkey = open(vkey).read().strip()
lines = open(ledger, "rb").read().splitlines()
leaves = [h(b"\0", hashlib.sha256(line).hexdigest().encode()) for line in lines]
size, root = read_note(open(checkpoint).read(), vkey)
assert size == len(leaves) and root == root_of(leaves)

head, note = open(proof).read().split("\n\n", 1)
magic, index, *path = head.split("\n")
assert magic == "c2sp.org/tlog-proof@v1"
index = int(index.removeprefix("index "))
assert run.encode() in lines[index]
size, root = read_note(note, vkey)
node, last, found = index, size - 1, leaves[index]
for other in map(base64.b64decode, path):
    if node % 2 or node == last:
        found = h(b"\1", other, found)
        while node and not node % 2: node, last = node >> 1, last >> 1
    else:
        found = h(b"\1", found, other)
    node, last = node >> 1, last >> 1
assert last == 0 and found == root
print("read", size)
"#;

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn with_runs(count: usize) -> Project {
    let project = Project::new().with_program(fake_tool()).toml(GREEN);
    (0..count).for_each(|_| drop(project.proctor(["run"]).success()));
    project
}

fn text(path: &Path) -> String {
    path.to_str().expect("a temporary path is text").to_owned()
}

/// Copies the whole state of the user: ledgers, keys, evidence and index.
fn copy_state(project: &Project, from: &Path, to: &Path) {
    drop(fs::remove_dir_all(to));
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("coreutils are there");
    assert!(copied.success(), "{}", project.root().display());
}

/// Attacks as somebody who has the signing key can: restores an older copy of the store, and lets proctor write another
/// history from there.
fn rewrite(project: &Project, saved: &Path) {
    copy_state(project, saved, &project.root().join("state"));
    project.proctor(["run"]).success();
    project.proctor(["run"]).success();
}

#[track_caller]
fn kinds(project: &Project, arguments: &[&str]) -> Vec<String> {
    let document = project.proctor(["verify", "--json"]).arguments(arguments.iter().copied()).any_status().json();
    let faults = document["faults"].as_array().unwrap_or_else(|| panic!("{document}")).clone();
    assert_eq!(document["verified"], faults.is_empty());
    faults.iter().map(|fault| fault["kind"].as_str().expect("it is text").to_owned()).collect()
}

#[test]
fn a_store_that_was_written_anew_with_its_own_key_shows_by_its_anchor_alone() {
    let project = with_runs(1);
    let (saved, anchor) = (project.root().join("saved"), project.shared("head"));
    copy_state(&project, &project.root().join("state"), &saved);
    project.save("proctor.toml", &GREEN.replace("--stdout said", "--exit 1"));
    project.proctor(["run"]).any_status();
    project.save("proctor.toml", GREEN);
    project.proctor(["run"]).any_status();
    let asked = project.proctor(["key", "anchor"]).status(2).stderr;
    assert!(asked.contains("git notes") && asked.contains("--file"), "{asked}");
    let said = project.proctor(["key", "anchor", "--file", &text(&anchor)]).success();
    let lines = project.store().ledger().len();
    assert!(said.stdout.starts_with(&format!("{lines} lines anchored · ")), "{}", said.stdout);
    let held = project.proctor(["verify", "--anchor", &text(&anchor)]).success();
    assert!(held.stdout.contains(&format!(": holds: the first {lines} lines of ")), "{}", held.stdout);
    rewrite(&project, &saved);
    project.proctor(["run"]).success();
    project.proctor(["run"]).success();
    assert!(project.store().ledger().len() > lines);
    assert_eq!(kinds(&project, &[]), [] as [&str; 0], "without the anchor nothing is wrong with it");
    assert_eq!(kinds(&project, &["--all"]), [] as [&str; 0]);
    let said = project.proctor(["verify", "--anchor", &text(&anchor)]).status(6);
    assert!(said.stdout.contains("head: the ledger is not the one that was anchored: it was written anew\n"), "{}", said.stdout);
    assert_eq!(kinds(&project, &["--all", "--anchor", &text(&anchor)]), ["anchorDiffers"]);
    assert_eq!(kinds(&project, &["default", "--anchor", &text(&anchor)]), ["anchorDiffers"]);
    let before = fs::read(&anchor).expect("it is there");
    let refused = project.proctor(["key", "anchor", "--file", &text(&anchor)]).status(6);
    assert!(refused.stderr.contains("it was cut or written anew"), "{}", refused.stderr);
    assert_eq!(fs::read(&anchor).expect("it is there"), before, "the anchor is not lost");
}

#[test]
fn a_ledger_that_was_cut_shows_by_its_anchor() {
    let project = with_runs(1);
    let (saved, anchor) = (project.root().join("saved"), project.shared("head"));
    copy_state(&project, &project.root().join("state"), &saved);
    project.proctor(["run"]).success();
    project.proctor(["key", "anchor", "--file", &text(&anchor)]).success();
    copy_state(&project, &saved, &project.root().join("state"));
    assert_eq!(kinds(&project, &[]), [] as [&str; 0]);
    assert_eq!(kinds(&project, &["--anchor", &text(&anchor)]), ["anchorAhead"]);
}

#[test]
fn every_line_that_is_changed_shows_by_its_anchor() {
    let project = with_runs(2);
    let anchor = project.shared("head");
    project.proctor(["key", "anchor", "--file", &text(&anchor)]).success();
    let ledger = ledger_of(&project);
    let lines = fs::read_to_string(&ledger).expect("it is text");
    for number in 0..lines.lines().count() {
        let mut changed: Vec<String> = lines.lines().map(str::to_owned).collect();
        changed[number] = changed[number].replacen("\"pid\":", "\"pid\":1", 1);
        fs::write(&ledger, changed.join("\n") + "\n").expect("it is ours");
        assert!(kinds(&project, &["--anchor", &text(&anchor)]).contains(&"anchorDiffers".to_owned()), "line {number}");
    }
}

#[test]
fn a_store_with_other_keys_and_an_anchor_that_is_none_are_named() {
    let project = with_runs(1);
    let anchor = project.shared("head");
    project.proctor(["key", "anchor", "--file", &text(&anchor)]).success();
    let other = with_runs(1);
    let others = project.shared("others");
    other.proctor(["key", "anchor", "--file", &text(&others)]).success();
    assert_eq!(kinds(&project, &["--anchor", &text(&others)]), ["anchorDiffers"], "it is another project's");
    let key = project.shared("key");
    fs::write(&key, other.proctor(["key", "export"]).success().stdout).expect("the root is ours");
    assert_eq!(kinds(&project, &["--anchor", &text(&anchor), "--key", &text(&key)]), ["anchorSignature"]);
    assert_eq!(kinds(&project, &["--anchor", &text(&project.shared("nowhere"))]), ["anchorMissing"]);
    let genuine = fs::read_to_string(&anchor).expect("it is text");
    for (from, to, kind) in
        [("\n— ", "\n- ", "anchorUnreadable"), ("proctor/", "x/", "anchorUnreadable"), ("\n2\n", "\n1\n", "anchorSignature")]
    {
        assert!(genuine.contains(from), "{genuine}");
        fs::write(&anchor, genuine.replacen(from, to, 1)).expect("the root is ours");
        assert!(kinds(&project, &["--anchor", &text(&anchor)]).contains(&kind.to_owned()), "{from} {to}");
    }
    fs::write(&anchor, "mine\n").expect("the root is ours");
    project.proctor(["key", "anchor", "--file", &text(&anchor)]).status(2);
    project.proctor(["key", "anchor", "--file", &text(&others)]).status(2);
    assert_eq!(fs::read_to_string(&anchor).expect("it is text"), "mine\n");
}

#[test]
fn an_anchor_goes_on_holding_while_the_ledger_grows_and_keys_are_replaced() {
    let project = with_runs(1);
    let (first, second) = (project.shared("first"), project.shared("second"));
    project.proctor(["key", "anchor", "--file", &text(&first)]).success();
    project.proctor(["key", "rotate"]).success();
    project.proctor(["run"]).success();
    project.proctor(["key", "anchor", "--file", &text(&second)]).success();
    project.proctor(["run"]).success();
    let document = project.proctor(["verify", "--json", "--anchor", &text(&first), "--anchor", &text(&second)]).success().json();
    let lines: Vec<_> = document["anchors"].as_array().expect("a list").iter().map(|held| held["lines"].as_u64()).collect();
    assert_eq!(lines, [Some(2), Some(4)], "{document}");
    project.proctor(["key", "anchor", "--file", &text(&first)]).success();
    assert!(fs::read_to_string(&first).expect("it is text").contains("\n5\n"), "an earlier head of the same log is replaced");
}

#[test]
fn a_run_is_proven_against_the_checkpoint_that_somebody_has() {
    let project = with_runs(2);
    let (anchor, key, export) = (project.shared("head"), project.shared("key"), project.shared("export"));
    project.proctor(["key", "anchor", "--file", &text(&anchor)]).success();
    fs::write(&key, project.proctor(["key", "export"]).success().stdout).expect("the root is ours");
    project.proctor(["run"]).success();
    project.proctor(["export", "2", "--anchor", &text(&anchor), "--to", &text(&export)]).success();
    let verify = |anchor: &Path| kinds(&project, &[&text(&export), "--key", &text(&key), "--anchor", &text(anchor)]);
    assert_eq!(verify(&anchor), [] as [&str; 0]);
    let refused = project.proctor(["export", "3", "--anchor", &text(&anchor), "--to", &text(&project.shared("late"))]).status(2);
    assert!(refused.stderr.contains("was added to the ledger after the checkpoint, which covers 3 lines"), "{}", refused.stderr);
    let later = project.shared("later");
    project.proctor(["key", "anchor", "--file", &text(&later)]).success();
    assert_eq!(verify(&later), ["proofElsewhere"]);
    let proof = export.join("ledger.tlog-proof");
    let genuine = fs::read_to_string(&proof).expect("an export has it");
    let damaged = |from: &str, to: &str| {
        assert!(genuine.contains(from), "{genuine}");
        fs::remove_file(&proof).expect("it is ours");
        fs::write(&proof, genuine.replacen(from, to, 1)).expect("it is ours");
        verify(&anchor)
    };
    assert_eq!(damaged("index 2", "index 1"), ["proofWrong"]);
    assert_eq!(damaged("@v1", "@v2"), ["proofUnreadable"]);
    assert!(damaged("\n3\n", "\n4\n").contains(&"anchorSignature".to_owned()));
    fs::remove_file(&proof).expect("it is ours");
    assert_eq!(verify(&anchor), ["proofMissing"]);
    assert_eq!(kinds(&project, &[&text(&export), "--key", &text(&key)]), ["proofMissing"], "every export has one");
    let run = project.store().run_directory("default");
    assert_eq!(kinds(&project, &[&text(&run), "--anchor", &text(&anchor)]), ["proofMissing"], "a bare directory has none");
}

#[test]
fn what_earlier_versions_wrote_beside_a_checkpoint_is_answered_with_the_way_out() {
    let project = with_runs(1);
    let progress = project.shared("progress");
    fs::write(&progress, "old 1\n\nproctor/shop-00000001\n2\n").expect("the root is ours");
    let key = project.shared("key");
    fs::write(&key, project.proctor(["key", "export"]).success().stdout).expect("the root is ours");
    for (arguments, way_out) in [
        (vec!["verify".to_owned(), text(&progress), "--key".to_owned(), text(&key)], "`proctor verify --anchor FILE`"),
        (vec!["verify".to_owned(), "--git".to_owned()], "then `--anchor checkpoint`"),
        (vec!["key".to_owned(), "anchor".to_owned(), "--git".to_owned()], "git notes --ref=proctor add"),
    ] {
        let said = project.proctor(arguments).status(2).stderr;
        assert!(said.contains(way_out), "{said}");
    }
}

#[test]
fn a_program_that_knows_only_the_specifications_reads_checkpoint_and_proof() {
    let project = with_runs(3);
    let (checkpoint, export, vkey) = (project.shared("checkpoint"), project.shared("export"), project.shared("vkey"));
    let proof = export.join("ledger.tlog-proof");
    fs::write(&checkpoint, project.proctor(["key", "checkpoint"]).success().stdout).expect("the root is ours");
    project.proctor(["export", "2", "--to", &text(&export)]).success();
    fs::write(&vkey, project.proctor(["key", "checkpoint", "--verifier-key"]).success().stdout).expect("the root is ours");
    let run = project.store().committed_runs()[1]["runId"].as_str().expect("it has an id").to_owned();
    let python = python_signatures();
    let arguments = |proof: &Path| {
        ["-c", READER]
            .map(str::to_owned)
            .into_iter()
            .chain([text(&ledger_of(&project)), text(&checkpoint), text(proof), text(&vkey), run.clone()])
            .collect::<Vec<_>>()
    };
    let read = project.command(&python, arguments(&proof)).success();
    assert_eq!(read.stdout, "read 4\n");
    for (path, from, to) in [(&checkpoint, "\n4\n", "\n3\n"), (&proof, "index 2", "index 1"), (&proof, "\n4\n", "\n3\n")] {
        let genuine = fs::read_to_string(path).expect("it is text");
        assert!(genuine.contains(from), "{genuine}");
        overwrite(path, &genuine.replacen(from, to, 1));
        assert_eq!(project.command(&python, arguments(&proof)).any_status().status, 1, "{from} {to}");
        overwrite(path, &genuine);
    }
    project.command(&python, arguments(&proof)).success();
}

#[test]
fn neither_checkpoints_nor_anchors_change_the_store() {
    let project = with_runs(1);
    let before = project.store().ledger();
    project.proctor(["key", "checkpoint"]).success();
    project.proctor(["key", "anchor", "--file", &text(&project.shared("head"))]).success();
    assert_eq!(project.store().ledger(), before);
    project.proctor(["verify"]).success();
    let bare = Project::new().with_program(fake_tool()).toml(GREEN);
    bare.proctor(["key", "checkpoint"]).status(2);
    bare.proctor(["key", "anchor", "--file", "x"]).status(2);
    assert!(!bare.path().join("x").exists());
}

/// Replaces a file that may not be written to.
fn overwrite(path: &Path, text: &str) {
    fs::remove_file(path).expect("its directory is ours");
    fs::write(path, text).expect("its directory is ours");
}

fn ledger_of(project: &Project) -> PathBuf {
    let ledgers = fs::read_dir(project.root().join("state/proctor/ledger")).expect("it is there").flatten();
    ledgers.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "jsonl")).expect("one")
}
