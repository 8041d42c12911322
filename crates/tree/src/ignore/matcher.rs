//! The matcher: decides by settings and rules files whether a path belongs to the tree.

use std::collections::HashMap;
use std::sync::Arc;

use ::ignore::gitignore::Glob;

use crate::ignore::always::{AlwaysOut, find_always_out, is_never_shown};
use crate::ignore::caches::is_never_kept;
use crate::ignore::class::{IgnoredClass, VIRTUAL_ENVIRONMENT, class_of};
use crate::ignore::decision::{IgnoreDecision, IgnoreRule, IgnoreVerdict, RuleSource};
use crate::ignore::include::{IncludeList, compile_setting};
use crate::ignore::pattern::{DecidingPattern, IgnorePatternProblem, PatternList, PatternSource};
use crate::ignore::rules::{DirectoryRules, RulesAbove, RulesFile, RulesText};
use crate::ignore::scope::{RulesScope, SurroundingTree, TreeMembership};
use crate::ignore::settings::{InputPlace, MatcherSettings, OwnLink, Selects, ShownOutputs, in_order};
use proctor_git::TrackedPaths;
use proctor_model::{Digest, TreePath};

/// Decides whether paths belong to the tree. Cheap to clone; contains no absolute path.
#[derive(Debug, Clone)]
pub struct Matcher {
    ignore_patterns: PatternList,
    include_patterns: IncludeList,
    own_link: Option<OwnLink>,
    store: Option<TreePath>,
    task_list: Option<String>,
    selects: Selects,
    outputs: ShownOutputs,
    inputs: Arc<[InputPlace]>,
    /// The rules of a repository that apply to an input although they are written above it. Otherwise there are none.
    above: RulesAbove,
    /// The rules files, by the path of their directory.
    rules: HashMap<Vec<u8>, Arc<DirectoryRules>>,
    tracked: Arc<TrackedPaths>,
}

