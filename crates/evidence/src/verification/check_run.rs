//! Checks that a run's directory is exactly what was sealed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::parse_manifest;
use crate::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, STATEMENTS_SUFFIX};
use crate::publish::LATEST;
use crate::report::{ExecutionReportV2, attested};
use crate::seal::join;
use crate::signing::{Envelope, PublicKey, RunStatements, Statement, StatementForm, verify_for_ssh};
use crate::verification::check_report::check_report;
use crate::verification::inspect::{InspectedDirectory, InspectedEntry, InspectedFile, OwnerAndMode};
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::{Digest, ProjectId, RunId, RunRecord};

pub(super) const SEALED_MODE: u32 = 0o400;
pub(super) const DIRECTORY_MODE: u32 = 0o700;

/// The facts about a run that do not come from its directory.
pub(super) struct CheckedRun<'a> {
    /// The directory's path, as it is shown in faults.
    pub(super) base: &'a Path,
    /// The user who must own the files. `None` for a copy, whose modes and owners do not matter.
    pub(super) owner: Option<u32>,
    /// The project to which the run must belong; `None` for a copy, which may come from any project.
    pub(super) project: Option<&'a ProjectId>,
    /// The run's ledger record; `None` for a copy without its ledger line.
    pub(super) record: Option<&'a RunRecord>,
    pub(super) signed: RunSigner<'a>,
}

/// The key that must have signed a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunSigner<'a> {
    Key(&'a PublicKey),
    /// The run is older than the store's first key, so no key signed it.
    Nobody,
}

/// Checks modes, owners, manifest, files, report and signatures of a sealed run.
pub(super) fn check_run(found: &InspectedDirectory, context: &CheckedRun<'_>) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    if let (Some(owner), Some(access)) = (context.owner, found.access) {
        faults.extend(check_access(context.base, access, DIRECTORY_MODE, owner));
    }
    for (name, entry) in &found.entries {
        faults.extend(check_entry(&join(context.base, name), entry, context.owner));
    }
    if let Some(manifest) = check_manifest(found, context, &mut faults) {
        faults.extend(check_files_against_manifest(found, &manifest, context.base));
        let report = check_report(found, context, &mut faults);
        check_signatures(found, &manifest, report.as_ref(), context, &mut faults);
    }
    faults
}

pub(super) fn check_access(path: &Path, access: OwnerAndMode, mode: u32, owner: u32) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    if access.mode != mode {
        faults.push(EvidenceFault::new(FaultKind::WrongMode, path, format!("{:04o} instead of {mode:04o}", access.mode)));
    }
    if access.owner != owner {
        faults.push(EvidenceFault::new(FaultKind::WrongOwner, path, format!("user {} instead of {owner}", access.owner)));
    }
    faults
}

/// Checks a file's number of hard links, its mode and its owner. Without `owner` the file is in a copy, where none of
/// these matter.
pub(super) fn check_file(path: &Path, file: &InspectedFile, mode: u32, owner: Option<u32>) -> Vec<EvidenceFault> {
    let Some(owner) = owner else { return Vec::new() };
    let mut faults = check_access(path, file.access, mode, owner);
    if file.hard_links != 1 {
        faults.push(EvidenceFault::new(FaultKind::SecondName, path, format!("{} names", file.hard_links)));
    }
    faults
}

/// Checks that an entry is a file that could be read, and what [`check_file`] checks of it.
pub(super) fn check_entry(path: &Path, entry: &InspectedEntry, owner: Option<u32>) -> Vec<EvidenceFault> {
    let what = match entry {
        InspectedEntry::File(file) => return check_file(path, file, SEALED_MODE, owner),
        InspectedEntry::Unreadable(why) => return vec![EvidenceFault::new(FaultKind::FileUnreadable, path, why)],
        InspectedEntry::SymbolicLink(target) => format!("a link to `{}`", target.display()),
        InspectedEntry::Directory(_) => "a directory".to_owned(),
        InspectedEntry::Other => "a pipe, socket or device".to_owned(),
    };
    vec![EvidenceFault::new(FaultKind::NotAFile, path, what)]
}

fn check_manifest(
    found: &InspectedDirectory,
    context: &CheckedRun<'_>,
    faults: &mut Vec<EvidenceFault>,
) -> Option<BTreeMap<Vec<u8>, Digest>> {
    let path = context.base.join(MANIFEST_NAME);
    let Some(file) = found.file(MANIFEST_NAME) else {
        faults.push(EvidenceFault::new(FaultKind::ManifestMissing, path, "no file of that name can be read"));
        return None;
    };
    if let Some(expected) = context.record.map(|record| record.manifest_hash).filter(|expected| *expected != file.hashed.sha256) {
        let detail = format!("its SHA-256 is {}, the ledger has {}", file.hashed.sha256, expected);
        faults.push(EvidenceFault::new(FaultKind::ManifestChanged, path.clone(), detail));
    }
    let manifest = file.content.as_deref().and_then(parse_manifest);
    if manifest.is_none() {
        faults.push(EvidenceFault::new(
            FaultKind::ManifestMalformed,
            path,
            "lines `<SHA-256>  <name>`, sorted by name, are expected",
        ));
    }
    manifest
}

