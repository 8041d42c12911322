//! Real ty, Pyrefly, basedpyright, oxlint, Biome, Clippy and prek in complete runs: each is found, asked how much it checked, and is no
//! success where it checked nothing.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Project, checker_modules, jest_modules, python_type_checkers};

const GREEN: &str = "def f() -> int:\n    return 1\n";
const RED: &str = "def f() -> int:\n    return \"s\"\n";

/// Returns the tool, the category and the number of files of the first check.
fn seen(report: &Value) -> (Value, Value, Value) {
    let result = &report["stepExecution"]["results"][0];
    let classification = &result["classification"];
    (classification["validationTool"].clone(), classification["code"].clone(), result["result"]["examined"]["count"].clone())
}

fn of_python(configuration: (&str, &str)) -> Project {
    let environment: PathBuf = python_type_checkers().parent().and_then(Path::parent).expect("it lies in bin/").to_owned();
    let project = Project::new().file(configuration.0, configuration.1).file(".gitignore", ".venv\n").file("a.py", GREEN);
    symlink(environment, project.path().join(".venv")).expect("the project is ours");
    project
}

fn of_node(configuration: (&str, &str)) -> Project {
    let project = Project::new()
        .file(configuration.0, configuration.1)
        .file(".gitignore", "node_modules\n")
        .file("src/a.js", "export const a = 1;\n");
    symlink(checker_modules(), project.path().join("node_modules")).expect("the project is ours");
    project
}

/// Each type checker is found by its configuration, and a project whose files it leaves out proves nothing.
#[test]
#[ignore = "wide tier"]
fn type_checkers_are_found_and_say_how_many_files_they_checked() {
    for (tool, configuration, narrowed) in [
        ("ty", ("ty.toml", ""), "[src]\nexclude = [\"*.py\"]\n"),
        ("pyrefly", ("pyrefly.toml", "preset = \"default\"\n"), "project-excludes = [\"**/*.py\"]\n"),
        ("pyright", ("pyrightconfig.json", "{}"), "{\"exclude\": [\"**/*.py\"]}"),
    ] {
        let project = of_python(configuration);
        let report = project.proctor(["run"]).success().report();
        assert_eq!(seen(&report), (json!(tool), json!("CLEAN"), json!(1)), "{tool}");
        project.save("a.py", RED);
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(seen(&report), (json!(tool), json!("FINDINGS"), json!(1)), "{tool}");
        let found = &report["stepExecution"]["results"][0]["result"]["diagnostics"][0];
        assert_eq!((&found["file"], &found["line"]), (&json!("a.py"), &json!(2)), "{tool}: {found}");
        project.save(configuration.0, narrowed);
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(seen(&report).1, "NOTHING_CHECKED", "{tool}");
    }
}

#[test]
#[ignore = "wide tier"]
fn ty_behind_a_script_is_asked_by_variables() {
    let project = of_python(("Makefile", "types:\n\t.venv/bin/ty check\n"))
        .toml("[[check]]\nname = \"types\"\ntool = \"ty\"\ncommand = \"make types\"\n");
    let report = project.proctor(["run"]).success().report();
    assert_eq!(seen(&report), (json!("ty"), json!("CLEAN"), json!(1)));
}

#[test]
#[ignore = "wide tier"]
fn oxlint_and_biome_are_found_and_say_how_many_files_they_checked() {
    let unused = "debugger;\n";
    for (tool, configuration, narrowed) in [
        ("oxlint", (".oxlintrc.json", "{\"categories\": {\"correctness\": \"error\"}}\n"), "{\"ignorePatterns\": [\"**\"]}\n"),
        ("biome", ("biome.json", "{}\n"), "{ \"files\": { \"includes\": [\"nowhere/**\"] } }\n"),
    ] {
        let project = of_node(configuration);
        let report = project.proctor(["run"]).success().report();
        // Biome checks its own configuration too.
        let files = if tool == "biome" { 2 } else { 1 };
        assert_eq!(seen(&report), (json!(tool), json!("CLEAN"), json!(files)), "{tool}");
        project.save("src/a.js", unused);
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(seen(&report), (json!(tool), json!("FINDINGS"), json!(files)), "{tool}");
        project.save("src/a.js", "export const a = 1;\n");
        project.save(configuration.0, narrowed);
        // The one file that is left for Biome is its own configuration.
        let run = project.proctor(["run"]);
        let output = if tool == "biome" { run.success() } else { run.failure() };
        let expected = if tool == "biome" { "EXPECTED_EXIT" } else { "NOTHING_CHECKED" };
        assert_eq!(seen(&output.report()).1, expected, "{tool}: {}", output.stdout);
    }
}

