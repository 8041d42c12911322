//! Counts the names of types, and the types that look alike: there should be one type for each thing.
//!
//! The sources are parsed with `syn` and not searched as text, so that a field is known to be a field. Tests are left
//! out.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, Item, Visibility};

use crate::common::{SourceFile, is_for_tests, production_code, program_files};

/// Two types look alike if they have at least this many members in common, and [`PERCENT_SHARED`] holds too.
const FEWEST_SHARED: usize = 3;
/// Two types look alike if the common members are at least this percentage of the members of each type.
const PERCENT_SHARED: usize = 60;
/// The most rows that [`LOOK_ALIKES`] may have.
const MOST_PAIRS: usize = 33;

/// Pairs of types that look alike for a reason, each with the reason. Names and rows are in alphabetical order.
const LOOK_ALIKES: &[(&str, &str, &str)] = &[
    ("ActionDisposition", "DispositionV2", "the report's word, and what is kept of each"),
    ("ActionType", "RawParameters", "the word, and what a specification says beside it"),
    ("BlockOn", "RawTypeCheckBlockOn", "a type checker has no warnings, and the published schema says so"),
    ("ChangedFile", "DifferingFile", "the first has what two commits say, the second the digests of two trees"),
    ("CycleRequest", "TddVerb", "the command line has defaults, and a verb that only shows"),
    ("EarlyStartPlan", "ShardPreparation", "one process that is started before its run, and several of one run"),
    ("ExchangeRecordV1", "FileRecordV1", "each stored record says whose it is, and its keys lie flat"),
    ("ExpectedOutput", "RawExpectedOutput", "in a specification nearly everything may be left out"),
    ("GateChange", "GateChangeV1", "the document says whether it is asked about"),
    ("GatePolicy", "GatePolicyV1", "the document has words, and says where the policy comes from"),
    ("RunOutcome", "RunOutcomeV1", "the socket's form, a word without the run"),
    ("TestCounts", "TestTotalsV2", "the report's form has sum and rate beside them, and its keys lie flat"),
    (
        "FailureConditionV2",
        "SuccessConditionV2",
        "the report says `met` of one and `triggered` of the other, and its keys lie flat",
    ),
    ("FewerTests", "TestCountsChangeV2", "one number of a commit before this one, and all outcomes of the last green run"),
    ("FileCheck", "RawValidationType", "the word, and what a file is held to"),
    ("Freshness", "StateV1", "the socket's form"),
    ("HealthCheckV2", "HealthObservation", "the report's form"),
    ("LastVerdict", "VerdictV1", "the socket's form"),
    ("Message", "MypyItem", "two tools print their findings in forms of their own"),
    ("PackedRun", "PrunedRun", "what a line of an earlier version says, which has no reason"),
    ("PauseRecord", "PersonAsked", "the ledger's record, and the question that is shown of it or of an approval"),
    ("PreparedAttempt", "ReadAttempt", "what an attempt needs to be started, and what is left of it to be judged"),
    ("PresentConditions", "ReuseCriteria", "what holds now, and what a result was made under"),
    ("PurgePlan", "PurgeRecord", "the ledger's form, which also names the head before it"),
    (
        "RawAction",
        "RawActionFields",
        "the shape of the parameters follows from the type, which is read with everything else first",
    ),
    ("RawLintToolPolicy", "ToolPolicy", "in a specification nearly everything may be left out"),
    ("RawLintingStrategy", "RawTypeCheckingStrategy", "a type checker has no warnings, and the published schema says so"),
    ("RunningAttempt", "RunningShard", "an attempt has its action beside it, and all shards have one"),
    ("ServerAnswer", "TrialEnd", "what a server says in files, and what a program here printed"),
    ("TaskStatusV1", "VerdictStatus", "the socket's form"),
    ("TestCase", "TestRecordV1", "the form of a stored record"),
    ("TreeEntry", "TreeEntryV1", "the printed form"),
    ("VerifyOptions", "VerifyQuestion", "the words that were typed, and the question with its project found"),
];

