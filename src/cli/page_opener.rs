//! Opens the page from a watch, at the run that its screen shows.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::browser::start_browser;
use crate::cli::commands::open;
use crate::cli::environment::Environment;
use crate::cli::service;
use crate::model::{ProjectId, RunId};
use crate::process::Companion;

/// Opens the page, and serves it beside the watch where no service runs.
pub(crate) struct PageOpener {
    environment: Environment,
    root: PathBuf,
    /// The command that serves the page; it ends with the watch.
    beside: Option<Companion>,
}

impl PageOpener {
    pub(crate) fn new(environment: &Environment, root: PathBuf) -> Self {
        Self { environment: environment.clone(), root, beside: None }
    }

    /// Opens the page at a run, or at its start. Returns what the person is told.
    pub(crate) fn open(&mut self, shown: Option<&(ProjectId, RunId)>) -> Vec<String> {
        let place = shown.map_or_else(|| "/".to_owned(), |(project, run_id)| open::place_of_run(project, run_id));
        match service::ask_for_page(&self.environment, &place) {
            Ok(Some(ticket)) if start_browser(&self.environment, ticket.file.as_ref()) => {
                vec![format!("the page is at http://{}/", ticket.address)]
            }
            Ok(Some(ticket)) => open::no_browser_lines(&ticket).to_vec(),
            Ok(None) => self.serve_beside(shown.map(|(_, run_id)| run_id)),
            Err(error) => error.lines(),
        }
    }

    fn serve_beside(&mut self, run_id: Option<&RunId>) -> Vec<String> {
        let mut arguments: Vec<OsString> = vec!["open".into(), "--beside".into(), "--project".into(), self.root.clone().into()];
        if let Some(run_id) = run_id {
            arguments.extend(["--run".into(), run_id.as_str().into()]);
        }
        // An earlier one ends first: its page would show the same.
        self.beside = None;
        match Companion::start(self.environment.executable(), &arguments, &self.root) {
            Ok(companion) => {
                self.beside = Some(companion);
                Vec::new()
            }
            Err(error) => vec![format!("the page cannot be served: {error}")],
        }
    }
}
