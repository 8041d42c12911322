//! A project with a brief, and scripts that play two models, an editor and a tracker.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, Terminal, WRITES_TO_SHARED};

pub(super) const BOUND: Duration = Duration::from_secs(60);
pub(super) const DRAFT: &str = "# Saved searches\n\n**Labels:** enhancement, search\n\n## Objective\n\nKeep a search.\n";
pub(super) const APPROVAL: &str = "## Verdict\n\nAPPROVE\n";
pub(super) const BLOCK: &str = "The acceptance criteria are missing.\n\nBLOCK\n";
pub(super) const COLLISION: &str = "[R]esume existing / [N]ew name / [A]bort? ";
pub(super) const SEND: &str = "[S]end to Gemini / [R]evise / [M]anual? ";
pub(super) const APPROVE: &str = "[A]pprove / [R]evise / [M]anual? ";
pub(super) const RECOVER: &str = "[R]etry / [E]dit draft / [A]bort? ";

/// A model. It keeps its prompt and prints the file `answer-N` for its N-th call, or else the file `answer`.
const MODEL: &str = r#"#!/bin/sh
here=MODELS/$1
mkdir -p "$here"
n=$(($(cat "$here/asked" 2>/dev/null || echo 0) + 1))
echo "$n" > "$here/asked"
cat > "$here/prompt-$n"
[ ! -f "$here/hook" ] || . "$here/hook"
if [ -f "$here/answer-$n" ]; then cat "$here/answer-$n"; else cat "$here/answer"; fi
"#;

/// An editor. It records the files that it is given, and changes them by the script `edit` if there is one.
const EDITOR: &str = r#"#!/bin/sh
echo "$@" >> SHARED/edited
[ ! -f SHARED/edit ] || . SHARED/edit
"#;

/// A tracker's command line. It keeps labels and issues in files and records every call. The file `fail` makes the next `issue create` fail;
/// with the file `lose` it creates the issue, but fails all the same.
const TRACKER: &str = r#"#!/bin/sh
tracker=SHARED/tracker
mkdir -p "$tracker/issues"
echo "$*" >> "$tracker/calls"
case "$1 $2" in
'auth status')
  [ ! -f "$tracker/logged-out" ] || { echo 'You are not logged into any hosts.' >&2; exit 1; } ;;
'label list')
  printf '['; first=1
  while read -r name; do [ $first = 1 ] || printf ','; first=0; printf '{"name":"%s"}' "$name"; done < "$tracker/labels"
  printf ']\n' ;;
'label create')
  for last; do :; done
  echo "$last" >> "$tracker/labels" ;;
'issue list')
  printf '['; first=1
  for issue in "$tracker"/issues/*; do
    [ -f "$issue" ] || continue
    [ $first = 1 ] || printf ','; first=0
    number=${issue##*/}
    marker=$(grep -o 'proctor-workflow: [0-9a-f]*' "$issue")
    printf '{"number":%s,"url":"https://tracker.example/o/r/issues/%s","body":"<!-- %s -->"}' "$number" "$number" "$marker"
  done
  printf ']\n' ;;
'issue create')
  [ ! -f "$tracker/fail" ] || { rm "$tracker/fail"; echo 'HTTP 502: Bad Gateway' >&2; exit 1; }
  shift 2
  while [ $# -gt 0 ]; do
    case "$1" in --body-file) body=$2; shift ;; --title) title=$2; shift ;; esac
    shift
  done
  number=$((61 + $(ls "$tracker/issues" | wc -l) + 1))
  cp "$body" "$tracker/issues/$number"
  echo "$title" > "$tracker/title-$number"
  [ ! -f "$tracker/lose" ] || { rm "$tracker/lose"; echo 'connection reset' >&2; exit 1; }
  echo "https://tracker.example/o/r/issues/$number" ;;
esac
"#;

/// A project in which workflows run.
pub(super) struct Scene {
    pub(super) project: Project,
}

impl Scene {
    /// Returns a project with a brief, a drafter that writes a valid draft and a reviewer that approves it.
    pub(super) fn new() -> Self {
        Self::of(Project::new())
    }

