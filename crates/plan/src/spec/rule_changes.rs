//! Names where the rules of a plan differ from the approved ones (S7): which action, and which of its fields. Nothing but the network
//! is compared by its meaning: another number, another word of a command or another list is a change, whichever is stricter. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::duration_text;
use crate::spec::terms::{MAY_FAIL, SHOWN, VARIABLE};
use proctor_model::{ActionId, ActionTerms, ApprovalTerms, NetworkAccess, PlanTerms, Reuse, RuleChange, RuleDifference};

/// The fields of an action's terms that say what it is and not how it is judged, or that are compared apart.
const NOT_COMPARED: &[&str] = &["name", "does", "doesWithFound", "shown", "words", "program", "approvedOn", "network"];

/// The fields whose names in `proctor.toml` are others.
const NAMES: &[(&str, &str)] = &[
    ("timeoutMs", "timeout"),
    ("idleTimeoutMs", "idle_timeout"),
    ("maxOutputBytes", "max_output"),
    ("retryAttempts", "retries"),
    ("inPlace", "snapshot"),
    ("passRateBasisPoints", "pass_rate"),
];

/// What the name of a part begins with if the action talks to a server, a database or the container engine.
const REACHES_OUT: [&str; 2] = ["kind.httpRequest.", "kind.clientCommand."];

/// The parts of an action that looks at a file and starts nothing, so nothing that a later run finds.
const LOOKS_ONLY: &str = "kind.fileValidation.";

/// The name under which what belongs to no single action is reported.
const PLAN: &str = "plan";

/// Returns where the rules of `now` differ from those of `before`.
///
/// A check that was added is free: it decides nothing of the others. An action that was added to a specification is not, because the
/// criteria of the task are about all of its actions.
pub fn compare_terms(before: &PlanTerms, now: &PlanTerms) -> RuleDifference {
    let mut found = RuleDifference::default();
    for (id, old) in &before.actions {
        match counterpart(id, old, now) {
            None => found.changed.push(change(label(id, old), "removed", old.shown.clone())),
            Some(new) => compare_actions(label(id, old), old, new, &mut found),
        }
    }
    for (id, new) in now.actions.iter().filter(|(id, new)| counterpart(id, new, before).is_none()) {
        let added = change(label(id, new), "added", new.shown.clone());
        match () {
            () if new.network > widest_of_checks(before) => found.opens.push(added),
            () if works_beside_the_tree(new) || !new.writes.is_empty() => found.opens.push(added),
            () if new.name.is_none() => found.changed.push(added),
            () => {}
        }
    }
    let without = |terms: &PlanTerms| {
        let rest =
            PlanTerms { actions: [].into(), settings: None, in_front: None, approval: ApprovalTerms::default(), ..terms.clone() };
        fields(&rest)
    };
    found.changed.extend(differing_fields(PLAN, &without(before), &without(now)));
    let (old, new) = (&before.approval, &now.approval);
    let approval = differing_fields("approval", &fields(old), &fields(new));
    // The first list of keys, with which approvals begin to need a signature, takes nothing from anybody.
    let is_first_list = old.signers.is_empty() && !old.require_signature && new.require_signature;
    let (signers, rest): (Vec<_>, Vec<_>) = approval.into_iter().partition(|one| one.field == "signers" && !is_first_list);
    found.opens.extend(signers);
    found.changed.extend(rest.into_iter().filter(|one| one.field != "signers"));
    found
}

/// Returns the names of the actions that are removed, or whose rules differ.
pub fn changed_actions(before: &PlanTerms, now: &PlanTerms) -> Vec<String> {
    let is_changed = |(id, old): &(&ActionId, &ActionTerms)| {
        counterpart(id, old, now).is_none_or(|new| {
            let mut found = RuleDifference::default();
            compare_actions("", old, new, &mut found);
            !found.is_empty()
        })
    };
    before.actions.iter().filter(is_changed).map(|(id, old)| label(id, old).to_owned()).collect()
}

/// Returns the terms that an approval without a person records: those of the new plan, with what was found of programs when the
/// commands were approved.
pub fn terms_by_rule(before: &PlanTerms, mut now: PlanTerms) -> PlanTerms {
    for (id, action) in &mut now.actions {
        if let Some(old) = counterpart(id, action, before) {
            let first_word = |terms: &ActionTerms| terms.words.as_ref().map(|words| words.command.first().cloned());
            if first_word(old).is_none_or(|old| Some(old) == first_word(action)) {
                action.program.clone_from(&old.program);
            }
        }
    }
    now.in_front.clone_from(&before.in_front);
    now
}

/// Returns the action of the other plan that has the same name, or for an action of a specification the same id.
fn counterpart<'a>(id: &ActionId, one: &ActionTerms, other: &'a PlanTerms) -> Option<&'a ActionTerms> {
    let Some(name) = &one.name else { return other.actions.get(id) };
    let named = || other.actions.values().filter(|action| action.name.as_ref() == Some(name));
    named().find(|action| does_the_same(one, action)).or_else(|| named().next())
}

/// Returns whether two actions run the same. The path of a program that proctor found may change, for example when `.venv` is made.
fn does_the_same(one: &ActionTerms, other: &ActionTerms) -> bool {
    one.does == other.does || (one.does_with_found.is_some() && one.does_with_found == other.does_with_found)
}

fn label<'a>(id: &'a ActionId, action: &'a ActionTerms) -> &'a str {
    action.name.as_deref().unwrap_or(id.as_str())
}

