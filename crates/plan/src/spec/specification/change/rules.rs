//! The rules by which changes of a specification's keys are judged (C80).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use proctor_model::{ChangeEffect, has_word};

use ChangeRule::{
    AddedDemands, Another, ExpectsAnother, FalseDemandsMore, FewerDemandMore, LessDemandsMore, MoreDemandMore, MoreDemandsMore,
    OnlyRemovedWeakens, Ordered, TrueDemandsMore, Words,
};

/// How changes of a key are judged. A change to a stricter value strengthens; a change to a less strict value weakens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeRule {
    /// A text for people; a change has no effect on runs.
    Words,
    /// A value that decides which command is run or which request is sent; every change weakens.
    Another,
    /// A value that a result is compared with. Adding one strengthens; changing or removing it weakens.
    ExpectsAnother,
    /// A number; a smaller one is stricter. A missing value means the given default.
    LessDemandsMore(Unsaid),
    /// A number; a larger one is stricter. Adding or removing it is unexplained.
    MoreDemandsMore,
    /// A set of allowed values; a smaller set is stricter. A missing set means the given default.
    FewerDemandMore(Absent),
    /// A set of required values; a larger set is stricter. A missing set means the given default.
    MoreDemandMore(Absent),
    /// List elements with ids; adding one strengthens, removing one weakens.
    AddedDemands,
    /// List elements with ids; removing one weakens. Adding one is unexplained, because it may prepare what the steps
    /// find.
    OnlyRemovedWeakens,
    /// Words from the strictest to the least strict, and the word that a missing value means, if any.
    Ordered(&'static [&'static str], Option<&'static str>),
    /// A flag; true is stricter.
    TrueDemandsMore,
    /// A flag; false is stricter. A missing flag means the given value.
    FalseDemandsMore(bool),
}

/// What a missing set means when adding or removing its key is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// A missing set means the set of these numbers.
    Holds(&'static [i64]),
    /// A missing set means the set of all values.
    Everything,
    /// A default that is not known here, so the change cannot be judged.
    Elsewhere,
}

/// What a missing number means when adding or removing its key is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    Zero,
    /// A default that is not known here, so the change cannot be judged.
    Elsewhere,
}

/// The values of `blockOn`, the strictest first (J3). The values of `strategy` have the prefix `BLOCK_ON_`.
const BLOCK_ON: &[&str] = &["ERRORS_AND_WARNINGS", "ERRORS_ALWAYS", "ERRORS_ONLY", "WARN_ONLY", "NEVER"];

/// The rules for the keys of schema 2.0.0 and of proctor's additions. A change of any other key is unexplained.
const RULES: &[(ChangeRule, &str)] = &[
    (
        Words,
        "\
        $schema title taskTitle description references author generatedAt generatedBy projectName priority scenario \
        suggestedFix sprintId validationPolicyRationale version",
    ),
    (
        Another,
        "\
        argv arguments body checkCommand command containerOrImage environment filePath formData headers healthCheckUrl \
        interpreter method parameters port query ready script scriptPath service shell review tool type url validationType \
        workingDirectory defaultShell workspaceRoot scriptDirectory",
    ),
    (
        ExpectsAnother,
        "\
        condition containsText containsValues contentRegex exitCode expectedContent expectedHash expectedStatus jsonSchema \
        matchesRegex minSize maxSize rowSchema schema",
    ),
    (LessDemandsMore(Unsaid::Zero), "retryAttempts"),
    (
        LessDemandsMore(Unsaid::Elsewhere),
        "timeout defaultTimeout startupTimeout waitTimeout attemptTimeout connectionTimeout queryTimeout maxWarnings",
    ),
    (MoreDemandsMore, "minimumPassRate"),
    (FewerDemandMore(Absent::Holds(&[0])), "expectedExitCodes"),
    (FewerDemandMore(Absent::Holds(&[])), "expectedFailingTests writes"),
    (FewerDemandMore(Absent::Elsewhere), "ignoredRules"),
    (MoreDemandMore(Absent::Holds(&[])), "after dependencies requiredEvidence stdoutContains"),
    (MoreDemandMore(Absent::Everything), "severityLevels"),
    (MoreDemandMore(Absent::Elsewhere), "errorOnRules"),
    (AddedDemands, "failureConditions steps successConditions tasks"),
    (OnlyRemovedWeakens, "cleanup prerequisites"),
    (Ordered(BLOCK_ON, None), "blockOn strategy"),
    (Ordered(&["PASS", "FAIL"], Some("PASS")), "expectedOutcome"),
    (TrueDemandsMore, "allStepsMustPass enabled stderrEmpty strictMode taskStatusLock treatWarningsAsErrors validateSSL"),
    (FalseDemandsMore(false), "continueOnFailure parallelExecution"),
    // Without `allowImplicitAny` nothing is compared, and without `followRedirects` redirections are followed, so both
    // defaults are the less strict ones.
    (FalseDemandsMore(true), "allowImplicitAny followRedirects"),
];

