//! Tests checks that run at the same time because proctor decides so (`parallel = "auto"`): which checks do so, what
//! they see of each other's writes, and that the report equals that of a run in which the checks run one after another.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::{ParallelChecks, StopReason};
use proctor_project::Progress;
use serde_json::{Value, json};

use crate::common::{Project, WRITES_TO_SHARED, children_of, poll, processes_of};
use crate::run::planned::{carry_out_and_tell, run_with_parallel};
use crate::run::side_by_side::{timeless, words};
use crate::run::{cleanup, exists, project, result};

const LATE: Duration = Duration::from_secs(60);

/// What mypy prints and what pytest writes if they find nothing wrong.
const SAYS: &str = "case $0 in *mypy) echo 'Success: no issues found in 1 source file'; exit 0;; esac
for word; do case $word in --junitxml=*) echo \"<testsuites><testsuite name='s' tests='1'>\
<testcase classname='c' name='n'/></testsuite></testsuites>\" > \"${word#--junitxml=}\"; echo '1 passed in 0.01s';; esac; done
";

/// Meets another check: if the two ran one after the other, the first would wait until its time-out.
const MEETS: &str = "touch ../shared/$1; until [ -e ../shared/$2 ]; do sleep 0.01; done\n";

/// Fails if another check runs this text at the same time.
const ALONE: &str = "mkdir ../shared/inside || exit 7; sleep 0.1; rmdir ../shared/inside\n";

/// Returns a project whose checks run on a snapshot, with programs that are taken for `mypy` and `pytest`.
fn with_tools(script: &str, checks: &str) -> Project {
    let toml = WRITES_TO_SHARED.to_owned() + "snapshot = \"require\"\n[queue]\nmax_parallel = 4\n" + checks;
    let script = format!("#!/bin/sh\n{script}{SAYS}");
    project(&toml).executable("bin/mypy", &script).executable("bin/pytest", &script)
}

/// Returns a check with one of the tools `mypy`, `pytest` and `generic`.
fn of_tool(name: &str, tool: &str, arguments: &[&str], more: &str) -> String {
    let program = if tool == "generic" { "sh".to_owned() } else { format!("bin/{tool}") };
    let words: Vec<&str> = std::iter::once(program.as_str()).chain(arguments.iter().copied()).collect();
    let command = serde_json::to_string(&words).expect("strings can be written");
    format!("[[check]]\nname = \"{name}\"\ntool = \"{tool}\"\ncommand = {command}\ntimeout = \"60s\"\ngrace = \"200ms\"\n{more}")
}

