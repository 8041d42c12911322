//! The answers of tools about a project, by the same functions as the commands of proctor: the service is asked where one is up, and this
//! process does the work otherwise.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::mcp::tool::{RunWord, ToolCall};
use proctor_app::gate::{CommitGateV1, judge_commit};
use proctor_app::history::ComparedRuns;
use proctor_app::plan::PlanV1;
use proctor_app::project::opening::{open_registered, start_launcher};
use proctor_app::project::{setup, specification_files};
use proctor_app::wait::{Patience, Waited, wait};
use proctor_app::{Caller, CommandError, Environment, Stop, answers, history, register_linked_work_tree, request, why};
use proctor_evidence::report::{cut_line, plain_text, redact_text};
use proctor_model::{CommandExit, TaskId, has_hidden_characters, shown_line, shown_lines};

/// A text in an answer is cut after this many characters.
const LONGEST_TEXT: usize = 8000;
/// A larger report is not sent as a resource.
const LONGEST_REPORT: usize = 4 << 20;
/// At most this many characters of the reason for a retest are logged.
const LONGEST_REASON: usize = 300;

/// Answers tools about a project.
pub struct ProjectAnswers {
    environment: Environment,
    /// The directory of the project that a call means if it names none.
    root: PathBuf,
    /// Ends every call, when the client is gone.
    ends: Stop,
}

impl ProjectAnswers {
    pub fn new(environment: &Environment, root: PathBuf, ends: Stop) -> Self {
        Self { environment: environment.clone(), root, ends }
    }

    /// Returns the environment of one call: nobody can be asked anything, and the client can cancel it.
    fn of_call(&self, stop: &Stop) -> Environment {
        self.environment.with_caller(Caller::of_program(stop.or(&self.ends)))
    }

    /// Returns the root of the server's project, or of another one.
    fn root_of(&self, environment: &Environment, project: Option<&str>) -> Result<PathBuf, CommandError> {
        let directory = project.map_or_else(|| self.root.clone(), |project| self.root.join(project));
        setup::project_root(environment, &directory)
    }

    /// Returns the root of a project, and refuses one that is not registered. To run its checks would register it, which approves its
    /// plan: that is a person's.
    fn registered(&self, environment: &Environment, project: Option<&str>) -> Result<PathBuf, ToolRefusal> {
        let root = self.root_of(environment, project);
        let root = root.and_then(|root| register_linked_work_tree(environment, &root).map(|_| root));
        let opened = root.and_then(|root| open_registered(environment, &root).map(|_| root));
        opened.map_err(|error| {
            let ToolRefusal { message, .. } = refusal(&error);
            ToolRefusal::new(message, "a person registers a project: `proctor run` or `proctor service add` at a terminal")
        })
    }

    fn verdict(
        &self,
        environment: &Environment,
        (project, task): (Option<&str>, Option<&str>),
        timeout: Duration,
    ) -> Result<Value, ToolRefusal> {
        let root = self.registered(environment, project)?;
        let waited = wait(environment, &root, task, Patience { timeout, grace: None }).map_err(|error| refusal(&error))?;
        let answer = match waited {
            Waited::Answered(answer) | Waited::Troubled(answer, _) => json!(answer),
            Waited::Ended { exit, .. } => {
                return Err(ToolRefusal::new(format!("there is no answer: exit code {}", exit.code()), ""));
            }
        };
        match task.and_then(|task| unknown_task(&answer, task)) {
            Some(refusal) => Err(refusal),
            None => Ok(answer),
        }
    }

    fn retest(&self, environment: &Environment, task: Option<&str>, reason: &str) -> Result<Value, ToolRefusal> {
        tracing::info!("a client of `proctor mcp` asks for a retest: {}", cut_line(&shown_line(reason), LONGEST_REASON));
        let root = self.registered(environment, None)?;
        let report = task_of(task).and_then(|task| request::retest(environment, &root, task));
        let report = report.map_err(|error| refusal(&error))?;
        let run = report.authenticity.execution_id.as_str();
        let found = answers::failures(environment, &root, (Some(run), None), None).map_err(|error| refusal(&error))?;
        let has_failed = found.failures.total > 0;
        Ok(json!({
            "exitCode": if has_failed { CommandExit::CodeNeedsWork.code() } else { CommandExit::Proceed.code() },
            "runId": run, "status": report.execution_summary.overall_status, "failures": found.failures,
        }))
    }

    fn plan(&self, environment: &Environment, task: Option<&str>) -> Result<Value, CommandError> {
        let loaded = specification_files::load(environment, &self.root, task)?;
        Ok(json!(PlanV1::of(&loaded.plan)))
    }

    fn why(&self, environment: &Environment, path: &str) -> Result<Value, CommandError> {
        let root = self.root_of(environment, None)?;
        why::why(environment, &root, &self.root.join(path)).map(|why| json!(why.document()))
    }