/// The folders of types that are written to files or sent. Such a type may have the same name as the type that it
/// represents.
const WIRE: &[&str] = &["crates/evidence/src/report/wire/", "crates/api/src/"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Enum,
    Other,
}

/// The declaration of a type.
#[derive(Debug)]
struct Declared {
    path: String,
    name: String,
    kind: Kind,
    /// The names of the fields or variants.
    members: BTreeSet<String>,
    /// Whether the type is `pub` or `pub(crate)`.
    is_public: bool,
}

#[test]
fn no_name_is_taken_twice() {
    let types = declared_types(&program_files());
    let doubled = doubled_names(&types);
    let named: Vec<String> = doubled.iter().map(|(name, paths)| format!("`{name}`: {}", paths.join(", "))).collect();
    assert!(named.is_empty(), "each of these names has more than one type; rename all but one:\n{}", named.join("\n"));
}

#[test]
#[ignore = "long tier"]
fn types_that_look_alike_say_why_they_are_two() {
    let types = declared_types(&program_files());
    let pairs = look_alikes(&types);
    let listed: Vec<(&str, &str)> = LOOK_ALIKES.iter().map(|(first, second, _)| (*first, *second)).collect();
    let names = |(first, second): &(&Declared, &Declared)| (first.name.clone(), second.name.clone());
    let is_listed = |first: &Declared, second: &Declared| listed.contains(&(first.name.as_str(), second.name.as_str()));
    let new: Vec<String> = pairs
        .iter()
        .filter(|(first, second)| !is_listed(first, second))
        .map(|(first, second)| described(first, second))
        .collect();
    assert!(new.is_empty(), "make one type of each pair, or say in `LOOK_ALIKES` why they are two:\n{}", new.join("\n"));
    let found: BTreeSet<(String, String)> = pairs.iter().map(names).collect();
    let is_found = |(first, second): &(&str, &str)| found.contains(&((*first).to_owned(), (*second).to_owned()));
    let gone: Vec<_> = listed.iter().filter(|row| !is_found(row)).collect();
    assert!(gone.is_empty(), "these do not look alike any more, take them from the list: {gone:?}");
    assert!(LOOK_ALIKES.len() <= MOST_PAIRS, "{} pairs have a row, {MOST_PAIRS} are the most", LOOK_ALIKES.len());
}

#[test]
fn doubled_names_and_look_alikes_are_found() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let types = declared_types(&[
        file(
            "src/a.rs",
            "pub struct Seen { a: u8, b: u8, c: u8 }\nstruct Own { x: u8 }\n#[cfg(test)]\nmod tests { pub struct Seen; }",
        ),
        file("src/b.rs", "mod inner { pub(crate) enum Seen { A, B, C, D } }\npub(super) struct Own;"),
        file("src/c.rs", "pub struct More { pub a: u16, pub b: u16, pub c: u16, pub d: u16 }\n#[cfg(test)]\nmod samples;"),
        file("src/c/samples.rs", "pub struct More { a: u8, b: u8, c: u8 }"),
        file("src/d.rs", "enum Few { A, B, C, D, E, F, G }\nenum Many { A, B, C, X, Y }"),
        file("crates/api/src/seen.rs", "pub struct Kept;\npub struct Sent;"),
        file("src/e.rs", "pub struct Kept;"),
    ]);
    assert_eq!(doubled_names(&types).into_keys().collect::<Vec<_>>(), ["Seen"], "{types:?}");
    let names = |(first, second): &(&Declared, &Declared)| (first.name.clone(), second.name.clone());
    let expected = [("Many", "Seen"), ("More", "Seen")].map(|(first, second)| (first.to_owned(), second.to_owned()));
    assert_eq!(look_alikes(&types).iter().map(names).collect::<Vec<_>>(), expected);
}

