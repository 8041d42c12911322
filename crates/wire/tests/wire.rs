//! What `#[wire]` makes of a type, seen in the JSON that is written and read.

use proctor_wire::wire;
use std::collections::BTreeMap;

#[wire(sparse)]
struct Sparse {
    first_key: Option<u8>,
    /// A comma and brackets within a type do not end a field.
    second_key: Option<BTreeMap<String, Vec<Option<u8>>>>,
    third_key: u8,
    fourth_key: Vec<u8>,
    #[kept]
    fifth_key: Option<u8>,
}

#[wire(Default, open, inexact)]
struct Open {
    first_key: Option<f64>,
}

#[wire(Copy, screaming, named)]
enum Word {
    TwoParts,
    N2,
    #[serde(rename = "three parts")]
    ThreeParts,
}

#[wire(Copy, kebab, named)]
enum LinkedWord {
    TwoParts,
}

#[wire(Copy)]
enum CamelWord {
    TwoParts,
}

/// Its data is read by what serde derives.
#[wire]
enum WithData {
    NoData,
    Data(u8),
}

#[wire(written)]
struct Written<'t> {
    only_text: &'t str,
}

#[test]
fn an_empty_key_is_left_out_only_where_the_type_says_so() {
    let sparse = Sparse { first_key: None, second_key: None, third_key: 3, fourth_key: Vec::new(), fifth_key: None };
    assert_eq!(serde_json::to_string(&sparse).unwrap(), r#"{"thirdKey":3,"fifthKey":null}"#);
    assert_eq!(serde_json::from_str::<Sparse>(r#"{"thirdKey":3}"#).unwrap(), sparse);
    let full = r#"{"firstKey":1,"secondKey":{"a":[null]},"thirdKey":3,"fourthKey":[4],"fifthKey":5}"#;
    assert_eq!(serde_json::to_string(&serde_json::from_str::<Sparse>(full).unwrap()).unwrap(), full);
    assert_eq!(serde_json::to_string(&Open::default()).unwrap(), r#"{"firstKey":null}"#);
}

#[test]
fn a_struct_refuses_unknown_keys_unless_it_is_open() {
    let error = serde_json::from_str::<Sparse>(r#"{"thirdKey":3,"other":1}"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `other`"), "{error}");
    assert_eq!(serde_json::from_str::<Open>(r#"{"firstKey":0.5,"other":1}"#).unwrap(), Open { first_key: Some(0.5) });
}

#[test]
fn names_have_the_form_that_the_word_says() {
    let word = Word::TwoParts;
    let copied = word;
    assert_eq!(serde_json::to_string(&copied).unwrap(), r#""TWO_PARTS""#);
    assert_eq!(serde_json::from_str::<CamelWord>(r#""twoParts""#).unwrap(), CamelWord::TwoParts);
    for (written, word) in Word::WORDS {
        assert_eq!((word.word(), serde_json::to_value(word).unwrap().as_str()), (written, Some(written)));
        assert_eq!(serde_json::from_value::<Word>(written.into()).unwrap(), word);
    }
    assert_eq!(
        (Word::ALL, LinkedWord::WORDS),
        ([Word::TwoParts, Word::N2, Word::ThreeParts], [("two-parts", LinkedWord::TwoParts)])
    );
    assert_eq!(serde_json::from_str::<WithData>(r#"{"data":1}"#).unwrap(), WithData::Data(1));
    assert_eq!(serde_json::from_str::<WithData>(r#""noData""#).unwrap(), WithData::NoData);
    assert_eq!(serde_json::to_string(&Written { only_text: "a" }).unwrap(), r#"{"onlyText":"a"}"#);
}

#[test]
fn what_is_no_word_of_an_enum_is_an_error_that_names_them() {
    let error = serde_json::from_str::<Word>(r#""two parts""#).unwrap_err().to_string();
    assert!(error.contains("unknown variant `two parts`, expected one of `TWO_PARTS`, `N2`, `three parts`"), "{error}");
    let error = serde_json::from_str::<Word>("2").unwrap_err().to_string();
    assert!(error.contains("invalid type: integer `2`, expected a word"), "{error}");
}
