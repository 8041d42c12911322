//! The names of blobs: SHA-256 and size.

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;

use crate::fault::RemoteFault;
use proctor_model::Digest;

/// The name of a blob: the SHA-256 of its bytes, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlobName {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
}

impl BlobName {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { digest: Digest::of(bytes), size: bytes.len() as u64 }
    }

    /// Reads the name of a blob in an answer. `what` says what the blob is.
    pub(crate) fn read(name: Option<&reapi::Digest>, what: &str) -> Result<Self, RemoteFault> {
        let untrue = |why: &str| RemoteFault::Untrue(format!("{what} {why}"));
        let name = name.ok_or_else(|| untrue("has no digest"))?;
        let digest = Digest::try_from(name.hash.clone()).map_err(|_| untrue("has a digest that is no SHA-256"))?;
        let size = u64::try_from(name.size_bytes).map_err(|_| untrue("has a size below zero"))?;
        Ok(Self { digest, size })
    }

    pub(crate) fn message(self) -> reapi::Digest {
        reapi::Digest { hash: self.digest.hex(), size_bytes: i64::try_from(self.size).unwrap_or(i64::MAX) }
    }

    /// Returns the blob's part of a resource name.
    pub(crate) fn path(self) -> String {
        format!("blobs/{}/{}", self.digest, self.size)
    }

    /// Returns the blob's part of the name of a resource that is sent compressed.
    pub(crate) fn compressed_path(self) -> String {
        format!("compressed-blobs/zstd/{}/{}", self.digest, self.size)
    }
}