fn check_files_against_manifest(
    found: &InspectedDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    base: &Path,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    for (name, expected) in manifest {
        match found.entries.get(name) {
            Some(InspectedEntry::File(file)) if file.hashed.sha256 != *expected => {
                let detail = format!("its SHA-256 is {}, the manifest has {expected}", file.hashed.sha256);
                faults.push(EvidenceFault::new(FaultKind::FileChanged, join(base, name), detail));
            }
            // An entry with this name that is not a file was reported already.
            Some(_) => {}
            None => {
                faults.push(EvidenceFault::new(FaultKind::FileMissing, join(base, name), format!("the manifest has {expected}")))
            }
        }
    }
    let is_unlisted = |name: &&Vec<u8>| name.as_slice() != MANIFEST_NAME.as_bytes() && !manifest.contains_key(*name);
    for name in found.entries.keys().filter(is_unlisted) {
        faults.push(EvidenceFault::new(FaultKind::FileUnlisted, join(base, name), "the manifest does not have it"));
    }
    faults
}

/// Returns the path of a file of the run, as it is shown in faults.
pub(super) fn path_in_run(context: &CheckedRun<'_>, name: &str) -> PathBuf {
    context.base.join(name)
}

// Checks that a run has all required signatures, and that the signed content is the present content.

/// Checks the signatures of a run. A run that is older than the first key has no signature. A signature file that was
/// added to such a run later is reported as an unlisted file.
pub(super) fn check_signatures(
    found: &InspectedDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    parsed: Option<&ExecutionReportV2>,
    context: &CheckedRun<'_>,
    faults: &mut Vec<EvidenceFault>,
) {
    let RunSigner::Key(key) = context.signed else { return };
    check_ssh(found, key, context, faults);
    let names: Vec<String> = found
        .entries
        .keys()
        .filter_map(|name| String::from_utf8(name.clone()).ok())
        .filter(|name| name.ends_with(STATEMENTS_SUFFIX))
        .collect();
    let [name] = names.as_slice() else {
        // A missing file that the manifest lists was reported already, when the manifest was checked. A run that was
        // sealed without statements is reported here.
        if !manifest.keys().any(|name| name.ends_with(STATEMENTS_SUFFIX.as_bytes())) {
            let detail = format!("a file `<run>{STATEMENTS_SUFFIX}` is expected");
            faults.push(EvidenceFault::new(FaultKind::SignatureMissing, context.base, detail));
        }
        return;
    };
    let expected = context.record.map(|record| format!("{}{STATEMENTS_SUFFIX}", record.run_id));
    if let Some(expected) = expected.filter(|expected| expected != name) {
        let detail = format!("`{expected}` is expected");
        faults.push(EvidenceFault::new(FaultKind::StatementsWrong, path_in_run(context, name), detail));
    }
    let statements = found.content(name).map(|bytes| open(bytes, key));
    match statements {
        None => {}
        Some(None) => {
            let detail = format!("key {} is expected", key.id().short());
            faults.push(EvidenceFault::new(FaultKind::SignatureWrong, path_in_run(context, name), detail));
        }
        Some(Some(statements)) => check_statements(found, manifest, statements, parsed, context, name, faults),
    }
}

