//! Tests what the service does with its projects: it tests saves, answers waits, runs checks, adds and removes projects,
//! and ends.

use std::os::unix::fs::MetadataExt as _;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{LATE, ask, project, project_id, settings, start, start_serving};
use crate::common::{Project, WRITES_TO_SHARED, poll, redact};

#[track_caller]
fn state(project: &Project) -> String {
    let status = project.proctor(["status", "--json"]).success().json();
    assert!(status["service"]["pid"].is_u64(), "the service was not asked: {status}");
    status["projects"][0]["tasks"][0]["state"].as_str().expect("a state").to_owned()
}

#[track_caller]
fn wait_until(project: &Project, wanted: &str) {
    poll(LATE, "the state", || match state(project) {
        state if state == wanted => Ok(()),
        other => Err(other),
    });
}

#[test]
fn a_save_leads_to_a_verdict_and_a_wait_answers_for_the_tree_with_it() {
    let project = project("grep -q one a.txt");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(state(&project), "fresh");
    project.save("a.txt", "two\n");
    let answer = project.proctor(["wait", "--fresh", "--json"]).failure().json();
    assert_eq!(answer["project"]["serving"], "served");
    project.save("a.txt", "one\n");
    // The save alone leads to a verdict; no command has asked for one.
    wait_until(&project, "fresh");
    project.proctor(["wait", "--fresh", "--timeout", "0"]).success();
    assert_eq!(daemon.interrupt().status, 130);
}

/// A save must not make the editor stutter; who types a command waits for it. So only what a save starts gives way to other programs.
#[test]
fn checks_that_a_save_starts_give_way_to_other_programs() {
    let project =
        Project::new().toml(&format!("[[check]]\nname = \"priority\"\ncommand = [\"sh\", \"priority.sh\"]\n{WRITES_TO_SHARED}"));
    let seen = project.shared("priorities");
    let script = format!("cut -d' ' -f19 /proc/self/stat >> {0}\nionice >> {0}\n", seen.display());
    let project = project.file("priority.sh", &script).file("a.txt", "one\n");
    let priorities = || {
        let lines = std::fs::read_to_string(&seen).unwrap_or_default();
        lines.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    project.proctor(["run"]).success();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    project.save("a.txt", "two\n");
    poll(LATE, "the run that the save starts", || (priorities().len() == 4).then_some(()));
    wait_until(&project, "fresh");
    let seen = priorities();
    let number = |text: &str| text.parse::<i32>().expect("a number");
    assert_eq!(number(&seen[2]), (number(&seen[0]) + 5).min(19), "{seen:?}");
    assert!(!seen[1].contains("prio 7") && seen[3].contains("best-effort: prio 7"), "{seen:?}");
    daemon.interrupt();
}

#[test]
fn a_question_about_one_root_is_answered_about_it_alone() {
    let project = project("true");
    let _daemon = start_serving(&project);
    for (name, is_watched) in [("watched", true), ("registered", false)] {
        let other = project.root().join(name);
        std::fs::create_dir(&other).expect("the directory is ours");
        std::fs::write(other.join("proctor.toml"), settings("true")).expect("the directory is ours");
        let other = other.display().to_string();
        if is_watched {
            project.proctor(["service", "add", &other]).success();
        } else {
            project.proctor(["run", &other]).success();
        }
    }
    project.proctor(["wait", "--fresh"]).success();
    let root = project.path().display().to_string();
    let unwatched = project.root().join("registered").display().to_string();
    for (path, all) in [("status", 2), ("projects", 3)] {
        let about = |query: &str| {
            let (code, answer) = ask(&project, &format!("GET /v1/{path}{query}"), "");
            let projects = answer["projects"].as_array().cloned().unwrap_or_default();
            (code, projects.iter().filter_map(|one| one["root"].as_str().map(str::to_owned)).collect::<Vec<_>>())
        };
        assert_eq!(about("").1.len(), all, "{path}");
        assert_eq!(about(&format!("?root={root}")), (200, vec![root.clone()]), "{path}");
        for other in [unwatched.as_str(), "/nowhere"] {
            assert_eq!(about(&format!("?root={other}")), (200, Vec::new()), "{path} {other}");
        }
        assert_eq!(about("?root=shop").0, 400, "{path}");
    }
    let listed = project.proctor(["service", "list", "--json"]).success().json();
    assert_eq!(listed["projects"].as_array().map(Vec::len), Some(3), "{listed:#}");
}

#[test]
fn a_run_is_handed_over_and_looks_as_one_that_was_made_here() {
    let project = project("echo hello; exit 1");
    let here = project.proctor(["run"]).failure();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).failure();
    let before = project.store().committed_runs().len();
    let there = project.proctor(["run"]).failure();
    let redactions = project.redactions();
    assert_eq!(redact(&there.stdout, &redactions), redact(&here.stdout, &redactions));
    let runs = project.store().committed_runs();
    assert_eq!(runs.len(), before + 1);
    let report = project.proctor(["run", "--json"]).failure().json();
    assert_eq!(report["trigger"]["kind"], "request");
    let elsewhere = project.proctor(["run"]).env("VIRTUAL_ENV", "/nowhere").failure();
    assert!(
        elsewhere.stderr.contains("differs from the caller's in: VIRTUAL_ENV; running here instead"),
        "{}",
        elsewhere.snapshot()
    );
    assert_eq!(redact(&elsewhere.stdout, &redactions), redact(&here.stdout, &redactions));
    let askers: Vec<Value> = project.store().ledger().iter().map(|line| line["asker"]["pid"].clone()).collect();
    assert!(askers.contains(&daemon.id().into()), "the service asked for the runs it made: {askers:?}");
    daemon.interrupt();
}

