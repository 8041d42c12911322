//! Chooses ports for servers of tests, so that no other program gets the same port by chance.

use std::net::TcpListener;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port. The range lies below the ports that the kernel chooses by itself (`ip(7)`, `ip_local_port_range`: from 32768).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Returns a free port that no other test is given. A port that the kernel chooses would not do: before the test's server listens on it,
/// the kernel may use it for the end of another connection.
#[track_caller]
pub(crate) fn free_port() -> String {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Test suites that run at the same time start at ports that are far apart.
    let next = NEXT.get_or_init(|| AtomicU16::new((process::id().wrapping_mul(7919) % u32::from(COUNT)) as u16));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut tried = (0..COUNT).map(|_| FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT);
    tried.find(is_free).expect("a port is free").to_string()
}
