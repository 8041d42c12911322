"""Mutations for type checkers, linters and formatters: of what they check, of their configuration, and of what they are pointed at."""

from javascript import change, write
from suites import bare, file, red

WRONG = "\n\ndef lab(value: int) -> str:\n    return value\n"
BROKEN = "\n\ndef lab(:\n"
UNUSED = "\nimport os\n"
UNDEFINED = "\n\ndef lab():\n    return nothing_has_this_name\n"
MONEY = "quotes/money.py"

ROWS = {
    "mypy": [
        bare("wrong-return", file(MONEY, WRONG)),
        bare("excused-line", file(MONEY, WRONG.replace("value\n", "value  # type: ignore\n"))),
        bare("syntax-error", file(MONEY, BROKEN)),
        bare("errors-ignored", file(MONEY, WRONG), write("mypy.ini", "[mypy]\nignore_errors = True\n")),
        bare("missing-plugin", write("mypy.ini", "[mypy]\nplugins = nothing_has_this_name\n")),
        bare("unknown-setting", write("mypy.ini", "[mypy]\nnothing_has_this_name = 1\n")),
        red("all-excluded", write("mypy.ini", "[mypy]\nexclude = .*\n")),
    ],
    "ruff": [
        bare("unused-import", file(MONEY, UNUSED)),
        bare("excused-file", file(MONEY, "# ruff: noqa\n" + UNDEFINED)),
        bare("syntax-error", file(MONEY, BROKEN)),
        bare("broken-configuration", write("ruff.toml", "select = 7\n")),
        bare("rules-off", file(MONEY, UNUSED), write("ruff.toml", 'lint.per-file-ignores = { "*" = ["ALL"] }\n')),
        red("all-excluded", file(MONEY, UNUSED), write("ruff.toml", 'exclude = ["*"]\n')),
    ],
    "ruff-format": [
        bare("formatted-wrongly", file(MONEY, "x   =  {  'a':1 }\n")),
        red("all-excluded", file(MONEY, "x   =  {  'a':1 }\n"), write("ruff.toml", 'exclude = ["*"]\n')),
    ],
    "flake8": [
        bare("unused-import", file(MONEY, UNUSED)),
        bare("excused-line", file(MONEY, "\nimport os  # noqa\n")),
        bare("syntax-error", file(MONEY, BROKEN)),
        bare("broken-configuration", write(".flake8", "[flake8]\nmax-line-length = wide\n")),
    ],
    "pylint": [
        bare("undefined-name", file(MONEY, UNDEFINED)),
        bare("unused-import", file(MONEY, UNUSED)),
        red("missing-plugin", write(".pylintrc", "[MAIN]\nload-plugins=nothing_has_this_name\n")),
        bare("everything-off", file(MONEY, UNDEFINED), write(".pylintrc", "[MESSAGES CONTROL]\ndisable=all\n")),
    ],
    "eslint": [
        bare("loose-comparison", change("web/src/format.ts", "whole === 0", "whole == 0")),
        bare("warning-only", file("web/src/format.ts", 'console.log("lab");\n')),
        bare("excused-file", change("web/src/format.ts", "whole === 0", "whole == 0"), change("web/src/format.ts", "import", "/* eslint-disable */\nimport")),
        bare("syntax-error", file("web/src/format.ts", "function (\n")),
        bare("all-ignored", change("eslint.config.mjs", "tseslint.config(", 'tseslint.config({ ignores: ["**/*"] }, ')),
    ],
    "prettier": [
        bare("formatted-wrongly", file("lib/tidy.js", "const   x = {a:1};\n")),
        bare("ignored", file("lib/tidy.js", "const   x = {a:1};\n"), write(".prettierignore", "*.js\n")),
    ],
}  # fmt: skip
