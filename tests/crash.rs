//! proctor is killed, its files are damaged, or several processes of it run at once: no unfinished run can be reached,
//! and no finished one is lost.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
use proctor_evidence::DurableStep;

use crate::common::{Committed, KeptEvidence, Output, Project, WRITES_TO_SHARED, Watch, fake_tool, poll, processes_of};

const BOUND: Duration = Duration::from_secs(30);
/// The exit status of a command that was killed, as a shell reports it.
const KILLED: i32 = 137;

/// What happens to a run when the program dies after one of its durable steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The run was not committed: the next run closes it as INTERRUPTED.
    CutShort,
    /// The run was committed: it stays as it is.
    Stands,
}

impl Fate {
    fn of(step: DurableStep) -> Self {
        if step < DurableStep::LedgerCommitted { Self::CutShort } else { Self::Stands }
    }
}

#[test]
#[ignore = "long tier"]
fn a_kill_after_any_durable_step_loses_nothing_of_the_runs_before_and_of_its_own() {
    for step in DurableStep::ALL {
        let project = project_that_passes();
        project.proctor(["run"]).success();
        let before = kept(&project).check();
        die_after(&project, step);

        let at_death = kept(&project).check();
        let fate = Fate::of(step);
        let newest = at_death.last().unwrap().run_id.clone();
        match fate {
            Fate::CutShort => assert_eq!(at_death, before, "{step:?}"),
            Fate::Stands => assert_eq!(statuses(&at_death), ["SUCCESS", "SUCCESS"], "{step:?}"),
        }
        let is_linked = step >= DurableStep::LatestLinked;
        let expected = if is_linked { &newest } else { &before[0].run_id };
        assert_eq!(kept(&project).latest().as_ref(), Some(expected), "{step:?}");
        assert_log_and_show_work(&project, &at_death);

        let output = project.proctor(["run"]).success();
        assert_eq!(output.stderr.contains("had been cut short; it is kept as INTERRUPTED"), fate == Fate::CutShort, "{step:?}");
        let after = kept(&project).check();
        let own = if fate == Fate::CutShort { "INTERRUPTED" } else { "SUCCESS" };
        assert_eq!(statuses(&after), ["SUCCESS", own, "SUCCESS"], "{step:?}");
        assert_eq!(kept(&project).unsealed(&after), Vec::<String>::new(), "{step:?}");
        assert_eq!(kept(&project).latest(), Some(after[2].run_id.clone()), "{step:?}");
        assert_log_and_show_work(&project, &after);
    }
}

#[test]
#[ignore = "long tier"]
fn a_first_run_that_is_killed_after_any_durable_step_is_found_by_the_second() {
    for step in DurableStep::ALL {
        let project = project_that_passes();
        die_after(&project, step);
        let at_death = kept(&project).check();
        assert_eq!(at_death.len(), usize::from(Fate::of(step) == Fate::Stands), "{step:?}");
        assert_eq!(kept(&project).latest().is_some(), step >= DurableStep::LatestLinked, "{step:?}");
        let log = project.proctor(["log"]).success();
        assert_eq!(log.stdout.lines().count(), at_death.len(), "{step:?}: {}", log.stdout);
        project.proctor(["run"]).success();
        let after = kept(&project).check();
        assert_eq!(after.len(), 2, "{step:?}: {after:?}");
        assert_log_and_show_work(&project, &after);
    }
}

#[test]
fn a_run_that_was_committed_and_not_linked_is_linked_by_whoever_comes_next() {
    for step in [DurableStep::LedgerCommitted, DurableStep::IndexUpdated, DurableStep::LatestLinked] {
        let project = project_that_passes();
        project.proctor(["run"]).success();
        die_after(&project, step);
        project.proctor(["tdd", "start"]).success();
        let committed = kept(&project).check();
        assert_eq!(kept(&project).latest(), Some(committed[1].run_id.clone()), "{step:?}");
    }
}

