//! `proctor-verify PATH [--key FILE]`: verifies evidence of proctor on a machine where nothing else of proctor is.
//!
//! PATH is a store, a run of a store, what `proctor export` made, or what `proctor attest --bundle` wrote. The program reads files and
//! checks hashes and signatures; it changes nothing, starts nothing and asks nobody. What only `proctor verify` can compare, the index of
//! a store and whether an approval was allowed, is no part of its answer.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_evidence::{
    AcceptedKeys, AttestationReader, AttestationRefusal, CommitClaim, EvidenceError, EvidenceFault, FaultKind, KeyRing,
    MANIFEST_NAME, ReadAttestation, Store, UnfinishedWork, VerificationResult, VerificationScope, VerifiedKeys,
    check_store_entries, is_ahead, is_archive_name, ledger_file, line_from_the_future, list_projects, name_links,
    parse_attestation_bundle, projects_with_evidence, read_regular_file, read_regular_text, sort_by_cause, verify_copy,
    verify_keys, verify_project, verify_steadily,
};
use proctor_model::{CommandExit, OverallResult, Timestamp, shown_line};

const USAGE: &str = "\
usage: proctor-verify PATH [--key FILE]

PATH is a store of proctor (its directory), a run of a store, what `proctor export` made, or a file of `proctor attest --bundle`.
FILE has the public keys of whoever made it, as `proctor key export` prints them. A store may be verified without it: it then
agrees with itself, whoever wrote it.

exit status: 0 everything is as it was sealed, 6 something is not, 2 the question cannot be answered";
/// The longest file with public keys that is read, in bytes.
const LONGEST_KEY: u64 = 64 * 1024;
/// The longest bundle that is read, in bytes.
const LONGEST_BUNDLE: u64 = 64 << 20;

/// What was verified, in words, and what is wrong with it.
#[derive(Default)]
struct Answer {
    lines: Vec<String>,
    faults: Vec<EvidenceFault>,
    unfinished: Vec<UnfinishedWork>,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return print(&[USAGE.to_owned()], CommandExit::Proceed);
    }
    match parse(&arguments).and_then(|(path, key)| verify(&path, key.as_deref())) {
        Ok(answer) => {
            let exit = if answer.faults.is_empty() { CommandExit::Proceed } else { CommandExit::EvidenceWrong };
            print(&lines(answer), exit)
        }
        Err(why) => print(&[format!("error: {why}")], CommandExit::Usage),
    }
}

/// Returns the path and the file with keys that the command line names.
fn parse(arguments: &[OsString]) -> Result<(PathBuf, Option<PathBuf>), String> {
    let (mut path, mut key) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let slot = if argument == "--key" { &mut key } else { &mut path };
        let value = if argument == "--key" { rest.next() } else { Some(argument) };
        let is_option = |value: &&OsString| value.as_encoded_bytes().starts_with(b"--");
        match value.filter(|value| !is_option(value)) {
            Some(value) if slot.is_none() => *slot = Some(PathBuf::from(value)),
            Some(_) | None => return Err(format!("`{}` is not understood\n{USAGE}", argument.to_string_lossy())),
        }
    }
    path.map(|path| (path, key)).ok_or_else(|| format!("no path is named\n{USAGE}"))
}

fn verify(path: &Path, key: Option<&Path>) -> Result<Answer, String> {
    let keys = key.map(read_keys).transpose()?;
    let metadata = path.metadata().map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    if metadata.is_dir() && path.join("ledger").is_dir() && path.join("evidence").is_dir() {
        return verify_store(path, keys.as_ref());
    }
    let keys = keys.ok_or("no key is named: whoever made it prints it with `proctor key export`; name that file with --key")?;
    if path.join(MANIFEST_NAME).is_file() || path.join("run").is_dir() || (metadata.is_file() && is_archive_name(path)) {
        let found = verify_copy(path, &keys, &[]).map_err(|error| with_causes(&error))?;
        return Ok(Answer { lines: vec![counted(&found)], faults: found.faults, unfinished: found.unfinished });
    }
    if metadata.is_file() {
        return verify_bundle(path, &keys);
    }
    Err(format!("`{}` is no store, run, export or bundle of proctor", path.display()))
}

fn read_keys(file: &Path) -> Result<AcceptedKeys, String> {
    let text = read_regular_text(file, LONGEST_KEY).map_err(|error| format!("`{}` cannot be read: {error}", file.display()))?;
    AcceptedKeys::parse(&text).map_err(|error| format!("`{}` is no key: {}", file.display(), with_causes(&error)))
}

/// Verifies everything in a store, while others may write to it.
fn verify_store(root: &Path, keys: Option<&AcceptedKeys>) -> Result<Answer, String> {
    let store = Store::open_to_read(root);
    let once = || verify_store_once(&store, keys);
    let mut answer =
        verify_steadily(root, once, |answer: &mut Answer| &mut answer.faults).map_err(|error| with_causes(&error))?;
    if answer.lines.is_empty() && answer.faults.is_empty() {
        return Err(format!("`{}` has no project, so there is nothing to verify", root.display()));
    }
    name_links(root, &mut answer.faults);
    Ok(answer)
}

