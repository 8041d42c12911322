//! What keeps the service from judging a project although nothing is wrong with the project: a limit of the machine, the
//! disk, or proctor's own parts. Every such problem has a name for programs and a mend for people. Pure.

use std::time::Duration;

use proctor_wire::wire;

use crate::Timestamp;

/// The kind of a problem that keeps the service from judging a project.
#[wire(Copy, PartialOrd, Ord, Hash, schema)]
pub enum HealthProblem {
    /// No descriptor for another open file is left, in this process or on the machine.
    Descriptors,
    /// The kernel watches no further directory for this user.
    Watches,
    /// No memory is left.
    Memory,
    /// No further process or thread may be started.
    Processes,
    /// The disk with the evidence, or the user's quota on it, is full.
    DiskFull,
    /// The directory with the evidence is gone, read-only, or belongs to another user.
    StoreNotWritable,
    /// A helper process of proctor (the launcher or a keeper) cannot be started or dies again and again.
    LauncherGone,
    /// The clock is far behind the time at which the last run ended.
    ClockFarOff,
    /// None of the problems above; the error message says more.
    Other,
}

/// A problem that keeps the service from judging a project, for example a full disk. The service tries again by itself.
#[wire]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(rename = "HealthV1"))]
pub struct ServiceTrouble {
    /// The name of the problem, for programs.
    pub problem: HealthProblem,
    /// The problem and the error message with its causes, for people.
    pub message: String,
    /// What a person can do about it.
    pub mend: String,
    /// When the problem was first noticed.
    pub since: Timestamp,
}

/// A row of the table of problems.
struct HealthRow {
    problem: HealthProblem,
    /// The problem in a few words.
    words: &'static str,
    /// What a person can do; empty if the error itself says it better.
    mend: &'static str,
    /// The longest pause between two attempts. Attempts that carry out checks again and again cost most, so they come
    /// least often.
    longest_pause: Duration,
}

const MINUTE: Duration = Duration::from_secs(60);

/// Every problem, with its mend.
const HEALTH_ROWS: [HealthRow; 9] = [
    HealthRow {
        problem: HealthProblem::Descriptors,
        words: "no open file is left",
        mend: "raise the limit on open files (`LimitNOFILE=` in `systemctl --user edit proctor.service`, or `ulimit -n`) and \
               restart the service, or have it watch fewer projects (`proctor service remove`)",
        longest_pause: MINUTE,
    },
    HealthRow {
        problem: HealthProblem::Watches,
        words: "the limit on file watches is reached",
        mend: "raise the limit: sudo sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=1048576",
        longest_pause: MINUTE,
    },
    HealthRow {
        problem: HealthProblem::Memory,
        words: "no memory is left",
        mend: "end other programs, or give the checks that take most a limit (`memory` in proctor.toml)",
        longest_pause: MINUTE.saturating_mul(10),
    },
    HealthRow {
        problem: HealthProblem::Processes,
        words: "no further process may be started",
        mend: "raise the limit on processes of this user (`ulimit -u`, `TasksMax=`), or end some",
        longest_pause: MINUTE,
    },
    HealthRow {
        problem: HealthProblem::DiskFull,
        words: "the disk is full",
        mend: "free some space there; `proctor prune` removes old evidence, also while the disk is full",
        longest_pause: MINUTE,
    },
    HealthRow {
        problem: HealthProblem::StoreNotWritable,
        words: "the evidence cannot be written",
        mend: "the directory must be there, belong to you and be writable; mend its place, owner or mode",
        longest_pause: MINUTE,
    },
    HealthRow {
        problem: HealthProblem::LauncherGone,
        words: "a helper process of proctor is gone",
        mend: "see whether memory ran out (`journalctl -k`) and whether proctor's program file is still there",
        longest_pause: MINUTE.saturating_mul(10),
    },
    HealthRow {
        problem: HealthProblem::ClockFarOff,
        words: "the clock is far off",
        mend: "set the clock (`timedatectl`); new verdicts would seem older than the last one",
        longest_pause: MINUTE,
    },
    HealthRow { problem: HealthProblem::Other, words: "proctor itself failed", mend: "", longest_pause: MINUTE },
];

