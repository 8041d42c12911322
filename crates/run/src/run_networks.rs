//! The networks of a run: one for each kind that an action of it asks for, made when the first such action starts. All actions with the same
//! kind share it, so that checks reach the services of their run (E24).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proctor_model::NetworkAccess;
use proctor_sandbox::process::RunNetwork;

/// A network of the run's own, or why it cannot be made.
type MadeNetwork = Result<Arc<RunNetwork>, String>;

/// The networks that a run has made so far.
#[derive(Debug, Default)]
pub(crate) struct RunNetworks(RefCell<BTreeMap<NetworkAccess, MadeNetwork>>);

impl RunNetworks {
    /// Returns the network that an action is to have; `None` for the machine's. `executable` is proctor itself.
    pub(crate) fn of(&self, access: NetworkAccess, executable: &Path) -> Option<MadeNetwork> {
        let make = || RunNetwork::make(executable, access).map(Arc::new);
        (!access.is_open()).then(|| self.0.borrow_mut().entry(access).or_insert_with(make).clone())
    }
}
