//! Names signals in sentences for people. The numbers are those of x86_64 and aarch64 (signal(7)).

/// A signal's number, its name, and what usually sends it (empty if that does not help).
struct SignalName(i32, &'static str, &'static str);

const SIGNALS: &[SignalName] = &[
    SignalName(1, "SIGHUP", ""),
    SignalName(2, "SIGINT", ""),
    SignalName(3, "SIGQUIT", ""),
    SignalName(4, "SIGILL", "a crash in native code"),
    SignalName(5, "SIGTRAP", ""),
    SignalName(6, "SIGABRT", "a crash in native code"),
    SignalName(7, "SIGBUS", "a crash in native code"),
    SignalName(8, "SIGFPE", "a crash in native code"),
    SignalName(9, "SIGKILL", "often the kernel, when memory has run out"),
    SignalName(10, "SIGUSR1", ""),
    SignalName(11, "SIGSEGV", "a crash in native code"),
    SignalName(12, "SIGUSR2", ""),
    SignalName(13, "SIGPIPE", ""),
    SignalName(14, "SIGALRM", ""),
    SignalName(15, "SIGTERM", ""),
    SignalName(24, "SIGXCPU", "a limit on CPU time"),
    SignalName(25, "SIGXFSZ", "a limit on file sizes"),
    SignalName(31, "SIGSYS", "a forbidden system call"),
];

/// The lowest exit code by which a shell or another wrapper reports a signal: 128 plus the signal's number.
const FIRST_SIGNAL_CODE: i32 = 129;
const LAST_SIGNAL_CODE: i32 = 128 + 64;

/// Returns a signal's name, with its usual cause if it has one.
pub(super) fn describe(signal: i32) -> String {
    SIGNALS.iter().find(|known| known.0 == signal).map_or_else(
        || format!("signal {signal}"),
        |SignalName(_, name, cause)| if cause.is_empty() { (*name).to_owned() } else { format!("{name} ({cause})") },
    )
}

/// Returns the signal that a wrapper reports by an exit code; `None` if the code does not stand for a signal.
pub(super) fn of_exit_code(code: i32) -> Option<i32> {
    (FIRST_SIGNAL_CODE..=LAST_SIGNAL_CODE).contains(&code).then(|| code - 128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_and_wrappers_codes_are_understood() {
        assert_eq!(describe(11), "SIGSEGV (a crash in native code)");
        assert_eq!(describe(15), "SIGTERM");
        assert_eq!(describe(40), "signal 40");
        assert_eq!(of_exit_code(139), Some(11));
        assert_eq!((of_exit_code(128), of_exit_code(193), of_exit_code(254), of_exit_code(-1)), (None, None, None, None));
    }
}
