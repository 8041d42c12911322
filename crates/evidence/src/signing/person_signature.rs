//! Signatures that people make with `ssh-keygen -Y sign`, by keys that proctor never sees: Ed25519 keys in a file or on
//! a security key.
//!
//! The formats are OpenSSH's PROTOCOL.sshsig and PROTOCOL.u2f. The caller says whose signature is accepted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256, Sha512};

use crate::signing::key::{SSH_ALGORITHM, ssh_string};
use crate::signing::{PublicKey, Signer};
use proctor_model::AllowedSigner;

/// The namespace of approval signatures (`ssh-keygen -n`). A signature for another purpose approves nothing.
pub const APPROVAL_NAMESPACE: &str = "proctor-approval";

/// The name of the algorithm for an Ed25519 key that a security key (a hardware device) holds.
const SECURITY_KEY: &str = "sk-ssh-ed25519@openssh.com";
/// The flag that says that the person touched the security key.
const TOUCHED: u8 = 1;

/// Returns the signer whose key signed these bytes. Returns `None` if no signer did, or if the text is not an approval
/// signature.
pub fn approving_signer<'k>(message: &[u8], signature: &str, signers: &'k [AllowedSigner]) -> Option<&'k AllowedSigner> {
    let decoded = decode(signature)?;
    let signature = PersonSignature::parse(&decoded)?;
    signers.iter().find(|signer| signature.is_valid_for(message, &signer.key))
}

struct PersonSignature<'s> {
    key: &'s [u8],
    hash: &'s [u8],
    kind: &'s [u8],
    bytes: &'s [u8],
    /// The data that a security key adds: a byte of flags and a counter. Empty for a key in a file.
    added: &'s [u8],
}

impl<'s> PersonSignature<'s> {
    fn parse(decoded: &'s [u8]) -> Option<Self> {
        let rest = decoded.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_be_bytes())?;
        let (key, rest) = split_field(rest)?;
        let (namespace, rest) = split_field(rest)?;
        let (_reserved, rest) = split_field(rest)?;
        let (hash, rest) = split_field(rest)?;
        let (signature, rest) = split_field(rest)?;
        let (kind, inner) = split_field(signature)?;
        let (bytes, added) = split_field(inner)?;
        let is_ours = rest.is_empty() && namespace == APPROVAL_NAMESPACE.as_bytes();
        is_ours.then_some(Self { key, hash, kind, bytes, added })
    }

    /// Returns whether this is the signature of `message` by `key`, which is given in OpenSSH's form.
    fn is_valid_for(&self, message: &[u8], key: &str) -> bool {
        let mut words = key.split(' ');
        let (Some(kind), Some(blob)) = (words.next(), words.next().and_then(|blob| STANDARD.decode(blob).ok())) else {
            return false;
        };
        if blob != self.key || kind.as_bytes() != self.kind {
            return false;
        }
        self.signed_bytes(kind, message, &blob).is_some_and(|(public, signed)| public.verifies(&signed, self.bytes))
    }

    /// Returns the public key and the bytes that its signature has to cover. Returns `None` if the key or the hash is damaged
    /// or of an unknown kind, or the security key was not touched.
    fn signed_bytes(&self, kind: &str, message: &[u8], blob: &[u8]) -> Option<(PublicKey, Vec<u8>)> {
        let hashed = match self.hash {
            b"sha512" => Sha512::digest(message).to_vec(),
            b"sha256" => Sha256::digest(message).to_vec(),
            _ => return None,
        };
        let namespace = ssh_string(APPROVAL_NAMESPACE.as_bytes());
        let signed = [MAGIC, &namespace, &ssh_string(b""), &ssh_string(self.hash), &ssh_string(&hashed)].concat();
        let (_kind, rest) = split_field(blob)?;
        let (key, rest) = split_field(rest)?;
        let public = PublicKey::from_bytes(key)?;
        if kind == SSH_ALGORITHM {
            return (rest.is_empty() && self.added.is_empty()).then_some((public, signed));
        }
        let (application, rest) = split_field(rest)?;
        let is_touched = self.added.len() == 5 && self.added[0] & TOUCHED != 0;
        let device_message = [Sha256::digest(application).as_slice(), self.added, Sha256::digest(&signed).as_slice()].concat();
        (kind == SECURITY_KEY && rest.is_empty() && is_touched).then_some((public, device_message))
    }
}

