//! Tests proctor as a user's service, under a real service manager and in a cgroup of its own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::common::{Machine, Owner, Project, ignored, repository};

#[test]
#[ignore = "long tier"]
fn a_service_runs_on_saves_reloads_and_leaves_nothing_when_it_is_stopped_or_killed() {
    for level in ["namespace", "cgroup"] {
        let Some(said) = inside("inside.sh", Owner::Person, &[level]) else { return };
        let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("{level}: no {name} in {said:#?}")).as_str();
        for name in ["REPORT", "MARKEDREPORT"] {
            let report: Value = serde_json::from_str(value(name)).expect("a report is JSON");
            assert_eq!(report["isolation"]["level"], level, "{level}, {name}: {:#}", report["isolation"]);
            let result = &report["stepExecution"]["results"][0]["result"];
            assert_eq!(result["exitCode"], 0, "{level}, {name}: {result:#}");
            assert!(result["survivors"].as_array().is_some_and(|all| !all.is_empty()), "{level}, {name}: {result:#}");
        }
        let record: Value = serde_json::from_str(value("RECORD")).expect("a record is JSON");
        let spent = record["usage"]["user"].as_u64().unwrap_or(0);
        assert!(spent >= 20, "{level}: what the daemon used, which the check never waited for: {record:#}");
        assert_eq!(
            ignored(value("IGNORED")),
            Vec::<u32>::new(),
            "{level}: the service manager ignores SIGPIPE, a check does not"
        );
        assert_eq!((value("RELOADED"), value("STOPPED")), ("3", "1"), "{level}");
        assert_eq!(value("DURING"), "1", "{level}: the action under way has a cgroup");
        assert_eq!(value("RECOVERED"), "1", "{level}");
        assert_eq!(value("MARKED"), "0", "{level}: what a dead launcher left is removed");
    }
}

/// Everything that `proctor service install` promises, tested in one `Machine`, a container with a service manager.
#[test]
#[ignore = "long tier"]
fn an_installed_service_survives_kills_hangs_and_stops_and_goes_without_a_trace() {
    let Some(said) = inside("installed.sh", Owner::Person, &[]) else { return };
    let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("no {name} in {said:#?}")).trim();
    let json = |name: &str| -> Value { serde_json::from_str(value(name)).unwrap_or_else(|error| panic!("{name}: {error}")) };
    assert_eq!(value("BYHAND"), "2 1 0", "exit code, hint, files: a service that was started by hand is in the way");
    assert_eq!(value("BEFORE"), "1 1", "what is not installed does not run, and it says what installs it");

    let installed = json("INSTALL");
    assert_eq!((&installed["schema"], &installed["systemd"].is_u64()), (&"proctor-service-v1".into(), &true), "{installed:#}");
    assert_eq!(installed["changed"].as_array().map(Vec::len), Some(2), "{installed:#}");
    let again = json("AGAIN");
    assert_eq!((&again["changed"], &again["units"]), (&json_list(), &installed["units"]), "installing twice changes nothing");
    for unit in again["units"].as_array().expect("a list") {
        assert_eq!((&unit["file"], &unit["active"], &unit["enabled"]), (&"current".into(), &"active".into(), &"enabled".into()));
    }
    assert_eq!(value("MODES"), "700 600 644", "of the socket's directory, the socket, the unit file");
    assert!(value("EXE").ends_with("/proctor"), "{said:#?}");

    let report = json("REPORT");
    assert_eq!((&report["trigger"]["kind"], &report["isolation"]["level"]), (&"save".into(), &"namespace".into()), "{report:#}");
    assert_eq!(value("PRIVILEGES").split_whitespace().last(), Some("1"), "{said:#?}");
    let status = json("STATUS");
    assert_eq!((&status["projects"], &status["managerReachable"]), (&1.into(), &true.into()), "{status:#}");

    assert_eq!(value("RELOADED"), "same", "a reload keeps the process");
    assert_eq!(value("KILLED"), "intact 1 1", "the ledger's lines, one INTERRUPTED run, one restart");
    assert!(value("EVIDENCE").starts_with("0 "), "run directories whose manifest does not fit: {said:#?}");
    assert_eq!(value("WATCHDOG"), "1 1", "a line of the journal, and a restart");
    assert_eq!(value("CGROUPS"), "cgroup cgroup cgroup", "every launcher of the service has the unit's cgroup: {said:#?}");
    assert_eq!(value("APART"), "alone 4", "a save in one working tree runs nothing in the other three projects");
    assert_eq!(value("PROJECTS"), "4");
    assert_eq!(value("STOPPED"), "1 success", "what ran is sealed as INTERRUPTED");
    assert_eq!(value("ACTIVATED"), "active", "who asks starts it");
    assert_eq!(value("CARRIED"), "1 1 1 C.UTF-8", "fails without, is advised, says what it carries, language of the shell");
    assert_eq!(value("EDITED"), "2 2 1", "an edited unit file is neither replaced nor removed");
    assert_eq!(value("FORCED"), "1 1min");
    assert_eq!(value("ODD"), "there 0", "a program at a path with a space, `%`, `$` and `;`");
    assert_eq!(value("UNINSTALLED"), "./other.service not-found none", "what is left, the unit, the socket");
    assert_eq!(value("TWICE"), "0");
}

