//! Tests approvals by SSH signatures. The signatures are made by OpenSSH itself with keys that proctor never sees.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{LINT, UNIT, approvals, save, weaken};
use crate::common::Project;
use crate::specification_runs::{project, task};

/// The time limit of every wait for a watch or a service.
const BOUND: Duration = Duration::from_secs(60);
/// The check `lint`, which works in the project itself: nothing runs before that is approved.
const OPENS: &str = "[[check]]\nname = \"lint\"\ncommand = [\"true\", \"lint\"]\nsnapshot = \"off\"\n";
pub(crate) const SETTINGS: &str = "[approval]\nrequire_signature = true\nallowed_signers = \"allowed_signers\"\n";

/// Makes a key and returns its file.
#[track_caller]
pub(crate) fn key(project: &Project, name: &str) -> PathBuf {
    fs::create_dir_all(project.shared("")).expect("it is ours");
    let file = project.shared(name);
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &file.to_string_lossy()];
    project.command(Path::new("/usr/bin/ssh-keygen"), arguments).success();
    file
}

/// Returns the line of an `allowed_signers` file for a key.
#[track_caller]
pub(crate) fn allowed(key: &Path) -> String {
    let public = fs::read_to_string(key.with_extension("pub")).expect("it was made with the key");
    format!("{}@example.org {public}", key.file_name().expect("a name").to_string_lossy())
}

/// Writes the document of what is to be approved, and lets a key sign it. Returns the signature's file.
#[track_caller]
pub(crate) fn sign(project: &Project, key: &Path, namespace: &str) -> PathBuf {
    sign_for(project, &[], key, namespace)
}

#[track_caller]
fn sign_for(project: &Project, task: &[&str], key: &Path, namespace: &str) -> PathBuf {
    let request = project.shared("approval.json");
    let signature = project.shared("approval.json.sig");
    let _none = fs::remove_file(&signature);
    fs::write(&request, project.proctor(["approve", "--print"]).arguments(task).success().stdout).expect("it is ours");
    let arguments = ["-Y", "sign", "-n", namespace, "-f", &key.to_string_lossy(), &request.to_string_lossy()];
    project.command(Path::new("/usr/bin/ssh-keygen"), arguments).success();
    signature
}

#[track_caller]
fn approve_by(project: &Project, signature: &Path, status: i32) -> String {
    let output = project.proctor(["approve", "--signature", &signature.to_string_lossy()]).status(status);
    output.stderr
}

/// A project whose checks were approved when it was registered, and the key whose owner may approve.
#[track_caller]
fn registered() -> (Project, PathBuf) {
    let project = Project::new().toml(&format!("{UNIT}{LINT}{SETTINGS}"));
    let lead = key(&project, "lead");
    project.save("allowed_signers", &allowed(&lead));
    project.proctor(["run"]).success();
    (project, lead)
}

