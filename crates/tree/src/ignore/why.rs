//! Explains why a path belongs to the tree or not, in words for people and as data for programs. Pure functions: the
//! caller has read the rules files.

use crate::ignore::always::is_never_shown;
use crate::ignore::caches::is_never_kept;
use crate::ignore::class::{IgnoredClass, class_of};
use crate::ignore::decision::{IgnoreDecision, IgnoreRule, IgnoreVerdict, RuleSource};
use crate::ignore::matcher::Matcher;
use proctor_model::TreePath;

/// Why a path belongs to the tree or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub path: TreePath,
    pub verdict: IgnoreVerdict,
    /// The path to which the decision applies: `path` itself, or, if directories above `path` do not belong to the
    /// tree, the topmost of these directories.
    pub decided_at: TreePath,
    /// The rule that decided; `None` if no rule matches the path.
    pub rule: Option<IgnoreRule>,
    /// How a check on a snapshot sees the path; `None` if it belongs to the tree, or is git's or proctor's own.
    pub class: Option<IgnoredClass>,
}

impl Matcher {
    /// Explains whether a path belongs to the tree, and which rule decides that.
    pub fn explain(&self, path: &TreePath, is_directory: bool) -> Explanation {
        let decision = self.decide(path, is_directory);
        let decided_at = if decision.verdict == IgnoreVerdict::Out { self.topmost_out(path) } else { path.clone() };
        let is_out = decision.verdict == IgnoreVerdict::Out;
        let class = is_out.then(|| class_below(&decided_at, path, is_directory)).flatten();
        let is_own = decision.rule.as_ref().is_some_and(|rule| is_own(&rule.source));
        Explanation {
            path: path.clone(),
            verdict: decision.verdict,
            decided_at,
            rule: decision.rule,
            class: class.filter(|_| !is_own),
        }
    }

    /// Returns the explanation for proctor's own link to the evidence, which is at this path.
    pub fn explain_own_link(&self, path: &TreePath) -> Explanation {
        let IgnoreDecision { verdict, rule } = self.decide_own_link(path);
        Explanation { path: path.clone(), verdict, decided_at: path.clone(), rule, class: None }
    }

    fn topmost_out(&self, path: &TreePath) -> TreePath {
        let ancestors = std::iter::successors(path.parent(), TreePath::parent);
        let out = ancestors.filter(|above| self.decide(above, true).verdict == IgnoreVerdict::Out);
        out.last().unwrap_or_else(|| path.clone())
    }
}

impl Explanation {
    /// Returns the explanation for a path that is an ignored virtual environment, or lies in one. Its name alone does not tell.
    pub fn in_environment(self) -> Self {
        let class = self.class.map(|_| IgnoredClass::Environment);
        Self { class, ..self }
    }

    /// Returns lines for people: whether the path belongs to the tree, which rule decided, and how an excluded path can
    /// be put back.
    pub fn lines(&self) -> Vec<String> {
        let path = &self.path;
        let reason = self.rule.as_ref().map(|rule| self.reason(rule));
        match (self.verdict, reason) {
            (IgnoreVerdict::In, reason) => {
                let first = match (self.rule.as_ref().map(|rule| &rule.source), reason) {
                    (Some(RuleSource::Tracked(_)), Some(reason)) => format!("`{path}` {reason}"),
                    (_, Some(reason)) => format!("`{path}` belongs to the tree: {reason}"),
                    (_, None) => format!("`{path}` belongs to the tree: no rule excludes it"),
                };
                vec![first, "every verdict is for its content too; a save of it starts each check that has no `paths`, or whose `paths` match it".to_owned()]
            }
            (IgnoreVerdict::Out, reason) => {
                let reason = reason.unwrap_or_else(|| "only what `watch.include` names below it does".to_owned());
                let covered = match self.class {
                    Some(IgnoredClass::Environment | IgnoredClass::Input) => "no save of it starts a run",
                    Some(IgnoredClass::Cache | IgnoredClass::Output) | None => {
                        "no save of it starts a run, and no verdict says anything about its content"
                    }
                };
                let mut lines = vec![format!("`{path}` does not belong to the tree: {reason}"), covered.to_owned()];
                lines.extend(self.class.map(|class| format!("on a snapshot it is {class}")));
                if !self.is_out_for_ever() {
                    lines.push(format!("to put it back, add to `[watch]` in proctor.toml: include = [\"/{path}\"]"));
                }
                lines
            }
        }
    }

