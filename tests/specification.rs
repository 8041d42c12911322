//! Tests `proctor check`, `proctor generate schema` and `proctor plan` through the program: that it finds the files, names the
//! place of an error, and ends with the right exit code. Which error belongs to which specification is tested with
//! tables beside the code that reads specifications.

use std::fs;

use serde_json::Value;

use crate::common::{Project, repository};
use crate::specification_runs::{specification, task};

fn fixture(name: &str) -> String {
    fs::read_to_string(repository().join("fixtures/specifications").join(name)).expect("the fixture is part of the repository")
}

fn project() -> Project {
    Project::new().toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n")
}

#[test]
fn every_specification_of_the_tree_is_found_and_one_error_is_an_exit_code() {
    let project = project().file(".gitignore", "old/\n").file("old/a-test-specification.json", "{");
    let project = project.file("specs/T117-test-specification.json", &fixture("rounding.json")).file("specs/other.json", "{");
    // The task depends on another one, which has to be in some file.
    let alone = project.proctor(["check"]).status(4).stdout;
    assert!(alone.contains("error[TASK_NOWHERE] /tasks/T117/dependencies/0: no test specification has a task `T110`"), "{alone}");
    let project = project.file("specs/T110-test-specification.json", &specification(&[task("T110")]));
    let output = project.proctor(["check"]).success();
    insta::assert_snapshot!(output.stdout.replace(&project.path().display().to_string(), "<project>"), @r#"
    specs/T110-test-specification.json:10:22: note[WORKSPACE_ELSEWHERE] /globalConfiguration/workspaceRoot: `/srv/billing` is not this project
      the project the file lies in is taken for it, and paths below it for paths below the project
    specs/T117-test-specification.json:11:22: note[WORKSPACE_ELSEWHERE] /globalConfiguration/workspaceRoot: `/srv/billing-core` is not this project
      the project the file lies in is taken for it, and paths below it for paths below the project
    specs/T117-test-specification.json:31:53: note[POLICY_STRATEGY_DIFFERS] /globalConfiguration/validationPolicy/linting/tools/prettier/blockOn: `prettier` follows its own `WARN_ONLY`, not the category's `BLOCK_ON_ERRORS_ONLY`
    specs/T117-test-specification.json:37:86: note[STRICTNESS_UNCHECKED] /globalConfiguration/validationPolicy/typeChecking/tools/typescript/strictMode: `strictMode` is not compared with what `typescript` is set to in the project: `web/tsconfig.json` cannot be read
    specs/T117-test-specification.json:37:112: note[STRICTNESS_UNCHECKED] /globalConfiguration/validationPolicy/typeChecking/tools/typescript/allowImplicitAny: `allowImplicitAny` is not compared with what `typescript` is set to in the project: `web/tsconfig.json` cannot be read
    specs/T117-test-specification.json:38:49: note[POLICY_STRATEGY_DIFFERS] /globalConfiguration/validationPolicy/typeChecking/tools/mypy/blockOn: `mypy` follows its own `ERRORS_ONLY`, not the category's `BLOCK_ON_ERRORS_ALWAYS`
    specs/T117-test-specification.json:47:45: note[DEFAULT_SHELL] /executionEngine/executorConfigurations/TERMINAL_COMMAND/defaultShell: commands run without a shell, whatever the default is
      an action that needs one says so itself: `"shell": "bash"`
    ✓ proctor.toml: default
    ✓ specs/T110-test-specification.json: T110, 1 note
    ✓ specs/T117-test-specification.json: T117, 6 notes
    "#);
    let project = project.file("T042-test-specification.json", &fixture("generated-contract.json"));
    let output = project.proctor(["check"]).status(4);
    assert!(output.stdout.contains("✗ T042-test-specification.json: 1 error, 6 notes\n"), "{}", output.snapshot());
}

/// Compares the program's errors with `expected.txt`, which was written by reading the fixtures. The program runs in
/// another directory than the fixtures'.
#[test]
fn each_file_of_the_fixtures_is_said_to_have_the_reasons_that_were_written_by_reading_it() {
    let entries = fs::read_dir(repository().join("fixtures/specifications")).expect("the fixtures are part of the repository");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let project = names.iter().fold(Project::new(), |project, name| project.file(name, &fixture(name)));
    let arguments = ["check", "--json"].into_iter().chain(names.iter().map(String::as_str));
    let document = project.proctor(arguments).status(4).json();
    let mut said = String::new();
    for file in document["files"].as_array().expect("a list") {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        said += &format!("{} {}\n", text(&file["file"]), if file["valid"] == true { "runs" } else { "is refused" });
        for fault in file["faults"].as_array().expect("a list") {
            let code = text(&fault["code"]);
            let keyword = if code == "SCHEMA" { format!(" {}", text(&fault["keyword"])) } else { String::new() };
            let pointer = text(&fault["instancePath"]);
            let pointer = if pointer.is_empty() { "(the document)" } else { &pointer };
            said += &format!("  {} {code}{keyword} {pointer}\n", text(&fault["gravity"]).to_lowercase());
        }
    }
    let elsewhere = |line: &&str| !line.contains(" WORKSPACE_ELSEWHERE ");
    let expected = fixture("expected.txt");
    let (said, expected): (Vec<_>, Vec<_>) =
        (said.lines().filter(elsewhere).collect(), expected.lines().filter(elsewhere).collect());
    assert_eq!(said, expected, "said (left), written by reading (right)");
}

#[test]
fn a_wrong_configuration_is_among_what_is_checked() {
    let project = Project::new().toml("[watch]\nqiet = \"20ms\"\n");
    let output = project.proctor(["check"]).status(4);
    insta::assert_snapshot!(output.stdout, @r"
    proctor.toml:2:1: watch.qiet: unknown key `qiet`
      did you mean `quiet`?
    ✗ proctor.toml: 1 error
    ");
    let document = project.proctor(["check", "--json"]).status(4).json();
    assert_eq!(document["files"][0]["problems"][0]["keyPath"], "watch.qiet");
}

#[test]
fn the_document_has_every_fault_in_the_form_of_a_validator() {
    let project = Project::new().file("a.json", &fixture("shapes.json"));
    let document = project.proctor(["check", "a.json", "--json"]).status(4).json();
    assert_eq!(
        (&document["schema"], &document["errors"], &document["notes"]),
        (&"proctor-check-v1".into(), &17.into(), &0.into())
    );
    let file = &document["files"][0];
    assert_eq!((&file["file"], &file["kind"], &file["valid"]), (&"a.json".into(), &"specification".into(), &false.into()));
    let faults = file["faults"].as_array().expect("a list");
    let of = |keyword: &str| faults.iter().find(|fault| fault["keyword"] == keyword).expect("there is one");
    let unknown = of("additionalProperties");
    assert_eq!((&unknown["params"]["additionalProperty"], &unknown["nearest"]), (&"metod".into(), &"method".into()));
    assert_eq!((&unknown["line"], &unknown["column"]), (&166.into(), &15.into()));
    for fault in faults {
        for key in ["gravity", "code", "file", "line", "column", "instancePath", "schemaPath", "keyword", "params", "message"] {
            assert!(fault.get(key).is_some(), "{key}: {fault}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_usage_error() {
    let project = project().file("latin-test-specification.json", "");
    insta::assert_snapshot!(project.proctor(["check", "none.json"]).status(2).snapshot(), @r"
    exit status: 2
    --- stderr
    error: `none.json` cannot be read
      caused by: No such file or directory (os error 2)
      hint: name a file that is there, or none for every one of the project
    ");
    fs::write(project.path().join("latin-test-specification.json"), b"\"\xe9\"").expect("a file of ours");
    assert!(project.proctor(["check", "latin-test-specification.json"]).status(2).stderr.contains("save the file in UTF-8"));
    // Among all files of the project it is one of the errors, so that the others are checked too.
    assert!(project.proctor(["check"]).status(4).stdout.contains("error[UNREADABLE]: the file is not UTF-8"));
    project.proctor(["check", "."]).status(2);
}

#[test]
fn a_project_without_files_has_nothing_to_check() {
    let output = Project::new().proctor(["check"]).success();
    assert_eq!(output.stdout, "no proctor.toml and no file whose name ends in test-specification.json: nothing to check\n");
}

#[test]
fn the_schema_is_the_one_that_is_committed_and_specifications_are_held_to() {
    let printed = Project::new().proctor(["generate", "schema"]).success();
    let committed = repository().join("crates/plan/src/spec/specification/schema-2.0.0.json");
    assert_eq!(printed.stdout, fs::read_to_string(committed).expect("the schema is part of the repository"));
    let schema: Value = serde_json::from_str(&printed.stdout).expect("it is JSON");
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let validator = jsonschema::draft7::options().should_validate_formats(true).build(&schema).expect("it is a schema");
    let is_valid = |name: &str| validator.is_valid(&serde_json::from_str(&fixture(name)).expect("it is JSON"));
    assert!(is_valid("rounding.json") && is_valid("additions.json") && is_valid("generated-migration.json"));
    assert!(!is_valid("shapes.json") && !is_valid("old-plan.json"));
}

#[test]
fn the_plan_names_a_policy_as_the_configuration_does() {
    let toml = "[[check]]\nname = \"types\"\ncommand = \"tsc --noEmit\"\npolicy = { block_on = \"errors-only\" }\n";
    let plan = Project::new().toml(toml).proctor(["plan"]).success().stdout;
    assert!(plan.contains(" · policy errors-only\n"), "{plan}");
}

#[test]
fn the_plan_says_what_a_run_would_do_and_runs_nothing() {
    let toml = "[project]\nname = \"desk\"\n\n[[prerequisite]]\nname = \"deps\"\ncommand = [\"touch\", \"made\"]\n\n[[check]]\nname = \"unit\"\ncommand = [\"pytest\", \"-q\"]\ntimeout = \"90s\"\nenvironment = { TOKEN = \"secret\" }\n\n[[check]]\nname = \"all\"\nshell = true\ndirectory = \"web\"\ncommand = \"a | b\"\nexpected_exit_codes = [0, 2]\n";
    let project = Project::new().toml(toml).file("web/a", "");
    insta::assert_snapshot!(project.proctor(["plan"]).success().stdout, @r"
    desk · task default · from proctor.toml
      PREREQ.1  deps
                touch made
                tool generic · at most 5m
      STEP.1    unit
                pytest -q
                tool pytest · at most 90s
      STEP.2    all
                a | b
                tool generic · in web · at most 5m · exit codes 0, 2 succeed
    ");
    let document = project.proctor(["plan", "--json"]).success();
    assert!(!document.stdout.contains("secret"), "{}", document.stdout);
    let document = document.json();
    assert_eq!((&document["schema"], &document["task"]), (&"proctor-plan-v1".into(), &"default".into()));
    let action = &document["actions"][1];
    assert_eq!((&action["id"], &action["tool"], &action["timeoutMs"]), (&"STEP.1".into(), &"pytest".into(), &90_000.into()));
    assert_eq!(action["environment"], serde_json::json!(["TOKEN"]));
    assert!(!project.path().join("made").exists());
}
