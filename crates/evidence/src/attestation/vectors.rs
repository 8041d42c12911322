//! The test vectors of attestations in `docs/reference/evidence-format.md`: made from a fixed seed, and committed as
//! `fixtures/evidence-format/attestations.json`. `PROCTOR_UPDATE_SCHEMA=1 cargo test --lib vectors` writes them anew.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::acceptance::tests::acceptance;
use super::claim::tests::claim;
use super::{AttestationReader, ReadAttestation, VerificationSummary, parse_attestation_bundle, write_attestation_bundle};
use crate::signing::{Envelope, Signer, encode_pre_authentication};
use proctor_model::{Digest, Timestamp};

/// The type of the payload of a DSSE envelope that has a statement.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What the vectors say of a line: its word, and for a refused one the word of the refusal.
fn word(read: &ReadAttestation) -> &'static str {
    match read {
        ReadAttestation::Claim(_) => "claim",
        ReadAttestation::Accepted(_) => "acceptance",
        ReadAttestation::Proof(_) => "proof",
        ReadAttestation::Summary => "summary",
        ReadAttestation::Refused(refusal) => refusal.word(),
    }
}

fn words(note: &[u8], signer: &Signer) -> Vec<&'static str> {
    let ours = signer.public().clone();
    let trusted = |id| Some(ours.clone()).filter(|key| key.id() == id);
    AttestationReader::default().read(note, &trusted).iter().map(word).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is text")
}

/// Signs a statement that proctor would not write, as anybody could who has the key.
fn signed(payload_type: &str, payload: &[u8], by: &Signer, named: &Signer) -> Value {
    let signature = by.sign(&encode_pre_authentication(payload_type, payload));
    json!({
        "payload": STANDARD.encode(payload),
        "payloadType": payload_type,
        "signatures": [{ "keyid": named.public().id().hex(), "sig": STANDARD.encode(signature) }],
    })
}

/// Returns lines that were made from a good one, each with what was done to it.
fn twins(ours: &Signer, foreign: &Signer) -> Vec<(&'static str, String)> {
    let statement = text(claim(ours.public().id()).to_statement());
    let good = signed(PAYLOAD_TYPE, statement.as_bytes(), ours, ours);
    let with = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        changed.to_string()
    };
    let of = |statement: &str| signed(PAYLOAD_TYPE, statement.as_bytes(), ours, ours).to_string();
    let value: Value = serde_json::from_str(&statement).expect("it is JSON");
    let mut more = value.clone();
    more["predicate"]["except"] = json!("everything");
    let failed = statement.replace("PASSED", "FAILED");
    let signature = good["signatures"][0].clone();
    let sig = signature["sig"].as_str().expect("base64");
    vec![
        ("another payload", with("payload", json!(STANDARD.encode(failed)))),
        ("a signature by another key", signed(PAYLOAD_TYPE, statement.as_bytes(), foreign, ours).to_string()),
        (
            "signed by a key that the reader does not trust",
            text(Envelope::sign(statement.as_bytes(), foreign).to_line()).trim_end().to_owned(),
        ),
        ("no signature", with("signatures", json!([{ "keyid": signature["keyid"], "sig": "" }]))),
        (
            "base64 with other bits at its end",
            with("signatures", json!([{ "keyid": signature["keyid"], "sig": sig.replace("==", "=") }])),
        ),
        ("two signatures", with("signatures", json!([signature, signature]))),
        ("another type of the payload", with("payloadType", json!("text/plain"))),
        ("signed as another type", signed("text/plain", statement.as_bytes(), ours, ours).to_string()),
        ("one key more in the envelope", with("more", json!(1))),
        ("a key of the envelope twice", good.to_string().replacen('{', "{\"payload\":\"e30=\",", 1)),
        ("one key more in the statement, signed", of(&more.to_string())),
        ("another form of the statement, signed", of(&serde_json::to_string_pretty(&value).expect("JSON"))),
        (
            "a key of the statement twice, signed",
            of(&statement.replace("\"result\":\"PASSED\"", "\"result\":\"FAILED\",\"result\":\"PASSED\"")),
        ),
        ("another version of the format, signed", of(&statement.replace("proctor-attestation-v1", "proctor-attestation-v2"))),
        ("another version of the digest, signed", of(&statement.replace("proctor-tree-v2", "proctor-tree-v1"))),
        ("a statement about another key, signed", of(&text(claim(foreign.public().id()).to_statement()))),
        (
            "an acceptance of another version, signed",
            of(&text(acceptance(ours.public().id()).to_statement()).replace(":v1", ":v2")),
        ),
        ("no envelope", "a line of somebody else".to_owned()),
    ]
}

fn vectors() -> Value {
    let (ours, foreign) = (Signer::from_seed(&[1; 32]), Signer::from_seed(&[9; 32]));
    let claim = claim(ours.public().id());
    let accepted = acceptance(ours.public().id()).to_statement();
    let claims = std::slice::from_ref(&claim);
    let summary = VerificationSummary { claims, policy: Digest::of(b"policy"), verified: Timestamp::from_millis(0) };
    let summary = summary.to_statement().expect("it has a claim");
    let statements = [claim.to_statement(), accepted, summary];
    let lines: Vec<Vec<u8>> = statements.iter().map(|statement| Envelope::sign(statement, &ours).to_line()).collect();
    let note = lines.concat();
    assert_eq!(words(&note, &ours), ["claim", "acceptance", "summary"]);
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("bundle.json");
    write_attestation_bundle(&path, &lines).expect("the directory is ours");
    let bundle = std::fs::read(&path).expect("the bundle");
    assert_eq!(parse_attestation_bundle(&bundle).expect("a bundle"), note);
    let bundle = text(bundle);
    let refused: Vec<Value> = twins(&ours, &foreign)
        .into_iter()
        .map(|(what, line)| {
            let words = words(line.as_bytes(), &ours);
            assert!(matches!(words[..], ["foreign" | "tampered" | "unknown-format"]), "{what}: {words:?}");
            json!({ "what": what, "word": words[0], "line": line })
        })
        .collect();
    let bundles = [
        ("another format", bundle.replace("bundle-v1", "bundle-v2")),
        ("one key more", bundle.replacen("{\"schema\"", "{\"more\":1,\"schema\"", 1)),
        ("a key twice", bundle.replacen("{\"schema\"", "{\"schema\":\"x\",\"schema\"", 1)),
        ("something behind it", bundle.replace("]}\n", "]} x")),
        ("its end is missing", bundle.replace("]}\n", "")),
    ];
    bundles.iter().for_each(|(what, text)| assert!(parse_attestation_bundle(text.as_bytes()).is_err(), "{what}"));
    json!({
        "key": { "id": ours.public().id(), "ssh": ours.public().to_ssh_line(), "seed": "01".repeat(32) },
        "gitTree": "1".repeat(40),
        "statements": statements.map(text),
        "note": text(note),
        "bundle": bundle,
        "refused": refused,
        "refusedBundles": bundles.map(|(what, text)| json!({ "what": what, "text": text })),
    })
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever changes a format has the vectors written anew by this test")]
fn the_committed_vectors_of_attestations_are_those_of_the_program() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/evidence-format/attestations.json");
    let made = serde_json::to_string_pretty(&vectors()).expect("it is JSON") + "\n";
    if std::env::var_os("PROCTOR_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).expect("the source tree is writable");
    }
    let committed = std::fs::read_to_string(&path).expect("the vectors are part of the repository");
    assert_eq!(committed, made, "`PROCTOR_UPDATE_SCHEMA=1 cargo test --lib vectors` writes them anew");
}
