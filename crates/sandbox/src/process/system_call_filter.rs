//! The filter on system calls that an action gets (`seccomp(2)`): a small table of calls, and the program that the
//! kernel runs for each call. Pure, except for [`filter_obstacle`].
//!
//! The table has calls that give an action a way around the isolation or into rarely tested parts of the kernel, and
//! that hardly any check needs. Debuggers and tracers keep everything that they need for their own children: whom they
//! may trace is decided by the pid namespace and by Landlock.

use nix::libc::{self, c_long};

use crate::process::system_calls::has_filters;

/// What a refused call returns. Programs know these errors from kernels and containers that do not offer the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// The kernel does not have the call (`ENOSYS`). Programs then do without it.
    NotThere,
    /// The caller lacks the privilege (`EPERM`).
    NotPermitted,
    /// The kernel does not know the kind of socket (`EAFNOSUPPORT`).
    NoSuchSocket,
}

/// The system calls that the filter refuses, each with the error that it returns.
const REFUSED: &[(c_long, Refusal)] = &[
    // The filter does not see the operations of io_uring, and the code of io_uring has had many holes. Where io_uring
    // is refused, runtimes use epoll.
    (libc::SYS_io_uring_setup, Refusal::NotThere),
    (libc::SYS_io_uring_enter, Refusal::NotThere),
    (libc::SYS_io_uring_register, Refusal::NotThere),
    // Keys of the user are found by number from every process of the user, also from another session keyring.
    (libc::SYS_add_key, Refusal::NotThere),
    (libc::SYS_request_key, Refusal::NotThere),
    (libc::SYS_keyctl, Refusal::NotThere),
    // This call can stop the kernel in the middle of another call, which makes races in the kernel easy to use.
    (libc::SYS_userfaultfd, Refusal::NotPermitted),
    (libc::SYS_bpf, Refusal::NotPermitted),
    // This call opens a file by its number, without its path.
    (libc::SYS_open_by_handle_at, Refusal::NotPermitted),
    (libc::SYS_init_module, Refusal::NotPermitted),
    (libc::SYS_finit_module, Refusal::NotPermitted),
    (libc::SYS_delete_module, Refusal::NotPermitted),
];

/// The kind of socket that speaks to the host of a virtual machine (`vsock(7)`), past every firewall.
const REFUSED_SOCKET: u32 = libc::AF_VSOCK.cast_unsigned();

/// The number by which the kernel names this machine's own kind of system calls (`AUDIT_ARCH_…`); `None` for an
/// architecture without a filter.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// On x86_64, calls of the x32 interface have this bit in their number. A table of the usual numbers would not contain
/// them.
const FIRST_X32: Option<u32> = if cfg!(target_arch = "x86_64") { Some(0x4000_0000) } else { None };

// The offsets in the structure that the kernel hands to the program (`struct seccomp_data`). The first argument is read
// by its lower half, which comes first on both architectures.
const NUMBER: u32 = 0;
const CALLER_ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// One instruction of the program (`struct sock_filter`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    /// How many instructions are skipped if the condition holds.
    pub(super) if_true: u8,
    /// How many instructions are skipped if the condition does not hold.
    pub(super) if_false: u8,
    pub(super) value: u32,
}

#[expect(clippy::cast_possible_truncation, reason = "the codes of instructions are below 256")]
mod code {
    use nix::libc;

    pub(super) const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    pub(super) const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    pub(super) const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    pub(super) const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
}

impl Refusal {
    fn answer(self) -> u32 {
        let error = match self {
            Self::NotThere => libc::ENOSYS,
            Self::NotPermitted => libc::EPERM,
            Self::NoSuchSocket => libc::EAFNOSUPPORT,
        };
        libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
    }
}

