//! Tests the placeholders of test specifications through the program: where values come from, and what is recorded of them. The rules themselves are tested beside their code.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::Project;

const FILE: &str = "specs/T117-test-specification.json";

fn document(steps: Value) -> Value {
    json!({
        "schemaVersion": "2.0.0",
        "metadata": { "projectName": "p", "sprintId": "S1", "generatedAt": "2026-01-01T00:00:00Z", "generatedBy": "me" },
        "globalConfiguration": { "workspaceRoot": "${WORKSPACE_ROOT}", "evidenceDirectory": "evidence" },
        "executionEngine": {
            "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION", "HTTP_REQUEST"], "executorConfigurations": {},
        },
        "tasks": { "T117": {
            "taskId": "T117", "title": "values are filled in",
            "description": "a task whose specification has placeholders, as generators leave them behind",
            "testExecution": { "prerequisites": [], "steps": steps, "cleanup": [] },
            "validationCriteria": { "successConditions": [{ "condition": "STEP.1.exitCode === 0", "description": "it ends well" }], "failureConditions": [] },
            "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": ["terminal-output"] },
        } },
    })
}

fn command(command: &str, environment: Value) -> Value {
    json!({
        "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "runs a command",
        "parameters": { "command": command, "workingDirectory": "${WORKSPACE_ROOT}", "environment": environment },
        "timeout": "{{TIMEOUT}}",
    })
}

/// Returns a specification of task T117, in whose command `WORD` and `TIMEOUT` are to be filled.
pub(crate) fn with_words() -> String {
    text(&document(json!([command("echo {{WORD}}", json!({}))])))
}

/// Returns a specification of T117 with these commands as its steps.
pub(crate) fn with_commands(commands: &[&str]) -> String {
    let step = |(place, one): (usize, &&str)| {
        let mut step = command(one, json!({}));
        step["actionId"] = json!(format!("STEP.{}", place + 1));
        step["timeout"] = json!(20_000);
        step
    };
    text(&document(commands.iter().enumerate().map(step).collect()))
}

fn text(document: &Value) -> String {
    serde_json::to_string_pretty(document).expect("JSON")
}

/// Returns every file below a directory, with its content.
fn files_below(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_below(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            files.push((path.display().to_string(), bytes));
        }
    }
    files
}

#[test]
fn what_stays_open_is_one_error_with_all_names_and_both_ways_to_give_values() {
    let steps = json!([command("echo {{WORD}} {{WORD}}", json!({ "A": "{{OTHER}}" }))]);
    let project = Project::new().file(FILE, &text(&document(steps)));
    let said = project.proctor(["run", "--task", "T117"]).status(4).stderr;
    assert_eq!(said.matches("PLACEHOLDER").count(), 1, "{said}");
    assert!(said.contains("3 placeholders have no value: "), "{said}");
    for part in
        ["`OTHER` (line ", "`WORD` (line ", "`TIMEOUT` (line ", "--set WORD=VALUE", "[specification.values]", "from_environment"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = project.proctor(["check", "--set", "WORT=a", "--set", "OTHER=b", "--set", "TIMEOUT=5000"]).status(4).stdout;
    assert!(said.contains("a placeholder has no value: `WORD`") && said.contains("did you mean `WORD`?"), "{said}");
}

#[test]
fn values_come_from_the_command_line_before_the_settings_and_are_part_of_the_plan() {
    let steps = json!([command("echo said-{{WORD}}", json!({}))]);
    let project =
        Project::new().toml("[specification.values]\nWORD = \"file\"\nTIMEOUT = 20000\n").file(FILE, &text(&document(steps)));
    let plan = |arguments: &[&str]| project.proctor(["plan", "--task", "T117"].iter().chain(arguments).copied()).success().stdout;
    assert!(plan(&[]).contains("echo said-file") && plan(&[]).contains("at most 20s"), "{}", plan(&[]));
    assert!(plan(&["--set", "WORD=line"]).contains("echo said-line"));
    let report = project.proctor(["run", "--task", "T117", "--json"]).success().json();
    let notes = report["notes"].to_string();
    assert!(notes.contains("`WORD` is \\\"file\\\" (proctor.toml)"), "{notes}");
    project.proctor(["wait", "--fresh", "--task", "T117", "--timeout", "0"]).success();
    project.proctor(["wait", "--fresh", "--task", "T117", "--timeout", "0", "--set", "WORD=line"]).status(5);
    // Another value is another command, wherever it comes from.
    let named = project.proctor(["run", "--task", "T117", "--set", "WORD=line"]).success().stdout;
    assert!(named.contains("judged by changed rules: STEP.1: command"), "{named}");
    let project = project.toml("[specification.values]\nWORD = \"changed\"\nTIMEOUT = 20000\n");
    let named = project.proctor(["run", "--task", "T117"]).success().stdout;
    assert!(named.contains("judged by changed rules: STEP.1: command"), "{named}");
}

#[test]
fn a_secret_reaches_the_action_and_nothing_else() {
    const SECRET: &str = "hush-hush-4711";
    let steps = json!([command("sh say.sh", json!({ "TOKEN": "{{API_TOKEN}}" }))]);
    let project = Project::new()
        .toml("[specification]\nfrom_environment = [\"API_TOKEN\"]\nvalues = { TIMEOUT = 20000 }\n")
        .file("say.sh", "printf '%s' \"$TOKEN\" | wc -c\necho \"said: $TOKEN\"\necho \"err: $TOKEN\" >&2\n")
        .file(FILE, &text(&document(steps)));
    // A name in `from_environment` opens a variable of the user, so it is asked for at the first run.
    let config = project.root().join("config/proctor/config.toml");
    let allowed =
        format!("[[allow]]\nprojects = [\"{}\"]\nspecification.from_environment = [\"API_TOKEN\"]\n", project.path().display());
    let said = project.proctor(["run", "--task", "T117"]).env("API_TOKEN", SECRET).status(3);
    assert!(said.stderr.contains("from_environment"), "{}", said.stderr);
    fs::write(&config, allowed).expect("it is ours");
    let unset = project.proctor(["run", "--task", "T117"]).status(4).stderr;
    assert!(unset.contains("the variable is not set"), "{unset}");
    let plan = project.proctor(["plan", "--task", "T117"]).env("API_TOKEN", SECRET).success();
    assert!(plan.stderr.contains("`API_TOKEN` is a secret"), "{}", plan.stderr);
    let run = project.proctor(["run", "--task", "T117", "--json"]).env("API_TOKEN", SECRET).success();
    let log = files_below(&project.root().join("state"))
        .into_iter()
        .find(|(name, _)| name.contains("STEP.1") && name.ends_with(".log"))
        .expect("a log")
        .1;
    let log = String::from_utf8_lossy(&log).into_owned();
    assert!(log.contains(&format!("{}\n", SECRET.len())), "the action got the value: {log}");
    assert!(log.contains("said: **************") && log.contains("err: **************"), "{log}");
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET));
    for (name, bytes) in files_below(project.root()) {
        assert!(memchr::memmem::find(&bytes, SECRET.as_bytes()).is_none(), "{name}");
    }
    let misplaced = text(&document(json!([command("echo {{API_TOKEN}}", json!({}))])));
    let project = project.file(FILE, &misplaced);
    let said = project.proctor(["check", FILE]).env("API_TOKEN", SECRET).status(4).stdout;
    assert!(said.contains("SECRET_PLACE") && said.contains("read the variable"), "{said}");
}

