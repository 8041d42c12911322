//! The page that `proctor generate api` prints: every route with an example that can be pasted.

use crate::routes::{MethodV1, ROUTES, Route};

const HEAD: &str = "\
# The control socket

`proctor daemon` speaks HTTP/1.1 and JSON on a Unix socket that only its user may open:

    $XDG_RUNTIME_DIR/proctor/control.sock

Fields, parameters and values that are not known are errors. Every error is
`{\"error\": {\"kind\", \"message\", \"hint\"}}` with a status code that fits: 400 for a wrong request, 404 for a project or
path that is not there, 416 for a range outside of a file, 409 where a person, another environment or a change is needed first, 413 for a body over 64 KiB, 503
where as many wait already as may. `exitCode` is what a command would end with: 0 proceed, 1 the code needs work, 3 a person is needed,
4 the configuration is wrong, 5 no fresh verdict.

`state` is one of fresh, running, queued, stale, moved, unstable, needsHuman, notApproved, rootMissing, configurationWrong,
specificationWrong, noVerdict. Only `fresh` is a verdict for the tree as it is now, and only then `result` is there.
";

/// Returns the page as Markdown.
pub fn routes_page() -> String {
    ROUTES.iter().fold(HEAD.to_owned(), |page, route| page + "\n" + &section(route))
}

fn section(route: &Route) -> String {
    let mut lines = vec![format!("## {} {}", route.method.word(), route.path), String::new(), route.summary.to_owned()];
    for parameter in route.parameters {
        lines.push(format!("  {}: {} (default: {})", parameter.name, parameter.values, parameter.default));
    }
    lines.extend([String::new(), format!("    {}", example(route)), String::new()]);
    lines.join("\n")
}

fn example(route: &Route) -> String {
    let method = if route.method == MethodV1::Get { String::new() } else { format!(" -X {}", route.method.word()) };
    let stream = if route.path.ends_with("/events") { " -N" } else { "" };
    let body = if route.body.is_empty() { String::new() } else { format!(" -d '{}'", route.body) };
    let query: Vec<String> =
        route.parameters.iter().map(|parameter| format!("{}={}", parameter.name, first_value(parameter.values))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let path = route.path.replace("{id}", "$ID").replace("{run}", "42").replace("{name}", "execution-report.json");
    let path = path.replace("{test}", "$KEY");
    format!(
        "curl -s{stream} --unix-socket \"$XDG_RUNTIME_DIR/proctor/control.sock\"{method}{body} \"http://proctor{path}{query}\""
    )
}

/// Returns an example of a parameter's value. If the route table describes the allowed values in words, the example is
/// fixed here.
fn first_value(values: &str) -> &str {
    match values {
        "a task's id" => "default",
        "a path in the project, percent-encoded" => "src/app.py",
        "a run's id or number" => "42",
        "a test's key or whole name, percent-encoded" => "$KEY",
        _ if values.starts_with("a duration") => "60s",
        _ => values.split(',').next().unwrap_or(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_a_section_with_an_example_that_asks_it() {
        let page = routes_page();
        for route in ROUTES {
            assert!(page.contains(&format!("## {} {}\n", route.method.word(), route.path)), "{}", route.path);
        }
        assert!(page.contains("\"http://proctor/v1/projects/$ID/verdict?task=default&wait=fresh&timeout=60s\""));
        assert!(page.contains("-X POST -d '{\"task\": \"default\", \"checks\": [\"pytest\"]}'"));
    }
}
