//! The way of one answer: compare, find the touched tests, run them on both contents, judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_app::gate::open_repository;
use proctor_app::project::opening::matcher_of;
use proctor_app::project::setup::LoadedProject;
use proctor_app::project::{RunResources, opening, specification_files};
use proctor_app::{CommandError, Environment, RunControl};
use proctor_model::{CommandExit, TriggerKind};
use proctor_plan::spec::plan_digest;
use proctor_project::{ProjectRepository, RunRequest};
use proctor_run::write_layer;
use proctor_sandbox::process::LauncherHandle;
use proctor_tree::ignore::MatcherSettings;

use crate::answer::{ChangeProof, ProvedFile, ProvedTest};
use crate::beside::OtherTests;
use crate::change::{Change, ContentLayer};
use crate::commands::language_of;
use crate::contents::{Compared, CopiedTree, Files, compared, files_of_commit};
use crate::failure::names_one_of;
use crate::known::{KnownAfter, collected_files, failed_tests, known_after};
use crate::roles::FileRole;
use crate::runs::TriedContent;
use crate::rust::MergedText;
use crate::stubs::{RAISES, RETURNS_NOTHING};
use crate::touched::{TestLanguage, TouchedTest, touched_tests};
use crate::trial::Trials;
use crate::words::{ChangeState, JudgedTest, ProofWord, SeenRun, judge_test};

/// How often more the tests that are about to prove the change are run on each side.
const MORE_RUNS: usize = 2;

/// Says whether the tests of a change fail without its source. `range` is `BASE..REV`, or `BASE` for the working tree. With `hunks`, the parts of
/// the source are tried alone too, for so long.
///
/// # Errors
/// When the project is in no git repository, its plan waits for an approval, or nothing can be run on other contents than its own.
pub fn prove(
    environment: &Environment,
    launcher: LauncherHandle,
    root: &Path,
    range: Option<&str>,
    hunks: Option<Duration>,
) -> Result<ChangeProof, CommandError> {
    // While the project is locked, a run seems to be under way.
    let known = known_after(environment, root);
    with_prover(environment, launcher, root, range, |prover| Prover { known, ..prover }.prove(hunks))
}

/// Compares the contents, and hands what is known of them to `answer`.
pub(crate) fn with_prover<T>(
    environment: &Environment,
    launcher: LauncherHandle,
    root: &Path,
    range: Option<&str>,
    answer: impl FnOnce(Prover<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let repository = open_repository(root)?;
    let compared = compared(&repository, range)?;
    let loaded = specification_files::load(environment, root, None)?;
    if loaded.plan.prerequisites.iter().any(|action| action.service.is_some()) {
        let message = "the checks need services, which `proctor prove` does not start";
        return Err(CommandError::new(CommandExit::NoFreshVerdict, message).hint("run the tests yourself without the change"));
    }
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let RunResources { mut workspace, scope, settings } = opening::open(environment, launcher, &loaded, None)?;
    workspace.expect_one_run();
    let request = RunRequest::new(&loaded.plan, &settings, &scope, TriggerKind::Request, control);
    let trials = Trials::begin(environment, &mut workspace, &request)?;
    answer(Prover::new(environment, trials, (&repository, &compared), &loaded)?)
}

/// What one answer is made from.
pub(crate) struct Prover<'a> {
    pub(crate) trials: Trials<'a>,
    pub(crate) compared: &'a Compared,
    pub(crate) loaded: &'a LoadedProject,
    pub(crate) change: Change<'a>,
    pub(crate) introduced: BTreeSet<String>,
    /// The files of Rust with the code before the change and the tests of after it.
    pub(crate) merged: BTreeMap<String, MergedText>,
    /// The check that has each test.
    pub(crate) chosen: BTreeMap<usize, usize>,
    /// The name that its tool gives to each test of JavaScript: each tool has a form of its own.
    pub(crate) known_as: BTreeMap<usize, String>,
    /// How the checks are known to end with the change; used while the tests run with it for the first time.
    pub(crate) known: Option<KnownAfter>,
    /// The run from which that was taken, in words; `None` if it was not.
    pub(crate) known_from: Option<String>,
    /// The tests that failed in the last red run of this store, which nobody may have touched.
    failed: Vec<TouchedTest>,
    pub(crate) others: OtherTests,
}

