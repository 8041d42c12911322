//! Decides what proctor says at an event of an agent. It blocks rarely: what blocks a turn without reason is soon removed.
//!
//! An agent is kept from stopping only if the tree changed in this turn and something fails, or cannot be judged, that did not before it;
//! or if its last message says that the tests pass and the verdict for the same tree says that they fail. What is not known blocks
//! nothing.

use crate::hook::message::{
    BlockReason, FailureAge, block_text, lacks_tests_text, missing_tests_text, old_failures_text, standing_line,
};
use crate::hook::{
    BlockedFor, Claim, FailingItem, FailureIdentity, FailuresBefore, HookAnswer, HookEvent, HookInput, HookJudgement,
    HookOutcome, HookStanding, ToldState, TurnStart, TurnState, VerdictBefore, find_claim,
};
use proctor_model::{OverallResult, RunId, TaskId, Timestamp, TreeDigest};

/// The most times in a row that an agent is kept from stopping, each time by something else. After that the person is told. Agents have
/// limits of their own, but these begin anew with every call of a tool.
pub const MOST_BLOCKS: u32 = 3;

/// What is said of a project whose directory went away in a turn.
const ROOT_GONE: &str = "the project's directory is not there any more: it was moved or removed. Move it back; if it is to stay elsewhere, \
                         a person runs `proctor run` in its new place";

/// A claim that the verdict contradicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefutedClaim {
    pub claim: Claim,
    pub task: TaskId,
    pub run_id: RunId,
    pub tree: TreeDigest,
}

/// What proctor says at an event, and what it records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDecision {
    pub answer: HookAnswer,
    /// `None` if there was no claim, or the verdict does not contradict it.
    pub refuted: Option<RefutedClaim>,
    /// What is recorded for the next event.
    pub state: TurnState,
    pub outcome: HookOutcome,
}

/// Returns whether the decision needs a verdict that is not there yet: at the end of a turn that changed something, or whose message
/// makes a claim.
pub fn needs_waiting(event: HookEvent, input: &HookInput, state: &TurnState, standing: &HookStanding) -> bool {
    let is_end = matches!(event, HookEvent::TurnEnd | HookEvent::SubagentEnd | HookEvent::TaskDone);
    if !is_end || input.in_background || input.is_aborted || standing.judgement != HookJudgement::Pending {
        return false;
    }
    let start = state.begun();
    let has_changed = changed_in_turn(start, standing) != Some(false) && start.is_some();
    has_changed && event != HookEvent::SubagentEnd || claim_of(input, state).is_some()
}

/// Returns the two runs between which tests may have gone away in this turn, the last one before it and the one that passed now, with the
/// trees of before and now.
pub fn runs_to_compare(event: HookEvent, state: &TurnState, standing: &HookStanding) -> Option<[(RunId, TreeDigest); 2]> {
    let start = state.begun()?;
    let is_wanted = matches!(event, HookEvent::TurnEnd | HookEvent::TaskDone) && standing.judgement == HookJudgement::Passed;
    let (before, now) = (start.run.clone()?, standing.last_run.clone()?);
    let is_new = is_wanted && before != now && changed_in_turn(Some(start), standing) == Some(true);
    Some([(before, start.tree?), (now, standing.tree?)]).filter(|_| is_new)
}

/// Returns whether an answer of `proctor prove` about the present tree is worth saying: at the end of a green turn that changed something.
pub fn is_answered_by_proof(event: HookEvent, state: &TurnState, standing: &HookStanding) -> bool {
    matches!(event, HookEvent::TurnEnd | HookEvent::TaskDone)
        && standing.judgement == HookJudgement::Passed
        && changed_in_turn(state.begun(), standing) == Some(true)
}

/// Decides what is said at an event. `state` is what was recorded at the events before it.
pub fn decide(event: HookEvent, input: &HookInput, state: &TurnState, standing: &HookStanding, now: Timestamp) -> HookDecision {
    let state = state.clone();
    match event {
        HookEvent::SessionStart if input.is_compaction => silent(state, HookOutcome::Silent),
        HookEvent::SessionStart => begin(state, standing, now, true),
        HookEvent::Prompt => begin(state, standing, now, false),
        HookEvent::Reply => {
            let reply = input.message.as_deref().and_then(find_claim);
            silent(TurnState { reply, ..state }, HookOutcome::Silent)
        }
        HookEvent::TurnEnd | HookEvent::SubagentEnd | HookEvent::TaskDone => end(event, input, state, standing),
    }
}

