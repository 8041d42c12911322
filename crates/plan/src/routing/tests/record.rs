//! The log record of a decision (scenario 130 of seed 000).

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::routing::tests::{now, result, run_id, started, with_category};
use crate::routing::{TestResult, emit_decision, verify_phase};
use proctor_model::{CategoryCode, ExitCodeSource, Phase, RoutingSettings, TaskId};

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl io::Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Capture {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn logged(result: &TestResult<'_>, phase: Phase) -> String {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::fmt().with_writer(capture.clone()).with_ansi(false).without_time().finish();
    let verified = verify_phase(result, started(phase, &[]), &RoutingSettings::default());
    tracing::subscriber::with_default(subscriber, || {
        emit_decision(&TaskId::default_task(), &run_id(), &verified.entry, result.category);
    });
    let bytes = capture.0.lock().expect("no writer panics").clone();
    String::from_utf8(bytes).expect("records are text")
}

#[test]
fn t130_the_decision_is_logged_with_its_reason() {
    let record = logged(&with_category(1, CategoryCode::TestsFailed), Phase::Red);
    assert_eq!(record.lines().count(), 1, "{record}");
    for field in [
        "INFO",
        "task=default",
        &format!("run={}", run_id()),
        "phase=\"RED\"",
        "code=1",
        "category=TESTS_FAILED",
        "route=\"N4\"",
        "reason=Valid RED state - tests failing as expected",
    ] {
        assert!(record.contains(field), "`{field}` is not in `{record}`");
    }
}

#[test]
fn what_a_decision_lacks_is_a_dash_in_the_record() {
    let none = TestResult::new(None, ExitCodeSource::Timeout, result(0, 0).tree_digest, run_id(), now());
    let record = logged(&none, Phase::Green);
    assert!(record.contains("code=- category=- "), "{record}");
}
