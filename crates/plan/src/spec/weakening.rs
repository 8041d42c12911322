//! Finds where one plan is weaker than another, by comparing their meaning (S7, C80). Pure.
//!
//! Each rule is a row of [`ACTION_RULES`] or [`PLAN_RULES`]. What no rule covers (titles, the order of steps, texts for
//! people) does not make a verdict easier. An action that does something different always counts as weaker, because
//! proctor cannot know whether the new command tests as much.

use std::fmt::Display;
use std::time::Duration;

use crate::config::{Configuration, duration_text};
use crate::spec::new_actions::asked_of_new_actions;
use crate::spec::propose_triggers::has_proposed_triggers;
use crate::spec::word_difference::differing_parts;
use proctor_model::{
    ActionId, ActionTerms, ApprovalTerms, ApprovedProgram, BlockOn, ByteSize, OnProtectedChange, OnSurvivors, PlanTerms, Reuse,
    ToolPolicy,
};
use proctor_tools::{differs_in_neutral_words_only, recognise};

/// Compares an action in two plans and returns, in words, where the second plan asks for less.
type ActionRule = fn(&ActionTerms, &ActionTerms) -> Vec<String>;
/// Compares two plans as a whole and returns, in words, where the second plan asks for less.
type PlanRule = fn(&PlanTerms, &PlanTerms) -> Vec<String>;

/// The settings of an action that can become stricter or weaker. A changed command is judged by `does_something_else`,
/// because no rule can say which of two commands is stricter.
const ACTION_RULES: &[ActionRule] = &[
    more_exit_codes,
    longer_time_outs,
    more_output,
    weaker_policy,
    lower_coverage,
    more_attempts,
    survivors,
    no_control,
    fewer_triggers,
    more_reuse,
    more_writes,
    leaves_snapshot,
];

const PLAN_RULES: &[PlanRule] = &[
    longer_suite,
    fewer_conditions,
    less_expected_output,
    lower_pass_rate,
    more_expected_failures,
    less_evidence,
    less_strictness,
    unlocked_status,
    other_criteria,
    fewer_dependencies,
    less_debt,
    less_protection,
    no_signature,
];

/// Returns, in words, where `now` is weaker than `before`; empty if it is nowhere weaker.
pub fn weakenings(before: &PlanTerms, now: &PlanTerms) -> Vec<String> {
    let mut found = Vec::new();
    let may_fail = may_fail(before, now);
    for (id, old) in &before.actions {
        match counterpart(id, old, before, now) {
            None => found.push(format!("{} is removed: {}", label(id, old), old.shown)),
            Some(new) => found.extend(action_weakenings(label(id, old), old, new, may_fail)),
        }
    }
    found.extend(PLAN_RULES.iter().flat_map(|rule| rule(before, now)));
    found.extend(other_signers(before, now));
    found.extend(output_of_others(before, now));
    found.extend(asked_of_new_actions(before, now));
    found
}

/// Returns the names of the actions in which `now` is weaker than `before`.
pub fn weaker_actions(before: &PlanTerms, now: &PlanTerms) -> Vec<String> {
    let is_weaker = |(id, old): &(&ActionId, &ActionTerms)| match counterpart(id, old, before, now) {
        None => true,
        Some(new) => !action_weakenings("", old, new, may_fail(before, now)).is_empty(),
    };
    before.actions.iter().filter(is_weaker).map(|(id, old)| label(id, old).to_owned()).collect()
}

/// Returns whether a test is expected to fail, before or now.
pub(super) fn may_fail(before: &PlanTerms, now: &PlanTerms) -> bool {
    [before, now].iter().any(|terms| !terms.expected_failing_tests.is_empty())
}

/// Returns, in words, where `now` is stricter than `before`: what was added, and what would be weaker after going back.
pub fn strengthenings(before: &PlanTerms, now: &PlanTerms) -> Vec<String> {
    let mut found = Vec::new();
    for (id, new) in &now.actions {
        match counterpart(id, new, now, before) {
            None => found.push(format!("{} is added: {}", label(id, new), new.shown)),
            Some(old) => {
                let texts = ACTION_RULES.iter().flat_map(|rule| rule(new, old));
                found.extend(texts.map(|text| format!("{}: {}", label(id, new), stricter(&text))));
            }
        }
    }
    found.extend(PLAN_RULES.iter().flat_map(|rule| rule(now, before)).map(|text| stricter(&text)));
    found
}

