// What the caller says of the logs, in the words of `antecede audit`.

const PAIRS = { "--column": "columns", "--kind": "kinds" };
const TEXTS = ["--format", "--separator", "--delimiter"];
const PATTERNS_OF_LOGS = ["--pattern", "--send", "--deliver", "--crash"];
const TOLERATED = [
  ...["duplicates", "resends", "unknown-sends", "no-addresses", "unaddressed", "bad-rows"],
  ...["truncated", "clocks"],
];

// The wishes in a line of flags; throws an Error that says what is wrong with it.
export function parseFlags(line) {
  const wishes = { columns: {}, kinds: {}, patterns: {}, tolerate: new Set(), broadcast: false };
  const words = splitWords(line);
  for (let at = 0; at < words.length; at++) {
    let [flag, value] = [words[at], undefined];
    const equals = flag.indexOf("=");
    if (flag.startsWith("--") && equals > 0)
      [flag, value] = [flag.slice(0, equals), flag.slice(equals + 1)];
    if (flag === "--broadcast") {
      wishes.broadcast = true;
      continue;
    }
    if (value === undefined) value = words[++at];
    if (value === undefined) throw new Error(`${flag} needs a value`);
    take(wishes, flag, value);
  }
  return wishes;
}

function take(wishes, flag, value) {
  if (flag in PAIRS) {
    const equals = value.indexOf("=");
    if (equals < 1) throw new Error(`${flag} ${value}: write NAME=VALUE`);
    wishes[PAIRS[flag]][value.slice(0, equals)] = value.slice(equals + 1);
  } else if (TEXTS.includes(flag)) wishes[flag.slice(2)] = value;
  else if (PATTERNS_OF_LOGS.includes(flag)) wishes.patterns[flag.slice(2)] = value;
  else if (flag === "--tolerate") {
    for (const name of value.split(",").map((one) => one.trim())) {
      if (name !== "all" && !TOLERATED.includes(name))
        throw new Error(`--tolerate ${name}: there is no such kind; there are ${TOLERATED.join(", ")}, all`);
      for (const one of name === "all" ? TOLERATED : [name]) wishes.tolerate.add(one);
    }
  } else throw new Error(`there is no flag ${flag} here`);
}

// As a shell would: quotes keep a word together.
export function splitWords(line) {
  const words = [];
  for (const [word] of line.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])+/g))
    words.push(
      word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, double, single, escaped) =>
        double !== undefined ? double.replace(/\\(["\\$`])/g, "$1") : (single ?? escaped),
      ),
    );
  return words;
}

// The flags that a text advises, each with its value, but for those that leave a blank.
export function advisedFlags(text) {
  const found = text.match(/--(?:column|kind|tolerate|format) (?:'[^']*'|"[^"]*"|[^\s;:,'"])+|--broadcast\b/g) ?? [];
  return [...new Set(found)].filter((flag) => !/FIELD|WORD|--format/.test(flag));
}
