//! Tests a service that cannot judge: it names the problem everywhere at once, tries again by itself, and forgets nothing
//! that was saved meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use serde_json::Value;

use super::{LATE, ask, project, project_id, start, start_serving};
use crate::common::{Disk, poll};

/// Far less than the time-out of a wait: an answer within it was given at once.
const AT_ONCE: Duration = Duration::from_secs(30);

fn health(answer: &Value) -> Value {
    answer["project"]["health"]["problem"].clone()
}

#[test]
fn a_store_that_is_gone_is_named_at_once_and_judged_again_by_itself_when_it_is_back() {
    let project = project("true");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    let (store, aside) = (project.root().join("state/proctor"), project.root().join("aside"));
    fs::rename(&store, &aside).expect("both are below our root");
    project.save("a.txt", "two\n");
    let begun = Instant::now();
    let (code, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=10m"), "");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!((code, &answer["exitCode"], health(&answer)), (200, &5.into(), "storeNotWritable".into()), "{answer}");
    daemon.wait_for_line("the problem", LATE, |line| line.contains("cannot judge since"));
    daemon.wait_for_line("the mend", LATE, |line| line.contains("hint: the directory must be there"));
    let _made_anew = fs::remove_dir_all(&store);
    fs::rename(&aside, &store).expect("nothing is there");
    // Nothing is saved and nobody asks: the service finds out by itself.
    daemon.wait_for_line("it to be over", LATE, |line| line.contains("is judged again"));
    let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict"), "");
    assert_eq!((&answer["project"]["tasks"][0]["state"], health(&answer)), (&"fresh".into(), Value::Null), "{answer}");
    daemon.interrupt();
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_full_disk_is_named_by_wait_status_and_list_and_the_last_save_is_judged_when_there_is_room() {
    let project = project("true");
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let filled = fs::write(disk.place().join("filler"), vec![b'x'; 20_000_000]);
    assert!(filled.is_err(), "the disk takes more than it should");
    project.save("a.txt", "two\n");
    let wait = project.proctor(["wait", "--fresh", "--timeout", "5m"]).bound(AT_ONCE).status(5);
    assert!(wait.stdout.contains("the disk is full") && wait.stdout.contains("proctor prune"), "{}", wait.snapshot());
    for command in [&["status"][..], &["service", "list"]] {
        let said = project.proctor(command).success();
        assert!(said.stdout.contains("cannot judge since") && said.stdout.contains("the disk is full"), "{}", said.snapshot());
    }
    disk.enlarge();
    daemon.wait_for_line("it to be over", LATE, |line| line.contains("is judged again"));
    let wait = project.proctor(["wait", "--fresh"]).success();
    assert!(!wait.stdout.contains("cannot judge"), "{}", wait.snapshot());
    daemon.interrupt();
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_project_for_which_no_descriptor_is_left_is_named_and_the_others_are_judged() {
    let project = project("true");
    project.proctor(["service", "add"]).success();
    let proctor = crate::common::proctor().display().to_string();
    // With so few descriptors, the runs of one more project could not be made.
    let script = format!("ulimit -n 100; exec {proctor} daemon");
    let mut daemon = project.command(std::path::Path::new("/bin/sh"), ["-c", &script]).watch();
    daemon.wait_for_line("the problem", LATE, |line| line.contains("no open file is left"));
    let (_, projects) = ask(&project, "GET /v1/projects", "");
    let standing = &projects["projects"][0]["standing"];
    assert_eq!((&standing["health"]["problem"], &standing["doing"]), (&"descriptors".into(), &"closed".into()), "{projects}");
    let wait = project.proctor(["wait", "--fresh", "--timeout", "5m"]).bound(AT_ONCE).status(5);
    assert!(wait.stdout.contains("LimitNOFILE"), "{}", wait.snapshot());
    daemon.interrupt();
}

#[test]
fn two_services_never_serve_one_store_and_commands_find_the_one_that_does() {
    let project = project("true");
    let daemon = start_serving(&project);
    let elsewhere = project.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("the directory is ours");
    let second = project.proctor(["service", "daemon"]).env("XDG_RUNTIME_DIR", &elsewhere).bound(LATE).status(2);
    assert!(second.stderr.contains(&format!("by process {}", daemon.id())), "{}", second.snapshot());
    assert!(second.stderr.contains("runtime/proctor/control.sock"), "{}", second.snapshot());
    let status = project.proctor(["status", "--json"]).env("XDG_RUNTIME_DIR", &elsewhere).success().json();
    assert_eq!(status["service"]["pid"], daemon.id(), "{status}");
    daemon.interrupt();
    let mut second = project.proctor(["service", "daemon"]).env("XDG_RUNTIME_DIR", &elsewhere).watch();
    second.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    second.interrupt();
}

#[test]
fn a_check_that_is_not_there_is_refused_with_the_nearest_name_and_leaves_no_run() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let before = project.store().committed_runs().len();
    let id = project_id(&project);
    let (code, refused) = ask(&project, &format!("POST /v1/projects/{id}/runs"), r#"{"checks": ["chek"]}"#);
    assert_eq!((code, &refused["error"]["kind"]), (400, &"badRequest".into()), "{refused}");
    assert_eq!(refused["error"]["hint"], "did you mean `check`?", "{refused}");
    assert_eq!(project.store().committed_runs().len(), before);
    let (code, _) = ask(&project, &format!("POST /v1/projects/{id}/runs"), r#"{"checks": ["check"]}"#);
    assert_eq!(code, 200);
    daemon.interrupt();
}

#[test]
fn runs_that_are_asked_for_while_one_is_under_way_share_one_run() {
    let project = project("until test -e ../shared/gate; do sleep 0.05; done");
    let project = project.toml(
        &(crate::common::WRITES_TO_SHARED.to_owned()
            + &super::settings("touch ../shared/begun; until test -e ../shared/gate; do sleep 0.05; done")),
    );
    let daemon = start(&project);
    project.proctor(["service", "add"]).success();
    let id = project_id(&project);
    poll(LATE, "the first run", || project.shared("begun").exists().then_some(()).ok_or("no check runs"));
    let request = format!("POST /v1/projects/{id}/runs");
    let descriptors = format!("/proc/{}/fd", daemon.id());
    let is_socket_at =
        |entry: &fs::DirEntry| fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().starts_with("socket:"));
    let sockets = || fs::read_dir(&descriptors).expect("it lives").flatten().filter(|entry| is_socket_at(entry)).count();
    let before = sockets();
    let runs: Vec<Value> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..6).map(|_| scope.spawn(|| ask(&project, &request, "").1["runId"].clone())).collect();
        poll(LATE, "all to be connected", || {
            let now = sockets();
            if now >= before + 6 { Ok(()) } else { Err(format!("{before} sockets became {now}")) }
        });
        // What was asked before this question is in the service's queue before it.
        assert_eq!(ask(&project, "GET /v1/projects", "").0, 200);
        fs::write(project.shared("gate"), "").expect("the directory is ours");
        asked.into_iter().map(|one| one.join().expect("it is answered")).collect()
    });
    assert!(runs.iter().all(|run| run.is_string() && *run == runs[0]), "{runs:?}");
    daemon.interrupt();
}

