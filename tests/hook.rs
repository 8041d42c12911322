//! Tests `proctor hook`: the settings of agents on disk, and the answers of the real program to what agents send.

mod codex;
mod old_failures;
mod opencode;
mod places;
mod turns;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::common::{Output, Project, proctor};
use crate::daemon::start_serving;

/// Settings with a check that passes while `code.txt` says `good`.
const SETTINGS: &str =
    "[[check]]\nname = \"tests\"\nshell = true\ncommand = '''grep -q good code.txt'''\n\n[evidence]\nlink = \"\"\n";

/// Returns a project whose check passes, and which is registered.
fn registered() -> Project {
    let project = Project::new().toml(SETTINGS).file("code.txt", "good\n");
    project.proctor(["run"]).success();
    project
}

/// Runs the hook of an event as an agent does, with a document on standard input.
#[track_caller]
fn hook(project: &Project, agent: &str, event: &str, input: &Value) -> Output {
    hook_with(project, agent, event, input.to_string().as_bytes())
}

#[track_caller]
fn hook_with(project: &Project, agent: &str, event: &str, input: &[u8]) -> Output {
    let file = project.root().join("hook-input.json");
    fs::write(&file, input).expect("the root is ours");
    let script = r#"exec "$0" hook run "$1" --agent "$2" < "$3""#;
    let arguments = ["-c".as_ref(), script.as_ref(), proctor().as_os_str(), event.as_ref(), agent.as_ref(), file.as_os_str()];
    project.command(Path::new("/bin/sh"), arguments).any_status()
}

fn input(project: &Project, message: &str) -> Value {
    json!({"session_id": "s1", "cwd": project.path(), "last_assistant_message": message, "prompt": "Go on."})
}

/// Begins a turn of Claude Code.
#[track_caller]
fn prompt(project: &Project) {
    let output = hook(project, "claude", "UserPromptSubmit", &input(project, ""));
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// Ends a turn of Claude Code, and returns the answer; null if there is none.
#[track_caller]
fn stop(project: &Project, message: &str) -> Value {
    let output = hook(project, "claude", "Stop", &input(project, message));
    assert_eq!(output.status, 0, "{}", output.stderr);
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_str(&output.stdout).expect("one JSON document") }
}

fn claims(project: &Project) -> Vec<Value> {
    project.store().ledger().into_iter().map(|line| line["body"].clone()).filter(|body| body["kind"] == "claim").collect()
}

#[test]
fn a_lie_is_blocked_the_mended_truth_passes_and_an_idle_turn_is_left_alone() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    prompt(&project);
    assert_eq!(stop(&project, "The rounding is in line 3."), Value::Null, "an idle turn");
    prompt(&project);
    project.save("code.txt", "bad\n");
    let answer = stop(&project, "Mended. All tests pass.");
    assert_eq!(answer["decision"], "block", "{answer}");
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(reason.contains("“All tests pass”") && reason.contains("“tests”") && reason.contains("new in this turn"), "{reason}");
    let sealed = claims(&project);
    assert_eq!((sealed.len(), &sealed[0]["phrase"], &sealed[0]["agent"]), (1, &json!("All tests pass"), &json!("claude")));
    assert!(!project.store().ledger().iter().any(|line| line.to_string().contains("Mended")), "only the phrase is kept");
    assert!(project.proctor(["log"]).success().stdout.contains("claim refuted: claude said “All tests pass”"));
    assert!(!project.proctor(["status"]).success().stdout.contains("claim"));
    project.proctor(["verify"]).success();
    project.save("code.txt", "good again\n");
    assert_eq!(stop(&project, "Mended. All tests pass."), Value::Null, "the truth");
    let report = project.proctor(["hook", "report", "--json"]).success().json();
    let expected = json!({"turns": 2, "blocks": 1, "blocksThenGreen": 1, "refutedClaims": 1});
    assert_eq!(report, expected);
    assert!(project.proctor(["hook", "report"]).success().stdout.contains("1 claim refuted"));
    daemon.interrupt();
}

