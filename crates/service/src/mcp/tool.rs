//! The tools: their names, what they are for, and their arguments.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// A call of a tool, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    Verdict(VerdictArguments),
    Failures(FailuresArguments),
    Output(OutputArguments),
    History(HistoryArguments),
    Compare(CompareArguments),
    Retest(RetestArguments),
    RequestFix(TaskArguments),
    Why(WhyArguments),
    Plan(TaskArguments),
    Gate(GateArguments),
    Prove(ProveArguments),
}

/// A row of the table of tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolRow {
    pub(super) name: &'static str,
    /// What the tool does and when to call it, for a model.
    pub(super) description: &'static str,
    /// Whether a call changes nothing, not even by running checks.
    pub(super) is_read_only: bool,
    parse: fn(Value) -> Result<ToolCall, serde_json::Error>,
}

/// The arguments of `verdict`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictArguments {
    /// The project's directory; the server's own project if it is not given.
    #[serde(default)]
    pub project: Option<String>,
    #[serde(default)]
    pub task: Option<String>,
    /// How many seconds to wait for a verdict on the files as they are; 0 asks for the present state.
    #[serde(default, deserialize_with = "whole_number")]
    pub wait_s: Option<u64>,
}

/// The arguments of `failures`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailuresArguments {
    /// A run's id or number; the newest sealed run if it is not given.
    #[serde(default)]
    pub run: Option<RunWord>,
    /// Only failures of this test, found as `proctor history` finds it, or of the check or the file that has this name.
    #[serde(default)]
    pub test: Option<String>,
    /// The most bytes of what a tool printed about one failure.
    #[serde(default, deserialize_with = "whole_number")]
    pub max_bytes: Option<u64>,
}

/// The arguments of `output`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputArguments {
    pub run: RunWord,
    /// The action's id, such as `STEP.1`.
    pub action: String,
}

/// The arguments of `history`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryArguments {
    /// The tool's own id of the test, its key, or a part of its id that no other test has.
    pub test: String,
}

/// The arguments of `compare`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareArguments {
    pub from: RunWord,
    pub to: RunWord,
}

/// The arguments of `retest`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetestArguments {
    /// Why the checks are to run again although nothing changed.
    pub reason: String,
    #[serde(default)]
    pub task: Option<String>,
}

/// The arguments of tools that are about a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskArguments {
    #[serde(default)]
    pub task: Option<String>,
}

/// The arguments of `why`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhyArguments {
    pub path: String,
}

/// The arguments of `gate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateArguments {
    /// The commit, as git names it; `HEAD` if it is not given.
    #[serde(default)]
    pub commit: Option<String>,
}

/// The arguments of `prove`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProveArguments {
    /// `BASE..REV`, or `BASE` for the working tree; without it, the working tree since the branch left its upstream.
    #[serde(default)]
    pub range: Option<String>,
}

/// A run's id or number, as a text or as a number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RunWord {
    Number(u64),
    Name(String),
}

fn parse<T: serde::de::DeserializeOwned>(value: Value, call: fn(T) -> ToolCall) -> Result<ToolCall, serde_json::Error> {
    serde_json::from_value(value).map(call)
}

/// Every tool, in the order in which they are listed.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "verdict",
        description: "Whether the project's checks pass on the files as they are now. Waits until there is a verdict (a run is started if \
                      none is under way), at most wait_s seconds (60 if not given, 600 at most; 0 only looks). Says for each task its \
                      state, its result and what failed, with what to do next. Only the state `fresh` is about the files as they are. \
                      Call it before saying that tests pass.",
        is_read_only: false,
        parse: |value| parse(value, ToolCall::Verdict),
    },
    ToolRow {
        name: "failures",
        description: "What failed in a run (the newest without `run`): failing tests and findings with file, line, message, since when \
                      each fails, whether it is flaky, and the command for it alone. With `test` only those of this test (id, key or a \
                      part of it), file or check, and more of what the tool printed, up to max_bytes for each (4000 if not given, 100000 at most).",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Failures),
    },
    ToolRow {
        name: "output",
        description: "The beginning and the end of what an action of a run printed, as the sealed report has it.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Output),
    },
    ToolRow {
        name: "history",
        description: "The past of one test: how it ended in the last runs, when that changed, whether it is flaky.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::History),
    },
    ToolRow {
        name: "compare",
        description: "How two runs differ: tests that newly fail, that were mended, that are gone or new, and the paths saved between.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Compare),
    },
    ToolRow {
        name: "retest",
        description: "Runs the checks once more although nothing changed, within the task's small budget. Refused while nothing speaks \
                      for another result. A change to the files needs no retest: call `verdict`.",
        is_read_only: false,
        parse: |value| parse(value, ToolCall::Retest),
    },
    ToolRow {
        name: "request_fix",
        description: "Reads the configuration, or the task's specification, again and says what is still wrong with it. Nothing is \
                      written.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::RequestFix),
    },
    ToolRow {
        name: "why",
        description: "Which rule decides whether a path belongs to the tested tree, so that a save of it starts a run.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Why),
    },
    ToolRow {
        name: "plan",
        description: "What a run would do: each action with its command, its tool and its policy. Nothing is run.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Plan),
    },
    ToolRow {
        name: "gate",
        description: "Whether a commit is proved: whether the required checks passed on exactly its content, by the policy of the trusted \
                      commit. Says what is missing, and what mends it. Nothing is run or recorded.",
        is_read_only: true,
        parse: |value| parse(value, ToolCall::Gate),
    },
    ToolRow {
        name: "prove",
        description: "Whether the tests of a change test the change: runs the tests that it adds or changes with it, and with its source \
                      taken back. `proves it` says that an assertion failed without the change; `passes either way` that the test tests \
                      nothing of it. Call it after you wrote a test for what you changed. Takes as long as these tests do, up to six times.",
        is_read_only: false,
        parse: |value| parse(value, ToolCall::Prove),
    },
];

