//! The launcher (it starts actions) or a keeper (it watches one action) is killed alone, as the kernel may do when memory runs out.
//! That says nothing about the code: the run is sealed without a verdict and carried out once more. If the same happens again, it
//! is proctor's own fault.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::IsolationLevel;
use serde_json::Value;

use crate::common::{Output, Project, WRITES_TO_SHARED, Watch, children_of, family_of, name_of, poll, processes_of};
use crate::daemon::start_serving;
use crate::kills::{at_level, await_program};

const BOUND: Duration = Duration::from_secs(60);

/// How many runs have something killed at a moment that nobody chooses.
const MOMENTS: u32 = 12;

/// An action that says that it has begun, and ends when the test says so.
const HELD: &str = "set -e\n\
                    echo begun >> ../shared/$1-begun\n\
                    echo this is $1\n\
                    while [ ! -e ../shared/$1-go ]; do sleep 0.02; done\n\
                    test \"$(cat result)\" = good\n";

/// A service that says that it has begun, and ends when it is told to.
const SERVICE: &str = "set -e\necho begun >> ../shared/$1-begun\nexec sleep 600\n";

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The process that starts actions.
    Launcher,
    /// The process that starts and watches the action that goes on.
    Keeper,
    /// The action's own process.
    Command,
}

fn held(section: &str, name: &str) -> String {
    format!("[[{section}]]\nname = \"{name}\"\ncommand = [\"sh\", \"held.sh\", \"{name}\"]\n")
}

fn project(actions: &str) -> Project {
    let link = "[evidence]\nlink = \"\"\n";
    Project::new()
        .toml(&format!("{WRITES_TO_SHARED}{link}{actions}"))
        .file("held.sh", HELD)
        .file("service.sh", SERVICE)
        .file("result", "good\n")
}

fn go(project: &Project, name: &str) -> PathBuf {
    project.shared(&format!("{name}-go"))
}

/// Lets an action end, now and in later runs.
fn let_go(project: &Project, name: &str) {
    fs::write(go(project, name), "").expect("the directory is ours");
}

/// Returns how often an action has begun.
fn begun(project: &Project, name: &str) -> usize {
    fs::read_to_string(project.shared(&format!("{name}-begun"))).map_or(0, |text| text.lines().count())
}

#[track_caller]
fn await_begun(project: &Project, name: &str, times: usize, started: &mut Watch<'_>) {
    poll(BOUND, &format!("`{name}` to begin {times} times"), || match begun(project, name) {
        so_far if so_far >= times => Ok(()),
        so_far => Err(format!("{so_far} times; {}", started.text())),
    });
}

/// Kills a process of an action that goes on. Its first process is the one with the action's name among its arguments.
#[track_caller]
fn strike(victim: Victim, name: &str, started: &Watch<'_>) {
    let is_meant = |id: &i32| {
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|argument| argument == name.as_bytes())
    };
    let parent = |id: i32| family_of(started.id()).into_iter().find(|parent| children_of(*parent).contains(&id));
    let struck = poll(BOUND, "the process to kill", || {
        let command = family_of(started.id()).into_iter().find(is_meant)?;
        match victim {
            Victim::Command => Some(command),
            Victim::Keeper => parent(command),
            Victim::Launcher => parent(parent(command)?),
        }
    });
    kill(Pid::from_raw(struck), Signal::SIGKILL).expect("it is not reaped");
}

/// Returns the status and the verdict of all runs of the ledger.
fn statuses(project: &Project) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let status = |run: &Value| (text(&run["overallStatus"]).expect("it is always there"), text(&run["overallResult"]));
    project.store().committed_runs().iter().map(status).collect()
}

/// Expects that a run without a verdict is sealed: what the action printed is evidence, and there is neither debt nor a route.
#[track_caller]
fn expect_sealed_without_verdict(project: &Project, name: &str, run: &Value) {
    let id = run["runId"].as_str().expect("an id");
    let text = project.proctor(["show", id, "--json"]).any_status().stdout;
    let report: Value = serde_json::from_str(&text).expect("the report");
    assert_eq!(report["executionSummary"]["overallStatus"], "INTERRUPTED", "{report:#}");
    assert!(report["validationCriteriaEvaluation"]["overallResult"].is_null(), "{report:#}");
    let reason = report["validationCriteriaEvaluation"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("proctor's own fault") && reason.contains(&format!("`{name}`")), "{reason}");
    assert!(report["technicalDebtGenerated"].is_null() && report["route"].is_null() && report["tdd"].is_null(), "{report:#}");
    for field in ["route", "tdd", "results", "inputs"] {
        assert!(run[field].is_null(), "{field}: {run:#}");
    }
    let files = report["evidenceFiles"].as_array().expect("files").iter();
    let logs = files.filter_map(|file| file["name"].as_str()).filter(|file| file.ends_with("-terminal-output.log"));
    assert!(logs.count() > 0, "{report:#}");
    assert!(!text.contains("\"attempts\""), "nothing is counted: {report:#}");
}

