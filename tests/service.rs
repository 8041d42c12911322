//! proctor as a service of a user: under a real service manager, with a cgroup of its own.
//!
//! The machine is a tool of its own that boots a service manager in namespaces: `PROCTOR_WITH_SYSTEMD`, else
//! `../shared/tools/with-systemd` beside the repository. Without it, or without root, these tests say so and pass.
#![expect(clippy::print_stdout, reason = "a test that is left out says why")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::unistd::geteuid;
use serde_json::Value;

use crate::common::{fake_tool, ignored, proctor, repository};

#[test]
fn a_service_runs_on_saves_reloads_and_leaves_nothing_when_it_is_stopped_or_killed() {
    for level in ["namespace", "cgroup"] {
        let Some(said) = inside(level) else { return };
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

/// Runs `service/inside.sh` in a machine and returns what it said; none where there is no machine.
#[track_caller]
fn inside(level: &str) -> Option<BTreeMap<String, String>> {
    let named = env::var_os("PROCTOR_WITH_SYSTEMD").map(PathBuf::from);
    let machine = named.unwrap_or_else(|| repository().join("../shared/tools/with-systemd"));
    if !machine.exists() || !geteuid().is_root() {
        println!("left out: `{}` is not there, or we are not root", machine.display());
        return None;
    }
    let tools = tempfile::Builder::new().prefix("proctor-test-").tempdir_in("/var/tmp").expect("a directory");
    fs::set_permissions(tools.path(), Permissions::from_mode(0o755)).expect("it is ours");
    for program in [proctor(), fake_tool()] {
        fs::copy(program, tools.path().join(program.file_name().expect("a program has a name"))).expect("a copy");
    }
    let script = tools.path().join("inside.sh");
    fs::copy(repository().join("tests/service/inside.sh"), &script).expect("a copy");
    let output = Command::new(machine)
        .args(["--no-bind-cwd", "--bind"])
        .arg(tools.path())
        .args(["--", "bash"])
        .arg(&script)
        .arg(tools.path())
        .arg(level)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .expect("the machine can be started");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{level}: {}\n{stdout}\n{stderr}", output.status);
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    Some(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
