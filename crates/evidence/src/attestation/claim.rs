//! What a key says of a commit's content: the result of one run on it, as an in-toto test result v0.1.
//!
//! The definition has no place for what a policy asks of a run, so that is in the annotations of its `configuration`, which are free.
//! Nothing in a claim names a host, a user, an absolute path or output: whoever makes one redacts the names of checks and tests.

use std::collections::{BTreeMap, BTreeSet};

use proctor_wire::wire;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::signing::{STATEMENT_TYPE, TEST_RESULT, tree_name};
use proctor_git::ObjectId;
use proctor_model::{
    Blocking, ClaimOrigin, ClaimSigner, ClaimedCheck, ClaimedResult, Digest, GateClaim, IsolationLevel, OverallResult, RunId,
    TaskId, Timestamp, TreeDigest, TreeFormat, TreePath,
};

/// The name and version of the annotations. Another version is not understood.
const FORMAT: &str = "proctor-attestation-v1";
/// The name of the subject that is git's tree object.
const GIT_TREE: &str = "git-tree";
/// The name of the subject that is git's commit.
const GIT_COMMIT: &str = "git-commit";
/// The place of the annotations in a statement.
const ANNOTATIONS: &str = "/predicate/configuration/0/annotations";

/// The result of a run on the content of a commit, as it is told to other people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitClaim {
    /// The tree object of the whole commit.
    pub git_tree: ObjectId,
    /// The commit; `None` if the person named none. The content decides, so a claim without it says as much.
    pub commit: Option<ObjectId>,
    /// The project's directory in the repository.
    pub below: TreePath,
    /// The tree digest of the project.
    pub tree: TreeDigest,
    pub tree_format: TreeFormat,
    /// The hash of the run's report, as the report's own field `authenticity.reportHash` has it.
    pub report: Digest,
    /// The id of the key that signs the claim.
    pub key: Digest,
    /// The verdict. [`GateClaim::verdict`] is the same.
    pub result: OverallResult,
    /// What a policy judges. Whose word it is, is no part of the statement: in a claim that was read, every origin is
    /// [`ClaimSigner::NotAllowed`] until the reader says otherwise.
    pub claim: GateClaim,
    /// The checks and tests that passed, such as `STEP.1 pytest` and `STEP.1 pytest: tests/test_a.py::test_b`.
    pub passed: Vec<String>,
    /// The checks that failed without making the run fail, and the tests that failed without making their check fail.
    pub warned: Vec<String>,
    /// The checks and tests that failed.
    pub failed: Vec<String>,
    /// The checks of the task that failed and passed on this content, by name.
    pub flipped: Vec<ClaimedFlip>,
    /// The programs and installed packages of the run; `None` if they are not known, and in claims of earlier versions of proctor.
    pub environment: Option<ClaimedEnvironment>,
}

/// The programs and installed packages with which a run was made, so that another machine can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimedEnvironment {
    /// The contents of the programs outside of the checkout.
    pub programs: BTreeSet<Digest>,
    /// The contents of the directories of installed packages in the checkout, by path, with the path of the checkout taken out of them.
    pub installed: BTreeMap<String, Digest>,
}

/// How often a check failed on one content, and how often it passed since.
#[wire(open)]
pub struct ClaimedFlip {
    pub check: String,
    pub failed_runs: u32,
    /// The runs in a row in which it passed since it failed last.
    pub passed_runs: u32,
}

