//! Tests checks that run on a snapshot: they see exactly the tree that was digested, and their writes never reach the
//! project.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Output, Project, fake_tool, poll};
use crate::run::{check, cleanup};

const LATE: Duration = Duration::from_secs(60);

/// A project whose checks run these shell scripts on a snapshot.
fn scripts(scripts: &[&str]) -> Project {
    let mut toml = String::from("[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\n");
    for (number, script) in scripts.iter().enumerate() {
        let script = serde_json::to_string(script).expect("a string can be written");
        toml += &format!("[[check]]\nname = \"check {}\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n", number + 1);
    }
    Project::new().toml(&toml)
}

pub(super) fn snapshot(output: &Output) -> Value {
    output.report()["tree"]["snapshot"].clone()
}

pub(super) fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the names of the layers that are still in the store. A layer is a directory with what the checks of a run
/// have written on their snapshot.
fn left_layers(project: &Project) -> Vec<String> {
    let snapshots = project.root().join("state/proctor/snapshots");
    let of_projects = fs::read_dir(snapshots).into_iter().flatten().flatten();
    let layers = of_projects.flat_map(|one| fs::read_dir(one.path().join("layers")).into_iter().flatten().flatten());
    layers.map(|layer| layer.file_name().to_string_lossy().into_owned()).collect()
}

/// Only an attempt that wrote a file takes room in a snapshot.
#[test]
fn many_checks_that_write_nothing_have_a_snapshot() {
    let project = scripts(&["true"; 76]);
    assert_eq!(snapshot(&project.proctor(["run", "--json"]).success())["tested"], "snapshot");
}

#[test]
#[ignore = "long tier"]
fn more_layers_than_a_mount_shows_end_the_run_and_nobody_is_put_in_place_unasked() {
    let project = Project::new().toml(&"[[check]]\nname = \"NAME\"\ncommand = [\"touch\", \"NAME\"]\n".repeat(152));
    let text = fs::read_to_string(project.path().join("proctor.toml")).expect("it is ours");
    let numbered: String =
        text.lines().enumerate().map(|(line, text)| text.replace("NAME", &format!("n{}", line / 3)) + "\n").collect();
    project.save("proctor.toml", &numbered);
    let ended = project.proctor(["run"]).status(3);
    assert!(ended.stderr.contains("wrote files more than 150 times"), "{}", ended.stderr);
    assert!(!project.path().join("n0").exists());
}

#[test]
fn a_check_sees_what_was_digested_whatever_is_saved_meanwhile() {
    let project =
        scripts(&["set -e; cd ../shared; touch begun; while [ -e hold ]; do sleep 0.01; done; cd -; cat a.txt dir/b.txt; ls"])
            .file("a.txt", "digested ")
            .file("dir/b.txt", "digested too");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    // A file is saved, a new file is made, and a directory is replaced.
    project.save("a.txt", "saved later ");
    project.save("c.txt", "new");
    fs::rename(project.path().join("dir"), project.path().join("old")).expect("a directory");
    project.save("dir/b.txt", "exchanged");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let run = run.ended();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    assert!(log.contains("digested digested too") && !log.contains("c.txt") && !log.contains("old"), "{log}");
    assert_eq!(project.store().report("default")["executionSummary"]["overallStatus"], "SUCCESS");
}

#[test]
fn what_a_check_writes_is_seen_by_the_next_one_and_never_reaches_the_project() {
    let project = scripts(&[
        "set -e; echo changed > a.txt; echo made > made.txt; mkdir -p d/e; echo x > d/e/f; rm gone.txt; \
         mkdir -p evidence/default; echo '{}' > evidence/default/x; touch -d @1 b.txt; cp b.txt same; mv same b.txt; \
         echo '<x/>' > coverage.xml; mkdir .git; echo planted > .git/config",
        "cat a.txt made.txt d/e/f && test ! -e gone.txt && test -e evidence/default/x",
    ])
    .file("a.txt", "as it was")
    .file("b.txt", "rewritten with the same bytes")
    .file("gone.txt", "");
    let output = project.proctor(["run"]).success();
    let path = |name: &str| project.path().join(name);
    assert_eq!(text(&path("a.txt")).as_deref(), Some("as it was"));
    for made in ["made.txt", "d", ".git", "coverage.xml", "evidence/default/x"] {
        assert!(!path(made).exists(), "{made} reached the project");
    }
    assert!(path("gone.txt").exists());
    let snapshot = snapshot(&output);
    assert_eq!(snapshot["tested"], "snapshot", "{snapshot}");
    let written: Vec<&str> =
        snapshot["written"].as_array().expect("a list").iter().filter_map(|one| one["path"].as_str()).collect();
    for name in ["a.txt", "made.txt", "d/e/f", "gone.txt", "coverage.xml", "evidence/default/x"] {
        assert!(written.contains(&name), "{name}: {written:?}");
    }
    assert!(output.stdout.contains("which never reach the project: "), "{}", output.stdout);
    assert_eq!(left_layers(&project), Vec::<String>::new());
    // The next run starts from the project's tree again, without the writes of the last run.
    let again = project.proctor(["run"]).success();
    assert_eq!(again.report()["tree"]["before"], output.report()["tree"]["before"]);
}

