//! A server of the Remote Execution API within the test's own process. It carries nothing out: each action prints `one test`, and leaves
//! a report and a directory. [`Lie`] says what is not true of its answer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream as bytes;
use bazel_remote_apis::google::longrunning as operations;
use bazel_remote_apis::google::protobuf::{self, Any, Empty};
use bazel_remote_apis::google::rpc;
use prost::Message;
use reapi::capabilities_server::{Capabilities, CapabilitiesServer};
use reapi::content_addressable_storage_server::{ContentAddressableStorage, ContentAddressableStorageServer};
use reapi::execution_server::{Execution, ExecutionServer};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Code, Request, Response, Status, Streaming};

use crate::blob::BlobName;
use crate::upload::SHA256;

/// What is not true of an answer, or what goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    None,
    OtherStdout,
    ShortStdout,
    LongStdout,
    InlineStdout,
    OtherStderr,
    InlineReport,
    OtherReport,
    ShortReport,
    NoDigest,
    NoSha256,
    NegativeSize,
    HugeSize,
    NotAskedFor,
    LeadsOut,
    Absolute,
    Twice,
    OtherTree,
    MissingChild,
    NameWithSlash,
    NameOfParent,
    OtherAction,
    OfAnotherTime,
    NoResult,
    NoResponse,
    OtherType,
    Garbage,
    ErrorWithoutReason,
    OtherOperation,
    /// A result in which nothing stands, which is the exit code 0.
    EmptyResult,
    CodeOfNoProcess,
    TimesOfNoClock,
    /// A directory has one root in its tree and another one beside it.
    TwoRoots,
    GarbageTree,
    /// Each directory names the one below it twice, 30 times.
    ManyDirectories,
    /// A directory lies in the next one, 5,000 times.
    DeepDirectories,
    ChildOfOtherSize,
    NegativeSizeInTree,
    FileAndDirectory,
    LinkAndFile,
    LinkWithTwoTargets,
    LongName,
    /// The report comes whole, and then the server takes it back.
    TakesBack,
    /// It fails, and says a megabyte about it.
    LongText,
    /// The first answer is that the server has no room, the next one is right.
    BusyOnce,
    BusyAlways,
    /// The first answer is that a blob is missing, although the server said that it has it.
    ForgetsOnce,
    /// The stream of the operation breaks once, and the operation goes on.
    BreaksOnce,
    /// The same, and the server is away for a moment before it knows the operation again.
    RestartsOnce,
    NeverEnds,
    Deadline,
    /// The operation itself, without a result, says that it reached its time limit.
    DeadlineWithoutResult,
    /// Once, the server is away for a moment when it is asked what it can do.
    AwayOnce,
    /// Once, it has no room for what is sent.
    FullOnce,
    /// Once, of a large blob only a half arrives.
    HalfOnce,
    /// Once, the worker vanishes, and the operation ends with that.
    VanishesOnce,
    /// Once, the worker vanishes, and the server aborts the operation itself.
    AbortsOnce,
    /// Once, the server breaks while it runs the action.
    InternalOnce,
    /// Once, what came of the action cannot be read.
    ReadFailsOnce,
    ReadFailsAlways,
    /// It prints the place where a root at `/` has it.
    RootIsTop,
    /// It prints a place below the worker's own directory.
    RootIsElsewhere,
    /// It is honest, and takes compressed blobs.
    Zstd,
    /// It has no SHA-256 among its digest functions.
    Unfit,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) blobs: HashMap<BlobName, Vec<u8>>,
    pub(super) uploads: usize,
    pub(super) headers: Vec<String>,
    pub(super) cancelled: Vec<String>,
    pub(super) executed: Vec<reapi::ExecuteRequest>,
    /// Whether the fault that comes once has come.
    pub(super) is_past: bool,
}

#[derive(Debug, Clone)]
pub(super) struct LyingServer {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Mutex<Seen>>,
    lie: Lie,
    asked: Arc<AtomicUsize>,
}

