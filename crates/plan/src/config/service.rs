//! Reads `service` and `ready` of a `[[prerequisite]]`. A service is a prerequisite that keeps running while the checks
//! run.

use std::time::Duration;

use crate::config::command::{Shell, command};
use crate::config::section::{Document, Section};
use crate::config::values::{WrongValue, boolean, duration, filled_text, number};
use proctor_model::{HealthUrl, ReadyCheck, Service};

const EXAMPLE: &str = "ready = { port = 4173 }";

/// The ways to find out whether a service is ready. Exactly one of these keys must be written.
const LOOKS: &[&str] = &["url", "port", "command"];

const TIMEOUT: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Keys of an ordinary prerequisite that a service may not have, each with the reason.
const NOT_OF_A_SERVICE: &[(&str, &str)] = &[
    (
        "timeout",
        "a service has no time of its own: it goes on until the checks are over. How long its start may take is `ready.timeout`",
    ),
    ("idle_timeout", "a service may be silent as long as nobody asks it anything: it has no `idle_timeout`"),
    ("expected_exit_codes", "a service that ends by itself has failed, whatever its exit code"),
    ("on_survivors", "what a service leaves behind is always named and killed"),
    ("when_changed", "a service is started for every run: it cannot be skipped"),
    ("creates", "a service is started for every run: it cannot be skipped"),
];

/// Reads the settings of a service; returns `None` for an ordinary prerequisite, and if `ready` is missing or wrong.
pub(super) fn read_service(section: &Section<'_>, document: &mut Document<'_>) -> Option<Service> {
    let service = section.optional(document, "service", boolean);
    let ready = section.table(document, "ready");
    if !service.as_ref().is_some_and(|service| service.value) {
        // A wrong value of `service` is reported already. Probably a service was meant, so its `ready` is not reported
        // as a second problem.
        if service.is_some() || !section.has("service") {
            let wrong = WrongValue::new("only a service has a `ready`: an ordinary prerequisite is done when its command ends");
            section.refuse(document, "ready", wrong.hint("add `service = true`, or remove it"));
        }
        return None;
    }
    for (key, why) in NOT_OF_A_SERVICE {
        section.refuse(document, key, WrongValue::new(*why).hint("remove it, or `service = true`"));
    }
    if !section.has("ready") {
        let wrong = WrongValue::new("`ready` is missing: without it nobody knows when the checks may start");
        document.report_absent(section, "ready", wrong.hint(format!("say what to look at, for example `{EXAMPLE}`")));
    }
    read_ready(&ready, document)
}

fn read_ready(ready: &Section<'_>, document: &mut Document<'_>) -> Option<Service> {
    let said: Vec<&str> = LOOKS.iter().copied().filter(|key| ready.has(key)).collect();
    if ready.is_written() && said.is_empty() {
        let wrong = WrongValue::new("one of `url`, `port` and `command` says what to look at");
        document.report_absent(ready, "port", wrong.hint(format!("for example `{EXAMPLE}`")));
    }
    for key in said.iter().skip(1) {
        let wrong = WrongValue::new(format!("`{}` says already what to look at", said[0]));
        ready.refuse(document, key, wrong.hint("keep one of `url`, `port` and `command`"));
    }
    let url = ready.optional(document, "url", url).map(|url| ReadyCheck::Url(url.value));
    let port = ready.optional(document, "port", port).map(|port| ReadyCheck::Port(port.value));
    let asked = ready.optional(document, "command", command(Shell::None)).map(|command| ReadyCheck::Command(command.value));
    let millis = Duration::from_millis;
    let timeout = ready.optional(document, "timeout", duration(millis(100)..=millis(3_600_000), "\"30s\""));
    let interval = ready.optional(document, "interval", duration(millis(10)..=millis(60_000), "\"100ms\""));
    let attempt = ready.optional(document, "attempt_timeout", duration(millis(10)..=millis(600_000), "\"5s\""));
    Some(Service {
        ready: url.or(port).or(asked)?,
        timeout: timeout.map_or(TIMEOUT, |placed| placed.value),
        interval: interval.map_or(INTERVAL, |placed| placed.value),
        attempt_timeout: attempt.map_or(ATTEMPT_TIMEOUT, |placed| placed.value),
    })
}

