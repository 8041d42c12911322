//! Answers questions about past runs and tests. They are read from the store by a thread of their own, so that the service's loop
//! does not wait for the disk.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use tokio::sync::Semaphore;

use crate::control::handlers::{ControlContext, respond};
use crate::control::query::wrong;
use crate::service::from_run_error;
use proctor_api::page::RawOutput;
use proctor_api::{
    AnswerV1, ComparisonV1, ErrorKindV1, ErrorV1, LastProofV1, MatrixV1, PastRoute, RunDetailsV1, RunListV1, TestListV1,
    TestPastV1, TrendsV1, failure_names,
};
use proctor_app::Environment;
use proctor_app::verify::verify_run;
use proctor_evidence::Store;
use proctor_model::{ProjectId, RunId, TaskId, Timestamp, decode_percent};
use proctor_project::{FoundTest, ProjectError, RecordedRun, RunFilter, StoreReader, TestSearch};

/// The most bytes of a file in one answer.
const LARGEST_PART: u64 = 16 * 1024 * 1024;
/// How many runs, results or tests are listed if the client does not say.
const LISTED: u32 = 20;
const LISTED_TESTS: u32 = 1000;
/// The most of them in one answer.
const MOST_LISTED: u32 = 10_000;
/// How many runs and tests a matrix has if the client does not say, and the most runs.
const MATRIX_RUNS: (u32, u32) = (60, 500);
const MATRIX_TESTS: u32 = 2000;
/// How many runs trends are made of if the client does not say, and the most.
const TREND_RUNS: (u32, u32) = (200, 2000);
/// In how many of the newest lines of a ledger the last answer of `proctor prove` is looked for.
const LINES_FOR_PROOF: usize = 2000;

/// Where past runs are read from.
#[derive(Clone)]
pub(super) struct HistoryPlace {
    pub(super) environment: Arc<Environment>,
    /// The turn of the verification under way.
    verifying: Arc<Semaphore>,
}

impl HistoryPlace {
    pub(super) fn new(environment: Arc<Environment>) -> Self {
        Self { environment, verifying: Arc::new(Semaphore::new(1)) }
    }
}

/// A question about past runs or tests, as it was asked.
pub(super) struct HistoryQuestion {
    pub(super) route: PastRoute,
    pub(super) project: ProjectId,
    /// The path of the request; its parts after the project's id name a run, a file or a test.
    pub(super) path: String,
    /// The parameters, by name.
    pub(super) given: BTreeMap<String, String>,
    /// The header `range`, for a file.
    pub(super) range: Option<String>,
    pub(super) raw_output: RawOutput,
}

/// Which bytes of a file are wanted (RFC 9110, section 14.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedBytes {
    All,
    /// From this byte on, up to the other one, if that is given.
    From(u64, Option<u64>),
    /// So many of the last bytes.
    Last(u64),
}

/// The bytes of a file that are sent.
#[derive(Debug, PartialEq, Eq)]
struct FilePart {
    start: u64,
    bytes: Vec<u8>,
    /// The size of the whole file.
    size: u64,
}

/// Why a question is not answered.
enum Unanswered {
    /// What was asked for is wrong, or is not there.
    Request(ErrorV1),
    /// The store cannot be read.
    Store(ProjectError),
}

impl From<ErrorV1> for Unanswered {
    fn from(error: ErrorV1) -> Self {
        Self::Request(error)
    }
}

impl From<ProjectError> for Unanswered {
    fn from(error: ProjectError) -> Self {
        Self::Store(error)
    }
}

/// Adds what failed to an answer about a verdict. The reports are read in a thread of their own, and only where a verdict has
/// failures.
pub(super) async fn with_failures(desk: &ControlContext, answer: AnswerV1) -> Result<AnswerV1, ErrorV1> {
    if !answer.project.lacks_failures() {
        return Ok(answer);
    }
    let place = desk.history.clone();
    let add = move || -> Result<AnswerV1, ErrorV1> {
        let ambient = place.environment.variables();
        let mut archive =
            StoreReader::open(place.environment.state_root(), ambient.clone()).map_err(|error| from_run_error(&error))?;
        let project = answer.project.with_failures(|project, run| {
            archive.failed_run(project, run, failure_names).map_err(|error| from_run_error(&error).message)
        });
        Ok(AnswerV1 { project, ..answer })
    };
    tokio::task::spawn_blocking(add).await.unwrap_or_else(|_| Err(unread()))
}

