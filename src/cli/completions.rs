//! `peerfix completions`.

use super::args::{Cli, CompletionsArgs, Shell};
use super::exit::{Exit, Failure};
use super::print;
use clap::CommandFactory;

/// Prints the completion script of a shell.
pub(super) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    print(&script(args.shell))?;
    Ok(Exit::Done)
}

/// The script of a shell.
fn script(shell: Shell) -> String {
    let kind = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut out = Vec::new();
    clap_complete::generate(kind, &mut Cli::command(), "peerfix", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
