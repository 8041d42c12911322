//! How the threads of this process share memory that is allocated, and give back what is free.

#[cfg(target_env = "gnu")]
use nix::libc;

/// Has all threads of this process allocate from two heaps. GNU's library gives each thread a heap of its own, up to eight for each
/// processor, and memory that is free in one is of no use to the others: a service with threads that come and go would hold several
/// times what it needs. Other libraries have one heap.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes plain numbers, and changes only how later allocations are served.
    let _as_before = unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
}

/// Gives memory that is free back to the system. Other libraries than GNU's do so by themselves.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a plain number, locks each heap, and touches free memory only.
    let _was_some = unsafe { libc::malloc_trim(0) };
}
