//! Known green and known red: what one run judged is not tested again, in another worktree of the repository or when a file is changed back.
//! Each attack makes something different that the known run depended on; then the checks run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::Project;
use crate::daemon::start_serving;
use crate::gate::{commit, git, in_repository};

const LONG: Duration = Duration::from_secs(60);

/// Settings of a check that passes by a variable, which no plan and no tree names.
const BY_VARIABLE: &str = "[environment]\npass_environment = [\"LIGHT\"]\n[[check]]\nname = \"light\"\ncommand = [\"sh\", \"-c\", \"test \\\"$LIGHT\\\" != red\"]\n";

/// Settings of a check whose program is installed in the project, if there is one.
pub(crate) const INSTALLED: &str = "[[check]]\nname = \"tool\"\ncommand = [\"sh\", \"check.sh\"]\n";
pub(crate) const CHECK: &str = "if test -e .venv/bin/tool; then exec .venv/bin/tool; fi\n";

/// Adds a worktree of the same commit.
fn second_worktree(project: &Project) -> String {
    let other = project.shared("other").to_str().expect("text").to_owned();
    git(project, &["worktree", "add", "--quiet", "--detach", &other]);
    other
}

/// Returns how the only task of a worktree stands.
#[track_caller]
fn task(project: &Project, worktree: &str) -> Value {
    let status = project.proctor(["status", "--json", worktree]).any_status().json();
    status["projects"][0]["tasks"][0].clone()
}

/// Returns why nothing is known in a worktree.
#[track_caller]
fn why(project: &Project, worktree: &str) -> String {
    project.proctor(["why", "--known", "--project", worktree]).status(5).stdout
}

/// Returns how many runs were made in a worktree.
#[track_caller]
fn runs(project: &Project, worktree: &str) -> usize {
    let log = project.proctor(["log", "--json", worktree]).any_status();
    let runs = serde_json::from_str::<Value>(&log.stdout).ok().and_then(|log| Some(log["runs"].as_array()?.len()));
    runs.unwrap_or_default()
}

/// Makes a virtual environment with a tool, as an installer does: the tool's script names the interpreter in it.
pub(crate) fn install(root: &Path) -> PathBuf {
    let environment = root.join(".venv");
    fs::create_dir_all(environment.join("bin")).expect("it is ours");
    fs::write(environment.join("pyvenv.cfg"), format!("command = python -m venv {}\n", environment.display())).expect("ours");
    symlink("/bin/sh", environment.join("bin/python")).expect("it is ours");
    fs::write(environment.join("bin/tool"), format!("#!{}/bin/python\nexit 0\n", environment.display())).expect("it is ours");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(environment.join("bin/tool"), executable).expect("it is ours");
    environment
}

/// A run that looked at every file of an environment outside of the project is known in another worktree all the same.
#[test]
fn an_environment_outside_of_the_project_is_compared_as_a_whole() {
    let project = Project::new();
    let environment = install(&project.shared("tools"));
    fs::create_dir_all(environment.join("lib/python3.11/site-packages")).expect("it is ours");
    fs::write(environment.join("lib/python3.11/site-packages/one.py"), "one\n").expect("it is ours");
    let tool = environment.join("bin/tool");
    let project = project.toml(&format!("[[check]]\nname = \"tool\"\ncommand = [{:?}]\n", tool.to_string_lossy()));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run", "--fresh-caches"]).success();
    let other = second_worktree(&project);
    project.proctor(["run", "--known", &other]).success();
    assert_eq!((task(&project, &other)["state"].as_str(), runs(&project, &other)), (Some("fresh"), 0));
    fs::write(environment.join("lib/python3.11/site-packages/two.py"), "two\n").expect("it is ours");
    assert!(why(&project, &other).contains("is not as the run saw it"));
}

/// Makes a project with an installed tool, which was tested, and a second worktree.
fn with_installed_tool(lock: Option<&str>) -> (Project, String) {
    let project = Project::new()
        .toml(INSTALLED)
        .file(".gitignore", ".venv/\n")
        .file("check.sh", CHECK)
        .file("pyproject.toml", "[project]\nname = \"shop\"\n");
    let project = lock.iter().fold(project, |project, lock| project.file(lock, "tool==1\n"));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    install(&project.path());
    // The first run hashes the environment, and waits for it.
    project.proctor(["run", "--fresh-caches"]).success();
    let other = second_worktree(&project);
    (project, other)
}

