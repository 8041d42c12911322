//! Saves and waits, again and again: an answer always names the tree with the save that came before the question.
//!
//! `PROCTOR_STRESS_ROUNDS` says how many rounds; the suite makes a few, 1000 are made by hand.

use std::env;

use super::{ask, project, project_id, start_serving};
use crate::tree::digest_in_python;

fn rounds() -> usize {
    env::var("PROCTOR_STRESS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn no_answer_is_for_another_tree_than_the_one_with_the_last_save() {
    let project = project("cat a.txt b/c.txt >/dev/null; sleep 0.0$(($(wc -c <a.txt) % 3))");
    project.save("b/c.txt", "start\n");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    for round in 0..rounds() {
        // Same length every other time, so that only times and content tell.
        project.save("a.txt", &format!("{:03}\n{}", round % 7, "x".repeat(round % 5)));
        let is_restless = round % 3 == 0;
        let noise = is_restless.then(|| {
            let path = project.path().join("b/c.txt");
            // A save while the run for the first one may be under way; it is over before the question.
            std::fs::write(path, format!("{round}\n")).expect("it can be written");
        });
        // Two ask at once; nobody saves until both have their answer.
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
            // Whatever is called fresh is a verdict for the tree that was looked at.
            assert!(task["state"] != "fresh" || task["tree"] == task["verdict"]["tree"], "{answer}");
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=60s"), "");
    assert_eq!(answer["project"]["tasks"][0]["verdict"]["tree"], digest_in_python(&project.path(), &[]), "{answer}");
    daemon.interrupt();
}
