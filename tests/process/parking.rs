//! Tests keepers that are started in advance ("parked"). A keeper is the process that starts one action's first process
//! and ends the action's processes. A parked keeper waits until the next action is requested.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;

use proctor_model::{Access, ActionEnd, Place, Sandbox, StopReason};

use super::{Bench, alive_with, until};

/// Returns the children of a process, without zombies.
fn children(process: i32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).expect("it is there");
    listed.split_whitespace().map(|id| id.parse().expect("a number")).filter(|id| !is_zombie(*id)).collect()
}

fn is_zombie(process: i32) -> bool {
    status(process, "State").is_none_or(|state| state.starts_with('Z'))
}

fn status(process: i32, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim_start_matches(':').trim().to_owned()))
}

/// Runs a tool that makes a file as soon as it runs. Then calls `look`, stops the tool, and returns the result of
/// `look`.
fn look_while_running<T: Send + 'static>(bench: &mut Bench, name: &str, look: impl FnOnce(&str) -> T + Send + 'static) -> T {
    let (handle, path, word) = (bench.handle.clone(), bench.path(name), bench.text(name));
    let looker = thread::spawn({
        let word = word.clone();
        move || {
            until("the file that says the tool runs", || path.exists());
            let seen = look(&word);
            handle.stop(StopReason::Interrupted);
            seen
        }
    });
    let ended = bench.run(&["--touch", &word, "--sleep", "60000"]);
    assert!(matches!(ended.end, ActionEnd::Stopped { .. }), "{ended:?}");
    bench.control.forget(StopReason::Interrupted);
    looker.join().expect("no panic")
}

#[test]
fn another_that_follows_is_made_ready_while_the_first_runs_and_is_then_started_there() {
    let mut bench = Bench::new();
    bench.another_follows = true;
    let launcher = bench.launcher.process_id().as_raw();
    let both = look_while_running(&mut bench, "first", move |_| {
        until("the keeper of the next one", || children(launcher).len() == 2);
        children(launcher)
    });
    until("the end of the first one's keeper", || children(launcher).len() == 1);
    let parked = children(launcher)[0];
    assert!(both.contains(&parked), "{parked} was there while the first one ran: {both:?}");
    bench.another_follows = false;
    let parent = look_while_running(&mut bench, "second", |word| status(alive_with(word)[0], "PPid"));
    assert_eq!(parent, Some(parked.to_string()));
    until("the end of everybody", || children(launcher).is_empty());
}

#[test]
fn two_never_lie_over_one_directory_so_the_next_is_made_ready_behind_the_first() {
    let mut bench = Bench::new();
    let (home, scratch) = (bench.path("home"), bench.path("scratch"));
    [&home, &scratch].into_iter().for_each(|path| fs::create_dir(path).expect("made"));
    let place = |path: &Path, access| {
        let metadata = fs::metadata(path).expect("it was made");
        Place { path: path.to_owned(), access, identity: (metadata.dev(), metadata.ino()) }
    };
    let root = bench.root.path().to_owned();
    let places = vec![place(&root, Access::Writable), place(&home, Access::Overlay { scratch })];
    bench.sandbox = Some(Sandbox { places, ..Sandbox::default() });
    bench.another_follows = true;
    let launcher = bench.launcher.process_id().as_raw();
    let while_running = look_while_running(&mut bench, "first", move |_| children(launcher));
    assert_eq!(while_running.len(), 1, "the first one's keeper, and nobody beside it");
    until("the keeper of the next one, alone", || children(launcher).iter().all(|child| !while_running.contains(child)));
    until("the keeper of the next one", || children(launcher).len() == 1);
}
