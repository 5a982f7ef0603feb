# Completion of `reeve` for fish: reeve completion fish | source
function __reeve_complete
	set -l typed (commandline -opc) (commandline -ct)
	reeve complete-words -- $typed[2..-1] 2>/dev/null
end
complete -c reeve -a '(__reeve_complete)'