impl ToolRow {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|row| row.name == name)
    }

    /// Reads the arguments of a call.
    pub(super) fn call(&self, arguments: Option<Map<String, Value>>) -> Result<ToolCall, String> {
        let arguments = arguments.unwrap_or_default();
        let has_nul = |value: &Value| value.as_str().is_some_and(|text| text.contains('\0'));
        if let Some((name, _)) = arguments.iter().find(|(_, value)| has_nul(value)) {
            return Err(format!("`{name}` has a NUL character, which no path and no name has"));
        }
        (self.parse)(Value::Object(arguments)).map_err(|error| error.to_string())
    }
}

/// Reads a whole number of JSON Schema, for which `1.0` is an integer too.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let text = number.to_string();
    let whole = text
        .split_once('.')
        .filter(|(_, rest)| rest.bytes().all(|digit| digit == b'0'))
        .map_or(text.as_str(), |(whole, _)| whole);
    whole.parse().map(Some).map_err(|_| D::Error::custom(format!("`{number}` is no whole number from 0 on")))
}

impl RunWord {
    /// Returns the run's id or number as a text.
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl ToolCall {
    /// Returns whether the call may wait until checks have run.
    pub(super) fn waits_for_checks(&self) -> bool {
        match self {
            Self::Verdict(_) | Self::Retest(_) | Self::Prove(_) => true,
            Self::Failures(_)
            | Self::Output(_)
            | Self::History(_)
            | Self::Compare(_)
            | Self::RequestFix(_)
            | Self::Why(_)
            | Self::Plan(_)
            | Self::Gate(_) => false,
        }
    }

    /// Returns how many seconds the call may wait; `None` for a call that is answered at once, or as soon as its run is over.
    pub fn wait(&self) -> Option<u64> {
        match self {
            Self::Verdict(asked) => Some(asked.wait_s.unwrap_or(VerdictArguments::WAIT).min(VerdictArguments::LONGEST_WAIT)),
            Self::Failures(_)
            | Self::Output(_)
            | Self::History(_)
            | Self::Compare(_)
            | Self::Retest(_)
            | Self::RequestFix(_)
            | Self::Why(_)
            | Self::Plan(_)
            | Self::Gate(_)
            | Self::Prove(_) => None,
        }
    }
}

impl VerdictArguments {
    /// How many seconds are waited if the call does not say.
    const WAIT: u64 = 60;
    /// The most seconds of one call: clients give up on calls that take longer.
    const LONGEST_WAIT: u64 = 600;
}

impl FailuresArguments {
    /// Returns the most bytes of what a tool printed about one failure.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.max_bytes.unwrap_or(4000).min(100_000)).unwrap_or(4000)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> Result<ToolCall, String> {
        ToolRow::find(name).expect("it is in the table").call(arguments.as_object().cloned())
    }

    #[test]
    fn arguments_are_read_strictly_and_a_run_may_be_a_number() {
        let output = ToolCall::Output(OutputArguments { run: RunWord::Number(5), action: "STEP.1".to_owned() });
        assert_eq!(call("output", json!({"run": 5, "action": "STEP.1"})), Ok(output));
        assert_eq!(call("verdict", Value::Null), Ok(ToolCall::Verdict(VerdictArguments::default())));
        let waiting = ToolCall::Verdict(VerdictArguments { wait_s: Some(1), ..VerdictArguments::default() });
        assert_eq!(call("verdict", json!({"wait_s": 1.0})), Ok(waiting));
        for (name, arguments) in [
            ("verdict", json!({"wait_s": 1.5})),
            ("verdict", json!({"wait": 5})),
            ("verdict", json!({"wait_s": -1})),
            ("verdict", json!({"wait_s": "5"})),
            ("output", json!({"run": 5})),
            ("compare", json!({"from": 1})),
            ("retest", json!({})),
            ("why", json!({"path": ["a"]})),
            ("why", json!({"path": "a\0b"})),
        ] {
            assert!(call(name, arguments.clone()).is_err(), "{name} {arguments}");
        }
    }

    #[test]
    fn no_tool_approves_resolves_resets_or_registers() {
        let names: Vec<&str> = TOOLS.iter().map(|row| row.name).collect();
        assert_eq!(
            names,
            ["verdict", "failures", "output", "history", "compare", "retest", "request_fix", "why", "plan", "gate", "prove"]
        );
    }

    #[test]
    fn a_call_waits_for_ten_minutes_at_most() {
        let wait = |seconds| ToolCall::Verdict(VerdictArguments { wait_s: seconds, ..VerdictArguments::default() }).wait();
        assert_eq!((wait(None), wait(Some(0)), wait(Some(u64::MAX))), (Some(60), Some(0), Some(600)));
    }
}
