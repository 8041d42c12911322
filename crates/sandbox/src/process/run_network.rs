//! A network of a run's own: a network namespace that the run's actions share, and the process that made it.
//!
//! The process enters a user and a network namespace of its own, hands out descriptors of both, and then makes sockets in them for proctor,
//! which looks with them whether a service of the run answers: no other process can get into the namespace, because proctor itself has
//! several threads (`setns(2)`). It ends when proctor does, because its socket then closes, and the kernel removes the namespace with the last
//! process in it.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, socket, sockopt};
use nix::unistd::{Pid, setsid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process::channel::{Channel, ReceiveStatus};
use crate::process::group::{await_end, kill_child};
use crate::process::stage::{UserAndGroup, map_identity};
use crate::process::system_calls::bring_loopback_up;
use proctor_model::{CommandExit, IsolationLevel, NetworkAccess};

/// The hidden argument that makes a proctor executable hold the network of a run. The next argument is the word of the network.
pub const NETWORK_ARGUMENT: &str = "__network";

/// How long an answer of the holder may take, in milliseconds. It usually takes a few.
const ANSWER_MS: u16 = 10_000;
/// How long the holder may take to end, in milliseconds.
const ENDING_MS: u16 = 1000;

/// What proctor asks the holder of a network for: a TCP socket of the network that is not connected yet.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum WantedSocket {
    V4,
    V6,
}

/// The holder's answer: descriptors come with it, or why there are none.
type Answer = Result<(), String>;

/// The network of a run. Dropping it ends the process that holds it.
#[derive(Debug)]
pub struct RunNetwork {
    holder: Child,
    channel: Mutex<Channel>,
    /// The user namespace to which the network belongs.
    pub(super) user: OwnedFd,
    pub(super) network: OwnedFd,
    /// The level of the last action that was to have this network.
    level: OnceLock<IsolationLevel>,
}

impl RunNetwork {
    /// Makes a network. `executable` is proctor itself.
    ///
    /// # Errors
    /// Returns why this machine gives no process a network of its own.
    pub fn make(executable: &Path, access: NetworkAccess) -> Result<Self, String> {
        let failed = |error: io::Error| error.to_string();
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(executable);
        command.args([NETWORK_ARGUMENT, access.word()]).env_clear().current_dir("/");
        let holder = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn().map_err(failed)?;
        // The socket of the child is closed here with the command, so that the end of the child is seen.
        drop(command);
        let mut channel = Channel::new(ours);
        let answer = receive::<Answer>(&mut channel, PollTimeout::from(ANSWER_MS));
        match answer.map(|(answer, descriptors)| answer.map(|()| <[OwnedFd; 2]>::try_from(descriptors))) {
            Some(Ok(Ok([user, network]))) => {
                Ok(Self { holder, channel: Mutex::new(channel), user, network, level: OnceLock::new() })
            }
            other => {
                end_holder(holder, &channel);
                Err(match other {
                    Some(Err(why)) => why,
                    Some(Ok(_)) | None => "the process that should hold it did not answer".to_owned(),
                })
            }
        }
    }

    /// Connects to an address in this network, within a time limit.
    ///
    /// # Errors
    /// When nobody accepts the connection, or the holder of the network is gone.
    pub fn connect(&self, address: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        let socket = self.socket(if address.is_ipv4() { WantedSocket::V4 } else { WantedSocket::V6 })?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
            Ok(()) => {}
            Err(Errno::EINPROGRESS) => {
                let timeout = PollTimeout::try_from(timeout.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
                if poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], timeout)? == 0 {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "connection timed out"));
                }
                match getsockopt(&socket, sockopt::SocketError)? {
                    0 => {}
                    error => return Err(io::Error::from_raw_os_error(error)),
                }
            }
            Err(errno) => return Err(errno.into()),
        }
        let stream = TcpStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// Returns whether the actions that were to have this network have that of the machine, because they run at a level without namespaces.
    /// Before the first of them has started, none has.
    pub fn is_passed_by(&self) -> bool {
        self.level.get().is_some_and(|level| *level != IsolationLevel::Namespace)
    }

    pub(super) fn note_level(&self, level: IsolationLevel) {
        // All actions of a run reach the same level, so the first one decides.
        let _known = self.level.set(level);
    }

    fn socket(&self, wanted: WantedSocket) -> io::Result<OwnedFd> {
        let gone = || io::Error::other("the process that holds the network of the run is gone");
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(&wanted, &[]).map_err(|_| gone())?;
        let (answer, mut descriptors) = receive::<Answer>(&mut channel, PollTimeout::from(ANSWER_MS)).ok_or_else(gone)?;
        answer.map_err(io::Error::other)?;
        descriptors.pop().ok_or_else(gone)
    }
}

