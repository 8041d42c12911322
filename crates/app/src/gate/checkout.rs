//! `proctor gate --run`: runs what is missing on a checkout of the commit that proctor writes for itself. Files, index and `HEAD` of the
//! project stay as they are, and so does its last verdict: the checkout is a project of its own, like another worktree.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::iter;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

use crate::caller::RunControl;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::answer::{GateAnswer, NotRun};
use crate::gate::flips::plan_alone;
use crate::gate::{no_repository, open_repository, plans, policy};
use crate::project::opening::{self, RunResources};
use crate::project::setup::{self, LastSettings, LoadedProject};
use crate::project::specification_files::{self, FoundPlan};
use crate::run::{RunWish, check_names};
use proctor_git::find_git_location;
use proctor_model::{CheckStart, CommandExit, Digest, RunConditions, TaskId};
use proctor_plan::config::Configuration;
use proctor_plan::verdict::{GateJudgement, GateReason, GateState, GateSubject};
use proctor_project::{
    IdentityAnswer, ProjectRepository, ProjectScope, ProjectSettings, Registration, Workspace, checkouts_directory,
    discard_snapshots,
};
use proctor_sandbox::process::{Control, LauncherHandle};
use proctor_sandbox::snapshot::remove_directory;
use proctor_tree::check_out;
use proctor_tree::ignore::{IgnoredClass, class_of};

/// How many levels of directories, and how many entries, are searched for installed packages.
const SEARCHED_LEVELS: u32 = 3;
const MOST_SEARCHED: u32 = 20_000;

/// A task that is run, and which of its checks.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingRun {
    pub task: TaskId,
    /// The names of the checks; empty means all.
    pub checks: Vec<String>,
    /// How often it is run, until something fails.
    pub times: u32,
    /// The tests that are run alone; empty means all of the checks.
    pub tests: Vec<String>,
}

/// Runs a project's checks in this process, shows the result, and returns the exit code.
pub(super) type RunShown<'a> =
    &'a mut dyn FnMut(&Environment, &RunWish, &LoadedProject, &mut RunResources, &Control) -> Result<CommandExit, CommandError>;

/// Whether the missing runs were made.
pub enum RunOfCommit {
    Made,
    NotRun(NotRun),
}

/// Returns whether a registered project is a checkout of a commit, which is gone after its run.
pub fn is_checkout(environment: &Environment, root: &Path) -> bool {
    root.starts_with(checkouts_directory(environment.state_root()))
}

/// Returns whether a check of the commit runs only when it is asked for.
///
/// # Errors
/// When the commit's `proctor.toml` cannot be read.
pub fn has_check_on_request(answer: &GateAnswer, repository: &ProjectRepository) -> Result<bool, CommandError> {
    let configuration = policy::configuration_of(repository, answer.commit)?;
    Ok(configuration.checks.iter().any(|check| check.when == CheckStart::Ask))
}

/// Returns the runs that could prove what is not proved.
pub fn missing_runs(answer: &GateAnswer) -> Vec<MissingRun> {
    // A commit that asks for less is not accepted, whatever a run says.
    if answer.tree.is_err() || !answer.lowered.is_empty() || answer.state == GateState::Red {
        return Vec::new();
    }
    let here = RunConditions::platform_here();
    let may_help = |reason: &GateReason| {
        let is_elsewhere = matches!(reason, GateReason::OnPlatform { platform, .. } if *platform != here);
        !is_elsewhere && is_mended_by_a_run(reason.on_any_platform())
    };
    let mut missing: Vec<MissingRun> = Vec::new();
    let is_flaky = |reason: &GateReason| matches!(reason.on_any_platform(), GateReason::Flaky { .. });
    for judged in answer.judgements.iter().filter(|judged| judged.reasons.iter().any(may_help)) {
        if judged.reasons.iter().all(is_flaky) {
            missing.extend(flaky_runs(answer, judged));
            continue;
        }
        let new = match &judged.subject {
            // All of its checks: the plan of the checkout may be another one than that of the run which left some out.
            GateSubject::Task(task) => MissingRun { task: task.clone(), checks: Vec::new(), times: 1, tests: Vec::new() },
            GateSubject::Check(name) => {
                let task = answer.policy.tasks.first().cloned().unwrap_or_else(TaskId::default_task);
                MissingRun { task, checks: vec![name.clone()], times: 1, tests: Vec::new() }
            }
            GateSubject::Change => continue,
        };
        match missing.iter_mut().find(|known| known.task == new.task) {
            Some(known) => known.checks.extend(new.checks),
            None => missing.push(new),
        }
    }
    missing
}