/// Splits off the first length-prefixed field (RFC 4251, section 5).
fn split_field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}

// SSHSIG, the signature format of `ssh-keygen -Y verify` (OpenSSH, PROTOCOL.sshsig).

/// The namespace of report signatures (`ssh-keygen -n`). A signature for another purpose does not verify.
pub const SSH_NAMESPACE: &str = "proctor-evidence@v1";
/// The namespace of `proctor key sign`. What is signed so is never taken for evidence.
pub const FILE_NAMESPACE: &str = "proctor-file@v1";
/// The signer's name in the `allowed_signers` files that proctor writes (`ssh-keygen -I`).
pub const SSH_IDENTITY: &str = "proctor";

pub(super) const MAGIC: &[u8] = b"SSHSIG";
pub(super) const VERSION: u32 = 1;
const HASH: &str = "sha512";
pub(super) const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
pub(super) const END: &str = "-----END SSH SIGNATURE-----";
/// OpenSSH wraps lines at this many characters.
const WIDTH: usize = 70;

/// Returns the signature of a file's bytes for the purpose `namespace`, in the form of a signature file.
pub(crate) fn sign_for_ssh(message: &[u8], namespace: &str, signer: &Signer) -> Vec<u8> {
    let signature = signer.sign(&signed_data(message, namespace));
    let blob = blob(signer.public(), namespace, &signature);
    let encoded = STANDARD.encode(blob);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(WIDTH).map(|line| std::str::from_utf8(line).expect("base64 is ASCII")).collect();
    format!("{BEGIN}\n{}\n{END}\n", lines.join("\n")).into_bytes()
}

/// Returns whether the signature file `file` is this key's signature of these bytes.
pub(crate) fn verify_for_ssh(message: &[u8], file: &[u8], key: &PublicKey) -> bool {
    let body = std::str::from_utf8(file).ok().and_then(|text| text.strip_prefix(BEGIN)?.trim_end().strip_suffix(END));
    let Some(decoded) = body.and_then(|body| STANDARD.decode(body.split_whitespace().collect::<String>()).ok()) else {
        return false;
    };
    // Everything before the last 64 bytes, which are the signature itself, is the same for all signatures by one key.
    let Some((_, signature)) = decoded.split_last_chunk::<64>() else { return false };
    decoded == blob(key, SSH_NAMESPACE, signature) && key.verifies(&signed_data(message, SSH_NAMESPACE), signature)
}

fn blob(key: &PublicKey, namespace: &str, signature: &[u8; 64]) -> Vec<u8> {
    let signature = [ssh_string(SSH_ALGORITHM.as_bytes()), ssh_string(signature)].concat();
    [
        MAGIC,
        &VERSION.to_be_bytes(),
        &ssh_string(&key.ssh_blob()),
        &ssh_string(namespace.as_bytes()),
        &ssh_string(b""),
        &ssh_string(HASH.as_bytes()),
        &ssh_string(&signature),
    ]
    .concat()
}

