//! Sample facts from which the tests of this folder build reports.

use proctor_model::FileChangeKind;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::report::{
    ActionDisposition, ActionFiles, ActionResult, CompletionFacts, ConfigurationChangeV2, ContentionV2, EnvironmentComponentV2,
    EnvironmentV2, ExecutedAction, ReusedAction, RouteFacts, RunFacts, SkipReason, TddV2, TestCountsChangeV2, TestCountsV2,
    TestsModifiedV2, TreeFacts,
};
use proctor_model::testing;
use proctor_model::{
    Action, ActionEnd, ActionId, ActionJudgement, ActionKind, ActionPhase, AgentAction, Blocking, CapturedOutput, CategoryCode,
    Classification, CommandLine, CompletionStatus, Coverage, CoverageTarget, DebtCategory, DebtGeneration, Diagnostic,
    DiagnosticSummary, DifferingFile, Digest, DurationMs, EndedAction, EntryKind, EvidenceFile, EvidenceKind, ExitCodeSource,
    FindingLevel, FurtherTestCounts, Interpretation, IsolationLevel, KilledBy, LimitKind, NextNode, OverallResult, OverallStatus,
    Phase, Plan, PlanNote, PlanOrigin, PolicyApplied, PolicySource, ProjectId, ProtectedChange, ReachedIsolation, ReachedLevel,
    ResultType, RouteDestination, RouteEntry, RouteKind, RunId, Severity, SpawnFailure, StopStage, StreamExcerpt, Survivor,
    TaskId, TaskStatus, TestCase, TestCounts, TestFailure, TestOutcome, TestResults, Timestamp, Tool, ToolClass, TreeComparison,
    TreeDifference, TreeDigest, TreeFile, TreeFormat, TreeIssue, TreeIssueKind, TreePath, Trigger, TriggerKind, Usage,
};
use proctor_model::{
    BlockOn, Diagnosis, Exchange, ExchangeOutcome, FileCheck, FileObservation, FileState, FileValidation, FoundFile, HttpRequest,
    IsolationFacts, Observation, PortObservation, SystemFault,
};

/// 2026-03-04T09:30:00.120Z in milliseconds since 1970. The other sample times are relative to this one.
pub const BASE: i64 = 1_772_616_600_120;

const NAMESPACE: ReachedLevel = ReachedLevel {
    level: IsolationLevel::Namespace,
    obstacles: Vec::new(),
    unenforced: Vec::new(),
    early: proctor_model::EarlyUse::NotTried,
};

pub fn at(offset: i64) -> Timestamp {
    Timestamp::from_millis(BASE + offset)
}

/// Returns an action of a tool, with the command that the sample project uses for it.
pub fn action(phase: ActionPhase, number: usize, tool: Tool) -> Action {
    const COMMANDS: [(Tool, &str, &str); 5] = [
        (Tool::Pytest, "pytest", ".venv/bin/python -m pytest"),
        (Tool::Tsc, "tsc", "./node_modules/.bin/tsc --noEmit -p web"),
        (Tool::Eslint, "eslint", "./node_modules/.bin/eslint web"),
        (Tool::Review, "review", "./reviewer"),
        (Tool::Generic, "node packages", "npm ci --no-audit --no-fund"),
    ];
    let row = COMMANDS.iter().find(|(of, ..)| *of == tool);
    let (name, display) = row.map_or((tool.word(), tool.word()), |(_, name, display)| (*name, *display));
    let argv = display.split(' ').map(str::to_owned).collect();
    Action {
        id: ActionId::numbered(phase.prefix(), number),
        name: name.to_owned(),
        description: format!("runs `{display}`"),
        command: CommandLine { argv, display: display.to_owned(), shell: false },
        environment: BTreeMap::from([("QUOTES_MODE".to_owned(), "strict".to_owned())]),
        timeout: Duration::from_secs(120),
        coverage: (tool.class() == ToolClass::Test)
            .then(|| CoverageTarget { minimum_basis_points: 8000, report: "coverage.json".to_owned() }),
        ..testing::action(tool, phase)
    }
}

