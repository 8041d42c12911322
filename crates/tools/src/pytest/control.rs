//! The control: a run before the real one. It runs the same command with tests that must fail, in place of the real
//! tests.
//!
//! If pytest does not report one of these tests as failed, its results for the real tests prove nothing either. The
//! control is a separate run, so that nothing is added to the run that is judged (E5). It uses a plugin that proctor
//! writes into a directory of its own. The plugin adds one failing test to the first module of each collected
//! directory. So `conftest.py` files and plugins treat this test as they treat the real ones. A test runner that
//! recognises the control and behaves correctly only for it is not detected.

use std::path::{Path, PathBuf};

use crate::junit::{self, Element, MarkKind, ReportTotals};
use crate::launchers::{Located, locate};
use crate::prepare::insert_options;
use crate::recognise::CommandForm;
use proctor_model::{Action, ActionEnd, ControlObservation, Tool, ToolReport};

/// The text of the plugin. `{nonce}` is replaced by the nonce, so that the names of the tests cannot be known in
/// advance.
const PLUGIN: &str = include_str!("control.py");

/// The file name of pytest's report of the control.
const JUNIT_NAME: &str = "control-junit.xml";

/// At most this many words behind `pytest_plugins` are taken for plugins.
const NAMED_PLUGINS: usize = 32;

/// pytest's exit code for a run in which tests failed.
const TESTS_FAILED: i32 = 1;

/// pytest's exit codes for a run that was refused or broken off, or that had no test.
const NOTHING_RAN: std::ops::RangeInclusive<i32> = 3..=5;

/// The words of code that can end the process of pytest, or start another session in it: a `conftest.py` with such code can put
/// another session in the place of the one that was started.
const REPLACING_WORDS: &[&str] = &["os._exit", "import _exit", "os.exec", "pytest.main", "console_main", "cmdline.main"];

/// The words of code that can start another program.
const STARTING_WORDS: &[&str] = &["subprocess", "os.system", "os.popen", "os.spawn", "os.posix_spawn", "runpy"];

/// The words of code that says which program it starts, if that is pytest, or the same command again.
const STARTED_WORDS: &[&str] =
    &["\"pytest\"", "'pytest'", "\"pytest ", "'pytest ", "-m pytest", "py.test", "sys.argv", "orig_argv"];

/// The command and files of a control, the run of tests that must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPreparation {
    /// The program and its arguments, including the options that make pytest run the control's tests only.
    pub argv: Vec<String>,
    /// Environment variables that are set in addition to those of the action.
    pub environment: Vec<(String, String)>,
    /// The file name and the text of the plugin. The file must be written into the directory that was passed to
    /// [`prepare_control`].
    pub plugin: (String, String),
    /// Where pytest writes the report of the control.
    pub report_file: PathBuf,
}

/// Returns whether code that the tool loads before the tests can put another session in the place of the one that was started.
pub fn may_be_replaced(tool: Tool) -> bool {
    tool == Tool::Pytest
}

/// Returns whether a command can have a control. It can if arguments that are added to it reach pytest.
pub fn may_have_control(tool: Tool, argv: &[String]) -> bool {
    let located = locate(argv);
    tool == Tool::Pytest && is_direct(&located)
}

/// The facts about a file of Python that may be loaded before the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCode {
    /// Whether it has words by which it can put another session in the place of the one that was started. The report and the output of such
    /// a session agree, so only a control shows it.
    pub may_replace: bool,
    /// Whether it is about pytest at all. A module of the project may start other programs for other reasons.
    pub names_session: bool,
    /// The words of its imports: some are names of modules.
    pub imported: Vec<String>,
    /// The paths, from the end, of the plugins that it names.
    pub plugins: Vec<String>,
}

impl SessionCode {
    pub fn read(text: &str) -> Self {
        let imported = import_words(text).map(str::to_owned).collect();
        Self {
            may_replace: may_replace_session(text),
            names_session: text.contains("pytest"),
            imported,
            plugins: named_plugins(text),
        }
    }
}

/// Returns the words of the lines of a text that import something, also of a list that goes on over further lines.
fn import_words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_list = false;
    let lines = text.lines().filter(move |line| {
        let begins = line.contains("import");
        let belongs = begins || is_list;
        is_list = belongs && !line.contains(')') && (is_list || line.contains('('));
        belongs
    });
    lines.flat_map(words_of)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Returns the names of modules that a command or a settings file may load before the tests: the last part of each plugin's name, and
/// each word of a file that declares plugins of its own for pytest.
pub fn modules_named(text: &str) -> Vec<String> {
    let plugins = named_plugins(text).into_iter();
    let stems = plugins.filter_map(|path| Some(Path::new(&path).file_stem()?.to_str()?.to_owned()));
    let declared = words_of(text).filter(|_| text.contains("pytest11")).map(str::to_owned);
    stems.chain(declared).collect()
}

