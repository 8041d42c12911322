//! stub
use crate::ignore::MatcherSettings;
use crate::model::WatchHint;
use std::path::Path;
/// s
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct WatchError;
impl WatchError {
    /// h
    pub fn hint(&self) -> String {
        String::new()
    }
}
/// s
pub struct Watcher;
impl Watcher {
    /// s
    pub fn start(_: &Path, _: &MatcherSettings, _f: impl Fn(WatchHint) + Send + 'static) -> Result<Self, WatchError> {
        Ok(Self)
    }
}
