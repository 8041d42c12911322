//! Caches that tools keep elsewhere in the home than in `~/.cache`, and the variables that lead the tools to a project's
//! own (W16). A row per tool.
//!
//! A tool gets its variables only in a project that uses it. Some of these directories hold more than a cache (programs,
//! settings, a store that `node_modules` was linked from), so they are not replaced where nothing is gained by it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::own_caches::cargo_home::link_cargo_home;
use crate::own_caches::seeds::link_directory;
use crate::own_caches::write_below::WritableDirectory;
use crate::own_caches::{ActionPlace, OwnCachesRequest};

/// A variable for an action, with its value. If the action has a variable of this name already, that one stays.
pub(crate) type CacheVariable = (&'static str, OsString);

/// What a row sees of an action.
pub(super) struct ToolCaches<'r> {
    pub(super) own: &'r WritableDirectory,
    pub(super) home: &'r Path,
    pub(super) request: &'r OwnCachesRequest<'r>,
    /// The directories from the action's working directory up to the project's root.
    pub(super) around: Vec<PathBuf>,
}

impl ToolCaches<'_> {
    /// Returns a path in the project's own cache directory.
    fn own(&self, name: &str) -> PathBuf {
        self.request.path.join(name)
    }

    /// Returns the nearest file of this name, from the action's working directory upwards.
    pub(super) fn nearest(&self, name: &str) -> Option<PathBuf> {
        self.around.iter().map(|directory| directory.join(name)).find(|path| path.is_file())
    }
}

struct Row {
    /// The names of files of which a project that uses the tool has at least one; `*.x` stands for any name that ends so.
    shown_by: &'static [&'static str],
    /// Fills the project's own directory for the tool, and returns the variables that lead there; none if the tool is to use
    /// the cache of the home, as far as it can be read.
    lead: fn(&ToolCaches<'_>) -> io::Result<Vec<CacheVariable>>,
}

const ROWS: &[Row] = &[
    Row { shown_by: &["Cargo.toml"], lead: cargo },
    Row { shown_by: &["go.mod", "go.work"], lead: go },
    Row { shown_by: &["pom.xml"], lead: maven },
    Row { shown_by: &["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"], lead: gradle },
    Row { shown_by: &["pnpm-lock.yaml", "pnpm-workspace.yaml"], lead: pnpm },
    Row { shown_by: &[".yarnrc.yml"], lead: yarn },
    Row { shown_by: &["*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj", "Directory.Packages.props"], lead: nuget },
];

/// The most names of a directory that are looked at to find out which tools a project uses.
const MOST_NAMES: usize = 2_000;

/// Prepares the caches of the tools that the project uses, and returns their variables. A tool whose directory cannot be
/// prepared gets no variables.
pub(super) fn lead_tools(own: &WritableDirectory, home: &Path, request: &OwnCachesRequest<'_>) -> Vec<CacheVariable> {
    let inside = |directory: &&Path| directory.starts_with(request.root);
    let around: Vec<PathBuf> = request.directory.ancestors().take_while(inside).map(Path::to_owned).collect();
    let names: BTreeSet<OsString> = around.iter().flat_map(|directory| names_in(directory)).collect();
    let is_there = |shown: &&str| match shown.strip_prefix('*') {
        Some(end) => names.iter().any(|name| name.to_string_lossy().ends_with(end)),
        None => names.contains(OsStr::new(shown)),
    };
    let used = ROWS.iter().filter(|row| row.shown_by.iter().any(is_there));
    let caches = ToolCaches { own, home, request, around };
    used.flat_map(|row| (row.lead)(&caches).unwrap_or_default()).collect()
}

fn names_in(directory: &Path) -> Vec<OsString> {
    fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_NAMES).map(|entry| entry.file_name()).collect()
}

/// cargo compiles a package anew if its sources lie at another path. A check that works in the project itself shares `target`
/// with the user's own cargo, so it gets the home's sources: two paths would have everything compiled again and again.
///
/// Of a workspace around the project cargo would write to the `target` beside it, where actions write nothing.
fn cargo(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    let root = caches.request.root;
    let is_workspace = |directory: &Path| {
        fs::read_to_string(directory.join("Cargo.toml")).is_ok_and(|text| text.lines().any(|line| line.starts_with("[workspace")))
    };
    let workspace = caches.request.directory.ancestors().find(|directory| is_workspace(directory));
    let is_around = workspace.is_some_and(|workspace| workspace != root && root.starts_with(workspace));
    let mut variables: Vec<CacheVariable> =
        is_around.then(|| ("CARGO_TARGET_DIR", root.join("target").into())).into_iter().collect();
    if caches.request.place != ActionPlace::CheckInProject {
        link_cargo_home(&caches.own.directory(b"cargo")?, caches)?;
        variables.push(("CARGO_HOME", caches.own("cargo").into()));
    }
    Ok(variables)
}

