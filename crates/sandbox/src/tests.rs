//! Tests each rule on real directories, and properties that every list of places must have.

mod closed;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{MissingDirectories, SandboxError, SandboxRequest, SystemPlaces, prepare_sandbox};
use proctor_model::testing;
use proctor_model::{
    Access, ActionPhase, HomeAccess, PackageCredentials, ProtectionMode, Sandbox, SandboxSettings, World as WorldSetting,
};
use proctor_plan::config::Configuration;

/// A small file system for a test: `home`, the project in `home/src/shop`, the store in `home/.local/state/proctor`,
/// and the program `bin/tool`. `$TMPDIR` is the whole directory, so an action sees only the paths that a rule names.
struct World {
    _directory: TempDir,
    root: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    ambient: BTreeMap<OsString, OsString>,
    settings: SandboxSettings,
    guarded: Vec<PathBuf>,
    inputs: Vec<PathBuf>,
    manifests: BTreeSet<String>,
    missing: MissingDirectories,
    phase: ActionPhase,
    program: PathBuf,
    project: &'static str,
}

const PROJECT: &str = "home/src/shop";
const STORE: &str = "home/.local/state/proctor";

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("it is there");
        let world = Self {
            _directory: directory,
            environment: BTreeMap::from([("TMPDIR".into(), root.clone().into())]),
            ambient: BTreeMap::new(),
            settings: SandboxSettings { world: WorldSetting::Open, ..Configuration::default().sandbox },
            guarded: Vec::new(),
            inputs: Vec::new(),
            manifests: BTreeSet::new(),
            missing: MissingDirectories::Create,
            phase: ActionPhase::Step,
            program: root.join("bin/tool"),
            project: PROJECT,
            root,
        };
        for path in [PROJECT, STORE] {
            world.directory(path);
        }
        world.file("bin/tool", "");
        world
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    fn directory(&self, relative: &str) -> PathBuf {
        fs::create_dir_all(self.path(relative)).expect("made");
        self.path(relative)
    }

    fn file(&self, relative: &str, content: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        File::create(&path).and_then(|mut file| std::io::Write::write_all(&mut file, content.as_bytes())).expect("written");
        path
    }

    /// Sets a variable where proctor runs, and passes it on.
    fn variable(&mut self, name: &str, relative: &str) {
        self.ambient(name, relative);
        self.variable_of_project(name, relative);
    }

    /// Sets a variable of the action that proctor itself does not have, as the project's files can.
    fn variable_of_project(&mut self, name: &str, relative: &str) {
        let value = relative.split(':').map(|path| self.path(path));
        self.environment.insert(name.into(), std::env::join_paths(value).expect("no colons"));
    }

    fn ambient(&mut self, name: &str, relative: &str) {
        let value = relative.split(':').map(|path| self.path(path));
        self.ambient.insert(name.into(), std::env::join_paths(value).expect("no colons"));
    }

    fn try_prepare(&self) -> Result<Sandbox, SandboxError> {
        prepare_sandbox(&SandboxRequest {
            project_root: &self.path(self.project),
            home: Some(&self.path("home")),
            store: &self.path(STORE),
            scratch: Path::new("/scratch"),
            action: &testing::generic_action(self.phase),
            directory: &self.path(self.project),
            program: &self.program,
            environment: &self.environment,
            ambient: &self.ambient,
            settings: &self.settings,
            system: &SystemPlaces::look(),
            own_caches: None,
            guarded: &self.guarded,
            inputs: &self.inputs,
            manifests: &self.manifests,
            references: &crate::KnownReferences::default(),
            missing: self.missing,
        })
    }

    #[track_caller]
    fn prepare(&self) -> Sandbox {
        self.try_prepare().unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Returns the access that the list of places gives to a path: that of the last place that contains the path.
    #[track_caller]
    fn access(&self, relative: &str) -> Access {
        access_of(&self.prepare(), &self.path(relative))
    }

    fn error(&self) -> String {
        match self.try_prepare() {
            Err(error) => format!("{error}\n{}", error.hint()).replace(&self.root.display().to_string(), ""),
            other => panic!("{other:?}"),
        }
    }
}

