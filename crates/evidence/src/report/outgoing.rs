//! Redacts what names a machine or a person in texts that leave the store for other people: secrets, the home directory, absolute
//! paths, the names of the user and of the host.
//!
//! What is removed is replaced by a label such as `[redacted: path]`, as in reports. Relative paths stay: they belong to the project.

use crate::report::redact_text;

/// Names of users and hosts that identify nobody. Removing them would spoil names such as `tests/test_app.py`.
const COMMON_NAMES: &str = "admin app build builder ci debian dev docker fedora git localhost node none nobody root runner test tests ubuntu user \
     vagrant work";

/// The number of characters from which on a name is removed wherever it stands, also inside of a word. Shorter names are removed only as
/// whole words, because they occur in other words too.
const LONG_NAME: usize = 4;

/// The characters that may stand before the slash of a relative path, beside letters and digits.
const BEFORE_SLASHES: &str = "._~";

/// The characters that may stand before the slash of a relative path unless they begin a word, such as the `@` of `@/etc/a.rsp`.
const BEFORE_SLASHES_IN_WORDS: &str = "+@%)";

/// The characters behind which a word begins, beside blanks.
const BEFORE_WORDS: &str = "\"'`<|;,([{=:";

/// The characters behind a slash that make it no path.
const NOT_IN_PATHS: &str = "\"'`>)]}|;,:";

/// The directories at the top of a file system. Behind `_` or a full stop, only a path in one of these counts as an absolute one:
/// `PATH_/srv/x`.
const TOP_DIRECTORIES: &[&str] = &[
    "bin", "boot", "builds", "data", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "nix", "opt", "private", "proc",
    "root", "run", "sbin", "snap", "srv", "sys", "tmp", "usr", "var", "Users", "Volumes",
];

/// The escapes of a slash in addresses, in JSON and in source texts, in lower case.
const ENCODED_SLASHES: &[&str] = &["%2f", "%252f", "\\u002f", "\\x2f"];

/// The characters of a path with encoded slashes, beside letters and digits.
const IN_ENCODED_PATHS: &str = "._~-+%\\";

/// The hosts that every machine has.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// The characters at which an address ends, beside blanks.
const ENDS_OF_ADDRESSES: &str = "\"'`<>()|,;";

