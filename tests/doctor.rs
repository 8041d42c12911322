//! Tests what `proctor doctor` says about this machine, and about a machine whose kernel allows no user namespaces.
//! `unshare` imitates the second one.

use std::path::Path;

use serde_json::Value;

use crate::common::{Output, Project, WRITES_TO_SHARED, fake_tool, proctor};

/// Runs `proctor` in a user namespace in which no other user namespace can be made.
fn without_namespaces(project: &Project, arguments: &str) -> Output {
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" {arguments}");
    let program = proctor().to_str().expect("the build directory is UTF-8");
    project.command(Path::new("unshare"), ["-Ur", "sh", "-euc", &script, program]).any_status()
}

fn touching(settings: &str) -> Project {
    let command = format!(
        "[[check]]\nname = \"touches\"\ncommand = [{:?}, \"--touch\", \"../shared/ran\"]\n",
        fake_tool().display().to_string()
    );
    let settings = settings.strip_prefix("[sandbox]\n").unwrap_or(settings);
    Project::new().toml(&format!("{WRITES_TO_SHARED}{settings}{command}"))
}

/// Returns the entry of the document for an isolation level.
fn level<'d>(document: &'d Value, name: &str) -> &'d Value {
    let levels = document["levels"].as_array().expect("a list of levels");
    levels.iter().find(|level| level["level"] == name).unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

#[test]
fn where_namespaces_can_be_had_it_says_so_and_ends_well() {
    let project = touching("");
    let document = project.proctor(["doctor", "--json"]).success().json();
    assert_eq!((&document["schema"], &document["level"]), (&"proctor-doctor-v1".into(), &"namespace".into()));
    assert_eq!(level(&document, "namespace")["reached"], true, "{document:#}");
    assert_eq!(level(&document, "landlock")["reached"], true, "{document:#}");
    assert_eq!(document["store"], project.root().join("state/proctor").display().to_string());
    let writable = document["writable"].as_array().expect("a list");
    assert!(writable.contains(&project.shared("").display().to_string().trim_end_matches('/').into()), "{document:#}");
    let screen = project.proctor(["doctor"]).success();
    assert!(screen.stdout.starts_with("isolation: namespace\n  ✓ namespace "), "{}", screen.snapshot());
    assert!(screen.stdout.contains("\nstore: ") && screen.stdout.contains("\nhidden: "), "{}", screen.snapshot());
}

#[test]
fn the_network_of_the_checks_is_named_with_what_keeps_a_run_from_one_of_its_own() {
    let project = Project::new().toml("[sandbox]\nnetwork = \"loopback\"\n[[check]]\nname = \"any\"\ncommand = [\"true\"]\n");
    let screen = project.proctor(["doctor"]).success().stdout;
    assert!(screen.contains("\nnetwork of checks: loopback, one of each run's own\n"), "{screen}");
    let document = project.proctor(["doctor", "--json"]).success().json();
    assert_eq!((&document["network"], &document["networkObstacle"]), (&"loopback".into(), &Value::Null));
    let screen = without_namespaces(&project, "doctor").stdout;
    assert!(
        screen.contains("\nnetwork of checks: loopback, asked for, and not closed: a user namespace cannot be made"),
        "{screen}"
    );
    let plan = project.proctor(["plan"]).success().stdout;
    assert!(plan.contains(" · network loopback"), "{plan}");
    let open = Project::new().toml("[[check]]\nname = \"any\"\ncommand = [\"true\"]\n");
    assert!(open.proctor(["doctor"]).success().stdout.contains("\nnetwork of checks: open, that of the machine; "));
    assert!(!open.proctor(["plan"]).success().stdout.contains("network"));
}