#[track_caller]
fn expect_sound(project: &Project) {
    project.proctor(["verify"]).success();
    poll(BOUND, "every process to be gone", || match processes_of(project.root()) {
        alive if alive.is_empty() => Ok(()),
        alive => Err(format!("{alive:#?}")),
    });
}

/// Kills something once, while the action `name` goes on, and expects the verdict that the code deserves.
#[track_caller]
fn expect_right_after_one_kill(project: &Project, victim: Victim, name: &str) -> Output {
    let deserved = fs::read_to_string(project.path().join("result")).expect("it is there");
    let is_good = deserved.trim() == "good";
    let mut started = project.proctor(["run"]).watch();
    await_begun(project, name, 1, &mut started);
    strike(victim, name, &started);
    await_begun(project, name, 2, &mut started);
    let_go(project, name);
    let ended = started.ended();
    let what = format!("{victim:?} of {name}: {}", ended.snapshot());
    assert_eq!(ended.status, i32::from(!is_good), "{what}");
    let who = if victim == Victim::Launcher { "the launcher" } else { "the keeper" };
    assert!(ended.stderr.contains(who) && ended.stderr.contains("the checks are run once more"), "{what}");
    assert!(!ended.stdout.contains("HIGH") || !is_good, "{what}");
    let runs = project.store().committed_runs();
    let none = ("INTERRUPTED".to_owned(), None);
    let last = if is_good { "PASSED" } else { "FAILED" };
    let seen = statuses(project);
    assert!(seen.len() == 2 && seen[0] == none && seen[1].1.as_deref() == Some(last), "{seen:?}; {what}");
    assert_eq!(begun(project, name), 2, "no attempt of its own: {what}");
    expect_sealed_without_verdict(project, name, &runs[0]);
    expect_sound(project);
    ended
}

#[test]
fn one_kill_during_any_kind_of_action_is_followed_by_the_verdict_that_the_code_deserves() {
    let free = ["free", "later"].map(|name| held("check", name)).concat();
    let alone = held("check", "unit") + "retries = 2\n";
    let beside = free.clone() + &held("check", "unit") + "[run]\nparallel = true\n[queue]\nmax_parallel = 3\n";
    for (name, actions) in [
        ("unit", alone),
        ("install", held("prerequisite", "install") + &free),
        ("tidy", held("cleanup", "tidy") + &free),
        ("unit", beside),
    ] {
        for victim in [Victim::Launcher, Victim::Keeper] {
            let project = project(&actions);
            ["free", "later"].into_iter().for_each(|free| let_go(&project, free));
            expect_right_after_one_kill(&project, victim, name);
        }
    }
}

#[test]
fn one_kill_of_what_watches_a_service_or_asks_whether_it_is_ready_is_followed_by_the_right_verdict() {
    let asks = "[\"test\", \"-e\", \"../shared/server-begun\"]";
    let looks = "[\"sh\", \"held.sh\", \"look\"], attempt_timeout = \"30s\"";
    // The first process of the service becomes `sleep 600`.
    for (ready, struck, awaited) in [(asks, "600", "unit"), (looks, "look", "look")] {
        for victim in [Victim::Launcher, Victim::Keeper] {
            let service = format!(
                "[[prerequisite]]\nname = \"server\"\ncommand = [\"sh\", \"service.sh\", \"server\"]\nservice = true\n\
                 ready = {{ command = {ready} }}\n"
            );
            let project = project(&format!("{service}{}", held("check", "unit")));
            let mut started = project.proctor(["run"]).watch();
            await_begun(&project, awaited, 1, &mut started);
            strike(victim, struck, &started);
            await_begun(&project, awaited, 2, &mut started);
            ["look", "unit"].into_iter().for_each(|name| let_go(&project, name));
            let ended = started.ended();
            assert_eq!((ended.status, begun(&project, "server")), (0, 2), "{victim:?} of {struck}: {}", ended.snapshot());
            expect_sealed_without_verdict(&project, "server", &project.store().committed_runs()[0]);
            expect_sound(&project);
        }
    }
}

