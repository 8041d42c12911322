//! Tests the caches of tools: no other project, and no tool of the user, reads what the checks of one project have
//! written.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Project, directory_outside_of_temporary_ones, repository};

const LEVELS: [&str; 3] = ["namespace", "cgroup", "landlock"];

/// Writes wherever a tool could have a cache: into the home, through a link to the home, over a link, and into the
/// project's own directory.
const POISON: &str = "exec 2>/dev/null\n\
    for place in \"$HOME/.cache/pip\" \"$HOME/.cache/new\" \"$HOME/.npm/_cacache\" \"$HOME/.cargo/registry\"; do\n\
    mkdir -p \"$place\" 2>/dev/null; echo poison > \"$place/poison\" 2>/dev/null && echo \"wrote $place\"\n\
    done\n\
    echo poison >> \"$XDG_CACHE_HOME/huggingface/1.0/model\" 2>/dev/null && echo 'wrote through a link'\n\
    cat \"$XDG_CACHE_HOME/huggingface/1.0/model\"\n\
    mkdir -p \"$PIP_CACHE_DIR/http-v2\" && echo poison > \"$PIP_CACHE_DIR/http-v2/entry\"\n\
    mkdir -p \"$npm_config_cache\" && echo poison > \"$npm_config_cache/poison\" && echo wrote own caches\n";

const READ: &str = "exec 2>/dev/null\n\
    cat \"$PIP_CACHE_DIR/http-v2/entry\" \"$XDG_CACHE_HOME/huggingface/1.0/model\"\n\
    find \"$XDG_CACHE_HOME\" \"$HOME/.cache\" \"$HOME/.npm\" -name '*poison*'\n\
    ls \"$XDG_CACHE_HOME/..\" | wc -l\n\
    for other in \"$XDG_CACHE_HOME\"/../*; do touch \"$other/mine\" 2>/dev/null && echo wrote; done\n\
    touch \"$XDG_CACHE_HOME/../x\" 2>/dev/null && echo wrote beside\n";

/// Returns a directory outside of `/tmp`: without namespaces, an action may write everywhere below `/tmp`.
fn machine() -> tempfile::TempDir {
    directory_outside_of_temporary_ones().expect("a place outside of `/tmp`, such as `/srv`")
}

fn project(script: &str, home: &Path, state: &Path, level: &str) -> Project {
    let toml = "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n";
    let project = Project::new().toml(toml).file("script.sh", &format!("{script}\nexit 0\n"));
    // Models are seen where a package is installed that loads them.
    let project = project.file(".venv/lib/python3.11/site-packages/huggingface_hub/__init__.py", "");
    project.env("HOME", home).env("XDG_STATE_HOME", state).env("PROCTOR_TEST_ISOLATION", level)
}

fn log(project: &Project) -> String {
    project.proctor(["run"]).success();
    project.proctor(["show", "--log", "STEP.1"]).success().stdout
}

fn files_below(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if entry.file_type().expect("its kind").is_dir() {
            found.extend(files_below(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("read"));
        }
    }
    found
}

#[test]
fn what_a_project_writes_to_its_caches_no_other_project_reads_and_the_home_stays_as_it_was() {
    for level in LEVELS {
        let machine = machine();
        let (home, state) = (machine.path().join("home"), machine.path().join("state"));
        for (file, text) in [(".cache/pip/http-v2/entry", "of the home\n"), (".cache/huggingface/1.0/model", "model\n")] {
            fs::create_dir_all(home.join(file).parent().expect("a directory")).expect("made");
            fs::write(home.join(file), text).expect("written");
        }
        for cache in [".npm/_cacache", ".cargo/registry"] {
            fs::create_dir_all(home.join(cache)).expect("made");
        }
        fs::create_dir_all(&state).expect("made");
        let before = files_below(&home);
        let poisoner = project(POISON, &home, &state, level);
        assert_eq!(log(&poisoner), "model\nwrote own caches\n", "{level}");
        assert_eq!(files_below(&home), before, "{level}");
        let reader = project(READ, &home, &state, level);
        assert_eq!(log(&reader), "model\n2\nwrote\n", "{level}");
        assert_eq!(files_below(&home), before, "{level}");
        // Without layers, the project that wrote the poison finds it again in its own cache.
        poisoner.save("script.sh", "cat \"$PIP_CACHE_DIR/http-v2/entry\" 2>/dev/null\nexit 0\n");
        let found = if level == "namespace" { "" } else { "poison\n" };
        assert_eq!(log(&poisoner), found, "{level}");
    }
}

