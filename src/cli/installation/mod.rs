//! Installs proctor as a systemd service of the user, and finds problems of the installation.
//!
//! `unit_file` and `advice` make the decisions; they are pure. `manager` runs `systemctl`. `disk` reads and writes the
//! two unit files. The service also runs without this module, for example with unit files from a package.

pub(crate) mod advice;
pub(crate) mod disk;
#[expect(clippy::disallowed_methods, reason = "`systemctl` is asked before there is a run; the launcher is for actions")]
pub(crate) mod manager;
pub(crate) mod unit_file;
