//! The environment variables of a command: those that proctor may pass on, the additions of the settings, and a few
//! fixed values (E12). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::rules::OWN_CACHE_VARIABLES;
use crate::secrets::Secrets;
use crate::toolchains::is_toolchain_variable;
use proctor_model::{Action, ActionPhase, PackageCredentials};

/// The names of variables that every command gets from proctor's environment. Those of the language are locale(7)'s: another name that
/// begins with `LC_` could tell a check anything.
const ALLOWED: &str = "\
    PATH HOME USER LOGNAME SHELL TZ TMPDIR VIRTUAL_ENV CONDA_PREFIX NODE_ENV LANG LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE \
    LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME";

/// The names of further variables that only prerequisites get: proxies, certificates, package indexes. A trailing `*` stands for any text.
const ALLOWED_FOR_PREREQUISITES: &str = "\
    http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR \
    REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA NIX_SSL_CERT_FILE GIT_SSL_CAINFO CARGO_HTTP_* PIP_* \
    UV_INDEX* UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_SYSTEM_CERTS UV_NATIVE_TLS UV_INSECURE_HOST npm_config_* NPM_CONFIG_* \
    POETRY_REPOSITORIES_* POETRY_HTTP_BASIC_* POETRY_CERTIFICATES_* PDM_PYPI_* GOPROXY GOPRIVATE GONOPROXY GOSUMDB GONOSUMDB";

/// Variables that every command gets with these values, so that tools print the same wherever proctor was started. `CI`
/// is not set, because it changes the results of tools.
const FIXED: &[(&str, &str)] = &[("COLUMNS", "200"), ("PYTHONUNBUFFERED", "1")];

/// The directories below HOME where package managers install a user's own tools.
const USER_TOOLS: &[&str] = &[".local/bin", ".cargo/bin"];

/// What the settings add to the environment of every command.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvironmentAdditions {
    /// The names of further variables that are passed on (`pass_environment`).
    pub pass: Vec<String>,
    /// The names and values from the file that the setting `env_file` names.
    pub from_file: Vec<(String, String)>,
    /// The names of variables that fill the placeholders `{{NAME}}` in the variables of an action. Their values are never
    /// recorded.
    pub secrets: Vec<String>,
    /// Whether prerequisites get variables with credentials of package indexes.
    pub package_credentials: PackageCredentials,
}

/// The environment variables that one command gets, and the names of those that it does not get.
#[derive(Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// The variables that the command gets, sorted by name.
    pub variables: BTreeMap<OsString, OsString>,
    /// The names of variables that proctor has but does not pass on.
    pub dropped: BTreeSet<String>,
    /// The variables whose values have a secret in them, each with the value as the plan has it: with the placeholder.
    pub unfilled: BTreeMap<String, String>,
    /// The variables that the command gets because they name toolchains. No setting asked for them.
    of_toolchains: BTreeSet<OsString>,
}

/// Returns the variables that a command may get although no setting names them.
pub fn passed_on(ambient: &BTreeMap<OsString, OsString>) -> BTreeMap<&OsString, &OsString> {
    let is_passed =
        |name: &OsString| is_listed(name, ALLOWED) || is_listed(name, ALLOWED_FOR_PREREQUISITES) || is_toolchain_variable(name);
    ambient.iter().filter(|(name, _)| is_passed(name)).collect()
}

/// Returns the variables that checks get because of where proctor was started, and because of what the settings pass on. Variables of a
/// single action stand in its plan, and what proctor sets itself is the same everywhere or names a directory of its own.
pub fn variables_of_checks<'a>(
    ambient: &'a BTreeMap<OsString, OsString>,
    settings: &'a EnvironmentAdditions,
) -> Vec<(&'a OsStr, &'a OsStr)> {
    let by_settings = || settings.pass.iter().chain(&settings.secrets);
    let is_passed = |name: &OsStr| {
        is_listed(name, ALLOWED) || is_toolchain_variable(name) || by_settings().any(|passed| OsStr::new(passed) == name)
    };
    let passed = ambient.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).filter(|(name, _)| is_passed(name));
    let from_file = settings.from_file.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    passed.chain(from_file).collect()
}

impl fmt::Debug for EnvironmentAdditions {
    /// Prints names only, because values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.from_file.iter().map(|(name, _)| name.as_str()).collect();
        formatter.debug_struct("EnvironmentAdditions").field("pass", &self.pass).field("from_file", &names).finish()
    }
}

