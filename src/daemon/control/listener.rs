//! Accepts connections, only from this user and only up to [`MOST_CONNECTIONS`] at a time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::daemon::service::Peer;

/// The most connections that are open at the same time. Further ones wait in the kernel's queue.
const MOST_CONNECTIONS: usize = 128;
/// The pause after a connection could not be accepted, for example because no descriptor is left.
const PAUSE: Duration = Duration::from_millis(200);

/// Accepts connections on the control socket and refuses those of other users.
#[derive(Debug)]
pub(super) struct ControlListener {
    listener: UnixListener,
    own_uid: u32,
    room: Arc<Semaphore>,
}

/// An accepted connection. It counts towards `MOST_CONNECTIONS` until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    _room: OwnedSemaphorePermit,
}

impl ControlListener {
    pub(super) fn new(listener: UnixListener) -> Self {
        let own_uid = nix::unistd::getuid().as_raw();
        Self { listener, own_uid, room: Arc::new(Semaphore::new(MOST_CONNECTIONS)) }
    }

    async fn take(&self) -> io::Result<(Connection, Peer)> {
        loop {
            let room = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, _) = self.listener.accept().await?;
            let credentials = stream.peer_cred()?;
            // The directory's mode keeps other users out. But a descriptor that another process passes on bypasses the
            // directory.
            if credentials.uid() == self.own_uid {
                let peer = Peer { pid: credentials.pid(), uid: credentials.uid() };
                return Ok((Connection { stream, _room: room }, peer));
            }
        }
    }
}

impl Listener for ControlListener {
    type Io = Connection;
    type Addr = Peer;

    async fn accept(&mut self) -> (Connection, Peer) {
        loop {
            match self.take().await {
                Ok(taken) => return taken,
                Err(error) => {
                    tracing::warn!("a connection could not be taken: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { pid: None, uid: self.own_uid })
    }
}

impl Connected<IncomingStream<'_, ControlListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, ControlListener>) -> Self {
        *stream.remote_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
