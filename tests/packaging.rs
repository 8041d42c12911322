//! The packages of proctor, as the scripts below `packaging/` make them: built, installed, used, upgraded and removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Machine, Owner, Project, proctor, repository};

/// Runs a command and returns what it printed.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Puts a small copy of the program under test into a directory: without what a debugger needs.
fn small_program(directory: &Path) -> PathBuf {
    let small = directory.join("small");
    printed(Command::new("strip").arg("-o").arg(&small).arg(proctor()));
    small
}

/// Makes a package by one of the scripts, and returns its path.
#[track_caller]
fn build(script: &str, program: &Path, directory: &Path) -> PathBuf {
    let script = repository().join("packaging").join(script).join("build");
    let mut command = Command::new(script);
    // What is compressed least is made fastest.
    command.arg("--program").arg(program).arg(directory).env("DPKG_DEB_COMPRESSOR_LEVEL", "0");
    let said = printed(&mut command);
    PathBuf::from(said.lines().last().expect("the path of the package"))
}

#[test]
fn every_shell_gets_completions_and_every_command_a_page() {
    let project = Project::new();
    let words = ["verify", "service", "completions"];
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let script = project.proctor(["generate", "completions", shell]).success().stdout;
        words.iter().for_each(|word| assert!(script.contains(word), "{shell}: no {word}"));
    }
    project.proctor(["generate", "completions", "tcsh"]).status(2);
    project.proctor(["generate", "man", "pages"]).success();
    project.proctor(["generate", "man", "pages"]).success();
    let page = |name: &str| fs::read_to_string(project.path().join("pages").join(name)).expect("a page");
    assert!(page("proctor.1").contains("verify"), "the first page names the commands");
    assert!(page("proctor-run.1").contains("seal the evidence"));
    assert!(page("proctor-service-install.1").contains("proctor-service-install"));
    fs::write(project.path().join("file"), "").expect("the project is ours");
    let refused = project.proctor(["generate", "man", "file"]).status(2);
    assert!(refused.stderr.contains("failed to write manual pages into `file`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
}

/// What bash completes after these words, by the script that proctor prints.
fn completed(script: &str, words: &[&str]) -> String {
    let line = words.join(" ");
    let places: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={}; COMP_LINE='{line}'; COMP_POINT={}; \
         _proctor proctor \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"",
        places.join(" "),
        words.len() - 1,
        line.len()
    );
    printed(Command::new("bash").args(["--norc", "-c", &ask]))
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = Project::new().proctor(["generate", "completions", "bash"]).success().stdout;
    assert_eq!(completed(&script, &["proctor", "verif"]), "verify\n");
    assert!(completed(&script, &["proctor", "run", "--fr"]).contains("--fresh-caches"));
    assert_eq!(completed(&script, &["proctor", "generate", "completions", "zs"]), "zsh\n");
}

/// Every crate that the program is built from is named in the packages, with the text of its licence.
#[test]
fn the_bill_of_materials_names_each_crate_with_its_licence_and_checksum() {
    let bill = printed(Command::new("python3").arg(repository().join("packaging/bill_of_materials.py")));
    let bill: serde_json::Value = serde_json::from_str(&bill).expect("JSON");
    let components = bill["components"].as_array().expect("a list");
    let is_whole =
        |one: &serde_json::Value| one["hashes"][0]["content"].is_string() && one["licenses"][0]["expression"].is_string();
    assert!(components.len() > 100 && components.iter().all(is_whole), "{bill}");
    let named: Vec<_> = components.iter().map(|one| &one["bom-ref"]).collect();
    assert_eq!(bill["dependencies"][0]["dependsOn"].as_array().expect("a list").iter().collect::<Vec<_>>(), named);
}

