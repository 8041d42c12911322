//! Reads `[policy]` and the `policy` of one check.

use crate::config::section::{Document, Section};
use crate::config::settings::{PolicyOverride, PolicySettings, RuleOverride, WarningOverride};
use crate::config::values::{boolean, choice, count, filled_text, list};
use proctor_model::{BlockOn, PolicyCategory, PolicyOptions, Tool, ToolClass};

pub(super) fn read_policy(top: &Section<'_>, document: &mut Document<'_>) -> PolicySettings {
    let section = top.table(document, "policy");
    let judged = Tool::ALL.into_iter().filter(|tool| tool.class() == ToolClass::Validation);
    let strategy =
        |category: PolicyCategory| Some((category, section.optional(document, category.key(), choice(&BlockOn::WORDS))?));
    PolicySettings {
        categories: PolicyCategory::ALL.into_iter().filter_map(strategy).collect(),
        tools: judged.map(|tool| (tool, read_tool(tool, &section, document))).collect(),
    }
}

fn read_tool(tool: Tool, section: &Section<'_>, document: &mut Document<'_>) -> PolicyOverride {
    let section = section.table(document, tool.word());
    match tool.findings().map(|findings| findings.options) {
        Some(PolicyOptions::WarningsAndRules) => read_override(&section, document),
        Some(PolicyOptions::None) | None => read_plain(&section, document),
    }
}

/// Reads the policy of one tool or of one check. Later code checks that the tool supports every key that is written,
/// because the tool of a check may not be known yet.
pub(super) fn read_override(section: &Section<'_>, document: &mut Document<'_>) -> PolicyOverride {
    const RULES: &str = "[\"no-console\"]";
    let rules = || list(filled_text("\"no-console\""), RULES);
    PolicyOverride {
        warnings: WarningOverride {
            as_errors: section.optional(document, "treat_warnings_as_errors", boolean),
            at_most: section.optional(document, "max_warnings", count(0..=u32::MAX, "10")),
        },
        rules: RuleOverride {
            ignored: section.optional(document, "ignored_rules", rules()),
            as_errors: section.optional(document, "error_on_rules", rules()),
        },
        ..read_plain(section, document)
    }
}

fn read_plain(section: &Section<'_>, document: &mut Document<'_>) -> PolicyOverride {
    PolicyOverride {
        enabled: section.optional(document, "enabled", boolean),
        block_on: section.optional(document, "block_on", choice(&BlockOn::WORDS)),
        ..PolicyOverride::default()
    }
}
