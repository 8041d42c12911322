//! The bytes that a person signs to approve a plan, and the rule that decides whether an approval in the ledger counts
//! (S7). Pure functions.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::protected::approved_by_rule;
use proctor_evidence::{EvidenceFault, FaultKind, approving_signer};
use proctor_model::{
    ApprovalReason, ApprovalRecord, ApprovingLine, CurrentApproval, Digest, JudgedSettings, LedgerBody, LedgerLine, PlanTerms,
    ProjectId, RuleDifference, TaskId,
};
use proctor_plan::spec::{compare_settings, compare_terms, first_settings};

/// The name and version of the signed format.
const SCHEMA: &str = "proctor-approval-v1";

/// The content that a person signs. It contains the number of the ledger line with the approval that the new approval
/// replaces. So a signature can be used only once: returning to an earlier plan needs a new signature.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApprovalRequestV1<'a> {
    schema: &'static str,
    project: &'a ProjectId,
    task: &'a TaskId,
    file: &'a str,
    /// The sequence number of the ledger line with the task's current approval, which the signed approval replaces.
    replaces: u64,
    plan_digest: Digest,
    /// The digest of the plan's terms, written as canonical JSON, without what was found of the programs: a person signs
    /// what the plan says, and may sign it on another day, with another search path.
    terms_digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    protected_digest: Option<Digest>,
    weakened: &'a [String],
}

/// Returns the bytes that a person signs to approve `record` in place of the current approval `held`: canonical JSON
/// (RFC 8785) on one line.
pub(crate) fn approval_request(project: &ProjectId, held: &CurrentApproval, record: &ApprovalRecord) -> Vec<u8> {
    let mut terms = record.terms.clone();
    terms.actions.values_mut().for_each(|action| action.program = None);
    terms.in_front = None;
    let request = ApprovalRequestV1 {
        schema: SCHEMA,
        project,
        task: &record.task,
        file: &record.file,
        replaces: held.sequence.0,
        plan_digest: record.plan_digest,
        terms_digest: Digest::of(&canonical(&terms)),
        protected_digest: record.protected.as_ref().map(|protected| protected.digest()),
        weakened: &record.weakened,
    };
    let mut bytes = canonical(&request);
    bytes.push(b'\n');
    bytes
}

/// Returns whether a ledger line that approves a plan is valid, given the task's current approval. An approval by a
/// person must have a signature if the current approval requires signatures, and a signature that is there must be
/// right. Where signatures are required, an automatic approval must change no rule.
pub fn approval_counts(project: &ProjectId, held: &CurrentApproval, body: &LedgerBody) -> bool {
    objection(project, held, body).is_none()
}

/// Returns a fault for every approval in a ledger that is not valid, such as one with a wrong signature.
pub fn approval_faults(project: &ProjectId, file: &Path, lines: &[(u64, LedgerLine)]) -> Vec<EvidenceFault> {
    let mut held: BTreeMap<TaskId, CurrentApproval> = BTreeMap::new();
    let mut held_settings: Option<JudgedSettings> = None;
    let mut faults = Vec::new();
    for (_, line) in lines {
        let Some((task, approved)) = approved(line) else { continue };
        if let Some(settings) = &approved.terms.settings {
            if let Some(why) = settings_objection(held_settings.as_ref(), settings, &line.body) {
                faults.push(EvidenceFault::new(FaultKind::ApprovalWrong, file, format!("line {}: {why}", line.sequence.0)));
                continue;
            }
            held_settings = Some(settings.clone());
        }
        if let Some(why) = held.get(&task).and_then(|held| objection(project, held, &line.body)) {
            faults.push(EvidenceFault::new(FaultKind::ApprovalWrong, file, format!("line {}: {why}", line.sequence.0)));
            continue;
        }
        let protected = approved.protected.or_else(|| held.get(&task)?.protected.clone());
        held.insert(task, CurrentApproval { protected, ..approved });
    }
    faults
}

/// Returns why a ledger line cannot approve the settings of the project; `None` if it can, or if it approves nothing.
/// Only a person approves settings that open more than the approved ones. Other differences are no fault: earlier versions of proctor
/// approved some of them by a rule.
fn settings_objection(held: Option<&JudgedSettings>, settings: &JudgedSettings, body: &LedgerBody) -> Option<String> {
    let is_by_person = match body.approving()? {
        ApprovingLine::Approved(record) => record.reason == ApprovalReason::Person,
        ApprovingLine::Registered(_) => false,
    };
    let before = held.map_or_else(|| first_settings(settings), Clone::clone);
    let opens = compare_settings(&before, settings, &JudgedSettings::default()).opens;
    (!is_by_person).then(|| unapproved(&RuleDifference { opens, changed: Vec::new() })).flatten()
}

