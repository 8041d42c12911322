//! `#[wire]`: the one place that says what a type has that is written to a file or sent.
//!
//! Every such type can be printed, copied, compared, written and read, and its keys are in camelCase. A struct refuses keys that it
//! does not know. What differs is said in words in brackets, in any order:
//!
//! * a word that begins with a capital letter is one more trait to derive, such as `Copy`.
//! * `schema`: a JSON Schema is made of it for tests and for the feature `testing`; `test_schema`: only for its own crate's tests.
//! * `written`: it is never read; `read`: it is never written.
//! * `open`: a struct that passes over keys it does not know; `closed`: an enum whose variants refuse them.
//! * `sparse`: a field of the type `Option`, `Vec` or `BTreeMap` with nothing in it has no key at all, and may be missing when it is
//!   read. `#[kept]` before a field says that its key is always there, as are all keys of a type without this word.
//! * `inexact`: it has floating-point numbers, so it is not `Eq`.
//! * `screaming`, `upper`, `lower`, `kebab`: its names are `LIKE_THIS`, `LIKETHIS`, `likethis`, `like-this`.
//!
//! The attribute stands above all others of the type, because they see what it derives.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Derives what a type needs that is written to a file or sent; the head of this file has its words. A word that is not known, and a
/// lower-case word for a trait, is a compiler error that names it.
#[proc_macro_attribute]
pub fn wire(words: TokenStream, item: TokenStream) -> TokenStream {
    let words: Vec<String> =
        words.to_string().split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.iter().any(|said| said == word);
    let is_struct = item.clone().into_iter().any(|token| token.to_string() == "struct");
    let mut derived = vec!["Debug", "Clone", "PartialEq", "Eq", "::serde::Serialize", "::serde::Deserialize"];
    let (mut form, mut schema) = ("camelCase", "");
    for word in &words {
        match word.as_str() {
            "schema" => schema = "#[cfg_attr(any(test, feature = \"testing\"), derive(::schemars::JsonSchema))]",
            "test_schema" => schema = "#[cfg_attr(test, derive(::schemars::JsonSchema))]",
            "written" => derived.retain(|name| *name != "::serde::Deserialize"),
            "read" => derived.retain(|name| *name != "::serde::Serialize"),
            "inexact" => derived.retain(|name| *name != "Eq"),
            "open" | "closed" | "sparse" => {}
            "screaming" => form = "SCREAMING_SNAKE_CASE",
            "upper" => form = "UPPERCASE",
            "lower" => form = "lowercase",
            "kebab" => form = "kebab-case",
            name if name.starts_with(|first: char| first.is_ascii_uppercase()) => derived.push(name),
            unknown => return tokens(&format!("compile_error!(\"`wire` has no word `{unknown}`\");")),
        }
    }
    let closed = if has("closed") || (is_struct && !has("open")) { ", deny_unknown_fields" } else { "" };
    let mut out = tokens(&format!("#[derive({})] {schema} #[serde(rename_all = \"{form}\"{closed})]", derived.join(", ")));
    out.extend(if is_struct && has("sparse") {
        item.into_iter().map(|token| without_empty_keys(token, has("written"))).collect()
    } else {
        item
    });
    out
}

/// Returns the fields of a struct, each that may be empty with the attribute that leaves its key out then. Anything but the struct's
/// braces is returned as it is.
fn without_empty_keys(token: TokenTree, is_written_only: bool) -> TokenTree {
    let TokenTree::Group(fields) = &token else { return token };
    if fields.delimiter() != Delimiter::Brace {
        return token;
    }
    let mut out = TokenStream::new();
    let (mut field, mut depth): (Vec<TokenTree>, usize) = (Vec::new(), 0);
    for part in fields.stream() {
        match part.to_string().as_str() {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 && part.to_string() == ",";
        field.push(part);
        if ends {
            out.extend(with_rule(std::mem::take(&mut field), is_written_only));
        }
    }
    out.extend(with_rule(field, is_written_only));
    let mut group = Group::new(Delimiter::Brace, out);
    group.set_span(fields.span());
    TokenTree::Group(group)
}

fn with_rule(mut field: Vec<TokenTree>, is_written_only: bool) -> TokenStream {
    let kept = field.windows(2).position(|pair| pair[0].to_string() == "#" && pair[1].to_string() == "[kept]");
    if let Some(at) = kept {
        field.drain(at..at + 2);
        return field.into_iter().collect();
    }
    // The first colon stands between the field's name and its type.
    let colon = field.iter().position(|part| part.to_string() == ":");
    let rule = match colon.and_then(|at| field.get(at + 1)).map(ToString::to_string).as_deref() {
        Some("Option") => "#[serde(skip_serializing_if = \"Option::is_none\")]".to_owned(),
        Some(list @ ("Vec" | "BTreeMap")) => {
            let default = if is_written_only { "" } else { ", default" };
            format!("#[serde(skip_serializing_if = \"{list}::is_empty\"{default})]")
        }
        Some(_) | None => String::new(),
    };
    let mut out = tokens(&rule);
    out.extend(field);
    out
}

/// Returns the tokens of a text of this file, which is always Rust.
fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
