//! Reads attestations that others wrote: a note has one envelope on each line. Pure.

use std::collections::BTreeSet;
use std::fmt;

use crate::attestation::summary::VERIFICATION_SUMMARY;
use crate::attestation::{AcceptedChanges, CommitClaim, ProvedChange};
use crate::signing::{Envelope, PublicKey};
use proctor_model::{Digest, words};

/// The longest line that is read, in bytes. A claim may have a mebibyte of tests' names, which base64 makes longer by a third.
const LONGEST_LINE: usize = 4 << 20;
/// The most different lines that are read about one tree.
const MOST_LINES: usize = 1_000;
/// The most lines that are read about one tree, with those that are there more than once.
const MOST_REPEATED_LINES: usize = 50_000;

/// A line of a note, after its signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAttestation {
    /// A claim, signed by a trusted key.
    Claim(Box<CommitClaim>),
    /// An acceptance of what the content changes about how it is judged, signed by a trusted key.
    Accepted(Box<AcceptedChanges>),
    /// An answer of `proctor prove`, whether the tests of the content's change fail without it, signed by a trusted key.
    Proof(Box<ProvedChange>),
    /// A verification summary, signed by a trusted key. It proves nothing that the claims beside it do not prove.
    Summary,
    Refused(AttestationRefusal),
}

/// Why an attestation does not count, whatever the policy asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttestationRefusal {
    /// The key that signed it is not trusted.
    Foreign {
        /// The id of the key, as the line names it.
        key: Digest,
    },
    /// The signature is not that of the trusted key which the line names.
    Tampered { key: Digest },
    /// The line is no attestation, or one in a format of another version.
    UnknownFormat,
    /// A line, a note, or all notes about the tree together are longer than is read.
    TooLarge,
    /// The note's object cannot be read, or is no file.
    Damaged,
    /// A trusted key signed it for another content.
    AnotherTree,
    /// The attestation says that the run ended at a time in the future.
    FutureDated,
    /// The key that signed it was replaced before the run ended.
    Retired { key: Digest },
}

impl AttestationRefusal {
    /// Returns whether the refused line is a signed envelope, and so an attestation that does not count. Any other line says nothing of the
    /// content: everybody who can push notes can write one.
    pub fn is_of_an_envelope(&self) -> bool {
        match self {
            Self::Foreign { .. } | Self::Tampered { .. } | Self::AnotherTree | Self::FutureDated | Self::Retired { .. } => true,
            Self::UnknownFormat | Self::TooLarge | Self::Damaged => false,
        }
    }
}

words! {
    /// Returns the word for documents that programs read.
    pub fn AttestationRefusal::word(&self): Foreign "foreign", Tampered "tampered", UnknownFormat "unknown-format",
        TooLarge "too-large", Damaged "damaged", AnotherTree "another-tree", FutureDated "future-dated",
        Retired "retired"
}

impl fmt::Display for AttestationRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { key } => write!(formatter, "it is signed by key {}, which is not trusted", key.short()),
            Self::Tampered { key } => {
                write!(formatter, "it was changed after it was signed, or another key than {} signed it", key.short())
            }
            Self::UnknownFormat => formatter.write_str("it is no attestation, or one of another version of proctor"),
            Self::TooLarge => formatter.write_str("it, or all that was attested of this tree, is longer than is read"),
            Self::Damaged => formatter.write_str("the note cannot be read"),
            Self::AnotherTree => formatter.write_str("it is about another tree"),
            Self::Retired { key } => {
                write!(formatter, "it is signed by key {}, which was replaced before the run ended", key.short())
            }
            Self::FutureDated => formatter.write_str("its run is said to have ended in the future"),
        }
    }
}

/// Reads the notes about one tree. Different lines are read once, and only a limited number of them, whoever wrote the notes.
#[derive(Debug, Default)]
pub struct AttestationReader {
    /// The digests of the lines that were read.
    seen: BTreeSet<Digest>,
    /// The number of lines that are not empty.
    lines: usize,
}

impl AttestationReader {
    /// Reads the lines of a note that were in no note before, and checks their signatures. `trusted` returns the trusted key with an id,
    /// if there is one. Empty lines are passed over. Where the notes have more than 1,000 different lines, the rest is one
    /// [`AttestationRefusal::TooLarge`].
    pub fn read(&mut self, note: &[u8], trusted: &dyn Fn(Digest) -> Option<PublicKey>) -> Vec<ReadAttestation> {
        let mut found = Vec::new();
        for line in note.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
            self.lines += 1;
            let digest = Digest::of(line);
            if self.lines <= MOST_REPEATED_LINES && self.seen.contains(&digest) {
                continue;
            }
            if self.lines > MOST_REPEATED_LINES || self.seen.len() >= MOST_LINES {
                found.push(ReadAttestation::Refused(AttestationRefusal::TooLarge));
                break;
            }
            self.seen.insert(digest);
            found.push(read_line(line, trusted).unwrap_or_else(ReadAttestation::Refused));
        }
        found
    }
}

