//! A store whose ledger is so long that its old lines are compressed: every command answers as before.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use proctor_evidence::{Ledger, Store, WaitDecision};
use proctor_model::{Asker, LedgerBody, ProjectId, Serving, ServingRecord, Timestamp};

use crate::common::Project;

/// Appends lines that say that the service watches the project, until the ledger is longer than what stays uncompressed.
fn lengthen(project: &Project, id: &ProjectId) {
    let store = Store::open(&state(project)).expect("it opens");
    let lock = store.lock(id, &mut || WaitDecision::GiveUp).expect("nobody has it");
    let mut ledger = Ledger::open(&lock).expect("it opens");
    let asker = Asker { pid: 1, uid: 0, executable: Some(format!("/{}", "long/".repeat(2000))), terminal: None };
    while ledger.length() < 6 * 1024 * 1024 {
        let now = Timestamp::from_millis(1_772_616_600_120);
        ledger.append(LedgerBody::Serving(ServingRecord { serving: Serving::NotServed }), &asker, now).expect("it takes lines");
    }
}

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}

#[test]
#[ignore = "long tier"]
fn a_ledger_with_compressed_lines_is_the_same_ledger() {
    let project = Project::new().toml("[[check]]\nname = \"tests\"\ncommand = [\"test\", \"-e\", \"good\"]\n").file("good", "");
    project.proctor(["run"]).success();
    let id = project.store().project_ids().remove(0);
    let id = ProjectId::try_from(id).expect("an id");
    lengthen(&project, &id);
    let ledger = state(&project).join(format!("ledger/{id}.jsonl"));
    let written = fs::read(&ledger).expect("a ledger");
    project.save("good", "more");
    project.proctor(["run"]).success();

    let segments: Vec<_> = fs::read_dir(state(&project).join("ledger"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name.ends_with(".zlib"))
        .collect();
    assert_eq!(segments.len(), 1, "{segments:?}");
    assert!(segments[0].starts_with(&format!("{id}.jsonl.000000000000-00000")), "{segments:?}");
    let now = ledger.metadata().expect("a ledger");
    assert!(
        now.len() > written.len() as u64 && now.blocks() * 512 < 3 * 1024 * 1024,
        "{} bytes, {} blocks",
        now.len(),
        now.blocks()
    );

    let answers = || {
        let verified = project.proctor(["verify", "--all"]).success().stdout;
        let first = project.proctor(["show", "1"]).success().snapshot();
        (
            verified,
            first,
            project.proctor(["log", "--limit", "9999"]).success().snapshot(),
            project.proctor(["status"]).success().stdout,
        )
    };
    let before = answers();
    assert_eq!(before.2.matches("PASSED").count(), 2, "{}", before.2);
    fs::remove_file(state(&project).join("state.db")).expect("an index");
    assert_eq!(answers(), before, "the index is made anew from the ledger");
    let export = project.shared("export");
    project.proctor(["export", "1", "--to", &export.display().to_string()]).success();
    project.proctor(["key", "rotate"]).success();
    project.save("good", "and more");
    project.proctor(["run"]).success();
    project.proctor(["verify", "--all"]).success();

    let segment = state(&project).join("ledger").join(&segments[0]);
    let bytes = fs::read(&segment).expect("a segment");
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 4;
    fs::write(&segment, changed).expect("it is ours");
    let refused = project.proctor(["verify", "--all"]).status(6);
    assert!(
        refused.stdout.contains("segmentWrong") || refused.stdout.contains("no segment of a ledger"),
        "{}",
        refused.snapshot()
    );
    fs::remove_file(&segment).expect("it is ours");
    project.proctor(["verify", "--all"]).status(6);
    fs::write(&segment, bytes).expect("it is ours");
    assert_eq!(project.proctor(["log", "--limit", "9999"]).success().stdout.lines().count(), 3);
    project.proctor(["show", "1"]).success();
}
