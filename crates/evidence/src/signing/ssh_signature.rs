//! SSHSIG, the signature format of `ssh-keygen -Y verify` (OpenSSH, PROTOCOL.sshsig).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha512};

use crate::signing::key::{SSH_ALGORITHM, ssh_string};
use crate::signing::{PublicKey, Signer};

/// The namespace of report signatures (`ssh-keygen -n`). A signature for another purpose does not verify.
pub const SSH_NAMESPACE: &str = "proctor-evidence@v1";
/// The signer's name in the `allowed_signers` files that proctor writes (`ssh-keygen -I`).
pub const SSH_IDENTITY: &str = "proctor";

pub(super) const MAGIC: &[u8] = b"SSHSIG";
pub(super) const VERSION: u32 = 1;
const HASH: &str = "sha512";
pub(super) const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
pub(super) const END: &str = "-----END SSH SIGNATURE-----";
/// OpenSSH wraps lines at this many characters.
const WIDTH: usize = 70;

/// Returns the signature of a file's bytes in the form of a signature file.
pub(crate) fn sign_for_ssh(message: &[u8], signer: &Signer) -> Vec<u8> {
    let signature = signer.sign(&signed_data(message));
    let blob = blob(signer.public(), &signature);
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
    decoded == blob(key, signature) && key.verifies(&signed_data(message), signature)
}

fn blob(key: &PublicKey, signature: &[u8; 64]) -> Vec<u8> {
    let signature = [ssh_string(SSH_ALGORITHM.as_bytes()), ssh_string(signature)].concat();
    [
        MAGIC,
        &VERSION.to_be_bytes(),
        &ssh_string(&key.ssh_blob()),
        &ssh_string(SSH_NAMESPACE.as_bytes()),
        &ssh_string(b""),
        &ssh_string(HASH.as_bytes()),
        &ssh_string(&signature),
    ]
    .concat()
}

fn signed_data(message: &[u8]) -> Vec<u8> {
    [
        MAGIC,
        &ssh_string(SSH_NAMESPACE.as_bytes()),
        &ssh_string(b""),
        &ssh_string(HASH.as_bytes()),
        &ssh_string(&Sha512::digest(message)),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_verifies_with_its_key_and_its_bytes_alone() {
        let signer = Signer::from_seed(&[3; 32]);
        let file = sign_for_ssh(b"report", &signer);
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
