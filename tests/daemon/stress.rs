//! Saves followed by waits, many times: an answer must always name the tree that includes the last save before the request.
//!
//! `PROCTOR_STRESS_ROUNDS` is the number of rounds in the wide tier.

use std::env;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{LATE, ask, project, project_id, settings, start_serving};
use crate::common::{Project, poll};
use crate::tree::digest_in_python;

/// The number of rounds outside of the wide tier.
const ROUNDS_OF_THE_SAMPLE: usize = 5;

fn rounds() -> usize {
    env::var("PROCTOR_STRESS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn after_some_saves_no_answer_is_for_another_tree() {
    save_and_ask(ROUNDS_OF_THE_SAMPLE);
}

#[test]
#[ignore = "wide tier"]
fn no_answer_is_for_another_tree_than_the_one_with_the_last_save() {
    save_and_ask(rounds());
}

#[track_caller]
fn save_and_ask(rounds: usize) {
    let project = project("cat a.txt b/c.txt >/dev/null; sleep 0.0$(($(wc -c <a.txt) % 3))");
    project.save("b/c.txt", "start\n");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    for round in 0..rounds {
        // The number in the file repeats after 7 rounds, and the length of the file after 5 rounds.
        project.save("a.txt", &format!("{:03}\n{}", round % 7, "x".repeat(round % 5)));
        let is_restless = round % 3 == 0;
        let noise = is_restless.then(|| {
            let path = project.path().join("b/c.txt");
            // This second save may come while a run tests the first save of the round. The second save is over before
            // the requests are sent.
            std::fs::write(path, format!("{round}\n")).expect("it can be written");
        });
        // Two clients ask at the same time. Nobody saves until both have their answers.
        let asked = std::thread::scope(|scope| {
            let ask_one = || ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
            let other = scope.spawn(ask_one);
            [ask_one(), other.join().expect("it does not panic")]
        });
        let expected = digest_in_python(&project.path(), &[]);
        for (code, answer) in asked {
            let task = &answer["project"]["tasks"][0];
            let seen = (code, answer["inTime"].as_str(), task["state"].as_str(), task["verdict"]["tree"].as_str());
            assert_eq!(
                seen,
                (200, Some("answered"), Some("fresh"), Some(expected.as_str())),
                "round {round}, {noise:?}: {answer}"
            );
        }
    }
    daemon.interrupt();
}

#[test]
fn saves_that_never_end_lead_to_no_wrong_answer() {
    let project = project("cat a.txt >/dev/null");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                number += 1;
                project.save("a.txt", &format!("{number}\n"));
                std::thread::yield_now();
            }
        });
        for _ in 0..rounds().div_ceil(4) {
            let (code, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=300ms"), "");
            let task = &answer["project"]["tasks"][0];
            assert_eq!(code, 200, "{answer}");
            // A task that is called fresh must have a verdict for the tree of the same answer.
            assert!(task["state"] != "fresh" || task["tree"] == task["verdict"]["tree"], "{answer}");
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
    assert_eq!(answer["project"]["tasks"][0]["verdict"]["tree"], digest_in_python(&project.path(), &[]), "{answer}");
    daemon.interrupt();
}

/// Does one of the things that people, editors and tools do to a tree, chosen by a number.
#[expect(clippy::disallowed_methods, reason = "the test saves files as tools do")]
fn disturb(root: &Path, random: u64) {
    let (what, which) = (random % 11, random / 11 % 4);
    let text = format!("{}\n", random / 44 % 3);
    let file = root.join(format!("notes/{which}.txt"));
    let directory = root.join(format!("notes/deep{which}/a/b"));
    // Some of these operations fail, for example the removal of a missing file. That is a valid disturbance too.
    let _some_fail = match what {
        0..3 => std::fs::write(&file, text),
        3 => std::fs::write(root.join("notes/.save~"), text).and_then(|()| std::fs::rename(root.join("notes/.save~"), &file)),
        4 => std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(directory.join("new.txt"), text)),
        5 => std::fs::remove_file(&file),
        6 => std::fs::remove_dir_all(root.join(format!("notes/deep{which}"))),
        7 => std::fs::set_permissions(&file, PermissionsExt::from_mode(if random.is_multiple_of(2) { 0o755 } else { 0o644 })),
        8 => std::fs::remove_file(root.join("notes/link")).or(Ok(())).and_then(|()| symlink(&text, root.join("notes/link"))),
        9 => std::fs::rename(root.join("notes/deep1"), root.join(format!("notes/moved{which}"))),
        _ => std::fs::write(root.join("notes/.gitignore"), format!("{which}.txt\n")),
    };
}