#[test]
fn the_notices_name_every_crate_that_is_linked_in() {
    let notices = printed(Command::new("python3").arg(repository().join("packaging/third_party_notices.py")));
    let (heads, texts) = notices.split_once("\n\nThe texts of their licences").expect("heads and texts");
    let mut tree = Command::new("cargo");
    tree.args([
        "tree",
        "--package",
        "proctor",
        "--locked",
        "--offline",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let tree = printed(tree.args(["--format", "{p}"]).current_dir(repository()));
    let named = tree.lines().map(|line| line.trim_end_matches(" (*)").trim_end_matches(" (proc-macro)"));
    let crates: BTreeSet<String> = named.filter(|line| !line.contains('/')).map(|line| line.replacen(" v", " ", 1)).collect();
    assert!(crates.len() > 100, "{}", crates.len());
    let heads: BTreeSet<&str> = heads.lines().filter_map(|line| line.split_once(" · ").map(|(name, _)| name)).collect();
    assert_eq!(heads, crates.iter().map(String::as_str).collect());
    for name in &crates {
        assert!(texts.contains(&format!("\n{name}: ")), "{name} has no text");
    }
    for page in ["preact", "htm", "uplot"] {
        assert!(texts.contains(&format!("\n{page}, in the page: ")), "{page} has no text");
    }
}

/// Makes a release of one archive whose programs are scripts, signed by a project's own key, as `packaging/release` does.
struct SmallRelease {
    project: Project,
    directory: PathBuf,
}

impl SmallRelease {
    fn new() -> Self {
        let project = Project::new().toml("[[check]]\nname = \"true\"\ncommand = \"true\"\n");
        project.proctor(["run"]).success();
        let directory = project.shared("release");
        let packed = directory.join("small");
        fs::create_dir_all(&packed).expect("the root is ours");
        for name in ["proctor", "proctor-verify"] {
            fs::write(packed.join(name), "#!/bin/sh\necho small 1\n").expect("the root is ours");
        }
        printed(Command::new("tar").args(["-czf", "small.tar.gz", "small"]).current_dir(&directory));
        let exported = project.proctor(["key", "export", "--ssh", "--number", "1"]).success().stdout;
        let key: Vec<&str> = exported.split_whitespace().skip_while(|word| *word != "ssh-ed25519").take(2).collect();
        let script = fs::read_to_string(repository().join("packaging/install.sh")).expect("the script");
        let script = script.replace("@RELEASE_KEY@", &key.join(" ")).replace("@ARCHIVE@", "small");
        fs::write(directory.join("install.sh"), script).expect("the root is ours");
        let release = Self { project, directory };
        let sums = printed(Command::new("sha256sum").arg("small.tar.gz").current_dir(&release.directory));
        release.write("SHA256SUMS", sums.as_bytes());
        let sums = release.directory.join("SHA256SUMS");
        let signature = release.project.proctor(["key", "sign", &sums.display().to_string()]).success().stdout;
        release.write("SHA256SUMS.sig", signature.as_bytes());
        release
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.directory.join(name), bytes).expect("the root is ours");
    }

    /// Installs, and returns what the script said, and whether the program is there.
    fn install(&self, arguments: &[&str]) -> (String, bool) {
        let to = self.directory.join("bin");
        let mut command = Command::new("sh");
        command.args(["install.sh", "--to", "bin"]).args(arguments).current_dir(&self.directory);
        let output = command.output().expect("there is a shell");
        let is_there = to.join("proctor").exists() && to.join("proctor-verify").exists();
        assert_eq!(output.status.success(), is_there, "{output:?}");
        (format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)), is_there)
    }
}

#[test]
fn the_script_installs_what_was_signed_by_the_expected_key_and_nothing_else() {
    let release = SmallRelease::new();
    let another = SmallRelease::new();
    let key = fs::read(another.directory.join("install.sh")).expect("the script");
    let line = String::from_utf8_lossy(&key).lines().find(|line| line.starts_with("key=")).expect("the key").to_owned();
    release.write("others", format!("release {}\n", line.trim_start_matches("key='").trim_end_matches('\'')).as_bytes());
    let refused = release.install(&["--signers", "others"]);
    assert!(!refused.1 && refused.0.contains("is not by the expected key: nothing was installed"), "{}", refused.0);
    let archive = fs::read(release.directory.join("small.tar.gz")).expect("the archive");
    release.write("small.tar.gz", &fs::read(another.directory.join("small.tar.gz")).expect("the archive")[..20]);
    let refused = release.install(&[]);
    assert!(!refused.1 && refused.0.contains("another file than the one that was signed"), "{}", refused.0);
    release.write("small.tar.gz", &archive);
    let sums = fs::read(release.directory.join("SHA256SUMS")).expect("the sums");
    release.write("SHA256SUMS", &[&sums[..], b"more\n"].concat());
    assert!(!release.install(&[]).1, "changed sums");
    release.write("SHA256SUMS", &sums);
    let installed = release.install(&[]);
    assert!(installed.1 && installed.0.starts_with("installed small 1 in "), "{}", installed.0);
    assert_eq!(printed(&mut Command::new(release.directory.join("bin/proctor-govern"))), "small 1\n");
    assert!(release.install(&[]).1, "a second time");
}

