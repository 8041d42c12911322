//! For `proctor verify`: reads anchors and compares the ledger with them. An anchor is a checkpoint (a signed head of
//! the ledger) that is kept outside of the store.

use std::path::{Path, PathBuf};

use proctor_wire::wire;

use crate::cli::commands::key::from_evidence_error;
use crate::cli::evidence_arguments::VerifyOptions;
use proctor_app::{CommandError, Environment};
use proctor_evidence::{AcceptedKeys, Anchor, EvidenceFault, FaultKind, LedgerLog, check_anchor, read_anchor};
use proctor_model::{CommandExit, Digest, ProjectId};

/// An anchor holds if the ledger still begins with the lines that the anchor signed. At most this many anchors that
/// hold are shown one by one. If there are more, their number and the anchor with the most lines are shown.
const MOST_LINES: usize = 4;

/// An anchor whose lines are still the first lines of the ledger.
#[wire(open, written)]
pub(super) struct HeldAnchorV1 {
    pub(super) place: String,
    pub(super) project: ProjectId,
    pub(super) lines: u64,
    pub(super) root: Digest,
}

/// Reads the anchor files that are named on the command line. A missing file is a fault: the file existed when the
/// anchor was made, so somebody may have removed it.
pub(super) fn read_named(
    options: &VerifyOptions,
    environment: &Environment,
    faults: &mut Vec<EvidenceFault>,
) -> Result<Vec<Anchor>, CommandError> {
    let mut anchors = Vec::new();
    for file in &options.anchor {
        match read_anchor(&environment.absolute(file)).map_err(|error| from_evidence_error(&error))? {
            Some(anchor) => anchors.push(Anchor { place: file.clone(), ..anchor }),
            None => faults.push(missing(file)),
        }
    }
    Ok(anchors)
}

/// Refuses `--git`, which earlier versions had: checkpoints in git notes are not read any more.
pub(super) fn refuse_notes(options: &VerifyOptions) -> Result<(), CommandError> {
    if options.git.is_none() {
        return Ok(());
    }
    Err(CommandError::new(CommandExit::Usage, "checkpoints in git notes are not compared any more").hint(
        "name the checkpoint as a file: `git notes --ref=proctor/PROJECT-ID show COMMIT >checkpoint`, then `--anchor checkpoint`",
    ))
}

/// Returns the lines for people about anchors that hold.
pub(super) fn lines(held: &[HeldAnchorV1]) -> Vec<String> {
    let from_anchor = |held: &HeldAnchorV1| {
        format!("{}: holds: the first {} lines of {} are those anchored", held.place, held.lines, held.project)
    };
    match held.iter().max_by_key(|held| held.lines) {
        Some(last) if held.len() > MOST_LINES => {
            vec![format!("{} checkpoints hold, the last of them:", held.len()), from_anchor(last)]
        }
        _ => held.iter().map(from_anchor).collect(),
    }
}

/// Compares each anchor with the ledger of its project. Adds the faults to `faults` and returns the anchors that hold.
pub(super) fn compare(
    anchors: &[Anchor],
    logs: &[LedgerLog],
    keys: &AcceptedKeys,
    faults: &mut Vec<EvidenceFault>,
) -> Vec<HeldAnchorV1> {
    let mut held = Vec::new();
    for anchor in anchors {
        let project = anchor.found.as_ref().ok().map(|signed| &signed.checkpoint().project);
        let of_project = logs.iter().find(|log| Some(log.project()) == project);
        // An unreadable anchor, or an anchor of a project that was not verified, has no ledger here. It is compared
        // with the first ledger, because the comparison reports either fault.
        let found = match of_project.or(logs.first()) {
            Some(log) => check_anchor(anchor, log, keys),
            None => vec![EvidenceFault::new(FaultKind::AnchorAhead, &anchor.place, "there is no ledger")],
        };
        held.extend(found.is_empty().then(|| from_anchor(anchor)).flatten());
        faults.extend(found);
    }
    held
}

/// Describes an anchor for the output; `None` if the anchor is not a readable checkpoint.
pub(super) fn from_anchor(anchor: &Anchor) -> Option<HeldAnchorV1> {
    let checkpoint = anchor.found.as_ref().ok()?.checkpoint();
    let place = anchor.place.to_string_lossy().into_owned();
    Some(HeldAnchorV1 { place, project: checkpoint.project.clone(), lines: checkpoint.size, root: checkpoint.root })
}

fn missing(file: &Path) -> EvidenceFault {
    EvidenceFault::new(FaultKind::AnchorMissing, PathBuf::from(file), "there is no such file")
}
