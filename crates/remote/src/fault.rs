//! Why a server gives no result.

use tonic::{Code, Status};

/// Why an action has no result of a server. It is never a failure of the action itself.
#[derive(Debug, thiserror::Error)]
pub enum RemoteFault {
    /// The settings of the server cannot be used: a variable that is not set, a file that cannot be read.
    #[error("{0}")]
    Settings(String),
    /// No connection, or it was lost.
    #[error("the server is not reached: {0}")]
    Away(String),
    /// The server's own word.
    #[error("the server says: {message} ({code})")]
    Said { code: Code, message: String },
    /// The server cannot do what is needed of it.
    #[error("the server is not one for this: {0}")]
    Unfit(String),
    /// An answer that does not fit its digest or the question.
    #[error("the server's answer is not accepted: {0}")]
    Untrue(String),
    /// A file of the tree cannot be sent: it changed meanwhile, or has no form in the server's language.
    #[error("the tree cannot be sent: {0}")]
    Input(String),
    /// What came back cannot be written here.
    #[error("an answer cannot be written: {0}")]
    Output(#[source] std::io::Error),
    #[error("the server did not finish the action within {0} s, with the wait for a worker")]
    Late(u64),
    /// It was asked to stop, here.
    #[error("it was stopped")]
    Stopped,
}

impl RemoteFault {
    /// Returns whether the same question may be answered when it is asked again.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Away(_) => true,
            Self::Said { code, .. } => {
                matches!(code, Code::Unavailable | Code::ResourceExhausted | Code::Aborted | Code::Internal | Code::Unknown)
                    || self.lacks_blobs()
            }
            Self::Settings(_)
            | Self::Unfit(_)
            | Self::Untrue(_)
            | Self::Input(_)
            | Self::Output(_)
            | Self::Late(_)
            | Self::Stopped => false,
        }
    }

    /// Returns whether it is the connection that failed, so that what the server does may go on.
    pub(crate) fn is_break(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Said { code: Code::Unavailable, .. })
    }

    /// Returns whether the server no longer has a blob that it had.
    pub(crate) fn lacks_blobs(&self) -> bool {
        matches!(self, Self::Said { code: Code::FailedPrecondition | Code::NotFound, .. })
    }
}

impl From<Status> for RemoteFault {
    fn from(status: Status) -> Self {
        // A connection that breaks is a status without a word of the server.
        match std::error::Error::source(&status) {
            Some(source) => Self::Away(with_causes(source)),
            None => Self::Said { code: status.code(), message: shortened(status.message()) },
        }
    }
}

impl From<tonic::transport::Error> for RemoteFault {
    fn from(error: tonic::transport::Error) -> Self {
        Self::Away(with_causes(&error))
    }
}

/// Returns the status of an answer as a fault; `Ok` if it says that all is well.
pub(crate) fn said(code: i32, message: &str) -> Result<(), RemoteFault> {
    let code = Code::from_i32(code);
    if code == Code::Ok { Ok(()) } else { Err(RemoteFault::Said { code, message: shortened(message) }) }
}

/// The most characters of a server's text that are kept.
const KEPT_TEXT: usize = 500;

/// Returns a text of a server without its end, if it is very long.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(KEPT_TEXT).collect()
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}
