//! Tests the approval of the settings that decide how a project is judged (S7): under every command that runs checks, a
//! weakening needs an approval before anything runs. A first run opens nothing of the machine without an approval. Which
//! change of which setting weakens is tested with a table beside the code that compares settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::common::{Output, Project, USER_CONFIGURATION, poll};
use crate::daemon::{LATE, project as served, start_serving};

const CHECK: &str =
    "[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", \"touch ../shared/ran; test -e src/calc.py\"]\n";

/// A project with one file in `src`, of a user whose own configuration allows nothing.
fn project(settings: &str) -> Project {
    Project::new().allowing_nothing().toml(&format!("{CHECK}{settings}")).file("src/calc.py", "ok = True\n")
}

/// Runs the checks, expects the refusal, and returns what was said. Nothing may have been started.
#[track_caller]
fn refused(project: &Project, arguments: &[&str]) -> Output {
    let runs = project.store().committed_runs().len();
    let output = project.proctor(arguments).status(3);
    assert_eq!(project.store().committed_runs().len(), runs, "{}", output.snapshot());
    output
}

#[track_caller]
fn last_approval(project: &Project) -> Value {
    let lines = project.store().ledger();
    let approving = |line: &&Value| line["body"]["terms"].is_object();
    lines.iter().rev().find(approving).expect("an approval")["body"].clone()
}

#[test]
fn a_weaker_setting_is_refused_before_anything_runs_and_approved_at_a_terminal() {
    let project = project("");
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{CHECK}[sandbox]\nmode = \"off\"\nvisible = [\"~/.ssh\"]\n"));
    insta::assert_snapshot!(refused(&project, &["run"]).snapshot(), @r#"
    exit status: 3
    --- stderr
    error: task `default` of `proctor.toml` asks for more than was approved: nothing was run
      sandbox: mode: "off" instead of "auto"
      sandbox: visible: ["~/.ssh"] instead of []
      hint: take it back, or have a person approve it at a terminal: `proctor approve`. What your own projects may always ask for stands in `<config>/proctor/config.toml`
    "#);
    // A typed command and a named check run under the same settings.
    let mut typed = project.watch([".", "--", "true"]);
    typed.wait_for_line("the refusal", LATE, |line| line.contains("sandbox: mode: \"off\" instead of \"auto\""));
    typed.interrupt();
    refused(&project, &["run", "--check", "check"]);
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["state"], "notApproved", "{status:#}");
    let shown = project.approve();
    assert!(shown.contains("opens: sandbox: mode: \"off\" instead of \"auto\""), "{shown}");
    project.proctor(["run"]).success();
    let approved = last_approval(&project);
    assert_eq!((&approved["reason"], &approved["terms"]["settings"]["sandbox.mode"]), (&"person".into(), &"off".into()));
    // The change back opens nothing, and is another rule than the approved one.
    project.save("proctor.toml", CHECK);
    let back = project.proctor(["run"]).success();
    assert!(back.stdout.contains("judged by changed rules: sandbox: mode, visible"), "{}", back.snapshot());
    project.approve();
    project.save("proctor.toml", &format!("{CHECK}[sandbox]\nmode = \"off\"\n"));
    refused(&project, &["run"]);
}

#[test]
fn a_first_run_opens_nothing_of_the_machine_by_itself() {
    for (settings, said) in [
        ("[sandbox]\nvisible = [\"~/.ssh\"]\n", "sandbox: visible: [\"~/.ssh\"]"),
        ("[sandbox]\nwritable = [\"~/.config\"]\n", "sandbox: writable: "),
        ("[sandbox]\nsockets = [\"/run/docker.sock\"]\n", "sandbox: sockets: "),
        ("[sandbox]\nmode = \"off\"\n", "sandbox: mode: \"off\" instead of \"auto\""),
        ("[sandbox]\nhome = \"overlay\"\n", "sandbox: home: \"overlay\" instead of \"read-only\""),
        ("[environment]\npass_environment = [\"GITHUB_TOKEN\"]\n", "environment: pass_environment: "),
        ("[environment]\nenv_file = \"../other/.env\"\n", "environment: env_file"),
    ] {
        let project = project(settings);
        fs::create_dir_all(project.root().join("other")).expect("it is ours");
        fs::write(project.root().join("other/.env"), "A=b\n").expect("it is ours");
        let output = refused(&project, &["run"]);
        assert!(output.stderr.contains(said), "{}", output.snapshot());
        assert!(output.stderr.contains("proctor approve") && output.stderr.contains("config.toml"), "{}", output.snapshot());
        project.save("proctor.toml", CHECK);
        project.proctor(["run"]).success();
        assert!(last_approval(&project)["terms"]["settings"].is_object());
    }
    // Settings that open no more of the machine than the defaults need no approval.
    project("[sandbox]\nmemory = \"1GiB\"\ncaches = \"fresh\"\n[watch]\nignore = [\"out/\"]\n").proctor(["run"]).success();
}

