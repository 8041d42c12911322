//! Tests prerequisites, services and reviews beside checks on a snapshot: the checks see what prerequisites make in the
//! project, and see no later save.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, SHARED_AND_IN_PLACE, WRITES_TO_SHARED, fake_tool, free_port, poll};

const LATE: Duration = Duration::from_secs(60);

/// Returns a table of `proctor.toml` for an action that is a shell script.
fn shell(section: &str, name: &str, script: &str, rest: &str) -> String {
    let script = serde_json::to_string(script).expect("a string can be written");
    format!("[[{section}]]\nname = \"{name}\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n{rest}")
}

fn project(toml: &str) -> Project {
    Project::new().with_program(fake_tool()).toml(&(WRITES_TO_SHARED.to_owned() + "snapshot = \"require\"\n" + toml))
}

fn log(project: &Project, action: &str) -> String {
    project.proctor(["show", "--log", action]).success().stdout
}

fn tested(output: &Output) -> Value {
    output.report()["tree"]["snapshot"]["tested"].clone()
}

#[test]
fn what_prerequisites_make_is_seen_and_what_lay_there_before_is_not() {
    let build =
        "mkdir -p dist && cat source.txt > dist/out.txt && echo made > generated.env && mkdir -p .venv/bin && touch .venv/bin/x";
    let toml = shell("prerequisite", "build", build, "when_changed = [\"source.txt\"]\n")
        + &shell(
            "check",
            "reads",
            "cat dist/out.txt generated.env && ls .venv/bin && test ! -e htmlcov && echo x > dist/planted",
            "",
        );
    let project = project(&toml)
        .file(".gitignore", "dist/\n*.env\n.venv/\nhtmlcov/\n")
        .file("source.txt", "first ")
        .file("htmlcov/index.html", "old")
        .file("dist/old.txt", "old");
    let output = project.proctor(["run"]).success();
    assert_eq!(tested(&output), "snapshot");
    assert!(log(&project, "reads").starts_with("first made\nx\n"), "{}", log(&project, "reads"));
    assert!(!project.path().join("dist/planted").exists());
    project.save("source.txt", "second ");
    project.proctor(["run"]).success();
    assert!(log(&project, "reads").starts_with("second made\nx\n"), "{}", log(&project, "reads"));
}

#[test]
fn the_outputs_that_a_skipped_prerequisite_names_are_seen_too_and_no_others() {
    let once = "when_changed = [\"source.txt\"]\ncreates = [\"target/app\"]\n";
    let toml = shell("prerequisite", "build", "mkdir -p target dist && cp source.txt target/app && cp source.txt dist/app", once)
        + &shell("check", "reads", "cat target/app && test ! -e target/other && test ! -e dist", "");
    let project = project(&toml)
        .file(".gitignore", "target/\ndist/\n")
        .file("source.txt", "built\n")
        .file("target/other", "not named by the prerequisite");
    for expected in ["SUCCESS", "SKIPPED"] {
        let report = project.proctor(["run"]).success().report();
        let prerequisite = &report["prerequisiteExecution"]["results"][0];
        let status =
            if prerequisite["disposition"] == "SKIPPED" { &prerequisite["disposition"] } else { &prerequisite["status"] };
        assert_eq!(status, expected);
        assert_eq!(log(&project, "reads"), "built\n");
    }
}

#[test]
fn a_prerequisite_that_changes_the_tree_moves_it_once() {
    let generate = "tr a-z A-Z < source.txt > generated.txt";
    let toml = shell("prerequisite", "generate", generate, "when_changed = [\"source.txt\"]\n")
        + &shell("check", "reads", "cat generated.txt", "");
    let project = project(&toml).file("source.txt", "words\n");
    let output = project.proctor(["run"]).success();
    assert!(output.stderr.contains("generated.txt changed while the checks ran"), "{}", output.snapshot());
    assert_eq!(log(&project, "reads"), "WORDS\n");
    let runs: Vec<Value> = project.store().committed_runs().iter().map(|run| run["overallStatus"].clone()).collect();
    assert_eq!(runs, ["MOVED", "SUCCESS"]);
    // The prerequisite is not carried out again, so nothing moves.
    project.proctor(["run"]).success();
    assert_eq!(project.store().committed_runs().len(), 3);
}

#[test]
fn a_service_and_its_checks_see_one_tree_and_what_a_service_writes_stays_apart() {
    let port = free_port();
    let server = format!("echo x > written; cp page.txt ../shared/served; exec fake-tool --serve {port} --sleep 600000");
    let checks = "touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; cat page.txt ../shared/served";
    let toml = shell("prerequisite", "server", &server, &format!("service = true\nready = {{ port = {port} }}\n"))
        + &shell("check", "asks", checks, "");
    let project = project(&toml).file("page.txt", "digested ");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    poll(LATE, "the check", || if project.shared("begun").exists() { Ok(()) } else { Err("it has not begun") });
    project.save("page.txt", "saved later ");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let run = run.ended();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    assert_eq!(log(&project, "asks"), "digested digested ");
    assert!(!project.path().join("written").exists());
}

