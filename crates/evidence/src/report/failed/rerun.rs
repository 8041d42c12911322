//! Makes the command that runs one failed test alone. A person pastes the command, so none is made that would be a
//! guess.

use crate::report::ActionResultV2;
use crate::report::failed::rerun_options::kept_options;
use proctor_model::{CommandLine, OneTest, TestFailure, Tool, is_hidden_character, split_words};

/// The characters, in addition to letters and digits, that a shell leaves as they are.
const PLAIN: &str = "_./:=@%+,-";

/// Returns the command that runs a failed test alone; `None` if the check's command is no plain call of its test runner, if the
/// test's own name is not known, or if the command would have a hidden character or an argument that looks like an option.
pub fn rerun_command(result: &ActionResultV2, failure: &TestFailure) -> Option<String> {
    let (one_test, program) = program(&result.command)?;
    let directory = result.directory.as_deref().unwrap_or_default();
    let arguments = arguments(one_test, &program, directory, failure)?;
    // The command is pasted in the project's root.
    let change = if directory.is_empty() { String::new() } else { format!("cd {} && ", quoted(directory)) };
    let has_hidden = |text: &str| text.chars().any(is_hidden_character);
    if has_hidden(&program)
        || has_hidden(directory)
        || directory.starts_with('-')
        || arguments.iter().any(|argument| has_hidden(argument) || argument.starts_with('-') && !is_option(argument))
    {
        return None;
    }
    let quoted: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
    Some(format!("{change}{program} {}", quoted.join(" ")))
}

/// Returns how a check's command names one test, and its words without those that choose tests; `None` if it is no plain call of a test
/// runner, or an option is not known.
pub fn command_without_tests(command: &str) -> Option<(OneTest, Vec<String>)> {
    let (one_test, program) = program(command)?;
    Some((one_test, split_words(&program)?))
}

/// Returns the check's command for these tests and no others, by the names of runs' records; `None` where one command
/// cannot name them all.
pub fn command_of_tests(command: &str, directory: &str, tests: &[String]) -> Option<CommandLine> {
    let (one_test, program) = program(command)?;
    let mut words = split_words(&program)?;
    let first = words.len();
    for (place, test) in tests.iter().enumerate() {
        let failure = TestFailure { test_name: test.clone(), ..TestFailure::default() };
        let named = arguments(one_test, &program, directory, &failure)?;
        words.extend(match one_test {
            // The command takes several names of tests as arguments.
            OneTest::NodeId => named,
            OneTest::ExactName if place == 0 => named,
            OneTest::ExactName => named[named.len() - 1..].to_vec(),
            OneTest::RunPattern | OneTest::FileAndPattern { .. } | OneTest::NamePattern | OneTest::FileAndName { .. } => {
                [named].into_iter().find(|_| tests.len() == 1)?
            }
        });
    }
    let is_odd = |word: &String| word.starts_with('-') && !is_option(word) || word.chars().any(is_hidden_character);
    if words[first..].iter().any(is_odd) {
        return None;
    }
    Some(CommandLine { display: command_text(words.iter().map(String::as_str)), argv: words, shell: false })
}

