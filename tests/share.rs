//! What others attested answers `status` and `wait` in a colleague's store, says whose word it is, and runs nothing. Each attack makes
//! something different that the word depends on; then it is not believed. Attestations are shared by git and by a directory.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proctor_evidence::{Attestor, Store, attestation_bundle};
use proctor_model::Timestamp;
use serde_json::Value;

use crate::approval::changed_rules::follow;
use crate::attest::{CHECKS, FETCH, NOTES, SIGNERS, clone_of, commit, git, note_of, path_text, put_note, tested};
use crate::common::{Disk, Invocation, Project, SilentMount, fake_tool, poll, proctor, repository};
use crate::daemon::start_serving;
use crate::known::{CHECK, INSTALLED, install};

/// A branch that CI tests and that is not trusted.
const WORK: &str = "work";

/// CI's checkout and a colleague's, each with a store of its own. CI has attested the branch `work`, and the colleague has checked it out
/// and fetched the notes.
struct Team {
    ci: Project,
    colleague: Project,
}

/// Makes a team; `prepare` is called for both checkouts before anything is run there.
fn team_with(checks: &str, prepare: &dyn Fn(&Project)) -> Team {
    let (ci, origin) = tested(checks);
    let colleague = clone_of(&origin);
    follow(&colleague);
    prepare(&ci);
    prepare(&colleague);
    colleague.proctor(["run", "--fresh-caches"]).success();
    with_attested_work(ci, colleague)
}

/// Has CI attest a commit of the branch `work`, and the colleague fetch and check it out.
fn with_attested_work(ci: Project, colleague: Project) -> Team {
    git(&ci, &["switch", "--quiet", "-c", WORK]);
    commit(&ci, "shop.txt", "good\n");
    ci.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["attest"]).success();
    git(&ci, &["push", "--quiet", "--set-upstream", "origin", WORK, NOTES]);
    git(&colleague, &["fetch", "--quiet", "origin"]);
    git(&colleague, &["fetch", "--quiet", "origin", FETCH]);
    git(&colleague, &["switch", "--quiet", WORK]);
    Team { ci, colleague }
}

fn team() -> Team {
    team_with(CHECKS, &|_| ())
}

/// Returns how the project's own checks stand.
#[track_caller]
fn task(project: &Project) -> Value {
    project.proctor(["status", "--json", "."]).any_status().json()["projects"][0]["tasks"][0].clone()
}

#[track_caller]
fn runs(project: &Project) -> usize {
    let log = project.proctor(["log", "--json", "."]).any_status();
    serde_json::from_str::<Value>(&log.stdout).expect("a document")["runs"].as_array().expect("a list").len()
}

#[track_caller]
fn why(project: &Project) -> String {
    project.proctor(["why", "--known"]).status(5).stdout
}

/// Makes sure that the word of CI is not taken, and returns why.
#[track_caller]
fn not_believed(project: &Project) -> String {
    let standing = task(project);
    assert_eq!((&standing["known"], &standing["result"]), (&Value::Null, &Value::Null), "{standing}");
    let before = runs(project);
    let why = why(project);
    assert!(!project.proctor(["wait", "--fresh"]).any_status().stdout.contains("attested by "));
    assert_eq!(runs(project), before + 1, "it was run: {why}");
    why
}

/// Makes sure that a proof of the commit is not taken from CI's word either, and that nobody is told of it.
#[track_caller]
fn not_proved(team: &Team) {
    let gated = team.colleague.proctor(["gate"]).any_status();
    assert!(gated.status != 0 && !gated.stdout.contains("attested by "), "{}", gated.snapshot());
}

/// Has the trusted branch say something else, and fetches it.
fn change_trusted(team: &Team, file: &str, text: &str) {
    git(&team.ci, &["switch", "--quiet", "main"]);
    commit(&team.ci, file, text);
    git(&team.ci, &["push", "--quiet", "origin", "main"]);
    git(&team.colleague, &["fetch", "--quiet", "origin"]);
}

/// Signs the statements of CI's note by its own key, with another text in them.
fn sign_changed(team: &Team, from: &str, to: &str) -> Vec<u8> {
    sign_by(&team.ci, &note_of(&team.ci), &[(from, to)])
}

/// Signs the statements of a note by the key of a project's store, with other texts in them.
fn sign_by(signer: &Project, note: &str, changes: &[(&str, &str)]) -> Vec<u8> {
    let store = Store::open(&signer.root().join("state/proctor")).expect("it is there");
    let attestor = Attestor::open(&store, Timestamp::from_millis(0)).expect("it has a key");
    let signed = note.lines().flat_map(|line| {
        let envelope: Value = serde_json::from_str(line).expect("an envelope");
        let payload = STANDARD.decode(envelope["payload"].as_str().expect("text")).expect("base64");
        let payload = String::from_utf8(payload).expect("text");
        let change = |text: String, (from, to): &(&str, &str)| {
            assert!(text.contains(from) || !text.contains("test-result"), "{text}");
            text.replace(from, to)
        };
        attestor.sign(changes.iter().fold(payload, change).as_bytes())
    });
    signed.collect()
}

