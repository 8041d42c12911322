//! Reads `[remote]`: the server that carries out the checks that do not run on this machine; and `run` of a check.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::section::{Document, Section};
use crate::config::values::{WrongValue, choice, text, variable_name};
use crate::config::written_value::WrittenValue;
use proctor_model::{Problem, RemoteCertificates, RemotePackages, RemoteRun, RemoteServer, WithoutServer};

/// `[remote]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSettings {
    /// The server, at the place of its endpoint.
    pub server: WrittenValue<RemoteServer>,
}

/// Where a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunPlace {
    Local,
    Remote,
    /// On the server, or here if the server gives no result.
    PreferRemote,
}

const PLACES: &[(&str, RunPlace)] =
    &[("local", RunPlace::Local), ("remote", RunPlace::Remote), ("prefer-remote", RunPlace::PreferRemote)];

const PACKAGES: &[(&str, RemotePackages)] = &[("image", RemotePackages::Image), ("upload", RemotePackages::Upload)];

pub(super) fn read_remote(section: &Section<'_>, document: &mut Document<'_>) -> RemoteSettings {
    let endpoint = section.setting(document, "endpoint", endpoint);
    let file = |document: &mut Document<'_>, key| {
        Some(section.setting(document, key, text("\"certificates/ca.pem\"")).value).filter(|file| !file.is_empty())
    };
    let certificates =
        RemoteCertificates { ca: file(document, "ca"), certificate: file(document, "certificate"), key: file(document, "key") };
    for (key, has, other) in [
        ("certificate", certificates.certificate.is_some(), certificates.key.is_some()),
        ("key", certificates.key.is_some(), certificates.certificate.is_some()),
    ] {
        if has && !other {
            let wrong = WrongValue::new("`certificate` and `key` belong together").hint("name both files, or neither");
            section.refuse(document, key, wrong);
        }
    }
    let server = RemoteServer {
        endpoint: endpoint.value,
        instance: section.setting(document, "instance", text("\"main\"")).value,
        headers_from: Some(section.setting(document, "headers_from", variable).value).filter(|name| !name.is_empty()),
        certificates,
        platform: section.setting(document, "platform", platform).value,
        environment: section.setting(document, "environment", choice(PACKAGES)).value,
    };
    RemoteSettings { server: WrittenValue { value: server, place: endpoint.place } }
}

/// Reads `run` of a check. `remote` is `[remote]`.
pub(super) fn read_place(
    section: &Section<'_>,
    document: &mut Document<'_>,
    remote: &RemoteSettings,
) -> Option<WrittenValue<RemoteRun>> {
    let run = section.optional(document, "run", choice(PLACES))?;
    let without_result = match run.value {
        RunPlace::Local => return None,
        RunPlace::Remote => WithoutServer::NotStarted,
        RunPlace::PreferRemote => WithoutServer::RunHere,
    };
    if remote.server.value.endpoint.is_empty() {
        let wrong = WrongValue::new("there is no server to run it");
        section.refuse(document, "run", wrong.hint("name one: `[remote]` with `endpoint = \"grpcs://build.example.org:443\"`"));
    }
    for (key, why) in [
        ("snapshot", "a check on a server works on what was sent, not in the project"),
        ("control", "there is no control for a check on a server"),
        ("network", "the server decides which network its workers have"),
        ("idle_timeout", "what a check prints on a server arrives at its end"),
        ("on_survivors", "which processes a check leaves on a server, nobody here can say"),
        ("max_output", "a server is told no limit of what a check prints"),
    ] {
        section.refuse(document, key, WrongValue::new(why).hint(format!("remove `{key}`, or let the check run here")));
    }
    Some(WrittenValue { value: RemoteRun { server: remote.server.value.clone(), without_result }, place: run.place })
}

/// Returns what is wrong with settings for a server in a program that was built without the feature for it.
pub fn lacking_feature(remote: &RemoteSettings, file: &str) -> Option<Problem> {
    // No server is the default.
    let place = remote.server.place.filter(|_| !remote.server.value.endpoint.is_empty())?;
    let message = "this proctor was built without the feature `remote`, so no check runs on a server";
    let problem = Problem::new("remote.endpoint", message).within(file, Some(place));
    Some(problem.hint("build it with `cargo build --release --features remote`, or remove `[remote]`"))
}

