//! Decides whether a condition can still be true or false although some of its values are never known.

use crate::condition::syntax::{Condition, Expression, Reference};

/// Returns whether a condition can have the answer `wanted` if the values of some references are unknown in every run. A condition that
/// cannot counts against its task in every run.
pub fn can_be(condition: &Condition, wanted: bool, is_never_known: &dyn Fn(&Reference) -> bool) -> bool {
    can_part_be(&condition.root, wanted, is_never_known)
}

fn can_part_be(part: &Expression, wanted: bool, is_never_known: &dyn Fn(&Reference) -> bool) -> bool {
    let can = |part: &Expression| can_part_be(part, wanted, is_never_known);
    match (part, wanted) {
        (Expression::Or(parts), true) | (Expression::And(parts), false) => parts.iter().any(can),
        (Expression::Or(parts), false) | (Expression::And(parts), true) => parts.iter().all(can),
        (Expression::Not(part), _) => can_part_be(part, !wanted, is_never_known),
        (Expression::Compare { left, right, .. }, _) => is_known(left, is_never_known) && is_known(right, is_never_known),
        (Expression::Reference(_) | Expression::Literal { .. }, _) => is_known(part, is_never_known),
    }
}

/// Returns whether the value of a part can be known.
fn is_known(part: &Expression, is_never_known: &dyn Fn(&Reference) -> bool) -> bool {
    match part {
        Expression::Reference(reference) => !is_never_known(reference),
        Expression::Literal { .. } => true,
        Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. } => {
            can_part_be(part, true, is_never_known) || can_part_be(part, false, is_never_known)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_can_be_decided_where_what_is_known_decides_it() {
        for (text, expected) in [
            ("A.1.exitCode === 0", (false, false)),
            ("!(A.1.exitCode === 0)", (false, false)),
            ("B.1.exitCode === 0", (true, true)),
            ("A.1.exitCode === 0 || B.1.success", (true, false)),
            ("A.1.exitCode === 0 && B.1.success", (false, true)),
            ("!(A.1.exitCode === 0 && B.1.success)", (true, false)),
            ("(A.1.exitCode === 0) === B.1.success", (false, false)),
        ] {
            let condition = Condition::parse(text).expect(text);
            let is_unknown = |reference: &Reference| reference.action.as_str() == "A.1";
            let found = (can_be(&condition, true, &is_unknown), can_be(&condition, false, &is_unknown));
            assert_eq!(found, expected, "{text}");
        }
    }
}