/// With only a process group, a command can kill its own keeper. That gives it no verdict, and never a success.
#[test]
fn a_command_that_kills_its_own_keeper_gains_nothing() {
    let project = Project::new()
        .toml("[[check]]\nname = \"unit\"\ncommand = [\"sh\", \"kills.sh\"]\n[evidence]\nlink = \"\"\n")
        .file("kills.sh", "kill -KILL $PPID\nexec sleep 600\n");
    let ended = at_level(project.proctor(["run"]), &name_of(IsolationLevel::ProcessGroup)).status(70);
    assert!(ended.stderr.contains("while `unit` went on, the keeper"), "{}", ended.snapshot());
    assert_eq!(statuses(&project), [("INTERRUPTED".to_owned(), None), ("INTERRUPTED".to_owned(), None)]);
    expect_sound(&project);
}

#[test]
fn bad_code_stays_bad_and_a_command_that_is_killed_itself_is_judged_as_ever() {
    for victim in [Victim::Launcher, Victim::Keeper] {
        let project = project(&held("check", "unit")).file("result", "bad\n");
        let ended = expect_right_after_one_kill(&project, victim, "unit");
        assert!(ended.report()["technicalDebtGenerated"].is_object(), "{}", ended.snapshot());
    }
    let project = project(&held("check", "unit"));
    let mut started = project.proctor(["run"]).watch();
    await_begun(&project, "unit", 1, &mut started);
    strike(Victim::Command, "unit", &started);
    let ended = started.ended();
    assert_eq!((ended.status, begun(&project, "unit")), (1, 1), "{}", ended.snapshot());
    assert_eq!(ended.report()["stepExecution"]["results"][0]["classification"]["code"], "SIGNALLED");
}

#[test]
fn a_kill_in_the_repetition_too_is_proctors_own_fault_and_changes_nothing() {
    for victim in [Victim::Launcher, Victim::Keeper] {
        let project = project(&held("check", "unit"));
        let_go(&project, "unit");
        project.proctor(["run"]).success();
        fs::remove_file(go(&project, "unit")).expect("it was made");
        let before = project.proctor(["status"]).success().stdout;
        let latest = project.store().report("default")["authenticity"]["executionId"].clone();

        let mut started = project.proctor(["run"]).watch();
        for times in [2, 3] {
            await_begun(&project, "unit", times, &mut started);
            strike(victim, "unit", &started);
        }
        let ended = started.ended();
        let what = ended.snapshot();
        assert_eq!((ended.status, begun(&project, "unit")), (70, 3), "{what}");
        assert!(ended.stdout.contains("INTERRUPTED · no verdict"), "{what}");
        let who = if victim == Victim::Launcher { "the launcher" } else { "the keeper" };
        let said = |text: &str| ended.stderr.lines().any(|line| line.contains(text));
        assert!(said(&format!("while `unit` went on, {who}")) && said("hint: ") && said("journalctl -k"), "{what}");
        let runs = project.store().committed_runs();
        runs[1..].iter().for_each(|run| expect_sealed_without_verdict(&project, "unit", run));
        assert_eq!(runs.len(), 3, "{runs:#?}");

        assert_eq!(project.proctor(["status"]).success().stdout, before, "the verdict is as fresh as before");
        assert_eq!(project.store().report("default")["authenticity"]["executionId"], latest);
        project.save("saved.txt", "one\n");
        let mut waiting = project.proctor(["wait", "--fresh"]).watch();
        for times in [4, 5] {
            await_begun(&project, "unit", times, &mut waiting);
            strike(victim, "unit", &waiting);
        }
        let waited = waiting.ended();
        assert_eq!(waited.status, 70, "{}", waited.snapshot());
        assert!(waited.stderr.contains("journalctl -k"), "{}", waited.snapshot());

        let_go(&project, "unit");
        project.proctor(["run"]).success();
        expect_sound(&project);
    }
}

#[test]
fn a_cycle_counts_no_attempt_for_it() {
    let project = project(&held("check", "unit"));
    let state = || project.proctor(["tdd", "show", "--json"]).success().stdout;
    project.proctor(["tdd", "start"]).success();
    let before = state();
    let mut started = project.proctor(["run"]).watch();
    for times in [1, 2] {
        await_begun(&project, "unit", times, &mut started);
        strike(Victim::Keeper, "unit", &started);
    }
    assert_eq!(started.ended().status, 70);
    assert_eq!(state(), before);
}

