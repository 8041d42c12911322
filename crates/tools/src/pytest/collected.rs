//! Reads how many tests pytest says that it selected: the collected tests without the deselected ones. This number is
//! compared with the report (T-09, T-20), because a run that a hook ended early, or a hook that drops tests silently,
//! leaves a report with fewer tests. The number is used for nothing else (E5).
//!
//! Only the line of the judged run itself counts, because a test may print the output of another pytest. So the first line must
//! be pytest's header, and the last line must be a summary between rules. With `-q`, behind a wrapper, with xdist, or with text
//! before or after, these lines differ. Then no number is returned and nothing is compared.

/// The text of pytest's header line, without the signs `=` on both sides.
pub(super) const HEADER: &str = "test session starts";

/// Returns the number of tests that pytest was going to run; `None` if its output does not say so reliably.
pub(super) fn selected(stdout: &str) -> Option<u64> {
    let mut lines = stdout.lines().map(str::trim).skip_while(|line| line.is_empty());
    let is_header = |line: &str| line.starts_with('=') && line.trim_matches(['=', ' ']) == HEADER;
    lines.next().filter(|line| is_header(line))?;
    // The last line must be a rule of `=` or `!`; `!` is the rule after `pytest.exit`. A quiet run ends without a rule, even if
    // one of its tests prints a header.
    let is_ruled = |line: &&str| ['=', '!'].iter().any(|rule| line.starts_with(*rule) && line.ends_with(*rule));
    stdout.trim_end().lines().next_back().filter(is_ruled)?;
    // pytest prints this line before any test prints.
    lines.find_map(count)
}

/// Returns whether a line says how many tests pytest collected.
pub(super) fn is_collected(line: &str) -> bool {
    count(line).is_some()
}

/// Reads `collected 3 items / 1 deselected / 2 selected`. With `-v`, the progress text `collecting ... ` stands before it.
fn count(line: &str) -> Option<u64> {
    let mut parts = line.strip_prefix("collecting ... ").unwrap_or(line).strip_prefix("collected ")?.split(" / ");
    let number_of = |part: &str, words: &[&str]| {
        let (number, word) = part.split_once(' ')?;
        words.contains(&word).then(|| number.parse::<u64>().ok())?
    };
    let collected = number_of(parts.next()?, &["item", "items"])?;
    let rest: Vec<&str> = parts.collect();
    let of = |word: &str| rest.iter().find_map(|part| number_of(part, &[word]));
    Some(of("selected").unwrap_or_else(|| collected.saturating_sub(of("deselected").unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\n===== test session starts =====\nplatform linux -- Python 3.11.7, pytest-9.2.0\nrootdir: /project\n";

    const END: &str = "===== 2 passed in 0.02s =====\n";

    #[test]
    fn what_is_selected_is_read_in_every_form() {
        for (line, expected) in [
            ("collected 1 item", Some(1)),
            ("collected 12 items", Some(12)),
            ("collecting ... collected 3 items", Some(3)),
            ("collected 1 item / 1 deselected / 0 selected", Some(0)),
            ("collected 5 items / 1 error / 2 deselected / 1 skipped / 3 selected", Some(3)),
            ("collected 5 items / 2 deselected", Some(3)),
            ("collected 2 items / 1 skipped", Some(2)),
            ("2 workers [7 items]", None),
            ("collected stamps", None),
        ] {
            assert_eq!(selected(&format!("{HEAD}{line}\n\ntest_a.py .\n\n{END}")), expected, "{line}");
        }
    }

    #[test]
    fn only_the_run_itself_is_read() {
        let nested = format!("{HEAD}collected 9 items\n{END}");
        assert_eq!(selected(&format!("{HEAD}collected 2 items\n{nested}..\n{END}")), Some(2));
        assert_eq!(selected(&format!("{HEAD}collected 2 items\n{END}!!!! _pytest.outcomes.Exit: enough !!!!\n")), Some(2));
        assert_eq!(selected(&format!("{nested}.\n1 passed in 0.02s\n")), None);
        assert_eq!(selected(&format!("..printed by a test of a quiet run{nested}")), None);
        assert_eq!(selected("collected 9 items\n"), None);
        assert_eq!(selected(""), None);
    }
}
