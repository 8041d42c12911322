//! Recognises commands that start servers, which go on until they are stopped.

use crate::shell::split_words;

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
const OPTIONS_WITH_VALUE: &[&str] = &["--prefix", "--cwd", "-C", "--dir", "-w", "--workspace", "--filter", "-f", "--file", "-p"];

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

/// Returns whether a command starts a server; `None` if it is not known to.
pub fn server_kind(command: &str) -> Option<ServerKind> {
    let words = split_words(command)?;
    // A command in the background gives the prompt back, whatever it starts.
    if words.last().is_some_and(|word| word == "&" || (word.ends_with('&') && !word.ends_with("&&"))) {
        return None;
    }
    let words = last_command(&words);
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    if words.iter().any(|word| ENDING_WORDS.contains(&name(word).as_str())) {
        return None;
    }
    let words = start_of(words);
    let begins = |rows: &[&[&str]]| rows.iter().any(|row| begins_with(&words, row));
    if begins(KNOWN) {
        return Some(ServerKind::Known);
    }
    let does_a_task = words.iter().any(|word| TASK_WORDS.contains(&word.as_str()));
    (begins(POSSIBLE) && !does_a_task).then_some(ServerKind::Possible)
}

/// Returns the words of the last command of a list such as `cd web && npm run dev`.
fn last_command(words: &[String]) -> &[String] {
    let end = words.iter().rposition(|word| word == "&&" || word == ";");
    end.map_or(words, |end| &words[end + 1..])
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
        ] {
            assert_eq!(server_kind(command), Some(ServerKind::Known), "{command}");
        }
        for command in ["node server.js", "cargo run --bin api", "go run ./cmd/api", "make serve", "python app.py"] {
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