#[test]
fn what_a_killed_run_had_written_is_kept_under_names_that_say_so() {
    let project = project_that_passes();
    die_after(&project, DurableStep::ManifestWritten);
    project.proctor(["run"]).success();
    let interrupted = kept(&project).check().remove(0);
    let directory = kept(&project).task.join("runs").join(&interrupted.run_id);
    for name in ["recovered-execution-report.json", "recovered-SHA256SUMS", "STEP.1-terminal-output.log", "run.json"] {
        let found = directory.join(name).is_file();
        assert!(
            found,
            "`{name}` is not in {:?}",
            fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>()
        );
    }
    let shown = project.proctor(["show", &interrupted.run_id]).success();
    assert!(shown.stdout.contains("INTERRUPTED"), "{}", shown.stdout);
}

#[test]
fn a_kill_during_a_check_takes_its_processes_along_and_the_run_becomes_interrupted() {
    let project = project_that_waits();
    let mut run = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || project.shared("ready").exists().then_some(()));
    poll(BOUND, "what it says to be read", || {
        let runs = fs::read_dir(kept(&project).task.join("runs")).ok()?.flatten();
        let mut logs = runs.filter_map(|run| fs::read(run.path().join("STEP.1-terminal-output.log")).ok());
        logs.any(|log| log == b"waiting\n").then_some(())
    });
    run.signal(Signal::SIGKILL);
    assert_eq!(run.ended().status, KILLED);
    poll(BOUND, "every process of the run to end", || {
        let alive = processes_of(project.root());
        if alive.is_empty() { Ok(()) } else { Err(format!("{alive:?}")) }
    });
    assert_eq!(kept(&project).check(), []);
    let log = project.proctor(["log"]).success();
    assert!(log.stderr.contains("no runs yet"), "{}", log.stderr);

    let_go(&project);
    let output = project.proctor(["run"]).success();
    assert!(output.stderr.contains("it is kept as INTERRUPTED"), "{}", output.stderr);
    let committed = kept(&project).check();
    assert_eq!(statuses(&committed), ["INTERRUPTED", "SUCCESS"]);
    let log = kept(&project).task.join("runs").join(&committed[0].run_id).join("STEP.1-terminal-output.log");
    assert_eq!(fs::read_to_string(log).unwrap(), "waiting\n", "what it had said is kept");
    let outputs = fs::read_dir(state(&project).join("out")).unwrap().flatten().map(|entry| fs::read_dir(entry.path()).unwrap());
    assert_eq!(outputs.map(Iterator::count).sum::<usize>(), 0, "nobody's writable directory is left");
}

#[test]
fn a_torn_last_line_of_the_ledger_is_cut_off_kept_aside_and_said() {
    let project = project_that_passes();
    project.proctor(["run"]).success();
    let half = br#"{"schema":"proctor-ledger-v1","sequence":3,"previ"#;
    append(&kept(&project).ledger, half);
    assert_log_and_show_work(&project, &kept(&project).check());

    let output = project.proctor(["run"]).success();
    assert!(output.stderr.contains("the ledger's last line was torn; it was cut off and kept as"), "{}", output.stderr);
    let aside = kept(&project).ledger.with_extension("torn-3");
    assert_eq!(fs::read(&aside).unwrap(), half);
    assert!(output.stderr.contains(&*aside.to_string_lossy()), "{}", output.stderr);
    assert_eq!(statuses(&kept(&project).check()), ["SUCCESS", "SUCCESS"]);
    assert_eq!(project.proctor(["run"]).success().stderr, "", "it is said once");
}

#[test]
fn a_damaged_index_is_set_aside_rebuilt_from_the_ledger_and_said() {
    for (damage, first_command) in
        [(Damage::Everything, "run"), (Damage::Everything, "log"), (Damage::Inside, "run"), (Damage::Inside, "log")]
    {
        let project = project_that_passes();
        project.proctor(["run"]).success();
        project.proctor(["tdd", "start", "--phase", "green"]).success();
        let before = kept(&project).check();
        damage.run_plan(&project);

        let output = project.proctor([first_command]).success();
        let said = output.stderr.contains("the index was damaged; it was set aside as")
            && output.stderr.contains("state.db.corrupt-1 and rebuilt from the ledgers");
        assert!(said, "{damage:?}, {first_command}: {}", output.snapshot());
        assert!(state(&project).join("state.db.corrupt-1").is_file());
        let after = kept(&project).check();
        assert_eq!(after[..1], before[..]);
        assert_log_and_show_work(&project, &after);
        let tdd = project.proctor(["tdd", "show"]).success();
        assert!(tdd.stdout.contains("GREEN"), "the cycle is in the ledger: {}", tdd.stdout);
        assert_eq!(project.proctor(["log"]).success().stderr, "", "it is said once");
    }
}

