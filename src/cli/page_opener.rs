//! Opens the page in a browser from `proctor watch`, at the run that its screen shows.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::cli::browser::start_browser;
use crate::cli::commands::open;
use proctor_app::Environment;
use proctor_app::serving;
use proctor_model::{ProjectId, RunId};
use proctor_sandbox::process::Companion;

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
