//! A disk that fills up while a check runs: the program says so and ends, no process is left, sealed runs stay valid,
//! and the next run with free space is green.
//!
//! The disk is a small file system of its own, mounted where no other process sees it. Only root can mount it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Disk, KeptEvidence, Project, poll, processes_of};

/// More bytes than the small file system can hold.
const TOO_MUCH: usize = 20_000_000;
/// The time limit of every command and every wait.
const BOUND: Duration = Duration::from_secs(30);

const SETTINGS: &str = "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n[watch]\nignore = [\"/what\"]\n";
/// The check leaves a process that keeps the check's output open, and then runs the script `what`.
const CHECK: &str = "setsid sh -c 'sleep 600; :' &\n. ./what\n";

/// A way to fill the disk.
struct Filling {
    /// The script that the check runs.
    script: &'static str,
    /// The exit status of the run.
    status: i32,
    /// A text that the output of the run must contain.
    says: &'static str,
}

const fn fills(script: &'static str, says: &'static str) -> Filling {
    Filling { script, status: 5, says }
}

const FILLINGS: &[Filling] = &[
    fills("head -c 20000000 /dev/zero | tr '\\0' x", "`proctor prune` removes old evidence"),
    fills("head -c 20000000 /dev/zero >\"$PROCTOR_OUT/big\"; echo more", "`proctor prune` removes old evidence"),
    fills("head -c 20000000 /dev/zero >/tmp/big; echo more", "`proctor prune` removes old evidence"),
    fills("head -c 20000000 /dev/zero >/tmp/big 2>/dev/null; exit 1", "failed on a full disk"),
    fills("head -c 20000000 /dev/zero >what.big 2>/dev/null; exit 1", "failed on a full disk"),
    // This check frees the space again and prints nothing while the disk is full, so its exit code decides the verdict.
    Filling { script: "head -c 20000000 /dev/zero >/tmp/big 2>/dev/null; rm /tmp/big", status: 0, says: "PASSED" },
];

fn project() -> Project {
    Project::new().toml(SETTINGS).file("check.sh", CHECK).file("what", "true\n")
}

fn kept(project: &Project) -> KeptEvidence {
    KeptEvidence::only(&project.root().join("state/proctor"))
}

fn statuses(project: &Project) -> Vec<String> {
    kept(project).check().into_iter().map(|run| run.status).collect()
}

#[test]
fn a_check_that_fills_the_disk_leaves_nothing_and_what_was_sealed_stays() {
    for Filling { script, status, says } in FILLINGS {
        let project = project();
        let Some(disk) = Disk::mount(project.root().join("state")) else { return };
        project.proctor(["run"]).success();
        project.save("what", script);
        let full = project.proctor(["run"]).bound(BOUND).any_status();
        let said = full.snapshot();
        assert_eq!(full.status, *status, "{script}: {said}");
        assert!(said.contains(says), "{script}: {said}");
        let names_disk = said.contains("the evidence lies on `<state>`, where ") && said.contains(" MiB are free now");
        assert_eq!(names_disk, *status == 5, "{script}: {said}");
        assert_eq!(processes_of(project.root()), [], "{script}");
        if *status == 0 {
            assert_eq!(statuses(&project), ["SUCCESS", "SUCCESS"], "{script}: {said}");
            continue;
        }
        assert_eq!(statuses(&project), ["SUCCESS"], "{script}: {said}");
        expect_green_with_space(&project, &disk, script);
    }
}

#[test]
fn on_a_disk_that_is_full_already_every_run_says_so_until_there_is_space() {
    let project = project();
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    project.proctor(["run"]).success();
    fill(disk.place());
    for _ in 0..3 {
        let full = project.proctor(["run"]).bound(BOUND).status(5);
        assert!(full.stderr.contains("No space left on device"), "{}", full.snapshot());
        assert!(full.stderr.contains("free some space there and run the command again"), "{}", full.snapshot());
        assert_eq!(processes_of(project.root()), []);
        assert_eq!(statuses(&project), ["SUCCESS"]);
        let listed = project.proctor(["log"]).success();
        assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.snapshot());
    }
    expect_green_with_space(&project, &disk, "full already");
}

/// As with the service, a wait names what keeps it from a verdict, and ends at once and not with a fault of proctor.
#[test]
fn a_wait_without_the_service_names_the_full_disk_and_says_that_there_is_no_fresh_verdict() {
    let project = project();
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    project.proctor(["run"]).success();
    fill(disk.place());
    // The copy of the tree is dropped, and what it took must not be room enough.
    project.save("what", "head -c 400000 /dev/zero | tr '\\0' x\n");
    project.save("saved.txt", "1\n");
    let wait = project.proctor(["wait", "--fresh", "--timeout", "5m"]).bound(BOUND).status(5);
    // Where the index can be read, the state is on standard output with the problem; else the problem alone is an error.
    for words in ["cannot judge: the disk is full", "proctor prune", "then run the command again"] {
        assert!(format!("{}{}", wait.stdout, wait.stderr).contains(words), "{words}: {}", wait.snapshot());
    }
    project.proctor(["wait", "--fresh", "--json"]).bound(BOUND).status(5);
    disk.enlarge();
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(processes_of(project.root()), []);
}