#[test]
fn a_file_system_that_is_mounted_inside_a_project_is_watched_after_the_next_question() {
    let project = project("true").file("data/a.txt", "one\n");
    let Some(_disk) = Disk::mount(project.root().join("state")) else { return };
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    // This thread has a mount namespace of its own since the first disk, and the service is in it.
    let (inside, none) = (project.path().join("data"), None::<&str>);
    mount(Some("disk"), &inside, Some("tmpfs"), MsFlags::empty(), none).expect("root may mount");
    project.proctor(["status"]).success();
    daemon.wait_for_line("the mount to be noticed", LATE, |line| line.contains("mounted or unmounted inside the project"));
    project.proctor(["wait", "--fresh"]).success();
    let before = project.store().committed_runs().len();
    project.save("data/b.txt", "two\n");
    // The sweep would find it only after a minute.
    poll(AT_ONCE, "the save to be heard of", || {
        let now = project.store().committed_runs().len();
        if now > before { Ok(()) } else { Err(format!("{now} runs")) }
    });
    umount2(&inside, MntFlags::MNT_DETACH).expect("it is mounted");
    project.proctor(["status"]).success();
    daemon.wait_for_line("the end of the mount to be noticed", LATE, |line| line.contains("mounted or unmounted"));
    // What is mounted over the directory itself is not this project without its checks.
    mount(Some("disk"), &project.path(), Some("tmpfs"), MsFlags::empty(), none).expect("root may mount");
    project.proctor(["status"]).any_status();
    daemon.wait_for_line("another directory to be noticed", LATE, |line| line.contains("was moved, replaced or cloned anew"));
    umount2(&project.path(), MntFlags::MNT_DETACH).expect("it is mounted");
    // Whoever asks is not told for half a minute what was so before.
    project.proctor(["wait"]).success();
    daemon.interrupt();
}

#[test]
fn a_run_that_could_not_be_carried_out_is_named_by_whoever_is_asked() {
    let project = project("true").file("large", &"x".repeat(2 << 20));
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &format!("{settings}\n[sandbox]\nmax_snapshot_bytes = \"1MiB\"\n"));
    let daemon = start_serving(&project);
    for words in [&["wait", "--timeout", "20s"][..], &["status"]] {
        let said = project.proctor(words).any_status();
        assert!(said.stdout.contains("the last run failed: no snapshot can be made"), "{words:?}: {}", said.snapshot());
    }
    daemon.interrupt();
}

#[test]
fn a_watch_beside_the_service_shows_its_runs_and_makes_none_of_its_own() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the note", LATE, |line| line.contains("the service watches this project"));
    let before = project.store().committed_runs().len();
    project.save("a.txt", "two\n");
    watch.wait_for_line("the service's run", LATE, |line| line.starts_with("PASSED"));
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(project.store().committed_runs().len(), before + 1, "one save is one run");
    daemon.interrupt();
    watch.wait_for_line("the end", LATE, |line| line.contains("the service has stopped"));
    assert_eq!(watch.ended().status, 5);
}