/// Returns the types of all files but those of tests.
fn declared_types(files: &[SourceFile]) -> Vec<Declared> {
    let mut types = Vec::new();
    for (file, code) in production_code(files) {
        collect_types(&file.path, &code.items, &mut types);
    }
    types
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`Item` is not exhaustive, and all other items are no types")]
fn collect_types(path: &str, items: &[Item], types: &mut Vec<Declared>) {
    for item in items {
        let (name, attributes, visibility, kind, members) = match item {
            Item::Struct(item) => (&item.ident, &item.attrs, &item.vis, Kind::Struct, field_names(&item.fields)),
            Item::Enum(item) => {
                let variants = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
                (&item.ident, &item.attrs, &item.vis, Kind::Enum, variants)
            }
            Item::Union(item) => (&item.ident, &item.attrs, &item.vis, Kind::Other, BTreeSet::new()),
            Item::Trait(item) => (&item.ident, &item.attrs, &item.vis, Kind::Other, BTreeSet::new()),
            Item::Type(item) => (&item.ident, &item.attrs, &item.vis, Kind::Other, BTreeSet::new()),
            Item::Macro(declared) if declared.mac.path.is_ident("words_of") => {
                // `NAME for WHOLE: VARIANT MEANT, …`
                let words = declared.mac.tokens.clone().into_iter().map(|token| token.to_string());
                let words: Vec<String> = words.filter(|word| word.starts_with(char::is_alphabetic)).collect();
                let members = words.iter().skip(3).step_by(2).cloned().collect();
                types.push(Declared {
                    path: path.to_owned(),
                    name: words[0].clone(),
                    kind: Kind::Enum,
                    members,
                    is_public: true,
                });
                continue;
            }
            Item::Mod(module) if !is_for_tests(&module.attrs) => {
                collect_types(path, module.content.as_ref().map_or(&[], |(_, items)| items.as_slice()), types);
                continue;
            }
            _ => continue,
        };
        if !is_for_tests(attributes) {
            let is_public = match visibility {
                Visibility::Public(_) => true,
                Visibility::Restricted(restricted) => restricted.path.is_ident("crate"),
                Visibility::Inherited => false,
            };
            types.push(Declared { path: path.to_owned(), name: name.to_string(), kind, members, is_public });
        }
    }
}

fn field_names(fields: &Fields) -> BTreeSet<String> {
    fields.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string).collect()
}

/// Returns the names that more than one visible type has, each with the files that declare it.
fn doubled_names(types: &[Declared]) -> BTreeMap<String, Vec<&str>> {
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let is_wire = |path: &str| WIRE.iter().any(|folder| path.starts_with(folder));
    for declared in types.iter().filter(|declared| declared.is_public) {
        named.entry(declared.name.clone()).or_default().push(&declared.path);
    }
    named.retain(|_, paths| {
        let own = paths.iter().filter(|path| !is_wire(path)).count();
        own > 1 || paths.len() - own > 1
    });
    named
}

/// Returns the pairs of structs and the pairs of enums that look alike. The names of a pair are in alphabetical order.
fn look_alikes(types: &[Declared]) -> Vec<(&Declared, &Declared)> {
    let mut pairs = Vec::new();
    for (index, one) in types.iter().enumerate() {
        for other in &types[index + 1..] {
            let shared = one.members.intersection(&other.members).count();
            let most = one.members.len().max(other.members.len());
            if one.kind == other.kind && shared >= FEWEST_SHARED && shared * 100 >= most * PERCENT_SHARED {
                pairs.push(if one.name <= other.name { (one, other) } else { (other, one) });
            }
        }
    }
    pairs.sort_by_key(|(first, second)| (&first.name, &second.name));
    pairs
}

fn described(first: &Declared, second: &Declared) -> String {
    let shared: Vec<&str> = first.members.intersection(&second.members).map(String::as_str).collect();
    format!(
        "{} ({}, {} members) and {} ({}, {}) share {}: {}",
        first.name,
        first.path,
        first.members.len(),
        second.name,
        second.path,
        second.members.len(),
        shared.len(),
        shared.join(", ")
    )
}
