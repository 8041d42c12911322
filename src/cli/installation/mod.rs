//! proctor as a service of systemd: the unit files, what is asked of the user's service manager, and what is found to be missing.
//!
//! `unit_file` and `advice` decide and are pure; `manager` runs `systemctl`, `disk` reads and writes the two files. Nothing here is
//! needed to run the service: a package's unit files do as well.

pub(crate) mod advice;
pub(crate) mod disk;
#[expect(clippy::disallowed_methods, reason = "`systemctl` is asked before there is a run; the launcher is for actions")]
pub(crate) mod manager;
pub(crate) mod unit_file;
