//! Serves the page to browsers on loopback, through the routes of the control socket.
//!
//! Nothing listens until somebody asks for the page. The listener is on 127.0.0.1 alone, at a port that the kernel chooses. What a
//! request gets is decided in [`proctor_api::page`]; this file carries the decisions out.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use nix::libc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::control::handlers::{ControlContext, refusal, respond};
use crate::control::history::HistoryPlace;
use crate::control::listener::Connection;
use crate::control::server::{router_of_page, serve_until_stopped};
use crate::service::Call;
use proctor_api::page::{
    Asset, PageAccess, PageDecision, PageRefusal, PageRequest, RawOutput, SECRET_BYTES, Secret, SentHeader, TICKET_LASTS,
    TicketUse, decide, opening_file, page_headers,
};
use proctor_api::{ErrorKindV1, ErrorV1, PageTicketV1};
use proctor_app::Environment;
use proctor_model::Timestamp;
use proctor_sandbox::process::clock;

/// The most connections of browsers that are open at the same time, if the process may have enough files. A browser opens six. Further
/// ones wait in the kernel's queue.
const MOST_CONNECTIONS: usize = 256;
/// The fewest connections that may be open at the same time.
const FEWEST_CONNECTIONS: usize = 16;
/// Connections of browsers may take the process's limit on open files divided by this number.
const SHARE_OF_DESCRIPTORS: u64 = 8;
/// How long a browser may take to send the head of a request, and how long a connection may be idle. A browser of this machine sends
/// at once, and whoever holds connections must not keep it out for long.
const READING_HEAD: Duration = Duration::from_secs(2);
/// The longest head of a request, in bytes, and the most headers in it. Browsers send some 700 bytes.
const LONGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// The pause after a connection could not be accepted, for example because no descriptor is left.
const PAUSE: Duration = Duration::from_millis(200);
/// The source of random bytes, as for keys.
const RANDOM_SOURCE: &str = "/dev/urandom";
/// What the names of the files with tickets begin with.
const FILE_PREFIX: &str = "page-";

/// The page of this process: its listener once somebody has asked for the page, and who may ask.
#[derive(Debug)]
pub(super) struct PageDesk {
    /// The directory of the files with tickets. Only this user can read it.
    directory: PathBuf,
    /// Held for the moment of a decision, by the one thread of the loop.
    access: Mutex<PageAccess>,
    listening: tokio::sync::Mutex<Option<Listening>>,
    room: Arc<Semaphore>,
    began: clock::Monotonic,
    /// When this was made, for the names of files.
    made: Timestamp,
    stopped: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Listening {
    port: u16,
    task: JoinHandle<()>,
}

impl PageDesk {
    /// Nothing listens yet. Connections may take a part of the `open_files` that this process may have. `stopped` tells when the process
    /// ends.
    pub(super) fn new(directory: PathBuf, open_files: u64, stopped: watch::Receiver<bool>) -> Self {
        let (access, listening) = (Mutex::default(), tokio::sync::Mutex::default());
        let share = usize::try_from(open_files / SHARE_OF_DESCRIPTORS).unwrap_or(MOST_CONNECTIONS);
        let room = Arc::new(Semaphore::new(share.clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS)));
        Self { directory, access, listening, room, began: clock::monotonic(), made: clock::now(), stopped }
    }

