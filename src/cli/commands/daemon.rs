//! `proctor service daemon`: watches all added projects until it is stopped.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cli::render;
use crate::cli::service_arguments::DaemonOptions;
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment, logging};
use proctor_evidence::ServiceLockError;
use proctor_model::CommandExit;
use proctor_sandbox::process::{PassedSocket, replace_program, share_heaps, take_passed_socket};
use proctor_service::{
    ControlSocket, ControlSocketError, ServiceEnd, ServiceError, ServiceHost, ServiceManager, ServiceSettings,
};

pub(crate) fn execute(_options: &DaemonOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    share_heaps();
    let path = environment.control_socket().ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "there is no place for the control socket")
            .hint("set XDG_RUNTIME_DIR to a directory of your own, such as /run/user/$(id -u)")
    })?;
    let passed = if environment.passed_sockets() { PassedSocket::PassedOn } else { PassedSocket::None };
    let handed_in = environment.passed_sockets().then(take_passed_socket).transpose().map_err(|error| {
        CommandError::caused(CommandExit::Usage, "the socket that was handed in cannot be used", &error)
            .hint("LISTEN_FDS and LISTEN_PID say that there is one; unset them, or have one stream socket handed in")
    })?;
    let socket = ControlSocket::open(&path, handed_in).map_err(|error| from_socket_error(&error))?;
    // The evidence store is opened here only to find the directory of the log and to lock it. The service opens the store again for its
    // own use, and closes the index while it waits. A second connection here would keep the descriptors of all others open.
    let serves = {
        let archive = opening::open_archive(environment)?;
        let serves = archive.store.lock_service(socket.path()).map_err(|error| from_lock_error(&error))?;
        if let Err(reason) = logging::start(&archive.log_directory()) {
            render::note(&format!("note: there is no log: {reason}"));
        }
        serves
    };
    // A program that is executed by its descriptor is listed by the number of that.
    let named = OpenOptions::new().write(true).open("/proc/self/comm");
    let _unnamed = named.and_then(|mut file| file.write_all(b"proctor"));
    let watchdog = environment.variable("WATCHDOG_USEC").and_then(|text| text.to_str()?.parse().ok());
    let manager = ServiceManager::new(environment.variable("NOTIFY_SOCKET"), watchdog.map(Duration::from_micros), socket.path());
    let (said, lines) = mpsc::channel();
    let settings =
        ServiceSettings { manager, environment: environment.clone(), program: environment.program_file(), socket, said };
    let ended = thread::scope(|scope| {
        // The scope ends when every line is printed: nothing is lost if another program takes the place of this one.
        let print = || lines.into_iter().for_each(|line: String| render::note(&line));
        if let Err(error) = thread::Builder::new().name("lines".to_owned()).spawn_scoped(scope, print) {
            render::note(&format!("note: what happens is only in the log: {error}"));
        }
        ServiceHost::run(settings)
    });
    match ended.map_err(|error| from_service_error(&error))? {
        ServiceEnd::Exit(exit) => Ok(exit),
        ServiceEnd::Renew(program) => {
            // The lock on the store ends here, and the new program takes it again.
            drop(serves);
            let path = program.path();
            let Err(error) = replace_program(&program.executable(), path, &["service", "daemon"], passed);
            render::note(&format!("`{}` cannot be started: {error}; the old program goes on", path.display()));
            let Err(error) = replace_program(environment.executable(), path, &["service", "daemon"], passed);
            // A service manager starts the service again after this exit code.
            Err(CommandError::caused(CommandExit::OwnFault, format!("`{}` cannot be started", path.display()), &error)
                .hint("put a program that runs there, then start the service again"))
        }
    }
}

fn from_lock_error(error: &ServiceLockError) -> CommandError {
    match error {
        ServiceLockError::Busy { .. } => CommandError::of(CommandExit::Usage, error)
            .hint("`proctor status` asks it; stop it first, or keep other evidence (XDG_STATE_HOME) for this service"),
        ServiceLockError::Evidence(source) => CommandError::of(CommandExit::OwnFault, error).hint(source.hint()),
    }
}

fn from_socket_error(error: &ControlSocketError) -> CommandError {
    CommandError::of(CommandExit::Usage, error).hint(error.hint())
}

fn from_service_error(error: &ServiceError) -> CommandError {
    match error {
        ServiceError::Store(error) => CommandError::from(error),
        ServiceError::Signals(_) | ServiceError::Runtime(_) => CommandError::of(CommandExit::OwnFault, error)
            .hint("check the limits on open files (`ulimit -n`), then start it again"),
    }
}