#[test]
fn what_was_red_before_the_turn_blocks_only_a_lie_and_that_once() {
    let project = registered();
    project.save("code.txt", "bad\n");
    project.proctor(["run"]).failure();
    // No service runs: a verdict that is there already counts, and nothing is run.
    prompt(&project);
    assert_eq!(stop(&project, "It is red, I changed nothing."), Value::Null);
    assert_eq!(stop(&project, "All tests pass.")["decision"], "block");
    assert_eq!(stop(&project, "All tests pass."), Value::Null, "a claim is answered once in a turn");
    prompt(&project);
    assert_eq!(stop(&project, "All tests pass.")["decision"], "block", "a new prompt begins anew");
    // The same claim of the same message is recorded once while nothing else is.
    assert_eq!(claims(&project).len(), 1);
}

#[test]
fn where_no_service_tests_the_project_the_hook_does() {
    let project = registered();
    prompt(&project);
    assert_eq!(stop(&project, "The rounding is in line 3."), Value::Null);
    let runs = project.store().committed_runs().len();
    assert_eq!(runs, 1, "an idle turn runs nothing");
    project.save("code.txt", "bad\n");
    assert_eq!(stop(&project, "I changed it.")["decision"], "block");
    assert_eq!(stop(&project, "All tests pass.")["decision"], "block");
    project.save("code.txt", "good again\n");
    assert_eq!(stop(&project, "All tests pass."), Value::Null, "the truth");
    // The failure blocked once, and the claim was answered once.
    assert_eq!((claims(&project).len(), project.store().committed_runs().len()), (1, 3));
}

#[test]
fn without_a_verdict_nothing_is_blocked_and_it_is_said_once() {
    let project = registered().toml(&format!("{SETTINGS}[watch]\nhook_wait = \"0s\"\n"));
    prompt(&project);
    project.save("code.txt", "bad\n");
    let told = stop(&project, "All tests pass.");
    assert!(told["systemMessage"].as_str().is_some_and(|text| text.contains("not tested yet")), "{told}");
    assert_eq!(stop(&project, "All tests pass."), Value::Null);
    assert!(claims(&project).is_empty());
}

#[test]
fn background_work_other_projects_and_unregistered_directories_are_left_alone() {
    let (project, other) = (registered(), Project::new().file("a.txt", "one\n"));
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    prompt(&project);
    project.save("code.txt", "bad\n");
    let mut busy = input(&project, "All tests pass.");
    busy["background_tasks"] = json!([{"id": "b1"}]);
    assert_eq!(hook(&project, "claude", "Stop", &busy).stdout, "");
    let elsewhere =
        |session: &str| json!({"session_id": session, "cwd": other.path(), "last_assistant_message": "I changed it."});
    assert_eq!(hook(&project, "claude", "Stop", &elsewhere("s9")).stdout, "", "another agent");
    let gone_elsewhere = hook(&project, "claude", "Stop", &elsewhere("s1")).json();
    assert_eq!(gone_elsewhere["decision"], "block", "the turn began in the project");
    let told = stop(&project, "I changed it.");
    assert!(
        told["systemMessage"].as_str().is_some_and(|text| text.contains("stops now")),
        "it blocked once in this session: {told}"
    );
    daemon.interrupt();
}

