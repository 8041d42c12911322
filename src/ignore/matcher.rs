//! The matcher: which rule decides whether a path belongs to the tree.

use std::collections::HashMap;
use std::sync::Arc;

use ::ignore::gitignore::Glob;

use crate::ignore::always::{AlwaysOut, find_always_out};
use crate::ignore::decision::{Decision, Rule, RuleSource, Verdict};
use crate::ignore::include::{IncludeList, compile_setting};
use crate::ignore::pattern::{Hit, PatternList, PatternProblem, PatternSource};
use crate::ignore::rules::{DirectoryRules, RulesFile, RulesText};
use crate::ignore::scope::{Ground, Scope, Standing};
use crate::model::{Digest, TreePath};

/// The settings a matcher is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatcherSettings {
    /// `watch.ignore`: patterns relative to the project's root.
    pub ignore: Vec<String>,
    /// `watch.include`: patterns relative to the project's root.
    pub include: Vec<String>,
    /// The name of the evidence link at the root, if there is one (S1).
    pub evidence_link: Option<String>,
    /// The task list that proctor writes into, if there is one: its path, relative to the root.
    pub task_list: Option<String>,
}

impl MatcherSettings {
    /// Returns the settings of whoever watches the tree: he hears of the task list too, which is no part of it, so that a change of
    /// it by hand is found at once. The look that follows finds the tree as it was, and runs nothing.
    pub fn for_watching(&self) -> Self {
        Self { task_list: None, ..self.clone() }
    }
}

/// The matcher. It is cheap to clone and holds no path of this machine.
#[derive(Debug, Clone)]
pub struct Matcher {
    ignore: PatternList,
    include: IncludeList,
    evidence_link: Option<String>,
    task_list: Option<String>,
    rules: HashMap<Vec<u8>, Arc<DirectoryRules>>,
}

