//! Turns the kernel's file events into hints: "this path may have changed".
//!
//! Owns the watches of one project and the meaning of their events. Verdicts depend on the tree digest and never on
//! events, so a missed, doubled or late event costs time but cannot make a verdict wrong. In every case of doubt (an
//! overflow, a changed rules file, a watch that could not be placed) the module sends
//! [`proctor_model::WatchHint::LookAgain`], which asks for a scan of the whole tree. A path may be reported twice. A
//! change inside the tree is always reported, except in the cases at the end of this page.
//!
//! This module does not decide what to run. Of the files in the tree it reads only the rules files, such as
//! `.gitignore`. The matcher ([`crate::ignore`]) decides which paths get a hint.
//!
//! One [`WatchHub`] serves any number of projects with one inotify instance and one thread. A project that waits has no thread and no
//! descriptor of its own.
//!
//! # Limits of inotify
//!
//! What the kernel does not do, and what this module does about it:
//!
//! * A watch covers one directory, not those below it. So this module places one watch per directory, then lists the directory
//!   and reports its files, because they may have been written before the watch was placed.
//! * The kernel's queue overflows if it is not read fast enough. So the hub's thread only puts events into the queues of the
//!   projects, whose workers do the rest, and reading is not among the events that are asked for: a pytest run over 1,000 files
//!   would cause 1,400 of them, and the kernel's queue holds 16,384.
//! * An overflow is an event without a path, and concerns all projects. After one, every project places all watches again and
//!   asks for a scan of its whole tree.
//! * A watch stays with its inode when the directory is renamed. So after a rename or removal the watches at and below the
//!   old path are removed, the path is examined again, and a directory that is also known by another path gets a new watch.
//! * Removing a watch gives an event. So watches that are placed again are not removed first: after an overflow the events of
//!   removing thousands of watches would be the next overflow.
//! * The event of a file with several hard links has only the path that was used for writing. So the link count is read, and if
//!   it exceeds 1, the whole tree is scanned.
//! * The path of a directory may become another directory while its watch is placed. So `lstat` before and after placing
//!   compares device and inode.
//! * After the root was removed, no event ever arrives again. So this module checks at intervals whether the root exists again.
//! * Watching stops at the kernel's limit on watches or instances. So directories without a watch are polled until a watch can be
//!   placed.
//! * Network and shared file systems give no events for changes by other machines. So the file system's type is looked up
//!   ([`EVENTLESS`]) and a probe file is created. Directories on which events are missing are watched and polled.
//!
//! Four kinds of change give no event: writing through a memory mapping, renaming a parent of the root, mounting over a
//! directory, and writing to a file through a hard link outside the tree. Only the periodic scan of the whole tree finds them. An
//! answer that relies on the events before [`WatchHint::Synced`](proctor_model::WatchHint::Synced) may miss these changes, so no
//! verdict is ever based on it.

mod approvals;
mod git_index;
mod hub;
mod inbox;
mod inputs;
mod interpret;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the trees they watch")]
mod notify_compared;
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

pub use git_index::{GIT_MARKS, GitFiles};
pub use hub::{FollowedFile, WatchHub};
pub use interpret::{PathEvent, RawHint, interpret};
pub use places::{EVENTLESS, Eventless, WatchError, find_eventless};
pub use rules::learn_rules_on_the_way;
pub use watcher::{Pace, Watcher, WatcherHandle};
