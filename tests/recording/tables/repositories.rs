//! Repositories of git: commits that are proved, not tested, red or weaker, and a second worktree.

use crate::recording::scenario::{
    Scenario, commit, everything, everything_in, file, git, latest, proctor, proctor_in, scenario, screens, toml,
};
use crate::recording::tables::CHECKS;

const OTHER: &str = "../shared/other";

pub(super) fn scenarios() -> Vec<Scenario> {
    let begun = || [toml(CHECKS), file("shop.txt", "good\n"), git(&["init", "--quiet"]), commit()].concat();
    vec![
        scenario(
            "repositories/commits",
            [
                begun(),
                proctor("gate"),
                proctor("gate --json"),
                proctor("run"),
                everything(),
                screens(),
                file("shop.txt", "good and more\n"),
                proctor("gate"),
                proctor("run"),
                commit(),
                proctor("gate --json"),
                file("shop.txt", "bad\n"),
                commit(),
                proctor("gate"),
                proctor("run"),
                latest(),
                proctor("gate HEAD~1"),
                proctor("gate HEAD~1 --json"),
                proctor("gate main~2 --json"),
                proctor("gate nowhere"),
                proctor("gate HEAD~9 --json"),
            ],
        ),
        scenario(
            "repositories/parts of a result",
            [
                begun(),
                proctor("run --check there"),
                proctor("gate --json"),
                proctor("run --check good"),
                proctor("gate --json"),
                file("untracked.txt", "x\n"),
                file("shop.txt", "good again\n"),
                git(&["add", "shop.txt"]),
                git(&["commit", "--quiet", "--message", "a part"]),
                proctor("run"),
                everything(),
                file(".gitignore", "*.log\n"),
                file("x.log", "ignored\n"),
                git(&["add", "--force", "x.log", ".gitignore"]),
                git(&["commit", "--quiet", "--message", "tracked though ignored"]),
                proctor("why x.log"),
                proctor("gate"),
            ],
        ),
        scenario(
            "repositories/a checkout is run",
            [begun(), file("shop.txt", "not committed\n"), proctor("gate --run"), proctor("gate --run --json"), everything()],
        ),
        scenario(
            "repositories/a weaker commit",
            [
                begun(),
                git(&["branch", "trusted"]),
                proctor("run"),
                toml(CHECKS.replace(
                    "name = \"good\"\ncommand = [\"grep\", \"-q\", \"good\"",
                    "name = \"good\"\ncommand = [\"grep\", \"-q\", \"o\"",
                )),
                commit(),
                proctor("gate --policy-from trusted"),
                proctor("gate --policy-from trusted --json"),
                proctor("run"),
                everything(),
            ],
        ),
        scenario(
            "repositories/worktree",
            [
                begun(),
                proctor("run"),
                git(&["worktree", "add", "--quiet", "--detach", OTHER]),
                proctor_in(OTHER, "gate"),
                proctor_in(OTHER, "gate --json"),
                proctor_in(OTHER, "status"),
                proctor_in(OTHER, "run"),
                everything_in(OTHER),
                proctor("status --all"),
                proctor("status --all --json"),
                proctor("verify --all"),
                proctor("verify --all --json"),
            ],
        ),
        scenario(
            "repositories/submodule directory and rules of git",
            [
                begun(),
                file(".git/info/exclude", "*.local\n"),
                file("a.local", "a\n"),
                file("deep/er/.gitignore", "*\n!.gitignore\n"),
                file("deep/er/b.txt", "b\n"),
                commit(),
                proctor("run"),
                proctor("generate tree"),
                proctor("why a.local"),
                proctor("why deep/er/b.txt --json"),
                proctor("why .git/config"),
                everything(),
            ],
        ),
    ]
}
