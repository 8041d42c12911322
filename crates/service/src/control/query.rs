//! Parses the parameters of a request strictly. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::service::Wait;
use proctor_api::{ErrorKindV1, ErrorV1, Route};
use proctor_model::{TaskId, TreePath, decode_percent};
use proctor_plan::config::parse_duration;

/// The longest timeout that a client may request.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
/// The timeout if the client requests none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The time limit for a request that asks for the present state without waiting for a run.
pub(super) const LOOKING: Duration = Duration::from_secs(10);

/// Parses the query string. Refuses parameters that the route does not know, and parameters that are given twice.
pub(super) fn parse_query<'a>(route: &Route, query: Option<&'a str>) -> Result<Vec<(&'a str, &'a str)>, ErrorV1> {
    let mut given: Vec<(&str, &str)> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !route.parameters.iter().any(|parameter| parameter.name == name) {
            let known: Vec<_> = route.parameters.iter().map(|parameter| parameter.name).collect();
            let hint = if known.is_empty() { "it takes none".to_owned() } else { format!("it takes: {}", known.join(", ")) };
            return Err(ErrorV1::new(ErrorKindV1::BadRequest, format!("{} has no parameter `{name}`", route.path), hint));
        }
        if given.iter().any(|(other, _)| *other == name) {
            return Err(ErrorV1::new(ErrorKindV1::BadRequest, format!("`{name}` is given twice"), "give it once"));
        }
        given.push((name, value));
    }
    Ok(given)
}

/// Parses the parameters `wait` and `timeout` of a question about a verdict.
pub(super) fn parse_wait(given: &[(&str, &str)]) -> Result<(Wait, Duration), ErrorV1> {
    let value = |name: &str| given.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let wait = match value("wait") {
        None | Some("none") => Wait::Now,
        Some("fresh") => Wait::Fresh,
        Some(other) => return Err(wrong("wait", other, "write wait=fresh or wait=none")),
    };
    let timeout = match value("timeout") {
        None => DEFAULT_TIMEOUT,
        Some("0") => Duration::ZERO,
        Some(text) => parse_duration(text)
            .filter(|timeout| *timeout <= LONGEST_TIMEOUT)
            .ok_or_else(|| wrong("timeout", text, "write a duration such as 500ms, 30s or 2m, at most 1h"))?,
    };
    // A client that does not wait asks for the present state.
    Ok(if wait == Wait::Now || timeout.is_zero() { (Wait::Now, LOOKING) } else { (wait, timeout) })
}

/// Parses the parameter `task`. Without the parameter, the client asks about the task `default`.
pub(super) fn parse_task(given: &[(&str, &str)]) -> Result<TaskId, ErrorV1> {
    let Some((_, text)) = given.iter().find(|(name, _)| *name == "task") else { return Ok(TaskId::default_task()) };
    TaskId::try_from(*text).map_err(|_| wrong("task", text, "the task of a project's own checks is `default`"))
}

/// Parses the parameter `path`. Bytes that are not plain characters are percent-encoded (RFC 3986).
pub(super) fn parse_path(given: &[(&str, &str)]) -> Result<TreePath, ErrorV1> {
    let hint = "name a path in the project, relative to its root";
    let Some((_, text)) = given.iter().find(|(name, _)| *name == "path") else {
        return Err(ErrorV1::new(ErrorKindV1::BadRequest, "`path` is missing", hint));
    };
    let bytes = decode_percent(text).ok_or_else(|| wrong("path", text, "`%` begins two hexadecimal digits"))?;
    TreePath::try_from(bytes.as_slice()).map_err(|error| ErrorV1::new(ErrorKindV1::BadRequest, error.to_string(), hint))
}

/// Parses the parameter `root`. Without the parameter, the client asks about all projects.
pub(super) fn parse_root(given: &[(&str, &str)]) -> Result<Option<PathBuf>, ErrorV1> {
    let Some((_, text)) = given.iter().find(|(name, _)| *name == "root") else { return Ok(None) };
    let root = decode_percent(text).map(|bytes| PathBuf::from(OsString::from_vec(bytes))).filter(|root| root.is_absolute());
    root.map(Some).ok_or_else(|| wrong("root", text, "name the project's directory in full, percent-encoded"))
}

/// Parses the parameter `commit`, percent-encoded where it must be. Without the parameter, the client asks about `HEAD`.
pub(super) fn parse_commit(given: &[(&str, &str)]) -> Result<String, ErrorV1> {
    let Some((_, text)) = given.iter().find(|(name, _)| *name == "commit") else { return Ok("HEAD".to_owned()) };
    let named = decode_percent(text).and_then(|bytes| String::from_utf8(bytes).ok()).filter(|named| !named.is_empty());
    named.ok_or_else(|| wrong("commit", text, "name a commit as git does, percent-encoded"))
}

pub(super) fn wrong(name: &str, value: &str, hint: &str) -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::BadRequest, format!("`{name}` cannot be `{value}`"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_api::RouteName;

    fn read(query: &str) -> Result<(Wait, Duration), String> {
        let given = parse_query(Route::of(RouteName::Verdict), Some(query)).map_err(|error| error.message)?;
        parse_wait(&given).map_err(|error| error.message)
    }

    #[test]
    fn what_is_asked_is_what_is_written() {
        let rows = [
            ("", Ok((Wait::Now, LOOKING))),
            ("wait=fresh", Ok((Wait::Fresh, DEFAULT_TIMEOUT))),
            ("wait=fresh&timeout=500ms", Ok((Wait::Fresh, Duration::from_millis(500)))),
            ("wait=fresh&timeout=0", Ok((Wait::Now, LOOKING))),
            ("wait=fresh&timeout=0ms", Ok((Wait::Now, LOOKING))),
            ("wait=later", Err("`wait` cannot be `later`")),
            ("wait=fresh&timeout=2h", Err("`timeout` cannot be `2h`")),
            ("timeout=%35s", Err("`timeout` cannot be `%35s`")),
            ("wait=fresh&wait=fresh", Err("`wait` is given twice")),
            ("wiat=fresh", Err("/v1/projects/{id}/verdict has no parameter `wiat`")),
        ];
        for (query, expected) in rows {
            assert_eq!(read(query), expected.map_err(str::to_owned), "{query}");
        }
        assert!(parse_query(Route::of(RouteName::Status), Some("all")).is_err());
    }

    #[test]
    fn a_root_is_a_whole_path_of_any_bytes() {
        let read = |query: &str| {
            let given = parse_query(Route::of(RouteName::Status), Some(query)).map_err(|error| error.message)?;
            parse_root(&given).map(|root| root.map(|root| root.into_os_string().into_vec())).map_err(|error| error.message)
        };
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("root=/home/a%20b%ff"), Ok(Some(b"/home/a b\xff".to_vec())));
        for wrong in ["shop", "", "%2", "../shop"] {
            assert_eq!(read(&format!("root={wrong}")), Err(format!("`root` cannot be `{wrong}`")));
        }
    }

    #[test]
    fn a_path_may_have_any_bytes_and_stays_in_the_project() {
        let read = |text: &str| parse_path(&[("path", text)]).map(|path| path.as_bytes().to_vec());
        assert_eq!(read("src/a.py").unwrap(), b"src/a.py");
        assert_eq!(read("a%20%26%ff%2Fb").unwrap(), b"a &\xff/b");
        for wrong in ["a%2", "a%zz", "%", "../x", "/etc", "a%00"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(parse_path(&[]).is_err());
    }
}
