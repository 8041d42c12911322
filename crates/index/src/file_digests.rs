//! Caches digests of files that belong to tools, so that an interpreter is not hashed again for every run. The cache
//! can be lost without harm.

use rusqlite::params;

use crate::IndexError;
use crate::tables::Tables;
use proctor_model::Digest;

impl Tables {
    /// Returns all cached rows: path, stamp (size, inode and times) and digest. An unreadable row is left out; the
    /// caller then hashes the file again.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(super) fn file_digests(&self) -> Result<Vec<(String, String, Digest)>, IndexError> {
        let refused = |source| self.reader.refused("read", source);
        let mut statement = self.connection.prepare("SELECT path, stamp, digest FROM file_digests").map_err(refused)?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
            .map_err(refused)?;
        let rows = rows.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let read = rows.into_iter().filter_map(|(path, stamp, digest)| Some((path, stamp, Digest::try_from(digest).ok()?)));
        Ok(read.collect())
    }

    /// Caches digests of files: path, stamp (size, inode and times) and digest. Only the newest row of each file is
    /// kept.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub(super) fn remember_file_digests(&mut self, rows: &[(String, String, Digest)]) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction().map_err(refused)?;
        for (path, stamp, digest) in rows {
            let statement = "INSERT OR REPLACE INTO file_digests (path, stamp, digest) VALUES (?1, ?2, ?3)";
            transaction.execute(statement, params![path, stamp, digest.hex()]).map_err(refused)?;
        }
        transaction.commit().map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreIndex;

    #[test]
    fn a_file_has_the_digest_of_its_last_stamp() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut index =
            StoreIndex::open(&directory.path().join("state.db"), crate::testing::everything_counts).expect("an index").index;
        let row = |stamp: &str, text: &[u8]| ("/usr/bin/python".to_owned(), stamp.to_owned(), Digest::of(text));
        index.remember_file_digests(&[row("1", b"old")]).expect("written");
        index.remember_file_digests(&[row("2", b"new")]).expect("written");
        assert_eq!(index.file_digests().expect("read"), [row("2", b"new")]);
    }
}
