//! The rules as tables with one row each: which paths are private, hidden, writable or visible.

/// The base directory of a path in the tables of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathBase {
    Home,
    /// `$XDG_CONFIG_HOME` and `~/.config`. Both are used, because some tools ignore the variable.
    Config,
    /// `$XDG_DATA_HOME` and `~/.local/share`.
    Data,
}

impl PathBase {
    /// All base directories, in the order in which paths below them are searched.
    pub(super) const ALL: [Self; 3] = [Self::Home, Self::Config, Self::Data];
}

/// From which actions a file with secrets is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenFrom {
    All,
    /// Checks and clean-up. Prerequisites may read the file, because they fetch packages from private registries with
    /// it.
    Checks,
}

/// A file or directory with secrets.
pub(super) struct Credential {
    pub(super) base: PathBase,
    pub(super) path: &'static str,
    pub(super) hidden_from: HiddenFrom,
}

/// An environment variable that names a file or directory with secrets.
pub(super) struct CredentialVariable {
    pub(super) name: &'static str,
    /// The path of the secrets below the directory that the variable names. If it is empty, the variable names the
    /// secrets themselves.
    pub(super) below: &'static str,
    pub(super) hidden_from: HiddenFrom,
}

/// A cache of downloads that tools share between projects.
pub(super) struct Cache {
    pub(super) base: PathBase,
    pub(super) path: &'static str,
    pub(super) missing: MissingCache,
}

/// What proctor does if a cache does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingCache {
    /// proctor does nothing, because the tool is probably not in use.
    LeftOut,
    Made,
    /// The cache is created if the project has a `package.json`.
    MadeForNode,
}

const fn secret(base: PathBase, path: &'static str) -> Credential {
    Credential { base, path, hidden_from: HiddenFrom::All }
}

const fn registry(base: PathBase, path: &'static str) -> Credential {
    Credential { base, path, hidden_from: HiddenFrom::Checks }
}

const fn named(name: &'static str) -> CredentialVariable {
    CredentialVariable { name, below: "", hidden_from: HiddenFrom::All }
}

const fn named_below(name: &'static str, below: &'static str) -> CredentialVariable {
    CredentialVariable { name, below, hidden_from: HiddenFrom::All }
}

const fn cache(path: &'static str) -> Cache {
    Cache { base: PathBase::Home, path, missing: MissingCache::LeftOut }
}

/// Directories for temporary files, each with the name of its replacement in the run's scratch directory. They are
/// replaced because other processes keep files in them, above all the sockets of agents and terminal multiplexers.
pub(super) const PRIVATE: &[(&str, &str)] = &[("/tmp", "tmp"), ("/var/tmp", "var-tmp")];

/// The name of the scratch directory that an action sees in place of `$TMPDIR`.
pub(super) const PRIVATE_TMPDIR: &str = "tmpdir";

/// The name of the scratch directory that takes the writes to HOME, if HOME is an overlay.
pub(super) const OVERLAY_HOME: &str = "home";

/// In-memory file systems for POSIX semaphores and shared memory. Each action gets an empty one, because other
/// processes keep their semaphores and shared memory there.
pub(super) const MEMORY: &[&str] = &["/dev/shm"];

/// Run-time directories with the sockets of message buses, agents, container engines and service managers. A command
/// that can use these sockets can get out of its isolation.
pub(super) const RUN_TIME: &[&str] = &["/run", "/var/run"];

/// The parts of `$XDG_RUNTIME_DIR` that stay hidden when `sandbox.writable` opens a directory that contains it. The
/// person who set `sandbox.writable` has opened the rest knowingly.
pub(super) const RUN_TIME_DOORS: &[&str] = &[
    "at-spi",
    "buildkit",
    "bus",
    "containerd",
    "dbus-1",
    "doc",
    "docker",
    "docker.sock",
    "gcr",
    "gnupg",
    "keyring",
    "openssh_agent",
    "pipewire-0",
    "podman",
    "proctor",
    "pulse",
    "ssh-agent.socket",
    "systemd",
    "wayland-0",
];

