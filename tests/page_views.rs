//! Drives the page's views in a real browser: Debian's chromium, by playwright-core. The scripts in `page_views/` act as a person does and
//! say what they expect; the tests here give them a project and a program.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{Project, WRITES_TO_SHARED, fake_tool, playwright_modules, python_plain, repository};
use crate::specification_runs::{project as specified, task};

/// Where Debian's package puts the browser.
const CHROMIUM: &str = "/usr/bin/chromium";
/// How long one script may take.
const SCRIPT_BOUND: Duration = Duration::from_secs(280);
const RIGHT: &str = "def total(prices):\n    return sum(prices)\n";
const TEST: &str = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n";

#[test]
#[ignore = "wide tier"]
fn a_person_follows_a_project_on_the_page() {
    let project = shop();
    let flips = format!(
        "from pathlib import Path\n\n\ndef test_flips():\n    counter = Path({:?})\n    \
         times = int(counter.read_text()) if counter.exists() else 0\n    counter.write_text(str(times + 1))\n    \
         assert times % 2 == 0, \"every other time\"\n",
        project.shared("counter")
    );
    project.save("flips.txt", &flips);
    drive(&project, "live.mjs");
}

/// Without the service nobody watches the files, so the page looks at them itself.
#[test]
#[ignore = "wide tier"]
fn a_page_without_the_service_says_how_the_files_are_now() {
    let mut failing = task("T102");
    failing["testExecution"]["steps"][1]["parameters"]["command"] = "cat totals.txt | grep 9.99".into();
    drive(&specified(&[task("T101"), failing]), "alone.mjs");
}

#[test]
#[ignore = "wide tier"]
fn a_page_says_why_a_person_is_asked_and_what_to_type() {
    let project = shop();
    project.proctor(["tdd", "start"]).success();
    project.proctor(["run"]).status(3);
    drive(&project, "asked.mjs");
}

#[test]
#[ignore = "wide tier"]
fn an_exported_run_opens_without_a_network() {
    drive(&shop(), "offline.mjs");
}

#[test]
#[ignore = "wide tier"]
fn ten_thousand_runs_are_usable_on_the_page() {
    let project =
        Project::new().toml(&format!("[[check]]\nname = \"quick\"\ncommand = \"{} --exit 0\"\n", fake_tool().display()));
    let _registered = project.proctor(["run"]).success();
    let _added = project.proctor(["service", "add"]).success();
    drive(&project, "history.mjs");
}

/// Also writes them to `docs/pictures` if `PROCTOR_UPDATE_PICTURES` is set.
#[test]
#[ignore = "wide tier"]
fn the_pictures_of_the_guide_can_be_made() {
    let checks = format!(
        "{WRITES_TO_SHARED}[[check]]\nname = \"pytest\"\ntool = \"pytest\"\ncommand = \".venv/bin/python -m pytest\"\n\
         [[check]]\nname = \"style\"\ncommand = \"python3 style.py\"\n"
    );
    let kept = repository().join("docs/pictures");
    let project = Project::new().toml(&checks);
    let python = python_plain();
    let environment = python.parent().and_then(Path::parent).expect("an environment has a directory of programs");
    symlink(environment, project.path().join(".venv")).expect("the project is ours");
    let made = if std::env::var_os("PROCTOR_UPDATE_PICTURES").is_some() { kept.clone() } else { project.root().join("pictures") };
    let project = project.env("PAGE_VIEWS_PICTURES", &made);
    drive(&project, "pictures.mjs");
    let names = |directory: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("`{}`: {error}", directory.display()));
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(&kept), names(&made), "`docs/pictures` has the pictures that the script makes");
    let guide = fs::read_to_string(repository().join("docs/guides/page.md")).expect("the guide");
    for name in names(&kept) {
        assert!(guide.contains(&format!("../pictures/{name}")), "docs/guides/page.md shows {name}");
    }
}

/// An export joins the modules in the order of `ORDER`, without the lines that import and the words that export.
#[test]
fn the_modules_of_the_page_can_be_joined_to_one_script() {
    let assets = repository().join("crates/api/src/page/assets");
    let said = run_script(Command::new("node").arg(script("modules.mjs")).arg(&assets));
    assert!(said.contains("modules"), "{said}");
}

/// Which bytes of a log are shown, what colours mean, which run is the one before: what needs no browser.
#[test]
fn the_modules_of_the_page_decide_as_they_should() {
    let assets = repository().join("crates/api/src/page/assets");
    let said = run_script(Command::new("node").arg(script("logic.mjs")).arg(&assets));
    assert!(said.contains("decisions hold"), "{said}");
}

#[test]
fn what_others_wrote_is_what_its_list_of_hashes_says() {
    let vendor = repository().join("crates/api/src/page/assets/vendor");
    let said = run_script(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&vendor));
    for name in ["preact.js", "uplot.js", "LICENSE-preact", "LICENSE-htm", "LICENSE-uplot"] {
        assert!(said.contains(&format!("{name}: OK")), "{name}: {said}");
    }
}

/// A project with one test, which a file of two lines makes pass or fail.
fn shop() -> Project {
    let python = python_plain();
    let checks = format!("[[check]]\nname = \"pytest\"\ntool = \"pytest\"\ncommand = \"{} -m pytest\"\n", python.display());
    Project::new().toml(&format!("{WRITES_TO_SHARED}{checks}")).file("shop.py", RIGHT).file("test_shop.py", TEST)
}

fn script(name: &str) -> PathBuf {
    repository().join("tests/page_views").join(name)
}

/// Runs a script with the program, the browser and the packages that it needs.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the log of the tests shows the figures of the page")]
fn drive(project: &Project, name: &str) {
    assert!(Path::new(CHROMIUM).exists(), "install Debian's package chromium, which the page is drawn with here");
    let said = project
        .command(Path::new("node"), [script(name)])
        .env("PAGE_VIEWS_PROJECT", project.path())
        .env("PAGE_VIEWS_PROCTOR", crate::common::proctor())
        .env("PAGE_VIEWS_CHROMIUM", CHROMIUM)
        .env("PAGE_VIEWS_MODULES", playwright_modules())
        .bound(SCRIPT_BOUND)
        .any_status();
    println!("{}", said.stdout);
    assert_eq!(said.status, 0, "{name} ended otherwise:\n{}{}", said.stdout, said.stderr);
}

#[track_caller]
fn run_script(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    said
}
