//! Tests the forms in which runs leave for other tools: `proctor export --format`, `also` of `[evidence]`, and `proctor run --github`.

mod readers;

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Project, python_signatures, repository};

/// The formats, and the files in a run's directory.
const FORMATS: [(&str, &str); 6] = [
    ("junit", "export.junit.xml"),
    ("ctrf", "export.ctrf.json"),
    ("sarif", "export.sarif"),
    ("github", "export.github.txt"),
    ("markdown", "export.md"),
    ("html", "export.html"),
];
/// A check that stands for pytest.
const TESTS: &str = "\
eval \"set -- $PYTEST_ADDOPTS\"
for word; do
    case $word in --junitxml=*) cp report.xml \"${word#--junitxml=}\" ;; esac
done
exit 1
";
/// Its report: the names and messages have what XML, HTML, workflow commands and terminals act on.
const REPORT: &str = "\
<testsuites><testsuite name=\"s\" tests=\"4\">\
<testcase classname=\"tests.test_a\" name=\"passes\" time=\"0.004\"/>\
<testcase classname=\"tests.test_a\" name=\"::error::injected ##[add-mask]x &lt;script&gt;\" time=\"1.5\">\
<failure message=\"assert 1 == 2\">E   assert 1 == 2&#10;::set-output name=x::y&#10;&lt;img src=x onerror=alert(1)&gt;&#10;PLACE</failure></testcase>\
<testcase classname=\"tests.test_a\" name=\"waits\" time=\"0.001\"><skipped message=\"later\"/></testcase>\
<testcase classname=\"tests.test_a\" name=\"breaks\" time=\"0.002\"><error message=\"no fixture\">no fixture</error></testcase>\
</testsuite></testsuites>
";
/// A check that stands for a type checker.
const TYPES: &str = "\
echo \"web/a b.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\"
echo \"web/a b.ts(9,5): error TS2322: Type 'string' is not assignable to type 'number'.\"
exit 2
";
const CHECKS: &str = "\
[[check]]
name = \"unit\"
tool = \"pytest\"
command = \"sh tests.sh\"
[[check]]
name = \"types\"
tool = \"tsc\"
command = \"sh types.sh\"
";

/// Returns a project with tests and a type checker that fail. The settings come before the checks.
fn project(settings: &str) -> Project {
    let project = Project::new().toml(&format!("{settings}{CHECKS}")).file("tests.sh", TESTS).file("types.sh", TYPES);
    // A place in the project, one below the home directory, and one elsewhere.
    let places =
        format!("{}/tests/test_a.py:3 {}/home/.secret /opt/acme/plan", project.path().display(), project.root().display());
    project.file("report.xml", &REPORT.replace("PLACE", &places))
}

fn export(project: &Project, format: &str) -> String {
    project.proctor(["export", "--format", format]).success().stdout
}

#[test]
fn every_format_says_what_failed_and_nothing_of_the_machine() {
    let project = project("");
    project.proctor(["run"]).status(1);
    for (format, _) in FORMATS {
        let text = export(&project, format);
        assert!(text.contains("TS2322") && text.contains("assert 1"), "{format}: {text}");
        for telling in [project.root().to_str().expect("it is text"), "/opt/acme", ".secret"] {
            assert!(!text.contains(telling), "{format}: `{telling}` in {text}");
        }
    }
    let ctrf: Value = serde_json::from_str(&export(&project, "ctrf")).expect("it is JSON");
    let counts = ["tests", "passed", "failed", "skipped"].map(|key| ctrf["results"]["summary"][key].as_u64());
    assert_eq!(counts, [Some(5), Some(1), Some(3), Some(1)], "four tests and the type checker: {ctrf:#}");
    let sarif: Value = serde_json::from_str(&export(&project, "sarif")).expect("it is JSON");
    let results = |run: usize| sarif["runs"][run]["results"].as_array().map_or(0, Vec::len);
    assert_eq!((results(0), results(1)), (2, 2), "{sarif:#}");
    let finding = &sarif["runs"][1]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(finding["artifactLocation"]["uri"], "web/a%20b.ts");
    let to = project.shared("run.html");
    project.proctor(["export", "--format", "html", "--to"]).arguments([&to]).success();
    assert_eq!(fs::read_to_string(&to).expect("it was written"), export(&project, "html"));
    assert!(project.proctor(["export", "--format", "htlm"]).status(2).stderr.contains("'html'"));
}

