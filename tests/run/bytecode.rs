//! Tests Python bytecode on a snapshot: a run uses what proctor compiled from the tree, and never what a check wrote.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::common::{Extent, Project, poll, python_plain};
use crate::run::result;

const LATE: Duration = Duration::from_secs(60);

/// A project with a check for each program, which Python runs on a snapshot.
fn python(programs: &[&str]) -> Project {
    let mut toml = String::from("[sandbox]\nsnapshot = \"require\"\n");
    for (number, program) in programs.iter().enumerate() {
        let program = serde_json::to_string(program).expect("a string can be written");
        toml += &format!("[[check]]\nname = \"check {}\"\ncommand = [\"python3\", \"-c\", {program}]\n", number + 1);
    }
    Project::new().toml(&toml)
}

/// Returns the compiled modules in the store, as paths below the root of the project. A directory may vanish under the look.
fn kept(project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    for layer in layers(project) {
        let mut waiting = vec![layer.clone()];
        while let Some(directory) = waiting.pop() {
            for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    found.push(path.strip_prefix(&layer).expect("it is below").display().to_string());
                }
            }
        }
    }
    found.sort();
    found
}

fn layers(project: &Project) -> Vec<PathBuf> {
    let entries = |directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_projects = entries(project.root().join("state/proctor/snapshots"));
    of_projects.flat_map(|one| entries(one.join("bytecode"))).map(|one| one.join("files")).collect()
}

/// Saves a file with a time that never changes, so that Python cannot tell two contents of one size apart by their stamps.
fn save_unnoticed(project: &Project, path: &str, text: &str) {
    project.save(path, text);
    let file = File::options().write(true).open(project.path().join(path)).expect("the file was saved");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).expect("the file is ours");
}

/// Prints which compiled modules the package has before the import, the package's mode, and a value of the module. Then
/// changes the module and imports it in another process.
const SEEN: &str = "import os, sys\n\
     before = sorted(os.listdir('pkg/__pycache__')) if os.path.isdir('pkg/__pycache__') else []\n\
     import pkg.m, pkg.plain\n\
     print('before', before, 'mode', oct(os.stat('pkg').st_mode & 0o777), pkg.m.X)\n\
     print('code', pkg.m.f.__code__.co_filename)\n\
     open('pkg/m.py', 'w').write('X = 77\\ndef f(): pass\\n')\n\
     os.system(sys.executable + ' -c \"import pkg.m; print(pkg.m.X)\"')\n";

#[test]
#[ignore = "long tier"]
fn modules_that_a_run_used_are_compiled_for_the_next_one() {
    let project =
        python(&[SEEN]).file("pkg/__init__.py", "").file("pkg/plain.py", "").file("pkg/m.py", "X = 11\ndef f(): pass\n");
    fs::set_permissions(project.path().join("pkg"), std::os::unix::fs::PermissionsExt::from_mode(0o750)).expect("ours");
    let log = || project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    project.proctor(["run"]).success();
    assert!(log().contains("before [] mode 0o750 11"), "{}", log());
    let compiled = kept(&project);
    assert_eq!(compiled.len(), 3, "{compiled:?}");
    assert!(compiled.iter().all(|path| path.starts_with("pkg/__pycache__/") && path.ends_with(".pyc")), "{compiled:?}");
    for _ in 0..2 {
        project.proctor(["run"]).success();
        assert!(log().contains(".pyc'] mode 0o750 11"), "{}", log());
        assert!(log().contains(&format!("code {}", project.path().join("pkg/m.py").display())), "{}", log());
        // A module that the check itself wrote is run as it was written.
        assert!(log().trim_end().ends_with("77"), "{}", log());
        assert_eq!(kept(&project), compiled);
    }
    // A module that changed is compiled again, and one that is gone loses its compiled file.
    project.save("pkg/m.py", "X = 22\ndef f(): pass\n");
    project.save("pkg/plain.py", "def broken(:\n");
    project.proctor(["run"]).status(1);
    assert!(kept(&project).iter().all(|path| !path.contains("plain")), "{:?}", kept(&project));
    fs::remove_dir_all(project.path().join("pkg")).expect("ours");
    project.save("pkg", "a file in the place of the package\n");
    project.proctor(["run"]).status(1);
    assert_eq!(kept(&project), Vec::<String>::new());
    assert!(!project.path().join("pkg/__pycache__").exists());
}

/// Writes a compiled module with other contents for each module, with the stamp or the hash of the real source.
const PLANT: &str = "import importlib.util as u, marshal, os, struct, sys\n\
     os.makedirs('__pycache__', exist_ok=True)\n\
     for name in ('m', 'test_m'):\n\
     \x20   source = open(name + '.py', 'rb').read()\n\
     \x20   stamp = os.stat(name + '.py')\n\
     \x20   code = marshal.dumps(compile('X = \"planted\"\\ndef test_m(): pass\\n', name + '.py', 'exec'))\n\
     \x20   by_time = struct.pack('<III', 0, int(stamp.st_mtime), len(source))\n\
     \x20   by_hash = struct.pack('<I', 3) + u.source_hash(source)\n\
     \x20   unchecked = struct.pack('<I', 1) + u.source_hash(source)\n\
     \x20   head = {'time': by_time, 'hash': by_hash, 'unchecked': unchecked}[HOW]\n\
     \x20   tag = '.' + sys.implementation.cache_tag\n\
     \x20   for path in (u.cache_from_source(name + '.py'), name + '.pyc', f'__pycache__/{name}{tag}-pytest-9.2.0.pyc'):\n\
     \x20       open(path, 'wb').write(u.MAGIC_NUMBER + head + code)\n";

