//! Decides the policy of a tool (C20–C25). The specification's setting for the tool comes first, then its setting for
//! the tool's category, then `proctor.toml` and the project's scripts.

use crate::config::Configuration;
use crate::spec::policy::resolve_policy;
use crate::spec::specification::{RawLintToolPolicy, RawTypeCheckToolPolicy, RawValidationPolicy, Specification};
use proctor_model::{BlockOn, PolicyCategory, PolicySource, Tool, ToolPolicy};
use proctor_tools::FoundPolicy;

/// What a specification says about the policy of one tool and of its category.
#[derive(Default)]
struct Said<'s> {
    /// The tool's key under `tools` of its category, such as `eslint`.
    key: &'static str,
    enabled: Option<bool>,
    block_on: Option<BlockOn>,
    strategy: Option<BlockOn>,
    lint: Option<&'s RawLintToolPolicy>,
}

/// Returns what the specification says about the strictness of type checkers, one line for each setting.
pub(super) fn strictness_terms(policy: Option<&RawValidationPolicy>) -> Vec<String> {
    let tools = policy.and_then(|policy| policy.type_checking.as_ref()).map(|checking| &checking.tools);
    let of = |tool: &str, policy: Option<&RawTypeCheckToolPolicy>| {
        let said = policy.map(|policy| [("strictMode", policy.strict_mode), ("allowImplicitAny", policy.allow_implicit_any)]);
        let lines = said.into_iter().flatten().filter_map(|(key, value)| Some(format!("{tool}.{key}: {}", value?)));
        lines.collect::<Vec<_>>()
    };
    tools.map_or_else(Vec::new, |tools| tools.named().into_iter().flat_map(|(tool, policy)| of(tool, policy)).collect())
}

/// Returns the policy of a tool; `None` for tools without a policy.
pub(super) fn task_policy(
    tool: Tool,
    specification: &Specification,
    configuration: &Configuration,
    found: Option<&FoundPolicy>,
) -> Option<ToolPolicy> {
    let base = resolve_policy(tool, configuration, None, found)?;
    let category = tool.policy_category()?;
    let Some(policy) = &specification.raw.global_configuration.validation_policy else { return Some(base) };
    let said = specified_policy(policy, tool, category);
    let key = category_key(category);
    let place = |rest: &str| format!("{} validationPolicy.{key}.{rest}", specification.file);
    let (block_on, source) = match (said.enabled, said.block_on, said.strategy) {
        (Some(false), ..) => (BlockOn::Never, PolicySource::Disabled(place(&format!("tools.{}.enabled", said.key)))),
        (_, Some(own), _) => (own, PolicySource::Configured(place(&format!("tools.{}.blockOn", said.key)))),
        (_, None, Some(strategy)) => (strategy, PolicySource::Configured(place("strategy"))),
        (_, None, None) => (base.block_on, base.source),
    };
    let lint = said.lint;
    Some(ToolPolicy {
        block_on,
        source,
        treat_warnings_as_errors: lint.and_then(|lint| lint.treat_warnings_as_errors).unwrap_or(base.treat_warnings_as_errors),
        max_warnings: lint.and_then(|lint| lint.max_warnings).or(base.max_warnings),
        ignored_rules: lint.and_then(|lint| lint.ignored_rules.clone()).unwrap_or(base.ignored_rules),
        error_on_rules: lint.and_then(|lint| lint.error_on_rules.clone()).unwrap_or(base.error_on_rules),
    })
}

fn specified_policy(policy: &RawValidationPolicy, tool: Tool, category: PolicyCategory) -> Said<'_> {
    match category {
        PolicyCategory::Linting => {
            let Some(linting) = &policy.linting else { return Said::default() };
            // The format has no key for some linters, such as Ruff. For these the strategy of the category applies.
            let lint = linting.tools.of(tool.report_name());
            Said {
                key: tool.report_name(),
                enabled: lint.and_then(|lint| lint.enabled),
                block_on: lint.and_then(|lint| lint.block_on),
                strategy: linting.strategy.map(BlockOn::from),
                lint,
            }
        }
        PolicyCategory::TypeChecking => {
            let Some(checking) = &policy.type_checking else { return Said::default() };
            let types = checking.tools.of(tool.report_name());
            Said {
                key: tool.report_name(),
                enabled: types.and_then(|types| types.enabled),
                block_on: types.and_then(|types| types.block_on).map(BlockOn::from),
                strategy: checking.strategy.map(BlockOn::from),
                lint: None,
            }
        }
        PolicyCategory::Compilation => {
            let strategy = policy.compilation.as_ref().and_then(|compilation| compilation.strategy);
            Said { strategy: strategy.map(BlockOn::from), ..Said::default() }
        }
    }
}

fn category_key(category: PolicyCategory) -> &'static str {
    match category {
        PolicyCategory::Linting => "linting",
        PolicyCategory::TypeChecking => "typeChecking",
        PolicyCategory::Compilation => "compilation",
    }
}
