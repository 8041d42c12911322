//! Tests `[sandbox]` from end to end: what each setting opens, what is closed without it, and the message after a denied
//! write.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::Value;

use crate::common::Project;
use crate::isolated_tools::{home, run_as, users_who_reach};

/// Returns the table of a check that runs a shell script.
fn script(text: &str) -> String {
    format!("[[check]]\nname = \"script\"\ncommand = [\"fake-tool\", \"--script\", {}]\n", Value::from(text))
}

/// Makes a project at a place that the level keeps closed. Under Landlock, every directory for temporary files is open.
/// None: there is no writable place outside of them.
fn project_at(level: &str) -> Option<Project> {
    let project = if level == "landlock" { Project::outside_of_temporary_directories() } else { Some(Project::new()) };
    if project.is_none() {
        println!("{level}: there is no place outside of `/tmp` for a project: not tried");
    }
    project
}

#[track_caller]
fn everybody(level: &str, settings: &str, text: &str, prepare: impl Fn(&Project), expected: i32) -> Vec<Project> {
    let mut projects = Vec::new();
    for user in users_who_reach(Path::new("/bin/sh")) {
        let Some(project) = project_at(level) else { continue };
        project.save("proctor.toml", &(script(text) + settings));
        prepare(&project);
        let output = run_as(user, level, &project, &[]);
        assert_eq!(output.status, expected, "{user}, {level}: {}", output.snapshot());
        projects.push(project);
    }
    projects
}

const WRITES_TO_HOME: &str = "mkdir -p ~/.config/x && echo text > ~/.config/x/file && grep -q text ~/.config/x/file && echo more >> ~/.profile && grep -q mine ~/.profile";

fn with_profile(project: &Project) {
    fs::write(home(project).join(".profile"), "mine\n").expect("the home directory is ours");
}

#[test]
fn an_overlay_takes_what_is_written_to_home_and_goes_with_the_run() {
    // In a closed world the copy is empty at first.
    let text = "mkdir -p ~/.config/x && echo text > ~/.config/x/file && grep -q text ~/.config/x/file && test ! -e ~/.profile && echo more > ~/.profile";
    for project in everybody("namespace", "[sandbox]\nhome = \"overlay\"\n", text, with_profile, 0) {
        assert_eq!(fs::read_to_string(home(&project).join(".profile")).expect("it was there"), "mine\n");
        assert!(!home(&project).join(".config").exists());
        let outputs = project.root().join("state/proctor/out");
        let below = |directory| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let left: Vec<_> = below(outputs).flat_map(below).collect();
        assert!(left.is_empty(), "the copy goes with the run: {left:?}");
    }
}

#[test]
fn without_it_home_is_read_only() {
    everybody("namespace", "", WRITES_TO_HOME, with_profile, 1);
    everybody("landlock", "", WRITES_TO_HOME, with_profile, 1);
}

/// Landlock can only deny access. It cannot show another directory at a path, so `home = "overlay"` gives no writable
/// copy of HOME: writing to HOME is denied.
#[test]
fn landlock_has_no_overlay_and_home_stays_read_only() {
    for project in everybody("landlock", "[sandbox]\nhome = \"overlay\"\n", WRITES_TO_HOME, with_profile, 1) {
        assert_eq!(fs::read_to_string(home(&project).join(".profile")).expect("it was there"), "mine\n");
    }
}

/// In a namespace an action has a `/tmp` of its own. Landlock cannot show another directory at a path, so under
/// Landlock the action uses the machine's `/tmp`.
#[test]
fn a_tmp_of_its_own_needs_namespaces() {
    let text = "touch \"$TMPDIR/mark\"";
    for (level, is_seen) in [("namespace", false), ("landlock", true)] {
        for project in everybody(level, "", text, |_| {}, 0) {
            assert_eq!(project.root().join("tmp/mark").exists(), is_seen, "{level}");
        }
    }
}

