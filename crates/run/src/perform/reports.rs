//! Finds and reads the reports of tools. A report is read only after all processes that could change it have ended
//! (E12).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::old_report::SUFFIX;
use crate::snapshot::place_of_written;
use proctor_evidence::{
    Artifact, ArtifactRefusal, OutputDirectory, TakenReport, create_unnamed_file, read_artifact, take_report_file,
};
use proctor_model::{Action, LargeReport, SnapshotMount, ToolReport};
use proctor_plan::spec::DiskFiles;
use proctor_sandbox::Secrets;
use proctor_sandbox::process::mask_stream;
use proctor_tools::{FILE_MARK, ReportRequest};

/// The largest report that is read, in bytes. A larger report is refused.
const REPORT_CAP: u64 = 64 * 1024 * 1024;
/// The largest report that is held in memory, in bytes. A larger one is read piece by piece.
const IN_MEMORY: u64 = 2 * 1024 * 1024;
/// The largest source file that is read to find a test in it, in bytes.
const SOURCE_CAP: u64 = 1024 * 1024;
/// The most files that a glob for reports may name.
const MOST_FILES: usize = 10_000;
const TOO_LARGE_TOGETHER: &str = "all of its files together are larger than 64 MiB";

/// Returns the paths of the reports that the command or the check names: of several files those that are there in the project.
pub(super) fn named_report_paths(request: &ReportRequest, directory: &Path, root: &Path) -> Vec<PathBuf> {
    match request {
        ReportRequest::Own { path } => vec![directory.join(path)],
        ReportRequest::Several { directory, glob } => {
            let files = files_of_glob(root, directory, glob).unwrap_or_default();
            files.into_iter().map(|path| root.join(path)).collect()
        }
        ReportRequest::None | ReportRequest::Ours { .. } | ReportRequest::Inherited { .. } => Vec::new(),
    }
}

/// Returns the directory in which several reports lie, so that no two checks write to one at the same time.
pub(super) fn directory_of_reports(request: &ReportRequest, root: &Path) -> Option<PathBuf> {
    match request {
        ReportRequest::Several { directory, .. } => Some(root.join(directory)),
        ReportRequest::None | ReportRequest::Own { .. } | ReportRequest::Ours { .. } | ReportRequest::Inherited { .. } => None,
    }
}

