//! Faults of store and index that the simulator has to find when somebody plants them: `mutants.json`, with the seed of the first schedule that found each.
//! `.ci/mutants.py` plants them.

use std::path::Path;

/// The most schedules after which a planted fault may be found.
const MOST_SCHEDULES: u64 = 20_000;

#[test]
fn every_planted_fault_fits_into_the_code_at_one_place() {
    let rows: serde_json::Value = serde_json::from_str(include_str!("mutants.json")).expect("a JSON document");
    let rows = rows.as_array().expect("a list");
    assert!(rows.len() >= 11, "{}", rows.len());
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {row}"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(text("file"));
        let code = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(code.matches(text("old")).count(), 1, "{}: {}", text("file"), text("what"));
        assert!(row["seed"].as_u64().is_some_and(|seed| (1..=MOST_SCHEDULES).contains(&seed)), "{row}");
    }
}
