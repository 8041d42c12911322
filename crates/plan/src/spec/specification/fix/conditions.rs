//! Lets a task's conditions keep their meaning when a correction changes what an action shows.

use serde_json::{Value, json};

use crate::condition::Condition;
use crate::spec::specification::fix::edit::one_line;
use crate::spec::specification::fix::{Found, Planner, TextEdit, id};
use crate::spec::specification::scan::member;

const LISTS: [&str; 2] = ["successConditions", "failureConditions"];

/// Comparisons with the exit code 0, and what is asked instead. The longer operators come first: `=== 0` begins with `==`.
const EXIT_CODE_IS_ZERO: [(&str, &str); 4] =
    [("===", "success === true"), ("!==", "failed === true"), ("==", "success === true"), ("!=", "failed === true")];

impl Planner<'_> {
    /// Returns the edits after which the task's conditions ask whether a service is ready, where they asked whether its command ended
    /// with exit code 0. It does not end, so its exit code is never known.
    pub(super) fn ask_for_success(&self, found: &Found) -> Vec<TextEdit> {
        let conditions = conditions_of(&self.document, found);
        let edits = conditions.into_iter().filter_map(|(pointer, text)| {
            let asking = with_success(&text, id(found));
            let range = self.places.range(&pointer).filter(|_| asking != text)?;
            Some(TextEdit { range, text: one_line(&json!(asking)) })
        });
        edits.collect()
    }

    /// Returns a field of the action that is named here and that a condition of the task asks for.
    pub(super) fn asked_field(&self, found: &Found, fields: &[&str]) -> Option<String> {
        let conditions = conditions_of(&self.filled, found);
        let parsed = conditions.iter().filter_map(|(_, text)| Condition::parse(text).ok());
        let mut asked = parsed.flat_map(|condition| {
            let of_action = condition.references().into_iter().filter(|reference| reference.action.as_str() == id(found));
            of_action.map(|reference| reference.field.clone()).collect::<Vec<_>>()
        });
        asked.find(|field| fields.contains(&field.as_str()))
    }
}

/// Returns the conditions of an action's task, each with the JSON pointer to its text.
fn conditions_of(document: &Value, found: &Found) -> Vec<(String, String)> {
    let of_list = |list: &str| {
        let pointer = format!("{}/validationCriteria/{list}", member("/tasks", &found.task));
        let conditions = document.pointer(&pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        let texts = conditions.into_iter().enumerate().filter_map(move |(index, condition)| {
            let text = condition.get("condition")?.as_str()?.to_owned();
            Some((format!("{pointer}/{index}/condition"), text))
        });
        texts.collect::<Vec<_>>()
    };
    LISTS.into_iter().flat_map(of_list).collect()
}

/// Returns a condition that asks for `success` or `failed` of an action wherever it compared its exit code with 0.
fn with_success(condition: &str, action: &str) -> String {
    let field = format!("{action}.exitCode");
    let mut text = String::with_capacity(condition.len());
    let mut rest = condition;
    while let Some(place) = rest.find(&field) {
        let (before, behind) = (&rest[..place], &rest[place + field.len()..]);
        let begins = !before.ends_with(|character: char| character.is_ascii_alphanumeric() || "_.".contains(character));
        text.push_str(before);
        match comparison_with_zero(behind).filter(|_| begins) {
            Some((length, asked)) => {
                text.push_str(&format!("{action}.{asked}"));
                rest = &behind[length..];
            }
            None => {
                text.push_str(&field);
                rest = behind;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns the length of the comparison with 0 with which a text begins, and what is asked instead.
fn comparison_with_zero(text: &str) -> Option<(usize, &'static str)> {
    let operator = text.trim_start();
    let (word, asked) = EXIT_CODE_IS_ZERO.into_iter().find(|(word, _)| operator.starts_with(word))?;
    let behind = operator[word.len()..].trim_start().strip_prefix('0')?;
    let ends = !behind.starts_with(|character: char| character.is_ascii_alphanumeric() || "_.".contains(character));
    ends.then_some((text.len() - behind.len(), asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_comparison_of_this_action_with_zero_becomes_a_question_for_success() {
        for (condition, expected) in [
            ("PREREQ.1.exitCode === 0", "PREREQ.1.success === true"),
            ("PREREQ.1.exitCode==0 && STEP.1.exitCode === 0", "PREREQ.1.success === true && STEP.1.exitCode === 0"),
            ("PREREQ.1.exitCode !== 0", "PREREQ.1.failed === true"),
            ("(PREREQ.1.exitCode != 0)", "(PREREQ.1.failed === true)"),
            ("PREREQ.1.exitCode === 01", "PREREQ.1.exitCode === 01"),
            ("PREREQ.1.exitCode === 0.5", "PREREQ.1.exitCode === 0.5"),
            ("PREREQ.1.exitCode > 0", "PREREQ.1.exitCode > 0"),
            ("PREREQ.11.exitCode === 0", "PREREQ.11.exitCode === 0"),
            ("A_PREREQ.1.exitCode === 0", "A_PREREQ.1.exitCode === 0"),
        ] {
            assert_eq!(with_success(condition, "PREREQ.1"), expected);
        }
    }
}
