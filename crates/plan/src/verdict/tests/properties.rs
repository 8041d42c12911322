//! Properties that hold for the judgement of every action and every run, tested with random facts.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest};
use proptest::sample::select;

use crate::verdict::tests::{action, exited, findings, judge_in, plain, stopped, tests, timed_out};
use crate::verdict::{RunFlow, judge_invalid, judge_run};
use proctor_model::{
    ActionEnd, ActionJudgement, ActionPhase, BlockOn, Blocking, CategoryCode, Interpretation, OverallResult, Phase, PolicySource,
    ResultType, Tool, ToolPolicy,
};

const STRATEGIES: [BlockOn; 5] =
    [BlockOn::ErrorsAlways, BlockOn::ErrorsOnly, BlockOn::ErrorsAndWarnings, BlockOn::WarnOnly, BlockOn::Never];

fn policies() -> impl Strategy<Value = ToolPolicy> {
    (select(&STRATEGIES[..]), any::<bool>(), option::of(0..20_u32), any::<bool>(), any::<bool>()).prop_map(
        |(block_on, treat_warnings_as_errors, max_warnings, ignore, promote)| ToolPolicy {
            block_on,
            source: PolicySource::Default,
            treat_warnings_as_errors,
            max_warnings,
            ignored_rules: ignore.then(|| "w".to_owned()).into_iter().collect(),
            error_on_rules: promote.then(|| "w".to_owned()).into_iter().collect(),
        },
    )
}

fn ends() -> impl Strategy<Value = ActionEnd> {
    prop_oneof![
        6 => (0..7_i32).prop_map(exited),
        1 => any::<i32>().prop_map(exited),
        1 => (1..32_i32).prop_map(|signal| ActionEnd::Signalled { signal }),
        1 => Just(timed_out()),
        1 => Just(stopped()),
        1 => Just(ActionEnd::Lost { why: "gone".to_owned() }),
    ]
}

fn interpretations() -> impl Strategy<Value = Interpretation> {
    use CategoryCode as C;
    const PLAIN: [C; 13] = [
        C::NothingChecked,
        C::Clean,
        C::ExpectedExit,
        C::UnexpectedExit,
        C::UsageError,
        C::CollectionError,
        C::NoTestsExecuted,
        C::ToolNotFound,
        C::ReportMissing,
        C::OutputTooLarge,
        C::SurvivorsLeft,
        C::TestsPassed,
        C::Findings,
    ];
    prop_oneof![
        select(&PLAIN[..]).prop_map(plain),
        (0..4_u64, 0..3_u64).prop_map(|(passed, failed)| tests(C::TestsPassed, passed, failed)),
        (0..4_u64, 1..3_u64).prop_map(|(passed, failed)| tests(C::TestsFailed, passed, failed)),
        (0..4_usize, 0..4_usize).prop_map(|(errors, warnings)| findings(errors, warnings)),
    ]
}

fn action_phases() -> impl Strategy<Value = ActionPhase> {
    select(&[ActionPhase::Prerequisite, ActionPhase::Step, ActionPhase::Cleanup][..])
}

fn tools() -> impl Strategy<Value = Tool> {
    select(&Tool::ALL[..])
}

fn outcomes() -> impl Strategy<Value = (ActionPhase, ActionJudgement)> {
    (tools(), action_phases(), ends(), interpretations(), policies(), any::<bool>()).prop_map(
        |(tool, phase, end, interpretation, policy, in_red)| {
            let mut action = action(tool, phase);
            action.policy = Some(policy);
            (phase, judge_in(&action, &end, &interpretation, Phase::Red, in_red))
        },
    )
}

