//! Makes the settings for a task's debt from the specification's general settings and the task's likely failures.

use crate::spec::specification::{RawDebtConfiguration, RawLikelyFailure, RawTask};
use proctor_model::{DebtSettings, LikelyFailure};

/// Returns the settings for a task's debt. Missing values are the defaults of schema 2.0.0.
pub(super) fn debt(configuration: Option<&RawDebtConfiguration>, task: &RawTask) -> DebtSettings {
    let usual = DebtSettings::default();
    let thresholds = configuration.and_then(|said| said.capacity_thresholds.as_ref());
    let severities = configuration.and_then(|said| said.severity_levels.as_ref());
    let likely = task.technical_debt_expectations.iter().flat_map(|expected| &expected.likely_failures);
    DebtSettings {
        enabled: configuration.map_or(usual.enabled, |said| said.enabled),
        routing: configuration.map_or(usual.routing, |said| said.routing_strategy),
        sprint_max_items: thresholds.and_then(|said| said.sprint_tasks_max_items).unwrap_or(usual.sprint_max_items),
        sprint_max_critical: thresholds.and_then(|said| said.sprint_tasks_max_critical).unwrap_or(usual.sprint_max_critical),
        severities: severities.map_or(usual.severities, |said| said.to_vec()),
        likely_failures: likely.map(likely_failure).collect(),
        dependencies: task.dependencies.clone(),
    }
}

fn likely_failure(raw: &RawLikelyFailure) -> LikelyFailure {
    LikelyFailure {
        scenario: raw.scenario.clone(),
        category: raw.expected_debt_category,
        severity: raw.expected_severity,
        suggested_fix: raw.suggested_fix.clone(),
    }
}
