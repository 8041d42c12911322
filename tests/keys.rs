//! Replacing the key: what was signed before goes on verifying, also elsewhere with `proctor key export` alone, and a replaced key signs
//! nothing any more.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Project, fake_tool, poll};

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn with_runs(count: usize) -> Project {
    let project = Project::new().with_program(fake_tool()).toml(GREEN);
    (0..count).for_each(|_| drop(project.proctor(["run"]).success()));
    project
}

fn text(path: &Path) -> String {
    path.to_str().expect("a temporary path is text").to_owned()
}

/// Writes what `proctor key export` prints to a file.
fn export_keys(project: &Project, name: &str, arguments: &[&str]) -> PathBuf {
    let path = project.shared(name);
    let printed = project.proctor(["key", "export"]).arguments(arguments.iter().copied()).success().stdout;
    fs::write(&path, printed).expect("the root is ours");
    path
}

/// Returns the kinds of the faults that somebody elsewhere finds who has the export, the keys and perhaps an anchor.
fn kinds_elsewhere(export: &Path, keys: &Path, anchor: Option<&Path>) -> Vec<String> {
    let elsewhere = Project::new();
    let mut arguments = vec!["verify".to_owned(), "--json".to_owned(), text(export), "--key".to_owned(), text(keys)];
    arguments.extend(anchor.map(|anchor| vec!["--anchor".to_owned(), text(anchor)]).unwrap_or_default());
    let document = elsewhere.proctor(arguments).any_status().json();
    let faults = document["faults"].as_array().unwrap_or_else(|| panic!("{document}")).clone();
    faults.iter().map(|fault| fault["kind"].as_str().expect("it is text").to_owned()).collect()
}

fn private_halves(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.root().join("state/proctor/keys")).expect("there are keys").flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.contains("private-")).collect()
}

#[test]
fn an_export_goes_on_verifying_after_one_two_and_three_rotations() {
    let project = with_runs(1);
    let (export, archive) = (project.shared("export"), project.shared("export.tar.zst"));
    project.proctor(["export", "--to", &text(&export)]).success();
    project.proctor(["export", "--output", &text(&archive)]).success();
    let first_key = export_keys(&project, "key-1", &[]);
    let anchor = project.shared("anchor");
    fs::write(&anchor, project.proctor(["key", "checkpoint"]).success().stdout).expect("the root is ours");
    for rotation in 1..=3 {
        project.proctor(["key", "rotate"]).success();
        project.proctor(["run"]).success();
        assert_eq!(private_halves(&project).len(), 1, "only the key in use can sign");
        let keys = export_keys(&project, &format!("keys-{rotation}"), &[]);
        let as_signers = export_keys(&project, &format!("signers-{rotation}"), &["--ssh"]);
        for keys in [&keys, &as_signers, &first_key, &export.join("proctor.pub")] {
            for export in [&export, &archive] {
                assert_eq!(kinds_elsewhere(export, keys, Some(&anchor)), [] as [&str; 0], "{} {rotation}", keys.display());
            }
        }
        // A run of today and one of before, proven by today's key, for somebody who has only the first key, or only today's.
        let newest = export_keys(&project, &format!("newest-{rotation}"), &["--number", &(rotation + 1).to_string()]);
        let latest = project.shared(&format!("latest-{rotation}"));
        let early = project.shared(&format!("early-{rotation}"));
        project.proctor(["export", "--to", &text(&latest)]).success();
        project.proctor(["export", "1", "--to", &text(&early)]).success();
        for (export, keys) in [(&latest, &first_key), (&early, &first_key), (&latest, &newest), (&early, &newest)] {
            assert_eq!(kinds_elsewhere(export, keys, None), [] as [&str; 0], "{} {}", export.display(), keys.display());
        }
    }
    project.proctor(["verify", "--anchor", &text(&anchor)]).success();
    let printed = fs::read_to_string(project.shared("keys-3")).expect("it is text");
    assert!(printed.starts_with("-----BEGIN PUBLIC KEY-----"), "{printed}");
    assert_eq!(printed.lines().filter(|line| line.starts_with("{\"schema\":\"proctor-key-v2\"")).count(), 4, "{printed}");
    let shown = project.proctor(["key", "show"]).success().stdout;
    assert_eq!(shown.matches("replaced, its private half destroyed").count(), 3, "{shown}");
    assert!(shown.contains("from line 1 to 2") && shown.contains("from line 7"), "{shown}");
}

