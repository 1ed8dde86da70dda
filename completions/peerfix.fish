# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_peerfix_global_optspecs
    string join \n format= host= color= q/quiet v/verbose h/help V/version
end

function __fish_peerfix_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_peerfix_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_peerfix_using_subcommand
    set -l cmd (__fish_peerfix_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c peerfix -n "__fish_peerfix_needs_command" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_needs_command" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_needs_command" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_needs_command" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_needs_command" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_needs_command" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "audit" -d 'Evaluate all rules; report findings, pairs and proposed changes; writes nothing'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "plan" -d 'Show the changes only: diffs, the resulting command line, commands, risks, the way back; writes nothing'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "provision" -d 'Make the changes that need no consent, without questions, for installers and images'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "bench" -d 'Measure peer and staged transfers of every pair of GPUs, or of drives; write a record'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "compare" -d 'Compare two benchmark records: better, same, worse, corrupt, or why they do not compare'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "revert" -d 'Take a change back'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "undo" -d 'Take a change back'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "status" -d 'Where every change stands'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "history" -d 'Every change that was made, the newest last'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "show" -d 'One change in full'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "gate" -d 'Go on with a pending trial boot (run by the boot unit)'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "bench-worker" -d 'A worker of `bench`'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "rules" -d 'The catalogue of rules'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "completions" -d 'Completions for a shell'
complete -c peerfix -n "__fish_peerfix_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -l fail-on -d 'Exit with 1 from this status on' -r -f -a "fail\t'A finding of status fail'
warn\t'A finding of status fail or warn'
unknown\t'A finding of status fail, warn or unknown'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand audit" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l root -d 'Read configuration below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l only -d 'Only changes for this rule (repeatable)' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l accept-risk -d 'Accept a named risk (repeatable): dma-isolation, acs-isolation, stray-dma, kernel-patch, unsafe-registry-key, hardening-policy, unattended-unlock' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand plan" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l root -d 'Read and write configuration below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l only -d 'Only changes for this rule (repeatable)' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l accept-risk -d 'Accept a named risk (repeatable): dma-isolation, acs-isolation, stray-dma, kernel-patch, unsafe-registry-key, hardening-policy, unattended-unlock' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l budget -d 'Stop taking samples after so many seconds, before and in the trial' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l deadline -d 'Reboot out of the trial after so many seconds unless it is judged by then' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l yes -d 'Make the changes; without it the plan is printed and the exit code is 3'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l no-trial -d 'Write the permanent configuration without a trial boot'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l run-in-target -d 'Run the target\'s own programs (update-grub, initramfs tool) inside it; it must be a mount point owned by root with /dev, /proc and /sys mounted. Without it the commands are printed and the exit code is 7'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l unchanged-exit-77 -d 'Exit with 77 when there is nothing to change'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l reboot -d 'Reboot into the trial now, and after its verdict into what it decided'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l quick -d 'Measure with fewer and smaller samples, before and in the trial'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l accept-slower -d 'Keep a change that makes transfers possible though slower than what they replace'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -l no-watchdog -d 'Do not let the hardware watchdog restart a trial that hangs'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand provision" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l gpus -d 'Only these GPUs, by number in the driver\'s order or by PCI address, separated by commas' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l budget -d 'Stop taking samples after so many seconds; what was not measured by then is named' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -s o -l output -d 'Write the record to this file instead of the folder of records' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l p2pmem -d 'Measure NVMe drives that read into memory which another device publishes (the CMB of a drive), by the kernel\'s own peer-to-peer DMA; drives are only read. Without this, drives are measured where there are no two GPUs'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l quick -d 'Fewer and smaller samples'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -l wait -d 'Wait until nobody else uses the GPUs, in place of refusing'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -l threshold -d 'Smallest change that matters, in percent (latencies: or 0.2 us, if that is more)' -r
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand compare" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l root -d 'State and configuration below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l dry-run -d 'Show what would be done'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -l run-in-target -d 'Run the target\'s own programs inside it'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand revert" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l root -d 'State and configuration below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l dry-run -d 'Show what would be done'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -l run-in-target -d 'Run the target\'s own programs inside it'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand undo" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -l root -d 'State below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand status" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -l root -d 'State below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand history" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -l root -d 'State below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand show" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -l root -d 'State and configuration below this directory instead of `/`' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand gate" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand bench-worker" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -f -a "list" -d 'Every rule with its title and severity'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -f -a "explain" -d 'One rule: why it matters, how to check by hand, sources, remedies'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -f -a "check" -d 'Check every rule file and run the examples of every rule'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and not __fish_seen_subcommand_from list explain check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from check" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "list" -d 'Every rule with its title and severity'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "explain" -d 'One rule: why it matters, how to check by hand, sources, remedies'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check every rule file and run the examples of every rule'
complete -c peerfix -n "__fish_peerfix_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -l format -d 'Form of the output' -r -f -a "text\t'For people'
json\t'For programs, versioned'
markdown\t'For issue threads'"
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -l host -d 'Read facts from this root tree instead of the live machine (`/` is the live machine)' -r -F
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -l color -d 'Colour: auto, always, never (NO_COLOR is honoured)' -r -f -a "auto\t'In a terminal'
always\t'Always'
never\t'Never'"
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -s q -l quiet -d 'Print only the result and errors'
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -s v -l verbose -d 'Print all evidence, passed rules and refutations'
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c peerfix -n "__fish_peerfix_using_subcommand completions" -s V -l version -d 'Print version'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "audit" -d 'Evaluate all rules; report findings, pairs and proposed changes; writes nothing'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "plan" -d 'Show the changes only: diffs, the resulting command line, commands, risks, the way back; writes nothing'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "provision" -d 'Make the changes that need no consent, without questions, for installers and images'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "bench" -d 'Measure peer and staged transfers of every pair of GPUs, or of drives; write a record'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "compare" -d 'Compare two benchmark records: better, same, worse, corrupt, or why they do not compare'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "revert" -d 'Take a change back'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "status" -d 'Where every change stands'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "history" -d 'Every change that was made, the newest last'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "show" -d 'One change in full'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "gate" -d 'Go on with a pending trial boot (run by the boot unit)'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "bench-worker" -d 'A worker of `bench`'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "rules" -d 'The catalogue of rules'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "completions" -d 'Completions for a shell'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and not __fish_seen_subcommand_from audit plan provision bench compare revert status history show gate bench-worker rules completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "list" -d 'Every rule with its title and severity'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "explain" -d 'One rule: why it matters, how to check by hand, sources, remedies'
complete -c peerfix -n "__fish_peerfix_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "check" -d 'Check every rule file and run the examples of every rule'