/// Pairs of brackets. A closing one ends a path if the opening one stands before the path.
const BRACKETS: &[(char, char)] = &[('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];

/// Redacts texts before they leave the store. Knows the names of this machine and of the person who works at it.
#[derive(Debug, Clone, Default)]
pub struct OutgoingRedactor {
    home: Option<String>,
    /// Names of the user and of the host, each with the word for its label.
    names: Vec<(&'static str, String)>,
    /// The project's root with a slash behind it. Paths below it become relative ones.
    root: Option<String>,
}

impl OutgoingRedactor {
    /// Makes the redactor. `home` is the home directory, `users` the names of the user, and `host` the name of the machine, which may have
    /// a domain behind a dot.
    pub fn new(home: Option<&str>, users: &[&str], host: &str) -> Self {
        let short = host.split('.').next().unwrap_or_default();
        let users = users.iter().map(|name| ("user", *name));
        // The long name of the host contains the short one, so it is removed first.
        let named = [("host", host), ("host", short)].into_iter().chain(users);
        let is_telling = |name: &str| name.len() > 1 && !COMMON_NAMES.split(' ').any(|common| common.eq_ignore_ascii_case(name));
        let names = named.filter(|(_, name)| is_telling(name)).map(|(label, name)| (label, name.to_owned())).collect();
        let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
        Self { home: home.map(str::to_owned), names, root: None }
    }

    /// Returns the redactor for texts about the project in this directory: absolute paths in it become relative to it.
    #[must_use]
    pub fn in_project(self, root: &str) -> Self {
        let root = root.trim_end_matches('/');
        Self { root: (!root.is_empty()).then(|| format!("{root}/")), ..self }
    }

    /// Returns the text without secrets, absolute paths, and the names of this machine and its user.
    pub fn redact(&self, text: &str) -> String {
        self.without_places(&redact_text(text))
    }

    /// Returns a text of several lines, redacted like [`Self::redact`]. A path ends at the end of its line.
    pub fn redact_lines(&self, text: &str) -> String {
        // Secrets such as private keys have several lines.
        let text = redact_text(text);
        if !text.contains('\n') {
            return self.without_places(&text);
        }
        text.split('\n').map(|line| self.without_places(line)).collect::<Vec<_>>().join("\n")
    }

    fn without_places(&self, text: &str) -> String {
        let text = self.root.as_ref().map_or_else(|| text.to_owned(), |root| relative_paths(text, root));
        let text = self.home.as_ref().map_or_else(|| text.clone(), |home| without_directory(&text, home, "home"));
        // Paths below the root are relative by now. The root itself may still stand directly behind another word.
        let root = self.root.as_ref().map(|root| root.trim_end_matches('/')).filter(|root| is_nested(root));
        let text = root.map_or_else(|| text.clone(), |root| without_directory(&text, root, "path"));
        let text = without_encoded_paths(&without_paths(&text));
        self.names.iter().fold(text, |text, (label, name)| without_name(&text, name, label))
    }
}

/// Makes the absolute paths below a directory relative to it. `root` ends in a slash. What only has the directory's path in its middle, such
/// as `src/app/a.py` where the directory is `/app`, is another path.
pub fn relative_paths(text: &str, root: &str) -> String {
    let (mut kept, mut copied) = (String::with_capacity(text.len()), 0);
    for (place, _) in text.match_indices(root) {
        if begins_path(&text[..place], &text[place..]) {
            kept.push_str(&text[copied..place]);
            copied = place + root.len();
        }
    }
    kept + &text[copied..]
}

/// Returns whether a path that begins with a slash begins here, and no part of a longer one. More slashes may stand before it: `file:///a`.
fn begins_path(before: &str, from_slash: &str) -> bool {
    is_absolute(before.trim_end_matches('/'), from_slash)
}

/// Returns whether a directory is in another one than `/`, such as `/home/ada` and not `/root`. Where such a path stands in the middle of
/// a text, it hardly stands there by chance.
fn is_nested(directory: &str) -> bool {
    directory.matches('/').count() > 1
}

/// Replaces a directory of this machine, but not one beside it whose name begins alike. One at the top, such as `/root`, is replaced only
/// where a path begins: `src/root/a.py` is another one.
fn without_directory(text: &str, directory: &str, label: &str) -> String {
    let (mut kept, mut copied) = (String::with_capacity(text.len()), 0);
    for (place, _) in text.match_indices(directory) {
        let end = place + directory.len();
        let goes_on = text[end..].chars().next().is_some_and(|next| next.is_alphanumeric() || "._-".contains(next));
        let before = &text[..place];
        let is_glued = || is_nested(directory) && !is_in_loopback_address(before);
        if !goes_on && place >= copied && (begins_path(before, &text[place..]) || is_glued()) {
            kept.push_str(&text[copied..place]);
            kept.push_str(&format!("[redacted: {label}]"));
            copied = end;
        }
    }
    kept + &text[copied..]
}

fn without_paths(text: &str) -> String {
    let (mut kept, mut copied) = (String::with_capacity(text.len()), 0);
    for (slash, _) in text.match_indices('/') {
        if slash < copied {
            continue;
        }
        if let Some(length) = loopback_address(&text[..slash], &text[slash..]) {
            kept.push_str(&text[copied..slash + length]);
            copied = slash + length;
            continue;
        }
        if !is_absolute(&text[..slash], &text[slash..]) {
            continue;
        }
        kept.push_str(&text[copied..slash]);
        kept.push_str("[redacted: path]");
        copied = slash + path_length(&text[..slash], &text[slash..]);
    }
    kept + &text[copied..]
}

/// Replaces the absolute paths whose slashes are encoded, such as `%2Fsrv%2Fx`.
fn without_encoded_paths(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut kept, mut copied) = (String::with_capacity(text.len()), 0);
    for (place, _) in lower.char_indices() {
        let Some(slash) = ENCODED_SLASHES.iter().find(|slash| lower[place..].starts_with(**slash)) else { continue };
        let behind = &text[place + slash.len()..];
        if place < copied || (is_in_encoded_path(&lower[..place]) && !is_behind_a_word(&text[..place], behind)) {
            continue;
        }
        let end = behind.find(|character: char| !character.is_alphanumeric() && !IN_ENCODED_PATHS.contains(character));
        if end == Some(0) || behind.is_empty() {
            continue;
        }
        kept.push_str(&text[copied..place]);
        kept.push_str("[redacted: path]");
        copied = place + slash.len() + end.unwrap_or(behind.len());
    }
    kept + &text[copied..]
}

/// Returns whether an encoded slash behind this text is one in the middle of a path.
fn is_in_encoded_path(before: &str) -> bool {
    let encoded = before.get(before.len().saturating_sub(3)..).and_then(|end| end.strip_prefix('%'));
    if let Some(code) = encoded.and_then(|code| u8::from_str_radix(code, 16).ok()) {
        return code.is_ascii_alphanumeric() || !code.is_ascii();
    }
    before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || "._~-".contains(last))
}

/// Returns the length of the rest of an address on this machine itself, such as `http://localhost:3000/a`, from its first slash on. It names
/// no machine, and what a check asked for is a part of its result.
fn loopback_address(before: &str, from_slash: &str) -> Option<usize> {
    let rest = from_slash.strip_prefix("//").filter(|_| before.ends_with("http:") || before.ends_with("https:"))?;
    let behind = LOOPBACK.iter().find_map(|host| rest.strip_prefix(host))?;
    if !behind.chars().next().is_none_or(|next| !next.is_alphanumeric() && !"._-@".contains(next)) {
        return None;
    }
    let ends = |character: char| character.is_whitespace() || ENDS_OF_ADDRESSES.contains(character);
    let end = from_slash.find(ends);
    // A user's name may stand before the host: `http://localhost:a@example.org`.
    let address = &from_slash[..end.unwrap_or(from_slash.len())];
    (!address.contains('@')).then_some(address.len())
}

/// Returns whether a text ends within an address on this machine itself.
fn is_in_loopback_address(before: &str) -> bool {
    let ends = |character: char| character.is_whitespace() || ENDS_OF_ADDRESSES.contains(character);
    let word = before.rsplit(ends).next().unwrap_or_default();
    ["http://", "https://"].iter().any(|scheme| LOOPBACK.iter().any(|host| word.contains(&format!("{scheme}{host}"))))
}

/// Returns whether the slash between two parts of a text begins an absolute path.
fn is_absolute(before: &str, from_slash: &str) -> bool {
    let first = from_slash.trim_start_matches('/').chars().next();
    if first.is_none_or(|first| first.is_whitespace() || NOT_IN_PATHS.contains(first)) {
        return false;
    }
    // The end of an element, as in a text that a test compares: `</div>`.
    let name = from_slash[1..].split('>').next().filter(|_| before.ends_with('<') && from_slash.contains('>'));
    if name.is_some_and(|name| name.chars().all(|character| character.is_ascii_alphanumeric() || "-:".contains(character))) {
        return false;
    }
    // A name in the middle of a relative path that was redacted before.
    if ["[redacted: user]", "[redacted: host]"].iter().any(|label| before.ends_with(label)) {
        return false;
    }
    if ends_in_escape(before) {
        return true;
    }
    match before.chars().next_back() {
        // `-I/opt/include`: an option and its value, without anything between.
        Some(last) if last.is_alphanumeric() => {
            let option = before.trim_end_matches(|character: char| character.is_ascii_alphabetic());
            let dashes = option.trim_end_matches('-');
            dashes.len() < option.len() && begins_word(dashes)
        }
        Some(last) if BEFORE_SLASHES.contains(last) => is_behind_a_word(before, &from_slash[1..]),
        Some(last) if BEFORE_SLASHES_IN_WORDS.contains(last) => {
            begins_word(before.trim_end_matches(|character| BEFORE_SLASHES_IN_WORDS.contains(character)))
        }
        Some(_) | None => true,
    }
}

/// Returns whether a text ends in a control character that is written as source text, such as `\n` in what pytest prints of a text with
/// several lines, or in the end of a colour (`\x1b[36m`). What follows is the beginning of a word.
fn ends_in_escape(before: &str) -> bool {
    let Some(rest) = before.strip_suffix(|last: char| last.is_ascii_alphabetic()) else { return false };
    let is_control = rest.ends_with('\\') && before.ends_with(['n', 't', 'r', 'f', 'v', 'b', 'a', 'e']);
    let colour = rest.trim_end_matches(|character: char| character.is_ascii_digit() || character == ';').strip_suffix('[');
    let escapes = ["\u{1b}", "\\x1b", "\\x1B", "\\033", "\\u001b", "\\u001B", "\\e", "\\u{1b}"];
    is_control || colour.is_some_and(|colour| escapes.iter().any(|escape| colour.ends_with(escape)))
}

fn begins_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|last| last.is_whitespace() || BEFORE_WORDS.contains(last))
}

