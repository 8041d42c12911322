//! `proctor-govern`: the same program under the name by which it runs the issue workflow. Packages have a link in its place.

use std::process::ExitCode;

fn main() -> ExitCode {
    proctor::cli::main()
}
