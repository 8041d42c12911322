//! `proctor prove` on tests that were planted: some prove nothing in ways that look like a proof, some are honest. Real pytest and Vitest run.

use crate::common::vitest_modules;
use crate::prove::{change, prove, shop, words};
use crate::prove_runners::repository;

/// Tests, each with its name and its body.
type Planted = &'static [(&'static str, &'static str)];

/// The source of the change in Python: a reduced rate, and no unknown kinds.
const VAT: &str = "RATE = 1.2\n\n\ndef quote(net, kind='normal'):\n    if kind not in ('normal', 'reduced'):\n        raise ValueError(kind)\n    return round(net * (1.05 if kind == 'reduced' else RATE), 2)\n";

const IMPORTS: &str = "import asyncio, contextlib, threading, unittest\nimport pytest\nfrom shop.vat import quote\n\n\ndef check(net, gross):\n    assert quote(net, 'reduced') == gross\n\n\n@pytest.fixture\ndef reduced():\n    return 'reduced'\n\n\n";

const VACUOUS: Planted = &[
    ("asserts_a_generator", "assert (quote(net, 'reduced') == 10.5 for net in (10,))"),
    ("asserts_a_list_of_comparisons", "assert [quote(10, 'reduced') == 99]"),
    ("is_about_as_much_as_itself", "assert quote(10, 'reduced') == pytest.approx(quote(10, 'reduced'))"),
    ("tolerates_either_rate", "assert quote(10, 'reduced') == pytest.approx(11, abs=5)"),
    ("asserts_in_a_thread", "thread = threading.Thread(target=check, args=(10, 10.5))\n    thread.start()\n    thread.join()"),
    ("never_awaits", "async def wait():\n        check(10, 10.5)\n    wait().close()"),
    ("suppresses", "with contextlib.suppress(AssertionError):\n        check(10, 10.5)"),
    ("expects_any_exception", "with pytest.raises((AssertionError, ValueError)):\n        check(10, 99)"),
    ("asserts_either_of_both", "assert quote(10, 'reduced') == 10.5 or quote(10) == 12"),
    ("asserts_a_function", "assert lambda: quote(10, 'reduced') == 10.5"),
];

const HONEST: Planted = &[
    ("asserts_the_value", "assert quote(10, 'reduced') == 10.5"),
    ("asserts_about_the_value", "assert quote(10, 'reduced') == pytest.approx(10.5)"),
    ("asserts_in_a_helper", "check(10, 10.5)"),
    ("asserts_with_a_message", "assert quote(10, 'reduced') == 10.5, f'{quote(10)} is the normal rate'"),
    ("loops", "for net, gross in [(10, 10.5), (20, 21)]:\n        check(net, gross)"),
    ("compares_two_rates", "assert quote(10, 'reduced') < quote(10)"),
    ("fails_by_hand", "if quote(10, 'reduced') != 10.5:\n        pytest.fail('the rate')"),
    ("expects_the_new_error", "with pytest.raises(ValueError):\n        quote(10, 'unknown')"),
    ("asserts_in_an_event_loop", "async def wait():\n        check(10, 10.5)\n    asyncio.run(wait())"),
    ("asserts_a_list", "assert [quote(net, 'reduced') for net in (10, 20)] == [10.5, 21]"),
];

/// Honest tests in other forms than a function.
const FORMS: &str = "@pytest.mark.parametrize('kind, gross', [('normal', 12), ('reduced', 10.5)])\ndef test_rows(kind, gross):\n    assert quote(10, kind) == gross\n\n\ndef test_by_fixture(reduced):\n    assert quote(10, reduced) == 10.5\n\n\nclass TestRates(unittest.TestCase):\n    def test_equal(self):\n        self.assertEqual(quote(10, 'reduced'), 10.5)\n\n    def test_parts(self):\n        for net in (10, 20):\n            with self.subTest(net=net):\n                self.assertAlmostEqual(quote(net, 'reduced'), net * 1.05)\n";

