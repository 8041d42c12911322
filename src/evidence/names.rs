//! Which names files of a run directory may have, and the names proctor keeps for itself.

use std::path::Path;

use crate::evidence::EvidenceError;
use crate::model::RunId;
use crate::report::DEBT_FILE;

/// The report of a run.
pub const REPORT_NAME: &str = "execution-report.json";
/// The digests of a run's files, for `sha256sum -c`.
pub const MANIFEST_NAME: &str = "SHA256SUMS";
/// The start record of a run.
pub const START_RECORD_NAME: &str = "run.json";
/// The signature of the report, for `ssh-keygen -Y verify`.
pub const SIGNATURE_NAME: &str = "execution-report.json.sig";
/// What the file of a run's attestations ends with; before it stands the run's id.
pub(super) const STATEMENTS_SUFFIX: &str = ".intoto.jsonl";
/// Where an export has the run's directory.
pub(super) const EXPORTED_RUN: &str = "run";
/// Where an export has the run's line of the ledger.
pub(super) const EXPORTED_LEDGER: &str = "ledger.jsonl";
/// Where an export has the proof that the line is in the ledger's log.
pub(super) const EXPORTED_PROOF: &str = "ledger.tlog-proof";
/// What the name of an archive ends with; before it stands the run's id.
pub(super) const ARCHIVE_SUFFIX: &str = ".tar.zst";
/// What a half-written file is renamed to begins so.
pub(super) const RECOVERED_PREFIX: &str = "recovered-";

/// A file name is at most this long on Linux (`NAME_MAX`).
const LONGEST_NAME: usize = 255;
const OWN_NAMES: [&str; 4] = [REPORT_NAME, MANIFEST_NAME, START_RECORD_NAME, SIGNATURE_NAME];

/// Returns the name of the file with a run's attestations.
pub fn statements_name(run_id: &RunId) -> String {
    format!("{run_id}{STATEMENTS_SUFFIX}")
}

/// Returns the name of a run's archive.
pub(super) fn archive_name(run_id: &RunId) -> String {
    format!("{run_id}{ARCHIVE_SUFFIX}")
}

/// Returns the run whose archive has a name.
pub(super) fn run_of_archive(name: &str) -> Option<RunId> {
    RunId::try_from(name.strip_suffix(ARCHIVE_SUFFIX)?).ok()
}

/// Returns whether a file of this name is written while a run is judged and sealed, and may be half-written when proctor dies.
pub(super) fn is_written_while_sealing(name: &str) -> bool {
    [REPORT_NAME, MANIFEST_NAME, SIGNATURE_NAME, DEBT_FILE].contains(&name) || name.ends_with(STATEMENTS_SUFFIX)
}

/// Refuses a name that is not one plain component.
pub(super) fn check_component(name: &str) -> Result<(), EvidenceError> {
    let is_plain = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('.')
        && !name.contains(|c: char| c == '/' || c.is_control());
    if is_plain { Ok(()) } else { Err(EvidenceError::Name { name: name.to_owned() }) }
}

/// Refuses a name that a file written during a run may not have.
pub(super) fn check_new_name(name: &str) -> Result<(), EvidenceError> {
    check_component(name)?;
    if OWN_NAMES.contains(&name) || name.ends_with(STATEMENTS_SUFFIX) || name.starts_with(RECOVERED_PREFIX) {
        return Err(EvidenceError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Returns a path's last component for messages and comparisons, lossily decoded.
pub(super) fn last_component(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_visible_component() {
        let long = "x".repeat(256);
        for bad in ["", ".", "..", ".hidden", "a/b", "/a", "a\nb", "a\0b", long.as_str()] {
            assert!(check_component(bad).is_err(), "{bad:?}");
        }
        for good in ["STEP.3-typescript-compilation.log", "a b", "ü", "a\\b"] {
            assert!(check_new_name(good).is_ok(), "{good}");
        }
        for own in
            ["run.json", "SHA256SUMS", "execution-report.json", "execution-report.json.sig", "x.intoto.jsonl", "recovered-x"]
        {
            assert!(check_new_name(own).is_err(), "{own}");
        }
    }
}
