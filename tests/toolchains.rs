//! Toolchains and installed packages are named by their content, and the program that was approved is what runs: what a run does not know
//! of them, it says, and it proves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{KeptEvidence, Project};
use crate::gate::{commit, gate, git, reasons};

/// The size of a file whose hash takes longer than a check that does nothing.
const LARGE: u64 = 1 << 30;

/// Writes a program that succeeds.
pub(crate) fn program(path: &Path) -> String {
    fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
    fs::write(path, "#!/bin/sh\nexit 0\n").expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path.to_str().expect("text").to_owned()
}

/// Makes a project whose check is a program of a toolchain outside of it. Returns the directory of the toolchain's library too.
fn with_toolchain() -> (Project, PathBuf) {
    let project = Project::new();
    let toolchain = project.root().join("home/.pyenv/versions/3.14");
    let library = toolchain.join("lib");
    fs::create_dir_all(&library).expect("it is ours");
    fs::write(library.join("unit.py"), "strict").expect("it is ours");
    let name = program(&toolchain.join("bin/python"));
    let project = project.toml(&format!("[[check]]\nname = \"unit\"\ncommand = [\"{name}\"]\n"));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    (project, library)
}

/// Returns what the last run recorded of the toolchain.
fn recorded(project: &Project) -> Value {
    let bodies = KeptEvidence::only(&project.root().join("state/proctor")).chained_bodies();
    let run = bodies.iter().rfind(|body| body["kind"] == "run").expect("a run");
    let toolchains = run["conditions"]["toolchains"].as_array().expect("a list");
    let own = toolchains.iter().find(|one| one["path"].as_str().is_some_and(|path| path.starts_with("~/.pyenv")));
    own.unwrap_or_else(|| panic!("{toolchains:?}")).clone()
}

#[test]
fn a_toolchain_is_named_by_its_content_and_a_file_changed_in_place_takes_the_proof_away() {
    let (project, library) = with_toolchain();
    // Other toolchains of whoever runs the tests are hashed before.
    project.proctor(["run", "--fresh-caches"]).success();
    commit(&project, "shop.txt", "good and newer\n");
    project.proctor(["run"]).success();
    let first = recorded(&project);
    assert!(first["content"].is_string(), "{first}");
    gate(&project, &[], 0);
    // A file that comes is seen by every run, and is another content.
    fs::write(library.join("new.py"), "new").expect("it is ours");
    project.proctor(["run"]).success();
    assert_ne!(recorded(&project)["content"], first["content"]);
    gate(&project, &[], 0);
    // The stamp of the directory does not show that a file got other bytes and its old time.
    let path = library.join("unit.py");
    let time = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("it has one");
    fs::write(&path, "lenient").expect("it is ours");
    fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("it is ours");
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["toolchain-changed"]));
    assert!(reasons(&document)[0].contains("`~/.pyenv"), "{document}");
    // The gate has hashed the file anew, so the verdict is stale from now on, and the same tree may be tested again.
    let incomplete = project.proctor(["request", "status", "COMPLETE"]).status(5);
    assert!(
        incomplete.stdout.contains("a toolchain changed since the last verdict: REQUEST_RETEST"),
        "{}",
        incomplete.snapshot()
    );
    project.proctor(["request", "retest"]).success();
    // A COMPLETE rests on a run that looked at every file.
    fs::write(&path, "laxer").expect("it is ours");
    fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("it is ours");
    let complete = project.proctor(["request", "status", "COMPLETE"]).success();
    assert!(complete.stderr.contains("so the checks run once more"), "{}", complete.snapshot());
    assert_eq!(recorded(&project)["everyFile"], true);
    gate(&project, &[], 0);
    project.proctor(["verify"]).success();
    // What is installed may change after such a run too.
    fs::write(&path, "edited").expect("it is ours");
    assert_eq!(gate(&project, &[], 3)["required"][0]["words"], json!(["toolchain-changed"]));
}

