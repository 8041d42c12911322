//! Tests with the real OpenCode against a scripted model on loopback: its plugin sends what proctor says as the next prompt.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{claims, registered};
use crate::common::{Project, opencode_modules, proctor, repository};
use crate::daemon::start_serving;

/// How long a whole conversation may take.
const CONVERSATION: Duration = Duration::from_secs(180);

/// Starts a model that speaks the protocol of chat completions as far as OpenCode needs it: each step writes `code.txt` and says something.
/// Returns its port and the bodies of its requests.
fn model(project: &Project, steps: &'static [(&'static str, &'static str)]) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let port = listener.local_addr().expect("it is bound").port();
    let (sender, requests) = channel();
    let code = project.path().join("code.txt");
    // The thread ends with the test's process.
    thread::spawn(move || {
        let mut steps = steps.iter();
        for stream in listener.incoming().flatten() {
            let _client_gone = serve(stream, &mut steps, &code, &sender);
        }
    });
    (port, requests)
}

fn serve(
    mut stream: TcpStream,
    steps: &mut impl Iterator<Item = &'static (&'static str, &'static str)>,
    code: &Path,
    sender: &Sender<String>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked: Value = serde_json::from_slice(&body)?;
    // The title of a session is asked for without tools.
    let mut says = "A title";
    if asked["tools"].is_array() {
        let _test_is_over = sender.send(asked.to_string());
        says = "I have nothing to add.";
        if let Some((text, said)) = steps.next() {
            fs::write(code, text)?;
            says = said;
        }
    }
    let chunk = |delta: Value, end: Value| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": end}]);
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choice});
        format!("data: {chunk}\n\n")
    };
    let text =
        chunk(json!({"role": "assistant", "content": says}), Value::Null) + &chunk(json!({}), json!("stop")) + "data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{text}", text.len()).as_bytes())
}

/// Lets OpenCode answer one prompt and go on until it has said as much as is wanted.
#[track_caller]
fn opencode(project: &Project, port: u16, wanted: usize) {
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"m": {"name": "m"}},
        "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "none"}});
    let settings = json!({"autoupdate": false, "share": "disabled", "provider": {"local": provider}, "model": "local/m",
        "small_model": "local/m"});
    let directory = project.root().join("home/.config/opencode");
    fs::create_dir_all(&directory).expect("the home is ours");
    fs::write(directory.join("opencode.json"), settings.to_string()).expect("the home is ours");
    let own = proctor().parent().unwrap_or(Path::new("/")).display().to_string();
    let program = opencode_modules().join("opencode-linux-x64-baseline/bin/opencode").display().to_string();
    let script = repository().join("tests/hook/opencode.mjs").display().to_string();
    let words = [script, program, project.path().display().to_string(), "Rename it.".to_owned(), wanted.to_string()];
    let conversation = project
        .command(Path::new("node"), words)
        .env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("XDG_CONFIG_HOME", project.root().join("home/.config"))
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .bound(CONVERSATION)
        .any_status();
    assert_eq!(conversation.status, 0, "{}\n{}", conversation.stdout, conversation.stderr);
}

#[test]
#[ignore = "wide tier"]
fn a_lie_is_sent_back_as_the_next_prompt_and_the_mended_truth_passes() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    project.proctor(["hook", "install", "opencode"]).success();
    let (port, requests) =
        model(&project, &[("bad\n", "Renamed it. All tests pass."), ("good again\n", "Mended. All tests pass.")]);
    opencode(&project, port, 2);
    let asked: Vec<String> = requests.try_iter().collect();
    assert_eq!(asked.len(), 2, "one block, and then the truth passes: {asked:?}");
    assert!(asked[1].contains("your message says"), "{}", asked[1]);
    assert_eq!(claims(&project).len(), 1);
    project.proctor(["hook", "uninstall", "opencode"]).success();
    daemon.interrupt();
}