pub fn stream(text: &str) -> StreamExcerpt {
    StreamExcerpt { total: text.len() as u64, head: text.as_bytes().to_vec(), tail: Vec::new() }
}

pub fn ended(end: ActionEnd, stdout: &str, stderr: &str) -> EndedAction {
    let log = [stdout, stderr].concat();
    EndedAction {
        end,
        started: at(100),
        ended: at(2200),
        duration: DurationMs(2100),
        captured: CapturedOutput {
            log_bytes: log.len() as u64,
            log_digest: Digest::of(log.as_bytes()),
            frames_bytes: 40,
            frames_digest: Digest::of(b"frames"),
            stdout: stream(stdout),
            stderr: stream(stderr),
            last_output: Some(at(2100)),
            pipes_left_open: false,
            log_tail: log.into_bytes(),
        },
        survivors: Vec::new(),
        usage: Some(Usage { user: DurationMs(1500), system: DurationMs(90), peak_memory_kib: 51_200 }),
        kept: Some(ReachedIsolation { reached: NAMESPACE, killed_by: None }),
        used_git: false,
    }
}

fn executed(
    action: Action,
    ended: EndedAction,
    interpretation: Interpretation,
    category: ResultType,
    blocking: Blocking,
) -> ActionResult {
    let classification = Classification::plain(category, interpretation.category, interpretation.reason.clone());
    let looked = matches!(interpretation.category, CategoryCode::Findings | CategoryCode::Clean);
    let judgement = ActionJudgement {
        diagnostics: interpretation.diagnostics.clone(),
        summary: looked.then(|| DiagnosticSummary::of(&interpretation.diagnostics)),
        classification,
        blocking,
        debt: DebtGeneration::none("nothing is wrong"),
        agent_action: AgentAction { required: false, action: "CONTINUE".to_owned(), message: "go on".to_owned() },
    };
    let executed = ExecutedAction::new(ended, interpretation, judgement);
    ActionResult::new(action, ActionDisposition::Executed(Box::new(executed)))
}

pub fn edit(facts: &mut ActionResult, change: impl FnOnce(&mut ExecutedAction)) {
    match &mut facts.disposition {
        ActionDisposition::Executed(executed) => change(executed),
        ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => {
            panic!("only an action that was carried out can be edited")
        }
    }
}

