#compdef reeve
# Completion of `reeve` for zsh: source <(reeve completion zsh)
_reeve() {
	local -a candidates
	candidates=("${(@f)$(reeve complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n ${candidates[1]-} ]]; then compadd -- "${candidates[@]}"; else _files; fi
}
compdef _reeve reeve
