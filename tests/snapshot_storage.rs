//! Tests the disk space of snapshots: `proctor doctor` names it, and `prune` and `remove` free it, but never during a
//! run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, poll};

const LATE: Duration = Duration::from_secs(60);

const CHECK: &str = r#"
[sandbox]
writable = ["../shared"]
[[check]]
name = "waits while it is held"
command = ["fake-tool", "--script", "set -e; touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; ls"]
"#;

/// Returns the names in the directory of all snapshots.
fn snapshots(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.root().join("state/proctor/snapshots")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns what `proctor doctor` says about snapshots: of the only project, and of the store.
fn doctor(project: &Project) -> (Value, Value) {
    let machine = project.proctor(["doctor", "--json"]).success().json()["machine"].clone();
    (machine["projects"][0]["snapshot"].clone(), machine["snapshots"].clone())
}

#[test]
fn doctor_says_whether_a_snapshot_can_be_had_and_what_the_snapshots_take() {
    let project = Project::new().toml(CHECK).file("large.txt", &"x".repeat(300_000));
    assert_eq!(doctor(&project).0["possible"], true);
    project.proctor(["run"]).success();
    let (of_project, of_store) = doctor(&project);
    let copies = of_project["copiesBytes"].as_u64().expect("a number");
    assert!((300_000..2_000_000).contains(&copies), "{copies}");
    assert!(of_store["bytes"].as_u64() >= Some(copies) && of_store["unusedBytes"] == 0, "{of_store}");
    let screen = project.proctor(["doctor"]).success().stdout;
    assert!(screen.contains("\n  snapshot            can be had · copies 1 MiB, layers "), "{screen}");
    // Each obstacle is named without a run.
    for (toml, reason) in [
        ("[sandbox]\nsnapshot = \"off\"\n", "`sandbox.snapshot` is \"off\""),
        ("[sandbox]\nmax_snapshot_bytes = \"1MiB\"\n", "the tree holds"),
    ] {
        project.save("proctor.toml", &format!("{toml}[[check]]\nname = \"x\"\ncommand = \"true\"\n"));
        project.save("huge.txt", &"x".repeat(2_000_000));
        let obstacle = doctor(&project).0["obstacle"].as_str().unwrap_or_default().to_owned();
        assert!(obstacle.contains(reason), "{obstacle}");
    }
}

#[test]
fn prune_removes_what_nothing_needs_and_all_only_when_asked() {
    let project = Project::new().toml(CHECK).file("a.txt", "");
    project.proctor(["run"]).success();
    let [own] = &snapshots(&project)[..] else { panic!("one project has run") };
    let layer = own.join("layers/1/upper/closed");
    fs::create_dir_all(&layer).expect("the store is ours");
    fs::set_permissions(&layer, fs::Permissions::from_mode(0o000)).expect("the store is ours");
    let gone = own.with_file_name("gone-0000002a");
    fs::create_dir_all(gone.join("tree/base")).expect("the store is ours");
    let planned = project.proctor(["prune", "--dry-run"]).success().stdout;
    assert!(planned.contains("snapshots of gone-0000002a") && gone.exists() && layer.exists(), "{planned}");
    project.proctor(["prune"]).success();
    assert!(!gone.exists() && !own.join("layers").exists() && own.join("tree").exists());
    project.proctor(["prune", "--snapshots"]).success();
    assert!(!own.exists());
    project.proctor(["run"]).success();
    assert!(own.join("tree").exists(), "it is made again");
    project.proctor(["service", "remove", "."]).success();
    assert!(!own.exists(), "a project that is not watched keeps none");
}

#[test]
fn nothing_is_removed_while_a_run_is_under_way() {
    let project = Project::new().toml(CHECK).file("a.txt", "");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    let [own] = &snapshots(&project)[..] else { panic!("one project runs") };
    // The evidence is locked too, so `prune` of this project would wait. Another project asks.
    let other = project.root().join("other");
    fs::create_dir(&other).expect("the root is ours");
    fs::write(other.join("proctor.toml"), "[[check]]\nname = \"x\"\ncommand = \"true\"\n").expect("the root is ours");
    project.proctor(["run", &other.display().to_string()]).success();
    let pruned = project.proctor(["prune", "--snapshots", &other.display().to_string()]).success().stdout;
    assert!(pruned.contains("are in use and kept") && own.join("tree").exists() && own.join("layers").exists(), "{pruned}");
    fs::remove_file(project.shared("hold")).expect("it was held");
    assert_eq!(run.ended().status, 0);
}

/// The service is started again, and no run is due: the verdict from before is still fresh.
#[test]
fn a_service_removes_at_its_start_what_a_killed_run_left() {
    let project = Project::new().toml("[[check]]\nname = \"x\"\ncommand = \"true\"\n");
    let served = crate::daemon::start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    served.interrupt();
    let [own] = &snapshots(&project)[..] else { panic!("one project runs") };
    let left = own.join("layers/1/upper");
    fs::create_dir_all(&left).and_then(|()| fs::write(left.join("left"), "x")).expect("the store is ours");
    let runs = project.store().committed_runs().len();
    let mut service = project.proctor(["service", "daemon"]).watch();
    service.wait_for_line("the project", LATE, |line| line.contains("watching"));
    assert!(!left.exists(), "it is removed before the project is served");
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(project.store().committed_runs().len(), runs, "no run was due");
    service.interrupt();
}
