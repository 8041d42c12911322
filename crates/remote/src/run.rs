//! Has one action carried out by a server, within bounds of time and of tries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::protobuf;
use prost::Message as _;
use tokio::sync::watch;

use crate::answer::AnswerReader;
use crate::blob::BlobName;
use crate::capabilities::{Capabilities, capabilities};
use crate::connection::{Connection, ServerAccess};
use crate::fault::{RemoteFault, shortened};
use crate::input_root::{BlobSource, InputFiles, Kept};
use crate::operation::{cancel, execute};
use crate::upload::upload;

/// How often an action is tried that the server could not carry out for a reason that may pass.
const TRIES: u32 = 3;
/// The wait before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(300);
/// How long an action may wait for a worker, and its files for the network, besides its own time limit.
const QUEUE: Duration = Duration::from_secs(600);
/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// The seconds since 1970 that a time of the server's language can have: the years 1 to 9999.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// How long a server has to take that an operation is cancelled.
const CANCEL: Duration = Duration::from_secs(2);

/// An action for a server.
#[derive(Debug, Clone)]
pub struct RemoteOrder<'a> {
    pub files: InputFiles<'a>,
    pub argv: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub platform: &'a BTreeMap<String, String>,
    /// The working directory, relative to the root of the action.
    pub directory: String,
    /// The files and directories that come back, relative to the working directory.
    pub outputs: Vec<String>,
    /// The action's time limit; the wait for a worker is not part of it.
    pub timeout: Duration,
    /// The directory that what comes back is written to. It is made; what is there from an earlier try is removed.
    pub into: &'a Path,
}

/// What a server says of an action. The bytes are what their digests name; the rest is the server's word.
#[derive(Debug)]
pub struct RemoteEnd {
    /// The exit code; the server's word.
    pub code: i32,
    /// Whether the server ended the action at its time limit.
    pub is_timeout: bool,
    /// The files with what the action printed.
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// The directory that has the files that came back, by their paths in the action's root.
    pub root: PathBuf,
    /// The paths, in the action's root, of the symbolic links that the action left. They do not come back.
    pub links: Vec<String>,
    /// The name of the worker, as the server says.
    pub worker: String,
    /// How long the worker ran the command, as the server says; `None` if it does not say.
    pub took: Option<Duration>,
    /// How many blobs were sent.
    pub uploaded: usize,
}

/// An action that ended there, before what it left was read.
struct Ended {
    connection: Connection,
    result: reapi::ActionResult,
    is_timeout: bool,
    uploaded: usize,
}

/// What is kept of each server, by endpoint and instance, so that a save sends what changed.
static SERVERS: LazyLock<Mutex<BTreeMap<(String, String), Kept>>> = LazyLock::new(Mutex::default);

/// Carries an action out. Blocks until it has ended or `is_stopped` says that nobody wants it any more.
///
/// # Errors
/// When the server gives no result, or one that is not accepted.
pub fn run(
    access: &ServerAccess,
    order: &RemoteOrder<'_>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<RemoteEnd, RemoteFault> {
    blocking(|| async {
        let (named, name) = watch::channel(None);
        let limit = order.timeout.saturating_add(QUEUE);
        let outcome = tokio::select! {
            outcome = carry_out(access, order, &named) => return outcome,
            () = stopped(is_stopped) => RemoteFault::Stopped,
            () = tokio::time::sleep(limit) => RemoteFault::Late(limit.as_secs()),
        };
        let name = name.borrow().clone();
        if let Some(name) = name {
            let cancelled = async {
                cancel(&access.connect().await?, name).await;
                Ok::<(), RemoteFault>(())
            };
            let _whether_it_was_taken = tokio::time::timeout(CANCEL, cancelled).await;
        }
        Err(outcome)
    })
}

