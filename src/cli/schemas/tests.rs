//! Generates the schemas from the types, and holds them to documents.

use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::{DEBT, LEDGER, REPORT, STATUS, VERIFY};
use proctor_api::StatusV1;
use proctor_evidence::report::{ExecutionReportV2, TechnicalDebtV1};
use proctor_evidence::{FaultKind, UnfinishedKind};
use proctor_model::LedgerLine;

/// Leaves out what readers of a schema do not need: texts about the types, defaults, and formats of numbers.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        for name in ["description", "default", "format", "title"] {
            // A property may have such a name, and is then an object.
            if object.get(name).is_some_and(|value| !value.is_object()) {
                object.remove(name);
            }
        }
    }
}

/// A committed schema: its file, its text, its title and how it is made.
struct Committed {
    file: &'static str,
    text: &'static str,
    title: &'static str,
    make: fn() -> Value,
}

const COMMITTED: [Committed; 5] = [
    Committed {
        file: "report-2.0.0.json",
        text: REPORT,
        title: "Execution report 2.0.0 of proctor",
        make: of::<ExecutionReportV2>,
    },
    Committed {
        file: "debt-v1.json",
        text: DEBT,
        title: "Technical debt of a run of proctor, version 1",
        make: of::<TechnicalDebtV1>,
    },
    Committed { file: "ledger-v1.json", text: LEDGER, title: "A line of a ledger of proctor, version 1", make: of::<LedgerLine> },
    Committed {
        file: "verify-v1.json",
        text: VERIFY,
        title: "What `proctor verify --json` prints, version 1",
        make: verification,
    },
    Committed {
        file: "status-v1.json",
        text: STATUS,
        title: "What `proctor status --json` prints, version 1",
        make: of::<StatusV1>,
    },
];

fn of<Document: JsonSchema>() -> Value {
    SchemaSettings::draft07().with_transform(Plain).into_generator().into_root_schema_for::<Document>().to_value()
}

/// The document of `proctor verify` has no type of its own: it is written key by key.
fn verification() -> Value {
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let count = || json!({ "type": "integer", "minimum": 0 });
    let statement = |kinds: Vec<&str>| {
        json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": { "type": "string", "enum": kinds },
                    "file": { "type": "string" },
                    "what": { "type": "string" },
                    "detail": { "type": "string" },
                    "next": { "type": "string" },
                },
                "required": ["kind", "file", "what", "detail", "next"],
                "additionalProperties": false,
            },
        })
    };
    let properties = json!({
        "schema": { "const": "proctor-verify-v1" },
        "verified": { "type": "boolean" },
        "projects": texts(),
        "runs": count(),
        "files": count(),
        "bytes": count(),
        "lines": count(),
        "unsigned": texts(),
        "archived": count(),
        "pruned": count(),
        "purged": count(),
        "anchors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "place": { "type": "string" },
                    "project": { "type": "string" },
                    "lines": count(),
                    "root": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
                },
                "required": ["place", "project", "lines", "root"],
                "additionalProperties": false,
            },
        },
        "unfinished": statement(UnfinishedKind::ALL.iter().map(|kind| kind.word()).collect()),
        "faults": statement(FaultKind::ALL.iter().map(|kind| kind.word()).collect()),
    });
    let required: Vec<_> = properties.as_object().expect("it is an object").keys().cloned().collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

impl Committed {
    fn made(&self) -> String {
        let mut value = (self.make)();
        value["title"] = json!(self.title);
        value["$id"] = json!(format!("urn:proctor:schema:{}", self.file.trim_end_matches(".json")));
        serde_json::to_string_pretty(&value).expect("a schema is JSON") + "\n"
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever changes the types has the files written anew by this test")]
fn the_committed_schemas_are_those_of_the_types() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/cli/schemas");
    for committed in &COMMITTED {
        let (made, path) = (committed.made(), directory.join(committed.file));
        if std::env::var_os("PROCTOR_UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &made).expect("the source tree is writable");
            continue;
        }
        assert_eq!(committed.text, made, "`PROCTOR_UPDATE_SCHEMA=1 cargo test --lib schemas` writes it anew");
    }
}

#[test]
fn every_schema_accepts_its_golden_document_and_refuses_another_key() {
    let report = include_str!("../../../crates/evidence/src/report/golden/execution-report.json");
    let debt = include_str!("../../../crates/evidence/src/report/golden/technical-debt-data.json");
    for (schema, golden) in [(REPORT, report), (DEBT, debt)] {
        let schema: Value = serde_json::from_str(schema).expect("it is JSON");
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        let mut document: Value = serde_json::from_str(golden).expect("it is JSON");
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, [] as [&str; 0]);
        document["another"] = json!(1);
        assert!(!validator.is_valid(&document));
    }
}
