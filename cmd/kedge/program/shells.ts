/** A shell with a completion script. */
export type Shell = 'bash' | 'zsh' | 'fish';

/** Each script calls the typed program, which computes the candidates. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of kedge for bash: source <(kedge completion bash)
_kedge() {
  local line=\${COMP_LINE:0:COMP_POINT} current found word
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=\${words[-1]}
  COMPREPLY=()
  found=$("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null) || return
  if [[ $found == ":files" ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "\${current#*=}")
    return
  fi
  # "=" and ":" are in COMP_WORDBREAKS: bash completes only the text after them.
  local before=\${current%"\${current##*[=:]}"}
  while IFS=$'\\t' read -r word _; do
    [[ $word == "" ]] || COMPREPLY+=("\${word#"$before"}")
  done <<<"$found"
  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *[=/.] ]] && compopt -o nospace
}
complete -F _kedge kedge
`,
  zsh: `#compdef kedge
# Completion of kedge for zsh: source <(kedge completion zsh), or a file _kedge in a directory of $fpath
_kedge() {
  local line word about
  local -a found lines
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ":files" ]]; then
    _files
    return
  fi
  for line in $lines; do
    word=\${line%%$'\\t'*}
    about=\${line#*$'\\t'}
    [[ -n $word ]] && found+=("\${word//:/\\\\:}:$about")
  done
  if [[ \${#found} == 1 && $word == *[=/.] ]]; then
    _describe kedge found -S ''
  else
    _describe kedge found
  fi
}
compdef _kedge kedge
`,
  fish: `# Completion of kedge for fish: kedge completion fish | source
function __kedge_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
  if test "$found[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c kedge -f -a '(__kedge_complete)'
`,
};

/** The completion script of a shell. */
export function completionScript(shell: Shell): string {
  return scripts[shell];
}
