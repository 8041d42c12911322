//! Tests the caches of tools that check on a snapshot: each check keeps its own cache from run to run, and no other
//! check sees it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use proctor_model::FileCheck;

use crate::common::{Output, Project, node_modules, poll, python_checkers, python_plain};
use crate::run::planned::{file, run_plan};
use crate::run::result;
use crate::run::snapshot::{snapshot, text};

const LATE: Duration = Duration::from_secs(60);

/// Counts the runs of the check in its cache, and prints the number.
const COUNT: &str = "mkdir -p .mypy_cache; n=$(($(cat .mypy_cache/n 2>/dev/null || echo 0) + 1)); echo $n > .mypy_cache/n; \
     echo count=$n;";

/// A project whose checks are the given shell scripts, each in a file of its own, on a snapshot.
fn files(scripts: &[&str]) -> Project {
    let mut toml = String::from("[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\n");
    for number in 1..=scripts.len() {
        toml += &format!("[[check]]\nname = \"check {number}\"\ncommand = [\"sh\", \"check-{number}.sh\"]\n");
    }
    let with = |project: Project, (number, script): (usize, &&str)| project.file(&format!("check-{}.sh", number + 1), script);
    scripts.iter().enumerate().fold(Project::new().toml(&toml), with)
}

fn log(project: &Project, action: &str) -> String {
    project.proctor(["show", "--log", action]).success().stdout
}

/// Runs the checks and returns the number that the first one counted.
fn count(project: &Project, arguments: &[&str]) -> (Output, String) {
    let output = project.proctor(arguments);
    let output = output.success();
    let counted = log(project, "STEP.1").lines().find_map(|line| Some(line.split_once("count=")?.1.to_owned()));
    (output, counted.expect("the check counts"))
}

#[test]
fn a_check_finds_its_own_cache_again_and_nobody_else_sees_it() {
    let counts = format!(
        "set -e; {COUNT} test -z \"$(find . -name poison)\"; mkdir -p web/.ruff_cache; echo x > web/.ruff_cache/x; \
         m=$(($(cat node_modules/.vite/m 2>/dev/null || echo 0) + 1)); mkdir -p node_modules/.vite; echo $m > node_modules/.vite/m; \
         test $m = $n; echo dropped > node_modules/y.js"
    );
    let poisons = "set -e; test ! -e .mypy_cache/n; test ! -e web/.ruff_cache; test ! -e node_modules/.vite/m; \
         mkdir -p .mypy_cache node_modules/.vite; touch .mypy_cache/poison node_modules/.vite/poison; cat node_modules/y.js";
    let project = files(&[&counts, poisons])
        .file("package.json", "{}")
        .file("web/a.txt", "")
        .file("node_modules/y.js", "package")
        .file("node_modules/.vite/of-the-person", "");
    for number in ["1", "2", "3"] {
        let (output, counted) = count(&project, &["run"]);
        assert_eq!(counted, number);
        assert_eq!(snapshot(&output)["caches"], "kept");
        assert_eq!(snapshot(&output)["writtenCount"], 0, "{}", snapshot(&output));
        assert!(log(&project, "STEP.2").contains("package"));
    }
    for made in [".mypy_cache", "web/.ruff_cache", "node_modules/.vite/m"] {
        assert!(!project.path().join(made).exists(), "{made} reached the project");
    }
    // A check with another command counts as another check, so its cache begins empty.
    let changed =
        text(&project.path().join("proctor.toml")).expect("settings").replace("\"check-1.sh\"", "\"check-1.sh\", \"again\"");
    project.save("proctor.toml", &changed);
    project.approve();
    assert_eq!(count(&project, &["run"]).1, "1");
}

/// Many tools keep their cache in `node_modules/.cache`, where packages also put programs that they download when they are installed.
#[test]
fn no_check_sees_a_cache_that_a_run_by_hand_left_among_installed_packages() {
    let cache = "node_modules/.cache";
    let looks = format!(
        "set -e; {COUNT} {cache}/engine/1.0/engine; test -e {cache}/engine/data; test ! -e {cache}/lint/of-the-person; \
         test ! -e {cache}/format; m=$(($(cat {cache}/lint/m 2>/dev/null || echo 0) + 1)); mkdir -p {cache}/lint; \
         echo $m > {cache}/lint/m; test $m = $n"
    );
    let project = files(&[&looks])
        .file("package.json", "{}")
        .file(&format!("{cache}/lint/of-the-person"), "all is well")
        .file(&format!("{cache}/format"), "all is well")
        .file(&format!("{cache}/engine/data"), "")
        .file(&format!("{cache}/engine/1.0/engine"), "#!/bin/sh\n");
    let engine = project.path().join(cache).join("engine/1.0/engine");
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).expect("it is ours");
    assert_eq!(count(&project, &["run", "--fresh-caches"]).1, "1");
    // The check's own cache is kept, as everywhere.
    for number in ["1", "2"] {
        assert_eq!(count(&project, &["run"]).1, number);
    }
}

