//! `proctor prove`: whether the tests of a change fail without the change. Real pytest runs on a repository of each case.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Project, poll, processes_of, python_plain, source_distribution};
use crate::daemon::start_serving;
use crate::gate::{gate, git};
use crate::page::ask_socket;

/// Returns a repository whose only check is real pytest, with one commit.
pub(crate) fn shop() -> Project {
    let python = python_plain();
    let command =
        format!("[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-q\"]\n", python.to_string_lossy());
    let project = Project::new().toml(&command);
    git(&project, &["init", "--quiet"]);
    change(
        &project,
        &[
            ("shop/__init__.py", ""),
            ("shop/vat.py", "RATE = 1.2\n\n\ndef quote(net, kind='normal'):\n    return round(net * RATE, 2)\n"),
            ("tests/test_vat.py", "from shop.vat import quote\n\n\ndef test_normal():\n    assert quote(10) == 12\n"),
        ],
    );
    project
}

/// Saves files and commits them.
pub(crate) fn change(project: &Project, files: &[(&str, &str)]) {
    files.iter().for_each(|(path, text)| project.save(path, text));
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "-m", "a change"]);
}

/// The source of the change in most cases: a reduced rate.
const REDUCED: (&str, &str) = (
    "shop/vat.py",
    "RATE = 1.2\n\n\ndef quote(net, kind='normal', vat=None):\n    return round(net * (1.05 if kind == 'reduced' else RATE), 2)\n\n\ndef label(kind):\n    return kind + ' rate'\n",
);

#[track_caller]
pub(crate) fn prove(project: &Project, arguments: &[&str], status: i32) -> Value {
    let answer = project.proctor(["prove", "--json"].iter().chain(arguments)).status(status).json();
    assert_eq!(answer["exitCode"], status, "{answer}");
    answer
}

/// Returns the word of each test, by its name.
pub(crate) fn words(answer: &Value) -> Vec<(&str, &str)> {
    let tests = answer["tests"].as_array().expect("a list");
    tests.iter().map(|test| (test["test"].as_str().expect("text"), test["word"].as_str().expect("text"))).collect()
}

#[test]
fn a_project_without_git_is_refused_with_the_reason() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    let refused = project.proctor(["prove"]).status(2);
    assert!(refused.stderr.contains("is in no git repository"), "{}", refused.stderr);
}

#[test]
fn a_change_without_source_needs_no_test_and_one_without_a_test_is_not_proved() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    git(&project, &["init", "--quiet"]);
    change(&project, &[("shop.py", "a = 1\n")]);
    assert_eq!(prove(&project, &[], 0)["state"], "NO SOURCE", "nothing has changed");
    project.save("README.md", "words\n");
    project.save("uv.lock", "");
    assert_eq!(prove(&project, &[], 0)["state"], "NO SOURCE");
    project.save("tests/test_a.py", "def test_a():\n    assert 1\n");
    let answer = prove(&project, &["--hunks"], 0);
    assert!(answer["notes"].to_string().contains("touched tests that were not run: 1"), "{answer:#}");
    assert_eq!((&answer["state"], &answer["parts"]), (&"NO SOURCE".into(), &serde_json::json!([])));
    std::fs::remove_file(project.path().join("tests/test_a.py")).expect("it is ours");
    project.save("shop.py", "a = 2\n");
    let answer = prove(&project, &[], 1);
    assert_eq!(answer["summary"], "the change has source, and no test was added or changed with it");
    let listed = project.proctor(["log"]).any_status().stdout;
    assert!(!listed.contains("PASSED"), "no run is recorded: {listed}");
}

/// Returns what the gate says of the tests of the change of the last commit.
#[track_caller]
fn gate_of_change(project: &Project, status: i32) -> Value {
    let answer = gate(project, &["--policy-from", "HEAD~1"], status);
    answer["required"].as_array().expect("a list").iter().find(|one| one["kind"] == "change").expect("it is asked for").clone()
}

