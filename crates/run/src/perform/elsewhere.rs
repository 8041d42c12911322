//! An action that a server carries out: what it is given, and how its end is told like that of any other action.
//!
//! The command sees other paths there, so its report goes to a directory beside the tree, by a relative path, and is read here from the
//! copy that came back. Everything after the end (report, judgement, records) is the same as for an action of this machine.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::perform::process::{ProcessLaunch, ShardPlan, names_of_files, with_command_environment};
use crate::perform::{Attempts, Performer, limits_of};
use crate::perform::{PreparedAttempt, server};
use proctor_evidence::report::{ActionFiles, ActionResult};
use proctor_model::{
    Action, ActionEnd, ActionLimits, DurationMs, EarlyUse, EndedAction, IsolationLevel, LimitKind, OPEN_WORLD, ReachedIsolation,
    ReachedLevel, RemotePackages, RemoteRun, SpawnFailure, StopReason, StopStage, TreePath, WithoutServer, written_below,
};
use proctor_project::{ProjectError, environments_in_project};
use proctor_sandbox::ChildEnvironment;
use proctor_sandbox::isolation::REMOTE;
use proctor_sandbox::process::{Control, Isolation, LaunchRequest, LaunchedChild, Sinks, SuperviseError, capture_files, clock};
use proctor_tools::{self as tools, ReportRequest};
use proctor_tree::TreeIndex;

/// The directories of an action's root on a server: the tree, where no packages are sent, and what the tool writes for proctor.
pub(super) const PROJECT: &str = "project";
pub(super) const OUT: &str = "out";
/// The directory of an action's output directory to which the answer of a server goes.
const ANSWER: &str = "answer";
/// The search path of a command on a server, where nothing sets another.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Everything that a server is given of an action.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only a client for servers reads it"))]
pub(crate) struct RemoteLaunch {
    pub(super) run: RemoteRun,
    pub(super) tree: TreeIndex,
    /// The directory that has the content of the tree.
    pub(super) content: PathBuf,
    /// The path of the tree in the action's root.
    pub(super) place: String,
    /// The directories of installed packages that are sent, as paths of the tree.
    pub(super) installed: Vec<TreePath>,
    /// The files that proctor adds for the tool.
    pub(super) added: Vec<(&'static str, String)>,
    pub(super) argv: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    /// The working directory, relative to the action's root.
    pub(super) directory: String,
    /// What comes back, relative to the working directory.
    pub(super) outputs: Vec<String>,
    pub(super) timeout: Duration,
    /// Where the answer goes.
    pub(super) into: PathBuf,
    /// The root of the project, below which the server's certificates are named.
    pub(super) root: PathBuf,
    pub(super) ambient: BTreeMap<OsString, OsString>,
}

/// How a server says that an action ended, and the files with what it printed.
pub(super) struct ServerAnswer {
    pub(super) code: i32,
    pub(super) is_timeout: bool,
    /// What the server says of worker and time, and what did not come back, as words for people.
    pub(super) said: Vec<String>,
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

/// Why there is no answer.
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "without a client for servers nothing is stopped"))]
pub(super) enum NoAnswer {
    Stopped,
    /// The reason, as a sentence for people.
    Because(String),
}

impl RemoteLaunch {
    /// Returns the directory of the answer that stands for the root of the project.
    pub(super) fn project(&self) -> PathBuf {
        self.into.join("root").join(&self.place)
    }

    /// Returns the directory of the answer with what the tool wrote for proctor.
    pub(super) fn out(&self) -> PathBuf {
        self.into.join("root").join(OUT)
    }

