//! What a server can do, and a trial of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use reapi::capabilities_client::CapabilitiesClient;

use crate::connection::{Connection, ServerAccess};
use crate::fault::RemoteFault;
use crate::input_root::InputFiles;
use crate::run::{RemoteOrder, blocking, run, with_kept};
use crate::upload::SHA256;
use proctor_model::Timestamp;

/// How long the trial may take, besides the wait for a worker.
const TRIAL: Duration = Duration::from_secs(20);

/// The number of zstd among the compressors of the server's language.
const ZSTD: i32 = reapi::compressor::Value::Zstd as i32;

/// What a server says that it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The largest message of blobs, in bytes; 0 for no limit.
    pub most_in_batch: u64,
    /// Whether it takes blobs that are compressed by zstd.
    pub takes_zstd: bool,
    /// The newest version of the protocol that it knows, such as `2.11`.
    pub version: String,
}

/// Asks a server what it can do.
///
/// # Errors
/// When it is not reached, or cannot do what proctor needs.
pub fn ask(access: &ServerAccess) -> Result<Capabilities, RemoteFault> {
    blocking(|| async { capabilities(&access.connect().await?).await })
}

/// Has a server carry out an action that prints where it runs. `place` is the path of its directory in the action's root, `into` a
/// directory for the answer, which does not exist yet.
///
/// # Errors
/// When the server gives no result, or the action does not print one line.
pub fn echo(
    access: &ServerAccess,
    platform: &BTreeMap<String, String>,
    place: &str,
    into: &Path,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<String, RemoteFault> {
    let now = Timestamp::from_millis(0);
    let order = RemoteOrder {
        files: InputFiles { tree: None, content: into, place, installed: &[], project: into, added: &[], now },
        argv: ["/bin/sh", "-c", "pwd"].map(str::to_owned).to_vec(),
        environment: BTreeMap::new(),
        platform,
        directory: place.to_owned(),
        outputs: Vec::new(),
        timeout: TRIAL,
        into,
    };
    let end = run(access, &order, is_stopped)?;
    let printed = std::fs::read_to_string(&end.stdout).map_err(RemoteFault::Output)?;
    match (end.code, printed.trim()) {
        (0, line) if line.starts_with('/') => Ok(line.to_owned()),
        (code, _) => Err(RemoteFault::Unfit(format!("`/bin/sh -c pwd` ended there with {code}"))),
    }
}

/// Refuses a server that has the root of an action elsewhere than at `/`, so that a project cannot lie at its own path there. A server
/// that was asked is not asked again.
///
/// # Errors
/// When it has, or gives no result.
pub fn require_own_path(
    access: &ServerAccess,
    platform: &BTreeMap<String, String>,
    project: &Path,
    into: &Path,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<(), RemoteFault> {
    let key = (project.to_owned(), platform.clone());
    if with_kept(access, |kept| kept.at_their_own_path.contains(&key)) {
        return Ok(());
    }
    let path = project.display().to_string();
    let found = echo(access, platform, path.trim_start_matches('/'), into, is_stopped)?;
    if found != path {
        return Err(RemoteFault::Unfit(format!(
            "installed packages name their own paths, and what lies at `{path}` here lies at `{found}` there"
        )));
    }
    with_kept(access, |kept| kept.at_their_own_path.insert(key));
    Ok(())
}

pub(crate) async fn capabilities(connection: &Connection) -> Result<Capabilities, RemoteFault> {
    let question = reapi::GetCapabilitiesRequest { instance_name: connection.instance.clone() };
    let mut client = CapabilitiesClient::new(connection.channel.clone());
    let answer = client.get_capabilities(connection.call(question)).await?.into_inner();
    let unfit = |why: &str| RemoteFault::Unfit(why.to_owned());
    let cache = answer.cache_capabilities.ok_or_else(|| unfit("it stores no files"))?;
    if !cache.digest_functions.contains(&SHA256) {
        return Err(unfit("it does not know SHA-256"));
    }
    let runs = answer.execution_capabilities.ok_or_else(|| unfit("it carries no actions out, it only stores files"))?;
    if !runs.exec_enabled {
        return Err(unfit("it carries no actions out for this caller"));
    }
    Ok(Capabilities {
        most_in_batch: u64::try_from(cache.max_batch_total_size_bytes).unwrap_or_default(),
        takes_zstd: cache.supported_compressors.contains(&ZSTD),
        version: answer.high_api_version.map(|version| format!("{}.{}", version.major, version.minor)).unwrap_or_default(),
    })
}