/// Returns the runs that are missing of the checks that failed and passed: those of a check with tests are of the tests that failed alone,
/// those of one without tests are of everything, because what made it fail can be anything, and so are some for tests that never failed alone.
fn flaky_runs(answer: &GateAnswer, judged: &GateJudgement) -> Vec<MissingRun> {
    let task_of = |check: &str| answer.flipped.iter().find(|flipped| flipped.check == check).map(|flipped| flipped.task.clone());
    let mut missing = Vec::new();
    for reason in &judged.reasons {
        let GateReason::Flaky { check, flip, .. } = reason.on_any_platform() else { continue };
        let Some(task) = task_of(check) else { continue };
        let of_everything = if flip.tests.is_empty() { flip.missing() } else { flip.missing_beside_others() };
        let alone = flip.missing().saturating_sub(of_everything);
        let whole = MissingRun { task: task.clone(), checks: Vec::new(), times: of_everything, tests: Vec::new() };
        missing.push(whole);
        missing.push(MissingRun { task, checks: vec![check.clone()], times: alone, tests: flip.tests.clone() });
    }
    missing.retain(|run: &MissingRun| run.times > 0);
    missing
}

pub(super) fn is_mended_by_a_run(reason: &GateReason) -> bool {
    match reason {
        GateReason::NotRun
        | GateReason::ChecksNotRun(_)
        | GateReason::TooOld { .. }
        | GateReason::UnnamedChecks { .. }
        | GateReason::UntrackedInputs { .. }
        | GateReason::UnknownInputs { .. }
        | GateReason::NewlyIgnored { .. }
        | GateReason::KeptCaches { .. }
        | GateReason::ToolchainNotHashed { .. }
        | GateReason::ToolchainChanged { .. }
        | GateReason::OtherProgram { .. }
        | GateReason::UnknownOrigin { .. }
        | GateReason::Flaky { .. }
        | GateReason::OtherPlan { .. }
        | GateReason::UnknownSuccess { .. }
        | GateReason::UntrustedSigner { .. } => true,
        GateReason::Failed { .. }
        | GateReason::TreeRewritten { .. }
        | GateReason::Weaker { .. }
        | GateReason::OpenWorld { .. }
        | GateReason::ChangedRules { .. }
        | GateReason::TestsNotRun { .. }
        | GateReason::PersonNeeded { .. }
        | GateReason::ChangeNotProved { .. }
        | GateReason::OnPlatform { .. } => false,
    }
}

/// Checks the commit out and carries the missing runs out there. The checkout is removed afterwards.
pub fn run_missing(
    answer: &GateAnswer,
    missing: &[MissingRun],
    launcher: LauncherHandle,
    (environment, repository): (&Environment, &ProjectRepository),
    run: RunShown<'_>,
) -> Result<RunOfCommit, CommandError> {
    let configuration = policy::configuration_of(repository, answer.commit)?;
    if let Some(why) = other_environment(&repository.root, &configuration) {
        return Ok(RunOfCommit::NotRun(why));
    }
    // The programs of the project's own environment are those of another tree.
    let without = environment.without_directories_below(&repository.root);
    let mut workspace = opening::open_store(&without, launcher)?;
    if let [MissingRun { times: 1, .. }] = missing {
        workspace.expect_one_run();
    }
    let mut workspace = Some(workspace);
    let mut made = Vec::new();
    let mut ended = Ok(RunOfCommit::Made);
    // Tests that are run alone have a project of their own, which approves this plan at first.
    for together in missing.chunk_by(|one, other| one.tests.is_empty() && other.tests.is_empty()) {
        let checkout = Checkout::make(answer, (&configuration, &together[0].tests), (environment, repository))?;
        ended = checkout.run((answer, &repository.root), together, (&mut workspace, &mut made), &without, run);
        let removed = remove_directory(&checkout.directory);
        if !matches!(ended, Ok(RunOfCommit::Made)) {
            break;
        }
        removed.map_err(|error| {
            CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be removed", checkout.directory.display()), &error)
                .hint("remove it yourself")
        })?;
    }
    drop(workspace);
    for (scope, wait) in made {
        // The copy of the tree is as large as the checkout, and the next one has other files.
        discard_snapshots(environment.state_root(), &scope.project, wait)?;
    }
    ended
}

