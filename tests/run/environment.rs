//! Tests the environment in which a check starts: an allow-list of variables, no input, no other descriptors (E12).

use proctor_model::IsolationLevel;

use crate::common::{Project, levels, name_of};
use crate::run::{check, prerequisite, project};

/// Returns the lines `NAME=value` that the first check printed.
fn variables(project: &Project) -> Vec<String> {
    project.proctor(["run"]).success();
    printed(project, "STEP.1")
}

fn printed(project: &Project, action: &str) -> Vec<String> {
    let log = project.proctor(["show", "--log", action]).success().stdout;
    log.lines().map(str::to_owned).collect()
}

fn names(variables: &[String]) -> Vec<&str> {
    variables.iter().filter_map(|line| Some(line.split_once('=')?.0)).collect()
}

#[test]
fn a_check_gets_the_allow_list_and_nothing_that_changes_results() {
    let project = project(&check("environment", &["--environment"]))
        .env("CI", "true")
        .env("PYTEST_ADDOPTS", "-k nothing")
        .env("LD_PRELOAD", "")
        .env("PYTHONPATH", "/elsewhere")
        .env("HTTPS_PROXY", "http://proxy:1")
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("AWS_SECRET_ACCESS_KEY", "secret");
    let variables = variables(&project);
    assert_eq!(
        names(&variables),
        [
            "CCACHE_DIR",
            "COLUMNS",
            "HOME",
            "LANG",
            "LC_ALL",
            "PATH",
            "PDM_LOG_DIR",
            "PIP_CACHE_DIR",
            "PROCTOR_OUT",
            "PYTHONUNBUFFERED",
            "TMPDIR",
            "TZ",
            "UV_CACHE_DIR",
            "XDG_CACHE_HOME",
            "npm_config_cache"
        ]
    );
    assert!(variables.contains(&"COLUMNS=200".to_owned()) && variables.contains(&"PYTHONUNBUFFERED=1".to_owned()));
}

#[test]
fn the_settings_pass_more() {
    let toml = check("environment", &["--environment"])
        + "environment = { OWN = \"action\", BOTH = \"action\" }\n"
        + "[environment]\npass_environment = [\"PASSED\", \"CI\"]\nenv_file = \"checks.env\"\n";
    let project = project(&toml)
        .file("checks.env", "# for the checks\nFILED='two words'\nBOTH=file\nexport EXPORTED=1\n")
        .env("PASSED", "by name")
        .env("CI", "1")
        .env("DROPPED", "x");
    let variables = variables(&project);
    for expected in ["OWN=action", "BOTH=action", "PASSED=by name", "CI=1", "FILED=two words", "EXPORTED=1"] {
        assert!(variables.contains(&expected.to_owned()), "{expected}: {variables:?}");
    }
    assert!(!names(&variables).contains(&"DROPPED"));
}

#[test]
fn prerequisites_get_what_fetching_packages_needs() {
    let toml = prerequisite("packages", &["--environment"]) + &check("environment", &["--environment"]);
    let project = project(&toml).env("HTTPS_PROXY", "http://proxy:1").env("PIP_CERT", "/ca.pem").env("SECRET", "x");
    project.proctor(["run"]).success();
    let (prerequisite, check) = (printed(&project, "PREREQ.1"), printed(&project, "STEP.1"));
    assert!(names(&prerequisite).contains(&"HTTPS_PROXY") && names(&prerequisite).contains(&"PIP_CERT"), "{prerequisite:?}");
    assert!(!names(&prerequisite).contains(&"SECRET"), "{prerequisite:?}");
    assert!(!names(&check).contains(&"HTTPS_PROXY") && !names(&check).contains(&"PIP_CERT"), "{check:?}");
}

#[test]
fn a_failure_that_speaks_of_a_dropped_name_is_explained() {
    let toml = check("needs it", &["--stderr", "KeyError: 'DATABASE_URL'\n", "--exit", "1"]);
    let project = project(&toml).env("DATABASE_URL", "postgres://").env("UNRELATED", "x");
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ needs it             exit 1 <time>
           │ KeyError: 'DATABASE_URL'
           all of its output: `proctor show --log STEP.1`
      note: needs it: `DATABASE_URL` is set where proctor runs and was not passed on: if the command needs it, add it to `pass_environment` in `[environment]`
    FAILED · needs it failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(output.report()["notes"][0]["subject"], "needs it");
    // The setting that the note recommends solves the problem.
    project.save("proctor.toml", &(toml + "[environment]\npass_environment = [\"DATABASE_URL\"]\n"));
    let output = project.proctor(["run"]).failure();
    assert!(!output.stdout.contains("was not passed on"), "{}", output.snapshot());
}