/// Reads the answer in a thread of its own.
pub(super) async fn answer_history(desk: &ControlContext, question: HistoryQuestion) -> Result<Response, ErrorV1> {
    let place = desk.history.clone();
    let answered = tokio::task::spawn_blocking(move || read_answer(&place, &question)).await;
    answered.unwrap_or_else(|_| Err(unread()))
}

/// Verifies a run, named by its id or number, in a thread of its own. The index is not opened for this: whoever opens it mends it, and what
/// was wrong with it would not be found any more. One verification goes on at a time, because it reads the whole ledger.
pub(super) async fn answer_verification(desk: &ControlContext, project: ProjectId, wanted: String) -> Result<Response, ErrorV1> {
    let Ok(_turn) = desk.history.verifying.clone().try_acquire_owned() else {
        return Err(ErrorV1::new(ErrorKindV1::TooMany, "another run is being verified", "ask again in a moment"));
    };
    let root = desk.environment.state_root().to_owned();
    let verify = move || {
        let failed = |error| from_run_error(&ProjectError::Evidence(error));
        let store = Store::open(&root).map_err(failed)?;
        let found = verify_run(&store, &project, &wanted).map_err(failed)?.ok_or_else(|| no_such_run(&wanted))?;
        Ok(respond(200, &found))
    };
    tokio::task::spawn_blocking(verify).await.unwrap_or_else(|_| Err(unread()))
}

fn unread() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::OwnFault, "the answer could not be read", "see the service's log")
}

fn read_answer(place: &HistoryPlace, question: &HistoryQuestion) -> Result<Response, ErrorV1> {
    let failed = |error: ProjectError| from_run_error(&error);
    let mut archive = StoreReader::open(place.environment.state_root(), place.environment.variables().clone()).map_err(failed)?;
    let project = question.project.clone();
    if !archive.knows(&project).map_err(failed)? {
        let message = format!("no project `{project}` is registered");
        return Err(ErrorV1::new(ErrorKindV1::NotFound, message, "`GET /v1/projects` lists the projects with their ids"));
    }
    archive.catch_up_tests(&project).map_err(failed)?;
    let answered = archive.about_tests(&project, |archive| match answer(archive, question) {
        Ok(response) => Ok(Ok(response)),
        Err(Unanswered::Request(error)) => Ok(Err(error)),
        Err(Unanswered::Store(error)) => Err(error),
    });
    answered.map_err(failed)?
}

