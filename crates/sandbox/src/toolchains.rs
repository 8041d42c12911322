//! The table of the variables and usual places of toolchains, installed packages and caches of packages, and of what says that
//! a project uses them. A variable of the table is passed on to actions, and the directory that it names is visible to the
//! actions of a project that uses it (`used_toolchains`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::rules::CACHE_VARIABLES;
use proctor_model::{ActionPhase, VisibleKind};

/// Where tools of one kind lie.
pub(super) struct Toolchain {
    /// The variable that names the directory; empty if there is none.
    pub(super) variable: &'static str,
    /// The directory if the variable is not set: below HOME, or absolute; empty if there is no usual one.
    pub(super) usual: &'static str,
    pub(super) shown: Shown,
    pub(super) kind: VisibleKind,
    pub(super) seen_by: SeenBy,
    /// What says that an action can use the directory. An action can also use the directory that its program lies in.
    pub(super) used_by: &'static [&'static Use],
}

/// What is visible of the directory of a toolchain that an action can use.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    Whole,
    Parts(&'static [&'static str]),
    /// These parts, and of the versions below a directory those that are chosen.
    Versions {
        parts: &'static [&'static str],
        /// The directory whose entries are versions; `x/*` if the entries of `x` have such directories.
        below: &'static str,
        /// The files of the toolchain that say which version is used where no file of the project does.
        default: &'static [&'static str],
    },
    /// The programs that an action starts by their names, and what they belong to.
    Programs,
}

/// What says that an action can use a toolchain.
pub(super) struct Use {
    /// Names of files of the project, such as manifests and lock files; `*` stands for any text.
    pub(super) files: &'static [&'static str],
    /// Names of programs in the action's command; a trailing `*` stands for any text.
    pub(super) programs: &'static [&'static str],
    /// Names of packages that are installed for the project.
    pub(super) packages: &'static [&'static str],
    /// Names of lock files that have the hashes of what lies in the directory.
    pub(super) pinned_by: &'static [&'static str],
}

/// Which actions see a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenBy {
    All,
    /// Package managers read these directories to install packages. What checks read was installed.
    Prerequisites,
}

impl Toolchain {
    pub(super) fn is_seen_in(&self, phase: ActionPhase) -> bool {
        self.seen_by == SeenBy::All || phase == ActionPhase::Prerequisite
    }
}

const fn language(files: &'static [&'static str], programs: &'static [&'static str]) -> Use {
    Use { files, programs, packages: &[], pinned_by: &[] }
}

const fn pinned_by(of: Use, pinned_by: &'static [&'static str]) -> Use {
    Use { pinned_by, ..of }
}

const fn packages(packages: &'static [&'static str]) -> Use {
    Use { packages, ..language(&[], &[]) }
}

