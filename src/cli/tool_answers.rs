//! Answers the tools of `proctor mcp`. What another command answers is asked of that command, as a child without a terminal: it asks the
//! service where one is up, and does the work itself otherwise. What no command prints is read from the store here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::commands::history::not_one;
use crate::cli::commands::opening::open_registered;
use crate::cli::commands::{from_run_error, history};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup;
use proctor_api::{
    AnswerTexts, FailureChoice, FailureSubject, FailuresV1, build_failures, chosen_failure_names, count_failures, is_place,
};
use proctor_evidence::report::{ActionOutcomeV2, ExecutionReportV2, cut_line, plain_text, redact_text};
use proctor_model::{ActionId, CommandExit, TaskId, TestOutcome, has_hidden_characters, shown_line, shown_lines};
use proctor_run::project::{ProjectError, RecordedRun, StoreReader, TaskError, TestSearch};
use proctor_sandbox::process::{OwnAnswer, run_own_command};
use proctor_service::mcp::{CallStop, ChosenFailures, ToolAnswers, ToolCall, ToolRefusal};

/// The most bytes of a command's answer that are read.
const LONGEST_ANSWER: usize = 64 << 20;
/// How long a cancelled command may take to end by itself. Clients wait for two seconds before they kill a server.
const GRACE: Duration = Duration::from_millis(1200);
/// A text in an answer is cut after this many characters.
const LONGEST_TEXT: usize = 8000;
/// A larger report is not sent as a resource.
const LONGEST_REPORT: usize = 4 << 20;
/// At most this many characters of the reason for a retest are logged.
const LONGEST_REASON: usize = 300;

/// Answers tools about a project.
pub(crate) struct OwnCommands {
    environment: Environment,
    /// The directory of the project that a call means if it names none.
    root: PathBuf,
    /// Ends every call, when the client is gone.
    ends: CallStop,
}

impl OwnCommands {
    pub(crate) fn new(environment: &Environment, root: PathBuf, ends: CallStop) -> Self {
        Self { environment: environment.clone(), root, ends }
    }

    /// Runs a command of proctor and returns the document that it prints. A command that fails prints a document too.
    fn ask(&self, words: Vec<OsString>, stop: &CallStop) -> Result<Value, ToolRefusal> {
        let is_stopped = || stop.is_requested() || self.ends.is_requested();
        let program = self.environment.executable();
        let ran = run_own_command(program, &words, &self.root, LONGEST_ANSWER, GRACE, &is_stopped);
        let answer = ran.map_err(|error| ToolRefusal::new(format!("proctor could not be asked: {error}"), ""))?;
        understand(&answer)
    }

    /// Returns the words of a command about the server's project, or about another one.
    fn words(&self, words: &[&str], project: Option<&str>) -> Vec<OsString> {
        let root = project.map_or_else(|| self.root.clone(), |project| self.root.join(project));
        let mut place = OsString::from("--project=");
        place.push(root);
        words.iter().map(OsString::from).chain([OsString::from("--json"), place]).collect()
    }

    /// Refuses a project that is not registered. To run its checks would register it, which approves its plan: that is a person's.
    fn expect_registered(&self, project: Option<&str>) -> Result<(), ToolRefusal> {
        let root = project.map_or_else(|| self.root.clone(), |project| self.root.join(project));
        let opened = setup::project_root(&self.environment, &root).and_then(|root| open_registered(&self.environment, &root));
        opened.map(drop).map_err(|error| {
            let ToolRefusal { message, .. } = refusal(&error);
            ToolRefusal::new(message, "a person registers a project: `proctor run` or `proctor add` at a terminal")
        })
    }