/// The package for npm starts the program of the platform's package, and ends as it ends.
#[test]
fn the_wrapper_for_npm_ends_as_the_program_ends() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let modules = directory.path().join("node_modules");
    let node = |script: &str| printed(Command::new("node").args(["-p", script])).trim().to_owned();
    let platform = modules.join(format!("proctor-bin-{}", node("`${process.platform}-${process.arch}`"))).join("bin");
    let wrapper = modules.join("proctor-bin");
    fs::create_dir_all(&wrapper).expect("the directory is ours");
    fs::copy(repository().join("packaging/npm/proctor.js"), wrapper.join("proctor.js")).expect("a copy");
    let start = |words: &[&str]| Command::new("node").arg(wrapper.join("proctor.js")).args(words).output().expect("node starts");
    let missing = start(&["run"]);
    assert_eq!(missing.status.code(), Some(70));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("is not installed"), "{missing:?}");
    fs::create_dir_all(&platform).expect("the directory is ours");
    fs::copy("/bin/sh", platform.join("proctor")).expect("a copy");
    let ended = start(&["-c", "echo \"$1\"; exit 3", "name", "a word"]);
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(3), &b"a word\n"[..]));
    let other = wrapper.join("proctor-govern");
    std::os::unix::fs::symlink("proctor.js", &other).expect("the directory is ours");
    assert_eq!(printed(Command::new("node").arg(other).args(["-c", "echo $0"])), "proctor-govern\n");
    let stopped = start(&["-c", "kill -TERM $$"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&stopped.status), Some(15), "{stopped:?}");
}

/// The head of a program of 64 bits for a machine, as ELF has it: with one part, which names a dynamic linker.
fn head_of_program(machine: u8) -> Vec<u8> {
    let mut head = vec![0; 64 + 56];
    head[..4].copy_from_slice(b"\x7fELF");
    (head[18], head[32], head[54], head[56], head[64]) = (machine, 64, 56, 1, 3);
    head
}

/// Each program gets a package by the machine that it is for, and the wrapper names them all.
#[test]
fn the_packages_for_npm_are_named_by_the_machines_of_their_programs() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = directory.path();
    let mut command = Command::new(repository().join("packaging/npm/build"));
    for (name, machine) in [("ours", 62), ("theirs", 183)] {
        fs::write(place.join(name), head_of_program(machine)).expect("the directory is ours");
        command.arg("--program").arg(place.join(name));
    }
    printed(command.arg(place));
    let read = |name: &str| {
        let package = place.join(format!("{name}-{}.tgz", env!("CARGO_PKG_VERSION")));
        let said = printed(Command::new("tar").arg("-xzOf").arg(package).arg("package/package.json"));
        serde_json::from_str::<serde_json::Value>(&said).expect("JSON")
    };
    for (name, cpu) in [("proctor-bin-linux-x64", "x64"), ("proctor-bin-linux-arm64", "arm64")] {
        assert_eq!(read(name)["cpu"][0], cpu);
        assert_eq!(read(name)["bin"], serde_json::json!({ "proctor": "bin/proctor", "proctor-govern": "bin/proctor" }));
        assert_eq!(read("proctor-bin")["optionalDependencies"][name], env!("CARGO_PKG_VERSION"));
    }
    // A package has no other page, so its README leads to none.
    let package = place.join(format!("proctor-bin-{}.tgz", env!("CARGO_PKG_VERSION")));
    let readme = printed(Command::new("tar").arg("-xzOf").arg(package).arg("package/README.md"));
    assert!(readme.contains("**Guides**: checks · watching") && !readme.contains("](docs/"), "{readme}");
    let of_repository = "import archive, re; archive.manifest = lambda: {'repository': 'https://example.org/p', 'version': '1'}; \
        print(*re.findall(r'\\]\\((.*?)\\)', archive.document('README.md').decode()))";
    let packaging = repository().join("packaging");
    let links = printed(Command::new("python3").args(["-B", "-c", of_repository]).env("PYTHONPATH", packaging));
    assert!(links.split_whitespace().count() > 20, "{links}");
    assert!(links.split_whitespace().all(|link| link.starts_with("https://example.org/p/blob/v1/")), "{links}");
}

