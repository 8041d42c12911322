//! How touched tests ended in one run of a tool. Pure.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::{ActionEnd, OneTest, TestCase, TestFailure, TestOutcome, Tool};
use proctor_tools::{RaisedAt, raised_at};

use crate::beside::OtherEnd;
use crate::braced_tests::fits_title;
use crate::failure::{FailureClass, classify, names_one_of};
use crate::known::file_of;
use crate::rust::names_by_path;
use crate::touched::{TestLanguage, TouchedTest};
use crate::trial::EndOnContent;
use crate::words::{CaseEnd, SeenRun};

/// The exit code by which pytest says that it ran no test.
const NOTHING_SELECTED: i32 = 5;
/// Words by which lines name an error of a file that cannot be loaded.
const OF_ERRORS: &[&str] = &["rror", "undefined", "annot find", "ailed to "];

/// What is known of a run and its content when a failure is read.
pub(crate) struct KnownOfChange<'a> {
    pub(crate) tool: Tool,
    /// Whether a place is in a file of source, and not in the tests that the file may have.
    pub(crate) is_source: &'a dyn Fn(&RaisedAt) -> bool,
    /// Returns what stands at a place in a file of tests.
    pub(crate) code_at: &'a dyn Fn(&RaisedAt) -> Option<String>,
    /// Whether the change writes recorded files.
    pub(crate) writes_recorded: bool,
    /// The names that the change introduces.
    pub(crate) introduced: &'a BTreeSet<String>,
    /// Whether the tool was asked for these tests alone.
    pub(crate) is_narrow: bool,
}

/// Returns how a test ended in a run.
pub(crate) fn seen_of(test: &TouchedTest, run: &EndOnContent, known: &KnownOfChange<'_>) -> SeenRun {
    let is_python = TestLanguage::of(&test.file) == Some(TestLanguage::Python);
    let ActionEnd::Exited { code } = run.end else {
        let cases = if is_python { cases_of_pytest(test, run, known) } else { BTreeMap::new() };
        return if cases.is_empty() { SeenRun::NotRun(run.reason.clone()) } else { SeenRun::Cases(cases) };
    };
    if is_python { seen_of_pytest(test, run, code, known) } else { seen_by_name(test, run, known) }
}

/// Returns how the tests of a run ended that nobody touched.
pub(crate) fn other_ends(tests: &[TouchedTest], run: &EndOnContent, known: &KnownOfChange<'_>) -> Vec<OtherEnd> {
    let is_of = |test: &TouchedTest, case: &TestCase| match test.name.as_str() {
        // It stands for all tests of its file.
        "" => case.test_file.as_ref().is_none_or(|file| *file == test.file),
        _ => place_of_case(test, case, known).is_some(),
    };
    let others = run.cases.iter().filter(|case| !tests.iter().any(|test| is_of(test, case)));
    let file = |case: &TestCase| case.test_file.clone().or_else(|| Some(file_of(&case.full_name)?.to_owned()));
    others.map(|case| (case.full_name.clone(), file(case).unwrap_or_default(), end_of(case, run, known))).collect()
}

fn cases_of_pytest(test: &TouchedTest, run: &EndOnContent, known: &KnownOfChange<'_>) -> BTreeMap<String, CaseEnd> {
    let own: Vec<&TestCase> = run.cases.iter().filter(|case| is_case_of(test, case)).collect();
    // `tests/test_a.py` may also be another directory's: the exact path comes first.
    let has_path = own.iter().any(|case| case.full_name.starts_with(&test.file));
    let own = own.into_iter().filter(|case| !has_path || case.full_name.starts_with(&test.file));
    own.map(|case| (case.full_name.clone(), end_of(case, run, known))).collect()
}

