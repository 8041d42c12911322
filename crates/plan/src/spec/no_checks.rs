//! Says what a person can do about a project in which no checks are configured and none were found.

use crate::config::Configuration;
use crate::spec::approval::plan_settings;
use crate::spec::init::quoted_list;
use proctor_model::{Plan, PlanNote, PlanOrigin, Problem, TaskId, quoted_text, shown_line};
use proctor_tools::{ProjectFiles, ProposedCheck, propose};

/// How a check is written for a project whose files suggest none. Which command tests it, only a person knows.
const EXAMPLE: &str =
    "write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = \"tests\"` and `command = \"…\"`";

/// The files by which a directory is a project of Python. Its tests are found by their own names.
const PYTHON: &[&str] = &["requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile"];

/// The name of what is missing, in the problem of a project without checks.
const MISSING: &str = "check";

/// Returns whether the only problem is that the project has no checks of its own. Its test specifications may have tasks
/// all the same.
pub fn lacks_only_checks(problems: &[Problem]) -> bool {
    matches!(problems, [problem] if problem.pointer == MISSING && problem.position.is_none())
}

/// Returns the plan with which a project without checks of its own is registered: it has no action, so registering the
/// project approves nothing but the project itself.
pub fn plan_without_checks(configuration: &Configuration, project_name: &str) -> Plan {
    let name = configuration.project_name.clone().unwrap_or_else(|| project_name.to_owned());
    let plan = Plan::empty(TaskId::default_task(), name, PlanOrigin::Specification);
    Plan { settings: plan_settings(configuration), ..plan }
}

/// Returns the problem of a project without checks. `notes` say which tools have configurations but cannot run.
pub(super) fn without_checks(configuration: &Configuration, files: &dyn ProjectFiles, notes: &[PlanNote]) -> Problem {
    let problem = Problem::new(MISSING, "the project has no checks, and none were found in its files");
    let proposals = propose(files);
    let python = PYTHON.iter().find(|file| files.exists(file)).filter(|_| notes.is_empty());
    let advice = match (proposals.is_empty(), python) {
        (false, _) => advice(&proposals),
        (true, Some(file)) => {
            format!(
                "`{file}` is there, but no tests: in `tests/test_*.py` they are found by themselves; for another command, {EXAMPLE}"
            )
        }
        (true, None) => EXAMPLE.to_owned(),
    };
    let missing: String =
        notes.iter().map(|note| format!("\n  {}: {}", shown_line(&note.subject), shown_line(&note.message))).collect();
    problem.within(&configuration.file, None).hint(format!("{advice}{missing}"))
}

fn advice(proposals: &[ProposedCheck]) -> String {
    let lines = proposals.iter().flat_map(lines_of).map(|line| format!("\n  {line}"));
    format!("write into `proctor.toml` which of these shall run, or another command:{}", lines.collect::<String>())
}

/// Returns the text with which `proctor init` proposes further checks, as comments: commands of the project that no found check runs.
pub fn proposed_text(proposals: &[ProposedCheck]) -> String {
    let lines =
        proposals.iter().flat_map(|one| std::iter::once(String::new()).chain(lines_of(one).map(|line| format!("#{line}"))));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let head = "\n# Commands of the project that no check above runs. What shall be a check needs its lines without `#`.";
    if proposals.is_empty() { lines } else { format!("{head}{lines}") }
}

fn lines_of(proposed: &ProposedCheck) -> impl Iterator<Item = String> {
    let ProposedCheck { because, directory, name, argv, report } = proposed;
    let first = [
        format!("[[check]]  # {}", shown_line(because)),
        format!("name = {}", quoted_text(name)),
        format!("command = {}", quoted_list(argv)),
    ];
    let directory = (!directory.is_empty()).then(|| format!("directory = {}", quoted_text(directory)));
    // A comment, because only a person knows where a project of several parts writes its reports.
    let report = report.as_ref().map(|report| format!("# {report}"));
    first.into_iter().chain(directory).chain(report)
}
