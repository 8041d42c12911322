"""The projects of the lab: where each comes from, at which version, and how its suite is run by hand.

Everything is fetched once into `target/mutations`, by pip and npm themselves. After that nothing needs a network.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PACKAGES = HERE / "packages"
PYTEST = (".venv/bin/python", "-m", "pytest")


@dataclass(frozen=True)
class Project:
    """A project with its suite.

    `origin` says what is copied: `sdist NAME-VERSION`, `npm NAME` or `fixture PATH`. `sources` are the patterns of the files whose code is
    mutated. `environment` is set for the command, by hand as under proctor.
    """

    name: str
    tool: str
    origin: str
    command: tuple[str, ...]
    sources: tuple[str, ...]
    tests: str = "tests"
    environment: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    python: str | None = None
    node: str | None = None
    toml: str = ""


def released(name: str, archive: str, sources: str, tests: str = "tests", source_directory: str = "") -> Project:
    environment = {"PYTHONPATH": source_directory} if source_directory else {}
    return Project(name, "pytest", f"sdist {archive}", PYTEST, (sources,), tests, environment, python="suites")


PYTHON = [
    released("cachetools", "cachetools-8.0.2", "src/cachetools/*.py", source_directory="src"),
    released("h11", "h11-0.16.0", "h11/*.py", tests="h11/tests"),
    released("hyperframe", "hyperframe-6.1.0", "src/hyperframe/*.py", source_directory="src"),
    released("inflection", "inflection-0.5.1", "inflection/*.py", tests="."),
    released("isodate", "isodate-0.7.2", "src/isodate/*.py", source_directory="src"),
    released("itsdangerous", "itsdangerous-2.2.0", "src/itsdangerous/*.py", tests="tests/test_itsdangerous", source_directory="src"),
    released("jinja2", "jinja2-3.1.6", "src/jinja2/*.py", source_directory="src"),
    released("markupsafe", "markupsafe-3.0.4", "src/markupsafe/*.py", source_directory="src"),
    released("sqlparse", "sqlparse-0.6.1", "sqlparse/**/*.py"),
    released("tabulate", "tabulate-0.10.0", "tabulate/*.py", tests="test"),
    released("tomlkit", "tomlkit-0.15.2", "tomlkit/*.py"),
    released("toolz", "toolz-1.0.0", "toolz/*.py", tests="toolz/tests"),
    released("uritemplate", "uritemplate-4.2.0", "uritemplate/*.py"),
    released("wsproto", "wsproto-1.3.2", "src/wsproto/*.py", source_directory="src"),
    released("xmltodict", "xmltodict-1.0.4", "xmltodict.py"),
]

QUOTES = "fixture fixtures/projects/quotes"
NODE_TESTS = ("node", "--test")
JAVASCRIPT = [
    Project("error", "node", "npm @fastify/error", NODE_TESTS, ("index.js",), "test"),
    Project("warning", "node", "npm process-warning", NODE_TESTS, ("index.js",), "test"),
    Project(
        "ms", "jest", "npm ms", ("node_modules/.bin/jest",), ("index.js",), "test", node="jest",
        files={"test/ms.test.js": "suites/ms.test.js"},
    ),
    Project(
        "quotes-vitest", "vitest", QUOTES, ("node_modules/.bin/vitest", "run"), ("web/src/*.ts",), "web/test", node="vitest",
        files={"web/test/quotes.test.ts": "suites/quotes.test.ts"},
    ),
    Project("quotes-tsc", "tsc", QUOTES, ("node_modules/.bin/tsc", "--noEmit", "-p", "web"), ("web/src/*.ts",), node="quotes"),
]  # fmt: skip

ALL_WARNINGS = 'policy = { block_on = "errors-and-warnings" }\n'
LINTERS = [
    Project("mypy", "mypy", QUOTES, (".venv/bin/python", "-m", "mypy", "quotes"), ("quotes/*.py",), python="checkers"),
    Project("ruff", "ruff", QUOTES, (".venv/bin/ruff", "check", "--select=E,F,I", "--line-length=120", "quotes"), ("quotes/*.py",), python="checkers"),
    Project("ruff-format", "ruff", QUOTES, (".venv/bin/ruff", "format", "--check", "--line-length=120", "quotes"), ("quotes/*.py",), python="checkers"),
    Project("flake8", "flake8", QUOTES, (".venv/bin/python", "-m", "flake8", "--max-line-length=120", "quotes"), ("quotes/*.py",), python="checkers"),
    Project(
        "pylint", "pylint", QUOTES, (".venv/bin/python", "-m", "pylint", "--disable=C,R,W0613", "quotes"), ("quotes/*.py",), python="checkers",
        toml=ALL_WARNINGS,
    ),
    Project("eslint", "eslint", QUOTES, ("node_modules/.bin/eslint", "web"), ("web/src/*.ts",), node="quotes"),
    Project(
        "prettier", "prettier", QUOTES, ("node_modules/.bin/prettier", "--check", "lib"), ("lib/*.js",), node="jest",
        files={"lib/tidy.js": "suites/tidy.js"}, toml='policy = { block_on = "errors-always" }\n',
    ),
]  # fmt: skip


class Places:
    """The directories below `target/mutations`, each made once."""

    def __init__(self, root: Path):
        self.root = root
        self.lock = threading.RLock()

    def once(self, name: str, stamp: str, make) -> Path:
        """Calls `make` for the directory `name`, unless it was made for the same stamp. The stamp is written last."""
        directory, written = self.root / name, self.root / f"{name}.stamp"
        digest = hashlib.sha256(stamp.encode()).hexdigest()
        with self.lock:
            if not written.exists() or written.read_text() != digest:
                print(f"fetching {name} …", flush=True)
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir(parents=True)
                make(directory)
                written.write_text(digest)
        return directory

    def python(self, name: str) -> Path:
        requirements = (PACKAGES / f"{name}.txt").read_text()

        def make(directory):
            run([sys.executable, "-m", "venv", directory])
            run([directory / "bin/python", "-m", "pip", *PIP, "install", "--no-deps", "-r", PACKAGES / f"{name}.txt"])

        return self.once(f"python-{name}", requirements + sys.version, make)

    def node(self, name: str) -> Path:
        """Returns the installed packages of a lock file: the lab's own (`sources`), those of the bundled project, or of the real tools' tests."""
        manifests = {"sources": PACKAGES, "quotes": REPOSITORY / "fixtures/projects/quotes"}.get(name, REPOSITORY / "fixtures/packages" / name)
        texts = {file: (manifests / file).read_text() for file in ("package.json", "package-lock.json")}

        def make(directory):
            for file, text in texts.items():
                (directory / file).write_text(text)
            run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=directory)

        return self.once(f"node-{name}", "".join(texts.values()), make) / "node_modules"

    def archive(self, name: str) -> Path:
        """Returns the unpacked source distribution `NAME-VERSION`, whose hash stands in `packages/sources.txt`."""
        package, version = name.rsplit("-", 1)
        line = next(line for line in (PACKAGES / "sources.txt").read_text().splitlines() if line.startswith(f"{package}=={version} "))

        def make(directory):
            wanted = directory / "wanted.txt"
            wanted.write_text(line + "\n")
            # pip asks the project's build backend for its name and version. The backends are installed, at fixed versions.
            options = ["--no-deps", "--no-build-isolation", "--require-hashes", "--no-binary", ":all:", "--dest", directory, "-r", wanted]
            run([self.python("suites") / "bin/python", "-m", "pip", *PIP, "download", *options])
            (packed,) = directory.glob("*.tar.gz")
            run(["tar", "-xzf", packed, "--no-same-owner", "--strip-components=1", "-C", directory])
            packed.unlink()
            wanted.unlink()

        return self.once(f"source-{name}", line, make)

    def copy(self, project: Project, directory: Path) -> None:
        """Makes a fresh copy of a project in `directory`, with its installed packages, which share their files with all other copies."""
        kind, name = project.origin.split(" ", 1)
        source = {"sdist": self.archive, "npm": lambda package: self.node("sources") / package, "fixture": REPOSITORY.__truediv__}[kind](name)
        leave_out = shutil.ignore_patterns("node_modules", ".venv", "__pycache__", "evidence", ".git")
        shutil.copytree(source, directory, symlinks=True, ignore=leave_out)
        for path, text in project.files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / text, directory / path)
        if project.python:
            (directory / ".venv").symlink_to(self.python(project.python))
        if project.node:
            # A link would lead out of the project, where a check may not write. Vitest writes into `node_modules`.
            shutil.copytree(self.node(project.node), directory / "node_modules", symlinks=True, copy_function=link)
        (directory / ".gitignore").write_text(".venv\nnode_modules\nevidence\n__pycache__/\n.pytest_cache/\n*.egg-info/\n")
        (directory / "proctor.toml").write_text(configuration(project))


PIP = ("--quiet", "--disable-pip-version-check")


def configuration(project: Project, command: tuple[str, ...] | None = None, further: str = "") -> str:
    words = ", ".join(f'"{word}"' for word in command or project.command)
    variables = ", ".join(f'{name} = "{value}"' for name, value in project.environment.items())
    return f'[[check]]\nname = "suite"\ncommand = [{words}]\nenvironment = {{ {variables} }}\ntimeout = "60s"\n{project.toml}{further}'


def link(source: str, target: str) -> None:
    """Makes a hard link, or a copy where the two directories are on different file systems."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def run(command, cwd=None) -> None:
    command = [os.fspath(word) for word in command]
    ended = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"could not prepare the lab: {' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
