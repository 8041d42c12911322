//! The part of `proctor doctor` about the size of the evidence: how large it is, and which limit is proposed. Pure.

use proctor_wire::wire;

use proctor_model::PROPOSED_MAX_BYTES;

/// The size of the evidence in the store, and how many projects let it grow.
#[wire(Copy, Default, open, written)]
pub(crate) struct EvidenceSize {
    /// The bytes on disk of all evidence and the ledgers.
    pub(crate) bytes: u64,
    /// The number of registered projects whose `[evidence]` sets no `max_bytes`.
    pub(crate) projects_without_limit: u64,
}

impl EvidenceSize {
    /// Returns the line for people. Nothing is wrong without a limit, so a limit is only proposed.
    pub(super) fn line(self) -> String {
        let size = format!("evidence: {} MiB", self.bytes.div_ceil(1 << 20));
        match self.projects_without_limit {
            0 => size,
            1 => format!("{size}; 1 project has no limit: {}", proposal()),
            many => format!("{size}; {many} projects have no limit: {}", proposal()),
        }
    }
}

fn proposal() -> String {
    format!(
        "`max_bytes = \"{PROPOSED_MAX_BYTES}\"` in `[evidence]` of proctor.toml is proposed; nothing is removed before it is set"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_proposed_while_a_project_has_none() {
        let line = |bytes, projects_without_limit| EvidenceSize { bytes, projects_without_limit }.line();
        assert_eq!(line(3 << 20, 0), "evidence: 3 MiB");
        assert_eq!(
            line(1, 1),
            "evidence: 1 MiB; 1 project has no limit: `max_bytes = \"5GiB\"` in `[evidence]` of proctor.toml is proposed; \
             nothing is removed before it is set"
        );
        assert!(line(0, 2).starts_with("evidence: 0 MiB; 2 projects have no limit: "));
    }
}
