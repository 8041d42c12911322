//! Which options of a check's command stay in the command that runs one test alone.
//!
//! Without `--doctest-modules` or a configuration file, the test may not be found or may pass. Options that choose other tests, run them
//! in parallel or write reports are left out. Where an option is not known, it is not known either whether the word behind it is its
//! value, so there is no command.

use proctor_model::{Tool, has_word};

/// The options of one test runner, each list as one text with a space between two options.
struct RunnerOptions {
    tool: Tool,
    /// Options without a value that stay.
    kept_flags: &'static str,
    /// Options with a value that stay.
    kept_valued: &'static str,
    /// Options without a value, or with one behind `=` only, that are left out.
    dropped_flags: &'static str,
    /// Options with a value that are left out.
    dropped_valued: &'static str,
}

const RUNNERS: &[RunnerOptions] = &[
    RunnerOptions {
        tool: Tool::Pytest,
        kept_flags: "--cache-clear --create-db --disable-warnings --doctest-continue-on-failure --doctest-ignore-import-errors \
            --doctest-modules --forked --full-trace --keep-duplicates --migrations --no-migrations --no-showlocals --noconftest \
            --nomigrations --reuse-db --runxfail --showlocals --strict --strict-config --strict-markers -l -s",
        kept_valued: "--assert --asyncio-mode --basetemp --capture --color --confcutdir --config-file --dc --doctest-glob \
            --doctest-report --ds --hypothesis-profile --hypothesis-seed --import-mode --log-cli-level --log-level \
            --override-ini --pythonwarnings --rootdir --tb --timeout --timeout-method -W -c -m -o -p",
        dropped_flags: "--collect-in-virtualenv --continue-on-collection-errors --cov --cov-append --cov-branch --exitfirst \
            --failed-first --ff --last-failed --lf --new-first --nf --no-cov --no-cov-on-fail --no-header --no-summary --pyargs \
            --quiet --stepwise --stepwise-skip --sw --sw-skip --verbose -q -v -x",
        dropped_valued: "--cov-config --cov-context --cov-fail-under --cov-report --deselect --dist --durations --durations-min \
            --ignore --ignore-glob --junit-prefix --junit-xml --junitprefix --junitxml --last-failed-no-failures --lfnf \
            --maxfail --maxprocesses --numprocesses --only-rerun --reruns --reruns-delay --retries --retry-delay --show-capture \
            --verbosity -k -n -r",
    },
    RunnerOptions {
        tool: Tool::Jest,
        kept_flags: "--automock --ci --clearMocks --detectOpenHandles --forceExit --injectGlobals --no-cache --randomize \
            --resetMocks --resetModules --restoreMocks --runInBand -i",
        kept_valued: "--config --env --preset --rootDir --seed --testEnvironment --testTimeout -c",
        dropped_flags: "--bail --collectCoverage --color --colors --coverage --findRelatedTests --json --lastCommit \
            --logHeapUsage --no-color --no-coverage --no-watchman --onlyChanged --onlyFailures --passWithNoTests \
            --runTestsByPath --silent --updateSnapshot --verbose --watchAll -f -o -u",
        dropped_valued: "--changedSince --coverageDirectory --maxConcurrency --maxWorkers --outputFile --shard \
            --testNamePattern --workerIdleMemoryLimit -t -w",
    },
    RunnerOptions {
        tool: Tool::Vitest,
        kept_flags: "--allowOnly --dom --globals --isolate --no-isolate --no-file-parallelism --typecheck",
        kept_valued: "--config --dir --environment --exclude --hookTimeout --mode --pool --project --root --testTimeout -c -r",
        dropped_flags: "--clearScreen --color --coverage --hideSkippedTests --logHeapUsage --no-color --passWithNoTests --run \
            --silent --update --watch -u",
        dropped_valued: "--bail --changed --maxConcurrency --maxWorkers --minWorkers --outputFile --reporter --retry --shard \
            --testNamePattern -t",
    },
    RunnerOptions {
        tool: Tool::NodeTest,
        kept_flags: "--enable-source-maps --experimental-strip-types --experimental-test-module-mocks \
            --experimental-transform-types --experimental-vm-modules --experimental-wasm-modules --no-warnings \
            --preserve-symlinks --test-force-exit --test-only --throw-deprecation",
        kept_valued: "--conditions --env-file --experimental-loader --import --loader --require --test-timeout -C -r",
        dropped_flags: "--experimental-test-coverage --test --watch",
        dropped_valued: "--test-concurrency --test-name-pattern --test-reporter --test-reporter-destination --test-shard \
            --test-skip-pattern",
    },
    RunnerOptions {
        tool: Tool::GoTest,
        kept_flags: "-a -asan -msan -race -short -trimpath",
        kept_valued: "-C -asmflags -buildmode -compiler -count -cpu -exec -gccgoflags -gcflags -ldflags -mod -modfile -overlay \
            -pkgdir -tags -timeout -toolexec",
        dropped_flags: "-cover -failfast -json -v -x",
        dropped_valued: "-covermode -coverpkg -coverprofile -outputdir -p -parallel -run -shuffle -skip -vet",
    },
    RunnerOptions {
        tool: Tool::Mocha,
        kept_flags: "--allow-uncaught --async-only --check-leaks --exit --full-trace --no-config -A",
        kept_valued: "--config --file --import --loader --package --require --timeout --ui -r -t -u",
        dropped_flags: "--bail --color --forbid-only --forbid-pending --parallel --recursive -b -p",
        dropped_valued: "--exclude --extension --fgrep --grep --ignore --jobs --reporter --reporter-option --retries --slow \
            --spec -R -f -g -j -s",
    },
    RunnerOptions {
        tool: Tool::Playwright,
        kept_flags: "--ignore-snapshots --no-deps",
        kept_valued: "--browser --config --project --timeout --tsconfig -c",
        dropped_flags: "--fail-on-flaky-tests --forbid-only --fully-parallel --pass-with-no-tests --quiet -x",
        dropped_valued: "--global-timeout --grep --grep-invert --max-failures --output --repeat-each --reporter --retries \
            --shard --trace --workers -g -j",
    },
    RunnerOptions {
        tool: Tool::BunTest,
        kept_flags: "--only --smol",
        kept_valued: "--conditions --config --cwd --env-file --preload --timeout -c -r",
        dropped_flags: "--concurrent --coverage --pass-with-no-tests --randomize",
        dropped_valued: "--bail --coverage-dir --coverage-reporter --reporter --reporter-outfile --rerun-each --seed \
            --test-name-pattern -t",
    },
    RunnerOptions {
        tool: Tool::DenoTest,
        kept_flags: "--allow-all --allow-env --allow-ffi --allow-import --allow-net --allow-read --allow-run --allow-sys \
            --allow-write --cached-only --frozen --no-check --no-lock --no-npm --no-prompt --no-remote --trace-leaks -A -E -N \
            -R -S -W",
        kept_valued: "--cert --config --env-file --import-map --location --lock --preload -c",
        dropped_flags: "--clean --coverage --doc --fail-fast --parallel --permit-no-files --quiet -q",
        dropped_valued: "--filter --ignore --junit-path --reporter --seed --shuffle",
    },
];

