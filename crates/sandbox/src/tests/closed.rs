//! What a closed world shows, on real directories.

use super::*;
use proctor_model::VisibleKind;

fn closed() -> World {
    let mut world = World::new();
    world.settings.world = WorldSetting::Closed;
    world
}

#[test]
fn home_is_empty_and_there_and_the_project_in_it_is_seen() {
    let world = closed();
    for file in [".local/ruff/ruff.toml", ".mypy.ini", ".gitconfig", "src/pytest.ini", "src/other/lib.py"] {
        world.file(&format!("home/{file}"), "");
        assert_eq!(world.access(&format!("home/{file}")), Access::Hidden, "{file}");
    }
    assert_eq!(world.access("home"), Access::Hidden);
    assert!(world.prepare().places.iter().any(|place| place.path == world.path("home")), "HOME has to be there");
    assert_eq!(world.access("home/src/shop/a.py"), Access::Writable);
}

#[test]
fn what_lies_beside_the_system_is_hidden_and_the_system_is_not() {
    let sandbox = closed().prepare();
    for path in ["/home/x", "/mnt/x", "/var/log/x"].map(Path::new).iter().filter(|path| path.parent().is_some_and(Path::is_dir)) {
        assert_eq!(access_of(&sandbox, path), Access::Hidden, "{path:?}");
    }
    for path in ["/usr/bin/env", "/etc/passwd", "/var/lib/dpkg/x", "/proc/self/status"] {
        assert_eq!(access_of(&sandbox, Path::new(path)), Access::ReadOnly, "{path}");
    }
}

#[test]
fn inputs_and_what_is_named_visible_are_seen_and_nothing_beside_them() {
    let mut world = closed();
    world.file("home/shared/conv.py", "");
    world.file("home/data/x", "");
    world.file("home/.ssh/id", "");
    world.inputs = vec![world.path("home/shared")];
    world.settings.visible = vec!["~/data".to_owned(), "~/.ssh/id".to_owned()];
    for seen in ["home/shared/conv.py", "home/data/x", "home/.ssh/id"] {
        assert_eq!(world.access(seen), Access::ReadOnly, "{seen}");
    }
    for hidden in ["home/.ssh/config", "home/sharedx", "home/x"] {
        assert_eq!(world.access(hidden), Access::Hidden, "{hidden}");
    }
    let visible = world.prepare().visible;
    assert!(
        !visible.iter().any(|one| one.path.starts_with(world.path("home"))),
        "inputs have a digest of their own: {visible:?}"
    );
}

#[test]
fn no_visible_path_reaches_home_or_what_is_around_it() {
    let mut world = closed();
    world.file("home/x", "");
    world.settings.visible = vec!["~".to_owned(), world.root.display().to_string(), "/".to_owned()];
    assert_eq!(world.access("home/x"), Access::Hidden);
}

#[test]
fn a_credential_in_an_input_stays_hidden() {
    let mut world = closed();
    world.file("home/.config/gh/hosts.yml", "");
    world.inputs = vec![world.path("home/.config")];
    assert_eq!(world.access("home/.config/gh/hosts.yml"), Access::Hidden);
    assert_eq!(world.access("home/.config/x"), Access::ReadOnly);
}

/// Makes what several toolchains consist of, at their usual places.
fn with_toolchains(world: &World) {
    for file in [
        ".rustup/settings.toml",
        ".rustup/toolchains/stable-x86_64/bin/cargo",
        ".rustup/toolchains/nightly-x86_64/bin/cargo",
        ".cargo/bin/cargo",
        ".cargo/registry/src/serde/lib.rs",
        ".cargo/credentials.toml",
        ".pyenv/shims/python3",
        ".pyenv/libexec/pyenv",
        ".pyenv/versions/3.11.7/bin/python",
        ".pyenv/versions/3.12.1/bin/python",
        ".nvm/versions/node/v20.1.0/bin/node",
        ".nvm/versions/node/v22.0.0/bin/node",
        "go/pkg/mod/x/x.go",
        ".cache/ms-playwright/chromium/x",
        ".cache/huggingface/hub/x",
        ".cache/other/x",
    ] {
        world.file(&format!("home/{file}"), "");
    }
    world.file("home/.rustup/settings.toml", "default_toolchain = \"stable-x86_64\"\n");
    world.file("home/.pyenv/version", "3.11.7\n");
}