/// Reads the address of a server; empty for none.
fn endpoint(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    const HINT: &str = "write `grpcs://HOST:PORT`, `unix:///PATH`, or `grpc://127.0.0.1:PORT` for a server on this machine";
    let address = text("\"grpcs://build.example.org:443\"")(value)?;
    let wrong = |why: &str| Err(WrongValue::new(format!("`{address}` {why}")).hint(HINT));
    let rest = match address.split_once("://") {
        None if address.is_empty() => return Ok(address),
        Some(("unix", path)) if path.starts_with('/') => return Ok(address),
        Some(("grpcs", rest)) if rest.contains(':') && !rest.contains(['/', '@', ' ']) => return Ok(address),
        Some(("grpc", rest)) => rest,
        Some(_) | None => return wrong("is no address of a server"),
    };
    let host = rest.rsplit_once(':').map_or("", |(host, _)| host);
    if matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
        return Ok(address);
    }
    wrong("is not encrypted, and leads to another machine")
}

/// Reads the name of a variable, which may be empty.
fn variable(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = text("\"BUILD_TOKEN\"")(value)?;
    if name.is_empty() { Ok(name) } else { variable_name(&name).map(|()| name) }
}

/// Reads what the worker must be. Names have hyphens, so they are no variables.
fn platform(value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>, WrongValue> {
    const EXAMPLE: &str = "{ OSFamily = \"linux\" }";
    let table = value.get_ref().as_table().ok_or_else(|| WrongValue::kind("a table", value.get_ref()).example(EXAMPLE))?;
    let read = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        let text = text(EXAMPLE)(value).map_err(|wrong| wrong.at(name.to_string(), value))?;
        Ok((name.to_string(), text))
    };
    table.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    const CHECK: &str = "[[check]]\nname = \"a\"\ncommand = [\"pytest\"]\n";

    fn problems(text: &str) -> Vec<String> {
        let found = read(text, "proctor.toml").err().unwrap_or_default();
        found.into_iter().map(|problem| format!("{}: {}", problem.pointer, problem.message)).collect()
    }

    #[test]
    fn only_an_encrypted_or_a_near_server_is_an_endpoint() {
        for right in [
            "",
            "grpcs://a.example.org:443",
            "unix:///run/casd.sock",
            "grpc://127.0.0.1:1",
            "grpc://localhost:1",
            "grpc://[::1]:1",
        ] {
            assert_eq!(problems(&format!("[remote]\nendpoint = \"{right}\"\n")), Vec::<String>::new());
        }
        for wrong in [
            "a.example.org",
            "http://a:1",
            "grpc://a.example.org:1",
            "grpc://127.0.0.1.example.org:1",
            "grpcs://u@a:1",
            "unix://a",
        ] {
            let found = problems(&format!("[remote]\nendpoint = \"{wrong}\"\n"));
            assert!(found.len() == 1 && found[0].starts_with("remote.endpoint: "), "{wrong}: {found:?}");
        }
    }

    #[test]
    fn a_check_on_a_server_has_the_server_and_no_setting_of_this_machine() {
        let remote = "[remote]\nendpoint = \"unix:///s\"\nplatform = { container-image = \"docker://a\" }\n";
        let check = |more: &str| read(&format!("{CHECK}run = \"prefer-remote\"\n{more}{remote}"), "proctor.toml");
        let read = check("").expect("right").checks.remove(0).remote.expect("it runs there").value;
        assert_eq!((read.without_result, read.server.endpoint.as_str()), (WithoutServer::RunHere, "unix:///s"));
        assert_eq!(read.server.platform["container-image"], "docker://a");
        for more in ["snapshot = \"off\"\n", "idle_timeout = 3\n", "control = true\n", "network = \"off\"\n"] {
            let found = check(more).expect_err(more);
            assert!(found[0].hint.as_deref().is_some_and(|hint| hint.contains("run here")), "{found:?}");
        }
        assert_eq!(problems(&format!("{CHECK}run = \"remote\"\n")), ["check[1].run: there is no server to run it"]);
    }

    #[test]
    fn a_program_without_the_feature_names_it_and_the_line() {
        let settings = read("\n[remote]\nendpoint = \"unix:///s\"\n", "proctor.toml").expect("right").remote;
        let problem = lacking_feature(&settings, "proctor.toml").expect("a problem");
        assert!(
            problem.message.contains("feature `remote`") && problem.hint.is_some_and(|hint| hint.contains("--features remote"))
        );
        for none in ["", "[remote]\nendpoint = \"\"\n", include_str!("default.toml")] {
            assert_eq!(lacking_feature(&read(none, "proctor.toml").expect("right").remote, "proctor.toml"), None);
        }
    }
}