#[test]
fn an_input_that_is_wrong_and_an_event_that_is_unknown_block_nothing() {
    let project = registered();
    for (agent, event, text) in [
        ("claude", "Stop", &b"{"[..]),
        ("claude", "Stop", b""),
        ("claude", "Stop", b"\xff\xfe"),
        ("claude", "--not-an-option", b"{}"),
        ("claude", "Nothing", b"{}"),
        ("nobody", "Stop", b"{}"),
    ] {
        let output = hook_with(&project, agent, event, text);
        assert_eq!((output.status, output.stdout.as_str()), (0, ""), "{agent} {event}");
        assert!(output.stderr.contains("error: "), "{agent} {event}: {}", output.stderr);
    }
    let gemini = hook_with(&project, "gemini", "AfterAgent", b"[]");
    assert_eq!((gemini.status, gemini.stdout.trim()), (0, "{}"), "an agent that needs a document gets one");
    let huge = format!(r#"{{"a":"{}"}}"#, "x".repeat(9 << 20));
    assert_eq!(hook_with(&project, "claude", "Stop", huge.as_bytes()).status, 0);
    let broken = hook(&project.env("XDG_STATE_HOME", "").env("HOME", ""), "claude", "Stop", &json!({}));
    assert_eq!(broken.status, 0, "without a store: {}", broken.stderr);
}

#[test]
#[ignore = "long tier"]
fn an_answer_with_the_service_is_quick() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    prompt(&project);
    let mut times: Vec<u128> = (0..40)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(stop(&project, "All tests pass."), Value::Null);
            begun.elapsed().as_millis()
        })
        .collect();
    times.sort_unstable();
    println!("a hook takes {} ms (median), {} ms (95 of 100), with a program that is not optimized", times[20], times[37]);
    // The program is not optimized, and the machine is busy with other tests: this only finds a hook that waits for something.
    assert!(times[20] < 1000, "{times:?}");
    daemon.interrupt();
}

/// Returns every agent with its settings file in the project and in the home directory.
fn settings_files(project: &Project) -> Vec<(&'static str, PathBuf, PathBuf)> {
    let home = project.root().join("home");
    [
        ("claude", ".claude/settings.json", ".claude/settings.json"),
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
        ("copilot", ".github/hooks/proctor.json", ".copilot/hooks/proctor.json"),
        ("opencode", ".opencode/plugin/proctor.js", ".config/opencode/plugin/proctor.js"),
    ]
    .map(|(agent, of_project, of_user)| (agent, project.path().join(of_project), home.join(of_user)))
    .into()
}

#[test]
fn hooks_are_installed_once_and_uninstalled_to_the_last_byte() {
    let project = registered();
    let mine = "{\n\t\"model\": \"x\",\n\t\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"make lint\"}]}]}\n}\n";
    for (agent, of_project, of_user) in settings_files(&project) {
        for (flag, path) in [("--project", of_project), ("--user", of_user)] {
            let shown = project.proctor(["hook", "install", agent, flag]).success().stdout;
            assert!(shown.contains("  +") && shown.contains(&format!("--agent {agent}")), "{shown}");
            let text = fs::read_to_string(&path).expect("it was made");
            let again = project.proctor(["hook", "install", agent, flag]).success();
            assert!(!again.stderr.contains("answered twice"), "{}", again.stderr);
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text, "twice is once");
            assert!(project.proctor(["hook", "status"]).success().stdout.contains(&format!("{}  installed", path.display())));
            project.proctor(["hook", "uninstall", agent, flag]).success();
            assert!(!path.exists() && !path.parent().is_some_and(Path::exists), "{}", path.display());

            if agent == "opencode" {
                // A plugin is a file of its own.
                continue;
            }
            fs::create_dir_all(path.parent().expect("a directory")).expect("it is ours");
            fs::write(&path, mine).expect("it is ours");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
            project.proctor(["hook", "install", agent, flag]).success();
            assert!(fs::read_to_string(&path).expect("it is there").contains("make lint"));
            project.proctor(["hook", "uninstall", agent, flag]).success();
            assert_eq!(fs::read_to_string(&path).expect("it is there"), mine, "{agent} {flag}");
            assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
            fs::remove_file(&path).expect("it is ours");
            fs::remove_dir_all(path.parent().expect("a directory")).expect("it is ours");
        }
    }
}