#[test]
fn a_removed_index_is_rebuilt_without_a_word() {
    let project = project_that_passes();
    project.proctor(["run"]).success();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _absent = fs::remove_file(state(&project).join(name));
    }
    assert_log_and_show_work(&project, &kept(&project).check());
    assert_eq!(project.proctor(["run"]).success().stderr, "", "the project is known, so nothing is registered");
}

#[test]
fn a_second_run_of_other_files_waits_for_the_first_and_both_are_sealed() {
    let project = project_that_waits();
    let first = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || project.shared("ready").exists().then_some(()));
    project.save("saved.txt", "meanwhile");
    let mut second = project.proctor(["run"]).watch();
    second.wait_for_line("the word that it waits", BOUND, |line| line.contains("waiting for another run of this project"));
    let_go(&project);
    for run in [first, second] {
        succeeded(run);
    }
    assert_eq!(statuses(&kept(&project).check()), ["SUCCESS", "SUCCESS"]);
}

#[test]
fn a_run_that_may_not_wait_names_who_is_in_the_way() {
    let project = project_that_waits();
    let settings = fs::read_to_string(project.path().join("proctor.toml")).unwrap();
    project.save("proctor.toml", &format!("{settings}[evidence]\nlock_wait = \"0s\"\n"));
    let first = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || project.shared("ready").exists().then_some(()));
    let second = project.proctor(["run"]).status(5);
    assert!(second.stderr.contains(&format!("is in use by the proctor process {}", first.id())), "{}", second.stderr);
    insta::assert_snapshot!(second.snapshot().replace(&first.id().to_string(), "<holder>"), @"
    exit status: 5
    --- stderr
    error: failed to lock the project's evidence
      caused by: project `<project-id>` is in use by the proctor process <holder>
      hint: wait until it is done, or stop it; one process at a time runs the checks of a project
    ");
    let_go(&project);
    succeeded(first);
    assert_eq!(statuses(&kept(&project).check()), ["SUCCESS"]);
}

#[test]
fn two_first_runs_at_once_register_the_project_once() {
    for _ in 0..4 {
        let project = project_that_passes();
        let runs = [project.proctor(["run"]).watch(), project.proctor(["run"]).watch()];
        let outputs = runs.map(succeeded);
        let registrations = outputs.iter().filter(|output| output.stderr.contains("registered `")).count();
        assert_eq!(registrations, 1, "{outputs:#?}");
        let bodies = kept(&project).chained_bodies();
        let kinds: Vec<&str> = bodies.iter().map(|body| body["kind"].as_str().unwrap()).collect();
        // The second run may have taken over the result of the first.
        assert!(kinds == ["registered", "run"] || kinds == ["registered", "run", "run"], "{kinds:?}");
        kept(&project).check();
    }
}

#[test]
fn runs_of_two_projects_go_on_at_the_same_time() {
    let project = Project::new();
    let meeting = |own: &str, other: &str| {
        let place = |name: &str| project.shared(name).display().to_string();
        check_of(&["--touch", &place(own), "--wait-for", &place(other)])
    };
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &meeting("here", "there")));
    project.save("../other/proctor.toml", &(WRITES_TO_SHARED.to_owned() + &meeting("there", "here")));
    let here = project.proctor(["run"]).watch();
    let there = project.proctor(["run"]).directory("../other").watch();
    for run in [here, there] {
        succeeded(run);
    }
    let all = KeptEvidence::all(&state(&project));
    assert_eq!(all.len(), 2);
    for kept in all {
        assert_eq!(statuses(&kept.check()), ["SUCCESS"]);
    }
}

