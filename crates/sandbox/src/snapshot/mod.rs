//! Keeps a copy of each project's tree, so that checks run on exactly the files that the digest names.
//!
//! If checks ran in the project itself, they could read files that were saved after the digest was computed. So each project has
//! a copy of its tree ([`ProjectCopy`]), which is updated to an index of the tree before a run. Every file is hashed while it is
//! copied, and it is rejected if its digest differs from the index. The copy is the lowest layer of the file system that a check
//! sees. Only this module writes to it, and never during a run of the project.
//!
//! What a check writes stays in a layer of the run ([`RunLayers`]). Only files that the check's `writes` names are copied to the
//! project ([`ProjectWriter`]).
//!
//! Owns the files in a project's snapshot directory. It must not decide which files belong to a tree (`ignore/` does), mount
//! anything (`process/` does), or know where an index came from.
//!
//! # Files
//!
//! ```text
//! base/       the copy
//! incoming/   files that are being written, renamed into the copy when they are whole
//! index       what the copy held when this was saved (the format of a saved tree index)
//! journal     paths that were changed in the copy since, each ended by NUL
//! boot        the kernel's id of the boot in which all this was written
//! newest      the latest time of a file of the copy, if it was in the future when the file got it
//! mounted     the conditions under which the snapshot could be mounted (see `mounted_before.rs`); beside the copies
//! generation  counts the changes of the copy that a tool which compares times cannot see (see `generation.rs`)
//! ```
//!
//! A path is written to the journal before the copy is changed at that path. So after a crash, the journal contains every path at
//! which the copy and the saved index may differ, and these paths are copied again. Nothing is synced to the disk, because the
//! page cache survives the end of a process. After a reboot the whole copy is made again.
//!
//! # Python bytecode
//!
//! A layer of compiled modules ([`BytecodeLayer`]) lies over the copy of the tree. It holds only what proctor had compiled from
//! the content of the tree, and never what a check wrote. It is a directory for each interpreter:
//!
//! ```text
//! bytecode/KEY/files    the layer: DIRECTORY/__pycache__/MODULE.TAG.pyc
//! bytecode/KEY/record   the modules, each with the digest of its source
//! ```
//!
//! While a file is copied to the project, `copying/PROJECT` in the store records it (`copy_out_record.rs`).
//!
//! The layers of a run (`run_layers.rs`) and the tools' caches of each check (`kept_caches.rs`) lie beside the copies.

mod bytecode_layer;
mod bytecode_record;
mod cache_merge;
mod cache_search;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the layers that are merged, and say what time it is")]
mod cache_tests;
mod copy_out;
mod copy_out_record;
mod copy_times;
mod entries;
mod error;
mod generation;
mod journal;
mod kept_caches;
mod obstacle;
mod project_copy;
mod python_module;
mod run_layers;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the projects that are copied, and say what time it is")]
mod tests;

pub use bytecode_layer::{BytecodeLayer, CompiledModule};
pub use cache_search::{WrittenCaches, find_caches};
pub use copy_out::{CopiedOut, NotCopiedOut, ProjectFileState, ProjectWriter, digest_of};
pub use copy_out_record::clean_up_copy_out;
pub use entries::remove_directory;
pub use error::SnapshotError;
pub use generation::{CopyGeneration, remove_memory_layers};
pub use kept_caches::{CacheConditions, CacheKey, CacheSource, KeptCaches, LaidCache};
pub use obstacle::{InPlaceReason, MountConditions, left_out, obstacle, obstacle_of_size};
pub use project_copy::{CopyOutcome, ProjectCopy};
pub use python_module::{CacheTag, ModuleCompiler, PythonModule};
pub use run_layers::RunLayers;