/// A rule that decided, before anybody wants to read it.
enum Reason<'rules> {
    AlwaysOut(&'static AlwaysOut),
    EvidenceLink(&'rules str),
    TaskList(&'rules str),
    Ignore(&'rules Glob),
    Include,
    File(&'rules DirectoryRules, RulesFile, &'rules Glob),
}

/// The way down to a path.
struct Descent {
    /// What holds where it was decided.
    scope: Scope,
    /// Where the path stands.
    standing: Standing,
    /// How many bytes of the path name the entry that was decided about: an ancestor that is out, or the path itself.
    decided: usize,
    /// The ancestor that is excluded and looked into, and the scope it was found in.
    excluded: Option<(Scope, usize)>,
}

impl Matcher {
    /// Makes a matcher without rules files, or names every pattern that cannot be used.
    pub fn new(settings: &MatcherSettings) -> Result<Self, Vec<PatternProblem>> {
        let (ignore, mut problems) = compile_setting(&PatternSource::Ignore, &settings.ignore);
        let (include, more) = IncludeList::compile(&settings.include);
        problems.extend(more);
        if !problems.is_empty() {
            return Err(problems);
        }
        let evidence_link = settings.evidence_link.clone().filter(|name| !name.is_empty());
        let task_list = settings.task_list.clone();
        Ok(Self { ignore, include, evidence_link, task_list, rules: HashMap::new() })
    }

    /// Takes over the text of a rules file; the same text again costs nothing. Returns the lines that cannot be used.
    pub fn add_rules(&mut self, directory: &TreePath, file: RulesFile, text: &[u8]) -> Vec<PatternProblem> {
        let digest = Digest::of(text);
        if self.rules_digest(directory, file) == Some(digest) {
            return Vec::new();
        }
        let origin = PatternSource::File(directory.join(file.name().as_bytes()).to_string());
        let (patterns, problems) = PatternList::parse(&origin, text);
        self.set_rules(directory, file, Some(RulesText { digest, patterns }));
        problems
    }

    /// Forgets one rules file.
    pub fn remove_rules(&mut self, directory: &TreePath, file: RulesFile) {
        if self.rules_digest(directory, file).is_some() {
            self.set_rules(directory, file, None);
        }
    }

    /// Forgets the rules files of a directory and of everything below it.
    pub fn forget_rules(&mut self, directory: &TreePath) {
        self.rules.retain(|known, _| !is_at_or_below(known, directory.as_bytes()));
    }

    /// Returns the SHA-256 of the text that was taken over, if one was.
    pub fn rules_digest(&self, directory: &TreePath, file: RulesFile) -> Option<Digest> {
        self.rules.get(directory.as_bytes()).and_then(|rules| rules.text(file)).map(|text| text.digest)
    }

    /// Decides about a path, from the top down: the same answer as a walk that prunes.
    pub fn decide(&self, path: &TreePath, is_directory: bool) -> Decision {
        if path.is_root() {
            return Decision { verdict: Verdict::In, rule: None };
        }
        let descent = self.descend(path.as_bytes(), is_directory);
        let verdict = if descent.standing.belongs() { Verdict::In } else { Verdict::Out };
        let rule = self.rule_at(&descent.scope, descent.decided, path.as_bytes(), is_directory);
        let excluded = descent.excluded.as_ref().filter(|_| verdict == Verdict::Out);
        let rule = rule.or_else(|| excluded.and_then(|(scope, cut)| self.rule_at(scope, *cut, path.as_bytes(), true)));
        Decision { verdict, rule }
    }

    /// Returns what holds in a directory, or none when a walk does not come there.
    pub fn scope(&self, directory: &TreePath) -> Option<Scope> {
        if directory.is_root() {
            return Some(self.root_scope());
        }
        let Descent { mut scope, standing, .. } = self.descend(directory.as_bytes(), true);
        self.enter(&mut scope, directory, standing);
        standing.is_walked().then_some(scope)
    }

    /// Returns what holds at the root.
    pub fn root_scope(&self) -> Scope {
        Scope { ground: Ground::Inside, rules: self.rules.get(&b""[..]).cloned().into_iter().collect() }
    }

    /// Narrows the scope of a directory to that of a directory in it, whose rules files must have been taken over before.
    pub fn enter(&self, scope: &mut Scope, directory: &TreePath, standing: Standing) {
        self.enter_bytes(scope, directory.as_bytes(), standing);
    }

    /// Returns where an entry of the scope's directory stands.
    pub fn standing(&self, scope: &Scope, path: &TreePath, is_directory: bool) -> Standing {
        self.judge(scope, path.as_bytes(), is_directory).0
    }

    /// Returns what holds at the root of a tree whose walk carries the rules files it finds itself, whatever was taken over here.
    pub fn bare_scope(&self) -> Scope {
        Scope { ground: Ground::Inside, rules: Vec::new() }
    }

    /// Returns what holds in a directory of the scope's directory that stands so and in which a walk found these rules files.
    pub fn narrow(&self, scope: &Scope, standing: Standing, rules: Option<&Arc<DirectoryRules>>) -> Scope {
        let mut scope = scope.clone();
        narrow(&mut scope, standing, rules);
        scope
    }

    /// Returns where an entry of the scope's directory stands, by the bytes of its path.
    pub fn standing_of(&self, scope: &Scope, path: &[u8], is_directory: bool) -> Standing {
        self.judge(scope, path, is_directory).0
    }

    /// Goes down to a path other than the root, and stops at the first ancestor that a walk would not look into.
    fn descend(&self, path: &[u8], is_directory: bool) -> Descent {
        let mut scope = self.root_scope();
        let mut excluded = None;
        for (cut, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let ancestor = &path[..cut];
            let standing = self.judge(&scope, ancestor, true).0;
            match standing {
                Standing::Out => return Descent { scope, standing, decided: cut, excluded },
                Standing::Leads if scope.ground == Ground::Inside => excluded = Some((scope.clone(), cut)),
                Standing::Leads | Standing::In | Standing::PutBack => {}
            }
            self.enter_bytes(&mut scope, ancestor, standing);
        }
        let standing = self.judge(&scope, path, is_directory).0;
        Descent { scope, standing, decided: path.len(), excluded }
    }

    /// Returns the rule that decides about the first `cut` bytes of a path, an entry of the scope's directory.
    fn rule_at(&self, scope: &Scope, cut: usize, path: &[u8], is_directory: bool) -> Option<Rule> {
        let is_directory = cut < path.len() || is_directory;
        let reason = self.judge(scope, &path[..cut], is_directory).1;
        reason.map(|reason| self.to_rule(&reason, &path[..cut], is_directory))
    }

    fn judge<'rules>(&'rules self, scope: &'rules Scope, path: &[u8], is_directory: bool) -> (Standing, Option<Reason<'rules>>) {
        let name_start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        if let Some(row) = find_always_out(&path[name_start..]) {
            return (Standing::Out, Some(Reason::AlwaysOut(row)));
        }
        if let Some(link) = self.evidence_link.as_deref().filter(|link| link.as_bytes() == path) {
            return (Standing::Out, Some(Reason::EvidenceLink(link)));
        }
        // What a verdict leads to cannot be part of what it is bound to: its own entry would make it stale.
        if let Some(list) = self.task_list.as_deref().filter(|list| list.as_bytes() == path && !is_directory) {
            return (Standing::Out, Some(Reason::TaskList(list)));
        }
        let (is_excluded, reason) = match scope.ground {
            Ground::Leading => (true, None),
            Ground::Inside => self.find_rule(scope, path, is_directory),
        };
        if !is_excluded {
            (Standing::In, reason)
        } else if self.include.puts_back(scope.ground, path, is_directory) {
            (Standing::PutBack, Some(Reason::Include))
        } else if is_directory && self.include.leads_below(path) {
            (Standing::Leads, reason)
        } else {
            (Standing::Out, reason)
        }
    }

    /// Returns whether the settings or the rules files of the scope exclude a path, and the rule that says so or keeps it.
    fn find_rule<'rules>(&'rules self, scope: &'rules Scope, path: &[u8], is_directory: bool) -> (bool, Option<Reason<'rules>>) {
        if let Some(Hit::Excluded(glob)) = self.ignore.hit(path, is_directory) {
            return (true, Some(Reason::Ignore(glob)));
        }
        for rules in scope.rules.iter().rev() {
            let prefix = rules.directory.as_bytes().len();
            let relative = &path[if prefix == 0 { 0 } else { prefix + 1 }..];
            for file in RulesFile::ALL {
                match rules.text(file).and_then(|text| text.patterns.hit(relative, is_directory)) {
                    None => {}
                    Some(Hit::Excluded(glob)) => return (true, Some(Reason::File(rules, file, glob))),
                    Some(Hit::Kept(glob)) => return (false, Some(Reason::File(rules, file, glob))),
                }
            }
        }
        (false, None)
    }

    fn enter_bytes(&self, scope: &mut Scope, directory: &[u8], standing: Standing) {
        narrow(scope, standing, self.rules.get(directory));
    }

    fn set_rules(&mut self, directory: &TreePath, file: RulesFile, text: Option<RulesText>) {
        let entry = self.rules.entry(directory.as_bytes().to_vec());
        let rules = entry.or_insert_with(|| Arc::new(DirectoryRules::new(directory.clone())));
        *Arc::make_mut(rules).text_mut(file) = text;
        if RulesFile::ALL.iter().all(|file| rules.text(*file).is_none()) {
            self.rules.remove(directory.as_bytes());
        }
    }

    fn to_rule(&self, reason: &Reason<'_>, path: &[u8], is_directory: bool) -> Rule {
        let written = |source, list: &PatternList, glob| {
            let (line, pattern) = list.written(glob);
            Rule { source, line: Some(line), pattern: pattern.to_owned() }
        };
        match reason {
            Reason::AlwaysOut(row) => Rule { source: RuleSource::AlwaysOut(row.reason), line: None, pattern: row.name.glob() },
            Reason::TaskList(list) => Rule { source: RuleSource::TaskList, line: None, pattern: (*list).to_owned() },
            Reason::EvidenceLink(link) => Rule { source: RuleSource::EvidenceLink, line: None, pattern: (*link).to_owned() },
            Reason::Ignore(glob) => written(RuleSource::Ignore, &self.ignore, glob),
            Reason::Include => match self.include.patterns.hit(path, is_directory) {
                Some(Hit::Excluded(glob) | Hit::Kept(glob)) => written(RuleSource::Include, &self.include.patterns, glob),
                None => Rule { source: RuleSource::Include, line: None, pattern: String::from_utf8_lossy(path).into_owned() },
            },
            Reason::File(rules, file, glob) => {
                let source = RuleSource::File { directory: rules.directory.clone(), file: *file };
                let text = rules.text(*file).expect("the pattern was found in this file");
                written(source, &text.patterns, glob)
            }
        }
    }
}

fn narrow(scope: &mut Scope, standing: Standing, rules: Option<&Arc<DirectoryRules>>) {
    scope.ground = if standing.belongs() { Ground::Inside } else { Ground::Leading };
    if standing == Standing::PutBack {
        // What excluded the directory speaks of its contents too (`build/**`); whoever puts it back means the contents.
        scope.rules.clear();
    }
    if standing.reads_rules() {
        scope.rules.extend(rules.cloned());
    }
}

fn is_at_or_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() || path == directory || (path.starts_with(directory) && path.get(directory.len()) == Some(&b'/'))
}
