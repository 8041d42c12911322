//! The in-toto statements about a run: a test-result v0.1 and a SLSA provenance v1, exactly as they are defined, because strict
//! readers refuse other keys.
//!
//! Their subject is what was tested: the tree. The test result names checks and tests. It has no values for "timed out" or
//! "moved", so such runs are FAILED in it. The provenance has the exact status among the internal parameters, and the digests of
//! the report and of all other files of the run as byproducts.
//!
//! proctor 0.1.0 wrote another form: the subject was the report, no test was named, and the provenance had a key of proctor's own
//! (`proctor_verdict`). Statements in that form are still verified.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::names::REPORT_NAME;
use crate::report::{AttestedRun, GENERATED_BY};
use proctor_model::{Digest, OverallResult, RunRecord, TreeFormat};

pub(crate) const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
pub(crate) const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const BUILD_TYPE: &str = "urn:proctor:run:v1";

/// The text between a check and the name of one of its tests.
const OF_CHECK: &str = ": ";
/// The lists of a test result, by the keys of its definition.
const LISTS: [&str; 3] = ["passedTests", "warnedTests", "failedTests"];

/// The form of a run's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementForm {
    /// The form of proctor 0.1.0: the subject is the report.
    OfReport,
    /// The form that is written: the subject is the tree.
    OfTree,
}

/// The facts from which the statements about a run are built.
pub(crate) struct RunStatements<'a> {
    pub(crate) form: StatementForm,
    pub(crate) record: &'a RunRecord,
    /// The part of the run's report that goes into the statements.
    pub(crate) attested: &'a AttestedRun,
    /// The SHA-256 of the report's bytes.
    pub(crate) report_digest: Digest,
    /// The SHA-256, by name, of each file of the run except the report, the signatures and the manifest.
    pub(crate) files: &'a BTreeMap<Vec<u8>, Digest>,
}

/// A statement that was read back for verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    value: Value,
}

impl RunStatements<'_> {
    /// Returns the test result and the provenance, each as the bytes to be signed.
    pub(crate) fn to_payloads(&self) -> [Vec<u8>; 2] {
        [(TEST_RESULT, self.test_result()), (PROVENANCE, self.provenance())].map(|(predicate_type, predicate)| {
            let statement = json!({
                "_type": STATEMENT_TYPE,
                "subject": self.subject(),
                "predicateType": predicate_type,
                "predicate": predicate,
            });
            serde_json::to_vec(&statement).expect("its keys are text")
        })
    }

    /// Returns what the statements are about: the tree, or the report if no tree was read before the run ended.
    fn subject(&self) -> Value {
        match (self.form, self.record.tree_digest) {
            (StatementForm::OfTree, Some(tree)) => json!([resource(tree_name(self.record.tree_format), tree.0)]),
            (StatementForm::OfTree, None) | (StatementForm::OfReport, _) => json!([resource(REPORT_NAME, self.report_digest)]),
        }
    }

    fn test_result(&self) -> Value {
        let AttestedRun { passed, warned, failed, tests, .. } = self.attested;
        let result = match self.record.overall_result {
            Some(OverallResult::Passed) if warned.is_empty() => "PASSED",
            Some(OverallResult::Passed) => "WARNED",
            Some(OverallResult::Failed) | None => "FAILED",
        };
        let plan = self.record.plan_digest.map(|digest| resource("plan", digest));
        let files = self.record.configuration.iter().map(|(path, digest)| resource(path, *digest));
        let configuration: Vec<Value> = plan.into_iter().chain(files).collect();
        let mut lists = [passed.clone(), warned.clone(), failed.clone()];
        for of_check in tests {
            let named = |name: &String| format!("{}{OF_CHECK}{name}", of_check.check);
            // A failure that does not fail its check, such as an expected one, is a warning.
            let of_failures = if failed.contains(&of_check.check) { 2 } else { 1 };
            lists[of_failures].extend(of_check.failed.iter().map(named));
            lists[0].extend(of_check.passed.iter().map(named));
        }
        let mut predicate = json!({ "result": result, "configuration": configuration });
        for (key, list) in LISTS.into_iter().zip(lists) {
            predicate[key] = json!(list);
        }
        predicate
    }

    fn provenance(&self) -> Value {
        let RunRecord { run_id, task, tree_digest, environment_digest, overall_status, overall_result, .. } = self.record;
        let tree = tree_digest.map(|digest| resource("tree", digest.0));
        let environment = environment_digest.map(|digest| resource("environment", digest));
        let inputs: Vec<Value> = tree.into_iter().chain(environment).collect();
        let level = self.attested.isolation.map_or(json!("unknown"), |level| json!(level));
        // Each isolation level is a builder of its own, because a reader may trust one and not another.
        let builder = format!("urn:proctor:local:{}:v1", level.as_str().expect("a level is a word"));
        let verdict = json!({
            "overallStatus": overall_status,
            "overallResult": overall_result,
            "reportHash": self.record.report_hash,
        });
        let mut predicate = json!({
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": { "task": task, "checks": self.record.checks },
                "internalParameters": { "project": self.attested.project },
                "resolvedDependencies": inputs,
            },
            "runDetails": {
                "builder": { "id": builder, "version": { "proctor": GENERATED_BY } },
                "metadata": { "invocationId": run_id, "startedOn": self.record.started, "finishedOn": self.record.ended },
                "byproducts": self.byproducts(),
            },
        });
        match self.form {
            StatementForm::OfReport => predicate["runDetails"]["proctor_verdict"] = verdict,
            StatementForm::OfTree => predicate["buildDefinition"]["internalParameters"]["verdict"] = verdict,
        }
        predicate
    }

    fn byproducts(&self) -> Value {
        let report = (self.form == StatementForm::OfTree).then(|| resource(REPORT_NAME, self.report_digest));
        report.into_iter().chain(resources(self.files)).collect()
    }
}

