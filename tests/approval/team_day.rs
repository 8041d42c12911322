//! A day of a team: two people and an agent in three working trees, one branch that others merge, and real pytest and Ruff. Nobody is asked
//! anything but about what takes a test or a rule away.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::changed_rules::follow;
use crate::common::{Project, python_checkers, python_plain};
use crate::gate::git;

const CODE: &str = "def total(prices):\n    return sum(prices)\n";
const TESTS: &str = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_nothing():\n    assert total([]) == 0\n";
const SETTINGS: &str = "[tool.pytest.ini_options]\naddopts = \"-p no:cacheprovider\"\n\n[tool.ruff.lint]\nselect = [\"E\"]\n";

/// A person or an agent with a working tree.
struct Member<'a> {
    project: &'a Project,
    tree: PathBuf,
}

impl Member<'_> {
    fn git(&self, arguments: &[&str]) {
        let tree = self.tree.to_str().expect("text");
        git(self.project, &[&["-C", tree], arguments].concat());
    }

    /// Begins a branch on what everybody has.
    fn begin(&self, branch: &str) {
        self.git(&["fetch", "--quiet"]);
        self.git(&["switch", "--quiet", "--create", branch, "--no-track", "origin/main"]);
    }

    fn commit(&self, file: &str, text: &str) {
        let path = self.tree.join(file);
        fs::create_dir_all(path.parent().expect("it has one")).expect("the tree is ours");
        fs::write(path, text).expect("the tree is ours");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", file]);
    }

    /// Runs the checks and asks the gate, as whoever wants to have a branch merged.
    #[track_caller]
    fn is_ready(&self, what: &str) {
        self.run();
        let asked = self.gate();
        assert_eq!(asked.1, 0, "{what}: {}", asked.0);
    }

    #[track_caller]
    fn run(&self) {
        let run = self.project.proctor(["run", "--fresh-caches", self.tree.to_str().expect("text")]).any_status();
        assert_eq!(run.status, 0, "{}", run.snapshot());
    }

    fn gate(&self) -> (Value, i32) {
        let script = r#"cd "$1" && exec "$0" gate --json"#;
        let program = crate::common::proctor().as_os_str().to_owned();
        let words = ["-c".into(), script.into(), program, self.tree.as_os_str().to_owned()];
        let output = self.project.command(Path::new("sh"), words).any_status();
        (serde_json::from_str(&output.stdout).unwrap_or_default(), output.status)
    }

    /// Has the server merge the branch into `main`, in one commit or with all of its commits.
    fn merge(&self, server: &str, is_squashed: bool) {
        self.git(&["push", "--quiet", "--force", "origin", "HEAD:refs/heads/topic"]);
        let there = |arguments: &[&str]| drop(git(self.project, &[&["-C", server], arguments].concat()));
        there(&["fetch", "--quiet"]);
        there(&["merge", "--quiet", "--ff-only", "origin/main"]);
        if is_squashed {
            there(&["merge", "--quiet", "--squash", "origin/topic"]);
            there(&["commit", "--quiet", "-m", "squashed"]);
        } else {
            there(&["merge", "--quiet", "--no-ff", "-m", "merged", "origin/topic"]);
        }
        there(&["push", "--quiet", "origin", "main"]);
    }
}

fn checks(pytest: &str) -> String {
    let (plain, checkers) = (python_plain(), python_checkers());
    format!(
        "[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\"{pytest}]\n\n\
         [[check]]\nname = \"lint\"\ncommand = [{:?}, \"-m\", \"ruff\", \"check\", \"--no-cache\", \".\"]\n",
        plain.to_string_lossy(),
        checkers.to_string_lossy()
    )
}