    fn find(&self, wanted: Option<&str>) -> Result<FoundRun, CommandError> {
        let root = setup::project_root(&self.environment, &self.root)?;
        let (archive, project) = open_registered(&self.environment, &root)?;
        let found = archive.find(&project, wanted).map_err(|error| from_run_error(&error))?;
        let run = found.ok_or_else(|| {
            let text =
                wanted.map_or_else(|| "nothing was run yet".to_owned(), |wanted| format!("there is no sealed run `{wanted}`"));
            CommandError::new(CommandExit::Usage, text).hint("`verdict` names the run of the last verdict")
        })?;
        Ok(FoundRun { root, archive, project, run })
    }

    /// Returns what failed in a run, of one test, file or check alone if a word names it.
    fn failures(&self, run: Option<&str>, word: Option<&str>, excerpt_bytes: Option<usize>) -> Result<Value, CommandError> {
        let Some(word) = word else {
            let found = self.find(run)?;
            let choice = FailureChoice { about: FailureSubject::Run, excerpt_bytes };
            return self.failures_of(found, choice).map(|(failures, _)| json!(failures));
        };
        let mut found = self.find(run)?;
        let chosen = choose(&mut found, word)?;
        let about = match &chosen {
            Chosen::Test { check, names, .. } => FailureSubject::Test { check, names },
            Chosen::Place => FailureSubject::Place(word),
        };
        let (failures, of_run) = self.failures_of(found, FailureChoice { about, excerpt_bytes })?;
        let (name, outcome) = match chosen {
            Chosen::Test { id, outcome, .. } => (id, outcome),
            Chosen::Place => (word.to_owned(), None),
        };
        let mut answer = json!(failures);
        answer["chosen"] = json!(ChosenFailures { name, of_run, outcome });
        Ok(answer)
    }

    /// Returns the chosen failures of a run, and how many it has.
    fn failures_of(&self, found: FoundRun, choice: FailureChoice<'_>) -> Result<(FailuresV1, u64), CommandError> {
        let FoundRun { root, mut archive, project, run } = found;
        let names = |report: &ExecutionReportV2| chosen_failure_names(report, choice);
        let read: Result<_, ProjectError> = archive.failed_run(&project, &run.run_id, names);
        let (report, pasts) = read.map_err(|error| from_run_error(&error))?;
        let (redactor, root) = (self.environment.outgoing_redactor(), root.to_string_lossy().into_owned());
        let texts = AnswerTexts { redactor: &redactor, root: &root };
        Ok((build_failures(&run.run_id, &report, &pasts, texts, choice), count_failures(&report)))
    }

    fn output(&self, run: &str, action: &str) -> Result<Value, CommandError> {
        let FoundRun { root, archive, project, run } = self.find(Some(run))?;
        let (_, report) = archive.report(&project, &run).map_err(|error| from_run_error(&error))?;
        let wanted = ActionId::try_from(action).ok();
        let result = crate::cli::screen::results(&report).find(|result| Some(&result.action_id) == wanted.as_ref());
        let result = result.ok_or_else(|| {
            let known: Vec<String> = crate::cli::screen::results(&report).map(|result| result.action_id.to_string()).collect();
            CommandError::new(CommandExit::Usage, "the run has no such action").hint(format!("it has: {}", known.join(", ")))
        })?;
        let (redactor, root) = (self.environment.outgoing_redactor(), root.to_string_lossy().into_owned());
        let texts = AnswerTexts { redactor: &redactor, root: &root };
        let lines = |text: &String| text.lines().map(|line| texts.line(line, LONGEST_TEXT)).collect::<Vec<_>>().join("\n");
        let stream = |of: fn(&ActionOutcomeV2) -> &Option<String>| {
            result.result.as_ref().and_then(|outcome| of(outcome).as_ref().map(lines))
        };
        let reason = result.classification.as_ref().map(|one| texts.line(&one.reason, LONGEST_TEXT));
        Ok(json!({
            "runId": run.run_id, "action": result.action_id, "check": result.name, "status": result.status, "reason": reason,
            "stdout": stream(|outcome| &outcome.stdout), "stderr": stream(|outcome| &outcome.stderr),
        }))
    }

