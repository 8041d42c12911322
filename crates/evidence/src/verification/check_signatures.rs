//! Checks that a run has all required signatures, and that the signed content is the present content.

use std::collections::BTreeMap;

use crate::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, STATEMENTS_SUFFIX};
use crate::report::{ExecutionReportV2, attested};
use crate::signing::{Envelope, PublicKey, RunStatements, Statement, StatementForm, verify_for_ssh};
use crate::verification::check_run::{CheckedRun, RunSigner, path_in_run};
use crate::verification::inspect::InspectedDirectory;
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::Digest;

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
