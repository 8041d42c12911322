//! A turn of a coding agent: what proctor's hooks are asked at its events is answered by the verdict. Everything is decided in
//! [`crate::hook`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::hook::{
    AgentRow, EventRow, FailuresBefore, HookAnswer, HookDecision, HookEvent, HookInput, HookLine, HookOutcome, HookOutput,
    HookStanding, HookVerdictReader, RefutedClaim, SaidText, SessionState, TurnStart, TurnState, VerdictBefore, decide,
    form_output, is_answered_by_proof, join_answers, needs_waiting, read_input, runs_to_compare,
};
use crate::project::root_search;
use crate::turn::reader::ProjectReader;
use proctor_api::ProjectStatusV1;
use proctor_evidence::read_boot_id;
use proctor_model::{ClaimRecord, CommandExit, ProjectId, shown_line};
use proctor_project::{ProjectRepository, ProjectScope, record_claim};
use proctor_sandbox::process::clock::Monotonic;
use proctor_sandbox::process::{clock, register_agent};

mod files;
mod reader;

pub use files::{HookFiles, SettingsRecord, replace_file};

/// How long the service may take to say how the project stands, at the end of a turn.
const LOOKING: Duration = Duration::from_secs(5);
/// The same at the beginning of a turn, for all projects together: agents wait 10 seconds, and without the service more is to be done.
const LOOKING_AT_START: Duration = Duration::from_secs(3);
/// How long all projects of an agent together are waited for: less than the agent's own time limit.
const LONGEST_TOGETHER: Duration = Duration::from_secs(45);
/// How long a claim waits for another writer of the ledger.
const LEDGER_WAIT: Duration = Duration::from_secs(3);

/// Returns the agent and the event of these names.
///
/// # Errors
/// When proctor knows no such agent or event.
pub fn find_event(event: &str, agent: &str) -> Result<(&'static AgentRow, &'static EventRow), CommandError> {
    let Some(row) = AgentRow::of_word(agent) else {
        return Err(unusable(format!("no agent is called `{agent}`")));
    };
    let Some(event) = row.event(event) else {
        return Err(unusable(format!("{} has no event `{event}` that proctor answers", row.shown)));
    };
    Ok((row, event))
}

/// Answers an event of an agent, which says `input`. An error means that nothing is known, and blocks nothing.
pub fn answer_event(
    environment: &Environment,
    (agent, event): (&'static AgentRow, &'static EventRow),
    input: Result<String, CommandError>,
) -> HookOutput {
    let environment = &environment.with_store_of_service();
    if let Err(error) = register_agent(&environment.agents_directory(), &read_boot_id()) {
        tracing::warn!("the agent that started `proctor hook` is not registered: {error}");
    }
    // An agent that needs a document gets one, whatever fails.
    let answer = input.and_then(|input| answer(agent, event, &input, environment)).unwrap_or_else(|error| {
        note_error(environment, &error);
        HookAnswer::Silence
    });
    form_output(agent, event, &answer)
}

/// Returns the error that a hook cannot be answered.
pub fn unusable(message: String) -> CommandError {
    CommandError::new(CommandExit::Usage, message).hint("`proctor hook install` writes the hooks anew")
}

fn note_error(environment: &Environment, error: &CommandError) {
    error.lines().iter().for_each(|line| environment.note(line));
}

fn answer(
    agent: &'static AgentRow,
    event: &'static EventRow,
    input: &str,
    environment: &Environment,
) -> Result<HookAnswer, CommandError> {
    let input = read_input(agent, event, input).map_err(unusable)?;
    let here = match input.directories.as_slice() {
        [] => vec![environment.absolute(Path::new("."))],
        several => several.to_vec(),
    };
    let mut here: Vec<PathBuf> = here.iter().filter_map(|directory| project_of(directory, environment)).collect();
    here.sort();
    here.dedup();
    let hook =
        Hook { agent, event, input, files: HookFiles::of(environment.state_root()), environment, begun: clock::monotonic() };
    if event.event == HookEvent::SessionStart {
        hook.files.forget_old_sessions();
    }
    let session = hook.files.session(agent.word, &hook.input.session);
    let is_echo = |text: &SaidText| hook.input.prompt.as_ref().is_some_and(|prompt| text.is_echoed_by(prompt));
    if event.event == HookEvent::Prompt && session.last_text.as_ref().is_some_and(is_echo) {
        // The agent sends back what kept it from stopping: the turn goes on, in every project.
        return Ok(HookAnswer::Silence);
    }
    let roots = projects_in_turn(event.event, &session, here);
    if hook.is_start() {
        hook.forget_start(&roots, &session);
    }
    Ok(hook.say(roots.iter().filter_map(|root| hook.answer_about(root, &session)).collect()))
}

