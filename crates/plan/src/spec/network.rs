//! Gives each action of a plan its network: its own key, or what the settings have for its phase. Pure.

use std::net::IpAddr;

use crate::config::{ActionSettings, Configuration};
use proctor_model::{Action, ActionKind, ActionPhase, NetworkAccess, Plan, Problem, ProtectionMode};

/// Sets the network of an action. `own` are the settings of the action in `proctor.toml`; `None` if it does not come from there.
///
/// Prerequisites fetch packages, so their network is open unless they say otherwise. A service fetches nothing, and checks have to reach it,
/// so it has their network. What proctor does itself starts no process and has the machine's network.
pub(super) fn with_network(action: Action, own: Option<&ActionSettings>, configuration: &Configuration) -> Action {
    let is_fetching = action.phase == ActionPhase::Prerequisite && action.service.is_none();
    let usual = if is_fetching || !action.kind.starts_a_process() { NetworkAccess::Open } else { configuration.sandbox.network };
    Action { network: own.and_then(|own| own.network).unwrap_or(usual), ..action }
}

/// Returns what is wrong if proctor itself would have to reach into the network of a run: a request to a loopback address, which is meant
/// for a service of the run. Returns also what is wrong with a service that can never be ready. `None` if there is neither, or the settings
/// give the run no network of its own.
pub fn unreachable_request(plan: &Plan, configuration: &Configuration) -> Option<Problem> {
    unready_service(&plan.prerequisites, configuration).or_else(|| request_from_outside(plan, configuration))
}

/// Returns what is wrong if a service is ready by an answer at an address, and its network has no addresses: it would be waited for until its
/// time is up. A readiness command runs in the network of the service, and need not ask an address.
pub(super) fn unready_service(prerequisites: &[Action], configuration: &Configuration) -> Option<Problem> {
    let is_isolated = configuration.sandbox.mode != ProtectionMode::Off;
    let (action, port) = prerequisites.iter().filter(|_| is_isolated).find_map(|action| {
        let port = action.service.as_ref()?.ready.port()?;
        (action.network == NetworkAccess::Off).then_some((action, port))
    })?;
    let (off, loopback) = (NetworkAccess::Off.word(), NetworkAccess::Loopback.word());
    let name = &action.name;
    let message = format!("`{name}` is ready when port {port} answers, and with `network = \"{off}\"` nothing answers there");
    let hint = format!(
        "let it have `network = \"{loopback}\"`, which reaches nothing outside of the run, or let a command say when it is ready"
    );
    Some(Problem::new("sandbox.network", message).within(&configuration.file, None).hint(hint))
}

fn request_from_outside(plan: &Plan, configuration: &Configuration) -> Option<Problem> {
    let network = Some(configuration.sandbox.network).filter(|network| !network.is_open())?;
    let (action, url) = plan.actions().find_map(|action| {
        let ActionKind::HttpRequest(request) = &action.kind else { return None };
        is_loopback(&request.url).then_some((action, &request.url))
    })?;
    let word = network.word();
    let message = format!("`{}` asks {url}, and proctor sends requests from outside of the network of a run", action.id.as_str());
    let hint = format!("put `network = \"open\"` in `[sandbox]` in place of \"{word}\", or have a command send the request");
    Some(Problem::new("sandbox.network", message).within(&configuration.file, None).hint(hint))
}

/// Returns whether the host of a URL is this machine, as its loopback addresses name it.
fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_named = host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost");
    is_named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;
    use crate::spec::plan;
    use proctor_tools::FakeFiles;

    #[test]
    fn a_service_that_can_never_be_ready_is_refused_by_name() {
        let refused = |ready: &str, own: &str, sandbox: &str| {
            let text = format!(
                "[[prerequisite]]\nname = \"shop\"\ncommand = [\"serve\"]\nservice = true\nready = {{ {ready} }}\n{own}\n\
                 [[check]]\nname = \"any\"\ncommand = [\"true\"]\n[sandbox]\n{sandbox}\n"
            );
            let configuration = read(&text, "proctor.toml").unwrap_or_else(|problems| panic!("{problems:?}"));
            let problem = match plan(&configuration, &FakeFiles::default(), "shop") {
                Ok(plan) => unready_service(&plan.prerequisites, &configuration),
                Err(problems) => problems.into_iter().next(),
            };
            problem.map(|problem| problem.to_string())
        };
        let (port, off) = ("port = 4173", "network = \"off\"");
        insta::assert_snapshot!(refused(port, "", off).expect("it is refused"), @r#"
        proctor.toml: sandbox.network: `shop` is ready when port 4173 answers, and with `network = "off"` nothing answers there
          let it have `network = "loopback"`, which reaches nothing outside of the run, or let a command say when it is ready
        "#);
        assert!(refused("url = \"http://localhost:4173/\"", off, "").is_some(), "its own word holds");
        for (ready, own, sandbox) in [
            (port, "network = \"loopback\"", off),
            (port, "", "network = \"loopback\""),
            (port, "", "network = \"off\"\nmode = \"off\""),
            ("command = [\"test\", \"-e\", \"ready\"]", "", off),
        ] {
            assert_eq!(refused(ready, own, sandbox), None, "{ready} {own} {sandbox}");
        }
    }

    #[test]
    fn only_the_hosts_that_are_this_machine_are_loopback() {
        for (url, expected) in [
            ("http://127.0.0.1:4173/x", true),
            ("http://localhost", true),
            ("https://me@api.LOCALHOST:1?q", true),
            ("http://[::1]:80/", true),
            ("http://0.0.0.0:1/", true),
            ("http://localhost.example.org/", false),
            ("http://10.0.0.1/127.0.0.1", false),
            ("http://example.org/?u=http://localhost/", false),
            ("localhost:80", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