fn silent(state: TurnState, outcome: HookOutcome) -> HookDecision {
    HookDecision { answer: HookAnswer::Silence, refuted: None, state, outcome }
}

/// Records the beginning of a turn. The agent is given one line if the verdict is another one than it was told last; at the beginning
/// of a session always.
fn begin(state: TurnState, standing: &HookStanding, now: Timestamp, is_session: bool) -> HookDecision {
    let result = result_of(standing);
    let start = start_of_turn(&state, standing, now);
    let session_begun = state.session_begun.or(Some(now));
    let ToldState { failed_before, person, rules, .. } = state.told;
    let told = ToldState { failed_before, person, rules, ..ToldState::default() };
    let is_news = result.is_some() && (is_session || state.last_result.is_some() && state.last_result != result);
    let last_result = result.or(state.last_result);
    let state = TurnState { start: Some(start), session_begun, goes_on: true, last_result, told, ..TurnState::default() };
    match result.filter(|_| is_news) {
        Some(result) => {
            let line = standing_line(standing, result == OverallResult::Passed);
            HookDecision { answer: HookAnswer::Context(line), refuted: None, state, outcome: HookOutcome::Context }
        }
        None => silent(state, HookOutcome::Silent),
    }
}

/// Returns by what a turn that begins now is measured. What turned red after the agent stopped is older than the turn: a person edited
/// files, or pulled a commit. What comes before a stop is not, and what was red when the agent stopped is only where it kept the agent
/// from stopping.
fn start_of_turn(state: &TurnState, standing: &HookStanding, now: Timestamp) -> TurnStart {
    let is_judgeable = match standing.judgement {
        HookJudgement::Passed | HookJudgement::Failed | HookJudgement::FailedAsWanted | HookJudgement::Pending => true,
        HookJudgement::CannotJudge(_) | HookJudgement::PersonNeeded(_) | HookJudgement::RootGone => false,
    };
    let start = TurnStart {
        at: now,
        since: None,
        tree: standing.tree,
        judgeable: is_judgeable,
        before: standing.last.clone(),
        run: standing.last_run.clone(),
    };
    let is_as_left = standing.tree.is_some() && standing.tree == state.stopped_on && state.blocks == 0;
    match &state.start {
        Some(former) if state.goes_on => former.clone(),
        Some(former) if is_as_left => {
            let before = start.before.map(|before| {
                let newer = standing.failing.iter().filter(|item| is_new(item, former, standing)).map(|item| &item.identity);
                before.without(&newer.collect::<Vec<_>>())
            });
            TurnStart { since: former.since.or(Some(former.at)), before, ..start }
        }
        Some(_) | None => start,
    }
}

fn result_of(standing: &HookStanding) -> Option<OverallResult> {
    match standing.judgement {
        HookJudgement::Passed => Some(OverallResult::Passed),
        HookJudgement::Failed | HookJudgement::FailedAsWanted => Some(OverallResult::Failed),
        HookJudgement::Pending | HookJudgement::CannotJudge(_) | HookJudgement::PersonNeeded(_) | HookJudgement::RootGone => None,
    }
}

/// Returns whether the tree is another one than at the start of the turn; `None` if that is not known.
fn changed_in_turn(start: Option<&TurnStart>, standing: &HookStanding) -> Option<bool> {
    Some(start?.tree? != standing.tree?)
}

fn claim_of(input: &HookInput, state: &TurnState) -> Option<Claim> {
    input.message.as_deref().and_then(find_claim).or_else(|| state.reply.clone())
}

/// Returns whether something fails since this turn. What is not known to be new is old.
fn is_new(item: &FailingItem, start: &TurnStart, standing: &HookStanding) -> bool {
    let Some(before) = &start.before else { return false };
    // More failed at the start than were listed: without its past, a failure cannot be told from those.
    let is_unclear =
        before.total > before.failing.len() as u64 && item.failing_since.is_none() && standing.failing_total <= before.total;
    !was_before(item, start) && !is_unclear && !before.is_incomplete(&item.identity)
}