fn seen_of_pytest(test: &TouchedTest, run: &EndOnContent, code: i32, known: &KnownOfChange<'_>) -> SeenRun {
    let cases = cases_of_pytest(test, run, known);
    if !cases.is_empty() {
        return SeenRun::Cases(cases);
    }
    let of_file = run.cases.iter().find(|case| case.status.is_failure() && is_collection_of(test, case));
    if let Some(case) = of_file {
        return cannot_begin(&case.failure_messages.join("\n"), known);
    }
    let is_empty = !run.cases.is_empty() || matches!(code, 0 | NOTHING_SELECTED);
    if is_empty { SeenRun::Cases(cases) } else { cannot_begin(&run.output, known) }
}

/// Returns how a test ended in a run of another tool than pytest. What is not surely this test gets no end.
fn seen_by_name(test: &TouchedTest, run: &EndOnContent, known: &KnownOfChange<'_>) -> SeenRun {
    let not_run = |why: &str| SeenRun::NotRun(why.to_owned());
    let mut cases = BTreeMap::new();
    let mut places = BTreeSet::new();
    for (place, case) in run.cases.iter().filter_map(|case| Some((place_of_case(test, case, known)?, case))) {
        places.insert(place);
        if cases.insert(case.full_name.clone(), end_of(case, run, known)).is_some() || places.len() > 1 {
            return not_run("more than one test of the run has this name");
        }
    }
    if !cases.is_empty() {
        return SeenRun::Cases(cases);
    }
    let name = test.file.rsplit('/').next().unwrap_or_default();
    let of_file = |failure: &&TestFailure| match known.tool.one_test() {
        // A package that cannot be built has its own name alone.
        Some(OneTest::RunPattern) => known.is_narrow && !failure.test_name.contains(' '),
        _ => failure.test_file.as_ref() == Some(&test.file) && [name, test.file.as_str()].contains(&failure.test_name.as_str()),
    };
    if let Some(failure) = run.failures.iter().find(of_file) {
        return cannot_begin(&format!("{}\n{}", failure.error, failure.stack.as_deref().unwrap_or_default()), known);
    }
    let is_unbuilt = match known.tool.one_test() {
        Some(OneTest::ExactName) => run.output.contains("could not compile"),
        // Before Go 1.24 no event tells it.
        Some(OneTest::RunPattern) => known.is_narrow && run.output.contains("[build failed]"),
        _ => false,
    };
    if run.cases.is_empty() && is_unbuilt {
        cannot_begin(&run.output, known)
    } else {
        not_run("its tool told of no test of this name")
    }
}

/// Returns where a tool has a test, if a case is that test or a part of it: the package, or the program's name for it.
fn place_of_case<'c>(test: &TouchedTest, case: &'c TestCase, known: &KnownOfChange<'_>) -> Option<&'c str> {
    match TestLanguage::of(&test.file)? {
        TestLanguage::Python => is_case_of(test, case).then_some(""),
        TestLanguage::Script => {
            // The browser of a project of Playwright stands in brackets.
            let above = case.ancestor_titles.iter().filter(|name| !(name.starts_with('[') && name.ends_with(']')));
            // Vitest may put the file before the names.
            let above = above.filter(|name| case.test_file.as_ref() != Some(name));
            let name = above.chain([&case.title]).map(String::as_str).collect::<Vec<_>>().join(" > ");
            let is_node = known.tool.one_test() == Some(OneTest::NamePattern);
            let is_of_file = (is_node && known.is_narrow) || case.test_file.as_ref() == Some(&test.file);
            let is_part = is_node && name.starts_with(&format!("{} > ", test.name));
            (is_of_file && (is_part || fits_title(&test.name, &name))).then_some("")
        }
        TestLanguage::Rust => {
            let is_of = |name: &String| {
                let rest = case.full_name.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::case_"))
            };
            let names = names_by_path(&test.file, &test.name);
            let name = names.iter().find(|name| is_of(name))?;
            Some(&case.full_name[..name.len()])
        }
        TestLanguage::Go => {
            let (package, name) = case.full_name.split_once(' ')?;
            let rest = name.strip_prefix(test.name.as_str())?;
            let directory = test.file.rsplit('/').nth(1);
            let is_of_package =
                known.is_narrow || directory.is_some_and(|directory| package.rsplit('/').next() == Some(directory));
            (is_of_package && (rest.is_empty() || rest.starts_with('/'))).then_some(package)
        }
    }
}

