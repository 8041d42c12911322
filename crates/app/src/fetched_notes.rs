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
/// The largest file that a fetch may write, in bytes: what it brings is one pack. A year of ten people's attestations is about half of it.
const LARGEST_PACK: u64 = 256 << 20;

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
    // One pack, however few objects it has: so the limit of a file is the limit of a fetch.
    let fetch = [
        "-c",
        "fetch.unpackLimit=1",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--",
        address,
        &notes,
    ];
    let held = remove_unfinished(&place).0;
    if held > 2 * LARGEST_PACK {
        // Packs that nothing leads to any more are among them. What counts is fetched anew.
        let _kept_if_it_cannot_be_removed = fs::remove_dir_all(&place);
    }
    Ok(fs::create_dir_all(environment.state_root().join(DIRECTORY)).map_err(|error| error.to_string()).and_then(|()| {
        run_git(environment, create.collect())?;
        let directory = [OsString::from("--git-dir"), place.clone().into()].into_iter();
        run_git(environment, directory.chain(fetch.map(OsString::from)).collect()).map_err(|said| {
            let is_large = remove_unfinished(&place).1 >= LARGEST_PACK;
            if is_large { format!("it brings more than {} MiB", LARGEST_PACK >> 20) } else { said }
        })
    }))
}

/// Removes the packs of a repository that were not written to their ends. Returns the bytes of the others, and those of the largest that
/// was removed.
fn remove_unfinished(repository: &Path) -> (u64, u64) {
    let (mut held, mut largest) = (0, 0);
    for file in fs::read_dir(repository.join("objects/pack")).into_iter().flatten().flatten() {
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        if !file.file_name().as_encoded_bytes().starts_with(b"tmp_") {
            held += size;
        } else if fs::remove_file(file.path()).is_ok() {
            largest = largest.max(size);
        }
    }
    (held, largest)
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
    words.splice(0..0, words_of_limit(LARGEST_PACK).map(OsString::from).into_iter().chain([find("env")?.into()]));
    let begun = clock::monotonic();
    let is_late = || clock::monotonic().since(begun) > PATIENCE;
    let end = try_program(&find("sh")?, &words, MOST_SAID, GRACE, &is_late).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&end.stderr).trim().lines().next_back().unwrap_or("git did not answer in time").to_owned();
    if end.code == Some(0) { Ok(()) } else { Err(said) }
}

/// Returns the words for `sh` that run the words after them with files of at most so many bytes.
fn words_of_limit(bytes: u64) -> [String; 3] {
    // POSIX counts in blocks of 512 bytes.
    ["-c".into(), format!("ulimit -f {} && exec \"$@\"", bytes / 512), "sh".into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_by_the_limit_writes_no_larger_file() {
        let directory = tempfile::tempdir().expect("a directory");
        for (bytes, succeeds) in [(4096, true), (1 << 20, false)] {
            let file = directory.path().join("file");
            let words = words_of_limit(64 << 10)
                .map(OsString::from)
                .into_iter()
                .chain(["dd", "if=/dev/zero", "bs=1024"].map(OsString::from));
            let words: Vec<OsString> =
                words.chain([format!("count={}", bytes / 1024), format!("of={}", file.display())].map(OsString::from)).collect();
            let end = try_program(Path::new("/bin/sh"), &words, MOST_SAID, GRACE, &|| false).expect("it starts");
            assert_eq!(end.code == Some(0), succeeds, "{bytes}");
            assert!(file.metadata().expect("a file").len() <= 64 << 10);
        }
    }

    #[test]
    fn a_fetch_that_was_too_large_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let packs = directory.path().join("objects/pack");
        assert_eq!(remove_unfinished(directory.path()), (0, 0));
        fs::create_dir_all(&packs).expect("it is ours");
        for (name, size) in [("tmp_pack_a1", 7), ("tmp_idx_b2", 3), ("pack-1.pack", 20), ("pack-1.idx", 2)] {
            fs::File::create(packs.join(name)).and_then(|file| file.set_len(size)).expect("it is ours");
        }
        assert_eq!(remove_unfinished(directory.path()), (22, 7));
        assert_eq!(remove_unfinished(directory.path()), (22, 0));
    }

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