    /// Has the server carry the action out. Returns how it ended, as `supervise` does for an action of this machine.
    pub(crate) fn carry_out(
        &self,
        limits: &ActionLimits,
        sinks: Sinks,
        control: &Control,
        stop_reasons: &[StopReason],
    ) -> Result<EndedAction, SuperviseError> {
        let (started, begun) = (clock::now(), clock::monotonic());
        let requested = || control.requested().filter(|reason| stop_reasons.contains(reason));
        let answer = server::ask(self, &|| requested().is_some());
        let (ended, duration) = (clock::now(), DurationMs::from(clock::monotonic().since(begun)));
        let (end, answer) = match answer {
            Ok(answer) => (answer.end(), Some(answer)),
            Err(NoAnswer::Stopped) => {
                let reason = requested().unwrap_or(StopReason::Interrupted);
                (ActionEnd::Stopped { reason, stage: StopStage::Sigterm }, None)
            }
            Err(NoAnswer::Because(why)) => {
                let endpoint = &self.run.server.endpoint;
                (ActionEnd::NotStarted(SpawnFailure::NoServer { why: format!("{endpoint}: {why}") }), None)
            }
        };
        let was_started = !matches!(end, ActionEnd::NotStarted(_));
        let streams = answer.as_ref().map(|answer| (answer.stdout.as_path(), answer.stderr.as_path()));
        let captured = capture_files(sinks, limits.output, streams)?;
        let kept = was_started.then(|| self.kept(answer.map(|answer| answer.said).unwrap_or_default()));
        Ok(EndedAction { end, started, ended, duration, captured, survivors: Vec::new(), usage: None, kept, used_git: false })
    }

    /// Returns what a verdict says about an action that ran where nobody here could look.
    fn kept(&self, said: Vec<String>) -> ReachedIsolation {
        let server = &self.run.server;
        let mut obstacles = vec![format!("{REMOTE}{} (the server could lie about what it ran)", server.endpoint)];
        if server.image_digest().is_none() {
            obstacles.push(format!("{OPEN_WORLD}: what its workers have (`remote.platform` names no image by its digest)"));
        }
        obstacles.extend(said);
        let reached =
            ReachedLevel { level: IsolationLevel::Remote, obstacles, unenforced: Vec::new(), early: EarlyUse::NotTried };
        ReachedIsolation { reached, killed_by: None }
    }
}

impl ServerAnswer {
    fn end(&self) -> ActionEnd {
        let (limit, stage) = (LimitKind::Wall, StopStage::Sigkill);
        match self.is_timeout {
            true => ActionEnd::TimedOut { limit, stage, code: Some(self.code), signal: None },
            false => ActionEnd::Exited { code: self.code },
        }
    }
}

impl Performer<'_, '_> {
    /// Prepares an attempt that a server carries out, or the part of its tests that one shard runs.
    pub(super) fn prepare_elsewhere(
        &mut self,
        action: &Action,
        attempts: &Attempts,
        run: &RemoteRun,
        part: Option<ShardPlan<'_>>,
    ) -> Result<PreparedAttempt, ProjectError> {
        let attempt = attempts.number();
        let (names, list) = names_of_files(action, attempt, part);
        let output = self.output_directory(action, attempt, part, None)?;
        let sent = self.sent_files(action, run);
        let directory = directory_there(&sent.place, &action.directory);
        let up = "../".repeat(directory.split('/').count());
        let there = PathBuf::from(format!("{up}{OUT}"));
        let mut environment = self.environment_elsewhere(action, &there, &sent.installed);
        let (mut seen, mut added, mut list_name) = (with_command_environment(action, &environment), Vec::new(), None);
        if let Some(part) = part {
            let prepared = tools::prepare_shard(&seen, part.shard, &there, part.times);
            environment.add_for_the_tool(&prepared.environment);
            seen = with_command_environment(action, &environment);
            (seen.command.argv, added, list_name) = (prepared.argv, prepared.files, prepared.list);
        }
        let preparation = tools::prepare(&seen, &there, None);
        environment.add_for_the_tool(&preparation.environment);
        let tools::Preparation { argv, report, coverage, files, .. } = preparation;
        added.extend(files.into_iter().map(|(name, text)| (name, text.to_owned())));
        let into = output.path().join(ANSWER);
        let time_budget = self.time_budget(action);
        let launch = RemoteLaunch {
            run: run.clone(),
            added,
            argv,
            environment: environment.as_text(),
            outputs: outputs(&there, &report, coverage.as_deref(), &action.writes, &format!("{up}{}", sent.place)),
            directory,
            timeout: time_budget.timeout,
            into,
            root: self.context.request.scope.root.clone(),
            ambient: self.runner.ambient.clone(),
            ..sent
        };
        let limits = limits_of(action, time_budget.timeout);
        let report = read_from(report, &launch.out());
        let launch = self.remote_launch(&names, limits, launch)?;
        // Nothing of the project is at stake, so nothing is moved aside. A file that comes back as it was sent is not taken for a report.
        let (control, listing, report_watch, aside) = (None, None, None, Vec::new());
        Ok(PreparedAttempt {
            launch,
            control,
            listing,
            names,
            list: list_name.zip(list),
            attempt,
            output,
            environment,
            report,
            report_watch,
            coverage,
            aside,
            time_budget,
        })
    }