#[test]
#[ignore = "long tier"]
fn the_day_of_a_team_has_no_needless_question() {
    let project =
        Project::new().toml(&checks("")).file("shop.py", CODE).file("test_shop.py", TESTS).file("pyproject.toml", SETTINGS);
    project.save(".gitignore", "__pycache__/\n.ruff_cache/\n");
    project.save("requirements.txt", "pytest\n");
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "the shop"]);
    let path = |name: &str| project.shared(name).to_str().expect("text").to_owned();
    let (origin, server) = (path("origin"), path("server"));
    git(&project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(&project, &["clone", "--quiet", &origin, &server]);
    git(&project, &["remote", "add", "origin", &format!("file://{origin}")]);
    git(&project, &["fetch", "--quiet", "origin"]);
    git(&project, &["remote", "set-head", "origin", "main"]);
    follow(&project);
    let ann = Member { project: &project, tree: project.path() };
    let [bob, agent] = ["bob", "agent"].map(|name| {
        let tree = path(name);
        git(&project, &["worktree", "add", "--quiet", "--detach", &tree]);
        Member { project: &project, tree: tree.into() }
    });
    for member in [&ann, &bob, &agent] {
        member.is_ready("the morning");
    }
    // A feature in three commits, squashed.
    ann.begin("discount");
    ann.commit("shop.py", &format!("{CODE}\n\ndef discount(price):\n    return price / 2\n"));
    ann.commit("test_discount.py", "from shop import discount\n\n\ndef test_discount():\n    assert discount(4) == 2\n");
    ann.commit("README.md", "The shop has discounts.\n");
    ann.is_ready("a feature");
    ann.merge(&server, true);
    // The agent's own branch of before is rebased and amended.
    agent.git(&["switch", "--quiet", "--create", "tax"]);
    agent.commit("tax.py", "def tax(price):\n    return price * 19 // 100\n");
    agent.commit("test_tax.py", "from tax import tax\n\n\ndef test_tax():\n    assert tax(100) == 19\n");
    agent.is_ready("before the rebase");
    agent.git(&["fetch", "--quiet"]);
    agent.git(&["rebase", "--quiet", "origin/main"]);
    agent.git(&["commit", "--quiet", "--amend", "-m", "tax"]);
    agent.is_ready("a rebase");
    agent.merge(&server, false);
    // A test is renamed, and another one gets a further case.
    bob.begin("names");
    bob.commit("test_shop.py", &TESTS.replace("test_nothing", "test_of_no_prices"));
    bob.is_ready("a renamed test");
    bob.commit("test_tax.py", "from tax import tax\n\n\ndef test_tax():\n    assert tax(100) == 19\n    assert tax(0) == 0\n");
    bob.is_ready("a further case");
    bob.merge(&server, true);
    // A stricter linter, and what it finds is mended.
    ann.begin("strict");
    ann.commit("pyproject.toml", &SETTINGS.replace("[\"E\"]", "[\"E\", \"F\", \"W\"]"));
    ann.commit("shop.py", &format!("{CODE}\n\ndef discount(price):\n    return price // 2\n"));
    ann.is_ready("a stricter linter");
    ann.merge(&server, false);
    // An honest `-q`, a new dependency, and documents.
    bob.begin("quiet");
    bob.commit("pyproject.toml", &SETTINGS.replace("[\"E\"]", "[\"E\", \"F\", \"W\"]").replace("-p no", "-q -p no"));
    bob.is_ready("an honest -q");
    bob.commit("requirements.txt", "pytest\nrich\n");
    bob.commit("docs/guide.md", "How to pay.\n");
    bob.is_ready("a dependency");
    bob.merge(&server, true);
    // The agent writes code, breaks it, and mends it.
    agent.begin("rounding");
    agent.commit("tax.py", "def tax(price):\n    return price * 19 / 100\n");
    agent.commit("tax.py", "def tax(price):\n    return (price * 19) // 100\n");
    agent.commit("test_tax.py", "from tax import tax\n\n\ndef test_tax():\n    assert tax(100) == 19\n    assert tax(10) == 1\n");
    agent.is_ready("what the agent mended");
    agent.merge(&server, true);
    // Other rules are a question for whoever changes them, and for nobody else.
    ann.begin("rules");
    ann.commit("proctor.toml", &checks(", \"-q\""));
    ann.run();
    let (asked, status) = ann.gate();
    assert!(status == 3 && asked.to_string().contains("changed-rules"), "{asked}");
    ann.merge(&server, true);
    for member in [&bob, &agent, &ann] {
        member.begin(&format!("evening-{}", member.tree.file_name().expect("a name").to_string_lossy()));
        member.commit("notes.md", &member.tree.to_string_lossy());
        member.is_ready("rules that were merged");
    }
    // What takes a test away is asked about, all the same.
    agent.commit("test_tax.py", "");
    agent.run();
    let (asked, status) = agent.gate();
    assert!(status == 3 && asked.to_string().contains("test-gone"), "{asked}");
}