fn may_replace_session(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let ends_green = text.contains("pytest.exit") && text.contains("returncode");
    let calls_main = imports_main(text) || text.contains("import pytest as ") && text.contains(".main(");
    ends_green || calls_main || has(REPLACING_WORDS) || has(STARTING_WORDS) && has(STARTED_WORDS)
}

/// Returns whether a text imports pytest's own `main`: `from pytest import main`, and not `from app import main`.
fn imports_main(text: &str) -> bool {
    let mut imports = ["from pytest", "from _pytest"].into_iter().flat_map(|from| text.split(from).skip(1));
    imports.any(|rest| {
        let line = rest.lines().next().unwrap_or_default();
        let names = if line.contains('(') { rest.split(')').next().unwrap_or_default() } else { line };
        words_of(names).any(|word| word == "main")
    })
}

/// Returns the paths, from the end, of the plugins that a command, a settings file or a `conftest.py` names: the values of `-p` and
/// the words behind `pytest_plugins`. Some may be no plugins, and some may not exist.
pub fn named_plugins(text: &str) -> Vec<String> {
    let is_module = |word: &&str| word.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.'));
    let mut words =
        text.split(|letter: char| letter.is_whitespace() || "\"'[](),=".contains(letter)).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("-p") {
            Some("") => found.extend(words.next()),
            Some(joined) => found.push(joined),
            None if word == "pytest_plugins" => found.extend(words.clone().take_while(is_module).take(NAMED_PLUGINS)),
            None => {}
        }
    }
    found.into_iter().filter(is_module).map(|module| format!("{}.py", module.replace('.', "/"))).collect()
}

fn is_direct(located: &Located) -> bool {
    located.recognition.tool == Tool::Pytest && located.recognition.form == CommandForm::Direct
}

/// Prepares the control of an action; `None` if the action cannot have one. `directory` must be fresh and absolute. `nonce` is a part of a
/// Python name that the project cannot foresee.
pub fn prepare_control(action: &Action, directory: &Path, link: Option<&Path>, nonce: &str) -> Option<ControlPreparation> {
    let located = locate(&action.command.argv);
    if !may_have_control(action.tool, &action.command.argv) {
        return None;
    }
    let module = format!("proctor_control_{nonce}");
    let report_file = directory.join(JUNIT_NAME);
    let ignore = link.map(|link| format!("--ignore={}", link.to_string_lossy()));
    // These options cancel the command's own selection by name (`-k`) or mark (`-m`), because pytest uses the last of
    // each.
    let ours = ["-p", &module, "-k", nonce, "-m", ""].map(str::to_owned);
    // pytest stores in its cache which tests failed, for `--last-failed`. The control gets a cache of its own, so that
    // its failures do not get into the project's cache.
    let kept = ["-o".to_owned(), format!("cache_dir={}", directory.join("cache").to_string_lossy())];
    let asked = [format!("--junitxml={}", report_file.to_string_lossy())];
    let mut argv = action.command.argv.clone();
    insert_options(&mut argv, located.arguments_from, ours.into_iter().chain(kept).chain(ignore).chain(asked));
    let before = action.environment.get("PYTHONPATH").filter(|path| !path.is_empty());
    let path = directory.to_string_lossy();
    let path = before.map_or_else(|| path.to_string(), |before| format!("{path}:{before}"));
    Some(ControlPreparation {
        argv,
        environment: vec![("PYTHONPATH".to_owned(), path)],
        plugin: (format!("{module}.py"), PLUGIN.replace("{nonce}", nonce)),
        report_file,
    })
}

/// Returns whether all tests of the control failed as required. If the settings do not ask for the control, a run of it in which nothing
/// ran proves nothing: the project may refuse such tests.
pub fn interpret_control(end: &ActionEnd, report: &ToolReport, nonce: &str, is_asked_for: bool) -> ControlObservation {
    let ActionEnd::Exited { code } = end else {
        return not_held("the control did not end by itself, so nothing is known of the runner; see its log".to_owned());
    };
    // The report may have as many other tests as the project has, so only those of the control are kept.
    let name = format!("test_{nonce}");
    let mut controls = Vec::new();
    let mut keep = |element: Element| {
        if element.name == name {
            controls.push(element);
        }
    };
    let read = match report {
        ToolReport::Fresh(_) | ToolReport::Large(_) => match report.reader() {
            Some(reader) => {
                junit::read_each(reader, &mut keep).and_then(ReportTotals::require_counts).map_err(|error| error.to_string())
            }
            None => Err("there is none".to_owned()),
        },
        ToolReport::Missing | ToolReport::NotRequested => Err("there is none".to_owned()),
        ToolReport::Refused(why) => Err(why.clone()),
    };
    if controls.is_empty() && !is_asked_for && NOTHING_RAN.contains(code) {
        return ControlObservation {
            held: false,
            applicable: Some(false),
            reason: format!("none of the tests that must fail ran, and the control ended with exit code {code}; see its log"),
        };
    }
    match read {
        Ok(_) => judge(*code, &controls, nonce),
        Err(why) => {
            not_held(format!("the control ended with exit code {code} and its report proves nothing ({why}); see its log"))
        }
    }
}

