//! The log for operators: daily files below the store, at most a week of them (G7). The log is never printed. An event is
//! one line: line ends and hidden characters in its texts are escaped, because people read the files at a terminal.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::fmt::time::SystemTime;

use proctor_model::shown_line;

const KEPT_FILES: usize = 7;

/// Whether the log was started: a process has one.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Starts logging to `directory`, unless this process logs already. The caller gets the reason if the log cannot be opened, and goes on
/// without a log.
pub fn start(directory: &Path) -> Result<(), String> {
    if IS_STARTED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
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
        .with_writer(std::sync::Mutex::new(EscapedLines(appender)))
        .try_init()
        .map_err(|error| error.to_string())
}

/// Writes each event as one escaped line. The subscriber hands over an event with its line end in one call.
struct EscapedLines<W>(W);

impl<W: Write> Write for EscapedLines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = shown_line(text.strip_suffix('\n').unwrap_or(&text));
        self.0.write_all(format!("{line}\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_texts_are() {
        let mut written = Vec::new();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time().with_target(false);
        let file = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().expect("no test panics with it").extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let subscriber = subscriber.with_writer(std::sync::Mutex::new(EscapedLines(Shared(file.clone())))).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(path = "a\u{202e}b\r", "saved \u{1b}[2J\nERROR forged");
        });
        written.extend_from_slice(&file.lock().expect("no test panics with it"));
        let text = String::from_utf8(written).expect("it is text");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!proctor_model::has_hidden_characters(text.trim_end_matches('\n')), "{text}");
        assert!(text.contains("ERROR forged"), "{text}");
    }
}
