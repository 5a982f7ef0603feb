/** A line with the first occurrence of a text marked. */
export function Marked({ text, wanted }: { text: string; wanted: string }) {
	const at = text.toLowerCase().indexOf(wanted.toLowerCase());
	if (at === -1) return <>{text}</>;
	return (
		<>
			{text.slice(0, at)}
			<mark>{text.slice(at, at + wanted.length)}</mark>
			{text.slice(at + wanted.length)}
		</>
	);
}
