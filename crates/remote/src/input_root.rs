//! Turns a tree into the directories of the server's language, once for each directory.
//!
//! The root of an action has the tree, below the path of [`InputFiles::place`], and `out`, where the tool's report goes. So a tool that
//! looks at its whole directory does not see the worker's own files, where the worker has the root as `/`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use crate::blob::BlobName;
use crate::fault::RemoteFault;
use crate::installed::KnownFile;
use proctor_model::{Digest, EntryKind, Timestamp, TreePath};
use proctor_tree::{TreeEntry, TreeIndex};

/// The place of the tree where the packages are the worker's own.
pub const PROJECT: &str = "project";
/// The directory of the root that the action writes its report to.
pub const OUT: &str = "out";

/// The most names of blobs that are kept; each takes about 50 bytes.
const MOST_KEPT: usize = 200_000;

/// The bytes of a file that are read at once.
const READ: usize = 256 * 1024;

/// What a run has to know of a server from one action to the next.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The directories of the last tree, by the digest that the tree's own format gives them.
    directories: HashMap<Digest, Arc<SentDirectory>>,
    /// The blobs that the server has, as far as it is known. It has everything below a directory that it has.
    pub(crate) present: HashSet<BlobName>,
    /// The files of installed packages that were read, by their paths.
    pub(crate) installed: HashMap<PathBuf, KnownFile>,
    /// Held while files are sent: of several shards with the same files, one sends them.
    pub(crate) sending: Arc<tokio::sync::Mutex<()>>,
    /// The paths of projects that lie at the same path there, each with what the worker is.
    pub(crate) at_their_own_path: HashSet<(PathBuf, BTreeMap<String, String>)>,
}

#[derive(Debug)]
struct SentDirectory {
    name: BlobName,
    message: Vec<u8>,
}

/// Where the bytes of a blob are.
#[derive(Debug, Clone)]
pub(crate) enum BlobSource {
    Bytes(Vec<u8>),
    File(PathBuf),
}

/// The root directory of an action, and every blob of it that the server may not have.
#[derive(Debug)]
pub(crate) struct InputRoot {
    pub(crate) name: BlobName,
    pub(crate) blobs: BTreeMap<BlobName, BlobSource>,
}

/// The files of an action: the tree, where its content lies, and files of the directory `out`.
#[derive(Debug, Clone, Copy)]
pub struct InputFiles<'a> {
    /// The tree; `None` for an empty one.
    pub tree: Option<&'a TreeIndex>,
    /// The directory that has the content of the tree.
    pub content: &'a Path,
    /// The path of the tree in the root, without `.` and `..`.
    pub place: &'a str,
    /// Directories of installed packages below `content` that are sent with everything in them, as paths of the tree.
    pub installed: &'a [TreePath],
    /// Where these directories lie: the root of the project.
    pub project: &'a Path,
    /// The files that proctor adds for the tool: names and texts.
    pub added: &'a [(&'static str, String)],
    /// The present time.
    pub now: Timestamp,
}

impl InputFiles<'_> {
    /// Returns the digest of the file, or of the link's target, that is sent at a path of the root; `None` if there is none.
    pub(crate) fn sent(&self, path: &str, is_link: bool) -> Option<Digest> {
        let path = TreePath::try_from(path.strip_prefix(self.place)?.strip_prefix('/')?).ok()?;
        if self.installed.iter().any(|installed| path.as_path().starts_with(installed.as_path())) {
            let place = self.project.join(path.as_path());
            let is_file = !is_link && place.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            return is_file.then(|| digest_of_file(&place).ok())?;
        }
        let entry = self.tree?.lookup(&path)?;
        entry.digest.filter(|_| (entry.kind == EntryKind::Link) == is_link)
    }
}

pub(crate) struct Builder<'a> {
    pub(crate) files: InputFiles<'a>,
    pub(crate) old: &'a Kept,
    directories: HashMap<Digest, Arc<SentDirectory>>,
    pub(crate) blobs: BTreeMap<BlobName, BlobSource>,
    /// The directories of installed packages that have no place in a directory of the tree yet.
    installed: BTreeMap<TreePath, BlobName>,
    /// What is known of the files of installed packages, anew.
    pub(crate) read: HashMap<PathBuf, KnownFile>,
}

