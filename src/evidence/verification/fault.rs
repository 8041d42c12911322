//! Every kind of fault: its word, what is wrong, and what to do next.

use std::path::PathBuf;

/// What is wrong with some evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where: a file, relative to what was verified.
    pub file: PathBuf,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What was found and what should be there.
    pub detail: String,
}

macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $name:ident $word:literal $what:literal $next:ident;)*) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultKind {
            $(#[doc = $what] $name,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns its word in `--json`.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns what is wrong, as a sentence about the file.
            pub fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }

            /// Returns what to do next.
            pub fn next(self) -> &'static str {
                match self { $(Self::$name => $next,)* }
            }
        }
    };
}

const COMPARE: &str = "compare with a backup or an export of the run; what it says now is no evidence";
const BACKUP: &str = "put it back from a backup or an export of the run";
const REMOVE: &str = "look at it, then move it elsewhere: only proctor writes there";
const PERMIT: &str = "find out who changed it, then set it back (`chmod`, `chown`)";
const LEDGER: &str = "put the ledger back from a backup; lines of yours at hand elsewhere show which one is the right one";
const CLOSE: &str = "`proctor run` closes what a dead process left, as INTERRUPTED";
const FINISH: &str = "somebody put it there or changed it: look at it; `proctor prune` removes it";
const FINISH_ARCHIVE: &str =
    "`proctor archive` or the next run ends what a dead process began; what differs from the ledger stays, and is no evidence";
const APPROVAL: &str = "the approval before it holds: `proctor approve` says what is to be approved now, and how";
const LINK: &str = "the next run of the task links it again";
const KEY: &str = "put the key files back from a backup; if you lost the key yourself, trust begins with the new one";
const ANCHOR: &str = "put back the ledger of a backup that has what was anchored; what the ledger says now is no evidence";
const PLACE: &str = "look where else the checkpoint was kept; who could write there could take it away";
const PROOF: &str = "ask for the run again: `proctor export RUN --anchor FILE` proves it against the checkpoint in the file";
const INDEX: &str = "delete `state.db`: it is rebuilt from the ledgers";