    pub(super) fn of(project: Project) -> Self {
        let shared = project.shared("");
        let shared = shared.to_string_lossy().trim_end_matches('/').to_owned();
        let models = format!("{shared}/models");
        let bin = project.shared("bin");
        fs::create_dir_all(&bin).expect("it is ours");
        fs::create_dir_all(&models).expect("it is ours");
        for (name, text) in [("test-editor", EDITOR), ("gh", TRACKER)] {
            executable(&bin.join(name), &text.replace("SHARED", &shared));
        }
        let toml = format!(
            "{WRITES_TO_SHARED}[govern]\neditor = [\"test-editor\"]\n\
             [govern.drafter]\ncommand = [\"tools/model\", \"drafter\"]\nwritable = [\"{models}\"]\n\
             [govern.reviewer]\ncommand = [\"tools/model\", \"reviewer\"]\nwritable = [\"{models}\"]\n\
             [[check]]\nname = \"unit\"\ncommand = [\"true\"]\n"
        );
        let project = project
            .with_program(&bin.join("gh"))
            .toml(&toml)
            .executable("tools/model", &MODEL.replace("MODELS", &models))
            .file("ideas/notes.md", "We want saved searches.\n");
        let scene = Self { project };
        scene.git(&["init", "--quiet", "--initial-branch", "main"]);
        scene.git(&["config", "user.name", "A Person"]);
        scene.git(&["config", "user.email", "person@example.org"]);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", "first"]);
        scene.answer("drafter", DRAFT);
        scene.answer("reviewer", APPROVAL);
        scene.put("tracker/labels", "enhancement\n");
        scene
    }

    #[track_caller]
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.project.command(Path::new("git"), arguments).success().stdout
    }

    /// Sets the answer of a model for every call that has no answer file of its own (`answer-N`).
    pub(super) fn answer(&self, model: &str, text: &str) {
        self.put(&format!("models/{model}/answer"), text);
    }

    /// Writes a file for the scripts.
    pub(super) fn put(&self, name: &str, text: &str) {
        let path = self.project.shared(name);
        fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("it is ours");
        fs::write(path, text).expect("it is ours");
    }

    /// Returns a file that the scripts have written; empty if there is none.
    pub(super) fn got(&self, name: &str) -> String {
        fs::read_to_string(self.project.shared(name)).unwrap_or_default()
    }

    /// Returns how often a model was asked.
    pub(super) fn asked(&self, model: &str) -> u32 {
        self.got(&format!("models/{model}/asked")).trim().parse().unwrap_or(0)
    }

    /// Returns how often the tracker's program was called with arguments that begin with these words.
    pub(super) fn calls(&self, words: &str) -> usize {
        self.got("tracker/calls").lines().filter(|line| line.starts_with(words)).count()
    }

    pub(super) fn begin(&self) -> Terminal<'_> {
        self.govern(&["--brief", "ideas/notes.md"])
    }

    pub(super) fn resume(&self) -> Terminal<'_> {
        self.govern(&["--resume", "notes"])
    }

    pub(super) fn govern(&self, arguments: &[&str]) -> Terminal<'_> {
        self.project.govern(arguments).at_terminal()
    }

    /// Runs a new workflow up to the second gate.
    pub(super) fn at_verdict(&self) -> Terminal<'_> {
        let mut terminal = self.begin();
        say(&mut terminal, SEND, "S");
        terminal
    }

    /// Runs a new workflow to its end; the person approves everything.
    #[track_caller]
    pub(super) fn filed(&self) -> Output {
        let mut terminal = self.at_verdict();
        say(&mut terminal, APPROVE, "A");
        ended(terminal, 0)
    }

    pub(super) fn trail(&self, below: &str) -> PathBuf {
        self.project.path().join("docs/audit").join(below)
    }

    /// Returns the names in a directory of trails, sorted; empty if there is no such directory.
    pub(super) fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.trail(below)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[track_caller]
    pub(super) fn read(&self, below: &str) -> String {
        let path = self.trail(below);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
    }

    #[track_caller]
    pub(super) fn json(&self, below: &str) -> Value {
        serde_json::from_str(&self.read(below)).expect("JSON")
    }
}

/// Waits for a question and answers it. Returns what was shown before.
#[track_caller]
pub(super) fn say(terminal: &mut Terminal<'_>, question: &str, answer: &str) -> String {
    let shown = terminal.wait_for(question, BOUND);
    terminal.press(&format!("{answer}\n"));
    shown
}

#[track_caller]
pub(super) fn ended(terminal: Terminal<'_>, status: i32) -> Output {
    let output = terminal.ended();
    assert_eq!(output.status, status, "{}", output.stdout);
    output
}

pub(super) fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it was just written");
}
