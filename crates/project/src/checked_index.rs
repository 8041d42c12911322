//! Brings the index up to date with a project's ledger, and believes nothing that another program wrote into it.
//!
//! Rows are only used while their seal is valid (`store::seal`), and lines are only applied after their place in the chain and
//! their signature were checked. Rows without a valid seal are dropped and made anew from the ledger.
//!
//! A ledger that cannot be read to its end is the error of its own project. The lines before the damage are applied, so that it
//! is known which directory the project belongs to; commands about other projects go on, and name it.

use crate::error::ProjectError;
use crate::repaired_index::open_index;
use proctor_evidence::{self as evidence, EvidenceError, LedgerLines, Store};
use proctor_index::{AppliedLine, CheckedState, IndexError, SealCheck, StoreIndex, line_mark};
use proctor_model::{LedgerLine, ProjectId};

/// Updates the index with the lines that a project's ledger has and the index lacks.
///
/// # Errors
/// When the ledger or the index cannot be read, or a line of the ledger is not as proctor wrote it.
pub(crate) fn catch_up(store: &Store, index: &mut StoreIndex, project: &ProjectId) -> Result<(), ProjectError> {
    let ledger = store.ledger_path(project);
    if index.is_current(project, &ledger)? {
        return Ok(());
    }
    let checks = index.check_seals(&[(project.clone(), ledger)])?;
    checks.into_iter().try_for_each(|check| catch_up_checked(store, index, project, check))
}

/// Updates the index with the lines of a project's ledger after the seal of its rows was checked.
fn catch_up_checked(
    store: &Store,
    index: &mut StoreIndex,
    project: &ProjectId,
    (seal, before): (SealCheck, CheckedState),
) -> Result<(), ProjectError> {
    match seal {
        SealCheck::Empty => apply_from(store, index, project, None),
        SealCheck::Sealed(applied) => {
            apply_from(store, index, project, Some(&applied))?;
            index.note_checked(project, before, applied.end);
            Ok(())
        }
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
        Ok(()) => index.note_current(project, &store.ledger_path(project)).map_err(ProjectError::Index),
        Err(error) => Err(ProjectError::Index(error)),
    }
}

/// A project whose ledger cannot be read to its end, and why.
#[derive(Debug)]
pub(crate) struct UnreadableLedger {
    pub(crate) project: ProjectId,
    pub(crate) error: ProjectError,
}

/// Updates the index from the ledgers of all projects. The index may be new, or may lack lines that other processes
/// wrote. Rows of a project that has no ledger are no rows of proctor, and are dropped. Returns the projects whose ledgers cannot
/// be read to their end; the index has their rows as far as the ledgers could be read.
///
/// # Errors
/// When the directory of the ledgers or the index cannot be read.
pub(crate) fn catch_up_all(store: &Store, index: &mut StoreIndex) -> Result<Vec<UnreadableLedger>, ProjectError> {
    // The rows are listed first: a project that another process registers meanwhile has a ledger before it has rows.
    let registered = index.projects()?;
    let with_ledger = evidence::list_projects(store)?;
    let unreadable = catch_up_each(store, index, &with_ledger)?;
    // A store that was removed while this process has its index open has no ledgers either, and may be put back.
    if !store.root().is_dir() {
        return Ok(unreadable);
    }
    for stranger in registered.into_iter().map(|project| project.id).filter(|id| !with_ledger.contains(id)) {
        index.say_changed(&stranger);
        index.forget(&stranger)?;
        index.forget_tests(&stranger)?;
    }
    Ok(unreadable)
}

/// Updates the index as [`catch_up_all`] does, and names the projects whose ledgers cannot be read in a note.
///
/// # Errors
/// As for [`catch_up_all`].
pub(crate) fn catch_up_and_name(store: &Store, index: &mut StoreIndex) -> Result<(), ProjectError> {
    let unreadable = catch_up_all(store, index)?;
    unreadable.iter().for_each(|ledger| name_unreadable(index, ledger));
    Ok(())
}

/// Updates the index from those ledgers that have another length than the lines that are applied. This reads the directory of the
/// ledgers, and no ledger that has not changed. The seals of unchanged projects are not checked.
///
/// # Errors
/// As for [`catch_up_all`].
pub(crate) fn catch_up_changed(store: &Store, index: &mut StoreIndex) -> Result<Vec<UnreadableLedger>, ProjectError> {
    let applied = index.applied_lengths()?;
    let mut changed = evidence::list_projects(store)?;
    changed.retain(|project| {
        let length = store.ledger_path(project).symlink_metadata().ok().map(|metadata| metadata.len());
        length != applied.get(project).copied()
    });
    catch_up_each(store, index, &changed)
}

/// Checks that every ledger can be read to its end, and has all lines that were read before.
///
/// # Errors
/// When the index cannot be used. The error of the first ledger that cannot be read.
pub fn check_ledgers(store: &Store) -> Result<(), ProjectError> {
    let mut index = open_index(store)?.index;
    let unreadable = catch_up_all(store, &mut index)?;
    unreadable.into_iter().next().map_or(Ok(()), |ledger| Err(ledger.error))
}

/// Tells the user that the ledger of a project cannot be read, and why.
pub(crate) fn name_unreadable(index: &StoreIndex, ledger: &UnreadableLedger) {
    let causes = std::iter::successors(std::error::Error::source(&ledger.error), |error| error.source());
    let why: Vec<String> = causes.map(ToString::to_string).collect();
    index.say_unreadable(&ledger.project, &why.join(": "));
}

fn catch_up_each(store: &Store, index: &mut StoreIndex, projects: &[ProjectId]) -> Result<Vec<UnreadableLedger>, ProjectError> {
    let (mut unreadable, mut stale) = (Vec::new(), Vec::new());
    for project in projects {
        let ledger = store.ledger_path(project);
        if !index.is_current(project, &ledger)? {
            stale.push((project.clone(), ledger));
        }
    }
    let checks = index.check_seals(&stale)?;
    for ((project, _), check) in stale.into_iter().zip(checks) {
        match catch_up_checked(store, index, &project, check) {
            Err(error @ ProjectError::Evidence(_)) => unreadable.push(UnreadableLedger { project, error }),
            outcome => outcome?,
        }
    }
    Ok(unreadable)
}

/// Drops all rows of a project and makes them anew from its ledger. Lines before one that cannot be read are applied.
fn make_anew(store: &Store, index: &mut StoreIndex, project: &ProjectId) -> Result<(), ProjectError> {
    let (lines, failure) = collect_lines(evidence::read_signed_lines(store, project, 0, |_| false));
    evidence::wait_for_lines(store, project)?;
    index.apply_anew(project, &lines)?;
    failure
}

/// Returns the lines up to the first that cannot be read, and the error about that line.
fn collect_lines(lines: Result<LedgerLines, EvidenceError>) -> (Vec<(u64, LedgerLine)>, Result<(), ProjectError>) {
    let mut read = Vec::new();
    let outcome = lines.and_then(|mut lines| {
        lines.try_for_each(|line| {
            read.push(line?);
            Ok(())
        })
    });
    (read, outcome.map_err(ProjectError::Evidence))
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
    let (lines, failure) = collect_lines(evidence::read_signed_lines(store, project, offset, is_applied));
    if !lines.is_empty() {
        evidence::wait_for_lines(store, project)?;
        apply_written(store, index, project, &lines)?;
    }
    failure
}
