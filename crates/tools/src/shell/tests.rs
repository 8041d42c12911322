//! Tests which scripts hide a failure: by tables, and by comparison with real bash on generated scripts.

mod beside_bash;

use proptest::prelude::proptest;

use crate::shell::{
    Joint, ShellOptions, ShellScript, can_only_succeed, command_row, hidden_failure, hidden_failure_of_words, simple_commands,
};
use proctor_model::{is_assignment, split_words};

/// Scripts that can end with 0 after `check` failed, when a shell without options runs them.
const MASKINGS: &[&str] = &[
    "check || true",
    "check ||true",
    "check || :",
    "check || 'true'",
    "check || (exit 0)",
    "check || /usr/bin/true",
    "check || echo ok",
    "check || printf done",
    "check || { echo failed; }",
    "check || cat log",
    "check && true || true",
    "check || other",
    "check; true",
    "check; exit 0",
    "check\nexit 0",
    "check; echo done",
    "check; ls",
    "check; other",
    "check; sleep 1; exit",
    "(check; true)",
    "{ check; :; }",
    "check | tee log",
    "check |& cat",
    "set +o pipefail; check | cat",
    "! check",
    "if ! check; then echo x; fi",
    "if check; then echo ok; fi",
    "check && echo ok; true",
    "check &",
    "check & sleep 5",
    "check & wait",
    "trap 'exit 0' EXIT; check",
    "trap 'exit 0' EXIT\nset -e\ncheck",
    "set -e; trap 'exit 0' ERR; check",
    "stop() { exit 0; }; trap stop EXIT; check",
    "set -e; set +e; check; echo x",
    "while ! check; do break; done",
    "until check; do sleep 1; done",
    "for one in a b; do check $one; done",
    "for one in *; do check $one; done",
    "case $1 in a) check;; esac; true",
    "eval 'check; true'",
    "eval check '||' true",
    "exit $(check; echo 0)",
    "echo \"$(check)\"",
    "export OUT=$(check)",
    "echo `check`",
    "check; rc=$?; exit 0",
    "rc=0; check || rc=1; exit 0",
    "rc=0; check || rc=0; exit $rc",
    "check; [ $? -eq 5 ] && exit 0; exit 1",
    "run() { check; return 0; }; run",
    "run() { check || return 0; }; run",
    "sh -c 'check; true'",
    "env A=1 sh -c 'check || true'",
    "timeout 60 bash -c 'check || true'",
    "check || exec true",
    "cat <<E\n$(check)\nE",
    "false || (exit 0)",
    "false; say() { echo x; }; say",
    "false || /usr/bin/true",
    "grep -q good a.txt || echo bad",
    "test -f a.txt; true",
    "cat a.txt; exit 0",
];

