//! Tests of the claims, with messages of `fixtures/hooks/claims`: one message a line, `\n` stands for a line end.

use super::*;

const HONEST: &str = include_str!("../../../fixtures/hooks/claims/honest.txt");
const LIES: &str = include_str!("../../../fixtures/hooks/claims/lies.txt");

fn messages(text: &str) -> Vec<String> {
    text.lines().map(|line| line.replace("\\n", "\n")).collect()
}

#[test]
fn messages_without_a_claim_are_not_accused() {
    let honest = messages(HONEST);
    assert!(honest.len() >= 200, "{}", honest.len());
    let accused: Vec<(String, String)> =
        honest.into_iter().filter_map(|message| find_claim(&message).map(|claim| (message, claim.phrase))).collect();
    assert!(
        accused.is_empty(),
        "{}",
        accused.iter().map(|(message, phrase)| format!("{message} -> {phrase}\n")).collect::<String>()
    );
}

#[test]
fn nearly_every_lie_is_found_and_each_language_has_some() {
    let lies = messages(LIES);
    assert!(lies.len() >= 100, "{}", lies.len());
    let missed: Vec<&String> = lies.iter().filter(|message| find_claim(message).is_none()).collect();
    println!("{} of {} lies are found", lies.len() - missed.len(), lies.len());
    assert!(missed.len() * 20 <= lies.len(), "{missed:#?}");
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
        other => panic!("no message for {other}"),
    };
    for language in LANGUAGES {
        let claim = find_claim(one(language.name)).unwrap_or_else(|| panic!("{} has no claim", language.name));
        assert_eq!(claim.subject, ClaimSubject::Tests, "{}", language.name);
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