const RUST: Use = language(&["Cargo.toml", "rust-toolchain", "rust-toolchain.toml"], &["cargo*", "rust*", "clippy-driver"]);
// Scripts of Python often have no manifest.
const PYTHON: Use = language(
    &[
        "*.py",
        ".python-version",
        "Pipfile",
        "environment.yml",
        "pixi.toml",
        "pyproject.toml",
        "requirements*.txt",
        "setup.cfg",
        "tox.ini",
    ],
    &["conda", "hatch", "ipython", "mamba", "micromamba", "nox", "pdm", "pip*", "poetry", "py*", "ruff", "tox", "uv", "uvx"],
);
const CONDA: Use = language(
    &["conda-lock.yml", "environment.yaml", "environment.yml", "meta.yaml", "pixi.toml"],
    &["conda", "mamba", "micromamba", "pixi"],
);
const NODE: Use = language(
    &[".node-version", ".nvmrc", "bunfig.toml", "deno.json", "deno.jsonc", "package.json"],
    &["bun", "bunx", "corepack", "deno", "node", "npm", "npx", "pnpm", "pnpx", "tsc", "tsx", "yarn"],
);
const GO: Use = language(&["go.mod", "go.work"], &["go", "gofmt"]);
const JVM: Use = language(
    &[
        ".java-version",
        ".sdkmanrc",
        "build.gradle",
        "build.gradle.kts",
        "build.sbt",
        "build.xml",
        "deps.edn",
        "pom.xml",
        "project.clj",
        "settings.gradle",
        "settings.gradle.kts",
    ],
    &["ant", "clojure", "gradle*", "java*", "kotlin*", "lein", "mvn*", "sbt", "scala*"],
);
const DOTNET: Use = language(&["*.csproj", "*.fsproj", "*.sln", "*.slnx", "*.vbproj", "global.json"], &["dotnet"]);
const RUBY: Use = language(&["*.gemspec", ".ruby-version", "Gemfile", "Rakefile"], &["bundle*", "gem", "rake", "rspec", "ruby*"]);
const LEAN: Use = language(&["lakefile.lean", "lakefile.toml", "lean-toolchain"], &["elan", "lake", "lean"]);
const HASKELL: Use = language(&["*.cabal", "cabal.project", "stack.yaml"], &["cabal", "ghc*", "runghc", "stack"]);
const OCAML: Use = language(&["*.opam", "dune-project"], &["dune", "ocaml*", "opam"]);
const JULIA: Use = language(&["JuliaProject.toml", "Project.toml"], &["julia"]);
const TOOL_VERSIONS: Use = language(&[".mise.toml", ".tool-versions", "mise.toml"], &["asdf", "mise"]);
const PRE_COMMIT: Use = language(&[".pre-commit-config.yaml"], &["pre-commit", "prek"]);

/// Whatever a project consists of, its actions can use the directory.
const ALWAYS: &[&Use] = &[];
/// The languages of managers that keep the versions of any tool.
const ANY_LANGUAGE: &[&Use] =
    &[&TOOL_VERSIONS, &RUST, &PYTHON, &NODE, &GO, &JVM, &DOTNET, &RUBY, &LEAN, &HASKELL, &OCAML, &JULIA];

const fn whole(variable: &'static str, usual: &'static str, used_by: &'static [&'static Use]) -> Toolchain {
    Toolchain { variable, usual, shown: Shown::Whole, kind: VisibleKind::Toolchain, seen_by: SeenBy::All, used_by }
}

const fn environment(variable: &'static str, usual: &'static str, used_by: &'static [&'static Use]) -> Toolchain {
    Toolchain { kind: VisibleKind::Environment, ..whole(variable, usual, used_by) }
}

const fn cache(variable: &'static str, usual: &'static str, used_by: &'static [&'static Use]) -> Toolchain {
    Toolchain { kind: VisibleKind::PackageCache, ..whole(variable, usual, used_by) }
}

const fn for_installing(usual: &'static str) -> Toolchain {
    Toolchain { seen_by: SeenBy::Prerequisites, ..cache("", usual, ALWAYS) }
}

/// Shows a part of the directory of a row.
const fn only(shown: Shown, of: Toolchain) -> Toolchain {
    Toolchain { shown, ..of }
}

const fn parts(parts: &'static [&'static str], of: Toolchain) -> Toolchain {
    only(Shown::Parts(parts), of)
}

/// Directories whose entries are the versions.
const VERSIONS: Shown = Shown::Versions { parts: &[], below: "", default: &[] };
const CONDA_ENVIRONMENTS: Shown = Shown::Versions {
    parts: &["bin", "compiler_compat", "condabin", "conda-meta", "etc", "include", "lib", "libexec", "share", "ssl"],
    below: "envs",
    default: &[],
};

