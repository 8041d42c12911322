//! Has proctor's signatures checked by programs that know nothing of proctor: coreutils, OpenSSH, OpenSSL,
//! securesystemslib. Each accepts a real run and refuses a manipulated copy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::common::{Project, fake_tool, python_signatures};

const SECURE_SYSTEMS: &str = r#"
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

key = SSlibKey.from_crypto(load_pem_public_key(open(sys.argv[1], "rb").read()))
for line in open(sys.argv[2], encoding="utf-8"):
    envelope = Envelope.from_dict(json.loads(line))
    envelope.verify([key], 1)
    print(json.loads(envelope.payload)["predicateType"])
"#;

/// A project with an exported run.
struct Exported {
    project: Project,
}

impl Exported {
    #[track_caller]
    fn new() -> Self {
        let toml = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";
        let project = Project::new().with_program(fake_tool()).toml(toml);
        project.proctor(["run"]).success();
        let to = project.shared("export");
        project.proctor(["export", "--to"]).arguments([to.to_str().expect("a temporary path is text")]).success();
        Self { project }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.project.shared("export").join(name)
    }

    fn statements(&self) -> PathBuf {
        let files = fs::read_dir(self.path("run")).expect("it was exported").flatten().map(|entry| entry.path());
        files.into_iter().find(|path| path.to_string_lossy().ends_with(".intoto.jsonl")).expect("the run is signed")
    }

    /// Replaces a text in a file of the export.
    #[track_caller]
    fn change(&self, path: &Path, from: &str, to: &str) {
        let text = fs::read_to_string(path).expect("it is text");
        assert!(text.contains(from), "{text}");
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
        fs::write(path, text.replacen(from, to, 1)).expect("it is ours");
    }

    /// Runs the commands of the block in the export's README that contains `word`. Returns whether they succeed.
    #[track_caller]
    fn accepts(&self, word: &str) -> bool {
        let readme = fs::read_to_string(self.path("README.md")).expect("an export says how to check it");
        let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
        for line in readme.lines() {
            match line.strip_prefix("    ") {
                Some(command) => blocks.last_mut().expect("there is one").push(command),
                None => blocks.push(Vec::new()),
            }
        }
        let commands =
            blocks.into_iter().map(|lines| lines.join("\n")).find(|block| block.contains(word)).expect("it is in the README");
        let script = format!("cd '{}' && set -eo pipefail\n{commands}\n", self.path("").display());
        let program = crate::common::proctor();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().expect("it lies somewhere").display());
        self.project.command(Path::new("/bin/bash"), ["-c", &script]).env("PATH", path).any_status().status == 0
    }
}

#[test]
fn coreutils_accept_a_run_and_no_other_bytes() {
    let exported = Exported::new();
    assert!(exported.accepts("sha256sum"));
    exported.change(&exported.path("run/STEP.1-terminal-output.log"), "said", "sung");
    assert!(!exported.accepts("sha256sum"));
}

#[test]
fn openssh_accepts_a_report_and_no_other_report_signature_or_signer() {
    let exported = Exported::new();
    assert!(exported.accepts("ssh-keygen"));
    let report = exported.path("run/execution-report.json");
    exported.change(&report, "\"PASSED\"", "\"FAILED\"");
    assert!(!exported.accepts("ssh-keygen"));
    exported.change(&report, "\"FAILED\"", "\"PASSED\"");
    assert!(exported.accepts("ssh-keygen"));
    exported.change(&exported.path("allowed_signers"), "proctor-evidence@v1", "git");
    assert!(!exported.accepts("ssh-keygen"));
    exported.change(&exported.path("allowed_signers"), "namespaces=\"git\"", "namespaces=\"proctor-evidence@v1\"");
    let other = Exported::new();
    fs::copy(other.path("allowed_signers"), exported.path("allowed_signers")).expect("it is ours");
    assert!(!exported.accepts("ssh-keygen"), "another's key");
}

