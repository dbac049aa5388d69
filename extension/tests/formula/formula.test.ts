import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { print, type Markup, type Naming } from "../../src/formula/mathml";
import { parse } from "../../src/formula/parser";
import { stepFormula } from "../../src/formula/steps";
import { residualTrace } from "../fixture";

interface Row {
  type: string;
  names: Set<string>;
  texts: string[];
}

/** The table of operators as the document that is made of it has it. */
function table(): Row[] {
  const lines = readFileSync("../gradviz/operators/README.md", "utf8").split("\n");
  const rows = lines.filter((line) => /^\| [A-Z]\w+ \|/.test(line)).map((line) => line.slice(2, -2).split(" | "));
  return rows.map(([type = "", slots = "", ...texts]) => ({
    type,
    names: new Set(slots.split(/, | → /).map((name) => name.replace(/[?.]+$/, ""))),
    texts: texts.slice(0, 2).map((text) => text.replace(/\\\|/g, "|").trim()).filter((text) => text !== ""),
  }));
}

const nobody: Naming = () => null;
const serialized = ({ tag, attributes, children }: Markup): string => {
  const told = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
  return `<${tag}${told.join("")}>${children.map((child) => (typeof child === "string" ? child : serialized(child))).join("")}</${tag}>`;
};
const shown = (text: string, names: string[] = [], naming = nobody): string => print(text, new Set(names), naming).markup.map(serialized).join("");
const leaves = (one: Markup | string): string => (typeof one === "string" ? one : one.children.map(leaves).join(""));

test("every formula and derivative of the operator table is read", () => {
  const rows = table();
  assert.ok(rows.length >= 250);
  const unread = rows.flatMap(({ type, names, texts }) => texts.filter((text) => parse(text, names) === null).map((text) => `${type}: ${text}`));
  assert.deepEqual(unread, []);
});

test("nothing of a formula gets lost in print but slashes and the brackets that fractions and roots do without", () => {
  const letters = (text: string): string => [...text.normalize("NFKC").matchAll(/[\p{L}\d]/gu)].map(([one]) => one).sort().join("");
  for (const { type, names, texts } of table()) {
    for (const text of texts) {
      const told = print(text, names, (name) => ({ blob: name, isGradient: false })).markup.map(leaves).join("");
      const degrees = "3".repeat((text.match(/∛/g) ?? []).length);
      assert.equal(letters(told), letters(text + degrees), `${type}: ${text}`);
    }
  }
});

const GOLDEN: [text: string, names: string[], markup: string][] = [
  ["y = x·wᵀ + b", ["x", "w", "b", "y"],
    '<mi>y</mi><mo>=</mo><mi>x</mi><mo>·</mo><msup><mi>w</mi><mi mathvariant="normal">T</mi></msup><mo>+</mo><mi>b</mi>'],
  ["dx = dy (1 - y²)", ["y", "dy", "dx"],
    '<mrow><mi>∂</mi><mi>x</mi></mrow><mo>=</mo><mrow><mi>∂</mi><mi>y</mi></mrow><mspace width="0.2em"></mspace>' +
    "<mrow><mo>(</mo><mn>1</mn><mo>−</mo><msup><mi>y</mi><mn>2</mn></msup><mo>)</mo></mrow>"],
  ["y = 1 / (1 + e⁻ˣ)", ["x", "y"],
    "<mi>y</mi><mo>=</mo><mfrac><mn>1</mn><mrow><mn>1</mn><mo>+</mo><msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup></mrow></mfrac>"],
  ["dx = -dy / √(1 - x²)", ["x", "dy", "dx"],
    '<mrow><mi>∂</mi><mi>x</mi></mrow><mo>=</mo><mo form="prefix">−</mo><mfrac><mrow><mi>∂</mi><mi>y</mi></mrow>' +
    "<msqrt><mrow><mn>1</mn><mo>−</mo><msup><mi>x</mi><mn>2</mn></msup></mrow></msqrt></mfrac>"],
  ["y = tanh x", ["x", "y"], '<mi>y</mi><mo>=</mo><mi>tanh</mi><mspace width="0.2em"></mspace><mi>x</mi>'],
  ["y = max(x, 0)", ["x", "y"], "<mi>y</mi><mo>=</mo><mi>max</mi><mrow><mo>(</mo><mi>x</mi><mo>,</mo><mn>0</mn><mo>)</mo></mrow>"],
  ["dx = dy where y > 0, else 0", ["y", "dy", "dx"],
    "<mrow><mi>∂</mi><mi>x</mi></mrow><mo>=</mo><mrow><mi>∂</mi><mi>y</mi></mrow><mtext>\u00a0where\u00a0</mtext><mi>y</mi><mo>></mo><mn>0</mn>" +
    "<mo>,</mo><mtext>else\u00a0</mtext><mn>0</mn>"],
  ["db = Σᵢ dyᵢ", ["b", "y"],
    '<mrow><mi>∂</mi><mi>b</mi></mrow><mo>=</mo><msub><mo>Σ</mo><mi>i</mi></msub><mspace width="0.2em"></mspace><msub><mrow><mi>∂</mi><mi>y</mi></mrow><mi>i</mi></msub>'],
  ["yᵢⱼ = exp xᵢⱼ / Σₖ exp xᵢₖ", ["x", "y"],
    '<msub><mi>y</mi><mi>ij</mi></msub><mo>=</mo><mfrac><mrow><mi>exp</mi><mspace width="0.2em"></mspace><msub><mi>x</mi><mi>ij</mi></msub></mrow>' +
    '<mrow><msub><mo>Σ</mo><mi>k</mi></msub><mspace width="0.2em"></mspace><mi>exp</mi><mspace width="0.2em"></mspace><msub><mi>x</mi><mi>ik</mi></msub></mrow></mfrac>'],
  ["∂y = -2/3 · ∂dx · dy / y³", ["dy", "y", "dx"],
    '<mrow><mi>∂</mi><mi>y</mi></mrow><mo>=</mo><mo form="prefix">−</mo><mfrac><mn>2</mn><mn>3</mn></mfrac><mo>·</mo>' +
    "<mfrac><mrow><mrow><mi>∂</mi><mi>dx</mi></mrow><mo>·</mo><mrow><mi>∂</mi><mi>y</mi></mrow></mrow><msup><mi>y</mi><mn>3</mn></msup></mfrac>"],
  ["y = ∛x", ["x", "y"], "<mi>y</mi><mo>=</mo><mroot><mi>x</mi><mn>3</mn></mroot>"],
  ["y = x^exponent", ["x", "y"], "<mi>y</mi><mo>=</mo><msup><mi>x</mi><mi>exponent</mi></msup>"],
  ["dx = (dy - y <y, dy>) / |x|", ["x", "y", "dy", "dx"],
    '<mrow><mi>∂</mi><mi>x</mi></mrow><mo>=</mo><mfrac><mrow><mrow><mi>∂</mi><mi>y</mi></mrow><mo>−</mo><mi>y</mi><mspace width="0.2em"></mspace>' +
    "<mrow><mo>⟨</mo><mi>y</mi><mo>,</mo><mrow><mi>∂</mi><mi>y</mi></mrow><mo>⟩</mo></mrow></mrow><mrow><mo>|</mo><mi>x</mi><mo>|</mo></mrow></mfrac>"],
];

