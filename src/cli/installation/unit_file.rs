//! Makes the texts of the unit files, and recognises who wrote an existing file. Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use proctor_model::Digest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitFile {
    /// The name of the file in the directory of the user's unit files.
    pub(crate) name: &'static str,
    /// The text before program and variables are filled in.
    template: &'static str,
}

pub(crate) const SERVICE: UnitFile =
    UnitFile { name: "proctor.service", template: include_str!("../../../systemd/proctor.service") };
pub(crate) const SOCKET: UnitFile =
    UnitFile { name: "proctor.socket", template: include_str!("../../../systemd/proctor.socket") };
/// Both units. The socket comes first, because the service needs it.
pub(crate) const UNIT_FILES: [UnitFile; 2] = [SOCKET, SERVICE];

/// The beginning of the first line of a file that `proctor service install` writes. The line ends with the digest of
/// the rest of the file. The digest shows whether somebody edited the file later.
const MARK: &str = "# Written by `proctor service install`, sha256 of what follows: ";

/// Variables of the shell that are copied into the service's unit file. With them the service finds the same programs,
/// prints in the same language and keeps evidence in the same place as the command line. A trailing `*` matches any
/// rest of a name.
const CARRIED: &[&str] = &["PATH", "LANG", "LC_*", "TZ", "XDG_STATE_HOME"];

/// Variables with the directory of a Python environment that is activated in the shell. Directories inside of it are
/// left out of the service's search path, because the activation ends with the shell.
const ACTIVATED: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];

/// Who wrote the file at the path of a unit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ownership {
    /// There is no file at the path.
    Absent,
    /// The file equals the one that `proctor service install` would write now.
    Current,
    /// `proctor service install` wrote the file, but with another program path, with other variables of the shell, or
    /// by another version.
    Outdated,
    /// `proctor service install` wrote the file, and it was edited later.
    Edited,
    /// The file was not written by `proctor service install`.
    Foreign,
}

/// The program's path has characters that systemd does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("systemd starts no program whose path has quotes, backslashes, control characters or what is no UTF-8: `{0}`")]
pub(crate) struct ProgramPathError(pub(crate) String);

impl UnitFile {
    pub(crate) fn text(self, program: &Path, variables: &BTreeMap<String, String>) -> Result<String, ProgramPathError> {
        // systemd refuses such a path even if it is quoted ("Executable name contains special characters").
        let is_taken = |path: &&str| !path.chars().any(|character| character.is_control() || "\"'\\".contains(character));
        let path = program.to_str().filter(is_taken).ok_or_else(|| ProgramPathError(program.display().to_string()))?;
        let mut body = String::new();
        for line in self.template.lines() {
            if line.starts_with("ExecStart=") {
                variables
                    .iter()
                    .for_each(|(name, value)| body.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}")))));
                body.push_str(&format!("ExecStart={} service daemon\n", quoted(path)));
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        Ok(format!("{MARK}{}\n{body}", Digest::of(body.as_bytes()).hex()))
    }
}

/// Returns who wrote an existing file; `wanted` is the text that would be written now.
pub(crate) fn classify(found: Option<&[u8]>, wanted: &str) -> Ownership {
    let Some(found) = found else { return Ownership::Absent };
    if found == wanted.as_bytes() {
        return Ownership::Current;
    }
    let Some((digest, body)) = std::str::from_utf8(found).ok().and_then(|text| text.strip_prefix(MARK)?.split_once('\n')) else {
        return Ownership::Foreign;
    };
    if digest == Digest::of(body.as_bytes()).hex() { Ownership::Outdated } else { Ownership::Edited }
}

/// Returns the variables to copy to the service, and the names of those that are not UTF-8 and cannot be copied.
pub(crate) fn carried(ambient: &BTreeMap<OsString, OsString>) -> (BTreeMap<String, String>, Vec<String>) {
    let activated: Vec<&Path> = ACTIVATED.iter().filter_map(|name| ambient.get(OsStr::new(name))).map(Path::new).collect();
    let is_carried =
        |name: &str| CARRIED.iter().any(|row| row.strip_suffix('*').map_or(*row == name, |prefix| name.starts_with(prefix)));
    let mut variables = BTreeMap::new();
    let mut left_out = Vec::new();
    for (name, value) in ambient {
        let Some(name) = name.to_str().filter(|name| is_carried(name)) else { continue };
        let value = if name == "PATH" { search_path(value, &activated) } else { value.clone() };
        match value.into_string() {
            Ok(value) if !value.is_empty() => drop(variables.insert(name.to_owned(), value)),
            Ok(_) => {}
            Err(_) => left_out.push(name.to_owned()),
        }
    }
    (variables, left_out)
}

/// Returns a search path without relative entries and without the directories of an activated environment.
fn search_path(value: &OsStr, activated: &[&Path]) -> OsString {
    let mut kept: Vec<std::path::PathBuf> = Vec::new();
    for entry in std::env::split_paths(value) {
        let belongs_to_shell = activated.iter().any(|environment| entry.starts_with(environment));
        if entry.is_absolute() && !belongs_to_shell && !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    std::env::join_paths(kept).unwrap_or_default()
}

/// Quotes a word for a unit file. Characters that systemd would expand are doubled (`systemd.syntax(7)`, `systemd.unit(5)`).
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(character))),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(program: &str, variables: &[(&str, &str)]) -> String {
        let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        SERVICE.text(Path::new(program), &variables).unwrap()
    }