/// Go reads its cache of downloads as a module proxy, and takes a module from the next proxy if it is not there. Modules that
/// Go gets from no proxy (`GOPRIVATE`) would be missing in another cache, so with such settings the home's cache stays.
fn go(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    const SETTINGS: &[&str] = &["GOPRIVATE", "GONOPROXY", "GOPROXY", "GOMODCACHE", "GOPATH", "GOFLAGS"];
    let settings = fs::read_to_string(caches.home.join(".config/go/env")).unwrap_or_default();
    if settings.lines().any(|line| SETTINGS.iter().any(|name| line.starts_with(name))) {
        return Ok(Vec::new());
    }
    let downloads = caches.home.join("go/pkg/mod/cache/download");
    let Some(shown) =
        downloads.to_str().filter(|shown| shown.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)))
    else {
        return Ok(Vec::new());
    };
    let first = if downloads.is_dir() { format!("file://{shown},") } else { String::new() };
    let proxies = format!("{first}https://proxy.golang.org,direct");
    // Without `-modcacherw` Go makes its directories read-only, and nobody could remove them.
    Ok(vec![("GOMODCACHE", caches.own("go-mod").into()), ("GOPROXY", proxies.into()), ("GOFLAGS", "-modcacherw".into())])
}

/// Maven from 3.9 on reads `MAVEN_ARGS`, and looks into further repositories that it does not write. Older Maven knows
/// neither, and reads the home's repository.
fn maven(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    let (own, home) = (caches.own("maven"), caches.home.join(".m2/repository"));
    // Maven splits the variable at spaces.
    let paths = [&own, &home].map(|path| path.to_str().filter(|path| !path.contains([' ', ',', '"', '\''])));
    let [Some(own), Some(home)] = paths else { return Ok(Vec::new()) };
    let tail = if Path::new(home).is_dir() { format!(" -Dmaven.repo.local.tail={home}") } else { String::new() };
    Ok(vec![("MAVEN_ARGS", format!("-Dmaven.repo.local={own}{tail}").into())])
}

/// Gradle cannot run at all in a home that is read-only. It reads the modules of the home by a variable of its own; its
/// distributions, toolchains and the user's settings are linked.
fn gradle(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    let home = caches.home.join(".gradle");
    let own = caches.own.directory(b"gradle")?;
    for name in ["gradle.properties", "init.gradle", "init.gradle.kts", "init.d", "jdks"] {
        let target = home.join(name);
        if target.exists() {
            own.link(name.as_bytes(), &target)?;
        }
    }
    let dists = own.directory(b"wrapper")?.directory(b"dists")?;
    // A distribution lies at `NAME/HASH/gradle-…`, with a marker and a lock file beside it.
    for name in names_in(&home.join("wrapper/dists")) {
        for hash in names_in(&home.join("wrapper/dists").join(&name)) {
            let from = home.join("wrapper/dists").join(&name).join(&hash);
            if !from.is_dir() {
                continue;
            }
            let below = dists.directory(name.as_encoded_bytes())?.directory(hash.as_encoded_bytes())?;
            for file in names_in(&from).iter().filter(|file| !file.to_string_lossy().ends_with(".lck")) {
                below.link(file.as_encoded_bytes(), &from.join(file))?;
            }
        }
    }
    let mut variables = vec![("GRADLE_USER_HOME", caches.own("gradle").into())];
    if home.join("caches/modules-2").is_dir() {
        variables.push(("GRADLE_RO_DEP_CACHE", home.join("caches").into()));
    }
    Ok(variables)
}

/// pnpm refuses to work on a `node_modules` that it made from another store. The store has no part that could be linked: pnpm
/// makes hard links to its files.
fn pnpm(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    let own = caches.own("pnpm");
    let made_from_own = |modules: PathBuf| fs::read_to_string(modules).is_ok_and(|text| text.contains(&*own.to_string_lossy()));
    let made = caches.nearest("node_modules/.modules.yaml").is_none_or(made_from_own);
    Ok(if made { vec![("npm_config_store_dir", own.into_os_string())] } else { Vec::new() })
}

/// Yarn from 2 on. Yarn 1 keeps its cache below `XDG_CACHE_HOME`.
fn yarn(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    let own = caches.own.directory(b"yarn-berry")?;
    link_directory(&own, b"cache", &caches.home.join(".yarn/berry/cache"), 0, caches.request.phase)?;
    Ok(vec![("YARN_GLOBAL_FOLDER", caches.own("yarn-berry").into())])
}

fn nuget(caches: &ToolCaches<'_>) -> io::Result<Vec<CacheVariable>> {
    // A package lies at `NAME/VERSION`: the directories of one level, the names, are made, and what they hold is linked.
    link_directory(caches.own, b"nuget", &caches.home.join(".nuget/packages"), 1, caches.request.phase)?;
    Ok(vec![("NUGET_PACKAGES", caches.own("nuget").into())])
}