/// The hooks of the plugin are those that `proctor hook install` writes, and its version is that of the program.
#[test]
fn the_plugin_for_agents_has_the_hooks_and_the_version_of_the_program() {
    let text = |path: &str| fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let json =
        |path: &str| serde_json::from_str::<serde_json::Value>(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let plugin = repository().join("packaging/agents");
    for agent in ["claude", "codex"] {
        let manifest = json(&format!("packaging/agents/.{agent}-plugin/plugin.json"));
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{agent}");
        assert_eq!(manifest["hooks"], format!("./hooks/{agent}.json"));
        assert_eq!(json(&format!("packaging/agents/hooks/{agent}.json")), json(&format!("fixtures/hooks/settings/{agent}.json")));
        for part in ["hooks", "mcpServers", "skills"] {
            let path = plugin.join(manifest[part].as_str().expect("a path"));
            assert!(path.exists(), "{agent}: {}", path.display());
        }
    }
    let market = json(".claude-plugin/marketplace.json");
    assert_eq!(
        repository().join(market["plugins"][0]["source"].as_str().expect("a path")).canonicalize().ok(),
        plugin.canonicalize().ok()
    );
    let most = [("AGENTS.md", 60), ("README.md", 200), ("packaging/agents/skills/working-with-a-referee/SKILL.md", 60)];
    for (path, lines) in most {
        let count = text(path).lines().count();
        assert!(count <= lines, "{path}: {count} lines, {lines} are the end");
    }
}

/// Every crate can be published: it inherits the one version, the licence and the addresses.
#[test]
fn every_crate_inherits_what_is_said_once() {
    let manifests = crate::common::source_files("").into_iter().filter(|file| file.path.ends_with("Cargo.toml"));
    let of_crates: Vec<_> = manifests.filter(|file| file.path == "Cargo.toml" || file.path.starts_with("crates/")).collect();
    assert!(of_crates.len() > 10);
    for file in of_crates {
        let read: toml::Table = toml::from_str(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        for key in ["version", "license", "repository", "homepage"] {
            let is_inherited = read["package"][key].get("workspace").and_then(toml::Value::as_bool) == Some(true);
            assert!(is_inherited, "{}: `{key}` is not the workspace's", file.path);
        }
        assert!(read["package"].get("description").is_some(), "{}: no description", file.path);
    }
}

/// A program that proves nothing stands for a source that nothing proves.
#[test]
fn a_release_is_refused_where_nothing_can_judge_the_source() {
    let project = Project::new();
    let mut command = Command::new("python3");
    command.args([
        "-B".as_ref(),
        repository().join("packaging/release").as_os_str(),
        "--proctor".as_ref(),
        "/bin/false".as_ref(),
    ]);
    let output = command.arg(project.path().join("out")).output().expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("nothing is packaged: "), "{said}");
    assert!(!project.path().join("out").exists(), "nothing was written");
}

/// Stand-ins for the program answer as a store does whose bundle is refused, and as one whose source is saved while packages are built.
#[test]
fn nothing_is_signed_without_an_attestation_or_when_the_source_changed_meanwhile() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let script = "import importlib.machinery, importlib.util, pathlib, sys, types\n\
         loader = importlib.machinery.SourceFileLoader('release', sys.argv[1])\n\
         module = importlib.util.module_from_spec(importlib.util.spec_from_loader('release', loader))\n\
         loader.exec_module(module)\n\
         place, said = pathlib.Path(sys.argv[2]), {'head': 'one', 'refused': True, 'why': None, 'signed': 0}\n\
         def run(*command, **options):\n    \
             if 'attest' in command: (place / 'attestation.json').write_text('{}')\n    \
             if command[0] == 'verifier' and said['refused']: raise module.NotMade('refused')\n    \
             said['signed'] += 'sign' in command\n    \
             return said['head'] if command[0] == 'git' else 'ssh-ed25519 AAAA'\n\
         module.run, module.why_unproved = run, lambda proctor: said['why']\n\
         options = types.SimpleNamespace(proctor='proctor', unproved=False)\n\
         release = module.Release(options, place, '1', 'one')\n\
         def row(function):\n    \
             release.make('it', function)\n    \
             return release.rows[-1][0], release.rows[-1][2]\n\
         sign = lambda: release.sign('small')\n\
         attest = lambda: release.attest('verifier')\n\
         assert row(attest) == (False, 'refused')\n\
         assert release.attestation is None and not (place / 'attestation.json').exists()\n\
         assert row(sign) == (False, 'there is no archive')\n\
         (place / 'small.tar.gz').write_text('')\n\
         assert row(sign) == (False, 'there is no attestation')\n\
         said['refused'] = False\n\
         assert row(attest)[0]\n\
         said['why'] = 'files differ'\n\
         assert row(sign) == (False, 'files differ')\n\
         said['why'], said['head'] = None, 'two'\n\
         assert row(sign)[1].startswith('HEAD is another one')\n\
         assert said['signed'] == 0 and not (place / 'SHA256SUMS').exists() and (place / 'UNPROVED').exists()\n\
         said['head'] = 'one'\n\
         (place / 'UNPROVED').unlink()\n\
         assert row(sign)[0] and said['signed'] == 1\n";
    let mut command = Command::new("python3");
    printed(command.args(["-B", "-c", script]).arg(repository().join("packaging/release")).arg(directory.path()));
}

