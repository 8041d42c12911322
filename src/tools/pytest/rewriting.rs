//! How pytest rewrites tests: it changes their `assert` statements, so that they say what differs, and compiles the result.
//! Source: `_pytest/assertion/rewrite.py` of pytest 7.0 to 9.2.

/// The file of pytest that rewrites tests, below the directory of packages in which pytest is installed.
pub const PYTEST_REWRITER: &str = "_pytest/assertion/rewrite.py";

/// The packages that the rewriter imports, with its own.
pub const PYTEST_CODE: &[&str] = &["_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli"];

/// The files in which pytest looks for its settings.
pub const PYTEST_SETTINGS_FILES: &[&[u8]] =
    &[b"pytest.toml", b".pytest.toml", b"pytest.ini", b".pytest.ini", b"pyproject.toml", b"tox.ini", b"setup.cfg"];

/// The setting that makes pytest rewrite tests in another way than it does by default.
const REWRITES_OTHERWISE: &[u8] = b"enable_assertion_pass_hook";

/// Returns whether a file of settings, an argument or a variable names the setting that makes pytest rewrite tests in
/// another way. It may set it to its default; that is not read.
pub fn may_rewrite_otherwise(text: &[u8]) -> bool {
    text.windows(REWRITES_OTHERWISE.len()).any(|part| part == REWRITES_OTHERWISE)
}