impl ChildEnvironment {
    /// Builds the environment from the passed-on variables, the fixed values, the `env_file`, the action's own
    /// variables, and `PROCTOR_OUT`. If two of them set the same variable, the later one in this list applies.
    pub fn build(
        ambient: &BTreeMap<OsString, OsString>,
        settings: &EnvironmentAdditions,
        action: &Action,
        output_directory: &Path,
    ) -> Self {
        let mut variables = BTreeMap::new();
        let mut dropped = BTreeSet::new();
        let mut of_toolchains = BTreeSet::new();
        for (name, value) in ambient {
            let in_list = is_listed(name, ALLOWED);
            let for_phase = action.phase == ActionPhase::Prerequisite
                && is_listed(name, ALLOWED_FOR_PREREQUISITES)
                && (settings.package_credentials == PackageCredentials::ForPrerequisites || !has_credentials(name, value));
            let by_settings = settings.pass.iter().any(|passed| OsStr::new(passed) == name);
            if in_list || for_phase || by_settings {
                variables.insert(name.clone(), value.clone());
            } else if is_toolchain_variable(name) {
                variables.insert(name.clone(), value.clone());
                of_toolchains.insert(name.clone());
            } else {
                dropped.insert(name.to_string_lossy().into_owned());
            }
        }
        let mut set = |name: &str, value: &OsStr| {
            variables.insert(name.into(), value.to_owned());
            dropped.remove(name);
            of_toolchains.remove(OsStr::new(name));
        };
        FIXED.iter().for_each(|(name, value)| set(name, OsStr::new(value)));
        settings.from_file.iter().for_each(|(name, value)| set(name, OsStr::new(value)));
        let secrets = Secrets::read(ambient, &settings.secrets);
        let mut unfilled = BTreeMap::new();
        for (name, value) in &action.environment {
            let filled = secrets.fill(value);
            if filled != *value {
                unfilled.insert(name.clone(), value.clone());
            }
            set(name, OsStr::new(filled.as_ref()));
        }
        set("PROCTOR_OUT", output_directory.as_os_str());
        Self { variables, dropped, unfilled, of_toolchains }
    }

    /// Returns the names of variables for package managers that a prerequisite does not get, because they have
    /// credentials.
    pub(crate) fn hidden_package_variables(&self) -> impl Iterator<Item = &str> {
        self.dropped.iter().map(String::as_str).filter(|name| is_listed(OsStr::new(name), ALLOWED_FOR_PREREQUISITES))
    }

    /// Adds the variables that the tool needs, for example to request its report. A variable that is already set is
    /// replaced; the new value was made from the old one and includes it.
    pub fn add_for_the_tool(&mut self, variables: &[(String, String)]) {
        variables.iter().for_each(|(name, value)| self.set_own(name, value));
    }

    /// Adds the variables of a client, such as the password of a database. Evidence has them with every secret masked.
    pub fn add_for_the_client(&mut self, variables: &[(String, String)], secrets: &Secrets) {
        self.add_for_the_tool(variables);
        for (name, value) in variables {
            let masked = secrets.mask_text(value.clone());
            if masked != *value {
                self.unfilled.insert(name.clone(), masked);
            }
        }
    }

