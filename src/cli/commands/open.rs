//! `proctor open`: opens the page in a browser. The service serves it; where none runs, this process does, until it is stopped.

use std::path::{Path, PathBuf};
use std::thread;

use nix::sys::signal::{Signal, raise};
use tokio::sync::mpsc::{Receiver, channel};

use crate::cli::page_opener::start_browser;
use crate::cli::service_arguments::OpenOptions;
use crate::cli::{environment, render};
use proctor_api::page::RawOutput;
use proctor_api::{ErrorV1, PageTicketV1};
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment, serving};
use proctor_model::{CommandExit, ProjectId, RunId};
use proctor_project::StoreReader;
use proctor_service::{PageAlone, PageAloneError, make_private_directory, serve_page_alone};

/// How many places in the page may wait until the browser has been started for the ones before. Then the reading of the input waits.
const PLACES: usize = 16;
/// The place in the page that waits for a project which is not known yet.
const NEW_PROJECT: &str = "/new";

pub(crate) fn execute(options: &OpenOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if options.beside {
        return open_beside(environment);
    }
    let root = setup::project_root(environment, options.place.path())?;
    let place = find_place(&mut opening::open_archive(environment)?, &root, options.run.as_deref())?;
    if let Some(ticket) = serving::ask_for_page(environment, &place)? {
        show_page(environment, &ticket, options.no_browser);
        return Ok(CommandExit::Proceed);
    }
    let (shown, no_browser) = (environment.clone(), options.no_browser);
    let (_one_place, places) = channel(1);
    serve_alone(environment, environment::is_person_present(environment), &place, places, move |ticket| {
        if show_opened(&shown, ticket, no_browser) {
            render::note("no service runs, so this command serves the page; Ctrl-C ends it");
        }
    })
}

/// Serves the page for a watch that started this process, until its standard input ends. Each line of the input is a place in the page to
/// open.
fn open_beside(environment: &Environment) -> Result<CommandExit, CommandError> {
    let Some(Ok(first)) = std::io::stdin().lines().next() else { return Ok(CommandExit::Proceed) };
    let (send_place, places) = channel(PLACES);
    let read = move || {
        for place in std::io::stdin().lines().map_while(Result::ok) {
            let _ending = send_place.blocking_send(place);
        }
        // Whoever started this process is gone.
        let _raised = raise(Signal::SIGTERM);
    };
    thread::Builder::new().name("input".to_owned()).spawn(read).map_err(|error| {
        CommandError::caused(CommandExit::OwnFault, "failed to wait for the end of the input", &error)
            .hint("check the limit on processes (`ulimit -u`)")
    })?;
    let shown = environment.clone();
    // The input is a pipe, so the error output tells whether a person looks.
    serve_alone(environment, environment::is_person_beside(environment), &first, places, move |ticket| {
        let _is_shown = show_opened(&shown, ticket, false);
    })
}

/// Returns the place in the page of a project, or of one of its runs. For a directory that is not registered yet it is the one that waits
/// for a new project.
fn find_place(archive: &mut StoreReader, root: &Path, run: Option<&str>) -> Result<String, CommandError> {
    let found = archive.find_project(root)?;
    let Some(wanted) = run else {
        return Ok(found.map_or_else(|| NEW_PROJECT.to_owned(), |project| format!("/projects/{project}")));
    };
    let project = found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{}` is not registered: nothing was run there", root.display()))
            .hint("`proctor run` registers a project and makes its first run")
    })?;
    let run = archive.find(&project, Some(wanted))?;
    let run = run.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no finished run `{wanted}`")).hint("`proctor log` lists the runs")
    })?;
    Ok(place_of_run(&project, &run.run_id))
}

/// Returns the place in the page at which a run is shown.
pub(crate) fn place_of_run(project: &ProjectId, run_id: &RunId) -> String {
    format!("/projects/{project}/runs/{run_id}")
}

/// Shows the page of this process, or says why it cannot be opened. Returns whether it is shown.
fn show_opened(environment: &Environment, ticket: Result<PageTicketV1, ErrorV1>, no_browser: bool) -> bool {
    match &ticket {
        Ok(ticket) => show_page(environment, ticket, no_browser),
        Err(refusal) => render::error(&of_refusal(refusal)),
    }
    ticket.is_ok()
}

fn of_refusal(refusal: &ErrorV1) -> CommandError {
    CommandError::new(CommandExit::OwnFault, refusal.message.clone()).hint(refusal.hint.clone())
}

/// Starts a browser, and says where the page is. The ticket is in the file alone.
fn show_page(environment: &Environment, ticket: &PageTicketV1, no_browser: bool) {
    if no_browser {
        return render::line(&ticket.file);
    }
    if start_browser(environment, Path::new(&ticket.file)) {
        return render::note(&format!("the page is at http://{}/", ticket.address));
    }
    no_browser_lines(ticket).iter().for_each(render::note);
}

/// Returns what a person does where no browser can be started.
pub(crate) fn no_browser_lines(ticket: &PageTicketV1) -> [String; 2] {
    let port = ticket.address.rsplit(':').next().unwrap_or_default();
    [
        format!("no browser could be started; within a minute, open this file in one, once: {}", ticket.file),
        format!(
            "hint: from another machine `ssh -L {port}:{} HOST` leads to the page (http://{}/); open a copy of the file there",
            ticket.address, ticket.address
        ),
    ]
}

fn serve_alone(
    environment: &Environment,
    is_for_person: bool,
    first: &str,
    places: Receiver<String>,
    opened: impl Fn(Result<PageTicketV1, ErrorV1>) + Send + Sync + 'static,
) -> Result<CommandExit, CommandError> {
    let directory = environment.control_socket().and_then(|socket| socket.parent().map(PathBuf::from)).ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "there is no place for the file that opens the page")
            .hint("set XDG_RUNTIME_DIR to a directory of your own, such as /run/user/$(id -u)")
    })?;
    make_private_directory(&directory).map_err(|error| CommandError::of(CommandExit::Usage, &error).hint(error.hint()))?;
    let settings = PageAlone {
        environment: environment.clone(),
        directory,
        raw_output: if is_for_person { RawOutput::Shown } else { RawOutput::Refused },
    };
    serve_page_alone(settings, first, places, opened).map_err(|error| match &error {
        PageAloneError::Store(error) => CommandError::from(error),
        PageAloneError::Open(refusal) => of_refusal(refusal),
        PageAloneError::Begin(_) => CommandError::of(CommandExit::OwnFault, &error)
            .hint("check the limits on open files (`ulimit -n`), then run the command again"),
    })
}