/// Returns the arguments that name one failed test; `None` if its name is not known.
fn arguments(one_test: OneTest, program: &str, directory: &str, failure: &TestFailure) -> Option<Vec<String>> {
    Some(match one_test {
        OneTest::NodeId => vec![node_id(failure, directory)?],
        OneTest::FileAndPattern { .. } => {
            let file = failure.test_file.as_deref()?;
            let name = failure.stable_name();
            let by_name = ["-t".to_owned(), format!("^{}$", escaped_pattern(name))];
            let by_name = if *name == *file { Vec::new() } else { by_name.to_vec() };
            std::iter::once(from_directory(file, directory)).chain(by_name).collect()
        }
        OneTest::NamePattern => {
            let file = failure.test_file.as_deref()?;
            let name = failure.stable_name();
            // Node looks at the outermost test first: it skips a test whose name the pattern does not have, and with it all that is
            // in it. The name of a test may itself have ` > `.
            let pattern = match name.split_once(" > ") {
                Some((outermost, _)) => format!("^{}( > |$)", escaped_pattern(outermost)),
                None => format!("^{}$", escaped_pattern(name)),
            };
            let by_name = format!("--test-name-pattern={pattern}");
            let by_name = if *name == *file { None } else { Some(by_name) };
            by_name.into_iter().chain([from_directory(file, directory)]).collect()
        }
        OneTest::FileAndName { option, is_outermost } => {
            let file = failure.test_file.as_deref()?;
            // The browser of a project of Playwright stands in brackets. It is no part of the test's name.
            let names = failure.stable_name().split(" > ").filter(|name| !(name.starts_with('[') && name.ends_with(']')));
            if names.clone().any(is_hook_of_mocha) {
                return Some(vec![from_directory(file, directory)]);
            }
            let names: Vec<String> = names.map(escaped_pattern).collect();
            let pattern = match is_outermost {
                true => format!("/^{}$/", names.first()?.replace('/', r"\/")),
                false => format!("{}$", names.join(" ")),
            };
            [option.to_owned(), pattern, from_directory(file, directory)].to_vec()
        }
        OneTest::ExactName => {
            // nextest names the program of the test before the test.
            let is_nextest = program.split(' ').any(|word| word == "nextest");
            let name = if is_nextest { failure.test_name.rsplit(' ').next()? } else { &failure.test_name };
            ["--", "--exact", name].map(str::to_owned).to_vec()
        }
        OneTest::RunPattern => {
            let (package, name) = failure.test_name.split_once(' ')?;
            let parts: Vec<String> = name.split('/').map(|part| format!("^{}$", escaped_pattern(part))).collect();
            ["-run".to_owned(), parts.join("/"), package.to_owned()].to_vec()
        }
    })
}

