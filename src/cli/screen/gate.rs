//! The lines of `proctor gate`.

use crate::cli::screen::history::with_numbers_of;
use crate::cli::style::{Line, Style, Tone};
use proctor_app::gate::{AcceptedBy, FlippedCheck, GateAnswer, NotRun, RefusedAttestation, with_causes};
use proctor_model::{Digest, RunId, TreeDigest};
use proctor_plan::verdict::{GateJudgement, GateState, GateSubject};

/// The most files beside the tree that an answer names.
const NAMED: usize = 8;

/// Returns the lines for people about the gate's answer.
pub(crate) fn gate_lines(answer: &GateAnswer, style: Style) -> Vec<Line> {
    let (words, tone) = match (answer.state, &answer.tree) {
        (GateState::Proved, _) => ("proved", Tone::Good),
        (GateState::Red, _) => ("red", Tone::Bad),
        (GateState::NotTested, _) => ("not tested", Tone::Doubtful),
        (GateState::NotAccepted, Ok(_)) => ("not accepted", Tone::Doubtful),
        (GateState::NotAccepted, Err(_)) => ("refused", Tone::Doubtful),
    };
    let commit = &answer.commit.hex()[..12];
    let named = if answer.commit.hex().starts_with(&answer.revision) { String::new() } else { format!("{} ", answer.revision) };
    let tree = answer.tree.as_ref().map(|TreeDigest(digest)| format!(" · tree {}", Digest::short(digest))).unwrap_or_default();
    let mut lines = vec![style.paint(tone, words).and(format!(" · {named}{commit}{tree}"))];
    match &answer.tree {
        Err(refusal) => lines.push(Line::from(format!("  {} ({})", with_causes(refusal), refusal.word()))),
        Ok(_) => lines.extend(answer.judgements.iter().map(|judged| judgement_line(judged, answer))),
    }
    for RefusedAttestation { word, message } in &answer.refused_attestations {
        lines.push(Line::from(format!("  an attestation does not count: {message} ({word})")));
    }
    if !answer.lowered.is_empty() {
        lines.push(Line::from(format!(
            "  the commit asks for less than {}: {}",
            answer.beside_words(),
            answer.lowered.join(", ")
        )));
    }
    for AcceptedBy { name, changes, .. } in &answer.accepted {
        lines.push(Line::from(format!("  {name} accepted what it changes of the trusted one: {}", changes.join(", "))));
    }
    let is_named = |flipped: &&FlippedCheck| !answer.acceptable().contains(&flipped.words());
    lines.extend(
        answer
            .flipped
            .iter()
            .filter(is_named)
            .map(|flipped| Line::from(format!("  {}", with_own_numbers(&flipped.words(), answer)))),
    );
    let unasked = answer.changes.iter().filter(|change| !change.kind.asks(answer.policy.weakened));
    let unasked: Vec<String> = unasked.map(ToString::to_string).collect();
    let more = unasked.len().saturating_sub(NAMED);
    lines.extend(unasked.iter().take(NAMED).map(|change| Line::from(format!("  beside the trusted commit: {change}"))));
    lines.extend((more > 0).then(|| Line::from(format!("  beside the trusted commit: {more} more changes (`--json` has all)"))));
    lines.extend(condition("checks could also read", &answer.also_read()));
    lines.extend(condition("checks wrote and put back", &answer.restored()));
    lines.extend(condition("checks could read more:", &answer.unnamed()));
    if answer.state == GateState::NotTested {
        if answer.has_other_format {
            lines.push(Line::from("  the last run has another version of the tree digest, which cannot be compared"));
        }
        if answer.converts_line_endings {
            lines.push(Line::from(
                "  git converts line endings here (`core.autocrlf` or `core.eol`): a run tests the converted files and not the commit's",
            ));
        }
    }
    if let Some(NotRun { word, message }) = &answer.not_run {
        lines.push(Line::from(format!("  nothing was run: {message} ({word})")));
    }
    lines.push(style.paint(Tone::Quiet, &format!("  policy: {}", answer.policy_from)));
    lines.extend(answer.commands().into_iter().map(|command| Line::from(format!("  next: {command}"))));
    lines
}

/// Returns the line about files on which the answer depends; `None` if there are none.
fn condition(what: &str, paths: &[&str]) -> Option<Line> {
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    (!paths.is_empty()).then(|| Line::from(format!("  on condition: {what} {named}{more}")))
}

/// Returns a text in which the project's own runs have their numbers.
fn with_own_numbers(text: &str, answer: &GateAnswer) -> String {
    with_numbers_of(text, |run| !answer.elsewhere.contains_key(run) && answer.attested.iter().all(|one| one.claim.run != *run))
}

fn judgement_line(judged: &GateJudgement, answer: &GateAnswer) -> Line {
    let what = &judged.subject;
    if let (GateSubject::Change, Some(proof)) = (what, &answer.proof) {
        let record = &proof.record;
        return Line::from(format!(
            "  {what}: {} since {} · {}",
            record.state,
            record.base.get(..12).unwrap_or_default(),
            record.summary
        ));
    }
    if judged.state == GateState::Proved {
        let attested = |run: &RunId| answer.signer_of(run).map(|name| format!("{run}, attested by {name}"));
        let named = |run: &RunId| attested(run).unwrap_or_else(|| with_own_numbers(run.as_str(), answer));
        let runs: Vec<String> = judged.runs.iter().map(named).collect();
        let warnings = match &judged.warnings[..] {
            [] => String::new(),
            names => format!(" with warnings ({})", names.join(", ")),
        };
        return Line::from(format!("  {what}: passed{warnings} in {}", runs.join(", ")));
    }
    let reasons: Vec<String> = judged.reasons.iter().map(ToString::to_string).collect();
    Line::from(format!("  {what}: {}", with_own_numbers(&reasons.join("; "), answer)))
}
