//! Compares a proposed specification with the one that it would replace, by meaning (C80). Pure.
//!
//! Both texts are compared as JSON, key by key. Elements of lists are matched by their ids if they have ids. The table
//! in [`rules`] says whether a difference weakens or strengthens; a difference that only corrects an error of the old
//! text is marked as such. The lint finds errors of the proposal itself.

mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::spec::specification::change::rules::{ChangeRule, judge, mends, rule_key, rule_of};
use crate::spec::specification::fill::quote_bare;
use proctor_model::{ChangeEffect, Problem, SpecificationChange};

/// The keys that identify the elements of a list, in the order in which they are tried.
const IDENTITIES: [&str; 2] = ["actionId", "condition"];

/// Returns every difference. The keys of an object come in alphabetical order: first the corrected keys, then the old ones, then
/// the added ones. The elements of a list keep their order.
///
/// `faults` are the faults of the old text. If a text is not JSON, the whole comparison is one unexplained change.
pub fn compare_specifications(before: &str, after: &str, faults: &[Problem]) -> Vec<SpecificationChange> {
    let parse = |text: &str| serde_json::from_str::<Value>(&quote_bare(text).0).ok();
    let (before, after) = (parse(before), parse(after));
    let mut comparison = Comparison { before: before.as_ref(), faults, changes: Vec::new() };
    match (&before, &after) {
        (Some(before), Some(after)) => comparison.walk(String::new(), "", Some(before), Some(after)),
        (before, after) => comparison.note(String::new(), before.as_ref(), after.as_ref(), ChangeEffect::Unexplained),
    }
    comparison.changes
}

struct Comparison<'f> {
    /// The current specification as JSON; `None` if its text is not JSON.
    before: Option<&'f Value>,
    faults: &'f [Problem],
    changes: Vec<SpecificationChange>,
}