fn read_line(line: &[u8], trusted: &dyn Fn(Digest) -> Option<PublicKey>) -> Result<ReadAttestation, AttestationRefusal> {
    if line.len() > LONGEST_LINE {
        return Err(AttestationRefusal::TooLarge);
    }
    let envelope = Envelope::parse(line).ok_or(AttestationRefusal::UnknownFormat)?;
    let id = envelope.statement_signer().ok_or(AttestationRefusal::UnknownFormat)?;
    let id = Digest::try_from(id.to_owned()).map_err(|_| AttestationRefusal::UnknownFormat)?;
    let key = trusted(id).ok_or(AttestationRefusal::Foreign { key: id })?;
    let signed = envelope.open(&key).ok_or(AttestationRefusal::Tampered { key: id })?;
    match CommitClaim::parse(&signed.payload) {
        Some(claim) if claim.key == id => Ok(ReadAttestation::Claim(Box::new(claim))),
        Some(_) => Err(AttestationRefusal::UnknownFormat),
        None => read_other(&signed.payload, id),
    }
}

/// Reads a statement that is no claim.
fn read_other(statement: &[u8], signer: Digest) -> Result<ReadAttestation, AttestationRefusal> {
    if let Some(proof) = ProvedChange::parse(statement).filter(|proof| proof.key == signer) {
        return Ok(ReadAttestation::Proof(Box::new(proof)));
    }
    match AcceptedChanges::parse(statement) {
        Some(accepted) if accepted.key == signer => Ok(ReadAttestation::Accepted(Box::new(accepted))),
        None if is_summary(statement) => Ok(ReadAttestation::Summary),
        Some(_) | None => Err(AttestationRefusal::UnknownFormat),
    }
}