#[test]
#[ignore = "long tier"]
fn a_compiled_module_that_a_check_plants_is_never_run_by_a_later_run() {
    let pytest = python_plain().with_file_name("pytest");
    for how in ["time", "hash", "unchecked"] {
        let plant = PLANT.replace("HOW", &format!("'{how}'"));
        // Even the run that plants the false compiled module imports the real module first, so that proctor compiles it
        // after the run.
        let program = format!(
            "import m\nassert m.X == 'real', m.X\nimport os\n\
             if os.path.exists('plant.txt'):\n{}",
            plant.lines().map(|line| format!("    {line}\n")).collect::<String>()
        );
        let project = python(&[&program]).file("m.py", "X = 'real'\n").file("plant.txt", "");
        let project =
            project.file("test_m.py", "import m\n\ndef test_m():\n    assert m.X == 'real'\n    assert m.X == 'false'\n");
        for _ in 0..2 {
            project.proctor(["run"]).success();
        }
        fs::remove_file(project.path().join("plant.txt")).expect("ours");
        let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("ours");
        project.save("proctor.toml", &format!("{toml}[[check]]\nname = \"tests\"\ncommand = [\"{}\"]\n", pytest.display()));
        for _ in 0..2 {
            let report = project.proctor(["run"]).status(1).report();
            assert_eq!(result(&report, "STEP.1")["status"], "SUCCESS", "{how}: {report:#}");
            let tests = &result(&report, "STEP.2")["result"];
            assert_eq!(tests["testResults"]["failed"], 1, "{how}: the planted tests were run: {report:#}");
        }
        assert!(kept(&project).iter().any(|path| path.starts_with("__pycache__/m.")), "{how}");
    }
}

/// A project whose header in pytest's output says which tests lay there compiled before, and the check that runs them.
fn tested_by_pytest(settings: &str) -> Project {
    let pytest = python_plain().with_file_name("pytest");
    let toml = format!("[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"pytest\"\ncommand = [\"{}\"]\n", pytest.display());
    Project::new()
        .toml(&toml)
        .file(
            "conftest.py",
            "import os\nSEEN = sorted(os.listdir('__pycache__')) if os.path.isdir('__pycache__') else []\n\n\n\
                              def pytest_report_header():\n    return f'before {len([n for n in SEEN if \"test_shop\" in n])}'\n",
        )
        .file("shop.py", "def total():\n    return 3\n")
        .file("test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total() == 3\n")
        .file("pyproject.toml", settings)
}

#[test]
#[ignore = "long tier"]
fn tests_that_pytest_rewrites_are_rewritten_once_and_still_say_what_differs() {
    let project = tested_by_pytest("[tool.pytest.ini_options]\npythonpath = [\".\"]\n");
    let log = || project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    let rewritten = || kept(&project).into_iter().filter(|path| path.contains("-pytest-")).collect::<Vec<_>>();
    project.proctor(["run"]).success();
    assert!(log().contains("before 0"), "{}", log());
    // A run compiles for a short time only, in which pytest may not even have started on a busy machine.
    let run_until_kept = || {
        poll(LATE, "both tests to be kept", || {
            project.proctor(["run"]).success();
            if rewritten().len() == 2 { Ok(()) } else { Err(format!("{:?}", kept(&project))) }
        });
    };
    run_until_kept();
    // The test itself did not change, so its kept module is used.
    project.save("shop.py", "def total():\n    return 4\n");
    project.proctor(["run"]).status(1);
    assert!(log().contains("before 1") && log().contains("where 4 = ") && log().contains("test_shop.py:5"), "{}", log());
    // A test that changed in the same second, with the same size, is rewritten again.
    save_unnoticed(&project, "test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total() == 4\n");
    project.proctor(["run"]).success();
    assert!(log().contains("before 0"), "{}", log());
    run_until_kept();
    save_unnoticed(&project, "test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total() == 5\n");
    project.proctor(["run"]).status(1);
    // Other settings of pytest do not get the tests that were rewritten for these.
    project.save("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = [\".\", \"src\"]\n");
    project.proctor(["run"]).status(1);
    assert!(log().contains("before 0"), "{}", log());
}

#[test]
fn tests_are_not_rewritten_in_advance_where_a_setting_has_pytest_rewrite_them_otherwise() {
    let project = tested_by_pytest("[tool.pytest.ini_options]\npythonpath = [\".\"]\nenable_assertion_pass_hook = true\n");
    for _ in 0..2 {
        project.proctor(["run"]).success();
        let compiled = kept(&project);
        assert!(compiled.iter().all(|path| !path.contains("-pytest-")), "{compiled:?}");
    }
}