    fn retest(&self, task: Option<&str>, reason: &str, stop: &CallStop) -> Result<Value, ToolRefusal> {
        tracing::info!("a client of `proctor mcp` asks for a retest: {}", cut_line(&shown_line(reason), LONGEST_REASON));
        self.expect_registered(None)?;
        let mut words = self.words(&["request", "retest"], None);
        words.extend(task.map(|task| OsString::from(format!("--task={task}"))));
        let report = self.ask(words, stop)?;
        let report: ExecutionReportV2 = serde_json::from_value(report)
            .map_err(|_| ToolRefusal::new("the retest was granted, and its report is not understood", "call `verdict`"))?;
        let run = report.authenticity.execution_id.as_str();
        let found = self.find(Some(run)).map_err(|error| refusal(&error))?;
        let (failures, _) = self.failures_of(found, FailureChoice::default()).map_err(|error| refusal(&error))?;
        let has_failed = failures.total > 0;
        Ok(json!({
            "exitCode": if has_failed { CommandExit::CodeNeedsWork.code() } else { CommandExit::Proceed.code() },
            "runId": run, "status": report.execution_summary.overall_status, "failures": failures,
        }))
    }
}

/// What a word in a call of `failures` means.
enum Chosen {
    Test {
        id: String,
        check: String,
        /// Every name that the test has or had.
        names: Vec<String>,
        /// How it ended in the run, if that is known.
        outcome: Option<TestOutcome>,
    },
    /// A file or a check.
    Place,
}

/// Finds what a word means among the tests of a run's task, as `proctor history` does, and among the checks and files of the run. The
/// whole name of a test goes before that of a check or file, and that before a part of a test's name.
fn choose(found: &mut FoundRun, word: &str) -> Result<Chosen, CommandError> {
    let FoundRun { archive, project, run, .. } = found;
    let (_, report) = archive.report(project, run).map_err(|error| from_run_error(&error))?;
    history::catch_up(archive, project)?;
    let about = archive.about_tests(project, |archive| match archive.find_test(project, Some(&run.task), word)? {
        TestSearch::Found(test) => {
            let past = archive.test_past(project, &test, 1)?;
            let outcome = archive.test_outcome(project, &test, &run.run_id)?;
            Ok(Ok((past, outcome)))
        }
        search @ (TestSearch::Several(_) | TestSearch::Nothing) => Ok(Err(search)),
    });
    match about.map_err(|error| from_run_error(&error))? {
        Ok((past, outcome)) if past.test.is_named(word) || !is_place(&report, word) => {
            let former = past.former_names.into_iter().map(|name| name.id);
            let names = [past.test.id.clone()].into_iter().chain(past.test.report_name).chain(former).collect();
            Ok(Chosen::Test { id: past.test.id, check: past.test.check, names, outcome })
        }
        Ok(_) => Ok(Chosen::Place),
        Err(_) if is_place(&report, word) => Ok(Chosen::Place),
        Err(search) => Err(not_one(word, &search)),
    }
}

/// A run, and where it was found.
struct FoundRun {
    root: PathBuf,
    archive: StoreReader,
    project: proctor_model::ProjectId,
    run: RecordedRun,
}