/// Scripts that hand failures on, but not by the short rule: they are refused with the two ways out, because nothing follows them.
const NOT_FOLLOWED: &[&str] = &[
    "a || exit 1",
    "check || { echo failed; exit 1; }",
    "check || (echo failed; exit 1)",
    "check || (echo failed && false)",
    "check; echo rc=$?; exit 1",
    "check; rc=$?; echo $rc; exit $rc",
    "check; rc=$?; rm -rf out; exit \"${rc}\"",
    "rc=0; check || rc=1; other || rc=$?; exit $rc",
    "failed=0; for one in a b; do check $one || failed=$((failed+1)); done; exit $failed",
    "failed=; check || failed=yes; [ -z \"$failed\" ]",
    "check | tee log; exit ${PIPESTATUS[0]}",
    "mkdir -p out; rm -f out/*; check > out/log 2>&1",
    ". .venv/bin/activate; check",
    "pip install -r requirements.txt; check",
    "npm ci; npm test",
    "if check; then echo ok; else exit 1; fi",
    "if ! check; then echo failed; exit 1; fi",
    "if [ -f a ]; then check; fi",
    "if ! check; then false; fi",
    "command -v uv || pip install uv; check",
    "[ -f .env ] || cp .env.example .env",
    "test -d node_modules || npm ci; npm test",
    "trap 'rm -f log' EXIT; check",
    "trap \"rm -rf $TMP\" EXIT; check",
    "clean() { rm -f log; }; trap clean EXIT; check",
    "die() { echo \"$1\"; exit 1; }; check || die no",
    "run() { check \"$@\" || return 1; }; run a",
    "for one in a b; do check $one || exit 1; done",
    "for one in a; do check $one; done",
    "set -e; for one in *; do check $one; done",
    "while read -r one; do check $one || exit 1; done < list",
    "until curl -sf localhost:80; do sleep 1; done; check",
    "until curl -sf localhost:80; do sleep 1; done",
    "server & check",
    "server & sleep 1; curl -f localhost:80",
    "check & wait $!",
    "check & pid=$!; sleep 1; wait $pid",
    "cat a.txt | grep total",
    "cat a.txt b.txt >/dev/null; sleep 0.1",
    "test -z \"$(git status --porcelain)\"",
    "check -n $(nproc)",
    "check \"$(./arguments)\"",
    "out=$(check) && echo \"$out\"",
    "out=$(check)",
    "case $1 in a) check;; *) exit 1;; esac",
    "check; case $? in 0) ;; *) exit 1;; esac",
    "check; (( $? == 0 )) || exit 1",
    "check; if [ $? -ne 0 ]; then exit 1; fi",
    "check || false",
    "eval 'check'",
    "(cd web && check)",
    "{ check; } 2>&1",
    "cat <<E | check\n|| true\nE",
    "printf '%s\\n' a b | check",
    "[[ -n $CI ]] && echo ci; check",
    "test -e done || { touch done && rm -rf out; }",
    "true && false || grep -q x a",
    "run() { check; }; echo a; run",
    "set -e\n$TOOL +e\ncheck\nother",
    "set $OPTIONS\ncheck",
    "set -e\nexec true\ncheck",
    "set -e\nexit 0\ncheck",
    "set -e\ncheck && other\nlast",
    "set -e\nalias check=true\ncheck",
    "set -e\n. ./settings.sh\ncheck\nother",
    "set -e\n. x/bin/activate\ncheck\nother",
    "set -e\n. .venv/bin/activate\ncheck\nother",
    "set -e\ncommand source settings.sh\ncheck\necho done",
    "set -eo pipefail\n. ./settings.sh\ncheck | tee log",
    "set -o pipefail\n. ./settings.sh && check | tee log",
    "sh -c \"$SCRIPT\"",
];

/// Scripts in which every failure makes the script fail, when a shell without options runs them.
const INNOCENTS: &[&str] = &[
    "check",
    "check && other",
    "set -e\ncheck\nother\necho done",
    "set -e\n. ./settings.sh\ncheck",
    "set -e\n. ./settings.sh\nset -e\ncheck\nother",
    "set -e\n. .venv/bin/activate\nset -e\ncheck\nother",
    "set -e\n. .venv/bin/activate\ncheck",
    "set -e\ncheck\n. ./settings.sh && other",
    "set -euo pipefail\ncheck | tee log\necho done",
    "set -o errexit; check; printf done",
    "set -o pipefail; check | tee log",
    "cd x; check",
    "cd x && check",
    "echo start; check",
    "echo '|| true'; check",
    "true && check",
    "export CI=1; check",
    "A=1 check # || true",
    "echo x >> steps; cat a.txt",
    "exec check",
    "bash -c 'set -e; check; echo done'",
    "sh -ec 'check; echo done'",
    "set +e; check",
    "cat a.txt b.txt >/dev/null && sleep 0.1",
    ". .venv/bin/activate && check",
    "A=1; B=2; cd x; check && other",
    "[ -f a ] && check",
    "set -e\ncd x\ncheck\ntrue && other",
    "echo nothing is built; exit 1",
];

fn reads(script: &str) -> ShellScript<'_> {
    ShellScript { text: script, options: ShellOptions::default() }
}

