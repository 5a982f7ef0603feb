import { Button } from "./button.js";

/** Copies a text. Browsers allow it only on localhost and with TLS. */
export function Copy({
	text,
	label = "Copy",
	look = "link",
}: {
	text: string;
	label?: string;
	look?: "link" | "plain";
}) {
	if (navigator.clipboard === undefined) return null;
	return (
		<Button
			look={look}
			harmless
			failed="Not copied"
			label={label === "Copy" ? `Copy ${text}` : label}
			do={() => navigator.clipboard.writeText(text).then(() => "Copied.")}
		>
			{label}
		</Button>
	);
}