    /// Makes tools use the project's own caches in `directory`, with further variables for the tools that the project uses. A
    /// variable that the user or the settings set is kept.
    pub fn use_own_caches(&mut self, directory: &Path, further: Vec<(&'static str, OsString)>) {
        for (name, value) in further {
            if self.of_toolchains.remove(OsStr::new(name)) {
                self.variables.remove(OsStr::new(name));
            }
            self.set_unless_chosen(name, value);
        }
        for (names, below) in OWN_CACHE_VARIABLES {
            if names.iter().any(|name| self.variables.contains_key(OsStr::new(name))) {
                continue;
            }
            let Some(name) = names.first() else { continue };
            let path = if below.is_empty() { directory.to_owned() } else { directory.join(below) };
            self.set_own(name, path);
        }
    }

    /// Sets a variable of proctor's own.
    pub fn set_own(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
        self.dropped.remove(name);
    }

    fn set_unless_chosen(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.entry(name.into()).or_insert_with(|| value.into());
        self.dropped.remove(name);
    }

    /// Lets git look for its repository above the project. On a snapshot the project is a file system of its own, and
    /// git would not look beyond it. A value that the settings give is kept.
    pub fn let_git_look_above(&mut self) {
        self.set_unless_chosen("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
    }

    /// Lets git trust the project's files, whoever owns them, and read no settings but those of the repository: the user's own are
    /// hidden. A value that the settings give is kept.
    pub fn use_git_without_settings(&mut self, work_tree: &Path) {
        self.set_unless_chosen("GIT_CONFIG_NOSYSTEM", "1");
        // A repository's own `user.name` and `user.email` are stronger than these two, so tests that set them see them.
        self.set_unless_chosen("EMAIL", "check@localhost");
        if !self.variables.contains_key(OsStr::new("GIT_CONFIG_COUNT")) {
            self.set_own("GIT_CONFIG_COUNT", "1");
            self.set_own("GIT_CONFIG_KEY_0", "safe.directory");
            self.set_own("GIT_CONFIG_VALUE_0", work_tree);
        }
    }

    /// Returns the directories in which a command's program is searched: its `PATH`, then the directories where package
    /// managers install a user's own tools (uv, poetry). A shell usually has those directories in its `PATH`, a
    /// background service does not.
    pub fn search_path(&self) -> OsString {
        search_path(&self.variables)
    }

    /// Returns the variables as text. The values may be secrets: see [`Self::for_evidence`].
    pub fn as_text(&self) -> BTreeMap<String, String> {
        let text = |value: &OsString| value.to_string_lossy().into_owned();
        self.variables.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// Returns the variables as text for evidence, with the placeholder in place of each secret that fills one. `report/` decides
    /// which values are shown.
    pub fn for_evidence(&self) -> BTreeMap<String, String> {
        let mut variables = self.as_text();
        variables.extend(self.unfilled.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables
    }

    /// Returns the variables that were not passed on but are named in a failed command's output: the command probably
    /// needed them.
    pub fn missed_in(&self, output: &str) -> Vec<String> {
        let words: BTreeSet<&str> =
            output.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_')).collect();
        let long_enough = self.dropped.iter().filter(|name| name.len() >= 4);
        long_enough.filter(|name| words.contains(name.as_str())).cloned().collect()
    }
}

/// Returns the directories in which programs are searched: those in `PATH`, then those in `USER_TOOLS` below HOME.
pub fn search_path(variables: &BTreeMap<OsString, OsString>) -> OsString {
    let mut path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let home = variables.get(OsStr::new("HOME")).map(Path::new).filter(|home| home.is_absolute());
    for own in home.into_iter().flat_map(|home| USER_TOOLS.iter().map(move |directory| home.join(directory))) {
        // An empty entry in `PATH` would mean the working directory.
        if !path.is_empty() {
            path.push(":");
        }
        path.push(own);
    }
    path
}

/// Returns whether a variable for package managers has credentials: by its name, or by an address with a user in it.
fn has_credentials(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let is_named = ["PASSWORD", "PASSWD", "USERNAME", "_AUTH", "TOKEN", "HTTP_BASIC"].iter().any(|word| name.contains(word));
    // A proxy's address often has a user in it. Without the proxy nothing can be fetched at all.
    let is_proxy = name.ends_with("PROXY");
    let value = value.to_string_lossy();
    let mut hosts = value.split("://").skip(1).filter_map(|rest| rest.split(['/', ' ']).next());
    is_named || (!is_proxy && hosts.any(|host| host.contains('@')))
}

fn is_listed(name: &OsStr, list: &str) -> bool {
    list.split(' ').any(|entry| match entry.strip_suffix('*') {
        Some(prefix) => name.as_bytes().starts_with(prefix.as_bytes()),
        None => name.as_bytes() == entry.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing::generic_action as action;

    fn ambient(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn build(pairs: &[(&str, &str)], settings: &EnvironmentAdditions, action: &Action) -> ChildEnvironment {
        ChildEnvironment::build(&ambient(pairs), settings, action, Path::new("/out"))
    }

    #[test]
    fn only_listed_names_get_through_and_ci_is_neither_passed_nor_set() {
        let pairs = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("LC_GREEN", "1"),
            ("CI", "1"),
            ("PYTEST_ADDOPTS", "-k x"),
            ("LD_PRELOAD", "evil.so"),
        ];
        let child = build(&pairs, &EnvironmentAdditions::default(), &action(ActionPhase::Step));
        let names: Vec<_> = child.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["COLUMNS", "LC_ALL", "PATH", "PROCTOR_OUT", "PYTHONUNBUFFERED"]);
        assert_eq!(
            child.dropped.iter().map(String::as_str).collect::<Vec<_>>(),
            ["CI", "LC_GREEN", "LD_PRELOAD", "PYTEST_ADDOPTS"]
        );
    }

    #[test]
    fn prerequisites_get_what_fetching_packages_needs_and_checks_do_not() {
        let pairs =
            [("https_proxy", "p"), ("PIP_CERT", "c"), ("UV_SYSTEM_CERTS", "1"), ("GOPROXY", "g"), ("npm_config_cache", "n")];
        let settings = EnvironmentAdditions::default();
        let prerequisite = build(&pairs, &settings, &action(ActionPhase::Prerequisite));
        assert!(prerequisite.dropped.is_empty());
        assert_eq!(build(&pairs, &settings, &action(ActionPhase::Step)).dropped.len(), pairs.len());
        // A variable with the certificates of the network is of no use without the file that it names.
        let passed = |name: &&str| is_listed(OsStr::new(name), ALLOWED_FOR_PREREQUISITES);
        for name in crate::rules::VISIBLE_VARIABLES.split(' ').filter(|name| name.contains("CERT") || name.contains("CA")) {
            assert!(passed(&name), "{name}");
        }
    }

    #[test]
    fn prerequisites_get_variables_with_credentials_only_if_that_was_allowed() {
        let secret = [
            ("POETRY_HTTP_BASIC_SHOP_PASSWORD", "x"),
            ("UV_INDEX_SHOP_PASSWORD", "x"),
            ("npm_config__authToken", "x"),
            ("PIP_INDEX_URL", "https://ada:x@index.example/simple"),
        ];
        let plain =
            [("PIP_EXTRA_INDEX_URL", "https://index.example/simple/@shop"), ("https_proxy", "http://ada:x@proxy.example")];
        let pairs: Vec<(&str, &str)> = secret.into_iter().chain(plain).collect();
        let prerequisite = action(ActionPhase::Prerequisite);
        let hidden = build(&pairs, &EnvironmentAdditions::default(), &prerequisite);
        assert_eq!(hidden.hidden_package_variables().count(), secret.len(), "{:?}", hidden.dropped);
        assert!(plain.iter().all(|(name, _)| hidden.variables.contains_key(OsStr::new(name))));
        let allowed =
            EnvironmentAdditions { package_credentials: PackageCredentials::ForPrerequisites, ..EnvironmentAdditions::default() };
        assert!(build(&pairs, &allowed, &prerequisite).dropped.is_empty());
        assert_eq!(build(&pairs, &allowed, &action(ActionPhase::Step)).dropped.len(), pairs.len());
    }

    #[test]
    fn the_settings_and_the_action_add_names_and_the_action_wins() {
        let settings =
            EnvironmentAdditions { pass: vec!["DB".into()], from_file: vec![("A".into(), "file".into())], ..Default::default() };
        let mut action = action(ActionPhase::Step);
        action.environment.insert("A".into(), "action".into());
        action.environment.insert("COLUMNS".into(), "80".into());
        let child = build(&[("DB", "x")], &settings, &action);
        let value = |name: &str| child.variables.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
        assert_eq!((value("DB"), value("A"), value("COLUMNS")), (Some("x".into()), Some("action".into()), Some("80".into())));
    }

    #[test]
    fn a_secret_fills_a_variable_and_is_no_evidence() {
        let settings = EnvironmentAdditions { secrets: vec!["API_TOKEN".into()], ..Default::default() };
        let mut action = action(ActionPhase::Step);
        action.environment.insert("HEADER".into(), "Bearer {{API_TOKEN}}".into());
        action.environment.insert("PLAIN".into(), "{{OTHER}}".into());
        let child = build(&[("API_TOKEN", "hush-hush")], &settings, &action);
        assert_eq!(child.as_text()["HEADER"], "Bearer hush-hush");
        let evidence = child.for_evidence();
        assert_eq!((&*evidence["HEADER"], &*evidence["PLAIN"]), ("Bearer {{API_TOKEN}}", "{{OTHER}}"));
        assert!(!child.variables.contains_key(OsStr::new("API_TOKEN")), "the variable itself is not passed on");
    }

    #[test]
    fn what_is_printed_of_the_settings_holds_no_value() {
        let settings = EnvironmentAdditions {
            pass: vec!["DB".into()],
            from_file: vec![("TOKEN".into(), "hush".into())],
            ..Default::default()
        };
        let printed = format!("{settings:?}");
        assert!(printed.contains("TOKEN") && !printed.contains("hush"), "{printed}");
    }

    #[test]
    fn a_dropped_name_in_the_output_of_a_failure_is_pointed_out() {
        let child = build(&[("DATABASE_URL", "x"), ("DATA", "y")], &EnvironmentAdditions::default(), &action(ActionPhase::Step));
        assert_eq!(child.missed_in("KeyError: 'DATABASE_URL'"), ["DATABASE_URL"]);
        assert!(child.missed_in("DATABASE_URLS are fine").is_empty());
    }

    #[test]
    fn tools_get_the_projects_own_caches_but_for_those_that_somebody_chose() {
        let mut prerequisite = action(ActionPhase::Prerequisite);
        prerequisite.environment.insert("UV_CACHE_DIR".into(), "/uv".into());
        let ambient = [("NPM_CONFIG_CACHE", "/npm"), ("XDG_CACHE_HOME", "/not-passed-on")];
        let mut child = build(&ambient, &EnvironmentAdditions::default(), &prerequisite);
        child.use_own_caches(Path::new("/own"), vec![("CARGO_HOME", "/own/cargo".into()), ("UV_CACHE_DIR", "/other".into())]);
        let value = |name: &str| child.variables.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!((value("XDG_CACHE_HOME"), value("PIP_CACHE_DIR")), (Some("/own"), Some("/own/pip")));
        assert_eq!((value("UV_CACHE_DIR"), value("npm_config_cache")), (Some("/uv"), None));
        assert_eq!(value("CARGO_HOME"), Some("/own/cargo"));
        assert!(!child.dropped.contains("XDG_CACHE_HOME"));
    }

    #[test]
    fn variables_that_name_toolchains_are_passed_on_and_the_projects_own_caches_are_stronger() {
        let pairs = [("RUSTUP_HOME", "/rust"), ("CARGO_HOME", "/cargo"), ("JAVA_HOME", "/jdk"), ("GOMODCACHE", "/go")];
        let mut child = build(&pairs, &EnvironmentAdditions::default(), &action(ActionPhase::Step));
        assert_eq!(child.dropped.iter().map(String::as_str).collect::<Vec<_>>(), ["GOMODCACHE"]);
        child.use_own_caches(Path::new("/own"), vec![("CARGO_HOME", "/own/cargo".into())]);
        let value = |child: &ChildEnvironment, name: &str| child.as_text().get(name).cloned().unwrap_or_default();
        assert_eq!((value(&child, "RUSTUP_HOME"), value(&child, "CARGO_HOME")), ("/rust".into(), "/own/cargo".into()));
        let chosen = EnvironmentAdditions { pass: vec!["CARGO_HOME".into()], ..EnvironmentAdditions::default() };
        let mut child = build(&pairs, &chosen, &action(ActionPhase::Step));
        child.use_own_caches(Path::new("/own"), vec![("CARGO_HOME", "/own/cargo".into())]);
        assert_eq!(value(&child, "CARGO_HOME"), "/cargo");
    }

    #[test]
    fn git_reads_no_settings_of_the_user_unless_somebody_chose_them() {
        let chosen = EnvironmentAdditions {
            from_file: vec![("GIT_CONFIG_COUNT".into(), "0".into()), ("EMAIL".into(), "a@b".into())],
            ..EnvironmentAdditions::default()
        };
        for (settings, count, email) in [(EnvironmentAdditions::default(), "1", "check@localhost"), (chosen, "0", "a@b")] {
            let mut child = build(&[("EMAIL", "ada@example.org")], &settings, &action(ActionPhase::Step));
            child.use_git_without_settings(Path::new("/work"));
            let text = child.as_text();
            assert_eq!((text["GIT_CONFIG_COUNT"].as_str(), text["EMAIL"].as_str()), (count, email));
            assert_eq!(text.contains_key("GIT_CONFIG_VALUE_0"), count == "1");
        }
    }

    #[test]
    fn a_users_own_tools_are_found_after_everything_on_the_search_path() {
        let path = |pairs: &[(&str, &str)]| search_path(&ambient(pairs)).into_string().unwrap();
        assert_eq!(path(&[("PATH", "/bin"), ("HOME", "/h")]), "/bin:/h/.local/bin:/h/.cargo/bin");
        assert_eq!(path(&[("HOME", "/h")]), "/h/.local/bin:/h/.cargo/bin");
        assert_eq!(path(&[("PATH", "/bin"), ("HOME", "")]), "/bin");
    }
}