impl CommitClaim {
    /// Returns the statement, as the bytes to be signed.
    pub fn to_statement(&self) -> Vec<u8> {
        let checks =
            self.claim.checks.as_ref().map(|checks| checks.iter().map(|check| self.check_value(check)).collect::<Vec<_>>());
        let mut annotations = json!({
            "format": FORMAT,
            "key": self.key,
            "task": self.claim.task,
            "plan": self.claim.plan,
            "exit": self.claim.exit,
            "run": origin_value(&self.claim.origin),
            "checks": checks,
        });
        if !self.flipped.is_empty() {
            annotations["flipped"] = json!(self.flipped);
        }
        if let Some(environment) = &self.environment {
            annotations["environment"] = json!(environment);
        }
        let result = match self.result {
            OverallResult::Passed if self.warned.is_empty() => "PASSED",
            OverallResult::Passed => "WARNED",
            OverallResult::Failed => "FAILED",
        };
        let statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": self.subject(),
            "predicateType": TEST_RESULT,
            "predicate": {
                "result": result,
                "configuration": [{ "name": "report", "digest": { "sha256": self.report }, "annotations": annotations }],
                "passedTests": self.passed,
                "warnedTests": self.warned,
                "failedTests": self.failed,
            },
        });
        serde_json::to_vec(&statement).expect("its keys are text")
    }

    /// Returns what the claim is about: git's tree, the project's tree, and the commit if one was named.
    pub(super) fn subject(&self) -> Vec<Value> {
        let tree = json!({ "name": GIT_TREE, "digest": { "gitTree": self.git_tree.hex() } });
        let format = tree_name(self.tree_format);
        let name = if self.below.is_root() { format.to_owned() } else { format!("{format}:{}", self.below) };
        let digest = json!({ "name": name, "digest": { "sha256": self.tree.0 } });
        let commit = self.commit.map(|commit| json!({ "name": GIT_COMMIT, "digest": { "gitCommit": commit.hex() } }));
        [tree, digest].into_iter().chain(commit).collect()
    }

    /// Returns a check. For a reused result it names the run that carried the check out, or says that this run is not known.
    fn check_value(&self, check: &ClaimedCheck) -> Value {
        let Some(result) = &check.result else { return json!({ "name": check.name, "result": "not-run" }) };
        let word = match (result.blocking, result.succeeded) {
            (Blocking::Blocks, _) => "failed",
            (Blocking::Allowed, Some(true)) => "passed",
            (Blocking::Allowed, Some(false)) => "warned",
            (Blocking::Allowed, None) => "allowed",
        };
        match &result.origin {
            Some(origin) if *origin == self.claim.origin => json!({ "name": check.name, "result": word }),
            origin => json!({ "name": check.name, "result": word, "reusedFrom": origin.as_ref().map(origin_value) }),
        }
    }

    /// Returns when the last of the runs had ended of which the claim says something.
    pub fn latest_end(&self) -> Timestamp {
        let checks = self.claim.checks.iter().flatten();
        let origins = checks.filter_map(|check| check.result.as_ref()?.origin.as_ref());
        origins.map(|origin| origin.ended).fold(self.claim.origin.ended, Timestamp::max)
    }

    /// Returns what a policy judges, as the word of the signer whose key signed the statement.
    pub fn into_claim_of(self, signer: &ClaimSigner) -> GateClaim {
        let mut claim = self.claim;
        claim.origin.signer = signer.clone();
        let results = claim.checks.iter_mut().flatten().filter_map(|check| check.result.as_mut());
        results.filter_map(|result| result.origin.as_mut()).for_each(|origin| origin.signer = signer.clone());
        claim
    }

    /// Reads a statement back. Only what this version writes is understood: a statement with anything else in it, or with the same in
    /// another form, is `None`, because what is passed over could change what the rest means.
    pub fn parse(statement: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(statement).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let names = |pointer: &str| part::<Vec<String>>(value.pointer(pointer)?);
        let noted = value.pointer(ANNOTATIONS)?;
        let key: Digest = part(&noted["key"])?;
        let origin = parse_origin(&noted["run"], key)?;
        let checks: Vec<ClaimedCheck> =
            noted["checks"].as_array()?.iter().map(|check| parse_check(check, &origin, key)).collect::<Option<_>>()?;
        if !have_names_of_their_own(&checks) {
            return None;
        }
        let named = text("/subject/1/name")?;
        let computed = [TreeFormat::V2, TreeFormat::V3].into_iter();
        let (tree_format, below) = computed.filter_map(|format| Some((format, named.strip_prefix(tree_name(format))?))).next()?;
        let result = match text("/predicate/result")? {
            "PASSED" | "WARNED" => OverallResult::Passed,
            "FAILED" => OverallResult::Failed,
            _ => return None,
        };
        let claim = Self {
            git_tree: ObjectId::parse(text("/subject/0/digest/gitTree")?)?,
            commit: text("/subject/2/digest/gitCommit").and_then(ObjectId::parse),
            below: if below.is_empty() { TreePath::root() } else { TreePath::try_from(below.strip_prefix(':')?).ok()? },
            tree: TreeDigest(part(value.pointer("/subject/1/digest/sha256")?)?),
            tree_format,
            report: part(value.pointer("/predicate/configuration/0/digest/sha256")?)?,
            key,
            result,
            claim: GateClaim {
                run: origin.run.clone(),
                task: part::<TaskId>(&noted["task"])?,
                plan: part(&noted["plan"])?,
                verdict: Some(result),
                exit: part(&noted["exit"])?,
                checks: Some(checks),
                origin,
            },
            passed: names("/predicate/passedTests")?,
            warned: names("/predicate/warnedTests")?,
            failed: names("/predicate/failedTests")?,
            flipped: noted.get("flipped").map_or(Some(Vec::new()), part)?,
            environment: match noted.get("environment") {
                Some(environment) => Some(part(environment)?),
                None => None,
            },
        };
        (claim.to_statement() == statement).then_some(claim)
    }
}

