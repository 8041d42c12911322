//! The variables in the file that the setting `env_file` names.

use std::fmt;

use proctor_model::Digest;

/// The variables of a file, in the order in which they stand there. A later one of the same name takes effect.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FileVariables(pub Vec<(String, String)>);

impl FileVariables {
    /// Returns a digest of the names and values. An approval holds it, so no value is stored with the approval.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json_canonicalizer::to_vec(&self.0).expect("texts have a JSON form"))
    }
}

impl fmt::Debug for FileVariables {
    /// Prints names only, because values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