/// How `state.db` is damaged.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// The whole file is overwritten, so that it is no database any more.
    Everything,
    /// The first page of the file, with the header, stays intact. The rest is overwritten.
    Inside,
}

impl Damage {
    fn run_plan(self, project: &Project) {
        let path = state(project).join("state.db");
        // When the last SQLite connection closes, SQLite moves the contents of the write-ahead log into the database
        // file.
        let connection = rusqlite::Connection::open(&path).expect("the index can be opened");
        connection.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).expect("it has a table of runs");
        drop(connection);
        let mut bytes = fs::read(&path).expect("a project was registered");
        let from = match self {
            Self::Everything => 0,
            Self::Inside => 4096,
        };
        assert!(bytes.len() > from, "the index has more than its first page");
        bytes[from..].fill(0xa5);
        fs::write(&path, bytes).expect("the state directory is ours");
    }
}

fn project_that_passes() -> Project {
    Project::new().toml(&check_of(&["--stdout", "fine\n"]))
}

/// A project whose check prints a line, makes the file `ready`, and ends when the file `go` exists.
fn project_that_waits() -> Project {
    let project = Project::new();
    let (ready, go) = (project.shared("ready"), project.shared("go"));
    let (ready, go) = (ready.to_str().expect("a temporary path is text"), go.to_str().expect("a temporary path is text"));
    let settings = check_of(&["--stdout", "waiting\n", "--fork-sleep", "1", "--touch", ready, "--wait-for", go]);
    project.toml(&(WRITES_TO_SHARED.to_owned() + &settings))
}

fn let_go(project: &Project) {
    fs::write(project.shared("go"), "").expect("the root is ours");
}

/// Returns the configuration of a project whose only check runs `fake-tool` with `arguments`.
fn check_of(arguments: &[&str]) -> String {
    let words: Vec<String> = [fake_tool().to_str().expect("the build directory is text")]
        .iter()
        .chain(arguments)
        .map(|word| format!("{word:?}"))
        .collect();
    format!("[[check]]\nname = \"check\"\ncommand = [{}]\n", words.join(", "))
}

#[track_caller]
fn die_after(project: &Project, step: DurableStep) {
    let output = project.proctor(["run"]).env("PROCTOR_TEST_DIE_AFTER", step.name()).watch().ended();
    assert_eq!(output.status, KILLED, "{step:?} was never reached:\n{}", output.snapshot());
}

#[track_caller]
fn succeeded(run: Watch<'_>) -> Output {
    let output = run.ended();
    assert_eq!(output.status, 0, "{}", output.snapshot());
    output
}

/// Expects that `proctor log` lists every committed run, newest first, and that `proctor show` can show the newest.
#[track_caller]
fn assert_log_and_show_work(project: &Project, committed: &[Committed]) {
    let log = project.proctor(["log", "--ids"]).success();
    let lines: Vec<&str> = log.stdout.lines().collect();
    assert_eq!(lines.len(), committed.len(), "each run is listed once:\n{}", log.stdout);
    for (line, run) in lines.iter().zip(committed.iter().rev()) {
        assert!(line.contains(&run.run_id), "{line} is not {run:?}");
        assert_eq!(line.contains("INTERRUPTED"), run.status == "INTERRUPTED", "{line} is not {run:?}");
    }
    for run in committed {
        let shown = project.proctor(["show", "--json", &run.run_id]).success();
        assert_eq!(shown.json()["executionSummary"]["overallStatus"], run.status.as_str());
    }
}

fn statuses(committed: &[Committed]) -> Vec<&str> {
    committed.iter().map(|run| run.status.as_str()).collect()
}

fn append(path: &PathBuf, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).expect("a ledger can be appended to");
    file.write_all(bytes).expect("the disk has room");
}

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}

#[track_caller]
fn kept(project: &Project) -> KeptEvidence {
    KeptEvidence::only(&state(project))
}