/// Returns the task and the approval in a ledger line; `None` if the line approves nothing.
fn approved(line: &LedgerLine) -> Option<(TaskId, CurrentApproval)> {
    let (task, plan_digest, terms, protected) = match line.body.approving()? {
        ApprovingLine::Registered(record) => {
            (TaskId::default_task(), record.plan_digest, (**record.terms.as_ref()?).clone(), None)
        }
        ApprovingLine::Approved(record) => {
            (record.task.clone(), record.plan_digest, record.terms.clone(), record.protected.clone())
        }
    };
    Some((task, CurrentApproval { sequence: line.sequence, plan_digest, terms, protected }))
}

/// Returns why a ledger line does not count as an approval; `None` if the approval is valid, or if the line approves
/// nothing.
///
/// If no signature is required, an unsigned approval is always valid, because nothing can prove that a person gave it
/// (S7). A signature that is present must be valid in any case.
fn objection(project: &ProjectId, held: &CurrentApproval, body: &LedgerBody) -> Option<String> {
    let rules = &held.terms.approval;
    match body.approving()? {
        ApprovingLine::Approved(record) if record.reason == ApprovalReason::Person => match &record.signature {
            None => rules.require_signature.then(|| "it is not signed, and a signature is required".to_owned()),
            Some(signature) => {
                let signer = approving_signer(&approval_request(project, held, record), signature, &rules.signers);
                signer.is_none().then(|| "its signature is not one of it by a key that may approve".to_owned())
            }
        },
        ApprovingLine::Approved(record) if rules.require_signature => by_rule(held, &record.terms).or_else(|| {
            let now = record.protected.as_ref()?;
            let allowed = approved_by_rule(Some(held), now.clone(), &record.terms.approval.protect);
            (allowed != *now).then(|| "no person approved it, and protected files are others in it".to_owned())
        }),
        ApprovingLine::Registered(record) if rules.require_signature => by_rule(held, record.terms.as_ref()?),
        ApprovingLine::Approved(_) | ApprovingLine::Registered(_) => None,
    }
}

/// Returns why an automatic approval is not valid: its rules are not those that were approved, and only a person may approve others. Of
/// an approval by an earlier version of proctor, which did not record what checks wait for, only what opens the machine is a fault:
/// these versions approved stricter rules without a person.
fn by_rule(held: &CurrentApproval, terms: &PlanTerms) -> Option<String> {
    let mut difference = compare_terms(&held.terms, terms);
    if terms.actions.values().any(|action| action.after.is_none()) {
        difference.changed.clear();
    }
    unapproved(&difference)
}

fn unapproved(difference: &RuleDifference) -> Option<String> {
    let texts = difference.texts();
    (!texts.is_empty()).then(|| format!("no person approved it, and it changes: {}", texts.join("; ")))
}

