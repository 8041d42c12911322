//! The one pure matcher for what belongs to the tree.
