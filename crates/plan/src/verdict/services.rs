//! Checks the category that was interpreted for a service: a service succeeded only if it ran until proctor stopped it
//! after the checks (E3).

use proctor_model::{Action, ActionEnd, CategoryCode, StopReason};

/// Returns the proven category of a service, with an explanation if a fact contradicts the interpreted category `said`.
/// Returns `None` if the rules for all actions apply.
pub(super) fn judge_service_claim(
    action: &Action,
    end: &ActionEnd,
    said: CategoryCode,
) -> Option<(CategoryCode, Option<String>)> {
    let of_services = matches!(said, CategoryCode::Served | CategoryCode::ServiceEnded | CategoryCode::ServiceNotReady);
    let is_success =
        matches!(said, CategoryCode::TestsPassed | CategoryCode::Clean | CategoryCode::ExpectedExit | CategoryCode::Findings);
    match (action.service.is_some(), end) {
        (false, _) if of_services => {
            Some((CategoryCode::Inconsistent, Some("It is said to have served, but it is no service".to_owned())))
        }
        (false, _) => None,
        (true, ActionEnd::Stopped { reason: StopReason::ChecksOver, .. }) if said == CategoryCode::Served => Some((said, None)),
        (true, _) if said == CategoryCode::Served || is_success => {
            Some((CategoryCode::ServiceEnded, Some("The service ended before it was stopped".to_owned())))
        }
        (true, _) => of_services.then_some((said, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::tests::service;
    use proctor_model::StopStage;

    #[test]
    fn a_service_has_served_only_where_we_stopped_it_after_the_checks() {
        let stopped = |reason| ActionEnd::Stopped { reason, stage: StopStage::Sigterm };
        let (service, exited) = (service(), ActionEnd::Exited { code: 0 });
        let code = |end: &ActionEnd, said| judge_service_claim(&service, end, said).map(|(code, _)| code);
        assert_eq!(code(&stopped(StopReason::ChecksOver), CategoryCode::Served), Some(CategoryCode::Served));
        for said in [CategoryCode::Served, CategoryCode::ExpectedExit, CategoryCode::Clean, CategoryCode::ServiceEnded] {
            assert_eq!(code(&exited, said), Some(CategoryCode::ServiceEnded), "{said:?}");
        }
        assert_eq!(code(&stopped(StopReason::Interrupted), CategoryCode::Served), Some(CategoryCode::ServiceEnded));
        assert_eq!(code(&stopped(StopReason::Interrupted), CategoryCode::Stopped), None);
        assert_eq!(code(&stopped(StopReason::ChecksOver), CategoryCode::ServiceNotReady), Some(CategoryCode::ServiceNotReady));
        // A code that means success for another tool does not prove the success of a service.
        assert_eq!(code(&stopped(StopReason::ChecksOver), CategoryCode::Clean), Some(CategoryCode::ServiceEnded));
    }

    #[test]
    fn no_other_action_has_served() {
        let plain = Action { service: None, ..service() };
        let end = ActionEnd::Exited { code: 0 };
        assert_eq!(
            judge_service_claim(&plain, &end, CategoryCode::Served).map(|(code, _)| code),
            Some(CategoryCode::Inconsistent)
        );
        assert_eq!(judge_service_claim(&plain, &end, CategoryCode::ExpectedExit), None);
    }
}
