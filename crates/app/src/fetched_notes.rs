//! What others attested, fetched by the service from time to time (`[share] git`) into repositories of proctor's own.
//!
//! The configuration of a project's repository names programs that git starts (hooks, filters, helpers, the transport `ext`), and whatever
//! works in the project can write it. So git never runs there unasked. Of that configuration only the address of the approved remote
//! repository is taken, by proctor's own reader, and git runs in a bare repository in the store, by the network's protocols alone.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{opening, setup};
use crate::share::approved_share;
use proctor_evidence::{ATTESTATIONS, FETCHED_ATTESTATIONS};
use proctor_git::GitStorage;
use proctor_model::Digest;
use proctor_project::ProjectRepository;
use proctor_sandbox::process::{clock, resolve_program, try_program};
use proctor_sandbox::search_path;

/// The directory of the store with the bare repositories.
const DIRECTORY: &str = "fetched-notes";
/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long git may take to end once it is asked to.
const GRACE: Duration = Duration::from_secs(3);
/// The most bytes that are kept of what git says.
const MOST_SAID: usize = 4096;
/// What git may be given as an address: a host is asked, and no path of this machine.
const PROTOCOLS: [&str; 3] = ["https", "ssh", "git"];

/// Returns the repository of proctor's own with what was fetched for a project's repository; `None` if nothing was.
pub(crate) fn fetched_notes(environment: &Environment, repository: &ProjectRepository) -> Option<GitStorage> {
    let place = place_of(environment, repository);
    place.is_dir().then(|| GitStorage::open(&place, &place).ok()).flatten()
}

/// Fetches what others attested for the project at `root`, if a person approved a remote repository with which it is shared. Returns why
/// nothing was fetched, in words.
///
/// # Errors
/// When the project's settings or the store cannot be read.
pub fn fetch_notes(environment: &Environment, root: &Path) -> Result<Result<(), String>, CommandError> {
    if setup::configuration(environment, root)?.0.share.git.is_empty() {
        return Ok(Ok(()));
    }
    let share = approved_share(environment, &mut opening::open_archive(environment)?, root)?;
    let (Some(remote), Ok(Some(repository))) = (share.git, ProjectRepository::open(root)) else { return Ok(Ok(())) };
    let Some(address) = repository.storage.address_of_remote(&remote) else {
        return Ok(Err(format!("the repository has no address of `{remote}`")));
    };
    if !asks_a_host(address) {
        return Ok(Err(format!(
            "only an address of {} is asked without a person: `proctor attest --fetch`",
            PROTOCOLS.join(", ")
        )));
    }
    let place = place_of(environment, &repository);
    let notes = format!("+{ATTESTATIONS}*:{FETCHED_ATTESTATIONS}*");
    let create = ["init", "--quiet", "--bare", "--template="].map(OsString::from).into_iter().chain([place.clone().into()]);
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", address, &notes];
    Ok(fs::create_dir_all(environment.state_root().join(DIRECTORY)).map_err(|error| error.to_string()).and_then(|()| {
        run_git(environment, create.collect())?;
        let directory = [OsString::from("--git-dir"), place.into()].into_iter();
        run_git(environment, directory.chain(fetch.map(OsString::from)).collect())
    }))
}

fn place_of(environment: &Environment, repository: &ProjectRepository) -> PathBuf {
    let path = repository.storage.common.path();
    environment.state_root().join(DIRECTORY).join(format!("{}.git", Digest::of(path.as_os_str().as_encoded_bytes()).hex()))
}

/// Returns whether git would ask a host for this address. Anything else may be a path or another transport: `host:path` is ssh.
fn asks_a_host(address: &str) -> bool {
    match address.split_once("://") {
        Some((protocol, rest)) => PROTOCOLS.contains(&protocol) && !rest.starts_with('-'),
        None => {
            let host = address.split_once(':').map(|(host, path)| (host, !path.starts_with(':')));
            host.is_some_and(|(host, is_path)| is_path && !host.is_empty() && !host.contains('/') && !host.starts_with('-'))
        }
    }
}

/// Runs git in the root directory without a terminal, where nobody is asked anything. An error has the last line that git said.
fn run_git(environment: &Environment, arguments: Vec<OsString>) -> Result<(), String> {
    let variables = environment.variables();
    let find =
        |name| resolve_program(name, Path::new("/"), &search_path(variables)).map_err(|_| format!("`{name}` was not found"));
    // A variable such as GIT_DIR or GIT_CONFIG_PARAMETERS leads git elsewhere.
    let of_git = variables.keys().filter(|name| name.as_encoded_bytes().starts_with(b"GIT_"));
    let mut words: Vec<OsString> = of_git.flat_map(|name| ["-u".into(), name.clone()]).collect();
    // git asks this program for a password before it looks whether there is a terminal.
    words.extend(["-u", "SSH_ASKPASS"].map(OsString::from));
    let allowed = format!("GIT_ALLOW_PROTOCOL={}", PROTOCOLS.join(":"));
    let quiet = ["GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GIT_SSH_COMMAND=ssh -oBatchMode=yes", &allowed];
    words.extend(quiet.map(OsString::from));
    words.push(find("git")?.into());
    let plain = ["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];
    words.extend(plain.map(OsString::from).into_iter().chain(arguments));
    let begun = clock::monotonic();
    let is_late = || clock::monotonic().since(begun) > PATIENCE;
    let end = try_program(&find("env")?, &words, MOST_SAID, GRACE, &is_late).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&end.stderr).trim().lines().next_back().unwrap_or("git did not answer in time").to_owned();
    if end.code == Some(0) { Ok(()) } else { Err(said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_a_host_is_an_address() {
        for address in
            ["https://forge.example/shop.git", "ssh://git@forge.example/shop", "git://127.0.0.1:9/shop", "git@forge.example:shop"]
        {
            assert!(asks_a_host(address), "{address}");
        }
        let others =
            ["", "/srv/shop.git", "../shop", "file:///srv/shop", "ext::sh -c true", "ext::sh", "fd::3", "-oProxyCommand=x:y"];
        for address in others.into_iter().chain(["ssh://-oProxyCommand=x/y", "./a:b", "http://forge.example/shop", ":a"]) {
            assert!(!asks_a_host(address), "{address}");
        }
    }
}