/// Returns those of the paths below HOME that the action sees.
fn seen<'p>(world: &World, paths: &[&'p str]) -> Vec<&'p str> {
    let sandbox = world.prepare();
    let is_seen = |path: &&&str| access_of(&sandbox, &world.path("home").join(path)) == Access::ReadOnly;
    paths.iter().filter(is_seen).copied().collect()
}

#[test]
fn a_project_sees_no_toolchain_that_it_does_not_use() {
    let mut world = closed();
    with_toolchains(&world);
    world.variable("PATH", "home/.pyenv/shims:home/.cargo/bin:home/.nvm/versions/node/v20.1.0/bin");
    let hidden =
        [".rustup/settings.toml", ".cargo/bin/cargo", ".pyenv/shims/python3", ".nvm/versions/node/v20.1.0/bin/node", "go/pkg/x"];
    assert_eq!(seen(&world, &hidden), [""; 0]);
    let visible = world.prepare().visible;
    assert!(!visible.iter().any(|one| one.path.starts_with(world.path("home"))), "nothing to hash: {visible:?}");
}

#[test]
fn a_file_of_the_project_selects_its_toolchain_and_the_chosen_version_of_it() {
    let rust = [".cargo/bin/cargo", ".rustup/settings.toml", ".rustup/toolchains/stable-x86_64/x"];
    let python = [".pyenv/shims/python3", ".pyenv/libexec/pyenv"];
    let versions = [".pyenv/versions/3.11.7/x", ".pyenv/versions/3.12.1/x", ".rustup/toolchains/nightly-x86_64/x"];
    let all: Vec<&str> = rust.into_iter().chain(python).chain(versions).collect();
    let expect = |files: &[(&str, &str)], expected: &[&str]| {
        let world = closed();
        with_toolchains(&world);
        files.iter().for_each(|(name, text)| drop(world.file(&format!("{PROJECT}/{name}"), text)));
        assert_eq!(seen(&world, &all), expected, "{files:?}");
    };
    expect(&[("Cargo.toml", "")], &rust);
    let nightly = ("rust-toolchain.toml", "[toolchain]\nchannel = \"nightly\"\n");
    expect(&[nightly], &[rust[0], rust[1], versions[2]]);
    expect(&[("pyproject.toml", "")], &[python[0], python[1], versions[0]]);
    expect(&[("pyproject.toml", ""), (".python-version", "3.12\n")], &[python[0], python[1], versions[1]]);
    expect(&[("README.md", "")], &[]);
    // A file deeper in the tree is known from the tree's index.
    let mut world = closed();
    with_toolchains(&world);
    world.manifests.insert("Cargo.toml".to_owned());
    assert_eq!(seen(&world, &all), rust);
}

#[test]
fn a_variable_that_the_user_has_says_where_a_toolchain_lies_and_not_that_it_is_used() {
    let mut world = closed();
    world.file("rust/toolchains/stable/bin/cargo", "");
    world.ambient("RUSTUP_HOME", "rust");
    assert_ne!(world.access("rust/toolchains/stable/bin/cargo"), Access::ReadOnly);
    world.file(&format!("{PROJECT}/Cargo.toml"), "");
    assert_eq!(world.access("rust/toolchains/stable/bin/cargo"), Access::ReadOnly);
}

#[test]
fn the_program_of_an_action_shows_its_version_and_no_other() {
    let mut world = closed();
    with_toolchains(&world);
    world.directory("home/.nvm/versions/node/v20.1.0/lib");
    world.program = world.path("home/.nvm/versions/node/v20.1.0/bin/node");
    let versions = [".nvm/versions/node/v20.1.0/lib/x", ".nvm/versions/node/v22.0.0/lib/x"];
    assert_eq!(seen(&world, &versions), versions[..1]);
    world.program = world.file("home/.cargo/bin/just", "");
    assert_eq!(seen(&world, &[".cargo/bin/just", ".cargo/registry/src/serde/lib.rs"]), [".cargo/bin/just"]);
    world.program = world.path("home/.pyenv/shims/python3");
    let of_shim = [".pyenv/libexec/pyenv", ".pyenv/versions/3.11.7/lib/x"];
    assert_eq!(seen(&world, &of_shim), of_shim);
    assert_eq!(seen(&world, &[".pyenv/versions/3.12.1/lib/x"]), [""; 0]);
}

