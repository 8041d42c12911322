//! Compares an expected text with the received one, line by line. Pure.

/// The most lines of each text that are compared. More do not help a person, and the comparison takes time by their product.
const MOST_LINES: usize = 400;

/// A line of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLine<'t> {
    /// The line is only in the expected text.
    Expected(&'t str),
    /// The line is only in the received text.
    Received(&'t str),
    Both(&'t str),
}

/// Returns the lines of both texts in their order, with as many common lines as there can be.
pub(super) fn diff_lines<'t>(expected: &'t str, received: &'t str) -> Vec<DiffLine<'t>> {
    let expected: Vec<&str> = expected.lines().take(MOST_LINES).collect();
    let received: Vec<&str> = received.lines().take(MOST_LINES).collect();
    // `common[i][j]` is the length of the longest common part of the texts from line i and j on.
    let mut common = vec![vec![0_u32; received.len() + 1]; expected.len() + 1];
    for (i, line) in expected.iter().enumerate().rev() {
        for (j, other) in received.iter().enumerate().rev() {
            common[i][j] = if line == other { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < expected.len() || j < received.len() {
        match (expected.get(i), received.get(j)) {
            (Some(line), Some(other)) if line == other => {
                lines.push(DiffLine::Both(line));
                (i, j) = (i + 1, j + 1);
            }
            (Some(line), other) if other.is_none() || common[i + 1][j] >= common[i][j + 1] => {
                lines.push(DiffLine::Expected(line));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push(DiffLine::Received(other));
                j += 1;
            }
            (_, None) => break,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_lines_stay_between_the_others() {
        use DiffLine::{Both, Expected, Received};
        assert_eq!(diff_lines("a\nb\nc", "a\nx\nc"), [Both("a"), Expected("b"), Received("x"), Both("c")]);
        assert_eq!(diff_lines("1", "2"), [Expected("1"), Received("2")]);
        assert_eq!(diff_lines("", "2"), [Received("2")]);
        assert_eq!(diff_lines("", ""), []);
    }

    proptest! {
        #[test]
        fn each_text_can_be_read_from_the_comparison(expected in "([ab]\n){0,9}", received in "([ab]\n){0,9}") {
            let lines = diff_lines(&expected, &received);
            let left: Vec<_> = lines.iter().filter_map(|line| match line {
                DiffLine::Expected(line) | DiffLine::Both(line) => Some(*line),
                DiffLine::Received(_) => None,
            }).collect();
            let right: Vec<_> = lines.iter().filter_map(|line| match line {
                DiffLine::Received(line) | DiffLine::Both(line) => Some(*line),
                DiffLine::Expected(_) => None,
            }).collect();
            prop_assert_eq!(left, expected.lines().collect::<Vec<_>>());
            prop_assert_eq!(right, received.lines().collect::<Vec<_>>());
        }
    }
}
