//! `proctor hook run`: reads what an agent says, asks for the verdict, and answers. Everything is decided in `hook`.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::commands::hook_files::HookFiles;
use crate::cli::commands::{opening, status};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::root_search;
use crate::cli::service::{self, ServedProject};
use crate::cli::setup;
use proctor_api::{AnswerV1, MethodV1, ProjectStatusV1};
use proctor_app::hook::{
    AgentRow, EventRow, HookAnswer, HookDecision, HookEvent, HookInput, HookLine, HookOutcome, HookStanding, HookVerdictReader,
    RefutedClaim, SaidText, SessionState, TurnState, decide, form_output, join_answers, needs_waiting, read_input,
};
use proctor_evidence::read_boot_id;
use proctor_model::{ClaimRecord, CommandExit, ProjectId, Serving, TaskId, TreeDigest};
use proctor_plan::config::Configuration;
use proctor_run::project::{ProjectScope, record_claim};
use proctor_sandbox::process::clock::Monotonic;
use proctor_sandbox::process::{clock, register_agent, run_own_command};

/// The longest input that is read, in bytes. An agent's last message is in it.
const LONGEST_INPUT: u64 = 8 << 20;
/// How long the service may take to say how the project stands, at the end of a turn.
const LOOKING: Duration = Duration::from_secs(5);
/// The same at the beginning of a turn, for all projects together: agents wait 10 seconds, and without the service more is to be done.
const LOOKING_AT_START: Duration = Duration::from_secs(3);
/// How much longer the service may take to answer than it waits.
const MARGIN: Duration = Duration::from_secs(3);
/// How long all projects of an agent together are waited for: less than the agent's own time limit.
const LONGEST_TOGETHER: Duration = Duration::from_secs(45);
/// The most bytes of the output of `proctor wait` that are kept. Nothing of it is read.
const LONGEST_OUTPUT: usize = 0;
/// How long a claim waits for another writer of the ledger.
const LEDGER_WAIT: Duration = Duration::from_secs(3);

/// Answers an event of an agent. An error means that nothing is known, and blocks nothing.
pub(super) fn execute(event: &str, agent: &str, environment: &Environment) -> Result<CommandExit, CommandError> {
    let Some(row) = AgentRow::of_word(agent) else {
        return Err(unusable(format!("no agent is called `{agent}`")));
    };
    let Some(event) = row.event(event) else {
        return Err(unusable(format!("{} has no event `{event}` that proctor answers", row.shown)));
    };
    if let Err(error) = register_agent(&environment.agents_directory(), &read_boot_id()) {
        tracing::warn!("the agent that started `proctor hook` is not registered: {error}");
    }
    // An agent that needs a document gets one, whatever fails.
    let answer = answer(row, event, environment).unwrap_or_else(|error| {
        render::error(&error);
        HookAnswer::Silence
    });
    let output = form_output(row, event, &answer);
    if !output.stdout.is_empty() {
        render::json_line(&output.stdout);
    }
    output.stderr.lines().for_each(render::note);
    Ok(if output.exit == 0 { CommandExit::Proceed } else { CommandExit::Usage })
}

fn unusable(message: String) -> CommandError {
    CommandError::new(CommandExit::Usage, message).hint("`proctor hook install` writes the hooks anew")
}

fn answer(agent: &'static AgentRow, event: &'static EventRow, environment: &Environment) -> Result<HookAnswer, CommandError> {
    let input = read_input(agent, event, &read_standard_input()?).map_err(unusable)?;
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
/// the project in which it began, if that was one.
fn projects_in_turn(event: HookEvent, session: &SessionState, here: Vec<PathBuf>) -> Vec<PathBuf> {
    let has_begun = |root: &PathBuf| session.projects.get(&root.display().to_string()).is_some_and(|state| state.start.is_some());
    let is_end = !matches!(event, HookEvent::SessionStart | HookEvent::Prompt);
    if !is_end || here.iter().any(has_begun) {
        return here;
    }
    let mut begun = session.projects.iter().filter(|(_, state)| state.start.is_some()).map(|(root, _)| PathBuf::from(root));
    match (begun.next(), begun.next()) {
        (Some(only), None) => vec![only],
        (Some(_) | None, _) => here,
    }
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
                state.start = None;
            }
        });
        if let Err(error) = kept {
            render::note(&format!("note: the state of the turn cannot be kept: {error}"));
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
                render::note(&format!("note: the state of the turn cannot be kept: {error}"));
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
        let mut reader = ProjectReader { environment: self.environment, root, looking, served: None, has_own_checks: false };
        let project = reader.read_now()?;
        let known = session.projects.get(&key).cloned().unwrap_or_default();
        let standing = self.settled(&known, &project, &mut reader);
        // While a verdict was waited for, another event may have changed what is known: that counts.
        let ((mut decision, before), kept) = self.files.update_session(self.agent.word, &self.input.session, |session| {
            let state = session.projects.entry(key.clone()).or_default();
            let decision = decide(event, &self.input, state, &standing, clock::now());
            let before = std::mem::replace(state, decision.state.clone());
            (decision, before)
        });
        if let Err(error) = &kept {
            render::note(&format!("note: the state of the turn cannot be kept: {error}"));
        }
        if let (Some(refuted), Some(id)) = (decision.refuted.clone(), project.id) {
            record(refuted, self.agent, (id, root), self.environment);
        }
        // Blocks that cannot be counted would not end.
        if kept.is_err() && matches!(decision.answer, HookAnswer::Block(_)) {
            decision.answer = HookAnswer::Silence;
        }
        Some(ProjectAnswer { root: key, decision, before })
    }

    /// Adds the line for `proctor hook report`. A block that was not said is none.
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
            render::note(&format!("note: the log of hooks cannot be written: {error}"));
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
}

