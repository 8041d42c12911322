//! Ports on the loopback address that nobody is handed by chance.

use std::net::TcpListener;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the kernel hands out by itself (`ip(7)`, `ip_local_port_range`: from 32768).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Returns a port that is free and that nobody else is handed before it is served: one of the kernel's choice may be another's by
/// then, as the end of some connection.
#[track_caller]
pub(crate) fn free_port() -> String {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Suites that run beside each other begin far from each other.
    let next = NEXT.get_or_init(|| AtomicU16::new((process::id().wrapping_mul(7919) % u32::from(COUNT)) as u16));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut tried = (0..COUNT).map(|_| FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT);
    tried.find(is_free).expect("a port is free").to_string()
}