/// Returns how something is stricter, of which only the words for the way back are known.
pub(super) fn stricter(way_back: &str) -> String {
    format!("stricter now (the way back would be: {way_back})")
}

/// Returns, in words, which actions have a new name. A new name does not make a verdict easier.
pub fn renamings(before: &PlanTerms, now: &PlanTerms) -> Vec<String> {
    let renamed = |(id, old): (&ActionId, &ActionTerms)| {
        let new = counterpart(id, old, before, now)?.name.as_ref()?;
        (Some(new) != old.name.as_ref()).then(|| format!("{} is called {new} now", label(id, old)))
    };
    before.actions.iter().filter_map(renamed).collect()
}

/// Returns the action of the other plan that corresponds to an action. Actions of specifications correspond by id. All
/// other actions correspond by name, or, if the name is new, by doing the same.
pub(super) fn counterpart<'a>(
    id: &ActionId,
    one: &ActionTerms,
    its: &PlanTerms,
    other: &'a PlanTerms,
) -> Option<&'a ActionTerms> {
    let Some(name) = &one.name else { return other.actions.get(id) };
    let named = || other.actions.values().filter(|action| action.name.as_ref() == Some(name));
    let is_new = |action: &&ActionTerms| its.actions.values().all(|known| known.name != action.name);
    let renamed = || other.actions.values().filter(is_new).find(|action| is_same(one, action));
    named().find(|action| is_same(one, action)).or_else(|| named().next()).or_else(renamed)
}

fn is_same(one: &ActionTerms, other: &ActionTerms) -> bool {
    one.does == other.does || (one.does_with_found.is_some() && one.does_with_found == other.does_with_found)
}

pub(super) fn label<'a>(id: &'a ActionId, action: &'a ActionTerms) -> &'a str {
    action.name.as_deref().unwrap_or(id.as_str())
}

fn action_weakenings(label: &str, old: &ActionTerms, new: &ActionTerms, may_fail: bool) -> Vec<String> {
    let longer_by_rule = is_moderate(old, new).then(|| old.timeout_ms.max(new.timeout_ms));
    let idle_timeout_ms =
        if is_idle_time_moderate(old, new) { old.idle_timeout_ms.max(new.idle_timeout_ms) } else { old.idle_timeout_ms };
    let old = &ActionTerms { timeout_ms: longer_by_rule.unwrap_or(old.timeout_ms), idle_timeout_ms, ..old.clone() };
    let texts = does_something_else(old, new, may_fail).into_iter();
    let texts = texts.chain(ACTION_RULES.iter().flat_map(|rule| rule(old, new)));
    texts.map(|text| format!("{label}: {text}")).collect()
}

fn does_something_else(old: &ActionTerms, new: &ActionTerms, may_fail: bool) -> Vec<String> {
    if is_same(old, new) || differs_neutrally(old, new, may_fail) {
        return Vec::new();
    }
    let what = if old.shown == new.shown {
        format!("does something else than before: {}", new.shown)
    } else {
        format!("does something else: {} instead of {}", new.shown, old.shown)
    };
    let parts = differing_parts(old, new);
    vec![if parts.is_empty() { what } else { format!("{what} ({})", parts.join("; ")) }]
}

/// Returns whether two actions run the same, except for words of their commands that make no verdict easier.
pub(super) fn differs_neutrally(old: &ActionTerms, new: &ActionTerms, may_fail: bool) -> bool {
    let (Some(before), Some(now)) = (&old.words, &new.words) else { return false };
    before.rest == now.rest
        && before.tool == now.tool
        && recognise(&now.command).tool == now.tool
        && differs_in_neutral_words_only(&before.command, &now.command, may_fail)
}

fn more_exit_codes(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let more = missing(&new.expected_exit_codes, &old.expected_exit_codes);
    said(&more, |codes| format!("exit codes that did not succeed before succeed: {codes}"))
}

fn longer_time_outs(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let wall = longer("timeout", Some(old.timeout_ms), Some(new.timeout_ms));
    wall.into_iter().chain(longer("longest time without output", old.idle_timeout_ms, new.idle_timeout_ms)).collect()
}

