//! Decides whether a query only reads rows, or changes something.

use crate::spec::specification::RawQueryType;
use proctor_model::{QueryKind, SqlPart, sql_parts};

/// The first words of statements that return rows and change nothing.
const READING: &[&str] = &["select", "values", "table"];

/// The first words of statements inside of `WITH …` that change rows.
const CHANGING: &[&str] = &["insert", "update", "delete", "merge", "replace"];

/// Returns the kind of a query: what `queryType` says, otherwise what its words show.
pub(in crate::spec) fn query_kind(said: Option<RawQueryType>, query: &str) -> QueryKind {
    match said {
        Some(RawQueryType::Select) => QueryKind::Reads,
        Some(
            RawQueryType::Insert | RawQueryType::Update | RawQueryType::Delete | RawQueryType::Ddl | RawQueryType::Procedure,
        ) => QueryKind::Changes,
        None => {
            let parts = sql_parts(query);
            let first = parts.iter().position(|part| *part != SqlPart::Sign('('));
            let reads = match first.map(|first| (&parts[first], &parts[first + 1..])) {
                Some((SqlPart::Word(word), rest)) => {
                    READING.contains(&word.as_str()) || (word == "with" && !has_changing_statement(rest))
                }
                Some((SqlPart::Quoted | SqlPart::Sign(_), _)) | None => false,
            };
            if reads { QueryKind::Reads } else { QueryKind::Changes }
        }
    }
}

/// Returns whether a statement in the parts of a `WITH …` changes rows. A statement stands at the beginning of a bracket or behind the
/// end of one; `replace(` is a call.
fn has_changing_statement(parts: &[SqlPart]) -> bool {
    parts.windows(2).enumerate().any(|(place, pair)| {
        let next = parts.get(place + 2);
        let begins = matches!(pair[0], SqlPart::Sign('(' | ')'));
        let is_changing = matches!(&pair[1], SqlPart::Word(word) if CHANGING.contains(&word.as_str()));
        begins && is_changing && next != Some(&SqlPart::Sign('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_is_told_from_what_changes() {
        for (query, expected) in [
            (" select 1", QueryKind::Reads),
            ("(SELECT 1)", QueryKind::Reads),
            ("-- all quotes\nSELECT * FROM quotes", QueryKind::Reads),
            ("/* quotes */ ((select 1))", QueryKind::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT replace(name, 'x', 'y') AS n FROM quotes) SELECT * FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a WHERE state = 'delete' -- ) delete", QueryKind::Reads),
            ("WITH a AS (SELECT (\"update\")) SELECT (replace(n, 'a', 'b')) FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT 1) DELETE FROM b", QueryKind::Changes),
            ("WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a", QueryKind::Changes),
            ("with a as (select 1) /* c */ insert into b select * from a", QueryKind::Changes),
            ("INSERT INTO a VALUES (1)", QueryKind::Changes),
            ("-- select\ndelete from a", QueryKind::Changes),
            ("pragma journal_mode = wal", QueryKind::Changes),
            ("", QueryKind::Changes),
        ] {
            assert_eq!(query_kind(None, query), expected, "{query}");
        }
        assert_eq!(query_kind(Some(RawQueryType::Procedure), "select f()"), QueryKind::Changes);
        assert_eq!(query_kind(Some(RawQueryType::Select), "explain select 1"), QueryKind::Reads);
    }
}