fn answer(archive: &StoreReader, question: &HistoryQuestion) -> Result<Response, Unanswered> {
    let project = question.project.clone();
    match question.route {
        PastRoute::RunDetails => {
            let run = find_run(archive, &project, question.part(5))?;
            let files = archive.file_names(&project, &run)?;
            let logged = archive.logged(&project, run)?;
            Ok(respond(200, &RunDetailsV1::new(project, logged, files)))
        }
        PastRoute::RunFile => Ok(send_file(archive, &project, question)?),
        PastRoute::Tests => {
            let task = question.task()?;
            let tests = archive.tests(&project)?;
            let wanted = tests.into_iter().filter(|test| task.as_ref().is_none_or(|task| test.task == *task));
            let (limit, skip) = (question.number("limit", (LISTED_TESTS, MOST_LISTED))?, question.number("skip", (0, u32::MAX))?);
            let tests = wanted.skip(skip as usize).take(limit as usize).collect();
            Ok(respond(200, &TestListV1::new(project, tests)))
        }
        PastRoute::TestPast => {
            let found = find_test(archive, &project, None, question.part(5))?;
            let limit = question.number("limit", (LISTED, MOST_LISTED))?;
            let past = archive.test_past(&project, &found, limit as usize)?;
            Ok(respond(200, &TestPastV1::new(project, past)))
        }
        PastRoute::Compare => {
            let missing =
                |name: &str| ErrorV1::new(ErrorKindV1::BadRequest, format!("`{name}` is missing"), "write from=RUN&to=RUN");
            let run = |name: &str| find_run(archive, &project, question.given.get(name).ok_or_else(|| missing(name))?);
            let (from, to) = (run("from")?, run("to")?);
            let compared = archive.compare_runs(&project, &from.run_id, &to.run_id)?;
            let comparison =
                compared.map_err(|why| ErrorV1::new(ErrorKindV1::NotFound, why.to_string(), "`GET …/runs` lists the runs"))?;
            Ok(respond(200, &ComparisonV1::new(project, comparison)))
        }
        PastRoute::Matrix => {
            let task = question.task()?.unwrap_or_else(TaskId::default_task);
            let size = (question.number("runs", MATRIX_RUNS)?, question.number("tests", (MATRIX_TESTS, MOST_LISTED))?);
            let (runs, tests) = archive.test_matrix(&project, &task, size)?;
            Ok(respond(200, &MatrixV1::new(project, runs, tests)))
        }
        PastRoute::Trends => {
            let trends = archive.run_trends(&project, question.task()?.as_ref(), question.number("runs", TREND_RUNS)?)?;
            Ok(respond(200, &TrendsV1::new(project, trends)))
        }
        PastRoute::Proof => Ok(respond(200, &LastProofV1::new(project.clone(), archive.last_proof(&project, LINES_FOR_PROOF)?))),
        PastRoute::Runs => {
            let task = question.task()?;
            let find = |test: &String| find_test(archive, &project, task.as_ref(), test);
            let test = question.given.get("test").map(find).transpose()?;
            let filter = RunFilter {
                of_task: task,
                only_failed: question.failed()?,
                not_before: question.since()?,
                with_test: test,
                most: question.number("limit", (LISTED, MOST_LISTED))?,
            };
            let runs = archive.logged_runs(&project, &filter)?;
            Ok(respond(200, &RunListV1::new(project, runs.into_iter().map(|(_, logged)| logged).collect())))
        }
    }
}

impl HistoryQuestion {
    /// Returns a part of the path, counted from 0 at the empty one before the first slash, as it is written there.
    fn part(&self, place: usize) -> &str {
        self.path.split('/').nth(place).unwrap_or_default()
    }

    fn task(&self) -> Result<Option<TaskId>, ErrorV1> {
        let Some(text) = self.given.get("task") else { return Ok(None) };
        let hint = "the task of a project's own checks is `default`";
        TaskId::try_from(text.as_str()).map(Some).map_err(|_| wrong("task", text, hint))
    }

    fn failed(&self) -> Result<bool, ErrorV1> {
        match self.given.get("failed").map(String::as_str) {
            None | Some("no") => Ok(false),
            Some("yes") => Ok(true),
            Some(other) => Err(wrong("failed", other, "write failed=yes or failed=no")),
        }
    }

    fn since(&self) -> Result<Option<Timestamp>, ErrorV1> {
        let Some(text) = self.given.get("since") else { return Ok(None) };
        let hint = "write a time such as 2026-03-04T09:30:00Z";
        Timestamp::try_from(text.clone()).map(Some).map_err(|_| wrong("since", text, hint))
    }

    fn number(&self, name: &str, (default, most): (u32, u32)) -> Result<u32, ErrorV1> {
        let Some(text) = self.given.get(name) else { return Ok(default) };
        let hint = format!("write a number up to {most}");
        text.parse().ok().filter(|number| *number <= most).ok_or_else(|| wrong(name, text, &hint))
    }
}