/// Saves a package and its tests again and again, with equal sizes and equal times, and runs both by pytest and by a script.
/// Returns the project. `snapshot` is the setting of this name.
fn saves_within_one_second(rounds: usize, snapshot: &str) -> Project {
    let pytest = python_plain().with_file_name("pytest");
    let project = Project::new().toml(&format!(
        "[sandbox]\nsnapshot = \"{snapshot}\"\n\
         [[check]]\nname = \"pytest\"\ncommand = [\"{}\", \"-q\"]\n\
         [[check]]\nname = \"script\"\ncommand = [\"python3\", \"script.py\"]\n",
        pytest.display()
    ));
    let project = project
        .file("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = [\".\"]\n")
        .file("shop/__init__.py", "")
        .file("tests/__init__.py", "")
        .file("script.py", "from tests import test_cart\n\ntest_cart.test_total()\n");
    let (mut total, mut expected) = (0, 0);
    for round in 0..rounds {
        // The package and its tests change in turn, so that every second run fails.
        *(if round % 4 < 2 { &mut total } else { &mut expected }) ^= 1;
        save_unnoticed(&project, "shop/cart.py", &format!("def total():\n    return {total}\n"));
        let test = format!("from shop.cart import total\n\ndef test_total():\n    assert total() == {expected}\n");
        save_unnoticed(&project, "tests/test_cart.py", &test);
        let output = project.proctor(["run"]).any_status();
        let right = if total == expected { ("SUCCESS", "SUCCESS") } else { ("FAILED", "FAILED") };
        let report = output.report();
        let of = |check: &str| match result(&report, check)["status"].as_str() {
            Some("SUCCESS") => "SUCCESS",
            _ => "FAILED",
        };
        assert_eq!((of("STEP.1"), of("STEP.2")), right, "round {round}: {total} and {expected}\n{}", output.snapshot());
    }
    assert_eq!(project.path().join("shop/__pycache__").exists(), snapshot == "off");
    project
}

#[test]
#[ignore = "long tier"]
fn two_saves_in_one_second_are_judged_by_their_content() {
    let project = saves_within_one_second(Extent::OneIn(40).of(0..200).len(), "require");
    assert!(kept(&project).iter().any(|path| path.starts_with("shop/__pycache__/cart.")), "{:?}", kept(&project));
}

#[test]
#[ignore = "long tier"]
fn two_saves_in_one_second_are_judged_by_their_content_in_the_project_itself_too() {
    let _project = saves_within_one_second(5, "off");
}

#[test]
fn a_place_for_bytecode_that_the_project_sets_is_kept_and_named() {
    let project = Project::new()
        .toml(
            "[sandbox]\nsnapshot = \"off\"\n[[check]]\nname = \"script\"\ncommand = [\"python3\", \"script.py\"]\n\
             environment = { PYTHONPYCACHEPREFIX = \"/tmp/mine\" }\n",
        )
        .file("script.py", "import sys\nassert sys.pycache_prefix == '/tmp/mine', sys.pycache_prefix\n");
    let output = project.proctor(["run"]).success();
    assert!(output.report().to_string().contains("`PYTHONPYCACHEPREFIX` is set"), "{}", output.snapshot());
}

#[test]
#[ignore = "wide tier"]
fn two_hundred_saves_with_one_stamp_are_judged_by_their_content() {
    let _project = saves_within_one_second(Extent::All.of(0..200).len(), "require");
}

#[test]
#[ignore = "long tier"]
fn a_watch_compiles_when_it_is_idle_and_a_save_does_not_wait_for_it() {
    let modules = 400;
    let project = python(&["import pkg.all"]).file("pkg/__init__.py", "");
    let mut all = String::new();
    for number in 0..modules {
        let body: String = (0..40).map(|one| format!("def f{one}(a):\n    return [x + {one} for x in a if x]\n")).collect();
        project.save(&format!("pkg/m{number}.py"), &body);
        all += &format!("import pkg.m{number}\n");
    }
    project.save("pkg/all.py", &all);
    let mut watch = project.proctor(["watch"]).watch();
    watch.wait_for_line("the first verdict", LATE, |line| line.starts_with("PASSED"));
    poll(LATE, "the first compiled module", || if kept(&project).is_empty() { Err("none") } else { Ok(()) });
    project.save("pkg/m0.py", "x = 1\n");
    watch.wait_for_line("the next run", LATE, |line| line.starts_with("proctor "));
    let compiled = kept(&project).len();
    assert!(compiled < modules, "the run waited until {compiled} modules were compiled");
    watch.wait_for_line("the next verdict", LATE, |line| line.starts_with("PASSED"));
    poll(LATE, "all compiled modules", || {
        let count = kept(&project).len();
        if count == modules + 2 { Ok(()) } else { Err(format!("{count} are there")) }
    });
    watch.interrupt();
}