#[test]
fn what_the_user_always_allows_is_not_asked_for_and_holds_only_as_long_as_it_is_allowed() {
    let project = project("[sandbox]\nwritable = [\"../shared\"]\n");
    refused(&project, &["run"]);
    assert!(!project.shared("ran").exists());
    fs::create_dir_all(project.root().join("config/proctor")).expect("it is ours");
    let allow = |text: &str| fs::write(project.root().join(USER_CONFIGURATION), text).expect("it is ours");
    allow(&format!("[[allow]]\nprojects = [{:?}]\nsandbox.writable = [\"../shared\"]\n", project.root().join("*")));
    project.proctor(["run"]).success();
    assert!(project.shared("ran").exists());
    assert_eq!(last_approval(&project)["terms"]["settings"]["sandbox.writable"], Value::Array(Vec::new()));
    allow("[[allow]]\nprojects = [\"/somewhere/else\"]\nsandbox.writable = [\"*\"]\n");
    refused(&project, &["run"]);
    allow("[[allow]]\nprojects = [\"relative\"]\n");
    let wrong = project.proctor(["run"]).any_status();
    assert!(wrong.status != 0 && wrong.stderr.contains("is a relative path"), "{}", wrong.snapshot());
}

#[test]
#[ignore = "long tier"]
fn a_file_that_leaves_the_tree_is_named_whatever_takes_it_out() {
    type Taking = (&'static str, fn(&Project));
    let ways: &[Taking] = &[
        ("an ignore file", |project| project.save(".gitignore", "src/\n")),
        ("an ignore file in the directory", |project| project.save("src/.ignore", "*.py\n")),
        ("a setting", |project| project.save("proctor.toml", &format!("{CHECK}[watch]\nignore = [\"src/\"]\n"))),
        ("a symbolic link", |project| {
            project.save(".gitignore", "hidden/\n");
            fs::rename(project.path().join("src"), project.path().join("hidden")).expect("it is ours");
            symlink("hidden", project.path().join("src")).expect("it is ours");
        }),
        ("a file that comes back after its rule", |project| {
            fs::remove_dir_all(project.path().join("src")).expect("it is ours");
            project.save(".gitignore", "src/\n");
        }),
    ];
    for (way, take) in ways {
        let project = project("").file("notes.log", "a note\n");
        project.proctor(["run"]).success();
        // A new rule that excludes no file of the tree needs no approval.
        project.save(".ignore", "*.tmp\n");
        project.proctor(["run"]).success();
        take(&project);
        let named = |run: Output| run.json()["rulesChanged"].to_string();
        let said = named(project.proctor(["run", "--json"]).any_status());
        assert!(said.contains("without") && said.contains("src/calc.py"), "{way}: {said}");
        project.save("src/calc.py", "broken\n");
        let again = named(project.proctor(["run", "--json"]).any_status());
        assert!(again.contains("src/calc.py"), "{way}: a run by changed rules approves no tree: {again}");
        project.approve();
        project.proctor(["run"]).any_status();
        let again = project.proctor(["run", "--json"]).any_status();
        assert_eq!(again.json().get("rulesChanged"), None, "{way}: {}", again.snapshot());
    }
    // An action of the very first run takes a file out, in a way that no setting shows.
    let script = "rm -r src; mkdir hidden; echo broken > hidden/calc.py; ln -s hidden src\n";
    let toml = "[[check]]\nname = \"check\"\ncommand = [\"sh\", \"check.sh\"]\nsnapshot = \"off\"\n";
    let first = Project::new().allowing_nothing().toml(toml).file("src/calc.py", "ok = True\n").file("check.sh", script);
    first.save(".gitignore", "hidden/\n");
    let output = first.proctor(["run"]).any_status();
    assert!(output.stdout.contains("tree: without src/calc.py"), "{}", output.snapshot());
    // A file that a person removes has not left the tree.
    let project = project("").file("notes.txt", "a note\n");
    project.proctor(["run"]).success();
    fs::remove_file(project.path().join("notes.txt")).expect("it is ours");
    project.proctor(["run"]).success();
}

#[test]
fn new_work_in_the_project_itself_is_asked_for() {
    for more in [
        "[[prerequisite]]\nname = \"install\"\ncommand = \"true\"\n",
        "[[cleanup]]\nname = \"stop\"\ncommand = \"true\"\n",
        "[[check]]\nname = \"other\"\ncommand = \"true\"\nsnapshot = \"off\"\n",
        "[[check]]\nname = \"other\"\ncommand = \"true\"\nwrites = [\"src/**\"]\n",
    ] {
        let project = project("");
        project.proctor(["run"]).success();
        project.save("proctor.toml", &format!("{CHECK}{more}"));
        refused(&project, &["run"]);
        project.save("proctor.toml", &format!("{CHECK}[[check]]\nname = \"more\"\ncommand = \"true\"\n"));
        project.proctor(["run"]).success();
    }
}

#[test]
fn a_file_of_variables_that_a_link_fetches_from_outside_is_asked_for_at_the_first_run() {
    let project = project("[environment]\nenv_file = \".env\"\n");
    let outside = project.root().join("outside.env");
    fs::write(&outside, "TOKEN=of-the-user\n").expect("it is ours");
    symlink(&outside, project.path().join(".env")).expect("it is ours");
    let output = refused(&project, &["run"]);
    assert!(output.stderr.contains(&format!("environment: env_file: {outside:?}")), "{}", output.snapshot());
}

#[test]
fn a_nested_project_and_another_task_do_not_take_the_wall_down() {
    let project = project("");
    project.proctor(["run"]).success();
    project.save("nested/proctor.toml", &format!("{CHECK}[sandbox]\nmode = \"off\"\n"));
    let nested = project.proctor(["run"]).directory("nested").status(3);
    assert!(nested.stderr.contains("sandbox: mode"), "{}", nested.snapshot());
    assert!(!project.path().join("shared/ran").exists());
}

#[test]
fn watch_and_the_service_refuse_a_weaker_wall_as_run_does() {
    let watched = project("");
    watched.proctor(["run"]).success();
    watched.save("proctor.toml", &format!("{CHECK}[sandbox]\nmode = \"off\"\n"));
    let mut watch = watched.watch([""; 0]);
    watch.wait_for_line("the refusal", LATE, |line| line.contains("sandbox: mode: \"off\" instead of \"auto\""));
    watch.interrupt();
    assert_eq!(watched.store().committed_runs().len(), 1);

    let project = served("true");
    fs::remove_file(project.root().join(USER_CONFIGURATION)).expect("it is there");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let runs = project.store().committed_runs().len();
    let text = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &format!("{text}\n[sandbox]\nmode = \"off\"\n"));
    let waited = project.proctor(["wait", "--fresh"]).status(3);
    assert!(waited.stdout.contains("sandbox: mode") || waited.stderr.contains("sandbox: mode"), "{}", waited.snapshot());
    // A run that is handed over to the service asks nobody, and says how to approve.
    let run = project.proctor(["run"]).status(3);
    assert!(run.stderr.contains("sandbox: mode") && run.stderr.contains("proctor approve"), "{}", run.snapshot());
    assert_eq!(project.store().committed_runs().len(), runs);
    daemon.interrupt();
}

