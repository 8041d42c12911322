//! Tests of the judgement of a commit, without any repository or store.

use std::time::Duration;

use super::*;
use proctor_model::{
    ChangedRules, ClaimedResult, Digest, FlakyTests, IsolationLevel, ProofAsked, RunConditions, ToolchainRecord, WeakenedChanges,
};

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

fn policy() -> GatePolicy {
    GatePolicy {
        tasks: vec![TaskId::default_task()],
        checks: Vec::new(),
        isolation: IsolationLevel::ProcessGroup,
        world: World::Closed,
        max_age: None,
        platforms: Vec::new(),
        fresh_caches: false,
        ignored_inputs: Vec::new(),
        signers: None,
        follow: None,
        weakened: WeakenedChanges::Ask,
        flaky: FlakyTests::Refuse,
        prove: ProofAsked::Off,
    }
}

fn origin(number: u64) -> ClaimOrigin {
    let conditions = RunConditions {
        platform: "linux-x86_64".to_owned(),
        directory: Some(String::new()),
        ignored: Some(IgnoredFiles::default()),
        caches: Some(CachesSeen::Kept),
        rewritten: Vec::new(),
        restored: Vec::new(),
        unnamed: Vec::new(),
        left_in_environment: std::collections::BTreeMap::new(),
        toolchains: Vec::new(),
        inputs: None,
        toolchains_looked: None,
        other_programs: Vec::new(),
        rules_changed: None,
        tests_not_run: None,
        head: None,
        fewer_tests: None,
    };
    ClaimOrigin {
        run: RunId::new(NOW, number),
        signer: ClaimSigner::OwnStore,
        level: IsolationLevel::Namespace,
        ended: NOW,
        conditions: Some(conditions),
    }
}

/// Makes a run of the default task with these checks: `+` passed, `-` failed, `~` failed and does not block, `*` passed in a line that does
/// not say more, `?` without a result on this tree.
fn run(number: u64, checks: &[&str]) -> GateClaim {
    with(origin(number), checks)
}

/// Makes a run as [`run`] does, whose results have this origin.
fn with(origin: ClaimOrigin, checks: &[&str]) -> GateClaim {
    let claimed = |check: &&str| {
        let (sign, name) = check.split_at(1);
        let result = |blocking, succeeded| Some(ClaimedResult { blocking, succeeded, origin: Some(origin.clone()) });
        let result = match sign {
            "+" => result(Blocking::Allowed, Some(true)),
            "-" => result(Blocking::Blocks, Some(false)),
            "~" => result(Blocking::Allowed, Some(false)),
            "*" => result(Blocking::Allowed, None),
            _ => None,
        };
        ClaimedCheck { name: name.to_owned(), result }
    };
    let is_red = checks.iter().any(|check| check.starts_with('-'));
    GateClaim {
        run: origin.run.clone(),
        task: TaskId::default_task(),
        plan: Some(Digest::of(b"plan")),
        verdict: Some(if is_red { OverallResult::Failed } else { OverallResult::Passed }),
        exit: Some(if is_red { CommandExit::CodeNeedsWork } else { CommandExit::Proceed }),
        checks: Some(checks.iter().map(claimed).collect()),
        origin,
    }
}

fn judge(policy: &GatePolicy, runs: &[GateClaim]) -> Vec<GateJudgement> {
    judge_by_plans(policy, &BTreeMap::new(), runs)
}

fn judge_by_plans(policy: &GatePolicy, plans: &BTreeMap<TaskId, RequiredPlan>, runs: &[GateClaim]) -> Vec<GateJudgement> {
    let rules = GateRules {
        policy,
        plans,
        now: NOW,
        is_accepted_input: &|path| policy.ignored_inputs.iter().any(|accepted| accepted == path),
        is_tracked_by_trusted: &|path| path.starts_with("tracked"),
        changed_toolchains: &|origin| {
            let toolchains = origin.conditions.iter().flat_map(|conditions| &conditions.toolchains);
            toolchains.filter(|one| one.path.ends_with("changed")).map(|one| one.path.clone()).collect()
        },
    };
    judge_gate(&rules, runs)
}