fn find_run(archive: &StoreReader, project: &ProjectId, wanted: &str) -> Result<RecordedRun, ErrorV1> {
    let is_name = wanted.parse::<u64>().is_ok() || RunId::try_from(wanted.to_owned()).is_ok();
    let found = if is_name { archive.find(project, Some(wanted)).map_err(|error| from_run_error(&error))? } else { None };
    found.ok_or_else(|| no_such_run(wanted))
}

fn no_such_run(wanted: &str) -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::NotFound, format!("there is no finished run `{wanted}`"), "`GET …/runs` lists the runs")
}

/// Finds a test by its key or by its whole name, percent-encoded. A part of a name is no answer: a program that asks for a test that
/// is not there must not get another one.
fn find_test(archive: &StoreReader, project: &ProjectId, task: Option<&TaskId>, wanted: &str) -> Result<FoundTest, Unanswered> {
    let decoded = decode_percent(wanted).and_then(|bytes| String::from_utf8(bytes).ok());
    let name = decoded.ok_or_else(|| wrong("test", wanted, "`%` begins two hexadecimal digits"))?;
    let message = match archive.find_test(project, task, &name)? {
        TestSearch::Found(found) if found.test.is_named(&name) => return Ok(found),
        TestSearch::Several(tests) if tests.iter().all(|test| test.is_named(&name)) => {
            let keys: Vec<String> = tests.iter().take(10).map(|test| test.key.to_string()).collect();
            format!("`{name}` may mean {} tests: {}", tests.len(), keys.join(", "))
        }
        TestSearch::Found(_) | TestSearch::Several(_) | TestSearch::Nothing => format!("no known test is named `{name}`"),
    };
    Err(ErrorV1::new(ErrorKindV1::NotFound, message, "`GET …/tests` lists the tests with their keys").into())
}

/// Sends a file of a run, or a part of it. The whole file is compared with its sealed hash first.
fn send_file(archive: &StoreReader, project: &ProjectId, question: &HistoryQuestion) -> Result<Response, ErrorV1> {
    let run = find_run(archive, project, question.part(5))?;
    let decoded = decode_percent(question.part(7)).and_then(|bytes| String::from_utf8(bytes).ok());
    let names = archive.file_names(project, &run).map_err(|error| from_run_error(&error))?;
    let Some(name) = decoded.filter(|name| names.contains(name)) else {
        let message = format!("run {} was sealed without a file `{}`, or its evidence is gone", run.run_id, question.part(7));
        return Err(ErrorV1::new(ErrorKindV1::NotFound, message, "`GET …/runs/{run}` names its files"));
    };
    if question.raw_output == RawOutput::Refused && is_raw_output(&name) {
        let message = format!(
            "`{name}` is the raw output of an action, which only a person gets, who opens the page at a terminal: agents judge by reports"
        );
        return Err(ErrorV1::new(ErrorKindV1::Refused, message, "the report has excerpts; a person reads `proctor show --log`"));
    }
    let wanted = match &question.range {
        Some(range) => {
            parse_range(range).ok_or_else(|| wrong("range", range, "write one range: bytes=0-1023, bytes=1024- or bytes=-500"))?
        }
        None => WantedBytes::All,
    };
    let mut reader = PartReader::new(wanted);
    archive.show_file(project, &run, &name, &mut |bytes| reader.take(bytes)).map_err(|error| from_run_error(&error))?;
    let part = reader.part()?;
    let kind = if name.ends_with(".json") { "application/json" } else { "application/octet-stream" };
    let mut response = Response::builder().header("content-type", kind).header("accept-ranges", "bytes");
    if wanted == WantedBytes::All {
        response = response.status(200);
    } else {
        let end = (part.start + part.bytes.len() as u64).saturating_sub(1);
        response = response.status(206).header("content-range", format!("bytes {}-{end}/{}", part.start, part.size));
    }
    Ok(response.body(Body::from(part.bytes)).expect("the head is made of known values"))
}

/// Returns whether a file of a run holds the bytes that an action printed. Seed 004 keeps them from agents.
fn is_raw_output(name: &str) -> bool {
    name.ends_with(".log") || name.ends_with(".frames")
}

