//! Accepts connections, only from this user, only up to [`MOST_CONNECTIONS`] at a time, and finds out who connected.
//!
//! A connection of an action is closed without an answer and takes no place from clients: it has one of a small number of places while the
//! attempt is recorded, and without one it is closed at once.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::io;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use crate::service::Peer;
use proctor_model::Asker;
use proctor_sandbox::process::{PeerExaminer, PeerOrigin, PeerProcess};

/// The most connections of clients that are open at the same time. Further ones wait in the kernel's queue. A client
/// that sends no request loses its connection after a few seconds, so the wait is short even if somebody opens that
/// many connections.
const MOST_CONNECTIONS: usize = 4096;
/// The most connections of one process that are open at the same time. A further one is closed at once, so that no process takes the
/// places of the others.
const MOST_OF_A_PROCESS: usize = 32;
/// The most connections of actions of which the attempt is being recorded at the same time.
const MOST_REFUSED: usize = 16;
/// Connections may take the process's limit on open files divided by this number. The rest is for projects and runs.
const SHARE_OF_DESCRIPTORS: u64 = 2;
/// The pause after a connection could not be accepted, for example because no descriptor is left.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a client may let the service wait before it reads more of its answer.
const READING: Duration = Duration::from_secs(5);

/// Accepts connections on the control socket and refuses those of other users.
#[derive(Debug)]
pub(super) struct ControlListener {
    listener: UnixListener,
    own_uid: u32,
    examiner: PeerExaminer,
    room: Arc<Semaphore>,
    room_for_refused: Arc<Semaphore>,
    /// The places of each process that has connections, by its id.
    of_processes: Mutex<BTreeMap<Option<i32>, Weak<Semaphore>>>,
}

/// An accepted connection. It counts towards the limit on connections until it is dropped.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    /// The timer that runs while the client does not read its answer.
    unread: Option<Pin<Box<Sleep>>>,
    _room: OwnedSemaphorePermit,
    /// Its place among those of its process; `None` where processes are not told apart.
    _of_process: Option<OwnedSemaphorePermit>,
}

/// The process that connected.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    /// A client, as the ledger records it (S3). The process is looked at when it connects, while it is certain that it is
    /// the one that connected.
    Client(Arc<Asker>),
    /// A process that gets nothing.
    Refused(PeerProcess),
}

impl ControlListener {
    /// Returns a listener that lets connections take a part of the `open_files` that this process may have.
    ///
    /// # Errors
    /// When `/proc` does not show this process.
    pub(super) fn new(listener: UnixListener, open_files: u64) -> io::Result<Self> {
        let own_uid = nix::unistd::getuid().as_raw();
        let share = usize::try_from(open_files / SHARE_OF_DESCRIPTORS).unwrap_or(MOST_CONNECTIONS);
        let room = Arc::new(Semaphore::new(share.clamp(MOST_REFUSED, MOST_CONNECTIONS)));
        let (examiner, room_for_refused) = (PeerExaminer::new()?, Arc::new(Semaphore::new(MOST_REFUSED)));
        Ok(Self { listener, own_uid, examiner, room, room_for_refused, of_processes: Mutex::default() })
    }

    /// Returns the next connection, and who made it.
    pub(super) async fn accept(&self) -> (Connection<UnixStream>, Caller) {
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

    async fn take(&self) -> io::Result<(Connection<UnixStream>, Caller)> {
        loop {
            let room = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, _) = self.listener.accept().await?;
            let peer = self.examiner.examine(stream.as_fd())?;
            // The directory's mode keeps other users out. But a descriptor that another process passes on bypasses the
            // directory.
            if peer.uid != self.own_uid {
                continue;
            }
            match peer.origin {
                PeerOrigin::Outside => {
                    let Some(of_process) = self.place_of_process(peer.pid) else { continue };
                    let asker = Peer { pid: peer.pid, uid: peer.uid }.asker();
                    let connection = Connection { _of_process: Some(of_process), ..Connection::new(stream, room) };
                    return Ok((connection, Caller::Client(Arc::new(asker))));
                }
                PeerOrigin::Action { .. } | PeerOrigin::Unknown => {
                    drop(room);
                    // If no place for connections of actions is free, the connection is closed at once.
                    let Ok(room) = Arc::clone(&self.room_for_refused).try_acquire_owned() else { continue };
                    return Ok((Connection::new(stream, room), Caller::Refused(peer)));
                }
            }
        }
    }

    /// Takes one of the places of a process; `None` if all are taken.
    fn place_of_process(&self, process: Option<i32>) -> Option<OwnedSemaphorePermit> {
        let mut known = self.of_processes.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, room| room.strong_count() > 0);
        let room = known.get(&process).and_then(Weak::upgrade).unwrap_or_else(|| Arc::new(Semaphore::new(MOST_OF_A_PROCESS)));
        known.insert(process, Arc::downgrade(&room));
        room.try_acquire_owned().ok()
    }
}

impl<S> Connection<S> {
    /// Makes a connection that holds a place among those that may be open.
    pub(super) fn new(stream: S, room: OwnedSemaphorePermit) -> Self {
        Self { stream, unread: None, _room: room, _of_process: None }
    }

    /// Passes on the result of a write, and ends the connection if the client has read nothing for [`READING`].
    fn limit_write<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread = None;
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(READING)));
        match unread.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit_write(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit_write(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
