//! Tests the inputs of a project: files and directories beside it that its checks may read, by whose content its verdicts hold.

use std::fs;

use crate::common::{Invocation, Project};
use crate::tracked::git;

/// The levels that claim that a check sees no more than is named.
const LEVELS: [&str; 2] = ["namespace", "landlock"];

/// A check that prints each file of its arguments that it can read, and fails unless the first begins with `2`.
const LOOK: &str = "import sys\n\
                    for path in sys.argv[1:]:\n\
                    \x20   try:\n\
                    \x20       open(path).close()\n\
                    \x20       print('SEEN', path)\n\
                    \x20   except OSError:\n\
                    \x20       pass\n\
                    try:\n\
                    \x20   open('../shared/written', 'w')\n\
                    \x20   print('WRITTEN')\n\
                    except OSError:\n\
                    \x20   pass\n\
                    sys.exit(not open(sys.argv[1]).read().startswith('2'))\n";

const PATHS: &str = "\"../shared/rate\", \"../base.json\", \"../pytest.ini\", \"../other/x\"";

/// A repository with a project `app` in it, and what lies beside it. Nobody allows the project anything.
fn repository(level: &str, settings: &str) -> Option<Project> {
    let project = Project::outside_of_temporary_directories()?.allowing_nothing().env("PROCTOR_TEST_ISOLATION", level);
    let toml = format!("[[check]]\nname = \"look\"\ncommand = [\"python3\", \"look.py\", {PATHS}]\n{settings}");
    for (path, text) in [
        ("app/look.py", LOOK),
        ("app/proctor.toml", &toml),
        ("app/tsconfig.json", "{\"extends\": \"../base\"}"),
        ("shared/rate", "2\n"),
        ("base.json", "{}"),
        ("pytest.ini", "[pytest]\n"),
        ("other/x", "1\n"),
    ] {
        project.save(path, text);
    }
    git(&project.path(), &["init", "-q"]);
    commit(&project);
    Some(project)
}

fn commit(project: &Project) {
    git(&project.path(), &["add", "--all"]);
    git(&project.path(), &["commit", "-q", "-m", "all"]);
}

fn in_app<'p>(project: &'p Project, arguments: &[&str]) -> Invocation<'p> {
    project.proctor(arguments.iter().copied()).directory("app")
}

#[test]
fn a_check_sees_named_and_found_inputs_and_cannot_write_them() {
    for level in LEVELS {
        let Some(project) = repository(level, "[project]\ninputs = [\"../shared\"]\n") else { return };
        let run = in_app(&project, &["run"]).success();
        assert!(run.stdout.contains("note: inputs beside the project: ../base.json, ../pytest.ini"), "{level}: {}", run.stdout);
        let log = in_app(&project, &["show", "--log", "STEP.1"]).success().stdout;
        let seen: Vec<&str> = log.lines().collect();
        assert_eq!(seen, ["SEEN ../shared/rate", "SEEN ../base.json", "SEEN ../pytest.ini"], "{level}");
        assert!(!project.path().join("shared/written").exists());
        let list = in_app(&project, &["generate", "tree", "--list"]).success().stdout;
        let inputs: Vec<&str> = list.lines().filter_map(|line| line.get(67..)).filter(|name| name.starts_with("../")).collect();
        assert_eq!(inputs, ["../base.json", "../pytest.ini", "../shared"]);
        // What was told once is not told again.
        let again = in_app(&project, &["run"]).success();
        assert!(!again.stdout.contains("inputs beside the project"), "{level}: {}", again.stdout);
    }
}

#[test]
fn a_changed_input_makes_the_verdict_stale_and_a_broken_one_is_no_green() {
    for level in LEVELS {
        let Some(project) = repository(level, "[project]\ninputs = [\"../shared\"]\n") else { return };
        in_app(&project, &["run"]).success();
        in_app(&project, &["wait", "--fresh", "--timeout", "20s"]).success();
        // One that was found, and one that the settings name.
        for (path, text) in [("base.json", "{\"a\": 1}"), ("shared/rate", "3\n")] {
            project.save(path, text);
            let status = in_app(&project, &["status"]).any_status();
            assert!(status.stdout.contains("stale"), "{level}, {path}: {}", status.stdout);
            let waited = in_app(&project, &["wait", "--fresh", "--timeout", "20s"]).any_status();
            assert_eq!(waited.status == 0, path == "base.json", "{level}, {path}: {}", waited.stdout);
        }
    }
}

