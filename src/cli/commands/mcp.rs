//! `proctor mcp`: a server of the Model Context Protocol on standard input and output.

use std::io::Read as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::libc::{SIGHUP, SIGINT, SIGTERM};
use rmcp::serve_server;
use tokio::runtime::Builder;

use crate::cli::render;
use crate::cli::service_arguments::McpOptions;
use proctor_app::project::setup;
use proctor_app::{CommandError, Environment, Stop};
use proctor_evidence::read_boot_id;
use proctor_model::CommandExit;
use proctor_sandbox::process::{register_agent, signal_pipe};
use proctor_service::mcp::{ProjectAnswers, StdioTransport, ToolServer, TransportEnd};

/// How many calls are answered at once, each on a thread of its own.
const THREADS: usize = 32;
/// How long the commands of open calls may take to end when the client is gone. They are killed before that.
const ENDING: Duration = Duration::from_secs(4);

pub(crate) fn execute(options: &McpOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::named_root(environment, options.place.path())?;
    if let Err(error) = register_agent(&environment.agents_directory(), &read_boot_id()) {
        tracing::warn!("the agent that started `proctor mcp` is not registered: {error}");
    }
    let failed = |what: &str, error: &dyn std::error::Error| {
        CommandError::caused(CommandExit::OwnFault, what, error)
            .hint("check the limits on processes and open files (`ulimit -u -n`)")
    };
    let ends = Stop::default();
    let (transport, end, unwritten) = StdioTransport::start(std::io::stdin(), render::protocol_output(), ends.clone())
        .map_err(|error| failed("failed to begin to read", &error))?;
    end_at_signals(end).map_err(|error| failed("failed to take over signals", &error))?;
    let answers = Arc::new(ProjectAnswers::new(environment, root, ends.clone()));
    let runtime = Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(THREADS)
        .build()
        .map_err(|error| failed("failed to begin to serve", &error))?;
    runtime.block_on(async {
        match serve_server(ToolServer::new(answers), transport).await {
            Ok(running) => {
                let _closed = running.waiting().await;
            }
            // The client went away before it said which revision it speaks.
            Err(error) => tracing::info!("a client of `proctor mcp` has not begun: {error}"),
        }
    });
    ends.request();
    unwritten.wait(ENDING);
    runtime.shutdown_timeout(ENDING);
    Ok(CommandExit::Proceed)
}

/// Ends the server at a signal as it ends when the client closes its end.
fn end_at_signals(end: TransportEnd) -> std::io::Result<()> {
    let mut signals = signal_pipe(&[SIGTERM, SIGINT, SIGHUP])?;
    let wait = move || {
        let _arrived = signals.read(&mut [0]);
        end.end();
    };
    thread::Builder::new().name("mcp-signals".to_owned()).spawn(wait).map(drop)
}
