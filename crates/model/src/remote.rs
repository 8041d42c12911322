//! Where an action is carried out when it is not this machine: a server that speaks the Remote Execution API. Data only.

use std::collections::BTreeMap;

use proctor_wire::wire;

use crate::Digest;

/// A server that carries actions out, as `[remote]` names it.
#[wire(written, schema, sparse)]
pub struct RemoteServer {
    /// `grpcs://HOST:PORT`, `grpc://` to this machine, or `unix://PATH`.
    pub endpoint: String,
    /// The server's name for the part of it that is used; often empty.
    pub instance: String,
    /// The environment variable with the headers of each call; `None` for none. Its value is never recorded.
    pub headers_from: Option<String>,
    /// The files of the connection's certificates; empty for none.
    pub certificates: RemoteCertificates,
    /// What the worker must be: names and values that the server knows, such as `container-image`.
    pub platform: BTreeMap<String, String>,
    /// Whose installed packages the actions use.
    pub environment: RemotePackages,
}

/// Whose installed packages actions on a server use.
#[wire(Copy, written, schema, kebab)]
pub enum RemotePackages {
    /// The packages of the worker's image.
    Image,
    /// The project's own packages, which are sent: `.venv`, `node_modules` and the like.
    Upload,
}

/// Files in PEM form, absolute or relative to the project.
#[wire(Default, written, schema, sparse)]
pub struct RemoteCertificates {
    /// The authority that signed the server's certificate; `None` for the well-known ones.
    pub ca: Option<String>,
    /// The certificate by which the server knows this machine.
    pub certificate: Option<String>,
    /// The private key of `certificate`.
    pub key: Option<String>,
}

/// The server that carries out an action, and what happens without its result.
#[wire(written, schema, sparse)]
pub struct RemoteRun {
    pub server: RemoteServer,
    /// What happens if the server gives no result.
    pub without_result: WithoutServer,
}

/// What happens to an action whose server gives no result.
#[wire(Copy, written, schema, kebab)]
pub enum WithoutServer {
    /// The action counts as not started. The reason is the server's own text.
    NotStarted,
    /// The action is carried out on this machine.
    RunHere,
}

/// Returns the file or directory that has everything that a pattern of `writes` names: what comes before its first wildcard. `None` if
/// that is the whole project.
pub fn written_below(pattern: &str) -> Option<String> {
    let has_wildcard = |name: &&str| name.contains(['*', '?', '[', '{', '\\', '!']);
    let names: Vec<&str> =
        pattern.split('/').filter(|name| !matches!(*name, "" | ".")).take_while(|name| !has_wildcard(name)).collect();
    (!names.is_empty()).then(|| names.join("/"))
}

/// The name of the platform's property that names the image in which the action runs.
const IMAGE: &str = "container-image";

impl RemoteServer {
    /// Returns the digest of the image in which actions run; `None` if the platform names no image by its digest, so that it is not known
    /// which programs and packages they use.
    pub fn image_digest(&self) -> Option<Digest> {
        let (_, digest) = self.platform.get(IMAGE)?.rsplit_once("@sha256:")?;
        Digest::try_from(digest.to_owned()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_lies_below_what_a_pattern_names_without_wildcards() {
        for (pattern, below) in
            [("dist/**", Some("dist")), ("./a/b/*.xml", Some("a/b")), ("a.xml", Some("a.xml")), ("**/a", None)]
        {
            assert_eq!(written_below(pattern).as_deref(), below);
        }
    }

    #[test]
    fn only_a_digest_says_which_image_it_is() {
        let server = |image: &str| RemoteServer {
            endpoint: "unix:///run/casd".to_owned(),
            instance: String::new(),
            headers_from: None,
            certificates: RemoteCertificates::default(),
            platform: BTreeMap::from([(IMAGE.to_owned(), image.to_owned())]),
            environment: RemotePackages::Image,
        };
        let digest = Digest::of(b"image");
        assert_eq!(server(&format!("docker://a/b@sha256:{digest}")).image_digest(), Some(digest));
        for tag in ["docker://a/b:latest", "docker://a/b", "docker://a@sha256:12", ""] {
            assert_eq!(server(tag).image_digest(), None, "{tag}");
        }
    }
}
