//! Brings the index up to date with a project's ledger, and believes nothing that another program wrote into it.
//!
//! Rows are only used while their seal is valid (`store::seal`), and lines are only applied after their place in the chain and
//! their signature were checked. Rows without a valid seal are dropped and made anew from the ledger.

use crate::evidence::{self, Store};
use crate::model::{LedgerLine, ProjectId};
use crate::project::error::ProjectError;
use crate::store::{AppliedLine, IndexError, SealCheck, StoreIndex, line_mark};

/// Updates the index with the lines that a project's ledger has and the index lacks.
///
/// # Errors
/// When the ledger or the index cannot be read, or a line of the ledger is not as proctor wrote it.
pub(crate) fn catch_up(store: &Store, index: &mut StoreIndex, project: &ProjectId) -> Result<(), ProjectError> {
    match index.check_seal(project).map_err(ProjectError::Index)? {
        SealCheck::Empty => apply_from(store, index, project, None),
        SealCheck::Sealed(applied) => apply_from(store, index, project, Some(&applied)),
        SealCheck::Changed => {
            index.say_changed(project);
            make_anew(store, index, project)
        }
        // A store whose key is lost, or that never had one, cannot tell its own rows from others.
        SealCheck::Unsigned => make_anew(store, index, project),
    }
}

/// Applies lines that were just written to the ledger. Each line comes with the offset at which it ends.
///
/// # Errors
/// When the index cannot be written.
pub(crate) fn apply_written(
    store: &Store,
    index: &mut StoreIndex,
    project: &ProjectId,
    lines: &[(u64, LedgerLine)],
) -> Result<(), ProjectError> {
    match index.apply(project, lines) {
        Err(IndexError::Changed { .. }) => {
            index.say_changed(project);
            make_anew(store, index, project)
        }
        // Another program, or a rebuilding process, removed the rows of the lines before.
        Err(IndexError::Gap { .. }) => make_anew(store, index, project),
        applied => applied.map_err(ProjectError::Index),
    }
}

/// Updates the index from the ledgers of all projects. The index may be new, or may lack lines that other processes
/// wrote. Rows of a project that has no ledger are no rows of proctor, and are dropped.
///
/// # Errors
/// As for [`catch_up`].
pub(crate) fn catch_up_all(store: &Store, index: &mut StoreIndex) -> Result<(), ProjectError> {
    // The rows are listed first: a project that another process registers meanwhile has a ledger before it has rows.
    let registered = index.projects().map_err(ProjectError::Index)?;
    let with_ledger = evidence::list_projects(store).map_err(ProjectError::Evidence)?;
    for project in &with_ledger {
        catch_up(store, index, project)?;
    }
    // A store that was removed while this process has its index open has no ledgers either, and may be put back.
    if !store.root().is_dir() {
        return Ok(());
    }
    for stranger in registered.into_iter().map(|project| project.id).filter(|id| !with_ledger.contains(id)) {
        index.say_changed(&stranger);
        index.forget(&stranger).map_err(ProjectError::Index)?;
    }
    Ok(())
}

/// Drops all rows of a project and makes them anew from its ledger.
fn make_anew(store: &Store, index: &mut StoreIndex, project: &ProjectId) -> Result<(), ProjectError> {
    let lines = evidence::read_signed_lines(store, project, 0, |_| false).map_err(ProjectError::Evidence)?;
    let lines = lines.collect::<Result<Vec<_>, _>>().map_err(ProjectError::Evidence)?;
    index.apply_anew(project, &lines).map_err(ProjectError::Index)
}

fn apply_from(
    store: &Store,
    index: &mut StoreIndex,
    project: &ProjectId,
    applied: Option<&AppliedLine>,
) -> Result<(), ProjectError> {
    let is_applied =
        |line: &LedgerLine| applied.is_some_and(|applied| applied.sequence == line.sequence && applied.mark == line_mark(line));
    let offset = applied.map_or(0, |applied| applied.end);
    let lines = evidence::read_signed_lines(store, project, offset, is_applied).map_err(ProjectError::Evidence)?;
    let lines = lines.collect::<Result<Vec<_>, _>>().map_err(ProjectError::Evidence)?;
    if lines.is_empty() {
        return Ok(());
    }
    apply_written(store, index, project, &lines)
}
