//! Finds the known word that is nearest to an unknown one, so that an error message can suggest the correct spelling (G4).

/// Returns the known word with the smallest edit distance; of several such words the first. Words whose distance
/// exceeds half the length of the longer word are no suggestions. Upper and lower case do not matter.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let distance = edit_distance(&word.to_lowercase(), &candidate.to_lowercase());
        if is_negation(word) != is_negation(candidate) {
            continue;
        }
        let bearable = distance * 2 <= word.chars().count().max(candidate.chars().count());
        if bearable && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns whether a word such as `NOT_EXISTS` says the opposite of the word without its `NOT`, which is never what was meant.
fn is_negation(word: &str) -> bool {
    let mut parts = word.split(['_', '-', ' ']).map(str::to_lowercase);
    let camel_case = word.strip_prefix("not").is_some_and(|rest| rest.starts_with(|first: char| first.is_uppercase()));
    camel_case || parts.any(|part| part == "not")
}

/// Returns the edit distance: how many insertions, deletions, replacements and swaps of neighbours turn one word into the other.
fn edit_distance(left: &str, right: &str) -> usize {
    // Limits the size of the table. A malicious file could hold very long words, and the table grows with the product of both
    // lengths.
    const LONGEST: usize = 64;
    let left: Vec<char> = left.chars().take(LONGEST).collect();
    let right: Vec<char> = right.chars().take(LONGEST).collect();
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (index, row) in rows.iter_mut().enumerate() {
        row[0] = index;
    }
    rows[0] = (0..=right.len()).collect();
    for row in 1..=left.len() {
        for column in 1..=right.len() {
            let replaced = rows[row - 1][column - 1] + usize::from(left[row - 1] != right[column - 1]);
            let mut least = replaced.min(rows[row - 1][column] + 1).min(rows[row][column - 1] + 1);
            let swapped = row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1];
            if swapped {
                least = least.min(rows[row - 2][column - 2] + 1);
            }
            rows[row][column] = least;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word_and_a_stranger_finds_none() {
        let known = ["timeout", "tool", "name"];
        assert_eq!(nearest("timout", known), Some("timeout"));
        assert_eq!(nearest("tiemout", known), Some("timeout"));
        assert_eq!(nearest("Name", known), Some("name"));
        assert_eq!(nearest("zzzzzz", known), None);
        assert_eq!(nearest("", known), None);
        // The opposite was not meant.
        for (word, expected) in [("NOT_EXISTS", None), ("notExists", None), ("EXIST", Some("EXISTS")), ("NOTE", Some("NOTES"))] {
            assert_eq!(nearest(word, ["EXISTS", "NOTES"]), expected, "{word}");
        }
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(edit_distance("ab", "ba"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
