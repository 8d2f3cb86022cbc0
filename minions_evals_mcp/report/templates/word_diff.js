"use strict";
// Two texts word by word, by the rules of scoring/word_diff.py: equal and deleted stretches make the one, equal and inserted the other.
const wordDiff = (() => {
  const LONGEST = 4000;
  const words = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

  const begins = (one, other) => {
    const most = Math.min(one.length, other.length);
    let at = 0;
    while (at < most && one[at] === other[at]) at++;
    return at;
  };

  // shared[i * wide + j]: how many words one[i:] and other[j:] have in common at best.
  const table = (one, other, wide) => {
    const shared = new Uint16Array((one.length + 1) * wide);
    for (let i = one.length - 1; i >= 0; i--) {
      for (let j = other.length - 1; j >= 0; j--) {
        const here = i * wide + j;
        shared[here] = one[i] === other[j] ? shared[here + wide + 1] + 1 : Math.max(shared[here + wide], shared[here + 1]);
      }
    }
    return shared;
  };

  const changes = (one, other) => {
    const wide = other.length + 1, shared = table(one, other, wide), parts = [];
    let i = 0, j = 0;
    while (i < one.length || j < other.length) {
      const here = i * wide + j;
      if (i < one.length && j < other.length && one[i] === other[j]) {
        parts.push(["equal", one[i++]]);
        j++;
      } else if (j === other.length || (i < one.length && shared[here + wide] >= shared[here + 1])) parts.push(["delete", one[i++]]);
      else parts.push(["insert", other[j++]]);
    }
    return parts;
  };

  // A change goes on over a mere space or stop, and what is taken out comes before what came in.
  const joined = (parts) => {
    const made = [];
    let kept = "", taken = "", came = "", gap = "";
    const end = () => {
      for (const [op, text] of [["equal", kept], ["delete", taken], ["insert", came]]) if (text) made.push([op, text]);
    };
    for (const [op, text] of parts) {
      if (!text) continue;
      if (op !== "equal") {
        taken += gap + (op === "delete" ? text : "");
        came += gap + (op === "insert" ? text : "");
        gap = "";
      } else if (!taken && !came) kept += text;
      else if (!/[\p{L}\p{N}_]/u.test(text)) gap += text;
      else {
        end();
        kept = gap + text;
        taken = came = gap = "";
      }
    }
    end();
    kept = gap;
    taken = came = "";
    end();
    return made;
  };

  return (before, after) => {
    const one = words(before), other = words(after);
    const head = begins(one, other);
    const tail = begins(one.slice(head).reverse(), other.slice(head).reverse());
    const its = one.slice(head, one.length - tail), others = other.slice(head, other.length - tail);
    return joined([
      ["equal", one.slice(0, head).join("")],
      ...changes(its.slice(0, LONGEST), others.slice(0, LONGEST)),
      ["delete", its.slice(LONGEST).join("")],
      ["insert", others.slice(LONGEST).join("")],
      ["equal", one.slice(one.length - tail).join("")],
    ]);
  };
})();
