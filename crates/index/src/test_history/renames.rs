//! Knows tests again that were renamed or moved: they keep their number, so all their results stay one past.
//!
//! A test is the renamed one of the last run if it alone has that one's source text, and is in the same file or has the same title.
//! In every other case the old test counts as gone and the new one as new.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::test_history::codec::decode_roster;
use crate::test_history::{ListedTest, TestIdentity};
use crate::words::to_integer;
use proctor_model::{Digest, ProjectId, Sequence, TestBody};

/// A list with fewer tests than this many parts less one of another list is much shorter: nine of ten.
const SHORTEST_OF: usize = 10;
/// How many of a check's newest results are compared to find the last list of all its tests.
const COMPARED: u32 = 10;

/// What the index keeps of a test's identity. File and title are compared only, so marks of them are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StoredIdentity {
    body_mark: i64,
    file_mark: i64,
    title_mark: i64,
}

impl StoredIdentity {
    fn of(identity: &TestIdentity) -> Option<Self> {
        let TestBody(body) = identity.body?;
        Some(Self { body_mark: to_integer(body), file_mark: mark(&identity.file), title_mark: mark(&identity.title) })
    }
}

/// Returns the numbers of tests that have new names, by their place in the list. `numbers` has the number of each test that is known by
/// its name. A list that is much shorter than the last one renames none: the tests that it lacks may just not have run.
pub(super) fn find_renamed(
    connection: &Connection,
    project: &ProjectId,
    check: u32,
    tests: &[ListedTest],
    numbers: &[Option<u32>],
) -> rusqlite::Result<BTreeMap<usize, u32>> {
    let mut fresh: BTreeMap<i64, Vec<(usize, StoredIdentity)>> = BTreeMap::new();
    for (place, test) in tests.iter().enumerate().filter(|(place, _)| numbers[*place].is_none()) {
        if let Some(identity) = StoredIdentity::of(&test.identity) {
            fresh.entry(identity.body_mark).or_default().push((place, identity));
        }
    }
    if fresh.is_empty() {
        return Ok(BTreeMap::new());
    }
    let last = last_list(connection, project, check)?;
    if is_much_shorter(tests.len(), last.len()) {
        return Ok(BTreeMap::new());
    }
    let known = identities(connection, project, check)?;
    let present: BTreeSet<u32> = numbers.iter().flatten().copied().collect();
    // A source text that a present test has or had does not identify a test that is gone.
    let named = tests.iter().zip(numbers).filter(|(_, number)| number.is_some());
    let now = named.filter_map(|(test, _)| StoredIdentity::of(&test.identity));
    let before = present.iter().filter_map(|number| known.get(number).copied());
    let taken: BTreeSet<i64> = now.chain(before).map(|identity| identity.body_mark).collect();
    let mut gone: BTreeMap<i64, Vec<(u32, StoredIdentity)>> = BTreeMap::new();
    for number in last.into_iter().filter(|number| !present.contains(number)) {
        if let Some(identity) = known.get(&number).filter(|identity| !taken.contains(&identity.body_mark)) {
            gone.entry(identity.body_mark).or_default().push((number, *identity));
        }
    }
    let mut renamed = BTreeMap::new();
    for (body, fresh) in fresh {
        let ([(place, now)], Some([(number, before)])) = (fresh.as_slice(), gone.get(&body).map(Vec::as_slice)) else { continue };
        if now.file_mark == before.file_mark || now.title_mark == before.title_mark {
            renamed.insert(*place, *number);
        }
    }
    Ok(renamed)
}

/// Gives a test another name, and keeps the one that it had. A name that it had before is kept once.
pub(super) fn rename(
    connection: &Connection,
    project: &ProjectId,
    sequence: Sequence,
    number: u32,
    key: i64,
    test: &ListedTest,
) -> rusqlite::Result<()> {
    let keep = "INSERT OR REPLACE INTO history_former_names (project, number, key, sequence, id, report_name) \
                SELECT project, number, key, ?3, id, report_name FROM history_tests WHERE project = ?1 AND number = ?2";
    connection.execute(keep, params![project.as_str(), number, to_integer(sequence.0)])?;
    let rename = "UPDATE history_tests SET key = ?3, id = ?4, report_name = ?5 WHERE project = ?1 AND number = ?2";
    connection.execute(rename, params![project.as_str(), number, key, test.id, test.report_name]).map(drop)
}

