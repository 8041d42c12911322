//! The HTTP server: a router built from the table of routes. It runs on the service's event loop.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, delete, get, post};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::control::handlers::{ControlContext, handle, record_refused, refusal};
use crate::control::history::HistoryPlace;
use crate::control::listener::{Caller, Connection, ControlListener};
use crate::control::page_server::PageDesk;
use crate::control::socket::ControlSocket;
use crate::service::Call;
use proctor_api::{ErrorKindV1, ErrorV1, MethodV1, ROUTES, Route, ServiceV1};
use proctor_app::Environment;
use proctor_sandbox::process::clock;

/// How long a client may take to send the head of a request, and how long a connection may be idle.
const READING_HEAD: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct ControlServer {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
    page: Arc<PageDesk>,
    /// Kept so that the socket's file is removed when the server is dropped.
    _socket: ControlSocket,
}

impl ControlServer {
    /// Starts the server. Questions for the service's loop are sent to `calls`.
    /// Connections may take a part of the `open_files` that this process may have. Past runs are read from the store.
    pub(crate) fn start(
        socket: ControlSocket,
        calls: Sender<Call>,
        environment: Environment,
        open_files: u64,
    ) -> io::Result<Self> {
        let listener = ControlListener::new(tokio::net::UnixListener::from_std(socket.listener()?)?, open_files)?;
        let service = ServiceV1 { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned(), since: clock::now() };
        let environment = Arc::new(environment);
        let history = HistoryPlace::new(Arc::clone(&environment));
        let (stop, stopped) = watch::channel(false);
        let directory = socket.path().parent().unwrap_or(Path::new("/")).to_owned();
        let page = Arc::new(PageDesk::new(directory, open_files, stopped.clone()));
        let context = ControlContext { calls, service: Some(service), environment, history, page: Arc::clone(&page) };
        let task = tokio::spawn(accept_all(listener, context, stopped));
        Ok(Self { task, stop, page, _socket: socket })
    }

    /// Stops the server. Answers that are ready are still written, for at most the time `within`.
    pub(crate) async fn stop(self, within: Duration) {
        let _gone = self.stop.send(true);
        let _late = tokio::time::timeout(within, self.task).await;
        self.page.end(within).await;
    }
}

/// Accepts connections until the server stops, and serves each in a task of its own. Then waits for the answers that are
/// under way.
async fn accept_all(listener: ControlListener, context: ControlContext, mut stopped: watch::Receiver<bool>) {
    let router = router(&context);
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            (connection, caller) = listener.accept() => {
                tasks.spawn(serve(connection, caller, router.clone(), context.clone(), stopped.clone()));
            }
            Some(_ended) = tasks.join_next(), if !tasks.is_empty() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// Serves one connection, or closes that of a process that may not ask. A client loses it if it sends no whole head of a request in time.
async fn serve(
    connection: Connection<UnixStream>,
    caller: Caller,
    router: Router,
    context: ControlContext,
    stopped: watch::Receiver<bool>,
) {
    let asker = match caller {
        Caller::Client(asker) => asker,
        // Nothing of it is read. It is closed when the attempt is recorded.
        Caller::Refused(peer) => return record_refused(&context, peer).await,
    };
    let answer = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&asker));
        TowerToHyperService::new(router.clone()).call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READING_HEAD);
    serve_until_stopped(connection, &builder, answer, stopped).await;
}

/// Serves a connection until it ends, or until the server stops and the answer under way is written.
pub(super) async fn serve_until_stopped<C, S>(
    connection: C,
    builder: &http1::Builder,
    answer: S,
    mut stopped: watch::Receiver<bool>,
) where
    C: AsyncRead + AsyncWrite + Unpin + 'static,
    S: hyper::service::HttpService<Incoming, ResBody = axum::body::Body, Error = Infallible>,
{
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(connection), answer));
    // A client that breaks off or is too slow ends its own connection only.
    tokio::select! {
        _ended = serving.as_mut() => return,
        _ = stopped.changed() => serving.as_mut().graceful_shutdown(),
    }
    let _ended = serving.await;
}

/// Builds the router from the table of routes.
fn router(desk: &ControlContext) -> Router {
    router_of(ROUTES.iter(), desk)
}

/// Builds the router of the page: the routes that only read.
pub(super) fn router_of_page(desk: &ControlContext) -> Router {
    router_of(ROUTES.iter().filter(|route| route.method == MethodV1::Get), desk)
}

fn router_of(routes: impl Iterator<Item = &'static Route>, desk: &ControlContext) -> Router {
    let router = routes.fold(Router::new(), |router, route| router.route(route.path, method(route, desk)));
    let router = router.fallback(|request: Request| async move {
        let message = format!("there is nothing at {}", request.uri().path());
        refusal(&ErrorV1::new(ErrorKindV1::NotFound, message, "`proctor generate api` lists what there is"))
    });
    router.method_not_allowed_fallback(|request: Request| async move {
        let message = format!("{} cannot be asked by {}", request.uri().path(), request.method());
        refusal(&ErrorV1::new(ErrorKindV1::MethodNotAllowed, message, "`proctor generate api` lists what there is"))
    })
}

fn method(route: &'static Route, desk: &ControlContext) -> MethodRouter {
    let desk = desk.clone();
    let handler = move |request: Request| handle(route, desk.clone(), request);
    match route.method {
        MethodV1::Get => get(handler),
        MethodV1::Post => post(handler),
        MethodV1::Delete => delete(handler),
    }
}
