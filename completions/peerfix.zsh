#compdef peerfix

autoload -U is-at-least

_peerfix() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_peerfix_commands" \
"*::: :->peerfix" \
&& ret=0
    case $state in
    (peerfix)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:peerfix-command-$line[1]:"
        case $line[1] in
            (audit)
_arguments "${_arguments_options[@]}" : \
'--fail-on=[Exit with 1 from this status on]:STATUS:((fail\:"A finding of status fail"
warn\:"A finding of status fail or warn"
unknown\:"A finding of status fail, warn or unknown"
never\:"Never"))' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
'--root=[Read configuration below this directory instead of \`/\`]:DIR:_files' \
'*--only=[Only changes for this rule (repeatable)]:RULE:_default' \
'*--accept-risk=[Accept a named risk (repeatable)\: dma-isolation, acs-isolation, stray-dma, kernel-patch, unsafe-registry-key, hardening-policy, unattended-unlock]:NAME:_default' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(provision)
_arguments "${_arguments_options[@]}" : \
'--root=[Read and write configuration below this directory instead of \`/\`]:DIR:_files' \
'*--only=[Only changes for this rule (repeatable)]:RULE:_default' \
'*--accept-risk=[Accept a named risk (repeatable)\: dma-isolation, acs-isolation, stray-dma, kernel-patch, unsafe-registry-key, hardening-policy, unattended-unlock]:NAME:_default' \
'(--no-trial)--budget=[Stop taking samples after so many seconds, before and in the trial]:SECONDS:_default' \
'(--no-trial)--deadline=[Reboot out of the trial after so many seconds unless it is judged by then]:SECONDS:_default' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'--yes[Make the changes; without it the plan is printed and the exit code is 3]' \
'--no-trial[Write the permanent configuration without a trial boot]' \
'--run-in-target[Run the target'\''s own programs (update-grub, initramfs tool) inside it; it must be a mount point owned by root with /dev, /proc and /sys mounted. Without it the commands are printed and the exit code is 7]' \
'--unchanged-exit-77[Exit with 77 when there is nothing to change]' \
'(--no-trial)--reboot[Reboot into the trial now, and after its verdict into what it decided]' \
'(--no-trial)--quick[Measure with fewer and smaller samples, before and in the trial]' \
'(--no-trial)--accept-slower[Keep a change that makes transfers possible though slower than what they replace]' \
'(--no-trial)--no-watchdog[Do not let the hardware watchdog restart a trial that hangs]' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
'*--gpus=[Only these GPUs, by number in the driver'\''s order or by PCI address, separated by commas]:LIST:_default' \
'--budget=[Stop taking samples after so many seconds; what was not measured by then is named]:SECONDS:_default' \
'-o+[Write the record to this file instead of the folder of records]:FILE:_files' \
'--output=[Write the record to this file instead of the folder of records]:FILE:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'(--gpus --wait)--p2pmem[Measure NVMe drives that read into memory which another device publishes (the CMB of a drive), by the kernel'\''s own peer-to-peer DMA; drives are only read. Without this, drives are measured where there are no two GPUs]' \
'--quick[Fewer and smaller samples]' \
'--wait[Wait until nobody else uses the GPUs, in place of refusing]' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'--threshold=[Smallest change that matters, in percent (latencies\: or 0.2 us, if that is more)]:PERCENT:_default' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':before -- Record before the change:_files' \
':after -- Record after the change:_files' \
&& ret=0
;;
(revert)
_arguments "${_arguments_options[@]}" : \
'--root=[State and configuration below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'--dry-run[Show what would be done]' \
'--run-in-target[Run the target'\''s own programs inside it]' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::which -- Number of the change, `last` or `all`:_default' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'--root=[State and configuration below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'--dry-run[Show what would be done]' \
'--run-in-target[Run the target'\''s own programs inside it]' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::which -- Number of the change, `last` or `all`:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--root=[State below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(history)
_arguments "${_arguments_options[@]}" : \
'--root=[State below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--root=[State below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':which -- Number of the change, or `last`:_default' \
&& ret=0
;;
(gate)
_arguments "${_arguments_options[@]}" : \
'--root=[State and configuration below this directory instead of \`/\`]:DIR:_files' \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(bench-worker)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::what -- What it measures, when that is not GPUs:(p2pmem)' \
&& ret=0
;;
(rules)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_peerfix__subcmd__rules_commands" \
"*::: :->rules" \
&& ret=0

    case $state in
    (rules)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:peerfix-rules-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(explain)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':id -- Rule id:_default' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- Rule files to check instead of the catalogue:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_peerfix__subcmd__rules__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:peerfix-rules-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(explain)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--format=[Form of the output]:FORM:((text\:"For people"
json\:"For programs, versioned"
markdown\:"For issue threads"))' \
'--host=[Read facts from this root tree instead of the live machine (\`/\` is the live machine)]:PATH:_files' \
'--color=[Colour\: auto, always, never (NO_COLOR is honoured)]:WHEN:((auto\:"In a terminal"
always\:"Always"
never\:"Never"))' \
'-q[Print only the result and errors]' \
'--quiet[Print only the result and errors]' \
'-v[Print all evidence, passed rules and refutations]' \
'--verbose[Print all evidence, passed rules and refutations]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':shell -- Shell:((bash\:"bash"
zsh\:"zsh"
fish\:"fish"))' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_peerfix__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:peerfix-help-command-$line[1]:"
        case $line[1] in
            (audit)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(provision)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(revert)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(history)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(gate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bench-worker)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rules)
_arguments "${_arguments_options[@]}" : \
":: :_peerfix__subcmd__help__subcmd__rules_commands" \
"*::: :->rules" \
&& ret=0

    case $state in
    (rules)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:peerfix-help-rules-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(explain)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_peerfix_commands] )) ||
_peerfix_commands() {
    local commands; commands=(
'audit:Evaluate all rules; report findings, pairs and proposed changes; writes nothing' \
'plan:Show the changes only\: diffs, the resulting command line, commands, risks, the way back; writes nothing' \
'provision:Make the changes that need no consent, without questions, for installers and images' \
'bench:Measure peer and staged transfers of every pair of GPUs, or of drives; write a record' \
'compare:Compare two benchmark records\: better, same, worse, corrupt, or why they do not compare' \
'revert:Take a change back' \
'undo:Take a change back' \
'status:Where every change stands' \
'history:Every change that was made, the newest last' \
'show:One change in full' \
'gate:Go on with a pending trial boot (run by the boot unit)' \
'bench-worker:A worker of \`bench\`' \
'rules:The catalogue of rules' \
'completions:Completions for a shell' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'peerfix commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__audit_commands] )) ||
_peerfix__subcmd__audit_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix audit commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__bench_commands] )) ||
_peerfix__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix bench commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__bench-worker_commands] )) ||
_peerfix__subcmd__bench-worker_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix bench-worker commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__compare_commands] )) ||
_peerfix__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix compare commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__completions_commands] )) ||
_peerfix__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix completions commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__gate_commands] )) ||
_peerfix__subcmd__gate_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix gate commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help_commands] )) ||
_peerfix__subcmd__help_commands() {
    local commands; commands=(
'audit:Evaluate all rules; report findings, pairs and proposed changes; writes nothing' \
'plan:Show the changes only\: diffs, the resulting command line, commands, risks, the way back; writes nothing' \
'provision:Make the changes that need no consent, without questions, for installers and images' \
'bench:Measure peer and staged transfers of every pair of GPUs, or of drives; write a record' \
'compare:Compare two benchmark records\: better, same, worse, corrupt, or why they do not compare' \
'revert:Take a change back' \
'status:Where every change stands' \
'history:Every change that was made, the newest last' \
'show:One change in full' \
'gate:Go on with a pending trial boot (run by the boot unit)' \
'bench-worker:A worker of \`bench\`' \
'rules:The catalogue of rules' \
'completions:Completions for a shell' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'peerfix help commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__audit_commands] )) ||
_peerfix__subcmd__help__subcmd__audit_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help audit commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__bench_commands] )) ||
_peerfix__subcmd__help__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help bench commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__bench-worker_commands] )) ||
_peerfix__subcmd__help__subcmd__bench-worker_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help bench-worker commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__compare_commands] )) ||
_peerfix__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help compare commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__completions_commands] )) ||
_peerfix__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help completions commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__gate_commands] )) ||
_peerfix__subcmd__help__subcmd__gate_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help gate commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__help_commands] )) ||
_peerfix__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help help commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__history_commands] )) ||
_peerfix__subcmd__help__subcmd__history_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help history commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__plan_commands] )) ||
_peerfix__subcmd__help__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help plan commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__provision_commands] )) ||
_peerfix__subcmd__help__subcmd__provision_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help provision commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__revert_commands] )) ||
_peerfix__subcmd__help__subcmd__revert_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help revert commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__rules_commands] )) ||
_peerfix__subcmd__help__subcmd__rules_commands() {
    local commands; commands=(
'list:Every rule with its title and severity' \
'explain:One rule\: why it matters, how to check by hand, sources, remedies' \
'check:Check every rule file and run the examples of every rule' \
    )
    _describe -t commands 'peerfix help rules commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__rules__subcmd__check_commands] )) ||
_peerfix__subcmd__help__subcmd__rules__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help rules check commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__rules__subcmd__explain_commands] )) ||
_peerfix__subcmd__help__subcmd__rules__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help rules explain commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__rules__subcmd__list_commands] )) ||
_peerfix__subcmd__help__subcmd__rules__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help rules list commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__show_commands] )) ||
_peerfix__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help show commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__help__subcmd__status_commands] )) ||
_peerfix__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix help status commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__history_commands] )) ||
_peerfix__subcmd__history_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix history commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__plan_commands] )) ||
_peerfix__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix plan commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__provision_commands] )) ||
_peerfix__subcmd__provision_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix provision commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__revert_commands] )) ||
_peerfix__subcmd__revert_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix revert commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules_commands] )) ||
_peerfix__subcmd__rules_commands() {
    local commands; commands=(
'list:Every rule with its title and severity' \
'explain:One rule\: why it matters, how to check by hand, sources, remedies' \
'check:Check every rule file and run the examples of every rule' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'peerfix rules commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__check_commands] )) ||
_peerfix__subcmd__rules__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules check commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__explain_commands] )) ||
_peerfix__subcmd__rules__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules explain commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__help_commands] )) ||
_peerfix__subcmd__rules__subcmd__help_commands() {
    local commands; commands=(
'list:Every rule with its title and severity' \
'explain:One rule\: why it matters, how to check by hand, sources, remedies' \
'check:Check every rule file and run the examples of every rule' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'peerfix rules help commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__help__subcmd__check_commands] )) ||
_peerfix__subcmd__rules__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules help check commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__help__subcmd__explain_commands] )) ||
_peerfix__subcmd__rules__subcmd__help__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules help explain commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__help__subcmd__help_commands] )) ||
_peerfix__subcmd__rules__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules help help commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__help__subcmd__list_commands] )) ||
_peerfix__subcmd__rules__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules help list commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__rules__subcmd__list_commands] )) ||
_peerfix__subcmd__rules__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix rules list commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__show_commands] )) ||
_peerfix__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix show commands' commands "$@"
}
(( $+functions[_peerfix__subcmd__status_commands] )) ||
_peerfix__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'peerfix status commands' commands "$@"
}

if [ "$funcstack[1]" = "_peerfix" ]; then
    _peerfix "$@"
else
    compdef _peerfix peerfix
fi
