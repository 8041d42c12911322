//! Turns the kernel's file events into hints: "this path may have changed".
//!
//! Owns the watches of one project and the meaning of their events. Verdicts depend on the tree digest and never on
//! events, so a missed, doubled or late event costs time but cannot make a verdict wrong. In every case of doubt (an
//! overflow, a changed rules file, a watch that could not be placed) the module sends
//! [`crate::model::WatchHint::LookAgain`], which asks for a scan of the whole tree. A path may be reported twice. A
//! change inside the tree is always reported, except in the cases at the end of this page.
//!
//! This module does not decide what to run. Of the files in the tree it reads only the rules files, such as
//! `.gitignore`. The matcher ([`crate::ignore`]) decides which paths get a hint.
//!
//! # Limits of the backend
//!
//! The behaviour of `notify` 8.2 with inotify, and what this module does about it:
//!
//! * Recursive watches miss files that are written into a new directory before its watch is placed. So this module places one
//!   watch per directory itself, then lists the directory and reports its files.
//! * The queue overflows if the event handler is slow. So the handler only puts events into a queue, and a worker thread does the
//!   rest.
//! * An overflow is an event without paths. So [`interpret()`] checks `need_rescan` first, and after an overflow all watches are
//!   placed again.
//! * After a rename or removal, the backend drops all watches below the old path, even one that was just placed there. So the
//!   path is examined again after every such event, and a directory that is also known by another path gets a new watch.
//! * The event of a file with several hard links has only the path that was used for writing. So the link count is read, and if
//!   it exceeds 1, the whole tree is scanned.
//! * Placing a watch follows symbolic links. So `lstat` checks before and after placing that the path is a directory.
//! * After the root was removed, no event ever arrives again. So this module checks at intervals whether the root exists again.
//! * The event mask includes `IN_OPEN` and cannot be changed. A pytest run over 1,000 files causes 1,400 `IN_OPEN` events, and
//!   the kernel's queue holds 16,384 events. So the handler drops `IN_OPEN` events before they are queued for the worker.
//! * Watching stops at the kernel's limit on watches or instances. So directories without a watch are polled until a watch can be
//!   placed.
//! * Network and shared file systems give no events for changes by other machines. So the file system's type is looked up
//!   ([`EVENTLESS`]) and a probe file is created. Directories on which events are missing are watched and polled.
//!
//! Four kinds of change give no event: writing through a memory mapping, renaming a parent of the root, mounting over a
//! directory, and writing to a file through a hard link outside the tree. Only the periodic scan of the whole tree finds them. An
//! answer that relies on the events before [`WatchHint::Synced`](crate::model::WatchHint::Synced) may miss these changes, so no
//! verdict is ever based on it.

mod approvals;
mod cookie;
mod error;
mod filesystem;
mod git;
mod git_index;
mod inbox;
mod interpret;
mod mounts;
mod path_event;
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

pub use error::WatchError;
pub use filesystem::{EVENTLESS, Eventless, find_eventless};
pub use git::{GIT_MARKS, GitFiles};
pub use interpret::{RawHint, interpret, interpret_error, is_noise};
pub use path_event::PathEvent;
pub use rules::learn_rules_on_the_way;
pub use watcher::{Pace, Watcher, WatcherHandle};
