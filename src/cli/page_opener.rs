//! Opens the page from a watch, at the run that its screen shows.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::cli::browser::start_browser;
use crate::cli::commands::open;
use crate::cli::environment::Environment;
use crate::cli::service;
use crate::model::{ProjectId, RunId};
use crate::process::Companion;

/// Opens the page, and has it served beside the watch where no service runs.
#[derive(Clone)]
pub(crate) struct PageOpener {
    environment: Environment,
    root: PathBuf,
    /// The command that serves the page; it ends with the watch.
    beside: Arc<Mutex<Option<Companion>>>,
    /// Takes the lines that the person is told.
    tell: Arc<dyn Fn(Vec<String>) + Send + Sync>,
}

impl PageOpener {
    /// `tell` takes the lines that the person is told, in another thread.
    pub(crate) fn new(environment: &Environment, root: PathBuf, tell: impl Fn(Vec<String>) + Send + Sync + 'static) -> Self {
        Self { environment: environment.clone(), root, beside: Arc::default(), tell: Arc::new(tell) }
    }

    /// Begins to open the page at a run, or at its start. Nobody waits for it, since a browser may take seconds to start. Returns why it
    /// could not begin.
    pub(crate) fn open(&self, shown: Option<&(ProjectId, RunId)>) -> Option<String> {
        let place = shown.map_or_else(|| "/".to_owned(), |(project, run_id)| open::place_of_run(project, run_id));
        let opener = self.clone();
        let opening = move || (opener.tell)(opener.open_at(&place));
        let begun = thread::Builder::new().name("page".to_owned()).spawn(opening);
        begun.err().map(|error| format!("the page cannot be opened: {error}"))
    }

    /// Returns the lines that the person is told.
    fn open_at(&self, place: &str) -> Vec<String> {
        match service::ask_for_page(&self.environment, place) {
            Ok(Some(ticket)) if start_browser(&self.environment, ticket.file.as_ref()) => {
                vec![format!("the page is at http://{}/", ticket.address)]
            }
            Ok(Some(ticket)) => open::no_browser_lines(&ticket).to_vec(),
            Ok(None) => self.serve_beside(place),
            Err(error) => error.lines(),
        }
    }

    /// Has the page opened by the command that serves it, which is started if it does not run. That command says itself how it went.
    fn serve_beside(&self, place: &str) -> Vec<String> {
        let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        if beside.as_mut().is_some_and(|companion| companion.say(place)) {
            return Vec::new();
        }
        let arguments: [OsString; 2] = ["open".into(), "--beside".into()];
        match Companion::start(self.environment.executable(), &arguments, &self.root) {
            Ok(mut companion) => {
                // If it has ended already, it said why.
                companion.say(place);
                *beside = Some(companion);
                Vec::new()
            }
            Err(error) => vec![format!("the page cannot be served: {error}")],
        }
    }
}