/// Parses one range; several in one request are not answered.
fn parse_range(header: &str) -> Option<WantedBytes> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => number(last).map(WantedBytes::Last),
        (false, true) => Some(WantedBytes::From(number(first)?, None)),
        (false, false) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(WantedBytes::From(first, Some(last)))
        }
    }
}

/// Keeps the wanted bytes of a file that comes piece by piece.
struct PartReader {
    wanted: WantedBytes,
    kept: VecDeque<u8>,
    size: u64,
}

impl PartReader {
    fn new(wanted: WantedBytes) -> Self {
        Self { wanted, kept: VecDeque::new(), size: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        let before = self.size;
        self.size += bytes.len() as u64;
        let (start, end) = match self.wanted {
            WantedBytes::All => (0, LARGEST_PART),
            WantedBytes::From(start, last) => {
                let largest = start.saturating_add(LARGEST_PART);
                (start, last.map_or(largest, |last| last.saturating_add(1).min(largest)))
            }
            WantedBytes::Last(count) => {
                self.kept.extend(bytes);
                let count = usize::try_from(count.min(LARGEST_PART)).unwrap_or(usize::MAX);
                self.kept.drain(..self.kept.len().saturating_sub(count));
                return;
            }
        };
        let within = |point: u64| usize::try_from(point.clamp(before, self.size) - before).unwrap_or(bytes.len());
        self.kept.extend(&bytes[within(start)..within(end)]);
    }

    fn part(self) -> Result<FilePart, ErrorV1> {
        let start = match self.wanted {
            WantedBytes::All if self.size > LARGEST_PART => {
                let message = format!("the file has {} bytes, an answer at most {LARGEST_PART}", self.size);
                return Err(ErrorV1::new(ErrorKindV1::TooLarge, message, "ask for a part of it: range: bytes=0-1048575"));
            }
            WantedBytes::All => 0,
            WantedBytes::From(start, _) => start,
            WantedBytes::Last(_) => self.size - self.kept.len() as u64,
        };
        if self.wanted != WantedBytes::All && self.kept.is_empty() {
            let message = format!("the file has {} bytes, and none in the range", self.size);
            return Err(ErrorV1::new(ErrorKindV1::NoSuchRange, message, "leave the range out, or begin it within the file"));
        }
        Ok(FilePart { start, bytes: self.kept.into(), size: self.size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_one_range_of_bytes_and_nothing_else() {
        let rows = [
            ("bytes=0-9", Some(WantedBytes::From(0, Some(9)))),
            ("bytes=5-", Some(WantedBytes::From(5, None))),
            ("bytes=-3", Some(WantedBytes::Last(3))),
            ("bytes=9-5", None),
            ("bytes=-", None),
            ("bytes=0-1,3-4", None),
            ("bytes=+1-2", None),
            ("lines=0-1", None),
        ];
        for (header, wanted) in rows {
            assert_eq!(parse_range(header), wanted, "{header}");
        }
    }

    #[test]
    fn the_wanted_bytes_are_kept_whatever_the_pieces_are() {
        let rows = [
            (WantedBytes::All, Some((0, "0123456789"))),
            (WantedBytes::From(2, Some(4)), Some((2, "234"))),
            (WantedBytes::From(8, Some(u64::MAX)), Some((8, "89"))),
            (WantedBytes::From(10, None), None),
            (WantedBytes::From(u64::MAX, None), None),
            (WantedBytes::Last(3), Some((7, "789"))),
            (WantedBytes::Last(99), Some((0, "0123456789"))),
            (WantedBytes::Last(0), None),
        ];
        for (wanted, expected) in rows {
            for size in [1, 3, 10] {
                let mut reader = PartReader::new(wanted);
                b"0123456789".chunks(size).for_each(|piece| reader.take(piece));
                let part = reader.part().ok().map(|part| (part.start, String::from_utf8(part.bytes).unwrap(), part.size));
                let expected = expected.map(|(start, text)| (start, text.to_owned(), 10));
                assert_eq!(part, expected, "{wanted:?} in pieces of {size}");
            }
        }
    }
}
