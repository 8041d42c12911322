//! Random ids from `/dev/urandom`: a new project's id, and the name of a test that is expected to fail.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::failed;
use crate::{EvidenceError, FileOperation};
use proctor_model::ProjectId;

const RANDOM_SOURCE: &str = "/dev/urandom";

/// Makes the id of a new project from its directory's name and 32 random bits.
pub fn mint_project_id(directory_name: &str) -> Result<ProjectId, EvidenceError> {
    let source = Path::new(RANDOM_SOURCE);
    let mut bytes = [0_u8; 4];
    let mut file = File::open(source).map_err(failed(FileOperation::Open, source))?;
    file.read_exact(&mut bytes).map_err(failed(FileOperation::Read, source))?;
    Ok(ProjectId::mint(directory_name, u32::from_ne_bytes(bytes)))
}

/// Returns sixteen random hexadecimal digits, which no test can know in advance.
pub fn mint_nonce() -> Result<String, EvidenceError> {
    let source = Path::new(RANDOM_SOURCE);
    let mut bytes = [0_u8; 8];
    let mut file = File::open(source).map_err(failed(FileOperation::Open, source))?;
    file.read_exact(&mut bytes).map_err(failed(FileOperation::Read, source))?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_projects_of_one_name_get_two_ids() {
        let ids: Vec<_> = (0..3).map(|_| mint_project_id("shop").unwrap()).collect();
        assert!(ids.iter().all(|id| id.as_str().starts_with("shop-")));
        assert!(ids[0] != ids[1] || ids[1] != ids[2], "{ids:?}");
    }
}
