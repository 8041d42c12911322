//! A report file that a command names itself may be there from an earlier run: it is put aside before, so that what is there
//! afterwards is fresh (E5).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::run::error::RunError;
use crate::tools::ReportRequest;

/// A file that was put aside, or nothing.
#[derive(Debug)]
pub(crate) struct PutAside {
    moved: Option<(PathBuf, PathBuf)>,
}

impl PutAside {
    /// Puts the old report of a command aside, where it names its own and one is there.
    pub(crate) fn of(request: &ReportRequest, directory: &Path) -> Result<Self, RunError> {
        let ReportRequest::Own { path } = request else { return Ok(Self { moved: None }) };
        let path = directory.join(path);
        // Only a regular file can be an old report. A device, a pipe or a link is the user's choice and none of ours to move;
        // taking the report afterwards refuses it.
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Self { moved: None });
        }
        let mut aside = path.clone().into_os_string();
        aside.push(".before-proctor");
        let aside = PathBuf::from(aside);
        match rename(&path, &aside) {
            Ok(()) => Ok(Self { moved: Some((path, aside)) }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { moved: None }),
            Err(source) => Err(RunError::OldReport { path, source }),
        }
    }

    /// Puts it back where the command left none; else removes it, since the command would have overwritten it.
    pub(crate) fn restore_if_nothing_came(self) {
        let Some((path, aside)) = self.moved else { return };
        let _best_effort = if path.symlink_metadata().is_ok() { std::fs::remove_file(&aside) } else { rename(&aside, &path) };
    }
}

#[expect(clippy::disallowed_methods, reason = "a tool's own file in the project, not one of ours")]
fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(path: &str) -> ReportRequest {
        ReportRequest::Own { path: path.into() }
    }

    fn write(path: &Path, text: &str) {
        use std::io::Write as _;
        std::fs::File::create(path).expect("a file").write_all(text.as_bytes()).expect("written");
    }

    #[test]
    fn an_old_report_is_gone_while_the_command_runs_and_comes_back_if_it_writes_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("junit.xml");
        write(&path, "old");
        let aside = PutAside::of(&own("junit.xml"), directory.path()).expect("put aside");
        assert!(!path.exists());
        aside.restore_if_nothing_came();
        assert_eq!(std::fs::read_to_string(&path).expect("it is back"), "old");
    }

    #[test]
    fn what_is_no_regular_file_stays_where_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/dev/null", directory.path().join("junit.xml")).expect("a link");
        std::fs::create_dir(directory.path().join("reports")).expect("a directory");
        for name in ["junit.xml", "reports", "missing.xml", "junit.xml/below"] {
            let aside = PutAside::of(&own(name), directory.path()).expect("nothing to do");
            assert!(aside.moved.is_none(), "{name}");
        }
        assert!(directory.path().join("junit.xml").is_symlink());
    }

    #[test]
    fn a_new_report_stays_and_the_old_one_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("junit.xml");
        write(&path, "old");
        let aside = PutAside::of(&own("junit.xml"), directory.path()).expect("put aside");
        write(&path, "new");
        aside.restore_if_nothing_came();
        assert_eq!(std::fs::read_to_string(&path).expect("it stays"), "new");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a listing").count(), 1);
    }
}