fault_kinds! {
    FileChanged "fileChanged" "its bytes are not those that were sealed" COMPARE;
    FileMissing "fileMissing" "it was sealed and is not there" BACKUP;
    FileUnlisted "fileUnlisted" "it was not there when the run was sealed" REMOVE;
    FileUnreadable "fileUnreadable" "it cannot be read" PERMIT;
    NotAFile "notAFile" "it is no regular file" REMOVE;
    SecondName "secondName" "it has another name somewhere, by which it can be changed" COMPARE;
    WrongMode "wrongMode" "its permissions are not those it was given" PERMIT;
    WrongOwner "wrongOwner" "it belongs to another user" PERMIT;
    ManifestMissing "manifestMissing" "the run has no manifest" BACKUP;
    ManifestMalformed "manifestMalformed" "it is no manifest as proctor writes it" COMPARE;
    ManifestChanged "manifestChanged" "it is not the manifest that the ledger names" COMPARE;
    ReportUnreadable "reportUnreadable" "it is no report as proctor writes it" COMPARE;
    ReportHash "reportHash" "its content does not have the hash it says" COMPARE;
    ReportDisagrees "reportDisagrees" "it says something else than the ledger" COMPARE;
    FilesDisagree "filesDisagree" "the report says something else of a file than what lies there" COMPARE;
    RecordUnreadable "recordUnreadable" "it is no record as proctor writes it" COMPARE;
    RecordDisagrees "recordDisagrees" "it is the record of something else" COMPARE;
    SignatureMissing "signatureMissing" "the run was signed, and the signature is not there" BACKUP;
    SignatureWrong "signatureWrong" "it is not the signature of these bytes by the key that signed then" COMPARE;
    StatementsWrong "statementsWrong" "they are not the two statements of this run" COMPARE;
    StatementDisagrees "statementDisagrees" "what is attested is not what was sealed" COMPARE;
    LedgerMissing "ledgerMissing" "there is evidence of the project, and no ledger" LEDGER;
    LineUnreadable "lineUnreadable" "it is no line as proctor writes it" LEDGER;
    LineSequence "lineSequence" "lines are missing, doubled or moved" LEDGER;
    LineChain "lineChain" "the line before it is not the one it was written after" LEDGER;
    LineUnsigned "lineUnsigned" "the line should be signed and is not" LEDGER;
    LineSignature "lineSignature" "the line is not what the key that signed then has signed" LEDGER;
    LineTorn "lineTorn" "behind the last line there is something that is no line and the beginning of none" LEDGER;
    ProjectDisagrees "projectDisagrees" "the ledger is another project's" LEDGER;
    ApprovalWrong "approvalWrong" "an approval that does not count" APPROVAL;
    RunTwice "runTwice" "two lines are about the same run" LEDGER;
    RunUnnamed "runUnnamed" "no line of the ledger is about this run: it was begun and not ended, or put there" CLOSE;
    RunMissing "runMissing" "the ledger has the run, and its directory is not there" BACKUP;
    RunMisplaced "runMisplaced" "the run lies with another task than its own" COMPARE;
    RunSuperseded "runSuperseded" "the ledger says that the run was dropped" REMOVE;
    RunPruned "runPruned" "the ledger says that the run was pruned, and something of it is there" FINISH;
    PruneWrong "pruneWrong" "a line prunes a run that the ledger does not have so" LEDGER;
    RunArchived "runArchived" "the ledger says that the run was archived, and its directory is there" FINISH_ARCHIVE;
    ArchiveMissing "archiveMissing" "the ledger says that the run was archived, and its archive is not there" BACKUP;
    ArchiveChanged "archiveChanged" "it is not the archive that the ledger names" COMPARE;
    ArchiveUnreadable "archiveUnreadable" "it is no archive as proctor writes it" COMPARE;
    ArchiveUnnamed "archiveUnnamed" "no line of the ledger is about this archive: it was begun and not ended, or put there" FINISH_ARCHIVE;
    ArchiveWrong "archiveWrong" "a line archives a run that the ledger does not have so" LEDGER;
    Foreign "foreign" "proctor did not put it there" REMOVE;
    LatestWrong "latestWrong" "it does not lead to the last run that counts" LINK;
    NameWrong "nameWrong" "it does not lead to the file of that name in the latest run" LINK;
    KeyUnreadable "keyUnreadable" "it is no key, or not the one its record says" KEY;
    KeyMissing "keyMissing" "records of keys are missing before it" KEY;
    KeyUnproven "keyUnproven" "the key did not sign its own record" KEY;
    KeyNotEndorsed "keyNotEndorsed" "the key before it did not sign the handing-over" KEY;
    KeyPosition "keyPosition" "the ledger is not the one the key took over" LEDGER;
    AnchorMissing "anchorMissing" "no checkpoint of the project is kept there" PLACE;
    AnchorUnreadable "anchorUnreadable" "it is no checkpoint as proctor writes it" PLACE;
    AnchorSignature "anchorSignature" "the checkpoint is not signed by the key that should have" KEY;
    AnchorAhead "anchorAhead" "the ledger has fewer lines than were anchored: it was cut or put back" ANCHOR;
    AnchorDiffers "anchorDiffers" "the ledger is not the one that was anchored: it was written anew" ANCHOR;
    ProofMissing "proofMissing" "there is no proof that the run is in the ledger" PROOF;
    ProofUnreadable "proofUnreadable" "it is no proof as proctor writes it" PROOF;
    ProofWrong "proofWrong" "what should be proven does not follow from it" PROOF;
    ProofElsewhere "proofElsewhere" "it says nothing about what is to be proven" PROOF;
    IndexAhead "indexAhead" "the index knows lines that the ledger does not have: the ledger was cut or put back" LEDGER;
    IndexDiffers "indexDiffers" "the index says something else than the ledger" INDEX;
    IndexDamaged "indexDamaged" "the index cannot be read" INDEX;
}

impl Fault {
    /// Names a fault of a file.
    pub fn of(kind: FaultKind, file: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self { file: file.into(), kind, detail: detail.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own_and_a_next_step() {
        let words: BTreeSet<_> = FaultKind::ALL.iter().map(|kind| kind.word()).collect();
        assert_eq!(words.len(), FaultKind::ALL.len());
        assert!(FaultKind::ALL.iter().all(|kind| !kind.what().is_empty() && !kind.next().is_empty()));
    }
}
