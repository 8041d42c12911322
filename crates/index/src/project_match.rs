//! Finds out which registered project a directory belongs to. Path, inode and repository are compared together, and
//! nothing is guessed.

use rusqlite::params;

use crate::IndexError;
use crate::tables::Tables;
use crate::words::{from_integer, to_integer};
use proctor_model::{Digest, ProjectId, RootIdentity, Sequence};

/// A registered project, as the index knows it from the registration lines of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedProject {
    pub id: ProjectId,
    pub root: RootIdentity,
    /// The digest of the plan that was approved by registering the project.
    pub plan_digest: Digest,
    /// The ledger line of the last registration, which names this root.
    pub registered: Sequence,
}

/// The result of searching for the registered project whose root is a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectMatch {
    Known(ProjectId),
    /// The directory resembles these projects but differs from what was registered, so a person must decide. The list
    /// is never empty.
    Mismatch(Vec<ProjectMismatch>),
    /// The directory is no registered project.
    Unknown,
}

/// A registered project that a directory resembles: some of path, inode and Git repository agree, and some differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectMismatch {
    pub project: IndexedProject,
    /// How the directory differs from the registered project. The list is never empty.
    pub differences: Vec<ProjectDifference>,
}

/// A registered property of a project that a directory may not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectDifference {
    /// The path differs: the directory was moved, or is reached by another path.
    Path,
    /// The inode differs: the directory at this path was replaced, restored or cloned anew.
    Inode,
    /// The Git repository differs: it is another repository, or it was created or removed.
    GitCommonDirectory,
}

impl Tables {
    /// Returns every registered project, sorted by id.
    pub(super) fn projects(&self) -> Result<Vec<IndexedProject>, IndexError> {
        self.read_projects(
            "SELECT id, path, device, inode, git_common_directory, plan_digest, registered_sequence FROM projects ORDER BY id",
            params![],
        )
    }

    pub(super) fn project(&self, id: &ProjectId) -> Result<Option<IndexedProject>, IndexError> {
        let statement = "SELECT id, path, device, inode, git_common_directory, plan_digest, registered_sequence FROM projects \
                         WHERE id = ?1";
        self.read_projects(statement, params![id.as_str()]).map(|projects| projects.into_iter().next())
    }

    /// Finds the project whose root is this directory, by comparing path, device, inode and Git directory.
    ///
    /// A different device number alone is no difference, because some file systems get a new number at every boot
    /// (stat(2) promises nothing). When a project is searched for at another path, the device is compared too, because
    /// inode numbers repeat between devices.
    pub(super) fn find_project(
        &self,
        path: &str,
        device: u64,
        inode: u64,
        git_common_directory: Option<&str>,
    ) -> Result<ProjectMatch, IndexError> {
        let statement = "SELECT id, path, device, inode, git_common_directory, plan_digest, registered_sequence FROM projects \
                         WHERE path = ?1 OR (device = ?2 AND inode = ?3) ORDER BY registered_sequence DESC, id";
        let mut mismatches = Vec::new();
        for project in self.read_projects(statement, params![path, to_integer(device), to_integer(inode)])? {
            let comparisons = [
                (project.root.path != path, ProjectDifference::Path),
                (project.root.inode != inode, ProjectDifference::Inode),
                (project.root.git_common_directory.as_deref() != git_common_directory, ProjectDifference::GitCommonDirectory),
            ];
            let differences: Vec<_> =
                comparisons.into_iter().filter_map(|(differs, difference)| differs.then_some(difference)).collect();
            if differences.is_empty() {
                return Ok(ProjectMatch::Known(project.id));
            }
            mismatches.push(ProjectMismatch { project, differences });
        }
        Ok(if mismatches.is_empty() { ProjectMatch::Unknown } else { ProjectMatch::Mismatch(mismatches) })
    }

