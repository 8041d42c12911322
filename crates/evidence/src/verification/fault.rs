//! All kinds of faults that verification reports. A table gives each its word in JSON, how far it is from a
//! cause, a description, and what to do next.

use std::path::PathBuf;

use proctor_model::words;

/// A statement of verification about a file. With the default `K` it says that the file has a fault. With
/// `UnfinishedKind` it says that a dead process left its work on the file unfinished.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EvidenceFault<K = FaultKind> {
    /// The file's path, relative to the verified directory.
    pub file: PathBuf,
    pub kind: K,
    /// The value that was found, and the value that was expected.
    pub detail: String,
}

macro_rules! fault_kinds {
    ($($name:ident $word:literal $distance:literal $what:literal $next:ident;)*) => {
        /// The kinds of faults, one for each row of the table below.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultKind {
            $(#[doc = $what] $name,)*
        }

        impl FaultKind {
            /// Every kind, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the word for the kind in `--json`.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns how near a fault is to a cause: 0 for links and for the keys that everything else is checked with, then the ledger,
            /// then files of runs, then what only follows from these, such as links and the index.
            fn distance_from_cause(self) -> u8 {
                match self { $(Self::$name => $distance,)* }
            }

            /// Returns a description of the fault that follows the file's name in a sentence.
            pub fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }

            /// Returns what a person should do next about the fault.
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
const LEDGER: &str = "put the ledger back from a backup; an anchor or an export shows whether the backup is the right one";
const CLOSE: &str = "`proctor run` seals a run of a dead process as INTERRUPTED";
const FINISH: &str = "somebody put it there or changed it: look at it; `proctor prune` removes it";

const APPROVAL: &str = "the approval before it is valid: `proctor approve` says what has to be approved now, and how";
const RELINK: &str = "look at it, then move it elsewhere: the next run links the evidence again";
const LINK: &str = "the next run of the task links it again";
const KEY: &str =
    "put the key files back from a backup; where the key is lost, `proctor key rotate --lost` begins with a new one";
const DATES: &str =
    "set the clock right if it was wrong; if it was not, somebody with the key wrote the line: an anchor shows since when";
const HISTORY: &str = "give `--key` a file that `proctor key export` printed now, or ask for the run again";
const ANCHOR: &str = "put back the ledger of a backup that has what was anchored; what the ledger says now is no evidence";
const PLACE: &str = "look where else the checkpoint was kept; whoever can write to this place can remove it";
const PROOF: &str = "ask for the run again: `proctor export RUN --anchor FILE` proves it against the checkpoint in the file";
const INDEX: &str = "put a damaged ledger back first; where the ledgers are sound, delete `state.db`: it is rebuilt from them";

fault_kinds! {
    FileChanged "fileChanged" 3 "its bytes are not those that were sealed" COMPARE;
    FileMissing "fileMissing" 3 "it was sealed, but is missing now" BACKUP;
    FileUnlisted "fileUnlisted" 3 "it was not there when the run was sealed" REMOVE;
    FileUnreadable "fileUnreadable" 3 "it cannot be read" PERMIT;
    // What is behind a link is not looked at, so much else follows from it.
    NotAFile "notAFile" 0 "it is no regular file" REMOVE;
    SecondName "secondName" 3 "it has a second name (hard link), through which it can be changed" COMPARE;
    WrongMode "wrongMode" 3 "its permissions are not those it was given" PERMIT;
    WrongOwner "wrongOwner" 3 "it belongs to another user" PERMIT;
    ManifestMissing "manifestMissing" 3 "the run has no manifest" BACKUP;
    ManifestMalformed "manifestMalformed" 3 "it is no manifest as proctor writes it" COMPARE;
    ManifestChanged "manifestChanged" 3 "it is not the manifest that the ledger names" COMPARE;
    ReportUnreadable "reportUnreadable" 4 "it is no report as proctor writes it" COMPARE;
    ReportHash "reportHash" 4 "its content does not have the hash it says" COMPARE;
    ReportDisagrees "reportDisagrees" 4 "it says something else than the ledger" COMPARE;
    FilesDisagree "filesDisagree" 4 "the report gives another size or hash for a file than the file has" COMPARE;
    RecordUnreadable "recordUnreadable" 4 "it is no record as proctor writes it" COMPARE;
    RecordDisagrees "recordDisagrees" 4 "it is the record of something else" COMPARE;
    SignatureMissing "signatureMissing" 4 "the run was signed, but the signature is missing" BACKUP;
    SignatureWrong "signatureWrong" 4 "it is not a signature of these bytes by the key that was in use then" COMPARE;
    StatementsWrong "statementsWrong" 4 "they are not the two statements of this run" COMPARE;
    StatementDisagrees "statementDisagrees" 4 "what is attested is not what was sealed" COMPARE;
    LedgerMissing "ledgerMissing" 1 "the ledger is missing" LEDGER;
    LineUnreadable "lineUnreadable" 1 "a line was changed after it was written, or another version of proctor wrote it" LEDGER;
    LineSequence "lineSequence" 1 "lines are missing, doubled or moved" LEDGER;
    LineChain "lineChain" 1 "the line before it was changed or is another one than when it was written" LEDGER;
    LineUnsigned "lineUnsigned" 1 "the line should be signed and is not" LEDGER;
    LineSignature "lineSignature" 1 "the line was changed after it was signed, or not signed by the key that was in use then" LEDGER;
    TimeBackwards "timeBackwards" 1 "the line is dated before the line before it" DATES;
    TimeAhead "timeAhead" 1 "the line is dated ahead of this machine's clock" DATES;
    LineTorn "lineTorn" 1 "after the last line there are bytes that are neither a line nor the beginning of one" LEDGER;
    SegmentWrong "segmentWrong" 1 "it does not hold the lines of the ledger that its name says" LEDGER;
    ProjectDisagrees "projectDisagrees" 1 "the ledger is another project's" LEDGER;
    ApprovalWrong "approvalWrong" 2 "an approval that does not count" APPROVAL;
    RunTwice "runTwice" 2 "two lines are about the same run" LEDGER;
    RunUnnamed "runUnnamed" 4 "no line of the ledger is about this run: it was begun and not finished, or somebody put it there" CLOSE;
    RunMissing "runMissing" 3 "the ledger has the run, but its directory is missing" BACKUP;
    RunMisplaced "runMisplaced" 3 "the run is among the runs of another task" COMPARE;
    RunSuperseded "runSuperseded" 3 "the ledger says that the run was dropped" REMOVE;
    RunPruned "runPruned" 3 "the ledger says that the run was pruned, but a part of it exists" FINISH;
    PruneWrong "pruneWrong" 2 "a line prunes a run that was not sealed before with this manifest" LEDGER;
    ArchiveUnreadable "archiveUnreadable" 3 "it is no archive as proctor writes it" COMPARE;
    Foreign "foreign" 3 "proctor did not put it there" REMOVE;
    LinkReplaced "linkReplaced" 3 "it is in the place of the project's link to its evidence, and is no evidence" RELINK;
    LatestWrong "latestWrong" 5 "it does not lead to the last run that counts" LINK;
    NameWrong "nameWrong" 5 "it does not lead to the file of that name in the latest run" LINK;
    KeyUnreadable "keyUnreadable" 0 "it is no key, or not the one its record says" KEY;
    KeyMissing "keyMissing" 0 "records of earlier keys are missing" KEY;
    KeyUnproven "keyUnproven" 0 "the key did not sign its own record" KEY;
    KeyNotEndorsed "keyNotEndorsed" 0 "the key before it did not sign its record" KEY;
    KeyPosition "keyPosition" 2 "the ledger does not have the line after which the key took over" LEDGER;
    KeyLine "keyLine" 2 "the line that tells of a new key is missing, in another place, or about another key" LEDGER;
    KeyHistoryMissing "keyHistoryMissing" 0 "the export has no history of keys" HISTORY;
    KeyHistoryWrong "keyHistoryWrong" 0 "the history of keys does not belong to the key you trust" HISTORY;
    AnchorMissing "anchorMissing" 2 "no checkpoint of the project is kept there" PLACE;
    AnchorUnreadable "anchorUnreadable" 2 "it is no checkpoint as proctor writes it" PLACE;
    AnchorSignature "anchorSignature" 2 "the checkpoint is not signed by the key that should have signed it" KEY;
    AnchorAhead "anchorAhead" 1 "the ledger has fewer lines than were anchored: it was cut or put back" ANCHOR;
    AnchorDiffers "anchorDiffers" 1 "the ledger is not the one that was anchored: it was written anew" ANCHOR;
    ProofMissing "proofMissing" 2 "there is no proof that the run is in the ledger" PROOF;
    ProofUnreadable "proofUnreadable" 2 "it is no proof as proctor writes it" PROOF;
    ProofWrong "proofWrong" 2 "it does not prove what it should prove" PROOF;
    ProofElsewhere "proofElsewhere" 2 "it is about another checkpoint than the one to compare with" PROOF;
    IndexAhead "indexAhead" 1 "the index knows lines that the ledger does not have: the ledger was cut or put back" LEDGER;
    IndexDiffers "indexDiffers" 5 "the index says something else than the ledger" INDEX;
    IndexDamaged "indexDamaged" 5 "the index cannot be read" INDEX;
}

/// Sorts faults so that causes come before what follows from them. Faults of one file stay in the order in which they were found, because
/// a changed line of a ledger makes the line after it wrong.
pub fn sort_by_cause(faults: &mut [EvidenceFault]) {
    faults.sort_by(|one, other| {
        let key = |fault: &EvidenceFault| (fault.kind.distance_from_cause(), fault.file.clone());
        key(one).cmp(&key(other))
    });
}

impl<K> EvidenceFault<K> {
    /// Returns a statement about a file; `kind` says what is wrong or unfinished, and `detail` gives the values.
    pub fn new(kind: K, file: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self { file: file.into(), kind, detail: detail.into() }
    }
}

// Unfinished work of a dead proctor process. It is not a fault, because the next process that writes evidence finishes or removes it.

/// Work that a process began and did not finish. It is reported, but it is not a fault.
pub type UnfinishedWork = EvidenceFault<UnfinishedKind>;

/// The kinds of work that a process may leave unfinished when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnfinishedKind {
    /// A run that was not sealed: the lock file names the run, but no process holds the lock.
    Run,
    /// Removing a pruned run: the ledger's last line prunes it, and every remaining file is as it was sealed.
    Pruning,
    /// Removing a project with its evidence: the ledger's last line says so, and the project's directory is still there.
    Purging,
    /// Writing a ledger line: the file ends with the beginning of the next line.
    Line,
    /// The line that tells of a new key: the key took over after the last line of the ledger.
    KeyLine,
    /// Destroying the private half of a key that was replaced.
    RetiredKey,
}

impl UnfinishedKind {
    /// Returns the unfinished work, in words that follow the file's name.
    pub fn what(self) -> &'static str {
        match self {
            Self::Run => "its process died before the run was sealed",
            Self::Pruning => "the last line of the ledger prunes it, and the process died before all of it was removed",
            Self::Purging => {
                "the last line of the ledger removes the project's evidence, and the process died before all of it was gone"
            }
            Self::KeyLine => "the key was replaced, and the process died before the ledger had a line about it",
            Self::RetiredKey => "it is the private half of a key that was replaced, and is still there",
            Self::Line => "after the last line there is the beginning of another: the process died while it wrote it",
        }
    }

    /// Returns which command finishes the work.
    pub fn next(self) -> &'static str {
        match self {
            Self::Run => "the next `proctor run` seals it as INTERRUPTED",
            Self::Pruning => "the next command that writes evidence removes it: `proctor prune`, or a run",
            Self::Purging => "the next command that writes evidence removes it: `proctor service remove --purge` again, or a run",
            Self::KeyLine => "the next command that writes evidence of the project writes the line: `proctor prune`, or a run",
            Self::RetiredKey => "the next command that writes evidence overwrites and removes it: `proctor prune`, or a run",
            Self::Line => {
                "the next command that writes evidence cuts it off and keeps it beside the ledger: `proctor prune`, or a run"
            }
        }
    }
}

words! {
    /// Returns the word for the kind in `--json`.
    pub fn UnfinishedKind::word, ALL: Run "run", Pruning "pruning", Purging "purging", Line "line", KeyLine "keyLine",
        RetiredKey "retiredKey"
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
