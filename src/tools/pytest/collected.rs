//! How many tests pytest says that it collected, to be held against its report (T-09, T-20): a run that a hook ends early, or a hook that
//! drops tests without a word, leaves a report with fewer of them. A count for nothing else (E5).
//!
//! Only the line of the run itself is read: a test may print what another pytest says. So the very first line must be the header and the
//! very last one the summary between rules; where they are not (`-q`, a wrapper, something printed before or after, xdist's own words)
//! nothing is told, and nothing is compared.

/// The header's words.
const HEADER: &str = "test session starts";

/// Returns how many tests were to be run, where pytest says so.
pub(super) fn selected(stdout: &str) -> Option<u64> {
    let mut lines = stdout.lines().map(str::trim).skip_while(|line| line.is_empty());
    let is_header = |line: &str| line.starts_with('=') && line.trim_matches(['=', ' ']) == HEADER;
    lines.next().filter(|line| is_header(line))?;
    // A quiet run whose test prints all that another one says ends without a rule; one that was ended by `pytest.exit` with this other.
    let is_ruled = |line: &&str| ['=', '!'].iter().any(|rule| line.starts_with(*rule) && line.ends_with(*rule));
    stdout.trim_end().lines().next_back().filter(is_ruled)?;
    // Whatever a test prints comes behind it. With `-v` it begins with what a terminal would be shown meanwhile.
    lines.find_map(|line| count(line.strip_prefix("collecting ... ").unwrap_or(line)))
}

/// Reads `collected 3 items / 1 deselected / 2 selected`.
fn count(line: &str) -> Option<u64> {
    let mut parts = line.strip_prefix("collected ")?.split(" / ");
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