/// Returns the projects that an event is about. An agent may have gone to another directory during its turn, so the end of a turn is about
/// the project in which it began, if that was one, and about a copy or working tree of its repository in which the agent is now.
fn projects_in_turn(event: HookEvent, session: &SessionState, here: Vec<PathBuf>) -> Vec<PathBuf> {
    let has_begun = |root: &PathBuf| session.projects.get(&root.display().to_string()).is_some_and(|state| state.start.is_some());
    let is_end = !matches!(event, HookEvent::SessionStart | HookEvent::Prompt);
    if !is_end || here.iter().any(has_begun) {
        return here;
    }
    let mut begun = session.projects.iter().filter(|(_, state)| state.start.is_some()).map(|(root, _)| PathBuf::from(root));
    match (begun.next(), begun.next()) {
        (Some(only), None) => {
            let goes_on_in: Vec<PathBuf> = here.into_iter().filter(|root| has_commits_of(&only, root)).collect();
            [vec![only], goes_on_in].concat()
        }
        (Some(_) | None, _) => here,
    }
}

/// Returns whether the repository of `root` has the commit that is checked out in `other`: it is the same one, or a copy.
fn has_commits_of(other: &Path, root: &Path) -> bool {
    let opened = |root: &Path| ProjectRepository::open(root).ok().flatten().map(|repository| repository.storage);
    let head = opened(other).and_then(|storage| storage.head().ok().flatten());
    root != other && head.zip(opened(root)).is_some_and(|(head, storage)| storage.peel(head).is_ok())
}

/// Returns how the only project in which a turn began stood then, for another one in which the agent goes on.
fn start_elsewhere(session: &SessionState) -> Option<TurnStart> {
    let start = session.projects.values().find_map(|state| state.start.clone())?;
    // Runs of another project are not compared with, and what has been failing here since before the turn is old.
    let before = start.before.map(|before| FailuresBefore { verdict: VerdictBefore::OfEarlierTree, ..before });
    Some(TurnStart { run: None, before, ..start })
}

/// The answer about one project.
struct ProjectAnswer {
    root: String,
    decision: HookDecision,
    /// What was recorded about the project's turn before the decision.
    before: TurnState,
}

/// An event of an agent that is being answered.
struct Hook<'a> {
    agent: &'static AgentRow,
    event: &'static EventRow,
    input: HookInput,
    files: HookFiles,
    environment: &'a Environment,
    begun: Monotonic,
}