#[test]
fn a_file_that_was_changed_for_an_answer_of_prove_alone_takes_the_answer_away() {
    let (project, library) = with_toolchain();
    let path = library.join("unit.py");
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it is ours");
    commit(&project, "proctor.toml", &(settings + "[gate]\nprove = \"tests\"\n"));
    commit(&project, "README.md", "words\n");
    let by_first = ["--policy-from", "HEAD~1"];
    // Other toolchains of whoever runs the tests are hashed here, and this run looked at every file.
    project.proctor(["run", "--fresh-caches"]).success();
    fs::write(&path, "laxer!").expect("it is ours");
    project.proctor(["prove", "HEAD~1..HEAD"]).success();
    fs::write(&path, "strict").expect("it is ours");
    let document = gate(&project, &by_first, 3);
    let said = reasons(&document).join("\n");
    assert!(said.contains("~/.pyenv/versions/3.14 changed since the tests saw it"), "{document}");
    project.proctor(["prove", "HEAD~1..HEAD"]).success();
    gate(&project, &by_first, 0);
}

#[test]
fn a_verdict_is_stale_when_a_file_of_a_toolchain_comes_and_waiting_runs_the_checks_again() {
    let (project, library) = with_toolchain();
    project.proctor(["run", "--fresh-caches"]).success();
    let task = || project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0].clone();
    assert_eq!(task()["state"], "fresh");
    fs::write(library.join("new.py"), "new").expect("it is ours");
    let stale = task();
    assert_eq!((&stale["state"], &stale["outdated"]), (&json!("stale"), &json!("toolchain")), "{stale}");
    let screen = project.proctor(["status"]).success();
    assert!(screen.stdout.contains("installed packages or a toolchain have changed since PASS of run "), "{}", screen.snapshot());
    let first = recorded(&project);
    project.proctor(["wait", "--fresh"]).success();
    assert_ne!(recorded(&project)["content"], first["content"]);
    assert_eq!(task()["state"], "fresh");
    // What Python compiles changes nothing, and a file that is gone again does.
    fs::create_dir(library.join("__pycache__")).expect("it is ours");
    fs::write(library.join("__pycache__/new.pyc"), "compiled").expect("it is ours");
    assert_eq!(task()["state"], "fresh");
    fs::remove_file(library.join("new.py")).expect("it is there");
    assert_eq!(task()["outdated"], "toolchain");
}

#[test]
fn a_file_that_was_changed_for_a_run_and_put_back_takes_the_proof_away() {
    let (project, library) = with_toolchain();
    let path = library.join("unit.py");
    let time = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("it has one");
    let write = |text: &str| {
        fs::write(&path, text).expect("it is ours");
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("it is ours");
    };
    project.proctor(["run", "--fresh-caches"]).success();
    write("lax");
    commit(&project, "shop.txt", "good and newer\n");
    project.proctor(["run"]).success();
    write("strict");
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["toolchain-changed"]), "{document}");
    // A link that another project makes to the file, as uv and pnpm do, changes no content.
    project.proctor(["run", "--fresh-caches"]).success();
    commit(&project, "shop.txt", "good and newest\n");
    project.proctor(["run"]).success();
    fs::hard_link(&path, project.root().join("link of another project")).expect("it is ours");
    gate(&project, &[], 0);
}

#[test]
fn toolchains_that_a_project_does_not_use_are_neither_hashed_nor_a_condition() {
    let (project, _) = with_toolchain();
    let home = |name: &str| project.root().join("home").join(name);
    let others = [".rustup/toolchains/stable/lib/large", ".cargo/registry/src/serde.rs", ".pyenv/versions/2.7/lib/unit.py"];
    for path in others.map(home) {
        fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
        fs::File::create(&path).and_then(|file| file.set_len(LARGE)).expect("it is ours");
    }
    let run = project.proctor(["run"]).success();
    assert!(!run.stdout.contains("~/.rustup") && !run.stdout.contains("~/.cargo"), "{}", run.snapshot());
    project.proctor(["run", "--fresh-caches"]).success();
    commit(&project, "shop.txt", "good and newer\n");
    project.proctor(["run"]).success();
    for path in others.map(home) {
        fs::write(path.with_extension("downloaded"), "by another project").expect("it is ours");
    }
    gate(&project, &[], 0);
}