/// Returns whether a name is that of a hook of mocha, such as `"before all" hook for "adds"`. No test has it, so a pattern of it runs nothing.
fn is_hook_of_mocha(name: &str) -> bool {
    [r#""before all" hook"#, r#""after all" hook"#, r#""before each" hook"#, r#""after each" hook"#]
        .iter()
        .any(|hook| name.starts_with(hook))
}

/// Returns whether an argument is one of the options that this file adds.
fn is_option(argument: &str) -> bool {
    ["-t", "-run", "--", "--exact", "--grep", "--test-name-pattern", "--filter"].contains(&argument)
        || argument.starts_with("--test-name-pattern=")
}

/// Returns how a command names one test, and the words of the command without those that choose tests; `None` if an option is not
/// known.
fn program(command: &str) -> Option<(OneTest, String)> {
    if command.chars().any(|character| "$`\\|&;<>~#\n".contains(character)) {
        return None;
    }
    // A quoted word, such as the value of `-k`, is one word.
    let words = split_words(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some((tool, end)) = called_by_several_words(&words) {
        return program_of_several_words(&words, tool, end);
    }
    let found = words.iter().enumerate().find_map(|(position, word)| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_named = |tool: &Tool| tool.word() == name || tool.beside_python().contains(&name);
        let tool = Tool::ALL.into_iter().filter(is_named).find(|tool| tool.one_test().is_some())?;
        Some((position, tool, tool.one_test()?))
    });
    let (position, tool, one_test) = found?;
    let subcommand = match one_test {
        OneTest::NodeId => None,
        OneTest::FileAndPattern { subcommand } => subcommand,
        OneTest::FileAndName { .. } | OneTest::NamePattern | OneTest::ExactName | OneTest::RunPattern => None,
    };
    // The word after `-c` is the script of a shell, or a program of Python.
    let is_script = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    if words[..position].iter().any(is_script) {
        return None;
    }
    let kept = kept_options(tool, &words[position + 1..])?;
    Some((one_test, command_text(words[..=position].iter().copied().chain(subcommand).chain(kept.iter().map(String::as_str)))))
}

/// Finds a tool that is called by several words, such as `cargo test`, and the end of these words.
fn called_by_several_words(words: &[&str]) -> Option<(Tool, usize)> {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let calls = |tool: Tool| tool.calls().iter().map(move |call| (tool, *call));
    Tool::ALL.into_iter().flat_map(calls).find_map(|(tool, call)| {
        let is_call = |window: &[&str]| name(window[0]) == call[0] && window[1..] == call[1..];
        let start = words.windows(call.len()).position(is_call)?;
        Some((tool, start + call.len()))
    })
}

/// Returns the same as [`program`] for a tool that is called by the words up to `end`.
fn program_of_several_words(words: &[&str], tool: Tool, end: usize) -> Option<(OneTest, String)> {
    let one_test = tool.one_test()?;
    match one_test {
        // The options of Cargo choose what is built, so a test may be missing without them.
        OneTest::ExactName if words.contains(&"--") => None,
        OneTest::ExactName => Some((one_test, command_text(words.iter().copied()))),
        OneTest::NodeId
        | OneTest::FileAndPattern { .. }
        | OneTest::FileAndName { .. }
        | OneTest::NamePattern
        | OneTest::RunPattern => {
            let kept = kept_options(tool, &words[end..])?;
            Some((one_test, command_text(words[..end].iter().copied().chain(kept.iter().map(String::as_str)))))
        }
    }
}

fn command_text<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns a path of the project relative to a directory of the project, if it lies in the directory.
fn from_directory(path: &str, directory: &str) -> String {
    let below = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
    below.unwrap_or(path).to_owned()
}

/// Returns a test's name as pytest's command line takes it in the check's directory: `tests/test_a.py::TestX::test_y[1]`.
fn node_id(failure: &TestFailure, directory: &str) -> Option<String> {
    if failure.report_name.is_some() {
        return Some(failure.test_name.clone());
    }
    // The report is older than the node ids in reports, or the node id was not found.
    let (class, name) = failure.test_name.split_once("::")?;
    if class.ends_with(".py") {
        return Some(failure.test_name.clone());
    }
    let file = failure.test_file.as_ref()?;
    let module = file.strip_suffix(".py")?.replace('/', ".");
    let ends = class.match_indices('.').map(|(dot, _)| dot).chain([class.len()]);
    // If several beginnings of the class name could be the module of the test's file, the longest one is taken.
    let is_module = |end: &usize| module == class[..*end] || module.ends_with(&format!(".{}", &class[..*end]));
    let end = ends.filter(is_module).max()?;
    let classes = class[end..].split('.').filter(|part| !part.is_empty());
    let file = from_directory(file, directory);
    let parts: Vec<&str> = std::iter::once(file.as_str()).chain(classes).chain([name]).collect();
    Some(parts.join("::"))
}

/// Returns a text as a regular expression of JavaScript that matches only the text.
fn escaped_pattern(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\^$.|?*+()[]{}".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Returns a text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = text.chars().all(|character| character.is_ascii_alphanumeric() || PLAIN.contains(character));
    if is_plain && !text.is_empty() { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(name: &str, file: &str) -> TestFailure {
        TestFailure { test_name: name.to_owned(), test_file: Some(file.to_owned()), ..TestFailure::default() }
    }

    #[test]
    fn the_names_of_pytest_are_what_its_command_line_takes() {
        for (name, file, expected) in [
            ("tests.test_a::test_x", "tests/test_a.py", Some("tests/test_a.py::test_x")),
            (
                "tests.test_a.TestX.TestIn::test_x[a::b]",
                "back/tests/test_a.py",
                Some("back/tests/test_a.py::TestX::TestIn::test_x[a::b]"),
            ),
            ("tests/test_a.py::test_x[1]", "tests/test_a.py", Some("tests/test_a.py::test_x[1]")),
            ("tests.test_a::test_x", "conftest.py", None),
            ("test_a", "test_a.py", None),
        ] {
            assert_eq!(node_id(&failure(name, file), "").as_deref(), expected, "{name}");
        }
        let in_back = node_id(&failure("tests.test_a::test_x", "back/tests/test_a.py"), "back");
        assert_eq!(in_back.as_deref(), Some("tests/test_a.py::test_x"));
        let found =
            TestFailure { report_name: Some("docs.a.rst::a.rst".to_owned()), ..failure("docs/a.rst::a.rst", "back/docs/a.rst") };
        assert_eq!(node_id(&found, "back").as_deref(), Some("docs/a.rst::a.rst"));
    }

    #[test]
    fn only_a_plain_call_of_a_test_runner_is_called_again() {
        for (command, expected) in [
            ("python -m pytest -q tests", Some("python -m pytest")),
            (".venv/bin/pytest", Some(".venv/bin/pytest")),
            ("npx vitest --run", Some("npx vitest run")),
            ("npx jest --ci", Some("npx jest --ci")),
            ("pytest --doctest-modules -o pythonpath=src -q src", Some("pytest --doctest-modules -o pythonpath=src")),
            ("pytest -c cfg/pytest.ini -p plug -m slow", Some("pytest -c cfg/pytest.ini -p plug -m slow")),
            ("pytest --option-of-the-project tests", None),
            ("vitest run --typecheck", Some("vitest run --typecheck")),
            ("jest --config 'a b.js'", Some("jest --config 'a b.js'")),
            ("node --test --import tsx test", Some("node --test --import tsx")),
            ("go test -tags integration ./...", Some("go test -tags integration")),
            ("python -m pytest -k 'not slow and (a or b)' 'tests/test_a.py::test_x[1]'", Some("python -m pytest")),
            ("'my env/bin/pytest' -q", Some("'my env/bin/pytest'")),
            ("cargo test 'a b'", Some("cargo test 'a b'")),
            ("bash -o pipefail -c pytest", None),
            ("pytest -k 'it", None),
            ("cd a && pytest", None),
            ("sh -c 'pytest'", None),
            ("npm test", None),
            ("node --test test", Some("node --test")),
            ("cargo test -p shop", Some("cargo test -p shop")),
            ("cargo test -- --nocapture", None),
            ("go test ./...", Some("go test")),
        ] {
            assert_eq!(program(command).map(|(_, program)| program).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn a_runner_that_is_called_by_several_words_gets_its_own_form_of_a_name() {
        let failed = |command: &str, name: &str| {
            let (one_test, program) = program(command).expect("a call");
            arguments(one_test, &program, "", &failure(name, "a.test.js"))
                .map(|arguments| format!("{program} {}", arguments.join(" ")))
        };
        for (command, name, expected) in [
            ("node --test", "quotes > refuses (7)", "node --test --test-name-pattern=^quotes( > |$) a.test.js"),
            ("node --test", "refuses (7)", r"node --test --test-name-pattern=^refuses \(7\)$ a.test.js"),
            ("node --test", "a.test.js", "node --test a.test.js"),
            ("npx mocha", "quotes > answers 200", "npx mocha --grep quotes answers 200$ a.test.js"),
            ("npx mocha", r#"quotes > "before all" hook for "adds""#, "npx mocha a.test.js"),
            ("npx playwright test", "[chromium] > quotes > adds", "npx playwright test --grep quotes adds$ a.test.js"),
            ("bun test --coverage", "quotes > adds", "bun test --test-name-pattern quotes adds$ a.test.js"),
            ("deno test -A tests", "quotes > adds", "deno test -A --filter /^quotes$/ a.test.js"),
            ("cargo test", "tests::adds", "cargo test -- --exact tests::adds"),
            ("cargo nextest run", "shop::api tests::adds", "cargo nextest run -- --exact tests::adds"),
            ("go test ./...", "example.com/shop TestA/b.c", r"go test -run ^TestA$/^b\.c$ example.com/shop"),
        ] {
            assert_eq!(failed(command, name).as_deref(), Some(expected.replace(r"\\", r"\")).as_deref());
        }
    }

    #[test]
    fn a_shell_reads_a_quoted_text_as_it_is() {
        for (text, expected) in
            [("tests/test_a.py::test_x", "tests/test_a.py::test_x"), ("a[1]", "'a[1]'"), ("it's $x", r"'it'\''s $x'")]
        {
            assert_eq!(quoted(text), expected);
        }
        assert_eq!(escaped_pattern("adds (1 + 2)"), r"adds \(1 \+ 2\)");
    }

    #[test]
    fn several_tests_are_run_by_one_command_where_the_tool_can_name_them() {
        let of = |command: &str, tests: &[&str]| {
            let tests: Vec<String> = tests.iter().map(|test| (*test).to_owned()).collect();
            command_of_tests(command, "", &tests).map(|command| command.display)
        };
        let expected = [
            (
                "python -m pytest -q tests",
                &["tests/test_a.py::test_a", "b.py::T::b[1 2]"][..],
                Some("python -m pytest tests/test_a.py::test_a 'b.py::T::b[1 2]'"),
            ),
            ("cargo test", &["a::adds", "b::sums"], Some("cargo test -- --exact a::adds b::sums")),
            ("go test ./...", &["shop TestA"], Some("go test -run '^TestA$' shop")),
            ("go test ./...", &["shop TestA", "shop TestB"], None),
            ("pytest", &["tests.test_a::test_a"], None),
            ("pytest", &["--co.py::test_a"], None),
            ("vitest run", &["a > b"], None),
            ("make test", &["a.py::b"], None),
        ];
        for (command, tests, wanted) in expected {
            assert_eq!(of(command, tests).as_deref(), wanted, "{command} {tests:?}");
        }
    }
}
