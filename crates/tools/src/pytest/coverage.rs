//! Reads coverage. The source is the coverage.py JSON report that a check names, or the line that pytest-cov prints. That line is
//! one of the few parts of standard output that may influence a result (E4).

use serde::Deserialize;

use proctor_model::{Coverage, CoverageTarget, ToolReport};

/// The beginning of pytest-cov's line, for example `FAIL Required test coverage of 90% not reached. Total coverage: 66.67%`.
const LINE_START: &str = "FAIL Required test coverage of ";
const LINE_MIDDLE: &str = "% not reached. Total coverage: ";

/// The state of the coverage report that a check requires.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MeasuredCoverage {
    /// The check requires no coverage.
    NotRequired,
    /// Coverage is required, but the report does not exist.
    Missing,
    /// Coverage is required, but the report cannot be read.
    Unreadable(String),
    /// The coverage was read from the report.
    Measured(Coverage),
}

#[derive(Deserialize)]
struct Report {
    totals: Totals,
}

#[derive(Deserialize)]
struct Totals {
    percent_covered: f64,
}

impl MeasuredCoverage {
    /// Returns the coverage if it is below the required value.
    pub(super) fn shortfall(&self) -> Option<Coverage> {
        self.value().filter(|coverage| coverage.percent < coverage.required)
    }

    /// Returns the coverage if the report was read.
    pub(super) fn value(&self) -> Option<Coverage> {
        match self {
            Self::Measured(coverage) => Some(*coverage),
            Self::NotRequired | Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// Reads the coverage report of a check.
pub(super) fn measured(target: Option<&CoverageTarget>, report: &ToolReport) -> MeasuredCoverage {
    let Some(target) = target else { return MeasuredCoverage::NotRequired };
    match report {
        ToolReport::NotRequested | ToolReport::Missing => MeasuredCoverage::Missing,
        ToolReport::Refused(why) => MeasuredCoverage::Unreadable(why.clone()),
        ToolReport::Large(_) => MeasuredCoverage::Unreadable("it is too large".to_owned()),
        ToolReport::Fresh(bytes) => match serde_json::from_slice::<Report>(bytes) {
            Ok(Report { totals: Totals { percent_covered } }) if (0.0..=100.0).contains(&percent_covered) => {
                let required = f64::from(target.minimum_basis_points) / 100.0;
                MeasuredCoverage::Measured(Coverage { percent: percent_covered, required })
            }
            Ok(_) => MeasuredCoverage::Unreadable("`totals.percent_covered` is not between 0 and 100".to_owned()),
            Err(error) => MeasuredCoverage::Unreadable(error.to_string()),
        },
    }
}

/// Finds the line in which pytest-cov says that the coverage is below its own target.
pub(super) fn below_target_line(stdout: &str) -> Option<Coverage> {
    stdout.lines().rev().find_map(|line| {
        let (required, total) = line.trim().strip_prefix(LINE_START)?.split_once(LINE_MIDDLE)?;
        let (required, percent) = (required.parse().ok()?, total.strip_suffix('%')?.parse().ok()?);
        Some(Coverage { percent, required })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_pytest_cov_is_read_and_nothing_like_it() {
        let line = "x\nFAIL Required test coverage of 90.5% not reached. Total coverage: 66.67%\n1 passed";
        assert_eq!(below_target_line(line), Some(Coverage { percent: 66.67, required: 90.5 }));
        for other in
            ["Required test coverage of 90% reached. Total coverage: 95.00%", "FAIL Required test coverage of x% not reached."]
        {
            assert_eq!(below_target_line(other), None);
        }
    }

    #[test]
    fn a_report_is_compared_exactly_and_an_unreadable_one_is_not_a_pass() {
        let target = CoverageTarget { minimum_basis_points: 8550, report: "cov.json".to_owned() };
        let read = |text: &str| measured(Some(&target), &ToolReport::Fresh(text.as_bytes().to_vec()));
        assert_eq!(read(r#"{"totals":{"percent_covered":85.5}}"#).shortfall(), None);
        assert!(read(r#"{"totals":{"percent_covered":85.49}}"#).shortfall().is_some());
        for bad in ["", "{}", r#"{"totals":{"percent_covered":"99"}}"#, r#"{"totals":{"percent_covered":1e9}}"#] {
            assert!(matches!(read(bad), MeasuredCoverage::Unreadable(_)), "{bad}");
        }
        assert_eq!(measured(Some(&target), &ToolReport::Missing), MeasuredCoverage::Missing);
        assert_eq!(measured(None, &ToolReport::Missing), MeasuredCoverage::NotRequired);
    }
}