impl Kept {
    /// Makes the root of an action, and keeps its directories.
    pub(crate) fn root(&mut self, files: InputFiles<'_>) -> Result<InputRoot, RemoteFault> {
        let mut builder = Builder {
            files,
            old: self,
            directories: HashMap::new(),
            blobs: BTreeMap::new(),
            installed: BTreeMap::new(),
            read: HashMap::new(),
        };
        for path in files.installed {
            let sent = builder.installed_directory(&files.project.join(path.as_path()))?;
            builder.installed.insert(path.clone(), sent);
        }
        let project = match files.tree {
            Some(tree) => builder.directory(&TreePath::root(), tree.digest().0, &mut tree.entries().peekable())?,
            None => builder.add(reapi::Directory::default().encode_to_vec()),
        };
        if let Some((path, _)) = builder.installed.pop_first() {
            return Err(RemoteFault::Input(format!("`{path}` lies in a directory that is not part of the tree")));
        }
        let name = builder.root(project)?;
        let Builder { directories, blobs, read, .. } = builder;
        self.directories = directories;
        if !files.installed.is_empty() {
            self.installed = read;
        }
        Ok(InputRoot { name, blobs })
    }

    /// Notes that the server has everything of a root.
    pub(crate) fn note_sent(&mut self, root: &InputRoot) {
        if self.present.len() > MOST_KEPT {
            self.present.clear();
        }
        self.present.extend(root.blobs.keys());
    }

    pub(crate) fn forget(&mut self) {
        self.present.clear();
    }
}

