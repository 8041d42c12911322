//! Tests of the claims, with messages of `fixtures/hooks/claims`: one message a line, `\n` stands for a line end.
//!
//! The sets `held-out`, `blind`, `last` and `final` were each written before the table was measured with them and then changed: of their
//! lies the table found 41, 90, 84 and 50 of 100 then (`final` is the set with the rarest wordings), and accused 2 of 204, 2 of 208,
//! 2 of 134 and 0 of 90 honest messages. The set `corrections` came later: messages whose honest part stands in another sentence than the words of the claim,
//! which the table accused in 66 of 126, and lies of which it found 15 of 62. The set `exceptions` has what a hostile reader found, with
//! neighbours in every language: the table accused 192 of 238 and found 42 of 72. The set `unseen` was written when the rules for it were
//! done: they accused 14 of 60 and found 58 of 60 (the rules before accused 29 and found 58). `second` was written when the rules for `unseen` were
//! done: they accused 6 of 60 and found 57 of 60 (the first rules accused 25 and found 58). So a claim in words that nobody has thought of here is missed more often than the tests show.

use super::*;

/// Sets of messages: the name, those that make no claim, and those that make one.
const SETS: &[(&str, &str, &str)] = &[
    (
        "first",
        include_str!("../../../../../fixtures/hooks/claims/honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/lies.txt"),
    ),
    (
        "held-out",
        include_str!("../../../../../fixtures/hooks/claims/held-out-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/held-out-lies.txt"),
    ),
    (
        "blind",
        include_str!("../../../../../fixtures/hooks/claims/blind-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/blind-lies.txt"),
    ),
    (
        "last",
        include_str!("../../../../../fixtures/hooks/claims/last-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/last-lies.txt"),
    ),
    (
        "final",
        include_str!("../../../../../fixtures/hooks/claims/final-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/final-lies.txt"),
    ),
    (
        "corrections",
        include_str!("../../../../../fixtures/hooks/claims/corrections-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/corrections-lies.txt"),
    ),
    (
        "exceptions",
        include_str!("../../../../../fixtures/hooks/claims/exceptions-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/exceptions-lies.txt"),
    ),
    (
        "unseen",
        include_str!("../../../../../fixtures/hooks/claims/unseen-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/unseen-lies.txt"),
    ),
    (
        "second",
        include_str!("../../../../../fixtures/hooks/claims/second-honest.txt"),
        include_str!("../../../../../fixtures/hooks/claims/second-lies.txt"),
    ),
];

fn messages(text: &str) -> Vec<String> {
    text.lines().map(|line| line.replace("\\n", "\n")).collect()
}

#[test]
fn messages_without_a_claim_are_not_accused() {
    let honest: Vec<String> = SETS.iter().flat_map(|(_, honest, _)| messages(honest)).collect();
    assert!(honest.len() >= 1000, "{}", honest.len());
    let accused: Vec<(String, String)> =
        honest.into_iter().filter_map(|message| find_claim(&message).map(|claim| (message, claim.phrase))).collect();
    for (name, honest, _) in SETS {
        let honest = messages(honest);
        let accused = honest.iter().filter(|message| find_claim(message).is_some()).count();
        println!("{name}: {accused} of {} honest messages are accused", honest.len());
    }
    assert!(
        accused.is_empty(),
        "{}",
        accused.iter().map(|(message, phrase)| format!("{message} -> {phrase}\n")).collect::<String>()
    );
}

#[test]
fn nearly_every_lie_is_found_and_each_language_has_some() {
    for (name, _, lies) in SETS {
        let lies = messages(lies);
        assert!(lies.len() >= 60, "{name}: {}", lies.len());
        let missed: Vec<&String> = lies.iter().filter(|message| find_claim(message).is_none()).collect();
        println!("{name}: {} of {} lies are found", lies.len() - missed.len(), lies.len());
        assert!(missed.len() * 20 <= lies.len(), "{name}: {missed:#?}");
    }
    let found = |text: &str| messages(text).iter().filter(|message| find_claim(message).is_some()).count();
    let accused: usize = SETS.iter().map(|(_, honest, _)| found(honest)).sum();
    let (lies, caught): (usize, usize) =
        SETS.iter().fold((0, 0), |(lies, caught), (_, _, text)| (lies + messages(text).len(), caught + found(text)));
    println!("precision {caught} of {}, recall {caught} of {lies}", caught + accused);
}

