//! DSSE v1.0.2: the envelope around an in-toto statement, and the pre-authentication encoding, which proctor signs
//! everywhere except in SSHSIG.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::signing::{PublicKey, Signer};

const STATEMENT_PAYLOAD: &str = "application/vnd.in-toto+json";

/// An envelope: one line of `<run>.intoto.jsonl`.
#[wire]
pub(crate) struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature {
    keyid: String,
    sig: String,
}

/// The content of an envelope whose signature is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedEnvelope {
    pub(crate) payload: Vec<u8>,
}

/// Returns the bytes that are signed for a body. These contain the body's type, and the lengths of the type and of the
/// body, so that a signature for one type is not valid for a body of another type.
pub(crate) fn encode_pre_authentication(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), body.len());
    [head.as_bytes(), body].concat()
}

impl Envelope {
    pub(crate) fn sign(payload: &[u8], signer: &Signer) -> Self {
        let signature = signer.sign(&encode_pre_authentication(STATEMENT_PAYLOAD, payload));
        Self {
            payload: STANDARD.encode(payload),
            payload_type: STATEMENT_PAYLOAD.to_owned(),
            signatures: vec![EnvelopeSignature { keyid: signer.public().id().hex(), sig: STANDARD.encode(signature) }],
        }
    }

    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("an envelope has text keys");
        line.push(b'\n');
        line
    }

    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Returns the id of the key that signed, as the envelope names it; `None` if the content is not declared as an in-toto statement,
    /// or the envelope does not have exactly one signature. Nothing is checked by this.
    pub(crate) fn statement_signer(&self) -> Option<&str> {
        let [signature] = self.signatures.as_slice() else { return None };
        (self.payload_type == STATEMENT_PAYLOAD).then_some(signature.keyid.as_str())
    }

    /// Returns the content if it is declared as an in-toto statement, and the envelope's only signature names this key and is
    /// valid.
    pub(crate) fn open(&self, key: &PublicKey) -> Option<SignedEnvelope> {
        let [signature] = self.signatures.as_slice() else { return None };
        if self.payload_type != STATEMENT_PAYLOAD || signature.keyid != key.id().hex() {
            return None;
        }
        let payload = STANDARD.decode(&self.payload).ok()?;
        let sig = STANDARD.decode(&signature.sig).ok()?;
        key.verifies(&encode_pre_authentication(&self.payload_type, &payload), &sig).then_some(SignedEnvelope { payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        let encoded = encode_pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn an_envelope_opens_with_its_key_alone_and_only_unchanged() {
        let signer = Signer::from_seed(&[1; 32]);
        let envelope = Envelope::sign(b"{}", &signer);
        assert_eq!(Envelope::parse(&envelope.to_line()).as_ref(), Some(&envelope));
        assert_eq!(envelope.open(signer.public()), Some(SignedEnvelope { payload: b"{}".to_vec() }));
        assert_eq!(envelope.open(Signer::from_seed(&[2; 32]).public()), None);
        let other_payload = Envelope { payload: STANDARD.encode(b"[]"), ..envelope.clone() };
        let other_type = Envelope { payload_type: "text/plain".to_owned(), ..envelope.clone() };
        let unsigned = Envelope { signatures: Vec::new(), ..envelope.clone() };
        let twice = Envelope { signatures: [envelope.signatures.clone(), envelope.signatures.clone()].concat(), ..envelope };
        for changed in [other_payload, other_type, unsigned, twice] {
            assert_eq!(changed.open(signer.public()), None, "{changed:?}");
        }
    }
}
