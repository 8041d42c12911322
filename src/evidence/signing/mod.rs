//! What is signed and how it is written down: formats that other programs read, and nothing else.
//!
//! Pure: keys come in and bytes come out. `evidence/keys` reads and makes the key files, `seal` and the ledger ask for signatures, and
//! `verification` asks whether they are right.
//!
//! `key` Ed25519 keys and the forms they are written in · `envelope` DSSE · `ssh_signature` SSHSIG, for `ssh-keygen -Y verify` ·
//! `person_signature` what people
//! sign · `statement` what is said of a run: in-toto statements.

mod envelope;
mod key;
mod person_signature;
mod ssh_signature;
mod statement;

pub(super) use envelope::{Envelope, encode_pre_authentication};
pub(super) use key::Signer;
pub use key::{KeyFormatError, PublicKey};
pub use person_signature::{APPROVAL_NAMESPACE, approving_signer};
pub use ssh_signature::{SSH_IDENTITY, SSH_NAMESPACE};
pub(super) use ssh_signature::{sign_for_ssh, verify_for_ssh};
pub(super) use statement::{RunStatements, Statement};
