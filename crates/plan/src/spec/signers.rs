//! Parses the file of `allowed_signers`: the keys of people who may approve, in the format of `ssh-keygen(1)`. Pure.
//!
//! Only key types whose signatures proctor can check are accepted, and only options that proctor obeys. A line with
//! anything else is an error, because ignoring an option could let a key approve that must not.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use proctor_model::{AllowedSigner, Digest, KeyRecord, Timestamp};

/// The namespace of approval signatures. Signatures for other namespaces approve nothing, and keys for other namespaces
/// only are skipped.
const NAMESPACE: &str = "proctor-approval";

/// The namespace of statements about commits, of which `[gate] signers` names the keys.
const STATEMENT_NAMESPACE: &str = "proctor-evidence@v1";

/// The types of keys whose signatures can be checked, with the number of fields in the key.
const KINDS: &[(&str, usize)] = &[("ssh-ed25519", 2), ("sk-ssh-ed25519@openssh.com", 3)];

/// How the names of key types begin. If the second word of a line begins otherwise, it is taken for options.
const KIND_STARTS: &[&str] = &["ssh-", "sk-", "ecdsa-"];

/// The length of an Ed25519 key in bytes. A text with a key of another length is refused.
const KEY_BYTES: usize = 32;

/// How a comment begins that has the record of a key, as `proctor key export --ssh` writes it behind `#`.
const RECORD_START: &str = "{\"schema\":\"proctor-key-";

/// The schemas of key records that are understood.
const RECORD_SCHEMAS: &[&str] = &["proctor-key-v1", "proctor-key-v2"];

/// Whether a line that says nothing of namespaces is for every namespace, as for `ssh-keygen(1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithoutNamespaces {
    Accepted,
    Refused,
}

/// The keys whose signed statements about commits count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementSigners {
    pub keys: Vec<AllowedSigner>,
    /// When keys were replaced, by their ids: the key that followed was made then. A key that was replaced may be in other hands since.
    pub replaced: BTreeMap<Digest, Timestamp>,
}

/// Parses a file of keys whose signed statements about commits count (`signers` of `[gate]`). Comments with key records, which
/// `proctor key export --ssh` prints below the keys, say which keys were replaced.
///
/// # Errors
/// As for reading the signers of an approval. Also a line without `namespaces` is wrong here, and so is a key record that cannot be read.
pub fn statement_signers(text: &str) -> Result<StatementSigners, (usize, String)> {
    let keys = parse_keys(text, STATEMENT_NAMESPACE, WithoutNamespaces::Refused)?;
    let mut replaced: BTreeMap<Digest, Timestamp> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(record) = line.trim().strip_prefix('#').map(str::trim_start) else { continue };
        if !record.starts_with(RECORD_START) {
            continue;
        }
        let record: KeyRecord =
            serde_json::from_str(record).map_err(|error| (number, format!("the record of a key: {error}")))?;
        if !RECORD_SCHEMAS.contains(&record.schema.as_str()) {
            return Err((number, format!("the record of a key has the unknown format `{}`", record.schema)));
        }
        if let Some(previous) = record.key.previous {
            let made = replaced.entry(previous).or_insert(record.key.made);
            *made = record.key.made.min(*made);
        }
    }
    Ok(StatementSigners { keys, replaced })
}

/// Parses a file of keys that may approve.
///
/// # Errors
/// Returns the number of the first wrong line, counted from 1, and what is wrong.
pub(super) fn parse_signers(text: &str) -> Result<Vec<AllowedSigner>, (usize, String)> {
    parse_keys(text, NAMESPACE, WithoutNamespaces::Accepted)
}

fn parse_keys(text: &str, namespace: &str, without: WithoutNamespaces) -> Result<Vec<AllowedSigner>, (usize, String)> {
    let mut signers: Vec<AllowedSigner> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let signer = parse_line(line, namespace, without).map_err(|why| (number, why))?;
        signers.extend(signer.filter(|signer| signers.iter().all(|known| known.key != signer.key)));
    }
    Ok(signers)
}

/// Parses one line; `None` if the line's key is only for other namespaces.
fn parse_line(line: &str, namespace: &str, without: WithoutNamespaces) -> Result<Option<AllowedSigner>, String> {
    let (principals, rest) = line.split_once(char::is_whitespace).ok_or("it names no key")?;
    let rest = rest.trim_start();
    let (options, rest) = if KIND_STARTS.iter().any(|start| rest.starts_with(start)) { ("", rest) } else { split_options(rest) };
    if options.is_empty() && without == WithoutNamespaces::Refused {
        return Err(format!("it does not say what the key may sign: write `namespaces=\"{namespace}\"` before the key"));
    }
    let is_for_us = obey(options, namespace)?;
    let mut words = rest.split_whitespace();
    let (kind, blob) = (words.next().ok_or("it names no key")?, words.next().ok_or("it holds no key")?);
    let fields = KINDS.iter().find(|(known, _)| *known == kind).map(|(_, fields)| *fields);
    let fields = fields.ok_or_else(|| {
        let known: Vec<String> = KINDS.iter().map(|(known, _)| format!("`{known}`")).collect();
        format!("signatures of `{kind}` cannot be checked, those of {} can", known.join(" and "))
    })?;
    if !is_key(blob, kind, fields) {
        return Err(format!("it holds no key of the kind `{kind}`"));
    }
    Ok(is_for_us.then(|| AllowedSigner { principals: principals.to_owned(), key: format!("{kind} {blob}") }))
}

/// Splits off the options, which may contain quoted white space.
fn split_options(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let end = text.find(|character: char| {
        quoted ^= character == '"';
        character.is_whitespace() && !quoted
    });
    end.map_or((text, ""), |end| (&text[..end], text[end..].trim_start()))
}