#[test]
fn validations_run_beside_one_test_and_the_screen_has_a_line_for_each() {
    let checks =
        of_tool("a", "mypy", &["a", "b"], "") + &of_tool("b", "pytest", &["b", "c"], "") + &of_tool("c", "mypy", &["c", "a"], "");
    let project = with_tools(MEETS, &checks);
    let output = project.proctor(["run"]).success();
    for line in ["✓ a  ", "✓ b  ", "✓ c  "] {
        assert_eq!(output.stdout.matches(line).count(), 1, "{}", output.stdout);
    }
    assert_eq!(words(&output.report()), vec![json!("SUCCESS"); 3]);
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn two_checks_that_are_no_validations_never_run_at_the_same_time() {
    let checks = of_tool("a", "pytest", &[], "")
        + &of_tool("b", "generic", &["bin/pytest"], "")
        + &of_tool("c", "pytest", &[], "")
        + &of_tool("d", "generic", &["bin/pytest"], "");
    let report = with_tools(ALONE, &checks).proctor(["run"]).success().report();
    assert_eq!(words(&report), vec![json!("SUCCESS"); 4]);
}

#[test]
fn a_check_sees_what_builders_before_it_and_checks_of_its_after_wrote_and_nothing_else() {
    let script =
        "for name in $1; do [ -e $name ] || exit 3; done\nfor name in $2; do [ ! -e $name ] || exit 4; done\necho > $3\n";
    let see = |sees: &str, not: &str, makes: &str| [sees, not, makes].map(str::to_owned);
    let of = |name: &str, tool: &str, [sees, not, makes]: [String; 3], more: &str| {
        let arguments: Vec<&str> = [sees.as_str(), &not, &makes].to_vec();
        let arguments: Vec<&str> =
            if tool == "generic" { std::iter::once("bin/pytest").chain(arguments).collect() } else { arguments };
        of_tool(name, tool, &arguments, more)
    };
    let checks = of("lint", "mypy", see("", "", "lint.out"), "")
        + &of("codegen", "generic", see("", "lint.out", "code.out"), "")
        + &of("types", "mypy", see("code.out", "lint.out test.out", "types.out"), "")
        + &of("tests", "pytest", see("code.out", "lint.out types.out", "test.out"), "")
        + &of("coverage", "generic", see("code.out test.out", "lint.out types.out", "cover.out"), "")
        + &of("after types", "mypy", see("code.out types.out", "lint.out test.out cover.out", "x.out"), "after = [\"types\"]\n")
        + &of("after lint", "mypy", see("lint.out", "code.out types.out test.out", "y.out"), "after = [\"lint\"]\n")
        + &cleanup("tidy", &[]);
    let everything = "lint.out code.out types.out test.out cover.out x.out y.out";
    let tidy = format!("[[cleanup]]\nname = \"tidy all\"\ncommand = [\"fake-tool\", \"--script\", \"ls {everything} \"]\n");
    let project = with_tools(script, &(checks + &tidy));
    for _ in 0..3 {
        let report = project.proctor(["run"]).success().report();
        assert_eq!(words(&report), vec![json!("SUCCESS"); 7], "{report:#}");
        let written = report["tree"]["snapshot"]["written"].as_array().expect("a list").clone();
        let written: Vec<_> = written.iter().filter_map(|one| one["path"].as_str()).collect();
        assert_eq!(written.join(" "), everything, "in the order of the report");
        assert_eq!(result(&report, "CLEANUP.2")["status"], "SUCCESS", "{report:#}");
    }
}

#[test]
fn one_by_one_and_in_the_project_a_check_sees_everything_before_it() {
    let script = "[ -z \"$1\" ] || [ -e ../shared/$1 ] || exit 3\nsleep 0.1\ntouch ../shared/$2\n";
    let checks =
        of_tool("a", "mypy", &["", "a"], "") + &of_tool("b", "pytest", &["a", "b"], "") + &of_tool("c", "mypy", &["b", "c"], "");
    for (from, to) in [("snapshot = \"require\"", "snapshot = \"off\""), ("max_parallel = 4", "max_parallel = 1")] {
        let project = with_tools(script, &checks);
        let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
        project.save("proctor.toml", &toml.replace(from, to));
        assert_eq!(words(&project.proctor(["run"]).success().report()), vec![json!("SUCCESS"); 3]);
    }
}

/// Returns a project whose checks end in many ways: successes, failures, a time-out, checks that need a failed one, a repeated
/// attempt, a missing program.
fn mixed() -> Project {
    let script = "sleep 0.$1; echo > $2; [ $3 -eq 0 ] || { echo 'a.py:1: error: wrong  [misc]'; exit $3; }\n";
    let flaky = "#!/bin/sh\n[ -e ../shared/tried ] || { touch ../shared/tried; exit 1; }\n";
    let checks = of_tool("slow green types", "mypy", &["3", "a.out", "0"], "")
        + &of_tool("red types", "mypy", &["1", "b.out", "1"], "")
        + &of_tool("tests", "pytest", &["1", "c.out", "0"], "")
        + &of_tool("needs red", "mypy", &["0", "d.out", "0"], "after = [\"red types\"]\n")
        + &of_tool("needs the skipped", "pytest", &["0", "e.out", "0"], "after = [\"needs red\"]\n")
        + "[[check]]\nname = \"never ends\"\ntool = \"mypy\"\ncommand = [\"bin/mypy\", \"9; sleep 60\", \"f.out\", \"0\"]\n"
        + "timeout = \"700ms\"\ngrace = \"100ms\"\n"
        + "[[check]]\nname = \"flaky\"\ncommand = [\"bin/flaky\"]\nretries = 2\n"
        + "[[check]]\nname = \"nowhere\"\ncommand = [\"bin/nowhere\"]\n"
        + &of_tool("last types", "mypy", &["0", "a.out", "0"], "")
        + &cleanup("end", &["--stdout", "end\n"]);
    with_tools(&script.replace("sleep 0.$1", "case $1 in *sleep*) exec sleep 60;; *) sleep 0.$1;; esac"), &checks)
        .executable("bin/flaky", flaky)
}

#[test]
fn a_report_does_not_show_whether_proctor_let_checks_run_at_the_same_time() {
    let carried = |parallel| {
        let project = mixed();
        let report = run_with_parallel(&project, parallel);
        let (plan, words) = (report["testSpecification"]["planDigest"].clone(), words(&report));
        (timeless(report, &project.root().display().to_string()), words, plan)
    };
    let (one_by_one, words, plan) = carried(ParallelChecks::Off);
    let (together, _, same_plan) = carried(ParallelChecks::Auto);
    let shown = ["SUCCESS", "VALIDATION_FAILURE", "SUCCESS", "dependency-failed", "dependency-failed", "TIMEOUT", "SUCCESS"];
    assert_eq!(words[..7], shown.map(Value::from));
    assert_eq!(one_by_one, together);
    assert!(plan.is_string() && plan == same_plan, "an approved plan stays approved");
}

#[test]
fn an_interrupt_stops_all_that_go_on_and_leaves_nothing() {
    let checks = of_tool("a", "mypy", &["a", "never"], "") + &of_tool("b", "pytest", &["b", "never"], "");
    let project = with_tools(MEETS, &(checks + &of_tool("c", "pytest", &["c", "never"], "")));
    let mut started = 0;
    let mut tell = |progress: &Progress, control: &proctor_sandbox::process::ControlHandle| {
        started += usize::from(matches!(progress, Progress::ActionStarted(_)));
        if started == 2 {
            started += 1;
            control.stop(StopReason::Interrupted);
        }
    };
    let report = carry_out_and_tell(&project, |_| {}, &mut tell);
    assert_eq!(report["executionSummary"]["overallStatus"], "INTERRUPTED", "{report:#}");
    let codes = [1, 2].map(|number| result(&report, &format!("STEP.{number}"))["classification"]["code"].clone());
    assert_eq!(codes, [json!("STOPPED"), json!("STOPPED")]);
    assert_eq!(words(&report)[2], "stopped");
    assert!(!exists(&project.shared("c").to_string_lossy()));
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn a_save_stops_all_that_go_on_and_the_next_run_has_a_verdict() {
    let script = "touch ../shared/$1; until [ -e go ]; do sleep 0.01; done\n";
    let project = with_tools(script, &(of_tool("a", "mypy", &["a"], "") + &of_tool("b", "pytest", &["b"], "")));
    let mut watch = project.proctor(["watch"]).watch();
    let have_begun = || if project.shared("a").exists() && project.shared("b").exists() { Ok(()) } else { Err("not both") };
    poll(LATE, "both checks", have_begun);
    project.save("go", "");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    watch.signal(Signal::SIGINT);
    watch.ended();
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn launchers_that_are_killed_while_two_checks_go_on_take_them_along() {
    let checks = of_tool("a", "mypy", &["a", "never"], "") + &of_tool("b", "pytest", &["b", "never"], "");
    let project = with_tools(MEETS, &checks);
    let run = project.proctor(["run"]).watch();
    let have_begun = || if project.shared("a").exists() && project.shared("b").exists() { Ok(()) } else { Err("not both") };
    poll(LATE, "both checks", have_begun);
    let launchers = children_of(run.id());
    assert!(launchers.len() >= 2, "{launchers:?}");
    launchers.iter().for_each(|id| kill(Pid::from_raw(*id), Signal::SIGKILL).expect("it is ours"));
    // The run is carried out once more by itself. Its checks find what they wait for.
    fs::write(project.shared("never"), "").expect("the directory is ours");
    let output = run.ended();
    assert_eq!(output.status, 0, "{}", output.snapshot());
    let statuses: Vec<Value> = project.store().committed_runs().iter().map(|run| run["overallStatus"].clone()).collect();
    assert_eq!(statuses, ["INTERRUPTED", "SUCCESS"]);
    poll(LATE, "the end of all", || if processes_of(project.root()).is_empty() { Ok(()) } else { Err("some live") });
}
