//! The rows C01–C80 and J1–J5 of the decisions on seed 004: each has a test that is named after it, or is listed as a
//! row without behaviour.
//!
//! The name of a test begins with its rows (`c12_…`, `c61_c62_…`). The table names one such test for each row. These
//! tests fail if a row is missing here, if a test of the table no longer exists, and if a reason no longer holds.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::source_files;

/// How a row is covered.
enum Coverage {
    /// A test that fails when the rule is reverted.
    Tested(&'static str),
    /// The row asks for no behaviour of the program, for this reason.
    NoBehaviour(&'static str),
    /// The rule is not built yet; the text says what is missing. A test that is named after the row ends this state.
    Awaited(&'static str),
}

use Coverage::{Awaited, NoBehaviour, Tested};

const ROWS: &[(&str, Coverage)] = &[
    ("c01", Tested("c01_a_non_zero_exit_is_what_the_class_of_the_tool_makes_of_it")),
    ("c02", Tested("c02_what_a_generic_command_prints_changes_nothing")),
    ("c03", Tested("c03_c20_warnings_alone_are_a_validation_failure_that_does_not_block_and_is_debt")),
    ("c04", Tested("c04_unmet_criteria_fail_the_verdict_and_are_no_success")),
    ("c05", Tested("c05_a_test_failure_is_one_type_and_its_flags_are_two")),
    ("c06", Tested("c06_tests_that_fail_as_declared_are_a_red_without_debt")),
    ("c07", Tested("c07_only_tests_that_ran_and_failed_say_so")),
    ("c08", Tested("c08_a_failed_prerequisite_keeps_what_it_was_as_underlying")),
    ("c09", Tested("c09_a_server_that_is_down_is_what_its_phase_makes_of_it")),
    ("c10", Tested("c10_a_task_that_is_nowhere_twice_or_wrong_is_not_run")),
    ("c11", Tested("c11_c46_a_usage_error_is_no_debt_and_a_crash_is")),
    ("c12", Tested("c12_type_errors_are_named_errors_in_files_whatever_the_exit_code")),
    ("c13", Tested("c13_a_tool_that_is_not_there_is_that_however_it_shows")),
    ("c14", Tested("c14_exit_code_2_of_a_linter_is_an_execution_error")),
    ("c15", Tested("c15_a_time_out_names_its_limit_in_one_of_five_words")),
    ("c16", Tested("c16_a_step_that_looks_or_asks_fails_closed")),
    ("c17", Tested("c17_a_time_out_that_ignores_sigterm_is_killed_at_the_end_of_the_grace")),
    ("c20", Tested("c20_defaults_by_type_of_tool")),
    ("c21", Tested("c21_a_clean_run_without_a_policy_is_a_success_because_the_output_is_read_first")),
    ("c22", Tested("c22_a_disabled_tool_is_never_and_says_so")),
    ("c23", Tested("c22_c23_the_nearest_word_is_the_policy_of_a_tool")),
    ("c24", Tested("c24_ignored_rules_are_dropped_before_anything_is_promoted_or_counted")),
    ("c25", Tested("c25_a_limit_on_warnings_holds_where_errors_block_and_nowhere_else")),
    ("c26", Tested("c26_warn_only_is_low_and_so_is_its_debt")),
    ("c27", Tested("c27_too_many_warnings_are_high_and_their_debt_is_medium")),
    ("c28", Tested("c28_what_was_counted_decides_and_the_exit_code_is_held_against_it")),
    ("c29", Tested("c29_errors_of_eslint_are_high")),
    ("c30", Tested("c30_a_limit_in_the_command_itself_counts_and_names_its_line")),
    ("c31", Tested("c31_no_severity_is_no_word_and_the_schema_has_four")),
    ("c32", Tested("c32_several_candidates_are_generic_and_say_so")),
    ("c33", Tested("c33_what_blocks_decides_the_verdict_and_not_what_runs_next")),
    ("c34", Tested("c34_a_step_with_allowed_findings_passes")),
    ("c40", Tested("c40_c45_debt_of_each_tool_under_its_default_policy")),
    ("c41", Tested("c41_c42_work_type_says_whether_something_is_missing_and_refactoring_is_neither")),
    ("c42", Tested("c42_tests_that_fail_are_business_logic_and_an_endpoint_that_is_not_there_is_that")),
    ("c43", Tested("c43_what_could_not_do_its_work_is_an_integration_failure_or_no_debt")),
    ("c44", Tested("c44_a_status_code_is_never_read_out_of_words")),
    ("c45", Tested("c40_c45_debt_of_each_tool_under_its_default_policy")),
    ("c46", Tested("c11_c46_a_usage_error_is_no_debt_and_a_crash_is")),
    ("c47", Tested("c47_a_timeout_is_medium_and_goes_to_the_sprint_because_it_blocks")),
    ("c48", Tested("c48_one_cause_is_one_item_and_the_other_actions_are_its_related_failures")),
    ("c49", Tested("c49_debt_of_a_prerequisite_is_the_environments")),
    ("c50", Tested("c50_context_is_what_was_seen_and_null_otherwise")),
    ("c51", Tested("c51_what_can_be_fixed_by_itself_is_what_the_tool_says")),
    ("c52", Tested("c52_the_debt_file_is_evidence_that_the_report_names_and_the_task_leads_to")),
    ("c53", Tested("c53_a_retest_needs_a_change_and_what_is_left_of_the_budget")),
    ("c60", Tested("c60_the_counts_of_actions_have_a_name_and_six_keys")),
    ("c61", Tested("c61_c62_the_counts_of_a_run_add_up")),
    ("c62", Tested("c61_c62_any_run_builds_reads_back_hashes_and_adds_up")),
    ("c63", Tested("c63_the_rate_is_of_steps_alone")),
    ("c64", Tested("c64_what_happened_what_was_asked_the_task_and_its_box_have_words_of_their_own")),
    ("c65", Tested("c65_every_condition_is_listed_with_its_value_and_its_reason")),
    ("c66", Tested("c66_where_there_is_no_process_the_exit_code_is_made_of_success")),
    ("c67", Tested("c67_what_is_unknown_is_not_met_and_triggered")),
    ("c68", Tested("c68_evidence_is_of_a_kind_or_it_is_not")),
    ("c69", Tested("c69_findings_of_all_tools_have_one_shape")),
    ("c70", Tested("c70_both_printed_forms_of_tsc_say_the_same")),
    ("c71", Tested("c71_printed_words_never_make_a_success")),
    ("c72", Tested("c72_frames_say_which_bytes_came_from_which_stream")),
    ("c73", Tested("c73_logs_hold_the_exact_bytes")),
    ("c74", Tested("c74_the_report_shows_both_ends_of_a_stream_and_says_which_bytes_they_are")),
    ("c75", Tested("c75_a_signature_does_not_change_the_hash_and_a_changed_fact_does")),
    ("c76", Tested("c76_every_file_is_there_hashed_and_named_in_a_manifest_that_verifies")),
    ("c77", Tested("c77_values_are_shown_only_of_the_list_and_of_the_plan")),
    ("c78", Tested("c78_a_run_of_a_wrong_specification_is_sealed_with_every_error_at_the_top")),
    ("c79", Tested("c79_an_agent_is_answered_by_the_sealed_report_of_this_tree_alone")),
    ("c80", Tested("c80_nineteen_everyday_edits_run_at_once_and_fix_says_which_rules_prove_nothing_yet")),
    ("j1", Tested("j1_the_first_row_that_matches_decides")),
    ("j2", Tested("j2_every_captured_output_amounts_to_what_is_claimed")),
    ("j3", Tested("j3_every_cell_of_the_policy_table_holds")),
    ("j4", Tested("j4_the_debt_rows_are_those_of_e4")),
    ("j5", Tested("j5_a_task_is_complete_only_if_everything_holds")),
];

/// The numbers that the decisions leave out.
const UNUSED: &[std::ops::RangeInclusive<u32>] = &[18..=19, 35..=39, 54..=59];

/// Returns the names of all rows, as the page of decisions writes them.
pub(crate) fn numbers() -> impl Iterator<Item = String> {
    ROWS.iter().map(|(row, _)| row.to_uppercase())
}

/// Returns the rows at the beginning of a test's name: `c61_c62_sums` has two.
fn carried(name: &str) -> Vec<&str> {
    let is_row = |part: &&str| match part.split_at_checked(1) {
        Some(("c", number)) => number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()),
        Some(("j", number)) => matches!(number, "1" | "2" | "3" | "4" | "5"),
        Some(_) | None => false,
    };
    name.split('_').take_while(is_row).collect()
}

/// Returns the names of all tests: the functions after `#[test]`, with other attributes between them.
fn tests_of(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        match line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) {
            Some((name, _)) if is_test => {
                found.insert(name);
                is_test = false;
            }
            _ if line == "#[test]" => is_test = true,
            _ if line.starts_with("#[") || line.starts_with("//") => {}
            Some(_) | None => is_test = false,
        }
    }
    found
}

