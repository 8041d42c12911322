//! `proctor review`: asks a reviewer for a verdict, as a run with one action.

use std::io::{self, Read as _};
use std::path::Path;

use serde::Serialize;

use crate::cli::review_arguments::ReviewOptions;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::{environment, render};
use proctor_app::project::{LoadedProject, RunResources, opening, setup};
use proctor_app::{CommandError, Environment, RunControl};
use proctor_evidence::open_regular_file;
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, Prompt, Review, ReviewAttempt, ReviewObservation, ReviewVerdict, RunId, TriggerKind};
use proctor_plan::review::NO_VERDICT_HINT;
use proctor_plan::spec;
use proctor_project::{RunOutcome, RunRequest, SealedReport};

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewV1 {
    schema: &'static str,
    verdict: ReviewVerdict,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    attempts: Vec<ReviewAttempt>,
}

pub(crate) fn execute(options: &ReviewOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = load(options, environment)?;
    let RunResources { mut workspace, scope, settings } = opening::open(environment, launcher, &loaded, None)?;
    let style = environment::style(environment);
    workspace.expect_one_run();
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let request = RunRequest::new(&loaded.plan, &settings, &scope, TriggerKind::Request, control);
    let mut progress = ProgressScreen::new(style, FailuresShown::None, Audience::Nobody);
    let carried = proctor_run::run_plan(&mut workspace, &request, &mut |one| progress.show(&one))?;
    let (document, exit) = match carried {
        RunOutcome::Judged(sealed)
        | RunOutcome::Moved(sealed)
        | RunOutcome::Interrupted(sealed)
        | RunOutcome::HelperDied(sealed) => {
            screen::own_fault(&sealed.report, sealed.exit).iter().for_each(render::note);
            let link = settings.link.as_deref();
            let counts = sealed.report.execution_summary.overall_status.counts();
            let path = screen::report_path(&loaded.root, link, &loaded.plan.task, &sealed.report_path, counts);
            workspace.save_trees();
            workspace.keep_to_limits();
            (document(&sealed, path), sealed.exit)
        }
        RunOutcome::NotApproved(_) => {
            (nothing("The reviewer was not asked: its plan is not approved"), CommandExit::PersonNeeded)
        }
        RunOutcome::Waits(_)
        | RunOutcome::Paused(_)
        | RunOutcome::Superseded
        | RunOutcome::Withdrawn
        | RunOutcome::Unchanged
        | RunOutcome::Untriggered => (nothing("The reviewer was not asked"), CommandExit::NoFreshVerdict),
    };
    if options.json {
        render::document(&document);
    } else {
        show(&document);
    }
    Ok(exit)
}

fn load(options: &ReviewOptions, environment: &Environment) -> Result<LoadedProject, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let prompt = match &options.prompt {
        Some(path) => Prompt::given(read_prompt(path, environment)?),
        None => Prompt::Nothing,
    };
    let review = Review { prompt, accept_split_emphasis: !options.refuse_split_emphasis };
    let name = setup::directory_name(&root);
    let plan =
        spec::plan_review(&options.command, review, &configuration, &name).map_err(|problems| setup::from_problems(&problems))?;
    Ok(LoadedProject { root, configuration, plan })
}

fn read_prompt(path: &Path, environment: &Environment) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    let unreadable = |error: io::Error| {
        CommandError::caused(CommandExit::Usage, format!("the prompt `{shown}` cannot be read"), &error)
            .hint("name a file you may read behind `--prompt`, or `-` for standard input")
    };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(Prompt::CAP + 1).read_to_end(&mut bytes)
    } else {
        open_regular_file(&environment.absolute(path)).and_then(|file| file.take(Prompt::CAP + 1).read_to_end(&mut bytes))
    };
    read.map_err(unreadable)?;
    if bytes.len() as u64 > Prompt::CAP {
        return Err(CommandError::new(CommandExit::Usage, format!("the prompt `{shown}` is larger than {} bytes", Prompt::CAP))
            .hint("give the reviewer less, or let it read the project's files itself"));
    }
    Ok(bytes)
}

fn nothing(reason: &str) -> ReviewV1 {
    let verdict = ReviewVerdict::Indeterminate;
    ReviewV1 { schema: SCHEMA, verdict, reason: reason.to_owned(), run_id: None, report: None, attempts: Vec::new() }
}

const SCHEMA: &str = "proctor-review-v1";

fn document(sealed: &SealedReport, path: String) -> ReviewV1 {
    let report = &sealed.report;
    let (run_id, path) = (Some(sealed.run_id.clone()), Some(path));
    let seen = seen(report);
    let attempts = seen.map(|seen| seen.attempts.clone()).unwrap_or_default();
    let status = report.execution_summary.overall_status;
    let (verdict, reason) = match seen {
        Some(seen) if status.counts() => (seen.verdict, seen.reason.clone()),
        // The reviewed files changed during the review, or it is unknown whether they did.
        Some(_) | None if sealed.exit == CommandExit::NoFreshVerdict => {
            (ReviewVerdict::Indeterminate, "The project changed while it was reviewed".to_owned())
        }
        Some(seen) => (ReviewVerdict::Indeterminate, seen.reason.clone()),
        None => (ReviewVerdict::Indeterminate, "The reviewer was not asked".to_owned()),
    };
    ReviewV1 { run_id, report: path, attempts, verdict, ..nothing(&reason) }
}

fn seen(report: &ExecutionReportV2) -> Option<&ReviewObservation> {
    report.step_execution.results.first()?.result.as_ref()?.review.as_ref()
}

fn show(document: &ReviewV1) {
    if document.verdict != ReviewVerdict::Approved {
        for attempt in &document.attempts {
            let which = if attempt.attempt == 1 { "First attempt output" } else { "Retry attempt output" };
            render::line(&format!("{which} (excerpt):"));
            attempt.excerpt.lines().for_each(|line| render::line(&format!("  {line}")));
        }
    }
    let path = document.report.as_deref().map(|path| format!(" · {path}")).unwrap_or_default();
    render::line(&document.reason);
    render::line(&format!("{}{path}", document.verdict.word()));
    if document.verdict == ReviewVerdict::Indeterminate && document.attempts.len() > 1 {
        render::note(&format!("hint: {NO_VERDICT_HINT}"));
    }
}
