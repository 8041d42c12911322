//! Sends what the server does not have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream::WriteRequest;
use bazel_remote_apis::google::bytestream::byte_stream_client::ByteStreamClient;
use reapi::content_addressable_storage_client::ContentAddressableStorageClient;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use zstd::stream::read::Encoder;

use crate::blob::BlobName;
use crate::capabilities::Capabilities;
use crate::connection::Connection;
use crate::fault::{RemoteFault, said};
use crate::input_root::BlobSource;
use proctor_model::Digest;

/// The most names in one question: about 700 KiB.
const NAMES: usize = 10_000;
/// The largest message of blobs, in bytes. No server has to take one of more than 4 MiB.
const MOST_IN_BATCH: u64 = 3 * 1024 * 1024;
/// With so many bytes a message of several blobs is sent: a server stores small ones side by side, while the next ones are read.
const FULL: u64 = 256 * 1024;
/// How many messages are sent before their answers are waited for.
const AT_ONCE: usize = 4;
/// What a blob takes in a message besides its bytes.
const OVERHEAD: u64 = 100;
/// The bytes of a piece of a large blob.
const PIECE: usize = 512 * 1024;
/// How hard zstd tries: the network is to wait for no processor.
const LEVEL: i32 = 1;
/// The most pieces that wait for the network.
const PIECES: usize = 2;

/// Sends the blobs that the server does not have. Returns how many that were.
pub(crate) async fn upload(
    connection: &Connection,
    blobs: &BTreeMap<BlobName, BlobSource>,
    able: &Capabilities,
) -> Result<usize, RemoteFault> {
    let missing = missing(connection, blobs).await?;
    let limit = if able.most_in_batch == 0 { MOST_IN_BATCH } else { able.most_in_batch.min(MOST_IN_BATCH) };
    let (mut batch, mut size, mut sending) = (Vec::new(), 0, JoinSet::new());
    for name in &missing {
        let Some(source) = blobs.get(name) else {
            return Err(RemoteFault::Untrue(format!("it misses the blob {}, which it was not asked for", name.digest)));
        };
        let more = name.size + OVERHEAD;
        if more > limit {
            write_large(connection, *name, source, able.takes_zstd).await?;
            continue;
        }
        if size >= FULL || size + more > limit {
            sending.spawn(send(connection.clone(), std::mem::take(&mut batch)));
            size = 0;
        }
        if sending.len() == AT_ONCE {
            std::mem::take(&mut sending).join_all().await.into_iter().collect::<Result<(), _>>()?;
        }
        size += more;
        batch.push((*name, source.read(*name)?));
    }
    sending.spawn(send(connection.clone(), batch));
    sending.join_all().await.into_iter().collect::<Result<(), _>>()?;
    Ok(missing.len())
}

async fn missing(connection: &Connection, blobs: &BTreeMap<BlobName, BlobSource>) -> Result<BTreeSet<BlobName>, RemoteFault> {
    let mut client = ContentAddressableStorageClient::new(connection.channel.clone());
    let names: Vec<reapi::Digest> = blobs.keys().map(|name| name.message()).collect();
    let mut missing = BTreeSet::new();
    for names in names.chunks(NAMES) {
        let question = reapi::FindMissingBlobsRequest {
            instance_name: connection.instance.clone(),
            blob_digests: names.to_vec(),
            digest_function: SHA256,
        };
        let answer = client.find_missing_blobs(connection.call(question)).await?.into_inner();
        for name in &answer.missing_blob_digests {
            missing.insert(BlobName::read(Some(name), "a missing blob")?);
        }
    }
    Ok(missing)
}

/// The number of SHA-256 among the digest functions of the server's language.
pub(crate) const SHA256: i32 = reapi::digest_function::Value::Sha256 as i32;

async fn send(connection: Connection, batch: Vec<(BlobName, Vec<u8>)>) -> Result<(), RemoteFault> {
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

/// Sends a large blob in pieces, of which a few are in memory at once; compressed, where the server takes that.
async fn write_large(connection: &Connection, name: BlobName, source: &BlobSource, takes_zstd: bool) -> Result<(), RemoteFault> {
    let form = if takes_zstd { name.compressed_path() } else { name.path() };
    let resource = connection.resource(&format!("uploads/{}/{form}", fresh_id()?));
    let (sender, pieces) = tokio::sync::mpsc::channel(PIECES);
    let mut client = ByteStreamClient::new(connection.channel.clone());
    let answer = client.write(connection.call(ReceiverStream::new(pieces)));
    let (sent, answer) = tokio::join!(send_pieces(name, source, takes_zstd, resource, sender), answer);
    let sent = sent?;
    let answer = answer?.into_inner();
    let committed = u64::try_from(answer.committed_size).unwrap_or_default();
    // A server that got the blob from somebody else meanwhile says so by its size, or by -1.
    if [name.size, sent].contains(&committed) || answer.committed_size == -1 {
        return Ok(());
    }
    Err(RemoteFault::Away(format!("of a blob of {sent} bytes {committed} arrived")))
}

/// A reader that remembers what it read.
struct Measured<R> {
    reader: R,
    hasher: Sha256,
    size: u64,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.size += count as u64;
        Ok(count)
    }
}

/// Reads a blob piece by piece. The last piece, with which the blob is whole, is sent only if all are what the name says. Returns how many
/// bytes were sent.
async fn send_pieces(
    name: BlobName,
    source: &BlobSource,
    takes_zstd: bool,
    mut resource_name: String,
    sender: Sender<WriteRequest>,
) -> Result<u64, RemoteFault> {
    let unreadable = |error: io::Error| source.unreadable(&error);
    let mut measured = Measured { reader: source.open()?.take(name.size + 1), hasher: Sha256::new(), size: 0 };
    let mut packed: Box<dyn Read + '_> =
        if takes_zstd { Box::new(Encoder::new(&mut measured, LEVEL).map_err(unreadable)?) } else { Box::new(&mut measured) };
    let mut offset = 0;
    let mut piece = |data: Vec<u8>, finish_write| {
        let write_offset = i64::try_from(offset).unwrap_or(i64::MAX);
        offset += data.len() as u64;
        (offset, WriteRequest { resource_name: std::mem::take(&mut resource_name), write_offset, finish_write, data })
    };
    let mut read = || {
        let mut data = Vec::with_capacity(PIECE);
        packed.by_ref().take(PIECE as u64).read_to_end(&mut data).map_err(unreadable).map(|_| data)
    };
    let mut waiting = read()?;
    loop {
        let next = read()?;
        if next.is_empty() {
            break;
        }
        let (sent, request) = piece(std::mem::replace(&mut waiting, next), false);
        // A server that has the blob by now listens no longer.
        if sender.send(request).await.is_err() {
            return Ok(sent);
        }
    }
    drop(packed);
    if measured.size != name.size || Digest::from_hasher(measured.hasher) != name.digest {
        return Err(source.changed());
    }
    let (sent, request) = piece(waiting, true);
    let _listens_no_longer = sender.send(request).await;
    Ok(sent)
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
