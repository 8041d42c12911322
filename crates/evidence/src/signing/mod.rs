//! The formats of signatures and of signed statements. Other programs can read all of them.
//!
//! Pure: keys come in and bytes come out. `evidence/keys` makes and reads key files, `seal` and the ledger ask for signatures,
//! and `verification` checks them.
//!
//! * `key`: Ed25519 keys and their text forms.
//! * `envelope`: DSSE, the envelope around a signed statement.
//! * `person_signature`: signatures made by people, among them SSHSIG of `ssh-keygen -Y sign`.
//! * `statement`: in-toto statements about a run.

mod envelope;
mod key;
mod person_signature;
mod statement;

pub(super) use envelope::{Envelope, encode_pre_authentication};
pub(super) use key::Signer;
pub use key::{KeyFormatError, PublicKey};
pub use person_signature::{APPROVAL_NAMESPACE, FILE_NAMESPACE, SSH_IDENTITY, SSH_NAMESPACE, approving_signer};
pub(super) use person_signature::{sign_for_ssh, verify_for_ssh};
pub(super) use statement::{RunStatements, STATEMENT_TYPE, Statement, StatementForm, TEST_RESULT, tree_name};