#[test]
fn a_second_worktree_with_tested_content_answers_at_once_and_one_changed_file_is_tested() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let other = second_worktree(&project);
    let known = task(&project, &other);
    assert_eq!(
        (known["state"].as_str(), known["result"].as_str(), known["exitCode"].as_u64()),
        (Some("fresh"), Some("PASSED"), Some(0))
    );
    assert_eq!(known["known"]["root"].as_str(), project.path().to_str(), "{known}");
    let shown = project.proctor(["status", &other]).success().stdout;
    assert!(shown.contains("fresh PASS") && shown.contains("known from ") && !shown.contains("condition"), "{shown}");
    let waited = project.proctor(["wait", "--fresh", &other]).success().stdout;
    assert!(waited.contains("known from "), "{waited}");
    let told = project.proctor(["why", "--known", "--project", &other]).success().stdout;
    assert!(told.starts_with("known from "), "{told}");
    assert_eq!(runs(&project, &other), 0, "nothing was run");
    fs::write(Path::new(&other).join("shop.txt"), "good and more\n").expect("it is ours");
    assert_eq!(task(&project, &other)["known"], Value::Null);
    assert!(why(&project, &other).contains("no run of this repository judged just these files"));
    let waited = project.proctor(["wait", "--fresh", &other]).success().stdout;
    assert!(!waited.contains("known from "), "{waited}");
    assert_eq!(runs(&project, &other), 1);
}

/// Clones the project's repository, and returns the path of the clone.
fn clone(project: &Project, name: &str) -> String {
    let other = project.shared(name).to_str().expect("text").to_owned();
    git(project, &["clone", "--quiet", ".", &other]);
    other
}

/// A fresh clone is no stranger: it has the commit, the files and the rules of a checkout in this store.
#[test]
fn a_fresh_clone_with_tested_content_answers_at_once() {
    for asked in [["status"].as_slice(), &["wait", "--fresh"], &["run", "--known"], &["why", "--known", "--project"]] {
        let project = in_repository();
        project.proctor(["run"]).success();
        let other = clone(&project, "other");
        let answered = project.proctor(asked.iter().copied().chain([other.as_str()])).success().stdout;
        assert!(answered.contains("known from "), "{asked:?}: {answered}");
        assert_eq!(task(&project, &other)["known"]["root"].as_str(), project.path().to_str());
        assert_eq!(runs(&project, &other), 0, "nothing was run");
        let git = ["-C", &other, "commit", "--quiet", "--allow-empty", "--message", "later"];
        crate::gate::git(&project, &git);
        fs::write(Path::new(&other).join("shop.txt"), "good and more\n").expect("it is ours");
        assert_eq!(task(&project, &other)["known"], Value::Null);
    }
}

/// A clone with other rules is tested, and its rules are named; equal files in another repository are another project.
#[test]
fn a_clone_with_other_rules_and_another_repository_with_equal_files_are_not_known() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let other = clone(&project, "other");
    fs::write(Path::new(&other).join("proctor.toml"), "[[check]]\nname = \"one\"\ncommand = [\"true\"]\n").expect("ours");
    let waited = project.proctor(["wait", "--fresh", &other]).any_status();
    assert!(waited.stdout.contains("judged by changed rules") && !waited.stdout.contains("known from "), "{}", waited.stdout);
    let equal = clone(&project, "equal");
    fs::remove_dir_all(Path::new(&equal).join(".git")).expect("it is ours");
    git(&project, &["-C", &equal, "init", "--quiet"]);
    git(&project, &["-C", &equal, "add", "--all"]);
    git(&project, &["-C", &equal, "commit", "--quiet", "--message", "of its own"]);
    let waited = project.proctor(["wait", "--fresh", &equal]).any_status();
    assert!(waited.status != 0 && !waited.stdout.contains("known from "), "{}", waited.stdout);
}

