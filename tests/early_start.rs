//! An interpreter that was started before its run has to be a cold start that was made earlier: nothing of it may differ from one
//! that is started when its run begins.
//!
//! Each state is a project that is saved while `proctor watch` holds such an interpreter. A plugin (`judge.py`) writes what the session is
//! like when it starts. A run of the same files without an early start follows; then both are compared, with what pytest printed.

mod states;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Project, Watch, poll, python_plain};
use crate::daemon::start_serving;
use crate::gate::{commit, git};

const JUDGE: &str = include_str!("early_start/judge.py");
/// How often a save is repeated that came before the interpreter was ready.
const SAVES: u32 = 6;
/// How long an interpreter must have used no processor time to count as ready, and how long none may be there to count as given up.
const STILL: Duration = Duration::from_millis(500);
const NONE: Duration = Duration::from_secs(3);
/// A file younger than this could change again without another time.
const YOUNG: Duration = Duration::from_millis(2_500);
const BOUND: Duration = Duration::from_secs(60);
/// What may differ: what was looked up before, and the random name that pytest-xdist gives a session.
const MAY_DIFFER: &[&str] = &["sys.path_importer_cache ", "variable PYTEST_XDIST_TESTRUNUID="];

/// A project whose interpreter is started early, and whether it may be used.
pub(crate) struct State {
    pub(crate) name: &'static str,
    /// The interpreter of the environment whose packages the project's environment gets.
    pub(crate) python: fn() -> PathBuf,
    /// Files of the project: path and content. `{project}` stands for the project's directory, `{save}` for the number of the save.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Files of the directory of installed packages.
    pub(crate) packages: &'static [(&'static str, &'static str)],
    /// The words of the command after `.venv/bin/`.
    pub(crate) command: &'static str,
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Files that are written while the interpreter waits; those of installed packages lie below `.venv/`.
    pub(crate) changes: &'static [(&'static str, &'static str)],
    pub(crate) expected: Expected,
}

/// What is to become of an interpreter that waits for the run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    Used,
    /// It is not used, and this is part of the reason.
    Refused(&'static str),
}

pub(crate) const PLAIN: State = State {
    name: "",
    python: python_plain,
    files: &[],
    packages: &[],
    command: "python -m pytest -q",
    variables: &[],
    changes: &[],
    expected: Expected::Used,
};

/// How a run of the check ended, and what was seen of it.
struct Seen {
    early: Value,
    status: Value,
    log: String,
    dump: Option<String>,
}

#[test]
#[ignore = "long tier"]
fn an_interpreter_is_started_early_and_its_run_is_as_any_other() {
    judge(&[State { name: "plain", ..PLAIN }]);
}

#[test]
#[ignore = "wide tier"]
fn what_a_project_hides_or_adds_is_found_as_by_a_cold_start() {
    judge(states::SHADOWS);
    judge(states::EDITABLE);
}

#[test]
#[ignore = "wide tier"]
fn settings_and_variables_count_as_for_a_cold_start() {
    judge(states::SETTINGS);
    judge(states::VARIABLES);
}

#[test]
#[ignore = "wide tier"]
fn what_plugins_do_when_they_are_loaded_is_as_in_a_cold_start() {
    judge(states::PLUGINS);
    judge(states::PROCESSES);
}

#[test]
fn no_interpreter_is_started_early_where_the_settings_say_so() {
    let project = project(&PLAIN);
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(toml.replace("started = 4", "started = 0")));
    let mut watch = project.watch([""; 0]);
    // A save during the first run would supersede it.
    watch.wait_for_verdict();
    for save in 0..2 {
        project.save("test_z.py", &format!("def test_z(): assert {save} + 1\n"));
        watch.wait_for_verdict();
        assert_eq!(step(&project)["earlyStart"], Value::Null);
        assert_eq!(interpreters(&project.path()), []);
    }
    watch.interrupt();
}

#[test]
fn loading_goes_on_behind_a_hook_that_changes_nothing_a_module_can_see() {
    let project = Project::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = repository.join("tests/early_start/watch.py").into_os_string();
    let watch = repository.join("crates/tools/src/pytest/early_watch.py").into_os_string();
    let said =
        project.command(Path::new("python3"), ["-B".into(), script, watch, project.root().as_os_str().to_owned()]).success();
    assert_eq!(said.stdout, "right\n");
}

