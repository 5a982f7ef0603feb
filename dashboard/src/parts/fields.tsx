/** Fields that are bound to a signal. */

interface Bound<Value> {
	value: Value;
}

export function Select<Value extends string>({
	label,
	value,
	options,
}: {
	label: string;
	value: Bound<Value>;
	options: Readonly<Record<Value, string>>;
}) {
	return (
		<select
			aria-label={label}
			value={value.value}
			onChange={(event) => {
				value.value = event.currentTarget.value as Value;
			}}
		>
			{Object.entries<string>(options).map(([key, text]) => (
				<option key={key} value={key}>
					{text}
				</option>
			))}
		</select>
	);
}

export function Check({ label, value }: { label: string; value: Bound<boolean> }) {
	return (
		<label>
			<input
				type="checkbox"
				checked={value.value}
				onChange={(event) => {
					value.value = event.currentTarget.checked;
				}}
			/>{" "}
			{label}
		</label>
	);
}

export function SearchField({
	id,
	label,
	hint = label,
	lengthMax,
	value,
	onClear,
}: {
	id?: string;
	label: string;
	/** Shown while it is empty. */
	hint?: string;
	lengthMax?: number;
	value: Bound<string>;
	onClear?: () => void;
}) {
	return (
		<input
			type="search"
			id={id}
			placeholder={hint}
			aria-label={label}
			maxLength={lengthMax}
			value={value.value}
			onInput={(event) => {
				value.value = event.currentTarget.value;
				if (value.value === "") onClear?.();
			}}
		/>
	);
}
