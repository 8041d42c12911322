//! The deciding files of virtual environments and `node_modules` directories that the tests write themselves.

#![expect(clippy::disallowed_methods, reason = "the tests write the environments they look at")]

use std::os::unix::fs::symlink;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::environment_digest::known_files::KnownFiles;
use proctor_model::Timestamp;
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};

/// A project with environments, and what was remembered of them.
struct World {
    directory: TempDir,
    known: Arc<KnownFiles>,
    search: Option<EnvironmentSearch>,
}

impl World {
    fn new() -> Self {
        let world = Self { directory: TempDir::new().expect("a directory"), known: Arc::default(), search: None };
        world.file("home/.keep", "");
        world.file("project/pyproject.toml", "");
        world.file("project/web/package.json", "{}");
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("it is ours");
        fs::write(path, text).expect("it is ours");
    }

    /// Makes a link, in place of what is there.
    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        let _nothing = fs::remove_file(&path);
        symlink(target, path).expect("it is ours");
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("it is there");
    }

    fn look(&mut self) -> DecidingFiles {
        let root = self.path("project").canonicalize().expect("it is there");
        let program = root.join("../venvs/other/bin/pytest");
        let search = self.search.get_or_insert_with(|| {
            let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
            let index = TreeIndex::scan(&root, &matcher, Timestamp::from_millis(0)).expect("it can be read");
            EnvironmentSearch::new(index, None, &[program], Some(root.with_file_name("home")))
        });
        // All stamps are older than this time, so every file is remembered.
        let mut survey = FileSurvey::new(Arc::clone(&self.known), Timestamp::from_millis(4_000_000_000_000));
        let looked = DecidingFiles::look(search, &mut survey);
        self.known = survey.finish();
        looked
    }

    /// Makes a change, and asserts that it changes exactly these paths.
    #[track_caller]
    fn assert_moved(&mut self, change: impl FnOnce(&Self), expected: &[&str]) {
        let before = self.look();
        assert_eq!(self.look(), before, "a look alone changes nothing");
        change(self);
        let now = self.look();
        let moved: Vec<String> = now.changed_since(&before).iter().map(ToString::to_string).collect();
        assert_eq!(moved, expected);
        assert_eq!(now.digests() == before.digests(), expected.is_empty());
    }
}

/// A virtual environment with one package, in the usual layout.
fn virtual_environment(world: &World, top: &str) {
    world.file(&format!("{top}/pyvenv.cfg"), "home = /usr/bin\n");
    world.file(&format!("{top}/bin/pytest"), "#!/usr/bin/python3\n");
    world.link(&format!("{top}/bin/python"), "/bin/sh");
    world.file(&format!("{top}/lib/python3.11/site-packages/a.pth"), "import a\n");
    world.file(&format!("{top}/lib/python3.11/site-packages/cov-7.0.dist-info/RECORD"), "cov/__init__.py,sha256=x,1\n");
    world.file(&format!("{top}/lib/python3.11/site-packages/cov-7.0.dist-info/entry_points.txt"), "[pytest11]\ncov = cov\n");
    world.file(&format!("{top}/lib/python3.11/site-packages/cov/__init__.py"), "");
}

#[test]
fn what_decides_in_a_virtual_environment_changes_the_digest() {
    let mut world = World::new();
    virtual_environment(&world, "project/.venv");
    let packages = "project/.venv/lib/python3.11/site-packages";
    let inside = |name: &str| format!(".venv/lib/python3.11/site-packages/{name}");
    world.assert_moved(|world| world.link("project/.venv/bin/python", "/bin/false"), &[".venv/bin/python"]);
    world.assert_moved(
        |world| {
            world.remove("project/.venv/bin/python");
            world.file("project/.venv/bin/python", "planted");
        },
        &[".venv/bin/python"],
    );
    world.assert_moved(|world| world.file("project/.venv/bin/pytest", "#!/bin/false\n"), &[".venv/bin/pytest"]);
    world.assert_moved(|world| world.file("project/.venv/pyvenv.cfg", "home = /opt/bin\n"), &[".venv/pyvenv.cfg"]);
    for (name, path) in [
        ("planted.pth", "planted.pth"),
        ("a.pth", "a.pth"),
        ("sitecustomize.py", "sitecustomize.py"),
        ("usercustomize/__init__.py", "usercustomize/__init__.py"),
        ("p.egg-link", "p.egg-link"),
        ("p.egg-info/PKG-INFO", "p.egg-info/PKG-INFO"),
        ("q.egg-info", "q.egg-info"),
        ("cov-7.0.dist-info/RECORD", "cov-7.0.dist-info/RECORD"),
        ("cov-7.0.dist-info/direct_url.json", "cov-7.0.dist-info/direct_url.json"),
    ] {
        world.assert_moved(|world| world.file(&format!("{packages}/{name}"), "changed"), &[&inside(path)]);
    }
    world.assert_moved(|world| world.remove(&format!("{packages}/a.pth")), &[&inside("a.pth")]);
    // These files do not decide, or have their old content.
    world.assert_moved(|world| world.file(&format!("{packages}/cov/__init__.py"), "edited by hand"), &[]);
    world.assert_moved(|world| world.file(&format!("{packages}/__pycache__/x.pyc"), "compiled"), &[]);
    world.assert_moved(|world| world.file(&format!("{packages}/planted.pth"), "changed"), &[]);
}