    /// Returns a launch with the tree that is sent, and where its content lies.
    fn sent_files(&self, action: &Action, run: &RemoteRun) -> RemoteLaunch {
        let (tree, content) = match self.place.snapshot_for(action) {
            Some(snapshot) => snapshot.tree_and_copy(),
            None => (self.index.clone(), self.context.request.scope.root.clone()),
        };
        let root = &self.context.request.scope.root;
        let (place, installed) = match run.server.environment {
            RemotePackages::Image => (PROJECT.to_owned(), Vec::new()),
            RemotePackages::Upload => {
                let plan = self.context.request.plan;
                let searched = self.runner.ambient.get(OsStr::new("PATH")).cloned().unwrap_or_default();
                let found = environments_in_project(self.index, plan, &searched);
                let below = found.iter().filter_map(|path| TreePath::below(root, path).ok());
                (root.to_string_lossy().trim_start_matches('/').to_owned(), below.collect())
            }
        };
        RemoteLaunch {
            run: run.clone(),
            tree,
            content,
            place,
            installed,
            added: Vec::new(),
            argv: Vec::new(),
            environment: BTreeMap::new(),
            directory: String::new(),
            outputs: Vec::new(),
            timeout: Duration::ZERO,
            into: PathBuf::new(),
            root: PathBuf::new(),
            ambient: BTreeMap::new(),
        }
    }

    /// Returns the variables of a command on a server: the listed ones. What names places of this machine is not among them.
    fn environment_elsewhere(&self, action: &Action, out: &Path, installed: &[TreePath]) -> ChildEnvironment {
        let settings = &self.context.request.settings.environment;
        let is_passed = |name: &OsStr| settings.pass.iter().any(|passed| OsStr::new(passed) == name);
        let ambient = self.runner.ambient.iter().filter(|(name, _)| is_passed(name));
        let ambient = ambient.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut environment = ChildEnvironment::build(&ambient, settings, action, out);
        // Where installed packages are sent, their programs are found as they are here.
        let root = &self.context.request.scope.root;
        let is_sent = |place: &PathBuf| installed.iter().any(|path| place.starts_with(root.join(path.as_path())));
        let here = self.runner.ambient.get(OsStr::new("PATH")).map(std::env::split_paths).into_iter().flatten();
        let searched = here.filter(is_sent).chain([PathBuf::from(SEARCHED)]).map(PathBuf::into_os_string).collect::<Vec<_>>();
        environment.variables.entry("PATH".into()).or_insert_with(|| searched.join(OsStr::new(":")));
        environment
    }

    fn remote_launch(
        &mut self,
        names: &ActionFiles,
        limits: ActionLimits,
        launch: RemoteLaunch,
    ) -> Result<ProcessLaunch, ProjectError> {
        let log = self.directory.create_file(&names.log.name)?;
        let frames = self.directory.create_file(&names.frames.name)?;
        let request = LaunchRequest {
            child: LaunchedChild {
                program: launch.argv.first().map(PathBuf::from).unwrap_or_default(),
                argv: launch.argv.iter().map(OsString::from).collect(),
                environment: Vec::new(),
                directory: PathBuf::from(&launch.directory),
                isolation: Isolation::weakest(),
                another_follows: false,
                early: None,
            },
            network: None,
            input: None,
        };
        self.directory.begin_batched_sync();
        Ok(ProcessLaunch { request: Ok(request), remote: Some(Box::new(launch)), limits, log, frames, secrets: self.secrets() })
    }