impl Comparison<'_> {
    /// Compares the values of one key in both texts. Elements of a list are compared under the list's key.
    fn walk(&mut self, pointer: String, key: &str, before: Option<&Value>, after: Option<&Value>) {
        if before == after {
            return;
        }
        let empty = Map::new();
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => self.walk_keys(&pointer, key, before, after),
            (Some(Value::Array(before)), Some(Value::Array(after))) if identity(before, after).is_some() => {
                self.walk_elements(&pointer, key, before, after);
            }
            // An object whose key has no rule is judged by the keys inside it.
            (None, Some(Value::Object(after))) if rule_of(key).is_none() => self.walk_keys(&pointer, key, &empty, after),
            (Some(Value::Object(before)), None) if rule_of(key).is_none() => self.walk_keys(&pointer, key, before, &empty),
            (before, after) => self.judge(pointer, key, before, after),
        }
    }

    /// Compares two objects key by key. `rule` is the key whose rule applies to the objects; `rule_key` says whether it
    /// also applies to the keys inside.
    fn walk_keys(&mut self, pointer: &str, rule: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let below = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        // A key was misspelt if it is unknown and its value is now under the nearest known key.
        let respelt: Vec<(&String, &String)> = before
            .keys()
            .filter(|key| !after.contains_key(*key))
            .filter_map(|key| {
                let (new, value) = after.get_key_value(self.nearest(&below(key))?)?;
                (!before.contains_key(new) && *value == before[key]).then_some((key, new))
            })
            .collect();
        for (old, new) in &respelt {
            self.note(below(old), Some(&before[*old]), Some(&Value::String((*new).clone())), ChangeEffect::Mends);
        }
        let is_respelt = |key: &String| respelt.iter().any(|(old, new)| *old == key || *new == key);
        for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
            if !is_respelt(key) {
                let holder = pointer.rsplit('/').next().unwrap_or_default();
                self.walk(below(key), rule_key(holder, rule, key), before.get(key), after.get(key));
            }
        }
    }

    fn walk_elements(&mut self, pointer: &str, key: &str, before: &[Value], after: &[Value]) {
        let Some(identity) = identity(before, after) else { return };
        let names = |list: &[Value]| list.iter().map(|element| element[identity].to_string()).collect::<Vec<_>>();
        let (old, new) = (names(before), names(after));
        let index = |names: &[String]| names.iter().cloned().zip(0..).collect::<BTreeMap<String, usize>>();
        let (at_of_old, at_of_new) = (index(&old), index(&new));
        for (at, element) in before.iter().enumerate() {
            let now = at_of_new.get(&old[at]).map(|at| &after[*at]);
            self.walk(format!("{pointer}/{at}"), key, Some(element), now);
        }
        for (at, element) in after.iter().enumerate().filter(|(at, _)| !at_of_old.contains_key(&new[*at])) {
            let pointer = format!("{pointer}/{at}");
            // A new step may itself produce the output or the exit code that is expected of all steps together. That
            // could replace a step that used to produce it.
            if key == "steps" && self.expects_of_all(&pointer) {
                self.note(pointer, None, Some(element), ChangeEffect::Unexplained);
            } else {
                self.walk(pointer, key, None, Some(element));
            }
        }
        let common_old = old.iter().filter(|name| at_of_new.contains_key(*name));
        if !common_old.eq(new.iter().filter(|name| at_of_old.contains_key(*name))) {
            let order = |names: &[String]| Value::from(names.join(", "));
            self.note(pointer.to_owned(), Some(&order(&old)), Some(&order(&new)), ChangeEffect::Unexplained);
        }
    }

    fn judge(&mut self, pointer: String, key: &str, before: Option<&Value>, after: Option<&Value>) {
        let rule = rule_of(key);
        let judged = rule.and_then(|rule| judge(rule, before, after));
        let is_error = self.is_faulted(&pointer) || (before.is_none() && self.is_missing(&pointer));
        // A word that the format does not know asked for nothing, so the word that was meant takes nothing back.
        let is_meant = rule == Some(ChangeRule::Another) && self.is_nearest(&pointer, after);
        let effect = if is_meant || is_error && mends(rule, judged, before, after) {
            ChangeEffect::Mends
        } else {
            judged.unwrap_or(ChangeEffect::Unexplained)
        };
        self.note(pointer, before, after, effect);
    }

    fn note(&mut self, pointer: String, before: Option<&Value>, after: Option<&Value>, effect: ChangeEffect) {
        let text = |value: &Value| value.to_string().chars().take(SpecificationChange::MOST_CHARACTERS).collect::<String>();
        self.changes.push(SpecificationChange { pointer, effect, before: before.map(text), after: after.map(text) });
    }

    /// Returns whether an error of the old text is about a value. For an unknown or missing key, validators report the
    /// object around it and name the key in the parameters.
    fn is_faulted(&self, pointer: &str) -> bool {
        let is_about =
            |fault: &Problem| (!pointer.is_empty() && fault.is_at(pointer)) || named(fault, "additionalProperty", pointer);
        self.faults.iter().filter(|fault| fault.is_hard()).any(is_about)
    }

    /// Returns whether a value is the allowed one that is nearest to a wrong value, as the fault about the wrong value names it.
    fn is_nearest(&self, pointer: &str, after: Option<&Value>) -> bool {
        let after = after.and_then(Value::as_str);
        let mut wrong = self.faults.iter().filter(|fault| fault.is_hard() && fault.is_at(pointer));
        after.is_some() && wrong.any(|fault| fault.nearest.as_deref() == after)
    }

    /// Returns the known key that is nearest to an unknown key, as the fault about the unknown key names it.
    fn nearest(&self, pointer: &str) -> Option<&str> {
        let mut unknown = self.faults.iter().filter(|fault| fault.is_hard() && named(fault, "additionalProperty", pointer));
        unknown.find_map(|fault| fault.nearest.as_deref())
    }

    /// Returns whether the task of a step has an `expectedOutput`, which applies to the output of all steps together.
    fn expects_of_all(&self, step: &str) -> bool {
        let task = step.split("/testExecution/").next().unwrap_or_default();
        self.before.is_some_and(|before| before.pointer(&format!("{task}/validationCriteria/expectedOutput")).is_some())
    }

    fn is_missing(&self, pointer: &str) -> bool {
        self.faults.iter().filter(|fault| fault.is_hard()).any(|fault| named(fault, "missingProperty", pointer))
    }
}

fn named(fault: &Problem, parameter: &str, pointer: &str) -> bool {
    let key = fault.params().get(parameter).and_then(Value::as_str);
    key.is_some_and(|key| pointer.rsplit_once('/') == Some((fault.pointer.as_str(), key)))
}

/// Returns the key that identifies the elements of both lists; `None` if no key has a different text in every element.
fn identity(before: &[Value], after: &[Value]) -> Option<&'static str> {
    let tells_apart = |list: &[Value], key: &str| {
        let names: Option<BTreeSet<&str>> = list.iter().map(|element| element.get(key)?.as_str()).collect();
        names.is_some_and(|names| names.len() == list.len())
    };
    IDENTITIES.into_iter().find(|key| tells_apart(before, key) && tells_apart(after, key))
}
