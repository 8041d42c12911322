//! Tests C09: an unanswered request is an EXECUTION_ERROR, and its root cause is the prerequisite that should have
//! listened at the port.

use std::time::Duration;

use crate::report::samples::{edit, failed_prerequisite, refused_request, run_of, succeeded};
use crate::report::{ActionResult, build};
use proctor_model::{ActionId, ActionPhase, ExchangeOutcome, Observation, ReadyCheck, ResultType, Service};

/// Returns a service that should listen on `port` and did not become ready.
fn failed_service(port: u16) -> ActionResult {
    let mut facts = failed_prerequisite();
    let ready = ReadyCheck::Port(port);
    let second = Duration::from_secs(1);
    facts.action.service = Some(Service { ready, timeout: second, interval: second, attempt_timeout: second });
    facts
}

/// Returns the root cause that the report names for the run's last step.
fn cause(actions: Vec<ActionResult>) -> Option<String> {
    let report = build(&run_of(actions));
    report.step_execution.results.last().expect("there is a step").root_cause.as_ref().map(ToString::to_string)
}

#[test]
fn c09_a_request_without_an_answer_names_the_service_that_was_to_give_it() {
    assert_eq!(cause(vec![failed_service(3000), refused_request()]).as_deref(), Some("PREREQ.1"));
    let mut health = refused_request();
    health.action.phase = ActionPhase::Prerequisite;
    health.action.id = ActionId::numbered("PREREQ", 2);
    edit(&mut health, |executed| executed.judgement.classification.category = ResultType::PrerequisiteFailure);
    assert_eq!(cause(vec![health, refused_request()]).as_deref(), Some("PREREQ.2"), "a request that looked whether it is there");
}

#[test]
fn c09_what_has_nothing_to_do_with_the_request_is_not_its_cause() {
    assert_eq!(cause(vec![failed_service(4000), refused_request()]), None, "another port");
    assert_eq!(cause(vec![failed_prerequisite(), refused_request()]), None, "no service");
    let mut served = succeeded(ActionPhase::Prerequisite, 1);
    served.action.service = failed_service(3000).action.service;
    assert_eq!(cause(vec![served, refused_request()]), None, "it succeeded");
    let mut elsewhere = refused_request();
    edit(&mut elsewhere, |executed| {
        let Observation::Exchange(exchange) = &mut executed.observed else { panic!("it is a request") };
        let ExchangeOutcome::Unanswered(fault) = &mut exchange.outcome else { panic!("it was refused") };
        fault.address = Some("192.0.2.7".to_owned());
    });
    assert_eq!(cause(vec![failed_service(3000), elsewhere]), None, "another machine");
}
