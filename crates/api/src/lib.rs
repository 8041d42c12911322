//! The control socket's interface: the JSON types, the routes, and the page that describes them to a person.
//!
//! Owns the JSON types. They are separate from the domain types and made from the domain types by `From` (house style
//! S8). Also owns [`ROUTES`], the one table from which the router, the page of `proctor generate api` and their tests are made.
//! Also makes the list of what failed in a run, in `build_failures`. Nothing here does I/O.
//!
//! Service and client both refuse unknown fields, so a new field in any type needs a new version of the paths (`/v1`).

mod agent;
mod build_failures;
mod error;
mod event;
mod failure;
mod history;
pub mod page;
mod project;
mod routes;
mod run;
mod status;

pub use agent::{AgentAnswerV1, AgentRequestV1};
pub use build_failures::{
    AnswerTexts, FailureChoice, FailureSubject, build_failures, chosen_failure_names, count_failures, failure_names, is_place,
};
pub use error::{ErrorDocumentV1, ErrorKindV1, ErrorV1};
pub use event::{EndReasonV1, EventV1};
pub use failure::{FailingSinceV1, FailureKindV1, FailureV1, FailuresV1, NextStepV1};
pub use history::{
    ComparisonV1, FlakyTestsV1, LastProofV1, MatrixV1, RunDetailsV1, RunListV1, SlowTestsV1, TestListV1, TestPastV1, TrendsV1,
};
pub use project::{
    AddRequestV1, AddedV1, CycleV1, DoingV1, ListedTaskV1, ListedV1, PageRequestV1, PageTicketV1, PathEventV1, PathHistoryV1,
    ProjectV1, ProjectsV1, WatchingV1,
};
pub use routes::{MethodV1, ParameterV1, PastRoute, ROUTES, Route, RouteName, routes_page};
pub use run::{RunAnswerV1, RunOutcomeV1, RunRequestV1, VariableV1};
pub use status::{AnswerV1, CountedV1, InTimeV1, ProjectStatusV1, ServiceV1, StateV1, StatusV1, TaskStatusV1, VerdictV1};
