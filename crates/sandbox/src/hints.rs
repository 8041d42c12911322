//! Hints for people about a failed action: variables that were not passed on to it, writes that the isolation denied,
//! and effects of the snapshot that it ran on.
//!
//! Finds in the output of a failed command what is different on a snapshot, and says how to avoid it. Pure.
//!
//! A snapshot is several file systems laid over each other, so three things differ from a plain directory: some renames fail, the
//! repository's `.git` belongs to the project and is read-only, and git stops its search for a repository at the snapshot's edge.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::unistd::{getegid, geteuid};

use crate::credentials::is_of_package_index;
use crate::denied_write::{WriteLimits, denied_writes};
use crate::environment::ChildEnvironment;
use crate::rules::CACHE_VARIABLES;
use proctor_model::{
    Access, Action, ActionPhase, EndedAction, IsolationLevel, NetworkAccess, Place, PlanNote, Sandbox, SandboxSettings,
};

/// Words that programs print, with `|` between them, and what one of them means.
type SaidWords = (&'static str, &'static str);

const NO_INPUT: SaidWords = (
    "EOF when reading a line|/dev/tty: No such device",
    "checks have no terminal, and their standard input is empty: give the command its answers as options",
);
const UNKNOWN_CERTIFICATE: SaidWords = (
    "UnknownIssuer|CERTIFICATE_VERIFY_FAILED|local issuer certificate|SELF_SIGNED_CERT|signed by unknown authority|\
     All attempts to connect to",
    "it does not know the server's certificate, or does not reach the server: prerequisites get `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` and `NODE_EXTRA_CA_CERTS` from where \
     proctor runs; set the one that it reads to the file with your network's certificates",
);

fn meaning_if_said((words, meaning): SaidWords, output: &str) -> Option<&'static str> {
    words.split('|').any(|words| output.contains(words)).then_some(meaning)
}

/// A failed action, with what is needed to find out why it may have failed.
pub struct FailedAction<'a> {
    pub action: &'a Action,
    pub ended: &'a EndedAction,
    pub environment: &'a ChildEnvironment,
    /// The action's view of the file system; `None` if the action was not isolated, or not started.
    pub sandbox: Option<&'a Sandbox>,
    /// Whether the action ran on a snapshot.
    pub on_snapshot: bool,
    pub project_root: &'a Path,
    pub home: Option<&'a Path>,
    pub settings: &'a SandboxSettings,
}