#[test]
fn openssh_accepts_a_signed_file_for_its_own_purpose_alone() {
    let project =
        Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n");
    fs::write(project.path().join("SHA256SUMS"), "sums\n").expect("the project is ours");
    let none = project.proctor(["key", "sign", "SHA256SUMS"]).status(2);
    assert!(none.stderr.contains("there is no key yet"), "{}", none.stderr);
    project.proctor(["run"]).success();
    let signature = project.proctor(["key", "sign", "SHA256SUMS"]).success().stdout;
    fs::write(project.path().join("SHA256SUMS.sig"), signature).expect("the project is ours");
    let exported = project.proctor(["key", "export", "--ssh", "--number", "1"]).success().stdout;
    let key: Vec<&str> = exported.split_whitespace().skip_while(|word| *word != "ssh-ed25519").take(2).collect();
    fs::write(project.path().join("signers"), format!("release {}\n", key.join(" "))).expect("the project is ours");
    let accepts = |namespace: &str, file: &str| {
        let script = format!("ssh-keygen -Y verify -f signers -I release -n {namespace} -s SHA256SUMS.sig <{file}");
        project.command(Path::new("/bin/sh"), ["-c", &script]).any_status().status == 0
    };
    assert!(accepts("proctor-file@v1", "SHA256SUMS"));
    assert!(!accepts("proctor-evidence@v1", "SHA256SUMS"), "it is no evidence");
    assert!(!accepts("proctor-file@v1", "signers"), "another file");
    project.proctor(["key", "sign", "."]).status(2);
}

#[test]
fn openssl_accepts_a_statement_and_no_other_statement_signature_or_key() {
    let exported = Exported::new();
    assert!(exported.accepts("openssl"));
    let statements = exported.statements();
    let text = fs::read_to_string(&statements).expect("it is text");
    let (first, last) = text.trim_end().split_once('\n').expect("two statements");
    let part = |line: &str, key: &str| {
        line.split_once(&format!("\"{key}\":\"")).expect("it has it").1.split('"').next().unwrap_or_default().to_owned()
    };
    exported.change(&statements, &part(last, "sig"), &part(first, "sig"));
    // The first line stays as it is. Only the second line gets another signature and payload.
    exported.change(&statements, &part(last, "payload"), &part(first, "payload"));
    let swapped = fs::read_to_string(&statements).expect("it is text");
    assert_ne!(swapped, text);
    exported.change(
        &statements,
        swapped.trim_end(),
        &format!("{first}\n{}", last.replace(&part(last, "sig"), &part(first, "sig"))),
    );
    assert!(!exported.accepts("openssl"), "the signature of another statement");
    let mixed = fs::read_to_string(&statements).expect("it is text");
    exported.change(
        &statements,
        mixed.trim_end(),
        &format!("{first}\n{}", last.replace(&part(last, "payload"), &part(first, "payload"))),
    );
    assert!(!exported.accepts("openssl"), "another statement");
    let mixed = fs::read_to_string(&statements).expect("it is text");
    exported.change(&statements, mixed.trim_end(), text.trim_end());
    assert!(exported.accepts("openssl"));
    fs::copy(Exported::new().path("proctor.pub"), exported.path("proctor.pub")).expect("it is ours");
    assert!(!exported.accepts("openssl"), "another's key");
}

#[test]
fn securesystemslib_accepts_both_statements_and_no_manipulated_one() {
    let exported = Exported::new();
    let python = python_signatures();
    let (key, statements) = (exported.path("proctor.pub"), exported.statements());
    let text = |path: &Path| path.to_str().expect("a temporary path is text").to_owned();
    let arguments = ["-c".to_owned(), SECURE_SYSTEMS.to_owned(), text(&key), text(&statements)];
    let output = exported.project.command(&python, &arguments).success();
    assert_eq!(output.stdout, "https://in-toto.io/attestation/test-result/v0.1\nhttps://slsa.dev/provenance/v1\n");
    exported.change(&statements, "\"payload\":\"eyJ", "\"payload\":\"eyB");
    assert_eq!(exported.project.command(&python, &arguments).any_status().status, 1);
    exported.change(&statements, "\"payload\":\"eyB", "\"payload\":\"eyJ");
    fs::copy(Exported::new().path("proctor.pub"), &key).expect("it is ours");
    assert_eq!(exported.project.command(&python, &arguments).any_status().status, 1);
}