fn judge(code: i32, controls: &[Element], nonce: &str) -> ControlObservation {
    if controls.is_empty() {
        return not_held(format!(
            "the tests that must fail are not in the report of the control (exit code {code}): something removes tests before they run"
        ));
    }
    // A fixture that every test uses can fail for a test without parameters. Then the control's test never ran.
    let (errors, ran): (Vec<_>, Vec<_>) = controls.iter().partition(|element| had_error_before(element, nonce));
    if let Some(green) = ran.iter().find(|element| !has_failed(element, nonce)) {
        return not_held(format!("a test that must fail, beside those of `{}`, was reported as {}", green.class, word(green)));
    }
    if code != TESTS_FAILED {
        return not_held(format!(
            "tests that must fail have failed, and the exit code was {code}: something changes the exit status"
        ));
    }
    match (ran.len(), errors.first()) {
        (0, Some(first)) => ControlObservation {
            held: false,
            applicable: Some(false),
            reason: format!("the tests that must fail had an error before they ran, beside those of `{}`", first.class),
        },
        (failed, None) => held(format!("{failed} test(s) that must fail have failed")),
        (failed, Some(_)) => {
            held(format!("{failed} test(s) that must fail have failed, and {} had an error before they ran", errors.len()))
        }
    }
}

fn held(reason: String) -> ControlObservation {
    ControlObservation { held: true, applicable: None, reason }
}

fn not_held(reason: String) -> ControlObservation {
    ControlObservation { held: false, applicable: None, reason }
}

fn has_failed(element: &Element, nonce: &str) -> bool {
    let says_so = |text: &str| text.contains(nonce);
    element.marks.iter().any(|mark| mark.kind == MarkKind::Failure && (says_so(&mark.message) || says_so(&mark.text)))
}

fn had_error_before(element: &Element, nonce: &str) -> bool {
    element.marks.iter().any(|mark| mark.kind == MarkKind::Error) && !has_failed(element, nonce)
}