/// Returns whether an action works in the project itself, or talks to something outside. What it does there, later runs find.
fn works_beside_the_tree(action: &ActionTerms) -> bool {
    let has = |kind: &str| action.words.iter().any(|words| words.parts.keys().any(|part| part.starts_with(kind)));
    let works_there = action.phase.is_some() && !has(LOOKS_ONLY);
    works_there || action.in_place || REACHES_OUT.iter().any(|kind| has(kind))
}

/// Returns the widest network that a check of the plan has: what is added has none that is wider.
fn widest_of_checks(terms: &PlanTerms) -> NetworkAccess {
    let checks = terms.actions.values().filter(|action| action.phase.is_none());
    checks.map(|action| action.network).max().unwrap_or_default()
}

fn compare_actions(label: &str, old: &ActionTerms, new: &ActionTerms, found: &mut RuleDifference) {
    let what = if does_the_same(old, new) { Vec::new() } else { differing_work(label, old, new) };
    if new.network > old.network {
        found.opens.push(change(label, "network", value_change(new.network.word(), old.network.word())));
    }
    let opens = |one: &RuleChange| works_beside_the_tree(new) && one.field != MAY_FAIL;
    let (opened, changed): (Vec<_>, Vec<_>) = what.into_iter().partition(opens);
    found.opens.extend(opened);
    found.changed.extend(changed);
    // Which saves start a check is no rule: after another save its verdict is stale. Where `proctor run` takes earlier results too,
    // `paths` decides of which files a result is one.
    let is_taken_always = [old.reuse, new.reuse].contains(&Reuse::Always);
    let recorded = |terms: &ActionTerms| ActionTerms {
        after: terms.after.clone().filter(|_| old.after.is_some()),
        paths: if is_taken_always { terms.paths.clone() } else { Vec::new() },
        reuse: if is_taken_always { terms.reuse } else { Reuse::default() },
        ..terms.clone()
    };
    for one in differing_fields(label, &fields(&recorded(old)), &fields(&recorded(new))) {
        let opens = match one.field.as_str() {
            "writes" => new.writes.iter().any(|glob| !old.writes.contains(glob)),
            "snapshot" => new.in_place,
            "phase" => new.phase.is_some(),
            _ => false,
        };
        if opens { found.opens.push(one) } else { found.changed.push(one) }
    }
}

/// Returns which parts of what two actions run differ.
fn differing_work(label: &str, old: &ActionTerms, new: &ActionTerms) -> Vec<RuleChange> {
    let mut found = Vec::new();
    if let (Some(before), Some(now)) = (&old.words, &new.words) {
        if before.command != now.command {
            found.push(change(label, "command", command_change(&new.shown, &old.shown)));
        }
        let names: BTreeSet<&String> = before.parts.keys().chain(now.parts.keys()).collect();
        for name in names {
            let (before, now) = (before.parts.get(name), now.parts.get(name));
            if before == now {
                continue;
            }
            // The values of variables are recorded as digests, which say nothing to a person.
            let text = |value: Option<&String>| match value {
                None => NOTHING.to_owned(),
                Some(_) if name.starts_with(VARIABLE) => "a value".to_owned(),
                Some(value) => value.clone(),
            };
            found.push(change(label, name, value_change(&text(now), &text(before))));
        }
    }
    if found.is_empty() {
        found.push(change(label, "command", command_change(&new.shown, &old.shown)));
    }
    found
}

/// Returns which fields differ, each with both values.
fn differing_fields(name: &str, before: &Map<String, Value>, now: &Map<String, Value>) -> Vec<RuleChange> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).filter(|key| !NOT_COMPARED.contains(&key.as_str())).collect();
    let differs = |key: &&String| before.get(*key) != now.get(*key);
    let text = |key: &str, value: Option<&Value>| match value {
        None | Some(Value::Null) => NOTHING.to_owned(),
        Some(value) if key.ends_with("Ms") => duration_text(Duration::from_millis(value.as_u64().unwrap_or_default())),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let one = |key: &String| change(name, &field_name(key), value_change(&text(key, now.get(key)), &text(key, before.get(key))));
    keys.into_iter().filter(differs).map(one).collect()
}

/// Returns the fields of a record, as the ledger has them.
fn fields(record: &impl Serialize) -> Map<String, Value> {
    let value = serde_json::to_value(record).expect("terms hold nothing that JSON cannot");
    value.as_object().cloned().unwrap_or_default()
}

/// Returns the name of a field as `proctor.toml` has it.
fn field_name(key: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(field, _)| *field == key) {
        return (*name).to_owned();
    }
    let mut name = String::new();
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

/// Stands for the value of what is not set.
const NOTHING: &str = "nothing";

fn value_change(now: &str, before: &str) -> String {
    match (now, before) {
        (_, NOTHING) => format!("{now}, which was not set"),
        (NOTHING, _) => format!("not set any more, it was {before}"),
        (_, _) => format!("{now} instead of {before}"),
    }
}

/// Returns how two commands differ, of which approvals record the beginnings.
fn command_change(now: &str, before: &str) -> String {
    let cut = |text: &str| if text.chars().count() < SHOWN { text.to_owned() } else { format!("{text}…") };
    match now == before {
        true => format!("{} differs in what is not shown here: `proctor plan` prints it whole", cut(now)),
        false => value_change(&cut(now), &cut(before)),
    }
}

fn change(name: &str, field: &str, difference: String) -> RuleChange {
    RuleChange { name: name.to_owned(), field: field.to_owned(), difference }
}

#[cfg(test)]
mod tests;
