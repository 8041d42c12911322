//! Turns the kernel's file events into hints: "this path may have changed".
//!
//! Owns the watches of one project and the meaning of their events. Verdicts depend on the tree digest and never on events, so a
//! missed, doubled or late event costs time but cannot make a verdict wrong. Every doubt (an overflow, a changed rules file, a
//! watch that could not be placed) becomes [`crate::model::WatchHint::LookAgain`], which asks for a scan of the whole tree. A
//! path may be reported twice, but a change inside the tree is always reported, except in the cases at the end of this page.
//!
//! This module does not decide what to run, and of all files it reads only the rules files. The matcher ([`crate::ignore`])
//! decides which paths get a hint.
//!
//! # Limits of the backend
//!
//! | behaviour of `notify` 8.2 with inotify | what this module does |
//! |---|---|
//! | recursive watches miss files that are written into a new directory before its watch is placed | places one watch per directory itself, then lists the directory and reports its files |
//! | the queue overflows if the event handler is slow | the handler only puts events into a queue; a worker thread does the rest |
//! | an overflow is an event without paths | [`interpret()`] checks `need_rescan` first; then all watches are placed again |
//! | after a rename or removal, the backend drops all watches below the old path, even one that was just placed there | examines the path again after every such event, and places the watch again for a directory that is also known by another path |
//! | the event of a file with several hard links has only the path that was used for writing | reads the link count; if it exceeds 1, asks for a scan of the whole tree |
//! | placing a watch follows symbolic links | checks by `lstat`, before and after placing, that the path is a directory |
//! | after the root was removed, no event ever arrives again | checks at intervals whether the root exists again |
//! | the event mask includes `IN_OPEN` and cannot be changed | drops these events before they are queued; a pytest run over 1,000 files causes 1,400 of them, and the kernel's queue holds 16,384 |
//! | watching stops at the kernel's limit on watches or instances | polls directories without a watch until a watch can be placed |
//! | network and shared file systems give no events for changes by others | looks up the file system's type ([`EVENTLESS`]) and creates a probe file; such directories are watched and polled |
//!
//! Four kinds of change give no event: writing through a memory mapping, renaming a parent of the root, mounting over a
//! directory, and writing to a file through a hard link outside the tree. Only the periodic scan of the whole tree finds them. An
//! answer that relies on the events before [`WatchHint::Synced`](crate::model::WatchHint::Synced) may miss these changes, so no
//! verdict is ever based on it.

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