fn read_standard_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::caused(CommandExit::Usage, "standard input cannot be read", &error))?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(unusable(format!("the input is longer than {LONGEST_INPUT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| unusable("the input is not UTF-8".to_owned()))
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
        render::note(&format!("note: the claim cannot be recorded: {}", super::from_run_error(&error).sentence()));
    }
}

/// Reads a project's verdict: from the service if it watches the project, else in this process.
struct ProjectReader<'a> {
    environment: &'a Environment,
    root: &'a Path,
    /// Returns how long the service may take to say how the project stands.
    looking: &'a dyn Fn() -> Duration,
    /// The service and the project there, once it was asked and watches the project.
    served: Option<ServedProject>,
    /// Whether the project has checks of its own, by the last answer of the service. One with test specifications alone has none.
    has_own_checks: bool,
}

impl ProjectReader<'_> {
    fn ask(&self, query: &str, within: Duration) -> Option<ProjectStatusV1> {
        let served = self.served.as_ref().filter(|_| !within.is_zero())?;
        let path = format!("/v1/projects/{}/verdict?task={}{query}", served.project.id, TaskId::default_task());
        match served.client.ask::<AnswerV1>(MethodV1::Get, &path, within) {
            Ok(answer) => Some(answer.project),
            Err(error) => {
                service::say_unusable(&error);
                None
            }
        }
    }

    /// Waits for every task by `proctor wait` as a child without a terminal: it asks the service, or runs the checks where no service does
    /// it. A run that is not over in time is stopped, and its verdict is then not known.
    fn test_here(&self, within: Duration) {
        let mut place = OsString::from("--project=");
        place.push(self.root);
        let words = [
            OsString::from("wait"),
            "--fresh".into(),
            "--json".into(),
            format!("--timeout={}ms", within.as_millis()).into(),
            place,
        ];
        let begun = clock::monotonic();
        let is_late = || clock::monotonic().since(begun) > within + MARGIN;
        let program = self.environment.executable();
        if let Err(error) = run_own_command(program, &words, self.root, LONGEST_OUTPUT, MARGIN, &is_late) {
            render::note(&format!("note: the checks cannot be run: {error}"));
        }
    }

    /// Returns the project's configuration, or the one of a project without any where it is wrong.
    fn configuration(&self) -> Configuration {
        setup::configuration(self.root).map_or_else(|_| Configuration::default(), |(read, _)| read)
    }

    fn digest_here(&self) -> Result<Option<TreeDigest>, CommandError> {
        // A configuration that became wrong is a change of the tree too, whatever it says of what belongs to the tree.
        let configuration = self.configuration();
        let settings = opening::settings_of(self.environment.state_root(), self.root, &configuration)?;
        let mut archive = opening::open_archive(self.environment)?;
        archive.tree_now(self.root, &settings).map_err(|error| super::from_run_error(&error))
    }

    /// Computes how the project stands without the service.
    fn look_here(&self) -> Result<Option<ProjectStatusV1>, CommandError> {
        let mut archive = opening::open_archive(self.environment)?;
        let standing = status::stand(&mut archive, self.root, &[], &[])?;
        if standing.project.is_none() {
            return Ok(None);
        }
        let project = ProjectStatusV1::new(&standing, Serving::NotServed, clock::now());
        Ok(Some(status::with_failures(self.environment, project)))
    }
}

impl HookVerdictReader for ProjectReader<'_> {
    fn read_now(&mut self) -> Option<ProjectStatusV1> {
        // Without any time left, the service is not asked any more: it did not answer about another project.
        let is_asked = !(self.looking)().is_zero();
        self.served = if is_asked { service::serving_within(self.environment, self.root, (self.looking)()) } else { None };
        if let Some(project) = self.ask("", (self.looking)()) {
            self.has_own_checks = project.tasks.iter().any(|task| task.task == TaskId::default_task());
            return Some(project);
        }
        self.look_here().unwrap_or_else(|error| {
            render::error(&error);
            None
        })
    }

    fn wait_for_verdict(&mut self, within: Duration) -> Option<ProjectStatusV1> {
        // A wait for the project's own checks, where there are none, is answered as a wrong configuration.
        if self.served.is_some() && self.has_own_checks {
            return self.ask(&format!("&wait=fresh&timeout={}ms", within.as_millis()), within + MARGIN);
        }
        self.test_here(within);
        if let Some(project) = self.ask("", (self.looking)()) {
            return Some(project);
        }
        self.look_here().unwrap_or_else(|error| {
            render::error(&error);
            None
        })
    }

    fn read_tree(&mut self) -> Option<TreeDigest> {
        self.digest_here().unwrap_or_else(|error| {
            render::error(&error);
            None
        })
    }
}
