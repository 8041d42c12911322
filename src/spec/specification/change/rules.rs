//! What a change of each key means: the table of C80, and judging by it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::ChangeEffect;

use Rule::{
    AddedDemands, Another, ExpectsAnother, FalseDemandsMore, FewerDemandMore, LessDemandsMore, MoreDemandMore, MoreDemandsMore,
    OnlyRemovedWeakens, Ordered, TrueDemandsMore, Words,
};

/// What a change of a key's value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Nothing for a run.
    Words,
    /// Something else is run or asked.
    Another,
    /// Something else is expected; an expectation that is added demands more.
    ExpectsAnother,
    /// A number or its absence, which stands for the second: a smaller one demands more.
    LessDemandsMore(Unsaid),
    /// A number: a larger one demands more.
    MoreDemandsMore,
    /// A set: what is added to it is let through.
    FewerDemandMore(Absent),
    /// A set: what is added to it is demanded too.
    MoreDemandMore(Absent),
    /// Elements of a list that are known by their ids: one more demands more, one less weakens.
    AddedDemands,
    /// Elements likewise, of which one more may prepare what others find.
    OnlyRemovedWeakens,
    /// Words from the strictest to the laxest; the last is what stands for an absent one, where there is any.
    Ordered(&'static [&'static str], Option<&'static str>),
    /// True demands more.
    TrueDemandsMore,
    /// False demands more; what an absent one means.
    FalseDemandsMore(bool),
}

/// What an absent set stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// These numbers.
    Holds(&'static [i64]),
    /// Everything there is.
    Everything,
    /// A default that is written elsewhere.
    Elsewhere,
}

/// What an absent number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// 0.
    Zero,
    /// A default that is written elsewhere.
    Elsewhere,
}

/// When findings block, the strictest first (R3). The words of a `strategy` begin with `BLOCK_ON_`.
const BLOCK_ON: &[&str] = &["ERRORS_AND_WARNINGS", "ERRORS_ALWAYS", "ERRORS_ONLY", "WARN_ONLY", "NEVER"];

/// The keys of schema 2.0.0 and its additions by which a change is judged. A key that is not here is explained by no rule.
const RULES: &[(Rule, &[&str])] = &[
    (
        Words,
        &[
            "$schema",
            "title",
            "taskTitle",
            "description",
            "references",
            "author",
            "generatedAt",
            "generatedBy",
            "projectName",
            "priority",
            "scenario",
            "suggestedFix",
            "sprintId",
            "validationPolicyRationale",
            "version",
        ],
    ),
    (
        Another,
        &[
            "argv",
            "arguments",
            "body",
            "checkCommand",
            "command",
            "containerOrImage",
            "environment",
            "filePath",
            "formData",
            "headers",
            "healthCheckUrl",
            "interpreter",
            "method",
            "parameters",
            "port",
            "query",
            "ready",
            "script",
            "scriptPath",
            "service",
            "shell",
            "review",
            "tool",
            "type",
            "url",
            "validationType",
            "workingDirectory",
            "defaultShell",
            "workspaceRoot",
            "scriptDirectory",
        ],
    ),
    (
        ExpectsAnother,
        &[
            "condition",
            "containsText",
            "containsValues",
            "contentRegex",
            "exitCode",
            "expectedContent",
            "expectedHash",
            "expectedStatus",
            "jsonSchema",
            "matchesRegex",
            "minSize",
            "maxSize",
            "rowSchema",
            "schema",
        ],
    ),
    (LessDemandsMore(Unsaid::Zero), &["retryAttempts"]),
    (
        LessDemandsMore(Unsaid::Elsewhere),
        &[
            "timeout",
            "defaultTimeout",
            "startupTimeout",
            "waitTimeout",
            "attemptTimeout",
            "connectionTimeout",
            "queryTimeout",
            "maxWarnings",
        ],
    ),
    (MoreDemandsMore, &["minimumPassRate"]),
    (FewerDemandMore(Absent::Holds(&[0])), &["expectedExitCodes"]),
    (FewerDemandMore(Absent::Holds(&[])), &["expectedFailingTests"]),
    (FewerDemandMore(Absent::Elsewhere), &["ignoredRules"]),
    (MoreDemandMore(Absent::Holds(&[])), &["after", "dependencies", "requiredEvidence", "stdoutContains"]),
    (MoreDemandMore(Absent::Everything), &["severityLevels"]),
    (MoreDemandMore(Absent::Elsewhere), &["errorOnRules"]),
    (AddedDemands, &["failureConditions", "steps", "successConditions", "tasks"]),
    (OnlyRemovedWeakens, &["cleanup", "prerequisites"]),
    (Ordered(BLOCK_ON, None), &["blockOn", "strategy"]),
    (Ordered(&["PASS", "FAIL"], Some("PASS")), &["expectedOutcome"]),
    (
        TrueDemandsMore,
        &["allStepsMustPass", "enabled", "stderrEmpty", "strictMode", "taskStatusLock", "treatWarningsAsErrors", "validateSSL"],
    ),
    (FalseDemandsMore(false), &["continueOnFailure", "parallelExecution"]),
    // Nothing is compared with a project's strictness where nothing is said of it, and redirections are followed then.
    (FalseDemandsMore(true), &["allowImplicitAny", "followRedirects"]),
];

