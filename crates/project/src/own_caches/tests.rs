//! Tests of the tools whose caches lie elsewhere in the home than in `~/.cache`: what is shared, what is the project's own, and
//! which variables lead there.
#![expect(clippy::disallowed_methods, reason = "the tests write the homes whose caches are linked")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;

/// A home, a project and the project's own caches.
struct Scene(tempfile::TempDir);

impl Scene {
    /// Makes a home with these files, and a project with those.
    fn new(home: &[&str], project: &[(&str, &str)]) -> Self {
        let scene = Self(tempfile::tempdir().expect("a directory"));
        home.iter().for_each(|file| scene.write(&format!("home/{file}"), "home"));
        fs::create_dir_all(scene.path("home")).expect("made");
        project.iter().for_each(|(file, text)| scene.write(&format!("project/{file}"), text));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Prepares the caches for a check below the project's root. Returns its variables, with the scene's directory left out.
    fn prepare(&self, directory: &str, place: ActionPlace) -> BTreeMap<&'static str, String> {
        let prepared = prepare_own_caches(OwnCachesRequest {
            path: self.path("own"),
            home: Some(&self.path("home")),
            cargo_home: None,
            root: &self.path("project"),
            directory: &self.path("project").join(directory),
            phase: ActionPhase::Prerequisite,
            place,
            seen: SeenHome(None),
        });
        let left_out = format!("{}/", self.0.path().display());
        let variables = prepared.expect("prepared").variables.into_iter();
        variables.map(|(name, value)| (name, value.to_string_lossy().replace(&left_out, ""))).collect()
    }

    fn variables(&self) -> BTreeMap<&'static str, String> {
        self.prepare("", ActionPlace::Elsewhere)
    }

    /// Returns the entries below a directory of the project's own: a link as `NAME -> TARGET`.
    fn own(&self, directory: &str) -> Vec<String> {
        let (root, mut found, mut waiting) = (self.path("own").join(directory), Vec::new(), vec![PathBuf::new()]);
        while let Some(below) = waiting.pop() {
            for entry in fs::read_dir(root.join(&below)).into_iter().flatten().flatten() {
                let name = below.join(entry.file_name());
                match fs::read_link(entry.path()) {
                    Ok(target) => {
                        let target = target.strip_prefix(self.0.path()).unwrap_or(&target).to_owned();
                        found.push(format!("{} -> {}", name.display(), target.display()));
                    }
                    Err(_) if entry.path().is_dir() => waiting.push(name),
                    Err(_) => found.push(name.display().to_string()),
                }
            }
        }
        found.sort();
        found
    }
}

const REGISTRY: &[&str] = &[
    ".cargo/bin/cargo-nextest",
    ".cargo/config.toml",
    ".cargo/registry/index/crates/config.json",
    ".cargo/registry/index/crates/.cache/it/oa/itoa",
    ".cargo/registry/index/crates/.cache/se/rd/serde",
    ".cargo/registry/cache/crates/itoa-1.0.1.crate",
    ".cargo/registry/cache/crates/serde-1.0.2.crate",
    ".cargo/registry/src/crates/itoa-1.0.1/lib.rs",
    ".cargo/registry/src/crates/serde-1.0.2/lib.rs",
    ".cargo/git/db/tools-0a1b/HEAD",
    ".cargo/git/checkouts/tools-0a1b/0123456/lib.rs",
    ".cargo/git/checkouts/tools-0a1b/fedcba9/lib.rs",
];

const LOCK: &str = "[[package]]\nname = \"itoa\"\nversion = \"1.0.1\"\nsource = \"registry+https://x\"\n\n\
    [[package]]\nname = \"gone\"\nversion = \"0.1.0\"\nsource = \"registry+https://x\"\n\n\
    [[package]]\nname = \"tool\"\nversion = \"0.2.0\"\nsource = \"git+https://x/tools?rev=0123#0123456789abcdef\"\n";

