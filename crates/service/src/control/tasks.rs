//! Requests about a task: changes of its cycle, and requests of agents. Each request becomes an errand, which the project's
//! worker carries out between runs. The result becomes a message for the client.

use crate::control::handlers::ControlContext;
use crate::errand::{Errand, ErrandDone, ErrandKind};
use crate::service::{Call, ErrandCall};
use proctor_api::{AgentAnswerV1, AgentRequestV1, CycleV1, ErrorKindV1, ErrorV1, RunRequestV1};
use proctor_model::{Asker, CycleRequest, ProjectId, TaskId};
use proctor_run::collaboration::Proposal;

pub(super) async fn change_cycle(
    desk: &ControlContext,
    project: ProjectId,
    request: CycleRequest,
    asker: Asker,
) -> Result<CycleV1, ErrorV1> {
    let task = request.task().clone();
    let what = match request {
        CycleRequest::Start { .. } => "`tdd start`",
        CycleRequest::Phase { .. } => "`tdd phase`",
        CycleRequest::Reset { .. } => "`tdd reset`",
        CycleRequest::Resolve { .. } => "`tdd resolve`",
    };
    let errand = Errand { task: task.clone(), asker, what: ErrandKind::Cycle(request) };
    match send(desk, project, errand, what.to_owned()).await? {
        ErrandDone::Changed(state) => Ok(CycleV1 { task, state: *state }),
        ErrandDone::Computed(_) | ErrandDone::Granted(_) | ErrandDone::Reread(_) | ErrandDone::Reviewed(_) => Err(mixed_up()),
    }
}

/// Answers the request of an agent. A granted retest is run first, and the answer contains its result.
pub(super) async fn answer_agent(
    desk: &ControlContext,
    project: ProjectId,
    request: AgentRequestV1,
    asker: Asker,
) -> Result<AgentAnswerV1, ErrorV1> {
    let task_id = request.task_id().clone();
    let (kind, what) = match &request {
        AgentRequestV1::RequestStatusUpdate { status, .. } => {
            (ErrandKind::Completion, format!("REQUEST_STATUS_UPDATE {}", status.word()))
        }
        AgentRequestV1::RequestRetest { .. } => (ErrandKind::Retest, "REQUEST_RETEST".to_owned()),
        AgentRequestV1::FixSpecification { specification, path, .. } => {
            (fix(&task_id, specification.as_ref(), path.as_ref())?, "FIX_SPECIFICATION".to_owned())
        }
    };
    let errand = Errand { task: task_id.clone(), asker, what: kind };
    match (send(desk, project.clone(), errand, what).await?, request) {
        (ErrandDone::Computed(completion), AgentRequestV1::RequestStatusUpdate { status, .. }) => {
            Ok(AgentAnswerV1::from_completion(status, completion))
        }
        (ErrandDone::Granted(granted), _) => {
            let request = RunRequestV1 { task: Some(task_id.clone()), ..RunRequestV1::default() };
            let run = desk.ask(|reply| Call::Run { project, request, reply }).await?;
            let (number, budget, exit_code) = (granted.number, granted.budget, run.exit_code);
            Ok(AgentAnswerV1::Retested { task_id, number, budget, run, exit_code })
        }
        (ErrandDone::Reread(errors), _) => Ok(AgentAnswerV1::from_problems(task_id, errors, Vec::new())),
        (ErrandDone::Reviewed(reviewed), _) => Ok(AgentAnswerV1::from_problems(task_id, reviewed.errors, reviewed.changes)),
        (ErrandDone::Computed(_) | ErrandDone::Changed(_), _) => Err(mixed_up()),
    }
}

/// Returns the errand that checks the configuration or a specification. Without a proposal, the errand for the task `default`
/// checks the configuration, and the errand for any other task checks that task's specification.
fn fix(task: &TaskId, specification: Option<&String>, path: Option<&String>) -> Result<ErrandKind, ErrorV1> {
    let proposal = match (specification, path) {
        (Some(_), Some(_)) => {
            let message = "`specification` and `path` both say what is proposed";
            return Err(ErrorV1::new(ErrorKindV1::BadRequest, message, "leave one of them out"));
        }
        (Some(text), None) => Some(Proposal::Text(text.clone())),
        (None, Some(file)) => Some(Proposal::File(file.clone())),
        (None, None) => None,
    };
    if *task == TaskId::default_task() && proposal.is_none() {
        return Ok(ErrandKind::Problems);
    }
    Ok(ErrandKind::Review(proposal))
}

/// Returns the refusal of an approval. No request can approve (S7), because a person has to approve at a terminal.
pub(super) fn refuse_approval() -> ErrorV1 {
    ErrorV1::new(
        ErrorKindV1::PersonNeeded,
        "no request on the socket can approve a plan",
        "a person registers the project at a terminal, which approves its plan: `proctor service add` or `proctor run`; what the checks or a task ask \
         less for than before is approved by `proctor approve`",
    )
}

async fn send(desk: &ControlContext, project: ProjectId, errand: Errand, what: String) -> Result<ErrandDone, ErrorV1> {
    // If the client disconnects, this future and its reply are dropped. An errand that still waits is then not carried out.
    desk.ask(|reply| Call::Errand { project, call: ErrandCall { errand, what, reply } }).await
}

fn mixed_up() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::OwnFault, "the answer is to another question", "see the service's log")
}