#[test]
fn a_run_has_the_files_that_also_asks_for_and_they_are_sealed_with_it() {
    let words = FORMATS.map(|(word, _)| format!("\"{word}\"")).join(", ");
    let project = project(&format!("[evidence]\nalso = [{words}]\n[run]\nreuse = \"always\"\n"));
    // The second run uses the results of the first one.
    project.proctor(["run"]).status(1);
    let run = project.proctor(["run"]).status(1);
    let (directory, report) = (run.run_directory(), run.report());
    assert_eq!(report["stepExecution"]["results"][0]["disposition"], "REUSED", "{report:#}");
    let sums = fs::read_to_string(directory.join("SHA256SUMS")).expect("it is sealed");
    for (format, name) in FORMATS {
        let kept = fs::read_to_string(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        if format == "html" {
            // The page that is exported later has what the actions printed, too.
            assert!(export(&project, format).contains("/matrix?task=default") && kept.contains("proctor-answers"), "{kept}");
        } else {
            assert_eq!(kept, export(&project, format), "{name} is what `export` prints");
        }
        assert!(kept.contains("assert 1"), "{name} has the reused tests: {kept}");
        assert!(sums.contains(&format!("  {name}\n")), "{sums}");
        let listed = report["evidenceFiles"].as_array().expect("a list").iter().find(|file| file["name"] == name);
        assert_eq!(listed.map(|file| &file["kind"]), Some(&"export".into()));
    }
    project.proctor(["verify"]).success();
    let to = project.shared("copy");
    project.proctor(["export", "--to"]).arguments([&to]).success();
    assert!(to.join("run").join("export.html").is_file());
    assert_eq!(independent(&project), Some(0), "the verifier of the page takes such a run");

    let page = directory.join("export.html");
    let text = fs::read_to_string(&page).expect("it is there").replacen("FAILED", "PASSED", 1);
    fs::set_permissions(&page, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    fs::write(&page, text).expect("it is ours");
    assert!(project.proctor(["verify"]).status(6).stdout.contains("export.html"));
    assert_eq!(independent(&project), Some(6));
}

/// Verifies the store by the page about the format of evidence alone.
fn independent(project: &Project) -> Option<i32> {
    let mut command = Command::new(python_signatures());
    command.arg(repository().join("tests/evidence_format/verify.py")).arg("store").arg(project.root().join("state/proctor"));
    command.output().expect("Python starts").status.code()
}

#[test]
fn without_also_a_run_has_no_such_file() {
    let project = project("");
    let run = project.proctor(["run"]).status(1);
    let names = fs::read_dir(run.run_directory()).expect("it is there").flatten();
    assert!(!names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("export")));
}

/// Returns the lines that a runner of GitHub Actions takes for commands: `::` at the beginning, or `##[` anywhere.
fn commands(log: &str) -> Vec<&str> {
    log.split(['\n', '\r']).filter(|line| line.trim_start().starts_with("::") || line.contains("##[")).collect()
}

#[test]
fn a_job_of_github_gets_annotations_and_a_summary_and_nothing_that_a_test_wrote() {
    let project = project("");
    let summary = project.shared("summary.md");
    fs::write(&summary, "what another command wrote").expect("the directory is ours");
    let run = project
        .proctor(["run", "--github"])
        .env("GITHUB_STEP_SUMMARY", &summary)
        .env("GITHUB_WORKSPACE", project.root())
        .status(1);
    let below = project.path().strip_prefix(project.root()).expect("it lies there").to_owned();
    let found = commands(&run.stdout);
    let allowed = ["::error file=", "::error title=", "::notice title=proctor::"];
    assert!(found.iter().all(|line| allowed.iter().any(|start| line.starts_with(start))), "{found:#?}");
    let place = format!("::error file={},line=3,col=5,title=types TS2322::", below.join("web/a b.ts").display());
    assert!(found.iter().any(|line| line.starts_with(&place)), "{place}: {found:#?}");
    assert_eq!(found.iter().filter(|line| line.starts_with("::error")).count(), 4, "{found:#?}");
    assert_eq!(commands(&run.stderr), Vec::<&str>::new());
    let written = fs::read_to_string(&summary).expect("it is there");
    assert!(written.starts_with("what another command wrote\n## FAILED"), "{written}");
    assert!(!written.contains("<script") && !written.contains("<img"), "{written}");

    let alone = project.proctor(["run", "--github"]).status(1);
    assert!(alone.stderr.contains("GITHUB_STEP_SUMMARY is not set"), "{}", alone.stderr);
    assert!(project.proctor(["run", "--github", "--json"]).status(2).stderr.contains("--json"));
    let unwritable = project.proctor(["run", "--github"]).env("GITHUB_STEP_SUMMARY", project.root()).status(1);
    assert!(unwritable.stderr.contains("the summary could not be added"), "{}", unwritable.stderr);
}

#[test]
fn an_error_before_any_run_is_an_annotation_too() {
    let project = Project::new().toml("[[check]]\nname = \"::error::x\"\ntool = \"pytst\"\n");
    let run = project.proctor(["run", "--github"]).status(4);
    let found = commands(&run.stdout);
    assert!(found.len() == 1 && found[0].starts_with("::error title=proctor::"), "{found:#?}");
    assert_eq!(commands(&run.stderr), Vec::<&str>::new());
}

#[test]
fn a_run_that_is_not_as_it_was_sealed_is_not_handed_out() {
    let project = Project::new().toml("[[check]]\nname = \"says\"\ncommand = \"echo said\"\n");
    project.proctor(["run"]).success();
    let run = project.store().run_directory("default");
    let log = run.join("STEP.1-terminal-output.log");
    let sealed = fs::read(&log).expect("it is there");
    for (what, file) in [("a changed log", "STEP.1-terminal-output.log"), ("a changed report", "execution-report.json")] {
        let original = fs::read(run.join(file)).expect("it is there");
        replace(&run.join(file), &[&original[..], b" "].concat());
        for name in ["out", "out.tar.zst"] {
            let to = project.root().join(name);
            let refused = project.proctor(["export", "1", "--to", to.to_str().expect("it is text")]).status(6);
            assert!(
                refused.stderr.contains("is not as it was sealed, and nothing was exported"),
                "{what}: {}",
                refused.snapshot()
            );
            assert!(!to.exists(), "{what}: {name}");
        }
        replace(&run.join(file), &original);
    }
    fs::remove_file(&log).expect("it is ours");
    let to = project.root().join("out");
    let arguments = ["export", "1", "--to", to.to_str().expect("it is text")];
    project.proctor(arguments).status(6);
    replace(&log, &sealed);
    project.proctor(arguments).success();
    project.proctor(["verify", to.to_str().expect("it is text")]).success();
}

/// Puts a file with the mode of a sealed one in the place of another.
fn replace(path: &std::path::Path, content: &[u8]) {
    let _gone = fs::remove_file(path);
    fs::write(path, content).expect("the store is ours");
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o400)).expect("the store is ours");
}