#[test]
fn downloads_that_a_lock_file_pins_are_seen_and_no_verdict_has_to_name_them() {
    let registry = |lock: &str| {
        let world = closed();
        with_toolchains(&world);
        world.file(&format!("{PROJECT}/Cargo.toml"), "");
        world.file(&format!("{PROJECT}/{lock}"), "");
        let visible = world.prepare().visible;
        visible.iter().find(|one| one.path == world.path("home/.cargo/registry")).map(|one| one.kind)
    };
    assert_eq!(registry("Cargo.lock"), Some(VisibleKind::PinnedPackages));
    assert_eq!(registry("README.md"), Some(VisibleKind::PackageCache));
}

#[test]
fn data_that_a_package_downloads_is_seen_where_the_package_is_installed() {
    let mut world = closed();
    with_toolchains(&world);
    let data = [".cache/ms-playwright/chromium/x", ".cache/huggingface/hub/x"];
    assert_eq!(seen(&world, &data), [""; 0]);
    world.directory(&format!("{PROJECT}/node_modules/playwright"));
    assert_eq!(seen(&world, &data), data[..1]);
    world.directory(&format!("{PROJECT}/.venv/lib/python3.12/site-packages/huggingface_hub"));
    assert_eq!(seen(&world, &data), data);
    let hidden = [".cargo/credentials.toml", ".cache/other/x"];
    assert_eq!(seen(&world, &hidden), [""; 0]);
    world.phase = ActionPhase::Prerequisite;
    assert_eq!(seen(&world, &hidden), [".cache/other/x"]);
}

#[test]
fn what_is_visible_outside_of_the_project_is_listed_with_its_kind() {
    let mut world = closed();
    world.file("home/.pyenv/versions/3.12/bin/python3.12", "");
    world.directory("home/.pyenv/versions/3.12/lib");
    world.file("home/main/.venv/pyvenv.cfg", &format!("home = {}\n", world.path("home/.pyenv/versions/3.12/bin").display()));
    world.directory("home/main/.venv/bin");
    symlink(world.path("home/.pyenv/versions/3.12/bin/python3.12"), world.path("home/main/.venv/bin/python")).expect("linked");
    symlink(world.path("home/main/.venv"), world.path("home/src/shop/.venv")).expect("linked");
    world.file("home/main/src/calc.py", "");
    world.program = world.path("home/src/shop/.venv/bin/python");
    let visible = world.prepare().visible;
    let kind = |name: &str| visible.iter().find(|one| one.path == world.path(name)).map(|one| one.kind);
    assert_eq!(kind("home/.pyenv/versions/3.12"), Some(VisibleKind::Toolchain), "{visible:?}");
    assert_eq!(kind("home/main/.venv"), Some(VisibleKind::Environment), "{visible:?}");
    assert!(!visible.iter().any(|one| one.path.starts_with(world.path("home/src/shop"))), "{visible:?}");
    // The environment is seen, and what it leads to in the other checkout is not.
    assert_eq!(world.access("home/main/.venv/lib/x"), Access::ReadOnly);
    assert_eq!(world.access("home/main/src/calc.py"), Access::Hidden);
}

#[test]
fn a_directory_of_path_shows_what_its_links_lead_to_and_not_all_of_home() {
    let mut world = closed();
    world.directory("home/.local/lib/python3.12/site-packages");
    world.directory("home/.local/bin");
    world.file("home/.local/share/secret", "");
    world.file("home/tools/black/pyvenv.cfg", "home = /usr/bin\n");
    world.file("home/tools/black/bin/black", "");
    world.file("home/scripts/deploy.sh", "");
    world.file("home/scripts/other", "");
    symlink(world.path("home/tools/black/bin/black"), world.path("home/.local/bin/black")).expect("linked");
    symlink("../../scripts/deploy.sh", world.path("home/.local/bin/deploy")).expect("linked");
    world.variable("PATH", "home/.local/bin");
    for seen in
        ["home/.local/bin/x", "home/tools/black/lib/x", "home/scripts/deploy.sh", "home/.local/lib/python3.12/site-packages/x"]
    {
        assert_eq!(world.access(seen), Access::ReadOnly, "{seen}");
    }
    for hidden in ["home/.local/share/secret", "home/scripts/other", "home/tools/x"] {
        assert_eq!(world.access(hidden), Access::Hidden, "{hidden}");
    }
}

