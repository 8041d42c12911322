//! proctor as a service of a user: under a real service manager, with a cgroup of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::common::{Machine, Owner, ignored, repository};

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
    let machine = Machine::find()?;
    let script = machine.tools().join("inside.sh");
    fs::copy(repository().join("tests/service/inside.sh"), &script).expect("a copy");
    let command = [OsStr::new("bash"), script.as_os_str(), machine.tools().as_os_str(), OsStr::new(level)];
    let output = machine.run(Owner::Person, &[], &command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{level}: {}\n{stdout}\n{stderr}", output.status);
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    Some(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
