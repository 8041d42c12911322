//! Serves the page without the control socket, for a process that is no service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::sync::watch;

use crate::control::handlers::ControlContext;
use crate::control::history::HistoryPlace;
use crate::control::page_server::PageDesk;
use crate::service::Call;
use proctor_api::page::RawOutput;
use proctor_api::{ErrorV1, PageTicketV1};
use proctor_app::Environment;

/// The page of a process that is no service.
pub(crate) struct PageOnly {
    context: ControlContext,
    stop: watch::Sender<bool>,
}

impl PageOnly {
    /// Nothing listens yet. Questions for the loop are sent to `calls`. Files with tickets go into `directory`, which only this user can
    /// read.
    pub(crate) fn new(calls: Sender<Call>, environment: Environment, directory: PathBuf, open_files: u64) -> Self {
        let (stop, stopped) = watch::channel(false);
        let environment = Arc::new(environment);
        let history = HistoryPlace::new(Arc::clone(&environment));
        let page = Arc::new(PageDesk::new(directory, open_files, stopped));
        Self { context: ControlContext { calls, service: None, environment, history, page }, stop }
    }

    /// Listens, and makes a ticket for a browser. `raw_output` is what the page will show.
    pub(crate) async fn open(&self, place: &str, raw_output: RawOutput) -> Result<PageTicketV1, ErrorV1> {
        self.context.page.open(&self.context, place, raw_output).await
    }

    /// Stops. Answers that are ready are still written, for at most the time `within`.
    pub(crate) async fn stop(&self, within: Duration) {
        let _gone = self.stop.send(true);
        self.context.page.end(within).await;
    }
}