/// A pytest check with one failure among three tests.
pub fn failed_tests() -> ActionResult {
    let failure = TestFailure {
        test_name: "tests/test_quote.py::test_the_last_day_counts[day2-True]".to_owned(),
        report_name: Some("tests.test_quote::test_the_last_day_counts[day2-True]".to_owned()),
        test_file: Some("tests/test_quote.py".to_owned()),
        error: "assert False is True".to_owned(),
        stack: Some("quote = Quote(...)\n\ntests/test_quote.py:46: AssertionError".to_owned()),
        line: Some(46),
        ..TestFailure::default()
    };
    let case = |title: &str, status, messages: &[&str]| TestCase {
        title: title.to_owned(),
        ancestor_titles: vec!["tests.test_quote".to_owned()],
        full_name: format!("tests/test_quote.py::{title}"),
        report_name: Some(format!("tests.test_quote::{title}")),
        test_file: None,
        status,
        expected_to_fail: false,
        duration_us: Some(3000),
        failure_messages: messages.iter().map(|message| (*message).to_owned()).collect(),
        body: None,
    };
    let interpretation = Interpretation {
        test_results: Some(TestResults {
            counts: TestCounts { passed: 1, failed: 1, skipped: 1 },
            further: FurtherTestCounts { expected_failures: 1, deselected: 4, ..FurtherTestCounts::default() },
            total: 3,
            failures: vec![failure],
        }),
        cases: vec![
            case("test_totals_of_two_lines", TestOutcome::Passed, &[]),
            case("test_the_last_day_counts[day2-True]", TestOutcome::Failed, &["assert False is True"]),
            case("test_on_another_platform", TestOutcome::Skipped, &[]),
        ],
        coverage: Some(Coverage { percent: 91.5, required: 80.0 }),
        warnings: vec!["pytest reports 2 warnings".to_owned()],
        report_channel: Some("argument"),
        ..Interpretation::plain(CategoryCode::TestsFailed, "1 of 3 tests failed")
    };
    let stdout = "\u{1b}[31mFAILED\u{1b}[0m tests/test_quote.py::test_the_last_day_counts[day2-True]\n";
    let ended = ended(ActionEnd::Exited { code: 1 }, stdout, "");
    let mut facts =
        executed(action(ActionPhase::Step, 1, Tool::Pytest), ended, interpretation, ResultType::TestFailure, Blocking::Blocks);
    edit(&mut facts, |executed| {
        let classification = &mut executed.judgement.classification;
        classification.tool_succeeded = Some(true);
        classification.tests_ran = Some(true);
        classification.is_expected_failure = Some(false);
        classification.is_tdd_red_phase = Some(false);
        executed.judgement.debt = DebtGeneration {
            should_generate: true,
            category: Some(DebtCategory::BusinessLogicError),
            severity: Some(Severity::High),
            title: Some("1 of 3 tests fails".to_owned()),
            specific_file: Some("tests/test_quote.py".to_owned()),
            specific_line: Some(46),
            ..DebtGeneration::none("a test failed that was not expected to")
        };
        executed.judgement.agent_action =
            AgentAction { required: true, action: "IMPLEMENT_FIX".to_owned(), message: "make the test pass".to_owned() };
        executed.ended.survivors =
            vec![Survivor { pid: 4321, argv: vec!["python".to_owned(), "-m".to_owned()], age: Some(DurationMs(1500)) }];
    });
    facts
}

/// An eslint check with one warning that the policy allows.
pub fn warned_lint() -> ActionResult {
    let warning = Diagnostic {
        file: Some("web/src/table.ts".to_owned()),
        line: Some(19),
        column: Some(31),
        rule_id: Some("no-console".to_owned()),
        severity: FindingLevel::Warning,
        message: "Unexpected console statement".to_owned(),
        fixable: Some(false),
        ..Diagnostic::default()
    };
    let interpretation =
        Interpretation { diagnostics: vec![warning], ..Interpretation::plain(CategoryCode::Findings, "1 eslint warning") };
    let mut facts = executed(
        action(ActionPhase::Step, 3, Tool::Eslint),
        ended(ActionEnd::Exited { code: 0 }, "web/src/table.ts\n", ""),
        interpretation,
        ResultType::ValidationFailure,
        Blocking::Allowed,
    );
    edit(&mut facts, |executed| {
        let classification = &mut executed.judgement.classification;
        classification.tool_succeeded = Some(true);
        classification.code_has_issues = Some(true);
        classification.issue_type = Some("LINT_WARNING".to_owned());
        classification.severity = Some(Severity::Medium);
        classification.fixable = Some(false);
        let source = PolicySource::Configured("proctor.toml:44".to_owned());
        classification.policy_applied = Some(PolicyApplied::of(BlockOn::ErrorsOnly, source, Blocking::Allowed, "1 warning"));
    });
    facts
}

/// A tsc check that was stopped by its time limit.
pub fn timed_out_types() -> ActionResult {
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: None, signal: Some(15) };
    let mut facts = executed(
        action(ActionPhase::Step, 2, Tool::Tsc),
        ended(end, "checking 4 files\n", ""),
        Interpretation::plain(CategoryCode::TimedOut, "it ran longer than 120 s"),
        ResultType::Timeout,
        Blocking::Blocks,
    );
    edit(&mut facts, |executed| {
        executed.judgement.classification.limit = Some(LimitKind::Wall);
        executed.judgement.classification.timeout_value = Some(DurationMs(120_000));
        executed.judgement.classification.actual_duration = Some(DurationMs(120_050));
        executed.ended.duration = DurationMs(120_050);
    });
    facts
}

