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
//! * `named`: an enum without data gets the method `word`, which returns the written name, the list `ALL` of its variants, and the list
//!   `WORDS` of its names with their variants, both in the order in which the variants are written.
//!
//! An enum without data is read by one function of `proctor-model`, `read_word`, and not by one that is made for it.
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
            "open" | "closed" | "sparse" | "named" => {}
            "screaming" => form = "SCREAMING_SNAKE_CASE",
            "upper" => form = "UPPERCASE",
            "lower" => form = "lowercase",
            "kebab" => form = "kebab-case",
            name if name.starts_with(|first: char| first.is_ascii_uppercase()) => derived.push(name),
            unknown => return tokens(&format!("compile_error!(\"`wire` has no word `{unknown}`\");")),
        }
    }
    // An enum that is only read keeps serde's derive, because the attributes of serde on its variants need it.
    let plain = PlainEnum::of(item.clone(), form).filter(|_| !has("read"));
    let made = plain.as_ref().map(|plain| {
        let is_read = !has("written");
        derived.retain(|name| !is_read || *name != "::serde::Deserialize");
        [is_read.then(|| plain.reader()), has("named").then(|| plain.names())].into_iter().flatten().collect::<String>()
    });
    if made.is_none() && has("named") {
        return tokens("compile_error!(\"`named` is for an enum without data that is written\");");
    }
    let closed = if has("closed") || (is_struct && !has("open")) { ", deny_unknown_fields" } else { "" };
    let mut out = tokens(&format!("#[derive({})] {schema} #[serde(rename_all = \"{form}\"{closed})]", derived.join(", ")));
    out.extend(if is_struct && has("sparse") {
        item.into_iter().map(|token| without_empty_keys(token, has("written"))).collect()
    } else {
        item
    });
    out.extend(made.as_deref().map(tokens));
    out
}

/// An enum without data, and of its variants the names in Rust and in what is written.
struct PlainEnum {
    name: String,
    variants: Vec<(String, String)>,
}

impl PlainEnum {
    /// Reads an item whose names are written in this form of serde's `rename_all`; `None` for a struct, and for an enum with data or with
    /// an attribute of serde's that does more than rename a variant.
    fn of(item: TokenStream, form: &str) -> Option<Self> {
        let mut item = item.into_iter().skip_while(|token| token.to_string() != "enum").skip(1);
        let name = item.next()?.to_string();
        let Some(TokenTree::Group(body)) = item.next().filter(|token| token.to_string().starts_with('{')) else { return None };
        let (mut variants, mut renamed) = (Vec::new(), None);
        for token in body.stream() {
            match token {
                TokenTree::Ident(variant) => {
                    let variant = variant.to_string();
                    variants.push((renamed.take().unwrap_or_else(|| written(&variant, form)), variant));
                }
                TokenTree::Group(attribute) if attribute.delimiter() == Delimiter::Bracket => {
                    let attribute = attribute.to_string();
                    let parts: Vec<&str> = attribute.split('"').collect();
                    if parts[0].starts_with("[serde") {
                        let [before, word, ")]"] = parts[..] else { return None };
                        renamed = before.ends_with("(rename = ").then(|| word.to_owned());
                        renamed.as_ref()?;
                    }
                }
                // A variant may have a number.
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                TokenTree::Group(_) => return None,
            }
        }
        (!variants.is_empty()).then_some(Self { name, variants })
    }

    /// Returns each variant as `form` makes it of its written name and its name in Rust, with a comma between two.
    fn each(&self, form: impl Fn(&str, &str) -> String) -> String {
        self.variants.iter().map(|(word, variant)| form(word, variant) + ",").collect()
    }

    /// Returns how it is read. It only calls one function, and is no function of its own in the program.
    fn reader(&self) -> String {
        format!(
            "impl<'de> ::serde::Deserialize<'de> for {name} {{
                #[inline(always)]
                fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {{
                    let at = ::proctor_model::read_word(deserializer, &[{words}])?;
                    ::core::result::Result::Ok([{values}][at].clone())
                }}
            }}",
            name = self.name,
            words = self.each(|word, _| format!("\"{word}\"")),
            values = self.each(|_, variant| format!("Self::{variant}")),
        )
    }

    fn names(&self) -> String {
        format!(
            "impl {name} {{
                /// Every variant, in the order in which they are declared.
                pub const ALL: [Self; {count}] = [{values}];
                /// Every word with its variant, in the order in which they are declared.
                pub const WORDS: [(&'static str, Self); {count}] = [{words}];
                /// Returns the word for this in what is written.
                pub const fn word(self) -> &'static str {{ match self {{ {arms} }} }}
            }}",
            name = self.name,
            count = self.variants.len(),
            values = self.each(|_, variant| format!("Self::{variant}")),
            words = self.each(|word, variant| format!("(\"{word}\", Self::{variant})")),
            arms = self.each(|word, variant| format!("Self::{variant} => \"{word}\"")),
        )
    }
}

/// Returns a variant's name as serde's `rename_all` with this form writes it.
fn written(variant: &str, form: &str) -> String {
    let parted = |between: &str| -> String {
        let part = |letter: char| if letter.is_ascii_uppercase() { format!("{between}{letter}") } else { letter.to_string() };
        variant.chars().map(part).collect::<String>().trim_start_matches(between).to_owned()
    };
    match form {
        "SCREAMING_SNAKE_CASE" => parted("_").to_ascii_uppercase(),
        "kebab-case" => parted("-").to_ascii_lowercase(),
        "UPPERCASE" => variant.to_ascii_uppercase(),
        "lowercase" => variant.to_ascii_lowercase(),
        _ => variant[..1].to_ascii_lowercase() + &variant[1..],
    }
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