#[test]
fn a_commit_is_proved_only_with_the_inputs_that_it_has() {
    let Some(project) = repository("namespace", "[project]\ninputs = [\"../shared\"]\n") else { return };
    in_app(&project, &["run", "--fresh-caches"]).success();
    in_app(&project, &["gate", "HEAD"]).success();
    for (path, good, other) in [("shared/rate", "2\n", "3\n"), ("base.json", "{}", "{\"a\": 1}")] {
        project.save(path, other);
        commit(&project);
        let gate = in_app(&project, &["gate", "HEAD"]).any_status();
        assert!(gate.status != 0 && !gate.stdout.contains("proved"), "{path}: {}", gate.stdout);
        // The verdict on the good commit still holds for it.
        in_app(&project, &["gate", "HEAD~1"]).success();
        project.save(path, good);
        commit(&project);
        in_app(&project, &["gate", "HEAD"]).success();
    }
}

/// A run that did not see a configuration file above the project says nothing of a commit that has one.
#[test]
fn a_commit_that_adds_configuration_above_the_project_is_not_proved_by_the_run_before() {
    for added in ["tox.ini", ".cargo/config"] {
        let Some(project) = repository("namespace", "[project]\ninputs = [\"../shared\"]\n") else { return };
        in_app(&project, &["run", "--fresh-caches"]).success();
        in_app(&project, &["gate", "HEAD"]).success();
        git(&project.path(), &["branch", "before"]);
        project.save(added, "[pytest]\n");
        commit(&project);
        in_app(&project, &["gate", "HEAD"]).status(5);
        // The commit before does not have it.
        in_app(&project, &["gate", "HEAD~1"]).success();
        git(&project.path(), &["branch", "after"]);
        git(&project.path(), &["checkout", "-q", "before"]);
        assert!(!project.path().join(added).exists());
        in_app(&project, &["gate", "after"]).status(5);
        in_app(&project, &["gate", "HEAD"]).success();
        git(&project.path(), &["checkout", "-q", "after"]);
        in_app(&project, &["run", "--fresh-caches"]).success();
        in_app(&project, &["gate", "after"]).success();
        in_app(&project, &["gate", "before"]).success();
    }
}

#[test]
fn what_a_rule_ignores_in_an_input_is_a_condition_of_the_gate() {
    let Some(project) = repository("namespace", "[project]\ninputs = [\"../shared\"]\n") else { return };
    project.save("shared/.gitignore", "made/\n");
    project.save("shared/made/rate.js", "3\n");
    commit(&project);
    in_app(&project, &["run", "--fresh-caches"]).success();
    let gate = in_app(&project, &["gate", "HEAD"]).success();
    assert!(gate.stdout.contains("on condition: checks could also read ../shared/made/"), "{}", gate.stdout);
}

#[test]
fn the_gate_runs_a_commit_with_its_own_inputs() {
    let Some(project) = repository("namespace", "[project]\ninputs = [\"../shared\"]\n") else { return };
    let good = in_app(&project, &["gate", "--run", "HEAD"]).success();
    assert!(good.stdout.contains("proved"), "{}", good.stdout);
    project.save("shared/rate", "3\n");
    commit(&project);
    // What is on disk is good again, and the commit is not.
    project.save("shared/rate", "2\n");
    let broken = in_app(&project, &["gate", "--run", "HEAD"]).any_status();
    assert!(broken.status == 1 && broken.stdout.contains("red"), "{}", broken.snapshot());
}

/// A prerequisite that installs the directory `lib` beside the project, so that its modules are found. It is run by every run.
const INSTALL: &str = "import os\n\
                       packages = '.venv/lib/python3.13/site-packages'\n\
                       os.makedirs(packages, exist_ok=True)\n\
                       open(packages + '/lib.pth', 'w').write(os.path.abspath('../lib') + '\\n')\n";

/// A repository whose project `app` reads what its prerequisite installs.
fn installing() -> Option<Project> {
    let project = Project::outside_of_temporary_directories()?.env("PROCTOR_TEST_ISOLATION", "namespace");
    for (path, text) in [
        ("app/look.py", "open('../lib/rate').close()\n"),
        ("app/install.py", INSTALL),
        (
            "app/proctor.toml",
            "[[prerequisite]]\nname = \"install\"\ncommand = [\"python3\", \"install.py\"]\n\
             [[check]]\nname = \"look\"\ncommand = [\"python3\", \"look.py\"]\n",
        ),
        ("lib/rate", "2\n"),
        (".gitignore", ".venv/\ndist/\n"),
    ] {
        project.save(path, text);
    }
    git(&project.path(), &["init", "-q"]);
    commit(&project);
    Some(project)
}