#[test]
fn a_part_that_is_left_out_of_sentences_is_never_empty() {
    // An empty pattern matches between all characters, and a replacement there takes every word apart.
    for row in LANGUAGES {
        assert!(!row.harmless.is_empty() && !row.mended.is_empty(), "{}", row.name);
    }
}

#[test]
fn a_bare_word_counts_only_where_the_message_speaks_of_tests() {
    assert_eq!(find_claim("Opened the page in the browser and checked the link. Verified."), None);
    assert!(find_claim("I ran the tests and looked at every line. Verified.").is_some());
}

#[test]
fn every_part_of_a_pattern_is_used_and_no_name_is_left_in_one() {
    for row in LANGUAGES {
        let patterns: Vec<&str> = row.claims.iter().map(|(_, pattern)| *pattern).collect();
        let all = [&patterns[..], &[row.lead, row.before, row.after, row.tail, row.goes_on, row.label, row.harmless]].concat();
        for (place, (name, _)) in row.parts.iter().enumerate() {
            let later = row.parts[place + 1..].iter().map(|(_, part)| *part);
            let is_used = all.iter().copied().chain(later).any(|text| text.contains(&format!("<{name}>")));
            assert!(is_used, "{}: <{name}>", row.name);
        }
        let texts = all.iter().copied().chain(row.parts.iter().map(|(_, part)| *part));
        for text in texts {
            for named in text.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0)) {
                assert!(row.parts.iter().any(|(name, _)| *name == named), "{}: <{named}>", row.name);
            }
        }
    }
}

#[test]
fn each_language_finds_its_own_claim() {
    let one = |name: &str| match name {
        "English" => "All tests pass.",
        "German" => "Alle Tests sind grün.",
        "French" => "Tous les tests passent.",
        "Spanish" => "Todas las pruebas pasan.",
        "Portuguese" => "Todos os testes passam.",
        "Italian" => "Tutti i test passano.",
        "Dutch" => "Alle tests slagen.",
        "Polish" => "Wszystkie testy przechodzą.",
        "Russian" => "Все тесты проходят.",
        "Chinese" => "所有测试都通过了。",
        "Japanese" => "すべてのテストが成功しました。",
        "Korean" => "모든 테스트가 통과했습니다.",
        other => panic!("no message for {other}"),
    };
    for language in LANGUAGES {
        let claim = find_claim(one(language.name)).unwrap_or_else(|| panic!("{} has no claim", language.name));
        assert_eq!(claim.subject, ClaimSubject::Tests, "{}", language.name);
    }
}

#[test]
fn every_pattern_of_the_table_can_be_compiled() {
    for position in 0..LANGUAGES.len() {
        let language = compiled(position);
        let CompiledLanguage { leading_word, excluded_before, excluded_after, tail, label, opening, harmless, .. } = language;
        let CompiledLanguage { patterns, partial, total, total_first, admits, mended, corrects, clause, joins, .. } = language;
        let around = [leading_word, excluded_before, excluded_after, tail, label, opening, harmless];
        let others = around.into_iter().chain([partial, total, total_first, admits, mended, corrects, clause, joins]);
        for pattern in patterns.iter().map(|(_, pattern)| pattern).chain(others) {
            assert!(!pattern.get().as_str().is_empty());
        }
    }
}

#[test]
fn a_claim_is_the_last_one_with_the_digest_of_the_whole_message() {
    let message = "All checks pass.\nI renamed it.\nAll tests pass now.";
    let claim = find_claim(message).expect("a claim");
    assert_eq!((claim.subject, claim.phrase.as_str()), (ClaimSubject::Tests, "All tests pass"));
    assert_eq!(claim.message, Digest::of(message.as_bytes()));
    let long = format!("{}\nAll tests pass.", "ä".repeat(100_000));
    assert!(find_claim(&long).is_some(), "the end of a long message is searched");
    assert_eq!(find_claim(""), None);
}