/// The number of projects, unless `PROCTOR_MANY_PROJECTS` says otherwise. With 500, the test takes some minutes.
const MANY: &str = "120";

/// Many projects of 200 files each at the usual limit of 1,024 open files: all are judged, and then they wait at no cost. A second
/// service, a crash and an update of the program lose nothing.
#[test]
#[ignore = "wide tier"]
fn many_projects_at_the_usual_limit_of_open_files_are_judged_and_then_cost_nothing() {
    let count = env::var("PROCTOR_MANY_PROJECTS").unwrap_or_else(|_| MANY.to_owned());
    let Some(said) = inside("many.sh", Owner::Person, &[&count, "200", "30"]) else { return };
    let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("no {name} in {said:#?}")).trim();
    let number = |name: &str| -> u64 {
        let first = value(name).split(' ').next().unwrap_or_default();
        first.parse().unwrap_or_else(|error| panic!("{name}: {error}: {said:#?}"))
    };
    for name in ["IDLE", "RESIDENT", "PROPORTIONAL", "DESCRIPTORS", "FILES", "THREADS", "PROCESSES"] {
        println!("{count} projects: {name} {}", value(name));
    }
    assert_eq!((value("LIMIT"), value("JUDGED")), ("1024 1024", count.as_str()));
    assert!(number("IDLE") <= 30, "a hundredth of one processor: {said:#?}");
    assert!(number("RESIDENT") <= 200 * 1024, "{said:#?}");
    assert!(number("DESCRIPTORS") <= 64 && number("THREADS") <= 8 && number("PROCESSES") <= 2, "{said:#?}");
    assert_eq!((value("SECOND"), value("KILLED")), ("2", "another"), "{said:#?}");
    assert_eq!((value("LETEND"), value("RENEWED"), value("VERIFIED")), ("1 1", "same 1", "yes"), "{said:#?}");
}

/// The disk of the store gets full under an installed service, and has room again: the problem is named, and nothing that was saved
/// meanwhile is forgotten.
#[test]
#[ignore = "long tier"]
fn a_full_disk_is_named_by_an_installed_service_and_healed_by_room() {
    let Some(said) = inside("full_disk.sh", Owner::Root, &[]) else { return };
    let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("no {name} in {said:#?}")).trim();
    let at_least_one = |name: &str| value(name).split(' ').next_back().and_then(|count| count.parse().ok()).unwrap_or(0) > 0;
    assert_eq!(value("FULL"), "0", "{said:#?}");
    assert!(value("WAIT").starts_with("5 1 ") && at_least_one("WAIT"), "at once, with the problem: {said:#?}");
    assert!(value("SERVICE").starts_with("1 ") && at_least_one("SERVICE") && at_least_one("JOURNAL"), "{said:#?}");
    assert_eq!((value("PRUNE"), value("VERIFIED")), ("0", "0"), "{said:#?}");
    assert!(at_least_one("HEALED"), "{said:#?}");
}

/// What is expected at one isolation level after a run with a hostile check that tries W1 to W8.
struct ExpectedAttack {
    level: &'static str,
    /// What `attacked.sh` prints for each attempt that changed or reached something. Every other attempt got nothing.
    got: &'static [(&'static str, &'static str)],
    /// Whether the check can connect to the socket of the service. If it can, the service must refuse its request.
    reaches_socket: bool,
    /// The exit code of the run after the attack.
    returned: &'static str,
    /// Whether the user's next `git status` runs a program of the check: `1` if it does, `0` if not.
    git: &'static str,
}

/// The names of the attempts in `attacked.sh`: W1 to W8, and the evidence.
const ATTEMPTS: [&str; 9] = ["wall", "manager", "stranger", "service", "tree", "screen", "repository", "swap", "evidence"];

/// What the attempts do to the project, or to the snapshot of it.
const IN_PROJECT: [(&str, &str); 4] = [
    ("wall", "CHANGED settings;"),
    ("tree", "CHANGED tree;"),
    ("repository", "CHANGED .git;CHANGED lib/.git;"),
    ("swap", "CHANGED files;"),
];

/// At weaker levels than `namespace`, a check can have the service manager start a process outside of the isolation.
const BEYOND: [(&str, &str); 5] = [IN_PROJECT[0], IN_PROJECT[1], IN_PROJECT[2], IN_PROJECT[3], ("manager", "REACHED manager;")];

