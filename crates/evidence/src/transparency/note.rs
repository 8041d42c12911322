//! Text with signatures below it, in C2SP's signed-note format, which Go's `golang.org/x/mod/sumdb/note` reads, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::signing::{PublicKey, Signer};
use proctor_model::Digest;

/// The byte that stands for Ed25519 in the signed-note format (Signature types).
const ED25519: u8 = 1;
/// The beginning of a signature line: an em dash and a space.
const DASH: &str = "— ";
/// A note with more signatures than this is refused. The format allows a reader to set a limit.
const MOST_SIGNATURES: usize = 100;

/// A parsed note. Its signatures may be invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// The signed text, with its last newline.
    pub(super) text: String,
    signatures: Vec<NoteSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NoteSignature {
    name: String,
    key_hash: [u8; 4],
    signature: Vec<u8>,
}

impl Note {
    /// Signs a text, which must end with a newline and have no empty line.
    pub(super) fn sign(text: String, name: &str, signer: &Signer) -> Self {
        let signature = signer.sign(text.as_bytes()).to_vec();
        let signature = NoteSignature { name: name.to_owned(), key_hash: key_hash(name, signer.public()), signature };
        Self { text, signatures: vec![signature] }
    }

    pub(super) fn parse(note: &str) -> Option<Self> {
        let (body, signatures) = note.rsplit_once("\n\n")?;
        let is_control = |character: char| character.is_ascii_control() && character != '\n';
        let lines: Vec<&str> = signatures.strip_suffix('\n')?.split('\n').collect();
        if note.contains(is_control) || lines.len() > MOST_SIGNATURES {
            return None;
        }
        let signatures = lines.into_iter().map(parse_signature).collect::<Option<Vec<_>>>()?;
        Some(Self { text: format!("{body}\n"), signatures })
    }

    pub(super) fn to_text(&self) -> String {
        let line = |signature: &NoteSignature| {
            let blob = [signature.key_hash.as_slice(), &signature.signature].concat();
            format!("{DASH}{} {}\n", signature.name, STANDARD.encode(blob))
        };
        let lines: String = self.signatures.iter().map(line).collect();
        format!("{}\n{lines}", self.text)
    }

    /// Returns whether this key signed the note under this name. Witnesses may have added other signatures.
    pub(super) fn is_signed_by(&self, name: &str, key: &PublicKey) -> bool {
        let expected = key_hash(name, key);
        let by_this_key = self.signatures.iter().filter(|signature| signature.name == name && signature.key_hash == expected);
        by_this_key.clone().next().is_some() && by_this_key.clone().all(|it| key.verifies(self.text.as_bytes(), &it.signature))
    }
}

fn parse_signature(line: &str) -> Option<NoteSignature> {
    let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
    let decoded = STANDARD.decode(encoded).ok()?;
    let (key_hash, signature) = decoded.split_first_chunk::<4>()?;
    let is_name = !name.is_empty() && !name.contains(|character: char| character.is_whitespace() || character == '+');
    is_name.then(|| NoteSignature { name: name.to_owned(), key_hash: *key_hash, signature: signature.to_vec() })
}

/// Returns the key in the form that verifiers of notes take: `<name>+<hash>+<type and key>`.
pub(super) fn verifier_key(name: &str, key: &PublicKey) -> String {
    let hash: String = key_hash(name, key).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}+{hash}+{}", STANDARD.encode(key_with_type(key)))
}

/// Returns the bytes by which a signature line names its key. Several keys can have the same bytes, so these prove
/// nothing.
fn key_hash(name: &str, key: &PublicKey) -> [u8; 4] {
    let hash = Digest::of(&[name.as_bytes(), b"\n", &key_with_type(key)].concat());
    *hash.as_bytes().first_chunk().expect("a digest has 32 bytes")
}

fn key_with_type(key: &PublicKey) -> Vec<u8> {
    [[ED25519].as_slice(), key.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "proctor/shop-00000001\n3\nAAAA\n";

    fn signer() -> Signer {
        Signer::from_seed(&[3; 32])
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_by_its_key_alone() {
        let note = Note::sign(TEXT.to_owned(), "proctor/shop-00000001", &signer());
        let text = note.to_text();
        assert!(text.starts_with("proctor/shop-00000001\n3\nAAAA\n\n— proctor/shop-00000001 "), "{text}");
        let read = Note::parse(&text).unwrap();
        assert_eq!(read, note);
        assert!(read.is_signed_by("proctor/shop-00000001", signer().public()));
        assert!(!read.is_signed_by("proctor/shop-00000002", signer().public()));
        assert!(!read.is_signed_by("proctor/shop-00000001", Signer::from_seed(&[4; 32]).public()));
        let changed = Note::parse(&text.replace("\n3\n", "\n4\n")).unwrap();
        assert!(!changed.is_signed_by("proctor/shop-00000001", signer().public()));
    }

    #[test]
    fn a_witness_may_sign_below() {
        let text = Note::sign(TEXT.to_owned(), "log", &signer()).to_text();
        let witness = Note::sign(TEXT.to_owned(), "witness.example", &Signer::from_seed(&[9; 32])).to_text();
        let both = format!("{text}{}", witness.rsplit_once("\n\n").unwrap().1);
        assert!(Note::parse(&both).unwrap().is_signed_by("log", signer().public()));
    }

    #[test]
    fn the_key_of_the_specification_has_the_form_it_shows() {
        // This is the example key of golang.org/x/mod/sumdb/note, which also publishes the key's private half.
        let expected = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let public = STANDARD.decode(expected.rsplit_once('+').unwrap().1).unwrap();
        let der = [[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00].as_slice(), &public[1..]].concat();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
        assert_eq!(verifier_key("PeterNeumann", &PublicKey::parse(&pem).unwrap()), expected);
        let note = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\
            — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
        assert!(Note::parse(note).unwrap().is_signed_by("PeterNeumann", &PublicKey::parse(&pem).unwrap()));
    }

    #[test]
    fn malformed_notes_are_refused() {
        let text = Note::sign(TEXT.to_owned(), "log", &signer()).to_text();
        for bad in [
            String::new(),
            TEXT.to_owned(),
            text.trim_end().to_owned(),
            text.replace('—', "-"),
            text.replace("\n3\n", "\n3\r\n"),
            text.replace("— log ", "— "),
            format!("{text}more\n"),
            format!("{text}\n"),
        ] {
            assert_eq!(Note::parse(&bad), None, "{bad}");
        }
    }
}