#[test]
fn ignored_entries_are_seen_by_their_class() {
    let project = scripts(&["set -e; cat .env .venv/lib/x.py web/node_modules/y.js; \
         test ! -e dist; test ! -e src/__pycache__; test ! -e .mypy_cache; \
         echo planted > .venv/lib/x.py; echo planted > .venv/lib/z.pth; echo planted > .env; cat .venv/lib/x.py"])
    .file(".gitignore", ".env\n.venv/\ndist/\nnode_modules/\n__pycache__/\n.mypy_cache/\n")
    .file(".env", "secret=1 ")
    .file(".venv/lib/x.py", "installed ")
    .file("web/package.json", "{}")
    .file("web/node_modules/y.js", "package ")
    .file("src/a.py", "")
    .file("src/__pycache__/a.cpython-311.pyc", "planted")
    .file(".mypy_cache/x", "stale")
    .file("dist/stale.d.ts", "stale");
    for _ in 0..2 {
        project.proctor(["run"]).success();
        let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
        assert!(log.contains("secret=1 installed package planted"), "{log}");
    }
    assert_eq!(text(&project.path().join(".venv/lib/x.py")).as_deref(), Some("installed "));
    assert!(!project.path().join(".venv/lib/z.pth").exists());
    assert_eq!(text(&project.path().join(".env")).as_deref(), Some("secret=1 "));
}

#[test]
fn environments_of_any_name_are_seen_as_they_are_and_of_an_ignored_directory_nothing_is_missing() {
    let project = Project::new()
        .toml("[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"tool\"\ncommand = [\".tox/py/bin/tool\"]\n")
        .file(".gitignore", "/env/\n/vendor/\n/.tox/\n")
        .file("backend/m.py", "")
        .file("backend/.venv/pyvenv.cfg", "")
        .file("backend/.venv/lib/coverage/y.py", "backend ")
        .file("env/pyvenv.cfg", "")
        .file("env/lib/coverage/x.py", "covered ")
        .file("vendor/lib/dist/i.js", "vendored ")
        .file(".tox/py/pyvenv.cfg", "")
        .file(".tox/py/lib/z.py", "tox")
        .file(
            ".tox/py/bin/tool",
            "#!/bin/sh\nset -e\ncat env/lib/coverage/x.py backend/.venv/lib/coverage/y.py vendor/lib/dist/i.js .tox/py/lib/z.py\n\
             echo planted > env/lib/planted.pth\n",
        );
    let tool = project.path().join(".tox/py/bin/tool");
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    for _ in 0..2 {
        let output = project.proctor(["run"]).success();
        let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
        assert!(log.contains("covered backend vendored tox"), "{log}");
        assert!(!project.path().join("env/lib/planted.pth").exists());
        let components = output.report()["environment"]["components"].to_string();
        assert!(["\"env\"", "\"backend/.venv\"", "\".tox/py\""].iter().all(|name| components.contains(name)), "{components}");
    }
}

#[test]
#[ignore = "long tier"]
fn two_saves_of_one_size_in_one_second_are_judged_by_their_content() {
    let project = scripts(&["python3 -c 'import m; raise SystemExit(m.X != 1)'"]).file("m.py", "X = 1\n");
    let run = |status: i32| project.proctor(["run"]).status(status);
    for _ in 0..10 {
        project.save("m.py", "X = 1\n");
        run(0);
        project.save("m.py", "X = 2\n");
        run(1);
    }
    assert!(!project.path().join("__pycache__").exists());
}