/// Keys whose objects are passed on unchanged, for example to a request. The keys inside are the user's own and have no
/// rules.
const DATA: &[&str] =
    &["body", "containsValues", "environment", "formData", "headers", "jsonSchema", "query", "rowSchema", "schema"];

/// The value that a misspelt `blockOn` is taken for when its correction is judged: the default of most tools (C20).
const USUAL_BLOCK: &str = "ERRORS_ONLY";

/// Returns the key whose rule applies to `key`. `holder` is the key of the object that contains it, and `rule` is the
/// key whose rule applies to that object.
pub(super) fn rule_key<'k>(holder: &str, rule: &str, key: &'k str) -> &'k str {
    // The keys of `tasks` are the ids of tasks.
    if holder == "tasks" && rule_of(key).is_none() {
        return "tasks";
    }
    // A change anywhere inside an object that is passed on counts as a change of the whole object.
    if DATA.contains(&rule) { DATA[0] } else { key }
}

/// Returns whether a change only corrects a wrong value: the new value has the same meaning, or is no less strict than a missing
/// value. If no rule lists the key, or the value is one that a result is compared with, every change counts as a correction.
pub(super) fn mends(
    rule: Option<ChangeRule>,
    judged: Option<ChangeEffect>,
    before: Option<&Value>,
    after: Option<&Value>,
) -> bool {
    let no_less = |effect: Option<ChangeEffect>| effect.is_some_and(|effect| !effect.needs_person());
    match (rule, judged) {
        (None | Some(ExpectsAnother), _) => true,
        (Some(_), _) if says(before, after) || says(after, before) => true,
        // Replacing a command by another one is never a correction.
        (Some(Another), _) => before.is_none(),
        (Some(Ordered(BLOCK_ON, None)), _) => no_less(judge(Ordered(BLOCK_ON, None), Some(&USUAL_BLOCK.into()), after)),
        (Some(LessDemandsMore(Unsaid::Elsewhere)), None) => true,
        (Some(rule @ Ordered(..)), _) | (Some(rule), None) => no_less(judge(rule, None, after)),
        (Some(_), effect) => no_less(effect),
    }
}

/// Returns whether a wrong value means the right value: as the same value written as a text, or as the only element of
/// the right list.
fn says(before: Option<&Value>, after: Option<&Value>) -> bool {
    match (before, after) {
        (Some(Value::String(text)), Some(after)) => serde_json::from_str(text).is_ok_and(|value: Value| value == *after),
        (Some(before), Some(Value::Array(after))) => after.as_slice() == std::slice::from_ref(before),
        (_, _) => false,
    }
}

/// Returns the rule by which changes of a key are judged; `None` if no rule lists the key.
pub(super) fn rule_of(key: &str) -> Option<ChangeRule> {
    RULES.iter().find(|(_, keys)| has_word(keys, key)).map(|(rule, _)| *rule)
}