#[test]
fn without_a_name_every_agent_that_is_used_gets_its_hooks() {
    let project = registered();
    let none = project.proctor(["hook", "install"]).status(2);
    assert!(none.stderr.contains("proctor hook install AGENT"), "{}", none.stderr);
    for directory in [".claude", ".codex"] {
        fs::create_dir(project.root().join("home").join(directory)).expect("the home is ours");
    }
    project.proctor(["hook", "install"]).success();
    let there: Vec<&str> = settings_files(&project).into_iter().filter(|(_, _, path)| path.exists()).map(|row| row.0).collect();
    assert_eq!(there, ["claude", "codex"]);
    project.proctor(["hook", "uninstall"]).success();
    assert!(settings_files(&project).into_iter().all(|(_, _, path)| !path.exists()));
}

#[test]
fn settings_that_are_not_certain_are_refused_and_never_changed() {
    let project = registered();
    let path = project.root().join("home/.claude/settings.json");
    fs::create_dir_all(path.parent().expect("a directory")).expect("it is ours");
    #[track_caller]
    fn refused(project: &Project, path: &Path, part: &str) {
        let before = fs::read(path).expect("it is there");
        let output = project.proctor(["hook", "install", "claude"]).status(2);
        assert!(output.stderr.contains(part) && output.stderr.contains("hint: "), "{part}: {}", output.stderr);
        assert_eq!(fs::read(path).expect("it is there"), before, "{part}");
        assert!(project.proctor(["hook", "status"]).success().stdout.contains("claude   user"));
    }
    for (text, part) in [
        ("{\n  // mine\n  a: 1\n}", "line 3, column 3: it is no JSON"),
        ("{\"a\": 1,}", "line 1, column 9: it is no JSON"),
        ("[]", "is a list, and not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is an object, and not a list"),
    ] {
        fs::write(&path, text).expect("it is ours");
        refused(&project, &path, part);
    }
    fs::write(&path, "{}\n").expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("it is ours");
    refused(&project, &path, "is read-only");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let other = project.root().join("home/other.json");
    fs::hard_link(&path, &other).expect("it is ours");
    refused(&project, &path, "2 names");
    fs::remove_file(&path).expect("it is ours");
    symlink(&other, &path).expect("it is ours");
    refused(&project, &path, "is a link");
    fs::remove_file(&path).expect("it is ours");
    if nix::unistd::geteuid().is_root() {
        fs::write(&path, "{}\n").expect("it is ours");
        nix::unistd::chown(&path, Some(nix::unistd::Uid::from_raw(12345)), None).expect("root may");
        refused(&project, &path, "belongs to the user 12345");
    }
}

#[test]
fn hooks_in_both_places_and_hooks_that_are_switched_off_are_named() {
    let project = registered();
    project.proctor(["hook", "install", "claude", "--project"]).success();
    let both = project.proctor(["hook", "install", "claude", "--user"]).success();
    assert!(both.stderr.contains("`proctor hook uninstall claude --project`"), "{}", both.stderr);
    project.proctor(["hook", "uninstall", "claude", "--project"]).success();
    let path = project.root().join("home/.claude/settings.json");
    let text = fs::read_to_string(&path).expect("it was made");
    fs::write(&path, text.replacen('{', "{\n  \"disableAllHooks\": true,", 1)).expect("it is ours");
    let status = project.proctor(["hook", "status"]).success().stdout;
    assert!(status.contains("installed, but switched off: `disableAllHooks` is true"), "{status}");
    let again = project.proctor(["hook", "install", "claude"]).success();
    assert!(again.stderr.contains("switches the hooks off"), "{}", again.stderr);
}

#[test]
fn the_hook_of_git_is_that_of_the_gate() {
    let project = registered();
    project.command(Path::new("git"), ["init", "--quiet"]).success();
    project.proctor(["hook", "install", "git"]).success();
    let hook = project.path().join(".git/hooks/pre-push");
    assert!(fs::read_to_string(&hook).expect("it was made").contains("gate --pushed"));
    project.proctor(["hook", "uninstall", "git"]).success();
    assert!(!hook.exists());
}
