import { describe, expect, test } from "vitest";
import { formatAmount, formatShare, formatSummary } from "../src/format";
import type { PricedQuote } from "../src/model";
import { renderTable, toRows } from "../src/table";
import { findProblems } from "../src/validate";

const QUOTE: PricedQuote = {
  number: "Q-7",
  customer: "A customer",
  issued: "2026-01-05",
  validDays: 30,
  currency: "EUR",
  status: "sent",
  items: [
    { sku: "BOLT", quantity: 10, unitPrice: 12, net: 120 },
    { sku: "NUT", quantity: 1, unitPrice: 80, net: 80 },
  ],
  totals: { gross: 200, discount: 20, net: 180, tax: 36, payable: 216 },
};

describe("amounts", () => {
  test.each([[1234, "EUR", "12.34 EUR"], [-5, "USD", "-0.05 USD"], [7, "JPY", "7 JPY"]] as const)("%d %s", (minor, currency, text) => {
    expect(formatAmount(minor, currency)).toBe(text);
  });

  test("shares", () => {
    expect([formatShare(1, 8), formatShare(1, 0)]).toEqual(["12.5 %", "–"]);
  });
});

test("a summary has number, customer, amount and status", () => {
  expect(formatSummary(QUOTE)).toBe("Q-7 · A customer · 2.16 EUR · Sent");
});

test("rows are items, discount, tax and total", () => {
  expect(toRows(QUOTE).map(([label]) => label)).toEqual(["10 × BOLT", "1 × NUT", "Discount (10.0 %)", "Tax", "Total"]);
  expect(renderTable(QUOTE)).toMatchSnapshot();
});

test("a right quote has no problems", () => {
  expect(findProblems(QUOTE)).toEqual([]);
});

test("a wrong quote has problems", () => {
  const [item] = QUOTE.items;
  const items = [{ ...item!, quantity: 0 }, { ...item!, net: 121 }];
  const totals = { ...QUOTE.totals, discount: 201, payable: 215 };
  expect(findProblems({ ...QUOTE, items, totals })).toHaveLength(5);
});
