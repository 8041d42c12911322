//! Tests that a test command which no check runs is named, and takes the proof away but not the verdict.

use serde_json::{Value, json};

use crate::common::Project;
use crate::gate::{commit, gate, git, reasons};

const MOCHA: &str = r#"{"name": "p", "scripts": {"test": "mocha --reporter spec test/"}}"#;
const LINT: &str = "[[check]]\nname = \"lint\"\ncommand = [\"grep\", \"-q\", \"x\", \"a.js\"]\n";
const SAID: &str = "\"test\" of package.json (mocha)";

fn in_repository(toml: &str) -> Project {
    let project = Project::new().toml(toml).file("package.json", MOCHA);
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.js", "x\n");
    project
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| line.starts_with("PASSED")).unwrap_or_else(|| panic!("nothing passed: {text}"))
}

#[test]
fn a_test_command_that_no_check_runs_is_named_and_takes_only_the_proof_away() {
    let project = in_repository(LINT);
    let run = project.proctor(["run"]).success();
    assert!(last_line(&run.stdout).starts_with(&format!("PASSED · tests not run: {SAID} · ")), "{}", run.stdout);
    assert!(run.stdout.contains("[project]") && run.stdout.contains("[[check]]"), "the remedy is said: {}", run.stdout);
    let report = run.report();
    assert_eq!(report["testsNotRun"], SAID);
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    assert_eq!(report["completionCriteriaEvaluation"]["partialReason"], "TESTS_NOT_RUN");

    // The verdict is fresh and green for what it ran.
    let status = project.proctor(["status", "--json"]).success().json();
    let task = &status["projects"][0]["tasks"][0];
    let task = if task.is_null() { &status["tasks"][0] } else { task };
    assert_eq!(
        (&task["state"], &task["result"], &task["testsNotRun"]),
        (&json!("fresh"), &json!("PASSED"), &json!(SAID)),
        "{status}"
    );
    assert!(project.proctor(["status"]).success().stdout.contains(&format!("tests not run: {SAID}")));
    project.proctor(["wait", "--fresh"]).success();

    let answer = gate(&project, &[], 3);
    assert_eq!(answer["required"][0]["words"], json!(["tests-not-run"]), "{answer}");
    assert!(reasons(&answer)[0].contains(SAID), "{answer}");
    assert!(answer["next"].to_string().contains("[[check]]"), "{answer}");
    project.proctor(["attest", "--dry-run"]).status(3);
    let asked = project.proctor(["request", "status", "COMPLETE", "--json"]).any_status().stdout;
    assert!(asked.contains("INCOMPLETE") && asked.contains("tests not run"), "{asked}");

    // It is said on every last line, and how to mend it only once.
    let again = project.proctor(["run"]).success();
    assert!(last_line(&again.stdout).contains(SAID) && !again.stdout.contains("[[check]]"), "{}", again.stdout);
    let plan = project.proctor(["plan"]).success();
    assert!(plan.stdout.contains(&format!("tests not run: {SAID}")), "{}", plan.stdout);
    assert_eq!(project.proctor(["plan", "--json"]).success().json()["testsNotRun"], SAID);
}

#[test]
fn a_check_that_runs_the_test_command_or_its_runner_covers_it() {
    let covering = [
        "[\"npm\", \"test\"]",
        "[\"npm\", \"run\", \"test\"]",
        "[\"npx\", \"mocha\"]",
        "[\"node_modules/.bin/mocha\", \"--reporter\", \"min\"]",
    ];
    for command in covering {
        let project = in_repository(&format!("{LINT}[[check]]\nname = \"unit\"\ncommand = {command}\n"));
        let plan = project.proctor(["plan", "--json"]).success().json();
        assert_eq!(plan["testsNotRun"], Value::Null, "{command}");
    }
    // What the commit's own policy names is all that it asks for.
    let project = in_repository(&format!("{LINT}[gate]\nchecks = [\"lint\"]\n"));
    project.proctor(["run"]).success();
    gate(&project, &["--policy-from", "HEAD"], 0);
}

