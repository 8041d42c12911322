//! The service starts its own program anew when the file was replaced: no further run begins, the runs under way end, and then the
//! new program takes the place of this process. Before that the new program is run once, because nothing is left to go on if it fails. The
//! file that ran is kept open, and is the one that is started, whatever has its name then.
//! What was saved meanwhile is judged by the new one. If a run takes long, other projects are judged by the old one meanwhile.

use std::time::Duration;

use crate::engine::Moment;
use crate::service::call::Call;
use crate::service::host::calls::stopping;
use crate::service::host::{ServiceEnd, ServiceHost, ServiceStep};
use crate::service::program::{ProgramState, TrialOutcome};

/// How long no run begins while those under way are waited for. Then runs begin for as long again.
const HOLDING: Duration = Duration::from_secs(60);

impl ServiceHost {
    /// Looks whether the service's own program file was replaced. If it was, the new program is tried out.
    pub(super) fn look_at_own_program(&mut self, now: Moment) {
        if self.step == ServiceStep::GoingOn && self.program.look(now) == ProgramState::Replaced {
            let sender = self.send_call.clone();
            // Nobody waits for an outcome once the service has ended.
            self.program.try_out(now, move |outcome| drop(sender.blocking_send(Call::ProgramTried(outcome))));
        }
    }

    /// Takes the outcome of the trial of the new program. If it runs, no further run begins; if not, this one goes on.
    pub(super) fn own_program_tried(&mut self, now: Moment, outcome: TrialOutcome) {
        let tried = self.program.tried(now, outcome);
        let path = self.program.path().display().to_string();
        if let Err(Some(why)) = &tried {
            self.said.add(&format!(
                "`{path}` is another program than the one that runs, and does not run: {why}; the old one goes on"
            ));
        }
        // The file may have been replaced once more during the trial.
        if tried.is_ok() && self.step == ServiceStep::GoingOn && self.program.look(now) == ProgramState::Replaced {
            self.step = ServiceStep::LettingRunsEnd { turn: now.plus(HOLDING), are_held: true };
            self.places.hold_runs();
            let running = match self.places.runs() {
                0 => String::new(),
                1 => " when the run under way has ended".to_owned(),
                runs => format!(" when the {runs} runs under way have ended"),
            };
            self.said.add(&format!(
                "`{path}` is another program than the one that runs (version {}): it is started{running}",
                env!("CARGO_PKG_VERSION")
            ));
        }
    }

    /// Closes all projects, so that the new program can be started, if no run is under way any more.
    pub(super) fn renew_if_due(&mut self, now: Moment) {
        let ServiceStep::LettingRunsEnd { turn, are_held } = self.step else { return };
        if self.places.runs() > 0 {
            if turn <= now {
                if are_held {
                    self.places.release_runs()
                } else {
                    self.places.hold_runs()
                }
                self.step = ServiceStep::LettingRunsEnd { turn: now.plus(HOLDING), are_held: !are_held };
            }
        } else if let Some(program) = self.program.fit().cloned() {
            self.step = ServiceStep::Ending(ServiceEnd::Renew(program));
            self.manager.reloading();
            let why = stopping();
            self.each(|served| served.end(now, &why));
        }
    }
}
