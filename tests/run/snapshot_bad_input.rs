//! Tests strange projects and places: the checks run on a snapshot, or in the project itself for a reason that the
//! report gives, and never on a part of the project.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::{geteuid, mkfifo};
use serde_json::Value;

use crate::common::{Output, Project, User, copy_program, proctor};

type Maker = fn(&Path);

fn checking(script: &str) -> Project {
    let script = serde_json::to_string(script).expect("a string can be written");
    let check = format!("[[check]]\nname = \"x\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n");
    Project::new().toml(&check).file("a.txt", "hi")
}

/// Makes the project of [`checking`] in a directory that every user can reach: the directory for temporary files may be private to
/// the user who runs the tests.
pub(super) fn checking_for_every_user(script: &str) -> Project {
    let directory = tempfile::Builder::new().prefix("proctor-").tempdir_in("/var/tmp").expect("`/var/tmp` is for everybody");
    // The program of the tests may lie where not every user can reach it.
    let check = "[[check]]\nname = \"x\"\ncommand = [\"sh\", \"check.sh\"]\n";
    Project::of(directory).toml(check).file("check.sh", script).file("a.txt", "hi")
}

/// Returns where the checks ran, and why there.
fn place(output: &Output) -> (String, String) {
    let snapshot: Value = output.report()["tree"]["snapshot"].clone();
    let text = |name: &str| snapshot[name].as_str().unwrap_or_default().to_owned();
    (text("tested"), text("reason"))
}

#[track_caller]
fn assert_snapshot(output: &Output) {
    assert_eq!(place(output), ("snapshot".to_owned(), String::new()), "{}", output.snapshot());
}

#[track_caller]
fn assert_in_place(output: &Output, reason: &str) {
    let (tested, said) = place(output);
    assert!(tested == "in-place" && said.contains(reason), "{said}\n{}", output.snapshot());
}

/// Runs proctor in a mount namespace of its own, after a script of the shell that mounts something. The script has the directory
/// around project and store as `$ROOT`.
fn run_mounted(project: &Project, mounts: &str) -> Output {
    let root = project.root().display().to_string();
    let script = format!("cd / && {mounts} && cd \"$ROOT/project\" && exec \"$0\" run");
    let program = proctor().to_str().expect("the build directory is UTF-8");
    project.command(Path::new("unshare"), ["-Urm", "sh", "-euc", &script, program]).env("ROOT", &root).any_status()
}

#[test]
fn special_files_are_left_out_of_the_snapshot_and_named_tracked_or_ignored() {
    let makers: [(&str, Maker); 3] = [
        ("pipe", |path| mkfifo(path, Mode::S_IRWXU).expect("the project is ours")),
        ("socket", |path| drop(UnixListener::bind(path).expect("the project is ours"))),
        ("device", |path| {
            // Every user may make the device with the number 0, because overlayfs uses it to hide files.
            mknod(path, SFlag::S_IFCHR, Mode::S_IRWXU, 0).expect("the project is ours");
            assert!(fs::symlink_metadata(path).expect("it was made").file_type().is_char_device());
        }),
    ];
    for (name, make) in makers {
        for rules in ["", "pipe\nsocket\ndevice\n"] {
            let project = checking(&format!("cat a.txt && test ! -e {name}")).file(".gitignore", rules);
            make(&project.path().join(name));
            let output = project.proctor(["run"]).success();
            assert_eq!(output.report()["tree"]["snapshot"]["tested"], "snapshot", "{}", output.stdout);
            let said = match rules {
                "" => format!("`{name}` is a socket, pipe or device: the tree's digest and the snapshot do not have it"),
                _ => format!("checks do not see `{name}`: sockets, pipes, devices and what cannot be read are not copied"),
            };
            let screen = format!("{}{}", output.stdout, output.stderr);
            assert!(screen.contains(&said), "{screen}");
        }
    }
}

