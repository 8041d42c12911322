//! Finds projects of a Vitest configuration that ran no test beside others that did. Vitest says nothing about them.

use std::path::Path;

use crate::interpret::{Exited, Input};
use crate::launchers::locate;
use proctor_model::Tool;

/// The endings of Vitest's configuration files.
const ENDINGS: &[&str] = &["ts", "mts", "js", "mjs", "cts", "cjs"];

/// The keys of a configuration behind which its projects stand, and the key of a project's name.
const PROJECTS: &str = "projects";
const NAME: &str = "name:";

/// Returns a warning about the projects that the configuration names and that ran no test. Nothing is known if the output names no
/// project, as with some reporters, or if the command chooses projects.
pub(super) fn idle(exited: &Exited<'_>, input: &Input<'_>) -> Option<String> {
    let arguments = locate(&exited.action.command.argv).arguments;
    if exited.action.tool != Tool::Vitest || arguments.iter().any(|word| word.starts_with("--project")) {
        return None;
    }
    let read = |name: String| (input.source)(input.project_root, &Path::new(&input.action.directory).join(name));
    let files = ["vitest.config", "vite.config"].iter().flat_map(|stem| ENDINGS.iter().map(move |end| format!("{stem}.{end}")));
    let configuration = files.clone().find_map(|name| Some((name.clone(), read(name)?)))?;
    let names = names_of_projects(&configuration.1);
    let (ran, idle): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_printed(&exited.stdout, name));
    let shown: Vec<String> = idle.iter().map(|name| format!("`{name}`")).collect();
    (!ran.is_empty() && !idle.is_empty()).then(|| {
        format!("no test ran of {} in the projects of `{}`: look at the patterns in `include`", shown.join(", "), configuration.0)
    })
}

/// Returns the names that are written as plain strings behind the key `projects`.
fn names_of_projects(text: &str) -> Vec<&str> {
    let Some((_, projects)) = text.split_once(PROJECTS) else { return Vec::new() };
    let named = projects.split(NAME).skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"' | '`'))?;
        rest[1..].split_once(quote).map(|(name, _)| name)
    });
    named.filter(|name| !name.is_empty() && !name.contains(['$', '\n'])).collect()
}

/// Returns whether a line about a file of tests has the name of a project: `✓ |unit| a.test.js`, or `✓  unit  a.test.js`.
fn is_printed(stdout: &str, name: &str) -> bool {
    let is_of_file = |line: &&str| line.starts_with(['✓', '❯', '×', '↓']);
    let mut lines = stdout.lines().map(str::trim_start).filter(is_of_file);
    lines.any(|line| line.contains(&format!("|{name}|")) || line.contains(&format!("  {name}  ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;

    const CONFIGURATION: &str = "export default { test: { name: 'all', projects: [\n  { test: { name: 'unit' } }, { test: { name: \"e2e\" } },\n  'packages/*' ] } }";

    fn warned(command: &str, stdout: &str) -> bool {
        let mut returned = Returned::exited(Tool::Vitest, command, 0).saying(stdout, "");
        returned.source = |_, path| (path == Path::new("vitest.config.ts")).then(|| CONFIGURATION.to_owned());
        returned.report = proctor_model::ToolReport::Fresh(
            br#"{"numTotalTests":1,"numPassedTests":1,"numFailedTests":0,"success":true,"testResults":[{"name":"/project/a.test.js","status":"passed","message":"","assertionResults":[{"ancestorTitles":[],"fullName":"a","title":"a","status":"passed","failureMessages":[]}]}]}"#.to_vec(),
        );
        let interpretation = returned.interpret();
        interpretation
            .warnings
            .iter()
            .any(|warning| warning.contains("no test ran of `e2e` in the projects of `vitest.config.ts`"))
    }

    #[test]
    fn a_project_without_a_test_beside_others_is_named() {
        assert!(warned("vitest run", " ✓ |unit| a.test.js (1 test) 4ms\n"));
        assert!(warned("vitest run", " ✓  unit  a.test.js (1 test) 4ms\n"));
        assert!(!warned("vitest run", " ✓ |unit| a.test.js\n ✓ |e2e| b.test.js\n"));
        assert!(!warned("vitest run --project unit", " ✓ |unit| a.test.js\n"), "it was asked for");
        assert!(!warned("vitest run --reporter=dot", "··\n"), "nothing is known");
    }
}