/// What becomes of an option, and whether the next word is its value.
#[derive(Debug, Clone, Copy)]
enum OptionFate {
    Flag { is_kept: bool },
    Valued { is_kept: bool },
}

/// Returns the options of a test runner's arguments that stay if one test runs alone; `None` if an argument is an option that is not
/// known.
pub(super) fn kept_options(tool: Tool, arguments: &[&str]) -> Option<Vec<String>> {
    let Some(runner) = RUNNERS.iter().find(|runner| runner.tool == tool) else { return Some(Vec::new()) };
    let mut kept = Vec::new();
    let mut words = arguments.iter().copied().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match runner.option_fate(name) {
            Some(OptionFate::Flag { is_kept } | OptionFate::Valued { is_kept }) if value.is_some() => {
                kept.extend(is_kept.then(|| word.to_owned()));
            }
            Some(OptionFate::Flag { is_kept }) => kept.extend(is_kept.then(|| word.to_owned())),
            Some(OptionFate::Valued { is_kept }) => {
                let value = words.next()?;
                kept.extend([word, value].into_iter().filter(|_| is_kept).map(str::to_owned));
            }
            // `--option=value` is the whole of an option, also of one that is not listed.
            None if value.is_some() && word.starts_with("--") => {
                // An option below one that is left out, such as `--coverage.reporter=text`, is left out too.
                let parent = name.split_once('.').and_then(|(parent, _)| runner.option_fate(parent));
                let is_dropped =
                    matches!(parent, Some(OptionFate::Flag { is_kept: false } | OptionFate::Valued { is_kept: false }));
                kept.extend((!is_dropped).then(|| word.to_owned()));
            }
            None if runner.joins_letters() && !word.starts_with("--") => runner.keep_letters(word, &mut words, &mut kept)?,
            None => return None,
        }
    }
    Some(kept)
}

