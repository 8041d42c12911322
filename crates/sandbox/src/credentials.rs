//! The files and directories with secrets that actions do not see, in groups. `docs/reference/hidden-files.md` is made
//! from this table.
//!
//! A hidden directory appears empty, and a hidden file appears empty too, or with a content without secrets where its tool cannot
//! read an empty file (Maven's `settings.xml`, Composer's `auth.json`).

use std::path::Path;

use crate::rules::PathBase;

/// From which actions a file with secrets is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenFrom {
    All,
    /// The file is always hidden from checks, services and clean-up. It is hidden from prerequisites too, unless the
    /// setting `package_credentials` shows it to them, so that they can fetch packages from private indexes.
    UnlessAllowed,
}

/// Files and directories with secrets of one kind, hidden if they exist.
pub(super) struct CredentialGroup {
    pub(super) title: &'static str,
    pub(super) hidden_from: HiddenFrom,
    pub(super) paths: &'static [(PathBase, &'static str)],
}

/// An environment variable that names a file or directory with secrets.
pub(super) struct CredentialVariable {
    pub(super) name: &'static str,
    /// The path of the secrets below the directory that the variable names. If it is empty, the variable names the
    /// secrets themselves.
    pub(super) below: &'static str,
    pub(super) hidden_from: HiddenFrom,
}