impl FailedAction<'_> {
    /// Returns the hints as notes for the report; empty if nothing was found.
    pub fn hints(&self) -> Vec<PlanNote> {
        let captured = &self.ended.captured;
        let output = format!("{}\n{}", captured.stdout.text(), captured.stderr.text());
        let (effects, output_of_plain) = if self.on_snapshot {
            // Denied writes to `.git` get no advice to make it writable: git would then mix the snapshot's files with
            // the project's repository.
            let plain: Vec<&str> = output.lines().filter(|line| !is_write_to_git(line)).collect();
            (snapshot_effects(&output), plain.join("\n"))
        } else {
            (Vec::new(), output.clone())
        };
        let mut messages = self.missed_variables(&output);
        messages.extend(self.closed_network(&output));
        let certificate = (self.action.phase == ActionPhase::Prerequisite).then_some(UNKNOWN_CERTIFICATE);
        let said = [NO_INPUT].into_iter().chain(certificate).filter_map(|said| meaning_if_said(said, &output));
        messages.extend(said.map(str::to_owned));
        messages.extend(namespace_effect(&output).filter(|_| self.sandbox.is_some()));
        messages.extend(self.foreign_project(&output));
        messages.extend(self.denied_writes(&output_of_plain));
        let unopened = self.unopened_caches(&messages);
        let messages = messages.into_iter().chain(unopened).chain(effects);
        messages
            .chain(self.hidden_credentials(&output))
            .map(|message| PlanNote { subject: self.action.name.clone(), message })
            .collect()
    }

    /// Returns a hint for each variable that was not passed on and is named in the output, because the command probably
    /// needed it (E12).
    fn missed_variables(&self, output: &str) -> Vec<String> {
        let missed = self.environment.missed_in(output).into_iter();
        missed
            .map(|name| {
                format!(
                    "`{name}` is set where proctor runs and was not passed on: if the command needs it, add it to `pass_environment` in `[environment]`"
                )
            })
            .collect()
    }

    /// Returns a hint if the action could not reach something and had no network, or only that of its run.
    fn closed_network(&self, output: &str) -> Option<String> {
        let reached = &self.ended.kept.as_ref()?.reached;
        let missed = missed_network(output, self.action.network, reached.level)?;
        let around = match self.action.phase {
            ActionPhase::Prerequisite => "its `[[prerequisite]]`, or in `[sandbox]`",
            ActionPhase::Step => "its `[[check]]`, or in `[sandbox]`",
            ActionPhase::Cleanup => "`[sandbox]`",
        };
        let word = self.action.network.word();
        Some(format!(
            "`network = \"{word}\"` hides what it looked for ({missed}): if the command needs it, put `network = \"open\"` in {around}"
        ))
    }

    fn denied_writes(&self, output: &str) -> Vec<String> {
        let (Some(sandbox), Some(kept)) = (self.sandbox, &self.ended.kept) else {
            return Vec::new();
        };
        let limits = WriteLimits {
            level: kept.reached.level,
            sandbox,
            project_root: self.project_root,
            directory: &self.project_root.join(&self.action.directory),
            home: self.home,
            settings: self.settings,
            is_directory: &Path::is_dir,
            without_links: &|path| path.canonicalize().ok(),
        };
        denied_writes(output, &limits)
    }

    /// Returns a hint if the action worked in the project itself and could not write there, because the project belongs to another user.
    fn foreign_project(&self, output: &str) -> Option<String> {
        let is_denied = DENIED.iter().any(|words| output.contains(words));
        let owner = ForeignOwner::of(self.project_root).filter(|_| is_denied && !self.on_snapshot)?;
        Some(format!("checks cannot write to the project: {owner}; {}", owner.advice(self.project_root)))
    }

    /// Returns a hint for each variable that names a cache to which the action cannot write, because the value comes from the
    /// project's files. Paths that `said` names already are left out.
    fn unopened_caches(&self, said: &[String]) -> Vec<String> {
        let Some(sandbox) = self.sandbox else { return Vec::new() };
        let has_layers = self.ended.kept.as_ref().is_some_and(|kept| kept.reached.level == IsolationLevel::Namespace);
        let is_there = |place: &&Place| has_layers || !matches!(place.access, Access::Layer { .. });
        let named = CACHE_VARIABLES.split(' ').filter_map(|name| {
            let path = Path::new(self.environment.variables.get(OsStr::new(name))?);
            let around = sandbox.places.iter().filter(is_there).rev().find(|place| path.starts_with(&place.path));
            let is_closed = around.is_none_or(|place| place.access == Access::ReadOnly || sandbox.closed.contains(&place.path));
            (is_closed && path.is_absolute() && path.exists()).then(|| (name, path.display().to_string()))
        });
        let named = named.filter(|(_, path)| !said.iter().any(|message| message.contains(path)));
        named
            .map(|(name, path)| {
                format!(
                    "`{name}` of the project's files names `{path}`, which only `writable` opens: if the command has to write there, put `writable = [\"{path}\"]` in `[sandbox]`"
                )
            })
            .collect()
    }

    /// Returns a hint if a prerequisite could not fetch packages, and credentials of package indexes were hidden from it.
    fn hidden_credentials(&self, output: &str) -> Option<String> {
        if self.action.phase != ActionPhase::Prerequisite || !looks_like_a_refused_fetch(output) {
            return None;
        }
        let home = self.home.and_then(|home| home.canonicalize().ok());
        let below_home = self.sandbox?.hidden.iter().filter_map(|path| path.strip_prefix(home.as_ref()?).ok());
        let names: Vec<String> =
            below_home.filter(|path| is_of_package_index(path)).map(|path| format!("`~/{}`", path.display())).collect();
        let variables = self.environment.hidden_package_variables().map(|name| format!("`${name}`"));
        let names: Vec<String> = names.into_iter().chain(variables).collect();
        (!names.is_empty()).then(|| {
            format!(
                "it does not see {}: if it fetches packages with that, put `package_credentials = \"prerequisites\"` in `[sandbox]`",
                names.join(", ")
            )
        })
    }
}

