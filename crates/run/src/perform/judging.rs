//! What an attempt amounts to: reads what its processes left, judges it, and writes its records.

use std::mem;
use std::path::Path;
use std::time::Duration;

use crate::bytecode_in_place::note_of_foreign_bytecode;
use crate::perform::control::{ControlOutcome, apply_control};
use crate::perform::keeping::{is_process_tree_empty, shorten};
use crate::perform::listing::ListingOutcome;
use crate::perform::process::{PreparedAttempt, ProcessLaunch, with_command_environment};
use crate::perform::reports::{names_in, package_scripts, read_source, take_project_report, take_report, without_secrets};
use crate::perform::{Attempts, JudgedAttempt, Performer, TimeBudget};
use proctor_evidence::report::{ActionDisposition, ActionFiles, ActionResult, ExecutedAction};
use proctor_evidence::{OutputDirectory, read_regular_text};
use proctor_model::{
    Action, ActionKind, ActionPhase, ClientCall, ENGINE_SOCKET_OPEN, EndedAction, EvidenceFile, Interpretation, IsolationLevel,
    PlanNote, ReportFileHistory, ResultType, ToolReport, TreePath,
};
use proctor_project::ProjectError;
use proctor_sandbox::ChildEnvironment;
use proctor_sandbox::process::clock;
use proctor_tools::{self as tools, ReportRequest};

/// After an attempt shorter than this, the next action starts before the attempt's files are safely on disk.
const SHORT: Duration = Duration::from_millis(20);

/// By how much the machine's clock and the monotonic one may differ over an action before the clock counts as set.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(500);

/// The most bytes of a file with settings of npm that are read.
const NPM_SETTINGS_CAP: u64 = 1 << 20;

/// An attempt, or one shard of it, of which everything was read and nothing judged yet.
pub(super) struct ReadAttempt {
    pub(super) ended: EndedAction,
    /// What the tool's output and report say.
    pub(super) said: Interpretation,
    /// The list of tests that a shard wrote.
    pub(super) listed: ToolReport,
    /// The files of the output and the reports.
    pub(super) files: Vec<EvidenceFile>,
    pub(super) notes: Vec<PlanNote>,
    pub(super) launch: ProcessLaunch,
    pub(super) control: Option<ControlOutcome>,
    pub(super) listing: Option<ListingOutcome>,
    pub(super) names: ActionFiles,
    pub(super) attempt: u32,
    pub(super) output: OutputDirectory,
    pub(super) environment: ChildEnvironment,
    pub(super) time_budget: TimeBudget,
}

/// The reports that the processes of an attempt left.
struct TakenReports {
    /// How the tool's report reached proctor.
    channel: Option<&'static str>,
    report: ToolReport,
    coverage: ToolReport,
    /// The list of tests that a shard wrote.
    listed: ToolReport,
    /// The files of the tree that the attempt changed in its layer.
    changed: Vec<TreePath>,
    notes: Vec<PlanNote>,
}

impl Performer<'_, '_> {
    /// Reads what an attempt left, judges it, and writes its records. No process of the attempt is left.
    pub(crate) fn judge(
        &mut self,
        action: &Action,
        prepared: PreparedAttempt,
        ended: EndedAction,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        self.begin_reading(action);
        let read = self.read_attempt(action, prepared, ended)?;
        self.conclude(action, read, attempts)
    }

    /// Begins to read what an attempt left: what the check's earlier attempts wrote is not kept any more.
    pub(super) fn begin_reading(&mut self, action: &Action) {
        if let Some(snapshot) = self.place.snapshot_to_change(action) {
            snapshot.begin_attempt(action);
        }
    }

    /// Reads what a process of an attempt left, and keeps its output and its reports. The process has ended.
    pub(super) fn read_attempt(
        &mut self,
        action: &Action,
        mut prepared: PreparedAttempt,
        mut ended: EndedAction,
    ) -> Result<ReadAttempt, ProjectError> {
        self.note_end(action, &ended.end);
        self.refuse_full_disk(action, &ended)?;
        self.secrets().mask_survivors(&mut ended.survivors);
        note_engine_socket(action, &mut ended);
        let report_file = prepared.report_watch.take().map(|watch| watch.finish(clock::now())).unwrap_or_default();
        let aside = mem::take(&mut prepared.aside);
        let mut taken = self.take_reports(action, &prepared, &ended)?;
        drop(aside);
        let (said, note) = self.interpret_attempt(action, &prepared, &ended, &taken, report_file);
        taken.notes.extend(note);
        let PreparedAttempt { launch, control, listing, names, list, attempt, output, environment, time_budget, .. } = prepared;
        let mut files = self.keep_streams(action, &ended, &names)?;
        files.extend(self.keep_report(names.tool_report.as_ref(), &taken.report, action)?);
        files.extend(self.keep_report(names.coverage_report.as_ref(), &taken.coverage, action)?);
        files.extend(self.keep_report(list.as_ref().map(|(_, name)| name), &taken.listed, action)?);
        let TakenReports { listed, notes, .. } = taken;
        Ok(ReadAttempt {
            ended,
            said,
            listed,
            files,
            notes,
            launch,
            control,
            listing,
            names,
            attempt,
            output,
            environment,
            time_budget,
        })
    }