/// Files and directories with secrets, hidden if they exist.
pub(super) const CREDENTIALS: &[CredentialGroup] = &[
    CredentialGroup {
        title: "Keys, passwords and the sockets of their agents",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".ssh"),
            (PathBase::Home, ".gnupg"),
            (PathBase::Home, ".pki"),
            (PathBase::Home, ".password-store"),
            (PathBase::Config, "op"),
            (PathBase::Home, ".op"),
            (PathBase::Home, ".1password"),
            (PathBase::Config, "1Password"),
            (PathBase::Config, "Bitwarden CLI"),
            (PathBase::Config, "keepassxc"),
            (PathBase::Config, "sops"),
            (PathBase::Config, "age"),
            (PathBase::Config, "rbw"),
            (PathBase::Data, "keyrings"),
            (PathBase::Data, "kwalletd"),
            (PathBase::Home, ".age"),
            (PathBase::Home, ".env"),
            (PathBase::Config, "age-plugin-yubikey"),
            (PathBase::Config, "keybase"),
            (PathBase::Home, ".lpass"),
            (PathBase::Data, "pass"),
        ],
    },
    CredentialGroup {
        title: "Cloud services and clusters",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".aws"),
            (PathBase::Home, ".azure"),
            (PathBase::Config, "gcloud"),
            (PathBase::Config, "doctl"),
            (PathBase::Config, "hcloud"),
            (PathBase::Config, "scw"),
            (PathBase::Config, "flyctl"),
            (PathBase::Config, "heroku"),
            (PathBase::Config, "netlify"),
            (PathBase::Data, "com.vercel.cli"),
            (PathBase::Home, ".fly/config.yml"),
            (PathBase::Home, ".oci"),
            (PathBase::Home, ".aliyun"),
            (PathBase::Home, ".bluemix"),
            (PathBase::Home, ".wrangler"),
            (PathBase::Config, ".wrangler"),
            (PathBase::Home, ".kube"),
            (PathBase::Home, ".minikube"),
            (PathBase::Home, ".docker"),
            (PathBase::Config, "containers/auth.json"),
            (PathBase::Config, "helm"),
            (PathBase::Home, ".terraform.d"),
            (PathBase::Home, ".terraformrc"),
            (PathBase::Home, ".pulumi/credentials.json"),
            (PathBase::Home, ".vault-token"),
            (PathBase::Home, ".boto"),
            (PathBase::Home, ".s3cfg"),
            (PathBase::Config, "rclone"),
            (PathBase::Home, ".databrickscfg"),
            (PathBase::Home, ".snowflake"),
            (PathBase::Home, ".kaggle"),
        ],
    },
    CredentialGroup {
        title: "Databases",
        hidden_from: HiddenFrom::All,
        paths: &[(PathBase::Home, ".pgpass"), (PathBase::Home, ".my.cnf"), (PathBase::Home, ".mylogin.cnf")],
    },
    CredentialGroup {
        title: "Code hosting sites and issue trackers",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Config, "gh"),
            (PathBase::Config, "hub"),
            (PathBase::Config, "glab-cli"),
            (PathBase::Config, "tea"),
            (PathBase::Config, ".jira"),
            (PathBase::Home, ".authinfo"),
            (PathBase::Home, ".authinfo.gpg"),
            (PathBase::Home, ".git-credentials"),
            (PathBase::Config, "git/credentials"),
            (PathBase::Home, ".git-credential-cache"),
            (PathBase::Home, ".cache/git/credential"),
        ],
    },
    CredentialGroup {
        title: "Accounts with which packages are published",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".pypirc"),
            (PathBase::Home, ".gem/credentials"),
            (PathBase::Data, "gem/credentials"),
            (PathBase::Config, "hex"),
        ],
    },
    CredentialGroup {
        title: "Package indexes",
        hidden_from: HiddenFrom::UnlessAllowed,
        paths: &[
            (PathBase::Home, ".npmrc"),
            (PathBase::Home, ".yarnrc"),
            (PathBase::Home, ".yarnrc.yml"),
            (PathBase::Config, "pnpm/rc"),
            (PathBase::Home, ".bunfig.toml"),
            (PathBase::Home, ".pip"),
            (PathBase::Config, "pip"),
            (PathBase::Config, "uv/credentials"),
            (PathBase::Data, "uv/credentials"),
            (PathBase::Config, "pypoetry/auth.toml"),
            (PathBase::Home, ".gradle/gradle.properties"),
            (PathBase::Home, ".bundle/config"),
            (PathBase::Home, ".netrc"),
            (PathBase::Home, ".cargo/credentials"),
            (PathBase::Home, ".cargo/credentials.toml"),
            (PathBase::Home, ".m2/settings-security.xml"),
            (PathBase::Home, ".m2/settings.xml"),
            (PathBase::Home, ".composer/auth.json"),
            (PathBase::Config, "composer/auth.json"),
        ],
    },
    CredentialGroup {
        title: "Browsers, mail and chat: sessions and stored passwords",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".mozilla"),
            (PathBase::Home, ".thunderbird"),
            (PathBase::Config, "mozilla"),
            (PathBase::Config, "google-chrome"),
            (PathBase::Config, "chromium"),
            (PathBase::Config, "BraveSoftware"),
            (PathBase::Config, "microsoft-edge"),
            (PathBase::Config, "vivaldi"),
            (PathBase::Config, "opera"),
            (PathBase::Home, "snap/firefox"),
            (PathBase::Home, "snap/chromium"),
            (PathBase::Home, ".var/app/org.mozilla.firefox"),
            (PathBase::Home, ".var/app/com.google.Chrome"),
            (PathBase::Home, ".var/app/org.chromium.Chromium"),
            (PathBase::Config, "Signal"),
            (PathBase::Config, "Slack"),
            (PathBase::Config, "discord"),
            (PathBase::Config, "google-chrome-beta"),
            (PathBase::Config, "google-chrome-unstable"),
            (PathBase::Config, "microsoft-edge-dev"),
            (PathBase::Config, "vivaldi-snapshot"),
            (PathBase::Config, "opera-beta"),
            (PathBase::Config, "Microsoft/Microsoft Teams"),
            (PathBase::Config, "teams-for-linux"),
            (PathBase::Config, "Element"),
            (PathBase::Config, "TelegramDesktop"),
            (PathBase::Home, ".librewolf"),
            (PathBase::Home, ".waterfox"),
            (PathBase::Home, ".zen"),
            (PathBase::Home, ".floorp"),
            (PathBase::Home, ".opera"),
            (PathBase::Home, ".cache/mozilla"),
            (PathBase::Home, ".cache/google-chrome"),
            (PathBase::Home, ".cache/chromium"),
            (PathBase::Home, ".cache/BraveSoftware"),
            (PathBase::Home, ".cache/microsoft-edge"),
            (PathBase::Home, ".cache/vivaldi"),
            (PathBase::Home, ".cache/librewolf"),
            (PathBase::Home, "snap/brave"),
            (PathBase::Home, "snap/thunderbird"),
            (PathBase::Home, ".var/app/com.brave.Browser"),
            (PathBase::Home, ".var/app/com.microsoft.Edge"),
            (PathBase::Home, ".var/app/com.vivaldi.Vivaldi"),
            (PathBase::Home, ".var/app/io.gitlab.librewolf-community"),
            (PathBase::Home, ".var/app/org.mozilla.Thunderbird"),
            (PathBase::Data, "TelegramDesktop"),
            (PathBase::Data, "evolution"),
        ],
    },
    CredentialGroup {
        title: "Assistants: tokens, and the texts of conversations",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".claude"),
            (PathBase::Home, ".claude.json"),
            (PathBase::Home, ".codex"),
            (PathBase::Home, ".gemini"),
            (PathBase::Home, ".cursor"),
            (PathBase::Home, ".aider.conf.yml"),
            (PathBase::Home, ".continue"),
            (PathBase::Config, "github-copilot"),
            (PathBase::Config, "anthropic"),
            (PathBase::Config, "openai"),
            (PathBase::Config, "goose"),
            (PathBase::Config, "opencode"),
            (PathBase::Data, "opencode"),
            (PathBase::Home, ".cache/huggingface/token"),
            (PathBase::Home, ".huggingface/token"),
        ],
    },
    CredentialGroup {
        title: "Histories of typed commands, which may contain passwords",
        hidden_from: HiddenFrom::All,
        paths: &[
            (PathBase::Home, ".bash_history"),
            (PathBase::Home, ".zsh_history"),
            (PathBase::Data, "fish/fish_history"),
            (PathBase::Home, ".psql_history"),
            (PathBase::Home, ".mysql_history"),
            (PathBase::Home, ".python_history"),
            (PathBase::Home, ".node_repl_history"),
            (PathBase::Home, ".zhistory"),
            (PathBase::Home, ".history"),
            (PathBase::Home, ".sh_history"),
            (PathBase::Home, ".ksh_history"),
            (PathBase::Home, ".mksh_history"),
            (PathBase::Home, ".ash_history"),
            (PathBase::Home, ".tcsh_history"),
            (PathBase::Home, ".histfile"),
            (PathBase::Home, ".sqlite_history"),
            (PathBase::Home, ".rediscli_history"),
            (PathBase::Home, ".irb_history"),
            (PathBase::Home, ".php_history"),
            (PathBase::Home, ".scala_history"),
            (PathBase::Home, ".dbshell"),
            (PathBase::Home, ".mongodb"),
            (PathBase::Home, ".lesshst"),
            (PathBase::Home, ".viminfo"),
            (PathBase::Home, ".bash_sessions"),
            (PathBase::Home, ".zsh_sessions"),
            (PathBase::Home, ".local/state/bash/history"),
            (PathBase::Home, ".local/state/zsh/history"),
            (PathBase::Home, ".local/state/python_history"),
            (PathBase::Home, ".local/state/psql_history"),
            (PathBase::Data, "atuin"),
            (PathBase::Data, "bash/history"),
            (PathBase::Data, "zsh/history"),
            (PathBase::Data, "xonsh"),
            (PathBase::Data, "powershell/PSReadLine"),
            (PathBase::Data, "nushell"),
            (PathBase::Config, "nushell/history.txt"),
            (PathBase::Config, "nushell/history.sqlite3"),
        ],
    },
    CredentialGroup {
        title: "The key of the X display, with which a program can read every key stroke",
        hidden_from: HiddenFrom::All,
        paths: &[(PathBase::Home, ".Xauthority"), (PathBase::Home, ".ICEauthority")],
    },
];

