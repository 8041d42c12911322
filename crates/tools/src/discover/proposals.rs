//! Proposes checks for a project in which none were found: the commands that its build files usually go with. Nothing of
//! this runs by itself, because a build file alone does not say that the command is the project's check. A person writes
//! the proposal into `proctor.toml`.

use crate::discover::entries::{NamedCommand, TASK_RUNNERS, TaskRunner, justfile, makefile};
use crate::discover::followed::{Followed, RunByChecks, RunCommand};
use crate::discover::{NO_PACKAGES, has_pyproject_table, has_section, packages};
use crate::jsonc::scripts;
use crate::known_runners::report_line;
use crate::project_files::{ProjectFiles, within};
use crate::shell::simple_commands;
use proctor_model::{InstalledPackage, Tool, ToolClass};

/// A check that a person may write into `proctor.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCheck {
    /// What suggests the check, such as the path of a build file.
    pub because: String,
    /// The working directory, relative to the project; empty for the root.
    pub directory: String,
    pub name: String,
    pub argv: Vec<String>,
    /// The setting `report` that tells how many tests ran, for a runner that does not say it otherwise.
    pub report: Option<String>,
}

/// A build file, the name of the proposed check, and the command that usually runs a project's tests.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// The build files. The first of several rows with one name counts.
const ROWS: &[Row] = &[
    ("manage.py", "django", &["python3", "manage.py", "test"]),
    ("tox.ini", "tox", &["tox"]),
    ("tox.toml", "tox", &["tox"]),
    ("noxfile.py", "nox", &["nox"]),
    ("gradlew", "gradle", &["./gradlew", "check"]),
    ("build.gradle", "gradle", &["gradle", "check"]),
    ("build.gradle.kts", "gradle", &["gradle", "check"]),
    ("pom.xml", "maven", &["mvn", "test"]),
    (".rspec", "rspec", &["bundle", "exec", "rspec"]),
    ("phpunit.xml", "phpunit", &["vendor/bin/phpunit"]),
    ("phpunit.xml.dist", "phpunit", &["vendor/bin/phpunit"]),
    ("mix.exs", "mix", &["mix", "test"]),
    (".golangci.yml", "golangci-lint", &["golangci-lint", "run"]),
    (".golangci.yaml", "golangci-lint", &["golangci-lint", "run"]),
    (".golangci.toml", "golangci-lint", &["golangci-lint", "run"]),
    ("deno.json", "deno", &["deno", "test"]),
    ("deno.jsonc", "deno", &["deno", "test"]),
];

/// The file that CMake builds from, and the words by which it has tests of its own.
const CMAKE: &str = "CMakeLists.txt";
const CMAKE_TESTS: &[&str] = &["enable_testing", "include(CTest)"];

/// Builds a project of CMake and runs its tests. Without a test, `ctest` by itself ends with exit code 0.
const CMAKE_BUILD: &str = "cmake -S . -B build && cmake --build build";
const CMAKE_TEST: &str = " && ctest --test-dir build --no-tests=error --output-on-failure";

/// Targets of makefiles and scripts of `package.json` that are checks, by their usual names.
const CHECKS: &[&str] = &["test", "tests", "check", "lint", "typecheck", "type-check"];

/// Where GitHub's workflows lie.
const WORKFLOWS: &str = ".github/workflows";

/// What `npm init` writes for a package without tests.
const NO_TEST: &str = "no test specified";

/// The end of the name of a notebook of Jupyter.
const NOTEBOOK: &str = ".ipynb";

/// How many levels below a directory tests of Python are looked for.
const DEPTH: usize = 3;

/// The most directories in which they are looked for.
const MOST_SEARCHED: usize = 256;

/// Files by which a virtual environment of Python is recognised under any name.
const ENVIRONMENT_MARKS: &[&str] = &["pyvenv.cfg", "conda-meta"];

/// At most this many proposals are returned.
const MOST: usize = 12;

/// Returns the checks that the files in the root suggest, or those of the directories one level below if the root
/// suggests none.
pub fn propose(files: &dyn ProjectFiles) -> Vec<ProposedCheck> {
    let of_root = propose_in(files, "");
    let mut all = if of_root.is_empty() {
        packages(files).iter().flat_map(|package| propose_in(files, package)).collect()
    } else {
        of_root
    };
    all.truncate(MOST);
    all
}