fn is_summary(statement: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(statement).ok();
    value.is_some_and(|value| value["predicateType"] == VERIFICATION_SUMMARY)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use crate::attestation::VerificationSummary;
    use crate::attestation::claim::tests::claim;
    use crate::signing::{Signer, encode_pre_authentication};
    use proctor_model::Timestamp;

    fn read_attestations(note: &[u8], trusted: &dyn Fn(Digest) -> Option<PublicKey>) -> Vec<ReadAttestation> {
        AttestationReader::default().read(note, trusted)
    }

    fn signer(seed: u8) -> Signer {
        Signer::from_seed(&[seed; 32])
    }

    /// Trusts the key of signer 1 alone.
    fn by_ours(id: Digest) -> Option<PublicKey> {
        Some(signer(1).public().clone()).filter(|key| key.id() == id)
    }

    /// Signs a body of any type, as anybody could who has the key.
    fn envelope(payload_type: &str, body: &[u8], by: &Signer, named: &Signer) -> Value {
        let signature = by.sign(&encode_pre_authentication(payload_type, body));
        json!({
            "payload": STANDARD.encode(body),
            "payloadType": payload_type,
            "signatures": [{ "keyid": named.public().id().hex(), "sig": STANDARD.encode(signature) }],
        })
    }

    fn refusal(line: &[u8]) -> AttestationRefusal {
        match read_attestations(line, &by_ours).as_slice() {
            [ReadAttestation::Refused(refusal)] => refusal.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_trusted_key_signed_is_read_among_lines_that_are_refused() {
        let (ours, foreign) = (signer(1), signer(9));
        let claim = claim(ours.public().id());
        let claims = std::slice::from_ref(&claim);
        let summary = VerificationSummary { claims, policy: Digest::of(b""), verified: Timestamp::from_millis(0) };
        let line = Envelope::sign(&claim.to_statement(), &ours).to_line();
        let foreign_line = Envelope::sign(&claim.to_statement(), &foreign).to_line();
        let summary = Envelope::sign(&summary.to_statement().unwrap(), &ours).to_line();
        let note = [&b"\n  \nnonsense\n"[..], &foreign_line, &line, &summary].concat();
        assert_eq!(
            read_attestations(&note, &by_ours),
            [
                ReadAttestation::Refused(AttestationRefusal::UnknownFormat),
                ReadAttestation::Refused(AttestationRefusal::Foreign { key: foreign.public().id() }),
                ReadAttestation::Claim(Box::new(claim)),
                ReadAttestation::Summary,
            ]
        );
        assert_eq!(read_attestations(b"", &by_ours), []);
    }

    #[test]
    fn a_line_with_any_byte_changed_is_no_claim() {
        let ours = signer(1);
        let claim = claim(ours.public().id());
        let line = Envelope::sign(&claim.to_statement(), &ours).to_line();
        for place in (0..line.len() - 1).step_by(3) {
            for change in [1, 0x20] {
                let mut changed = line.clone();
                changed[place] ^= change;
                let read = read_attestations(&changed, &by_ours);
                // A signature, a key or a payload can be written in no second way.
                assert!(!read.iter().any(|read| matches!(read, ReadAttestation::Claim(_))), "byte {place} ^ {change}");
            }
        }
    }

    #[test]
    fn hostile_lines_are_refused_each_with_its_word() {
        const TYPE: &str = "application/vnd.in-toto+json";
        let (ours, foreign) = (signer(1), signer(9));
        let id = ours.public().id();
        let statement = claim(id).to_statement();
        let good = envelope(TYPE, &statement, &ours, &ours);
        let changed = |key: &str, value: Value| {
            let mut changed = good.clone();
            changed[key] = value;
            changed.to_string().into_bytes()
        };
        let with_sig = |sig: &str| changed("signatures", json!([{ "keyid": id.hex(), "sig": sig }]));
        let twice = json!([good["signatures"][0], good["signatures"][0]]);
        let text = good.to_string();
        let deep = [&vec![b'['; 3 << 20][..], b"1"].concat();
        let other_key = claim(foreign.public().id()).to_statement();
        let deep_statement = format!("{{\"_type\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        for (line, expected) in [
            (envelope(TYPE, &statement, &foreign, &ours).to_string().into_bytes(), AttestationRefusal::Tampered { key: id }),
            (changed("payload", json!(STANDARD.encode(b"{}"))), AttestationRefusal::Tampered { key: id }),
            (changed("payload", json!("%%%")), AttestationRefusal::Tampered { key: id }),
            (with_sig(""), AttestationRefusal::Tampered { key: id }),
            (with_sig("===="), AttestationRefusal::Tampered { key: id }),
            (with_sig(&"A".repeat(2 << 20)), AttestationRefusal::Tampered { key: id }),
            (changed("payloadType", json!("text/plain")), AttestationRefusal::UnknownFormat),
            // The signature is right, for a body that is no in-toto statement.
            (envelope("text/plain", &statement, &ours, &ours).to_string().into_bytes(), AttestationRefusal::UnknownFormat),
            (changed("signatures", json!([])), AttestationRefusal::UnknownFormat),
            (changed("signatures", twice), AttestationRefusal::UnknownFormat),
            (changed("signatures", json!([{ "keyid": "../../x", "sig": "" }])), AttestationRefusal::UnknownFormat),
            (changed("more", json!(1)), AttestationRefusal::UnknownFormat),
            (text.replacen('{', "{\"payload\":\"e30=\",", 1).into_bytes(), AttestationRefusal::UnknownFormat),
            (envelope(TYPE, &other_key, &ours, &ours).to_string().into_bytes(), AttestationRefusal::UnknownFormat),
            (envelope(TYPE, b"\xff", &ours, &ours).to_string().into_bytes(), AttestationRefusal::UnknownFormat),
            (envelope(TYPE, deep_statement.as_bytes(), &ours, &ours).to_string().into_bytes(), AttestationRefusal::UnknownFormat),
            (deep, AttestationRefusal::UnknownFormat),
            (b"null".to_vec(), AttestationRefusal::UnknownFormat),
            (b"\xff\0".to_vec(), AttestationRefusal::UnknownFormat),
            (vec![b' ' + 1; LONGEST_LINE + 1], AttestationRefusal::TooLarge),
        ] {
            assert_eq!(refusal(&line), expected, "{}", String::from_utf8_lossy(&line[..line.len().min(300)]));
        }
    }

    #[test]
    fn lines_are_read_once_and_only_a_limited_number_of_them() {
        let ours = signer(1);
        let claim = Envelope::sign(&claim(ours.public().id()).to_statement(), &ours).to_line();
        let is_claim = |read: &&ReadAttestation| matches!(read, ReadAttestation::Claim(_));
        let mut reader = AttestationReader::default();
        assert_eq!(reader.read(&claim.repeat(100), &by_ours).iter().filter(is_claim).count(), 1);
        assert_eq!(reader.read(&claim, &by_ours), [], "another note has the same line");

        let too_large = Some(&ReadAttestation::Refused(AttestationRefusal::TooLarge));
        let different: String = (0..1_000_000).map(|number| format!("{number}\n")).collect();
        let read = read_attestations(different.as_bytes(), &by_ours);
        assert_eq!((read.len(), read.last()), (MOST_LINES + 1, too_large));
        let read = read_attestations(&b"x\n".repeat(8 << 20), &by_ours);
        assert_eq!((read.len(), read.last()), (2, too_large));
        let many = [&b"x\n".repeat(MOST_LINES)[..], &claim].concat();
        assert_eq!(read_attestations(&many, &by_ours).iter().filter(is_claim).count(), 1, "what repeats does not count");
    }
}