impl Builder<'_> {
    /// Makes the root of an action: `out`, and the directories above the tree.
    fn root(&mut self, tree: BlobName) -> Result<BlobName, RemoteFault> {
        let out = self.out();
        let node = |name: &str, blob: BlobName| reapi::DirectoryNode { name: name.to_owned(), digest: Some(blob.message()) };
        let (top, below) = self.files.place.split_once('/').map_or((self.files.place, None), |(top, below)| (top, Some(below)));
        if top == OUT {
            return Err(RemoteFault::Input(format!(
                "the project lies below `/{OUT}`, which is the directory of what comes back"
            )));
        }
        let mut blob = tree;
        for name in below.into_iter().flat_map(|below| below.rsplit('/')) {
            blob =
                self.add(reapi::Directory { directories: vec![node(name, blob)], ..reapi::Directory::default() }.encode_to_vec());
        }
        let mut directories = vec![node(OUT, out), node(top, blob)];
        directories.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(self.add(reapi::Directory { directories, ..reapi::Directory::default() }.encode_to_vec()))
    }

    pub(crate) fn add(&mut self, bytes: Vec<u8>) -> BlobName {
        let name = BlobName::of(&bytes);
        if !self.old.present.contains(&name) {
            self.blobs.insert(name, BlobSource::Bytes(bytes));
        }
        name
    }

    fn out(&mut self) -> BlobName {
        let mut files: Vec<reapi::FileNode> = Vec::new();
        for (name, text) in self.files.added {
            files.push(reapi::FileNode {
                name: (*name).to_owned(),
                digest: Some(self.add(text.as_bytes().to_vec()).message()),
                // A script that names its interpreter is called by its path.
                is_executable: text.starts_with("#!"),
                ..reapi::FileNode::default()
            });
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        self.add(reapi::Directory { files, ..reapi::Directory::default() }.encode_to_vec())
    }

    /// Makes the directory at a path; `entries` goes on behind what is below it. `digest` is the tree's own of the directory.
    fn directory(
        &mut self,
        path: &TreePath,
        digest: Digest,
        entries: &mut Peekable<impl Iterator<Item = TreeEntry>>,
    ) -> Result<BlobName, RemoteFault> {
        // With packages in it, it is another directory than the one that the tree's digest names.
        let is_of_tree_alone = !self.installed.keys().any(|installed| is_below(path, installed));
        let known = self.old.directories.get(&digest).filter(|_| is_of_tree_alone).cloned();
        if let Some(known) = known.as_ref().filter(|known| self.old.present.contains(&known.name)) {
            self.keep_below(path, entries);
            self.directories.insert(digest, Arc::clone(known));
            return Ok(known.name);
        }
        let mut made = reapi::Directory::default();
        while let Some(entry) = entries.next_if(|entry| entry.path.parent().as_ref() == Some(path)) {
            self.entry(entry, &mut made, entries)?;
        }
        if !is_of_tree_alone {
            self.add_installed(path, &mut made);
            return Ok(self.add(made.encode_to_vec()));
        }
        let sent = match known {
            Some(known) => known,
            None => {
                let message = made.encode_to_vec();
                Arc::new(SentDirectory { name: BlobName::of(&message), message })
            }
        };
        self.blobs.insert(sent.name, BlobSource::Bytes(sent.message.clone()));
        self.directories.insert(digest, Arc::clone(&sent));
        Ok(sent.name)
    }

    /// Adds the directories of installed packages to the directory that they lie in.
    fn add_installed(&mut self, path: &TreePath, made: &mut reapi::Directory) {
        for (installed, blob) in std::mem::take(&mut self.installed) {
            if installed.parent().as_ref() != Some(path) {
                self.installed.insert(installed, blob);
                continue;
            }
            let name = String::from_utf8_lossy(installed.name()).into_owned();
            // What git tracks of the directory is in it anyway.
            made.directories.retain(|directory| directory.name != name);
            made.directories.push(reapi::DirectoryNode { name, digest: Some(blob.message()) });
        }
        made.directories.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Goes on behind everything below a directory that the server has.
    fn keep_below(&mut self, path: &TreePath, entries: &mut Peekable<impl Iterator<Item = TreeEntry>>) {
        while let Some(entry) = entries.next_if(|entry| is_below(path, &entry.path)) {
            if let (EntryKind::Directory, Some(digest)) = (entry.kind, entry.digest)
                && let Some(known) = self.old.directories.get(&digest)
            {
                self.directories.insert(digest, Arc::clone(known));
            }
        }
    }

    fn entry(
        &mut self,
        entry: TreeEntry,
        made: &mut reapi::Directory,
        entries: &mut Peekable<impl Iterator<Item = TreeEntry>>,
    ) -> Result<(), RemoteFault> {
        let wrong = |why: &str| RemoteFault::Input(format!("`{}` {why}", entry.path));
        let name = String::from_utf8(entry.path.name().to_vec()).map_err(|_| wrong("has a name that is no UTF-8"))?;
        let digest = entry.digest.ok_or_else(|| wrong("cannot be read"))?;
        let place = self.files.content.join(entry.path.as_path());
        match entry.kind {
            EntryKind::Directory => {
                let blob = self.directory(&entry.path, digest, entries)?;
                made.directories.push(reapi::DirectoryNode { name, digest: Some(blob.message()) });
            }
            EntryKind::File | EntryKind::Executable => {
                let (_, size) =
                    self.files.tree.and_then(|tree| tree.modified_and_size(&entry.path)).ok_or_else(|| wrong("is not known"))?;
                let blob = BlobName { digest, size };
                if !self.old.present.contains(&blob) {
                    self.blobs.insert(blob, BlobSource::File(place));
                }
                let is_executable = entry.kind == EntryKind::Executable;
                made.files.push(reapi::FileNode { name, digest: Some(blob.message()), is_executable, node_properties: None });
            }
            EntryKind::Link => {
                let target = std::fs::read_link(&place).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
                let target = target.into_os_string().into_string().map_err(|_| wrong("leads to a name that is no UTF-8"))?;
                if Digest::of(target.as_bytes()) != digest {
                    return Err(wrong("changed while it was sent"));
                }
                made.symlinks.push(reapi::SymlinkNode { name, target, node_properties: None });
            }
        }
        Ok(())
    }
}

/// Returns whether a path lies below a directory.
fn is_below(directory: &TreePath, path: &TreePath) -> bool {
    let below = path.as_bytes().strip_prefix(directory.as_bytes());
    directory.is_root() || below.is_some_and(|rest| rest.starts_with(b"/"))
}

impl BlobSource {
    /// Returns a reader of the bytes.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send + '_>, RemoteFault> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(&bytes[..])),
            Self::File(path) => {
                let file = File::open(path).map_err(|error| self.unreadable(&error))?;
                Ok(Box::new(file))
            }
        }
    }

    /// Reads the bytes of a small blob, and refuses them if the name is not theirs.
    pub(crate) fn read(&self, name: BlobName) -> Result<Vec<u8>, RemoteFault> {
        let mut bytes = Vec::new();
        self.open()?.take(name.size + 1).read_to_end(&mut bytes).map_err(|error| self.unreadable(&error))?;
        if BlobName::of(&bytes) == name { Ok(bytes) } else { Err(self.changed()) }
    }

    pub(crate) fn unreadable(&self, error: &std::io::Error) -> RemoteFault {
        RemoteFault::Input(format!("`{}` cannot be read: {error}", self.shown()))
    }

    pub(crate) fn changed(&self) -> RemoteFault {
        RemoteFault::Input(format!("`{}` changed while it was sent", self.shown()))
    }

    fn shown(&self) -> String {
        match self {
            Self::Bytes(_) => "a directory".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// Hashes a file of any size, with a part of it in memory.
pub(crate) fn digest_of_file(path: &Path) -> std::io::Result<Digest> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; READ];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_hasher(hasher)),
            count => hasher.update(&buffer[..count]),
        }
    }
}
