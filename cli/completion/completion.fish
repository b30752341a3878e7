# Completion of `veche` in fish. `veche completion words` prints the candidates at the cursor, so that
# new options, keys and names need no change here.
function __veche_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] completion words $words[2..-1] "$typed" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        switch $parts[1]
            case @files @folders
                # A key and its '=' may stand before the path.
                set -l before (string sub -l (math (string length -- "$typed") - (string length -- "$parts[2]")) -- "$typed")
                set -l paths
                if test $parts[1] = @folders
                    set paths (__fish_complete_directories "$parts[2]" "")
                else
                    set paths (__fish_complete_path "$parts[2]")
                end
                for path in $paths
                    printf '%s%s\n' $before $path
                end
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c veche -f -a '(__veche_candidates)'