/// Returns the program of the filter; `None` for an architecture without one.
///
/// A program for another architecture (a 32-bit program) is killed with SIGSYS: its calls have other numbers.
pub(super) fn filter_program() -> Option<Vec<Instruction>> {
    let mut program = vec![
        load(CALLER_ARCHITECTURE),
        jump(code::IF_EQUAL, ARCHITECTURE?, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    if let Some(first) = FIRST_X32 {
        program.extend([jump(code::IF_AT_LEAST, first, 0, 1), answer(Refusal::NotThere.answer())]);
    }
    for (number, refusal) in REFUSED {
        program.extend([jump(code::IF_EQUAL, u32::try_from(*number).ok()?, 0, 1), answer(refusal.answer())]);
    }
    program.extend([
        jump(code::IF_EQUAL, u32::try_from(libc::SYS_socket).ok()?, 0, 3),
        load(FIRST_ARGUMENT),
        jump(code::IF_EQUAL, REFUSED_SOCKET, 0, 1),
        answer(Refusal::NoSuchSocket.answer()),
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
    Some(program)
}

/// Returns why this machine cannot filter system calls; `None` if it can.
pub fn filter_obstacle() -> Option<&'static str> {
    if ARCHITECTURE.is_none() {
        Some("proctor has no filter for this processor")
    } else if !has_filters() {
        Some("this kernel has no seccomp filters")
    } else {
        None
    }
}

fn load(offset: u32) -> Instruction {
    Instruction { code: code::LOAD, if_true: 0, if_false: 0, value: offset }
}

fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, value }
}

fn answer(value: u32) -> Instruction {
    Instruction { code: code::RETURN, if_true: 0, if_false: 0, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel does, and returns its answer.
    fn decide(program: &[Instruction], architecture: u32, number: u32, argument: u32) -> u32 {
        let (mut loaded, mut next) = (0, 0);
        loop {
            let one = program[next];
            let is_true = match one.code {
                code::RETURN => return one.value,
                code::LOAD => {
                    loaded = [(NUMBER, number), (CALLER_ARCHITECTURE, architecture), (FIRST_ARGUMENT, argument)]
                        .into_iter()
                        .find_map(|(offset, value)| (offset == one.value).then_some(value))
                        .expect("a field of the structure");
                    next += 1;
                    continue;
                }
                code::IF_EQUAL => loaded == one.value,
                code::IF_AT_LEAST => loaded >= one.value,
                other => panic!("no instruction has the code {other}"),
            };
            next += 1 + usize::from(if is_true { one.if_true } else { one.if_false });
        }
    }

    fn number(call: c_long) -> u32 {
        u32::try_from(call).expect("a number of a call")
    }

    #[test]
    fn every_call_of_the_table_is_refused_and_what_programs_and_debuggers_need_is_not() {
        let Some(program) = filter_program() else { return };
        let own = ARCHITECTURE.expect("it has a program");
        for (call, refusal) in REFUSED {
            assert_eq!(decide(&program, own, number(*call), 0), refusal.answer(), "{call}");
        }
        let needed = [
            libc::SYS_read,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_perf_event_open,
            libc::SYS_kcmp,
            libc::SYS_personality,
            libc::SYS_seccomp,
            libc::SYS_clone3,
            libc::SYS_unshare,
            libc::SYS_mount,
            libc::SYS_execve,
        ];
        for call in needed {
            assert_eq!(decide(&program, own, number(call), 0), libc::SECCOMP_RET_ALLOW, "{call}");
        }
    }

    #[test]
    fn only_sockets_to_the_host_of_a_virtual_machine_are_refused() {
        let Some(program) = filter_program() else { return };
        let own = ARCHITECTURE.expect("it has a program");
        let socket = |family: i32| decide(&program, own, number(libc::SYS_socket), family.cast_unsigned());
        for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
            assert_eq!(socket(family), libc::SECCOMP_RET_ALLOW, "{family}");
        }
        assert_eq!(socket(libc::AF_VSOCK), Refusal::NoSuchSocket.answer());
        // The number of the refused kind of socket is allowed as the argument of another call.
        let other = decide(&program, own, number(libc::SYS_read), libc::AF_VSOCK.cast_unsigned());
        assert_eq!(other, libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn calls_of_another_architecture_are_not_judged_by_the_wrong_numbers() {
        let Some(program) = filter_program() else { return };
        let own = ARCHITECTURE.expect("it has a program");
        const I386: u32 = 0x4000_0003;
        assert_eq!(decide(&program, I386, number(libc::SYS_read), 0), libc::SECCOMP_RET_KILL_PROCESS);
        if let Some(first) = FIRST_X32 {
            assert_eq!(decide(&program, own, first | number(libc::SYS_keyctl), 0), Refusal::NotThere.answer());
        }
    }
}
