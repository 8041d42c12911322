//! `tasks.md`: proctor writes it from sealed verdicts and restores it after changes by hand, and its changes start no
//! run.

use std::fs;

use super::{LATE, ask, edit, list, project, serve, violations};
use crate::common::{IN_PLACE, Project, poll};

/// The line of the task list for the debt item that the failing check causes.
const DEBT: &str = "- [ ] **DEBT-default-001**";

/// Waits until the text of the task list satisfies a condition.
#[track_caller]
fn wait_until(project: &Project, what: &str, is_so: impl Fn(&str) -> bool) {
    poll(LATE, what, || {
        let text = list(project);
        is_so(&text).then_some(()).ok_or(text)
    });
}

#[test]
fn the_list_follows_the_last_verdict_and_makes_none_stale() {
    let project = project();
    let first = project.proctor(["run"]).success();
    let green = list(&project);
    assert!(green.starts_with("# Plan\n\nMy own words.\n\n<!-- proctor:begin tasks -->\n"), "{green}");
    assert!(green.contains("- [x] **default**: the project's own checks\n  - Status: COMPLETE\n"), "{green}");
    assert!(green.contains("  - Evidence: evidence/default/execution-report.json\n"), "{green}");
    assert!(green.contains("Nothing is to be mended.\n<!-- proctor:end debt -->\n"), "{green}");
    project.proctor(["wait", "--fresh", "--timeout", "0"]).success();
    assert!(first.report().get("violations").is_none());
    project.proctor(["run"]).success();
    assert_eq!(list(&project), green, "a run that changes no state changes no byte");

    project.save("a.txt", "bad\n");
    project.proctor(["run"]).failure();
    let red = list(&project);
    assert!(red.contains("- [ ] **default**") && red.contains("  - Status: INCOMPLETE: "), "{red}");
    assert!(red.contains("  - Technical debt: DEBT-default-001\n") && red.contains(DEBT), "{red}");
    project.proctor(["wait", "--fresh", "--timeout", "0"]).failure();
    project.save("tasks.md", &red.replace("My own words.", "Other words."));
    project.proctor(["wait", "--fresh", "--timeout", "0"]).failure();
    let why = project.proctor(["why", "tasks.md"]).success();
    assert!(why.stdout.contains("`tasks.md` is the task list that proctor writes into"), "{}", why.snapshot());
    assert_eq!(violations(&project), []);
}

#[test]
fn what_is_changed_by_hand_is_put_back_recorded_and_reported_once() {
    let project = project();
    project.save("a.txt", "bad\n");
    project.proctor(["run"]).failure();
    let red = list(&project);
    edit(&project, "- [ ] **default**", "- [x] **default**");
    edit(&project, "My own words.", "Other words of mine.");
    let start = list(&project).find("### High").expect("there is debt");
    let end = list(&project).find("<!-- proctor:end debt").expect("the block ends");
    let without = format!("{}{}", &list(&project)[..start], &list(&project)[end..]);
    project.save("tasks.md", &without);

    let run = project.proctor(["run"]).failure();
    assert!(run.stderr.contains("tasks.md: `default` was ticked by hand; it was put back"), "{}", run.snapshot());
    assert_eq!(list(&project), red.replace("My own words.", "Other words of mine."));
    let expected = [("UNAUTHORIZED_COMPLETION", "default"), ("MISSING_DEBT_DOCUMENTATION", "DEBT-default-001")];
    let expected = expected.map(|(kind, subject)| (kind.to_owned(), subject.to_owned()));
    assert_eq!(violations(&project), expected);
    let report = run.report();
    let reported = report["violations"].as_array().expect("they are in the report");
    assert_eq!(reported.len(), 2);
    assert_eq!((&reported[0]["path"], &reported[0]["subject"]), (&"tasks.md".into(), &"default".into()));
    assert!(reported[0]["found"].as_str().is_some_and(|text| text.starts_with("- [x] **default**")), "{reported:?}");
    assert!(reported[0]["restored"].as_str().is_some_and(|text| text.starts_with("- [ ] **default**")), "{reported:?}");
    let status = project.proctor(["status"]).success();
    assert!(status.stdout.contains("`default` was ticked by hand"), "{}", status.snapshot());

    for _ in 0..2 {
        let again = project.proctor(["run"]).failure();
        assert!(again.report().get("violations").is_none(), "each is reported once");
    }
    assert!(!project.proctor(["status"]).success().stdout.contains("ticked by hand"));
    assert_eq!(violations(&project).len(), 2);
}

