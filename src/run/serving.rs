//! Whether the service watches a project: a line of its ledger says so. Removing a project keeps everything else (S7).

use std::path::Path;
use std::time::Duration;

use crate::evidence::{Ledger, Store, WaitDecision};
use crate::model::{LedgerBody, Serving, ServingRecord};
use crate::process::clock;
use crate::run::error::RunError;
use crate::run::mended_index::open_index;
use crate::run::request::Scope;
use crate::run::workspace::catch_up;

/// Writes down that the service watches a registered project from here on, or leaves it alone. What is so already is not written again.
///
/// # Errors
/// When another process holds the project for longer than `wait`, or ledger or index cannot be written.
pub fn record_serving(state_root: &Path, scope: &Scope, serving: Serving, wait: Duration) -> Result<(), RunError> {
    let store = Store::open(state_root).map_err(RunError::Evidence)?;
    let mut index = open_index(&store)?.index;
    catch_up(&store, &mut index, &scope.project)?;
    if index.serving(&scope.project).map_err(RunError::Index)? == serving {
        return Ok(());
    }
    let begun = clock::monotonic();
    let lock = store.lock(&scope.project, &mut || {
        if clock::monotonic().since(begun) < wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    let lock = lock.map_err(RunError::Lock)?;
    let mut ledger = Ledger::open(&lock).map_err(RunError::Evidence)?;
    catch_up(&store, &mut index, &scope.project)?;
    let body = LedgerBody::Serving(ServingRecord { serving });
    let line = ledger.append(body, &scope.asker, clock::now()).map_err(RunError::Evidence)?;
    index.apply(&scope.project, &[(ledger.length(), line)]).map_err(RunError::Index)
}