/// A wheel is installed by pip into an environment of its own, upgraded and removed. Nothing is fetched.
#[test]
#[ignore = "long tier"]
fn a_wheel_brings_the_program_and_no_module() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = directory.path();
    let program = small_program(place);
    let wheel = build("wheel", &program, &place.join("packages"));
    let bytes = fs::read(&wheel).expect("a wheel");
    assert_eq!(
        fs::read(build("wheel", &program, &place.join("again"))).expect("a wheel"),
        bytes,
        "the same source, the same bytes"
    );

    let environment = place.join("environment");
    printed(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let python = environment.join("bin/python");
    let pip = |arguments: &[&OsStr]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]).args(arguments);
        printed(&mut command)
    };
    pip(&["install".as_ref(), "--no-index".as_ref(), wheel.as_os_str()]);
    let installed = environment.join("bin/proctor");
    assert_eq!(fs::read(&installed).expect("the program"), fs::read(&program).expect("the program"));
    assert!(printed(Command::new(&installed).arg("--version")).starts_with("proctor "));
    let govern = environment.join("bin/proctor-govern");
    assert!(printed(Command::new(&govern).arg("--version")).starts_with("proctor-govern "));
    let questions = "import base64, hashlib, importlib.metadata, importlib.util, json\n\
         distribution = importlib.metadata.distribution('proctor-bin')\n\
         assert importlib.util.find_spec('proctor') is None and importlib.util.find_spec('proctor_bin') is None\n\
         listed = [file for file in distribution.files if file.hash]\n\
         for file in listed:\n    \
             digest = base64.urlsafe_b64encode(hashlib.sha256(file.locate().read_bytes()).digest()).rstrip(b'=').decode()\n    \
             assert digest == file.hash.value, file\n\
         notices = [file for file in distribution.files if file.name == 'THIRD-PARTY-NOTICES']\n\
         assert 'serde_json 1.' in notices[0].read_text(encoding='utf-8')\n\
         print(len(listed), distribution.version)\n";
    let answered = printed(Command::new(&python).args(["-c", questions]));
    assert!(answered.trim_end().ends_with(env!("CARGO_PKG_VERSION")), "{answered}");
    pip(&["install".as_ref(), "--no-index".as_ref(), "--force-reinstall".as_ref(), wheel.as_os_str()]);
    pip(&["uninstall".as_ref(), "--yes".as_ref(), "proctor-bin".as_ref()]);
    assert!(!installed.exists() && !govern.exists(), "pip removes what it brought");
}

/// A Debian package under a real service manager. Its store and keys outlive it.
#[test]
#[ignore = "wide tier"]
fn a_debian_package_is_installed_upgraded_under_its_service_and_removed() {
    let Some(machine) = Machine::find() else { return };
    let place = machine.tools();
    let program = small_program(place);
    let old = build("deb", &program, &place.join("packages"));
    let bytes = fs::read(&old).expect("a package");
    assert_eq!(
        fs::read(build("deb", &program, &place.join("again"))).expect("a package"),
        bytes,
        "the same source, the same bytes"
    );
    fs::write(place.join("old.deb"), bytes).expect("the directory is ours");

    // The same program with a byte behind it is another program, and what the package does with it is the same.
    let mut changed = fs::read(&program).expect("the program");
    changed.push(0);
    fs::write(&program, changed).expect("the directory is ours");
    fs::rename(build("deb", &program, &place.join("packages")), place.join("new.deb")).expect("the directory is ours");

    let script = place.join("deb.sh");
    fs::copy(repository().join("tests/packaging/deb.sh"), &script).expect("a copy");
    let output = machine.run(Owner::Root, &[], &["bash".as_ref(), script.as_os_str(), place.as_os_str()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let expected = "INSTALLED 0 install ok installed\n\
         WHOLE 0 0\n\
         NOTICES 1\n\
         LINKS 0\n\
         STARTED inactive inactive \n\
         UNITS 0\n\
         RUN 0\n\
         UPGRADED 0\n\
         CHANGED 1\n\
         PURGED 0 0\n\
         KEPT 1 1\n\
         AGAIN 0 0\n";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
