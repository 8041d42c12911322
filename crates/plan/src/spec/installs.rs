//! Proposes prerequisites that install what a project's lock files name, where nothing is installed yet.

use crate::config::{Configuration, read};
use crate::spec::ProjectFiles;
use crate::spec::init::quoted_list;
use crate::spec::resolve::plan;
use proctor_model::{CheckOrder, Plan, Problem, Reuse, ToolClass, quoted_text};
use proctor_tools::{MissingInstallation, interpreter_of, missing_installations, paths_of_other_packages, proposed_paths};

/// How long an installation may take.
const TIMEOUT: &str = "10m";

/// Makes the plan of a project as [`plan`] does for the default settings, with a prerequisite for each lock file whose packages are not
/// installed and that one of the checks needs.
///
/// # Errors
///
/// When there are no checks, also if everything were installed.
pub fn plan_with_installs(files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    let missing = missing_installations(files);
    let text: String = missing.iter().map(prerequisite).collect();
    let configuration = if text.is_empty() { Configuration::default() } else { read(&text, "proctor.toml")? };
    let mut plan = plan(&configuration, files, project_name)?;
    for (prerequisite, missing) in plan.prerequisites.iter_mut().zip(&missing) {
        let is_used = |made: &String| {
            let programs = &mut missing.programs.iter();
            programs.any(|(tool, path)| path == made && plan.steps.iter().any(|step| step.tool == *tool))
        };
        let Some(once) = &mut prerequisite.once else { continue };
        let used: Vec<String> = once.creates.iter().filter(|made| is_used(made)).cloned().collect();
        let interpreter = interpreter_of(&missing.missing).filter(|_| !used.is_empty());
        once.creates = interpreter.into_iter().chain(used).collect();
    }
    plan.prerequisites.retain(|prerequisite| prerequisite.once.as_ref().is_some_and(|once| !once.creates.is_empty()));
    Ok(plan)
}

/// Returns a prerequisite as `proctor.toml` has it.
fn prerequisite(missing: &MissingInstallation) -> String {
    let MissingInstallation { directory, lock, missing, command, variable, programs } = missing;
    let packages = if interpreter_of(missing).is_some() { "python environment" } else { "node packages" };
    let name = if directory.is_empty() { packages.to_owned() } else { format!("{packages} {directory}") };
    let made: Vec<String> = interpreter_of(missing).into_iter().chain(programs.iter().map(|(_, path)| path.clone())).collect();
    let mut text = format!("[[prerequisite]]\nname = {}\ncommand = {}\n", quoted_text(&name), quoted_text(command));
    text.push_str(&format!("when_changed = {}\n", quoted_list(std::slice::from_ref(lock))));
    text.push_str(&format!("creates = {}\ntimeout = \"{TIMEOUT}\"\n", quoted_list(&made)));
    if !directory.is_empty() {
        text.push_str(&format!("directory = {}\n", quoted_text(directory)));
    }
    if let Some((name, value)) = variable {
        text.push_str(&format!("environment = {{ {name} = {} }}\n", quoted_text(value)));
    }
    text
}

// Proposes which saves start a check, from which runs its result may be taken, and the order of the checks, for the `proctor.toml` that
// `proctor init` writes.

/// Adds `paths` and `reuse = "watch"` to the checks of a plan whose tools read known kinds of files. Other checks stay as
/// they are: any save starts them. A check that works in a directory of its own is not started by files of other checks' directories, unless
/// it may read them.
pub fn propose_triggers(plan: &mut Plan, files: &dyn ProjectFiles) {
    let packages: Vec<String> = plan.steps.iter().map(|step| step.directory.to_string_lossy().into_owned()).collect();
    for (step, directory) in plan.steps.iter_mut().zip(&packages) {
        let paths = proposed_paths(step.tool);
        if !paths.is_empty() {
            step.paths = [paths, paths_of_other_packages(files, directory, &packages)].concat();
            step.reuse = Reuse::Watch;
        }
    }
}

/// Returns the order that is proposed for the checks of a plan. The checks that failed come first where no check can read
/// what another one writes: where only one of them runs tests, and the others look for findings.
pub fn propose_order(plan: &Plan) -> CheckOrder {
    let of_class = |class: ToolClass| plan.steps.iter().filter(|step| step.class == class).count();
    let are_independent = of_class(ToolClass::Test) <= 1 && of_class(ToolClass::Generic) == 0;
    if are_independent && plan.steps.len() > 1 { CheckOrder::FailedFirst } else { CheckOrder::Plan }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::init_text;
    use proctor_model::CheckOrder;
    use proctor_tools::FakeFiles;

    /// Returns the prerequisites that `proctor init` writes.
    fn proposed(files: &[(&str, &str)]) -> String {
        let plan = plan_with_installs(&FakeFiles::of(files), "shop").expect("there are checks");
        let text = init_text(&plan, &[], CheckOrder::Plan);
        text[text.find("\n[[").expect("an action")..text.find("\n[[check]]").expect("a check")].to_owned()
    }

    #[test]
    fn what_a_lock_file_names_is_installed_before_the_checks_that_need_it() {
        let uv = [("pyproject.toml", "[tool.mypy]"), ("tests/test_a.py", ""), ("uv.lock", "name = \"pytest\"\nname = \"mypy\"")];
        insta::assert_snapshot!(proposed(&uv), @r#"
        [[prerequisite]]
        name = "python environment"
        command = ["uv", "sync", "--frozen"]
        timeout = "10m"
        when_changed = ["uv.lock"]
        creates = [".venv/bin/python", ".venv/bin/pytest", ".venv/bin/mypy"]
        "#);
        let web = [
            ("web/tsconfig.json", "{}"),
            ("web/package-lock.json", "\"node_modules/typescript\": {}, \"node_modules/eslint\": {}"),
            ("poetry.lock", "name = \"pytest\""),
        ];
        insta::assert_snapshot!(proposed(&web), @r#"
        [[prerequisite]]
        name = "node packages web"
        command = ["npm", "ci"]
        directory = "web"
        timeout = "10m"
        when_changed = ["web/package-lock.json"]
        creates = ["web/node_modules/.bin/tsc"]
        "#);
        let cargo = [("Cargo.toml", "[package]\nname = \"a\"\n"), ("src/lib.rs", ""), ("package-lock.json", "")];
        assert_eq!(proposed(&cargo), "", "no check needs it");
    }

    #[test]
    fn a_project_without_an_installation_has_the_checks_that_it_has_with_one() {
        let before = [("tests/test_a.py", ""), ("poetry.lock", "name = \"pytest\"")];
        let after = [&before[..], &[(".venv/bin/python", ""), (".venv/bin/pytest", "")]].concat();
        let plan = |files: &[(&str, &str)]| plan_with_installs(&FakeFiles::of(files), "shop").expect("there are checks");
        assert_eq!(plan(&before).steps, plan(&after).steps);
        assert!(plan(&after).prerequisites.is_empty());
    }
}
