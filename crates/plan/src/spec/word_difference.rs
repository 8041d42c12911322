//! Says word by word how two actions differ (S7): the words of the command that were removed and added, and every other
//! part with its old and its new value. Pure.

use std::collections::BTreeSet;

use proctor_model::{ActionTerms, ActionWords};

/// The words between the common beginning and the common end of two commands are compared only if there are at most this many in
/// each. The comparison needs time and memory for each pair of words.
const MOST_COMPARED: usize = 200;

/// Returns what differs in what two actions run, one text for each part that differs; empty if the words of one of them
/// are not known, or if no named part differs.
pub(super) fn differing_parts(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let (Some(before), Some(now)) = (&old.words, &new.words) else { return Vec::new() };
    let mut texts: Vec<String> = differing_words(&before.command, &now.command).into_iter().collect();
    texts.extend(other_parts(before, now));
    texts
}

/// Returns which words were removed and which were added; `None` if the words are equal.
fn differing_words(before: &[String], now: &[String]) -> Option<String> {
    if before == now {
        return None;
    }
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for difference in compare(before, now) {
        match difference {
            WordChange::Removed(word) => removed.push(quoted(word)),
            WordChange::Added(word) => added.push(quoted(word)),
        }
    }
    let sides = [("removed", removed), ("added", added)];
    let texts = sides.into_iter().filter(|(_, words)| !words.is_empty());
    Some(texts.map(|(what, words)| format!("{what} {}", words.join(" "))).collect::<Vec<_>>().join(", "))
}

enum WordChange<'a> {
    Removed(&'a str),
    Added(&'a str),
}

/// Compares two lists of words, and returns the changes that lead from one to the other, in order: the fewest, unless more than
/// [`MOST_COMPARED`] words remain.
fn compare<'a>(before: &'a [String], now: &'a [String]) -> Vec<WordChange<'a>> {
    let start = before.iter().zip(now).take_while(|(one, other)| one == other).count();
    let (before, now) = (&before[start..], &now[start..]);
    let end = before.iter().rev().zip(now.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, now) = (&before[..before.len() - end], &now[..now.len() - end]);
    let mut changes = Vec::new();
    if before.len() > MOST_COMPARED || now.len() > MOST_COMPARED {
        changes.extend(before.iter().map(|word| WordChange::Removed(word)));
        changes.extend(now.iter().map(|word| WordChange::Added(word)));
        return changes;
    }
    // `common[row][column]` is the most words that the rest of `before` from `row` and the rest of `now` from `column`
    // have in common, in the same order.
    let mut common = vec![vec![0_usize; now.len() + 1]; before.len() + 1];
    for row in (0..before.len()).rev() {
        for column in (0..now.len()).rev() {
            common[row][column] = if before[row] == now[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < before.len() || column < now.len() {
        let is_both = row < before.len() && column < now.len();
        if is_both && before[row] == now[column] {
            (row, column) = (row + 1, column + 1);
        } else if column == now.len() || (is_both && common[row + 1][column] >= common[row][column + 1]) {
            changes.push(WordChange::Removed(&before[row]));
            row += 1;
        } else {
            changes.push(WordChange::Added(&now[column]));
            column += 1;
        }
    }
    changes
}

fn other_parts(before: &ActionWords, now: &ActionWords) -> Vec<String> {
    let names: BTreeSet<&String> = before.parts.keys().chain(now.parts.keys()).collect();
    let texts = names.into_iter().filter_map(|name| {
        let (old, new) = (before.parts.get(name), now.parts.get(name));
        if old == new {
            return None;
        }
        if let Some(variable) = name.strip_prefix(VARIABLE) {
            return Some(match (old, new) {
                (None, _) => format!("the variable {variable} is set now"),
                (_, None) => format!("the variable {variable} is not set any more"),
                (Some(_), Some(_)) => format!("the variable {variable} has another value"),
            });
        }
        let shown = PART_NAMES.iter().find(|(part, _)| part == name).map_or(name.as_str(), |(_, shown)| shown);
        let text = |value: Option<&String>| value.map_or_else(|| "nothing".to_owned(), |value| quoted(value));
        let is_on = |value: Option<&String>| value.is_some_and(|value| value == YES);
        Some(if is_on(new) && old.is_none() {
            format!("{shown} is on now")
        } else if is_on(old) && new.is_none() {
            format!("{shown} is off now")
        } else {
            format!("{shown} {} instead of {}", text(new), text(old))
        })
    });
    texts.collect()
}

/// The value of a part that is on.
pub(super) const YES: &str = "yes";

/// The parts whose names say little to a person, each with the words of `proctor.toml` or of the reports.
const PART_NAMES: &[(&str, &str)] =
    &[("class", "the class of the check"), ("command.shell", "`shell`"), ("once.creates", "`creates`"), ("tool", "`tool`")];

/// What the name of a part begins with if the part is a variable of the environment.
pub(super) const VARIABLE: &str = "environment.";

fn quoted(word: &str) -> String {
    format!("`{word}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(before: &str, now: &str) -> Option<String> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        differing_words(&words(before), &words(now))
    }

    #[test]
    fn only_the_words_that_differ_are_named() {
        let rows = [
            ("pytest tests", "pytest tests", None),
            ("pytest tests", "pytest tests -k fast", Some("added `-k` `fast`")),
            ("pytest -q tests", "pytest tests", Some("removed `-q`")),
            ("pytest -q a b c", "pytest -s a c d", Some("removed `-q` `b`, added `-s` `d`")),
            ("pytest a b", "pytest b a", Some("removed `a`, added `a`")),
            ("true", "false", Some("removed `true`, added `false`")),
            ("", "true", Some("added `true`")),
        ];
        for (before, now, expected) in rows {
            assert_eq!(said(before, now).as_deref(), expected, "{before} -> {now}");
        }
    }

    #[test]
    fn long_commands_are_compared_at_their_ends() {
        let many = |mark: &str| (0..MOST_COMPARED + 1).map(|number| format!("{mark}{number}")).collect::<Vec<_>>().join(" ");
        let found = said(&format!("a {} z", many("x")), &format!("a {} z", many("y"))).expect("they differ");
        assert!(found.starts_with("removed `x0`") && !found.contains("`a`") && !found.contains("`z`"), "{found}");
    }
}
