//! The HTTP server: a router built from the table of routes. It runs on the service's event loop.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, delete, get, post};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api::{ErrorKindV1, ErrorV1, MethodV1, ROUTES, Route, ServiceV1};
use crate::daemon::control::handlers::{ControlContext, handle, refusal};
use crate::daemon::control::listener::ControlListener;
use crate::daemon::control::socket::ControlSocket;
use crate::daemon::service::{Call, Peer};
use crate::process::clock;

#[derive(Debug)]
pub(crate) struct ControlServer {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
    /// Kept so that the socket's file is removed when the server is dropped.
    _socket: ControlSocket,
}

impl ControlServer {
    /// Starts the server. Questions for the service's loop are sent to `calls`.
    pub(crate) fn start(socket: ControlSocket, calls: Sender<Call>, ambient: BTreeMap<OsString, OsString>) -> io::Result<Self> {
        let listener = ControlListener::new(tokio::net::UnixListener::from_std(socket.listener()?)?);
        let service = ServiceV1 { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned(), since: clock::now() };
        let router = router(&ControlContext { calls, service, ambient: ambient.into() });
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(listener, router.into_make_service_with_connect_info::<Peer>());
        let serving = serving.with_graceful_shutdown(async {
            let _either_way = stopped.await;
        });
        let task = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!("the control socket is closed: {error}");
            }
        });
        Ok(Self { task, stop, _socket: socket })
    }

    /// Stops the server. Answers that are ready are still written, for at most the time `within`.
    pub(crate) async fn stop(self, within: Duration) {
        let _gone = self.stop.send(());
        let _late = tokio::time::timeout(within, self.task).await;
    }
}

/// Builds the router from the table of routes.
fn router(desk: &ControlContext) -> Router {
    let router = ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, method(route, desk)));
    let router = router.fallback(|request: Request| async move {
        let message = format!("there is nothing at {}", request.uri().path());
        refusal(&ErrorV1::new(ErrorKindV1::NotFound, message, "`proctor api` lists what there is"))
    });
    router.method_not_allowed_fallback(|request: Request| async move {
        let message = format!("{} cannot be asked by {}", request.uri().path(), request.method());
        refusal(&ErrorV1::new(ErrorKindV1::MethodNotAllowed, message, "`proctor api` lists what there is"))
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
