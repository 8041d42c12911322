//! Decides which checks of a run may be carried out at the same time, for which others each waits, and whose writes it
//! sees. Pure: a check is represented by its position in the order of execution.

use std::collections::BTreeSet;

use proctor_model::{Action, HomeAccess, ParallelChecks, Plan, PlanOrigin, Tool, ToolClass};

/// Which checks of a run may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// The checks run one after the other. Each check sees what all checks before it wrote.
    OneByOne,
    /// All checks that do not come after each other run at the same time, because the plan says so.
    AllIndependent,
    /// The default: validations may run at the same time as each other and as at most one test or builder.
    Validations,
}

/// What other checks must know about a check before they may run beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckRole {
    /// The check only looks for findings, so it may run beside any other check.
    Validation,
    /// The check runs tests, which may use ports and databases, so at most one such check runs at a time.
    Test,
    /// The check may write what later checks need, such as generated code. Proctor cannot know what a command writes,
    /// so later checks wait.
    Builder,
}

/// What decides when a check may start: its role, and the checks that it names in `after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckFacts {
    pub(crate) role: CheckRole,
    /// The positions of the checks that `after` names.
    pub(crate) after: Vec<usize>,
}

/// The relations of a check to the other checks of its run, as positions in the order of execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckRelations {
    /// The checks that must end before this check starts.
    pub(crate) waits_for: BTreeSet<usize>,
    /// The checks whose writes this check sees. All of them have ended before this check starts, so what it sees does
    /// not depend on which of the other checks happened to end first.
    pub(crate) sees: BTreeSet<usize>,
}

/// What decides beside the plan how its checks are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConcurrencyLimits {
    pub(crate) setting: ParallelChecks,
    pub(crate) home: HomeAccess,
    /// Whether the checks run on a snapshot, so that each has a layer of its own.
    pub(crate) on_snapshot: bool,
    /// The most actions that the machine-wide queue lets run at the same time.
    pub(crate) turns: u32,
}

/// Decides how the checks of a plan are carried out.
pub(crate) fn concurrency(plan: &Plan, limits: ConcurrencyLimits) -> Concurrency {
    if plan.parallel {
        return Concurrency::AllIndependent;
    }
    let decides_itself = match (limits.setting, &plan.origin) {
        (ParallelChecks::Auto, PlanOrigin::Configured | PlanOrigin::Discovered) => true,
        // A specification has an order of its own, and a typed command works in the project.
        (ParallelChecks::Auto, PlanOrigin::CommandLine | PlanOrigin::Specification) => false,
        (ParallelChecks::On | ParallelChecks::Off, _) => false,
    };
    // If a failure ends the run, checks that run one by one and come later are skipped. At the same time with others they
    // might already have started, so the result would differ.
    let never_ends_early = plan.steps.iter().all(|step| step.continue_on_failure);
    // Checks with an overlay home run one at a time anyway (`parallel_steps`).
    let has_own_home = limits.home != HomeAccess::Overlay;
    if decides_itself && limits.on_snapshot && limits.turns > 1 && never_ends_early && has_own_home {
        Concurrency::Validations
    } else {
        Concurrency::OneByOne
    }
}

/// Returns the role of a check. A validation is a builder if its command makes files: a compiler does, `tsc` does without
/// `--noEmit`, and a linter does that corrects what it finds.
pub(crate) fn role_of(check: &Action) -> CheckRole {
    let has_word = |word: &str| check.command.argv.iter().any(|argument| argument.split_whitespace().any(|one| one == word));
    // tsc takes one dash or two, and upper or lower case.
    let has_option = |option: &str| {
        let is_it = |word: &str| {
            word.starts_with('-') && word.trim_start_matches('-').eq_ignore_ascii_case(option.trim_start_matches('-'))
        };
        check.command.argv.iter().any(|argument| argument.split_whitespace().any(is_it))
    };
    let corrects = || check.tool.findings().and_then(|facts| facts.fix_option).is_some_and(has_word);
    match check.class {
        ToolClass::Test => CheckRole::Test,
        ToolClass::Generic => CheckRole::Builder,
        ToolClass::Validation if check.tool == Tool::Compile || corrects() => CheckRole::Builder,
        ToolClass::Validation if check.tool.writes_without().is_some_and(|option| !has_option(option)) => CheckRole::Builder,
        ToolClass::Validation => CheckRole::Validation,
    }
}

