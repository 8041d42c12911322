//! Reads what an action left: each byte is hashed anew against the digest that names it. A file that is as it was sent was not written
//! there, so it does not come back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream::ReadRequest;
use bazel_remote_apis::google::bytestream::byte_stream_client::ByteStreamClient;
use proctor_model::Digest;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use crate::blob::BlobName;
use crate::connection::Connection;
use crate::fault::{RemoteFault, shortened};
use crate::input_root::InputFiles;
use crate::run::RemoteOrder;

/// The most bytes of one file that an action may leave, and of each of its streams.
const MOST_OF_ONE: u64 = 1 << 30;
/// The most bytes of all that an action leaves.
const MOST_OF_ALL: u64 = 4 << 30;
/// The most files that an action may leave.
const MOST_FILES: usize = 20_000;
/// The most bytes of a path and of a name in it, as Linux has them.
const LONGEST_PATH: usize = 4_000;
const LONGEST_NAME: usize = 255;
/// The most bytes of a message that describes directories.
const MOST_OF_MESSAGE: u64 = 64 << 20;

/// Reads the parts of one answer into a directory of its own.
pub(crate) struct AnswerReader<'a> {
    connection: &'a Connection,
    /// Where the files go.
    into: &'a Path,
    /// What was sent.
    files: InputFiles<'a>,
    /// The working directory, relative to the root of the action.
    working_directory: &'a str,
    /// The paths that were asked for, relative to the root of the action.
    asked: BTreeSet<String>,
    /// The directories of trees, by their names.
    known: BTreeMap<BlobName, reapi::Directory>,
    /// The paths of the files and links, and those of the directories that they lie in.
    named: BTreeSet<String>,
    directories: BTreeSet<String>,
    /// The paths of the symbolic links that were not sent, with what they lead to.
    pub(crate) links: BTreeMap<String, String>,
    left: u64,
}