#[test]
fn a_reason_says_that_there_are_no_tests_and_is_a_rule_like_others() {
    let project = in_repository(LINT);
    project.proctor(["run"]).success();
    let said = format!("[project]\ntests = {{ none = \"they lie in the repository shop-e2e\" }}\n\n{LINT}");
    commit(&project, "proctor.toml", &said);
    let run = project.proctor(["run"]).success();
    assert!(!last_line(&run.stdout).contains("tests not run"), "{}", run.stdout);
    // Nobody takes the mark away by an edit of the rules alone.
    assert!(run.stdout.contains("judged by changed rules: project: tests.none"), "{}", run.stdout);
    project.approve();
    project.proctor(["run"]).success();
    let answer = gate(&project, &["--policy-from", "HEAD"], 0);
    assert_eq!(answer["state"], "proved");

    for empty in ["\"\"", "\"  \""] {
        project.save("proctor.toml", &format!("[project]\ntests = {{ none = {empty} }}\n{LINT}"));
        let wrong = project.proctor(["run"]).status(4);
        assert!(wrong.stderr.contains("it is empty"), "{}", wrong.stderr);
    }
}

#[test]
fn the_mark_is_in_the_runs_own_record_and_no_plan_of_now_adds_it() {
    // What an earlier version sealed has no mark in its record, and stays what it was.
    let project = in_repository(LINT);
    let sealed = project.proctor(["run"]).success();
    let conditions: Vec<Value> = sealed
        .ledger()
        .iter()
        .map(|line| line.to_string())
        .filter(|line| line.contains("testsNotRun"))
        .map(Value::from)
        .collect();
    assert_eq!(conditions.len(), 1, "the run's line says it");
    let covered = in_repository(&format!("{LINT}[[check]]\nname = \"tests\"\ncommand = [\"npm\", \"test\"]\n"));
    let sealed = covered.proctor(["run"]).failure();
    assert!(!sealed.ledger().iter().any(|line| line.to_string().contains("testsNotRun")));
}

#[test]
fn other_commands_are_named_once_and_init_writes_them_as_comments() {
    let scripts = r#"{"scripts": {"test": "node --test", "test:e2e": "cypress run", "test:watch": "node --test --watch", "check": "vue-tsc"}}"#;
    let ci = "jobs:\n  a:\n    steps:\n      - run: npm ci\n      - run: |\n          cargo test --locked\n          echo x\n      - run: npm test\n";
    let project = Project::new()
        .file("package.json", scripts)
        .file("a.test.js", "require('node:test')('one', () => {})\n")
        .file(".github/workflows/ci.yml", ci)
        .file("pom.xml", "<project/>");
    let plan = project.proctor(["plan"]).success();
    let said = plan.stdout.clone() + &plan.stderr;
    for command in ["npm run test:e2e", "npm run check", "cargo test --locked", "mvn test"] {
        assert!(said.contains(&format!("`{command}`")), "{command}: {said}");
    }
    assert!(!said.contains("test:watch") && !said.contains("tests not run"), "{said}");
    let run = project.proctor(["run"]).success();
    assert!(run.stdout.contains("not checked: no check runs `mvn test`"), "{}", run.stdout);
    assert!(!project.proctor(["run"]).success().stdout.contains("not checked"), "it is said once");

    project.proctor(["init"]).success();
    let text = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    let commented = "#[[check]]  # `pom.xml`\n#name = \"maven\"\n#command = [\"mvn\", \"test\"]\n## report = { file = \"target/surefire-reports/TEST-*.xml\", format = \"junit\" }\n";
    assert!(text.contains(commented), "{text}");
    // Each comment is a check as it stands.
    project.save(
        "proctor.toml",
        &text
            .replace("\n#[[check]]", "\n[[check]]")
            .replace("\n#name", "\nname")
            .replace("\n#command", "\ncommand")
            .replace("\n## report", "\nreport"),
    );
    let plan = project.proctor(["plan", "--json"]).success().json();
    let names: Vec<&str> =
        plan["actions"].as_array().expect("a list").iter().filter_map(|action| action["name"].as_str()).collect();
    assert!(names.contains(&"maven") && names.contains(&"test:e2e"), "{names:?}");
    assert!(!plan["notes"].to_string().contains("not checked"), "{plan}");
}
