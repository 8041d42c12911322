//! A desktop notification through `notify-send`, where that is installed. Its absence is no error.

use std::process::{Command, Stdio};
use std::thread;

/// Tells the desktop that a project's verdict changed sides. Does not wait.
pub fn notify_desktop(project_name: &str, passed: bool) {
    let (summary, urgency) = if passed { ("passed again", "low") } else { ("failed", "normal") };
    let spawned = Command::new("notify-send")
        .args(["--app-name=proctor", "--urgency", urgency, &format!("{project_name}: {summary}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = spawned {
        // Reaped by a thread of its own: a notification server may take its time. Where there is no thread to be had, it is left to
        // whoever reaps proctor.
        let _refused = thread::Builder::new().spawn(move || child.wait());
    }
}