impl Drop for RunNetwork {
    fn drop(&mut self) {
        let channel = self.channel.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _gone = channel.shutdown(std::net::Shutdown::Both);
        reap(&mut self.holder);
    }
}

fn end_holder(mut holder: Child, channel: &Channel) {
    let _gone = channel.shutdown(std::net::Shutdown::Both);
    reap(&mut holder);
}

fn reap(holder: &mut Child) {
    let process = Pid::from_raw(holder.id().cast_signed());
    if matches!(holder.try_wait(), Ok(None)) && !await_end(process, ENDING_MS) {
        kill_child(process);
    }
    let _reaped = holder.wait();
}

/// Receives one message with its descriptors; `None` if none comes in time, or the other side is gone.
fn receive<T: DeserializeOwned>(channel: &mut Channel, timeout: PollTimeout) -> Option<(T, Vec<OwnedFd>)> {
    loop {
        if let Some(message) = channel.next_message().ok()? {
            return Some(message);
        }
        match poll(&mut [PollFd::new(channel.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) => return None,
            Ok(_) => {
                if channel.receive().ok()? == ReceiveStatus::Closed {
                    return None;
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Holds a network until the process that asked for it is gone. The socket between the two is this process's standard input.
///
/// `main` calls only this function when the first argument is [`NETWORK_ARGUMENT`], with the argument behind it. The exit code only helps
/// debugging.
pub fn network_main(word: &str) -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(CommandExit::OwnFault.code());
    };
    let mut channel = Channel::new(UnixStream::from(socket));
    let (answer, descriptors) = match enter(word == NetworkAccess::Loopback.word()) {
        Ok(descriptors) => (Ok(()), descriptors),
        Err(why) => (Err(why), Vec::new()),
    };
    let borrowed: Vec<_> = descriptors.iter().map(OwnedFd::as_fd).collect();
    if channel.send(&answer, &borrowed).is_err() || answer.is_err() {
        return ExitCode::SUCCESS;
    }
    while let Some((wanted, _)) = receive::<WantedSocket>(&mut channel, PollTimeout::NONE) {
        let sent = match tcp_socket(wanted) {
            Ok(made) => channel.send(&Answer::Ok(()), &[made.as_fd()]),
            Err(errno) => channel.send(&Answer::Err(errno.desc().to_owned()), &[]),
        };
        if sent.is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Enters a user and a network namespace of this process's own, and returns descriptors of both.
fn enter(has_loopback: bool) -> Result<Vec<OwnedFd>, String> {
    let identity = UserAndGroup::own();
    // ^C at the terminal is not meant for this process.
    let _is_leader_already = setsid();
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| format!("a user namespace cannot be made: {errno}"))?;
    map_identity(identity).map_err(|error| format!("cannot be somebody in a new user namespace: {error}"))?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| format!("a network namespace cannot be made: {errno}"))?;
    if has_loopback {
        let any = tcp_socket(WantedSocket::V4).map_err(|errno| format!("no socket can be made in it: {errno}"))?;
        bring_loopback_up(&any).map_err(|error| format!("its loopback interface cannot be brought up: {error}"))?;
    }
    let open = |name: &str| std::fs::File::open(format!("/proc/self/ns/{name}")).map(OwnedFd::from);
    let opened = open("user").and_then(|user| Ok(vec![user, open("net")?]));
    opened.map_err(|error| format!("its namespaces cannot be opened: {error}"))
}

fn tcp_socket(wanted: WantedSocket) -> Result<OwnedFd, Errno> {
    let family = match wanted {
        WantedSocket::V4 => AddressFamily::Inet,
        WantedSocket::V6 => AddressFamily::Inet6,
    };
    socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_holds_no_network_is_no_network() {
        for (program, expected) in [("/bin/true", "did not answer"), ("/no/such/program", "No such file")] {
            let why = RunNetwork::make(Path::new(program), NetworkAccess::Loopback).expect_err("it makes none");
            assert!(why.contains(expected), "{program}: {why}");
        }
    }
}
