//! The keyboard of `proctor watch`: single keys while the watch goes on, and a typed line while a question is open.

use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use nix::unistd::read;

use crate::cli::terminal;
use proctor_service::{Key, QuestionNumber, Typed};

/// How many bytes are read at once.
const READ_AT_ONCE: usize = 256;

/// The terminal in a mode without echo in which every key is read at once. Dropping it restores the mode of before.
pub(crate) struct Keyboard {
    before: Termios,
    keys: Termios,
    asked: QuestionNumber,
    open: Arc<OpenQuestion>,
}

/// The question that is open. The lock is held while the terminal's input is thrown away and the question is noted, and
/// while input is read. So everything that is read while a question is open was typed after the question was shown.
#[derive(Default)]
struct OpenQuestion(Mutex<Option<QuestionNumber>>);

/// Reads what is typed, on a thread of its own.
pub(crate) struct KeyReader {
    open: Arc<OpenQuestion>,
}

impl OpenQuestion {
    fn lock(&self) -> MutexGuard<'_, Option<QuestionNumber>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyboard {
    /// Switches the terminal so that each key is read at once and not shown; `None` if standard input is no terminal, or cannot be switched.
    pub(crate) fn enter() -> Option<Self> {
        let input = std::io::stdin();
        let before = terminal::is_input_terminal().then(|| tcgetattr(input.as_fd()).ok())??;
        let mut keys = before.clone();
        keys.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        keys.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        keys.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(input.as_fd(), SetArg::TCSANOW, &keys).ok()?;
        Some(Self { before, keys, asked: QuestionNumber::default(), open: Arc::default() })
    }

    pub(crate) fn reader(&self) -> KeyReader {
        KeyReader { open: Arc::clone(&self.open) }
    }

    /// Throws away what was typed, and lets the person type a line with echo. That line is the answer.
    pub(crate) fn open_question(&mut self) -> QuestionNumber {
        self.asked = QuestionNumber(self.asked.0 + 1);
        let mut open = self.open.lock();
        // If the mode cannot be switched, the person types without echo.
        let _best_effort = tcsetattr(std::io::stdin().as_fd(), SetArg::TCSADRAIN, &self.before);
        terminal::forget_input();
        *open = Some(self.asked);
        self.asked
    }

    /// Throws away what was typed, and reads single keys again.
    pub(crate) fn close_question(&mut self) {
        let mut open = self.open.lock();
        let _best_effort = tcsetattr(std::io::stdin().as_fd(), SetArg::TCSADRAIN, &self.keys);
        terminal::forget_input();
        *open = None;
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _best_effort = tcsetattr(std::io::stdin().as_fd(), SetArg::TCSANOW, &self.before);
    }
}

impl KeyReader {
    /// Reads until standard input ends or `send` returns false. The function blocks, so it needs a thread of its own.
    pub(crate) fn read_all(&self, mut send: impl FnMut(Typed) -> bool) {
        let input = std::io::stdin();
        loop {
            let _interrupted = poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
            let (bytes, open) = {
                let open = self.open.lock();
                // The input may have been thrown away since `poll` returned.
                match may_read().then(|| read_typed(open.is_some())) {
                    Some(bytes) => (bytes, *open),
                    None => continue,
                }
            };
            let goes_on = match open {
                Some(number) => send(Typed::Answer(number, String::from_utf8_lossy(&bytes).into_owned())),
                None if bytes.is_empty() => return,
                None => bytes.into_iter().filter_map(key_of).all(|key| send(Typed::Key(key))),
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// Returns whether a read returns at once: input is there, or standard input has ended.
fn may_read() -> bool {
    let input = std::io::stdin();
    matches!(poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO), Ok(1..))
}

/// Reads once; empty if standard input has ended. An answer of several lines that arrive together, such as a pasted text,
/// is read as a whole. The bytes are not read through Rust's own buffer, because its content could not be thrown away.
fn read_typed(is_answer: bool) -> Vec<u8> {
    let input = std::io::stdin();
    let mut typed = Vec::new();
    let mut bytes = [0; READ_AT_ONCE];
    while let Ok(count @ 1..) = read(input.as_fd(), &mut bytes) {
        typed.extend_from_slice(&bytes[..count]);
        if !is_answer || !terminal::has_input() {
            break;
        }
    }
    typed
}

fn key_of(byte: u8) -> Option<Key> {
    match byte {
        b'\r' | b'\n' | b'r' | b'a' => Some(Key::Again),
        b'f' => Some(Key::FailedOnly),
        b'c' => Some(Key::Clear),
        b'd' => Some(Key::Difference),
        b'l' => Some(Key::Log),
        b'?' | b'h' => Some(Key::Help),
        b'o' => Some(Key::OpenPage),
        b'q' => Some(Key::Quit),
        _ => None,
    }
}
