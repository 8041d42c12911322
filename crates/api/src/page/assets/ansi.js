// Colours of terminals: the sequences that set colours and weights become classes of text; every other sequence is shown as it is.
const COLOUR_NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const COLOUR_SEQUENCE = /\x1b\[([0-9;:]*)m/g;

// The nearest of the eight colours, or null for a grey, which is left in the colour of the text.
function nearestColour(red, green, blue) {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 48) return null;
  const middle = (most + least) / 2;
  const bits = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0);
  return COLOUR_NAMES[bits];
}

function indexedColour(index) {
  if (index < 16) return COLOUR_NAMES[index % 8];
  if (index >= 232) return null;
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return nearestColour(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

const PLAIN_STYLE = { colour: null, ground: null, bold: false, faint: false, italic: false, underline: false };

// Applies a code whose own parts are divided by colons: a kind of underline, or a colour. Others are left out.
function styleParts(style, parts) {
  const [code, kind] = parts;
  if (code === "4") style.underline = kind !== "0";
  if (code !== "38" && code !== "48") return;
  const key = code === "38" ? "colour" : "ground";
  const numbers = parts.slice(2).map(Number);
  if (kind === "5" && numbers.length > 0) style[key] = indexedColour(numbers[0]);
  // Three numbers are the colour. Of more, the first names a colour space, which may be empty, and what follows is a tolerance.
  if (kind === "2" && numbers.length >= 3) style[key] = nearestColour(...(numbers.length === 3 ? numbers : numbers.slice(1, 4)));
}

function styled(before, parameters) {
  const given = parameters.split(";");
  const codes = given.map((code) => Number(code || 0));
  let style = { ...before };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index];
    if (given[index].includes(":")) {
      styleParts(style, given[index].split(":"));
      continue;
    }
    if (code === 0) style = { ...PLAIN_STYLE };
    else if (code === 1) style.bold = true;
    else if (code === 2) style.faint = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 22) Object.assign(style, { bold: false, faint: false });
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 39) style.colour = null;
    else if (code === 49) style.ground = null;
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) style.colour = COLOUR_NAMES[code % 10];
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) style.ground = COLOUR_NAMES[code % 10];
    else if (code === 38 || code === 48 || code === 58) {
      // 58 is the colour of an underline, which is not drawn.
      const key = code === 38 ? "colour" : code === 48 ? "ground" : "underlineColour";
      if (codes[index + 1] === 5) {
        style[key] = indexedColour(codes[index + 2] ?? 0);
        index += 2;
      } else if (codes[index + 1] === 2) {
        style[key] = nearestColour(codes[index + 2] ?? 0, codes[index + 3] ?? 0, codes[index + 4] ?? 0);
        index += 4;
      }
    }
  }
  return style;
}

export function styleClass(style) {
  const names = [];
  if (style.colour) names.push(`ansi-${style.colour}`);
  if (style.ground) names.push(`ansi-on-${style.ground}`);
  for (const name of ["bold", "faint", "italic", "underline"]) if (style[name]) names.push(`ansi-${name}`);
  return names.join(" ");
}

// Splits an output into lines of styled texts: `[{ text, style }]` for each line. Styles go on over the ends of lines.
export function styledLines(output) {
  const lines = [[]];
  let style = PLAIN_STYLE;
  const add = (text) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines[lines.length - 1].push({ text: part, style });
    });
  };
  let from = 0;
  const whole = output.replace(/\r+\n/g, "\n").replace(/\n$/, "");
  for (const found of whole.matchAll(COLOUR_SEQUENCE)) {
    add(whole.slice(from, found.index));
    style = styled(style, found[1]);
    from = found.index + found[0].length;
  }
  add(whole.slice(from));
  return lines;
}