/// Returns the effect of a change by a rule; `None` if the values do not have the type that the rule expects.
pub(super) fn judge(rule: ChangeRule, before: Option<&Value>, after: Option<&Value>) -> Option<ChangeEffect> {
    let before = before.filter(|value| !value.is_null());
    let after = after.filter(|value| !value.is_null());
    match rule {
        Words => Some(ChangeEffect::Wording),
        Another => Some(ChangeEffect::Weakens),
        ExpectsAnother => Some(if before.is_none() { ChangeEffect::Strengthens } else { ChangeEffect::Weakens }),
        AddedDemands | OnlyRemovedWeakens => match (before, after, rule) {
            (None, Some(_), AddedDemands) => Some(ChangeEffect::Strengthens),
            (Some(_), None, _) => Some(ChangeEffect::Weakens),
            (_, _, _) => None,
        },
        LessDemandsMore(unsaid) => number(before, unsaid)?.partial_cmp(&number(after, unsaid)?).map(effect_of),
        MoreDemandsMore => after?.as_f64()?.partial_cmp(&before?.as_f64()?).map(effect_of),
        FewerDemandMore(absent) => effect_of_sets(set(before, absent)?, set(after, absent)?),
        MoreDemandMore(absent) => effect_of_sets(set(after, absent)?, set(before, absent)?),
        Ordered(words, unsaid) => {
            let place = |value: Option<&Value>| {
                let word = value.map_or(unsaid, Value::as_str)?;
                words.iter().position(|known| word.strip_prefix("BLOCK_ON_").unwrap_or(word) == *known)
            };
            Some(effect_of(place(before)?.cmp(&place(after)?)))
        }
        // The meaning of a missing value is not known. So adding or removing a value is judged as a change to or from
        // the opposite value.
        TrueDemandsMore => match (before.map(Value::as_bool), after.map(Value::as_bool)) {
            (Some(None), _) | (_, Some(None)) | (None, None) => None,
            (_, Some(Some(after))) => Some(effect_of(after.cmp(&!after))),
            (Some(Some(before)), None) => Some(effect_of((!before).cmp(&before))),
        },
        FalseDemandsMore(unsaid) => {
            let is = |value: Option<&Value>| value.map_or(Some(unsaid), Value::as_bool);
            Some(effect_of(is(before)?.cmp(&is(after)?)))
        }
    }
}

/// Returns the effect of a change from whether the new value is stricter (`Greater`) or less strict (`Less`). Writing
/// down a default is only a change of wording.
fn effect_of(demand: Ordering) -> ChangeEffect {
    match demand {
        Ordering::Greater => ChangeEffect::Strengthens,
        Ordering::Equal => ChangeEffect::Wording,
        Ordering::Less => ChangeEffect::Weakens,
    }
}

/// Returns the effect of a change from the set `larger` to the set `smaller`, for sets that are stricter with fewer
/// elements. If some elements are added and others removed, the change weakens. `None` means the set of all values.
fn effect_of_sets(larger: Option<BTreeSet<String>>, smaller: Option<BTreeSet<String>>) -> Option<ChangeEffect> {
    Some(effect_of(match (larger, smaller) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(larger), Some(smaller)) if larger == smaller => Ordering::Equal,
        (Some(larger), Some(smaller)) if smaller.is_subset(&larger) => Ordering::Greater,
        (Some(_), Some(_)) => Ordering::Less,
    }))
}

fn number(value: Option<&Value>, unsaid: Unsaid) -> Option<f64> {
    match (value, unsaid) {
        (Some(value), _) => value.as_f64(),
        (None, Unsaid::Zero) => Some(0.0),
        (None, Unsaid::Elsewhere) => None,
    }
}

/// Returns a value as a set. The inner `None` means the set of all values, the outer `None` that the set is not known.
#[expect(clippy::option_option, reason = "what is not known is not what holds everything")]
fn set(value: Option<&Value>, absent: Absent) -> Option<Option<BTreeSet<String>>> {
    match (value, absent) {
        (Some(value), _) => Some(Some(value.as_array()?.iter().map(Value::to_string).collect())),
        (None, Absent::Holds(numbers)) => Some(Some(numbers.iter().map(|number| json!(number).to_string()).collect())),
        (None, Absent::Everything) => Some(None),
        (None, Absent::Elsewhere) => None,
    }
}
