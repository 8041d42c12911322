//! Whether a run is signed by whom it must be signed by, and whether what was signed is what lies there.

use std::collections::BTreeMap;

use crate::evidence::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, STATEMENTS_SUFFIX};
use crate::evidence::signing::{Envelope, PublicKey, RunStatements, Statement, verify_for_ssh};
use crate::evidence::verification::check_run::{RunContext, SignedBy, named};
use crate::evidence::verification::look::FoundDirectory;
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::Digest;
use crate::report::{ExecutionReportV2, attested};

/// Checks the signatures of a run. One of before signatures must have none: whoever puts some there has something in mind.
pub(super) fn check_signatures(
    found: &FoundDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    parsed: Option<&ExecutionReportV2>,
    context: &RunContext<'_>,
    faults: &mut Vec<Fault>,
) {
    let SignedBy::Key(key) = context.signed else { return };
    check_ssh(found, key, context, faults);
    let names: Vec<String> = found
        .entries
        .keys()
        .filter_map(|name| String::from_utf8(name.clone()).ok())
        .filter(|name| name.ends_with(STATEMENTS_SUFFIX))
        .collect();
    let [name] = names.as_slice() else {
        // What the manifest has and is not there was named; a run that never had it is named here.
        if !manifest.keys().any(|name| name.ends_with(STATEMENTS_SUFFIX.as_bytes())) {
            let detail = format!("a file `<run>{STATEMENTS_SUFFIX}` is expected");
            faults.push(Fault::of(FaultKind::SignatureMissing, context.base, detail));
        }
        return;
    };
    let expected = context.record.map(|record| format!("{}{STATEMENTS_SUFFIX}", record.run_id));
    if let Some(expected) = expected.filter(|expected| expected != name) {
        let detail = format!("`{expected}` is expected");
        faults.push(Fault::of(FaultKind::StatementsWrong, named(context, name), detail));
    }
    let statements = found.content(name).map(|bytes| open(bytes, key));
    match statements {
        None => {}
        Some(None) => {
            let detail = format!("key {} is expected", key.id().short());
            faults.push(Fault::of(FaultKind::SignatureWrong, named(context, name), detail));
        }
        Some(Some(statements)) => check_statements(found, manifest, statements, parsed, context, name, faults),
    }
}

fn check_ssh(found: &FoundDirectory, key: &PublicKey, context: &RunContext<'_>, faults: &mut Vec<Fault>) {
    match (found.content(REPORT_NAME), found.content(SIGNATURE_NAME)) {
        (Some(report), Some(signature)) if !verify_for_ssh(report, signature, key) => {
            let detail = format!("key {} is expected", key.id().short());
            faults.push(Fault::of(FaultKind::SignatureWrong, named(context, SIGNATURE_NAME), detail));
        }
        (Some(_), None) => {
            let detail = "the report is not signed".to_owned();
            faults.push(Fault::of(FaultKind::SignatureMissing, named(context, SIGNATURE_NAME), detail));
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
}

/// Opens every envelope; none unless all of them are by the key.
fn open(bytes: &[u8], key: &PublicKey) -> Option<Vec<Option<Statement>>> {
    let lines = bytes.strip_suffix(b"\n")?.split(|byte| *byte == b'\n');
    lines.map(|line| Some(Statement::parse(&Envelope::parse(line)?.open(key)?.payload))).collect()
}

fn check_statements(
    found: &FoundDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    statements: Vec<Option<Statement>>,
    parsed: Option<&ExecutionReportV2>,
    context: &RunContext<'_>,
    name: &str,
    faults: &mut Vec<Fault>,
) {
    let read: Option<Vec<Statement>> = statements.into_iter().collect();
    let Some(read) = read.filter(|read| Statement::are_both_kinds(read)) else {
        let detail = "one test result and one provenance, in this order, are expected".to_owned();
        faults.push(Fault::of(FaultKind::StatementsWrong, named(context, name), detail));
        return;
    };
    let mut fault = |detail: &str| faults.push(Fault::of(FaultKind::StatementDisagrees, named(context, name), detail));
    let Some(report) = found.file(REPORT_NAME) else { return };
    if !read.iter().all(|statement| statement.is_about(report.sha256)) {
        fault("its subject is another report");
    }
    let of_the_run = |name: &Vec<u8>| {
        ![REPORT_NAME, SIGNATURE_NAME, MANIFEST_NAME].iter().any(|own| own.as_bytes() == name.as_slice())
            && !name.ends_with(STATEMENTS_SUFFIX.as_bytes())
    };
    let files: BTreeMap<_, _> =
        manifest.iter().filter(|(name, _)| of_the_run(name)).map(|(name, digest)| (name.clone(), *digest)).collect();
    if !read.iter().any(|statement| statement.names_files(&files)) {
        fault("its files are not those of the manifest");
    }
    let (Some(record), Some(parsed)) = (context.record, parsed) else { return };
    let attested = attested(parsed);
    let expected = RunStatements { record, attested: &attested, report: report.sha256, files: &files };
    if !read.iter().all(|statement| statement.agrees_with(&expected)) {
        fault("what it says of the run is not what ledger and report say");
    }
}
