//! Runs touched tests on one content, and tells how each ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use proctor_app::CommandError;
use proctor_model::Action;
use proctor_tools::RaisedAt;

use crate::base::run_check;
use crate::beside::OtherEnd;
use crate::commands::{checks_of_test, narrowed, runs_by_node_id, together};
use crate::prove::Prover;
use crate::rust;
use crate::sides::{KnownOfChange, other_ends, seen_of};
use crate::touched::{TestLanguage, TouchedTest};
use crate::trial::EndOnContent;
use crate::words::{NEW_SOURCE, SeenRun};

/// A content on which tests run.
#[derive(Clone, Copy)]
pub(crate) struct TriedContent<'a> {
    pub(crate) layer: &'a Path,
    /// Whether the source of the change is taken back in it.
    pub(crate) is_before: bool,
    /// 0 for the content without the source of the change and 1 for the one with it; `None` for any other one.
    pub(crate) side: Option<usize>,
}

impl Prover<'_> {
    /// Runs some of the tests on a content, and tells how each ended.
    pub(crate) fn run_tests(
        &mut self,
        content: TriedContent<'_>,
        tests: &[TouchedTest],
        wanted: &[usize],
        tell: &mut dyn FnMut(usize, SeenRun),
    ) -> Result<(), CommandError> {
        let steps = &self.loaded.plan.steps;
        let mut of_checks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in wanted {
            let checks = checks_of_test(steps, &tests[*at]);
            // The check that had the test with the change has it on each content.
            let chosen = |check: &usize| self.chosen.get(at).is_none_or(|chosen| chosen == check);
            checks.into_iter().filter(chosen).for_each(|check| of_checks.entry(check).or_default().push(*at));
        }
        let mut seen: BTreeMap<usize, Vec<(usize, SeenRun)>> = BTreeMap::new();
        for (check, own) in of_checks {
            for group in together(&steps[check], &own, tests) {
                for (at, run) in group.iter().zip(self.run_group(content, check, tests, &group)?) {
                    seen.entry(*at).or_default().push((check, run));
                }
            }
        }
        for at in wanted {
            let told = seen.remove(at).unwrap_or_default();
            if let Some((check, _)) = told.iter().find(|(_, run)| run.has_cases()) {
                self.chosen.entry(*at).or_insert(*check);
            }
            let named = told.iter().find_map(|(_, run)| only_name(&tests[*at], run));
            if let Some(name) = named {
                self.known_as.entry(*at).or_insert(name);
            }
            let is_new = content.is_before && self.change.is_new_source(&tests[*at].file);
            let counts = || one_of(&tests[*at], told.into_iter().map(|(_, run)| run).collect());
            let new_source = || SeenRun::CannotBegin { names_change: true, message: NEW_SOURCE.to_owned() };
            tell(*at, if is_new { new_source() } else { counts() });
        }
        Ok(())
    }

    /// Runs a check for some of its tests, and returns how each ended.
    fn run_group(
        &mut self,
        content: TriedContent<'_>,
        check: usize,
        tests: &[TouchedTest],
        group: &[usize],
    ) -> Result<Vec<SeenRun>, CommandError> {
        let (at, check) = (check, &self.loaded.plan.steps[check]);
        let own: Vec<&TouchedTest> = group.iter().map(|at| &tests[*at]).collect();
        let narrow = narrowed(check, &own);
        let action = narrow.as_ref().unwrap_or(check);
        // pytest names files itself; a whole check has tests of other files too.
        let is_narrow = narrow.is_some() && !runs_by_node_id(check);
        let known = self.known.as_mut().filter(|_| content.side == Some(1)).and_then(|known| known.ends.remove(&check.name));
        if let Some(known) = known {
            let (seen, others) = self.read_end(&known, (check, false), (tests, &own));
            if seen.iter().all(SeenRun::has_cases) {
                self.others.add((at, group), 1, others);
                self.known_from = self.known.as_ref().map(|known| known.source.clone());
                return Ok(seen);
            }
        }
        let run = run_check(self, content.layer, action)?;
        let (seen, others) = self.read_end(&run, (action, is_narrow), (tests, &own));
        content.side.into_iter().for_each(|side| self.others.add((at, group), side, others.clone()));
        Ok(seen)
    }

    /// Returns how the tests `own` ended in a run of a check, and how tests did that nobody touched.
    fn read_end(
        &self,
        run: &EndOnContent,
        (action, is_narrow): (&Action, bool),
        (tests, own): (&[TouchedTest], &[&TouchedTest]),
    ) -> (Vec<SeenRun>, Vec<OtherEnd>) {
        let paths = |place: &RaisedAt| paths_of(&place.path, &self.loaded.root, &action.directory);
        let is_source = |place: &RaisedAt| {
            paths(place).iter().any(|path| match self.merged.get(path) {
                Some(merged) => place.line <= merged.code_lines,
                None => self.change.source.contains(path),
            })
        };
        let code_at = |place: &RaisedAt| {
            paths(place).iter().find_map(|path| {
                let text = self.merged.get(path).map(|merged| merged.text.as_str()).or_else(|| self.change.text_of_test(path));
                let line = text?.lines().nth(place.line.checked_sub(1)?)?;
                Some(line.chars().skip(place.column.checked_sub(1)?).collect())
            })
        };
        let known = KnownOfChange {
            tool: action.tool,
            is_source: &is_source,
            code_at: &code_at,
            writes_recorded: self.change.writes_recorded(),
            introduced: &self.introduced,
            is_narrow,
        };
        (own.iter().map(|test| seen_of(test, run, &known)).collect(), other_ends(tests, run, &known))
    }

    /// Returns the tests, those of Rust with a doubt whose name another file of the project may have too: Rust's harness names no file.
    pub(crate) fn with_doubts(&self, mut tests: Vec<TouchedTest>) -> Result<Vec<TouchedTest>, CommandError> {
        let is_of_rust =
            |test: &&mut TouchedTest| TestLanguage::of(&test.file) == Some(TestLanguage::Rust) && test.doubt.is_none();
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for test in tests.iter_mut().filter(is_of_rust) {
            for (path, file) in self.change.files_like(&test.file) {
                if !names.contains_key(path) {
                    let text = String::from_utf8(self.change.work_tree.read(path, file)?).unwrap_or_default();
                    let found = rust::tests_of(&text).unwrap_or_default().into_iter().map(|test| test.name).collect();
                    names.insert(path.to_owned(), found);
                }
                if names.get(path).is_some_and(|names| names.contains(&test.name)) {
                    test.doubt = Some("another file has a test that its tool names alike");
                }
            }
        }
        Ok(tests)
    }
}