#[test]
fn what_decides_the_verdict_cannot_be_written_by_an_action_that_works_in_the_project() {
    let attack = "touch ../shared/tried; echo x >> proctor.toml; echo x >> .gitignore; echo x >> a-test-specification.json; \
                  echo x >> lib/.git/config; echo x >> .git/config; mv proctor.toml other.toml; exit 0\n";
    let wall = "[sandbox]\nwritable = [\"../shared\"]\n";
    let harmless = "[[check]]\nname = \"check\"\ncommand = \"true\"\n";
    let attacking = |table: &str| format!("[[{table}]]\nname = \"attack\"\ncommand = \"sh attack.sh\"\n");
    for text in [
        format!("{wall}{harmless}{}", attacking("prerequisite")),
        format!("{wall}{harmless}{}", attacking("cleanup")),
        format!("{wall}snapshot = \"off\"\n{}", attacking("check")),
        format!("{wall}{}snapshot = \"off\"\n", attacking("check")),
    ] {
        let project = Project::new().toml(&text);
        let files = ["proctor.toml", ".gitignore", "a-test-specification.json", "lib/.git/config", ".git/config"];
        for file in &files[1..] {
            project.save(file, "[core]\n");
        }
        project.save("lib/a.txt", "a\n");
        project.save("attack.sh", attack);
        let before = files.map(|file| fs::read(project.path().join(file)).expect("it is there"));
        let output = project.proctor(["run"]).success();
        assert!(project.shared("tried").exists(), "{text}: {}", output.snapshot());
        let after = files.map(|file| fs::read(project.path().join(file)).expect("it is there"));
        assert!(before == after, "{text}: {}", output.snapshot());
    }
}