#[test]
fn a_format_of_the_newest_run_says_when_it_is_about_other_content() {
    let check = |command: &str| format!("[[check]]\nname = \"reads\"\ncommand = \"{command}\"\n");
    let project = Project::new().toml(&check("grep -q good a.txt")).file("a.txt", "good\n");
    project.proctor(["run"]).success();
    let export = |more: &[&str]| project.proctor(["export", "--format", "junit"]).arguments(more.iter().copied());
    assert_eq!(export(&[]).success().stderr, "");
    export(&["--fresh"]).success();
    project.save("a.txt", "bad\n");
    assert!(export(&[]).success().stderr.contains("is about another tree than the present one"));
    let refused = export(&["--fresh"]).status(5);
    assert!(refused.stdout.is_empty() && refused.stderr.contains("another tree"), "{}", refused.snapshot());
    project.save("a.txt", "good\n");
    project.save("proctor.toml", &check("true"));
    assert!(export(&[]).success().stderr.contains("another tree and another plan"));
    export(&["1", "--fresh"]).status(5);
    assert_eq!(export(&["1"]).success().stderr, "", "who names a run means it");
}

#[test]
fn an_unknown_format_is_an_error_that_names_the_nearest_one() {
    let project = project("[evidence]\nalso = [\"junit\", \"sarrif\"]\n");
    let refused = project.proctor(["run"]).status(4).stderr;
    assert!(refused.contains("proctor.toml:2:18: evidence.also[2]") && refused.contains("`sarif`"), "{refused}");
}