fn verify_store_once(store: &Store, keys: Option<&AcceptedKeys>) -> Result<Answer, EvidenceError> {
    let VerifiedKeys { ring, faults, unfinished } = verify_keys(store)?;
    let mut answer = Answer { faults, unfinished, ..Answer::default() };
    answer.faults.extend(check_store_entries(store));
    answer.faults.extend(foreign_keys(&ring, keys));
    let mut projects = [list_projects(store)?, projects_with_evidence(store)?].concat();
    projects.extend(ring.known_projects());
    projects.sort();
    projects.dedup();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    for project in projects {
        let found = verify_project(store, &project, &ring, &VerificationScope::Everything, threads)?;
        answer.faults.extend(line_from_the_future(&ledger_file(store, &project), &found.lines, now()));
        answer.lines.push(format!("{project}: {}, {} lines of its ledger", counted(&found), found.lines.len()));
        answer.faults.extend(found.faults);
        answer.unfinished.extend(found.unfinished);
    }
    let known = ring.current().map_or_else(|| "none".to_owned(), |key| key.id().hex());
    let trusted =
        if keys.is_some() { "which the named keys vouch for" } else { "which the store itself names: compare it with --key" };
    if !answer.lines.is_empty() {
        answer.lines.push(format!("key in use: {known}, {trusted}"));
    }
    Ok(answer)
}

/// Reports that the named keys say nothing of the store's own.
fn foreign_keys(ring: &KeyRing, keys: Option<&AcceptedKeys>) -> Option<EvidenceFault> {
    let error = keys?.with_history(ring).err()?;
    Some(EvidenceFault::new(FaultKind::KeyHistoryWrong, "keys", error.to_string()))
}

/// Verifies the signatures of a bundle, and says what each attestation is about.
fn verify_bundle(path: &Path, keys: &AcceptedKeys) -> Result<Answer, String> {
    let bytes =
        read_regular_file(path, LONGEST_BUNDLE).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    let note = parse_attestation_bundle(&bytes)
        .map_err(|error| format!("`{}` is no bundle of `proctor attest`: {}", path.display(), with_causes(&error)))?;
    let mut answer = Answer::default();
    for read in AttestationReader::default().read(&note, &|id| keys.find(id).cloned()) {
        match read {
            ReadAttestation::Claim(claim) => match retired(&claim, keys) {
                Some(refusal) => answer.refuse(path, &refusal),
                None => answer.lines.push(claim_line(&claim)),
            },
            ReadAttestation::Accepted(accepted) => {
                answer.lines.push(format!(
                    "changes accepted for git object {}: {}",
                    accepted.of.noted_at().map(|object| object.hex()).unwrap_or_default(),
                    accepted.changes.join(", ")
                ));
            }
            ReadAttestation::Proof(proof) => {
                let (tree, record) = (proof.git_tree.hex(), &proof.record);
                answer.lines.push(format!("tests of the change since {} on git tree {tree}: {}", record.base, record.state));
            }
            ReadAttestation::Summary => answer.lines.push("a verification summary".to_owned()),
            ReadAttestation::Refused(refusal) => answer.refuse(path, &refusal),
        }
    }
    if answer.lines.is_empty() && answer.faults.is_empty() {
        return Err(format!("`{}` has no attestation, so there is nothing to verify", path.display()));
    }
    Ok(answer)
}

/// Returns the refusal of a claim that ended in the future, or whose key was replaced before that end.
fn retired(claim: &CommitClaim, keys: &AcceptedKeys) -> Option<AttestationRefusal> {
    let ended = claim.latest_end();
    if is_ahead(ended, now()) {
        return Some(AttestationRefusal::FutureDated);
    }
    match keys {
        AcceptedKeys::History(ring) if !ring.was_in_use(claim.key, ended) => Some(AttestationRefusal::Retired { key: claim.key }),
        AcceptedKeys::History(_) | AcceptedKeys::Single(_) => None,
    }
}

fn claim_line(claim: &CommitClaim) -> String {
    let result = match claim.result {
        OverallResult::Passed => "PASSED",
        OverallResult::Failed => "FAILED",
    };
    let (passed, failed) = (claim.passed.len(), claim.failed.len());
    let (run, task, tree, key) = (&claim.claim.run, &claim.claim.task, claim.git_tree.hex(), claim.key.short());
    format!("run {run} of task {task}: {result} on git tree {tree} ({passed} passed, {failed} failed), signed by key {key}")
}

impl Answer {
    fn refuse(&mut self, file: &Path, refusal: &AttestationRefusal) {
        self.faults.push(EvidenceFault::new(FaultKind::SignatureWrong, file, format!("an attestation: {refusal}")));
    }
}

fn counted(found: &VerificationResult) -> String {
    format!("{} runs, {} files, {} bytes", found.runs, found.files, found.bytes)
}

fn lines(mut answer: Answer) -> Vec<String> {
    sort_by_cause(&mut answer.faults);
    let mut lines = Vec::new();
    for fault in &answer.faults {
        lines.push(format!("{}: {}", fault.file.display(), fault.kind.what()));
        lines.push(format!("  {}: {}", fault.kind.word(), fault.detail));
        lines.push(format!("  next: {}", fault.kind.next()));
    }
    for begun in &answer.unfinished {
        lines.push(format!("{}: unfinished: {}", begun.file.display(), begun.kind.what()));
    }
    lines.extend(answer.lines);
    lines.push(match answer.faults.len() {
        0 => "VERIFIED".to_owned(),
        1 => "1 FAULT".to_owned(),
        many => format!("{many} FAULTS"),
    });
    lines
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, which reads the clock here alone")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Prints an answer to standard output, and anything else to standard error. Whatever a terminal would obey is escaped.
#[expect(clippy::disallowed_methods, reason = "a program of its own, which prints here alone")]
fn print(lines: &[String], exit: CommandExit) -> ExitCode {
    let text: String = lines.iter().flat_map(|line| line.split('\n')).map(|line| format!("{}\n", shown_line(line))).collect();
    let printed = if exit == CommandExit::Usage { write!(io::stderr(), "{text}") } else { write!(io::stdout(), "{text}") };
    // The reader closed the pipe, so it wants no more output.
    let _closed = printed;
    ExitCode::from(exit.code())
}