/// W1: an action weakens the settings for the next run. The action's own run must be no success and must name the
/// changed file, and the next run must be refused before anything starts.
#[test]
#[ignore = "long tier"]
fn a_change_that_no_level_can_hold_is_named_and_no_success() {
    let takes_wall_down = "sed -i '1a mode = \"off\"' proctor.toml";
    for (level, command, named) in [
        ("namespace", "mkdir .git && touch .git/config", ".git"),
        ("landlock", "mkdir lib/.git && echo x > lib/.git/config", "lib/.git"),
        ("landlock", "echo true > web/.git/hooks/pre-commit", "web/.git/hooks/pre-commit"),
        ("process-group", takes_wall_down, "proctor.toml"),
        ("landlock", takes_wall_down, "proctor.toml"),
    ] {
        for (table, snapshot) in [("prerequisite", ""), ("check", "snapshot = \"off\"\n"), ("check", "")] {
            if (table, snapshot, level) == ("check", "", "namespace") {
                continue;
            }
            let attack = format!("test -e ../shared/done && exit 0\n{command} && touch ../shared/done\n");
            let action = format!("[[{table}]]\nname = \"attack\"\ncommand = \"sh attack.sh\"\n{snapshot}");
            let wall = "[sandbox]\nwritable = [\"../shared\"]\n";
            let text = format!("{wall}[[check]]\nname = \"check\"\ncommand = \"true\"\n{action}");
            let project = Project::new().toml(&text).file("lib/a.txt", "a\n").file("attack.sh", &attack);
            let project = project.file("web/a.txt", "a\n").file("web/.git/hooks/commit-msg.sample", "true\n");
            let project = project.env("PROCTOR_TEST_ISOLATION", level);
            let allow = "[[allow]]\nprojects = [\"/**\"]\nsandbox.writable = [\"../shared\"]\n";
            fs::write(project.root().join(USER_CONFIGURATION), allow).expect("it is ours");
            let output = project.proctor(["run"]).status(5);
            assert!(project.shared("done").exists(), "{level}: {}", output.snapshot());
            let hint = format!("hint: {named} decides how the project is judged");
            assert!(output.stdout.contains("MOVED") && output.stderr.contains(&hint), "{level}: {}", output.snapshot());
            if command == takes_wall_down {
                let next = refused(&project, &["run"]);
                assert!(next.stderr.contains("sandbox: mode"), "{level}: {}", next.snapshot());
            }
        }
    }
}