#[test]
fn run_takes_what_is_known_if_it_is_asked_to_and_runs_otherwise() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let other = second_worktree(&project);
    let known = project.proctor(["run", "--known", &other]).success().stdout;
    for check in ["good", "there", "PASSED"] {
        let line = known.lines().find(|line| line.contains(check));
        assert!(line.is_some_and(|line| line.contains(" · known from ../")), "{check}: {known}");
    }
    let report = project.proctor(["run", "--known", "--json", &other]).success();
    assert!(report.stderr.contains("nothing was run; this report is known from "), "{}", report.stderr);
    let mut printed = report.json();
    assert_eq!(printed["knownFrom"]["root"].as_str(), project.path().to_str(), "{printed}");
    printed.as_object_mut().expect("an object").remove("knownFrom");
    assert_eq!(printed, project.proctor(["show", "--json"]).success().json(), "the rest is what is stored");
    assert_eq!(runs(&project, &other), 0, "nothing was run");
    let run = project.proctor(["run", &other]).success();
    assert!(!run.snapshot().contains("known from "), "{}", run.snapshot());
    assert_eq!(runs(&project, &other), 1);
    // A person is told in one line what is known, and it runs.
    let third = project.shared("third").to_str().expect("text").to_owned();
    git(&project, &["worktree", "add", "--quiet", "--detach", &third]);
    let typed = project.proctor(["run", &third]).at_terminal().ended();
    assert_eq!(typed.snapshot().matches("`proctor run --known` takes that verdict").count(), 1, "{}", typed.snapshot());
    assert_eq!(runs(&project, &third), 1);
    fs::write(Path::new(&other).join("shop.txt"), "bad\n").expect("it is ours");
    let unknown = project.proctor(["run", "--known", &other]).status(1);
    assert!(unknown.stderr.contains("nothing is known of these files, so the checks run: "), "{}", unknown.stderr);
}

#[test]
fn a_file_that_is_changed_back_is_known_green_or_red_from_the_projects_own_runs() {
    let project = in_repository();
    project.proctor(["run"]).success();
    project.save("shop.txt", "bad\n");
    project.proctor(["run"]).status(1);
    project.save("shop.txt", "good\n");
    let here = project.path().to_str().expect("text").to_owned();
    let green = task(&project, &here);
    assert_eq!((green["result"].as_str(), green["known"]["root"].as_str()), (Some("PASSED"), None), "{green}");
    project.save("shop.txt", "good again\n");
    project.proctor(["run"]).success();
    project.save("shop.txt", "bad\n");
    let red = project.proctor(["status"]).success().stdout;
    assert!(red.contains("fresh FAIL") && red.contains("known from run "), "{red}");
    assert!(task(&project, &here)["verdict"]["blocking"].as_u64().is_some_and(|blocking| blocking > 0));
    // A person who types `run` wants a run.
    project.proctor(["run"]).status(1);
    assert_eq!(task(&project, &here)["known"], Value::Null, "it is the last run's own");
    // What is red here is not known to another checkout.
    git(&project, &["commit", "--quiet", "-am", "bad"]);
    let other = second_worktree(&project);
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains("a run on just these files failed"));
}

#[test]
fn with_green_and_red_on_equal_content_nothing_is_known() {
    let project = Project::new().toml(BY_VARIABLE).file("shop.txt", "good\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.txt", "a\n");
    project.proctor(["run"]).env("LIGHT", "red").status(1);
    project.proctor(["run"]).env("LIGHT", "green").success();
    let other = second_worktree(&project);
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains("a run on just these files failed"));
}