    /// Listens, if nothing did so far, and makes a ticket for a browser. `place` is where in the page it begins.
    /// `raw_output` is what the ticket's token will give.
    pub(super) async fn open(
        &self,
        context: &ControlContext,
        place: &str,
        raw_output: RawOutput,
    ) -> Result<PageTicketV1, ErrorV1> {
        let port = self.listen(context).await.map_err(|error| {
            ErrorV1::new(
                ErrorKindV1::OwnFault,
                format!("failed to listen on loopback: {error}"),
                "check the limit on open files (`ulimit -n`)",
            )
        })?;
        let ticket = random_secret().map_err(|error| {
            ErrorV1::new(ErrorKindV1::OwnFault, format!("`{RANDOM_SOURCE}` cannot be read: {error}"), "see the service's log")
        })?;
        let number = self.access().add_ticket(&ticket, raw_output, self.now());
        let address = format!("{}:{port}", Ipv4Addr::LOCALHOST);
        let file = self.file(number);
        write_private(&file, &opening_file(&address, &ticket.text(), place)).map_err(|error| {
            let message = format!("`{}` cannot be written: {error}", file.display());
            ErrorV1::new(ErrorKindV1::OwnFault, message, "check that XDG_RUNTIME_DIR names a directory you may write to")
        })?;
        let late = file.clone();
        tokio::spawn(async move {
            tokio::time::sleep(TICKET_LASTS).await;
            remove(&late);
        });
        Ok(PageTicketV1 { address, ticket: ticket.text(), file: file.display().to_string() })
    }

    async fn listen(&self, context: &ControlContext) -> io::Result<u16> {
        let mut listening = self.listening.lock().await;
        if let Some(listening) = listening.as_ref() {
            return Ok(listening.port);
        }
        remove_old_files(&self.directory);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(accept_browsers(listener, port, context.clone(), self.stopped.clone()));
        *listening = Some(Listening { port, task });
        Ok(port)
    }

    /// Waits until the last answers are written, for at most the time `within`, and removes the files with tickets that nobody used.
    pub(super) async fn end(&self, within: Duration) {
        let listening = self.listening.lock().await.take();
        if let Some(listening) = listening {
            let _late = tokio::time::timeout(within, listening.task).await;
        }
        let own = self.own_prefix();
        files_in(&self.directory).filter(|(name, _)| name.starts_with(&own)).for_each(|(_, path)| remove(&path));
    }

    fn access(&self) -> MutexGuard<'_, PageAccess> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        clock::monotonic().since(self.began)
    }

    fn file(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{}{number}.html", self.own_prefix()))
    }

    /// Returns what the names of this process's files begin with. In a container the next process may have the same id, and find a file that a
    /// killed one left.
    fn own_prefix(&self) -> String {
        format!("{FILE_PREFIX}{}-{:x}-", std::process::id(), self.made.as_millis())
    }

    /// Answers a request for what is no route; for another one returns what its token gives. Without a token a connection has one answer, so
    /// that whoever has none cannot hold a place.
    fn answer(&self, request: &hyper::Request<Incoming>, port: u16) -> Result<Response, RawOutput> {
        let head = read_head(request);
        let decision = decide(&head, port, &self.access());
        match decision {
            PageDecision::Route(raw_output) => Err(raw_output),
            PageDecision::File(file) => Ok(and_close(send(file))),
            PageDecision::Refused(why) => Ok(and_close(refuse(why))),
            PageDecision::Exchange(ticket) => Ok(and_close(self.exchange(ticket))),
        }
    }

    fn exchange(&self, ticket: &str) -> Response {
        let Ok(token) = random_secret() else { return refuse(PageRefusal::Token) };
        match self.access().exchange(ticket, &token, self.now()) {
            TicketUse::Refused => refuse(PageRefusal::Token),
            TicketUse::Exchanged(number) => {
                remove(&self.file(number));
                respond(200, &serde_json::json!({ "token": token.text() }))
            }
        }
    }
}