impl RunnerOptions {
    /// Returns whether single letters may be joined, with the last one's value: `-xk name`, `-n4`.
    fn joins_letters(&self) -> bool {
        self.tool == Tool::Pytest
    }

    fn option_fate(&self, name: &str) -> Option<OptionFate> {
        // Go takes one dash or two.
        let name = if self.tool == Tool::GoTest && name.starts_with("--") { &name[1..] } else { name };
        let lists = [
            (self.kept_flags, OptionFate::Flag { is_kept: true }),
            (self.dropped_flags, OptionFate::Flag { is_kept: false }),
            (self.kept_valued, OptionFate::Valued { is_kept: true }),
            (self.dropped_valued, OptionFate::Valued { is_kept: false }),
        ];
        lists.into_iter().find(|(list, _)| has_word(list, name)).map(|(_, fate)| fate)
    }

    // Reads a word such as `-svk`, whose last letter may take the rest of the word or the next word as its value.
    fn keep_letters<'w>(&self, word: &str, words: &mut impl Iterator<Item = &'w str>, kept: &mut Vec<String>) -> Option<()> {
        let letters = word.strip_prefix('-')?;
        for (at, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            match self.option_fate(&name)? {
                OptionFate::Flag { is_kept } => kept.extend(is_kept.then_some(name)),
                OptionFate::Valued { is_kept } => {
                    let rest = &letters[at + letter.len_utf8()..];
                    let value = if rest.is_empty() { words.next()? } else { rest.strip_prefix('=').unwrap_or(rest) };
                    kept.extend([name.as_str(), value].into_iter().filter(|_| is_kept).map(str::to_owned));
                    break;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_how_a_test_runs_stays_and_what_chooses_other_tests_does_not() {
        for (tool, arguments, expected) in [
            (Tool::Pytest, "--doctest-modules -q src", Some("--doctest-modules")),
            (
                Tool::Pytest,
                "-o pythonpath=src -c cfg.ini -p plug -m slow -k name -n 4 tests",
                Some("-o pythonpath=src -c cfg.ini -p plug -m slow"),
            ),
            (Tool::Pytest, "-opythonpath=src -pno:cov -n4 -rA -xvs", Some("-o pythonpath=src -p no:cov -s")),
            (Tool::Pytest, "-xk name tests", Some("")),
            (Tool::Pytest, "--cov=src --cov-report term --junitxml=o.xml --lf", Some("")),
            (Tool::Pytest, "--site=example.com tests", Some("--site=example.com")),
            (Tool::Pytest, "--slow tests", None),
            (Tool::Pytest, "-Z tests", None),
            (Tool::Pytest, "-k", None),
            (Tool::Jest, "--config jest.unit.js --ci --coverage -w 2 src", Some("--config jest.unit.js --ci")),
            (Tool::Jest, "--projects a b", None),
            (
                Tool::Vitest,
                "run --typecheck --coverage.reporter=text --pool forks --reporter=dot a",
                Some("--typecheck --pool forks"),
            ),
            (Tool::Vitest, "--typecheck.only=true", Some("--typecheck.only=true")),
            (Tool::NodeTest, "--import tsx --test-reporter=spec test", Some("--import tsx")),
            (Tool::GoTest, "-race -tags=integration --timeout 5m -v ./...", Some("-race -tags=integration --timeout 5m")),
            (Tool::GoTest, "./... -myflag=1", None),
            (Tool::Pytest, "-- -k", Some("")),
        ] {
            let words: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(kept_options(tool, &words).map(|kept| kept.join(" ")).as_deref(), expected, "{tool:?} {arguments}");
        }
    }

    #[test]
    fn no_option_is_listed_twice() {
        for runner in RUNNERS {
            let lists = [runner.kept_flags, runner.kept_valued, runner.dropped_flags, runner.dropped_valued];
            let mut all: Vec<&str> = lists.into_iter().flat_map(|list| list.split(' ')).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{:?}", runner.tool);
        }
    }
}
