//! The file names that a run directory may contain, and those that only proctor may use.

use std::path::Path;

use crate::EvidenceError;
use crate::report::DEBT_FILE;
use proctor_model::{ExportFormat, RunId};

/// The JSON report of a run, in the run's directory.
pub const REPORT_NAME: &str = "execution-report.json";
/// The manifest of a run: the SHA-256 of each of the run's other files, in the format of `sha256sum -c`.
pub const MANIFEST_NAME: &str = "SHA256SUMS";
/// The record that is written before the first process of a run is started.
pub const START_RECORD_NAME: &str = "run.json";
/// The SSH signature of the report, for `ssh-keygen -Y verify`.
pub const SIGNATURE_NAME: &str = "execution-report.json.sig";
/// The suffix of a run's file of in-toto statements. The name begins with the run's id.
pub(super) const STATEMENTS_SUFFIX: &str = ".intoto.jsonl";
/// The folder of an export that holds the run's files.
pub(super) const EXPORTED_RUN: &str = "run";
/// The file of an export that holds the run's line of the ledger.
pub(super) const EXPORTED_LEDGER: &str = "ledger.jsonl";
/// The file of an export that proves that the run's line is in the ledger's transparency log.
pub(super) const EXPORTED_PROOF: &str = "ledger.tlog-proof";
/// The file of an export that holds the history of keys: a line with the record of each key.
pub(super) const EXPORTED_KEYS: &str = "keys.jsonl";
/// The suffix of an archive. The name begins with the run's id.
pub(super) const ARCHIVE_SUFFIX: &str = ".tar.zst";
/// The prefix that recovery puts before the name of a file that may be half-written.
pub(super) const RECOVERED_PREFIX: &str = "recovered-";

/// The longest file name that Linux allows (`NAME_MAX`), in bytes.
const LONGEST_NAME: usize = 255;
const OWN_NAMES: [&str; 4] = [REPORT_NAME, MANIFEST_NAME, START_RECORD_NAME, SIGNATURE_NAME];

/// Returns the name of the file with a run's signed in-toto statements.
pub fn statements_name(run_id: &RunId) -> String {
    format!("{run_id}{STATEMENTS_SUFFIX}")
}

/// Returns whether a file of this name is written while a run is sealed. Such a file may be half-written when proctor
/// dies.
pub(super) fn is_written_while_sealing(name: &str) -> bool {
    let is_export = ExportFormat::ALL.into_iter().any(|format| format.file_name() == name);
    [REPORT_NAME, MANIFEST_NAME, SIGNATURE_NAME, DEBT_FILE].contains(&name) || is_export || name.ends_with(STATEMENTS_SUFFIX)
}

/// Refuses a name that is not a single visible path component.
pub(super) fn check_component(name: &str) -> Result<(), EvidenceError> {
    let is_plain = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('.')
        && !name.contains(|c: char| c == '/' || c.is_control());
    if is_plain { Ok(()) } else { Err(EvidenceError::Name { name: name.to_owned() }) }
}

/// Refuses a name that callers may not give to a file of a run: one with several components, or one that proctor keeps
/// for itself.
pub(super) fn check_new_name(name: &str) -> Result<(), EvidenceError> {
    check_component(name)?;
    if OWN_NAMES.contains(&name) || name.ends_with(STATEMENTS_SUFFIX) || name.starts_with(RECOVERED_PREFIX) {
        return Err(EvidenceError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Returns the last component of a path, to be shown in a message. Bytes that are not UTF-8 are replaced.
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
