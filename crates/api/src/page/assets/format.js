// Numbers, durations and times in words. Times are in the browser's own time zone.

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (milliseconds < 1) return "< 1 ms";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min`;
}

export function microseconds(value) {
  return value === null || value === undefined ? "–" : duration(value / 1000);
}

// When a run began, by its id such as exec-20260304T093000.000Z-000042; null if the id has no time.
export function runStart(runId) {
  const found = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d+)?)Z-/.exec(runId ?? "");
  if (!found) return null;
  const [, year, month, dayOfMonth, hour, minute, second] = found;
  return Date.parse(`${year}-${month}-${dayOfMonth}T${hour}:${minute}:${second}Z`);
}

// How long ago a time is, in the largest unit that fits.
export function ago(time, now) {
  const seconds = Math.max(0, Math.round((now - time) / 1000));
  if (seconds < 5) return "just now";
  for (const [unit, length] of [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  return "just now";
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const ZONE = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });

export function clock(time) {
  return CLOCK.format(time);
}

export function day(time, now) {
  return new Date(time).getFullYear() === new Date(now).getFullYear() ? SHORT_DAY.format(time) : DAY.format(time);
}

// The whole time with its zone, for titles.
export function wholeTime(time) {
  const zone = ZONE.formatToParts(time).find((part) => part.type === "timeZoneName");
  return `${DAY.format(time)}, ${CLOCK.format(time)} ${zone ? zone.value : ""}`.trim();
}

// The time of today, else the day and the time.
export function shortTime(time, now) {
  const isToday = new Date(time).toDateString() === new Date(now).toDateString();
  return isToday ? clock(time) : `${day(time, now)}, ${clock(time).replace(/(:\d\d):\d\d/, "$1")}`;
}

export function byteWords(count) {
  if (count < 1024) return `${count} bytes`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

// The number of a run, from its id: `exec-20261126T160655.816Z-000003` is 3.
export function runNumber(runId) {
  const digits = /-(\d{6,})$/.exec(runId ?? "");
  return digits ? String(Number(digits[1])) : String(runId ?? "");
}

const NATURAL = new Intl.Collator(undefined, { numeric: true });

// Orders texts so that `[2]` comes before `[10]`.
export function byNumberInText(one, other) {
  return NATURAL.compare(one, other);
}

export function shortDigest(digest) {
  return digest ? digest.slice(0, 8) : "–";
}

// The value below which this share of the numbers lies. The numbers need not be sorted.
export function percentile(numbers, share) {
  if (numbers.length === 0) return null;
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

// A text with `run 3` in place of each id of a run that stands in no path.
export function withRunNumbers(text) {
  return text.replace(/(^|[^\w./-])exec-\d{8}T\d{6}\.\d{3}Z-0*(\d+)(?![\w/-])/g, "$1run $2");
}
