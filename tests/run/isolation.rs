//! Tests what a check can and cannot reach, by a project's checks that try it, and what the report says about the
//! isolation.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::unistd::{Uid, chown};
use serde_json::Value;

use super::snapshot_bad_input::{checking_for_every_user, run_as_plain_user};
use crate::common::{Project, directory_outside_of_temporary_ones, fake_tool, proctor};

/// A project whose check runs a shell script of the project and always succeeds.
fn scripted(script: &str) -> Project {
    Project::new()
        .toml("[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n")
        .file("script.sh", &format!("{script}\nexit 0\n"))
}

fn isolation(project: &Project) -> Value {
    project.store().report("default")["isolation"].clone()
}

fn log(project: &Project) -> String {
    project.proctor(["show", "--log", "STEP.1"]).success().stdout
}

#[test]
#[ignore = "long tier"]
fn sockets_that_come_and_go_or_cannot_be_reached_keep_no_check_from_starting() {
    let Some(directory) = directory_outside_of_temporary_ones() else { return };
    let project = scripted("true").env("PROCTOR_TEST_ISOLATION", "namespace");
    // A socket of another user, in a directory that only its owner may search.
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).expect("it is ours");
    let _listener = UnixListener::bind(closed.join("socket")).expect("it is ours");
    if Uid::effective().is_root() {
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("it is ours");
        chown(&closed, Some(Uid::from_raw(12345)), None).expect("root may");
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for number in 0..20 {
                    let path = directory.path().join(number.to_string());
                    let listener = UnixListener::bind(&path).expect("it is ours");
                    fs::remove_file(&path).expect("it is ours");
                    drop(listener);
                }
            }
        });
        let runs: Vec<_> = (0..15).map(|_| project.proctor(["run"]).any_status()).collect();
        is_over.store(true, Ordering::Relaxed);
        for run in runs {
            assert_eq!(run.status, 0, "{}", run.snapshot());
            assert!(!run.snapshot().to_string().contains("in place"), "{}", run.snapshot());
        }
    });
}

#[test]
fn a_check_writes_its_project_and_its_output_directory_and_nothing_else() {
    let project = scripted(
        "touch \"$PROCTOR_OUT/mine\" && echo output written\n\
         touch /tmp/mine && echo tmp written\n\
         touch \"$HOME/mine\" 2>/dev/null || echo home denied\n\
         touch /mine 2>/dev/null || echo root denied\n\
         ls -A /run | wc -l",
    );
    project.proctor(["run"]).success();
    let log = log(&project);
    for line in ["output written", "tmp written", "home denied", "root denied"] {
        assert!(log.lines().any(|said| said == line), "{line}: {log}");
    }
    assert!(!std::path::Path::new("/tmp/mine").exists());
    let isolation = isolation(&project);
    assert_eq!(isolation["level"], "namespace", "{isolation}");
    assert!(isolation["openChannels"].as_array().is_some_and(|open| open.iter().any(|channel| channel == "network")));
}