/// Returns whether a time-out is at most twice the approved one, or at most the default. A check with more time checks as much as
/// before, so no person is asked.
fn is_moderate(old: &ActionTerms, new: &ActionTerms) -> bool {
    let default = Configuration::default().defaults.timeout.as_millis();
    u128::from(new.timeout_ms) <= u128::from(old.timeout_ms.saturating_mul(2)).max(default)
}

/// Returns whether an action may be silent for at most twice the approved time, as [`is_moderate`] says it of the time-out.
fn is_idle_time_moderate(old: &ActionTerms, new: &ActionTerms) -> bool {
    matches!((old.idle_timeout_ms, new.idle_timeout_ms), (Some(old), Some(new)) if new <= old.saturating_mul(2))
}

/// Returns the terms that an approval without a person records: those of the new plan, but with the approved time-outs where
/// the new ones are longer, so that a time-out cannot be doubled again and again. What was found of a program when its
/// command was approved stays on record while the command names the same program, and the tree of the first approval always.
pub fn terms_by_rule(before: &PlanTerms, now: PlanTerms) -> PlanTerms {
    let mut terms = now.clone();
    for (id, action) in &mut terms.actions {
        if let Some(old) = counterpart(id, &now.actions[id], &now, before) {
            action.timeout_ms = action.timeout_ms.min(old.timeout_ms);
            if let (Some(old), Some(new)) = (old.idle_timeout_ms, action.idle_timeout_ms) {
                action.idle_timeout_ms = Some(new.min(old));
            }
            action.approved_on = old.approved_on;
            if names_same_program(old, action) {
                action.program = ApprovedProgram::carried(old.program.as_ref(), action.program.as_ref());
            }
        }
    }
    terms
}

/// Returns whether the commands of two actions begin with the same word. An approval that does not record the words may have
/// had the same one.
fn names_same_program(old: &ActionTerms, new: &ActionTerms) -> bool {
    let program = |terms: &ActionTerms| terms.words.as_ref().map(|words| words.command.first().cloned());
    program(old).is_none_or(|old| Some(old) == program(new))
}

fn more_output(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let is_more = is_wider(old.max_output_bytes, new.max_output_bytes);
    let text = |bytes: Option<u64>| bytes.map_or_else(|| "no limit".to_owned(), |bytes| ByteSize(bytes).to_string());
    let said = || format!("more output: {} instead of {}", text(new.max_output_bytes), text(old.max_output_bytes));
    is_more.then(said).into_iter().collect()
}

fn weaker_policy(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let (old, new) = match (&old.policy, &new.policy) {
        (None, _) => return Vec::new(),
        (Some(_), None) => return vec!["findings are not judged by a policy any more".to_owned()],
        (Some(old), Some(new)) => (old, new),
    };
    let mut found = Vec::new();
    if strictness(new.block_on) < strictness(old.block_on) {
        found.push(format!("policy {} instead of {}", new.block_on.strategy(), old.block_on.strategy()));
    }
    if old.treat_warnings_as_errors && !new.treat_warnings_as_errors {
        found.push("warnings do not count as errors any more".to_owned());
    }
    if is_wider(old.max_warnings.map(u64::from), new.max_warnings.map(u64::from)) {
        let text = |warnings: Option<u32>| warnings.map_or_else(|| "any number of".to_owned(), |warnings| warnings.to_string());
        found.push(format!("{} warnings instead of {} are let through", text(new.max_warnings), text(old.max_warnings)));
    }
    found.extend(changed_rules(old, new));
    found
}

fn changed_rules(old: &ToolPolicy, new: &ToolPolicy) -> Vec<String> {
    let ignored = missing(&new.ignored_rules, &old.ignored_rules);
    let errors = missing(&old.error_on_rules, &new.error_on_rules);
    let mut found = said(&ignored, |rules| format!("findings of these rules are ignored: {rules}"));
    found.extend(said(&errors, |rules| format!("findings of these rules are no errors any more: {rules}")));
    found
}

/// Returns how strict a policy is; a higher number blocks more.
fn strictness(block_on: BlockOn) -> u8 {
    match block_on {
        BlockOn::Never => 0,
        BlockOn::WarnOnly => 1,
        BlockOn::ErrorsOnly => 2,
        BlockOn::ErrorsAlways => 3,
        BlockOn::ErrorsAndWarnings => 4,
    }
}