#[test]
fn a_run_that_is_handed_over_shows_at_the_terminal_what_goes_on() {
    let project = project("true");
    // The check runs until the file `gate` exists, so the terminal can show the running check first.
    let gate = project.shared("gate");
    let command = "until test -e ../shared/gate; do sleep 0.02; done";
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &settings(command)));
    std::fs::write(&gate, "").expect("the directory is ours");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    std::fs::remove_file(&gate).expect("it is there");
    let mut terminal = project.proctor(["run"]).at_terminal();
    terminal.wait_for("… check (0 done)", LATE);
    std::fs::write(&gate, "").expect("the directory is ours");
    terminal.wait_for("PASSED", LATE);
    assert_eq!(terminal.ended().status, 0);
    daemon.interrupt();
}

/// A save that triggers no check makes the last verdict stale. A wait then runs the check, also with `reuse`: what triggers a
/// check is no proof of what it reads.
#[test]
fn a_wait_after_a_save_that_triggers_nothing_runs_the_check_on_the_new_tree() {
    for reuse in ["off", "watch"] {
        let shared = "[sandbox]\nwritable = [\"../shared\"]\n";
        let check = settings("echo x >>../shared/steps; cat a.txt").replace("command =", "paths = [\"a.txt\"]\ncommand =");
        let project = Project::new().toml(&format!("{check}{shared}\n[run]\nreuse = \"{reuse}\"\n")).file("a.txt", "one\n");
        let daemon = start_serving(&project);
        project.proctor(["wait", "--fresh"]).success();
        project.save("notes.txt", "no check reads it\n");
        wait_until(&project, "stale");
        let answer = project.proctor(["wait", "--fresh", "--json"]).success().json();
        assert_eq!(answer["project"]["tasks"][0]["verdict"]["tree"], crate::tree::digest_in_python(&project.path(), &[]));
        let report = project.proctor(["show", "--json"]).success().json();
        assert_eq!(report["trigger"]["kind"], "wait");
        assert_eq!(report["stepExecution"]["results"][0]["disposition"], "EXECUTED", "{reuse}");
        let steps = std::fs::read_to_string(project.shared("steps")).expect("the check wrote it");
        assert_eq!(steps.lines().count(), 2, "{reuse}");
        daemon.interrupt();
    }
}

#[test]
fn a_project_that_is_removed_and_added_keeps_its_id_and_its_evidence() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    project.proctor(["service", "remove"]).success();
    let list = project.proctor(["service", "list"]).success();
    assert!(list.stdout.contains(&id) && list.stdout.contains("not served"), "{}", list.snapshot());
    project.save("a.txt", "two\n");
    let status = project.proctor(["status"]).success();
    assert!(status.stdout.contains("stale"), "what is not served is looked at all the same: {}", status.snapshot());
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(project_id(&project), id);
    let kinds: Vec<Value> = project.store().ledger().into_iter().map(|line| line["body"]["serving"].clone()).collect();
    let serving: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
    assert_eq!(serving, ["served", "notServed", "served"]);
    daemon.interrupt();
}