#[test]
fn what_a_check_writes_to_deciding_files_of_its_snapshot_is_named_by_the_report() {
    let attack =
        "echo x >> proctor.toml; mkdir -p lib/.git .pytest_cache; echo x > lib/.git/config; echo x > .pytest_cache/.gitignore\n";
    let project = Project::new().toml("[[check]]\nname = \"attack\"\ncommand = \"sh attack.sh\"\n");
    let project = project.file("attack.sh", attack).file("lib/a.txt", "a\n");
    let run = project.proctor(["run"]).success();
    assert!(
        run.stdout.contains("attack: it wrote or removed `lib/.git/config`, `proctor.toml`, which decides"),
        "{}",
        run.snapshot()
    );
    let report = project.proctor(["show", "--json"]).success().json();
    let written = report["tree"]["snapshot"]["written"].to_string();
    assert!(written.contains("lib/.git/config") && written.contains("proctor.toml"), "{written}");
    assert!(!written.contains(".pytest_cache"), "{written}");
}

#[test]
fn a_repository_that_a_check_makes_is_named_although_a_save_of_the_check_stops_the_run() {
    // A run that finds no `lib/.git` makes one and saves a file, so that the service stops the run and begins another one.
    let attack = "test -e lib/.git || { mkdir lib/.git; echo x > lib/.git/config; echo x > saved.txt; sleep 60; }\n";
    let text = "[sandbox]\nsnapshot = \"off\"\n[[check]]\nname = \"attack\"\ncommand = \"sh attack.sh\"\n";
    let project = Project::new().toml(text).file("lib/a.txt", "a\n").file("attack.sh", "true\n");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    project.save("attack.sh", attack);
    let moved = || {
        let runs = project.store().committed_runs();
        if runs.iter().any(|run| run["overallStatus"] == "MOVED") { Ok(()) } else { Err(format!("{runs:?}")) }
    };
    poll(LATE, "a run that names the repository", moved);
    daemon.interrupt();
    assert!(project.path().join("lib/.git").exists());
}

#[test]
fn no_check_writes_what_the_user_allows() {
    let text = "[sandbox]\nwritable = [\"../config\"]\n[[check]]\nname = \"check\"\ncommand = \"sh attack.sh\"\n";
    let attack = "echo '[[allow]]' >> ../config/proctor/config.toml; touch ../config/proctor/more; touch ../config/tried\n";
    let project = Project::new().toml(text).file("attack.sh", attack);
    let before = fs::read(project.root().join(USER_CONFIGURATION)).expect("it is there");
    project.proctor(["run"]).success();
    assert_eq!(fs::read(project.root().join(USER_CONFIGURATION)).expect("it is there"), before);
    assert!(project.root().join("config/tried").exists());
    assert!(!project.root().join("config/proctor/more").exists());
    // If the directory of the user's own configuration is missing, a check must not be able to make it.
    fs::remove_dir_all(project.root().join("config/proctor")).expect("it is ours");
    project.proctor(["run"]).status(3);
    project.approve();
    project.save("attack.sh", "mkdir ../config/proctor; touch ../config/proctor/config.toml; touch ../config/again\n");
    project.proctor(["run"]).success();
    assert!(project.root().join("config/again").exists());
    assert!(!project.root().join(USER_CONFIGURATION).exists());
}

#[test]
fn a_person_at_the_terminal_is_asked_in_place_and_the_checks_run_after_the_name_was_typed() {
    let project = project("[sandbox]\nwritable = [\"../shared\"]\n");
    for answer in ["no\n", "yes\n", "\n", "sandbox.writable\n", "sandbox\nsandbox\n"] {
        let mut terminal = project.proctor(["run"]).at_terminal();
        let shown = terminal.wait_for("approves nothing: ", LATE);
        assert!(shown.contains("sandbox: writable: [\"../shared\"]"), "{shown}");
        terminal.press(answer);
        assert_eq!(terminal.ended().status, 3, "{answer}");
        assert!(!project.shared("ran").exists(), "{answer}");
    }
    // What was typed before the question was shown is no answer.
    let mut terminal = project.proctor(["run"]).at_terminal();
    terminal.press("sandbox\n");
    terminal.wait_for("approves nothing: ", LATE);
    terminal.press("\n");
    assert_eq!(terminal.ended().status, 3);
    let mut terminal = project.proctor(["run"]).at_terminal();
    terminal.wait_for("approves nothing: ", LATE);
    terminal.press("sandbox\n");
    assert_eq!(terminal.ended().status, 0);
    assert!(project.shared("ran").exists());
    project.proctor(["run"]).success();
}