#[test]
#[ignore = "wide tier"]
fn what_plugins_see_of_project_clock_and_variables_when_they_are_loaded_is_no_surprise() {
    judge(states::SURPRISES);
}

#[test]
#[ignore = "wide tier"]
fn what_plugins_set_and_see_of_the_process_when_they_are_loaded_is_as_in_a_cold_start() {
    judge(states::PROCESS_WIDE);
}

#[test]
#[ignore = "wide tier"]
fn older_versions_of_pytest_are_started_early_too() {
    judge(states::VERSIONS);
}

#[test]
#[ignore = "wide tier"]
fn suites_with_the_usual_plugins_run_the_same_tests_with_the_same_results() {
    judge(states::SUITES);
}

#[test]
#[ignore = "long tier"]
fn a_service_starts_so_many_early_as_are_allowed_and_a_run_that_is_handed_over_uses_one() {
    let project = project(&PLAIN);
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &toml.replace("started = 4", "started = 1"));
    git(&project, &["init", "--quiet"]);
    commit(&project, "test_z.py", "def test_z(): assert 1\n");
    let other = project.root().join("other");
    project.command(Path::new("cp"), ["-a".into(), project.path().into_os_string(), other.clone().into_os_string()]).success();
    let _daemon = start_serving(&project);
    let mut used = Value::Null;
    for _ in 0..SAVES {
        await_interpreter(&project);
        project.proctor(["run"]).success();
        used = step(&project)["earlyStart"]["used"].clone();
        if used == true {
            break;
        }
    }
    assert_eq!(used, true, "{}", step(&project));
    project.proctor(["gate"]).success();
    await_interpreter(&project);
    assert_eq!(interpreters(&project.path()).len(), 1);
    let shown = project.proctor(["status", "--json"]).any_status().stdout;
    let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
    let bytes = shown["projects"][0]["startedEarly"].as_u64();
    assert!(bytes.is_some_and(|bytes| bytes > 1_000_000), "{shown}");
    let shown = project.proctor(["status"]).any_status().stdout;
    assert!(shown.contains("a command was started early for the next run: "), "{shown}");
    let directory = other.display().to_string();
    project.proctor(["service", "add", &directory]).success();
    project.proctor(["run"]).directory(&directory).success();
    project.proctor(["run"]).directory(&directory).success();
    assert_eq!(interpreters(&other), [], "the only place is taken");
    assert_eq!(interpreters(&project.path()).len(), 1);
}

/// Judges all states, and says of each that is wrong what is.
#[track_caller]
fn judge(states: &[State]) {
    let wrong: Vec<String> =
        states.iter().filter_map(|state| judge_one(state).err().map(|why| format!("{}: {why}", state.name))).collect();
    assert!(wrong.is_empty(), "{} of {} states:\n{}", wrong.len(), states.len(), wrong.join("\n"));
}

fn judge_one(state: &State) -> Result<(), String> {
    let project = project(state);
    let mut watch = project.watch([""; 0]);
    watch.wait_for_verdict();
    let early = save_until_ready(&project, &mut watch, state);
    watch.interrupt();
    let is_expected = match state.expected {
        Expected::Used => early.early["used"] == true,
        Expected::Refused(part) => early.early["whyNot"].as_str().is_some_and(|why| why.contains(part)),
    };
    if !is_expected {
        return Err(format!("{:?}, and the early start is {}", state.expected, early.early));
    }
    if let Expected::Refused(part) = state.expected {
        let doctor = project.proctor(["doctor"]).any_status().stdout;
        let line = doctor.lines().find(|line| line.trim_start().starts_with("early start "));
        if !line.is_some_and(|line| line.contains(part)) {
            return Err(format!("doctor says {line:?} of it"));
        }
    }
    project.proctor(["run"]).any_status();
    let late = seen(&project);
    if late.early != Value::Null {
        return Err(format!("a single run started early: {}", late.early));
    }
    if (&early.status, &early.log) != (&late.status, &late.log) {
        return Err(format!("early {}:\n{}\nlate {}:\n{}", early.status, early.log, late.status, late.log));
    }
    compare(early.dump.as_deref(), late.dump.as_deref())
}

