//! Every output of a tool has an interpretation, and no interpretation is a success without the proof that it requires (E3).

use std::path::Path;

use proctor_model::{
    Action, ActionEnd, CategoryCode, CoverageTarget, Interpretation, StreamExcerpt, Tool, ToolClass, ToolReport,
};
use proctor_plan::config::Configuration;
use proctor_plan::spec::plan_command;
use proctor_tools::{Input, interpret, prepare};

use super::project::Parts;

/// Checks that one input has an interpretation, and that a success has its proof. The input has the form of the
/// captured outputs under `fixtures/tools/`. Besides the lines `command` and `exit`, its head may have a line `cut N`:
/// then only the first N and the last N bytes of each stream were kept.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(tool: Option<Tool>, bytes: &[u8]) {
    let parts = Parts::of(bytes);
    let head = String::from_utf8_lossy(parts.head()).into_owned();
    let said = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let Some(action) = action(tool, said("command ").unwrap_or_default(), parts.get("coverage").is_some()) else { return };
    let code = said("exit ").and_then(|code| code.parse().ok()).unwrap_or(1);
    let cut = said("cut ").and_then(|bytes| bytes.parse().ok());
    let excerpt = |name: &str| excerpt(parts.get(name).unwrap_or_default(), cut);
    let report = |name: &str| parts.get(name).map_or(ToolReport::Missing, |bytes| ToolReport::Fresh(bytes.to_vec()));
    let (stdout, stderr) = (excerpt("stdout"), excerpt("stderr"));
    // tsc prints its findings only on standard output. Its standard error is not read, so it need not be complete.
    let is_complete = stdout.is_complete() && (stderr.is_complete() || action.tool == Tool::Tsc);
    let requested = action.tool.class() == ToolClass::Test;
    let given = Given { report: if requested { report("report") } else { ToolReport::NotRequested }, code, is_complete };
    let input = Input {
        action: &action,
        end: &ActionEnd::Exited { code },
        stdout: &stdout,
        stderr: &stderr,
        report: &given.report,
        coverage: &action.coverage.as_ref().map_or(ToolReport::NotRequested, |_| report("coverage")),
        report_channel: prepare(&action, Path::new("/out"), None).report.channel(),
        project_root: Path::new("/project"),
        report_file: Default::default(),
        last_output: None,
        names_in: |_| Vec::new(),
        source: |_, _| None,
        survivors: 0,
        processes: None,
        is_asked_behind: false,
    };
    let interpretation = interpret(&input);
    is_proved(&action, &given, &interpretation);
    is_bounded(&interpretation);
    adds_up(action.tool, &interpretation);
    assert_eq!(interpretation, interpret(&input), "equal inputs are equal interpretations");
}

/// The facts about the process that an interpretation is checked against: its report, its exit code, and whether its
/// whole output was kept.
struct Given {
    report: ToolReport,
    code: i32,
    is_complete: bool,
}

fn is_proved(action: &Action, given: &Given, interpretation: &Interpretation) {
    let (class, said) = (action.tool.class(), interpretation.category);
    if said == CategoryCode::TestsPassed {
        // Some runners prove their success by what they print, others by their report.
        let is_printed = action.tool.evidence_names().tool_report.is_none() && given.is_complete;
        let is_proved = is_printed || matches!(given.report, ToolReport::Fresh(_));
        assert!(class == ToolClass::Test && given.code == 0 && is_proved);
        let results = interpretation.test_results.as_ref().expect("tests were read");
        let counts = results.counts;
        assert!(counts.passed > 0 && counts.failed == 0, "{counts:?}");
        assert_eq!(results.total, counts.passed + counts.skipped, "no test is unaccounted for");
    }
    if said == CategoryCode::Clean && action.tool != Tool::Compile {
        assert!(given.code == 0 && given.is_complete, "{}", interpretation.reason);
        assert!(interpretation.diagnostics.is_empty(), "{:?}", interpretation.diagnostics);
    }
    // A compilation is judged by its exit code: the part of its output that was not kept could only add warnings.
    assert!(said != CategoryCode::Clean || given.code == 0, "{}", interpretation.reason);
    assert!(said != CategoryCode::Findings || class == ToolClass::Validation);
    // A checker whose output does not say how much it examined is `done`, as a plain command is.
    let may_be_done = action.tool == Tool::Generic || class == ToolClass::Validation;
    assert!(said != CategoryCode::ExpectedExit || (may_be_done && given.code == 0));
}

fn is_bounded(interpretation: &Interpretation) {
    let reason = &interpretation.reason;
    assert!(!reason.is_empty() && !reason.contains('\n'), "a reason is one line: {reason:?}");
    assert!(interpretation.diagnostics.len() <= 4000, "2000 of each level are kept");
}

fn adds_up(tool: Tool, interpretation: &Interpretation) {
    let Some(results) = &interpretation.test_results else { return };
    let counts = results.counts;
    let sum = counts.passed.checked_add(counts.failed).and_then(|sum| sum.checked_add(counts.skipped)).expect("counts are small");
    // pytest's total counts tests that were listed but not executed as well. A file that Jest cannot load counts as failed, though it is no test.
    assert!(tool != Tool::Pytest || sum <= results.total, "{counts:?} of {}", results.total);
    assert!(results.failures.len() as u64 <= sum.saturating_mul(2), "{counts:?}");
}

/// Returns the action for a command line. If a tool is given, the action is for that tool, whatever the command line says.
fn action(tool: Option<Tool>, command: &str, has_coverage: bool) -> Option<Action> {
    let argv: Vec<String> = command.split_ascii_whitespace().map(str::to_owned).collect();
    let argv = if argv.is_empty() { vec!["run".to_owned()] } else { argv };
    let plan = plan_command(&argv, &Configuration::default(), &Parts::of(b""), "sample").ok()?;
    let mut action = plan.steps.into_iter().next()?;
    if let Some(tool) = tool {
        action.tool = tool;
        action.class = tool.class();
    }
    if has_coverage {
        action.coverage = Some(CoverageTarget { minimum_basis_points: 9000, report: "coverage.json".to_owned() });
    }
    Some(action)
}

fn excerpt(bytes: &[u8], cut: Option<usize>) -> StreamExcerpt {
    let kept = cut.unwrap_or(StreamExcerpt::HEAD_CAP).min(bytes.len());
    let (head, rest) = bytes.split_at(kept);
    let tail = &rest[rest.len() - kept.min(rest.len())..];
    StreamExcerpt { total: bytes.len() as u64, head: head.to_vec(), tail: tail.to_vec() }
}