    /// Takes the reports that the processes of an attempt left, and what they wrote beside them.
    fn take_reports(
        &mut self,
        action: &Action,
        prepared: &PreparedAttempt,
        ended: &EndedAction,
    ) -> Result<TakenReports, ProjectError> {
        let PreparedAttempt { launch, list, output, environment, report, coverage, .. } = prepared;
        let root = &self.context.request.scope.root;
        let is_there = |request: &ReportRequest| request.path().is_some_and(Path::exists);
        let expanded = report.expanded().filter(|expanded| !is_there(report) && is_there(expanded));
        let request = expanded.as_ref().unwrap_or(report);
        let isolation = launch.request.as_ref().ok().map(|request| &request.child.isolation);
        let mount = isolation.and_then(|isolation| isolation.snapshot.as_ref());
        let (mut notes, mut changed) = (Vec::new(), Vec::new());
        let secrets = &launch.secrets;
        // What a server sent back stands for the project.
        let answered = launch.remote.as_ref().map(|remote| remote.project());
        let reported = answered.as_deref().unwrap_or(root);
        let report = take_report(request, output, &reported.join(&action.directory), reported, mount);
        let report = without_secrets(report, secrets, output.path());
        let coverage = coverage.as_ref().map_or(ToolReport::NotRequested, |path| take_project_report(reported, path, mount));
        let coverage = without_secrets(coverage, secrets, output.path());
        if let (Some(mount), Some(snapshot)) = (mount, self.place.snapshot_to_change(action)) {
            let sandbox = isolation.and_then(|isolation| isolation.sandbox.as_ref());
            let is_linter = action.phase == ActionPhase::Step && tools::runs_linter(action, &package_scripts(root, action));
            let noted = snapshot.note_written(action, ended, mount, sandbox, self.context.request.settings, is_linter);
            let noted = noted.map_err(|source| ProjectError::WrittenLayer { action: action.name.clone(), source })?;
            let subject = action.name.clone();
            let message = noted.dropped_cache.map(|why| format!("the tool's cache was dropped: {why}"));
            notes.extend(message.map(|message| PlanNote { subject, message }));
            changed = noted.changed;
        }
        if let Some(remote) = &launch.remote {
            notes.extend(self.note_answered(action, ended, &remote.project()));
        }
        let listed = match list {
            None => ToolReport::NotRequested,
            Some((file, _)) => {
                let directory = launch.remote.as_ref().map_or_else(|| output.path().to_owned(), |remote| remote.out());
                let request = ReportRequest::Inherited { path: directory.join(file) };
                let listed = take_report(&request, output, &self.working_directory(action), root, mount);
                without_secrets(listed, secrets, output.path())
            }
        };
        let dropped = isolation.and_then(|isolation| isolation.dropped.as_ref());
        notes.extend(self.drop_layers(action, dropped));
        if mount.is_none() && launch.remote.is_none() {
            notes.extend(note_of_foreign_bytecode(action, environment, output.path()));
        }
        Ok(TakenReports { channel: request.channel(), report, coverage, listed, changed, notes })
    }