/// Files in the directories of `RUN_TIME` that programs need to start, or to look up host names. `/run/nscd/socket` is
/// left out, because a daemon of root listens there, and the C library reads the same files itself without it.
pub(super) const RUN_TIME_VISIBLE: &[&str] = &[
    // The files to which the link `/etc/resolv.conf` may point.
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/connman/resolv.conf",
    // NixOS: all programs, the modules of the running kernel, drivers.
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/opengl-driver-32",
    // Silverblue and other image-based systems have this marker, which tools look for.
    "/run/ostree-booted",
    // Tools look for this marker to find out whether they run in a container.
    "/run/.containerenv",
];

/// The kernel's own directories. Each action gets its own `/proc` and a read-only `/sys`; with the machine's own
/// `/proc` and `/sys` an action could get out of its isolation.
pub(super) const KERNEL: &[&str] = &["/proc", "/sys"];

/// Files and directories with secrets, hidden if they exist. Files that tools cannot handle when empty (Maven's
/// `settings.xml`, Composer's `auth.json`) are left out, because hiding them would make checks fail.
pub(super) const CREDENTIALS: &[Credential] = &[
    // SSH and GPG keys, and the sockets of their agents.
    secret(PathBase::Home, ".ssh"),
    secret(PathBase::Home, ".gnupg"),
    secret(PathBase::Home, ".pki"),
    secret(PathBase::Home, ".password-store"),
    secret(PathBase::Config, "op"),
    secret(PathBase::Home, ".op"),
    secret(PathBase::Home, ".1password"),
    secret(PathBase::Config, "1Password"),
    secret(PathBase::Config, "Bitwarden CLI"),
    secret(PathBase::Config, "keepassxc"),
    secret(PathBase::Config, "sops"),
    secret(PathBase::Config, "age"),
    secret(PathBase::Config, "rbw"),
    secret(PathBase::Data, "keyrings"),
    secret(PathBase::Data, "kwalletd"),
    // Credentials of cloud services and clusters.
    secret(PathBase::Home, ".aws"),
    secret(PathBase::Home, ".azure"),
    secret(PathBase::Config, "gcloud"),
    secret(PathBase::Config, "doctl"),
    secret(PathBase::Config, "hcloud"),
    secret(PathBase::Config, "scw"),
    secret(PathBase::Config, "flyctl"),
    secret(PathBase::Config, "heroku"),
    secret(PathBase::Config, "netlify"),
    secret(PathBase::Data, "com.vercel.cli"),
    secret(PathBase::Home, ".fly/config.yml"),
    secret(PathBase::Home, ".oci"),
    secret(PathBase::Home, ".aliyun"),
    secret(PathBase::Home, ".bluemix"),
    secret(PathBase::Home, ".wrangler"),
    secret(PathBase::Config, ".wrangler"),
    secret(PathBase::Home, ".kube"),
    secret(PathBase::Home, ".minikube"),
    secret(PathBase::Home, ".docker"),
    secret(PathBase::Config, "containers/auth.json"),
    secret(PathBase::Config, "helm"),
    secret(PathBase::Home, ".terraform.d"),
    secret(PathBase::Home, ".terraformrc"),
    secret(PathBase::Home, ".pulumi/credentials.json"),
    secret(PathBase::Home, ".vault-token"),
    secret(PathBase::Home, ".boto"),
    secret(PathBase::Home, ".s3cfg"),
    secret(PathBase::Config, "rclone"),
    secret(PathBase::Home, ".databrickscfg"),
    secret(PathBase::Home, ".snowflake"),
    secret(PathBase::Home, ".kaggle"),
    // Database passwords.
    secret(PathBase::Home, ".pgpass"),
    secret(PathBase::Home, ".my.cnf"),
    secret(PathBase::Home, ".mylogin.cnf"),
    // Code hosting sites and issue trackers.
    secret(PathBase::Config, "gh"),
    secret(PathBase::Config, "hub"),
    secret(PathBase::Config, "glab-cli"),
    secret(PathBase::Config, "tea"),
    secret(PathBase::Config, ".jira"),
    secret(PathBase::Home, ".netrc"),
    secret(PathBase::Home, ".authinfo"),
    secret(PathBase::Home, ".authinfo.gpg"),
    secret(PathBase::Home, ".git-credentials"),
    secret(PathBase::Config, "git/credentials"),
    secret(PathBase::Home, ".git-credential-cache"),
    secret(PathBase::Home, ".cache/git/credential"),
    // Accounts with which packages are published.
    secret(PathBase::Home, ".pypirc"),
    secret(PathBase::Home, ".cargo/credentials"),
    secret(PathBase::Home, ".cargo/credentials.toml"),
    secret(PathBase::Home, ".gem/credentials"),
    secret(PathBase::Data, "gem/credentials"),
    secret(PathBase::Home, ".m2/settings-security.xml"),
    secret(PathBase::Config, "hex"),
    // Accounts for package registries. Prerequisites see these files, because they fetch packages with them.
    registry(PathBase::Home, ".npmrc"),
    registry(PathBase::Home, ".yarnrc"),
    registry(PathBase::Home, ".yarnrc.yml"),
    registry(PathBase::Config, "pnpm/rc"),
    registry(PathBase::Home, ".bunfig.toml"),
    registry(PathBase::Home, ".pip"),
    registry(PathBase::Config, "pip"),
    registry(PathBase::Config, "uv/credentials"),
    registry(PathBase::Data, "uv/credentials"),
    registry(PathBase::Config, "pypoetry/auth.toml"),
    registry(PathBase::Home, ".gradle/gradle.properties"),
    registry(PathBase::Home, ".bundle/config"),
    // Browsers and mail: sessions and stored passwords.
    secret(PathBase::Home, ".mozilla"),
    secret(PathBase::Home, ".thunderbird"),
    secret(PathBase::Config, "mozilla"),
    secret(PathBase::Config, "google-chrome"),
    secret(PathBase::Config, "chromium"),
    secret(PathBase::Config, "BraveSoftware"),
    secret(PathBase::Config, "microsoft-edge"),
    secret(PathBase::Config, "vivaldi"),
    secret(PathBase::Config, "opera"),
    secret(PathBase::Home, "snap/firefox"),
    secret(PathBase::Home, "snap/chromium"),
    secret(PathBase::Home, ".var/app/org.mozilla.firefox"),
    secret(PathBase::Home, ".var/app/com.google.Chrome"),
    secret(PathBase::Home, ".var/app/org.chromium.Chromium"),
    secret(PathBase::Config, "Signal"),
    secret(PathBase::Config, "Slack"),
    secret(PathBase::Config, "discord"),
    // Assistants: tokens, and the texts of conversations.
    secret(PathBase::Home, ".claude"),
    secret(PathBase::Home, ".claude.json"),
    secret(PathBase::Home, ".codex"),
    secret(PathBase::Home, ".gemini"),
    secret(PathBase::Home, ".cursor"),
    secret(PathBase::Home, ".aider.conf.yml"),
    secret(PathBase::Home, ".continue"),
    secret(PathBase::Config, "github-copilot"),
    secret(PathBase::Config, "anthropic"),
    secret(PathBase::Config, "openai"),
    secret(PathBase::Config, "goose"),
    secret(PathBase::Config, "opencode"),
    secret(PathBase::Data, "opencode"),
    secret(PathBase::Home, ".cache/huggingface/token"),
    secret(PathBase::Home, ".huggingface/token"),
    // Histories of typed commands, which may contain passwords.
    secret(PathBase::Home, ".bash_history"),
    secret(PathBase::Home, ".zsh_history"),
    secret(PathBase::Data, "fish/fish_history"),
    secret(PathBase::Home, ".psql_history"),
    secret(PathBase::Home, ".mysql_history"),
    secret(PathBase::Home, ".python_history"),
    secret(PathBase::Home, ".node_repl_history"),
    // The key of the X display. With it a program can read every key stroke.
    secret(PathBase::Home, ".Xauthority"),
    secret(PathBase::Home, ".ICEauthority"),
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
    named("NETRC"),
    named("PGPASSFILE"),
    named("TF_CLI_CONFIG_FILE"),
    named_below("PULUMI_HOME", "credentials.json"),
    named("XAUTHORITY"),
    named("CLAUDE_CONFIG_DIR"),
    named("CODEX_HOME"),
    named("HF_TOKEN_PATH"),
    named_below("CARGO_HOME", "credentials.toml"),
    named_below("CARGO_HOME", "credentials"),
    named_below("HF_HOME", "token"),
    CredentialVariable { name: "NPM_CONFIG_USERCONFIG", below: "", hidden_from: HiddenFrom::Checks },
    CredentialVariable { name: "npm_config_userconfig", below: "", hidden_from: HiddenFrom::Checks },
    CredentialVariable { name: "PIP_CONFIG_FILE", below: "", hidden_from: HiddenFrom::Checks },
];