fn cannot_begin(text: &str, known: &KnownOfChange<'_>) -> SeenRun {
    let lines = || text.lines().map(str::trim);
    let of_pytest = lines().filter_map(|line| line.strip_prefix("E ")).map(str::trim).find(|line| line.contains("Error"));
    let of_compiler = lines().find(|line| line.starts_with("error["));
    let told = of_pytest.or(of_compiler).or_else(|| lines().find(|line| line.contains("rror")));
    let told = told.or_else(|| lines().find(|line| !line.is_empty()));
    let message = told.unwrap_or("it printed nothing").chars().take(200).collect();
    // The lines of a traceback show code; what is missing stands in the error itself.
    let marks = ["E ", "error["];
    let mark = marks.iter().find(|mark| lines().any(|line| line.starts_with(**mark)));
    let is_error = |line: &&str| match mark {
        Some(mark) => line.starts_with(*mark),
        None => OF_ERRORS.iter().any(|words| line.contains(words)),
    };
    // Python says in which file it cannot read the code, and a file may be called like a new word.
    let is_place = |line: &&str| line.trim_start_matches("E ").trim_start().starts_with("File \"");
    let errors = lines().filter(|line| is_error(line) && !is_place(line)).collect::<Vec<_>>().join("\n");
    let quoted = quoted_parts(&errors);
    let errors = if quoted.is_empty() { errors } else { quoted.join(" ") };
    SeenRun::CannotBegin { names_change: names_one_of(&errors, known.introduced), message }
}

/// Returns what stands in quotes on each line of a text.
fn quoted_parts(text: &str) -> Vec<&str> {
    let of_line = |line| ['\'', '"', '`'].into_iter().flat_map(move |quote| str::split(line, quote).skip(1).step_by(2));
    text.lines().flat_map(of_line).collect()
}

fn end_of(case: &TestCase, run: &EndOnContent, known: &KnownOfChange<'_>) -> CaseEnd {
    match case.status {
        TestOutcome::Passed => CaseEnd::Passed,
        TestOutcome::Skipped => {
            let why = case.failure_messages.first().and_then(|text| text.lines().next()).unwrap_or_default();
            CaseEnd::LeftOut(if why.is_empty() { "no reason is given".to_owned() } else { why.to_owned() })
        }
        TestOutcome::Failed | TestOutcome::Error => {
            let is_own = |failure: &&TestFailure| {
                let is_of_file = failure.test_file.is_none() || case.test_file.is_none() || failure.test_file == case.test_file;
                failure.test_name == case.full_name && is_of_file
            };
            let failure: Option<&TestFailure> = run.failures.iter().find(is_own);
            let stack = failure.and_then(|failure| failure.stack.clone()).unwrap_or_else(|| case.failure_messages.join("\n"));
            let error = failure.map(|failure| failure.error.as_str());
            let error = error.or_else(|| stack.lines().find(|line| !line.trim().is_empty())).unwrap_or_default();
            let raised = raised_at(known.tool, &stack);
            let is_outside = case.status == TestOutcome::Error || raised.as_ref().is_some_and(known.is_source);
            let code = raised.as_ref().and_then(known.code_at);
            // An assertion that failed in a fixture or in source is no assertion of the test.
            let class = if is_outside {
                FailureClass::OtherError
            } else {
                classify(known.tool, (error, &stack), code.as_deref(), known.writes_recorded)
            };
            CaseEnd::Failed(class, error_to_show(error, &stack).to_owned())
        }
    }
}

/// Returns the line that begins with the name of an error, where the tool has it in its text alone.
fn error_to_show<'t>(error: &'t str, stack: &'t str) -> &'t str {
    let first = stack.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_named = |line: &str| line.split_once(": ").is_some_and(|(name, _)| name.ends_with("Error") && !name.contains(' '));
    if !is_named(error) && is_named(first) { first } else { error }
}