/// The disturbances trigger no check, so no run has looked at the tree before the status is requested.
#[test]
fn after_some_disturbances_a_status_names_the_tree_that_is_there() {
    disturb_and_look(ROUNDS_OF_THE_SAMPLE);
}

#[test]
#[ignore = "wide tier"]
fn a_status_names_the_tree_with_the_save_right_before_it() {
    disturb_and_look(rounds());
}

#[track_caller]
fn disturb_and_look(rounds: usize) {
    let toml = settings("cat a.txt >/dev/null").replace("command =", "paths = [\"a.txt\"]\ncommand =");
    let project = Project::new().toml(&toml).file("a.txt", "one\n").file("notes/0.txt", "0\n");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
    let mut random = 20_260_101_u64;
    let (mut fresh, mut others) = (0, 0);
    for round in 0..rounds * 4 {
        for _ in 0..=round % 3 {
            // A linear congruential generator with Knuth's multiplier. Its low bits repeat soon, so the high bits are
            // used.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            disturb(&project.path(), random >> 33);
        }
        if round % 5 == 0 {
            std::fs::remove_dir_all(project.path().join("notes")).expect("it is there");
            project.save("notes/0.txt", "0\n");
        }
        let task = poll(LATE, "a look at the tree", || {
            let (code, status) = ask(&project, "GET /v1/status", "");
            assert_eq!(code, 200, "{status}");
            let task = status["projects"][0]["tasks"][0].clone();
            // While the service finds out whether a run is needed, the answer names no tree.
            if task["tree"].is_string() { Ok(task) } else { Err(task.to_string()) }
        });
        let expected = digest_in_python(&project.path(), &[]);
        assert_eq!(task["tree"], expected, "round {round}: {task}");
        let is_fresh = task["state"] == "fresh";
        assert_eq!(is_fresh, task["verdict"]["tree"] == expected, "round {round}: {task}");
        if is_fresh { fresh += 1 } else { others += 1 }
    }
    assert!(fresh > 0 && others > 0, "both were met: {fresh} and {others}");
    daemon.interrupt();
}

/// A write through a hard link outside of the project causes no event. A wait must notice the write at once, and a
/// status after the next periodic scan of the whole tree (the sweep).
#[test]
fn a_write_by_a_name_outside_of_the_tree_is_in_the_answer_of_a_wait() {
    let project = project("cat a.txt >/dev/null");
    project.save("proctor.toml", &format!("{}\n[watch]\nsweep = \"1s\"\n", settings("cat a.txt >/dev/null")));
    project.save("b.txt", "one\n");
    let outside = project.root().join("another-name");
    std::fs::hard_link(project.path().join("b.txt"), &outside).expect("a second name");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    for text in ["two\n", "three\n"] {
        ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
        write(&outside, text);
        let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
        let task = &answer["project"]["tasks"][0];
        let expected = digest_in_python(&project.path(), &[]);
        assert_eq!((&task["state"], &task["verdict"]["tree"]), (&"fresh".into(), &expected.clone().into()), "{answer}");
        write(&outside, "again\n");
        let expected = digest_in_python(&project.path(), &[]);
        poll(LATE, "the sweep", || {
            let (_, status) = ask(&project, "GET /v1/status", "");
            let tree = status["projects"][0]["tasks"][0]["tree"].clone();
            if tree == expected { Ok(()) } else { Err(status.to_string()) }
        });
    }
    daemon.interrupt();
}

#[expect(clippy::disallowed_methods, reason = "the test saves files as tools do")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("it can be written");
}