/// Returns the relations of all checks of a run. `checks`, and the result, are in the order of execution.
///
/// With [`Concurrency::Validations`], a check should see every file that it would see if the checks ran one by one, and
/// that its result may depend on. So tests and builders never run beside each other: each waits for all tests and
/// builders before it. A validation waits for the builders before it, unless its `after` says what it needs. Only the
/// checks that come `after` a validation see what the validation writes.
pub(crate) fn relations(concurrency: Concurrency, checks: &[CheckFacts]) -> Vec<CheckRelations> {
    let before = |place: usize, is_wanted: &dyn Fn(CheckRole) -> bool| -> Vec<usize> {
        (0..place).filter(|other| is_wanted(checks[*other].role)).collect()
    };
    let implied = |place: usize, check: &CheckFacts| match (concurrency, check.role) {
        (Concurrency::OneByOne, _) => (0..place).collect(),
        (Concurrency::AllIndependent, _) => Vec::new(),
        (Concurrency::Validations, CheckRole::Test | CheckRole::Builder) => before(place, &|role| role != CheckRole::Validation),
        (Concurrency::Validations, CheckRole::Validation) if check.after.is_empty() => {
            before(place, &|role| role == CheckRole::Builder)
        }
        (Concurrency::Validations, CheckRole::Validation) => Vec::new(),
    };
    let waits = |(place, check): (usize, &CheckFacts)| implied(place, check).into_iter().chain(check.after.clone()).collect();
    let waits: Vec<BTreeSet<usize>> = checks.iter().enumerate().map(waits).collect();
    let relations = |(place, waits_for): (usize, &BTreeSet<usize>)| CheckRelations {
        waits_for: waits_for.clone(),
        sees: reachable(&waits, place),
    };
    waits.iter().enumerate().map(relations).collect()
}