#[test]
fn a_gate_that_asks_for_a_proof_takes_the_stored_answer_about_this_content_since_the_trusted_commit() {
    let project = Project::new().toml("[gate]\nprove = \"tests\"\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    git(&project, &["init", "--quiet"]);
    change(&project, &[("shop.py", "a = 1\n")]);
    change(&project, &[("README.md", "words\n")]);
    project.proctor(["run", "--fresh-caches"]).success();
    let missing = gate_of_change(&project, 3);
    assert_eq!((missing["state"].as_str(), missing["words"][0].as_str()), (Some("not-accepted"), Some("change-not-proved")));
    let said = project.proctor(["gate", "--policy-from", "HEAD~1"]).status(3).stdout;
    assert!(said.contains("tests of the change: no answer of `proctor prove` since "), "{said}");
    assert_eq!(said.matches("next: ").count(), 1, "{said}");
    assert!(said.contains("..HEAD` where it is checked out"), "{said}");
    // An answer since another commit says nothing of the whole change.
    prove(&project, &["HEAD"], 0);
    gate_of_change(&project, 3);
    prove(&project, &["HEAD~1..HEAD"], 0);
    assert_eq!(gate_of_change(&project, 0)["state"], "proved");
    let said = project.proctor(["gate", "--policy-from", "HEAD~1"]).success().stdout;
    assert!(said.contains("tests of the change: NO SOURCE since "), "{said}");
    let statements = project.proctor(["attest", "--dry-run", "--policy-from", "HEAD~1"]).success().json();
    let types: Vec<&str> =
        statements.as_array().expect("a list").iter().filter_map(|one| one["predicateType"].as_str()).collect();
    assert!(types.contains(&"urn:proctor:proved-change:v1"), "{types:?}");
    project.proctor(["verify"]).success();
    // Source without a test is not proved, and the newest answer counts.
    change(&project, &[("shop.py", "a = 2\n")]);
    project.proctor(["run", "--fresh-caches"]).success();
    prove(&project, &["HEAD~1..HEAD"], 1);
    let reason = gate_of_change(&project, 3)["reasons"][0].clone();
    assert_eq!(reason, "NOT PROVED · the change has source, and no test was added or changed with it");
    // Another content than that of the working tree is no tree that checks could test.
    project.save("note.txt", "new\n");
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert!(answer["notes"].to_string().contains("not stored as evidence"), "{answer}");
}

#[test]
fn the_page_is_told_the_last_answer_with_a_word_for_each_test() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    git(&project, &["init", "--quiet"]);
    change(&project, &[("src/lib.rs", "pub fn a() {}\n")]);
    project.proctor(["run"]).success();
    let daemon = start_serving(&project);
    let id = ask_socket(&project, "GET /v1/projects", "").1["projects"][0]["id"].as_str().expect("an id").to_owned();
    let ask = || ask_socket(&project, &format!("GET /v1/projects/{id}/proof"), "");
    let (code, nothing) = ask();
    assert_eq!((code, &nothing["schema"], &nothing["answer"]), (200, &"proctor-last-proof-v1".into(), &Value::Null), "{nothing}");
    project.save("src/lib.rs", "pub fn a() { b() }\n");
    project.save("tests/a.rs", "#[test]\nfn adds() {}\n");
    prove(&project, &[], 1);
    let (_, told) = ask();
    let test = &told["answer"]["tests"][0];
    assert_eq!((&test["test"], &test["word"]), (&"tests/a.rs::adds".into(), &"not tried".into()), "{told:#}");
    assert!(told["stored"].is_string() && told["answer"]["state"] == "NOT PROVED", "{told:#}");
    daemon.interrupt();
}

#[test]
fn an_answer_that_was_given_in_an_open_world_is_no_proof() {
    let settings = "[gate]\nprove = \"tests\"\n[sandbox]\nworld = \"open\"\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\n";
    let project = Project::new().toml(settings);
    git(&project, &["init", "--quiet"]);
    change(&project, &[("shop.py", "a = 1\n")]);
    change(&project, &[("README.md", "words\n")]);
    prove(&project, &["HEAD~1..HEAD"], 0);
    let judged = gate_of_change(&project, 3);
    let reason = judged["reasons"][0].as_str().expect("text");
    assert!(reason.starts_with("NO SOURCE · ") && reason.ends_with(", but the tests saw an open world"), "{judged}");
}

#[test]
fn a_change_of_data_or_of_a_binary_file_is_source_also_where_a_merge_brought_it() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    change(&project, &[("shop.py", "a = 1\n")]);
    git(&project, &["switch", "--quiet", "-c", "side"]);
    change(&project, &[("data/rates.json", "{}\n")]);
    std::fs::write(project.path().join("logo.bin"), [0_u8, 159, 146, 150, 255]).expect("a file");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "a picture"]);
    git(&project, &["switch", "--quiet", "main"]);
    change(&project, &[("other.py", "b = 1\n")]);
    git(&project, &["switch", "--quiet", "side"]);
    git(&project, &["merge", "--quiet", "--no-edit", "main"]);
    // What main brought is no part of the change.
    let answer = prove(&project, &["main..side"], 1);
    let files: Vec<(&str, &str)> = answer["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| (file["path"].as_str().expect("text"), file["role"].as_str().expect("text")))
        .collect();
    assert_eq!(files, [("data/rates.json", "source"), ("logo.bin", "source")]);
    assert_eq!(answer["commits"], 3);
}

#[test]
fn what_cannot_be_known_is_not_taken_for_good() {
    let project = Project::new().toml("[[check]]\nname = \"lint\"\ncommand = [\"false\"]\n");
    git(&project, &["init", "--quiet"]);
    change(&project, &[("shop.py", "a = 1\n"), ("test/test_a.py", "")]);
    project.save("test/util.py", "b = 1\n");
    let answer = prove(&project, &[], 1);
    assert_eq!(answer["files"][0]["role"], "test support", "code of which it is doubtful: {answer}");
    project.save("tests/a.rs", "#[test]\nfn adds() {}\n");
    let answer = prove(&project, &[], 1);
    assert_eq!(words(&answer), [("adds", "not tried")]);
    assert_eq!(answer["tests"][0]["seen"], "could not be run: no check runs it with a tool whose errors are told apart");
    let beside = prove(&project, &["--base"], 3);
    assert_eq!(beside["failures"][0]["word"], "cannot tell");
}