/// Variables in proctor's environment that name files or directories with secrets. Some of them hold several paths.
pub(super) const CREDENTIAL_VARIABLES: &[CredentialVariable] = &[
    named("GNUPGHOME"),
    named("SSH_AUTH_SOCK"),
    named("PASSWORD_STORE_DIR"),
    named("AWS_SHARED_CREDENTIALS_FILE"),
    named("AWS_CONFIG_FILE"),
    named("AWS_WEB_IDENTITY_TOKEN_FILE"),
    named("AZURE_CONFIG_DIR"),
    named("CLOUDSDK_CONFIG"),
    named("GOOGLE_APPLICATION_CREDENTIALS"),
    named("KUBECONFIG"),
    named("DOCKER_CONFIG"),
    named("REGISTRY_AUTH_FILE"),
    named("GH_CONFIG_DIR"),
    named("GLAB_CONFIG_DIR"),
    of_index("NETRC", ""),
    named("PGPASSFILE"),
    named("TF_CLI_CONFIG_FILE"),
    named_below("PULUMI_HOME", "credentials.json"),
    named("XAUTHORITY"),
    named("CLAUDE_CONFIG_DIR"),
    named("CODEX_HOME"),
    named("HF_TOKEN_PATH"),
    of_index("CARGO_HOME", "credentials.toml"),
    of_index("CARGO_HOME", "credentials"),
    named_below("HF_HOME", "token"),
    of_index("NPM_CONFIG_USERCONFIG", ""),
    of_index("npm_config_userconfig", ""),
    of_index("PIP_CONFIG_FILE", ""),
];