type Answers<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

fn any<M: Message>(name: &str, message: &M) -> Any {
    Any { type_url: format!("type.googleapis.com/build.bazel.remote.execution.v2.{name}"), value: message.encode_to_vec() }
}

impl LyingServer {
    /// Starts a server on a port of its own. It ends with the thread's runtime, which ends with the process of the test.
    pub(super) fn start(lie: Lie) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let server = Self { address, seen: Arc::default(), lie, asked: Arc::default() };
        let (capabilities, storage, execution) = (server.clone(), server.clone(), server.clone());
        let (stream, operations) = (server.clone(), server.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tonic::transport::Server::builder()
                    .add_service(CapabilitiesServer::new(capabilities))
                    .add_service(ContentAddressableStorageServer::new(storage))
                    .add_service(ExecutionServer::new(execution))
                    .add_service(bytes::byte_stream_server::ByteStreamServer::new(stream))
                    .add_service(operations::operations_server::OperationsServer::new(operations))
                    .serve_with_incoming(TcpListenerStream::new(listener))
                    .await
                    .expect("it serves");
            });
        });
        server
    }

    /// Fails the first call at which a fault is due.
    fn fail_once(&self, lie: Lie, code: Code) -> Result<(), Status> {
        let is_due = self.lie == lie && !std::mem::replace(&mut self.seen.lock().expect("not poisoned").is_past, self.lie == lie);
        if is_due { Err(Status::new(code, "said so")) } else { Ok(()) }
    }

    fn store(&self, bytes: &[u8]) -> reapi::Digest {
        let name = BlobName::of(bytes);
        self.seen.lock().expect("not poisoned").blobs.insert(name, bytes.to_vec());
        name.message()
    }

    /// Stores other bytes than the digest names.
    fn store_as(&self, named: &[u8], bytes: &[u8]) -> reapi::Digest {
        let name = BlobName::of(named);
        self.seen.lock().expect("not poisoned").blobs.insert(name, bytes.to_vec());
        name.message()
    }

    fn streams(&self, result: &mut reapi::ActionResult) {
        let out: &[u8] = match self.lie {
            Lie::RootIsTop => b"/srv/shop\n",
            Lie::RootIsElsewhere => b"/worker/7/srv/shop\n",
            _ => b"one test\n",
        };
        result.stdout_digest = Some(match self.lie {
            Lie::OtherStdout => self.store_as(out, b"two test\n"),
            Lie::ShortStdout => self.store_as(out, b"one"),
            Lie::LongStdout => self.store_as(out, b"one test\nand more\n"),
            _ => self.store(out),
        });
        if self.lie == Lie::InlineStdout {
            result.stdout_raw = b"two test\n".to_vec();
        }
        result.stderr_digest = Some(match self.lie {
            Lie::OtherStderr => self.store_as(b"warned", b"silent"),
            _ => self.store(b"warned"),
        });
    }

    fn report(&self, result: &mut reapi::ActionResult) {
        let report: &[u8] = b"<testsuite tests=\"1\"/>";
        let mut digest = match self.lie {
            Lie::OtherReport => self.store_as(report, b"<testsuite tests=\"9\"/>"),
            Lie::ShortReport => self.store_as(report, b"<testsuite"),
            _ => self.store(report),
        };
        match self.lie {
            Lie::NoSha256 => digest.hash = "md5".to_owned(),
            Lie::NegativeSize => digest.size_bytes = -5,
            Lie::HugeSize => digest.size_bytes = 1 << 50,
            _ => {}
        }
        let path = match self.lie {
            Lie::NotAskedFor => "secret.xml",
            Lie::LeadsOut => "../../../out/junit.xml",
            Lie::Absolute => "/out/junit.xml",
            _ => "../out/junit.xml",
        };
        let contents = if self.lie == Lie::InlineReport { b"<testsuite tests=\"9\"/>".to_vec() } else { Vec::new() };
        let digest = (self.lie != Lie::NoDigest).then_some(digest);
        let file = reapi::OutputFile { path: path.to_owned(), digest, contents, ..reapi::OutputFile::default() };
        result.output_files.push(file.clone());
        let also = |path: &str| reapi::OutputFile { path: path.to_owned(), ..file.clone() };
        match self.lie {
            Lie::Twice => result.output_files.push(file),
            Lie::FileAndDirectory => result.output_files.push(also("made")),
            Lie::LongName => result.output_files.push(also(&format!("../out/{}", "n".repeat(256)))),
            _ => {}
        }
    }

    fn directory(&self, result: &mut reapi::ActionResult) {
        let text = self.store(b"deep");
        let name = match self.lie {
            Lie::NameWithSlash => "../../deep.txt",
            Lie::NameOfParent => "..",
            _ => "deep.txt",
        };
        let node = reapi::FileNode { name: name.to_owned(), digest: Some(text), is_executable: true, ..Default::default() };
        let child = reapi::Directory { files: vec![node], ..reapi::Directory::default() };
        let mut children = if self.lie == Lie::MissingChild { Vec::new() } else { vec![child.clone()] };
        let mut child_name = BlobName::of(&child.encode_to_vec()).message();
        let (levels, names): (usize, &[&str]) = match self.lie {
            Lie::ManyDirectories => (30, &["a", "b"]),
            Lie::DeepDirectories => (5_000, &["a"]),
            _ => (0, &[]),
        };
        for _ in 0..levels {
            let node = |name: &&str| reapi::DirectoryNode { name: (*name).to_owned(), digest: Some(child_name.clone()) };
            let above = reapi::Directory { directories: names.iter().map(node).collect(), ..reapi::Directory::default() };
            child_name = BlobName::of(&above.encode_to_vec()).message();
            children.push(above);
        }
        match self.lie {
            Lie::ChildOfOtherSize => child_name.size_bytes += 1,
            Lie::NegativeSizeInTree => child_name.size_bytes = -1,
            _ => {}
        }
        let below = reapi::DirectoryNode { name: "below".to_owned(), digest: Some(child_name) };
        let link = |name: &str, target: &str| {
            let (name, target) = (name.to_owned(), target.to_owned());
            reapi::SymlinkNode { name, target, ..reapi::SymlinkNode::default() }
        };
        let mut symlinks = vec![link("new-link", "/etc")];
        match self.lie {
            Lie::LinkWithTwoTargets => symlinks.push(link("new-link", "/tmp")),
            Lie::LinkAndFile => symlinks.push(link("below", "/etc")),
            _ => {}
        }
        let root = reapi::Directory { directories: vec![below], symlinks, ..reapi::Directory::default() };
        let tree = match self.lie {
            Lie::GarbageTree => vec![0xff; 9],
            _ => reapi::Tree { root: Some(root), children }.encode_to_vec(),
        };
        let tree_digest = match self.lie {
            Lie::OtherTree => self.store_as(&tree, &reapi::Tree::default().encode_to_vec()),
            _ => self.store(&tree),
        };
        let other = (self.lie == Lie::TwoRoots).then(|| BlobName::of(b"another root").message());
        let directory = reapi::OutputDirectory {
            path: "made".to_owned(),
            tree_digest: Some(tree_digest),
            root_directory_digest: other,
            ..Default::default()
        };
        result.output_directories.push(directory);
    }

    /// Names a file and a link as they were sent.
    fn untouched(&self, result: &mut reapi::ActionResult) {
        let digest = Some(BlobName::of(b"top").message());
        result.output_files.push(reapi::OutputFile { path: "top.py".to_owned(), digest, ..Default::default() });
        let (path, target) = ("link.py".to_owned(), "top.py".to_owned());
        result.output_symlinks.push(reapi::OutputSymlink { path, target, ..Default::default() });
    }

    fn response(&self) -> reapi::ExecuteResponse {
        let is_trial = matches!(self.lie, Lie::RootIsTop | Lie::RootIsElsewhere);
        let mut result = reapi::ActionResult { exit_code: i32::from(!is_trial), ..reapi::ActionResult::default() };
        self.streams(&mut result);
        if !is_trial {
            self.report(&mut result);
            self.directory(&mut result);
            self.untouched(&mut result);
        }
        match self.lie {
            Lie::EmptyResult => result = reapi::ActionResult::default(),
            Lie::CodeOfNoProcess => result.exit_code = 4096,
            Lie::TimesOfNoClock => {
                let time = Some(protobuf::Timestamp { seconds: i64::MAX, nanos: -1 });
                let metadata = reapi::ExecutedActionMetadata { execution_start_timestamp: time, ..Default::default() };
                result.execution_metadata = Some(metadata);
            }
            _ => {}
        }
        let text = if self.lie == Lie::LongText { "!".repeat(1 << 20) } else { "said so".to_owned() };
        let status = |code: Code| Some(rpc::Status { code: code as i32, message: text.clone(), details: Vec::new() });
        let first = self.asked.fetch_add(1, Ordering::SeqCst) == 0;
        reapi::ExecuteResponse {
            result: (self.lie != Lie::NoResult).then_some(result),
            cached_result: self.lie == Lie::OfAnotherTime,
            status: match self.lie {
                Lie::BusyOnce if first => status(Code::ResourceExhausted),
                Lie::BusyAlways => status(Code::ResourceExhausted),
                Lie::ForgetsOnce if first => status(Code::FailedPrecondition),
                Lie::LongText => status(Code::InvalidArgument),
                Lie::Deadline => status(Code::DeadlineExceeded),
                Lie::VanishesOnce if first => status(Code::Unavailable),
                Lie::InternalOnce if first => status(Code::Internal),
                _ => None,
            },
            ..reapi::ExecuteResponse::default()
        }
    }

    fn operation(&self, action: Option<reapi::Digest>) -> operations::Operation {
        let mut response = any("ExecuteResponse", &self.response());
        match self.lie {
            Lie::OtherType => response.type_url.push('X'),
            Lie::Garbage => response.value = vec![0xff; 9],
            _ => {}
        }
        let result = match self.lie {
            Lie::NoResponse => None,
            Lie::AbortsOnce if self.fail_once(Lie::AbortsOnce, Code::Aborted).is_err() => {
                let status = rpc::Status { code: Code::Aborted as i32, message: "said so".to_owned(), details: Vec::new() };
                Some(operations::operation::Result::Error(status))
            }
            Lie::DeadlineWithoutResult => {
                let code = Code::DeadlineExceeded as i32;
                Some(operations::operation::Result::Error(rpc::Status { code, ..rpc::Status::default() }))
            }
            Lie::ErrorWithoutReason => Some(operations::operation::Result::Error(rpc::Status::default())),
            _ => Some(operations::operation::Result::Response(response)),
        };
        let name = if self.lie == Lie::OtherOperation { "operations/2" } else { "operations/1" };
        operations::Operation { name: name.to_owned(), done: true, result, ..self.begun(action) }
    }

    fn begun(&self, action: Option<reapi::Digest>) -> operations::Operation {
        let other = Some(BlobName::of(b"another action").message());
        let action_digest = if self.lie == Lie::OtherAction { other } else { action };
        let metadata = reapi::ExecuteOperationMetadata { action_digest, ..Default::default() };
        operations::Operation {
            name: "operations/1".to_owned(),
            metadata: Some(any("ExecuteOperationMetadata", &metadata)),
            ..operations::Operation::default()
        }
    }
}