for (const [text, names, markup] of GOLDEN) test(`"${text}" in print`, () => assert.equal(shown(text, names), markup));

test("a sum divides each of its terms, a product is divided whole", () => {
  const fraction = (text: string): string => /<mfrac>.*<\/mfrac>/.exec(shown(text))?.[0] ?? "";
  assert.equal(fraction("a = b + c · d / e"), "<mfrac><mrow><mi>c</mi><mo>·</mo><mi>d</mi></mrow><mi>e</mi></mfrac>");
  assert.equal(fraction("a = Σᵢ b / c"), "<mfrac><mi>b</mi><mi>c</mi></mfrac>");
  assert.equal(fraction("a = b / 3c · d"), "<mfrac><mi>b</mi><mrow><mn>3</mn><mi>c</mi></mrow></mfrac>");
});

test("what is no formula is shown as the text that it is", () => {
  for (const text of ["y = (x", "y = x)", "y = x / ", "y := €", "<script>alert(1)</script>" + "x".repeat(3000), "(".repeat(50) + ")".repeat(50)]) {
    assert.deepEqual(print(text, new Set(), nobody), { markup: [{ tag: "mtext", attributes: {}, children: [text] }], text });
  }
});

test("names become the blobs that they stand for, in print and in words", () => {
  const naming: Naming = (name) => ({ x: { blob: "h", isGradient: false }, y: { blob: "<b>", isGradient: true } })[name] ?? null;
  const { markup, text } = print("y = tanh x", new Set(["x", "y"]), naming);
  assert.equal(text, "∂<b> = tanh h");
  assert.deepEqual(markup[0], { tag: "mrow", attributes: {}, children: [{ tag: "mi", attributes: {}, children: ["∂"] }, { tag: "mi", attributes: {}, children: ["<b>"] }] });
});

test("a name in a power becomes its blob, too; an index does not", () => {
  const naming: Naming = (name) => ({ x: { blob: "z", isGradient: false }, y: { blob: "f", isGradient: false }, i: { blob: "wrong", isGradient: false } })[name] ?? null;
  const { markup, text } = print("yᵢ = e⁻ˣ", new Set(["x", "y", "i"]), naming);
  assert.equal(text, "fᵢ = e^(−z)");
  assert.equal(markup.map(leaves).join(""), "fi=e−z");
});

const TRACE = residualTrace();
TRACE.formulas = {
  FC: { formula: "y = x·wᵀ + b", derivative: "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w", inputs: ["x", "w", "b"], outputs: ["y"] },
  Relu: { formula: "y = max(x, 0)", derivative: "dx = dy where y > 0, else 0", inputs: ["x"], outputs: ["y"] },
  ReluGradient: { formula: "dx = dy where y > 0, else 0", derivative: "", inputs: ["y", "dy"], outputs: ["dx"] },
};
const at = (kind: string, nth = 0): string | undefined => {
  const positions = TRACE.events.flatMap((event, index) => (event.kind === kind ? [index + 1] : []));
  return stepFormula(TRACE, positions[nth] ?? 0)?.text;
};

test("each step has its formula with the net's own blobs", () => {
  assert.equal(at("Played"), "h = x·w1ᵀ + b1");
  assert.equal(at("Seeded"), "∂loss / ∂loss = 1");
  assert.equal(at("Accumulated"), "∂a = ∂a via #2 + ∂a via #4");
  assert.equal(at("RuleApplied", 3), "∂u = ∂v where v > 0, else 0");
  assert.equal(at("RuleApplied", 2), "∂v = ∂a = ∂s");
  assert.equal(at("Completed"), undefined);
  assert.equal(stepFormula(TRACE, 0), null);
});

test("a gradient operator that nobody described is told by the derivative of what it comes from", () => {
  assert.equal(at("RuleApplied", 1), "∂w3 = ∂zᵀ·s, ∂b3 = Σᵢ ∂zᵢ, ∂s = ∂z·w3");
});