#[test]
fn every_name_and_length_of_path_can_have_a_snapshot() {
    let long = ["x".repeat(200).as_str(); 6].join("/");
    for root in ["a:b,c=d", "back\\slash", "new\nline", " spaces ", "quote\"'", long.as_str()] {
        let project = checking("cat a.txt \"$(printf 'new\\nline')\" 'a:b,c'").file("new\nline", "1").file("a:b,c", "2");
        let moved = project.root().join(root);
        fs::create_dir_all(&moved).expect("the root is ours");
        for name in ["a.txt", "new\nline", "a:b,c", "proctor.toml"] {
            fs::copy(project.path().join(name), moved.join(name)).expect("a copy");
        }
        let moved = moved.to_str().expect("UTF-8").to_owned();
        let output = project.proctor(["run", "--json", &moved]).success();
        assert_eq!(output.json()["tree"]["snapshot"]["tested"], "snapshot", "{root}");
    }
}

#[test]
fn a_tree_is_copied_whole_however_deep_and_linked_it_is() {
    let deep = ["d".repeat(200).as_str(); 15].join("/");
    // The path has about 3,000 bytes. Together with the store's own path before it, it stays below the kernel's limit of
    // 4,096.
    let project =
        checking("set -e; cd d*; for n in 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do cd d*; done; cat f").file("b.txt", "one");
    project.save(&format!("{deep}/f"), "deep");
    fs::hard_link(project.path().join("b.txt"), project.path().join("c.txt")).expect("the project is ours");
    fs::set_permissions(project.path().join("b.txt"), Permissions::from_mode(0o4755)).expect("the project is ours");
    assert_snapshot(&project.proctor(["run"]).success());
    assert!(project.proctor(["show", "--log", "STEP.1"]).success().stdout.contains("deep"));
}

#[test]
#[ignore = "long tier"]
fn thousands_of_ignored_inputs_are_all_there() {
    let project = checking("test $(ls inputs | wc -l) = 5000").file(".gitignore", "inputs\n");
    for number in 0..5000 {
        project.save(&format!("inputs/{number}.cfg"), "x");
    }
    assert_snapshot(&project.proctor(["run"]).success());
}

#[test]
fn a_project_that_is_named_by_a_link_has_a_snapshot_at_its_own_place() {
    let project = checking("cat a.txt");
    let link = project.root().join("link");
    symlink(project.path(), &link).expect("the root is ours");
    let output = project.proctor(["run", link.to_str().expect("UTF-8")]).success();
    assert_snapshot(&output);
}

#[test]
fn what_is_mounted_in_and_around_a_project_is_copied_or_named() {
    let project = checking("set -e; cat a.txt; cat sub/f; cat .gitignore").file(".gitignore", "node_modules\n").file("sub/g", "");
    let mounted = "mount -t tmpfs none \"$ROOT/project/sub\" && echo x > \"$ROOT/project/sub/f\"";
    assert_snapshot(&run_mounted(&project, mounted));
    // The root is a mount point itself.
    assert_snapshot(&run_mounted(&project, &format!("mount --bind \"$ROOT/project\" \"$ROOT/project\" && {mounted}")));
    // The project lies on an overlay.
    let overlay = "cd \"$ROOT\" && mkdir -p lower upper work && cp -a project/. lower && \
                   mount -t overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work none project";
    assert_snapshot(&run_mounted(&project, &format!("{overlay} && {mounted}")));
    let inside = "mkdir -p \"$ROOT/project/node_modules/m\" && mount -t tmpfs none \"$ROOT/project/node_modules/m\"";
    let output = run_mounted(&project, &format!("{mounted} && {inside}"));
    assert_in_place(&output, "perhaps another file system is mounted inside of it");
}