fn state(policy: &GatePolicy, runs: &[GateClaim]) -> (GateState, Vec<String>) {
    let judged = judge(policy, runs);
    let reasons = judged.iter().flat_map(|judged| &judged.reasons).map(ToString::to_string).collect();
    (overall_state(&judged), reasons)
}

fn word(policy: &GatePolicy, runs: &[GateClaim]) -> &'static str {
    state(policy, runs).0.word()
}

/// Returns the word of the only reason.
fn reason(policy: &GatePolicy, runs: &[GateClaim]) -> &'static str {
    let judged = judge(policy, runs);
    let reasons: Vec<&GateReason> = judged.iter().flat_map(|judged| &judged.reasons).collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    reasons[0].word()
}

/// Returns a run whose checks could read these ignored files.
fn reading(number: u64, paths: &[&str], others: &[&str]) -> GateClaim {
    let owned = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut of = origin(number);
    let ignored = IgnoredFiles { count: paths.len() as u64, paths: owned(paths), others: owned(others) };
    of.conditions.as_mut().expect("they are known").ignored = Some(ignored);
    with(of, &["+a"])
}

#[test]
fn a_run_without_the_projects_tests_proves_nothing_unless_the_policy_names_its_checks() {
    let mut of = origin(1);
    of.conditions.as_mut().expect("they are known").tests_not_run = Some("\"test\" of package.json (mocha)".to_owned());
    let unrun = [with(of, &["+a"])];
    assert_eq!((word(&policy(), &unrun), reason(&policy(), &unrun)), ("not-accepted", "tests-not-run"));
    let named = GatePolicy { checks: vec!["a".to_owned()], ..policy() };
    assert_eq!(word(&named, &unrun), "proved");
}

#[test]
fn the_newest_result_on_the_tree_decides() {
    let (green, red) = (|number| run(number, &["+a", "+b"]), |number| run(number, &["+a", "-b"]));
    assert_eq!(word(&policy(), &[]), "not-tested");
    assert_eq!(word(&policy(), &[green(1)]), "proved");
    assert_eq!(word(&policy(), &[green(2), red(1)]), "proved");
    let (state, reasons) = state(&policy(), &[red(2), green(1)]);
    assert_eq!((state, state.exit().code()), (GateState::Red, 1));
    assert!(reasons[0].ends_with(": b"), "{reasons:?}");
}

/// Returns a run whose checks saw this toolchain.
fn seeing(number: u64, path: &str, content: Option<Digest>) -> GateClaim {
    let mut of = origin(number);
    of.conditions.as_mut().expect("they are known").toolchains =
        vec![ToolchainRecord { path: path.to_owned(), content, every_file: false }];
    with(of, &["+a"])
}

#[test]
fn a_toolchain_that_is_not_hashed_or_is_another_one_now_proves_nothing() {
    let known = Some(Digest::of(b"content"));
    assert_eq!(word(&policy(), &[seeing(1, "~/.pyenv", known)]), "proved");
    assert_eq!(reason(&policy(), &[seeing(1, "~/.pyenv", None)]), "toolchain-not-hashed");
    let changed = seeing(1, "changed", known);
    assert_eq!(reason(&policy(), std::slice::from_ref(&changed)), "toolchain-changed");
    // An older run counts in its place, and somebody else's toolchains are not here to be looked at.
    assert_eq!(word(&policy(), &[seeing(2, "~/.pyenv", None), seeing(1, "~/.pyenv", known)]), "proved");
    let mut attested = changed;
    let signer = ClaimSigner::Allowed { name: "ci".to_owned() };
    attested.origin.signer = signer.clone();
    for check in attested.checks.iter_mut().flatten().filter_map(|check| check.result.as_mut()) {
        check.origin.as_mut().expect("it is known").signer = signer.clone();
    }
    assert_eq!(word(&policy(), &[attested]), "proved");
}