#[test]
fn where_a_signature_is_required_nothing_else_approves() {
    let (project, lead) = registered();
    project.save("proctor.toml", &format!("{UNIT}{OPENS}{SETTINGS}"));
    let refused = project.proctor(["run"]).status(3);
    let way = "have it signed: `proctor approve --print > approval.json`, then `proctor approve --signature FILE.sig`";
    assert!(refused.stderr.contains(way) && !refused.stderr.contains("terminal"), "{}", refused.snapshot());
    insta::assert_snapshot!(project.proctor(["approve"]).status(3).snapshot(), @"
    exit status: 3
    --- stderr
    error: task `default` of `proctor.toml` asks for more than was approved
      opens: lint: snapshot: true instead of nothing
      hint: take it back, or have it signed by one of: lead@example.org
      hint: `proctor approve --print > approval.json`, `ssh-keygen -Y sign -n proctor-approval -f KEY approval.json`, then `proctor approve --signature approval.json.sig`
    ");
    let mut terminal = project.proctor(["approve"]).at_terminal();
    terminal.wait_for("signed by one of: lead@example.org", Duration::from_secs(60));
    assert_eq!(terminal.ended().status, 3, "an answer is not asked for");
    let other = key(&project, "agent");
    let refused = approve_by(&project, &sign(&project, &other, "proctor-approval"), 3);
    assert!(refused.contains("no signature, by a key that may approve"), "{refused}");
    approve_by(&project, &sign(&project, &lead, "git"), 3);
    assert_eq!(approvals(&project), Vec::<Value>::new());

    let signature = sign(&project, &lead, "proctor-approval");
    approve_by(&project, &signature, 0);
    let found = approvals(&project);
    assert_eq!((found.len(), &found[0]["reason"]), (1, &json!("person")));
    assert_eq!(found[0]["signature"].as_str(), fs::read_to_string(&signature).ok().as_deref());
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
    assert!(project.proctor(["approve", "--print"]).success().stdout.is_empty(), "nothing is left to approve");
}

#[test]
fn a_running_watch_runs_nothing_until_what_weakens_is_signed() {
    let (project, lead) = registered();
    let mut watch = project.watch([] as [&str; 0]);
    watch.wait_for_line("the first verdict", BOUND, |line| line.starts_with("PASSED"));
    let runs = project.store().committed_runs().len();
    project.save("proctor.toml", &format!("{UNIT}{OPENS}{SETTINGS}"));
    watch.wait_for_line("the weakening", BOUND, |line| line.contains("lint: snapshot: "));
    watch.wait_for_line("what to do", BOUND, |line| line.contains("then `proctor approve --signature FILE.sig`"));
    let other = key(&project, "agent");
    approve_by(&project, &sign(&project, &other, "proctor-approval"), 3);
    project.save("a.txt", "one\n");
    watch.wait_for_line("the weakening again", BOUND, |line| line.contains("lint: snapshot: "));
    assert_eq!(project.store().committed_runs().len(), runs, "nothing was run");
    approve_by(&project, &sign(&project, &lead, "proctor-approval"), 0);
    project.save("a.txt", "two\n");
    watch.wait_for_line("the verdict", BOUND, |line| line.starts_with("PASSED"));
    assert_eq!(watch.interrupt().status, 130);
    assert!(approvals(&project).iter().all(|approval| approval["signature"].is_string()));
    project.proctor(["verify"]).success();
}

#[test]
fn a_service_runs_nothing_until_what_weakens_is_signed() {
    let (project, lead) = registered();
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", BOUND, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    let runs = project.store().committed_runs().len();
    project.save("proctor.toml", &format!("{UNIT}{OPENS}{SETTINGS}"));
    project.proctor(["wait", "--fresh"]).status(3);
    let refused = project.proctor(["run"]).status(3);
    let way = "where a signature is required, `proctor approve --print` and `proctor approve --signature FILE.sig`";
    assert!(refused.stderr.contains(way), "{}", refused.snapshot());
    project.proctor(["approve"]).status(3);
    assert_eq!(project.store().committed_runs().len(), runs, "nothing was run");
    approve_by(&project, &sign(&project, &lead, "proctor-approval"), 0);
    project.proctor(["run"]).success();
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(daemon.interrupt().status, 130);
    assert_eq!(approvals(&project).len(), 1);
    project.proctor(["verify"]).success();
}

#[test]
fn a_signature_holds_once_and_for_what_was_signed_alone() {
    let (project, lead) = registered();
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    let signature = sign(&project, &lead, "proctor-approval");
    // The settings are changed after the signing, so the signature is for another plan and must be refused.
    project.save("proctor.toml", &format!("{}{SETTINGS}", UNIT.replace("20s", "6m")));
    approve_by(&project, &signature, 3);
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    approve_by(&project, &signature, 0);
    project.save("proctor.toml", &format!("{UNIT}{LINT}{SETTINGS}"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    approve_by(&project, &signature, 3);
    let run = project.proctor(["run"]).success();
    assert!(run.stdout.contains("judged by changed rules: lint: removed"), "{}", run.snapshot());
}

#[test]
fn the_setting_and_its_keys_are_approved_by_the_keys_that_were_approved() {
    let (project, lead) = registered();
    let agent = key(&project, "agent");
    let text = format!("{UNIT}{LINT}");
    project.save("proctor.toml", &text);
    let refused = project.proctor(["run"]).status(3);
    assert!(refused.stderr.contains("approval: signers: "), "{}", refused.snapshot());
    project.save("proctor.toml", &format!("{text}{SETTINGS}"));
    project.save("allowed_signers", &format!("{}{}", allowed(&lead), allowed(&agent)));
    let refused = project.proctor(["run"]).status(3);
    assert!(
        refused.stderr.contains("approval: signers: ") && refused.stderr.contains("agent@example.org"),
        "{}",
        refused.snapshot()
    );
    approve_by(&project, &sign(&project, &agent, "proctor-approval"), 3);
    project.save("allowed_signers", &allowed(&agent));
    let refused = project.proctor(["run"]).status(3);
    assert!(refused.stderr.contains("approval: signers: "), "{}", refused.snapshot());
    // A file of allowed signers without a usable key must not turn the requirement of a signature off: every run is
    // refused.
    for wrong in ["", "agent@example.org ssh-rsa AAAAB3NzaC1yc2E=\n"] {
        project.save("allowed_signers", wrong);
        project.proctor(["run"]).status(4);
    }
    fs::remove_file(project.path().join("allowed_signers")).expect("it was there");
    project.proctor(["run"]).status(4);
    project.save("allowed_signers", &format!("{}{}", allowed(&lead), allowed(&agent)));
    approve_by(&project, &sign(&project, &lead, "proctor-approval"), 0);
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    approve_by(&project, &sign(&project, &agent, "proctor-approval"), 0);
    project.proctor(["verify"]).success();
}

#[test]
fn a_listed_key_approves_without_a_terminal_where_an_answer_would_do_as_well() {
    let project = Project::new();
    let lead = key(&project, "lead");
    let settings = SETTINGS.replace("true", "false");
    project.save("allowed_signers", &allowed(&lead));
    let project = project.toml(&format!("{UNIT}{LINT}{settings}"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{UNIT}{settings}"));
    approve_by(&project, &sign(&project, &lead, "proctor-approval"), 0);
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{}{settings}", UNIT.replace("20s", "6m")));
    project.approve();
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
}

#[test]
fn a_task_of_a_specification_needs_the_signature_as_well() {
    let project = project(&[task("T117")]);
    let lead = key(&project, "lead");
    project.save("allowed_signers", &allowed(&lead));
    project.save("proctor.toml", SETTINGS);
    project.proctor(["run", "--task", "T117"]).success();
    save(&project, weaken);
    project.save("other.txt", "half-even 2.66\n");
    let run = project.proctor(["run", "--task", "T117"]).any_status();
    assert!(run.stdout.contains("judged by changed rules"), "{}", run.snapshot());
    let refused = project.proctor(["approve", "--task", "T117"]).status(3);
    assert!(refused.stderr.contains("`proctor approve --task T117 --print > approval.json`"), "{}", refused.snapshot());
    let signature = sign_for(&project, &["--task", "T117"], &lead, "proctor-approval");
    project.proctor(["approve", "--task", "T117", "--signature", &signature.to_string_lossy()]).success();
    project.proctor(["run", "--task", "T117"]).success();
    // Without the file `allowed_signers`, proctor knows nobody who may approve, so nothing can be approved and the run
    // is refused.
    fs::remove_file(project.path().join("allowed_signers")).expect("it was there");
    let wrong = project.proctor(["run", "--task", "T117"]).status(4);
    assert!(wrong.stderr.contains("there is no text file `allowed_signers`"), "{}", wrong.snapshot());
    project.proctor(["verify"]).success();
}

#[test]
fn an_approval_that_was_not_signed_is_named_by_verify_and_does_not_count() {
    let (project, lead) = registered();
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    approve_by(&project, &sign(&project, &lead, "proctor-approval"), 0);
    let path = project.store().ledger_path();
    let text = fs::read_to_string(&path).expect("it is text");
    let line = text.lines().find(|line| line.contains("\"kind\":\"approval\"")).expect("there is one");
    let mut forged: Value = serde_json::from_str(line).expect("lines are JSON");
    forged["body"].as_object_mut().expect("a body").remove("signature");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&path, text.replace(line, &forged.to_string())).expect("it is ours");
    let found = project.proctor(["verify"]).status(6);
    assert!(
        found.stdout.contains("approvalWrong: line 3: it is not signed, and a signature is required"),
        "{}",
        found.snapshot()
    );
}