#[test]
fn a_check_starts_without_caches_where_fresh_ones_are_asked_for() {
    let project = files(&[&format!("set -e; {COUNT}")]);
    assert_eq!(count(&project, &["run"]).1, "1");
    let (output, counted) = count(&project, &["run", "--fresh-caches"]);
    assert_eq!((counted.as_str(), snapshot(&output)["caches"].as_str()), ("1", Some("fresh")));
    assert_eq!(count(&project, &["run"]).1, "2", "the fresh run kept nothing and dropped nothing");
    let fresh =
        text(&project.path().join("proctor.toml")).expect("settings").replace("[sandbox]\n", "[sandbox]\ncaches = \"fresh\"\n");
    project.save("proctor.toml", &fresh);
    for _ in 0..2 {
        assert_eq!(count(&project, &["run"]).1, "1");
    }
}

/// Maven, cargo and Next.js write reports and products to directories that are also their caches.
#[test]
fn a_file_that_a_check_wrote_to_its_cache_is_validated_by_a_later_step() {
    let project = files(&[
        "set -e; test ! -e target/hold; mkdir -p target/site; test -e target/site/report.xml || echo x > target/site/report.xml",
        "",
    ]);
    let toml = text(&project.path().join("proctor.toml")).expect("settings");
    for caches in ["kept", "kept", "fresh"] {
        project.save("proctor.toml", &toml.replace("[sandbox]", &format!("[sandbox]\ncaches = \"{caches}\"")));
        let report = run_plan(&project, |plan| plan.steps[1] = file(&plan.steps[1], "target/site/report.xml", FileCheck::Exists));
        assert_eq!(result(&report, "STEP.2")["status"], "SUCCESS", "{caches}: {report}");
        assert_eq!(report["tree"]["snapshot"]["caches"], caches);
    }
}

#[test]
fn a_cache_that_writes_names_is_a_product_which_later_checks_see() {
    let project = files(&["set -e; test ! -e target; mkdir target; echo built > target/app", "cat target/app"])
        .file(".gitignore", "target/\n");
    let toml = text(&project.path().join("proctor.toml")).expect("settings");
    project.save("proctor.toml", &toml.replace("\"check-1.sh\"]\n", "\"check-1.sh\"]\nwrites = [\"target/**\"]\n"));
    for _ in 0..2 {
        project.proctor(["run"]).success();
        assert!(log(&project, "STEP.2").contains("built"));
        assert_eq!(text(&project.path().join("target/app")).as_deref(), Some("built\n"));
    }
}

#[test]
fn a_check_that_looks_into_the_cache_of_another_one_fails_with_a_note_that_says_what_helps() {
    let toml = "[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"build\"\ncommand = [\"sh\", \"build.sh\"]\n\
                [[check]]\nname = \"app\"\ncommand = [\"./target/app\"]\n[[check]]\nname = \"shell\"\ncommand = [\"sh\", \"-c\", \"./target/app\"]\n\
                [[check]]\nname = \"other\"\ncommand = [\"ls\", \"nowhere\"]\n";
    let build = "mkdir -p target; printf '#!/bin/sh\\necho ran' > target/app; chmod +x target/app";
    let project = Project::new().toml(toml).file("build.sh", build).file(".gitignore", "target/\n");
    for _ in 0..2 {
        let output = project.proctor(["run"]).status(1);
        let note = "`target` is a cache of the check `build`, which no other check sees: with `writes = [\"target/**\"]`, or a part of it,";
        for check in ["app", "shell"] {
            assert!(output.stdout.contains(&format!("note: {check}: {note}")), "{}", output.stdout);
        }
        assert_eq!(output.stdout.matches(note).count(), 2, "{}", output.stdout);
    }
    let advised = toml.replace("\"build.sh\"]\n", "\"build.sh\"]\nwrites = [\"target/**\"]\n");
    project.save("proctor.toml", advised.split("[[check]]\nname = \"other\"").next().expect("the rest"));
    project.approve();
    project.proctor(["run"]).success();
}

#[test]
fn what_a_check_removes_is_gone_and_a_failed_check_keeps_its_cache() {
    let project = files(&["set -e; ls -A .mypy_cache 2>/dev/null || true; if [ -e .mypy_cache/a ]; then rm -r .mypy_cache; \
         mkdir .mypy_cache; touch .mypy_cache/b; exit 1; fi; mkdir -p .mypy_cache; touch .mypy_cache/a"]);
    project.proctor(["run"]).success();
    project.proctor(["run"]).status(1);
    assert!(log(&project, "STEP.1").contains('a'));
    project.proctor(["run"]).success();
    let last = log(&project, "STEP.1");
    assert!(last.contains('b') && !last.contains('a'), "{last}");
}