/// Caches that stay writable if they exist, because otherwise every run would download again. Directories that hold
/// programs as well as downloads (`~/.deno`, `~/.stack`) are left out, unless a package manager cannot work without
/// them.
pub(super) const CACHES: &[Cache] = &[
    Cache { base: PathBase::Home, path: ".cache", missing: MissingCache::Made },
    Cache { base: PathBase::Home, path: ".npm", missing: MissingCache::MadeForNode },
    cache(".yarn"),
    cache(".pnpm-store"),
    Cache { base: PathBase::Data, path: "pnpm", missing: MissingCache::LeftOut },
    cache(".bun/install/cache"),
    Cache { base: PathBase::Data, path: "uv", missing: MissingCache::LeftOut },
    Cache { base: PathBase::Data, path: "virtualenv", missing: MissingCache::LeftOut },
    cache(".cargo/registry"),
    cache(".cargo/git"),
    cache(".m2/repository"),
    cache(".gradle/caches"),
    cache(".gradle/daemon"),
    cache(".gradle/native"),
    cache(".gradle/wrapper"),
    cache(".ivy2/cache"),
    cache("go/pkg"),
    cache(".nuget/packages"),
    Cache { base: PathBase::Data, path: "NuGet", missing: MissingCache::LeftOut },
    cache(".composer/cache"),
    cache(".gem/specs"),
    cache(".bundle/cache"),
    cache(".hex/packages"),
    cache(".opam/download-cache"),
    cache(".ccache"),
    cache(".sccache"),
];

/// Variables in the command's environment that name cache directories, which are made writable.
pub(super) const CACHE_VARIABLES: &[&str] = &[
    "XDG_CACHE_HOME",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "POETRY_CACHE_DIR",
    "PRE_COMMIT_HOME",
    "npm_config_cache",
    "NPM_CONFIG_CACHE",
    "YARN_CACHE_FOLDER",
    "GOCACHE",
    "GOMODCACHE",
    "CCACHE_DIR",
    "SCCACHE_DIR",
    "PLAYWRIGHT_BROWSERS_PATH",
    "CYPRESS_CACHE_FOLDER",
];

/// Variables in the command's environment that name files of its programs, which stay visible. Some of them hold
/// several paths.
pub(super) const VISIBLE_VARIABLES: &[&str] = &[
    "HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "PYTHONPATH",
    "NODE_PATH",
    "LD_LIBRARY_PATH",
    "JAVA_HOME",
    "GOROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];