/// Returns the files below a directory that a glob names, in the order of their names. All paths are relative to `base`.
fn files_of_glob(base: &Path, directory: &Path, glob: &str) -> Result<Vec<PathBuf>, String> {
    let glob = globset::GlobBuilder::new(glob).literal_separator(true).build().map_err(|error| error.to_string())?;
    let matcher = glob.compile_matcher();
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match std::fs::read_dir(base.join(&directory)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("`{}` cannot be read: {error}", directory.display())),
        };
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            let path = directory.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(_) if !matcher.is_match(&path) || path.to_string_lossy().ends_with(SUFFIX) => {}
                // What the snapshot says of a file that was removed is a device.
                Ok(kind) if kind.is_char_device() => {}
                Ok(kind) if kind.is_file() => found.push(path),
                Ok(_) => return Err(format!("`{}` is no file", path.display())),
                Err(error) => return Err(format!("`{}` cannot be read: {error}", path.display())),
            }
            if found.len() + open.len() > MOST_FILES {
                return Err(format!("the glob names more than {MOST_FILES} files"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads the files that a glob names into one report, each behind a line with its size and its path.
fn take_several(base: &Path, directory: &Path, glob: &str) -> ToolReport {
    let files = match files_of_glob(base, directory, glob) {
        Ok(files) if files.is_empty() => return ToolReport::Missing,
        Ok(files) => files,
        Err(why) => return ToolReport::Refused(why),
    };
    let mut all = Vec::new();
    for path in files {
        let left = REPORT_CAP - all.len() as u64;
        match read_artifact(base, &path, left) {
            Ok(artifact) => {
                let head = format!("{FILE_MARK}{} {}\n", artifact.bytes.len(), path.display());
                all.extend_from_slice(head.as_bytes());
                all.extend_from_slice(&artifact.bytes);
            }
            Err(ArtifactRefusal::TooBig { .. }) => return ToolReport::Refused(TOO_LARGE_TOGETHER.to_owned()),
            Err(refused) => return ToolReport::Refused(format!("`{}`: {refused}", path.display())),
        }
        if all.len() as u64 >= REPORT_CAP {
            return ToolReport::Refused(TOO_LARGE_TOGETHER.to_owned());
        }
    }
    ToolReport::Fresh(all)
}

/// Reads the report that the tool was asked for, from the action's output directory or from the path that the command
/// names. `mount` is the snapshot that the action worked in.
pub(super) fn take_report(
    request: &ReportRequest,
    output: &OutputDirectory,
    directory: &Path,
    root: &Path,
    mount: Option<&SnapshotMount>,
) -> ToolReport {
    match request {
        ReportRequest::None => ToolReport::NotRequested,
        ReportRequest::Ours { path, .. } | ReportRequest::Inherited { path } => {
            let name = path.file_name().map(Path::new).unwrap_or(Path::new(""));
            take_report_below(path.parent().unwrap_or(output.path()), name, output)
        }
        ReportRequest::Several { directory, glob } => {
            let written = mount.and_then(|mount| place_of_written(mount, root));
            let base = written.map_or_else(|| root.to_owned(), |(layer, _)| layer);
            take_several(&base, directory, glob)
        }
        ReportRequest::Own { path } => {
            let full = normalise_path(&directory.join(path));
            if let Some((layer, path)) = mount.and_then(|mount| place_of_written(mount, &full)) {
                return take_report_below(&layer, &path, output);
            }
            let (Some(base), Some(name)) = (full.parent(), full.file_name()) else {
                return ToolReport::Refused("its path names no file".to_owned());
            };
            take_report_below(base, Path::new(name), output)
        }
    }
}

/// Takes a report into the directory of an action's output. `relative` is its path from `base`.
pub fn take_report_below(base: &Path, relative: &Path, output: &OutputDirectory) -> ToolReport {
    match take_report_file(base, relative, REPORT_CAP, IN_MEMORY, output.path()) {
        Ok(TakenReport::Small(artifact)) => ToolReport::Fresh(artifact.bytes),
        Ok(TakenReport::Large(report)) => ToolReport::Large(report),
        Err(ArtifactRefusal::NotThere) => ToolReport::Missing,
        Err(refused) => ToolReport::Refused(refused.to_string()),
    }
}

fn as_report(taken: Result<Artifact, ArtifactRefusal>) -> ToolReport {
    match taken {
        Ok(artifact) => ToolReport::Fresh(artifact.bytes),
        Err(ArtifactRefusal::NotThere) => ToolReport::Missing,
        Err(refused) => ToolReport::Refused(refused.to_string()),
    }
}

/// Returns a report with every secret masked. A report that is read piece by piece is copied to another file without a name in the
/// directory `beside`.
pub(super) fn without_secrets(report: ToolReport, secrets: &Secrets, beside: &Path) -> ToolReport {
    if secrets.is_empty() {
        return report;
    }
    match report {
        ToolReport::Fresh(mut bytes) => {
            secrets.mask(&mut bytes);
            ToolReport::Fresh(bytes)
        }
        ToolReport::Large(large) => match masked_copy(&large, secrets, beside) {
            Ok(masked) => ToolReport::Large(masked),
            Err(error) => ToolReport::Refused(format!("its secrets could not be masked: {error}")),
        },
        report @ (ToolReport::NotRequested | ToolReport::Missing | ToolReport::Refused(_)) => report,
    }
}

fn masked_copy(large: &LargeReport, secrets: &Secrets, beside: &Path) -> std::io::Result<LargeReport> {
    let mut copy = create_unnamed_file(beside)?;
    let bytes = mask_stream(&mut large.reader(), &mut copy, &secrets.bytes())?;
    Ok(LargeReport::new(copy, bytes))
}

/// Returns the scripts of the `package.json` in the directory of an action.
pub(super) fn package_scripts(root: &Path, action: &Action) -> BTreeMap<String, String> {
    proctor_tools::scripts(&DiskFiles::new(root), &action.directory.to_string_lossy())
}

/// Returns the text of a source file of the project; `None` if it is no regular file, or larger than a source file is.
pub fn read_source(root: &Path, path: &Path) -> Option<String> {
    let ToolReport::Fresh(bytes) = as_report(read_artifact(root, path, SOURCE_CAP)) else { return None };
    String::from_utf8(bytes).ok()
}

/// Reads a report inside of the project, or inside of the snapshot that the action worked in.
pub(super) fn take_project_report(root: &Path, path: &Path, mount: Option<&SnapshotMount>) -> ToolReport {
    let written = mount.and_then(|mount| place_of_written(mount, &root.join(path)));
    let (directory, path) = written.unwrap_or_else(|| (root.to_owned(), path.to_owned()));
    as_report(read_artifact(&directory, &path, REPORT_CAP))
}

/// Resolves the links in the path of a file's directory, if the directory exists, so that two spellings of one path are
/// equal.
pub(super) fn normalise_path(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    directory.zip(path.file_name()).map_or_else(|| path.to_owned(), |(directory, name)| directory.join(name))
}

/// Returns the names in a directory; none if it cannot be read.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_large_report_is_masked_across_the_pieces_in_which_it_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let ambient = BTreeMap::from([(OsString::from("TOKEN"), OsString::from("hush&hush"))]);
        let secrets = Secrets::read(&ambient, &["TOKEN".to_owned()]);
        // Whatever the size of a piece is, a secret lies across the end of one.
        let text: String = (0..40_000).map(|at| format!("<t n=\"{at}\">hush&amp;hush</t>hush&hush ")).collect();
        let mut file = create_unnamed_file(directory.path()).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        let large = ToolReport::Large(LargeReport::new(file, text.len() as u64));
        let ToolReport::Large(masked) = without_secrets(large, &secrets, directory.path()) else { panic!("it stays large") };
        let mut read = String::new();
        masked.reader().read_to_string(&mut read).expect("text");
        assert!(!read.contains("hush"));
        assert_eq!((read.len(), masked.bytes()), (text.len(), text.len() as u64));
        assert!(read.starts_with("<t n=\"0\">*************</t>********* <t n"));
    }
}