/// Puts another note about the checked-out tree in the place of the fetched one.
fn replace_note(team: &Team, note: &[u8]) {
    git(&team.colleague, &["update-ref", "-d", "refs/notes/proctor-attest-fetched"]);
    put_note(&team.colleague, note);
}

#[test]
fn a_colleague_takes_the_word_of_ci_for_its_content_and_runs_what_differs() {
    let team = team();
    let colleague = &team.colleague;
    let known = task(colleague);
    assert_eq!(
        (&known["state"], &known["result"], &known["exitCode"]),
        (&"fresh".into(), &"PASSED".into(), &0.into()),
        "{known}"
    );
    assert_eq!(known["known"]["condition"], "equal-tools", "{known}");
    assert!(known["known"]["attested"]["name"].is_string(), "{known}");
    let name = known["known"]["attested"]["name"].as_str().expect("a name").to_owned();
    let shown = colleague.proctor(["status", "."]).success().stdout;
    assert!(
        shown.contains("fresh PASS") && shown.contains(&format!("attested by {name}, ")) && shown.contains(" ago"),
        "{shown}"
    );
    let waited = colleague.proctor(["wait", "--fresh"]).success().stdout;
    assert!(waited.contains("attested by "), "{waited}");
    assert!(colleague.proctor(["why", "--known"]).success().stdout.starts_with("attested by "));
    let taken = colleague.proctor(["run", "--known"]).success().stdout;
    for check in ["says", "there", "PASSED"] {
        assert!(taken.lines().any(|line| line.contains(check) && line.contains(" · attested by ")), "{taken}");
    }
    let document = colleague.proctor(["run", "--known", "--json"]).success().json();
    assert_eq!(document["project"]["tasks"][0]["known"]["attested"]["name"], name.as_str(), "{document}");
    assert_eq!(runs(colleague), 1, "nothing was run");
    let proved = colleague.proctor(["gate"]).success().stdout;
    assert!(proved.contains(&format!(", attested by {name}")), "{proved}");
    let required = colleague.proctor(["gate", "--json"]).success().json()["required"][0].clone();
    assert_eq!(required["attestedBy"][0], name.as_str(), "{required}");
    assert_eq!(task(&team.ci)["known"], Value::Null, "the own verdict is the own one");
    colleague.save("shop.txt", "better\n");
    assert!(not_believed(colleague).contains("files differ from the commit"));
}

/// A clone in which nothing was run takes the word of CI at once, if the person follows the branch that has its rules.
#[test]
fn a_fresh_clone_of_a_followed_branch_answers_without_a_run() {
    let (ci, origin) = tested(CHECKS);
    let of_ci = with_attested_work(ci, clone_of(&origin)).ci;
    let fresh = |asked: &[&str], prepare: &dyn Fn(&Project)| {
        let clone = clone_of(&origin);
        git(&clone, &["fetch", "--quiet", "origin", FETCH]);
        git(&clone, &["switch", "--quiet", WORK]);
        prepare(&clone);
        let asked = clone.proctor(asked).any_status();
        (clone, asked)
    };
    for asked in [&["status", "."][..], &["wait", "--fresh"], &["run", "--known"], &["why", "--known"]] {
        let (clone, answered) = fresh(asked, &follow);
        assert!(answered.stdout.contains("attested by "), "{asked:?}: {} {}", answered.stdout, answered.stderr);
        assert!(answered.stderr.contains("registered `"), "{}", answered.stderr);
        assert_eq!((runs(&clone), answered.status), (0, 0));
    }
    // Nobody follows a branch; or the rules here are not those of the branch; or the person's branch is no branch of this clone.
    let (clone, answered) = fresh(&["wait", "--fresh"], &|_| ());
    assert!(answered.stdout.contains("not approved"), "{}", answered.stdout);
    drop(clone);
    let other_rules = |clone: &Project| {
        follow(clone);
        commit(clone, "proctor.toml", &format!("{CHECKS}timeout = \"7m\"\n{SIGNERS}"));
    };
    let (_clone, answered) = fresh(&["wait", "--fresh"], &other_rules);
    assert!(answered.stdout.contains("not approved"), "{}", answered.stdout);
    drop(of_ci);
}

