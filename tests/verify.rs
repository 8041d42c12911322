//! Tests `proctor verify` as a person uses it: its arguments, its output and its exit codes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Project, WRITES_TO_SHARED, fake_tool, poll, seal_many_runs};

const CHECK: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn with_a_run() -> Project {
    let project = Project::new().with_program(fake_tool()).toml(CHECK);
    project.proctor(["run"]).success();
    project
}

#[test]
fn what_is_verified_is_a_project_a_run_a_task_a_directory_or_everything() {
    let project = with_a_run();
    project.proctor(["run"]).success();
    let runs = |arguments: &[&str]| {
        let document = project.proctor(["verify", "--json"]).arguments(arguments.iter().copied()).success().json();
        assert_eq!(document["schema"], "proctor-verify-v1");
        assert_eq!((&document["verified"], &document["faults"]), (&true.into(), &serde_json::json!([])));
        document["runs"].as_u64().expect("it is a number")
    };
    let directory = project.store().run_directory("default");
    let id = directory.file_name().expect("it has a name").to_str().expect("it is text");
    assert_eq!([runs(&[]), runs(&["--all"]), runs(&["default"])], [2, 2, 2]);
    assert_eq!([runs(&["2"]), runs(&[id]), runs(&[directory.to_str().expect("it is text")])], [1, 1, 1]);
    for unknown in ["99", "other", "./nowhere"] {
        project.proctor(["verify", unknown]).status(2);
    }
    project.proctor(["verify", "--key", "proctor.toml", directory.to_str().expect("it is text")]).status(2);
}

#[test]
fn a_fault_is_told_with_its_file_and_what_to_do() {
    let project = with_a_run();
    let log = project.store().run_directory("default").join("STEP.1-terminal-output.log");
    fs::set_permissions(&log, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&log, "sung").expect("it is ours");
    fs::set_permissions(&log, Permissions::from_mode(0o400)).expect("it is ours");
    let said = project.proctor(["verify"]).status(6);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].ends_with("STEP.1-terminal-output.log: its bytes are not those that were sealed"), "{}", said.stdout);
    assert!(lines[1].starts_with("  fileChanged: its SHA-256 is "), "{}", said.stdout);
    assert!(lines[2].starts_with("  next: compare with a backup"), "{}", said.stdout);
    assert!(lines.last().expect("lines").starts_with("2 FAULTS · 1 run, "), "{}", said.stdout);
    project.proctor(["verify", "default"]).status(6);
}

#[test]
#[ignore = "long tier"]
fn a_link_in_the_place_of_a_directory_of_the_store_is_the_fault_and_nothing_goes_through_it() {
    for (name, is_opened) in [
        ("evidence", false),
        ("ledger", false),
        ("keys", false),
        ("locks", false),
        ("runs", true),
        ("run", true),
        ("project", true),
        ("file", false),
    ] {
        let project = with_a_run();
        let (run, state) = (project.store().run_directory("default"), project.root().join("state/proctor"));
        let place = match name {
            "run" => run.clone(),
            "file" => {
                fs::read_dir(state.join("ledger")).expect("it is there").next().expect("a ledger").expect("it is there").path()
            }
            "runs" => run.parent().expect("it is in one").to_owned(),
            "project" => run.ancestors().nth(3).expect("it is in one").to_owned(),
            name => state.join(name),
        };
        let aside = project.shared("aside");
        fs::rename(&place, &aside).expect("it is ours");
        std::os::unix::fs::symlink(&aside, &place).expect("it is ours");
        let document = project.proctor(["verify", "--json"]).status(6).json();
        let faults = document["faults"].as_array().expect("a list");
        let shown = place.strip_prefix(&state).expect("it is in the store").to_str().expect("text");
        assert_eq!((&faults[0]["kind"], &faults[0]["file"]), (&"notAFile".into(), &shown.into()), "{name}: {document}");
        assert_eq!(faults.iter().filter(|fault| fault["kind"] == "runMissing").count(), 0, "{name}: {document}");
        if !["run", "file"].contains(&name) {
            let refused = project.proctor(["run"]).status(6).stderr;
            assert!(refused.contains("is not followed"), "{name}: {refused}");
        }
        assert_eq!(project.proctor(["log"]).any_status().status == 0, is_opened, "{name}");
    }
}

#[test]
fn a_run_that_goes_on_is_no_fault() {
    let project = Project::new().with_program(fake_tool());
    let (ready, go) = (project.shared("ready"), project.shared("go"));
    let words = format!("fake-tool --touch {} --wait-for {}", ready.display(), go.display());
    let project = project.toml(&format!("{WRITES_TO_SHARED}[[check]]\nname = \"waits\"\ncommand = \"{words}\"\n"));
    let run = project.proctor(["run"]).watch();
    poll(Duration::from_secs(30), "the check", || ready.exists().then_some(()).ok_or("it does not yet"));
    project.proctor(["verify"]).success();
    project.proctor(["verify", "--all"]).success();
    fs::write(&go, "").expect("the root is ours");
    assert_eq!(run.ended().status, 0);
    project.proctor(["verify"]).success();
}