/// A report of more than 2 MiB is read piece by piece. Names and messages of tests repeat the secret, also as XML writes it.
#[test]
fn a_secret_is_in_no_part_of_a_large_report_of_tests() {
    const SECRET: &str = "hush<&>4711";
    const WRITTEN: &str = "hush&lt;&amp;&gt;4711";
    let tool = format!(
        "#!/bin/sh\nfor word in \"$@\"; do case $word in --junitxml=*) report=${{word#--junitxml=}};; esac; done\n\
         awk 'BEGIN {{ printf \"<testsuites><testsuite tests=\\\"40000\\\">\"; \
         for (i = 1; i < 40000; i++) printf \"<testcase classname=\\\"a\\\" name=\\\"t%d[{WRITTEN}]\\\" time=\\\"0.001\\\"/>\", i; \
         printf \"<testcase classname=\\\"a\\\" name=\\\"last\\\"><failure message=\\\"not {WRITTEN}\\\">E   not {WRITTEN}</failure></testcase>\"; \
         printf \"</testsuite></testsuites>\" }}' > \"$report\"\nexit 1\n"
    );
    let project = Project::new()
        .toml("[specification]\nfrom_environment = [\"API_TOKEN\"]\n[[check]]\nname = \"tests\"\ncommand = [\"./pytest\"]\n")
        .executable("pytest", &tool);
    let allowed =
        format!("[[allow]]\nprojects = [\"{}\"]\nspecification.from_environment = [\"API_TOKEN\"]\n", project.path().display());
    fs::write(project.root().join("config/proctor/config.toml"), allowed).expect("it is ours");
    let output = project.proctor(["run"]).env("API_TOKEN", SECRET).failure();
    let failure = &output.report()["stepExecution"]["results"][0]["result"]["testResults"]["failures"][0];
    assert!(failure["error"].as_str().is_some_and(|error| error.contains("not ***")), "{failure:#}");
    let kept = fs::metadata(output.run_directory().join("STEP.1-junit.xml")).expect("the report is kept");
    assert!(kept.len() > 2 * 1024 * 1024, "{}", kept.len());
    // The program that plays pytest has the words itself, in the project and in its copies.
    for (name, bytes) in files_below(project.root()) {
        for hidden in [SECRET, WRITTEN] {
            let is_there = memchr::memmem::find(&bytes, hidden.as_bytes()).is_some();
            assert!(!is_there || bytes.starts_with(b"#!/bin/sh"), "{name}");
        }
    }
}