#[test]
fn a_watch_and_the_service_run_once_more_by_themselves_and_say_so_when_that_fails_too() {
    for victim in [Victim::Launcher, Victim::Keeper] {
        let project = project(&held("check", "unit"));
        let mut watch = project.watch(["."]);
        await_begun(&project, "unit", 1, &mut watch);
        strike(victim, "unit", &watch);
        assert_eq!(watch.wait_for_verdict()["overallStatus"], "INTERRUPTED");
        await_begun(&project, "unit", 2, &mut watch);
        let_go(&project, "unit");
        assert_eq!(watch.wait_for_verdict()["overallResult"], "PASSED");

        fs::remove_file(go(&project, "unit")).expect("it was made");
        project.save("saved.txt", "one\n");
        for times in [3, 4] {
            await_begun(&project, "unit", times, &mut watch);
            strike(victim, "unit", &watch);
        }
        watch.wait_for_line("the hint", BOUND, |line| line.contains("journalctl -k"));
        let_go(&project, "unit");
        project.save("saved.txt", "two\n");
        watch.wait_for_line("the next verdict", BOUND, |line| line.starts_with("PASSED"));
        watch.interrupt();
        expect_sound(&project);
    }
}

#[test]
fn the_service_answers_a_run_and_a_wait_with_the_verdict_or_with_its_own_fault() {
    let project = project(&held("check", "unit"));
    let mut daemon = start_serving(&project);
    await_begun(&project, "unit", 1, &mut daemon);
    strike(Victim::Keeper, "unit", &daemon);
    await_begun(&project, "unit", 2, &mut daemon);
    let_go(&project, "unit");
    let waited = project.proctor(["wait", "--fresh"]).any_status();
    assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), daemon.text());

    fs::remove_file(go(&project, "unit")).expect("it was made");
    let run = project.proctor(["run"]).watch();
    for (times, victim) in [(3, Victim::Launcher), (4, Victim::Keeper)] {
        await_begun(&project, "unit", times, &mut daemon);
        strike(victim, "unit", &daemon);
    }
    let ended = run.ended();
    assert_eq!(ended.status, 70, "{}", ended.snapshot());
    let said = |text: &str| ended.stderr.lines().any(|line| line.contains(text));
    assert!(said("while `unit` went on, the keeper") && said("journalctl -k"), "{}", ended.snapshot());
    daemon.wait_for_line("the log", BOUND, |line| line.contains("the checks are run once more"));
    let statuses = statuses(&project);
    assert!(statuses.iter().all(|(_, result)| result.as_deref() != Some("FAILED")), "{statuses:?}");
    let_go(&project, "unit");
    project.proctor(["run"]).success();
    daemon.interrupt();
    expect_sound(&project);
}

#[test]
fn one_kill_at_any_moment_of_a_run_leaves_its_verdict_right() {
    let actions = held("prerequisite", "install") + &held("check", "unit") + &held("check", "other") + &held("cleanup", "tidy");
    let project = project(&actions);
    ["install", "unit", "other", "tidy"].into_iter().for_each(|name| let_go(&project, name));
    project.proctor(["run"]).success();
    let began = Instant::now();
    project.proctor(["run"]).success();
    let length = began.elapsed();
    for round in 0..MOMENTS {
        let victim = if round % 2 == 0 { Victim::Launcher } else { Victim::Keeper };
        let started = project.proctor(["run"]).watch();
        await_program(started.id());
        let moment = length * (round + 1) / (MOMENTS + 1);
        thread::sleep(moment);
        let launchers = children_of(started.id());
        let struck = if victim == Victim::Launcher { launchers } else { launchers.into_iter().flat_map(children_of).collect() };
        for id in &struck {
            let _gone = kill(Pid::from_raw(*id), Signal::SIGKILL);
        }
        let ended = started.ended();
        assert_eq!(ended.status, 0, "{victim:?} {struck:?} killed after {moment:?}: {}", ended.snapshot());
    }
    let failed = statuses(&project).into_iter().filter(|(_, result)| result.as_deref() == Some("FAILED")).count();
    assert_eq!(failed, 0);
    expect_sound(&project);
}