#[test]
fn a_check_that_ticks_its_own_box_is_named_in_its_own_report() {
    let project = project();
    project.save("a.txt", "bad\n");
    project.proctor(["run"]).failure();
    let cheat = "set -e\nsed -i 's/- \\[ \\] \\*\\*default/- [x] **default/' tasks.md\ngrep -q good a.txt";
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &(IN_PLACE.to_owned() + &toml.replace("grep -q good a.txt", cheat)));
    project.approve();
    let run = project.proctor(["run"]).failure();
    assert_eq!(run.report()["violations"][0]["violation"], "UNAUTHORIZED_COMPLETION", "{}", run.snapshot());
    assert!(list(&project).contains("- [ ] **default**"));
}

#[test]
fn a_list_that_is_removed_or_no_plain_file_takes_nothing_down() {
    let project = project();
    project.proctor(["run"]).success();
    fs::remove_file(project.path().join("tasks.md")).expect("it is ours");
    project.proctor(["run"]).success();
    assert_eq!(violations(&project), [("TASK_LIST_REMOVED".to_owned(), "tasks.md".to_owned())]);
    assert!(list(&project).starts_with("<!-- proctor:begin tasks -->\n"));
    fs::remove_file(project.path().join("tasks.md")).expect("it is ours");
    std::os::unix::fs::symlink("/etc/hostname", project.path().join("tasks.md")).expect("it is ours");
    let run = project.proctor(["run"]).success();
    assert!(run.stderr.contains("is left alone: its path leads out"), "{}", run.snapshot());
}

#[test]
fn a_watch_puts_a_tick_back_at_once_and_runs_nothing_for_it() {
    let project = project();
    project.save("a.txt", "bad\n");
    let mut watch = project.watch(["."]);
    watch.wait_for_verdict();
    wait_until(&project, "the red list", |text| text.contains("- [ ] **default**"));
    edit(&project, "- [ ] **default**", "- [x] **default**");
    wait_until(&project, "the tick to go", |text| text.contains("- [ ] **default**"));
    poll(LATE, "the violation", || {
        (violations(&project).len() == 1).then_some(()).ok_or_else(|| format!("{:?}", violations(&project)))
    });
    // The task list has started no run, so the next verdict is for this save, and there are two runs in all.
    project.save("a.txt", "good\n");
    watch.wait_for_verdict();
    wait_until(&project, "the green list", |text| text.contains("- [x] **default**"));
    // The watch may still be examining the tree, because proctor has just written the task list. `wait` returns when
    // the watch has done so.
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(project.store().committed_runs().len(), 2);
    watch.interrupt();
    assert_eq!(violations(&project).len(), 1);
}

#[test]
fn the_service_puts_a_deleted_block_back_at_once_and_says_so_in_its_status() {
    let project = project();
    project.save("a.txt", "bad\n");
    let (daemon, _) = serve(&project);
    project.proctor(["wait", "--fresh"]).failure();
    wait_until(&project, "the red list", |text| text.contains(DEBT));
    let text = list(&project);
    let block = text.find("<!-- proctor:begin debt").expect("the block is there");
    project.save("tasks.md", &text[..block]);
    wait_until(&project, "the debt to come back", |text| text.contains(DEBT));
    let (_, status) = ask(&project, "GET /v1/status", "");
    let problems = status["projects"][0]["problems"].to_string();
    assert!(problems.contains("the lines that mark the block `debt` were taken out"), "{status:#}");
    project.proctor(["wait", "--fresh"]).failure();
    assert_eq!(project.store().committed_runs().len(), 1);
    daemon.interrupt();
}

#[test]
fn a_list_is_begun_by_a_command_that_names_it_in_the_configuration() {
    let project = Project::new().file("Makefile", "all:\n").toml("[[check]]\nname = \"check\"\ncommand = \"true\"");
    let before = project.proctor(["init", "--tasks", "--file", "PLAN.md"]).success();
    assert!(before.stdout.contains("the first run registers the project"), "{}", before.snapshot());
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    assert!(toml.ends_with("\n\n[tasks]\nfile = \"PLAN.md\"\n"), "{toml}");
    project.proctor(["run"]).success();
    let plan = || fs::read_to_string(project.path().join("PLAN.md")).expect("it was written");
    assert!(plan().contains("- [x] **default**"));
    project.save("PLAN.md", "mine\n");
    let again = project.proctor(["init", "--tasks"]).success();
    assert!(again.stderr.contains("the lines that mark the block `tasks` were taken out"), "{}", again.snapshot());
    assert!(plan().starts_with("mine\n\n<!-- proctor:begin tasks -->\n"), "{}", plan());
    let refused = Project::new().toml("").proctor(["init", "--tasks", "--file", "src/app.py"]).status(2);
    assert!(refused.stderr.contains("a name that ends in `.md`"), "{}", refused.snapshot());
}
