//! Requests of processes that may ask nothing: they are named in the log, and in the report of the run to which the
//! process belongs.

use std::time::Duration;

use crate::engine::Moment;
use crate::service::host::ServiceHost;
use proctor_project::RefusedBefore;
use proctor_sandbox::process::{PeerOrigin, PeerProcess};

/// After a refused process whose project is unknown was named in the log, no other such process is named for this
/// time. Such processes could otherwise fill the log.
const SILENCE: Duration = Duration::from_secs(60);

impl ServiceHost {
    /// Records a refused request. The first refused request of every run is written to the log. A request that
    /// belongs to no known project is written to the log at most once per `SILENCE`.
    pub(super) fn refused(&mut self, now: Moment, peer: PeerProcess) {
        let process = peer.pid.unwrap_or_default();
        let launcher = match peer.origin {
            PeerOrigin::Action { launcher, .. } => launcher,
            PeerOrigin::Outside | PeerOrigin::Unknown => None,
        };
        let of_launcher = launcher
            .and_then(|launcher| self.refused_requests.iter().find(|(_, requests)| requests.has_launcher(launcher.as_raw())));
        match of_launcher {
            Some((seat, requests)) => {
                if requests.record(process) == RefusedBefore::Again {
                    return;
                }
                let root = self.seats.get(seat).map(|served| served.root.display().to_string()).unwrap_or_default();
                (self.say)(&format!("`{root}`: an action sent a request to the control socket, process {process}: refused"));
            }
            None => {
                if self.told_of_stranger.is_some_and(|told| now < told.plus(SILENCE)) {
                    return;
                }
                self.told_of_stranger = Some(now);
                let what = match peer.origin {
                    PeerOrigin::Action { sign, .. } => format!("a process that belongs to an action ({sign})"),
                    PeerOrigin::Outside | PeerOrigin::Unknown => "a process that has ended".to_owned(),
                };
                (self.say)(&format!("{what} sent a request to the control socket, process {process}: refused"));
            }
        }
    }
}
