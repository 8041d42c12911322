//! Follows the log of a running action, to tell people how far the action is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use proctor_tools::OutputSoFar;

/// The most bytes of output that are read at one look. Of more only the end is read.
const MOST_BYTES: u64 = 256 * 1024;

/// The log of a running action, and what its output has said so far.
#[derive(Debug)]
pub struct LogFollower {
    log: Arc<File>,
    /// How many bytes of the log were read.
    read: u64,
    pub output: OutputSoFar,
}

impl LogFollower {
    pub fn new(log: Arc<File>) -> Self {
        Self { log, read: 0, output: OutputSoFar::default() }
    }

    /// Takes in what the log got since the last look. A log that cannot be read says nothing.
    pub fn look(&mut self) {
        let Ok(length) = self.log.metadata().map(|metadata| metadata.len()) else { return };
        if length.saturating_sub(self.read) > MOST_BYTES {
            self.read = length - MOST_BYTES;
            self.output.pass_over();
        }
        let mut bytes = vec![0; usize::try_from(length.saturating_sub(self.read)).unwrap_or_default()];
        if let Ok(count) = self.log.read_at(&mut bytes, self.read) {
            self.output.take(bytes.get(..count).unwrap_or_default());
            self.read += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_look_takes_in_what_is_new_and_the_end_of_what_is_too_much() {
        let mut file = tempfile::tempfile().unwrap();
        let mut follower = LogFollower::new(Arc::new(file.try_clone().unwrap()));
        file.write_all(b"1..9\nok 1 - a\n").unwrap();
        follower.look();
        file.write_all(b"ok 2 - b\nok 3").unwrap();
        follower.look();
        follower.look();
        assert_eq!(follower.output.progress().words().as_deref(), Some("2 of 9 tests"));
        file.write_all(&vec![b'\n'; 300 * 1024]).unwrap();
        file.write_all(b"ok 7 - g\n").unwrap();
        follower.look();
        assert_eq!(follower.output.progress().words(), None, "how many tests are in the part that was passed over is not known");
        assert_eq!(follower.output.take_ended().last().map(|test| test.name.as_str()), Some("g"));
    }
}