/// A command of the given phase whose process exited with 0.
pub fn succeeded(phase: ActionPhase, number: usize) -> ActionResult {
    executed(
        action(phase, number, Tool::Generic),
        ended(ActionEnd::Exited { code: 0 }, "added 109 packages\n", ""),
        Interpretation::plain(CategoryCode::ExpectedExit, "it ended with 0"),
        ResultType::Success,
        Blocking::Allowed,
    )
}

/// A prerequisite whose program does not exist.
pub fn failed_prerequisite() -> ActionResult {
    let failure = SpawnFailure::ProgramNotFound { program: "npm".to_owned(), searched: vec!["/usr/bin".to_owned()] };
    let mut facts = executed(
        action(ActionPhase::Prerequisite, 1, Tool::Generic),
        ended(ActionEnd::NotStarted(failure), "", ""),
        Interpretation::plain(CategoryCode::ToolNotFound, "there is no program `npm`"),
        ResultType::PrerequisiteFailure,
        Blocking::Blocks,
    );
    edit(&mut facts, |executed| {
        executed.ended.usage = None;
        executed.ended.captured.last_output = None;
        let classification = &mut executed.judgement.classification;
        classification.tool_failed = Some(true);
        classification.error_type = Some("TOOL_NOT_FOUND".to_owned());
        classification.underlying = Some(ResultType::ExecutionError);
        classification.can_continue = Some(false);
        classification.possible_causes = vec!["node is not installed".to_owned()];
        classification.recoverable_action = Some("install node".to_owned());
    });
    facts
}

pub fn skipped(action: Action, reason: SkipReason) -> ActionResult {
    ActionResult::new(action, ActionDisposition::Skipped(reason))
}

/// Tests whose result is reused from an earlier run.
pub fn reused_tests() -> ActionResult {
    let executed = failed_tests();
    let action = executed.action.clone();
    let files: Vec<_> = files_of(std::slice::from_ref(&executed)).into_iter().filter(|file| file.action_id.is_some()).collect();
    let entry = crate::report::build_action::build_action(&executed, &[], &files.iter().collect::<Vec<_>>());
    let reused = ReusedAction {
        run_id: RunId::new(at(-1000), 41),
        other_tree: None,
        report_hash: Digest::of(b"report"),
        isolation_level: Some(IsolationLevel::Landlock),
        entry,
        judgement: executed.judgement().expect("it was carried out").clone(),
        files,
    };
    ActionResult::new(action, ActionDisposition::Reused(Box::new(reused)))
}

fn files_of(actions: &[ActionResult]) -> Vec<EvidenceFile> {
    let mut files = vec![EvidenceFile {
        name: "run.json".to_owned(),
        kind: EvidenceKind::ActionRecord,
        action_id: None,
        bytes: 3,
        sha256: Digest::of(b"run"),
    }];
    for facts in actions.iter().filter(|facts| matches!(facts.disposition, ActionDisposition::Executed(_))) {
        let named = ActionFiles::of(&facts.action);
        let all = [Some(named.log), Some(named.frames), Some(named.record), named.findings, named.tool_report];
        files.extend(all.into_iter().flatten().map(|file| EvidenceFile {
            sha256: Digest::of(file.name.as_bytes()),
            name: file.name,
            kind: file.kind,
            action_id: Some(facts.action.id.to_string()),
            bytes: 120,
        }));
    }
    files
}

