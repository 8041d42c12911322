//! Decides which modification times the files of a copy get. Pure.
//!
//! Tools compare times in two ways. `make` and `tsc -b` compare the time of a product with the times of its sources, so the files of
//! one update keep the order of their times in the project. mypy compares the whole second and the size of a file with those that
//! it has recorded, so two contents of one size never get times in one second.

use std::time::Duration;

use proctor_model::Timestamp;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// How much older than usual an aged file of the copy is. No source file has a time that is older than that of an aged file, so a
/// tool such as make, which compares the times of files, never takes an aged file for one that was made from the present sources.
const AGE: Duration = Duration::from_hours(40 * 365 * 24);
const AGE_SECONDS: i64 = AGE.as_secs().cast_signed();

/// The earliest time that an aged file gets, in seconds since 1970: 2 January 1980. A ZIP archive cannot hold an earlier one.
const OLDEST: i64 = 315_619_200;

/// The largest difference between the times of two files that follow each other, if an update changes few files. Some tools
/// round times to milliseconds.
const STEP: i64 = NANOS_PER_MILLI;
/// The same for an update that changes many files. Their times would otherwise lie seconds in the future.
const SMALL_STEP: i64 = 1_000;
/// An update with more different times than this changes many files.
const FEW: usize = 20;

/// Which modification times the files of the copy get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopiedTimes {
    /// The time of the project's file, but no later than this time. This suffices for a new copy, because no tool has a
    /// cache for it yet.
    AtMost(Timestamp),
    /// This time or a later one. Tools such as make and `tsc -b` compare the times of inputs with those of outputs kept from
    /// earlier runs, so a changed input must be newer. The project's own time could be older, because the file may have
    /// been saved during a run.
    From(Timestamp),
}

/// A file or link that is to be copied, as far as its time depends on it. Times are nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileToTime {
    /// When the project's file was last modified.
    pub(super) modified: i64,
    pub(super) is_aged: bool,
    /// The second, since 1970, of the time of another file that must be told apart from this one by its time.
    pub(super) taken: Option<i64>,
}

/// The times of copied files, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedTimes {
    /// The times, in the order of the files.
    pub(super) times: Vec<i64>,
    /// The latest time that any file of the copy got, in this update or before.
    pub(super) newest: Option<i64>,
}

/// Returns the times of the files that one update copies. `newest` is the latest time that an earlier update gave.
pub(super) fn plan_times(times: CopiedTimes, newest: Option<i64>, files: &[FileToTime]) -> PlannedTimes {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|position| files[*position].modified);
    let groups = || order.chunk_by(|a, b| files[*a].modified == files[*b].modified);
    let step = if groups().nth(FEW).is_none() { STEP } else { SMALL_STEP };
    let mut planned = vec![0; files.len()];
    let mut before: Option<(i64, i64)> = None;
    for group in groups() {
        let modified = files[group[0]].modified;
        let own = match times {
            CopiedTimes::AtMost(latest) => modified.min(nanos_of(latest)),
            CopiedTimes::From(earliest) => nanos_of(earliest).max(newest.map_or(i64::MIN, |newest| newest + 1)),
        };
        // A file that is lifted into another second takes every later file with it.
        let after = before.map_or(i64::MIN, |(known, time)| time + modified.saturating_sub(known).min(step));
        let own = own.max(after);
        let time = group.iter().map(|position| files[*position].told_apart(own)).max().unwrap_or(own);
        group.iter().for_each(|position| planned[*position] = time);
        before = Some((modified, time));
    }
    let newest = newest.max(before.map(|(_, time)| time));
    let age = |(file, time): (&FileToTime, i64)| if file.is_aged { aged(time) } else { time };
    PlannedTimes { times: files.iter().zip(planned).map(age).collect(), newest }
}

impl FileToTime {
    /// Returns this time, or the next second after the taken one.
    fn told_apart(&self, time: i64) -> i64 {
        let Some(taken) = self.taken else { return time };
        let taken = if self.is_aged { taken + AGE_SECONDS } else { taken };
        if taken >= second_of(time) { (taken + 1) * NANOS_PER_SECOND } else { time }
    }
}

fn aged(time: i64) -> i64 {
    (time - AGE_SECONDS * NANOS_PER_SECOND).max(OLDEST * NANOS_PER_SECOND)
}

fn nanos_of(time: Timestamp) -> i64 {
    time.as_millis().saturating_mul(NANOS_PER_MILLI)
}

/// Returns the first whole millisecond that is later than a time in nanoseconds since 1970.
pub(super) fn millisecond_after(nanos: i64) -> Timestamp {
    Timestamp::from_millis(nanos.div_euclid(NANOS_PER_MILLI) + 1)
}

/// Returns the second of a time in nanoseconds since 1970.
pub(super) fn second_of(nanos: i64) -> i64 {
    nanos.div_euclid(NANOS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000 * NANOS_PER_SECOND;
    const FROM: CopiedTimes = CopiedTimes::From(Timestamp::from_millis(NOW / NANOS_PER_MILLI));

    fn file(modified: i64) -> FileToTime {
        FileToTime { modified, is_aged: false, taken: None }
    }

    #[test]
    fn the_files_of_one_update_keep_the_order_of_their_times() {
        let files = [file(30), file(10), file(20), file(10), file(50_000_000)];
        let planned = plan_times(FROM, None, &files);
        assert_eq!(planned.times, [NOW + 20, NOW, NOW + 10, NOW, NOW + 20 + STEP]);
        assert_eq!(planned.newest, Some(NOW + 20 + STEP));
        let many: Vec<FileToTime> = (0..5_000).map(|number| file(number * NANOS_PER_SECOND)).collect();
        let planned = plan_times(FROM, None, &many);
        assert!(planned.times.is_sorted_by(|a, b| a < b));
        assert!(planned.newest.expect("a time") < NOW + 10 * NANOS_PER_MILLI, "hardly in the future");
    }

    #[test]
    fn a_new_copy_keeps_the_times_of_the_project_and_orders_those_of_the_future() {
        let at_most = CopiedTimes::AtMost(Timestamp::from_millis(NOW / NANOS_PER_MILLI));
        let files = [file(NOW + 7_000_000), file(5), file(NOW + 9_000_000)];
        assert_eq!(plan_times(at_most, None, &files).times, [NOW, 5, NOW + STEP]);
    }

    #[test]
    fn a_file_that_is_told_apart_takes_the_later_ones_with_it_and_no_earlier_one() {
        let second = second_of(NOW);
        let product = FileToTime { taken: Some(second), ..file(20) };
        let files = [file(30), product, file(10)];
        let planned = plan_times(FROM, None, &files);
        let lifted = (second + 1) * NANOS_PER_SECOND;
        assert_eq!(planned.times, [lifted + 10, lifted, NOW]);
        // The next update comes in the same second, and its files are later.
        let next = plan_times(FROM, planned.newest, &[file(40)]);
        assert_eq!(next.times, [lifted + 11]);
        // An aged file is told apart from another aged file.
        let old = FileToTime { is_aged: true, taken: Some(second - AGE_SECONDS), ..file(10) };
        assert_eq!(plan_times(FROM, None, &[old]).times, [aged(lifted)]);
        let other = FileToTime { is_aged: true, taken: Some(second - AGE_SECONDS - 1), ..file(10) };
        assert_eq!(plan_times(FROM, None, &[other]).times, [aged(NOW)]);
    }
}