#[test]
fn only_a_prerequisite_changes_the_package_caches_that_later_checks_and_prerequisites_use() {
    for snapshot in ["require", "off"] {
        let machine = machine();
        let (home, state) = (machine.path().join("home"), machine.path().join("state"));
        [&home, &state].into_iter().for_each(|directory| fs::create_dir_all(directory).expect("made"));
        let check = |name: &str, file: &str| format!("[[check]]\nname = \"{name}\"\ncommand = [\"sh\", \"{file}\"]\n");
        let toml = format!(
            "[sandbox]\nsnapshot = \"{snapshot}\"\n[[prerequisite]]\nname = \"fetch\"\ncommand = [\"sh\", \"fetch.sh\"]\n{}{}",
            check("poison", "script.sh"),
            check("read", "read.sh")
        );
        let poison = "set -e\ncat \"$UV_CACHE_DIR/wheel\"\necho poison > \"$UV_CACHE_DIR/wheel\"\ncat \"$UV_CACHE_DIR/wheel\"\n";
        let project = project(poison, &home, &state, "namespace").toml(&toml);
        // The second run's prerequisite finds what the first one's left.
        project.save(
            "fetch.sh",
            "mkdir -p \"$UV_CACHE_DIR\"\ntest -e \"$UV_CACHE_DIR/wheel\" || echo fetched > \"$UV_CACHE_DIR/wheel\"\n",
        );
        project.save("read.sh", "cat \"$UV_CACHE_DIR/wheel\"\n");
        for _ in 0..2 {
            assert_eq!(log(&project), "fetched\npoison\n", "{snapshot}");
            let read = project.proctor(["show", "--log", "STEP.2"]).success().stdout;
            assert_eq!(read, "fetched\n", "{snapshot}");
        }
    }
}

/// Without a sandbox nothing keeps a check from the home (W16), but tools that heed their variables still share no cache.
#[test]
fn without_a_sandbox_tools_write_to_the_caches_of_their_project_by_their_variables() {
    let machine = machine();
    let (home, state) = (machine.path().join("home"), machine.path().join("state"));
    fs::create_dir_all(home.join(".cache/pip")).expect("a directory");
    fs::write(home.join(".cache/pip/entry"), "of the home\n").expect("a file");
    let before = files_below(&home);
    let script = "for place in \"$XDG_CACHE_HOME\" \"$PIP_CACHE_DIR\" \"$npm_config_cache\" \"$UV_CACHE_DIR\"; do\n\
        mkdir -p \"$place\" && echo mine > \"$place/$1\" && echo \"$place\"\ndone\n";
    let projects = ["one", "two"].map(|name| project(&format!("set {name}\n{script}"), &home, &state, "process-group"));
    let places = projects.each_ref().map(log);
    for place in &places {
        assert_eq!(place.lines().filter(|line| line.contains("/state/proctor-caches/")).count(), 4, "{place}");
    }
    assert!(places[0].lines().zip(places[1].lines()).all(|(one, two)| one != two), "{places:?}");
    assert_eq!(files_below(&home), before);
}

#[test]
fn a_cache_that_somebody_chose_is_used_and_what_a_check_writes_there_is_dropped_where_there_are_layers() {
    for level in LEVELS {
        let machine = machine();
        let (home, state) = (machine.path().join("home"), machine.path().join("state"));
        for directory in [&home.join("chosen"), &state] {
            fs::create_dir_all(directory).expect("made");
        }
        let chosen = project("touch \"$XDG_CACHE_HOME/mine\"\necho \"$PIP_CACHE_DIR\"\n", &home, &state, level);
        let chosen = chosen.env("XDG_CACHE_HOME", home.join("chosen"));
        let toml = "[environment]\npass_environment = [\"XDG_CACHE_HOME\"]\n[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n";
        chosen.save("proctor.toml", toml);
        assert!(log(&chosen).contains("/state/proctor-caches/"), "{level}");
        assert_eq!(home.join("chosen/mine").exists(), level != "namespace", "{level}");
    }
}

