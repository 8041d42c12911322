//! Recognises commands that start servers, which go on until they are stopped.

use proctor_model::split_words;

/// How sure it is that a command starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// The command is known to go on until it is stopped.
    Known,
    /// The command starts a program of the project, which may be a server or may end.
    Possible,
}

/// The first words of commands that start servers.
const KNOWN: &[&[&str]] = &[
    &["npm", "run", "dev"],
    &["npm", "run", "start"],
    &["npm", "run", "serve"],
    &["npm", "run", "preview"],
    &["npm", "start"],
    &["yarn", "dev"],
    &["yarn", "start"],
    &["yarn", "serve"],
    &["yarn", "run", "dev"],
    &["yarn", "run", "start"],
    &["pnpm", "dev"],
    &["pnpm", "start"],
    &["pnpm", "run", "dev"],
    &["pnpm", "run", "start"],
    &["bun", "dev"],
    &["bun", "run", "dev"],
    &["deno", "task", "dev"],
    &["next", "dev"],
    &["next", "start"],
    &["nuxt", "dev"],
    &["nuxi", "dev"],
    &["astro", "dev"],
    &["remix", "dev"],
    &["ng", "serve"],
    &["nx", "serve"],
    &["nx", "dev"],
    &["turbo", "dev"],
    &["turbo", "run", "dev"],
    &["gatsby", "develop"],
    &["gatsby", "serve"],
    &["storybook", "dev"],
    &["start-storybook"],
    &["vue-cli-service", "serve"],
    &["react-scripts", "start"],
    &["webpack", "serve"],
    &["webpack-dev-server"],
    &["vite"],
    &["nodemon"],
    &["ts-node-dev"],
    &["http-server"],
    &["live-server"],
    &["json-server"],
    &["serve"],
    &["flask", "run"],
    &["uvicorn"],
    &["gunicorn"],
    &["hypercorn"],
    &["daphne"],
    &["fastapi", "dev"],
    &["fastapi", "run"],
    &["http.server"],
    &["manage.py", "runserver"],
    &["django-admin", "runserver"],
    &["streamlit", "run"],
    &["rails", "server"],
    &["rails", "s"],
    &["puma"],
    &["rackup"],
    &["php", "artisan", "serve"],
    &["php", "-S"],
    &["symfony", "server:start"],
    &["symfony", "serve"],
    &["cargo", "watch"],
    &["trunk", "serve"],
    &["air"],
    &["dotnet", "watch"],
    &["mvn", "spring-boot:run"],
    &["mvnw", "spring-boot:run"],
    &["gradle", "bootRun"],
    &["gradlew", "bootRun"],
    &["mix", "phx.server"],
    &["caddy", "run"],
    &["docker", "compose", "up"],
    &["docker-compose", "up"],
    &["jekyll", "serve"],
    &["hugo", "server"],
    &["mkdocs", "serve"],
];

/// The first words of commands that start a program of the project, which may be a server.
const POSSIBLE: &[&[&str]] = &[
    &["node"],
    &["tsx"],
    &["ts-node"],
    &["bun"],
    &["deno", "run"],
    &["python"],
    &["cargo", "run"],
    &["go", "run"],
    &["dotnet", "run"],
    &["java"],
    &["ruby"],
    &["php"],
    &["npm", "run"],
    &["yarn", "run"],
    &["pnpm", "run"],
    &["make"],
    &["docker", "run"],
    &["podman", "run"],
];