const EXPECTED: [ExpectedAttack; 2] = [
    ExpectedAttack { level: "namespace", got: &IN_PROJECT, reaches_socket: false, returned: "0", git: "0" },
    ExpectedAttack { level: "landlock", got: &BEYOND, reaches_socket: true, returned: "3", git: "1" },
];

/// One save starts a run with a hostile check, under a service that a real service manager has started.
#[test]
#[ignore = "long tier"]
fn a_hostile_check_changes_nothing_outside_of_its_run_and_the_report_names_the_attempt() {
    for expected in EXPECTED {
        let level = expected.level;
        let Some(said) = inside("attacked.sh", Owner::Person, &[level]) else { return };
        let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("{level}: no {name} in {said:#?}")).trim();
        assert_eq!(value("FAULTS"), "0", "{level}: {said:#?}");
        for name in ATTEMPTS {
            let got = expected.got.iter().find(|(attempt, _)| *attempt == name).map_or("", |(_, got)| got);
            let tried = value(&format!("ATTEMPT-{name}"));
            assert_eq!(tried, format!("BEGIN {name};{got}"), "{level}: {said:#?}");
        }
        let report: Value = serde_json::from_str(value("REPORT")).expect("a report is JSON");
        assert_eq!(report["isolation"]["level"], level, "{:#}", report["isolation"]);
        let is_named = report["notes"].to_string().contains("requests to proctor's service");
        let seen = [is_named, value("REFUSED") != "0", value("JOURNAL") == "1"];
        assert_eq!(seen, [expected.reaches_socket; 3], "{level}: in the report, by the check, in the journal: {said:#?}");
        names_the_attempts(&report, level);
        for name in ["UNTOUCHED", "LINES", "APPROVALS", "FILES"] {
            assert_eq!(value(name), "same", "{level}, {name}: {said:#?}");
        }
        // At weaker levels than `namespace`, a check works in the project itself. Its run is no success, and the next
        // run asks a person.
        let is_namespace = level == "namespace";
        assert_eq!(value("PROJECTFILES"), if is_namespace { "same" } else { "changed" }, "{level}: {said:#?}");
        assert_eq!((value("RETURNED"), value("GIT")), (expected.returned, expected.git), "{level}: {said:#?}");
        if !is_namespace {
            assert!(value("SAID").contains("sandbox: mode: \"off\" instead of \"auto\""), "{level}: {said:#?}");
            assert!(value("SAID").contains("tree: without src/calc.py"), "{level}: {said:#?}");
            assert!(value("STATUS").contains("\"notApproved\""), "{level}: {said:#?}");
        }
        let runs: u32 = value("RUNS").parse().expect("a number");
        assert!(runs <= 4, "{level}: the check does not make the service run again: {said:#?}");
        assert_eq!((value("PAINTED"), value("SURVIVED")), ("0", "0"), "{level}: {said:#?}");
        assert!(value("PROJECTS").ends_with(" 0"), "{level}: {said:#?}");
        assert_eq!(value("VERIFIED"), "yes", "{level}: {said:#?}");
    }
}

/// With only a process group, a check reaches the user's files and the store, and nothing is claimed. What is held there, or named:
/// requests to the service are refused, and what the check writes to the project (`proctor.toml`, `.gitignore`, sources) is asked for
/// before anything runs again. A `.git` that it makes is not held, and is named with the other files that decide: by the report, or, if
/// the saves of the check stopped its run, by the refusal of the next run.
#[test]
#[ignore = "long tier"]
fn without_a_sandbox_a_hostile_check_weakens_nothing_for_the_next_run() {
    let Some(said) = inside("attacked.sh", Owner::Person, &["process-group"]) else { return };
    let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("no {name} in {said:#?}")).trim();
    for name in ["UNTOUCHED", "LINES", "APPROVALS", "FILES"] {
        assert_eq!(value(name), "same", "{name}: {said:#?}");
    }
    assert_eq!((value("PROJECTFILES"), value("GIT")), ("changed", "1"), "{said:#?}");
    assert_eq!((value("FAULTS"), value("JOURNAL")), ("0", "1"), "{said:#?}");
    // What leaves the tree is named. Where the check's other changes open nothing that the user has not allowed, the run is carried out and is no
    // proof.
    let is_marked = value("SAID").contains("no proof until a person approves");
    assert!(value("RETURNED") == "3" || (value("RETURNED") == "0" && is_marked), "{said:#?}");
    assert!(value("SAID").contains("tree: without src/calc.py"), "{said:#?}");
    // A run that its own saves stopped leaves no report. Then only the service knows what that run changed, and a command with other
    // variables, which runs by itself, names what leaves the tree.
    let told = format!("{} {}", value("SAID").replace('`', "\""), value("REPORT"));
    let is_told_by_the_service = !value("REPORT").is_empty() || !value("SAID").contains("running here instead");
    for path in ["proctor.toml", ".gitignore", ".git", "lib/.git"] {
        assert!(!is_told_by_the_service || told.contains(&format!("\"{path}\"")), "{path}: {said:#?}");
    }
    assert_eq!((value("PAINTED"), value("SURVIVED"), value("VERIFIED")), ("0", "0", "yes"), "{said:#?}");
    assert!(value("RUNS").parse::<u32>().is_ok_and(|runs| runs <= 4), "{said:#?}");
    assert!(value("PROJECTS").ends_with(" 0"), "{said:#?}");
}