#[test]
fn files_that_a_setting_names_belong_to_tests() {
    let roles = |settings: &str, status: i32| {
        let project = Project::new().toml(&format!("{settings}[[check]]\nname = \"a\"\ncommand = [\"true\"]\n"));
        git(&project, &["init", "--quiet"]);
        change(&project, &[("shop.py", "a = 1\n"), ("rules/vat.py", "")]);
        project.save("rules/vat.py", "def test_a():\n    assert 1\n");
        project.save("rules/rates.json", "{}\n");
        let answer = prove(&project, &[], status);
        let files = answer["files"].as_array().expect("a list").iter();
        files.map(|file| file["role"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles("[prove]\ntests = [\"/rules/**\"]\n", 0), ["test support", "test"]);
    assert_eq!(roles("", 1), ["source", "source"]);
}

#[test]
#[ignore = "long tier"]
fn what_a_run_passed_with_the_change_is_not_run_again() {
    let project = shop();
    let test = "from shop.vat import quote\n\n\ndef test_reduced():\n    assert quote(10, 'reduced') == 10.5\n\n\ndef test_same():\n    assert quote(10) == 12\n";
    change(&project, &[REDUCED, ("tests/test_new.py", test)]);
    let is_known = |answer: &Value| answer["notes"].to_string().contains("the outcomes with the change are known from run");
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert!(!is_known(&answer), "{answer:#}");
    project.proctor(["run"]).success();
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert!(is_known(&answer), "{answer:#}");
    assert_eq!(words(&answer), [("test_reduced", "proves it"), ("test_same", "passes either way")]);
    // Another content than that of the run is not known.
    project.save("shop/more.py", "");
    let answer = prove(&project, &["HEAD~1"], 1);
    assert!(!is_known(&answer), "{answer:#}");
}

#[test]
#[ignore = "long tier"]
fn a_test_that_nobody_touched_belongs_to_the_answer_if_it_is_mended_or_broken() {
    let python = python_plain();
    let above = |path: &Path| path.ancestors().nth(2).expect("it lies in bin").display().to_string();
    let visible = [above(&python), above(&python.canonicalize().expect("it is there"))];
    // A shell command cannot be asked for tests by name.
    let check = format!(
        "[sandbox]\nvisible = {visible:?}\n[[check]]\nname = \"tests\"\ntool = \"pytest\"\nshell = true\ncommand = \"{} -m pytest -q\"\n",
        python.display()
    );
    let project = shop().toml(&check);
    let red = "from shop.vat import quote\n\n\ndef test_red():\n    assert quote(10, 'reduced') == 10.5\n\n\ndef test_green():\n    assert quote(10) == 12\n";
    change(&project, &[("tests/test_old.py", red)]);
    let new = "from shop.vat import quote\n\n\ndef test_new():\n    assert quote(20, 'reduced') == 21\n";
    change(&project, &[REDUCED, ("tests/test_new.py", new)]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 0);
    assert_eq!(words(&answer), [("test_new", "proves it"), ("test_red", "proves it")], "{answer:#}");
    let told = &answer["tests"][1];
    assert_eq!(
        (&told["touched"], &told["added"], &told["id"]),
        (&false.into(), &false.into(), &"tests/test_old.py::test_red".into())
    );
    let broken = "from shop.vat import quote\n\n\ndef test_broken():\n    assert quote(30, 'reduced') == 36\n";
    project.save("tests/test_broken.py", broken);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--amend", "--no-edit"]);
    // It is added with the change here, and stays as it was below.
    assert_eq!(words(&prove(&project, &["HEAD~1..HEAD"], 1))[0], ("test_broken", "newly fails"));
    git(&project, &["reset", "--quiet", "--hard", "HEAD~1"]);
    change(&project, &[("tests/test_broken.py", broken)]);
    change(&project, &[REDUCED, ("tests/test_new.py", new)]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert_eq!(
        words(&answer),
        [("test_new", "proves it"), ("test_broken", "newly fails"), ("test_red", "proves it")],
        "{answer:#}"
    );
    assert_eq!(answer["summary"], "1 test with the change fails or is flaky");
}

/// The last red run of this store says which tests a change may mend without touching them.
#[test]
#[ignore = "long tier"]
fn a_change_of_source_alone_is_proved_by_the_red_test_that_it_mends() {
    let project = shop();
    let old = "from shop.vat import quote\n\n\nclass TestOld:\n    def test_red(self):\n        assert quote(10, 'reduced') == 10.5\n\n\ndef test_still():\n    assert quote(10) == 13\n";
    change(&project, &[("tests/test_old.py", old), ("tests/test_gone.py", "def test_gone():\n    assert 0\n")]);
    project.proctor(["run"]).status(1);
    std::fs::remove_file(project.path().join("tests/test_gone.py")).expect("it is ours");
    change(&project, &[REDUCED]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 0);
    assert_eq!(words(&answer), [("TestOld::test_red", "proves it")], "{answer:#}");
    let told = &answer["tests"][0];
    assert_eq!((&told["touched"], &told["id"]), (&false.into(), &"tests/test_old.py::TestOld::test_red".into()));
    // Another change of source mends nothing.
    change(&project, &[("shop/vat.py", &*REDUCED.1.replace("RATE", "FULL"))]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert_eq!(answer["summary"], "the change has source, and no test was added or changed with it", "{answer:#}");
}

#[test]
#[ignore = "long tier"]
fn each_test_of_a_change_gets_its_word() {
    let project = shop();
    let tests = "from shop.vat import quote\n\n\ndef test_normal():\n    # reformatted\n    assert quote( 10 ) == 12\n\n\ndef test_reduced():\n    assert quote(10, 'reduced') == 10.5\n\n\ndef test_keyword():\n    assert quote(10, vat=True) == 12\n\n\ndef test_same():\n    assert quote(10) == 12\n\n\ndef test_wrong():\n    assert quote(10) == 13\n";
    let label = "from shop.vat import label\n\n\ndef test_label():\n    assert label('low') == 'low rate'\n";
    change(&project, &[REDUCED, ("tests/test_vat.py", tests), ("tests/test_label.py", label)]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    let expected = [
        ("test_label", "notices it"),
        ("test_reduced", "proves it"),
        ("test_keyword", "notices it"),
        ("test_same", "passes either way"),
        ("test_wrong", "fails before and after"),
    ];
    assert_eq!(words(&answer), expected);
    let seen: Vec<&str> = answer["tests"].as_array().expect("a list").iter().filter_map(|test| test["seen"].as_str()).collect();
    assert_eq!(seen[0], "fails before with new names kept (ImportError before)");
    assert_eq!(seen[2], "TypeError before");
    // The working tree may be another one, and stays as it is.
    project.save("shop/vat.py", "broken(\n");
    project.save("tests/test_untracked.py", "def test_x(): assert 0\n");
    assert_eq!(words(&prove(&project, &["HEAD~1..HEAD"], 1)), expected);
    let shown = project.proctor(["prove", "HEAD~1..HEAD"]).status(1).stdout;
    assert!(shown.ends_with("NOT PROVED · 1 test with the change fails or is flaky\n"), "{shown}");
}

#[test]
#[ignore = "long tier"]
fn a_change_of_the_working_tree_is_proved_by_a_test_that_fails_without_it() {
    let project = shop();
    project.save(REDUCED.0, REDUCED.1);
    project.save(
        "tests/test_new.py",
        "from shop.vat import quote\n\n\ndef test_reduced():\n    assert quote(10, 'reduced') == 10.5\n",
    );
    let answer = prove(&project, &[], 0);
    assert_eq!((answer["state"].as_str(), words(&answer)), (Some("PROVED"), vec![("test_reduced", "proves it")]));
    assert_eq!(answer["summary"], "1 test fails without the change and passes with it");
    // A new package that nothing but the change has is not there before, not even as an empty directory.
    change(&project, &[]);
    project.save("shop/deep/__init__.py", "");
    project.save("shop/deep/rates.py", "LOW = 5\n");
    project.save(
        "tests/test_deep.py",
        "def test_deep():\n    import shop.deep\n    from shop.deep import rates\n    assert rates.LOW == 5\n",
    );
    let answer = prove(&project, &["HEAD"], 3);
    assert_eq!(answer["tests"][0]["seen"], "ModuleNotFoundError before");
}

#[test]
#[ignore = "long tier"]
fn a_base_that_does_not_build_proves_nothing() {
    let project = shop();
    change(&project, &[("shop/vat.py", "def quote(net, kind='normal':\n    return\n")]);
    let test = "from shop.vat import quote\n\n\ndef test_reduced():\n    assert quote(10, 'reduced') == 10.5\n";
    change(&project, &[REDUCED, ("tests/test_new.py", test)]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    assert_eq!(words(&answer), [("test_reduced", "not tried")]);
    assert!(answer["tests"][0]["seen"].as_str().is_some_and(|seen| seen.starts_with("cannot begin before: ")), "{answer}");
}

#[test]
#[ignore = "long tier"]
fn a_killed_answer_leaves_no_process_and_the_next_one_is_whole() {
    let project = shop();
    project.save(REDUCED.0, REDUCED.1);
    let slow = "import time\nfrom shop.vat import quote\ndef test_a():\n    time.sleep(SECONDS)\n    assert quote(10, 'reduced') == 10.5\n";
    project.save("tests/test_a.py", &slow.replace("SECONDS", "60"));
    let begun = || processes_of(project.root()).iter().any(|(_, command)| command.contains("pytest"));
    let mut running = project.proctor(["prove"]).watch();
    poll(Duration::from_secs(60), "pytest runs", || begun().then_some(()));
    running.signal(Signal::SIGKILL);
    assert_eq!(running.ended().status, 128 + 9);
    poll(Duration::from_secs(20), "pytest is gone", || (!begun()).then_some(()));
    project.save("tests/test_a.py", &slow.replace("SECONDS", "0"));
    assert_eq!(prove(&project, &[], 0)["state"], "PROVED");
    let left: Vec<String> =
        files_below(&project.root().join("state")).filter(|path| path.contains("/upper/") || path.contains("junit")).collect();
    assert_eq!(left, Vec::<String>::new());
    project.proctor(["verify"]).success();
}

#[test]
#[ignore = "long tier"]
fn what_was_red_before_is_told_from_what_is_the_changes_own() {
    let project = shop();
    change(&project, &[("tests/test_old.py", "def test_red():\n    assert 0\n\n\ndef test_green():\n    assert 1\n")]);
    project.save("shop/vat.py", "def quote(net, kind='normal'):\n    return 0\n");
    project.save("tests/test_more.py", "def test_more():\n    assert 0\n");
    let answer = project.proctor(["prove", "--base", "--json"]).status(1).json();
    let failures = answer["failures"].as_array().expect("a list").iter();
    let said: Vec<_> = failures.map(|failure| (failure["test"].as_str(), failure["word"].as_str())).collect();
    let expected = [
        (Some("tests/test_more.py::test_more"), Some("yours")),
        (Some("tests/test_old.py::test_red"), Some("was red before")),
        (Some("tests/test_vat.py::test_normal"), Some("yours")),
    ];
    assert_eq!(said, expected);
    git(&project, &["checkout", "--quiet", "--", "."]);
    std::fs::remove_file(project.path().join("tests/test_more.py")).expect("it is ours");
    let shown = project.proctor(["prove", "--base"]).success().stdout;
    assert!(shown.ends_with("0 yours · 1 red before\n"), "{shown}");
}

/// Returns the place, the word and what was seen of each part of the source.
pub(crate) fn parts(answer: &Value) -> Vec<(String, &str, &str)> {
    fn text<'a>(part: &'a Value, key: &str) -> &'a str {
        part[key].as_str().expect("text")
    }
    let parts = answer["parts"].as_array().expect("a list").iter();
    parts
        .map(|part| (format!("{} {}", text(part, "file"), text(part, "function")), text(part, "word"), text(part, "seen")))
        .collect()
}

#[test]
#[ignore = "long tier"]
fn each_part_of_the_source_gets_its_word() {
    let project = shop();
    let sizes = "\n\ndef size():\n    return 1\n\n\ndef double():\n    return size() * 2\n";
    let old = ["RATE = 1.2\n\n\ndef quote(net, kind='normal'):\n    return round(net * RATE, 2)\n", sizes].concat();
    let test = "from shop.vat import double\n\n\ndef test_double():\n    assert double() == 2\n";
    change(&project, &[("shop/vat.py", &old), ("tests/test_size.py", test)]);
    let new = REDUCED.1.to_owned() + &sizes.replace("1\n", "2\n").replace(" * 2", "") + "\n\ndef known():\n    return 1\n";
    let reduced = "from shop.vat import quote\n\n\ndef test_reduced():\n    assert quote(10, 'reduced') == 10.5\n";
    let known = "from shop.vat import known\n\n\ndef test_known():\n    assert known() == 1\n";
    let files =
        [("shop/vat.py", &*new), ("shop/rates.json", "{}\n"), ("tests/test_new.py", reduced), ("tests/test_known.py", known)];
    change(&project, &files);
    let answer = prove(&project, &["HEAD~1..HEAD", "--hunks"], 3);
    let by_double = "tests/test_size.py::test_double";
    let expected = [
        ("shop/rates.json ", "no test notices", ""),
        ("shop/vat.py quote", "noticed", "tests/test_new.py::test_reduced"),
        ("shop/vat.py label", "no test notices", ""),
        ("shop/vat.py size", "noticed", by_double),
        ("shop/vat.py double", "noticed", by_double),
        ("shop/vat.py known", "cannot be taken back alone", ""),
    ];
    assert_eq!(parts(&answer), expected.map(|(place, word, seen)| (place.to_owned(), word, seen)), "{answer:#}");
    let shown = project.proctor(["prove", "HEAD~1..HEAD", "--hunks", "--budget", "10m"]).status(3).stdout;
    assert!(shown.contains("  without shop/vat.py:8 label: no test notices\n"), "{shown}");
    assert!(shown.contains("  without shop/vat.py:4 quote: noticed by tests/test_new.py::test_reduced\n"), "{shown}");
    let answer = prove(&project, &["HEAD~1..HEAD", "--hunks", "--budget", "0"], 3);
    assert!(parts(&answer).iter().all(|(_, word, seen)| (*word, *seen) == ("not tried", "the budget was used up")), "{answer:#}");
    assert_eq!(parts(&answer).len(), expected.len());
    let without = prove(&project, &["HEAD~1..HEAD"], 3);
    assert!(without.get("parts").is_none(), "{without}");
}

/// Files with their contents, or tests with their words.
type Pairs = &'static [(&'static str, &'static str)];

/// Tests that prove nothing, each with what it adds to the change and the words that name it.
const VACUOUS: &[(&str, Pairs, &[&str])] = &[
    (
        "asserts nothing",
        &[("tests/test_a.py", "from shop.vat import quote\ndef test_a():\n    quote(10, 'reduced')\n")],
        &["passes either way"],
    ),
    ("asserts a constant", &[("tests/test_a.py", "def test_a():\n    assert True\n")], &["passes either way"]),
    (
        "asserts the mock",
        &[(
            "tests/test_a.py",
            "from unittest.mock import Mock\ndef test_a():\n    quote = Mock(return_value=10.5)\n    assert quote(10, 'reduced') == 10.5\n",
        )],
        &["passes either way"],
    ),
    (
        "patches what it tests",
        &[(
            "tests/test_a.py",
            "from unittest.mock import patch\nimport shop.vat\ndef test_a():\n    with patch('shop.vat.quote', return_value=10.5):\n        assert shop.vat.quote(10, 'reduced') == 10.5\n",
        )],
        &["passes either way"],
    ),
    (
        "catches everything",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\ndef test_a():\n    try:\n        assert quote(10, 'reduced') == 10.5\n    except Exception:\n        pass\n",
        )],
        &["passes either way"],
    ),
    (
        "imports the wrong module",
        &[
            ("tests/vat.py", "def quote(net, kind): return 10.5\n"),
            ("tests/test_a.py", "from vat import quote\ndef test_a():\n    assert quote(10, 'reduced') == 10.5\n"),
        ],
        &["passes either way"],
    ),
    (
        "is parametrised to nothing",
        &[(
            "tests/test_a.py",
            "import pytest\nfrom shop.vat import quote\n@pytest.mark.parametrize('net', [])\ndef test_a(net):\n    assert quote(net, 'reduced') == 10.5\n",
        )],
        &["not tried"],
    ),
    (
        "calls with a new argument and asserts nothing",
        &[("tests/test_a.py", "from shop.vat import quote\ndef test_a():\n    quote(10, vat=True)\n")],
        &["notices it"],
    ),
    (
        "is skipped",
        &[(
            "tests/test_a.py",
            "import pytest\nfrom shop.vat import quote\n@pytest.mark.skip\ndef test_a():\n    assert quote(10, 'reduced') == 10.5\n",
        )],
        &["not tried"],
    ),
    (
        "is expected to fail",
        &[(
            "tests/test_a.py",
            "import pytest\nfrom shop.vat import quote\n@pytest.mark.xfail\ndef test_a():\n    assert quote(10, 'reduced') == 99\n",
        )],
        &["not tried"],
    ),
    (
        "asserts a tuple",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\ndef test_a():\n    assert (quote(10, 'reduced') == 10.5, 'the rate')\n",
        )],
        &["passes either way"],
    ),
    (
        "returns what it should assert",
        &[("tests/test_a.py", "from shop.vat import quote\ndef test_a():\n    return quote(10, 'reduced') == 10.5\n")],
        &["passes either way"],
    ),
    (
        "asserts behind a condition that is never true",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\ndef test_a():\n    if quote(10) == 0:\n        assert quote(10, 'reduced') == 10.5\n",
        )],
        &["passes either way"],
    ),
    (
        "compares the code with itself",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\ndef test_a():\n    assert quote(10, 'reduced') == quote(10, 'reduced')\n",
        )],
        &["passes either way"],
    ),
    (
        "loops over nothing",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\ndef test_a():\n    for net in ():\n        assert quote(net, 'reduced') == 10.5\n",
        )],
        &["passes either way"],
    ),
    (
        "tests what did not change",
        &[("tests/test_a.py", "from shop.vat import quote\ndef test_a():\n    assert quote(20) == 24\n")],
        &["passes either way"],
    ),
    (
        "expects only some error",
        &[(
            "tests/test_a.py",
            "import pytest\nfrom shop.vat import quote\ndef test_a():\n    with pytest.raises(Exception):\n        quote('ten', 'reduced', None, None)\n",
        )],
        &["passes either way"],
    ),
    (
        "asserts only the type",
        &[("tests/test_a.py", "from shop.vat import quote\ndef test_a():\n    assert isinstance(quote(10, 'reduced'), float)\n")],
        &["passes either way"],
    ),
    (
        "asks only whether the new name is there",
        &[("tests/test_a.py", "from shop.vat import label\ndef test_a():\n    assert label is not None\n")],
        &["passes either way"],
    ),
    (
        "is a method of a class that nothing runs",
        &[(
            "tests/test_a.py",
            "from shop.vat import quote\nclass TestA:\n    def __init__(self): pass\n    def test_a(self):\n        assert quote(10, 'reduced') == 10.5\n",
        )],
        &["not found"],
    ),
];

