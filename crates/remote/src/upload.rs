//! Sends what the server does not have.

use std::collections::BTreeMap;
use std::io::Read as _;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream::WriteRequest;
use bazel_remote_apis::google::bytestream::byte_stream_client::ByteStreamClient;
use reapi::content_addressable_storage_client::ContentAddressableStorageClient;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::Sender;
use tokio_stream::wrappers::ReceiverStream;

use crate::blob::BlobName;
use crate::connection::Connection;
use crate::fault::{RemoteFault, said};
use crate::input_root::BlobSource;
use proctor_model::Digest;

/// The most names in one question: about 700 KiB.
const NAMES: usize = 10_000;
/// The largest message of blobs, in bytes. No server has to take one of more than 4 MiB.
const MOST_IN_BATCH: u64 = 3 * 1024 * 1024;
/// What a blob takes in a message besides its bytes.
const OVERHEAD: u64 = 100;
/// The bytes of a piece of a large blob.
const PIECE: usize = 512 * 1024;
/// The most pieces that wait for the network.
const PIECES: usize = 2;

/// Sends the blobs that the server does not have. Returns how many that were. `most_in_batch` is the server's own limit in bytes; 0 for none.
pub(crate) async fn upload(
    connection: &Connection,
    blobs: &BTreeMap<BlobName, BlobSource>,
    most_in_batch: u64,
) -> Result<usize, RemoteFault> {
    let missing = missing(connection, blobs).await?;
    let limit = if most_in_batch == 0 { MOST_IN_BATCH } else { most_in_batch.min(MOST_IN_BATCH) };
    let (mut batch, mut waiting) = (Vec::new(), Vec::new());
    let mut room = limit;
    for name in &missing {
        let Some(source) = blobs.get(name) else {
            return Err(RemoteFault::Untrue(format!("it misses the blob {}, which it was not asked for", name.digest)));
        };
        if name.size + OVERHEAD > limit {
            write_large(connection, *name, source).await?;
            continue;
        }
        if name.size + OVERHEAD > room {
            // Two at a time: a server stores the one while it hashes the other.
            let full = std::mem::take(&mut batch);
            if waiting.is_empty() {
                waiting = full;
            } else {
                tokio::try_join!(send(connection, std::mem::take(&mut waiting)), send(connection, full))?;
            }
            room = limit;
        }
        room -= name.size + OVERHEAD;
        batch.push((*name, source.read(*name)?));
    }
    tokio::try_join!(send(connection, waiting), send(connection, batch))?;
    Ok(missing.len())
}

async fn missing(connection: &Connection, blobs: &BTreeMap<BlobName, BlobSource>) -> Result<Vec<BlobName>, RemoteFault> {
    let mut client = ContentAddressableStorageClient::new(connection.channel.clone());
    let names: Vec<reapi::Digest> = blobs.keys().map(|name| name.message()).collect();
    let mut missing = Vec::new();
    for names in names.chunks(NAMES) {
        let question = reapi::FindMissingBlobsRequest {
            instance_name: connection.instance.clone(),
            blob_digests: names.to_vec(),
            digest_function: SHA256,
        };
        let answer = client.find_missing_blobs(connection.call(question)).await?.into_inner();
        for name in &answer.missing_blob_digests {
            missing.push(BlobName::read(Some(name), "a missing blob")?);
        }
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}

/// The number of SHA-256 among the digest functions of the server's language.
pub(crate) const SHA256: i32 = reapi::digest_function::Value::Sha256 as i32;

async fn send(connection: &Connection, batch: Vec<(BlobName, Vec<u8>)>) -> Result<(), RemoteFault> {
    if batch.is_empty() {
        return Ok(());
    }
    let requests = batch.into_iter().map(|(name, data)| reapi::batch_update_blobs_request::Request {
        digest: Some(name.message()),
        data,
        compressor: 0,
    });
    let request = reapi::BatchUpdateBlobsRequest {
        instance_name: connection.instance.clone(),
        requests: requests.collect(),
        digest_function: SHA256,
    };
    let mut client = ContentAddressableStorageClient::new(connection.channel.clone());
    let answer = client.batch_update_blobs(connection.call(request)).await?.into_inner();
    for response in answer.responses {
        if let Some(status) = response.status {
            said(status.code, &status.message)?;
        }
    }
    Ok(())
}

/// Sends a large blob in pieces, of which a few are in memory at once.
async fn write_large(connection: &Connection, name: BlobName, source: &BlobSource) -> Result<(), RemoteFault> {
    let resource = connection.resource(&format!("uploads/{}/{}", fresh_id()?, name.path()));
    let (sender, pieces) = tokio::sync::mpsc::channel(PIECES);
    let mut client = ByteStreamClient::new(connection.channel.clone());
    let answer = client.write(connection.call(ReceiverStream::new(pieces)));
    let (sent, answer) = tokio::join!(send_pieces(name, source, resource, sender), answer);
    sent?;
    let answer = answer?.into_inner();
    let committed = u64::try_from(answer.committed_size).unwrap_or_default();
    // A server that got the blob from somebody else meanwhile says so by its size, or by -1.
    if committed == name.size || answer.committed_size == -1 {
        return Ok(());
    }
    Err(RemoteFault::Away(format!("of a blob of {} bytes {committed} arrived", name.size)))
}

/// Reads a blob piece by piece. The last piece, with which the blob is whole, is sent only if all are what the name says.
async fn send_pieces(
    name: BlobName,
    source: &BlobSource,
    mut resource_name: String,
    sender: Sender<WriteRequest>,
) -> Result<(), RemoteFault> {
    let mut reader = source.open()?;
    let (mut hasher, mut offset) = (Sha256::new(), 0);
    loop {
        let mut data = Vec::with_capacity(PIECE);
        reader.by_ref().take(PIECE as u64).read_to_end(&mut data).map_err(|error| source.unreadable(&error))?;
        hasher.update(&data);
        let end = offset + data.len() as u64;
        let finish_write = data.is_empty() || end >= name.size;
        if finish_write && (end != name.size || Digest::from_hasher(hasher.clone()) != name.digest) {
            return Err(source.changed());
        }
        let write_offset = i64::try_from(offset).unwrap_or(i64::MAX);
        let piece = WriteRequest { resource_name: std::mem::take(&mut resource_name), write_offset, finish_write, data };
        // A server that has the blob by now listens no longer.
        if sender.send(piece).await.is_err() || finish_write {
            return Ok(());
        }
        offset = end;
    }
}

/// Returns an id that no other upload has, in the form of a UUID.
fn fresh_id() -> Result<String, RemoteFault> {
    let mut bytes = [0_u8; 16];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.map_err(RemoteFault::Output)?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
