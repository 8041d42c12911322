//! Decides whether a prerequisite starts the server that `devServer` starts, and lets that server be started once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::spec::specification::fix::edit::{insert_element, insert_member, one_line, removal_of_member};
use crate::spec::specification::fix::ready::{Ready, port_of_url};
use crate::spec::specification::fix::{
    ACTION_TYPES, CorrectionBasis, DEV_SERVER, Found, Planner, REQUEST, TextEdit, id, text_at,
};
use crate::spec::specification::lint::below;

/// Whether `devServer` starts the server that a prerequisite starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DevServerMatch {
    /// There is no `devServer`, or it has another command.
    Other,
    /// The same command runs in the same directory, with the same variables, without a shell.
    Same,
    /// The command is the same, and these parameters are not, so it may be another server.
    Differs(Vec<&'static str>),
}

/// Where and how a command runs, apart from its text.
#[derive(PartialEq, Eq)]
struct Ways<'v> {
    /// The parts of the directory below the project's root; `None` if it does not lie there.
    directory: Option<Vec<&'v str>>,
    /// The variables that differ from those of all actions.
    environment: BTreeMap<&'v str, &'v Value>,
    shell: Option<&'v Value>,
    words: Option<&'v Value>,
}

impl Planner<'_> {
    /// Compares a prerequisite with the `devServer` that stands in the file or that a correction adds.
    pub(super) fn compare_with_dev_server(&self, action: &Value) -> DevServerMatch {
        let Some(server) = self.dev_server() else { return DevServerMatch::Other };
        let command = |value: &Value, at: &str| text_at(value, at).trim().to_owned();
        if !server.get("command").is_some_and(Value::is_string)
            || command(server, "/command") != command(action, "/parameters/command")
        {
            return DevServerMatch::Other;
        }
        let of_server = Ways {
            directory: self.directory(text_at(server, "/workingDirectory")),
            environment: BTreeMap::new(),
            shell: None,
            words: None,
        };
        let own = self.ways(action);
        let parts = [
            ("workingDirectory", own.directory.is_none() || own.directory != of_server.directory),
            ("environment", own.environment != of_server.environment),
            ("shell", own.shell != of_server.shell),
            ("proctor.argv", own.words != of_server.words),
        ];
        let differing: Vec<&'static str> = parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        if differing.is_empty() { DevServerMatch::Same } else { DevServerMatch::Differs(differing) }
    }

    /// Returns the `devServer` of the file with its placeholders filled, or else the one that a correction adds.
    fn dev_server(&self) -> Option<&Value> {
        self.filled.pointer(DEV_SERVER).or(self.added_dev_server.as_ref())
    }

    fn ways<'v>(&'v self, action: &'v Value) -> Ways<'v> {
        let of_all = self.filled.pointer("/globalConfiguration/environment");
        let own = action.pointer("/parameters/environment").and_then(Value::as_object);
        let own = own.into_iter().flatten().filter(|(name, value)| of_all.and_then(|all| all.get(*name)) != Some(*value));
        Ways {
            directory: self.directory(text_at(action, "/parameters/workingDirectory")),
            environment: own.map(|(name, value)| (name.as_str(), value)).collect(),
            shell: action.pointer("/parameters/shell").filter(|shell| !shell.is_null()),
            words: action.pointer("/proctor/argv").filter(|argv| !argv.is_null()),
        }
    }

    fn directory<'v>(&self, written: &'v str) -> Option<Vec<&'v str>> {
        below(text_at(&self.filled, "/globalConfiguration/workspaceRoot"), written)
    }

    /// Makes a prerequisite a service although `devServer` has the same command: some of its parameters differ, so what `devServer`
    /// starts may be another server. It is left to a person if both would be asked at one port.
    pub(super) fn make_other_server(&mut self, found: &Found, command: &str, ready: &Ready, differing: &[&'static str]) {
        let differing = differing.join("` and `");
        let of_server = self.dev_server().and_then(|server| {
            let url = server.get("healthCheckUrl").and_then(Value::as_str).and_then(port_of_url);
            url.or_else(|| server.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()))
        });
        match (ready.known_port(), of_server) {
            (Some(own), Some(of_server)) if own != of_server => {
                self.make_service(found, command, ready, CorrectionBasis::Rule);
                if let Some(last) = self.plan.corrections.last_mut().filter(|last| last.pointer == found.pointer) {
                    last.what.push_str(&format!("; `devServer` has the same command, and not the same `{differing}`"));
                }
            }
            (Some(_) | None, Some(_) | None) => {
                let what = format!(
                    "{}: `{command}` does not end. `devServer` has the same command, and not the same `{differing}`: remove this \
                     prerequisite if it is the same server, or make it a service with a port of its own",
                    id(found)
                );
                self.leave(found, what);
            }
        }
    }

    /// Lets the server of all tasks be started as `devServer`, before anything asks it. The action then only asks whether the server
    /// answers, so that conditions on it keep their meaning.
    pub(super) fn use_dev_server(&mut self, found: &Found, command: &str, ready: &Ready, is_there: bool) {
        let own = self.ways(&found.action);
        // `devServer` has neither variables of its own nor a shell, and there is only one.
        let may_be_added =
            own.environment.is_empty() && own.shell.is_none() && own.words.is_none() && self.dev_server().is_none();
        let Some(url) = ready.url.as_deref().filter(|_| is_there || may_be_added) else {
            if is_there && self.tasks() > 1 {
                let what = "`devServer` starts the same server: remove this prerequisite, and what names it".to_owned();
                return self.leave(found, format!("{}: {what}", id(found)));
            }
            self.make_service(found, command, ready, CorrectionBasis::Rule);
            if is_there
                && let Some(edit) = removal_of_member(self.text, &self.places, DEV_SERVER)
                && let Some(last) = self.plan.corrections.last_mut().filter(|last| last.pointer == found.pointer)
            {
                last.what.push_str("; `devServer`, which starts the same server, is removed");
                last.edits.push(edit);
            }
            return;
        };
        let mut edits = Vec::new();
        for (key, value) in [("type", json!(REQUEST)), ("parameters", json!({ "url": url, "method": "GET" }))] {
            let range = self.places.range(&format!("{}/{key}", found.pointer));
            edits.extend(range.map(|range| TextEdit { range, text: one_line(&value) }));
        }
        let types = self.document.pointer(ACTION_TYPES).and_then(Value::as_array);
        if types.is_some_and(|types| !types.iter().any(|one| one == REQUEST)) {
            edits.extend(insert_element(self.text, &self.places, ACTION_TYPES, &json!(REQUEST)));
        }
        let mut what = format!("{}: `{command}` does not end; ", id(found));
        if is_there {
            what.push_str("`devServer` starts the same server before, so this only asks whether it answers");
        } else {
            let mut server = json!({ "command": command, "healthCheckUrl": url });
            let mut filled = server.clone();
            for (own, name) in [("parameters/workingDirectory", "workingDirectory"), ("timeout", "startupTimeout")] {
                let own_pointer = format!("{}/{own}", found.pointer);
                if let Some(written) = self.document.pointer(&own_pointer) {
                    server[name] = written.clone();
                    filled[name] = self.filled.pointer(&own_pointer).unwrap_or(written).clone();
                }
            }
            edits.extend(insert_member(self.text, &self.places, "/globalConfiguration", "devServer", &server));
            self.added_dev_server = Some(filled);
            what.push_str("it becomes `devServer`, because the task's workflow asks it first, and this asks whether it answers");
        }
        self.add(found, what, CorrectionBasis::Rule, edits);
    }

    fn tasks(&self) -> usize {
        self.document.get("tasks").and_then(Value::as_object).map_or(0, serde_json::Map::len)
    }
}