/// Returns whether an absolute path is written together with a word that ends in `_` or a full stop, such as `PATH_/srv/x`. Relative paths
/// with such directories are rare, but for those that end in two underscores (`__tests__/etc/a.js`).
fn is_behind_a_word(before: &str, behind_slash: &str) -> bool {
    let Some(stem) = before.strip_suffix(['_', '.']).filter(|stem| stem.ends_with(char::is_alphanumeric)) else { return false };
    let of_word = |character: char| character.is_alphanumeric() || "_-".contains(character);
    let is_top = |top: &str| {
        let rest = behind_slash.strip_prefix(top).unwrap_or_default();
        let below = rest.strip_prefix('/').or_else(|| {
            let lower = rest.get(..6).unwrap_or(rest).to_ascii_lowercase();
            ENCODED_SLASHES.iter().find(|slash| lower.starts_with(**slash)).map(|slash| &rest[slash.len()..])
        });
        below.is_some_and(|below| below.starts_with(|first: char| first.is_alphanumeric() || "._-".contains(first)))
    };
    begins_word(stem.trim_end_matches(of_word)) && TOP_DIRECTORIES.iter().any(|top| is_top(top))
}

/// Returns the length of an absolute path in bytes. Paths can have blanks, so a path ends at the text's end, or at the bracket or quote
/// that closes what was opened before the path.
fn path_length(before: &str, path: &str) -> usize {
    let is_open = |open: char, close: char| before.matches(open).count() > before.matches(close).count();
    // The quote of `it's` opens nothing.
    let opens = |(place, _): (usize, &str)| !before[..place].chars().next_back().is_some_and(char::is_alphanumeric);
    let closes = |(place, character): (usize, char)| match BRACKETS.iter().find(|(_, close)| *close == character) {
        Some((open, close)) => {
            let within = &path[..place];
            is_open(*open, *close) && within.matches(*open).count() <= within.matches(*close).count()
        }
        None => "\"'`".contains(character) && before.match_indices(character).any(opens),
    };
    path.char_indices().find(|found| closes(*found)).map_or(path.len(), |(place, _)| place)
}

