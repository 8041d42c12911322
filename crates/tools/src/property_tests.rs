//! Tests two properties with random input: no interpreter panics, and no run is a success without proof.

use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::sample::select;

use crate::samples::{Returned, stream};
use proctor_model::{CategoryCode, Tool, ToolClass, ToolReport};

/// Parts of real outputs. Random combinations of them reach more branches of the readers than random bytes.
const PIECES: &[&str] = &[
    "<testsuites>",
    "<testsuite tests=\"1\">",
    "<testsuite tests=\"0\">",
    "<testcase classname=\"a\" name=\"b\"/>",
    "<testcase classname=\"a\" name=\"c\">",
    "<testcase time=\"1\"/>",
    "<failure message=\"m\">x.py:1: E</failure>",
    "<error message=\"collection failure\">E   ModuleNotFoundError: No module named 'a'</error>",
    "<skipped/>",
    "</testcase>",
    "</testsuite>",
    "</testsuites>",
    "a.ts(1,2): error TS1: m\n",
    "a.ts:1:2 - error TS1: m\n",
    "error TS5023: m\n",
    "  b.ts:1:1\n",
    "    ~~~\n",
    "Found 1 error in a.ts:1\n",
    "\n/project/a.js\n",
    "  1:2  error  m  rule\n",
    "  1:2  warning  m\n",
    "✖ 1 problem (1 error, 0 warnings)\n",
    "[{\"filePath\":\"/project/a.js\",\"messages\":[]}]",
    "[{\"filePath\":",
    "[]",
    "a.py:1:2: error: m  [code]\n",
    "a.py:1: note: m\n",
    "a.py:1:2: F401 [*] m\n",
    "a.py:1:2: E0602: m (symbol)\n",
    "F401 [*] m\n --> a.py:1:2\n",
    "error[E0308]: m\n  --> src/main.rs:2:5\n",
    "a.c:1:2: warning: m [-Wx]\n",
    "Found 2 errors in 1 file (checked 1 source file)\n",
    "[warn] a.js\n",
    "[error] a.js: SyntaxError: m (1:7)\n",
    "[error] No files matching the pattern were found: \"x\".\n",
    "[{\"code\":\"F401\",\"filename\":\"a.py\",\"message\":\"m\",\"location\":{\"row\":1,\"column\":2}}]",
    "{\"numTotalTests\":1,\"numFailedTests\":0,\"success\":true,\"testResults\":[",
    "{\"numTotalTests\":0,\"numFailedTests\":0,\"success\":true,\"testResults\":[]}",
    "{\"name\":\"/project/a.js\",\"status\":\"passed\",\"assertionResults\":[{\"ancestorTitles\":[],\"title\":\"t\",\"status\":\"passed\"}]}",
    "]}",
    "No tests found, exiting with code 1\n",
    "Jest: Coverage for lines (1%) does not meet \"global\" threshold (9%)\n",
    "1 passed, 2 warnings in 0.1s\n",
    "FAIL Required test coverage of 9% not reached. Total coverage: 1%\n",
    "TAP version 13\n",
    "ok 1 - a\n",
    "not ok 2 - b\n",
    "1..1\n",
    "# pass 1\n# fail 0\n",
    "running 1 test\n",
    "test a ... ok\n",
    "test a ... FAILED\n",
    "failures:\n",
    "---- a stdout ----\n",
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
    "        PASS [   0.004s] (1/1) shop a\n",
    "        FAIL [   0.004s] (1/1) shop b\n",
    " Nextest run ID 1 with nextest profile: default\n",
    "     Summary [   0.006s] 1 test run: 1 passed, 5 skipped\n",
    "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n",
    "{\"Action\":\"pass\",\"Package\":\"p\"}\n",
    "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T/a\"}\n",
    "error: could not compile `a`\n",
    "\u{1b}[31m",
    "\n",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        proptest::collection::vec(select(PIECES), 0..10).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

fn report() -> impl Strategy<Value = ToolReport> {
    prop_oneof![
        Just(ToolReport::NotRequested),
        Just(ToolReport::Missing),
        Just(ToolReport::Refused("it is a link".to_owned())),
        text().prop_map(ToolReport::Fresh),
    ]
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(needle)
}

proptest! {
    #[test]
    fn no_input_is_too_strange_and_none_is_a_success_without_its_proof(
        tool in select(&Tool::ALL[..]),
        code in prop_oneof![Just(0), Just(1), Just(2), any::<i32>()],
        stdout in text(),
        stderr in text(),
        report in report(),
        cut in any::<bool>(),
        channel in select(vec![None, Some("argument"), Some("inherited"), Some("own")]),
    ) {
        let mut returned = Returned::exited(tool, "run", code);
        returned.stdout = stream(&stdout);
        returned.stdout.total += u64::from(cut);
        returned.stderr = stream(&stderr);
        returned.report = report.clone();
        returned.channel = channel;
        let interpretation = returned.interpret();
        let category = interpretation.category;
        if category == CategoryCode::TestsPassed {
            // Some runners prove their success by what they print, others by their report.
            let is_printed = tool.evidence_names().tool_report.is_none() || report == ToolReport::NotRequested;
            let says = |words: &str| !cut && (holds(&stdout, words) || holds(&stderr, words));
            let has_printed = is_printed && (says("1 passed") || says("\"Action\":\"pass\"") || says("ok 1") || says(" pass 1"));
            let words = if tool == Tool::Pytest { "<testcase classname" } else { "\"status\":\"passed\"" };
            let words = if tool == Tool::NodeTest { "ok 1" } else { words };
            let has_test = has_printed || matches!(&report, ToolReport::Fresh(bytes) if holds(bytes, words));
            prop_assert!(tool.class() == ToolClass::Test && code == 0 && has_test);
            let counts = interpretation.test_results.expect("a report was read").counts;
            prop_assert!(counts.passed > 0 && counts.failed == 0);
        }
        // The exit code decides about a compilation. Output that was not read could only add warnings.
        prop_assert!(category != CategoryCode::Clean || (code == 0 && (!cut || tool == Tool::Compile)));
        prop_assert!(category != CategoryCode::Findings || tool.class() == ToolClass::Validation);
        // A checker whose output does not say how much it examined is `done`, as a plain command is.
        let may_be_done = tool == Tool::Generic || tool.class() == ToolClass::Validation;
        prop_assert!(category != CategoryCode::ExpectedExit || (may_be_done && code == 0));
        prop_assert!(!interpretation.reason.is_empty());
    }
}
