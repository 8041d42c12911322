//! The program: arguments in, exit status out. Everything else is in the library.

use std::process::ExitCode;

/// musl's own allocator asks the kernel for memory hundreds of times a command, and its threads wait for one lock.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    proctor::cli::main()
}