#[test]
fn a_run_that_may_take_what_is_attested_takes_it_without_being_asked() {
    let team = team_with(&format!("[run]\nreuse = \"attested\"\n{CHECKS}"), &|_| ());
    let taken = team.colleague.proctor(["run"]).success().stdout;
    assert!(taken.contains("attested by "), "{taken}");
    assert_eq!(runs(&team.colleague), 1);
    let report = team.colleague.proctor(["run", "--json"]).success();
    assert!(report.stderr.contains("there is no report of it here, so the checks run"), "{}", report.stderr);
    assert_eq!(runs(&team.colleague), 2);
}

#[test]
fn with_the_service_nothing_is_run_for_a_wait_that_others_answer() {
    let team = team();
    let daemon = start_serving(&team.colleague);
    let waited = team.colleague.proctor(["wait", "--fresh", "--json"]).success().json();
    assert_eq!(waited["project"]["tasks"][0]["result"], "PASSED", "{waited}");
    daemon.interrupt();
}

#[test]
fn a_revoked_key_is_not_believed() {
    let team = team();
    let other = Project::new().toml(CHECKS);
    other.proctor(["run"]).any_status();
    let key = other.proctor(["key", "export", "--ssh"]).success().stdout;
    change_trusted(&team, "allowed_signers", &key);
    assert_eq!(task(&team.colleague)["known"], Value::Null);
    not_proved(&team);
    assert!(not_believed(&team.colleague).contains("which is not trusted"));
}

#[test]
fn an_older_policy_than_the_trusted_one_is_not_believed() {
    let team = team();
    change_trusted(&team, "proctor.toml", &format!("{CHECKS}{SIGNERS}max_age = \"1s\"\n"));
    poll(Duration::from_secs(20), "the run to be too old", || (task(&team.colleague)["known"] == Value::Null).then_some(()));
    let said = not_believed(&team.colleague);
    assert!(said.contains("the commit asks for less than the trusted one: gate.max_age"), "{said}");
}

#[test]
fn a_forged_note_is_not_believed() {
    let team = team();
    replace_note(&team, note_of(&team.ci).replacen("\"sig\":\"", "\"sig\":\"A", 1).as_bytes());
    not_proved(&team);
    not_believed(&team.colleague);
    // Somebody whom nobody named attests the same content.
    let team = self::team();
    let stranger = clone_of(git(&team.colleague, &["remote", "get-url", "origin"]).stdout.trim());
    git(&stranger, &["switch", "--quiet", WORK]);
    stranger.proctor(["run", "--fresh-caches"]).success();
    stranger.proctor(["attest"]).success();
    replace_note(&team, note_of(&stranger).as_bytes());
    not_proved(&team);
    assert!(not_believed(&team.colleague).contains("not trusted"));
}

#[test]
fn a_note_for_another_tree_is_not_believed() {
    let team = team();
    let note = note_of(&team.ci);
    commit(&team.colleague, "shop.txt", "bad\n");
    replace_note(&team, note.as_bytes());
    assert!(not_believed(&team.colleague).contains("another tree"));
    // The trusted key says it of the tree of another repository.
    let team = self::team();
    let tree = git(&team.ci, &["rev-parse", "HEAD^{tree}"]).stdout.trim().to_owned();
    replace_note(&team, &sign_changed(&team, &tree, &tree.chars().rev().collect::<String>()));
    assert!(not_believed(&team.colleague).contains("another tree"));
}

#[test]
fn a_run_that_ends_a_year_ahead_is_not_believed() {
    let team = team();
    let known = task(&team.colleague);
    let ended = known["known"]["attested"]["ended"].as_str().expect("a time").to_owned();
    let year: u32 = ended[..4].parse().expect("a year");
    let [now, ahead] = [year, year + 1].map(|year| format!("\"ended\":\"{year}"));
    replace_note(&team, &sign_changed(&team, &now, &ahead));
    assert!(not_believed(&team.colleague).contains("ended in the future"));
}

/// The trusted branch alone says who may attest: neither a file that lies here nor one of the commit itself does.
#[test]
fn a_file_of_signers_that_the_working_tree_or_the_commit_itself_has_names_nobody() {
    let Team { ci, colleague } = team();
    let stranger = Project::new().toml(CHECKS);
    stranger.proctor(["run"]).any_status();
    let key = stranger.proctor(["key", "export", "--ssh"]).success().stdout;
    let id = |key: &str| key.split("\"keyId\":\"").nth(1).expect("it is named")[..64].to_owned();
    let trees = || [git(&colleague, &["rev-parse", "HEAD^{tree}"]).stdout.trim().to_owned(), tree_now(&colleague)];
    let attested = trees();
    let ours = fs::read_to_string(ci.path().join("allowed_signers")).expect("it is there");
    colleague.save("allowed_signers", &key);
    assert!(why(&colleague).contains("files differ from the commit"));
    commit(&colleague, "allowed_signers", &key);
    let trees = trees();
    let changes = [(&*attested[0], &*trees[0]), (&*attested[1], &*trees[1]), (&*id(&ours), &*id(&key))];
    let note = sign_by(&stranger, &note_of(&ci), &changes);
    let team = Team { ci, colleague };
    replace_note(&team, &note);
    let why = not_believed(&team.colleague);
    assert!(why.contains("gate.signers") && why.contains("which is not trusted"), "{why}");
}

