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
    /// The paths as people write them, with a colon between two of them.
    paths: &'static str,
}

impl CredentialGroup {
    /// Returns the paths, each below its base directory.
    pub(super) fn paths(&self) -> impl Iterator<Item = (PathBase, &'static str)> {
        self.paths.split(':').map(PathBase::of_written)
    }
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
        paths: "\
            ~/.ssh:~/.gnupg:~/.pki:~/.password-store:~/.config/op:~/.op:~/.1password:~/.config/1Password:\
            ~/.config/Bitwarden CLI:~/.config/keepassxc:~/.config/sops:~/.config/age:~/.config/rbw:~/.local/share/keyrings:\
            ~/.local/share/kwalletd:~/.age:~/.env:~/.config/age-plugin-yubikey:~/.config/keybase:~/.lpass:~/.local/share/pass",
    },
    CredentialGroup {
        title: "Cloud services and clusters",
        hidden_from: HiddenFrom::All,
        paths: "\
            ~/.aws:~/.azure:~/.config/gcloud:~/.config/doctl:~/.config/hcloud:~/.config/scw:~/.config/flyctl:\
            ~/.config/heroku:~/.config/netlify:~/.local/share/com.vercel.cli:~/.fly/config.yml:~/.oci:~/.aliyun:~/.bluemix:\
            ~/.wrangler:~/.config/.wrangler:~/.kube:~/.minikube:~/.docker:~/.config/containers/auth.json:~/.config/helm:\
            ~/.terraform.d:~/.terraformrc:~/.pulumi/credentials.json:~/.vault-token:~/.boto:~/.s3cfg:~/.config/rclone:\
            ~/.databrickscfg:~/.snowflake:~/.kaggle",
    },
    CredentialGroup { title: "Databases", hidden_from: HiddenFrom::All, paths: "~/.pgpass:~/.my.cnf:~/.mylogin.cnf" },
    CredentialGroup {
        title: "Code hosting sites and issue trackers",
        hidden_from: HiddenFrom::All,
        paths: "\
            ~/.config/gh:~/.config/hub:~/.config/glab-cli:~/.config/tea:~/.config/.jira:~/.authinfo:~/.authinfo.gpg:\
            ~/.git-credentials:~/.config/git/credentials:~/.git-credential-cache:~/.cache/git/credential",
    },
    CredentialGroup {
        title: "Accounts with which packages are published",
        hidden_from: HiddenFrom::All,
        paths: "~/.pypirc:~/.gem/credentials:~/.local/share/gem/credentials:~/.config/hex",
    },
    CredentialGroup {
        title: "Package indexes",
        hidden_from: HiddenFrom::UnlessAllowed,
        paths: "\
            ~/.npmrc:~/.yarnrc:~/.yarnrc.yml:~/.config/pnpm/rc:~/.bunfig.toml:~/.pip:~/.config/pip:~/.config/uv/credentials:\
            ~/.local/share/uv/credentials:~/.config/pypoetry/auth.toml:~/.gradle/gradle.properties:~/.bundle/config:~/.netrc:\
            ~/.cargo/credentials:~/.cargo/credentials.toml:~/.m2/settings-security.xml:~/.m2/settings.xml:\
            ~/.composer/auth.json:~/.config/composer/auth.json",
    },
    CredentialGroup {
        title: "Browsers, mail and chat: sessions and stored passwords",
        hidden_from: HiddenFrom::All,
        paths: "\
            ~/.mozilla:~/.thunderbird:~/.config/mozilla:~/.config/google-chrome:~/.config/chromium:~/.config/BraveSoftware:\
            ~/.config/microsoft-edge:~/.config/vivaldi:~/.config/opera:~/snap/firefox:~/snap/chromium:\
            ~/.var/app/org.mozilla.firefox:~/.var/app/com.google.Chrome:~/.var/app/org.chromium.Chromium:~/.config/Signal:\
            ~/.config/Slack:~/.config/discord:~/.config/google-chrome-beta:~/.config/google-chrome-unstable:\
            ~/.config/microsoft-edge-dev:~/.config/vivaldi-snapshot:~/.config/opera-beta:~/.config/Microsoft/Microsoft Teams:\
            ~/.config/teams-for-linux:~/.config/Element:~/.config/TelegramDesktop:~/.librewolf:~/.waterfox:~/.zen:~/.floorp:\
            ~/.opera:~/.cache/mozilla:~/.cache/google-chrome:~/.cache/chromium:~/.cache/BraveSoftware:\
            ~/.cache/microsoft-edge:~/.cache/vivaldi:~/.cache/librewolf:~/snap/brave:~/snap/thunderbird:\
            ~/.var/app/com.brave.Browser:~/.var/app/com.microsoft.Edge:~/.var/app/com.vivaldi.Vivaldi:\
            ~/.var/app/io.gitlab.librewolf-community:~/.var/app/org.mozilla.Thunderbird:~/.local/share/TelegramDesktop:\
            ~/.local/share/evolution",
    },
    CredentialGroup {
        title: "Assistants: tokens, and the texts of conversations",
        hidden_from: HiddenFrom::All,
        paths: "\
            ~/.claude:~/.claude.json:~/.codex:~/.gemini:~/.cursor:~/.aider.conf.yml:~/.continue:~/.config/github-copilot:\
            ~/.config/anthropic:~/.config/openai:~/.config/goose:~/.config/opencode:~/.local/share/opencode:\
            ~/.cache/huggingface/token:~/.huggingface/token",
    },
    CredentialGroup {
        title: "Histories of typed commands, which may contain passwords",
        hidden_from: HiddenFrom::All,
        paths: "\
            ~/.bash_history:~/.zsh_history:~/.local/share/fish/fish_history:~/.psql_history:~/.mysql_history:\
            ~/.python_history:~/.node_repl_history:~/.zhistory:~/.history:~/.sh_history:~/.ksh_history:~/.mksh_history:\
            ~/.ash_history:~/.tcsh_history:~/.histfile:~/.sqlite_history:~/.rediscli_history:~/.irb_history:~/.php_history:\
            ~/.scala_history:~/.dbshell:~/.mongodb:~/.lesshst:~/.viminfo:~/.bash_sessions:~/.zsh_sessions:\
            ~/.local/state/bash/history:~/.local/state/zsh/history:~/.local/state/python_history:~/.local/state/psql_history:\
            ~/.local/share/atuin:~/.local/share/bash/history:~/.local/share/zsh/history:~/.local/share/xonsh:\
            ~/.local/share/powershell/PSReadLine:~/.local/share/nushell:~/.config/nushell/history.txt:\
            ~/.config/nushell/history.sqlite3",
    },
    CredentialGroup {
        title: "The key of the X display, with which a program can read every key stroke",
        hidden_from: HiddenFrom::All,
        paths: "~/.Xauthority:~/.ICEauthority",
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
    let mut paths = groups.flat_map(|group| group.paths.split(':')).filter_map(|path| path.strip_prefix("~/"));
    paths.any(|path| below_home == Path::new(path))
}

/// Returns the table of hidden files and directories as Markdown, for the documentation.
pub fn hidden_files_table() -> String {
    let rows = CREDENTIALS.iter().map(|group| {
        let paths: Vec<String> = group.paths.split(':').map(|path| format!("`{path}`")).collect();
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
