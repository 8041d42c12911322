//! The standard input of a command: bytes in memory that no process can change.
//!
//! A file of the store is unsuitable: a process that has a descriptor of the file can change the file's mode, even if
//! the file was opened only for reading, and could then write to it. A pipe is unsuitable too, because proctor would
//! have to keep writing while the command does not read.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// The name that `/proc` shows for the in-memory file.
const NAME: &CStr = c"proctor-input";

/// Returns a descriptor from which these bytes can be read (`memfd_create(2)`, sealed).
pub(super) fn sealed_input(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(NAME, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_bytes_are_read_and_cannot_be_changed() {
        let mut file = File::from(sealed_input(b"prompt").expect("made"));
        let mut read = Vec::new();
        file.read_to_end(&mut read).expect("read");
        assert_eq!(read, b"prompt");
        assert!(file.write_all(b"more").is_err() && file.set_len(0).is_err(), "it is sealed");
    }
}
