//! The same attacks on the files that decide how a project is judged (W1, W5, W7), at each level of isolation and at each place
//! in which a check can work. Each row of the table is run by itself: what the project is afterwards, what the run says of it,
//! and what the next run is asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::approval::signed::{allowed, key};
use crate::common::{Project, USER_CONFIGURATION, poll};
use crate::daemon::{LATE, start_serving};

/// One attack by a check.
struct Attack {
    /// What the check does, in the words of a shell.
    script: &'static str,
    /// The file that must be named where the attack changed it.
    path: &'static str,
    /// What keeps a check that works in the project itself from the attack at the level `namespace`.
    in_namespace: InNamespace,
    /// What the next run says, as a refusal or as changed rules; empty if the change is none of the rules.
    asked: &'static str,
}

/// What the level `namespace` does against an attack in the project itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InNamespace {
    /// The file is read-only for the check.
    Holds,
    /// A new file cannot be kept from being made: the run is `MOVED` and names it.
    Names,
}

use InNamespace::{Holds, Names};

const ATTACKS: &[Attack] = &[
    attack("sed -i 's/^\\[sandbox\\]$/&\\nmode = \"off\"/' proctor.toml", "proctor.toml", Holds, "sandbox: mode: \"off\""),
    attack("sed -i 's/\"check.sh\"/\"-c\", \"true\"/' proctor.toml", "proctor.toml", Holds, "check: command"),
    attack(
        "sed 's,../shared,~/.config,' proctor.toml > ../shared/new && cat ../shared/new > proctor.toml",
        "proctor.toml",
        Holds,
        "sandbox: writable",
    ),
    attack("mv proctor.toml other.toml && ln -s other.toml proctor.toml", "proctor.toml", Holds, ""),
    attack("echo src/ >> .gitignore", ".gitignore", Holds, "src/calc.py"),
    attack("echo '*.py' > src/.ignore", "src/.ignore", Names, "src/calc.py"),
    attack("echo src/ > .ignore", ".ignore", Names, "src/calc.py"),
    attack("echo x >> T1-test-specification.json", "T1-test-specification.json", Holds, ""),
    attack("echo x > src/T2-test-specification.json", "src/T2-test-specification.json", Names, ""),
    attack("cat ../shared/evil.pub >> allowed_signers", "allowed_signers", Holds, "approval: signers"),
    attack("mkdir .git && echo > .git/config", ".git", Names, ""),
    attack("mkdir src/.git && echo > src/.git/config", "src/.git", Names, ""),
    attack("echo 'gitdir: ../web/.git' > src/.git", "src/.git", Names, ""),
    attack("mkdir build/.git && echo > build/.git/config", "build/.git", Names, ""),
    attack("mkdir web/objects web/refs && echo > web/HEAD", "web/HEAD", Names, ""),
    attack("mkdir build/objects build/refs && echo > build/HEAD", "build/HEAD", Names, ""),
    attack("echo x >> web/.git/config", "web/.git/config", Holds, ""),
    attack("echo x > web/.git/config.worktree", "web/.git/config.worktree", Holds, ""),
    attack("echo ../../src > web/.git/commondir", "web/.git/commondir", Holds, ""),
    attack("echo true > web/.git/hooks/pre-commit", "web/.git/hooks/pre-commit", Holds, ""),
    attack("echo x >> web/.git/modules/sub/config", "web/.git/modules/sub/config", Holds, ""),
    attack("echo 'gitdir: ../src' > sub/.git", "sub/.git", Holds, ""),
];

const fn attack(script: &'static str, path: &'static str, in_namespace: InNamespace, asked: &'static str) -> Attack {
    Attack { script, path, in_namespace, asked }
}

/// Returns a project with every file that an attack changes, whose only check carries out the attack once.
fn project(script: &str, level: &str, check: &str) -> Project {
    let toml = format!(
        "[[check]]\nname = \"check\"\ncommand = [\"sh\", \"check.sh\"]\n{check}\n\
         [sandbox]\nwritable = [\"../shared\"]\n\n[approval]\nallowed_signers = \"allowed_signers\"\n"
    );
    let once = format!("test -e ../shared/tried && exit 0\ntouch ../shared/tried\n{script}\nexit 0\n");
    let project = Project::new().toml(&toml).file("check.sh", &once).file("src/calc.py", "ok = True\n");
    for (path, text) in [
        (".gitignore", "build/\n"),
        ("build/made", ""),
        ("T1-test-specification.json", "{}\n"),
        ("web/a.txt", "a\n"),
        ("web/.git/config", "[core]\n"),
        ("web/.git/hooks/commit-msg.sample", "true\n"),
        ("web/.git/modules/sub/config", "[core]\n"),
        ("sub/a.txt", "a\n"),
        ("sub/.git", "gitdir: ../web/.git/modules/sub\n"),
    ] {
        project.save(path, text);
    }
    let (lead, evil) = (key(&project, "lead"), key(&project, "evil"));
    project.save("allowed_signers", &allowed(&lead));
    fs::write(project.shared("evil.pub"), allowed(&evil)).expect("it is ours");
    let allow = "[[allow]]\nprojects = [\"/**\"]\nsandbox.writable = [\"../shared\"]\n";
    fs::write(project.root().join(USER_CONFIGURATION), allow).expect("it is ours");
    project.env("PROCTOR_TEST_ISOLATION", level)
}