#[test]
fn a_list_says_how_projects_are_watched_what_goes_on_and_the_last_verdict() {
    let project = project("grep -q one a.txt");
    project.proctor(["run"]).success();
    let alone = project.proctor(["service", "list"]).success();
    assert!(alone.stdout.contains("not served") && alone.stdout.contains("\n  last PASS of run "), "{}", alone.snapshot());
    let daemon = start_serving(&project);
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).failure();
    let list = project.proctor(["service", "list"]).success();
    assert!(list.stdout.contains("\n  watched · idle · last FAIL of run "), "{}", list.snapshot());
    let document = project.proctor(["service", "list", "--json"]).success().json();
    let standing = &document["projects"][0]["standing"];
    assert_eq!((&standing["watching"], &standing["doing"]), (&"events".into(), &"idle".into()), "{document}");
    assert_eq!((&standing["verdict"]["result"], &standing["problems"]), (&"FAILED".into(), &serde_json::json!([])), "{document}");
    let (_, there) = ask(&project, "GET /v1/projects", "");
    assert_eq!(document, there);
    daemon.interrupt();
    let gone = project.proctor(["service", "list", "--json"]).success().json();
    assert_eq!(gone["projects"][0]["standing"]["watching"], "notWatched");
}

#[test]
fn why_says_what_the_service_heard_of_a_path_and_what_came_of_it() {
    let project = project("true").file(".gitignore", "*.log\n").file("od d/a&b.txt", "one\n");
    let alone = project.proctor(["why", "a.txt"]).success();
    assert!(!alone.stdout.contains("the service"), "{}", alone.snapshot());
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let said = |path: &str| project.proctor(["why", path]).success().stdout;
    assert!(said("a.txt").ends_with("the service has heard nothing of it, or too much else since\n"));
    project.save("a.txt", "two\n");
    project.save("b.log", "noise\n");
    project.save("od d/a&b.txt", "two\n");
    // The service answers a status only after it has handled all earlier events, so both saves are known by now.
    project.proctor(["wait", "--fresh"]).success();
    project.proctor(["status"]).success();
    for path in ["a.txt", "od d/a&b.txt"] {
        let text = said(path);
        let expected = "the service heard last: closed after writing; it belonged to the tree, the tree was looked at\n";
        assert!(text.ends_with(expected), "{text}");
    }
    let text = said("b.log");
    let expected = "closed after writing; it was left out by `*.log` (.gitignore:1), nothing came of it\n";
    assert!(text.ends_with(expected), "{text}");
    let document = project.proctor(["why", "b.log", "--json"]).success().json();
    assert_eq!((&document["belongs"], &document["lastEvent"]["belonged"]), (&false.into(), &false.into()), "{document}");
    daemon.interrupt();
    let document = project.proctor(["why", "b.log", "--json"]).success().json();
    assert_eq!(document["lastEvent"], Value::Null);
}

#[test]
fn the_service_stops_what_runs_seals_it_and_ends_with_0() {
    let project = project("true");
    let begun = project.shared("begun");
    let command = format!("touch {} && sleep 600", begun.display());
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &settings(&command)));
    let mut daemon = start_serving(&project);
    // The service says `running` a moment before there is a run to seal.
    poll(LATE, "the check", || Some(()).filter(|()| begun.exists()).ok_or("not begun"));
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.ended().status, 0);
    let runs = project.store().committed_runs();
    assert_eq!(runs.last().map(|run| run["overallStatus"].clone()), Some("INTERRUPTED".into()));
    assert!(!super::socket(&project).exists(), "the socket is taken away");
}