#[test]
fn what_a_prerequisite_installs_leads_to_inputs_of_the_same_command() {
    let Some(project) = installing() else { return };
    let run = in_app(&project, &["run", "--fresh-caches"]).success();
    assert!(run.stderr.contains("../lib changed while the checks ran: they are run once more"), "{}", run.snapshot());
    let list = in_app(&project, &["generate", "tree", "--list"]).success().stdout;
    assert!(list.lines().any(|line| line.ends_with(" ../lib")), "{list}");
    in_app(&project, &["wait", "--fresh", "--timeout", "20s"]).success();
    in_app(&project, &["gate", "HEAD"]).success();
    // What is built there, and what the working tree leads to meanwhile, is not of the commit.
    project.save("lib/dist/built", "x");
    assert!(in_app(&project, &["status"]).any_status().stdout.contains("fresh"));
    project.save("base.json", "{}");
    project.save("app/tsconfig.json", "{\"extends\": \"../base\"}");
    assert!(in_app(&project, &["generate", "tree", "--list"]).success().stdout.contains(" ../base.json"));
    in_app(&project, &["gate", "HEAD"]).success();
    project.save("lib/rate", "3\n");
    commit(&project);
    assert_ne!(in_app(&project, &["gate", "HEAD"]).any_status().status, 0);
    in_app(&project, &["gate", "HEAD~1"]).success();
}

#[test]
fn a_checkout_of_a_commit_has_the_inputs_that_its_own_installation_leads_to() {
    let Some(project) = installing() else { return };
    // Nothing is installed in the project, whose files lead to no input.
    for _ in 0..2 {
        let proved = in_app(&project, &["gate", "--run", "HEAD"]).success();
        assert!(proved.stdout.contains("proved · HEAD"), "{}", proved.stdout);
    }
    assert!(!in_app(&project, &["generate", "tree", "--list"]).success().stdout.contains(" ../lib"));
    in_app(&project, &["gate", "HEAD"]).success();
    project.save("lib/rate", "3\n");
    commit(&project);
    assert_ne!(in_app(&project, &["gate", "HEAD"]).any_status().status, 0);
}

#[test]
fn a_hidden_file_beside_the_project_is_named_with_the_line_that_shows_it() {
    for level in LEVELS {
        let Some(project) = repository(level, "") else { return };
        let run = in_app(&project, &["run"]).failure();
        let line =
            "`../shared` is not part of this project, so its checks do not see it: put `inputs = [\"../shared\"]` in `[project]`";
        assert!(run.stdout.contains(line), "{level}: {}", run.stdout);
    }
}

#[test]
fn an_input_outside_of_the_repository_is_asked_for_and_is_a_condition_of_the_gate() {
    let Some(project) = repository("namespace", "[project]\ninputs = [\"../shared\", \"~/settings\"]\n") else { return };
    fs::write(project.root().join("home/settings"), "x").expect("it is ours");
    let refused = in_app(&project, &["run"]).status(3);
    assert!(refused.stderr.contains("project: inputs"), "{}", refused.stderr);
    let text = "[[allow]]\nprojects = [\"/**\"]\nproject.inputs = [\"~/settings\"]\n";
    fs::create_dir_all(project.root().join("config/proctor")).expect("it is ours");
    fs::write(project.root().join("config/proctor/config.toml"), text).expect("it is ours");
    in_app(&project, &["run", "--fresh-caches"]).success();
    let gate = in_app(&project, &["gate", "HEAD"]).success();
    assert!(gate.stdout.contains("on condition: checks could also read ~/settings"), "{}", gate.stdout);
    fs::write(project.root().join("home/settings"), "y").expect("it is ours");
    assert!(in_app(&project, &["status"]).any_status().stdout.contains("stale"));
}

#[test]
fn what_holds_the_project_the_home_or_the_store_is_no_input() {
    for (name, reason) in [("..", "too much"), ("~/", "too much"), ("src", "lies in the project"), ("~/../x", "leads up")] {
        let project =
            Project::new().toml(&format!("[[check]]\nname = \"c\"\ncommand = \"true\"\n[project]\ninputs = [{name:?}]\n"));
        let refused = project.proctor(["run"]).status(4);
        assert!(refused.stderr.contains("project.inputs[1]") && refused.stderr.contains(reason), "{name}: {}", refused.stderr);
    }
    let project = Project::new();
    let state = project.root().join("state");
    project.save(
        "proctor.toml",
        &format!("[[check]]\nname = \"c\"\ncommand = \"true\"\n[project]\ninputs = [{:?}]\n", state.display().to_string()),
    );
    let refused = project.proctor(["run"]).status(4);
    assert!(refused.stderr.contains("proctor's own files"), "{}", refused.stderr);
}
