//! How a task's debt is written down: what the specification says of all tasks, and the failures this one calls likely.

use crate::model::{DebtCategory, DebtRouting, DebtSettings, LikelyFailure, Severity};
use crate::spec::specification::{
    RawDebtCategory, RawDebtConfiguration, RawLikelyFailure, RawRoutingStrategy, RawSeverity, RawTask,
};

/// Returns how a task's debt is written down. What is not said is schema 2.0.0's own.
pub(super) fn debt(configuration: Option<&RawDebtConfiguration>, task: &RawTask) -> DebtSettings {
    let usual = DebtSettings::default();
    let thresholds = configuration.and_then(|said| said.capacity_thresholds.as_ref());
    let severities = configuration.and_then(|said| said.severity_levels.as_ref());
    let likely = task.technical_debt_expectations.iter().flat_map(|expected| &expected.likely_failures);
    DebtSettings {
        enabled: configuration.map_or(usual.enabled, |said| said.enabled),
        routing: configuration.map_or(usual.routing, |said| routing(said.routing_strategy)),
        sprint_max_items: thresholds.and_then(|said| said.sprint_tasks_max_items).unwrap_or(usual.sprint_max_items),
        sprint_max_critical: thresholds.and_then(|said| said.sprint_tasks_max_critical).unwrap_or(usual.sprint_max_critical),
        severities: severities.map_or(usual.severities, |said| said.iter().copied().map(severity).collect()),
        likely_failures: likely.map(likely_failure).collect(),
        dependencies: task.dependencies.clone(),
    }
}

fn likely_failure(raw: &RawLikelyFailure) -> LikelyFailure {
    LikelyFailure {
        scenario: raw.scenario.clone(),
        category: category(raw.expected_debt_category),
        severity: severity(raw.expected_severity),
        suggested_fix: raw.suggested_fix.clone(),
    }
}

fn routing(raw: RawRoutingStrategy) -> DebtRouting {
    match raw {
        RawRoutingStrategy::CapacityBased => DebtRouting::CapacityBased,
        RawRoutingStrategy::SeverityBased => DebtRouting::SeverityBased,
        RawRoutingStrategy::Manual => DebtRouting::Manual,
    }
}

fn severity(raw: RawSeverity) -> Severity {
    match raw {
        RawSeverity::Critical => Severity::Critical,
        RawSeverity::High => Severity::High,
        RawSeverity::Medium => Severity::Medium,
        RawSeverity::Low => Severity::Low,
    }
}

fn category(raw: RawDebtCategory) -> DebtCategory {
    match raw {
        RawDebtCategory::ApiEndpointMissing => DebtCategory::ApiEndpointMissing,
        RawDebtCategory::ValidationMissing => DebtCategory::ValidationMissing,
        RawDebtCategory::ErrorHandlingMissing => DebtCategory::ErrorHandlingMissing,
        RawDebtCategory::BusinessLogicError => DebtCategory::BusinessLogicError,
        RawDebtCategory::DatabaseSchemaIssue => DebtCategory::DatabaseSchemaIssue,
        RawDebtCategory::IntegrationFailure => DebtCategory::IntegrationFailure,
        RawDebtCategory::PerformanceIssue => DebtCategory::PerformanceIssue,
        RawDebtCategory::SecurityVulnerability => DebtCategory::SecurityVulnerability,
        RawDebtCategory::Refactor => DebtCategory::Refactor,
    }
}
