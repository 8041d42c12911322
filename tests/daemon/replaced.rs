//! Tests of a service whose own program file is replaced while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::LATE;
use crate::common::{poll, proctor};

#[test]
fn a_save_is_judged_while_a_new_program_that_hangs_is_tried_and_nothing_is_left_of_it() {
    let project = super::project("grep -q one a.txt || test ! -e ../shared/ended");
    let program = project.root().join("program");
    fs::copy(proctor(), &program).expect("the root is ours");
    let mut daemon = project.command(&program, ["daemon"]).watch();
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