/// Returns why a checkout would lack what the project has: packages are installed in the project, and no prerequisite of the commit
/// would install them in the checkout. Those of the project belong to another tree.
fn other_environment(root: &Path, configuration: &Configuration) -> Option<NotRun> {
    if !configuration.prerequisites.is_empty() {
        return None;
    }
    let installed = find_installed(root)?;
    let message = format!(
        "`{installed}` belongs to the tree that is checked out, and the commit has no `[[prerequisite]]` that installs packages in another one"
    );
    Some(NotRun { word: "other-environment", message })
}

/// Returns a directory of installed packages in a project, by its path from the root. Only the upper directories are searched, where
/// packages are installed.
fn find_installed(root: &Path) -> Option<String> {
    let mut waiting = vec![(PathBuf::new(), SEARCHED_LEVELS)];
    let mut read = 0;
    while let Some((below, levels)) = waiting.pop() {
        for entry in fs::read_dir(root.join(&below)).into_iter().flatten().filter_map(Result::ok) {
            read += 1;
            let path = below.join(entry.file_name());
            match class_of(entry.file_name().as_bytes()) {
                IgnoredClass::Environment => return Some(path.display().to_string()),
                IgnoredClass::Input
                    if levels > 1 && read < MOST_SEARCHED && entry.file_type().is_ok_and(|kind| kind.is_dir()) =>
                {
                    waiting.push((path, levels - 1));
                }
                IgnoredClass::Input | IgnoredClass::Cache | IgnoredClass::Output => {}
            }
        }
    }
    None
}

/// A checkout of a commit in a directory of its own.
struct Checkout {
    /// The directory with everything, which is removed afterwards.
    directory: PathBuf,
    /// The project in the checkout.
    project: PathBuf,
    /// Held while the directory is used.
    _lock: Flock<File>,
}

impl Checkout {
    fn make(
        answer: &GateAnswer,
        (configuration, tests): (&Configuration, &[String]),
        (environment, repository): (&Environment, &ProjectRepository),
    ) -> Result<Self, CommandError> {
        let location = find_git_location(&repository.root).ok_or_else(|| no_repository(&repository.root))?;
        // The directory is not in the store, which no action sees.
        let place = checkouts_directory(environment.state_root());
        make_private_directory(&place)?;
        // The project of a checkout has approvals and caches like any other, so commits with the same plans share one.
        let plans = plans::plans_digest(repository, answer.commit, configuration)?;
        let mut identity =
            vec![location.common_directory.as_os_str().as_bytes(), repository.below.as_bytes(), plans.as_bytes().as_slice()];
        identity.extend(tests.iter().map(String::as_bytes));
        let key: String = Digest::of(&identity.join(&0)).hex().chars().take(16).collect();
        let lock = lock(&place.join(format!("{key}.lock")))?;
        let directory = place.join(key);
        // A run that was killed may have left one.
        if directory.symlink_metadata().is_ok() {
            remove_directory(&directory).map_err(|error| {
                CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be removed", directory.display()), &error)
                    .hint("remove it yourself")
            })?;
        }
        make_private_directory(&directory)?;
        let name = location.work_tree.file_name().unwrap_or_else(|| "project".as_ref());
        let work_tree = directory.join(name);
        let project = work_tree.join(repository.below.as_path());
        let checkout = Self { directory, project, _lock: lock };
        match checkout.write(answer, configuration, (&work_tree, &location.common_directory), repository) {
            Ok(()) => Ok(checkout),
            Err(error) => {
                let _left = remove_directory(&checkout.directory);
                Err(error)
            }
        }
    }