#[test]
fn without_namespaces_checks_run_in_the_project_and_for_a_large_file_a_person_is_asked() {
    let auto = "[sandbox]\nsnapshot = \"auto\"\n";
    let project = |toml: &str| Project::new().with_program(fake_tool()).toml(&format!("{toml}{auto}"));
    let weak = project(&check("late", &[])).env("PROCTOR_TEST_ISOLATION", "landlock");
    let output = weak.proctor(["run"]).success();
    assert_eq!(
        (&snapshot(&output)["tested"], &snapshot(&output)["reason"]),
        (&"in-place".into(), &"a snapshot needs namespaces".into())
    );
    assert!(output.stdout.contains("in place: the checks ran in the project, not on a snapshot: a snapshot needs namespaces"));

    let large = project(&check("late", &[])).file("large", &"x".repeat(2 << 20));
    large.save("proctor.toml", &(check("late", &[]) + auto + "max_snapshot_bytes = \"1MiB\"\n"));
    // A file alone opens nothing that a setting has to be approved for.
    let asked = large.proctor(["run"]).status(3).stderr;
    assert!(asked.contains("max_snapshot_bytes") && asked.contains("a person approves"), "{asked}");
    large.save("proctor.toml", &(check("late", &[]) + "[sandbox]\nsnapshot = \"require\"\nmax_snapshot_bytes = \"1MiB\"\n"));
    let refused = large.proctor(["run"]).status(3);
    assert!(refused.stderr.contains("nothing was run"), "{}", refused.stderr);

    // Nor does an ignored file. The line that is advised is enough.
    let toml = check("late", &[]) + auto;
    let ignored = project(&check("late", &[])).file(".gitignore", "data/\n").file("data/large", &"x".repeat(3 << 20));
    ignored.save("proctor.toml", &(toml.clone() + "max_snapshot_bytes = \"1MiB\"\n"));
    let asked = ignored.proctor(["run"]).status(3).stderr;
    let line = "max_snapshot_bytes = \"4MiB\"";
    assert!(asked.contains(&format!("write `{line}` below `[sandbox]`")) && asked.contains("`data/large` has 3MiB"), "{asked}");
    ignored.save("proctor.toml", &format!("{toml}{line}\n"));
    assert_eq!(snapshot(&ignored.proctor(["run"]).success())["tested"], "snapshot");
}

#[test]
fn a_clean_up_sees_what_the_checks_wrote_and_checks_side_by_side_have_layers_of_their_own() {
    let both = "touch \"$1\"; sleep 0.2; ls";
    let toml = format!(
        "[run]\nparallel = true\n[sandbox]\nsnapshot = \"require\"\n\
         [[check]]\nname = \"one\"\ncommand = [\"sh\", \"both\", \"one.txt\"]\n\
         [[check]]\nname = \"two\"\ncommand = [\"sh\", \"both\", \"two.txt\"]\n\
         [[check]]\nname = \"after\"\nafter = [\"one\", \"two\"]\ncommand = [\"ls\", \"one.txt\", \"two.txt\"]\n{}",
        cleanup("tidy", &[])
    );
    let project = Project::new().with_program(fake_tool()).toml(&toml).file("both", both);
    let output = project.proctor(["run"]).success();
    assert_eq!(snapshot(&output)["writtenCount"], 2, "{}", snapshot(&output));
    assert!(!project.path().join("one.txt").exists());
}

#[test]
fn a_store_that_is_reached_through_a_link_holds_snapshots() {
    let project = scripts(&["cat a.txt && echo x > a.txt"]).file("a.txt", "as it was");
    let state = project.root().join("state");
    fs::create_dir(project.root().join("disk")).expect("the directory is ours");
    fs::remove_dir(&state).and_then(|()| std::os::unix::fs::symlink("disk", &state)).expect("it is empty");
    for home in [state.clone(), project.path().join("../state"), state.join("../disk")] {
        let output = project.proctor(["run"]).env("XDG_STATE_HOME", home).success();
        assert_eq!(snapshot(&output)["tested"], "snapshot", "{}", output.snapshot());
    }
    assert_eq!(text(&project.path().join("a.txt")).as_deref(), Some("as it was"));
}

