//! Where the lines of one text are in another.

/// For more pairs of lines than this in the part that differs, its lines are taken to be gone.
const MOST_PAIRS: usize = 4_000_000;

/// Where each line of an earlier text is in a later one. Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedLines {
    places: Vec<Option<usize>>,
}

/// Where a line of the earlier text is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MovedLine {
    To(usize),
    /// The line was changed or removed; this is the line in its place.
    Gone(usize),
}

impl MovedLines {
    pub(crate) fn between(earlier: &str, later: &str) -> Self {
        let (earlier, later): (Vec<&str>, Vec<&str>) = (earlier.lines().collect(), later.lines().collect());
        let same_start = earlier.iter().zip(&later).take_while(|(one, other)| one == other).count();
        let rest = earlier.len().min(later.len()) - same_start;
        let ends = earlier.iter().rev().zip(later.iter().rev()).take(rest);
        let same_end = ends.take_while(|(one, other)| one == other).count();
        let (before, after) = (earlier.len() - same_end, later.len() - same_end);
        let mut places: Vec<Option<usize>> = (0..same_start).map(Some).collect();
        let common = common_lines(&earlier[same_start..before], &later[same_start..after]);
        places.extend(common.into_iter().map(|place| place.map(|place| place + same_start)));
        places.extend((0..same_end).map(|line| Some(after + line)));
        Self { places }
    }

    /// Returns where a line is now.
    pub(crate) fn find(&self, line: usize) -> MovedLine {
        if let Some(place) = self.places.get(line).copied().flatten() {
            return MovedLine::To(place);
        }
        let above = self.places.iter().take(line).rev().flatten().next();
        MovedLine::Gone(above.map_or(0, |above| above + 1))
    }
}

/// Returns for each line of `earlier` where it is in `later`, by a longest common row of lines.
fn common_lines(earlier: &[&str], later: &[&str]) -> Vec<Option<usize>> {
    let mut places = vec![None; earlier.len()];
    let width = later.len() + 1;
    if earlier.len().saturating_mul(later.len()) > MOST_PAIRS {
        return places;
    }
    // How many lines the rest of the two texts have in common, from each pair of lines on.
    let mut lengths = vec![0_u32; (earlier.len() + 1) * width];
    for (row, one) in earlier.iter().enumerate().rev() {
        for (column, other) in later.iter().enumerate().rev() {
            lengths[row * width + column] = if one == other {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < earlier.len() && column < later.len() {
        if earlier[row] == later[column] {
            places[row] = Some(column);
            (row, column) = (row + 1, column + 1);
        } else if lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_found_where_it_was_moved_to() {
        let moved = MovedLines::between("a\nb\nc\nd\n", "new\na\nb\nx\nd\n");
        assert_eq!(
            (0..5).map(|line| moved.find(line)).collect::<Vec<_>>(),
            [MovedLine::To(1), MovedLine::To(2), MovedLine::Gone(3), MovedLine::To(4), MovedLine::Gone(5)]
        );
        assert_eq!(MovedLines::between("a\n", "").find(0), MovedLine::Gone(0));
        let long = |first: &str| format!("{first}\n") + &"x\n".repeat(3000) + first;
        assert_eq!(MovedLines::between(&long("a"), &long("b")).find(5), MovedLine::Gone(0), "too many pairs");
    }

    proptest! {
        #[test]
        fn a_line_is_only_found_where_the_same_text_is(earlier in "[ab\n]{0,40}", later in "[ab\n]{0,40}") {
            let moved = MovedLines::between(&earlier, &later);
            let (one, other): (Vec<&str>, Vec<&str>) = (earlier.lines().collect(), later.lines().collect());
            let mut last = None;
            for (line, text) in one.iter().enumerate() {
                match moved.find(line) {
                    MovedLine::To(place) => {
                        prop_assert_eq!(other[place], *text);
                        prop_assert!(last.is_none_or(|last| place > last));
                        last = Some(place);
                    }
                    MovedLine::Gone(place) => prop_assert!(place <= other.len()),
                }
            }
            if earlier == later {
                prop_assert!((0..one.len()).all(|line| moved.find(line) == MovedLine::To(line)));
            }
        }
    }
}
