//! FILE_VALIDATION behind links, and paths of Windows.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_actions::{entry, judged, shell, specification, step, with_specification, with_steps};

fn exists(path: &str) -> Value {
    step("FILE_VALIDATION", json!({ "filePath": path, "validationType": "EXISTS" }))
}

/// Packages as pnpm and uv install them: behind links, and with several names.
fn packages() -> Project {
    let project = Project::new()
        .file(".gitignore", "node_modules\n.venv\n")
        .file("package.json", "{}")
        .file("node_modules/.pnpm/b@1/node_modules/b/index.js", "module.exports = 1")
        .file(".venv/pyvenv.cfg", "home = /usr/bin\n")
        .file(".venv/lib/a.py", "A = 1\n")
        .file("src/a.txt", "text");
    let root = project.path();
    let link = |target: &str, name: &str| symlink(target, root.join(name)).expect("a link");
    link(".pnpm/b@1/node_modules/b", "node_modules/b");
    link("/etc/passwd", "out");
    link("src/gone", "dangling");
    fs::hard_link(root.join(".venv/lib/a.py"), root.join(".venv/lib/b.py")).expect("a second name");
    project
}

#[test]
fn s1_links_within_the_project_are_followed_and_a_link_that_leaves_it_is_never_called_missing() {
    for snapshot in ["auto", "off"] {
        let size = step("FILE_VALIDATION", json!({ "filePath": ".venv/lib/b.py", "validationType": "SIZE_CHECK", "minSize": 1 }));
        let content = step(
            "FILE_VALIDATION",
            json!({ "filePath": "node_modules/b/index.js", "validationType": "CONTENT_MATCH", "expectedContent": "exports" }),
        );
        let steps = [
            exists("node_modules/b/index.js"),
            exists(".venv/lib/a.py"),
            size,
            content,
            exists("out"),
            exists("dangling"),
            exists("src"),
        ];
        let project = with_steps(packages(), &steps).toml(&format!("[sandbox]\nsnapshot = \"{snapshot}\"\n"));
        let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
        for id in ["STEP.1", "STEP.2", "STEP.3", "STEP.4"] {
            assert_eq!(judged(&report, id).0, "FILE_VALID", "{snapshot} {id}: {}", judged(&report, id).1);
        }
        let (code, reason) = judged(&report, "STEP.5");
        assert_eq!(code, "FILE_OUTSIDE", "{reason}");
        assert!(reason.contains("`out` leads to `/etc/passwd`"), "{reason}");
        assert!(entry(&report, "STEP.5")["result"]["fileExists"].is_null(), "nobody looked");
        assert_eq!(judged(&report, "STEP.6").0, "FILE_MISSING");
        assert_eq!(judged(&report, "STEP.7").0, "FILE_INVALID", "a directory is no file");
        assert!(entry(&report, "STEP.7")["result"]["fileExists"].is_null(), "something is there");
    }
}

#[test]
fn what_is_on_disk_and_not_in_the_judged_tree_is_not_called_missing() {
    let project = Project::new().file(".gitignore", "dist\n").file("dist/app.js", "1").file("old.txt", "1");
    fs::create_dir(project.path().join("empty")).expect("a directory");
    let steps = [shell("rm old.txt"), exists("dist/app.js"), exists("empty"), exists("old.txt"), exists("gone")];
    let report = with_steps(project, &steps).toml("").proctor(["run", "--task", "T200", "--json"]).any_status().json();
    for (id, code) in
        [("STEP.2", "FILE_NOT_IN_TREE"), ("STEP.3", "FILE_NOT_IN_TREE"), ("STEP.4", "FILE_MISSING"), ("STEP.5", "FILE_MISSING")]
    {
        let (found, reason) = judged(&report, id);
        assert_eq!(found, code, "{id}: {reason}");
        assert_eq!(reason.contains("proctor why"), code == "FILE_NOT_IN_TREE", "{id}: {reason}");
    }
}

#[test]
fn a_file_that_an_earlier_step_made_is_seen_also_through_a_link_that_it_made() {
    let steps = [shell("mkdir -p out && echo made > out/a.txt && ln -s out/a.txt link"), exists("link"), exists("out/a.txt")];
    let project = with_steps(Project::new(), &steps).toml("");
    let report = project.proctor(["run", "--task", "T200", "--json"]).success().json();
    assert_eq!([judged(&report, "STEP.2").0, judged(&report, "STEP.3").0], ["FILE_VALID", "FILE_VALID"]);
}

#[test]
fn s5_paths_of_another_machine_with_windows_are_paths_below_this_project() {
    let steps = [
        exists(r"D:\Work\...\packages\web\src\a.txt"),
        step("TERMINAL_COMMAND", json!({ "command": "cat a.txt", "workingDirectory": r"d:\work\...\packages\web\src" })),
    ];
    let specification = specification(r"D:\Work\...\packages\web", &steps);
    let project = with_specification(Project::new().file("src/a.txt", "text"), &specification).toml("");
    project.proctor(["run", "--task", "T200"]).success();
    let elsewhere = self::specification(r"D:\Work\...\packages\web", &[exists(r"E:\web\src\a.txt"), exists(r"..\api\a.txt")]);
    let project = with_specification(Project::new(), &elsewhere).toml("");
    let output = project.proctor(["check"]).any_status();
    assert_ne!(output.status, 0, "{}", output.snapshot());
    let said = output.stderr + &output.stdout;
    assert!(
        said.contains(r"`E:\web\src\a.txt` does not lie below `globalConfiguration.workspaceRoot`, which is `D:\Work"),
        "{said}"
    );
    assert!(said.contains(r"`..\api\a.txt` leads out of the project by its `..`"), "{said}");
    let posix = self::specification("/srv/web", &[exists(r"D:\web\src\a.txt")]);
    let project = with_specification(Project::new(), &posix).toml("");
    let output = project.proctor(["check"]).any_status();
    assert_ne!(output.status, 0, "{}", output.snapshot());
    let said = output.stderr + &output.stdout;
    assert!(said.contains(r"is a path of Windows"), "{said}");
}