/// Returns whether a key with these options may sign in a namespace. Any option except `namespaces` is an error.
fn obey(options: &str, namespace: &str) -> Result<bool, String> {
    const REFUSED: &str = "is not obeyed here: give such a key no option but `namespaces`";
    let Some(option) = Some(options).filter(|options| !options.is_empty()) else { return Ok(true) };
    let names = option.strip_prefix("namespaces=\"").and_then(|rest| rest.strip_suffix('"'));
    let names = names.filter(|names| !names.contains('"')).ok_or_else(|| format!("`{option}` {REFUSED}"))?;
    if names.contains(['*', '?', '!']) {
        return Err(format!("`{option}` holds a pattern: write the namespaces out, here `{namespace}`"));
    }
    Ok(names.split(',').any(|name| name == namespace))
}

/// Returns whether a text is a key of a type in SSH's encoding: fields with their lengths before them, first the type's
/// name, then the key.
fn is_key(blob: &str, kind: &str, fields: usize) -> bool {
    let Ok(bytes) = STANDARD.decode(blob) else { return false };
    let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let Some((field, behind)) = behind.split_at_checked(u32::from_be_bytes(*length) as usize) else { return false };
        found.push(field);
        rest = behind;
    }
    rest.is_empty() && found.len() == fields && found[0] == kind.as_bytes() && found[1].len() == KEY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";

    #[test]
    fn keys_are_read_with_comments_options_and_other_lines_around_them() {
        let text = format!(
            "# who may\n\nlead@example.org {KEY} lead's laptop\nother@example.org namespaces=\"git,file\" {}\n\
             again@example.org namespaces=\"file,proctor-approval\" {KEY}\nspaced@example.org namespaces=\"git, file\" {KEY}\n",
            KEY.replace("B1Ea", "B1Eb"),
        );
        let signers = parse_signers(&text).expect("they are right");
        assert_eq!(signers, [AllowedSigner { principals: "lead@example.org".to_owned(), key: KEY.to_owned() }]);
    }

    #[test]
    fn a_key_for_statements_is_none_for_approvals() {
        let text = format!("ci@example.org namespaces=\"proctor-evidence@v1\" {KEY}\n");
        assert_eq!(statement_signers(&text).map(|signers| signers.keys.len()), Ok(1));
        assert_eq!(parse_signers(&text), Ok(Vec::new()));
        assert_eq!(statement_signers(&text.replace("evidence@v1", "approval")), Ok(StatementSigners::default()));
    }

    #[test]
    fn a_key_for_statements_has_to_say_so() {
        let text = format!("# who attests\nci@example.org {KEY}\n");
        assert_eq!(parse_signers(&text).map(|signers| signers.len()), Ok(1));
        let (number, why) = statement_signers(&text).expect_err("the line has no namespace");
        assert!(number == 2 && why.contains("write `namespaces=\"proctor-evidence@v1\"` before the key"), "{why}");
    }

    #[test]
    fn the_records_of_keys_say_until_when_a_key_counts() {
        let (first, second) = (Digest::of(b"first"), Digest::of(b"second"));
        let record = |schema: &str, previous: Option<Digest>, made: &str| {
            let key = serde_json::json!({
                "number": 2, "keyId": second, "publicKey": KEY, "made": made, "previous": previous, "ledgers": {},
            });
            let signed = serde_json::json!({ "key": key, "signature": "", "endorsement": null }).to_string();
            format!("# {{\"schema\":\"{schema}\",{}\n", &signed[1..])
        };
        let (later, earlier) = ("2026-03-05T00:00:00.000Z", "2026-03-04T00:00:00.000Z");
        let text = [
            format!("ci@example.org namespaces=\"proctor-evidence@v1\" {KEY}\n"),
            record("proctor-key-v2", None, earlier),
            record("proctor-key-v2", Some(first), later),
            record("proctor-key-v1", Some(first), earlier),
        ]
        .concat();
        let signers = statement_signers(&text).expect("it is right");
        let until: Timestamp = serde_json::from_value(earlier.into()).expect("a time");
        assert_eq!(signers.replaced, BTreeMap::from([(first, until)]), "the first of several times counts");
        for wrong in [record("proctor-key-v3", Some(first), later), "# {\"schema\":\"proctor-key-v2\"\n".to_owned()] {
            let (number, why) = statement_signers(&format!("{text}{wrong}")).expect_err("no record that is understood");
            assert!(number == 5 && why.contains("the record of a key"), "{why}");
        }
    }

    #[test]
    fn a_line_that_means_more_than_is_understood_is_refused_with_its_number() {
        for (line, expected) in [
            ("lead", "it names no key"),
            ("lead ssh-ed25519", "it holds no key"),
            ("lead ssh-ed25519 AAAA", "it holds no key of the kind"),
            ("lead ssh-ed25519 AAAAB3NzaC1yc2E=", "it holds no key of the kind"),
            (
                "lead ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1EaAA==",
                "it holds no key of the kind",
            ),
            ("lead ssh-rsa AAAAB3NzaC1yc2E=", "signatures of `ssh-rsa` cannot be checked"),
            ("lead cert-authority ssh-ed25519 AAAA", "`cert-authority` is not obeyed"),
            ("lead namespaces=\"git\",valid-before=\"20300101\" ssh-ed25519 AAAA", "is not obeyed"),
            ("lead namespaces=\"proctor-*\" ssh-ed25519 AAAA", "holds a pattern"),
        ] {
            let (number, why) = parse_signers(&format!("# one\n{line}\n")).expect_err(line);
            assert!(number == 2 && why.contains(expected), "{line}: {why}");
        }
    }
}
