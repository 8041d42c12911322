//! The test vectors of `docs/reference/evidence-format.md`: made from fixed seeds, and committed as `fixtures/evidence-format/vectors.json`.
//! `PROCTOR_UPDATE_SCHEMA=1 cargo test --lib vectors` writes them anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::LedgerLog;
use crate::keys::{record_for_vectors, record_message};
use crate::line_signature::sign_line;
use crate::manifest::render_manifest;
use crate::report::report_hash;
use crate::signing::{Envelope, SSH_NAMESPACE, Signer, encode_pre_authentication, sign_for_ssh};
use proctor_model::{Digest, KeyStatement, LedgerPosition, ProjectId, Sequence, Timestamp, ledger_name};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key(seed: u8) -> Value {
    let signer = Signer::from_seed(&[seed; 32]);
    let public = signer.public();
    json!({
        "seed": hex(&[seed; 32]),
        "public": hex(public.as_bytes()),
        "id": public.id(),
        "ssh": public.to_ssh_line(),
        "pem": public.to_pem(),
    })
}

/// Returns two signed lines of a ledger, chained.
fn lines(signer: &Signer) -> Vec<String> {
    let mut previous = Digest::of(b"");
    let line = |(number, time): (u64, &str)| {
        let unsigned = format!(
            "{{\"schema\":\"proctor-ledger-v1\",\"sequence\":{number},\"previous\":\"{previous}\",\"time\":\"{time}\",\"asker\":{{\"pid\":1,\
             \"uid\":1000,\"executable\":null,\"terminal\":null}},\"body\":{{\"kind\":\"serving\",\"serving\":\"served\"}}}}"
        );
        let signature = sign_line(unsigned.as_bytes(), signer);
        let signed = format!("{},\"signature\":\"{signature}\"}}", &unsigned[..unsigned.len() - 1]);
        previous = Digest::of(signed.as_bytes());
        signed
    };
    [(1, "2026-03-04T09:30:00.120Z"), (2, "2026-03-04T09:31:00.000Z")].map(line).to_vec()
}

fn vectors() -> Value {
    let (first, second) = (Signer::from_seed(&[1; 32]), Signer::from_seed(&[2; 32]));
    let project = ProjectId::try_from("shop-0a1b2c3d").expect("a project id");
    let lines = lines(&first);
    let hashes: Vec<Digest> = lines.iter().map(|line| Digest::of(line.as_bytes())).collect();
    let statement = |number, signer: &Signer, previous: Option<&Signer>| KeyStatement {
        number,
        key_id: signer.public().id(),
        public_key: signer.public().to_ssh_line(),
        made: Timestamp::from_millis(1_772_616_600_120),
        previous: previous.map(|previous| previous.public().id()),
        ledgers: match number {
            1 => BTreeMap::new(),
            _ => BTreeMap::from([(ledger_name(&project), LedgerPosition { sequence: Sequence(2), hash: hashes[1] })]),
        },
    };
    let statements = [statement(1, &first, None), statement(2, &second, Some(&first))];
    let records = [
        record_for_vectors(statements[0].clone(), &first, None),
        record_for_vectors(statements[1].clone(), &second, Some(&first)),
    ];
    let log = LedgerLog::from_hashes(project.clone(), hashes.clone());
    let checkpoint = log.head().sign(&first);
    let earlier = log.checkpoint_at(1).expect("it is so long").sign(&first);
    let proof = log.prove_inclusion(1, &checkpoint).expect("it is in it");
    let report = json!({"authenticity": {"reportHash": "0".repeat(64), "runId": "x"}, "b": 1.5, "a": "ä\u{7}\u{1f600}", "c": [null, true]});
    let payload = br#"{"_type":"https://in-toto.io/Statement/v1"}"#;
    let envelope = String::from_utf8(Envelope::sign(payload, &first).to_line()).expect("JSON is text");
    let signature = String::from_utf8(sign_for_ssh(b"report\n", SSH_NAMESPACE, &first)).expect("base64 is text");
    let names = [(b"a\nb".to_vec(), Digest::of(b"")), (b"log".to_vec(), Digest::of(b"log"))];
    let manifest = String::from_utf8(render_manifest(&BTreeMap::from(names))).expect("it is text");
    json!({
        "keys": [key(1), key(2)],
        "pae": { "type": "t", "body": "b c", "hex": hex(&encode_pre_authentication("t", b"b c")) },
        // As text, because the order of the keys is signed.
        "keyRecords": records.map(|record| serde_json::to_string(&record).expect("its keys are text")),
        "keyMessages": statements.map(|statement| String::from_utf8(record_message(&statement)).expect("it is text")),
        "project": project,
        "ledger": { "lines": lines, "hashes": hashes, "signedBy": first.public().id() },
        "log": {
            "root": log.head().root,
            "checkpoint": checkpoint.to_text(),
            "earlierCheckpoint": earlier.to_text(),
            "inclusionOfLine2": proof.to_text(),
        },
        "sshSignature": { "message": "report\n", "file": signature },
        "envelope": { "payload": String::from_utf8_lossy(payload), "line": envelope },
        "reportHash": { "report": report, "hash": report_hash(report.clone()) },
        "manifest": manifest,
    })
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever changes a format has the vectors written anew by this test")]
fn the_committed_vectors_are_those_of_the_program() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/evidence-format/vectors.json");
    let made = serde_json::to_string_pretty(&vectors()).expect("it is JSON") + "\n";
    if std::env::var_os("PROCTOR_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).expect("the source tree is writable");
    }
    let committed = std::fs::read_to_string(&path).expect("the vectors are part of the repository");
    assert_eq!(committed, made, "`PROCTOR_UPDATE_SCHEMA=1 cargo test --lib vectors` writes them anew");
}