impl ToolAnswers for OwnCommands {
    fn answer(&self, call: &ToolCall, stop: &CallStop) -> Result<Value, ToolRefusal> {
        let with_task = |words: &[&str], task: Option<&String>| {
            let mut words = self.words(words, None);
            words.extend(task.map(|task| OsString::from(format!("--task={task}"))));
            words
        };
        // What follows `--` is never an option.
        let about = |words: &[&str], values: &[&str]| {
            let mut words = self.words(words, None);
            words.extend(std::iter::once("--").chain(values.iter().copied()).map(OsString::from));
            words
        };
        let answer = match call {
            ToolCall::Verdict(asked) => {
                self.expect_registered(asked.project.as_deref())?;
                let mut words = self.words(&["wait", "--fresh"], asked.project.as_deref());
                words.push(OsString::from(format!("--timeout={}s", call.wait().unwrap_or_default())));
                words.extend(asked.task.as_ref().map(|task| OsString::from(format!("--task={task}"))));
                let answer = self.ask(words, stop)?;
                match asked.task.as_deref().and_then(|task| unknown_task(&answer, task)) {
                    Some(refusal) => Err(refusal),
                    None => Ok(answer),
                }
            }
            ToolCall::Failures(asked) => {
                let run = asked.run.as_ref().map(proctor_service::mcp::RunWord::text);
                let word = asked.test.as_deref().filter(|word| !word.is_empty());
                let bytes = (asked.max_bytes.is_some() || word.is_some()).then(|| asked.bytes());
                self.failures(run.as_deref(), word, bytes).map_err(|error| refusal(&error))
            }
            ToolCall::Output(asked) => self.output(&asked.run.text(), &asked.action).map_err(|error| refusal(&error)),
            ToolCall::History(asked) => self.ask(about(&["history"], &[&asked.test]), stop),
            ToolCall::Compare(asked) => self.ask(about(&["diff"], &[&asked.from.text(), &asked.to.text()]), stop),
            ToolCall::Retest(asked) => self.retest(asked.task.as_deref(), &asked.reason, stop),
            ToolCall::RequestFix(asked) => self.ask(with_task(&["request", "fix"], asked.task.as_ref()), stop),
            ToolCall::Why(asked) => self.ask(about(&["why"], &[&asked.path]), stop),
            ToolCall::Plan(asked) => self.ask(with_task(&["plan"], asked.task.as_ref()), stop),
        };
        answer.map(made_safe)
    }

    fn last_report(&self) -> Result<String, ToolRefusal> {
        let read = || -> Result<Vec<u8>, CommandError> {
            let FoundRun { archive, project, run, .. } = self.find(None)?;
            archive.report(&project, &run).map(|(bytes, _)| bytes).map_err(|error| from_run_error(&error))
        };
        let bytes = read().map_err(|error| refusal(&error))?;
        if bytes.len() > LONGEST_REPORT {
            return Err(ToolRefusal::new(
                format!("the report has more than {LONGEST_REPORT} bytes"),
                "`failures` has what failed",
            ));
        }
        String::from_utf8(bytes).map_err(|_| ToolRefusal::new("the report is no text", "`proctor verify` says what is wrong"))
    }
}

/// Reads what a command has printed.
fn understand(answer: &OwnAnswer) -> Result<Value, ToolRefusal> {
    match serde_json::from_slice::<Value>(&answer.stdout) {
        Ok(Value::Object(document)) => match document.get("error") {
            Some(error) => Err(refusal_of(error)),
            None => Ok(Value::Object(document)),
        },
        Ok(_) | Err(_) => {
            let said = safe_text(String::from_utf8_lossy(&answer.stderr).trim());
            let how = answer.code.map_or_else(|| "it was stopped".to_owned(), |code| format!("exit code {code}"));
            Err(ToolRefusal::new(if said.is_empty() { format!("there is no answer: {how}") } else { said }, ""))
        }
    }
}

/// Returns the refusal of a question about a task that no specification has; `None` if one has it.
fn unknown_task(answer: &Value, task: &str) -> Option<ToolRefusal> {
    let tasks = answer["project"]["tasks"].as_array()?;
    let asked = tasks.iter().find(|status| status["task"] == task)?;
    let named = TaskId::try_from(task).ok()?;
    let unknown = TaskError::Unknown { task: named, known: Vec::new(), torn: Vec::new() }.to_string();
    let problems: Vec<&str> = asked["problems"].as_array()?.iter().filter_map(Value::as_str).collect();
    let message = problems.iter().find(|problem| **problem == unknown)?;
    Some(ToolRefusal::new(safe_text(message), "without `task`, `verdict` names the tasks there are"))
}

