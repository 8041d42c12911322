//! What a change of each key means: the table of C80, and judging by it.

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
    FewerDemandMore(&'static [i64]),
    /// A set: what is added to it is demanded too.
    MoreDemandMore,
    /// Elements of a list that are known by their ids: one more demands more, one less weakens.
    AddedDemands,
    /// Elements likewise, of which one more may prepare what others find.
    OnlyRemovedWeakens,
    /// Words from the strictest to the laxest; the last is what stands for an absent one, where there is any.
    Ordered(&'static [&'static str], Option<&'static str>),
    /// True demands more.
    TrueDemandsMore,
    /// False demands more, and is what an absent one means.
    FalseDemandsMore,
}

/// What an absent number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// No limit.
    Unlimited,
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
            "tool",
            "type",
            "url",
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
            "validationType",
        ],
    ),
    (LessDemandsMore(Unsaid::Unlimited), &["maxWarnings"]),
    (LessDemandsMore(Unsaid::Zero), &["retryAttempts"]),
    (
        LessDemandsMore(Unsaid::Elsewhere),
        &["timeout", "defaultTimeout", "startupTimeout", "waitTimeout", "attemptTimeout", "connectionTimeout", "queryTimeout"],
    ),
    (MoreDemandsMore, &["minimumPassRate"]),
    (FewerDemandMore(&[0]), &["expectedExitCodes"]),
    (FewerDemandMore(&[]), &["ignoredRules", "expectedFailingTests"]),
    (MoreDemandMore, &["after", "dependencies", "errorOnRules", "requiredEvidence", "severityLevels", "stdoutContains"]),
    (AddedDemands, &["failureConditions", "steps", "successConditions", "tasks"]),
    (OnlyRemovedWeakens, &["cleanup", "prerequisites"]),
    (Ordered(BLOCK_ON, None), &["blockOn", "strategy"]),
    (Ordered(&["PASS", "FAIL"], Some("PASS")), &["expectedOutcome"]),
    (
        TrueDemandsMore,
        &["allStepsMustPass", "enabled", "stderrEmpty", "strictMode", "taskStatusLock", "treatWarningsAsErrors", "validateSSL"],
    ),
    (FalseDemandsMore, &["allowImplicitAny", "continueOnFailure", "followRedirects", "parallelExecution"]),
];

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
        LessDemandsMore(unsaid) => {
            let (before, after) = (number(before, unsaid)?, number(after, unsaid)?);
            Some(demands_more(after < before))
        }
        MoreDemandsMore => Some(demands_more(after?.as_f64()? > before?.as_f64()?)),
        FewerDemandMore(unsaid) => {
            let (before, after) = (set(before, unsaid)?, set(after, unsaid)?);
            Some(if before == after { ChangeEffect::Wording } else { demands_more(after.is_subset(&before)) })
        }
        MoreDemandMore => {
            let (before, after) = (set(before, &[])?, set(after, &[])?);
            Some(if before == after { ChangeEffect::Wording } else { demands_more(after.is_superset(&before)) })
        }
        Ordered(words, unsaid) => {
            let place = |value: Option<&Value>| {
                let word = value.map_or(unsaid, Value::as_str)?;
                words.iter().position(|known| word.strip_prefix("BLOCK_ON_").unwrap_or(word) == *known)
            };
            Some(demands_more(place(after)? < place(before)?))
        }
        TrueDemandsMore => match (before.map(Value::as_bool), after.map(Value::as_bool)) {
            (Some(None), _) | (_, Some(None)) => None,
            (_, Some(Some(after))) => Some(demands_more(after)),
            (Some(Some(before)), None) => Some(demands_more(!before)),
            (None, None) => None,
        },
        FalseDemandsMore => {
            let is = |value: Option<&Value>| value.map_or(Some(false), Value::as_bool);
            let (before, after) = (is(before)?, is(after)?);
            Some(if before == after { ChangeEffect::Wording } else { demands_more(before) })
        }
    }
}

fn demands_more(is_so: bool) -> ChangeEffect {
    if is_so { ChangeEffect::Strengthens } else { ChangeEffect::Weakens }
}

fn number(value: Option<&Value>, unsaid: Unsaid) -> Option<f64> {
    match (value, unsaid) {
        (Some(value), _) => value.as_f64(),
        (None, Unsaid::Unlimited) => Some(f64::INFINITY),
        (None, Unsaid::Zero) => Some(0.0),
        (None, Unsaid::Elsewhere) => None,
    }
}

fn set(value: Option<&Value>, unsaid: &[i64]) -> Option<BTreeSet<String>> {
    match value {
        Some(value) => Some(value.as_array()?.iter().map(Value::to_string).collect()),
        None => Some(unsaid.iter().map(|number| json!(number).to_string()).collect()),
    }
}
