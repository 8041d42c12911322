//! Finds the processes that listen on a TCP port. `/proc/net/tcp` and `tcp6` list the sockets, and the links in
//! `/proc/PID/fd` show which process has which socket (`proc(5)`).
//!
//! The result is only shown to people and never used to send a signal. If this process may not read the descriptors of
//! another process, only the user of that process is named.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::unistd::{Pid, Uid, User};

use crate::process::process_table::{descendants, read_live_processes, read_survivor};
use proctor_model::PortHolder;

/// The most listening sockets of a port for which a process (or only its user) is named. More sockets than this are
/// left out.
const NAMED: usize = 4;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listener {
    address: IpAddr,
    port: u16,
    uid: u32,
    inode: u64,
}

/// Returns the processes that listen on a port of this machine's loopback addresses.
pub fn read_port_holders(port: u16) -> Vec<PortHolder> {
    let listeners = read_listeners(port);
    let processes = if listeners.is_empty() { Vec::new() } else { read_live_processes() };
    listeners.iter().map(|listener| named(listener, &processes)).collect()
}

/// Returns the processes that listen on a port and do not descend from `launcher`, the process that starts actions. A
/// client of the port may get its answer from such a process instead of from the action.
pub fn read_port_strangers(port: u16, launcher: Pid) -> Vec<PortHolder> {
    let listeners = read_listeners(port);
    let processes = if listeners.is_empty() { Vec::new() } else { read_live_processes() };
    let ours = descendants(launcher, &processes);
    let is_strange = |listener: &&Listener| !ours.iter().any(|process| holds(process.pid, listener.inode));
    listeners.iter().filter(is_strange).map(|listener| named(listener, &processes)).collect()
}

fn read_listeners(port: u16) -> Vec<Listener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let all = tables.iter().flat_map(|table| parse_listeners(table));
    all.filter(|listener| listener.port == port && is_reached_by_loopback(listener.address)).take(NAMED).collect()
}

fn is_reached_by_loopback(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

fn named(listener: &Listener, processes: &[crate::process::process_table::LiveProcess]) -> PortHolder {
    let holder = processes.iter().find(|process| holds(process.pid, listener.inode));
    let uid = Uid::from_raw(listener.uid);
    let user = User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name);
    let survivor = holder.map(read_survivor);
    PortHolder { pid: holder.map(|process| process.pid.as_raw()), argv: survivor.map(|one| one.argv).unwrap_or_default(), user }
}

fn holds(process: Pid, inode: u64) -> bool {
    let link = format!("socket:[{inode}]");
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    descriptors.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == link.as_str()))
}

/// Returns the listening sockets of a table from `/proc/net`. All other lines are skipped.
fn parse_listeners(table: &str) -> impl Iterator<Item = Listener> {
    table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().take(10).collect();
        let [_, local, _, state, _, _, _, uid, _, inode] = fields[..] else { return None };
        let (address, port) = local.split_once(':')?;
        if state != LISTENING {
            return None;
        }
        Some(Listener {
            address: parse_address(address)?,
            port: u16::from_str_radix(port, 16).ok()?,
            uid: uid.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    })
}

/// Parses an address as the kernel prints it: each 32-bit word in hexadecimal, in this machine's byte order.
fn parse_address(text: &str) -> Option<IpAddr> {
    if !text.is_ascii() || !matches!(text.len(), 8 | 32) {
        return None;
    }
    let words = text.as_bytes().chunks(8).map(|word| {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    });
    let bytes: Vec<u8> = words.collect::<Option<Vec<_>>>()?.concat();
    match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => Some(IpAddr::V4(Ipv4Addr::from(four))),
        Err(_) => <[u8; 16]>::try_from(&bytes[..]).ok().map(|all| IpAddr::V6(Ipv6Addr::from(all))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 0100007F:104D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 71234 1 0000000000000000 100 0 0 10 0\n\
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0000000000000000 100 0 0 10 0\n\
   2: 0100007F:104D 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 71299 1 0000000000000000 20 0 0 10 -1\n";

    const TABLE_6: &str = "header\n   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 9 1 0000000000000000 100 0 0 10 0\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn listening_sockets_are_read_and_nothing_else() {
        let listeners: Vec<_> = parse_listeners(TABLE).collect();
        assert_eq!(listeners.len(), 2, "{listeners:?}");
        let first = Listener { address: "127.0.0.1".parse().unwrap(), port: 4173, uid: 1000, inode: 71234 };
        assert_eq!((listeners[0], listeners[1].port), (first, 80));
        let six: Vec<_> = parse_listeners(TABLE_6).collect();
        assert_eq!((six[0].address, six[0].port), ("::1".parse().unwrap(), 8080));
    }

    #[test]
    fn a_table_of_another_shape_has_no_listeners() {
        for table in ["", "x", "0: zz:zz a 0A b c d e f g h", "0: 0100007F 0 0A 0 0 0 0 0 0", "0: é100007:1 0 0A 0 0 0 0 0 0"] {
            assert_eq!(parse_listeners(table).count(), 0, "{table}");
        }
    }

    #[test]
    fn only_what_loopback_reaches_counts() {
        for (address, reached) in
            [("127.0.0.1", true), ("0.0.0.0", true), ("::", true), ("::ffff:127.0.0.1", true), ("10.1.2.3", false)]
        {
            assert_eq!(is_reached_by_loopback(address.parse().unwrap()), reached, "{address}");
        }
    }

    #[test]
    fn the_holder_of_a_port_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let holders = read_port_holders(port);
        assert_eq!(holders.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [Some(Pid::this().as_raw())]);
        assert!(!holders[0].argv.is_empty() && !holders[0].user.is_empty(), "{holders:?}");
        assert_eq!(read_port_strangers(port, nix::unistd::getppid()), [], "it descends from its parent");
        assert_eq!(read_port_strangers(port, Pid::this()).len(), 1, "it does not descend from itself");
        drop(listener);
        assert_eq!(read_port_holders(port), []);
    }
}