/// What programs say that reach no other machine: words in lower case, with what is shown.
const UNREACHED: &[SaidWords] = &[
    ("network is unreachable|network unreachable|enetunreach|no route to host", "the network is unreachable"),
    (
        "name resolution|name or service not known|resolve host|resolve address|lookup address|no such host|unknownhostexception|\
         enotfound|eai_again",
        "a name could not be resolved",
    ),
    ("cannot assign requested address|eaddrnotavail", "the address is none of this network"),
    ("connection refused|econnrefused", "a connection was refused"),
];

/// Returns what a failed action missed, as it says in its output, if its network was closed; `None` if nothing says so.
fn missed_network(output: &str, network: NetworkAccess, level: IsolationLevel) -> Option<&'static str> {
    // Without namespaces the network is the machine's.
    if network.is_open() || level != IsolationLevel::Namespace {
        return None;
    }
    let output = output.to_lowercase();
    UNREACHED.iter().find_map(|said| meaning_if_said(*said, &output))
}

/// What programs print if a file could not be written because of its owner or permissions.
const DENIED: &[&str] = &["Permission denied", "EACCES", "permission denied"];

/// What programs print if they cannot make a user namespace with users of its own: `unshare`, bubblewrap, Chromium.
const NO_NAMESPACE: &[&str] = &[
    "/uid_map",
    "/gid_map",
    "/setgroups",
    "reating new namespace",
    "o move to new namespace",
    "No usable sandbox!",
    "unshare failed",
];

/// Returns a hint if the output shows that a program could not make a user namespace of its own.
fn namespace_effect(output: &str) -> Option<String> {
    let is_refused =
        |line: &&str| line.contains("not permitted") || line.contains("denied") || line.contains("No usable sandbox!");
    let line = output.lines().filter(is_refused).find(|line| NO_NAMESPACE.iter().any(|words| line.contains(words)))?;
    Some(format!(
        "the command tried to make a user namespace of its own, which is not possible inside of proctor's isolation (`{}`): start a \
         browser without its own sandbox (`--no-sandbox`), or run the command outside of proctor",
        line.trim()
    ))
}

/// A directory belongs to another user, and commands may not write to it. Commands have no capabilities, so root too writes only where
/// owner, group or permissions let it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignOwner {
    pub owner: u32,
    pub user: u32,
}

impl ForeignOwner {
    /// Returns the owner of a directory to which commands of the present user may not write; `None` if they may.
    pub fn of(directory: &Path) -> Option<Self> {
        let metadata = directory.metadata().ok()?;
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Self::judge((metadata.uid(), metadata.gid(), metadata.mode()), user, group)
    }

    fn judge((owner, owning_group, mode): (u32, u32, u32), user: u32, group: u32) -> Option<Self> {
        let write = if owning_group == group { 0o020 } else { 0o002 };
        (owner != user && mode & write == 0).then_some(Self { owner, user })
    }

    /// Returns what to do about it.
    pub fn advice(self, directory: &Path) -> String {
        format!("run proctor as user {}, or `chown -R {} {}`", self.owner, self.user, directory.display())
    }
}

impl fmt::Display for ForeignOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, user } = self;
        write!(
            formatter,
            "it belongs to user {owner}, and checks run as user {user} without the right to write to files of others"
        )
    }
}