    /// Returns why an attempt is repeated on this machine; `None` if it is not, because the server gave a result or no other may.
    pub(super) fn runs_here_instead(&self, action: &Action, attempts: &Attempts, one: &ActionResult) -> Option<String> {
        let run = attempts.server_of(action)?;
        let why = lack_of_result(&one.executed()?.ended)?;
        let may = run.without_result == WithoutServer::RunHere && self.requested_stop(action).is_none();
        may.then(|| format!("it runs here, because there is no result of the server {why}"))
    }
}

/// Returns why there is no result of a server; `None` if there is one, be it of one shard only.
fn lack_of_result(ended: &EndedAction) -> Option<&str> {
    let ActionEnd::NotStarted(SpawnFailure::NoServer { why }) = &ended.end else { return None };
    // Of several shards, how each one that has a result was kept is kept.
    ended.kept.is_none().then_some(why)
}

/// Returns a working directory relative to the action's root.
fn directory_there(place: &str, directory: &Path) -> String {
    let directory = directory.to_string_lossy();
    if directory.is_empty() { place.to_owned() } else { format!("{place}/{directory}") }
}

/// Returns what comes back from a server, relative to the working directory. `project` is the tree's path.
fn outputs(out: &Path, report: &ReportRequest, coverage: Option<&Path>, writes: &[String], project: &str) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let in_project = |path: &Path| format!("{project}/{}", path.display());
    let of_report = match report {
        ReportRequest::Own { path } => Some(text(path)),
        ReportRequest::Several { directory, .. } => Some(in_project(directory)),
        ReportRequest::None | ReportRequest::Ours { .. } | ReportRequest::Inherited { .. } => None,
    };
    let written = writes.iter().filter_map(|pattern| Some(format!("{project}/{}", written_below(pattern)?)));
    [text(out)].into_iter().chain(of_report).chain(coverage.map(in_project)).chain(written).collect()
}

/// Returns the request for a report with the path at which it lies here.
fn read_from(report: ReportRequest, out: &Path) -> ReportRequest {
    let here = |path: PathBuf| out.join(path.file_name().unwrap_or_default());
    match report {
        ReportRequest::Ours { path, channel } => ReportRequest::Ours { path: here(path), channel },
        ReportRequest::Inherited { path } => ReportRequest::Inherited { path: here(path) },
        other @ (ReportRequest::None | ReportRequest::Own { .. } | ReportRequest::Several { .. }) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perform::ended_not_started;

    #[test]
    fn a_check_runs_here_instead_only_if_no_shard_has_a_result() {
        let mut ended = ended_not_started(SpawnFailure::NoServer { why: "unix:///s: away".to_owned() });
        assert_eq!(lack_of_result(&ended), Some("unix:///s: away"));
        let reached = ReachedLevel {
            level: IsolationLevel::Remote,
            obstacles: Vec::new(),
            unenforced: Vec::new(),
            early: EarlyUse::NotTried,
        };
        ended.kept = Some(ReachedIsolation { reached, killed_by: None });
        assert_eq!(lack_of_result(&ended), None, "another shard ended there");
        ended = ended_not_started(SpawnFailure::ClientNotReady { why: String::new() });
        assert_eq!(lack_of_result(&ended), None);
    }

    #[test]
    fn what_a_tool_writes_is_named_by_paths_that_hold_there() {
        let own = ReportRequest::Own { path: PathBuf::from("build/junit.xml") };
        let writes = ["dist/**".to_owned()];
        let named = outputs(Path::new("../../out"), &own, Some(Path::new("web/coverage.json")), &writes, "../../project");
        assert_eq!(named, ["../../out", "build/junit.xml", "../../project/web/coverage.json", "../../project/dist"]);
        assert_eq!(directory_there("project", Path::new("")), "project");
        assert_eq!(directory_there("home/ada/shop", Path::new("web")), "home/ada/shop/web");
        let ours = ReportRequest::Ours { path: PathBuf::from("../out/junit.xml"), channel: "argument" };
        assert_eq!(read_from(ours, Path::new("/run/out")).path(), Some(Path::new("/run/out/junit.xml")));
    }
}
