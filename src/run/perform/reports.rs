//! Finds and reads the reports of tools, after all processes have ended that could change them (E12).

use std::path::{Path, PathBuf};

use crate::evidence::{Artifact, ArtifactRefusal, OutputDirectory, read_artifact};
use crate::model::ToolReport;
use crate::tools::ReportRequest;

/// The largest report that is read.
const REPORT_CAP: u64 = 64 * 1024 * 1024;

/// Returns the path of a report that the command itself names.
pub(super) fn named_report_path(request: &ReportRequest, directory: &Path) -> Option<PathBuf> {
    match request {
        ReportRequest::Own { path } => Some(directory.join(path)),
        ReportRequest::None | ReportRequest::Ours { .. } | ReportRequest::Inherited { .. } => None,
    }
}

/// Reads the report that the tool was asked for, from the action's output directory or from the path that the command
/// names.
pub(super) fn take_report(request: &ReportRequest, output: &OutputDirectory, directory: &Path) -> ToolReport {
    match request {
        ReportRequest::None => ToolReport::NotRequested,
        ReportRequest::Ours { path, .. } | ReportRequest::Inherited { path } => {
            let name = path.file_name().map(Path::new).unwrap_or(Path::new(""));
            as_report(output.read_artifact(name, REPORT_CAP))
        }
        ReportRequest::Own { path } => {
            let full = directory.join(path);
            let (Some(base), Some(name)) = (full.parent(), full.file_name()) else {
                return ToolReport::Refused("its path names no file".to_owned());
            };
            as_report(read_artifact(base, Path::new(name), REPORT_CAP))
        }
    }
}

fn as_report(taken: Result<Artifact, ArtifactRefusal>) -> ToolReport {
    match taken {
        Ok(artifact) => ToolReport::Fresh(artifact.bytes),
        Err(ArtifactRefusal::NotThere) => ToolReport::Missing,
        Err(refused) => ToolReport::Refused(refused.to_string()),
    }
}

/// Reads a report inside of the project.
pub(super) fn take_project_report(root: &Path, path: &Path) -> ToolReport {
    as_report(read_artifact(root, path, REPORT_CAP))
}