/// A stranger's clone must not write to the user's configuration because it calls that a cache.
#[test]
fn a_variable_of_the_projects_own_files_opens_no_directory_for_writing() {
    for level in LEVELS {
        let machine = machine();
        let (home, state) = (machine.path().join("home"), machine.path().join("state"));
        let units = home.join(".config/systemd/user");
        for directory in [&units, &state] {
            fs::create_dir_all(directory).expect("made");
        }
        let write = format!("echo evil > {0}/evil.service\necho evil > {0}/other.service\n", units.display());
        let variable = |name: &str| format!("{name}={}", home.join(".config").display());
        let attack = project(&write, &home, &state, level).file(".env", &format!("{}\n", variable("PIP_CACHE_DIR")));
        let quoted = variable("XDG_CACHE_HOME").replacen('=', " = \"", 1);
        let toml = format!(
            "[environment]\nenv_file = \".env\"\n[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\nenvironment = {{ {quoted}\" }}\n"
        );
        attack.save("proctor.toml", &toml);
        let run = attack.proctor(["run"]).any_status();
        assert_eq!(files_below(&units), BTreeMap::new(), "{level}: {}", run.snapshot());
        // A check that fails says which line opens the directory, where it has no directory of its own in that place.
        attack.save("script.sh", "exit 1\n");
        let failed = attack.proctor(["run"]).status(1);
        assert_eq!(failed.stdout.contains("writable = [\""), level != "namespace", "{level}: {}", failed.snapshot());
        attack.save("proctor.toml", &format!("{toml}[sandbox]\nwritable = [\"~/.config\"]\n"));
        attack.save("script.sh", &write);
        attack.proctor(["run"]).success();
        assert!(units.join("evil.service").exists(), "{level}: whoever opens the directory has it opened");
    }
}

#[test]
fn a_write_to_the_cache_of_the_home_names_the_line_that_allows_it() {
    let project = Project::new().toml("[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n");
    let home = project.shared("home");
    fs::create_dir_all(home.join(".cargo/registry")).expect("made");
    let project = project.file("script.sh", "touch \"$HOME/.cargo/registry/x\"\n").env("HOME", &home);
    let refused = project.proctor(["run"]).status(1);
    assert!(refused.stdout.contains("home = \"overlay\""), "{}", refused.snapshot());
    project.save(
        "proctor.toml",
        "[[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n[sandbox]\nwritable = [\"~/.cargo/registry\"]\n",
    );
    project.proctor(["run"]).success();
    assert!(home.join(".cargo/registry/x").exists());
}

#[test]
fn the_caches_of_a_project_are_counted_and_removed_with_its_snapshots() {
    let machine = machine();
    let (home, state) = (machine.path().join("home"), machine.path().join("state"));
    fs::create_dir_all(&home).expect("made");
    let project = project("true\n", &home, &state, "namespace");
    let fetch = "head -c 100000 /dev/urandom > \"$XDG_CACHE_HOME/model\"\n";
    project.save("fetch.sh", fetch);
    let toml = "[[prerequisite]]\nname = \"fetch\"\ncommand = [\"sh\", \"fetch.sh\"]\n\
        [[check]]\nname = \"script\"\ncommand = [\"sh\", \"script.sh\"]\n";
    project.save("proctor.toml", toml);
    log(&project);
    let caches = || fs::read_dir(state.join("proctor-caches")).expect("a directory").count();
    assert_eq!(caches(), 1);
    let doctor = project.proctor(["doctor", "--json"]).any_status();
    let facts: serde_json::Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    let bytes = facts["machine"]["projects"]
        .as_array()
        .and_then(|projects| projects.first())
        .map(|first| &first["snapshot"]["ownCachesBytes"]);
    assert!(bytes.and_then(serde_json::Value::as_u64).is_some_and(|bytes| bytes >= 100_000), "{facts}");
    project.proctor(["prune", "--snapshots"]).success();
    assert_eq!(caches(), 0);
}