#[test]
fn packages_that_are_not_installed_are_one_question_where_other_rules_were_approved() {
    let lock = "version = 1\n[[package]]\nname = \"pytest\"\n";
    let project = Project::new().file("pyproject.toml", "[tool.pytest.ini_options]\n").file("tests/test_a.py", "\n");
    project.proctor(["run"]).any_status();
    project.save("uv.lock", lock);
    for (answer, is_kept) in [("no\n", false), ("python environment\n", true)] {
        let mut terminal = project.proctor(["run"]).at_terminal();
        let shown = terminal.wait_for("approves nothing: ", LATE);
        assert!(shown.contains("are not installed yet: `uv sync --frozen`") && shown.contains("opens: "), "{shown}");
        terminal.press(answer);
        let ended = terminal.ended();
        let questions = ["approves nothing: ", "[y/N]"].map(|question| ended.stdout.matches(question).count());
        assert_eq!(questions, [1, 0], "{answer}: {}", ended.stdout);
        assert_eq!(project.path().join("proctor.toml").exists(), is_kept, "{answer}: {}", ended.stdout);
    }
}

/// Registers the process of the tests as a coding agent, as a hook of proctor does that an agent starts.
fn register_this_process(project: &Project) {
    let read = |path: &str| fs::read_to_string(path).expect("the kernel says it");
    let stat = read("/proc/self/stat");
    let started = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)).expect("a start time");
    let agents = project.root().join("state/proctor/agents");
    fs::create_dir_all(&agents).expect("the store is ours");
    let entry = format!("{}-{started}-{}", std::process::id(), read("/proc/sys/kernel/random/boot_id").trim());
    fs::write(agents.join(entry), "").expect("the store is ours");
}

#[test]
fn what_a_coding_agent_started_is_asked_nothing_at_a_terminal_of_its_own() {
    let project = project("[sandbox]\nwritable = [\"../shared\"]\n");
    register_this_process(&project);
    let ended = project.proctor(["run"]).at_terminal().ended();
    assert_eq!(ended.status, 3, "{}", ended.stdout);
    assert!(!ended.stdout.contains("approves nothing: "), "{}", ended.stdout);
    let ended = project.proctor(["approve"]).at_terminal().ended();
    assert_eq!(ended.status, 3, "{}", ended.stdout);
    assert!(ended.stdout.contains("a coding agent (process "), "{}", ended.stdout);
    assert!(!project.shared("ran").exists());
    project.proctor(["verify", "--all"]).success();

    fs::remove_dir_all(project.root().join("state/proctor/agents")).expect("the store is ours");
    let mut terminal = project.proctor(["approve"]).at_terminal();
    terminal.wait_for("approves nothing: ", LATE);
    terminal.press("sandbox\n");
    assert_eq!(terminal.ended().status, 0, "the same terminal is a person's without the register");
}

#[test]
fn a_weaker_level_stands_beside_every_verdict() {
    let project = Project::new().toml(&format!("{CHECK}[sandbox]\nmode = \"off\"\n")).file("src/calc.py", "ok = True\n");
    let run = project.proctor(["run"]).success();
    let said = "process-group instead of namespace";
    assert!(run.stdout.lines().any(|line| line.contains("PASSED") && line.contains(said)), "{}", run.snapshot());
    assert!(run.stdout.contains("`sandbox.mode` is \"off\""), "{}", run.snapshot());
    for arguments in [&["status"][..], &["service", "list"], &["log"]] {
        let output = project.proctor(arguments).success();
        assert!(output.stdout.contains(said), "{}", output.snapshot());
    }
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["verdict"]["isolation"], "process-group", "{status:#}");
    project.save("proctor.toml", CHECK);
    let strong = project.proctor(["run"]).success();
    assert!(!strong.stdout.contains("instead of namespace"), "{}", strong.snapshot());
    let status = project.proctor(["status", "--json"]).success().json();
    assert!(status["projects"][0]["tasks"][0]["verdict"]["isolation"].is_null(), "{status:#}");
}

