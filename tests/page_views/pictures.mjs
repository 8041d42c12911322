// Makes the pictures of `docs/pictures` from a project of its own. `PROCTOR_UPDATE_PICTURES=1 cargo test --locked --test integration -- --ignored
// page_views::the_pictures` writes them there. Every view at every width and in both colours is compared with how it looked then, in
// `looks.json`: the mean brightness of cells, since times and durations differ. With `PAGE_VIEWS_ALL_PICTURES=1` all pictures are kept.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, checkPages, goTo, openPage, proctor, project, startService, until, withBrowser } from "./browser.mjs";

const directory = process.env.PAGE_VIEWS_PICTURES;
const MOST_BYTES = 150_000;
const WIDTHS = [1920, 1440, 820, 360];
const LOOKS = new URL("looks.json", import.meta.url);
const COLUMNS = 32;
const ROWS = 20;
// A cell is another one from this difference on (of 255), and a view if this share of its cells is.
const OTHER_CELL = 16;
const OTHER_VIEW = 0.06;
// The pictures that are kept: view, width and colours. All others are only made, so that somebody can look at them.
const KEPT = new Set(["now-1440-light", "run-1440-dark", "tests-1440-light", "trends-1440-light", "compare-1440-dark", "runs-820-light", "now-360-dark", "tests-360-light"]);

const SHOP = (rate) => `def total(prices, discount=0):\n    return sum(prices) * (100 - discount) / 100\n\n\ndef vat(price):\n    return round(price * ${rate}, 2)\n`;
const TESTS = `import pytest
from shop import total, vat


def test_sum():
    assert total([1, 2, 3]) == 6


def test_discount():
    assert total([100], discount=20) == 80


@pytest.mark.parametrize("items", range(12))
def test_basket(items):
    assert total([items] * 3) == 3 * items


def test_vat():
    assert vat(100) == 19.0


@pytest.mark.skip(reason="needs a printer")
def test_receipt_is_printed():
    pass
`;
// A test that fails every other time, whatever the tree is.
const STOCK = `from pathlib import Path


def test_stock_is_synchronised():
    counter = Path(${JSON.stringify(join(project, "..", "shared", "counter"))})
    times = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(times + 1))
    assert times % 2 == 0, "the warehouse did not answer"
`;
const STYLE = `import pathlib
import sys

for path in sorted(pathlib.Path(".").glob("*.py")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > 88:
            sys.exit(f"{path}:{number}: the line has {len(line)} characters")
print("every line is short")
`;

// The mean brightness of each cell of a picture, row by row.
function lookOf(judge, picture) {
  return judge.evaluate(async ([source, columns, rows]) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const { width, height } = image;
    const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    const [sums, counts] = [new Array(columns * rows).fill(0), new Array(columns * rows).fill(0)];
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      const cell = Math.floor((Math.floor(pixel / width) * rows) / height) * columns + Math.floor(((pixel % width) * columns) / width);
      sums[cell] += (data[4 * pixel] + data[4 * pixel + 1] + data[4 * pixel + 2]) / 3;
      counts[cell] += 1;
    }
    return sums.map((sum, cell) => Math.round(sum / counts[cell]));
  }, [`data:image/png;base64,${picture.toString("base64")}`, COLUMNS, ROWS]);
}

// The share of cells that differ.
function difference(one, other) {
  return one.filter((value, cell) => Math.abs(value - other[cell]) >= OTHER_CELL).length / one.length;
}

const VIEWS = (id, red, green) => [["now", ""], ["runs", "/runs"], ["run", `/runs/${red}`], ["tests", "/tests"], ["trends", "/trends"], ["compare", `/compare/${green}/${red}`]].map(([name, part]) => [name, `/projects/${id}${part}`]);

await withBrowser(async (browser) => {
  check(directory, "PAGE_VIEWS_PICTURES names the directory");
  mkdirSync(directory, { recursive: true });
  const save = (name, text) => writeFileSync(join(project, name), text);
  save("shop.py", SHOP("0.19"));
  save("test_shop.py", TESTS);
  save("test_stock.py", STOCK);
  save("style.py", STYLE);
  for (const rate of ["0.19", "0.07", "0.19", "0.19", "0.2", "0.19"]) {
    save("shop.py", SHOP(rate));
    await proctor("run");
    await proctor("run");
  }
  save("shop.py", SHOP("0.07"));
  await proctor("service", "add");
  await proctor("run");
  const { project: id, runs } = JSON.parse(await proctor("log", "--json"));
  const number = (run) => String(Number(run.runId.split("-").at(-1)));
  const red = number(runs[0]);
  const green = number(runs.find((run) => run.result === "PASSED"));
  const service = await startService();
  const judge = await (await browser.newContext()).newPage();
  const isUpdated = directory.endsWith("docs/pictures");
  const known = isUpdated ? {} : JSON.parse(readFileSync(LOOKS, "utf8"));
  const [looks, others] = [{}, []];
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
    const page = await openPage(context);
    for (const [name, view] of VIEWS(id, red, green)) {
      for (const width of WIDTHS) {
        const file = `${name}-${width}-${colorScheme}`;
        const isKept = KEPT.has(file);
        await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
        await goTo(page, view);
        await until(`${name} drawn`, () => page.evaluate(() => document.querySelector("#main .hero, #main .row, #main .matrix, #main .chart") !== null && document.querySelector(".waiting") === null));
        if (name === "run" || name === "now") await page.waitForSelector(".failure .command");
        if (name === "now") await page.waitForSelector(".strip");
        const picture = await page.screenshot();
        // How many tests are slower differs from time to time.
        const hidden = name !== "compare" ? 0 : await page.evaluate(() => {
          const slower = [...document.querySelectorAll('[aria-label="Slower"]')];
          for (const one of slower) one.style.setProperty("display", "none");
          return slower.length;
        });
        const look = await lookOf(judge, hidden > 0 ? await page.screenshot() : picture);
        looks[file] = Buffer.from(look).toString("base64");
        const share = known[file] ? difference([...Buffer.from(known[file], "base64")], look) : 0;
        console.log(`${file}: ${(100 * share).toFixed(1)} % of the cells differ`);
        if (share > OTHER_VIEW || (!isUpdated && !known[file])) others.push(file);
        if (isKept) check(picture.length < MOST_BYTES, `${file}.png is small enough`, picture.length);
        if (isKept || process.env.PAGE_VIEWS_ALL_PICTURES || others.includes(file)) writeFileSync(join(directory, `${file}.png`), picture);
      }
    }
    await context.close();
  }
  if (isUpdated) writeFileSync(LOOKS, `${JSON.stringify(looks, null, 1)}\n`);
  check(others.length === 0, "these views look as they did (`PROCTOR_UPDATE_PICTURES=1` where they should not)", others);
  await service.stop();
  checkPages();
});