#[test]
fn a_member_of_a_workspace_around_the_project_has_outputs_of_its_own() {
    let package = "[package]\nname = \"shop\"\n";
    let target = |manifests: &[(&str, &str)], directory: &str| {
        let scene = Scene::new(&[], &[("Cargo.toml", package), ("inner/Cargo.toml", package)]);
        manifests.iter().for_each(|(file, text)| scene.write(file, text));
        let variable = |place| scene.prepare(directory, place).remove("CARGO_TARGET_DIR");
        let found = variable(ActionPlace::Elsewhere);
        assert_eq!(variable(ActionPlace::CheckInProject), found);
        found
    };
    let workspace = "[workspace]\nmembers = [\"project\", \"inner\"]\n";
    assert_eq!(target(&[("Cargo.toml", workspace)], ""), Some("project/target".to_owned()));
    assert_eq!(target(&[("Cargo.toml", workspace)], "inner"), Some("project/target".to_owned()));
    assert_eq!(target(&[("Cargo.toml", workspace), ("project/Cargo.toml", workspace)], "inner"), None, "its own workspace");
    assert_eq!(target(&[("project/Cargo.toml", workspace)], ""), None);
    assert_eq!(target(&[("Cargo.toml", package)], ""), None, "no workspace");
}

#[test]
fn cargo_finds_the_packages_of_the_lock_file_and_downloads_to_a_directory_of_the_project() {
    let scene = Scene::new(REGISTRY, &[("Cargo.toml", ""), ("Cargo.lock", LOCK), ("member/Cargo.toml", "")]);
    let variables = scene.prepare("member", ActionPlace::Elsewhere);
    assert_eq!(variables, [("CARGO_HOME", "own/cargo".to_owned())].into());
    let expected = [
        "bin -> home/.cargo/bin",
        "config.toml -> home/.cargo/config.toml",
        "git/checkouts/tools-0a1b/0123456 -> home/.cargo/git/checkouts/tools-0a1b/0123456",
        "git/db/tools-0a1b -> home/.cargo/git/db/tools-0a1b",
        "registry/cache/crates/itoa-1.0.1.crate -> home/.cargo/registry/cache/crates/itoa-1.0.1.crate",
        "registry/index/crates/.cache/it/oa/itoa -> home/.cargo/registry/index/crates/.cache/it/oa/itoa",
        "registry/index/crates/config.json",
        "registry/src/crates/itoa-1.0.1 -> home/.cargo/registry/src/crates/itoa-1.0.1",
    ];
    assert_eq!(scene.own("cargo"), expected);
    // A check that shares `target` with the user's own cargo sees the sources at the same path as the user.
    assert_eq!(scene.prepare("", ActionPlace::CheckInProject), BTreeMap::new());
}

#[test]
fn what_the_users_own_cargo_removes_is_downloaded_again_and_a_new_commit_is_fetched() {
    let scene = Scene::new(REGISTRY, &[("Cargo.toml", ""), ("Cargo.lock", LOCK)]);
    scene.variables();
    fs::remove_dir_all(scene.path("home/.cargo/registry/src/crates/itoa-1.0.1")).expect("it is there");
    scene.write("project/Cargo.lock", &LOCK.replace("#0123456789", "#aaaaaaa789"));
    scene.variables();
    // cargo may write where no link is left.
    let left = scene.own("cargo");
    assert!(!left.iter().any(|entry| entry.starts_with("git/db/")), "{left:?}");
    fs::remove_file(scene.path("home/.cargo/registry/cache/crates/itoa-1.0.1.crate")).expect("it is there");
    scene.write("home/.cargo/registry/cache/crates/itoa-1.0.1.crate", "new");
    scene.variables();
    assert!(scene.own("cargo").iter().any(|entry| entry.starts_with("registry/cache/crates/itoa")));
    let dangling = scene.path("own/cargo/registry/src/crates/itoa-1.0.1");
    assert!(dangling.symlink_metadata().is_err(), "a link that leads nowhere is removed");
}

#[test]
fn without_a_lock_file_cargo_finds_every_package_of_the_home() {
    let scene = Scene::new(REGISTRY, &[("Cargo.toml", "")]);
    scene.variables();
    let packages = scene.own("cargo/registry/src");
    assert_eq!(packages.len(), 2, "{packages:?}");
    let empty = Scene::new(&[], &[("Cargo.toml", "")]);
    assert_eq!(empty.variables()["CARGO_HOME"], "own/cargo", "a home without cargo's directory");
}