#[test]
#[ignore = "wide tier"]
fn a_hook_that_changes_files_and_one_that_is_skipped_are_no_success() {
    let program = python_type_checkers().with_file_name("prek").display().to_string();
    let hook = "repos:\n- repo: local\n  hooks:\n  - id: mend\n    name: mends\n    language: system\n    entry: ENTRY\n    files: \\.py$\n";
    for (entry, variables, expected) in [
        ("\"true\"", "", "CLEAN"),
        ("sh -c 'for f in \"$@\"; do echo >> $f; done' --", "", "FILES_CHANGED"),
        ("\"true\"", "environment = { SKIP = \"mend\" }\n", "NOTHING_CHECKED"),
    ] {
        let check = format!("[[check]]\nname = \"hooks\"\ncommand = \"{program} run --all-files\"\n{variables}");
        let project =
            Project::new().file("a.py", GREEN).file(".pre-commit-config.yaml", &hook.replace("ENTRY", entry)).toml(&check);
        for arguments in [&["init", "-q"][..], &["add", "-A"]] {
            let added = Command::new("git").args(arguments).current_dir(project.path()).status().expect("git is installed");
            assert!(added.success());
        }
        let run = project.proctor(["run"]);
        let output = if expected == "CLEAN" { run.success() } else { run.failure() };
        assert_eq!(seen(&output.report()).1, expected, "{entry} {variables}: {}", output.stdout);
    }
}

#[test]
#[ignore = "wide tier"]
fn clippy_is_found_by_its_settings_and_its_warnings_are_judged_by_the_policy() {
    // Cargo's own program needs no home; the one of rustup, which may stand in the `PATH`, does.
    let Some(cargo) = env::var_os("CARGO").map(PathBuf::from).filter(|path| path.with_file_name("rustc").is_file()) else {
        return;
    };
    if !Command::new(&cargo).args(["clippy", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ntest = false\n";
    let with = |options: &str| {
        Project::new()
            .with_program(&cargo)
            .file(".gitignore", "/target\n")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "pub fn one() -> i32 {\n    return 1;\n}\n")
            .toml(&format!("[[check]]\nname = \"lint\"\ncommand = \"cargo clippy --offline{options}\"\n"))
    };
    let project = with("");
    let report = project.proctor(["run"]).success().report();
    assert_eq!((seen(&report).0, seen(&report).1), (json!("clippy"), json!("FINDINGS")), "a warning");
    project.save("src/lib.rs", "pub fn one() -> i32 {\n    1\n}\n");
    assert_eq!(seen(&project.proctor(["run"]).success().report()).1, "CLEAN");
    assert_eq!(seen(&with(" --bins").proctor(["run"]).failure().report()).1, "NOTHING_CHECKED");
}

/// Prettier says that all files are formatted where it ignores every one.
#[test]
fn prettier_that_ignores_every_file_checked_nothing() {
    let prettier = jest_modules().join(".bin/prettier").display().to_string();
    let project = Project::new()
        .file("a.js", "const x = 1;\n")
        .file(".prettierignore", "dist\n")
        .toml(&format!("[[check]]\nname = \"format\"\ncommand = \"{prettier} --check .\"\n"));
    let report = project.proctor(["run"]).success().report();
    assert_eq!(seen(&report).1, "CLEAN");
    project.save(".prettierignore", "*\n");
    let report = project.proctor(["run"]).failure().report();
    assert_eq!((seen(&report).1, seen(&report).2), (json!("NOTHING_CHECKED"), json!(0)));
}