/// Returns whether a failure is older than this turn; `false` also if that is not known. It is older if it was there on the files with which
/// the turn began. Where these files have no whole verdict of their own, it is also older if it has been failing in every run since before
/// the turn; a run that had begun before the turn counts as one before it.
fn was_before(item: &FailingItem, start: &TurnStart) -> bool {
    let before = start.before.as_ref();
    let is_judged = |before: &FailuresBefore| {
        before.verdict == VerdictBefore::OfThisTree
            && before.total == before.failing.len() as u64
            && !before.is_incomplete(&item.identity)
    };
    before.is_some_and(|before| before.has(&item.identity))
        || !before.is_some_and(is_judged) && item.failing_since.is_some_and(|since| since < start.since.unwrap_or(start.at))
}

/// Returns whether more fails than at the start of the turn, where not all of it is listed: something of what is not listed is new, unless
/// it is of a check of which not all was known.
fn fails_more(before: &FailuresBefore, standing: &HookStanding) -> bool {
    standing.failing_total > standing.failing.len() as u64
        && standing.failing_total > before.total
        && !standing.failing.iter().any(|item| before.is_incomplete(&item.identity))
}

fn end(event: HookEvent, input: &HookInput, state: TurnState, standing: &HookStanding) -> HookDecision {
    if input.in_background || input.is_aborted {
        return silent(state, HookOutcome::Silent);
    }
    let mut decision = end_of_work(event, input, state, standing);
    if event == HookEvent::TurnEnd && !matches!(decision.answer, HookAnswer::Block(_)) {
        decision.state.goes_on = false;
        decision.state.stopped_on = standing.tree;
    }
    decision
}