/// Returns the name that a tool of JavaScript gives to a test that is one case.
fn only_name(test: &TouchedTest, run: &SeenRun) -> Option<String> {
    let cases = run.cases()?;
    let is_one = cases.len() == 1 && TestLanguage::of(&test.file) == Some(TestLanguage::Script);
    cases.keys().next().filter(|_| is_one).cloned()
}

/// Returns what counts of the runs of the checks that can have a test: the one that has it.
fn one_of(test: &TouchedTest, mut runs: Vec<SeenRun>) -> SeenRun {
    let not_run = |why: &str| SeenRun::NotRun(why.to_owned());
    if let Some(doubt) = test.doubt {
        return not_run(doubt);
    }
    let is_nothing = |run: &SeenRun| run.cases().is_some_and(BTreeMap::is_empty);
    match runs.iter().position(SeenRun::has_cases) {
        Some(at) => runs.swap_remove(at),
        None if runs.len() == 1 => runs.swap_remove(0),
        None if runs.is_empty() => not_run("no check runs it with a tool whose errors are told apart"),
        None if runs.iter().all(is_nothing) => SeenRun::Cases(BTreeMap::new()),
        None => not_run("several checks may run it, and none did"),
    }
}

/// Returns the paths from the project's root that a tool, which ran in a directory of it, can mean by a path.
fn paths_of(path: &str, root: &Path, directory: &Path) -> [String; 2] {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut below = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir => drop(below.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => below.push(part),
        }
    }
    [text(Path::new(path).strip_prefix(root).unwrap_or(Path::new(path))), text(&below)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_tool_is_taken_from_the_root_and_from_the_directory_of_its_check() {
        for (path, expected) in [
            ("/p/back/vat.py", "back/vat.py"),
            ("back/vat.py", "back/vat.py"),
            ("vat.py", "back/vat.py"),
            ("../lib/vat.py", "lib/vat.py"),
        ] {
            let paths = paths_of(path, Path::new("/p"), Path::new("back"));
            assert!(paths.iter().any(|path| path == expected), "{paths:?}");
        }
    }

    #[test]
    fn a_test_of_javascript_has_the_name_of_its_tool() {
        let test =
            |file: &str| TouchedTest { file: file.to_owned(), name: "a".to_owned(), is_added: true, is_sure: true, doubt: None };
        let ran = |names: &[&str]| {
            SeenRun::Cases(names.iter().map(|name| ((*name).to_owned(), crate::words::CaseEnd::Passed)).collect())
        };
        let name = "a.test.js › quotes › a";
        assert_eq!(only_name(&test("a.test.js"), &ran(&[name])), Some(name.to_owned()));
        assert_eq!(only_name(&test("a.test.js"), &ran(&[name, "a.test.js › a 2"])), None);
        assert_eq!(only_name(&test("test_a.py"), &ran(&["test_a.py::a"])), None);
    }

    /// A check of another runner in the same directory cannot load the file, which is no failure of the test.
    #[test]
    fn of_several_checks_the_one_that_has_the_test_counts() {
        let test = TouchedTest { file: "a.test.js".to_owned(), name: "a".to_owned(), is_added: true, is_sure: true, doubt: None };
        let cannot = || SeenRun::CannotBegin { names_change: true, message: String::new() };
        let passed = || SeenRun::Cases(BTreeMap::from([("a".to_owned(), crate::words::CaseEnd::Passed)]));
        assert_eq!(one_of(&test, vec![cannot(), passed()]), passed());
        assert_eq!(one_of(&test, vec![cannot()]), cannot());
        assert!(matches!(one_of(&test, vec![cannot(), cannot()]), SeenRun::NotRun(_)));
        assert!(matches!(one_of(&TouchedTest { doubt: Some("twice"), ..test }, vec![passed()]), SeenRun::NotRun(_)));
    }
}
