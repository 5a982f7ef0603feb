/** Renders property lists, the files that launchd reads. */

export type PropertyValue =
	| string
	| number
	| boolean
	| readonly string[]
	| { readonly [key: string]: PropertyValue };

/** `comment` must not contain two consecutive hyphens, because XML cannot represent them. */
export function renderPropertyList(
	entries: Readonly<Record<string, PropertyValue>>,
	comment: string,
): string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${escapeXml(comment)} -->
<plist version="1.0">
${renderValue(entries, "")}
</plist>
`;
}

function renderValue(value: PropertyValue, indent: string): string {
	const inner = `${indent}\t`;
	if (typeof value === "boolean") return `${indent}<${value}/>`;
	if (typeof value === "number") return `${indent}<integer>${value}</integer>`;
	if (typeof value === "string") return `${indent}<string>${escapeXml(value)}</string>`;
	if (isList(value)) {
		const items = value.map((item) => renderValue(item, inner));
		return [`${indent}<array>`, ...items, `${indent}</array>`].join("\n");
	}
	const entries = Object.entries(value).flatMap(([key, each]) => [
		`${inner}<key>${escapeXml(key)}</key>`,
		renderValue(each, inner),
	]);
	return [`${indent}<dict>`, ...entries, `${indent}</dict>`].join("\n");
}

const isList = (value: PropertyValue): value is readonly string[] => Array.isArray(value);

function escapeXml(text: string): string {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function unescapeXml(text: string): string {
	return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
