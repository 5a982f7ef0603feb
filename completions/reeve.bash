# Completion of `reeve` for bash: source <(reeve completion bash)
_reeve() {
	local typed current candidate line="${COMP_LINE:0:COMP_POINT}"
	# Bash splits `project:agent` at the colon, so the word is taken from the line itself.
	read -ra typed <<<"$line"
	typed=("${typed[@]:1}")
	[[ $line == *[[:space:]] ]] && typed+=("")
	current=${typed[-1]-}
	COMPREPLY=()
	while IFS= read -r candidate; do
		[[ $candidate == "$current"* ]] && COMPREPLY+=("$candidate")
	done < <(reeve complete-words -- "${typed[@]}" 2>/dev/null)
	if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${current%:*}:"}")
	fi
}
complete -o default -F _reeve reeve