#[test]
fn a_service_that_was_killed_is_followed_by_one_that_knows_everything() {
    let project = project("grep -q one a.txt");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let runs = project.store().committed_runs().len();
    daemon.signal(Signal::SIGKILL);
    assert_eq!(daemon.ended().status, 137);
    assert!(super::socket(&project).exists(), "nobody took the socket away");
    let mut daemon = start(&project);
    daemon.wait_for_line("the project", LATE, |line| line.contains("watching"));
    wait_until(&project, "fresh");
    assert_eq!(project.store().committed_runs().len(), runs, "a verdict that is fresh is not made again at the start");
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).failure();
    daemon.interrupt();
}

#[test]
fn a_project_that_is_gone_or_wrongly_configured_is_named_and_taken_up_again() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    project.save("proctor.toml", "[[check]]\nnaem = 1\n");
    project.proctor(["wait", "--fresh"]).status(4);
    project.save("proctor.toml", &settings("true"));
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    let elsewhere = project.root().join("elsewhere");
    std::fs::rename(project.path(), &elsewhere).expect("it can be moved");
    let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh"), "");
    assert_eq!((&answer["project"]["tasks"][0]["state"], &answer["exitCode"]), (&"rootMissing".into(), &5.into()));
    std::fs::rename(&elsewhere, project.path()).expect("it can be moved back");
    let (_, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?wait=fresh"), "");
    assert_eq!(answer["project"]["tasks"][0]["state"], "fresh");
    daemon.interrupt();
}

#[test]
fn a_project_that_was_moved_is_served_at_its_new_place() {
    let project = project("grep -q one a.txt");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    let elsewhere = project.root().join("elsewhere");
    let there = |arguments: &[&str]| project.proctor(arguments).directory(&elsewhere.display().to_string());
    std::fs::rename(project.path(), &elsewhere).expect("it can be moved");
    there(&["run", "--identity", "same"]).success();
    let answer = there(&["wait", "--fresh", "--json"]).success().json();
    assert_eq!(answer["project"]["serving"], "served");
    assert_eq!(answer["project"]["root"], elsewhere.display().to_string());
    let inode = std::fs::metadata(&elsewhere).expect("it is there").ino();
    poll(LATE, "the watch", || Some(()).filter(|()| watched_inodes(daemon.id()).contains(&inode)).ok_or("no watch"));
    // The save alone leads to a verdict.
    let runs = project.store().committed_runs().len();
    std::fs::write(elsewhere.join("a.txt"), "two\n").expect("it is ours");
    let judged = || Some(project.store().committed_runs().len()).filter(|now| *now > runs).ok_or("no run");
    poll(LATE, "the verdict", judged);
    there(&["service", "remove"]).success();
    let (_, projects) = ask(&project, "GET /v1/projects", "");
    assert_eq!((&projects["projects"][0]["id"], &projects["projects"][0]["serving"]), (&id.into(), &"notServed".into()));
    let watched = watched_inodes(daemon.id());
    assert!(!watched.contains(&inode), "a project that was removed is left alone: {watched:?}");
    daemon.interrupt();
}

/// Returns the inode numbers that a process watches by inotify.
fn watched_inodes(process: i32) -> Vec<u64> {
    let entries = std::fs::read_dir(format!("/proc/{process}/fdinfo")).expect("the process lives").flatten();
    let texts: Vec<String> = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("inotify "));
    lines
        .filter_map(|line| u64::from_str_radix(line.split_whitespace().find_map(|field| field.strip_prefix("ino:"))?, 16).ok())
        .collect()
}

#[test]
fn a_directory_that_takes_the_place_of_a_project_is_not_taken_for_it() {
    let project = project("true");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let toml = std::fs::read_to_string(project.path().join("proctor.toml")).expect("a text");
    std::fs::rename(project.path(), project.root().join("aside")).expect("it can be moved");
    std::fs::create_dir(project.path()).expect("nothing is there");
    project.save("proctor.toml", &toml);
    project.save("a.txt", "of another project\n");
    let runs = project.store().committed_runs().len();
    daemon.wait_for_line("the question", LATE, |line| line.contains("moved, replaced or cloned anew"));
    assert_eq!(project.store().committed_runs().len(), runs);
    daemon.interrupt();
}

