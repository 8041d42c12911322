//! The settings of a matcher.

use crate::ignore::input_place::InputPlace;
use crate::ignore::own_link::OwnLink;
use crate::ignore::shown_outputs::ShownOutputs;
use proctor_model::TreePath;

/// The settings and names that decide, together with the rules files, what belongs to the tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatcherSettings {
    /// `watch.ignore`: patterns relative to the project's root.
    pub ignore: Vec<String>,
    /// `watch.include`: patterns relative to the project's root.
    pub include: Vec<String>,
    /// The links that proctor makes and that lead to the evidence (S1); `None` where no store is known.
    pub own_link: Option<OwnLink>,
    /// The directory in which proctor keeps its evidence, relative to the root, if it lies in the project.
    pub store: Option<TreePath>,
    /// The path of the task list that proctor writes, relative to the root, if there is one.
    pub task_list: Option<String>,
    pub selects: Selects,
    /// The ignored outputs of builds that checks see all the same, because a prerequisite makes them.
    pub outputs: ShownOutputs,
    /// The files and directories beside the tree by whose content its digest is named too.
    pub inputs: Vec<InputPlace>,
}

/// The entries that a matcher selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selects {
    /// The entries that belong to the tree.
    #[default]
    Tree,
    /// The ignored entries that checks may read. Installed packages, caches and outputs are not among them.
    IgnoredInputs,
}

impl MatcherSettings {
    /// Returns the settings for watching files. The task list does not belong to the tree, but it is watched, so that
    /// an edit by hand is noticed at once. Such an edit starts no run, because it does not change the tree digest.
    pub fn for_watching(&self) -> Self {
        Self { task_list: None, ..self.clone() }
    }
}