proptest! {
    #[test]
    fn nothing_blocks_under_never_or_warn_only(policy in policies(), exit in 0..3_i32, errors in 0..4_usize, warnings in 0..4_usize) {
        prop_assume!(errors + warnings > 0);
        let mut step = action(Tool::Eslint, ActionPhase::Step);
        let strategy = policy.block_on;
        step.policy = Some(policy);
        let outcome = judge_in(&step, &exited(exit), &findings(errors, warnings), Phase::Green, false);
        match strategy {
            BlockOn::WarnOnly => prop_assert_eq!(outcome.blocking, Blocking::Allowed),
            BlockOn::Never => {
                prop_assert_eq!(outcome.blocking, Blocking::Allowed);
                prop_assert_eq!(outcome.classification.category, ResultType::Success);
                prop_assert!(!outcome.debt.should_generate);
            }
            BlockOn::ErrorsAlways | BlockOn::ErrorsOnly | BlockOn::ErrorsAndWarnings if errors > 0 => {
                prop_assert_eq!(outcome.blocking, Blocking::Blocks);
            }
            BlockOn::ErrorsAlways | BlockOn::ErrorsOnly | BlockOn::ErrorsAndWarnings => {}
        }
    }

    #[test]
    fn an_outcome_is_of_one_piece((phase, outcome) in outcomes()) {
        let told = &outcome.classification;
        let succeeded = told.category == ResultType::Success;
        prop_assert!(!succeeded || outcome.blocking == Blocking::Allowed);
        prop_assert!(!(succeeded && outcome.debt.should_generate));
        prop_assert_eq!(outcome.debt.should_generate, outcome.debt.category.is_some() && outcome.debt.severity.is_some());
        prop_assert_eq!(outcome.debt.should_generate, outcome.debt.title.is_some() && outcome.debt.suggested_fix.is_some());
        prop_assert_eq!(told.underlying.is_some(), told.category == ResultType::PrerequisiteFailure);
        prop_assert!(told.underlying.is_none() || phase == ActionPhase::Prerequisite);
        prop_assert!(!told.reason.is_empty() && !outcome.agent_action.message.is_empty());
        prop_assert!(!(told.tool_failed == Some(true) && told.tool_succeeded == Some(true)));
    }

    #[test]
    fn success_needs_an_exit_that_allows_it(end in ends(), interpretation in interpretations(), tool in tools()) {
        let mut step = action(tool, ActionPhase::Step);
        step.policy = Some(ToolPolicy::plain(BlockOn::WarnOnly, PolicySource::Default));
        let outcome = judge_in(&step, &end, &interpretation, Phase::Green, false);
        if outcome.classification.category == ResultType::Success {
            prop_assert_eq!(end.exit_code(), Some(0));
        }
    }

    #[test]
    fn c61_c62_the_counts_of_a_run_add_up(
        outcomes in vec(outcomes(), 0..12),
        others in vec((action_phases(), any::<bool>()), 0..6),
        finished in any::<bool>(),
    ) {
        let mut results: Vec<_> = outcomes
            .iter()
            .map(|(phase, outcome)| (*phase, Some(outcome)))
            .collect();
        let invalid = judge_invalid(Vec::new());
        results.extend(others.into_iter().map(|(phase, is_invalid)| (phase, is_invalid.then_some(&invalid))));
        let flow = if finished { RunFlow::Finished } else { RunFlow::Interrupted };
        let verdict = judge_run(&results, &flow);
        let counts = &verdict.actions;
        prop_assert_eq!(verdict.results.values().sum::<u32>(), counts.executed + counts.invalid);
        prop_assert_eq!(counts.executed + counts.skipped + counts.invalid, counts.total);
        prop_assert_eq!(counts.in_phase(ActionPhase::Prerequisite) + counts.in_phase(ActionPhase::Step) + counts.in_phase(ActionPhase::Cleanup), counts.total);
        prop_assert_eq!(counts.total as usize, results.len());
        prop_assert_eq!(verdict.results.len(), 7);
        prop_assert_eq!(verdict.pass_rate_tenths.is_none(), counts.in_phase(ActionPhase::Step) == 0);
        prop_assert!(verdict.pass_rate_tenths.is_none_or(|rate| rate <= 1000));
        prop_assert!(verdict.blocking >= verdict.blocking_red + verdict.blocking_collection);
        if verdict.overall_result == Some(OverallResult::Passed) {
            prop_assert!(verdict.blocking == 0 && verdict.skipped_steps == 0 && counts.in_phase(ActionPhase::Step) > 0 && finished);
        }
        prop_assert_eq!(&judge_run(&results, &flow), &verdict);
    }
}