fn access_of(sandbox: &Sandbox, path: &Path) -> Access {
    let around = sandbox.places.iter().rev().find(|place| path.starts_with(&place.path));
    around.map_or(Access::ReadOnly, |place| place.access.clone())
}

fn private(name: &str) -> Access {
    Access::Private { source: Path::new("/scratch").join(name) }
}

#[test]
fn the_project_is_writable_and_its_repository_is_not() {
    let world = World::new();
    assert_eq!(world.access(PROJECT), Access::Writable);
    world.file("home/src/shop/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(world.access("home/src/shop/.git/hooks"), Access::ReadOnly);
    assert_eq!(world.access("home/src/shop/quotes"), Access::Writable);
}

#[test]
fn a_worktree_s_pointer_and_the_repository_it_leads_to_are_read_only() {
    let mut world = World::new();
    world.file("home/repository/.git/HEAD", "ref: refs/heads/main\n");
    world.file("home/repository/.git/worktrees/shop/commondir", "../..\n");
    let pointer = format!("gitdir: {}\n", world.path("home/repository/.git/worktrees/shop").display());
    world.file("home/src/shop/.git", &pointer);
    assert_eq!(world.access("home/src/shop/.git"), Access::ReadOnly);
    // Opening a directory does not open the git repository in it.
    world.settings.writable = vec!["~/repository".to_owned()];
    assert_eq!(world.access("home/repository/src"), Access::Writable);
    assert_eq!(world.access("home/repository/.git/objects"), Access::ReadOnly);
    world.settings.writable = vec!["~/repository/.git".to_owned()];
    assert_eq!(world.access("home/repository/.git/objects"), Access::Writable);
}

#[test]
fn temporary_directories_are_private_and_shared_memory_is_new() {
    let world = World::new();
    let sandbox = world.prepare();
    assert_eq!(access_of(&sandbox, Path::new("/tmp/x")), private("tmp"));
    assert_eq!(access_of(&sandbox, Path::new("/var/tmp/x")), private("var-tmp"));
    assert_eq!(access_of(&sandbox, Path::new("/dev/shm/x")), Access::Memory);
    assert_eq!(access_of(&sandbox, &world.path("left-by-others")), private("tmpdir"));
    assert_eq!(access_of(&sandbox, Path::new("/usr/bin")), Access::ReadOnly);
}

#[test]
fn a_temporary_directory_of_the_project_s_own_stays_and_one_that_is_tmp_is_no_second_one() {
    let mut world = World::new();
    world.directory("home/src/shop/tmp");
    world.variable("TMPDIR", "home/src/shop/tmp");
    assert_eq!(world.access("home/src/shop/tmp"), Access::Writable);
    for (value, path, expected) in [
        ("/tmp", "/tmp/x", private("tmp")),
        ("/dev/shm", "/dev/shm/x", Access::Memory),
        ("/", "/usr", Access::ReadOnly),
        ("/missing/directory", "/missing/directory", Access::ReadOnly),
        ("relative", "/usr", Access::ReadOnly),
    ] {
        world.environment.insert("TMPDIR".into(), value.into());
        assert_eq!(access_of(&world.prepare(), Path::new(path)), expected, "TMPDIR={value}");
    }
    world.variable("TMPDIR", "home");
    assert_ne!(world.access("home/x"), private("tmpdir"), "HOME itself is never replaced");
}

#[test]
fn run_time_directories_are_hidden_with_named_exceptions() {
    let mut world = World::new();
    world.file("runtime/bus", "");
    world.file("runtime/docker.sock", "");
    world.ambient("XDG_RUNTIME_DIR", "runtime");
    let sandbox = world.prepare();
    assert_eq!(access_of(&sandbox, Path::new("/run/dbus/system_bus_socket")), Access::Hidden);
    world.settings.sockets = vec![world.path("runtime/docker.sock").display().to_string(), "~/not-running.sock".to_owned()];
    let sandbox = world.prepare();
    assert_eq!(access_of(&sandbox, &world.path("runtime/docker.sock")), Access::Writable);
    assert_ne!(access_of(&sandbox, &world.path("runtime/bus")), Access::Writable);
}

#[test]
fn a_place_around_the_store_can_be_opened_and_the_store_stays_closed() {
    let mut world = World::new();
    let around = world.path(STORE).parent().expect("it has one").to_owned();
    std::fs::create_dir_all(&around).expect("made");
    world.settings.writable = vec![around.display().to_string()];
    let sandbox = world.prepare();
    assert_eq!(access_of(&sandbox, &around.join("another")), Access::Writable);
    assert_eq!(sandbox.store, world.path(STORE));
    world.settings.writable = vec![world.path(STORE).display().to_string()];
    assert!(world.error().contains("is it"));
}

#[test]
fn a_run_time_directory_in_a_place_that_was_opened_hides_its_doors_alone() {
    let mut world = World::new();
    world.file("shared/runtime/bus", "");
    world.file("shared/runtime/proctor/control.sock", "");
    world.file("shared/runtime/own.sock", "");
    world.ambient("XDG_RUNTIME_DIR", "shared/runtime");
    assert_ne!(world.access("shared/runtime/own.sock"), Access::Writable);
    world.settings.writable = vec![world.path("shared").display().to_string()];
    assert_eq!(world.access("shared/runtime/own.sock"), Access::Writable);
    assert_eq!(world.access("shared/runtime/bus"), Access::Hidden);
    assert_eq!(world.access("shared/runtime/proctor/control.sock"), Access::Hidden);
}

#[test]
fn secrets_are_hidden_where_they_are_and_for_whom_they_are_not() {
    let mut world = World::new();
    let rows = [
        (".ssh/id_ed25519", Access::Hidden, Access::Hidden),
        (".aws/credentials", Access::Hidden, Access::Hidden),
        (".config/gcloud/x", Access::Hidden, Access::Hidden),
        (".local/share/keyrings/login.keyring", Access::Hidden, Access::Hidden),
        (".netrc", Access::Hidden, Access::ReadOnly),
        (".age/key.txt", Access::Hidden, Access::Hidden),
        (".env", Access::Hidden, Access::Hidden),
        (".config/sops/age/keys.txt", Access::Hidden, Access::Hidden),
        (".terraform.d/credentials.tfrc.json", Access::Hidden, Access::Hidden),
        (".pypirc", Access::Hidden, Access::Hidden),
        (".zsh_history", Access::Hidden, Access::Hidden),
        (".librewolf/profile/cookies.sqlite", Access::Hidden, Access::Hidden),
        (".m2/settings.xml", Access::Hidden, Access::ReadOnly),
        (".gradle/gradle.properties", Access::Hidden, Access::ReadOnly),
        (".claude.json", Access::Hidden, Access::Hidden),
        (".cargo/credentials.toml", Access::Hidden, Access::ReadOnly),
        (".npmrc", Access::Hidden, Access::ReadOnly),
        (".config/pip/pip.conf", Access::Hidden, Access::ReadOnly),
        (".bashrc", Access::ReadOnly, Access::ReadOnly),
        (".config/git/config", Access::ReadOnly, Access::ReadOnly),
    ];
    rows.iter().for_each(|(path, ..)| drop(world.file(&format!("home/{path}"), "")));
    for (path, for_checks, for_prerequisites) in rows {
        for (phase, package_credentials, expected) in [
            (ActionPhase::Step, PackageCredentials::ForPrerequisites, &for_checks),
            (ActionPhase::Cleanup, PackageCredentials::ForPrerequisites, &for_checks),
            (ActionPhase::Prerequisite, PackageCredentials::ForPrerequisites, &for_prerequisites),
            (ActionPhase::Prerequisite, PackageCredentials::Hidden, &for_checks),
        ] {
            world.phase = phase;
            world.settings.package_credentials = package_credentials;
            assert_eq!(&world.access(&format!("home/{path}")), expected, "{path} in {phase:?}");
        }
    }
    world.settings.visible = vec!["~/.aws".to_owned(), "~/.config".to_owned()];
    assert_eq!(world.access("home/.aws/credentials"), Access::ReadOnly);
    assert_eq!(world.access("home/.config/gcloud/x"), Access::ReadOnly);
    assert_eq!(world.access("home/.ssh/id_ed25519"), Access::Hidden);
    world.settings.visible = vec!["~/.ssh/id_ed25519".to_owned()];
    assert_eq!(world.access("home/.ssh/id_ed25519"), Access::ReadOnly);
    assert_eq!(world.access("home/.ssh/config"), Access::Hidden);
}

#[test]
fn a_secret_behind_a_link_is_hidden_where_it_lies() {
    let world = World::new();
    world.file("home/dotfiles/ssh/id", "");
    symlink(world.path("home/dotfiles/ssh"), world.path("home/.ssh")).expect("linked");
    assert_eq!(world.access("home/dotfiles/ssh/id"), Access::Hidden);
}

#[test]
fn secrets_that_variables_name_are_hidden_and_those_of_the_project_are_part_of_it() {
    let mut world = World::new();
    world.file("home/keys/kube/one", "");
    world.file("home/keys/two", "");
    world.file("home/src/shop/fixtures/netrc", "");
    world.file("home/rust/credentials.toml", "");
    world.file("home/rust/config.toml", "");
    world.directory("home/xdg/gh");
    world.ambient("KUBECONFIG", "home/keys/kube/one:home/keys/two:home/keys/missing");
    world.ambient("NETRC", "home/src/shop/fixtures/netrc");
    world.ambient("CARGO_HOME", "home/rust");
    world.ambient("XDG_CONFIG_HOME", "home/xdg");
    // These two variables name HOME and `/`. Hiding these directories would hide everything, so the variables are
    // ignored.
    world.ambient("DOCKER_CONFIG", "home");
    world.ambient.insert("GNUPGHOME".into(), "/".into());
    for hidden in ["home/keys/kube/one", "home/keys/two", "home/rust/credentials.toml", "home/xdg/gh/hosts.yml"] {
        assert_eq!(world.access(hidden), Access::Hidden, "{hidden}");
    }
    assert_eq!(world.access("home/rust/config.toml"), Access::ReadOnly);
    assert_eq!(world.access("home/src/shop/fixtures/netrc"), Access::Writable);
    assert_eq!(access_of(&world.prepare(), Path::new("/usr/bin")), Access::ReadOnly);
}

#[test]
fn a_project_among_secrets_is_seen_and_they_are_not() {
    let mut world = World::new();
    world.file("home/src/secret", "");
    world.ambient("AZURE_CONFIG_DIR", "home/src");
    assert_eq!(world.access(PROJECT), Access::Writable);
    assert_eq!(world.access("home/src/secret"), Access::Hidden);
    world.ambient("AZURE_CONFIG_DIR", PROJECT);
    assert_eq!(world.access(PROJECT), Access::Writable);
}

#[test]
fn a_project_that_is_home_or_lies_in_the_store() {
    let mut world = World::new();
    world.file("home/.ssh/id", "");
    world.project = "home";
    assert_eq!(world.access("home/notes"), Access::Writable);
    assert_eq!(world.access("home/.ssh/id"), Access::Hidden);
    world.directory("home/.local/state/proctor/project");
    world.project = "home/.local/state/proctor/project";
    assert!(matches!(world.try_prepare(), Err(SandboxError::ProjectInStore { .. })));
}

#[test]
fn the_caches_of_the_home_are_read_and_only_those_that_a_variable_names_are_written() {
    let mut world = World::new();
    for cache in ["home/.cache/pip", "home/.npm/_cacache", "home/.cargo/registry", "pip"] {
        world.directory(cache);
    }
    world.variable("PIP_CACHE_DIR", "pip");
    for cache in ["home/.cache/pip", "home/.npm/_cacache", "home/.cargo/registry/x"] {
        assert_eq!(world.access(cache), Access::ReadOnly, "{cache}");
    }
    assert_eq!(world.access("pip/x"), Access::Writable);
    world.variable("XDG_CACHE_HOME", "home/.cache");
    assert_eq!(world.access("home/.cache/pip"), Access::Writable, "whoever sets the variable has chosen it");
}

#[test]
fn a_variable_that_the_project_sets_opens_nothing_beside_the_project_and_what_is_writable() {
    let mut world = World::new();
    for place in ["home/.config/systemd/user", "home/other/.git/hooks", "home/shared/cache", "secrets"] {
        world.directory(place);
    }
    world.directory("home/src/shop/cache");
    symlink(world.path("home/.config"), world.path("home/src/shop/link")).expect("linked");
    world.ambient("PIP_CACHE_DIR", "home/other");
    for name in ["XDG_CACHE_HOME", "PIP_CACHE_DIR", "GOCACHE"] {
        for place in ["home/.config", "home/other/.git/hooks", "home/src/shop/link", "home/src/shop/../../.config"] {
            world.variable_of_project(name, place);
            assert_eq!(world.access("home/.config/systemd/user"), Access::ReadOnly, "{name}={place}");
            assert_eq!(world.access("home/other/.git/hooks"), Access::ReadOnly, "{name}={place}");
        }
        world.variable_of_project(name, "home/src/shop/cache");
        assert_eq!(world.access("home/src/shop/cache"), Access::Writable, "{name}");
    }
    world.variable_of_project("XDG_CACHE_HOME", "home/shared/cache");
    assert_eq!(world.access("home/shared/cache"), Access::ReadOnly);
    world.settings.writable = vec!["~/shared".to_owned()];
    assert_eq!(world.access("home/shared/cache"), Access::Writable);
    for name in ["PYTHONPATH", "PATH", "JAVA_HOME", "HOME"] {
        world.variable_of_project(name, "secrets");
        assert_eq!(world.access("secrets"), private("tmpdir"), "{name}");
    }
    world.variable("PYTHONPATH", "secrets");
    assert_eq!(world.access("secrets"), Access::ReadOnly, "the user has chosen it");
}

#[test]
fn a_cache_that_would_open_the_store_secrets_or_home_is_none() {
    let mut world = World::new();
    world.directory("home/.ssh/cache");
    for (place, expected) in [
        ("home", Access::ReadOnly),
        ("home/.local", Access::ReadOnly),
        ("home/.local/state/proctor", Access::ReadOnly),
        ("home/src", Access::ReadOnly),
        ("home/.ssh", Access::Hidden),
        ("home/.ssh/cache", Access::Hidden),
    ] {
        world.variable("XDG_CACHE_HOME", place);
        assert_eq!(world.access(place), expected, "XDG_CACHE_HOME={place}");
    }
    for variables in [&mut world.environment, &mut world.ambient] {
        variables.insert("GOCACHE".into(), "/proc".into());
    }
    assert_eq!(access_of(&world.prepare(), Path::new("/proc/1")), Access::ReadOnly);
}

#[test]
fn home_can_be_a_copy() {
    let mut world = World::new();
    world.file("home/.ssh/id", "");
    assert_eq!(world.access("home/.bashrc"), Access::ReadOnly);
    world.settings.home = HomeAccess::Overlay;
    assert_eq!(world.access("home/.bashrc"), Access::Overlay { scratch: "/scratch/home".into() });
    assert_eq!(world.access("home/.ssh/id"), Access::Hidden);
    assert_eq!(world.access(PROJECT), Access::Writable);
}

#[test]
fn what_a_command_is_made_of_stays_visible_in_a_private_place() {
    let mut world = World::new();
    world.file("venv/pyvenv.cfg", &format!("home = {}\nversion = 3.12\n", world.path("python/bin").display()));
    world.directory("python/lib");
    world.file("python/bin/python3.12", "");
    world.directory("venv/bin");
    symlink(world.path("python/bin/python3.12"), world.path("venv/bin/python")).expect("linked");
    world.file("venv/bin/pytest", &format!("#!{}\n", world.path("venv/bin/python").display()));
    world.file("conda/lib/x", "");
    world.directory("conda/bin");
    world.directory("tools/bin");
    world.directory("library");
    world.file("web/node_modules/.bin/tsc", "");
    world.program = world.path("venv/bin/pytest");
    world.variable("PATH", "conda/bin:tools/bin:missing/bin");
    world.variable("PYTHONPATH", "library");
    for seen in ["venv/lib", "python/lib", "conda/lib/x", "tools/bin/x", "library/x", "home/.bashrc"] {
        assert_eq!(world.access(seen), Access::ReadOnly, "{seen}");
    }
    assert_eq!(world.access("tools/other"), private("tmpdir"));
    // A program inside of the private directory is visible, but not the directories next to it.
    world.directory("lib");
    world.program = world.file("tool", "");
    assert_eq!((world.access("tool"), world.access("lib")), (Access::ReadOnly, private("tmpdir")));
    world.program = world.path("web/node_modules/.bin/tsc");
    assert_eq!(world.access("web/node_modules/typescript"), Access::ReadOnly);
}

#[test]
fn a_link_in_a_private_place_shows_what_it_leads_to_unless_it_leads_around_what_is_hidden() {
    let mut world = World::new();
    let outside = tempfile::tempdir_in("/var/tmp").expect("a directory");
    // The link's target is below `/var/tmp`, which is private too. This test looks at the access to the link only.
    fs::create_dir(outside.path().join("bin")).expect("made");
    symlink(outside.path(), world.path("system")).expect("linked");
    world.file("home/.ssh/id", "");
    world.variable("PATH", "system/bin");
    let sandbox = world.prepare();
    let link = sandbox.places.iter().find(|place| place.path == world.path("system")).expect("it is a place");
    let target = outside.path().metadata().expect("it is there");
    assert_eq!((&link.access, link.identity), (&Access::ReadOnly, (target.dev(), target.ino())));
    for target in ["home", "home/.ssh", STORE, "home/.local"] {
        fs::remove_file(world.path("system")).expect("removed");
        fs::create_dir_all(world.path(target).join("bin")).expect("made");
        symlink(world.path(target), world.path("system")).expect("linked");
        assert_eq!(world.access("system"), private("tmpdir"), "{target}");
    }
}

#[test]
fn a_directory_that_is_made_is_found_where_something_else_looked_for_a_place_in_it_before() {
    let mut world = World::new();
    world.variable("PIP_CACHE_DIR", "home/data/cache");
    world.settings.writable = vec!["~/data/one".to_owned()];
    assert_eq!(world.access("home/data/one"), Access::Writable);
}

#[test]
fn an_environment_in_the_project_is_as_writable_as_the_project() {
    let mut world = World::new();
    world.file("home/src/shop/.venv/pyvenv.cfg", "home = /usr/bin\n");
    world.program = world.file("home/src/shop/.venv/bin/python", "");
    world.variable("VIRTUAL_ENV", "home/src/shop/.venv");
    world.variable("PATH", "home/src/shop/.venv/bin");
    assert_eq!(world.access("home/src/shop/.venv/lib/x"), Access::Writable);
}

#[test]
fn what_is_opened_by_a_setting_is_made_if_it_is_missing() {
    let mut world = World::new();
    world.settings.writable = vec!["../target".to_owned(), "~/data/one".to_owned(), "inside".to_owned()];
    assert_eq!(world.access("home/src/target/x"), Access::Writable);
    assert_eq!(world.access("home/data/one"), Access::Writable);
    assert_eq!(world.access("home/data"), Access::ReadOnly);
    assert!(world.path("home/src/shop/inside").is_dir());
    let inside =
        |world: &World| world.prepare().places.iter().filter(|place| place.path.starts_with(world.path(PROJECT))).count();
    assert_eq!(inside(&world), 2, "a snapshot would cover what a person opened");
    world.settings.snapshot = ProtectionMode::Off;
    assert_eq!(inside(&world), 1, "in place, what lies in the project needs no place of its own");
    world.file("home/file", "");
    world.settings.writable = vec!["~/file/below".to_owned()];
    insta::assert_snapshot!(world.error(), @"
    failed to make `/home/file/below`, which `writable` in `[sandbox]` names
    make the directory yourself, or take the path out of `proctor.toml`
    ");
}

#[test]
fn no_setting_opens_the_store_or_the_kernel() {
    let mut world = World::new();
    symlink(world.path(STORE), world.path("home/link")).expect("linked");
    let mut errors = Vec::new();
    for path in
        ["~", "~/.local/state/proctor", "~/link/keys", "~/.local/state/proctor/new", "/", "/proc/1", "/sys/fs/cgroup", "/dev"]
    {
        world.settings.writable = vec![path.to_owned()];
        errors.push(world.error().lines().next().unwrap_or_default().to_owned());
    }
    assert!(!world.path("home/.local/state/proctor/new").exists());
    insta::assert_snapshot!(errors.join("\n"), @"
    `writable` in `[sandbox]` names `/home`, and proctor's own directory `/home/.local/state/proctor` lies in it: no setting opens it
    `writable` in `[sandbox]` names `/home/.local/state/proctor`, and proctor's own directory `/home/.local/state/proctor` is it: no setting opens it
    `writable` in `[sandbox]` names `/home/.local/state/proctor/keys`, and proctor's own directory `/home/.local/state/proctor` holds it: no setting opens it
    `writable` in `[sandbox]` names `/home/.local/state/proctor/new`, and proctor's own directory `/home/.local/state/proctor` holds it: no setting opens it
    `writable` in `[sandbox]` names `/`, and proctor's own directory `/home/.local/state/proctor` lies in it: no setting opens it
    `writable` in `[sandbox]` names `/proc/1`, which is the kernel's own: each action gets its own view of it
    `writable` in `[sandbox]` names `/sys/fs/cgroup`, which is the kernel's own: each action gets its own view of it
    `writable` in `[sandbox]` names `/dev`, which is the kernel's own: each action gets its own view of it
    ");
    for (writable, sockets, visible) in [(false, true, false), (false, false, true)] {
        let named = |is_it: bool| if is_it { vec!["~/.local/state/proctor/keys".to_owned()] } else { Vec::new() };
        world.settings.writable = named(writable);
        world.settings.sockets = named(sockets);
        world.settings.visible = named(visible);
        assert!(matches!(world.try_prepare(), Err(SandboxError::OpensStore { .. })));
    }
}

#[test]
fn places_know_which_file_they_are() {
    let world = World::new();
    world.file("home/.ssh/id", "");
    let sandbox = world.prepare();
    assert_eq!(sandbox.store, world.path(STORE));
    for place in &sandbox.places {
        let metadata = place.path.symlink_metadata().expect("it is there");
        assert!(!metadata.is_symlink(), "{}", place.path.display());
        assert_eq!(place.identity, (metadata.dev(), metadata.ino()), "{}", place.path.display());
    }
}