#[test]
fn a_run_without_a_verdict_says_nothing() {
    let silent = GateClaim { verdict: None, ..run(2, &["+a"]) };
    assert_eq!(word(&policy(), std::slice::from_ref(&silent)), "not-tested");
    assert_eq!(word(&policy(), &[silent.clone(), run(1, &["-a"])]), "red");
    let named = GatePolicy { checks: vec!["a".to_owned()], ..policy() };
    assert_eq!(word(&named, &[silent]), "not-tested");
}

#[test]
fn checks_that_a_run_left_out_are_looked_for_in_older_runs_of_the_same_plan() {
    let partial = || run(9, &["+a", "?b"]);
    assert_eq!(word(&policy(), &[partial()]), "not-tested");
    assert_eq!(word(&policy(), &[partial(), run(1, &["?a", "+b"])]), "proved");
    assert_eq!(word(&policy(), &[partial(), run(1, &["?a", "-b"])]), "red");
    let other_plan = GateClaim { plan: Some(Digest::of(b"other")), ..run(1, &["?a", "+b"]) };
    assert_eq!(state(&policy(), &[partial(), other_plan]).1, ["no result on this tree: b"]);
    let unnamed = GateClaim { checks: None, ..run(1, &[]) };
    assert_eq!(reason(&policy(), &[unnamed]), "unnamed-checks");
}

#[test]
fn a_result_that_the_policy_does_not_accept_is_passed_over_and_never_hides_a_failure() {
    let strict = GatePolicy { isolation: IsolationLevel::Landlock, max_age: Some(Duration::from_secs(60)), ..policy() };
    let weak = |number| with(ClaimOrigin { level: IsolationLevel::ProcessGroup, ..origin(number) }, &["+a"]);
    let landlock = with(ClaimOrigin { level: IsolationLevel::Landlock, ..origin(1) }, &["+a"]);
    let ended = |ago| with(ClaimOrigin { ended: Timestamp::from_millis(NOW.as_millis() - ago), ..origin(1) }, &["+a"]);
    let person = GateClaim { exit: Some(CommandExit::PersonNeeded), ..run(1, &["+a"]) };
    for (runs, expected) in [
        (vec![weak(2)], "not-accepted"),
        (vec![weak(2), landlock.clone()], "proved"),
        (vec![ended(60_001)], "not-accepted"),
        (vec![ended(60_000)], "proved"),
        (vec![person], "not-accepted"),
        (vec![weak(3), run(2, &["-a"]), landlock], "not-accepted"),
        (vec![run(3, &["-a"]), weak(2)], "red"),
    ] {
        assert_eq!(word(&strict, &runs), expected, "{:?}", runs.iter().map(|run| run.run.number()).collect::<Vec<_>>());
    }
    assert_eq!(word(&policy(), &[weak(1)]), "proved");
    assert_eq!(word(&policy(), &[ended(60_001)]), "proved");
}

#[test]
fn a_reused_result_counts_as_what_it_was_in_the_run_that_carried_the_check_out() {
    let strict = GatePolicy { isolation: IsolationLevel::Landlock, max_age: Some(Duration::from_secs(60)), ..policy() };
    let weak = ClaimOrigin { level: IsolationLevel::ProcessGroup, ..origin(1) };
    let old = ClaimOrigin { ended: Timestamp::from_millis(NOW.as_millis() - 60_001), ..origin(1) };
    for (from, expected) in [(weak, "weaker"), (old, "expired")] {
        let mut reusing = run(2, &["+a", "+b"]);
        let result = Some(ClaimedResult { blocking: Blocking::Allowed, succeeded: Some(true), origin: Some(from) });
        reusing.checks.as_mut().expect("they are named")[1].result = result;
        assert_eq!(reason(&strict, std::slice::from_ref(&reusing)), expected);
        assert_eq!(word(&policy(), std::slice::from_ref(&reusing)), "proved");
        let only_a = GatePolicy { checks: vec!["a".to_owned()], ..strict.clone() };
        assert_eq!(word(&only_a, &[reusing]), "proved", "the other check was carried out");
    }
    let mut unknown = run(2, &["+a"]);
    unknown.checks.as_mut().expect("they are named")[0].result =
        Some(ClaimedResult { blocking: Blocking::Allowed, succeeded: Some(true), origin: None });
    assert_eq!(reason(&policy(), &[unknown]), "unknown-origin");
}