impl<'a> Prover<'a> {
    fn new(
        environment: &Environment,
        trials: Trials<'a>,
        (repository, compared): (&'a ProjectRepository, &'a Compared),
        loaded: &'a LoadedProject,
    ) -> Result<Self, CommandError> {
        let storage = &repository.storage;
        let (index, copy) = trials.tree();
        let work_tree = CopiedTree::of(index, copy, storage)?;
        let of_commit = |commit| -> Result<Files, CommandError> {
            let tree = repository.project_tree_of(commit);
            let files = tree.and_then(|tree| files_of_commit(storage, tree)).map_err(|error| {
                CommandError::of(CommandExit::Usage, &error).hint("`git fsck` says what is wrong with the repository")
            });
            // What is committed and ignored all the same is seen as it is on both sides.
            let is_ignored =
                |path: &str| !work_tree.files.contains_key(path) && loaded.root.join(path).symlink_metadata().is_ok();
            files.map(|files| files.into_iter().filter(|(path, _)| !is_ignored(path)).collect())
        };
        let before = of_commit(compared.base)?;
        let after = compared.after.map_or_else(|| Ok(work_tree.files.clone()), of_commit)?;
        let settings = MatcherSettings { ignore: loaded.configuration.prove_tests.clone(), ..MatcherSettings::default() };
        let (named, collected) = (matcher_of(&settings)?, collected_files(environment, loaded));
        let change = Change::between((before, after), (&named, &collected), work_tree)?;
        let (introduced, merged) = (change.introduced(), change.merged());
        Ok(Self {
            trials,
            compared,
            loaded,
            change,
            introduced,
            merged,
            chosen: BTreeMap::new(),
            known_as: BTreeMap::new(),
            known: None,
            known_from: None,
            failed: failed_tests(environment, loaded),
            others: OtherTests::default(),
        })
    }

    fn prove(mut self, hunks: Option<Duration>) -> Result<ChangeProof, CommandError> {
        let mut all = self.with_doubts(touched_tests(&self.change.texts_with_tests()))?;
        let touched = all.len();
        let mut notes = self.notes();
        if !self.change.has_source() && touched > 0 {
            notes.push(format!("touched tests that were not run: {touched}"));
        }
        let ids: BTreeSet<String> = all.iter().map(TouchedTest::id).collect();
        let failed = std::mem::take(&mut self.failed).into_iter();
        // A tool refuses to run what is not there.
        all.extend(failed.filter(|test| self.change.after.contains_key(&test.file) && !ids.contains(&test.id())));
        let judged = if self.change.has_source() { self.judge(&all)? } else { Vec::new() };
        let known_as = &mut self.known_as;
        let tests = all.iter().zip(judged).enumerate().map(|(at, (test, JudgedTest { word, seen }))| ProvedTest {
            id: known_as.remove(&at).unwrap_or_else(|| test.id()),
            counts: test.is_sure || word != ProofWord::NotFound,
            file: test.file.clone(),
            name: test.name.clone(),
            is_touched: at < touched,
            is_added: test.is_added,
            word,
            seen: test.doubt.map_or(seen, str::to_owned),
        });
        let tests = tests.filter(|test| test.is_touched || matches!(test.word, ProofWord::Proves | ProofWord::NewlyFails));
        let (others, weak) = self.others.in_answer(1 + MORE_RUNS);
        notes.extend((weak > 0).then(|| format!("tests that nobody touched and that need the change too: {weak}")));
        notes.extend(self.known_from.take().map(|run| format!("the outcomes with the change are {run}")));
        let proof = ChangeProof {
            schema: "proctor-change-proof-v1",
            // The tests decide these three: see `judged`.
            state: ChangeState::NotProved,
            exit_code: 0,
            summary: String::new(),
            project: self.loaded.plan.project_name.clone(),
            base: self.compared.base_name.clone(),
            base_commit: self.compared.base.hex(),
            after_commit: self.compared.after.map(|commit| commit.hex()),
            commits: self.compared.commits,
            files: self.change.files(),
            tests: tests.chain(others).collect(),
            parts: None,
            notes,
        };
        let mut proof = self.stored(proof.judged())?;
        // Without source, no test was judged.
        let touched = proof.tests.iter().filter(|test| test.is_touched).count();
        proof.parts = hunks.map(|budget| self.try_parts((&all[..touched], &proof.tests[..touched]), budget)).transpose()?;
        Ok(proof)
    }

    /// Stores an answer about the content of the working tree, which is a tree that checks can test. Another answer says that it is not
    /// stored.
    fn stored(&mut self, mut proof: ChangeProof) -> Result<ChangeProof, CommandError> {
        if !self.change.after_layer()?.differences.is_empty() {
            proof.notes.push("not stored as evidence: the working tree has other files than the change".to_owned());
            return Ok(proof);
        }
        let before = self.change.before_layer(None)?.expect("only stubs may be missing");
        let tree = self.trials.tree().0.digest();
        let record = proof.record((tree, before.digest_beside(tree)), plan_digest(&self.loaded.plan));
        self.trials.record(record)?;
        Ok(proof)
    }

    fn notes(&self) -> Vec<String> {
        let (mut notes, files) = (Vec::new(), self.change.files());
        let mut name = |what: &str, is_named: &dyn Fn(&ProvedFile) -> bool| {
            let named: Vec<&str> = files.iter().filter(|file| is_named(file)).map(|file| file.path.as_str()).collect();
            notes.extend((!named.is_empty()).then(|| format!("{what}: {}", named.join(", "))));
        };
        name("as with the change on both sides, like installed packages", &|file| file.role == FileRole::Settings);
        name("may be source or part of the tests, `--json` says what it was taken for", &|file| file.is_doubtful);
        let known: Vec<TestLanguage> = self.loaded.plan.steps.iter().filter_map(language_of).collect();
        let unknown = |file: &&ProvedFile| TestLanguage::of(&file.path).is_some_and(|own| !known.contains(&own));
        if let Some(file) = files.iter().find(unknown) {
            notes.push(format!("no check runs tests in the language of `{}` by a tool whose errors are told apart", file.path));
        }
        if !self.loaded.plan.prerequisites.is_empty() {
            notes.push("prerequisites were not run: what they made in the project is used on both sides".to_owned());
        }
        notes
    }

