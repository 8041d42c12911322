//! The command line: arguments, one file per command, screens, error printing, exit codes (G5).
//!
//! Owns the only modules that read the environment (`environment`), print (`render`) and control the terminal (`terminal`). A
//! command here parses its arguments, calls other modules and shows the result.

mod agents_section;
mod arguments;
mod check_history;
mod commands;
mod environment;
mod evidence_arguments;
mod gate_arguments;
mod generate_arguments;
mod help;
mod history_arguments;
mod hook_arguments;
mod installation;
mod keyboard;
mod live_line;
mod local_time;
mod page_opener;
mod project_place;
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
mod render;
mod review_arguments;
mod running_actions;
mod schemas;
mod screen;
mod service_arguments;
mod show_progress;
mod specification_arguments;
mod style;
mod terminal;
mod watch_screen;

use std::path::Path;
use std::process::ExitCode;

use crate::cli::arguments::{Arguments, Command, ErrorAudience};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, HealthProblem};
use proctor_project::disk_words;

/// Runs the command that the arguments name, and returns the exit status.
pub fn main() -> ExitCode {
    if environment::is_launcher() {
        return proctor_sandbox::process::launcher_main();
    }
    if let Some(network) = environment::held_network() {
        return proctor_sandbox::process::network_main(&network);
    }
    if let Some(arguments) = environment::sqlite_arguments() {
        return ExitCode::from(render::rows_of_sqlite(&arguments));
    }
    if let Err(error) = proctor_sandbox::process::report_file_size_limit() {
        tracing::warn!("a limit on file sizes would end this process without a message: {error}");
    }
    if let Some(starter) = environment::starter()
        && let Err(error) = proctor_sandbox::process::end_with_starter(starter)
    {
        tracing::warn!("the process that started this one has ended: {error}");
        return ExitCode::from(CommandExit::Terminated.code());
    }
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = render::usage(&error);
            // Agents take 2 for a block. A hook that a newer or older version wrote must not block anything.
            return ExitCode::from(if environment::is_hook_run() { CommandExit::Proceed } else { exit }.code());
        }
    };
    let (audience, fails_open) = (arguments.command.audience_of_errors(), arguments.command.fails_open());
    let result = environment::read().and_then(|environment| {
        dispatch(arguments, &environment).map_err(|error| name_full_disk(error, environment.state_root()))
    });
    let exit = match result {
        Ok(exit) => exit,
        Err(error) if fails_open => {
            render::error(&error);
            CommandExit::Proceed
        }
        Err(error) => {
            tracing::error!("{}", error.lines().join("; "));
            match audience {
                ErrorAudience::Person => render::error(&error),
                ErrorAudience::Program => render::document(&error.document()),
            }
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

/// Adds to an error of a full disk on which disk the evidence lies.
fn name_full_disk(error: CommandError, store: &Path) -> CommandError {
    let is_full = error.trouble().is_some_and(|trouble| trouble.problem == HealthProblem::DiskFull);
    disk_words(store).into_iter().filter(|_| is_full).fold(error, CommandError::hint)
}

fn dispatch(arguments: Arguments, environment: &Environment) -> Result<CommandExit, CommandError> {
    match arguments.command {
        Command::Review(options) => commands::review::execute(&options, environment),
        Command::Attest(options) => commands::attest::execute(&options, environment),
        Command::Gate(options) => commands::gate::execute(&options, environment),
        Command::Prove(options) => commands::prove::execute(&options, environment),
        Command::Govern(options) => commands::govern::execute(&options, environment),
        Command::Run(options) => commands::run::execute(&options, environment),
        Command::Watch(options) => commands::watch::execute(&options, environment),
        Command::Init(options) => commands::init::execute(&options, environment),
        Command::Log(options) => commands::log::execute(&options, environment),
        Command::History(options) => commands::history::execute(&options, environment),
        Command::Open(options) => commands::open::execute(&options, environment),
        Command::Show(options) => commands::show::execute(&options, environment),
        Command::Verify(options) => commands::verify::execute(&options, environment),
        Command::Export(options) => commands::export::execute(&options, environment),
        Command::Key(options) => commands::key::execute(&options, environment),
        Command::Prune(options) => commands::prune::execute(&options, environment),
        Command::Why(options) => commands::why::execute(&options, environment),
        Command::Doctor(options) => commands::doctor::execute(&options, environment),
        Command::Status(options) => commands::status::execute(&options, environment),
        Command::Wait(options) => commands::wait::execute(&options, environment),
        Command::Service(options) => commands::service::execute(&options, environment),
        Command::Request(options) => commands::request::execute(&options, environment),
        Command::Mcp(options) => commands::mcp::execute(&options, environment),
        Command::Lsp(options) => commands::lsp::execute(&options, environment),
        Command::Hook(options) => commands::hook::execute(&options, environment),
        Command::Tdd(options) => commands::tdd::execute(&options, environment),
        Command::Check(options) => commands::check::execute(&options, environment),
        Command::Approve(options) => commands::approve::execute(&options, environment),
        Command::Plan(options) => commands::plan::execute(&options, environment),
        Command::Generate(options) => commands::generate::execute(&options, environment),
    }
}