#[test]
fn a_check_that_takes_its_own_permissions_away_leaves_nothing_behind() {
    let project = scripts(&["mkdir -p d/e && touch d/e/f && chmod 000 d/e && chmod 555 d"]);
    project.proctor(["run"]).success();
    assert_eq!(left_layers(&project), Vec::<String>::new());
}

/// The check takes a second, and a save comes every 400 ms. If every save stopped the run, no run would ever end.
#[test]
fn somebody_who_saves_all_the_time_has_verdicts() {
    let project = Project::new().file("a.txt", "0").toml(
        "[sandbox]\nsnapshot = \"require\"\n\
         [[check]]\nname = \"slow\"\ncommand = [\"fake-tool\", \"--script\", \"set -e; cat a.txt; sleep 1; echo x > coverage.xml\"]\n",
    );
    let mut watch = project.proctor(["watch"]).watch();
    watch.wait_for_line("the first run", LATE, |line| line.starts_with("proctor "));
    for number in 0..3 {
        // Only the first save stops the current run. The other saves must let the new run go on, so a verdict comes.
        for save in 0..3 {
            project.save("a.txt", &format!("{number} {save}"));
            std::thread::sleep(Duration::from_millis(400));
        }
        watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    }
    watch.signal(nix::sys::signal::Signal::SIGINT);
    let output = watch.ended();
    assert!(!output.stdout.contains("MOVED"), "{}", output.stdout);
}

/// The check compares the ignored inputs that it sees with a list that is part of the tree.
#[test]
fn ignored_inputs_that_come_and_change_under_watch_are_seen_by_the_next_run() {
    let project = Project::new()
        .file(".gitignore", "*.env\n/local/\n")
        .file("expected", "")
        .file("sub/a.txt", "")
        .file("local/.keep", "")
        .toml(
            "[sandbox]\nsnapshot = \"require\"\n\
             [[check]]\nname = \"inputs\"\ncommand = [\"fake-tool\", \"--script\", \"set +o pipefail; cat *.env sub/*.env local/* 2>/dev/null | cmp - expected\"]\n",
        );
    let mut watch = project.proctor(["watch"]).watch();
    watch.wait_for_line("the first run", LATE, |line| line.starts_with("PASSED"));
    for (file, expected) in [
        ("a.env", "1"),
        ("sub/b.env", "12"),
        ("local/c", "123"),
        // These files are known already.
        ("a.env", "423"),
        ("local/c", "425"),
        ("sub/b.env", "465"),
    ] {
        let place = ["a.env", "sub/b.env", "local/c"].iter().position(|name| *name == file).expect("one of them");
        fs::write(project.path().join(file), &expected[place..=place]).expect("the directory is ours");
        project.save("expected", expected);
        let line = watch.wait_for_line(expected, LATE, |line| line.starts_with("PASSED") || line.starts_with("FAILED"));
        assert!(line.starts_with("PASSED"), "{file}: {line}");
    }
    watch.interrupt();
}

#[test]
fn what_a_person_opened_for_writing_inside_of_the_project_is_the_projects_own() {
    let project = Project::new().toml(
        "[sandbox]\nsnapshot = \"require\"\nwritable = [\"out\"]\n\
         [[check]]\nname = \"build\"\ncommand = [\"fake-tool\", \"--script\", \"cat out/kept && echo built > out/made && echo dropped > made\"]\n",
    );
    let project = project.file(".gitignore", "/out/\n").file("out/kept", "kept");
    let output = project.proctor(["run"]).success();
    assert_eq!(text(&project.path().join("out/made")).as_deref(), Some("built\n"));
    assert!(!project.path().join("made").exists());
    assert!(output.stdout.contains("1 thing, which never reaches the project: made (8B)"), "{}", output.stdout);
}

