//! `home = "overlay"`: an action writes to a home of its own, and only where namespaces give it one.

use std::fs;

use crate::common::{Project, directory_outside_of_temporary_ones};

#[test]
fn an_overlay_of_home_shows_what_is_named_and_takes_writes_in_namespaces_alone() {
    for (level, expected) in [("namespace", "mine\nwritten\n"), ("landlock", "mine\nrefused\n")] {
        let Some(home) = directory_outside_of_temporary_ones() else { return };
        fs::write(home.path().join("settings"), "mine\n").expect("it is ours");
        let check = "cat \"$HOME/settings\"; { echo theirs >\"$HOME/new\"; } 2>/dev/null && echo written || echo refused\n";
        let toml =
            "[sandbox]\nhome = \"overlay\"\nvisible = [\"~/settings\"]\n[[check]]\nname = \"check\"\ncommand = \"sh check.sh\"\n";
        let project = Project::new().toml(toml).file("check.sh", check);
        let project = project.env("HOME", home.path()).env("PROCTOR_TEST_ISOLATION", level);
        let run = project.proctor(["run"]).any_status();
        assert_eq!(run.status, 0, "{level}: {}", run.snapshot());
        assert_eq!(project.proctor(["show", "--log", "check"]).success().stdout, expected, "{level}");
        assert!(!home.path().join("new").exists(), "{level}");
    }
}