/// A check passes or fails by a variable. Nothing is known with another one, and the project's own path is no difference.
#[test]
fn what_is_known_was_judged_with_equal_variables() {
    let project = Project::new().toml(BY_VARIABLE).file("shop.txt", "good\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.txt", "a\n");
    let with_own = |root: &str| format!("{root}/bin:/usr/bin:/bin");
    let own = with_own(project.path().to_str().expect("text"));
    project.proctor(["run"]).env("LIGHT", "green").env("TZ", "UTC").env("PATH", &own).success();
    let other = second_worktree(&project);
    let known = |variables: [(&str, &str); 3]| {
        let asked = project.proctor(["why", "--known", "--project", &other]);
        variables.into_iter().fold(asked, |asked, (name, value)| asked.env(name, value)).any_status().stdout
    };
    let path = with_own(&other);
    let equal = [("LIGHT", "green"), ("TZ", "UTC"), ("PATH", path.as_str())];
    assert!(known(equal).starts_with("known from "), "{}", known(equal));
    for (at, (name, value)) in [("LIGHT", "red"), ("TZ", "Asia/Tokyo"), ("PATH", own.as_str())].into_iter().enumerate() {
        let mut different = equal;
        different[at] = (name, value);
        assert!(known(different).contains("other variables than they would have here"), "{name}: {}", known(different));
    }
    // A verdict of the project's own is of its variables, too.
    let own = |zone| project.proctor(["run", "--known"]).env("LIGHT", "green").env("TZ", zone).env("PATH", &own).success();
    assert_eq!(runs(&project, &project.path().display().to_string()), 1);
    assert!(own("UTC").stdout.contains("known from"));
    assert!(own("Asia/Tokyo").stderr.contains("other variables than they would have here"));
    assert_eq!(runs(&project, &project.path().display().to_string()), 2);
    let waited = project.proctor(["wait", "--fresh", &other]).env("LIGHT", "red").status(1);
    assert!(!waited.stdout.contains("known from "), "{}", waited.stdout);
}

#[test]
fn an_ignored_file_that_checks_could_read_here_is_not_believed_away() {
    let project = in_repository();
    commit(&project, ".gitignore", ".env\n");
    project.proctor(["run"]).success();
    let other = second_worktree(&project);
    assert_eq!(task(&project, &other)["result"], "PASSED");
    fs::write(Path::new(&other).join(".env"), "MODE=other\n").expect("it is ours");
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains("ignored files that no digest names: .env"), "{}", why(&project, &other));
}

#[test]
fn a_run_in_an_open_world_or_by_rules_that_nobody_approved_leaves_nothing_known() {
    let project = in_repository();
    commit(&project, "proctor.toml", &format!("[sandbox]\nworld = \"open\"\n{}", crate::gate::CHECKS));
    project.proctor(["run"]).success();
    let other = second_worktree(&project);
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains("open world"), "{}", why(&project, &other));
    let project = in_repository();
    project.proctor(["run"]).success();
    commit(&project, "proctor.toml", &crate::gate::CHECKS.replace("\"-q\", ", ""));
    project.proctor(["run"]).any_status();
    let other = second_worktree(&project);
    assert_eq!(task(&project, &other)["known"], Value::Null);
    why(&project, &other);
}

#[test]
fn an_equal_environment_of_another_checkout_is_known_by_and_a_patched_one_is_not() {
    let (project, other) = with_installed_tool(Some("requirements.txt"));
    let environment = install(Path::new(&other));
    let known = task(&project, &other);
    assert_eq!(
        (known["result"].as_str(), known["known"]["condition"].as_str()),
        (Some("PASSED"), None),
        "{}",
        why(&project, &other)
    );
    let script = fs::read_to_string(environment.join("bin/tool")).expect("it is there");
    fs::write(environment.join("bin/tool"), script.replace("exit 0", "exit 1")).expect("it is ours");
    assert_eq!(task(&project, &other)["result"], Value::Null, "the lock file is the same, and the tool is another");
    assert!(why(&project, &other).contains("bin/tool"), "{}", why(&project, &other));
    project.proctor(["wait", "--fresh", &other]).status(1);
}

#[test]
fn an_environment_that_was_patched_since_the_run_is_not_believed() {
    let (project, other) = with_installed_tool(Some("requirements.txt"));
    let roots = [project.path(), PathBuf::from(&other)];
    install(&roots[1]);
    // Both have the patch now. The run did not.
    for root in roots {
        fs::write(root.join(".venv/bin/further"), "").expect("it is ours");
    }
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains(".venv"), "{}", why(&project, &other));
}

