//! `peerfix bench`, and the worker that it starts.

use super::args::{BenchArgs, Global};
use super::exit::{Exit, Failure};
use super::{note, print};
use crate::bench::choose::Refusal;
use crate::bench::record::Backend;
use crate::bench::run::{Finding, Options, finding, run as measure};
use crate::bench::store::{Destination, FOLDER};
use crate::report::{Format, document, text};
use std::io::{IsTerminal, Write};

/// Measures the transfers of this machine and writes a record.
pub(super) fn run(global: &Global, args: &BenchArgs) -> Result<Exit, Failure> {
    if global.host.is_some() {
        return Err(Failure::usage("bench measures this machine: --host cannot be used with it"));
    }
    let destination = Destination::prepare(args.output.as_deref()).map_err(|error| match &args.output {
        Some(path) => Failure::usage(format!("{}: the record cannot be written: {error}", path.display())),
        None => Failure::usage(format!(
            "/{FOLDER}: records cannot be written: {error}; run as root, or name a file with -o FILE"
        )),
    })?;
    let options = Options {
        backend: args.p2pmem.then_some(Backend::P2pmem),
        gpus: args.gpus.clone(),
        quick: args.quick,
        budget_s: args.budget,
        wait: args.wait,
        bare: false,
    };
    let mut bar = Bar { shown: false, on: std::io::stderr().is_terminal() && !global.quiet };
    let result = measure(&options, &mut |what| bar.show(what));
    bar.clear();
    let record = result.map_err(|refusal| match refusal {
        Refusal::Usage(why) => Failure::usage(why),
        Refusal::Busy(why) => Failure::refused(why),
        Refusal::Unsupported(why) => Failure { exit: Exit::Unsupported, message: why },
    })?;
    let path = destination
        .write(&record)
        .map_err(|error| Failure::usage(format!("the record cannot be written: {error}")))?;
    print(&match global.form() {
        Format::Json => document::json(&record),
        Format::Text => text::record::text(&record),
        Format::Markdown => format!("# peerfix bench\n\n```text\n{}```\n", text::record::text(&record)),
    })?;
    note(global, &format!("Record: {}", path.display()));
    Ok(match finding(&record) {
        Finding::Right => Exit::Done,
        Finding::Wrong => Exit::Findings,
        Finding::NotBegun => {
            let devices = record.backend.devices();
            note(
                global,
                &format!("peerfix: nothing was measured: {devices} could not be made ready (see the notes)"),
            );
            Exit::Findings
        }
        Finding::NoPair => {
            note(
                global,
                match record.backend {
                    Backend::Cuda => {
                        "peerfix: no pair of GPUs may transfer directly: the driver grants no peer access"
                    }
                    Backend::P2pmem => {
                        "peerfix: no drive may read into memory of another device: the kernel maps no path, or no way \
                     could be judged (see the arms)"
                    }
                },
            );
            Exit::Unsupported
        }
    })
}

/// One line on a terminal that says what is being measured.
struct Bar {
    shown: bool,
    on: bool,
}

impl Bar {
    fn show(&mut self, what: &str) {
        if self.on {
            let line: String = what.chars().take(78).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
