import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { readPlainYaml } from "./plain-yaml.js";
import { parseYaml } from "./yaml-tree.js";

const readScalar: Parameters<typeof readPlainYaml>[1] = (value, written, at) => ({
	...{ type: "scalar", at, value, written, expanded: false, faulty: false },
});
const readsAlone = (text: string) => readPlainYaml(text, readScalar) !== null;

/** A letter outside of ASCII is left to the parser, and at the end of a comment it changes no position. */
const byParser = (text: string) => parseYaml(`${text}\n# é`, { A: "b" });

const FLEET = `# Two agents.
version: 1

defaults: { backend: pty, crash_policy: { transient_delay: 0s, jitter: 0.5, history: 10 } }
projects:
  shop: # the shop
    cwd: ~/work/shop
    agents:
      api:
        command: ["/bin/bash", '-c', run.sh, -x, --port=80]
        env: { PATH: "/bin:/usr/bin", EMPTY: "", LEVEL: debug }
        ready: { http: "http://localhost:80/", delay: 1m 30s }
        terminal: false
        limits: {memory: 512MiB}
        args:
          - one two
          - 12
          - \${A}
      worker:
        kind: worker
        depends_on: []
        prompt: Look at https://example.org/a:b and say, (briefly), what is new.
`;

describe("readPlainYaml", () => {
	it("reads a usual fleet file without the parser, and exactly like it", () => {
		expect(readsAlone(FLEET)).toBe(true);
		expect(parseYaml(FLEET, { A: "b" })).toEqual(byParser(FLEET));
	});

	it("reports mistakes in variables at the same position as the parser", () => {
		const text = "a:\n  b: ${MISSING}\n  c: [x, y]\n";
		expect(readsAlone(text)).toBe(true);
		expect(parseYaml(text, {}).findings).toHaveLength(1);
		expect(parseYaml(text, {})).toEqual(parseYaml(`${text}# é`, {}));
	});

	const WORDS = [
		...[
			"a",
			"b c",
			"b  c",
			"1",
			"01",
			"-1",
			"+1",
			"1.5",
			"1.",
			".5",
			"1e3",
			"1_000",
			"0x1f",
			"0o17",
			"08",
		],
		...[
			"null",
			"Null",
			"NULL",
			"~",
			"~/a",
			"true",
			"True",
			"TRUE",
			"yes",
			"off",
			".inf",
			"-.INF",
			".nan",
		],
		...[
			"10s",
			"512MiB",
			"50%",
			"12345678901234567890",
			"1.2.3",
			"2031-04-05",
			"10:30",
			"a:b",
			"a: b",
			"a :b",
		],
		...[
			"a #b",
			"a#b",
			"#a",
			"- a",
			"-a",
			"--a",
			"---",
			"?",
			"? a",
			"?a",
			":",
			":a",
			"a:",
			"&a",
			"*a",
			"!a",
		],
		...[
			"|",
			">",
			"@a",
			"`a",
			"%a",
			"a,b",
			",",
			"[a]",
			"[a, b]",
			"[a, ]",
			"[a,b]",
			"[ a ]",
			"[a",
			"a]",
			"[]",
		],
		...[
			"{}",
			"{a: b}",
			"{ a: b, c: [d] }",
			"{a: b,}",
			"{a: b, a: c}",
			"{a}",
			"{a:b}",
			"{1: a}",
			"{a: }",
			"{",
		],
		...[
			"${A}",
			"[${A}]",
			'"${A}"',
			"$A",
			"x${A}y",
			"{a: ${A}}",
			'"a"',
			"'a'",
			"'a''b'",
			'"a\\n"',
			'"a" b',
		],
		...[
			'""',
			"''",
			'"a',
			"a'",
			'"a" # b',
			"'a'#b",
			"a\tb",
			"a ",
			"a\\b",
			"a<b",
			"a=b",
			"(a)",
			"a & b",
			"a | b",
		],
		...[
			"<<",
			"=",
			"__proto__",
			"constructor",
			"é",
			"a/b",
			"../a",
			"./a",
			"..",
			"...",
			"a.b",
			"-",
			"- - a",
		],
	];
	const SHAPES = [
		...[
			"k: W",
			"k:   W",
			"k: W # c",
			"k: [W]",
			"k: [x, W, y]",
			"k: { x: W }",
			"k: { x: W, y: 1 }",
			"W: v",
		],
		...[
			"k: { W: v }",
			"k:\n  l: W",
			"k:\n  - W",
			"k:\n- W",
			"k:\n  - W\n  - x",
			"k: W\n  x",
			"k: W\n  x: y",
		],
		...[
			"k:\n  W\n",
			"k:\n    l: W\n  m: x",
			"W",
			"- W",
			"  k: W\nl: x",
			"k: x\nk: W",
			"k: W\n\n\n# c\nl: x",
			"k:\nW: x",
		],
		...[
			"k: [x,\n  W]",
			"k:W",
			"k : W",
			"k: # c\n  l: W",
			"- k: W\n  l: x",
			"k: x\nW",
			"---\nk: W",
			"k: W\n...\n",
		],
	];

	it("gives up, or reads like the parser, for any text at any position", () => {
		for (const word of WORDS) {
			for (const shape of SHAPES) {
				const text = shape.replaceAll("W", () => word);
				if (!readsAlone(text)) continue;
				expect({ text, ...parseYaml(text, { A: "b" }) }).toEqual({ text, ...byParser(text) });
			}
		}
	});

	it("gives up, or reads like the parser, for random values and random texts", () => {
		const word = fc.oneof(fc.constantFrom(...WORDS), fc.string(), fc.integer(), fc.boolean());
		const { value } = fc.letrec((tie) => ({
			value: fc.oneof(
				{ maxDepth: 4 },
				word,
				fc.array(tie("value"), { maxLength: 3 }),
				fc.dictionary(fc.stringMatching(/^[\w.-]{1,8}$/), tie("value"), { maxKeys: 4 }),
			),
		}));
		const written = fc
			.tuple(value, fc.constantFrom("block", "flow"), fc.constantFrom(2, 4))
			.map(([each, kind, indent]) =>
				stringify({ k: each }, { ...(kind === "flow" && { collectionStyle: "flow" }), indent }),
			);
		const lines = fc
			.array(fc.tuple(fc.nat(4), fc.constantFrom(...SHAPES), fc.constantFrom(...WORDS)), {
				maxLength: 5,
			})
			.map((parts) =>
				parts
					.map(([indent, shape, with_]) => " ".repeat(indent) + shape.replaceAll("W", () => with_))
					.join("\n"),
			);
		fc.assert(
			fc.property(fc.oneof(written, lines), (text) => {
				if (!readsAlone(text)) return;
				expect(parseYaml(text, { A: "b" })).toEqual(byParser(text));
			}),
			{ numRuns: 3_000 },
		);
	});

	it.each([
		...[
			"a: &x 1",
			"a: *x",
			"a: !!str 1",
			"a: |\n  b",
			"a: >\n  b",
			"? a\n: b",
			"a:\n",
			"a: 1\na: 2",
		],
		...[
			"a:\n\tb: 1",
			"a: b: c",
			"a: @b",
			"a: 'b",
			"a: [b",
			"a: {b: 1",
			"a: 1\nb",
			"__proto__: 1",
			"null: 1",
		],
		...[
			"a: é",
			"a: b\r\n",
			"%YAML 1.2\n---\na: 1",
			"a: 1\n---\nb: 2",
			"a: null",
			"a: ~",
			"",
			"# only a comment",
		],
	])("leaves %j to the parser", (text) => {
		expect(readsAlone(text)).toBe(false);
	});

	it("A6: leaves deep nesting and a file with too many values to the parser", () => {
		expect(readsAlone(`a: ${"[".repeat(30)}${"]".repeat(30)}`)).toBe(false);
		expect(readsAlone(`a: [${Array(60_000).fill("b").join(", ")}]`)).toBe(false);
	});
});