pub(super) const TOOLCHAINS: &[Toolchain] = &[
    // Rust
    // rustup wants its directories to be there, and makes those that are missing.
    only(
        Shown::Versions {
            parts: &["downloads", "settings.toml", "tmp", "update-hashes"],
            below: "toolchains",
            default: &["settings.toml"],
        },
        whole("RUSTUP_HOME", ".rustup", &[&RUST]),
    ),
    parts(&["bin", "config", "config.toml", "env"], whole("CARGO_HOME", ".cargo", &[&RUST])),
    parts(&["git", "registry"], cache("CARGO_HOME", ".cargo", &[&pinned_by(RUST, &["Cargo.lock"])])),
    // Python
    only(
        Shown::Versions {
            parts: &["bin", "libexec", "plugins", "pyenv.d", "shims", "version"],
            below: "versions",
            default: &["version"],
        },
        whole("PYENV_ROOT", ".pyenv", &[&PYTHON]),
    ),
    only(VERSIONS, whole("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", &[&PYTHON])),
    only(Shown::Programs, whole("UV_TOOL_DIR", ".local/share/uv/tools", &[&PYTHON])),
    only(Shown::Programs, whole("PIPX_HOME", ".local/share/pipx", &[&PYTHON])),
    only(Shown::Programs, whole("", ".local/pipx", &[&PYTHON])),
    only(Shown::Programs, whole("POETRY_HOME", ".local/share/pypoetry", &[&PYTHON])),
    // What `pip install --user` installs.
    environment("", ".local/lib", &[&PYTHON]),
    only(VERSIONS, environment("WORKON_HOME", ".local/share/virtualenvs", &[&PYTHON])),
    only(VERSIONS, environment("", ".cache/pypoetry/virtualenvs", &[&PYTHON])),
    only(Shown::Versions { parts: &[], below: "virtual", default: &[] }, environment("", ".local/share/hatch/env", &[&PYTHON])),
    whole("CONDA_PREFIX", "", &[&PYTHON, &CONDA]),
    only(CONDA_ENVIRONMENTS, whole("MAMBA_ROOT_PREFIX", "micromamba", &[&CONDA])),
    only(CONDA_ENVIRONMENTS, whole("", "miniconda3", &[&CONDA])),
    only(CONDA_ENVIRONMENTS, whole("", "miniforge3", &[&CONDA])),
    only(CONDA_ENVIRONMENTS, whole("", "mambaforge", &[&CONDA])),
    only(CONDA_ENVIRONMENTS, whole("", "anaconda3", &[&CONDA])),
    // Node
    only(
        Shown::Versions {
            parts: &["alias", "bash_completion", "nvm-exec", "nvm.sh"],
            below: "versions/*",
            default: &["alias/default"],
        },
        whole("NVM_DIR", ".nvm", &[&NODE]),
    ),
    only(
        Shown::Versions { parts: &["aliases"], below: "node-versions", default: &[] },
        whole("FNM_DIR", ".local/share/fnm", &[&NODE]),
    ),
    only(
        Shown::Versions {
            parts: &["bin", "hooks.json", "layout.v4", "tools/user"],
            below: "tools/image/*",
            default: &["tools/user/platform.json"],
        },
        whole("VOLTA_HOME", ".volta", &[&NODE]),
    ),
    whole("N_PREFIX", "", &[&NODE]),
    parts(&["bin"], whole("BUN_INSTALL", ".bun", &[&NODE])),
    parts(&["bin"], whole("DENO_INSTALL", ".deno", &[&NODE])),
    environment("", ".npm-global", &[&NODE]),
    parts(&["global", "nodejs", "pnpm"], environment("PNPM_HOME", ".local/share/pnpm", &[&NODE])),
    parts(&["store"], cache("PNPM_HOME", ".local/share/pnpm", &[&pinned_by(NODE, &["pnpm-lock.yaml"])])),
    environment("COREPACK_HOME", ".cache/node/corepack", &[&NODE]),
    // Yarn's Plug'n'Play loads packages from the archives there.
    cache("", ".yarn/berry/cache", &[&pinned_by(NODE, &["yarn.lock"])]),
    // Several languages
    only(
        Shown::Versions { parts: &["asdf.sh", "bin", "lib", "libexec", "plugins", "shims"], below: "installs/*", default: &[] },
        whole("ASDF_DATA_DIR", ".asdf", ANY_LANGUAGE),
    ),
    only(
        Shown::Versions { parts: &["plugins", "shims"], below: "installs/*", default: &[] },
        whole("MISE_DATA_DIR", ".local/share/mise", ANY_LANGUAGE),
    ),
    only(Shown::Programs, whole("HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", ALWAYS)),
    only(Shown::Programs, whole("", ".linuxbrew", ALWAYS)),
    // Go
    whole("GOROOT", "", &[&GO]),
    parts(&["bin"], whole("GOPATH", "go", &[&GO])),
    only(VERSIONS, whole("", "sdk", &[&GO])),
    parts(&["pkg"], cache("GOPATH", "go", &[&pinned_by(GO, &["go.sum"])])),
    cache("GOMODCACHE", "", &[&pinned_by(GO, &["go.sum"])]),
    // The JVM, .NET, Android
    whole("JAVA_HOME", "", &[&JVM]),
    only(
        Shown::Versions { parts: &["bin", "etc", "libexec", "src", "var"], below: "candidates/*", default: &[] },
        whole("SDKMAN_DIR", ".sdkman", &[&JVM]),
    ),
    whole("JENV_ROOT", ".jenv", &[&JVM]),
    only(VERSIONS, whole("", ".jdks", &[&JVM])),
    parts(
        &["gradle.properties", "init.d", "init.gradle", "init.gradle.kts", "jdks"],
        whole("GRADLE_USER_HOME", ".gradle", &[&JVM]),
    ),
    parts(&["caches", "wrapper"], cache("GRADLE_USER_HOME", ".gradle", &[&pinned_by(JVM, &["verification-metadata.xml"])])),
    parts(&["repository", "wrapper"], cache("", ".m2", &[&JVM])),
    whole("DOTNET_ROOT", ".dotnet", &[&DOTNET]),
    cache("NUGET_PACKAGES", ".nuget/packages", &[&pinned_by(DOTNET, &["packages.lock.json"])]),
    whole("ANDROID_HOME", "Android/Sdk", &[&JVM]),
    // Ruby, and others
    only(
        Shown::Versions {
            parts: &["bin", "libexec", "plugins", "rbenv.d", "shims", "version"],
            below: "versions",
            default: &["version"],
        },
        whole("RBENV_ROOT", ".rbenv", &[&RUBY]),
    ),
    whole("", ".rvm", &[&RUBY]),
    environment("GEM_HOME", ".gem", &[&RUBY]),
    whole("ELAN_HOME", ".elan", &[&LEAN]),
    whole("", ".ghcup", &[&HASKELL]),
    environment("OPAMROOT", ".opam", &[&OCAML]),
    environment("JULIA_DEPOT_PATH", ".julia", &[&JULIA]),
    // Data that tools download
    cache(
        "PLAYWRIGHT_BROWSERS_PATH",
        ".cache/ms-playwright",
        &[&packages(&["@playwright/test", "playwright", "playwright-core"])],
    ),
    cache("CYPRESS_CACHE_FOLDER", ".cache/Cypress", &[&packages(&["cypress"])]),
    cache("PUPPETEER_CACHE_DIR", ".cache/puppeteer", &[&packages(&["puppeteer", "puppeteer-core"])]),
    cache("HF_HOME", ".cache/huggingface", &[&packages(&["datasets", "huggingface_hub", "transformers"])]),
    cache("NLTK_DATA", "nltk_data", &[&packages(&["nltk"])]),
    cache("PRE_COMMIT_HOME", ".cache/pre-commit", &[&PRE_COMMIT]),
    // What package managers install from
    for_installing(".cache"),
    for_installing(".npm"),
    for_installing(".yarn"),
    for_installing(".local/share/uv"),
];

/// Returns the directories below the home that every action sees because tools usually keep something there.
pub fn usual_places(home: &Path) -> impl Iterator<Item = PathBuf> {
    let rows = TOOLCHAINS.iter().filter(|row| row.seen_by == SeenBy::All && !row.usual.is_empty());
    rows.map(move |row| home.join(row.usual))
}

/// Returns whether a variable names a toolchain, so that every action gets it. A variable that makes its directory writable
/// is passed on only if the settings say so.
pub(super) fn is_toolchain_variable(name: &OsStr) -> bool {
    !name.is_empty()
        && TOOLCHAINS.iter().any(|row| name == row.variable)
        && !CACHE_VARIABLES.split(' ').any(|cache| name == cache)
}
