//! The texts about exceeded limits, one row for each limit. The limit on wall-clock time has no row, because its texts
//! come from seed 004.

use std::time::Duration;

use crate::verdict::wording::spoken_limit;
use proctor_model::{Action, LimitKind, LimitValue};

/// The texts about one exceeded limit; `{value}` stands for the value of the limit.
struct LimitWords {
    limit: LimitKind,
    exceeded: &'static str,
    fix: &'static str,
    message: &'static str,
}

const WORDS: &[LimitWords] = &[
    LimitWords {
        limit: LimitKind::Idle,
        exceeded: "No output for {value}",
        fix: "Find out what it waits for, make it print while it works, or increase idle_timeout",
        message: "The action printed nothing for too long and was stopped. Mend what it waits for, or allow it more time without output.",
    },
    LimitWords {
        limit: LimitKind::Output,
        exceeded: "Printed more than {value}",
        fix: "Print less or increase max_output",
        message: "The action printed more than it may and was stopped. Make it print less or allow it more output.",
    },
    LimitWords {
        limit: LimitKind::Memory,
        exceeded: "Took more memory than it may",
        fix: "Make it take less memory or increase `memory` in [sandbox]",
        message: "The action took more memory than it may and was stopped. Make it take less or allow it more memory.",
    },
    LimitWords {
        limit: LimitKind::Pids,
        exceeded: "Reached its limit of processes",
        fix: "Make it start fewer processes or increase `processes` in [sandbox]",
        message: "The action reached its limit of processes and could start no more. Make it start fewer or allow it more processes.",
    },
    LimitWords {
        limit: LimitKind::Written,
        exceeded: "Wrote more than it may",
        fix: "Make it write less or increase `max_written` in [sandbox]",
        message: "The action wrote more than it may and was stopped. Make it write less or allow it more bytes.",
    },
];

fn words_of(limit: LimitKind) -> Option<&'static LimitWords> {
    WORDS.iter().find(|words| words.limit == limit)
}

/// Returns the title for an exceeded limit: `Exceeded 10s limit`. If the run's own time limit was exceeded, the title
/// shows that limit and not the action's.
pub(in crate::verdict) fn exceeded(action: &Action, limit: LimitKind, of_the_run: Option<Duration>) -> String {
    let value = of_the_run.map(LimitValue::Time).or_else(|| action.limit_value(limit)).map(|value| match value {
        LimitValue::Time(time) => spoken_limit(time),
        LimitValue::Size(size) => size.to_string(),
    });
    match (words_of(limit), value) {
        (Some(words), Some(value)) => words.exceeded.replace("{value}", &value),
        (None, Some(value)) => format!("Exceeded {value} limit"),
        (Some(words), None) if !words.exceeded.contains('{') => words.exceeded.to_owned(),
        (_, None) => "Exceeded a limit".to_owned(),
    }
}

/// Returns the suggested fix for an exceeded limit; `None` if the fix in the category's row applies.
pub(in crate::verdict) fn fix(limit: LimitKind) -> Option<&'static str> {
    words_of(limit).map(|words| words.fix)
}

/// Returns the message for an agent about an exceeded limit; `None` if the message in the category's row applies.
pub(in crate::verdict) fn message(limit: LimitKind) -> Option<&'static str> {
    words_of(limit).map(|words| words.message)
}