/// Saves the state's changes and a test while the interpreter waits. A busy machine may not have it ready: then it is saved again.
fn save_until_ready(project: &Project, watch: &mut Watch<'_>, state: &State) -> Seen {
    for save in 1.. {
        await_interpreter(project);
        for (path, text) in state.changes {
            write(project, path, text, save);
        }
        let _none_before = fs::remove_file(project.shared("dump"));
        project.save("test_z.py", &format!("def test_z(): assert {save}\n"));
        let run = watch.wait_for_verdict()["runId"].clone();
        poll(BOUND, "the report of the run", || {
            let latest = project.store().run_directory("default");
            (latest.file_name().map(|name| name.to_string_lossy()) == run.as_str().map(Into::into))
                .then_some(())
                .ok_or(latest.display().to_string())
        });
        let seen = seen(project);
        let is_late = seen.early["whyNot"].as_str().is_some_and(|why| why.contains("not ready") || why.contains("is new"));
        if !is_late || save == SAVES {
            return seen;
        }
    }
    unreachable!("a save returns")
}

/// Waits until the interpreter waits, or is not there for a while.
fn await_interpreter(project: &Project) {
    let mut before = (Vec::new(), Instant::now());
    poll(BOUND, "an interpreter that waits", || {
        let now = interpreters(&project.path());
        if now != before.0 {
            before = (now, Instant::now());
        }
        let still = if before.0.is_empty() { NONE } else { STILL };
        if before.0.len() < 2 && before.1.elapsed() > still { Ok(()) } else { Err(format!("{:?}", before.0)) }
    });
}

/// Returns the interpreters that were started early for the project, each with its processor time.
fn interpreters(project: &Path) -> Vec<(u32, u64)> {
    let root = project.display().to_string();
    let processes = fs::read_dir("/proc").expect("there are processes").flatten();
    let of = |process: u32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let times: Vec<u64> =
            stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2).filter_map(|time| time.parse().ok()).collect();
        (words.contains("/proctor-output") && words.contains(&root)).then(|| (process, times.iter().sum()))
    };
    processes.filter_map(|entry| of(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn step(project: &Project) -> Value {
    project.store().report("default")["stepExecution"]["results"][0].clone()
}

fn seen(project: &Project) -> Seen {
    let step = step(project);
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    let log = log.lines().map(without_times).collect::<Vec<_>>().join("\n");
    let dump = fs::read_to_string(project.shared("dump")).ok();
    let _next_is_new = fs::remove_file(project.shared("dump"));
    Seen { early: step["earlyStart"].clone(), status: step["status"].clone(), log, dump }
}

/// Returns a line of pytest without the time that it took and without the id of the run.
fn without_times(line: &str) -> String {
    let is_time = |after: &str| after.starts_with(|first: char| first.is_ascii_digit());
    let line = line.split_once(" in ").filter(|(_, after)| is_time(after)).map_or(line, |(before, _)| before);
    line.split('/').map(|part| if part.starts_with("exec-") { "RUN" } else { part }).collect::<Vec<_>>().join("/")
}

fn compare(early: Option<&str>, late: Option<&str>) -> Result<(), String> {
    let (early, late) = match (early, late) {
        (Some(early), Some(late)) => (early, late),
        (None, None) => return Ok(()),
        (Some(_), None) | (None, Some(_)) => return Err("only one of the sessions began".to_owned()),
    };
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !MAY_DIFFER.iter().any(|one| line.starts_with(one))).map(str::to_owned).collect()
    };
    let (early, late) = (lines(early), lines(late));
    let differing: Vec<String> = early
        .iter()
        .zip(&late)
        .filter(|(early, late)| early != late)
        .map(|(early, late)| format!("early {early}\nlate  {late}"))
        .collect();
    if early.len() == late.len() && differing.is_empty() {
        return Ok(());
    }
    let shown = differing.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    Err(format!("{} lines and {}, {} differ:\n{shown}", early.len(), late.len(), differing.len()))
}