/// How far the clock may be behind the end of the last run. Clocks of two machines that share a store may differ a little.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(600);

impl HealthProblem {
    fn row(self) -> &'static HealthRow {
        HEALTH_ROWS.iter().find(|row| row.problem == self).expect("a test holds that every problem has a row")
    }

    /// Returns the problem in a few words.
    pub fn words(self) -> &'static str {
        self.row().words
    }

    /// Returns the problem with the error message that tells of it, for people.
    pub fn message(self, cause: &str) -> String {
        format!("{}: {cause}", self.words())
    }

    /// Returns what a person can do about the problem; `None` if only the error itself can say it.
    pub fn mend(self) -> Option<&'static str> {
        Some(self.row().mend).filter(|mend| !mend.is_empty())
    }

    /// Returns the longest pause between two attempts to judge a project that has this problem.
    pub fn longest_pause(self) -> Duration {
        self.row().longest_pause
    }
}

impl ServiceTrouble {
    /// Returns the problem that the clock is far behind the end of the last run; `None` if it is not.
    pub fn of_clock(now: Timestamp, last_ended: Option<Timestamp>) -> Option<Self> {
        let ended = last_ended?;
        let tolerance = i64::try_from(CLOCK_TOLERANCE.as_millis()).unwrap_or(i64::MAX);
        (ended.as_millis().saturating_sub(now.as_millis()) > tolerance).then(|| Self {
            problem: HealthProblem::ClockFarOff,
            message: HealthProblem::ClockFarOff.message(&format!("it shows {now}, and the last run ended at {ended}")),
            mend: HealthProblem::ClockFarOff.row().mend.to_owned(),
            since: now,
        })
    }

    /// Returns the same lines for a command that tried it itself, without the service.
    pub fn lines_without_service(&self) -> [String; 2] {
        [format!("cannot judge: {}", self.message), format!("hint: {}; then run the command again", self.mend)]
    }

    /// Returns the lines that tell a person of the problem and of the mend.
    pub fn lines(&self) -> [String; 2] {
        [
            format!("cannot judge since {}: {}", self.since, self.message),
            format!("hint: {}; a running service tries again by itself", self.mend),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [HealthProblem; 9] = [
        HealthProblem::Descriptors,
        HealthProblem::Watches,
        HealthProblem::Memory,
        HealthProblem::Processes,
        HealthProblem::DiskFull,
        HealthProblem::StoreNotWritable,
        HealthProblem::LauncherGone,
        HealthProblem::ClockFarOff,
        HealthProblem::Other,
    ];

    #[test]
    fn every_problem_has_one_row_and_all_but_other_have_a_mend() {
        for problem in ALL {
            assert_eq!(HEALTH_ROWS.iter().filter(|row| row.problem == problem).count(), 1, "{}", problem.words());
            assert_eq!(problem.mend().is_none(), problem == HealthProblem::Other, "{}", problem.words());
        }
    }

    #[test]
    fn a_clock_is_far_off_only_if_the_last_run_would_have_ended_much_later_than_now() {
        let now = Timestamp::from_millis(1_000_000_000);
        let ended = |later: i64| Some(Timestamp::from_millis(1_000_000_000 + later));
        assert_eq!(ServiceTrouble::of_clock(now, None), None);
        for near in [-5_000_000, 0, 600_000] {
            assert_eq!(ServiceTrouble::of_clock(now, ended(near)), None, "{near}");
        }
        let found = ServiceTrouble::of_clock(now, ended(600_001)).expect("it is far off");
        assert_eq!(found.problem, HealthProblem::ClockFarOff);
        assert!(found.message.contains("1970-01-12"), "{}", found.message);
    }
}
