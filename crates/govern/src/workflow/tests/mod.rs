//! Tests the workflow's runner with a fake host whose calls can fail. Whichever call fails, the resumed workflow has
//! the same ending and files one issue.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use crate::governance::{Slug, WorkflowEnding, WorkflowLimits};
use crate::workflow::{
    Consultation, EditorFailure, ModelCommand, ModelRole, Person, ToolEnd, ToolRequest, WorkflowBeginning, WorkflowError,
    WorkflowHost, WorkflowModels, WorkflowProject, WorkflowRunner, WorkflowSettings,
};
use proctor_evidence::testing::new_store;
use proctor_git::GitLocation;
use proctor_model::{
    ActionEnd, CapturedOutput, Digest, DurationMs, EndedAction, GovernanceRecord, ProjectId, StreamExcerpt, Timestamp,
};

const DRAFT: &str = "# Saved searches\n\n**Labels:** search\n";

/// What the fake host remembers: its calls, the filed issues and the ledger's records.
#[derive(Debug, Default)]
struct World {
    calls: u32,
    /// The number of the call that fails; `None` if no call fails.
    fails_at: Option<u32>,
    asked: BTreeMap<&'static str, u32>,
    issues: Vec<String>,
    recorded: Vec<GovernanceRecord>,
}

struct FakeHost(Rc<RefCell<World>>);

struct FakePerson {
    shown: Vec<String>,
}

impl FakeHost {
    fn count(&self, what: &'static str) -> Result<(), WorkflowError> {
        let mut world = self.0.borrow_mut();
        world.calls += 1;
        *world.asked.entry(what).or_default() += 1;
        if world.fails_at == Some(world.calls) {
            return Err(WorkflowError::Host { what, source: "no more descriptors".into() });
        }
        Ok(())
    }
}

fn printed(text: &str) -> ToolEnd {
    ToolEnd::Exited { code: 0, output: text.to_owned(), complaint: String::new() }
}

impl WorkflowHost for FakeHost {
    fn consult(&mut self, consultation: &Consultation<'_>) -> Result<EndedAction, WorkflowError> {
        let (what, text) = match consultation.role {
            ModelRole::Drafter => ("drafter", DRAFT),
            ModelRole::Reviewer => ("reviewer", "APPROVE\n"),
        };
        self.count(what)?;
        let stdout = StreamExcerpt { total: text.len() as u64, head: text.as_bytes().to_vec(), tail: Vec::new() };
        let captured = CapturedOutput { stdout, ..CapturedOutput::nothing() };
        let now = Timestamp::from_millis(0);
        let end = ActionEnd::Exited { code: 0 };
        Ok(EndedAction {
            end,
            started: now,
            ended: now,
            duration: DurationMs(1),
            captured,
            survivors: Vec::new(),
            usage: None,
            kept: None,
            used_git: false,
        })
    }

    fn run_tool(&mut self, request: &ToolRequest) -> Result<ToolEnd, WorkflowError> {
        let words: Vec<&str> = request.argv.iter().map(String::as_str).collect();
        match words[..] {
            ["tracker", "issue", "create", .., "--body-file", body, "--label", _] => {
                // Even if this call is the one that fails, the issue is filed: only the tracker's answer is lost.
                let text = std::fs::read_to_string(body).expect("the text of the issue is there");
                self.0.borrow_mut().issues.push(text);
                self.count("create")?;
                Ok(printed("https://tracker.example/issues/7\n"))
            }
            ["tracker", "issue", "list", ..] => {
                self.count("list")?;
                let issue =
                    |body: &String| serde_json::json!({ "number": 7, "url": "https://tracker.example/issues/7", "body": body });
                let issues: Vec<_> = self.0.borrow().issues.iter().map(issue).collect();
                Ok(printed(&serde_json::Value::from(issues).to_string()))
            }
            ["tracker", "label", "list", ..] => self.count("labels").map(|()| printed("[]")),
            // Exit code 1 of `git diff` says that the trail differs from the last commit.
            _ if words.contains(&"diff") => {
                self.count("git")?;
                Ok(ToolEnd::Exited { code: 1, output: String::new(), complaint: String::new() })
            }
            _ => self.count("git").map(|()| printed("")),
        }
    }

    fn record(&mut self, record: GovernanceRecord) -> Result<(), WorkflowError> {
        self.count("record")?;
        self.0.borrow_mut().recorded.push(record);
        Ok(())
    }
}

impl Person for FakePerson {
    fn show(&mut self, line: &str) {
        self.shown.push(line.to_owned());
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        let answers = [("[S]end", "S"), ("[A]pprove", "A"), ("[R]esume", "R")];
        answers.iter().find(|(question, _)| prompt.starts_with(question)).map(|(_, answer)| format!("{answer}\n"))
    }

    fn find_editor(&mut self) -> Result<(), EditorFailure> {
        Ok(())
    }

    fn edit(&mut self, _slug: &Slug, files: &[PathBuf]) -> Result<(), EditorFailure> {
        assert!(files.iter().all(|file| file.exists()), "{files:?}");
        Ok(())
    }
}

