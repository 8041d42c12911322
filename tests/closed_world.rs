//! Tests the rule of the closed world: a file that the user can write is seen by a check only if the verdict names its content.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{Output, Project};

/// The levels that claim the rule.
const LEVELS: [&str; 2] = ["namespace", "landlock"];

/// A check that prints `SEEN path` for each argument that is a file with content, or a directory with entries.
const LOOK: &str = "import os, sys\n\
                    for path in sys.argv[1:]:\n\
                    \x20   try:\n\
                    \x20       found = os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read()\n\
                    \x20   except OSError:\n\
                    \x20       continue\n\
                    \x20   if found:\n\
                    \x20       print('SEEN', path)\n\
                    print('LOOKED')\n";

/// A repository with the project in it, files beside and above the project, settings of the user, and names in `.git` that git does not own.
fn project(level: &str) -> Option<Project> {
    let project = Project::outside_of_temporary_directories()?.env("PROCTOR_TEST_ISOLATION", level).file("look.py", LOOK);
    for (path, text) in [
        ("sibling/module.py", "X = 1\n"),
        ("pytest.ini", "[pytest]\naddopts = --deselect test_a.py\n"),
        ("home/.mypy.ini", "[mypy]\nignore_errors = true\n"),
        ("home/.config/ruff/ruff.toml", "[lint]\nselect = []\n"),
        ("home/.gitconfig", "[user]\nemail = somebody@example.org\n"),
        ("home/notes.txt", "private\n"),
        ("config/ruff/ruff.toml", "[lint]\nselect = []\n"),
    ] {
        let path = project.root().join(path);
        fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("it is ours");
        fs::write(path, text).expect("it is ours");
    }
    symlink("../sibling/module.py", project.path().join("leads_out.py")).expect("it is ours");
    Some(project)
}

fn check(project: &Project, paths: &[&str]) {
    let words: Vec<String> = ["python3", "look.py"].iter().chain(paths).map(|word| format!("{word:?}")).collect();
    project.save("proctor.toml", &format!("[[check]]\nname = \"look\"\ncommand = [{}]\n", words.join(", ")));
}

fn log(project: &Project) -> String {
    project.proctor(["show", "--log", "STEP.1"]).success().stdout
}

#[test]
fn what_lies_beside_or_above_the_project_or_in_the_home_is_not_seen() {
    for level in LEVELS {
        let Some(project) = project(level) else { return };
        let home = |name: &str| project.root().join("home").join(name).display().to_string();
        let hidden = [
            "../sibling/module.py".to_owned(),
            "../sibling".to_owned(),
            "../pytest.ini".to_owned(),
            "leads_out.py".to_owned(),
            home(".mypy.ini"),
            home(".config/ruff/ruff.toml"),
            home(".gitconfig"),
            home("notes.txt"),
            project.root().join("config/ruff/ruff.toml").display().to_string(),
        ];
        check(&project, &hidden.iter().map(String::as_str).chain(["look.py"]).collect::<Vec<_>>());
        project.proctor(["run"]).success();
        let log = log(&project);
        assert_eq!(log.lines().collect::<Vec<_>>(), ["SEEN look.py", "LOOKED"], "{level}");
    }
}

#[test]
fn of_git_a_check_sees_what_git_owns_and_neither_hooks_nor_other_names() {
    // Without namespaces the project's own `.git` is an open channel: nothing could be made beside it otherwise.
    let Some(project) = project("namespace") else { return };
    commit_all(&project);
    fs::create_dir_all(project.path().join(".git/helpers")).expect("it is ours");
    fs::write(project.path().join(".git/helpers/module.py"), "X = 1\n").expect("it is ours");
    fs::write(project.path().join(".git/hooks/pre-commit"), "#!/bin/sh\n").expect("it is ours");
    let foreign = [
        ".git/objects/x/conftest.py",
        ".git/BISECT_LOG/conftest.py",
        ".git/reftable/conftest.py",
        "../lender/objects/conftest.py",
    ];
    for path in foreign.map(|path| project.path().join(path)) {
        fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("it is ours");
        fs::write(path, "X = 1\n").expect("it is ours");
    }
    let lender = project.root().join("lender/objects");
    fs::create_dir(lender.join("pack")).expect("it is ours");
    let lent = format!("{}\n", lender.display());
    fs::write(project.path().join(".git/objects/info/alternates"), lent).expect("it is ours");
    let own = [".git/HEAD", ".git/refs", ".git/objects"];
    let hidden = [".git/helpers/module.py", ".git/helpers", ".git/hooks/pre-commit"];
    check(&project, &[&hidden[..], &foreign[..], &own[..]].concat());
    project.proctor(["run"]).success();
    let log = log(&project);
    assert_eq!(log.lines().collect::<Vec<_>>(), ["SEEN .git/HEAD", "SEEN .git/refs", "SEEN .git/objects", "LOOKED"]);
}

#[test]
fn where_a_check_asked_git_the_gate_names_what_no_digest_has() {
    for (command, expected) in [("\"python3\", \"look.py\", \"look.py\"", false), ("\"git\", \"describe\", \"--always\"", true)] {
        let Some(project) = project("namespace") else { return };
        project.save("proctor.toml", &format!("[[check]]\nname = \"one\"\ncommand = [{command}]\n"));
        commit_all(&project);
        project.proctor(["run", "--fresh-caches"]).success();
        let gate = project.proctor(["gate"]).any_status();
        assert_eq!(gate.stdout.contains(".git (HEAD, tags, index)"), expected, "{}", gate.snapshot());
    }
}