/// Words of package managers for a package or an index that they could not get. In lower case.
const REFUSED_FETCH: &[&str] = &[
    "401",
    "403",
    "404",
    "unauthorized",
    "forbidden",
    "authenticat",
    "credential",
    "no matching distribution",
    "could not find a version",
    "not in this registry",
    "no matching package",
    "could not resolve",
    "could not transfer",
    "was not found in the package registry",
    // The files with the credentials also have the settings of mirrors and proxies, so these errors can come from a
    // hidden file too.
    "enotfound",
    "etimedout",
    "econnrefused",
    "timed out",
    "name resolution",
    "connection refused",
    "certificate",
];

fn looks_like_a_refused_fetch(output: &str) -> bool {
    let output = output.to_lowercase();
    REFUSED_FETCH.iter().any(|word| output.contains(word))
}

/// A text that commands print, in lower case.
type Marker = &'static str;

/// The messages for a rename that failed because it crosses two file systems: from the C library, Node.js, Python and
/// Rust.
const CROSS_DEVICE: &[Marker] =
    &["invalid cross-device link", "cross-device link not permitted", "[errno 18]", "os error 18", "'exdev'"];

/// What git prints if it stops its search for a repository at the edge of a file system.
const AT_THE_EDGE: Marker = "stopping at filesystem boundary";

const READ_ONLY: Marker = "read-only file system";
const OF_GIT: &[Marker] = &[".git/", ".git'", ".git:"];

const RENAME: &str = "a rename failed with EXDEV, which is an effect of the snapshot: there, a directory of the project cannot be renamed, \
                      and nothing can be moved between the project and a temporary directory without being copied. If the command \
                      has to, `snapshot = \"off\"` in its `[[check]]` lets it run in the project itself";

const GIT: &str = "`.git` could not be written to: on a snapshot it is the project's own and read-only. Let the command work in a clone \
                   (`git clone . \"$TMPDIR/clone\"`), or in the project itself with `snapshot = \"off\"` in its `[[check]]` and \
                   `writable = [\".git\"]` in `[sandbox]`";

const EDGE: &str = "git did not look for its repository above the project, which is an effect of the snapshot: let the command keep \
                    `GIT_DISCOVERY_ACROSS_FILESYSTEM=1`, which proctor sets, or let it run in the project itself with `snapshot = \
                    \"off\"` in its `[[check]]`";

