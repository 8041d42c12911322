//! Tests that feed the engine with events. They need no runtime, no disk and no waiting (house style T1).

use super::*;
use crate::event::{Key, OsSignal, SavedContent};
use proctor_model::{Digest, GitOperation, OnDisk, PollReason};
use proctor_tree::TreeHints;

mod approved;
mod asked;
mod busy;
mod last_save;
mod looking;
mod lost_verdicts;
mod repeating;
mod saves;
mod tasks;

impl Engine {
    /// Handles an event. Whenever the engine asks whether saved files changed, the answer is that they did.
    fn handle_as_changed(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        for effect in self.handle(now, event) {
            if let Effect::Compare(_) = effect {
                effects.extend(self.handle(now, Event::Compared(SavedContent::Different)));
            } else {
                effects.push(effect);
            }
        }
        effects
    }
}

fn engine() -> Engine {
    engine_with(OnChange::Restart)
}

fn engine_with(on_change: OnChange) -> Engine {
    let mut engine = Engine::new(settings(on_change));
    assert!(is_start(&engine.begin(), TriggerKind::Start));
    assert!(begun(&mut engine, 0).is_empty());
    engine
}

fn settings(on_change: OnChange) -> EngineSettings {
    EngineSettings {
        quiet: Duration::from_millis(20),
        longest_burst: Duration::from_millis(500),
        on_change,
        max_restarts: 3,
        git_wait: Duration::from_secs(5),
        tasks: vec![TaskId::default_task()],
    }
}

fn begun(engine: &mut Engine, at: u64) -> Vec<Effect> {
    engine.handle_as_changed(Moment(at), Event::Begun)
}

/// Saves several files at once. With more than two files, this does not count as one save.
fn save_many(engine: &mut Engine, at: u64, names: &[&str]) -> Vec<Effect> {
    engine.handle_as_changed(Moment(at), Event::Hints(names.iter().map(|name| WatchHint::Saved(path(name))).collect()))
}

fn only(names: &[&str]) -> TreeHints {
    TreeHints::Only(names.iter().map(|name| path(name)).collect())
}

fn path(text: &str) -> TreePath {
    TreePath::try_from(text).expect("a clean path")
}

fn save(engine: &mut Engine, at: u64, name: &str) -> Vec<Effect> {
    engine.handle_as_changed(Moment(at), Event::Hints(vec![WatchHint::Saved(path(name))]))
}

fn tree(text: &str) -> TreeDigest {
    TreeDigest(Digest::of(text.as_bytes()))
}

fn verdict(engine: &mut Engine, at: u64, text: &str, failed: &[&str]) -> Vec<Effect> {
    let failed = failed.iter().map(ToString::to_string).collect();
    engine.handle_as_changed(
        Moment(at),
        Event::Finished(RunFinish::Verdict { tree: tree(text), failed, warned: Vec::new(), paused: false }),
    )
}

fn moved(engine: &mut Engine, at: u64, names: &[&str]) -> Vec<Effect> {
    moved_leaving(engine, at, names, OnDisk::AsTested)
}

fn moved_leaving(engine: &mut Engine, at: u64, names: &[&str], on_disk: OnDisk) -> Vec<Effect> {
    let paths = names.iter().map(|name| path(name)).collect();
    engine.handle_as_changed(Moment(at), Event::Finished(RunFinish::Moved { paths, on_disk }))
}

fn is_start(effects: &[Effect], kind: TriggerKind) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Start(order) if order.trigger.kind == kind))
}

fn starts(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Start(_)))
}

fn stops(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Stop(StopReason::Superseded))
}