    /// Returns what an attempt's output and reports say, and a note if a file of the project stood in place of a module of the tool.
    fn interpret_attempt(
        &self,
        action: &Action,
        prepared: &PreparedAttempt,
        ended: &EndedAction,
        taken: &TakenReports,
        report_file: ReportFileHistory,
    ) -> (Interpretation, Option<PlanNote>) {
        let root = &self.context.request.scope.root;
        let input = tools::Input {
            action,
            end: &ended.end,
            stdout: &ended.captured.stdout,
            stderr: &ended.captured.stderr,
            report: &taken.report,
            coverage: &taken.coverage,
            report_channel: taken.channel,
            report_file,
            last_output: ended.captured.last_output.filter(|_| !was_clock_set(ended)),
            project_root: root,
            names_in,
            source: read_source,
            survivors: ended.survivors.len(),
            processes: self.context.request.settings.sandbox.processes,
            is_asked_behind: tools::is_asked_behind(action, self.context.request.plan),
        };
        // What was tested is in the snapshot; the project's own file may be another one by now.
        let source = |path: &Path| match self.place.snapshot_for(action) {
            Some(snapshot) => {
                let (directory, relative) = snapshot.place_of(&action.id, path).ok().flatten()?;
                read_source(&directory, &relative)
            }
            None => read_source(root, path),
        };
        let said = tools::name_what_hung(&input, tools::interpret(&input), &source);
        let seen = with_command_environment(action, &prepared.environment);
        let hiding = tools::hiding_module(&seen, root, &self.working_directory(action), &names_in);
        let said = tools::judge_hidden(said, root, hiding.as_ref());
        let note = hiding.and_then(|hiding| hiding.note(root)).map(|message| PlanNote { subject: action.name.clone(), message });
        // npm follows a link, wherever it leads.
        let followed = |path: &Path| source(path).or_else(|| read_regular_text(&root.join(path), NPM_SETTINGS_CAP).ok());
        let said = tools::judge_npm_setting(said, tools::deciding_npm_setting(action, &action.directory, &followed));
        let said = tools::judge_mended(said, &taken.changed);
        let mut said = tools::add_source_lines(said, &source);
        tools::add_test_bodies(&mut said.cases, &source);
        (prepared.launch.secrets.mask_interpretation(said), note)
    }

    /// Judges an attempt that was read, and writes its records.
    pub(super) fn conclude(
        &mut self,
        action: &Action,
        read: ReadAttempt,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        let ReadAttempt {
            mut ended,
            said,
            listed: _,
            files: kept,
            mut notes,
            launch,
            control,
            listing,
            names,
            attempt,
            output,
            environment,
            time_budget,
        } = read;
        let (interpretation, mut observed) = attempts.read(action, &ended, said, &names.log.name);
        let interpretation = apply_control(interpretation, control.as_ref().map(|control| &control.seen));
        let interpretation =
            tools::apply_listing(action.tool, interpretation, listing.as_ref().and_then(|listing| listing.count));
        let judgement = self.classify(action, &ended, &interpretation, time_budget);
        shorten(&mut ended.captured);
        let mut files = control.map(|control| control.files).unwrap_or_default();
        files.extend(listing.into_iter().flat_map(|listing| listing.files));
        files.extend(kept);
        let request = launch.request.as_ref().ok().filter(|_| launch.remote.is_none());
        let program = request.map(|request| request.child.program.as_path());
        files.extend(self.keep_records(JudgedAttempt {
            action,
            ended: &ended,
            interpretation: &interpretation,
            judgement: &judgement,
            environment: &environment,
            program,
            names: &names,
            number: attempt,
        })?);
        files.extend(self.keep_review(action, &mut observed, &names, attempts)?);
        let is_followed = launch.request.as_ref().is_ok_and(|request| request.child.another_follows);
        if is_followed && Duration::from(ended.duration) < SHORT {
            self.directory.begin_batched_sync();
        } else {
            self.directory.begin_sync();
        }
        if is_process_tree_empty(&ended) {
            self.spare_output = Some(output);
        }
        if judgement.classification.category != ResultType::Success && launch.remote.is_none() {
            let isolation = launch.request.ok().map(|request| request.child.isolation);
            let on_snapshot = isolation.as_ref().is_some_and(|isolation| isolation.snapshot.is_some());
            let sandbox = isolation.and_then(|isolation| isolation.sandbox);
            notes.extend(self.hints(action, &ended, &environment, sandbox.as_ref(), on_snapshot));
        }
        let earlier = attempts.take();
        let executed = ExecutedAction { observed, earlier, ..ExecutedAction::new(ended, interpretation, judgement) };
        let disposition = ActionDisposition::Executed(Box::new(executed));
        let environment_names = environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        Ok(ActionResult { files, environment_names, notes, ..ActionResult::new(action.clone(), disposition) })
    }
}

/// Returns whether the machine's clock was set while an action ran, so that times of before and after cannot be compared.
fn was_clock_set(ended: &EndedAction) -> bool {
    let by_clock = ended.ended.as_millis() - ended.started.as_millis();
    by_clock.abs_diff(i64::try_from(ended.duration.0).unwrap_or(i64::MAX)) > CLOCK_TOLERANCE.as_millis() as u64
}

/// An action that could use the socket of a container engine counts as isolated by its process group alone, whatever held its own
/// processes: the engine starts processes for it outside of every isolation.
fn note_engine_socket(action: &Action, ended: &mut EndedAction) {
    let ActionKind::ClientCommand(call) = &action.kind else { return };
    if let (ClientCall::Container(_), Some(kept)) = (&**call, &mut ended.kept) {
        kept.reached.level = IsolationLevel::ProcessGroup;
        kept.reached.obstacles.insert(0, ENGINE_SOCKET_OPEN.to_owned());
    }
}