#[test]
fn what_decides_in_node_modules_changes_the_digest() {
    let mut world = World::new();
    world.file("project/web/node_modules/.package-lock.json", "{}");
    world.file("project/web/node_modules/tsc/tsc.js", "1");
    world.file("project/web/node_modules/.bin/eslint", "#!/bin/sh\n");
    world.file("project/web/node_modules/@scope/x.js", "");
    world.link("project/web/node_modules/.bin/tsc", "../tsc/tsc.js");
    world.link("project/web/node_modules/@scope/own", "../../../packages/own");
    world.assert_moved(
        |world| world.file("project/web/node_modules/.package-lock.json", "{ }"),
        &["web/node_modules/.package-lock.json"],
    );
    world.assert_moved(|world| world.file("project/web/node_modules/tsc/tsc.js", "another"), &["web/node_modules/.bin/tsc"]);
    world.assert_moved(|world| world.file("project/web/node_modules/.bin/eslint", "exit 0"), &["web/node_modules/.bin/eslint"]);
    world.assert_moved(|world| world.file("project/web/node_modules/.bin/new", ""), &["web/node_modules/.bin/new"]);
    for record in [".modules.yaml", ".yarn-state.yml"] {
        let path = format!("web/node_modules/{record}");
        world.assert_moved(|world| world.file(&format!("project/{path}"), "x"), &[&path]);
    }
    let link = "web/node_modules/@scope/own";
    world.assert_moved(|world| world.link(&format!("project/{link}"), "../../../packages/other"), &[link]);
    world.assert_moved(|world| world.file("project/web/node_modules/@scope/x.js", "edited by hand"), &[]);
    world.assert_moved(|world| world.file("project/web/node_modules/.vite/results.json", "{}"), &[]);
    world.assert_moved(|world| world.file("project/.pnp.cjs", "module.exports = 1"), &[".pnp.cjs"]);
}

#[test]
fn environments_outside_of_the_project_have_digests_and_are_no_part_of_what_moved() {
    let mut world = World::new();
    virtual_environment(&world, "venvs/other");
    let before = world.look();
    world.file("venvs/other/lib/python3.11/site-packages/planted.pth", "import os\n");
    let between = world.look();
    world.file("home/.local/lib/python3.11/site-packages/usercustomize.py", "");
    world.file("home/.local/bin/unrelated", "");
    let after = world.look();
    let digests = [before.digests(), between.digests(), after.digests()];
    assert_ne!(digests[0], digests[1]);
    assert_ne!(digests[1], digests[2]);
    assert_eq!(after.changed_since(&before), Vec::new());
    let packages: Vec<&String> = after.pytest_plugins.values().flat_map(BTreeMap::keys).collect();
    assert_eq!(packages, ["cov-7.0"]);
}

#[test]
fn a_package_without_a_record_and_a_link_in_a_loop_are_unknown() {
    let mut world = World::new();
    virtual_environment(&world, "project/.venv");
    assert!(world.look().is_known());
    world.file("project/.venv/lib/python3.11/site-packages/bad-1.dist-info/INSTALLER", "pip");
    assert!(!world.look().is_known());
    world.file("project/.venv/lib/python3.11/site-packages/bad-1.dist-info/METADATA", "Name: bad\n");
    assert!(world.look().is_known());
    world.link("project/.venv/bin/loop", "loop");
    assert!(!world.look().is_known());
}

#[test]
fn environments_are_found_in_every_directory_of_the_tree_or_as_the_snapshot_shows_them() {
    let mut world = World::new();
    world.file("project/.gitignore", "/env/\n/data/\n");
    world.file("project/src/deep/a.py", "");
    for name in ["env", "src/deep/.venv", "data"] {
        world.file(&format!("project/{name}/bin/python"), name);
    }
    world.file("project/env/pyvenv.cfg", "");
    let found = |files: &DecidingFiles| -> Vec<String> {
        files.environments.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    };
    assert_eq!(found(&world.look()), ["env", "src/deep/.venv"]);
    world.file("project/env/bin/python", "changed");
    assert_eq!(found(&world.look()), ["env", "src/deep/.venv"], "the second look searches the same directories");
    let root = world.path("project").canonicalize().expect("it is there");
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let index = TreeIndex::scan(&root, &matcher, Timestamp::from_millis(0)).expect("it can be read");
    let shown = [root.join("data")];
    world.search = Some(EnvironmentSearch::new(index, Some(&shown), &[], None));
    assert_eq!(found(&world.look()), ["data"]);
    assert_eq!(world.search.as_ref().and_then(EnvironmentSearch::shown), Some(shown.to_vec()));
}
