//! Turns the connection string of PostgreSQL into the variables of its programs (libpq). So a password is never a word of a
//! command, which every process of the machine can read. The values of `${NAME}` come from the action's own environment, those of
//! `{{NAME}}` from the secrets of proctor's environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use proctor_model::decode_percent;
use proctor_sandbox::Secrets;

/// The options of a connection string, each with the variable that means the same.
const OPTIONS: &[(&str, &str)] = &[
    ("application_name", "PGAPPNAME"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("dbname", "PGDATABASE"),
    ("gssencmode", "PGGSSENCMODE"),
    ("host", "PGHOST"),
    ("options", "PGOPTIONS"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("user", "PGUSER"),
];

/// Returns the variables for a connection string, with a time limit for connecting in milliseconds.
///
/// # Errors
/// When a variable that it names is not set, or when it is no connection string of PostgreSQL. The message has no value of a
/// variable.
pub(crate) fn connection_variables(
    connection: &str,
    timeout_ms: u64,
    known: &KnownVariables<'_>,
) -> Result<Vec<(String, String)>, String> {
    // A variable alone holds a whole connection string.
    let is_alone = first_reference(connection) == Some((0, connection.len()));
    let connection = if is_alone { expand(connection, known)? } else { connection.to_owned() };
    let rest = ["postgresql://", "postgres://"].iter().find_map(|begin| connection.strip_prefix(begin));
    let rest = rest.ok_or("the connection string does not begin with `postgresql://`")?;
    let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = address.split_once('/').unwrap_or((address, ""));
    let (user, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
    let (user, password) = user.map_or((None, None), |user| match user.split_once(':') {
        Some((user, password)) => (Some(user), Some(password)),
        None => (Some(user), None),
    });
    let (names, ports): (Vec<&str>, Vec<&str>) = hosts.split(',').map(host_and_port).unzip();
    let mut variables = BTreeMap::from([
        ("PGCLIENTENCODING", "UTF8".to_owned()),
        ("PGCONNECT_TIMEOUT", timeout_ms.div_ceil(1000).max(1).to_string()),
    ]);
    let mut set = |name: &'static str, value: &str| {
        if !value.is_empty() {
            variables.insert(name, written(value, known)?);
        }
        Ok::<(), String>(())
    };
    set("PGUSER", user.unwrap_or_default())?;
    set("PGPASSWORD", password.unwrap_or_default())?;
    set("PGDATABASE", database)?;
    if names.iter().any(|name| !name.is_empty()) {
        set("PGHOST", &names.join(","))?;
    }
    if ports.iter().any(|port| !port.is_empty()) {
        set("PGPORT", &ports.join(","))?;
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let known = OPTIONS.iter().find(|(known, _)| *known == name);
        let (_, variable) = known.ok_or_else(|| {
            let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
            format!("the connection string has an option that is not known; known are {}", known.join(", "))
        })?;
        set(variable, value)?;
    }
    Ok(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the host and the port of `host:port`; a host in brackets is an address of IPv6.
fn host_and_port(text: &str) -> (&str, &str) {
    if let Some((host, port)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, port.strip_prefix(':').unwrap_or_default());
    }
    text.rsplit_once(':').unwrap_or((text, ""))
}

/// Where the values of variables come from.
#[derive(Clone, Copy)]
pub(crate) struct KnownVariables<'a> {
    /// The action's own environment, for `${NAME}`.
    pub(crate) environment: &'a BTreeMap<OsString, OsString>,
    /// The secrets of the run, for `{{NAME}}`.
    pub(crate) secrets: &'a Secrets,
}

/// Returns where the first `${NAME}` or `{{NAME}}` of a text begins and ends; `None` if there is none that is closed.
fn first_reference(text: &str) -> Option<(usize, usize)> {
    let of = |open: &str, close: &str| {
        let start = text.find(open)?;
        Some((start, start + text[start..].find(close)? + close.len()))
    };
    [of("${", "}"), of("{{", "}}")].into_iter().flatten().min()
}

/// Returns a part of a connection string as it is meant: `%40` is `@`, and a reference is the value of its variable, unchanged.
fn written(part: &str, known: &KnownVariables<'_>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = part;
    while let Some((start, end)) = first_reference(rest) {
        text.push_str(&decoded(&rest[..start])?);
        text.push_str(&expand(&rest[start..end], known)?);
        rest = &rest[end..];
    }
    if rest.contains("${") {
        return Err("a `${` of the connection string is not closed".to_owned());
    }
    text.push_str(&decoded(rest)?);
    Ok(text)
}

/// Returns the value of the variable that `${NAME}` or `{{NAME}}` names.
fn expand(reference: &str, known: &KnownVariables<'_>) -> Result<String, String> {
    if let Some(name) = reference.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
        let filled = known.secrets.fill(reference);
        return if filled == reference {
            Err(format!("the connection string names the secret `{name}`, which is not set in proctor's environment"))
        } else {
            Ok(filled.into_owned())
        };
    }
    let name = reference.trim_start_matches("${").trim_end_matches('}');
    let value = known.environment.get(OsStr::new(name)).and_then(|value| value.to_str());
    value.map(str::to_owned).ok_or_else(|| {
        format!(
            "the connection string names the variable `{name}`, which the action does not get; set it, and name it in \
             `pass_environment` of proctor.toml or in its `env_file`"
        )
    })
}

/// Returns a text with `%XX` replaced by the byte that it stands for.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || "the connection string has a `%` without two hexadecimal digits of a text".to_owned();
    decode_percent(text).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(connection: &str) -> Result<String, String> {
        let environment = [("DB_PASSWORD", "p@:/%41${x}"), ("DATABASE_URL", "postgres://me:pw@h/d"), ("OTHER", "mysql://x")];
        let environment = environment.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let ambient = [("TOKEN", "p@:/%41${DB_PASSWORD}"), ("WHOLE", "postgres://me:s%40@h/d")];
        let ambient = ambient.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let secrets = Secrets::read(&ambient, &["TOKEN".to_owned(), "WHOLE".to_owned()]);
        let variables = connection_variables(connection, 5000, &KnownVariables { environment: &environment, secrets: &secrets })?;
        let shown = variables.iter().filter(|(name, _)| name != "PGCLIENTENCODING" && name != "PGCONNECT_TIMEOUT");
        Ok(shown.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn every_part_of_a_connection_string_becomes_a_variable() {
        for (connection, expected) in [
            ("postgresql://", ""),
            ("postgresql://localhost/app", "PGDATABASE=app PGHOST=localhost"),
            ("postgres://app@db:5433/app?sslmode=require", "PGDATABASE=app PGHOST=db PGPORT=5433 PGSSLMODE=require PGUSER=app"),
            ("postgres://app:${DB_PASSWORD}@db/app", "PGDATABASE=app PGHOST=db PGPASSWORD=p@:/%41${x} PGUSER=app"),
            ("postgres://a%40b@db/x%20y", "PGDATABASE=x y PGHOST=db PGUSER=a@b"),
            ("postgres://[::1]:5432/app", "PGDATABASE=app PGHOST=::1 PGPORT=5432"),
            ("postgres://one:1,two:2/app", "PGDATABASE=app PGHOST=one,two PGPORT=1,2"),
            ("postgres:///app?host=/tmp/pg&user=x", "PGDATABASE=app PGHOST=/tmp/pg PGUSER=x"),
            ("${DATABASE_URL}", "PGDATABASE=d PGHOST=h PGPASSWORD=pw PGUSER=me"),
            ("postgres://app:{{TOKEN}}@db/app", "PGDATABASE=app PGHOST=db PGPASSWORD=p@:/%41${DB_PASSWORD} PGUSER=app"),
            ("{{WHOLE}}", "PGDATABASE=d PGHOST=h PGPASSWORD=s@ PGUSER=me"),
        ] {
            assert_eq!(variables(connection).as_deref(), Ok(expected), "{connection}");
        }
        for (connection, part) in [
            ("postgres://app:${GONE}@db/app", "names the variable `GONE`"),
            ("${OTHER}", "does not begin with"),
            ("postgres://app:{{GONE}}@db/app", "names the secret `GONE`"),
            ("postgres://db/app?schema=public", "an option that is not known"),
            ("postgres://db/a%4", "two hexadecimal digits"),
            ("postgres://db/${DB", "is not closed"),
        ] {
            let said = variables(connection).expect_err(connection);
            assert!(said.contains(part) && !said.contains("mysql"), "{said}");
        }
    }
}