fn lower_coverage(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let Some(old) = &old.coverage else { return Vec::new() };
    match &new.coverage {
        None => vec!["no coverage is required any more".to_owned()],
        Some(new) if new.minimum_basis_points < old.minimum_basis_points => {
            vec![format!("coverage {} instead of {}", percent(new.minimum_basis_points), percent(old.minimum_basis_points))]
        }
        Some(new) if new.report != old.report => vec![format!("coverage is read from {} instead of {}", new.report, old.report)],
        Some(_) => Vec::new(),
    }
}

fn more_attempts(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let text = || format!("tried again {} times instead of {}", new.retry_attempts, old.retry_attempts);
    (new.retry_attempts > old.retry_attempts).then(text).into_iter().collect()
}

fn no_control(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let is_weaker = old.control && !new.control;
    is_weaker.then(|| "its runner need not fail a test that must fail any more".to_owned()).into_iter().collect()
}

fn survivors(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let is_weaker = (old.on_survivors, new.on_survivors) == (OnSurvivors::Fail, OnSurvivors::Report);
    is_weaker.then(|| "processes that it leaves behind do not fail it any more".to_owned()).into_iter().collect()
}

fn fewer_triggers(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    if new.paths.iter().any(|glob| glob == "**") {
        return Vec::new();
    }
    if old.paths.is_empty() || old.paths.iter().any(|glob| glob == "**") {
        if has_proposed_triggers(new) {
            return Vec::new();
        }
        return said(&new.paths.iter().collect::<Vec<_>>(), |paths| format!("only these paths trigger it now: {paths}"));
    }
    if new.paths.is_empty() {
        return Vec::new();
    }
    said(&missing(&old.paths, &new.paths), |paths| format!("these paths do not trigger it any more: {paths}"))
}

fn more_reuse(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let extent = |reuse: Reuse| match reuse {
        Reuse::Off => 0,
        Reuse::Watch => 1,
        Reuse::Always => 2,
    };
    let is_proposed = new.reuse == Reuse::Watch && has_proposed_triggers(new);
    let is_more = extent(new.reuse) > extent(old.reuse) && !is_proposed;
    is_more.then(|| "earlier verdicts stand for it in more runs than before".to_owned()).into_iter().collect()
}

/// Reports files that an action may change in the project now. They can be files that a later run reads.
fn more_writes(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    said(&missing(&new.writes, &old.writes), |globs| format!("what it writes to these paths is copied to the project: {globs}"))
}

fn leaves_snapshot(old: &ActionTerms, new: &ActionTerms) -> Vec<String> {
    let is_weaker = !old.in_place && new.in_place;
    is_weaker.then(|| "it runs in the project itself and not on a snapshot any more".to_owned()).into_iter().collect()
}

fn longer_suite(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    longer("timeout of the suite", old.timeout_ms, new.timeout_ms).into_iter().collect()
}

fn fewer_conditions(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let of = |old: &[String], new: &[String], kind: &str| -> Vec<String> {
        missing(old, new).into_iter().map(|condition| format!("{kind} condition is removed: {condition}")).collect()
    };
    let mut found = of(&old.success, &new.success, "a success");
    found.extend(of(&old.failure, &new.failure, "a failure"));
    found
}

fn less_expected_output(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let (old, new) = (&old.expected_output, &new.expected_output);
    let texts = missing(&old.stdout_contains, &new.stdout_contains);
    let mut found = said(&texts, |texts| format!("these texts need not be printed any more: {texts}"));
    if old.stderr_empty && !new.stderr_empty {
        found.push("standard error need not be empty any more".to_owned());
    }
    match (old.exit_code, new.exit_code) {
        (Some(code), now) if now != Some(code) => found.push(format!("exit code {code} is not expected any more")),
        (Some(_) | None, _) => {}
    }
    found
}

fn lower_pass_rate(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    match (old.pass_rate_basis_points, new.pass_rate_basis_points) {
        (Some(old), Some(new)) if new < old => vec![format!("pass rate {} instead of {}", percent(new), percent(old))],
        (Some(_), None) => vec!["no pass rate is required any more".to_owned()],
        (Some(_) | None, _) => Vec::new(),
    }
}

/// Reports new actions if an output or exit code is expected of all steps together, because a new step may produce it.
/// The phase of an action is not considered, so every new action is reported.
fn output_of_others(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let expected = &old.expected_output;
    let counts = !expected.stdout_contains.is_empty() || expected.exit_code.is_some();
    let added: Vec<&ActionId> = new.actions.keys().filter(|id| !old.actions.contains_key(*id)).collect();
    if counts {
        said(&added, |ids| format!("these actions may print, or end with, what is expected of the others: {ids}"))
    } else {
        Vec::new()
    }
}