    fn prove(&self, environment: &Environment, range: Option<&str>) -> Result<Value, ToolRefusal> {
        let root = self.registered(environment, None)?;
        let proof =
            start_launcher(environment).and_then(|launcher| proctor_prove::prove(environment, launcher, &root, range, None));
        proof.map(|proof| json!(proof)).map_err(|error| refusal(&error))
    }

    fn gate(&self, environment: &Environment, revision: &str) -> Result<Value, CommandError> {
        let root = self.root_of(environment, None)?;
        judge_commit(environment, &root, revision).map(|answer| json!(CommitGateV1::of(&answer)))
    }
}

impl ToolAnswers for ProjectAnswers {
    fn answer(&self, call: &ToolCall, stop: &Stop) -> Result<Value, ToolRefusal> {
        let environment = &self.of_call(stop);
        let answer = match call {
            ToolCall::Verdict(asked) => {
                let timeout = Duration::from_secs(call.wait().unwrap_or_default());
                self.verdict(environment, (asked.project.as_deref(), asked.task.as_deref()), timeout)
            }
            ToolCall::Failures(asked) => {
                let run = asked.run.as_ref().map(RunWord::text);
                let word = asked.test.as_deref().filter(|word| !word.is_empty());
                let bytes = (asked.max_bytes.is_some() || word.is_some()).then(|| asked.bytes());
                document(answers::failures(environment, &self.root, (run.as_deref(), word), bytes))
            }
            ToolCall::Output(asked) => document(answers::output(environment, &self.root, &asked.run.text(), &asked.action)),
            ToolCall::History(asked) => document(
                self.root_of(environment, None)
                    .and_then(|root| history::past(environment, &root, None, (&asked.test, history::TOLD))),
            ),
            ToolCall::Compare(asked) => document(self.root_of(environment, None).and_then(|root| {
                let (from, to) = (asked.from.text(), asked.to.text());
                history::compare(environment, &root, ComparedRuns::Named { from: &from, to: Some(&to) })
            })),
            ToolCall::Retest(asked) => self.retest(environment, asked.task.as_deref(), &asked.reason),
            ToolCall::RequestFix(asked) => document(task_of(asked.task.as_deref()).and_then(|task| {
                let root = self.root_of(environment, None)?;
                request::find_faults(environment, &root, task)
            })),
            ToolCall::Why(asked) => document(self.why(environment, &asked.path)),
            ToolCall::Plan(asked) => document(self.plan(environment, asked.task.as_deref())),
            ToolCall::Prove(asked) => self.prove(environment, asked.range.as_deref()),
            ToolCall::Gate(asked) => document(self.gate(environment, asked.commit.as_deref().unwrap_or("HEAD"))),
        };
        answer.map(made_safe)
    }

    fn last_report(&self) -> Result<String, ToolRefusal> {
        let environment = &self.of_call(&Stop::default());
        let bytes = answers::last_report(environment, &self.root).map_err(|error| refusal(&error))?;
        if bytes.len() > LONGEST_REPORT {
            return Err(ToolRefusal::new(
                format!("the report has more than {LONGEST_REPORT} bytes"),
                "`failures` has what failed",
            ));
        }
        String::from_utf8(bytes).map_err(|_| ToolRefusal::new("the report is no text", "`proctor verify` says what is wrong"))
    }
}

/// Returns the task that a call names; the project's own checks if it names none.
fn task_of(task: Option<&str>) -> Result<TaskId, CommandError> {
    task.map_or_else(|| Ok(TaskId::default_task()), request::read_task)
}

/// Returns an answer as a JSON document.
fn document(answer: Result<impl Serialize, CommandError>) -> Result<Value, ToolRefusal> {
    answer.map(|answer| json!(answer)).map_err(|error| refusal(&error))
}

/// Returns the refusal of a question about a task that no specification has; `None` if one has it.
fn unknown_task(answer: &Value, task: &str) -> Option<ToolRefusal> {
    let tasks = answer["project"]["tasks"].as_array()?;
    let asked = tasks.iter().find(|status| status["task"] == task)?;
    let named = TaskId::try_from(task).ok()?;
    let unknown = specification_files::unknown_task(named);
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

// Where the answers of tools come from.

/// Answers the calls of tools. Calls come from several threads at once.
pub trait ToolAnswers: Send + Sync + 'static {
    /// Returns the structured answer of a call: a JSON object. A call that takes long asks `stop` again and again, and ends early if it
    /// says so; its answer is then sent to nobody.
    ///
    /// # Errors
    /// When there is no answer: what was asked for is not there, is refused, or failed.
    fn answer(&self, call: &ToolCall, stop: &Stop) -> Result<Value, ToolRefusal>;

    /// Returns the execution report of the newest sealed run, as JSON.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    fn last_report(&self) -> Result<String, ToolRefusal>;
}

/// Why a call has no answer, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRefusal {
    pub message: String,
    /// Empty if there is nothing to say.
    pub hint: String,
}

impl ToolRefusal {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