/// Keys whose objects are handed on as they are: the names in them are the users' own, and none of ours.
const DATA: &[&str] =
    &["body", "containsValues", "environment", "formData", "headers", "jsonSchema", "query", "rowSchema", "schema"];

/// What stands in for a word that was wrong: the default of most tools (C20).
const USUAL_BLOCK: &str = "ERRORS_ONLY";

/// Returns the key by whose rule a key is judged that stands in an object: `holder` is the object's own, `rule` the one that it is
/// judged by itself.
pub(super) fn rule_key<'k>(holder: &str, rule: &str, key: &'k str) -> &'k str {
    // Of tasks the ids are the keys.
    if holder == "tasks" && rule_of(key).is_none() {
        return "tasks";
    }
    // Whatever is handed on is another thing when any of it is.
    if DATA.contains(&rule) { DATA[0] } else { key }
}

/// Returns whether what stands there now only mends a wrong value: it says what the wrong one said, or demands no less than none would.
pub(super) fn mends(rule: Option<Rule>, judged: Option<ChangeEffect>, before: Option<&Value>, after: Option<&Value>) -> bool {
    let no_less = |effect: Option<ChangeEffect>| effect.is_some_and(|effect| !effect.needs_person());
    match (rule, judged) {
        (None | Some(ExpectsAnother), _) => true,
        (Some(_), _) if says(before, after) || says(after, before) => true,
        // A command that is exchanged for another one is another one.
        (Some(Another), _) => before.is_none(),
        (Some(Ordered(BLOCK_ON, None)), _) => no_less(judge(Ordered(BLOCK_ON, None), Some(&USUAL_BLOCK.into()), after)),
        (Some(LessDemandsMore(Unsaid::Elsewhere)), None) => true,
        (Some(rule @ Ordered(..)), _) | (Some(rule), None) => no_less(judge(rule, None, after)),
        (Some(_), effect) => no_less(effect),
    }
}

/// Returns whether a wrong value is the right one, as a text or without its list.
fn says(before: Option<&Value>, after: Option<&Value>) -> bool {
    match (before, after) {
        (Some(Value::String(text)), Some(after)) => serde_json::from_str(text).is_ok_and(|value: Value| value == *after),
        (Some(before), Some(Value::Array(after))) => after.as_slice() == std::slice::from_ref(before),
        (_, _) => false,
    }
}

/// Returns the rule of a key.
pub(super) fn rule_of(key: &str) -> Option<Rule> {
    RULES.iter().find(|(_, keys)| keys.contains(&key)).map(|(rule, _)| *rule)
}

/// Says what a change means by a rule; none where the values are not of the kind the rule knows.
pub(super) fn judge(rule: Rule, before: Option<&Value>, after: Option<&Value>) -> Option<ChangeEffect> {
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
        // What an absent one stands for is not known, so that to say it or to leave it out is what the value is.
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

/// Returns what a change means by how much more is demanded behind it. What only says a default, or says the same in another word, is
/// wording.
fn effect_of(demand: Ordering) -> ChangeEffect {
    match demand {
        Ordering::Greater => ChangeEffect::Strengthens,
        Ordering::Equal => ChangeEffect::Wording,
        Ordering::Less => ChangeEffect::Weakens,
    }
}

/// Returns what a change means where the smaller set demands more, and one that lacks and adds weakens. None stands for everything.
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

/// Returns a set, whose none stands for everything; none at all where it is not known.
#[expect(clippy::option_option, reason = "what is not known is not what holds everything")]
fn set(value: Option<&Value>, absent: Absent) -> Option<Option<BTreeSet<String>>> {
    match (value, absent) {
        (Some(value), _) => Some(Some(value.as_array()?.iter().map(Value::to_string).collect())),
        (None, Absent::Holds(numbers)) => Some(Some(numbers.iter().map(|number| json!(number).to_string()).collect())),
        (None, Absent::Everything) => Some(None),
        (None, Absent::Elsewhere) => None,
    }
}