/// A FAILED run of a plan with these actions.
pub fn run_of(actions: Vec<ActionResult>) -> RunFacts {
    let of = |phase| actions.iter().filter(|facts| facts.action.phase == phase).map(|facts| facts.action.clone()).collect();
    let tree = TreeDigest(Digest::of(b"tree"));
    RunFacts {
        run_id: RunId::new(at(0), 42),
        project_id: ProjectId::mint("quotes", 0x0a1b_2c3d),
        plan: Plan {
            prerequisites: of(ActionPhase::Prerequisite),
            steps: of(ActionPhase::Step),
            cleanup: of(ActionPhase::Cleanup),
            notes: vec![PlanNote { subject: "pytest".to_owned(), message: "its tool is named by the configuration".to_owned() }],
            ..Plan::empty(TaskId::default_task(), "quotes".to_owned(), PlanOrigin::Configured)
        },
        plan_digest: Digest::of(b"plan"),
        specification_file: Some("proctor.toml".to_owned()),
        evidence_files: files_of(&actions),
        actions,
        started: at(0),
        ended: at(6500),
        duration: DurationMs(6500),
        generated_at: at(6600),
        process_id: 4242,
        overall_status: OverallStatus::PartialSuccess,
        overall_result: Some(OverallResult::Failed),
        overall_reason: "2 of 3 checks block: pytest, tsc".to_owned(),
        completion: CompletionFacts {
            status: CompletionStatus::Incomplete,
            task_status: Some(TaskStatus::Failed),
            partial_reason: None,
            reason: "2 results block".to_owned(),
        },
        criteria: None,
        trigger: Trigger { kind: TriggerKind::Save, paths: vec!["quotes/quote.py".to_owned()] },
        tree: TreeFacts {
            format: TreeFormat::V2,
            before: tree,
            comparison: Some(TreeComparison { after: tree, moved: Vec::new(), files: 22 }),
            since_last_run: Some(TreeDifference {
                since: RunId::new(at(-1000), 41),
                count: 1,
                files: vec![DifferingFile {
                    path: "quotes/quote.py".to_owned(),
                    before: Some(TreeFile { kind: EntryKind::File, digest: Digest::of(b"before") }),
                    after: Some(TreeFile { kind: EntryKind::File, digest: Digest::of(b"after") }),
                }],
            }),
            issues: vec![TreeIssue {
                path: TreePath::try_from("web/socket").expect("a clean path"),
                kind: TreeIssueKind::Special,
            }],
            snapshot: None,
        },
        isolation: Some(IsolationFacts {
            kept: ReachedIsolation { reached: NAMESPACE, killed_by: Some(KilledBy::PidNamespace) },
            open_channels: vec!["the network".to_owned()],
        }),
        environment: EnvironmentV2 {
            digest: Digest::of(b"environment"),
            names: vec!["PATH".to_owned(), "HOME".to_owned()],
            variables: None,
            components: vec![EnvironmentComponentV2 { name: "requirements.txt".to_owned(), sha256: Digest::of(b"pytest") }],
        },
        configuration_changed: vec![ConfigurationChangeV2 {
            path: "pyproject.toml".to_owned(),
            change: FileChangeKind::Modified,
        }],
        rules_changed: vec!["tests: timeout".to_owned()],
        fewer_tests: None,
        tests_modified: Some(TestsModifiedV2 {
            modified: true,
            protect: vec!["tests/**".to_owned()],
            approved: Digest::of(b"approved"),
            now: Digest::of(b"now"),
            files: 3,
            changes: vec![ProtectedChange { path: "tests/test_quotes.py".to_owned(), change: FileChangeKind::Modified }],
            changed_count: 1,
            tests: Some(TestCountsChangeV2 {
                since: RunId::new(at(0), 41),
                before: TestCountsV2 { total: 12, skipped: 0, expected_failures: 0 },
                now: TestCountsV2 { total: 11, skipped: 1, expected_failures: 2 },
            }),
        }),
        route: Some(RouteFacts {
            entry: RouteEntry {
                phase: Phase::Green,
                exit_code: Some(1),
                exit_code_source: ExitCodeSource::Process,
                kind: RouteKind::Routed,
                destination: RouteDestination {
                    next_node: NextNode::N3,
                    reason: "Tests failed in Green phase".to_owned(),
                    requires_human: false,
                    retry_allowed: true,
                },
            },
            override_of: None,
        }),
        tdd: Some(TddV2 {
            started: false,
            phase: Phase::Green,
            phase_after: Phase::Green,
            attempts: 0,
            paused: None,
            notice: None,
        }),
        contended: vec![ContentionV2 { action_id: ActionId::numbered("STEP", 1), waited_ms: DurationMs(4200) }],
        lost_events: vec!["the kernel's queue overflowed".to_owned()],
        notes: Vec::new(),
    }
}

