//! Command line: one file per command: parse, call one function, present.

pub mod args;
mod audit;
mod bench;
mod compare;
mod completions;
mod exit;
mod gate;
mod history;
mod place;
mod plan;
mod provision;
mod revert;
mod rules;
mod show;
mod status;
mod summary;
mod trial;

use crate::report::Format;
use crate::root::Root;
use crate::rules::Catalogue;
use args::{Cli, ColorArg, Command, FormatArg, Global};
use clap::Parser;
use exit::{Exit, Failure};
use std::io::Write;
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let help = !error.use_stderr();
            // Nothing is left to do when even this cannot be printed.
            let _ = error.print();
            return if help { Exit::Done } else { Exit::Usage }.into();
        }
    };
    match cli.global.color {
        ColorArg::Auto => {}
        ColorArg::Always => anstream::ColorChoice::Always.write_global(),
        ColorArg::Never => anstream::ColorChoice::Never.write_global(),
    }
    match run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let _ = writeln!(anstream::stderr(), "peerfix: {}", failure.message.trim_end());
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        None => summary::run(&cli.global),
        Some(Command::Audit(args)) => audit::run(&cli.global, args),
        Some(Command::Plan(args)) => plan::run(&cli.global, args),
        Some(Command::Provision(args)) => provision::run(&cli.global, args),
        Some(Command::Compare(args)) => compare::run(&cli.global, args),
        Some(Command::Revert(args)) => revert::run(&cli.global, args),
        Some(Command::Status(args)) => status::run(&cli.global, args),
        Some(Command::History(args)) => history::run(&cli.global, args),
        Some(Command::Show(args)) => show::run(&cli.global, args),
        Some(Command::Gate(args)) => gate::run(&cli.global, args),
        Some(Command::Bench(args)) => bench::run(&cli.global, args),
        Some(Command::BenchWorker { what }) => {
            match what {
                None => crate::bench::worker::run(),
                Some(_) => crate::bench::worker::run_drives(),
            }
            Ok(Exit::Done)
        }
        Some(Command::Rules(args)) => rules::run(&cli.global, args),
        Some(Command::Completions(args)) => completions::run(args),
    }
}

impl Global {
    fn form(&self) -> Format {
        match self.format {
            FormatArg::Text => Format::Text,
            FormatArg::Json => Format::Json,
            FormatArg::Markdown => Format::Markdown,
        }
    }
}

/// Prints the result. A reader that went away (a closed pipe) is no error of ours.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Tells the person something that is not the result.
fn note(global: &Global, text: &str) {
    if !global.quiet {
        let _ = writeln!(anstream::stderr(), "{}", text.trim_end());
    }
}

/// The catalogue with the site's rules of `root`; broken site rules are named and left out.
fn catalogue(global: &Global, root: &Root) -> Catalogue {
    let (catalogue, errors) = Catalogue::load(root);
    for error in errors {
        let help = error.help.as_deref().map_or(String::new(), |h| format!(" ({h})"));
        note(global, &format!("peerfix: rule left out: {error}{help}"));
    }
    catalogue
}
