//! Reads how many files a linter says that it checked. A tool that does not say it has no function here, and the number stays
//! unknown: it is never guessed.

use crate::interpret::Exited;

/// Reads `Success: no issues found in 3 source files` and `Found 1 error in 1 file (checked 3 source files)`.
pub(super) fn mypy(exited: &Exited<'_>) -> Option<u64> {
    let line = exited.stdout.lines().rev().map(str::trim).find(|line| line.contains(" source file"))?;
    let count = line.strip_prefix("Success: no issues found in ").or_else(|| Some(line.rsplit_once("(checked ")?.1))?;
    count.split_once(" source file")?.0.parse().ok()
}

/// Reads Ruff's warning about having no file, the line of its formatter (`2 files already formatted`), or the line that its linter
/// prints with `--verbose` (`Checked 3 files in: 1.2ms`).
pub(super) fn ruff(exited: &Exited<'_>) -> Option<u64> {
    if exited.stderr.contains("No Python files found") {
        return Some(0);
    }
    let verbose =
        || exited.stderr.lines().rev().find_map(|line| line.split_once("Checked ")?.1.split_once(" files in")?.0.parse().ok());
    // With `--diff`, the line stands on standard error.
    let last = |text: &str| formatted(text.lines().next_back()?.trim());
    last(&exited.stdout).or_else(|| last(&exited.stderr)).or_else(verbose)
}

/// Reads `3          total files processed`, which Flake8 prints with `--benchmark`.
pub(super) fn flake8(exited: &Exited<'_>) -> Option<u64> {
    let line = exited.stdout.lines().rev().find_map(|line| line.strip_suffix("total files processed"))?;
    line.trim().parse().ok()
}

// Reads `1 file would be reformatted, 2 files already formatted`.
fn formatted(line: &str) -> Option<u64> {
    let of_part = |part: &str| {
        let (count, words) = part.split_once(' ')?;
        let is_known = matches!(
            words,
            "file would be reformatted" | "files would be reformatted" | "file already formatted" | "files already formatted"
        );
        is_known.then(|| count.parse::<u64>().ok())?
    };
    line.split(", ").map(of_part).sum()
}

#[cfg(test)]
mod tests {
    use crate::samples::Returned;
    use proctor_model::{CategoryCode, Tool};

    fn count(tool: Tool, command: &str, code: i32, stdout: &str, stderr: &str) -> Option<u64> {
        Returned::exited(tool, command, code).saying(stdout, stderr).interpret().examined.and_then(|examined| examined.count)
    }

    #[test]
    fn what_a_linter_says_of_its_files_is_read_and_nothing_is_guessed() {
        assert_eq!(count(Tool::Mypy, "mypy .", 0, "Success: no issues found in 3 source files\n", ""), Some(3));
        let found = "a.py:1: error: x  [misc]\nFound 1 error in 1 file (checked 12 source files)\n";
        assert_eq!(count(Tool::Mypy, "mypy .", 1, found, ""), Some(12));
        assert_eq!(count(Tool::Mypy, "mypy .", 0, "", ""), None);
        assert_eq!(count(Tool::Ruff, "ruff check .", 0, "All checks passed!\n", ""), None);
        let verbose = "[ruff::commands::check][DEBUG] Checked 2 files in: 5.7ms\n";
        assert_eq!(count(Tool::Ruff, "ruff check -v .", 0, "All checks passed!\n", verbose), Some(2));
        let line = "1 file already formatted\n";
        assert_eq!(count(Tool::Ruff, "ruff format --check .", 0, line, ""), Some(1));
        assert_eq!(count(Tool::Flake8, "flake8", 0, "", ""), None);
        let benchmark = "0.118      seconds elapsed\n3          total files processed\n25         files processed per second\n";
        assert_eq!(count(Tool::Flake8, "flake8", 0, benchmark, ""), Some(3));
    }

    #[test]
    fn v4_a_linter_that_says_that_it_had_no_file_checked_nothing() {
        let verbose = "[ruff::commands::check][DEBUG] Checked 0 files in: 5.7ms\n";
        for stderr in [verbose, "warning: No Python files found under the given path(s)\n"] {
            let returned = Returned::exited(Tool::Ruff, "ruff check -v .", 0).saying("All checks passed!\n", stderr);
            assert_eq!(returned.interpret().category, CategoryCode::NothingChecked, "{stderr}");
        }
    }
}