/// A project with a brief, a fake host and a fake person.
struct Scene {
    directory: tempfile::TempDir,
    project: WorkflowProject,
    settings: WorkflowSettings,
    world: Rc<RefCell<World>>,
}

impl Scene {
    fn new() -> Self {
        let (store, directory) = new_store();
        let root = directory.path().join("project");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let git = GitLocation { work_tree: root.clone(), common_directory: root.join(".git") };
        let model = |name: &str| ModelCommand { name: name.to_owned(), command: vec![name.to_owned()] };
        let settings = WorkflowSettings {
            editor: vec!["editor".to_owned()],
            tracker: vec!["tracker".to_owned()],
            repo: None,
            repo_override: None,
            trail: "docs/audit".to_owned(),
            limits: WorkflowLimits { iterations: 20, attempts: 3 },
            models: WorkflowModels { drafter: model("Claude"), reviewer: model("Gemini") },
        };
        let project = WorkflowProject { store, id: ProjectId::mint("shop", 1), root, git };
        let world = Rc::new(RefCell::new(World::default()));
        Self { directory, project, settings, world }
    }

    fn run(&self, beginning: WorkflowBeginning) -> Result<WorkflowEnding, WorkflowError> {
        let (mut host, mut person) = (FakeHost(Rc::clone(&self.world)), FakePerson { shown: Vec::new() });
        let mut workflow = WorkflowRunner::open(&self.settings, &self.project, (&mut host, &mut person), 1000)?;
        workflow.run(beginning).map(|(ending, _)| ending)
    }

    fn brief(&self) -> WorkflowBeginning {
        let path = self.directory.path().join("notes.md");
        if !path.exists() {
            std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), b"We want saved searches.\n").unwrap();
        }
        WorkflowBeginning::Brief(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.project.root.join("docs/audit/done/7-notes")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn whichever_call_fails_the_workflow_goes_on_to_the_same_end_and_files_once() {
    let undisturbed = Scene::new();
    assert!(matches!(undisturbed.run(undisturbed.brief()), Ok(WorkflowEnding::Filed(issue)) if issue.number == 7));
    let (calls, names) = (undisturbed.world.borrow().calls, undisturbed.names());
    assert_eq!(names.last().map(String::as_str), Some("007-filed.json"));
    for fails_at in 1..=calls {
        let scene = Scene::new();
        scene.world.borrow_mut().fails_at = Some(fails_at);
        let failed = scene.run(scene.brief());
        assert!(matches!(failed, Err(WorkflowError::Host { .. })), "call {fails_at}: {failed:?}");
        // If the failed call came before the first checkpoint, the workflow begins again. Otherwise the slug is taken,
        // and the fake person answers that question with `R`, to resume.
        let ending = scene.run(scene.brief());
        assert!(matches!(ending, Ok(WorkflowEnding::Filed(_))), "call {fails_at}: {ending:?}");
        assert_eq!((scene.names(), scene.world.borrow().issues.len()), (names.clone(), 1), "call {fails_at}");
        let world = scene.world.borrow();
        let recorded: BTreeSet<&String> = world.recorded.iter().flat_map(|record| record.files.keys()).collect();
        let kept = names.iter().filter(|name| !name.ends_with("-human.md"));
        assert_eq!(recorded, kept.collect(), "call {fails_at}: every file is in the ledger");
    }
}

#[test]
fn one_drafter_and_one_reviewer_are_asked_and_every_file_is_recorded_with_its_digest() {
    let scene = Scene::new();
    scene.run(scene.brief()).unwrap();
    let world = scene.world.borrow();
    assert_eq!((world.asked["drafter"], world.asked["reviewer"], world.asked["create"]), (1, 1, 1));
    let recorded: BTreeMap<String, Digest> = world.recorded.iter().flat_map(|record| record.files.clone()).collect();
    let by_people = |name: &&String| name.ends_with("-human.md");
    assert_eq!(recorded.len(), scene.names().iter().filter(|name| !by_people(name)).count());
    for (name, digest) in &recorded {
        let bytes = std::fs::read(scene.project.root.join("docs/audit/done/7-notes").join(name)).unwrap();
        assert_eq!(Digest::of(&bytes), *digest, "{name}");
    }
    assert_eq!(world.recorded.last().and_then(|record| record.issue), Some(7));
}

#[test]
fn a_workflow_that_is_not_there_cannot_be_resumed_and_says_which_are() {
    let scene = Scene::new();
    scene.world.borrow_mut().fails_at = Some(8);
    assert!(scene.run(scene.brief()).is_err());
    let resumed = scene.run(WorkflowBeginning::Resume(Slug::try_from("other".to_owned()).unwrap()));
    match resumed {
        Err(WorkflowError::NoCheckpoint { slug, known, done: None }) => {
            assert_eq!((slug.as_str(), known), ("other", vec!["notes".to_owned()]))
        }
        other => panic!("{other:?}"),
    }
}
