//! Exports of a run in one file, `RUN.tar.zst`.

use std::fs;
use std::process::Command;

use crate::common::{Project, fake_tool};

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn project_with_runs(count: usize) -> Project {
    let project = Project::new().with_program(fake_tool()).toml(GREEN);
    (0..count).for_each(|_| drop(project.proctor(["run"]).success()));
    project
}

#[test]
fn tar_and_sha256sum_alone_check_an_export_in_one_file() {
    let project = project_with_runs(2);
    project.proctor(["export", "1", "--output", "run.tar.zst"]).success();
    let archive = project.path().join("run.tar.zst");
    let place = project.path().join("unpacked");
    fs::create_dir(&place).expect("the project is ours");
    // `tar --zstd` could unpack the archive in one step, but would need the program `zstd`.
    let plain = zstd::decode_all(fs::File::open(&archive).expect("it is there")).expect("it is compressed");
    fs::write(project.path().join("run.tar"), plain).expect("the project is ours");
    let unpacked = Command::new("tar").args(["-xf", "../run.tar", "--strip-components=1"]).current_dir(&place).status();
    assert!(unpacked.expect("tar is there").success());
    let checked =
        Command::new("sha256sum").args(["--check", "--strict", "--quiet", "SHA256SUMS"]).current_dir(place.join("run")).status();
    assert!(checked.expect("coreutils are there").success());
    project.proctor(["verify", "unpacked"]).success();
}

#[test]
fn an_export_in_one_file_is_verified_as_it_is() {
    let project = project_with_runs(2);
    let key = project.proctor(["key", "export"]).success().stdout;
    project.save("key.pub", &key);
    for run in ["1", "2"] {
        let file = format!("run-{run}.tar.zst");
        project.proctor(["export", run, "--output", &file]).success();
        project.proctor(["export", run, "--to", &format!("run-{run}")]).success();
        let verified = project.proctor(["verify", &file, "--json"]).success().json();
        assert_eq!((&verified["runs"], &verified["faults"]), (&1.into(), &serde_json::json!([])));
        let directory = project.proctor(["verify", &format!("run-{run}"), "--json"]).success().json();
        assert_eq!((&verified["files"], &verified["bytes"]), (&directory["files"], &directory["bytes"]));
        project.proctor(["verify", &file, "--key", "key.pub"]).success();
        project.proctor(["export", run, "--output", &file]).status(2);
    }
}

#[test]
fn an_export_in_one_file_that_was_changed_is_refused_with_the_name_of_what_is_wrong() {
    let project = project_with_runs(1);
    project.proctor(["export", "1", "--output", "run.tar.zst"]).success();
    let whole = fs::read(project.path().join("run.tar.zst")).expect("it was written");
    let plain = zstd::decode_all(whole.as_slice()).expect("it is compressed");
    let pack = |plain: &[u8]| zstd::encode_all(plain, 3).expect("memory");
    let replace = |from: &str, to: &str| {
        let at = plain.windows(from.len()).position(|part| part == from.as_bytes()).expect("it is in there");
        let mut changed = plain.clone();
        changed[at..at + from.len()].copy_from_slice(to.as_bytes());
        pack(&changed)
    };
    let cases = [
        (whole[..whole.len() - 1].to_vec(), "no archive as proctor writes it"),
        (b"anything".to_vec(), "no archive as proctor writes it"),
        // The changed name makes the checksum of the tar header wrong.
        (replace("/run/SHA256SUMS", "/../SHA256SUMS/"), "no archive as proctor writes it"),
        (replace("\"overallResult\"", "\"overallresult\""), "ledger.jsonl"),
        (replace("namespaces=", "namespaceS="), ""),
    ];
    for (bytes, what) in cases {
        fs::write(project.path().join("changed.tar.zst"), &bytes).expect("the project is ours");
        let verified = project.proctor(["verify", "changed.tar.zst"]).any_status();
        let said = format!("{}{}", verified.stdout, verified.stderr);
        // Beside the run, the export holds further files. Only two of them are verified: the ledger line and its proof.
        // The last case changes a file that is not verified, so no fault may be found.
        assert_eq!(verified.status, if what.is_empty() { 0 } else { 6 }, "{what}: {said}");
        assert!(said.contains(what), "{what}: {said}");
    }
}