#[test]
#[ignore = "wide tier"]
fn planted_tests_of_python_that_look_like_a_proof_are_told_from_honest_ones() {
    let project = shop();
    let function = |(name, body): &(&str, &str)| format!("def test_{name}():\n    {body}\n\n\n");
    let file = |tests: Planted| IMPORTS.to_owned() + &tests.iter().map(function).collect::<String>();
    let honest = file(HONEST) + FORMS;
    change(&project, &[("shop/vat.py", VAT), ("tests/test_honest.py", &honest), ("tests/test_planted.py", &file(VACUOUS))]);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    let mut expected: Vec<(String, &str)> = HONEST.iter().map(|(name, _)| (format!("test_{name}"), "proves it")).collect();
    let forms = ["test_rows", "test_by_fixture", "TestRates::test_equal", "TestRates::test_parts"];
    expected.extend(forms.map(|name| (name.to_owned(), "proves it")));
    expected.extend(VACUOUS.iter().map(|(name, _)| (format!("test_{name}"), "passes either way")));
    let said: Vec<(String, &str)> = words(&answer).into_iter().map(|(name, word)| (name.to_owned(), word)).collect();
    assert_eq!((HONEST.len(), VACUOUS.len(), said), (10, 10, expected), "{answer:#}");
    assert_eq!(answer["summary"], "10 of 24 added tests pass either way");
}

const VAT_BEFORE: &str = "export type Kind = 'normal' | 'reduced';\n\nexport function quote(net: number, _kind: Kind = 'normal'): number {\n  return net * 1.2;\n}\n";
const VAT_AFTER: &str = "export type Kind = 'normal' | 'reduced';\nexport type Rate = { kind: Kind; factor: number };\nexport interface Priced { gross(): number }\nexport enum Sort { Up = 'up', Down = 'down' }\n\nconst RATES: Record<Kind, number> = { normal: 1.2, reduced: 1.05 };\n\nexport function quote(net: number, kind?: Kind): number;\nexport function quote(net: string, kind?: Kind): number;\nexport function quote(net: number | string, kind: Kind = 'normal'): number {\n  const factor = RATES[kind];\n  if (factor === undefined) {\n    throw new Error('unknown kind');\n  }\n  return Math.round(Number(net) * factor * 100) / 100;\n}\n\nexport function label(kind: Kind): string;\nexport function label(kind: Kind, long: true): string;\nexport function label(kind: Kind, long = false): string {\n  return long ? `${kind} rate of tax` : `${kind} rate`;\n}\n\nexport abstract class Order implements Priced {\n  constructor(protected readonly net: number) {}\n  gross(): number { return quote(this.net, 'reduced'); }\n}\n\nexport default class Basket extends Order {}\n";
/// A component: its text has an apostrophe, and its elements end in each way.
const SHOWN: &str = "import { h } from './h';\n\nexport const Shown = ({ kind }: { kind: string }) => <p title=\"it's\" {...{ kind }}>it's {kind}<br /></p>;\n";

const TS_IMPORTS: &str =
    "import { test, describe, expect, vi } from 'vitest';\nimport { quote, type Kind, type Rate } from './vat';\n\n";

const TS_VACUOUS: Planted = &[
    ("counts one value", "expect([quote(100, 'reduced')]).toHaveLength(1);"),
    ("is there", "expect(quote(100, 'reduced')).toBeDefined();"),
    ("is not null", "expect(quote(100, 'reduced')).not.toBeNull();"),
    ("has the fields of nothing", "expect({ gross: quote(100, 'reduced') }).toMatchObject({});"),
    ("throws nothing", "expect(() => quote(100, 'reduced')).not.toThrow();"),
    ("is close to either rate", "expect(quote(100, 'reduced')).toBeCloseTo(110, -2);"),
    ("is a function", "expect(quote).toBeTypeOf('function');"),
    (
        "was called",
        "const called = vi.fn(quote as (net: number) => number); called(100); expect(called).toHaveBeenCalledWith(100);",
    ),
    ("asserts its own type", "const rate: Rate = { kind: 'reduced', factor: 1.05 }; expect(rate.factor * 100).toBe(105);"),
    ("expects true if it is so", "if (quote(100, 'reduced') === 105) expect(true).toBe(true);"),
];

const TS_HONEST: Planted = &[
    ("is the value", "expect(quote(100, 'reduced')).toBe(105);"),
    ("is the value in an object", "expect({ gross: quote(100, 'reduced') }).toEqual({ gross: 105 });"),
    ("is less", "expect(quote(100, 'reduced')).toBeLessThan(quote(100));"),
    ("resolves", "return expect(Promise.resolve(quote(100, 'reduced'))).resolves.toBe(105);"),
    ("throws", "expect(() => quote(100, 'unknown' as Kind)).toThrow('unknown kind');"),
    ("is recorded in the test", "expect(quote(100, 'reduced')).toMatchInlineSnapshot(`105`);"),
    (
        "asserts in a helper",
        "const same = <T,>(got: T, want: T): void => { expect(got).toBe(want); }; same<number>(quote(100, 'reduced'), 105);",
    ),
    ("is overloaded", "expect(quote('100', 'reduced')).toBe(105);"),
    ("is within a cent", "expect(quote(100, 'reduced')).toBeCloseTo(105, 2);"),
    ("is one of them", "expect([105, 210]).toContain(quote(100, 'reduced'));"),
];

