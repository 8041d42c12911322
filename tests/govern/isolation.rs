//! A model cannot reach the tracker, its tokens, the control socket, or files that another model has written.

use std::fs;

use crate::common::Project;
use crate::govern::scene::{APPROVE, BOUND, SEND, Scene, ended, executable, say};

/// A script of the models that tries everything they must not be able to do. It records what succeeded.
const CURIOUS: &str = r#"
{
  gh auth status > /dev/null 2>&1 && echo 'used the tracker'
  [ -z "$GH_TOKEN$GITHUB_TOKEN" ] || echo 'has a token'
  cat "$HOME/.config/gh/hosts.yml" 2>/dev/null
  cat "ROOT/docs/audit/active/notes/001-brief.md" 2>/dev/null
  ls "ROOT/../runtime" 2>/dev/null
  cat "ROOT/../state/proctor/checkpoints.db" "ROOT/../state/proctor/ledger/"* 2>/dev/null
  for place in "ROOT" "ROOT/.git" "ROOT/docs/audit/active/notes" "$HOME" "$HOME/.cache"; do
    (echo x > "$place/written") 2>/dev/null && OUTSIDE "$place"
  done
  [ ! -f left-by-a-model ] || echo 'found what a model left'
  echo x > left-by-a-model || echo 'cannot write its own copy'
} > "$here/found"
"#;

#[test]
fn a_model_reaches_neither_the_tracker_nor_its_tokens_nor_anything_outside_of_its_copy() {
    // If the project is in a directory for temporary files, the model sees a private directory there instead: writing to it succeeds, but
    // leaves nothing. Then the script must not report it.
    let (project, wrote) = match Project::outside_of_temporary_directories() {
        Some(project) => (project, "echo wrote"),
        None => (Project::new(), ":"),
    };
    let scene = Scene::of(project);
    let root = scene.project.path().to_string_lossy().into_owned();
    fs::create_dir_all(scene.project.root().join("config/gh")).expect("made");
    fs::create_dir_all(scene.project.root().join("home/.config/gh")).expect("made");
    fs::create_dir_all(scene.project.root().join("home/.cache")).expect("made");
    fs::write(scene.project.root().join("home/.config/gh/hosts.yml"), "oauth_token: secret\n").expect("made");
    fs::write(scene.project.root().join("runtime/control"), "").expect("made");
    for model in ["drafter", "reviewer"] {
        scene.put(&format!("models/{model}/hook"), &CURIOUS.replace("ROOT", &root).replace("OUTSIDE", wrote));
    }
    let mut terminal = scene.project.govern(["--brief", "ideas/notes.md"]).env("GH_TOKEN", "secret").at_terminal();
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
    for model in ["drafter", "reviewer"] {
        assert_eq!(scene.got(&format!("models/{model}/found")), "", "{model}");
    }
    let written = ["project/written", "project/.git/written", "home/written", "home/.cache/written", "project/left-by-a-model"];
    for path in written {
        assert!(!scene.project.root().join(path).exists(), "{path}");
    }
    let consulted = scene.json("done/62-notes/002-consultation.json");
    assert_eq!((&consulted["isolation"], &consulted["exitCode"]), (&"namespace".into(), &0.into()), "{consulted:#}");
    assert_eq!(consulted["role"], "drafter");
}

#[test]
fn where_namespaces_cannot_be_had_the_trail_says_so_and_landlock_keeps_tokens_and_files() {
    let Some(project) = Project::outside_of_temporary_directories() else { return };
    let scene = Scene::of(project);
    let root = scene.project.path().to_string_lossy().into_owned();
    fs::create_dir_all(scene.project.root().join("home/.config/gh")).expect("made");
    fs::write(scene.project.root().join("home/.config/gh/hosts.yml"), "oauth_token: secret\n").expect("made");
    scene.put("models/drafter/hook", &CURIOUS.replace("ROOT", &root).replace("OUTSIDE", "echo wrote"));
    let invocation = scene.project.govern(["--brief", "ideas/notes.md"]).env("PROCTOR_TEST_ISOLATION", "landlock");
    let mut terminal = invocation.at_terminal();
    terminal.wait_for(SEND, BOUND);
    assert_eq!(scene.got("models/drafter/found"), "");
    assert_eq!(scene.json("active/notes/002-consultation.json")["isolation"], "landlock");
}

#[test]
fn a_model_that_fails_leaves_the_workflow_where_it_is_with_how_it_ended() {
    let scene = Scene::new();
    scene.put("models/reviewer/hook", "echo 'quota exhausted' >&2; exit 7\n");
    let mut terminal = scene.begin();
    say(&mut terminal, SEND, "S");
    let output = ended(terminal, 3);
    assert!(output.stdout.contains("exit code 7") && output.stdout.contains("quota exhausted"), "{}", output.stdout);
    assert_eq!(scene.json("active/notes/004-consultation.json")["exitCode"], 7);
    fs::remove_file(scene.project.shared("models/reviewer/hook")).expect("it is there");
    let mut terminal = scene.resume();
    terminal.wait_for(APPROVE, BOUND);
    assert!(scene.trail("active/notes/005-verdict.md").exists());
}

#[test]
fn a_model_that_hangs_is_stopped_at_its_limit() {
    let scene = Scene::new();
    let toml = fs::read_to_string(scene.project.path().join("proctor.toml")).expect("read");
    scene.project.save("proctor.toml", &toml.replace("[govern.reviewer]\n", "timeout = \"500ms\"\n[govern.reviewer]\n"));
    scene.put("models/drafter/hook", "sleep 600\n");
    let output = ended(scene.begin(), 3);
    assert!(output.stdout.contains("it took longer than its `timeout`"), "{}", output.stdout);
    executable(&scene.project.shared("bin/gh"), "#!/bin/sh\nexit 1\n");
    let output = ended(scene.resume(), 1);
    assert!(output.stdout.contains("gh auth login"), "the tracker is looked for again: {}", output.stdout);
}
