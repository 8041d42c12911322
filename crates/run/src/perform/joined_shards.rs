//! What the processes of a check with shards left, as one: their output one after the other, and one end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::perform::Performer;
use proctor_evidence::report::ActionFiles;
use proctor_model::{Action, CapturedOutput, DurationMs, EndedAction, EvidenceFile, StreamExcerpt, Usage};
use proctor_project::ProjectError;

impl Performer<'_, '_> {
    /// Writes the logs of all shards into one log, each behind a line that names its shard, and their frames into one file. Returns the
    /// log and the frames.
    pub(super) fn keep_joined_streams(
        &mut self,
        action: &Action,
        names: &ActionFiles,
        shards: &[&ActionFiles],
    ) -> Result<[EvidenceFile; 2], ProjectError> {
        let open =
            |path: &Path| File::open(path).map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source });
        let (mut log, mut frames): (Box<dyn Read>, Box<dyn Read>) = (Box::new(io::empty()), Box::new(io::empty()));
        let mut offset = 0;
        for (place, shard) in shards.iter().enumerate() {
            let one = open(&self.directory.path().join(&shard.log.name))?;
            let bytes = one.metadata().map_or(0, |metadata| metadata.len());
            let head = format!("{}==== shard {} of {}\n", if place == 0 { "" } else { "\n" }, place + 1, shards.len());
            offset += head.len() as u64;
            let lines = BufReader::new(open(&self.directory.path().join(&shard.frames.name))?);
            frames = Box::new(frames.chain(MovedFrames { lines, by: offset, ready: Vec::new(), at: 0 }));
            offset += bytes;
            log = Box::new(log.chain(io::Cursor::new(head.into_bytes())).chain(one));
        }
        let id = Some(&action.id);
        let log = self.directory.write_from(&names.log.name, &mut *log, names.log.kind, id)?;
        let frames = self.directory.write_from(&names.frames.name, &mut *frames, names.frames.kind, id)?;
        Ok([log, frames])
    }
}

/// Reads lines of frames with their offsets moved.
struct MovedFrames {
    lines: BufReader<File>,
    by: u64,
    ready: Vec<u8>,
    at: usize,
}

impl Read for MovedFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                return Ok(0);
            }
            let mut frame: Value = serde_json::from_str(&line)?;
            let moved = frame["offset"].as_u64().unwrap_or_default() + self.by;
            frame["offset"] = moved.into();
            (self.ready, self.at) = (format!("{frame}\n").into_bytes(), 0);
        }
        let count = (&self.ready[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// Returns the end of the shard that decides, with the time, the output and the resources of all.
pub(super) fn joined_end(
    shards: &[&EndedAction],
    decides: usize,
    duration: DurationMs,
    [log, frames]: &[EvidenceFile; 2],
) -> EndedAction {
    let decisive = shards[decides];
    let captured = |of: fn(&CapturedOutput) -> &StreamExcerpt| joined_stream(shards, decides, of);
    let usages = || shards.iter().filter_map(|one| one.usage);
    let usage = usages().reduce(|sum, one| Usage {
        user: DurationMs(sum.user.0 + one.user.0),
        system: DurationMs(sum.system.0 + one.system.0),
        peak_memory_kib: sum.peak_memory_kib.max(one.peak_memory_kib),
    });
    EndedAction {
        end: decisive.end.clone(),
        started: shards.iter().map(|one| one.started).min().unwrap_or(decisive.started),
        ended: shards.iter().map(|one| one.ended).max().unwrap_or(decisive.ended),
        duration,
        captured: CapturedOutput {
            log_bytes: log.bytes,
            log_digest: log.sha256,
            frames_bytes: frames.bytes,
            frames_digest: frames.sha256,
            log_tail: decisive.captured.log_tail.clone(),
            stdout: captured(|captured| &captured.stdout),
            stderr: captured(|captured| &captured.stderr),
            last_output: shards.iter().filter_map(|one| one.captured.last_output).max(),
            pipes_left_open: shards.iter().any(|one| one.captured.pipes_left_open),
        },
        survivors: shards.iter().flat_map(|one| one.survivors.clone()).collect(),
        usage,
        // The weakest isolation of all counts; levels are in order, the strongest first.
        kept: shards.iter().filter_map(|one| one.kept.clone()).max_by_key(|kept| kept.reached.level),
        used_git: shards.iter().any(|one| one.used_git),
    }
}

/// Returns one stream of all shards, shortened, with that of the shard that decides at the end, where people look.
fn joined_stream(shards: &[&EndedAction], decides: usize, of: fn(&CapturedOutput) -> &StreamExcerpt) -> StreamExcerpt {
    let order = (0..shards.len()).filter(|place| *place != decides).chain([decides]);
    let streams: Vec<StreamExcerpt> = order.map(|place| of(&shards[place].captured).shortened()).collect();
    let total = streams.iter().map(|stream| stream.total).sum();
    let mut head: Vec<u8> = streams.iter().flat_map(|stream| [&stream.head[..], &stream.tail[..]].concat()).collect();
    let tail = head.split_off(head.len().saturating_sub(StreamExcerpt::TAIL_CAP));
    head.truncate(StreamExcerpt::SHORT_HEAD_CAP);
    StreamExcerpt { total, head, tail }
}