/// Returns the digest of the present tree.
#[track_caller]
fn tree_now(project: &Project) -> String {
    task(project)["tree"].as_str().expect("a digest").to_owned()
}

#[test]
fn another_platform_is_not_believed_even_from_the_right_key() {
    let team = team();
    let here = format!("linux-{}", std::env::consts::ARCH);
    replace_note(&team, &sign_changed(&team, &here, &here));
    assert_eq!(task(&team.colleague)["result"], "PASSED", "it is the same statement");
    replace_note(&team, &sign_changed(&team, &here, "linux-riscv64"));
    assert!(not_believed(&team.colleague).contains("linux-riscv64"));
}

#[test]
fn a_patched_environment_with_the_same_lock_file_is_not_believed() {
    let prepare = |project: &Project| {
        install(&project.path());
    };
    let checks = INSTALLED.to_owned();
    let team = team_with_files(&checks, &prepare);
    let known = task(&team.colleague);
    assert_eq!(
        known["known"]["condition"],
        "equal-tools",
        "{known}: {}",
        team.colleague.proctor(["why", "--known"]).any_status().stdout
    );
    let tool = team.colleague.path().join(".venv/bin/tool");
    let script = fs::read_to_string(&tool).expect("it is there");
    fs::write(&tool, script.replace("exit 0", "exit 1")).expect("it is ours");
    assert!(why(&team.colleague).contains(".venv"));
    team.colleague.proctor(["wait", "--fresh"]).status(1);
    // Without any packages, the lock file stands for them.
    let team = team_with_files(&checks, &|project| {
        if project.path().join("of-ci").exists() {
            install(&project.path());
        }
    });
    assert_eq!(task(&team.colleague)["known"]["condition"], "equal-lock-files");
}

/// A team whose project has a lock file, and a check that uses what is installed.
fn team_with_files(checks: &str, prepare: &dyn Fn(&Project)) -> Team {
    let (ci, origin) = tested(checks);
    for (file, text) in [(".gitignore", ".venv/\nof-ci\n"), ("check.sh", CHECK), ("requirements.txt", "tool==1\n")] {
        commit(&ci, file, text);
    }
    git(&ci, &["push", "--quiet", "origin", "main"]);
    ci.save("of-ci", "");
    let colleague = clone_of(&origin);
    follow(&colleague);
    prepare(&ci);
    prepare(&colleague);
    fs::remove_file(ci.path().join("of-ci")).expect("it is ours");
    colleague.proctor(["run", "--fresh-caches"]).success();
    with_attested_work(ci, colleague)
}

/// Only a person's word makes a branch one that names the signers: whoever writes `.git` makes any commit the trusted one.
#[test]
fn a_branch_that_nobody_follows_names_nobody() {
    let team = team();
    let path = team.colleague.root().join(crate::common::USER_CONFIGURATION);
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, text.split("\n[[allow]]\nprojects = [\"/**\"]\ngate.follow").next().expect("a text")).expect("it is ours");
    not_proved(&team);
    // Who names the branch on the command line has said whom to believe.
    team.colleague.proctor(["gate", "--policy-from", "refs/remotes/origin/main"]).success();
    assert!(not_believed(&team.colleague).contains("names the signers is followed"));
}

