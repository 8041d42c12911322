//! The lint rule for placeholders in texts for people. Placeholders in values that are run or compared are errors, which the
//! reader reports.

use crate::spec::specification::lint::subject::Subject;
use proctor_model::Problem;

/// Notes placeholders in texts for people, which change nothing of a run.
pub(super) fn in_texts(subject: &Subject<'_>) -> Vec<Problem> {
    let found = subject.open.iter().filter(|placeholder| placeholder.is_text);
    found.map(|one| Problem::new(one.pointer.clone(), format!("`{}` is a placeholder", one.written))).collect()
}