#[test]
fn an_ignored_worktree_is_not_copied_and_rules_in_ignored_directories_cost_no_snapshot() {
    let project = Project::new()
        .file("look.py", LOOK)
        .file(".gitignore", "/vendor/\n/.worktrees/\n")
        .file("vendor/.gitignore", "*.tmp\n")
        .file("vendor/module.py", "X = 1\n");
    check(&project, &["vendor/module.py", ".worktrees/other/look.py"]);
    commit_all(&project);
    git(&project, &["worktree", "add", "--quiet", ".worktrees/other"]);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(report["tree"]["snapshot"]["tested"], "snapshot", "{report}");
    assert_eq!(log(&project).lines().collect::<Vec<_>>(), ["SEEN vendor/module.py", "LOOKED"]);
}

#[test]
fn with_too_many_directories_of_packages_a_person_is_asked() {
    let mut project = Project::new().toml("[[check]]\nname = \"look\"\ncommand = [\"true\"]\n").file(".gitignore", "/env-*/\n");
    for number in 0..=500 {
        project = project.file(&format!("env-{number}/pyvenv.cfg"), "");
    }
    let run = project.proctor(["run"]).status(3);
    assert!(run.stderr.contains("has 501 directories of installed packages"), "{}", run.snapshot());
    assert!(run.stderr.contains("`snapshot = \"off\"`"), "{}", run.snapshot());
}

#[test]
fn git_works_in_a_check_and_has_none_of_the_users_settings() {
    for level in LEVELS {
        let Some(project) = project(level) else { return };
        commit_all(&project);
        git(&project, &["config", "alias.say", "!echo a setting of the repository"]);
        let script = "git rev-parse HEAD && git status --porcelain >/dev/null\n\
                      git say 2>/dev/null || true; git config --global --list 2>/dev/null || true\n\
                      git clone -q . \"$TMPDIR/clone\" && cd \"$TMPDIR/clone\" && echo x >new && git add new && git commit -qm new && git log -1 --format=%ae\n";
        project.save("script.sh", script);
        project.save("proctor.toml", "[[check]]\nname = \"git\"\ncommand = [\"sh\", \"-e\", \"script.sh\"]\n");
        let run = project.proctor(["run"]).any_status();
        let log = log(&project);
        assert_eq!(run.status, 0, "{level}: {}\n{log}", run.snapshot());
        assert!(!log.contains("somebody@example.org"), "{level}: {log}");
        // Without namespaces the project's own `.git` is an open channel.
        assert_eq!(log.contains("a setting of the repository"), level == "landlock", "{level}: {log}");
    }
}

#[test]
fn a_directory_that_a_setting_names_is_seen_and_every_verdict_says_that_no_digest_names_it() {
    for level in LEVELS {
        let Some(project) = project(level) else { return };
        project.save(
            "proctor.toml",
            "[[check]]\nname = \"look\"\ncommand = [\"python3\", \"look.py\", \"../sibling/module.py\"]\n[sandbox]\nvisible = [\"../sibling\"]\n",
        );
        project.proctor(["run"]).success();
        assert!(log(&project).contains("SEEN ../sibling/module.py"), "{level}");
        let open = open_channels(&project);
        assert!(open.iter().any(|channel| channel.contains("sibling")), "{level}: {open:?}");
    }
}

#[test]
fn an_open_world_is_said_by_the_verdict_and_proves_no_commit() {
    let toml = "[[check]]\nname = \"look\"\ncommand = [\"python3\", \"look.py\", \"../sibling/module.py\"]\n";
    for (settings, level) in [("[sandbox]\nworld = \"open\"\n", "namespace"), ("", "process-group")] {
        let Some(project) = project(level) else { return };
        project.save("proctor.toml", &format!("{toml}{settings}"));
        commit_all(&project);
        let run = project.proctor(["run", "--fresh-caches"]).any_status();
        assert_eq!(run.status, 0, "{}", run.snapshot());
        assert!(log(&project).contains("SEEN ../sibling/module.py"), "{level}");
        assert!(open_channels(&project).iter().any(|channel| channel.starts_with("open world")), "{level}");
        let gate = project.proctor(["gate", "--json", "HEAD"]).status(3);
        assert!(gate.stdout.contains("open-world"), "{level}: {}", gate.stdout);
    }
}

#[test]
fn where_no_closed_world_is_possible_the_trusted_commit_may_accept_that() {
    let Some(project) = project("process-group") else { return };
    project.save("proctor.toml", "[[check]]\nname = \"look\"\ncommand = [\"python3\", \"look.py\"]\n[gate]\nworld = \"open\"\n");
    commit_all(&project);
    project.proctor(["run", "--fresh-caches"]).success();
    project.proctor(["gate", "--policy-from", "HEAD", "HEAD"]).success();
}

fn open_channels(project: &Project) -> Vec<String> {
    let report = project.store().report("default");
    let channels = report["isolation"]["openChannels"].as_array().cloned().unwrap_or_default();
    channels.iter().filter_map(|channel| channel.as_str().map(str::to_owned)).collect()
}

fn commit_all(project: &Project) {
    if !project.path().join(".git").exists() {
        git(project, &["init", "-q", "-b", "main"]);
    }
    git(project, &["add", "-A"]);
    git(project, &["commit", "-qm", "all", "--allow-empty"]);
}

fn git(project: &Project, arguments: &[&str]) -> Output {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    project.command("git".as_ref(), identity.iter().chain(arguments)).success()
}
