//! Applying a delta: in a pack, an object may be described by copies from another object (gitformat-pack(5), Deltified
//! representation). Pure.

/// The number of bytes that a copy instruction of length 0 copies.
const COPY_ALL: usize = 0x10000;

/// Applies a delta to its base. Returns `None` if the delta is damaged, belongs to another base, or makes more than `limit`
/// bytes.
pub(super) fn apply(base: &[u8], delta: &[u8], limit: usize) -> Option<Vec<u8>> {
    let (base_length, rest) = read_length(delta)?;
    let (length, mut rest) = read_length(rest)?;
    if base_length != base.len() || length > limit {
        return None;
    }
    let mut made = Vec::with_capacity(length);
    while let Some((code, after)) = rest.split_first() {
        rest = after;
        let part = if code & 0x80 != 0 {
            let offset = read_marked(code & 0x0f, 4, &mut rest)?;
            let count = match read_marked(code >> 4 & 0x07, 3, &mut rest)? {
                0 => COPY_ALL,
                count => count,
            };
            base.get(offset..offset.checked_add(count)?)?
        } else {
            // The instruction code 0 is reserved; no known program writes it.
            let (part, after) = rest.split_at_checked(usize::from(*code)).filter(|_| *code != 0)?;
            rest = after;
            part
        };
        if made.len() + part.len() > length {
            return None;
        }
        made.extend_from_slice(part);
    }
    (made.len() == length).then_some(made)
}

/// Reads a number that is stored in groups of seven bits, lowest first; the high bit of a byte says that another group
/// follows.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_usize;
    for (position, byte) in bytes.iter().enumerate().take(8) {
        number |= usize::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[position + 1..]));
        }
    }
    None
}

/// Reads a number whose zero bytes may be left out, lowest byte first; `marks` says which bytes are stored.
fn read_marked(marks: u8, bytes: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for position in (0..bytes).filter(|position| marks >> position & 1 == 1) {
        let (byte, after) = rest.split_first()?;
        number |= usize::from(*byte) << (8 * position);
        *rest = after;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: &[u8] = b"proctor/shop-00000001\n17\nroot\n";

    #[test]
    fn copies_and_insertions_make_the_object() {
        let delta = [&[30, 27, 0x90, 22, 2][..], b"18", &[0x91, 24, 3][..]].concat();
        assert_eq!(apply(BASE, &delta, 100).as_deref(), Some(b"proctor/shop-00000001\n18\nro".as_slice()));
        assert_eq!(apply(BASE, &delta, 26), None, "more than is allowed");
        assert_eq!(apply(&BASE[1..], &delta, 100), None, "another base");
        for damaged in
            [&delta[..4], &delta[..6], &[30, 28, 0x90, 27][..], &[30, 2, 0][..], &[30, 9, 0x91, 25, 9][..], &[0x80][..]]
        {
            assert_eq!(apply(BASE, damaged, 100), None, "{damaged:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_or_outgrow_its_limit(base in proptest::collection::vec(any::<u8>(), 0..60),
            mut delta in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(first) = delta.first_mut() {
                *first = base.len() as u8;
            }
            prop_assert!(apply(&base, &delta, 50).is_none_or(|made| made.len() <= 50));
        }
    }
}
