//! Runs the demonstration of docs/guides/govern.md exactly as it is printed there.

use std::path::Path;

use crate::common::Project;
use crate::docs::script;
use crate::govern::scene::{APPROVE, SEND, ended, say};

#[test]
fn what_the_page_shows_with_stand_ins_files_an_issue() {
    let mut project = Project::new();
    for (name, value) in [("NAME", "A Person"), ("EMAIL", "person@example.org")] {
        project = project.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    project.command(Path::new("/bin/sh"), ["-euc", &script("govern")]).success();
    let mut terminal = project.govern(["--brief", "idea.md"]).directory("demo").at_terminal();
    let shown = say(&mut terminal, SEND, "S");
    assert!(shown.contains("# Saved searches"), "the editor shows the draft: {shown}");
    say(&mut terminal, APPROVE, "A");
    let output = ended(terminal, 0);
    assert!(output.stdout.contains("https://tracker.example/demo/issues/1"), "{}", output.stdout);
    assert!(project.path().join("demo/docs/audit/done/1-idea/007-filed.json").exists());
}
