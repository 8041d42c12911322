//! `proctor verify`: shows what is wrong with evidence.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::evidence_arguments::VerifyOptions;
use crate::cli::{render, screen};
use proctor_app::verify::{HeldAnchorV1, Verification, VerifyQuestion, verify};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{EvidenceFault, VerificationResult};
use proctor_model::CommandExit;

/// At most this many anchors that hold are shown one by one. If there are more, their number and the anchor with the most lines are shown.
const MOST_ANCHORS: usize = 4;

/// How many faults of one kind are shown to a person. A store that was copied without its permissions has as many as files.
const NAMED_FAULTS: usize = 20;

pub(crate) fn execute(options: &VerifyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let VerifyOptions { what, all, key, anchor, project, json } = options;
    let (what, key): (_, Option<&Path>) = (what.as_deref(), key.as_deref());
    let total = verify(environment, &VerifyQuestion { project, all: *all, what, key, anchors: anchor })?;
    if *json {
        render::document(&total);
    } else {
        lines(&total).iter().for_each(render::line);
    }
    Ok(if total.found.faults.is_empty() { CommandExit::Proceed } else { CommandExit::EvidenceWrong })
}

fn fault_lines(faults: &[EvidenceFault]) -> Vec<String> {
    let (mut text, mut times) = (Vec::new(), BTreeMap::new());
    for fault in faults {
        let nth: &mut usize = times.entry(fault.kind.word()).or_default();
        *nth += 1;
        if *nth > NAMED_FAULTS {
            continue;
        }
        text.push(format!("{}: {}", fault.file.display(), fault.kind.what()));
        text.push(format!("  {}: {}", fault.kind.word(), fault.detail));
        text.push(format!("  next: {}", fault.kind.next()));
    }
    for (word, more) in times.into_iter().filter_map(|(word, times)| Some((word, times.checked_sub(NAMED_FAULTS + 1)? + 1))) {
        text.push(format!("{word}: {more} more (`--json` names all)"));
    }
    text
}

/// Returns the lines about anchors that hold.
fn anchor_lines(held: &[HeldAnchorV1]) -> Vec<String> {
    let line = |held: &HeldAnchorV1| {
        format!("{}: holds: the first {} lines of {} are those anchored", held.place, held.lines, held.project)
    };
    match held.iter().max_by_key(|held| held.lines) {
        Some(last) if held.len() > MOST_ANCHORS => {
            vec![format!("{} checkpoints hold, the last of them:", held.len()), line(last)]
        }
        _ => held.iter().map(line).collect(),
    }
}

fn lines(total: &Verification) -> Vec<String> {
    let Verification { found, lines, held, .. } = total;
    let VerificationResult { runs, files, bytes, unsigned, archived, pruned, purged, faults, unfinished, .. } = found;
    let counted = screen::counted;
    let what = format!(
        "{}, {}, {}, {} of ledgers",
        counted(*runs, "run"),
        counted(*files, "file"),
        counted(*bytes, "byte"),
        counted(*lines, "line")
    );
    let mut text = Vec::new();
    text.extend(fault_lines(faults));
    text.extend(
        unsigned.iter().map(|run_id| format!("{run_id}: unsigned (made before the first key of which there is a record)")),
    );
    text.extend(
        (*archived > 0).then(|| format!("archived: {}, which this version does not check", screen::counted(*archived, "run"))),
    );
    let gone = [("pruned", pruned - purged, ""), ("purged", *purged, " of a removed project")];
    for (word, runs, whose) in gone.into_iter().filter(|(_, runs, _)| *runs > 0) {
        text.push(format!("{word}: {}{whose}, as the ledger says, which keeps the verdicts", screen::counted(runs, "run")));
    }
    text.extend(anchor_lines(held));
    for begun in unfinished {
        text.push(format!("{}: unfinished: {}", begun.file.display(), begun.kind.what()));
        text.push(format!("  {}: {}", begun.kind.word(), begun.detail));
        text.push(format!("  next: {}", begun.kind.next()));
    }
    text.push(if faults.is_empty() {
        format!("VERIFIED · {what}")
    } else {
        format!("{} · {what}", counted(faults.len() as u64, "FAULT").replace("FAULTs", "FAULTS"))
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_evidence::FaultKind;

    #[test]
    fn of_many_faults_of_one_kind_the_first_are_named_and_the_others_counted() {
        let faults = |number: usize| vec![EvidenceFault::new(FaultKind::WrongMode, "a", "0755 instead of 0700"); number];
        assert_eq!(fault_lines(&faults(20)).len(), 60);
        let many = fault_lines(&faults(23));
        assert_eq!((many.len(), many[60].as_str()), (61, "wrongMode: 3 more (`--json` names all)"));
        assert!(fault_lines(&[]).is_empty());
    }
}