impl Hook<'_> {
    /// Returns whether the event begins a turn.
    fn is_start(&self) -> bool {
        match self.event.event {
            HookEvent::SessionStart => !self.input.is_compaction,
            HookEvent::Prompt => true,
            HookEvent::Reply | HookEvent::TurnEnd | HookEvent::SubagentEnd | HookEvent::TaskDone => false,
        }
    }

    /// Records that nothing is known of the turn's start: if the agent stops this hook before it has an answer, the turn must not be measured
    /// by the start of the one before it.
    fn forget_start(&self, roots: &[PathBuf], session: &SessionState) {
        let keys: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        if !keys.iter().any(|key| session.projects.get(key).is_some_and(|state| state.start.is_some())) {
            return;
        }
        let ((), kept) = self.files.update_session(self.agent.word, &self.input.session, |session| {
            for (_, state) in session.projects.iter_mut().filter(|(root, _)| keys.contains(root)) {
                state.is_beginning = true;
            }
        });
        if let Err(error) = kept {
            self.environment.note(&format!("note: the state of the turn cannot be kept: {error}"));
        }
    }

    /// Returns how long the service may take for its next answer.
    fn looking(&self) -> Duration {
        let spent = clock::monotonic().since(self.begun);
        if self.is_start() { LOOKING_AT_START.saturating_sub(spent) } else { LOOKING }
    }

    /// Joins the answers about several projects. What is left out is recorded as not said, so that a later event says it.
    fn say(&self, answers: Vec<ProjectAnswer>) -> HookAnswer {
        let joined = join_answers(answers.iter().map(|about| (about.root.clone(), about.decision.answer.clone())).collect());
        let said = if let HookAnswer::Block(text) = &joined.answer { Some(SaidText::of(text)) } else { None };
        let is_unsaid = |about: &&ProjectAnswer| joined.unsaid.contains(&about.root);
        if said.is_some() || !joined.unsaid.is_empty() || self.event.event == HookEvent::Prompt {
            let ((), kept) = self.files.update_session(self.agent.word, &self.input.session, |session| {
                if said.is_some() || self.event.event == HookEvent::Prompt {
                    session.last_text = said;
                }
                for about in answers.iter().filter(is_unsaid) {
                    let state = session.projects.entry(about.root.clone()).or_default();
                    match self.event.event {
                        // A turn has begun all the same: what was counted in the former one does not come back.
                        HookEvent::SessionStart | HookEvent::Prompt => state.last_result = about.before.last_result,
                        HookEvent::Reply | HookEvent::TurnEnd | HookEvent::SubagentEnd | HookEvent::TaskDone => {
                            state.unsay(&about.before);
                        }
                    }
                }
            });
            if let Err(error) = kept {
                self.environment.note(&format!("note: the state of the turn cannot be kept: {error}"));
            }
        }
        if !matches!(self.event.event, HookEvent::SessionStart | HookEvent::Prompt | HookEvent::Reply) {
            for about in &answers {
                self.log(about, is_unsaid(&about));
            }
        }
        joined.answer
    }

    /// Decides the answer about one project, and records what it says. `session` is what was known before the answer.
    fn answer_about(&self, root: &Path, session: &SessionState) -> Option<ProjectAnswer> {
        let (event, key) = (self.event.event, root.display().to_string());
        let looking = &|| self.looking();
        let mut reader = ProjectReader::new(self.environment, root, looking);
        let mut known = session.projects.get(&key).cloned().unwrap_or_default();
        // An agent that is in a project only at the end of its turn has gone there.
        let is_end = !matches!(event, HookEvent::SessionStart | HookEvent::Prompt);
        let lent = if is_end && known.start.is_none() { start_elsewhere(session) } else { None };
        known.start = known.start.or_else(|| lent.clone());
        let project = reader.read_now();
        let standing = match &project {
            Some(project) => {
                let standing = self.settled(&known, project, &mut reader);
                self.with_missing_tests(&known, standing, &mut reader)
            }
            None if known.start.is_some() && !root.exists() => HookStanding::gone(),
            None => return self.say_unguarded(key),
        };
        // While a verdict was waited for, another event may have changed what is known: that counts.
        let ((mut decision, before), kept) = self.files.update_session(self.agent.word, &self.input.session, |session| {
            let state = session.projects.entry(key.clone()).or_default();
            state.start = state.start.take().or_else(|| lent.clone());
            let mut decision = decide(event, &self.input, state, &standing, clock::now());
            if lent.is_some() {
                // The turn still began elsewhere, and its end is about both places.
                decision.state.start = None;
            }
            let before = std::mem::replace(state, decision.state.clone());
            (decision, before)
        });
        if let Err(error) = &kept {
            self.environment.note(&format!("note: the state of the turn cannot be kept: {error}"));
        }
        if let (Some(refuted), Some(id)) = (decision.refuted.clone(), project.and_then(|project| project.id)) {
            record(refuted, self.agent, (id, root), self.environment);
        }
        // Blocks that cannot be counted would not end.
        if kept.is_err() && matches!(decision.answer, HookAnswer::Block(_)) {
            decision.answer = HookAnswer::Silence;
        }
        Some(ProjectAnswer { root: key, decision, before })
    }

    /// At the beginning of a session, tells the agent that a project in which it works is not guarded.
    fn say_unguarded(&self, root: String) -> Option<ProjectAnswer> {
        if self.event.event != HookEvent::SessionStart || self.input.is_compaction {
            return None;
        }
        let line = format!(
            "proctor: not guarded: no checks are run for `{}`, because it is not registered or cannot be read. A person runs `proctor run` \
             there, or `proctor status`, which says more.",
            shown_line(&root)
        );
        let decision = HookDecision {
            answer: HookAnswer::Context(line),
            refuted: None,
            state: TurnState::default(),
            outcome: HookOutcome::Context,
        };
        Some(ProjectAnswer { root, decision, before: TurnState::default() })
    }

    /// Adds the line for `proctor hook report`. A block of which the agent was told nothing counts as a red end.
    fn log(&self, about: &ProjectAnswer, is_unsaid: bool) {
        let ProjectAnswer { root, decision, .. } = about;
        let is_silent_block = is_unsaid && decision.outcome == HookOutcome::Blocked;
        let line = HookLine::End {
            at: clock::now(),
            project: root.clone(),
            agent: self.agent.word.to_owned(),
            session: self.input.session.clone(),
            outcome: if is_silent_block { HookOutcome::Red } else { decision.outcome },
            refuted: decision.refuted.is_some(),
            turn: self.event.event == HookEvent::TurnEnd,
            begun: decision.state.start.as_ref().map(|start| start.at),
        };
        if let Err(error) = self.files.add_to_log(&line) {
            self.environment.note(&format!("note: the log of hooks cannot be written: {error}"));
        }
    }

    /// Returns how the project stands, after waiting for its verdict if the decision needs it.
    fn settled(&self, state: &TurnState, project: &ProjectStatusV1, reader: &mut ProjectReader<'_>) -> HookStanding {
        let standing = HookStanding::now(project, reader);
        if !needs_waiting(self.event.event, &self.input, state, &standing) {
            return standing;
        }
        // The projects of one agent are waited for one after the other, and the agent waits for all of them.
        let left = LONGEST_TOGETHER.saturating_sub(clock::monotonic().since(self.begun));
        let within = reader.configuration().watch.hook_wait.min(left);
        let later = if within.is_zero() { None } else { reader.wait_for_verdict(within) };
        later.map_or(standing, |later| HookStanding::now(&later, reader))
    }

    /// Adds the tests that ran before the turn and are gone now, where [`runs_to_compare`] names two runs, and those of which is known that they
    /// pass without the change.
    fn with_missing_tests(&self, state: &TurnState, standing: HookStanding, reader: &mut ProjectReader<'_>) -> HookStanding {
        let runs = runs_to_compare(self.event.event, state, &standing);
        let missing = runs.map(|runs| reader.read_missing_tests(runs)).unwrap_or_default();
        let tree = standing.tree.filter(|_| is_answered_by_proof(self.event.event, state, &standing));
        let passing_without = tree.and_then(|tree| reader.read_passing_without(tree));
        HookStanding { missing, passing_without, ..standing }
    }
}

/// Returns the root of the project in which an agent works.
fn project_of(directory: &Path, environment: &Environment) -> Option<PathBuf> {
    let directory = std::fs::canonicalize(environment.absolute(directory)).ok()?;
    root_search::root_above(&directory, environment.variable("HOME").map(Path::new), environment.state_root())
}

/// Records a refuted claim in the ledger. A claim that cannot be recorded is named, and the answer is the same.
fn record(refuted: RefutedClaim, agent: &AgentRow, (project, root): (ProjectId, &Path), environment: &Environment) {
    let record = ClaimRecord {
        agent: agent.word.to_owned(),
        phrase: refuted.claim.phrase,
        message: refuted.claim.message,
        task: refuted.task,
        run_id: refuted.run_id,
        tree_digest: refuted.tree,
    };
    let scope = ProjectScope { project, root: root.to_owned(), asker: environment.asker() };
    if let Err(error) = record_claim(environment.state_root(), &scope, record, LEDGER_WAIT) {
        environment.note(&format!("note: the claim cannot be recorded: {}", CommandError::from(error).sentence()));
    }
}
