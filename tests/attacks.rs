//! Runs the attacks of `fake-tool __attack` at each isolation level and compares the results with a table.
//!
//! The test fails and names each attack that succeeds although the table denies it, each operation that is denied
//! although the table allows it, each attack without a row, and each row without an attack.
#![expect(clippy::print_stdout, reason = "the log of the tests shows the whole matrix")]

mod expected;
mod victim;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;

use proctor_model::IsolationLevel;
use serde::Deserialize;

use crate::attacks::expected::{Cell, ROWS};
use crate::attacks::victim::Victim;
use crate::common::{Job, LEVELS, Machine, Owner, User, inside, levels};

/// The path at which a container engine listens.
const DOCKER: &str = "/run/docker.sock";

/// One line of the output of `fake-tool __attack`.
#[derive(Debug, Clone, Deserialize)]
struct Line {
    group: char,
    attack: String,
    outcome: String,
    errno: String,
}

#[test]
fn attacks_of_this_user_come_to_what_they_must() {
    levels().into_iter().for_each(|level| run_attacks(User::Own, level));
}

#[test]
fn attacks_of_an_unprivileged_user_come_to_what_they_must() {
    if User::all().contains(&User::Unprivileged) {
        levels().into_iter().for_each(|level| run_attacks(User::Unprivileged, level));
    } else {
        println!("these tests are not run by root: this user is the unprivileged one");
    }
}

#[test]
#[ignore = "long tier"]
fn attacks_beside_a_real_service_manager_come_to_what_they_must() {
    if let Some(machine) = Machine::find() {
        machine.repeat(Owner::Root, "attacks::attacks_of_", 2, &LEVELS, &[]);
    }
}

/// Starts the services that group J attacks. Does nothing and returns `None` outside of a [`Machine`] (a container with
/// a service manager), because a test must not start services on the real machine.
///
/// Root gets a user service manager, as the other user has one. The socket stands in for a container engine's socket
/// and can be written by everybody. With only a process group the attacks succeed, which proves that their targets
/// exist.
#[track_caller]
fn stand_in_for_services() -> Option<UnixListener> {
    inside()?;
    let started = Command::new("systemctl").args(["start", "user@0.service"]).status();
    assert!(started.is_ok_and(|status| status.success()), "root's own service manager");
    // The socket of an earlier test may still be there; nothing listens on it.
    let _none_before = fs::remove_file(DOCKER);
    let listener = UnixListener::bind(DOCKER).expect("the machine's root may do that");
    fs::set_permissions(DOCKER, Permissions::from_mode(0o666)).expect("it is ours");
    Some(listener)
}

/// Returns whether a level restricts the file system. A mere process group does not.
fn forces_sandbox(level: IsolationLevel) -> bool {
    match level {
        IsolationLevel::Namespace | IsolationLevel::Cgroup | IsolationLevel::Landlock => true,
        IsolationLevel::ProcessGroup | IsolationLevel::Remote => false,
    }
}

#[track_caller]
fn run_attacks(user: User, level: IsolationLevel) {
    let _listening = stand_in_for_services();
    let mut victim = Victim::new(user);
    let is_sandboxed = forces_sandbox(level);
    let job = Job {
        program: victim.supervised.tool().to_owned(),
        arguments: victim.arguments(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        directory: victim.supervised.path("project"),
        timeout_ms: 25_000,
        grace_ms: 1000,
        isolation: level,
        sandbox: is_sandboxed.then(|| victim.sandbox()),
        output: is_sandboxed.then(|| victim.output()),
    };
    let late = victim.make_late_files();
    let returned = victim.supervised.run(&job).unwrap_or_else(|why| panic!("{level:?}, {user}: {why}"));
    let ended = returned.ended.clone();
    drop(returned);
    late.join().expect("the late files");
    let lines: Vec<Line> = ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let mut faults = judge(&lines, level, user);
    if ended.end["kind"] != "exited" || ended.end["code"] != 0 {
        faults.push(format!("the attacks ended as {}: {}", ended.end, ended.stderr));
    }
    faults.extend(victim.damage());
    assert!(faults.is_empty(), "{level:?}, {user}:\n{}", faults.join("\n"));
}

/// Prints the results of one level. Returns a description of each result that differs from the table.
fn judge(lines: &[Line], level: IsolationLevel, user: User) -> Vec<String> {
    let mut faults = Vec::new();
    println!("{level:?}, {user}:");
    for line in lines {
        let Some(row) = ROWS.iter().find(|row| row.group == line.group && row.attack == line.attack) else {
            faults.push(format!("{} {}: there is no row for it", line.group, line.attack));
            continue;
        };
        let (expected, why) = row.expected(level, user);
        // Inside a `Machine` every target of group J must exist, so that a denial can only come from the isolation.
        if line.group == 'J' && inside().is_some() && row.lack(user).is_some() {
            faults.push(format!("{} {}: {}", line.group, line.attack, row.lack(user).unwrap_or_default()));
        }
        let seen = if line.outcome == "allowed" { Cell::Allowed } else { Cell::Denied };
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        println!("{} {:50} {} {}{why}", line.group, line.attack, line.outcome, line.errno);
        match expected {
            Cell::Either(_) => {}
            Cell::Allowed | Cell::Denied if expected == seen => {}
            Cell::Denied => faults.push(format!("{} {}: ALLOWED, and must be denied{why}", line.group, line.attack)),
            Cell::Allowed => {
                faults.push(format!("{} {}: denied by {}, and must be allowed", line.group, line.attack, line.errno))
            }
        }
    }
    for row in ROWS.iter().filter(|row| !lines.iter().any(|line| line.group == row.group && line.attack == row.attack)) {
        faults.push(format!("{} {}: it was not tried", row.group, row.attack));
    }
    faults
}