/// Returns the commands of a project that look like checks and that its checks do not run: those that [`propose`] knows, scripts `test:…`,
/// the tests of members of its workspace and of packages below the root that the root's tools do not reach, and steps of its CI.
pub fn uncovered(files: &dyn ProjectFiles, checks: &[RunCommand<'_>]) -> Vec<ProposedCheck> {
    let mut all: Vec<ProposedCheck> = propose_in(files, "");
    let is_proposed = |runner: &TaskRunner| all.iter().any(|one| one.argv[0].rsplit('/').next() == Some(runner.call[0]));
    let further: Vec<&TaskRunner> = TASK_RUNNERS.iter().filter(|runner| !is_proposed(runner)).collect();
    for runner in further {
        let test = (runner.read)(files, "").into_iter().find(|command| command.name == "test");
        all.extend(test.map(|NamedCommand { file, name, .. }| {
            let argv: Vec<&str> = runner.call.iter().copied().chain([name.as_str()]).collect();
            proposal(format!("`{name}` in `{file}`"), "", &argv.join(" "), &argv)
        }));
    }
    let further = |name: &&String| name.starts_with("test:") && !name.contains("watch");
    all.extend(scripts(files, "").keys().filter(further).map(|name| of_script(name, "")));
    for package in packages(files) {
        all.extend(scripts(files, &package).get_key_value("test").map(|(name, _)| of_script(name, &package)));
        for (file, workspace, argv) in
            [("Cargo.toml", "[workspace]", ["cargo", "test"].as_slice()), ("go.mod", "", &["go", "test", "./..."])]
        {
            let path = within(&package, file);
            let is_apart = files.exists(file) && (workspace.is_empty() || !has_section(files, "", file, workspace));
            let is_run =
                checks.iter().any(|check| check.directory == package && check.argv.first().is_some_and(|word| word == argv[0]));
            if files.exists(&path) && is_apart && !is_run {
                all.push(proposal(format!("`{path}`"), &package, argv[0], argv));
            }
        }
    }
    let mut followed = Followed::new(files);
    all.extend(steps_of_ci(files, &mut followed));
    let run = RunByChecks::of(files, checks);
    let is_apart = |one: &ProposedCheck| matches!(one.argv[0].as_str(), "cargo" | "go") && !one.directory.is_empty();
    let mut known: Vec<(String, Vec<String>)> = Vec::new();
    all.retain(|one: &ProposedCheck| {
        followed.begin_anew();
        followed.follow(&one.argv, &one.directory);
        let is_new = !known.contains(&(one.directory.clone(), one.argv.clone()));
        known.push((one.directory.clone(), one.argv.clone()));
        is_new
            && !followed.entered.iter().any(|entry| run.has_entered(entry))
            && (is_apart(one) || run.lacks(&followed).is_some())
    });
    all.truncate(MOST);
    all
}

fn of_script(name: &str, directory: &str) -> ProposedCheck {
    let because = format!("the script `{name}` in `{}`", within(directory, "package.json"));
    proposal(because, directory, name, &["npm", "run", name])
}

/// Returns the commands of GitHub's workflows that run a known test runner: of each `run`, the lines that hold no expression.
fn steps_of_ci(files: &dyn ProjectFiles, followed: &mut Followed<'_>) -> Vec<ProposedCheck> {
    let mut found = Vec::new();
    for name in files.names(WORKFLOWS).iter().filter(|name| name.ends_with(".yml") || name.ends_with(".yaml")) {
        let path = within(WORKFLOWS, name);
        let text = files.read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let mut block = None;
        for line in text.lines() {
            let depth = line.len() - line.trim_start().len();
            let body = line.trim_start().trim_start_matches("- ");
            block = block.filter(|block| depth > *block || body.is_empty());
            let command = match body.strip_prefix("run:").map(str::trim) {
                Some("|" | "|-" | ">" | ">-") => {
                    block = Some(depth);
                    continue;
                }
                Some(command) => command,
                None if block.is_some() => body,
                None => continue,
            };
            for argv in simple_commands(command).iter().filter(|_| !command.contains("${{")) {
                followed.begin_anew();
                followed.follow(argv, "");
                if followed.runs_tests() {
                    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
                    found.push(proposal(format!("a step of `{path}`"), "", &argv.join(" "), &argv));
                }
            }
        }
    }
    found
}

fn propose_in(files: &dyn ProjectFiles, directory: &str) -> Vec<ProposedCheck> {
    let mut found: Vec<ProposedCheck> = Vec::new();
    for (file, name, argv) in ROWS {
        let path = within(directory, file);
        if files.exists(&path) && !found.iter().any(|other| other.name == *name) {
            found.push(proposal(format!("`{path}`"), directory, name, argv));
        }
    }
    let has_tox_table =
        || has_section(files, directory, "setup.cfg", "[tox:tox]") || has_pyproject_table(files, directory, "tox");
    if !found.iter().any(|other| other.name.starts_with("tox")) && has_tox_table() {
        found.push(proposal("the settings of tox".to_owned(), directory, "tox", &["tox"]));
    }
    for (program, kind, commands) in
        [("make", "target", makefile(files, directory)), ("just", "recipe", justfile(files, directory))]
    {
        for NamedCommand { file, name: target, .. } in commands.iter().filter(|command| is_check(&command.name)) {
            let name = format!("{program} {target}");
            if !found.iter().any(|other| other.argv == [program, target.as_str()]) {
                found.push(proposal(format!("the {kind} `{target}` in `{file}`"), directory, &name, &[program, target]));
            }
        }
    }
    found.extend(cmake(files, directory));
    for (script, _) in scripts(files, directory).iter().filter(|(name, text)| is_check(name) && !text.contains(NO_TEST)) {
        found.push(of_script(script, directory));
    }
    for name in files.names(directory).iter().filter(|name| name.ends_with(NOTEBOOK)) {
        let because = format!("the notebook `{}`", within(directory, name));
        found.push(proposal(because, directory, name.trim_end_matches(NOTEBOOK), &["jupyter", "execute", name]));
    }
    if let Some(tests) = python_tests(files, directory) {
        let below = tests.strip_prefix(directory).unwrap_or(&tests).trim_start_matches('/');
        let runner = python_test_runner();
        found.push(proposal(format!("tests in `{tests}`"), directory, runner, &["python", "-m", runner, below]));
    }
    for one in &mut found {
        let installed = format!(".venv/bin/{}", one.argv[0]);
        if files.exists(&within(directory, &installed)) {
            one.argv[0] = installed;
        }
    }
    found
}

fn proposal(because: String, directory: &str, name: &str, argv: &[&str]) -> ProposedCheck {
    let name = if directory.is_empty() { name.to_owned() } else { format!("{name} {directory}") };
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let report = report_line(&argv);
    ProposedCheck { because, directory: directory.to_owned(), name, argv, report }
}

fn is_check(name: &str) -> bool {
    CHECKS.contains(&name)
}

/// Returns the check of a project of CMake.
fn cmake(files: &dyn ProjectFiles, directory: &str) -> Option<ProposedCheck> {
    let path = within(directory, CMAKE);
    let text = String::from_utf8_lossy(&files.read(&path)?).into_owned();
    let has_tests = CMAKE_TESTS.iter().any(|words| text.contains(words));
    let script = format!("{CMAKE_BUILD}{}", if has_tests { CMAKE_TEST } else { "" });
    Some(proposal(format!("`{path}`"), directory, "cmake", &["sh", "-c", &script]))
}

/// Returns the nearest directory with Python tests: `directory` itself or one below it. Returns `None` if there is none, or if the tests are
/// in the project's root. This is asked before each run, so each directory is listed once, and nothing else is asked of it: a
/// name with a dot is taken for that of a file, because no package of Python has one.
fn python_tests(files: &dyn ProjectFiles, directory: &str) -> Option<String> {
    let is_test = |name: &String| name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py");
    let is_package = |name: &&String| !name.contains('.') && !NO_PACKAGES.contains(&name.as_str());
    let mut level = vec![directory.to_owned()];
    let mut left = MOST_SEARCHED;
    for _ in 0..=DEPTH {
        let mut below = Vec::new();
        for path in level {
            left = left.checked_sub(1)?;
            let names = files.names(&path);
            if names.iter().any(|name| ENVIRONMENT_MARKS.contains(&name.as_str())) {
                continue;
            }
            if names.iter().any(is_test) {
                return (!path.is_empty()).then_some(path);
            }
            below.extend(names.iter().filter(is_package).map(|name| within(&path, name)));
        }
        level = below;
    }
    None
}

/// Returns the name of the tool that runs tests and is a Python package.
fn python_test_runner() -> &'static str {
    let name = |tool: Tool| match tool.package() {
        Some(InstalledPackage::Python(name)) if tool.class() == ToolClass::Test => Some(name),
        Some(InstalledPackage::Python(_) | InstalledPackage::Node(_)) | None => None,
    };
    Tool::ALL.into_iter().find_map(name).unwrap_or("unittest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    fn proposed(files: &[(&str, &str)]) -> Vec<String> {
        let line = |proposal: ProposedCheck| {
            format!("{}|{}|{}|{}", proposal.because, proposal.directory, proposal.name, proposal.argv.join(" "))
        };
        propose(&FakeFiles::of(files)).into_iter().map(line).collect()
    }

    /// Counts how often a file is read.
    struct CountingFiles(FakeFiles, std::cell::Cell<usize>);

    impl ProjectFiles for CountingFiles {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.1.set(self.1.get() + usize::from(path == "package.json"));
            self.0.read(path)
        }

        fn exists(&self, path: &str) -> bool {
            self.0.exists(path)
        }

        fn is_directory(&self, path: &str) -> bool {
            self.0.is_directory(path)
        }

        fn names(&self, directory: &str) -> Vec<String> {
            self.0.names(directory)
        }
    }

    #[test]
    fn a_file_is_not_read_again_for_each_command_that_is_followed() {
        let reads = |steps: usize| {
            let workflow: String = (0..steps).map(|step| format!("      - run: npm run unit -- --shard {step}\n")).collect();
            let package = r#"{"scripts": {"unit": "vitest run"}}"#;
            let files = FakeFiles::of(&[("package.json", package), (".github/workflows/ci.yml", &workflow)]);
            let files = CountingFiles(files, std::cell::Cell::new(0));
            assert_eq!(uncovered(&files, &[]).len(), steps.min(MOST));
            files.1.get()
        };
        assert_eq!(reads(1), reads(20));
    }

    #[test]
    fn tests_of_python_are_looked_for_in_a_few_directories_and_nothing_else_is_asked_of_them() {
        struct Listed(FakeFiles, std::cell::Cell<(usize, usize)>);
        impl Listed {
            fn count(&self, of_listings: usize, of_others: usize) {
                let (listings, others) = self.1.get();
                self.1.set((listings + of_listings, others + of_others));
            }
        }
        impl ProjectFiles for Listed {
            fn read(&self, path: &str) -> Option<Vec<u8>> {
                self.count(0, 1);
                self.0.read(path)
            }
            fn exists(&self, path: &str) -> bool {
                self.count(0, 1);
                self.0.exists(path)
            }
            fn is_directory(&self, path: &str) -> bool {
                self.count(0, 1);
                self.0.is_directory(path)
            }
            fn names(&self, directory: &str) -> Vec<String> {
                self.count(1, 0);
                self.0.names(directory)
            }
        }
        let asked = |directories: usize, more: &[(&str, &str)]| {
            let paths: Vec<String> = (0..directories).map(|number| format!("src/p{number}/mod.py")).collect();
            let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).chain(more.iter().copied()).collect();
            let files = Listed(FakeFiles::of(&files), std::cell::Cell::default());
            (python_tests(&files, ""), files.1.get())
        };
        assert_eq!(asked(100, &[("tests/test_a.py", "")]), (Some("tests".to_owned()), (3, 0)), "the nearest one");
        assert_eq!(asked(100, &[("src/p7/deep/test_a.py", "")]), (Some("src/p7/deep".to_owned()), (103, 0)));
        assert_eq!(asked(100, &[("a/b/c/d/test_a.py", "")]).0, None, "too deep");
        assert_eq!(asked(100, &[("env/pyvenv.cfg", ""), ("env/test_a.py", "")]).0, None);
        assert_eq!(asked(1000, &[]), (None, (MOST_SEARCHED, 0)));
    }

    #[test]
    fn every_build_file_proposes_its_command() {
        for (file, name, argv) in ROWS {
            assert_eq!(proposed(&[(file, "")]), [format!("`{file}`||{name}|{}", argv.join(" "))]);
        }
        assert_eq!(proposed(&[("gradlew", ""), ("build.gradle", "")]), ["`gradlew`||gradle|./gradlew check"]);
        assert_eq!(proposed(&[(".rspec", "")]), ["`.rspec`||rspec|bundle exec rspec"]);
        assert_eq!(proposed(&[("phpunit.xml.dist", "")]), ["`phpunit.xml.dist`||phpunit|vendor/bin/phpunit"]);
    }

    #[test]
    fn django_and_notebooks_have_their_usual_commands() {
        let django = "`manage.py`||django|python3 manage.py test";
        assert_eq!(proposed(&[("manage.py", ""), ("shop/tests.py", ""), ("requirements.txt", "django\n")]), [django]);
        let notebook = "the notebook `analysis.ipynb`||analysis|jupyter execute analysis.ipynb";
        assert_eq!(proposed(&[("analysis.ipynb", "{}"), ("data.csv", "")]), [notebook]);
        let own = [("manage.py", ""), (".venv/bin/python3", ""), ("requirements.txt", "django\n")];
        assert_eq!(proposed(&own), ["`manage.py`||django|.venv/bin/python3 manage.py test"]);
    }

    #[test]
    fn only_targets_that_exist_are_proposed() {
        let text = "test := x\nall: build\ncheck:: lint\n\tdo\nlint :\n.PHONY: test\n";
        assert_eq!(
            proposed(&[("Makefile", text)]),
            ["the target `check` in `Makefile`||make check|make check", "the target `lint` in `Makefile`||make lint|make lint"]
        );
        assert_eq!(proposed(&[("Makefile", "all:\n\tcc a.c\n")]), [""; 0]);
        assert_eq!(proposed(&[("Makefile", "test check: all\n\ttest: x\n# lint: y\n")]).len(), 2, "one line names two targets");
        let text =
            "set shell := [\"sh\"]\nrun test:\n    x\n@test *ARGS:\n    pytest {{ARGS}}\ncheck: test\nbuild:\n    lint: x\n";
        assert_eq!(
            proposed(&[("justfile", text)]),
            ["the recipe `test` in `justfile`||just test|just test", "the recipe `check` in `justfile`||just check|just check"]
        );
    }

    #[test]
    fn tox_is_proposed_once_wherever_its_settings_are() {
        for files in [
            [("tox.ini", "[testenv]\ncommands = pytest\n"), ("tox.toml", "")],
            [("setup.cfg", "[tox:tox]\nenvlist = py\n"), ("a", "")],
            [("pyproject.toml", "[tool.tox]\nenv_list = [\"py\"]\n"), ("a", "")],
        ] {
            let proposed = proposed(&files);
            assert!(proposed.len() == 1 && proposed[0].ends_with("||tox|tox"), "{proposed:?}");
        }
    }

    #[test]
    fn cmake_is_built_and_its_tests_must_be_there() {
        let test = "`CMakeLists.txt`||cmake|sh -c cmake -S . -B build && cmake --build build";
        assert_eq!(proposed(&[("CMakeLists.txt", "project(a)\n")]), [test]);
        let tested = format!("{test} && ctest --test-dir build --no-tests=error --output-on-failure");
        assert_eq!(proposed(&[("CMakeLists.txt", "project(a)\nenable_testing()\n")]), [tested]);
    }

    #[test]
    fn scripts_are_proposed_unless_npm_init_wrote_them() {
        let text = r#"{"scripts": {"test": "tap test", "start": "node .", "lint": "biome check", "type-check": "vue-tsc"}}"#;
        assert_eq!(
            proposed(&[("package.json", text)]),
            [
                "the script `lint` in `package.json`||lint|npm run lint",
                "the script `test` in `package.json`||test|npm run test",
                "the script `type-check` in `package.json`||type-check|npm run type-check"
            ]
        );
        let unset = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(proposed(&[("package.json", unset)]), [""; 0]);
    }

    #[test]
    fn tests_inside_of_a_package_are_proposed_for_pytest() {
        assert_eq!(
            proposed(&[("setup.py", ""), ("h11/_state.py", ""), ("h11/tests/test_state.py", "")]),
            ["tests in `h11/tests`||pytest|python -m pytest h11/tests"]
        );
        for inside in
            ["a/b/c/d/e/f/test_deep.py", ".venv/lib/test_x.py", "node_modules/node-gyp/gyp/test_x.py", "vendor/a/test_x.py"]
        {
            assert_eq!(proposed(&[(inside, "")]), [""; 0], "{inside}");
        }
        assert_eq!(proposed(&[("py3/lib/test_x.py", ""), ("py3/pyvenv.cfg", "")]), [""; 0]);
    }

    #[test]
    fn directories_below_are_searched_where_the_root_suggests_nothing() {
        assert_eq!(
            proposed(&[("server/pom.xml", ""), ("web/package.json", r#"{"scripts": {"test": "x"}}"#), ("target/pom.xml", "")]),
            [
                "`server/pom.xml`|server|maven server|mvn test",
                "the script `test` in `web/package.json`|web|test web|npm run test"
            ]
        );
    }
}