    /// Returns where the rule is written, in words for people.
    pub fn source(rule: &IgnoreRule) -> String {
        let line = rule.line.unwrap_or_default();
        match &rule.source {
            RuleSource::AlwaysOut(_) => "the names that are never part of a tree".to_owned(),
            RuleSource::EvidenceLink => "a link that proctor made: its target is the evidence of a project".to_owned(),
            RuleSource::TaskList => "`tasks.file` of the settings".to_owned(),
            RuleSource::Store => "the directory in which proctor keeps its evidence (XDG_STATE_HOME)".to_owned(),
            RuleSource::Tracked(_) => "git's index".to_owned(),
            RuleSource::Ignore => format!("`watch.ignore` in proctor.toml, pattern {line}"),
            RuleSource::Include => format!("`watch.include` in proctor.toml, pattern {line}"),
            RuleSource::File { directory, file } => format!("{}:{line}", directory.join(file.name().as_bytes())),
        }
    }

    fn reason(&self, rule: &IgnoreRule) -> String {
        let (pattern, at) = (&rule.pattern, &self.decided_at);
        let written = Self::source(rule);
        match (&rule.source, self.verdict) {
            (RuleSource::AlwaysOut(reason), _) => {
                let which = if *at == self.path { pattern.clone() } else { at.to_string() };
                format!("`{which}` is never part of a tree ({reason})")
            }
            (RuleSource::EvidenceLink, _) => format!("`{pattern}` is proctor's own link to the evidence"),
            (RuleSource::TaskList, _) => format!("`{pattern}` is the task list that proctor writes into"),
            (RuleSource::Store, _) => format!("`{pattern}` is {written}"),
            (RuleSource::Tracked(although), _) => {
                let IgnoreRule { pattern, .. } = &**although;
                let written = Self::source(although);
                format!("is tracked by git, so it belongs to the tree although `{pattern}` ({written}) ignores it")
            }
            (RuleSource::Ignore | RuleSource::File { .. }, IgnoreVerdict::Out) => {
                format!("`{pattern}` ({written}) excludes `{at}`")
            }
            (RuleSource::Include | RuleSource::Ignore | RuleSource::File { .. }, _) => {
                format!("`{pattern}` ({written}) keeps it")
            }
        }
    }

    fn is_out_for_ever(&self) -> bool {
        match self.rule.as_ref().map(|rule| &rule.source) {
            Some(RuleSource::AlwaysOut(_) | RuleSource::EvidenceLink | RuleSource::TaskList | RuleSource::Store) => true,
            Some(RuleSource::Ignore | RuleSource::Include | RuleSource::Tracked(_) | RuleSource::File { .. }) | None => false,
        }
    }
}

/// Returns whether a rule is about something that proctor itself makes.
fn is_own(source: &RuleSource) -> bool {
    match source {
        RuleSource::EvidenceLink | RuleSource::TaskList | RuleSource::Store => true,
        RuleSource::AlwaysOut(_)
        | RuleSource::Tracked(_)
        | RuleSource::Ignore
        | RuleSource::Include
        | RuleSource::File { .. } => false,
    }
}

