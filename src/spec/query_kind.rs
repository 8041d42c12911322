//! Decides whether a query only reads rows, or changes something.

use crate::model::QueryKind;
use crate::spec::specification::RawQueryType;

/// The first words of statements that return rows and change nothing.
const READING: &[&str] = &["select", "values", "table"];

/// Words of statements inside of `WITH …` that change rows.
const CHANGING: &[&str] = &["insert", "update", "delete", "merge", "replace"];

/// Returns the kind of a query: what `queryType` says, otherwise what its words show.
pub(in crate::spec) fn query_kind(said: Option<RawQueryType>, query: &str) -> QueryKind {
    match said {
        Some(RawQueryType::Select) => QueryKind::Reads,
        Some(
            RawQueryType::Insert | RawQueryType::Update | RawQueryType::Delete | RawQueryType::Ddl | RawQueryType::Procedure,
        ) => QueryKind::Changes,
        None => {
            let words = query.split(|part: char| !part.is_ascii_alphanumeric() && part != '_').filter(|word| !word.is_empty());
            let mut words = words.map(str::to_ascii_lowercase);
            let first = words.next().unwrap_or_default();
            let reads =
                READING.contains(&first.as_str()) || (first == "with" && !words.any(|word| CHANGING.contains(&word.as_str())));
            if reads { QueryKind::Reads } else { QueryKind::Changes }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_is_told_from_what_changes() {
        for (query, expected) in [
            (" select 1", QueryKind::Reads),
            ("(SELECT 1)", QueryKind::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT 1) DELETE FROM b", QueryKind::Changes),
            ("INSERT INTO a VALUES (1)", QueryKind::Changes),
            ("pragma journal_mode = wal", QueryKind::Changes),
            ("", QueryKind::Changes),
        ] {
            assert_eq!(query_kind(None, query), expected, "{query}");
        }
        assert_eq!(query_kind(Some(RawQueryType::Procedure), "select f()"), QueryKind::Changes);
        assert_eq!(query_kind(Some(RawQueryType::Select), "explain select 1"), QueryKind::Reads);
    }
}
