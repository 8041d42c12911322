//! Opening the page in a browser: `POST /v1/page`.

use serde::{Deserialize, Serialize};

/// The body of `POST /v1/page`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageRequestV1 {
    /// Where in the page it opens, such as `/projects/shop-1a2b/runs/5`; at its start if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The answer of `POST /v1/page`: where the page is, and what lets a browser in once, within a minute.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageTicketV1 {
    /// The address on which this machine's browsers reach the page, such as `127.0.0.1:43211`.
    pub address: String,
    pub ticket: String,
    /// The file that sends a browser there with the ticket. Only its user can read it, and it goes when the ticket was used or is too old.
    pub file: String,
}

/// The ticket never gets into a log.
impl std::fmt::Debug for PageTicketV1 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PageTicketV1").field("address", &self.address).field("file", &self.file).finish_non_exhaustive()
    }
}