fn end_of_work(event: HookEvent, input: &HookInput, mut state: TurnState, standing: &HookStanding) -> HookDecision {
    let start = state.begun().cloned();
    let session_begun = state.session_begun;
    // What the session's own runs made flaky, for example with and without a file that belongs to no tree, is a failure like any other.
    let is_flaky = |item: &FailingItem| {
        item.flaky_since.is_some_and(|since| session_begun.is_none_or(|session_begun| since < session_begun))
    };
    let changed = changed_in_turn(start.as_ref(), standing);
    let claim = claim_of(input, &state);
    if let Some(result) = result_of(standing) {
        state.last_result = Some(result);
    }
    let before = start.as_ref().and_then(|start| start.before.as_ref());
    let is_new_here = |item: &FailingItem| start.as_ref().is_some_and(|start| is_new(item, start, standing));
    let new_age = match before.map(|before| before.verdict) {
        Some(VerdictBefore::OfEarlierTree) => FailureAge::NewSinceTested,
        Some(VerdictBefore::OfThisTree) | None => FailureAge::New,
    };
    let age = |item: &FailingItem| match &start {
        Some(start) if is_new(item, start, standing) => new_age,
        Some(start) if was_before(item, start) => FailureAge::Before,
        Some(_) | None => FailureAge::Unknown,
    };
    match &standing.judgement {
        HookJudgement::Passed => {
            state.blocks = 0;
            state.side_blocks = 0;
            (state.told.limit, state.told.claim, state.told.blocked_for) = (false, false, BlockedFor::default());
            if event == HookEvent::SubagentEnd {
                return silent(state, HookOutcome::Green);
            }
            let rules = &standing.rules_changed;
            let are_rules_told = rules.is_empty() || state.told.rules.as_ref() == Some(rules) || changed != Some(true);
            let is_missing_told = standing.missing.iter().all(|test| state.told.missing.contains(test));
            let tests = &standing.lacks_tests;
            let is_worth_saying = changed == Some(true) || claim.is_some();
            let are_tests_told = tests.is_empty() || state.told.tests.as_ref() == Some(tests) || !is_worth_saying;
            let text = match (is_missing_told, are_rules_told, are_tests_told) {
                (true, true, true) => return green(state, standing),
                (true, true, false) => {
                    state.told.tests = Some(tests.clone());
                    let text = lacks_tests_text(tests, claim.as_ref().map(|claim| claim.phrase.as_str()));
                    // The agent did not take the tests away. Only what it says of them has to be put right.
                    if claim.is_none() {
                        return tell(state, text, HookOutcome::Green);
                    }
                    text
                }
                (false, _, _) => {
                    state.told.missing.clone_from(&standing.missing);
                    missing_tests_text(&standing.missing)
                }
                // It is said once of each difference.
                (true, false, _) => {
                    state.told.rules = Some(rules.clone());
                    format!(
                        "proctor: green, and judged by changed rules: {rules}. That is no proof: tell the user, or take it back. \
                         A person approves it with `proctor approve`."
                    )
                }
            };
            HookDecision { answer: HookAnswer::Block(text), refuted: None, state, outcome: HookOutcome::Blocked }
        }
        HookJudgement::Failed | HookJudgement::FailedAsWanted => {
            // Each sub-agent is answered for itself.
            let is_turn = event == HookEvent::TurnEnd;
            let is_first = if is_turn { !state.told.claim } else { state.side_blocks < MOST_BLOCKS };
            // A claim is answered once with the verdict; after that only what fails decides.
            if let Some(refuted) = claim.as_ref().filter(|_| is_first).and_then(|claim| refute(claim, standing, is_flaky)) {
                let text = block_text(&BlockReason::Claim(&refuted.claim.phrase), standing, age);
                if is_turn {
                    state.told.claim = true;
                    state.told.blocked_for.note(standing);
                }
                return HookDecision { refuted: Some(refuted), ..block(event, state, text) };
            }
            // A sub-agent may work beside others, whose files are half done: only what it says counts. In the phase RED a new test has to
            // fail.
            let may_block =
                changed == Some(true) && event != HookEvent::SubagentEnd && standing.judgement == HookJudgement::Failed;
            let has_new = |before: &FailuresBefore| {
                fails_more(before, standing) || standing.failing.iter().any(|item| is_new_here(item) && !is_flaky(item))
            };
            if let Some(before) = before.filter(|before| may_block && has_new(before)) {
                let text = block_text(&BlockReason::NewFailures(before.verdict), standing, age);
                let is_told = |item: &FailingItem| !is_new_here(item) || is_flaky(item) || state.told.blocked_for.has(item);
                if is_turn && standing.failing_total <= state.told.blocked_for.total && standing.failing.iter().all(is_told) {
                    return let_go(state, &text);
                }
                if is_turn {
                    state.told.blocked_for.note(standing);
                }
                return block(event, state, text);
            }
            let of_before: Vec<&FailingItem> = standing.failing.iter().filter(|item| age(item) == FailureAge::Before).collect();
            let old: Vec<FailureIdentity> = of_before.iter().map(|item| item.identity.clone()).collect();
            let is_known = old.iter().all(|failure| state.told.failed_before.contains(failure));
            if !may_block || before.is_none() || old.is_empty() || is_known {
                return silent(state, HookOutcome::Red);
            }
            state.told.failed_before = old;
            tell(state, old_failures_text(&of_before), HookOutcome::Red)
        }
        HookJudgement::Pending => {
            let is_side = event == HookEvent::SubagentEnd;
            if (is_side || changed != Some(true)) && claim.is_none() {
                return silent(state, HookOutcome::Pending);
            }
            let tree = standing.tree.map_or_else(|| "unknown".to_owned(), |tree| tree.to_string());
            // A claim is answered by itself: a notice about the files does not say that the claim is unchecked.
            let told = &mut state.told;
            let kept = match (claim.is_some(), is_side) {
                (true, true) => &mut told.pending_side_claim,
                (true, false) => &mut told.pending_claim,
                (false, _) => &mut told.pending,
            };
            if kept.as_ref().is_some_and(|told| *told == tree || tree == "unknown") {
                return silent(state, HookOutcome::Pending);
            }
            *kept = Some(tree.clone());
            if !is_side {
                told.pending = Some(tree);
            }
            let text = "proctor: not tested yet: there is no verdict for the files as they are now. `proctor wait --fresh` waits for it.";
            tell(state, text.to_owned(), HookOutcome::Pending)
        }
        HookJudgement::CannotJudge(why) => {
            let was_judgeable = start.as_ref().is_some_and(|start| start.judgeable);
            if changed == Some(true) && was_judgeable && event != HookEvent::SubagentEnd {
                let text = block_text(&BlockReason::CannotJudge(why), standing, age);
                return block_for_reason(event, state, why, text);
            }
            silent(state, HookOutcome::Silent)
        }
        HookJudgement::RootGone => {
            if event == HookEvent::SubagentEnd || !start.as_ref().is_some_and(|start| start.judgeable) {
                return silent(state, HookOutcome::Silent);
            }
            block_for_reason(event, state, ROOT_GONE, block_text(&BlockReason::CannotJudge(ROOT_GONE), standing, age))
        }
        HookJudgement::PersonNeeded(why) => {
            if changed != Some(true) || state.told.person.as_ref() == Some(why) {
                return silent(state, HookOutcome::Silent);
            }
            state.told.person = Some(why.clone());
            tell(state, format!("proctor: {why}. `proctor status` says more."), HookOutcome::Silent)
        }
    }
}