/// Drives a future to its end on a thread of its own, because the caller's thread may drive others. Another thread drives the connection,
/// so that files are read while others are sent.
pub(crate) fn blocking<T: Send, F: Future<Output = Result<T, RemoteFault>>>(
    work: impl FnOnce() -> F + Send,
) -> Result<T, RemoteFault> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(RemoteFault::Output)?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| runtime.block_on(work()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

async fn stopped(is_stopped: &(dyn Fn() -> bool + Sync)) {
    while !is_stopped() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn carry_out(
    access: &ServerAccess,
    order: &RemoteOrder<'_>,
    named: &watch::Sender<Option<String>>,
) -> Result<RemoteEnd, RemoteFault> {
    let ended = tries(access, async || {
        named.send_replace(None);
        execute_once(access, order, named).await
    });
    let ended = ended.await?;
    // What has ended is never carried out again: another run could end in another way.
    tries(access, async || read(order, &ended).await).await
}

/// Does something again while its fault may pass, [`TRIES`] times in all.
async fn tries<T>(access: &ServerAccess, once: impl AsyncFn() -> Result<T, RemoteFault>) -> Result<T, RemoteFault> {
    let mut pause = PAUSE;
    for number in 1..TRIES {
        match once().await {
            Err(fault) if fault.may_pass() => {
                tracing::info!(%fault, number, "the server is asked again");
                if fault.lacks_blobs() {
                    with_kept(access, Kept::forget);
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            outcome => return outcome,
        }
    }
    once().await
}

/// Sends an action and waits for its end.
async fn execute_once(
    access: &ServerAccess,
    order: &RemoteOrder<'_>,
    named: &watch::Sender<Option<String>>,
) -> Result<Ended, RemoteFault> {
    let connection = access.connect().await?;
    let able = capabilities(&connection).await?;
    let (action, uploaded) = send(access, &connection, order, &able).await?;
    let answer = execute(&connection, action, named).await?;
    let is_timeout = answer.is_timeout();
    let result = match (answer.status, answer.result) {
        (Ok(()), Some(result)) => result,
        (Err(_), result) if is_timeout => result.unwrap_or_default(),
        (Err(fault), _) => return Err(fault),
        (Ok(()), None) => return Err(RemoteFault::Untrue("all is well, and there is no result".to_owned())),
    };
    if !is_timeout {
        require_an_end(&result)?;
    }
    Ok(Ended { connection, result, is_timeout, uploaded })
}

/// Refuses a result that no process can have. In the server's language a number that is missing is a zero, so a result in which all is
/// missing would be a success.
fn require_an_end(result: &reapi::ActionResult) -> Result<(), RemoteFault> {
    if *result == reapi::ActionResult::default() {
        return Err(RemoteFault::Untrue("the result is empty".to_owned()));
    }
    // Some servers write -1 for a process that a signal ended.
    if !(-1..=255).contains(&result.exit_code) {
        return Err(RemoteFault::Untrue(format!("no process ends with the exit code {}", result.exit_code)));
    }
    let is_time = |time: &protobuf::Timestamp| (0..1_000_000_000).contains(&time.nanos) && YEARS.contains(&time.seconds);
    let metadata = result.execution_metadata.iter();
    let mut times = metadata.flat_map(|one| [&one.execution_start_timestamp, &one.execution_completed_timestamp]).flatten();
    if times.all(is_time) { Ok(()) } else { Err(RemoteFault::Untrue("one of its times is none".to_owned())) }
}

/// Sends the action and what it needs. Returns its name, and how many blobs were sent.
async fn send(
    access: &ServerAccess,
    connection: &Connection,
    order: &RemoteOrder<'_>,
    able: &Capabilities,
) -> Result<(BlobName, usize), RemoteFault> {
    let sending = with_kept(access, |kept| Arc::clone(&kept.sending));
    let alone = sending.lock().await;
    let root = with_kept(access, |kept| kept.root(order.files))?;
    let command = command(order).encode_to_vec();
    let action = reapi::Action {
        command_digest: Some(BlobName::of(&command).message()),
        input_root_digest: Some(root.name.message()),
        timeout: Some(protobuf::Duration {
            seconds: i64::try_from(order.timeout.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(order.timeout.subsec_nanos()).unwrap_or_default(),
        }),
        do_not_cache: true,
        platform: Some(platform(order)),
        ..reapi::Action::default()
    };
    let action = action.encode_to_vec();
    let name = BlobName::of(&action);
    let mut blobs = root.blobs.clone();
    blobs.extend([command, action].map(|bytes| (BlobName::of(&bytes), BlobSource::Bytes(bytes))));
    let uploaded = upload(connection, &blobs, able).await?;
    with_kept(access, |kept| kept.note_sent(&root));
    drop(alone);
    Ok((name, uploaded))
}

#[expect(deprecated, reason = "servers of the protocol's first versions read the platform and the outputs of the command")]
fn command(order: &RemoteOrder<'_>) -> reapi::Command {
    let variables = order
        .environment
        .iter()
        .map(|(name, value)| reapi::command::EnvironmentVariable { name: name.clone(), value: value.clone() });
    let mut outputs = order.outputs.clone();
    outputs.sort();
    outputs.dedup();
    reapi::Command {
        arguments: order.argv.clone(),
        environment_variables: variables.collect(),
        output_paths: outputs,
        platform: Some(platform(order)),
        working_directory: order.directory.clone(),
        ..reapi::Command::default()
    }
}

fn platform(order: &RemoteOrder<'_>) -> reapi::Platform {
    let property = |(name, value): (&String, &String)| reapi::platform::Property { name: name.clone(), value: value.clone() };
    reapi::Platform { properties: order.platform.iter().map(property).collect() }
}

/// Reads what an action left. A connection that broke is taken up again.
async fn read(order: &RemoteOrder<'_>, ended: &Ended) -> Result<RemoteEnd, RemoteFault> {
    let Ended { connection, result, is_timeout, uploaded } = ended;
    let into = order.into;
    // Nothing of an earlier try is part of this answer.
    if into.exists() {
        std::fs::remove_dir_all(into).map_err(RemoteFault::Output)?;
    }
    std::fs::create_dir(into).map_err(RemoteFault::Output)?;
    let mut reader = AnswerReader::new(connection, order);
    let stdout = reader.stream("stdout", &result.stdout_raw, result.stdout_digest.as_ref()).await?;
    let stderr = reader.stream("stderr", &result.stderr_raw, result.stderr_digest.as_ref()).await?;
    reader.outputs(result).await?;
    let metadata = result.execution_metadata.clone().unwrap_or_default();
    let took = metadata.execution_start_timestamp.as_ref().zip(metadata.execution_completed_timestamp.as_ref());
    Ok(RemoteEnd {
        code: result.exit_code,
        is_timeout: *is_timeout,
        stdout,
        stderr,
        root: into.join("root"),
        links: reader.links.into_keys().collect(),
        worker: shortened(&metadata.worker),
        took: took.and_then(|(start, end)| between(start, end)),
        uploaded: *uploaded,
    })
}

fn between(start: &protobuf::Timestamp, end: &protobuf::Timestamp) -> Option<Duration> {
    let nanos = |time: &protobuf::Timestamp| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos);
    u64::try_from(nanos(end) - nanos(start)).ok().map(Duration::from_nanos)
}

/// Does something with what is kept of a server. No other action waits for the network meanwhile.
pub(crate) fn with_kept<T>(access: &ServerAccess, work: impl FnOnce(&mut Kept) -> T) -> T {
    let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    work(servers.entry((access.name.clone(), access.instance.clone())).or_default())
}
