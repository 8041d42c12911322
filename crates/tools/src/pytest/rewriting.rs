//! How pytest rewrites tests: it changes their `assert` statements, so that they say what differs, and compiles the result.
//! Source: `_pytest/assertion/rewrite.py` of pytest 7.0 to 9.2.

use proctor_model::split_words;

/// The file of pytest that rewrites tests, below the directory of packages in which pytest is installed.
pub const PYTEST_REWRITER: &str = "_pytest/assertion/rewrite.py";

/// The packages that the rewriter imports, with its own.
pub const PYTEST_CODE: &[&str] = &["_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli"];

/// The files in which pytest looks for its settings.
pub const PYTEST_SETTINGS_FILES: &[&[u8]] =
    &[b"pytest.toml", b".pytest.toml", b"pytest.ini", b".pytest.ini", b"pyproject.toml", b"tox.ini", b"setup.cfg"];

/// The setting that makes pytest rewrite tests in another way than it does by default.
const REWRITES_OTHERWISE: &[u8] = b"enable_assertion_pass_hook";

/// The variable with further arguments for pytest, separated as a shell separates words.
pub(super) const MORE_ARGUMENTS: &str = "PYTEST_ADDOPTS";

/// The option that names another file of settings, and its short form.
const SETTINGS_OPTION: &[u8] = b"--config-file";
const SETTINGS_LETTER: u8 = b'c';

/// The short options of pytest and its plugins that take the rest of the word as their value.
const LETTERS_WITH_VALUE: &[u8] = b"kmnopWr";

/// Returns whether a file of settings may make pytest rewrite tests in another way than by default. It may set the setting to
/// its default; that is not read. Options in the setting `addopts` can come from a further file, which is not read either.
pub fn settings_may_rewrite_otherwise(text: &[u8]) -> bool {
    let of_options = find(text, b"addopts").map(|start| &text[start..]).unwrap_or_default();
    // The section of the file ends where the next one begins.
    let of_options = &of_options[..find(of_options, b"\n[").unwrap_or(of_options.len())];
    let is_separator = |byte: u8| byte.is_ascii_whitespace() || b"\"'=[,".contains(&byte);
    names_setting(text) || of_options.windows(2).any(|pair| pair[1] == b'@' && is_separator(pair[0]))
}

/// Returns whether the arguments or the variables of a command may make pytest rewrite tests in another way than by default,
/// by the setting itself or by naming a file of settings or arguments that pytest would not read otherwise.
pub fn command_may_rewrite_otherwise<'a>(
    arguments: impl Iterator<Item = &'a [u8]>,
    variables: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> bool {
    let of_variable = |(name, value): (&[u8], &[u8])| {
        if name != MORE_ARGUMENTS.as_bytes() {
            return names_setting(value);
        }
        let words = std::str::from_utf8(value).ok().and_then(split_words);
        words.is_none_or(|words| words.iter().any(|word| is_about_settings(word.as_bytes())))
    };
    let mut variables = variables;
    let mut arguments = arguments;
    arguments.any(is_about_settings) || variables.any(of_variable)
}

/// Returns whether an argument sets the setting, names another file of settings, or names a file with further arguments.
fn is_about_settings(word: &[u8]) -> bool {
    let is_cluster = || {
        let letters = word.strip_prefix(b"-").filter(|letters| !letters.starts_with(b"-"))?;
        let before = letters.iter().position(|letter| *letter == SETTINGS_LETTER)?;
        Some(!letters[..before].iter().any(|letter| LETTERS_WITH_VALUE.contains(letter)))
    };
    names_setting(word) || word.starts_with(b"@") || word.starts_with(SETTINGS_OPTION) || is_cluster().unwrap_or(false)
}

fn names_setting(text: &[u8]) -> bool {
    find(text, REWRITES_OTHERWISE).is_some()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_command(line: &str, variables: &[(&str, &str)]) -> bool {
        let variables = variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        command_may_rewrite_otherwise(line.split(' ').map(str::as_bytes), variables)
    }

    #[test]
    fn settings_that_the_command_names_are_not_overlooked() {
        // Tried with pytest 9.2: each of the first group called the hook that the setting enables.
        for line in [
            "pytest -c other.ini",
            "pytest -cother.ini",
            "pytest -qcother.ini",
            "pytest --config-file=other.ini",
            "pytest --config-file other.ini",
            "pytest @options.txt",
            "pytest -o enable_assertion_pass_hook=true",
        ] {
            assert!(of_command(line, &[]), "{line}");
        }
        for value in ["-cother.ini", "-q @options.txt", "'-c' other.ini", "-k \"unclosed"] {
            assert!(of_command("pytest", &[("PYTEST_ADDOPTS", value)]), "{value}");
        }
        for line in ["pytest", "pytest --cov=src --co -q", "pytest -k scratch -kscratch -nauto -rac -Werror::c tests/a_c.py"] {
            assert!(!of_command(line, &[("PYTEST_ADDOPTS", "--cov -k \"a c\""), ("OTHER", "-c @x")]), "{line}");
        }
    }

    #[test]
    fn options_in_a_file_of_settings_may_come_from_a_further_file() {
        for text in [
            "[pytest]\nenable_assertion_pass_hook = true\n",
            "[pytest]\naddopts = @options.txt\n",
            "[pytest]\naddopts =\n    -q\n    @options.txt\n",
            "[tool.pytest.ini_options]\naddopts = [\"-q\", \"@options.txt\"]\n",
        ] {
            assert!(settings_may_rewrite_otherwise(text.as_bytes()), "{text}");
        }
        let usual = "[project]\nauthors = [\"@ada\"]\n[tool.pytest.ini_options]\naddopts = \"-q --cov\"\n\
            [tool.coverage.report]\nexclude_lines = [\"@overload\"]\n";
        assert!(!settings_may_rewrite_otherwise(usual.as_bytes()));
    }
}