/// Returns all positions that can be reached from one position, without this position itself.
fn reachable(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut left) = (BTreeSet::new(), edges[from].clone());
    while let Some(next) = left.pop_first() {
        if next != from && reached.insert(next) {
            left.extend(edges[next].iter().filter(|further| !reached.contains(*further)));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing;
    use proctor_model::{ActionPhase, CommandLine};

    /// Reads checks such as `["B", "V", "T:0"]`: the first letter of the role, and after the colon the positions of
    /// `after`.
    fn checks(written: &[&str]) -> Vec<CheckFacts> {
        let check = |text: &&str| {
            let (role, after) = text.split_once(':').unwrap_or((text, ""));
            let role = match role {
                "V" => CheckRole::Validation,
                "T" => CheckRole::Test,
                "B" => CheckRole::Builder,
                other => panic!("{other}"),
            };
            CheckFacts { role, after: after.split_terminator(',').map(|place| place.parse().expect("a position")).collect() }
        };
        written.iter().map(check).collect()
    }

    /// Returns a text for each check: the positions of the checks that it waits for, then `>`, then the positions of the
    /// checks whose writes it sees.
    fn written(concurrency: Concurrency, of: &[&str]) -> Vec<String> {
        let join = |places: &BTreeSet<usize>| places.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let one = |one: &CheckRelations| format!("{}>{}", join(&one.waits_for), join(&one.sees));
        relations(concurrency, &checks(of)).iter().map(one).collect()
    }

    #[test]
    fn proctor_decides_by_itself_only_for_checks_of_the_project_on_a_snapshot() {
        let plan = Plan { steps: vec![testing::generic_action(ActionPhase::Step)], ..testing::empty_plan() };
        let limits = ConcurrencyLimits { setting: ParallelChecks::Auto, home: HomeAccess::ReadOnly, on_snapshot: true, turns: 2 };
        assert_eq!(concurrency(&plan, limits), Concurrency::Validations);
        for other in [
            ConcurrencyLimits { setting: ParallelChecks::Off, ..limits },
            ConcurrencyLimits { home: HomeAccess::Overlay, ..limits },
            ConcurrencyLimits { on_snapshot: false, ..limits },
            ConcurrencyLimits { turns: 1, ..limits },
        ] {
            assert_eq!(concurrency(&plan, other), Concurrency::OneByOne, "{other:?}");
        }
        for (origin, expected) in [
            (PlanOrigin::Discovered, Concurrency::Validations),
            (PlanOrigin::CommandLine, Concurrency::OneByOne),
            (PlanOrigin::Specification, Concurrency::OneByOne),
        ] {
            assert_eq!(concurrency(&Plan { origin: origin.clone(), ..plan.clone() }, limits), expected, "{origin:?}");
        }
        let mut ends_early = plan.clone();
        ends_early.steps[0].continue_on_failure = false;
        assert_eq!(concurrency(&ends_early, limits), Concurrency::OneByOne);
        let said = Plan { parallel: true, ..plan };
        let in_place = ConcurrencyLimits { setting: ParallelChecks::On, on_snapshot: false, turns: 1, ..limits };
        assert_eq!(concurrency(&said, in_place), Concurrency::AllIndependent);
    }

    #[test]
    fn what_checks_wait_for_and_see_follows_from_order_role_and_after() {
        for (of, expected) in [
            // Tests and validations do not wait for each other.
            (&["V", "V", "T"][..], &[">", ">", ">"][..]),
            (&["T", "V", "V"], &[">", ">", ">"]),
            // Two tests never run at the same time, and the second sees what the first wrote.
            (&["T", "V", "T"], &[">", ">", "0>0"]),
            // A check behind a builder waits for the builder and sees its files. A validation before the builder does
            // neither.
            (&["B", "V", "T"], &[">", "0>0", "0>0"]),
            (&["V", "B", "V", "T"], &[">", ">", "1>1", "1>1"]),
            // The builder may read what the test wrote (as `coverage report` does), so it waits for the test. The
            // validation waits for the builder, and also sees what the builder saw.
            (&["T", "B", "V"], &[">", "0>0", "1>0,1"]),
            // `after` is transitive. A validation with `after` waits only for the checks that `after` reaches, and not
            // for builders.
            (&["V", "V:0", "T:1"], &[">", "0>0", "1>0,1"]),
            (&["V", "B", "V:0"], &[">", ">", "0>0"]),
            (&["B", "V", "V:1"], &[">", "0>0", "1>0,1"]),
            // Tests and builders run one by one. So a test or builder with `after` waits for all tests and builders
            // before it too.
            (&["V", "B", "T:0"], &[">", ">", "0,1>0,1"]),
            (&["B", "B:0", "B"], &[">", "0>0", "0,1>0,1"]),
            // Two checks that wait for each other: the search for what a check sees ends, and no check is among those
            // that it sees.
            (&["V:1", "V:0"], &["1>1", "0>0"]),
            (&["T:1", "T:0"], &["1>1", "0>0"]),
            (&[], &[]),
        ] {
            assert_eq!(written(Concurrency::Validations, of), expected, "{of:?}");
        }
    }

    #[test]
    fn one_by_one_each_sees_everything_before_and_with_parallel_true_only_what_it_comes_after() {
        let of = ["B", "V", "T:0", "V:2"];
        assert_eq!(written(Concurrency::OneByOne, &of), [">", "0>0", "0,1>0,1", "0,1,2>0,1,2"]);
        assert_eq!(written(Concurrency::AllIndependent, &of), [">", ">", "0>0", "2>0,2"]);
    }

    #[test]
    fn a_check_that_may_make_files_for_others_is_a_builder() {
        for (tool, argv, expected) in [
            (Tool::Pytest, "pytest -q", CheckRole::Test),
            (Tool::Generic, "make check", CheckRole::Builder),
            (Tool::Review, "reviewer", CheckRole::Builder),
            (Tool::Compile, "cargo check", CheckRole::Builder),
            (Tool::Tsc, "tsc --noEmit -p .", CheckRole::Validation),
            (Tool::Tsc, "tsc -noemit -p .", CheckRole::Validation),
            (Tool::Tsc, "tsc -b", CheckRole::Builder),
            (Tool::Tsc, "npm run types", CheckRole::Builder),
            (Tool::Mypy, "mypy src", CheckRole::Validation),
            (Tool::Eslint, "eslint .", CheckRole::Validation),
            (Tool::Eslint, "eslint . --fix", CheckRole::Builder),
            (Tool::Prettier, "prettier --check .", CheckRole::Validation),
            (Tool::Prettier, "prettier --write .", CheckRole::Builder),
        ] {
            let argv = argv.split(' ').map(str::to_owned).collect();
            let command = CommandLine { argv, display: String::new(), shell: false };
            let check = Action { tool, class: tool.class(), command, ..testing::generic_action(ActionPhase::Step) };
            assert_eq!(role_of(&check), expected, "{:?}", check.command.argv);
        }
        let argv = ["bash", "-c", "npx tsc --noEmit -p web"].map(str::to_owned).to_vec();
        let command = CommandLine { argv, display: String::new(), shell: true };
        let check =
            Action { tool: Tool::Tsc, class: ToolClass::Validation, command, ..testing::generic_action(ActionPhase::Step) };
        assert_eq!(role_of(&check), CheckRole::Validation, "a script is one argument");
    }
}