/// The number of runs unless `PROCTOR_MANY_RUNS` says otherwise. For a run by hand with a store of 10,000 runs and
/// about 1 GiB: `PROCTOR_MANY_RUNS=10000 cargo test --release --test integration verify::an_untouched -- --nocapture`.
const MANY_RUNS: u64 = 150;
/// The size of each run's log in bytes.
const LOG_BYTES: usize = 80 * 1024;

#[test]
#[ignore = "long tier"]
fn an_untouched_store_of_many_runs_verifies_clean_and_a_changed_byte_in_one_of_them_is_found() {
    let runs = std::env::var("PROCTOR_MANY_RUNS").map_or(MANY_RUNS, |text| text.parse().expect("a number of runs"));
    let project = with_a_run();
    let state = project.root().join("state/proctor");
    seal_many_runs(&state, runs, LOG_BYTES);
    let document = project.proctor(["verify", "--all", "--json"]).success().json();
    assert_eq!((&document["verified"], &document["runs"]), (&true.into(), &(runs + 1).into()), "{document}");
    let listed = project.proctor(["log", "--ids", "--limit", &(runs + 10).to_string()]).success().stdout;
    assert_eq!(listed.lines().count() as u64, runs + 1);
    project.proctor(["verify", "--all"]).success();
    let next = project.proctor(["run"]).success();
    assert_eq!(next.stderr, "", "{}", next.snapshot());
    let id = listed.lines().nth(runs as usize / 2).and_then(|line| line.split_whitespace().next()).expect("a run");
    let log = state.join("evidence").join(project.store().project_ids().pop().expect("one project"));
    let log = log.join("default/runs").join(id).join("STEP.1-terminal-output.log");
    let mut bytes = fs::read(&log).expect("it was sealed with it");
    bytes[LOG_BYTES / 2] ^= 1;
    fs::set_permissions(&log, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&log, bytes).expect("it is ours");
    fs::set_permissions(&log, Permissions::from_mode(0o400)).expect("it is ours");
    let found = project.proctor(["verify", "--all", "--json"]).status(6).json();
    let faults = found["faults"].as_array().expect("a list");
    assert!(faults.iter().all(|fault| fault["file"].as_str().is_some_and(|file| file.contains(id))), "{found}");
    assert!(faults.iter().any(|fault| fault["kind"] == "fileChanged"), "{found}");
}

#[test]
fn verifying_changes_nothing() {
    let project = with_a_run();
    let index = project.root().join("state/proctor/state.db");
    fs::write(&index, [b'x'; 4096]).expect("it is ours");
    fs::remove_file(index.with_extension("db-wal")).expect("every page of a young index is in its log");
    let before = fs::read(&index).expect("it is there");
    let said = project.proctor(["verify"]).status(6);
    assert!(said.stdout.contains("indexDamaged"), "{}", said.stdout);
    assert_eq!(fs::read(&index).expect("it is there"), before, "the next run sets it aside and makes it anew");
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
}

/// Lets eight processes at once run, prune and replace the key, and verifies meanwhile.
#[expect(clippy::print_stdout, reason = "a test of a length says what it did")]
fn verify_beside_eight_processes(long: Duration) {
    let toml = format!("{CHECK}[evidence]\nkeep_runs = 8\n");
    let project = with_a_run();
    project.save("proctor.toml", &toml);
    project.approve();
    let begun = Instant::now();
    let commands: [&[&str]; 3] = [&["run"], &["prune"], &["run"]];
    let (mut looks, mut wrong) = (0, Vec::new());
    thread::scope(|scope| {
        for number in 0..8 {
            let project = &project;
            scope.spawn(move || {
                for round in 0.. {
                    if begun.elapsed() > long {
                        break;
                    }
                    let command = if number == 0 && round % 5 == 4 { &["key", "rotate"] } else { commands[(number + round) % 3] };
                    let _other_at_work = project.proctor(command).any_status();
                }
            });
        }
        while begun.elapsed() < long {
            let said = project.proctor(["verify", "--all"]).any_status();
            looks += 1;
            if said.status != 0 {
                wrong.push(said.stdout);
            }
        }
    });
    println!("{looks} looks, {} of them accused", wrong.len());
    assert!(wrong.is_empty(), "{} of {looks} accused:\n{}", wrong.len(), wrong.join("\n"));
    project.proctor(["verify", "--all"]).success();
}

#[test]
#[ignore = "long tier"]
fn nobody_is_accused_while_eight_processes_write() {
    verify_beside_eight_processes(Duration::from_secs(8));
}

#[test]
#[ignore = "wide tier"]
fn nobody_is_accused_while_eight_processes_write_for_long() {
    verify_beside_eight_processes(Duration::from_secs(60));
}