#[test]
fn a_run_whose_project_vanishes_before_a_check_starts_gets_no_verdict() {
    let shared = "[sandbox]\nwritable = [\"../shared\"]\n";
    let second = "[[check]]\nname = \"second\"\ncommand = [\"true\"]\nafter = [\"check\"]\n";
    let first = settings("echo x >../shared/begun; until test -e ../shared/gate; do sleep 0.05; done");
    let project = Project::new().toml(&format!("{first}\n{second}{shared}")).file("a.txt", "one\n");
    let daemon = start_serving(&project);
    let begun = project.shared("begun");
    poll(LATE, "the first check", || if begun.exists() { Ok(()) } else { Err("not begun") });
    std::fs::rename(project.path(), project.root().join("aside")).expect("it can be moved");
    std::fs::write(project.shared("gate"), "").expect("the directory is ours");
    let idle = || {
        let (_, projects) = ask(&project, "GET /v1/projects", "");
        if projects["projects"][0]["standing"]["doing"] == "idle" { Ok(()) } else { Err(projects.to_string()) }
    };
    poll(LATE, "the end of the run", idle);
    let runs = project.store().committed_runs();
    assert!(!runs.iter().any(|run| run["overallStatus"] == "FAILED"), "{runs:#?}");
    std::fs::rename(project.root().join("aside"), project.path()).expect("nothing is there");
    project.proctor(["wait", "--fresh"]).success();
    daemon.interrupt();
}

#[test]
fn files_that_the_checks_write_anew_in_every_run_are_named_by_the_status_and_do_not_run_for_ever() {
    let toml = settings("cat a.txt; date +%s%N > coverage.xml").replace("[evidence]", "writes = [\"coverage.xml\"]\n[evidence]");
    let project = Project::new().toml(&format!("{toml}[sandbox]\nsnapshot = \"require\"\n")).file("a.txt", "one\n");
    let daemon = start_serving(&project);
    let problems = || project.proctor(["status", "--json"]).any_status().json()["projects"][0]["problems"].to_string();
    let differing = "the checks write coverage.xml anew in every run";
    poll(LATE, "the problem", || Some(problems()).filter(|text| text.contains(differing)).ok_or_else(problems));
    assert_eq!(project.store().committed_runs().len(), 2);
    let shown = project.proctor(["status"]).any_status().stdout;
    assert!(shown.contains("stale") && shown.contains("ignore = [\"/coverage.xml\"]"), "{shown}");
    // A wait makes the service test the tree again, but only a limited number of times.
    project.proctor(["wait", "--fresh"]).any_status();
    assert!(project.store().committed_runs().len() < 10);
    assert_eq!(daemon.interrupt().status, 130);
}

/// While a newer tree is tested, the newest tree that has a verdict is named, and whether it was tested on a snapshot.
#[test]
fn status_and_wait_name_the_newest_tree_with_a_verdict_while_a_newer_one_is_tested() {
    let project = Project::new().file("a.txt", "one\n");
    let command = "cat a.txt; until test -e ../shared/gate; do sleep 0.02; done; test -e a.txt";
    project.save("proctor.toml", &format!("{WRITES_TO_SHARED}snapshot = \"require\"\n{}", settings(command)));
    std::fs::write(project.shared("gate"), "").expect("the directory is ours");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    for text in ["two\n", "three\n"] {
        let tested = project.store().committed_runs().last().expect("a run")["treeDigest"].clone();
        std::fs::remove_file(project.shared("gate")).expect("it was made");
        project.save("a.txt", text);
        wait_until(&project, "running");
        let json = project.proctor(["status", "--json"]).success().json();
        let verdict = &json["projects"][0]["tasks"][0]["verdict"];
        assert_eq!((&verdict["tree"], &verdict["tested"]), (&tested, &"snapshot".into()), "{json}");
        let short = &tested.as_str().expect("a digest")[..8];
        for arguments in [&["status"][..], &["wait", "--fresh", "--timeout", "0"]] {
            let shown = project.proctor(arguments).any_status().stdout;
            assert!(shown.contains("running · PASS of run ") && shown.contains(&format!("(tree {short}…, snapshot)")), "{shown}");
        }
        std::fs::write(project.shared("gate"), "").expect("the directory is ours");
        project.proctor(["wait", "--fresh"]).success();
        let shown = project.proctor(["status"]).success().stdout;
        assert!(shown.contains(" · snapshot · run ") && !shown.contains(short), "{shown}");
    }
    assert_eq!(daemon.interrupt().status, 130);
}