#[test]
fn an_attempt_that_ran_out_of_time_leaves_the_cache_as_it_was() {
    let project = files(&[&format!("set -e; {COUNT} while [ -e ../shared/hang ]; do sleep 0.01; done")]);
    let limited = text(&project.path().join("proctor.toml")).expect("settings") + "timeout = \"2s\"\n";
    project.save("proctor.toml", &limited);
    assert_eq!(count(&project, &["run"]).1, "1");
    fs::write(project.shared("hang"), "").expect("the directory is ours");
    project.proctor(["run"]).status(1);
    assert!(log(&project, "STEP.1").contains("count=2"));
    fs::remove_file(project.shared("hang")).expect("it was made");
    assert_eq!(count(&project, &["run"]).1, "2");
}

/// Makes a file ten seconds older, so that it is older than everything that a check writes after this.
fn set_back(project: &Project, path: &str) {
    let file = fs::File::options().write(true).open(project.path().join(path)).expect("a file");
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(10)).expect("a time can be set");
}

/// A tool that takes every file for unchanged that is older than its build information.
const BY_TIME: &str = "set -e; touch ../shared/begun; \
     if [ -e app.tsbuildinfo ] && [ -z \"$(find src -type f -newer app.tsbuildinfo)\" ]; then echo up-to-date; exit 0; fi; \
     echo checked; if cat src/* | grep -q bad; then exit 1; fi; while [ -e ../shared/hold ]; do sleep 0.01; done; touch app.tsbuildinfo";

#[test]
fn a_save_that_is_older_than_the_kept_build_information_is_tested() {
    let project = files(&[BY_TIME]).file("src/a.ts", "good").file("src/b.ts", "good");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    // The new content has another size. A file of the same size can get a time up to a second in the future, and then it
    // is checked once more.
    project.save("src/a.ts", "bad");
    set_back(&project, "src/a.ts");
    fs::remove_file(project.shared("hold")).expect("it was held");
    assert_eq!(run.ended().status, 0);
    project.proctor(["run"]).status(1);
    project.save("src/a.ts", "good");
    project.proctor(["run"]).success();
    assert!(log(&project, "STEP.1").contains("checked"));
    project.proctor(["run"]).success();
    assert!(log(&project, "STEP.1").contains("up-to-date"), "the build information is kept");
    // No file has a new time after a file is removed or moved. The check must run all the same.
    fs::remove_file(project.path().join("src/b.ts")).expect("a file");
    project.proctor(["run"]).success();
    assert!(log(&project, "STEP.1").contains("checked"));
    fs::rename(project.path().join("src/a.ts"), project.path().join("src/c.ts")).expect("a file");
    project.proctor(["run"]).success();
    assert!(log(&project, "STEP.1").contains("checked"));
}

