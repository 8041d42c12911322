//! Tests archived runs, which are kept in one file each: which runs are archived, and that every command reads them as
//! before.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::common::{Project, fake_tool};

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";
/// Two days in milliseconds.
const TWO_DAYS: i64 = 2 * 24 * 60 * 60 * 1000;

fn project_with_runs(settings: &str, count: usize) -> Project {
    let project = Project::new().with_program(fake_tool()).toml(&format!("{settings}\n{GREEN}"));
    (0..count).for_each(|_| drop(project.proctor(["run"]).success()));
    project
}

fn runs(project: &Project) -> PathBuf {
    project.root().join("state/proctor/evidence").join(&project.store().project_ids()[0]).join("default/runs")
}

/// Returns the number of each run in order, with `.tar.zst` after the number if the run is archived.
fn kept(project: &Project) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(runs(project))
        .expect("there are runs")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.iter().map(|name| name.rsplit('-').next().expect("a number").trim_start_matches('0').to_owned()).collect()
}

#[test]
fn an_archived_run_is_shown_logged_verified_exported_and_pruned_as_before() {
    let project = project_with_runs("", 3);
    let shown = project.proctor(["show", "2", "--json"]).success().stdout;
    let dry = project.proctor(["archive", "--days", "0", "--dry-run"]).success();
    assert!(dry.stdout.ends_with(" bytes would be archived\n") && dry.stdout.contains("2 runs, "), "{}", dry.stdout);
    assert_eq!(kept(&project), ["2", "3", "4"], "nothing was done");
    let done = project.proctor(["archive", "2"]).success();
    assert!(done.stdout.contains("\n1 run archived: "), "{}", done.stdout);
    assert_eq!(kept(&project), ["2.tar.zst", "3", "4"]);
    let line = project.store().ledger().pop().expect("a line says so");
    let packed = &line["body"]["runs"][0];
    assert_eq!((&line["body"]["kind"], packed["task"].as_str()), (&"archived".into(), Some("default")));
    assert_eq!(packed["manifestHash"], project.store().committed_runs()[0]["manifestHash"]);

    let log = project.proctor(["log"]).success().stdout;
    assert_eq!(log.lines().filter(|line| line.contains("PASSED") && line.ends_with("  archived")).count(), 1, "{log}");
    assert_eq!(project.proctor(["show", "2", "--json"]).success().stdout, shown);
    assert_eq!(project.proctor(["show", "2", "--log", "STEP.1"]).success().stdout, "said");
    let for_people = project.proctor(["show", "2"]).success();
    assert!(for_people.stdout.ends_with("000002.tar.zst\n"), "{}", for_people.stdout);
    assert!(
        for_people.stderr.starts_with("hint: `proctor show ") && for_people.stderr.contains(" --json`"),
        "{}",
        for_people.stderr
    );

    let verified = project.proctor(["verify", "--all", "--json"]).success().json();
    assert_eq!((&verified["archived"], &verified["runs"]), (&1.into(), &3.into()));
    assert!(project.proctor(["verify", "2"]).success().stdout.contains("archived: 1 run\n"));
    project.proctor(["verify", "default"]).success();
    project.proctor(["export", "2", "--to", "out"]).success();
    project.proctor(["verify", "out"]).success();

    let again = project.proctor(["archive", "2", "4"]).success().stdout;
    assert!(
        again.contains("stays as it is: it is archived already") && again.contains("it is the last run of its task"),
        "{again}"
    );
    project.proctor(["archive", "99"]).status(2);
    project.proctor(["archive"]).status(2);
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("[evidence]\nkeep_runs = 3\n{GREEN}"));
    project.approve();
    project.proctor(["prune"]).success();
    assert_eq!(kept(&project), ["3", "4", "6"]);
    project.proctor(["verify", "--all"]).success();
    let gone = project.proctor(["archive", "2"]).status(2);
    assert!(gone.stderr.contains("was pruned"), "{}", gone.stderr);
}

#[test]
fn tar_and_sha256sum_alone_check_an_archive() {
    let project = project_with_runs("", 2);
    project.proctor(["archive", "--days", "0"]).success();
    let archive = fs::read_dir(runs(&project)).expect("there are runs").flatten().map(|entry| entry.path());
    let archive = archive.into_iter().find(|path| path.to_string_lossy().ends_with(".tar.zst")).expect("one is archived");
    let place = project.path().join("unpacked");
    fs::create_dir(&place).expect("the project is ours");
    // `tar --zstd` could unpack the archive in one step, but would need the program `zstd`.
    let plain = zstd::decode_all(fs::File::open(&archive).expect("it is there")).expect("it is compressed");
    fs::write(project.path().join("run.tar"), plain).expect("the project is ours");
    let unpacked = Command::new("tar").args(["-xf", "../run.tar", "--strip-components=1"]).current_dir(&place).status();
    assert!(unpacked.expect("tar is there").success());
    let checked = Command::new("sha256sum").args(["--check", "--strict", "--quiet", "SHA256SUMS"]).current_dir(&place).status();
    assert!(checked.expect("coreutils are there").success());
    project.proctor(["verify", "unpacked"]).success();
}

#[test]
#[ignore = "long tier"]
fn old_runs_are_archived_by_themselves_after_every_sixteenth() {
    let project = project_with_runs("[evidence]\narchive_days = 1", 0);
    for _ in 0..14 {
        project.proctor(["run"]).env("PROCTOR_TEST_CLOCK_BACK", format!("1:{TWO_DAYS}")).success();
    }
    project.proctor(["run"]).success();
    assert!(kept(&project).iter().all(|run| !run.ends_with(".tar.zst")));
    project.proctor(["run"]).success();
    let archived = kept(&project).iter().filter(|run| run.ends_with(".tar.zst")).count();
    assert_eq!((archived, kept(&project).len()), (14, 16));
    project.proctor(["verify"]).success();
}

#[test]
fn an_export_in_one_file_is_verified_as_it_is_whether_the_run_was_archived_or_not() {
    let project = project_with_runs("", 2);
    project.proctor(["archive", "--days", "0"]).success();
    let key = project.proctor(["key", "export"]).success().stdout;
    project.save("key.pub", &key);
    for run in ["2", "3"] {
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
    let project = project_with_runs("", 1);
    project.proctor(["export", "2", "--output", "run.tar.zst"]).success();
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