#[test]
fn a_checkout_without_packages_is_known_by_equal_lock_files_alone_and_says_so() {
    let (project, other) = with_installed_tool(Some("requirements.txt"));
    let known = task(&project, &other);
    assert_eq!((known["result"].as_str(), known["known"]["condition"].as_str()), (Some("PASSED"), Some("equal-lock-files")));
    let shown = project.proctor(["status", &other]).success().stdout;
    assert!(shown.contains("by equal lock files: nothing is installed here"), "{shown}");
    let (project, other) = with_installed_tool(None);
    assert_eq!(task(&project, &other)["result"], Value::Null);
    assert!(why(&project, &other).contains("no lock file names those of the run"), "{}", why(&project, &other));
}

#[test]
fn a_watch_takes_what_is_known_of_a_save_unless_each_save_is_to_run() {
    let project = Project::new().toml(crate::gate::CHECKS).file("shop.txt", "good\n");
    let mut watch = project.watch(["."]);
    let is_verdict = |line: &str| line.starts_with("PASSED") || line.starts_with("FAILED");
    watch.wait_for_line("the first verdict", LONG, is_verdict);
    project.save("shop.txt", "bad\n");
    watch.wait_for_line("the red one", LONG, |line| line.starts_with("FAILED"));
    for (text, words) in
        [("good\n", "PASSED · nothing was run: these files are known from run "), ("bad\n", "FAILED · nothing was run")]
    {
        project.save("shop.txt", text);
        watch.wait_for_line("what is known", LONG, |line| line.contains(words));
    }
    let here = project.path().to_str().expect("text").to_owned();
    assert_eq!(runs(&project, &here), 2);
    project.save("proctor.toml", &format!("[run]\nreuse = \"off\"\n{}", crate::gate::CHECKS));
    watch.wait_for_line("the first verdict by these settings", LONG, is_verdict);
    for (text, words) in [("good\n", "PASSED"), ("bad\n", "FAILED"), ("good\n", "PASSED")] {
        let before = runs(&project, &here);
        project.save("shop.txt", text);
        watch.wait_for_line("a run", LONG, |line| line.starts_with(words) && !line.contains("nothing was run"));
        assert!(runs(&project, &here) > before, "each save is run");
    }
    watch.interrupt();
}

/// What a check leaves in the project is named by no digest.
#[test]
fn a_check_that_writes_into_the_project_runs_at_each_save() {
    let writing = crate::gate::CHECKS.replacen("command", "writes = [\"out.txt\"]\ncommand", 1);
    let project = Project::new().toml(&writing).file("shop.txt", "good\n");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the first verdict", LONG, |line| line.starts_with("PASSED"));
    project.save("shop.txt", "good enough\n");
    watch.wait_for_line("the second verdict", LONG, |line| line.starts_with("PASSED"));
    project.save("shop.txt", "good\n");
    watch.wait_for_line("a run", LONG, |line| line.starts_with("PASSED") && !line.contains("nothing was run"));
    watch.interrupt();
    assert_eq!(runs(&project, project.path().to_str().expect("text")), 3);
}

/// Who watches has other variables than whoever typed the run that judged these files.
#[test]
fn a_save_is_run_where_the_known_run_had_other_variables() {
    let project = Project::new().toml(BY_VARIABLE).file("shop.txt", "good\n");
    project.proctor(["run"]).env("LIGHT", "red").status(1);
    project.save("shop.txt", "better\n");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the first verdict", LONG, |line| line.starts_with("PASSED"));
    project.save("shop.txt", "good\n");
    watch.wait_for_line("its own verdict", LONG, |line| line.starts_with("PASSED") && !line.contains("nothing was run"));
    watch.interrupt();
}

#[test]
fn the_service_runs_nothing_in_a_second_worktree_with_known_content() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let daemon = start_serving(&project);
    let other = second_worktree(&project);
    let waited = project.proctor(["wait", "--fresh", "--json", &other]).success().json();
    let known = &waited["project"]["tasks"][0]["known"];
    assert_eq!(
        (waited["project"]["serving"].as_str(), known["root"].as_str()),
        (Some("served"), project.path().to_str()),
        "{waited}"
    );
    fs::write(Path::new(&other).join("shop.txt"), "bad\n").expect("it is ours");
    project.proctor(["wait", "--fresh", &other]).status(1);
    assert_eq!(runs(&project, &other), 1, "only the changed file was tested");
    daemon.interrupt();
}