/// Returns the content of every file of a project but the evidence.
fn files_of(project: &Project) -> BTreeMap<String, Vec<u8>> {
    fn add(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("its kind");
            let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            if kind.is_dir() {
                add(root, &path, files);
            } else if kind.is_symlink() {
                files.insert(name, b"link".to_vec());
            } else {
                files.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    let mut files = BTreeMap::new();
    add(&project.path(), &project.path(), &mut files);
    files.remove("evidence");
    files
}

/// Runs every attack in the project itself at a level. `holds` says whether the level keeps it off.
#[track_caller]
fn attack_in_place(level: &str, holds: fn(&Attack) -> bool) {
    for attack in ATTACKS {
        let (script, path) = (attack.script, attack.path);
        let project = project(script, level, "snapshot = \"off\"");
        let before = files_of(&project);
        let run = project.proctor(["run"]).any_status();
        assert!(project.shared("tried").exists(), "{level}: {script}: {}", run.snapshot());
        // A run that is `MOVED` is no latest verdict, so its report is shown by the program.
        let report = project.proctor(["show", "--json"]).any_status().json();
        assert_eq!(report["isolation"]["level"], level, "{script}");
        if holds(attack) {
            assert_eq!(run.status, 0, "{level}: {script}: {}", run.snapshot());
            let mut after = files_of(&project);
            after.retain(|name, _| before.contains_key(name));
            assert!(after == before, "{level}: {script}: nothing that was there changed");
            continue;
        }
        assert_eq!(run.status, 5, "{level}: {script}: {}", run.snapshot());
        let hint = format!("hint: {path} decides how the project is judged");
        assert!(run.stdout.contains("MOVED") && run.stderr.contains(&hint), "{level}: {script}: {}", run.snapshot());
        let moved = report["tree"]["moved"].to_string();
        assert!(moved.contains(&format!("\"{path}\"")), "{level}: {script}: {moved}");
        let next = project.proctor(["run"]).any_status();
        let is_refused = next.status == 3 && next.stderr.contains(attack.asked);
        let marked = next.stdout.lines().any(|line| line.contains("judged by changed rules: ") && line.contains(attack.asked));
        assert_eq!(is_refused || marked, !attack.asked.is_empty(), "{level}: {script}: {}", next.snapshot());
    }
}

#[test]
#[ignore = "long tier"]
fn a_check_on_a_snapshot_changes_none_of_these_files_and_is_named() {
    for attack in ATTACKS {
        let (script, path) = (attack.script, attack.path);
        let project = project(script, "namespace", "");
        let before = files_of(&project);
        let run = project.proctor(["run"]).success();
        assert!(project.shared("tried").exists(), "{script}: {}", run.snapshot());
        assert!(files_of(&project) == before, "{script}: the project is as it was");
        let report = project.store().report("default");
        // The tree has no `build/`, so the snapshot has none, and what lies in git's own directories is not copied either.
        let is_copied = !path.starts_with("build/") && !path.starts_with("web/.git");
        let (notes, written) = (report["notes"].to_string(), report["tree"]["snapshot"]["written"].to_string());
        assert!(!is_copied || notes.contains(path), "{script}: {notes}\n{written}");
        project.proctor(["run"]).success();
    }
}

#[test]
#[ignore = "long tier"]
fn in_namespaces_a_check_in_the_project_changes_none_of_these_files_and_new_ones_are_named() {
    attack_in_place("namespace", |attack| attack.in_namespace == Holds);
}

#[test]
#[ignore = "long tier"]
fn under_landlock_each_change_of_these_files_is_named_and_no_success() {
    attack_in_place("landlock", |_| false);
}

#[test]
#[ignore = "long tier"]
fn with_a_process_group_alone_each_change_of_these_files_is_named_and_no_success() {
    attack_in_place("process-group", |_| false);
}

/// A first run, and a run under weaker settings, are refused before the level matters (W1, W3).
#[test]
fn what_opens_the_machine_is_asked_for_at_every_level() {
    for level in ["namespace", "landlock", "process-group"] {
        let project = project("true", level, "");
        fs::remove_file(project.root().join(USER_CONFIGURATION)).expect("it is there");
        let refused = project.proctor(["run"]).status(3);
        assert!(refused.stderr.contains("sandbox: writable: "), "{level}: {}", refused.snapshot());
        assert!(!project.shared("tried").exists(), "{level}: nothing was run");
        assert_eq!(project.store().committed_runs().len(), 0, "{level}");
    }
}

/// The saves of a hostile check can stop its own run, so that no report tells what it did. The next run then does.
#[test]
fn what_a_run_changed_that_its_own_saves_stopped_is_named_by_the_refusal_of_the_next_one() {
    for level in ["landlock", "process-group"] {
        let project = project("true", level, "snapshot = \"off\"");
        let daemon = start_serving(&project);
        project.proctor(["wait", "--fresh"]).success();
        let attack = "test -e src/.git && exit 0\nmkdir src/.git .git; echo x > src/.git/config; echo x >> web/.git/config\n\
             cat ../shared/evil.pub >> allowed_signers; echo src/ >> .gitignore\n\
             sed -i 's/^\\[sandbox\\]$/&\\nmode = \"off\"/' proctor.toml; sleep 60\n";
        project.save("check.sh", attack);
        let superseded = || {
            let ledger = project.store().ledger();
            let is_stopped = ledger.iter().any(|line| line["body"]["kind"] == "superseded");
            if is_stopped { Ok(()) } else { Err(format!("{} lines", ledger.len())) }
        };
        poll(LATE, "a run that its own saves stopped", superseded);
        let refused = project.proctor(["run"]).status(3);
        let named = "`.git`, `.gitignore`, `allowed_signers`, `proctor.toml`, `src/.git`, `web/.git/config`: each decides";
        for text in ["sandbox: mode: \"off\"", "src/calc.py", "approval: signers: ", named] {
            assert!(refused.stderr.contains(text), "{level}: {text}: {}", refused.snapshot());
        }
        daemon.interrupt();
    }
}
