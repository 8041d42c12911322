//! `home = "overlay"`: an action writes to a copy of the home, and only where namespaces give it one.

use std::fs;

use crate::common::{Project, directory_outside_of_temporary_ones};

#[test]
fn a_copy_of_home_takes_writes_in_namespaces_and_no_other_level_lets_them_reach_it() {
    for (level, expected) in [("namespace", "mine\nwritten\n"), ("landlock", "mine\nrefused\n")] {
        let Some(home) = directory_outside_of_temporary_ones() else { return };
        fs::write(home.path().join("settings"), "mine\n").expect("it is ours");
        let check = "cat \"$HOME/settings\"; { echo theirs >\"$HOME/settings\"; } 2>/dev/null && echo written || echo refused\n";
        let toml = "[sandbox]\nhome = \"overlay\"\n[[check]]\nname = \"check\"\ncommand = \"sh check.sh\"\n";
        let project = Project::new().toml(toml).file("check.sh", check);
        let project = project.env("HOME", home.path()).env("PROCTOR_TEST_ISOLATION", level);
        let run = project.proctor(["run"]).any_status();
        assert_eq!(run.status, 0, "{level}: {}", run.snapshot());
        assert_eq!(project.proctor(["show", "--log", "check"]).success().stdout, expected, "{level}");
        assert_eq!(fs::read_to_string(home.path().join("settings")).expect("it is there"), "mine\n", "{level}");
    }
}
