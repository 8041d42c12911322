//! The connection to a server: its address, its certificates, and the headers of each call.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::fault::RemoteFault;
use proctor_model::{RemoteCertificates, RemoteServer};

/// The longest time until a connection is made.
const CONNECT: Duration = Duration::from_secs(10);
/// How often an idle connection is asked whether it still is one.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// How a server is reached, with everything read that its settings name.
#[derive(Debug, Clone)]
pub struct ServerAccess {
    pub(crate) endpoint: Endpoint,
    pub(crate) name: String,
    pub(crate) instance: String,
    headers: Vec<(AsciiMetadataKey, AsciiMetadataValue)>,
}

/// A connection, and what each call over it carries.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) channel: Channel,
    pub(crate) instance: String,
    headers: Vec<(AsciiMetadataKey, AsciiMetadataValue)>,
}

impl ServerAccess {
    /// Reads what the settings of a server name: the variable with its headers out of `ambient`, its certificates below `root`.
    ///
    /// # Errors
    /// When the address, the variable or a file cannot be used.
    pub fn read(server: &RemoteServer, ambient: &BTreeMap<OsString, OsString>, root: &Path) -> Result<Self, RemoteFault> {
        let address = match server.endpoint.split_once("://") {
            Some(("grpcs", rest)) => format!("https://{rest}"),
            Some(("grpc", rest)) => format!("http://{rest}"),
            Some(_) | None => server.endpoint.clone(),
        };
        let endpoint = Endpoint::from_shared(address).map_err(|error| RemoteFault::Settings(error.to_string()))?;
        let endpoint = endpoint.connect_timeout(CONNECT).http2_keep_alive_interval(KEEP_ALIVE).user_agent("proctor")?;
        let endpoint = match server.endpoint.starts_with("grpcs://") {
            true => endpoint.tls_config(tls(&server.certificates, root)?)?,
            false => endpoint,
        };
        let headers = match &server.headers_from {
            Some(name) => headers(name, ambient.get(OsStr::new(name)).and_then(|value| value.to_str()))?,
            None => Vec::new(),
        };
        Ok(Self { endpoint, name: server.endpoint.clone(), instance: server.instance.clone(), headers })
    }

    pub(crate) async fn connect(&self) -> Result<Connection, RemoteFault> {
        let channel = self.endpoint.connect().await?;
        Ok(Connection { channel, instance: self.instance.clone(), headers: self.headers.clone() })
    }
}

impl Connection {
    /// Returns a call with the headers of the settings.
    pub(crate) fn call<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        for (name, value) in &self.headers {
            request.metadata_mut().insert(name.clone(), value.clone());
        }
        request
    }

    /// Returns the name of a resource of the server's storage.
    pub(crate) fn resource(&self, rest: &str) -> String {
        if self.instance.is_empty() { rest.to_owned() } else { format!("{}/{rest}", self.instance) }
    }
}

fn tls(files: &RemoteCertificates, root: &Path) -> Result<ClientTlsConfig, RemoteFault> {
    let read = |file: &String| {
        let path = root.join(file);
        std::fs::read(&path).map_err(|error| RemoteFault::Settings(format!("`{}` cannot be read: {error}", path.display())))
    };
    let config = match &files.ca {
        Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(file)?)),
        None => ClientTlsConfig::new().with_webpki_roots(),
    };
    match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => Ok(config.identity(Identity::from_pem(read(certificate)?, read(key)?))),
        (Some(_), None) | (None, Some(_) | None) => Ok(config),
    }
}

/// Returns the headers that a variable has: one in each line, `NAME: VALUE`, or a token alone, which is sent as `authorization: Bearer`.
fn headers(variable: &str, value: Option<&str>) -> Result<Vec<(AsciiMetadataKey, AsciiMetadataValue)>, RemoteFault> {
    let value = value.map(str::trim).filter(|value| !value.is_empty());
    let Some(value) = value else {
        return Err(RemoteFault::Settings(format!("the variable {variable} (`headers_from`) is not set")));
    };
    // The value is a secret, so no message has any of it.
    let wrong = || RemoteFault::Settings(format!("the variable {variable} (`headers_from`) has no headers: write `NAME: VALUE`"));
    let line = |line: &str| {
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name.trim().to_ascii_lowercase(), value.trim().to_owned()),
            None => ("authorization".to_owned(), format!("Bearer {line}")),
        };
        let name = AsciiMetadataKey::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = AsciiMetadataValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    value.lines().map(str::trim).filter(|text| !text.is_empty()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_or_one_token_and_no_message_has_a_part_of_them() {
        let read = |text: &str| -> Vec<(String, String)> {
            let read = headers("BUILD_TOKEN", Some(text)).expect("headers");
            read.into_iter().map(|(name, value)| (name.to_string(), value.to_str().expect("ASCII").to_owned())).collect()
        };
        assert_eq!(read("s3cret"), [("authorization".to_owned(), "Bearer s3cret".to_owned())]);
        let two = read("X-Api-Key: a:b\n\nx-team: blue\n");
        assert_eq!(two, [("x-api-key".to_owned(), "a:b".to_owned()), ("x-team".to_owned(), "blue".to_owned())]);
        for wrong in [None, Some(" "), Some("s3cret name: x"), Some("a: s3cret\u{7f}")] {
            let fault = headers("BUILD_TOKEN", wrong).expect_err("no headers").to_string();
            assert!(fault.contains("BUILD_TOKEN") && !fault.contains("s3cret"), "{fault}");
        }
    }
}
