//! A desktop notification through `notify-send`. If that program is not installed, no notification is shown and no error occurs.

use std::process::{Command, Stdio};
use std::thread;

use proctor_model::PersonAsked;

/// Shows on the desktop that a project's verdict changed between passed and failed. Does not wait.
pub fn notify_desktop(project_name: &str, passed: bool) {
    let (summary, urgency) = if passed { ("passed again", "low") } else { ("failed", "normal") };
    notify(urgency, &format!("{project_name}: {summary}"));
}

/// Shows on the desktop that a project cannot be judged, and why in a few words. Does not wait.
pub(super) fn notify_problem_on_desktop(project_name: &str, problem: &str) {
    notify("critical", &format!("{project_name} cannot be judged: {problem}"));
}

/// Shows on the desktop what a person is asked about a project. Does not wait.
pub fn notify_person_on_desktop(project_name: &str, asked: &PersonAsked) {
    notify("critical", &format!("{project_name} {}", asked.sentence()));
}

fn notify(urgency: &str, text: &str) {
    let spawned = Command::new("notify-send")
        .args(["--app-name=proctor", "--urgency", urgency, text])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = spawned {
        // A separate thread reaps the child, because a notification server may be slow. If no thread can be started, the child
        // stays unreaped until proctor ends.
        let _refused = thread::Builder::new().spawn(move || child.wait());
    }
}
