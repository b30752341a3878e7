# Completion of `veche` in bash. `veche completion words` prints the candidates at the cursor, so that
# new options, keys and names need no change here.
_veche() {
  local line=${COMP_LINE:0:COMP_POINT} piece trimmed word i
  local -a words=()
  # bash splits words at '=' and ':' (COMP_WORDBREAKS); parts without a blank between them are one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed=${line#"${line%%[![:blank:]]*}"}
    piece=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || piece=$trimmed # up to the cursor
    if ((i > 0)) && [[ $trimmed == "$line" ]]; then
      words[-1]+=$piece
    else
      words+=("$piece")
    fi
    line=${trimmed#"$piece"}
  done

  # The part of the word that bash keeps: a reply replaces the text after the last break.
  word=${words[-1]}
  local kept="" at
  for at in '=' ':'; do
    [[ $COMP_WORDBREAKS == *"$at"* && $word == *"$at"* ]] || continue
    piece=${word%"${word##*"$at"}"}
    ((${#piece} > ${#kept})) && kept=$piece
  done

  COMPREPLY=()
  local kind="" path="" what
  while IFS=$'\t' read -r piece what; do
    case $piece in
      @files | @folders) kind=$piece path=$what ;;
      *) COMPREPLY+=("${piece#"$kept"}") ;;
    esac
  done < <("${words[0]}" completion words "${words[@]:1}" 2>/dev/null)
  if [[ $kind ]]; then
    local how=-f before=${word%"$path"} # a key and its '=' may stand before the path
    [[ $kind == @folders ]] && how=-d
    while IFS= read -r piece; do
      piece=$before$piece
      COMPREPLY+=("${piece#"$kept"}")
    done < <(compgen "$how" -- "${path/#\~/$HOME}")
    compopt -o filenames 2>/dev/null
  elif ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:/,] ]]; then
    compopt -o nospace 2>/dev/null # more belongs to this word
  fi
}
complete -F _veche veche
