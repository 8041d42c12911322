//! DOCKER_COMMAND and MCP_BROWSER_COMMAND by clients that stand for the real ones. The wide tier has a real browser.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Project, poll};
use crate::specification_actions::{entry, judged, shell, step, with_steps};

/// A client that stands for `docker`: it prints its words, the engine's address, and whether it can use the socket.
const DOCKER: &str = r#"#!/bin/sh
printf '%s|' "$@"; echo
echo "$DOCKER_HOST"
python3 - "$DOCKER_HOST" <<'END'
import socket, sys
engine = socket.socket(socket.AF_UNIX)
engine.connect(sys.argv[1].removeprefix("unix://"))
engine.sendall(b"hello")
print("reached", engine.recv(16).decode())
END
"#;

/// Fails if the socket can be reached, or if an engine is named.
const PROBE: &str = "import os, socket, sys\ntry:\n    socket.socket(socket.AF_UNIX).connect(sys.argv[1])\nexcept OSError:\n    sys.exit('DOCKER_HOST' in os.environ)\nsys.exit(1)\n";

fn docker(verb: &str, more: Value) -> Value {
    let mut parameters = json!({ "dockerCommand": verb });
    parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    step("DOCKER_COMMAND", parameters)
}

/// Puts a client that stands for `docker` first in `PATH`.
fn with_client(project: Project) -> Project {
    let project = project.executable("bin/docker", DOCKER);
    let client = project.path().join("bin/docker");
    project.with_program(&client)
}

/// Lets the user's own configuration allow the socket of an engine.
pub(super) fn allow(project: &Project, socket: &Path) {
    let path = project.root().join("config/proctor/config.toml");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let more = format!("[[allow]]\nprojects = [\"{}\"]\nengine_socket = \"{}\"\n", project.path().display(), socket.display());
    fs::write(path, format!("{text}\n{more}")).expect("the configuration is ours");
}

#[test]
fn a_container_engine_is_reached_only_where_the_users_own_configuration_says_so() {
    let run = docker(
        "run",
        json!({ "containerOrImage": "db:16", "volumes": ["./data:/data"], "ports": ["5432:5432"], "environment": { "A": "b c" }, "command": "serve 'x y'" }),
    );
    let root = tempfile::tempdir().expect("a directory");
    let socket = root.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let other = shell(&format!("python3 probe.py {}", socket.display()));
    let project = with_client(with_steps(Project::new().file("probe.py", PROBE), &[run, other]).toml("[sandbox]\n"));

    let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert_eq!(code, "NOT_STARTED", "{reason}");
    assert!(reason.contains("engine_socket") && reason.contains("~/.config/proctor/config.toml"), "{reason}");

    allow(&project, &socket);
    let engine = listener.try_clone().expect("a descriptor");
    let answers = std::thread::spawn(move || {
        let (mut client, _) = engine.accept()?;
        let mut said = [0; 5];
        client.read_exact(&mut said)?;
        client.write_all(b"engine")
    });
    let output = project.proctor(["run", "--task", "T200"]).any_status();
    poll(Duration::from_secs(10), "a client that reached the engine", || {
        answers.is_finished().then_some(()).ok_or_else(|| output.snapshot())
    });
    answers.join().expect("the thread ends").expect("the client reached the engine");
    // The engine listened until now, so the other step could have reached it.
    drop(listener);
    assert!(output.snapshot().contains("engine socket open"), "{}", output.snapshot());
    let report = project.store().report("T200");
    assert_eq!(judged(&report, "STEP.1").0, "RESULT_VALID", "{}", judged(&report, "STEP.1").1);
    assert_eq!(judged(&report, "STEP.2").0, "EXPECTED_EXIT", "no other action gets the socket");
    let said = entry(&report, "STEP.1")["result"]["stdout"].as_str().unwrap_or_default().to_owned();
    let words = "run|--rm|--env|A=b c|--volume|./data:/data|--publish|5432:5432|db:16|serve|x y|";
    assert!(said.starts_with(words) && said.contains("reached engine"), "{said}");
    assert_eq!(report["isolation"]["level"], "process-group", "{:#}", report["isolation"]);
}

#[test]
fn a_project_that_demands_isolation_never_gets_the_socket() {
    let project = with_client(with_steps(Project::new(), &[docker("ps", json!({}))])).toml("[sandbox]\nmode = \"require\"\n");
    allow(&project, Path::new("/run/docker.sock"));
    let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert!(code == "NOT_STARTED" && reason.contains("`process-group`"), "{code} {reason}");
}

