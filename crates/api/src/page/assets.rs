//! The files of the page. They are part of the program, so that the page needs nothing that is installed elsewhere.

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its media type.
    pub media: &'static str,
    pub bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// What is sent at `/`.
pub static INDEX: Asset = Asset { name: "index.html", media: HTML, bytes: include_bytes!("assets/index.html") };

/// The other files of the page.
pub(super) static ASSETS: &[Asset] = &[
    Asset { name: "page.css", media: STYLE, bytes: include_bytes!("assets/page.css") },
    Asset { name: "icon.svg", media: PICTURE, bytes: include_bytes!("assets/icon.svg") },
    Asset { name: "vendor/uplot.css", media: STYLE, bytes: include_bytes!("assets/vendor/uplot.css") },
    Asset { name: "vendor/preact.js", media: SCRIPT, bytes: include_bytes!("assets/vendor/preact.js") },
    Asset { name: "vendor/uplot.js", media: SCRIPT, bytes: include_bytes!("assets/vendor/uplot.js") },
    Asset { name: "store.js", media: SCRIPT, bytes: include_bytes!("assets/store.js") },
    Asset { name: "text.js", media: SCRIPT, bytes: include_bytes!("assets/text.js") },
    Asset { name: "format.js", media: SCRIPT, bytes: include_bytes!("assets/format.js") },
    Asset { name: "ask.js", media: SCRIPT, bytes: include_bytes!("assets/ask.js") },
    Asset { name: "route.js", media: SCRIPT, bytes: include_bytes!("assets/route.js") },
    Asset { name: "live.js", media: SCRIPT, bytes: include_bytes!("assets/live.js") },
    Asset { name: "marks.js", media: SCRIPT, bytes: include_bytes!("assets/marks.js") },
    Asset { name: "parts.js", media: SCRIPT, bytes: include_bytes!("assets/parts.js") },
    Asset { name: "ansi.js", media: SCRIPT, bytes: include_bytes!("assets/ansi.js") },
    Asset { name: "output.js", media: SCRIPT, bytes: include_bytes!("assets/output.js") },
    Asset { name: "editor.js", media: SCRIPT, bytes: include_bytes!("assets/editor.js") },
    Asset { name: "failures.js", media: SCRIPT, bytes: include_bytes!("assets/failures.js") },
    Asset { name: "keys.js", media: SCRIPT, bytes: include_bytes!("assets/keys.js") },
    Asset { name: "now.js", media: SCRIPT, bytes: include_bytes!("assets/now.js") },
    Asset { name: "chart.js", media: SCRIPT, bytes: include_bytes!("assets/chart.js") },
    Asset { name: "matrix.js", media: SCRIPT, bytes: include_bytes!("assets/matrix.js") },
    Asset { name: "run.js", media: SCRIPT, bytes: include_bytes!("assets/run.js") },
    Asset { name: "runs.js", media: SCRIPT, bytes: include_bytes!("assets/runs.js") },
    Asset { name: "tests.js", media: SCRIPT, bytes: include_bytes!("assets/tests.js") },
    Asset { name: "trends.js", media: SCRIPT, bytes: include_bytes!("assets/trends.js") },
    Asset { name: "compare.js", media: SCRIPT, bytes: include_bytes!("assets/compare.js") },
    Asset { name: "page.js", media: SCRIPT, bytes: include_bytes!("assets/page.js") },
];

/// The names of the scripts in the order in which the page as one file has them.
pub(super) const ORDER: &str = include_str!("assets/ORDER");

/// The headers of every answer. The policy lets the page load its own files, ask its own server, and do nothing else.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Returns the headers of every answer, by name.
pub fn page_headers() -> &'static [(&'static str, &'static str)] {
    HEADERS
}

/// Returns the file of the page with this name.
pub fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proctor_model::is_hidden_character;

    #[test]
    fn every_file_of_the_page_is_in_the_table_and_every_script_is_in_the_order() {
        let directory = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("crates/api/src/page/assets");
        let sent = |name: &str| [".js", ".css", ".svg", ".woff2"].iter().any(|end| name.ends_with(end));
        let mut on_disk = BTreeSet::new();
        for (below, prefix) in [(directory.clone(), ""), (directory.join("vendor"), "vendor/")] {
            let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
            let names = entries.map(|entry| format!("{prefix}{}", entry.file_name().to_string_lossy()));
            on_disk.extend(names.filter(|name| sent(name)));
        }
        let in_table: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(in_table, on_disk);
        assert_eq!(in_table.len(), ASSETS.len(), "no name twice");
        let ordered: BTreeSet<String> = ORDER.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let scripts: BTreeSet<String> = in_table.into_iter().filter(|name| name.ends_with(".js")).collect();
        assert_eq!(ordered, scripts);
    }

    #[test]
    fn the_page_takes_the_same_characters_for_hidden_as_a_terminal_does() {
        let script = asset("text.js").map(|file| String::from_utf8_lossy(file.bytes)).expect("it is a file of the page");
        let table = script.split("HIDDEN_RANGES = [").nth(1).and_then(|rest| rest.split("];").next()).expect("it has the table");
        let bound = |text: &str| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).expect("a hexadecimal number");
        let ranges: Vec<(u32, u32)> = table
            .split('[')
            .filter_map(|part| part.split(']').next()?.split_once(','))
            .map(|(first, last)| (bound(first), bound(last)))
            .collect();
        assert!(ranges.len() > 20, "{ranges:?}");
        let is_hidden = |code: u32| ranges.iter().any(|(first, last)| *first <= code && code <= *last) || code & 0xfffe == 0xfffe;
        let differing: Vec<String> = (0..=0x0010_ffff)
            .filter_map(char::from_u32)
            .filter(|character| is_hidden(u32::from(*character)) != is_hidden_character(*character))
            .map(|character| format!("{:x}", u32::from(character)))
            .collect();
        assert_eq!(differing, [""; 0]);
    }
}