/// The reserve is there without the service, and a command that removes nothing leaves it there.
#[test]
fn on_a_full_disk_evidence_can_be_removed_and_a_person_can_decide() {
    let limited = |limit: u32| format!("{SETTINGS}[evidence]\nkeep_runs = {limit}\n");
    let project = project();
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    project.save("proctor.toml", &limited(2));
    (0..3).for_each(|_| drop(project.proctor(["run"]).success()));
    let reserve = project.root().join("state/proctor/reserve");
    let reserved = || fs::metadata(&reserve).map(|metadata| metadata.len()).unwrap_or_default();
    assert_eq!(reserved(), 1024 * 1024, "a run writes the reserve");
    fill(disk.place());
    project.save("proctor.toml", &limited(1));
    project.proctor(["prune"]).bound(BOUND).status(3);
    assert!(reserved() >= 64 * 1024, "nothing was approved or removed: {}", reserved());
    project.approve();
    assert!(reserved() >= 64 * 1024, "an approval leaves room for others: {}", reserved());
    let pruned = project.proctor(["prune"]).bound(BOUND).success();
    assert!(pruned.stdout.contains("2 runs, ") && pruned.stdout.contains("; 1 run is kept"), "{}", pruned.snapshot());
    project.proctor(["prune"]).bound(BOUND).success();
    assert!(reserved() >= 64 * 1024, "there was nothing to remove: {}", reserved());
    disk.enlarge();
    project.proctor(["run"]).success();
    assert_eq!(reserved(), 1024 * 1024, "the next run completes the reserve");
    project.proctor(["verify", "--all"]).success();
}

/// The index is behind the ledger and cannot be brought up to date, so the ledger is read.
#[test]
fn on_a_full_disk_the_state_is_read_from_the_ledger_with_the_problem() {
    let project = project();
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    project.proctor(["run"]).success();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _absent = fs::remove_file(project.root().join("state/proctor").join(name));
    }
    fill(disk.place());
    for command in [["status"].as_slice(), &["service", "list"], &["status", "--all"]] {
        let shown = project.proctor(command).bound(BOUND).success();
        for words in ["PASS", "the disk is full", "proctor prune"] {
            assert!(shown.stdout.contains(words), "{command:?}: {words}: {}", shown.snapshot());
        }
    }
    disk.enlarge();
    project.proctor(["wait", "--fresh"]).success();
}

#[test]
fn a_watch_says_that_the_disk_is_full_and_goes_on_when_there_is_space() {
    let project = project();
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    let mut watch = project.watch(["."]);
    watch.wait_for_verdict();
    project.save("what", FILLINGS[0].script);
    project.save("saved.txt", "1\n");
    watch.wait_for_line("the hint", BOUND, |line| line.contains(FILLINGS[0].says));
    poll(BOUND, "nobody of the check to be alive", || {
        let alive = processes_of(project.root());
        let others: Vec<_> = alive.into_iter().filter(|(_, command)| !command.contains("proctor")).collect();
        if others.is_empty() { Ok(()) } else { Err(format!("{others:?}")) }
    });
    assert_eq!(statuses(&project), ["SUCCESS"]);
    disk.enlarge();
    project.save("what", "true\n");
    project.save("saved.txt", "2\n");
    // The watch first reports the run that the full disk cut short, and then the run of this save.
    let verdicts = [(); 2].map(|()| watch.wait_for_verdict()["overallStatus"].clone());
    assert_eq!(verdicts, ["INTERRUPTED", "SUCCESS"], "{}", watch.text());
    watch.interrupt();
    expect_settled(&project, "a watch");
}

/// Frees space and runs again. The run that was cut short must be sealed as interrupted, and no unfinished file may be
/// left.
#[track_caller]
fn expect_green_with_space(project: &Project, disk: &Disk, what: &str) {
    disk.enlarge();
    project.save("what", "true\n");
    let next = project.proctor(["run"]).success();
    assert!(next.stderr.contains("kept as INTERRUPTED"), "{what}: {}", next.snapshot());
    expect_settled(project, what);
}

/// Expects that every run is sealed, the last one is green, and no process is left.
#[track_caller]
fn expect_settled(project: &Project, what: &str) {
    assert_eq!(statuses(project), ["SUCCESS", "INTERRUPTED", "SUCCESS"], "{what}");
    let kept = kept(project);
    let committed = kept.check();
    assert_eq!(kept.unsealed(&committed), Vec::<String>::new(), "{what}");
    assert_eq!(kept.latest().as_deref(), committed.last().map(|run| run.run_id.as_str()), "{what}");
    assert_eq!(processes_of(project.root()), [], "{what}");
}

/// Fills the file system with one file.
#[track_caller]
fn fill(directory: &Path) {
    let written = fs::write(directory.join("filler"), vec![b'x'; TOO_MUCH]);
    assert!(written.is_err(), "the disk takes more than it should");
}