    /// Runs the tests on both contents, and judges them.
    fn judge(&mut self, tests: &[TouchedTest]) -> Result<Vec<JudgedTest>, CommandError> {
        if tests.is_empty() {
            return Ok(Vec::new());
        }
        let after = self.change.after_layer()?;
        let before = self.change.before_layer(None)?;
        let (is_work_tree, after) = (after.differences.is_empty(), self.write(&after)?);
        let before = self.write(&before.expect("only stubs may be missing"))?;
        let mut seen: Vec<[Vec<SeenRun>; 2]> = tests.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        let contents =
            [(0, &before), (1, &after)].map(|(side, layer)| TriedContent { layer, is_before: side == 0, side: Some(side) });
        self.known = self.known.take().filter(|known| is_work_tree && known.tree == self.trials.tree().0.digest());
        for side in [1, 0] {
            self.run_tests(contents[side], tests, &Vec::from_iter(0..tests.len()), &mut |test, run| seen[test][side].push(run))?;
        }
        self.known = None;
        let words = |seen: &[[Vec<SeenRun>; 2]]| -> Vec<JudgedTest> {
            seen.iter().map(|[before, after]| judge_test(before, after)).collect()
        };
        let with_word = |judged: &[JudgedTest], word: ProofWord| -> Vec<usize> {
            judged.iter().enumerate().filter(|(_, judged)| judged.word == word).map(|(at, _)| at).collect()
        };
        // The runs of some tests tell of others too, which are about to prove the change.
        let mut proving = self.others.beside_proving();
        proving.extend(with_word(&words(&seen), ProofWord::Proves));
        let proving: Vec<usize> = proving.into_iter().collect();
        for side in [1, 0].into_iter().cycle().take(2 * MORE_RUNS).filter(|_| !proving.is_empty()) {
            self.run_tests(contents[side], tests, &proving, &mut |test, run| seen[test][side].push(run))?;
        }
        let mut judged = words(&seen);
        let mut hidden = with_word(&judged, ProofWord::CannotRunBefore);
        // A name that a module of JavaScript lacks is a value there, and an expectation can be about it alone.
        let is_script = |test: &TouchedTest| TestLanguage::of(&test.file) == Some(TestLanguage::Script);
        let text = |at: usize| self.change.text_of_test(&tests[at].file).filter(|_| is_script(&tests[at]));
        let names_new = |at: &usize| text(*at).is_some_and(|text| names_one_of(text, &self.introduced));
        hidden.extend(with_word(&judged, ProofWord::Proves).into_iter().filter(names_new));
        let known = judged.clone();
        for body in [RAISES, RETURNS_NOTHING] {
            // A test that passes beside a stub that raises may expect an error: it tests nothing only if it passes beside any stub.
            let passes = |judged: &JudgedTest| body == RAISES || judged.word == ProofWord::PassesEitherWay;
            let tried: Vec<usize> = hidden.iter().copied().filter(|at| passes(&judged[*at])).collect();
            let stubs = self.change.before_layer(Some(body))?;
            let Some(stubs) = stubs.filter(|_| !tried.is_empty()) else { break };
            let content = TriedContent { layer: &self.write(&stubs)?, is_before: true, side: None };
            self.run_tests(content, tests, &tried, &mut |test, run| {
                let answer = judge_with_stubs(&run, &seen[test][1], known[test].clone());
                judged[test] = if passes(&answer) { answer } else { known[test].clone() };
            })?;
        }
        Ok(judged)
    }

    /// Writes a layer with what a content has otherwise than the working tree.
    pub(crate) fn write(&mut self, content: &ContentLayer) -> Result<PathBuf, CommandError> {
        let layer = self.trials.new_layer()?;
        write_layer(&layer, &content.differences, &|directory| content.directories.contains(directory)).map_err(|error| {
            CommandError::caused(CommandExit::OwnFault, "what differs from the project's files cannot be written", &error)
                .hint("make room on the disk")
        })?;
        Ok(layer)
    }
}

/// Judges a test that cannot run before by a run with the new names kept, and one that perhaps only asks for them. The answer is weak at best.
fn judge_with_stubs(before: &SeenRun, after: &[SeenRun], known: JudgedTest) -> JudgedTest {
    let judged = judge_test(std::slice::from_ref(before), &after[..1.min(after.len())]);
    let fails = matches!(judged.word, ProofWord::Proves | ProofWord::BySnapshot | ProofWord::Notices);
    if fails && known.word == ProofWord::CannotRunBefore {
        let seen = format!("fails before with new names kept ({})", known.seen);
        JudgedTest { word: ProofWord::Notices, seen }
    } else if judged.word == ProofWord::PassesEitherWay {
        JudgedTest { seen: "passes before with new names kept".to_owned(), ..judged }
    } else {
        known
    }
}