#[tonic::async_trait]
impl Capabilities for LyingServer {
    async fn get_capabilities(
        &self,
        request: Request<reapi::GetCapabilitiesRequest>,
    ) -> Result<Response<reapi::ServerCapabilities>, Status> {
        self.fail_once(Lie::AwayOnce, Code::Unavailable)?;
        let header = request.metadata().get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
        self.seen.lock().expect("not poisoned").headers.extend(header);
        let known = if self.lie == Lie::Unfit { Vec::new() } else { vec![SHA256] };
        Ok(Response::new(reapi::ServerCapabilities {
            cache_capabilities: Some(reapi::CacheCapabilities {
                digest_functions: known,
                supported_compressors: if self.lie == Lie::Zstd { vec![1] } else { Vec::new() },
                ..Default::default()
            }),
            execution_capabilities: Some(reapi::ExecutionCapabilities { exec_enabled: true, ..Default::default() }),
            ..reapi::ServerCapabilities::default()
        }))
    }
}

#[tonic::async_trait]
impl Execution for LyingServer {
    type ExecuteStream = ReceiverStream<Result<operations::Operation, Status>>;
    type WaitExecutionStream = Answers<operations::Operation>;

    async fn execute(&self, request: Request<reapi::ExecuteRequest>) -> Result<Response<Self::ExecuteStream>, Status> {
        let request = request.into_inner();
        let action = request.action_digest.clone();
        self.seen.lock().expect("not poisoned").executed.push(request);
        let (sender, answers) = tokio::sync::mpsc::channel(2);
        let begun = sender.send(Ok(self.begun(action.clone()))).await;
        begun.expect("the client listens");
        match self.lie {
            // The sender is kept until the client is gone.
            Lie::NeverEnds => drop(tokio::spawn(async move { sender.closed().await })),
            Lie::BreaksOnce | Lie::RestartsOnce => {}
            _ => sender.send(Ok(self.operation(action))).await.expect("the client listens"),
        }
        Ok(Response::new(ReceiverStream::new(answers)))
    }

