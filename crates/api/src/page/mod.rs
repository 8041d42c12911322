//! The page that `proctor open` shows in a browser: who may ask for it, and the files that it is made of.
//!
//! Owns every decision about a request of a browser (pure: a request's head goes in, a decision comes out), the tickets and tokens, and
//! the table of the page's files. The service and `proctor open` listen and answer; `export` makes one file of the same page.
//!
//! # Why it is safe to listen
//!
//! Every program of this machine can connect to a port of loopback, and every web site can make a browser do so. So a request needs:
//!
//! * the name of this machine in `Host`. A foreign name that a name server points at 127.0.0.1 (DNS rebinding) is refused;
//! * no sign of another site in `Origin` or `Sec-Fetch-Site`;
//! * a token in a header, which no browser sends by itself. It is no cookie: cookies ignore ports, so every server on loopback would get it.
//!
//! The token is handed over once: `proctor open` writes a ticket into a file that only its user can read, the browser opens the file, and
//! the page exchanges the ticket for a token. Only hashes of both are kept.

mod access;
mod assets;
mod offline;
mod request;
mod run_answers;

pub use access::{MOST_TOKENS, PageAccess, RawOutput, SECRET_BYTES, Secret, TICKET_LASTS, TicketUse};
pub use assets::{Asset, INDEX, asset, page_headers};
pub use offline::{Answers, offline_page};
pub use request::{PageDecision, PageRefusal, PageRequest, SentHeader, decide, is_page_path, opening_file};
pub use run_answers::{OfflineRun, run_answers};