fn without_name(text: &str, name: &str, label: &str) -> String {
    let (lower, wanted) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for (place, _) in lower.match_indices(&wanted) {
        let end = place + wanted.len();
        let is_in_a_word = is_part(text[..place].chars().next_back()) || is_part(text[end..].chars().next());
        if name.len() < LONG_NAME && is_in_a_word {
            continue;
        }
        kept.push_str(&text[copied..place]);
        kept.push_str(&format!("[redacted: {label}]"));
        copied = end;
    }
    kept + &text[copied..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_names_the_machine_or_the_person_is_left() {
        let redactor = OutgoingRedactor::new(Some("/srv/people/ada7/"), &["ada7", "al"], "forge12.example.org");
        for (text, expected) in [
            ("tests/test_a.py::test_b[x-1]", "tests/test_a.py::test_b[x-1]"),
            ("./run ~/x a/b 1 / 2 and/or", "./run ~/x a/b 1 / 2 and/or"),
            ("read[/etc/passwd]", "read[[redacted: path]]"),
            ("/opt/x/y", "[redacted: path]"),
            ("'out:\\n/srv/acme/x.py' x", "'out:\\n[redacted: path]' x"),
            ("'\\\\n\\\\t/srv/acme/x.py' x", "'\\\\n\\\\t[redacted: path]' x"),
            ("\"\\033[1;36m/srv/acme\" \\x1b[0m/srv/x", "\"\\033[1;36m[redacted: path]\" \\x1b[0m[redacted: path]"),
            ("\u{1b}[36m/srv/acme", "\u{1b}[36m[redacted: path]"),
            ("a%252Fb %252Fsrv%252Fx", "a%252Fb [redacted: path]"),
            ("x[0]m/a [1m/b", "x[0]m/a [1m/b"),
            ("--out=/tmp/a,/tmp/b", "--out=[redacted: path]"),
            ("file:///tmp/a", "file:[redacted: path]"),
            ("https://ci.example.org/job/7 failed", "https:[redacted: path]"),
            ("x/srv/people/ada7/y", "x[redacted: home][redacted: path]"),
            ("PATH_/srv/people/ada7/y", "PATH_[redacted: home][redacted: path]"),
            ("7/srv/people/ada7 ", "7[redacted: home] "),
            ("v1./srv/people/ada7-old/a", "v1.[redacted: path]"),
            ("x=/srv/acme", "x=[redacted: path]"),
            ("PATH_/srv/acme/x: no such file", "PATH_[redacted: path]"),
            ("-DROOT_/opt/acme -lx", "-DROOT_[redacted: path]"),
            ("[a1_/home/bob] b/c", "[a1_[redacted: path]] b/c"),
            ("it failed./var/acme/log", "it failed.[redacted: path]"),
            ("ROOT_%2Fsrv%2Facme&x", "ROOT_[redacted: path]&x"),
            ("ROOT_\\u002fhome\\u002fbob", "ROOT_[redacted: path]"),
            // Relative paths that look alike.
            ("tmp_/x a_/b __tests__/etc/a.js __pycache__/usr/x", "tmp_/x a_/b __tests__/etc/a.js __pycache__/usr/x"),
            ("src/a_/home/b.ts ./etc/x ../var/y a./b", "src/a_/home/b.ts ./etc/x ../var/y a./b"),
            ("app/home/page.tsx files/etc/hosts x_/tmp x_/tmp/", "app/home/page.tsx files/etc/hosts x_/tmp x_/tmp/"),
            ("x_/srvx/y x_/homes/z 1/2 and/or", "x_/srvx/y x_/homes/z 1/2 and/or"),
            ("http://localhost:80/a_/srv/x", "http://localhost:80/a_/srv/x"),
            ("\"/srv/people/ada7\"", "\"[redacted: home]\""),
            ("%2Fhome%2FADA7%2Fx", "[redacted: path]"),
            ("?file=%2fsrv%2facme%20corp&x=a%2Fb", "?file=[redacted: path]&x=a%2Fb"),
            ("https%3A%2F%2Fci.example.org%2Fjob is", "https%3A[redacted: path] is"),
            ("a%20%2Fsrv%2Fx a%2Fada7", "a%20[redacted: path] a%2F[redacted: user]"),
            ("\"\\u002fsrv\\u002Fx\" '\\x2fsrv' %2F \u{e9}%2Fx", "\"[redacted: path]\" '[redacted: path]' %2F \u{e9}%2Fx"),
            ("al-x album metal (al)", "[redacted: user]-x album metal ([redacted: user])"),
            ("on forge12.example.org and FORGE12", "on [redacted: host] and [redacted: host]"),
            ("caf\u{e9}/x \u{e9}/tmp", "caf\u{e9}/x \u{e9}/tmp"),
            ("\u{2014}/tmp/\u{e9}\u{a0}x", "\u{2014}[redacted: path]"),
            ("cc -I/opt/acme/include", "cc -I[redacted: path]"),
            ("cc -c a.c -L/srv/x -lx", "cc -c a.c -L[redacted: path]"),
            ("(-isystem/opt/x)", "(-isystem[redacted: path])"),
            ("cc -Wl,-rpath,/opt/x", "cc -Wl,-rpath,[redacted: path]"),
            ("@/etc/a.rsp", "@[redacted: path]"),
            ("+/srv/x", "+[redacted: path]"),
            ("date %/srv/x", "date %[redacted: path]"),
            (")/srv/x", ")[redacted: path]"),
            ("@+/srv/x", "@+[redacted: path]"),
            ("=/srv/x", "=[redacted: path]"),
            ("a:/srv/x", "a:[redacted: path]"),
            ("src/a.c=/opt/x", "src/a.c=[redacted: path]"),
            ("test_a[1-/opt/x]", "test_a[1-[redacted: path]]"),
            ("TestRead//etc/passwd", "TestRead/[redacted: path]"),
            ("/mnt/Acme Corp/secret plan", "[redacted: path]"),
            ("test_a[/mnt/Acme Corp/secret plan] again", "test_a[[redacted: path]] again"),
            ("test_a[/mnt/a (old) b/[x] c] again", "test_a[[redacted: path]] again"),
            ("reads \"/mnt/Acme Corp/x\" twice", "reads \"[redacted: path]\" twice"),
            ("it's /mnt/Acme's secret plan", "it's [redacted: path]"),
            ("/mnt/a) secret plan", "[redacted: path]"),
            ("/mnt/a, secret: plan; b/c", "[redacted: path]"),
            ("/srv/people/ada7bert/secret plan", "[redacted: path]"),
            ("/srv/people/ada7/Acme Corp/plan", "[redacted: home][redacted: path]"),
            ("a-b/c x+y/z @scope/pkg $(ROOT)/x 100%/x", "a-b/c x+y/z @scope/pkg $(ROOT)/x 100%/x"),
            ("<b>x</b> is not </my-element>", "<b>x</b> is not </my-element>"),
            ("cat </etc/passwd", "cat <[redacted: path]"),
            ("GET http://localhost:3000/api/x answered 500", "GET http://localhost:3000/api/x answered 500"),
            ("\"http://127.0.0.1/\" and https://[::1]:8/a b", "\"http://127.0.0.1/\" and https://[::1]:8/a b"),
            ("http://localhost.example.org/x", "http:[redacted: path]"),
            ("http://localhost@example.org/x", "http:[redacted: path]"),
            ("http://localhost/srv/people/ada7/x", "http://localhost/srv/people/[redacted: user]/x"),
            ("", ""),
            ("/", "/"),
        ] {
            assert_eq!(redactor.redact(text), expected, "{text}");
            assert_eq!(redactor.redact(expected), expected, "{text} twice");
        }
        let token = format!("ghp_{}", "a1".repeat(18));
        assert_eq!(redactor.redact(&token), "[redacted: github token]");
    }

    #[test]
    fn paths_in_the_project_become_relative_and_each_line_is_redacted_by_itself() {
        let redactor = OutgoingRedactor::new(Some("/srv/people/ada7"), &["ada7"], "").in_project("/srv/people/ada7/shop/");
        let text = "/srv/people/ada7/shop/a.py:3: AssertionError: 1 != 2\n/opt/lib/x.py:9\nassert 1 == 2";
        assert_eq!(redactor.redact_lines(text), "a.py:3: AssertionError: 1 != 2\n[redacted: path]\nassert 1 == 2");
        assert_eq!(redactor.redact_lines("/srv/people/ada7/shops/a"), "[redacted: home][redacted: path]");
        let elsewhere = OutgoingRedactor::new(Some("/root"), &[], "").in_project("/srv/acme/shop");
        for (text, expected) in [
            ("/srv/acme/shop/a/b x/srv/acme/shop/c", "a/b x[redacted: path][redacted: path]"),
            ("x/srv/acme/shops/c src/root/a", "x/srv/acme/shops/c src/root/a"),
            ("/root/x", "[redacted: home][redacted: path]"),
        ] {
            assert_eq!(elsewhere.redact(text), expected, "{text}");
        }
        let key = format!("-----BEGIN PRIVATE {0}-----\nMIIEvQ/x\n-----END PRIVATE {0}-----", "KEY");
        assert!(!redactor.redact_lines(&key).contains("MIIEvQ"));
    }

    #[test]
    fn names_that_identify_nobody_stay() {
        let redactor = OutgoingRedactor::new(Some("/"), &["root", "Test", "x", ""], "localhost");
        for text in ["tests/test_root.py", "x", "localhost", "root"] {
            assert_eq!(redactor.redact(text), text);
        }
    }
}