fn refusal(error: &CommandError) -> ToolRefusal {
    refusal_of(&error.document()["error"])
}

fn refusal_of(error: &Value) -> ToolRefusal {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    ToolRefusal::new(safe_text(text("message")), safe_text(&hint_for_tools(text("hint"))))
}

/// Returns a hint of a command without the parts that name an option of a command line: tools have arguments instead.
fn hint_for_tools(hint: &str) -> String {
    let without_options = |part: &str| {
        let clauses: Vec<&str> = part.split(", ").collect();
        let kept = clauses.iter().take_while(|clause| !clause.contains("--"));
        kept.copied().collect::<Vec<_>>().join(", ")
    };
    let parts: Vec<String> = hint.split("; ").map(without_options).filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Returns an answer whose texts have no control characters and no secrets. What other commands print is for people at a terminal and
/// for programs of theirs; a client may send it anywhere.
fn made_safe(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(safe_text(&text)),
        Value::Array(values) => values.into_iter().map(made_safe).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, value)| (key, made_safe(value))).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn safe_text(text: &str) -> String {
    let plain = if has_hidden_characters(text) { plain_text(text) } else { text.to_owned() };
    cut_line(&shown_lines(&redact_text(&plain)), LONGEST_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(stdout: &str, stderr: &str) -> OwnAnswer {
        OwnAnswer { code: Some(2), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn a_document_is_an_answer_and_an_error_or_anything_else_is_a_refusal() {
        assert_eq!(understand(&answer("{\"a\": 1}", "note: b")), Ok(json!({"a": 1})));
        let refused = |stdout, stderr| understand(&answer(stdout, stderr)).unwrap_err();
        let error = "{\"error\": {\"kind\": \"x\", \"message\": \"no \\u001b[31mrun\", \"hint\": \"run it\"}}";
        assert_eq!(refused(error, ""), ToolRefusal::new("no run", "run it"));
        assert_eq!(refused("", "error: unexpected\u{1b}[0m argument"), ToolRefusal::new("error: unexpected argument", ""));
        assert_eq!(refused("[1]", ""), ToolRefusal::new("there is no answer: exit code 2", ""));
    }

    #[test]
    fn a_question_about_a_task_that_no_specification_has_is_refused() {
        let answer =
            |problem: &str| json!({"project": {"tasks": [{"task": "T1", "state": "specificationWrong", "problems": [problem]}]}});
        let refused = unknown_task(&answer("no test specification has a task `T1`"), "T1").expect("it is refused");
        assert_eq!(refused.message, "no test specification has a task `T1`");
        assert_eq!(unknown_task(&answer("`a.json` has 2 errors: nothing was run"), "T1"), None);
        assert_eq!(unknown_task(&answer("no test specification has a task `T1`"), "default"), None);
    }

    #[test]
    fn a_hint_names_no_option_of_a_command_line() {
        for (hint, told) in [
            ("name a path inside `/p`, or another project by --project", "name a path inside `/p`"),
            ("`proctor log --task TASK` lists the runs of a task", ""),
            ("name one by its key; `proctor log --test X` lists them; and again", "name one by its key; and again"),
            ("`verdict` names the run of the last verdict", "`verdict` names the run of the last verdict"),
        ] {
            assert_eq!(hint_for_tools(hint), told);
        }
    }

    #[test]
    fn every_text_of_an_answer_is_plain_and_without_secrets() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let safe = made_safe(json!({"a": [{"b": format!("x\u{1b}[31m {token}\u{202e}\nnext")}], "c": 1}));
        assert_eq!(safe, json!({"a": [{"b": "x [redacted: github token]\\u{202e}\nnext"}], "c": 1}));
        assert_eq!(made_safe(json!("y".repeat(100_000))).as_str().map(|text| text.chars().count()), Some(LONGEST_TEXT + 1));
    }
}