fn word(element: &Element) -> &'static str {
    match element.marks.first().map(|mark| mark.kind) {
        None => "passed",
        Some(MarkKind::Skipped | MarkKind::Retried) => "skipped or expected to fail",
        Some(MarkKind::Error) => "an error before it could fail",
        Some(MarkKind::Failure) => "failed for another reason than its own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::action;

    const NONCE: &str = "c0ffee";

    fn report(cases: &str) -> ToolReport {
        ToolReport::Fresh(format!("<testsuites><testsuite tests=\"1\">{cases}</testsuite></testsuites>").into_bytes())
    }

    fn seen(code: i32, cases: &str) -> ControlObservation {
        interpret_control(&ActionEnd::Exited { code }, &report(cases), NONCE, true)
    }

    const FAILED: &str = r#"<testcase classname="tests.test_a" name="test_c0ffee"><failure message="c0ffee must fail">assert</failure></testcase>"#;

    #[test]
    fn a_control_holds_only_where_every_test_of_it_failed_for_its_own_reason() {
        assert!(seen(1, FAILED).held);
        assert!(seen(1, &FAILED.repeat(2)).held);
        for (code, cases, part) in [
            (0, r#"<testcase classname="t" name="test_c0ffee"/>"#, "reported as passed"),
            (0, FAILED, "the exit code was 0"),
            (5, "", "removes tests"),
            (0, r#"<testcase classname="t" name="test_ok"/>"#, "removes tests"),
            (0, r#"<testcase classname="t" name="test_c0ffee"><skipped message="x"/></testcase>"#, "skipped"),
            (1, r#"<testcase classname="t" name="test_c0ffee"><failure message="x">y</failure></testcase>"#, "another reason"),
        ] {
            let seen = seen(code, cases);
            assert!(!seen.held && seen.reason.contains(part), "{cases}: {}", seen.reason);
        }
        let error = r#"<testcase classname="t" name="test_c0ffee"><error message="failed on setup">fixture</error></testcase>"#;
        let not_applicable = seen(1, error);
        assert_eq!((not_applicable.held, not_applicable.applicable), (false, Some(false)), "{}", not_applicable.reason);
        let partly = seen(1, &format!("{FAILED}{error}"));
        assert_eq!((partly.held, partly.applicable), (true, None), "{}", partly.reason);
        let mixed = format!(r#"{FAILED}<testcase classname="u" name="test_c0ffee"/>"#);
        assert!(!seen(1, &mixed).held, "one that is green is enough");
        let unasked = |code| interpret_control(&ActionEnd::Exited { code }, &report(""), NONCE, false).applicable;
        assert_eq!([0, 1, 3, 4, 5].map(unasked), [None, None, Some(false), Some(false), Some(false)]);
    }

    #[test]
    fn modules_are_those_of_imports_and_of_plugins_that_are_named() {
        let code = SessionCode::read(
            "import a\nfrom b.c import (\n    d,\n    e)\nf = 1\nimportlib.import_module('g')\npytest_plugins = 'h.i'\n",
        );
        for (word, is_there) in [("a", true), ("c", true), ("d", true), ("e", true), ("f", false), ("g", true)] {
            assert_eq!(code.imported.iter().any(|imported| imported == word), is_there, "{word}");
        }
        assert_eq!((code.plugins, code.names_session, code.may_replace), (vec!["h/i.py".to_owned()], true, false));
        assert_eq!(modules_named("pytest -p shop.plug -q"), ["plug"]);
        assert_eq!(modules_named("[project]\nname = \"shop\"\n"), [""; 0], "a settings file that names no plugin");
        assert!(modules_named("[project.entry-points.pytest11]\nshop = \"shop.plug\"\n").contains(&"plug".to_owned()));
    }

    #[test]
    fn code_that_can_replace_the_session_is_known_by_its_words() {
        for text in [
            "pytest.main(sys.argv)",
            "os._exit(0)",
            "from os import _exit",
            "pytest.exit('x', returncode=0)",
            "from pytest import fixture, main",
            "from _pytest.config import (\n    main as start,\n)",
            "import pytest as p\np.main()",
            "subprocess.call([sys.executable, \"-m\", \"pytest\", *rest])",
            "import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv])",
            "os.system('python -m pytest -k ok')",
        ] {
            assert!(may_replace_session(text), "{text}");
        }
        for text in [
            "import pytest",
            "pytest.exit('no database')",
            "self.on_exit(1)",
            "import pytest\nfrom app import main",
            "import pytest\nfrom app.cli import main\n\nmain()",
            "import pytest, subprocess\nsubprocess.run(['docker', 'compose', 'up'])",
        ] {
            assert!(!may_replace_session(text), "{text}");
        }
        for (text, expected) in [
            ("python -m pytest -p tests.plug -q", &["tests/plug.py"][..]),
            ("addopts = [\"-pplug\", \"-p\", \"no:cov\"]", &["plug.py"]),
            ("pytest_plugins = [\"a.b\", 'c']\n\n@pytest.fixture", &["a/b.py", "c.py"]),
            ("--pdb -x", &[]),
        ] {
            assert_eq!(named_plugins(text), expected, "{text}");
        }
    }

    #[test]
    fn without_an_end_and_a_report_of_its_own_nothing_is_known() {
        let signalled = ActionEnd::Signalled { signal: 9 };
        assert!(!interpret_control(&signalled, &report(FAILED), NONCE, true).held);
        for report in [ToolReport::Missing, ToolReport::Refused("a link".to_owned()), ToolReport::Fresh(b"<".to_vec())] {
            assert!(!interpret_control(&ActionEnd::Exited { code: 1 }, &report, NONCE, true).held);
        }
    }

    #[test]
    fn the_control_is_the_same_command_with_options_of_ours_at_its_end() {
        let mut check = action(Tool::Pytest, "python -m pytest -k smoke -- tests");
        check.environment.insert("PYTHONPATH".to_owned(), "src".to_owned());
        let control = prepare_control(&check, Path::new("/out"), None, NONCE).expect("it is pytest itself");
        let options = "-p proctor_control_c0ffee -k c0ffee -m  -o cache_dir=/out/cache --junitxml=/out/control-junit.xml";
        assert_eq!(control.argv.join(" "), format!("python -m pytest -k smoke {options} -- tests"));
        assert_eq!(control.environment, [("PYTHONPATH".to_owned(), "/out:src".to_owned())]);
        assert_eq!(control.plugin.0, "proctor_control_c0ffee.py");
        assert!(control.plugin.1.contains("test_c0ffee") && !control.plugin.1.contains("{nonce}"));
        let wrapped = action(Tool::Pytest, "make test");
        assert_eq!(prepare_control(&wrapped, Path::new("/out"), None, NONCE), None);
    }
}