#[test]
fn each_tool_is_led_to_the_projects_own_directory_in_a_project_that_uses_it() {
    let home = ["go/pkg/mod/cache/download/x", ".m2/repository/x", ".gradle/caches/modules-2/x", ".nuget/packages/a/1.0/x"];
    let rows: &[(&str, &[(&str, &str)])] = &[
        (
            "go.mod",
            &[
                ("GOMODCACHE", "own/go-mod"),
                ("GOPROXY", "file://home/go/pkg/mod/cache/download,https://proxy.golang.org,direct"),
                ("GOFLAGS", "-modcacherw"),
            ],
        ),
        ("pom.xml", &[("MAVEN_ARGS", "-Dmaven.repo.local=own/maven -Dmaven.repo.local.tail=home/.m2/repository")]),
        ("build.gradle.kts", &[("GRADLE_USER_HOME", "own/gradle"), ("GRADLE_RO_DEP_CACHE", "home/.gradle/caches")]),
        ("pnpm-lock.yaml", &[("npm_config_store_dir", "own/pnpm")]),
        (".yarnrc.yml", &[("YARN_GLOBAL_FOLDER", "own/yarn-berry")]),
        ("shop.csproj", &[("NUGET_PACKAGES", "own/nuget")]),
        ("package.json", &[]),
        ("notes.csproj.txt", &[]),
    ];
    for (file, expected) in rows {
        let scene = Scene::new(&home, &[(file, ""), ("deep/er/x", "")]);
        let expected: BTreeMap<&str, String> = expected.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        assert_eq!(scene.variables(), expected, "{file}");
        assert_eq!(scene.prepare("deep/er", ActionPlace::CheckInProject), expected, "{file}: below its directory");
    }
    let dotnet = Scene::new(&home, &[("shop.csproj", "")]);
    dotnet.variables();
    assert_eq!(dotnet.own("nuget"), ["a/1.0 -> home/.nuget/packages/a/1.0"]);
}

#[test]
fn tools_that_would_lose_something_keep_the_homes_directory() {
    let private = Scene::new(&[], &[("go.mod", "")]);
    private.write("home/.config/go/env", "GOPRIVATE=git.example/*\n");
    assert_eq!(private.variables(), BTreeMap::new());
    let linked = Scene::new(&[], &[("pnpm-lock.yaml", ""), ("node_modules/.modules.yaml", "storeDir: /home/ada/store\n")]);
    assert_eq!(linked.variables(), BTreeMap::new(), "pnpm refuses a `node_modules` from another store");
    linked.write("project/node_modules/.modules.yaml", &format!("storeDir: {}/v3\n", linked.path("own/pnpm").display()));
    assert_eq!(linked.variables().len(), 1);
}

#[test]
fn a_distribution_of_gradle_is_shared_and_its_lock_is_not() {
    let dist = ".gradle/wrapper/dists/gradle-8-bin/h1";
    let files = ["gradle-8/bin/gradle", "gradle-8-bin.zip.ok", "gradle-8-bin.zip.lck"].map(|file| format!("{dist}/{file}"));
    let files: Vec<&str> = files.iter().map(String::as_str).chain([".gradle/gradle.properties"]).collect();
    let scene = Scene::new(&files, &[("settings.gradle", "")]);
    scene.variables();
    let expected = [
        "gradle.properties -> home/.gradle/gradle.properties".to_owned(),
        format!("wrapper/dists/gradle-8-bin/h1/gradle-8 -> home/{dist}/gradle-8"),
        format!("wrapper/dists/gradle-8-bin/h1/gradle-8-bin.zip.ok -> home/{dist}/gradle-8-bin.zip.ok"),
    ];
    assert_eq!(scene.own("gradle"), expected);
}

#[test]
fn a_link_that_tested_code_put_into_the_caches_leads_nowhere() {
    let scene = Scene::new(REGISTRY, &[("Cargo.toml", ""), ("Cargo.lock", LOCK), ("pom.xml", "")]);
    fs::create_dir_all(scene.path("elsewhere")).expect("made");
    fs::create_dir_all(scene.path("own")).expect("made");
    std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("own/cargo")).expect("linked");
    let variables = scene.variables();
    assert_eq!(fs::read_dir(scene.path("elsewhere")).expect("read").count(), 0);
    assert!(!variables.contains_key("CARGO_HOME") && variables.contains_key("MAVEN_ARGS"), "{variables:?}");
}
