//! Tests a service with many projects: what a project that waits costs, that nothing of it is lost, and that the service starts its own
//! program anew when the file was replaced.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{LATE, ask, project, start_serving};
use crate::common::{Project, Watch, children_of, copy_program, poll, proctor, status_number};

/// The number of projects, many more than stay ready for their next save.
const PROJECTS: usize = 24;
/// The most projects that stay ready for a while after they have done something.
const READY: usize = 8;

/// Makes further directories, each a project with one check, and has the service watch them.
#[track_caller]
fn add_projects(project: &Project, count: usize) -> Vec<PathBuf> {
    let directories: Vec<PathBuf> = (0..count).map(|number| project.root().join(format!("many/{number}"))).collect();
    for directory in &directories {
        fs::create_dir_all(directory.join("src")).expect("the directory is ours");
        fs::write(directory.join("proctor.toml"), super::settings("true")).expect("the directory is ours");
        fs::write(directory.join("src/a.txt"), "one\n").expect("the directory is ours");
        project.proctor(["service", "add", &directory.display().to_string()]).success();
    }
    directories
}

/// Waits until every project has a fresh verdict and nothing runs.
#[track_caller]
fn wait_until_judged(project: &Project, count: usize) {
    poll(LATE, "every project to be judged", || {
        let (_, projects) = ask(project, "GET /v1/projects", "");
        let all = projects["projects"].as_array().cloned().unwrap_or_default();
        let is_judged = |one: &Value| one["standing"]["verdict"]["result"] == "PASSED" && one["standing"]["doing"] == "idle";
        if all.len() == count && all.iter().all(is_judged) { Ok(()) } else { Err(projects) }
    });
}

fn entries(path: &Path) -> usize {
    fs::read_dir(path).map_or(0, Iterator::count)
}

fn descriptors(daemon: &Watch<'_>) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{}/fd", daemon.id())).expect("it lives").flatten();
    entries.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.display().to_string())).collect()
}

#[test]
#[ignore = "long tier"]
fn projects_that_wait_share_one_watcher_and_have_no_thread_process_or_descriptor_of_their_own() {
    let project = project("true");
    let daemon = start_serving(&project);
    let directories = add_projects(&project, PROJECTS);
    wait_until_judged(&project, PROJECTS + 1);
    let threads = || entries(Path::new(&format!("/proc/{}/task", daemon.id())));
    // A project that is ready for its next save has a thread, a launcher with a keeper, the index and the files of the next run.
    poll(LATE, "the projects to rest", || {
        let (held, threads, children) = (descriptors(&daemon), threads(), children_of(daemon.id()).len());
        let is_at_rest = threads <= READY + 8 && children <= READY && held.len() <= 32 + READY * 12;
        if is_at_rest { Ok(()) } else { Err(format!("{threads} threads, {children} launchers, {}: {held:#?}", held.len())) }
    });
    let inotify = descriptors(&daemon).into_iter().filter(|path| path.contains("inotify")).count();
    assert_eq!(inotify, 1, "one instance for all projects");
    // A project that rests notices its next save all the same, and so does the one that was added first.
    for directory in [&directories[0], &directories[PROJECTS - 1]] {
        fs::write(directory.join("src/a.txt"), "two\n").expect("the directory is ours");
        project.proctor(["wait", "--fresh"]).directory(&directory.display().to_string()).success();
    }
    daemon.interrupt();
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_service_whose_program_was_replaced_lets_the_run_end_and_starts_the_new_program_in_its_place() {
    let gate = "until test -e ../shared/gate; do sleep 0.05; done";
    let project =
        Project::new().toml(&(crate::common::WRITES_TO_SHARED.to_owned() + &super::settings(gate))).file("a.txt", "one\n");
    let program = project.root().join("bin/proctor");
    fs::create_dir_all(project.root().join("bin")).expect("the directory is ours");
    copy_program(proctor(), &program);
    let mut daemon = project.command(&program, ["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    let running = || {
        let (_, projects) = ask(&project, "GET /v1/projects", "");
        if projects["projects"][0]["standing"]["doing"] == "running" { Ok(()) } else { Err(projects) }
    };
    poll(LATE, "the run", running);
    let before = status_number(daemon.id(), "VmPeak");
    assert!(before > 0);
    // An update writes the new program beside the old one and gives it the name.
    let mut new = fs::read(proctor()).expect("the program");
    new.extend_from_slice(b"\n");
    fs::write(project.root().join("bin/new"), new).expect("the directory is ours");
    let executable = fs::metadata(&program).expect("it is there").permissions();
    fs::set_permissions(project.root().join("bin/new"), executable).expect("it is ours");
    fs::rename(project.root().join("bin/new"), &program).expect("it is ours");
    daemon.wait_for_line("the notice", LATE, |line| line.contains("is another program than the one that runs"));
    poll(LATE, "the run still to go on", running);
    let runs = |project: &Project| project.store().committed_runs().len();
    assert_eq!(runs(&project), 0, "the run under way is not stopped");
    fs::write(project.shared("gate"), "").expect("the directory is ours");
    daemon.wait_for_line("the new program", LATE, |line| line.starts_with("listening on"));
    let image = fs::read_link(format!("/proc/{}/exe", daemon.id())).expect("the same process");
    assert_eq!(image, program, "the process runs the new file, which is not deleted");
    let runs = project.store().committed_runs();
    assert!(runs.len() == 1 && runs[0]["overallStatus"] == "SUCCESS", "{runs:#?}");
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).success();
    daemon.interrupt();
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_file_that_cannot_run_does_not_take_the_place_of_the_service() {
    let project = super::project("grep -q one a.txt");
    let program = project.root().join("bin/proctor");
    fs::create_dir_all(project.root().join("bin")).expect("the directory is ours");
    copy_program(proctor(), &program);
    let mut daemon = project.command(&program, ["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    let executable = fs::metadata(&program).expect("it is there").permissions();
    fs::write(project.root().join("bin/new"), "garbage\n").expect("the directory is ours");
    fs::set_permissions(project.root().join("bin/new"), executable).expect("it is ours");
    fs::rename(project.root().join("bin/new"), &program).expect("it is ours");
    daemon.wait_for_line("the notice", LATE, |line| line.contains("does not run") && line.contains("the old one goes on"));
    project.save("a.txt", "two\n");
    project.proctor(["wait", "--fresh"]).failure();
    assert_eq!(daemon.interrupt().status, 130);
}