#[test]
fn proctor_accepts_an_export_and_no_manipulated_one() {
    let exported = Exported::new();
    assert!(exported.accepts("proctor verify"));
    for (name, from, to) in [
        ("run/STEP.1-terminal-output.log", "said", "sung"),
        ("ledger.jsonl", "\"PASSED\"", "\"FAILED\""),
        ("ledger.jsonl", "\"kind\":\"run\"", "\"kind\":\"ran\""),
        ("run/execution-report.json", "\"PASSED\"", "\"FAILED\""),
    ] {
        exported.change(&exported.path(name), from, to);
        assert!(!exported.accepts("proctor verify"), "{name}: {to}");
        exported.change(&exported.path(name), to, from);
        assert!(exported.accepts("proctor verify"), "{name}");
    }
    let other = Exported::new();
    fs::copy(other.path("proctor.pub"), exported.path("proctor.pub")).expect("it is ours");
    assert!(!exported.accepts("proctor verify"), "another's key");
    fs::remove_file(exported.path("ledger.jsonl")).expect("it is ours");
    let ours = exported.path("");
    let said = exported.project.proctor(["verify", ours.to_str().expect("a temporary path is text")]).status(6);
    assert!(said.stdout.contains("ledgerMissing"), "{}", said.stdout);
}

#[test]
fn a_key_is_private_hidden_from_checks_and_never_shown() {
    let toml = "[[check]]\nname = \"looks\"\ncommand = \"/bin/ls -R state\"\n";
    let project = Project::new();
    let store = project.root().join("state/proctor/keys");
    let look = format!("/bin/cat {0}/private-*.pem {0}/key-0001.json", store.display());
    let project = project.toml(&toml.replace("/bin/ls -R state", &format!("/bin/bash -c '{look}'")));
    project.proctor(["run"]).failure();
    let private = fs::read_dir(&store).expect("a key was made").flatten().map(|entry| entry.path());
    let private = private.into_iter().find(|path| path.to_string_lossy().contains("private")).expect("it is kept");
    let secret = fs::read_to_string(&private).expect("it is ours");
    let secret = secret.lines().nth(1).expect("PEM has a second line");
    project.proctor(["run"]).failure();
    let log = project.proctor(["show", "--log", "STEP.1"]).success();
    assert!(!log.stdout.contains(secret) && !log.stdout.contains("publicKey"), "{}", log.stdout);
    assert_eq!(private.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    assert_eq!(store.metadata().expect("it is there").permissions().mode() & 0o777, 0o700);
    for arguments in [["key", "show"].as_slice(), &["key", "export"], &["key", "export", "--ssh"], &["verify", "--json"]] {
        assert!(!project.proctor(arguments).success().stdout.contains(secret), "{arguments:?}");
    }
}

#[test]
fn a_replaced_key_goes_on_verifying_what_it_signed() {
    let exported = Exported::new();
    let project = &exported.project;
    project.proctor(["key", "rotate"]).success();
    project.proctor(["run"]).success();
    let shown = project.proctor(["key", "show"]).success();
    assert_eq!(shown.stdout.lines().filter(|line| line.starts_with("key ")).count(), 2, "{}", shown.stdout);
    assert!(shown.stdout.contains("from line 3"), "{}", shown.stdout);
    project.proctor(["verify"]).success();
    assert!(exported.accepts("proctor verify"), "the export has the key that signed it");
    let first = project.proctor(["key", "export", "--number", "1"]).success();
    assert_eq!(first.stdout, fs::read_to_string(exported.path("proctor.pub")).expect("it was exported"));
    assert_ne!(project.proctor(["key", "export"]).success().stdout, first.stdout);
    project.proctor(["key", "export", "--number", "3"]).status(2);
}
