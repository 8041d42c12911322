//! Examines why a server did not answer: the addresses of its name, the processes on its port, the health of the
//! service.

use std::net::SocketAddr;
use std::time::Duration;

use crate::health::{Health, HealthCheckBounds, check_port, check_url};
use proctor_model::{Diagnosis, DurationMs, HealthObservation, HealthResult, Plan, PortObservation, ReadyCheck, Service};
use proctor_sandbox::process::{clock, read_port_holders};

/// The time limit of one examination. It is short, because the examination only adds detail to a known failure.
const LOOK: Duration = Duration::from_secs(2);

/// Looks up why a request failed: the addresses of the host, the processes on its port, and the service that should
/// listen there. `resolution` is the result of the request's own name lookup.
pub(crate) fn diagnose(
    plan: &Plan,
    resolution: Option<&Result<Vec<SocketAddr>, String>>,
    is_stopped: &dyn Fn() -> bool,
) -> Diagnosis {
    let addresses = resolution.and_then(|resolution| resolution.as_ref().ok());
    let here = addresses.and_then(|all| all.iter().find(|address| address.ip().to_canonical().is_loopback()));
    let port = here.map(|address| PortObservation { port: address.port(), holders: read_port_holders(address.port()) });
    let service = port.as_ref().and_then(|seen| service_at(plan, seen.port));
    Diagnosis {
        health: service.and_then(|service| look_at(service, is_stopped)),
        port,
        resolution: resolution.map(|resolution| match resolution {
            Ok(all) => Ok(all.iter().map(|address| address.ip().to_string()).collect()),
            Err(why) => Err(why.clone()),
        }),
    }
}

/// Returns the plan's service whose readiness check uses this port.
fn service_at(plan: &Plan, port: u16) -> Option<&Service> {
    plan.prerequisites.iter().filter_map(|action| action.service.as_ref()).find(|service| service.ready.port() == Some(port))
}

fn look_at(service: &Service, is_stopped: &dyn Fn() -> bool) -> Option<HealthObservation> {
    let (ready, begun) = (&service.ready, clock::monotonic());
    let look = HealthCheckBounds { network: None, timeout: service.attempt_timeout.min(LOOK), is_stopped };
    let (target, health) = match ready {
        ReadyCheck::Url(url) => (url.as_str().to_owned(), check_url(url, &ready.addresses(), &look)),
        ReadyCheck::Port(port) => (format!("port {port}"), check_port(&ready.addresses(), &look)),
        // A readiness command would have to be isolated like an action. That is too much work for additional detail.
        ReadyCheck::Command(_) => return None,
    };
    let duration = Some(DurationMs::from(clock::monotonic().since(begun)));
    let (result, detail) = match health {
        Health::Healthy => (HealthResult::Healthy, None),
        Health::Unhealthy(why) => (health_result_from(&why), Some(why)),
    };
    Some(HealthObservation { target, result, detail, duration })
}

/// Returns the kind of failure that a message of [`crate::health`] describes. It is recognised by words of the
/// message, so both places must change together.
pub(crate) fn health_result_from(why: &str) -> HealthResult {
    if why.contains("nobody listens") {
        HealthResult::ConnectionRefused
    } else if why.contains("did not answer within") || why.contains("timed out") {
        HealthResult::Timeout
    } else {
        HealthResult::Unhealthy
    }
}
