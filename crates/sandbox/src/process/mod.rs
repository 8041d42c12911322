//! Starts commands, captures their output, stops them, and ensures that none of their processes is left.
//!
//! ```text
//!   run ──► supervise ──► capture ──► log, frames (files it is given)
//!              │  ▲
//!    requests  │  │ events         progress: decides (pure)     ladder, frames, excerpt: pure
//!              ▼  │
//!           launcher ──► one process group per action
//! ```
//!
//! Owns the launcher (the helper process that starts actions) and its protocol, the capture of output, the stop ladder
//! (E10), survivors (E14), and proctor's clocks. It knows nothing about tests and judges no exit status; a command's
//! failure is a [`proctor_model::ActionEnd`], never an error. Only `group` sends signals, only `system_calls` is unsafe,
//! only [`clock`] reads clocks.
//!
//! Where to look next: `supervise` runs one action and `progress` decides its steps; `launcher` (with
//! `launcher_keepers`) and `keeper` isolate it, with the file system of `stage` and the restrictions of `confine`.

mod action_mark;
mod active_action;
mod agent_register;
mod capture;
mod cgroup;
mod channel;
#[expect(clippy::disallowed_methods, reason = "the launcher starts its children here")]
mod child;
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads clocks")]
pub mod clock;
#[expect(
    clippy::disallowed_methods,
    reason = "a browser and a command of proctor's own are no actions, so the launcher does not start them"
)]
mod companion;
mod confine;
mod control;
mod covers;
mod early;
mod frames;
#[expect(clippy::disallowed_methods, reason = "this is the one place that signals")]
mod group;
#[expect(clippy::disallowed_methods, reason = "the launcher itself is the one process that is not started by the launcher")]
mod handle;
mod hashing;
mod keeper;
mod ladder;
mod launcher;
mod launcher_keepers;
mod layers;
mod level;
mod peer;
mod port_holder;
mod process_count;
mod process_table;
mod program;
#[expect(clippy::disallowed_methods, reason = "proctor's own commands are no actions, so the launcher does not start them")]
mod program_trial;
mod progress;
mod protocol;
mod restart;
#[expect(
    clippy::disallowed_methods,
    reason = "the process that holds a run's network is no action, so the launcher does not start it"
)]
mod run_network;
mod second_paths;
mod signals;
mod snapshot_mount;
mod stage;
mod sums;
mod supervise;
mod system_call_filter;
#[expect(unsafe_code, reason = "fork, close_range, waitid with usage and received descriptors have no safe form in nix")]
mod system_calls;
mod written;

pub use agent_register::{find_agent_above, register_agent};
pub use capture::{CaptureError, Sinks, capture_files};
pub use cgroup::limits_offered;
pub use channel::ChannelError;
pub use companion::{Companion, run_at_terminal, start_apart};
pub use confine::{restricts_path_sockets, restricts_sockets_and_signals, restricts_tcp};
pub use control::{ALL_REASONS, Control, ControlError, ControlHandle, WokenBy};
pub use frames::mask_stream;
#[cfg(feature = "test-fakes")]
pub use group::kill_self;
pub use handle::{LAUNCHER_ARGUMENT, LaunchRequest, LauncherError, LauncherHandle};
pub use launcher::launcher_main;
pub use layers::{Layers, SeenEntry, WrittenChange, WrittenEntry, is_opaque, written_entries};
pub use level::KernelSwitches;
pub use peer::{ActionSign, PeerExaminer, PeerOrigin, PeerProcess, variables_of_listener};
pub use port_holder::{read_port_holders, read_port_strangers};
pub use process_count::counts_processes_by_namespace;
pub use program::resolve_program;
pub use program_trial::{STARTED_BY, TrialEnd, end_with_starter, try_program};
pub(crate) use protocol::NO_OWN_NETWORK;
pub use protocol::{EarlyCommand, Isolation, LaunchedChild};
pub use restart::{PassedSocket, open_files_left, raise_open_files_limit, replace_program};
pub use run_network::{NETWORK_ARGUMENT, RunNetwork, network_main};
pub(crate) use second_paths::{MOUNTS, find_second_paths, read_mounts};
pub use signals::{ignores_hang_up, release_signals, report_file_size_limit, signal_controls, signal_pipe};
pub use supervise::{SuperviseError, supervise};
pub use system_call_filter::filter_obstacle;
pub use system_calls::{error_columns, output_columns, return_free_memory, share_heaps, take_passed_socket};