#[test]
fn writable_opens_a_directory_and_makes_it() {
    let settings = "[sandbox]\nwritable = [\"../other\", \"~/deep/er\"]\n";
    let text = "echo 1 > ../other/file && echo 2 > ~/deep/er/file";
    for level in ["namespace", "landlock"] {
        for project in everybody(level, settings, text, |_| {}, 0) {
            assert_eq!(fs::read_to_string(project.root().join("other/file")).expect("written"), "1\n");
            assert_eq!(fs::read_to_string(home(&project).join("deep/er/file")).expect("written"), "2\n");
        }
    }
}

#[test]
fn visible_shows_credentials_that_are_hidden_otherwise() {
    let secret = |project: &Project| {
        fs::create_dir(home(project).join(".aws")).expect("the home directory is ours");
        fs::write(home(project).join(".aws/credentials"), "secret\n").expect("it was just made");
    };
    for level in ["namespace", "landlock"] {
        everybody(level, "", "cat ~/.aws/credentials", secret, 1);
        everybody(level, "[sandbox]\nvisible = [\"~/.aws\"]\n", "grep -q secret ~/.aws/credentials", secret, 0);
    }
}

/// Landlock does not restrict the connection to a socket in the file system. The report lists that as an open channel.
#[test]
fn sockets_opens_the_one_that_is_named() {
    const CONNECT: &str = "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"XDG_SOCKET\"])'";
    for user in users_who_reach(Path::new("/bin/sh")) {
        for (setting, expected) in [("", 1), ("sockets = [\"SOCKET\"]\n", 0)] {
            let project = Project::new();
            let socket = project.root().join("runtime/daemon");
            let setting = setting.replace("SOCKET", &socket.display().to_string());
            let listener = UnixListener::bind(&socket).expect("a new path");
            let variable = format!("environment = {{ XDG_SOCKET = {:?} }}\n", socket.display().to_string());
            project.save("proctor.toml", &(script(CONNECT) + &variable + "[sandbox]\n" + &setting));
            let output = run_as(user, "namespace", &project, &[]);
            assert_eq!(output.status, expected, "{user}: {}", output.snapshot());
            let open = output.report()["isolation"]["openChannels"].to_string();
            assert_eq!(open.contains("runtime/daemon"), expected == 0, "{user}: {open}");
            drop(listener);
        }
    }
}

#[test]
fn a_denied_write_names_the_line_that_allows_it_and_with_that_line_it_passes() {
    let text = "mkdir -p ~/notes && echo x > ~/notes/file";
    // In namespaces HOME is empty, and what is written to a layer over it is dropped. Landlock has no layers.
    let lines = [("namespace", "home = \"overlay\"", "notes"), ("landlock", "writable = [\"~/notes\"]", "notes/file")];
    for (level, line, denied) in lines {
        for user in users_who_reach(Path::new("/bin/sh")) {
            let Some(project) = project_at(level) else { continue };
            project.save("proctor.toml", &script(text));
            fs::create_dir(home(&project).join("notes")).expect("the home directory is ours");
            let output = run_as(user, level, &project, &[]);
            assert_eq!(output.status, 1, "{user}, {level}: {}", output.snapshot());
            let path = home(&project).join(denied).display().to_string();
            let opening = if level == "namespace" {
                format!("`{line}` in `[sandbox]` gives it a HOME of its own to write to")
            } else {
                format!("put `{line}` in `[sandbox]`")
            };
            let said = format!("`{path}` could not be written to: if the command has to, {opening}");
            assert!(output.stdout.contains(&format!("note: script: {said}\n")), "{user}, {level}: {}", output.snapshot());
            let report = output.report();
            let notes = report["notes"].as_array().expect("there is a note");
            assert!(notes.iter().any(|note| note["message"] == said.as_str()), "{user}, {level}: {notes:?}");
            project.save("proctor.toml", &(script(text) + &format!("[sandbox]\n{line}\n")));
            let output = run_as(user, level, &project, &[]);
            assert_eq!(output.status, 0, "{user}, {level}: {}", output.snapshot());
            assert_eq!(home(&project).join("notes/file").exists(), level == "landlock", "{user}, {level}");
        }
    }
}