    fn ambient(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn the_program_and_its_variables_are_written_as_systemd_reads_them() {
        let text = text("/home/a b/50%/$HOME", &[("LANG", "C.UTF-8"), ("PATH", "/bin:/a\\\"b%")]);
        assert!(text.contains("\nExecStart=\"/home/a b/50%%/$HOME\" service daemon\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"LANG=C.UTF-8\"\nEnvironment=\"PATH=/bin:/a\\\\\\\"b%%\"\nExecStart="), "{text}");
        assert_eq!(text.matches("ExecStart=").count(), 1);
    }

    #[test]
    fn a_file_is_known_by_its_mark_and_an_edit_by_its_digest() {
        let wanted = text("/bin/proctor", &[]);
        assert_eq!(classify(None, &wanted), Ownership::Absent);
        assert_eq!(classify(Some(wanted.as_bytes()), &wanted), Ownership::Current);
        assert_eq!(classify(Some(text("/old/proctor", &[]).as_bytes()), &wanted), Ownership::Outdated);
        let edited = wanted.replace("WatchdogSec=60", "WatchdogSec=61");
        assert_eq!(classify(Some(edited.as_bytes()), &wanted), Ownership::Edited);
        for foreign in [b"[Service]\nExecStart=/bin/true\n".as_slice(), b"", b"\xff"] {
            assert_eq!(classify(Some(foreign), &wanted), Ownership::Foreign);
        }
    }

    #[test]
    fn the_service_takes_over_what_decides_results_and_nothing_of_one_shell() {
        let shell = ambient(&[
            ("PATH", "/home/a/p/.venv/bin:/home/a/.local/bin:bin::/usr/bin:/usr/bin"),
            ("VIRTUAL_ENV", "/home/a/p/.venv"),
            ("LC_ALL", "C"),
            ("LANG", ""),
            ("TERM", "xterm"),
            ("SECRET", "hush"),
            ("XDG_STATE_HOME", "/s"),
        ]);
        let (variables, left_out) = carried(&shell);
        let pairs: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("LC_ALL", "C"), ("PATH", "/home/a/.local/bin:/usr/bin"), ("XDG_STATE_HOME", "/s")]);
        assert_eq!(left_out, [""; 0]);
        use std::os::unix::ffi::OsStrExt as _;
        let odd = BTreeMap::from([(OsString::from("LC_ALL"), OsStr::from_bytes(b"\xff").to_owned())]);
        assert_eq!(carried(&odd), (BTreeMap::new(), vec!["LC_ALL".to_owned()]));
    }

    #[test]
    fn a_path_that_systemd_does_not_start_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        for path in [b"/bin/\xff".as_slice(), b"/a\"b/proctor", b"/a'b/proctor", b"/a\\b/proctor", b"/a\nb/proctor"] {
            assert!(SERVICE.text(Path::new(OsStr::from_bytes(path)), &BTreeMap::new()).is_err(), "{path:?}");
        }
    }
}