#[test]
fn another_content_of_the_file_of_variables_is_named_and_its_values_are_stored_nowhere() {
    let with_file = format!("{CHECK}[environment]\nenv_file = \".env\"\n");
    let project = Project::new().toml(&with_file).file(".env", "TOKEN=first-secret\n").file("src/calc.py", "ok = True\n");
    project.proctor(["run"]).success();
    let said = "environment: env_file.content: the file sets other variables or values than the approved ones";
    // A comment or an empty line changes nothing. Another value, another name and a further variable do.
    project.save(".env", "# a comment\n\nexport TOKEN=\"first-secret\"\n");
    project.proctor(["run"]).success();
    for content in ["TOKEN=second-secret\n", "TOKENS=first-secret\n", "TOKEN=first-secret\nPYTHONPATH=planted\n", ""] {
        project.save(".env", content);
        let named = "judged by changed rules: environment: env_file.content";
        let run = project.proctor(["run"]).success();
        assert!(run.stdout.contains(named), "{content}: {}", run.snapshot());
        let status = project.proctor(["status"]).any_status();
        assert!(status.stdout.contains(named), "{content}: {}", status.snapshot());
    }
    project.save(".env", "TOKEN=second-secret\n");
    let shown = project.approve();
    assert!(shown.contains(said) && !shown.contains("secret"), "{shown}");
    project.proctor(["run"]).success();
    let ledger = project.store().ledger().iter().map(ToString::to_string).collect::<String>();
    assert!(ledger.contains("environment.env_file.content") && !ledger.contains("secret"), "{ledger}");
    // What the user always allows is not asked for, whatever is in the file.
    let entry = format!("[[allow]]\nprojects = [\"{}\"]\nenvironment.env_file = \".env\"\n", project.path().display());
    fs::create_dir_all(project.root().join(USER_CONFIGURATION).parent().expect("a parent")).expect("it is ours");
    fs::write(project.root().join(USER_CONFIGURATION), entry).expect("it is ours");
    project.save(".env", "TOKEN=third-secret\n");
    project.proctor(["run"]).success();
}

#[test]
fn evidence_is_removed_and_a_model_is_consulted_by_approved_settings_only() {
    let project = project("").file("brief.md", "# An idea\n");
    project.proctor(["run"]).success();
    project.proctor(["run"]).success();
    let runs = project.store().committed_runs().len();
    project.save("proctor.toml", &format!("{CHECK}[evidence]\nkeep_runs = 1\n"));
    let refused = project.proctor(["prune"]).status(3);
    assert!(refused.stderr.contains("evidence: keep_runs: 1 instead of"), "{}", refused.snapshot());
    assert!(refused.stderr.contains("`proctor approve`"), "{}", refused.snapshot());
    project.proctor(["prune", "--dry-run"]).success();
    assert_eq!(project.store().committed_runs().len(), runs, "nothing was removed");
    project.approve();
    project.proctor(["prune"]).success();
    // A setting that removes nothing does not keep `prune` from its work.
    project.save("proctor.toml", &format!("{CHECK}[evidence]\nkeep_runs = 1\n[sandbox]\nmode = \"off\"\n"));
    project.proctor(["prune"]).success();

    let models = "[govern.drafter]\ncommand = [\"touch\", \"../shared/asked\"]\n[govern.reviewer]\ncommand = [\"true\"]\n";
    project.save("proctor.toml", &format!("{CHECK}[evidence]\nkeep_runs = 1\n[sandbox]\nmode = \"off\"\n{models}"));
    project.command(Path::new("git"), ["init", "-q"]).success();
    let governed = project.govern(["--brief", "brief.md"]).status(3);
    assert!(governed.stderr.contains("sandbox: mode: \"off\" instead of \"auto\""), "{}", governed.snapshot());
    assert!(!project.shared("asked").exists());
}
