//! Reads what `node --test` prints for people: the totals at its end, and the list of failing tests after them.

use crate::interpret::Exited;
use crate::node_test::Read;
use crate::places::Place;
use crate::test_run::{ReadTest, RunFacts, count as number};
use proctor_model::TestOutcome;

/// The heading of the failing tests, which come after the totals.
const FAILING: &str = "✖ failing tests:";

/// Reads the printed text; `None` if it has no totals.
pub(super) fn read(exited: &Exited<'_>) -> Option<Read> {
    let text = exited.stdout.as_str();
    let end = text.rfind(FAILING).unwrap_or(text.len());
    let last: Vec<&str> = text[..end].trim_end().lines().rev().take(12).collect();
    let of = |word: &str| {
        last.iter().find_map(|line| {
            let (name, count) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?.split_once(' ')?;
            (name == word).then(|| number(count))?
        })
    };
    let (passed, failed) = (of("pass")?, of("fail")? + of("cancelled").unwrap_or_default());
    let mut facts = RunFacts::default();
    let failing = text.get(end + FAILING.len()..).unwrap_or_default();
    for block in failing.split("\ntest at ").skip(1) {
        add(block, exited.place, &mut facts);
    }
    facts.run.counts.passed = passed;
    facts.run.counts.failed = failed.max(facts.run.counts.failed);
    facts.further.todo = of("todo").unwrap_or_default();
    facts.run.counts.skipped = of("skipped").unwrap_or_default() + facts.further.todo;
    Some(Read { facts, ..Read::default() })
}

// Reads `a.test.js:5:1`, a line `✖ name (2.85ms)`, and the indented message.
fn add(block: &str, place: Place<'_>, facts: &mut RunFacts) {
    let mut lines = block.lines();
    let mut numbers = lines.next().unwrap_or_default().rsplitn(3, ':');
    let (_, line, path) = (numbers.next(), numbers.next().and_then(|line| line.parse().ok()), numbers.next().unwrap_or_default());
    let Some(heading) = lines.next().and_then(|line| line.strip_prefix("✖ ")) else { return };
    if heading.to_lowercase().ends_with("# todo") {
        return;
    }
    let name = heading.rsplit_once(" (").map_or(heading, |(name, _)| name);
    let message = lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let file = Some(place.within_project(path)).filter(|_| !path.is_empty());
    let test = ReadTest { title: name.to_owned(), full_name: name.to_owned(), file, line, message, ..ReadTest::default() };
    facts.run.add(TestOutcome::Failed, test);
}
