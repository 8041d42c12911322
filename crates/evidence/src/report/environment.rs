//! Records a command's environment variables: all names, but only the values of listed variables that do not look like
//! secrets (E12).

use std::collections::BTreeMap;

use crate::report::EnvironmentRecordV1;
use proctor_model::Digest;

/// The variables whose values are shown: the allow-list of E12 and those that proctor sets itself. See [`SHOWN_PREFIX`]
/// for `LC_*`.
const SHOWN: [&str; 16] = [
    "COLUMNS",
    "CONDA_PREFIX",
    "FORCE_COLOR",
    "HOME",
    "LANG",
    "LOGNAME",
    "NODE_ENV",
    "PATH",
    "PROCTOR_OUT",
    "PYTHONPYCACHEPREFIX",
    "PYTHONUNBUFFERED",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];
const SHOWN_PREFIX: &str = "LC_";

/// A variable whose name contains one of these words is treated as a secret.
const SECRET_FRAGMENTS: [&str; 7] = ["SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"];
/// A variable is treated as a secret if one of these words is a part of its name; underscores separate the parts. A variable
/// named only `PWD` is no secret, because it is the working directory.
const SECRET_WORDS: [&str; 7] = ["KEY", "KEYS", "PASS", "PWD", "AUTH", "PAT", "COOKIE"];

/// Returns the record of a command's variables. `set_by_plan` holds the variables that the configuration sets for the
/// action. Their values are shown unless they look like secrets, because a file of the project already has them.
pub fn environment_record(variables: &BTreeMap<String, String>, set_by_plan: &BTreeMap<String, String>) -> EnvironmentRecordV1 {
    let mut values = BTreeMap::new();
    let mut rest = Vec::new();
    for (name, value) in variables {
        let is_listed = SHOWN.contains(&name.as_str()) || name.starts_with(SHOWN_PREFIX) || set_by_plan.contains_key(name);
        if is_listed && !looks_like_a_secret(name, value) {
            values.insert(name.clone(), value.clone());
        } else {
            rest.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
    }
    EnvironmentRecordV1 {
        names: variables.keys().cloned().collect(),
        values,
        rest_digest: (!rest.is_empty()).then(|| Digest::of(&rest)),
    }
}

/// Returns whether a variable is treated as a secret: because of its name, or because its value is an address with a
/// password.
///
/// This is a cautious guess. It does not guarantee that other variables hold no secret.
pub fn looks_like_a_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let has_secret_word = name != "PWD"
        && name.split(|character: char| !character.is_ascii_alphanumeric()).any(|word| SECRET_WORDS.contains(&word));
    let has_password_in_address = value.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    has_secret_word || has_password_in_address || SECRET_FRAGMENTS.iter().any(|fragment| name.contains(fragment))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{environment_record, looks_like_a_secret};
    use crate::report::to_bytes;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn c77_values_are_shown_only_of_the_list_and_of_the_plan() {
        let variables = map(&[("PATH", "/usr/bin"), ("LC_ALL", "C"), ("MODE", "fast"), ("EDITOR", "vi"), ("API_TOKEN", "hush")]);
        let record = environment_record(&variables, &map(&[("MODE", "fast"), ("API_TOKEN", "hush")]));
        assert_eq!(record.names, ["API_TOKEN", "EDITOR", "LC_ALL", "MODE", "PATH"]);
        assert_eq!(record.values, map(&[("LC_ALL", "C"), ("MODE", "fast"), ("PATH", "/usr/bin")]));
        let text = String::from_utf8(to_bytes(&record)).expect("JSON is text");
        assert!(!text.contains("hush") && !text.contains("vi\""), "{text}");
    }

    #[test]
    fn the_rest_has_a_digest_that_follows_its_values() {
        let none = BTreeMap::new();
        let one = environment_record(&map(&[("EDITOR", "vi")]), &none).rest_digest;
        assert!(one.is_some() && one != environment_record(&map(&[("EDITOR", "ed")]), &none).rest_digest);
        assert_eq!(environment_record(&map(&[("PATH", "/bin")]), &none).rest_digest, None);
    }

    #[test]
    fn secrets_are_known_by_their_names_and_addresses() {
        let secret = ["GITHUB_TOKEN", "db_password", "AWS_SECRET_ACCESS_KEY", "DB_PWD", "NPM_AUTH", "MY_APIKEY", "PGPASSWORD"];
        assert!(secret.iter().all(|name| looks_like_a_secret(name, "")), "{secret:?}");
        let plain = ["PWD", "PATH", "KEYBOARD", "MONKEY", "AUTHOR", "COMPASS", "NODE_ENV"];
        assert!(plain.iter().all(|name| !looks_like_a_secret(name, "1")), "{plain:?}");
        assert!(looks_like_a_secret("DATABASE_URL", "postgres://app:hush@db/quotes"));
        assert!(!looks_like_a_secret("DATABASE_URL", "postgres://db:5432/quotes?a=x:y@z"));
    }
}
