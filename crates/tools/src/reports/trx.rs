//! Reads Visual Studio's test results (TRX), which `dotnet test --logger trx` writes.

use std::io::BufRead;

use crate::reports::Contents;
use crate::test_run::ReadTest;
use crate::xml::{Attributes, XmlError, XmlReader, read_xml};
use proctor_model::TestOutcome;

/// The outcomes of a test that did not run.
const NOT_RUN: &[&str] = &["NotExecuted", "Pending", "Inconclusive", "NotRunnable", "Warning"];

/// Reads a report.
pub(super) fn read(reader: &mut dyn BufRead, contents: &mut Contents) -> Result<(), String> {
    let mut builder = Builder { contents, open: Vec::new(), test: None, listed: 0, counters: None, says_failed: false };
    read_xml(reader, &mut builder).map_err(|error| error.to_string())?;
    let (listed, counters, says_failed) = (builder.listed, builder.counters, builder.says_failed);
    if says_failed && contents.facts.run.counts.failed == 0 {
        contents.contradicts("its summary says that something failed, and no test did".to_owned());
    }
    match counters {
        None => contents.ends_early("the report has no summary with counters".to_owned()),
        Some(total) if total != listed => {
            contents.contradicts(format!("its counters are {total} test(s), but it lists {listed}"))
        }
        Some(_) => {}
    }
    Ok(())
}

struct Builder<'c> {
    contents: &'c mut Contents,
    /// The names of the open elements.
    open: Vec<String>,
    test: Option<(TestOutcome, ReadTest)>,
    listed: u64,
    /// The number of tests that the summary counts.
    counters: Option<u64>,
    /// Whether the summary says that something failed.
    says_failed: bool,
}

impl XmlReader for Builder<'_> {
    fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), XmlError> {
        if self.open.is_empty() && name != "TestRun" {
            return Err(XmlError::Unexpected("it is not a TRX report: its root is not `TestRun`".to_owned()));
        }
        match name {
            // The rows of a test with data lie in its own result.
            "UnitTestResult" if self.test.is_some() => {
                self.listed += 1;
                if let (Some((outcome, _)), Some("Failed" | "Error" | "Timeout" | "Aborted")) =
                    (&mut self.test, attributes.get("outcome"))
                {
                    *outcome = TestOutcome::Failed;
                }
            }
            "UnitTestResult" => {
                let full_name = attributes.get("testName").unwrap_or_default().to_owned();
                let outcome = match attributes.get("outcome").unwrap_or_default() {
                    "Passed" => TestOutcome::Passed,
                    word if NOT_RUN.contains(&word) => TestOutcome::Skipped,
                    // An unknown word is no success.
                    _ => TestOutcome::Failed,
                };
                let duration = attributes.get("duration").and_then(microseconds);
                self.test = Some((outcome, ReadTest { title: full_name.clone(), full_name, duration, ..ReadTest::default() }));
            }
            "Counters" => {
                let number = |name| attributes.get(name).and_then(|number| number.parse::<u64>().ok());
                self.counters = number("total");
                self.says_failed |= ["failed", "error", "timeout", "aborted"].into_iter().any(|name| number(name) > Some(0));
            }
            "ResultSummary" => match attributes.get("outcome") {
                Some("Completed" | "Passed" | "Warning") | None => {}
                Some("Failed") => self.says_failed = true,
                Some(outcome) => self.contents.ends_early(format!("the report says of the run: `{outcome}`")),
            },
            _ => {}
        }
        self.open.push(name.to_owned());
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let Some((_, test)) = &mut self.test else { return };
        match self.open.last().map(String::as_str) {
            Some("Message") => {
                test.error.push_str(text);
                test.message.push_str(text);
            }
            Some("StackTrace") => {
                test.message.push('\n');
                test.message.push_str(text);
            }
            Some(_) | None => {}
        }
    }

    fn close(&mut self) {
        let closed = self.open.pop();
        let is_inner = self.open.iter().any(|name| name == "UnitTestResult");
        if closed.as_deref() == Some("UnitTestResult")
            && !is_inner
            && let Some((outcome, mut test)) = self.test.take()
        {
            test.error = test.error.lines().next().unwrap_or_default().to_owned();
            self.listed += 1;
            self.contents.test(outcome, test);
        }
    }
}

// Reads `00:00:01.2345678`.
fn microseconds(duration: &str) -> Option<u64> {
    let parts: Vec<f64> = duration.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    let all = (hours * 3600.0 + minutes * 60.0 + seconds) * 1e6;
    (0.0..1e18).contains(&all).then_some(all.round() as u64)
}
