//! The in-toto statements about a run: a test-result v0.1, exactly as it is defined, and a SLSA provenance v1, which
//! contains the whole verdict and the digests of the run's files.
//!
//! The test result has only the keys of its definition, because strict readers refuse others. It has no values for
//! "timed out" or "moved", so such runs are FAILED in it. The provenance contains the exact status.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::evidence::names::REPORT_NAME;
use crate::model::{Digest, OverallResult, RunRecord};
use crate::report::{AttestedRun, GENERATED_BY};

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const BUILD_TYPE: &str = "urn:proctor:run:v1";

/// The facts from which the statements about a run are built.
pub(in crate::evidence) struct RunStatements<'a> {
    pub(in crate::evidence) record: &'a RunRecord,
    /// The part of the run's report that goes into the statements.
    pub(in crate::evidence) attested: &'a AttestedRun,
    /// The SHA-256 of the report's bytes.
    pub(in crate::evidence) report_digest: Digest,
    /// The SHA-256, by name, of each file of the run except the report, the signatures and the manifest.
    pub(in crate::evidence) files: &'a BTreeMap<Vec<u8>, Digest>,
}

/// A statement that was read back for verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::evidence) struct Statement {
    value: Value,
}

impl RunStatements<'_> {
    /// Returns both statements, each as the bytes to be signed.
    pub(in crate::evidence) fn to_payloads(&self) -> [Vec<u8>; 2] {
        [(TEST_RESULT, self.test_result()), (PROVENANCE, self.provenance())].map(|(predicate_type, predicate)| {
            let statement = json!({
                "_type": STATEMENT_TYPE,
                "subject": [resource(REPORT_NAME, self.report_digest)],
                "predicateType": predicate_type,
                "predicate": predicate,
            });
            serde_json::to_vec(&statement).expect("its keys are text")
        })
    }

    fn test_result(&self) -> Value {
        let AttestedRun { passed, warned, failed, .. } = self.attested;
        let result = match self.record.overall_result {
            Some(OverallResult::Passed) if warned.is_empty() => "PASSED",
            Some(OverallResult::Passed) => "WARNED",
            Some(OverallResult::Failed) | None => "FAILED",
        };
        let plan = self.record.plan_digest.map(|digest| resource("plan", digest));
        let files = self.record.configuration.iter().map(|(path, digest)| resource(path, *digest));
        let configuration: Vec<Value> = plan.into_iter().chain(files).collect();
        json!({
            "result": result,
            "configuration": configuration,
            "passedTests": passed,
            "warnedTests": warned,
            "failedTests": failed,
        })
    }

    fn provenance(&self) -> Value {
        let RunRecord { run_id, task, tree_digest, environment_digest, overall_status, overall_result, .. } = self.record;
        let tree = tree_digest.map(|digest| resource("tree", digest.0));
        let environment = environment_digest.map(|digest| resource("environment", digest));
        let inputs: Vec<Value> = tree.into_iter().chain(environment).collect();
        let level = self.attested.isolation.map_or(json!("unknown"), |level| json!(level));
        // Each isolation level is a builder of its own, because a reader may trust one and not another.
        let builder = format!("urn:proctor:local:{}:v1", level.as_str().expect("a level is a word"));
        json!({
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": { "task": task, "checks": self.record.checks },
                "internalParameters": { "project": self.attested.project },
                "resolvedDependencies": inputs,
            },
            "runDetails": {
                "builder": { "id": builder, "version": { "proctor": GENERATED_BY } },
                "metadata": { "invocationId": run_id, "startedOn": self.record.started, "finishedOn": self.record.ended },
                "byproducts": resources(self.files),
                "proctor_verdict": {
                    "overallStatus": overall_status,
                    "overallResult": overall_result,
                    "reportHash": self.record.report_hash,
                },
            },
        })
    }
}

impl Statement {
    /// Parses the payload of an envelope. Returns `None` if it is not an in-toto statement of version 1.
    pub(in crate::evidence) fn parse(payload: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(payload).ok()?;
        (value["_type"] == STATEMENT_TYPE).then_some(Self { value })
    }

    /// Returns whether the report with this digest is the only subject of the statement.
    pub(in crate::evidence) fn is_about(&self, report: Digest) -> bool {
        self.value["subject"] == json!([resource(REPORT_NAME, report)])
    }

    /// Returns whether the statement's byproducts are exactly these files.
    pub(in crate::evidence) fn names_files(&self, files: &BTreeMap<Vec<u8>, Digest>) -> bool {
        self.value.pointer("/predicate/runDetails/byproducts") == Some(&Value::from(resources(files)))
    }

    /// Returns whether the statements are a test result and a provenance, in this order.
    pub(in crate::evidence) fn is_expected_pair(statements: &[Self]) -> bool {
        let kinds: Vec<_> = statements.iter().map(|statement| &statement.value["predicateType"]).collect();
        kinds == [TEST_RESULT, PROVENANCE]
    }

    /// Returns whether the statement agrees with one that is built from these facts.
    pub(in crate::evidence) fn agrees_with(&self, statements: &RunStatements<'_>) -> bool {
        let predicate = &self.value["predicate"];
        if self.value["predicateType"] == TEST_RESULT {
            return *predicate == statements.test_result();
        }
        let expected = statements.provenance();
        let same = |pointer: &str| predicate.pointer(pointer) == expected.pointer(pointer);
        // proctor's version and the builder are not compared, because another version of proctor need not write the
        // same.
        ["/buildDefinition", "/runDetails/metadata", "/runDetails/byproducts", "/runDetails/proctor_verdict"]
            .into_iter()
            .all(same)
    }
}

fn resources(files: &BTreeMap<Vec<u8>, Digest>) -> Vec<Value> {
    files.iter().map(|(name, digest)| resource(&String::from_utf8_lossy(name), *digest)).collect()
}

fn resource(name: &str, digest: Digest) -> Value {
    json!({ "name": name, "digest": { "sha256": digest } })
}