/// Returns how a check on a snapshot sees an ignored path. The name of the topmost ignored directory decides, and below a directory
/// that is an input everything is one but bytecode and data of version control. `None` for git's own data in the root, which checks
/// see as it is and cannot change.
fn class_below(decided_at: &TreePath, path: &TreePath, is_directory: bool) -> Option<IgnoredClass> {
    if decided_at.as_bytes() == b".git" {
        return None;
    }
    let is_never_shown = |path: &TreePath| path.as_bytes().split(|byte| *byte == b'/').any(is_never_shown);
    let is_remembered = std::iter::successors(Some(path.clone()), TreePath::parent).any(|path| is_never_kept(path.as_bytes()));
    Some(match class_of(decided_at.name()) {
        // A link or a single file with the name of an environment is copied.
        IgnoredClass::Environment if decided_at == path && !is_directory => IgnoredClass::Input,
        IgnoredClass::Input if is_never_shown(path) => IgnoredClass::Output,
        IgnoredClass::Input if is_remembered => IgnoredClass::Cache,
        class @ (IgnoredClass::Environment | IgnoredClass::Cache | IgnoredClass::Output | IgnoredClass::Input) => class,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ignore::{MatcherSettings, OwnLink, RulesFile, Selects, ShownOutputs};

    fn explanation(path: &str) -> Explanation {
        let settings = MatcherSettings {
            ignore: vec!["*.snap".to_owned()],
            include: vec!["/build/kept.json".to_owned()],
            own_link: Some(OwnLink { leads_into: "/store/evidence".into() }),
            store: Some(TreePath::try_from("state/proctor").expect("a clean path")),
            task_list: None,
            selects: Selects::Tree,
            outputs: ShownOutputs::default(),
            inputs: Vec::new(),
        };
        let mut matcher = Matcher::new(&settings).expect("good patterns");
        let root = TreePath::root();
        assert!(matcher.add_rules(&root, RulesFile::GitIgnore, b"# built\nbuild/\n*.log\n!kept.log\n/data/\n").is_empty());
        let path = TreePath::try_from(path).expect("a clean path");
        if path.name() == b"evidence"
            && !path.as_bytes().starts_with(b"state/")
            && matcher.is_own_link(b"/store/evidence/shop-00000001")
        {
            matcher.explain_own_link(&path)
        } else {
            matcher.explain(&path, false)
        }
    }

    fn lines(path: &str) -> Vec<String> {
        explanation(path).lines()
    }

    #[test]
    fn each_source_of_a_rule_is_named_with_its_place_and_what_it_decides() {
        for (path, first) in [
            ("a.py", "`a.py` belongs to the tree: no rule excludes it"),
            ("x/a.log", "`x/a.log` does not belong to the tree: `*.log` (.gitignore:3) excludes `x/a.log`"),
            ("kept.log", "`kept.log` belongs to the tree: `!kept.log` (.gitignore:4) keeps it"),
            ("build/a/b", "`build/a/b` does not belong to the tree: `build/` (.gitignore:2) excludes `build`"),
            (
                "build/kept.json",
                "`build/kept.json` belongs to the tree: `/build/kept.json` (`watch.include` in proctor.toml, pattern 1) keeps it",
            ),
            (
                "a.snap",
                "`a.snap` does not belong to the tree: `*.snap` (`watch.ignore` in proctor.toml, pattern 1) excludes `a.snap`",
            ),
            (
                "x/__pycache__/a",
                "`x/__pycache__/a` does not belong to the tree: `x/__pycache__` is never part of a tree \
                 (Python's compiled modules)",
            ),
            ("evidence", "`evidence` does not belong to the tree: `evidence` is proctor's own link to the evidence"),
            ("web/evidence", "`web/evidence` does not belong to the tree: `web/evidence` is proctor's own link to the evidence"),
        ] {
            assert_eq!(lines(path)[0], first);
        }
    }

    #[test]
    fn only_what_can_be_put_back_has_a_line_that_says_how() {
        assert_eq!(lines("x/a.log").len(), 4);
        assert_eq!(lines("x/a.log")[3], "to put it back, add to `[watch]` in proctor.toml: include = [\"/x/a.log\"]");
        assert_eq!((lines("a.pyc").len(), lines("evidence").len(), lines("a.py").len()), (3, 2, 2));
    }

    #[test]
    fn an_ignored_path_has_the_class_by_which_a_snapshot_shows_it() {
        use IgnoredClass::{Cache, Environment, Input, Output};
        for (path, class) in [
            ("a.py", None),
            ("evidence", None),
            (".git/config", None),
            ("state/proctor/evidence", None),
            ("x/a.log", Some(Output)),
            ("build/a/.env", Some(Output)),
            (".venv/bin/python", Some(Environment)),
            (".mypy_cache/a", Some(Cache)),
            ("a.snap", Some(Input)),
            ("data/dist/a.js", Some(Input)),
            ("data/__pycache__/a", Some(Output)),
        ] {
            assert_eq!(explanation(path).class, class, "{path}");
        }
        assert!(lines("a.snap").contains(&"no save of it starts a run".to_owned()));
        assert_eq!(lines(".venv/a")[2], format!("on a snapshot it is {Environment}"));
        assert_eq!(explanation("a.snap").in_environment().class, Some(Environment));
        assert_eq!(explanation("a.py").in_environment().class, None);
        assert!(lines("state/proctor/evidence")[0].contains("keeps its evidence"), "{:?}", lines("state/proctor/evidence"));
    }
}