/// A package that stands for `playwright-core`: it has one page, and writes what it is asked for.
const PLAYWRIGHT: &str = r##"
const seen = [];
const page = {
  goto: async (url) => { seen.push('goto ' + url); if (url.includes('refused')) throw new Error('page.goto: net::ERR_CONNECTION_REFUSED at ' + url); return { status: () => (url.includes('gone') ? 404 : 200) }; },
  click: async (selector) => { seen.push('click ' + selector); if (selector === '#none') throw new Error('page.click: Timeout 5000ms exceeded.'); },
  waitForLoadState: async () => {},
  evaluate: async (script) => { seen.push('evaluate ' + script); return { answer: 42 }; },
  waitForSelector: async (selector) => { seen.push('wait ' + selector); },
  content: async () => '<h1>' + seen.join('; ') + '</h1>',
  screenshot: async ({ path }) => require('node:fs').writeFileSync(path, 'PNG of ' + seen.join('; ')),
  locator: (selector) => ({ first: () => ({
    count: async () => 1, waitFor: async () => {}, evaluate: async () => 'text',
    fill: async (value) => { seen.push('fill ' + selector + ' ' + value); },
  }) }),
};
const browser = { newContext: async () => ({ newPage: async () => page }), close: async () => {} };
module.exports = { chromium: { executablePath: () => process.execPath, launch: async (options) => { if (!options.headless) throw new Error('a window'); return browser; } } };
"##;

fn browser(action: &str, more: Value) -> Value {
    let mut parameters = json!({ "action": format!("browser_{action}") });
    parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    step("MCP_BROWSER_COMMAND", parameters)
}

#[test]
fn each_of_the_seven_actions_of_a_browser_repeats_those_before_it() {
    let steps = [
        browser("navigate", json!({ "url": "http://127.0.0.1:9/" })),
        browser("fill_form", json!({ "formData": { "name": "me" } })),
        browser("click", json!({ "selector": "#send" })),
        browser("wait_for_selector", json!({ "selector": "#done" })),
        browser("get_content", json!({})),
        browser("evaluate", json!({ "script": "({ answer: 42 })" })),
        browser("screenshot", json!({})),
        browser("click", json!({ "selector": "#none" })),
        browser("navigate", json!({ "url": "http://127.0.0.1:9/gone" })),
        browser("navigate", json!({ "url": "http://127.0.0.1:9/refused" })),
    ];
    let mut specification = crate::specification_actions::specification("/srv/shop", &steps);
    specification["tasks"]["T200"]["completionCriteria"]["requiredEvidence"] = json!(["screenshots"]);
    let project = crate::specification_actions::with_specification(
        Project::new().file("node_modules/playwright-core/index.js", PLAYWRIGHT).file("package.json", "{}"),
        &specification,
    )
    .toml("");
    let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let all: Vec<_> = (1..=10).map(|number| judged(&report, &format!("STEP.{number}"))).collect();
    let codes: Vec<&str> = all.iter().map(|(code, _)| code.as_str()).collect();
    let valid = ["RESULT_VALID"; 7].into_iter().chain(["RESULT_INVALID", "RESULT_INVALID", "NO_ANSWER"]).collect::<Vec<_>>();
    assert_eq!(codes, valid, "{all:#?}");
    let stdout = |id: &str| entry(&report, id)["result"]["stdout"].as_str().unwrap_or_default().to_owned();
    assert!(stdout("STEP.5").contains("goto http://127.0.0.1:9/; fill [name=\"name\"]"), "{}", stdout("STEP.5"));
    assert!(stdout("STEP.5").contains("click #send; wait #done"), "{}", stdout("STEP.5"));
    assert_eq!(stdout("STEP.6").trim(), "{\"answer\":42}");
    assert!(all[7].1.contains("Timeout 5000ms exceeded"), "{}", all[7].1);
    assert!(all[8].1.contains("answers with status 404"), "{}", all[8].1);
    let picture = fs::read_to_string(project.store().run_directory("T200").join("STEP.7-screenshot.png")).expect("a picture");
    assert!(picture.starts_with("PNG of goto"), "{picture}");
    let completion = &report["completionCriteriaEvaluation"];
    assert!(!completion.to_string().contains("\"missingEvidence\":[\"screenshots\"]"), "{completion:#}");
}

#[test]
fn without_playwright_the_line_that_installs_it_is_shown() {
    let steps = [browser("navigate", json!({ "url": "http://127.0.0.1:9/" }))];
    let project = with_steps(Project::new().file("package.json", "{}"), &steps).toml("");
    let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert_eq!(code, "TOOL_NOT_FOUND", "{reason}");
    assert!(reason.contains("npm install --save-dev playwright-core"), "{reason}");
}
