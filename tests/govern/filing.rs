//! Tests scenarios 100 to 140, 180 and 190: filing the issue, and what happens to the trail and the repository.

use std::fs;

use crate::govern::scene::{APPROVE, BOUND, RECOVER, SEND, Scene, ended, say};

#[test]
fn s100_a_label_that_is_missing_is_made_once_also_behind_thirty_others() {
    let scene = Scene::new();
    let labels: String = (0..40).map(|number| format!("label-{number}\n")).collect();
    scene.put("tracker/labels", &format!("{labels}Enhancement\n"));
    scene.filed();
    let made: Vec<String> =
        scene.got("tracker/calls").lines().filter(|line| line.starts_with("label create")).map(str::to_owned).collect();
    assert_eq!(made, ["label create --color ededed -- search"]);
    assert!(scene.got("tracker/calls").contains("--limit 1000"));
    let created = scene.got("tracker/calls").lines().find(|line| line.starts_with("issue create")).expect("a call").to_owned();
    assert!(created.ends_with("--label enhancement --label search"), "{created}");
}

#[test]
fn the_repository_that_is_named_is_told_to_the_tracker_each_time() {
    let scene = Scene::new();
    let mut terminal = scene.govern(&["--brief", "ideas/notes.md", "--repo", "owner/name"]);
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
    let calls = scene.got("tracker/calls");
    let without: Vec<&str> = calls.lines().filter(|line| !line.contains("--repo owner/name")).collect();
    assert_eq!(without, ["auth status"]);
}

#[test]
fn s110_a_refusal_of_the_tracker_asks_and_leaves_everything_where_it_is() {
    let scene = Scene::new();
    scene.put("tracker/fail", "");
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "A");
    let shown = terminal.wait_for(RECOVER, BOUND);
    assert!(shown.contains("HTTP 502"), "{shown}");
    assert!(scene.trail("active/notes/006-issue.md").exists() && !scene.trail("done").exists());
}

#[test]
fn s120_retry_asks_the_tracker_again_and_an_issue_that_is_there_is_not_filed_twice() {
    let scene = Scene::new();
    scene.put("tracker/fail", "");
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "A");
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
    assert_eq!(scene.calls("issue create"), 2);

    let scene = Scene::new();
    scene.put("tracker/lose", "");
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "A");
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
    assert_eq!(scene.calls("issue create"), 1, "it was there already");
    assert_eq!(fs::read_dir(scene.project.shared("tracker/issues")).expect("there").count(), 1);
    assert_eq!(scene.json("done/62-notes/008-filed.json")["alreadyThere"], true);
}

#[test]
fn s130_edit_opens_the_editor_at_the_second_gate() {
    let scene = Scene::new();
    scene.put("tracker/fail", "");
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "A");
    let before = scene.got("edited").lines().count();
    scene.put("edit", "case \"$1\" in *draft-human.md) sed -i 's/Saved searches/Kept searches/' \"$1\" ;; esac\n");
    say(&mut terminal, RECOVER, "E");
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
    assert!(scene.got("edited").lines().count() > before);
    assert_eq!(scene.got("tracker/title-62"), "Kept searches\n");
}

#[test]
fn s140_abort_files_nothing_and_fails() {
    let scene = Scene::new();
    scene.put("tracker/fail", "");
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "A");
    say(&mut terminal, RECOVER, "A");
    ended(terminal, 1);
    assert_eq!(fs::read_dir(scene.project.shared("tracker/issues")).expect("there").count(), 0);
    assert!(scene.trail("active/notes/001-brief.md").exists() && !scene.trail("done").exists());
    let mut terminal = scene.resume();
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
}

#[test]
fn s180_the_trail_is_moved_to_what_is_done() {
    let scene = Scene::new();
    scene.filed();
    assert!(!scene.trail("active/notes").exists() && scene.trail("done/62-notes").exists());
    assert!(!scene.project.path().join(".git/proctor-sandboxes/notes").exists());
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn s190_one_commit_has_all_files_of_the_trail_and_nothing_else() {
    let scene = Scene::new();
    scene.project.save(".gitignore", "docs/audit/\n");
    scene.project.save("other.txt", "half done\n");
    scene.git(&["add", "other.txt"]);
    scene.filed();
    assert_eq!(scene.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    let shown = scene.git(&["show", "--name-only", "--format=%s", "HEAD"]);
    let mut lines = shown.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("docs: audit trail of issue #62 (notes)"));
    let committed: Vec<String> = lines.map(|path| path.trim_start_matches("docs/audit/done/62-notes/").to_owned()).collect();
    assert_eq!(committed, scene.names("done/62-notes"));
    assert!(scene.git(&["status", "--porcelain"]).contains("A  other.txt"), "what was staged stays staged");
}
