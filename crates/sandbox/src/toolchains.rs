//! The table of the variables and usual places of toolchains, installed packages and caches of packages. A variable of the
//! table is passed on to actions, and the directory that it names is visible.

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
    /// What is visible of the directory; everything if the list is empty.
    pub(super) parts: &'static [&'static str],
    pub(super) kind: VisibleKind,
    pub(super) seen_by: SeenBy,
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

const fn whole(variable: &'static str, usual: &'static str) -> Toolchain {
    Toolchain { variable, usual, parts: &[], kind: VisibleKind::Toolchain, seen_by: SeenBy::All }
}

const fn parts(variable: &'static str, usual: &'static str, parts: &'static [&'static str]) -> Toolchain {
    Toolchain { parts, ..whole(variable, usual) }
}

const fn environment(variable: &'static str, usual: &'static str) -> Toolchain {
    Toolchain { kind: VisibleKind::Environment, ..whole(variable, usual) }
}

const fn cache(variable: &'static str, usual: &'static str) -> Toolchain {
    Toolchain { kind: VisibleKind::PackageCache, ..whole(variable, usual) }
}

const fn for_installing(variable: &'static str, usual: &'static str) -> Toolchain {
    Toolchain { seen_by: SeenBy::Prerequisites, ..cache(variable, usual) }
}

pub(super) const TOOLCHAINS: &[Toolchain] = &[
    // Rust
    // rustup wants its directories to be there, and makes those that are missing.
    whole("RUSTUP_HOME", ".rustup"),
    parts("CARGO_HOME", ".cargo", &["bin", "config", "config.toml", "env"]),
    Toolchain { parts: &["git", "registry"], ..cache("CARGO_HOME", ".cargo") },
    // Python
    whole("PYENV_ROOT", ".pyenv"),
    whole("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
    whole("UV_TOOL_DIR", ".local/share/uv/tools"),
    whole("PIPX_HOME", ".local/share/pipx"),
    whole("", ".local/pipx"),
    whole("POETRY_HOME", ".local/share/pypoetry"),
    environment("WORKON_HOME", ".local/share/virtualenvs"),
    environment("", ".cache/pypoetry/virtualenvs"),
    environment("", ".local/share/hatch/env"),
    whole("CONDA_PREFIX", ""),
    whole("MAMBA_ROOT_PREFIX", "micromamba"),
    whole("", "miniconda3"),
    whole("", "miniforge3"),
    whole("", "mambaforge"),
    whole("", "anaconda3"),
    // Node
    whole("NVM_DIR", ".nvm"),
    whole("FNM_DIR", ".local/share/fnm"),
    whole("VOLTA_HOME", ".volta"),
    whole("N_PREFIX", ""),
    parts("BUN_INSTALL", ".bun", &["bin"]),
    parts("DENO_INSTALL", ".deno", &["bin"]),
    environment("", ".npm-global"),
    Toolchain { parts: &["global", "nodejs", "pnpm", "store"], ..environment("PNPM_HOME", ".local/share/pnpm") },
    environment("COREPACK_HOME", ".cache/node/corepack"),
    // Yarn's Plug'n'Play loads packages from the archives there.
    cache("", ".yarn/berry/cache"),
    // Several languages
    whole("ASDF_DATA_DIR", ".asdf"),
    whole("MISE_DATA_DIR", ".local/share/mise"),
    whole("HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew"),
    whole("", ".linuxbrew"),
    // Go
    whole("GOROOT", ""),
    parts("GOPATH", "go", &["bin"]),
    whole("", "sdk"),
    Toolchain { parts: &["pkg"], ..cache("GOPATH", "go") },
    cache("GOMODCACHE", ""),
    // The JVM, .NET, Android
    whole("JAVA_HOME", ""),
    whole("SDKMAN_DIR", ".sdkman"),
    whole("JENV_ROOT", ".jenv"),
    whole("", ".jdks"),
    parts("GRADLE_USER_HOME", ".gradle", &["gradle.properties", "init.d", "init.gradle", "init.gradle.kts", "jdks"]),
    Toolchain { parts: &["caches", "wrapper"], ..cache("GRADLE_USER_HOME", ".gradle") },
    Toolchain { parts: &["repository", "wrapper"], ..cache("", ".m2") },
    whole("DOTNET_ROOT", ".dotnet"),
    cache("NUGET_PACKAGES", ".nuget/packages"),
    whole("ANDROID_HOME", "Android/Sdk"),
    // Ruby, and others
    whole("RBENV_ROOT", ".rbenv"),
    whole("", ".rvm"),
    environment("GEM_HOME", ".gem"),
    whole("ELAN_HOME", ".elan"),
    whole("", ".ghcup"),
    environment("OPAMROOT", ".opam"),
    environment("JULIA_DEPOT_PATH", ".julia"),
    // Data that tools download
    cache("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright"),
    cache("CYPRESS_CACHE_FOLDER", ".cache/Cypress"),
    cache("PUPPETEER_CACHE_DIR", ".cache/puppeteer"),
    cache("HF_HOME", ".cache/huggingface"),
    cache("NLTK_DATA", "nltk_data"),
    cache("PRE_COMMIT_HOME", ".cache/pre-commit"),
    // What package managers install from
    for_installing("", ".cache"),
    for_installing("", ".npm"),
    for_installing("", ".yarn"),
    for_installing("", ".local/share/uv"),
];

/// Returns the directories below the home that every action sees because tools usually keep something there.
pub fn usual_places(home: &Path) -> impl Iterator<Item = PathBuf> {
    let rows = TOOLCHAINS.iter().filter(|row| row.seen_by == SeenBy::All && !row.usual.is_empty());
    rows.map(move |row| home.join(row.usual))
}

/// Returns whether a variable names a toolchain, so that every action gets it. A variable that makes its directory writable
/// is passed on only if the settings say so.
pub(super) fn is_toolchain_variable(name: &OsStr) -> bool {
    !name.is_empty() && TOOLCHAINS.iter().any(|row| name == row.variable) && !CACHE_VARIABLES.iter().any(|cache| name == *cache)
}