/// Honest tests in other forms.
const TS_FORMS: &str = "describe('rates', () => {\n  test.each<[number, Kind, number]>([[100, 'reduced', 105], [200, 'reduced', 210]])('row %i', (net, kind, gross) => { expect(quote(net, kind)).toBe(gross); });\n});\n";

/// Tests of names that only the change has, and their words.
const TS_NEW: &[(&str, &str, &str)] = &[
    ("a new function", "expect(label('reduced', true)).toBe('reduced rate of tax');", "notices it"),
    ("a new enumeration", "expect(Sort.Up).toBe('up');", "notices it"),
    ("a new class", "class Own extends Order {} expect(new Own(100).gross()).toBe(105);", "notices it"),
    ("a new default", "const priced: Priced = new Basket(100); expect(priced.gross()).toBe(105);", "notices it"),
    ("only that it is there", "expect(label).toBeDefined();", "passes either way"),
];

#[test]
#[ignore = "wide tier"]
fn planted_tests_of_typescript_that_look_like_a_proof_are_told_from_honest_ones() {
    let modules = vitest_modules();
    let command = format!("{} run", modules.join(".bin/vitest").display());
    let first = [
        ("package.json", "{\"name\": \"shop\", \"type\": \"module\"}\n"),
        ("vitest.config.ts", "export default { esbuild: { jsxFactory: 'h', jsx: 'transform' as const } };\n"),
        (
            "h.ts",
            "export const h = (tag: string, _all: object | null, ...inner: string[]): string => `<${tag}>${inner.join('')}`;\n",
        ),
        ("vat.ts", VAT_BEFORE),
        ("shown.tsx", &*SHOWN.replace(">it's {kind}", ">{kind}")),
        (
            "other.test.ts",
            "import { test, expect } from 'vitest';\nimport { quote } from './vat';\ntest('was red', () => { expect(quote(100, 'reduced')).toBe(105); });\n",
        ),
    ];
    let project = repository("vitest", &command, Some(&modules), &first);
    let function = |(name, body): &(&str, &str)| format!("test('{name}', () => {{ {body} }});\n");
    let file = |tests: Planted| TS_IMPORTS.to_owned() + &tests.iter().map(function).collect::<String>();
    let new = "import { test, expect } from 'vitest';\nimport Basket, { label, Order, Sort, type Priced } from './vat';\n"
        .to_owned()
        + &TS_NEW.iter().map(|(name, body, _)| function(&(name, body))).collect::<String>();
    let shown = "import { test, expect } from 'vitest';\nimport { h } from './h';\nimport { Shown } from './shown';\n\ntest('shows it', () => { expect(<b>{Shown({ kind: 'low' })}</b>).toBe(\"<b><p>it's low<br>\"); });\ntest('is shown', () => { expect(Shown({ kind: 'low' })).toBe(\"<p>it's low<br>\"); });\n";
    let files = [
        ("vat.ts", VAT_AFTER),
        ("shown.tsx", SHOWN),
        ("honest.test.ts", &*(file(TS_HONEST) + TS_FORMS)),
        ("new.test.ts", &new),
        ("planted.test.ts", &file(TS_VACUOUS)),
        ("shown.test.tsx", shown),
    ];
    change(&project, &files);
    let answer = prove(&project, &["HEAD~1..HEAD"], 1);
    let mut expected: Vec<(&str, &str)> = TS_HONEST.iter().map(|(name, _)| (*name, "proves it")).collect();
    expected.push(("rates > row %i", "proves it"));
    expected.extend(TS_NEW.iter().map(|(name, _, word)| (*name, *word)));
    expected.extend(TS_VACUOUS.iter().map(|(name, _)| (*name, "passes either way")));
    expected.extend([("shows it", "proves it"), ("is shown", "proves it")]);
    assert_eq!((TS_HONEST.len(), TS_VACUOUS.len(), words(&answer)), (10, 10, expected), "{answer:#}");
}