/// The package that the crate of the test needs. proctor itself needs it, so it is in the registry of whoever built these tests.
const PACKAGE: &str = "itoa";

/// Copies what cargo has of [`PACKAGE`] to the registry of another home. Returns the package's entry in a lock file; `None` if the
/// registry is not where cargo has it by default.
fn copy_package(home: &Path) -> Option<String> {
    let cargo_home =
        env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let registry = cargo_home.join("registry");
    let lock = fs::read_to_string(repository().join("Cargo.lock")).ok()?;
    let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&format!("name = \"{PACKAGE}\"")))?;
    let version = entry.split('"').nth(3)?;
    let index = fs::read_dir(registry.join("index")).ok()?.flatten().next()?.file_name();
    let parts = [
        Path::new("index").join(&index).join("config.json"),
        Path::new("index").join(&index).join(".cache/it/oa").join(PACKAGE),
        Path::new("cache").join(&index).join(format!("{PACKAGE}-{version}.crate")),
        Path::new("src").join(&index).join(format!("{PACKAGE}-{version}")),
    ];
    for part in parts {
        let (from, to) = (registry.join(&part), home.join(".cargo/registry").join(&part));
        let files = if from.is_dir() { files_below(&from) } else { BTreeMap::from([(from.clone(), fs::read(&from).ok()?)]) };
        for (file, content) in files {
            let to = to.join(file.strip_prefix(&from).expect("it lies below"));
            fs::create_dir_all(to.parent().expect("a directory")).expect("made");
            // The last part of `to` is empty for a single file.
            fs::write(to.components().collect::<PathBuf>(), content).expect("written");
        }
    }
    Some(entry.trim_end().to_owned())
}

#[test]
fn cargo_compiles_with_the_packages_of_the_home_and_writes_only_to_the_projects_own_directory() {
    cargo_compiles_at("namespace", "touch \"$CARGO_HOME/registry/cache/new\"\n");
}

/// A check in the project itself uses the home's registry as it is, since it shares `target` with the user's own cargo.
#[test]
fn in_place_cargo_compiles_without_a_network_from_the_registry_of_the_home_and_does_not_write_there() {
    cargo_compiles_at("landlock", "test -z \"$CARGO_HOME\"\n");
}

/// Has a check compile a crate whose package is in the home's registry, and carry out more in the words of a shell.
#[track_caller]
fn cargo_compiles_at(level: &str, more: &str) {
    let machine = machine();
    let (home, state) = (machine.path().join("home"), machine.path().join("state"));
    [&home, &state].into_iter().for_each(|directory| fs::create_dir_all(directory).expect("made"));
    let (Some(entry), Some(cargo)) = (copy_package(&home), env::var_os("CARGO").map(PathBuf::from)) else { return };
    let manifest =
        format!("[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{PACKAGE} = \"1\"\n");
    let lock = format!(
        "version = 4\n\n[[package]]\n{entry}\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\ndependencies = [\n \"{PACKAGE}\",\n]\n"
    );
    let script = format!(
        "set -e\ncargo check --offline --locked --quiet\n{more}\
         touch \"$HOME/.cargo/registry/cache/new\" 2>/dev/null && echo wrote to the home\necho compiled\n"
    );
    let project = project(&script, &home, &state, level).with_program(&cargo);
    let library = "pub fn price(cents: u32) -> String {\n    itoa::Buffer::new().format(cents).to_owned()\n}\n";
    let project = project.file("Cargo.toml", &manifest).file("Cargo.lock", &lock).file("src/lib.rs", library);
    let before = files_below(&home);
    assert_eq!(log(&project), "compiled\n", "{level}");
    assert_eq!(files_below(&home), before, "{level}");
    let own = fs::read_dir(state.join("proctor-caches")).expect("made").flatten().next().expect("of the project").path();
    assert!(!own.join("cargo/registry/cache/new").exists(), "{level}");
}