#[test]
fn a_run_waits_for_no_hash_and_proves_nothing_until_there_is_one() {
    let (project, library) = with_toolchain();
    fs::File::create(library.join("large")).and_then(|file| file.set_len(LARGE)).expect("it is ours");
    let run = project.proctor(["run"]).success();
    assert!(run.stdout.contains("toolchain: not hashed yet"), "{}", run.snapshot());
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["toolchain-not-hashed"]));
    assert!(recorded(&project).get("content").is_none());
    let waiting = project.proctor(["run", "--fresh-caches"]).success();
    assert!(!waiting.stdout.contains("not hashed yet"), "{}", waiting.snapshot());
    gate(&project, &[], 0);
    // It is known from now on.
    commit(&project, "shop.txt", "good and newer\n");
    let next = project.proctor(["run"]).success();
    assert!(!next.stdout.contains("not hashed yet"), "{}", next.snapshot());
    gate(&project, &[], 0);
}

/// `make` and scripts find programs too, and the first of a name counts.
#[test]
fn a_program_that_scripts_find_first_is_named_and_proves_nothing() {
    let project = Project::new().toml("[[check]]\nname = \"unit\"\ncommand = [\"sh\", \"tests.sh\"]\n");
    git(&project, &["init", "--quiet"]);
    fs::write(project.path().join("tests.sh"), "grep -q good shop.txt\n").expect("it is ours");
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run", "--fresh-caches"]).env("PATH", "/usr/bin:/bin").success();
    let other = program(&project.root().join("home/fk/bin/grep"));
    let directory = Path::new(&other).parent().expect("it has one").display();
    let path = format!("{directory}:/usr/bin:/bin");
    commit(&project, "shop.txt", "bad\n");
    let run = project.proctor(["run", "--fresh-caches"]).env("PATH", &path).success();
    let named = format!("grep is another program than the approved one: {other}");
    assert!(run.stdout.contains(&named), "{}", run.snapshot());
    let document = gate(&project, &[], 3);
    assert!(reasons(&document).iter().any(|reason| reason.contains(&named)), "{document}");
    // One that is in nobody's place is no matter: editors add directories to the search path.
    fs::rename(&other, Path::new(&other).with_file_name("an-editor")).expect("it is ours");
    commit(&project, "shop.txt", "good and newer\n");
    let run = project.proctor(["run", "--fresh-caches"]).env("PATH", &path).success();
    assert!(!run.stdout.contains("another program"), "{}", run.snapshot());
    gate(&project, &[], 0);
}

#[test]
fn another_program_first_in_the_search_path_is_named_and_proves_nothing() {
    let project = Project::new().toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run", "--fresh-caches"]).success();
    gate(&project, &[], 0);
    let other = program(&project.root().join("home/fk/bin/true"));
    let directory = Path::new(&other).parent().expect("it has one").display();
    let path = format!("{directory}:{}", std::env::var("PATH").expect("there is one"));
    let named = format!("true is another program than the approved one: {other}");
    commit(&project, "shop.txt", "good and newer\n");
    let run = project.proctor(["run"]).env("PATH", &path).success();
    assert!(run.stdout.contains(&named), "{}", run.snapshot());
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["other-program"]));
    assert!(reasons(&document)[0].ends_with(&named), "{document}");
    let complete = project.proctor(["request", "status", "COMPLETE"]).status(3);
    assert!(complete.stdout.contains(&named), "{}", complete.snapshot());
    // A person is asked about it, and who runs the checks with the approved program proves something.
    let asked = project.proctor(["approve"]).env("PATH", &path).status(3);
    assert!(asked.stderr.contains(&named), "{}", asked.snapshot());
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    project.proctor(["request", "status", "COMPLETE"]).success();
}