/// The reason for a decision about a path. It is converted to an [`IgnoreRule`] only when a caller needs the rule.
enum DecisionReason<'rules> {
    AlwaysOut(&'static AlwaysOut),
    /// The path of the task list, which is always excluded.
    TaskList(&'rules str),
    /// The path of proctor's own directory, which is always excluded.
    Store(&'rules TreePath),
    /// A pattern of a rules file, with the file; without a file, a pattern of `watch.ignore`.
    Pattern(&'rules PatternList, &'rules Glob, Option<(&'rules DirectoryRules, RulesFile)>),
    Include,
}

/// The result of going from the root down to a path, as far as a walk of the project would go.
struct Descent {
    /// The rules that apply in the directory of the decided path.
    scope: RulesScope,
    /// The membership of the path, or of the excluded ancestor at which the descent stopped.
    membership: TreeMembership,
    /// The length in bytes of the part of the path to which the decision applies: an excluded ancestor, or the whole
    /// path.
    decided: usize,
    /// Set if a walk enters an excluded ancestor only because of `watch.include`: the rules in the directory above this
    /// ancestor, and the length of the ancestor's path in bytes.
    excluded: Option<(RulesScope, usize)>,
}

impl Matcher {
    /// Makes a matcher that has no rules files yet. The error names every pattern of the settings that cannot be used.
    pub fn new(settings: &MatcherSettings) -> Result<Self, Vec<IgnorePatternProblem>> {
        let (ignore_patterns, mut problems) = compile_setting(&PatternSource::Ignore, &settings.ignore);
        let (include_patterns, more) = IncludeList::compile(&settings.include);
        problems.extend(more);
        if !problems.is_empty() {
            return Err(problems);
        }
        let (own_link, store, task_list) = (settings.own_link.clone(), settings.store.clone(), settings.task_list.clone());
        let (selects, outputs) = (settings.selects, settings.outputs.clone());
        let (above, rules, tracked) = Default::default();
        // The ignored files of a project, which are read by themselves, have no inputs.
        let inputs = if selects == Selects::Tree { in_order(&settings.inputs) } else { Arc::default() };
        Ok(Self {
            ignore_patterns,
            include_patterns,
            own_link,
            store,
            task_list,
            selects,
            outputs,
            inputs,
            above,
            rules,
            tracked,
        })
    }

    /// Returns the inputs beside the tree, in ascending order of their names' bytes.
    pub fn inputs(&self) -> &[InputPlace] {
        &self.inputs
    }

    /// Returns the matcher for a directory that is an input. Only the rules files in it and those of its repository above it decide:
    /// settings are relative to the project.
    pub(crate) fn for_input(&self, above: RulesAbove) -> Self {
        let settings = MatcherSettings { own_link: self.own_link.clone(), ..MatcherSettings::default() };
        Self { above, ..Self::new(&settings).expect("without patterns none is wrong") }
    }

    /// Sets the text of a rules file. Returns the lines that cannot be used; if the text is the same as before, nothing
    /// changes and nothing is returned.
    pub fn add_rules(&mut self, directory: &TreePath, file: RulesFile, text: &[u8]) -> Vec<IgnorePatternProblem> {
        let digest = Digest::of(text);
        if self.rules_digest(directory, file) == Some(digest) {
            return Vec::new();
        }
        let origin = PatternSource::File(directory.join(file.name().as_bytes()).to_string());
        let (patterns, problems) = PatternList::parse(&origin, text);
        self.set_rules(directory, file, Some(RulesText { digest, patterns }));
        problems
    }

    /// Removes one rules file.
    pub fn remove_rules(&mut self, directory: &TreePath, file: RulesFile) {
        if self.rules_digest(directory, file).is_some() {
            self.set_rules(directory, file, None);
        }
    }

    /// Sets the paths that git tracks. Only the methods that get no [`RulesScope`] use them; a scope has its own tracked
    /// paths.
    pub fn set_tracked(&mut self, tracked: Arc<TrackedPaths>) {
        self.tracked = tracked;
    }

    /// Removes the rules files of a directory and of everything below it.
    pub fn forget_rules(&mut self, directory: &TreePath) {
        self.rules.retain(|known, _| !is_at_or_below(known, directory.as_bytes()));
    }

    /// Returns the SHA-256 of a rules file's text, if one was set.
    pub fn rules_digest(&self, directory: &TreePath, file: RulesFile) -> Option<Digest> {
        self.rules.get(directory.as_bytes()).and_then(|rules| rules.text(file)).map(|text| text.digest)
    }

    /// Decides whether a path belongs to the tree. The answer is the same as that of a walk that begins at the root and
    /// does not enter excluded directories.
    pub fn decide(&self, path: &TreePath, is_directory: bool) -> IgnoreDecision {
        if path.is_root() {
            return IgnoreDecision { verdict: IgnoreVerdict::In, rule: None };
        }
        let descent = self.descend(path.as_bytes(), is_directory);
        let verdict = if descent.membership.belongs() { IgnoreVerdict::In } else { IgnoreVerdict::Out };
        let rule = self.rule_at(&descent.scope, descent.decided, path.as_bytes(), is_directory);
        let excluded = descent.excluded.as_ref().filter(|_| verdict == IgnoreVerdict::Out);
        let rule = rule.or_else(|| excluded.and_then(|(scope, cut)| self.rule_at(scope, *cut, path.as_bytes(), true)));
        let tracked = (descent.membership == TreeMembership::Tracked).then_some(&descent);
        let rule = tracked.and_then(|descent| self.tracked_rule(descent, path.as_bytes())).or(rule);
        IgnoreDecision { verdict, rule }
    }

    /// Returns whether a link with this target, anywhere in the tree, is one of proctor's own links to the evidence: the project's or that
    /// of a project in a subdirectory. Such a link never belongs to the tree. The other methods of a matcher do not get the target, so the
    /// caller must call this one too.
    pub fn is_own_link(&self, target: &[u8]) -> bool {
        self.own_link.as_ref().is_some_and(|own| own.has_target(target))
    }

    /// Returns the decision about proctor's own link to the evidence, which is at this path.
    pub fn decide_own_link(&self, path: &TreePath) -> IgnoreDecision {
        let rule = IgnoreRule { source: RuleSource::EvidenceLink, line: None, pattern: path.to_string() };
        IgnoreDecision { verdict: IgnoreVerdict::Out, rule: Some(rule) }
    }

    /// Returns the rules that apply in a directory; `None` when a walk does not enter it.
    pub fn scope(&self, directory: &TreePath) -> Option<RulesScope> {
        if directory.is_root() {
            return Some(self.root_scope());
        }
        let Descent { mut scope, membership, .. } = self.descend(directory.as_bytes(), true);
        self.enter(&mut scope, directory, membership);
        membership.is_walked().then_some(scope)
    }

    /// Returns the rules that apply at the root.
    pub fn root_scope(&self) -> RulesScope {
        let mut scope = self.bare_scope(Arc::clone(&self.tracked));
        scope.rules.extend(self.rules.get(&b""[..]).cloned());
        scope
    }

    /// Changes the rules that apply in a directory into the rules that apply in one of its subdirectories. The
    /// subdirectory's rules files must have been set before.
    pub fn enter(&self, scope: &mut RulesScope, directory: &TreePath, membership: TreeMembership) {
        self.enter_bytes(scope, directory.as_bytes(), membership);
    }

    /// Returns the membership of an entry. `scope` has the rules that apply in the entry's directory.
    pub fn membership(&self, scope: &RulesScope, path: &TreePath, is_directory: bool) -> TreeMembership {
        self.judge(scope, path.as_bytes(), is_directory).0
    }

    /// Returns the membership of the root: `In` if the matcher selects the tree, `Leads` if it is an input that rules above it exclude and
    /// that holds something that git tracks, `Passed` if the matcher selects ignored inputs. The root itself is no ignored input, but may contain some.
    pub fn root_membership(&self) -> TreeMembership {
        match self.selects {
            Selects::Tree if self.above.excludes => TreeMembership::Leads,
            Selects::Tree => TreeMembership::In,
            Selects::IgnoredInputs => TreeMembership::Passed,
        }
    }

    /// Returns whether a directory is an ignored input: everything in it is one, and rules files in it apply to nothing.
    pub fn is_ignored_input(&self, directory: TreeMembership) -> bool {
        self.selects == Selects::IgnoredInputs && directory.belongs()
    }

    /// Returns the rules that apply at the root, without the rules files and tracked paths that were set in this matcher. A walk
    /// that reads these itself begins with this value.
    pub fn bare_scope(&self, tracked: Arc<TrackedPaths>) -> RulesScope {
        RulesScope { ground: SurroundingTree::Inside, rules: self.above.rules.clone(), tracked }
    }

    /// Returns the rules that apply in a subdirectory. `membership` says whether the subdirectory belongs to the tree,
    /// and `rules` are the rules files in it.
    pub fn narrow(&self, scope: &RulesScope, membership: TreeMembership, rules: Option<&Arc<DirectoryRules>>) -> RulesScope {
        let mut scope = scope.clone();
        self.narrow_in_place(&mut scope, membership, rules);
        scope
    }

    /// Returns the membership of an entry, like [`Matcher::membership`], for a path that is given as bytes.
    pub fn membership_of(&self, scope: &RulesScope, path: &[u8], is_directory: bool) -> TreeMembership {
        self.judge(scope, path, is_directory).0
    }

    /// Returns whether a path is the task list, which belongs to no tree, because proctor writes verdicts into it.
    pub fn is_task_list(&self, path: &[u8]) -> bool {
        self.task_list.as_deref().is_some_and(|list| list.as_bytes() == path)
    }

    /// Returns whether an entry of a commit belongs to the tree of a checkout of this commit. Git tracks everything in it, so no
    /// rules file and no setting excludes a file, and of the directories only those are left out whose names never belong to a
    /// tree. The caller has asked the same about the directories above.
    pub fn selects_committed(&self, path: &[u8], is_directory: bool) -> bool {
        self.find_built_in_rule(path, is_directory).is_none()
    }

    /// Goes down to a path other than the root and stops at the first ancestor that a walk would not enter.
    fn descend(&self, path: &[u8], is_directory: bool) -> Descent {
        let mut scope = self.root_scope();
        let mut excluded = None;
        for (cut, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let ancestor = &path[..cut];
            let membership = self.judge(&scope, ancestor, true).0;
            match membership {
                TreeMembership::Out | TreeMembership::Environment => {
                    return Descent { scope, membership, decided: cut, excluded };
                }
                TreeMembership::Leads if scope.ground == SurroundingTree::Inside => excluded = Some((scope.clone(), cut)),
                TreeMembership::Leads
                | TreeMembership::In
                | TreeMembership::PutBack
                | TreeMembership::Tracked
                | TreeMembership::Passed => {}
            }
            self.enter_bytes(&mut scope, ancestor, membership);
        }
        let membership = self.judge(&scope, path, is_directory).0;
        Descent { scope, membership, decided: path.len(), excluded }
    }

    /// Returns the rule that decides about the first `cut` bytes of a path.
    fn rule_at(&self, scope: &RulesScope, cut: usize, path: &[u8], is_directory: bool) -> Option<IgnoreRule> {
        let is_directory = cut < path.len() || is_directory;
        let reason = self.judge(scope, &path[..cut], is_directory).1;
        reason.map(|reason| self.to_rule(&reason, &path[..cut], is_directory))
    }

    /// Returns the rule for a tracked path that another rule excludes: itself, or a directory above it.
    fn tracked_rule(&self, descent: &Descent, path: &[u8]) -> Option<IgnoreRule> {
        let (scope, cut) = descent.excluded.as_ref().map_or((&descent.scope, path.len()), |(scope, cut)| (scope, *cut));
        let although = self.rule_at(scope, cut, path, cut < path.len())?;
        let pattern = String::from_utf8_lossy(path).into_owned();
        Some(IgnoreRule { source: RuleSource::Tracked(Box::new(although)), line: None, pattern })
    }

    fn judge<'rules>(
        &'rules self,
        scope: &'rules RulesScope,
        path: &[u8],
        is_directory: bool,
    ) -> (TreeMembership, Option<DecisionReason<'rules>>) {
        match self.selects {
            Selects::Tree => self.judge_for_tree(scope, path, is_directory),
            Selects::IgnoredInputs => (self.judge_for_inputs(scope, path, is_directory), None),
        }
    }

    /// Returns whether an entry is an ignored input. Files of the tree are no ignored inputs. Directories of the tree
    /// may contain ignored inputs, so a walk passes through them.
    fn judge_for_inputs(&self, scope: &RulesScope, path: &[u8], is_directory: bool) -> TreeMembership {
        // `Leading` means here that the walk is in an excluded directory on its way to an output of `paths`. Only such
        // outputs are inputs there.
        let is_input = match scope.ground {
            SurroundingTree::Leading => self.outputs.is_shown(path),
            SurroundingTree::Inside => self.outputs.is_input(path, is_directory),
            // A rule that ignores `vendor` means all of it: in there, the names of outputs, caches and packages decide nothing.
            SurroundingTree::Ignored => !is_never_shown(name_of(path)) && !is_never_kept(path) && !self.outputs.is_report(path),
        };
        let leads_to_output = is_directory && self.outputs.paths.iter().any(|shown| is_at_or_below(shown.as_bytes(), path));
        let left_out = if leads_to_output { TreeMembership::Leads } else { TreeMembership::Out };
        if scope.ground == SurroundingTree::Ignored {
            let is_of_the_tree = !is_directory && self.is_tracked(scope, path, is_directory);
            return if is_input && !is_of_the_tree { TreeMembership::In } else { left_out };
        }
        let (membership, reason) = self.judge_for_tree(scope, path, is_directory);
        let is_own = matches!(reason, Some(DecisionReason::TaskList(_) | DecisionReason::Store(_)));
        let is_environment = is_directory && class_of(name_of(path)) == IgnoredClass::Environment;
        match membership {
            TreeMembership::In | TreeMembership::PutBack if is_directory => TreeMembership::Passed,
            TreeMembership::In | TreeMembership::PutBack | TreeMembership::Tracked => TreeMembership::Out,
            TreeMembership::Leads | TreeMembership::Out if is_environment && scope.ground == SurroundingTree::Inside => {
                TreeMembership::Environment
            }
            TreeMembership::Leads | TreeMembership::Passed | TreeMembership::Environment | TreeMembership::Out
                if is_input && !is_own =>
            {
                TreeMembership::In
            }
            TreeMembership::Leads | TreeMembership::Passed | TreeMembership::Environment | TreeMembership::Out => left_out,
        }
    }

    /// Returns whether a directory is a virtual environment that does not belong to the tree. `names` are its entries, each with
    /// whether it is a directory, and `scope` has the rules that apply in it. Only a matcher for ignored inputs finds any.
    pub fn is_virtual_environment<'n>(
        &self,
        scope: &RulesScope,
        directory: &[u8],
        names: impl Iterator<Item = (&'n [u8], bool)>,
    ) -> bool {
        let mut names = names.peekable();
        if self.selects != Selects::IgnoredInputs || directory.is_empty() || names.peek().is_none() {
            return false;
        }
        let path_of = |name: &[u8]| [directory, b"/", name].concat();
        let file = path_of(VIRTUAL_ENVIRONMENT.as_bytes());
        // In `python -m venv .` of a project, sources lie beside the file.
        let is_of_tree = |(name, is_directory): (&[u8], bool)| {
            let membership = self.judge_for_tree(scope, &path_of(name), is_directory).0;
            membership.belongs() || membership.is_walked()
        };
        self.membership_of(scope, &file, false).belongs() && !names.any(is_of_tree)
    }

    fn judge_for_tree<'rules>(
        &'rules self,
        scope: &'rules RulesScope,
        path: &[u8],
        is_directory: bool,
    ) -> (TreeMembership, Option<DecisionReason<'rules>>) {
        if let Some(reason) = self.find_built_in_rule(path, is_directory) {
            return (TreeMembership::Out, Some(reason));
        }
        let (is_excluded, reason) = match scope.ground {
            SurroundingTree::Leading | SurroundingTree::Ignored => (true, None),
            SurroundingTree::Inside => self.find_rule(scope, path, is_directory),
        };
        if !is_excluded {
            (TreeMembership::In, reason)
        } else if self.include_patterns.puts_back(scope.ground, path, is_directory) {
            (TreeMembership::PutBack, Some(DecisionReason::Include))
        } else if !is_directory && self.is_tracked(scope, path, is_directory) {
            (TreeMembership::Tracked, reason)
        } else if is_directory && (self.include_patterns.leads_below(path) || self.is_tracked(scope, path, is_directory)) {
            (TreeMembership::Leads, reason)
        } else {
            (TreeMembership::Out, reason)
        }
    }

    /// Returns the rule that excludes a path whatever the rules files, the settings and git's index say.
    fn find_built_in_rule(&self, path: &[u8], is_directory: bool) -> Option<DecisionReason<'_>> {
        if let Some(row) = find_always_out(name_of(path)) {
            return Some(DecisionReason::AlwaysOut(row));
        }
        // Each run writes evidence. If that belonged to the tree, each run would change the tree that it judges.
        if let Some(store) = self.store.as_ref().filter(|store| store.as_bytes() == path && is_directory) {
            return Some(DecisionReason::Store(store));
        }
        // The task list shows verdicts. If it belonged to the tree, writing a verdict into it would change the tree
        // digest and make that verdict stale.
        let list = self.task_list.as_deref().filter(|list| list.as_bytes() == path && !is_directory);
        list.map(DecisionReason::TaskList)
    }

    /// Returns whether git tracks this file, or something below this directory.
    fn is_tracked(&self, scope: &RulesScope, path: &[u8], is_directory: bool) -> bool {
        if is_directory { scope.tracked.has_below(path) } else { scope.tracked.contains(path) }
    }

    /// Returns whether `watch.ignore` or the rules files exclude a path, and the rule that excludes or keeps it.
    fn find_rule<'rules>(
        &'rules self,
        scope: &'rules RulesScope,
        path: &[u8],
        is_directory: bool,
    ) -> (bool, Option<DecisionReason<'rules>>) {
        if let Some(DecidingPattern::Excluded(glob)) = self.ignore_patterns.find_deciding(path, is_directory) {
            return (true, Some(DecisionReason::Pattern(&self.ignore_patterns, glob, None)));
        }
        for rules in scope.rules.iter().rev() {
            let by = |list, glob, file| Some(DecisionReason::Pattern(list, glob, Some((rules, file))));
            let Some((file, deciding)) = rules.find_deciding(path, is_directory) else { continue };
            let Some(text) = rules.text(file) else { continue };
            return match deciding {
                DecidingPattern::Excluded(glob) => (true, by(&text.patterns, glob, file)),
                DecidingPattern::Kept(glob) => (false, by(&text.patterns, glob, file)),
            };
        }
        (false, None)
    }

    fn enter_bytes(&self, scope: &mut RulesScope, directory: &[u8], membership: TreeMembership) {
        self.narrow_in_place(scope, membership, self.rules.get(directory));
    }

    fn narrow_in_place(&self, scope: &mut RulesScope, membership: TreeMembership, rules: Option<&Arc<DirectoryRules>>) {
        scope.ground = match (self.selects, membership.reads_rules()) {
            _ if self.is_ignored_input(membership) => SurroundingTree::Ignored,
            (Selects::Tree | Selects::IgnoredInputs, true) => SurroundingTree::Inside,
            (Selects::Tree | Selects::IgnoredInputs, false) => SurroundingTree::Leading,
        };
        if membership == TreeMembership::PutBack {
            // The rule that excluded the directory may match its contents too (`build/**`). But a setting that puts a
            // directory back also means its contents, so the rules files above the directory no longer apply.
            scope.rules.clear();
        }
        if scope.ground == SurroundingTree::Inside {
            scope.rules.extend(rules.cloned());
        }
    }

    fn set_rules(&mut self, directory: &TreePath, file: RulesFile, text: Option<RulesText>) {
        let entry = self.rules.entry(directory.as_bytes().to_vec());
        let rules = entry.or_insert_with(|| Arc::new(DirectoryRules::new(directory.clone())));
        *Arc::make_mut(rules).text_mut(file) = text;
        if RulesFile::ALL.iter().all(|file| rules.text(*file).is_none()) {
            self.rules.remove(directory.as_bytes());
        }
    }

    fn to_rule(&self, reason: &DecisionReason<'_>, path: &[u8], is_directory: bool) -> IgnoreRule {
        let written = |source, list: &PatternList, glob| {
            let (line, pattern) = list.written(glob);
            IgnoreRule { source, line: Some(line), pattern: pattern.to_owned() }
        };
        match reason {
            DecisionReason::AlwaysOut(row) => {
                IgnoreRule { source: RuleSource::AlwaysOut(row.reason), line: None, pattern: row.name.glob() }
            }
            DecisionReason::TaskList(path) => {
                IgnoreRule { source: RuleSource::TaskList, line: None, pattern: (*path).to_owned() }
            }
            DecisionReason::Store(path) => IgnoreRule { source: RuleSource::Store, line: None, pattern: path.to_string() },
            DecisionReason::Pattern(list, glob, file) => {
                let source = file
                    .map_or(RuleSource::Ignore, |(rules, file)| RuleSource::File { directory: rules.directory.clone(), file });
                written(source, list, glob)
            }
            DecisionReason::Include => match self.include_patterns.patterns.find_deciding(path, is_directory) {
                Some(DecidingPattern::Excluded(glob) | DecidingPattern::Kept(glob)) => {
                    written(RuleSource::Include, &self.include_patterns.patterns, glob)
                }
                None => {
                    IgnoreRule { source: RuleSource::Include, line: None, pattern: String::from_utf8_lossy(path).into_owned() }
                }
            },
        }
    }
}

/// Returns the last component of a path.
pub(super) fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

pub(super) fn is_at_or_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() || path == directory || (path.starts_with(directory) && path.get(directory.len()) == Some(&b'/'))
}