/// A run with a skipped and a successful prerequisite, a check that fails, a check that times out, a check with a
/// warning, and a clean-up.
pub fn mixed_run() -> RunFacts {
    run_of(vec![
        skipped(action(ActionPhase::Prerequisite, 1, Tool::Generic), SkipReason::Unchanged),
        succeeded(ActionPhase::Prerequisite, 2),
        failed_tests(),
        timed_out_types(),
        warned_lint(),
        succeeded(ActionPhase::Cleanup, 1),
    ])
}

/// A run whose checks could not run because of a failed prerequisite.
pub fn aborted_run() -> RunFacts {
    let step = |number, tool| skipped(action(ActionPhase::Step, number, tool), SkipReason::PrerequisiteFailed);
    let mut run =
        run_of(vec![failed_prerequisite(), step(1, Tool::Pytest), step(2, Tool::Tsc), succeeded(ActionPhase::Cleanup, 1)]);
    run.overall_status = OverallStatus::Failed;
    run.route = None;
    run.tdd = None;
    run
}

/// A file that was checked and exists.
pub fn seen_file() -> ActionResult {
    let validation = FileValidation { path: "src/quote.ts".to_owned(), check: FileCheck::Exists };
    let found = FoundFile { bytes: 2450, modified: at(-5000), sha256: None, content: None };
    let observed = Observation::File(FileObservation { path: validation.path.clone(), look: FileState::Found(found) });
    seen(1, ActionKind::FileValidation(validation), observed, 0, CategoryCode::FileValid)
}

/// A request whose connection was refused.
pub fn refused_request() -> ActionResult {
    let fault = SystemFault {
        code: "ECONNREFUSED".to_owned(),
        errno: Some(111),
        syscall: Some("connect".to_owned()),
        address: Some("127.0.0.1".to_owned()),
        port: Some(3000),
        message: "connect ECONNREFUSED 127.0.0.1:3000".to_owned(),
    };
    let diagnosis = Diagnosis {
        port: Some(PortObservation { port: 3000, holders: Vec::new() }),
        resolution: Some(Ok(vec!["127.0.0.1".to_owned()])),
        ..Diagnosis::default()
    };
    let outcome = ExchangeOutcome::Unanswered(fault);
    let exchange = Exchange { sent: at(100), duration: DurationMs(100), outcome, diagnosis: Some(diagnosis) };
    let request = HttpRequest::get("http://localhost:3000/api/health");
    seen(9, ActionKind::HttpRequest(Box::new(request)), Observation::Exchange(Box::new(exchange)), 1, CategoryCode::NoAnswer)
}

fn seen(number: usize, kind: ActionKind, observed: Observation, code: i32, category: CategoryCode) -> ActionResult {
    let mut facts = failed_tests();
    facts.action = Action { kind, ..action(ActionPhase::Step, number, Tool::Generic) };
    if let ActionDisposition::Executed(executed) = &mut facts.disposition {
        executed.ended = ended(ActionEnd::Exited { code }, "", "");
        executed.interpretation = Interpretation::plain(category, "seen");
        executed.observed = observed;
    }
    facts
}
