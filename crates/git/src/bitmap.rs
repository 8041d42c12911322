//! Decodes the compressed bitmaps of git's split index (EWAH, gitformat-index(5)). Pure.

const WORD: u64 = 64;

/// Decodes a bitmap at the start of `bytes`. Returns the positions of the set bits in ascending order, and the bytes
/// after the bitmap; `None` if the bitmap is damaged or has a set bit at or beyond `limit`. Set bits beyond `limit` are
/// ignored only in the last word of a run of ones.
///
/// The format: the number of bits, the number of words, the words, and the place of the last header word. All numbers are
/// big-endian; a word has 64 bits. A header word says how many words of equal bits come first (the lowest bit is the
/// value of these bits, the next 32 bits are the number of words), and how many literal words follow it (the upper 31
/// bits).
pub(super) fn decode(bytes: &[u8], limit: usize) -> Option<(Vec<usize>, &[u8])> {
    let (_bits, rest) = split_u32(bytes)?;
    let (count, rest) = split_u32(rest)?;
    let (words, rest) = rest.split_at_checked(usize::try_from(count).ok()?.checked_mul(8)?)?;
    let (_last_run, rest) = split_u32(rest)?;
    let mut words = words.chunks_exact(8).map(|word| u64::from_be_bytes(word.try_into().expect("chunks of eight bytes")));
    let (mut set, mut position) = (Vec::new(), 0_u64);
    let limit = limit as u64;
    while let Some(run) = words.next() {
        let (bit, length, literals) = (run & 1, (run >> 1) & 0xffff_ffff, run >> 33);
        let end = position.checked_add(length * WORD)?;
        if bit == 1 {
            if end > limit.next_multiple_of(WORD) {
                return None;
            }
            set.extend((position..end).filter(|position| *position < limit));
        }
        position = end;
        for _ in 0..literals {
            let word = words.next()?;
            for bit in (0..WORD).filter(|bit| word >> bit & 1 == 1) {
                let place = position.checked_add(bit).filter(|place| *place < limit)?;
                set.push(place);
            }
            position = position.checked_add(WORD)?;
        }
    }
    let set = set.into_iter().map(|position| usize::try_from(position).expect("below a limit that is a usize")).collect();
    Some((set, rest))
}

fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(words: &[u64]) -> Vec<u8> {
        let count = u32::try_from(words.len()).unwrap();
        let words = words.iter().flat_map(|word| word.to_be_bytes());
        [1000_u32.to_be_bytes(), count.to_be_bytes()].concat().into_iter().chain(words).chain([0; 4]).collect()
    }

    #[test]
    fn runs_and_literal_words_are_decoded_and_damage_is_noticed() {
        // One word of zeros, then two literal words.
        let bytes = encoded(&[1 << 1 | 2 << 33, 0b101, 1 << 63]);
        assert_eq!(decode(&bytes, 192), Some((vec![64, 66, 191], &[][..])));
        assert_eq!(decode(&bytes, 191), None, "a bit beyond the entries");
        // One whole word of ones, though there are only three entries: the bits beyond the limit are ignored.
        assert_eq!(decode(&encoded(&[1 | 1 << 1]), 3).map(|(set, _)| set), Some(vec![0, 1, 2]));
        assert_eq!(decode(&encoded(&[1 | 0xffff_ffff << 1]), 3), None, "four thousand million words of ones");
        assert_eq!(decode(&encoded(&[3 << 33, 1]), 500), None, "literal words are missing");
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length], 192), None);
        }
        assert_eq!(decode(&encoded(&[]), 0), Some((Vec::new(), &[][..])));
    }
}
