//! The log for operators: daily files below the store, at most a week of them (G7). The log is never printed.

use std::path::Path;

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::fmt::time::SystemTime;

const KEPT_FILES: usize = 7;

/// Starts logging to `directory`. The caller gets the reason if the log cannot be opened, and goes on without a log.
pub(crate) fn start(directory: &Path) -> Result<(), String> {
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("proctor")
        .filename_suffix("log")
        .max_log_files(KEPT_FILES)
        .build(directory)
        .map_err(|error| error.to_string())?;
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_timer(SystemTime)
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::sync::Mutex::new(appender))
        .try_init()
        .map_err(|error| error.to_string())
}
