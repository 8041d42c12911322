//! Tests of a service whose own program file is replaced while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::LATE;
use crate::common::{Project, WRITES_TO_SHARED, copy_program, poll, proctor};

#[test]
fn a_save_is_judged_while_a_new_program_that_hangs_is_tried_and_nothing_is_left_of_it() {
    let project = super::project("grep -q one a.txt || test ! -e ../shared/ended");
    let program = project.root().join("program");
    copy_program(proctor(), &program);
    let mut daemon = project.command(&program, ["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    let (tried, ended) = (project.shared("tried"), project.shared("ended"));
    let told = format!("echo $$ >'{0}.new'; mv '{0}.new' '{0}'", tried.display());
    let script = format!("#!/bin/sh\ntrap 'touch \"{}\"; exit 1' TERM\n{told}\nwhile :; do sleep 0.02; done\n", ended.display());
    let replacement = project.root().join("replacement");
    fs::write(&replacement, script).expect("the root is ours");
    fs::set_permissions(&replacement, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    fs::rename(&replacement, &program).expect("the root is ours");
    let process = poll(LATE, "the trial", || fs::read_to_string(&tried).ok().ok_or("not begun"));
    // The check passes only before the program that hangs is ended.
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).success();
    daemon.interrupt();
    assert!(!Path::new("/proc").join(process.trim()).exists(), "the trial ends with the service");
}

/// Puts a program in the place of another one, as an update does.
fn replace(program: &Path, content: &[u8]) {
    let new = program.with_extension("new");
    fs::write(&new, content).expect("the root is ours");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    fs::rename(&new, program).expect("the root is ours");
}

#[test]
fn the_program_that_was_tried_is_started_whatever_has_its_name_then() {
    let gate = "until test -e ../shared/gate; do sleep 0.05; done";
    let project = Project::new().toml(&(WRITES_TO_SHARED.to_owned() + &super::settings(gate))).file("a.txt", "one\n");
    let program = project.root().join("program");
    copy_program(proctor(), &program);
    let mut daemon = project.command(&program, ["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    poll(LATE, "the run", || {
        let status = project.proctor(["status", "--json"]).any_status().json();
        if status["projects"][0]["tasks"][0]["state"] == "running" { Ok(()) } else { Err(status) }
    });
    let mut another = fs::read(proctor()).expect("the program");
    another.push(b'\n');
    replace(&program, &another);
    daemon.wait_for_line("the notice", LATE, |line| line.contains("it is started when the run under way has ended"));
    // Before that, a program takes its place that ends at once, and then there is none.
    replace(&program, b"#!/bin/sh\nexit 1\n");
    fs::remove_file(&program).expect("it is there");
    fs::write(project.shared("gate"), "").expect("the directory is ours");
    daemon.wait_for_line("the new program", LATE, |line| line.starts_with("listening on"));
    let image = || fs::read_link(format!("/proc/{}/exe", daemon.id())).expect("the same process");
    assert_eq!(image(), Path::new(&format!("{} (deleted)", program.display())));
    project.proctor(["wait", "--fresh"]).success();
    // The program that goes on without a name notices the next one.
    another.push(b'\n');
    replace(&program, &another);
    poll(LATE, "the next program", || if image() == program { Ok(()) } else { Err(image().display().to_string()) });
    daemon.wait_for_line("the next program", LATE, |line| line.starts_with("listening on"));
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(daemon.interrupt().status, 130);
}