#[test]
fn it_runs_no_check_and_leaves_nothing_behind() {
    let project = touching("");
    project.proctor(["doctor"]).success();
    assert!(!project.shared("ran").exists() && !project.path().join("evidence").exists());
    let left = std::fs::read_dir(project.root().join("state/proctor")).expect("the store").flatten();
    let left: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("examination")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn where_the_kernel_allows_none_it_names_the_command_that_mends_it() {
    let project = touching("");
    let said = without_namespaces(&project, "doctor");
    assert_eq!(said.status, 1, "{}", said.snapshot());
    assert!(said.stdout.starts_with("isolation: landlock\n  - namespace "), "{}", said.snapshot());
    assert!(said.stdout.contains("\nthe kernel allows no user namespaces:\n  echo user.max_user_namespaces=15000 | sudo tee "));
    let document = without_namespaces(&project, "doctor --json").json();
    assert_eq!((&document["level"], level(&document, "namespace")["reached"].as_bool()), (&"landlock".into(), Some(false)));
    project.save("proctor.toml", "[sandbox]\nmode = \"off\"\n");
    assert_eq!(without_namespaces(&project, "doctor").status, 0, "a person has said that nothing is to be isolated");
}

#[test]
fn a_run_without_namespaces_falls_back_and_its_report_says_why() {
    let project = touching("");
    let output = without_namespaces(&project, "run --json");
    assert_eq!(output.status, 0, "{}", output.snapshot());
    let isolation = &output.json()["isolation"];
    assert_eq!(isolation["level"], "landlock");
    let obstacles = isolation["obstacles"].to_string();
    assert!(obstacles.contains("cannot make a process in namespaces of its own"), "{isolation:#}");
    let open = isolation["openChannels"].to_string();
    assert!(open.contains("the shared /tmp"), "{isolation:#}");
}

#[test]
fn a_run_that_requires_namespaces_starts_nothing_without_them() {
    let project = touching("[sandbox]\nmode = \"require\"\n");
    let output = without_namespaces(&project, "run");
    assert_eq!(output.status, 1, "{}", output.snapshot());
    let said = "The command could not be kept apart, so it was not started: `sandbox.mode = \"require\"` wants namespaces";
    assert!(output.stdout.contains(said) && output.stdout.contains("`proctor doctor` says more"), "{}", output.snapshot());
    assert!(!project.shared("ran").exists());
    project.proctor(["run"]).success();
    assert!(project.shared("ran").exists(), "with namespaces it runs");
}

#[test]
fn the_profile_is_printed_for_this_very_program() {
    let profile = Project::new().proctor(["doctor", "--apparmor-profile"]).success().stdout;
    assert!(profile.contains(&format!("@{{proctor}} = \"{}\" /usr/bin/proctor", proctor().display())), "{profile}");
    assert!(profile.contains("profile proctor @{proctor} flags=(unconfined) {\n  userns,\n"), "{profile}");
}

#[test]
fn nothing_is_created_for_settings_that_nobody_approved() {
    let project = Project::new().allowing_nothing();
    let project =
        project.toml("[sandbox]\nwritable = [\"../shared/made\", \"~/made\"]\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    let home = project.shared("home");
    std::fs::create_dir_all(&home).expect("it is ours");
    let project = project.env("HOME", &home);
    project.proctor(["doctor"]).any_status();
    assert!(!project.shared("made").exists() && !home.join("made").exists());
}

#[test]
fn a_configuration_that_is_wrong_is_no_finding() {
    let output = Project::new().toml("[sandbox]\nmode = \"sometimes\"\n").proctor(["doctor", "--json"]).status(4);
    assert_eq!(output.json()["error"]["kind"], "SPECIFICATION_WRONG", "{}", output.snapshot());
}

/// Returns the findings of the document that contain a text. Each is a problem with its advice.
fn findings(document: &Value, text: &str) -> Vec<String> {
    let all = document["findings"].as_array().expect("a list");
    let said = all.iter().map(|finding| format!("{} → {}", finding["problem"], finding["advice"]));
    said.filter(|line| line.contains(text)).collect()
}

fn script(project: &Project, program: &str, arguments: &[&str], text: &str) -> Value {
    let text = format!("{text} && exec \"$0\" doctor --json");
    let own = proctor().to_str().expect("the build directory is UTF-8");
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-euc", &text, own]).collect();
    project.command(Path::new(program), arguments).any_status().json()
}

#[test]
fn limits_of_the_kernel_that_are_too_low_are_named_with_what_raises_them() {
    let project = touching("").file("a/b/c/d.txt", "");
    project.proctor(["run"]).success();
    let document = script(&project, "sh", &[], "ulimit -Sn 256");
    assert!(matches!(findings(&document, "256 files only").as_slice(), [one] if one.contains("ulimit -n 1024")), "{document:#}");
    assert_eq!(document["machine"]["openFiles"], 256);
    let low = "echo 3 > /proc/sys/user/max_inotify_watches && echo 0 > /proc/sys/user/max_inotify_instances";
    let document = script(&project, "unshare", &["-Ur", "sh"], low);
    let found = findings(&document, "3 watches are allowed");
    assert!(matches!(found.as_slice(), [one] if one.contains("fs.inotify.max_user_watches=524288")), "{document:#}");
    assert!(matches!(findings(&document, "0 inotify instances").as_slice(), [one] if one.contains("max_user_instances")));
    assert_eq!(document["machine"]["inotify"]["watchesNeeded"], 4, "{document:#}");
}

#[test]
fn a_store_in_memory_or_without_room_is_named() {
    let project = touching("");
    let state = project.root().join("state").display().to_string();
    let document =
        script(&project, "unshare", &["-Urm", "sh"], &format!("mount -t tmpfs -o size=64m,nr_inodes=999 tmpfs '{state}'"));
    assert_eq!(findings(&document, "it lies in memory (tmpfs)").len(), 1, "{document:#}");
    assert!(matches!(findings(&document, "MiB are left").as_slice(), [one] if one.contains("make room")), "{document:#}");
    assert_eq!(findings(&document, "files can still be made").len(), 1, "{document:#}");
}

#[test]
fn a_file_from_the_future_a_missing_root_and_a_missing_tool_are_named() {
    let project = touching("").file("saved.txt", "");
    project.proctor(["run"]).success();
    project.command(Path::new("touch"), ["-d", "+1 hour", "saved.txt"]).success();
    let document = project.proctor(["doctor", "--json"]).success().json();
    assert!(matches!(findings(&document, "is from the future").as_slice(), [one] if one.contains("set-ntp")), "{document:#}");
    project.save("proctor.toml", "[[check]]\nname = \"lint\"\ncommand = [\"no-such-linter\"]\n");
    let document = project.proctor(["doctor", "--json"]).success().json();
    let found = findings(&document, "`no-such-linter` is not there, which `lint` starts");
    assert!(matches!(found.as_slice(), [one] if one.contains("searched: /")), "{document:#}");
    let second = project.root().join("second");
    std::fs::create_dir(&second).expect("it is ours");
    std::fs::copy(project.path().join("proctor.toml"), second.join("proctor.toml")).expect("it is ours");
    project.proctor(["run", "../second"]).status(1);
    std::fs::remove_dir_all(&second).expect("it is ours");
    let document = project.proctor(["doctor", "--json"]).success().json();
    let found = findings(&document, "is not there\" →");
    assert!(matches!(found.as_slice(), [one] if one.contains("proctor service remove second-")), "{document:#}");
}

#[test]
fn tools_are_named_with_path_and_version_and_so_they_are_in_evidence() {
    let project = Project::new()
        .toml("[[check]]\nname = \"types\"\ntool = \"tsc\"\ncommand = [\"own-tsc\"]\n")
        .file("node_modules/typescript/package.json", r#"{"name": "typescript", "version": "5.4.5"}"#)
        .executable("../home/.local/bin/own-tsc", "#!/bin/sh\n");
    let output = project.proctor(["run"]).any_status();
    assert_eq!(output.status, 0, "found where package managers put it, which is not on the search path: {}", output.snapshot());
    let document = project.proctor(["doctor", "--json"]).success().json();
    let tool = &document["machine"]["projects"][0]["tools"][0];
    let path = project.root().join("home/.local/bin/own-tsc").display().to_string();
    assert_eq!((&tool["program"], &tool["version"]), (&path.clone().into(), &"5.4.5".into()), "{document:#}");
    let screen = project.proctor(["doctor"]).success();
    assert!(screen.stdout.contains(&format!("tsc 5.4.5 · {path}")), "{}", screen.snapshot());
    let record = std::fs::read_dir(project.path().join("evidence/default/latest/")).expect("a run").flatten();
    let record = record.map(|entry| entry.path()).find(|path| path.ends_with("STEP.1-typescript-compilation.json"));
    let record: Value = serde_json::from_slice(&std::fs::read(record.expect("a record")).expect("ours")).expect("JSON");
    assert_eq!((&record["program"]["path"], &record["program"]["version"]), (&path.into(), &"5.4.5".into()), "{record:#}");
    assert_eq!(record["program"]["sha256"].as_str().map(str::len), Some(64), "{record:#}");
}
