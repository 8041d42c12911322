//! Tests `reuse = "watch"`: a watch reuses known results, and a person who asks for a run gets one.

use crate::common::{Project, WRITES_TO_SHARED};
use crate::watch_cli::{LATE, report_of, steps, wait_for_verdict_on_the_tree, wait_until_it_watches};

/// A project with two checks that record their names. Each check is triggered only by its own file.
fn project() -> Project {
    let check = |name: &str| {
        let script = format!("echo {name} >> ../shared/steps; grep -q ok {name}.txt");
        format!("[[check]]\nname = \"{name}\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\npaths = [\"{name}.txt\"]\n")
    };
    let toml = format!("{WRITES_TO_SHARED}{}{}[run]\nreuse = \"watch\"\n", check("a"), check("b"));
    Project::new().toml(&toml).file("a.txt", "ok\n").file("b.txt", "ok\n")
}

#[test]
fn a_save_gets_the_results_of_the_checks_it_triggers_and_what_is_known_of_the_others() {
    let project = project();
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project), ["a", "b"]);
    project.save("a.txt", "wrong\n");
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(steps(&project)[2..], ["a"]);
    let report = report_of(&project, &verdict);
    assert_eq!(report["stepExecution"]["results"][1]["disposition"], "REUSED");
    // What triggers the other check is no proof of what it reads, so its result says nothing about this tree.
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("FAILED · a failed · 1 of 2 checks · evidence"));
    wait_until_it_watches(&mut watch);
    project.save("a.txt", "ok\n");
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!((verdict["overallStatus"].as_str(), steps(&project).len()), (Some("SUCCESS"), 3), "both were known");
    assert_eq!(report_of(&project, &verdict)["reused"].as_array().map(Vec::len), Some(2));
    wait_until_it_watches(&mut watch);
    watch.interrupt();
    project.proctor(["run"]).success();
    assert_eq!(steps(&project)[3..], ["a", "b"], "whoever asks for a run gets one");
}