/// overlayfs is two layers deep at most, so what lies on an overlay over an overlay can be no layer itself.
#[test]
fn a_file_system_that_cannot_be_a_layer_is_copied_and_an_environment_on_it_is_named() {
    let stacked = "cd \"$ROOT\"; mkdir -p first second; for over in first second; do mkdir $over/upper $over/work; \
                   mount -t overlay -o \"userxattr,lowerdir=project,upperdir=$over/upper,workdir=$over/work\" none project; done";
    let project = checking("cat a.txt").file(".gitignore", "node_modules\n");
    assert_snapshot(&run_mounted(&project, stacked));
    let project = checking("cat a.txt node_modules/m/x").file(".gitignore", "node_modules\n").file("node_modules/m/x", "");
    let output = run_mounted(&project, stacked);
    assert_eq!(output.status, 0, "{}", output.snapshot());
    assert_in_place(&output, "or it lies on one that cannot be under an overlay");
    let project = checking("touch ran").file(".gitignore", "node_modules\n").file("node_modules/m/x", "");
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("a file");
    project.save("proctor.toml", &format!("{toml}[sandbox]\nsnapshot = \"require\"\n"));
    let output = run_mounted(&project, stacked);
    assert!(output.status != 0 && !output.stdout.contains("PASSED"), "{}", output.snapshot());
    assert!(!project.root().join("second/upper/ran").exists(), "nothing was run");
}

/// The file system inside of the packages is unmounted while `watch` runs. A keeper (the process that starts one
/// action's first process) that was started in advance still sees the file system. So the next run may be in place too;
/// a later run is on a snapshot.
#[test]
fn a_snapshot_that_could_not_be_mounted_is_tried_again_by_later_runs_of_the_same_process() {
    let project = checking("cat a.txt").file(".gitignore", "node_modules\n").file("node_modules/m/x", "");
    let script = "cd \"$ROOT/project\"; said=../shared/said; mount -t tmpfs none node_modules/m; \"$0\" watch >$said 2>&1 & watch=$!; \
                  until grep -q ^PASSED $said; do sleep 0.05; done; umount node_modules/m; \
                  for runs in 2 3 4; do echo more >>a.txt; until [ \"$(grep -c ^PASSED $said)\" = $runs ]; do sleep 0.05; done; done; \
                  kill -INT $watch; wait $watch";
    let program = proctor().to_str().expect("the build directory is UTF-8");
    let root = project.root().display().to_string();
    let words = ["60", "unshare", "-Urm", "sh", "-euc", script, program];
    let ended = project.command(Path::new("timeout"), words).env("ROOT", &root).any_status();
    let said = fs::read_to_string(project.shared("said")).unwrap_or_default();
    assert_eq!(ended.status, 130, "{}\n{said}", ended.snapshot());
    let runs: Vec<&str> = said.split("PASSED").collect();
    assert!(runs[0].contains("in place: ") && !runs[3].contains("in place: "), "{said}");
}

/// Returns the file that says under which conditions a snapshot of the only project could be mounted.
fn mounted_file(project: &Project) -> PathBuf {
    let projects = fs::read_dir(project.root().join("state/proctor/snapshots")).expect("there is a snapshot");
    let files: Vec<PathBuf> = projects.map(|entry| entry.expect("readable").path().join("mounted")).collect();
    files.into_iter().next().expect("one project")
}

#[test]
fn a_mount_that_has_worked_is_not_tried_by_the_next_process() {
    let project = checking("cat a.txt");
    assert_snapshot(&project.proctor(["run"]).success());
    let file = mounted_file(&project);
    let written = fs::read_to_string(&file).expect("the first run has tried it");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let set_back = || File::options().write(true).open(&file).expect("ours").set_modified(long_ago).expect("ours");
    let is_written = || fs::metadata(&file).expect("there").modified().expect("a time") != long_ago;
    set_back();
    assert_snapshot(&project.proctor(["run"]).success());
    assert!(!is_written(), "the second run has tried it too");
    fs::write(&file, "of another boot").expect("ours");
    set_back();
    assert_snapshot(&project.proctor(["run"]).success());
    assert!(is_written(), "other conditions were not tried");
    assert_eq!(fs::read_to_string(&file).expect("there"), written);
}