fn tell(state: TurnState, text: String, outcome: HookOutcome) -> HookDecision {
    HookDecision { answer: HookAnswer::TellPerson(text), refuted: None, state, outcome }
}

/// Says once of each tree what its added tests do without the change. It keeps nobody from stopping.
fn green(mut state: TurnState, standing: &HookStanding) -> HookDecision {
    let tree = standing.tree.map(|tree| tree.to_string());
    match standing.passing_without.filter(|_| state.told.proof != tree) {
        Some((passing, added)) => {
            state.told.proof = tree;
            let verb = if passing == 1 { "passes" } else { "pass" };
            let tests = if added == 1 { "test" } else { "tests" };
            let text = format!(
                "proctor: green, and {passing} of {added} new {tests} {verb} without the change. `proctor prove` names them."
            );
            tell(state, text, HookOutcome::Green)
        }
        None => silent(state, HookOutcome::Green),
    }
}

/// Keeps the agent from stopping, unless that was done as often as it may be; then the person is told, once.
fn block(event: HookEvent, mut state: TurnState, text: String) -> HookDecision {
    let blocks = if event == HookEvent::TurnEnd { &mut state.blocks } else { &mut state.side_blocks };
    if *blocks < MOST_BLOCKS {
        *blocks += 1;
        state.told.limit = false;
        return HookDecision { answer: HookAnswer::Block(text), refuted: None, state, outcome: HookOutcome::Blocked };
    }
    if event == HookEvent::TurnEnd { let_go(state, &text) } else { silent(state, HookOutcome::Red) }
}

/// Keeps the agent from stopping because of why the tree cannot be judged, once for each reason.
fn block_for_reason(event: HookEvent, mut state: TurnState, why: &str, text: String) -> HookDecision {
    if event == HookEvent::TurnEnd && state.told.blocked_for.reason.as_deref() == Some(why) {
        return let_go(state, &text);
    }
    if event == HookEvent::TurnEnd {
        state.told.blocked_for.reason = Some(why.to_owned());
    }
    block(event, state, text)
}

/// Lets the agent stop with what it was told of already. The person is told, once.
fn let_go(mut state: TurnState, text: &str) -> HookDecision {
    if state.told.limit {
        return silent(state, HookOutcome::Red);
    }
    state.told.limit = true;
    let first = text.lines().next().unwrap_or_default();
    let said = format!("The agent was kept from stopping and stops now. {first} `proctor show` lists what fails.");
    tell(state, said, HookOutcome::Red)
}

/// Returns the claim with its verdict if the verdict contradicts it. A claim about tests is contradicted only by tests; flaky failures
/// contradict nothing.
fn refute(claim: &Claim, standing: &HookStanding, is_flaky: impl Fn(&FailingItem) -> bool) -> Option<RefutedClaim> {
    let contradicts = |item: &FailingItem| !is_flaky(item) && item.is_test;
    if !standing.failing.iter().any(contradicts) {
        return None;
    }
    let (task, run_id) = standing.verdict.clone()?;
    Some(RefutedClaim { claim: claim.clone(), task, run_id, tree: standing.tree? })
}

#[cfg(test)]
mod tests;
