//! The shapes of tokens by provider, in one table. The code in `redact` removes these tokens from reports.
//!
//! The table has only shapes that a provider documents and that no other text has. Removing every text that looks
//! random would also remove digests and ids.

/// How tokens of one kind are recognised, for example those of GitHub.
pub(super) struct SecretShape {
    /// The name in the label that replaces a token: `[redacted: github token]`.
    pub(super) name: &'static str,
    /// Every token contains one of these texts. The quick first pass searches for them.
    pub(super) starts: &'static [&'static str],
    /// How many letters, digits or characters of `_-.+/=` follow such a text in every token, at least. The quick first pass
    /// ignores shorter words, such as the name of the variable `npm_config_cache`.
    pub(super) least: usize,
    /// The regular expression. If it has a group, the group is the secret, and the rest only helps to recognise it.
    pub(super) pattern: &'static str,
    /// An invented example in pieces, so that secret scanners do not report this file.
    #[cfg_attr(not(test), expect(dead_code, reason = "it says what a row is for; the tests try it"))]
    pub(super) example: &'static [&'static str],
}

/// The name in the label for a word at the cut of an excerpt, which may be the rest of a token.
pub(super) const CUT_OFF: &str = "a word that was cut";

/// The characters that fill the invented example tokens up to their length.
const FILL: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// All token shapes, in the order in which a text is searched for them.
pub(super) const SHAPES: &[SecretShape] = &[
    SecretShape {
        name: "private key",
        starts: &["PRIVATE KEY-----"],
        least: 0,
        pattern: r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\z)|[A-Za-z0-9+/=\s]{16,}-----END [A-Z ]{0,30}PRIVATE KEY-----",
        example: &["-----BEGIN OPENSSH ", "PRIVATE KEY-----\nb3BlbnNzaC1rZXkt\n-----END OPENSSH ", "PRIVATE KEY-----"],
    },
    SecretShape {
        name: "password in an address",
        starts: &["://"],
        least: 0,
        pattern: r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/?#:@'\x22<>]{0,256}:([^\s/?#@'\x22<>]{1,256})@",
        example: &["postgres://app:", "hush-hush", "@db.example/quotes"],
    },
    SecretShape {
        name: "bearer token",
        starts: &["earer ", "EARER "],
        least: 0,
        pattern: r"(?i-u:\bbearer )([A-Za-z0-9._~+/=-]{20,})",
        example: &["Authorization: Bearer ", FILL],
    },
    SecretShape {
        name: "password of a request",
        starts: &["asic ", "ASIC "],
        least: 0,
        pattern: r"(?i-u:\bauthorization[\x22']?\s{0,3}[:=]\s{0,3}[\x22']?basic )([A-Za-z0-9+/]{8,}={0,2})",
        example: &["Authorization: Basic ", "YWRhOmh1c2gtaHVzaA=="],
    },
    SecretShape {
        name: "github token",
        starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        least: 36,
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})",
        example: &["ghp", "_", FILL],
    },
    SecretShape {
        name: "gitlab token",
        starts: &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"],
        least: 20,
        pattern: r"(?-u:\b)gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_.-]{20,}",
        example: &["gl", "pat-", FILL],
    },
    SecretShape {
        name: "aws key id",
        starts: &["AKIA", "ASIA"],
        least: 16,
        pattern: r"(?-u:\b)(?:AKIA|ASIA)[A-Z2-7]{16}(?-u:\b)",
        example: &["AK", "IA", "ABCDEFGHIJKLMNOP"],
    },
    SecretShape {
        name: "aws secret key",
        starts: &["ecret", "ECRET"],
        least: 0,
        pattern: r"(?i-u:aws_?secret_?(?:access_?)?key(?:_id)?[\x22']?\s{0,3}[:=]\s{0,3}[\x22']?)([A-Za-z0-9/+]{40})(?-u:\b|$)",
        example: &["aws_secret_access_key = ", FILL, "abcd"],
    },
    SecretShape {
        name: "google key",
        starts: &["AIza", "GOCSPX-"],
        least: 20,
        pattern: r"(?-u:\b)(?:AIza[A-Za-z0-9_-]{35,}|GOCSPX-[A-Za-z0-9_-]{20,})",
        example: &["AI", "za", FILL],
    },
    SecretShape {
        name: "google access token",
        starts: &["ya29."],
        least: 20,
        pattern: r"(?-u:\b)ya29\.[A-Za-z0-9_.-]{20,}",
        example: &["ya", "29.", FILL],
    },
    SecretShape {
        name: "slack token",
        starts: &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"],
        least: 10,
        pattern: r"(?-u:\b)(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}",
        example: &["xo", "xb-", "123456789012-", FILL],
    },
    SecretShape {
        name: "slack webhook",
        starts: &["hooks.slack.com/"],
        least: 20,
        pattern: r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})",
        example: &["https://hooks.slack", ".com/services/T0/B0/", FILL],
    },
    SecretShape {
        name: "anthropic or openai key",
        starts: &["sk-"],
        least: 32,
        pattern: r"(?-u:\b)sk-(?:[a-z]{2,10}[0-9]{0,2}-)?[A-Za-z0-9_-]{32,}",
        example: &["s", "k-", FILL, "ABCD"],
    },
    SecretShape {
        name: "stripe key",
        starts: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        least: 16,
        pattern: r"(?-u:\b)(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,}",
        example: &["s", "k_live_", FILL],
    },
    SecretShape {
        name: "npm token",
        starts: &["npm_"],
        least: 36,
        pattern: r"(?-u:\b)npm_[A-Za-z0-9]{36,}",
        example: &["np", "m_", FILL],
    },
    SecretShape {
        name: "pypi token",
        starts: &["pypi-"],
        least: 50,
        pattern: r"(?-u:\b)pypi-[A-Za-z0-9_-]{50,}",
        example: &["py", "pi-AgEIcHlwaS5vcmcC", FILL],
    },
    SecretShape {
        name: "crates.io token",
        starts: &["cio"],
        least: 32,
        pattern: r"(?-u:\b)cio[A-Za-z0-9]{32}(?-u:\b)",
        example: &["ci", "o", "abcdefghijklmnopqrstuvwxyz012345"],
    },
    SecretShape {
        name: "hugging face token",
        starts: &["hf_"],
        least: 30,
        pattern: r"(?-u:\b)hf_[A-Za-z0-9]{30,}",
        example: &["h", "f_", FILL],
    },
    SecretShape {
        name: "sendgrid key",
        starts: &["SG."],
        least: 33,
        pattern: r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        example: &["S", "G.", "abcdefghijklmnopqrstuv.", FILL],
    },
    SecretShape {
        name: "digitalocean token",
        starts: &["dop_v1_", "doo_v1_", "dor_v1_"],
        least: 64,
        pattern: r"(?-u:\b)do[opr]_v1_[a-f0-9]{64,}",
        example: &["do", "p_v1_", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"],
    },
    SecretShape {
        name: "docker token",
        starts: &["dckr_pat_"],
        least: 20,
        pattern: r"(?-u:\b)dckr_pat_[A-Za-z0-9_-]{20,}",
        example: &["dckr", "_pat_", FILL],
    },
    SecretShape {
        name: "vault token",
        starts: &["hvs.", "hvb.", "hvr."],
        least: 20,
        pattern: r"(?-u:\b)hv[sbr]\.[A-Za-z0-9_-]{20,}",
        example: &["hv", "s.", FILL],
    },
    SecretShape {
        name: "age key",
        starts: &["AGE-SECRET-KEY-1"],
        least: 50,
        pattern: r"(?-u:\b)AGE-SECRET-KEY-1[A-Z0-9]{50,}",
        example: &["AGE-SECRET", "-KEY-1", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"],
    },
    SecretShape {
        name: "json web token",
        starts: &["eyJ"],
        least: 32,
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        example: &["ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0In0.", FILL],
    },
];
