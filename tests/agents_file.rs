//! Tests the section about proctor that `proctor init --agents` writes for agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use crate::common::Project;

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);

fn text(project: &Project, name: &str) -> String {
    fs::read_to_string(project.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_section_is_shown_and_written_where_a_person_agrees_and_twice_without_effect() {
    let project = Project::new();
    let refused = project.proctor(["init", "--agents"]).status(3);
    assert!(
        refused.stdout.contains("AGENTS.md (new):") && refused.stdout.contains("  + ## Checks: proctor"),
        "{}",
        refused.snapshot()
    );
    assert!(!project.path().join("AGENTS.md").exists());

    let mut terminal = project.proctor(["init", "--agents"]).at_terminal();
    terminal.wait_for("Write it? [y/N] ", LATE);
    terminal.press("y\n");
    assert_eq!(terminal.ended().status, 0);
    let written = text(&project, "AGENTS.md");
    assert!(written.lines().count() <= 12, "{written}");
    assert!(!project.path().join("CLAUDE.md").exists() && !project.path().join("proctor.toml").exists());
    let again = project.proctor(["init", "--agents"]).success();
    assert_eq!(again.stdout, "AGENTS.md is as it must be\n");
    assert_eq!(text(&project, "AGENTS.md"), written);
}

#[test]
fn what_others_wrote_stays_as_it_is() {
    let project = Project::new().file("CLAUDE.md", "# Mine\r\n\r\nno end of line");
    project.proctor(["init", "--agents", "--yes"]).success();
    let once = text(&project, "CLAUDE.md");
    assert!(once.starts_with("# Mine\r\n\r\nno end of line\r\n\r\n<!-- proctor:begin agents -->\r\n"), "{once:?}");
    assert!(!project.path().join("AGENTS.md").exists(), "the file that is there is enough");
    project.save("CLAUDE.md", &format!("{}below\n", once.replace("## Checks: proctor", "## Old words")));
    let changed = project.proctor(["init", "--agents", "--yes"]).success();
    assert!(changed.stdout.contains("  - ## Old words\n  + ## Checks: proctor\n"), "{}", changed.snapshot());
    assert_eq!(text(&project, "CLAUDE.md"), format!("{once}below\n"));
}

#[test]
fn a_file_that_is_not_plainly_the_projects_own_is_refused_and_left_as_it_is() {
    let refused = |project: &Project, words: &[&str]| {
        let output = project.proctor(["init", "--agents", "--yes"]).status(2);
        for word in words {
            assert!(output.stderr.contains(word), "{word} in {}", output.snapshot());
        }
        assert!(output.stderr.contains("hint: "), "{}", output.snapshot());
    };
    let project = Project::new().file("AGENTS.md", "a\n<!-- proctor:begin agents -->\nb\n").file("CLAUDE.md", "mine\n");
    refused(&project, &["`AGENTS.md`:2: the section begins, and nothing ends it"]);
    assert_eq!(text(&project, "CLAUDE.md"), "mine\n", "nothing is written where one of two files is refused");

    let project = Project::new().file("other.md", "theirs\n");
    symlink("other.md", project.path().join("AGENTS.md")).expect("the directory is ours");
    refused(&project, &["AGENTS.md", "link"]);
    assert_eq!(text(&project, "other.md"), "theirs\n");

    let project = Project::new().file("AGENTS.md", "mine\n");
    fs::set_permissions(project.path().join("AGENTS.md"), fs::Permissions::from_mode(0o444)).expect("it is ours");
    refused(&project, &["`AGENTS.md` is read-only", "chmod u+w AGENTS.md"]);
    assert_eq!(text(&project, "AGENTS.md"), "mine\n");

    let project = Project::new();
    fs::write(project.path().join("AGENTS.md"), b"\xff\xfe\n").expect("it is ours");
    refused(&project, &["AGENTS.md", "not UTF-8"]);
    assert_eq!(fs::read(project.path().join("AGENTS.md")).expect("it is ours"), b"\xff\xfe\n");

    // One text for all agents: the link needs no section of its own.
    let project = Project::new().file("AGENTS.md", "mine\n");
    symlink("AGENTS.md", project.path().join("CLAUDE.md")).expect("the directory is ours");
    project.proctor(["init", "--agents", "--yes"]).success();
    assert!(text(&project, "AGENTS.md").starts_with("mine\n\n<!-- proctor:begin agents -->\n"));
    assert!(project.path().join("CLAUDE.md").is_symlink());
}