#[test]
#[ignore = "wide tier"]
fn every_planted_test_that_proves_nothing_is_named() {
    let mut wrong = Vec::new();
    for (what, files, expected) in VACUOUS {
        let project = shop();
        project.save(REDUCED.0, REDUCED.1);
        files.iter().for_each(|(path, text)| project.save(path, text));
        let answer = project.proctor(["prove", "--json"]).any_status().json();
        let said: Vec<&str> = words(&answer).into_iter().map(|(_, word)| word).collect();
        if said != *expected || answer["state"] == "PROVED" {
            wrong.push(format!("{what}: {said:?} {}", answer["tests"]));
        }
    }
    assert_eq!((VACUOUS.len(), wrong), (20, Vec::<String>::new()));
}

/// Pairs of released versions with some of their touched tests. The words were compared by hand with how the tests of the newer version end
/// on the source of the older one.
const RELEASED: &[(&str, &str, &str, Pairs)] = &[
    ("semver", "3.0.1", "3.0.2", &[("test_replace_from_subclass", "proves it")]),
    ("wcwidth", "0.2.12", "0.2.13", &[("test_kr_jamo", "proves it"), ("test_zero_wide_conflict", "passes either way")]),
    (
        "xmltodict",
        "0.13.0",
        "0.14.0",
        &[
            ("XMLToDictTestCase::test_streaming_attrs", "proves it"),
            ("DictToXMLTestCase::test_pretty_print_with_int_indent", "notices it"),
            ("XMLToDictTestCase::test_unicode", "passes either way"),
        ],
    ),
    (
        "pathspec",
        "0.11.2",
        "0.12.0",
        &[
            ("GitWildMatchTest::test_14_issue_81_a", "proves it"),
            ("GitWildMatchTest::test_03_child_double_asterisk", "proves it"),
            ("GitWildMatchTest::test_14_issue_81_b", "passes either way"),
        ],
    ),
    ("toolz", "0.12.0", "0.12.1", &[("test_isiterable", "passes either way")]),
    (
        "more-itertools",
        "10.1.0",
        "10.2.0",
        &[
            ("IterIndexTests::test_stop", "notices it"),
            ("BatchedTests::test_strict", "notices it"),
            ("ClassifyUniqueTests::test_basic", "notices it"),
            ("FirstTests::test_empty", "passes either way"),
        ],
    ),
    (
        "sqlparse",
        "0.4.3",
        "0.4.4",
        &[
            ("test_split_backslash", "passes either way"),
            ("test_comment_between_cte_clauses_issue632", "proves it"),
            ("test_configurable_keywords", "notices it"),
        ],
    ),
    ("deepmerge", "1.1.0", "1.1.1", &[("test_subtypes", "proves it")]),
    (
        "parse",
        "1.20.0",
        "1.20.1",
        &[("test_parser_format", "notices it"), ("test_datetime_with_various_subsecond_precision", "notices it")],
    ),
    // The older source imports a package that the newer one does not need.
    ("isodate", "0.6.1", "0.7.0", &[("test_parse", "not tried")]),
    ("semantic_version", "2.9.0", "2.10.0", &[("VersionTestCase::test_stable_ordering", "proves it")]),
    ("pyasn1", "0.5.0", "0.5.1", &[("BitStringDecoderTestCase::testDefModeChunkedSubstV04", "notices it")]),
    ("h11", "0.13.0", "0.14.0", &[("test_ChunkedReader", "notices it")]),
    (
        "pyflakes",
        "3.0.1",
        "3.1.0",
        &[
            ("TestMatch::test_defined_in_different_branches", "proves it"),
            ("Test::test_redefined_function_shadows_variable", "proves it"),
            ("TestReporter::test_syntaxError", "passes either way"),
        ],
    ),
    // The change brings the grammar of the Python that runs the tests, without which some files cannot be collected. The mending of the second
    // test is another grammar.
    (
        "parso",
        "0.8.2",
        "0.8.3",
        &[
            ("test_search_ancestor", "cannot run before"),
            ("test_lambda_in_comp_if", "proves it"),
            ("test_eof_newline", "notices it"),
        ],
    ),
    // The older distribution has no tests, so all of them are added.
    (
        "unidiff",
        "0.7.4",
        "0.7.5",
        &[
            ("TestUnidiffParser::test_binary_patch", "notices it"),
            ("TestUnidiffParser::test_parse_filename_prefix_with_spaces", "notices it"),
            ("TestHunk::test_missing_length", "passes either way"),
        ],
    ),
    (
        "tabulate",
        "0.8.9",
        "0.8.10",
        &[
            ("test_tabulate_signature", "not tried"),
            ("test_align_column_decimal_with_thousand_separators", "proves it"),
            ("test_maxcolwidth_single_value", "notices it"),
            ("test_wrap_multiword_non_wide", "notices it"),
        ],
    ),
    ("boltons", "23.0.0", "23.1.0", &[("test_pairwise_filled", "notices it"), ("test_indent", "passes either way")]),
    ("tomlkit", "0.12.1", "0.12.2", &[("test_integers_behave_like_ints", "proves it")]),
    // The older distribution has no tests.
    (
        "jmespath",
        "1.0.0",
        "1.0.1",
        &[
            ("TestParserCaching::test_compile_lots_of_expressions", "notices it"),
            ("TestParserCaching::test_thread_safety_of_cache", "proves it"),
            ("TestMergedLists::test_trailing_merged_operator", "passes either way"),
        ],
    ),
    ("schema", "0.7.5", "0.7.7", &[("test_validate_list", "passes either way")]),
    (
        "Markdown",
        "3.4.3",
        "3.4.4",
        &[("TestTOC::test_escaped_char_in_id", "proves it"), ("TestSmarty::test_years", "passes either way")],
    ),
    // The words of these seven were written down from the two texts before anything was run.
    ("pyjwt", "2.10.0", "2.10.1", &[("TestJWT::test_rasise_exception_on_partial_issuer_match", "proves it")]),
    (
        "oauthlib",
        "3.2.1",
        "3.2.2",
        &[
            ("SignatureTests::test_base_string_uri", "notices it"),
            ("UriValidateTest::test_recursive_regex", "proves it"),
            ("UriValidateTest::test_query", "passes either way"),
            ("UriValidateTest::test_ipv6_dual", "not tried"),
        ],
    ),
    ("click", "8.1.2", "8.1.3", &[("test_invalid_flag_combinations", "proves it")]),
    (
        "beautifulsoup4",
        "4.11.1",
        "4.11.2",
        &[
            ("TestPersistence::test_copy_preserves_builder_information", "proves it"),
            ("TestDeprecatedArguments::test_find_type_method_string", "proves it"),
            ("TestTreeModification::test_extend_with_another_tags_contents", "proves it"),
            ("TestUnicodeDammit::test_smart_quotes_to", "passes either way"),
            ("TestNewTag::test_xml_tag_inherits_self_closing_rules_from_builder", "not tried"),
        ],
    ),
    // Two of its files import a package that is not installed, which the person had overlooked: nothing of them can be collected.
    ("funcy", "1.17", "1.18", &[("test_autocurry_docstring", "fails before and after"), ("test_log_durations", "notices it")]),
    ("lark", "1.1.7", "1.1.8", &[("TestStandalone::test_interactive", "notices it")]),
    ("pyparsing", "3.0.8", "3.0.9", &[("Test02_WithoutPackrat::testUnicodeTests", "notices it")]),
];