    fn read_projects(&self, statement: &str, values: impl rusqlite::Params) -> Result<Vec<IndexedProject>, IndexError> {
        let rows = self.read_rows(statement, values, |row| {
            let numbers: (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(6)?);
            let texts: (String, String, Option<String>, String) = (row.get(0)?, row.get(1)?, row.get(4)?, row.get(5)?);
            Ok((texts, numbers))
        })?;
        let to_project = |((id, path, git_common_directory, plan_digest), (device, inode, registered))| {
            Ok(IndexedProject {
                id: self.reader.word("project id", id)?,
                root: RootIdentity { path, device: from_integer(device), inode: from_integer(inode), git_common_directory },
                plan_digest: self.reader.word("digest", plan_digest)?,
                registered: Sequence(from_integer(registered)),
            })
        };
        rows.into_iter().map(to_project).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestIndex, project, registration};

    fn index() -> TestIndex {
        let mut test = TestIndex::new();
        test.append("shop-00000001", registration("shop-00000001", "/p/shop", 7, Some("/p/shop/.git")));
        test.append("till-00000002", registration("till-00000002", "/p/till", 8, None));
        test
    }

    fn differences(found: ProjectMatch) -> Vec<(String, Vec<ProjectDifference>)> {
        match found {
            ProjectMatch::Mismatch(mismatches) => {
                mismatches.into_iter().map(|mismatch| (mismatch.project.id.to_string(), mismatch.differences)).collect()
            }
            ProjectMatch::Known(_) | ProjectMatch::Unknown => panic!("{found:?}"),
        }
    }

    #[test]
    fn a_directory_is_known_only_when_everything_agrees() {
        let test = index();
        let shop = |path, inode, git| test.index.find_project(path, 1, inode, git).unwrap();
        assert_eq!(shop("/p/shop", 7, Some("/p/shop/.git")), ProjectMatch::Known(project("shop-00000001")));
        assert_eq!(shop("/p/new", 9, None), ProjectMatch::Unknown);
        let named = |differences: &[ProjectDifference]| vec![("shop-00000001".to_owned(), differences.to_vec())];
        assert_eq!(differences(shop("/p/shop", 9, Some("/p/shop/.git"))), named(&[ProjectDifference::Inode]));
        assert_eq!(
            differences(shop("/q/shop", 7, Some("/q/shop/.git"))),
            named(&[ProjectDifference::Path, ProjectDifference::GitCommonDirectory])
        );
        assert_eq!(differences(shop("/p/shop", 7, None)), named(&[ProjectDifference::GitCommonDirectory]));
        assert_eq!(differences(shop("/p/till", 7, None)).len(), 2);
    }

    #[test]
    fn another_device_number_is_the_same_project_at_its_path_and_nobody_elsewhere() {
        let test = index();
        let found = test.index.find_project("/p/till", 99, 8, None).unwrap();
        assert_eq!(found, ProjectMatch::Known(project("till-00000002")));
        assert_eq!(test.index.find_project("/q/till", 99, 8, None).unwrap(), ProjectMatch::Unknown);
    }

    #[test]
    fn the_last_registration_of_a_project_holds() {
        let mut test = index();
        test.append("shop-00000001", registration("shop-00000001", "/q/shop", 7, None));
        assert_eq!(test.index.projects().unwrap().len(), 2);
        assert_eq!(test.index.project(&project("shop-00000001")).unwrap().unwrap().root.path, "/q/shop");
        let found = test.index.find_project("/q/shop", 1, 7, None).unwrap();
        assert_eq!(found, ProjectMatch::Known(project("shop-00000001")));
    }

    #[test]
    fn a_new_project_at_an_old_path_is_found_before_the_old_one() {
        let mut test = index();
        test.append("shop-00000009", registration("shop-00000009", "/p/shop", 70, None));
        let found = test.index.find_project("/p/shop", 1, 70, None).unwrap();
        assert_eq!(found, ProjectMatch::Known(project("shop-00000009")));
    }
}
