//! The page as one file that opens without a network: its style and scripts inside, and the answers that it would have asked for. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::page::assets::{ASSETS, Asset, INDEX, ORDER};
use proctor_model::Digest;

/// The answers that a page without a server has, by path and query: a document, or a text for a file of a run.
pub type Answers = BTreeMap<String, Value>;

const STYLE_LINK: (&str, &str) = ("<link rel=\"stylesheet\" href=\"/assets/", "\">");
const ICON_LINK: (&str, &str) = ("<link rel=\"icon\" href=\"/assets/", "\">");
const SCRIPT_LINK: (&str, &str) = ("<script type=\"module\" src=\"/assets/", "\"></script>");

/// Returns the page as one HTML file with these answers in it. It sends no requests.
pub fn offline_page(answers: &Answers) -> String {
    let mut page = text(&INDEX).to_owned();
    let mut styles = Vec::new();
    while let Some((start, end, name)) = find_link(&page, STYLE_LINK) {
        let style = ASSETS.iter().find(|asset| asset.name == name).map(text).unwrap_or_default().replace("</", "<\\/");
        page.replace_range(start..end, &format!("<style>{style}</style>"));
        styles.push(style);
    }
    while let Some((start, end, _)) = find_link(&page, ICON_LINK) {
        page.replace_range(start..end, "");
    }
    let script = join_scripts();
    let mut written = format!("<script type=\"module\">{script}</script>");
    while let Some((start, end, _)) = find_link(&page, SCRIPT_LINK) {
        page.replace_range(start..end, &std::mem::take(&mut written));
    }
    let styles: Vec<String> = styles.iter().map(|style| source_hash(style)).collect();
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; img-src data:; \
         base-uri 'none'; form-action 'none'\">\n",
        source_hash(&script),
        styles.join(" ")
    );
    // In JSON every `<` stands within a string, where it may be escaped. So no text can end the script element.
    let data = serde_json::to_string(answers).expect("texts and documents have a JSON form").replace('<', "\\u003c");
    let data = format!("<script type=\"application/json\" id=\"proctor-answers\">{data}</script>\n");
    let head = page.find("<meta name");
    insert_at(&mut page, head, &policy);
    // The scripts stand before the end of the body, and may have its word in a text.
    let end = page.rfind("</body>");
    insert_at(&mut page, end, &data);
    page
}

/// Joins the modules to one script, in which they need no imports.
fn join_scripts() -> String {
    let mut joined = String::from("\n");
    for name in ORDER.lines().filter(|line| !line.is_empty()) {
        let script = ASSETS.iter().find(|asset| asset.name == name).map(text).unwrap_or_default();
        for line in script.lines().filter(|line| !line.starts_with("import ")) {
            joined.push_str(line.strip_prefix("export ").unwrap_or(line));
            joined.push('\n');
        }
    }
    // The escaped texts mean the same in a string, a template and a regular expression, and do not end the script element in HTML.
    joined.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

fn find_link(page: &str, (before, after): (&str, &str)) -> Option<(usize, usize, String)> {
    let start = page.find(before)?;
    let rest = &page[start + before.len()..];
    let length = rest.find(after)?;
    Some((start, start + before.len() + length + after.len(), rest[..length].to_owned()))
}

fn insert_at(page: &mut String, place: Option<usize>, text: &str) {
    page.insert_str(place.expect("the page has a head with its name, and a body"), text);
}

fn text(asset: &Asset) -> &str {
    std::str::from_utf8(asset.bytes).unwrap_or_default()
}

/// Returns the hash by which a content security policy allows this script and no other text.
fn source_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Digest::of(text.as_bytes()).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
        let start = text.find(before).unwrap_or_else(|| panic!("no {before}")) + before.len();
        &text[start..start + text[start..].find(after).unwrap_or_else(|| panic!("no {after}"))]
    }

    #[test]
    fn the_file_needs_nothing_else_and_its_policy_names_what_it_has() {
        let hostile = "</script><script>alert(1)</script><!-- <script>";
        let answers = Answers::from([("/v1/projects".to_owned(), serde_json::json!({ "name": hostile, "list": [1] }))]);
        let page = offline_page(&answers);
        assert!(!page.contains("/assets/"), "nothing is fetched");
        assert!(!page.contains("alert(1)</script>") && !page.contains("<!-- <script>"), "{page}");
        let data = between(&page, "id=\"proctor-answers\">", "</script>");
        assert_eq!(serde_json::from_str::<Answers>(data).unwrap(), answers);
        let script = between(&page, "<script type=\"module\">", "</script>");
        assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        let style = between(&page, "<style>", "</style>");
        for text in [script, style] {
            assert!(page.contains(&source_hash(text)));
        }
        let policy = page.find("Content-Security-Policy").expect("a policy");
        assert!(policy < page.find("<style>").unwrap() && policy < page.find("<script").unwrap(), "the policy comes first");
        assert!(page.find("proctor-answers").unwrap() < page.find("</body>").unwrap());
    }
}
