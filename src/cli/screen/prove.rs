//! The lines of `proctor prove`.

use crate::cli::style::{Line, Style, Tone};
use proctor_prove::roles::FileRole;
use proctor_prove::words::{ChangeState, Strength};
use proctor_prove::{BaseWord, ChangeProof, FailuresBeside, PartWord};

/// The widest column of names of tests, in characters.
const WIDEST: usize = 60;

/// Returns the lines for people about what the tests of a change say of it.
pub(crate) fn proof_lines(proof: &ChangeProof, style: Style) -> Vec<Line> {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let change = match (&proof.after_commit, proof.commits) {
        (Some(_), commits) => counted(commits, "commit"),
        (None, 0) => "the working tree".to_owned(),
        (None, commits) => format!("{} and the working tree", counted(commits, "commit")),
    };
    let source = counted(proof.files_of(&[FileRole::Source]), "file");
    let tests = proof.files_of(&[FileRole::Test, FileRole::TestSupport, FileRole::Recorded]);
    let base = format!("since {} {}", proof.base, &proof.base_commit[..12]);
    let head = format!(
        "proctor {} · {} · {change} {base}, {source} of source, {tests} of tests",
        env!("CARGO_PKG_VERSION"),
        proof.project
    );
    let mut lines = vec![Line::from(head)];
    let names: Vec<String> = proof.tests.iter().map(|test| test.id.clone()).collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.filter(|length| *length <= WIDEST).max().unwrap_or_default();
    let of_names = width(&mut names.iter().map(|name| name.chars().count()));
    let of_seen = width(&mut proof.tests.iter().map(|test| test.seen.chars().count()));
    for (test, name) in proof.tests.iter().zip(&names) {
        let tone = match test.word.strength() {
            Strength::Proof => Tone::Good,
            Strength::Weak => Tone::Doubtful,
            Strength::None | Strength::Bad => Tone::Bad,
        };
        let line = Line::from(format!("  {name:of_names$}  {:of_seen$}  ", test.seen));
        let touched = if test.is_touched { "" } else { ", nobody touched it" };
        lines.push(line.and(style.paint(tone, test.word.meaning())).and(touched));
    }
    for part in proof.parts.iter().flatten() {
        let tone = if part.word == PartWord::NoTestNotices { Tone::Bad } else { Tone::Quiet };
        let place = part.line.map_or_else(|| part.file.clone(), |line| format!("{}:{line}", part.file));
        let name = if part.function.is_empty() { String::new() } else { format!(" {}", part.function) };
        let seen = match part.word {
            PartWord::Noticed => format!(" by {}", part.seen),
            PartWord::NotTried => format!(": {}", part.seen),
            PartWord::NoTestNotices | PartWord::CannotBeTakenBackAlone => String::new(),
        };
        lines.push(Line::from(format!("  without {place}{name}: ")).and(style.paint(tone, part.word.word())).and(seen));
    }
    lines.extend(proof.notes.iter().map(|note| style.paint(Tone::Quiet, &format!("  {note}"))));
    let tone = match proof.state {
        ChangeState::Proved | ChangeState::NoSource => Tone::Good,
        ChangeState::NotProved => Tone::Bad,
        ChangeState::WeakOnly => Tone::Doubtful,
    };
    lines.push(style.paint(tone, proof.state.word()).and(format!(" · {}", proof.summary)));
    lines
}

/// Returns the lines for people about what fails with a change and failed before it.
pub(crate) fn base_lines(found: &FailuresBeside, style: Style) -> Vec<Line> {
    let base = format!("{} {}", found.base, &found.base_commit[..12]);
    let mut lines = vec![Line::from(format!("proctor {} · {} · beside {base}", env!("CARGO_PKG_VERSION"), found.project))];
    let whole = |name: &Option<String>| name.clone().unwrap_or_else(|| "the check as a whole".to_owned());
    let widths = found.failures.iter().map(|failure| whole(&failure.test).chars().count());
    let width = widths.filter(|length| *length <= WIDEST).max().unwrap_or_default();
    for failure in &found.failures {
        let tone = if failure.word == BaseWord::WasRedBefore { Tone::Quiet } else { Tone::Bad };
        let line = Line::from(format!("  {}  {:width$}  ", failure.check, whole(&failure.test)));
        lines.push(line.and(style.paint(tone, failure.word.word())));
    }
    let (yours, before) = (found.count(BaseWord::Yours), found.count(BaseWord::WasRedBefore));
    let unknown = Some(found.count(BaseWord::CannotTell)).filter(|unknown| *unknown > 0);
    let unknown = unknown.map(|unknown| format!(" · {unknown} cannot be told")).unwrap_or_default();
    lines.push(match found.failures.len() {
        0 => style.paint(Tone::Good, "nothing fails"),
        _ => Line::from(format!("{yours} yours · {before} red before{unknown}")),
    });
    lines
}
