//! Moves an old report file out of the way before an action starts, so that a report found afterwards is a new one
//! (E5). This is needed for reports whose path the command or the check chooses. The new name is excluded from every
//! tree (`ignore/`), so it triggers no run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use proctor_project::ProjectError;

/// The suffix of a file that was moved out of the way.
pub(crate) const SUFFIX: &str = ".before-proctor";

/// An old report that was moved out of the way, if there was one. When this value is dropped, the report is moved back
/// unless a new file has taken its place.
#[derive(Debug)]
pub(crate) struct OldReportGuard {
    moved: Option<(PathBuf, PathBuf)>,
}

impl OldReportGuard {
    /// Moves an old report out of the way, if there is one.
    pub(crate) fn move_aside(path: PathBuf) -> Result<Self, ProjectError> {
        // Only a regular file can be an old report. A device, a pipe or a link is the user's choice and stays. Reading
        // the report will refuse it later.
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Self { moved: None });
        }
        let mut aside = path.clone().into_os_string();
        aside.push(SUFFIX);
        let aside = PathBuf::from(aside);
        match rename(&path, &aside) {
            Ok(()) => Ok(Self { moved: Some((path, aside)) }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { moved: None }),
            Err(source) => Err(ProjectError::OldReport { path, source }),
        }
    }
}

impl Drop for OldReportGuard {
    /// Moves the old report back if the command wrote no new one. Otherwise deletes it, because the command would have
    /// overwritten it.
    fn drop(&mut self) {
        let Some((path, aside)) = self.moved.take() else { return };
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

    fn write(path: &Path, text: &str) {
        use std::io::Write as _;
        std::fs::File::create(path).expect("a file").write_all(text.as_bytes()).expect("written");
    }

    #[test]
    fn an_old_report_is_gone_while_the_command_runs_and_comes_back_if_it_writes_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("junit.xml");
        write(&path, "old");
        let aside = OldReportGuard::move_aside(path.clone()).expect("put aside");
        assert!(!path.exists());
        drop(aside);
        assert_eq!(std::fs::read_to_string(&path).expect("it is back"), "old");
    }

    #[test]
    fn what_is_no_regular_file_stays_where_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/dev/null", directory.path().join("junit.xml")).expect("a link");
        std::fs::create_dir(directory.path().join("reports")).expect("a directory");
        for name in ["junit.xml", "reports", "missing.xml", "junit.xml/below"] {
            let aside = OldReportGuard::move_aside(directory.path().join(name)).expect("nothing to do");
            assert!(aside.moved.is_none(), "{name}");
        }
        assert!(directory.path().join("junit.xml").is_symlink());
    }

    #[test]
    fn a_new_report_stays_and_the_old_one_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("junit.xml");
        write(&path, "old");
        let aside = OldReportGuard::move_aside(path.clone()).expect("put aside");
        write(&path, "new");
        drop(aside);
        assert_eq!(std::fs::read_to_string(&path).expect("it stays"), "new");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a listing").count(), 1);
    }
}