    fn write(
        &self,
        answer: &GateAnswer,
        configuration: &Configuration,
        (work_tree, common): (&Path, &Path),
        repository: &ProjectRepository,
    ) -> Result<(), CommandError> {
        let failed = |error: &io::Error| {
            CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be written", self.directory.display()), error)
                .hint("make room on the disk")
        };
        fs::create_dir_all(work_tree).map_err(|error| failed(&error))?;
        let most = configuration.sandbox.max_snapshot_bytes.0;
        let index = check_out(&repository.storage, answer.git_tree, work_tree, most).map_err(|error| {
            CommandError::of(CommandExit::PersonNeeded, &error).hint("check the commit out yourself, and `proctor run` there")
        })?;
        // What git has of a worktree, with the repository's objects and references: so tools find the history, and the files that git
        // tracks are known.
        let git = work_tree.join(".git");
        fs::create_dir(&git).map_err(|error| failed(&error))?;
        let texts: [(PathBuf, Vec<u8>); 3] = [
            (git.join("HEAD"), format!("{}\n", answer.commit.hex()).into_bytes()),
            (git.join("commondir"), [common.as_os_str().as_bytes(), &b"\n"[..]].concat()),
            (git.join("index"), index),
        ];
        for (path, text) in texts {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| file.write_all(&text)).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    fn run(
        &self,
        (answer, root): (&GateAnswer, &Path),
        missing: &[MissingRun],
        (held, made): (&mut Option<Workspace>, &mut Vec<(ProjectScope, Duration)>),
        environment: &Environment,
        run: RunShown<'_>,
    ) -> Result<RunOfCommit, CommandError> {
        let control = RunControl::begin(environment.caller())?;
        let mut failed: Option<&MissingRun> = None;
        for one in missing.iter().flat_map(|one| iter::repeat_n(one, one.times as usize)) {
            // One that failed again is asked for from the beginning.
            if failed == Some(one) {
                continue;
            }
            let wish = RunWish { checks: one.checks.clone(), phase: None, fresh_caches: answer.policy.fresh_caches, every: true };
            let task = (one.task != TaskId::default_task()).then(|| one.task.as_str());
            let found = specification_files::find(environment, &self.project, task)?;
            let mut loaded: LoadedProject = match found {
                FoundPlan::Planned(loaded) => *loaded,
                FoundPlan::Wrong(wrong) => return Err(wrong.error),
            };
            // What the user allows the project is allowed to its commits.
            setup::allow(environment, root, &mut loaded.configuration, &mut LastSettings::default())?;
            loaded.plan.settings.allowed = loaded.configuration.allowed.clone();
            // Nobody looks for evidence in a directory that is removed, and no list of tasks is kept there.
            loaded.configuration.evidence.link = String::new();
            loaded.configuration.tasks.file = None;
            if let Err(error) = check_names(&loaded, &wish.checks) {
                return Ok(RunOfCommit::NotRun(NotRun { word: "no-such-check", message: error.sentence() }));
            }
            // A checkout approves its own plan at first, which is no approval of other rules than those of the place.
            match approval_at(environment, root, &loaded, answer)? {
                PlaceApproval::Missing => {}
                // What was approved there opens the machine here too.
                PlaceApproval::Approved => loaded.plan.settings.allowed = loaded.plan.settings.now.clone(),
                PlaceApproval::Differs(message) => {
                    return Ok(RunOfCommit::NotRun(NotRun { word: "changed-rules", message }));
                }
            }
            if let ([check], false) = (&wish.checks[..], one.tests.is_empty())
                && let Some(alone) = plan_alone(&loaded.plan, check, &one.tests)
            {
                loaded.plan = alone;
            }
            let settings = opening::settings(environment, &loaded)?;
            let Some(mut workspace) = held.take() else { break };
            let scope = self.register(&mut workspace, &loaded, &settings, environment)?;
            let mut opened = RunResources { workspace, scope, settings };
            let end = run(environment, &wish, &loaded, &mut opened, &control.control);
            let workspace = held.insert(opened.workspace);
            made.retain(|(scope, _)| scope.project != opened.scope.project);
            made.push((opened.scope, opened.settings.lock_wait));
            let exit = match end {
                // The checkout is removed after its run, so a person cannot be asked to approve something for it.
                Err(error) if error.exit() == CommandExit::PersonNeeded => {
                    let message = format!("{}; `proctor approve` in the project asks a person", error.sentence());
                    return Ok(RunOfCommit::NotRun(NotRun { word: "person-needed", message }));
                }
                end => end?,
            };
            workspace.keep_to_limits();
            failed = (exit == CommandExit::CodeNeedsWork).then_some(one).or(failed);
            if matches!(exit, CommandExit::Interrupted | CommandExit::Terminated) {
                return Err(CommandError::new(exit, "the run was stopped").hint("`proctor gate --run` begins anew"));
            }
        }
        Ok(RunOfCommit::Made)
    }

    /// Finds or registers the project of the checkout. Its directory is made anew for each commit, and its path tells which project it
    /// is. A registered directory that only has the same number on the disk is another project's.
    fn register(
        &self,
        workspace: &mut Workspace,
        loaded: &LoadedProject,
        settings: &ProjectSettings,
        environment: &Environment,
    ) -> Result<ProjectScope, CommandError> {
        let mut identity = None;
        for _ in 0..2 {
            let registered = workspace.register(&loaded.root, &loaded.plan, settings, &environment.asker(), identity)?;
            match registered {
                Registration::Known(scope) | Registration::New { scope, .. } => return Ok(scope),
                Registration::Doubtful(doubt) => {
                    let is_here = Path::new(&doubt.registered_path) == loaded.root;
                    identity = Some(if is_here { IdentityAnswer::Same } else { IdentityAnswer::New });
                }
            }
        }
        Err(CommandError::new(CommandExit::OwnFault, "the project of the checkout changes while it is registered")
            .hint("ask again"))
    }
}

/// Whether the rules of a commit are those that were approved for its project.
enum PlaceApproval {
    /// Nothing was approved there.
    Missing,
    /// They are those, or those of the trusted commit.
    Approved,
    /// They are neither: where they differ, in words.
    Differs(String),
}

fn approval_at(
    environment: &Environment,
    root: &Path,
    loaded: &LoadedProject,
    answer: &GateAnswer,
) -> Result<PlaceApproval, CommandError> {
    let (plan, repository) = (&loaded.plan, open_repository(root)?);
    let mut archive = opening::open_archive(environment)?;
    // A working tree that was never registered begins with what was approved in the others of its repository.
    let own = archive.find_project(root)?;
    let projects = own.map_or_else(|| archive.projects_of_repository(root), |own| Ok(vec![own]))?;
    let mut differing = None;
    for project in projects {
        let changed = archive.rules_not_approved(&project, plan, (&repository, answer.followed.as_ref()))?;
        if changed.is_empty() {
            return Ok(PlaceApproval::Approved);
        }
        differing.get_or_insert(changed);
    }
    Ok(differing.map_or(PlaceApproval::Missing, |changed| {
        PlaceApproval::Differs(format!(
            "the commit has other rules than the approved ones: {}; check it out and `proctor run` there, which asks for the approval",
            changed.join("; ")
        ))
    }))
}

fn make_private_directory(path: &Path) -> Result<(), CommandError> {
    let above = path.parent().map_or(Ok(()), fs::create_dir_all);
    let made = above.and_then(|()| DirBuilder::new().mode(0o700).create(path));
    match made {
        // A link in the place would lead the checkout elsewhere.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok_and(|there| there.is_dir()) => {
            Ok(())
        }
        made => made.map_err(|error| {
            CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be made", path.display()), &error)
                .hint("it is where commits are checked out")
        }),
    }
}

fn lock(path: &Path) -> Result<Flock<File>, CommandError> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW).open(path);
    let file = file.map_err(|error| {
        CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be opened", path.display()), &error)
            .hint("it is where commits are checked out")
    })?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
        CommandError::caused(
            CommandExit::NoFreshVerdict,
            "another `proctor gate --run` is testing a commit of this project",
            &errno,
        )
        .hint("wait until it is over, and ask again")
    })
}