/// A daemon may have its socket anywhere, and a read-only file system keeps nobody from connecting.
#[test]
fn no_socket_of_a_daemon_is_reached_wherever_it_lies() {
    let Some(elsewhere) = directory_outside_of_temporary_ones() else { return };
    let socket = elsewhere.path().join("a daemon.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    listener.set_nonblocking(true).expect("it listens");
    let project = Project::new()
        .toml("[[check]]\nname = \"connect\"\ncommand = [\"python3\", \"connect.py\"]\n")
        .file("connect.py", "import socket\nclient = socket.socket(socket.AF_UNIX)\nclient.connect(open('where').read())\n")
        .file("where", &socket.display().to_string());
    let output = project.proctor(["run"]).status(1);
    assert!(listener.accept().is_err(), "the check reached the daemon: {}", output.snapshot());
    assert_eq!(isolation(&project)["level"], "namespace");
}

#[test]
fn what_is_protected_cannot_be_carried_away_with_a_directory_that_holds_it() {
    let project = scripted(
        "mv \"$HOME/.local\" \"$HOME/.moved\" 2>/dev/null || echo local stays\n\
         mv \"$HOME/.local/state\" \"$HOME/.local/moved\" 2>/dev/null || echo state stays\n\
         mv \"$HOME/.local/state/proctor\" \"$HOME/proctor\" 2>/dev/null || echo store stays\n\
         mv .git git 2>/dev/null || echo git stays\n\
         touch .git/hooks 2>/dev/null || echo git denied",
    );
    let home = project.path();
    std::fs::create_dir_all(home.join(".git/objects")).expect("a repository");
    // The project is HOME itself, as for somebody who keeps the settings files of HOME under version control. So the
    // store is inside the project, where `.gitignore` keeps it out of the tree.
    let project =
        project.file(".gitignore", ".local/\n.cache/\n").env("HOME", &home).env("XDG_STATE_HOME", home.join(".local/state"));
    project.proctor(["run"]).success();
    let log = log(&project);
    for line in ["local stays", "state stays", "store stays", "git stays", "git denied"] {
        assert!(log.lines().any(|said| said == line), "{line}: {log}");
    }
}

#[test]
fn whoever_survives_a_check_is_named_in_the_report() {
    let project = scripted("setsid sleep 600 </dev/null >/dev/null 2>&1 &\nsleep 0.1");
    project.proctor(["run"]).success();
    let isolation = isolation(&project);
    let survivors = isolation["survivors"].as_array().expect("a list");
    assert_eq!(survivors.len(), 1, "{isolation}");
    assert_eq!(survivors[0]["argv"], serde_json::json!(["sleep", "600"]), "{isolation}");
    assert_eq!(survivors[0]["actionId"], "STEP.1");
    assert!(survivors[0]["ageMs"].is_number() && survivors[0]["pid"].is_number(), "{isolation}");
    assert_eq!(isolation["killedBy"], "pid-namespace");
}

#[test]
fn without_a_sandbox_the_report_says_what_was_not_protected() {
    let project = scripted("touch \"$HOME/mine\" && echo home written");
    project.save("proctor.toml", "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nmode = \"off\"\n");
    project.proctor(["run"]).success();
    assert!(log(&project).contains("home written"));
    let isolation = isolation(&project);
    assert_eq!(isolation["level"], "process-group");
    let open = isolation["openChannels"].to_string();
    assert!(open.contains("the evidence store included"), "{open}");
    assert!(isolation["obstacles"].to_string().contains("sandbox.mode"), "{isolation}");
}

#[test]
fn weaker_levels_say_so_and_run_the_same_checks() {
    for level in ["landlock", "process-group"] {
        let project = scripted("touch \"$PROCTOR_OUT/mine\" && touch made && echo written")
            .file(".gitignore", "made\n")
            .env("PROCTOR_TEST_ISOLATION", level);
        project.proctor(["run"]).success();
        assert!(log(&project).contains("written"), "{level}");
        assert_eq!(isolation(&project)["level"], level);
    }
}

#[test]
fn what_is_required_and_cannot_be_had_is_not_run() {
    let project = scripted("touch made").env("PROCTOR_TEST_ISOLATION", "landlock");
    project
        .save("proctor.toml", "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nmode = \"require\"\n");
    let said = project.proctor(["run"]).status(1).stdout;
    assert!(said.contains("sandbox.mode = \"require\""), "{said}");
    assert!(!project.path().join("made").exists());
}

#[test]
fn the_store_stays_closed_in_a_directory_around_it_that_was_opened() {
    for level in ["namespace", "landlock"] {
        let project = scripted(
            "store=../shared/state/proctor\n\
             touch ../shared/beside/mine && echo beside written\n\
             cat $store/state.db >/dev/null 2>&1 || echo nothing read\n\
             for file in state.db ledger/x evidence/x locks/x; do echo x 2>/dev/null >>$store/$file || echo $file denied; done\n\
             mv ../shared/state ../shared/moved 2>/dev/null || echo state stays\n\
             mv $store ../shared/moved 2>/dev/null || echo store stays\n\
             rm -rf $store ../shared/state 2>/dev/null || echo nothing removed",
        );
        let shared = project.path().parent().expect("it lies in a directory").join("shared");
        // Under Landlock only entries that already exist beside the store can be opened: a rule for their common
        // directory would open the store too.
        for name in ["state", "beside"] {
            std::fs::create_dir_all(shared.join(name)).expect("a writable directory");
        }
        let settings = format!(
            "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n\n[sandbox]\nwritable = [\"{}\"]\n",
            shared.display()
        );
        let project = project.toml(&settings).env("XDG_STATE_HOME", shared.join("state")).env("PROCTOR_TEST_ISOLATION", level);
        project.proctor(["run"]).success();
        let log = log(&project);
        let denied = ["state.db denied", "ledger/x denied", "evidence/x denied", "locks/x denied"];
        let kept = ["beside written", "nothing read", "state stays", "store stays", "nothing removed"];
        for line in denied.into_iter().chain(kept) {
            assert!(log.lines().any(|said| said == line), "{level}: {line}: {log}");
        }
        let report = project.proctor(["show", "--json"]).success().stdout;
        assert!(
            report.contains(&format!("\"level\": \"{level}\"")) || report.contains(&format!("\"level\":\"{level}\"")),
            "{report}"
        );
    }
}

#[test]
fn a_limit_that_is_not_enforced_is_named_by_every_run_and_required_limits_refuse_the_run() {
    let check = "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n";
    let limited = |limits: &str| format!("{check}[sandbox]\nmemory = \"256MiB\"\nprocesses = 64\n{limits}");
    let project = scripted("touch ran").file(".gitignore", "ran\n");
    project.save("proctor.toml", &limited(""));
    for level in ["namespace", "landlock", "process-group"] {
        let output = project.proctor(["run"]).env("PROCTOR_TEST_ISOLATION", level).success();
        let isolation = isolation(&project);
        let unenforced = isolation["unenforcedLimits"].as_array().cloned().unwrap_or_default();
        let names: Vec<&str> = unenforced.iter().filter_map(|limit| limit["setting"].as_str()).collect();
        if names.is_empty() {
            // This machine delegates a cgroup with controllers, so the limits are enforced.
            assert!(!output.stdout.contains("limits:"), "{level}: {}", output.snapshot());
            return;
        }
        // In namespaces the kernel counts processes by namespace, but not root's.
        if level == "namespace" && !nix::unistd::geteuid().is_root() {
            assert_eq!(names, ["memory"], "{isolation}");
            continue;
        }
        assert_eq!(names, ["memory", "processes"], "{level}: {isolation}");
        let line = output.stdout.lines().find(|line| line.starts_with("  limits: ")).unwrap_or_default();
        assert!(
            line.contains("`memory` and `processes` of `[sandbox]` were not enforced by the kernel: "),
            "{level}: {}",
            output.snapshot()
        );
        assert!(line.contains("Delegate=yes"), "{level}: {line}");
        let shown = project.proctor(["show"]).any_status();
        assert!(shown.stdout.contains("  limits: `memory`"), "{}", shown.snapshot());
    }
    project.save("proctor.toml", &limited("limits = \"require\"\n"));
    project.save("script.sh", "touch ran-although-refused\n");
    let refused = project.proctor(["run"]).status(1);
    assert!(refused.stdout.contains("`sandbox.limits = \"require\"` wants `sandbox.memory` enforced"), "{}", refused.snapshot());
    assert!(!project.path().join("ran-although-refused").exists(), "nothing was started");
    project.save("proctor.toml", &format!("{check}[sandbox]\nlimits = \"require\"\n"));
    project.approve();
    project.proctor(["run"]).success();
}

#[test]
fn a_check_that_holds_more_memory_than_it_may_is_ended_also_without_a_cgroup() {
    // Each process that is left behind is an event for the process that sums.
    let project = scripted("held=$(head -c 100000000 /dev/zero | tr '\\0' x)\nwhile :; do (: &); done\n");
    project
        .save("proctor.toml", "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nmemory = \"64MiB\"\n");
    // What forked processes share counts once.
    let forked = "import os, time\nmemory = b'1' * (32 << 20)\nfor _ in range(3):\n    if os.fork() == 0: os._exit(time.sleep(0.5) or 0)\n\
                  for _ in range(3): os.wait()\n";
    project.save("forked.py", forked);
    let busy = fs::read_to_string(project.path().join("script.sh")).expect("it was saved");
    for level in ["namespace", "landlock", "process-group"] {
        let run = || project.proctor(["run"]).env("PROCTOR_TEST_ISOLATION", level);
        project.save("script.sh", &busy);
        let output = run().status(1);
        assert!(output.stdout.contains("memory"), "{level}: {}", output.snapshot());
        project.save("script.sh", "exec python3 forked.py\n");
        run().success();
    }
}

#[test]
fn a_check_that_fails_at_the_limit_of_processes_is_told_so_where_the_kernel_counts_them_by_namespace() {
    let limit = "the limit of processes (24) was reached";
    for (script, is_told) in [
        // The shell ends when it cannot fork, and its children go on.
        ("for i in $(seq 60); do sleep 600 & done; wait", true),
        // All have ended before the command does.
        ("(for i in $(seq 60); do sleep 1 & done); wait; sleep 1.5; exit 3", true),
        ("for i in $(seq 10); do sleep 600 & done; exit 3", false),
    ] {
        let project = checking_for_every_user(script);
        let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
        project.save("proctor.toml", &format!("{toml}[sandbox]\nprocesses = 24\n"));
        let output = run_as_plain_user(&project);
        assert_eq!(output.status, 1, "{script}: {}", output.snapshot());
        assert_eq!(output.stdout.to_lowercase().contains(limit), is_told, "{script}: {}", output.snapshot());
    }
}

#[test]
fn a_check_that_writes_more_than_it_may_is_ended_and_the_limit_is_named() {
    let project = scripted("").env("PROCTOR_TEST_ISOLATION", "namespace");
    let check = "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nmax_written = \"16MiB\"\n";
    project.save("proctor.toml", check);
    for (place, megabytes, exit) in [("./large", 8, 0), ("./large", 32, 1), ("/tmp/large", 32, 1), ("/dev/shm/large", 32, 1)] {
        // Where the file system itself is as small as the limit, the rest of the script sees that it is full.
        let rest = if exit == 0 { "rm" } else { "sleep 60 #" };
        project.save("script.sh", &format!("head -c {megabytes}M /dev/zero > {place}\n{rest} {place}\n"));
        let output = project.proctor(["run"]).any_status();
        assert_eq!(output.status, exit, "{place}: {}", output.snapshot());
        if exit != 0 {
            assert!(output.stdout.contains("raise `max_written`"), "{place}: {}", output.snapshot());
            let report = project.store().report("default");
            assert_eq!(report["limit"], "written", "{place}: {report:#}");
        }
    }
}

#[test]
#[ignore = "long tier"]
fn the_session_keyring_of_the_caller_is_neither_read_nor_written_by_a_check() {
    let command = serde_json::to_string(&[fake_tool().to_str().expect("a path of ours"), "__probe-session-key"]).expect("JSON");
    for (level, filter) in
        [("namespace", "auto"), ("namespace", "off"), ("landlock", "auto"), ("landlock", "off"), ("process-group", "off")]
    {
        let toml = format!("[[check]]\nname = \"probe\"\ncommand = {command}\n[sandbox]\nsystem_call_filter = \"{filter}\"\n");
        let project = Project::new().toml(&toml).env("PROCTOR_TEST_ISOLATION", level);
        let words = [OsStr::new("__with-session-key"), proctor().as_os_str(), OsStr::new("run")];
        let output = project.command(fake_tool(), words).any_status();
        if output.stderr.contains("ENOSYS") || output.stderr.contains("EPERM") {
            // This kernel has no keyrings, or a container's filter denies them.
            return;
        }
        assert!(output.stdout.contains("keys of the caller: 1"), "{level}, {filter}: {}", output.snapshot());
        let log = log(&project);
        let answer = if filter == "auto" { "ENOSYS" } else { "ENOKEY" };
        assert!(log.contains(&format!("read by name: {answer}")), "{level}, {filter}: {log}");
        assert!(!log.contains("by number: done"), "{level}, {filter}: {log}");
        // With the filter off, an action may use a session keyring of its own.
        assert_eq!(log.contains("add to the session: done"), filter == "off", "{level}, {filter}: {log}");
        let open = isolation(&project)["openChannels"].to_string();
        assert_eq!(open.contains("every system call"), filter == "off", "{level}, {filter}: {open}");
    }
}

#[test]
fn files_with_secrets_are_read_by_no_check_and_a_tool_that_needs_a_content_finds_one_without_secrets() {
    const SECRETS: &[&str] = &[
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".age/key.txt",
        ".config/sops/age/keys.txt",
        ".env",
        ".terraform.d/credentials.tfrc.json",
        ".cargo/credentials.toml",
        ".pypirc",
        ".bash_history",
        ".zsh_history",
        ".mozilla/firefox/a/cookies.sqlite",
        ".config/google-chrome/Default/Cookies",
    ];
    let reads: String = SECRETS.iter().map(|name| format!("cat \"$HOME/{name}\" 2>/dev/null\n")).collect();
    for level in ["namespace", "landlock", "process-group"] {
        // In a closed world HOME is empty.
        let toml = "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nworld = \"open\"\n";
        let project = scripted(&reads).toml(toml);
        let home = project.shared("home");
        for name in SECRETS {
            std::fs::create_dir_all(home.join(name).parent().expect("it has a parent")).expect("a directory of ours");
            std::fs::write(home.join(name), format!("secret of {name}\n")).expect("a file of ours");
        }
        let project = project.env("HOME", &home).env("PROCTOR_TEST_ISOLATION", level);
        project.proctor(["run"]).success();
        let log = log(&project);
        let read: Vec<&&str> = SECRETS.iter().filter(|name| log.contains(&format!("secret of {name}"))).collect();
        // A process group alone hides nothing, and the report says so. That also shows that the files can be read.
        let expected = if level == "process-group" { SECRETS.len() } else { 0 };
        assert_eq!(read.len(), expected, "{level}: {read:?}");
        assert_eq!(log.contains("<settings/>"), level == "namespace", "{level}: {log}");
    }
}

#[test]
fn credentials_of_package_indexes_are_shown_to_prerequisites_that_were_allowed_to_see_them_and_to_no_check() {
    let script = "cat \"$HOME/.npmrc\" \"$HOME/.netrc\" \"$HOME/.config/pip/pip.conf\" 2>/dev/null | grep secret && exit 0\n\
                  echo 'ERR! code E401: Unable to authenticate'; exit 1\n";
    let plan = "[[prerequisite]]\nname = \"packages\"\ncommand = [\"sh\", \"fetch.sh\"]\n\
                [[check]]\nname = \"check\"\ncommand = [\"sh\", \"fetch.sh\"]\nexpected_exit_codes = [1]\n";
    for level in ["namespace", "landlock"] {
        let project = Project::new().toml(plan).file("fetch.sh", script);
        let home = project.shared("home");
        for name in [".npmrc", ".netrc", ".config/pip/pip.conf"] {
            std::fs::create_dir_all(home.join(name).parent().expect("it has a parent")).expect("a directory of ours");
            std::fs::write(home.join(name), "secret").expect("a file of ours");
        }
        let project = project.env("HOME", &home).env("PROCTOR_TEST_ISOLATION", level);
        let hidden = project.proctor(["run"]).status(1);
        let hint = "put `package_credentials = \"prerequisites\"` in `[sandbox]`";
        assert!(hidden.stdout.contains(hint) && hidden.stdout.contains("`~/.npmrc`"), "{level}: {}", hidden.snapshot());
        project.save("proctor.toml", &format!("{plan}[sandbox]\npackage_credentials = \"prerequisites\"\n"));
        project.approve();
        let shown = project.proctor(["run"]).any_status();
        let report = shown.report();
        assert_eq!(report["prerequisiteExecution"]["results"][0]["status"], "SUCCESS", "{level}: {}", shown.snapshot());
        let log = log(&project);
        assert!(log.contains("E401") && !log.contains("secret"), "{level}: a check never sees them: {log}");
    }
}

#[test]
fn a_required_filter_on_system_calls_runs_nothing_where_there_is_none() {
    let toml = "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nsystem_call_filter = \"require\"\n";
    let project = scripted("touch \"$PROCTOR_OUT/ran\"");
    project.save("proctor.toml", toml);
    let refused = project.proctor(["run"]).env("PROCTOR_TEST_ISOLATION", "process-group").status(1);
    assert!(refused.stdout.contains("`sandbox.system_call_filter = \"require\"`"), "{}", refused.snapshot());
    for level in ["namespace", "landlock"] {
        project.proctor(["run"]).env("PROCTOR_TEST_ISOLATION", level).success();
    }
}