/// Reports strictness settings of type checkers that were removed or changed.
fn less_strictness(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let gone = missing(&old.strictness, &new.strictness);
    said(&gone, |words| format!("the project is not held to this any more: {words}"))
}

/// Reports tests that are newly declared as failing. Removing such a declaration, as when RED becomes GREEN, is
/// stricter.
fn more_expected_failures(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let tests = missing(&new.expected_failing_tests, &old.expected_failing_tests);
    said(&tests, |tests| format!("these tests may fail: {tests}"))
}

fn less_evidence(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let words: Vec<_> = missing(&old.required_evidence, &new.required_evidence).into_iter().map(|kind| kind.word()).collect();
    said(&words, |kinds| format!("this evidence is not required any more: {kinds}"))
}

fn unlocked_status(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let is_weaker = old.task_status_lock && !new.task_status_lock;
    is_weaker.then(|| "the task's status is not locked any more".to_owned()).into_iter().collect()
}

fn other_criteria(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let is_other = old.judged.is_some() && old.judged != new.judged;
    is_other.then(|| "it is judged by other criteria besides".to_owned()).into_iter().collect()
}

fn fewer_dependencies(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let tasks = missing(&old.dependencies, &new.dependencies);
    said(&tasks, |tasks| format!("it does not depend on these tasks any more: {tasks}"))
}

fn less_debt(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let words: Vec<&str> = missing(&old.debt, &new.debt).into_iter().map(|severity| severity.word()).collect();
    said(&words, |severities| format!("failures of these severities become no debt any more: {severities}"))
}

fn less_protection(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let (old, new) = (&old.approval, &new.approval);
    let mut found =
        said(&missing(&old.protect, &new.protect), |paths| format!("these paths are not protected any more: {paths}"));
    if old.on_protected_change == OnProtectedChange::HumanReview && new.on_protected_change == OnProtectedChange::Show {
        found.push("a change of protected paths asks for no person any more".to_owned());
    }
    found
}

fn no_signature(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let is_weaker = old.approval.require_signature && !new.approval.require_signature;
    is_weaker.then(|| "approvals need no signature any more".to_owned()).into_iter().collect()
}

/// Reports changes of the keys that may approve. Every added or removed key counts as weaker: a person who could remove
/// the keys of all others could then approve alone. The exception is the first list of keys, when approvals begin to
/// need a signature.
fn other_signers(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let (old, new) = (&old.approval, &new.approval);
    if old.signers.is_empty() && !old.require_signature && new.require_signature {
        return Vec::new();
    }
    let keys = |terms: &ApprovalTerms| terms.signers.iter().map(|signer| signer.key.clone()).collect::<Vec<_>>();
    let (before, now) = (keys(old), keys(new));
    let more = new.signers.iter().filter(|signer| !before.contains(&signer.key)).collect::<Vec<_>>();
    let fewer = old.signers.iter().filter(|signer| !now.contains(&signer.key)).collect::<Vec<_>>();
    let added = said(&more, |signers| format!("these keys may approve now: {signers}"));
    added.into_iter().chain(said(&fewer, |signers| format!("these keys may not approve any more: {signers}"))).collect()
}

fn missing<'a, T: PartialEq>(all: &'a [T], there: &[T]) -> Vec<&'a T> {
    all.iter().filter(|one| !there.contains(one)).collect()
}

pub(super) fn said<T: Display>(what: &[T], text: impl Fn(&str) -> String) -> Vec<String> {
    let listed = what.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    (!what.is_empty()).then(|| text(&listed)).into_iter().collect()
}

/// Returns whether the limit `new` allows more than the limit `old`; `None` means no limit.
fn is_wider(old: Option<u64>, new: Option<u64>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => new > old,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn longer(what: &str, old: Option<u64>, new: Option<u64>) -> Option<String> {
    let text =
        |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |millis| duration_text(Duration::from_millis(millis)));
    is_wider(old, new).then(|| format!("{what} {} instead of {}", text(new), text(old)))
}

fn percent(basis_points: u32) -> String {
    format!("{}.{:02} %", basis_points / 100, basis_points % 100)
}

#[cfg(test)]
mod tests;
