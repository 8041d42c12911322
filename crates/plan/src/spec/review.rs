//! Reviews in plans. No action after a review starts unless the review approves. A plan may also consist of one review
//! alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Configuration;
use crate::spec::action::plain_action;
use crate::spec::approval::plan_settings;
use proctor_model::{
    Action, ActionId, ActionKind, ActionPhase, CommandLine, Plan, PlanOrigin, Problem, Prompt, Review, TaskId, Tool,
};
use proctor_tools::command_text;

/// The name of a review that is started on the command line.
const NAME: &str = "review";

/// Makes a plan with one review and no other actions.
///
/// # Errors
///
/// When the command is empty.
pub fn plan_review(
    argv: &[String],
    review: Review,
    configuration: &Configuration,
    project_name: &str,
) -> Result<Plan, Vec<Problem>> {
    if argv.first().is_none_or(String::is_empty) {
        let problem = Problem::new("", "the reviewer's command is empty").within("command line", None);
        return Err(vec![problem.hint("write it behind `--command`, for example `proctor review --command ./reviewer`")]);
    }
    let command = CommandLine { argv: argv.to_vec(), display: command_text(argv), shell: false };
    let plain = plain_action(ActionPhase::Step, 1, (NAME, Tool::Review), command, configuration.defaults);
    let task = TaskId::review_task();
    let project_name = configuration.project_name.clone().unwrap_or_else(|| project_name.to_owned());
    let steps = vec![Action { kind: ActionKind::Review(review), ..plain }];
    let settings = plan_settings(configuration);
    Ok(Plan { steps, settings, ..Plan::empty(task, project_name, PlanOrigin::CommandLine) })
}

pub(super) fn review(prompt: Option<String>, accept_split_emphasis: bool) -> ActionKind {
    let prompt = prompt.map_or(Prompt::Nothing, Prompt::File);
    ActionKind::Review(Review { prompt, accept_split_emphasis })
}

/// Makes every step depend on the reviews before it. The sequence is that of `order`, followed by the steps that
/// `order` leaves out. A review that itself depends on a step does not hold that step back. A step is skipped unless
/// everything that it depends on has succeeded.
pub(super) fn hold_behind_reviews(steps: &mut [Action], order: &[ActionId]) {
    // If `order` lists a step twice, the first position counts.
    let places: BTreeMap<&ActionId, usize> = order.iter().enumerate().rev().map(|(place, id)| (id, place)).collect();
    let mut sequence: Vec<usize> = (0..steps.len()).collect();
    sequence.sort_by_key(|index| places.get(&steps[*index].id).copied().unwrap_or(usize::MAX));
    for (place, review) in sequence.iter().copied().enumerate() {
        if !matches!(steps[review].kind, ActionKind::Review(_)) {
            continue;
        }
        let before = before(steps, review);
        let id = steps[review].id.clone();
        for later in sequence[place + 1..].iter().copied() {
            if !before.contains(&later) && !steps[later].after.contains(&id) {
                steps[later].after.push(id.clone());
            }
        }
    }
}

/// Returns all steps on which a step depends, directly or indirectly.
fn before(steps: &[Action], step: usize) -> BTreeSet<usize> {
    let indices: BTreeMap<&ActionId, usize> = steps.iter().map(|step| &step.id).zip(0..).collect();
    let mut reached = BTreeSet::new();
    let mut left: Vec<&ActionId> = steps[step].after.iter().collect();
    while let Some(id) = left.pop() {
        let Some(index) = indices.get(id).copied() else { continue };
        if reached.insert(index) {
            left.extend(&steps[index].after);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use crate::config;
    use crate::spec::{DiskFiles, plan};
    use proctor_model::{ActionId, ActionKind, Prompt};

    fn planned(toml: &str) -> Result<Vec<(String, Vec<ActionId>)>, String> {
        let directory = tempfile::tempdir().expect("a directory");
        let configuration = config::read(toml, "proctor.toml").map_err(|problems| problems[0].to_string())?;
        let plan = plan(&configuration, &DiskFiles::new(directory.path()), "project");
        let plan = plan.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        Ok(plan.steps.into_iter().map(|step| (step.name, step.after)).collect())
    }

    fn check(name: &str, rest: &str) -> String {
        format!("[[check]]\nname = \"{name}\"\ncommand = [\"true\"]\n{rest}\n")
    }

    #[test]
    fn what_stands_behind_a_review_comes_after_it_and_what_it_needs_does_not() {
        let review = "tool = \"review\"\nafter = [\"late\"]\nprompt = \"review.md\"";
        let toml = [check("early", ""), check("review", review), check("late", ""), check("deploy", "")].concat();
        let steps = planned(&toml).expect("a plan");
        let ids = |numbers: &[usize]| numbers.iter().map(|number| ActionId::numbered("STEP", *number)).collect::<Vec<_>>();
        let after: Vec<_> = steps.into_iter().map(|(_, after)| after).collect();
        assert_eq!(after, [ids(&[]), ids(&[3]), ids(&[]), ids(&[2])]);
    }

    #[test]
    fn a_review_says_what_it_is_given_and_refuses_what_would_ask_it_more_often() {
        for (rest, expected) in [
            ("tool = \"review\"\nretries = 1", "asked once more at most"),
            ("tool = \"review\"\nexpected_exit_codes = [1]", "expected exit codes"),
            ("tool = \"review\"\nprompt = \"../up.md\"", "prompt"),
            ("tool = \"review\"\nrun = \"remote\"\n[remote]\nendpoint = \"unix:///s\"", "runs on this machine"),
            ("prompt = \"review.md\"", "generic has no prompt"),
            ("accept_split_emphasis = false", "generic has no verdict"),
        ] {
            let problem = planned(&check("a", rest)).expect_err(rest);
            assert!(problem.contains(expected), "{rest}: {problem}");
        }
        let toml = check("a", "tool = \"review\"\nprompt = \"docs/review.md\"\naccept_split_emphasis = false");
        let configuration = config::read(&toml, "proctor.toml").expect("right");
        let directory = tempfile::tempdir().expect("a directory");
        let found = plan(&configuration, &DiskFiles::new(directory.path()), "project").expect("a plan");
        let ActionKind::Review(review) = &found.steps[0].kind else { panic!("{found:?}") };
        assert_eq!((&review.prompt, review.accept_split_emphasis), (&Prompt::File("docs/review.md".to_owned()), false));
    }
}