#[test]
fn a_check_has_no_input_and_no_descriptor_beside_its_output() {
    let project = project(&(check("descriptors", &["--descriptors"]) + "[[check]]\nname = \"reads\"\ncommand = [\"cat\"]\n"));
    project.proctor(["run"]).success();
    let printed = printed(&project, "descriptors");
    assert_eq!(printed.len(), 3, "{printed:?}");
    assert_eq!(printed[0], "/proc/self/fd/0 /dev/null");
}

#[test]
fn secrets_are_in_no_file_of_the_evidence() {
    let toml = check("quiet", &[])
        + "environment = { API_TOKEN = \"hunter2hunter2\" }\n[environment]\npass_environment = [\"DB_PASSWORD\"]\n";
    let project = project(&toml).env("DB_PASSWORD", "correct-horse");
    let output = project.proctor(["run"]).success();
    let state = project.root().join("state");
    let script = "! grep -r --exclude-dir=snapshots -e hunter2hunter2 -e correct-horse .";
    project.command("/bin/sh".as_ref(), ["-c", script]).directory(state.to_str().unwrap()).success();
    let names = output.report()["environment"]["names"].to_string();
    assert!(names.contains("API_TOKEN") && names.contains("DB_PASSWORD"), "{names}");
}

#[test]
fn every_action_finds_an_empty_directory_of_its_own_whatever_the_one_before_it_has_left() {
    let look = "basename \"$PROCTOR_OUT\"; ls -A \"$PROCTOR_OUT\"; stat -c %a,%i \"$PROCTOR_OUT\"; ";
    let nothing = "test -d \"$PROCTOR_OUT\"";
    let steps = [nothing, "touch \"$PROCTOR_OUT/left\"", "chmod 755 \"$PROCTOR_OUT\"", nothing, nothing];
    let check = |(number, step): (usize, &&str)| {
        format!("[[check]]\nname = \"check {number}\"\ncommand = [\"fake-tool\", \"--script\", '{look}{step}']\n")
    };
    let toml: String = steps.iter().enumerate().map(check).collect();
    let project = Project::new().toml(&toml);
    for level in levels().into_iter().filter(|level| *level != IsolationLevel::Cgroup) {
        project.proctor(["run"]).env("PROCTOR_TEST_ISOLATION", name_of(level)).success();
        let inode = |number: usize| {
            let id = format!("STEP.{number}");
            let [name, stat] = &printed(&project, &id)[..] else { panic!("{level:?}: {id} finds something") };
            assert_eq!(*name, id, "{level:?}");
            stat.strip_prefix("700,").unwrap_or_else(|| panic!("{level:?}: {id}: {stat}")).to_owned()
        };
        let inodes: Vec<String> = (1..=steps.len()).map(inode).collect();
        let is_shared: Vec<bool> = inodes.windows(2).map(|pair| pair[0] == pair[1]).collect();
        // With a namespace it is certain that no process of the action before is left, so the next action gets the same
        // directory.
        let is_certain = level == IsolationLevel::Namespace;
        assert_eq!(is_shared, [is_certain, false, false, is_certain], "{level:?}: {inodes:?}");
    }
}

#[test]
fn a_directory_that_a_report_is_taken_from_was_no_other_actions() {
    let check = |name: &str, tool: &str| {
        let look = "stat -c %i \"$PROCTOR_OUT\"";
        format!("[[check]]\nname = \"{name}\"\n{tool}command = [\"fake-tool\", \"--script\", '{look}']\n")
    };
    let toml = check("first", "") + &check("tests", "tool = \"pytest\"\n") + &check("last", "");
    let project = Project::new().toml(&toml);
    project.proctor(["run"]).any_status();
    let [first, tests, last] = ["STEP.1", "STEP.2", "STEP.3"].map(|id| printed(&project, id));
    assert_ne!(first, tests);
    assert!(last == first || last == tests, "what is not taken by the one is the next one's: {first:?} {tests:?} {last:?}");
}