/// Returns the differences between a table and the existing tests.
fn faults(rows: &[(&str, Coverage)], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut by_row: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for test in tests {
        for row in carried(test) {
            by_row.entry(row).or_default().push(test);
        }
    }
    for (row, coverage) in rows {
        let carriers = by_row.remove(row).unwrap_or_default();
        match coverage {
            Tested(test) if !carriers.contains(test) => faults.push(format!("{row}: there is no test `{test}` that carries it")),
            Tested(_) => {}
            NoBehaviour(why) | Awaited(why) if why.len() < 20 => faults.push(format!("{row}: the reason is missing")),
            NoBehaviour(_) | Awaited(_) if !carriers.is_empty() => faults.push(format!("{row}: it is tested: {carriers:?}")),
            NoBehaviour(_) | Awaited(_) => {}
        }
    }
    faults.extend(by_row.iter().map(|(row, tests)| format!("{row}: it is no row of the table, and {tests:?} carry it")));
    faults
}

#[test]
fn every_row_of_the_decisions_is_the_name_of_a_test_or_listed_as_without_behaviour() {
    let mut tests = BTreeSet::new();
    for below in ["src/", "crates/", "tests/"] {
        for file in source_files(below).iter().filter(|file| file.path.ends_with(".rs")) {
            tests.extend(tests_of(&file.text).into_iter().map(str::to_owned));
        }
    }
    let faults = faults(ROWS, &tests);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_row_is_in_the_table_once() {
    let listed: Vec<&str> = ROWS.iter().map(|(row, _)| *row).collect();
    let used = (1..=80).filter(|number| !UNUSED.iter().any(|range| range.contains(number)));
    let expected: Vec<String> =
        used.map(|number| format!("c{number:02}")).chain((1..=5).map(|number| format!("j{number}"))).collect();
    assert_eq!(listed, expected);
}

#[test]
fn what_is_missing_stale_or_unknown_is_found() {
    assert_eq!(carried("c61_c62_sums_of_r5"), ["c61", "c62"]);
    assert_eq!(carried("commands_fail"), [""; 0]);
    assert_eq!(carried("r6_e17_what_is_no_verdict"), [""; 0]);
    let text = "#[test]\n#[should_panic]\nfn c01_a() {\n}\nfn c02_b() {}\nproptest! {\n    #[test]\n    fn c03_c(x in y) {}\n}\n";
    assert_eq!(tests_of(text), BTreeSet::from(["c01_a", "c03_c"]));
    let tests = || BTreeSet::from(["c01_a".to_owned(), "c02_b".to_owned()]);
    let of = |rows: &[(&str, Coverage)]| faults(rows, &tests()).len();
    assert_eq!(of(&[("c01", Tested("c01_a")), ("c02", Tested("c02_b"))]), 0);
    assert_eq!(of(&[("c01", Tested("c01_gone")), ("c02", Tested("c02_b"))]), 1);
    assert_eq!(of(&[("c01", Tested("c02_b")), ("c02", Tested("c02_b"))]), 1, "another row's test");
    assert_eq!(of(&[("c01", NoBehaviour("it is a word about words, no rule"))]), 2, "stale, and one that nobody lists");
    assert_eq!(of(&[("c01", Tested("c01_a")), ("c02", Tested("c02_b")), ("c03", Awaited("soon"))]), 1, "no reason");
}
