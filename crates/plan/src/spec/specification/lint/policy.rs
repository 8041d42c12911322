//! Lint rules for the validation policy: a tool and its category agree, and a limit on warnings has an effect.

use serde_json::Value;

use crate::spec::specification::lint::subject::Subject;
use proctor_model::Problem;

const POLICY: &str = "/globalConfiguration/validationPolicy";

/// The values of `blockOn` with which a limit on warnings has no effect (C25).
const WITHOUT_LIMIT: &[&str] = &["ERRORS_AND_WARNINGS", "WARN_ONLY", "NEVER"];

/// The policy of one tool as the specification has it, with the strategy of the tool's category.
struct Tool<'s> {
    pointer: String,
    name: &'s str,
    strategy: Option<&'s str>,
    policy: &'s Value,
}

/// Notes tools whose `blockOn` differs from the strategy of their category.
pub(super) fn strategies(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = tools(subject).into_iter().filter_map(|tool| {
        let strategy = tool.strategy?;
        let block_on = tool.policy.get("blockOn")?.as_str()?;
        let differs = strategy.strip_prefix("BLOCK_ON_").unwrap_or(strategy) != block_on;
        let message = format!("`{}` follows its own `{block_on}`, not the category's `{strategy}`", tool.name);
        differs.then(|| Problem::new(format!("{}/blockOn", tool.pointer), message))
    });
    findings.collect()
}

/// Notes `maxWarnings` under a `blockOn` with which it has no effect.
pub(super) fn limits(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = tools(subject).into_iter().filter_map(|tool| {
        tool.policy.get("maxWarnings")?.as_u64()?;
        let own = tool.policy.get("blockOn").and_then(Value::as_str);
        let block_on = own.or_else(|| tool.strategy.map(|strategy| strategy.strip_prefix("BLOCK_ON_").unwrap_or(strategy)))?;
        let message = format!("a number of warnings changes nothing under `{block_on}`");
        let hint = "it does under `ERRORS_ONLY` and `ERRORS_ALWAYS`";
        WITHOUT_LIMIT.contains(&block_on).then(|| Problem::new(format!("{}/maxWarnings", tool.pointer), message).hint(hint))
    });
    findings.collect()
}

/// Notes strictness settings for type checkers. The settings are compared with the project later, if the project's
/// files can be read.
pub(super) fn strictness(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = tools(subject).into_iter().flat_map(|tool| {
        let said = ["strictMode", "allowImplicitAny"].into_iter().filter(|key| tool.policy.get(key).is_some());
        let finding = |key: &str| {
            let message = format!("`{key}` is not compared with what `{}` is set to in the project", tool.name);
            Problem::new(format!("{}/{key}", tool.pointer), message)
        };
        said.map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

fn tools<'s>(subject: &Subject<'s>) -> Vec<Tool<'s>> {
    let categories = ["linting", "typeChecking"].into_iter().filter_map(|category| {
        let pointer = format!("{POLICY}/{category}");
        Some((subject.document.pointer(&pointer)?, pointer))
    });
    let for_category = |(category, pointer): (&'s Value, String)| {
        let strategy = category.get("strategy").and_then(Value::as_str);
        let tools = category.get("tools").and_then(Value::as_object);
        let tool = move |(name, policy): (&'s String, &'s Value)| Tool {
            pointer: format!("{pointer}/tools/{name}"),
            name,
            strategy,
            policy,
        };
        tools.into_iter().flatten().map(tool).collect::<Vec<_>>()
    };
    categories.flat_map(for_category).collect()
}