/// Returns a hint for each effect of the snapshot that a failed command's output shows.
pub(super) fn snapshot_effects(output: &str) -> Vec<String> {
    let lines: Vec<String> = output.lines().map(str::to_lowercase).collect();
    let is_named = |marker: Marker| lines.iter().any(|line| line.contains(marker));
    let rename = CROSS_DEVICE.iter().any(|marker| is_named(marker)).then_some(RENAME);
    let git = lines.iter().any(|line| is_write_to_git(line)).then_some(GIT);
    let edge = is_named(AT_THE_EDGE).then_some(EDGE);
    [rename, git, edge].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns whether a line of output says that something in `.git` could not be written.
pub(super) fn is_write_to_git(line: &str) -> bool {
    let line = line.to_lowercase();
    // `git stash` prints this whole line and no cause, so the line alone counts.
    line == "error: could not write index" || (line.contains(READ_ONLY) && OF_GIT.iter().any(|marker| line.contains(marker)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_waits_for_a_person_is_told_that_nobody_types() {
        for said in ["EOFError: EOF when reading a line", "x.sh: line 1: /dev/tty: No such device or address"] {
            assert!(meaning_if_said(NO_INPUT, said).is_some_and(|hint| hint.contains("no terminal")), "{said}");
        }
        assert_eq!(meaning_if_said(NO_INPUT, "ValueError: reading a line"), None);
    }

    #[test]
    fn a_server_with_an_unknown_certificate_is_named_by_the_variables_that_help() {
        // Poetry names no certificate.
        let of_poetry =
            "All attempts to connect to index.example.org failed.\n\nProbable Causes:\n - the server is not responding";
        for said in ["invalid peer certificate: UnknownIssuer", "npm error code SELF_SIGNED_CERT_IN_CHAIN", of_poetry] {
            assert!(meaning_if_said(UNKNOWN_CERTIFICATE, said).is_some_and(|hint| hint.contains("SSL_CERT_FILE")), "{said}");
        }
        assert_eq!(meaning_if_said(UNKNOWN_CERTIFICATE, "wrote certificate.pem"), None);
    }

    #[test]
    fn what_a_closed_network_hid_is_recognised_by_the_words_of_programs() {
        for (line, expected) in [
            ("curl: (6) Could not resolve host: example.org", Some("a name could not be resolved")),
            ("socket.gaierror: [Errno -3] Temporary failure in name resolution", Some("a name could not be resolved")),
            ("Error: getaddrinfo EAI_AGAIN packages.example.org", Some("a name could not be resolved")),
            ("OSError: [Errno 101] Network is unreachable", Some("the network is unreachable")),
            ("dial tcp: lookup example.org: no such host", Some("a name could not be resolved")),
            ("connect ECONNREFUSED 127.0.0.1:5432", Some("a connection was refused")),
            ("AssertionError: 1 != 2", None),
        ] {
            let missed = |network, level| missed_network(line, network, level);
            for network in [NetworkAccess::Off, NetworkAccess::Loopback] {
                assert_eq!(missed(network, IsolationLevel::Namespace), expected, "{line}");
                assert_eq!(missed(network, IsolationLevel::Landlock), None, "{line}: the network was open");
            }
            assert_eq!(missed(NetworkAccess::Open, IsolationLevel::Namespace), None, "{line}");
        }
    }

    #[test]
    fn a_program_that_makes_a_user_namespace_is_told_that_it_cannot() {
        for output in [
            "unshare: write failed /proc/self/uid_map: Operation not permitted",
            "bwrap: Creating new namespace failed: Operation not permitted",
            "[1:1:FATAL] No usable sandbox! If you are running on Ubuntu",
        ] {
            assert!(namespace_effect(output).is_some_and(|hint| hint.contains(output)), "{output}");
        }
        for output in ["open /proc/self/uid_map", "rm: a: Permission denied", ""] {
            assert_eq!(namespace_effect(output), None, "{output}");
        }
    }

    #[test]
    fn a_directory_of_another_user_is_named_where_its_permissions_close_it() {
        let judged = |owner, group, mode| ForeignOwner::judge((owner, group, mode), 0, 0);
        assert_eq!(judged(0, 0, 0o500), None, "its own");
        assert_eq!(judged(1001, 1001, 0o777), None);
        assert_eq!(judged(1001, 0, 0o770), None);
        let owner = judged(1001, 1001, 0o755).unwrap();
        assert!(owner.to_string().contains("user 1001") && owner.advice(Path::new("/p")).contains("chown -R 0 /p"), "{owner}");
    }

    #[test]
    fn each_effect_is_found_in_what_programs_print() {
        for (output, expected) in [
            ("mv: cannot move 'a' to 'b': Invalid cross-device link", vec![RENAME]),
            ("OSError: [Errno 18] Invalid cross-device link: 'a' -> 'b'", vec![RENAME]),
            ("Error: EXDEV: cross-device link not permitted, rename 'a' -> 'b'", vec![RENAME]),
            ("Error: Os { code: 18, message: \"Invalid cross-device link (os error 18)\" }", vec![RENAME]),
            ("fatal: Unable to create '/p/.git/index.lock': Read-only file system", vec![GIT]),
            ("error: could not write index", vec![GIT]),
            ("error: could not lock config file .git/config: Read-only file system", vec![GIT]),
            ("Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set).", vec![EDGE]),
            ("touch: cannot touch '/usr/x': Read-only file system\nassert 18 == 19", vec![]),
        ] {
            assert_eq!(snapshot_effects(output), expected, "{output}");
        }
    }
}
