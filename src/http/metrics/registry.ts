/**
 * Metrics in the text format of Prometheus: counters, gauges and histograms, each with its help text.
 * The series per metric are bounded (A6): excess ones are counted under `other`.
 */

const SERIES_MAX = 5_000;

export type Labels = Readonly<Record<string, string>>;

interface Described {
	readonly name: string;
	readonly help: string;
}

export interface Counter {
	add(labels: Labels, by?: number): void;
	/** Removes every series with this label. */
	forget(label: string, value: string): void;
	render(): string;
}

export function createCounter({ name, help }: Described): Counter {
	const series = new Map<string, { readonly labels: Labels; value: number }>();
	return {
		add(labels, by = 1) {
			const entry = seriesOf(series, labels, () => ({ value: 0 }));
			entry.value += by;
		},
		forget: (label, value) => forgetIn(series, label, value),
		render: () =>
			[
				...head(name, help, "counter"),
				...[...series.values()].map(({ labels, value }) => line(name, labels, value)),
			].join("\n"),
	};
}

/** A current value, read on request. */
export function renderGauge(
	{ name, help }: Described,
	values: Iterable<readonly [Labels, number]>,
	type: "gauge" | "counter" = "gauge",
): string {
	const lines = [...values].map(([labels, value]) => line(name, labels, value));
	return [...head(name, help, type), ...lines].join("\n");
}

export interface Histogram {
	observe(labels: Labels, value: number): void;
	forget(label: string, value: string): void;
	render(): string;
}

export function createHistogram({ name, help }: Described, buckets: readonly number[]): Histogram {
	type Entry = { readonly labels: Labels; readonly counts: number[]; count: number; sum: number };
	const series = new Map<string, Entry>();

	function renderSeries({ labels, counts, count, sum }: Entry): string[] {
		let below = 0;
		const lines = buckets.map((le, index) => {
			below += counts[index] ?? 0;
			return line(`${name}_bucket`, { ...labels, le: String(le) }, below);
		});
		return [
			...lines,
			line(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
			line(`${name}_sum`, labels, sum),
			line(`${name}_count`, labels, count),
		];
	}

	return {
		observe(labels, value) {
			const entry = seriesOf(series, labels, () => ({
				counts: buckets.map(() => 0),
				count: 0,
				sum: 0,
			}));
			const index = buckets.findIndex((le) => value <= le);
			if (index !== -1) entry.counts[index] = (entry.counts[index] ?? 0) + 1;
			entry.count += 1;
			entry.sum += value;
		},
		forget: (label, value) => forgetIn(series, label, value),
		render: () =>
			[...head(name, help, "histogram"), ...[...series.values()].flatMap(renderSeries)].join("\n"),
	};
}

function seriesOf<Entry extends object>(
	series: Map<string, Entry & { readonly labels: Labels }>,
	labels: Labels,
	create: () => Entry,
): Entry & { readonly labels: Labels } {
	const key = Object.values(labels).join("\u0000");
	const known = series.get(key);
	if (known !== undefined) return known;
	if (series.size >= SERIES_MAX && !key.startsWith("other")) {
		const other = Object.fromEntries(Object.keys(labels).map((label) => [label, "other"]));
		return seriesOf(series, other, create);
	}
	const entry = { ...create(), labels };
	series.set(key, entry);
	return entry;
}

function forgetIn(
	series: Map<string, { readonly labels: Labels }>,
	label: string,
	value: string,
): void {
	for (const [key, { labels }] of series) if (labels[label] === value) series.delete(key);
}

function head(name: string, help: string, type: string): string[] {
	return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function line(name: string, labels: Labels, value: number): string {
	const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
	return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escapeLabel(text: string): string {
	return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
