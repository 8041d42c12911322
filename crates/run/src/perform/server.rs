//! Asks the server of an action for its result. Without the feature `remote` there is no server to ask.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::perform::elsewhere::{NoAnswer, RemoteLaunch, ServerAnswer};
#[cfg(feature = "remote")]
use proctor_model::RemotePackages;
use proctor_model::RemoteServer;
#[cfg(feature = "remote")]
use proctor_sandbox::process::clock;

/// Asks a server what it can do, and has it carry out an action that prints where it runs. Returns both as words for people.
///
/// # Errors
/// Why it cannot carry checks out, as words for people.
#[cfg(not(feature = "remote"))]
pub fn ask_server(_server: &RemoteServer, _ambient: &BTreeMap<OsString, OsString>, _root: &Path) -> Result<String, String> {
    Err("this proctor was built without the feature `remote`".to_owned())
}

/// Asks a server what it can do, and has it carry out an action that prints where it runs. Returns both as words for people.
///
/// # Errors
/// Why it cannot carry checks out, as words for people.
#[cfg(feature = "remote")]
pub fn ask_server(server: &RemoteServer, ambient: &BTreeMap<OsString, OsString>, root: &Path) -> Result<String, String> {
    use proctor_remote::{PROJECT, ServerAccess, ask, echo, require_own_path};

    let asked = || {
        let access = ServerAccess::read(server, ambient, root)?;
        let able = ask(&access)?;
        let into = std::env::temp_dir().join(format!("proctor-asks-{}", std::process::id()));
        let echoed = match server.environment {
            RemotePackages::Image => echo(&access, &server.platform, PROJECT, &into, &|| false),
            RemotePackages::Upload => {
                require_own_path(&access, &server.platform, root, &into, &|| false).map(|()| root.display().to_string())
            }
        };
        let _nothing_was_made = std::fs::remove_dir_all(&into);
        Ok::<String, proctor_remote::RemoteFault>(format!("speaks version {}, and runs checks in {}", able.version, echoed?))
    };
    asked().map_err(|fault| fault.to_string())
}

/// Has a server carry an action out.
#[cfg(not(feature = "remote"))]
pub(super) fn ask(_launch: &RemoteLaunch, _is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<ServerAnswer, NoAnswer> {
    Err(NoAnswer::Because("this proctor was built without the feature `remote`".to_owned()))
}

/// Has a server carry an action out.
#[cfg(feature = "remote")]
pub(super) fn ask(launch: &RemoteLaunch, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<ServerAnswer, NoAnswer> {
    use proctor_remote::{InputFiles, RemoteFault, RemoteOrder, ServerAccess, require_own_path, run};

    let no_answer = |fault: RemoteFault| {
        if matches!(fault, RemoteFault::Stopped) { NoAnswer::Stopped } else { NoAnswer::Because(fault.to_string()) }
    };
    let access = ServerAccess::read(&launch.run.server, &launch.ambient, &launch.root).map_err(no_answer)?;
    let server = &launch.run.server;
    if server.environment == RemotePackages::Upload {
        require_own_path(&access, &server.platform, &launch.root, &launch.into, is_stopped).map_err(no_answer)?;
    }
    let order = RemoteOrder {
        files: InputFiles {
            tree: Some(&launch.tree),
            content: &launch.content,
            place: &launch.place,
            installed: &launch.installed,
            project: &launch.root,
            added: &launch.added,
            now: clock::now(),
        },
        argv: launch.argv.clone(),
        environment: launch.environment.clone(),
        platform: &launch.run.server.platform,
        directory: launch.directory.clone(),
        outputs: launch.outputs.clone(),
        timeout: launch.timeout,
        into: &launch.into,
    };
    let end = run(&access, &order, is_stopped).map_err(no_answer)?;
    tracing::debug!(uploaded = end.uploaded, "a server carried an action out");
    let took = end.took.map(|took| format!(", {} ms", took.as_millis())).unwrap_or_default();
    let mut said = vec![format!("by the server's word: worker `{}`{took}", end.worker.escape_debug())];
    said.extend(name_links(&end.links, &launch.place));
    Ok(ServerAnswer { code: end.code, is_timeout: end.is_timeout, said, stdout: end.stdout, stderr: end.stderr })
}

/// Returns a sentence that names the symbolic links that an action left; `None` if it left none. `place` is the tree's path.
#[cfg(feature = "remote")]
fn name_links(links: &[String], place: &str) -> Option<String> {
    const NAMED: usize = 5;
    let inside = |link: &String| link.strip_prefix(place).map_or(link.as_str(), |rest| rest.trim_start_matches('/')).to_owned();
    let named: Vec<_> = links.iter().take(NAMED).map(|link| format!("`{}`", inside(link).escape_debug())).collect();
    let more = if links.len() > NAMED { format!(" and {} more", links.len() - NAMED) } else { String::new() };
    (!links.is_empty()).then(|| format!("symbolic links do not come back: {}{more}", named.join(", ")))
}

#[cfg(all(test, feature = "remote"))]
mod tests {
    use super::name_links;

    #[test]
    fn links_that_do_not_come_back_are_named_by_their_paths_in_the_project() {
        let links = |count: usize| (0..count).map(|number| format!("project/dist/{number}")).collect::<Vec<_>>();
        assert_eq!(name_links(&[], "project"), None);
        let named = |count| name_links(&links(count), "project").expect("there are some");
        assert_eq!(named(2), "symbolic links do not come back: `dist/0`, `dist/1`");
        assert!(named(7).ends_with("`dist/4` and 2 more"), "{}", named(7));
    }
}