#[test]
fn a_trusted_branch_whose_log_is_gone_names_nobody() {
    let team = team();
    git(&team.colleague, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let _there_may_be_none = fs::remove_file(team.colleague.path().join(".git/logs/refs/remotes/origin/main"));
    assert!(not_believed(&team.colleague).contains("names the signers is followed"));
}

#[test]
fn a_trusted_branch_that_was_moved_here_names_nobody() {
    let team = team();
    // The colleague's agent says that this commit is the trusted one.
    git(&team.colleague, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert!(not_believed(&team.colleague).contains("names the signers is followed"));
}

#[test]
fn a_key_of_this_store_is_no_colleague() {
    let (ci, _) = tested(CHECKS);
    commit(&ci, "shop.txt", "good\n");
    ci.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["attest"]).success();
    let other = path_text(&ci.shared("other"));
    git(&ci, &["worktree", "add", "--quiet", "--detach", &other]);
    // What the own store knows is known by its runs, and an ignored file takes that away.
    commit(&ci, ".gitignore", ".env\n");
    let status = ci.proctor(["status", "--json", &other]).any_status().json();
    assert_eq!(status["projects"][0]["tasks"][0]["known"]["attested"], Value::Null, "{status}");
}

/// Settings with which notes or bundles are shared.
fn sharing(setting: &str) -> String {
    format!("{CHECKS}[share]\n{setting}\n")
}

#[test]
fn notes_are_pushed_and_fetched_once_a_person_approved_the_repository() {
    let (ci, origin) = tested(CHECKS);
    commit(&ci, "proctor.toml", &format!("{}{SIGNERS}", sharing("git = \"origin\"")));
    let refused = ci.proctor(["attest", "--push"]).status(3);
    assert!(refused.stderr.contains("nobody approved it") && refused.stderr.contains("proctor approve"), "{}", refused.stderr);
    ci.approve();
    ci.proctor(["run", "--fresh-caches"]).success();
    git(&ci, &["push", "--quiet", "origin", "main"]);
    git(&ci, &["fetch", "--quiet", "origin"]);
    ci.proctor(["attest", "--push"]).success();
    let two = clone_of(&origin);
    two.proctor(["attest", "--fetch"]).status(3);
    two.approve();
    two.proctor(["attest", "--fetch"]).success();
    git(&two, &["rev-parse", "refs/notes/proctor-attest-fetched"]);
    // Both attest at the same time: the second push is united with the first one.
    two.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["attest", "--push"]).success();
    let key = two.proctor(["attest", "--push"]).success();
    assert!(!key.stderr.contains("git did not push"), "{}", key.stderr);
    ci.proctor(["attest", "--fetch"]).success();
    let united = git(&ci, &["notes", "--ref", "refs/notes/proctor-attest-fetched", "show", "HEAD^{tree}"]).stdout;
    assert_eq!(united.lines().count(), 6, "{united}");
}

/// A server of the repositories beside this one, on this machine alone and as long as this lives.
struct GitServer {
    process: Child,
    /// The address of the repository.
    address: String,
}

