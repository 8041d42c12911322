//! The second call that lists the files of a check whose configuration leaves files out.

use crate::common::Project;
use crate::run::result;

/// A program that plays Ruff: it finds nothing, and its files are its configuration and what is below `src`, unless that is left out.
const RUFF: &str = r#"#!/bin/sh
echo "$*" >> ../shared/calls
case " $* " in
*" --show-files "*)
    echo "$PWD/ruff.toml"
    grep -q exclude ruff.toml || find "$PWD/src" -name '*.py'
    grep -q others ruff.toml && echo "$PWD/other.py"
    exit 0 ;;
esac
echo "All checks passed!"
"#;

fn project(configuration: &str) -> Project {
    let toml = format!("{}[[check]]\nname = \"lint\"\ncommand = \"bin/ruff check .\"\n", crate::common::WRITES_TO_SHARED);
    let project = Project::new().toml(&toml).file("ruff.toml", configuration).file("src/a.py", "import os\n");
    project.executable("bin/ruff", RUFF)
}

fn calls(project: &Project) -> String {
    std::fs::read_to_string(project.shared("calls")).expect("the check wrote it")
}

#[test]
fn a_linter_whose_configuration_leaves_out_every_source_checked_nothing() {
    let excluded = project("extend-exclude = [\"src\"]\n");
    let output = excluded.proctor(["run"]).failure();
    let entry = result(&output.report(), "STEP.1").clone();
    assert_eq!(entry["classification"]["code"], "NOTHING_CHECKED", "{}", output.snapshot());
    assert_eq!(entry["result"]["examined"]["count"], 0, "{entry}");
    assert_eq!(calls(&excluded), "check . --show-files\ncheck .\n");
    let run = output.run_directory();
    for name in ["STEP.1-file-list.log", "STEP.1-file-list.frames"] {
        assert!(run.join(name).is_file(), "{name}");
    }
    excluded.proctor(["verify"]).success();
    // With another source left, the count is known and the result is clean.
    excluded.save("ruff.toml", "extend-exclude = [\"src\"] # others\n");
    let output = excluded.proctor(["run"]).success();
    assert_eq!(result(&output.report(), "STEP.1")["result"]["examined"]["count"], 1, "{}", output.snapshot());
}

#[test]
fn nothing_is_listed_where_no_configuration_leaves_files_out() {
    let project = project("line-length = 100\n");
    project.proctor(["run"]).success();
    assert_eq!(calls(&project), "check .\n");
}