/// Asserts that the report of an attack names what the check wrote to files that decide, what else it wrote to the project, and what it
/// left behind.
#[track_caller]
fn names_the_attempts(report: &Value, level: &str) {
    let is_namespace = level == "namespace";
    let tree = &report["tree"];
    let written = if is_namespace { tree["snapshot"]["written"].to_string() } else { tree["moved"].to_string() };
    let notes = report["notes"].to_string();
    let git = if is_namespace { [".git/config", "lib/.git/config"] } else { [".git", "lib/.git"] };
    for path in ["proctor.toml", ".gitignore", "src/calc.py", "a.txt", "b.txt", "forged", git[0], git[1]] {
        assert!(written.contains(path), "{level}, {path}: {written}");
    }
    assert_eq!(notes.contains("which decides how the project is judged"), is_namespace, "{level}: {notes}");
    assert_eq!(report["executionSummary"]["overallStatus"] == "MOVED", !is_namespace, "{level}: {report:#}");
    assert!(report["isolation"]["survivors"].to_string().contains("forged"), "{level}: {report:#}");
}

#[test]
fn where_no_service_manager_can_be_reached_nothing_is_written_and_it_says_why() {
    let project = Project::new().allowing_nothing();
    for (path, hint) in [(None, "log in as this user"), (Some("/nowhere"), "`systemctl` is not there")] {
        let path = path.map(OsStr::new).map_or_else(|| env::var_os("PATH").unwrap_or_default(), OsStr::to_owned);
        for verb in ["install", "uninstall"] {
            let output = project.proctor(["service", verb]).env("PATH", &path).status(2);
            assert!(output.stderr.contains(hint), "{}", output.snapshot());
            assert!(
                output.stderr.contains("start `proctor service daemon` by whatever starts your programs"),
                "{}",
                output.snapshot()
            );
        }
        let document = project.proctor(["service", "status", "--json"]).env("PATH", &path).status(1).json();
        assert_eq!((&document["managerReachable"], &document["units"][1]["file"]), (&false.into(), &"absent".into()));
    }
    assert_eq!(fs::read_dir(project.root().join("config")).expect("it is there").count(), 0);
    let output = project.proctor(["service", "status"]).env("XDG_RUNTIME_DIR", "").status(1);
    assert!(output.stdout.contains("export XDG_RUNTIME_DIR=/run/user/$(id -u)"), "{}", output.snapshot());
}

#[test]
fn a_service_ends_with_the_session_and_goes_on_without_one_where_the_user_lingers() {
    let Some(said) = inside("logout.sh", Owner::Root, &["second"]) else { return };
    let value = |name: &str| said.get(name).unwrap_or_else(|| panic!("no {name} in {said:#?}")).as_str();
    assert_eq!(value("ADVISED"), "1", "`service install` says that the service ends with the session");
    assert_eq!(value("LOGGEDOUT"), "1", "what ran is sealed as INTERRUPTED when the session ends");
    let (before, after) = value("LINGERS").split_once(' ').expect("two numbers");
    assert!(before != "0" && after == "0", "the advice goes once it was followed: {said:#?}");
    assert!(value("WITHOUT").starts_with("0 "), "no session was there: {said:#?}");
}

fn json_list() -> Value {
    Value::Array(Vec::new())
}

/// Runs a script of `tests/service` inside a [`Machine`], a container with a service manager, and returns the values
/// that the script printed. None: the container cannot be started.
#[track_caller]
fn inside(name: &str, owner: Owner, arguments: &[&str]) -> Option<BTreeMap<String, String>> {
    let machine = Machine::find()?;
    let script = machine.tools().join(name);
    fs::copy(repository().join("tests/service").join(name), &script).expect("a copy");
    fs::copy(repository().join("tests/daemon/ask_from_a_check.py"), machine.tools().join("ask.py")).expect("a copy");
    let fixed = [OsStr::new("bash"), script.as_os_str(), machine.tools().as_os_str()];
    let command: Vec<&OsStr> = fixed.into_iter().chain(arguments.iter().map(OsStr::new)).collect();
    let output = machine.run(owner, &[], &command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} {arguments:?}: {}\n{stdout}\n{stderr}", output.status);
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    Some(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
