//! Tests of what a command is told for one part, of refusals, and of joined results.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;
use crate::project_files::fake::FakeFiles;
use crate::samples::{Returned, action};
use proctor_model::{CategoryCode, CoverageTarget, Interpretation, ToolReport};

fn refusal(tool: Tool, command: &str, files: &[(&str, &str)]) -> String {
    shard_obstacle(&action(tool, command), &FakeFiles::of(files)).map_or_else(String::new, |obstacle| obstacle.message)
}

#[test]
fn a_command_is_refused_whose_parts_would_not_mean_what_the_whole_means() {
    for (tool, command, files, part) in [
        (Tool::Pytest, "python -m pytest -q", &[][..], ""),
        (Tool::Pytest, "pytest --cov=shop", &[("pyproject.toml", "[tool.coverage.report]\n# fail_under = 90\n")], ""),
        (Tool::Pytest, "pytest", &[("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\n")], ""),
        (Tool::Pytest, "pytest --cov", &[("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\n")], "fail_under"),
        (Tool::Pytest, "pytest --cov-fail-under=90", &[], "--cov-fail-under"),
        (Tool::Pytest, "pytest", &[("pytest.ini", "[pytest]\naddopts = --cov-fail-under=90\n")], "--cov-fail-under"),
        (Tool::Pytest, "pytest --lf", &[], "last run"),
        (Tool::Pytest, "make test", &[], "hides"),
        (Tool::Pytest, "python -I -m pytest", &[], "`-I` makes Python ignore PYTHONPATH"),
        (Tool::Jest, "npx jest", &[], ""),
        (Tool::Jest, "npx jest --shard=1/2", &[], "`--shard=1/2` leaves out tests by itself"),
        (Tool::Jest, "npx jest", &[("package.json", r#"{"jest": {"testSequencer": "./s.js"}}"#)], "orders the test files"),
        (Tool::Jest, "npx jest --coverage", &[("jest.config.js", "coverageThreshold: {}")], "threshold"),
        (Tool::Jest, "npx jest", &[("jest.config.js", "coverageThreshold: {}")], ""),
        (Tool::Jest, "npx jest --config a.js", &[("a.js", "collectCoverage: true, coverageThreshold: {}")], "threshold"),
        (Tool::Vitest, "npx vitest run", &[], ""),
        (Tool::Vitest, "npx vitest run --coverage", &[("vite.config.ts", "thresholds: { lines: 90 }")], "threshold"),
        (Tool::GoTest, "go test ./...", &[], ""),
        (Tool::GoTest, "go test -exec wine ./...", &[], "names a program that runs the tests"),
        (Tool::CargoTest, "cargo nextest run", &[], ""),
        (Tool::CargoTest, "cargo test", &[], "cannot divide"),
        (Tool::CargoTest, "cargo nextest run --partition hash:1/2", &[], "`--partition` leaves out"),
        (Tool::CargoTest, "cargo nextest run", &[(".cargo/config.toml", "runner = 'qemu'")], "a runner of its own"),
        (Tool::Playwright, "npx playwright test", &[], ""),
        (Tool::Playwright, "npx playwright test", &[("playwright.config.ts", "dependencies: ['setup']")], "run in each shard"),
        (
            Tool::Playwright,
            "npx playwright test -c e2e/pw.config.ts",
            &[("e2e/pw.config.ts", "dependencies: ['setup']")],
            "run in each shard",
        ),
        (Tool::BunTest, "bun test", &[], "cannot list in each shard"),
        (Tool::Eslint, "eslint .", &[], "cannot list in each shard"),
    ] {
        let said = refusal(tool, command, files);
        assert!(if part.is_empty() { said.is_empty() } else { said.contains(part) }, "{command}: {said}");
    }
    let covered = Action {
        coverage: Some(CoverageTarget { minimum_basis_points: 90, report: "c.json".to_owned() }),
        ..action(Tool::Pytest, "pytest")
    };
    assert!(shard_obstacle(&covered, &FakeFiles::default()).is_some_and(|obstacle| obstacle.message.contains("threshold")));
    let unable = shard_obstacle(&action(Tool::Mypy, "mypy ."), &FakeFiles::default()).expect("mypy has no tests");
    assert_eq!(unable.hint, "remove it; it is for pytest, jest, vitest, cargo-test, go-test, playwright");
}

#[test]
fn each_part_is_told_which_it_is_and_how_long_tests_took() {
    let shard = Shard { number: 2, of: 4 };
    let times = [("a.py::x".to_owned(), 7)];
    let prepared = prepare_shard(&action(Tool::Pytest, "pytest"), shard, Path::new("/out"), &times);
    assert_eq!(prepared.argv.join(" "), "pytest -p proctor_shard");
    assert_eq!(prepared.environment, [("PYTHONPATH".to_owned(), "/out".to_owned())]);
    assert_eq!(prepared.files[1], ("proctor-shard.json", r#"{"number":2,"of":4,"times":{"a.py::x":7}}"#.to_owned()));
}

#[test]
fn tools_that_hand_out_files_programs_or_packages_are_told_their_part_in_their_own_way() {
    let shard = Shard { number: 1, of: 2 };
    let prepared = |tool, command: &str, times: &[(&str, u64)]| {
        let times: Vec<(String, u64)> = times.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect();
        prepare_shard(&action(tool, command), shard, Path::new("/out"), &times)
    };
    let jest = prepared(Tool::Jest, "jest -- a", &[("src/a.test.js › adds", 3), ("src/a.test.js › x › y", 4)]);
    assert_eq!(jest.argv.join(" "), "jest --testSequencer=/out/proctor-shard.cjs -- a");
    assert_eq!(jest.files[1].1, r#"{"number":1,"of":2,"times":{"src/a.test.js":7}}"#);
    let vitest = prepared(Tool::Vitest, "vitest run", &[("a.test.ts > adds > 1", 3)]);
    assert_eq!(vitest.argv.join(" "), "vitest run --reporter=default --reporter=/out/proctor-shard.cjs");
    assert_eq!(vitest.files[1].1, r#"{"number":1,"of":2,"times":{"a.test.ts":3}}"#);
    let own = prepared(Tool::Vitest, "vitest run --reporter=dot", &[]);
    assert_eq!(own.argv.join(" "), "vitest run --reporter=dot --reporter=/out/proctor-shard.cjs");
    let nextest = prepared(Tool::CargoTest, "cargo nextest run", &[("shop a::b", 5), ("shop c", 9), ("shop d", 5)]);
    assert_eq!(nextest.files[1].1, "1 2\n1 shop c\n2 shop a::b\n2 shop d\n", "the longest first");
    assert!(
        nextest.environment.iter().all(|(name, value)| name.ends_with("_RUNNER") && value == "/bin/sh /out/proctor-shard.sh")
    );
    // On a server the directory is a relative one, and nextest starts programs in the directories of their packages.
    let there = prepare_shard(&action(Tool::CargoTest, "cargo nextest run"), shard, Path::new("../out"), &[]);
    assert!(there.environment.iter().all(|(_, value)| value == "../out/proctor-shard.sh") && there.files[0].1.starts_with("#!"));
    let go = prepared(Tool::GoTest, "go test ./...", &[("example.com/a TestX", 5), ("example.com/a TestY/z", 5)]);
    assert_eq!(go.files[1].1, "1 2\n1 example.com/a\n");
    assert!(go.argv[2] == "-count=1" && go.argv[3].starts_with("-exec=/bin/sh -c '") && go.argv[4] == "./...", "{:?}", go.argv);
    let playwright = prepared(Tool::Playwright, "playwright test", &[]);
    assert_eq!((playwright.argv.join(" ").as_str(), playwright.list), ("playwright test --shard=1/2", Some("collected.json")));
}

#[test]
fn a_list_of_files_or_packages_is_compared_with_what_the_report_has() {
    let of_files = |code, files: &[&str], list: &str| {
        let tests: String = files
            .iter()
            .map(|file| {
                format!(r#"{{"name":"/p/{file}","status":"passed","assertionResults":[{{"title":"t","ancestorTitles":[],"status":"passed"}}]}},"#)
            })
            .collect();
        let report = format!(
            r#"{{"success":true,"numTotalTests":{},"numFailedTests":0,"testResults":[{}]}}"#,
            files.len(),
            tests.trim_end_matches(',')
        );
        let interpretation =
            Returned { report: ToolReport::Fresh(report.into_bytes()), ..Returned::exited(Tool::Jest, "jest", code) };
        ShardOutcome { interpretation: interpretation.interpret(), list: ToolReport::Fresh(list.as_bytes().to_vec()) }
    };
    let first = || of_files(0, &["a.js"], r#"{"unit":"file","tests":["a.js","b.js [web]","b.js"],"own":[0]}"#);
    let second = |files: &[&str]| of_files(0, files, r#"{"unit":"file","tests":["a.js","b.js","b.js [web]"],"own":[1,2]}"#);
    let whole = joined(&[first(), second(&["b.js", "b.js"])]);
    assert_eq!(whole.category, CategoryCode::TestsPassed, "{}", whole.reason);
    let fewer = of_files(0, &["a.js"], r#"{"unit":"file","tests":["a.js","b.js","c.js"],"own":[0,2]}"#);
    let lost = joined(&[fewer, of_files(0, &["b.js"], r#"{"unit":"file","tests":["a.js","b.js","c.js"],"own":[1]}"#)]);
    assert!(
        lost.category == CategoryCode::ReportIncomplete && lost.reason.contains("was to run 2 file(s), and its report has 1")
    );
    let (x, y) = (&[("x", "")][..], &[("y", "")][..]);
    let lines = |tests, text: &str| ShardOutcome { list: ToolReport::Fresh(text.as_bytes().to_vec()), ..shard(0, tests, "|") };
    for (one, other, part) in [
        ("own package a\nother package b\n", "other package a\nown package b\n", ""),
        ("own test s a::x\nother test s y z\n", "own test s y z\nother test s a::x\n", ""),
        ("own package a\nother package b\n", "other package a\nother package b\n", "No shard ran `b`"),
        ("own package a\n", "other package a\nown package b\n", "Shard 2 of 2 collected `b`, and shard 1 did not"),
        ("own package a\nown package", "other package a\n", "cannot be read (`own package` is no line of it)"),
        ("own package a\nmine test x", "other package a\n", "cannot be read"),
    ] {
        let all = joined(&[lines(x, one), lines(y, other)]);
        let expected = if part.is_empty() { CategoryCode::TestsPassed } else { CategoryCode::ReportIncomplete };
        assert!(all.category == expected && all.reason.contains(part), "{part}: {:?} {}", all.category, all.reason);
    }
}

/// Returns the parts of tests, as `shard.py` divides them: for each test the number of its part.
#[expect(clippy::disallowed_methods, reason = "a test of what Python itself carries out")]
fn divided(calls: &[&str]) -> Vec<String> {
    let plugin = include_str!("../pytest/shard.py");
    // Dividing needs nothing of pytest, which is not installed everywhere.
    let stub = "import sys, types\nstub = types.ModuleType('pytest')\nstub.hookimpl = lambda **_: lambda function: function\nsys.modules['pytest'] = stub\n";
    let prints: String = calls.iter().map(|call| format!("print(*divide({call}).values())\n")).collect();
    let mut python = Command::new("python3")
        .args(["-c", "import sys; exec(sys.stdin.read(), {'__file__': '/x', '__name__': 'shard'})"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python is installed");
    let input = format!("{stub}{plugin}\n{prints}");
    python.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it is read");
    let output = python.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn tests_of_pytest_are_divided_longest_first_and_small_files_stay_whole() {
    let calls = [
        // One large file is divided evenly: 40 tests among 4 parts.
        "dict.fromkeys(f'a.py::t{i:02}' for i in range(40)), {}, 4",
        // The longest is alone, the others share the other part.
        "dict.fromkeys(['a.py::a', 'a.py::b', 'a.py::c']), {'a.py::a': 9, 'a.py::b': 4, 'a.py::c': 4}, 2",
        // Small files stay whole beside a large one; what nobody has timed counts as usual.
        "dict.fromkeys([*(f'{f}.py::{t}' for f in 'abcdefgh' for t in 'xy')]), {}, 2",
        "{'a.py::a': 'group g', 'b.py::b': 'group g', 'c.py::c': None, 'd.py::d': 'file d.py', 'd.py::e': None}, {}, 2",
        "{}, {}, 3",
    ];
    let parts = divided(&calls);
    let count = |line: &str, part: &str| line.split(' ').filter(|number| *number == part).count();
    assert_eq!(["1", "2", "3", "4"].map(|part| count(&parts[0], part)), [10; 4]);
    assert_eq!(parts[1], "1 2 2");
    let pairs: Vec<&str> = parts[2].split(' ').collect();
    assert!(pairs.chunks(2).all(|pair| pair[0] == pair[1]) && count(&parts[2], "1") == 8, "{parts:?}");
    let grouped: Vec<&str> = parts[3].split(' ').collect();
    assert!(grouped[0] == grouped[1] && grouped[3] == grouped[4], "{parts:?}");
    assert_eq!(parts[4], "");
}

/// Returns a shard of pytest that ran tests, each reported with this mark in its element, and the list that it wrote.
fn shard(code: i32, tests: &[(&str, &str)], list: &str) -> ShardOutcome {
    let cases: String = tests
        .iter()
        .map(|(name, marks)| format!(r#"<testcase classname="a" name="{name}" time="0.1">{marks}</testcase>"#))
        .collect();
    let report = format!(r#"<testsuites><testsuite tests="{}">{cases}</testsuite></testsuites>"#, tests.len());
    ShardOutcome { interpretation: Returned::pytest(code, &report).interpret(), list: written(list) }
}

/// Returns a list with all tests and, behind a stroke, the positions of the shard's own: `a b|0`.
fn written(list: &str) -> ToolReport {
    let Some((all, own)) = list.split_once('|') else { return ToolReport::Missing };
    let own: Vec<usize> = own.split_whitespace().map(|number| number.parse().expect("a position")).collect();
    let tests: Vec<&str> = all.split_whitespace().collect();
    ToolReport::Fresh(serde_json::json!({ "tests": tests, "own": own }).to_string().into_bytes())
}

const FAILED: &str = r#"<failure message="boom">boom</failure>"#;
const SKIPPED: &str = r#"<skipped message="later"/>"#;

fn joined(shards: &[ShardOutcome]) -> Interpretation {
    join_shards(shards).0
}

#[test]
fn results_are_summed_as_if_one_process_had_run_all_tests() {
    let all = joined(&[
        shard(0, &[("x", ""), ("m", SKIPPED)], "x y z|0"),
        shard(0, &[("y", ""), ("z", SKIPPED), ("m", SKIPPED)], "z y x|1 0"),
    ]);
    let results = all.test_results.as_ref().expect("a sum");
    // `m` is a module that skips itself: it is no test, and every shard reports it.
    assert_eq!(
        (all.category, results.counts.passed, results.counts.skipped, results.total),
        (CategoryCode::TestsPassed, 2, 2, 4)
    );
    assert_eq!((all.reason.as_str(), all.shards, all.cases.len()), ("2 passed, 0 failed, 2 skipped, in 2 shards", Some(2), 4));
    let warned = |warnings: &[&str]| {
        let mut one = shard(0, &[("x", "")], "x|0");
        one.interpretation.warnings = warnings.iter().map(|warning| (*warning).to_owned()).collect();
        one
    };
    assert_eq!(joined(&[warned(&["2 warnings", "slow"]), warned(&["slow", "3 warnings"])]).warnings, ["5 warnings", "slow"]);
    let failed = joined(&[shard(0, &[("x", "")], "x y|0"), shard(1, &[("y", FAILED)], "x y|1")]);
    assert_eq!(
        (failed.category, failed.test_results.map(|results| results.failures.len())),
        (CategoryCode::TestsFailed, Some(1))
    );
    assert!(failed.reason.starts_with("1 of 2 tests failed: "), "{}", failed.reason);
    // A shard without a test of its own, or with skipped ones only, is no flaw.
    let empty = joined(&[shard(0, &[("x", "")], "x y|0"), shard(0, &[("y", SKIPPED)], "x y|1"), shard(5, &[], "x y|")]);
    assert_eq!(
        (empty.category, empty.reason.as_str()),
        (CategoryCode::TestsPassed, "1 passed, 0 failed, 1 skipped, in 3 shards")
    );
}

#[test]
fn a_success_needs_equal_lists_whose_tests_were_each_run_once() {
    let (x, y) = (&[("x", "")][..], &[("y", "")][..]);
    for (shards, part) in [
        ([shard(0, x, "x y|0"), shard(0, y, "x y|1")], ""),
        ([shard(0, x, "x y|0"), shard(0, y, "y x|0")], ""),
        ([shard(0, x, "x y|0"), shard(0, y, "x y z|1")], "Shard 2 of 2 collected `z`, and shard 1 did not"),
        ([shard(0, x, "x y z|0"), shard(0, y, "x y|1")], "Shard 1 of 2 collected `z`, and shard 2 did not"),
        ([shard(0, x, "x y z|0"), shard(0, y, "x y z|1")], "No shard ran `z`"),
        ([shard(0, x, "x y|0"), shard(0, &[("y", ""), ("x", "")], "x y|0 1")], "Shard 2 of 2 ran `x`, which shard 1 ran too"),
        ([shard(0, x, "x y z|0 2"), shard(0, y, "x y z|1")], "Shard 1 of 2 was to run 2 test(s), and its report has 1"),
        ([shard(0, x, "x y|0"), shard(5, &[], "x y|1")], "Shard 2 of 2 was to run 1 test(s), and its report has 0"),
        ([shard(0, x, "x y|0"), shard(0, y, "none")], "Shard 2 of 2 wrote no list"),
        (
            [shard(0, x, "x y|0"), ShardOutcome { list: ToolReport::Fresh(b"{".to_vec()), ..shard(0, y, "x y|1") }],
            "Shard 2 of 2 wrote a list of tests that cannot be read",
        ),
    ] {
        let all = joined(&shards);
        let expected = if part.is_empty() { CategoryCode::TestsPassed } else { CategoryCode::ReportIncomplete };
        assert!(all.category == expected && all.reason.contains(part), "{part}: {:?} {}", all.category, all.reason);
    }
}

#[test]
fn a_shard_without_a_result_decides_and_failures_of_others_are_told() {
    let crashed = ShardOutcome {
        interpretation: Interpretation::plain(CategoryCode::Signalled, "SIGSEGV ended the command"),
        list: ToolReport::Missing,
    };
    let (all, decides) = join_shards(&[shard(1, &[("x", FAILED)], "x y|0"), crashed.clone(), shard(0, &[("y", "")], "x y|1")]);
    assert_eq!((all.category, decides), (CategoryCode::Signalled, 1));
    assert_eq!(all.reason, "Shard 2 of 3: SIGSEGV ended the command");
    assert!(all.warnings.len() == 1 && all.warnings[0].starts_with("Shard 1 of 3: 1 of 1 tests failed"), "{:?}", all.warnings);
    // A tool that names its part says the same for each.
    let of = |part: &str| ShardOutcome {
        interpretation: Interpretation::plain(CategoryCode::UsageError, format!("too few files for --shard={part}")),
        list: ToolReport::NotRequested,
    };
    let refused = join_shards(&[of("1/2"), of("2/2")]).0;
    assert_eq!((refused.reason.as_str(), refused.warnings.len()), ("too few files for --shard=1/2", 0));
    // What every shard says is said once.
    let same = joined(&[crashed.clone(), crashed.clone()]);
    assert_eq!((same.reason.as_str(), same.warnings.len()), ("SIGSEGV ended the command", 0));
    let stopped = ShardOutcome { interpretation: Interpretation::plain(CategoryCode::Stopped, "stopped"), ..crashed.clone() };
    assert_eq!(join_shards(&[crashed, stopped]).1, 1, "what proctor stopped did not fail by itself");
}

#[test]
fn nothing_collected_and_all_left_out_are_no_success() {
    let nothing = joined(&[shard(5, &[], "|"), shard(5, &[], "|")]);
    assert_eq!(nothing.category, CategoryCode::NoTestsCollected);
    // A module that skips itself is no test.
    let module = joined(&[shard(5, &[("m", SKIPPED)], "|"), shard(5, &[("m", SKIPPED)], "|")]);
    assert_eq!((module.category, module.test_results.map(|results| results.total)), (CategoryCode::NoTestsCollected, Some(1)));
    let skipped = joined(&[shard(0, &[("x", SKIPPED)], "x y|0"), shard(0, &[("y", SKIPPED)], "x y|1")]);
    assert_eq!(skipped.category, CategoryCode::NoTestsExecuted);
    assert!(skipped.reason.starts_with("No test passed: 2 skipped"), "{}", skipped.reason);
}

#[test]
fn what_other_shards_run_is_not_deselected_by_the_user() {
    let of = |tests: &[(&str, &str)], printed: &str, list: &str| {
        let mut one = shard(0, tests, list);
        let report =
            r#"<testsuites><testsuite tests="1"><testcase classname="a" name="NAME" time="0.1"/></testsuite></testsuites>"#;
        one.interpretation = Returned::pytest(0, &report.replace("NAME", tests[0].0)).saying(printed, "").interpret();
        one
    };
    // The user left out three tests. Each shard leaves out one more, which the other one runs.
    let all = joined(&[
        of(&[("x", "")], ".\n1 passed, 4 deselected in 0.01s\n", "x y|0"),
        of(&[("y", "")], ".\n1 passed, 4 deselected in 0.01s\n", "x y|1"),
    ]);
    assert_eq!(all.test_results.map(|results| results.further.deselected), Some(3));
}