#[test]
fn what_a_check_puts_in_the_place_of_the_evidence_link_is_said_and_gives_way() {
    let replaces =
        "rm evidence && mkdir -p evidence/default/latest && echo forged >evidence/default/latest/execution-report.json";
    let toml = format!(
        "[sandbox]\nsnapshot = \"off\"\n[[check]]\nname = \"replaces\"\ncommand = [\"fake-tool\", \"--script\", \"{replaces}\"]\n"
    );
    let project = Project::new().toml(&toml);
    let said = project.proctor(["run"]).any_status();
    assert!(said.stderr.contains("`evidence` in the project was replaced while the checks ran"), "{}", said.snapshot());
    let target = fs::read_link(project.path().join("evidence")).expect("it is a link again");
    assert!(target.starts_with(project.root().join("state/proctor/evidence")), "{}", target.display());
    project.proctor(["verify"]).success();
    fs::remove_file(project.path().join("evidence")).expect("it is a link");
    std::os::unix::fs::symlink("/tmp", project.path().join("evidence")).expect("the project is ours");
    for arguments in [&["verify", "--json"][..], &["verify", "--all", "--json"]] {
        let document = project.proctor(arguments).status(6).json();
        assert_eq!(document["faults"][0]["kind"], "linkReplaced", "{document}");
    }
}

#[test]
fn a_link_to_a_forged_store_is_named_and_the_next_run_mends_it() {
    let project = with_a_run();
    let (id, link) = (project.store().project_ids().remove(0), project.path().join("evidence"));
    let own = fs::read_link(&link).expect("it is a link");
    let forged = project.root().join("forged");
    for directory in [forged.join(format!("evidence/{id}/default")), forged.join("ledger")] {
        fs::create_dir_all(directory).expect("the root is ours");
    }
    fs::write(forged.join(format!("ledger/{id}.jsonl")), "").expect("the root is ours");
    fs::write(forged.join(format!("evidence/{id}/default/execution-report.json")), "forged").expect("the root is ours");
    fs::remove_file(&link).expect("it is a link");
    std::os::unix::fs::symlink(forged.join(format!("evidence/{id}")), &link).expect("the project is ours");
    let found = project.proctor(["verify", "--json"]).status(6).json();
    assert_eq!(found["faults"][0]["kind"], "linkReplaced", "{found}");
    let said = project.proctor(["run"]).success();
    assert!(said.stderr.contains("which is not its evidence; it links to the evidence again"), "{}", said.snapshot());
    assert_eq!(fs::read_link(&link).expect("it is a link"), own);
    project.proctor(["verify"]).success();
    // Whoever verifies a copy of the store has a project that links to the original.
    let copy = project.root().join("copy");
    fs::create_dir(&copy).expect("the root is ours");
    let copied = std::process::Command::new("cp").arg("-a").arg(project.root().join("state/proctor")).arg(&copy).status();
    assert!(copied.expect("coreutils are there").success());
    project.proctor(["verify"]).env("XDG_STATE_HOME", &copy).success();
}

#[test]
fn verifying_names_a_mode_and_leaves_it_as_it_is() {
    let project = with_a_run();
    let store = project.root().join("state/proctor");
    fs::set_permissions(&store, Permissions::from_mode(0o755)).expect("it is ours");
    for _ in 0..2 {
        let found = project.proctor(["verify", "--json"]).status(6).json();
        assert_eq!((&found["faults"][0]["kind"], &found["faults"][0]["file"]), (&"wrongMode".into(), &".".into()), "{found}");
    }
    assert_eq!(store.metadata().expect("it is there").permissions().mode() & 0o777, 0o755);
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
}

#[test]
fn a_store_that_cannot_be_written_answers_log_and_status() {
    let project = with_a_run();
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    // Root without its capabilities may read what it owns and not write it. The directories above stay reachable, whatever their modes.
    let store = project.root().join("state/proctor");
    let text = |path: &std::path::Path| path.to_str().expect("a temporary path is text").to_owned();
    let chmod = |kind: &str, mode: &str| {
        let status =
            std::process::Command::new("find").args([&text(&store), "-type", kind, "-exec", "chmod", mode, "{}", "+"]).status();
        assert!(status.expect("findutils are there").success(), "{kind} {mode}");
    };
    chmod("d", "500");
    chmod("f", "400");
    for index in ["there", "gone"] {
        if index == "gone" {
            let files = fs::read_dir(&store).expect("it is there").flatten().map(|entry| entry.path());
            files.filter(|path| text(path).contains("state.db")).for_each(|path| fs::remove_file(path).expect("root may"));
        }
        for arguments in [&["log"][..], &["status"], &["status", "--json"]] {
            let mut command = std::process::Command::new("setpriv");
            command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--", &text(crate::common::proctor())]);
            command.args(arguments).current_dir(project.path()).env_clear().env("PATH", "/usr/bin:/bin");
            command.env("XDG_STATE_HOME", project.root().join("state")).env("HOME", project.root().join("home"));
            let output = command.output().expect("util-linux is there");
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{index} {arguments:?}: {said}");
            assert!(said.contains("PASS"), "{arguments:?}: {said}");
        }
    }
}
