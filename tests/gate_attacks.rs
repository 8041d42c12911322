//! Ways to make broken code green, each where a commit is trusted, where none is, where the reference was moved to the judged commit, and in a
//! project without git: none proves anything, and the answer has the one word for it.

use std::fs;
use std::path::Path;

use crate::common::Project;
use crate::gate::{commit, gate, git};
use crate::gate_hostile::with_origin;
use crate::toolchains::program;

const CHECKS: &str = "[[check]]\nname = \"unit\"\ncommand = [\"sh\", \"scripts/check.sh\"]\n\
    [[check]]\nname = \"tool\"\ncommand = [\"true\"]\n";
const TESTS: &str = "def test_a():\n    assert good()\n\n\ndef test_b():\n    assert good()\n";

/// What stands beside the judged commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Upstream,
    NoRemote,
    MovedReference,
    /// The project is in no repository, so there is no commit.
    NoGit,
}

/// An attack: its name, the word of the answer, whether the present files are no more complete than the commit is proved, and what it does
/// to the project.
type Attack = (&'static str, &'static str, bool, fn(&Project));

/// The attacks. `other-program` needs nothing but another search path.
const ATTACKS: &[Attack] = &[
    ("the directory is replaced, and registered anew with a weaker plan", "changed-rules", true, |project| {
        project.save("shop.txt", "bad\n");
        project.save("proctor.toml", &CHECKS.replace("\"sh\", \"scripts/check.sh\"", "\"true\""));
        let copy = project.root().join("copy");
        project.command(Path::new("cp"), ["-a", ".", copy.to_str().expect("text")]).success();
        fs::remove_dir_all(project.path()).expect("it is ours");
        fs::rename(copy, project.path()).expect("it is ours");
        project.proctor(["run", "--identity", "new"]).any_status();
    }),
    ("the script that a check starts looks at nothing", "command", false, |project| {
        project.save("shop.txt", "bad\n");
        project.save("scripts/check.sh", "true\n");
    }),
    ("a test is skipped", "test-skipped", false, |project| {
        project.save("test_shop.py", &TESTS.replace("def test_b", "@pytest.mark.skip\ndef test_b"));
    }),
    ("another program is first in the search path", "other-program", true, |project| project.save("shop.txt", "good, bad\n")),
    ("a test is moved to an ignored place", "test-gone", false, |project| {
        project.save("build/test_shop.py", TESTS);
        project.save(".gitignore", "build/\n");
        fs::remove_file(project.path().join("test_shop.py")).expect("it is there");
    }),
];

fn green(beside: Beside) -> Project {
    let project = Project::new().toml(CHECKS);
    project.save("scripts/check.sh", "grep -q good shop.txt\n");
    project.save("test_shop.py", TESTS);
    project.save("shop.txt", "good\n");
    if beside != Beside::NoGit {
        git(&project, &["init", "--quiet"]);
        commit(&project, "notes.txt", "the shop\n");
    }
    project.proctor(["run", "--fresh-caches"]).success();
    if matches!(beside, Beside::Upstream | Beside::MovedReference) {
        with_origin(&project);
        gate(&project, &[], 0);
    }
    project
}

#[test]
#[ignore = "long tier"]
fn what_makes_broken_code_green_proves_nothing_wherever_it_is_done() {
    for (what, word, is_incomplete, attack) in ATTACKS {
        for beside in [Beside::Upstream, Beside::NoRemote, Beside::MovedReference, Beside::NoGit] {
            let project = green(beside);
            attack(&project);
            if beside != Beside::NoGit {
                commit(&project, "notes.txt", "done\n");
            }
            if *word == "other-program" {
                let other = program(&project.root().join("home/fk/bin/true"));
                let directory = Path::new(&other).parent().expect("it has one").display();
                project.proctor(["run"]).env("PATH", format!("{directory}:/usr/bin:/bin")).any_status();
            } else {
                project.proctor(["run", "--fresh-caches"]).any_status();
            }
            if beside == Beside::MovedReference {
                git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
            }
            let complete = project.proctor(["request", "status", "COMPLETE"]).any_status();
            assert!(!is_incomplete || complete.status == 3, "{what}, {beside:?}: {}", complete.snapshot());
            if beside == Beside::NoGit {
                let refused = project.proctor(["gate"]).status(2).stderr;
                assert!(refused.contains("is in no git repository"), "{what}: {refused}");
                project.proctor(["attest"]).status(2);
                continue;
            }
            let answer = project.proctor(["gate", "--json"]).any_status();
            assert_eq!(answer.status, 3, "{what}, {beside:?}: {}", answer.stdout);
            assert!(answer.stdout.contains(&format!("\"{word}\"")), "{what}, {beside:?}: {}", answer.stdout);
            project.proctor(["attest"]).status(3);
        }
    }
}