fn canonical(value: &impl Serialize) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("terms hold nothing that JSON cannot")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing::empty_plan as plan;
    use proctor_model::testing::ledger_line;
    use proctor_model::{AllowedSigner, Plan, ProtectedFiles, RegistrationRecord, Sequence};
    use proctor_plan::spec::{plan_digest, plan_terms};

    fn project() -> ProjectId {
        ProjectId::mint("shop", 1)
    }

    /// Returns a plan whose approvals need a signature. It has a time limit for all checks together.
    fn with_limit(seconds: u64) -> Plan {
        let mut plan = plan();
        plan.timeout = Some(std::time::Duration::from_secs(seconds));
        plan.approval.protect = vec!["tests/**".to_owned()];
        plan.approval.require_signature = true;
        plan.approval.signers = vec![AllowedSigner { principals: "lead".to_owned(), key: "ssh-ed25519 AAAA".to_owned() }];
        plan
    }

    fn files(pairs: &[(&str, &str)]) -> ProtectedFiles {
        ProtectedFiles { files: pairs.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect() }
    }

    fn record(plan: &Plan, reason: ApprovalReason, protected: &[(&str, &str)]) -> ApprovalRecord {
        ApprovalRecord {
            task: plan.task.clone(),
            file: "proctor.toml".to_owned(),
            plan_digest: plan_digest(plan),
            reason,
            weakened: Vec::new(),
            terms: plan_terms(plan),
            protected: Some(files(protected)),
            signature: None,
        }
    }

    fn registration(plan: &Plan) -> LedgerBody {
        LedgerBody::Registered(RegistrationRecord {
            project_id: project(),
            path: "/srv/shop".to_owned(),
            device: 1,
            inode: 1,
            git_common_directory: None,
            plan_digest: plan_digest(plan),
            terms: Some(Box::new(plan_terms(plan))),
        })
    }

    /// Returns the fault that is found in a ledger of three lines: a registration, the first record of protected files,
    /// and `body`. Returns `None` if no fault is found.
    fn fault(plan: &Plan, body: LedgerBody) -> Option<String> {
        let first = record(plan, ApprovalReason::WeakensNothing, &[("tests/a", "1")]);
        let bodies = [registration(plan), LedgerBody::Approval(Box::new(first)), body];
        let lines: Vec<_> = (1..).zip(bodies).map(|(sequence, body)| (sequence, ledger_line(sequence, body))).collect();
        let mut faults = approval_faults(&project(), Path::new("ledger/shop.jsonl"), &lines);
        assert!(faults.len() <= 1, "{faults:?}");
        faults.pop().map(|fault| fault.detail)
    }

    #[test]
    fn no_line_takes_the_place_of_a_signature() {
        use ApprovalReason::{NewTask, Person, WeakensNothing};
        let (plan, looser, stricter) = (with_limit(10), with_limit(20), with_limit(5));
        let same: &[(&str, &str)] = &[("tests/a", "1")];
        let approval = |plan: &Plan, reason, files: &[(&str, &str)]| LedgerBody::Approval(Box::new(record(plan, reason, files)));
        let rows = [
            (approval(&plan, WeakensNothing, same), None),
            (
                approval(&stricter, WeakensNothing, same),
                Some("no person approved it, and it changes: plan: timeout: 5s instead of 10s"),
            ),
            (approval(&looser, NewTask, same), Some("no person approved it, and it changes")),
            (registration(&looser), Some("no person approved it, and it changes")),
            (registration(&plan), None),
            (approval(&looser, Person, same), Some("it is not signed, and a signature is required")),
            (approval(&plan, WeakensNothing, &[("tests/a", "2")]), Some("protected files are others in it")),
            (approval(&plan, WeakensNothing, &[("tests/a", "1"), ("tests/b", "1")]), Some("protected files are others in it")),
            (approval(&plan, WeakensNothing, &[]), Some("protected files are others in it")),
        ];
        for (body, expected) in rows {
            let found = fault(&plan, body.clone());
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                (Some(_), None) | (None, Some(_)) => panic!("{body:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn where_no_signature_is_required_an_approval_is_a_record() {
        let (mut plan, mut looser) = (with_limit(10), with_limit(20));
        (plan.approval.require_signature, looser.approval.require_signature) = (false, false);
        let answered = record(&looser, ApprovalReason::Person, &[("tests/a", "2")]);
        assert_eq!(fault(&plan, LedgerBody::Approval(Box::new(answered.clone()))), None);
        let forged = ApprovalRecord { signature: Some("-----BEGIN SSH SIGNATURE-----".to_owned()), ..answered };
        assert!(
            fault(&plan, LedgerBody::Approval(Box::new(forged))).is_some_and(|why| why.contains("by a key that may approve"))
        );
    }

    #[test]
    fn what_is_signed_names_everything_that_is_approved_and_what_it_replaces() {
        let held = |sequence| CurrentApproval {
            sequence: Sequence(sequence),
            plan_digest: Digest::of(b"before"),
            terms: plan_terms(&with_limit(10)),
            protected: None,
        };
        let person = record(&with_limit(20), ApprovalReason::Person, &[("tests/a", "1")]);
        let request = |sequence, record: &ApprovalRecord| approval_request(&project(), &held(sequence), record);
        let first = request(2, &person);
        let text = String::from_utf8(first.clone()).expect("it is JSON");
        assert!(text.starts_with("{\"file\":\"proctor.toml\"") && text.ends_with("}\n"), "{text}");
        let others = [
            request(3, &person),
            request(2, &record(&with_limit(21), ApprovalReason::Person, &[("tests/a", "1")])),
            request(2, &record(&with_limit(20), ApprovalReason::Person, &[("tests/a", "2")])),
            request(2, &ApprovalRecord { weakened: vec!["a check less".to_owned()], ..person.clone() }),
            request(2, &ApprovalRecord { file: "other.json".to_owned(), ..person.clone() }),
            approval_request(&ProjectId::mint("shop", 2), &held(2), &person),
        ];
        assert!(others.iter().all(|other| *other != first));
        assert_eq!(
            request(2, &ApprovalRecord { signature: Some("any".to_owned()), ..person }),
            first,
            "the signature is not signed"
        );
    }
}