/// Words in front of a command that run it: the words that follow them are the command.
const RUNNERS: &[&[&str]] = &[
    &["npx"],
    &["bunx"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["yarn", "exec"],
    &["yarn", "dlx"],
    &["poetry", "run"],
    &["pipenv", "run"],
    &["uv", "run"],
    &["pdm", "run"],
    &["hatch", "run"],
    &["rye", "run"],
    &["bundle", "exec"],
    &["python", "-m"],
    &["cross-env"],
    &["env"],
    &["exec"],
    &["nohup"],
    &["time"],
    &["dotenv", "--"],
];

/// Options with a value that may stand between a program and its first word, such as `npm --prefix web run dev`.
const OPTIONS_WITH_VALUE: &[&str] =
    &["--prefix", "--cwd", "-C", "--dir", "-w", "--workspace", "--filter", "-f", "--file", "-p", "--app", "-A"];

/// The tables look at this many words of a command.
const MOST_FIRST_WORDS: usize = 3;

/// Words with which a server's program does something else and ends, such as `vite build`.
const ENDING_WORDS: &[&str] = &[
    "build",
    "optimize",
    "--help",
    "--version",
    "-d",
    "--detach",
    "--wait",
    "--no-start",
    "--abort-on-container-exit",
    "--exit-code-from",
    "--daemon",
    "-D",
    "--check-config",
];

/// Words with which a program of the project does something that ends.
const TASK_WORDS: &[&str] = &["install", "ci", "migrate", "seed", "test", "lint", "compile", "check", "format"];

/// Programs that run a script: the word behind `-c` is the command.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ash"];

/// Options with which `concurrently` ends its commands as soon as one of them has ended.
const ENDING_WITH_ANOTHER: &[&str] = &["-k", "--kill-others", "--kill-others-on-fail"];

/// Programs that ask whether a server answers, by which a server in front of them is recognised.
const ASKING_PROGRAMS: &[&str] =
    &["curl", "wget", "wait-on", "nc", "http", "httpie", "pg_isready", "wait-for-it", "wait-for-it.sh"];

/// Returns whether a command starts a server; `None` if it is not known to.
pub fn server_kind(command: &str) -> Option<ServerKind> {
    kind_of_words(&split_words(command)?)
}

/// Returns whether a command asks whether a server answers.
pub fn asks_a_server(command: &str) -> bool {
    script_words(command).iter().any(|word| ASKING_PROGRAMS.contains(&file_name(word)))
}

/// Returns the words of a command, or of the script that it gives a shell to run: `sh -c "npx vite"`.
pub fn script_words(command: &str) -> Vec<String> {
    let words = split_words(command).unwrap_or_default();
    match script_of(&words) {
        Some(script) => script_words(script),
        None => words,
    }
}

fn kind_of_words(words: &[String]) -> Option<ServerKind> {
    let words = &separated(words);
    // A command in the background gives the prompt back, whatever it starts, unless the shell then waits for it.
    let words = match words.iter().rposition(|word| word == "&") {
        Some(end) if words[end + 1..] == ["wait"] => &words[..end],
        _ => &words[..],
    };
    let words = last_command(words);
    if let Some(script) = script_of(words) {
        return server_kind(script);
    }
    let written = words;
    let words = start_of(written);
    if let Some(limited) = words.first().filter(|first| *first == "timeout").and_then(|_| behind_timeout(&words)) {
        // It ends, though not by itself: whether that is what is wanted, only a person knows.
        return kind_of_words(limited).map(|_| ServerKind::Possible);
    }
    if words.first().is_some_and(|first| first == "concurrently") {
        return kind_of_all(&words[1..]);
    }
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    if written.iter().any(|word| ENDING_WORDS.contains(&name(word).as_str())) {
        return None;
    }
    let begins = |rows: &[&[&str]]| rows.iter().any(|row| begins_with(&words, row));
    if begins(KNOWN) {
        return Some(ServerKind::Known);
    }
    let does_a_task = words.iter().any(|word| TASK_WORDS.contains(&word.as_str()));
    (begins(POSSIBLE) && !does_a_task).then_some(ServerKind::Possible)
}

/// Returns the words with each `;` and `&` behind a word as a word of its own.
fn separated(words: &[String]) -> Vec<String> {
    let mut separated = Vec::with_capacity(words.len());
    for word in words {
        let end = [';', '&'].into_iter().find_map(|end| Some((word.strip_suffix(end)?, end)));
        match end {
            Some((rest, end)) if !rest.is_empty() && !rest.ends_with(['&', '|', ';', '>']) => {
                separated.extend([rest.to_owned(), end.to_string()]);
            }
            _ => separated.push(word.clone()),
        }
    }
    separated
}

/// Returns the words of the last command of a list such as `cd web && npm run dev`. A `&` at the end leaves none.
fn last_command(words: &[String]) -> &[String] {
    let is_end = |word: &String| ["&&", ";", "&"].contains(&word.as_str());
    let words = match words.split_last() {
        Some((last, rest)) if last == ";" => rest,
        Some(_) | None => words,
    };
    let end = words.iter().rposition(is_end);
    end.map_or(words, |end| &words[end + 1..])
}

/// Returns the script of `sh -c SCRIPT`, whatever options stand beside.
fn script_of(words: &[String]) -> Option<&str> {
    let words: &[String] = &words[words.iter().take_while(|word| is_assignment(word)).count()..];
    let (shell, rest) = words.split_first()?;
    if !SHELLS.contains(&file_name(shell)) {
        return None;
    }
    let is_script = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let option = rest.iter().position(is_script)?;
    rest.get(option + 1).map(String::as_str)
}

/// Returns the command behind `timeout`, its options and its duration.
fn behind_timeout(words: &[String]) -> Option<&[String]> {
    let mut at = 1;
    while words.get(at)?.starts_with('-') {
        at += if ["-k", "-s", "--kill-after", "--signal"].contains(&words[at].as_str()) { 2 } else { 1 };
    }
    words.get(at + 1..).filter(|rest| !rest.is_empty())
}

/// Returns the kind of a call of `concurrently`, each word of which is a command: `npm:dev` is `npm run dev`.
fn kind_of_all(words: &[String]) -> Option<ServerKind> {
    let ends = words.iter().any(|word| ENDING_WITH_ANOTHER.contains(&word.as_str()));
    let commands = words.iter().filter(|word| !word.starts_with('-'));
    let kinds: Vec<Option<ServerKind>> = commands
        .map(|word| match word.strip_prefix("npm:") {
            Some(script) => server_kind(&format!("npm run {script}")),
            None => server_kind(word),
        })
        .collect();
    let is_known = |kind: &Option<ServerKind>| *kind == Some(ServerKind::Known);
    let goes_on = if ends { !kinds.is_empty() && kinds.iter().all(is_known) } else { kinds.iter().any(is_known) };
    if goes_on {
        return Some(ServerKind::Known);
    }
    kinds.iter().any(Option::is_some).then_some(ServerKind::Possible)
}

/// Returns the words of a command without variables, runners and options in front of its first words.
fn start_of(words: &[String]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().skip_while(|word| is_assignment(word)).cloned().collect();
    if let Some(first) = words.first_mut() {
        *first = file_name(first).trim_end_matches(".cmd").trim_end_matches(".exe").to_owned();
        if first == "python3" || first == "py" {
            *first = "python".to_owned();
        }
    }
    let runner = RUNNERS.iter().find(|runner| begins_with(&words, runner) && words.len() > runner.len());
    if let Some(runner) = runner {
        let rest = words.split_off(runner.len());
        return start_of(&rest.into_iter().skip_while(|word| word.starts_with('-')).collect::<Vec<_>>());
    }
    // `python manage.py runserver`: the script is the program.
    if words.first().is_some_and(|first| first == "python") && words.get(1).is_some_and(|word| file_name(word) == "manage.py") {
        words.remove(0);
        words[0] = "manage.py".to_owned();
    }
    // `yarn workspace web start` is `yarn start` of a part of the project.
    if begins_with(&words, &["yarn", "workspace"]) && words.len() > 3 {
        words.drain(1..=2);
    }
    // Options may stand between the first words: `docker compose -f FILE up`.
    let mut at = 1;
    while at < words.len().min(MOST_FIRST_WORDS) {
        let takes_value = OPTIONS_WITH_VALUE.contains(&words[at].as_str()) && at + 1 < words.len();
        if takes_value || (words[at].starts_with("--") && words[at].len() > 2) {
            words.drain(at..=at + usize::from(takes_value));
        } else {
            at += 1;
        }
    }
    if let Some(word) = words.get_mut(1).filter(|word| *word == "run-script") {
        *word = "run".to_owned();
    }
    words
}

fn begins_with(words: &[String], row: &[&str]) -> bool {
    words.len() >= row.len() && row.iter().zip(words).all(|(want, word)| want == word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_go_on_are_told_from_those_that_end() {
        for command in [
            "npm run dev",
            "npm --prefix web run dev",
            "npm run dev -- --port 4173",
            "cd web && npm run dev",
            "PORT=3000 npm start",
            "npx vite",
            "npx --yes serve dist",
            "pnpm --filter web dev",
            "poetry run uvicorn app:app --port 8000",
            "uv run fastapi dev",
            "python3 -m http.server 8080",
            "python -m uvicorn main:app",
            "python manage.py runserver 8000",
            "./bin/rails server",
            "php -S 127.0.0.1:8000",
            "docker compose up",
            "docker compose -f compose.yml up",
            "./gradlew bootRun",
            "cargo watch -x run",
            "npm run dev -- --mode test",
            "sh -c 'npm run dev'",
            "bash -lc \"cd web && npm run dev\"",
            "bash -o pipefail -c 'cd web; npm run dev'",
            "npm run-script dev",
            "npx concurrently \"npm:dev\" \"npm run lint\"",
            "npx concurrently -k 'npm run dev' 'npx vite'",
            "flask --app x run",
            "yarn workspace web start",
            "npx nx serve web",
            "turbo dev",
            "npx gatsby develop",
            "symfony serve --no-tls",
            "storybook dev -p 6006",
            "cd web; npm run dev;",
            "npm run dev & wait",
        ] {
            assert_eq!(server_kind(command), Some(ServerKind::Known), "{command}");
        }
        for command in [
            "node server.js",
            "cargo run --bin api",
            "go run ./cmd/api",
            "make serve",
            "python app.py",
            "timeout 60 npm run dev",
            "timeout -k 5 60 npm run dev",
            "docker run -p 80:80 web",
        ] {
            assert_eq!(server_kind(command), Some(ServerKind::Possible), "{command}");
        }
        for command in [
            "npx vite build",
            "docker compose up -d",
            "docker compose up --detach",
            "docker compose up --exit-code-from=tests",
            "next build",
            "npm ci",
            "vite --version",
            "npm run dev &",
            "npm run dev&",
            "npm run dev & sleep 5",
            "bash -c 'npm run dev & npx wait-on tcp:3000'",
            "docker run -d -p 80:80 web",
            "timeout 60 make test",
            "npx concurrently 'npm run build' 'npm ci'",
            "pytest -q",
            "pnpm install --frozen-lockfile",
            "python manage.py migrate",
            "make test",
            "cargo build",
            "",
            "npm run build && npx next build",
        ] {
            assert_eq!(server_kind(command), None, "{command}");
        }
    }
}