/// Stores the identities of tests that have changed. `numbers` has the number of each test in `tests`.
pub(super) fn note_identities(
    connection: &Connection,
    project: &ProjectId,
    check: u32,
    tests: &[ListedTest],
    numbers: &[u32],
) -> rusqlite::Result<()> {
    let listed = numbers.iter().zip(tests).filter_map(|(number, test)| Some((*number, StoredIdentity::of(&test.identity)?)));
    let listed: BTreeMap<u32, StoredIdentity> = listed.collect();
    if listed.is_empty() {
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(listed.len() * 28);
    for (number, identity) in &listed {
        bytes.extend_from_slice(&number.to_be_bytes());
        [identity.body_mark, identity.file_mark, identity.title_mark]
            .iter()
            .for_each(|part| bytes.extend_from_slice(&part.to_be_bytes()));
    }
    let digest = Digest::of(&bytes).hex();
    let statement = "SELECT identities FROM history_checks WHERE project = ?1 AND number = ?2";
    let before: Option<Option<String>> =
        connection.query_row(statement, params![project.as_str(), check], |row| row.get(0)).optional()?;
    if before.flatten().as_ref() == Some(&digest) {
        return Ok(());
    }
    let known = identities(connection, project, check)?;
    let mut update =
        connection.prepare("UPDATE history_tests SET body = ?3, file = ?4, title = ?5 WHERE project = ?1 AND number = ?2")?;
    for (number, identity) in listed.iter().filter(|(number, identity)| known.get(number) != Some(identity)) {
        update.execute(params![project.as_str(), number, identity.body_mark, identity.file_mark, identity.title_mark])?;
    }
    let statement = "UPDATE history_checks SET identities = ?3 WHERE project = ?1 AND number = ?2";
    connection.execute(statement, params![project.as_str(), check, digest]).map(drop)
}

fn identities(connection: &Connection, project: &ProjectId, check: u32) -> rusqlite::Result<BTreeMap<u32, StoredIdentity>> {
    let statement =
        "SELECT number, body, file, title FROM history_tests WHERE project = ?1 AND check_number = ?2 AND body NOT NULL";
    let mut statement = connection.prepare(statement)?;
    let identity = |row: &rusqlite::Row<'_>| {
        Ok((row.get(0)?, StoredIdentity { body_mark: row.get(1)?, file_mark: row.get(2)?, title_mark: row.get(3)? }))
    };
    statement.query_map(params![project.as_str(), check], identity)?.collect()
}

/// Returns the numbers of the tests of a check's last result that has a list of all tests. A list that is much shorter than another one of
/// the newest results is passed over: in that run a file could not be read, or only some tests were asked for.
fn last_list(connection: &Connection, project: &ProjectId, check: u32) -> rusqlite::Result<Vec<u32>> {
    let statement = "SELECT r.tests FROM history_results c JOIN history_rosters r ON r.project = c.project AND r.number = c.roster \
                     WHERE c.project = ?1 AND c.check_number = ?2 ORDER BY c.sequence DESC, c.attempt DESC LIMIT ?3";
    let mut statement = connection.prepare(statement)?;
    let lists = statement.query_map(params![project.as_str(), check, COMPARED], |row| row.get::<_, Vec<u8>>(0))?;
    let lists: Vec<Vec<u8>> = lists.collect::<rusqlite::Result<_>>()?;
    let lists: Vec<Vec<u32>> = lists.iter().filter_map(|list| decode_roster(list)).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    Ok(lists.into_iter().find(|list| !is_much_shorter(list.len(), longest)).unwrap_or_default())
}

fn is_much_shorter(one: usize, other: usize) -> bool {
    one * SHORTEST_OF < other * (SHORTEST_OF - 1)
}

fn mark(text: &str) -> i64 {
    let first = Digest::of(text.as_bytes()).as_bytes().first_chunk().copied().unwrap_or_default();
    i64::from_be_bytes(first)
}
