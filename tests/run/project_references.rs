//! Tests TypeScript projects that refer to each other: the output of earlier builds is never an input of a verdict.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::common::{Project, node_modules};

const COMPILER: &str = r#""compilerOptions": {"composite": true, "outDir": "dist", "strict": true, "types": [], "lib": ["es5"], "skipLibCheck": true}, "include": ["src"]"#;

/// A project `app` that refers to a project `core`, with the real compiler in its packages.
fn project(toml: &str) -> Project {
    let compiler = node_modules().join("typescript/bin/tsc");
    let visible = node_modules().display().to_string();
    let references = r#""references": [{"path": "../core"}]"#;
    let project = Project::new()
        .toml(&format!("[sandbox]\nvisible = [\"{visible}\"]\n{toml}"))
        .executable("node_modules/.bin/tsc", &format!("#!/bin/sh\nexec node {} \"$@\"\n", compiler.display()))
        .file(".gitignore", "dist\n*.tsbuildinfo\nnode_modules\n")
        .file("tsconfig.json", r#"{"files": [], "references": [{"path": "core"}, {"path": "app"}]}"#)
        .file("core/tsconfig.json", &format!("{{{COMPILER}}}"))
        .file("app/tsconfig.json", &format!("{{{COMPILER}, {references}}}"))
        .file("app/src/sum.ts", "import { one } from \"../../core/src/one\";\nexport const two: number = one + 1;\n");
    save(&project, RIGHT);
    project
}

const RIGHT: &str = "export const one: number = 1;\n";
const BROKEN: &str = "export const one: string = \"1\";\n";

fn save(project: &Project, core: &str) {
    project.save("core/src/one.ts", core);
}

/// Runs `tsc -b` in the project itself, as the project's author would.
fn build(project: &Project) {
    let _built = project.command(&project.path().join("node_modules/.bin/tsc"), ["-b"]).success();
    assert!(project.path().join("core/dist/src/one.d.ts").exists(), "it was built");
}

/// Returns the status of the whole run, and the code of the first check's first finding.
fn outcome(report: &Value) -> (Value, Value) {
    let code = report["stepExecution"]["results"][0]["result"]["diagnostics"][0]["code"].clone();
    (report["executionSummary"]["overallStatus"].clone(), code)
}

#[test]
fn stale_declarations_never_make_a_success_and_a_clean_clone_is_judged_like_a_used_one() {
    let project = project("");
    let clean = project.proctor(["run"]).success().report();
    assert_eq!(clean["tree"]["snapshot"]["tested"], "snapshot");
    assert!(!project.path().join("core/dist").exists(), "nothing is built in the project");
    // The build output is made from right sources, and stays when a source is broken afterwards.
    build(&project);
    save(&project, BROKEN);
    let used = project.proctor(["run"]).failure().report();
    for name in ["core/dist", "app/dist"] {
        fs::remove_dir_all(project.path().join(name)).expect("it was built");
    }
    let fresh = project.proctor(["run"]).failure().report();
    assert_eq!((outcome(&used), used["tree"]["before"].clone()), (outcome(&fresh), fresh["tree"]["before"].clone()));
    assert_eq!(outcome(&used).1, "TS2322");
}

#[test]
fn v24_a_build_that_is_newer_than_a_save_that_it_did_not_see_is_not_believed() {
    for toml in ["", "[[check]]\nname = \"build\"\ncommand = \"node_modules/.bin/tsc -b\"\n"] {
        let project = project(toml);
        build(&project);
        save(&project, BROKEN);
        // As after a save while tsc was building, the build output is newer than the broken source.
        for built in ["core/dist/src/one.js", "core/dist/src/one.d.ts", "core/dist/tsconfig.tsbuildinfo"] {
            let file = fs::File::options().append(true).open(project.path().join(built)).expect("it was built");
            file.set_modified(SystemTime::now() + Duration::from_secs(5)).expect("the file is ours");
        }
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(outcome(&report).1, "TS2322", "{toml}");
    }
}

#[test]
fn a_check_that_names_only_its_tool_builds_too() {
    let plan = project("[[check]]\nname = \"types\"\ntool = \"tsc\"\n").proctor(["plan"]).success().stdout;
    assert!(plan.contains("./node_modules/.bin/tsc -b --force ."), "{plan}");
}

#[test]
fn a_written_check_of_one_project_names_the_build_that_it_needs() {
    let project = project("[[check]]\nname = \"app\"\ntool = \"tsc\"\ncommand = \"node_modules/.bin/tsc --noEmit -p app\"\n");
    build(&project);
    let output = project.proctor(["run"]).failure();
    assert_eq!(outcome(&output.report()).1, "TS6305");
    assert!(output.stdout.contains("check with `tsc -b`, which builds it first"), "{}", output.stdout);
    let plan = project.proctor(["plan"]).success().stderr;
    assert!(plan.contains("`app/tsconfig.json` has references"), "{plan}");
}

#[test]
fn a_written_check_of_a_solution_file_is_noted_as_one_that_checks_nothing() {
    let project = project("[[check]]\nname = \"types\"\ncommand = \"npm run types\"\n")
        .file("package.json", r#"{"name": "x", "scripts": {"types": "tsc --noEmit"}}"#);
    let plan = project.proctor(["plan"]).success().stderr;
    assert!(plan.contains("`tsconfig.json` has no files of its own, so this command checks nothing"), "{plan}");
}

#[test]
fn without_a_snapshot_a_discovered_build_says_why_it_cannot_be_judged() {
    let project = project("snapshot = \"off\"\n");
    let report = project.proctor(["run"]).failure().report();
    let result = report["stepExecution"]["results"][0].to_string();
    assert!(result.contains("`tsc -b` writes what it builds") && result.contains("NOT_STARTED"), "{result}");
    assert!(!project.path().join("core/dist").exists(), "nothing is built in the project");
}

/// Whatever the output of a build is called, and whether tsc builds or not: an ignored file that the configuration names as an output is no
/// input of a verdict.
#[test]
fn an_output_that_only_the_configuration_names_is_not_seen() {
    let project = Project::new()
        .toml("[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"look\"\ncommand = [\"find\", \"core\", \"app\", \"-type\", \"f\"]\n")
        .file(".gitignore", "out\nmade\nkept.env\n")
        .file("core/tsconfig.json", r#"{"compilerOptions": {"outDir": "./out", "declarationDir": "../app/made"}}"#)
        .file("core/out/one.d.ts", "export declare const one: number;\n")
        .file("app/made/one.d.ts", "export declare const one: number;\n")
        .file("app/out/other.txt", "no configuration names it\n")
        .file("app/kept.env", "A=1\n");
    let report = project.proctor(["run"]).success().report();
    assert_eq!(report["tree"]["snapshot"]["tested"], "snapshot");
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    let mut seen: Vec<&str> = log.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["app/kept.env", "app/out/other.txt", "core/tsconfig.json"]);
}