    async fn wait_execution(
        &self,
        _request: Request<reapi::WaitExecutionRequest>,
    ) -> Result<Response<Self::WaitExecutionStream>, Status> {
        self.fail_once(Lie::RestartsOnce, Code::Unavailable)?;
        let action = self.seen.lock().expect("not poisoned").executed.last().and_then(|request| request.action_digest.clone());
        Ok(Response::new(tokio_stream::iter(vec![Ok(self.operation(action))])))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for LyingServer {
    type GetTreeStream = Answers<reapi::GetTreeResponse>;
    type GetChunkMappingStream = Answers<reapi::GetChunkMappingResponse>;

    async fn find_missing_blobs(
        &self,
        request: Request<reapi::FindMissingBlobsRequest>,
    ) -> Result<Response<reapi::FindMissingBlobsResponse>, Status> {
        let seen = self.seen.lock().expect("not poisoned");
        let is_missing = |name: &reapi::Digest| !seen.blobs.contains_key(&BlobName::read(Some(name), "a blob").expect("right"));
        let missing = request.into_inner().blob_digests.into_iter().filter(is_missing).collect();
        Ok(Response::new(reapi::FindMissingBlobsResponse { missing_blob_digests: missing }))
    }

    async fn batch_update_blobs(
        &self,
        request: Request<reapi::BatchUpdateBlobsRequest>,
    ) -> Result<Response<reapi::BatchUpdateBlobsResponse>, Status> {
        self.fail_once(Lie::FullOnce, Code::ResourceExhausted)?;
        let mut seen = self.seen.lock().expect("not poisoned");
        for one in request.into_inner().requests {
            assert_eq!(one.digest, Some(BlobName::of(&one.data).message()), "the client sends what it names");
            seen.blobs.insert(BlobName::of(&one.data), one.data);
            seen.uploads += 1;
        }
        Ok(Response::new(reapi::BatchUpdateBlobsResponse::default()))
    }

    async fn batch_read_blobs(
        &self,
        _request: Request<reapi::BatchReadBlobsRequest>,
    ) -> Result<Response<reapi::BatchReadBlobsResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_tree(&self, _request: Request<reapi::GetTreeRequest>) -> Result<Response<Self::GetTreeStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn split_blob(&self, _request: Request<reapi::SplitBlobRequest>) -> Result<Response<reapi::SplitBlobResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_chunk_mapping(
        &self,
        _request: Request<reapi::GetChunkMappingRequest>,
    ) -> Result<Response<Self::GetChunkMappingStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn splice_blob(
        &self,
        _request: Request<reapi::SpliceBlobRequest>,
    ) -> Result<Response<reapi::SpliceBlobResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn register_chunk_mapping(
        &self,
        _request: Request<Streaming<reapi::RegisterChunkMappingRequest>>,
    ) -> Result<Response<reapi::RegisterChunkMappingResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl bytes::byte_stream_server::ByteStream for LyingServer {
    type ReadStream = Answers<bytes::ReadResponse>;

    async fn read(&self, request: Request<bytes::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        self.fail_once(Lie::ReadFailsOnce, Code::Unavailable)?;
        if self.lie == Lie::ReadFailsAlways {
            return Err(Status::unavailable("said so"));
        }
        let resource = request.into_inner().resource_name;
        let seen = self.seen.lock().expect("not poisoned");
        let found = seen.blobs.iter().find(|(name, _)| resource.ends_with(&name.path()));
        let (_, data) = found.ok_or_else(|| Status::not_found(resource.clone()))?;
        let mut pieces: Vec<_> =
            data.chunks((data.len() / 50).max(4)).map(|piece| Ok(bytes::ReadResponse { data: piece.to_vec() })).collect();
        if self.lie == Lie::TakesBack {
            pieces.push(Err(Status::data_loss("said so")));
        }
        Ok(Response::new(tokio_stream::iter(pieces)))
    }

    async fn write(&self, request: Request<Streaming<bytes::WriteRequest>>) -> Result<Response<bytes::WriteResponse>, Status> {
        let (mut stream, mut all, mut resource) = (request.into_inner(), Vec::new(), String::new());
        while let Some(piece) = stream.message().await? {
            resource.push_str(&piece.resource_name);
            all.extend(piece.data);
        }
        let sent = all.len();
        if self.lie == Lie::Zstd {
            all = zstd::decode_all(&all[..]).expect("compressed");
            assert!(resource.ends_with(&BlobName::of(&all).compressed_path()) && sent < all.len() / 100, "{resource}: {sent}");
            resource = resource.replace("compressed-blobs/zstd", "blobs");
        }
        assert!(resource.ends_with(&BlobName::of(&all).path()) && resource.starts_with("main/uploads/"), "{resource}");
        let committed_size = i64::try_from(sent).expect("small");
        if self.fail_once(Lie::HalfOnce, Code::Unavailable).is_err() {
            return Ok(Response::new(bytes::WriteResponse { committed_size: committed_size / 2 }));
        }
        let mut seen = self.seen.lock().expect("not poisoned");
        seen.blobs.insert(BlobName::of(&all), all);
        seen.uploads += 1;
        Ok(Response::new(bytes::WriteResponse { committed_size }))
    }

    async fn query_write_status(
        &self,
        _request: Request<bytes::QueryWriteStatusRequest>,
    ) -> Result<Response<bytes::QueryWriteStatusResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl operations::operations_server::Operations for LyingServer {
    async fn list_operations(
        &self,
        _request: Request<operations::ListOperationsRequest>,
    ) -> Result<Response<operations::ListOperationsResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_operation(
        &self,
        _request: Request<operations::GetOperationRequest>,
    ) -> Result<Response<operations::Operation>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn delete_operation(&self, _request: Request<operations::DeleteOperationRequest>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn cancel_operation(&self, request: Request<operations::CancelOperationRequest>) -> Result<Response<Empty>, Status> {
        self.seen.lock().expect("not poisoned").cancelled.push(request.into_inner().name);
        Ok(Response::new(Empty::default()))
    }

    async fn wait_operation(
        &self,
        _request: Request<operations::WaitOperationRequest>,
    ) -> Result<Response<operations::Operation>, Status> {
        Err(Status::unimplemented(""))
    }
}
