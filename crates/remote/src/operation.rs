//! Has an action carried out: asks for it, waits for it, and cancels it.

use std::time::Duration;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::longrunning::operations_client::OperationsClient;
use bazel_remote_apis::google::longrunning::{CancelOperationRequest, Operation, operation};
use prost::Message;
use reapi::execution_client::ExecutionClient;
use tokio::sync::watch;
use tonic::{Code, Streaming};

use crate::blob::BlobName;
use crate::connection::Connection;
use crate::fault::{RemoteFault, said};
use crate::upload::SHA256;

/// The waits before a lost connection is taken up again for one action, in milliseconds, and how often the last one is repeated: a minute
/// in all, in which a busy server starts anew.
const RECONNECTS: &[u64] = &[0, 300, 600, 1_200, 2_400, 5_000];
const LAST_RECONNECTS: usize = 11;

/// The name of a message's type in an answer begins with this.
const TYPES: &str = "type.googleapis.com/";

/// An answer that a server gave for an action, before any byte of it was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Result<(), RemoteFault>,
    pub(crate) result: Option<reapi::ActionResult>,
}

/// Asks for an action and waits for its end. The name of the operation goes to `named`, so that it can be cancelled.
pub(crate) async fn execute(
    connection: &Connection,
    action: BlobName,
    named: &watch::Sender<Option<String>>,
) -> Result<Answer, RemoteFault> {
    let request = reapi::ExecuteRequest {
        instance_name: connection.instance.clone(),
        // An honest run is a run: no result of another time is an answer.
        skip_cache_lookup: true,
        action_digest: Some(action.message()),
        digest_function: SHA256,
        ..reapi::ExecuteRequest::default()
    };
    let mut client = ExecutionClient::new(connection.channel.clone());
    let mut stream = client.execute(connection.call(request)).await?.into_inner();
    let mut broken = match follow(&mut stream, action, named).await {
        Ok(operation) => return read_answer(operation),
        Err(fault) => fault,
    };
    let last = RECONNECTS.iter().rev().take(1).cycle().take(LAST_RECONNECTS);
    for wait in RECONNECTS.iter().chain(last) {
        // The operation may go on although the stream broke.
        let Some(name) = named.borrow().clone().filter(|_| broken.is_break()) else { return Err(broken) };
        tokio::time::sleep(Duration::from_millis(*wait)).await;
        let request = reapi::WaitExecutionRequest { name };
        let followed = match client.wait_execution(connection.call(request)).await {
            Ok(stream) => follow(&mut stream.into_inner(), action, named).await,
            Err(status) => Err(status.into()),
        };
        broken = match followed {
            Ok(operation) => return read_answer(operation),
            Err(fault) => fault,
        };
    }
    Err(broken)
}

/// Asks the server to cancel an operation. Nobody waits for it: what it does afterwards is not read.
pub(crate) async fn cancel(connection: &Connection, name: String) {
    let request = connection.call(CancelOperationRequest { name });
    if let Err(status) = OperationsClient::new(connection.channel.clone()).cancel_operation(request).await {
        tracing::debug!(%status, "the operation is not cancelled");
    }
}

/// Follows an operation until it is done.
async fn follow(
    stream: &mut Streaming<Operation>,
    action: BlobName,
    named: &watch::Sender<Option<String>>,
) -> Result<Operation, RemoteFault> {
    while let Some(operation) = stream.message().await? {
        if let Some(known) = &*named.borrow()
            && *known != operation.name
        {
            return Err(RemoteFault::Untrue("it goes on with another operation".to_owned()));
        }
        named.send_replace(Some(operation.name.clone()));
        check_metadata(&operation, action)?;
        if operation.done {
            return Ok(operation);
        }
    }
    Err(RemoteFault::Away("the stream of the operation ended before the operation".to_owned()))
}

/// Refuses the result of another action.
fn check_metadata(operation: &Operation, action: BlobName) -> Result<(), RemoteFault> {
    let Some(metadata) = &operation.metadata else { return Ok(()) };
    if metadata.type_url != format!("{TYPES}{}", "build.bazel.remote.execution.v2.ExecuteOperationMetadata") {
        return Ok(());
    }
    let metadata = decode::<reapi::ExecuteOperationMetadata>(&metadata.value)?;
    match metadata.action_digest {
        Some(named) if named != action.message() => Err(RemoteFault::Untrue("it is for another action".to_owned())),
        Some(_) | None => Ok(()),
    }
}

fn read_answer(operation: Operation) -> Result<Answer, RemoteFault> {
    let untrue = |why: &str| RemoteFault::Untrue(why.to_owned());
    let response = match operation.result {
        Some(operation::Result::Error(status)) => {
            let status = said(status.code, &status.message);
            let answer = Answer { status, result: None };
            // Some servers say here, and not in a result, that the action reached its time limit.
            return if answer.is_timeout() {
                Ok(answer)
            } else {
                answer.status.and(Err(untrue("the operation failed without a reason")))
            };
        }
        Some(operation::Result::Response(response)) => response,
        None => return Err(untrue("the operation is done and has no result")),
    };
    if response.type_url != format!("{TYPES}{}", "build.bazel.remote.execution.v2.ExecuteResponse") {
        return Err(untrue("the operation's result is of another type"));
    }
    let response = decode::<reapi::ExecuteResponse>(&response.value)?;
    if response.cached_result {
        return Err(untrue("the result is of another time, and a run was asked for"));
    }
    let status = response.status.map_or(Ok(()), |status| {
        let hint = Some(response.message.trim()).filter(|message| !message.is_empty());
        let message = hint.map_or(status.message.clone(), |hint| format!("{} ({hint})", status.message));
        said(status.code, &message)
    });
    Ok(Answer { status, result: response.result })
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, RemoteFault> {
    M::decode(bytes).map_err(|error| RemoteFault::Untrue(format!("it cannot be read: {error}")))
}

impl Answer {
    /// Returns whether the server ended the action at its time limit.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self.status, Err(RemoteFault::Said { code: Code::DeadlineExceeded, .. }))
    }
}