/// Makes the project of a state, with an environment of its own.
fn project(state: &State) -> Project {
    let project = Project::new();
    let environment = project.path().join(".venv");
    let installed = (state.python)().parent().and_then(Path::parent).expect("it lies in an environment").to_owned();
    let interpreter = installed.join("bin/python").canonicalize().expect("it is a link to an interpreter");
    let packages = packages_of(&installed);
    let own = environment.join(packages.strip_prefix(&installed).expect("it is below"));
    fs::create_dir_all(environment.join("bin")).expect("ours");
    fs::create_dir_all(&own).expect("ours");
    symlink(&interpreter, environment.join("bin/python")).expect("ours");
    let home = interpreter.parent().expect("it lies in a directory").display();
    project.save(".venv/pyvenv.cfg", &format!("home = {home}\ninclude-system-site-packages = false\n"));
    for entry in fs::read_dir(&packages).expect("packages are installed").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !["pip", "setuptools", "pkg_resources", "_distutils", "distutils", "__pycache__"]
            .iter()
            .any(|other| name.starts_with(other))
        {
            let from = entry.path().into_os_string();
            project.command(Path::new("cp"), ["-a".into(), from, own.clone().into_os_string()]).success();
        }
    }
    let script = format!(
        "#!{}/bin/python\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n",
        environment.display()
    );
    project.save(".venv/bin/pytest", &script);
    fs::set_permissions(environment.join("bin/pytest"), fs::Permissions::from_mode(0o755)).expect("ours");
    let words: Vec<&str> = state.command.split(' ').collect();
    let words = serde_json::to_string(&words).expect("words can be written").replacen('"', "\".venv/bin/", 1);
    let mut toml = format!(
        "[service]\nnice = 0\nstarted = 4\n[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\n[[check]]\nname = \"unit\"\ncommand = {words}\n"
    );
    toml += "environment = { ";
    let dump = project.shared("dump").display().to_string();
    let given = state.variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let all: Vec<String> = given.chain([("DUMP", dump)]).map(|(name, value)| format!("{name} = {value:?}")).collect();
    toml += &(all.join(", ") + " }\n");
    for (path, text) in [
        ("proctor.toml", toml.as_str()),
        (".gitignore", ".venv\n"),
        ("judge.py", JUDGE),
        ("conftest.py", "from judge import pytest_sessionstart\n"),
        ("test_a.py", "def test_a(): assert 1\n"),
    ] {
        project.save(path, text);
    }
    state.files.iter().for_each(|(path, text)| write(&project, path, text, 0));
    for (path, text) in state.packages {
        write(&project, &format!(".venv/PACKAGES/{path}"), text, 0);
    }
    poll(BOUND, "files that are no longer new", || {
        let made = fs::metadata(environment.join("pyvenv.cfg")).and_then(|found| found.modified()).expect("it was written");
        made.elapsed().is_ok_and(|age| age > YOUNG).then_some(()).ok_or_else(String::new)
    });
    project
}

fn packages_of(environment: &Path) -> PathBuf {
    let mut versions = fs::read_dir(environment.join("lib")).expect("an environment has packages").flatten();
    versions.next().expect("for one interpreter").path().join("site-packages")
}

/// Writes a file of a state. `.venv/PACKAGES` is the directory of installed packages.
fn write(project: &Project, path: &str, text: &str, save: u32) {
    let fill = |text: &str| text.replace("{project}", &project.path().display().to_string()).replace("{save}", &save.to_string());
    let packages = packages_of(&project.path().join(".venv"));
    let path = fill(path).replace(".venv/PACKAGES", &packages.display().to_string());
    // An installer makes a new file too.
    let _not_there = fs::remove_file(project.path().join(&path));
    if text == states::LIBRARY {
        let maps = fs::read_to_string("/proc/self/maps").expect("there are maps");
        let library = maps.split_whitespace().find(|word| word.contains("/libgcc_s.so")).expect("every program of Rust has it");
        fs::copy(library, project.path().join(&path)).expect("ours");
        return;
    }
    project.save(&path, &fill(text));
}