#[test]
#[ignore = "wide tier"]
fn released_mendings_get_the_words_of_a_person_who_read_them() {
    let mut wrong = Vec::new();
    for (package, before, after, expected) in RELEASED {
        let python = python_plain();
        let command = format!(
            "[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-o\", \"pythonpath=src .\", \"-o\", \"addopts=\"]\n",
            python.to_string_lossy()
        );
        let project = Project::new().toml(&command);
        git(&project, &["init", "--quiet"]);
        for version in [*before, *after] {
            let sources = source_distribution(package, version);
            let mut copy = std::process::Command::new("sh");
            copy.args(["-c", "find . -mindepth 1 -maxdepth 1 ! -name .git ! -name proctor.toml -exec rm -rf {} + && cp -R \"$1\"/. . && rm -f .gitignore", "sh"]);
            assert!(copy.arg(&sources).current_dir(project.path()).status().expect("sh").success());
            git(&project, &["add", "--all", "--force"]);
            git(&project, &["commit", "--quiet", "--message", version]);
        }
        let answer = project.proctor(["prove", "--json", "HEAD~1..HEAD"]).any_status().json();
        let said = words(&answer);
        wrong.extend(expected.iter().filter(|one| !said.contains(one)).map(|one| format!("{package}: {one:?} in {said:?}")));
    }
    assert_eq!((RELEASED.len(), wrong), (29, Vec::<String>::new()));
}

#[test]
#[ignore = "long tier"]
fn a_stop_in_the_middle_leaves_nothing_behind() {
    let project = shop();
    project.save(REDUCED.0, REDUCED.1);
    project.save("tests/test_a.py", "import pathlib, time\ndef test_a():\n    print('begun', flush=True)\n    time.sleep(60)\n");
    let begun = || processes_of(project.root()).iter().any(|(_, command)| command.contains("pytest"));
    let running = project.proctor(["prove"]).watch();
    poll(Duration::from_secs(60), "pytest runs", || begun().then_some(()));
    let ended = running.interrupt();
    assert_eq!(ended.status, 130);
    assert!(ended.stderr.contains("not finished"), "{}", ended.stderr);
    poll(Duration::from_secs(20), "pytest is gone", || (!begun()).then_some(()));
    let left: Vec<String> =
        files_below(&project.root().join("state")).filter(|path| path.contains("/upper/") || path.contains("junit")).collect();
    assert_eq!(left, Vec::<String>::new());
}

fn files_below(directory: &Path) -> impl Iterator<Item = String> {
    let mut waiting = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = waiting.pop() {
        for path in std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            } else {
                found.push(path.display().to_string());
            }
        }
    }
    found.into_iter()
}