impl GitServer {
    fn start(repository: &str) -> Self {
        let repository = Path::new(repository);
        let (beside, name) = (repository.parent().expect("a directory"), repository.file_name().expect("a name"));
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let programs = Command::new("git").arg("--exec-path").output().expect("git is there").stdout;
        let programs = String::from_utf8(programs).expect("text");
        let mut server = Command::new(Path::new(programs.trim()).join("git-daemon"));
        server.args(["--export-all", "--listen=127.0.0.1", "--reuseaddr", &format!("--port={port}")]);
        server.arg(format!("--base-path={}", beside.display()));
        let address = format!("git://127.0.0.1:{port}/{}", name.display());
        let started = Self { process: server.stderr(Stdio::null()).spawn().expect("git has it"), address };
        poll(Duration::from_secs(20), "the server", || TcpStream::connect(("127.0.0.1", port)).ok());
        started
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// The repository's configuration names programs, which whatever works in the project can write. The service starts none of them.
#[test]
fn the_service_fetches_notes_and_starts_nothing_that_the_repository_names() {
    let (ci, origin) = tested(&sharing("git = \"origin\""));
    let colleague = clone_of(&origin);
    follow(&colleague);
    colleague.approve();
    colleague.proctor(["run", "--fresh-caches"]).success();
    git(&ci, &["switch", "--quiet", "-c", WORK]);
    commit(&ci, "shop.txt", "good\n");
    ci.approve();
    ci.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["attest"]).success();
    git(&ci, &["push", "--quiet", "--set-upstream", "origin", WORK, NOTES]);
    git(&colleague, &["fetch", "--quiet", "origin"]);
    let trap = path_text(&colleague.shared("trap"));
    let server = GitServer::start(&origin);
    git(&colleague, &["config", "remote.origin.url", &server.address]);
    for key in ["core.fsmonitor", "core.sshCommand", "core.gitProxy", "remote.origin.uploadpack", "credential.helper"] {
        git(&colleague, &["config", key, &format!("touch {trap}; true")]);
    }
    let daemon = start_serving(&colleague);
    let fetched = colleague.root().join("state/proctor/fetched-notes");
    let has_notes = |repository: fs::DirEntry| repository.path().join("refs/notes/proctor-attest-fetched").exists();
    let is_fetched = || fs::read_dir(&fetched).ok()?.flatten().any(has_notes).then_some(());
    poll(Duration::from_secs(60), "the notes", is_fetched);
    daemon.interrupt();
    for key in ["core.fsmonitor", "core.gitProxy"] {
        git(&colleague, &["config", "--unset", key]);
    }
    git(&colleague, &["switch", "--quiet", WORK]);
    assert!(task(&colleague)["known"]["attested"]["name"].is_string(), "{}", task(&colleague));
    colleague.proctor(["verify", "--all"]).success();
    assert!(!Path::new(&trap).exists(), "a program of the repository's configuration was started");
    let notes = colleague.path().join(".git/refs/notes");
    assert!(!notes.exists(), "the project's repository is left alone");
}

/// Makes a team that shares a directory, and no notes.
fn sharing_a_directory() -> (Team, std::path::PathBuf) {
    let (ci, origin) = tested(CHECKS);
    let directory = ci.shared("team");
    fs::create_dir_all(&directory).expect("it is ours");
    let setting = format!("directory = \"{}\"", directory.display());
    commit(&ci, "proctor.toml", &format!("{}{SIGNERS}", sharing(&setting)));
    ci.approve();
    git(&ci, &["push", "--quiet", "origin", "main"]);
    git(&ci, &["fetch", "--quiet", "origin"]);
    let colleague = clone_of(&origin);
    follow(&colleague);
    colleague.approve();
    colleague.proctor(["run", "--fresh-caches"]).success();
    git(&ci, &["switch", "--quiet", "-c", WORK]);
    commit(&ci, "shop.txt", "good\n");
    ci.proctor(["run", "--fresh-caches"]).success();
    let said = ci.proctor(["attest"]).success().stdout;
    assert!(said.contains("shared in `"), "{said}");
    git(&ci, &["push", "--quiet", "--set-upstream", "origin", WORK]);
    git(&colleague, &["fetch", "--quiet", "origin"]);
    git(&colleague, &["switch", "--quiet", WORK]);
    (Team { ci, colleague }, directory)
}

/// Returns the only bundle of a directory, and the directory that lists it.
fn only_bundle(directory: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let only = |directory: std::path::PathBuf| {
        let mut entries = fs::read_dir(directory).expect("it is there");
        let entry = entries.next().expect("one").expect("it is ours").path();
        assert!(entries.next().is_none());
        entry
    };
    (only(directory.join("sha256")), only(directory.join("tree")))
}

#[test]
fn a_bundle_in_the_shared_directory_is_believed_and_twenty_tampered_ones_are_not() {
    let (team, directory) = sharing_a_directory();
    assert_eq!(task(&team.colleague)["result"], "PASSED", "{}", team.colleague.proctor(["why", "--known"]).any_status().stdout);
    let (bundle, listed) = only_bundle(&directory);
    let right = fs::read(&bundle).expect("it can be read");
    fs::remove_file(&bundle).expect("it is ours");
    let text = String::from_utf8(right.clone()).expect("JSON");
    let [begin, end] = [text.find("\"payload\""), text.rfind("\"payload\"")].map(|place| place.expect("two envelopes"));
    for number in 0..20_usize {
        let mut wrong = right.clone();
        // The claim comes first. A summary proves nothing, so changing it would take nothing away.
        wrong[begin + (end - 4 - begin) / 20 * number] ^= 1;
        // One half is wrong by its name, and one half has the right name for its wrong content.
        let digest = proctor_model::Digest::of(if number % 2 == 0 { &right[number..] } else { &wrong });
        fs::write(directory.join("sha256").join(digest.hex()), &wrong).expect("it is ours");
        fs::write(listed.join(digest.hex()), "").expect("it is ours");
    }
    let why = why(&team.colleague);
    assert!(why.contains("another content than its name says"), "{why}");
    assert_eq!(task(&team.colleague)["known"], Value::Null);
    // They take nothing from the right one.
    fs::write(&bundle, &right).expect("it is ours");
    assert_eq!(task(&team.colleague)["result"], "PASSED");
    // What is right for this tree is listed under another one.
    let nothing = attestation_bundle(&[]);
    fs::write(&bundle, nothing).expect("it is ours");
    not_believed(&team.colleague);
}

#[test]
fn a_listing_that_was_copied_to_another_tree_is_not_believed() {
    let (team, directory) = sharing_a_directory();
    let (_, listed) = only_bundle(&directory);
    commit(&team.colleague, "shop.txt", "bad\n");
    fs::rename(listed, directory.join("tree").join(tree_now(&team.colleague))).expect("it is ours");
    assert!(not_believed(&team.colleague).contains("another tree"));
}

#[test]
fn a_bundle_that_is_no_regular_file_is_named_and_holds_nobody_up() {
    let (team, directory) = sharing_a_directory();
    let (bundle, _) = only_bundle(&directory);
    let aside = team.ci.shared("aside");
    fs::rename(&bundle, &aside).expect("it is ours");
    let path = path_text(&bundle);
    for make in [format!("mkfifo '{path}'"), format!("ln -s '{path}' '{path}'"), format!("ln -s /dev/zero '{path}'")] {
        team.ci.command(Path::new("/bin/sh"), ["-c", &make]).success();
        assert!(why(&team.colleague).contains("cannot be read"), "{make}");
        assert_eq!(task(&team.colleague)["known"], Value::Null, "{make}");
        fs::remove_file(&bundle).expect("it is ours");
    }
    fs::rename(&aside, &bundle).expect("it is ours");
    assert_eq!(task(&team.colleague)["result"], "PASSED");
}

#[test]
fn a_full_shared_directory_is_named_and_nothing_of_a_bundle_is_left_there() {
    let (team, directory) = sharing_a_directory();
    for entry in ["sha256", "tree"] {
        fs::remove_dir_all(directory.join(entry)).expect("it is ours");
    }
    let Some(disk) = Disk::mount(directory.clone()) else { return };
    let filled = fs::write(directory.join("filling"), vec![0; 16 << 20]);
    assert_eq!(filled.map_err(|error| error.kind()), Err(std::io::ErrorKind::StorageFull));
    let full = team.ci.proctor(["attest"]).any_status();
    assert!(full.status != 0 && full.stderr.contains("the notes in git have what was attested"), "{}", full.snapshot());
    assert_eq!(fs::read_dir(directory.join("sha256")).expect("it is there").count(), 0);
    assert_eq!(task(&team.colleague)["known"], Value::Null);
    disk.enlarge();
    team.ci.proctor(["attest"]).success();
    assert_eq!(task(&team.colleague)["result"], "PASSED");
    // The mount goes away while it is used: an empty directory stays.
    drop(disk);
    not_believed(&team.colleague);
}

/// The server of the mount does not answer, and then ends, in the middle of the work.
#[test]
#[ignore = "long tier"]
fn a_mount_whose_server_is_gone_is_said_once_and_the_checks_run() {
    let (team, directory) = sharing_a_directory();
    let Some(mut mount) = SilentMount::mount(directory) else { return };
    for (text, why) in [("one\n", "timed out"), ("two\n", "not connected")] {
        team.colleague.save("shop.txt", text);
        let before = runs(&team.colleague);
        let waited = team.colleague.proctor(["wait", "--fresh"]).success();
        assert_eq!(waited.stderr.matches("is not used, because it cannot be read").count(), 1, "{}", waited.snapshot());
        assert!(waited.stderr.contains(why), "{}", waited.snapshot());
        assert_eq!(runs(&team.colleague), before + 1);
        mount.end_server();
    }
    let attested = team.ci.proctor(["attest"]).any_status();
    assert!(attested.status != 0 && attested.stderr.contains("the notes in git have what was attested"), "{}", attested.stderr);
}

#[test]
fn a_directory_that_is_gone_is_said_once_and_the_checks_run() {
    let (team, directory) = sharing_a_directory();
    fs::remove_dir_all(&directory).expect("it is ours");
    let waited = team.colleague.proctor(["wait", "--fresh"]).success();
    assert_eq!(waited.stderr.matches("is not used, because it cannot be read").count(), 1, "{}", waited.stderr);
    team.colleague.proctor(["run"]).success();
    let attested = team.ci.proctor(["attest"]).any_status();
    assert!(attested.status != 0 && attested.stderr.contains("the notes in git have what was attested"), "{}", attested.stderr);
    assert!(!directory.exists(), "nothing is written where the mount was");
}

#[test]
fn what_is_shared_is_asked_before_it_is_used() {
    let project = Project::new().with_program(fake_tool()).toml(CHECKS);
    project.proctor(["run"]).success();
    for setting in ["git = \"origin\"", "directory = \"/mnt/team\""] {
        project.save("proctor.toml", &sharing(setting));
        let asked = project.proctor(["run"]).any_status();
        assert_eq!(asked.status, 3, "{}", asked.snapshot());
        assert!(asked.stderr.contains("share: "), "{}", asked.stderr);
    }
}

/// Returns the script of the composite action, without its indentation.
fn script_of_action() -> String {
    let text = fs::read_to_string(repository().join("action.yml")).expect("it is there");
    let (_, script) = text.rsplit_once("      run: |\n").expect("its last step is a script");
    script.lines().map(|line| format!("{}\n", line.trim_start_matches("        "))).collect()
}

/// Returns the script of the page's job for GitLab.
fn script_of_gitlab() -> String {
    let job = crate::docs::script("gitlab");
    let (_, lines) = job.split_once("script:\n").expect("it has a script");
    lines.lines().map(|line| format!("{}\n", line.trim_start().trim_start_matches("- "))).collect()
}

/// Runs a job's script in a checkout with a store of its own, as its runner does.
fn job<'p>(checkout: &'p Project, script: &str, variables: &[(&str, &str)]) -> Invocation<'p> {
    let proctor = format!("proctor() {{ '{}' \"$@\"; }}\n", proctor().display());
    let shell = checkout.command(Path::new("/bin/sh"), ["-euc", &format!("{proctor}{script}")]);
    variables.iter().fold(shell, |shell, (name, value)| shell.env(name, value))
}

