#compdef veche
# Completion of `veche` in zsh. `veche completion words` prints the candidates at the cursor, so that
# new options, keys and names need no change here.
_veche() {
  local typed=${(Q)PREFIX} piece what path_kind path_typed
  local -a whole open
  while IFS=$'\t' read -r piece what; do
    case $piece in
      @files | @folders) path_kind=$piece path_typed=$what ;;
      *[=:/,]) open+=("${piece//:/\\:}${what:+:$what}") ;; # more belongs to this word
      *) whole+=("${piece//:/\\:}${what:+:$what}") ;;
    esac
  done < <("${(Q)words[1]}" completion words "${(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null)
  local found=1
  if [[ -n $path_kind ]]; then
    local before=${typed%"$path_typed"} # a key and its '=' may stand before the path
    [[ -n $before ]] && compset -P "${(b)before}"
    if [[ $path_kind == @folders ]]; then _files -/ && found=0; else _files && found=0; fi
    [[ -n $before ]] && PREFIX=$before$PREFIX IPREFIX=${IPREFIX%"$before"}
  fi
  (($#whole)) && _describe veche whole && found=0
  (($#open)) && _describe veche open -S '' && found=0
  return found
}
# Loaded by compinit as the function itself, or read by `source <(veche completion zsh)`.
if [[ ${funcstack[1]} == _veche ]]; then
  _veche "$@"
else
  compdef _veche veche
fi