/// Somebody exchanges a directory while the check reads, and puts the real one back before the run ends.
#[test]
fn a_directory_that_is_swapped_and_swapped_back_during_a_run_is_never_seen() {
    let project = scripts(&["set -e; cd ../shared; touch begun; while [ -e hold ]; do sleep 0.01; done; cd -; \
         cat src/b.txt; ls src; touch ../shared/read; while [ ! -e ../shared/end ]; do sleep 0.01; done; test -e src/b.txt"])
    .file("src/b.txt", "digested ");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    let wait_for = |name: &str| poll(LATE, name, || if project.shared(name).exists() { Ok(()) } else { Err("not yet") });
    wait_for("begun");
    let (src, aside, fake) = (project.path().join("src"), project.shared("aside"), project.shared("fake"));
    fs::create_dir(&fake).and_then(|()| fs::write(fake.join("b.txt"), "fake")).expect("the directory is ours");
    fs::rename(&src, &aside).and_then(|()| fs::rename(&fake, &src)).expect("ours");
    fs::remove_file(project.shared("hold")).expect("it was held");
    wait_for("read");
    fs::rename(&src, &fake).and_then(|()| fs::rename(&aside, &src)).expect("ours");
    fs::write(project.shared("end"), "").expect("the directory is ours");
    let run = run.ended();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    assert!(log.contains("digested b.txt") && !log.contains("fake"), "{log}");
}

/// Checks that run one after another see the files that earlier checks wrote. So the report must name a file that makes
/// every test pass.
#[test]
fn a_transient_conftest_is_named_by_the_report_although_a_later_check_removes_it() {
    let project =
        scripts(&["echo '# every test passes' > conftest.py", "test -e conftest.py", "rm conftest.py", "test ! -e conftest.py"]);
    let output = project.proctor(["run"]).success();
    let snapshot = snapshot(&output);
    let written: Vec<String> = snapshot["written"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| format!("{} {}", one["actionId"], one["path"]).replace('"', ""))
        .collect();
    assert_eq!(written, ["STEP.1 conftest.py", "STEP.3 conftest.py"], "{snapshot}");
    let notes = output.report()["notes"].to_string();
    let named = |writer: &str| format!("the check `{writer}` wrote or removed `conftest.py` before this one");
    assert!(notes.contains(&named("check 1")) && notes.contains(&named("check 3")), "{notes}");
    assert!(output.stdout.contains(&format!("note: check 2: {}", named("check 1"))), "{}", output.stdout);
    assert!(!project.path().join("conftest.py").exists());
    // A run whose checks write no such file has no such note.
    let quiet = scripts(&["touch generated.txt", "test -e generated.txt"]).proctor(["run"]).success();
    assert!(!quiet.stdout.contains("decides how a check works"), "{}", quiet.stdout);
}

/// A file is saved each second while a check takes three seconds. In earlier versions every save ended the run, so there
/// was no verdict.
#[test]
#[ignore = "wide tier"]
fn a_save_each_second_for_a_minute_leaves_a_verdict_at_least_every_seven_seconds() {
    let project = Project::new().file("a.txt", "0").toml(
        "[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\n\
         [[check]]\nname = \"slow\"\ncommand = [\"fake-tool\", \"--script\", \"set -e; cat a.txt; sleep 3; python3 -I -S ../shared/digest.py .\"]\n",
    );
    fs::write(project.shared("digest.py"), crate::tree::SCRIPT).expect("the directory is ours");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the first run", LATE, |line| line.starts_with("proctor "));
    let (begun, mut verdicts, mut last) = (Instant::now(), 0, Instant::now());
    for number in 1..=60 {
        project.save("a.txt", &number.to_string());
        while begun.elapsed() < Duration::from_secs(number) {
            std::thread::sleep(Duration::from_millis(50));
            let runs = project.store().committed_runs();
            if runs.len() > verdicts {
                (verdicts, last) = (runs.len(), Instant::now());
                assert_eq!(runs[verdicts - 1]["overallStatus"], "SUCCESS");
            }
            assert!(last.elapsed() < Duration::from_secs(7), "no verdict for seven seconds after {verdicts}: {}", watch.text());
        }
    }
    watch.interrupt();
    assert!(verdicts >= 9, "{verdicts}");
    // Every verdict, the last one included, names the tree that its check saw.
    let mut trees = std::collections::BTreeSet::new();
    for run in project.store().committed_runs().iter().filter(|run| run["overallStatus"] == "SUCCESS") {
        let id = run["runId"].as_str().expect("an id");
        let seen = project.proctor(["show", id, "--log", "STEP.1"]).success().stdout;
        let tree = run["treeDigest"].as_str().expect("a digest");
        assert!(seen.contains(tree), "{id}: {tree}\n{seen}");
        trees.insert(tree.to_owned());
    }
    assert!(trees.len() >= 9, "{trees:?}");
}