#[test]
fn a_mount_that_worked_before_and_fails_now_makes_the_run_once_more_and_in_place() {
    let project = checking("cat a.txt").file(".gitignore", "node_modules\n").file("node_modules/m/x", "");
    assert_snapshot(&project.proctor(["run"]).success());
    let file = mounted_file(&project);
    // What the file would hold if the mount had worked with another file system inside of the packages.
    let says = "{ cat /proc/sys/kernel/random/boot_id; id -u; readlink /proc/self/ns/user; echo \"$ROOT/project/node_modules\"; \
                cat /proc/self/mountinfo; } | sha256sum | cut -d ' ' -f 1 | tr -d '\\n'";
    let script = format!("mount -t tmpfs none \"$ROOT/project/node_modules/m\" && {says} > '{}'", file.display());
    let output = run_mounted(&project, &script);
    assert_eq!(output.status, 0, "{}", output.snapshot());
    assert!(output.stderr.contains("its snapshot could not be mounted"), "{}", output.stderr);
    assert_in_place(&output, "perhaps another file system is mounted inside of it");
    assert!(!file.exists(), "it is forgotten");
}

/// A script that mounts an overlay over the state directory, as the root of a container is one.
const OVERLAY: &str = "cd \"$ROOT\" && mkdir -p lower upper work && \
                       mount -t overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work none state && \
                       mkdir -m 700 -p state/proctor";

#[test]
fn a_store_on_an_overlay_has_its_layers_in_memory() {
    let toml = |name: &str, command: &str, more: &str| format!("[[check]]\nname = \"{name}\"\ncommand = {command}\n{more}");
    let make = "set -e\nmkdir -p out made .mypy_cache\necho kept >out/kept\necho seen >made/seen\necho x >.mypy_cache/x\nrm a.txt\n\
                mkdir a.txt\n";
    let toml = toml("make", "[\"sh\", \"make.sh\"]", "writes = [\"out/**\"]\n")
        + &toml("see", "[\"sh\", \"see.sh\"]", "")
        + "[sandbox]\nsnapshot = \"require\"\n";
    let see = "set -e\ncat made/seen\ntest -d a.txt\ntest ! -e .mypy_cache\ntest -z \"$(ls /dev/shm)\"\n";
    let project = Project::new().toml(&toml).file("make.sh", make).file("see.sh", see).file("a.txt", "hi");
    let project = project.file(".gitignore", "out/\nnode_modules\n").file("node_modules/m/x", "");
    // Two runs: nothing that the first one left is in the way of the second.
    let output = run_mounted(
        &project,
        &format!("{OVERLAY} && ls /dev/shm >\"$ROOT/before\" && (cd project && \"$0\" run --json >../first)"),
    );
    assert_eq!(output.status, 0, "{}", output.snapshot());
    let first: Value = serde_json::from_slice(&fs::read(project.root().join("first")).expect("a report")).expect("JSON");
    let snapshot = &first["tree"]["snapshot"];
    assert_eq!((&snapshot["tested"], &snapshot["caches"]), (&"snapshot".into(), &"fresh".into()), "{snapshot}");
    assert_eq!(fs::read_to_string(project.path().join("out/kept")).expect("it was copied"), "kept\n");
    assert!(!project.path().join("made").exists() && project.path().join("a.txt").is_file());
    let listed = |snapshot: &Value| snapshot["written"].to_string();
    assert!(listed(snapshot).contains("made/seen") && listed(snapshot).contains("out/kept"), "{snapshot}");
}

#[test]
fn a_store_on_an_overlay_is_named_where_there_is_no_memory_and_nothing_runs_where_a_snapshot_is_required() {
    let mounts = format!("{OVERLAY} && mount --bind lower /dev/shm");
    let project = checking("cat a.txt");
    let output = run_mounted(&project, &mounts);
    assert!(output.status == 0 && output.stdout.contains("proctor's own directory lies on an overlay"), "{}", output.snapshot());
    let project = checking("touch ran");
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("a file");
    project.save("proctor.toml", &format!("{toml}[sandbox]\nsnapshot = \"require\"\n"));
    let output = run_mounted(&project, &mounts);
    assert!(output.status == 5 && output.stderr.contains("lies on an overlay"), "{}", output.snapshot());
    assert!(!project.path().join("ran").exists(), "nothing was run");
}

/// Runs proctor as a user other than root, because permissions do not restrict root.
pub(super) fn run_as_plain_user(project: &Project) -> Output {
    if !geteuid().is_root() {
        return project.proctor(["run", "--json"]).any_status();
    }
    let user = User::Unprivileged;
    let copy = project.root().join("proctor");
    copy_program(proctor(), &copy);
    user.own(project.root());
    let number = user.number().to_string();
    let words = ["--reuid", &number, "--regid", &number, "--clear-groups", "--", copy.to_str().expect("UTF-8"), "run", "--json"];
    project.command(Path::new("setpriv"), words).any_status()
}