impl Statement {
    /// Parses the payload of an envelope. Returns `None` if it is not an in-toto statement of version 1.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(payload).ok()?;
        (value["_type"] == STATEMENT_TYPE).then_some(Self { value })
    }

    /// Returns the form of a run's statements, from its provenance.
    pub(crate) fn form(&self) -> StatementForm {
        let has_own_key = self.value.pointer("/predicate/runDetails/proctor_verdict").is_some();
        if has_own_key { StatementForm::OfReport } else { StatementForm::OfTree }
    }

    /// Returns whether the report with this digest is the only subject of the statement.
    pub(crate) fn is_about_report(&self, report: Digest) -> bool {
        self.value["subject"] == json!([resource(REPORT_NAME, report)])
    }

    /// Returns whether the statement is about what these facts are about.
    pub(crate) fn is_about(&self, statements: &RunStatements<'_>) -> bool {
        self.value["subject"] == statements.subject()
    }

    /// Returns whether the statement's byproducts are exactly these files, and the report with this digest if the form has it there.
    pub(crate) fn names_files(&self, report: Digest, files: &BTreeMap<Vec<u8>, Digest>, form: StatementForm) -> bool {
        let report = (form == StatementForm::OfTree).then(|| resource(REPORT_NAME, report));
        let expected: Value = report.into_iter().chain(resources(files)).collect();
        self.value.pointer("/predicate/runDetails/byproducts") == Some(&expected)
    }

    /// Returns whether a test result lists a check, or a test, as a warning.
    pub(crate) fn warns_of(&self, name: &str) -> bool {
        self.value["predicate"][LISTS[1]].as_array().is_some_and(|names| names.iter().any(|warned| warned == name))
    }

    /// Returns the tests of a check in the three lists of a test result (passed, warned, failed). The check is named as in the
    /// lists, for example `STEP.1 pytest`.
    pub(crate) fn tests_of(&self, check: &str) -> [Vec<String>; 3] {
        let start = format!("{check}{OF_CHECK}");
        LISTS.map(|key| {
            let names = self.value["predicate"][key].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.filter_map(|name| name.strip_prefix(&start)).map(str::to_owned).collect()
        })
    }

    /// Returns whether the statements are a test result and a provenance, in this order.
    pub(crate) fn is_expected_pair(statements: &[Self]) -> bool {
        let kinds: Vec<_> = statements.iter().map(|statement| &statement.value["predicateType"]).collect();
        kinds == [TEST_RESULT, PROVENANCE]
    }

    /// Returns whether the statement agrees with one that is built from these facts.
    pub(crate) fn agrees_with(&self, statements: &RunStatements<'_>) -> bool {
        let predicate = &self.value["predicate"];
        if self.value["predicateType"] == TEST_RESULT {
            return without_tests(predicate, statements) == Some(statements.test_result());
        }
        let expected = statements.provenance();
        let same = |pointer: &str| predicate.pointer(pointer) == expected.pointer(pointer);
        // proctor's version and the builder are not compared, because another version of proctor need not write the
        // same values.
        ["/buildDefinition", "/runDetails/metadata", "/runDetails/byproducts", "/runDetails/proctor_verdict"]
            .into_iter()
            .all(same)
    }
}

/// Returns a test result without the names of tests, which are in no report; `None` if a list has something that is neither a check
/// nor the test of a check.
fn without_tests(predicate: &Value, statements: &RunStatements<'_>) -> Option<Value> {
    if statements.form == StatementForm::OfReport {
        return Some(predicate.clone());
    }
    let AttestedRun { passed, warned, failed, .. } = statements.attested;
    let checks: Vec<&String> = passed.iter().chain(warned).chain(failed).collect();
    let is_test =
        |name: &str| checks.iter().any(|check| name.strip_prefix(check.as_str()).is_some_and(|rest| rest.starts_with(OF_CHECK)));
    let mut rest = predicate.clone();
    for key in LISTS {
        let mut of_checks = Vec::new();
        for name in predicate[key].as_array()? {
            let text = name.as_str()?;
            if checks.iter().any(|check| check.as_str() == text) {
                of_checks.push(name.clone());
            } else if !is_test(text) {
                return None;
            }
        }
        rest[key] = Value::from(of_checks);
    }
    Some(rest)
}

/// Returns the name of a tree as a subject: the format of its digest.
pub(crate) fn tree_name(format: TreeFormat) -> &'static str {
    match format {
        TreeFormat::V1 => "proctor-tree-v1",
        TreeFormat::V2 => "proctor-tree-v2",
        TreeFormat::V3 => "proctor-tree-v3",
    }
}

fn resources(files: &BTreeMap<Vec<u8>, Digest>) -> Vec<Value> {
    files.iter().map(|(name, digest)| resource(&String::from_utf8_lossy(name), *digest)).collect()
}

fn resource(name: &str, digest: Digest) -> Value {
    json!({ "name": name, "digest": { "sha256": digest } })
}