/// The prerequisite after the service needs the service, and works in the project itself. So the service works in the
/// project too, and a save during the checks moves the tree that the service could see.
#[test]
fn a_service_before_a_prerequisite_works_in_the_project_and_the_closing_look_is_made() {
    let port = free_port();
    let server = format!("echo x > written.log; exec fake-tool --serve {port} --sleep 600000");
    let toml = shell("prerequisite", "server", &server, &format!("service = true\nready = {{ port = {port} }}\n"))
        + &shell("prerequisite", "fill", &format!("fake-tool --get {port} /fill"), "")
        + &shell("check", "asks", "touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; cat page.txt", "");
    let project = project(&toml).file("page.txt", "digested").file(".gitignore", "*.log\n");
    project.proctor(["run"]).success();
    assert!(project.path().join("written.log").exists());
    fs::remove_file(project.shared("begun")).expect("it has begun once");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    poll(LATE, "the check", || if project.shared("begun").exists() { Ok(()) } else { Err("it has not begun") });
    project.save("page.txt", "saved later");
    fs::remove_file(project.shared("hold")).expect("it was held");
    assert_eq!(run.ended().status, 0, "it is repeated");
    let runs: Vec<Value> = project.store().committed_runs().iter().map(|run| run["overallStatus"].clone()).collect();
    assert_eq!(runs, ["SUCCESS", "MOVED", "SUCCESS"]);
}

#[test]
fn a_program_that_a_check_makes_can_be_the_next_checks_command() {
    let toml = shell("check", "build", "mkdir out && printf '#!/bin/sh\\necho ran\\n' > out/app && chmod +x out/app", "")
        + "[[check]]\nname = \"app\"\ncommand = [\"./out/app\"]\n[run]\nparallel = false\n";
    let project = project(&toml);
    project.proctor(["run"]).success();
    assert_eq!(log(&project, "app"), "ran\n");
    assert!(!project.path().join("out").exists());
}

#[test]
fn a_review_reads_the_prompt_that_was_digested() {
    let toml = shell(
        "check",
        "waits",
        "touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; test -e prompt.md",
        "",
    ) + "[[check]]\nname = \"review\"\ntool = \"review\"\nafter = [\"waits\"]\ncommand = [\"sh\", \"reviewer\"]\nprompt = \"prompt.md\"\n";
    let reviewer = "cat > ../shared/prompt; cat prompt.md >> ../shared/prompt; echo '**Ready to merge?** Yes'";
    let project = project(&toml).file("reviewer", reviewer).file("prompt.md", "digested\n");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    poll(LATE, "the check", || if project.shared("begun").exists() { Ok(()) } else { Err("it has not begun") });
    project.save("prompt.md", "saved later\n");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let run = run.ended();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    assert_eq!(fs::read_to_string(project.shared("prompt")).expect("it was read"), "digested\ndigested\n");
}

#[test]
fn an_environment_that_is_a_link_stays_one() {
    let toml = shell("check", "reads", "test -L .venv && cat .venv/installed", "");
    let project = project(&toml).file(".gitignore", ".venv\nenvironments/\n").file("environments/one/installed", "package\n");
    std::os::unix::fs::symlink("environments/one", project.path().join(".venv")).expect("a link");
    let output = project.proctor(["run"]).success();
    assert_eq!((tested(&output), log(&project, "reads")), ("snapshot".into(), "package\n".to_owned()));
}

/// Every save is a touch or writes the same bytes, so it neither stops the run nor starts another one.
#[test]
fn a_save_that_changes_no_content_stops_nothing_and_starts_nothing() {
    for settings in [WRITES_TO_SHARED, SHARED_AND_IN_PLACE] {
        let check = shell(
            "check",
            "slow",
            "echo run >> ../shared/runs; while [ -e ../shared/hold ]; do sleep 0.01; done; test -e a.txt",
            "",
        );
        let project = Project::new().toml(&(settings.to_owned() + &check)).file("a.txt", "same").file("b.txt", "same");
        fs::write(project.shared("hold"), "").expect("the directory is ours");
        let mut watch = project.watch(["."]);
        let runs = || fs::read_to_string(project.shared("runs")).unwrap_or_default().lines().count();
        poll(LATE, "the check", || if runs() == 1 { Ok(()) } else { Err(runs()) });
        // The file is replaced in one step: if it was written in place, a scan of the tree could see an empty file,
        // which is a change of content.
        let save_again = || {
            fs::write(project.shared("a.txt"), "same").expect("the directory is ours");
            fs::rename(project.shared("a.txt"), project.path().join("a.txt")).expect("both are on one file system");
        };
        for _ in 0..5 {
            save_again();
            let file = fs::File::options().write(true).open(project.path().join("b.txt")).expect("a file");
            file.set_modified(std::time::SystemTime::now()).expect("a time can be set");
            std::thread::sleep(Duration::from_millis(60));
        }
        fs::remove_file(project.shared("hold")).expect("it was held");
        watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED") || line.starts_with("MOVED"));
        save_again();
        project.save("c.txt", "new");
        watch.wait_for_line("the next verdict", LATE, |line| line.starts_with("PASSED"));
        watch.interrupt();
        assert_eq!(runs(), 2, "{settings}");
    }
}
