//! Opens the page in a browser from `proctor watch`, at the run that its screen shows.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::cli::commands::open;
use proctor_app::{Environment, serving};
use proctor_model::{ProjectId, RunId};
use proctor_sandbox::process::{Companion, start_apart};

/// Opens the page in a thread of its own, since a browser may take seconds to start.
pub(crate) struct PageOpener {
    environment: Environment,
    root: PathBuf,
    /// Takes the lines that the person is told.
    tell: Arc<dyn Fn(Vec<String>) + Send + Sync>,
    /// Sends places in the page to the thread; `None` before the first one.
    places: Option<Sender<String>>,
}

impl PageOpener {
    /// `tell` takes the lines that the person is told, in another thread.
    pub(crate) fn new(environment: &Environment, root: PathBuf, tell: impl Fn(Vec<String>) + Send + Sync + 'static) -> Self {
        Self { environment: environment.clone(), root, tell: Arc::new(tell), places: None }
    }

    /// Begins to open the page at a run, or at its start. Returns why it could not begin.
    pub(crate) fn open(&mut self, shown: Option<(&ProjectId, &RunId)>) -> Option<String> {
        let place = shown.map_or_else(|| "/".to_owned(), |(project, run_id)| open::place_of_run(project, run_id));
        if self.places.as_ref().is_some_and(|places| places.send(place.clone()).is_ok()) {
            return None;
        }
        let (send_place, places) = channel();
        let mut opening = PageOpening { environment: self.environment.clone(), root: self.root.clone(), beside: None };
        let tell = Arc::clone(&self.tell);
        let open_all = move || places.into_iter().for_each(|place: String| tell(opening.open(&place)));
        if let Err(error) = thread::Builder::new().name("page".to_owned()).spawn(open_all) {
            return Some(format!("the page cannot be opened: {error}"));
        }
        let _begun = send_place.send(place);
        self.places = Some(send_place);
        None
    }
}

/// Opens the page, and has it served beside the watch where no service runs.
struct PageOpening {
    environment: Environment,
    root: PathBuf,
    /// The command that serves the page; it ends with the watch.
    beside: Option<Companion>,
}

impl PageOpening {
    /// Returns the lines that the person is told.
    fn open(&mut self, place: &str) -> Vec<String> {
        match serving::ask_for_page(&self.environment, place) {
            Ok(Some(ticket)) if start_browser(&self.environment, ticket.file.as_ref()) => {
                vec![format!("the page is at http://{}/", ticket.address)]
            }
            Ok(Some(ticket)) => open::no_browser_lines(&ticket).to_vec(),
            Ok(None) => self.serve_beside(place),
            Err(error) => error.lines(),
        }
    }

    /// Has the page opened by the command that serves it, which is started if it does not run. That command says itself how it went.
    fn serve_beside(&mut self, place: &str) -> Vec<String> {
        if self.beside.as_mut().is_some_and(|companion| companion.say(place)) {
            return Vec::new();
        }
        let arguments: [OsString; 2] = ["open".into(), "--beside".into()];
        match Companion::start(self.environment.executable(), &arguments, &self.root) {
            Ok(mut companion) => {
                // If it has ended already, it said why.
                companion.say(place);
                self.beside = Some(companion);
                Vec::new()
            }
            Err(error) => vec![format!("the page cannot be served: {error}")],
        }
    }
}

// Starts the person's browser with a file. The file, and not its content, is in the browser's arguments, which every process may read.

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