#[test]
fn an_export_without_its_proof_or_with_other_keys_is_named() {
    let project = with_runs(1);
    project.proctor(["key", "rotate"]).success();
    project.proctor(["run"]).success();
    let export = project.shared("export");
    project.proctor(["export", "--to", &text(&export)]).success();
    let (keys, alone) = (export_keys(&project, "keys", &[]), export_keys(&project, "alone", &["--number", "2"]));
    let other = with_runs(1);
    let others = export_keys(&other, "others", &[]);
    assert!(kinds_elsewhere(&export, &others, None).contains(&"keyHistoryWrong".to_owned()));
    let without = |name: &str, keys: &Path| {
        let aside = export.join("aside");
        fs::rename(export.join(name), &aside).expect("it is ours");
        let kinds = kinds_elsewhere(&export, keys, None);
        fs::rename(&aside, export.join(name)).expect("it is ours");
        kinds
    };
    assert_eq!(without("ledger.tlog-proof", &keys), ["proofMissing"]);
    assert_eq!(without("keys.jsonl", &keys), [] as [&str; 0], "the exported keys are the history");
    assert_eq!(without("keys.jsonl", &alone), ["keyHistoryMissing"], "nobody says whether the key was in force");
}

#[test]
fn rotation_waits_for_its_turn() {
    let project = with_runs(1);
    project.save("proctor.toml", &GREEN.replace("--stdout said", "--sleep 2000"));
    project.approve();
    let running = project.proctor(["run"]).watch();
    let lock = project.root().join("state/proctor/locks");
    let is_open = || {
        let files = fs::read_dir(&lock).expect("there are locks").flatten();
        let records = files.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        records.into_iter().find(|text| text.contains("exec-"))
    };
    poll(std::time::Duration::from_secs(20), "a run to begin", is_open);
    let rotated = project.proctor(["key", "rotate"]).success();
    assert!(rotated.stderr.contains("another process works on"), "{}", rotated.stderr);
    running.ended();
    let verified = project.proctor(["verify"]).success();
    assert!(verified.stdout.contains("VERIFIED"), "{}", verified.stdout);
}

#[test]
fn the_private_half_of_a_key_of_an_earlier_version_goes_with_the_next_write() {
    let project = with_runs(1);
    let keys = project.root().join("state/proctor/keys");
    let first = keys.join(&private_halves(&project)[0]);
    let text = fs::read(&first).expect("it is ours");
    project.proctor(["key", "rotate"]).success();
    fs::write(&first, text).expect("it is ours");
    fs::set_permissions(&first, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let document = project.proctor(["verify", "--json"]).success().json();
    assert_eq!(document["unfinished"][0]["kind"], "retiredKey", "{document}");
    project.proctor(["run"]).success();
    assert!(!first.exists());
    let shown = project.proctor(["verify", "--json"]).success().json();
    assert_eq!(shown["unfinished"].as_array().expect("a list").len(), 0, "{shown}");
}

#[test]
fn a_lost_key_is_found_before_the_checks_run_and_each_command_names_the_way_out() {
    let toml = format!("{GREEN}[[check]]\nname = \"tells\"\ncommand = \"touch ../shared/ran\"\n");
    let project = Project::new().with_program(fake_tool()).toml(&(crate::common::WRITES_TO_SHARED.to_owned() + &toml));
    project.proctor(["run"]).success();
    let ran = project.shared("ran");
    assert!(ran.exists());
    fs::remove_file(&ran).expect("it is ours");
    let keys = project.root().join("state/proctor/keys");
    for name in private_halves(&project) {
        fs::remove_file(keys.join(name)).expect("it is ours");
    }
    project.save("a.txt", "new\n");
    for arguments in [&["run"][..], &["key", "rotate"], &["verify"]] {
        let said = project.proctor(arguments.iter().copied()).status(6);
        let text = said.stdout.clone() + &said.stderr;
        assert!(text.contains("`proctor key rotate --lost` begins with a new one"), "{arguments:?}: {}", said.snapshot());
    }
    assert!(!ran.exists(), "no check ran");
}