const fn named(name: &'static str) -> CredentialVariable {
    named_below(name, "")
}

const fn named_below(name: &'static str, below: &'static str) -> CredentialVariable {
    CredentialVariable { name, below, hidden_from: HiddenFrom::All }
}

const fn of_index(name: &'static str, below: &'static str) -> CredentialVariable {
    CredentialVariable { name, below, hidden_from: HiddenFrom::UnlessAllowed }
}

/// Returns whether a path below HOME has credentials of package indexes, which prerequisites see only if that was
/// allowed. The path is relative to HOME.
pub(super) fn is_of_package_index(below_home: &Path) -> bool {
    let groups = CREDENTIALS.iter().filter(|group| group.hidden_from == HiddenFrom::UnlessAllowed);
    let mut paths = groups.flat_map(|group| group.paths);
    paths.any(|(base, path)| match base {
        PathBase::Home => below_home == Path::new(path),
        PathBase::Config => below_home.strip_prefix(".config").is_ok_and(|below| below == Path::new(path)),
        PathBase::Data => below_home.strip_prefix(".local/share").is_ok_and(|below| below == Path::new(path)),
    })
}

/// Returns the table of hidden files and directories as Markdown, for the documentation.
pub fn hidden_files_table() -> String {
    let written = |(base, path): &(PathBase, &str)| match base {
        PathBase::Home => format!("`~/{path}`"),
        PathBase::Config => format!("`~/.config/{path}`"),
        PathBase::Data => format!("`~/.local/share/{path}`"),
    };
    let rows = CREDENTIALS.iter().map(|group| {
        let paths: Vec<String> = group.paths.iter().map(written).collect();
        let from = match group.hidden_from {
            HiddenFrom::All => "every action",
            HiddenFrom::UnlessAllowed => "every action; prerequisites see them with `package_credentials = \"prerequisites\"`",
        };
        format!("| {} | {from} | {} |\n", group.title, paths.join(", "))
    });
    let names = |hidden_from: HiddenFrom| {
        let mut names: Vec<String> = CREDENTIAL_VARIABLES
            .iter()
            .filter(|variable| variable.hidden_from == hidden_from)
            .map(|variable| match variable.below {
                "" => format!("`${}`", variable.name),
                below => format!("`${}/{below}`", variable.name),
            })
            .collect();
        names.sort();
        names.join(", ")
    };
    format!(
        "| what | hidden from | paths |\n|---|---|---|\n{}| What variables name | every action | {} |\n| What variables name, of package indexes | every \
         action, unless allowed as above | {} |\n",
        rows.collect::<String>(),
        names(HiddenFrom::All),
        names(HiddenFrom::UnlessAllowed),
    )
}
