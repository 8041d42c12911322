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

    /// Splits a path as people write it, such as `~/.config/gh`, into its base directory and the rest.
    pub(super) fn of_written(path: &str) -> (Self, &str) {
        let below = |base: &str| path.strip_prefix(base);
        match (below("~/.config/"), below("~/.local/share/")) {
            (Some(rest), _) => (Self::Config, rest),
            (_, Some(rest)) => (Self::Data, rest),
            (None, None) => (Self::Home, below("~/").unwrap_or(path)),
        }
    }
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
pub(super) const RUN_TIME_DOORS: &str = "\
    at-spi buildkit bus containerd dbus-1 doc docker docker.sock gcr gnupg keyring openssh_agent pipewire-0 podman proctor \
    pulse ssh-agent.socket systemd wayland-0";

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

/// The variables that give a command its project's own caches. Each row has the names that tools accept for one
/// variable, and the path below the project's cache directory. The variable is set under the first name, and only if
/// none of the names is set already. Most tools keep their cache below `XDG_CACHE_HOME`. Tools that do not, and tools
/// whose configuration files may name a cache in the home directory, have a row of their own.
pub(super) const OWN_CACHE_VARIABLES: &[(&[&str], &str)] = &[
    (&["XDG_CACHE_HOME"], ""),
    (&["PIP_CACHE_DIR"], "pip"),
    (&["UV_CACHE_DIR"], "uv"),
    (&["PDM_LOG_DIR"], "pdm-log"),
    (&["npm_config_cache", "NPM_CONFIG_CACHE"], "npm"),
    (&["CCACHE_DIR"], "ccache"),
];

/// Variables in the command's environment that name cache directories, which are made writable: the project's own, and
/// those that the user chose. A value that only the project's files give makes nothing writable beside the project
/// (`PlaceFinder::may_name`). The caches of the home that no variable names are read-only.
pub(super) const CACHE_VARIABLES: &str = "\
    XDG_CACHE_HOME PIP_CACHE_DIR UV_CACHE_DIR POETRY_CACHE_DIR PRE_COMMIT_HOME npm_config_cache NPM_CONFIG_CACHE \
    YARN_CACHE_FOLDER GOCACHE GOMODCACHE CCACHE_DIR SCCACHE_DIR PLAYWRIGHT_BROWSERS_PATH CYPRESS_CACHE_FOLDER";

/// Variables in the command's environment that name files of its programs, which stay visible. Some of them hold
/// several paths.
pub(super) const VISIBLE_VARIABLES: &str = "\
    VIRTUAL_ENV PYTHONHOME PYTHONPATH NODE_PATH LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
    NODE_EXTRA_CA_CERTS NIX_SSL_CERT_FILE GIT_SSL_CAINFO CARGO_HTTP_CAINFO PIP_CERT npm_config_cafile NPM_CONFIG_CAFILE";
