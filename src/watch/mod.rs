//! From the kernel's events to hints: something may have changed, look again.
//!
//! Owns the watches of one project and what its events mean. Events are hints, the digest is the truth: a missed, doubled or
//! late event costs time, never a wrong verdict. So every doubt (an overflow, a changed rules file, a watch that could not be
//! placed) becomes [`crate::model::WatchHint::LookAgain`], and a path may be named twice, but nothing in the tree goes unnamed.
//!
//! It may not decide anything about running, and may not read a file other than the rules files. Which paths are worth a hint
//! is the matcher's word ([`crate::ignore`]).
//!
//! # What the backend leaves to us
//!
//! | fact of `notify` 8.2 with inotify | answer |
//! |---|---|
//! | recursive watches miss files written into a directory before its watch is placed | one watch per directory, placed by us; then the directory is listed and what lies in it is reported |
//! | a slow handler makes the queue overflow | the handler only counts and pushes; a worker thread does the rest |
//! | an overflow comes as an event without paths | [`interpret()`] asks `need_rescan` first; all watches are placed anew |
//! | watches below a renamed or removed path are dropped by path, also a new one that was just placed there | after every such event the path is looked at again, and a directory that is known by another path is placed again |
//! | a file with several names is named by the one it was written by | its link count is asked for, and everything is compared |
//! | links are followed | directories are told from links by `lstat`, before and after placing |
//! | a removed root stays deaf for ever | it is looked for until it is back |
//! | the mask has `IN_OPEN` and cannot be changed | opening is dropped before it is queued; a pytest run over 1,000 files gives 1,400 such events, the kernel's queue holds 16,384 |
//! | the limit on watches, or on instances, ends the watching | what has no watch is polled, until one can be had |
//! | file systems that others change say nothing | the type is looked up ([`EVENTLESS`]) and a probe file is made: such directories are watched and polled |
//!
//! Not covered by events: stores through a mapping, a parent of the root that is renamed, something mounted over a directory, a write to
//! a file by a name of it that does not belong to the tree. The sweep sees those. So an answer that is made of what was heard before
//! [`WatchHint::Synced`](crate::model::WatchHint::Synced) is one for the tree at that moment but for those, and a verdict is never made of it.

mod account;
mod cookie;
mod error;
mod filesystem;
mod git;
mod inbox;
mod interpret;
mod places;
mod placing;
mod polling;
mod rules;
mod stamps;
mod syncing;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the trees they watch")]
mod tests;
mod ticker;
mod watcher;
mod worker;

pub use account::Account;
pub use error::WatchError;
pub use filesystem::{EVENTLESS, Eventless, find_eventless};
pub use git::{GIT_MARKS, GitFiles};
pub use interpret::{RawHint, interpret, interpret_error, is_noise};
pub use rules::learn_rules_on_the_way;
pub use watcher::{Pace, Watcher, WatcherHandle};