#[test]
fn an_ignored_file_that_a_plain_user_cannot_read_is_left_out_and_one_of_the_tree_is_asked_about() {
    for (path, rules, reason) in [
        ("secret", "", "`secret` cannot be read"),
        (".env", ".env\n", "checks do not see `.env`: sockets, pipes, devices and what cannot be read are not copied"),
        ("closed/f", "", "`closed` cannot be read"),
    ] {
        let project = checking_for_every_user("cat a.txt && test ! -e .env").file(".gitignore", rules).file(path, "x");
        let closed = project.path().join(path.split('/').next().expect("a name"));
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).expect("the project is ours");
        let output = run_as_plain_user(&project);
        fs::set_permissions(&closed, Permissions::from_mode(0o755)).expect("the project is ours");
        if rules.is_empty() {
            assert!(output.status == 3 && output.stdout.contains(reason), "{path} {}", output.snapshot());
            continue;
        }
        let report = output.json();
        assert!(output.status == 0 && report["tree"]["snapshot"]["tested"] == "snapshot", "{path} {}", output.snapshot());
        assert!(report["notes"].to_string().contains(reason), "{}", report["notes"]);
    }
}

#[test]
fn a_check_that_takes_its_own_permissions_away_costs_no_verdict() {
    let script = "set -e; mkdir made; echo x > made/f; chmod 000 made; chmod 000 sub; cat a.txt";
    let project = checking_for_every_user(script).file("sub/f", "x");
    let output = run_as_plain_user(&project);
    assert_eq!(output.status, 0, "{}", output.snapshot());
    let snapshot = output.json()["tree"]["snapshot"].clone();
    assert_eq!((&snapshot["tested"], &snapshot["writtenCount"]), (&"snapshot".into(), &1.into()), "{snapshot}");
    assert!(project.path().join("sub/f").exists());
}

#[test]
fn a_root_that_vanishes_during_a_run_takes_nothing_from_its_verdict() {
    for vanish in ["mv project elsewhere", "rm -r project", "mv project elsewhere && mkdir project"] {
        let project = Project::new().file("a.txt", "hi").toml(
            "[sandbox]\nwritable = [\"../shared\"]\n[[check]]\nname = \"x\"\ncommand = [\"fake-tool\", \"--script\", \"set -e; touch ../shared/begun; \
             while [ -e ../shared/hold ]; do sleep 0.01; done; cat a.txt; ls\"]\n",
        );
        fs::write(project.shared("hold"), "").expect("the directory is ours");
        let run = project.proctor(["run"]).watch();
        let begun = project.shared("begun");
        crate::common::poll(std::time::Duration::from_secs(60), "the check", || {
            if begun.exists() { Ok(()) } else { Err("it has not begun") }
        });
        let moved = std::process::Command::new("sh").args(["-c", vanish]).current_dir(project.root()).status();
        assert!(moved.expect("a shell").success());
        fs::remove_file(project.shared("hold")).expect("it was held");
        let run = run.ended();
        assert!(run.status == 0 && run.stdout.contains("PASSED"), "{vanish} {}", run.snapshot());
        fs::create_dir_all(project.path()).expect("the root is ours");
    }
}

#[test]
fn ignore_rules_in_another_encoding_and_a_file_made_unreadable_end_no_run() {
    let project = Project::new()
        .toml("[[check]]\nname = \"makes\"\ncommand = [\"fake-tool\", \"--script\", \"echo {} >tsconfig.made.json; echo x >a.txt; chmod 000 a.txt\"]\n")
        .file("a.txt", "one");
    fs::write(project.path().join(".gitignore"), b"# f\xfcr alle\n*.log\n").expect("it is ours");
    let run = project.proctor(["run"]).any_status();
    assert_eq!(run.status, 0, "{}", run.snapshot());
    assert!(run.stdout.contains("the checks rewrote the tree"), "{}", run.stdout);
}