#[test]
fn an_open_world_proves_nothing_unless_the_policy_accepts_it_and_other_unnamed_files_are_a_condition() {
    let reading = |channel: &str| {
        let mut origin = origin(1);
        origin.conditions.as_mut().expect("they are known").unnamed = vec![channel.to_owned()];
        with(origin, &["+a"])
    };
    let open = [reading("open world: all files of the user")];
    assert_eq!(reason(&policy(), &open), "open-world");
    assert_eq!(word(&GatePolicy { world: World::Open, ..policy() }, &open), "proved");
    let judged = judge(&policy(), &[reading("files that no digest names: ~/.aws (`sandbox.visible`)")]);
    assert_eq!((judged[0].state, &judged[0].unnamed[..]), (GateState::Proved, &["~/.aws (`sandbox.visible`)".to_owned()][..]));
    // A run of an earlier version says nothing of the world, and stands as before.
    assert_eq!(word(&policy(), &[reading("reading the user's files that are not hidden")]), "proved");
}

#[test]
fn a_users_own_settings_of_a_tool_are_a_condition() {
    let mut of = origin(1);
    let seen = |path: &str| ToolchainRecord { path: path.to_owned(), content: Some(Digest::of(b"1")), every_file: true };
    of.conditions.as_mut().expect("they are known").toolchains = vec![seen("~/.cargo/bin"), seen("~/.cargo/config.toml")];
    let judged = judge(&policy(), &[with(of, &["+a"])]);
    assert_eq!((judged[0].state, &judged[0].also_read[..]), (GateState::Proved, &["~/.cargo/config.toml".to_owned()][..]));
}

#[test]
fn changed_rules_prove_nothing() {
    let mut origin = origin(1);
    let changed = ChangedRules { rules: Digest::of(b"rules"), changed: vec!["a: timeout".to_owned()], lacks_files: false };
    origin.conditions.as_mut().expect("they are known").rules_changed = Some(changed);
    assert_eq!(reason(&policy(), &[with(origin, &["+a"])]), "changed-rules");
}

#[test]
fn ignored_files_that_checks_could_read_are_named_and_prove_nothing_unless_they_are_accepted() {
    assert_eq!(reason(&policy(), &[reading(1, &[".env", "lib/x.py"], &[])]), "untracked-inputs");
    let some = GatePolicy { ignored_inputs: vec![".env".to_owned()], ..policy() };
    let (not_accepted, reasons) = state(&some, &[reading(1, &[".env", "lib/x.py"], &[])]);
    assert!(not_accepted == GateState::NotAccepted && reasons[0].ends_with(": `lib/x.py`"), "{reasons:?}");
    let judged = judge(&some, &[reading(1, &[".env"], &["node_modules/"])]);
    assert_eq!(
        (judged[0].state, &judged[0].also_read[..]),
        (GateState::Proved, &[".env".to_owned(), "node_modules/".to_owned()][..])
    );
    assert_eq!(
        word(&policy(), &[reading(2, &[".env"], &[]), run(1, &["+a"])]),
        "proved",
        "an older run read nothing of the kind"
    );
    // What the trusted commit has is never accepted, not even among installed packages.
    let every = GatePolicy { ignored_inputs: vec!["tracked.py".to_owned()], ..policy() };
    assert_eq!(reason(&every, &[reading(1, &["tracked.py"], &[])]), "newly-ignored");
    assert_eq!(reason(&policy(), &[reading(1, &[], &["tracked/"])]), "newly-ignored");
    // What is not known is no success.
    let mut more = reading(1, &[], &[]);
    let unknown = |claim: &mut GateClaim, change: &dyn Fn(&mut ClaimOrigin)| {
        let checks = claim.checks.iter_mut().flatten().filter_map(|check| check.result.as_mut()?.origin.as_mut());
        checks.chain([&mut claim.origin]).for_each(change);
    };
    unknown(&mut more, &|origin| {
        let conditions = origin.conditions.as_mut().expect("they are known");
        conditions.ignored = Some(IgnoredFiles { count: 1, ..IgnoredFiles::default() });
    });
    assert_eq!(reason(&policy(), &[more]), "untracked-inputs");
    let mut older = run(1, &["+a"]);
    unknown(&mut older, &|origin| origin.conditions = None);
    assert_eq!(reason(&policy(), &[older]), "unknown-inputs");
}