fn check_ssh(found: &InspectedDirectory, key: &PublicKey, context: &CheckedRun<'_>, faults: &mut Vec<EvidenceFault>) {
    match (found.content(REPORT_NAME), found.content(SIGNATURE_NAME)) {
        (Some(report), Some(signature)) if !verify_for_ssh(report, signature, key) => {
            let detail = format!("key {} is expected", key.id().short());
            faults.push(EvidenceFault::new(FaultKind::SignatureWrong, path_in_run(context, SIGNATURE_NAME), detail));
        }
        (Some(_), None) => {
            let detail = "the report is not signed".to_owned();
            faults.push(EvidenceFault::new(FaultKind::SignatureMissing, path_in_run(context, SIGNATURE_NAME), detail));
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
}

/// Opens every envelope. Returns `None` unless all envelopes are signed by the key. An inner `None` stands for an
/// envelope whose content is no in-toto statement.
fn open(bytes: &[u8], key: &PublicKey) -> Option<Vec<Option<Statement>>> {
    let lines = bytes.strip_suffix(b"\n")?.split(|byte| *byte == b'\n');
    lines.map(|line| Some(Statement::parse(&Envelope::parse(line)?.open(key)?.payload))).collect()
}

fn check_statements(
    found: &InspectedDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    statements: Vec<Option<Statement>>,
    parsed: Option<&ExecutionReportV2>,
    context: &CheckedRun<'_>,
    name: &str,
    faults: &mut Vec<EvidenceFault>,
) {
    let read: Option<Vec<Statement>> = statements.into_iter().collect();
    let Some(read) = read.filter(|read| Statement::is_expected_pair(read)) else {
        let detail = "one test result and one provenance, in this order, are expected".to_owned();
        faults.push(EvidenceFault::new(FaultKind::StatementsWrong, path_in_run(context, name), detail));
        return;
    };
    let mut fault =
        |detail: &str| faults.push(EvidenceFault::new(FaultKind::StatementDisagrees, path_in_run(context, name), detail));
    let Some(report) = found.file(REPORT_NAME) else { return };
    let report_digest = report.hashed.sha256;
    let form = read[1].form();
    if form == StatementForm::OfReport && !read.iter().all(|statement| statement.is_about_report(report_digest)) {
        fault("its subject is another report");
    }
    let is_attested = |name: &Vec<u8>| {
        ![REPORT_NAME, SIGNATURE_NAME, MANIFEST_NAME].iter().any(|own| own.as_bytes() == name.as_slice())
            && !name.ends_with(STATEMENTS_SUFFIX.as_bytes())
    };
    let files: BTreeMap<_, _> =
        manifest.iter().filter(|(name, _)| is_attested(name)).map(|(name, digest)| (name.clone(), *digest)).collect();
    if !read.iter().any(|statement| statement.names_files(report_digest, &files, form)) {
        fault("its files are not those of the run, the report among them");
    }
    let (Some(record), Some(parsed)) = (context.record, parsed) else { return };
    let attested = attested(parsed);
    let expected = RunStatements { form, record, attested: &attested, report_digest, files: &files };
    if form == StatementForm::OfTree && !read.iter().all(|statement| statement.is_about(&expected)) {
        fault("its subject is not what the run tested");
    }
    if !read.iter().all(|statement| statement.agrees_with(&expected)) {
        fault("what it says of the run is not what ledger and report say");
    }
}

// Checks that the links beside a task's runs have the right targets. The links are for people: proctor never follows
// them.

const RUNS: &str = "runs";

/// Checks the entries of a task's directory. `latest` is the run to which the link `latest` should point, with its
/// files.
pub(super) fn check_task(
    base: &Path,
    names: &[(String, InspectedEntry)],
    latest: Option<(&RunId, &InspectedDirectory)>,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    let target = latest.map(|(run_id, _)| Path::new(RUNS).join(run_id.as_str()));
    let entry_at = |name: &str| names.iter().find(|(there, _)| there == name).map(|(_, entry)| entry);
    match (entry_at(LATEST), &target) {
        (Some(InspectedEntry::SymbolicLink(to)), Some(target)) if to == target => {}
        (None, None) => {}
        (there, expected) => {
            let expected = expected.as_ref().map_or("nothing".to_owned(), |target| format!("a link to `{}`", target.display()));
            let detail = format!("{}, and {expected} is expected", describe(there));
            faults.push(EvidenceFault::new(FaultKind::LatestWrong, base.join(LATEST), detail));
        }
    }
    let in_latest =
        |name: &str| latest.is_some_and(|(_, run)| run.entries.contains_key(name.as_bytes())) && name != MANIFEST_NAME;
    for (name, entry) in names.iter().filter(|(name, _)| name != LATEST && name != RUNS) {
        let kind = match entry {
            InspectedEntry::SymbolicLink(to) if *to == Path::new(LATEST).join(name) && in_latest(name) => continue,
            InspectedEntry::SymbolicLink(_) => FaultKind::NameWrong,
            InspectedEntry::File(_) | InspectedEntry::Directory(_) | InspectedEntry::Other | InspectedEntry::Unreadable(_) => {
                FaultKind::Foreign
            }
        };
        faults.push(EvidenceFault::new(kind, base.join(name), describe(Some(entry))));
    }
    let run_names = latest.into_iter().flat_map(|(_, run)| run.entries.keys());
    for name in run_names.filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| *name != MANIFEST_NAME) {
        if entry_at(name).is_none() {
            faults.push(EvidenceFault::new(FaultKind::NameWrong, base.join(name), "there is no link of that name"));
        }
    }
    faults
}

fn describe(entry: Option<&InspectedEntry>) -> String {
    match entry {
        None => "nothing is there".to_owned(),
        Some(InspectedEntry::SymbolicLink(to)) => format!("a link to `{}`", path_text(to)),
        Some(InspectedEntry::File(_)) => "a file".to_owned(),
        Some(InspectedEntry::Directory(_)) => "a directory".to_owned(),
        Some(InspectedEntry::Other) => "a pipe, socket or device".to_owned(),
        Some(InspectedEntry::Unreadable(why)) => why.clone(),
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