/// Accepts connections of browsers until the process ends. Then waits for the answers that are under way.
async fn accept_browsers(listener: TcpListener, port: u16, context: ControlContext, mut stopped: watch::Receiver<bool>) {
    let router = router_of_page(&context);
    let room = Arc::clone(&context.page.room);
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            connection = accept(&listener, &room) => {
                tasks.spawn(serve_browser(connection, port, router.clone(), Arc::clone(&context.page), stopped.clone()));
            }
            Some(_ended) = tasks.join_next(), if !tasks.is_empty() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Connection<TcpStream> {
    loop {
        let Ok(place) = Arc::clone(room).acquire_owned().await else { continue };
        match listener.accept().await {
            Ok((stream, _)) => {
                // An event is to arrive at once, and not with the next one.
                let _best_effort = stream.set_nodelay(true);
                return Connection::new(stream, place);
            }
            Err(error) => {
                tracing::warn!("a connection of a browser could not be taken: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve_browser(
    connection: Connection<TcpStream>,
    port: u16,
    router: Router,
    desk: Arc<PageDesk>,
    stopped: watch::Receiver<bool>,
) {
    let answer = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        let (router, desk) = (router.clone(), Arc::clone(&desk));
        async move {
            let answered = match desk.answer(&request, port) {
                Ok(response) => response,
                Err(raw_output) => {
                    request.extensions_mut().insert(raw_output);
                    match TowerToHyperService::new(router).call(request).await {
                        Ok(response) => response,
                        Err(never) => match never {},
                    }
                }
            };
            Ok::<_, Infallible>(with_headers(answered))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READING_HEAD).max_buf_size(LONGEST_HEAD).max_headers(MOST_HEADERS);
    serve_until_stopped(connection, &builder, answer, stopped).await;
}

fn read_head(request: &hyper::Request<Incoming>) -> PageRequest<'_> {
    let headers = request.headers();
    PageRequest {
        method: request.method().as_str(),
        path: request.uri().path(),
        names_server: request.uri().authority().is_some(),
        has_body: !request.body().is_end_stream(),
        host: header(headers, &HOST),
        origin: header(headers, &ORIGIN),
        fetch_site: header(headers, &HeaderName::from_static("sec-fetch-site")),
        fetch_mode: header(headers, &HeaderName::from_static("sec-fetch-mode")),
        fetch_destination: header(headers, &HeaderName::from_static("sec-fetch-dest")),
        authorization: header(headers, &AUTHORIZATION),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> SentHeader<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => SentHeader::Absent,
        (Some(value), None) => value.to_str().map_or(SentHeader::Wrong, SentHeader::Once),
        (Some(_), Some(_)) => SentHeader::Wrong,
    }
}

fn send(file: &'static Asset) -> Response {
    let response = Response::builder().header("content-type", file.media);
    response.body(Body::from(file.bytes)).expect("the head is made of known values")
}

fn refuse(why: PageRefusal) -> Response {
    let kind = match why {
        PageRefusal::OtherHost | PageRefusal::OtherSite => ErrorKindV1::Refused,
        PageRefusal::Method => ErrorKindV1::MethodNotAllowed,
        PageRefusal::Body => ErrorKindV1::BadRequest,
        PageRefusal::Token => ErrorKindV1::TokenWrong,
        PageRefusal::NotFound => ErrorKindV1::NotFound,
    };
    let (message, hint) = why.texts();
    refusal(&ErrorV1::new(kind, message, hint))
}

/// Has the connection closed after this answer.
fn and_close(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in page_headers() {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn random_secret() -> io::Result<Secret> {
    let mut random = [0; SECRET_BYTES];
    File::open(RANDOM_SOURCE)?.read_exact(&mut random)?;
    Ok(Secret::new(random))
}

/// Writes a file that only this user can read and that was not there.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)?.write_all(text.as_bytes())
}

/// Removes files whose tickets are too old: a process that was killed leaves them.
fn remove_old_files(directory: &Path) {
    let is_old = |path: &Path| {
        let age = path.symlink_metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
        age.is_ok_and(|age| age.is_ok_and(|age| age > TICKET_LASTS))
    };
    files_in(directory).filter(|(_, path)| is_old(path)).for_each(|(_, path)| remove(&path));
}

fn files_in(directory: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    named.filter(|(name, _)| name.starts_with(FILE_PREFIX) && name.ends_with(".html"))
}

fn remove(path: &Path) {
    // It was removed when its ticket was used, or somebody else removed it.
    let _gone = std::fs::remove_file(path);
}

// Serves the page without the control socket, for a process that is no service.

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