#[test]
fn platforms_are_required_each_for_itself_and_caches_may_have_to_be_fresh() {
    let on = |number, platform: &str, checks: &[&str]| {
        let mut of = origin(number);
        of.conditions.as_mut().expect("they are known").platform = platform.to_owned();
        with(of, checks)
    };
    let both = GatePolicy { platforms: vec!["linux-x86_64".to_owned(), "linux-aarch64".to_owned()], ..policy() };
    let (state, reasons) = state(&both, &[on(1, "linux-x86_64", &["+a"])]);
    assert_eq!(
        (state, &reasons[..]),
        (GateState::NotTested, &["on linux-aarch64: no run on this tree has a result".to_owned()][..])
    );
    assert_eq!(word(&both, &[on(2, "linux-aarch64", &["+a"]), on(1, "linux-x86_64", &["+a"])]), "proved");
    assert_eq!(word(&both, &[on(2, "linux-aarch64", &["-a"]), on(1, "linux-x86_64", &["+a"])]), "red");
    let fresh = GatePolicy { fresh_caches: true, ..policy() };
    assert_eq!(reason(&fresh, &[run(1, &["+a"])]), "kept-caches");
    for (caches, expected) in [(Some(CachesSeen::Fresh), "proved"), (None, "not-accepted")] {
        let mut of = origin(1);
        of.conditions.as_mut().expect("they are known").caches = caches;
        assert_eq!(word(&fresh, &[with(of, &["+a"])]), expected);
    }
}

#[test]
fn a_stranger_proves_nothing_and_hides_nothing() {
    let strange = |number| ClaimOrigin { signer: ClaimSigner::NotAllowed { key: "ab".to_owned() }, ..origin(number) };
    assert_eq!(reason(&policy(), &[with(strange(1), &["+a"])]), "foreign");
    assert_eq!(word(&policy(), &[with(strange(1), &["-a"])]), "not-tested");
    assert_eq!(word(&policy(), &[with(strange(2), &["+a"]), run(1, &["-a"])]), "red");
    assert_eq!(word(&policy(), &[with(strange(2), &["-a"]), run(1, &["+a"])]), "proved");
    let allowed = ClaimOrigin { signer: ClaimSigner::Allowed { name: "ci".to_owned() }, ..origin(1) };
    assert_eq!(word(&policy(), &[with(allowed, &["+a"])]), "proved");
    // A result that was taken over from a stranger is a stranger's.
    let mut reusing = run(2, &["+a"]);
    reusing.checks.as_mut().expect("they are named")[0].result.as_mut().expect("it has one").origin = Some(strange(1));
    assert_eq!(reason(&policy(), &[reusing]), "foreign");
}

