const PRICES = { bolt: 12, nut: 80 };

export function total(names) {
  return names
    .map((name) => PRICES[name] ?? 0)
    .reduce((sum, price) => sum + price);
}
