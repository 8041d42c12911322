//! Reads pytest's last line for remarks about warnings, XPASS and reruns, which the report does not contain. These
//! remarks never influence the result (E5).

/// The words that follow a count in pytest's last line, and the remark that tells people the count.
const REMARKS: &[(&[&str], &str)] = &[
    (&["warning", "warnings"], "pytest counted {} warning(s); its log lists them"),
    (&["xpassed"], "{} test(s) that are expected to fail passed (XPASS)"),
    (&["rerun", "reruns"], "{} rerun(s): a test that passes only when it is repeated is flaky"),
];

/// Returns the remarks that follow from pytest's last line, for example from `1 passed, 3 warnings in 0.02s`.
pub(super) fn remarks(stdout: &str) -> Vec<String> {
    let Some(line) = stdout.lines().rev().map(|line| line.trim_matches(['=', ' '])).find(|line| is_last_line(line)) else {
        return Vec::new();
    };
    let counts = line.rsplit_once(" in ").map_or("", |(counts, _)| counts);
    let counted = counts.split(", ").filter_map(|part| part.split_once(' '));
    let remark = |(count, word): (&str, &str)| {
        let count: u64 = count.parse().ok()?;
        let (_, text) = REMARKS.iter().find(|(words, _)| words.contains(&word))?;
        Some(text.replace("{}", &count.to_string()))
    };
    counted.filter_map(remark).collect()
}

fn is_last_line(line: &str) -> bool {
    line.rsplit_once(" in ").is_some_and(|(counts, duration)| {
        duration.starts_with(|character: char| character.is_ascii_digit())
            && duration.contains('s')
            && counts.starts_with(|character: char| character.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_gives_remarks_and_nothing_else_does() {
        let text = "x\n======== 1 passed, 1 xpassed, 3 warnings, 2 rerun in 0.03s =========\n";
        assert_eq!(remarks(text).len(), 3);
        assert!(remarks(text)[1].contains("3 warning"));
        assert_eq!(remarks("4 passed in 1.00s"), Vec::<String>::new());
        assert_eq!(remarks("there are 3 warnings in my test"), Vec::<String>::new());
        assert_eq!(remarks(""), Vec::<String>::new());
    }
}