#[test]
fn named_checks_and_tasks_are_required_each_for_itself() {
    let named = GatePolicy { checks: vec!["a".to_owned(), "b".to_owned()], ..policy() };
    assert_eq!(word(&named, &[run(2, &["+a", "?b"]), run(1, &["?a", "+b", "-c"])]), "proved");
    assert_eq!(word(&named, &[run(2, &["+a"])]), "not-tested");
    assert_eq!(word(&named, &[run(2, &["+a", "-b"])]), "red");
    let other = TaskId::try_from("T117").unwrap();
    let both = GatePolicy { tasks: vec![TaskId::default_task(), other.clone()], ..policy() };
    assert_eq!(word(&both, &[run(1, &["+a"])]), "not-tested");
    assert_eq!(word(&both, &[GateClaim { task: other, ..run(2, &["+x"]) }, run(1, &["+a"])]), "proved");
    assert_eq!(overall_state(&[]), GateState::NotTested, "unknown is never success");
}

#[test]
fn a_run_with_another_plan_than_the_commit_has_proves_nothing() {
    let required = |checks: &[&str], digests: &[&[u8]]| {
        let checks = checks.iter().map(ToString::to_string).collect();
        let plan = RequiredPlan { checks, digests: digests.iter().map(|bytes| Digest::of(bytes)).collect() };
        BTreeMap::from([(TaskId::default_task(), plan)])
    };
    let words = |policy: &GatePolicy, plans: &BTreeMap<TaskId, RequiredPlan>, runs: &[GateClaim]| {
        let judged = judge_by_plans(policy, plans, runs);
        let reasons: Vec<String> = judged.iter().flat_map(|one| &one.reasons).map(|reason| reason.word().to_owned()).collect();
        (overall_state(&judged).word(), reasons.join(" "))
    };
    let of = |state, reason: &str| (state, reason.to_owned());
    let two = required(&["a", "b"], &[]);
    assert_eq!(words(&policy(), &two, &[run(1, &["+a"])]), of("not-tested", "checks-not-run"));
    assert_eq!(words(&policy(), &two, &[run(2, &["+a"]), run(1, &["+a", "+b", "+c"])]), of("proved", ""));
    assert_eq!(words(&policy(), &BTreeMap::new(), &[run(1, &[])]), of("not-tested", "not-run"), "no check is no success");
    let other = required(&["a"], &[b"other", b"third"]);
    assert_eq!(words(&policy(), &other, &[run(1, &["+a"])]), of("not-tested", "other-plan"));
    let named = GatePolicy { checks: vec!["a".to_owned()], ..policy() };
    assert_eq!(words(&named, &other, &[run(1, &["+a"])]), of("not-tested", "other-plan"));
    assert_eq!(words(&named, &required(&["a"], &[b"other", b"plan"]), &[run(1, &["+a"])]), of("proved", ""));
    let unknown = GateClaim { plan: None, ..run(1, &["+a"]) };
    assert_eq!(words(&policy(), &other, &[unknown]), of("not-tested", "other-plan"));
    assert_eq!(words(&policy(), &other, &[run(1, &["-a"])]), of("red", "failed"), "a failure is one");
}

#[test]
fn a_check_that_the_policy_names_needs_a_success_and_others_pass_with_warnings() {
    let judged = judge(&policy(), &[run(1, &["+a", "~b"])]);
    assert_eq!((judged[0].state, &judged[0].warnings), (GateState::Proved, &vec!["b".to_owned()]));
    assert_eq!(judge(&policy(), &[run(2, &["+a", "?b"]), run(1, &["?a", "~b"])])[0].warnings, ["b"]);
    let named = GatePolicy { checks: vec!["b".to_owned()], ..policy() };
    assert_eq!(reason(&named, &[run(2, &["~b"]), run(1, &["+b"])]), "failed");
    assert_eq!(reason(&named, &[run(2, &["*b"])]), "unknown-success");
    assert_eq!(word(&named, &[run(2, &["*b"])]), "not-accepted");
    assert_eq!(word(&named, &[run(2, &["*b"]), run(1, &["+b"])]), "proved");
    assert_eq!(word(&policy(), &[run(1, &["*b"])]), "proved");
}