#[test]
fn the_shims_of_a_version_manager_show_what_they_choose_from() {
    let mut world = closed();
    world.file("home/tools/pyenv/shims/python3", "");
    world.file("home/tools/pyenv/versions/3.12/bin/python3", "");
    world.variable("PATH", "home/tools/pyenv/shims");
    assert_eq!(world.access("home/tools/pyenv/versions/3.12/bin/python3"), Access::ReadOnly);
    assert_eq!(world.access("home/tools/other"), Access::Hidden);
}

#[test]
fn a_path_through_a_link_shows_that_path_and_not_what_lies_beside_it() {
    let mut world = closed();
    world.file("home/disk/builds/bin/tool", "");
    world.file("home/disk/builds/private", "");
    symlink(world.path("home/disk/builds"), world.path("home/builds")).expect("linked");
    world.variable("PATH", "home/builds/bin");
    assert_eq!(world.access("home/builds/bin/tool"), Access::ReadOnly);
    assert_eq!(world.access("home/disk/builds/bin/tool"), Access::ReadOnly);
    assert_eq!(world.access("home/builds/private"), Access::Hidden);
    assert_eq!(world.access("home/disk/builds/private"), Access::Hidden);
}

#[test]
fn of_the_repository_is_seen_what_git_owns() {
    let world = closed();
    world.file("home/src/shop/.git/HEAD", "ref: refs/heads/main\n");
    world.file("home/src/shop/.git/config", "[core]\n\tbare = false\n\thooksPath = /evil\n");
    world.file("home/src/shop/.git/evil/conf.py", "");
    world.file("home/src/shop/.git/hooks/post-commit", "");
    world.directory("home/src/shop/.git/objects");
    assert_eq!(world.access("home/src/shop/.git/HEAD"), Access::ReadOnly);
    assert_eq!(world.access("home/src/shop/.git/objects/ab"), Access::ReadOnly);
    assert_eq!(world.access("home/src/shop/.git/config"), Access::Text { content: "[core]\n\tbare = false\n".to_owned() });
    for hidden in ["evil/conf.py", "hooks/post-commit", "new"] {
        assert_eq!(world.access(&format!("home/src/shop/.git/{hidden}")), Access::Hidden, "{hidden}");
    }
}

#[test]
fn home_as_an_overlay_is_an_empty_layer() {
    let mut world = closed();
    world.file("home/.bashrc", "");
    world.file("home/.rustup/toolchains/x", "");
    world.file(&format!("{PROJECT}/Cargo.toml"), "");
    world.settings.home = HomeAccess::Overlay;
    assert_eq!(world.access("home/.bashrc"), Access::Layer { source: "/scratch/home".into() });
    assert_eq!(world.access("home/.rustup/toolchains/x"), Access::ReadOnly);
    assert_eq!(world.access(PROJECT), Access::Writable);
}

#[test]
fn the_directory_for_settings_is_an_empty_layer_of_each_action() {
    let mut world = closed();
    world.file("home/.config/ruff/ruff.toml", "");
    world.file("home/.config/git/config", "");
    let seen = world.access("home/.config/ruff/ruff.toml");
    assert!(matches!(&seen, Access::Layer { source } if source.starts_with("/scratch/config-STEP.1")), "{seen:?}");
    world.inputs = vec![world.path("home/.config/git")];
    assert_eq!(world.access("home/.config/git/config"), Access::ReadOnly);
    world.settings.home = HomeAccess::Overlay;
    assert_eq!(world.access("home/.config/ruff/ruff.toml"), Access::Layer { source: "/scratch/home".into() });
}

#[test]
fn prerequisites_see_the_files_of_package_indexes_if_that_was_allowed() {
    let mut world = closed();
    world.file("home/.npmrc", "");
    world.settings.package_credentials = PackageCredentials::ForPrerequisites;
    assert_eq!(world.access("home/.npmrc"), Access::Hidden);
    world.phase = ActionPhase::Prerequisite;
    assert_eq!(world.access("home/.npmrc"), Access::ReadOnly);
}