/// Returns a path with `.` and `..` taken out, relative to the root of an action; `None` if it leads out or names nothing.
pub(crate) fn below_root(working_directory: &str, path: &str) -> Option<String> {
    if path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in working_directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

impl<'a> AnswerReader<'a> {
    pub(crate) fn new(connection: &'a Connection, order: &'a RemoteOrder<'_>) -> Self {
        Self {
            connection,
            into: order.into,
            files: order.files,
            working_directory: &order.directory,
            asked: order.outputs.iter().filter_map(|path| below_root(&order.directory, path)).collect(),
            known: BTreeMap::new(),
            named: BTreeSet::new(),
            directories: BTreeSet::new(),
            links: BTreeMap::new(),
            left: MOST_OF_ALL,
        }
    }

    /// Writes one of the two streams to a file of its name.
    pub(crate) async fn stream(
        &mut self,
        name: &str,
        raw: &[u8],
        digest: Option<&reapi::Digest>,
    ) -> Result<PathBuf, RemoteFault> {
        let place = self.into.join(name);
        match digest {
            Some(_) => {
                let blob = BlobName::read(digest, name)?;
                self.blob(blob, raw, name, &place).await?;
            }
            None => self.write(&place, raw)?,
        }
        Ok(place)
    }

    /// Writes all files that the result names.
    #[expect(deprecated, reason = "servers of the protocol's first versions name links in other lists")]
    pub(crate) async fn outputs(&mut self, result: &reapi::ActionResult) -> Result<(), RemoteFault> {
        for file in &result.output_files {
            let path = self.asked_path(&file.path)?;
            let blob = BlobName::read(file.digest.as_ref(), &format!("`{}`", file.path))?;
            self.file(&path, blob, file.is_executable, &file.contents).await?;
        }
        for link in
            [&result.output_symlinks, &result.output_file_symlinks, &result.output_directory_symlinks].into_iter().flatten()
        {
            let path = self.asked_path(&link.path)?;
            self.link(path, &link.target)?;
        }
        for directory in &result.output_directories {
            let path = self.asked_path(&directory.path)?;
            let root = self.root_of(directory).await?;
            self.directory(path, root).await?;
        }
        Ok(())
    }

    /// Returns a path of an answer, relative to the root, if it was asked for or lies below what was.
    fn asked_path(&self, path: &str) -> Result<String, RemoteFault> {
        let untrue = |why: &str| RemoteFault::Untrue(format!("`{path}` {why}"));
        let found = below_root(self.working_directory, path).ok_or_else(|| untrue("leads out of the action's directory"))?;
        let is_asked = self
            .asked
            .iter()
            .any(|asked| found.strip_prefix(asked.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        if is_asked { Ok(found) } else { Err(untrue("was not asked for")) }
    }

    async fn root_of(&mut self, directory: &reapi::OutputDirectory) -> Result<BlobName, RemoteFault> {
        let what = format!("the directory `{}`", directory.path);
        if directory.tree_digest.is_none() {
            return BlobName::read(directory.root_directory_digest.as_ref(), &what);
        }
        let blob = BlobName::read(directory.tree_digest.as_ref(), &what)?;
        let bytes = self.message(blob, &what).await?;
        let tree = reapi::Tree::decode(&bytes[..]).map_err(|error| RemoteFault::Untrue(format!("{what}: {error}")))?;
        let root = tree.root.ok_or_else(|| RemoteFault::Untrue(format!("{what} has no root")))?;
        let name = BlobName::of(&root.encode_to_vec());
        if directory.root_directory_digest.as_ref().is_some_and(|other| *other != name.message()) {
            return Err(RemoteFault::Untrue(format!("{what} has two roots")));
        }
        for child in tree.children.into_iter().chain([root]) {
            self.known.insert(BlobName::of(&child.encode_to_vec()), child);
        }
        Ok(name)
    }

    /// Writes the files of a directory and of all directories below it.
    async fn directory(&mut self, path: String, root: BlobName) -> Result<(), RemoteFault> {
        let (mut waiting, mut files) = (vec![(path, root)], Vec::new());
        let mut looked = 0;
        while let Some((path, name)) = waiting.pop() {
            looked += 1;
            if looked > MOST_FILES || files.len() > MOST_FILES {
                return Err(RemoteFault::Untrue(format!("it has more than {MOST_FILES} directories or files")));
            }
            let directory = match self.known.get(&name) {
                Some(directory) => directory.clone(),
                None => {
                    let bytes = self.message(name, &path).await?;
                    let read = reapi::Directory::decode(&bytes[..]);
                    read.map_err(|error| RemoteFault::Untrue(format!("the directory `{path}`: {error}")))?
                }
            };
            for node in &directory.files {
                let path = join(&path, &node.name)?;
                let blob = BlobName::read(node.digest.as_ref(), &format!("`{path}`"))?;
                files.push((path, blob, node.is_executable));
            }
            for node in &directory.symlinks {
                self.link(join(&path, &node.name)?, &node.target)?;
            }
            for node in &directory.directories {
                let path = join(&path, &node.name)?;
                let name = BlobName::read(node.digest.as_ref(), &format!("`{path}`"))?;
                waiting.push((path, name));
            }
        }
        // A few small directories can name each other a million times, so all are known before the first file is fetched.
        for (path, blob, is_executable) in files {
            self.file(&path, blob, is_executable, &[]).await?;
        }
        Ok(())
    }

    async fn file(&mut self, path: &str, blob: BlobName, is_executable: bool, contents: &[u8]) -> Result<(), RemoteFault> {
        self.name(path)?;
        if self.files.sent(path, false) == Some(blob.digest) {
            return Ok(());
        }
        let place = self.into.join("root").join(path);
        let directory = place.parent().unwrap_or(self.into);
        std::fs::create_dir_all(directory).map_err(RemoteFault::Output)?;
        self.blob(blob, contents, path, &place).await?;
        if is_executable {
            std::fs::set_permissions(&place, Permissions::from_mode(0o755)).map_err(RemoteFault::Output)?;
        }
        Ok(())
    }

    /// Notes that something lies at a path: one thing, and no file where there is a directory.
    fn name(&mut self, path: &str) -> Result<(), RemoteFault> {
        let untrue = |why: &str| Err(RemoteFault::Untrue(format!("`{}` {why}", shortened(path))));
        if path.len() > LONGEST_PATH || path.split('/').any(|name| name.len() > LONGEST_NAME) {
            return untrue("is too long for a path");
        }
        if !self.named.insert(path.to_owned()) || self.named.len() > MOST_FILES {
            return untrue("is there twice, or there are too many files");
        }
        let above: Vec<String> = path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect();
        if self.directories.contains(path) || above.iter().any(|directory| self.named.contains(directory)) {
            return untrue("is a file and a directory");
        }
        self.directories.extend(above);
        Ok(())
    }

    /// Notes a link, which is not made here: it could lead anywhere. Servers may name it in a list for old clients too.
    fn link(&mut self, path: String, target: &str) -> Result<(), RemoteFault> {
        if self.links.get(&path).is_some_and(|known| known == target) {
            return Ok(());
        }
        if self.files.sent(&path, true) != Some(Digest::of(target.as_bytes())) {
            self.name(&path)?;
            self.links.insert(path, target.to_owned());
        }
        Ok(())
    }

    fn write(&mut self, place: &Path, bytes: &[u8]) -> Result<(), RemoteFault> {
        File::create_new(place).and_then(|mut file| file.write_all(bytes)).map_err(RemoteFault::Output)
    }

    /// Writes a blob to a new file: from the answer itself if that has it, else from the server's storage.
    async fn blob(&mut self, name: BlobName, inline: &[u8], what: &str, place: &Path) -> Result<(), RemoteFault> {
        self.left = match self.left.checked_sub(name.size) {
            Some(left) if name.size <= MOST_OF_ONE => left,
            Some(_) | None => return Err(RemoteFault::Untrue(format!("`{what}` has {} bytes, which is too much", name.size))),
        };
        if !inline.is_empty() || name.size == 0 {
            if BlobName::of(inline) != name {
                return Err(RemoteFault::Untrue(format!("`{what}` is not what its digest names")));
            }
            return self.write(place, inline);
        }
        let mut file = File::create_new(place).map_err(RemoteFault::Output)?;
        self.download(name, what, |piece| file.write_all(piece).map_err(RemoteFault::Output)).await
    }

    async fn message(&mut self, name: BlobName, what: &str) -> Result<Vec<u8>, RemoteFault> {
        if name.size > MOST_OF_MESSAGE {
            return Err(RemoteFault::Untrue(format!("{what} has {} bytes, which is too much", name.size)));
        }
        let mut bytes = Vec::new();
        self.download(name, what, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        Ok(bytes)
    }

    /// Reads a blob piece by piece, and refuses it if it is not what its name says.
    async fn download(
        &self,
        name: BlobName,
        what: &str,
        mut take: impl FnMut(&[u8]) -> Result<(), RemoteFault>,
    ) -> Result<(), RemoteFault> {
        let resource_name = self.connection.resource(&name.path());
        let request = self.connection.call(ReadRequest { resource_name, read_offset: 0, read_limit: 0 });
        let mut stream = ByteStreamClient::new(self.connection.channel.clone()).read(request).await?.into_inner();
        let (mut hasher, mut read) = (Sha256::new(), 0);
        while let Some(piece) = stream.message().await? {
            read += piece.data.len() as u64;
            if read > name.size {
                return Err(RemoteFault::Untrue(format!("`{what}` has more bytes than its digest names")));
            }
            hasher.update(&piece.data);
            take(&piece.data)?;
        }
        if read < name.size {
            return Err(RemoteFault::Untrue(format!("of `{what}` only {read} of {} bytes came", name.size)));
        }
        if Digest::from_hasher(hasher) != name.digest {
            return Err(RemoteFault::Untrue(format!("`{what}` is not what its digest names")));
        }
        Ok(())
    }
}

fn join(directory: &str, name: &str) -> Result<String, RemoteFault> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) || directory.len() + name.len() > LONGEST_PATH {
        let (directory, name) = (shortened(directory), shortened(name));
        return Err(RemoteFault::Untrue(format!("a file of `{directory}` has the name `{}`", name.escape_debug())));
    }
    Ok(format!("{directory}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_root() {
        assert_eq!(below_root("project/a", "../../out/junit.xml").as_deref(), Some("out/junit.xml"));
        assert_eq!(below_root("project", "./a//b.xml").as_deref(), Some("project/a/b.xml"));
        for wrong in ["../../x", "/etc/passwd", "../../../..", "..", "a\0b"] {
            assert_eq!(below_root("project", wrong), None, "{wrong}");
        }
    }
}