fn part(script: &str) -> Option<String> {
    hidden_failure(&reads(script)).map(|hidden| hidden.part)
}

#[test]
fn a_script_that_hides_a_failure_is_found() {
    assert!(MASKINGS.len() >= 20);
    let missed: Vec<&&str> = MASKINGS.iter().chain(NOT_FOLLOWED).filter(|script| part(script).is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_script_that_hands_failures_on_is_left_alone() {
    assert!(INNOCENTS.len() >= 20);
    let found: Vec<_> = INNOCENTS.iter().filter_map(|script| Some((script, hidden_failure(&reads(script))?))).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_part_that_hides_the_failure_is_named_with_what_to_write_instead() {
    let said = |script: &str| {
        let hidden = hidden_failure(&reads(script)).unwrap_or_else(|| panic!("{script} hides a failure"));
        format!("`{}` {}\n  {}", hidden.part, hidden.why, hidden.instead)
    };
    let file = "is more than plain commands, so proctor cannot tell whether it hides a failure\n  write one command as a list of words, or move the text into a file that is run: the file's own exit status decides";
    for (script, expected) in [
        (
            "pytest || true",
            "`|| true` replaces the status of the command that failed\n  let the command's own exit status decide: write it alone as a list of words, or move the text into a file that is run",
        ),
        (
            "pytest; echo a; echo b",
            "`; echo a` ends with the status of the last command, whatever the ones before it did\n  join the commands by `&&`, or begin with `set -e` and give each command its own line",
        ),
        (
            "! grep -r debugger src",
            "`! grep -r debugger src` turns success into failure and failure into success\n  leave out the `!` and write `expected_exit_codes = [1]` (`\"expectedExitCodes\": [1]`), which are the codes that count as success",
        ),
        (
            "pytest &",
            "`pytest &` leaves the command running and reports success at once\n  leave out the `&`; a server is a service of its own, or move the text into a file that is run",
        ),
        ("pytest | tee log", "`| tee log` ends with the status of the last command of the pipe\n  begin with `set -o pipefail`"),
        (
            "set -o pipefail; pytest | tail -5",
            "`| tail` cuts the output short and may stop the command before its end\n  let the command's own exit status decide",
        ),
        (
            "echo $(pytest)",
            "`echo $(pytest)` uses the output of a command and drops its status\n  run the command on its own, as a list of words, or move the text into a file that is run",
        ),
        ("trap 'exit 0' EXIT; pytest", &format!("`trap 'exit 0' EXIT` {file}")),
        ("if pytest; then echo ok; fi", &format!("`if pytest; then echo ok; fi` {file}")),
        ("pytest 'a", &format!("`pytest 'a` {file}")),
        ("pytest; )", &format!("`)` {file}")),
    ] {
        assert_eq!(said(script), expected, "{script}");
    }
}

#[test]
fn what_the_shell_is_told_counts() {
    let is_hidden = |text: &str, errexit: bool, pipefail: bool| {
        hidden_failure(&ShellScript { text, options: ShellOptions { errexit, pipefail } }).is_some()
    };
    assert!(is_hidden("check | cat", false, false) && !is_hidden("check | cat", false, true));
    assert!(is_hidden("check; echo x", false, false) && !is_hidden("check; echo x", true, false));
    let hides = |line: &str| hidden_failure_of_words(&split_words(line).expect("words")).is_some();
    assert!(hides("/bin/sh -ec 'pytest || true'") && hides("env A=1 timeout -k 5 60 sh -c 'pytest; true'"));
    assert!(!hides("echo -c 'pytest || true'") && !hides("bash -o pipefail -c 'pytest | cat'"));
}

#[test]
fn a_script_without_a_way_to_fail_is_told_from_others() {
    for script in ["echo a && true", "A=1", "exit 0", "set -x\necho a"] {
        assert!(can_only_succeed(&reads(script)), "{script}");
    }
    for script in ["false || true; :", "check", "echo a; exit 1", "", "A=$(check)", "cd a", "echo a && check", "[ -n \"$A\" ]"] {
        assert!(!can_only_succeed(&reads(script)), "{script}");
    }
}

/// Returns each command as `word|word`, with the operator after it.
fn read(script: &str) -> Option<Vec<(String, Joint)>> {
    command_row(script).map(|commands| commands.into_iter().map(|one| (one.words.join("|"), one.joint)).collect())
}

#[test]
fn a_script_falls_apart_at_its_operators_and_nowhere_else() {
    use Joint::{And, Or, Pipe, Then};
    for (script, expected) in [
        ("cd web && npx tsc", vec![("cd|web", And), ("npx|tsc", Then)]),
        ("a;b\nc&d", vec![("a", Then), ("b", Then), ("c", Then), ("d", Then)]),
        ("a || b | c |& d", vec![("a", Or), ("b", Pipe), ("c", Pipe), ("d", Then)]),
        ("a &&\n\n  b \\\n  c", vec![("a", And), ("b|c", Then)]),
        ("A=1 a 2>&1 >'a log' <in &>> out b", vec![("A=1|a|b", Then)]),
        ("a 'b; c' \"d && \\\"e\\\"\" f\\ g", vec![("a|b; c|d && \"e\"|f g", Then)]),
        ("a $(b; (c d)) ${e:-f g} `h | i` \"$(j \")\")\"", vec![("a|$(b; (c d))|${e:-f g}|`h | i`|$(j \")\")", Then)]),
        ("a # b; c\nd#e", vec![("a", Then), ("d#e", Then)]),
        ("a '' <<< b", vec![("a|", Then)]),
        ("  ", vec![]),
    ] {
        let expected = expected.into_iter().map(|(words, joint)| (words.to_owned(), joint)).collect();
        assert_eq!(read(script), Some(expected), "{script}");
    }
}

#[test]
fn what_is_more_than_a_row_of_commands_is_not_taken_apart() {
    for script in [
        "(cd web; tsc)",
        "{ tsc; }",
        "if a; then tsc; fi",
        "for p in a b; do tsc -p $p; done",
        "f() { tsc; }; f",
        "a 'b",
        "a \"b",
        "a $(b",
        "a `b",
        "a $'b'",
        "cat <<E\na\nE",
        "diff <(a) b",
        "a >",
        "a > >b",
        "! a",
    ] {
        assert_eq!(read(script), None, "{script}");
    }
}

#[test]
fn a_script_falls_apart_at_operators_outside_quotes() {
    let commands =
        simple_commands("cd web && CI=1 npx tsc --noEmit 2>&1 | tee 'a;b' ; # pytest\nif ! eslint \"src & lib\"; then x; fi");
    let words: Vec<Vec<&str>> = commands.iter().map(|command| command.iter().map(String::as_str).collect()).collect();
    assert_eq!(
        words,
        [
            vec!["cd", "web"],
            vec!["npx", "tsc", "--noEmit"],
            vec!["tee", "a;b"],
            vec!["eslint", "src & lib"],
            vec!["x"],
            vec!["fi"]
        ]
    );
    assert_eq!(simple_commands("a \\\n  b"), [["a", "b"]]);
    assert_eq!(simple_commands("echo \"pytest"), [["echo", "pytest"]], "an open quote is not a crash");
}

#[test]
fn a_variable_has_a_name() {
    assert!(is_assignment("A_1=") && is_assignment("_a=b=c"));
    assert!(!is_assignment("1A=b") && !is_assignment("=b") && !is_assignment("--a=b") && !is_assignment("a"));
}

proptest! {
    #[test]
    fn no_script_is_too_strange(script in "[a\\\\'\"$(){}<>&|;#`!\\n ]{0,14}", text in ".*") {
        for text in [script, text] {
            let _ = (hidden_failure(&reads(&text)), can_only_succeed(&reads(&text)), read(&text), simple_commands(&text));
        }
    }
}
