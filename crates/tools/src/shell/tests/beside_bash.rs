//! Compares proctor's judgement of generated scripts, whether each hides a failure, with real bash.
//!
//! In bash, the command `check` is a function that records its call and fails. If bash then ends with 0, the script hides a
//! failure, and proctor must have refused it. Scripts that keep to the short rule must not be refused, and bash must fail.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert, prop_oneof, proptest};
use proptest::test_runner::RngSeed;

use crate::shell::hidden_failure;
use crate::shell::tests::reads;
use proctor_model::quote_word;

/// A fixed seed of the random generator, so that every run tests the same scripts. If a test with another seed fails,
/// the failing script is added to the tables of `tests.rs`.
const SEED: RngSeed = RngSeed::Fixed(19);
/// The number of scripts that one bash process runs.
const AT_ONCE: usize = 40;

/// Reads scripts that end with NUL. Prints for each script its status and whether the deciding command ran.
const DRIVER: &str = r#"
while IFS= read -r -d '' script; do
    ran=$( { (
        check() { echo ran >&3; return 3; }
        eval "$script"
    ) >/dev/null 2>&1 </dev/null; echo "$?" >&3; } 3>&1 )
    echo $ran
done
"#;

fn script() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => Just("check".to_owned()),
        2 => Just("true".to_owned()),
        1 => Just(":".to_owned()),
        1 => Just("echo x".to_owned()),
        1 => Just("exit 0".to_owned()),
        1 => Just("exit 1".to_owned()),
        1 => Just("exit $rc".to_owned()),
        1 => Just("exit".to_owned()),
        1 => Just("rc=$?".to_owned()),
        1 => Just("rc=0".to_owned()),
        1 => Just("[ $? -eq 0 ]".to_owned()),
        1 => Just("set -e".to_owned()),
        1 => Just("set -o pipefail".to_owned()),
        1 => Just("trap 'exit 0' EXIT".to_owned()),
        1 => Just("trap 'echo x' EXIT".to_owned()),
    ];
    let parts = leaf.prop_recursive(4, 14, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            3 => two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            3 => two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            3 => two.clone().prop_map(|(a, b)| format!("{{ {a}; {b}; }}")),
            2 => two.clone().prop_map(|(a, b)| format!("{{ {a}; }} | {{ {b}; }}")),
            2 => inner.clone().prop_map(|a| format!("( {a} )")),
            1 => inner.clone().prop_map(|a| format!("! {{ {a}; }}")),
            1 => inner.clone().prop_map(|a| format!("eval {}", quote_word(&a))),
            1 => inner.clone().prop_map(|a| format!("rc=$( {a} )")),
            1 => inner.clone().prop_map(|a| format!("for i in a b; do {a}; done")),
            1 => inner.clone().prop_map(|a| format!("while {{ {a}; }}; do break; done")),
            1 => two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("if {a}; then {b}; else {c}; fi")),
            1 => two.prop_map(|(a, b)| format!("f() {{ {a}; }}; f; {b}")),
        ]
    });
    let lists = proptest::collection::vec(parts, 1..4);
    let begins = prop_oneof![Just("rc=1; "), Just("set -e; "), Just("set -eo pipefail; "), Just("cd .; ")];
    (begins, lists).prop_map(|(begin, parts)| format!("{begin}{}", parts.join("; ")))
}

/// Returns scripts that keep to the short rule and run `check`.
fn plain_script() -> impl Strategy<Value = String> {
    let before = prop_oneof![Just("true"), Just("echo x | cat"), Just("rc=1"), Just("cd ."), Just("ls")];
    let last =
        prop_oneof![Just("check"), Just("true && check"), Just("check | cat"), Just("ls && check && ls"), Just("check\nls")];
    (proptest::collection::vec(before, 0..4), last)
        .prop_map(|(before, last)| format!("set -e -o pipefail\n{}\n{last}", before.join("\n")))
}

/// Returns for each script whether it ends with 0 in bash, and whether the deciding command ran.
#[expect(clippy::disallowed_methods, reason = "a test beside the real shell")]
fn in_bash(scripts: &[String]) -> Vec<(bool, bool)> {
    let mut input = String::new();
    scripts.iter().for_each(|script| write!(input, "{script}\0").expect("memory takes everything"));
    let mut bash = std::process::Command::new("bash")
        .args(["-c", DRIVER])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("bash is there");
    let mut stdin = bash.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let mut output = String::new();
    bash.stdout.take().expect("it is piped").read_to_string(&mut output).expect("it is text");
    writer.join().expect("it does not panic").expect("bash reads");
    bash.wait().expect("it ends");
    let lines = output.lines().map(|line| (line.ends_with(" 0") || line == "0", line.starts_with("ran")));
    lines.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 7, max_shrink_iters: 200, rng_seed: SEED, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_bash_turns_into_success_is_found(scripts in proptest::collection::vec(script(), AT_ONCE)) {
        let ends = in_bash(&scripts);
        prop_assert!(ends.len() == scripts.len());
        for (script, (is_success, has_run)) in scripts.iter().zip(ends) {
            prop_assert!(!is_success || !has_run || hidden_failure(&reads(script)).is_some(), "missed: {}", script);
        }
    }

    #[test]
    fn a_script_that_keeps_to_the_rule_is_let_through_and_fails_in_bash(scripts in proptest::collection::vec(plain_script(), AT_ONCE)) {
        for (script, end) in scripts.iter().zip(in_bash(&scripts)) {
            prop_assert!(end == (false, true) && hidden_failure(&reads(script)).is_none(), "{}: {:?}", script, end);
        }
    }
}