fn signed_data(message: &[u8], namespace: &str) -> Vec<u8> {
    [
        MAGIC,
        &ssh_string(namespace.as_bytes()),
        &ssh_string(b""),
        &ssh_string(HASH.as_bytes()),
        &ssh_string(&Sha512::digest(message)),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::Signer;

    /// Returns a signature as a security key makes it, and the signer it belongs to.
    fn security_key_signature(message: &[u8], namespace: &str, flags: u8) -> (String, AllowedSigner) {
        let signer = Signer::from_seed(&[6; 32]);
        let raw = split_field(split_field(&signer.public().ssh_blob()).expect("its kind").1).expect("its bytes").0.to_vec();
        let blob = [ssh_string(SECURITY_KEY.as_bytes()), ssh_string(&raw), ssh_string(b"ssh:")].concat();
        let hashed = ssh_string(&Sha512::digest(message));
        let signed = [MAGIC, &ssh_string(namespace.as_bytes()), &ssh_string(b""), &ssh_string(b"sha512"), &hashed].concat();
        let added = [&[flags][..], &7_u32.to_be_bytes()].concat();
        let device_message = [Sha256::digest(b"ssh:").as_slice(), &added, Sha256::digest(&signed).as_slice()].concat();
        let inner = [ssh_string(SECURITY_KEY.as_bytes()), ssh_string(&signer.sign(&device_message)), added].concat();
        let all = [
            MAGIC,
            &VERSION.to_be_bytes(),
            &ssh_string(&blob),
            &ssh_string(namespace.as_bytes()),
            &ssh_string(b""),
            &ssh_string(b"sha512"),
            &ssh_string(&inner),
        ]
        .concat();
        let key = format!("{SECURITY_KEY} {}", STANDARD.encode(blob));
        (format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(all)), AllowedSigner { principals: "lead".to_owned(), key })
    }

    #[test]
    fn a_security_key_signs_when_it_is_touched_and_for_this_purpose() {
        let (signature, signer) = security_key_signature(b"request", APPROVAL_NAMESPACE, TOUCHED);
        let signers = [signer];
        assert_eq!(approving_signer(b"request", &signature, &signers), Some(&signers[0]));
        assert_eq!(approving_signer(b"another", &signature, &signers), None);
        assert_eq!(approving_signer(b"request", &signature, &[]), None);
        let (untouched, _) = security_key_signature(b"request", APPROVAL_NAMESPACE, 0);
        let (elsewhere, _) = security_key_signature(b"request", "git", TOUCHED);
        for refused in [untouched.as_str(), elsewhere.as_str(), "", "-----BEGIN SSH SIGNATURE-----", BEGIN] {
            assert_eq!(approving_signer(b"request", refused, &signers), None, "{refused}");
        }
    }

    #[test]
    fn no_byte_of_a_signature_can_be_changed() {
        let (signature, signer) = security_key_signature(b"request", APPROVAL_NAMESPACE, TOUCHED);
        let (signers, bytes) = ([signer], decode(&signature).expect("it is one"));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let text = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(&changed));
            // A change of the reserved field, which is empty, or of its length has to be refused, too.
            assert_eq!(approving_signer(b"request", &text, &signers), None, "byte {at}");
            let cut = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(&bytes[..at]));
            assert_eq!(approving_signer(b"request", &cut, &signers), None, "cut at {at}");
        }
    }
}

#[cfg(test)]
mod ssh_signature_tests {
    use super::*;

    #[test]
    fn a_signature_verifies_with_its_key_and_its_bytes_alone() {
        let signer = Signer::from_seed(&[3; 32]);
        let file = sign_for_ssh(b"report", SSH_NAMESPACE, &signer);
        let no_evidence = sign_for_ssh(b"report", FILE_NAMESPACE, &signer);
        assert!(!verify_for_ssh(b"report", &no_evidence, signer.public()), "signed for another purpose");
        assert!(verify_for_ssh(b"report", &file, signer.public()));
        assert!(!verify_for_ssh(b"Report", &file, signer.public()));
        assert!(!verify_for_ssh(b"report", &file, Signer::from_seed(&[4; 32]).public()));
        assert!(!verify_for_ssh(b"report", b"", signer.public()));
        let text = String::from_utf8(file).expect("it is text");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        // Line breaks in the base64 text do not matter.
        assert!(verify_for_ssh(b"report", text.replacen("\n", "\n\n", 1).as_bytes(), signer.public()));
        assert!(!verify_for_ssh(b"report", text.replacen("U1NIU0lH", "U1NIU0lI", 1).as_bytes(), signer.public()));
    }
}
