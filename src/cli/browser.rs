//! Starts the person's browser with a file. The file, and not its content, is in the browser's arguments, which every process may read.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use proctor_app::Environment;
use proctor_sandbox::process::start_apart;

/// How long a browser that cannot start may take to say so.
const STARTING: Duration = Duration::from_secs(2);
/// What opens a file with the desktop's own browser.
const DESKTOP_OPENER: &str = "xdg-open";

/// Starts a browser with the file. Returns whether one started. `$BROWSER` names browsers, separated by colons; `%s` in a name stands for the
/// file. Without it, and where a desktop is there, the desktop's own is asked.
pub(crate) fn start_browser(environment: &Environment, file: &Path) -> bool {
    let named = environment.variable("BROWSER").and_then(OsStr::to_str).unwrap_or_default();
    let has_desktop = environment.has("DISPLAY") || environment.has("WAYLAND_DISPLAY");
    let commands = named.split(':').filter(|command| !command.trim().is_empty()).chain(has_desktop.then_some(DESKTOP_OPENER));
    commands
        .into_iter()
        .filter_map(|command| words(command, file))
        .any(|(program, arguments)| start_apart(&program, &arguments, STARTING))
}

/// Returns the program and its arguments.
fn words(command: &str, file: &Path) -> Option<(String, Vec<OsString>)> {
    let mut words = command.split_whitespace();
    let program = words.next()?.to_owned();
    let mut arguments: Vec<OsString> =
        words.map(|word| if word == "%s" { file.as_os_str().to_owned() } else { OsString::from(word) }).collect();
    if !command.split_whitespace().any(|word| word == "%s") {
        arguments.push(file.as_os_str().to_owned());
    }
    Some((program, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_last_argument_or_where_the_name_says() {
        let file = Path::new("/run/user/1000/proctor/page 1.html");
        let given = |command: &str| {
            let (program, arguments) = words(command, file)?;
            let arguments: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            Some(format!("{program}|{}", arguments.join("|")))
        };
        assert_eq!(given("firefox").as_deref(), Some("firefox|/run/user/1000/proctor/page 1.html"));
        assert_eq!(given("w3m %s -o x").as_deref(), Some("w3m|/run/user/1000/proctor/page 1.html|-o|x"));
        assert_eq!(given(" "), None);
    }
}
