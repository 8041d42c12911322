//! People know runs by their numbers. Ids of runs stay in documents, in paths, and where `--ids` asks for them.

use proctor_model::RunId;

/// Returns a text with `run 12` in place of each id of a run of this project that stands alone. One in a path stays, because the path is
/// opened.
pub(crate) fn with_run_numbers(text: &str) -> String {
    with_numbers_of(text, |_| true)
}

/// The same for the runs that are the project's own. Another project's run with this number would be another run.
pub(crate) fn with_numbers_of(text: &str, is_own: impl Fn(&RunId) -> bool) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '/' | '_');
    let mut numbered = String::with_capacity(text.len());
    for piece in text.split_inclusive(|character| !is_part(character)) {
        let word = piece.trim_end_matches(|character| !is_part(character) || character == '.');
        match RunId::try_from(word) {
            Ok(run) if is_own(&run) => numbered.push_str(&format!("run {}{}", run.number(), &piece[word.len()..])),
            Ok(_) | Err(_) => numbered.push_str(piece),
        }
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_number_but_not_in_a_path() {
        let id = "exec-20261130T070859.795Z-000012";
        let text = format!("passed in {id}, {id}. `{id}` (see runs/{id}/report.json)");
        let numbered = format!("passed in run 12, run 12. `run 12` (see runs/{id}/report.json)");
        assert_eq!(with_run_numbers(&text), numbered);
        for whole in ["", "exec-1", "exec-20261130T070859.795Z-000012x", "ä exec-ö"] {
            assert_eq!(with_run_numbers(whole), whole);
        }
    }
}