fn url(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<HealthUrl, WrongValue> {
    const EXAMPLE: &str = "\"http://127.0.0.1:4173/healthz\"";
    let text = filled_text(EXAMPLE)(value)?;
    HealthUrl::try_from(text.as_str()).map_err(|error| {
        WrongValue::new(format!("not a URL that can be asked: {error}"))
            .hint(format!("for example `url = {EXAMPLE}`; anything else can be asked by a `command`, such as curl"))
    })
}

fn port(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<u16, WrongValue> {
    number(1..=65_535, "4173")(value).map(|port| u16::try_from(port).expect("the range is checked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configuration, read};

    fn read_one(lines: &str) -> Result<Configuration, String> {
        let text = format!("[[prerequisite]]\nname = \"s\"\ncommand = \"serve\"\n{lines}\n");
        read(&text, "proctor.toml").map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[track_caller]
    fn service(lines: &str) -> Service {
        let configuration = read_one(lines).unwrap_or_else(|problems| panic!("{problems}"));
        configuration.prerequisites[0].service.clone().expect("it is one")
    }

    #[test]
    fn a_service_says_what_to_look_at_and_everything_else_has_a_default() {
        let read = service("service = true\nready = { port = 4173 }");
        let millis = Duration::from_millis;
        let expected = Service {
            ready: ReadyCheck::Port(4173),
            timeout: millis(30_000),
            interval: millis(100),
            attempt_timeout: millis(5_000),
        };
        assert_eq!(read, expected);
        let read = service(
            "service = true\nready.url = \"http://localhost:1/x\"\nready.timeout = \"2m\"\nready.interval = 1\nready.attempt_timeout = \"1s\"",
        );
        assert_eq!((read.ready.port(), read.timeout), (Some(1), millis(120_000)));
        assert_eq!((read.interval, read.attempt_timeout), (millis(1000), millis(1000)));
        let read = service("service = true\nready = { command = [\"pg_isready\", \"-q\"] }");
        assert!(matches!(read.ready, ReadyCheck::Command(command) if command.argv == ["pg_isready", "-q"]));
        assert_eq!(read_one("service = false").unwrap().prerequisites[0].service, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_stands() {
        let problems =
            read_one("service = true\nready = { port = 1 }\nwhen_changed = [\"a\"]\ncreates = [\"b\"]\ntimeout = 3").unwrap_err();
        insta::assert_snapshot!(problems, @"
        proctor.toml:6:16: prerequisite[1].when_changed: a service is started for every run: it cannot be skipped
          remove it, or `service = true`
        proctor.toml:7:11: prerequisite[1].creates: a service is started for every run: it cannot be skipped
          remove it, or `service = true`
        proctor.toml:8:11: prerequisite[1].timeout: a service has no time of its own: it goes on until the checks are over. How long its start may take is `ready.timeout`
          remove it, or `service = true`
        ");
        let more = read_one(
            "service = true\nready = { port = 1 }\nidle_timeout = 3\nexpected_exit_codes = [0]\non_survivors = \"fail\"",
        );
        assert_eq!(more.unwrap_err().matches("remove it, or").count(), 3);
    }

    #[test]
    fn a_service_without_exactly_one_look_is_refused() {
        let said = |lines: &str| read_one(lines).unwrap_err();
        insta::assert_snapshot!(said("service = true"), @"
        proctor.toml:1:1: prerequisite[1].ready: `ready` is missing: without it nobody knows when the checks may start
          say what to look at, for example `ready = { port = 4173 }`
        ");
        insta::assert_snapshot!(said("service = true\nready = { timeout = 3 }"), @"
        proctor.toml:5:9: prerequisite[1].ready.port: one of `url`, `port` and `command` says what to look at
          for example `ready = { port = 4173 }`
        ");
        insta::assert_snapshot!(said("service = true\nready = { port = 1, url = \"http://localhost/\" }"), @"
        proctor.toml:5:18: prerequisite[1].ready.port: `url` says already what to look at
          keep one of `url`, `port` and `command`
        ");
        insta::assert_snapshot!(said("ready = { port = 1 }"), @"
        proctor.toml:4:9: prerequisite[1].ready: only a service has a `ready`: an ordinary prerequisite is done when its command ends
          add `service = true`, or remove it
        ");
    }

    #[test]
    fn wrong_looks_say_what_is_wrong_with_them() {
        let said = |ready: &str| read_one(&format!("service = true\nready = {ready}")).unwrap_err();
        insta::assert_snapshot!(said("{ url = \"https://localhost/\", timout = 3, interval = \"1ms\" }"), @r#"
        proctor.toml:5:17: prerequisite[1].ready.url: not a URL that can be asked: only `http://` is spoken
          for example `url = "http://127.0.0.1:4173/healthz"`; anything else can be asked by a `command`, such as curl
        proctor.toml:5:39: prerequisite[1].ready.timout: unknown key `timout`
          did you mean `timeout`?
        proctor.toml:5:62: prerequisite[1].ready.interval: a duration from 10ms to 1m is expected
          for example `interval = "100ms"`
        "#);
        insta::assert_snapshot!(said("{ port = 0 }"), @"
        proctor.toml:5:18: prerequisite[1].ready.port: a number from 1 to 65535 is expected
          for example `port = 4173`
        ");
        insta::assert_snapshot!(said("{ command = \"curl x | grep y\" }"), @"
        proctor.toml:5:21: prerequisite[1].ready.command: `|` is a pipe and needs a shell, but commands run without one
          add `shell = true`, or write the command as a list of words
        ");
        insta::assert_snapshot!(said("4173"), @"
        proctor.toml:5:9: prerequisite[1].ready: expected a table, found an integer
          write `[prerequisite.ready]`
        ");
    }
}