/// Returns whether no two checks have the same name: a policy asks for checks by their names.
fn have_names_of_their_own(checks: &[ClaimedCheck]) -> bool {
    let names: BTreeSet<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    names.len() == checks.len()
}

fn part<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

fn origin_value(origin: &ClaimOrigin) -> Value {
    json!({ "id": origin.run, "isolation": origin.level.word(), "ended": origin.ended, "conditions": origin.conditions })
}

fn parse_origin(value: &Value, key: Digest) -> Option<ClaimOrigin> {
    Some(ClaimOrigin {
        run: part::<RunId>(&value["id"])?,
        signer: ClaimSigner::NotAllowed { key: key.hex() },
        level: IsolationLevel::ALL.into_iter().find(|level| Some(level.word()) == value["isolation"].as_str())?,
        ended: part::<Timestamp>(&value["ended"])?,
        conditions: part(&value["conditions"])?,
    })
}

fn parse_check(value: &Value, own: &ClaimOrigin, key: Digest) -> Option<ClaimedCheck> {
    let outcome = match value["result"].as_str()? {
        "passed" => Some((Blocking::Allowed, Some(true))),
        "warned" => Some((Blocking::Allowed, Some(false))),
        "allowed" => Some((Blocking::Allowed, None)),
        "failed" => Some((Blocking::Blocks, Some(false))),
        "not-run" => None,
        _ => return None,
    };
    let origin = match value.get("reusedFrom") {
        None => Some(own.clone()),
        Some(Value::Null) => None,
        Some(reused) => Some(parse_origin(reused, key)?),
    };
    let result = outcome.map(|(blocking, succeeded)| ClaimedResult { blocking, succeeded, origin });
    Some(ClaimedCheck { name: part(&value["name"])?, result })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proctor_model::{CommandExit, IgnoredFiles, RunConditions};

    fn origin(key: Digest, number: u64) -> ClaimOrigin {
        let ended = Timestamp::from_millis(1_700_000_000_123);
        let ignored = IgnoredFiles { count: 1, paths: vec![".env".to_owned()], others: Vec::new() };
        ClaimOrigin {
            run: RunId::new(ended, number),
            signer: ClaimSigner::NotAllowed { key: key.hex() },
            level: IsolationLevel::Landlock,
            ended,
            conditions: Some(RunConditions {
                platform: "linux-x86_64".to_owned(),
                directory: None,
                ignored: Some(ignored),
                caches: None,
                rewritten: Vec::new(),
                restored: Vec::new(),
                unnamed: Vec::new(),
                left_in_environment: std::collections::BTreeMap::new(),
                toolchains: Vec::new(),
                inputs: None,
                toolchains_looked: None,
                other_programs: Vec::new(),
                rules_changed: None,
                tests_not_run: None,
                head: None,
                fewer_tests: None,
            }),
        }
    }

    fn check(name: &str, blocking: Blocking, origin: Option<ClaimOrigin>) -> ClaimedCheck {
        ClaimedCheck {
            name: name.to_owned(),
            result: Some(ClaimedResult { blocking, succeeded: Some(blocking == Blocking::Allowed), origin }),
        }
    }

    /// Returns a claim of a run that passed, without a signature.
    pub(in crate::attestation) fn claim(key: Digest) -> CommitClaim {
        let origin = origin(key, 7);
        let left_out = ClaimedCheck { name: "mypy".to_owned(), result: None };
        CommitClaim {
            git_tree: ObjectId::parse(&"1".repeat(40)).unwrap(),
            commit: None,
            below: TreePath::root(),
            tree: TreeDigest(Digest::of(b"tree")),
            tree_format: TreeFormat::V2,
            report: Digest::of(b"report"),
            key,
            result: OverallResult::Passed,
            claim: GateClaim {
                run: origin.run.clone(),
                task: TaskId::default_task(),
                plan: Some(Digest::of(b"plan")),
                verdict: Some(OverallResult::Passed),
                exit: Some(CommandExit::Proceed),
                checks: Some(vec![check("pytest", Blocking::Allowed, Some(origin.clone())), left_out]),
                origin,
            },
            passed: vec!["STEP.1 pytest".to_owned(), "STEP.1 pytest: test_a".to_owned()],
            warned: Vec::new(),
            failed: Vec::new(),
            flipped: Vec::new(),
            environment: None,
        }
    }

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        let key = Digest::of(b"key");
        let mut failed = claim(key);
        failed.below = TreePath::try_from("sub/project").unwrap();
        failed.commit = ObjectId::parse(&"2".repeat(40));
        failed.result = OverallResult::Failed;
        failed.claim.verdict = Some(OverallResult::Failed);
        (failed.claim.plan, failed.claim.exit, failed.claim.origin.conditions) = (None, None, None);
        failed.claim.checks = Some(vec![
            check("unit \u{1b}[2J", Blocking::Blocks, Some(failed.claim.origin.clone())),
            check("of another run", Blocking::Allowed, Some(origin(key, 3))),
            check("of an unknown run", Blocking::Allowed, None),
        ]);
        let mut warned = claim(key);
        warned.warned = vec!["STEP.2 lint".to_owned()];
        warned.tree_format = TreeFormat::V3;
        warned.flipped = vec![ClaimedFlip { check: "pytest".to_owned(), failed_runs: 1, passed_runs: 11 }];
        let programs = [Digest::of(b"python")].into();
        warned.environment = Some(ClaimedEnvironment { programs, installed: BTreeMap::new() });
        for claim in [claim(key), failed, warned] {
            assert_eq!(CommitClaim::parse(&claim.to_statement()), Some(claim));
        }
    }

    #[test]
    fn a_claim_with_two_checks_of_one_name_is_none() {
        let mut twice = claim(Digest::of(b"key"));
        let passed = twice.claim.checks.as_ref().unwrap()[0].clone();
        twice.claim.checks.as_mut().unwrap().push(ClaimedCheck { result: None, ..passed });
        assert_eq!(CommitClaim::parse(&twice.to_statement()), None);
    }

    #[test]
    fn a_statement_with_anything_more_or_in_another_form_is_none() {
        let statement = claim(Digest::of(b"key")).to_statement();
        let text = String::from_utf8(statement.clone()).unwrap();
        let mut more: Value = serde_json::from_slice(&statement).unwrap();
        more["predicate"]["except"] = json!("everything");
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for other in [
            serde_json::to_string(&more).unwrap(),
            serde_json::to_string_pretty(&serde_json::from_slice::<Value>(&statement).unwrap()).unwrap(),
            text.replace("\"result\":\"PASSED\"", "\"result\":\"FAILED\",\"result\":\"PASSED\""),
            text.replace("proctor-attestation-v1", "proctor-attestation-v2"),
            text.replace("proctor-tree-v2", "proctor-tree-v1"),
            text.replace("\"plan\":\"", "\"plan\":\"0"),
            text.replace("PASSED", "WARNED"),
            text.replace("landlock", "none"),
            text.replacen(&"1".repeat(40), "HEAD", 1),
            text.replace("\"ended\":\"2023", "\"ended\":\"later"),
            text.replace("\"result\":\"not-run\"", "\"result\":\"not-run\",\"reusedFrom\":null"),
            format!("{text} "),
            deep,
            String::new(),
            "null".to_owned(),
        ] {
            assert_ne!(other, text);
            assert_eq!(CommitClaim::parse(other.as_bytes()), None, "{}", &other[..other.len().min(400)]);
        }
    }
}
