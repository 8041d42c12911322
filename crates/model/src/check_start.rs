//! Which runs carry a check out.

use proctor_wire::wire;

/// Which runs carry a check out.
#[wire(Copy, Default, kebab, schema)]
pub enum CheckStart {
    /// Every run, also those that a save starts.
    #[default]
    Save,
    /// Only runs for which somebody asked for every check, or for this one by its name.
    Ask,
}

impl CheckStart {
    /// Returns whether every run carries the check out.
    pub fn is_save(&self) -> bool {
        *self == Self::Save
    }
}