/// A system of CI: the script of its job, and its variables for a push to a branch, which was at a commit before.
type System = (&'static str, String, fn(&str, &str) -> Vec<(&'static str, String)>);

fn systems() -> [System; 3] {
    fn owned<const N: usize>(variables: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
        variables.map(|(name, value)| (name, value.to_owned())).to_vec()
    }
    fn of_action(branch: &str, before: &str) -> Vec<(&'static str, String)> {
        let pushed = format!("refs/heads/{branch}");
        let places = [("DEFAULT_BRANCH", "main"), ("PROJECT", "."), ("STORE", "")];
        [owned([("POLICY", ""), ("BEFORE", before), ("REF", pushed.as_str())]), owned(places)].concat()
    }
    let github = of_action;
    let forgejo = |branch: &str, before: &str| [of_action(branch, before), owned([("FORGEJO_ACTIONS", "true")])].concat();
    let gitlab = |branch: &str, before: &str| {
        owned([("CI_COMMIT_BRANCH", branch), ("CI_COMMIT_BEFORE_SHA", before), ("CI_DEFAULT_BRANCH", "main")])
    };
    [("github", script_of_action(), github), ("forgejo", script_of_action(), forgejo), ("gitlab", script_of_gitlab(), gitlab)]
}

#[test]
#[ignore = "long tier"]
fn the_jobs_take_what_is_attested_run_what_is_not_and_let_no_commit_choose_its_rules() {
    let (ci, origin) = tested(CHECKS);
    let base = git(&ci, &["rev-parse", "main"]).stdout.trim().to_owned();
    let push = |branch: &str, file: &str, text: &str| {
        git(&ci, &["switch", "--quiet", "-c", branch, "main"]);
        commit(&ci, file, text);
        git(&ci, &["push", "--quiet", "origin", branch]);
    };
    push("attested", "shop.txt", "good\n");
    ci.proctor(["run", "--fresh-caches"]).success();
    ci.proctor(["attest"]).success();
    git(&ci, &["push", "--quiet", "origin", NOTES]);
    push("untested", "shop.txt", "better\n");
    push("weaker", "proctor.toml", &format!("[[check]]\nname = \"says\"\ncommand = \"true\"\n{SIGNERS}"));
    push("red", "proctor.toml", &format!("{CHECKS}[[check]]\nname = \"red\"\ncommand = \"false\"\n{SIGNERS}"));
    let (zeros, weaker) = ("0".repeat(40), git(&ci, &["rev-parse", "weaker"]).stdout.trim().to_owned());
    for (name, script, variables) in systems() {
        for (branch, onto, before, status, runs) in [
            ("attested", "main", &base, 0, false),
            ("attested", "attested", &zeros, 0, false),
            ("untested", "main", &base, 0, true),
            ("weaker", "main", &base, 3, false),
            // Who pushes a second time is not judged by what was pushed first, but for the default branch.
            ("weaker", "weaker", &weaker, 3, false),
            ("weaker", "main", &weaker, 0, true),
            ("red", "main", &base, 1, true),
        ] {
            let checkout = clone_of(&origin);
            git(&checkout, &["switch", "--quiet", branch]);
            let variables = variables(onto, before);
            let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let ended = job(&checkout, &script, &variables).any_status();
            assert_eq!(ended.status, status, "{name}, {branch}: {}", ended.snapshot());
            assert_eq!(
                ended.stdout.contains("PASSED") || ended.stdout.contains("FAILED"),
                runs,
                "{name}, {branch}: {}",
                ended.snapshot()
            );
            assert_eq!(
                ended.stdout.contains("::error"),
                name != "gitlab" && status != 0,
                "{name}, {branch}: {}",
                ended.snapshot()
            );
        }
    }
}

#[test]
fn what_other_programs_sign_is_a_file_that_git_alone_can_make_and_the_summary() {
    let (ci, _) = tested(CHECKS);
    let directory = ci.shared("in-toto");
    fs::create_dir_all(ci.shared("")).expect("it is ours");
    ci.proctor(["attest", "--in-toto", &path_text(&directory)]).success();
    let hex = |revision: &str| git(&ci, &["rev-parse", revision]).stdout.trim().to_owned();
    let subject = fs::read_to_string(directory.join("commit.txt")).expect("it was written");
    assert_eq!(subject, format!("git-commit {}\ngit-tree {}\n", hex("HEAD"), hex("HEAD^{tree}")));
    let predicate: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("predicate.json")).expect("it was written")).expect("JSON");
    assert_eq!(
        (&predicate["verificationResult"], &predicate["verifier"]["id"]),
        (&"PASSED".into(), &"urn:proctor:gate:v1".into())
    );
    ci.proctor(["attest", "--in-toto", &path_text(&directory)]).status(2);
}