/// Returns whether a test of pytest is this one, or a parameter of it.
pub(crate) fn is_case_of(test: &TouchedTest, case: &TestCase) -> bool {
    let name = case.full_name.split('[').next().unwrap_or_default();
    is_dotted_end(&dotted(&format!("{}::{}", test.file, test.name)), &dotted(name))
}

/// Returns whether a case stands for the file of a test that could not be collected.
fn is_collection_of(test: &TouchedTest, case: &TestCase) -> bool {
    let file = dotted(&test.file);
    [Some(&case.full_name), Some(&case.title), case.test_file.as_ref()]
        .into_iter()
        .flatten()
        .any(|name| !name.is_empty() && is_dotted_end(&file, &dotted(name)))
}

/// Returns a path or a name of a test with a dot between all of its parts, and without the ending of Python.
fn dotted(name: &str) -> String {
    name.replace("::", ".").replace('/', ".").replace(".py.", ".").trim_end_matches(".py").trim_start_matches('.').to_owned()
}

/// Returns whether `end` is the whole or the last parts of `whole`: a tool names tests from its own root.
fn is_dotted_end(whole: &str, end: &str) -> bool {
    whole == end
        || whole.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
        || end.strip_suffix(whole).is_some_and(|rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(full_name: &str, status: TestOutcome, message: &str) -> TestCase {
        TestCase {
            title: full_name.rsplit("::").next().unwrap_or_default().to_owned(),
            ancestor_titles: Vec::new(),
            full_name: full_name.to_owned(),
            report_name: None,
            test_file: None,
            status,
            expected_to_fail: false,
            duration_us: None,
            failure_messages: if message.is_empty() { Vec::new() } else { vec![message.to_owned()] },
            body: None,
        }
    }

    fn test(file: &str, name: &str) -> TouchedTest {
        TouchedTest { file: file.to_owned(), name: name.to_owned(), is_added: true, is_sure: true, doubt: None }
    }

    fn known<'k>(tool: Tool, is_narrow: bool) -> KnownOfChange<'k> {
        const NOTHING: &BTreeSet<String> = &BTreeSet::new();
        let is_source = &|_: &RaisedAt| false;
        KnownOfChange { tool, is_source, code_at: &|_| None, writes_recorded: false, introduced: NOTHING, is_narrow }
    }

    #[test]
    fn the_name_of_a_file_that_cannot_be_read_is_no_name_that_is_missing() {
        let introduced = BTreeSet::from(["vat".to_owned()]);
        let known = KnownOfChange { introduced: &introduced, ..known(Tool::Pytest, true) };
        let said = |text: &str| matches!(cannot_begin(text, &known), SeenRun::CannotBegin { names_change: true, .. });
        assert!(!said("E     File \"/p/shop/vat.py\", line 1\nE       def quote(net:\nE   SyntaxError: '(' was never closed"));
        assert!(said("E   ImportError: cannot import name 'vat' from 'shop'"));
    }

    fn seen(test: &TouchedTest, code: i32, cases: Vec<TestCase>) -> SeenRun {
        let introduced = BTreeSet::from(["reduced".to_owned()]);
        let known = KnownOfChange { introduced: &introduced, ..known(Tool::Pytest, true) };
        let (reason, failures, output) = (String::new(), Vec::new(), "E   ImportError: reduced".to_owned());
        seen_of(test, &EndOnContent { end: ActionEnd::Exited { code }, reason, cases, failures, output }, &known)
    }

    #[test]
    fn an_assertion_that_fails_in_source_or_in_a_fixture_is_none_of_the_test() {
        let known = |is_source| KnownOfChange { is_source, ..known(Tool::Pytest, true) };
        let (end, reason, output) = (ActionEnd::Exited { code: 1 }, String::new(), String::new());
        let run = EndOnContent { end, reason, cases: Vec::new(), failures: Vec::new(), output };
        let message = "assert 1 == 2\ntests/test_a.py:3: AssertionError";
        for (status, is_source, expected) in [
            (TestOutcome::Failed, &(|_: &RaisedAt| false) as &dyn Fn(&RaisedAt) -> bool, FailureClass::Assertion),
            (TestOutcome::Failed, &|_: &RaisedAt| true, FailureClass::OtherError),
            (TestOutcome::Error, &|_: &RaisedAt| false, FailureClass::OtherError),
        ] {
            let ended = end_of(&case("tests/test_a.py::test_y", status, message), &run, &known(is_source));
            assert!(matches!(ended, CaseEnd::Failed(class, _) if class == expected), "{status:?} {ended:?}");
        }
    }

    #[test]
    fn a_test_is_known_by_the_names_that_tools_give_it() {
        let python = test("back/tests/test_a.py", "TestX::test_y");
        for (name, expected) in [
            ("tests/test_a.py::TestX::test_y", true),
            ("back/tests/test_a.py::TestX::test_y[a::b/c]", true),
            ("tests.test_a.TestX::test_y", true),
            ("tests/test_a.py::TestX::test_yy", false),
            ("tests/test_b.py::TestX::test_y", false),
        ] {
            assert_eq!(is_case_of(&python, &case(name, TestOutcome::Passed, "")), expected, "{name}");
        }
    }

    #[test]
    fn tests_of_one_name_in_like_directories_are_told_apart() {
        let cases = ["tests/test_a.py::test_y", "back/tests/test_a.py::test_y"];
        for file in ["tests/test_a.py", "back/tests/test_a.py"] {
            let run = cases.map(|name| case(name, TestOutcome::Passed, "")).to_vec();
            let own = BTreeMap::from([(format!("{file}::test_y"), CaseEnd::Passed)]);
            assert_eq!(seen(&test(file, "test_y"), 0, run), SeenRun::Cases(own));
        }
    }

    #[test]
    fn a_file_that_cannot_be_collected_says_what_it_misses() {
        let python = test("tests/test_a.py", "test_y");
        let error = case("tests/test_a.py", TestOutcome::Error, "x\nE   ImportError: cannot import name 'reduced'");
        let message = "ImportError: cannot import name 'reduced'".to_owned();
        assert_eq!(seen(&python, 2, vec![error]), SeenRun::CannotBegin { names_change: true, message });
        let other = case("tests/test_a.py", TestOutcome::Error, "E   ImportError: cannot import name 'other'");
        assert!(matches!(seen(&python, 2, vec![other]), SeenRun::CannotBegin { names_change: false, .. }));
        let quoted = case("tests/test_a.py", TestOutcome::Error, "reduced\nE   ModuleNotFoundError: reduced has no 'six'");
        assert!(matches!(seen(&python, 2, vec![quoted]), SeenRun::CannotBegin { names_change: false, .. }));
        assert!(matches!(seen(&python, 4, Vec::new()), SeenRun::CannotBegin { names_change: true, .. }));
        assert_eq!(seen(&python, 5, Vec::new()), SeenRun::Cases(BTreeMap::new()), "pytest selected nothing");
    }

    /// What is not surely the test is none: the same name in another file or package, and a name that two tests have.
    #[test]
    fn a_test_of_another_runner_is_known_by_its_file_or_package_and_its_name() {
        let named = |tool, file: &str, name: &str, case: &TestCase, is_narrow| {
            place_of_case(&test(file, name), case, &known(tool, is_narrow)).is_some()
        };
        let script = |file: Option<&str>, above: &[&str], title: &str| TestCase {
            title: title.to_owned(),
            ancestor_titles: above.iter().map(|name| (*name).to_owned()).collect(),
            test_file: file.map(str::to_owned),
            ..case(title, TestOutcome::Passed, "")
        };
        let adds = script(Some("a.test.ts"), &["[chromium]", "quotes"], "adds 1");
        assert!(named(Tool::Jest, "a.test.ts", "quotes > adds %i", &adds, false));
        assert!(!named(Tool::Jest, "b.test.ts", "quotes > adds %i", &adds, true), "another file");
        assert!(!named(Tool::Jest, "a.test.ts", "adds 1", &adds, true), "another group");
        let node = script(None, &["quotes"], "adds");
        assert!(named(Tool::NodeTest, "a.mjs", "quotes", &node, true), "a part of the test");
        assert!(!named(Tool::NodeTest, "a.mjs", "quotes > adds", &node, false), "its file is not known");
        let other = |name| case(name, TestOutcome::Passed, "");
        assert!(named(Tool::CargoTest, "src/rates.rs", "tests::adds", &other("rates::tests::adds"), true));
        assert!(!named(Tool::CargoTest, "src/rates.rs", "tests::adds", &other("tests::adds"), true));
        assert!(named(Tool::GoTest, "pkg/a_test.go", "TestA", &other("example.com/shop/pkg TestA/b"), false));
        assert!(!named(Tool::GoTest, "pkg/a_test.go", "TestA", &other("example.com/shop/other TestA"), false));
        assert!(!named(Tool::GoTest, "pkg/a_test.go", "TestA", &other("example.com/shop/pkg TestAB"), true));
        let run = |cases| EndOnContent {
            end: ActionEnd::Exited { code: 0 },
            reason: String::new(),
            cases,
            failures: Vec::new(),
            output: String::new(),
        };
        let rust = test("tests/api.rs", "adds");
        let ended = |cases| seen_of(&rust, &run(cases), &known(Tool::CargoTest, true));
        assert!(matches!(ended(vec![other("adds")]), SeenRun::Cases(cases) if cases.len() == 1));
        for twice in [vec![other("adds"), other("adds")], vec![other("adds"), other("api::adds")], vec![other("more")]] {
            assert!(matches!(ended(twice), SeenRun::NotRun(_)));
        }
    }

    #[test]
    fn a_file_that_another_runner_cannot_load_says_what_it_misses() {
        let introduced = BTreeSet::from(["reduced".to_owned()]);
        let seen = |tool, file: &str, failure: Option<(&str, &str)>, output: &str| {
            let failures = failure.map(|(name, error)| TestFailure {
                test_name: name.to_owned(),
                test_file: Some(file.to_owned()),
                error: error.to_owned(),
                ..TestFailure::default()
            });
            let (end, failures) = (ActionEnd::Exited { code: 1 }, failures.into_iter().collect());
            let run = EndOnContent { end, reason: String::new(), cases: Vec::new(), failures, output: output.to_owned() };
            let known = KnownOfChange { introduced: &introduced, ..known(tool, true) };
            match seen_of(&test(file, "a"), &run, &known) {
                SeenRun::CannotBegin { names_change, .. } => Some(names_change),
                SeenRun::NotRun(_) | SeenRun::Cases(_) => None,
            }
        };
        let missing = "Cannot find module './reduced' from 'a.test.js'";
        assert_eq!(seen(Tool::Jest, "a.test.js", Some(("a.test.js", missing)), ""), Some(true));
        assert_eq!(seen(Tool::Jest, "a.test.js", Some(("a.test.js", "Cannot find module 'left-pad' from 'a'")), ""), Some(false));
        assert_eq!(seen(Tool::Jest, "a.test.js", None, missing), None, "the tool itself did not work");
        let unbuilt = "warning: unused `reduced`\nerror[E0425]: cannot find function `other`\nerror: could not compile `shop`";
        assert_eq!(seen(Tool::CargoTest, "src/lib.rs", None, unbuilt), Some(false));
        assert_eq!(seen(Tool::CargoTest, "src/lib.rs", None, &unbuilt.replace("other", "reduced")), Some(true));
        assert_eq!(
            seen(Tool::GoTest, "a_test.go", Some(("example.com/shop", "./a_test.go:9:7: undefined: reduced")), ""),
            Some(true)
        );
        let unbuilt = "# example.com/shop\n./a_test.go:9:7: undefined: reduced\nFAIL example.com/shop [build failed]";
        assert_eq!(seen(Tool::GoTest, "a_test.go", None, unbuilt), Some(true));
        assert_eq!(seen(Tool::GoTest, "a_test.go", Some(("example.com/shop TestB", "undefined: reduced")), ""), None);
    }
}
