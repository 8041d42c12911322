//! Checks that the README is true: its commands are run, and its exit codes are the program's. Also checks that the
//! help texts are unchanged.
//!
//! `docs` describes the marks before fenced blocks. The help texts are `tests/help/*.txt`; `PROCTOR_UPDATE_HELP=1 cargo
//! test --test integration -- readme docs` writes them anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Project, proctor, redact, repository};
use crate::docs::{blocks, helps, is_update_wanted, marked, page, run_of};

/// The name of the block that must exist: the main job, from nothing to a verdict.
const MAIN_JOB: &str = "main job";

/// The time limit of a block of commands. It is long because the prerequisites of the bundled project install Python
/// and Node packages.
const INSTALLING_BOUND: Duration = Duration::from_secs(600);

const PAGES_OF_EXIT_CODES: &[&str] = &["README.md", "docs/reference/exit-codes.md"];

#[test]
#[ignore = "long tier"]
fn what_the_readme_runs_runs() {
    let blocks = blocks(&readme());
    let names: Vec<&str> = blocks.iter().filter_map(|block| run_of(block)).map(|(name, _)| name).collect();
    assert!(names.contains(&MAIN_JOB), "the README needs a block marked `<!-- run: {MAIN_JOB} -->`; it has {names:?}");
    let project = Project::bundled("quotes").with_program(proctor()).with_package_index();
    for block in &blocks {
        if let Some((name, status)) = run_of(block) {
            assert_eq!(block.language, "sh", "block `{name}`");
            let output = project
                .command(Path::new("/bin/sh"), ["-euc", &as_installed(&block.text)])
                .bound(INSTALLING_BOUND)
                .status(status);
            if let Some(expected) = blocks.iter().find(|other| other.marked_as("output") == Some(name)) {
                let redactions = project.redactions();
                assert_eq!(redact(&output.stdout, &redactions), redact(&expected.text, &redactions), "output of block `{name}`");
            }
        } else if block.marked_as("watch").is_some() {
            let command = format!("exec {}", as_installed(&block.text));
            let mut watch = project.command(Path::new("/bin/sh"), ["-euc", &command]).watch();
            watch.wait_for_verdict();
            let output = watch.interrupt();
            assert!([0, 130].contains(&output.status), "{}", output.snapshot());
        }
    }
}

/// Lets the README's commands use the program that was built for the tests, in the copy of the bundled project: a test
/// must neither build a release nor change the repository's own files.
fn as_installed(commands: &str) -> String {
    commands.replace("cargo run --release --locked -- ", "proctor ").replace("fixtures/projects/quotes", ".")
}

#[test]
fn the_readme_says_how_the_tests_are_run() {
    assert_eq!(marked("test").language, "sh");
}

#[test]
fn exit_codes_of_the_pages_are_the_programs() {
    for path in PAGES_OF_EXIT_CODES {
        let text = page(path).text;
        let first_cells = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
        let numbers = first_cells
            .flat_map(|cell| cell.split([',', '/']).map(|number| number.trim().trim_matches(['*', '`']).parse::<u8>()));
        let listed: BTreeSet<u8> = numbers.flatten().collect();
        assert_eq!(
            listed,
            BTreeSet::from([0, 1, 2, 3, 4, 5, 6, 70, 130, 143]),
            "rows of the tables in `{path}` that begin with a number"
        );
    }
}

#[test]
fn helps_are_what_they_were() {
    let directory = repository().join("tests/help");
    let helps = helps();
    let golden = |path: &[String]| {
        directory.join(if path.is_empty() { "proctor.txt".to_owned() } else { format!("{}.txt", path.join("-")) })
    };
    if is_update_wanted() {
        fs::create_dir_all(&directory).expect("the source tree is writable");
        for (path, help) in &helps {
            fs::write(golden(path), help).expect("the source tree is writable");
        }
    }
    for (path, help) in &helps {
        let file = golden(path);
        let expected = fs::read_to_string(&file).unwrap_or_else(|error| panic!("could not read `{}`: {error}", file.display()));
        assert_eq!(help, &expected, "`proctor {} --help` and `{}` differ", path.join(" "), file.display());
    }
    let known: BTreeSet<PathBuf> = helps.iter().map(|(path, _)| golden(path)).collect();
    let files = fs::read_dir(&directory).expect("the helps are part of the repository").flatten().map(|entry| entry.path());
    let stale: Vec<PathBuf> = files.filter(|file| !known.contains(file)).collect();
    assert!(stale.is_empty(), "no command has these helps: {stale:?}");
}

#[test]
fn the_launcher_is_hidden() {
    let (_, help) = helps().remove(0);
    assert!(!help.contains("__launcher"), "{help}");
}

fn readme() -> String {
    page("README.md").text
}