/// `tsc -b` compares the times of files with that of its build information, and says nothing if all are older.
#[test]
#[ignore = "long tier"]
fn real_tsc_tests_a_save_that_is_older_than_its_kept_build_information() {
    let tsc = node_modules().join("typescript/bin/tsc");
    let script = format!(
        "set -e; touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; test ! -e app.tsbuildinfo || echo had-it; \
         node {} -b --verbose; touch app.tsbuildinfo",
        tsc.display()
    );
    let options = "{\"compilerOptions\": {\"noEmit\": true, \"incremental\": true, \"strict\": true, \"types\": [], \
         \"tsBuildInfoFile\": \"app.tsbuildinfo\"}, \"include\": [\"src\"]}";
    // Where the tools lie below `/tmp`, a check sees them only if a setting says so.
    let toml = format!(
        "[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\nvisible = [\"{}\"]\n[[check]]\nname = \"check 1\"\n\
         command = [\"sh\", \"check-1.sh\"]\n",
        node_modules().display()
    );
    let project = Project::new().toml(&toml).file("check-1.sh", &script).file("tsconfig.json", options);
    let project = project.file("src/a.ts", "export const a: number = 1;\n");
    for _ in 0..2 {
        project.proctor(["run"]).success();
    }
    assert!(log(&project, "STEP.1").contains("up to date"), "{}", log(&project, "STEP.1"));
    // The file is saved after the copy was made and before the build information is written.
    project.save("src/b.ts", "export const b = 1;\n");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    fs::remove_file(project.shared("begun")).expect("it began");
    let run = project.proctor(["run"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    project.save("src/a.ts", "export const a: number = '1';\n");
    set_back(&project, "src/a.ts");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let run = run.ended();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    project.proctor(["run"]).status(1);
    let last = log(&project, "STEP.1");
    assert!(last.contains("had-it") && last.contains("TS2322"), "{last}");
}

/// mypy takes a file for unchanged if its size and the whole second of its time are the same.
#[test]
#[ignore = "long tier"]
fn real_mypy_tests_two_saves_of_one_size_in_one_second() {
    let mypy = python_checkers();
    let visible = mypy.parent().and_then(Path::parent).expect("an environment");
    let command = serde_json::to_string(&[&*mypy.display().to_string(), "-m", "mypy", "m.py"]).expect("strings can be written");
    let toml = format!(
        "[sandbox]\nsnapshot = \"require\"\nvisible = [\"{}\"]\n[run]\nreuse = \"off\"\n[[check]]\nname = \"types\"\ncommand = {command}\n",
        visible.display()
    );
    let project = Project::new().toml(&toml).file("m.py", "X: int = 1\n");
    project.proctor(["run"]).success();
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the first verdict", LATE, |line| line.starts_with("PASSED"));
    for _ in 0..5 {
        // Both runs are over within a second, so both contents are copied in the same second if that second has just
        // begun.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        std::thread::sleep(Duration::from_millis(1_000 - u64::from(now.subsec_millis())));
        project.save("m.py", "X: int = 2\n");
        watch.wait_for_line("a right verdict", LATE, |line| line.starts_with("PASSED"));
        project.save("m.py", "X: str = 1\n");
        watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED") || line.starts_with("FAILED"));
        let runs = project.store().committed_runs();
        assert_eq!(runs.last().expect("a run")["overallResult"], "FAILED", "{}", watch.text());
    }
    watch.interrupt();
}

/// `make` compares the times of files and knows nothing of their content. What somebody built by hand from other sources must not
/// stand for the sources that are tested.
#[test]
fn real_make_builds_anew_whatever_somebody_built_by_hand() {
    let makefile = "app: a.o\n\tcp a.o app\na.o: a.c\n\tcp a.c a.o\ntest: app\n\tgrep -q good app\n";
    let toml = "[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"make\"\ncommand = [\"make\", \"test\"]\n";
    let project =
        Project::new().toml(toml).file("Makefile", makefile).file(".gitignore", "*.o\n/app\n").file("a.c", "good one\n");
    let make = || {
        let made =
            std::process::Command::new("make").arg("test").current_dir(project.path()).output().expect("make is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    };
    project.proctor(["run"]).success();
    // `app` is built by hand from right sources, and then the source is broken.
    project.save("a.c", "good two\n");
    make();
    project.save("a.c", "broken\n");
    project.proctor(["run"]).status(1);
    // The save came while `make` was running by hand, so the build output is newer than the source.
    project.save("a.c", "good\n");
    make();
    project.save("a.c", "wrong\n");
    set_back(&project, "a.c");
    project.proctor(["run"]).status(1);
    // The source has the content of the last run again, and the output that was built in between is newer.
    project.save("a.c", "good\n");
    make();
    project.save("a.c", "wrong\n");
    project.proctor(["run"]).status(1);
    project.save("a.c", "good\n");
    project.proctor(["run"]).success();
}

#[test]
fn real_mypy_and_pytest_start_warm() {
    let (mypy, pytest) = (python_checkers(), python_plain());
    let command = |python: &Path, arguments: &[&str]| {
        let command: Vec<String> =
            std::iter::once(python.display().to_string()).chain(arguments.iter().map(|one| (*one).to_owned())).collect();
        serde_json::to_string(&command).expect("strings can be written")
    };
    let toml = format!(
        "[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"types\"\ncommand = {}\n[[check]]\nname = \"tests\"\ncommand = {}\n",
        command(&mypy, &["-m", "mypy", "-v", "m.py"]),
        command(&pytest, &["-m", "pytest", "--lf"]),
    );
    let project = Project::new()
        .toml(&toml)
        .file("m.py", "import asyncio\nimport email\nX: int = 1\n")
        .file("test_a.py", "def test_good():\n    pass\n\ndef test_bad():\n    assert False\n");
    project.proctor(["run"]).status(1);
    assert!(!log(&project, "STEP.1").contains("Metadata fresh for asyncio"));
    assert!(log(&project, "STEP.2").contains("1 failed, 1 passed"));
    project.proctor(["run"]).status(1);
    let types = log(&project, "STEP.1");
    assert!(types.contains("Metadata fresh for asyncio"), "{types}");
    // What failed before is not kept, or `--lf` would leave out the test that passed.
    assert!(log(&project, "STEP.2").contains("1 failed, 1 passed"), "{}", log(&project, "STEP.2"));
    project.save("m.py", "import asyncio\nimport email\nX: int = ''\n");
    project.proctor(["run"]).status(1);
    assert!(log(&project, "STEP.1").contains("error: Incompatible types"));
}
