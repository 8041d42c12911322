//! Tickets and tokens. A ticket is handed to a browser once and exchanged for a token; a token goes with every later request.
//!
//! Pure: random bytes and the time come from the caller. Only hashes are kept, so what is in memory lets nobody in.

use std::collections::VecDeque;
use std::time::Duration;

use proctor_model::Digest;

/// How many random bytes a ticket or a token has.
pub const SECRET_BYTES: usize = 32;
/// How long a ticket may be used after it was made.
pub const TICKET_LASTS: Duration = Duration::from_secs(60);
/// The most tokens that are valid at a time: one for each tab that was opened. The oldest goes when there are more.
pub const MOST_TOKENS: usize = 48;
/// The most tickets that wait to be used. The oldest goes when there are more.
const MOST_TICKETS: usize = 16;

/// A ticket or a token, before it is handed out. It is written in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; SECRET_BYTES]);

/// The tickets and tokens that are valid.
#[derive(Debug, Default)]
pub struct PageAccess {
    tickets: VecDeque<KeptTicket>,
    tokens: VecDeque<(Digest, RawOutput)>,
    made: u64,
}

#[derive(Debug)]
struct KeptTicket {
    number: u64,
    hash: Digest,
    raw_output: RawOutput,
    /// When it ends, counted as the caller counts `now`.
    ends: Duration,
}

/// Whether whoever asks gets the bytes that an action printed. Agents judge by reports, so only a person's ticket gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawOutput {
    Shown,
    Refused,
}

/// The answer to a request that exchanges a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketUse {
    /// The ticket with this number was valid, and is used up now.
    Exchanged(u64),
    /// The sent text is no ticket, or the ticket was used before, or came too late.
    Refused,
}

impl Secret {
    /// Makes a secret of these random bytes.
    pub fn new(random: [u8; SECRET_BYTES]) -> Self {
        Self(random)
    }

    /// Returns the text that is handed out.
    pub fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A secret never gets into a log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl PageAccess {
    /// Makes a ticket valid from `now` on, with what its token will give. Returns its number, which is no secret.
    pub fn add_ticket(&mut self, ticket: &Secret, raw_output: RawOutput, now: Duration) -> u64 {
        self.tickets.retain(|ticket| now < ticket.ends);
        if self.tickets.len() == MOST_TICKETS {
            self.tickets.pop_front();
        }
        self.made += 1;
        let hash = Digest::of(ticket.text().as_bytes());
        self.tickets.push_back(KeptTicket { number: self.made, hash, raw_output, ends: now.saturating_add(TICKET_LASTS) });
        self.made
    }

    /// Exchanges a ticket for `token`, which is valid from then on. A ticket is used up by this.
    pub fn exchange(&mut self, ticket: &str, token: &Secret, now: Duration) -> TicketUse {
        self.tickets.retain(|ticket| now < ticket.ends);
        let asked = Digest::of(ticket.as_bytes());
        let mut found = None;
        for (place, kept) in self.tickets.iter().enumerate() {
            if are_equal(&kept.hash, &asked) {
                found = Some(place);
            }
        }
        let Some(used) = found.and_then(|place| self.tickets.remove(place)) else { return TicketUse::Refused };
        if self.tokens.len() == MOST_TOKENS {
            self.tokens.pop_front();
        }
        self.tokens.push_back((Digest::of(token.text().as_bytes()), used.raw_output));
        TicketUse::Exchanged(used.number)
    }

    /// Returns what a token gives; `None` if the text is no valid token.
    pub fn given_by(&self, text: &str) -> Option<RawOutput> {
        let asked = Digest::of(text.as_bytes());
        let mut given = None;
        // Every token is compared, so that the time tells nothing.
        for (token, raw_output) in &self.tokens {
            if are_equal(token, &asked) {
                given = Some(*raw_output);
            }
        }
        given
    }
}

/// Compares two hashes in a time that does not depend on where they differ.
fn are_equal(one: &Digest, other: &Digest) -> bool {
    let differences = one.as_bytes().iter().zip(other.as_bytes()).fold(0_u8, |all, (one, other)| all | (one ^ other));
    std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::new([byte; SECRET_BYTES])
    }

    #[test]
    fn a_ticket_works_once_and_for_a_minute_and_a_token_until_it_is_pushed_out() {
        let mut access = PageAccess::default();
        let now = Duration::from_secs(100);
        let number = access.add_ticket(&secret(1), RawOutput::Refused, now);
        assert!(access.given_by(&secret(1).text()).is_none(), "a ticket is no token");
        assert_eq!(access.exchange("", &secret(2), now), TicketUse::Refused);
        assert_eq!(access.exchange(&secret(9).text(), &secret(2), now), TicketUse::Refused);
        assert!(access.given_by(&secret(2).text()).is_none(), "no token is made for a wrong ticket");
        assert_eq!(access.exchange(&secret(1).text(), &secret(2), now), TicketUse::Exchanged(number));
        assert_eq!(access.exchange(&secret(1).text(), &secret(3), now), TicketUse::Refused, "it is used up");
        assert!(access.given_by(&secret(2).text()).is_some() && access.given_by(&secret(3).text()).is_none());
        access.add_ticket(&secret(4), RawOutput::Refused, now);
        let late = now + TICKET_LASTS;
        assert_eq!(access.exchange(&secret(4).text(), &secret(5), late), TicketUse::Refused, "it is too late");
        for byte in 0..u8::try_from(MOST_TOKENS).unwrap() {
            access.add_ticket(&secret(100 + byte), RawOutput::Refused, late);
            assert_ne!(access.exchange(&secret(100 + byte).text(), &secret(200_u8.wrapping_add(byte)), late), TicketUse::Refused);
        }
        assert!(access.given_by(&secret(2).text()).is_none(), "the oldest token went");
        assert!(access.given_by(&secret(200).text()).is_some());
        assert_eq!(format!("{:?}", secret(7)), "Secret(…)");
        for (byte, raw_output) in [(11, RawOutput::Shown), (13, RawOutput::Refused)] {
            access.add_ticket(&secret(byte), raw_output, late);
            access.exchange(&secret(byte).text(), &secret(byte + 1), late);
            assert_eq!(access.given_by(&secret(byte + 1).text()), Some(raw_output));
        }
    }

    #[test]
    fn only_so_many_tickets_wait() {
        let mut access = PageAccess::default();
        for byte in 0..=u8::try_from(MOST_TICKETS).unwrap() {
            access.add_ticket(&secret(byte), RawOutput::Refused, Duration::ZERO);
        }
        assert_eq!(access.exchange(&secret(0).text(), &secret(99), Duration::ZERO), TicketUse::Refused);
        assert_ne!(access.exchange(&secret(1).text(), &secret(99), Duration::ZERO), TicketUse::Refused);
    }
}
